/* fact.h - what comes in (inputs) and what the engine decided (facts).
 *
 * Plain values. Inputs are logged in full before they are decided; facts are the
 * only thing that changes a state. Pointers in them are borrowed: an input's live
 * until its decide/apply cycle is over, a fact's until the next decide.
 */
#pragma once

#include "engine/device.h"
#include "engine/need.h"

struct price_plan;
struct accounts;
struct maintenance;

/* Exogenous ones come from outside; endogenous ones are reports that an earlier decision caused. */
#define INPUTS(X) \
        X(SUBMITTED, "submitted", true) \
        X(CANCELLED, "cancelled", true) \
        X(EXITED, "exited", false)             /* ended well */ \
        X(FAILED, "failed", false)             /* ended badly */ \
        X(STOPPED, "stopped", false)           /* told to, and gone: its devices are free */ \
        X(LOST, "lost", false)                 /* ended for want of contact: no fault of its */ \
        X(CHECKPOINTED, "checkpointed", false) /* what it did so far is durable */ \
        X(STOP_ASKED, "stop_asked", true)      /* by its owner, or an operator */ \
        X(MOVE_ASKED, "move_asked", true)      /* ... to go on somewhere else */ \
        X(USE_REPORTED, "use_reported", false) /* its devices are idle, or in use */ \
        X(HOLD_CHANGED, "user_hold_changed", true) \
        X(NODE_JOINED, "node_joined", true) \
        X(NODE_CHANGED, "node_changed", true) /* what is held of a broken device stays broken */ \
        X(NODE_DESCRIBED, "node_described", true) /* and it is down, or was never there */ \
        X(NODE_FAILED, "node_failed", true) \
        X(DEVICES_FAILED, "devices_failed", true) /* what runs there is still to be ended */ \
        X(NODE_REMOVED, "node_removed", true) \
        X(LAYOUT_OBSERVED, "layout_observed", false) \
        X(PLAN_SET, "demand_plan_set", true) \
        X(POLICY_SET, "policy_set", true) \
        X(FREEZE_SET, "freeze_set", true) \
        X(MAINTENANCE_SET, "maintenance_set", true) \
        X(ETA_SET, "eta_set", false) /* when work is expected to start */ \
        X(TICKED, "time_ticked", true)

enum input_kind {
#define X(name, wire, exogenous) INPUT_##name,
        INPUTS(X)
#undef X
        INPUTS_END
};

#define FACTS(X)                                                        \
        X(QUEUED,        "queued")        /* accepted; waits */         \
        X(REFUSED,       "refused")       /* not accepted, or not now */ \
        X(ALLOCATED,     "allocated")     /* one member got its place */ \
        X(RELEASED,      "released")      /* a workload is gone, and what it held is free */ \
        X(REQUEUED,      "requeued")      /* what it held is free; it waits again, in its place */ \
        X(CHECKPOINT_SET, "checkpoint_set") /* run time that is safe from now on */ \
        X(USE_SET,       "use_set")       /* since when a workload's devices are idle */ \
        X(IDLE_WARNED,   "idle_warned")   /* its owner is to know that they are */ \
        X(HOLDS_SET,     "holds_set")     /* why a workload is not in the queue's order yet */ \
        X(RESCUED,       "rescued")       /* it has waited so long that it goes first now */ \
        X(STANDING_SET,  "standing_set")  /* of a running workload */   \
        X(PROMISES_SEEN, "promises_seen") /* what came free of a promise has been passed on */ \
        X(PLANNED,       "preemption_planned")                          \
        X(PLACE_KEPT,    "place_kept")    /* placement lock: a member's place in the plan */ \
        X(NOTICED,       "noticed")       /* running work has been told to stop */ \
        X(NOTICE_WITHDRAWN, "notice_withdrawn") /* ... and may stay after all */ \
        X(PLAN_ENDED,    "preemption_ended")                            \
        X(NODE_HELD,     "node_held")     /* capacity hold */           \
        X(NODE_LET_GO,   "node_let_go")                                 \
        X(POLICY_IN,     "policy_in_force")                             \
        X(FREEZE_IN,     "freeze_in_force")                             \
        X(MAINTENANCE_IN, "maintenance_in_force")                       \
        X(ETA_SET,       "eta_set")       /* shown, never decided from */ \
        X(LAYOUT_STEP,   "layout_step")   /* planned change of how a device is cut */ \
        X(LAYOUT_SEEN,   "layout_seen")   /* what a node reported of it */ \
        X(NODE_SET,      "node_set")      /* joined, or described anew */ \
        X(NODE_DOWN,     "node_down")                                   \
        X(NODE_GONE,     "node_gone")                                   \
        X(DEMAND_SET,    "demand_set")                                  \
        X(TIME_SET,      "time_set")

