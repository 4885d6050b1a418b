/* The only code that changes a state. decide() has checked that everything fits. */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "engine/price.h"
#include "engine/state.h"

/* ---- tables with free lists; the first word of a free slot links to the next ---- */

static uint32_t slot_take(struct slots *slots, void *table, size_t size)
{
        uint32_t slot = slots->free;

        if (slot != NONE)
                memcpy(&slots->free, (char *)table + slot * size, sizeof slots->free);
        else
                slot = slots->high++;
        assert(slot < slots->max);
        memset((char *)table + slot * size, 0, size);
        slots->used++;
        return slot;
}

static void slot_give(struct slots *slots, void *table, size_t size, uint32_t slot)
{
        memset((char *)table + slot * size, 0, size);
        memcpy((char *)table + slot * size, &slots->free, sizeof slots->free);
        slots->free = slot;
        slots->used--;
}

static void map_enter(struct map *map, uint64_t key, uint32_t value)
{
        int rc = map_set(map, key, value);

        assert(rc == 0);                /* reserved at start */
        (void)rc;
}

static uint64_t free_key(const struct map *map, uint64_t key)
{
        while (map_get(map, key) != MAP_NONE)
                key++;
        return key;
}

static void node_touch(struct state *state, uint32_t node)
{
        state->changes[state->changes_count++ % CHANGES_RING] = node;
}

/* ---- queue ---- */

static uint32_t intern_shape(struct state *state, const struct need *need)
{
        uint32_t number = state_shape(state, need);

        if (number != NONE)
                return number;
        assert(state->shapes_count < state->bounds.shapes_max);
        number = state->shapes_count;
        struct shape *shape = &state->shapes[number];
        const char *profile = need->profile ? vocab_text(state->vocab, need->profile) : NULL;
        shape->need = *need;
        shape->fits_count = (uint32_t)model_count(state->models);
        for (unsigned m = 0; m < shape->fits_count; m++)
                if ((need->models >> m & 1) &&
                    part_fit_make(model_get(state->models, m), need, profile,
                                  &state->fits[(size_t)number * MODELS_MAX + m]))
                        shape->models |= 1ull << m;
        state->shapes_count++;
        map_enter(state->shape_by_hash, free_key(state->shape_by_hash, need_hash(need)), number);
        return number;
}

static uint32_t intern_bucket(struct state *state, const struct request *request)
{
        uint32_t shape = intern_shape(state, &request->need);
        uint32_t number = state_bucket(state, shape, &request->form, request->priority);

        if (number != NONE)
                return number;
        assert(state->buckets_count < state->bounds.buckets_max);
        number = state->buckets_count++;
        state->buckets[number] = (struct bucket){.shape = shape,
                                                 .form = request->form,
                                                 .priority = request->priority,
                                                 .head = NONE,
                                                 .tail = NONE};
        uint64_t key = bucket_hash(shape, &request->form, request->priority);
        map_enter(state->bucket_by_hash, free_key(state->bucket_by_hash, key), number);
        return number;
}

static void apply_queued(struct state *state, const struct request *request, int64_t now_ms)
{
        uint32_t slot = slot_take(&state->workload_slots, state->workloads,
                                  sizeof *state->workloads);
        struct workload *workload = &state->workloads[slot];
        uint32_t number = intern_bucket(state, request);
        struct bucket *bucket = &state->buckets[number];

        *workload = (struct workload){.id = request->workload,
                                      .arrival = state->arrivals++,
                                      .since_ms = now_ms,
                                      .bucket = number,
                                      .next = NONE,
                                      .prev = bucket->tail,
                                      .first_member = NONE,
                                      .once = request->once,
                                      .live = true};
        if (bucket->tail != NONE)
                state->workloads[bucket->tail].next = slot;
        else
                bucket->head = slot;
        bucket->tail = slot;
        bucket->count++;
        state->waiting++;
        map_enter(state->workload_by_id, request->workload, slot);
}

static void unqueue(struct state *state, uint32_t slot)
{
        struct workload *workload = &state->workloads[slot];
        struct bucket *bucket = &state->buckets[workload->bucket];

        if (workload->prev != NONE)
                state->workloads[workload->prev].next = workload->next;
        else
                bucket->head = workload->next;
        if (workload->next != NONE)
                state->workloads[workload->next].prev = workload->prev;
        else
                bucket->tail = workload->prev;
        bucket->count--;
        state->waiting--;
        workload->next = workload->prev = NONE;
}

