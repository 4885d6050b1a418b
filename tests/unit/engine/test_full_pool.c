/* A full pool where many wait: what the turns leave out must not keep anybody waiting. */
#include "engine/hold.h"
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

static const char document[] =
        "kind: Policy\n"
        "preset: protected\n"
        "classes:\n"
        "  c: {rank: 2, methods: [whole], by_weight: true, stop: for_protect, notice: 5m,\n"
        "      exempt: 20m, hold_after: 1m}\n"
        "tenants:\n"
        "  p: {protect: {V100-16: 2}}\n"
        "  u: {}\n"
        "  v: {}\n"
        "  w: {}\n";

static int open_full(void **state)
{
        open_pool(state);
        join("a", GPU, 4);
        set_policy(document);
        return 0;
}

static void job(uint64_t id, const char *tenant)
{
        submit(of(ask(id, 1), tenant, "c"));
}

static void gang(uint64_t id, const char *tenant, uint32_t members, unsigned devices)
{
        struct request request = of(ask(id, devices), tenant, "c");

        request.form.members = members;
        submit(request);
}

/* Starts of that input, and nobody else's. */
static void starts_only(uint64_t id)
{
        assert_int_equal(count_facts(FACT_ALLOCATED), 1);
        assert_int_equal(find_fact(FACT_ALLOCATED)->allocated.workload, id);
}

static void who_starts_follows_what_tenants_hold_now(void **state)
{
        (void)state;
        job(1, "u");
        job(2, "u");
        job(3, "u");
        job(4, "v");
        job(10, "u");
        job(11, "u");
        job(20, "v");
        job(21, "v");
        job(30, "w");
        leave(INPUT_EXITED, 1);         /* u holds 2, v 1, w 0 */
        starts_only(30);
        leave(INPUT_EXITED, 2);         /* u 1, v 1: who came first */
        starts_only(10);
        leave(INPUT_EXITED, 3);         /* u 1, v 1 */
        starts_only(11);
        leave(INPUT_EXITED, 30);        /* u 2, v 1 */
        starts_only(20);
        leave(INPUT_EXITED, 10);
        leave(INPUT_EXITED, 11);
        assert_true(is_placed(21));
        assert_int_equal(pool->waiting, 0);
}

static void the_end_of_a_task_lets_one_of_another_tenant_start(void **state)
{
        struct request task;

        (void)state;
        for (uint64_t id = 1; id <= 2; id++) {
                task = of(ask(id, 1), id == 1 ? "u" : "v", "c");
                task.array = 7;
                task.array_at_once = 1;
                submit(task);
        }
        job(3, "w");
        job(4, "w");
        job(5, "w");
        assert_true(is_waiting(2));
        job(6, "w");
        leave(INPUT_EXITED, 3);         /* its room is not for the second task yet */
        starts_only(6);
        leave(INPUT_EXITED, 1);
        starts_only(2);
}

static void room_is_asked_for_again_when_work_is_no_longer_exempt(void **state)
{
        (void)state;
        for (uint64_t id = 1; id <= 4; id++)
                job(id, "u");
        at(M);
        job(10, "p");
        at(20 * M - S);
        job(11, "p");
        assert_int_equal(count_facts(FACT_PLANNED), 0);
        at(20 * M);                     /* nothing has happened, but time is over */
        job(12, "p");
        assert_int_equal(count_facts(FACT_PLANNED), 1);
}

static void a_gang_starts_with_the_exit_that_makes_room_for_all(void **state)
{
        (void)state;
        for (uint64_t id = 1; id <= 4; id++)
                job(id, "w");
        gang(10, "u", 3, 1);
        gang(11, "v", 3, 1);
        gang(12, "v", 4, 1);
        leave(INPUT_EXITED, 1);
        leave(INPUT_EXITED, 2);
        assert_int_equal(count_facts(FACT_ALLOCATED), 0);
        leave(INPUT_EXITED, 3);
        assert_int_equal(count_facts(FACT_ALLOCATED), 3);
        assert_true(is_placed(10));
        leave(INPUT_EXITED, 10);
        assert_true(is_placed(11));
        leave(INPUT_EXITED, 11);
        assert_true(is_waiting(12));
        leave(INPUT_EXITED, 4);
        assert_true(is_placed(12));
}

static void a_gang_starts_on_nodes_that_are_held_for_it_alone(void **state)
{
        (void)state;
        join("b", GPU, 4);
        for (uint64_t id = 1; id <= 2; id++) {
                struct request request = of(ask(id, 4), "u", "c");
                request.time_limit_ms = H;
                submit(request);
        }
        gang(10, "v", 2, 4);
        tick_at(2 * M);
        assert_int_equal(count_facts(FACT_NODE_HELD), 2);
        leave(INPUT_EXITED, 1);
        assert_int_equal(count_facts(FACT_ALLOCATED), 0);
        leave(INPUT_EXITED, 2);
        assert_int_equal(count_facts(FACT_ALLOCATED), 2);
        assert_true(is_placed(10));
        assert_int_equal(pool->nodes_held, 0);
}

/* What somebody's unused promise keeps changes what others may start as, and so their order. */
static int open_promised(void **state)
{
        open_pool(state);
        join("a", GPU, 1);
        join("b", "T4", 1);
        set_policy("kind: Policy\n"
                   "preset: protected\n"
                   "classes:\n"
                   "  c: {rank: 2, methods: [whole], stop: for_protect, above_limit: spare}\n"
                   "tenants:\n"
                   "  p: {protect: {V100-16: 1, T4: 1}, lend: {V100-16: none}}\n"
                   "  u: {limit: {T4: 0}}\n"
                   "  v: {}\n");
        return 0;
}

static void what_is_no_longer_lent_counts_at_once(void **state)
{
        (void)state;
        job(1, "p");
        job(2, "p");
        job(10, "u");
        job(20, "v");
        tick_at(S);
        leave(INPUT_EXITED, 1);         /* what it leaves is kept for p ... */
        assert_int_equal(count_facts(FACT_ALLOCATED), 0);
        leave(INPUT_EXITED, 2);         /* ... so that u would be spare, and v goes first */
        starts_only(20);
        assert_int_equal(find_fact(FACT_ALLOCATED)->allocated.standing, STANDING_STANDARD);
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_full, close_with_policy)
        const struct CMUnitTest tests[] = {
                POOL(who_starts_follows_what_tenants_hold_now),
                POOL(the_end_of_a_task_lets_one_of_another_tenant_start),
                POOL(room_is_asked_for_again_when_work_is_no_longer_exempt),
                POOL(a_gang_starts_with_the_exit_that_makes_room_for_all),
                POOL(a_gang_starts_on_nodes_that_are_held_for_it_alone),
                cmocka_unit_test_setup_teardown(what_is_no_longer_lent_counts_at_once,
                                                open_promised, close_with_policy),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
