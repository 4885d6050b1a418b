#include "proto/state_image.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "engine/price.h"
#include "proto/image.h"
#include "proto/state_fields.h"

#define IMAGE_WORD "berth state 1"

/* The tables of a state: where they stand in it, and how many rows of each are in use. */
struct table {
        const char *name;
        const struct fields *fields;
        size_t rows_at, count_at, stride;
        uint32_t each;                  /* rows of one that is counted */
};

#define TABLE(rows, count, each, fields)                                                          \
        {#rows,                          &(fields), offsetof(struct state, rows),                 \
         offsetof(struct state, count), sizeof *((struct state *)NULL)->rows, (each)}
static const struct table tables[] = {
        TABLE(nodes, node_slots.high, 1, state_node_fields),
        TABLE(devices, node_slots.high, NODE_DEVICES_MAX, state_device_fields),
        TABLE(shapes, shapes_count, 1, state_shape_fields),
        TABLE(buckets, buckets_count, 1, state_bucket_fields),
        TABLE(workloads, workload_slots.high, 1, state_workload_fields),
        TABLE(members, member_slots.high, 1, state_member_fields),
        TABLE(parts, part_slots.high, 1, state_part_fields),
        TABLE(plans, plan_slots.high, 1, state_plan_fields),
        TABLE(plan_places, plan_place_slots.high, 1, state_plan_place_fields),
        TABLE(afters, after_slots.high, 1, state_after_fields),
};

static void *rows_of(const struct state *state, const struct table *table)
{
        void *rows;

        memcpy(&rows, (const char *)state + table->rows_at, sizeof rows);
        return rows;
}

static size_t count_of(const struct state *state, const struct table *table)
{
        uint32_t count;

        memcpy(&count, (const char *)state + table->count_at, sizeof count);
        return (size_t)count * table->each;
}

/* ---- writing ---- */

static void write_words(const struct vocab *vocab, struct text *out)
{
        for (unsigned kind = 0; kind < VOCAB_KINDS_END; kind++) {
                uint32_t count = vocab_count(vocab, kind);
                image_begin_strings(out, "words", count);
                for (uint32_t id = 1; id <= count; id++) {
                        size_t size;
                        const void *bytes = vocab_bytes(vocab, kind, id, &size);
                        image_write_string(out, bytes, size);
                }
        }
}

static void write_models(const struct model_table *models, struct text *out)
{
        image_begin_strings(out, "models", model_count(models));
        for (unsigned m = 0; m < model_count(models); m++) {
                const char *name = model_get(models, m)->name;
                image_write_string(out, name, strlen(name));
        }
}

static void write_windows(const struct maintenance *maintenance, struct text *out)
{
        image_write_rows(out, "windows", &state_window_fields, maintenance->windows,
                         maintenance->count, sizeof maintenance->windows[0]);
        image_begin_strings(out, "window names", maintenance->count);
        for (uint32_t w = 0; w < maintenance->count; w++)
                image_write_string(out, maintenance->windows[w].name,
                                   strlen(maintenance->windows[w].name));
}

static void write_price_plan(const struct price_plan *plan, struct text *out)
{
        const uint64_t head[] = {plan->hash, plan->revision, plan->priced};

        image_write_numbers(out, "price plan", FIELD_U64, head, 3);
        image_write_rows(out, "price shapes", &state_price_fields, plan->shapes,
                         plan->shapes_count, sizeof plan->shapes[0]);
        image_write_numbers(out, "prices", FIELD_U32, &plan->table,
                            plan->priced ? sizeof plan->table / 4 : 0);
}
_Static_assert(sizeof(struct price_table) % 4 == 0, "prices are numbers of 32 bits, no gap");

static void write_run_times(struct run_times *times, struct text *out)
{
        uint32_t kinds = run_times_kinds(times), known = 0;

        for (uint32_t k = 0; k < kinds; k++)
                known += run_times_kind(times, k)->added > 0;
        image_write_numbers(out, "run kinds", FIELD_U32, &known, 1);
        for (uint32_t k = 0; k < kinds; k++) {
                const struct runs *runs = run_times_kind(times, k);
                if (runs->added == 0)
                        continue;
                image_write_numbers(out, "run kind", FIELD_U32, &k, 1);
                image_write_rows(out, "runs", &state_runs_fields, runs, 1, sizeof *runs);
                image_write_numbers(out, "newest", FIELD_U32, runs->newest, RUN_TIMES_KEPT);
                image_write_numbers(out, "sorted", FIELD_U32, runs->sorted, RUN_TIMES_KEPT);
        }
}

