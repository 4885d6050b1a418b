/* preempt_impl.h - shared by preempt.c (plans), preempt_search.c (places and victims) and
 * preempt_terms.c (who may be stopped, what it costs). */
#pragma once

#include "engine/preempt.h"

struct beneficiary {
        uint32_t slot, bucket;
        enum plan_cause cause;
        unsigned level;                 /* of time slices */
        int64_t now_ms;
};

struct victim {
        uint64_t loss;                  /* unit-seconds */
        uint32_t slot;
        bool needed;
};

/* What one more member on a node would cost; and the node as the plan would leave it. */
struct spare_node {
        uint32_t node;
        uint64_t cost;
        bool possible;
        bool closed;                    /* a member lies there, or near: spread */
        uint32_t cpu_held, ram_held, disk_held, network_held;
        struct device_state devices[NODE_DEVICES_MAX];
        /* Who lies there and bars the beneficiary from the node, from a device: isolate.h. */
        uint16_t bars, device_bars[NODE_DEVICES_MAX];
};

/* What a node costs at least. */
struct bound {
        uint64_t least;
        uint32_t node;
};

struct preempt_scratch {
        struct bound *bounds;
        uint32_t bounds_room;
        struct spare_node *nodes;
        uint32_t nodes_count, nodes_room;
        struct victim *victims;         /* of the plan, all */
        uint32_t victims_count, victims_room;
        struct victim *local;           /* of the node that is looked at */
        uint32_t local_count, local_room;
        struct fact_allocated *places;
        uint32_t places_count, places_room;
};

struct search {
        struct memo *memo;
        const struct state *state;
        struct preempt_scratch *scratch;
        struct beneficiary beneficiary;
        uint32_t shape;
        const struct need *need;
        uint64_t models;
        int64_t leaves_ms;              /* when it starts at the end of the longest notice */
        const struct asker *asker;      /* NULL: nothing bars it */
        bool failed;                    /* out of memory */
};

/* preempt_terms.c */
uint64_t units_held(const struct state *state, uint32_t slot);
bool may_stop(const struct state *state, uint32_t slot, const struct beneficiary *beneficiary);
/* Whether exactly this part can be taken of the device. */
bool part_goes(const struct model *model, const struct device_state *device,
               const struct part *part);
/* A node that was described anew may hold more than it has. */
bool has_left(uint32_t all, uint32_t held, uint64_t more);

/* preempt_search.c: places all members at the least loss, into the scratch; false: not possible for
 * `most`, or search->failed. */
bool search_places(struct search *search, uint64_t most, uint64_t *ret_cost);
