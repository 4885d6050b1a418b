/* Devices break, and work as before again; nodes are given up. */
#include "controller/live.h"

#include "controller/nodes.h"
#include "engine/contact.h"

/* Who has to end hears of it, on whichever node it runs. */
#define END_ALL UINT32_MAX              /* as a set of devices: also what has none */
static void end_on(struct live *live, uint32_t number, uint32_t devices)
{
        const struct state *state = core_state(live->core);

        for (uint32_t at = state->nodes[number].first_member; at != NONE;
             at = state->members[at].node_next) {
                const struct member *member = &state->members[at];
                if (devices == END_ALL || (member_devices(state, member) & devices))
                        live_touch_work(live, state->workloads[member->workload].id,
                                        core_next_seq(live->core) - 1);
        }
}

uint16_t live_broken(const struct live *live, const struct node_entry *entry)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, entry->desc.name);
        unsigned broken = entry->desc.broken | entry->broken;

        if (number != NONE && !live->simulated) {
                unsigned known = state->nodes[number].desc.broken;
                broken |= entry->reported ? known & node_devices_held(state, number) : known;
        }
        return (uint16_t)(broken & ((1u << entry->desc.devices) - 1));
}

int live_fail_devices(struct live *live, struct act *act, const struct node_entry *entry,
                      struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, entry->desc.name);
        struct input input = {.kind = INPUT_DEVICES_FAILED, .broke = {entry->desc.name, 0}};

        if (number == NONE || live->simulated)
                return 0;
        unsigned known = state->nodes[number].desc.broken |
                         ~((1u << state->nodes[number].desc.devices) - 1);
        input.broke.devices = (uint16_t)(live_broken(live, entry) & ~known);
        if (input.broke.devices == 0)
                return 0;
        int rc = core_input(act, &input, NULL, err);
        if (rc == 0)
                end_on(live, number, input.broke.devices);
        return rc;
}

int live_health(struct live *live, struct act *act, const struct node_entry *entry,
                struct err *err)
{
        uint32_t number = state_node(core_state(live->core), entry->desc.name);
        struct input input = {.kind = INPUT_NODE_CHANGED};
        int rc = live_fail_devices(live, act, entry, err);

        if (rc)
                return rc;
        input.node = core_state(live->core)->nodes[number].desc;
        if (input.node.broken == live_broken(live, entry))
                return 0;
        input.node.broken = live_broken(live, entry);
        return core_input(act, &input, NULL, err);
}

void live_end_torn(struct live *live, uint32_t node)
{
        end_on(live, node, END_ALL);
        live->unsettled = true;         /* what is left of it may have ended already */
}
