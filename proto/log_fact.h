/* log_fact.h - facts and inputs as the log keeps them: one JSON object each.
 *
 * Pure apart from the heap. Numbers (nodes, tenants, words of the vocabulary) are the state's own;
 * words of the vocabulary are logged before the facts that use them (log_group.h). A fact written
 * and read again is the same fact, so that recovery applies what was decided and decides nothing.
 *
 * Three facts and their inputs carry something large: a policy, maintenance windows, a price plan.
 * The fact is written without it, and the reader puts in what its input brought (log_group.h).
 */
#pragma once

#include <jansson.h>

#include "engine/fact.h"

struct err;
struct fields;
struct text;

void log_fact_write(const struct fact *fact, struct text *text);
/* 0 or -ERR_INPUT; policy, maintenance and plan are NULL. */
int log_fact_read(json_t *object, struct fact *ret_fact, struct err *err);

/* The members of an input's object: without its braces, each behind a comma but the first. What
 * is large is the caller's to write beside it. */
void log_input_write(const struct input *input, struct text *text);
/* `beside`: names of the members that are the caller's (it ends with NULL). */
int log_input_read(json_t *object, const char *const *beside, struct input *ret_input,
                   struct err *err);

/* What is kept of each kind, from the start of the struct; empty where there is nothing, or all of
 * it is large. */
const struct fields *log_fact_fields(enum fact_kind kind);
const struct fields *log_input_fields(enum input_kind kind);
