/* log_brought.h - what an input of the log brings that its facts only name: a policy, maintenance
 * windows, a price plan, and beside the first one the bounds of the pool.
 *
 * Pure apart from the heap. For everybody who follows a log: see each input, then give to each
 * fact, apply it, and settle. A zeroed one is empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/state.h"

struct err;
struct fact;
struct input;
struct logged_input;
struct model_table;
struct policy_doc;
struct price_plan;

struct log_brought {
        char *document;                 /* the newest policy that came; NULL: none, or settled */
        uint64_t revision;
        struct policy_doc *policy;      /* given, and not yet settled */
        struct maintenance *windows;
        struct price_plan *plan;        /* the newest; NULL: none came, or it was taken away */
        bool has_plan;                  /* an input said so */
        bool has_bounds;
        struct state_bounds bounds;     /* of a pool from its first input on */
};

void log_brought_done(struct log_brought *brought);     /* a zeroed one is fine */

/* A policy as its document says, with its revision. 0, or what policy_doc_decode() returns. */
int log_policy_read(const char *text, uint64_t revision, const struct model_table *models,
                    struct policy_doc **ret_policy, struct err *err);

/* Looks at the body of an input's record, and reads it where it brings something (`is_first`: it is
 * the first of its log, which has the bounds). 0, -ERR_INPUT, -ERR_NOMEM. */
int log_brought_see(struct log_brought *brought, const void *body, size_t size, bool is_first,
                    struct err *err);
/* The same of an input that was parsed; takes its windows and its plan over. */
int log_brought_take(struct log_brought *brought, struct logged_input *logged, struct err *err);

/* Puts it into the fact, or into the input that is to be decided. A policy is read only now: it may
 * name device models that the log tells with the facts. 0, -ERR_INPUT (it was never brought, or
 * cannot be read), -ERR_NOMEM. Accounts that are not applied are the caller's to free. */
int log_brought_give(struct log_brought *brought, const struct model_table *models,
                     struct fact *fact, struct err *err);
int log_brought_give_input(struct log_brought *brought, const struct model_table *models,
                           struct input *input, struct err *err);

/* Behind a fact that was applied: the policy is the caller's from here on. NULL: nothing changes.
 */
struct policy_doc *log_brought_settle(struct log_brought *brought, const struct fact *fact);
