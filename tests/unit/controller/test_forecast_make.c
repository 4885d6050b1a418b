/* A forecast is made from a store alone: what it is of, and what it says where the store is none
 * that it can be made of. */
#include "tests/unit/check.h"

#include <sodium.h>
#include <sqlite3.h>

#include "controller/worker_forecast.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "tests/unit/controller/world.h"

static struct world world;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "forecast");
        world.simulate = true;
        world_furnish(&world);
        (void)world_job(&world, "web", "fills", 12);    /* the pool, and nothing is known of it */
        return 0;
}

static int end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* Of one device, as the work's document goes on. */
static int make(struct store *store, uint64_t seq, const char *more, struct forecast *ret)
{
        char text[300];
        struct forecast_question question = {.text = text, .seq = seq,
                                             .now_ms = world.now_ms};

        question.size = (size_t)snprintf(text, sizeof text,
                                         "kind: Workload\nname: asked\ntenant: web\n"
                                         "each: {devices: 1, model: H100-80}\n%s"
                                         "run: {command: [train]}\n", more);
        world.err.text[0] = '\0';
        return forecast_make(store, &question, ret, &world.err);
}

static void it_is_of_the_record_that_was_seen_or_later(void **state)
{
        struct store *store = core_view(world.live.core);
        uint64_t seq = core_last_seq(world.live.core);
        struct forecast forecast;

        (void)state;
        assert_int_equal(make(store, seq, "", &forecast), 0);
        assert_int_equal(forecast.futures, FORECAST_FUTURES);
        assert_int_equal(forecast.started, FORECAST_FUTURES);
        assert_true(forecast.p50_ms > 0 && forecast.p50_ms <= forecast.p90_ms);
        assert_int_equal(make(store, seq + 1, "", &forecast), -ERR_INPUT);
        check_has(world.err.text, "another store lies in its place");
}

static void what_has_none_is_told_so(void **state)
{
        static const struct { const char *more, *says; } rows[] = {
                {"after: [fills]\n", "waits for the end of other work"},
                {"hold: true\n", "until its owner releases it"},
                {"class: nobody\n", "nobody"},
                {"members: 0\n", "members"},
                {"members: 99\n", "would be refused"},
        };
        struct forecast forecast;

        (void)state;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                assert_true(make(core_view(world.live.core), 0, rows[r].more, &forecast) < 0);
                check_has(world.err.text, rows[r].says);
        }
}

static struct store *stopped_store(void)
{
        const struct store_options options = {.path = "s", .is_unlocked = true,
                                              .vfs = fault_vfs_name(world.disks[world.disk])};
        struct store *store;

        assert_int_equal(store_open(&options, &store, &world.err), 0);
        return store;
}

static void spoil_snapshots(void)
{
        sqlite3 *db;

        assert_int_equal(sqlite3_open_v2("s", &db, SQLITE_OPEN_READWRITE,
                                         fault_vfs_name(world.disks[world.disk])), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM snapshot_chunks", NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* From its newest good snapshot; where there is none, it says so. */
static void a_pruned_log_will_do(void **state)
{
        struct forecast forecast;
        struct snapshot newest;
        struct log_head head;
        struct seal_key key;
        size_t count;

        (void)state;
        assert_int_equal(core_snapshot(world.live.core, &world.err), 0);
        world_settle(&world);
        world_tick(&world, 1000);
        world_stop(&world);
        struct store *store = stopped_store();
        assert_int_equal(snapshot_list(store, &newest, 1, &count, &world.err), 0);
        assert_int_equal(count, 1);
        assert_int_equal(log_head(store, &head, &world.err), 0);
        crypto_sign_keypair(key.public_key, key.secret_key);
        struct prune prune = {.upto_seq = newest.seq, .at_ms = world.now_ms, .key = &key};
        while (prune_step(&prune, store, &world.err) > 0)
                ;
        assert_int_equal(make(store, head.seq, "", &forecast), 0);
        assert_int_equal(forecast.started, FORECAST_FUTURES);
        store_close(store);
        spoil_snapshots();
        store = stopped_store();
        assert_int_equal(make(store, head.seq, "", &forecast), -ERR_NOT_FOUND);
        check_has(world.err.text, "the log was pruned, and no good snapshot of the pool was found");
        store_close(store);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_is_of_the_record_that_was_seen_or_later),
                cmocka_unit_test(what_has_none_is_told_so),
                cmocka_unit_test(a_pruned_log_will_do),         /* the last: it stops */
        };
        return cmocka_run_group_tests(tests, begin, end);
}
