#include "sim/eta_watch.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/state.h"

struct eta_asked {
        struct eta_set told;
        int64_t at_ms;
};

int eta_watch_start(struct eta_watch *watch, const struct replay_hooks *hooks,
                    const struct state *state, int64_t tick_ms, int64_t restart_ms, uint64_t seed,
                    struct err *err)
{
        watch->hook = hooks ? hooks->eta : NULL;
        return watch->hook ? watch->hook->begin(watch->hook->arg, state, tick_ms, restart_ms, seed,
                                                err)
                           : 0;
}

void eta_watch_done(struct eta_watch *watch)
{
        mem_free(watch->asked);
        *watch = (struct eta_watch){0};
}

int eta_watch_arrived(struct eta_watch *watch, const struct request *request, int64_t now_ms,
                      struct err *err)
{
        return watch->hook ? watch->hook->arrived(watch->hook->arg, request, now_ms, err) : 0;
}

static struct eta_asked *add(struct eta_watch *watch)
{
        struct eta_asked *grown = mem_grow(watch->asked, watch->count, &watch->room, 256,
                                           sizeof *grown);
        if (!grown)
                return NULL;
        watch->asked = grown;
        return &watch->asked[watch->count++];
}

int eta_watch_ask(struct eta_watch *watch, const struct state *state, struct policy placement,
                  uint64_t workload, int64_t now_ms, bool *ret_told, struct input *ret_input,
                  struct err *err)
{
        uint32_t slot = watch->hook ? state_workload(state, workload) : NONE;

        *ret_told = false;
        if (slot == NONE || state->workloads[slot].members_placed > 0 ||
            state->workloads[slot].holds)
                return 0;
        if (watch->waited++ % watch->hook->every > 0)
                return 0;
        struct eta_asked *asked = add(watch);
        if (!asked)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = watch->hook->ask(watch->hook->arg, placement, now_ms, workload, &asked->told, err);
        asked->at_ms = now_ms;
        *ret_input = (struct input){.kind = INPUT_ETA_SET, .eta = asked->told};
        *ret_told = rc == 0;
        return rc;
}

void eta_watch_started(struct eta_watch *watch, uint64_t workload, int64_t now_ms)
{
        if (watch->hook)
                watch->hook->started(watch->hook->arg, workload, now_ms);
}

static int compare_errors(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* |p50 - took| of what it took. */
static double relative_error(int64_t p50_ms, int64_t took_ms)
{
        int64_t off_ms = p50_ms > took_ms ? p50_ms - took_ms : took_ms - p50_ms;

        return (double)off_ms / (double)(took_ms > 0 ? took_ms : 1);
}

int eta_watch_end(const struct eta_watch *watch, const struct job_record *records,
                  struct history_figures *ret_figures, struct err *err)
{
        double *errors = mem_new(watch->count, sizeof *errors);
        size_t told = 0, kept = 0;

        if (!errors)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (size_t a = 0; a < watch->count; a++) {
                const struct eta_set *set = &watch->asked[a].told;
                int64_t start_ms = records[set->workload - 1].first_start_ms;
                if (set->coverage_pct == 0 || start_ms == JOB_RECORD_NEVER)
                        continue;
                int64_t took_ms = start_ms - watch->asked[a].at_ms;
                kept += took_ms <= set->p90_ms;
                errors[told++] = relative_error(set->p50_ms, took_ms);
        }
        qsort(errors, told, sizeof *errors, compare_errors);
        ret_figures->has_eta = watch->hook != NULL;
        if (watch->count > 0)
                ret_figures->eta_estimated_pct = 100.0 * (double)told / (double)watch->count;
        if (told > 0) {
                ret_figures->eta_p90_coverage_pct = 100.0 * (double)kept / (double)told;
                ret_figures->eta_median_relative_error = errors[(told - 1) / 2];
        }
        mem_free(errors);
        return 0;
}
