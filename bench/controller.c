/* What the controller can take: durable submit -> allocated over HTTP on a pool of 5,000 simulated
 * nodes of 8 devices. 64 connections that are kept alive, one job a request, no pipelining; 50
 * tenants, 30 shapes, jobs of two seconds whose ends are durable too; at most PACE a second, so that
 * the pool is not full (it would be at 13,300). The load comes from this
 * process, on the same cores; the daemon is the real one, as a child. Against it in the same run: as
 * many groups of rows as fast as bare SQLite commits them. Then the memory of a pool of 10,000 nodes
 * with 100,000 live workloads.
 *
 * bench-controller [SECONDS [PACE]]   seconds of load (default 10); with a pace only the load at so
 *                                     many jobs a second, which may be more than the pool can run
 * bench-controller --watchers all|tenant [PACE [ROUNDS]]   only what watchers of events cost
 *                                     (watchers.h)
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/watchers.h"

#define NODES         5000
#define RSS_NODES     10000
#define RSS_WORKLOADS 100000
#define WARM_NS       3000000000ll
#define PACE          12000             /* jobs a second, at most */

/* ---- bare SQLite: four records and two rows of a table for each job, 64 jobs a commit ---- */

static void run_sql(sqlite3 *db, const char *sql)
{
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
                fprintf(stderr, "bench-controller: %s\n", sqlite3_errmsg(db));
                exit(1);
        }
}

static double bare_sqlite(int64_t load_ns, double *ret_sync_ms)
{
        static const char body[700];
        sqlite3 *db;
        sqlite3_stmt *insert;
        uint64_t jobs = 0, commits = 0;
        int64_t start_ns, now_ns;

        if (sqlite3_open(daemon_path("bare"), &db) != SQLITE_OK)
                load_fail("sqlite");
        run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                    "CREATE TABLE records (seq INTEGER PRIMARY KEY, body BLOB)");
        (void)sqlite3_prepare_v2(db, "INSERT INTO records (body) VALUES (?1)", -1, &insert, NULL);
        start_ns = now_ns = time_monotonic_ns();
        for (; now_ns - start_ns < load_ns; now_ns = time_monotonic_ns(), commits++) {
                run_sql(db, "BEGIN IMMEDIATE");
                for (unsigned row = 0; row < LOAD_CONNECTIONS * 6; row++) {
                        sqlite3_bind_blob(insert, 1, body, 300, SQLITE_STATIC);
                        (void)sqlite3_step(insert);
                        sqlite3_reset(insert);
                }
                run_sql(db, "COMMIT");
                jobs += LOAD_CONNECTIONS;
        }
        double took_s = (double)(now_ns - start_ns) / 1e9;
        *ret_sync_ms = took_s * 1000 / (double)commits;
        sqlite3_finalize(insert);
        sqlite3_close(db);
        return (double)jobs / took_s;
}

/* ---- more than the pool can run ---- */

/* Jobs of OVER_LIFE_S: so many a second can run at once on the pool's devices. */
#define OVER_LIFE_S   8
#define OVER_CAPACITY (NODES * 8 / 1.5 / OVER_LIFE_S)

/* The load in four parts, once the pool is full: who waits grow in number, and what one job costs
 * must not. */
static void bench_over(unsigned pace, int64_t load_ns)
{
        struct load load = {.life_s = OVER_LIFE_S, .pace = pace};
        pid_t child = daemon_start(NULL);

        load_room(&load, 4000000);
        printf("%u jobs/s are submitted, the pool can run %.0f\n", pace, OVER_CAPACITY);
        (void)load_run(&load, LOAD_CONNECTIONS, 0, OVER_LIFE_S * 1500000000ll);
        for (unsigned part = 0; part < 4; part++) {
                double started = daemon_count_facts("allocated");
                double queued = daemon_count_facts("queued");
                int64_t start_ns = time_monotonic_ns();
                load.latencies = 0;
                load.answers = 0;
                (void)load_run(&load, LOAD_CONNECTIONS, 0, load_ns / 4);
                double s = (double)(time_monotonic_ns() - start_ns) / 1e9;
                double all_started = daemon_count_facts("allocated");
                double all = daemon_count_facts("queued");
                printf("part %u: %.0f submitted/s, %.0f started/s, %.0f wait; to the answer p50 "
                       "%.2f ms, p99 %.2f ms\n",
                       part + 1, (all - queued) / s, (all_started - started) / s,
                       all - all_started, load_percentile(&load, 0.5),
                       load_percentile(&load, 0.99));
        }
        bench_figure("controller.over_rss_mib", daemon_resident_mib(child), "MiB", 0, NULL);
        daemon_stop(child, SIGKILL);
        load_done(&load);
}

