#include "tests/unit/check.h"

#include <uv.h>

#include "base/time.h"
#include "net/piece.h"
#include "net/share.h"

#define KEPT_NS INT64_C(500000)
#define PARTS   10

static void a_busy_loop_gives_one_part_of_its_time(void **state)
{
        (void)state;
        struct share share;
        uv_loop_t loop;
        uv_loop_init(&loop);
        share_init(&share, &loop, PARTS, KEPT_NS);
        int64_t now_ns = share.looked_ns;
        assert_int_equal(share_left_ns(&share, now_ns), KEPT_NS);
        share_spend(&share, 2 * KEPT_NS);
        assert_int_equal(share_left_ns(&share, now_ns), -KEPT_NS);
        assert_int_equal(share_left_ns(&share, now_ns += KEPT_NS * PARTS), 0);
        assert_int_equal(share_left_ns(&share, now_ns += 1000), 1000 / PARTS);
        /* What is not used is not kept for ever. */
        assert_int_equal(share_left_ns(&share, now_ns += KEPT_NS * PARTS * 100), KEPT_NS);
        uv_loop_close(&loop);
}

static void stop(uv_timer_t *timer)
{
        uv_stop(timer->loop);
}

/* However long it really took. */
static void an_idle_loop_gives_an_eighth_of_it_besides(void **state)
{
        (void)state;
        struct share share;
        uv_loop_t loop;
        uv_timer_t timer;
        uv_loop_init(&loop);
        share_init(&share, &loop, 1000000, INT64_C(1000000000));
        uv_timer_init(&loop, &timer);
        uv_timer_start(&timer, stop, 40, 0);
        share_spend(&share, share.left_ns);
        uv_run(&loop, UV_RUN_DEFAULT);
        int64_t idle_ns = (int64_t)uv_metrics_idle_time(&loop);
        int64_t left_ns = share_left_ns(&share, time_monotonic_ns());
        assert_true(idle_ns > 20000000);
        assert_true(left_ns >= idle_ns / 8);
        uv_close((uv_handle_t *)&timer, NULL);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
}

static void a_piece_lives_as_long_as_somebody_holds_it(void **state)
{
        (void)state;
        char bytes[] = "abc";
        struct piece *piece = piece_new(bytes, 3), *other = piece_hold(piece);
        bytes[0] = 'x';
        assert_ptr_equal(other, piece);
        piece_release(piece);
        assert_int_equal(piece_size(other), 3);
        assert_memory_equal(piece_bytes(other), "abc", 3);
        piece_release(other);
        piece_release(NULL);
        piece = piece_new(NULL, 0);
        assert_int_equal(piece_size(piece), 0);
        piece_release(piece);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_busy_loop_gives_one_part_of_its_time),
                cmocka_unit_test(an_idle_loop_gives_an_eighth_of_it_besides),
                cmocka_unit_test(a_piece_lives_as_long_as_somebody_holds_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
