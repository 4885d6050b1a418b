/* Inputs about nodes, layouts, plans and time. */
#include <inttypes.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/memo_impl.h"

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
        for (uint32_t i = 0; i < memo->facts_count; i++)
                if (memo->facts[i].kind == FACT_RELEASED &&
                    memo->facts[i].released.workload == workload)
                        return true;
        return false;
}

static bool holds_any(const struct state *state, const struct member *member, unsigned devices)
{
        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next)
                if (devices >> state->parts[held].part.device & 1)
                        return true;
        return false;
}

/* Ends what has a part on one of the devices; ALL_OF_NODE also what has none. */
#define ALL_OF_NODE UINT32_MAX
static int lose(struct memo *memo, const struct state *state, uint32_t node, uint32_t devices,
                struct err *err)
{
        for (uint32_t place = state->nodes[node].first_member; place != NONE;
             place = state->members[place].node_next) {
                const struct member *member = &state->members[place];
                if (devices != ALL_OF_NODE && !holds_any(state, member, devices))
                        continue;
                const struct workload *workload = &state->workloads[member->workload];
                if (workload->members_placed > 1 && released_already(memo, workload->id))
                        continue;
                int rc = release(memo, state, member->workload, RELEASE_LOST, err);
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
        if (desc->cpu_milli > CPU_MILLI_MAX || desc->ram_mib > RAM_MIB_MAX ||
            desc->disk_mib > DISK_MIB_MAX || desc->network_mbit > NETWORK_MBIT_MAX)
                return err_set(err, ERR_RANGE,
                               "node '%s' has more cores, memory, disk or network than possible",
                               name);
        return 0;
}

static int decide_node_set(struct memo *memo, const struct state *state, const struct input *input,
                           struct err *err)
{
        struct node_desc settled = input->node;
        const struct node_desc *desc = &settled;
        uint32_t node = state_node(state, desc->name);
        bool joins = input->kind == INPUT_NODE_JOINED;
        int rc = check_desc(state, desc, err);

        if (rc)
                return rc;
        if (desc->devices == 0)
                settled.model = 0;      /* a model of no device means nothing */
        if (joins && node != NONE)
                return err_set(err, ERR_EXISTS, "node '%s' is in the pool already",
                               name_text(state, desc->name));
        if (joins && state->node_slots.used == state->bounds.nodes_max)
                return err_set(err, ERR_FULL, "the pool holds at most %u nodes",
                               state->bounds.nodes_max);
        if (!joins && (rc = find_node(state, desc->name, &node, err)) != 0)
                return rc;
        if (!joins) {
                const struct node_desc *now = &state->nodes[node].desc;
                if (state->nodes[node].first_member != NONE &&
                    (desc->model != now->model || desc->devices != now->devices))
                        return err_set(err, ERR_INPUT,
                                       "node '%s' is in use: its devices cannot change; drain it "
                                       "first",
                                       name_text(state, desc->name));
                rc = lose(memo, state, node, desc->broken & ~(uint32_t)now->broken, err);
                if (rc)
                        return rc;
        } else {
                node = state->node_slots.free != NONE ? state->node_slots.free
                                                      : state->node_slots.high;
        }
        struct fact *fact = fact_add(memo, FACT_NODE_SET);
        if (!fact)
                return no_memory(err);
        fact->node_set.node = node;
        fact->node_set.desc = *desc;
        return 0;
}

static int decide_node_failed(struct memo *memo, const struct state *state, uint32_t name,
                              struct err *err)
{
        uint32_t node = NONE;
        int rc = find_node(state, name, &node, err);

        if (rc == 0)
                rc = lose(memo, state, node, ALL_OF_NODE, err);
        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_NODE_DOWN);
        if (!fact)
                return no_memory(err);
        fact->node = node;
        return 0;
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
        struct fact *fact = fact_add(memo, FACT_NODE_GONE);
        if (!fact)
                return no_memory(err);
        fact->node = node;
        return 0;
}

