#include "engine/ledger.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/ledger_impl.h"

const char *ledger_bucket_name(enum ledger_bucket bucket)
{
        static const char *const names[] = {
#define X(name, wire) wire,
                LEDGER_BUCKETS(X)
#undef X
        };
        return names[bucket];
}

const char *ledger_loss_name(enum ledger_loss loss)
{
        static const char *const names[] = {
#define X(name, wire, refunded) wire,
                LEDGER_LOSSES(X)
#undef X
        };
        return names[loss];
}

bool ledger_loss_refunded(enum ledger_loss loss)
{
        static const bool refunded_of[] = {
#define X(name, wire, refunded) refunded,
                LEDGER_LOSSES(X)
#undef X
        };
        return refunded_of[loss];
}

/* ---- time ---- */

/* The facts seen so far are applied: nodes that they changed are in other buckets since the time
 * of the newest. */
static void catch_up(struct ledger *ledger, const struct state *state)
{
        bool all = state->changes_count - ledger->changes_seen > CHANGES_RING;

        if (ledger->renamed)
                ledger_rows_forget(ledger);
        if (ledger->ticked && (ledger->revised_ms == INT64_MIN || ledger->shape_came ||
                               ledger->at_ms - ledger->revised_ms >= LEDGER_REVISE_MS))
                all |= ledger_shapes_revise(ledger, state);
        bool lends_anew = ledger->ticked || ledger->renamed;
        ledger->renamed = ledger->ticked = false;
        if (all)
                for (uint32_t n = 0; n < state->node_slots.high; n++)
                        ledger_look(ledger, state, n);
        else if (ledger->touched != NONE)
                ledger_look(ledger, state, ledger->touched);
        for (; !all && ledger->changes_seen < state->changes_count; ledger->changes_seen++) {
                uint32_t node = state->changes[ledger->changes_seen % CHANGES_RING];
                if (ledger->changes_seen + 1 < state->changes_count &&
                    state->changes[(ledger->changes_seen + 1) % CHANGES_RING] == node)
                        continue;
                ledger_look(ledger, state, node);
        }
        ledger->changes_seen = state->changes_count;
        ledger->touched = NONE;
        if (lends_anew)
                ledger_lend(ledger, state);
}

static void advance(struct ledger *ledger, const struct state *state, int64_t now_ms)
{
        if (now_ms <= ledger->at_ms)
                return;
        uint64_t by_ms = (uint64_t)(now_ms - ledger->at_ms);
        for (uint64_t models = ledger->models; models; models &= models - 1) {
                unsigned m = (unsigned)__builtin_ctzll(models);
                const struct ledger_rate *rate = &ledger->rates[m];
                struct ledger_sums *sums = &ledger->sums[m];
                sums->capacity += (unit_ms)(rate->devices * UNITS_DEVICE) * by_ms;
                ledger->held[m] += (unit_ms)rate->held * by_ms;
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        sums->buckets[b] += (unit_ms)rate->units[b] * by_ms;
                if (state->waiting > 0)
                        sums->idle_wanted +=
                                (unit_ms)(rate->units[BUCKET_FREE] + rate->units[BUCKET_STRANDED]) *
                                by_ms;
                if (state->accounts)
                        sums->unlent += (unit_ms)state->accounts->kept[m] * by_ms;
        }
        ledger->at_ms = now_ms;
}

void ledger_see(struct ledger *ledger, const struct state *state, const struct fact *fact,
                int64_t now_ms)
{
        catch_up(ledger, state);
        advance(ledger, state, now_ms);
        switch (fact->kind) {
        case FACT_QUEUED:
                ledger_shape_comes(ledger, state, &fact->queued.need);
                break;
        case FACT_RELEASED:
                ledger_run_ends(ledger, state, state_workload(state, fact->released.workload),
                                fact->released.cause, fact->released.lost_ms);
                break;
        case FACT_REQUEUED:
                ledger_run_ends(ledger, state, state_workload(state, fact->requeued.workload),
                                fact->requeued.cause, fact->requeued.lost_ms);
                break;
        case FACT_NOTICED:
                ledger_settle(ledger, state, state_workload(state, fact->noticed.workload));
                break;
        case FACT_NOTICE_WITHDRAWN:
                ledger_settle(ledger, state, state_workload(state, fact->stays));
                break;
        case FACT_PLAN_ENDED:
                /* Its victims may stay. */
                if (state->plans[fact->plan_ended.plan].victims > 0)
                        ledger_settle_all(ledger, state);
                break;
        case FACT_STANDING_SET:
                ledger_settle(ledger, state, state_workload(state, fact->standing.workload));
                break;
        case FACT_POLICY_IN:
                /* Tenants and classes get other numbers, and work other standings. */
                ledger_settle_all(ledger, state);
                ledger->renamed = true;
                break;
        case FACT_LAYOUT_STEP:
                ledger->touched = fact->layout_step.node;
                break;
        case FACT_TIME_SET:
                ledger->ticked = true;
                break;
        default:
                break;
        }
}

void ledger_overhead(struct ledger *ledger, const struct state *state, uint64_t workload,
                     int64_t until_ms)
{
        uint32_t slot = state_workload(state, workload);

        if (slot != NONE)
                ledger->overhead_until_ms[slot] = until_ms;
}

