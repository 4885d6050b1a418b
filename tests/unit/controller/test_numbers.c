/* The numbers that work is given by: they grow over every start, whatever its clock says. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "controller/numbers.h"

static void a_log_without_a_note_has_its_records_numbers(void **state)
{
        (void)state;
        struct numbers numbers = {0};
        assert_int_equal(numbers_epoch(&numbers, 17), 17);
        assert_true(numbers_know(&numbers, 17, 17));
        assert_false(numbers_know(&numbers, 18, 17));
        assert_false(numbers_begin(&numbers, &(struct numbers_wish){0}, 18));
}

static void every_start_begins_above_the_log_and_its_clock(void **state)
{
        (void)state;
        static const struct {
                uint64_t clock, above;
        } rows[] = {{1000000, 1000000}, {2000000, 2000000}, {5, 2000000}, {1, 2000000},
                    {9000000000, 9000000000}, {0, 9000000000}};
        struct numbers numbers = {0};
        uint64_t seq = 10, last = 10;
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct numbers_wish wish = {.log = r + 7, .epoch_min = rows[r].clock,
                                            .chance = NUMBERS_CHANCE_MIN + (uint32_t)r};
                numbers_wish_above(&wish, &numbers, seq);
                assert_true(numbers_begin(&numbers, &wish, seq + 1));
                assert_true(numbers_epoch(&numbers, seq + 1) >= rows[r].above);
                assert_true(numbers_epoch(&numbers, seq + 1) > last);
                assert_false(numbers_begin(&numbers, &wish, seq + 2));
                assert_int_equal(numbers.log, 7);       /* the first one stays */
                /* What lies between is in no record. */
                assert_true(numbers_know(&numbers, last, seq + 1));
                assert_false(numbers_know(&numbers, last + 1, seq + 1));
                assert_false(numbers_know(&numbers, numbers_epoch(&numbers, seq + 1) - 1, seq + 1));
                assert_true(numbers_know(&numbers, numbers_epoch(&numbers, seq + 1), seq + 1));
                assert_false(numbers_know(&numbers, numbers_epoch(&numbers, seq + 2), seq + 1));
                seq += 100;
                last = numbers_epoch(&numbers, seq);
                assert_true(numbers_know(&numbers, last, seq));
        }
}

static void wanted_is_what_is_above(void **state)
{
        (void)state;
        struct numbers numbers = {0};
        assert_true(numbers_begin(&numbers, &(struct numbers_wish){.workload_min = 40}, 3));
        assert_int_equal(numbers.workload_min, 40);
        assert_int_equal(numbers_epoch(&numbers, 4), 4);
        assert_false(numbers_begin(&numbers, &(struct numbers_wish){.workload_min = 39}, 4));
        assert_true(numbers_begin(&numbers, &(struct numbers_wish){.epoch_min = 6}, 5));
        assert_int_equal(numbers_epoch(&numbers, 5), 6);
        assert_int_equal(numbers.workload_min, 40);
}

static void of_many_starts_the_newest_are_remembered(void **state)
{
        (void)state;
        struct numbers numbers = {0};
        for (uint64_t s = 1; s <= NUMBERS_PERIODS_MAX + 10; s++)
                assert_true(numbers_begin(&numbers, &(struct numbers_wish){.epoch_min = s * 1000},
                                          s * 10));
        assert_int_equal(numbers.periods_count, NUMBERS_PERIODS_MAX);
        assert_true(numbers_know(&numbers, 900, 1000));         /* too long ago to tell */
        assert_false(numbers_know(&numbers, 30999, 1000));
        assert_true(numbers_know(&numbers, 31000, 1000));
}

static void note_and_words_give_the_same_again(void **state)
{
        (void)state;
        struct numbers numbers = {0}, again = {0}, read;
        uint64_t words[NUMBERS_WORDS_MAX];
        for (uint64_t s = 1; s <= 70; s++) {
                const struct numbers_wish wish = {.log = UINT64_C(0x9f86d081884c7d65),
                                                  .epoch_min = s * 1000000000000,
                                                  .workload_min = s * 3};
                struct text text = {0};
                assert_true(numbers_begin(&numbers, &wish, s * 7));
                numbers_note_write(&numbers, &text);
                assert_int_equal(numbers_note_read(&again, text.bytes, text.size, s * 7, NULL), 1);
                text_done(&text);
                assert_memory_equal(&numbers, &again, sizeof numbers);
                size_t count = numbers_write(&numbers, words);
                assert_int_equal(numbers_read(&read, words, count, NULL), 0);
                assert_memory_equal(&numbers, &read, sizeof numbers);
        }
        assert_int_equal(numbers_read(&read, words, 0, NULL), 0);       /* an older snapshot */
        assert_int_equal(read.log, 0);
}

static void what_was_never_written_is_damaged(void **state)
{
        (void)state;
        static const struct {
                const char *note;
                int rc;
        } rows[] = {
                {"", 0},
                {"{\"wish\":\"cancel\",\"workload\":17}", 0},
                {"{\"numbers\":", 0},
                {"{\"numbers\":{}}", -ERR_INPUT},
                {"{\"numbers\":1}", -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d6\",\"base\":1,\"workload\":1}}", -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9F86d081884c7d65\",\"base\":1,\"workload\":1}}", -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":-1,\"workload\":1}}", -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":\"1\",\"workload\":1}}",
                 -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":9007199254740992,\"workload\":1}}",
                 -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":1,\"workload\":70368744177665}}",
                 -ERR_INPUT},
                {"{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":9007199254740991,\"workload\":1}}",
                 1},
        };
        static const uint64_t words[][4] = {{1, 0, 0, 5}, {1, 0, 5, NUMBERS_EPOCH_END},
                                            {1, NUMBERS_WORKLOAD_MAX + 1, 5, 5}};
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct numbers numbers = {0};
                struct err err = {0};
                assert_int_equal(numbers_note_read(&numbers, rows[r].note, strlen(rows[r].note), 9,
                                                   &err),
                                 rows[r].rc);
                assert_int_equal(numbers.periods_count, rows[r].rc == 1);
                assert_int_equal(err.text[0] != '\0', rows[r].rc < 0);
        }
        for (size_t r = 0; r < ARRAY_LEN(words); r++) {
                struct numbers numbers;
                assert_int_equal(numbers_read(&numbers, words[r], 4, NULL), -ERR_INPUT);
                assert_int_equal(numbers_read(&numbers, words[r], 3, NULL), -ERR_INPUT);
        }
        /* A base never falls, and two notes are two records. */
        struct numbers numbers = {.periods_count = 1, .periods = {{9, 50}}};
        static const char lower[] = "{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":49,"
                                    "\"workload\":1}}";
        static const char same[] = "{\"numbers\":{\"log\":\"9f86d081884c7d65\",\"base\":50,"
                                   "\"workload\":1}}";
        assert_int_equal(numbers_note_read(&numbers, lower, strlen(lower), 10, NULL), -ERR_INPUT);
        assert_int_equal(numbers_note_read(&numbers, same, strlen(same), 9, NULL), -ERR_INPUT);
        assert_int_equal(numbers_note_read(&numbers, same, strlen(same), 10, NULL), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_log_without_a_note_has_its_records_numbers),
                cmocka_unit_test(every_start_begins_above_the_log_and_its_clock),
                cmocka_unit_test(wanted_is_what_is_above),
                cmocka_unit_test(of_many_starts_the_newest_are_remembered),
                cmocka_unit_test(note_and_words_give_the_same_again),
                cmocka_unit_test(what_was_never_written_is_damaged),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
