/* What the clock does: ticks, and leases that end. */
#include "controller/live.h"

#include <stdio.h>

#include "base/time.h"
#include "controller/live_impl.h"
#include "controller/nodes.h"
#include "controller/simulated.h"
#include "controller/usage.h"

static void ignore(void *arg, int rc, const struct err *err)
{
        (void)arg;
        (void)rc;
        (void)err;
}

int64_t live_steady_ms(const struct live *live)
{
        return live->steady_ms ? live->steady_ms(live->steady_arg) : time_lease_ms();
}

/* Whose lease is over: what stops at its lease is gone, and waits again; what continues keeps its
 * place. The node takes nothing until it is back, and runs nothing else. */
static int fail_silent(struct live *live, struct act *act, struct node_entry *node,
                       struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, node->desc.name);
        int64_t since = node->leased_ms > live->leased_ms ? node->leased_ms : live->leased_ms;
        const struct input input = {.kind = INPUT_NODE_FAILED, .failed = {node->desc.name, true}};

        if (live->simulated && node->described)
                return live_join(live, act, node, err); /* it never is */
        if (number == NONE || state->nodes[number].status != NODE_UP ||
            live_steady_ms(live) - since <= live->lease_ms)
                return 0;
        int rc = live_cancel_lost(live, act, number, true, err);
        if (rc)
                return rc;
        node->connected = false;
        node->fence = 0;
        rc = core_input(act, &input, NULL, err);
        if (rc == 0)
                live_end_torn(live, number);
        return rc;
}

/* A controller that did not run for a while has heard of nobody meanwhile: as after its start, a
 * lease has to pass before anyone is called silent. */
static void watch_clock(struct live *live)
{
        int64_t now_ms = live_steady_ms(live);

        if (now_ms - live->ticked_ms > live->lease_ms / 2)
                live->leased_ms = now_ms;
        live->ticked_ms = now_ms;
}

int live_tick(struct live *live, int64_t now_ms, struct err *err)
{
        const struct input input = {.kind = INPUT_TICKED};
        struct act *act = core_begin(live->core, "berthd", "", now_ms, err);
        struct node_entry *node;
        uint32_t cursor = 0;
        int rc = 0;

        if (!act)
                return -(int)ERR_IO;
        watch_clock(live);
        if (live->pool_lost)
                live->pool_lost = live_load_pool(live, NULL) < 0;
        while (rc == 0 && (node = nodes_next(live->nodes, &cursor)))
                rc = core_unless_held(fail_silent(live, act, node, err));
        if (rc == 0) {
                rc = core_input(act, &input, NULL, err);
                live->time_stands = rc == -ERR_QUARANTINED;
                rc = core_unless_held(rc);
        }
        if (rc == 0)
                rc = live_settle_all(live, act, err);
        core_commit(act, ignore, NULL);
        return rc;
}

int live_count_usage(struct live *live, int64_t now_ms, struct err *err)
{
        struct act *act = core_begin(live->core, "berthd", "", now_ms, err);
        int rc;

        if (!act)
                return -(int)ERR_IO;
        rc = usage_roll(live->usage, live->core, act, err);
        core_commit(act, ignore, NULL);
        return rc;
}
