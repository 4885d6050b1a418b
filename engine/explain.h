/* explain.h - why a workload waits, what would let it start, and why devices are idle.
 *
 * Pure, and never changes a state. One record (struct explanation) is the whole truth;
 * explain_view() makes of it what somebody may see, and only that is shown (proto/explain_text.h).
 * Meant for a state whose facts are all applied, as between two inputs.
 *
 * All gates are evaluated always; the first that fails gives the verdict. A workload is STARTING or
 * RUNNING exactly when the engine says so: where all gates pass, the queue's turn itself is asked.
 */
#pragma once

#include "engine/accounts.h"
#include "engine/memo.h"
#include "engine/what_if.h"

#define VERDICTS(X)                                                                             \
        X(REFUSED,         "REFUSED")         /* may not: nothing that ends by itself */        \
        X(NEVER,           "NEVER")           /* no state of this pool, or limit, fits it */    \
        X(WAIT_QUOTA,      "WAIT_QUOTA")                                                        \
        X(WAIT_BUDGET,     "WAIT_BUDGET")                                                       \
        X(HELD,            "HELD")                                                              \
        X(WAIT_ORDER,      "WAIT_ORDER")      /* it would fit, but others have the claim */     \
        X(WAIT_CAPACITY,   "WAIT_CAPACITY")                                                     \
        X(WAIT_PREEMPTION, "WAIT_PREEMPTION") /* room is being made for it */                   \
        X(STARTING,        "STARTING")                                                          \
        X(RUNNING,         "RUNNING")                                                           \
        X(UNKNOWN,         "UNKNOWN")         /* the state is stale */

enum verdict {
#define X(name, wire) VERDICT_##name,
        VERDICTS(X)
#undef X
        VERDICTS_END
};

/* Why a member does not lie on a node now: exactly one of these a node. */
#define CODES(X)                                                                                \
        X(FITS,                 "has room for a member now")                                    \
        X(TYPE_MISMATCH,        "is not of an accepted device model")                           \
        X(EXCLUDED,             "is ruled out by planes or labels, of its own or of its policy") \
        X(PROFILE_ABSENT,       "has no such slice profile")                                    \
        X(TOO_SMALL,            "is too small even when empty")                                 \
        X(UNHEALTHY,            "is down or has broken devices")                                \
        X(DRAINING,             "is being drained, or in maintenance")                          \
        X(FROZEN,               "is frozen: nothing starts there")                              \
        X(CLOSES_SOON,          "closes for maintenance before the workload could be gone")     \
        X(NOT_ALLOWED,          "is of a device model that the tenant may not use")             \
        X(BUSY,                 "is busy")                                                      \
        X(FRAGMENTED,           "has enough free, but not in one piece")                        \
        X(LAYOUT_CHANGE_NEEDED, "has free room on devices that are cut another way")            \
        X(MEMORY,               "has too little device memory free")                            \
        X(CORES,                "has too few CPU cores free")                                   \
        X(RAM,                  "has too little RAM free")                                      \
        X(DISK,                 "has too little local disk free")                               \
        X(NETWORK,              "has too little network bandwidth free")                        \
        X(HELD_FOR_OTHER,       "has room that is held for a workload that waits longer")       \
        X(RESERVED,             "has room that is kept for promises")                           \
        X(QUOTA,                "has room, but a quota is reached")                             \
        X(APART,                "has room, but beside work that is kept apart from it")         \
        X(TOPOLOGY,             "has room, but not near enough or not spread enough")

enum node_code {
#define X(name, text) CODE_##name,
        CODES(X)
#undef X
        CODES_END
};

#define EXPLAIN_GROUPS_MAX   48
#define EXPLAIN_BLOCKERS_MAX 4
#define EXPLAIN_AHEAD_MAX    5
#define EXPLAIN_NEAREST_MAX  3
#define EXPLAIN_RAISES_MAX   4
#define EXPLAIN_STALE_MS     INT64_C(600000)    /* without a tick */
#define EXPLAIN_NO_MODEL     UINT8_MAX          /* nodes without devices */
#define EXPLAIN_GATES        GATE_TABLE         /* gates shown: all before TABLE */

/* Numbers of the binding tenant and dimension: units, counts, MiB, milli cores; of BUDGET
 * device-ms. `dimension` DIMENSIONS_END: the gate has none. */
struct explained_gate {
        bool passed;
        bool hidden;                    /* a view took the numbers away */
        uint8_t right;                  /* ALLOWED: enum right, what is not allowed */
        uint16_t tenant;                /* whose limit, budget; TENANT_NONE: the pool's */
        uint16_t dimension;
        uint64_t used, limit, after;    /* after: with this workload */
};

/* Work of others: for operators. */
struct explained_other {
        uint64_t workload;
        uint16_t tenant, class;
        uint32_t devices;
        uint8_t standing;               /* of running work; STANDINGS_END: it waits */
        bool may_be_stopped;            /* by its class and standing, for some cause */
        int64_t end_ms;                 /* when it is expected to end, or 0 */
};

