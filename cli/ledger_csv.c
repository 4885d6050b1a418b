#include <inttypes.h>

#include "base/mem.h"
#include "cli/ledger_out.h"
#include "sim/ledger_text.h"

static void add_numbers(struct text *text, const unit_ms *numbers, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                text_add(text, ",");
                text_add_number(text, numbers[i]);
        }
}

/* "2017-10-09,default,consolidate,1"; a sum over all days has "total" for the day. */
static void add_place(struct text *text, const struct ledger_run *run, const struct ledger_day *day)
{
        char buf[LEDGER_TIME_MAX];

        text_add(text, "%s,", day ? ledger_day_text(day->from_ms, buf) : "total");
        text_add_csv(text, run->policy);
        text_add(text, ",%s,%" PRIu64, run->placement, run->seed);
}

static void add_sums(struct text *text, const struct ledger_sums *sums, unit_ms lost)
{
        add_numbers(text, &sums->capacity, 1);
        add_numbers(text, sums->buckets, BUCKETS_END);
        add_numbers(text, &lost, 1);
        add_numbers(text, &sums->idle_wanted, 1);
        add_numbers(text, &sums->unlent, 1);
        text_add(text, "\n");
}

static unit_ms lost_of(const struct ledger_row *rows, uint32_t count, unsigned model)
{
        unit_ms lost = 0;

        for (uint32_t r = 0; r < count; r++)
                if (rows[r].key.model == model)
                        lost += ledger_row_lost(&rows[r]);
        return lost;
}

void ledger_csv(const struct ledger_book *book, const struct model_table *models, struct text *text)
{
        text_add(text, "day,policy,placement,seed,model,capacity_unit_ms"
#define X(name, wire) "," wire "_unit_ms"
                 LEDGER_BUCKETS(X)
#undef X
                         ",lost_unit_ms,idle_wanted_unit_ms,unlent_unit_ms\n");
        for (uint32_t r = 0; r < book->runs_count; r++) {
                const struct ledger_run *run = &book->runs[r];
                struct ledger_total total;
                for (uint32_t d = 0; d < run->days_count; d++) {
                        const struct ledger_day *day = &book->days[run->first_day + d];
                        for (uint32_t m = 0; m < day->models_count; m++) {
                                const struct ledger_model *one =
                                        &book->models[day->first_model + m];
                                add_place(text, run, day);
                                text_add(text, ",%s", model_get(models, one->model)->name);
                                add_sums(text, &one->sums,
                                         lost_of(book->rows + day->first_row, day->rows_count,
                                                 one->model));
                        }
                }
                if (!ledger_book_total(book, run, &total)) {
                        text->failed = true;
                        return;
                }
                for (unsigned m = 0; m < MODELS_MAX; m++) {
                        if (total.sums[m].capacity == 0)
                                continue;
                        add_place(text, run, NULL);
                        text_add(text, ",%s", model_get(models, m)->name);
                        add_sums(text, &total.sums[m], lost_of(total.rows, total.rows_count, m));
                }
                mem_free(total.rows);
        }
}

static const enum ledger_bucket of_rows[] = {BUCKET_DELIVERED,  BUCKET_OVERHEAD, BUCKET_IDLE,
                                             BUCKET_UNMEASURED, BUCKET_DRAINING, BUCKET_RESERVED};

static void add_row(struct text *text, const struct ledger_run *run, const struct ledger_day *day,
                    const struct model_table *models, const struct ledger_row *row)
{
        unit_ms held = ledger_row_held(row), refund = ledger_row_refund(row);
        unit_ms borrowed =
                row->key.standing == STANDING_STANDARD || row->key.standing == STANDING_SPARE ? held
                                                                                              : 0;

        add_place(text, run, day);
        text_add(text, ",");
        text_add_csv(text, run->tenants[row->key.tenant]);
        text_add(text, ",");
        text_add_csv(text, run->classes[row->key.class]);
        text_add(text, ",%s,%s,%s", model_get(models, row->key.model)->name,
                 ledger_method_name(row->key.method), ledger_standing_name(row->key.standing));
        for (unsigned b = 0; b < ARRAY_LEN(of_rows); b++)
                add_numbers(text, &row->buckets[of_rows[b]], 1);
        add_numbers(text, &borrowed, 1);
        add_numbers(text, &row->lent, 1);
        add_numbers(text, row->lost, LOSSES_END);
        add_numbers(text, &refund, 1);
        add_numbers(text, &row->caused, 1);
        text_add(text, "\n");
}

void showback_csv(const struct ledger_book *book, const struct model_table *models,
                  struct text *text)
{
        text_add(text, "day,policy,placement,seed,tenant,class,model,method,standing");
        for (unsigned b = 0; b < ARRAY_LEN(of_rows); b++)
                text_add(text, ",%s_unit_ms", ledger_bucket_name(of_rows[b]));
        text_add(text, ",borrowed_unit_ms,lent_unit_ms"
#define X(name, wire, refunded) ",lost_" wire "_unit_ms"
                 LEDGER_LOSSES(X)
#undef X
                         ",refunded_unit_ms,caused_loss_unit_ms\n");
        for (uint32_t r = 0; r < book->runs_count; r++) {
                const struct ledger_run *run = &book->runs[r];
                struct ledger_total total;
                for (uint32_t d = 0; d < run->days_count; d++) {
                        const struct ledger_day *day = &book->days[run->first_day + d];
                        for (uint32_t i = 0; i < day->rows_count; i++)
                                add_row(text, run, day, models, &book->rows[day->first_row + i]);
                }
                if (!ledger_book_total(book, run, &total)) {
                        text->failed = true;
                        return;
                }
                for (uint32_t i = 0; i < total.rows_count; i++)
                        add_row(text, run, NULL, models, &total.rows[i]);
                mem_free(total.rows);
        }
}
