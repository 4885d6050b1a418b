/* ledger_facts.h - the facts of a replay as text, enough to count its ledger again.
 *
 * One JSON object a line; docs/ledger.md describes them for readers.
 */
#pragma once

#include <stdint.h>

struct fact;
struct ledger_run;
struct state;
struct text;

/* What the run is, and the nodes that are there at its start. */
void ledger_facts_start(struct text *text, const struct ledger_run *run, const struct state *state);
/* A fact that is about to be applied. */
void ledger_facts_add(struct text *text, const struct state *state, const struct fact *fact,
                      int64_t now_ms);
/* A run that spends its time up to then on starting again. */
void ledger_facts_overhead(struct text *text, uint64_t workload, int64_t now_ms, int64_t until_ms);
