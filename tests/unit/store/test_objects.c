#include "tests/unit/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/commit.h"
#include "store/objects.h"
#include "store/store_impl.h"
#include "tests/fault_vfs.h"
#include "tests/unit/store/story.h"

static struct fault_vfs *disk;

static int make_disk(void **state)
{
        (void)state;
        disk = fault_vfs_new("ram");
        return 0;
}

static int free_disk(void **state)
{
        (void)state;
        fault_vfs_free(disk);
        return 0;
}

static struct object workload(uint64_t id, const char *tenant, const char *name)
{
        return (struct object){.kind = OBJECT_WORKLOAD, .id = id, .tenant = tenant, .name = name,
                               .class = "training", .owner = "ana", .state = "live",
                               .detail = "", .created_ms = 1000 + (int64_t)id,
                               .updated_ms = 1000 + (int64_t)id, .seq = id + 7, .body = "a: 1\n",
                               .size = 5};
}

/* A record goes with every batch, as always. */
static struct batch *batch_with_record(void)
{
        const struct record record = {.kind = RECORD_NOTE, .at_ms = 1, .actor = "a", .reason = "",
                                      .body = "n", .size = 1};
        struct batch *batch = batch_new(NULL);
        assert_non_null(batch);
        assert_int_equal(batch_add_record(batch, &record, NULL), 0);
        return batch;
}

static int commit(struct store *store, struct batch *batch, struct err *err)
{
        struct log_head head;
        int rc = commit_batches(store, batch, 1, &head, err);
        batch_free(batch);
        return rc;
}

static void put(struct store *store, const struct object *object)
{
        struct batch *batch = batch_with_record();
        struct err err = {0};
        assert_int_equal(batch_put_object(batch, object, &err), 0);
        assert_int_equal(commit(store, batch, &err), 0);
}

static void end(struct store *store, uint64_t id, int64_t at_ms)
{
        const struct object_change change = {.kind = OBJECT_WORKLOAD, .id = id, .state = "failed",
                                             .updated_ms = at_ms, .ended_ms = at_ms};
        struct batch *batch = batch_with_record();
        struct err err = {0};
        assert_int_equal(batch_set_object(batch, &change, &err), 0);
        assert_int_equal(commit(store, batch, &err), 0);
}

/* "5 3 1": the numbers that a list shows. */
static int tell_number(void *arg, const struct object *object, struct err *err)
{
        struct text *text = arg;
        (void)err;
        if (text->size > 0)
                text_add_bytes(text, " ", 1);
        text_add_i64(text, (int64_t)object->id);
        return 0;
}

static void check_list(struct store *store, const struct object_filter *filter,
                       const char *numbers)
{
        struct text told = {0};
        struct err err = {0};
        if (objects_list(store, filter, tell_number, &told, &err) < 0)
                fail_msg("%s", err.text);
        assert_string_equal(told.bytes ? told.bytes : "", numbers);
        text_done(&told);
}

static void what_is_put_and_changed_is_read_back(void **state)
{
        (void)state;
        struct store *store = story_open("a", "ram");
        struct object object = workload(4, "research/nlp", "sft");
        struct object_copy *copy;
        struct err err = {0};
        object.detail = "{\"x\":\"\xc3\xa9\"}";
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 4, &copy, &err), -ERR_NOT_FOUND);
        assert_string_equal(err.text, "there is no workload of number 4");
        put(store, &object);
        end(store, 4, 9000);
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 4, &copy, &err), 0);
        const struct object *it = &copy->object;
        assert_string_equal(it->tenant, "research/nlp");
        assert_string_equal(it->name, "sft");
        assert_string_equal(it->class, "training");
        assert_string_equal(it->owner, "ana");
        assert_string_equal(it->state, "failed");
        assert_string_equal(it->detail, object.detail);         /* NULL: stays */
        assert_int_equal(it->created_ms, 1004);
        assert_int_equal(it->updated_ms, 9000);
        assert_int_equal(it->ended_ms, 9000);
        assert_int_equal(it->seq, 11);
        assert_int_equal(it->size, 5);
        assert_string_equal(it->body, "a: 1\n");                /* a NUL behind it */
        mem_free(copy);
        /* An end of 0 leaves it ended; the other kind of the same number is another. */
        const struct object_change late = {.kind = OBJECT_WORKLOAD, .id = 4, .detail = "{}",
                                           .updated_ms = 9001};
        struct batch *batch = batch_with_record();
        assert_int_equal(batch_set_object(batch, &late, &err), 0);
        assert_int_equal(commit(store, batch, &err), 0);
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 4, &copy, &err), 0);
        assert_int_equal(copy->object.ended_ms, 9000);
        assert_string_equal(copy->object.state, "failed");
        assert_string_equal(copy->object.detail, "{}");
        mem_free(copy);
        assert_int_equal(objects_get(store, OBJECT_POLICY, 4, &copy, &err), -ERR_NOT_FOUND);
        store_close(store);
}

