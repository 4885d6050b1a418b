#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sodium.h>

#include "base/err.h"
#include "net/client.h"

#define KEY_BYTES_MAX 8192
#define START         "sha256//"

/* The public key as it stands in the certificate, hashed. */
static int hash_key(gnutls_x509_crt_t crt, uint8_t ret_hash[32])
{
        gnutls_pubkey_t key;
        uint8_t der[KEY_BYTES_MAX];
        size_t size = sizeof der;

        int rc = gnutls_pubkey_init(&key);
        if (rc < 0)
                return rc;
        rc = gnutls_pubkey_import_x509(key, crt, 0);
        if (rc >= 0)
                rc = gnutls_pubkey_export(key, GNUTLS_X509_FMT_DER, der, &size);
        gnutls_pubkey_deinit(key);
        if (rc >= 0)
                crypto_hash_sha256(ret_hash, der, size);
        return rc;
}

int client_pin_of(const char *certificate_pem, char ret_pin[CLIENT_PIN_MAX], struct err *err)
{
        gnutls_datum_t pem = {(unsigned char *)(uintptr_t)certificate_pem,
                              (unsigned)strlen(certificate_pem)};
        gnutls_x509_crt_t crt;
        uint8_t hash[32];

        int rc = gnutls_x509_crt_init(&crt);
        if (rc < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM);
        if (rc >= 0)
                rc = hash_key(crt, hash);
        gnutls_x509_crt_deinit(crt);
        if (rc < 0)
                return err_set(err, ERR_INPUT, "the certificate: %s", gnutls_strerror(rc));
        memcpy(ret_pin, START, sizeof START);
        sodium_bin2base64(ret_pin + sizeof START - 1, CLIENT_PIN_MAX - sizeof START + 1, hash,
                          sizeof hash, sodium_base64_VARIANT_ORIGINAL);
        return 0;
}
