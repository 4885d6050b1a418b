/* Reservations and maintenance windows by name: revisions of the policy's and the pool's text. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/view.h"
#include "engine/maintenance.h"
#include "engine/tenancy.h"
#include "tests/unit/controller/world.h"

static struct world world;
static struct document_put last;

static const char room[] = "kind: Reservation\nname: room\ntenant: web\ndevices: {H100-80: 2}\n"
                           "from: 2027-02-01T00:00Z\nuntil: 2027-02-02T00:00Z\n";
static const char fans[] = "kind: Maintenance\nname: fans\nnodes: 'n[1-2]'\nreason: new fans\n"
                           "from: 2027-01-01T06:00Z\nuntil: 2027-01-01T12:00Z\n";

static int begin(void **state)
{
        (void)state;
        world_init(&world, "planned");
        world.simulate = true;
        world_furnish(&world);
        world_tick(&world, 0);
        return 0;
}

static int end(void **state)
{
        (void)state;
        json_decref(last.warnings);
        json_decref(last.stops);
        last = (struct document_put){0};
        world_done(&world);
        return 0;
}

static int put(enum beside beside, const char *name, const char *text, uint64_t wanted,
               bool dry_run)
{
        struct act *act = world_act(&world);
        struct ack ack = {0};

        json_decref(last.warnings);
        json_decref(last.stops);
        last = (struct document_put){.text = text, .by = "ana", .wanted = wanted,
                                     .dry_run = dry_run};
        int rc = live_put_beside(&world.live, act, beside, name, &last, &world.err);
        world_commit(&world, act, rc ? NULL : &ack);
        world_settle(&world);
        return rc;
}

static void must_put(enum beside beside, const char *name, const char *text)
{
        if (put(beside, name, text, 0, false) < 0)
                fail_msg("%s", world.err.text);
}

static void refused(enum beside beside, const char *name, const char *text, uint64_t wanted,
                    int code, const char *says)
{
        uint64_t hash = world_hash(&world), seq = core_last_seq(world.live.core);

        assert_int_equal(put(beside, name, text, wanted, false), -code);
        assert_string_equal(world.err.text, says);
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(core_last_seq(world.live.core), seq);
}

static uint32_t reserved(void)
{
        return core_tenancy(world.live.core)->reservations_count;
}

static uint32_t windows(void)
{
        return core_state(world.live.core)->maintenance.count;
}

static void a_reservation_is_a_revision_of_the_policy(void **state)
{
        (void)state;
        uint64_t revision = core_policy_revision(world.live.core);
        assert_int_equal(put(BESIDE_RESERVATION, "room", room, 0, true), 0);
        assert_int_equal(last.revision, revision + 1);
        assert_int_equal(reserved(), 0);
        must_put(BESIDE_RESERVATION, "room", room);
        assert_int_equal(core_policy_revision(world.live.core), revision + 1);
        assert_int_equal(reserved(), 1);
        /* The same again is no new revision. */
        uint64_t seq = core_last_seq(world.live.core);
        must_put(BESIDE_RESERVATION, "room", room);
        assert_int_equal(last.revision, revision + 1);
        assert_int_equal(core_last_seq(world.live.core), seq);
        /* Another policy leaves it, and so does a restart. */
        assert_int_equal(world_put_policy(&world, world_policy), 0);
        assert_int_equal(reserved(), 1);
        world_stop(&world);
        world_start(&world);
        assert_int_equal(reserved(), 1);
        assert_string_equal(core_tenancy(world.live.core)->reservations[0].name, "room");
        must_put(BESIDE_RESERVATION, "room", NULL);
        assert_int_equal(reserved(), 0);
        assert_int_equal(core_policy_revision(world.live.core), revision + 3);
}

