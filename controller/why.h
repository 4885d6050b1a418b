/* why.h - why the work of one answer waits: a verdict and a sentence for each of its rows.
 *
 * Pure apart from the heap and the monotonic clock. One owner, who keeps the state as it is as long
 * as this lives. Nobody is told more than `explain` would tell them (explain_view()).
 *
 * An explanation takes up to some milliseconds in a large pool. So what can differ in nothing but
 * its number is explained once (the tasks of an array), and a list says how much time it has.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct memo;
struct state;
struct why;

#define WHY_MS 20                       /* a list's time */

/* `is_operator`: who asks may see everything; else each row is told as its own tenant may see it.
 * All is borrowed. NULL: out of memory. */
struct why *why_new(struct memo *memo, const struct state *state, int64_t now_ms,
                    bool is_operator);
void why_free(struct why *why);                         /* NULL is fine */

/* From now on it has so much time; else it takes all that it needs. */
void why_set_time(struct why *why, int64_t time_ms);
bool why_has_time(const struct why *why);               /* some of it is left */

/* Sets "verdict" and "summary" of the row of a live workload, by its slot. False: it waits, the time
 * is over, and nothing alike was explained before. */
bool why_add(struct why *why, uint32_t slot, json_t *row);