/* ---- layouts, plans, time ---- */

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
        /* A failed step ends what is on the device, so nothing of ours can be in the way. */
        if (!report->failed && (report->foreign_slots & device->state.slices.slots))
                return err_set(err, ERR_INPUT,
                               "node '%s' reports a slot of device %u as foreign that berth "
                               "allotted",
                               name_text(state, report->node), report->device);
        if (report->failed) {
                rc = lose(memo, state, node, 1u << report->device, err);
                if (rc)
                        return rc;
        }
        struct fact *fact = fact_add(memo, FACT_LAYOUT_SEEN);
        if (!fact)
                return no_memory(err);
        fact->layout_seen.node = node;
        fact->layout_seen.report = *report;
        return 0;
}

static bool prices_in_bounds(const int32_t *prices, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (prices[i] > PRICE_UNITS_MAX || prices[i] < -PRICE_UNITS_MAX)
                        return false;
        return true;
}

static bool table_in_bounds(const struct price_table *table)
{
        bool good = prices_in_bounds(table->core, PRICE_LEVELS);

        for (uint32_t m = 0; good && m < table->models_len; m++) {
                const struct price_model *model = &table->models[m];
                good = prices_in_bounds(model->part[0], sizeof model->part / sizeof(int32_t)) &&
                       prices_in_bounds(model->idle[0], sizeof model->idle / sizeof(int32_t)) &&
                       prices_in_bounds(&model->scarcity, 1);
        }
        return good;
}

/* Scores add up prices and weights without looking again. */
static int check_plan(const struct price_plan *plan, struct err *err)
{
        uint64_t weight = 0;

        if (plan->shapes_count > PRICE_SHAPES_MAX || plan->table.models_len > PRICE_MODELS_MAX)
                return err_set(err, ERR_RANGE, "a demand plan has at most %d shapes and %d models",
                               PRICE_SHAPES_MAX, PRICE_MODELS_MAX);
        for (uint32_t s = 0; s < plan->shapes_count; s++)
                if (__builtin_add_overflow(weight, plan->shapes[s].weight, &weight) ||
                    weight > PRICE_WEIGHT_MAX)
                        return err_set(err, ERR_RANGE,
                                       "the weights of a demand plan sum to more than %" PRIu64,
                                       PRICE_WEIGHT_MAX);
        if (plan->priced && !table_in_bounds(&plan->table))
                return err_set(err, ERR_RANGE, "a demand plan has prices beyond %d units",
                               PRICE_UNITS_MAX);
        return 0;
}

static int decide_plan(struct memo *memo, const struct price_plan *plan, struct err *err)
{
        int rc = plan ? check_plan(plan, err) : 0;

        if (rc)
                return rc;
        struct fact *fact = fact_add(memo, FACT_DEMAND_SET);
        if (!fact)
                return no_memory(err);
        fact->plan = plan;
        return 0;
}

static int decide_tick(struct memo *memo, const struct state *state, int64_t now_ms,
                       struct err *err)
{
        if (now_ms < state->now_ms)
                return err_set(err, ERR_RANGE, "time goes back");
        struct fact *fact = fact_add(memo, FACT_TIME_SET);
        if (!fact)
                return no_memory(err);
        fact->now_ms = now_ms;
        return 0;
}

int decide_pool(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err)
{
        switch (input->kind) {
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
                return decide_node_set(memo, state, input, err);
        case INPUT_NODE_FAILED:
                return decide_node_failed(memo, state, input->node_name, err);
        case INPUT_NODE_REMOVED:
                return decide_node_removed(memo, state, input->node_name, err);
        case INPUT_LAYOUT_OBSERVED:
                return decide_layout(memo, state, &input->layout, err);
        case INPUT_PLAN_SET:
                return decide_plan(memo, input->plan, err);
        case INPUT_TICKED:
                return decide_tick(memo, state, now_ms, err);
        case INPUT_SUBMITTED:
        case INPUT_CANCELLED:
        case INPUT_EXITED:
        case INPUTS_END:
                break;
        }
        return err_set(err, ERR_INPUT, "an input of no known kind");
}
