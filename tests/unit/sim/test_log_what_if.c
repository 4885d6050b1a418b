/* The work of a pool's own log under another policy; under its own it goes as it went. */
#include "tests/unit/check.h"

#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "controller/core.h"
#include "engine/state.h"
#include "sim/log_replay.h"
#include "sim/log_runs.h"
#include "sim/log_what_if.h"
#include "store/store.h"
#include "tests/unit/sim/log_life.h"
#include "tests/unit/sim/log_world.h"

static void try_policy(const char *path, const char *text, struct log_what_if *ret_what_if)
{
        struct err err = {0};
        const char *policy = log_life_path("policy.yaml");
        assert_int_equal(file_write(policy, text, strlen(text), &err), 0);
        struct store *store = log_life_open(path);
        const struct log_replay_setup setup = {.store = store};
        int rc = log_what_if_run(&setup, policy, ret_what_if, &err);
        if (rc < 0)
                fail_msg("%d %s", rc, err.text);
        store_close(store);
        unlink(policy);
}

/* Whatever fails meanwhile. */
static void the_same_policy_changes_nothing(void **state)
{
        (void)state;
        for (uint64_t it = 11; it <= 18; it++) {
                const char *path = log_life_path("j");
                struct log_what_if what_if;
                log_life_live(path, (struct log_life){.seed = it, .steps = 300,
                                                     .with_failures = it > 14});
                try_policy(path, log_life_policy, &what_if);
                if (what_if.jobs_count > 0)
                        fail_msg("seed %llu: workload %llu starts at %lld instead of %lld",
                                 (unsigned long long)it,
                                 (unsigned long long)what_if.jobs[0].workload,
                                 (long long)(what_if.jobs[0].after_ms - LOG_WORLD_START_MS),
                                 (long long)(what_if.jobs[0].before_ms - LOG_WORLD_START_MS));
                assert_int_equal(what_if.inputs_left_out, 0);
                assert_int_equal(what_if.policies_left_out, 0);
                assert_true(what_if.all.jobs > 60);
                assert_true(what_if.all.before.started > 20);
                assert_true(it <= 14 || what_if.all.before.stops > 10);
                assert_memory_equal(&what_if.all.before, &what_if.all.after,
                                    sizeof what_if.all.before);
                log_what_if_done(&what_if);
                log_life_remove(path);
        }
}

#define AT(s) (LOG_WORLD_START_MS + (s) * INT64_C(1000))

static void ends_at(struct log_world *world, int64_t at_ms, uint64_t workload)
{
        const struct input input = {.kind = INPUT_EXITED, .workload = workload};
        world->now_ms = at_ms;
        log_world_input(world, &input);
}

static const char no_nlp[] =
        "kind: Policy\n"
        "preset: protected\n"
        "tenants:\n"
        "  research: {tenants: {nlp: {limit: {any: none}}, vision: {}}}\n";

/* One node of 8. nlp takes it for 100 s at 0 s, web comes at 10 s and runs 50 s from 100 s to 150,
 * vision comes at 20 s and runs from 150 s to 180. Where nlp may not use it at all, web starts at
 * 10 s, ends at 60, and vision runs from 60 to 90. */
static void another_policy_moves_those_behind(void **state)
{
        (void)state;
        const char *path = log_life_path("k");
        struct log_world world;
        struct log_what_if what_if;
        log_world_open(&world, path, 4);
        log_world_policy(&world, log_life_policy);
        log_world_node(&world, "n", "H100-80", 8);
        uint64_t nlp = log_world_submit(&world, "research/nlp", "batch", 8, 0);
        world.now_ms = AT(10);
        uint64_t web = log_world_submit(&world, "web", "batch", 8, 0);
        world.now_ms = AT(20);
        uint64_t vision = log_world_submit(&world, "research/vision", "batch", 8, 0);
        ends_at(&world, AT(100), nlp);
        uint64_t first = log_world_runs(&world, web) ? web : vision;
        uint64_t second = first == web ? vision : web;
        ends_at(&world, AT(150), first);
        ends_at(&world, AT(180), second);
        log_world_tick(&world, AT(200));
        log_world_close(&world);
        try_policy(path, no_nlp, &what_if);
        assert_int_equal(what_if.gap.tenants, 1);
        assert_string_equal(what_if.gap.tenant, "web");
        assert_int_equal(what_if.never_ended, 0);
        assert_int_equal(what_if.tenants_count, 3);
        assert_string_equal(what_if.tenants[0].tenant, "research/nlp");
        assert_string_equal(what_if.tenants[2].tenant, "web");
        assert_int_equal(what_if.all.jobs, 3);
        assert_int_equal(what_if.all.earlier, 2);
        assert_int_equal(what_if.all.after.refused, 1);
        assert_int_equal(what_if.tenants[0].after.refused, 1);
        assert_int_equal(what_if.all.before.started, 3);
        assert_int_equal(what_if.all.after.started, 2);
        assert_int_equal(what_if.jobs_count, 3);
        for (uint32_t j = 1; j < 3; j++) {
                const struct log_job_change *it = &what_if.jobs[j];
                bool is_web = it->workload == web;
                int64_t wanted_ms = is_web ? AT(10)
                                           : (first == web ? AT(60) : AT(40));
                assert_int_equal(it->after_ms, wanted_ms);
                assert_false(it->is_refused);
        }
        assert_int_equal(what_if.jobs[0].after_ms, LOG_NEVER);
        assert_true(what_if.jobs[0].is_refused);
        assert_false(what_if.jobs[0].was_refused);
        log_what_if_done(&what_if);
        log_life_remove(path);
}

