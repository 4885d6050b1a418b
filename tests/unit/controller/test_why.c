/* Why work waits, in lists: what it says, to whom, and within which time. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/str.h"
#include "controller/why.h"
#include "engine/explain.h"
#include "tests/unit/controller/world.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n";
static const char policy[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\ndefault_class: training\n"
        "tenants: {alpha: {}, zebra: {}}\n"
        "principals:\n  - {name: vera, tenants: {alpha: viewer}}\n";

static struct served served;
static char vera[SERVED_HEADER_MAX];
static uint64_t wide, gang;             /* runs on both nodes; waits, and 3 of 4 would fit */

static uint64_t submit(const char *name, const char *tenant, const char *more)
{
        char body[512];
        snprintf(body, sizeof body,
                 "kind: Workload\nname: %s\ntenant: %s\nrun: {command: [sleep, \"1000\"]}\n%s\n",
                 name, tenant, more);
        json_t *json = served_json(&served, "POST", "/v1/workloads", body, 201);
        uint64_t id = (uint64_t)json_integer_value(json_object_get(json, "id"));
        json_decref(json);
        return id;
}

/* zebra has 13 of 16 devices; of alpha a gang, an array and one that is held wait. */
static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        served_token(&served, "vera", "viewer", "alpha", vera);
        wide = submit("wide", "zebra", "members: 2\neach: {devices: 5}");
        served_wait(&served, wide, "running");
        served_wait(&served, submit("b", "zebra", "each: {devices: 3}"), "running");
        gang = submit("gang", "alpha", "members: 4\neach: {devices: 1}");
        submit("wider", "alpha", "each: {devices: 8}\narray: 1-5");
        submit("longer", "alpha", "each: {devices: 8}\ntime_limit: 1h");
        submit("single", "alpha", "each: {devices: 8}");
        submit("held", "alpha", "each: {devices: 8}\nhold: true");
        submit("few", "zebra", "each: {devices: 1}\nhold: true\narray: 1-3%1");
        submit("first", "zebra", "each: {devices: 8}");
        submit("second", "zebra", "each: {devices: 8}\nafter: [first]");
        served_wait(&served, gang, "queued");
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

static json_t *ask(const char *path, const char *header)
{
        struct asked *asked = served_ask(&served, "GET", path, header, NULL);
        json_t *json = json_loads(asked->body, 0, NULL);
        if (asked->status != 200 || !json)
                fail_msg("%s: %u %s", path, asked->status, asked->body);
        return json;
}

static bool explains_all(const json_t *json)
{
        const json_t *rows = json_object_get(json, "workloads");
        bool all = true;

        for (size_t at = 0; at < json_array_size(rows); at++)
                all = all && json_object_get(json_array_get(rows, at), "summary");
        return all;
}

/* A list whose time was over before it was through is asked again. */
static json_t *ask_whole(const char *path, const char *header)
{
        json_t *json = ask(path, header);

        for (unsigned tries = 0; !explains_all(json); tries++) {
                if (tries == SERVED_PATIENCE_MS / 20)
                        fail_msg("%s: never all of it", path);
                served_sleep_ms(20);
                json_decref(json);
                json = ask(path, header);
        }
        return json;
}

static const char *text_of(const json_t *row, const char *key)
{
        const char *text = json_string_value(json_object_get(row, key));
        return text ? text : "-";
}

static uint64_t id_of(const json_t *row)
{
        return (uint64_t)json_integer_value(json_object_get(row, "id"));
}

/* What the explanation itself says to them. */
static void expect_as_explained(json_t *rows, const char *header)
{
        size_t at;
        json_t *row;
        assert_true(json_array_size(rows) > 0);
        json_array_foreach(rows, at, row) {
                char path[80];
                snprintf(path, sizeof path, "/v1/workloads/%" PRIu64 "/explain", id_of(row));
                json_t *whole = ask(path, header);
                assert_string_equal(text_of(row, "verdict"), text_of(whole, "verdict"));
                assert_string_equal(text_of(row, "summary"), text_of(whole, "summary"));
                json_decref(whole);
        }
}

