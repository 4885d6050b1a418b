#include "proto/log_plan.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/price.h"
#include "proto/fields.h"
#include "proto/state_fields.h"

#define HEAD(member) FIELD(price_plan, member)
static const struct field head_list[] = {
        HEAD(hash), HEAD(revision), HEAD(made_ms), HEAD(priced),
        FIELD_LIST_OF(price_plan, shapes, shapes_count, state_price_fields),
        FIELD_NAMED("models_len", price_plan, table.models_len)};
static const struct fields head_fields = FIELDS(head_list);

#define PART_NUMBERS ((PRICE_STEPS + 1) * PRICE_LEVELS)
#define IDLE_NUMBERS ((PRICE_DEVICES_MAX + 1) * PRICE_LEVELS)

/* ---- writing ---- */

static void add_numbers(const char *name, const int32_t *numbers, size_t count, struct text *out)
{
        text_add(out, ",\"%s\":[", name);
        for (size_t i = 0; i < count; i++) {
                if (i > 0)
                        text_add_bytes(out, ",", 1);
                text_add_i64(out, numbers[i]);
        }
        text_add_bytes(out, "]", 1);
}

static bool has_prices(const struct price_model *model)
{
        const int32_t *part = &model->part[0][0], *idle = &model->idle[0][0];
        bool any = model->scarcity != 0;

        for (size_t i = 0; i < PART_NUMBERS; i++)
                any |= part[i] != 0;
        for (size_t i = 0; i < IDLE_NUMBERS; i++)
                any |= idle[i] != 0;
        return any;
}

static void add_table(const struct price_table *table, struct text *out)
{
        bool first = true;

        add_numbers("core", table->core, PRICE_LEVELS, out);
        text_add(out, ",\"models\":[");
        for (uint32_t m = 0; m < table->models_len; m++) {
                const struct price_model *model = &table->models[m];
                if (!has_prices(model))
                        continue;
                text_add(out, "%s{\"model\":%" PRIu32 ",\"scarcity\":%" PRId32, first ? "" : ",",
                         m, model->scarcity);
                add_numbers("part", &model->part[0][0], PART_NUMBERS, out);
                add_numbers("idle", &model->idle[0][0], IDLE_NUMBERS, out);
                text_add(out, "}");
                first = false;
        }
        text_add(out, "]");
}

void log_plan_write(const struct price_plan *plan, struct text *out)
{
        text_add(out, "{\"version\":1");
        fields_write(&head_fields, plan, out);
        if (plan->priced)
                add_table(&plan->table, out);
        text_add(out, "}");
}

/* ---- reading ---- */

static int read_number(const json_t *json, int64_t most, int32_t *ret_number)
{
        json_int_t number = json_integer_value(json);

        if (!json_is_integer(json) || number < -most || number > most)
                return -1;
        *ret_number = (int32_t)number;
        return 0;
}

static int read_numbers(const json_t *object, const char *name, int32_t *numbers, size_t count,
                        struct err *err)
{
        const json_t *list = json_object_get(object, name);

        if (!json_is_array(list) || json_array_size(list) != count)
                return err_set(err, ERR_INPUT, "field '%s' is no list of %zu numbers", name, count);
        for (size_t i = 0; i < count; i++)
                if (read_number(json_array_get(list, i), PRICE_UNITS_MAX, &numbers[i]) < 0)
                        return err_set(err, ERR_INPUT,
                                       "field '%s': its number %zu is no whole number within "
                                       "%d units",
                                       name, i + 1, PRICE_UNITS_MAX);
        return 0;
}

static int read_model(const json_t *object, struct price_table *table, struct err *err)
{
        json_t *number = json_object_get(object, "model");
        json_int_t model = json_integer_value(number);
        int rc;

        if (!json_is_integer(number) || model < 0 || model >= (json_int_t)table->models_len ||
            json_object_size(object) != 4)
                return err_set(err, ERR_INPUT,
                               "field 'models': each has a model below models_len, scarcity, part "
                               "and idle, and nothing else");
        struct price_model *prices = &table->models[model];
        if (read_number(json_object_get(object, "scarcity"), PRICE_UNITS_MAX,
                        &prices->scarcity) < 0)
                return err_set(err, ERR_INPUT, "field 'scarcity' is no whole number in %d units",
                               PRICE_UNITS_MAX);
        rc = read_numbers(object, "part", &prices->part[0][0], PART_NUMBERS, err);
        return rc ? rc : read_numbers(object, "idle", &prices->idle[0][0], IDLE_NUMBERS, err);
}

static int read_table(const json_t *object, struct price_table *table, struct err *err)
{
        const json_t *models = json_object_get(object, "models");
        int rc = read_numbers(object, "core", table->core, PRICE_LEVELS, err);

        if (rc == 0 && (!json_is_array(models) || json_array_size(models) > PRICE_MODELS_MAX))
                rc = err_set(err, ERR_INPUT, "field 'models' is no list of %d at most",
                             PRICE_MODELS_MAX);
        for (size_t m = 0; rc == 0 && m < json_array_size(models); m++)
                rc = read_model(json_array_get(models, m), table, err);
        return rc;
}

static int read_plan(json_t *object, struct price_plan *plan, struct err *err)
{
        static const char *const beside[] = {"version", "core", "models", NULL};
        int rc;

        if (!json_is_object(object))
                return err_set(err, ERR_INPUT, "it is no object");
        rc = fields_read(&head_fields, object, beside, plan, err);
        if (rc == 0 && plan->table.models_len > PRICE_MODELS_MAX)
                rc = err_set(err, ERR_INPUT, "field 'models_len' is above %d", PRICE_MODELS_MAX);
        if (rc == 0 && plan->priced)
                rc = read_table(object, &plan->table, err);
        return rc ? rc : price_plan_check(plan, err);
}

int log_plan_read(json_t *object, struct price_plan **ret_plan, struct err *err)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);
        int rc = plan ? read_plan(object, plan, err) : err_set(err, ERR_NOMEM, "out of memory");

        if (rc) {
                mem_free(plan);
                return err_prefix(err, "field 'plan'");
        }
        *ret_plan = plan;
        return 0;
}
