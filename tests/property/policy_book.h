/* policy_book.h - what a pool and its policy come to, kept by following the facts the plain way.
 *
 * Shares no sums and no rules with the engine: it knows documents' numbers (tenancy.h), device
 * models, and what the words of the policy mean. policy_book.c follows, policy_law.c judges what
 * starts and ends, policy_plan.c judges plans of preemption, policy_empty.c drains and maintenance,
 * policy_idle.c what is done about idle work, policy_silent.c what is lost, asked for and saved.
 */
#pragma once

#include "engine/maintenance.h"
#include "engine/state.h"
#include "engine/tenancy.h"
#include "engine/units.h"

/* What is promised, how often it was looked at. */
#define PROMISES(X)                                                                     \
        X(UNITS,    "no unit twice: a part goes with what lies on its device")          \
        X(PLACES,   "work lies where it may, in the room that there is")                \
        X(GANGS,    "gangs are placed whole, near and spread as they must")             \
        X(LIMITS,   "nothing starts above a limit")                                     \
        X(INSIDE,   "what is protected lies inside what was promised")                  \
        X(SPARED,   "protected work is not told to stop")                               \
        X(NOTICE,   "nobody is stopped who was not told to")                            \
        X(PROVEN,   "when a plan's victims are gone, its places fit exactly")           \
        X(NEEDED,   "without any one victim of a plan, they do not")                    \
        X(NEAR,     "a plan's members lie as near as they must")                        \
        X(HELD,     "nodes held for a gang lie as near, and are as spread, as it must") \
        X(TERMS,    "classes' terms: stop, exempt, stops a day")                        \
        X(RATE,     "not more is stopped in a while than the rules say")                \
        X(LOCKS,    "a plan's devices are taken by nobody else")                        \
        X(HANDED,   "a plan that is done gives its beneficiary its places")             \
        X(BUDGETS,  "who used up a budget is refused, or starts as spare")              \
        X(HOLDS,    "who is held does not start: owner, after, start, array")           \
        X(FROZEN,   "where it is frozen nothing starts and nobody is told to stop")     \
        X(EMPTY,    "nothing starts that would stay into a maintenance window")         \
        X(TOLD,     "who is to leave is told in time, in full and no earlier than needed") \
        X(IDLE,     "idle work is warned, spare or told as its class says: in time, once a spell") \
        X(LOST,     "who is lost had a part there, and waits again unless it may start but once") \
        X(SILENT,   "a place is given up when nothing may run any more in any place of the gang") \
        X(DOWN,     "a node that is only described, or silent, is down until it is there") \
        X(TORN,     "a device that breaks stays broken while anything lies on it")      \
        X(ASKED,    "who is asked to stop or move is told just that, and waits again after it") \
        X(SAVED,    "a checkpoint counts from when it was made; an older one says nothing") \
        X(LEDGER,   "the ledger adds up, to the pool's devices and to what work holds") \
        X(CHECKED,  "the state's own invariants")                                       \
        X(ALIKE,    "the same facts with a memo made anew")                             \
        X(REBUILT,  "facts alone make the same state")                                  \
        X(REPLAYED, "the same inputs make the same state, looking at every node")       \
        X(STARTS,   "who only waits for others starts in the end")

enum promise_kind {
#define X(name, text) PROMISE_##name,
        PROMISES(X)
#undef X
        PROMISES_END
};

enum {
        BOOK_NODES = 24,
        BOOK_WORKS = 3000,
        BOOK_MEMBERS = 8,
        BOOK_PARTS = 64,
        BOOK_PLANS = 64,
        BOOK_TENANTS = 64,
};

struct book_part {
        struct part part;
        uint32_t work;
};

struct book_device {
        struct book_part parts[BOOK_PARTS];
        unsigned count;
        bool broken;
        uint16_t foreign;
        uint32_t kept_for;              /* plan + 1 */
};

struct book_node {
        bool here, up, silent;          /* silent: not up, and what continues may still run */
        struct node_desc desc;
        struct book_device devices[NODE_DEVICES_MAX];
        uint64_t cpu, ram, disk, network;       /* held by members */
};

struct book_place {
        uint32_t node;
        uint8_t count;
        struct part parts[NODE_DEVICES_MAX];
};

enum work_status { WORK_NONE, WORK_WAITS, WORK_RUNS, WORK_GONE };

struct book_work {
        uint8_t status;                 /* enum work_status */
        uint8_t end;                    /* enum release_cause; WORK_GONE */
        struct request request;         /* tenant, class: of the policy in force */
        bool user_held;
        int64_t queued_ms, waited_ms;   /* since when it waits; and before that */
        int64_t since_ms, attained_ms, saved_ms;
        uint8_t standing;
        int64_t notice_until_ms;
        int64_t leave_by_ms;            /* told for a drain or maintenance; 0: not for that */
        int64_t stays_ms;               /* when it was last told that it may stay */
        bool told_idle;                 /* to stop, as nobody uses its devices */
        bool told_moves;                /* to stop, and its plan has places for it elsewhere */
        bool told_asked;                /* to stop, as its owner wants */
        int64_t idle_since_ms;          /* 0: in use */
        uint8_t idle_done;              /* enum idle_then: in this spell */
        bool demoted;                   /* spare by that */
        bool continues;                 /* as its class said when it started: without contact */
        uint32_t plan;                  /* plan + 1: that it is a victim of */
        int64_t stops_day;
        unsigned stops;
        unsigned placed;
        struct book_place places[BOOK_MEMBERS];
        bool vanishes;                  /* a plan is being proved: as if it were gone */
        bool started;                   /* in the group that is looked at */
        /* What it does; only the test knows. */
        int64_t need_ms, delay_ms;
        int64_t age_ms;                 /* of its checkpoints when they are told */
        bool fails;
};