static void a_change_of_one_that_is_not_there_fails_the_commit_whole(void **state)
{
        (void)state;
        struct store *store = story_open("b", "ram");
        const struct object first = workload(1, "t", "a"), second = workload(2, "t", "b");
        const struct object_change stray = {.kind = OBJECT_WORKLOAD, .id = 3, .state = "x"};
        const struct object_change same = {.kind = OBJECT_WORKLOAD, .id = 2, .state = "changed"};
        struct object_copy *copy;
        struct log_head before, after;
        struct err err = {0};
        put(store, &first);
        assert_int_equal(log_head(store, &before, NULL), 0);
        struct batch *batch = batch_with_record();
        assert_int_equal(batch_put_object(batch, &second, NULL), 0);
        assert_int_equal(batch_set_object(batch, &stray, NULL), 0);
        assert_int_equal(commit(store, batch, &err), -ERR_IO);
        check_has(err.text, "workload 3 was to change and is not there");
        assert_int_equal(log_head(store, &after, NULL), 0);
        assert_int_equal(after.seq, before.seq);
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 2, &copy, NULL), -ERR_NOT_FOUND);
        /* Put and changed in one batch is in order, in that order only. */
        batch = batch_with_record();
        assert_int_equal(batch_set_object(batch, &same, NULL), 0);
        assert_int_equal(batch_put_object(batch, &second, NULL), 0);
        assert_int_equal(commit(store, batch, &err), -ERR_IO);
        batch = batch_with_record();
        assert_int_equal(batch_put_object(batch, &second, NULL), 0);
        assert_int_equal(batch_set_object(batch, &same, NULL), 0);
        assert_int_equal(commit(store, batch, &err), 0);
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 2, &copy, NULL), 0);
        assert_string_equal(copy->object.state, "changed");
        mem_free(copy);
        store_close(store);
}

/* Numbers 1 to 9 of tenants that are easily mistaken for each other; 3, 6 and 9 have ended. */
static struct store *make_listed(const char *name)
{
        static const char *const tenants[] = {"a", "a/b", "a/b/c", "a-b", "a0", "ab", "b", "A", ""};
        struct store *store = story_open(name, "ram");
        for (uint64_t id = 1; id <= ARRAY_LEN(tenants); id++) {
                struct object object = workload(id, tenants[id - 1], id % 2 ? "odd" : "even");
                object.owner = id < 5 ? "ana" : "ben";
                object.class = id % 4 == 0 ? "batch" : "training";
                put(store, &object);
                if (id % 3 == 0)
                        end(store, id, 5000 + (int64_t)id);
        }
        struct object policy = workload(7, "a", "odd");
        policy.kind = OBJECT_POLICY;
        put(store, &policy);
        return store;
}

