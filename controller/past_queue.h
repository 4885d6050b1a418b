/* past_queue.h - what waited in the pool as it was, in the queue's order.
 *
 * Not pure: names are read from a store. Any thread; what is given is borrowed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct log_pool;
struct store;

/* As view_queue() tells it of now, without estimates. `tenant` "": all. `sees_all`: who asks may
 * see everything. NULL: out of memory. */
json_t *past_queue(struct store *view, const struct log_pool *pool, const char *tenant,
                   bool sees_all, uint32_t limit, int64_t at_ms);
