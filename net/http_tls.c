#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
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
        const char *const trusted[] = {tls->client_ca_pem, tls->own_ca_pem};
        for (size_t t = 0; t < ARRAY_LEN(trusted); t++) {
                if (!trusted[t])
                        continue;
                gnutls_datum_t authority = datum(trusted[t]);
                rc = gnutls_certificate_set_x509_trust_mem(credentials, &authority,
                                                           GNUTLS_X509_FMT_PEM);
                if (rc <= 0)
                        return err_set(err, ERR_INPUT, "the authority of client certificates: %s",
                                       rc < 0 ? gnutls_strerror(rc) : "no certificate in it");
        }
        return 0;
}

char *http_tls_trust(const struct http_tls *tls, bool *ret_failed)
{
        struct text text = {0};

        *ret_failed = false;
        if (tls->client_ca_pem)
                text_add(&text, "%s\n", tls->client_ca_pem);
        if (tls->own_ca_pem)
                text_add(&text, "%s", tls->own_ca_pem);
        *ret_failed = text.failed;
        if (!text.failed)
                return text.bytes;
        text_done(&text);
        return NULL;
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

/* By the signature, not by names: another authority that is trusted may call itself the same. */
static int is_signed_by(gnutls_x509_crt_t crt, const char *authority_pem, bool *ret_is_own)
{
        gnutls_datum_t pem = datum(authority_pem);
        gnutls_x509_crt_t authority;
        unsigned status = 1;

        int rc = gnutls_x509_crt_init(&authority);
        if (rc < 0)
                return rc;
        rc = gnutls_x509_crt_import(authority, &pem, GNUTLS_X509_FMT_PEM);
        if (rc >= 0)
                rc = gnutls_x509_crt_verify(crt, &authority, 1, 0, &status);
        gnutls_x509_crt_deinit(authority);
        *ret_is_own = rc >= 0 && status == 0;
        return rc;
}

static int read_names(gnutls_x509_crt_t crt, struct http_certificate *certificate)
{
        size_t subject_size = sizeof certificate->subject, uri_size = sizeof certificate->uri - 1;

        int kind = gnutls_x509_crt_get_subject_alt_name(crt, 0, certificate->uri, &uri_size, NULL);
        if (kind != GNUTLS_SAN_URI || strlen(certificate->uri) != uri_size)
                memset(certificate->uri, 0, sizeof certificate->uri);
        certificate->until_ms = (int64_t)gnutls_x509_crt_get_expiration_time(crt) * 1000;
        return gnutls_x509_crt_get_dn(crt, certificate->subject, &subject_size);
}

static int describe(const gnutls_datum_t *der, const char *own_ca_pem,
                    struct http_certificate *certificate, struct err *err)
{
        gnutls_x509_crt_t crt;
        size_t print_size = sizeof certificate->fingerprint;

        if (gnutls_x509_crt_init(&crt) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER);
        if (rc >= 0)
                rc = read_names(crt, certificate);
        if (rc >= 0 && own_ca_pem)
                rc = is_signed_by(crt, own_ca_pem, &certificate->is_own);
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
                if ((rc = describe(&chain[0], connection->daemon->own_ca_pem,
                                   connection->certificate, err)) < 0)
                        return rc;
                connection->peer.certificate = connection->certificate;
        }
        connection->certificate_asked = true;
        return 0;
}
