/* Searches for a plan that found nothing: while nothing has happened but submissions, and nobody
 * has become eligible by time alone, they would find nothing again. Many buckets ask the same. */
#include "engine/preempt_impl.h"

#include <string.h>

#include "engine/calendar.h"

static bool same_asker(const struct asker *a, const struct asker *b)
{
        if (!a || !b)
                return a == b;
        return a->tenant == b->tenant && a->class == b->class && a->data == b->data &&
               a->group == b->group && a->spread == b->spread && a->shares == b->shares &&
               a->kinds == b->kinds && a->holders == b->holders &&
               a->only_shares == b->only_shares && a->planes == b->planes;
}

static bool same_question(const struct search *search, uint64_t most, const struct hopeless *it)
{
        const struct beneficiary *who = &search->beneficiary;
        const struct bucket *bucket = &search->state->buckets[who->bucket];

        return it->shape == search->shape && form_equal(&it->form, &bucket->form) &&
               it->models == search->models && it->most == most && it->cause == who->cause &&
               it->class == bucket->class && it->level == who->level && it->spare == who->spare &&
               (search->state->nodes_closing == 0 || it->leaves_ms == search->leaves_ms) &&
               same_asker(it->asks ? &it->asker : NULL, search->asker);
}

static struct hopeless *place_of(const struct search *search, uint64_t most)
{
        const struct beneficiary *who = &search->beneficiary;
        const struct bucket *bucket = &search->state->buckets[who->bucket];
        uint64_t key = map_mix((uint64_t)search->shape << 32 | (uint64_t)bucket->class << 16 |
                               (uint64_t)who->cause << 8 | who->level) ^
                       map_mix(search->models ^ (uint64_t)bucket->form.members << 40) ^ most;

        return &search->scratch->hopeless[map_mix(key) % HOPELESS_MAX];
}

/* When somebody may become eligible without anything happening: work grows out of its exempt time,
 * and a new day begins. */
static int64_t terms_end_ms(const struct state *state, int64_t from_ms)
{
        int64_t end = from_ms - from_ms % CALENDAR_DAY_MS + CALENDAR_DAY_MS;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *it = &state->workloads[w];
                if (!it->live || it->members_placed == 0)
                        continue;
                int64_t exempt_until = it->since_ms + class_of(state, it->bucket)->exempt_ms;
                if (exempt_until > from_ms && exempt_until < end)
                        end = exempt_until;
        }
        return end;
}

/* By loss and by level everybody changes all the time. */
static bool still_holds(const struct search *search, const struct hopeless *it)
{
        struct preempt_scratch *scratch = search->scratch;
        int64_t now_ms = search->beneficiary.now_ms;

        if (it->version != search->state->moves_version + 1 || it->now_ms > now_ms)
                return false;
        if (it->now_ms == now_ms)
                return true;
        if (it->cause != PLAN_PROTECT && it->cause != PLAN_ORDER)
                return false;
        if (scratch->terms_version != it->version || scratch->terms_from_ms > it->now_ms) {
                scratch->terms_version = it->version;
                scratch->terms_from_ms = it->now_ms;
                scratch->terms_end_ms = terms_end_ms(search->state, it->now_ms);
        }
        return now_ms < scratch->terms_end_ms;
}

/* What is held for it is open to it alone. */
static bool is_like_others(const struct search *search)
{
        return search->state->workloads[search->beneficiary.slot].nodes_held == 0;
}

bool search_is_hopeless(const struct search *search, uint64_t most)
{
        const struct hopeless *it = place_of(search, most);

        return is_like_others(search) && same_question(search, most, it) &&
               still_holds(search, it);
}

void search_was_hopeless(const struct search *search, uint64_t most)
{
        const struct beneficiary *who = &search->beneficiary;
        const struct bucket *bucket = &search->state->buckets[who->bucket];
        struct hopeless *it = place_of(search, most);

        if (!is_like_others(search))
                return;
        *it = (struct hopeless){.version = search->state->moves_version + 1,
                                .now_ms = who->now_ms,
                                .most = most,
                                .models = search->models,
                                .leaves_ms = search->leaves_ms,
                                .form = bucket->form,
                                .shape = search->shape,
                                .class = bucket->class,
                                .level = who->level,
                                .cause = who->cause,
                                .spare = who->spare,
                                .asks = search->asker != NULL};
        if (search->asker)
                it->asker = *search->asker;
}

void preempt_forget(struct preempt_scratch *scratch)
{
        if (!scratch)
                return;
        memset(scratch->hopeless, 0, sizeof scratch->hopeless);
        scratch->terms_version = 0;
}
