#include "tests/property/brute.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/property/brute_impl.h"

#define REFUSE(...) (snprintf(why, why_size, __VA_ARGS__), false)

void brute_init(struct brute *brute, const struct model_table *models, const struct vocab *vocab)
{
        memset(brute, 0, sizeof *brute);
        brute->models = models;
        brute->vocab = vocab;
}

struct brute_work *brute_work(struct brute *brute, uint64_t id)
{
        for (unsigned i = 0; i < BRUTE_WORKS; i++)
                if (brute->works[i].live && brute->works[i].request.workload == id)
                        return &brute->works[i];
        return NULL;
}

/* ---- facts ---- */

static bool is_frozen(const struct brute *brute, uint16_t plane)
{
        bool frozen = brute->frozen;

        for (unsigned p = 0; p < brute->frozen_count; p++)
                frozen |= brute->frozen_planes[p] == plane;
        return frozen;
}

static bool apply_freeze(struct brute *brute, const struct freeze *freeze, char *why,
                         size_t why_size)
{
        unsigned kept = 0;

        if (freeze->plane == 0)
                brute->frozen = freeze->frozen;
        for (unsigned p = 0; p < brute->frozen_count; p++)
                if (brute->frozen_planes[p] != freeze->plane)
                        brute->frozen_planes[kept++] = brute->frozen_planes[p];
        brute->frozen_count = (uint16_t)kept;
        if (!freeze->plane || !freeze->frozen)
                return true;
        if (kept == ARRAY_LEN(brute->frozen_planes))
                return REFUSE("the test holds at most %zu frozen planes",
                              ARRAY_LEN(brute->frozen_planes));
        brute->frozen_planes[brute->frozen_count++] = freeze->plane;
        return true;
}

static bool apply_allocated(struct brute *brute, const struct fact_allocated *fact, char *why,
                            size_t why_size)
{
        struct brute_work *work = brute_work(brute, fact->workload);

        if (!work || work->placed >= work->request.form.members)
                return REFUSE("workload %" PRIu64 " gets a place it does not wait for",
                              fact->workload);
        if (fact->member != work->placed)
                return REFUSE("member %u of workload %" PRIu64 " comes when %u is due",
                              fact->member, fact->workload, work->placed);
        if (fact->node >= BRUTE_NODES)
                return REFUSE("node %u does not exist", fact->node);
        struct brute_node *node = &brute->nodes[fact->node];
        const struct need *need = &work->request.need;
        if (!brute_node_lets_in(brute, node, need))
                return REFUSE("a member is put on node %u, which is down, drained, of another "
                              "plane or model, or lacks the labels",
                              fact->node);
        if (is_frozen(brute, node->desc.plane))
                return REFUSE("a member is put on node %u, which is frozen", fact->node);
        if (work->holds)
                return REFUSE("workload %" PRIu64 " starts while it is held", fact->workload);
        if (brute_members_by_node(node, need, 1) < 1)
                return REFUSE("node %u has too few cores or too little RAM, disk or network",
                              fact->node);
        if (fact->parts_count != need->devices)
                return REFUSE("%u parts for a member of %u devices", fact->parts_count,
                              need->devices);
        unsigned used = 0;
        for (unsigned i = 0; i < fact->parts_count; i++) {
                const struct part *part = &fact->parts[i];
                const struct model *model = brute_model_of(brute, node);
                if (part->device >= node->desc.devices || (used >> part->device & 1))
                        return REFUSE("device %u is not there, or taken twice by one member",
                                      part->device);
                used |= 1u << part->device;
                struct brute_device *device = &node->devices[part->device];
                if (!brute_part_meets(brute, model, need, part))
                        return REFUSE("the part on device %u is not what was asked for",
                                      part->device);
                if (!brute_part_lies_well(model, device, part))
                        return REFUSE("the part on device %u (method %u, profile %u, start %u) "
                                      "does not go with what is there",
                                      part->device, part->method, part->profile, part->start);
                if (device->count == BRUTE_PARTS)
                        return REFUSE("the test holds at most %d parts a device", BRUTE_PARTS);
                device->parts[device->count++] = (struct brute_part){*part, fact->workload};
                work->members[work->placed].parts[i] = *part;
        }
        node->cpu += need->cpu_milli;
        node->ram += need->ram_mib;
        node->disk += need->disk_mib;
        node->network += need->network_mbit;
        work->members[work->placed].node = fact->node;
        work->members[work->placed++].count = fact->parts_count;
        return true;
}

static bool has_member_on(const struct brute_work *work, uint32_t node, unsigned devices)
{
        for (unsigned m = 0; m < work->placed; m++) {
                if (work->members[m].node != node)
                        continue;
                if (devices == UINT32_MAX)
                        return true;
                for (unsigned i = 0; i < work->members[m].count; i++)
                        if (devices >> work->members[m].parts[i].device & 1)
                                return true;
        }
        return false;
}

