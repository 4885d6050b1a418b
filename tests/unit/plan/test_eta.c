/* When waiting work starts: what enters the state, what a clone is, and that a replay foretells. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/explain.h"
#include "engine/state_clone.h"
#include "plan/eta.h"
#include "plan/forward.h"
#include "sim/history.h"
#include "sim/rng.h"
#include "tests/scratch.h"
#include "tests/unit/engine/pool.h"

/* ---- the input ---- */

static void an_estimate_is_kept_until_the_start(void **state)
{
        (void)state;
        static const struct { struct eta_set eta; int rc; const char *names; } rows[] = {
                { { 9, 1000, 2000, 90, 0 }, -ERR_NOT_FOUND, "9" },
                { { 2, 2000, 1000, 90, 0 }, -ERR_RANGE, "p50" },
                { { 2, -1, 1000, 90, 0 }, -ERR_RANGE, "p50" },
                { { 2, 0, RUN_MS_MAX + 1, 90, 0 }, -ERR_RANGE, "100 years" },
                { { 2, 0, 1000, 101, 0 }, -ERR_RANGE, "100" },
                { { 2, 0, 1000, 90, -1 }, -ERR_RANGE, "100 years" },
        };
        join("n", "T4", 1);
        submit(ask(1, 1));
        submit(ask(2, 1));
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                must_fail(&(struct input){.kind = INPUT_ETA_SET, .eta = rows[i].eta}, rows[i].rc,
                          rows[i].names);
        uint64_t hash = state_hash(pool);
        const struct workload *waits = &pool->workloads[state_workload(pool, 2)];
        must(&(struct input){.kind = INPUT_ETA_SET, .eta = {2, 5000, 60000, 90, 0}});
        assert_int_equal(count_facts(FACT_ETA_SET), 1);
        assert_true(state_hash(pool) == hash);          /* nothing is decided from it */
        assert_int_equal(waits->eta_at_ms, now_ms);
        assert_int_equal(waits->eta_p50_s, 5);
        assert_int_equal(waits->eta_p90_s, 60);
        assert_int_equal(waits->eta_coverage_pct, 90);
        static struct explanation explanation;
        assert_int_equal(explain(memo, pool, 2, now_ms, &explanation, NULL), 0);
        assert_true(explanation.eta_known);
        assert_int_equal(explanation.eta_p90_ms, now_ms + 60000);
        must(&(struct input){.kind = INPUT_ETA_SET, .eta = {2, 5000, 60000, 0, 0}});
        assert_int_equal(waits->eta_at_ms, 0);          /* there is none any more */
        must(&(struct input){.kind = INPUT_ETA_SET, .eta = {2, 5000, 60000, 90, 0}});
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
        assert_int_equal(waits->eta_at_ms, 0);
        must(&(struct input){.kind = INPUT_ETA_SET, .eta = {2, 1, 2, 90, 0}});
        assert_int_equal(seen_count, 0);                /* too late */
}

/* ---- clones ---- */

static struct input draw_input(struct rng *rng, uint64_t *next_id)
{
        struct request request = ask(*next_id, (unsigned)rng_below(rng, 4));
        uint64_t some = 1 + rng_below(rng, *next_id);

        request.form.members = 1 + (uint32_t)rng_below(rng, 2);
        request.priority = (int32_t)rng_below(rng, 3);
        switch (rng_below(rng, 5)) {
        case 0:
        case 1:
                (*next_id)++;
                return (struct input){.kind = INPUT_SUBMITTED, .request = request};
        case 2:
                return (struct input){.kind = INPUT_CANCELLED, .workload = some};
        case 3:
                return (struct input){.kind = INPUT_TICKED};
        default:
                return (struct input){.kind = INPUT_EXITED, .workload = some};
        }
}

