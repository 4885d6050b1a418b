#include "tests/unit/check.h"

#include "base/err.h"

static void refusing_is_one_line(void **state)
{
        (void)state;
        struct err err = {0};
        assert_int_equal(err_set(&err, ERR_RANGE, "%d is above %d", 5, 4), -ERR_RANGE);
        assert_int_equal(err.code, ERR_RANGE);
        assert_string_equal(err.text, "5 is above 4");
}

static void nobody_has_to_want_the_sentence(void **state)
{
        (void)state;
        assert_int_equal(err_set(NULL, ERR_FULL, "full"), -ERR_FULL);
        assert_true(err_prefix(NULL, "pool.yaml") < 0);
}

static void a_prefix_keeps_the_code(void **state)
{
        (void)state;
        struct err err = {0};
        err_set(&err, ERR_NOT_FOUND, "no such model");
        assert_int_equal(err_prefix(&err, "%s:%d", "pool.yaml", 3), -ERR_NOT_FOUND);
        assert_string_equal(err.text, "pool.yaml:3: no such model");
        /* its own text as an argument */
        assert_int_equal(err_prefix(&err, "%s", err.text), -ERR_NOT_FOUND);
        assert_string_equal(err.text,
                            "pool.yaml:3: no such model: pool.yaml:3: no such model");
}

static void long_sentences_are_cut_and_terminated(void **state)
{
        (void)state;
        struct err err = {0};
        char text[1000];
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        err_set(&err, ERR_IO, "%s", text);
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
        err_prefix(&err, "%s", "front");
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
        check_has(err.text, "front: xxx");
        err_prefix(&err, "%s", text);
        assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void every_code_has_a_wire_name(void **state)
{
        (void)state;
        assert_string_equal(err_code_name(0), "ok");
        assert_string_equal(err_code_name(ERR_INPUT), "invalid_input");
        assert_string_equal(err_code_name(-ERR_INPUT), "invalid_input");
        assert_string_equal(err_code_name(ERR_CODES_END), "unknown");
        assert_string_equal(err_code_name(INT32_MIN), "unknown");
        for (int code = 0; code < ERR_CODES_END; code++)
                assert_string_not_equal(err_code_name(code), "unknown");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refusing_is_one_line),
                cmocka_unit_test(nobody_has_to_want_the_sentence),
                cmocka_unit_test(a_prefix_keeps_the_code),
                cmocka_unit_test(long_sentences_are_cut_and_terminated),
                cmocka_unit_test(every_code_has_a_wire_name),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
