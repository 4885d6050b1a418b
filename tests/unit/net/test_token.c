#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "net/token.h"

static void a_token_s_text_gives_the_token_back(void **state)
{
        (void)state;
        struct token token, again, other;
        char text[TOKEN_TEXT_MAX];
        for (int i = 0; i < 1000; i++) {
                token_make(&token);
                token_text(&token, text);
                assert_int_equal(strlen(text), TOKEN_TEXT_MAX - 1);
                assert_memory_equal(text, "berth_", 6);
                assert_int_equal(token_parse(text, &again, NULL), 0);
                assert_memory_equal(&token, &again, sizeof token);
        }
        token_make(&other);
        assert_memory_not_equal(&token, &other, sizeof token);
        token_wipe(&token, sizeof token);
        for (size_t i = 0; i < sizeof token.bytes; i++)
                assert_int_equal(token.bytes[i], 0);
}

/* The form is a promise to those who keep tokens: it may never change. */
static void the_form_is_fixed(void **state)
{
        (void)state;
        static const uint8_t hash_wanted[] = {0xcb, 0x2f, 0x51, 0x60, 0xfc, 0x1f, 0x7e, 0x05};
        struct token token;
        char text[TOKEN_TEXT_MAX];
        uint8_t hash[TOKEN_HASH_BYTES];
        for (size_t i = 0; i < TOKEN_BYTES; i++)
                token.bytes[i] = (uint8_t)i;
        token_text(&token, text);
        assert_string_equal(text, "berth_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh82SIMFA");
        token_hash(&token, hash);
        assert_memory_equal(hash, hash_wanted, sizeof hash_wanted);
}

static void every_single_wrong_character_is_seen(void **state)
{
        (void)state;
        struct token token, kept, out;
        char text[TOKEN_TEXT_MAX];
        struct err err;
        token_make(&token);
        token_text(&token, text);
        memset(&out, 0xaa, sizeof out);
        kept = out;
        for (size_t at = 0; text[at]; at++) {
                char right = text[at];
                for (int c = 1; c < 256; c++) {
                        if ((char)c == right)
                                continue;
                        text[at] = (char)c;
                        if (token_parse(text, &out, &err) != -ERR_INPUT)
                                fail_msg("character %zu as %d is taken", at, c);
                        assert_null(strstr(err.text, text + 6)); /* the sentence is no leak */
                }
                text[at] = right;
        }
        assert_memory_equal(&out, &kept, sizeof out);
        assert_int_equal(token_parse(text, &out, &err), 0);
}

static void other_lengths_and_swaps_are_refused(void **state)
{
        (void)state;
        struct token token, out;
        char text[TOKEN_TEXT_MAX], longer[TOKEN_TEXT_MAX + 1];
        token_make(&token);
        token_text(&token, text);
        snprintf(longer, sizeof longer, "%sA", text);
        assert_int_equal(token_parse(longer, &out, NULL), -ERR_INPUT);
        assert_int_equal(token_parse("", &out, NULL), -ERR_INPUT);
        assert_int_equal(token_parse("berth_", &out, NULL), -ERR_INPUT);
        for (size_t at = 6; text[at + 1]; at++) {
                char swapped[TOKEN_TEXT_MAX];
                memcpy(swapped, text, sizeof swapped);
                swapped[at] = text[at + 1];
                swapped[at + 1] = text[at];
                assert_int_equal(token_parse(swapped, &out, NULL),
                                 text[at] == text[at + 1] ? 0 : -ERR_INPUT);
                memcpy(swapped, text, sizeof swapped);
                swapped[at] = '\0';
                assert_int_equal(token_parse(swapped, &out, NULL), -ERR_INPUT);
        }
}

static void the_header_is_bearer_and_a_token(void **state)
{
        (void)state;
        static const struct {
                const char *start;
                int rc;
        } rows[] = {
                {"Bearer ", 0},           {"bearer   ", 0},
                {"BEARER ", 0},           {"Bearer", -ERR_INPUT},
                {"Basic ", -ERR_INPUT},   {"", -ERR_INPUT},
                {" Bearer ", -ERR_INPUT}, {"BearerBearer ", -ERR_INPUT},
        };
        struct token token, out;
        char text[TOKEN_TEXT_MAX], header[128];
        token_make(&token);
        token_text(&token, text);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                snprintf(header, sizeof header, "%s%s", rows[i].start, text);
                if (token_from_header(header, &out, NULL) != rows[i].rc)
                        fail_msg("row %zu", i);
        }
        assert_int_equal(token_from_header(NULL, &out, NULL), -ERR_NOT_FOUND);
        assert_int_equal(token_from_header("Bearer ", &out, NULL), -ERR_INPUT);
}

static void hashes_tell_tokens_apart(void **state)
{
        (void)state;
        struct token a, b;
        uint8_t hash_a[TOKEN_HASH_BYTES], hash_b[TOKEN_HASH_BYTES];
        token_make(&a);
        b = a;
        token_hash(&a, hash_a);
        token_hash(&b, hash_b);
        assert_true(token_hash_equal(hash_a, hash_b));
        b.bytes[31] ^= 1;
        token_hash(&b, hash_b);
        assert_false(token_hash_equal(hash_a, hash_b));
}

static void a_hash_comes_back_from_its_text(void **state)
{
        (void)state;
        uint8_t hash[TOKEN_HASH_BYTES], again[TOKEN_HASH_BYTES];
        char text[TOKEN_HASH_TEXT_MAX];
        struct token token;
        token_make(&token);
        token_hash(&token, hash);
        token_hash_text(hash, text);
        assert_true(token_hash_parse(text, again));
        assert_memory_equal(hash, again, sizeof hash);
        assert_false(token_hash_parse(NULL, again));
        assert_false(token_hash_parse("", again));
        assert_false(token_hash_parse(text + 1, again));
        text[5] = 'g';
        assert_false(token_hash_parse(text, again));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_hash_comes_back_from_its_text),
                cmocka_unit_test(a_token_s_text_gives_the_token_back),
                cmocka_unit_test(the_form_is_fixed),
                cmocka_unit_test(every_single_wrong_character_is_seen),
                cmocka_unit_test(other_lengths_and_swaps_are_refused),
                cmocka_unit_test(the_header_is_bearer_and_a_token),
                cmocka_unit_test(hashes_tell_tokens_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
