#include "tests/unit/check.h"

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"

static void copies_fit_or_leave_the_target_alone(void **state)
{
        (void)state;
        char buf[6] = "old";
        assert_true(str_copy(buf, sizeof buf, "berth"));
        assert_string_equal(buf, "berth");
        assert_false(str_copy(buf, sizeof buf, "berths"));
        assert_string_equal(buf, "berth");
        assert_true(str_copy(buf, 1, ""));
        assert_string_equal(buf, "");
        assert_false(str_copy(buf, 0, ""));
}

static void case_is_ignored_for_ascii_only(void **state)
{
        (void)state;
        assert_true(str_equal_nocase("H100-80", "h100-80"));
        assert_false(str_equal_nocase("H100", "H100-80"));
        assert_false(str_equal_nocase("\xc3\x84", "\xc3\xa4"));
        assert_false(str_equal_nocase("[", "{"));
        assert_true(str_compare_nocase("a", "B") < 0);
        assert_true(str_compare_nocase("b", "A") > 0);
        assert_true(str_compare_nocase("", "a") < 0);
        assert_true(str_compare_nocase("\xff", "a") > 0);
        assert_true(str_equal("a", "a"));
        assert_false(str_equal("a", "A"));
}

static void patterns_match_whole_texts(void **state)
{
        (void)state;
        static const struct { const char *pattern, *text; bool matches; } rows[] = {
                {"", "", true},
                {"", "a", false},
                {"*", "", true},
                {"*", "anything", true},
                {"**", "x", true},
                {"H100*", "H100", true},
                {"H100*", "H100-80", true},
                {"H100*", "XH100", false},
                {"*80", "A100-80", true},
                {"*80", "A100-800", false},
                {"a*b*c", "abc", true},
                {"a*b*c", "aXbYbZc", true},
                {"a*b*c", "aXbYbZ", false},
                {"a*bc", "abcbd", false},
                {"*a*a*a", "aa", false},
                {"A100", "a100", false},
                {"?", "a", false},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (str_glob(rows[i].pattern, rows[i].text) != rows[i].matches)
                        fail_msg("'%s' against '%s'", rows[i].pattern, rows[i].text);
        assert_true(str_glob_nocase("h100*", "H100-80"));
}

static void nasty_patterns_stay_quick(void **state)
{
        (void)state;
        enum { SIZE = 20000 };
        char *text = malloc(SIZE + 1);
        char *pattern = malloc(2 * 1000 + 2);
        assert_non_null(text);
        assert_non_null(pattern);
        memset(text, 'a', SIZE);
        text[SIZE] = '\0';
        for (int i = 0; i < 1000; i++)
                memcpy(pattern + 2 * i, "*a", 2);
        memcpy(pattern + 2000, "b", 2);
        clock_t start = clock();
        assert_false(str_glob(pattern, text));
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5.0);
        free(text);
        free(pattern);
}

static void distances_count_single_edits(void **state)
{
        (void)state;
        static const struct { const char *a, *b; unsigned distance; } rows[] = {
                {"", "", 0},
                {"", "abc", 3},
                {"abc", "", 3},
                {"nodes", "nodes", 0},
                {"nodes", "NODES", 0},
                {"nods", "nodes", 1},
                {"ndoes", "nodes", 1},          /* neighbours swapped */
                {"kitten", "sitting", 3},
                {"ca", "abc", 3},
                {"abcdef", "ghijkl", 6},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(str_distance(rows[i].a, rows[i].b), rows[i].distance);
                assert_int_equal(str_distance(rows[i].b, rows[i].a), rows[i].distance);
        }
        char long_a[300];
        char long_b[300];
        memset(long_a, 'a', sizeof long_a);
        memset(long_b, 'b', sizeof long_b);
        long_a[299] = long_b[299] = '\0';
        assert_int_equal(str_distance(long_a, long_b), STR_DISTANCE_MAX);
}

