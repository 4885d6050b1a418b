#include "proto/state_image.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "engine/price.h"
#include "proto/image.h"
#include "proto/state_fields.h"
#include "proto/state_image_impl.h"

#define IMAGE_WORD "berth state 1"

/* What a pool may be sized for: beyond it the image is damaged, and is not worth the memory. */
#define STATE_NODES_MAX (1u << 20)
#define STATE_ROWS_MAX  (1u << 26)

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

/* Its name and those of its profiles: parts name profiles by their number. */
static void add_model(const struct model *model, struct text *text)
{
        text_add(text, "%s", model->name);
        for (unsigned p = 0; p < model->profiles_count; p++)
                text_add(text, "%c%s", p == 0 ? ':' : ',', model->profiles[p].name);
}

static void write_models(const struct model_table *models, struct text *out)
{
        image_begin_strings(out, "models", model_count(models));
        for (unsigned m = 0; m < model_count(models); m++) {
                struct text text = {0};
                add_model(model_get(models, m), &text);
                image_write_string(out, text.bytes, text.size);
                out->failed |= text.failed;
                text_done(&text);
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
        const uint64_t head[] = {plan->hash, plan->revision, plan->priced,
                                 (uint64_t)plan->made_ms};

        image_write_numbers(out, "price plan", FIELD_U64, head, ARRAY_LEN(head));
        image_write_rows(out, "price shapes", &state_price_fields, plan->shapes,
                         plan->shapes_count, sizeof plan->shapes[0]);
        image_write_numbers(out, "prices", FIELD_U32, &plan->table,
                            plan->priced ? sizeof plan->table / 4 : 0);
}
_Static_assert(sizeof(struct price_table) % 4 == 0, "prices are numbers of 32 bits, no gap");

void state_image_write(const struct state *state, struct text *out)
{
        const uint32_t planned = state->plan_set;

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
        write_windows(&state->maintenance, out);
        state_image_write_accounts(state->accounts, out);
        image_write_numbers(out, "planned", FIELD_U32, &planned, 1);
        if (state->plan_set)
                write_price_plan(state->plan, out);
}

/* ---- reading ---- */

int state_image_differs(const char *what, struct err *err)
{
        return err_set(err, ERR_INPUT, "snapshot: %s", what);
}

int state_image_numbers(struct image_in *in, const char *name, enum field_kind kind,
                        void *numbers, size_t count, struct err *err)
{
        size_t found = 0;
        int rc = image_read_numbers(in, name, kind, numbers, count, &found, err);

        if (rc == 0 && found != count)
                rc = err_set(err, ERR_INPUT, "snapshot: table '%s' has %zu rows, not %zu", name,
                             found, count);
        return rc;
}

int state_image_rows(struct image_in *in, const char *name, const struct fields *fields, void *rows,
                     size_t count, size_t stride, struct err *err)
{
        size_t found = 0;
        int rc = image_read_rows(in, name, fields, rows, count, stride, &found, err);

        if (rc == 0 && found != count)
                rc = err_set(err, ERR_INPUT, "snapshot: table '%s' has %zu rows, not %zu", name,
                             found, count);
        return rc;
}

static int check_model(const struct model_table *models, uint64_t number, const void *bytes,
                       size_t size, struct err *err)
{
        struct text text = {0};
        bool same = number < model_count(models), failed;

        if (same)
                add_model(model_get(models, (unsigned)number), &text);
        failed = text.failed;
        same = same && !failed && text.size == size && memcmp(text.bytes, bytes, size) == 0;
        text_done(&text);
        if (failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        return same ? 0 : state_image_differs("it was made with other device models", err);
}

static int read_models(struct image_in *in, const struct model_table *models, struct err *err)
{
        uint64_t count;
        int rc = image_read_strings(in, "models", &count, err);

        for (uint64_t m = 0; rc == 0 && m < count; m++) {
                const void *bytes;
                size_t size;
                rc = image_read_string(in, &bytes, &size, err);
                if (rc == 0)
                        rc = check_model(models, m, bytes, size, err);
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
                                rc = (uint64_t)rc == id
                                             ? 0
                                             : state_image_differs("a word stands twice", err);
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

        if ((rc = state_image_rows(in, "state", &state_fields, state, 1, sizeof *state, err)) < 0 ||
            (rc = state_image_numbers(in, "capacity", FIELD_U64, state->capacity, MODELS_MAX,
                                      err)) < 0 ||
            (rc = state_image_numbers(in, "used", FIELD_U64, state->used, MODELS_MAX, err)) < 0)
                return rc;
        if (!counts_fit(state, &fresh))
                return state_image_differs("its tables do not fit its bounds", err);
        for (size_t t = 0; rc == 0 && t < ARRAY_LEN(tables); t++)
                rc = state_image_rows(in, tables[t].name, tables[t].fields,
                                      rows_of(state, &tables[t]), count_of(state, &tables[t]),
                                      tables[t].stride, err);
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
                rc = state_image_differs("a maintenance window has no name", err);
        for (size_t w = 0; rc == 0 && w < count; w++) {
                const void *name;
                size_t size;
                rc = image_read_string(in, &name, &size, err);
                if (rc == 0 && (size >= MAINTENANCE_NAME_MAX || memchr(name, '\0', size)))
                        rc = state_image_differs("a maintenance window's name cannot be one", err);
                if (rc == 0)
                        memcpy(maintenance->windows[w].name, name, size);
        }
        maintenance->count = (uint32_t)count;
        return rc ? rc : maintenance_check(maintenance, err);
}

static int read_price_plan(struct image_in *in, struct price_plan *plan, struct err *err)
{
        uint64_t head[4];
        size_t shapes = 0;
        int rc;

        if ((rc = state_image_numbers(in, "price plan", FIELD_U64, head, ARRAY_LEN(head),
                                      err)) < 0 ||
            (rc = image_read_rows(in, "price shapes", &state_price_fields, plan->shapes,
                                  PRICE_SHAPES_MAX, sizeof plan->shapes[0], &shapes, err)) < 0)
                return rc;
        plan->hash = head[0];
        plan->revision = head[1];
        plan->priced = head[2] != 0;
        plan->made_ms = (int64_t)head[3];
        plan->shapes_count = (uint32_t)shapes;
        rc = state_image_numbers(in, "prices", FIELD_U32, &plan->table,
                                 plan->priced ? sizeof plan->table / 4 : 0, err);
        return rc ? rc : price_plan_check(plan, err);
}

/* What is not kept, but follows from what is. */
static int make_rest(struct state *state, struct err *err)
{
        for (uint32_t s = 0; s < state->shapes_count; s++)
                state_measure_shape(state, s, state->shapes[s].fits_count);
        state_enter_all(state);
        if (state->accounts)
                isolation_follow(state);
        return state_image_check_keys(state, err);
}

static int read_rest(struct image_in *in, struct state *state, const struct tenancy *tenancy,
                     struct err *err)
{
        uint32_t planned;
        int rc;

        if ((rc = read_words(in, state->vocab, err)) < 0 ||
            (rc = read_tables(in, state, err)) < 0 ||
            (rc = read_windows(in, &state->maintenance, err)) < 0 ||
            (rc = state_image_read_accounts(in, tenancy, &state->accounts, err)) < 0 ||
            (rc = state_image_numbers(in, "planned", FIELD_U32, &planned, 1, err)) < 0)
                return rc;
        state->plan_set = planned != 0;
        if (state->plan_set && (rc = read_price_plan(in, state->plan, err)) < 0)
                return rc;
        if (in->at != in->end)
                return state_image_differs("bytes follow behind its end", err);
        rc = state_image_check(state, err);
        return rc ? rc : make_rest(state, err);
}

bool state_image_bounds_good(const struct state_bounds *bounds)
{
        return bounds->nodes_max - 1 < STATE_NODES_MAX &&
               bounds->workloads_max - 1 < STATE_ROWS_MAX &&
               bounds->members_max - 1 < STATE_ROWS_MAX &&
               bounds->parts_max - 1 < STATE_ROWS_MAX &&
               bounds->shapes_max - 1 < STATE_ROWS_MAX &&
               bounds->buckets_max - 1 < STATE_ROWS_MAX && bounds->plans_max - 1 < STATE_ROWS_MAX;
}

int state_image_read(const void *bytes, size_t size, const struct model_table *models,
                     const struct tenancy *tenancy, struct state **ret_state, struct err *err)
{
        struct image_in in = {.at = bytes, .end = (const unsigned char *)bytes + size};
        struct state_bounds bounds = {0};
        struct state *state;
        uint64_t none;
        int rc;

        if ((rc = image_read_strings(&in, IMAGE_WORD, &none, err)) < 0 ||
            (rc = state_image_rows(&in, "bounds", &state_bounds_fields, &bounds, 1, sizeof bounds,
                            err)) < 0 ||
            (rc = read_models(&in, models, err)) < 0)
                return rc;
        if (!state_image_bounds_good(&bounds))
                return err_set(err, ERR_RANGE,
                               "snapshot: its tables are larger than any pool's, or empty");
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
