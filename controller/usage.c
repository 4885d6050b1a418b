#include "controller/usage.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "controller/tally.h"
#include "engine/ledger.h"
#include "store/batch.h"
#include "store/log.h"
#include "store/rollup.h"

#define LOST_PREFIX     "lost_"
#define ROLL_NOTHING_MS INT64_C(1000)   /* the first period of a new store */

/* What a sum is of: a bucket, a loss behind them, or one of these. */
enum { OF_LOSS = BUCKETS_END, OF_CAUSED = OF_LOSS + LOSSES_END, OF_LENT, OF_STOPS, OF_END };

/* One row to be: names are the ledger's. */
struct usage_sum {
        uint16_t tenant, class;
        uint8_t model, method, of;
        bool is_held;                   /* else it is the pool's: no names but the model's */
        int64_t unit_ms;
};

/* An hour, or the part of it that is over, as it waits for an act. */
struct usage_part {
        int64_t hour_ms, until_ms;
        struct usage_sum *sums;
        uint32_t count, room;
        struct tally_part *tally;       /* what happened in it */
        struct usage_part *next;
};

struct usage {
        struct ledger *ledger;          /* NULL: nothing has happened yet, or `failed` */
        struct tally *tally;
        int64_t began_ms;               /* the ledger did */
        int64_t from_ms;                /* its period began there */
        int64_t hour_end_ms;
        int64_t until_ms;               /* of the newest note */
        struct usage_part *first, *last;
        bool failed;                    /* out of memory: counted again after a restart */
};

/* ---- words ---- */

static const char *word_of(unsigned of, char buf[64])
{
        if (of < BUCKETS_END)
                return ledger_bucket_name(of);
        if (of == OF_CAUSED)
                return "caused_loss";
        if (of == OF_LENT)
                return "lent";
        if (of == OF_STOPS)
                return USAGE_STOPS;
        (void)snprintf(buf, 64, LOST_PREFIX "%s", ledger_loss_name(of - OF_LOSS));
        return buf;
}

bool usage_is_capacity(const char *bucket)
{
        for (unsigned b = 0; b < BUCKETS_END; b++)
                if (str_equal(bucket, ledger_bucket_name(b)))
                        return true;
        return false;
}

bool usage_is_refund(const char *bucket)
{
        size_t prefix = strlen(LOST_PREFIX);

        if (strncmp(bucket, LOST_PREFIX, prefix) != 0)
                return false;
        for (unsigned l = 0; l < LOSSES_END; l++)
                if (str_equal(bucket + prefix, ledger_loss_name(l)))
                        return ledger_loss_refunded(l);
        return false;
}

bool usage_is_stop(const char *bucket)
{
        size_t prefix = strlen(LOST_PREFIX);

        if (strncmp(bucket, LOST_PREFIX, prefix) != 0)
                return false;
        for (unsigned l = 0; l <= LOSS_GATHER; l++)
                if (str_equal(bucket + prefix, ledger_loss_name(l)))
                        return true;
        return false;
}

static const char *method_word(unsigned method)
{
        static const char *const words[METHODS_END] = {
                [METHOD_WHOLE] = "whole", [METHOD_SLICE] = "slice", [METHOD_SHARE] = "share"};

        return method < METHODS_END ? words[method] : "";
}

/* ---- parts ---- */

static void part_free(struct usage_part *part)
{
        if (!part)
                return;
        tally_part_free(part->tally);
        mem_free(part->sums);
        mem_free(part);
}

static void drop_first(struct usage *usage)
{
        struct usage_part *part = usage->first;

        usage->first = part->next;
        if (!usage->first)
                usage->last = NULL;
        part_free(part);
}

static bool add_sum(struct usage_part *part, const struct usage_sum *sum, unit_ms amount)
{
        if (amount == 0)
                return true;
        struct usage_sum *grown = mem_grow(part->sums, part->count, &part->room, 64, sizeof *grown);
        if (!grown)
                return false;
        part->sums = grown;
        part->sums[part->count] = *sum;
        part->sums[part->count++].unit_ms = (int64_t)amount;
        return true;
}

static bool add_row(struct usage_part *part, const struct ledger_row *row)
{
        struct usage_sum sum = {.tenant = row->key.tenant, .class = row->key.class,
                                .model = row->key.model, .method = row->key.method,
                                .is_held = true};
        bool ok = true;

        for (unsigned b = 0; b < BUCKETS_END; b++) {
                sum.of = (uint8_t)b;
                ok = ok && add_sum(part, &sum, row->buckets[b]);
        }
        for (unsigned l = 0; l < LOSSES_END; l++) {
                sum.of = (uint8_t)(OF_LOSS + l);
                ok = ok && add_sum(part, &sum, row->lost[l]);
        }
        sum.of = OF_CAUSED;
        ok = ok && add_sum(part, &sum, row->caused);
        sum.of = OF_LENT;
        ok = ok && add_sum(part, &sum, row->lent);
        sum.of = OF_STOPS;
        return ok && add_sum(part, &sum, row->stops);
}

