#include "controller/worker_follow.h"

#include "base/err.h"
#include "engine/state.h"
#include "engine/units.h"
#include "store/log.h"
#include "store/snapshot.h"

#define SNAPSHOTS_MAX 16u

/* ---- what is learnt ---- */

static uint64_t devices_of(const struct state *state)
{
        uint64_t devices = 0;

        for (unsigned m = 0; m < MODELS_MAX; m++)
                devices += state->capacity[m] / UNITS_DEVICE;
        return devices;
}

static void learn_arrival(struct worker_follow *follow, const struct request *request)
{
        int64_t now_ms = follow->pool.now_ms;

        follow->learned.devices = devices_of(follow->pool.state);
        if (request->form.members > 1)
                demand_add(&follow->learned.seen, &request->need, request->form.members - 1);
        follow->plan_due |= learned_see(&follow->learned, &request->need);
        follow->failed |= eta_arrived(follow->eta, request, now_ms, NULL) < 0;
}

/* The state's tables move until its first fact: estimates begin with that. */
static bool has_eta(struct worker_follow *follow)
{
        if (!follow->eta)
                follow->eta = eta_new(follow->pool.state, &follow->eta_options);
        follow->failed |= !follow->eta;
        return follow->eta != NULL;
}

static void see_fact(void *arg, const struct log_pool *pool, const struct fact *fact)
{
        struct worker_follow *follow = arg;

        if (!has_eta(follow))
                return;
        switch (fact->kind) {
        case FACT_QUEUED:
                learn_arrival(follow, &fact->queued);
                break;
        case FACT_ALLOCATED:
                if (fact->allocated.member == 0)
                        eta_started(follow->eta, fact->allocated.workload, pool->now_ms);
                break;
        case FACT_RELEASED:
                eta_dropped(follow->eta, fact->released.workload);
                break;
        case FACT_REFUSED:
                eta_dropped(follow->eta, fact->refused.workload);
                break;
        case FACT_ETA_SET:
                follow->failed |= eta_told(follow->eta, &fact->eta, pool->now_ms, NULL) < 0;
                return;
        case FACT_DEMAND_SET:
                follow->plan_due = false;       /* also of a worker before this one */
                return;
        case FACT_TIME_SET:
                return;
        default:                        /* it may be another queue now, and that is all */
                break;
        }
        follow->changed = true;
}

/* ---- beginning ---- */

/* The oldest good one that is not too far back, or else the newest good one: first that, then newer
 * ones, then older ones. 1: restored; 0: there is none. */
static int restore(struct worker_follow *follow, uint64_t not_before, struct err *err)
{
        struct snapshot list[SNAPSHOTS_MAX], order[SNAPSHOTS_MAX];
        size_t count, first = 0;
        int rc = snapshot_list(follow->store, list, SNAPSHOTS_MAX, &count, err);

        if (rc)
                return rc;
        while (first + 1 < count && list[first + 1].seq >= not_before)
                first++;                /* newest first */
        for (size_t n = 0; n < count; n++)
                order[n] = list[n <= first ? first - n : n];
        return log_pool_restore_first(&follow->pool, follow->store, order, count, err);
}

static int begin(struct worker_follow *follow, uint64_t back, struct err *err)
{
        struct log_head head, base;
        int rc = log_head(follow->store, &head, err);

        if (rc == 0)
                rc = log_base(follow->store, &base, err);
        if (rc == 0)
                rc = log_pool_new(NULL, &follow->pool, err);
        if (rc)
                return rc;
        follow->head_seq = head.seq;
        if (base.seq > 0 || head.seq > back)
                rc = restore(follow, head.seq > back ? head.seq - back : 0, err);
        if (rc == 0 && base.seq > 0)
                return err_set(err, ERR_NOT_FOUND,
                               "the log was pruned, and there is no good snapshot");
        if (rc < 0)
                return rc;
        follow->pool.before = see_fact;
        follow->pool.arg = follow;
        return 0;
}

int worker_follow_begin(struct worker_follow *follow, struct err *err)
{
        int rc = begin(follow, FOLLOW_BACK, err);

        if (rc) {
                worker_follow_done(follow);
                return rc;
        }
        const struct state *state = follow->pool.state;
        learned_begin(&follow->learned, devices_of(state));
        if (state->plan_set)
                learned_resume(&follow->learned, state->plan, state->plan->revision);
        follow->changed = true;
        return 0;
}

void worker_follow_done(struct worker_follow *follow)
{
        eta_free(follow->eta);
        log_pool_done(&follow->pool);
        *follow = (struct worker_follow){.store = follow->store,
                                         .eta_options = follow->eta_options};
}

/* ---- going on ---- */

/* Begins anew at the newest snapshot; demand that was learnt stays. */
static int skip(struct worker_follow *follow, struct err *err)
{
        struct learned learned = follow->learned;
        int rc;

        worker_follow_done(follow);
        rc = begin(follow, 0, err);
        follow->learned = learned;
        follow->changed = true;
        return rc;
}

static int is_behind(struct worker_follow *follow, bool *ret_is_behind, struct err *err)
{
        struct snapshot newest;
        struct log_head head, base;
        size_t count;
        int rc = log_head(follow->store, &head, err);

        *ret_is_behind = false;
        if (rc == 0)
                rc = log_base(follow->store, &base, err);
        if (rc)
                return rc;
        follow->head_seq = head.seq;
        *ret_is_behind = follow->pool.seq < base.seq;   /* pruned meanwhile */
        if (head.seq - follow->pool.seq <= FOLLOW_BEHIND)
                return 0;
        rc = snapshot_list(follow->store, &newest, 1, &count, err);
        *ret_is_behind |= rc == 0 && count > 0 &&
                          newest.seq > follow->pool.seq + FOLLOW_BEHIND / 4;
        return rc;
}

int worker_follow_step(struct worker_follow *follow, unsigned records, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        bool behind;
        int rc = is_behind(follow, &behind, err);

        if (rc)
                return rc;
        if (behind)
                rc = skip(follow, err);
        if (rc || behind)
                return rc ? rc : 1;
        if (follow->pool.seq >= follow->head_seq)
                return 0;
        rc = log_read(follow->store, follow->pool.seq + 1, &cursor, err);
        if (rc)
                return rc;
        for (unsigned n = 0; n < records && (rc = log_next(cursor, &record, err)) > 0; n++) {
                rc = log_pool_follow(&follow->pool, &record, err);
                if (rc < 0)
                        break;
                rc = 1;
        }
        log_cursor_free(cursor);
        if (rc >= 0 && follow->failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        return rc;
}
