/* Nodes and devices that fail while a policy is in force. */
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

static int open_loss(void **state)
{
        open_pool(state);
        join("a", GPU, 4);
        join("b", GPU, 4);
        set_policy("kind: Policy\n"
                   "preset: protected\n"
                   "classes:\n"
                   "  c: {rank: 1, methods: [whole], stop: for_protect, notice: 10m, exempt: 0s, "
                   "hold_after: 1m}\n"
                   "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                   "tenants:\n"
                   "  t: {protect: {V100-16: 4}}\n"
                   "  u: {}\n");
        return 0;
}

static struct request job(uint64_t id, unsigned devices)
{
        struct request request = of(ask(id, devices), "u", "c");

        request.time_limit_ms = 8 * H;
        return request;
}

static void fail_node(const char *text)
{
        must(&(struct input){.kind = INPUT_NODE_FAILED, .node_name = name(text)});
}

static void break_device(const char *text, unsigned device)
{
        struct node_desc desc = node(text, GPU, 4);

        desc.broken = (uint16_t)(1u << device);
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

static void a_gang_is_lost_once_and_waits_in_its_old_place(void **state)
{
        (void)state;
        struct request gang = job(1, 3);

        gang.form.members = 2;
        submit(gang);
        gang.workload = 2;
        submit(gang);
        assert_true(is_waiting(2));
        at(2 * H);
        leave(INPUT_CHECKPOINTED, 1);
        at(2 * H + 5 * M);
        fail_node("a");
        assert_int_equal(count_facts(FACT_REQUEUED), 0);        /* its member on `b` runs */
        assert_true(is_placed(1));
        leave(INPUT_LOST, 1);
        assert_int_equal(count_facts(FACT_REQUEUED), 1);
        assert_int_equal(count_facts(FACT_RELEASED), 0);
        const struct fact_requeued *lost = &find_fact(FACT_REQUEUED)->requeued;
        assert_int_equal(lost->cause, RELEASE_LOST);
        assert_int_equal(lost->attained_ms, 2 * H);
        assert_int_equal(lost->lost_ms, 5 * M);
        assert_false(lost->counts);
        assert_int_equal(pool->member_slots.used, 0);
        undrain("a", GPU, 4);
        assert_true(is_placed(1));
        assert_true(is_waiting(2));
}

static void a_broken_device_takes_only_what_lies_on_it(void **state)
{
        (void)state;
        submit(job(1, 2));
        submit(job(2, 2));
        unsigned device = pool->parts[pool->members[work(1)->first_member].first_part].part.device;
        submit(job(3, 4));
        break_device("a", device);
        assert_int_equal(count_facts(FACT_REQUEUED), 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.workload, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_LOST);
        assert_true(is_placed(2));
        assert_true(is_placed(3));
        assert_true(is_waiting(1));             /* one device of `a` is left */
}

static void fail_device(const char *text, unsigned device)
{
        must(&(struct input){.kind = INPUT_DEVICES_FAILED,
                             .broke = {name(text), (uint16_t)(1u << device)}});
}

static void what_a_failed_device_has_keeps_its_place_until_it_is_lost(void **state)
{
        (void)state;
        submit(job(1, 2));
        submit(job(2, 2));
        submit(job(3, 4));
        submit(job(4, 2));
        unsigned device = pool->parts[pool->members[work(1)->first_member].first_part].part.device;
        fail_device("a", device);
        assert_int_equal(count_facts(FACT_REQUEUED), 0);
        assert_true(is_placed(1));
        assert_true(is_waiting(4));
        fail_device("a", device);               /* known */
        assert_int_equal(count_facts(FACT_NODE_SET), 0);
        leave(INPUT_LOST, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_LOST);
        assert_true(is_waiting(1));             /* the other device of its two is left */
        assert_true(is_waiting(4));
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(1) != is_placed(4));
        assert_true(lies_on(is_placed(1) ? 1 : 4, "a"));
}

static void a_device_of_a_silent_node_fails_and_it_stays_silent(void **state)
{
        (void)state;
        submit(job(1, 4));
        fail_node("a");
        fail_node("b");
        fail_device("a", 0);
        assert_int_equal(pool->nodes[0].status, NODE_DOWN);
        assert_int_equal(pool->nodes[0].desc.broken, 1);
        tick_at(M);
        assert_true(is_waiting(1));
}

static void a_failed_device_that_is_not_there_is_refused(void **state)
{
        (void)state;
        must_fail(&(struct input){.kind = INPUT_DEVICES_FAILED, .broke = {name("a"), 16}},
                  -ERR_RANGE, "4 devices");
        must_fail(&(struct input){.kind = INPUT_DEVICES_FAILED, .broke = {name("z"), 1}},
                  -ERR_NOT_FOUND, "z");
}

/* u fills the pool, and t is due its promise: room is made on one node. */
static const char *plan_for_a_promise(void)
{
        submit(job(1, 4));
        submit(job(2, 4));
        at(M);
        submit(of(ask(3, 4), "t", "c"));
        tick_at(2 * M);
        assert_true(is_told(1) != is_told(2));
        return lies_on(is_told(1) ? 1 : 2, "a") ? "a" : "b";
}

