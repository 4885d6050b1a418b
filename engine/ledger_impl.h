/* ledger_impl.h - what the files of the ledger share.
 *
 * What nobody holds is counted by rates: units per bucket, changed when a node changes. What work
 * holds is counted by runs: a member's units from the time it was last settled. Both together must
 * give the capacity, which ledger_close() checks.
 */
#pragma once

#include "base/map.h"
#include "engine/ledger.h"
#include "engine/state.h"

/* A placed member, by its slot in the state. */
struct ledger_member {
        int64_t from_ms;                /* settled up to here */
        uint32_t units[METHODS_END];
        bool open;
};

/* What a node adds to the rates. */
struct ledger_node {
        uint32_t held;
        uint32_t units[BUCKETS_END];    /* that nobody holds */
        uint8_t model, devices;
};

/* Room kept on one device. */
struct ledger_kept {
        uint32_t row;                   /* + 1; 0 = none */
        uint32_t units;
};

struct ledger_rate {
        uint64_t devices, held;
        uint64_t units[BUCKETS_END];
};

struct ledger_names {
        char (*texts)[TENANT_PATH_MAX];
        uint32_t count, max;
        struct map numbers;             /* hash of the text: its number */
};

struct ledger {
        bool sees_layout;
        int64_t from_ms, at_ms;         /* ever; of the newest fact */
        uint64_t changes_seen;          /* of state->changes */
        uint32_t touched;               /* a node that changes without being in there; or NONE */
        bool renamed, ticked;           /* the newest fact was a policy, a tick */
        bool lends;                     /* some row has lent_units */

        struct ledger_sums sums[MODELS_MAX];
        struct ledger_rate rates[MODELS_MAX];
        unit_ms held[MODELS_MAX];       /* by rates, of the period */
        unit_ms of_work[MODELS_MAX][BUCKETS_END];       /* by runs, up to the newest close */
        uint64_t models;                /* that there ever was a device of */

        struct ledger_member *members;  /* by the state's slots */
        struct ledger_node *nodes;
        struct ledger_kept *kept;       /* NODE_DEVICES_MAX of each node */
        int64_t *overhead_until_ms;     /* by workload slot */

        struct ledger_row *rows;
        uint32_t rows_count, rows_max;
        struct map row_numbers;
        struct ledger_names tenants, classes;
        uint16_t *tenant_numbers;       /* of the policy in force; 0 = not looked up yet */
        uint16_t class_numbers[CLASSES_MAX];

        int64_t *shape_used_ms;         /* by shape; INT64_MIN: never */
        int64_t revised_ms;             /* INT64_MIN: never */
        bool shape_came;                /* since then, that does not stand */
        uint32_t shapes[LEDGER_SHAPES_MAX];     /* standing ones, by number */
        uint32_t shapes_count;
        uint64_t ordered;               /* models for which this is made: */
        uint32_t order[MODELS_MAX][LEDGER_SHAPES_MAX];  /* most units first */
};

/* ledger_rows.c */
bool ledger_rows_init(struct ledger *ledger, const struct ledger_bounds *bounds);
void ledger_rows_done(struct ledger *ledger);
void ledger_rows_forget(struct ledger *ledger); /* numbers of the policy that was in force */
/* The row of a bucket's tenant and class, new or known. */
struct ledger_row *ledger_row(struct ledger *ledger, const struct state *state, uint32_t bucket,
                              unsigned model, unsigned method, unsigned standing);
/* The row of a tenant that no work has a part in. */
struct ledger_row *ledger_row_of_owner(struct ledger *ledger, const struct state *state,
                                       uint16_t tenant, unsigned model);
/* Counts what a row keeps and lends up to now. */
void ledger_row_settle(struct ledger *ledger, struct ledger_row *row);
void ledger_member_open(struct ledger *ledger, const struct state *state, uint32_t place);
/* Counts what a workload, or all of them, held up to now. */
void ledger_settle(struct ledger *ledger, const struct state *state, uint32_t slot);
void ledger_settle_all(struct ledger *ledger, const struct state *state);
/* A run ends, and what its last `lost_ms` did is lost. */
void ledger_run_ends(struct ledger *ledger, const struct state *state, uint32_t slot,
                     enum release_cause cause, int64_t lost_ms);

/* ledger_node.c */
void ledger_look(struct ledger *ledger, const struct state *state, uint32_t node);

/* ledger_lend.c: what is lent from now on. */
void ledger_lend(struct ledger *ledger, const struct state *state);

/* ledger_shape.c */
void ledger_shape_used(struct ledger *ledger, uint32_t shape, int64_t at_ms);
/* Work of a shape is queued. */
void ledger_shape_comes(struct ledger *ledger, const struct state *state, const struct need *need);
/* Whether it is another list now. */
bool ledger_shapes_revise(struct ledger *ledger, const struct state *state);
/* The units that standing shapes could take of a node's open devices (bit = device). */
uint32_t ledger_usable(struct ledger *ledger, const struct state *state, uint32_t node,
                       uint16_t open);
