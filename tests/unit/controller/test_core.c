/* The core: acts are durable before anybody is told, and a state comes back as it was. */
#include "tests/unit/check.h"

#include "base/mem.h"
#include "engine/vocab.h"
#include "store/keys.h"
#include "tests/unit/controller/world.h"

static struct world world;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "core");
        world_furnish(&world);
        for (unsigned n = 1; n <= 3; n++) {
                char name[4];
                snprintf(name, sizeof name, "n%u", n);
                json_decref(world_report(&world, name, "[]"));
        }
        return 0;
}

static int end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* Something of everything: running, told to stop, waiting, ended, refused. */
static void live_a_little(void)
{
        static const char wide[] = "kind: Workload\nname: wide\ntenant: lab/a\nmembers: 64\n"
                                   "each: {devices: 4, model: H100-80}\nrun: {command: [x]}\n";
        struct submitted submitted;
        for (unsigned j = 0; j < 6; j++)
                (void)world_job(&world, "lab/a", "train", 2);
        uint64_t cancelled = world_job(&world, "lab/b", "gone", 1);
        assert_int_equal(world_cancel(&world, cancelled, NULL), 0);
        assert_int_equal(world_submit(&world, wide, NULL, &submitted), 0);
        assert_int_equal(submitted.refused, 1);
        for (unsigned j = 0; j < 4; j++)
                (void)world_job(&world, "web", "serve", 1);
        for (unsigned t = 0; t < 5; t++)
                world_tick(&world, 2000);
        assert_true(core_state(world.live.core)->noticed > 0);
        assert_true(core_state(world.live.core)->waiting > 0);
}

static void nobody_is_told_before_it_is_on_the_disk(void **state)
{
        (void)state;
        struct ack ack = {0}, reader = {0};
        struct submitted submitted;
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: j, tenant: web, each: {devices: 1},"
                                      " run: {command: [x]}}",
                                      &ack, &submitted),
                         0);
        uint64_t seq = core_last_seq(world.live.core);
        assert_int_equal(ack.calls, 0);
        assert_false(core_is_durable(world.live.core, seq));
        struct act *act = world_act(&world);
        assert_non_null(act);
        world_commit(&world, act, &reader);             /* it has nothing of its own */
        assert_int_equal(reader.calls, 0);
        while (core_step(world.live.core))
                ;
        assert_int_equal(ack.calls, 0);                 /* on the disk, but not told yet */
        assert_int_equal(core_event(world.live.core, NULL), 0);
        assert_int_equal(ack.calls, 1);
        assert_int_equal(ack.rc, 0);
        assert_int_equal(reader.calls, 1);
        assert_true(core_is_durable(world.live.core, seq));
}

static void it_comes_back_from_the_log_alone(void **state)
{
        (void)state;
        live_a_little();
        uint64_t hash = world_hash(&world), seq = core_last_seq(world.live.core);
        uint32_t works = works_count(core_works(world.live.core));
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_false(world.told.had_snapshot);
        assert_true(world.told.facts > 20);
        assert_int_equal(core_last_seq(world.live.core), seq);
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(works_count(core_works(world.live.core)), works);
        assert_int_equal(core_policy_revision(world.live.core), 1);
        state_check(core_state(world.live.core));
}

static void it_comes_back_from_a_snapshot_and_what_followed(void **state)
{
        (void)state;
        live_a_little();
        assert_int_equal(core_snapshot(world.live.core, &world.err), 0);
        world_settle(&world);
        uint64_t later = world_job(&world, "lab/b", "later", 1);
        world_tick(&world, 2000);
        uint64_t hash = world_hash(&world);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_true(world.told.had_snapshot);
        assert_in_range(world.told.records, 2, 8);
        assert_int_equal(world_hash(&world), hash);
        assert_non_null(world_work(&world, later));
        assert_int_equal(world_job(&world, "lab/b", "next", 1), later + 1);
        hash = world_hash(&world);
        assert_int_equal(core_finish(world.live.core, &world.err), 0);
        world_stop(&world);
        world_start(&world);
        assert_true(world.told.had_snapshot);
        assert_int_equal(world.told.records, 0);
        assert_int_equal(world_hash(&world), hash);
}

