#include "tests/unit/models.h"

#include <math.h>

#include "base/err.h"
#include "base/mem.h"
#include "sim/methods.h"

static struct scenario scenario;

#define HEAD \
        "kind: Replay\n" \
        "pool: {nodes: 4, devices_per_node: 4, model: A100-40}\n" \
        "methods: [whole, slice, share, mixed]\n"

static void decode(const char *text)
{
        struct err err = {0};

        if (scenario_decode("s.yaml", text, strlen(text), &scenario, &err) < 0)
                fail_msg("%s", err.text);
}

static struct methods_figures serve(enum task_method method, uint64_t seed)
{
        struct methods_figures figures;
        struct err err = {0};
        struct policy policy = {.kind = POLICY_BEST_FIT};

        if (methods_run(&scenario, models, policy, method, seed, &figures, NULL, &err) < 0)
                fail_msg("%s", err.text);
        return figures;
}

static void the_same_seed_gives_the_same_run(void **state)
{
        (void)state;
        decode(HEAD "workload: {load: 0.8, tasks: {a: {compute: 0.2, memory: 4Gi, mixed: share}},\n"
                    "  interference: {slice: {per_neighbour_pct: 1, measured: false},\n"
                    "    share: {per_neighbour_pct: 10, measured: false}}}\n");
        struct methods_figures a = serve(TASK_SHARE, 1), b = serve(TASK_SHARE, 1);
        struct methods_figures c = serve(TASK_SHARE, 2);
        assert_true(a.facts_hash == b.facts_hash);
        assert_true(a.facts_hash != c.facts_hash);
        assert_int_equal(a.arrived, b.arrived);
        assert_true(fabs(a.slowdown_pct - b.slowdown_pct) < 1e-12);
        /* With one kind that is served by share, mixed is share. */
        assert_true(serve(TASK_MIXED, 1).facts_hash == a.facts_hash);
}

static void every_method_meets_the_same_arrivals(void **state)
{
        (void)state;
        decode(HEAD "workload: {load: 0.8, tasks: {a: {compute: 0.2, memory: 4Gi, mixed: share},\n"
                    "    b: {compute: 0.5, memory: 20Gi, mixed: slice}},\n"
                    "  interference: {slice: {per_neighbour_pct: 1, measured: false},\n"
                    "    share: {per_neighbour_pct: 10, measured: false}}}\n");
        struct methods_figures whole = serve(TASK_WHOLE, 5);
        assert_true(whole.arrived > 100);
        for (int m = TASK_SLICE; m < TASK_METHODS_END; m++) {
                struct methods_figures figures = serve((enum task_method)m, 5);
                assert_int_equal(figures.arrived, whole.arrived);
                assert_int_equal(figures.accepted + figures.refused, figures.arrived);
                assert_true(figures.count_pct <= 100);
                assert_true(figures.decided >= figures.accepted);
                assert_true(figures.busy_pct <= 100.000001);
        }
}

/* One device, whole tasks: the Erlang loss formula says what part is refused. */
static void whole_devices_lose_what_the_formula_says(void **state)
{
        (void)state;
        decode("kind: Replay\npool: {nodes: 1, devices_per_node: 2, model: A100-40}\n"
               "methods: [whole]\n"
               "workload: {load: 1, mean_life: 100, measure_lives: 1000, warmup_lives: 20,\n"
               "  tasks: {a: {compute: 1, memory: 40Gi}}}\n");
        double sum = 0, done = 0, busy = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct methods_figures figures = serve(TASK_WHOLE, seed);
                sum += figures.count_pct / 20;
                done += figures.done_per_life / 20;
                busy += figures.busy_pct / 20;
                assert_true(fabs(figures.slowdown_pct) < 1e-6);
        }
        /* Offered 2 on 2 devices: B = (4/2) / (1 + 2 + 4/2) = 0.4; accepted 60 %, 1.2 in service.
         */
        assert_true(fabs(sum - 60) < 0.6);
        assert_true(fabs(done - 1.2) < 0.02);
        assert_true(fabs(busy - 60) < 0.6);
}

