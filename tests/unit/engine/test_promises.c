/* What is kept for promises, and what is left to others. */
#include "tests/unit/engine/pool_policy.h"

static void open_with(const char *const nodes[][2], size_t count, const char *text)
{
        open_pool(NULL);
        for (size_t n = 0; n < count; n++)
                join(nodes[n][0], nodes[n][1], 2);
        set_policy(text);
}

static struct request on(uint64_t id, const char *tenant, const char *model, unsigned devices)
{
        struct request request = of(ask(id, devices), tenant, "training");

        request.need.models = UINT64_C(1) << model_id(model);
        return request;
}

/* What is kept of any model binds all of them: who draws on one of them leaves the others. */
static void a_start_on_one_model_leaves_the_other(void **state)
{
        static const char *const nodes[][2] = {{"n1", "T4"}, {"n2", "V100-16"}};

        (void)state;
        open_with(nodes, ARRAY_LEN(nodes),
                  "kind: Policy\npreset: protected\n"
                  "tenants: {lender: {protect: {any: 2}, lend: none}, other: {}}\n");
        submit(on(1, "other", "T4", 1));
        assert_true(is_waiting(1));
        submit(on(2, "lender", "V100-16", 1));
        assert_true(is_placed(2));
        assert_int_equal(work(2)->standing, STANDING_PROTECTED);
        assert_true(is_placed(1));              /* in the same turn */
}

/* Work that a drained node still has takes nothing of what the others can give. */
static void work_on_a_drained_node_takes_nothing(void **state)
{
        static const char *const nodes[][2] = {{"n1", "T4"}, {"n2", "T4"}, {"n3", "T4"}};

        (void)state;
        open_with(nodes, ARRAY_LEN(nodes),
                  "kind: Policy\npreset: protected\n"
                  "tenants: {lender: {protect: {T4: 2}, lend: none}, other: {}}\n");
        submit(on(1, "other", "T4", 2));
        assert_true(lies_on(1, "n1"));
        drain_by("n1", "T4", 2, 0);
        submit(on(2, "other", "T4", 2));
        assert_true(is_placed(2));
        submit(on(3, "other", "T4", 1));
        assert_true(is_waiting(3));             /* the last two are the lender's */
        undrain("n1", "T4", 2);
        assert_true(is_waiting(3));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(3));
}

/* One promise pays for all of a workload. A node of each model looks best to its two members, and
 * no promise pays for both: then one model has to do. */
static void a_mixture_that_no_promise_holds_is_not_insisted_on(void **state)
{
        static const char *const nodes[][2] = {{"n2", "T4"}, {"n3", "T4"}};
        struct request gang;

        (void)state;
        open_pool(NULL);
        join("n1", "V100-16", 1);
        for (size_t n = 0; n < ARRAY_LEN(nodes); n++)
                join(nodes[n][0], nodes[n][1], 2);
        set_policy("kind: Policy\npreset: protected\n"
                   "tenants:\n"
                   "  t: {protect: {T4: 4, V100-16: 2}, lend: none,\n"
                   "      tenants: {c: {protect: {V100-16: 2}}}}\n");
        gang = of(ask(1, 1), "t/c", "training");
        gang.form.members = 2;
        gang.form.spread = SPREAD_NODE;
        submit(gang);
        assert_true(is_placed(1));
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        for (uint32_t m = work(1)->first_member; m != NONE; m = pool->members[m].next)
                assert_int_equal(pool->nodes[pool->members[m].node].desc.model, model_id("T4"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(a_start_on_one_model_leaves_the_other,
                                          close_with_policy),
                cmocka_unit_test_teardown(work_on_a_drained_node_takes_nothing,
                                          close_with_policy),
                cmocka_unit_test_teardown(a_mixture_that_no_promise_holds_is_not_insisted_on,
                                          close_with_policy),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
