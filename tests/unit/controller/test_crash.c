/* The power goes at every write, truncation, sync and removal of one story of a controller, and
 * takes with it all, some or none of what was not synced. What the next controller finds must be
 * the state as it was after a whole act, no older than what anybody was told. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/exchange.h"
#include "controller/nodes.h"
#include "tests/unit/controller/world.h"

enum { SEQS_MAX = 1024 };

static struct {
        struct world world, later;      /* the story; what comes after it */
        uint64_t hashes[SEQS_MAX];      /* after that record; 0: inside of an act */
        uint64_t told_seq;              /* somebody was told up to here */
        uint64_t told_id;               /* workloads up to this number */
        uint64_t cancelled_id;          /* running work that was cancelled; 0: not told yet */
        uint64_t operations, crashes, longer, snapshots;
        bool looks;
} story;

static const char *const losses[] = {
#define X(name, words) [FAULT_LOSE_##name] = words,
        FAULT_LOSSES(X)
#undef X
};

/* After each act. */
static void note(void)
{
        uint64_t seq = core_last_seq(story.world.live.core);

        assert_in_range(seq, 0, SEQS_MAX - 1);
        story.hashes[seq] = world_hash(&story.world);
}

static void durable(void *arg, uint64_t seq)
{
        (void)arg;
        story.told_seq = seq;
}

static void look_at_works(const char *where)
{
        const struct world *later = &story.later;
        char state[32], detail[512];

        for (uint64_t id = 1; id <= story.told_id; id++) {
                world_row(later, id, state, detail);
                if (strcmp(state, "missing") == 0)
                        fail_msg("%s: workload %u is missing", where, (unsigned)id);
                if ((strcmp(state, "live") == 0) != (world_work(later, id) != NULL))
                        fail_msg("%s: workload %u is '%s'", where, (unsigned)id, state);
        }
        const struct work *work = world_work(later, story.cancelled_id);
        if (work && work->wish != WISH_CANCEL)
                fail_msg("%s: the cancel is forgotten", where);
}

static void look(enum fault_loss loss)
{
        struct world *later = &story.later;
        char where[128];

        snprintf(where, sizeof where, "operation %u, %s", (unsigned)story.operations, losses[loss]);
        fault_vfs_after_crash(story.world.disks[0], later->disks[0], loss, story.operations);
        later->now_ms = story.world.now_ms;
        if (world_try_start(later) < 0)
                fail_msg("%s: %s", where, later->err.text);
        uint64_t seq = core_last_seq(later->live.core);
        if (seq < story.told_seq)
                fail_msg("%s: the log ends at %u, and %u was told", where, (unsigned)seq,
                         (unsigned)story.told_seq);
        if (seq > 0 && (seq >= SEQS_MAX || story.hashes[seq] == 0))
                fail_msg("%s: the log ends inside of an act", where);
        if (seq > 0 && story.hashes[seq] != world_hash(later))
                fail_msg("%s: the state at %u is another", where, (unsigned)seq);
        state_check(core_state(later->live.core));
        look_at_works(where);
        story.longer += seq > story.told_seq;
        story.snapshots += later->told.had_snapshot;
        story.crashes++;
        world_stop(later);
}

static void crash_here(void *self)
{
        (void)self;
        story.operations++;
        for (int loss = 0; story.looks && loss < FAULT_LOSSES_END; loss++)
                look((enum fault_loss)loss);
}

/* ---- the story ---- */

static void settle(void)
{
        note();
        world_settle(&story.world);
}

static uint64_t submit(const char *rest, unsigned count)
{
        char text[300];
        struct submitted submitted;

        snprintf(text, sizeof text,
                 "{kind: Workload, tenant: web, each: {devices: 1, model: H100-80},"
                 " run: {command: [x]}, %s}", rest);
        assert_int_equal(world_submit(&story.world, text, NULL, &submitted), 0);
        settle();
        story.told_id = submitted.first_id + count - 1;
        return submitted.first_id;
}

static void report(const char *node, const char *runs)
{
        struct world *world = &story.world;
        json_t *list = json_loads(runs, 0, NULL);
        json_t *it = json_pack("{s:i,s:s,s:s,s:i,s:o}", "protocol", 1, "agent", "1", "boot", "b",
                               "seen", 0, "runs", list);
        struct node_entry *entry = nodes_find(world->live.nodes, node);
        uint64_t seen;

        assert_int_equal(exchange_read(entry, it, world->now_ms, world->steady_ms, &seen,
                                       &world->err),
                         0);
        if (exchange_has_news(&world->live, entry, it)) {
                struct act *act = world_act(world);
                assert_int_equal(exchange_apply(&world->live, act, entry, it, &world->err), 0);
                world_commit(world, act, NULL);
        }
        json_decref(it);
        settle();
}

static void tick(void)
{
        struct world *world = &story.world;

        world->now_ms += 2000;
        world->steady_ms += 2000;
        assert_int_equal(live_tick(&world->live, world->now_ms, &world->err), 0);
        settle();
}

static void says(uint64_t id, const char *rest)
{
        char text[200];
        const struct work *work = world_work(&story.world, id);
        const struct state *state = core_state(story.world.live.core);
        uint32_t slot = state_workload(state, id);
        uint32_t node = state->members[state->workloads[slot].first_member].node;

        snprintf(text, sizeof text, "[{\"workload\":%u,\"member\":0,\"epoch\":%u,%s}]",
                 (unsigned)id, (unsigned)work->epoch, rest);
        report(live_node_of(&story.world.live, node)->name, text);
}

static void put(const char *text, int (*change)(struct live *, struct act *,
                                                struct document_put *, struct err *))
{
        struct document_put document = {.text = text};
        struct act *act = world_act(&story.world);

        assert_int_equal(change(&story.world.live, act, &document, &story.world.err), 0);
        json_decref(document.warnings);
        world_commit(&story.world, act, NULL);
        settle();
}

static void tell_story(void)
{
        put(world_pool, live_put_pool);
        put(world_policy, live_put_policy);
        report("n1", "[]");
        report("n2", "[]");
        uint64_t first = submit("name: a", 1), second = submit("name: b", 1);
        (void)submit("name: c, array: 1-4", 4);
        (void)submit("name: d, members: 3", 1);
        says(first, "\"phase\":\"running\"");
        assert_int_equal(world_cancel(&story.world, second, NULL), 0);
        settle();
        story.cancelled_id = second;
        tick();
        assert_int_equal(core_snapshot(story.world.live.core, NULL), 0);
        settle();
        says(first, "\"phase\":\"exited\",\"exit_code\":0");
        says(second, "\"phase\":\"exited\",\"signal\":15");
        put(world_policy, live_put_policy);
        tick();
}

static void power_lost_at_any_moment_loses_nothing_that_was_told(void **state)
{
        (void)state;
        const struct core_watch watch = {.durable = durable};
        world_init(&story.world, "story");
        world_init(&story.later, "later");
        story.later.keeps_models = true;
        fault_vfs_on_operation(story.world.disks[0], crash_here, NULL);
        world_start(&story.world);
        core_watch(story.world.live.core, &watch);
        story.looks = true;
        tell_story();
        story.looks = false;
        printf("%u operations, %u crashes, %u kept more than was told, %u with a snapshot\n",
               (unsigned)story.operations, (unsigned)story.crashes, (unsigned)story.longer,
               (unsigned)story.snapshots);
        assert_true(story.operations > 100);
        assert_true(story.longer > 50);
        assert_true(story.snapshots > 50);
        world_done(&story.later);
        world_done(&story.world);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(power_lost_at_any_moment_loses_nothing_that_was_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
