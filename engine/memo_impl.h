/* memo_impl.h - the inside of the memo, shared by the engine's placing code only.
 *
 * Words: a `spot` is a device condition (model + device state), interned; a `kind`
 * is what does not change about a node; a `view` is a node as scores see it; a
 * `class` is all nodes with the same view.
 */
#pragma once

#include "base/map.h"
#include "engine/decide.h"
#include "engine/fragment.h"
#include "engine/memo.h"
#include "engine/price.h"
#include "engine/state.h"

struct asker;
struct contending;
struct line;
struct place;
struct preempt_scratch;

#define SPOTS_MAX (1u << 20)            /* more conditions than this: the memo starts anew */

struct spot {
        struct device_state state;      /* holders only as 0 or 1 */
        uint8_t model;
        bool idle;
        uint16_t free_milli;            /* of compute, for shares: 1000 when idle */
        uint32_t free_units;
        int32_t fragment;               /* workload-blind, see policy_gradient.c */
        uint64_t order;                 /* by content: fullest first */
        int32_t price[PRICE_LEVELS];       /* where it is not idle */
};

/* How a shape takes one part of a spot. */
struct step {
        uint32_t next;                  /* spot after; STEP_UNKNOWN, STEP_NEVER */
        uint16_t room;                  /* parts that fit at once */
        struct part part;
};
#define STEP_UNKNOWN 0u                 /* spot numbers start at 1 */
#define STEP_NEVER   UINT32_MAX

struct kind {
        /* Model, devices, plane, labels, artifacts; and memory, disk and network in full, so that a
         * class does not mix nodes that can hold a need with nodes that never can. The rest is 0.
         */
        struct node_desc desc;
};

struct view {
        uint32_t kind;
        uint32_t cpu_free;              /* milli cores, floored to the policy's bucket */
        uint32_t held;                  /* bit = HELD_ class present; only where the policy asks */
        int64_t closes_ms;              /* node_closes_ms() */
        uint8_t model;
        uint8_t count;                  /* devices */
        uint8_t idle;
        uint32_t free_units;
        uint32_t spots[NODE_DEVICES_MAX];       /* by spot order: fullest first */
};

struct class {
        struct view view;
        uint32_t root;                  /* pairing heap of nodes by rank */
        uint32_t nodes;
        uint32_t next_hash;
        uint32_t active_at;             /* place in memo->active */
        bool dropped;                   /* some shape found no room on any of its nodes */
        int64_t value;                  /* policy's own value of the view */
        int32_t price[PRICE_LEVELS];       /* sum over devices, idle ones included */
};

/* What rules most classes out for most shapes, side by side so that looking costs no cache miss. */
struct brief {
        uint32_t stamp;                 /* as the class's; 0 while it has no nodes */
        uint32_t cpu_free;
        uint32_t kind;
        uint16_t most_milli;            /* largest free compute of one device */
        uint8_t idle;
};

struct node_link {                      /* pairing heap inside a class */
        uint32_t class, child, next, prev;
        uint32_t kind;
        bool held;                              /* it stands in memo->held */
        uint64_t kind_version;                  /* state->nodes_version + 1 it was looked up at */
        uint64_t trust_search;                  /* the newest one that met the node */
        uint32_t trusts[NODE_DEVICES_MAX];      /* by device: see index_trust.c */
        uint32_t spots[NODE_DEVICES_MAX];       /* by device number */
};

struct entry {                          /* of a shape's heap */
        int64_t key;
        uint32_t rank, class, stamp, pad;
};

/* Whom a heap is for: everybody, or who lies beside nobody's shares. */
enum heap_kind { HEAP_ALL, HEAP_ALONE, HEAP_KINDS };

/* What a shape's heap of scored classes needs; see index.c. */
struct shape_heap {
        struct entry *entries;
        uint32_t count, room;
        uint64_t cursor;                /* into memo->log; 0 = never read */
};

/* Shapes that differ only in memory, disk and network look alike to every score: they share it. */
struct look {
        uint32_t shape;                 /* one of them */
        struct step *steps;             /* by spot */
        uint32_t steps_room;
        uint8_t *admits;                /* by kind: 0 unknown, 1 no, 2 yes */
        uint32_t admits_room;
};

struct activation {
        uint32_t class, stamp;
};

/* A candidate: which devices of a view are taken and what they become. */
struct move {
        uint8_t count;
        uint8_t at[NODE_DEVICES_MAX];           /* places in view.spots */
        uint32_t from[NODE_DEVICES_MAX];        /* spots before */
        uint32_t next[NODE_DEVICES_MAX];        /* spots after */
        struct part parts[NODE_DEVICES_MAX];
};

struct policy_ops {
        uint32_t bucket_milli;          /* cores are seen in steps of this */
        bool by_name;                   /* equal scores: first by node name, else by node number */
        bool wants_held;
        /* Value of a view for its own use in `score`; may fill class->price. NULL: 0. */
        int64_t (*value)(const struct memo *memo, struct class *class);
        /* Higher is better. `class` is the node before. */
        int64_t (*score)(const struct memo *memo, const struct need *need,
                         const struct class *class, const struct move *move);
        /* Between options of one device that cost equal units; smaller is better. NULL: first. */
        int64_t (*option)(const struct model *model, const struct part *part,
                          const struct device_state *after);
};

