/* last_stop.h - how the newest run of live work that has ended came to its end: why, for whom or by
 * whom, and what was lost by it; in members, and in a sentence.
 *
 * Pure apart from the heap. Of what the workload's row has kept of that run (ending.h). Who sees
 * the whole pool is told whom a plan made room for. A tenant is told so of its own work; of
 * others' it hears the class and the reason.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct live;
struct object;

#define LAST_STOP_TEXT_MAX 800

/* {"at", "cause", "told", "plan", "for": {"workload", "name", "tenant", "class"}, "by", "reason",
 * "node", "lost_ms", "text"}; each null where there is nothing of the kind. Null as a whole where
 * no run has ended, or that is not durable yet. The caller's; NULL: out of memory. */
json_t *last_stop_view(const struct live *live, const struct object *object, bool sees_all);

/* The sentence of that value alone; "" where it is null. Returns `buf`. */
const char *last_stop_text(const json_t *stop, char buf[LAST_STOP_TEXT_MAX]);
