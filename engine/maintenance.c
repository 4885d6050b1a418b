#include "engine/maintenance.h"

#include "base/err.h"

int maintenance_check(const struct maintenance *maintenance, struct err *err)
{
        if (maintenance->count > MAINTENANCE_MAX)
                return err_set(err, ERR_RANGE, "%u maintenance windows; at most %d are possible",
                               maintenance->count, MAINTENANCE_MAX);
        for (uint32_t w = 0; w < maintenance->count; w++) {
                const struct maintenance_window *window = &maintenance->windows[w];
                const struct calendar_window *when = &window->when;
                if (when->from_ms < 0 || when->until_ms > CALENDAR_MS_MAX ||
                    when->until_ms <= when->from_ms)
                        return err_set(err, ERR_RANGE,
                                       "maintenance '%.31s' does not end after it begins, between "
                                       "1970 and 9999",
                                       window->name);
                if (when->every_ms < 0 || when->every_ms > CALENDAR_MS_MAX || when->last_ms < 0 ||
                    (when->every_ms > 0 && when->every_ms < when->until_ms - when->from_ms))
                        return err_set(err, ERR_RANGE,
                                       "maintenance '%.31s' would begin anew before it ends",
                                       window->name);
        }
        return 0;
}

static bool is_over(const struct maintenance_window *window, const struct node_desc *desc)
{
        return (window->node == 0 || window->node == desc->name) &&
               (window->plane == 0 || window->plane == desc->plane);
}

const struct maintenance_window *maintenance_next(const struct maintenance *maintenance,
                                                  const struct node_desc *desc, int64_t now_ms,
                                                  int64_t *ret_from_ms, int64_t *ret_until_ms)
{
        const struct maintenance_window *first = NULL;

        for (uint32_t w = 0; w < maintenance->count; w++) {
                const struct maintenance_window *window = &maintenance->windows[w];
                int64_t from, until;
                if (!is_over(window, desc) ||
                    !calendar_window_next(&window->when, now_ms, &from, &until))
                        continue;
                if (first && (from > *ret_from_ms ||
                              (from == *ret_from_ms && until <= *ret_until_ms)))
                        continue;
                first = window;
                *ret_from_ms = from;
                *ret_until_ms = until;
        }
        return first;
}

int64_t maintenance_due_ms(const struct maintenance *maintenance, int64_t now_ms)
{
        int64_t due = INT64_MAX;

        for (uint32_t w = 0; w < maintenance->count; w++) {
                int64_t from, until;
                if (!calendar_window_next(&maintenance->windows[w].when, now_ms, &from, &until))
                        continue;
                int64_t next = from > now_ms ? from : until;
                due = next < due ? next : due;
        }
        return due;
}