struct memo {
        struct policy policy;
        enum memo_mode mode;
        const struct policy_ops *ops;   /* of the policy, or of what stands in for it now */
        const struct state *state;      /* as of the last sync */

        struct spot *spots;             /* number 0 is never used */
        uint32_t spots_count, spots_room;
        struct map spot_by_hash;
        struct kind *kinds;
        uint32_t kinds_count, kinds_room;
        struct map kind_by_hash;

        struct class *classes;
        struct brief *briefs;           /* by class */
        uint32_t classes_high, classes_free;
        uint32_t *class_table;          /* hash heads; a power of two */
        uint32_t class_table_room;
        uint32_t *active;               /* classes with nodes */
        uint32_t active_count;
        uint32_t stamp;

        struct node_link *links;        /* by node */
        uint32_t *ranks;                /* by node */
        uint32_t *held;                 /* nodes with a capacity hold, in any order */
        uint32_t held_count;
        uint32_t nodes_room;            /* of links, ranks, held, classes, active, log */
        uint64_t ranks_version;

        struct activation *log;         /* ring */
        uint32_t log_room;
        uint64_t log_count;             /* starts at 1: cursor 0 means "never read" */

        struct look *looks;
        uint32_t looks_count, looks_room;
        struct map look_by_hash;
        uint32_t *look_of;              /* by shape */
        uint32_t look_of_room;
        struct shape_heap *heaps;       /* HEAP_KINDS of each shape */
        uint32_t heaps_count, heaps_room;       /* shapes; entries */
        struct trust_nodes *trusts;     /* by trust domain; see index_trust.c */
        uint32_t trusts_room;
        uint64_t trust_searches;
        struct entry *aside;
        uint32_t aside_room;

        bool synced;
        /* A place was found and then not allowed, which no table shows: more memory or slices than
         * the least. Another place may do at any time, so nobody is known not to fit. */
        bool refused_late;
        bool out_of_memory;             /* a line, or the index: decide() gives up */
        bool failed;                    /* some table was full: nothing found now counts */
        uint64_t changes_seen, plan_seen, policy_seen;

        struct fragment_target target;  /* of the plan's demand */

        /* decide: */
        struct fact *facts;
        uint32_t facts_count, facts_room;
        struct line *lines;             /* by bucket; see order.h */
        uint64_t *blocked;              /* by bucket: state->freed + 1 when it did not fit */
        uint64_t *feasible;             /* by bucket: state->nodes_version + 1 when it could fit */
        uint64_t *feasible_alone;       /* by shape: the same for one member without wishes */
        uint32_t *next_of_shape;        /* by bucket: another one of its shape; NONE */
        uint32_t buckets_room, buckets_listed;
        struct contending *contending;  /* by bucket; see queue_impl.h */
        uint32_t *open;                 /* scratch: buckets that may fit, whose turn it is first */
        uint32_t open_room;
        bool open_is_heap;              /* else only the top is known */
        struct {                        /* what all contenders depend on, as of the epoch */
                uint64_t epoch;
                uint64_t order_version, nodes_version, policy_version, arrays_version;
                uint64_t capacity_models;
        } contend;
        uint64_t *tight;                /* by shape: state->freed + 1 when nothing fitted */
        uint32_t *first_of_shape;       /* by shape: a bucket; NONE */
        uint32_t tight_room, shapes_listed;
        uint32_t *hold_for;             /* scratch of hold.c, by node */
        int64_t *hold_until;
        struct place *hold_places;
        uint32_t hold_room, hold_places_room;
        struct preempt_scratch *preempt;
        bool settled;
        uint64_t settled_freed, settled_arrivals;
        struct gang_scratch *gang;
        size_t bytes;
};

/* memo.c: forgets what it knew of another state. */
void memo_adopt(struct memo *memo, const struct state *state);
/* Brings the memo up to the state. 0 or -ERR_NOMEM (the memo is then empty, not wrong). */
int memo_sync(struct memo *memo, const struct state *state, struct err *err);
bool view_of_node(struct memo *memo, uint32_t node, struct view *ret_view);     /* false: no room */
uint32_t node_held_mask(const struct node *node);       /* bit = HELD_ class that lies there */
void view_settle(const struct memo *memo, struct view *view);   /* sorts spots, sums them up */
/* Grows an array of the memo to hold index `need`; false: out of memory. */
bool memo_room(struct memo *memo, void *array_pointer, uint32_t *room, uint32_t need, size_t size);

/* spot.c. 0 and NULL: no room; memo->failed is set, and the search is done once more. */
uint32_t spot_intern(struct memo *memo, unsigned model, const struct device_state *state);
const struct step *spot_step(struct memo *memo, uint32_t look, uint32_t spot);
int spot_compare(const struct memo *memo, uint32_t a, uint32_t b);