/* ---- placing ---- */

static uint32_t left_of(uint32_t total, uint32_t used)
{
        return total > used ? total - used : 0;
}

static void node_refresh(struct state *state, uint32_t number)
{
        struct node *node = &state->nodes[number];

        node->cpu_free = left_of(node->desc.cpu_milli, node->cpu_used);
        node->ram_free = left_of(node->desc.ram_mib, node->ram_used);
        node->disk_free = left_of(node->desc.disk_mib, node->disk_used);
        node->network_free = left_of(node->desc.network_mbit, node->network_used);
        node_touch(state, number);
}

/* `sign` 1 takes what the need asks of the node itself, -1 gives it back. */
static void node_charge(struct state *state, uint32_t number, const struct need *need, int sign)
{
        struct node *node = &state->nodes[number];
        uint32_t by = (uint32_t)sign;   /* wraps for -1, as meant */

        node->cpu_used += need->cpu_milli * by;
        node->ram_used += need->ram_mib * by;
        node->disk_used += need->disk_mib * by;
        node->network_used += need->network_mbit * by;
        if (need->devices > 0)
                node->held[need_held(need)] = (uint16_t)(node->held[need_held(need)] + sign);
        node_refresh(state, number);
}

static void apply_allocated(struct state *state, const struct fact_allocated *fact, int64_t now_ms)
{
        uint32_t slot = state_workload(state, fact->workload);
        assert(slot != NONE);
        struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        struct node *node = &state->nodes[fact->node];
        const struct model *model = node_model(state, fact->node);

        if (workload->members_placed == 0) {
                unqueue(state, slot);
                workload->since_ms = now_ms;
        }
        uint32_t place = slot_take(&state->member_slots, state->members, sizeof *state->members);
        struct member *member = &state->members[place];
        *member = (struct member){.workload = slot,
                                  .node = fact->node,
                                  .next = workload->first_member,
                                  .node_next = node->first_member,
                                  .node_prev = NONE,
                                  .first_part = NONE,
                                  .number = fact->member,
                                  .parts_count = fact->parts_count};
        workload->first_member = place;
        workload->members_placed++;
        if (node->first_member != NONE)
                state->members[node->first_member].node_prev = place;
        node->first_member = place;
        for (unsigned i = fact->parts_count; i-- > 0;) {
                uint32_t held = slot_take(&state->part_slots, state->parts, sizeof *state->parts);
                state->parts[held] = (struct held_part){fact->parts[i], member->first_part};
                member->first_part = held;
                device_take(model, &node_devices(state, fact->node)[fact->parts[i].device].state,
                            &fact->parts[i]);
        }
        node_charge(state, fact->node, &state->shapes[bucket->shape].need, 1);
}

static void free_member(struct state *state, uint32_t place, const struct need *need)
{
        struct member *member = &state->members[place];
        struct node *node = &state->nodes[member->node];
        const struct model *model = node_model(state, member->node);

        for (uint32_t held = member->first_part; held != NONE;) {
                const struct part *part = &state->parts[held].part;
                device_give(model, &node_devices(state, member->node)[part->device].state, part);
                uint32_t next = state->parts[held].next;
                slot_give(&state->part_slots, state->parts, sizeof *state->parts, held);
                held = next;
        }
        if (member->node_prev != NONE)
                state->members[member->node_prev].node_next = member->node_next;
        else
                node->first_member = member->node_next;
        if (member->node_next != NONE)
                state->members[member->node_next].node_prev = member->node_prev;
        node_charge(state, member->node, need, -1);
        slot_give(&state->member_slots, state->members, sizeof *state->members, place);
}

/* The workload is gone: from the queue, or from all its places. */
static void apply_gone(struct state *state, uint64_t id)
{
        uint32_t slot = state_workload(state, id);
        assert(slot != NONE);
        struct workload *workload = &state->workloads[slot];
        const struct need *need = &state->shapes[state->buckets[workload->bucket].shape].need;

        if (workload->members_placed == 0) {
                unqueue(state, slot);
        } else {
                state->freed++;
                for (uint32_t place = workload->first_member; place != NONE;) {
                        uint32_t next = state->members[place].next;
                        free_member(state, place, need);
                        place = next;
                }
        }
        map_remove(state->workload_by_id, id);
        slot_give(&state->workload_slots, state->workloads, sizeof *state->workloads, slot);
}

