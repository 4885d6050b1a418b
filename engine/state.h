/* state.h - the pool as the engine knows it: nodes, devices, work, queue.
 *
 * Pure. Only state_apply() changes what is decided from, and it cannot fail:
 * every table is sized at start, and decide() refuses before one overflows.
 * One owner at a time. Pages of the tables are touched as they fill.
 * Shapes, buckets and words are never given back: what has more different needs than
 * bounds.shapes_max in its life refuses new ones (GATE_TABLE).
 *
 * Numbers (node, shape, bucket, workload slot) are stable while the thing lives
 * and deterministic: the same facts give the same numbers.
 */
#pragma once

#include <stddef.h>

#include "engine/maintenance.h"
#include "engine/model.h"
#include "engine/units.h"
#include "engine/vocab.h"

#define NONE UINT32_MAX

#define FROZEN_PLANES_MAX 64

struct state_bounds {
        uint32_t nodes_max;
        uint32_t workloads_max;         /* live ones, waiting and running */
        uint32_t members_max;           /* placed members of all workloads */
        uint32_t parts_max;             /* their device parts */
        uint32_t shapes_max;
        uint32_t buckets_max;           /* shape, form, priority, tenant, class, data, spare */
        uint32_t plans_max;             /* of preemption, under way */
};

/* SILENT is down, too: what may go on unheard of may still run there (contact.h). */
enum node_status { NODE_FREE_SLOT, NODE_UP, NODE_DOWN, NODE_SILENT };

struct device {
        struct device_state state;
        uint32_t epoch;                 /* of its newest layout step */
        uint32_t seen_epoch;            /* newest one a node has reported */
        uint32_t kept_for;              /* plan + 1 that has a placement lock on it; 0 = none */
        bool cut;                       /* partitioning is switched on (as planned) */
};

/* How big the work on a node is, as the published policy `clustering` tells it apart. */
enum { HELD_SHARE, HELD_1, HELD_2, HELD_4, HELD_8, HELD_CLASSES };
/* HELD_ of a need: shares, slices and CPU work, or whole devices by their number. */
unsigned need_held(const struct need *need);

struct node {
        struct node_desc desc;
        uint8_t status;                 /* enum node_status */
        uint32_t first_device;          /* its devices in state->devices */
        uint32_t cpu_used, ram_used, disk_used, network_used;   /* milli, MiB, MiB, Mbit/s */
        uint32_t cpu_kept, ram_kept, disk_kept, network_kept;   /* by placement locks */
        uint32_t cpu_free, ram_free, disk_free,
                network_free;           /* 0 where more is used and kept than there is */
        uint32_t first_member;          /* list of placed members */
        uint16_t held[HELD_CLASSES];    /* placed members of each class */
        uint32_t held_for;              /* workload slot + 1 with a capacity hold on it; 0 = none */
        int64_t held_until_ms;          /* when room for it is expected */
        bool frozen;                    /* its plane, or the pool */
        bool closed;                    /* a maintenance window was open at the newest tick */
        int64_t closed_from_ms, closed_until_ms;        /* that one, or the next; 0, 0: none */
};

/* The smallest part that meets a need on an empty device. */
struct least {
        uint32_t memory_mib;            /* held by slices and shares */
        uint8_t method, profile;
};

struct shape {
        struct need need;
        uint32_t fits_count;            /* models that were known when it was interned */
        uint64_t models;                /* models on which it can ever be placed, of those */
};

/* Waiting workloads that differ in id, arrival and run times only, in order of arrival. */
struct bucket {
        uint32_t shape;
        struct form form;
        int32_t priority;
        uint16_t tenant, class, data;   /* data: label + 1 */
        bool spare;
        uint32_t head, tail, count;     /* workload slots */
};