static void a_plan_on_what_failed_is_withdrawn(void **state)
{
        (void)state;
        const char *where = plan_for_a_promise();
        bool first = is_told(1);

        fail_node(where);
        assert_int_equal(find_fact(FACT_PLAN_ENDED)->plan_ended.end, PLAN_WITHDRAWN);
        assert_true(is_waiting(first ? 1 : 2));
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_LOST);
        tick_at(3 * M);                         /* the promise is due all the same */
        assert_true(is_told(first ? 2 : 1));
}

static void a_plan_elsewhere_goes_on(void **state)
{
        (void)state;
        const char *where = plan_for_a_promise();

        fail_node(strcmp(where, "a") == 0 ? "b" : "a");
        assert_int_equal(count_facts(FACT_PLAN_ENDED), 0);
        uint64_t victim = is_placed(1) ? 1 : 2;
        at(15 * M);
        leave(INPUT_STOPPED, victim);
        assert_true(lies_on(3, where));
}

static void a_broken_device_withdraws_the_plan_and_its_victim_is_lost(void **state)
{
        (void)state;
        const char *where = plan_for_a_promise();

        break_device(where, 3);
        assert_int_equal(find_fact(FACT_PLAN_ENDED)->plan_ended.end, PLAN_WITHDRAWN);
        assert_int_equal(count_facts(FACT_REQUEUED), 1);
        assert_int_equal(pool->noticed, 0);
}

static void a_failed_device_withdraws_the_plan_and_its_victim_stays(void **state)
{
        (void)state;
        const char *where = plan_for_a_promise();
        uint64_t victim = is_told(1) ? 1 : 2;

        fail_device(where, 3);
        assert_int_equal(find_fact(FACT_PLAN_ENDED)->plan_ended.end, PLAN_WITHDRAWN);
        assert_int_equal(count_facts(FACT_REQUEUED), 0);
        assert_true(is_placed(victim));
        tick_at(3 * M);                         /* there is room on the other node, not here */
        assert_true(is_told(3 - victim));
        assert_false(is_told(victim));
}

/* A wide job waits for `a`, which a narrow one keeps busy; `b` is held by nobody. */
static void hold_a_node(void)
{
        submit(job(1, 1));
        at(M);
        submit(job(2, 4));
        struct request wide = job(3, 4);
        wide.time_limit_ms = H;
        submit(wide);
        for (int64_t m = 2; m < 20 && pool->nodes_held == 0; m++)
                tick_at(m * M);
        assert_int_equal(pool->nodes_held, 1);
}

static uint32_t held_node(void)
{
        return pool->nodes[0].held_for ? 0 : 1;
}

static void a_capacity_hold_on_what_failed_is_let_go(void **state)
{
        (void)state;
        hold_a_node();
        fail_node(held_node() == 0 ? "a" : "b");
        assert_int_equal(count_facts(FACT_NODE_LET_GO), 1);
        assert_int_equal(pool->nodes_held, 0);
}

static void a_capacity_hold_on_a_broken_device_is_let_go(void **state)
{
        (void)state;
        hold_a_node();
        break_device(held_node() == 0 ? "a" : "b", 3);
        assert_int_equal(count_facts(FACT_NODE_LET_GO), 1);
        assert_int_equal(pool->nodes_held, 0);
}

static void a_service_that_lost_its_place_goes_first(void **state)
{
        (void)state;
        struct request service = of(ask(9, 4), "u", "c");

        service.service = true;
        submit(job(1, 4));
        at(S);
        submit(service);
        for (uint64_t id = 2; id < 5; id++)
                submit(job(id, 4));
        tick_at(20 * H);                        /* they have waited longer than it ran */
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
        fail_node(lies_on(9, "a") ? "a" : "b");
        assert_true(is_waiting(9));
        assert_true(work(9)->displaced);
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(9));
        assert_false(work(9)->displaced);
        assert_true(is_waiting(3));
}

static void work_without_a_device_is_lost_with_its_node_only(void **state)
{
        (void)state;
        struct request cores = of(ask(1, 0), "u", "c");

        cores.need.cpu_milli = 1000;
        submit(cores);
        bool on_a = lies_on(1, "a");
        break_device(on_a ? "a" : "b", 0);
        assert_int_equal(count_facts(FACT_REQUEUED), 0);
        fail_node(on_a ? "a" : "b");
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_LOST);
        assert_true(lies_on(1, on_a ? "b" : "a"));
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_loss, close_with_policy)
        const struct CMUnitTest tests[] = {
                POOL(a_gang_is_lost_once_and_waits_in_its_old_place),
                POOL(a_broken_device_takes_only_what_lies_on_it),
                POOL(what_a_failed_device_has_keeps_its_place_until_it_is_lost),
                POOL(a_device_of_a_silent_node_fails_and_it_stays_silent),
                POOL(a_failed_device_that_is_not_there_is_refused),
                POOL(a_plan_on_what_failed_is_withdrawn),
                POOL(a_plan_elsewhere_goes_on),
                POOL(a_broken_device_withdraws_the_plan_and_its_victim_is_lost),
                POOL(a_failed_device_withdraws_the_plan_and_its_victim_stays),
                POOL(a_capacity_hold_on_what_failed_is_let_go),
                POOL(a_capacity_hold_on_a_broken_device_is_let_go),
                POOL(a_service_that_lost_its_place_goes_first),
                POOL(work_without_a_device_is_lost_with_its_node_only),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
