/* Running work that is moved: its place there is kept before it is told, and it starts at it. */
#include "base/text.h"
#include "proto/state_image.h"
#include "tests/unit/engine/pool_policy.h"

static const char rules[] = "kind: Policy\n"
                            "preset: protected\n"
                            "classes: {c: {rank: 1, methods: [whole], stop: never, notice: 10m}}\n"
                            "tenants: {u: {limit: {any: 4}}, v: {}}\n";

/* n1 and n2 of two T4, n3 of two A100-40; work 1 holds n1. */
static int open_two(void **state)
{
        open_pool(state);
        join("n1", "T4", 2);
        join("n2", "T4", 2);
        join("n3", "A100-40", 2);
        set_policy(rules);
        submit(of(ask(1, 2), "u", "c"));
        assert_true(lies_on(1, "n1"));
        return 0;
}

static struct input moved(uint64_t id, int64_t notice_ms, const char *to)
{
        return (struct input){.kind = INPUT_MOVE_ASKED,
                              .move = {id, notice_ms, to ? name(to) : 0}};
}

static void must_move(uint64_t id, int64_t notice_ms, const char *to)
{
        const struct input input = moved(id, notice_ms, to);

        must(&input);
}

static void fails(uint64_t id, int64_t notice_ms, const char *to, int code, const char *says)
{
        const struct input input = moved(id, notice_ms, to);
        uint64_t hash = state_hash(pool);

        must_fail(&input, -code, says);
        assert_int_equal(state_hash(pool), hash);
}

static void it_starts_at_its_place_when_it_has_stopped(void **state)
{
        (void)state;
        at(S);
        must_move(1, M, NULL);
        assert_int_equal(find_fact(FACT_PLANNED)->planned.cause, PLAN_MOVE);
        assert_int_equal(find_fact(FACT_PLANNED)->planned.beneficiary, 1);
        assert_int_equal(find_fact(FACT_PLACE_KEPT)->kept.place.node,
                         state_node(pool, name("n2")));
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.cause, NOTICE_MOVE);
        assert_true(is_told(1));
        /* Nobody takes the place meanwhile, nor what it leaves before it has it. */
        submit(of(ask(2, 2), "v", "c"));
        assert_true(lies_on(2, "n3"));
        struct request wide = of(ask(3, 2), "v", "c");
        submit(wide);
        assert_true(is_waiting(3));
        at(S + M);
        leave(INPUT_STOPPED, 1);
        assert_int_equal(find_fact(FACT_REQUEUED)->requeued.cause, RELEASE_ASKED);
        assert_false(find_fact(FACT_REQUEUED)->requeued.counts);
        assert_true(lies_on(1, "n2"));
        assert_true(lies_on(3, "n1"));
        assert_int_equal(pool->plan_slots.used, 0);
        leave(INPUT_EXITED, 1);
}

/* Its own use of its limit is not in its way. */
static void it_holds_no_more_than_before(void **state)
{
        struct policy_doc *before = policy;

        (void)state;
        set_policy("kind: Policy\npreset: protected\n"
                   "classes: {c: {rank: 1, methods: [whole], stop: never, notice: 10m}}\n"
                   "tenants: {u: {protect: {T4: 2}, limit: {any: 2}}, v: {}}\n");
        policy_doc_free(before);
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
        must_move(1, 0, "n2");
        leave(INPUT_STOPPED, 1);
        assert_true(lies_on(1, "n2"));
        assert_int_equal(work(1)->standing, STANDING_PROTECTED);
}

