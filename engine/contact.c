/* What may still run where nobody hears of it, or on devices that broke. */
#include "engine/contact.h"

#include "engine/order.h"

static bool class_continues(const struct state *state, const struct workload *workload)
{
        return state->accounts &&
               class_of(state, workload->bucket)->on_lost_contact == LOST_CONTACT_CONTINUE;
}

bool workload_continues(const struct state *state, const struct workload *workload)
{
        return class_continues(state, workload) != workload->contact_otherwise;
}

bool member_may_run(const struct state *state, const struct member *member)
{
        enum node_status status = state->nodes[member->node].status;

        return status == NODE_UP ||
               (status == NODE_SILENT &&
                workload_continues(state, &state->workloads[member->workload]));
}

bool workload_ends_with(const struct state *state, const struct workload *workload, uint32_t node,
                        bool is_silent)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct member *member = &state->members[at];
                if (member->node == node ? is_silent && workload_continues(state, workload)
                                         : member_may_run(state, member))
                        return false;
        }
        return true;
}

uint32_t member_devices(const struct state *state, const struct member *member)
{
        uint32_t devices = 0;

        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next)
                devices |= 1u << state->parts[held].part.device;
        return devices;
}

uint16_t node_devices_held(const struct state *state, uint32_t node)
{
        uint32_t devices = 0;

        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next)
                devices |= member_devices(state, &state->members[at]);
        return (uint16_t)devices;
}

bool workload_is_torn(const struct state *state, const struct workload *workload)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct member *member = &state->members[at];
                if (!member_may_run(state, member) ||
                    (member_devices(state, member) & state->nodes[member->node].desc.broken))
                        return true;
        }
        return false;
}

bool workload_is_silent(const struct state *state, const struct workload *workload)
{
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next)
                if (node_is_down(&state->nodes[state->members[at].node]))
                        return true;
        return false;
}
