/* tenancy.h - the policy in numbers: who is promised what, and what may happen to whose work.
 *
 * Pure data: no clock, no I/O; read from a document by proto/policy_doc.h. Made once, then only
 * read: one revision is one object, and a new document makes a new one. Device models are ids of
 * the model table it was read against; planes, trust domains and data labels are bits of masks.
 * Units: devices in units (units.h: 126,000 a device), cores in thousandths, memory in MiB, time
 * in ms, weights in thousandths.
 *
 * The five words of a tenant that the engine decides by:
 *   protect  never lost while there is demand for it; work inside it is `protected`
 *   limit    the most the tenant (with all below it) holds as protected or standard work
 *   weight   its part of what is contended, against its siblings
 *   lend     how much of unused protect others may use
 *   budget   device-time a period; says what happens when it is empty, and never kills
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/alert_rules.h"
#include "engine/calendar.h"
#include "engine/model.h"
#include "engine/need.h"

struct err;

#define TENANTS_MAX         4096
#define TENANT_DEPTH_MAX    8           /* "a/b/c" is 3 deep */
#define TENANCY_WORD_MAX    32          /* one name: tenant, class, plane, domain, label */
#define TENANT_PATH_MAX     128         /* bytes with the final NUL; "research/nlp" */
#define TENANT_NONE         UINT16_MAX
#define CLASSES_MAX         64          /* a set of classes is one 64-bit mask */
#define CLASS_NONE          UINT16_MAX
#define PLANES_MAX          64          /* the same for planes, trust domains, data labels */
#define TRUSTS_MAX          64
#define DATA_LABELS_MAX     64
#define SLICE_LIMITS_MAX    24          /* different profiles named in limits */
#define TENANT_BUDGETS_MAX  8
#define TIME_SLICES_MAX     8
#define RESERVATIONS_MAX    256
#define RESERVED_MODELS_MAX 8           /* of one reservation */
#define PRINCIPALS_MAX      4096
#define GRANTS_MAX          16          /* tenants of one principal */
#define LABEL_NODES_MAX     4           /* node conditions of one data label */
#define POOL_DEVICES_MAX    1000000     /* no amount of devices is larger */

/* What is counted. Dimension m below MODELS_MAX is device model m, in units. */
#define COUNTED_DIMENSIONS(X)                                                           \
        X(ANY,               "any")               /* all models together, in units */   \
        X(JOBS,              "jobs")              /* queued and running workloads */    \
        X(RUNNING,           "running")           /* workloads that hold a place */     \
        X(CPU,               "cpu")               /* milli cores of work without device */ \
        X(MEMORY,            "memory")            /* MiB of device memory held by parts */ \
        X(TOKENS_PER_MINUTE, "tokens_per_minute") /* served */                          \
        X(ACTIVE_TOKENS,     "active_tokens")     /* in flight in model servers */

enum dimension {
        DIM_LAST_MODEL = MODELS_MAX - 1,
#define X(name, wire) DIM_##name,
        COUNTED_DIMENSIONS(X)
#undef X
        DIM_SLICES,                             /* the first profile of tenancy.profiles */
        DIMENSIONS_END = DIM_SLICES + SLICE_LIMITS_MAX
};
#define DEVICE_DIMENSIONS (DIM_ANY + 1)         /* models and any: those with weight and lend */

/* An amount is a number, or one of three words. 0 is a number. */
#define AMOUNT_ABSENT    UINT64_MAX             /* not said */
#define AMOUNT_UNLIMITED (UINT64_MAX - 1)
#define AMOUNT_NONE      (UINT64_MAX - 2)
#define AMOUNT_MAX       (UINT64_C(1) << 50)    /* the largest number */

static inline bool amount_is_number(uint64_t amount)
{
        return amount <= AMOUNT_MAX;
}

/* The number, and 0 for every word: for sums. */
static inline uint64_t amount_number(uint64_t amount)
{
        return amount_is_number(amount) ? amount : 0;
}

#define ON_EMPTIES(X)                                                                   \
        X(WARN,   "warn")       /* nothing but a notice */                              \
        X(DEMOTE, "demote")     /* what starts from now on is spare */                  \
        X(REFUSE, "refuse")     /* what is submitted from now on is refused */

enum on_empty {
#define X(name, wire) ON_EMPTY_##name,
        ON_EMPTIES(X)
#undef X
        ON_EMPTIES_END
};

struct budget {
        uint8_t dimension;                      /* a model, or DIM_ANY */
        uint8_t period;                         /* enum period, of the calendar in UTC */
        uint8_t on_empty;                       /* enum on_empty */
        uint64_t device_ms;                     /* whole devices x ms */
};

