/* ledger_out.h - the ledgers of replayed histories as files: docs/ledger.md describes them.
 *
 * What is made depends on the arguments alone. A text that ran out of memory says so itself
 * (text.failed).
 */
#pragma once

#include "sim/ledger_book.h"

struct history_result;
struct model_table;
struct scenario;

/* Capacity by day and device model: buckets that add up to it. */
void ledger_csv(const struct ledger_book *book, const struct model_table *models,
                struct text *text);

/* By day, tenant, class, device model, method and standing. */
void showback_csv(const struct ledger_book *book, const struct model_table *models,
                  struct text *text);

/* The same as a bill in FOCUS 1.2. The book holds one run. */
void focus_csv(const struct ledger_book *book, const struct model_table *models,
               const struct scenario *scenario, struct text *text);

/* A page for each run, for people who answer for the pool. Not `is_whole`: it was stopped. */
void ledger_report(const struct ledger_book *book, const struct scenario *scenario,
                   const struct history_result *result, bool is_whole, struct text *text);
