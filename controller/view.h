/* view.h - what the API shows, as JSON.
 *
 * Pure apart from the heap. Each returns a new value of jansson's, or NULL: out of memory. What the
 * caller may see is decided before.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/model.h"
#include "engine/tenancy.h"

struct err;
struct live;
struct node_entry;
struct object;
struct state;
struct why;
struct work;

/* Sets a member that is given away; out of memory shows when the text is made. */
void view_set(json_t *object, const char *key, json_t *value);
/* "2027-01-04T08:00:00.000Z"; 0: null. */
json_t *view_time(int64_t ms);
#define VIEW_TIME_MAX 48
const char *view_time_text(int64_t ms, char buf[VIEW_TIME_MAX]);        /* the same; 0: 1970 */
/* Of what is kept of an end (ending.h): null where a signal made it, whatever code came with it. */
json_t *view_exit_code(const json_t *detail);
/* A part of a device as a decimal: "0.25". */
json_t *view_devices(uint64_t units);
/* Thousandths of an hour as a decimal: "1240.500". */
json_t *view_device_hours(uint64_t device_ms);

/* A workload, live or ended, from its row (whose texts are not kept). With `full` its places, its
 * runs and its document. */
json_t *view_workload(struct live *live, const struct object *object, bool full);
/* Adds to it why it waits, or that it runs ("verdict", "summary"). To one that has ended nothing;
 * when the time of `why` is over, to what waits only if it is like one explained before. */
void view_add_why(const struct live *live, json_t *json, uint64_t id, struct why *why);
/* Adds "nodes": the names of those that a live one is on, each once, in its members' order. */
void view_add_nodes(const struct live *live, json_t *json, uint64_t id);
/* What a workload may be in: first how it lives (view_state()), then how it ended
 * (ending_state()). */
#define VIEW_STATES(X)                                                                \
        X(QUEUED,      "queued")                                                      \
        X(HELD,        "held")                                                        \
        X(STARTING,    "starting") /* placed; its processes are not up yet */         \
        X(RUNNING,     "running")                                                     \
        X(STOPPING,    "stopping")                                                    \
        X(CANCELLING,  "cancelling")                                                  \
        X(QUARANTINED, "quarantined") /* its end has crashed the controller */         \
        X(SUCCEEDED,   "succeeded")                                                   \
        X(FAILED,      "failed")                                                      \
        X(CANCELLED,   "cancelled")                                                   \
        X(TIMED_OUT,   "timed_out")                                                   \
        X(LOST,        "lost")                                                        \
        X(STOPPED,     "stopped")                                                     \
        X(REFUSED,     "refused")
/* One that waits, of any state, as the queue shows it; without an estimate. Of `object` its name,
 * tenant and owner. */
json_t *view_queue_row(const struct state *state, struct why *why, uint32_t slot,
                       uint32_t position, const struct object *object, int64_t now_ms);
/* 0, or -ERR_INPUT with near words: "live" and "all" are words of lists, too. */
int view_state_check(const char *word, struct err *err);
const char *view_state(const struct live *live, const struct work *work);

/* `tenant` NULL: of all. `sees_all`: who asks may see everything. */
json_t *view_queue(struct live *live, const char *tenant, uint32_t limit, bool sees_all);
/* `sees_all`: who asks may see the whole pool, and so how many alerts fire. */
json_t *view_pool(struct live *live, bool sees_all);
/* The process beside it: {"up", "starts", "silent_ms", "trouble"}, or null where there is none. */
json_t *view_worker(const struct live *live);
json_t *view_node(struct live *live, const struct node_entry *node, bool who);
/* Which nodes are asked for; "": any. */
struct view_node_wish {
        char model[MODEL_NAME_MAX], plane[TENANCY_WORD_MAX], state[16];
};
bool view_node_is(const struct live *live, const struct node_entry *node,
                  const struct view_node_wish *wish);
int view_node_state_check(const char *word, struct err *err);   /* 0, or -ERR_INPUT */
json_t *view_tenants(struct live *live, const char *tenant);
/* What is reserved; of one tenant and those below it (NULL: of all). */
json_t *view_reservations(struct live *live, const char *tenant);
json_t *view_maintenance(struct live *live);
/* Running work that the pool's windows reach, and the windows in force do not as soon: when it is
 * told, by when it is gone, and whether it is expected to have ended by itself. */
struct pool_doc;
json_t *view_stops(struct live *live, const struct pool_doc *pool);
/* With `sees_all` whom each makes room for is told; else of others' work the class. */
json_t *view_notices(struct live *live, const char *tenant, bool sees_all);