/* Parents stand before their children. */
struct tenant {
        char path[TENANT_PATH_MAX];             /* "research/nlp" */
        uint16_t parent;                        /* index, or TENANT_NONE */
        uint8_t depth;                          /* 1 for a root */
        uint8_t methods;                        /* METHOD_BIT set; parents' are in it already */
        uint16_t trust;                         /* domain, inherited already: index of one, or
                                                 * TRUSTS_MAX + a root: that root's own */
        uint64_t classes, planes;               /* may use; all ones = all; inherited already */
        /* Device dimensions, cpu and tokens. A number is this tenant's own promise, part of its
         * parent's. A parent that did not say one has the sum of its children's. ABSENT: no promise
         * of its own, it draws on what its ancestors have left; NONE: it does not even draw. A
         * number for any is at least the sum of those for models, and they are part of it. */
        uint64_t protect[DIMENSIONS_END];
        /* ABSENT and UNLIMITED: only ancestors' limits hold. NONE: may not use it at all (gate
         * ALLOWED). 0: holds it as spare work only. See tenancy_limit(). */
        uint64_t limit[DIMENSIONS_END];
        uint64_t each_jobs;                     /* as principal.jobs, of each person, in it and
                                                 * below; a grant's own word goes before */
        /* How much of unused protect others may use: a number, NONE or UNLIMITED (all of it).
         * Words are inherited already; an ancestor's number holds for all below it together. */
        uint64_t lend[DEVICE_DIMENSIONS];
        uint32_t weight_milli[DEVICE_DIMENSIONS];       /* 1000 where nothing was said */
        uint8_t budgets_count;
        struct budget budgets[TENANT_BUDGETS_MAX];      /* ancestors' hold too */
};

/* How devices may be shared; the first ones are those of enum method. */
#define METHOD_SERVE     METHODS_END
#define CLASS_METHODS    (METHODS_END + 1)
#define CLASS_METHOD_ALL ((1u << CLASS_METHODS) - 1)

/* What a class allows to happen to its running work. Protected work is never stopped for capacity,
 * whatever its class. */
#define STOPS(X)                                                                        \
        X(NEVER,       "never")       /* in no standing; it is never spare either */    \
        X(FOR_PROTECT, "for_protect") /* standard: for somebody's protect, and to gather room for \
                                       * wide work; spare: by all */                          \
        X(ALWAYS,      "always")      /* also for standard work that goes before it */

#define CLASS_ORDERS(X)                                                                 \
        X(ARRIVAL,  "arrival")                                                          \
        X(SHORTEST, "shortest")         /* expected duration, with ageing */

#define ABOVE_LIMITS(X)                                                                 \
        X(WAIT,  "wait")                                                                \
        X(SPARE, "spare")               /* starts as spare work when nobody needs the room */

#define IDLE_THENS(X)                                                                   \
        X(NOTHING, "nothing")                                                           \
        X(WARN,    "warn")                                                              \
        X(DEMOTE,  "demote")            /* becomes spare */                             \
        X(STOP,    "stop")              /* on the class's terms */

#define LOST_CONTACTS(X)                                                                \
        X(STOP_AT_LEASE, "stop_at_lease")                                               \
        X(CONTINUE,      "continue")    /* and is placed nowhere else without proof of its end */

#define COMMUNICATIONS(X)                                                               \
        X(UNKNOWN, "unknown")                                                           \
        X(LOW,     "low")                                                               \
        X(HIGH,    "high")              /* members exchange data at every step */

#define X(name, wire) STOP_##name,
enum stop { STOPS(X) STOPS_END };
#undef X
#define X(name, wire) ORDER_##name,
enum class_order { CLASS_ORDERS(X) CLASS_ORDERS_END };
#undef X
#define X(name, wire) ABOVE_LIMIT_##name,
enum above_limit { ABOVE_LIMITS(X) ABOVE_LIMITS_END };
#undef X
#define X(name, wire) IDLE_THEN_##name,
enum idle_then { IDLE_THENS(X) IDLE_THENS_END };
#undef X
#define X(name, wire) LOST_CONTACT_##name,
enum lost_contact { LOST_CONTACTS(X) LOST_CONTACTS_END };
#undef X
#define X(name, wire) COMMUNICATION_##name,
enum communication { COMMUNICATIONS(X) COMMUNICATIONS_END };
#undef X

#define STOPS_UNLIMITED UINT32_MAX

