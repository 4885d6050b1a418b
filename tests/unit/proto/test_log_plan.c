/* Price plans in the log: written and read, brought to their facts, and what is refused. */
#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/price.h"
#include "proto/log_brought.h"
#include "proto/log_group.h"
#include "proto/log_plan.h"

static void check_ok(int rc, const struct err *err)
{
        if (rc)
                fail_msg("%s", err->text);
}

static struct price_plan *some_plan(bool priced)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);

        assert_non_null(plan);
        plan->hash = UINT64_MAX - 5;
        plan->revision = 128;
        plan->priced = priced;
        plan->shapes_count = 2;
        plan->shapes[0] = (struct price_shape){.cpu_milli = 500, .weight = 9};
        plan->shapes[1] = (struct price_shape){.cpu_milli = 8000, .share_milli = 1000,
                                               .devices = 8, .models = UINT64_MAX, .weight = 3};
        if (!priced)
                return plan;
        plan->table.models_len = 7;
        plan->table.core[PRICE_LEVELS - 1] = -12;
        plan->table.models[6].scarcity = 44;
        plan->table.models[6].part[PRICE_STEPS][0] = PRICE_UNITS_MAX;
        plan->table.models[6].idle[PRICE_DEVICES_MAX][PRICE_LEVELS - 1] = -PRICE_UNITS_MAX;
        plan->table.models[2].part[1][1] = 5;
        return plan;
}

static void check_same(const struct price_plan *plan, const struct price_plan *other)
{
        assert_memory_equal(plan, other, sizeof *plan);
}

static void a_plan_comes_back_as_it_was(void **state)
{
        (void)state;
        for (int priced = 0; priced < 2; priced++) {
                struct price_plan *plan = some_plan(priced), *again;
                struct text text = {0};
                struct err err;
                log_plan_write(plan, &text);
                json_t *object = json_loads(text.bytes, JSON_REJECT_DUPLICATES, NULL);
                assert_non_null(object);
                check_ok(log_plan_read(object, &again, &err), &err);
                check_same(plan, again);
                json_decref(object);
                text_done(&text);
                mem_free(plan);
                mem_free(again);
        }
}

static void see_input(struct log_brought *brought, const struct price_plan *plan)
{
        const struct input input = {.kind = INPUT_PLAN_SET, .plan = plan};
        struct text body = {0};
        struct err err;

        log_input_record(&input, NULL, &body);
        check_ok(log_brought_see(brought, body.bytes, body.size, false, &err), &err);
        text_done(&body);
}

static void a_fact_gets_the_plan_that_its_input_brought(void **state)
{
        struct log_brought brought = {0};
        struct fact fact = {.kind = FACT_DEMAND_SET};
        struct input input = {.kind = INPUT_PLAN_SET};
        struct price_plan *plan = some_plan(true);
        struct err err = {0};

        (void)state;
        assert_int_equal(log_brought_give(&brought, NULL, &fact, &err), -ERR_INPUT);
        assert_non_null(strstr(err.text, "no input brought"));
        see_input(&brought, plan);
        check_ok(log_brought_give(&brought, NULL, &fact, &err), &err);
        check_same(fact.plan, plan);
        check_ok(log_brought_give_input(&brought, NULL, &input, &err), &err);
        check_same(input.plan, plan);
        see_input(&brought, NULL);      /* it is taken away */
        check_ok(log_brought_give(&brought, NULL, &fact, &err), &err);
        assert_null(fact.plan);
        mem_free(plan);
        log_brought_done(&brought);
}

static void other_plans_are_refused(void **state)
{
        static const struct { const char *text, *says; } rows[] = {
                {"[]", "no object"},
                {"{\"revision\":-1}", "revision"},
                {"{\"colour\":1}", "colour"},
                {"{\"priced\":true}", "core"},
                {"{\"priced\":true,\"core\":[0,0,0,0,0,0,0,1.5],\"models\":[]}", "number 8"},
                {"{\"priced\":true,\"core\":[0,0,0,0,0,0,0,126000001],\"models\":[]}", "core"},
                {"{\"priced\":true,\"core\":[0,0,0,0,0,0,0,0]}", "models"},
                {"{\"priced\":true,\"core\":[0,0,0,0,0,0,0,0],\"models_len\":2,"
                 "\"models\":[{\"model\":2}]}", "below models_len"},
                {"{\"priced\":true,\"core\":[0,0,0,0,0,0,0,0],\"models_len\":3,"
                 "\"models\":[{\"model\":2,\"scarcity\":0,\"part\":[1],\"idle\":[]}]}", "part"},
                {"{\"models_len\":65}", "models_len"},
                {"{\"shapes\":[{\"weight\":72057594037927937}]}", "weights"},
        };

        (void)state;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                json_t *object = json_loads(rows[r].text, 0, NULL);
                struct price_plan *plan;
                struct err err = {0};
                assert_non_null(object);
                assert_true(log_plan_read(object, &plan, &err) < 0);
                if (!strstr(err.text, rows[r].says) || !strstr(err.text, "plan"))
                        fail_msg("'%s' says '%s'", rows[r].text, err.text);
                json_decref(object);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plan_comes_back_as_it_was),
                cmocka_unit_test(a_fact_gets_the_plan_that_its_input_brought),
                cmocka_unit_test(other_plans_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