static void a_list_shows_what_its_filter_says(void **state)
{
        (void)state;
        struct store *store = make_listed("c");
        static const struct {
                struct object_filter filter;
                const char *numbers;
        } rows[] = {
                {{.live = true, .ended = true}, "9 8 7 6 5 4 3 2 1"},
                {{.live = true}, "8 7 5 4 2 1"},
                {{.ended = true}, "9 6 3"},
                {{.live = true, .ended = true, .oldest_first = true}, "1 2 3 4 5 6 7 8 9"},
                {{.live = true, .oldest_first = true}, "1 2 4 5 7 8"},
                /* A tenant is itself and what is below it, not what begins alike. */
                {{.live = true, .ended = true, .tenant = "a"}, "3 2 1"},
                {{.live = true, .tenant = "a"}, "2 1"},
                {{.ended = true, .tenant = "a"}, "3"},
                {{.live = true, .ended = true, .tenant = "a/b"}, "3 2"},
                {{.live = true, .ended = true, .tenant = "a/b", .oldest_first = true}, "2 3"},
                {{.live = true, .ended = true, .tenant = "a/"}, ""},
                {{.live = true, .ended = true, .tenant = "a/b/c/d"}, ""},
                {{.live = true, .ended = true, .tenant = "%"}, ""},
                {{.live = true, .ended = true, .name = "odd"}, "9 7 5 3 1"},
                {{.live = true, .name = "odd"}, "7 5 1"},
                {{.ended = true, .name = "odd"}, "9 3"},
                {{.live = true, .ended = true, .name = "od"}, ""},
                {{.live = true, .ended = true, .name = "odd", .tenant = "a"}, "3 1"},
                {{.live = true, .name = "odd", .tenant = "a"}, "1"},
                {{.live = true, .ended = true, .owner = "ben"}, "9 8 7 6 5"},
                {{.live = true, .ended = true, .class = "batch"}, "8 4"},
                {{.live = true, .ended = true, .state = "failed"}, "9 6 3"},
                {{.live = true, .ended = true, .name = "even", .owner = "ben", .class = "batch"},
                 "8"},
                {{.live = true, .state = "failed"}, ""},
                /* Pages: behind the last one that was shown. */
                {{.live = true, .ended = true, .limit = 4}, "9 8 7 6"},
                {{.live = true, .ended = true, .limit = 4, .after_id = 6}, "5 4 3 2"},
                {{.live = true, .ended = true, .limit = 4, .after_id = 2}, "1"},
                {{.live = true, .ended = true, .limit = 4, .after_id = 1}, ""},
                {{.live = true, .limit = 2, .after_id = 7}, "5 4"},
                {{.live = true, .ended = true, .tenant = "a", .limit = 2}, "3 2"},
                {{.live = true, .ended = true, .tenant = "a", .limit = 2, .after_id = 2}, "1"},
                {{.live = true, .ended = true, .tenant = "a", .limit = 2, .after_id = 1,
                  .oldest_first = true}, "2 3"},
                {{.live = true, .ended = true, .name = "odd", .limit = 3}, "9 7 5"},
                {{.live = true, .ended = true, .name = "odd", .limit = 9, .after_id = 5}, "3 1"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct object_filter filter = rows[r].filter;
                filter.kind = OBJECT_WORKLOAD;
                check_list(store, &filter, rows[r].numbers);
                filter.with_body = true;
                check_list(store, &filter, rows[r].numbers);
        }
        check_list(store, &(struct object_filter){.kind = OBJECT_POLICY, .live = true}, "7");
        check_list(store, &(struct object_filter){.kind = OBJECT_NODE, .live = true}, "");
        store_close(store);
}

static int stop_at_six(void *arg, const struct object *object, struct err *err)
{
        ++*(unsigned *)arg;
        return object->id == 6 ? err_set(err, ERR_DENIED, "enough") : 0;
}

static void a_visit_ends_a_list(void **state)
{
        (void)state;
        struct store *store = make_listed("d");
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD, .live = true, .ended = true};
        unsigned count = 0;
        struct err err = {0};
        assert_int_equal(objects_list(store, &filter, stop_at_six, &count, &err), -ERR_DENIED);
        assert_int_equal(count, 4);
        assert_string_equal(err.text, "enough");
        store_close(store);
}