static void what_runs_keeps_its_epoch_and_its_stops(void **state)
{
        (void)state;
        live_a_little();
        struct work before[64];
        uint32_t count = 0, cursor = 0;
        for (struct work *it; (it = works_next(core_works(world.live.core), &cursor));)
                before[count++] = *it;
        for (unsigned round = 0; round < 2; round++) {
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                assert_int_equal(world.told.had_snapshot, round == 1);
                for (uint32_t w = 0; w < count; w++) {
                        const struct work *it = world_work(&world, before[w].id);
                        assert_non_null(it);
                        assert_int_equal(it->epoch, before[w].epoch);
                        assert_int_equal(it->stops, before[w].stops);
                        assert_int_equal(it->started_ms, before[w].started_ms);
                        assert_int_equal(it->members_count, before[w].members_count);
                }
                assert_int_equal(core_snapshot(world.live.core, NULL), 0);
                world_settle(&world);
        }
}

/* The disk fails when the act is committed. */
static void fail_next_commit(struct ack *ack, struct submitted *ret_submitted)
{
        struct fault_vfs *disk = world.disks[world.disk];
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: lost, tenant: web,"
                                      " each: {devices: 1, model: H100-80}, run: {command: [x]}}",
                                      ack, ret_submitted),
                         0);
        assert_non_null(world_work(&world, ret_submitted->first_id));
        fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000000);
        world_settle(&world);
}

static void see(void *arg, int rc, const struct err *err)
{
        struct ack *ack = arg;
        (void)err;
        ack->calls++;
        ack->rc = rc;
}

static void disk_is_well_again(void)
{
        fault_vfs_fail(world.disks[world.disk], FAULT_EIO, 0, 0);
        core_retry(world.live.core);
        world_settle(&world);
        assert_int_equal(core_may_act(world.live.core, NULL), 0);
}

static void a_failed_commit_is_told_and_its_state_made_anew(void **state)
{
        (void)state;
        live_a_little();
        uint64_t hash = world_hash(&world);
        struct ack ack = {0}, reader = {0};
        struct submitted lost;
        struct err err;
        fail_next_commit(&ack, &lost);
        assert_int_equal(ack.calls, 1);
        assert_int_equal(ack.rc, -ERR_IO);
        assert_null(world_work(&world, lost.first_id));
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(core_may_act(world.live.core, &err), -ERR_IO);
        check_has(err.text, "nothing is taken now");
        assert_null(world_act(&world));
        core_when_durable(world.live.core, see, &reader);       /* looking goes on */
        assert_int_equal(reader.calls, 1);
        assert_int_equal(reader.rc, 0);
        core_retry(world.live.core);                            /* still no disk */
        world_settle(&world);
        assert_int_equal(core_may_act(world.live.core, NULL), -ERR_IO);
        disk_is_well_again();
        assert_int_equal(world_job(&world, "web", "again", 1), lost.first_id);
        hash = world_hash(&world);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_hash(&world), hash);
}

/* Nodes are described in words that the state of before knew by other numbers. */
static void a_pool_that_was_not_kept_is_forgotten(void **state)
{
        (void)state;
        static const char wider[] =
                "kind: Pool\nname: test\nplanes: {odd: {}, training: {}}\nnodes:\n"
                "  - {name: new, plane: odd, devices: {model: A100-40, count: 2}, cpu: 8,\n"
                "     ram: 8Gi, labels: {colour: red}}\n"
                "  - {name: \"n[1-3]\", plane: training, devices: {model: H100-80, count: 4},\n"
                "     cpu: 64, ram: 512Gi, disk: 1Ti, network: 100Gb}\n";
        struct fault_vfs *disk = world.disks[world.disk];
        fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000000);
        assert_int_equal(world_put_pool(&world, wider), -ERR_IO);
        assert_int_equal(world.live.pool_revision, 1);
        assert_null(world_report(&world, "new", "[]"));
        disk_is_well_again();
        assert_null(world_report(&world, "new", "[]"));
        assert_int_equal(world_put_pool(&world, wider), 0);
        assert_int_equal(world.live.pool_revision, 2);
        json_decref(world_report(&world, "new", "[]"));
        const struct state *live = core_state(world.live.core);
        uint32_t node = state_node(live, (unsigned)vocab_name_find(live->vocab, "new"));
        assert_int_not_equal(node, NONE);
        assert_string_equal(vocab_text(live->vocab, live->nodes[node].desc.plane), "odd");
}