static void a_clone_decides_as_its_original(void **state)
{
        (void)state;
        struct state *clone = state_clone_new(pool);
        uint64_t next_id = 1;
        struct rng rng;

        assert_non_null(clone);
        rng_init(&rng, 7);
        for (unsigned n = 0; n < 6; n++)
                join((const char *[]){"a", "b", "c", "d", "e", "f"}[n], "A100-40", 1 + n % 4);
        for (unsigned round = 0; round < 20; round++) {
                struct memo *other = memo_new((struct policy){.kind = POLICY_FIRST_FIT},
                                              MEMO_INDEXED);
                assert_int_equal(state_clone_take(clone, pool, NULL), 0);
                assert_true(state_hash(clone) == state_hash(pool));
                state_check(clone);
                for (unsigned i = 0; i < 50; i++) {
                        struct input input = draw_input(&rng, &next_id);
                        now_ms += 1000;
                        int rc = run(&input, NULL);
                        assert_int_equal(engine_run(clone, other, &input, now_ms, NULL, NULL, NULL),
                                         rc);
                        assert_true(state_hash(clone) == state_hash(pool));
                }
                state_check(clone);
                /* It goes astray, and comes back with the next take. */
                struct input alone = {.kind = INPUT_SUBMITTED, .request = ask_share(999999, 100)};
                (void)engine_run(clone, other, &alone, now_ms, NULL, NULL, NULL);
                memo_free(other);
        }
        state_clone_free(clone);
}

/* ---- forward runs ---- */

static void a_forward_run_leaves_the_state_alone(void **state)
{
        (void)state;
        struct arrivals arrivals = {0};
        struct request limited = ask(1, 1);
        const uint64_t asked[] = {2, 3};
        int64_t first[2], again[2];

        limited.time_limit_ms = 600000;
        join("n", "T4", 1);
        submit(limited);
        limited.workload = 2;
        submit(limited);
        limited.workload = 3;
        submit(limited);
        assert_int_equal(arrivals_add(&arrivals, &limited, now_ms, NULL), 0);
        struct forward *forward = forward_new(pool);
        assert_non_null(forward);
        struct forward_setup setup = {.state = pool, .arrivals = &arrivals, .now_ms = now_ms,
                                      .placement = {.kind = POLICY_FIRST_FIT}, .tick_ms = 15000,
                                      .horizon_ms = 3600000, .seed = 1, .asked = asked,
                                      .asked_count = 2};
        uint64_t hash = state_hash(pool);
        assert_int_equal(forward_run(forward, &setup, first, NULL), 0);
        assert_int_equal(forward_run(forward, &setup, again, NULL), 0);
        assert_memory_equal(first, again, sizeof first);
        assert_true(state_hash(pool) == hash);
        /* Nothing is known of such work but its limit. */
        assert_int_equal(first[0], 600000);
        assert_int_equal(first[1], 1200000);
        setup.horizon_ms = 900000;
        assert_int_equal(forward_run(forward, &setup, first, NULL), 0);
        assert_int_equal(first[0], 600000);
        assert_true(first[1] == FORWARD_NEVER);
        forward_free(forward);
        arrivals_done(&arrivals);
}

static void too_little_known_is_no_estimate(void **state)
{
        (void)state;
        struct eta *eta = eta_new(pool, &(struct eta_options){.tick_ms = 15000, .seed = 1});
        const struct policy placement = {.kind = POLICY_FIRST_FIT};
        struct request limited = ask(1, 1);

        assert_non_null(eta);
        limited.time_limit_ms = 600000;
        join("n", "T4", 1);
        submit(limited);
        for (uint64_t id = 2; id < 2 + 2 * ETA_ENOUGH + 1; id++) {
                struct eta_set set;
                limited.workload = id;
                assert_int_equal(eta_arrived(eta, &limited, now_ms, NULL), 0);
                submit(limited);
                assert_int_equal(eta_ask(eta, placement, now_ms, &id, 1, &set, NULL), 0);
                assert_true(set.p50_ms <= set.p90_ms);
                /* A number of them have to be seen, and then as many told ones. */
                if (id < 2 + 2 * ETA_ENOUGH) {
                        assert_int_equal(set.coverage_pct, 0);
                } else {
                        assert_int_equal(set.coverage_pct, 100);
                        assert_in_range(set.p50_ms, 570000, 630000);
                }
                now_ms += 600000;
                leave(INPUT_EXITED, id - 1);
                eta_started(eta, id, now_ms);
        }
        eta_free(eta);
}