/* Nodes of one device model, plane and rack. In wide pools racks are put together, then planes. */
struct explained_group {
        uint8_t model;                  /* EXPLAIN_NO_MODEL: nodes without devices */
        bool all_racks, all_planes;     /* put together */
        bool rounded;                   /* a view rounded the free numbers */
        uint16_t plane, rack;           /* words; 0: none */
        uint8_t code;                   /* enum node_code: FITS, or what most of its nodes have */
        uint8_t used_by;                /* different tenants on it, counted up to 3 */
        uint16_t tenants[3];            /* those */
        uint32_t nodes, nodes_of[CODES_END];    /* nodes_of adds up to nodes */
        uint32_t devices, free_devices; /* free: idle on nodes that are up and take work */
        uint32_t largest_free;          /* most of them on one node */
        uint32_t members;               /* of the workload that fit now, counted up to its number */
        uint32_t blockers_count;
        struct explained_other blockers[EXPLAIN_BLOCKERS_MAX];
};

#define AHEADS(X)                                                                               \
        X(NEXT, "next") X(TO_5, "1-5") X(TO_20, "6-20") X(TO_100, "21-100") X(MORE, ">100")

enum ahead {
#define X(name, text) AHEAD_##name,
        AHEADS(X)
#undef X
        AHEADS_END
};

struct explained_position {
        bool known;
        uint32_t in_tenant, of_tenant;  /* 1 = first; waiting ones of its own tenant */
        enum ahead ahead;               /* others' work before it, over the whole pool */
        enum ahead device_hours;        /* the same in device-hours: none, 1-5 ... */
        uint32_t ahead_exact;           /* for operators */
        uint64_t ahead_device_ms;
        uint32_t first_count;           /* the first ones before it: for operators */
        struct explained_other first[EXPLAIN_AHEAD_MAX];
};

#define UNBLOCKS(X)                                                                     \
        X(LET_GO,  "release")   /* its owner lets it go */                              \
        X(TIME,    "time")      /* its start time comes */                              \
        X(PLAN,    "plan")      /* the work that was told to stop is gone */            \
        X(REQUEST, "request")   /* another request */                                   \
        X(QUOTA,   "quota")     /* limits are raised */                                 \
        X(OWN_END, "own_end")   /* a running workload of the same tenant ends */

enum unblock_kind {
#define X(name, wire) UNBLOCK_##name,
        UNBLOCKS(X)
#undef X
        UNBLOCKS_END
};

/* What a request would change. */
enum {
        CHANGE_DEVICES = 1, CHANGE_MEMBERS = 2, CHANGE_MODELS = 4, CHANGE_PROFILE = 8,
        CHANGE_NEAR = 16, CHANGE_SPREAD = 32, CHANGE_WHERE = 64, CHANGE_MEMORY = 128,
        CHANGE_SHARE = 256, CHANGE_SPARE = 512, CHANGE_NODE = 1024 /* cores, RAM, disk, network */
};

struct explained_unblock {
        enum unblock_kind kind;
        enum standing standing;         /* that it would start with */
        unsigned changes;               /* REQUEST: CHANGE_ set */
        struct request request;         /* REQUEST: as a whole; submit it, cancel the old one */
        uint32_t raises_count;          /* QUOTA */
        struct limit_raise raises[EXPLAIN_RAISES_MAX];
        uint64_t workload;              /* OWN_END */
        int64_t at_ms;                  /* TIME, PLAN, OWN_END: when that is expected; or 0 */
};

struct explanation {
        uint64_t workload;
        struct request request;         /* as it waits */
        enum verdict verdict;
        enum standing standing;         /* it has, or would start with; STANDINGS_END: none */
        int64_t now_ms, as_of_ms;       /* asked at; newest tick of the state */
        int64_t submitted_ms, waited_ms;
        uint64_t snapshot;              /* names the state: state_hash() or a log position */
        uint64_t policy_revision;
        bool has_policy;
        struct explained_gate gates[EXPLAIN_GATES];
        bool table_full;                /* no room in the engine's own tables */
        uint8_t holds;                  /* HOLD_ set */
        uint32_t after_left;            /* workloads that it waits for */
        uint32_t array_running, array_at_once;
        int64_t start_ms;               /* not before */
        int64_t until_ms;               /* WAIT_PREEMPTION: the latest end of notices; RUNNING: of
                                         * its own, if it has been told to stop */
        bool is_idle, told_idle;        /* RUNNING: nobody uses its devices; told to stop for it */
        bool is_torn, is_silent;        /* RUNNING: contact.h */
        enum plan_cause plan_cause;
        uint32_t victims;               /* that still run */
        bool has_possible;              /* NEVER: the nearest request this pool could hold */
        struct request possible;
        uint32_t groups_count;
        struct explained_group groups[EXPLAIN_GROUPS_MAX];
        struct explained_group all;     /* sums over groups */
        struct explained_position position;
        uint32_t nearest_count;
        struct explained_unblock nearest[EXPLAIN_NEAREST_MAX];
        bool eta_known;                 /* entered by whoever computed it */
        int64_t eta_at_ms;              /* when that was */
        int64_t eta_p50_ms, eta_p90_ms; /* times, not spans */
        uint8_t eta_coverage_pct;       /* measured, of the p90 */
};

