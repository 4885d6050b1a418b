/* Which version two sides speak: one minor release apart is fine, more is not. */
#include "tests/unit/check.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/protocol.h"

static void the_newest_that_both_speak_is_spoken(void **state)
{
        (void)state;
        static const struct {
                struct protocols ours, theirs;
                uint32_t agreed;        /* 0: none */
                const char *says;
        } rows[] = {
                {{1, 1}, {1, 1}, 1, NULL},
                {{1, 2}, {1, 1}, 1, NULL},      /* the other side is one release older */
                {{1, 2}, {1, 2}, 2, NULL},
                {{1, 2}, {2, 3}, 2, NULL},      /* ... one newer */
                {{2, 3}, {1, 2}, 2, NULL},
                {{1, 9}, {3, 4}, 4, NULL},
                {{1, 1}, {2, 3}, 0, "we speaks protocol 1, they 2 to 3: upgrade we"},
                {{1, 2}, {3, 4}, 0, "upgrade we"},
                {{3, 4}, {1, 2}, 0, "we speaks protocol 3 to 4, they 1 to 2: upgrade they"},
                {{1, 1}, {0, 0}, 0, "they 0: upgrade they"},
                {{1, 2}, {2, 1}, 0, "they says it speaks protocols 2 to 1"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                uint32_t agreed = 77;
                struct err err = {0};
                int rc = protocol_agree(rows[r].ours, "we", rows[r].theirs, "they", &agreed, &err);
                assert_int_equal(rc, rows[r].agreed ? 0 : -ERR_INPUT);
                assert_int_equal(agreed, rows[r].agreed ? rows[r].agreed : 77);
                if (rows[r].says)
                        check_has(err.text, rows[r].says);
        }
}

/* Each release speaks its own version and the one before: both ways, one release apart. */
static void releases_one_apart_agree_and_two_apart_do_not(void **state)
{
        (void)state;
        for (uint32_t a = 2; a < 8; a++)
                for (uint32_t b = 2; b < 8; b++) {
                        const struct protocols one = {a - 1, a}, other = {b - 1, b};
                        uint32_t agreed = 0, back = 0;
                        bool near = a < b ? b - a <= 1 : a - b <= 1;
                        assert_int_equal(protocol_agree(one, "a", other, "b", &agreed, NULL) == 0,
                                         near);
                        assert_int_equal(protocol_agree(other, "b", one, "a", &back, NULL) == 0,
                                         near);
                        assert_int_equal(agreed, back);
                }
        assert_true(PROTOCOL_MAX - PROTOCOL_MIN <= 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_newest_that_both_speak_is_spoken),
                cmocka_unit_test(releases_one_apart_agree_and_two_apart_do_not),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
