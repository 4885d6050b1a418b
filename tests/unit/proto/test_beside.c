/* Small documents behind a large one: set, taken away, carried over; and the large one stays. */
#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/beside.h"

#define MAIN "# ours\nkind: Policy   # as we like it\ntenants: {web: {}}\n"
#define ONE  "---\nkind: Reservation\nname: one\ntenant: web\n"
#define TWO  "---\n# why\nkind: Reservation\nname: two\n"

static void expect_set(const char *text, const char *name, const char *document,
                       const char *expected)
{
        struct text made = {0};
        struct err err = {0};

        if (beside_set(text, "Reservation", name, document, &made, &err) < 0)
                fail_msg("%s", err.text);
        assert_string_equal(made.bytes ? made.bytes : "", expected);
        text_done(&made);
}

static void they_are_set_and_taken_away_by_name(void **state)
{
        (void)state;
        static const char one[] = "\n\nkind: Reservation\nname: one\ntenant: web\n\n";
        expect_set(MAIN, "one", one, MAIN ONE);
        expect_set(MAIN ONE, "one", one, MAIN ONE);
        expect_set(MAIN TWO, "one", one, MAIN TWO ONE);
        expect_set(MAIN ONE TWO, "one", "{kind: Reservation, name: one}",
                   MAIN "---\n{kind: Reservation, name: one}\n" TWO);
        expect_set(MAIN ONE TWO, "one", NULL, MAIN TWO);
        expect_set(MAIN ONE TWO, "two", NULL, MAIN ONE);
        expect_set("kind: Policy", "one", one, "kind: Policy\n" ONE);
        expect_set("---\n" MAIN "...\n" ONE, "one", NULL, "---\n" MAIN "...\n");
        /* What only looks like a cut, and names of other kinds, stay. */
        expect_set("kind: Policy\nnote: |\n  ---\n  kind: Reservation\n  name: one\n"
                   "---\nkind: Other\nname: one\n" ONE,
                   "one", NULL,
                   "kind: Policy\nnote: |\n  ---\n  kind: Reservation\n  name: one\n"
                   "---\nkind: Other\nname: one\n");
}

static void what_cannot_be_set_says_why(void **state)
{
        (void)state;
        static const char *const documents[] = {
                "", "kind: Maintenance\nname: one\n", "kind: Reservation\nname: two\n",
                "kind: Reservation\nname: one\n---\nkind: Policy\n", "{", "- one",
                "kind: Reservation\nname: one\n...\nkind: Policy\n",
        };
        for (size_t d = 0; d < ARRAY_LEN(documents); d++) {
                struct text made = {0};
                struct err err = {0};
                assert_int_equal(beside_set(MAIN, "Reservation", "one", documents[d], &made, &err),
                                 -ERR_INPUT);
                assert_string_equal(err.text,
                                    "this is no document 'kind: Reservation' with the name 'one'");
                text_done(&made);
        }
        struct text made = {0};
        struct err err = {0};
        assert_int_equal(beside_set(MAIN TWO, "Reservation", "one", NULL, &made, &err),
                         -ERR_NOT_FOUND);
        assert_string_equal(err.text, "there is no Reservation 'one'");
        text_done(&made);
}

static void the_large_one_is_found_and_replaced(void **state)
{
        (void)state;
        static const struct {
                const char *text, *before, *whole;
        } cases[] = {
                {MAIN, "", MAIN},
                {"kind: Policy", "", "kind: Policy"},
                {MAIN, "kind: Policy\n" ONE TWO, MAIN ONE TWO},
                {"kind: Policy", MAIN TWO, "kind: Policy\n" TWO},
                {MAIN "---\nkind: Reservation\nname: one\nunused: keep\n", MAIN ONE TWO,
                 MAIN "---\nkind: Reservation\nname: one\nunused: keep\n" TWO},
        };
        assert_int_equal(beside_main(MAIN, "Reservation"), strlen(MAIN));
        assert_int_equal(beside_main(MAIN ONE TWO, "Reservation"), strlen(MAIN));
        assert_int_equal(beside_main(MAIN ONE TWO, "Maintenance"), strlen(MAIN ONE TWO));
        assert_int_equal(beside_main("{", "Reservation"), 1);
        for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
                struct text made = {0};
                assert_int_equal(beside_carry(cases[c].text, cases[c].before, "Reservation", &made,
                                              NULL), 0);
                assert_string_equal(made.bytes, cases[c].whole);
                text_done(&made);
        }
}

/* The large one is read a few times, and not once for each that is carried. */
static void many_stand_behind_a_large_one(void **state)
{
        (void)state;
        struct text large = {0}, before = {0}, whole = {0};
        text_add(&large, "kind: Policy\ntenants:\n");
        for (unsigned t = 0; t < 4000; t++)
                text_add(&large, "  t%u: {weight: 2, limit: {any: 16}}\n", t);
        text_add_bytes(&before, large.bytes, large.size);
        for (unsigned r = 0; r < 256; r++)
                text_add(&before, "---\nkind: Reservation\nname: r%u\n", r);
        assert_int_equal(beside_carry(large.bytes, before.bytes, "Reservation", &whole, NULL), 0);
        assert_string_equal(whole.bytes, before.bytes);
        text_done(&large);
        text_done(&before);
        text_done(&whole);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(they_are_set_and_taken_away_by_name),
                cmocka_unit_test(what_cannot_be_set_says_why),
                cmocka_unit_test(the_large_one_is_found_and_replaced),
                cmocka_unit_test(many_stand_behind_a_large_one),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
