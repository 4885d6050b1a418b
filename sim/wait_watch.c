#include "sim/wait_watch.h"

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "trace/jobs.h"

/* The first to come of a bucket that nothing of its own holds; NONE. */
static uint32_t first_of(const struct state *state, const struct bucket *bucket)
{
        uint32_t slot = bucket->head;

        while (slot != NONE && state->workloads[slot].holds)
                slot = state->workloads[slot].next;
        return slot;
}

static void wait_in_bucket(const struct state *state, const struct bucket *bucket, enum gate gate,
                           struct job_record *records, int64_t by_ms)
{
        for (uint32_t slot = bucket->head; slot != NONE; slot = state->workloads[slot].next) {
                const struct workload *workload = &state->workloads[slot];
                records[workload->id - 1].waited_ms[workload->holds ? GATE_HOLD : gate] += by_ms;
        }
}

int wait_watch_tick(const struct state *state, struct job_record *records, int64_t by_ms,
                    struct err *err)
{
        uint32_t tenants = state->accounts->tenants;
        uint32_t *due = mem_new(tenants, sizeof *due); /* slot + 1 */

        if (!due)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                struct admission admission;
                if (bucket->count == 0)
                        continue;
                accounts_admit(state, b, &admission);
                wait_in_bucket(state, bucket, admission.gate, records, by_ms);
                uint32_t slot = first_of(state, bucket), *first = &due[bucket->tenant];
                if (admission.models[STANDING_PROTECTED] == 0 || slot == NONE ||
                    bucket_devices(state, bucket) == 0)
                        continue;
                if (*first == 0 ||
                    state->workloads[slot].arrival < state->workloads[*first - 1].arrival)
                        *first = slot + 1;
        }
        for (uint32_t t = 0; t < tenants; t++) {
                if (due[t] == 0)
                        continue;
                struct job_record *record = &records[state->workloads[due[t] - 1].id - 1];
                record->is_promised = true;
                record->due_ms += by_ms;
        }
        mem_free(due);
        return 0;
}

void wait_watch_promises(struct history_figures *figures, const struct jobs *jobs,
                         const struct job_record *records)
{
        for (size_t j = 0; j < jobs->count; j++) {
                double devices = job_devices(&jobs->items[j]);
                struct history_tenant *tenant = &figures->tenants[jobs->items[j].tenant];
                if (!records[j].is_promised)
                        continue;
                figures->promises_made += devices;
                if (records[j].due_ms <= HISTORY_LATE_MS)
                        continue;
                figures->promises_broken += devices;
                tenant->promises_broken += devices;
        }
}
