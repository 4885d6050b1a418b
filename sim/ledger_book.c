#include "sim/ledger_book.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void ledger_book_done(struct ledger_book *book)
{
        if (!book)
                return;
        for (uint32_t r = 0; r < book->runs_count; r++) {
                mem_free(book->runs[r].tenants);
                mem_free(book->runs[r].classes);
        }
        mem_free(book->runs);
        mem_free(book->days);
        mem_free(book->models);
        mem_free(book->rows);
        text_done(&book->facts);
        *book = (struct ledger_book){0};
}

struct ledger_run *ledger_book_run(struct ledger_book *book)
{
        void *grown = mem_grow(book->runs, book->runs_count, &book->runs_room, 64,
                               sizeof *book->runs);

        if (!grown)
                return NULL;
        book->runs = grown;
        struct ledger_run *run = &book->runs[book->runs_count++];
        *run = (struct ledger_run){.first_day = book->days_count,
                                   .first_model = book->models_count,
                                   .first_row = book->rows_count,
                                   .first_fact = book->facts.size};
        return run;
}

void ledger_book_drop(struct ledger_book *book)
{
        const struct ledger_run *run = &book->runs[--book->runs_count];

        mem_free(run->tenants);
        mem_free(run->classes);
        book->days_count = run->first_day;
        book->models_count = run->first_model;
        book->rows_count = run->first_row;
        book->facts.size = run->first_fact;
}

static bool is_empty(const struct ledger_row *row)
{
        unit_ms all = row->caused | row->lent;

        for (unsigned b = 0; b < BUCKETS_END; b++)
                all |= row->buckets[b];
        for (unsigned l = 0; l < LOSSES_END; l++)
                all |= row->lost[l];
        return all == 0;
}

static bool add_models(struct ledger_book *book, const struct ledger *ledger)
{
        for (unsigned m = 0; m < MODELS_MAX; m++) {
                struct ledger_sums sums = ledger_sums(ledger, m);
                if (sums.capacity == 0)
                        continue;
                void *grown = mem_grow(book->models, book->models_count, &book->models_room, 64,
                                       sizeof *book->models);
                if (!grown)
                        return false;
                book->models = grown;
                book->models[book->models_count++] = (struct ledger_model){(uint8_t)m, sums};
        }
        return true;
}

static bool add_rows(struct ledger_book *book, const struct ledger *ledger)
{
        uint32_t count;
        const struct ledger_row *rows = ledger_rows(ledger, &count);

        for (uint32_t r = 0; r < count; r++) {
                if (is_empty(&rows[r]))
                        continue;
                void *grown = mem_grow(book->rows, book->rows_count, &book->rows_room, 64,
                                       sizeof *book->rows);
                if (!grown)
                        return false;
                book->rows = grown;
                book->rows[book->rows_count++] = rows[r];
        }
        return true;
}

bool ledger_book_day(struct ledger_book *book, const struct ledger *ledger, int64_t from_ms,
                     int64_t until_ms)
{
        struct ledger_day day = {.from_ms = from_ms,
                                 .until_ms = until_ms,
                                 .first_model = book->models_count,
                                 .first_row = book->rows_count};
        void *grown = mem_grow(book->days, book->days_count, &book->days_room, 64,
                               sizeof *book->days);

        if (!grown)
                return false;
        book->days = grown;
        if (!add_models(book, ledger) || !add_rows(book, ledger))
                return false;
        day.models_count = book->models_count - day.first_model;
        day.rows_count = book->rows_count - day.first_row;
        book->days[book->days_count++] = day;
        book->runs[book->runs_count - 1].days_count++;
        return true;
}

bool ledger_book_end(struct ledger_book *book, const struct ledger *ledger)
{
        struct ledger_run *run = &book->runs[book->runs_count - 1];
        uint32_t tenants = ledger_tenants(ledger), classes = ledger_classes(ledger);

        run->tenants = mem_new(tenants, sizeof *run->tenants);
        run->classes = mem_new(classes, sizeof *run->classes);
        if (!run->tenants || !run->classes)
                return false;
        for (uint32_t t = 0; t < tenants; t++)
                memcpy(run->tenants[t], ledger_tenant(ledger, (uint16_t)t),
                       strlen(ledger_tenant(ledger, (uint16_t)t)));
        for (uint32_t c = 0; c < classes; c++)
                memcpy(run->classes[c], ledger_class(ledger, (uint16_t)c),
                       strlen(ledger_class(ledger, (uint16_t)c)));
        run->tenants_count = tenants;
        run->classes_count = classes;
        return true;
}

/* ---- sums over days ---- */

static int compare_rows(const void *a, const void *b)
{
        return memcmp(&((const struct ledger_row *)a)->key, &((const struct ledger_row *)b)->key,
                      sizeof(struct ledger_key));
}

static void add_row(struct ledger_row *sum, const struct ledger_row *row)
{
        for (unsigned b = 0; b < BUCKETS_END; b++)
                sum->buckets[b] += row->buckets[b];
        for (unsigned l = 0; l < LOSSES_END; l++)
                sum->lost[l] += row->lost[l];
        sum->caused += row->caused;
        sum->lent += row->lent;
}

static void add_sums(struct ledger_sums *sum, const struct ledger_sums *one)
{
        sum->capacity += one->capacity;
        for (unsigned b = 0; b < BUCKETS_END; b++)
                sum->buckets[b] += one->buckets[b];
        sum->idle_wanted += one->idle_wanted;
        sum->unlent += one->unlent;
}

bool ledger_book_total(const struct ledger_book *book, const struct ledger_run *run,
                       struct ledger_total *ret_total)
{
        const struct ledger_day *days = book->days + run->first_day;
        uint32_t count = 0, kept = 0;

        memset(ret_total, 0, sizeof *ret_total);
        for (uint32_t d = 0; d < run->days_count; d++) {
                count += days[d].rows_count;
                for (uint32_t m = 0; m < days[d].models_count; m++) {
                        const struct ledger_model *one = &book->models[days[d].first_model + m];
                        add_sums(&ret_total->sums[one->model], &one->sums);
                }
        }
        ret_total->rows = mem_new(count, sizeof *ret_total->rows);
        if (!ret_total->rows)
                return false;
        if (count > 0)
                memcpy(ret_total->rows, book->rows + days[0].first_row,
                       count * sizeof *ret_total->rows);
        if (count > 1)
                qsort(ret_total->rows, count, sizeof *ret_total->rows, compare_rows);
        for (uint32_t r = 0; r < count; r++) {
                if (kept > 0 && compare_rows(&ret_total->rows[kept - 1], &ret_total->rows[r]) == 0)
                        add_row(&ret_total->rows[kept - 1], &ret_total->rows[r]);
                else
                        ret_total->rows[kept++] = ret_total->rows[r];
        }
        ret_total->rows_count = kept;
        return true;
}
