/* In which bucket the units of a node are that nobody holds. */
#include <assert.h>
#include <string.h>

#include "engine/accounts.h"
#include "engine/ledger_impl.h"

/* ---- what stood there before ---- */

static void keep(struct ledger *ledger, struct ledger_kept *kept, struct ledger_row *row,
                 uint32_t units)
{
        ledger_row_settle(ledger, row);
        row->reserved_units += units;
        *kept = (struct ledger_kept){(uint32_t)(row - ledger->rows) + 1, units};
}

static void let_go(struct ledger *ledger, struct ledger_kept *kept)
{
        if (kept->row == 0)
                return;
        struct ledger_row *row = &ledger->rows[kept->row - 1];
        ledger_row_settle(ledger, row);
        assert(row->reserved_units >= kept->units);
        row->reserved_units -= kept->units;
        *kept = (struct ledger_kept){0};
}

static void take_away(struct ledger *ledger, uint32_t number)
{
        struct ledger_node *node = &ledger->nodes[number];
        struct ledger_rate *rate = &ledger->rates[node->model];

        for (unsigned d = 0; d < node->devices; d++)
                let_go(ledger, &ledger->kept[(size_t)number * NODE_DEVICES_MAX + d]);
        rate->devices -= node->devices;
        rate->held -= node->held;
        for (unsigned b = 0; b < BUCKETS_END; b++)
                rate->units[b] -= node->units[b];
        *node = (struct ledger_node){0};
}

/* ---- what stands there now ---- */

/* Units that work holds, by device; members that are new begin to count. */
static uint32_t count_held(struct ledger *ledger, const struct state *state, uint32_t number,
                           uint32_t held[NODE_DEVICES_MAX])
{
        const struct model *model = node_model(state, number);
        uint32_t all = 0;

        for (uint32_t at = state->nodes[number].first_member; at != NONE;
             at = state->members[at].node_next) {
                if (!ledger->members[at].open)
                        ledger_member_open(ledger, state, at);
                for (uint32_t p = state->members[at].first_part; p != NONE;
                     p = state->parts[p].next) {
                        uint32_t units = part_units(model, &state->parts[p].part);
                        held[state->parts[p].part.device] += units;
                        all += units;
                }
        }
        return all;
}

static uint32_t foreign_units(const struct model *model, const struct device_state *device,
                              uint32_t most)
{
        unsigned slots = device->foreign_slots;

        if (device->mode == DEVICE_SLICED)
                slots &= ~(unsigned)device->slices.slots;
        uint32_t units = (uint32_t)__builtin_popcount(slots) * model->memory_slice_units;
        return units < most ? units : most;
}

/* The waiting workload for which a device is kept; NONE: for none. */
static uint32_t kept_for(const struct state *state, const struct node *node,
                         const struct device *device)
{
        if (device->kept_for)
                return state->plans[device->kept_for - 1].beneficiary;
        return node->held_for ? node->held_for - 1 : NONE;
}

/* Of one device; OPEN (free or stranded) is told apart for the node as a whole. */
static enum ledger_bucket bucket_of(const struct ledger *ledger, const struct node *node,
                                    const struct device *device, uint32_t kept)
{
        if (ledger->sees_layout && device->epoch != device->seen_epoch)
                return BUCKET_RECONFIGURING;
        if (node->desc.drained || node->closed || node->frozen)
                return BUCKET_DRAINING;
        return kept != NONE ? BUCKET_RESERVED : BUCKET_FREE;
}

static void look_at_device(struct ledger *ledger, const struct state *state, uint32_t number,
                           unsigned d, uint32_t left, uint16_t *open)
{
        const struct node *node = &state->nodes[number];
        const struct device *device = &node_devices(state, number)[d];
        struct ledger_node *tally = &ledger->nodes[number];
        uint32_t kept = kept_for(state, node, device);

        if (node_is_down(node) || device->state.broken) {
                tally->units[BUCKET_UNHEALTHY] += left;
                return;
        }
        uint32_t foreign = foreign_units(node_model(state, number), &device->state, left);
        enum ledger_bucket bucket = bucket_of(ledger, node, device, kept);
        tally->units[BUCKET_FOREIGN] += foreign;
        left -= foreign;
        tally->units[bucket] += left;
        if (bucket == BUCKET_FREE && left > 0)
                *open |= (uint16_t)(1u << d);
        if (bucket == BUCKET_RESERVED && left > 0)
                keep(ledger, &ledger->kept[(size_t)number * NODE_DEVICES_MAX + d],
                     ledger_row(ledger, state, state->workloads[kept].bucket, node->desc.model,
                                METHODS_END, STANDINGS_END),
                     left);
}

static void count_stranded(struct ledger *ledger, const struct state *state, uint32_t number,
                           uint16_t open)
{
        struct ledger_node *tally = &ledger->nodes[number];

        if (open == 0 || ledger->shapes_count == 0)
                return;
        uint32_t usable = ledger_usable(ledger, state, number, open);
        assert(usable <= tally->units[BUCKET_FREE]);
        tally->units[BUCKET_STRANDED] = tally->units[BUCKET_FREE] - usable;
        tally->units[BUCKET_FREE] = usable;
}

void ledger_look(struct ledger *ledger, const struct state *state, uint32_t number)
{
        const struct node *node = &state->nodes[number];
        struct ledger_node *tally = &ledger->nodes[number];
        uint32_t held[NODE_DEVICES_MAX] = {0}, all = 0;
        uint16_t open = 0;

        take_away(ledger, number);
        if (node->status == NODE_FREE_SLOT || node->desc.devices == 0)
                return;
        tally->model = node->desc.model;
        tally->devices = node->desc.devices;
        ledger->models |= 1ull << tally->model;
        tally->held = count_held(ledger, state, number, held);
        for (unsigned d = 0; d < tally->devices; d++) {
                assert(held[d] <= UNITS_DEVICE);
                look_at_device(ledger, state, number, d, UNITS_DEVICE - held[d], &open);
        }
        count_stranded(ledger, state, number, open);

        struct ledger_rate *rate = &ledger->rates[tally->model];
        rate->devices += tally->devices;
        rate->held += tally->held;
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                rate->units[b] += tally->units[b];
                all += tally->units[b];
        }
        assert(all + tally->held == (uint32_t)tally->devices * UNITS_DEVICE);
}
