/* log_group.h - the bodies of the log's records: an input, and the facts it led to.
 *
 * Pure apart from the heap. One input and its facts are two records, committed together:
 *
 *     {"input":"submitted","request":{...},"document":"kind: Workload ..."}
 *     {"words":{"from":[3,1,0,0],"word":["nlp"],"name":["gpu-01"]},"models":{"from":22,
 *      "names":["X100"]},"facts":[{...},{...}]}
 *
 * Words are entries that the vocabulary got since the facts before, and models the same of device
 * models that no table knew; facts name both by number.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "engine/fact.h"
#include "engine/state.h"
#include "engine/vocab.h"

struct err;
struct model_table;
struct price_plan;
struct text;

/* ---- inputs ---- */

/* What stands beside the fields of an input. */
struct log_beside {
        const char *document;           /* as it came: YAML or JSON; NULL: none */
        uint64_t revision;              /* POLICY_SET; 0: none */
        const struct state_bounds *bounds;      /* beside the first input of a log; NULL: none */
};

void log_input_record(const struct input *input, const struct log_beside *beside,
                      struct text *ret_body);

/* An input as it was logged. Texts live in the object; `accounts` are the caller's to make. */
struct logged_input {
        struct input input;
        const char *document;           /* NULL: none */
        uint64_t revision;
        bool has_bounds;                /* it is the first of its log: */
        struct state_bounds bounds;     /* of a state that follows it */
        json_t *object;
        struct maintenance *maintenance;
        struct price_plan *plan;        /* PLAN_SET; NULL: it takes the plan away */
};
/* 0, -ERR_INPUT, -ERR_NOMEM. */
int log_input_parse(const void *body, size_t size, struct logged_input *ret_input,
                    struct err *err);
void logged_input_done(struct logged_input *input);     /* a zeroed one is fine */

/* ---- facts ---- */

/* How much of a vocabulary, and of the device models, stands in the log. */
struct logged_words {
        uint32_t counts[VOCAB_KINDS_END];
        uint32_t models;                /* at first those that every table has */
};

/* Begins with the words that are new, and counts them as logged. */
void log_facts_begin(const struct vocab *vocab, const struct model_table *models,
                     struct logged_words *logged, struct text *ret_body);
void log_facts_add(const struct fact *fact, struct text *body);
void log_facts_end(struct text *body);

/* Enters the words and models (*logged: all of the log's so far), and gives each fact to `see` in
 * order; a code of its own ends it. `see` puts in what is large. 0, -ERR_INPUT (no such body, or
 * words that do not follow), -ERR_NOMEM. */
typedef int log_fact_see(void *arg, struct fact *fact, struct err *err);
int log_facts_parse(const void *body, size_t size, struct vocab *vocab,
                    struct model_table *models, struct logged_words *logged,
                    log_fact_see *see, void *arg, struct err *err);
/* The words and models alone, for who decides the facts anew. */
int log_words_parse(const void *body, size_t size, struct vocab *vocab,
                    struct model_table *models, struct logged_words *logged, struct err *err);
