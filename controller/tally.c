#include "controller/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/core.h"
#include "engine/accounts.h"
#include "engine/ledger.h"
#include "engine/state.h"
#include "store/review.h"

#define NO_MODEL UINT8_MAX

enum { RESERVED_PROMISED, RESERVED_USED, RESERVED_LENT, RESERVED_UNUSED };

struct tally_row {
        int64_t day_ms, amount;
        char tenant[TENANT_PATH_MAX], class[TENANCY_WORD_MAX];
        uint8_t model;                  /* NO_MODEL: it has no meaning; DIM_ANY: any */
        uint8_t measure, detail;
};

struct tally_part {
        struct tally_row *rows;
        uint32_t count, room;
};

struct tally {
        struct tally_part part;
        struct map by_key;
};

/* Whose it is. */
struct whose {
        const char *tenant, *class;
        uint8_t model;
};

/* ---- words ---- */

const char *tally_measure_name(enum tally_measure measure)
{
        static const char *const words[TALLY_MEASURES_END] = {
#define X(name, word, details) word,
                TALLY_MEASURES(X)
#undef X
        };

        return words[measure];
}

static const char *detail_name(enum tally_measure measure, unsigned detail, char buf[16])
{
        static const char *const reserved[] = {
                [RESERVED_PROMISED] = "promised", [RESERVED_USED] = "used",
                [RESERVED_LENT] = "lent",         [RESERVED_UNUSED] = "unused"};

        switch (measure) {
        case TALLY_WAITS_BELOW:
                (void)snprintf(buf, 16, "%llu", 1ull << detail);
                return buf;
        case TALLY_REFUSED:
                return gate_name((enum gate)detail);
        case TALLY_ENDED:
        case TALLY_STOPPED:
                return release_cause_name((enum release_cause)detail);
        case TALLY_RESERVED:
                return reserved[detail];
        case TALLY_STARTS:
        case TALLY_WAIT_MS:
        case TALLY_CHECKPOINTS:
        case TALLY_RESTORES:
        case TALLY_MEASURES_END:
                break;
        }
        return "";
}

/* ---- rows ---- */

static uint64_t key_of(const struct tally_row *row)
{
        uint64_t key = (uint64_t)row->day_ms;

        map_chain(&key, (uint64_t)row->model << 16 | (uint64_t)row->measure << 8 | row->detail);
        for (const char *at = row->tenant; *at; at++)
                map_chain(&key, (unsigned char)*at);
        map_chain(&key, 0);
        for (const char *at = row->class; *at; at++)
                map_chain(&key, (unsigned char)*at);
        return key;
}

static bool is_same(const struct tally_row *a, const struct tally_row *b)
{
        return a->day_ms == b->day_ms && a->model == b->model && a->measure == b->measure &&
               a->detail == b->detail && str_equal(a->tenant, b->tenant) &&
               str_equal(a->class, b->class);
}

static struct tally_row *append(struct tally_part *part, const struct tally_row *row)
{
        struct tally_row *grown = mem_grow(part->rows, part->count, &part->room, 64, sizeof *grown);
        if (!grown)
                return NULL;
        part->rows = grown;
        part->rows[part->count] = *row;
        return &part->rows[part->count++];
}

/* NULL: out of memory. Keys that collide only make two rows of one, which add up in the store. */
static struct tally_row *row_of(struct tally *tally, struct tally_row *row)
{
        if (tally->part.count >= TALLY_ROWS_MAX) {
                (void)str_copy(row->tenant, sizeof row->tenant, TALLY_OTHERS);
                row->class[0] = '\0';
        }
        uint64_t key = key_of(row);
        uint32_t at = map_get(&tally->by_key, key);
        if (at != MAP_NONE && is_same(&tally->part.rows[at], row))
                return &tally->part.rows[at];
        if (map_set(&tally->by_key, key, tally->part.count) < 0)
                return NULL;
        return append(&tally->part, row);
}