static void maintenance_is_a_revision_of_the_pool(void **state)
{
        (void)state;
        uint64_t revision = world.live.pool_revision;
        must_put(BESIDE_MAINTENANCE, "fans", fans);
        assert_int_equal(world.live.pool_revision, revision + 1);
        assert_int_equal(windows(), 2);         /* one for each node */
        json_t *json = view_maintenance(&world.live);
        json_t *row = json_array_get(json_object_get(json, "maintenance"), 0);
        assert_int_equal(json_array_size(json_object_get(json, "maintenance")), 1);
        assert_int_equal(json_array_size(json_object_get(row, "nodes")), 2);
        assert_string_equal(json_string_value(json_object_get(row, "reason")), "new fans");
        assert_string_equal(json_string_value(json_object_get(row, "state")), "planned");
        json_decref(json);
        assert_int_equal(world_put_pool(&world, world_pool), 0);
        assert_int_equal(windows(), 2);
        must_put(BESIDE_MAINTENANCE, "fans", NULL);
        assert_int_equal(windows(), 0);
}

static void a_dry_run_tells_what_has_to_stop(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "runs", 4);
        assert_int_not_equal(world_work(&world, id)->epoch, 0);
        char plane[400];
        snprintf(plane, sizeof plane, "kind: Maintenance\nname: all\n"
                                      "from: 2027-01-01T00:00:10Z\nuntil: 2027-01-01T12:00Z\n");
        assert_int_equal(put(BESIDE_MAINTENANCE, "all", plane, 0, true), 0);
        assert_int_equal(json_array_size(last.stops), 1);
        json_t *row = json_array_get(last.stops, 0);
        assert_int_equal(json_integer_value(json_object_get(row, "workload")), id);
        assert_true(json_is_false(json_object_get(row, "ends_before")));
        /* The notice is the class's, 30 s, though the window is nearer. */
        assert_string_equal(json_string_value(json_object_get(row, "told")),
                            "2027-01-01T00:00:00.000Z");
        assert_string_equal(json_string_value(json_object_get(row, "until")),
                            "2027-01-01T00:00:30.000Z");
        assert_int_equal(windows(), 0);
        /* What is planned already tells nothing new. */
        must_put(BESIDE_MAINTENANCE, "all", plane);
        assert_int_equal(put(BESIDE_MAINTENANCE, "all", plane, 0, true), 0);
        assert_int_equal(json_array_size(last.stops), 0);
}

static void what_cannot_be_says_why(void **state)
{
        (void)state;
        refused(BESIDE_RESERVATION, "room", NULL, 0, ERR_NOT_FOUND,
                "there is no Reservation 'room'");
        refused(BESIDE_RESERVATION, "hall", room, 0, ERR_INPUT,
                "this is no document 'kind: Reservation' with the name 'hall'");
        refused(BESIDE_RESERVATION, "room", room, 99, ERR_EXISTS,
                "revision 1 of the policy is in force, not 99: read it and try again");
        refused(BESIDE_RESERVATION, "room",
                "kind: Reservation\nname: room\ntenant: web\ndevices: {H100-80: 2}\n"
                "from: 2027-02-01T00:00Z\nuntil: 2027-01-02T00:00Z\n",
                0, ERR_INPUT, "field 'until': does not lie behind 'from'; write a later time");
        refused(BESIDE_MAINTENANCE, "fans",
                "kind: Maintenance\nname: fans\nnodes: n9\nfrom: 2027-02-01T00:00Z\n"
                "until: 2027-03-01T00:00Z\n",
                0, ERR_INPUT,
                "field 'nodes': 'n9' is no node of this pool; write names of nodes, or a plane");
        /* A policy without the tenant of what stands beside it is refused as a whole. */
        must_put(BESIDE_RESERVATION, "room", room);
        assert_true(world_put_policy(&world, "kind: Policy\npreset: equal\ntenants: {lab: {}}\n") <
                    0);
        if (!strstr(world.err.text, "a Reservation that stands beside it: field 'tenant'"))
                fail_msg("%s", world.err.text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_reservation_is_a_revision_of_the_policy, begin,
                                                end),
                cmocka_unit_test_setup_teardown(maintenance_is_a_revision_of_the_pool, begin, end),
                cmocka_unit_test_setup_teardown(a_dry_run_tells_what_has_to_stop, begin, end),
                cmocka_unit_test_setup_teardown(what_cannot_be_says_why, begin, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
