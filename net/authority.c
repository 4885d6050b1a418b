#include "net/authority.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/token.h"

#define FILE_BYTES_MAX 16384
#define LIFE_S         (10 * 365 * 24 * 3600l)
#define EARLY_S        3600             /* clocks differ */
#define SERIAL_BYTES   16

struct authority {
        gnutls_x509_privkey_t key;
        gnutls_x509_crt_t crt;
        char pem[IDENTITY_PEM_MAX];
};

static int fail(struct err *err, enum err_code code, const char *what, int rc)
{
        return err_set(err, code, "%s: %s", what, gnutls_strerror(rc));
}

/* ---- common to both kinds of certificate ---- */

/* Positive, and never the same again. */
static int set_serial(gnutls_x509_crt_t crt)
{
        unsigned char serial[SERIAL_BYTES];
        int rc = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);

        serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
        return rc < 0 ? rc : gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
}

static int describe(gnutls_x509_crt_t crt, const char *subject, time_t from, time_t until)
{
        int rc;

        if ((rc = gnutls_x509_crt_set_version(crt, 3)) < 0 || (rc = set_serial(crt)) < 0 ||
            (rc = gnutls_x509_crt_set_activation_time(crt, from)) < 0 ||
            (rc = gnutls_x509_crt_set_expiration_time(crt, until)) < 0)
                return rc;
        return gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, subject,
                                             (unsigned)strlen(subject));
}

/* ---- the authority itself ---- */

static int make_own(struct authority *authority)
{
        unsigned char id[32];
        size_t size = sizeof id;
        time_t now = time(NULL);
        int rc;

        if ((rc = gnutls_x509_privkey_generate(
                     authority->key, GNUTLS_PK_ECDSA,
                     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)) < 0 ||
            (rc = gnutls_x509_privkey_get_key_id(authority->key, GNUTLS_KEYID_USE_SHA1, id,
                                                 &size)) < 0 ||
            (rc = describe(authority->crt, "berth nodes", now - EARLY_S, now + LIFE_S)) < 0 ||
            (rc = gnutls_x509_crt_set_key(authority->crt, authority->key)) < 0 ||
            (rc = gnutls_x509_crt_set_basic_constraints(authority->crt, 1, 0)) < 0 ||
            (rc = gnutls_x509_crt_set_key_usage(authority->crt, GNUTLS_KEY_KEY_CERT_SIGN)) < 0 ||
            (rc = gnutls_x509_crt_set_subject_key_id(authority->crt, id, size)) < 0)
                return rc;
        return gnutls_x509_crt_sign2(authority->crt, authority->crt, authority->key,
                                     GNUTLS_DIG_SHA256, 0);
}

static int write_own(const struct authority *authority, const char *path, struct err *err)
{
        char key[IDENTITY_PEM_MAX];
        size_t size = sizeof key;
        struct text text = {0};

        int rc = gnutls_x509_privkey_export_pkcs8(authority->key, GNUTLS_X509_FMT_PEM, NULL,
                                                  GNUTLS_PKCS_PLAIN, key, &size);
        if (rc < 0)
                return fail(err, ERR_IO, path, rc);
        text_add(&text, "%s%s", key, authority->pem);
        token_wipe(key, sizeof key);
        rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : durable_write(path, text.bytes, text.size, 0600, err);
        if (text.bytes)
                token_wipe(text.bytes, text.size);
        text_done(&text);
        return rc;
}

static int export_own(struct authority *authority, const char *path, struct err *err)
{
        size_t size = sizeof authority->pem;
        int rc = gnutls_x509_crt_export(authority->crt, GNUTLS_X509_FMT_PEM, authority->pem, &size);

        return rc < 0 ? fail(err, ERR_INPUT, path, rc) : 0;
}

static int make(struct authority *authority, const char *path, struct err *err)
{
        int rc = make_own(authority);

        if (rc < 0)
                return fail(err, ERR_IO, "the authority of nodes cannot be made", rc);
        rc = export_own(authority, path, err);
        return rc ? rc : write_own(authority, path, err);
}

