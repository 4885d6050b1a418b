/* explain_impl.h - shared by explain*.c only: asks a state about work that may not exist. */
#pragma once

#include "base/map.h"
#include "engine/explain.h"
#include "engine/memo_impl.h"
#include "engine/order.h"

/* Whoever might start: waiting work, or a request in its place. */
struct asking {
        uint32_t id;                    /* equal ones have equal needs; see explainer.asked */
        struct need need;
        struct form form;
        int32_t priority;
        uint16_t tenant, class;
        bool spare;
        bool is_isolated;               /* something may bar it from somewhere: isolate.h */
        struct asker asker;
        uint32_t slot;                  /* whose capacity hold is its own; NONE */
        int64_t gone_ms;                /* expected end, for held nodes; INT64_MAX: stays */
        int64_t leaves_ms;              /* nodes that close before then are not for it: drain.h */
        uint64_t models;                /* on which it can ever lie */
        struct part_fit fits[MODELS_MAX];
        /* Of one member on the model: the least it takes, and the most. */
        uint32_t units[MODELS_MAX], units_most[MODELS_MAX];
        uint32_t memory_mib[MODELS_MAX], memory_most[MODELS_MAX];
        int8_t profile[MODELS_MAX];     /* that limits count, of its least part; -1: none */
};

/* As what it could start on which device models; and what stands against the others. */
struct rights {
        uint64_t models[STANDINGS_END];
        uint64_t limited, unfunded, kept;       /* models, by gate: LIMIT, BUDGET, ORDER */
        bool jobs, refused;             /* too many run; a budget that refuses is empty */
        bool never;                     /* alone above a limit, on every model */
};

/* Who else waits and might go first if something changed; filled in by explain_position(). */
struct rivals {
        uint32_t ahead_on[MODELS_MAX];  /* before it, and could lie on the model */
        uint32_t ahead_cpu;             /* before it, and need no device */
        uint32_t ahead_in_tree;         /* before it, of its root tenant */
        uint32_t barred_in_tree;        /* of its root tenant, that no gate lets through now */
        uint32_t barred;                /* of all tenants */
        uint32_t swayed;                /* of its tree: less borrowed may bring them before it */
        uint32_t held, timed;           /* that may get a capacity hold; wait for a start time */
};

struct explainer {
        struct memo *memo;
        const struct state *state;
        int64_t now_ms;
        uint16_t *rooms;                /* by spot: parts it can take, + 1; 0: not known */
        uint32_t rooms_room;
        uint8_t *shorts;                /* by class: 0 not known, 1 has devices enough, 2 has not */
        uint8_t *codes;                 /* by class: why its devices are not enough, + 1 */
        uint32_t classes_room;
        uint32_t rooms_of;              /* id of the asking that they are for; 0: nobody */
        uint32_t asked;                 /* ids given */
        struct map domains;
        uint64_t *sums;
        uint32_t sums_room;
        uint32_t where_labels, where_meets;     /* newest answer + 1 */
        struct rivals rivals;
        bool is_brief;                  /* neither position nor ways out */
        bool failed;
};

/* ---- explain.c ---- */

int explainer_init(struct explainer *x, struct memo *memo, const struct state *state,
                   int64_t now_ms, struct err *err);
void explainer_done(struct explainer *x);

/* ---- explain_asking.c ---- */

void asking_of_slot(struct explainer *x, uint32_t slot, struct asking *ret_asking);
void asking_of_request(struct explainer *x, const struct request *request, uint32_t slot,
                       struct asking *ret_asking);

/* Whether it would start at once, in turn with nobody: then as what. Sure: with `sure`, whichever
 * parts are chosen; else as the engine's admission sees it. */
bool would_start(struct explainer *x, const struct asking *asking, const struct what_if *what_if,
                 bool sure, enum standing *ret_standing);
/* Whether what it may start as hangs on units alone, not on limits of memory or slices. */
bool is_certain(const struct state *state, const struct asking *asking);
bool tables_hold_asking(const struct state *state, const struct asking *asking);
/* Whether it would be queued: rights.h, which narrows it; no rule against one more job; room in the
 * engine's tables. */
bool may_come(const struct state *state, struct request *request);

/* ---- explain_rights.c ---- */

/* What a start is taken to hold: the least of all it counts for, as the engine's admission does; or
 * the most. */
enum measure { MEASURE_LEAST, MEASURE_MOST };

