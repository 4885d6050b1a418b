/* What a policy says of alerts. */
#include "tests/unit/proto/policy.h"

#define ALERTS POLICY "tenants: {a: {}}\nalerts: "

static void a_policy_that_says_nothing_has_the_usual_ones(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(POLICY "tenants: {a: {}}\n");
        struct alert_rules usual;
        alert_rules_default(&usual);
        assert_memory_equal(&policy->tenancy->alerts, &usual, sizeof usual);
        assert_int_equal(usual.thresholds[ALERT_BROKEN_PROMISE], 15 * MINUTE);
        assert_int_equal(usual.thresholds[ALERT_QUEUE_AGE], ALERT_OFF);
        assert_string_equal(usual.webhook_url, "");
        policy_doc_free(policy);

        policy = decode_fine("kind: Policy\npreset: strict\ntenants: {a: {limit: {any: 1}}}\n");
        assert_int_equal(policy->tenancy->alerts.thresholds[ALERT_BROKEN_PROMISE], 5 * MINUTE);
        policy_doc_free(policy);
}

static void each_can_be_set_and_switched_off(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                ALERTS "{fragmentation: 0.125, memory_pressure: off, stale_node: 90s,\n"
                       "  queue_age: 7d, store_failed: off, agent_version: on, for: 0s,\n"
                       "  webhook: {url: \"http://127.0.0.1:9/in\", secret_file: /etc/key}}\n");
        const struct alert_rules *rules = &policy->tenancy->alerts;
        assert_int_equal(rules->thresholds[ALERT_FRAGMENTATION], 125);
        assert_int_equal(rules->thresholds[ALERT_MEMORY_PRESSURE], ALERT_OFF);
        assert_int_equal(rules->thresholds[ALERT_STALE_NODE], 90000);
        assert_int_equal(rules->thresholds[ALERT_QUEUE_AGE], 7 * 24 * HOUR);
        assert_int_equal(rules->thresholds[ALERT_STORE_FAILED], ALERT_OFF);
        assert_int_equal(rules->thresholds[ALERT_AGENT_VERSION], 1);
        assert_int_equal(rules->thresholds[ALERT_COMMIT_LATENCY], 1000);
        assert_int_equal(rules->hold_ms, 0);
        assert_string_equal(rules->webhook_url, "http://127.0.0.1:9/in");
        assert_string_equal(rules->webhook_secret_file, "/etc/key");
        policy_doc_free(policy);
}

static void what_cannot_be_is_refused_by_name(void **state)
{
        (void)state;
        static const struct { const char *alerts, *says; } rows[] = {
                {"{fragmentaton: 1}", "did you mean 'fragmentation'?"},
                {"{fragmentation: 1.001}", "write 0.001 to 1"},
                {"{fragmentation: 0}", "write 0.001 to 1"},
                {"{fragmentation: 25%}", "'alerts.fragmentation'"},
                {"{broken_promise: 401d}", "'alerts.broken_promise'"},
                {"{queue_age: }", "has no threshold; write one, or off"},
                {"{store_failed: 1}", "known: 'off', 'on'"},
                {"{for: 25h}", "'alerts.for'"},
                {"[fragmentation]", "'alerts'"},
                {"{webhook: {}}", "field 'url' is missing"},
                {"{webhook: {url: \"http://example.org/x\"}}", "to this machine only"},
                {"{webhook: {url: \"http://localhost.example.org/\"}}", "to this machine only"},
                {"{webhook: {url: \"https:///x\"}}", "is no address"},
                {"{webhook: {url: \"https://a:b@c/x\"}}", "a secret belongs into secret_file"},
                {"{webhook: {url: \"https://a/b\", secret_file: key}}", "is no whole path"},
                {"{webhook: {url: \"https://a/b\", secret: key}}", "did you mean 'secret_file'?"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct policy_doc *policy;
                struct err err = {0};
                char text[512];
                snprintf(text, sizeof text, ALERTS "%s\n", rows[r].alerts);
                assert_int_equal(decode(text, &policy, &err) < 0, 1);
                check_has(err.text, rows[r].says);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_policy_that_says_nothing_has_the_usual_ones),
                cmocka_unit_test(each_can_be_set_and_switched_off),
                cmocka_unit_test(what_cannot_be_is_refused_by_name),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
