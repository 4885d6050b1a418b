/* Inputs about nodes and their devices: they come, change, break, and go. */
#include <assert.h>

#include "base/err.h"
#include "engine/contact.h"
#include "engine/decide_impl.h"
#include "engine/memo_impl.h"
#include "engine/preempt.h"

static const char *name_text(const struct state *state, unsigned name)
{
        return vocab_name_text(state->vocab, name);
}

static int find_node(const struct state *state, unsigned name, uint32_t *ret_node, struct err *err)
{
        uint32_t node = state_node(state, name);

        if (node == NONE)
                return err_set(err, ERR_NOT_FOUND, "there is no node '%s'", name_text(state, name));
        *ret_node = node;
        return 0;
}

/* ---- loss: each workload that has a member where it cannot stay, once ---- */

static bool released_already(const struct memo *memo, uint64_t workload)
{
        for (uint32_t i = 0; i < memo->facts_count; i++) {
                const struct fact *fact = &memo->facts[i];
                if ((fact->kind == FACT_RELEASED && fact->released.workload == workload) ||
                    (fact->kind == FACT_REQUEUED && fact->requeued.workload == workload))
                        return true;
        }
        return false;
}

#define ALL_OF_NODE UINT32_MAX          /* also what has no device */

/* Room that was being made on devices that are gone is made no more. */
static int lose_plans(struct memo *memo, const struct state *state, uint32_t node,
                      uint32_t devices, struct err *err)
{
        for (uint32_t p = 0; p < state->plan_slots.high; p++) {
                const struct plan *plan = &state->plans[p];
                bool hit = false;
                if (!plan->live)
                        continue;
                for (uint32_t at = plan->first_place; at != NONE;
                     at = state->plan_places[at].next) {
                        const struct plan_place *place = &state->plan_places[at];
                        for (unsigned i = 0; place->node == node && i < place->parts_count; i++)
                                hit |= devices >> place->parts[i].device & 1;
                }
                int rc = hit ? withdraw_plan(memo, state, plan->beneficiary, err) : 0;
                if (rc)
                        return rc;
        }
        return 0;
}

