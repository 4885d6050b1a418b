/* past_asks.h - who waits for an explanation of the past: one is worked at, beside the loop.
 *
 * Not pure: libuv. All calls are made by the loop's thread; the work (past.h) is done by a thread
 * of libuv's pool, one at a time, over a connection of its own to the store. A client that leaves
 * ends what is done for it.
 */
#pragma once

#include <stdbool.h>

struct err;
struct http_exchange;
struct past_asks;
struct past_question;
struct store;
struct uv_loop_s;

#define PAST_ASKS_MAX        8u         /* that wait or are worked at */
#define PAST_ASKS_PERSON_MAX 2u         /* of one person */

/* `store` is borrowed: only asked for views. NULL: out of memory. */
struct past_asks *past_asks_new(struct uv_loop_s *loop, const struct store *store);
/* Ends and answers all, and runs the loop until the thread is done. NULL is fine. Before the store
 * is closed. */
void past_asks_free(struct past_asks *asks);

/* The exchange is answered later, also when it fails. 0, or it is not taken: -ERR_FULL (too many
 * wait), -ERR_NOMEM. */
int past_asks_add(struct past_asks *asks, struct http_exchange *exchange, const char *person,
                  const struct past_question *question, struct err *err);

/* Now and then: ends what is done for clients that have gone, or for `all`. */
void past_asks_look(struct past_asks *asks, bool all);