/* Numbers are given from the largest: it stays, and with it the promise that none comes back. */
static void the_newest_of_a_kind_is_never_forgotten(void **state)
{
        (void)state;
        struct store *store = story_open("e", "ram");
        const struct object_filter all = {.kind = OBJECT_WORKLOAD, .live = true, .ended = true};
        uint64_t last = 99;
        assert_int_equal(objects_last(store, OBJECT_WORKLOAD, &last, NULL), 0);
        assert_int_equal(last, 0);
        for (uint64_t id = 1; id <= 8; id++) {
                struct object object = workload(id, "t", "n");
                put(store, &object);
                if (id != 3)
                        end(store, id, 1000 * (int64_t)id);
        }
        assert_int_equal(objects_forget(store, OBJECT_POLICY, INT64_MAX, 100, NULL), 0);
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, 1000, 100, NULL), 0);
        check_list(store, &all, "8 7 6 5 4 3 2 1");             /* before, not at */
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, 1001, 100, NULL), 0);
        check_list(store, &all, "8 7 6 5 4 3 2");
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, INT64_MAX, 2, NULL), 1);
        check_list(store, &all, "8 7 6 5 3");
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, INT64_MAX, 3, NULL), 1);
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, INT64_MAX, 3, NULL), 0);
        check_list(store, &all, "8 3");
        assert_int_equal(objects_last(store, OBJECT_WORKLOAD, &last, NULL), 0);
        assert_int_equal(last, 8);
        store_close(store);
}

static void check_put(const char *what, const struct object *object, int wanted)
{
        struct batch *batch = batch_with_record();
        struct err err = {0};
        size_t bytes = batch_bytes(batch);
        int rc = batch_put_object(batch, object, &err);
        if (rc != wanted)
                fail_msg("%s: %d %s", what, rc, err.text);
        if (rc < 0) {
                check_has(err.text, "object: ");
                assert_int_equal(batch_bytes(batch), bytes);
        }
        batch_free(batch);
}

static void what_is_beyond_a_bound_is_refused(void **state)
{
        (void)state;
        static char long_text[OBJECT_DETAIL_MAX + 2];
        const char *name_max = long_text + OBJECT_DETAIL_MAX + 1 - OBJECT_NAME_MAX;
        const char *name_over = name_max - 1;
        memset(long_text, 'x', sizeof long_text - 1);
        const struct object empty = {.kind = OBJECT_WORKLOAD, .id = 1, .tenant = "", .name = "",
                                     .class = "", .owner = "", .state = "", .detail = ""};
#define TRY(what, rc, change)                                                                   \
        do {                                                                                    \
                struct object object = empty;                                                   \
                change;                                                                         \
                check_put(what, &object, rc);                                                   \
        } while (0)
        TRY("nothing", 0, object.size = 0);
        TRY("number 0", -ERR_INPUT, object.id = 0);
        TRY("number above", -ERR_INPUT, object.id = (uint64_t)INT64_MAX + 1);
        TRY("largest number", 0, object.id = INT64_MAX);
        TRY("kind 0", -ERR_INPUT, object.kind = (enum object_kind)0);
        TRY("kind above", -ERR_INPUT, object.kind = (enum object_kind)(OBJECT_ALERT + 1));
        TRY("name at its bound", 0, object.name = name_max);
        TRY("name over", -ERR_INPUT, object.name = name_over);
        TRY("tenant over", -ERR_INPUT, object.tenant = name_over);
        TRY("class over", -ERR_INPUT, object.class = name_over);
        TRY("owner over", -ERR_INPUT, object.owner = name_over);
        TRY("state over", -ERR_INPUT, object.state = name_over);
        TRY("detail at its bound", 0, object.detail = long_text + 1);
        TRY("detail over", -ERR_INPUT, object.detail = long_text);
        TRY("no UTF-8", -ERR_INPUT, object.name = "\xff");
        TRY("an end before 1970", -ERR_INPUT, object.ended_ms = -1);
        TRY("a number of its own above", -ERR_INPUT, object.seq = UINT64_MAX);
        TRY("a document over", -ERR_INPUT, (object.body = "", object.size = OBJECT_BODY_MAX + 1));
#undef TRY
        struct batch *batch = batch_with_record();
        const struct object_change changes[] = {
                {.kind = OBJECT_WORKLOAD, .id = 1, .state = name_over},
                {.kind = OBJECT_WORKLOAD, .id = 1, .detail = long_text},
                {.kind = OBJECT_WORKLOAD, .id = 1, .ended_ms = -1},
                {.kind = OBJECT_WORKLOAD, .id = 0},
        };
        for (size_t c = 0; c < ARRAY_LEN(changes); c++)
                assert_int_equal(batch_set_object(batch, &changes[c], NULL), -ERR_INPUT);
        batch_free(batch);
}

