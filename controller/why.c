#include "controller/why.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/view.h"
#include "engine/explain.h"
#include "engine/state.h"
#include "proto/explain_text.h"

#define KNOWN_MAX 64                    /* explanations that are kept for others */

struct known {
        uint32_t slot;                  /* of whom it was made */
        enum verdict verdict;
        char summary[EXPLAIN_TEXT_MAX];
};

struct why {
        struct memo *memo;
        const struct state *state;
        int64_t now_ms, until_ns;
        bool is_operator;
        uint32_t count;
        struct known known[KNOWN_MAX];
        struct explanation scratch;
};

struct why *why_new(struct memo *memo, const struct state *state, int64_t now_ms,
                    bool is_operator)
{
        struct why *why = mem_new(1, sizeof *why);

        if (!why)
                return NULL;
        why->memo = memo;
        why->state = state;
        why->now_ms = now_ms;
        why->is_operator = is_operator;
        why->until_ns = INT64_MAX;
        return why;
}

void why_free(struct why *why)
{
        mem_free(why);
}

bool why_has_time(const struct why *why)
{
        return why->until_ns == INT64_MAX || time_monotonic_ns() < why->until_ns;
}

void why_set_time(struct why *why, int64_t time_ms)
{
        why->until_ns = time_monotonic_ns() + time_ms * 1000000;
}

/* ---- explained once ---- */

/* It waits for no other work, and nothing is kept for it. */
static bool is_plain(const struct workload *it)
{
        return it->members_placed == 0 && !(it->holds & HOLD_AFTER) && !it->plan &&
               it->nodes_held == 0;
}

/* Whether all that an explanation asks of a workload is the same of both. */
static bool are_alike(const struct workload *a, const struct workload *b)
{
        return a->bucket == b->bucket && is_plain(a) && is_plain(b) && a->holds == b->holds &&
               a->start_ms == b->start_ms && a->array == b->array && a->group == b->group &&
               a->time_limit_ms == b->time_limit_ms && a->attained_ms == b->attained_ms &&
               a->checkpoint_every_ms == b->checkpoint_every_ms &&
               a->checkpoint_within_ms == b->checkpoint_within_ms && a->service == b->service &&
               a->displaced == b->displaced && a->rescued == b->rescued &&
               a->demoted == b->demoted;
}

/* Of two alike one is before the other: who starts, and who only waits for that, is told apart. */
static bool holds_for_all(enum verdict verdict)
{
        return verdict == VERDICT_NEVER || verdict == VERDICT_WAIT_QUOTA ||
               verdict == VERDICT_WAIT_BUDGET || verdict == VERDICT_WAIT_CAPACITY ||
               verdict == VERDICT_HELD || verdict == VERDICT_UNKNOWN;
}

static const struct known *find(const struct why *why, uint32_t slot)
{
        const struct workload *workloads = why->state->workloads;

        for (uint32_t k = 0; k < why->count; k++)
                if (are_alike(&workloads[why->known[k].slot], &workloads[slot]))
                        return &why->known[k];
        return NULL;
}

/* ---- one ---- */

/* Where there is no room for more, in the last place. */
static const struct known *explain_one(struct why *why, uint32_t slot)
{
        const struct explain_names names = {.state = why->state, .clock = true};
        const struct workload *workload = &why->state->workloads[slot];
        const struct viewer viewer = {
                .is_operator = why->is_operator,
                .tenant = why->state->buckets[workload->bucket].tenant};
        uint32_t at = why->count < KNOWN_MAX - 1 ? why->count : KNOWN_MAX - 1;
        struct known *known = &why->known[at];

        if (explain_briefly(why->memo, why->state, workload->id, why->now_ms, &why->scratch, NULL) <
                    0 ||
            explain_view(&why->scratch, why->state, viewer, NULL) < 0)
                return NULL;
        known->slot = slot;
        known->verdict = why->scratch.verdict;
        const char *summary = explain_summary(&why->scratch, &names, known->summary);
        if (summary != known->summary)
                (void)str_copy(known->summary, sizeof known->summary, summary);
        if (holds_for_all(known->verdict) && at == why->count && at < KNOWN_MAX - 1)
                why->count++;
        return known;
}

bool why_add(struct why *why, uint32_t slot, json_t *row)
{
        const struct known *known = find(why, slot);

        /* That work has its place is said without looking for one. */
        if (!known && (why_has_time(why) || why->state->workloads[slot].members_placed > 0))
                known = explain_one(why, slot);
        if (!known)
                return false;
        view_set(row, "verdict", json_string(verdict_name(known->verdict)));
        view_set(row, "summary", json_string(known->summary));
        return true;
}
