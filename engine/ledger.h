/* ledger.h - where every unit-millisecond of the pool's capacity goes.
 *
 * Pure: no clock, no I/O, no floating point. One owner at a time. It watches the facts of one state
 * and never changes it; it is no part of what decisions depend on. Sums are unit-milliseconds
 * (units.h), exact: per device model the buckets add up to the capacity, which is asserted.
 *
 * Each unit of each device is in one bucket at any time, and the first that holds wins:
 *
 *   what work holds     draining        its notice has run out and it is not gone yet
 *                       overhead        it starts, or starts again: ledger_overhead()
 *                       allocated_unmeasured   else; without telemetry nobody knows how well it is
 *                                       used. delivered and allocated_idle take their part of it
 *                                       where use is measured: not yet, they are 0
 *   what nobody holds   unhealthy       its device is broken, or its node is down
 *                       foreign         memory slices of instances that somebody else made
 *                       reconfiguring   a layout step of its device is planned and not yet seen
 *                       draining        its node takes nothing new: drained, frozen, or in a
 *                                       maintenance window
 *                       reserved_unused kept for a plan's beneficiary (placement lock on the
 *                                       device), or by a capacity hold on its node
 *                       stranded        no standing shape can use it, see below
 *                       free            the rest
 *
 * Work that runs on a device reported broken holds it until it goes: it is allocated, and the
 * rest of that device is unhealthy. A whole node's idle promise that is not lent is free here
 * (no device is set apart for it) and shown as `unlent`.
 *
 * Standing shapes: needs with devices that wait or run now, or started within the last
 * LEDGER_SHAPE_MS. The list is made anew at the first tick, at the first one LEDGER_REVISE_MS or
 * more later, and, while it is not full, at the first one after a shape came that is not in it. At
 * most LEDGER_SHAPES_MAX: the ones used last. A node's stranded units are what stays free when
 * standing shapes are put on it one after the other, the one with most units of a member first,
 * each as often as it fits; the node's cores and memory count too. That is the least that can stay
 * where sizes divide each other (1, 2, 4, 8 devices), and close to it otherwise. Without a standing
 * shape nothing is stranded.
 *
 * Lent, by device model, is looked at at ticks and holds until the next one: what standard and
 * spare work together holds beyond what nobody is promised, at most all unused promises that may
 * be lent, split among their owners in proportion (to a millionth). Promises of `any` model are
 * left out of it, and of `unlent`. Borrowed is what standard and spare work holds.
 *
 * Lost is outside the sum: work done and thrown away, taken out of allocated_unmeasured (not of
 * overhead or draining), booked when the run ends, whenever it was done.
 */
#pragma once

#include <stddef.h>

#include "engine/fact.h"
#include "engine/model.h"
#include "engine/tenancy.h"
#include "engine/units.h"

struct state;

#define LEDGER_SHAPES_MAX 64
#define LEDGER_SHAPE_MS   INT64_C(86400000)
#define LEDGER_REVISE_MS  INT64_C(3600000)

#define LEDGER_BUCKETS(X)                               \
        X(DELIVERED,     "delivered")                   \
        X(OVERHEAD,      "overhead")                    \
        X(IDLE,          "allocated_idle")              \
        X(UNMEASURED,    "allocated_unmeasured")        \
        X(RESERVED,      "reserved_unused")             \
        X(DRAINING,      "draining")                    \
        X(RECONFIGURING, "reconfiguring")               \
        X(FOREIGN,       "foreign")                     \
        X(UNHEALTHY,     "unhealthy")                   \
        X(STRANDED,      "stranded")                    \
        X(FREE,          "free")

enum ledger_bucket {
#define X(name, wire) BUCKET_##name,
        LEDGER_BUCKETS(X)
#undef X
        BUCKETS_END
};

/* Why work was lost; the plan's causes are those of fact.h. The pool's doing is refunded. */
#define LEDGER_LOSSES(X) \
        X(PROTECT, "for_promise", true)       /* stopped for another tenant's promise */ \
        X(ORDER, "for_order", true)           /* for work that goes before it */ \
        X(TIME_SLICE, "for_time_slice", true) /* for work that ran less */ \
        X(GATHER, "for_wide_work", true)      /* to gather room */ \
        X(NODE, "node_lost", true) \
        X(DRAINED, "drained", true)      /* its node was to be empty */ \
        X(FAILED, "failed", false)       /* ended badly */ \
        X(CANCELLED, "cancelled", false) /* by its owner */ \
        X(TIMED_OUT, "time_limit", false) \
        X(IDLE, "idle", false)   /* nobody used its devices: its class's word */ \
        X(ASKED, "asked", false) /* its owner, or an operator, wanted it anew */

