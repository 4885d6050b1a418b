#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/http.h"
#include "net/http_impl.h"

#define PEM_BYTES_MAX (1u << 20)

static gnutls_datum_t datum(const char *text)
{
        return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static int check_loaded(gnutls_certificate_credentials_t credentials, const struct http_tls *tls,
                        struct err *err)
{
        gnutls_datum_t certificate = datum(tls->certificate_pem), key = datum(tls->key_pem);

        int rc = gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key,
                                                     GNUTLS_X509_FMT_PEM);
        if (rc < 0)
                return err_set(err, ERR_INPUT, "the certificate and its key cannot be used: %s",
                               gnutls_strerror(rc));
        if (!tls->client_ca_pem)
                return 0;
        gnutls_datum_t authority = datum(tls->client_ca_pem);
        rc = gnutls_certificate_set_x509_trust_mem(credentials, &authority, GNUTLS_X509_FMT_PEM);
        if (rc <= 0)
                return err_set(err, ERR_INPUT, "the authority of client certificates: %s",
                               rc < 0 ? gnutls_strerror(rc) : "no certificate in it");
        return 0;
}

int http_tls_check(const struct http_tls *tls, struct err *err)
{
        gnutls_certificate_credentials_t credentials;

        if (!tls->certificate_pem || !tls->key_pem)
                return err_set(err, ERR_INPUT, "TLS needs a certificate and its key");
        if (strlen(tls->certificate_pem) > PEM_BYTES_MAX || strlen(tls->key_pem) > PEM_BYTES_MAX ||
            (tls->client_ca_pem && strlen(tls->client_ca_pem) > PEM_BYTES_MAX))
                return err_set(err, ERR_INPUT, "a certificate or key of more than 1 MiB");
        if (gnutls_certificate_allocate_credentials(&credentials) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = check_loaded(credentials, tls, err);
        gnutls_certificate_free_credentials(credentials);
        return rc;
}

/* ---- what a client shows ---- */

static int verify(gnutls_session_t session, struct err *err)
{
        static unsigned char client[] = GNUTLS_KP_TLS_WWW_CLIENT;
        gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = client};
        unsigned status = 0;
        gnutls_datum_t reason = {0};

        int rc = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
        if (rc < 0)
                return err_set(err, ERR_INPUT, "the client certificate: %s", gnutls_strerror(rc));
        if (status == 0)
                return 0;
        if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &reason, 0) < 0)
                return err_set(err, ERR_INPUT, "the client certificate is not trusted");
        err_set(err, ERR_INPUT, "the client certificate is refused: %s", (char *)reason.data);
        gnutls_free(reason.data);
        return -ERR_INPUT;
}

static int describe(const gnutls_datum_t *der, struct http_certificate *certificate,
                    struct err *err)
{
        gnutls_x509_crt_t crt;
        size_t subject_size = sizeof certificate->subject;
        size_t print_size = sizeof certificate->fingerprint;

        if (gnutls_x509_crt_init(&crt) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER);
        if (rc >= 0)
                rc = gnutls_x509_crt_get_dn(crt, certificate->subject, &subject_size);
        if (rc >= 0)
                rc = gnutls_fingerprint(GNUTLS_DIG_SHA256, der, certificate->fingerprint,
                                        &print_size);
        gnutls_x509_crt_deinit(crt);
        if (rc < 0)
                return err_set(err, ERR_INPUT, "the client certificate: %s", gnutls_strerror(rc));
        return 0;
}

int http_tls_peer(struct http_connection *connection, struct err *err)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        unsigned count = 0;

        if (connection->certificate_asked || !info)
                return 0;
        const gnutls_datum_t *chain = gnutls_certificate_get_peers(info->tls_session, &count);
        if (chain && count > 0) {
                int rc = verify(info->tls_session, err);
                if (rc < 0)
                        return rc;
                if (!connection->certificate)
                        connection->certificate = mem_new(1, sizeof *connection->certificate);
                if (!connection->certificate)
                        return err_set(err, ERR_NOMEM, "out of memory");
                if ((rc = describe(&chain[0], connection->certificate, err)) < 0)
                        return rc;
                connection->peer.certificate = connection->certificate;
        }
        connection->certificate_asked = true;
        return 0;
}
