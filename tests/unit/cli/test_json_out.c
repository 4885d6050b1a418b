#include "cli/json_out.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "tests/unit/check.h"

static void a_number_is_as_short_as_it_can_be(void **state)
{
        (void)state;
        static const struct {
                double value;
                const char *text;
        } rows[] = {
                {0, "[0]\n"},
                {-3, "[-3]\n"},
                {0.5, "[0.5]\n"},
                {1.0 / 3, "[0.333333333]\n"},
                {8e15, "[8000000000000000]\n"},
                {1e16, "[1e16]\n"},
                {NAN, "[null]\n"},
                {INFINITY, "[null]\n"},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct err err = {0};
                char *text = NULL;
                size_t size = 0;
                json_t *list = json_pack("[o]", json_out_number(rows[r].value));
                assert_int_equal(json_out_add(list, JSON_COMPACT, &text, &size, &err), 0);
                assert_int_equal(size, strlen(rows[r].text));
                assert_memory_equal(text, rows[r].text, size);
                mem_free(text);
        }
}

static void values_stand_one_below_the_other(void **state)
{
        (void)state;
        struct err err = {0};
        char *text = NULL;
        size_t size = 0;

        assert_int_equal(json_out_add(json_pack("{s:i}", "a", 1), JSON_COMPACT, &text, &size, &err),
                         0);
        assert_int_equal(json_out_add(json_pack("[i]", 2), JSON_COMPACT, &text, &size, &err), 0);
        assert_int_equal(size, 12);
        assert_memory_equal(text, "{\"a\":1}\n[2]\n", size);
        mem_free(text);
}

static void one_value_is_indented(void **state)
{
        (void)state;
        struct err err = {0};
        char *text;
        size_t size;

        assert_int_equal(json_out_text(json_pack("{s:i}", "a", 1), &text, &size, &err), 0);
        assert_int_equal(size, 13);
        assert_memory_equal(text, "{\n  \"a\": 1\n}\n", size);
        mem_free(text);
}

/* What failed before is told here; what fails here changes nothing. */
static void a_failure_leaves_the_text_alone(void **state)
{
        (void)state;
        struct err err = {0};
        char *text = NULL;
        size_t size = 0;

        assert_int_equal(json_out_text(NULL, &text, &size, &err), -ERR_NOMEM);
        assert_null(text);
        assert_int_equal(json_out_add(json_pack("[]"), JSON_COMPACT, &text, &size, &err), 0);
        assert_int_equal(json_out_add(NULL, JSON_COMPACT, &text, &size, &err), -ERR_NOMEM);
        mem_fail_at(1);
        assert_int_equal(json_out_add(json_pack("[i]", 2), JSON_COMPACT, &text, &size, &err),
                         -ERR_NOMEM);
        check_has(err.text, "out of memory while writing JSON");
        assert_int_equal(size, 3);
        assert_memory_equal(text, "[]\n", size);
        mem_free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_number_is_as_short_as_it_can_be),
                cmocka_unit_test(values_stand_one_below_the_other),
                cmocka_unit_test(one_value_is_indented),
                cmocka_unit_test(a_failure_leaves_the_text_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
