/* The authority of nodes: made once, for its owner only; it signs what it should. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/authority.h"

#define HOUR_MS INT64_C(3600000)

static char folder[64], path[96];
static struct authority *authority;

static int start(void **state)
{
        struct err err = {0};
        (void)state;
        assert_non_null(scratch_folder(folder, sizeof folder, "authority"));
        snprintf(path, sizeof path, "%s/nodes.pem", folder);
        if (authority_load(path, &authority, &err) < 0)
                fail_msg("%s", err.text);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        authority_free(authority);
        unlink(path);
        return rmdir(folder);
}

static struct identity identity_in(int64_t ms)
{
        struct identity identity = {.node = "gpu-01", .enrolment = 7};
        identity.from_ms = (int64_t)time(NULL) * 1000 - HOUR_MS;
        identity.until_ms = (int64_t)time(NULL) * 1000 + ms;
        return identity;
}

/* ---- its file ---- */

static void it_is_made_once_and_for_its_owner(void **state)
{
        (void)state;
        struct authority *again;
        struct stat status;
        struct err err = {0};
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        assert_int_equal(authority_load(path, &again, &err), 0);
        assert_string_equal(authority_certificate(again), authority_certificate(authority));
        assert_null(strstr(authority_certificate(again), "PRIVATE"));
        authority_free(again);
        assert_int_equal(chmod(path, 0640), 0);
        assert_int_equal(authority_load(path, &again, &err), -ERR_INPUT);
        check_has(err.text, "chmod 600");
        assert_int_equal(chmod(path, 0600), 0);
}

static void a_file_that_is_no_authority_is_refused_and_stays(void **state)
{
        (void)state;
        char key[IDENTITY_PEM_MAX], other[112], both[2 * IDENTITY_PEM_MAX];
        struct authority *none;
        struct err err = {0};
        const char *texts[3] = {"", "no key\n", both};
        assert_int_equal(identity_key_make(key, &err), 0);
        /* Another one's certificate. */
        snprintf(both, sizeof both, "%s%s", key, authority_certificate(authority));
        snprintf(other, sizeof other, "%s/other.pem", folder);
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
                char *bytes;
                size_t size;
                assert_int_equal(file_write(other, texts[t], strlen(texts[t]), NULL), 0);
                assert_int_equal(chmod(other, 0600), 0);
                assert_int_equal(authority_load(other, &none, &err), -ERR_INPUT);
                check_has(err.text, "other.pem");
                assert_int_equal(file_read(other, 1 << 16, &bytes, &size, NULL), 0);
                assert_string_equal(bytes, texts[t]);
                mem_free(bytes);
        }
        check_has(err.text, "its key is not that of its certificate");
        unlink(other);
}

/* ---- requests ---- */

static void what_it_signs_names_the_node_and_its_time(void **state)
{
        (void)state;
        char key[IDENTITY_PEM_MAX], request[IDENTITY_PEM_MAX], signed_text[IDENTITY_PEM_MAX];
        uint8_t first[AUTHORITY_KEY_HASH_BYTES], second[AUTHORITY_KEY_HASH_BYTES];
        const struct identity wish = identity_in(HOUR_MS);
        struct identity got;
        struct err err = {0};
        assert_int_equal(identity_key_make(key, &err), 0);
        assert_int_equal(identity_request(key, request, &err), 0);
        assert_int_equal(authority_sign(authority, request, strlen(request), &wish, signed_text,
                                        &err), 0);
        assert_int_equal(identity_read(signed_text, &got, &err), 0);
        assert_string_equal(got.node, "gpu-01");
        assert_int_equal(got.enrolment, 7);
        assert_int_equal(got.until_ms, wish.until_ms);
        assert_int_equal(got.from_ms, wish.from_ms);
        /* The same key is known again, another one is another. */
        assert_int_equal(authority_read(request, strlen(request), first, &err), 0);
        assert_int_equal(identity_request(key, request, &err), 0);
        assert_int_equal(authority_read(request, strlen(request), second, &err), 0);
        assert_memory_equal(first, second, sizeof first);
        assert_int_equal(identity_key_make(key, &err), 0);
        assert_int_equal(identity_request(key, request, &err), 0);
        assert_int_equal(authority_read(request, strlen(request), second, &err), 0);
        assert_memory_not_equal(first, second, sizeof first);
        /* Not an hour longer than the authority itself. */
        const struct identity for_ever = identity_in(20 * 365 * 24 * HOUR_MS);
        assert_int_equal(authority_sign(authority, request, strlen(request), &for_ever,
                                        signed_text, &err), 0);
        assert_int_equal(identity_read(signed_text, &got, &err), 0);
        assert_true(got.until_ms < for_ever.until_ms);
        /* The authority's own is no node's. */
        assert_int_equal(identity_read(authority_certificate(authority), &got, &err), -ERR_INPUT);
}

