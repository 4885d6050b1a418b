/* What is kept for how long, by the policy in force: in virtual time, on a disk that can fail. */
#include "tests/scratch.h"
#include "tests/unit/controller/world.h"

#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/log.h"
#include "store/objects.h"
#include "tests/fault_vfs.h"

#define DAY INT64_C(86400000)

static struct world world;
static char folder[SCRATCH_MAX];    /* of the key, which is a real file */

static int start(void **state)
{
        (void)state;
        world_init(&world, "retained");
        world_furnish(&world);
        world.live.keeps = (struct retention){{30, 90, 13}};
        return 0;
}

static int stop(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* The test's policy, which says this of retention. */
static void put_policy(const char *retention)
{
        char text[4096];

        (void)snprintf(text, sizeof text, "%s%s\n", world_policy, retention);
        if (world_put_policy(&world, text) != 0)
                fail_msg("%s", world.err.text);
}

static uint64_t ended_job(const char *name)
{
        uint64_t id = world_job(&world, "web", name, 1);
        struct ack ack = {0};

        if (world_cancel(&world, id, &ack) != 0)
                fail_msg("%s", world.err.text);
        world_settle(&world);
        assert_null(world_work(&world, id));
        return id;
}

static bool is_known(uint64_t id)
{
        struct object_copy *copy;
        int rc = objects_get(core_view(world.live.core), OBJECT_WORKLOAD, id, &copy, NULL);

        if (rc == 0)
                mem_free(copy);
        return rc == 0;
}

static uint64_t first_record(void)
{
        struct log_head base;

        assert_int_equal(log_base(core_view(world.live.core), &base, NULL), 0);
        return base.seq + 1;
}

static void prune(void)
{
        assert_int_equal(live_retain(&world.live, &world.err), 0);
        world_settle(&world);
}

static void snapshot(void)
{
        assert_int_equal(core_snapshot(world.live.core, &world.err), 0);
        world_settle(&world);
}

/* Jobs that ended 60, 20 and 0 days ago. */
static void age(uint64_t ids[3])
{
        ids[0] = ended_job("old");
        world_tick(&world, 40 * DAY);
        ids[1] = ended_job("middle");
        world_tick(&world, 20 * DAY);
        ids[2] = ended_job("new");
        snapshot();
}

static void a_new_policy_counts_at_the_next_prune_and_after_a_restart(void **state)
{
        (void)state;
        uint64_t ids[3];
        put_policy("retention: {records: unlimited}");
        age(ids);
        prune();                        /* 90 days, as the controller was started */
        assert_true(is_known(ids[0]) && is_known(ids[1]) && is_known(ids[2]));
        assert_int_equal(first_record(), 1);
        put_policy("retention: {records: unlimited, ended: 30d}");
        assert_true(is_known(ids[0]));
        prune();
        assert_false(is_known(ids[0]));
        assert_true(is_known(ids[1]));
        assert_int_equal(first_record(), 1);
        put_policy("retention: {records: 10d, ended: 10d}");
        world_stop(&world);
        world_start(&world);            /* what it was started with is now for ever */
        prune();
        assert_false(is_known(ids[1]));
        assert_true(is_known(ids[2]));
        assert_true(first_record() > 1);
        world_stop(&world);
        world_start(&world);            /* what was left is enough to come back by */
        assert_true(is_known(ids[2]));
}

static void an_earlier_text_brings_its_spans_back(void **state)
{
        (void)state;
        uint64_t ids[3];
        put_policy("retention: {ended: unlimited}");
        age(ids);
        world_tick(&world, 50 * DAY);   /* 110, 70 and 50 */
        put_policy("retention: {ended: 1d}");
        put_policy("retention: {ended: unlimited}");
        prune();
        assert_true(is_known(ids[0]) && is_known(ids[1]));
        put_policy("");                 /* 90 days, as it was started */
        prune();
        assert_false(is_known(ids[0]));
        assert_true(is_known(ids[1]));
}

static void records_reach_back_to_the_newest_snapshot_whatever_is_said(void **state)
{
        (void)state;
        uint64_t id = ended_job("old");
        put_policy("retention: {records: 1d}");
        world_tick(&world, 200 * DAY);
        prune();                        /* there is no snapshot: all of the log is needed */
        assert_int_equal(first_record(), 1);
        snapshot();
        uint64_t at = core_last_seq(world.live.core);
        for (int day = 0; day < 5; day++)
                world_tick(&world, 10 * DAY);
        (void)ended_job("new");
        prune();
        assert_in_range(first_record(), 2, at);
        assert_false(is_known(id));
        world_stop(&world);
        world_start(&world);
        assert_int_equal(core_policy_revision(world.live.core), 2);
}

/* Its commit fails: nothing went by what was never in force. */
static void a_policy_that_is_not_durable_removes_nothing(void **state)
{
        (void)state;
        struct fault_vfs *disk = world.disks[world.disk];
        uint64_t ids[3];
        char text[4096];
        age(ids);
        (void)snprintf(text, sizeof text, "%sretention: {ended: 1d, records: 1d}\n", world_policy);
        struct document_put put = {.text = text};
        struct act *act = world_act(&world);
        struct ack ack = {0};
        assert_non_null(act);
        assert_int_equal(live_put_policy(&world.live, act, &put, &world.err), 0);
        json_decref(put.warnings);
        world_commit(&world, act, &ack);
        assert_int_equal(live_retention(&world.live).spans[RETENTION_ENDED], 1);
        fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000000);
        assert_int_equal(live_retain(&world.live, &world.err), 0);
        world_settle(&world);
        assert_int_equal(ack.rc, -ERR_IO);
        fault_vfs_fail(disk, FAULT_EIO, 0, 0);
        core_retry(world.live.core);
        world_settle(&world);
        assert_int_equal(live_retention(&world.live).spans[RETENTION_ENDED], 90);
        assert_true(is_known(ids[0]) && is_known(ids[1]) && is_known(ids[2]));
        assert_int_equal(first_record(), 1);
        put_policy("retention: {ended: 1d, records: 1d}");
        prune();
        assert_false(is_known(ids[0]) || is_known(ids[1]));
        assert_true(first_record() > 1);
}

static int open_folder(void **state)
{
        (void)state;
        return scratch_folder(folder, sizeof folder, "retained") ? chdir(folder) : -1;
}

static int close_folder(void **state)
{
        (void)state;
        unlink("s.key");
        return chdir("/") == 0 ? rmdir(folder) : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_new_policy_counts_at_the_next_prune_and_after_a_restart),
                TEST(an_earlier_text_brings_its_spans_back),
                TEST(records_reach_back_to_the_newest_snapshot_whatever_is_said),
                TEST(a_policy_that_is_not_durable_removes_nothing),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