/* What no work holds, and nothing is kept for. */
static bool add_rest(struct usage_part *part, const struct ledger *ledger, unsigned model)
{
        struct ledger_sums sums = ledger_sums(ledger, model);
        struct usage_sum sum = {.model = (uint8_t)model};
        uint32_t count;
        const struct ledger_row *rows = ledger_rows(ledger, &count);

        for (uint32_t r = 0; sums.capacity && r < count; r++)
                for (unsigned b = 0; rows[r].key.model == model && b < BUCKETS_END; b++)
                        sums.buckets[b] -= rows[r].buckets[b];
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                sum.of = (uint8_t)b;
                if (!add_sum(part, &sum, sums.buckets[b]))
                        return false;
        }
        return true;
}

/* The period up to there becomes a part, and the next one begins. */
static void cut(struct usage *usage, const struct state *state, int64_t until_ms)
{
        struct usage_part *part = mem_new(1, sizeof *part);
        uint32_t count;

        ledger_close(usage->ledger, state, until_ms);
        const struct ledger_row *rows = ledger_rows(usage->ledger, &count);
        bool ok = part != NULL;
        for (uint32_t r = 0; ok && r < count; r++)
                ok = add_row(part, &rows[r]);
        for (unsigned m = 0; ok && m < MODELS_MAX; m++)
                ok = add_rest(part, usage->ledger, m);
        if (ok) {
                part->tally = tally_take(usage->tally);
                ok = part->tally != NULL;
        }
        if (!ok) {
                usage->failed = true;
                part_free(part);
                return;
        }
        ledger_next(usage->ledger);
        part->hour_ms = usage->hour_end_ms - ROLLUP_HOUR_MS;
        part->until_ms = until_ms;
        if (usage->last)
                usage->last->next = part;
        else
                usage->first = part;
        usage->last = part;
        usage->from_ms = until_ms;
}

static void pass_hours(struct usage *usage, const struct state *state, int64_t now_ms)
{
        while (!usage->failed && now_ms >= usage->hour_end_ms) {
                cut(usage, state, usage->hour_end_ms);
                usage->hour_end_ms += ROLLUP_HOUR_MS;
        }
}

/* ---- watching ---- */

static void forget(struct usage *usage)
{
        while (usage->first)
                drop_first(usage);
        tally_forget(usage->tally);
        ledger_free(usage->ledger);
        usage->ledger = NULL;
        usage->failed = false;
}

static void begin(struct usage *usage, const struct state *state, int64_t at_ms)
{
        const struct ledger_bounds bounds = {0};

        usage->ledger = ledger_new(state, &bounds, at_ms);
        usage->failed = !usage->ledger;
        usage->began_ms = usage->from_ms = at_ms;
        usage->hour_end_ms = (at_ms / ROLLUP_HOUR_MS + 1) * ROLLUP_HOUR_MS;
}

/* The state is that of a snapshot, or there is none yet (at_ms 0). */
static void on_begin(void *arg, const struct state *state, int64_t at_ms)
{
        struct usage *usage = arg;

        forget(usage);
        usage->until_ms = at_ms;
        if (at_ms > 0)
                begin(usage, state, at_ms);
}

static void on_fact(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                    int64_t at_ms)
{
        struct usage *usage = arg;

        (void)seq;
        if (usage->failed)
                return;
        if (!usage->ledger)
                begin(usage, state, at_ms);
        pass_hours(usage, state, at_ms);
        if (!usage->failed && !tally_see(usage->tally, state, usage->ledger, fact, at_ms))
                usage->failed = true;
        if (!usage->failed)
                ledger_see(usage->ledger, state, fact, at_ms);
}

/* Behind the fact, which does not say whose it was. */
static void on_refused(void *arg, const struct state *state, const struct request *request,
                       enum gate gate, int64_t at_ms)
{
        struct usage *usage = arg;

        if (!usage->failed && usage->ledger &&
            !tally_refused(usage->tally, state, request, gate, at_ms))
                usage->failed = true;
}

/* A note of the log, on the way back: what came with it is in the store. */
static void on_note(void *arg, const struct state *state, const void *body, size_t size,
                    int64_t at_ms)
{
        struct usage *usage = arg;
        json_t *note = json_loadb(body, size, 0, NULL);
        int64_t until_ms = json_integer_value(json_object_get(note, "usage_until_ms"));

        json_decref(note);
        if (until_ms == 0)
                return;                 /* a note of something else */
        usage->until_ms = until_ms;
        if (usage->failed || !usage->ledger)
                return;
        pass_hours(usage, state, at_ms);
        if (!usage->failed && until_ms == at_ms)
                cut(usage, state, at_ms);
        while (usage->first && usage->first->until_ms <= until_ms)
                drop_first(usage);
}