struct workload {
        uint64_t id;
        uint64_t arrival;               /* number of its submission */
        int64_t submitted_ms;
        int64_t since_ms;               /* queued (again), or placed */
        int64_t waited_ms;              /* in the queue, before since_ms */
        int64_t attained_ms;            /* run time of earlier runs that checkpoints hold */
        int64_t saved_ms;               /* ... of this run: up to its newest checkpoint */
        int64_t start_ms, time_limit_ms;
        int64_t checkpoint_every_ms, checkpoint_within_ms;
        int64_t notice_until_ms;        /* 0: it has not been told to stop */
        int64_t idle_since_ms;          /* nobody uses its devices since then; 0: in use */
        int64_t leave_by_ms;            /* told so: when its node is to be empty; 0: not for that */
        int64_t stops_from_ms;          /* the day that `stops` counts */
        int64_t eta_at_ms;              /* when its start was foretold; 0: it has not been */
        uint32_t eta_p50_s, eta_p90_s;  /* from then on; not part of the hashed state */
        uint32_t bucket;
        uint32_t next, prev;            /* in its bucket while waiting; else in its tree's list */
        uint32_t first_member;          /* list of placed members; NONE while waiting */
        uint32_t plan;                  /* plan + 1: that frees room for it, or takes its own */
        uint32_t first_after;           /* list of those that wait for its end; slot + 1 */
        uint32_t array, array_at_once;
        uint32_t group;                 /* 0: none */
        uint32_t group_next, group_prev;        /* in its group; NONE */
        uint16_t members_placed;
        uint16_t stops;                 /* that count, of the day */
        uint16_t retries;
        uint16_t nodes_held;            /* by its capacity hold */
        uint8_t after_count;            /* workloads that it waits for */
        uint8_t standing;               /* enum standing, while placed */
        uint8_t notice_cause;           /* enum notice_cause; with notice_until_ms */
        uint8_t eta_coverage_pct;       /* of the p90 */
        struct promise promise;         /* PROTECTED */
        uint8_t holds;                  /* HOLD_ set: not in the queue's order */
        bool rescued;                   /* goes first in its class; see order.h */
        bool displaced;                 /* a service that lost its place, or had to leave it */
        uint8_t idle_done;              /* enum idle_then: done for it since idle_since_ms */
        bool demoted;                   /* by that: spare until it is used again; see idle.h */
        bool contact_otherwise;         /* placed: its class says otherwise of lost contact than
                                         * when it started; see contact.h */
        bool once, service, serve, live;
};

/* A plan of preemption under way: room is being made for a waiting workload. */
struct plan {
        uint32_t beneficiary;           /* workload slot */
        uint32_t victims;               /* that still run */
        uint32_t places;                /* kept so far */
        uint32_t first_place;
        uint8_t cause;                  /* enum plan_cause */
        int64_t until_ms;
        bool live;
};

/* A member's place in a plan. */
struct plan_place {
        uint32_t next;
        uint32_t node;
        uint16_t member;
        uint8_t parts_count;
        struct part parts[NODE_DEVICES_MAX];
};

/* `waiter` waits for the end of another workload. */
struct after_link {
        uint32_t waiter, next;          /* workload slot; slot + 1 of the next link */
};

struct member {
        uint32_t workload;              /* slot */
        uint32_t node;
        uint32_t next;                  /* of the workload */
        uint32_t node_next, node_prev;
        uint32_t first_part;
        uint16_t number;
        uint8_t parts_count;
};

struct held_part {
        struct part part;
        uint32_t next;
};

/* A table with a free list; `high` slots were ever used. */
struct slots {
        uint32_t max, high, free, used;
};

struct accounts;

struct state {
        struct state_bounds bounds;
        const struct model_table *models;       /* borrowed */
        struct vocab *vocab;