/* Words that are read in vain get numbers, but no record. */
static void words_of_what_was_refused_do_not_stand_in_the_way(void **state)
{
        (void)state;
        static const char refused[] =
                "kind: Pool\nname: test\nplanes: {unheard: {}}\nnodes:\n"
                "  - {name: odd, plane: unheard, devices: {model: H100-80, count: 4},\n"
                "     cpu: 1, ram: 1Gi}\n";
        (void)world_job(&world, "web", "runs", 1);              /* so that its node cannot go */
        assert_int_equal(world_put_pool(&world, refused), -ERR_INPUT);
        assert_int_equal(core_snapshot(world.live.core, NULL), 0);
        world_settle(&world);
        (void)world_job(&world, "web", "later", 1);
        assert_int_equal(world_put_pool(&world, refused), -ERR_INPUT);
        (void)world_job(&world, "web", "last", 1);
        uint64_t hash = world_hash(&world);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_true(world.told.had_snapshot);
        assert_int_equal(world_hash(&world), hash);
        (void)world_job(&world, "web", "more", 1);
        assert_int_equal(core_finish(world.live.core, &world.err), 0);
        world_stop(&world);
        world_start(&world);
        (void)world_job(&world, "web", "end", 1);
        hash = world_hash(&world);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_hash(&world), hash);
}

/* The model stands in the record behind the one of the policy that names it. */
static void a_policy_may_name_a_model_that_no_record_has_yet(void **state)
{
        (void)state;
        char text[2048];
        assert_true(model_add_unlisted(world.models, "X9", &world.err) >= 0);
        snprintf(text, sizeof text, "%s  more: {protect: {X9: 0}}\n", world_policy);
        char *at = strstr(text, "principals:");
        assert_non_null(at);
        snprintf(text + (at - text), sizeof text - (size_t)(at - text),
                 "  more: {limit: {X9: 1}}\n");
        assert_int_equal(world_put_policy(&world, text), 0);
        (void)world_job(&world, "more", "j", 1);
        uint64_t hash = world_hash(&world);
        for (unsigned round = 0; round < 2; round++) {
                world_crash(&world, FAULT_LOSE_ALL, 1);
                if (world_try_start(&world) < 0)
                        fail_msg("%s", world.err.text);
                assert_int_equal(world_hash(&world), hash);
                assert_int_equal(core_policy_revision(world.live.core), 2);
                assert_int_equal(core_snapshot(world.live.core, NULL), 0);
                world_settle(&world);
        }
}

static void a_pool_of_which_a_part_cannot_be_is_not_taken_at_all(void **state)
{
        (void)state;
        static const char shrunk[] =
                "kind: Pool\nname: test\nplanes: {training: {}}\nnodes:\n"
                "  - {name: n1, plane: training, devices: {model: H100-80, count: 4},\n"
                "     cpu: 1, ram: 1Gi}\n"
                "  - {name: n2, plane: training, devices: {model: H100-80, count: 4},\n"
                "     cpu: 1, ram: 1Gi}\n"
                "  - {name: n3, plane: training, devices: {model: H100-80, count: 1},\n"
                "     cpu: 1, ram: 1Gi}\n";
        for (unsigned j = 0; j < 3; j++)
                (void)world_job(&world, "lab/a", "runs", 4);
        uint64_t hash = world_hash(&world);
        assert_int_equal(world_put_pool(&world, shrunk), -ERR_INPUT);
        check_has(world.err.text, "in use");
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(world.live.pool_revision, 1);
        assert_int_equal(core_may_act(world.live.core, NULL), 0);
        json_decref(world_report(&world, "n1", "[]"));
        assert_int_equal(world_hash(&world), hash);
}