static void a_batch_holds_so_many_objects_and_no_more(void **state)
{
        (void)state;
        struct batch *batch = batch_with_record();
        const struct object object = workload(1, "", "");
        const struct object_change change = {.kind = OBJECT_WORKLOAD, .id = 1};
        for (unsigned i = 0; i < BATCH_OBJECTS_MAX; i++)
                assert_int_equal(i % 2 ? batch_set_object(batch, &change, NULL)
                                       : batch_put_object(batch, &object, NULL), 0);
        assert_int_equal(batch_put_object(batch, &object, NULL), -ERR_FULL);
        assert_int_equal(batch_set_object(batch, &change, NULL), -ERR_FULL);
        batch_free(batch);
}

/* ---- runs ---- */

static void make_change(struct store *store, const struct object_change *change)
{
        struct batch *batch = batch_with_record();
        struct err err = {0};
        assert_int_equal(batch_set_object(batch, change, &err), 0);
        if (commit(store, batch, &err) < 0)
                fail_msg("%s", err.text);
}

static void add_run(struct store *store, uint64_t id, const char *run)
{
        const struct object_change it = {.kind = OBJECT_WORKLOAD, .id = id, .run = run,
                                         .updated_ms = 5000};
        make_change(store, &it);
}

static void check_detail(struct store *store, uint64_t id, const char *wanted)
{
        struct object_copy *copy;
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, id, &copy, NULL), 0);
        assert_string_equal(copy->object.detail, wanted);
        mem_free(copy);
}

static void runs_are_added_to_a_detail_and_taken_along(void **state)
{
        (void)state;
        struct store *store = story_open("r", "ram");
        struct object object = workload(1, "a", "w");
        object.detail = "{\"run_as\":\"ana\"}";
        put(store, &object);
        add_run(store, 1, "{\"epoch\":7}");
        check_detail(store, 1, "{\"run_as\":\"ana\",\"runs_ended\":1,\"runs\":[{\"epoch\":7}]}");
        add_run(store, 1, "{\"epoch\":9,\"nodes\":[\"n\\\"1\"]}");
        struct object_change end = {.kind = OBJECT_WORKLOAD, .id = 1, .state = "failed",
                                    .detail = "{\"cause\":\"failed\"}", .keeps_runs = true,
                                    .updated_ms = 6000, .ended_ms = 6000};
        make_change(store, &end);
        check_detail(store, 1, "{\"cause\":\"failed\",\"runs_ended\":2,\"runs\":[{\"epoch\":7},"
                               "{\"epoch\":9,\"nodes\":[\"n\\\"1\"]}]}");
        end.keeps_runs = false;
        make_change(store, &end);
        check_detail(store, 1, "{\"cause\":\"failed\"}");
        end.keeps_runs = true;          /* there are none */
        make_change(store, &end);
        check_detail(store, 1, "{\"cause\":\"failed\"}");
        store_close(store);
}

