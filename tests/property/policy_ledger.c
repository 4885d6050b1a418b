#include "tests/property/policy_ledger.h"

#include <stdio.h>

bool trial_ledger_open(struct trial_ledger *ledger, const struct state *state, int64_t now_ms)
{
        const struct ledger_bounds bounds = {.sees_layout = true};

        *ledger = (struct trial_ledger){.at_ms = now_ms};
        ledger->ledger = ledger_new(state, &bounds, now_ms);
        return ledger->ledger != NULL;
}

void trial_ledger_close(struct trial_ledger *ledger)
{
        ledger_free(ledger->ledger);
}

static unit_ms place_units(const struct book *book, const struct book_place *place)
{
        unit_ms units = 0;

        for (unsigned i = 0; i < place->count; i++)
                units += book_part_units(book_model(book, place->node), &place->parts[i]);
        return units;
}

void trial_ledger_time(struct trial_ledger *ledger, const struct book *book)
{
        uint64_t by_ms = (uint64_t)(book->now_ms - ledger->at_ms);

        ledger->at_ms = book->now_ms;
        for (unsigned n = 0; by_ms > 0 && n < BOOK_NODES; n++)
                if (book->nodes[n].here)
                        ledger->capacity[book->nodes[n].desc.model] +=
                                (unit_ms)book->nodes[n].desc.devices * UNITS_DEVICE * by_ms;
        for (uint64_t w = 1; by_ms > 0 && w <= book->last_id; w++) {
                const struct book_work *work = &book->works[w];
                if (work->status != WORK_RUNS)
                        continue;
                for (unsigned p = 0; p < work->placed; p++)
                        ledger->held[book->nodes[work->places[p].node].desc.model] +=
                                place_units(book, &work->places[p]) * by_ms;
        }
}

/* What rows say that work held. */
static void held_of_rows(const struct ledger *ledger, unit_ms held[MODELS_MAX])
{
        uint32_t count;
        const struct ledger_row *rows = ledger_rows(ledger, &count);

        for (uint32_t r = 0; r < count; r++)
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        if (b != BUCKET_RESERVED)
                                held[rows[r].key.model] += rows[r].buckets[b];
}

bool trial_ledger_holds(struct trial_ledger *ledger, const struct state *state,
                        struct book *book)
{
        unit_ms held[MODELS_MAX] = {0};

        trial_ledger_time(ledger, book);
        ledger_close(ledger->ledger, state, book->now_ms);
        held_of_rows(ledger->ledger, held);
        book->checked[PROMISE_LEDGER]++;
        for (unsigned m = 0; m < model_count(state->models); m++) {
                struct ledger_sums sums = ledger_sums(ledger->ledger, m);
                unit_ms all = 0;
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        all += sums.buckets[b];
                if (all != sums.capacity || sums.capacity != ledger->capacity[m])
                        return BOOK_FAIL(book, "the ledger's buckets of model %u do not add up to "
                                               "what the pool had of it",
                                         m);
                if (held[m] != ledger->held[m])
                        return BOOK_FAIL(book, "the ledger's rows of model %u are not what work "
                                               "held of it",
                                         m);
        }
        return true;
}