static void maintenance_and_policy_come_back(void **state)
{
        (void)state;
        char text[1024];
        snprintf(text, sizeof text,
                 "%smaintenance:\n  - {name: winter, node: n1, from: 2027-01-01T01:00Z, until: "
                 "2027-01-01T02:00Z}\n", world_pool);
        if (world_put_pool(&world, text) < 0)
                fail_msg("%s", world.err.text);
        assert_int_equal(world_put_policy(&world, world_policy), 0);
        uint64_t hash = world_hash(&world);
        for (unsigned round = 0; round < 2; round++) {
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                const struct state *live = core_state(world.live.core);
                assert_int_equal(world_hash(&world), hash);
                assert_int_equal(live->maintenance.count, 1);
                assert_string_equal(live->maintenance.windows[0].name, "winter");
                assert_int_equal(core_policy_revision(world.live.core), 2);
                assert_true(tenancy_find(core_tenancy(world.live.core), "lab/b") >= 0);
                assert_int_equal(world.live.pool_revision, 2);
                assert_int_equal(core_snapshot(world.live.core, NULL), 0);
                world_settle(&world);
        }
}

static void a_key_is_held_until_its_answer_can_be_found(void **state)
{
        (void)state;
        struct key_entry entry = {.actor = "op", .key = "k1", .status = 201, .body = "{}",
                                  .size = 2, .until_ms = WORLD_START_MS + 1000}, found;
        struct ack ack = {0};
        struct act *act = world_act(&world);
        assert_int_equal(core_note(act, "a note", NULL), 0);
        assert_int_equal(core_key(act, &entry, NULL), 0);
        world_commit(&world, act, &ack);
        assert_true(core_holds_key(world.live.core, "op", "k1"));
        assert_false(core_holds_key(world.live.core, "op", "k2"));
        assert_int_equal(keys_find(core_view(world.live.core), "op", "k1", entry.request,
                                   world.now_ms, &found, NULL),
                         -ERR_NOT_FOUND);
        world_settle(&world);
        assert_false(core_holds_key(world.live.core, "op", "k1"));
        assert_int_equal(keys_find(core_view(world.live.core), "op", "k1", entry.request,
                                   world.now_ms, &found, NULL),
                         0);
        assert_int_equal(found.status, 201);
        mem_free((void *)(uintptr_t)found.body);
}

static void an_act_that_is_undone_leaves_no_trace(void **state)
{
        (void)state;
        (void)world_job(&world, "web", "stays", 1);
        uint64_t hash = world_hash(&world), seq = core_last_seq(world.live.core);
        const struct input input = {.kind = INPUT_TICKED};
        struct ack ack = {0}, reader = {0}, again = {0};
        world.now_ms += 5000;
        struct act *act = world_act(&world);
        assert_int_equal(core_input(act, &input, NULL, NULL), 0);
        core_undo(act);
        world_commit(&world, act, &ack);
        assert_int_equal(ack.rc, -ERR_IO);
        core_when_durable(world.live.core, see, &reader);       /* it would see the undone */
        assert_int_equal(reader.rc, -ERR_IO);
        core_when_anew(world.live.core, see, &again);
        assert_int_equal(again.calls, 0);
        world_settle(&world);
        assert_int_equal(again.calls, 1);
        assert_int_equal(again.rc, 0);
        core_when_anew(world.live.core, see, &again);           /* it is so already */
        assert_int_equal(again.calls, 2);
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(core_last_seq(world.live.core), seq);
        assert_int_equal(core_may_act(world.live.core, NULL), 0);
}

static void an_act_that_no_record_can_tell_of_does_not_begin(void **state)
{
        (void)state;
        char reason[1025];
        memset(reason, 'x', sizeof reason);
        reason[1024] = '\0';
        struct err err = {0};
        assert_null(core_begin(world.live.core, "ana", reason, world.now_ms, &err));
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(core_begin(world.live.core, "an\xff", "", world.now_ms, &err));
        assert_int_equal(err.code, ERR_INPUT);
        assert_int_equal(core_may_act(world.live.core, NULL), 0);
        core_abandon(core_begin(world.live.core, "ana", reason + 1, world.now_ms, &err));
}

