/* explain_text.h - an explanation in words, and as JSON.
 *
 * Shows what the record holds and nothing else: take away first what the reader may not see
 * (explain_view()). The same record gives the same bytes. JSON: proto/explain_json.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/explain.h"

/* What names are taken from; all borrowed. */
struct explain_names {
        const struct state *state;      /* models, vocabulary, tenants, classes */
        /* The name of a workload that stands in the record; NULL, or returns NULL: "workload 7". */
        const char *(*workload)(void *arg, uint64_t id);
        void *arg;
        const char *last_stop;          /* how its last run ended; NULL: there was none, or it is
                                           not known */
        bool clock;                     /* times are points in time, not ms of a made-up clock */
};

void explain_text(FILE *file, const struct explanation *explanation,
                  const struct explain_names *names);
void explain_idle_text(FILE *file, const struct explained_idle *idle,
                       const struct explain_names *names);
void explain_fits_text(FILE *file, const struct explained_fits *fits,
                       const struct explain_names *names);

/* ---- parts, for the JSON ---- */

#define EXPLAIN_TEXT_MAX 256
#define EXPLAIN_SPAN_MAX 48

/* "3h 20m", coarse: to a hundredth of itself at worst. */
const char *explain_span_text(int64_t ms, char buf[EXPLAIN_SPAN_MAX]);

/* "2 x 8 devices of H100-80 | A100-40, within one rack" */
const char *explain_request_text(const struct request *request, const struct explain_names *names,
                                 char buf[EXPLAIN_TEXT_MAX]);
/* "Accept 2 x 4 devices." */
const char *explain_unblock_text(const struct explained_unblock *unblock,
                                 const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX]);
/* What the user can do, in a line to copy; "" for nothing. */
const char *explain_line(const struct explanation *explanation, const struct explain_names *names,
                         char buf[EXPLAIN_TEXT_MAX]);
const char *explain_summary(const struct explanation *explanation,
                            const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX]);
/* "96 of 128 devices of H100-80 in research/nlp, 104 with this"; "" where there are no numbers. */
const char *explain_gate_text(const struct explained_gate *gate, enum gate number,
                              const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX]);
/* "H100-80, plane training, rack r1" */
const char *explain_group_text(const struct explained_group *group,
                               const struct explain_names *names, char buf[EXPLAIN_TEXT_MAX]);
