#include "controller/simulated.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/live.h"
#include "controller/works.h"
#include "proto/workload_doc.h"

#define RUNS_PER_ACT         512
#define QUARANTINED_AGAIN_MS 2000       /* its end is in quarantine: released by then, perhaps */

struct event {
        int64_t at_ms;
        uint64_t workload, epoch;
};

/* A heap: the earliest first. */
struct simulated {
        struct event *events;
        uint32_t count, room;
};

struct simulated *simulated_new(void)
{
        return mem_new(1, sizeof(struct simulated));
}

void simulated_free(struct simulated *simulated)
{
        if (!simulated)
                return;
        mem_free(simulated->events);
        mem_free(simulated);
}

int64_t simulated_duration_ms(const struct workload_doc *document)
{
        const struct workload_run *run = &document->run;
        char text[40];
        int64_t ms;

        if (run->command_count != 2 || !str_equal(run->command[0], "sleep") ||
            strlen(run->command[1]) > 16)
                return SIMULATED_MS;
        (void)strcpy(text, run->command[1]);
        (void)strcat(text, "s");
        return num_duration_ms(text, 0, RUN_MS_MAX, &ms, NULL) == 0 ? ms : SIMULATED_MS;
}

/* ---- the heap ---- */

static void swap(struct event *a, struct event *b)
{
        struct event kept = *a;

        *a = *b;
        *b = kept;
}

int simulated_expect(struct simulated *simulated, uint64_t workload, uint64_t epoch,
                     int64_t at_ms)
{
        struct event *grown = mem_grow(simulated->events, simulated->count, &simulated->room, 1024,
                                       sizeof *grown);
        if (!grown)
                return -ERR_NOMEM;
        simulated->events = grown;
        uint32_t at = simulated->count++;
        simulated->events[at] = (struct event){at_ms, workload, epoch};
        for (; at > 0 && simulated->events[(at - 1) / 2].at_ms > simulated->events[at].at_ms;
             at = (at - 1) / 2)
                swap(&simulated->events[(at - 1) / 2], &simulated->events[at]);
        return 0;
}

static struct event take_first(struct simulated *simulated)
{
        struct event *events = simulated->events, first = events[0];
        uint32_t at = 0, count = --simulated->count;

        events[0] = events[count];
        for (;;) {
                uint32_t least = at, left = 2 * at + 1;
                if (left < count && events[left].at_ms < events[least].at_ms)
                        least = left;
                if (left + 1 < count && events[left + 1].at_ms < events[least].at_ms)
                        least = left + 1;
                if (least == at)
                        return first;
                swap(&events[at], &events[least]);
                at = least;
        }
}

/* When the next thing happens; INT64_MAX: never. */
static int64_t simulated_due_ms(const struct simulated *simulated)
{
        return simulated->count > 0 ? simulated->events[0].at_ms : INT64_MAX;
}

/* ---- what happens ---- */

/* Nothing where the run is over, or its notice was withdrawn. */
static int happen(struct live *live, struct act *act, const struct event *event,
                  int64_t now_ms, struct err *err)
{
        const struct state *state = core_state(live->core);
        const struct work *work = works_find(core_works(live->core), event->workload);
        uint32_t slot = state_workload(state, event->workload);
        struct input input = {.kind = INPUT_EXITED, .workload = event->workload};

        if (!work || work->epoch != event->epoch || slot == NONE)
                return 0;
        const struct workload *workload = &state->workloads[slot];
        int64_t ends_ms = work->started_ms +
                          (work->simulated_ms ? work->simulated_ms : SIMULATED_MS);
        if (work->wish == WISH_CANCEL)
                input.kind = INPUT_CANCELLED;
        else if (ends_ms > now_ms && workload->notice_until_ms &&
                 workload->notice_until_ms <= now_ms)
                input.kind = INPUT_STOPPED;
        else if (ends_ms > now_ms)
                return 0;
        int rc = live_tell(live, act, &input, err);
        work = works_find(core_works(live->core), event->workload);
        if (rc == 0 && work && work->quarantined)
                rc = simulated_expect(live->simulated, event->workload, event->epoch,
                                      now_ms + QUARANTINED_AGAIN_MS);
        return rc;
}

static void ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)rc;
        (void)err;
}

int simulated_run(struct simulated *simulated, struct live *live, int64_t now_ms,
                  struct err *err)
{
        int64_t until_ns = time_monotonic_ns() + SIMULATED_SLICE_MS * INT64_C(1000000);

        while (simulated_due_ms(simulated) <= now_ms && time_monotonic_ns() < until_ns) {
                struct act *act = core_begin(live->core, "simulated nodes", "", now_ms, err);
                int rc = act ? 0 : -ERR_IO;
                for (unsigned i = 0; rc == 0 && i < RUNS_PER_ACT; i++) {
                        if (simulated_due_ms(simulated) > now_ms ||
                            time_monotonic_ns() >= until_ns)
                                break;
                        struct event event = take_first(simulated);
                        rc = happen(live, act, &event, now_ms, err);
                }
                if (act)
                        core_commit(act, ignore, NULL);
                if (rc)
                        return rc;
        }
        return 0;
}