/* ---- periods ---- */

/* What work held, from its runs; and both ways of counting against each other. */
static void balance(struct ledger *ledger, unsigned model, const unit_ms of_rows[BUCKETS_END],
                    unit_ms kept)
{
        struct ledger_sums *sums = &ledger->sums[model];
        unit_ms all = 0, held = 0;

        for (unsigned b = 0; b < BUCKETS_END; b++)
                held += of_rows[b];
        assert(held == ledger->held[model]);
        assert(kept == sums->buckets[BUCKET_RESERVED]);
        for (unsigned b = 0; b < BUCKETS_END; b++)
                all += sums->buckets[b] + of_rows[b];
        assert(all == sums->capacity);
}

void ledger_close(struct ledger *ledger, const struct state *state, int64_t at_ms)
{
        unit_ms held[MODELS_MAX][BUCKETS_END] = {0}, kept[MODELS_MAX] = {0};

        catch_up(ledger, state);
        advance(ledger, state, at_ms);
        ledger_settle_all(ledger, state);
        for (uint32_t r = 0; r < ledger->rows_count; r++) {
                struct ledger_row *row = &ledger->rows[r];
                ledger_row_settle(ledger, row);
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        if (b != BUCKET_RESERVED)
                                held[row->key.model][b] += row->buckets[b];
                kept[row->key.model] += row->buckets[BUCKET_RESERVED];
        }
        for (uint64_t models = ledger->models; models; models &= models - 1) {
                unsigned m = (unsigned)__builtin_ctzll(models);
                balance(ledger, m, held[m], kept[m]);
                memcpy(ledger->of_work[m], held[m], sizeof held[m]);
        }
}

void ledger_next(struct ledger *ledger)
{
        memset(ledger->sums, 0, sizeof ledger->sums);
        memset(ledger->held, 0, sizeof ledger->held);
        memset(ledger->of_work, 0, sizeof ledger->of_work);
        for (uint32_t r = 0; r < ledger->rows_count; r++) {
                struct ledger_row *row = &ledger->rows[r];
                memset(row->buckets, 0, sizeof row->buckets);
                memset(row->lost, 0, sizeof row->lost);
                row->caused = row->lent = 0;
                row->stops = 0;
        }
}

struct ledger_sums ledger_sums(const struct ledger *ledger, unsigned model)
{
        struct ledger_sums sums = ledger->sums[model];

        for (unsigned b = 0; b < BUCKETS_END; b++)
                sums.buckets[b] += ledger->of_work[model][b];
        return sums;
}

uint64_t ledger_units_now(const struct ledger *ledger, unsigned model, enum ledger_bucket bucket)
{
        return ledger->rates[model].units[bucket];
}

uint64_t ledger_held_now(const struct ledger *ledger, unsigned model)
{
        return ledger->rates[model].held;
}

const struct ledger_row *ledger_rows(const struct ledger *ledger, uint32_t *ret_count)
{
        *ret_count = ledger->rows_count;
        return ledger->rows;
}

/* ---- life ---- */

static bool take_room(struct ledger *ledger, const struct state *state)
{
        ledger->members = mem_new(state->bounds.members_max, sizeof *ledger->members);
        ledger->nodes = mem_new(state->bounds.nodes_max, sizeof *ledger->nodes);
        ledger->kept =
                mem_new((size_t)state->bounds.nodes_max * NODE_DEVICES_MAX, sizeof *ledger->kept);
        ledger->overhead_until_ms =
                mem_new(state->bounds.workloads_max, sizeof *ledger->overhead_until_ms);
        ledger->shape_used_ms = mem_new(state->bounds.shapes_max, sizeof *ledger->shape_used_ms);
        return ledger->members && ledger->nodes && ledger->kept && ledger->overhead_until_ms &&
               ledger->shape_used_ms;
}

struct ledger *ledger_new(const struct state *state, const struct ledger_bounds *bounds,
                          int64_t from_ms)
{
        struct ledger *ledger = mem_new(1, sizeof *ledger);

        assert(from_ms >= 0);
        if (!ledger)
                return NULL;
        if (!take_room(ledger, state) || !ledger_rows_init(ledger, bounds)) {
                ledger_free(ledger);
                return NULL;
        }
        ledger->sees_layout = bounds->sees_layout;
        ledger->from_ms = ledger->at_ms = from_ms;
        ledger->touched = NONE;
        ledger->revised_ms = INT64_MIN;
        for (uint32_t s = 0; s < state->bounds.shapes_max; s++)
                ledger->shape_used_ms[s] = INT64_MIN;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                ledger_look(ledger, state, n);
        ledger->changes_seen = state->changes_count;
        return ledger;
}

void ledger_free(struct ledger *ledger)
{
        if (!ledger)
                return;
        ledger_rows_done(ledger);
        mem_free(ledger->members);
        mem_free(ledger->nodes);
        mem_free(ledger->kept);
        mem_free(ledger->overhead_until_ms);
        mem_free(ledger->shape_used_ms);
        mem_free(ledger);
}
