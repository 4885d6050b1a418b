/* Room for gangs that must lie near each other: plans, and capacity holds. */
#include "tests/unit/engine/pool_policy.h"

#define GPU "V100-16"

/* Nodes of 4 devices: "a0" is the first of rack a. */
static struct node_desc in_rack(const char *text)
{
        struct node_desc desc = node(text, GPU, 4);
        char rack[] = {'r', text[0], '\0'};

        desc.rack = word(rack);
        desc.block = word("b");
        return desc;
}

static void join_all(const char *const *names, size_t count)
{
        for (size_t n = 0; n < count; n++)
                must(&(struct input){.kind = INPUT_NODE_JOINED, .node = in_rack(names[n])});
}

static void open_racks(unsigned protect)
{
        static const char *const names[] = {"a0", "a1", "b0", "b1", "c0"};
        char text[600];

        open_pool(NULL);
        join_all(names, ARRAY_LEN(names));
        (void)snprintf(text, sizeof text,
                       "kind: Policy\n"
                       "preset: protected\n"
                       "classes:\n"
                       "  c: {rank: 1, methods: [whole], stop: for_protect, notice: 10m, "
                       "exempt: 0s, hold_after: 1m}\n"
                       "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                       "tenants:\n"
                       "  t: {protect: {V100-16: %u}}\n"
                       "  u: {}\n", protect);
        set_policy(text);
}

static struct request gang(uint64_t id, const char *tenant, uint32_t members, unsigned devices,
                           enum near_level level)
{
        struct request request = of(ask(id, devices), tenant, "c");

        request.form.members = members;
        request.form.near = (uint8_t)level;
        request.form.near_required = level != NEAR_NONE;
        return request;
}

/* Borrowed work 1..5 on one node each, in the order of nodes, each started a minute later. */
static void borrow_all(void)
{
        for (uint64_t id = 1; id <= 5; id++) {
                at((int64_t)id * M);
                submit(gang(id, "u", 1, 4, NEAR_NONE));
                assert_true(is_placed(id));
        }
}

static void check_told(const char *expected)
{
        char told[16] = "";

        for (uint64_t id = 1; id <= 5; id++)
                if (is_placed(id) && is_told(id))
                        (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%u",
                                       (unsigned)id);
        assert_string_equal(told, expected);
}

/* Rack c loses least, and has one node only; of a and b, b runs for less long. */
static void room_is_made_in_one_rack(void **state)
{
        (void)state;
        static const struct {
                enum near_level level;
                uint32_t members;
                const char *told;
        } rows[] = {
                { NEAR_NONE,  2, "45" },        /* anywhere, the least lost: b1 and c0 */
                { NEAR_RACK,  2, "34" },
                { NEAR_BLOCK, 2, "45" },
                { NEAR_BLOCK, 4, "2345" },
                { NEAR_NODE,  1, "5" },         /* means nothing for one member */
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                open_racks(16);
                borrow_all();
                at(10 * M);
                submit(gang(9, "t", rows[i].members, 4, rows[i].level));
                check_told(rows[i].told);
                assert_int_equal(count_facts(FACT_PLANNED), 1);
                assert_int_equal(count_facts(FACT_PLACE_KEPT), rows[i].members);
                close_with_policy(NULL);
        }
}

static void a_gang_of_one_node_gets_one_node(void **state)
{
        (void)state;
        open_racks(16);
        for (uint64_t id = 1; id <= 5; id++) {          /* 3 of 4 devices each */
                at((int64_t)id * M);
                submit(gang(id, "u", 1, 3, NEAR_NONE));
        }
        at(10 * M);
        submit(gang(9, "t", 2, 2, NEAR_NODE));          /* two nodes with 2 free would be cheaper */
        check_told("5");
        at(20 * M);
        leave(INPUT_STOPPED, 5);
        assert_true(lies_on(9, "c0"));
        uint32_t first = work(9)->first_member;
        assert_int_equal(pool->members[first].node, pool->members[pool->members[first].next].node);
}

/* Devices 0-1 and 2-3 are linked. */
static void linked_devices_come_from_one_group(void **state)
{
        (void)state;
        open_pool(NULL);
        struct node_desc desc = node("a0", GPU, 4);
        desc.link_group = 2;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        set_policy("kind: Policy\n"
                   "preset: protected\n"
                   "classes: {c: {rank: 1, methods: [whole], stop: for_protect, notice: 10m, "
                   "exempt: 0s}}\n"
                   "rules: {stop_rate: {pct: 100, per: 10m}}\n"
                   "tenants: {t: {protect: {V100-16: 2}}, u: {}}\n");
        for (uint64_t id = 1; id <= 4; id++) {          /* one device each, 0 to 3 */
                at((int64_t)id * M);
                submit(gang(id, "u", 1, 1, NEAR_NONE));
        }
        at(10 * M);
        leave(INPUT_EXITED, 2);
        submit(gang(9, "t", 1, 2, NEAR_DEVICE_LINKS));
        /* 4 loses least, but 3 would have to go with it. */
        check_told("1");
        at(20 * M);
        leave(INPUT_STOPPED, 1);
        assert_true(is_placed(9));
}