/* A limit that binds. */
struct bind {
        uint16_t tenant, dimension;
        uint64_t used, limit, after;
        bool over, alone;               /* forbidden; by what this workload alone needs */
        bool any;                       /* something was looked at that has a number */
};

/* What one start on that model would hold. */
void holding_on(const struct asking *asking, unsigned model, enum measure measure,
                struct holding *holding);
/* Limits from the tenant up to its root: the first that forbids it, else the tightest. Returns how
 * many forbid it; `ret_alone`: what forbids it would if nothing else were held. */
uint32_t bind_limits(const struct state *state, const struct what_if *what_if, uint32_t tenant,
                     const struct holding *holding, struct bind *ret_bind, bool *ret_alone);
void rights_of(const struct state *state, const struct asking *asking,
               const struct what_if *what_if, enum measure measure, struct rights *ret_rights);

/* ---- explain_gates.c ---- */


/* Numbers of the gates that have some: JOBS, LIMIT, BUDGET, ORDER. */
void gates_fill(const struct state *state, const struct asking *asking, const struct rights *rights,
                struct explained_gate *gates);
/* Whether the rules refuse one more job at submission; then the gate's numbers say where. */
bool refuses_more_jobs(const struct state *state, uint16_t tenant, struct explained_gate *gate);
/* The limits that forbid it, and what they would have to be: on running jobs; and, added to `count`
 * of them, on what it would hold on that model. Returns how many there are then, EXPLAIN_RAISES_MAX
 * + 1 for more; 0 where one of them is `none`. */
uint32_t raises_of_jobs(const struct state *state, uint16_t tenant,
                        struct limit_raise *ret_raises);
uint32_t raises_needed(const struct state *state, const struct asking *asking, unsigned model,
                       uint32_t count, struct limit_raise *ret_raises);

/* ---- explain_room.c ---- */

/* Claims of others that are looked through. */
enum { THROUGH_HOLDS = 1, THROUGH_LOCKS = 2, THROUGH_BOTH = 3 };

/* Parts of the asking's kind that each device of the node can take; kept ones, too, through
 * locks. */
void node_rooms(struct explainer *x, const struct asking *asking, const struct what_if *what_if,
                uint32_t node, unsigned through, uint32_t rooms[NODE_DEVICES_MAX]);
/* Members that the devices from `first` on can take. */
uint32_t node_members(struct explainer *x, const struct asking *asking,
                      const struct what_if *what_if, uint32_t node, unsigned first, unsigned count,
                      const uint32_t *rooms);
/* As gang_feasible(): whether the pool as it is described could hold it if it were empty. */
bool could_ever_fit(struct explainer *x, const struct asking *asking);
/* Whether a maintenance window begins there before it could be gone. */
bool closes_too_soon(const struct explainer *x, const struct asking *asking, uint32_t node);
/* Whether nodes like that are for its class, tenant and data at all. */
bool kind_wanted(const struct explainer *x, const struct asking *asking,
                 const struct node_desc *desc);
bool node_wanted(struct explainer *x, const struct asking *asking, uint32_t node);
bool node_open(const struct explainer *x, const struct asking *asking, uint32_t node,
               unsigned through);
/* The most members that fit together now, up to form.members. */
uint32_t members_fit(struct explainer *x, const struct asking *asking,
                     const struct what_if *what_if, uint64_t models, unsigned through);

/* ---- explain_codes.c ---- */

struct looking {
        struct explainer *x;
        const struct asking *asking;
        const struct asking *anywhere;  /* the same, kept apart from nobody */
        const struct rights *rights;
        uint64_t barred;                /* models the tenant may not use at all */
        bool near_short;                /* only nearness or spread is in the way */
};

/* Why no member lies on the node now; FITS: so many would. */
enum node_code code_of_node(struct looking *it, uint32_t number, uint32_t *ret_members);

/* ---- the other parts ---- */

int explain_groups(struct explainer *x, const struct asking *asking, const struct rights *rights,
                   struct explanation *explanation, struct err *err);
int explain_position(struct explainer *x, const struct asking *asking, struct explanation *ret,
                     struct err *err);
/* explain_nearest.c: unblocks that change the request, and the others; added to ret->nearest. */
void nearest_requests(struct explainer *x, struct explanation *ret);
void nearest_others(struct explainer *x, const struct asking *asking, struct explanation *ret);
struct explained_unblock *nearest_add(struct explanation *ret, enum unblock_kind kind,
                                      enum standing standing);    /* NULL: there are enough */