/* What is known of a run's end before it ends. */
static void the_next_run_gets_what_was_left_for_it(void **state)
{
        (void)state;
        struct store *store = story_open("r", "ram");
        struct object object = workload(1, "a", "w");
        struct object_change next = {.kind = OBJECT_WORKLOAD, .id = 1, .updated_ms = 5000,
                                     .next_run = "{\"by\":\"bo\"}"};
        object.detail = "{\"run_as\":\"ana\"}";
        put(store, &object);
        make_change(store, &next);
        check_detail(store, 1, "{\"run_as\":\"ana\",\"next_run\":{\"by\":\"bo\"}}");
        next.next_run = "{\"by\":\"ana\",\"reason\":\"a \\\"b\\\"\"}";
        make_change(store, &next);      /* who asked last */
        add_run(store, 1, "{\"epoch\":7,\"nodes\":[\"n1\"]}");
        add_run(store, 1, "{\"epoch\":9}");
        check_detail(store, 1, "{\"run_as\":\"ana\",\"runs_ended\":2,\"runs\":["
                               "{\"epoch\":7,\"nodes\":[\"n1\"],\"by\":\"ana\","
                               "\"reason\":\"a \\\"b\\\"\"},{\"epoch\":9}]}");
        make_change(store, &next);
        const struct object_change end = {.kind = OBJECT_WORKLOAD, .id = 1, .detail = "{}",
                                          .keeps_runs = true, .ended_ms = 6000};
        make_change(store, &end);
        struct object_copy *copy;
        assert_int_equal(objects_get(store, OBJECT_WORKLOAD, 1, &copy, NULL), 0);
        assert_null(strstr(copy->object.detail, "next_run"));
        mem_free(copy);
        object.id = 2;
        object.detail = "{";
        put(store, &object);
        next.id = 2;
        next.next_run = "{}";
        make_change(store, &next);
        check_detail(store, 2, "{\"next_run\":{}}");
        store_close(store);
}

/* Damage of a row is the check's to find: the commit that meets it must go on. */
static void a_detail_that_is_no_json_gets_runs_all_the_same(void **state)
{
        (void)state;
        static const char *const details[] = {"", "{", "[]", "7", "{\"runs\":3}"};
        struct store *store = story_open("r", "ram");
        for (uint64_t id = 1; id <= ARRAY_LEN(details); id++) {
                struct object object = workload(id, "a", "w");
                object.detail = details[id - 1];
                put(store, &object);
                const struct object_change end = {.kind = OBJECT_WORKLOAD, .id = id,
                                                  .detail = "{\"cause\":\"x\"}",
                                                  .keeps_runs = true};
                make_change(store, &end);
                check_detail(store, id, "{\"cause\":\"x\"}");
                put(store, &object);
                add_run(store, id, "{\"epoch\":7}");
        }
        check_detail(store, 1, "{\"runs_ended\":1,\"runs\":[{\"epoch\":7}]}");
        check_detail(store, 2, "{\"runs_ended\":1,\"runs\":[{\"epoch\":7}]}");
        store_close(store);
}

static void check_runs(struct store *store, int64_t listed, int64_t first, int64_t ended)
{
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(store->db,
                                            "SELECT json_array_length(detail, '$.runs'),"
                                            " detail ->> '$.runs[0].epoch',"
                                            " detail ->> 'runs_ended',"
                                            " length(CAST(detail AS BLOB)) FROM objects",
                                            -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int64(statement, 0), listed);
        assert_int_equal(sqlite3_column_int64(statement, 1), first);
        assert_int_equal(sqlite3_column_int64(statement, 2), ended);
        assert_in_range(sqlite3_column_int64(statement, 3), 0, OBJECT_DETAIL_MAX);
        sqlite3_finalize(statement);
}