static bool count(struct tally *tally, const struct whose *whose, enum tally_measure measure,
                  unsigned detail, int64_t amount, int64_t at_ms)
{
        struct tally_row row = {.day_ms = at_ms - at_ms % REVIEW_DAY_MS,
                                .model = whose->model,
                                .measure = (uint8_t)measure,
                                .detail = (uint8_t)detail};

        (void)str_copy(row.tenant, sizeof row.tenant, whose->tenant);
        (void)str_copy(row.class, sizeof row.class, whose->class);
        struct tally_row *there = row_of(tally, &row);
        if (there)
                there->amount += amount;
        return there != NULL;
}

/* ---- whose ---- */

static struct whose whose_by(const struct state *state, uint16_t tenant, uint16_t class,
                             uint64_t models)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;
        bool has_one = models && (models & (models - 1)) == 0;

        return (struct whose){
                .tenant = tenancy && tenant < tenancy->tenants_count ? tenancy->tenants[tenant].path
                                                                     : "",
                .class = tenancy && class < tenancy->classes_count ? tenancy->classes[class].name
                                                                   : "",
                .model = has_one ? (uint8_t)__builtin_ctzll(models) : NO_MODEL};
}

/* Where its first member lies; it is placed. */
static const struct node *first_node(const struct state *state, const struct workload *workload)
{
        uint32_t at = workload->first_member;

        for (uint32_t member = at; member != NONE; member = state->members[member].next)
                if (state->members[member].number < state->members[at].number)
                        at = member;
        return &state->nodes[state->members[at].node];
}

/* Of work that is placed, the model where its first member lies; else the only one where it could.
 */
static struct whose whose_is(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        uint64_t models = state->shapes[bucket->shape].need.devices
                                  ? state->shapes[bucket->shape].models
                                  : 0;

        if (workload->first_member != NONE) {
                const struct node *node = first_node(state, workload);
                models = models && node->desc.devices ? UINT64_C(1) << node->desc.model : 0;
        }
        return whose_by(state, bucket->tenant, bucket->class, models);
}

/* ---- what happens ---- */

static unsigned below(int64_t wait_ms)
{
        uint64_t seconds = (uint64_t)wait_ms / 1000;

        return seconds == 0 ? 0 : 64 - (unsigned)__builtin_clzll(seconds);
}

/* Its first member: a gang starts as a whole. */
static bool see_start(struct tally *tally, const struct state *state,
                      const struct fact_allocated *fact, int64_t at_ms)
{
        uint32_t slot = state_workload(state, fact->workload);

        if (slot == NONE || state->workloads[slot].members_placed > 0)
                return true;
        struct whose whose = whose_is(state, slot);
        int64_t wait_ms = at_ms - state->workloads[slot].since_ms;
        if (wait_ms < 0)
                wait_ms = 0;
        if (fact->parts_count > 0)
                whose.model = state->nodes[fact->node].desc.model;
        return count(tally, &whose, TALLY_STARTS, 0, 1, at_ms) &&
               count(tally, &whose, TALLY_WAIT_MS, 0, wait_ms, at_ms) &&
               count(tally, &whose, TALLY_WAITS_BELOW, below(wait_ms), 1, at_ms);
}

/* A run behind a checkpoint got on, if it has one of its own, or has ended well. */
static bool is_restore(const struct state *state, uint32_t slot)
{
        const struct workload *workload = &state->workloads[slot];

        return workload->first_member != NONE && workload->attained_ms > 0 &&
               workload->saved_ms == 0;
}

