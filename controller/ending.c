#include "controller/ending.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/works.h"
#include "engine/fact.h"
#include "engine/state.h"
#include "store/batch.h"
#include "store/objects.h"

const char *ending_state(unsigned release_cause)
{
        static const char *const states[RELEASE_CAUSES_END] = {
                [RELEASE_EXITED] = "succeeded", [RELEASE_FAILED] = "failed",
                [RELEASE_CANCELLED] = "cancelled", [RELEASE_LOST] = "lost",
                [RELEASE_STOPPED] = "stopped", [RELEASE_DRAINED] = "stopped",
                [RELEASE_TIMED_OUT] = "timed_out", [RELEASE_IDLE] = "stopped",
        };

        return states[release_cause];
}

/* The first member that did not end well, or the first one. */
static const struct work_member *telling_member(const struct work *work)
{
        for (uint16_t m = 0; m < work->members_count; m++)
                if (work->members[m].failed)
                        return &work->members[m];
        return work->members_count > 0 ? &work->members[0] : NULL;
}

int ending_keep(struct batch *batch, const struct works *works, const struct fact *fact,
                int64_t now_ms, struct err *err)
{
        const struct work *work = fact->kind == FACT_RELEASED
                                          ? works_find(works, fact->released.workload)
                                          : NULL;
        struct object_change change = {.kind = OBJECT_WORKLOAD,
                                       .updated_ms = now_ms,
                                       .ended_ms = now_ms};
        char detail[256];

        if (!work)
                return 0;
        const struct work_member *member = telling_member(work);
        (void)snprintf(detail, sizeof detail,
                       "{\"cause\":\"%s\",\"exit_code\":%" PRId32 ",\"signal\":%" PRId32
                       ",\"stops\":%" PRIu32 ",\"started_ms\":%" PRId64 ",\"lost_ms\":%" PRId64 "}",
                       release_cause_name(fact->released.cause), member ? member->exit_code : 0,
                       member ? member->signal : 0, work->stops, work->started_ms,
                       fact->released.lost_ms);
        change.id = work->id;
        change.state = ending_state(fact->released.cause);
        change.detail = detail;
        return batch_set_object(batch, &change, err);
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