/* ---- nodes ---- */

static void apply_node_set(struct state *state, uint32_t number, const struct node_desc *desc)
{
        if (state_node(state, desc->name) == NONE) {
                uint32_t slot = slot_take(&state->node_slots, state->nodes, sizeof *state->nodes);
                assert(slot == number);
                state->nodes[slot].first_device = slot * NODE_DEVICES_MAX;
                state->nodes[slot].first_member = NONE;
                map_enter(state->node_by_name, desc->name, slot);
        }
        struct node *node = &state->nodes[number];
        bool other_model = node->desc.model != desc->model;
        node->desc = *desc;
        node->status = NODE_UP;
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                struct device *device = &node_devices(state, number)[d];
                device->state.broken = desc->broken >> d & 1;
                /* What was seen of another card, or cut on it, says nothing of this one. */
                if (other_model || d >= desc->devices) {
                        device->state.foreign_slots = 0;
                        device->cut = false;
                }
        }
        node_refresh(state, number);
        state->nodes_version++;
        state->freed++;
}

static void apply_node_down(struct state *state, uint32_t number)
{
        assert(state->nodes[number].first_member == NONE);
        state->nodes[number].status = NODE_DOWN;
        node_touch(state, number);
        state->nodes_version++;
}

static void apply_node_gone(struct state *state, uint32_t number)
{
        assert(state->nodes[number].first_member == NONE);
        map_remove(state->node_by_name, state->nodes[number].desc.name);
        memset(node_devices(state, number), 0, NODE_DEVICES_MAX * sizeof *state->devices);
        slot_give(&state->node_slots, state->nodes, sizeof *state->nodes, number);
        node_touch(state, number);
        state->nodes_version++;
}

static void apply_layout_step(struct state *state, const struct fact_layout *step)
{
        struct device *device = &node_devices(state, step->node)[step->device];

        assert(step->epoch == device->epoch + 1);
        device->epoch = step->epoch;
        if (step->op == LAYOUT_CUT_ON || step->op == LAYOUT_CUT_OFF)
                device->cut = step->op == LAYOUT_CUT_ON;
}

static void apply_layout_seen(struct state *state, uint32_t number,
                              const struct layout_report *report)
{
        struct device *device = &node_devices(state, number)[report->device];

        if (device->state.foreign_slots & ~report->foreign_slots)
                state->freed++;
        device->seen_epoch = report->epoch;
        device->state.foreign_slots = report->foreign_slots;
        if (report->failed)
                device->state.broken = 1;
        node_touch(state, number);
}

static void apply_demand(struct state *state, const struct price_plan *plan)
{
        state->plan_set = plan != NULL;
        if (plan)
                *state->plan = *plan;
        state->plan_version++;
}

void state_apply(struct state *state, const struct fact *fact, int64_t now_ms)
{
        switch (fact->kind) {
        case FACT_QUEUED:
                apply_queued(state, &fact->queued, now_ms);
                break;
        case FACT_REFUSED:
                if (state_workload(state, fact->refused.workload) != NONE)
                        apply_gone(state, fact->refused.workload);
                break;
        case FACT_ALLOCATED:
                apply_allocated(state, &fact->allocated, now_ms);
                break;
        case FACT_RELEASED:
                apply_gone(state, fact->released.workload);
                break;
        case FACT_LAYOUT_STEP:
                apply_layout_step(state, &fact->layout_step);
                break;
        case FACT_LAYOUT_SEEN:
                apply_layout_seen(state, fact->layout_seen.node, &fact->layout_seen.report);
                break;
        case FACT_NODE_SET:
                apply_node_set(state, fact->node_set.node, &fact->node_set.desc);
                break;
        case FACT_NODE_DOWN:
                apply_node_down(state, fact->node);
                break;
        case FACT_NODE_GONE:
                apply_node_gone(state, fact->node);
                break;
        case FACT_DEMAND_SET:
                apply_demand(state, fact->plan);
                break;
        case FACT_TIME_SET:
                state->now_ms = fact->now_ms;
                break;
        case FACTS_END:
                assert(false);
        }
}