struct service_class {
        char name[TENANCY_WORD_MAX];
        uint32_t rank;                          /* smaller goes first; equal ranks are fine */
        uint8_t methods;                        /* 1u << method, METHOD_SERVE included */
        uint8_t stop;                           /* enum stop */
        uint8_t order;                          /* enum class_order */
        uint8_t above_limit;                    /* enum above_limit */
        uint8_t spread;                         /* enum spread_level: replicas and members */
        uint8_t idle_then;                      /* enum idle_then */
        uint8_t on_lost_contact;                /* enum lost_contact */
        bool by_weight;                         /* smallest borrowed/weight counts in the order */
        int64_t notice_ms;                      /* between the notice and the end, at least */
        int64_t exempt_ms;                      /* not stopped so soon after its start */
        uint32_t stops_per_day;                 /* of one workload; STOPS_UNLIMITED */
        int64_t hold_after_ms;                  /* what waited so long gets a capacity hold */
        int64_t idle_after_ms;                  /* with idle_then other than NOTHING */
        int64_t time_limit_ms;                  /* of work that names none; 0 = none */
        int64_t time_limit_max_ms;              /* 0 = none */
        uint8_t time_slices_count;              /* 0: no time slicing */
        int64_t time_slice_ms[TIME_SLICES_MAX]; /* rising: work that ran longer than a level may
                                                 * be stopped for work that ran less */
        uint64_t apart_device, apart_node;      /* classes kept off the same device, node; both
                                                 * ways: set in both classes */
        uint64_t planes;                        /* may use; all ones = all */
        /* What is typical for it: for defaults, method choice and review; 0 = not known. */
        uint32_t typical_memory_mib;
        uint16_t typical_compute_milli;
        uint8_t typical_communication;          /* enum communication */
        int64_t typical_duration_ms, typical_latency_ms;
};

/* Work with a data label: where it may run, and beside whom. */
enum label_apart { LABEL_APART_NONE, LABEL_APART_DEVICE, LABEL_APART_NODE, LABEL_APARTS_END };

struct data_label {
        char name[TENANCY_WORD_MAX];
        uint8_t methods;                        /* allowed; 1u << method */
        uint8_t apart;                          /* enum label_apart: from work of other labels */
        uint64_t planes, trusts;                /* allowed planes, tenants' domains */
        uint8_t nodes_count;                    /* node label conditions, as vocab_where_parse() */
        struct {
                char key[64], condition[64];
        } nodes[LABEL_NODES_MAX];
};

struct trust_domain {
        char name[TENANCY_WORD_MAX];
        uint64_t with;                          /* domains whose work may share a device with it;
                                                 * itself included; both ways */
};

enum unused { UNUSED_LEND, UNUSED_KEEP, UNUSED_ENDS };

/* Room for a tenant in a window of time, repeated every `every_ms` until `last_ms`. */
struct reservation {
        char name[TENANCY_WORD_MAX];
        uint16_t tenant;
        uint8_t unused;                         /* enum unused: lent meanwhile, or kept free */
        uint8_t models_count;
        uint8_t models[RESERVED_MODELS_MAX];    /* ids, or DIM_ANY */
        uint64_t units[RESERVED_MODELS_MAX];
        int64_t from_ms, until_ms;              /* the first window; its end is outside */
        int64_t every_ms;                       /* 0: only once; else at least the window */
        int64_t last_ms;                        /* no window starts at this time or later; 0 = for
                                                 * ever */
};

/* `manager` is read as tenant-admin: it was called so in the documents and tokens of 0.1. */
#define TENANT_ADMIN_BEFORE "manager"
enum tenant_role { ROLE_VIEWER, ROLE_SUBMITTER, ROLE_TENANT_ADMIN, TENANT_ROLES_END };
enum pool_role { POOL_ROLE_NONE, POOL_ROLE_AUDITOR, POOL_ROLE_OPERATOR, POOL_ROLES_END };

struct principal {
        char name[64];
        char run_as[TENANCY_WORD_MAX];          /* local user; "" = that of its uid */
        int64_t uid;                            /* -1: none, known by its token only */
        uint8_t pool_role;                      /* enum pool_role */
        /* The most live workloads of theirs, of all tenants together: a number, ABSENT or
         * UNLIMITED. No business of the engine, which knows no persons: submit.h holds it. */
        uint64_t jobs;
        uint8_t grants_count;
        struct {
                uint16_t tenant;                /* and everything below it */
                uint8_t role;                   /* enum tenant_role */
                uint64_t jobs;                  /* there; ABSENT: the tenant's each_jobs */
        } grants[GRANTS_MAX];
};