static int import(struct authority *authority, const char *path, char *bytes, size_t size,
                  struct err *err)
{
        gnutls_datum_t text = {(unsigned char *)bytes, (unsigned)size};
        unsigned char ours[32], theirs[32];
        size_t ours_size = sizeof ours, theirs_size = sizeof theirs;
        int rc;

        if ((rc = gnutls_x509_privkey_import2(authority->key, &text, GNUTLS_X509_FMT_PEM, NULL,
                                              0)) < 0 ||
            (rc = gnutls_x509_crt_import(authority->crt, &text, GNUTLS_X509_FMT_PEM)) < 0 ||
            (rc = gnutls_x509_privkey_get_key_id(authority->key, GNUTLS_KEYID_USE_SHA256, ours,
                                                 &ours_size)) < 0 ||
            (rc = gnutls_x509_crt_get_key_id(authority->crt, GNUTLS_KEYID_USE_SHA256, theirs,
                                             &theirs_size)) < 0)
                return fail(err, ERR_INPUT, path, rc);
        if (memcmp(ours, theirs, sizeof ours) != 0)
                return err_set(err, ERR_INPUT, "%s: its key is not that of its certificate", path);
        if (gnutls_x509_crt_get_expiration_time(authority->crt) < time(NULL))
                return err_set(err, ERR_INPUT,
                               "%s: the authority of nodes has run out: move the file away, and "
                               "enrol all nodes anew",
                               path);
        return export_own(authority, path, err);
}

static int load(struct authority *authority, const char *path, struct err *err)
{
        struct stat status;
        char *bytes;
        size_t size;
        int rc = file_read(path, FILE_BYTES_MAX, &bytes, &size, err);

        if (rc == -ERR_NOT_FOUND)
                return make(authority, path, err);
        if (rc)
                return rc;
        if (stat(path, &status) < 0 || status.st_mode & 077)
                rc = err_set(err, ERR_INPUT,
                             "%s: others than its owner may read it, and be any node: chmod 600",
                             path);
        if (rc == 0)
                rc = import(authority, path, bytes, size, err);
        token_wipe(bytes, size);
        mem_free(bytes);
        return rc;
}

