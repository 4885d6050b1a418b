/* What the log's hashes, keys and queue cost over bare SQLite: the same rows, in the same groups,
 * as fast as one thread inserts and syncs them; then our writer, fed by another thread. And a group
 * of one, which is what one request alone waits for. A folder for the files may be given as
 * argument; the default is the present one. */
#include <semaphore.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/bench.h"
#include "store/batch.h"
#include "store/keys.h"
#include "store/log.h"
#include "store/store.h"
#include "store/writer.h"

#define ROUNDS     5
#define GROUP      64u                  /* requests that wait for one commit */
#define GROUPS     300u
#define BODY_BYTES 400u                 /* an input; its facts are half of that */
#define RECOVERY   1000000u             /* records */

static char folder[256] = ".";
static uint8_t body[BODY_BYTES];

static void check(int rc, const struct err *err)
{
        if (rc >= 0)
                return;
        fprintf(stderr, "bench-store: %s\n", err->text);
        exit(1);
}

static const char *path_of(const char *name)
{
        static char path[300];

        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static void remove_file(const char *name)
{
        static const char *const tails[] = {"", "-wal", "-shm", ".lock"};

        for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
                char path[320];
                (void)snprintf(path, sizeof path, "%s%s", path_of(name), tails[i]);
                unlink(path);
        }
}

/* --- bare SQLite -------------------------------------------------------------------------- */

static void run(sqlite3 *db, const char *sql)
{
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
                return;
        fprintf(stderr, "bench-store: %s\n", sqlite3_errmsg(db));
        exit(1);
}

static void insert(sqlite3_stmt *statement, const char *actor, size_t size)
{
        sqlite3_bind_int64(statement, 1, 1);
        sqlite3_bind_int64(statement, 2, 1798761600000);
        sqlite3_bind_text(statement, 3, actor, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 4, "submitted", -1, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 5, body, 32, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 6, body, (int)size, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE) {
                fprintf(stderr, "bench-store: insert failed\n");
                exit(1);
        }
        sqlite3_reset(statement);
}

/* Requests per second: two rows each, `group` requests a transaction. */
static double bare(unsigned groups, unsigned group)
{
        sqlite3 *db;
        sqlite3_stmt *statement;

        remove_file("bench-bare");
        if (sqlite3_open(path_of("bench-bare"), &db) != SQLITE_OK)
                exit(1);
        run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                "CREATE TABLE records (seq INTEGER PRIMARY KEY, kind INTEGER, at_ms INTEGER,"
                " actor TEXT, reason TEXT, hash BLOB, body BLOB)");
        (void)sqlite3_prepare_v2(db, "INSERT INTO records (kind, at_ms, actor, reason, hash, body)"
                                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6)", -1, &statement, NULL);
        int64_t start_ns = time_monotonic_ns();
        for (unsigned i = 0; i < groups; i++) {
                run(db, "BEGIN IMMEDIATE");
                for (unsigned j = 0; j < group; j++) {
                        insert(statement, "ana", BODY_BYTES);
                        insert(statement, "berthd", BODY_BYTES / 2);
                }
                run(db, "COMMIT");
        }
        double took_s = (double)(time_monotonic_ns() - start_ns) / 1e9;
        sqlite3_finalize(statement);
        sqlite3_close(db);
        remove_file("bench-bare");
        return groups * group / took_s;
}

/* --- ours --------------------------------------------------------------------------------- */

static struct batch *request(unsigned number, bool has_key)
{
        struct batch *batch = batch_new(NULL);
        struct record input = {.kind = RECORD_INPUT, .at_ms = 1798761600000, .actor = "ana",
                               .reason = "submitted", .body = body, .size = BODY_BYTES};
        struct record facts = {.kind = RECORD_FACTS, .at_ms = 1798761600000, .actor = "berthd",
                               .reason = "submitted", .body = body, .size = BODY_BYTES / 2};
        char text[32];
        struct key_entry key = {.actor = "ana", .key = text, .status = 201, .body = body,
                                .size = 100, .until_ms = 1798761600000 + KEY_LIFE_MS};
        struct err err = {0};

        (void)snprintf(text, sizeof text, "%08x-request", number * 2654435761u);
        check(batch ? batch_add_record(batch, &input, &err) : -ERR_NOMEM, &err);
        check(batch_add_record(batch, &facts, &err), &err);
        if (has_key)
                check(batch_set_key(batch, &key, &err), &err);
        return batch;
}

static void wake(void *self, const struct writer_event *event)
{
        if (event->kind == WRITER_EVENT_FAILED)
                check(-ERR_IO, event->err);
        sem_post(self);
}

