/* berthd with mistakes planted in its engine: for tests/poison_daemon.py and forecast_check.py,
 * never installed.
 *
 * The program is berthd's own objects; the linker leads three calls here first (--wrap). A workload
 * that asks for PLANTED cores (see below) crashes it in one way or another, or only the process
 * that makes its forecast. BERTH_PLANTED names a file: while it is there, ticks crash too; where
 * FILE.once is, one does, and takes that away. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/decide.h"
#include "engine/explain.h"

/* Millicores that nobody asks for by chance. */
enum planted {
        ASSERT_AT_SUBMIT = 31337,
        FAULT_AT_SUBMIT,
        HANG_AT_SUBMIT,
        ASSERT_AT_EXIT,
        ASSERT_AT_EXPLAIN,
        ASSERT_AT_FORECAST,
        HANG_AT_FORECAST,
        GROW_AT_FORECAST,
};

int __real_engine_decide(const struct state *state, struct memo *memo, const struct input *input,
                         int64_t now_ms, unsigned step, struct group *ret_group, struct err *err);
int __wrap_engine_decide(const struct state *state, struct memo *memo, const struct input *input,
                         int64_t now_ms, unsigned step, struct group *ret_group, struct err *err);
int __real_explain(struct memo *memo, const struct state *state, uint64_t workload, int64_t now_ms,
                   struct explanation *ret_explanation, struct err *err);
int __wrap_explain(struct memo *memo, const struct state *state, uint64_t workload, int64_t now_ms,
                   struct explanation *ret_explanation, struct err *err);

int __real_engine_run(struct state *state, struct memo *memo, const struct input *input,
                      int64_t now_ms, fact_see *see, void *arg, struct err *err);
int __wrap_engine_run(struct state *state, struct memo *memo, const struct input *input,
                      int64_t now_ms, fact_see *see, void *arg, struct err *err);

static uint32_t asked_by(const struct state *state, uint64_t workload)
{
        uint32_t slot = state_workload(state, workload);

        return slot == NONE
                       ? 0
                       : state->shapes[state->buckets[state->workloads[slot].bucket].shape]
                                 .need.cpu_milli;
}

static void submitted(uint32_t cpu_milli)
{
        volatile uintptr_t nowhere = 8;
        volatile int turns = 0;

        assert(cpu_milli != ASSERT_AT_SUBMIT && "planted");
        if (cpu_milli == FAULT_AT_SUBMIT)
                *(volatile int *)nowhere = 1;
        while (cpu_milli == HANG_AT_SUBMIT)
                turns = !turns;
}

static bool tick_is_planted(void)
{
        const char *file = getenv("BERTH_PLANTED");
        char once[4096];

        if (!file)
                return false;
        (void)snprintf(once, sizeof once, "%s.once", file);
        return access(file, F_OK) == 0 || unlink(once) == 0;
}

int __wrap_engine_decide(const struct state *state, struct memo *memo, const struct input *input,
                         int64_t now_ms, unsigned step, struct group *ret_group, struct err *err)
{
        if (input->kind == INPUT_SUBMITTED)
                submitted(input->request.need.cpu_milli);
        if (input->kind == INPUT_EXITED || input->kind == INPUT_FAILED)
                assert(asked_by(state, input->workload) != ASSERT_AT_EXIT && "planted");
        assert(!(input->kind == INPUT_TICKED && tick_is_planted()) && "planted");
        return __real_engine_decide(state, memo, input, now_ms, step, ret_group, err);
}

static void forecast(uint32_t cpu_milli)
{
        static char *volatile newest;   /* or a compiler leaves the memory out */

        assert(cpu_milli != ASSERT_AT_FORECAST && "planted");
        while (cpu_milli == HANG_AT_FORECAST || cpu_milli == GROW_AT_FORECAST) {
                size_t size = cpu_milli == GROW_AT_FORECAST ? 8u << 20 : 0;
                newest = malloc(size);
                if (newest)
                        memset(newest, 1, size);
                (void)usleep(10000);
        }
}

/* What berthd itself does not call. */
int __wrap_engine_run(struct state *state, struct memo *memo, const struct input *input,
                      int64_t now_ms, fact_see *see, void *arg, struct err *err)
{
        if (input->kind == INPUT_SUBMITTED)
                forecast(input->request.need.cpu_milli);
        return __real_engine_run(state, memo, input, now_ms, see, arg, err);
}

int __wrap_explain(struct memo *memo, const struct state *state, uint64_t workload, int64_t now_ms,
                   struct explanation *ret_explanation, struct err *err)
{
        assert(asked_by(state, workload) != ASSERT_AT_EXPLAIN && "planted");
        return __real_explain(memo, state, workload, now_ms, ret_explanation, err);
}
