/* Nodes whose agents fall silent, and come back. */
#include "tests/unit/controller/agents.h"

static void a_silent_node_is_lost_after_its_lease_and_not_before(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        int64_t heard_ms = world.now_ms;
        while (world.now_ms < heard_ms + WORLD_LEASE_MS) {
                assert_true(is_up(node));
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_true(is_up(node));
        world_tick(&world, 2000);
        assert_false(is_up(node));
        assert_non_null(world_work(&world, id));        /* it waits again, or runs elsewhere */
        if (world_work(&world, id)->epoch)
                assert_string_not_equal(node_of(id, 0), node);
}

static void a_lost_node_is_fenced_until_it_runs_nothing_and_knows_it(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8], stale[200], left[200];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        snprintf(left, sizeof left, "%s", run(id, 0, RUNNING));
        uint64_t seen = nodes_find(world.live.nodes, node)->generation;
        silence(node);
        report(node, left);                             /* it still runs it */
        assert_false(is_up(node));
        report(node, left);
        assert_false(is_up(node));
        snprintf(stale, sizeof stale,
                 "{\"protocol\":1,\"agent\":\"1\",\"boot\":\"b\",\"runs\":[],\"seen\":%u}",
                 (unsigned)0);
        json_t *late = json_loads(stale, 0, NULL);
        json_object_set_new(late, "seen", json_integer((json_int_t)seen));
        json_decref(world_exchange(&world, node, late));        /* from before it began to run */
        assert_false(is_up(node));
        report(node, "[]");
        assert_true(is_up(node));
}

static void a_lost_node_that_comes_clean_joins_at_its_second_report(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        silence(node);
        world_crash(&world, FAULT_LOSE_ALL, 1); /* who it waits for does not know either */
        world_start(&world);
        assert_false(is_up(node));
        report(node, "[]");
        report(node, "[]");
        assert_true(is_up(node));
}

static bool is_drained(const char *name)
{
        const struct state *state = core_state(world.live.core);
        uint32_t node = state_node(state, nodes_find(world.live.nodes, name)->desc.name);
        return node != NONE && state->nodes[node].desc.drained;
}

static void a_drain_does_not_bring_a_lost_node_back(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        silence(node);
        for (unsigned drained = 2; drained-- > 0;) {
                struct act *act = world_act(&world);
                int rc = live_drain(&world.live, act, nodes_find(world.live.nodes, node), drained, 0,
                                    &world.err);
                assert_int_equal(rc, 0);
                world_commit(&world, act, NULL);
                world_settle(&world);
                assert_false(is_up(node));
                assert_int_equal(is_drained(node), drained);
        }
        report(node, "[]");
        report(node, "[]");
        assert_true(is_up(node));
        assert_false(is_drained(node));
}

/* Work may be submitted before the machines are there. */
static void a_described_node_is_waited_for(void **state)
{
        (void)state;
        world_done(&world);
        world_init(&world, "described");
        world_furnish(&world);
        assert_false(is_up("n1"));
        uint64_t id = world_job(&world, "web", "j", 1);
        world_tick(&world, 1000);
        assert_int_equal(world_work(&world, id)->epoch, 0);
        expect_row(id, "live");                         /* not refused */
        report("n1", "[]");
        assert_true(is_up("n1"));                       /* it never ran anything: no fence */
        assert_true(world_work(&world, id)->epoch > 0);
        /* After a restart nobody knows that it never did. */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        report("n2", "[]");
        assert_false(is_up("n2"));
        report("n2", "[]");
        assert_true(is_up("n2"));
}

static void a_controller_that_slept_calls_nobody_silent(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        uint64_t epoch = world_work(&world, id)->epoch;
        world_tick(&world, 2000);
        world_tick(&world, 3600000);                    /* or its clock was set */
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        world_tick(&world, -3600000);
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        others_report("");
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        silence(node_of(id, 0));                        /* but not for ever */
}

static void a_clock_that_is_set_ends_no_lease(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        say(id, 0, RUNNING);
        for (unsigned t = 0; t < 15; t++) {             /* the lease's 30 s, and many more by day */
                world.now_ms += 14000;
                world_tick(&world, 2000);
                assert_true(is_up(node_of(id, 0)));
        }
        silence(node_of(id, 0));
}

