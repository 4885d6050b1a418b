/* A ledger as a bill: FOCUS 1.2, https://focus.finops.org. Columns in order of the alphabet. */
#include <inttypes.h>

#include "base/mem.h"
#include "cli/ledger_out.h"
#include "proto/scenario.h"
#include "sim/ledger_text.h"

#define NANO        UINT64_C(1000000000)
#define DEVICE_HOUR ((text_number)UNITS_DEVICE * 3600000)
#define COLUMNS \
        "BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodEnd," \
        "BillingPeriodStart,CapacityReservationId,CapacityReservationStatus,ChargeCategory," \
        "ChargeClass,ChargeDescription,ChargeFrequency,ChargePeriodEnd,ChargePeriodStart," \
        "ConsumedQuantity,ConsumedUnit,ContractedCost,EffectiveCost,InvoiceIssuerName," \
        "ListCost,ListUnitPrice,PricingCategory,PricingQuantity,PricingUnit,ProviderName," \
        "PublisherName,ResourceId,ResourceType,ServiceCategory,ServiceName,SkuId," \
        "SubAccountId,SubAccountName,Tags,x_LedgerBucket,x_UnitMs\n"

struct bill {
        struct text *text;
        const struct ledger_run *run;
        const struct model_table *models;
        const struct scenario *scenario;
        const struct ledger_day *day;
};

/* What a row is about. */
struct charge {
        const struct ledger_row *row; /* NULL: nobody's, the pool's own */
        unsigned model;
        const char *bucket, *what;
        unit_ms unit_ms;
        bool refunded, unused;
};

/* A decimal with nine digits behind the point, without the zeros at its end. */
static void add_nano(struct text *text, text_number nano, bool negative)
{
        uint64_t rest = (uint64_t)(nano % NANO);
        int digits = 9;

        if (negative && nano > 0)
                text_add(text, "-");
        text_add_number(text, nano / NANO);
        if (rest == 0)
                return;
        for (; rest % 10 == 0; rest /= 10)
                digits--;
        text_add(text, ".%0*" PRIu64, digits, rest);
}

static void add_cost(const struct bill *bill, const struct charge *charge)
{
        text_number price_micro = bill->scenario->pool.price_micro;

        add_nano(bill->text, charge->unit_ms * price_micro * 1000 / DEVICE_HOUR, charge->refunded);
        text_add(bill->text, ",");
}

/* Empty where it says nothing: a refund is money, not use. */
static void add_hours(const struct bill *bill, const struct charge *charge, bool wanted)
{
        if (wanted)
                add_nano(bill->text, charge->unit_ms * NANO / DEVICE_HOUR, false);
        text_add(bill->text, wanted ? ",Device-Hours," : ",,");
}

static const char *tenant_of(const struct bill *bill, const struct charge *charge)
{
        return charge->row ? bill->run->tenants[charge->row->key.tenant] : "";
}

static const char *class_of(const struct bill *bill, const struct charge *charge)
{
        return charge->row ? bill->run->classes[charge->row->key.class] : "";
}

static void add_account(const struct bill *bill)
{
        const char *currency = bill->scenario->pool.currency;
        char from[LEDGER_TIME_MAX], until[LEDGER_TIME_MAX];
        int64_t from_ms, until_ms;

        ledger_month(bill->day->from_ms, &from_ms, &until_ms);
        text_add(bill->text, "pool,");
        text_add_csv(bill->text, bill->scenario->name);
        text_add(bill->text, ",%s,%s,%s,", *currency ? currency : "XXX",
                 ledger_time_text(until_ms, until), ledger_time_text(from_ms, from));
}

/* Times are whole seconds there, and a period that ends when it starts is none. */
static int64_t whole_second_after(int64_t at_ms)
{
        return (at_ms + 999) / 1000 * 1000;
}

static void add_what(const struct bill *bill, const struct charge *charge)
{
        const char *model = model_get(bill->models, charge->model)->name;
        char from[LEDGER_TIME_MAX], until[LEDGER_TIME_MAX];

        if (charge->unused)
                text_add(bill->text, "kept/%s/%s/%s,Unused,", tenant_of(bill, charge),
                         class_of(bill, charge), model);
        else
                text_add(bill->text, ",,");
        text_add(bill->text, "%s,,\"%s: %s\",Usage-Based,%s,%s,",
                 charge->refunded ? "Credit" : "Usage", model, charge->what,
                 ledger_time_text(whole_second_after(bill->day->until_ms), until),
                 ledger_time_text(bill->day->from_ms, from));
}

static void add_price(const struct bill *bill, const struct charge *charge)
{
        add_hours(bill, charge, !charge->refunded && !charge->unused);
        add_cost(bill, charge); /* ContractedCost */
        add_cost(bill, charge); /* EffectiveCost */
        text_add(bill->text, "Pool Operator,");
        add_cost(bill, charge); /* ListCost */
        if (!charge->refunded)
                add_nano(bill->text, (text_number)bill->scenario->pool.price_micro * 1000, false);
        text_add(bill->text, ",%s,",
                 charge->refunded ? ""
                 : charge->unused ? "Committed"
                                  : "Standard");
        add_hours(bill, charge, !charge->refunded);
}