struct book_plan {
        bool live;
        struct fact_planned fact;
        unsigned places_count;
        struct book_place places[BOOK_MEMBERS];
};

struct book_budget {
        int64_t from_ms, until_ms;
        unit_ms used, used_at_tick;
};

struct book {
        const struct model_table *models;
        const struct vocab *vocab;
        const struct tenancy *tenancy;
        struct book_node nodes[BOOK_NODES];
        struct book_work works[BOOK_WORKS];     /* by id: an id is used once */
        uint64_t last_id;
        struct book_plan plans[BOOK_PLANS];
        struct book_plan handed;        /* that was done in this group */
        bool frozen;
        uint16_t frozen_planes[8];
        unsigned frozen_count;
        struct maintenance maintenance;
        struct book_budget budgets[BOOK_TENANTS][TENANT_BUDGETS_MAX];
        const struct input *input;      /* that the group is about */
        int64_t now_ms, ticked_ms;
        int64_t rate_from_ms;           /* rules.stop_rate */
        uint64_t rate_units;
        uint64_t checked[PROMISES_END];
        uint64_t seen[FACTS_END];
        uint64_t causes[PLAN_CAUSES_END];
        uint64_t idle[IDLE_THENS_END];  /* what was done about idle work, how often */
        uint64_t rises;                 /* of work that was spare for it */
        char why[512];
};

#define BOOK_FAIL(book, ...) (snprintf((book)->why, sizeof(book)->why, __VA_ARGS__), false)

void book_init(struct book *book, const struct model_table *models, const struct vocab *vocab);

/* Time passes; budgets are counted. */
void book_time(struct book *book, int64_t now_ms);
/* Follows a group of facts and judges it. False: book->why says what is broken. */
bool book_group(struct book *book, const struct input *input, const struct fact *facts,
                uint32_t count);

/* After a policy came into force: standings come out anew, without facts of their own. */
bool book_standings(struct book *book, const struct state *state);

/* ---- shared by the parts of the book ---- */

struct book_work *book_work(struct book *book, uint64_t id);    /* NULL: never queued */
const struct service_class *book_class(const struct book *book, const struct book_work *work);
const struct model *book_model(const struct book *book, uint32_t node);
bool book_is_frozen(const struct book *book, uint32_t node);
/* One of its nodes, or nobody hears of that: it is told nothing. */
bool book_lies_frozen(const struct book *book, const struct book_work *work);
bool book_lies_well(const struct book *book, uint32_t node, uint16_t tenant,
                    const struct part *part);
/* Whether node, plane and labels let it in; says nothing of room. */
bool book_admits(const struct book *book, uint32_t node, const struct need *need);
void book_put(struct book *book, uint32_t work, uint32_t node, const struct part *parts,
              unsigned count);
uint64_t book_part_units(const struct model *model, const struct part *part);
uint64_t book_units(const struct book *book, const struct book_work *work);
bool book_below(const struct tenancy *tenancy, uint16_t tenant, uint16_t above);
/* Members lie to each other and the fabric as they must. */
bool book_lies_as_wished(const struct book *book, const struct form *form,
                         const struct book_place *places, unsigned count);

bool law_starts(struct book *book, struct book_work *work);     /* what started in this group */
bool law_raised(struct book *book, struct book_work *work, bool was_spare);
bool law_queued(struct book *book, const struct request *request);
bool law_policy(struct book *book, const struct tenancy *tenancy);
bool law_leaves(struct book *book, const struct book_work *work);
bool law_told(struct book *book, const struct fact *fact);
bool law_stays(struct book *book, uint64_t id);
bool law_all_told(struct book *book);
bool law_use(struct book *book, const struct use_report *use);
bool law_idle(struct book *book, struct book_work *work, enum idle_then then);
bool law_idle_stays(const struct book *book, const struct book_work *work);
bool law_standing(struct book *book, struct book_work *work, enum standing standing);
bool law_idle_policy(struct book *book, struct book_work *work);
bool law_all_idle(struct book *book);
/* `again`: it waits; else it is gone. */
bool law_lost(struct book *book, const struct book_work *work, const struct input *input,
              bool again);
/* Before the node is described anew. */
bool law_torn(struct book *book, uint32_t node, const struct node_desc *desc);
bool law_silent(struct book *book, uint32_t node, bool silent); /* after its INPUT_NODE_FAILED */
bool law_asked(struct book *book, struct book_work *work, const struct fact_noticed *noticed);
bool law_saved(struct book *book, struct book_work *work, int64_t saved_ms);
bool plan_law(struct book *book, const struct fact *facts, uint32_t count, uint32_t at);