/* Tables of numbers, and the two that are rows of structs. */
#define NUMBERS(X, tenants)                                                     \
        X(held,          FIELD_U64,  (size_t)(tenants) * DIMENSIONS_END)        \
        X(spare,         FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(within,        FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(pot,           FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(drawn,         FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(pot_of,        FIELD_U16,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(reserved,      FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(reserved_keep, FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(root,          FIELD_U16,  (tenants))                                 \
        X(first,         FIELD_U32,  (tenants))                                 \
        X(last,          FIELD_U32,  (tenants))                                 \
        X(standard,      FIELD_U32,  (tenants))                                 \
        X(demoted,       FIELD_U32,  (tenants))                                 \
        X(dirty,         FIELD_BOOL, (tenants))                                 \
        X(counted_ms,    FIELD_I64,  (tenants))                                 \
        X(kept,          FIELD_U64,  DEVICE_DIMENSIONS)

static void write_accounts(const struct accounts *accounts, struct text *out)
{
        size_t budgets = (size_t)accounts->tenants * TENANT_BUDGETS_MAX;

        image_write_rows(out, "accounts", &state_accounts_fields, accounts, 1, sizeof *accounts);
#define X(table, kind, count) image_write_numbers(out, #table, kind, accounts->table, count);
        NUMBERS(X, accounts->tenants)
#undef X
        image_write_rows(out, "briefs", &state_brief_fields, accounts->briefs, accounts->tenants,
                         sizeof *accounts->briefs);
        image_write_rows(out, "budgets", &state_budget_fields, accounts->budgets, budgets,
                         sizeof *accounts->budgets);
        write_run_times(accounts->times, out);
}

void state_image_write(const struct state *state, struct text *out)
{
        const uint32_t has[] = {state->accounts ? state->accounts->tenants : 0, state->plan_set};

        image_begin_strings(out, IMAGE_WORD, 0);
        image_write_rows(out, "bounds", &state_bounds_fields, &state->bounds, 1,
                         sizeof state->bounds);
        write_models(state->models, out);
        write_words(state->vocab, out);
        image_write_rows(out, "state", &state_fields, state, 1, sizeof *state);
        image_write_numbers(out, "capacity", FIELD_U64, state->capacity, MODELS_MAX);
        image_write_numbers(out, "used", FIELD_U64, state->used, MODELS_MAX);
        for (size_t t = 0; t < ARRAY_LEN(tables); t++)
                image_write_rows(out, tables[t].name, tables[t].fields, rows_of(state, &tables[t]),
                                 count_of(state, &tables[t]), tables[t].stride);
        image_write_numbers(out, "has", FIELD_U32, has, 2);
        write_windows(&state->maintenance, out);
        if (state->accounts)
                write_accounts(state->accounts, out);
        if (state->plan_set)
                write_price_plan(state->plan, out);
}

/* ---- reading ---- */

static int differs(const char *what, struct err *err)
{
        return err_set(err, ERR_INPUT, "snapshot: %s", what);
}

/* Exactly so many. */
static int read_numbers(struct image_in *in, const char *name, enum field_kind kind,
                        void *numbers, size_t count, struct err *err)
{
        size_t found = 0;
        int rc = image_read_numbers(in, name, kind, numbers, count, &found, err);

        if (rc == 0 && found != count)
                rc = err_set(err, ERR_INPUT, "snapshot: table '%s' has %zu rows, not %zu", name,
                             found, count);
        return rc;
}

static int read_rows(struct image_in *in, const char *name, const struct fields *fields,
                     void *rows, size_t count, size_t stride, struct err *err)
{
        size_t found = 0;
        int rc = image_read_rows(in, name, fields, rows, count, stride, &found, err);

        if (rc == 0 && found != count)
                rc = err_set(err, ERR_INPUT, "snapshot: table '%s' has %zu rows, not %zu", name,
                             found, count);
        return rc;
}

static int read_models(struct image_in *in, const struct model_table *models, struct err *err)
{
        uint64_t count;
        int rc = image_read_strings(in, "models", &count, err);

        for (uint64_t m = 0; rc == 0 && m < count; m++) {
                const void *name;
                size_t size;
                rc = image_read_string(in, &name, &size, err);
                if (rc == 0 && (m >= model_count(models) ||
                                strlen(model_get(models, (unsigned)m)->name) != size ||
                                memcmp(model_get(models, (unsigned)m)->name, name, size) != 0))
                        rc = differs("it was made with other device models", err);
        }
        return rc;
}

static int read_words(struct image_in *in, struct vocab *vocab, struct err *err)
{
        int rc = 0;

        for (unsigned kind = 0; rc == 0 && kind < VOCAB_KINDS_END; kind++) {
                uint64_t count;
                rc = image_read_strings(in, "words", &count, err);
                for (uint64_t id = 1; rc == 0 && id <= count; id++) {
                        const void *bytes;
                        size_t size;
                        rc = image_read_string(in, &bytes, &size, err);
                        if (rc == 0)
                                rc = vocab_enter(vocab, kind, bytes, size, err);
                        if (rc > 0)
                                rc = (uint64_t)rc == id ? 0 : differs("a word stands twice", err);
                }
        }
        return rc;
}

static bool slots_fit(const struct slots *slots, uint32_t max)
{
        return slots->max == max && slots->high <= max && slots->used <= slots->high;
}

/* That no table has more rows than there is room for. */
static bool counts_fit(const struct state *state, const struct state *fresh)
{
        return slots_fit(&state->node_slots, fresh->node_slots.max) &&
               slots_fit(&state->workload_slots, fresh->workload_slots.max) &&
               slots_fit(&state->member_slots, fresh->member_slots.max) &&
               slots_fit(&state->part_slots, fresh->part_slots.max) &&
               slots_fit(&state->plan_slots, fresh->plan_slots.max) &&
               slots_fit(&state->plan_place_slots, fresh->plan_place_slots.max) &&
               slots_fit(&state->after_slots, fresh->after_slots.max) &&
               state->shapes_count <= fresh->bounds.shapes_max &&
               state->buckets_count <= fresh->bounds.buckets_max;
}

static int read_tables(struct image_in *in, struct state *state, struct err *err)
{
        struct state fresh = *state;
        int rc;

        if ((rc = read_rows(in, "state", &state_fields, state, 1, sizeof *state, err)) < 0 ||
            (rc = read_numbers(in, "capacity", FIELD_U64, state->capacity, MODELS_MAX, err)) < 0 ||
            (rc = read_numbers(in, "used", FIELD_U64, state->used, MODELS_MAX, err)) < 0)
                return rc;
        if (!counts_fit(state, &fresh))
                return differs("its tables do not fit its bounds", err);
        for (size_t t = 0; rc == 0 && t < ARRAY_LEN(tables); t++)
                rc = read_rows(in, tables[t].name, tables[t].fields, rows_of(state, &tables[t]),
                               count_of(state, &tables[t]), tables[t].stride, err);
        return rc;
}

static int read_windows(struct image_in *in, struct maintenance *maintenance, struct err *err)
{
        size_t count = 0;
        uint64_t names;
        int rc = image_read_rows(in, "windows", &state_window_fields, maintenance->windows,
                                 MAINTENANCE_MAX, sizeof maintenance->windows[0], &count, err);

        if (rc == 0)
                rc = image_read_strings(in, "window names", &names, err);
        if (rc == 0 && names != count)
                rc = differs("a maintenance window has no name", err);
        for (size_t w = 0; rc == 0 && w < count; w++) {
                const void *name;
                size_t size;
                rc = image_read_string(in, &name, &size, err);
                if (rc == 0 && size >= MAINTENANCE_NAME_MAX)
                        rc = differs("a maintenance window's name is too long", err);
                if (rc == 0)
                        memcpy(maintenance->windows[w].name, name, size);
        }
        maintenance->count = (uint32_t)count;
        return rc;
}

static int read_price_plan(struct image_in *in, struct price_plan *plan, struct err *err)
{
        uint64_t head[3];
        size_t shapes = 0;
        int rc;

        if ((rc = read_numbers(in, "price plan", FIELD_U64, head, 3, err)) < 0 ||
            (rc = image_read_rows(in, "price shapes", &state_price_fields, plan->shapes,
                                  PRICE_SHAPES_MAX, sizeof plan->shapes[0], &shapes, err)) < 0)
                return rc;
        plan->hash = head[0];
        plan->revision = head[1];
        plan->priced = head[2] != 0;
        plan->shapes_count = (uint32_t)shapes;
        return read_numbers(in, "prices", FIELD_U32, &plan->table,
                            plan->priced ? sizeof plan->table / 4 : 0, err);
}

static int read_runs(struct image_in *in, struct run_times *times, struct err *err)
{
        struct runs *runs;
        uint32_t kind;
        int rc = read_numbers(in, "run kind", FIELD_U32, &kind, 1, err);

        if (rc)
                return rc;
        if (kind >= run_times_kinds(times))
                return differs("run times of a tenant that is not there", err);
        runs = run_times_kind(times, kind);
        if ((rc = read_rows(in, "runs", &state_runs_fields, runs, 1, sizeof *runs, err)) < 0 ||
            (rc = read_numbers(in, "newest", FIELD_U32, runs->newest, RUN_TIMES_KEPT, err)) < 0)
                return rc;
        if (runs->sorted_count > RUN_TIMES_KEPT)
                return differs("more run times than are kept", err);
        return read_numbers(in, "sorted", FIELD_U32, runs->sorted, RUN_TIMES_KEPT, err);
}

static int read_accounts(struct image_in *in, struct accounts *accounts, struct err *err)
{
        size_t tenants = accounts->tenants, budgets = tenants * TENANT_BUDGETS_MAX;
        uint32_t kinds = 0;
        int rc = read_rows(in, "accounts", &state_accounts_fields, accounts, 1, sizeof *accounts,
                           err);

#define X(table, kind, count)                                                                     \
        if (rc == 0)                                                                              \
                rc = read_numbers(in, #table, kind, accounts->table, count, err);
        NUMBERS(X, tenants)
#undef X
        if (rc == 0)
                rc = read_rows(in, "briefs", &state_brief_fields, accounts->briefs, tenants,
                               sizeof *accounts->briefs, err);
        if (rc == 0)
                rc = read_rows(in, "budgets", &state_budget_fields, accounts->budgets, budgets,
                               sizeof *accounts->budgets, err);
        if (rc == 0)
                rc = read_numbers(in, "run kinds", FIELD_U32, &kinds, 1, err);
        for (uint32_t k = 0; rc == 0 && k < kinds; k++)
                rc = read_runs(in, accounts->times, err);
        return rc;
}

static int read_policy(struct image_in *in, struct state *state, const struct tenancy *tenancy,
                       uint32_t tenants, struct err *err)
{
        if (tenants != (tenancy ? tenancy->tenants_count : 0))
                return differs("it was made under another policy", err);
        if (!tenancy)
                return 0;
        state->accounts = accounts_new(tenancy, err);
        return state->accounts ? read_accounts(in, state->accounts, err) : -ERR_NOMEM;
}

static int read_rest(struct image_in *in, struct state *state, const struct tenancy *tenancy,
                     struct err *err)
{
        uint32_t has[2];
        int rc;

        if ((rc = read_words(in, state->vocab, err)) < 0 ||
            (rc = read_tables(in, state, err)) < 0 ||
            (rc = read_numbers(in, "has", FIELD_U32, has, 2, err)) < 0 ||
            (rc = read_windows(in, &state->maintenance, err)) < 0 ||
            (rc = read_policy(in, state, tenancy, has[0], err)) < 0)
                return rc;
        state->plan_set = has[1] != 0;
        if (state->plan_set && (rc = read_price_plan(in, state->plan, err)) < 0)
                return rc;
        if (in->at != in->end)
                return differs("bytes follow behind its end", err);
        for (uint32_t s = 0; s < state->shapes_count; s++)
                state_measure_shape(state, s, state->shapes[s].fits_count);
        state_enter_all(state);
        isolation_follow(state);
        return 0;
}

int state_image_read(const void *bytes, size_t size, const struct model_table *models,
                     const struct tenancy *tenancy, struct state **ret_state, struct err *err)
{
        struct image_in in = {.at = bytes, .end = (const unsigned char *)bytes + size};
        struct state_bounds bounds;
        struct state *state;
        uint64_t none;
        int rc;

        if ((rc = image_read_strings(&in, IMAGE_WORD, &none, err)) < 0 ||
            (rc = read_rows(&in, "bounds", &state_bounds_fields, &bounds, 1, sizeof bounds,
                            err)) < 0 ||
            (rc = read_models(&in, models, err)) < 0)
                return rc;
        state = state_new(models, &bounds);
        if (!state)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = read_rest(&in, state, tenancy, err);
        if (rc) {
                state_free(state);
                return rc;
        }
        *ret_state = state;
        return 0;
}
