#include "proto/window.h"

#include "base/doc.h"
#include "base/err.h"
#include "proto/policy_doc.h"
#include "proto/when.h"

#define EVERY_MS_MIN  (CALENDAR_DAY_MS / 24)
#define WINDOW_MS_MAX (366 * (int64_t)CALENDAR_DAY_MS)

static int read_times(const struct doc_node *map, struct calendar_window *window, struct err *err)
{
        const struct doc_node *from, *until;
        int rc;

        if ((rc = doc_need(map, "from", &from, err)) < 0 ||
            (rc = doc_need(map, "until", &until, err)) < 0 ||
            (rc = when_read(from, &window->from_ms, err)) < 0 ||
            (rc = when_read(until, &window->until_ms, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(map, "every"), EVERY_MS_MIN, WINDOW_MS_MAX,
                                  &window->every_ms, err)) < 0)
                return rc;
        return when_read(doc_get(map, "last"), &window->last_ms, err);
}

int window_read(const struct doc_node *map, const char *for_good,
                struct calendar_window *ret_window, struct err *err)
{
        const struct doc_node *until, *every, *last;
        struct calendar_window window = {0};
        char text[POLICY_TEXT_MAX];
        int rc = read_times(map, &window, err);

        if (rc < 0)
                return rc;
        until = doc_get(map, "until");
        every = doc_get(map, "every");
        last = doc_get(map, "last");
        int64_t length = window.until_ms - window.from_ms;
        if (length <= 0)
                return doc_fail(until, err, "does not lie behind 'from'; write a later time");
        if (length > WINDOW_MS_MAX)
                return doc_fail(until, err,
                                "is more than 366 days behind 'from'; for good, write %s",
                                for_good);
        if (every && length > window.every_ms)
                return doc_fail(
                        every, err,
                        "the window is %s long and would begin anew before it ends; write a "
                        "longer time or a shorter window",
                        policy_duration_text(length, text));
        if (last && !every)
                return doc_fail(last, err,
                                "says when repeating ends; add every: 7d or leave it out");
        if (last && window.last_ms <= window.from_ms)
                return doc_fail(last, err, "lies before the first window; write a later time");
        *ret_window = window;
        return 0;
}
