/* Showback: what was held, kept and lost, by tenant, class, model, method and standing. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/accounts.h"
#include "engine/ledger_impl.h"

#define ROWS_MAX  16384
#define NAMES_MAX 8192

/* Kept back: one row of each model, method and standing for all that has no row of its own. */
#define LEDGER_OTHERS (MODELS_MAX * (METHODS_END + 1) * (STANDINGS_END + 1))

/* ---- names ---- */

static uint64_t hash_of(const char *text)
{
        uint64_t hash = 0;

        for (const char *at = text; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        return hash;
}

/* Its number; 0, "(others)", when the table is full. */
static uint16_t name_number(struct ledger_names *names, const char *text)
{
        uint64_t key = hash_of(text);
        uint32_t number;

        while ((number = map_get(&names->numbers, key)) != MAP_NONE) {
                if (str_equal(names->texts[number], text))
                        return (uint16_t)number;
                key++;
        }
        if (names->count == names->max)
                return 0;
        bool ok = str_copy(names->texts[names->count], sizeof names->texts[0], text) &&
                  map_set(&names->numbers, key, names->count) == 0;
        assert(ok); /* reserved at start */
        (void)ok;
        return (uint16_t)names->count++;
}

static bool names_init(struct ledger_names *names, uint32_t max)
{
        names->max = max;
        names->texts = mem_new(max, sizeof *names->texts);
        map_init(&names->numbers, max);
        if (!names->texts || map_reserve(&names->numbers, max) < 0)
                return false;
        (void)name_number(names, "(others)");
        return true;
}

static uint16_t tenant_number(struct ledger *ledger, const struct state *state, uint16_t tenant)
{
        if (!state->accounts)
                return name_number(&ledger->tenants, "-");
        assert(tenant < TENANTS_MAX);
        if (ledger->tenant_numbers[tenant] == 0)
                ledger->tenant_numbers[tenant] = name_number(
                        &ledger->tenants, state->accounts->tenancy->tenants[tenant].path);
        return ledger->tenant_numbers[tenant];
}

static uint16_t class_number(struct ledger *ledger, const struct state *state, uint16_t class)
{
        if (!state->accounts || class >= CLASSES_MAX)
                return name_number(&ledger->classes, "-");
        if (ledger->class_numbers[class] == 0)
                ledger->class_numbers[class] = name_number(
                        &ledger->classes, state->accounts->tenancy->classes[class].name);
        return ledger->class_numbers[class];
}

const char *ledger_tenant(const struct ledger *ledger, uint16_t tenant)
{
        assert(tenant < ledger->tenants.count);
        return ledger->tenants.texts[tenant];
}

const char *ledger_class(const struct ledger *ledger, uint16_t class)
{
        assert(class < ledger->classes.count);
        return ledger->classes.texts[class];
}

uint32_t ledger_tenants(const struct ledger *ledger)
{
        return ledger->tenants.count;
}

uint32_t ledger_classes(const struct ledger *ledger)
{
        return ledger->classes.count;
}

/* ---- rows ---- */

static uint64_t key_bits(const struct ledger_key *key)
{
        return (uint64_t)key->tenant << 48 | (uint64_t)key->class << 32 |
               (uint64_t)key->model << 16 | (uint64_t)key->method << 8 | key->standing;
}

static struct ledger_row *row_of(struct ledger *ledger, struct ledger_key key)
{
        if (key.tenant == 0 || key.class == 0)
                key.tenant = key.class = 0;
        uint32_t number = map_get(&ledger->row_numbers, key_bits(&key));
        if (number != MAP_NONE)
                return &ledger->rows[number];
        if (key.tenant != 0 && ledger->rows_count + LEDGER_OTHERS >= ledger->rows_max) {
                key.tenant = 0;
                return row_of(ledger, key);
        }
        assert(ledger->rows_count < ledger->rows_max);
        number = ledger->rows_count++;
        ledger->rows[number] = (struct ledger_row){.key = key, .reserved_from_ms = ledger->at_ms};
        int rc = map_set(&ledger->row_numbers, key_bits(&key), number);
        assert(rc == 0); /* reserved at start */
        (void)rc;
        return &ledger->rows[number];
}

struct ledger_row *ledger_row(struct ledger *ledger, const struct state *state, uint32_t bucket,
                              unsigned model, unsigned method, unsigned standing)
{
        return row_of(ledger,
                      (struct ledger_key){
                              .tenant = tenant_number(ledger, state, state->buckets[bucket].tenant),
                              .class = class_number(ledger, state, state->buckets[bucket].class),
                              .model = (uint8_t)model,
                              .method = (uint8_t)method,
                              .standing = (uint8_t)standing});
}

struct ledger_row *ledger_row_of_owner(struct ledger *ledger, const struct state *state,
                                       uint16_t tenant, unsigned model)
{
        return row_of(ledger, (struct ledger_key){.tenant = tenant_number(ledger, state, tenant),
                                                  .class = class_number(ledger, state, CLASS_NONE),
                                                  .model = (uint8_t)model,
                                                  .method = METHODS_END,
                                                  .standing = STANDINGS_END});
}

void ledger_row_settle(struct ledger *ledger, struct ledger_row *row)
{
        row->buckets[BUCKET_RESERVED] +=
                (unit_ms)row->reserved_units * (uint64_t)(ledger->at_ms - row->reserved_from_ms);
        row->lent += (unit_ms)row->lent_units * (uint64_t)(ledger->at_ms - row->reserved_from_ms);
        row->reserved_from_ms = ledger->at_ms;
}

/* ---- what work holds ---- */

void ledger_member_open(struct ledger *ledger, const struct state *state, uint32_t place)
{
        const struct member *member = &state->members[place];
        const struct model *model = node_model(state, member->node);
        struct ledger_member *tally = &ledger->members[place];

        *tally = (struct ledger_member){.from_ms = ledger->at_ms, .open = true};
        for (uint32_t p = member->first_part; p != NONE; p = state->parts[p].next)
                tally->units[state->parts[p].part.method] +=
                        part_units(model, &state->parts[p].part);
        ledger_shape_used(ledger, state->buckets[state->workloads[member->workload].bucket].shape,
                          ledger->at_ms);
}

static int64_t clamp(int64_t at_ms, int64_t least_ms, int64_t most_ms)
{
        return at_ms < least_ms ? least_ms : at_ms > most_ms ? most_ms : at_ms;
}

/* When its overhead ends and when its notice has run out, within from ... until. */
static void phases(const struct ledger *ledger, const struct state *state, uint32_t slot,
                   int64_t from_ms, int64_t until_ms, int64_t *ret_works_ms, int64_t *ret_ends_ms)
{
        int64_t notice_ms = state->workloads[slot].notice_until_ms;

        *ret_works_ms = clamp(ledger->overhead_until_ms[slot], from_ms, until_ms);
        *ret_ends_ms = notice_ms ? clamp(notice_ms, *ret_works_ms, until_ms) : until_ms;
}

static void settle_member(struct ledger *ledger, const struct state *state, uint32_t place)
{
        struct ledger_member *tally = &ledger->members[place];
        const struct member *member = &state->members[place];
        const struct workload *workload = &state->workloads[member->workload];
        int64_t works_ms, ends_ms;

        if (!tally->open || tally->from_ms == ledger->at_ms)
                return;
        phases(ledger, state, member->workload, tally->from_ms, ledger->at_ms, &works_ms, &ends_ms);
        for (unsigned method = 0; method < METHODS_END; method++) {
                unit_ms units = tally->units[method];
                if (units == 0)
                        continue;
                struct ledger_row *row = ledger_row(ledger, state, workload->bucket,
                                                    state->nodes[member->node].desc.model, method,
                                                    workload->standing);
                row->buckets[BUCKET_OVERHEAD] += units * (uint64_t)(works_ms - tally->from_ms);
                row->buckets[BUCKET_UNMEASURED] += units * (uint64_t)(ends_ms - works_ms);
                row->buckets[BUCKET_DRAINING] += units * (uint64_t)(ledger->at_ms - ends_ms);
        }
        tally->from_ms = ledger->at_ms;
}

void ledger_settle(struct ledger *ledger, const struct state *state, uint32_t slot)
{
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                settle_member(ledger, state, at);
}

void ledger_settle_all(struct ledger *ledger, const struct state *state)
{
        for (uint32_t w = 0; w < state->workload_slots.high; w++)
                if (state->workloads[w].live && state->workloads[w].members_placed > 0)
                        ledger_settle(ledger, state, w);
}

/* ---- what is lost ---- */

static enum ledger_loss loss_of(const struct state *state, const struct workload *workload,
                                enum release_cause cause)
{
        switch (cause) {
        case RELEASE_STOPPED:
                if (workload->plan == 0)
                        return LOSS_TIMED_OUT;
                switch ((enum plan_cause)state->plans[workload->plan - 1].cause) {
                case PLAN_PROTECT:
                        return LOSS_PROTECT;
                case PLAN_ORDER:
                        return LOSS_ORDER;
                case PLAN_TIME_SLICE:
                        return LOSS_TIME_SLICE;
                case PLAN_MOVE:
                        return LOSS_ASKED;
                case PLAN_GATHER:
                case PLAN_CAUSES_END:
                        break;
                }
                return LOSS_GATHER;
        case RELEASE_LOST:
                return LOSS_NODE;
        case RELEASE_DRAINED:
                return LOSS_DRAINED;
        case RELEASE_CANCELLED:
                return LOSS_CANCELLED;
        case RELEASE_TIMED_OUT:
                return LOSS_TIMED_OUT;
        case RELEASE_IDLE:
                return LOSS_IDLE;
        case RELEASE_ASKED:
                return LOSS_ASKED;
        case RELEASE_EXITED:
        case RELEASE_FAILED:
        case RELEASE_CAUSES_END:
                break;
        }
        return LOSS_FAILED;
}

static void lose(struct ledger *ledger, const struct state *state, uint32_t place,
                 enum ledger_loss loss, int64_t by_ms)
{
        const struct ledger_member *tally = &ledger->members[place];
        const struct workload *workload = &state->workloads[state->members[place].workload];
        unsigned model = state->nodes[state->members[place].node].desc.model;

        for (unsigned method = 0; method < METHODS_END; method++) {
                unit_ms units = (unit_ms)tally->units[method] * (uint64_t)by_ms;
                if (units == 0)
                        continue;
                ledger_row(ledger, state, workload->bucket, model, method, workload->standing)
                        ->lost[loss] += units;
                if (loss > LOSS_GATHER)
                        continue;
                uint32_t for_whom = state->plans[workload->plan - 1].beneficiary;
                ledger_row(ledger, state, state->workloads[for_whom].bucket, model, METHODS_END,
                           STANDINGS_END)
                        ->caused += units;
        }
}

/* Counted once a run, where its first member lies. */
static void count_stop(struct ledger *ledger, const struct state *state,
                       const struct workload *workload)
{
        uint32_t at = workload->first_member;

        if (at == NONE)
                return;
        unsigned model = state->nodes[state->members[at].node].desc.model;
        uint32_t part = state->members[at].first_part;
        unsigned method = part == NONE ? METHODS_END : state->parts[part].part.method;
        ledger_row(ledger, state, workload->bucket, model, method, workload->standing)->stops++;
}

void ledger_run_ends(struct ledger *ledger, const struct state *state, uint32_t slot,
                     enum release_cause cause, int64_t lost_ms)
{
        const struct workload *workload = &state->workloads[slot];
        int64_t from_ms = clamp(ledger->at_ms - lost_ms, ledger->from_ms, ledger->at_ms);
        int64_t works_ms, ends_ms;

        phases(ledger, state, slot, from_ms, ledger->at_ms, &works_ms, &ends_ms);
        ledger_settle(ledger, state, slot);
        if (cause == RELEASE_STOPPED && loss_of(state, workload, cause) <= LOSS_GATHER)
                count_stop(ledger, state, workload);
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                if (lost_ms > 0)
                        lose(ledger, state, at, loss_of(state, workload, cause),
                             ends_ms - works_ms);
                ledger->members[at].open = false;
        }
        ledger->overhead_until_ms[slot] = INT64_MIN;
}