struct told {
        unsigned calls;
        struct err err;
};

static void keep_told(void *arg, int rc, const struct err *err)
{
        struct told *told = arg;
        (void)rc;
        told->calls++;
        if (err)
                told->err = *err;
}

static void who_finds_no_room_to_wait_is_told_so(void **state)
{
        (void)state;
        const struct input input = {.kind = INPUT_TICKED};
        struct told waiting = {0}, last = {0};
        for (unsigned a = 0; a < 2; a++) {
                world.now_ms += 5000;
                struct act *act = world_act(&world);
                assert_int_equal(core_input(act, &input, NULL, NULL), 0);
                core_commit(act, keep_told, a == 0 ? &waiting : &last);
                for (unsigned w = 0; a == 0 && w < 1u << 20 && waiting.calls == 0; w++)
                        core_when_durable(world.live.core, keep_told, &waiting);
        }
        assert_int_equal(waiting.calls, 1);
        assert_int_equal(waiting.err.code, ERR_FULL);
        assert_int_equal(last.calls, 1);
        assert_int_equal(last.err.code, ERR_FULL);
        check_has(last.err.text, "too many requests wait");
        world_settle(&world);
        assert_int_equal(waiting.calls, 1 + (1u << 20));
}

static void an_input_that_cannot_be_meant_is_not_logged(void **state)
{
        (void)state;
        uint64_t hash = world_hash(&world), seq = core_last_seq(world.live.core);
        const struct input input = {.kind = INPUT_EXITED, .workload = 4711};
        struct err err;
        struct act *act = world_act(&world);
        assert_true(core_input(act, &input, NULL, &err) < 0);
        check_has(err.text, "4711");
        core_abandon(act);
        assert_int_equal(core_last_seq(world.live.core), seq);
        assert_int_equal(world_hash(&world), hash);
}

static void a_second_controller_on_the_file_is_noticed(void **state)
{
        (void)state;
        struct world other = world;             /* the same disk, a core of its own */
        struct ack ack = {0};
        struct submitted lost;
        other.models = NULL;
        world_start(&other);
        uint64_t theirs = world_job(&other, "web", "theirs", 1);
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: mine, tenant: web,"
                                      " each: {devices: 4}, run: {command: [x]}}",
                                      &ack, &lost),
                         0);
        assert_int_equal(lost.first_id, theirs);        /* it does not know */
        world_settle(&world);
        assert_int_equal(ack.rc, -ERR_IO);
        disk_is_well_again();
        assert_string_equal(world_work(&world, theirs)->name, "theirs");
        (void)world_job(&world, "web", "mine", 1);
        world_stop(&other);
        model_table_free(other.models);
        assert_int_equal(works_count(core_works(world.live.core)), 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                T(nobody_is_told_before_it_is_on_the_disk),
                T(it_comes_back_from_the_log_alone),
                T(it_comes_back_from_a_snapshot_and_what_followed),
                T(what_runs_keeps_its_epoch_and_its_stops),
                T(a_failed_commit_is_told_and_its_state_made_anew),
                T(a_pool_that_was_not_kept_is_forgotten),
                T(words_of_what_was_refused_do_not_stand_in_the_way),
                T(a_policy_may_name_a_model_that_no_record_has_yet),
                T(a_pool_of_which_a_part_cannot_be_is_not_taken_at_all),
                T(maintenance_and_policy_come_back),
                T(a_key_is_held_until_its_answer_can_be_found),
                T(an_act_that_is_undone_leaves_no_trace),
                T(an_act_that_no_record_can_tell_of_does_not_begin),
                T(who_finds_no_room_to_wait_is_told_so),
                T(an_input_that_cannot_be_meant_is_not_logged),
                T(a_second_controller_on_the_file_is_noticed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
