#include "controller/ending.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "controller/works.h"
#include "engine/state.h"
#include "store/batch.h"
#include "store/objects.h"

const char *ending_state(unsigned release_cause)
{
        static const char *const states[RELEASE_CAUSES_END] = {
                [RELEASE_EXITED] = "succeeded",    [RELEASE_FAILED] = "failed",
                [RELEASE_CANCELLED] = "cancelled", [RELEASE_LOST] = "lost",
                [RELEASE_STOPPED] = "stopped",     [RELEASE_DRAINED] = "stopped",
                [RELEASE_TIMED_OUT] = "timed_out", [RELEASE_IDLE] = "stopped",
                [RELEASE_ASKED] = "stopped",
        };

        return states[release_cause];
}

/* The member that failed first: the others were ended because of it. Or one that did not end well,
 * or the first one. */
static const struct work_member *telling_member(const struct work *work)
{
        if (work->failed_first && work->failed_first <= work->members_count)
                return &work->members[work->failed_first - 1];
        for (uint16_t m = 0; m < work->members_count; m++)
                if (work->members[m].failed)
                        return &work->members[m];
        return work->members_count > 0 ? &work->members[0] : NULL;
}

/* Names of the nodes by member; NONE: it has none. How many members. */
static uint32_t find_nodes(const struct state *state, uint64_t id, uint32_t nodes[MEMBERS_MAX])
{
        uint32_t slot = state_workload(state, id), count = 0;

        for (uint32_t at = slot == NONE ? NONE : state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct member *member = &state->members[at];
                assert(member->number < MEMBERS_MAX);
                for (; count <= member->number; count++)
                        nodes[count] = NONE;
                nodes[member->number] = state->nodes[member->node].desc.name;
        }
        return count;
}

/* Ends the object. */
static void add_nodes(struct text *detail, const struct state *state, uint64_t id)
{
        uint32_t nodes[MEMBERS_MAX], spans[ENDING_NODES] = {0}, count = 0;
        uint32_t members = find_nodes(state, id, nodes);

        text_add(detail, ",\"members\":%" PRIu32 ",\"nodes\":[", members);
        for (uint32_t m = 0; m < members; m++) {
                bool is_next = m == 0 || nodes[m] != nodes[m - 1];
                if (is_next && count == ENDING_NODES)
                        break;
                if (is_next) {
                        text_add(detail, m ? "," : "");
                        text_add_json(detail, nodes[m] == NONE
                                                      ? ""
                                                      : vocab_name_text(state->vocab, nodes[m]));
                        count++;
                }
                spans[count - 1]++;
        }
        text_add(detail, "],\"spans\":[");
        for (uint32_t n = 0; n < count; n++)
                text_add(detail, n ? ",%" PRIu32 : "%" PRIu32, spans[n]);
        text_add(detail, "]}");
}

static void add_exit(struct text *detail, const struct work *work)
{
        const struct work_member *member = telling_member(work);

        if (member && member->phase != PHASE_REFUSED)
                text_add(detail, ",\"exit_code\":%" PRId32 ",\"signal\":%" PRId32,
                         member->exit_code, member->signal);
}

static void add_reason(struct text *detail, const struct work *work)
{
        if (!work->reason)
                return;
        text_add(detail, ",\"reason\":");
        text_add_json(detail, work->reason);
}

/* What waited for work that did not end well is refused, long after it was taken. */
static int keep_refusal(struct batch *batch, const struct state *state, const struct fact *fact,
                        int64_t now_ms, struct err *err)
{
        const struct object_change change = {
                .kind = OBJECT_WORKLOAD,
                .id = fact->refused.workload,
                .state = "refused",
                .detail = "{\"cause\":\"what it waited for did not end well\"}",
                .updated_ms = now_ms,
                .ended_ms = now_ms};

        if (state_workload(state, fact->refused.workload) == NONE)
                return 0;               /* it was never taken: whoever submits it keeps it */
        return batch_set_object(batch, &change, err);
}

/* It waits again: what it wrote so far is asked for by the run's epoch and nodes. */
static int keep_run(struct batch *batch, const struct state *state, const struct work *work,
                    const struct fact *fact, int64_t now_ms, struct err *err)
{
        struct text run = {0};
        int rc;

        if (!work || work->epoch == 0)
                return 0;
        text_add(&run,
                 "{\"epoch\":%" PRIu64 ",\"started_ms\":%" PRId64 ",\"ended_ms\":%" PRId64
                 ",\"cause\":\"%s\"",
                 work->epoch, work->started_ms, now_ms, release_cause_name(fact->requeued.cause));
        add_exit(&run, work);
        add_reason(&run, work);
        add_nodes(&run, state, work->id);
        const struct object_change change = {.kind = OBJECT_WORKLOAD,
                                             .id = work->id,
                                             .run = run.bytes,
                                             .updated_ms = now_ms};
        rc = run.failed ? err_set(err, ERR_NOMEM, "out of memory")
                        : batch_set_object(batch, &change, err);
        text_done(&run);
        return rc;
}

int ending_keep(struct batch *batch, const struct state *state, const struct works *works,
                const struct fact *fact, int64_t now_ms, struct err *err)
{
        const struct work *work = fact->kind == FACT_RELEASED
                                          ? works_find(works, fact->released.workload)
                                          : NULL;
        struct object_change change = {.kind = OBJECT_WORKLOAD,
                                       .keeps_runs = true,
                                       .updated_ms = now_ms,
                                       .ended_ms = now_ms};
        struct text detail = {0};
        int rc;

        if (fact->kind == FACT_REFUSED)
                return keep_refusal(batch, state, fact, now_ms, err);
        if (fact->kind == FACT_REQUEUED)
                return keep_run(batch, state, works_find(works, fact->requeued.workload), fact,
                                now_ms, err);
        if (!work)
                return 0;
        text_add(&detail, "{\"cause\":\"%s\"", release_cause_name(fact->released.cause));
        add_exit(&detail, work);
        text_add(&detail,
                 ",\"stops\":%" PRIu32 ",\"started_ms\":%" PRId64 ",\"lost_ms\":%" PRId64
                 ",\"epoch\":%" PRIu64,
                 work->stops, work->started_ms, fact->released.lost_ms, work->epoch);
        add_reason(&detail, work);
        add_nodes(&detail, state, work->id);
        change.id = work->id;
        change.state = ending_state(fact->released.cause);
        change.detail = detail.bytes;
        rc = detail.failed ? err_set(err, ERR_NOMEM, "out of memory")
                           : batch_set_object(batch, &change, err);
        text_done(&detail);
        return rc;
}

int ending_keep_node(struct batch *batch, const struct state *state, const struct fact *fact,
                     uint64_t seq, int64_t now_ms, struct err *err)
{
        struct object object = {.kind = OBJECT_LEFT,
                                .id = seq,
                                .tenant = "",
                                .owner = "",
                                .state = "left",
                                .detail = "",
                                .created_ms = now_ms,
                                .updated_ms = now_ms,
                                .ended_ms = now_ms};
        char number[16];

        if (fact->kind != FACT_NODE_GONE)
                return 0;
        (void)snprintf(number, sizeof number, "%" PRIu32, fact->node);
        object.name = vocab_name_text(state->vocab, state->nodes[fact->node].desc.name);
        object.class = number;
        return batch_put_object(batch, &object, err);
}