/* The devices that the input takes away; UINT32_MAX: the node. */
static unsigned lost_devices(const struct brute *brute, uint32_t number, const struct input *input)
{
        const struct brute_node *node = &brute->nodes[number];

        if (!node->here)
                return 0;
        if (input->kind == INPUT_NODE_FAILED && input->node_name == node->desc.name)
                return UINT32_MAX;
        if (input->kind == INPUT_NODE_CHANGED && input->node.name == node->desc.name)
                return input->node.broken & ~(unsigned)node->desc.broken;
        return 0;
}

/* What still runs on another node keeps its place. */
static bool runs_beyond(const struct brute *brute, const struct brute_work *work,
                        const struct input *input)
{
        for (unsigned m = 0; input->kind == INPUT_NODE_FAILED && m < work->placed; m++) {
                const struct brute_node *node = &brute->nodes[work->members[m].node];
                if (node->up && node->desc.name != input->failed.node_name)
                        return true;
        }
        return false;
}

static bool may_be_lost(const struct brute *brute, const struct brute_work *work,
                        const struct input *input)
{
        if (runs_beyond(brute, work, input))
                return false;
        for (uint32_t n = 0; n < BRUTE_NODES; n++)
                if (has_member_on(work, n, lost_devices(brute, n, input)))
                        return true;
        return false;
}

static void free_work(struct brute *brute, struct brute_work *work)
{
        for (uint32_t n = 0; n < BRUTE_NODES; n++) {
                struct brute_node *node = &brute->nodes[n];
                for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                        struct brute_device *device = &node->devices[d];
                        unsigned kept = 0;
                        for (unsigned i = 0; i < device->count; i++)
                                if (device->parts[i].workload != work->request.workload)
                                        device->parts[kept++] = device->parts[i];
                        device->count = kept;
                }
        }
        for (unsigned m = 0; m < work->placed; m++) {
                struct brute_node *node = &brute->nodes[work->members[m].node];
                node->cpu -= work->request.need.cpu_milli;
                node->ram -= work->request.need.ram_mib;
                node->disk -= work->request.need.disk_mib;
                node->network -= work->request.need.network_mbit;
        }
        work->placed = 0;
}

static bool apply_released(struct brute *brute, const struct fact *fact, const struct input *input,
                           char *why, size_t why_size)
{
        struct brute_work *work = brute_work(brute, fact->released.workload);
        bool asked = false;

        if (!work)
                return REFUSE("workload %" PRIu64 " is released and was not there",
                              fact->released.workload);
        switch (fact->released.cause) {
        case RELEASE_EXITED:
                asked = input->kind == INPUT_EXITED && work->placed > 0 &&
                        input->workload == work->request.workload;
                break;
        case RELEASE_CANCELLED:
                asked = input->kind == INPUT_CANCELLED && input->workload == work->request.workload;
                break;
        case RELEASE_FAILED:
                asked = input->kind == INPUT_FAILED && work->placed > 0 &&
                        work->request.retries == 0 &&
                        input->workload == work->request.workload;
                break;
        case RELEASE_LOST:
                asked = may_be_lost(brute, work, input) ||
                        (input->kind == INPUT_LOST && work->placed > 0 &&
                         input->workload == work->request.workload);
                break;
        case RELEASE_STOPPED:
        case RELEASE_DRAINED:
        case RELEASE_TIMED_OUT:
        case RELEASE_IDLE:
        case RELEASE_ASKED:
        case RELEASE_CAUSES_END:
                break;
        }
        if (!asked)
                return REFUSE("workload %" PRIu64 " is released (%s), and nothing called for it",
                              work->request.workload, release_cause_name(fact->released.cause));
        free_work(brute, work);
        work->live = false;
        return true;
}

/* Without a policy only what ended badly waits again, and what was asked to. */
static bool apply_requeued(struct brute *brute, const struct fact_requeued *fact,
                           const struct input *input, char *why, size_t why_size)
{
        struct brute_work *work = brute_work(brute, fact->workload);

        if (work && work->placed > 0 && fact->cause == RELEASE_ASKED &&
            input->kind == INPUT_STOPPED && input->workload == fact->workload) {
                free_work(brute, work);
                return true;
        }
        if (!work || work->placed == 0 || work->request.retries == 0 ||
            fact->cause != RELEASE_FAILED || input->kind != INPUT_FAILED ||
            input->workload != fact->workload)
                return REFUSE("workload %" PRIu64 " is queued again (%s), and nothing called for "
                              "it",
                              fact->workload, release_cause_name(fact->cause));
        free_work(brute, work);
        work->request.retries--;
        return true;
}