static void add_tags(const struct bill *bill, const struct charge *charge)
{
        if (!charge->row) {
                text_add(bill->text, "{},");
                return;
        }
        text_add(bill->text, "\"{\"\"class\"\": \"\"%s\"\", \"\"method\"\": \"\"%s\"\"}\",",
                 class_of(bill, charge), ledger_method_name(charge->row->key.method));
}

static const char *last_of(const char *path)
{
        const char *last = path;

        for (const char *at = path; *at; at++)
                if (*at == '/')
                        last = at + 1;
        return last;
}

static void add_charge(const struct bill *bill, const struct charge *charge)
{
        const char *model = model_get(bill->models, charge->model)->name;
        const char *tenant = tenant_of(bill, charge);

        if (charge->unit_ms == 0)
                return;
        add_cost(bill, charge); /* BilledCost */
        add_account(bill);
        add_what(bill, charge);
        add_price(bill, charge);
        text_add(bill->text,
                 "Accelerator Pool,Accelerator Pool,pool/%s,Accelerator,"
                 "AI and Machine Learning,Shared Accelerators,%s,",
                 model, model);
        text_add_csv(bill->text, tenant);
        text_add(bill->text, ",");
        text_add_csv(bill->text, last_of(tenant));
        text_add(bill->text, ",");
        add_tags(bill, charge);
        text_add(bill->text, "%s,%s", charge->bucket, charge->refunded ? "-" : "");
        text_add_number(bill->text, charge->unit_ms);
        text_add(bill->text, "\n");
}

static const char *words_of(enum ledger_bucket bucket)
{
        static const char *const words[BUCKETS_END] = {
                [BUCKET_DELIVERED] = "held and used",
                [BUCKET_OVERHEAD] = "held while work started again",
                [BUCKET_IDLE] = "held and not used",
                [BUCKET_UNMEASURED] = "held, use not measured",
                [BUCKET_RESERVED] = "kept for waiting work and not used",
                [BUCKET_DRAINING] = "held by work that was told to go, or on nodes that take none",
                [BUCKET_RECONFIGURING] = "being cut anew",
                [BUCKET_FOREIGN] = "used behind the pool's back",
                [BUCKET_UNHEALTHY] = "broken",
                [BUCKET_STRANDED] = "free, in pieces that fit nobody",
                [BUCKET_FREE] = "free"};

        return words[bucket];
}

/* Rows of one tenant, class, model and method that differ in standing only. */
static bool is_same(const struct ledger_row *a, const struct ledger_row *b)
{
        return a->key.tenant == b->key.tenant && a->key.class == b->key.class &&
               a->key.model == b->key.model && a->key.method == b->key.method;
}

static void bill_work(const struct bill *bill, const struct ledger_row *rows, uint32_t count)
{
        for (uint32_t r = 0; r < count; r++) {
                unit_ms buckets[BUCKETS_END] = {0}, refund = 0;
                bool billed = false;
                for (uint32_t i = 0; i < count; i++) {
                        if (!is_same(&rows[r], &rows[i]))
                                continue;
                        billed = billed || i < r;
                        for (unsigned b = 0; b < BUCKETS_END; b++)
                                buckets[b] += rows[i].buckets[b];
                        refund += ledger_row_refund(&rows[i]);
                }
                if (billed)
                        continue;
                struct charge charge = {.row = &rows[r], .model = rows[r].key.model};
                for (unsigned b = 0; b < BUCKETS_END; b++) {
                        charge.bucket = ledger_bucket_name((enum ledger_bucket)b);
                        charge.what = words_of((enum ledger_bucket)b);
                        charge.unit_ms = buckets[b];
                        charge.unused = b == BUCKET_RESERVED;
                        add_charge(bill, &charge);
                }
                charge = (struct charge){.row = &rows[r],
                                         .model = rows[r].key.model,
                                         .bucket = "lost",
                                         .what = "work lost to stops by the pool, refunded",
                                         .unit_ms = refund,
                                         .refunded = true};
                add_charge(bill, &charge);
        }
}

/* What no work held and nothing was kept for. */
static void bill_rest(const struct bill *bill, const struct ledger_model *model,
                      const struct ledger_row *rows, uint32_t count)
{
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                struct charge charge = {.model = model->model,
                                        .bucket = ledger_bucket_name((enum ledger_bucket)b),
                                        .what = words_of((enum ledger_bucket)b),
                                        .unit_ms = model->sums.buckets[b]};
                for (uint32_t r = 0; r < count; r++)
                        if (rows[r].key.model == model->model)
                                charge.unit_ms -= rows[r].buckets[b];
                add_charge(bill, &charge);
        }
}

void focus_csv(const struct ledger_book *book, const struct model_table *models,
               const struct scenario *scenario, struct text *text)
{
        text_add(text, COLUMNS);
        for (uint32_t r = 0; r < book->runs_count; r++)
                for (uint32_t d = 0; d < book->runs[r].days_count; d++) {
                        const struct ledger_day *day = &book->days[book->runs[r].first_day + d];
                        const struct ledger_row *rows = book->rows + day->first_row;
                        struct bill bill = {text, &book->runs[r], models, scenario, day};
                        bill_work(&bill, rows, day->rows_count);
                        for (uint32_t m = 0; m < day->models_count; m++)
                                bill_rest(&bill, &book->models[day->first_model + m], rows,
                                          day->rows_count);
                }
}
