/* Usage over hours, with a real store and a clock of the test's. */
#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "controller/usage.h"
#include "engine/model.h"
#include "proto/model_doc.h"
#include "store/rollup.h"
#include "store/store.h"

#define HOUR  ROLLUP_HOUR_MS
#define START (INT64_C(499667) * HOUR)
#define UNITS_8 (INT64_C(8) * 126000)

static char folder[64], path[96];

static struct pool {
        struct model_table *models;
        struct usage *usage;
        struct core *core;
} pool;

static void ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)err;
        assert_int_equal(rc, 0);
}

static void ignore_failure(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)err;
        assert_true(rc < 0);
}

static void open_pool(void)
{
        struct store_options store = {.path = path};
        struct core_recovery told;
        struct err err;
        pool.models = model_table_new();
        pool.usage = usage_new();
        assert_int_equal(model_doc_builtin(pool.models, &err), 0);
        struct core_watch watch = usage_watch(pool.usage);
        struct core_setup setup = {.models = pool.models,
                                   .bounds = {.nodes_max = 4, .workloads_max = 8},
                                   .placement = {.kind = POLICY_AUTO},
                                   .is_stepped = true,
                                   .early = &watch};
        assert_int_equal(store_open(&store, &setup.store, &err), 0);
        if (core_open(&setup, &pool.core, &told, &err) < 0)
                fail_msg("%s", err.text);
}

static void close_pool(void)
{
        core_free(pool.core);
        usage_free(pool.usage);
        model_table_free(pool.models);
}

static void settle(void)
{
        while (core_step(pool.core))
                ;
        assert_int_equal(core_event(pool.core, NULL), 0);
}

static void put_in(const struct input *input, int64_t at_ms)
{
        struct err err;
        struct act *act = core_begin(pool.core, "test", "", at_ms, &err);
        if (core_input(act, input, NULL, &err) < 0)
                fail_msg("%s", err.text);
        core_commit(act, ignore, NULL);
        settle();
}

static void roll(int64_t at_ms)
{
        struct err err;
        struct act *act = core_begin(pool.core, "test", "", at_ms, &err);
        if (usage_roll(pool.usage, pool.core, act, &err) < 0)
                fail_msg("%s", err.text);
        core_commit(act, ignore, NULL);
        settle();
}

static void join(int64_t at_ms)
{
        struct vocab *vocab = core_state(pool.core)->vocab;
        int model = model_find(pool.models, "H100-80", NULL);
        const struct input input = {
                .kind = INPUT_NODE_JOINED,
                .node = {.name = (uint32_t)vocab_name(vocab, "gpu-01", NULL),
                         .plane = (uint16_t)vocab_word(vocab, "training", NULL),
                         .model = (uint8_t)model,
                         .devices = 8,
                         .cpu_milli = 96000,
                         .ram_mib = 1 << 20}};
        assert_true(model >= 0);
        put_in(&input, at_ms);
}

/* Every hour has its whole capacity, and the first and last what they should. */
struct seen {
        int64_t hours[64];
        unsigned count;
};

static int see_hour(void *self, const struct rollup_sum *sum, struct err *err)
{
        struct seen *seen = self;
        unsigned hour = (unsigned)((sum->start_ms - START) / HOUR);
        (void)err;
        assert_true(hour < 64);
        if (usage_is_capacity(sum->bucket))
                seen->hours[hour] += (int64_t)sum->unit_ms;
        if (hour >= seen->count)
                seen->count = hour + 1;
        return 0;
}

static struct seen look(void)
{
        struct rollup_query query = {.until_ms = INT64_MAX, .by_hour = true};
        struct seen seen = {0};
        assert_int_equal(rollup_sums(core_view(pool.core), &query, see_hour, &seen, NULL), 0);
        return seen;
}

static int make_folder(void **state)
{
        (void)state;
        if (!scratch_folder(folder, sizeof folder, "usage"))
                return -1;
        snprintf(path, sizeof path, "%s/pool.db", folder);
        return 0;
}

static int remove_store(void **state)
{
        static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
        (void)state;
        for (size_t e = 0; e < ARRAY_LEN(ends); e++) {
                char file[128];
                snprintf(file, sizeof file, "%s%s", path, ends[e]);
                unlink(file);
        }
        return 0;
}

static int remove_folder(void **state)
{
        (void)remove_store(state);
        return rmdir(folder);
}