static void near_names_are_listed(void **state)
{
        (void)state;
        static const char *const names[] = {"nodes",   "devices_per_node", "model",  "name",
                                            "A100-40", "A100-80",          "H100-80", "network"};
        static const struct { const char *wanted, *text; } rows[] = {
                {"nods", "did you mean 'nodes'?"},
                {"Nodes", "did you mean 'nodes'?"},
                {"A100", "did you mean 'A100-40', 'A100-80'?"},
                {"a100-8", "did you mean 'A100-80', 'A100-40', 'H100-80'?"},
                {"node", "did you mean 'nodes'"},
                {"devices", "did you mean 'devices_per_node'?"},
                {"modle", "did you mean 'model'"},
                {"zzzzzz", "known: 'nodes', 'devices_per_node', 'model', 'name', 'A100-40'"},
                {"", "known: 'nodes', 'devices_per_node', 'model', 'name', 'A100-40'"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char buf[STR_NEAR_MAX];
                check_has(str_near(names, ARRAY_LEN(names), rows[i].wanted, buf, sizeof buf),
                          rows[i].text);
        }
        char buf[STR_NEAR_MAX];
        assert_string_equal(str_near(names, 0, "x", buf, sizeof buf), "none is known");
        assert_string_equal(str_near(names, 1, "zzz", buf, sizeof buf), "known: 'nodes'");
        char small[8];
        str_near(names, 4, "nods", small, sizeof small);
        assert_true(strlen(small) < sizeof small);
        str_near(names, 4, "nods", small, 1);
        assert_string_equal(small, "");
}

static void near_names_fit_their_buffer(void **state)
{
        (void)state;
        char name[48];
        memset(name, 'n', 47);
        name[47] = '\0';
        const char *const names[] = {name, name, name};
        char buf[STR_NEAR_MAX];
        str_near(names, 3, name, buf, sizeof buf);
        assert_int_equal(buf[strlen(buf) - 1], '?');
}

static void shown_text_is_safe_and_short(void **state)
{
        (void)state;
        static const struct { const char *text, *shown; } rows[] = {
                {"", ""},
                {"plain", "plain"},
                {"a\nb\x1b[31mc\x7f", "a?b?[31mc?"},
                {"\xff\xfe", "??"},
                {"\xc3", "?"},
                {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
                {"\xc2\x9b" "31m", "?31m"},              /* a C1 control */
                {"\u202egpj.exe", "?gpj.exe"},           /* would be shown from right to left */
        };
        char buf[STR_SHOW_MAX];
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_string_equal(str_show(rows[i].text, buf), rows[i].shown);

        char text[200];
        for (size_t length = 0; length < sizeof text; length++) {
                memset(text, 'x', length);
                text[length] = '\0';
                str_show(text, buf);
                if (length < STR_SHOW_MAX)
                        assert_string_equal(buf, text);
                else
                        assert_string_equal(buf + strlen(buf) - 4, "x...");
        }
        /* cut only between characters */
        for (size_t i = 0; i + 3 < sizeof text; i += 3)
                memcpy(text + i, "\xe2\x82\xac", 4);
        str_show(text, buf);
        assert_true(str_is_utf8(buf, strlen(buf), NULL));
}

static void text_is_made_fit_for_a_terminal(void **state)
{
        (void)state;
        static const struct { const char *text; bool has_lines; const char *fit; } rows[] = {
                {"", false, ""},
                {"plain, gr\u00fc\u00df\u20ac\U0001f600", false, "plain, gr\u00fc\u00df\u20ac\U0001f600"},
                {"a\nb\tc\x1b]0;x\a", false, "a?b?c?]0;x?"},
                {"a\nb\r\n\tc\n", true, "a\nb?\n?c\n"},
                {"\x1f\x20\x7e\x7f", false, "?\x20\x7e?"},
                {"\xc2\x80.\xc2\x9f.\u00a0", false, "?.?.\u00a0"},
                {"\u2027\u2028\u2029\u202a\u202e\u202f", false, "\u2027????\u202f"},
                {"\u2065\u2066\u2069\u206a", false, "\u2065??\u206a"},
                {"\u05e9\u05dc\u200f, \u0627", false, "\u05e9\u05dc\u200f, \u0627"},
                {"a\x9b" "1m\xe2\x82", true, "a?1m??"}, /* alone: a C1 control of eight bits */
                {"\xed\xa0\x80\xf4\x90\x80\x80", false, "???????"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[64];
                strcpy(text, rows[i].text);
                size_t size = str_make_fit(text, strlen(text), rows[i].has_lines);
                assert_string_equal(text, rows[i].fit);
                assert_int_equal(size, strlen(text));
        }
        char zeros[] = "a\0b";
        assert_int_equal(str_make_fit(zeros, 3, true), 3);
        assert_string_equal(zeros, "a?b");
}

static void utf8_is_checked_strictly(void **state)
{
        (void)state;
        static const struct { const char *bytes; size_t size; int wrong_at; } rows[] = {
                {"", 0, -1},
                {"plain", 5, -1},
                {"a\0b", 3, -1},
                {"\xc2\x80", 2, -1},
                {"\xe0\xa0\x80", 3, -1},
                {"\xed\x9f\xbf", 3, -1},
                {"\xf0\x90\x80\x80", 4, -1},
                {"\xf4\x8f\xbf\xbf", 4, -1},
                {"a\x80", 2, 1},                        /* lone follower */
                {"\xc0\x80", 2, 0},                     /* not the shortest form */
                {"\xc1\xbf", 2, 0},
                {"\xe0\x9f\xbf", 3, 0},
                {"\xf0\x8f\xbf\xbf", 4, 0},
                {"\xed\xa0\x80", 3, 0},                 /* surrogate */
                {"\xf4\x90\x80\x80", 4, 0},             /* above U+10FFFF */
                {"\xf5\x80\x80\x80", 4, 0},
                {"ab\xc3", 3, 2},                       /* cut off */
                {"ab\xe2\x82", 4, 2},
                {"ab\xf0\x90\x80", 5, 2},
                {"\xc3(", 2, 0},
                {"\xff\xfe", 2, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                size_t offset = 99;
                bool good = str_is_utf8(rows[i].bytes, rows[i].size, &offset);
                assert_int_equal(good, rows[i].wrong_at < 0);
                assert_int_equal(offset, good ? 99 : rows[i].wrong_at);
        }
}

static void a_cut_tears_no_letter(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                size_t max, length;
        } rows[] = {{"", 0, 0}, {"", 9, 0}, {"abc", 3, 3}, {"abc", 2, 2}, {"abc", 0, 0},
                    {"a\xc3\xa9z", 1, 1}, {"a\xc3\xa9z", 2, 1}, {"a\xc3\xa9z", 3, 3},
                    {"\xf0\x9f\x9a\xa2!", 3, 0}, {"\xf0\x9f\x9a\xa2!", 4, 4},
                    {"\x80\x80\x80", 2, 0}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(str_cut(rows[i].text, strlen(rows[i].text), rows[i].max),
                                 rows[i].length);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(copies_fit_or_leave_the_target_alone),
                cmocka_unit_test(case_is_ignored_for_ascii_only),
                cmocka_unit_test(patterns_match_whole_texts),
                cmocka_unit_test(nasty_patterns_stay_quick),
                cmocka_unit_test(distances_count_single_edits),
                cmocka_unit_test(near_names_are_listed),
                cmocka_unit_test(near_names_fit_their_buffer),
                cmocka_unit_test(shown_text_is_safe_and_short),
                cmocka_unit_test(text_is_made_fit_for_a_terminal),
                cmocka_unit_test(a_cut_tears_no_letter),
                cmocka_unit_test(utf8_is_checked_strictly),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