static void what_ended_for_want_of_contact_is_lost_and_has_not_failed(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 2);
        uint64_t epoch = world_work(&world, id)->epoch;
        json_t *told = say(id, 0, RUNNING);
        assert_string_equal(json_string_value(json_object_get(told, "lost_contact")),
                            "stop_at_lease");
        say(id, 1, RUNNING);
        say(id, 0, "\"phase\":\"exited\",\"signal\":15,\"lost_contact\":true");
        assert_int_equal(world_work(&world, id)->epoch, epoch); /* the other one ends first */
        say(id, 1, TERMED);
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
}

static uint64_t continuing_job(const char *name)
{
        struct submitted submitted = {0};
        char text[300];
        snprintf(text, sizeof text,
                 "{kind: Workload, name: %s, tenant: web, class: quiet,"
                 " each: {devices: 1, model: H100-80}, run: {command: [x]}}", name);
        assert_int_equal(world_submit(&world, text, NULL, &submitted), 0);
        world_settle(&world);
        return submitted.first_id;
}

/* Its class: on_lost_contact: continue. Beside it one that stops at its lease. */
static void what_continues_keeps_its_place_on_a_silent_node(void **state)
{
        (void)state;
        uint64_t stays = continuing_job("stays"), stops = 0;
        char node[8], left[200];
        snprintf(node, sizeof node, "%s", node_of(stays, 0));
        do
                stops = world_job(&world, "web", "stops", 1);
        while (strcmp(node_of(stops, 0), node) != 0);
        assert_string_equal(json_string_value(json_object_get(say(stays, 0, RUNNING),
                                                              "lost_contact")),
                            "continue");
        uint64_t epoch = world_work(&world, stays)->epoch;
        uint64_t stopped_epoch = world_work(&world, stops)->epoch;
        snprintf(left, sizeof left, "%s", run(stays, 0, RUNNING));
        silence(node);
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_string_equal(node_of(stays, 0), node);
        assert_int_not_equal(world_work(&world, stops)->epoch, stopped_epoch);
        world_cancel(&world, stays, NULL);      /* it is not gone because somebody wants it gone */
        world_settle(&world);
        for (unsigned t = 0; t < 30; t++) {
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_false(is_up(node));
        /* It outlives a controller, too. */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_work(&world, stays)->epoch, epoch);
        assert_false(is_up(node));
        /* The node is back, and the work on it is no stranger. */
        json_decref(world_report(&world, node, left));
        json_t *answer = world_report(&world, node, left);
        assert_true(is_up(node));
        assert_int_equal(json_array_size(json_object_get(answer, "runs")), 1);
        json_decref(answer);
        say(stays, 0, TERMED);
        expect_row(stays, "cancelled");
}