/* ---- a history ---- */

static char folder[SCRATCH_MAX];

static void play(const struct replay_hooks *hooks, struct history_figures *ret_figures)
{
        static const char text[] =
                "kind: Replay\npool: {nodes: 2, devices_per_node: 8, model: V100}\nworkload: "
                "{jobs_csv: h.csv, columns: {submit: at, duration: ran, devices: n, tenant: t}}\n";
        struct scenario *scenario = mem_new(1, sizeof *scenario);
        struct history_result *result = mem_new(1, sizeof *result);
        struct err err = {0};
        char path[64];

        snprintf(path, sizeof path, "%s/s.yaml", folder);
        if (scenario_decode(path, text, sizeof text - 1, scenario, &err) < 0 ||
            history_run_scenario(scenario, models, hooks, result, &err) < 0)
                fail_msg("%s", err.text);
        *ret_figures = result->rows[0].figures;
        history_result_done(result);
        mem_free(scenario);
        mem_free(result);
}

static void write_jobs(const char *path, unsigned count)
{
        FILE *file = fopen(path, "w");
        struct rng rng;
        uint64_t at = 1767600000;

        assert_non_null(file);
        fprintf(file, "at,ran,n,t\n");
        rng_init(&rng, 3);
        for (unsigned j = 0; j < count; j++) {
                at += rng_below(&rng, 500);
                fprintf(file, "%llu,%llu,%llu,%s\n", (unsigned long long)at,
                        300 + (unsigned long long)rng_below(&rng, 900),
                        1ull << rng_below(&rng, 4), rng_below(&rng, 2) ? "a" : "b");
        }
        fclose(file);
}

/* A hook that asks nothing, but looks whether a clone is what its original is, accounts and all. */
struct looker {
        const struct state *state;
        struct state *clone;
        unsigned looks;
};

static int look_begin(void *arg, const struct state *state, int64_t tick_ms, int64_t restart_ms,
                      uint64_t seed, struct err *err)
{
        struct looker *looker = arg;

        (void)tick_ms, (void)restart_ms, (void)seed, (void)err;
        looker->state = state;
        looker->clone = state_clone_new(state);
        assert_non_null(looker->clone);
        return 0;
}

static int look_arrived(void *arg, const struct request *request, int64_t at_ms, struct err *err)
{
        (void)arg, (void)request, (void)at_ms, (void)err;
        return 0;
}

static int look_ask(void *arg, struct policy placement, int64_t at_ms, uint64_t workload,
                    struct eta_set *ret_answer, struct err *err)
{
        struct looker *looker = arg;

        (void)placement, (void)at_ms;
        *ret_answer = (struct eta_set){.workload = workload};
        assert_int_equal(state_clone_take(looker->clone, looker->state, err), 0);
        assert_true(state_hash(looker->clone) == state_hash(looker->state));
        state_check(looker->clone);
        looker->looks++;
        return 0;
}

static void look_started(void *arg, uint64_t workload, int64_t at_ms)
{
        (void)arg, (void)workload, (void)at_ms;
}

static void check_clones(void)
{
        struct looker looker = {0};
        const struct replay_eta eta = {.every = 3, .arg = &looker, .begin = look_begin,
                                       .arrived = look_arrived, .ask = look_ask,
                                       .started = look_started};
        struct history_figures figures;

        play(&(struct replay_hooks){.eta = &eta}, &figures);
        state_clone_free(looker.clone);
        assert_true(looker.looks > 20);
        assert_true(figures.eta_estimated_pct == 0);
}