/* Ends what has a part on one of the devices: nothing runs there any more. */
static int lose_devices(struct memo *memo, const struct state *state, uint32_t node,
                        uint32_t devices, int64_t now_ms, struct err *err)
{
        for (uint32_t place = state->nodes[node].first_member; place != NONE;
             place = state->members[place].node_next) {
                const struct member *member = &state->members[place];
                const struct workload *workload = &state->workloads[member->workload];
                if (!(member_devices(state, member) & devices) ||
                    (workload->members_placed > 1 && released_already(memo, workload->id)))
                        continue;
                int rc = lose_one(memo, state, member->workload, now_ms, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* Ends what has a member on the node, and none that may still run. */
static int lose_node(struct memo *memo, const struct state *state, uint32_t node, bool is_silent,
                     int64_t now_ms, struct err *err)
{
        for (uint32_t place = state->nodes[node].first_member; place != NONE;
             place = state->members[place].node_next) {
                uint32_t slot = state->members[place].workload;
                const struct workload *workload = &state->workloads[slot];
                if (!workload_ends_with(state, workload, node, is_silent) ||
                    (workload->members_placed > 1 && released_already(memo, workload->id)))
                        continue;
                int rc = lose_one(memo, state, slot, now_ms, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- nodes ---- */

static int check_desc(const struct state *state, const struct node_desc *desc, struct err *err)
{
        const char *name = name_text(state, desc->name);

        if (desc->name == 0)
                return err_set(err, ERR_INPUT, "a node has no name");
        if (desc->devices > NODE_DEVICES_MAX)
                return err_set(err, ERR_RANGE, "node '%s' has %u devices; at most %d are possible",
                               name, desc->devices, NODE_DEVICES_MAX);
        if (desc->devices > 0 && desc->model >= model_count(state->models))
                return err_set(err, ERR_NOT_FOUND, "node '%s' has an unknown device model", name);
        if (desc->drain_by_ms < 0 || desc->drain_by_ms > CALENDAR_MS_MAX)
                return err_set(err, ERR_RANGE,
                               "node '%s' is to be empty before 1970 or after 9999", name);
        if (desc->cpu_milli > CPU_MILLI_MAX || desc->ram_mib > RAM_MIB_MAX ||
            desc->disk_mib > DISK_MIB_MAX || desc->network_mbit > NETWORK_MBIT_MAX)
                return err_set(err, ERR_RANGE,
                               "node '%s' has more cores, memory, disk or network than possible",
                               name);
        return 0;
}

/* A capacity hold on a node that goes, or that is not what it was: the next tick holds anew. */
static int let_go_of(struct memo *memo, const struct state *state, uint32_t node, struct err *err)
{
        uint32_t held_for = state->nodes[node].held_for;

        if (held_for == 0)
                return 0;
        struct fact *fact = fact_add(memo, FACT_NODE_LET_GO);
        if (!fact)
                return no_memory(err);
        fact->node_held.workload = state->workloads[held_for - 1].id;
        fact->node_held.node = node;
        fact->node_held.until_ms = 0;
        return 0;
}

static int node_down(struct memo *memo, uint32_t node, bool is_silent, struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_NODE_DOWN);

        if (!fact)
                return no_memory(err);
        fact->down.node = node;
        fact->down.silent = is_silent;
        return 0;
}

/* ... `status`: UP, or as which it stays down. */
static int set_node(struct memo *memo, uint32_t node, const struct node_desc *desc,
                    enum node_status status, struct err *err)
{
        struct fact *fact = fact_add(memo, FACT_NODE_SET);

        if (!fact)
                return no_memory(err);
        fact->node_set.node = node;
        fact->node_set.desc = *desc;
        return status == NODE_UP ? 0 : node_down(memo, node, status == NODE_SILENT, err);
}

/* Whether a node may be described so. */
static int check_kind(const struct state *state, const struct input *input, uint32_t node,
                      struct err *err)
{
        const char *name = name_text(state, input->node.name);
        bool changes = input->kind == INPUT_NODE_CHANGED;

        if (input->kind == INPUT_NODE_JOINED && node != NONE)
                return err_set(err, ERR_EXISTS, "node '%s' is in the pool already", name);
        if (node == NONE && !changes && state->node_slots.used == state->bounds.nodes_max)
                return err_set(err, ERR_FULL, "the pool holds at most %u nodes",
                               state->bounds.nodes_max);
        if (changes && node == NONE)
                return find_node(state, input->node.name, &node, err);
        if (input->kind == INPUT_NODE_DESCRIBED && node != NONE &&
            state->nodes[node].status == NODE_UP)
                return err_set(err, ERR_INPUT, "node '%s' is there: it changes, or fails", name);
        return 0;
}

/* What is lost with what it was until now. A broken device that something lies on stays broken:
 * that is still to be ended. */
static int leave_desc(struct memo *memo, const struct state *state, uint32_t node,
                      struct node_desc *desc, int64_t now_ms, struct err *err)
{
        const struct node_desc *now = &state->nodes[node].desc;

        if (state->nodes[node].first_member != NONE &&
            (desc->model != now->model || desc->devices != now->devices))
                return err_set(err, ERR_INPUT,
                               "node '%s' is in use: its devices cannot change; drain it first",
                               name_text(state, desc->name));
        desc->broken |= now->broken & node_devices_held(state, node);
        bool other = desc->drained || desc->plane != now->plane || desc->labels != now->labels ||
                     desc->model != now->model || desc->devices != now->devices;
        uint32_t lost = desc->broken & ~(uint32_t)now->broken;
        int rc = lose_plans(memo, state, node, other ? ALL_OF_NODE : lost, err);
        rc = rc ? rc : lose_devices(memo, state, node, lost, now_ms, err);
        return rc || !(other || lost) ? rc : let_go_of(memo, state, node, err);
}

static int decide_node_set(struct memo *memo, const struct state *state, const struct input *input,
                           int64_t now_ms, struct err *err)
{
        struct node_desc desc = input->node;
        uint32_t node = state_node(state, desc.name);
        enum node_status status = NODE_UP;
        int rc = check_desc(state, &desc, err);

        rc = rc ? rc : check_kind(state, input, node, err);
        if (rc)
                return rc;
        if (desc.devices == 0)
                desc.model = 0;         /* a model of no device means nothing */
        if (!desc.drained)
                desc.drain_by_ms = 0;
        if (input->kind == INPUT_NODE_DESCRIBED)
                status = node == NONE ? NODE_DOWN : state->nodes[node].status;
        if (node != NONE)
                rc = leave_desc(memo, state, node, &desc, now_ms, err);
        else
                node = state->node_slots.free != NONE ? state->node_slots.free
                                                      : state->node_slots.high;
        return rc ? rc : set_node(memo, node, &desc, status, err);
}

static int decide_node_failed(struct memo *memo, const struct state *state, uint32_t name,
                              bool is_silent, int64_t now_ms, struct err *err)
{
        uint32_t node = NONE;
        int rc = find_node(state, name, &node, err);

        if (rc == 0)
                rc = lose_plans(memo, state, node, ALL_OF_NODE, err);
        if (rc == 0)
                rc = lose_node(memo, state, node, is_silent, now_ms, err);
        if (rc == 0)
                rc = let_go_of(memo, state, node, err);
        return rc ? rc : node_down(memo, node, is_silent, err);
}

static int decide_node_removed(struct memo *memo, const struct state *state, uint32_t name,
                               struct err *err)
{
        uint32_t node = NONE;
        int rc = find_node(state, name, &node, err);

        if (rc)
                return rc;
        if (state->nodes[node].first_member != NONE)
                return err_set(err, ERR_INPUT,
                               "node '%s' still has work on it; drain it, or report it failed",
                               name_text(state, name));
        rc = lose_plans(memo, state, node, ALL_OF_NODE, err);
        if (rc == 0)
                rc = let_go_of(memo, state, node, err);
        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_NODE_GONE);
        if (!fact)
                return no_memory(err);
        fact->node = node;
        return 0;
}

/* ---- devices ---- */

/* What runs there may still run: unlike a node that is described with a broken device, it loses
 * nothing yet. */
static int break_devices(struct memo *memo, const struct state *state, uint32_t node,
                         unsigned devices, struct err *err)
{
        struct node_desc desc = state->nodes[node].desc;
        unsigned newly = devices & ~(unsigned)desc.broken;

        if (newly == 0)
                return 0;
        desc.broken = (uint16_t)(desc.broken | newly);
        int rc = lose_plans(memo, state, node, newly, err);
        if (rc == 0)
                rc = let_go_of(memo, state, node, err);
        return rc ? rc : set_node(memo, node, &desc, state->nodes[node].status, err);
}

static int decide_devices_failed(struct memo *memo, const struct state *state, uint32_t name,
                                 uint16_t devices, struct err *err)
{
        uint32_t node = NONE;
        int rc = find_node(state, name, &node, err);

        if (rc)
                return rc;
        unsigned there = state->nodes[node].desc.devices;
        if (devices >> there)
                return err_set(err, ERR_RANGE, "node '%s' has %u devices, not as many as failed",
                               name_text(state, name), there);
        return break_devices(memo, state, node, devices, err);
}

static int decide_layout(struct memo *memo, const struct state *state,
                         const struct layout_report *report, struct err *err)
{
        uint32_t node = NONE;
        int rc = find_node(state, report->node, &node, err);

        if (rc)
                return rc;
        if (report->device >= state->nodes[node].desc.devices)
                return err_set(err, ERR_RANGE, "node '%s' has no device %u",
                               name_text(state, report->node), report->device);
        const struct device *device = &node_devices(state, node)[report->device];
        if (report->epoch > device->epoch)
                return err_set(err, ERR_RANGE,
                               "node '%s' reports step %u of device %u, but only %u were planned",
                               name_text(state, report->node), report->epoch, report->device,
                               device->epoch);
        unsigned slots = node_model(state, node)->memory_slices;
        if (report->foreign_slots >> slots)
                return err_set(err, ERR_RANGE, "device %u of node '%s' has %u slots, not more",
                               report->device, name_text(state, report->node), slots);
        /* Late and repeated reports do no harm: what is older than known says nothing. */
        if (report->epoch < device->seen_epoch ||
            (report->failed && report->epoch == device->seen_epoch))
                return 0;
        /* Where a step failed, what lies in the way of ours is what the report is about. */
        if (!report->failed && (report->foreign_slots & device->state.slices.slots))
                return err_set(err, ERR_INPUT,
                               "node '%s' reports a slot of device %u as foreign that berth "
                               "allotted",
                               name_text(state, report->node), report->device);
        if (report->failed && (rc = break_devices(memo, state, node, 1u << report->device, err)))
                return rc;
        struct fact *fact = fact_add(memo, FACT_LAYOUT_SEEN);
        if (!fact)
                return no_memory(err);
        fact->layout_seen.node = node;
        fact->layout_seen.report = *report;
        return 0;
}

int decide_node(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err)
{
        switch ((int)input->kind) {
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
                return decide_node_set(memo, state, input, now_ms, err);
        case INPUT_NODE_FAILED:
                return decide_node_failed(memo, state, input->failed.node_name,
                                          input->failed.silent, now_ms, err);
        case INPUT_DEVICES_FAILED:
                return decide_devices_failed(memo, state, input->broke.node_name,
                                             input->broke.devices, err);
        case INPUT_NODE_REMOVED:
                return decide_node_removed(memo, state, input->node_name, err);
        case INPUT_LAYOUT_OBSERVED:
                return decide_layout(memo, state, &input->layout, err);
        default:
                assert(false);
                return 0;
        }
}
