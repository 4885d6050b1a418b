/* What a policy says of how long things are kept. */
#include "tests/unit/proto/policy.h"

#define RETENTION POLICY "tenants: {a: {}}\nretention: "

static void check_spans(const struct retention *of, uint32_t records, uint32_t ended,
                        uint32_t review)
{
        assert_int_equal(of->spans[RETENTION_RECORDS], records);
        assert_int_equal(of->spans[RETENTION_ENDED], ended);
        assert_int_equal(of->spans[RETENTION_REVIEW], review);
}

static void what_a_policy_says_is_read_and_the_rest_is_unsaid(void **state)
{
        (void)state;
        static const struct { const char *text; uint32_t records, ended, review; } rows[] = {
                {POLICY "tenants: {a: {}}\n", RETENTION_UNSAID, RETENTION_UNSAID, RETENTION_UNSAID},
                {RETENTION "{}\n", RETENTION_UNSAID, RETENTION_UNSAID, RETENTION_UNSAID},
                {RETENTION "{records: 1d, ended: 36500d, review: 13mo}\n", 1, 36500, 13},
                {RETENTION "{records: 48h, review: \"2y\"}\n", 2, RETENTION_UNSAID, 24},
                {RETENTION "{ended: unlimited, review: 100y}\n", RETENTION_UNSAID,
                 RETENTION_FOR_EVER, 1200},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct policy_doc *policy = decode_fine(rows[r].text);
                struct retention alone;
                check_spans(&policy->retention, rows[r].records, rows[r].ended, rows[r].review);
                assert_int_equal(retention_of_policy(rows[r].text, strlen(rows[r].text), &alone,
                                                     NULL), 0);
                assert_memory_equal(&alone, &policy->retention, sizeof alone);
                policy_doc_free(policy);
        }
}

static void what_cannot_be_is_refused_by_name_with_the_way_out(void **state)
{
        (void)state;
        static const struct refusal rows[] = {
                {RETENTION "{record: 1d}\n", "did you mean 'records'?"},
                {RETENTION "30d\n", "p.yaml:4: field 'retention': is a single value"},
                {RETENTION "{records: 0}\n", "write 1d to 36500d, or unlimited to keep for ever"},
                {RETENTION "{records: 36h}\n", "'36h' is not a number of days; write 1d to 36500d"},
                {RETENTION "{records: 30}\n", "'retention.records': '30' is not a number of days"},
                {RETENTION "{ended: 36501d}\n", "'36501d' is not a number of days; write 1d to"},
                {RETENTION "{ended: never}\n", "or unlimited to keep for ever"},
                {RETENTION "{ended: }\n", "'retention.ended': is no span; write how long"},
                {RETENTION "{ended: [1d]}\n", "'retention.ended': is no span"},
                {RETENTION "{review: 12mo}\n", "'12mo' is too short: a review needs the same month "
                                               "of the year before; write 13mo or more"},
                {RETENTION "{review: 0}\n", "'0' is too short"},
                {RETENTION "{review: 400d}\n", "'400d' is not a number of months; write 13mo to "
                                               "1200mo, or unlimited"},
                {RETENTION "{review: 1201mo}\n", "'1201mo' is not a number of months"},
        };
        check_refused(rows, ARRAY_LEN(rows));
}

static void the_policy_wins_over_what_is_usual_where_it_says_something(void **state)
{
        (void)state;
        static const struct retention usual = {{30, RETENTION_FOR_EVER, 13}};
        static const struct retention said = {{RETENTION_UNSAID, 7, RETENTION_FOR_EVER}};
        struct retention both = retention_over(&said, &usual);
        char text[RETENTION_TEXT_MAX];
        check_spans(&both, 30, 7, RETENTION_FOR_EVER);
        assert_string_equal(retention_text(&both, RETENTION_RECORDS, text), "30d");
        assert_string_equal(retention_text(&both, RETENTION_REVIEW, text), "unlimited");
        assert_string_equal(retention_text(&usual, RETENTION_REVIEW, text), "13mo");
        assert_string_equal(retention_text(&said, RETENTION_RECORDS, text), "unsaid");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_a_policy_says_is_read_and_the_rest_is_unsaid),
                cmocka_unit_test(what_cannot_be_is_refused_by_name_with_the_way_out),
                cmocka_unit_test(the_policy_wins_over_what_is_usual_where_it_says_something),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
