/* state_impl.h - the tables' inside, for the code that applies facts (state_apply*.c) only. */
#pragma once

#include "base/map.h"
#include "engine/accounts.h"

/* Tables with free lists; the first word of a free slot links to the next. */
uint32_t slot_take(struct slots *slots, void *table, size_t size);
void slot_give(struct slots *slots, void *table, size_t size, uint32_t slot);

void map_enter(struct map *map, uint64_t key, uint32_t value); /* where there is room for sure */

/* The bucket of the request, and its shape; made where they are new. */
uint32_t intern_bucket(struct state *state, const struct request *request);
void enter_buckets(struct state *state);        /* all by their keys, anew */
uint32_t slot_of(const struct state *state, uint64_t id);       /* of a workload that is there */
void node_touch(struct state *state, uint32_t node);            /* it changed: for memos */
void node_refresh(struct state *state, uint32_t number);        /* what is free of it, anew */
void node_count(struct state *state, uint32_t number, int sign);        /* its capacity */

/* state_apply_queue.c: the lists that a workload stands in while it waits. */
void enqueue(struct state *state, uint32_t slot);       /* into its bucket, by arrival */
void unqueue(struct state *state, uint32_t slot);
void link_after(struct state *state, uint32_t slot, const struct request *request);
void unlink_after(struct state *state, uint32_t slot);  /* it ends: those that waited for it */
void unlink_waiter(struct state *state, uint32_t slot); /* it waits for nobody any more */
void join_group(struct state *state, uint32_t slot);
void leave_group(struct state *state, uint32_t slot);

/* state_apply_place.c: where it runs. */
void apply_allocated(struct state *state, const struct fact_allocated *fact, int64_t now_ms);
void leave_places(struct state *state, uint32_t slot);  /* for good, or back to the queue */

/* state_apply_pool.c, state_apply_policy.c: facts of one kind each. */
void apply_of_pool(struct state *state, const struct fact *fact);
void apply_of_policy(struct state *state, const struct fact *fact);
void apply_time(struct state *state, int64_t now_ms);
/* state_apply_close.c: when nodes are to be empty. */
void apply_maintenance(struct state *state, const struct maintenance *maintenance);
void maintenance_follow(struct state *state);   /* at a tick: windows begin and end */
void closing_add(struct state *state, uint32_t node);   /* the node's own window, anew */
void closing_drop(struct state *state, uint32_t node);  /* before that, or before it goes */
