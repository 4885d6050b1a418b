/* A pool's own log, decided again: the same, wherever it begins and whatever restarts there were;
 * and what is not the same is found where it stands. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "controller/core.h"
#include "engine/price.h"
#include "sim/log_replay.h"
#include "sim/log_runs.h"
#include "sim/log_source.h"
#include "sim/log_what_if.h"
#include "sim/replay.h"
#include "store/batch.h"
#include "store/export.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/unit/sim/log_world.h"

static const char policy_text[] =
        "kind: Policy\n"
        "preset: protected\n"
        "tenants:\n"
        "  research: {protect: {any: 4}, tenants: {nlp: {}, vision: {}}}\n"
        "  web: {}\n";

static char folder[] = "/tmp/berth-test-XXXXXX";
static struct seal_key key;

static const char *path_of(const char *name)
{
        static char path[4][256];
        static unsigned next;
        char *it = path[next++ % 4];
        (void)snprintf(it, sizeof path[0], "%s/%s", folder, name);
        return it;
}

static int make_folder(void **state)
{
        (void)state;
        return mkdtemp(folder) && seal_key_load(path_of("key"), &key, NULL) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
        (void)state;
        unlink(path_of("key"));
        return rmdir(folder);
}

static void remove_store(const char *path)
{
        static const char *const tails[] = {"", "-wal", "-shm", ".lock"};
        char it[300];
        for (size_t t = 0; t < ARRAY_LEN(tails); t++) {
                (void)snprintf(it, sizeof it, "%s%s", path, tails[t]);
                unlink(it);
        }
}

/* ---- a random life ---- */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
        seed += 0x9e3779b97f4a7c15u;
        return map_mix(seed) % below;
}

static void submit_one(struct log_world *world)
{
        static const char *const tenants[] = {"research/nlp", "research/vision", "web"};
        static const char *const classes[] = {"training", "batch", "interactive"};
        (void)log_world_submit(world, tenants[draw(3)], classes[draw(3)], (uint8_t)(1 + draw(8)),
                               draw(2) ? 600000 : 0);
}

static void end_one(struct log_world *world)
{
        static const enum input_kind kinds[] = {INPUT_EXITED, INPUT_FAILED, INPUT_EXITED,
                                                INPUT_CHECKPOINTED};
        struct input input = {.workload = 1 + draw(world->workloads + 1)};
        if (!log_world_lives(world, input.workload))
                return;
        input.kind = log_world_runs(world, input.workload) ? kinds[draw(4)] : INPUT_CANCELLED;
        if (input.kind != INPUT_CANCELLED || draw(4) == 0)
                log_world_input(world, &input);
}

/* What a request that is only tried leaves behind: words that the log does not have yet. */
static void try_word(struct log_world *world)
{
        char word[32];
        (void)snprintf(word, sizeof word, "tried-%llu", (unsigned long long)draw(1000000));
        assert_true(vocab_word(core_state(world->core)->vocab, word, NULL) > 0);
        assert_true(vocab_name(core_state(world->core)->vocab, word, NULL) > 0);
}

/* What a worker tells: prices for a demand, or when work that waits may start. */
static void plan_demand(struct log_world *world)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);
        const struct input input = {.kind = INPUT_PLAN_SET, .plan = draw(8) ? plan : NULL};
        assert_non_null(plan);
        plan->hash = draw(UINT64_MAX);
        plan->revision = world->workloads;
        plan->priced = draw(2);
        plan->shapes_count = 1 + (uint32_t)draw(3);
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                plan->shapes[s] = (struct price_shape){.cpu_milli = (uint32_t)draw(9000),
                                                       .share_milli = 1000,
                                                       .devices = (uint8_t)(1 + s),
                                                       .models = UINT64_MAX,
                                                       .weight = 1 + draw(50)};
        plan->table.models_len = plan->priced ? 40 : 0;
        for (uint32_t m = 0; m < plan->table.models_len; m++)
                for (unsigned i = 0; i <= PRICE_DEVICES_MAX; i++)
                        plan->table.models[m].idle[i][0] = (int32_t)draw(126000);
        log_world_input(world, &input);
        mem_free(plan);
}

