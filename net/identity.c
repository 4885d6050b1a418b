#include "net/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define URI_START "berth:node:"

static int fail(struct err *err, enum err_code code, const char *what, int rc)
{
        return err_set(err, code, "%s: %s", what, gnutls_strerror(rc));
}

static gnutls_datum_t datum(const char *text)
{
        return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

/* ---- the name ---- */

bool identity_uri(const struct identity *identity, char ret_uri[IDENTITY_URI_MAX])
{
        int length = snprintf(ret_uri, IDENTITY_URI_MAX, URI_START "%s:%" PRIu64, identity->node,
                              identity->enrolment);

        return length > 0 && length < IDENTITY_URI_MAX;
}

bool identity_of_uri(const char *uri, struct identity *ret_identity)
{
        const char *name = uri + strlen(URI_START), *colon = strrchr(uri, ':');
        struct identity identity = {0};

        if (strncmp(uri, URI_START, strlen(URI_START)) != 0 || colon <= name ||
            (size_t)(colon - name) >= sizeof identity.node ||
            num_u64(colon + 1, 1, INT64_MAX, &identity.enrolment, NULL) < 0)
                return false;
        memcpy(identity.node, name, (size_t)(colon - name));
        *ret_identity = identity;
        return true;
}

/* ---- what a node makes ---- */

int identity_key_make(char ret_key[IDENTITY_PEM_MAX], struct err *err)
{
        size_t size = IDENTITY_PEM_MAX;
        gnutls_x509_privkey_t key;

        int rc = gnutls_x509_privkey_init(&key);
        if (rc < 0)
                return fail(err, ERR_IO, "no key can be made", rc);
        rc = gnutls_x509_privkey_generate(
                key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
        if (rc >= 0)
                rc = gnutls_x509_privkey_export_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL,
                                                      GNUTLS_PKCS_PLAIN, ret_key, &size);
        gnutls_x509_privkey_deinit(key);
        return rc < 0 ? fail(err, ERR_IO, "no key can be made", rc) : 0;
}

static int sign_request(gnutls_x509_crq_t request, gnutls_x509_privkey_t key,
                        char ret_request[IDENTITY_PEM_MAX])
{
        static const char subject[] = "berth node";
        size_t size = IDENTITY_PEM_MAX;
        int rc;

        if ((rc = gnutls_x509_crq_set_version(request, 1)) < 0 ||
            (rc = gnutls_x509_crq_set_dn_by_oid(request, GNUTLS_OID_X520_COMMON_NAME, 0, subject,
                                                sizeof subject - 1)) < 0 ||
            (rc = gnutls_x509_crq_set_key(request, key)) < 0 ||
            (rc = gnutls_x509_crq_sign2(request, key, GNUTLS_DIG_SHA256, 0)) < 0)
                return rc;
        return gnutls_x509_crq_export(request, GNUTLS_X509_FMT_PEM, ret_request, &size);
}

int identity_request(const char *key_pem, char ret_request[IDENTITY_PEM_MAX], struct err *err)
{
        gnutls_datum_t text = datum(key_pem);
        gnutls_x509_privkey_t key;
        gnutls_x509_crq_t request;

        if (gnutls_x509_privkey_init(&key) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (gnutls_x509_crq_init(&request) < 0) {
                gnutls_x509_privkey_deinit(key);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        int rc = gnutls_x509_privkey_import2(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
        if (rc >= 0)
                rc = sign_request(request, key, ret_request);
        gnutls_x509_crq_deinit(request);
        gnutls_x509_privkey_deinit(key);
        return rc < 0 ? fail(err, ERR_INPUT, "the node's key", rc) : 0;
}

/* ---- what it got ---- */

static int read_certificate(gnutls_x509_crt_t crt, struct identity *ret_identity, struct err *err)
{
        char uri[IDENTITY_URI_MAX] = "";
        size_t size = sizeof uri - 1;
        struct identity identity;

        int type = gnutls_x509_crt_get_subject_alt_name(crt, 0, uri, &size, NULL);
        if (type != GNUTLS_SAN_URI || !identity_of_uri(uri, &identity))
                return err_set(err, ERR_INPUT, "this is no certificate of a node");
        identity.from_ms = (int64_t)gnutls_x509_crt_get_activation_time(crt) * 1000;
        identity.until_ms = (int64_t)gnutls_x509_crt_get_expiration_time(crt) * 1000;
        *ret_identity = identity;
        return 0;
}

int identity_read(const char *certificate, struct identity *ret_identity, struct err *err)
{
        gnutls_datum_t text = datum(certificate);
        gnutls_x509_crt_t crt;

        if (gnutls_x509_crt_init(&crt) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
        rc = rc < 0 ? fail(err, ERR_INPUT, "the certificate", rc)
                    : read_certificate(crt, ret_identity, err);
        gnutls_x509_crt_deinit(crt);
        return rc;
}
