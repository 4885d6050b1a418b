/* run_list.h - the runs that a workload has had, and the one it has: when, where, how they ended.
 *
 * Pure apart from the heap. A run is all of a workload from its placing to its end, or until it
 * waits again; they are counted from 1. Known are the newest OBJECT_RUNS_MAX that have ended before
 * (fewer where they lay on many nodes), as the workload's row has them (ending.h), and the present
 * one, once it is durable.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct live;
struct object;

#define RUN_NEWEST INT64_C(0)

/* Of its row, the oldest first: [{"run", "epoch", "started", "ended", "cause", "exit_code",
 * "signal", "members", "nodes"}]. "members": how many; "nodes" by member, of runs that have ended
 * as far as they are kept (ending.h). "ended" and what follows from it are null of the present one.
 * The caller's; NULL: out of memory. */
json_t *run_list(const struct live *live, const struct object *object);

/* False: a run of it has just ended, and the list lacks it, since that is not durable yet. */
bool run_list_is_whole(const struct live *live, const struct object *object);

/* That run of the list: a number from 1 on, RUN_NEWEST, or -1 for the one before the newest. NULL,
 * and why in `err` (-ERR_NOT_FOUND). `what`: "workload 17". */
const json_t *run_list_find(const json_t *list, int64_t run, const char *what, struct err *err);

/* The name of the node where the member ran. NULL, and why in `err` (-ERR_NOT_FOUND). */
const char *run_list_node(const json_t *run, uint32_t member, const char *what, struct err *err);
