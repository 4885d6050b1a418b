#include <math.h>

#include "base/mem.h"
#include "engine/fragment.h"
#include "engine/memo_impl.h"
#include "tests/unit/models.h"

static struct price_shape shape(unsigned devices, unsigned milli, uint32_t cpu, uint64_t weight)
{
        return (struct price_shape){.devices = (uint8_t)devices,
                                    .share_milli = (uint16_t)milli,
                                    .cpu_milli = cpu,
                                    .models = UINT64_MAX,
                                    .weight = weight};
}

static void the_most_frequent_shapes_make_up_the_target(void **state)
{
        (void)state;
        const struct price_shape demand[] = {shape(1, 100, 0, 1), shape(1, 200, 0, 90),
                                             shape(1, 300, 0, 4), shape(2, 1000, 0, 5)};
        static struct fragment_target target;

        fragment_target_make(demand, 4, &target);       /* 90 + 5 = 95 of 100: enough */
        assert_int_equal(target.count, 2);
        assert_int_equal(target.shapes[0].share_milli, 200);
        assert_int_equal(target.shapes[1].devices, 2);
        assert_int_equal(target.weight, 95);
        fragment_target_make(demand, 3, &target);       /* 90 of 95 is less than 95 % */
        assert_int_equal(target.count, 2);
        fragment_target_make(demand, 0, &target);
        assert_int_equal(target.count, 0);
        assert_int_equal(target.weight, 0);
}

static void weights_of_any_size_stay_in_bounds(void **state)
{
        (void)state;
        struct price_shape demand[] = {shape(1, 100, 0, UINT64_C(1) << 60),
                                       shape(1, 200, 0, UINT64_C(1) << 59), shape(1, 300, 0, 1)};
        static struct fragment_target target;

        fragment_target_make(demand, 3, &target);
        assert_true(target.weight > 0 && target.weight < 1 << 25);
        assert_true(target.shapes[0].weight >= target.shapes[1].weight);
}