static void foretell(struct log_world *world)
{
        struct input input = {.kind = INPUT_ETA_SET};
        input.eta = (struct eta_set){.workload = 1 + draw(world->workloads + 1),
                                     .p50_ms = (int64_t)draw(100000),
                                     .p90_ms = 100000 + (int64_t)draw(100000),
                                     .coverage_pct = (uint8_t)draw(101),
                                     .raw_ms = (int64_t)draw(50000)};
        if (log_world_lives(world, input.eta.workload))
                log_world_input(world, &input);
}

/* Now and then; the life goes on as it would without. */
static void be_told(struct log_world *world)
{
        uint64_t kept = seed;
        uint64_t what = draw(8);
        if (what == 0)
                plan_demand(world);
        else if (what < 3)
                foretell(world);
        seed = kept;
}

static void live_a_step(struct log_world *world)
{
        world->now_ms += (int64_t)draw(20000);
        switch (draw(10)) {
        case 0: case 1: case 2: case 3:
                submit_one(world);
                break;
        case 4: case 5: case 6:
                end_one(world);
                break;
        case 7:
                try_word(world);
                break;
        default:
                log_world_tick(world, world->now_ms);
        }
        log_world_stop_due(world);
        be_told(world);
}

/* `steps` of it; some of them end the controller, or make a snapshot. */
static void live(const char *path, uint64_t its_seed, unsigned steps, bool with_snapshots)
{
        struct log_world world;
        seed = its_seed;
        log_world_open(&world, path, 64);
        if (its_seed % 3 == 0)
                log_world_note(&world, "before any input");
        log_world_policy(&world, policy_text);
        log_world_node(&world, "gpu-1", "H100-80", 8);
        log_world_node(&world, "gpu-2", "X100", 8);     /* that no table knows */
        for (unsigned s = 0; s < steps; s++) {
                live_a_step(&world);
                if (with_snapshots && draw(40) == 0)
                        log_world_snapshot(&world);
                if (draw(60) == 0)
                        log_world_restart(&world);
                if (s == steps / 2)
                        log_world_node(&world, "gpu-3", "Y200", 4);
        }
        log_world_close(&world);
}

static void check(const char *path, struct log_replay_result *ret_result)
{
        struct log_source *source;
        struct err err = {0};
        if (log_source_open(path, &source, &err) < 0)
                fail_msg("%s", err.text);
        const struct log_replay_setup setup = {.store = log_source_store(source)};
        int rc = log_replay_check(&setup, ret_result, &err);
        if (rc < 0)
                fail_msg("%d %s", rc, err.text);
        log_source_close(source);
}

static void check_same(const char *path, struct log_replay_result *ret_result)
{
        check(path, ret_result);
        if (ret_result->difference.seq)
                fail_msg("seed %llu, record %llu, fact %u: %s; logged %s; decided %s",
                         (unsigned long long)seed,
                         (unsigned long long)ret_result->difference.seq,
                         ret_result->difference.fact,
                         ret_result->difference.input ? ret_result->difference.input : "",
                         ret_result->difference.logged, ret_result->difference.decided);
}

static void a_log_decided_again_is_the_same_over_restarts(void **state)
{
        (void)state;
        for (uint64_t it = 1; it <= 6; it++) {
                const char *path = path_of("a");
                struct log_replay_result result;
                live(path, it, 300, it % 2 == 0);
                check_same(path, &result);
                assert_int_equal(result.from_seq, 0);
                assert_true(result.facts > 150);
                assert_true(result.inputs > 150);
                assert_true(result.last_seq >= 2 * result.inputs);      /* words stand alone too */
                assert_true(it % 2 == 1 || result.snapshots > 0);
                log_replay_result_done(&result);
                remove_store(path);
        }
}

static struct store *open_store(const char *path)
{
        struct store *store = NULL;
        struct err err = {0};
        if (store_open(&(struct store_options){.path = path}, &store, &err) < 0)
                fail_msg("%s", err.text);
        return store;
}

static void prune_to(const char *path, uint64_t *ret_seq)
{
        struct store *store = open_store(path);
        struct snapshot list[8];
        struct err err = {0};
        size_t count;
        int rc;
        assert_int_equal(snapshot_list(store, list, 8, &count, NULL), 0);
        assert_true(count >= 2);
        struct prune prune = {.upto_seq = list[1].seq, .at_ms = 5, .key = &key};
        while ((rc = prune_step(&prune, store, &err)) > 0)
                ;
        if (rc < 0)
                fail_msg("%s", err.text);
        *ret_seq = list[1].seq;
        store_close(store);
}