static void make_request(gnutls_pk_algorithm_t kind, unsigned bits,
                         char ret_request[2 * IDENTITY_PEM_MAX])
{
        size_t size = 2 * IDENTITY_PEM_MAX;
        gnutls_x509_privkey_t key;
        gnutls_x509_crq_t request;
        assert_int_equal(gnutls_x509_privkey_init(&key), 0);
        assert_int_equal(gnutls_x509_privkey_generate(key, kind, bits, 0), 0);
        assert_int_equal(gnutls_x509_crq_init(&request), 0);
        gnutls_x509_crq_set_version(request, 1);
        assert_int_equal(gnutls_x509_crq_set_dn_by_oid(request, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                       "CN=root", 7), 0);
        assert_int_equal(gnutls_x509_crq_set_key(request, key), 0);
        assert_int_equal(gnutls_x509_crq_sign2(request, key, kind == GNUTLS_PK_EDDSA_ED25519
                                                                     ? GNUTLS_DIG_SHA512
                                                                     : GNUTLS_DIG_SHA256, 0), 0);
        assert_int_equal(gnutls_x509_crq_export(request, GNUTLS_X509_FMT_PEM, ret_request, &size),
                         0);
        gnutls_x509_crq_deinit(request);
        gnutls_x509_privkey_deinit(key);
}

static void only_keys_of_two_kinds_that_sign_are_taken(void **state)
{
        (void)state;
        static const struct {
                gnutls_pk_algorithm_t kind;
                unsigned bits;
                const char *says;       /* NULL: it is taken */
        } rows[] = {
                {GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), NULL},
                {GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519), NULL},
                {GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1), "P-256"},
                {GNUTLS_PK_RSA, 2048, "P-256"},
        };
        static char request[2 * IDENTITY_PEM_MAX], certificate[IDENTITY_PEM_MAX];
        const struct identity wish = identity_in(HOUR_MS);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                uint8_t hash[AUTHORITY_KEY_HASH_BYTES];
                struct err err = {0};
                make_request(rows[r].kind, rows[r].bits, request);
                int wanted = rows[r].says ? -ERR_INPUT : 0;
                assert_int_equal(authority_read(request, strlen(request), hash, &err), wanted);
                assert_int_equal(authority_sign(authority, request, strlen(request), &wish,
                                                certificate, &err), wanted);
                if (rows[r].says)
                        check_has(err.text, rows[r].says);
                /* What the request calls itself does not come back. */
                struct identity got;
                if (!rows[r].says)
                        assert_int_equal(identity_read(certificate, &got, &err), 0);
        }
}

static void what_is_no_request_is_refused_with_a_sentence(void **state)
{
        (void)state;
        static char request[2 * IDENTITY_PEM_MAX], large[AUTHORITY_REQUEST_MAX + 2];
        uint8_t hash[AUTHORITY_KEY_HASH_BYTES];
        make_request(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), request);
        size_t size = strlen(request), changed = 0;
        /* One letter of the base64 is another: nothing of it may pass unnoticed. */
        size_t head = strlen("-----BEGIN NEW CERTIFICATE REQUEST-----\n");
        for (size_t at = head; at < size - head; at += 3) {
                struct err err = {0};
                char old = request[at];
                if (old == '\n' || old == '-' || old == '=')
                        continue;
                request[at] = old == 'A' ? 'B' : 'A';
                if (authority_read(request, size, hash, &err) == 0)
                        fail_msg("letter %zu may be another", at);
                assert_true(err.text[0] != '\0');
                request[at] = old;
                changed++;
        }
        assert_true(changed > 50);
        assert_int_equal(authority_read(request, size, hash, NULL), 0);
        memset(large, 'A', sizeof large - 1);
        const char *const texts[] = {"", "x", "-----BEGIN CERTIFICATE REQUEST-----\n", large,
                                     authority_certificate(authority)};
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
                struct err err = {0};
                assert_int_equal(authority_read(texts[t], strlen(texts[t]), hash, &err),
                                 -ERR_INPUT);
                assert_true(err.text[0] != '\0');
        }
}

static void the_name_of_a_node_comes_back_from_its_uri(void **state)
{
        (void)state;
        static const char *const none[] = {
                "", "berth:node:", "berth:node::7", "berth:node:a", "berth:node:a:",
                "berth:node:a:0", "berth:node:a:-1", "berth:node:a:7x", "berth:nodes:a:7",
                "http:node:a:7", "berth:node:a:99999999999999999999",
                "berth:node:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:7",
        };
        struct identity identity = {.node = "r1-n.2_x", .enrolment = INT64_MAX}, again;
        char uri[IDENTITY_URI_MAX];
        assert_true(identity_uri(&identity, uri));
        assert_string_equal(uri, "berth:node:r1-n.2_x:9223372036854775807");
        assert_true(identity_of_uri(uri, &again));
        assert_string_equal(again.node, identity.node);
        assert_true(again.enrolment == identity.enrolment);
        for (size_t n = 0; n < ARRAY_LEN(none); n++)
                if (identity_of_uri(none[n], &again))
                        fail_msg("'%s' is taken", none[n]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_is_made_once_and_for_its_owner),
                cmocka_unit_test(a_file_that_is_no_authority_is_refused_and_stays),
                cmocka_unit_test(what_it_signs_names_the_node_and_its_time),
                cmocka_unit_test(only_keys_of_two_kinds_that_sign_are_taken),
                cmocka_unit_test(what_is_no_request_is_refused_with_a_sentence),
                cmocka_unit_test(the_name_of_a_node_comes_back_from_its_uri),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
