#include "tests/unit/net/certificate.h"

#include <time.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "tests/unit/check.h"

static gnutls_x509_privkey_t import_key(const char *pem)
{
        gnutls_x509_privkey_t key;
        gnutls_datum_t datum = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};

        assert_int_equal(gnutls_x509_privkey_init(&key), 0);
        assert_int_equal(gnutls_x509_privkey_import(key, &datum, GNUTLS_X509_FMT_PEM), 0);
        return key;
}

static gnutls_x509_crt_t import_certificate(const char *pem)
{
        gnutls_x509_crt_t crt;
        gnutls_datum_t datum = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};

        assert_int_equal(gnutls_x509_crt_init(&crt), 0);
        assert_int_equal(gnutls_x509_crt_import(crt, &datum, GNUTLS_X509_FMT_PEM), 0);
        return crt;
}

static void describe(gnutls_x509_crt_t crt, const char *name, gnutls_x509_privkey_t key, int days)
{
        static unsigned char serial = 1;
        static const unsigned char address[] = {127, 0, 0, 1};
        time_t now = time(NULL);

        serial++;
        gnutls_x509_crt_set_version(crt, 3);
        gnutls_x509_crt_set_serial(crt, &serial, 1);
        gnutls_x509_crt_set_activation_time(crt, now - 10 * 86400);
        gnutls_x509_crt_set_expiration_time(crt, now + days * 86400);
        gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                      (unsigned)strlen(name));
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, sizeof address,
                                             GNUTLS_FSAN_SET);
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "localhost", 9,
                                             GNUTLS_FSAN_APPEND);
        assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
}

void test_certificate_make(const char *name, const struct test_certificate *authority, int days,
                           struct test_certificate *ret_made)
{
        gnutls_x509_crt_t crt, issuer = NULL;
        gnutls_x509_privkey_t key, issuer_key = NULL;
        size_t size = sizeof ret_made->certificate, key_size = sizeof ret_made->key;

        assert_int_equal(gnutls_x509_privkey_init(&key), 0);
        assert_int_equal(
                gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                             GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                0);
        assert_int_equal(gnutls_x509_crt_init(&crt), 0);
        describe(crt, name, key, days);
        if (authority) {
                issuer = import_certificate(authority->certificate);
                issuer_key = import_key(authority->key);
        } else {
                gnutls_x509_crt_set_basic_constraints(crt, 1, -1);
                gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_KEY_CERT_SIGN |
                                                           GNUTLS_KEY_DIGITAL_SIGNATURE);
        }
        assert_int_equal(gnutls_x509_crt_sign2(crt, issuer ? issuer : crt,
                                               issuer_key ? issuer_key : key, GNUTLS_DIG_SHA256, 0),
                         0);
        assert_int_equal(
                gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_PEM, ret_made->certificate, &size), 0);
        assert_int_equal(
                gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, ret_made->key, &key_size), 0);
        gnutls_x509_crt_deinit(crt);
        gnutls_x509_privkey_deinit(key);
        if (issuer)
                gnutls_x509_crt_deinit(issuer);
        if (issuer_key)
                gnutls_x509_privkey_deinit(issuer_key);
}
