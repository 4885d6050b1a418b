#include "tests/unit/check.h"

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

static uint64_t next_random(uint64_t *seed)
{
        *seed += 0x9e3779b97f4a7c15u;
        return map_mix(*seed);
}

static void an_empty_map_holds_nothing(void **state)
{
        (void)state;
        struct map map;
        map_init(&map, 10);
        uint32_t cursor = 0;
        uint64_t key;
        uint32_t value;
        assert_int_equal(map_get(&map, 0), MAP_NONE);
        assert_int_equal(map_remove(&map, 0), MAP_NONE);
        assert_false(map_next(&map, &cursor, &key, &value));
        assert_int_equal(map_bytes(&map), 0);
        map_clear(&map);
        map_done(&map);
        map_done(NULL);
}

static void extreme_keys_and_values_are_kept(void **state)
{
        (void)state;
        static const struct { uint64_t key; uint32_t value; } rows[] = {
                {0, 0},
                {1, MAP_NONE - 1},
                {UINT64_MAX, 7},
                {UINT64_MAX - 1, 8},
                {1ull << 63, 9},
        };
        struct map map;
        map_init(&map, 10);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(map_set(&map, rows[i].key, rows[i].value), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(map_get(&map, rows[i].key), rows[i].value);
        map_done(&map);
}

/* Random steps against a plain array; the seed names the run. */
static void it_behaves_as_an_array_does(void **state)
{
        (void)state;
        enum { KEYS = 700, STEPS = 200000 };
        for (uint64_t run = 1; run <= 3; run++) {
                uint64_t seed = run;
                uint32_t model[KEYS];
                uint32_t model_count = 0;
                memset(model, 0xff, sizeof model);
                struct map map;
                map_init(&map, KEYS);
                for (int step = 0; step < STEPS; step++) {
                        uint64_t random = next_random(&seed);
                        uint32_t at = (uint32_t)(random % KEYS);
                        uint64_t key = run == 1 ? at : run == 2 ? (uint64_t)at << 40 : map_mix(at);
                        uint32_t value = (uint32_t)(random >> 32) & 0xffff;
                        switch ((random >> 20) % 4) {
                        case 0:
                        case 1:
                                assert_int_equal(map_set(&map, key, value), 0);
                                model_count += model[at] == MAP_NONE;
                                model[at] = value;
                                break;
                        case 2:
                                assert_int_equal(map_remove(&map, key), model[at]);
                                model_count -= model[at] != MAP_NONE;
                                model[at] = MAP_NONE;
                                break;
                        default:
                                assert_int_equal(map_get(&map, key), model[at]);
                        }
                        assert_int_equal(map.count, model_count);
                }
                uint32_t cursor = 0;
                uint64_t key;
                uint32_t value;
                uint32_t walked = 0;
                while (map_next(&map, &cursor, &key, &value)) {
                        assert_int_equal(map_get(&map, key), value);
                        walked++;
                }
                assert_int_equal(walked, model_count);
                assert_true(map_bytes(&map) <= 16 * 1024);
                map_clear(&map);
                assert_int_equal(map.count, 0);
                assert_int_equal(map_get(&map, 1), MAP_NONE);
                map_done(&map);
        }
}

static void the_bound_holds_and_refuses_without_change(void **state)
{
        (void)state;
        struct map map;
        map_init(&map, 3);
        for (uint64_t key = 0; key < 3; key++)
                assert_int_equal(map_set(&map, key, 1), 0);
        assert_int_equal(map_set(&map, 3, 1), -ERR_FULL);
        assert_int_equal(map_set(&map, 2, 5), 0);       /* replacing needs no room */
        assert_int_equal(map_get(&map, 3), MAP_NONE);
        assert_int_equal(map_reserve(&map, 4), -ERR_FULL);
        assert_int_equal(map.count, 3);
        map_done(&map);
}

static void after_reserving_nothing_is_allocated(void **state)
{
        (void)state;
        struct map map;
        map_init(&map, 1000);
        assert_int_equal(map_reserve(&map, 1000), 0);
        mem_fail_at(1);
        for (uint64_t key = 0; key < 1000; key++)
                assert_int_equal(map_set(&map, key * 977, (uint32_t)key), 0);
        assert_false(mem_fail_happened());
        mem_fail_at(0);
        map_done(&map);
}

static void no_memory_changes_nothing(void **state)
{
        (void)state;
        struct map map;
        map_init(&map, 1000);
        uint64_t key = 0;
        mem_fail_at(2);
        while (map_set(&map, key, 1) == 0)
                key++;
        assert_int_equal(map.count, key);
        for (uint64_t i = 0; i < key; i++)
                assert_int_equal(map_get(&map, i), 1);
        assert_int_equal(map_set(&map, key, 1), 0);
        mem_fail_at(0);
        map_done(&map);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_map_holds_nothing),
                cmocka_unit_test(extreme_keys_and_values_are_kept),
                cmocka_unit_test(it_behaves_as_an_array_does),
                cmocka_unit_test(the_bound_holds_and_refuses_without_change),
                cmocka_unit_test(after_reserving_nothing_is_allocated),
                cmocka_unit_test(no_memory_changes_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