static bool see_of_work(struct tally *tally, const struct state *state, const struct fact *fact,
                        uint64_t id, int64_t at_ms)
{
        uint32_t slot = state_workload(state, id);

        if (slot == NONE)
                return true;
        const struct whose whose = whose_is(state, slot);
        switch (fact->kind) {
        case FACT_REFUSED:
                return count(tally, &whose, TALLY_REFUSED, fact->refused.gate, 1, at_ms);
        case FACT_RELEASED:
                if (fact->released.cause == RELEASE_EXITED && is_restore(state, slot) &&
                    !count(tally, &whose, TALLY_RESTORES, 0, 1, at_ms))
                        return false;
                return count(tally, &whose, TALLY_ENDED, fact->released.cause, 1, at_ms);
        case FACT_REQUEUED:
                return count(tally, &whose, TALLY_STOPPED, fact->requeued.cause, 1, at_ms);
        case FACT_CHECKPOINT_SET:
                if (is_restore(state, slot) &&
                    !count(tally, &whose, TALLY_RESTORES, 0, 1, at_ms))
                        return false;
                return count(tally, &whose, TALLY_CHECKPOINTS, 0, 1, at_ms);
        default:
                return true;
        }
}

bool tally_refused(struct tally *tally, const struct state *state, const struct request *request,
                   enum gate gate, int64_t at_ms)
{
        uint64_t models = request->need.devices ? request->need.models : 0;
        const struct whose whose = whose_by(state, request->tenant, request->class, models);

        return count(tally, &whose, TALLY_REFUSED, gate, 1, at_ms);
}

/* ---- reservations ---- */

static uint64_t lent_now(const struct ledger *ledger, const char *tenant, unsigned model)
{
        uint32_t rows_count;
        const struct ledger_row *rows = ledger_rows(ledger, &rows_count);
        uint64_t units = 0;

        for (uint32_t r = 0; r < rows_count; r++)
                if (rows[r].lent_units > 0 && rows[r].key.model == model &&
                    str_equal(ledger_tenant(ledger, rows[r].key.tenant), tenant))
                        units += rows[r].lent_units;
        return units;
}

/* Day by day: a controller that was down finds much time at once. */
static bool count_span(struct tally *tally, const struct whose *whose, unsigned detail,
                       uint64_t units, int64_t from_ms, int64_t until_ms)
{
        bool ok = true;

        for (int64_t at_ms = from_ms; ok && units > 0 && at_ms < until_ms;) {
                int64_t end_ms = (at_ms / REVIEW_DAY_MS + 1) * REVIEW_DAY_MS;
                if (end_ms > until_ms)
                        end_ms = until_ms;
                ok = count(tally, whose, TALLY_RESERVED, detail,
                           (int64_t)units * (end_ms - at_ms), at_ms);
                at_ms = end_ms;
        }
        return ok;
}

/* What the tenant holds inside promises goes into its standing promise first, then into what it
 * has reserved; others' use of its promises the other way round. */
static bool count_reserved(struct tally *tally, const struct state *state,
                           const struct ledger *ledger, uint16_t tenant, unsigned dimension,
                           int64_t until_ms)
{
        const struct accounts *accounts = state->accounts;
        uint64_t reserved = *account(accounts->reserved, tenant, dimension);
        uint64_t pot = *account(accounts->pot, tenant, dimension);
        uint64_t drawn = *account(accounts->drawn, tenant, dimension);
        const struct whose whose = {.tenant = accounts->tenancy->tenants[tenant].path,
                                    .class = "", .model = (uint8_t)dimension};
        uint64_t used = drawn > pot ? drawn - pot : 0;
        uint64_t lent = dimension < MODELS_MAX ? lent_now(ledger, whose.tenant, dimension) : 0;

        if (used > reserved)
                used = reserved;
        if (lent > reserved - used)
                lent = reserved - used;
        const uint64_t units[] = {[RESERVED_PROMISED] = reserved, [RESERVED_USED] = used,
                                  [RESERVED_LENT] = lent,
                                  [RESERVED_UNUSED] = reserved - used - lent};
        bool ok = true;
        for (unsigned d = 0; ok && d < ARRAY_LEN(units); d++)
                ok = count_span(tally, &whose, d, units[d], state->now_ms, until_ms);
        return ok;
}

