/* Work that lost a part of it, a device or a node, keeps its place until the rest has ended. */
#include "tests/unit/controller/agents.h"

static json_t *report_broken(const char *node, const char *runs, int device)
{
        json_t *it = json_pack("{s:i,s:s,s:s,s:I,s:o,s:[i]}", "protocol", 1, "agent", "1",
                               "boot", "b", "seen",
                               (json_int_t)nodes_find(world.live.nodes, node)->generation, "runs",
                               json_loads(runs, 0, NULL), "broken", device);
        return world_exchange(&world, node, it);
}

static unsigned broken_on(const char *node)
{
        const struct state *state = core_state(world.live.core);
        return state->nodes[state_node(state, nodes_find(world.live.nodes, node)->desc.name)]
                .desc.broken;
}

static void restart_on_the_pool(void)
{
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_put_pool(&world, world_pool), 0);
}

/* Until its agent has ended it, all of it; even where the device is well again before. */
static void what_a_broken_device_has_keeps_its_place_until_it_has_ended(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 4);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        uint64_t epoch = world_work(&world, id)->epoch;
        say(id, 0, RUNNING);
        json_decref(report_broken(node, run(id, 0, RUNNING), 2));
        assert_int_equal(broken_on(node), 1u << 2);
        restart_on_the_pool();
        for (unsigned m = 0; m < 4; m++) {
                json_t *told = json_object_get(say(id, m, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(told, "cause")),
                                    "a part of it is lost");
                assert_int_equal(json_integer_value(json_object_get(told, "until_ms")), 0);
        }
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        assert_int_equal(broken_on(node), 1u << 2);
        for (unsigned m = 0; m < 4; m++)
                say(id, m, m == 1 ? BADLY : TERMED);    /* as it may, without its device */
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
}

static void a_device_stays_broken_until_its_agent_says_otherwise(void **state)
{
        (void)state;
        json_decref(report_broken("n1", "[]", 2));
        assert_int_equal(broken_on("n1"), 1u << 2);
        assert_int_equal(world_put_pool(&world, world_pool), 0);        /* says nothing of it */
        assert_int_equal(broken_on("n1"), 1u << 2);
        restart_on_the_pool();
        assert_int_equal(broken_on("n1"), 1u << 2);
        json_decref(report_broken("n1", "[]", 15));     /* it has no such device */
        assert_int_equal(broken_on("n1"), 0);
}

static void what_is_cancelled_on_a_broken_device_ends_as_such(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1);
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(id, 0));
        say(id, 0, RUNNING);
        world_cancel(&world, id, NULL);
        world_settle(&world);
        json_decref(report_broken(node, run(id, 0, RUNNING), 0));
        assert_non_null(world_work(&world, id));
        say(id, 0, TERMED);
        expect_row(id, "cancelled");
}

static uint64_t slice_job(const char *name)
{
        struct submitted submitted = {0};
        struct ack ack = {0};
        char text[200];
        (void)snprintf(text, sizeof text,
                       "kind: Workload\nname: %s\ntenant: web\nclass: batch\n"
                       "each: {profile: 1g.10gb, cpu: 1, ram: 1Gi}\nrun: {command: [train]}\n",
                       name);
        if (world_submit(&world, text, &ack, &submitted))
                fail_msg("%s", world.err.text);
        world_settle(&world);
        return submitted.first_id;
}

static void fail_newest_step(uint64_t id)
{
        const struct state *state = core_state(world.live.core);
        uint32_t node = state->members[state->workloads[state_workload(state, id)]
                                               .first_member].node;
        struct input input = {.kind = INPUT_LAYOUT_OBSERVED,
                              .layout = {.node = state->nodes[node].desc.name,
                                         .failed = true,
                                         .epoch = node_devices(state, node)[0].epoch}};
        struct act *act = world_act(&world);
        assert_int_equal(core_input(act, &input, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
}

/* Both of its slices, though the step was about one; then it counts as well, as its agent says. */
static void what_lies_where_a_layout_step_failed_keeps_its_place_until_it_has_ended(void **state)
{
        (void)state;
        uint64_t ids[2] = {slice_job("a"), slice_job("b")};
        char node[8];
        snprintf(node, sizeof node, "%s", node_of(ids[1], 0));
        assert_string_equal(node, node_of(ids[0], 0));
        uint64_t epoch = world_work(&world, ids[0])->epoch;
        for (unsigned j = 0; j < 2; j++)
                say(ids[j], 0, RUNNING);
        fail_newest_step(ids[1]);
        assert_int_equal(broken_on(node), 1);
        restart_on_the_pool();
        for (unsigned j = 0; j < 2; j++) {
                json_t *told = json_object_get(say(ids[j], 0, RUNNING), "stop");
                assert_string_equal(json_string_value(json_object_get(told, "cause")),
                                    "a part of it is lost");
        }
        assert_int_equal(world_work(&world, ids[0])->epoch, epoch);
        for (unsigned j = 0; j < 2; j++) {
                assert_int_equal(broken_on(node), 1);
                say(ids[j], 0, TERMED);
                expect_row(ids[j], "live");
        }
        assert_int_not_equal(world_work(&world, ids[0])->epoch, epoch);
        report(node, "[]");
        assert_int_equal(broken_on(node), 0);
}

/* A gang of two nodes, one of which is lost: the rest of it still runs. */
static void a_gang_keeps_its_place_until_what_is_left_of_it_has_ended(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 6), epoch = world_work(&world, id)->epoch;
        char lost[8];
        snprintf(lost, sizeof lost, "%s", node_of(id, 0));
        for (unsigned m = 0; m < 6; m++)
                say(id, m, RUNNING);
        silence(lost);
        for (unsigned round = 0; round < 2; round++) {
                report(lost, "[]");             /* it comes clean, and takes nothing yet */
                report(lost, "[]");
                assert_false(is_up(lost));
                assert_int_equal(world_work(&world, id)->epoch, epoch);
                if (round == 0)
                        restart_on_the_pool();
        }
        for (unsigned m = 0; m < 6; m++)
                if (strcmp(node_of(id, m), lost) != 0)
                        assert_non_null(json_object_get(say(id, m, RUNNING), "stop"));
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        bool ended[6];
        for (unsigned m = 0; m < 6; m++)
                ended[m] = strcmp(node_of(id, m), lost) == 0;
        for (unsigned m = 0; m < 6; m++)
                if (!ended[m])
                        say(id, m, TERMED);
        expect_row(id, "live");
        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
        report(lost, "[]");
        assert_true(is_up(lost));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, agents_begin, agents_end)
        const struct CMUnitTest tests[] = {
                T(what_a_broken_device_has_keeps_its_place_until_it_has_ended),
                T(what_lies_where_a_layout_step_failed_keeps_its_place_until_it_has_ended),
                T(a_device_stays_broken_until_its_agent_says_otherwise),
                T(what_is_cancelled_on_a_broken_device_ends_as_such),
                T(a_gang_keeps_its_place_until_what_is_left_of_it_has_ended),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