static uint32_t name_of(const struct log_world *world, const char *name)
{
        return (uint32_t)vocab_name(core_state(world->core)->vocab, name, NULL);
}

static void breaks_at(struct log_world *world, int64_t at_ms, const char *node)
{
        const struct input input = {.kind = INPUT_DEVICES_FAILED,
                                    .broke = {name_of(world, node), 1}};
        world->now_ms = at_ms;
        log_world_input(world, &input);
}

static void is_well_at(struct log_world *world, int64_t at_ms, const char *node)
{
        const struct state *state = core_state(world->core);
        struct input input = {.kind = INPUT_NODE_CHANGED};
        input.node = state->nodes[state_node(state, name_of(world, node))].desc;
        input.node.broken = 0;
        world->now_ms = at_ms;
        log_world_input(world, &input);
}

static void is_lost_at(struct log_world *world, int64_t at_ms, uint64_t workload)
{
        const struct input input = {.kind = INPUT_LOST, .workload = workload};
        world->now_ms = at_ms;
        log_world_input(world, &input);
}

static uint32_t lies_on(const struct log_world *world, uint64_t workload)
{
        const struct state *state = core_state(world->core);
        uint32_t slot = state_workload(state, workload);
        return state->members[state->workloads[slot].first_member].node;
}

/* One node of 8. What its device takes with it at 10 s has ended at 40 s: who waits for the other
 * devices has them then, and no sooner. */
static void what_is_torn_keeps_its_place_as_long_as_it_did(void **state)
{
        (void)state;
        const char *path = log_life_path("m");
        struct log_world world;
        struct log_what_if what_if;
        log_world_open(&world, path, 4);
        log_world_policy(&world, log_life_policy);
        log_world_node(&world, "n", "H100-80", 8);
        uint64_t torn = log_world_submit(&world, "web", "batch", 8, 0);
        uint64_t waits = log_world_submit(&world, "web", "batch", 4, 0);
        breaks_at(&world, AT(10), "n");
        assert_false(log_world_runs(&world, waits));
        is_lost_at(&world, AT(40), torn);
        assert_true(log_world_runs(&world, waits));
        is_well_at(&world, AT(50), "n");
        ends_at(&world, AT(60), waits);
        assert_true(log_world_runs(&world, torn));
        log_world_tick(&world, AT(70));
        log_world_close(&world);
        try_policy(path, log_life_policy, &what_if);
        assert_int_equal(what_if.jobs_count, 0);
        assert_true(what_if.all.before.lost_device_hours == what_if.all.after.lost_device_hours);
        log_what_if_done(&what_if);
        log_life_remove(path);
}

/* Of two nodes, n and m, nlp has one, and web at 10 s the other. */
static void both_have_a_node(struct log_world *world, const char *path, uint64_t *ret_nlp,
                             uint64_t *ret_web)
{
        log_world_open(world, path, 4);
        log_world_policy(world, log_life_policy);
        log_world_node(world, "n", "H100-80", 8);
        log_world_node(world, "m", "H100-80", 8);
        *ret_nlp = log_world_submit(world, "research/nlp", "batch", 8, 0);
        world->now_ms = AT(10);
        *ret_web = log_world_submit(world, "web", "batch", 8, 0);
}

/* nlp has one node and web the other; nlp's breaks, and it has ended 30 s later. Without nlp it is
 * web that lies there, is torn, and as long in ending. When web loses contact later, and lies where
 * it lay then, that is no end of what was torn: it is lost once more. */