static void sharing_without_interference_gains_and_with_much_of_it_loses(void **state)
{
        (void)state;
        static const char text[] = HEAD
                "workload: {load: 0.9, tasks: {a: {compute: 0.25, memory: 10Gi, mixed: share}},\n"
                "  interference: {slice: {per_neighbour_pct: 0, measured: false},\n"
                "    share: {per_neighbour_pct: %s, measured: false}}}\n";
        char buf[sizeof text + 16];

        snprintf(buf, sizeof buf, text, "0");
        decode(buf);
        struct methods_figures whole = serve(TASK_WHOLE, 3), share = serve(TASK_SHARE, 3);
        assert_true(fabs(share.slowdown_pct) < 1e-6);
        assert_true(methods_over_whole_pct(&whole, &share) > 100);
        assert_true(methods_over_whole_pct(&whole, &whole) == 0);

        snprintf(buf, sizeof buf, text, "900");
        decode(buf);
        struct methods_figures slow = serve(TASK_SHARE, 3);
        assert_true(slow.slowdown_pct > 300);
        assert_true(methods_over_whole_pct(&whole, &slow) < 0);
        assert_int_equal(serve(TASK_WHOLE, 3).arrived, slow.arrived);
}

/* So much is offered that the device always holds two halves: each runs at 1 / (1 + 50 %). */
static void the_slowdown_is_that_of_the_table(void **state)
{
        (void)state;
        decode("kind: Replay\npool: {nodes: 1, devices_per_node: 1, model: A100-40}\n"
               "methods: [share]\n"
               "workload: {load: 100, mean_life: 100, measure_lives: 1000,\n"
               "  tasks: {a: {compute: 0.5, memory: 20Gi}},\n"
               "  interference: {share: {per_neighbour_pct: 50, measured: false}}}\n");
        double done = 0;
        for (uint64_t seed = 1; seed <= 10; seed++) {
                struct methods_figures figures = serve(TASK_SHARE, seed);
                assert_true(figures.slowdown_pct > 49 && figures.slowdown_pct <= 50.000001);
                done += figures.done_per_life / 10;
        }
        assert_true(fabs(done - 2 / 1.5) < 0.04); /* 3 sigma */
}

static void a_task_no_profile_holds_takes_a_device(void **state)
{
        (void)state;
        decode("kind: Replay\npool: {nodes: 1, devices_per_node: 2, model: A100-40}\n"
               "methods: [whole, slice]\n"
               "workload: {load: 1, tasks: {a: {compute: 1, memory: 40Gi}},\n"
               "  interference: {slice: {per_neighbour_pct: 1, measured: false}}}\n");
        struct methods_figures whole = serve(TASK_WHOLE, 9), slice = serve(TASK_SLICE, 9);
        assert_true(whole.facts_hash == slice.facts_hash);
}

static void it_can_be_stopped_and_run_out_of_memory(void **state)
{
        (void)state;
        volatile int cancel = 1;
        struct methods_figures figures = {.arrived = 77};
        struct policy policy = {.kind = POLICY_FIRST_FIT};
        struct err err = {0};
        decode(HEAD
               "workload: {load: 0.8, measure_lives: 1, tasks: {a: {compute: 0.2, memory: 4Gi,\n"
               "  mixed: share}}, interference: {slice: {per_neighbour_pct: 1, measured: false},\n"
               "    share: {per_neighbour_pct: 10, measured: false}}}\n");
        assert_int_equal(
                methods_run(&scenario, models, policy, TASK_SHARE, 1, &figures, &cancel, &err),
                -ERR_CANCELLED);
        assert_int_equal(figures.arrived, 77);
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc =
                        methods_run(&scenario, models, policy, TASK_SHARE, 1, &figures, NULL, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                if (rc != 0)
                        assert_int_equal(rc, -ERR_NOMEM);
                assert_true(happened || rc == 0);
                if (!happened)
                        break;
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_same_seed_gives_the_same_run),
                cmocka_unit_test(every_method_meets_the_same_arrivals),
                cmocka_unit_test(whole_devices_lose_what_the_formula_says),
                cmocka_unit_test(sharing_without_interference_gains_and_with_much_of_it_loses),
                cmocka_unit_test(the_slowdown_is_that_of_the_table),
                cmocka_unit_test(a_task_no_profile_holds_takes_a_device),
                cmocka_unit_test(it_can_be_stopped_and_run_out_of_memory),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