static void fragments_are_as_by_hand(void **state)
{
        (void)state;
        static const uint16_t some[] = {200, 500, 1000}, none[] = {0, 0, 0};
        static const struct {
                uint64_t models;        /* of the one-device shape */
                uint32_t cpu;
                const uint16_t *free;
                int64_t fragment;
        } rows[] = {
                /* 3 x (1 device, 500 milli, 4 cores) and 1 x (2 devices, 8 cores) */
                { UINT64_MAX, 8000, some, 3 * 200 + 1700 },     /* no two idle devices */
                { UINT64_MAX, 7999, some, 3 * 200 + 1700 },
                { UINT64_MAX, 3999, some, 3 * 1700 + 1700 },    /* too few cores for either */
                { 2,          8000, some, 3 * 1700 + 1700 },    /* another model */
                { UINT64_MAX, 8000, none, 0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct price_shape demand[] = {shape(1, 500, 4000, 3), shape(2, 1000, 8000, 1)};
                static struct fragment_target target;
                demand[0].models = rows[i].models;
                fragment_target_make(demand, 2, &target);
                assert_int_equal(target.count, 2);
                assert_int_equal(fragment_of(&target, 0, rows[i].cpu, rows[i].free, 3),
                                 rows[i].fragment);
        }

        /* A wide shape that can run leaves the partly used devices over; CPU work uses none. */
        static const uint16_t wide[] = {300, 1000, 1000};
        struct price_shape demand[] = {shape(2, 1000, 8000, 2), shape(0, 0, 1000, 1)};
        static struct fragment_target target;
        fragment_target_make(demand, 2, &target);
        assert_int_equal(fragment_of(&target, 0, 8000, wide, 3), 2 * 300 + 2300);
}

static void free_compute_of_a_device(void **state)
{
        (void)state;
        struct device_state device = {0};

        assert_int_equal(fragment_free_milli(&device), 1000);
        device.foreign_slots = 1;
        assert_int_equal(fragment_free_milli(&device), 0);
        device = (struct device_state){.mode = DEVICE_SHARED, .share_taken_milli = 300,
                                       .holders = 1};
        assert_int_equal(fragment_free_milli(&device), 700);
        device.broken = 1;
        assert_int_equal(fragment_free_milli(&device), 0);
        device = (struct device_state){.mode = DEVICE_WHOLE, .holders = 1};
        assert_int_equal(fragment_free_milli(&device), 0);
        device = (struct device_state){.mode = DEVICE_SLICED, .holders = 1};
        assert_int_equal(fragment_free_milli(&device), 0);
}

static void a_pool_is_the_sum_of_its_nodes(void **state)
{
        (void)state;
        struct state *pool = state_new(models, &(struct state_bounds){.nodes_max = 4});
        const struct price_shape demand[] = {shape(2, 1000, 4000, 1)};
        static struct fragment_target target, empty;
        struct fact fact = {.kind = FACT_NODE_SET};

        assert_non_null(pool);
        fragment_target_make(demand, 1, &target);
        for (uint32_t n = 0; n < 3; n++) {
                static const char *const names[] = {"a", "b", "c"};
                fact.node_set.node = n;
                fact.node_set.desc = (struct node_desc){
                        .name = (uint32_t)vocab_name(pool->vocab, names[n], NULL),
                        .model = model_id("T4"),
                        .devices = (uint8_t)(n + 1),
                        .cpu_milli = 8000};
                state_apply(pool, &fact, 0);
        }
        /* One device can never run it; two and three can. */
        assert_int_equal(fragment_of_pool(pool, &target), 1000);
        assert_int_equal(fragment_of_pool(pool, &empty), 0);
        fact = (struct fact){.kind = FACT_NODE_DOWN};
        state_apply(pool, &fact, 0);
        assert_int_equal(fragment_of_pool(pool, &target), 0);
        state_free(pool);
}

/* ---- the 101 levels: floor(100 / (1 + e^(-fall / 1000))) without floating point ---- */

static int64_t level(int64_t fall_milli, int64_t weight)
{
        static struct memo memo;
        static struct class class;
        struct need need = {.ask = ASK_NOTHING};
        struct move move = {0};

        memo.target.weight = weight;
        class.value = fall_milli;               /* of a node without devices: all of it goes */
        return policy_fgd.score(&memo, &need, &class, &move);
}

static void levels_begin_where_the_published_ones_do(void **state)
{
        (void)state;
        static const struct { int64_t fall, level; } rows[] = {
                {      0, 50 }, {     1, 50 }, {    -1, 49 },
                {     40, 50 }, {    41, 51 }, {   -40, 49 }, {   -41, 48 },
                {   1000, 73 }, { -1000, 26 },
                {   4595, 98 }, {  4596, 99 }, { -4595,  1 }, { -4596,  0 },
                { 100000, 99 }, { -100000, 0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(level(rows[i].fall, 1), rows[i].level);

        int64_t before = 0;
        for (int64_t fall = -9000; fall <= 9000; fall++) {
                int64_t now = level(fall, 1);
                assert_true(now >= before);
                assert_int_equal(now, (int64_t)floor(100 / (1 + exp(-(double)fall / 1000))));
                before = now;
        }
}

static void levels_do_not_hang_on_the_weight(void **state)
{
        (void)state;
        static const int64_t weights[] = {1, 3, 1000, (1 << 25) - 1};

        for (size_t w = 0; w < ARRAY_LEN(weights); w++)
                for (int64_t fall = -16000; fall <= 16000; fall += 97)
                        assert_int_equal(level(fall * weights[w], weights[w]), level(fall, 1));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_most_frequent_shapes_make_up_the_target),
                cmocka_unit_test(weights_of_any_size_stay_in_bounds),
                cmocka_unit_test(fragments_are_as_by_hand),
                cmocka_unit_test(free_compute_of_a_device),
                cmocka_unit_test(a_pool_is_the_sum_of_its_nodes),
                cmocka_unit_test(levels_begin_where_the_published_ones_do),
                cmocka_unit_test(levels_do_not_hang_on_the_weight),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