static bool apply_step(struct brute *brute, const struct fact_layout *step, char *why,
                       size_t why_size)
{
        struct brute_device *device = &brute->nodes[step->node].devices[step->device];

        if (step->epoch != device->epoch + 1)
                return REFUSE("layout step %u follows step %u", step->epoch, device->epoch);
        device->epoch = step->epoch;
        switch ((enum layout_op)step->op) {
        case LAYOUT_CUT_ON:
        case LAYOUT_CUT_OFF:
                if (device->count || device->instances_count)
                        return REFUSE("cutting is switched on a device that is in use");
                device->cut = step->op == LAYOUT_CUT_ON;
                return true;
        case LAYOUT_CREATE:
                if (!device->cut)
                        return REFUSE("an instance is created on a device that is not cut");
                device->instances[device->instances_count].profile = step->profile;
                device->instances[device->instances_count++].start = step->start;
                return true;
        case LAYOUT_DESTROY:
                for (unsigned i = 0; i < device->instances_count; i++)
                        if (device->instances[i].profile == step->profile &&
                            device->instances[i].start == step->start) {
                                device->instances[i] = device->instances[--device->instances_count];
                                return true;
                        }
                return REFUSE("an instance is destroyed that was never created");
        case LAYOUT_OPS_END:
                break;
        }
        return REFUSE("a layout step of no kind");
}

static bool apply_node_set(struct brute *brute, uint32_t number, const struct node_desc *desc,
                           char *why, size_t why_size)
{
        if (number >= BRUTE_NODES)
                return REFUSE("node number %u is higher than there were nodes", number);
        struct brute_node *node = &brute->nodes[number];
        if (node->here && node->desc.name != desc->name)
                return REFUSE("node number %u is given twice", number);
        if (!node->here)
                memset(node, 0, sizeof *node);
        /* Another card is another device: what was seen behind our back, and cut, was the old one.
         */
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                if (node->here && (node->desc.model != desc->model || d >= desc->devices)) {
                        node->devices[d].foreign = 0;
                        node->devices[d].cut = false;
                }
                node->devices[d].broken = desc->broken >> d & 1;
        }
        node->here = node->up = true;
        node->desc = *desc;
        return true;
}

bool brute_apply(struct brute *brute, const struct fact *fact, const struct input *input, char *why,
                 size_t why_size)
{
        struct brute_work *work = NULL;

        switch (fact->kind) {
        case FACT_QUEUED:
                if (brute_work(brute, fact->queued.workload))
                        return REFUSE("a workload is queued twice");
                for (unsigned i = 0; i < BRUTE_WORKS && !work; i++)
                        if (!brute->works[i].live)
                                work = &brute->works[i];
                if (!work)
                        return REFUSE("the test holds at most %d workloads", BRUTE_WORKS);
                memset(work, 0, sizeof *work);
                work->live = true;
                work->request = fact->queued;
                work->holds = fact->queued.user_hold ? HOLD_USER : 0;
                work->arrival = brute->arrivals++;
                return true;
        case FACT_REFUSED:
                work = brute_work(brute, fact->refused.workload);
                if (work && work->placed)
                        return REFUSE("a workload is refused that has its place");
                if (work)
                        work->live = false;
                return true;
        case FACT_ALLOCATED:
                return apply_allocated(brute, &fact->allocated, why, why_size);
        case FACT_RELEASED:
                return apply_released(brute, fact, input, why, why_size);
        case FACT_REQUEUED:
                return apply_requeued(brute, &fact->requeued, input, why, why_size);
        case FACT_CHECKPOINT_SET:
                work = brute_work(brute, fact->checkpoint.workload);
                if (!work || work->placed == 0)
                        return REFUSE("a workload saves a checkpoint that does not run");
                return true;
        case FACT_USE_SET:
                work = brute_work(brute, fact->use.workload);
                if (!work || work->placed == 0)
                        return REFUSE("a workload is idle or in use that does not run");
                return true;
        case FACT_HOLDS_SET:
                work = brute_work(brute, fact->holds.workload);
                if (!work)
                        return REFUSE("a workload is held that is not there");
                work->holds = fact->holds.holds;
                return true;
        case FACT_FREEZE_IN:
                return apply_freeze(brute, &fact->freeze, why, why_size);
        case FACT_NOTICED:
                return (input->kind == INPUT_STOP_ASKED &&
                        fact->noticed.workload == input->stop.workload) ||
                       REFUSE("a workload is told to stop, and nobody asked for it");
        case FACT_IDLE_WARNED:
        case FACT_STANDING_SET:
        case FACT_PROMISES_SEEN:
        case FACT_RESCUED:
        case FACT_PLANNED:
        case FACT_PLACE_KEPT:
        case FACT_NOTICE_WITHDRAWN:
        case FACT_PLAN_ENDED:
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
        case FACT_POLICY_IN:
                return REFUSE("a fact of a policy, and none is in force");
        case FACT_LAYOUT_STEP:
                return apply_step(brute, &fact->layout_step, why, why_size);
        case FACT_LAYOUT_SEEN: {
                const struct layout_report *report = &fact->layout_seen.report;
                struct brute_node *node = &brute->nodes[fact->layout_seen.node];
                node->devices[report->device].foreign = report->foreign_slots;
                node->devices[report->device].broken |= report->failed;
                return true;
        }
        case FACT_NODE_SET:
                return apply_node_set(brute, fact->node_set.node, &fact->node_set.desc, why,
                                      why_size);
        case FACT_NODE_DOWN:
                brute->nodes[fact->down.node].up = false;
                return true;
        case FACT_NODE_GONE:
                brute->nodes[fact->node].here = false;
                return true;
        case FACT_ETA_SET:
        case FACT_DEMAND_SET:
        case FACT_TIME_SET:
                return true;
        case FACT_MAINTENANCE_IN:
                return REFUSE("maintenance, and no window was drawn");
        case FACTS_END:
                break;
        }
        return REFUSE("a fact of no kind");
}

