/* preempt_impl.h - shared by preempt.c (plans), preempt_search.c (places and victims of all
 * members), preempt_node.c (victims on one node), preempt_near.c (a required nearness),
 * preempt_known.c (searches that found nothing) and preempt_terms.c (who may be stopped, what it
 * costs). */
#pragma once

#include "engine/preempt.h"

struct beneficiary {
        uint32_t slot, bucket;
        enum plan_cause cause;
        unsigned level;                 /* of time slices */
        bool spare;                     /* as what it would start: all may stop it again */
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

/* A node, or one group of its linked devices, in the domain of the fabric that it lies in. */
struct near_spot {
        uint64_t domain;
        uint32_t node;
        uint8_t first_device;
};

/* Spots of one domain, by node. */
struct near_domain {
        uint64_t least;                 /* what it costs at least */
        uint32_t first, count;
        uint32_t node;                  /* of the first spot */
        uint32_t devices;
};

/* A search that found nothing, and what it asked. */
struct hopeless {
        uint64_t version;               /* state->moves_version + 1; 0: none */
        int64_t now_ms, leaves_ms;
        uint64_t most, models;
        struct form form;
        uint32_t shape;
        unsigned level;
        enum plan_cause cause;
        uint16_t class;
        bool spare, asks;
        struct asker asker;
};

#define HOPELESS_MAX 512                /* others take their place */

struct preempt_scratch {
        struct hopeless hopeless[HOPELESS_MAX];
        uint64_t terms_version;         /* as of which, and from when on ... */
        int64_t terms_from_ms, terms_end_ms;    /* ... nobody becomes eligible before */
        struct bound *bounds;
        uint32_t bounds_room;
        struct near_spot *spots;
        uint32_t spots_count, spots_room;
        struct near_domain *domains;
        uint32_t domains_count, domains_room;
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
        const struct near_domain *domain;       /* to be kept to; NULL: all nodes */
        uint32_t target;                /* MOVE: the node that it goes to; NONE: any but its own */
        uint16_t shut;                  /* devices of each node that are not to be used */
        bool failed;                    /* out of memory */
};

/* preempt.c: the number of the next plan; whether the tables take one for the bucket's work; the
 * memo's scratch (NULL: out of memory). */
uint32_t plan_next(const struct state *state);
bool plan_can_be(const struct state *state, const struct bucket *bucket);
struct preempt_scratch *preempt_scratch_of(struct memo *memo);

/* preempt_terms.c */
uint64_t units_held(const struct state *state, uint32_t slot);
bool may_stop(const struct state *state, uint32_t slot, const struct beneficiary *beneficiary);
/* Whether exactly this part can be taken of the device. */
bool part_goes(const struct model *model, const struct device_state *device,
               const struct part *part);
/* A node that was described anew may hold more than it has. */
bool has_left(uint32_t all, uint32_t held, uint64_t more);

/* preempt_node.c: the node as it is, without the victims chosen so far; then without one more. */
void spare_node_init(const struct search *search, struct spare_node *node);
void spare_node_without(const struct search *search, struct spare_node *node, uint32_t slot);
/* Whether all but devices is enough for one more member. */
bool spare_node_has_room(const struct search *search, const struct spare_node *node);
/* Lists who may be stopped on the node into the scratch (`local`); false: out of memory. */
bool search_list_local(struct search *search, uint32_t node);
/* Of those listed, marks who is needed for one more member, the least loss first, not more than
 * `most`; the node is without them then. False, and the node unchanged: not possible. */
bool search_clear_node(struct search *search, struct spare_node *node, uint64_t most,
                       uint64_t *ret_cost, struct move *ret_move);
/* What a member on the node would cost at most `most`: into the node. Out of memory:
 * search->failed. */
void search_price_node(struct search *search, struct spare_node *node, uint64_t most);

/* preempt_search.c: whether the node is open to the beneficiary at all. */
bool search_admits(const struct search *search, uint32_t number);
/* The least that anything on the node would lose; nothing fits there without a stop. */
uint64_t search_least_loss(const struct search *search, uint32_t node);
/* Places all members at the least loss, in the search's domain where it has one, into the scratch;
 * false: not possible for `most`, or search->failed. */
bool search_places(struct search *search, uint64_t most, uint64_t *ret_cost);

/* preempt_known.c: whether the same search has found nothing, and nothing that matters has changed;
 * and that it found nothing. */
bool search_is_hopeless(const struct search *search, uint64_t most);
void search_was_hopeless(const struct search *search, uint64_t most);

/* preempt_near.c: search_places() in the domain of the form's required level that loses least. */
bool search_near(struct search *search, uint64_t most, uint64_t *ret_cost);
/* Whether the plan's places still lie to each other as the form requires. */
bool plan_lies_well(const struct state *state, const struct plan *plan);