static bool is_first(const struct tenancy *tenancy, uint32_t until_r, unsigned until_m)
{
        const struct reservation *of = &tenancy->reservations[until_r];

        for (uint32_t r = 0; r <= until_r; r++) {
                const struct reservation *it = &tenancy->reservations[r];
                unsigned end = r == until_r ? until_m : it->models_count;
                for (unsigned m = 0; it->tenant == of->tenant && m < end; m++)
                        if (it->models[m] == of->models[until_m])
                                return false;
        }
        return true;
}

/* As it was right before this tick, since the one before. */
static bool see_tick(struct tally *tally, const struct state *state, const struct ledger *ledger,
                     int64_t until_ms)
{
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;
        bool ok = true;

        if (!tenancy || state->now_ms == 0)
                return true;
        for (uint32_t r = 0; ok && r < tenancy->reservations_count; r++) {
                const struct reservation *it = &tenancy->reservations[r];
                for (unsigned m = 0; ok && m < it->models_count; m++)
                        if (*account(state->accounts->reserved, it->tenant, it->models[m]) > 0 &&
                            is_first(tenancy, r, m))
                                ok = count_reserved(tally, state, ledger, it->tenant,
                                                    it->models[m], until_ms);
        }
        return ok;
}

bool tally_see(struct tally *tally, const struct state *state, const struct ledger *ledger,
               const struct fact *fact, int64_t at_ms)
{
        switch (fact->kind) {
        case FACT_ALLOCATED:
                return see_start(tally, state, &fact->allocated, at_ms);
        case FACT_REFUSED:
                return see_of_work(tally, state, fact, fact->refused.workload, at_ms);
        case FACT_RELEASED:
                return see_of_work(tally, state, fact, fact->released.workload, at_ms);
        case FACT_REQUEUED:
                return see_of_work(tally, state, fact, fact->requeued.workload, at_ms);
        case FACT_CHECKPOINT_SET:
                return see_of_work(tally, state, fact, fact->checkpoint.workload, at_ms);
        case FACT_TIME_SET:
                return see_tick(tally, state, ledger, fact->now_ms);
        default:                        /* nothing that is reviewed */
                return true;
        }
}

/* ---- parts ---- */

struct tally_part *tally_take(struct tally *tally)
{
        struct tally_part *part = mem_new(1, sizeof *part);

        if (!part)
                return NULL;
        *part = tally->part;
        tally->part = (struct tally_part){0};
        map_clear(&tally->by_key);
        return part;
}

void tally_part_free(struct tally_part *part)
{
        if (!part)
                return;
        mem_free(part->rows);
        mem_free(part);
}

uint32_t tally_part_rows(const struct tally_part *part)
{
        return part->count;
}

int tally_part_put(const struct tally_part *part, struct core *core, struct act *act,
                   struct err *err)
{
        int rc = 0;

        for (uint32_t r = 0; rc == 0 && r < part->count; r++) {
                const struct tally_row *row = &part->rows[r];
                char buf[16];
                const struct review_row put = {
                        .day_ms = row->day_ms,
                        .tenant = row->tenant,
                        .class = row->class,
                        .model = row->model == NO_MODEL ? ""
                                 : row->model == DIM_ANY
                                         ? dimension_word(DIM_ANY)
                                         : model_get(core_models(core), row->model)->name,
                        .measure = tally_measure_name((enum tally_measure)row->measure),
                        .detail = detail_name((enum tally_measure)row->measure, row->detail, buf),
                        .amount = row->amount};
                rc = core_review(act, &put, err);
        }
        return rc;
}

/* ---- life ---- */

struct tally *tally_new(void)
{
        struct tally *tally = mem_new(1, sizeof *tally);

        if (tally)
                map_init(&tally->by_key, 2 * TALLY_ROWS_MAX);
        return tally;
}

void tally_forget(struct tally *tally)
{
        mem_free(tally->part.rows);
        tally->part = (struct tally_part){0};
        map_clear(&tally->by_key);
}

void tally_free(struct tally *tally)
{
        if (!tally)
                return;
        tally_forget(tally);
        map_done(&tally->by_key);
        mem_free(tally);
}
