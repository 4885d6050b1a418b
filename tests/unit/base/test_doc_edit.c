#include "tests/unit/check.h"

#include "base/doc_edit.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static struct doc *read(const char *text)
{
        struct err err = {0};
        struct doc *doc = NULL;

        if (doc_read_yaml("f.yaml", text, strlen(text), &doc, &err) < 0)
                fail_msg("%s", err.text);
        return doc;
}

static void check_written(const struct doc *doc, const char *expected)
{
        struct text written = {0};

        doc_write(doc_root(doc, 0), &written);
        assert_false(written.failed);
        assert_string_equal(written.bytes, expected);
        text_done(&written);
}

static void same_is_same_however_it_is_written(void **state)
{
        static const struct {
                const char *a, *b;
                bool same;
        } cases[] = {
                {"a: 1\nb: [x, y]\n", "{\"b\": [\"x\", \"y\"], \"a\": 1}", true},
                {"a: {b: }\n", "a: {b: ~}\n", true},
                {"a: 1\n", "a: 2\n", false},
                {"a: 1\n", "a: 1\nb: 2\n", false},
                {"a: [x, y]\n", "a: [y, x]\n", false},
                {"a: ''\n", "a:\n", false},
                {"a: {}\n", "a: []\n", false},
                {"a: {b: 1}\n", "a: {c: 1}\n", false},
        };
        (void)state;
        for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
                struct doc *a = read(cases[c].a), *b = read(cases[c].b);
                assert_int_equal(doc_equal(doc_root(a, 0), doc_root(b, 0)), cases[c].same);
                assert_int_equal(doc_equal(doc_root(b, 0), doc_root(a, 0)), cases[c].same);
                doc_free(a);
                doc_free(b);
        }
}

static void assignments_change_what_they_name(void **state)
{
        static const char job[] = "kind: Workload\n"
                                  "each: {devices: 8, model: \"H100*\"}\n"
                                  "near: {require: rack}\n"
                                  "retries: 2\n";
        static const struct {
                const char *assignment, *written;
        } cases[] = {
                {"each.devices=4", "kind: Workload\neach: {devices: 4, model: \"H100*\"}\n"
                                   "near: {require: rack}\nretries: 2\n"},
                {"each.model=*", "kind: Workload\neach: {devices: 4, model: \"*\"}\n"
                                 "near: {require: rack}\nretries: 2\n"},
                {"near={prefer: rack}", "kind: Workload\neach: {devices: 4, model: \"*\"}\n"
                                        "near: {prefer: rack}\nretries: 2\n"},
                {"near=", "kind: Workload\neach: {devices: 4, model: \"*\"}\nretries: 2\n"},
                {"retries=0", "kind: Workload\neach: {devices: 4, model: \"*\"}\nretries: 0\n"},
                {"run.env.A=x=y z", "kind: Workload\neach: {devices: 4, model: \"*\"}\nretries: 0\n"
                                    "run: {env: {A: \"x=y z\"}}\n"},
                {"run.command=[a, 'b c']",
                 "kind: Workload\neach: {devices: 4, model: \"*\"}\nretries: 0\n"
                 "run: {env: {A: \"x=y z\"}, command: [a, \"b c\"]}\n"},
                {"gone.for.good=", "kind: Workload\neach: {devices: 4, model: \"*\"}\nretries: 0\n"
                                   "run: {env: {A: \"x=y z\"}, command: [a, \"b c\"]}\n"},
        };
        (void)state;
        struct doc *doc = read(job);
        for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
                struct err err = {0};
                if (doc_assign(doc, doc_root(doc, 0), cases[c].assignment, &err) < 0)
                        fail_msg("%s: %s", cases[c].assignment, err.text);
                check_written(doc, cases[c].written);
        }
        doc_free(doc);
}

static void what_is_no_assignment_says_what_to_write(void **state)
{
        static const struct {
                const char *assignment, *says;
        } cases[] = {
                {"devices", "'devices' is no change; write key=value, for example each.devices=4"},
                {"=4", "'=4' is no change; write key=value, for example each.devices=4"},
                {".a=4", "'.a=4' names no key; write for example each.devices=4"},
                {"x..b=4", "'x..b=4' names no key; write for example each.devices=4"},
                {"a.b=4", "f.yaml:1: field 'a': holds no keys; write a={...} to set it anew"},
                {"c={x: 1", "c: '{x: 1' is no map and no list; write for example"},
        };
        (void)state;
        struct doc *doc = read("a: 1\n");
        for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
                struct err err = {0};
                assert_true(doc_assign(doc, doc_root(doc, 0), cases[c].assignment, &err) < 0);
                if (strncmp(err.text, cases[c].says, strlen(cases[c].says)) != 0)
                        fail_msg("%s: %s", cases[c].assignment, err.text);
        }
        check_written(doc, "a: 1\n");
        doc_free(doc);
}

static void odd_texts_come_back(void **state)
{
        static const char odd[] = "a: \"\\u007f\\u2028\\ufeff\\\" \\\\ \\n"
                                  "\xc3\xa9\xf0\x9f\x98\x80\"\n"
                                  "\"? b\": \"-\"\n\" \": [\"\", \"null\", -1, x y, -x]\n";
        struct text written = {0};
        struct err err = {0};
        (void)state;
        struct doc *doc = read(odd), *again;
        doc_write(doc_root(doc, 0), &written);
        assert_int_equal(doc_read_yaml("f", written.bytes, written.size, &again, &err), 0);
        assert_true(doc_equal(doc_root(doc, 0), doc_root(again, 0)));
        text_done(&written);
        doc_free(again);
        doc_free(doc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(same_is_same_however_it_is_written),
                cmocka_unit_test(assignments_change_what_they_name),
                cmocka_unit_test(what_is_no_assignment_says_what_to_write),
                cmocka_unit_test(odd_texts_come_back),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