static void only_the_newest_runs_stay_and_all_are_counted(void **state)
{
        (void)state;
        struct store *store = story_open("r", "ram");
        const struct object object = workload(1, "a", "w");
        char run[OBJECT_DETAIL_MAX + 2];
        put(store, &object);
        for (int epoch = 1; epoch <= OBJECT_RUNS_MAX + 1; epoch++) {
                snprintf(run, sizeof run, "{\"epoch\":%d}", epoch);
                add_run(store, 1, run);
                if (epoch == OBJECT_RUNS_MAX)
                        check_runs(store, OBJECT_RUNS_MAX, 1, OBJECT_RUNS_MAX);
        }
        check_runs(store, OBJECT_RUNS_MAX, 2, OBJECT_RUNS_MAX + 1);
        /* Fewer of long ones; none that has no room alone. */
        snprintf(run, sizeof run, "{\"epoch\":100,\"x\":\"%01500d\"}", 0);
        add_run(store, 1, run);
        add_run(store, 1, run);
        add_run(store, 1, run);
        check_runs(store, 2, 100, OBJECT_RUNS_MAX + 4);
        snprintf(run, sizeof run, "{\"epoch\":101,\"x\":\"%04060d\"}", 0);
        add_run(store, 1, run);
        check_runs(store, 0, 0, OBJECT_RUNS_MAX + 5);
        memset(run, ' ', sizeof run - 1);
        run[sizeof run - 1] = '\0';
        struct batch *batch = batch_with_record();
        const struct object_change over = {.kind = OBJECT_WORKLOAD, .id = 1, .run = run};
        assert_int_equal(batch_set_object(batch, &over, NULL), -ERR_INPUT);
        batch_free(batch);
        store_close(store);
}

static void tell_finding(void *self, const char *sentence)
{
        text_add(self, "%s\n", sentence);
}