enum ledger_loss {
#define X(name, wire, refunded) LOSS_##name,
        LEDGER_LOSSES(X)
#undef X
        LOSSES_END
};

const char *ledger_bucket_name(enum ledger_bucket bucket);
const char *ledger_loss_name(enum ledger_loss loss);
bool ledger_loss_refunded(enum ledger_loss loss);

/* Of one device model. */
struct ledger_sums {
        unit_ms capacity;               /* all devices, usable or not */
        unit_ms buckets[BUCKETS_END];
        /* Beside the sum: */
        unit_ms idle_wanted;            /* of free and stranded: while work waited */
        unit_ms unlent;                 /* promises neither used nor lent: free for nobody else */
};

/* Who it is for. Method and standing have no value (METHODS_END, STANDINGS_END) where
 * nothing runs yet: room that is kept for waiting work. */
struct ledger_key {
        uint16_t tenant, class;         /* names of the ledger's own, see below */
        uint8_t model, method, standing;
        uint8_t reserved;               /* zero */
};

struct ledger_row {
        struct ledger_key key;
        unit_ms buckets[BUCKETS_END];   /* only those of work, and reserved_unused */
        unit_ms lost[LOSSES_END];
        unit_ms caused;                 /* what others lost for work of this tenant and class */
        unit_ms lent;                   /* of its unused promise, used by others */
        uint64_t stops;                 /* runs that were ended for a plan of others */
        uint64_t reserved_units, lent_units;    /* the ledger's own: kept and lent now, ... */
        int64_t reserved_from_ms;               /* ... and counted up to here */
};

struct ledger;

struct ledger_bounds {
        uint32_t rows_max;              /* ever; 0: 16,384 */
        uint32_t names_max;             /* tenants, and as many classes, ever; 0: 8,192 */
        bool sees_layout;               /* nodes report layout steps; else they take no time */
};

/* Counts from `from_ms` (0 or more) on, with the state as it is now (what holds now is taken to
 * have held since then). What does not fit the tables is counted as of tenant 0, "(others)": sums
 * stay exact. NULL: out of memory. */
struct ledger *ledger_new(const struct state *state, const struct ledger_bounds *bounds,
                          int64_t from_ms);
void ledger_free(struct ledger *ledger);                /* NULL is fine */

/* Every fact, before it is applied to the state, at its time. A time before the newest one
 * counts as that. */
void ledger_see(struct ledger *ledger, const struct state *state, const struct fact *fact,
                int64_t now_ms);

/* The run of a workload that starts now (before or after its facts are applied) does nothing useful
 * until then. Forgotten when the run ends. */
void ledger_overhead(struct ledger *ledger, const struct state *state, uint64_t workload,
                     int64_t until_ms);

/* Brings all sums up to date and checks them; then they may be read. All facts up to `at_ms` have
 * been seen and applied. */
void ledger_close(struct ledger *ledger, const struct state *state, int64_t at_ms);
/* Behind ledger_close(): a new period begins there, all sums 0. Rows stay, with sums of 0. */
void ledger_next(struct ledger *ledger);

/* Of the period, up to the newest close. Models without a device: all 0. */
struct ledger_sums ledger_sums(const struct ledger *ledger, unsigned model);
const struct ledger_row *ledger_rows(const struct ledger *ledger, uint32_t *ret_count);

/* Units that nobody holds and that lie in that bucket, and units that work holds, as of the newest
 * fact but one. */
uint64_t ledger_units_now(const struct ledger *ledger, unsigned model, enum ledger_bucket bucket);
uint64_t ledger_held_now(const struct ledger *ledger, unsigned model);

/* Whether some standing shape has a place on some node of that model with nothing on it. If not,
 * that what is free there is stranded says nothing of how it lies: all that is asked for of late is
 * larger than those nodes are, or not for them. Goes through the nodes. */
bool ledger_can_be_used(const struct ledger *ledger, const struct state *state, unsigned model);

/* Names by their numbers in keys; numbers stay, and grow from 0 without a gap. */
const char *ledger_tenant(const struct ledger *ledger, uint16_t tenant);
const char *ledger_class(const struct ledger *ledger, uint16_t class);
uint32_t ledger_tenants(const struct ledger *ledger);
uint32_t ledger_classes(const struct ledger *ledger);
