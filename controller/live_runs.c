/* Runs: how the phases of members become what the engine is told. */
#include "controller/live.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/nodes.h"
#include "controller/works.h"
#include "engine/order.h"

/* Everything that has members of the work is told. */
static void touch_all(struct live *live, const struct work *work, uint64_t seq)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);

        if (slot == NONE)
                return;
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                struct node_entry *node = live_node_of(live, state->members[at].node);
                if (node)
                        live_touch(live, node, seq);
        }
}

static int note_wish(struct act *act, const struct work *work, const char *wish, struct err *err)
{
        char text[96];

        (void)snprintf(text, sizeof text, "{\"wish\":\"%s\",\"workload\":%" PRIu64 "}", wish,
                       work->id);
        return core_note(act, text, err);
}

int live_cancel(struct live *live, struct act *act, struct work *work, struct err *err)
{
        const struct input input = {.kind = INPUT_CANCELLED, .workload = work->id};
        int rc;

        if (work->epoch == 0)
                return core_input(act, &input, NULL, err);
        if (work->wish == WISH_CANCEL)
                return 0;
        rc = note_wish(act, work, "cancel", err);
        if (rc)
                return rc;
        work->wish = WISH_CANCEL;
        touch_all(live, work, core_next_seq(live->core) - 1);
        return 0;
}

int live_restart(struct live *live, struct act *act, const struct work *work, bool now,
                 struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);
        struct input input = {.kind = INPUT_STOP_ASKED, .stop = {.workload = work->id}};

        if (!now && state->accounts && slot != NONE)
                input.stop.notice_ms = class_of(state, state->workloads[slot].bucket)->notice_ms;
        return core_input(act, &input, NULL, err);
}

struct tally {
        unsigned gone, failed, ready;
};

static struct tally tally_of(const struct work *work)
{
        struct tally tally = {0};

        for (uint16_t m = 0; m < work->members_count; m++) {
                const struct work_member *member = &work->members[m];
                bool gone = member->phase == PHASE_EXITED || member->phase == PHASE_REFUSED;
                tally.gone += gone;
                tally.failed += gone && member->failed;
                tally.ready += member->phase == PHASE_READY || member->phase == PHASE_RUNNING ||
                               gone;
        }
        return tally;
}

/* All are gone: what that was. */
static enum input_kind ending_of(const struct live *live, const struct work *work,
                                 const struct tally *tally)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, work->id);

        if (work->wish == WISH_CANCEL)
                return INPUT_CANCELLED;
        if (tally->failed == 0)
                return INPUT_EXITED;
        return state->workloads[slot].notice_until_ms ? INPUT_STOPPED : INPUT_FAILED;
}

int live_settle(struct live *live, struct act *act, struct work *work, struct err *err)
{
        struct tally tally = tally_of(work);

        if (work->epoch == 0 || state_workload(core_state(live->core), work->id) == NONE)
                return 0;
        if (tally.gone == work->members_count) {
                const struct input input = {.kind = ending_of(live, work, &tally),
                                            .workload = work->id};
                return core_input(act, &input, NULL, err);
        }
        if (tally.failed > 0 && !work->ending) {
                work->ending = true;    /* one lost member ends the gang */
                touch_all(live, work, 0);
        } else if (tally.ready == work->members_count && work->members_count > 1) {
                touch_all(live, work, 0);
        }
        return 0;
}