/* What a log says was told, and when it started, gives what was learnt. */
static void what_was_told_is_learnt_from_a_log(void **state)
{
        (void)state;
        const struct eta_options options = {.tick_ms = 15000};
        struct eta *eta = eta_new(pool, &options);
        assert_non_null(eta);
        for (uint64_t id = 1; id <= 2 * ETA_ENOUGH; id++) {
                struct eta_set told = {.workload = id, .raw_ms = 60000};
                if (id > ETA_ENOUGH)
                        told.p50_ms = told.p90_ms = 100000;
                must(&(struct input){.kind = INPUT_TICKED});
                assert_int_equal(eta_told(eta, &told, now_ms, NULL), 0);
                assert_true(eta_was_told(eta, id));
                /* Every fourth one takes longer than its p90. */
                eta_started(eta, id, now_ms + (id % 4 == 0 ? 100001 : 100000));
                assert_false(eta_was_told(eta, id));
        }
        struct eta_learnt small = eta_learnt(eta, ETA_SMALL), wide = eta_learnt(eta, ETA_WIDE);
        assert_int_equal(small.starts, 2 * ETA_ENOUGH);
        assert_int_equal(small.told, ETA_ENOUGH);
        assert_int_equal(small.coverage_pct, 75);
        assert_int_equal(wide.starts, 0);
        assert_int_equal(wide.coverage_pct, 0);
        eta_free(eta);
}

static void an_answer_can_be_ended(void **state)
{
        (void)state;
        volatile int cancel = 1;
        const struct eta_options options = {.tick_ms = 15000, .cancel = &cancel};
        join("n", "T4", 1);
        submit(ask(1, 1));
        submit(ask(2, 1));
        struct eta *eta = eta_new(pool, &options);
        const uint64_t asked = 2;
        struct eta_set answer;
        struct err err = {0};
        assert_non_null(eta);
        const struct policy placement = {.kind = POLICY_AUTO};
        assert_int_equal(eta_answer(eta, placement, now_ms, &asked, 1, &answer, &err),
                         -ERR_CANCELLED);
        cancel = 0;
        assert_int_equal(eta_answer(eta, placement, now_ms, &asked, 1, &answer, &err), 0);
        assert_true(answer.raw_ms > 0);
        assert_false(eta_was_told(eta, 2));
        eta_free(eta);
}

static void a_replay_foretells_and_decides_the_same(void **state)
{
        (void)state;
        struct history_figures plain, told, again;
        struct eta_keeper keeper = {0};
        struct replay_eta eta;
        char path[64];

        assert_non_null(scratch_folder(folder, sizeof folder, "eta"));
        snprintf(path, sizeof path, "%s/h.csv", folder);
        write_jobs(path, 400);
        eta_hook(&keeper, 1, &eta);
        check_clones();
        play(&(struct replay_hooks){0}, &plain);
        play(&(struct replay_hooks){.eta = &eta}, &told);
        play(&(struct replay_hooks){.eta = &eta}, &again);
        eta_keeper_done(&keeper);
        unlink(path);
        rmdir(folder);
        assert_false(plain.has_eta);
        assert_true(told.has_eta);
        assert_true(plain.wait_mean_s == told.wait_mean_s);
        assert_true(plain.wait_p99_s == told.wait_p99_s);
        assert_true(told.eta_estimated_pct == again.eta_estimated_pct);
        assert_true(told.eta_median_relative_error == again.eta_median_relative_error);
        assert_true(told.eta_estimated_pct > 20);
        assert_true(told.eta_p90_coverage_pct > 70);
        assert_true(told.eta_median_relative_error < 0.7);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_estimate_is_kept_until_the_start, open_pool,
                                                close_pool),
                cmocka_unit_test_setup_teardown(a_clone_decides_as_its_original, open_pool,
                                                close_pool),
                cmocka_unit_test_setup_teardown(a_forward_run_leaves_the_state_alone, open_pool,
                                                close_pool),
                cmocka_unit_test_setup_teardown(too_little_known_is_no_estimate, open_pool,
                                                close_pool),
                cmocka_unit_test_setup_teardown(what_was_told_is_learnt_from_a_log, open_pool,
                                                close_pool),
                cmocka_unit_test_setup_teardown(an_answer_can_be_ended, open_pool, close_pool),
                cmocka_unit_test(a_replay_foretells_and_decides_the_same),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
