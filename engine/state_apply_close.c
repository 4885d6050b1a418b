/* When nodes are to be empty: what drains and windows come to as of the newest tick. */
#include "engine/state_impl.h"

static bool is_closing(const struct node *node)
{
        return node_empty_by_ms(node) != INT64_MAX;
}

/* After its description, or the windows, or time changed; its capacity is not counted now. */
void closing_add(struct state *state, uint32_t number)
{
        struct node *node = &state->nodes[number];
        int64_t from = 0, until = 0;

        maintenance_next(&state->maintenance, &node->desc, state->now_ms, &from, &until);
        node->closed_from_ms = from;
        node->closed_until_ms = until;
        node->closed = until > 0 && from <= state->now_ms;
        state->nodes_closing += is_closing(node);
}

void closing_drop(struct state *state, uint32_t number)
{
        state->nodes_closing -= is_closing(&state->nodes[number]);
}

void maintenance_follow(struct state *state)
{
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                if (state->nodes[n].status == NODE_FREE_SLOT)
                        continue;
                node_count(state, n, -1);
                closing_drop(state, n);
                closing_add(state, n);
                node_count(state, n, 1);
                node_touch(state, n);
        }
        state->maintenance_due_ms = maintenance_due_ms(&state->maintenance, state->now_ms);
        state->freed++;
}

void apply_maintenance(struct state *state, const struct maintenance *maintenance)
{
        state->maintenance = *maintenance;
        maintenance_follow(state);
}
