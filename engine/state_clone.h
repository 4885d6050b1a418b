/* state_clone.h - a second state to try things on: forward runs start from one.
 *
 * Pure apart from the heap. A clone decides as its original would: the same inputs lead to the same
 * facts. It shares device models, vocabulary and tenancy with the original, which must outlive it;
 * nothing may be entered into the vocabulary through it. Its memo is a new one.
 */
#pragma once

struct err;
struct state;

/* An empty clone with tables as large as the original's. NULL: out of memory. */
struct state *state_clone_new(const struct state *original);
void state_clone_free(struct state *clone);             /* NULL is fine */

/* Makes the clone what the original is now, whatever became of it; as often as one likes. Costs
 * what lives in the state, not what could. 0 or -ERR_NOMEM: the clone can then only be freed, or
 * tried again. */
int state_clone_take(struct state *clone, const struct state *original, struct err *err);