/* ---- between groups ---- */

static bool is_whole_gang(const struct brute *brute, const struct brute_work *work, char *why,
                          size_t why_size)
{
        const struct form *form = &work->request.form;
        bool runs = false;

        if (work->placed == 0)
                return true;
        if (work->placed != form->members)
                return REFUSE("%u of the %u members of workload %" PRIu64 " are placed",
                              work->placed, form->members, work->request.workload);
        for (unsigned m = 0; m < work->placed; m++)
                runs |= brute->nodes[work->members[m].node].up;
        if (!runs)
                return REFUSE("workload %" PRIu64 " lives on nodes that are down",
                              work->request.workload);
        return true;
}

/* Asked once, when the gang was placed: nodes may move to another rack later. */
static bool lies_as_wished(const struct brute *brute, const struct brute_work *work, bool near,
                           char *why, size_t why_size)
{
        const struct form *form = &work->request.form;
        unsigned groups = 0;

        near |= form->near_required;
        for (unsigned a = 0; a < work->placed; a++) {
                const struct brute_node *node = &brute->nodes[work->members[a].node];
                for (unsigned b = a + 1; b < work->placed; b++) {
                        const struct node_desc *other = &brute->nodes[work->members[b].node].desc;
                        if (near && !brute_is_near(&node->desc, other, form->near))
                                return REFUSE("members %u and %u of workload %" PRIu64
                                              " are not near each other",
                                              a, b, work->request.workload);
                        if (!brute_is_spread(&node->desc, other, form->spread))
                                return REFUSE("members %u and %u of workload %" PRIu64
                                              " are not spread",
                                              a, b, work->request.workload);
                }
                for (unsigned i = 0; i < work->members[a].count; i++)
                        groups |= 1u << work->members[a].parts[i].device / brute_group_size(node);
        }
        if (near && form->near == NEAR_DEVICE_LINKS && (groups & (groups - 1)))
                return REFUSE("the devices of workload %" PRIu64 " are not linked with each other",
                              work->request.workload);
        return true;
}

bool brute_placed_well(const struct brute *brute, const struct brute_work *work, bool near,
                       char *why, size_t why_size)
{
        return is_whole_gang(brute, work, why, why_size) &&
               lies_as_wished(brute, work, near, why, why_size);
}

static bool is_cut_as_held(const struct brute_device *device, char *why, size_t why_size)
{
        unsigned slices = 0;

        for (unsigned i = 0; i < device->count; i++) {
                const struct part *part = &device->parts[i].part;
                bool found = false;
                if (part->method != METHOD_SLICE) {
                        if (device->cut)
                                return REFUSE("a device is held whole or shared while it is cut");
                        continue;
                }
                slices++;
                for (unsigned k = 0; k < device->instances_count; k++)
                        found |= device->instances[k].profile == part->profile &&
                                 device->instances[k].start == part->start;
                if (!found)
                        return REFUSE("a slice is held that no layout step created");
        }
        if (slices != device->instances_count)
                return REFUSE("%u instances are created and %u slices held",
                              device->instances_count, slices);
        return true;
}

bool brute_group_ends(const struct brute *brute, char *why, size_t why_size)
{
        for (unsigned i = 0; i < BRUTE_WORKS; i++)
                if (brute->works[i].live && !is_whole_gang(brute, &brute->works[i], why, why_size))
                        return false;
        for (unsigned n = 0; n < BRUTE_NODES; n++)
                for (unsigned d = 0; brute->nodes[n].here && d < brute->nodes[n].desc.devices; d++)
                        if (!is_cut_as_held(&brute->nodes[n].devices[d], why, why_size))
                                return false;
        return true;
}