static void an_operator_gives_up_what_a_silent_node_keeps(void **state)
{
        (void)state;
        uint64_t id = continuing_job("stays"), gone = continuing_job("gone");
        struct err err = {0};
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        assert_string_equal(node_of(gone, 0), node);
        uint64_t epoch = world_work(&world, id)->epoch;
        struct node_entry *entry = nodes_find(world.live.nodes, node);
        struct act *act = world_act(&world);
        assert_int_equal(live_lose(&world.live, act, entry, &err), -ERR_EXISTS);
        check_has(err.text, "is not silent");
        world_commit(&world, act, NULL);
        world_settle(&world);
        world_cancel(&world, gone, NULL);
        silence(node);
        act = world_act(&world);
        assert_int_equal(live_lose(&world.live, act, entry, &err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        expect_row(gone, "cancelled");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
        assert_string_not_equal(node_of(id, 0), node);
        assert_false(is_up(node));
}

static void put_quiet_class(const char *lost_contact)
{
        char text[2000], *at;
        snprintf(text, sizeof text, "%s", world_policy);
        at = strstr(text, "on_lost_contact: continue");
        assert_non_null(at);
        snprintf(at, sizeof text - (size_t)(at - text), "on_lost_contact: %s%s", lost_contact,
                 strstr(world_policy, "on_lost_contact: continue") +
                         strlen("on_lost_contact: continue"));
        assert_int_equal(world_put_policy(&world, text), 0);
}

/* Its agent was told so when it began, and may not hear of another policy. */
static void what_continues_does_so_under_a_policy_that_says_otherwise_since(void **state)
{
        (void)state;
        uint64_t early = continuing_job("early"), epoch = world_work(&world, early)->epoch;
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(early, 0));
        say(early, 0, RUNNING);
        for (unsigned round = 0; round < 2; round++) {
                if (round == 0)
                        silence(node);
                put_quiet_class(round == 0 ? "stop_at_lease" : "continue");
                world.live.unsettled = true;    /* as after whatever waits for a tick */
                world_tick(&world, 2000);
                assert_int_equal(world_work(&world, early)->epoch, epoch);
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                world.live.unsettled = true;
                world_tick(&world, 2000);
                assert_int_equal(world_work(&world, early)->epoch, epoch);
        }
        put_quiet_class("stop_at_lease");
        others_report(node);
        uint64_t late = continuing_job("late");
        epoch = world_work(&world, late)->epoch;
        snprintf(node, sizeof node, "%s", node_of(late, 0));
        assert_string_equal(json_string_value(json_object_get(say(late, 0, RUNNING),
                                                              "lost_contact")),
                            "stop_at_lease");
        put_quiet_class("continue");
        assert_string_equal(json_string_value(json_object_get(say(late, 0, RUNNING),
                                                              "lost_contact")),
                            "stop_at_lease");
        silence(node);
        assert_int_not_equal(world_work(&world, late)->epoch, epoch);
}

static void generations_go_on_where_an_agent_stands(void **state)
{
        (void)state;
        struct node_entry *node = nodes_find(world.live.nodes, "n1");
        uint64_t seen = node->generation;
        world.now_ms -= 3600000;                /* the clock is set back, and */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        node = nodes_find(world.live.nodes, "n1");
        for (unsigned round = 0; round < 2; round++) {
                json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:[]}", "protocol", 1, "agent", "1",
                                       "boot", "b", "seen", (json_int_t)seen, "runs");
                json_t *answer = world_exchange(&world, "n1", it);
                assert_non_null(answer);
                assert_true((uint64_t)json_integer_value(json_object_get(answer, "generation")) >
                            seen);
                json_decref(answer);
                seen = round == 0 ? node->generation + 5 : seen;
        }
        json_t *odd = json_pack("{s:i,s:s,s:s,s:i,s:[]}", "protocol", 1, "agent", "1", "boot", "b",
                                "seen", -1, "runs");
        uint64_t generation = world.live.generation;
        json_decref(world_exchange(&world, "n1", odd));
        assert_true(world.live.generation == generation);
}

static void a_restarted_controller_waits_a_lease(void **state)
{
        (void)state;
        world.now_ms += 10 * WORLD_LEASE_MS;
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        world_tick(&world, 3600000);            /* its clock was set after it had started */
        world_tick(&world, 14000);
        world_tick(&world, 14000);
        assert_true(is_up("n1") && is_up("n2") && is_up("n3"));
        world_tick(&world, 4000);
        assert_false(is_up("n1") || is_up("n2") || is_up("n3"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, agents_begin, agents_end)
        const struct CMUnitTest tests[] = {
                T(a_silent_node_is_lost_after_its_lease_and_not_before),
                T(a_lost_node_is_fenced_until_it_runs_nothing_and_knows_it),
                T(a_lost_node_that_comes_clean_joins_at_its_second_report),
                T(a_drain_does_not_bring_a_lost_node_back),
                T(a_described_node_is_waited_for),
                T(a_controller_that_slept_calls_nobody_silent),
                T(a_clock_that_is_set_ends_no_lease),
                T(what_ended_for_want_of_contact_is_lost_and_has_not_failed),
                T(what_continues_keeps_its_place_on_a_silent_node),
                T(an_operator_gives_up_what_a_silent_node_keeps),
                T(what_continues_does_so_under_a_policy_that_says_otherwise_since),
                T(generations_go_on_where_an_agent_stands),
                T(a_restarted_controller_waits_a_lease),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