static void after_pruning_it_begins_at_the_oldest_snapshot_and_ends_at_the_same_state(
        void **state)
{
        (void)state;
        const char *path = path_of("b"), *export = path_of("x");
        struct log_replay_result whole, pruned, exported;
        struct log_head head;
        struct err err = {0};
        uint64_t base_seq;
        live(path, 8, 400, true);
        check_same(path, &whole);
        prune_to(path, &base_seq);
        check_same(path, &pruned);
        assert_int_equal(pruned.from_seq, base_seq);
        assert_int_equal(pruned.last_seq, whole.last_seq);
        assert_int_equal(pruned.state_hash, whole.state_hash);
        assert_true(pruned.facts > 0 && pruned.facts < whole.facts);
        struct store *store = open_store(path);
        assert_int_equal(store_export(store, export, &head, &err), 0);
        store_close(store);
        check_same(export, &exported);
        assert_int_equal(exported.from_seq, base_seq);
        assert_int_equal(exported.facts, pruned.facts);
        assert_int_equal(exported.state_hash, whole.state_hash);
        log_replay_result_done(&whole);
        log_replay_result_done(&pruned);
        log_replay_result_done(&exported);
        unlink(export);
        remove_store(path);
}

/* ---- what is not the same ---- */

struct swap {
        const char *from, *to;          /* in the body of the first record that has it */
        uint64_t seq;                   /* out */
};

static void add_swapped(struct store *store, const struct record *record, struct swap *swap)
{
        struct record copy = *record;
        struct text body = {0};
        struct batch *batch = batch_new(NULL);
        struct writer *writer;
        uint64_t seq;
        char *text = mem_new(record->size + 1, 1);
        memcpy(text, record->body, record->size);
        const char *at = swap->seq == 0 ? strstr(text, swap->from) : NULL;
        if (at) {
                swap->seq = record->seq;
                text_add(&body, "%.*s%s%s", (int)(at - text), text, swap->to,
                         at + strlen(swap->from));
                copy.body = body.bytes;
                copy.size = body.size;
        }
        struct writer_options options = {.is_stepped = true};
        assert_int_equal(batch_add_record(batch, &copy, NULL), 0);
        assert_int_equal(writer_new(store, &options, &writer, NULL), 0);
        assert_int_equal(writer_push(writer, batch, &seq, NULL), 0);
        writer_free(writer);
        text_done(&body);
        mem_free(text);
}

/* The log with one change, chained as if it had always been so. */
static void copy_swapped(const char *from, const char *to, struct swap *swap)
{
        struct store *source = open_store(from), *target = open_store(to);
        struct log_cursor *cursor;
        struct record record;
        assert_int_equal(log_read(source, 1, &cursor, NULL), 0);
        while (log_next(cursor, &record, NULL) > 0)
                add_swapped(target, &record, swap);
        log_cursor_free(cursor);
        store_close(source);
        store_close(target);
        if (swap->seq == 0)
                fail_msg("no record has %s", swap->from);
}

static void one_other_fact_or_input_is_found_where_it_stands(void **state)
{
        (void)state;
        static const struct {
                const char *from, *to;          /* in a record */
                unsigned behind;                /* records behind it, that it shows in */
                const char *logged, *decided;
        } rows[] = {
                {"\"node\":1", "\"node\":0", 0, "\"node\":0", "\"node\":1"},
                {"\"fact\":\"released\"", "\"fact\":\"rescued\"", 0, "rescued", "released"},
                {"\"cause\":\"cancelled\"", "\"cause\":\"lost\"", 0, "lost", "cancelled"},
                {"{\"input\":\"exited\"", "{\"input\":\"failed\"", 1, "released", "failed"},
                {"\"facts\":[{", "\"facts\":[{\"fact\":\"rescued\",\"workload\":1},{", 0, "rescued",
                 "policy_in_force"},
        };
        char path[256], other[256];
        (void)snprintf(path, sizeof path, "%s", path_of("c"));
        (void)snprintf(other, sizeof other, "%s", path_of("d"));
        live(path, 5, 120, false);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct swap swap = {rows[r].from, rows[r].to, 0};
                struct log_replay_result result;
                copy_swapped(path, other, &swap);
                check(other, &result);
                const struct log_difference *it = &result.difference;
                if (it->seq != swap.seq + rows[r].behind)
                        fail_msg("%s: at %llu", rows[r].from, (unsigned long long)it->seq);
                assert_true(it->fact > 0);
                check_has(it->logged, rows[r].logged);
                check_has(it->decided, rows[r].decided);
                check_has(it->input, "{\"input\":\"");
                log_replay_result_done(&result);
                remove_store(other);
        }
        remove_store(path);
}