enum fact_kind {
#define X(name, wire) FACT_##name,
        FACTS(X)
#undef X
        FACTS_END
};

const char *input_name(enum input_kind kind);
bool input_is_exogenous(enum input_kind kind);
const char *fact_name(enum fact_kind kind);

/* In the order in which they are looked at: the first that fails gives the verdict. */
#define GATES(X)                                                        \
        X(ALLOWED,  "ALLOWED")  /* the tenant may not use this class, model, method or plane */ \
        X(FEASIBLE, "FEASIBLE") /* no possible state of the pool fits it */ \
        X(JOBS,     "JOBS")     /* limit on active or running jobs */   \
        X(LIMIT,    "LIMIT")    /* a quota would be exceeded */         \
        X(BUDGET,   "BUDGET")   /* the period's device-hours are used up */ \
        X(HOLD,     "HOLD")     /* user hold, dependency, array, start time */ \
        X(ORDER,    "ORDER")    /* it would fit, but others have the claim */ \
        X(FIT,      "FIT")      /* nothing fits now */                  \
        X(TABLE,    "TABLE")    /* a bounded table is full */

enum gate {
#define X(name, wire) GATE_##name,
        GATES(X)
#undef X
        GATES_END
};

const char *gate_name(enum gate gate);

#define RELEASE_CAUSES(X) \
        X(EXITED, "exited") \
        X(FAILED, "failed") \
        X(CANCELLED, "cancelled") \
        X(LOST, "lost")           /* its node or device failed */ \
        X(STOPPED, "stopped")     /* preempted */ \
        X(DRAINED, "drained")     /* its node was to be empty */ \
        X(TIMED_OUT, "timed_out") /* its time limit */ \
        X(IDLE, "idle")           /* its devices were, for longer than its class allows */ \
        X(ASKED, "asked")         /* its owner, or an operator, wanted it */

enum release_cause {
#define X(name, wire) RELEASE_##name,
        RELEASE_CAUSES(X)
#undef X
        RELEASE_CAUSES_END
};

enum standing { STANDING_PROTECTED, STANDING_STANDARD, STANDING_SPARE, STANDINGS_END };

/* The promise that protected work draws on. */
struct promise {
        uint16_t tenant;                /* whose */
        bool any;                       /* the one for any model; else those for its models */
};

/* Why a workload is not in the queue's order yet: a set. */
enum { HOLD_USER = 1, HOLD_AFTER = 2, HOLD_START = 4, HOLD_ARRAY = 8 };

/* What a plan of preemption is for. */
#define PLAN_CAUSES(X)                                                          \
        X(PROTECT,    "protect")        /* the beneficiary is due its promise */ \
        X(ORDER,      "order")          /* before work that all, or all before it, may stop */ \
        X(TIME_SLICE, "time_slice")     /* it ran less than work of its class */ \
        X(GATHER,     "gather")         /* room for wide work: defragmentation */ \
        X(MOVE,       "move")           /* of itself, as asked: its only victim is itself */

enum plan_cause {
#define X(name, wire) PLAN_##name,
        PLAN_CAUSES(X)
#undef X
        PLAN_CAUSES_END
};

/* Why running work is told to stop. */
#define NOTICE_CAUSES(X) \
        X(PLAN, "preemption")         /* a plan makes room for other work */ \
        X(TIME_LIMIT, "time_limit")   /* its own is over */ \
        X(DRAIN, "drain")             /* its node is to be empty by a time */ \
        X(MAINTENANCE, "maintenance") /* the same, for a window */ \
        X(IDLE, "idle")               /* its devices are, and its class says so */ \
        X(ASKED, "asked")             /* its owner, or an operator, wants it to begin anew */ \
        X(MOVE, "move")               /* ... and elsewhere: a plan has its place there */

