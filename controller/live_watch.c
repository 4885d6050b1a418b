/* What decisions mean for nodes: they are told when it is durable. */
#include "controller/live.h"

#include "controller/live_impl.h"
#include "controller/nodes.h"
#include "controller/simulated.h"
#include "controller/works.h"

static void before(void *arg, const struct state *state, const struct fact *fact, uint64_t seq,
                   int64_t at_ms)
{
        struct live *live = arg;
        struct node_entry *node;
        struct work *work;

        switch (fact->kind) {
        case FACT_ALLOCATED:
                node = live->simulated ? NULL : live_node_of(live, fact->allocated.node);
                if (node)
                        live_touch(live, node, seq);
                work = works_find(core_works(live->core), fact->allocated.workload);
                if (live->simulated && work)
                        (void)simulated_expect(live->simulated, work->id,
                                               numbers_epoch(core_numbers(live->core), seq),
                                               at_ms + live_duration_ms(live, work));
                break;
        case FACT_NOTICED:
                work = works_find(core_works(live->core), fact->noticed.workload);
                if (live->simulated && work)
                        (void)simulated_expect(live->simulated, work->id, work->epoch,
                                               fact->noticed.until_ms);
                else
                        live_touch_members(live, state, fact->noticed.workload, seq);
                break;
        case FACT_NOTICE_WITHDRAWN:
                live_touch_members(live, state, fact->stays, seq);
                break;
        case FACT_RELEASED:
                if (!live->simulated)
                        live_touch_members(live, state, fact->released.workload, seq);
                break;
        case FACT_REQUEUED:
                live->unsettled = true; /* it may have been cancelled while it ran */
                if (!live->simulated)
                        live_touch_members(live, state, fact->requeued.workload, seq);
                break;
        default:                        /* nothing that a node runs */
                break;
        }
}

/* Who waits for what was not durable yet. */
static void durable(void *arg, uint64_t seq)
{
        struct live *live = arg;
        struct node_entry *node;
        uint32_t cursor = 0;

        (void)seq;
        while (live->changed && !live->simulated && (node = nodes_next(live->nodes, &cursor)))
                if (node->waiting && node->generation > node->waiting_seen &&
                    core_is_durable(live->core, node->changed_seq))
                        live->changed(live->arg, node);
}

/* What nodes should run may be anything now. */
static void renewed(void *arg)
{
        struct live *live = arg;
        struct node_entry *node;
        uint32_t cursor = 0;

        live->unsettled = true;
        live->pool_lost = live_load_pool(live, NULL) < 0;
        if (live->pool_lost)
                (void)nodes_describe(live->nodes, NULL, core_state(live->core)->vocab, NULL);
        (void)enrolments_load(live, NULL);
        while ((node = nodes_next(live->nodes, &cursor))) {
                node->changed_seq = core_last_seq(live->core);
                live_touch(live, node, 0);
        }
        live_resume_simulated(live);
}

void live_watch(struct live *live)
{
        const struct core_watch watch = {.arg = live, .before = before, .durable = durable,
                                         .renewed = renewed};

        core_watch(live->core, &watch);
}