static void a_fact_too_few_at_the_end_is_found(void **state)
{
        (void)state;
        const char *path = path_of("e"), *other = path_of("f");
        struct log_world world;
        struct swap swap = {",{\"fact\":\"allocated\"", "],\"more\":[{\"fact\":\"allocated\"", 0};
        struct log_replay_result result;
        log_world_open(&world, path, 4);
        log_world_policy(&world, policy_text);
        log_world_node(&world, "n", "H100-80", 8);
        (void)log_world_submit(&world, "web", "batch", 8, 0);
        log_world_close(&world);
        copy_swapped(path, other, &swap);
        check(other, &result);
        assert_int_equal(result.difference.seq, swap.seq);
        assert_int_equal(result.difference.fact, 2);
        assert_string_equal(result.difference.logged, "");
        check_has(result.difference.decided, "allocated");
        log_replay_result_done(&result);
        remove_store(path);
        remove_store(other);
}

/* The state of one record, given out as that of a later one. */
static void a_snapshot_of_another_state_is_found(void **state)
{
        (void)state;
        const char *path = path_of("g");
        struct log_world world;
        struct log_replay_result result;
        struct snapshot list[4];
        void *body;
        size_t count;
        log_world_open(&world, path, 4);
        log_world_policy(&world, policy_text);
        log_world_node(&world, "n", "H100-80", 8);
        log_world_snapshot(&world);
        (void)log_world_submit(&world, "web", "batch", 8, 0);
        log_world_close(&world);
        struct store *store = open_store(path);
        assert_int_equal(snapshot_list(store, list, 4, &count, NULL), 0);
        assert_int_equal(snapshot_read(store, &list[0], &body, NULL), 0);
        size_t size = list[0].size;
        struct snapshot late = {.seq = list[0].seq + 2, .version = 2, .at_ms = 1};
        assert_int_equal(snapshot_write(store, &late, body, size, SNAPSHOT_KEEP_NEWEST(9),
                                        NULL), 0);
        mem_free(body);
        store_close(store);
        check(path, &result);
        assert_int_equal(result.difference.seq, late.seq);
        assert_int_equal(result.difference.fact, 0);
        check_has(result.difference.logged, "state ");
        assert_string_not_equal(result.difference.logged, result.difference.decided);
        log_replay_result_done(&result);
        remove_store(path);
}

static void an_empty_log_is_the_same(void **state)
{
        (void)state;
        const char *path = path_of("h");
        struct log_replay_result result;
        store_close(open_store(path));
        check_same(path, &result);
        assert_int_equal(result.facts, 0);
        assert_int_equal(result.last_seq, 0);
        log_replay_result_done(&result);
        remove_store(path);
}

static void what_is_no_log_is_refused(void **state)
{
        (void)state;
        struct log_source *source;
        struct err err = {0};
        assert_int_equal(log_source_open(path_of("none"), &source, &err), -ERR_NOT_FOUND);
        assert_int_equal(file_write(path_of("t"), "kind: Policy\n", 13, NULL), 0);
        assert_int_equal(log_source_open(path_of("t"), &source, &err), -ERR_INPUT);
        assert_int_equal(file_write(path_of("t"), EXPORT_MAGIC "x", sizeof EXPORT_MAGIC, NULL), 0);
        assert_int_equal(log_source_open(path_of("t"), &source, &err), -ERR_INPUT);
        check_has(err.text, "export: byte");
        unlink(path_of("t"));
}