enum notice_cause {
#define X(name, wire) NOTICE_##name,
        NOTICE_CAUSES(X)
#undef X
        NOTICE_CAUSES_END
};

enum plan_end { PLAN_DONE, PLAN_WITHDRAWN, PLAN_ENDS_END };

enum layout_op { LAYOUT_CUT_ON, LAYOUT_CUT_OFF, LAYOUT_CREATE, LAYOUT_DESTROY, LAYOUT_OPS_END };

const char *release_cause_name(enum release_cause cause);
const char *standing_name(enum standing standing);
const char *plan_cause_name(enum plan_cause cause);
const char *notice_cause_name(enum notice_cause cause);
const char *layout_op_name(enum layout_op op);

/* A node as its agent or the pool document describes it. Ids are the state's vocabulary's. */
struct node_desc {
        uint32_t name;                  /* vocab_name() */
        uint16_t plane;
        uint16_t labels;                /* id of a label set */
        uint16_t nvlink, rack, block;   /* fabric path: word ids; 0 = not known */
        uint8_t model;
        uint8_t devices;
        uint8_t link_group; /* directly linked devices per group (0-3, 4-7 ...); 0 = none */
        bool drained;                   /* takes nothing new */
        int64_t drain_by_ms;            /* ... and is empty by then; 0: when its work has ended */
        uint16_t broken;                /* bit d: device d is unhealthy */
        uint32_t cpu_milli, ram_mib, disk_mib, network_mbit;
        uint64_t artifacts;             /* bit a: artifact a lies here */
};

/* No starts and no stops; running work is untouched. */
struct freeze {
        uint16_t plane;                 /* 0: the whole pool */
        bool frozen;
};

struct layout_report {
        uint32_t node;                  /* name */
        uint8_t device;
        bool failed;                    /* the step of `epoch` did not work: as DEVICES_FAILED */
        uint16_t foreign_slots;         /* memory slices of instances somebody else made */
        uint32_t epoch;                 /* of the newest step the node carried out */
};

/* What the devices of running work do: of a gang, those of all members together. */
struct use_report {
        uint64_t workload;
        int64_t idle_since_ms;          /* none of them is used since then; 0: one of them is */
};

/* From now until a waiting workload starts, as forward runs foretell it (plan/eta.h). */
struct eta_set {
        uint64_t workload;
        int64_t p50_ms, p90_ms;         /* 0 <= p50 <= p90 <= RUN_MS_MAX */
        uint8_t coverage_pct;           /* measured, of the p90; 0: there is no reliable estimate */
        int64_t raw_ms;                 /* what the runs said, to be learnt from again */
};

struct input {
        enum input_kind kind;
        union {
                struct request request;         /* SUBMITTED */
                uint64_t workload;      /* CANCELLED, EXITED, FAILED, STOPPED, LOST */
                struct {
                        uint64_t workload;
                        int64_t age_ms;         /* so long ago it was safe */
                } checkpoint;                   /* CHECKPOINTED */
                struct {
                        uint64_t workload;
                        int64_t notice_ms; /* it may stay so long; 0: it ends at once */
                } stop;                    /* STOP_ASKED */
                struct {
                        uint64_t workload;
                        int64_t notice_ms; /* as above */
                        uint32_t node;     /* name, of where it goes; 0: any but its own */
                } move;                    /* MOVE_ASKED */
                struct {
                        uint64_t workload;
                        bool held;
                } hold;                         /* HOLD_CHANGED */
                struct use_report use;          /* USE_REPORTED */
                struct accounts *accounts;      /* POLICY_SET; see accounts.h for who owns it */
                struct freeze freeze;           /* FREEZE_SET */
                const struct maintenance *maintenance;  /* MAINTENANCE_SET: all windows there are */
                struct eta_set eta;             /* ETA_SET */
                struct node_desc node;          /* NODE_JOINED, NODE_CHANGED, NODE_DESCRIBED */
                uint32_t node_name;             /* NODE_REMOVED */
                struct {
                        uint32_t node_name;
                        bool silent;    /* what continues then may still run there */
                } failed;                       /* NODE_FAILED */
                struct {
                        uint32_t node_name;
                        uint16_t devices; /* bit d: device d. It takes nothing new, and what it has
                                           * keeps its place until it is told to be LOST */
                } broke;                        /* DEVICES_FAILED */
                struct layout_report layout;    /* LAYOUT_OBSERVED */
                const struct price_plan *plan;  /* PLAN_SET; NULL takes the plan away */
        };
};

