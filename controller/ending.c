#include "controller/ending.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/core.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/contact.h"
#include "engine/state.h"
#include "store/batch.h"
#include "store/objects.h"

#define REASON_MAX 200 /* bytes that are kept with a run */

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

/* What a node said of it. */
static void add_said(struct text *detail, const char *key, const struct work *work)
{
        if (!work->reason)
                return;
        text_add(detail, ",\"%s\":", key);
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

/* ---- why a run ended ---- */

/* Whom the plan makes room for, if that is not itself. Its slot may be another's one day. */
static void add_plan(struct text *run, const struct state *state, const struct works *works,
                     const struct plan *plan, uint64_t victim)
{
        const struct workload *workload = &state->workloads[plan->beneficiary];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        const struct work *work = works_find(works, workload->id);

        text_add(run, ",\"plan\":\"%s\"", plan_cause_name((enum plan_cause)plan->cause));
        if (workload->id == victim)
                return;
        text_add(run, ",\"for\":%" PRIu64, workload->id);
        if (work) {
                text_add(run, ",\"for_name\":");
                text_add_json(run, work->name);
                text_add(run, ",\"for_tenant\":");
                text_add_json(run, work->tenant);
        }
        if (state->accounts) {
                text_add(run, ",\"for_class\":");
                text_add_json(run, state->accounts->tenancy->classes[bucket->class].name);
        }
}

/* The first of its nodes that is gone; or the only one. */
static void add_lost_node(struct text *run, const struct state *state,
                          const struct workload *workload)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct member *member = &state->members[at];
                const struct node *node = &state->nodes[member->node];
                if (member_may_run(state, member) && !node_is_down(node) &&
                    workload->members_placed > 1)
                        continue;
                text_add(run, ",\"node\":");
                text_add_json(run, vocab_name_text(state->vocab, node->desc.name));
                return;
        }
}

static void add_why(struct text *run, const struct state *state, const struct works *works,
                    const struct fact_requeued *requeued)
{
        uint32_t slot = state_workload(state, requeued->workload);

        text_add(run, ",\"lost_ms\":%" PRId64, requeued->lost_ms);
        if (slot == NONE)
                return;
        const struct workload *workload = &state->workloads[slot];
        if (requeued->cause == RELEASE_LOST)
                add_lost_node(run, state, workload);
        if (!workload->notice_until_ms)
                return;
        text_add(run, ",\"told\":\"%s\"",
                 notice_cause_name((enum notice_cause)workload->notice_cause));
        if (workload->plan)
                add_plan(run, state, works, &state->plans[workload->plan - 1], workload->id);
}

/* Of a reason as much as is worth a sentence. */
static void add_reason(struct text *text, const char *reason)
{
        char cut[REASON_MAX + 1];
        size_t size = str_cut(reason, strlen(reason), REASON_MAX);

        memcpy(cut, reason, size);
        cut[size] = '\0';
        text_add_json(text, cut);
}

int ending_asked(struct act *act, uint64_t workload, const char *by, const char *reason,
                 int64_t now_ms, struct err *err)
{
        struct text text = {0};
        int rc;

        text_add(&text, "{\"by\":");
        text_add_json(&text, by);
        text_add(&text, ",\"reason\":");
        add_reason(&text, reason ? reason : "");
        text_add(&text, "}");
        const struct object_change change = {.kind = OBJECT_WORKLOAD,
                                             .id = workload,
                                             .next_run = text.bytes,
                                             .updated_ms = now_ms};
        rc = text.failed ? err_set(err, ERR_NOMEM, "out of memory") : core_set(act, &change, err);
        text_done(&text);
        return rc;
}

/* It waits again: what it wrote so far is asked for by the run's epoch and nodes. */
static int keep_run(struct batch *batch, const struct state *state, const struct works *works,
                    const struct fact *fact, int64_t now_ms, struct err *err)
{
        const struct work *work = works_find(works, fact->requeued.workload);
        struct text run = {0};
        int rc;

        if (!work || work->epoch == 0)
                return 0;
        text_add(&run,
                 "{\"epoch\":%" PRIu64 ",\"started_ms\":%" PRId64 ",\"ended_ms\":%" PRId64
                 ",\"cause\":\"%s\"",
                 work->epoch, work->started_ms, now_ms, release_cause_name(fact->requeued.cause));
        add_exit(&run, work);
        add_said(&run, "said", work);
        add_why(&run, state, works, &fact->requeued);
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
                return keep_run(batch, state, works, fact, now_ms, err);
        if (!work)
                return 0;
        text_add(&detail, "{\"cause\":\"%s\"", release_cause_name(fact->released.cause));
        add_exit(&detail, work);
        text_add(&detail,
                 ",\"stops\":%" PRIu32 ",\"started_ms\":%" PRId64 ",\"lost_ms\":%" PRId64
                 ",\"epoch\":%" PRIu64,
                 work->stops, work->started_ms, fact->released.lost_ms, work->epoch);
        add_said(&detail, "reason", work);
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