struct core_watch usage_watch(struct usage *usage)
{
        return (struct core_watch){.arg = usage, .before = on_fact, .begins = on_begin,
                                   .noted = on_note, .refused = on_refused};
}

/* ---- rolling up ---- */

/* How long a period is: as long as all before it. */
static int64_t period_ms(const struct usage *usage)
{
        int64_t counted_ms = usage->from_ms - usage->began_ms;

        if (usage->until_ms == 0)
                return ROLL_NOTHING_MS;
        if (counted_ms < USAGE_ROLL_FIRST_MS)
                return USAGE_ROLL_FIRST_MS;
        return counted_ms < USAGE_ROLL_MS ? counted_ms : USAGE_ROLL_MS;
}

bool usage_is_due(const struct usage *usage, int64_t now_ms)
{
        return usage->ledger && (usage->first || now_ms >= usage->hour_end_ms ||
                                 now_ms - usage->from_ms >= period_ms(usage));
}

static int add_part(const struct usage *usage, struct core *core, struct act *act,
                    const struct usage_part *part, struct err *err)
{
        int rc = 0;

        for (uint32_t s = 0; rc == 0 && s < part->count; s++) {
                const struct usage_sum *sum = &part->sums[s];
                bool held = sum->is_held;
                char room[64];
                const struct usage_row row = {
                        .hour_ms = part->hour_ms,
                        .model = model_get(core_models(core), sum->model)->name,
                        .tenant = held ? ledger_tenant(usage->ledger, sum->tenant) : "",
                        .class = held ? ledger_class(usage->ledger, sum->class) : "",
                        .method = held ? method_word(sum->method) : "",
                        .bucket = word_of(sum->of, room),
                        .unit_ms = sum->unit_ms,
                };
                rc = core_usage(act, &row, err);
        }
        return rc;
}

static int put_part(const struct usage *usage, struct core *core, struct act *act,
                    const struct usage_part *part, struct err *err)
{
        int rc = add_part(usage, core, act, part, err);

        return rc ? rc : tally_part_put(part->tally, core, act, err);
}

/* As many parts as one act holds. -ERR_FULL: not even the first one; then nothing was added. */
static int add_parts(struct usage *usage, struct core *core, struct act *act, int64_t *ret_until,
                     struct err *err)
{
        uint64_t rows = 0;

        for (struct usage_part *part = usage->first; part; part = part->next) {
                rows += part->count + tally_part_rows(part->tally);
                if (rows > BATCH_USAGE_MAX)
                        return part != usage->first
                                       ? 0
                                       : err_set(err, ERR_FULL,
                                                 "usage: %" PRIu64 " rows at once are above %u",
                                                 rows, BATCH_USAGE_MAX);
                int rc = put_part(usage, core, act, part, err);
                if (rc)
                        return rc;
                *ret_until = part->until_ms;
        }
        return 0;
}

int usage_roll(struct usage *usage, struct core *core, struct act *act, struct err *err)
{
        int64_t now_ms = core_now_ms(core), until_ms = 0;
        char note[64];
        int rc;

        if (!usage->ledger && !usage->failed)
                return 0;
        if (!usage->failed)
                pass_hours(usage, core_state(core), now_ms);
        if (!usage->failed)
                cut(usage, core_state(core), now_ms);
        if (usage->failed)
                return err_set(err, ERR_NOMEM, "usage is not counted: out of memory");
        rc = add_parts(usage, core, act, &until_ms, err);
        if (rc)
                return rc;
        (void)snprintf(note, sizeof note, "{\"usage_until_ms\":%" PRId64 "}", until_ms);
        rc = core_note(act, note, err);
        if (rc)
                return rc;
        while (usage->first && usage->first->until_ms <= until_ms)
                drop_first(usage);
        usage->until_ms = until_ms;
        return 0;
}

const struct ledger *usage_ledger(const struct usage *usage)
{
        return usage->ledger;
}

int64_t usage_until_ms(const struct usage *usage)
{
        return usage->until_ms;
}

/* ---- life ---- */

struct usage *usage_new(void)
{
        struct usage *usage = mem_new(1, sizeof *usage);

        if (!usage)
                return NULL;
        usage->tally = tally_new();
        if (usage->tally)
                return usage;
        mem_free(usage);
        return NULL;
}

void usage_free(struct usage *usage)
{
        if (!usage)
                return;
        forget(usage);
        tally_free(usage->tally);
        mem_free(usage);
}