enum preset { PRESET_EQUAL, PRESET_PROTECTED, PRESET_STRICT, PRESETS_END };
enum over_jobs { OVER_JOBS_WAIT, OVER_JOBS_REFUSE, OVER_JOBS_END };

struct tenancy_rules {
        uint8_t over_jobs;                      /* enum over_jobs: above a limit on jobs, running */
        uint8_t stop_rate_pct;                  /* of the pool's units, stopped at most in ... */
        int64_t stop_rate_ms;                   /* ... so much time; 100 % = no bound */
        bool publish_quota;                     /* tenants see their siblings' numbers */
};

struct tenancy {
        uint64_t revision;                      /* given by whoever loads it; 0 = from a file */
        enum preset preset;
        struct tenancy_rules rules;
        struct alert_rules alerts;              /* nothing is decided from them */
        uint16_t default_class;                 /* of work that names none, or CLASS_NONE */
        uint32_t models_count;                  /* of the model table it was read against */

        struct tenant *tenants;
        uint32_t tenants_count, tenants_room;
        struct reservation *reservations;
        uint32_t reservations_count;
        struct principal *principals;
        uint32_t principals_count;

        uint32_t classes_count, planes_count, trusts_count, labels_count, profiles_count;
        struct service_class classes[CLASSES_MAX];
        char planes[PLANES_MAX][TENANCY_WORD_MAX];      /* that the policy names */
        struct trust_domain trusts[TRUSTS_MAX];
        struct data_label labels[DATA_LABELS_MAX];
        char profiles[SLICE_LIMITS_MAX][PROFILE_NAME_MAX];
};

struct tenancy *tenancy_new(void);              /* empty; NULL: out of memory */
void tenancy_free(struct tenancy *tenancy);     /* NULL is fine */

/* Adds a tenant that says nothing yet below `parent` (TENANT_NONE: a root). Its index, or
 * -ERR_EXISTS, -ERR_FULL, -ERR_RANGE (too deep, path too long), -ERR_INPUT (letters, digits and
 * "_.-" make a name), -ERR_NOMEM. Pointers to tenants are invalid afterwards. */
int tenancy_add(struct tenancy *tenancy, uint16_t parent, const char *name, struct err *err);

/* Indexes; -1: none. */
int tenancy_find(const struct tenancy *tenancy, const char *path);
int tenancy_class_find(const struct tenancy *tenancy, const char *name);
int tenancy_label_find(const struct tenancy *tenancy, const char *name);

/* Whether `tenant` is `above` or stands below it. */
bool tenancy_is_below(const struct tenancy *tenancy, uint16_t tenant, uint16_t above);

/* The least limit on the way from the tenant to its root: a number, AMOUNT_UNLIMITED, or
 * AMOUNT_NONE where one of them is that. */
uint64_t tenancy_limit(const struct tenancy *tenancy, uint16_t tenant, unsigned dimension);
/* What the tenant is promised in all, in units: the promise of any model, or else the sum of those
 * of models. */
uint64_t tenancy_protect_all(const struct tenant *tenant);

/* Fills in what follows from what was said: promises of parents that said none, and in
 * PRESET_STRICT limits of roots. Called once by the reader. */
void tenancy_settle(struct tenancy *tenancy);

/* The window that is open at `now_ms`, or else the next one. False: none comes any more. */
bool reservation_window(const struct reservation *reservation, int64_t now_ms,
                        int64_t *ret_from_ms, int64_t *ret_until_ms);

const char *dimension_word(unsigned counted);   /* "jobs"; DIM_ANY to DIM_ACTIVE_TOKENS */

/* The words of documents, by enum. */
extern const char *const preset_names[PRESETS_END], *const on_empty_names[ON_EMPTIES_END],
        *const class_method_names[CLASS_METHODS], *const stop_names[STOPS_END],
        *const class_order_names[CLASS_ORDERS_END], *const above_limit_names[ABOVE_LIMITS_END],
        *const idle_then_names[IDLE_THENS_END], *const lost_contact_names[LOST_CONTACTS_END],
        *const communication_names[COMMUNICATIONS_END], *const spread_names[SPREAD_LEVELS_END],
        *const label_apart_names[LABEL_APARTS_END], *const unused_names[UNUSED_ENDS],
        *const tenant_role_names[TENANT_ROLES_END], *const pool_role_names[POOL_ROLES_END],
        *const over_jobs_names[OVER_JOBS_END];