static void nobody_stops_where_no_rack_can_hold_it(void **state)
{
        (void)state;
        open_racks(16);
        borrow_all();
        at(10 * M);
        submit(gang(8, "t", 1, 4, NEAR_NONE));          /* c0, and then it is protected */
        check_told("5");
        at(20 * M);
        leave(INPUT_STOPPED, 5);
        leave(INPUT_CANCELLED, 5);
        leave(INPUT_EXITED, 1);
        leave(INPUT_EXITED, 3);
        submit(gang(7, "t", 2, 4, NEAR_NONE));          /* a0 and b0: protected in each rack */
        assert_true(is_placed(7));
        submit(gang(9, "t", 2, 4, NEAR_RACK));
        assert_true(is_waiting(9));
        check_told("");
        tick_at(30 * M);
        check_told("");
        assert_int_equal(count_facts(FACT_PLANNED), 0);
}

/* A gang of the borrower lies in both racks: it is stopped once, and counts in the rack that is
 * chosen only. */
static void a_victim_in_two_racks_counts_once(void **state)
{
        (void)state;
        open_racks(16);
        submit(gang(1, "u", 5, 4, NEAR_NONE));
        assert_true(is_placed(1));
        at(10 * M);
        submit(gang(9, "t", 2, 4, NEAR_RACK));
        const struct fact *planned = find_fact(FACT_PLANNED);
        assert_int_equal(planned->planned.victims, 1);
        assert_int_equal(planned->planned.places, 2);
        assert_true(planned->planned.loss == 5 * 4 * UNITS_DEVICE * 660);
        assert_true(is_told(1));
}

static void spread_holds_inside_of_the_domain(void **state)
{
        (void)state;
        open_racks(16);
        borrow_all();
        at(10 * M);
        struct request request = gang(9, "t", 3, 4, NEAR_BLOCK);
        request.form.spread = SPREAD_RACK;
        submit(request);
        check_told("245");                              /* a1, b1 and c0, each the cheaper */
}

static void a_node_that_moved_ends_the_plan(void **state)
{
        (void)state;
        open_racks(16);
        borrow_all();
        at(10 * M);
        submit(gang(9, "t", 2, 4, NEAR_RACK));
        check_told("34");
        at(20 * M);
        leave(INPUT_STOPPED, 3);
        struct node_desc desc = in_rack("b1");
        desc.rack = word("elsewhere");
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        leave(INPUT_STOPPED, 4);
        assert_true(is_waiting(9));                     /* b0 and b1 are of two racks now */
        assert_int_equal(count_facts(FACT_PLAN_ENDED), 1);
        assert_int_equal(find_fact(FACT_PLAN_ENDED)->plan_ended.end, PLAN_WITHDRAWN);
}

/* ---- capacity holds ---- */

/* As room_is_made_in_one_rack(), and nobody may be stopped: work 1..5 on a0 a1 b0 b1 c0 that end
 * after so many hours. */
static void run_for(const uint8_t *hours)
{
        open_racks(4);
        for (uint64_t id = 1; id <= 5; id++) {
                struct request request = gang(id, "u", 1, 4, NEAR_NONE);
                request.time_limit_ms = hours[id - 1] * H;
                submit(request);
                assert_true(is_placed(id));
        }
}

static void check_held(const char *expected)
{
        char held[32] = "";

        for (uint32_t n = 0; n < pool->node_slots.high; n++)
                if (pool->nodes[n].held_for)
                        (void)snprintf(held + strlen(held), sizeof held - strlen(held), "%s ",
                                       vocab_name_text(pool->vocab, pool->nodes[n].desc.name));
        assert_string_equal(held, expected);
}

