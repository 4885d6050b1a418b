/* The classes of a policy. */
#include "tests/unit/proto/policy.h"

#define CLASS POLICY "tenants: {a: {}}\nclasses:\n  c: "

static void every_word_of_a_class_is_read(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                "kind: Policy\npreset: equal\n"
                "classes:\n"
                "  critical: {rank: 1, methods: [whole, slice], stop: never, spread: rack,\n"
                "             apart_from: {device: [test], node: [training]}, planes: [serving],\n"
                "             on_lost_contact: continue, by_weight: false}\n"
                "  training: {notice: 90s, time_slice: {levels: [1h, 8h, 64h]}, time_limit: 2h,\n"
                "             time_limit_max: 3d}\n"
                "  test: {rank: 3, methods: [serve, share], stop: always, notice: 0, exempt: 0,\n"
                "         stops_per_day: unlimited, order: shortest, hold_after: 0,\n"
                "         above_limit: spare, idle_after: {time: 2h, then: demote},\n"
                "         typical: {memory: 4Gi, compute: 0.25, communication: low,\n"
                "                   duration: 10m, latency: 200ms}}\n"
                "default_class: test\n"
                "tenants: {a: {}}\n");
        const struct service_class *critical = class_of(policy, "critical");
        const struct service_class *training = class_of(policy, "training");
        const struct service_class *test = class_of(policy, "test");

        assert_int_equal(policy->warnings_count, 0);
        assert_int_equal(policy->tenancy->classes_count, 3);
        assert_int_equal(policy->tenancy->default_class, 2);
        assert_int_equal(critical->methods, 3);
        assert_int_equal(critical->stop, STOP_NEVER);
        assert_int_equal(critical->spread, SPREAD_RACK);
        assert_true(critical->apart_device == 6 && critical->apart_node == 2);
        assert_true(test->apart_device == 1 && test->apart_node == 0);
        assert_true(training->apart_node == 1);
        assert_true(critical->planes == 1);
        assert_int_equal(critical->on_lost_contact, LOST_CONTACT_CONTINUE);
        assert_false(critical->by_weight);
        assert_true(training->by_weight);
        /* What it says not is the preset's. */
        assert_int_equal(training->rank, 2);
        assert_true(training->notice_ms == 90000 && training->exempt_ms == 20 * MINUTE);
        assert_int_equal(training->time_slices_count, 3);
        assert_true(training->time_slice_ms[2] == 64 * HOUR);
        assert_true(training->time_limit_ms == 2 * HOUR &&
                    training->time_limit_max_ms == 72 * HOUR);
        assert_int_equal(test->methods, 1u << METHOD_SERVE | 1u << METHOD_SHARE);
        assert_true(test->notice_ms == 0 && test->exempt_ms == 0 && test->hold_after_ms == 0);
        assert_true(test->stops_per_day == STOPS_UNLIMITED);
        assert_int_equal(test->above_limit, ABOVE_LIMIT_SPARE);
        assert_true(test->idle_after_ms == 2 * HOUR);
        assert_int_equal(test->idle_then, IDLE_THEN_DEMOTE);
        assert_int_equal(test->typical_memory_mib, 4096);
        assert_int_equal(test->typical_compute_milli, 250);
        assert_int_equal(test->typical_communication, COMMUNICATION_LOW);
        assert_true(test->typical_duration_ms == 10 * MINUTE && test->typical_latency_ms == 200);
        policy_doc_free(policy);
}

static const struct refusal bad_classes[] = {
        {CLASS "{}\n", "field 'classes.c': field 'rank' is missing"},
        {CLASS "{rank: 1001}\n", "out of range"},
        {CLASS "{rank: 1, methods: [hole]}\n", "did you mean 'whole'"},
        {CLASS "{rank: 1, stop: sometimes}\n", "'sometimes' is not known here"},
        {CLASS "{rank: 1, notice: 5}\n", "'5'"},
        {CLASS "{rank: 1, notice: 61m}\n", "out of range"},
        {CLASS "{rank: 1, exempt: 31d}\n", "out of range"},
        {CLASS "{rank: 1, stops_per_day: -1}\n", "'-1' is negative"},
        {CLASS "{rank: 1, order: longest}\n", "'longest' is not known here"},
        {CLASS "{rank: 1, time_slice: [1h]}\n", "is a list; write a map"},
        {CLASS "{rank: 1, time_slice: {levels: [8h, 1h]}}\n", "does not rise above the level"},
        {CLASS "{rank: 1, time_slice: {levels: []}}\n", "has 0 entries"},
        {CLASS "{rank: 1, stop: never, time_slice: {levels: [1h]}}\n", "leave one of the two out"},
        {CLASS "{rank: 1, stop: never, above_limit: spare}\n", "spare work may be stopped"},
        {CLASS "{rank: 1, stop: never, idle_after: {time: 1h, then: demote}}\n",
         "makes idle work spare"},
        {CLASS "{rank: 1, idle_after: {time: 1h}}\n", "field 'then' is missing"},
        {CLASS "{rank: 1, idle_after: {time: 1s, then: stop}}\n", "out of range"},
        {CLASS "{rank: 1, apart_from: {device: [d]}}\n", "'d' is not known here"},
        {CLASS "{rank: 1, apart_from: [c]}\n", "is a list; write a map"},
        {CLASS "{rank: 1, spread: block}\n", "'block' is not known here"},
        {CLASS "{rank: 1, on_lost_contact: stop}\n", "'stop' is not known here"},
        {CLASS "{rank: 1, time_limit: 2h, time_limit_max: 1h}\n", "above time_limit_max"},
        {CLASS "{rank: 1, typical: {compute: 2}}\n", "out of range"},
        {CLASS "{rank: 1, typical: {mem: 2}}\n", "did you mean 'memory'"},
        {CLASS "{rnak: 1}\n", "did you mean 'rank'"},
        {POLICY "tenants: {a: {}}\nclasses: {}\n", "has 0 classes"},
        {POLICY "tenants: {a: {}}\nclasses: {'a b': {rank: 1}}\n", "'a b' is no name"},
};

static void bad_classes_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_classes, ARRAY_LEN(bad_classes));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_word_of_a_class_is_read),
                cmocka_unit_test(bad_classes_are_refused_with_place_and_way_out),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