        struct node *nodes;
        struct slots node_slots;
        struct device *devices;                 /* NODE_DEVICES_MAX of each node slot */
        struct shape *shapes;
        struct part_fit *fits;                  /* MODELS_MAX of each shape; see shape_fit() */
        uint32_t *units; /* MODELS_MAX of each shape: least units of one member on that model */
        struct least *least;            /* the same: what else such a member holds */
        uint32_t shapes_count;
        struct bucket *buckets;
        uint32_t buckets_count;
        struct workload *workloads;
        struct slots workload_slots;
        struct member *members;
        struct slots member_slots;
        struct held_part *parts;
        struct slots part_slots;
        struct plan *plans;
        struct slots plan_slots;
        struct plan_place *plan_places;
        struct slots plan_place_slots;
        struct after_link *afters;
        struct slots after_slots;

        struct map *node_by_name, *shape_by_hash, *bucket_by_hash, *workload_by_id,
                *array_running,                 /* running tasks, by array */
                *first_of_group;                /* workload slot */

        struct price_plan *plan;                /* plan_set: whether it holds one */
        bool plan_set;
        struct accounts *accounts;              /* NULL: no policy is in force */
        uint64_t capacity[MODELS_MAX];  /* units of healthy devices of nodes that take work */
        uint64_t capacity_models;       /* bit = model with any */
        uint64_t used[MODELS_MAX];      /* units of that capacity that members hold */
        uint32_t devices_max;                   /* most devices of a node there was */
        uint32_t nodes_held;                    /* by capacity holds */
        bool frozen;                            /* the whole pool */
        uint16_t frozen_planes[FROZEN_PLANES_MAX];
        uint32_t frozen_planes_count;
        struct maintenance maintenance;
        int64_t maintenance_due_ms;             /* a window begins or ends; INT64_MAX: never */
        uint32_t nodes_closing;                 /* that are to be empty by some time */
        int64_t now_ms;                         /* of the newest tick */
        int64_t asked_ms;                       /* ... at which a plan was last made */
        uint32_t asked_slot;                    /* for whom: who goes before it has been asked */
        uint64_t arrivals;                      /* submissions ever queued */
        uint64_t waiting;                       /* workloads in buckets */
        uint64_t noticed;                       /* running ones that have been told to stop */
        uint64_t idle;                          /* running ones whose devices are idle */
        uint64_t rescued_units;                 /* of rescued workloads, waiting and running */

        /* For memos, not part of the hashed state: */
        uint64_t freed;                         /* grows whenever something may fit that did not */
        uint64_t nodes_version;                 /* grows when a node is described, goes or fails */
        uint64_t order_version;                 /* grows when the order inside buckets may change */
        uint64_t arrays_version;                /* grows when tasks of an array start or end */
        uint64_t moves_version;                 /* grows with every fact but `queued` */
        uint64_t plan_version;
        uint64_t policy_version;                /* grows when a policy comes into force */
        uint32_t *changes;                      /* ring of changed nodes; length CHANGES_RING */
        uint64_t changes_count;                 /* ever written */
};

#define CHANGES_RING 65536u

/* Its tables, and how much of each is in use: for copies and snapshots. */
#define STATE_TABLES(X, state) \
        X(nodes, (state)->node_slots.high) \
        X(devices, (size_t)(state)->node_slots.high *NODE_DEVICES_MAX) \
        X(shapes, (state)->shapes_count) \
        X(fits, (size_t)(state)->shapes_count *MODELS_MAX) \
        X(units, (size_t)(state)->shapes_count *MODELS_MAX) \
        X(least, (size_t)(state)->shapes_count *MODELS_MAX) \
        X(buckets, (state)->buckets_count) \
        X(workloads, (state)->workload_slots.high) \
        X(members, (state)->member_slots.high) \
        X(parts, (state)->part_slots.high) \
        X(plans, (state)->plan_slots.high) \
        X(plan_places, (state)->plan_place_slots.high) \
        X(afters, (state)->after_slots.high)

/* NULL: out of memory. `models` must outlive the state. Bounds of 0 take defaults that hold
 * `nodes_max` (at least 1) nodes. */