/* ---- the run ---- */

static void bench_load(int64_t load_ns)
{
        struct load load = {.life_s = 2, .pace = PACE}, alone = load;
        double sync_ms, bare = bare_sqlite(2000000000ll, &sync_ms), recovery_ms;

        load_room(&load, 4000000);
        load_room(&alone, 1000000);
        printf("bare SQLite: a group of %d jobs is committed in %.2f ms\n", LOAD_CONNECTIONS,
               sync_ms);
        pid_t child = daemon_start(NULL);
        double took_s = load_run(&load, LOAD_CONNECTIONS, WARM_NS, load_ns);
        bench_figure("controller.durable_allocations", (double)load.allocated / took_s, "/s",
                     (double)load.allocated / took_s / bare, "groups of bare SQLite rows");
        printf("answers %.0f/s, of them allocated at once %.1f %%\n",
               (double)load.answers / took_s,
               100.0 * (double)load.allocated / (double)load.answers);
        bench_figure("controller.allocate_p99_ms", load_percentile(&load, 0.99), "ms", 0, NULL);
        bench_figure("controller.allocate_p50_ms", load_percentile(&load, 0.5), "ms", 0, NULL);
        (void)sleep(3);
        alone.number = load.number;
        (void)load_run(&alone, 1, 200000000ll, 2000000000ll);
        bench_figure("controller.submit_p50_ms", load_percentile(&alone, 0.5), "ms", 0, NULL);
        bench_watchers(child, &alone.number);
        bench_figure("controller.loaded_rss_mib", daemon_resident_mib(child), "MiB", 0, NULL);
        daemon_stop(child, SIGKILL);
        child = daemon_start(&recovery_ms);
        bench_figure("controller.recovery_log_ms", recovery_ms, "ms", 0, NULL);
        daemon_stop(child, SIGTERM);    /* leaves a snapshot */
        child = daemon_start(&recovery_ms);
        bench_figure("controller.recovery_snapshot_ms", recovery_ms, "ms", 0, NULL);
        daemon_stop(child, SIGKILL);
        daemon_remove_store();
        load_done(&load);
        load_done(&alone);
}

static void bench_memory(void)
{
        struct load load = {.life_s = 86400};

        daemon_documents(RSS_NODES);
        pid_t child = daemon_start(NULL);
        load_jobs(&load, RSS_WORKLOADS);
        bench_figure("controller.rss_mib", daemon_resident_mib(child), "MiB", 0, NULL);
        daemon_stop(child, SIGKILL);
}

int main(int argc, char **argv)
{
        bool watchers = argc > 1 && strcmp(argv[1], "--watchers") == 0;
        int seconds = watchers || argc < 2 ? 10 : atoi(argv[1]), pace = argc > 2 ? atoi(argv[2]) : 0;

        if (!watchers && (argc > 3 || seconds < 1 || (argc > 2 && pace < 1))) {
                fputs("usage: bench-controller [SECONDS [PACE]]\n"
                      "       bench-controller --watchers all|tenant [PACE [ROUNDS]]\n", stderr);
                return 2;
        }
        daemon_prepare();
        daemon_documents(NODES);
        if (watchers) {
                bench_watchers_apart(argc - 2, argv + 2);
        } else if (argc > 2) {
                bench_over((unsigned)pace, seconds * INT64_C(1000000000));
        } else {
                bench_load(seconds * INT64_C(1000000000));
                bench_memory();
        }
        daemon_clean();
        return 0;
}
