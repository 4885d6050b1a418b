#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "net/uri.h"

static void names_are_decoded_or_refused(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                const char *out; /* NULL: refused */
        } rows[] = {
                {"", ""},
                {"plain-._~", "plain-._~"},
                {"research%2Fnlp", "research/nlp"},
                {"a%20b", "a b"},
                {"a+b", "a+b"},
                {"%C3%a9", "\xc3\xa9"},
                {"%25", "%"},
                {"%", NULL},
                {"%2", NULL},
                {"%2g", NULL},
                {"%g2", NULL},
                {"a%00b", NULL},
                {"%0a", NULL},
                {"%7f", NULL},
                {"%C3", NULL},       /* half a letter */
                {"%ED%A0%80", NULL}, /* a surrogate */
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[32] = "before";
                struct err err = {0};
                int rc = uri_decode(rows[i].in, strlen(rows[i].in), false, text, sizeof text, &err);
                if (rc != (rows[i].out ? 0 : -ERR_INPUT))
                        fail_msg("row %zu: %d", i, rc);
                assert_string_equal(text, rows[i].out ? rows[i].out : "");
                assert_int_equal(err.text[0] != '\0', rc < 0);
        }
}

static void room_is_kept_at_the_bound(void **state)
{
        (void)state;
        char text[5];
        assert_int_equal(uri_decode("abcd", 4, false, text, sizeof text, NULL), 0);
        assert_string_equal(text, "abcd");
        assert_int_equal(uri_decode("abcde", 5, false, text, sizeof text, NULL), -ERR_INPUT);
        assert_string_equal(text, "");
        assert_int_equal(uri_decode("", 0, false, text, 1, NULL), 0);
        assert_true(uri_encode("a/", text, 5));
        assert_string_equal(text, "a%2F");
        assert_false(uri_encode("a/", text, 4));
        assert_string_equal(text, "");
}

static void what_is_encoded_comes_back(void **state)
{
        (void)state;
        static const char *const rows[] = {"", "research/nlp", "a&b=c?d#e+f %",
                                           "\xc3\xa9\xf0\x9f\x9a\xa2"};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char encoded[128], again[64];
                assert_true(uri_encode(rows[i], encoded, sizeof encoded));
                assert_null(strpbrk(encoded, "/&=?#+ "));
                for (int plus = 0; plus < 2; plus++) {
                        assert_int_equal(uri_decode(encoded, strlen(encoded), plus, again,
                                                    sizeof again, NULL),
                                         0);
                        assert_string_equal(again, rows[i]);
                }
        }
}

static void queries_are_looked_up(void **state)
{
        (void)state;
        static const struct {
                const char *query, *name;
                int rc;
                const char *value;
        } rows[] = {
                {"", "a", 0, "default"},
                {"a=1", "a", 1, "1"},
                {"a=1&b=two+words", "b", 1, "two words"},
                {"a", "a", 1, ""},
                {"a=", "a", 1, ""},
                {"a==", "a", 1, "="},
                {"&&a=1&", "a", 1, "1"},
                {"%61=x", "a", 1, "x"},
                {"A=1", "a", 0, "default"},
                {"ab=1", "a", 0, "default"},
                {"a=1&a=2", "a", -ERR_INPUT, "default"},
                {"a=%zz", "a", -ERR_INPUT, "default"},
                {"b=%zz&a=1", "a", 1, "1"}, /* not asked for: query_check() finds it */
                {"%zz=1&a=1", "a", -ERR_INPUT, "default"},
                {"a=123456789", "a", -ERR_INPUT, "default"}, /* above the room */
                {"a=1234567", "a", 1, "1234567"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char value[8 + 2] = "default";
                struct err err = {0};
                int rc = query_get(rows[i].query, rows[i].name, value,
                                   strcmp(rows[i].value, "two words") == 0 ? 10 : 9, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d %s", i, rc, err.text);
                assert_string_equal(value, rows[i].value);
                assert_int_equal(err.text[0] != '\0', rc < 0);
        }
}

static void unknown_fields_are_refused_with_near_names(void **state)
{
        (void)state;
        static const char *const names[] = {"tenant", "limit"};
        struct err err;
        char many[QUERY_PAIRS_MAX * 8] = "";
        assert_int_equal(query_check("tenant=a&limit=5", names, 2, &err), 0);
        assert_int_equal(query_check("", names, 2, &err), 0);
        assert_int_equal(query_check("tennant=a", names, 2, &err), -ERR_INPUT);
        check_has(err.text, "unknown field 'tennant' in the query; did you mean 'tenant'?");
        assert_int_equal(query_check("limit=1&limit=1", names, 2, &err), -ERR_INPUT);
        check_has(err.text, "'limit' comes twice");
        assert_int_equal(query_check("limit=%4", names, 2, &err), -ERR_INPUT);
        for (int i = 0; i < QUERY_PAIRS_MAX + 1; i++)
                strcat(many, "limit&");
        assert_int_equal(query_check(many, names, 2, &err), -ERR_INPUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_decoded_or_refused),
                cmocka_unit_test(room_is_kept_at_the_bound),
                cmocka_unit_test(what_is_encoded_comes_back),
                cmocka_unit_test(queries_are_looked_up),
                cmocka_unit_test(unknown_fields_are_refused_with_near_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