struct state *state_new(const struct model_table *models, const struct state_bounds *bounds);
void state_free(struct state *state);

/* Carries one fact out. It must come from decide() on this very state (asserted). */
void state_apply(struct state *state, const struct fact *fact, int64_t now_ms);

/* Hash over everything decisions depend on. Equal histories give equal hashes. */
uint64_t state_hash(const struct state *state);

/* Invariants: sums of every node and device against what its members hold, lists against counts,
 * units of every device. Asserts; for tests, O(state). */
void state_check(const struct state *state);

/* Enters every key anew, after the tables were filled with those of another state. */
void state_enter_all(struct state *state);
/* What a shape comes to on the first `models` ones, after the table of shapes was. */
void state_measure_shape(struct state *state, uint32_t shape, uint32_t models);

/* Look-ups; NONE where there is none. */
uint32_t state_node(const struct state *state, unsigned name);
uint32_t state_workload(const struct state *state, uint64_t id);
uint32_t state_shape(const struct state *state, const struct need *need);
uint32_t state_bucket(const struct state *state, uint32_t shape, const struct request *request);

static inline struct device *node_devices(const struct state *state, uint32_t node)
{
        return state->devices + state->nodes[node].first_device;
}

/* NULL: it has no devices. */
static inline const struct model *node_model(const struct state *state, uint32_t node)
{
        const struct node_desc *desc = &state->nodes[node].desc;

        return desc->devices ? model_get(state->models, desc->model) : NULL;
}

/* Whether its devices are part of the pool's capacity. */
static inline bool node_takes_work(const struct node *node)
{
        return node->status == NODE_UP && !node->desc.drained && !node->closed;
}

/* Units of the pool's capacity that the member holds: nothing on nodes that take no work. */
uint64_t member_capacity(const struct state *state, uint32_t place);

/* From when on nothing may lie there; INT64_MAX: no window comes. */
static inline int64_t node_closes_ms(const struct node *node)
{
        return node->closed_until_ms ? node->closed_from_ms : INT64_MAX;
}

static inline bool node_is_down(const struct node *node)
{
        return node->status == NODE_DOWN || node->status == NODE_SILENT;
}

/* When it is to be empty, for a drain or a window, whichever is first; INT64_MAX: never. */
static inline int64_t node_empty_by_ms(const struct node *node)
{
        int64_t closes = node_closes_ms(node), drain = node->desc.drain_by_ms;

        return node->desc.drained && drain && drain < closes ? drain : closes;
}

/* Whether a node is frozen that it lies on, or silent: then nobody can tell it to stop. A gang may
 * lie on several. */
bool workload_is_frozen(const struct state *state, const struct workload *workload);

uint64_t bucket_hash(uint32_t shape, const struct request *request);

/* Devices of all members. */
static inline uint64_t bucket_devices(const struct state *state, const struct bucket *bucket)
{
        return (uint64_t)state->shapes[bucket->shape].need.devices * bucket->form.members;
}

/* The same of a workload in units, as if each were whole; at least 1. */
static inline uint64_t workload_units(const struct state *state, uint32_t slot)
{
        uint64_t units = bucket_devices(state, &state->buckets[state->workloads[slot].bucket]) *
                         UNITS_DEVICE;

        return units > 0 ? units : 1;
}

/* The fit of a need on a model, from the shape where it is interned. False: never. */
bool shape_fit(const struct state *state, const struct need *need, unsigned model,
               struct part_fit *ret_fit);

/* Whether plane and labels let the need onto the node; says nothing about room. */
bool node_admits(const struct state *state, const struct node_desc *desc, const struct need *need);
/* Whether cores, memory, disk and network would be enough right now. */
static inline bool node_has_room(const struct node *node, const struct need *need)
{
        return need->cpu_milli <= node->cpu_free && need->ram_mib <= node->ram_free &&
               need->disk_mib <= node->disk_free && need->network_mbit <= node->network_free;
}