static void where_there_is_no_place_it_stays(void **state)
{
        (void)state;
        fails(1, 0, "n1", ERR_INPUT, "lies on node 'n1' already");
        fails(1, 0, "n9", ERR_NOT_FOUND, "no node 'n9'");
        fails(1, 0, "n3", ERR_FULL, "node 'n3' has no room");    /* another model */
        fails(1, -1, NULL, ERR_RANGE, "-1");
        fails(9, 0, NULL, ERR_NOT_FOUND, "9");
        submit(of(ask(2, 2), "v", "c"));
        assert_true(lies_on(2, "n2"));
        fails(1, 0, NULL, ERR_FULL, "no other node has room for workload 1 now");
        fails(1, 0, "n2", ERR_FULL, "node 'n2' has no room");
        must(&(struct input){.kind = INPUT_CANCELLED, .workload = 2});
        struct request none = of(ask(3, 0), "v", "c");
        none.need.cpu_milli = 1000;
        submit(none);
        fails(3, 0, NULL, ERR_INPUT, "no devices");
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, true}});
        fails(1, 0, NULL, ERR_INPUT, "frozen");
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, false}});
        must_move(1, 0, NULL);
        fails(1, 0, NULL, ERR_EXISTS, "already");
}

/* The same as bytes: a snapshot may be made while it is told. */
static void a_snapshot_has_it_under_way(void **state)
{
        (void)state;
        struct text image = {0};
        struct state *back;
        struct err err = {0};

        must_move(1, M, NULL);
        state_image_write(pool, &image);
        assert_false(image.failed);
        if (state_image_read(image.bytes, image.size, models, policy->tenancy, &back, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(state_hash(back), state_hash(pool));
        state_check(back);
        state_free(back);
        text_done(&image);
}

static void what_becomes_of_its_place(void **state)
{
        (void)state;
        /* The node it was to go to is drained: it may stay. */
        must_move(1, M, NULL);
        drain_by("n2", "T4", 2, 0);
        assert_int_equal(find_fact(FACT_PLAN_ENDED)->plan_ended.end, PLAN_WITHDRAWN);
        assert_false(is_told(1));
        assert_true(lies_on(1, "n1"));
        undrain("n2", "T4", 2);
        /* It is cancelled while it is told. */
        must_move(1, M, NULL);
        must(&(struct input){.kind = INPUT_CANCELLED, .workload = 1});
        assert_int_equal(pool->plan_slots.used, 0);
        submit(of(ask(2, 2), "u", "c"));
        assert_true(lies_on(2, "n1"));
        /* Its own node fails: it is there at once. */
        must_move(2, M, NULL);
        must(&(struct input){.kind = INPUT_NODE_FAILED, .node_name = name("n1")});
        assert_true(lies_on(2, "n2"));
        assert_false(is_told(2));
        /* It ends by itself. */
        undrain("n1", "T4", 2);
        must_move(2, M, NULL);
        leave(INPUT_EXITED, 2);
        assert_int_equal(pool->plan_slots.used, 0);
        assert_int_equal(pool->plan_place_slots.used, 0);
}

static void a_gang_goes_as_a_whole(void **state)
{
        (void)state;
        join("n4", "T4", 2);
        join("n5", "T4", 1);
        struct request gang = of(ask(2, 1), "v", "c");
        gang.form.members = 2;
        gang.need.models = UINT64_C(1) << model_find(models, "T4", NULL);
        gang.form.spread = SPREAD_NODE;
        submit(gang);                   /* n2, and n4 or n5 */
        assert_true(is_placed(2));
        fails(2, 0, NULL, ERR_FULL, "no other node");   /* one is left, and it needs two */
        join("n6", "T4", 2);
        must_move(2, 0, NULL);
        assert_int_equal(find_fact(FACT_PLANNED)->planned.places, 2);
        leave(INPUT_STOPPED, 2);
        assert_true(is_placed(2));
        assert_int_equal(work(2)->members_placed, 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(it_starts_at_its_place_when_it_has_stopped,
                                                open_two, close_with_policy),
                cmocka_unit_test_setup_teardown(it_holds_no_more_than_before, open_two,
                                                close_with_policy),
                cmocka_unit_test_setup_teardown(where_there_is_no_place_it_stays, open_two,
                                                close_with_policy),
                cmocka_unit_test_setup_teardown(a_snapshot_has_it_under_way, open_two,
                                                close_with_policy),
                cmocka_unit_test_setup_teardown(what_becomes_of_its_place, open_two,
                                                close_with_policy),
                cmocka_unit_test_setup_teardown(a_gang_goes_as_a_whole, open_two,
                                                close_with_policy),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
