/* ending.h - what is kept of a workload when it has ended, and of each run before its last one.
 *
 * Pure apart from the heap. Its object (store/objects.h) gets a state, and in its detail what
 * became of it: {"cause", "exit_code", "signal", "stops", "started_ms", "lost_ms", "epoch",
 * "reason", "members", "nodes", "spans"}, where "reason" is what a node said of it. A run after
 * which it waits again is put into the detail's "runs": {"epoch", "started_ms", "ended_ms",
 * "cause", "exit_code", "signal", "said" (what a node said of it), "lost_ms", "told", "plan",
 * "for", "for_name", "for_tenant", "for_class", "node", "by", "reason", "members", "nodes",
 * "spans"}. Why it was told to stop is "told" (a notice's cause), with what a plan was for: its
 * cause and the workload; "node" is the one it was lost with; "by" and "reason" are those of who
 * asked for its end (ending_asked()). last_stop.h makes a sentence of them.
 * Nodes are by member, and so many members on end as "spans" says are on each; without it one is.
 * There are ENDING_NODES of them at most: where the members behind were is not kept. run_list.h
 * reads all of it.
 */
#pragma once

#include <stdint.h>

struct act;
struct batch;
struct err;
struct fact;
struct state;
struct works;

#define ENDING_NODES 24

/* "succeeded", "failed", "cancelled", ...: how work that was released for that cause has ended. */
const char *ending_state(unsigned release_cause);

/* Somebody wants the run of that workload to end: who is kept with the run when it has. 0,
 * -ERR_FULL, -ERR_NOMEM. */
int ending_asked(struct act *act, uint64_t workload, const char *by, const char *reason,
                 int64_t now_ms, struct err *err);

/* Puts the change into the batch where the fact, not applied yet, ends a workload that is known, or
 * a run of it; else nothing. 0, -ERR_FULL, -ERR_NOMEM. */
int ending_keep(struct batch *batch, const struct state *state, const struct works *works,
                const struct fact *fact, int64_t now_ms, struct err *err);

/* The same for a fact by which a node leaves: its number in the state may be another's one day, and
 * facts name it by that. The object is of kind LEFT, its id is the record, its class the number. */
int ending_keep_node(struct batch *batch, const struct state *state, const struct fact *fact,
                     uint64_t seq, int64_t now_ms, struct err *err);
