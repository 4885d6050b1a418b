/* Nodes join, drain, and are told what changed. */
#include "controller/live.h"

#include <string.h>

#include "controller/nodes.h"

struct node_entry *live_node_of(const struct live *live, uint32_t node)
{
        const struct state *state = core_state(live->core);

        return nodes_find(live->nodes,
                          vocab_name_text(state->vocab, state->nodes[node].desc.name));
}

void live_touch(struct live *live, struct node_entry *node, uint64_t seq)
{
        if (seq > node->changed_seq)
                node->changed_seq = seq;
        live->generation++;
        node->generation = node->generation < live->generation ? live->generation
                                                               : node->generation + 1;
        if (live->changed && core_is_durable(live->core, node->changed_seq))
                live->changed(live->arg, node);
}

/* As the engine has it, or NULL. */
static const struct node *in_state(const struct live *live, const struct node_entry *entry)
{
        uint32_t number = state_node(core_state(live->core), entry->desc.name);

        return number == NONE ? NULL : &core_state(live->core)->nodes[number];
}

/* Drains are the operator's, not the document's; health is what the agent said last. */
static struct node_desc wanted_desc(const struct live *live, const struct node_entry *entry,
                                    const struct node *node)
{
        struct node_desc desc = entry->desc;

        desc.broken = live_broken(live, entry);
        if (node) {
                desc.drained = node->desc.drained;
                desc.drain_by_ms = node->desc.drain_by_ms;
        }
        return desc;
}

/* A gap between two fields means nothing. */
static bool node_desc_equal(const struct node_desc *a, const struct node_desc *b)
{
        return a->name == b->name && a->plane == b->plane && a->labels == b->labels &&
               a->nvlink == b->nvlink && a->rack == b->rack && a->block == b->block &&
               a->model == b->model && a->devices == b->devices &&
               a->link_group == b->link_group && a->drained == b->drained &&
               a->drain_by_ms == b->drain_by_ms && a->broken == b->broken &&
               a->cpu_milli == b->cpu_milli && a->ram_mib == b->ram_mib &&
               a->disk_mib == b->disk_mib && a->network_mbit == b->network_mbit &&
               a->artifacts == b->artifacts;
}

int live_join(struct live *live, struct act *act, struct node_entry *entry, struct err *err)
{
        const struct node *node = in_state(live, entry);
        const struct node_desc desc = wanted_desc(live, entry, node);
        struct input input = {.kind = node ? INPUT_NODE_CHANGED : INPUT_NODE_JOINED, .node = desc};

        int rc = live_fail_devices(live, act, entry, err);
        if (rc)
                return rc;
        if (node && node->status == NODE_UP && node_desc_equal(&node->desc, &desc))
                return 0;
        entry->awaited = false;
        return core_input(act, &input, NULL, err);
}

/* Work may wait for a node that has not come yet: one that is down is as good. */
int live_describe(struct live *live, struct act *act, struct node_entry *entry, struct err *err)
{
        const struct node *node = in_state(live, entry);
        const struct input input = {.kind = INPUT_NODE_DESCRIBED,
                                    .node = wanted_desc(live, entry, node)};

        int rc = live_fail_devices(live, act, entry, err);
        if (rc)
                return rc;
        if (node && node_desc_equal(&node->desc, &input.node))
                return 0;
        if (!node) {
                entry->awaited = true;
                entry->leased_ms = live_steady_ms(live);        /* it is silent from now on */
        }
        return core_input(act, &input, NULL, err);
}

int live_drain(struct live *live, struct act *act, struct node_entry *entry, bool drained,
               int64_t by_ms, struct err *err)
{
        const struct node *node = in_state(live, entry);
        struct input input = {.kind = INPUT_NODE_CHANGED};

        if (!node)
                return err_set(err, ERR_NOT_FOUND, "node '%s' has not joined the pool yet",
                               entry->name);
        if (node->status != NODE_UP)
                input.kind = INPUT_NODE_DESCRIBED;
        input.node = node->desc;
        input.node.drained = drained;
        input.node.drain_by_ms = drained ? by_ms : 0;
        return core_input(act, &input, NULL, err);
}

int live_lose(struct live *live, struct act *act, struct node_entry *entry, struct err *err)
{
        const struct node *node = in_state(live, entry);
        const struct input lost = {.kind = INPUT_NODE_FAILED, .failed = {entry->desc.name, false}};

        if (!node)
                return err_set(err, ERR_NOT_FOUND, "node '%s' has not joined the pool yet",
                               entry->name);
        if (node->status == NODE_UP)
                return err_set(err, ERR_EXISTS,
                               "node '%s' is not silent: its agent spoke within its lease. 'berth "
                               "drain %s' empties it",
                               entry->name, entry->name);
        uint32_t number = state_node(core_state(live->core), entry->desc.name);
        int rc = live_cancel_lost(live, act, number, false, err);
        /* What a report says that was on its way proves nothing any more. */
        entry->fence = 0;
        rc = rc ? rc : core_input(act, &lost, NULL, err);
        if (rc == 0)
                live_end_torn(live, number);
        return rc;
}