static void a_replay_that_is_stopped_says_what_it_has_seen(void **state)
{
        (void)state;
        const char *path = path_of("i");
        static const volatile int cancel = 1;
        const struct replay_hooks hooks = {.cancel = &cancel};
        struct log_replay_result result;
        struct log_what_if what_if;
        live(path, 3, 20, false);
        struct store *store = open_store(path);
        const struct log_replay_setup setup = {.store = store, .hooks = &hooks};
        assert_int_equal(log_replay_check(&setup, &result, NULL), -ERR_CANCELLED);
        assert_int_equal(result.last_seq, 1);
        log_replay_result_done(&result);
        assert_int_equal(log_what_if_run(&setup, "none", &what_if, NULL), -ERR_CANCELLED);
        store_close(store);
        remove_store(path);
}

/* ---- another policy ---- */

static void try_policy(const char *path, const char *text, struct log_what_if *ret_what_if)
{
        struct err err = {0};
        const char *policy = path_of("policy.yaml");
        assert_int_equal(file_write(policy, text, strlen(text), &err), 0);
        struct store *store = open_store(path);
        const struct log_replay_setup setup = {.store = store};
        int rc = log_what_if_run(&setup, policy, ret_what_if, &err);
        if (rc < 0)
                fail_msg("%d %s", rc, err.text);
        store_close(store);
        unlink(policy);
}

static void the_same_policy_changes_nothing(void **state)
{
        (void)state;
        for (uint64_t it = 11; it <= 14; it++) {
                const char *path = path_of("j");
                struct log_what_if what_if;
                live(path, it, 300, false);
                try_policy(path, policy_text, &what_if);
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
                assert_memory_equal(&what_if.all.before, &what_if.all.after,
                                    sizeof what_if.all.before);
                log_what_if_done(&what_if);
                remove_store(path);
        }
}

#define AT(s) (LOG_WORLD_START_MS + (s) * INT64_C(1000))

static void ends_at(struct log_world *world, int64_t at_ms, uint64_t workload)
{
        const struct input input = {.kind = INPUT_EXITED, .workload = workload};
        world->now_ms = at_ms;
        log_world_input(world, &input);
}

/* One node of 8. nlp takes it for 100 s at 0 s, web comes at 10 s and runs 50 s from 100 s to 150,
 * vision comes at 20 s and runs from 150 s to 180. Where nlp may not use it at all, web starts at
 * 10 s, ends at 60, and vision runs from 60 to 90. */
static void another_policy_moves_those_behind(void **state)
{
        (void)state;
        static const char no_nlp[] =
                "kind: Policy\n"
                "preset: protected\n"
                "tenants:\n"
                "  research: {tenants: {nlp: {limit: {any: none}}, vision: {}}}\n";
        const char *path = path_of("k");
        struct log_world world;
        struct log_what_if what_if;
        log_world_open(&world, path, 4);
        log_world_policy(&world, policy_text);
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
        remove_store(path);
}

/* From a snapshot on: what ran and waited there goes on under the new policy. */
static void a_pruned_log_is_played_from_its_snapshot(void **state)
{
        (void)state;
        const char *path = path_of("l");
        struct log_what_if what_if;
        uint64_t base_seq;
        live(path, 21, 400, true);
        prune_to(path, &base_seq);
        try_policy(path, policy_text, &what_if);
        assert_int_equal(what_if.from_seq, base_seq);
        assert_true(what_if.all.jobs > 10);
        assert_true(what_if.all.before.started > 5);
        /* Who stands in which line is not told by a policy that comes anew: a few may move. */
        assert_true(what_if.jobs_count * 5 < what_if.all.jobs);
        log_what_if_done(&what_if);
        remove_store(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_log_decided_again_is_the_same_over_restarts),
                cmocka_unit_test(
                        after_pruning_it_begins_at_the_oldest_snapshot_and_ends_at_the_same_state),
                cmocka_unit_test(one_other_fact_or_input_is_found_where_it_stands),
                cmocka_unit_test(a_fact_too_few_at_the_end_is_found),
                cmocka_unit_test(a_snapshot_of_another_state_is_found),
                cmocka_unit_test(an_empty_log_is_the_same),
                cmocka_unit_test(what_is_no_log_is_refused),
                cmocka_unit_test(a_replay_that_is_stopped_says_what_it_has_seen),
                cmocka_unit_test(the_same_policy_changes_nothing),
                cmocka_unit_test(another_policy_moves_those_behind),
                cmocka_unit_test(a_pruned_log_is_played_from_its_snapshot),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