static void work_that_another_policy_has_torn_can_be_lost_again(void **state)
{
        (void)state;
        const char *path = log_life_path("o");
        struct log_world world;
        struct log_what_if what_if;
        uint64_t nlp, web;
        both_have_a_node(&world, path, &nlp, &web);
        const char *its_node = lies_on(&world, nlp) == 0 ? "n" : "m";
        breaks_at(&world, AT(20), its_node);
        is_lost_at(&world, AT(50), nlp);
        is_well_at(&world, AT(60), its_node);
        is_lost_at(&world, AT(100), web);
        ends_at(&world, AT(200), web);
        log_world_tick(&world, AT(210));
        log_world_close(&world);
        try_policy(path, no_nlp, &what_if);
        const struct log_side *before = &what_if.tenants[1].before;
        const struct log_side *after = &what_if.tenants[1].after;
        assert_string_equal(what_if.tenants[1].tenant, "web");
        assert_int_equal(before->stops, 1);
        assert_int_equal(after->stops, 2);
        /* 90 s before, of 8 devices; after: 40 s, from 10 to 50, and 50 s */
        assert_int_equal((int)(before->lost_device_hours * 3600 + 0.5), 90 * 8);
        assert_int_equal((int)(after->lost_device_hours * 3600 + 0.5), 90 * 8);
        log_what_if_done(&what_if);
        log_life_remove(path);
}

/* web is torn at 20 s, has ended at 50 s, after 40 s of work, and its second run ends after 25 s.
 * Where it lies on the other node nothing happens to it: it ends as the second run did, but has run
 * for 40 s before that. Who comes at 40 s starts behind it. */
static void work_that_another_policy_spares_runs_as_long_as_it_did(void **state)
{
        (void)state;
        const char *path = log_life_path("p");
        struct log_world world;
        struct log_what_if what_if;
        uint64_t nlp, web;
        both_have_a_node(&world, path, &nlp, &web);
        const char *its_node = lies_on(&world, web) == 0 ? "n" : "m";
        breaks_at(&world, AT(20), its_node);
        world.now_ms = AT(40);
        uint64_t next = log_world_submit(&world, "web", "batch", 8, 0);
        is_lost_at(&world, AT(50), web);
        is_well_at(&world, AT(60), its_node);
        assert_true(log_world_runs(&world, web));
        ends_at(&world, AT(85), web);
        ends_at(&world, AT(185), next);
        ends_at(&world, AT(200), nlp);
        log_world_close(&world);
        try_policy(path, no_nlp, &what_if);
        assert_int_equal(what_if.jobs_count, 2);
        assert_int_equal(what_if.jobs[1].workload, next);
        assert_int_equal(what_if.jobs[1].before_ms, AT(85));
        assert_int_equal(what_if.jobs[1].after_ms, AT(50));
        log_what_if_done(&what_if);
        log_life_remove(path);
}

/* From a snapshot on: what ran and waited there goes on under the new policy. */
static void a_pruned_log_is_played_from_its_snapshot(void **state)
{
        (void)state;
        for (unsigned failing = 0; failing < 2; failing++) {
                const char *path = log_life_path("l");
                struct log_what_if what_if;
                log_life_live(path, (struct log_life){.seed = 21,
                                                      .steps = 400,
                                                      .with_snapshots = true,
                                                      .with_failures = failing});
                uint64_t base_seq = log_life_prune(path);
                try_policy(path, log_life_policy, &what_if);
                assert_int_equal(what_if.from_seq, base_seq);
                assert_true(what_if.all.jobs > 10);
                assert_true(what_if.all.before.started > 5);
                /* Who stands in which line is not told by a policy that comes anew: a few may
                 * move. */
                assert_true(what_if.jobs_count * 5 < what_if.all.jobs);
                log_what_if_done(&what_if);
                log_life_remove(path);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_same_policy_changes_nothing),
                cmocka_unit_test(another_policy_moves_those_behind),
                cmocka_unit_test(what_is_torn_keeps_its_place_as_long_as_it_did),
                cmocka_unit_test(work_that_another_policy_has_torn_can_be_lost_again),
                cmocka_unit_test(work_that_another_policy_spares_runs_as_long_as_it_did),
                cmocka_unit_test(a_pruned_log_is_played_from_its_snapshot),
        };
        return cmocka_run_group_tests(tests, log_life_begin, log_life_end);
}