/* Less is no reliable estimate. */
#define EXPLAIN_ETA_PCT 80

/* V4: a time that follows from others' work, as a tenant may see it. */
int64_t explain_step_up(int64_t ms);

const char *verdict_name(enum verdict verdict);
const char *node_code_name(enum node_code code); /* "BUSY" */
const char *unblock_name(enum unblock_kind kind);
const char *ahead_text(enum ahead ahead);

/* Explains a live workload. 0, -ERR_NOT_FOUND or -ERR_NOMEM. `ret_explanation` is large: not for
 * small stacks. The snapshot is filled in by the caller (hashing a wide state takes longer). */
int explain(struct memo *memo, const struct state *state, uint64_t workload, int64_t now_ms,
            struct explanation *ret_explanation, struct err *err);
/* The same gates, verdict and groups, without the position and the ways out, which take most of the
 * time: for lists. */
int explain_briefly(struct memo *memo, const struct state *state, uint64_t workload,
                    int64_t now_ms, struct explanation *ret_explanation, struct err *err);

/* The same for a request that is not submitted yet: what would become of it. -ERR_INPUT and
 * -ERR_RANGE too, when it cannot be meant. */
int explain_request(struct memo *memo, const struct state *state, const struct request *request,
                    int64_t now_ms, struct explanation *ret_explanation, struct err *err);

/* Who looks. */
struct viewer {
        bool is_operator;
        uint16_t tenant;                /* else: sees this tenant and all below it in full */
};

/* Takes away in place what the viewer may not see (docs/explain.md, "Who sees what"). Of a workload
 * outside the viewer's tenants nothing may be shown at all: -ERR_NOT_FOUND, in the same words as
 * for a workload that is not there. */
int explain_view(struct explanation *explanation, const struct state *state, struct viewer viewer,
                 struct err *err);

/* ---- idle capacity ---- */

#define IDLES(X)                                                                                \
        X(FREE,       "free, and nobody who waits could use it")                                \
        X(QUOTA,      "free; who could use it has reached a quota or budget")                   \
        X(HELD,       "free; who could use it is held by its owner, start time or dependency")  \
        X(FRAGMENTED, "free, but in no one place with all that anybody who waits needs")        \
        X(PLAN,       "locked for work that others make room for")                              \
        X(HOLD,       "kept together for one workload (capacity hold)")                         \
        X(PROMISE,    "kept for promises that are not lent")                                    \
        X(FROZEN,     "on frozen nodes")                                                        \
        X(DRAINING,   "on nodes being drained, or in maintenance")                              \
        X(UNHEALTHY,  "broken, or on nodes that are down")

enum idle_code {
#define X(name, text) IDLE_##name,
        IDLES(X)
#undef X
        IDLES_END
};

const char *idle_code_name(enum idle_code code);
const char *idle_code_text(enum idle_code code);

/* Devices nobody is on, by model; reasons add up to idle. */
struct explained_idle {
        int64_t as_of_ms;               /* as of an explanation; */
        uint64_t snapshot;              /* ... filled in by the caller. 0: it is not shown */
        uint64_t policy_revision;
        uint32_t models_count;
        uint32_t idle;
        struct {
                uint8_t model;
                uint32_t devices, idle;
                uint32_t of[IDLES_END];
        } models[MODELS_MAX];
};

int explain_idle(struct memo *memo, const struct state *state, int64_t now_ms,
                 struct explained_idle *ret_idle, struct err *err);

/* ---- what would start now ---- */

#define FITS_MAX 96

struct fit_line {
        uint8_t model;
        struct request request;         /* ASK_WHOLE: on one node, or so many whole nodes; or
                                         * ASK_PROFILE: so many slices. One more would not start */
        enum standing standing;         /* of the request; STANDINGS_END: nothing like it fits */
};

struct explained_fits {
        uint32_t count;
        struct fit_line lines[FITS_MAX];
};

/* The largest shapes that would start now for the tenant in the class: of each device model the
 * most devices on one node, the most whole nodes, and the slices of each profile. Interns nothing:
 * profiles are those that the state's vocabulary holds. */
int explain_fits(struct memo *memo, const struct state *state, uint16_t tenant, uint16_t class,
                 int64_t now_ms, struct explained_fits *ret_fits, struct err *err);