static void a_hold_lies_in_the_rack_that_is_ready_first(void **state)
{
        (void)state;
        static const struct {
                uint8_t hours[5];
                enum near_level level;
                bool required;
                uint32_t members;
                unsigned devices;
                const char *held;
                unsigned until_h;
        } rows[] = {
                { {1, 9, 5, 6, 2}, NEAR_NONE,  false, 2, 4, "a0 c0 ", 2 },
                { {1, 9, 5, 6, 2}, NEAR_RACK,  true,  2, 4, "b0 b1 ", 6 },
                { {1, 9, 5, 6, 2}, NEAR_RACK,  false, 2, 4, "a0 c0 ", 2 },      /* preferred */
                { {1, 4, 5, 6, 2}, NEAR_RACK,  true,  2, 4, "a0 a1 ", 4 },
                { {1, 9, 5, 6, 2}, NEAR_BLOCK, true,  3, 4, "a0 b0 c0 ", 5 },
                { {3, 9, 5, 6, 2}, NEAR_NODE,  true,  2, 2, "c0 ", 2 },
                { {3, 3, 5, 6, 2}, NEAR_RACK,  true,  3, 2, "a0 a1 ", 3 },      /* two on a0 */
                { {3, 3, 5, 6, 2}, NEAR_RACK,  true,  2, 2, "c0 ", 2 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                run_for(rows[i].hours);
                struct request request = gang(9, "u", rows[i].members, rows[i].devices,
                                              rows[i].level);
                request.form.near_required = rows[i].required;
                submit(request);
                tick_at(2 * M);
                check_held(rows[i].held);
                assert_int_equal(find_fact(FACT_NODE_HELD)->node_held.until_ms,
                                 T0 + rows[i].until_h * H);
                close_with_policy(NULL);
        }
}

static void no_hold_where_no_rack_is_wide_enough(void **state)
{
        (void)state;
        run_for((const uint8_t[]){1, 9, 5, 6, 2});
        drain_by("a1", GPU, 4, 0);
        submit(gang(9, "u", 2, 4, NEAR_RACK));
        tick_at(2 * M);
        check_held("b0 b1 ");
        struct node_desc desc = in_rack("b0");
        desc.drained = true;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        tick_at(3 * M);
        check_held("");
}

static void a_hold_is_spread_over_racks(void **state)
{
        (void)state;
        run_for((const uint8_t[]){1, 2, 5, 6, 7});
        struct request request = gang(9, "u", 2, 4, NEAR_NONE);
        request.form.spread = SPREAD_RACK;
        submit(request);
        tick_at(2 * M);
        check_held("a0 b0 ");
}

/* It starts on what it held, although others wait that fit on it sooner. */
static void what_was_held_in_a_rack_is_taken(void **state)
{
        (void)state;
        run_for((const uint8_t[]){1, 9, 5, 6, 9});
        submit(gang(9, "u", 2, 4, NEAR_RACK));
        tick_at(2 * M);
        check_held("b0 b1 ");
        struct request other = gang(10, "u", 1, 4, NEAR_NONE);
        other.time_limit_ms = 9 * H;
        other.priority = -1;
        submit(other);
        at(3 * M);
        leave(INPUT_EXITED, 3);
        assert_true(is_waiting(10));
        leave(INPUT_EXITED, 4);
        assert_true(is_placed(9));
        assert_true(is_waiting(10));
        check_held("");
}

/* Rescued work may want no device at all: each member is held a node, and waits for its cores. */
static void rescued_work_without_devices_is_held_a_node_each(void **state)
{
        (void)state;
        open_racks(0);
        for (uint64_t id = 1; id <= 5; id++) {
                struct request request = gang(id, "u", 1, 0, NEAR_NONE);
                request.need.cpu_milli = 16000;
                submit(request);
                assert_true(is_placed(id));
        }
        for (uint64_t id = 6; id <= 7; id++) {
                struct request request = gang(id, "u", 2, 0, id == 6 ? NEAR_NONE : NEAR_RACK);
                request.need.cpu_milli = 8000;
                submit(request);
                assert_true(is_waiting(id));
        }
        tick_at(10 * 24 * H);
        assert_int_equal(count_facts(FACT_RESCUED), 2);
        tick_at(10 * 24 * H + M);
        assert_int_equal(count_facts(FACT_NODE_HELD), 4);
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(6));
        assert_true(is_waiting(7));
        leave(INPUT_EXITED, 3);
        assert_true(is_placed(7));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(room_is_made_in_one_rack),
                cmocka_unit_test_teardown(a_gang_of_one_node_gets_one_node, close_with_policy),
                cmocka_unit_test_teardown(linked_devices_come_from_one_group, close_with_policy),
                cmocka_unit_test_teardown(nobody_stops_where_no_rack_can_hold_it,
                                          close_with_policy),
                cmocka_unit_test_teardown(a_victim_in_two_racks_counts_once, close_with_policy),
                cmocka_unit_test_teardown(spread_holds_inside_of_the_domain, close_with_policy),
                cmocka_unit_test_teardown(a_node_that_moved_ends_the_plan, close_with_policy),
                cmocka_unit_test(a_hold_lies_in_the_rack_that_is_ready_first),
                cmocka_unit_test_teardown(no_hold_where_no_rack_is_wide_enough,
                                          close_with_policy),
                cmocka_unit_test_teardown(a_hold_is_spread_over_racks, close_with_policy),
                cmocka_unit_test_teardown(what_was_held_in_a_rack_is_taken, close_with_policy),
                cmocka_unit_test_teardown(rescued_work_without_devices_is_held_a_node_each,
                                          close_with_policy),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
