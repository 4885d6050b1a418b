#include "tests/unit/check.h"

#include <stdalign.h>

#include "base/arena.h"
#include "base/mem.h"

static void pieces_are_aligned_and_apart(void **state)
{
        (void)state;
        struct arena *arena = arena_new(256, 0);
        unsigned char *pieces[200];
        for (size_t i = 0; i < 200; i++) {
                pieces[i] = arena_alloc(arena, i);
                assert_non_null(pieces[i]);
                assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
                memset(pieces[i], (int)i, i);
        }
        for (size_t i = 0; i < 200; i++)
                for (size_t j = 0; j < i; j++)
                        assert_int_equal(pieces[i][j], i);
        arena_free(arena);
}

static void a_reset_keeps_the_memory(void **state)
{
        (void)state;
        struct arena *arena = arena_new(1024, 0);
        size_t held = 0;
        for (int round = 0; round < 10; round++) {
                for (int i = 0; i < 100; i++)
                        assert_non_null(arena_array(arena, 10, 10));
                struct arena_stats stats = arena_stats(arena);
                assert_int_equal(stats.used_bytes, 100 * 112);
                assert_int_equal(stats.peak_bytes, 100 * 112);
                if (round == 0)
                        held = stats.held_bytes;
                assert_int_equal(stats.held_bytes, held);
                arena_reset(arena);
                assert_int_equal(arena_stats(arena).used_bytes, 0);
        }
        arena_free(arena);
}

static void arrays_come_zeroed_even_after_a_reset(void **state)
{
        (void)state;
        struct arena *arena = arena_new(0, 0);
        memset(arena_alloc(arena, 1000), 0xff, 1000);
        arena_reset(arena);
        const unsigned char *bytes = arena_array(arena, 1000, 1);
        for (int i = 0; i < 1000; i++)
                assert_int_equal(bytes[i], 0);
        arena_free(arena);
}

static void large_pieces_get_their_own_chunk(void **state)
{
        (void)state;
        struct arena *arena = arena_new(128, 0);
        char *large = arena_alloc(arena, 1 << 20);
        char *small = arena_alloc(arena, 8);
        assert_non_null(large);
        assert_non_null(small);
        memset(large, 1, 1 << 20);
        memset(small, 2, 8);
        arena_free(arena);
}

static void the_bound_holds(void **state)
{
        (void)state;
        struct arena *arena = arena_new(1000, 10000);
        size_t got = 0;
        while (arena_alloc(arena, 100))
                got += 100;
        assert_true(got >= 7000);
        assert_true(arena_stats(arena).held_bytes <= 10000);
        assert_null(arena_alloc(arena, 100000));
        arena_free(arena);
}

static void sizes_that_wrap_are_refused(void **state)
{
        (void)state;
        struct arena *arena = arena_new(0, 0);
        assert_null(arena_alloc(arena, SIZE_MAX));
        assert_null(arena_alloc(arena, SIZE_MAX - 15));
        assert_null(arena_array(arena, SIZE_MAX / 2, 3));
        assert_null(arena_array(arena, SIZE_MAX / 16, 17));
        assert_null(arena_text(arena, "", SIZE_MAX));
        assert_non_null(arena_alloc(arena, 1));
        arena_free(arena);
}

static void texts_are_copied_and_terminated(void **state)
{
        (void)state;
        struct arena *arena = arena_new(0, 0);
        char source[] = "berth and more";
        char *text = arena_text(arena, source, 5);
        source[0] = 'x';
        assert_string_equal(text, "berth");
        assert_string_equal(arena_text(arena, NULL, 0), "");
        arena_free(arena);
        arena_free(NULL);
}

static void no_memory_is_told_by_null(void **state)
{
        (void)state;
        mem_fail_at(1);
        assert_null(arena_new(0, 0));
        struct arena *arena = arena_new(0, 0);
        mem_fail_at(1);
        assert_null(arena_alloc(arena, 10));
        assert_true(mem_fail_happened());
        assert_non_null(arena_alloc(arena, 10));
        mem_fail_at(0);
        arena_free(arena);
}

static void resized_arrays_keep_what_they_had(void **state)
{
        (void)state;
        uint32_t *array = mem_resize(NULL, 0, 3, sizeof *array);
        for (uint32_t i = 0; i < 3; i++)
                array[i] = i + 1;
        array = mem_resize(array, 3, 1000, sizeof *array);
        assert_int_equal(array[2], 3);
        for (int i = 3; i < 1000; i++)
                assert_int_equal(array[i], 0);
        assert_null(mem_resize(array, 1000, SIZE_MAX / 2, sizeof *array));
        mem_fail_at(1);
        assert_null(mem_resize(array, 1000, 2000, sizeof *array));
        assert_int_equal(array[2], 3);
        mem_free(array);
        assert_null(mem_new(SIZE_MAX / 2, 4));
        mem_free(mem_new(0, 4));
}

static void an_array_grows_when_it_is_full(void **state)
{
        (void)state;
        uint32_t room = 0;
        uint32_t *array = mem_grow(NULL, 0, &room, 3, sizeof *array);
        assert_int_equal(room, 3);
        array[2] = 7;
        assert_ptr_equal(mem_grow(array, 2, &room, 3, sizeof *array), array);
        assert_int_equal(room, 3);
        mem_fail_at(1);
        assert_null(mem_grow(array, 3, &room, 3, sizeof *array));
        assert_int_equal(room, 3);
        array = mem_grow(array, 3, &room, 3, sizeof *array);
        assert_int_equal(room, 6);
        assert_int_equal(array[2], 7);
        for (unsigned i = 3; i < 6; i++)
                assert_int_equal(array[i], 0);
        room = UINT32_MAX / 2 + 1;              /* must not wrap */
        assert_null(mem_grow(array, room, &room, 3, sizeof *array));
        mem_free(array);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_are_aligned_and_apart),
                cmocka_unit_test(a_reset_keeps_the_memory),
                cmocka_unit_test(arrays_come_zeroed_even_after_a_reset),
                cmocka_unit_test(large_pieces_get_their_own_chunk),
                cmocka_unit_test(the_bound_holds),
                cmocka_unit_test(sizes_that_wrap_are_refused),
                cmocka_unit_test(texts_are_copied_and_terminated),
                cmocka_unit_test(no_memory_is_told_by_null),
                cmocka_unit_test(resized_arrays_keep_what_they_had),
                cmocka_unit_test(an_array_grows_when_it_is_full),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
