/* What berthd and the process that makes a forecast say: it comes back as it was said, and what may
 * not be said is refused with a reason. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/forecast_line.h"

static void a_question_comes_back(void **state)
{
        struct forecast_question asked = {.text = "kind: Workload\n\nname: x\n", .size = 24,
                                          .seq = INT64_MAX, .now_ms = 5};
        struct forecast_question got;
        struct text text = {0};

        (void)state;
        assert_int_equal(strlen(asked.text), asked.size);
        for (unsigned kind = 0; kind < 2; kind++) {
                asked.is_json = kind;
                forecast_question_write(&asked, &text);
                assert_int_equal(forecast_question_parse(text.bytes, text.size, &got, NULL), 0);
                assert_true(got.seq == asked.seq && got.now_ms == 5);
                assert_int_equal(got.is_json, asked.is_json);
                assert_int_equal(got.size, asked.size);
                assert_memory_equal(got.text, asked.text, asked.size);
                text_done(&text);
                text = (struct text){0};
        }
}

static void an_answer_comes_back(void **state)
{
        static const struct forecast rows[] = {
                {1, 1, 0, 0}, {10, 10, 5, 6}, {10, 5, 86400000, -1}, {10, 0, -1, -1}, {3, 3, 7, 7},
        };

        (void)state;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct forecast got = {0};
                struct text text = {0};
                forecast_answer_write(0, &rows[r], NULL, &text);
                assert_int_equal(forecast_answer_parse(text.bytes, text.size, &got, NULL), 0);
                assert_memory_equal(&got, &rows[r], sizeof got);
                text_done(&text);
        }
}

/* Also what would be no line, or no letters. */
static void a_sentence_comes_back_clean(void **state)
{
        static const struct { const char *said, *heard; } rows[] = {
                {"the queue is long", "the queue is long"},
                {"two\nlines", "two?lines"},
                {"\033[2J", "?[2J"},
                {"\303\251t\303\251", "\303\251t\303\251"},
                {"torn \303", "torn "},
                {"", "it is not known why"},
        };

        (void)state;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct forecast none;
                struct err why = {.code = ERR_IO}, got = {0};
                struct text text = {0};
                (void)str_copy(why.text, sizeof why.text, rows[r].said);
                forecast_answer_write(-ERR_IO, NULL, &why, &text);
                assert_int_equal(forecast_answer_parse(text.bytes, text.size, &none, &got), 1);
                assert_string_equal(got.text, rows[r].heard);
                text_done(&text);
        }
        struct err longest = {.code = ERR_IO}, got = {0};
        struct text text = {0};
        memset(longest.text, 'x', sizeof longest.text - 1);
        forecast_answer_write(-ERR_IO, NULL, &longest, &text);
        assert_int_equal(forecast_answer_parse(text.bytes, text.size, NULL, &got), 1);
        assert_string_equal(got.text, longest.text);
        text_done(&text);
}

static void what_may_not_be_said_is_refused(void **state)
{
        static const struct { const char *line, *says; } rows[] = {
                {"", "no line"},
                {"\n", "no line"},
                {"forecast 1 1 0 0", "no line"},
                {"forecast 1 1 0 0\n\n", "more than one"},
                {"hello\n", "no known word"},
                {"forecast\n", "no known word"},
                {"forecast 1 1 0\n", "fewer than four"},
                {"forecast  1 1 0 0\n", "is empty"},
                {"forecast 1 1 0 0 0\n", "cannot be"},
                {"forecast 11 1 0 0\n", "11"},
                {"forecast 0 0 -1 -1\n", "cannot be"},
                {"forecast -1 1 0 0\n", "cannot be"},
                {"forecast 10 -1 0 0\n", "cannot be"},
                {"forecast 3 4 0 0\n", "cannot be"},
                {"forecast 10 10 6 5\n", "cannot be"},
                {"forecast 10 4 5 -1\n", "cannot be"},
                {"forecast 10 5 5 5\n", "cannot be"},
                {"forecast 10 10 86400001 86400001\n", "86400001"},
                {"none \n", "a sentence that is none"},
                {"none \303\n", "a sentence that is none"},
                {"none \033\n", "no letter"},
        };

        (void)state;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct forecast got;
                struct err err = {0};
                if (forecast_answer_parse(rows[r].line, strlen(rows[r].line), &got, &err) >= 0)
                        fail_msg("'%s' is taken", rows[r].line);
                check_has(err.text, rows[r].says);
        }
}

static void a_question_that_is_none_is_refused(void **state)
{
        static const char *const rows[] = {"", "\n", "1 1 yaml", "1 1 toml\n", "1 yaml\n",
                                           "x 1 yaml\n", "1 -1 yaml\n", "1 1 yaml x\n",
                                           "1 1 yam\n", "1 1\n", "1 1 \n", "1 1  json\n",
                                           "99999999999999999999 1 yaml\n"};

        (void)state;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct forecast_question got;
                struct err err = {0};
                if (forecast_question_parse(rows[r], strlen(rows[r]), &got, &err) >= 0)
                        fail_msg("'%s' is taken", rows[r]);
                assert_true(err.text[0] != '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_question_comes_back),
                cmocka_unit_test(an_answer_comes_back),
                cmocka_unit_test(a_sentence_comes_back_clean),
                cmocka_unit_test(what_may_not_be_said_is_refused),
                cmocka_unit_test(a_question_that_is_none_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