/* class.c */
void class_join(struct memo *memo, uint32_t node, const struct view *view);
void class_leave(struct memo *memo, uint32_t node);
/* The node after `node` in a walk from the class's root: ranks grow downwards; `down` false: past
 * all below it. NONE: that was the last one. */
uint32_t class_next(const struct memo *memo, uint32_t node, bool down);
/* The lowest-ranked node of the class with room for the need itself; NONE. */
uint32_t class_first(const struct memo *memo, uint32_t class, const struct need *need);
/* Builds a class by value, outside the table, for scores of what does not exist (yet). */
void class_make(const struct memo *memo, const struct view *view, struct class *ret_class);

/* evaluate.c: the best move of one member on a class. False: it does not fit there (cores by the
 * bucket's upper end: the exact check is the node's). `barred`: places in view.spots that are not
 * to be used; of equal spots the last ones. */
bool evaluate(struct memo *memo, uint32_t look, const struct class *class, uint32_t barred,
              int64_t *ret_key, struct move *ret_move);
/* False: `evaluate` would say false; true: it might say true. */
bool may_fit(struct memo *memo, uint32_t look, const struct brief *brief);
/* Any move that fits, by `draw`. */
bool draw_move(struct memo *memo, uint32_t look, const struct class *class, uint32_t barred,
               uint64_t draw, struct move *ret_move);

/* Which nodes somebody may use: of these device models, open until then (drain.h). */
struct place_right {
        uint64_t models;
        int64_t leaves_ms;
        const struct asker *asker;      /* whom isolate.h may bar; NULL: nobody */
};

/* Best entry on top: highest key, then lowest rank. */
static inline bool entry_before(const struct entry *a, const struct entry *b)
{
        return a->key != b->key ? a->key > b->key : a->rank < b->rank;
}

bool class_is_open(const struct memo *memo, uint32_t class, struct place_right right);

/* index.c: the best node for one member of the shape; NONE: it fits nowhere (or memo->failed).
 * `draw` is what the policy `random` mixes into its seed. For an asker, the devices of the move are
 * chosen; else that is left to move_lay(). */
uint32_t index_best(struct memo *memo, uint32_t shape, struct place_right right,
                    uint64_t draw, struct move *ret_move);
/* Whether a look at what has changed is enough to say that the shape fits nowhere, for anybody;
 * false: it may fit. */
bool index_is_empty(struct memo *memo, uint32_t shape);
/* index_best() of one node, whether or not it stands in a class. */
bool node_best(struct memo *memo, uint32_t shape, uint32_t node, const struct asker *asker,
               int64_t *ret_key, struct move *ret_move);

/* index_apart.c: the same where devices of a node may be barred.
 * From conditions to devices that are not barred; false: there are not enough. The lowest one in
 * each; cut ones first where a slice is placed, uncut ones first where it is not, so that nothing
 * is switched without need. */
bool move_lay(const struct memo *memo, uint32_t node, uint32_t bars, struct move *move);
/* A condition that stands for any barred device; 0: memo->failed. */
uint32_t barred_spot(struct memo *memo, unsigned model);
/* evaluate() for one node of the class, and its devices: the best of all moves where that goes on
 * devices that are not barred; else the best without them, with no better key than its class. */
bool barred_best(struct memo *memo, uint32_t shape, uint32_t node, const struct class *class,
                 const struct asker *asker, int64_t *ret_key, struct move *ret_move);
/* The same by `draw`: any move. */
bool barred_draw(struct memo *memo, uint32_t shape, uint32_t node, const struct asker *asker,
                 uint64_t draw, struct move *ret_move);
/* The best node of the class, whose key is `key`, by that and by rank; NONE. */
uint32_t barred_first(struct memo *memo, uint32_t shape, uint32_t class, int64_t key,
                      const struct asker *asker, int64_t *ret_key);

/* index_trust.c: shares of one trust domain lie on few nodes; the rest of the pool looks alike to
 * all domains: what holds a share is not for them.
 * Notes whose shares lie on the node. False: out of memory. */
bool trust_follow(struct memo *memo, uint32_t node);
void trust_forget(struct memo *memo);
/* Whether nothing but shares can bar it, and its domain has few enough nodes to look at each. */
bool trust_is_apart(const struct memo *memo, uint32_t shape, const struct asker *asker);
/* Of those nodes where a device with shares of its domain takes one more: the best. NONE. */
uint32_t trust_best(struct memo *memo, uint32_t shape, struct place_right right,
                    struct entry *ret_best);
/* Places in the view of devices that hold shares. */
uint32_t shared_places(const struct memo *memo, const struct view *view);

/* policy_*.c */
const struct policy_ops *policy_ops_of(const struct memo *memo, const struct state *state);
extern const struct policy_ops policy_first_fit, policy_best_fit, policy_worst_fit, policy_packing,
        policy_clustering, policy_dot_product, policy_gradient, policy_fgd, policy_fgd_compact,
        policy_price, policy_random;
int64_t option_by_gradient(const struct model *model, const struct part *part,
                           const struct device_state *after);
int32_t gradient_fragment(const struct model *model, const struct device_state *state);
void price_spot(const struct memo *memo, struct spot *spot);
int64_t tie_by_fullness(const struct view *view);