/* ---- life ---- */

bool ledger_rows_init(struct ledger *ledger, const struct ledger_bounds *bounds)
{
        uint32_t names = bounds->names_max ? bounds->names_max : NAMES_MAX;

        assert(names >= 2 && names < UINT16_MAX);
        ledger->rows_max = (bounds->rows_max ? bounds->rows_max : ROWS_MAX) + LEDGER_OTHERS;
        ledger->rows = mem_new(ledger->rows_max, sizeof *ledger->rows);
        ledger->tenant_numbers = mem_new(TENANTS_MAX, sizeof *ledger->tenant_numbers);
        map_init(&ledger->row_numbers, ledger->rows_max);
        return ledger->rows && ledger->tenant_numbers &&
               map_reserve(&ledger->row_numbers, ledger->rows_max) == 0 &&
               names_init(&ledger->tenants, names) && names_init(&ledger->classes, names);
}

void ledger_rows_done(struct ledger *ledger)
{
        mem_free(ledger->rows);
        mem_free(ledger->tenant_numbers);
        mem_free(ledger->tenants.texts);
        mem_free(ledger->classes.texts);
        map_done(&ledger->row_numbers);
        map_done(&ledger->tenants.numbers);
        map_done(&ledger->classes.numbers);
}

void ledger_rows_forget(struct ledger *ledger)
{
        memset(ledger->tenant_numbers, 0, TENANTS_MAX * sizeof *ledger->tenant_numbers);
        memset(ledger->class_numbers, 0, sizeof ledger->class_numbers);
}
