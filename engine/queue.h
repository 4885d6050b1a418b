/* queue.h - all that waits, in the queue's order: for whoever wants to see it.
 *
 * Pure; decides nothing. The order is that of order.h as it stands now: a start may change who
 * borrowed least, and with it the order of the rest.
 */
#pragma once

#include "engine/order.h"

struct queue_list;

/* NULL: out of memory. It looks at the state at once, and not later. */
struct queue_list *queue_list_new(const struct state *state);
void queue_list_free(struct queue_list *list);          /* NULL is fine */

/* The next one's workload slot; NONE: that was all. Who may not start yet (user hold, dependency,
 * start time, array) comes behind all others, in order of arrival. */
uint32_t queue_list_next(struct queue_list *list);