/* A new pool is counted at once, and then about as long after the last time as it is counted. */
static void a_new_pool_is_rolled_up_soon_and_then_ever_more_seldom(void **state)
{
        (void)state;
        int64_t now_ms = START + HOUR / 4, from_ms = now_ms, longest_ms = 0;
        unsigned rolled = 0;

        open_pool();
        assert_false(usage_is_due(pool.usage, now_ms));
        join(now_ms);
        assert_false(usage_is_due(pool.usage, now_ms));
        for (; now_ms < START + HOUR * 3 / 4; now_ms += 1000) {
                int64_t passed_ms = now_ms - from_ms;
                if (!usage_is_due(pool.usage, now_ms)) {
                        assert_true(passed_ms < USAGE_ROLL_MS);
                        continue;
                }
                assert_true(rolled > 0 || passed_ms == 1000);
                assert_true(passed_ms >= longest_ms);
                longest_ms = passed_ms;
                roll(now_ms);
                from_ms = now_ms;
                rolled++;
        }
        assert_int_equal(longest_ms, USAGE_ROLL_MS);
        assert_in_range(rolled, 9, 14); /* half an hour: 5 of it in the usual steps */
        struct seen seen = look();
        assert_int_equal(seen.hours[0], UNITS_8 * (from_ms - START - HOUR / 4));
        close_pool();
}

static void hours_are_told_apart_and_what_was_not_rolled_up_comes_again(void **state)
{
        (void)state;
        const struct input tick = {.kind = INPUT_TICKED};
        open_pool();
        join(START + HOUR / 4);
        put_in(&tick, START + 5 * HOUR / 2);
        assert_true(usage_is_due(pool.usage, START + 5 * HOUR / 2));
        assert_int_equal(look().count, 0);
        close_pool();                   /* nothing was rolled up: all of it comes again */
        open_pool();
        put_in(&tick, START + 3 * HOUR);        /* the boundary itself belongs to the next hour */
        roll(START + 3 * HOUR + 1000);
        struct seen seen = look();
        assert_int_equal(seen.count, 4);
        assert_int_equal(seen.hours[0], UNITS_8 * HOUR * 3 / 4);
        assert_int_equal(seen.hours[1], UNITS_8 * HOUR);
        assert_int_equal(seen.hours[2], UNITS_8 * HOUR);
        assert_int_equal(seen.hours[3], UNITS_8 * 1000);
        assert_int_equal(usage_until_ms(pool.usage), START + 3 * HOUR + 1000);
        assert_false(usage_is_due(pool.usage, START + 3 * HOUR + 2000));
        /* A snapshot right behind it, and then days without the controller. */
        assert_int_equal(core_snapshot(pool.core, NULL), 0);
        put_in(&tick, START + 3 * HOUR + 2000);
        close_pool();
        open_pool();
        put_in(&tick, START + 50 * HOUR);
        roll(START + 50 * HOUR);
        close_pool();
        open_pool();
        roll(START + 50 * HOUR);        /* again: nothing is added */
        seen = look();
        assert_int_equal(seen.count, 50);
        for (unsigned h = 1; h < 50; h++)
                assert_int_equal(seen.hours[h], UNITS_8 * HOUR);
        close_pool();
}

/* What was decided and is undone was never used, and what was before it is not lost. */
static void an_act_that_is_undone_is_not_counted(void **state)
{
        (void)state;
        const struct input tick = {.kind = INPUT_TICKED};
        struct err err;
        open_pool();
        int64_t from = START + 50 * HOUR, later = from + 10 * 60000;
        put_in(&tick, from + 60000);
        struct input gone = {.kind = INPUT_NODE_REMOVED,
                             .node_name = (uint32_t)vocab_name_find(core_state(pool.core)->vocab,
                                                                    "gpu-01")};
        struct act *act = core_begin(pool.core, "test", "", later, &err);
        assert_int_equal(core_input(act, &gone, NULL, &err), 0);
        core_undo(act);
        core_commit(act, ignore_failure, NULL);
        settle();
        roll(later);
        struct seen seen = look();
        assert_int_equal(seen.count, 51);
        assert_int_equal(seen.hours[50], UNITS_8 * (later - from));
        close_pool();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(
                        a_new_pool_is_rolled_up_soon_and_then_ever_more_seldom, remove_store),
                cmocka_unit_test(hours_are_told_apart_and_what_was_not_rolled_up_comes_again),
                cmocka_unit_test(an_act_that_is_undone_is_not_counted),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