static void a_list_says_why_to_who_asks_for_it(void **state)
{
        (void)state;
        json_t *plain = ask("/v1/workloads", ""), *row;
        json_t *json = ask_whole("/v1/workloads?why=true", "");
        json_t *rows = json_object_get(json, "workloads");
        size_t at;
        assert_int_equal(json_array_size(rows), 16);
        expect_as_explained(rows, "");
        json_array_foreach(json_object_get(plain, "workloads"), at, row) {
                assert_null(json_object_get(row, "summary"));
                assert_null(json_object_get(row, "verdict"));
                assert_null(json_object_get(row, "nodes"));
        }
        json_array_foreach(rows, at, row) {
                char *nodes = json_dumps(json_object_get(row, "nodes"), JSON_COMPACT);
                bool runs = str_equal(text_of(row, "state"), "running");
                if (id_of(row) == wide)
                        assert_string_equal(nodes, "[\"gpu-01\",\"gpu-02\"]");
                assert_int_equal(strcmp(nodes, "[]") != 0, runs);
                free(nodes);
        }
        json_decref(json);
        json_decref(plain);
        assert_int_equal(served_ask(&served, "GET", "/v1/workloads?why=2", "", NULL)->status, 400);
}

/* How much of a group that few share is free says how big a foreign work is: so it is rounded. */
static void a_tenant_is_told_no_more_than_an_explanation_tells(void **state)
{
        (void)state;
        static const char *const lists[] = {"/v1/workloads?why=true", "/v1/queue?tenant=alpha"};
        char one[64];
        for (size_t l = 0; l < 2; l++) {
                json_t *theirs = ask_whole(lists[l], ""), *hers = ask_whole(lists[l], vera), *row;
                size_t at;
                unsigned found = 0;
                expect_as_explained(json_object_get(theirs, "workloads"), "");
                expect_as_explained(json_object_get(hers, "workloads"), vera);
                json_array_foreach(json_object_get(hers, "workloads"), at, row)
                        if (id_of(row) == gang && ++found)
                                check_has(text_of(row, "summary"), "2 of 4 members find room");
                json_array_foreach(json_object_get(theirs, "workloads"), at, row)
                        if (id_of(row) == gang && ++found)
                                check_has(text_of(row, "summary"), "3 of 4 members find room");
                assert_int_equal(found, 2);
                json_decref(theirs);
                json_decref(hers);
        }
        snprintf(one, sizeof one, "/v1/workloads/%" PRIu64, gang);
        json_t *row = ask(one, vera);
        check_has(text_of(row, "summary"), "2 of 4 members find room");
        json_decref(row);
}

/* ---- the time ---- */

static void when_its_time_is_over_only_what_is_known_is_said(void **state)
{
        (void)state;
        static struct world world;
        uint64_t ids[4];
        uint32_t slots[4];
        world_init(&world, "why");
        world.simulate = true;
        world_furnish(&world);
        world_tick(&world, 0);
        for (unsigned i = 0; i < 4; i++)        /* one of 12 runs; two alike, and one other */
                ids[i] = world_job(&world, "web", "job", i == 3 ? 11 : 12);
        const struct state *pool_state = core_state(world.live.core);
        struct why *none = why_new(core_memo(world.live.core), pool_state, world.now_ms, true);
        struct why *all = why_new(core_memo(world.live.core), pool_state, world.now_ms, true);
        why_set_time(none, 0);
        for (unsigned i = 0; i < 4; i++) {
                json_t *row = json_object();
                slots[i] = state_workload(pool_state, ids[i]);
                assert_true(slots[i] != NONE);
                /* What has its place is told that without a search. */
                assert_int_equal(why_add(none, slots[i], row), i == 0);
                assert_int_equal(json_object_size(row), i == 0 ? 2 : 0);
                assert_true(why_add(all, slots[i], row));
                assert_string_equal(text_of(row, "verdict"), i ? "WAIT_CAPACITY" : "RUNNING");
                json_decref(row);
        }
        assert_false(why_has_time(none));
        assert_true(why_has_time(all));
        why_set_time(all, 0);
        for (unsigned i = 0; i < 4; i++) {
                json_t *row = json_object();
                assert_true(why_add(all, slots[i], row));
                json_decref(row);
        }
        why_free(none);
        why_free(all);
        why_free(NULL);
        world_done(&world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_list_says_why_to_who_asks_for_it),
                cmocka_unit_test(a_tenant_is_told_no_more_than_an_explanation_tells),
                cmocka_unit_test(when_its_time_is_over_only_what_is_known_is_said),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