struct fact_refused {
        uint64_t workload;
        enum gate gate;
        bool has_nearest;               /* FEASIBLE: the nearest request that could fit */
        struct request nearest;
};

struct fact_allocated {
        uint64_t workload;
        uint32_t node;                  /* node number in the state */
        uint16_t member;
        uint8_t standing;               /* enum standing: of the workload */
        struct promise promise;         /* PROTECTED */
        uint8_t parts_count;
        struct part parts[NODE_DEVICES_MAX];
};

struct fact_requeued {
        uint64_t workload;
        enum release_cause cause;
        int64_t attained_ms;            /* run time that checkpoints hold, of all its runs */
        int64_t lost_ms;                /* run time of the run that ended, beyond its checkpoint */
        bool counts;                    /* as one of the stops a day it bears */
};

struct fact_planned {
        uint64_t beneficiary;
        uint32_t plan;                  /* number */
        enum plan_cause cause;
        uint32_t victims, places;
        int64_t until_ms;               /* the latest end of its notices */
        uint64_t loss;                  /* expected, in unit-seconds */
};

struct fact_kept {
        uint32_t plan;
        struct fact_allocated place;
};

struct fact_noticed {
        uint64_t workload;
        uint32_t plan;                  /* NONE unless the cause is PLAN, or MOVE */
        enum notice_cause cause;
        int64_t until_ms;               /* it is not ended before */
        int64_t leave_by_ms;            /* DRAIN, MAINTENANCE: when a node is to be empty */
        uint64_t units;                 /* PLAN: that it holds */
};

struct fact_layout {
        uint32_t node;
        uint32_t epoch;                 /* of the device, grows by one a step */
        uint8_t device;
        uint8_t op;                     /* enum layout_op */
        uint8_t profile, start; /* CREATE, DESTROY; CUT_ON: the profile that needs it (its mode) */
};

struct fact {
        enum fact_kind kind;
        union {
                struct request queued;
                struct fact_refused refused;
                struct fact_allocated allocated;
                struct {
                        uint64_t workload;
                        enum release_cause cause;
                        int64_t lost_ms;        /* as in fact_requeued */
                } released;
                struct fact_requeued requeued;
                struct {
                        uint64_t workload;
                        int64_t saved_ms;       /* run time of this run that is safe */
                } checkpoint;
                struct use_report use;
                uint64_t warned;                /* IDLE_WARNED: workload */
                struct {
                        uint64_t workload;
                        uint8_t holds;          /* HOLD_ set */
                } holds;
                struct {
                        uint64_t workload;
                        enum standing standing;
                        struct promise promise;
                } standing;
                uint64_t rescued;               /* workload */
                uint16_t tree;                  /* PROMISES_SEEN: a root tenant */
                struct fact_planned planned;
                struct fact_kept kept;
                struct fact_noticed noticed;
                uint64_t stays;                 /* NOTICE_WITHDRAWN: workload */
                struct {
                        uint32_t plan;
                        enum plan_end end;
                } plan_ended;
                struct {
                        uint64_t workload;
                        uint32_t node;
                        int64_t until_ms;       /* when it is expected to be enough */
                } node_held;                    /* NODE_HELD, NODE_LET_GO */
                struct accounts *accounts;      /* POLICY_IN */
                struct freeze freeze;
                const struct maintenance *maintenance;  /* MAINTENANCE_IN */
                struct eta_set eta;
                struct fact_layout layout_step;
                struct {
                        uint32_t node;
                        struct layout_report report;
                } layout_seen;
                struct {
                        uint32_t node;
                        struct node_desc desc;
                } node_set;
                struct {
                        uint32_t node;
                        bool silent;            /* what continues may still run there */
                } down;                         /* NODE_DOWN */
                uint32_t node;                  /* NODE_GONE */
                const struct price_plan *plan;  /* DEMAND_SET */
                int64_t now_ms;                 /* TIME_SET */
        };
};
