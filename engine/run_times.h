/* run_times.h - how long work of a tenant ran so far: what is expected of the next.
 *
 * Pure. The newest finished runs are kept by tenant and width, by tenant, by width, and all
 * together; the narrowest of these that knows enough answers. What is expected changes at ticks
 * only (run_times_freeze), so that between them the queue's order stands still.
 *
 * 100 runs, quantiles conditional on the run time attained, width classes and the order of the
 * fall-backs are in docs/deciding.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RUN_TIMES_KEPT    100           /* newest runs of each kind */
#define RUN_TIMES_ENOUGH  5             /* fewer: a wider kind is asked */
#define RUN_TIMES_LEAST   3             /* fewer of all: RUN_TIME_UNKNOWN */
#define RUN_TIME_UNKNOWN_MS INT64_C(3600000)
#define RUN_TIME_LEAST_MS   INT64_C(30000)
#define WIDTHS            6             /* 1, 2, 3-4, 5-8, 9-16, more devices */

struct run_times;

struct run_times *run_times_new(uint32_t tenants);      /* NULL: out of memory */
void run_times_free(struct run_times *times);           /* NULL is fine */

unsigned run_times_width(uint64_t devices);

void run_times_add(struct run_times *times, uint32_t tenant, unsigned width, int64_t ran_ms);
void run_times_freeze(struct run_times *times);
/* Copies what is known of one tenant into another table; and what is known of all. */
void run_times_copy(struct run_times *to, uint32_t to_tenant, const struct run_times *from,
                    uint32_t from_tenant);
void run_times_copy_all(struct run_times *to, const struct run_times *from);

/* The quantile, in per cent, of the whole run time of work that has run `attained_ms` already:
 * above it. Longer than all known: twice as long. */
int64_t run_times_expect(const struct run_times *times, uint32_t tenant, unsigned width,
                         unsigned percent, int64_t attained_ms);

/* Whether enough is known for that; else it is RUN_TIME_UNKNOWN_MS. */
bool run_times_known(const struct run_times *times, uint32_t tenant, unsigned width);

/* The newest runs of one kind, in seconds, as they came; and sorted, as of the last freeze. For
 * snapshots: kinds are numbered from 0, below run_times_kinds(). */
struct runs {
        uint32_t newest[RUN_TIMES_KEPT], sorted[RUN_TIMES_KEPT];
        uint64_t added;
        uint32_t sorted_count;
        bool changed;
};
uint32_t run_times_kinds(const struct run_times *times);
struct runs *run_times_kind(struct run_times *times, uint32_t kind);

uint64_t run_times_hash(const struct run_times *times, uint32_t tenants);