/* Waits for commits while the queue is full. */
static void push(struct writer *writer, sem_t *committed, unsigned number, bool has_key)
{
        struct batch *batch = request(number, has_key);
        struct err err = {0};
        uint64_t seq;
        int rc;

        while ((rc = writer_push(writer, batch, &seq, &err)) == -ERR_FULL)
                sem_wait(committed);
        check(rc, &err);
}

static void wait_for(struct writer *writer, sem_t *committed, uint64_t seq,
                     struct writer_stats *ret_stats)
{
        for (;;) {
                writer_stats(writer, ret_stats);
                if (ret_stats->durable_seq >= seq)
                        return;
                sem_wait(committed);
        }
}

/* As bare(), pushed by this thread, committed by the writer's: a group waits while one is written;
 * or, for groups of one, each request waits for its own commit. */
static double ours(unsigned groups, unsigned group, bool has_key, struct writer_stats *ret_stats)
{
        struct store *store;
        struct writer *writer;
        sem_t committed;
        struct store_options options = {.path = path_of("bench-ours")};
        struct writer_options limits = {.callback = wake, .self = &committed,
                                        .batches_max = group == 1 ? 1 : 2 * group,
                                        .group_records_max = 2 * group};
        struct err err = {0};

        sem_init(&committed, 0, 0);
        remove_file("bench-ours");
        check(store_open(&options, &store, &err), &err);
        uint64_t syncs = store_syncs(store);
        check(writer_new(store, &limits, &writer, &err), &err);
        int64_t start_ns = time_monotonic_ns();
        for (unsigned i = 0; i < groups * group; i++)
                push(writer, &committed, i, has_key);
        wait_for(writer, &committed, 2ull * groups * group, ret_stats);
        double took_s = (double)(time_monotonic_ns() - start_ns) / 1e9;
        ret_stats->syncs -= syncs;
        writer_free(writer);
        store_close(store);
        remove_file("bench-ours");
        return groups * group / took_s;
}

static void compare(const char *name, unsigned groups, unsigned group, bool has_key,
                    struct writer_stats *ret_stats)
{
        double bares[ROUNDS], all[ROUNDS];

        for (unsigned i = 0; i < ROUNDS; i++) {
                bares[i] = bare(groups, group);
                all[i] = ours(groups, group, has_key, ret_stats);
        }
        double rate = bench_median(all, ROUNDS);
        bench_figure(name, rate, "requests/s", rate / bench_median(bares, ROUNDS),
                     "a bare SQLite loop with groups of the same size");
}

/* What a controller reads at its start: a snapshot, and a log behind it. */
static void bench_recovery(void)
{
        struct store_options options = {.path = path_of("bench-read"), .is_unsafe = true};
        struct store *store;
        struct writer *writer;
        struct log_cursor *cursor;
        struct record record;
        sem_t committed;
        struct err err = {0};
        struct writer_stats stats;
        uint64_t count = 0;

        remove_file("bench-read");
        check(store_open(&options, &store, &err), &err);
        sem_init(&committed, 0, 0);
        check(writer_new(store, &(struct writer_options){.callback = wake, .self = &committed},
                         &writer, &err), &err);
        for (unsigned i = 0; i < RECOVERY / 2; i++)
                push(writer, &committed, i, false);
        wait_for(writer, &committed, RECOVERY, &stats);
        writer_free(writer);
        store_close(store);
        int64_t start_ns = time_monotonic_ns();
        check(store_open(&options, &store, &err), &err);
        check(log_read(store, 1, &cursor, &err), &err);
        int rc;
        while ((rc = log_next(cursor, &record, &err)) > 0)
                count++;
        check(rc, &err);
        double took_s = (double)(time_monotonic_ns() - start_ns) / 1e9;
        log_cursor_free(cursor);
        store_close(store);
        remove_file("bench-read");
        bench_figure("store.read_1m_s", took_s * 1e6 / (double)count, "s", 0, NULL);
}

int main(int argc, char **argv)
{
        struct writer_stats stats;

        if (argc > 1)
                (void)snprintf(folder, sizeof folder, "%s", argv[1]);
        compare("store.commit_64", GROUPS, GROUP, false, &stats);
        bench_figure("store.syncs_per_commit", (double)stats.syncs / (double)stats.commits,
                     "syncs", 0, NULL);
        bench_figure("store.requests_per_commit",
                     (double)stats.batches / (double)stats.commits, "requests", 0, NULL);
        compare("store.commit_64_keys", GROUPS, GROUP, true, &stats);
        compare("store.commit_1", 1000, 1, false, &stats);
        bench_recovery();
        return 0;
}
