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

/* Exogenous ones come from outside; endogenous ones are reports that an earlier decision caused. */
#define INPUTS(X)                                                       \
        X(SUBMITTED,       "submitted",       true)                     \
        X(CANCELLED,       "cancelled",       true)                     \
        X(EXITED,          "exited",          false)                    \
        X(NODE_JOINED,     "node_joined",     true)                     \
        X(NODE_CHANGED,    "node_changed",    true)                     \
        X(NODE_FAILED,     "node_failed",     true)                     \
        X(NODE_REMOVED,    "node_removed",    true)                     \
        X(LAYOUT_OBSERVED, "layout_observed", false)                    \
        X(PLAN_SET,        "demand_plan_set", true)                     \
        X(TICKED,          "time_ticked",     true)

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

/* The gates that placement has; quotas, budgets and order will stand between them. */
#define GATES(X)                                                        \
        X(ALLOWED,  "ALLOWED")  /* the request contradicts itself or names what is not there */ \
        X(FEASIBLE, "FEASIBLE") /* no possible state of the pool fits it */ \
        X(FIT,      "FIT")      /* nothing fits now */                  \
        X(TABLE,    "TABLE")    /* a bounded table is full */

enum gate {
#define X(name, wire) GATE_##name,
        GATES(X)
#undef X
        GATES_END
};

const char *gate_name(enum gate gate);

enum release_cause { RELEASE_EXITED, RELEASE_CANCELLED, RELEASE_LOST, RELEASE_CAUSES_END };
enum layout_op { LAYOUT_CUT_ON, LAYOUT_CUT_OFF, LAYOUT_CREATE, LAYOUT_DESTROY, LAYOUT_OPS_END };

const char *release_cause_name(enum release_cause cause);
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
        uint16_t broken;                /* bit d: device d is unhealthy */
        uint32_t cpu_milli, ram_mib, disk_mib, network_mbit;
        uint64_t artifacts;             /* bit a: artifact a lies here */
};

struct layout_report {
        uint32_t node;                  /* name */
        uint8_t device;
        bool failed;                    /* the step of `epoch` did not work */
        uint16_t foreign_slots;         /* memory slices of instances somebody else made */
        uint32_t epoch;                 /* of the newest step the node carried out */
};

struct input {
        enum input_kind kind;
        union {
                struct request request;         /* SUBMITTED */
                uint64_t workload;              /* CANCELLED, EXITED */
                struct node_desc node;          /* NODE_JOINED, NODE_CHANGED */
                uint32_t node_name;             /* NODE_FAILED, NODE_REMOVED */
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
        uint8_t parts_count;
        struct part parts[NODE_DEVICES_MAX];
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
                } released;
                struct fact_layout layout_step;
                struct {
                        uint32_t node;
                        struct layout_report report;
                } layout_seen;
                struct {
                        uint32_t node;
                        struct node_desc desc;
                } node_set;
                uint32_t node;                  /* NODE_DOWN, NODE_GONE */
                const struct price_plan *plan;  /* DEMAND_SET */
                int64_t now_ms;                 /* TIME_SET */
        };
};
