/* ledger_book.h - the ledgers of replays, day by day, as they are written out.
 *
 * Append-only lists. Days are those of Coordinated Universal Time; the first and the last one of a
 * run are cut by its window.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "engine/ledger.h"

#define LEDGER_DAYS_MAX 36600 /* of one run */

/* One policy, placement and seed. */
struct ledger_run {
        char policy[96], placement[64];
        uint64_t seed;
        uint32_t row; /* of the result: a policy and a placement */
        int64_t from_ms, until_ms;
        char (*tenants)[TENANT_PATH_MAX]; /* by ledger_key.tenant */
        char (*classes)[TENANT_PATH_MAX];
        uint32_t tenants_count, classes_count;
        uint32_t first_day, days_count; /* in book.days */
        uint32_t first_model, first_row; /* where its own begin; and ... */
        size_t first_fact;               /* ... its facts */
};

struct ledger_model {
        uint8_t model;
        struct ledger_sums sums;
};

struct ledger_day {
        int64_t from_ms, until_ms;
        uint32_t first_model, models_count; /* in book.models: those with devices */
        uint32_t first_row, rows_count;     /* in book.rows: those with something in them */
};

struct ledger_book {
        struct ledger_run *runs;
        struct ledger_day *days;
        struct ledger_model *models;
        struct ledger_row *rows;
        uint32_t runs_count, days_count, models_count, rows_count;
        uint32_t runs_room, days_room, models_room, rows_room;
        bool wants_facts;
        struct text facts; /* one JSON object a line: sim/ledger_facts.h */
};

void ledger_book_done(struct ledger_book *book); /* a zeroed one is fine */

/* The newest run begins; NULL: out of memory. The pointer is good until the next one. */
struct ledger_run *ledger_book_run(struct ledger_book *book);

/* A day of the newest run: what the ledger holds, just closed. False: out of memory. */
bool ledger_book_day(struct ledger_book *book, const struct ledger *ledger, int64_t from_ms,
                     int64_t until_ms);

/* Forgets the newest run, with its days and facts. */
void ledger_book_drop(struct ledger_book *book);

/* The newest run is over: takes the names. False: out of memory. */
bool ledger_book_end(struct ledger_book *book, const struct ledger *ledger);

/* Sums over the days of a run; rows with equal keys are added up. `ret_rows` is freed with
 * mem_free(). False: out of memory. */
struct ledger_total {
        struct ledger_sums sums[MODELS_MAX];
        struct ledger_row *rows;
        uint32_t rows_count;
};
bool ledger_book_total(const struct ledger_book *book, const struct ledger_run *run,
                       struct ledger_total *ret_total);
