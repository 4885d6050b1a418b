#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/problem.h"

static json_t *problem_of(unsigned status, enum err_code code, const char *sentence,
                          const json_t *extra)
{
        struct text text = {0};
        struct err err;

        err_set(&err, code, "%s", sentence);
        problem_write(&text, status, &err, extra);
        assert_false(text.failed);
        json_t *object = json_loadb(text.bytes, text.size, JSON_REJECT_DUPLICATES, NULL);
        if (!object)
                fail_msg("'%s' is no JSON", text.bytes);
        text_done(&text);
        return object;
}

static void is(const json_t *object, const char *name, const char *wanted)
{
        const char *got = json_string_value(json_object_get(object, name));

        if (!got || strcmp(got, wanted) != 0)
                fail_msg("%s is '%s', not '%s'", name, got ? got : "(none)", wanted);
}

static void the_sentence_comes_through_as_it_is(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "tenant 'nlp' holds 8 of 8",
                "",
                "quotes \" and \\ and \t and \n and \xc3\xa9",
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_t *object = problem_of(0, ERR_NOT_FOUND, rows[i], NULL);
                is(object, "detail", rows[i]);
                is(object, "type", "/problems/not_found");
                is(object, "title", "not found");
                assert_int_equal(json_integer_value(json_object_get(object, "status")), 404);
                assert_int_equal(json_object_size(object), 4);
                json_decref(object);
        }
        /* A sentence cut in the middle of a letter is no reason for broken JSON. */
        json_t *object = problem_of(0, ERR_INPUT, "half \xc3", NULL);
        is(object, "detail", "the sentence was no UTF-8");
        json_decref(object);
}

static void another_status_has_its_own_type(void **state)
{
        (void)state;
        json_t *object = problem_of(405, ERR_NOT_FOUND, "there is no PUT", NULL);
        is(object, "type", "/problems/http-405");
        is(object, "title", "Method Not Allowed");
        json_decref(object);
}

static void extra_members_follow(void **state)
{
        (void)state;
        json_t *extra = json_pack("{s:i, s:{s:s}}", "limit", 8, "nearest", "profile", "3g.40gb");
        json_t *object = problem_of(0, ERR_EXISTS, "x", extra);
        assert_int_equal(json_integer_value(json_object_get(object, "limit")), 8);
        is(json_object_get(object, "nearest"), "profile", "3g.40gb");
        assert_int_equal(json_object_size(extra), 2);
        json_decref(object);
        json_decref(extra);
}

static void every_code_has_a_status_of_its_kind(void **state)
{
        (void)state;
        for (int code = ERR_OK + 1; code < ERR_CODES_END; code++) {
                unsigned status = problem_status(code);
                assert_in_range(status, 400, 599);
                assert_int_equal(problem_status(-code), status);
                assert_string_not_equal(problem_status_title(status), "");
        }
        assert_int_equal(problem_status(-ERR_INPUT), 400);
        assert_int_equal(problem_status(-ERR_EXISTS), 409);
        assert_int_equal(problem_status(-ERR_FULL), 503);
        assert_int_equal(problem_status(-ERR_LIMIT), 422);
        assert_string_equal(problem_status_title(299), "");
}

static void out_of_memory_fails_the_text(void **state)
{
        (void)state;
        struct err err;
        err_set(&err, ERR_INPUT, "x");
        struct text text = {0};
        mem_fail_at(1);
        problem_write(&text, 0, &err, NULL);
        mem_fail_at(0);
        assert_true(text.failed);
        text_done(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_sentence_comes_through_as_it_is),
                cmocka_unit_test(another_status_has_its_own_type),
                cmocka_unit_test(extra_members_follow),
                cmocka_unit_test(every_code_has_a_status_of_its_kind),
                cmocka_unit_test(out_of_memory_fails_the_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
