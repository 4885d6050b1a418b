/* What is put together for a view: where memory is short, who is up to date falls behind, and misses
 * nothing. */
#include "tests/unit/check.h"

#include <string.h>

#include "base/mem.h"
#include "controller/events_impl.h"

static struct event event_of(uint64_t id)
{
        static char bytes[] = "web\0data:x\n\n";
        return (struct event){.id = id, .workload = 7, .bytes = bytes, .tenant_size = 4,
                              .all_size = 8, .own_is_all = true, .own_size = 8};
}

static void what_finds_no_memory_is_read_again_from_its_first_event(void **state)
{
        (void)state;
        struct events events = {.buckets = mem_new(VIEW_BUCKETS, sizeof *events.buckets)};
        const struct events_wish wish = {.view = EVENT_ALL};
        struct watcher watcher = {.events = &events, .view = view_take(&events, &wish),
                                  .state = WATCHER_ENDED};
        const struct event first = event_of(40), second = event_of(41);
        assert_non_null(events.buckets);
        assert_non_null(watcher.view);
        watcher_move(&watcher, WATCHER_LIVE);
        mem_fail_at(1);
        views_deliver(&events, &first);
        assert_true(mem_fail_happened());
        mem_fail_at(0);
        views_deliver(&events, &second);
        views_flush(&events);
        assert_int_equal(watcher.state, WATCHER_BEHIND);
        assert_int_equal(watcher.next_id, first.id);
        watcher_move(&watcher, WATCHER_ENDED);
        view_release(watcher.view);
        mem_free(events.buckets);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_finds_no_memory_is_read_again_from_its_first_event),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
