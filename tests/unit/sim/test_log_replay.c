/* A pool's own log, decided again: the same, wherever it begins and whatever restarts there were;
 * and what is not the same is found where it stands. */
#include "tests/unit/check.h"

#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sim/log_replay.h"
#include "sim/log_source.h"
#include "sim/log_what_if.h"
#include "sim/replay.h"
#include "store/batch.h"
#include "store/export.h"
#include "store/log.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"
#include "tests/unit/sim/log_life.h"
#include "tests/unit/sim/log_world.h"

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
                fail_msg("%s: record %llu, fact %u: %s; logged %s; decided %s",
                         path,
                         (unsigned long long)ret_result->difference.seq,
                         ret_result->difference.fact,
                         ret_result->difference.input ? ret_result->difference.input : "",
                         ret_result->difference.logged, ret_result->difference.decided);
}

static void a_log_decided_again_is_the_same_over_restarts(void **state)
{
        (void)state;
        for (uint64_t it = 1; it <= 6; it++) {
                const char *path = log_life_path("a");
                struct log_replay_result result;
                log_life_live(path, (struct log_life){.seed = it, .steps = 300,
                                                     .with_snapshots = it % 2 == 0,
                                                     .with_failures = it > 3});
                check_same(path, &result);
                assert_int_equal(result.from_seq, 0);
                assert_true(result.facts > 150);
                assert_true(result.inputs > 150);
                assert_true(result.last_seq >= 2 * result.inputs);      /* words stand alone too */
                assert_true(it % 2 == 1 || result.snapshots > 0);
                log_replay_result_done(&result);
                log_life_remove(path);
        }
}

static void after_pruning_it_begins_at_the_oldest_snapshot_and_ends_at_the_same_state(
        void **state)
{
        (void)state;
        const char *path = log_life_path("b"), *export = log_life_path("x");
        struct log_replay_result whole, pruned, exported;
        struct log_head head;
        struct err err = {0};
        uint64_t base_seq;
        log_life_live(path, (struct log_life){.seed = 8, .steps = 400,
                                                     .with_snapshots = true});
        check_same(path, &whole);
        base_seq = log_life_prune(path);
        check_same(path, &pruned);
        assert_int_equal(pruned.from_seq, base_seq);
        assert_int_equal(pruned.last_seq, whole.last_seq);
        assert_int_equal(pruned.state_hash, whole.state_hash);
        assert_true(pruned.facts > 0 && pruned.facts < whole.facts);
        struct store *store = log_life_open(path);
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
        log_life_remove(path);
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
        struct store *source = log_life_open(from), *target = log_life_open(to);
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
        (void)snprintf(path, sizeof path, "%s", log_life_path("c"));
        (void)snprintf(other, sizeof other, "%s", log_life_path("d"));
        log_life_live(path, (struct log_life){.seed = 5, .steps = 120});
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
                log_life_remove(other);
        }
        log_life_remove(path);
}

static void a_fact_too_few_at_the_end_is_found(void **state)
{
        (void)state;
        const char *path = log_life_path("e"), *other = log_life_path("f");
        struct log_world world;
        struct swap swap = {",{\"fact\":\"allocated\"", "],\"more\":[{\"fact\":\"allocated\"", 0};
        struct log_replay_result result;
        log_world_open(&world, path, 4);
        log_world_policy(&world, log_life_policy);
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
        log_life_remove(path);
        log_life_remove(other);
}

/* The state of one record, given out as that of a later one. */
static void a_snapshot_of_another_state_is_found(void **state)
{
        (void)state;
        const char *path = log_life_path("g");
        struct log_world world;
        struct log_replay_result result;
        struct snapshot list[4];
        void *body;
        size_t count;
        log_world_open(&world, path, 4);
        log_world_policy(&world, log_life_policy);
        log_world_node(&world, "n", "H100-80", 8);
        log_world_snapshot(&world);
        (void)log_world_submit(&world, "web", "batch", 8, 0);
        log_world_close(&world);
        struct store *store = log_life_open(path);
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
        log_life_remove(path);
}

static void an_empty_log_is_the_same(void **state)
{
        (void)state;
        const char *path = log_life_path("h");
        struct log_replay_result result;
        store_close(log_life_open(path));
        check_same(path, &result);
        assert_int_equal(result.facts, 0);
        assert_int_equal(result.last_seq, 0);
        log_replay_result_done(&result);
        log_life_remove(path);
}

static void what_is_no_log_is_refused(void **state)
{
        (void)state;
        struct log_source *source;
        struct err err = {0};
        assert_int_equal(log_source_open(log_life_path("none"), &source, &err), -ERR_NOT_FOUND);
        assert_int_equal(file_write(log_life_path("t"), "kind: Policy\n", 13, NULL), 0);
        assert_int_equal(log_source_open(log_life_path("t"), &source, &err), -ERR_INPUT);
        assert_int_equal(file_write(log_life_path("t"), EXPORT_MAGIC "x", sizeof EXPORT_MAGIC,
                                    NULL),
                         0);
        assert_int_equal(log_source_open(log_life_path("t"), &source, &err), -ERR_INPUT);
        check_has(err.text, "export: byte");
        unlink(log_life_path("t"));
}

static void a_replay_that_is_stopped_says_what_it_has_seen(void **state)
{
        (void)state;
        const char *path = log_life_path("i");
        static const volatile int cancel = 1;
        const struct replay_hooks hooks = {.cancel = &cancel};
        struct log_replay_result result;
        struct log_what_if what_if;
        log_life_live(path, (struct log_life){.seed = 3, .steps = 20});
        struct store *store = log_life_open(path);
        const struct log_replay_setup setup = {.store = store, .hooks = &hooks};
        assert_int_equal(log_replay_check(&setup, &result, NULL), -ERR_CANCELLED);
        assert_int_equal(result.last_seq, 1);
        log_replay_result_done(&result);
        assert_int_equal(log_what_if_run(&setup, "none", &what_if, NULL), -ERR_CANCELLED);
        store_close(store);
        log_life_remove(path);
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
        };
        return cmocka_run_group_tests(tests, log_life_begin, log_life_end);
}