/* What plain SQL can spoil, a check says in a sentence. */
static void check_finds_objects_that_cannot_be(void **state)
{
        (void)state;
        static const struct {
                const char *sql, *finding;
        } rows[] = {
                {"UPDATE objects SET kind = 90 WHERE id = 2", "object 90/2: object: kind 90"},
                {"UPDATE objects SET id = -2 WHERE id = 2 AND kind = 1", "cannot be"},
                {"UPDATE objects SET state = hex(zeroblob(200)) WHERE id = 2", "object: state"},
                {"UPDATE objects SET name = CAST(x'ff' AS TEXT) WHERE id = 2", "UTF-8"},
                {"UPDATE objects SET ended_ms = 1 WHERE id = 2 AND kind = 1",
                 "workload 2 ended before it was made"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                fault_vfs_free(disk);           /* it holds only so many files */
                disk = fault_vfs_new("ram");
                struct store *store = make_listed("f");
                struct check_report report;
                struct text told = {0};
                assert_int_equal(store_check(store, NULL, tell_finding, &told, &report, NULL), 0);
                assert_int_equal(report.findings, 0);
                assert_int_equal(report.objects, 10);
                assert_int_equal(sqlite3_exec(store->db, rows[r].sql, NULL, NULL, NULL), 0);
                assert_int_equal(store_check(store, NULL, tell_finding, &told, &report, NULL), 0);
                assert_int_equal(report.findings, 1);
                check_has(told.bytes, rows[r].finding);
                text_done(&told);
                store_close(store);
        }
}

static int count_one(void *arg, const struct object *object, struct err *err)
{
        (void)object;
        (void)err;
        ++*(unsigned *)arg;
        return 0;
}

/* Steps of SQLite's machine while a list is made: what it costs, on any computer. */
static uint64_t steps;

static int count_steps(void *arg)
{
        (void)arg;
        steps += 100;
        return 0;
}

/* So many ended ones of few tenants and one name, and 50 live ones. BERTH_OBJECTS: how many. */
static unsigned fill(struct store *store)
{
        const char *wanted = getenv("BERTH_OBJECTS");
        unsigned rows = wanted ? (unsigned)atoi(wanted) : 20000;
        struct text sql = {0};
        text_add(&sql, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                       " WHERE i < %u) INSERT INTO objects SELECT 1, i,"
                       " CASE WHEN i = 3 THEN 'rare/x' ELSE 'big/t' || (i %% 50) END, 'nightly',"
                       " 'c', 'ana', 'succeeded', '{}', i, i,"
                       " CASE WHEN i %% %u = 0 THEN 0 ELSE i END, 1, zeroblob(600) FROM n",
                 rows, rows / 50);
        assert_int_equal(sqlite3_exec(store->db, sql.bytes, NULL, NULL, NULL), SQLITE_OK);
        text_done(&sql);
        return rows;
}

/* The cost of a page does not grow with what has ended. */
static void a_page_costs_what_it_shows(void **state)
{
        (void)state;
        struct store *store = story_open("g", "ram");
        unsigned rows = fill(store);
        static const struct {
                const char *what;
                struct object_filter filter;
                unsigned count;
        } lists[] = {
                {"live, newest first", {.live = true, .limit = 20}, 20},
                {"all, newest first", {.live = true, .ended = true, .limit = 20}, 20},
                {"ended, newest first", {.ended = true, .limit = 20}, 20},
                {"of a rare tenant", {.live = true, .ended = true, .tenant = "rare"}, 1},
                {"of a big tenant", {.live = true, .ended = true, .tenant = "big", .limit = 20},
                 20},
                {"live of a big tenant", {.live = true, .tenant = "big", .limit = 20}, 20},
                {"of a tenant that is not", {.live = true, .ended = true, .tenant = "no"}, 0},
                {"by a common name", {.live = true, .ended = true, .name = "nightly", .limit = 20},
                 20},
                {"live by a common name", {.live = true, .name = "nightly", .limit = 20}, 20},
                {"by name of a rare tenant",
                 {.live = true, .ended = true, .name = "nightly", .tenant = "rare/x", .limit = 1},
                 1},
                {"live by name of a rare tenant",
                 {.live = true, .name = "nightly", .tenant = "rare", .limit = 1}, 0},
                {"by a name that is not", {.live = true, .ended = true, .name = "no"}, 0},
        };
        sqlite3_progress_handler(store->db, 100, count_steps, NULL);
        for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
                struct object_filter filter = lists[l].filter;
                unsigned count = 0;
                int64_t begin = time_monotonic_ns();
                filter.kind = OBJECT_WORKLOAD;
                steps = 0;
                assert_int_equal(objects_list(store, &filter, count_one, &count, NULL), 0);
                int64_t took_us = (time_monotonic_ns() - begin) / 1000;
                if (getenv("BERTH_OBJECTS"))
                        printf("%u objects, %s: %llu steps, %lld us\n", rows, lists[l].what,
                               (unsigned long long)steps, (long long)took_us);
                assert_int_equal(count, lists[l].count);
                if (steps > 60000)      /* 51 tenants, 20 of each, twice: 40,000 */
                        fail_msg("%s: %llu steps", lists[l].what, (unsigned long long)steps);
        }
        steps = 0;
        assert_int_equal(objects_forget(store, OBJECT_WORKLOAD, 0, 100, NULL), 0);
        assert_true(steps < 1000);
        sqlite3_progress_handler(store->db, 0, NULL, NULL);
        store_close(store);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_disk, free_disk)
        const struct CMUnitTest tests[] = {
                T(what_is_put_and_changed_is_read_back),
                T(a_change_of_one_that_is_not_there_fails_the_commit_whole),
                T(a_list_shows_what_its_filter_says),
                T(a_visit_ends_a_list),
                T(the_newest_of_a_kind_is_never_forgotten),
                T(what_is_beyond_a_bound_is_refused),
                T(runs_are_added_to_a_detail_and_taken_along),
                T(the_next_run_gets_what_was_left_for_it),
                T(a_detail_that_is_no_json_gets_runs_all_the_same),
                T(only_the_newest_runs_stay_and_all_are_counted),
                T(a_batch_holds_so_many_objects_and_no_more),
                T(check_finds_objects_that_cannot_be),
                T(a_page_costs_what_it_shows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