int authority_load(const char *path, struct authority **ret_authority, struct err *err)
{
        struct authority *authority = mem_new(1, sizeof *authority);

        if (!authority || gnutls_x509_privkey_init(&authority->key) < 0 ||
            gnutls_x509_crt_init(&authority->crt) < 0) {
                authority_free(authority);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        int rc = load(authority, path, err);
        if (rc < 0)
                authority_free(authority);
        else
                *ret_authority = authority;
        return rc;
}

void authority_free(struct authority *authority)
{
        if (!authority)
                return;
        if (authority->key)
                gnutls_x509_privkey_deinit(authority->key);
        if (authority->crt)
                gnutls_x509_crt_deinit(authority->crt);
        mem_free(authority);
}

const char *authority_certificate(const struct authority *authority)
{
        return authority->pem;
}

/* ---- requests ---- */

static bool may_be_certified(gnutls_pubkey_t key)
{
        gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
        int kind = gnutls_pubkey_get_pk_algorithm(key, NULL);

        if (kind == GNUTLS_PK_EDDSA_ED25519)
                return true;
        return kind == GNUTLS_PK_ECDSA &&
               gnutls_pubkey_export_ecc_raw2(key, &curve, NULL, NULL, 0) >= 0 &&
               curve == GNUTLS_ECC_CURVE_SECP256R1;
}

/* The kind of key first: to check a signature by a huge one is work for nothing. */
static int check_request(gnutls_x509_crq_t request, gnutls_pubkey_t key, struct err *err)
{
        int rc = gnutls_pubkey_import_x509_crq(key, request, 0);

        if (rc < 0)
                return fail(err, ERR_INPUT, "the certificate request", rc);
        if (!may_be_certified(key))
                return err_set(err, ERR_INPUT,
                               "the certificate request: a key is ECDSA on P-256, or Ed25519");
        rc = gnutls_x509_crq_verify(request, 0);
        return rc < 0 ? fail(err, ERR_INPUT, "the certificate request is not signed by its key", rc)
                      : 0;
}

/* *ret_key is the caller's to deinit on success. */
static int read_request(const char *text, size_t size, gnutls_pubkey_t *ret_key, struct err *err)
{
        gnutls_datum_t pem = {(unsigned char *)(uintptr_t)text, (unsigned)size};
        gnutls_x509_crq_t request;
        gnutls_pubkey_t key;

        if (size > AUTHORITY_REQUEST_MAX)
                return err_set(err, ERR_INPUT, "a certificate request has at most %d bytes",
                               AUTHORITY_REQUEST_MAX);
        if (gnutls_pubkey_init(&key) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (gnutls_x509_crq_init(&request) < 0) {
                gnutls_pubkey_deinit(key);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        int rc = gnutls_x509_crq_import(request, &pem, GNUTLS_X509_FMT_PEM);
        rc = rc < 0 ? fail(err, ERR_INPUT, "the certificate request (PKCS #10, PEM)", rc)
                    : check_request(request, key, err);
        gnutls_x509_crq_deinit(request);
        if (rc < 0)
                gnutls_pubkey_deinit(key);
        else
                *ret_key = key;
        return rc;
}

int authority_read(const char *request, size_t size, uint8_t ret_key[AUTHORITY_KEY_HASH_BYTES],
                   struct err *err)
{
        size_t hash_size = AUTHORITY_KEY_HASH_BYTES;
        gnutls_pubkey_t key;
        int rc = read_request(request, size, &key, err);

        if (rc < 0)
                return rc;
        rc = gnutls_pubkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, ret_key, &hash_size);
        gnutls_pubkey_deinit(key);
        return rc < 0 ? fail(err, ERR_INPUT, "the certificate request", rc) : 0;
}

/* ---- signing ---- */

static int set_node(gnutls_x509_crt_t crt, const struct identity *identity, const char *uri,
                    time_t last)
{
        time_t until = (time_t)(identity->until_ms / 1000);
        int rc;

        if ((rc = describe(crt, identity->node, (time_t)(identity->from_ms / 1000),
                           until < last ? until : last)) < 0 ||
            (rc = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_URI, uri,
                                                       (unsigned)strlen(uri), GNUTLS_FSAN_SET)) <
                    0 ||
            (rc = gnutls_x509_crt_set_basic_constraints(crt, 0, -1)) < 0 ||
            (rc = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE)) < 0)
                return rc;
        return gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_CLIENT, 0);
}

int authority_sign(const struct authority *authority, const char *request, size_t size,
                   const struct identity *identity, char ret_certificate[IDENTITY_PEM_MAX],
                   struct err *err)
{
        size_t pem_size = IDENTITY_PEM_MAX;
        char uri[IDENTITY_URI_MAX];
        gnutls_pubkey_t key;
        gnutls_x509_crt_t crt;
        int rc;

        if (!identity_uri(identity, uri))
                return err_set(err, ERR_INPUT, "the node's name is too long for a certificate");
        if ((rc = read_request(request, size, &key, err)) < 0)
                return rc;
        if (gnutls_x509_crt_init(&crt) < 0) {
                gnutls_pubkey_deinit(key);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        if ((rc = set_node(crt, identity, uri,
                           gnutls_x509_crt_get_expiration_time(authority->crt))) >= 0 &&
            (rc = gnutls_x509_crt_set_pubkey(crt, key)) >= 0 &&
            (rc = gnutls_x509_crt_sign2(crt, authority->crt, authority->key, GNUTLS_DIG_SHA256,
                                        0)) >= 0)
                rc = gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, ret_certificate, &pem_size);
        gnutls_x509_crt_deinit(crt);
        gnutls_pubkey_deinit(key);
        return rc < 0 ? fail(err, ERR_IO, "the certificate cannot be signed", rc) : 0;
}
