#include "tests/property/policy_book.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/accounts.h"

void book_init(struct book *book, const struct model_table *models, const struct vocab *vocab)
{
        memset(book, 0, sizeof *book);
        book->models = models;
        book->vocab = vocab;
}

/* ---- what there is ---- */

struct book_work *book_work(struct book *book, uint64_t id)
{
        return id < BOOK_WORKS && book->works[id].status != WORK_NONE ? &book->works[id] : NULL;
}

const struct service_class *book_class(const struct book *book, const struct book_work *work)
{
        return &book->tenancy->classes[work->request.class];
}

const struct model *book_model(const struct book *book, uint32_t node)
{
        return model_get(book->models, book->nodes[node].desc.model);
}

bool book_is_frozen(const struct book *book, uint32_t node)
{
        bool frozen = book->frozen;

        for (unsigned p = 0; p < book->frozen_count; p++)
                frozen |= book->frozen_planes[p] == book->nodes[node].desc.plane;
        return frozen;
}

bool book_lies_frozen(const struct book *book, const struct book_work *work)
{
        for (unsigned m = 0; m < work->placed; m++)
                if (book_is_frozen(book, work->places[m].node) ||
                    !book->nodes[work->places[m].node].up)
                        return true;
        return false;
}

bool book_below(const struct tenancy *tenancy, uint16_t tenant, uint16_t above)
{
        while (tenant != TENANT_NONE && tenant != above)
                tenant = tenancy->tenants[tenant].parent;
        return tenant == above;
}

uint64_t book_part_units(const struct model *model, const struct part *part)
{
        const struct profile *profile = &model->profiles[part->profile];

        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                return UNITS_DEVICE;
        case METHOD_SLICE:
                return (uint64_t)profile->compute_slices * (UNITS_HALF / model->compute_slices) +
                       (uint64_t)profile->memory_slices * (UNITS_HALF / model->memory_slices);
        case METHOD_SHARE:
                return (uint64_t)part->share_milli * UNITS_HALF / 1000 +
                       (model->memory_mib ? (uint64_t)part->memory_mib * UNITS_HALF /
                                                    model->memory_mib
                                          : (uint64_t)part->share_milli * UNITS_HALF / 1000);
        case METHODS_END:
                break;
        }
        return 0;
}

uint64_t book_units(const struct book *book, const struct book_work *work)
{
        uint64_t units = 0;

        for (unsigned m = 0; m < work->placed; m++)
                for (unsigned i = 0; i < work->places[m].count; i++)
                        units += book_part_units(book_model(book, work->places[m].node),
                                                 &work->places[m].parts[i]);
        return units;
}

/* ---- room ---- */

static unsigned slots_of(const struct profile *profile, unsigned start)
{
        return ((1u << profile->memory_slices) - 1) << start;
}

static bool slice_lies_well(const struct book *book, const struct model *model,
                            const struct book_device *device, const struct part *part)
{
        const struct profile *profile = &model->profiles[part->profile];
        unsigned compute = profile->compute_slices, media = profile->media, same = 1;
        unsigned slots = slots_of(profile, part->start);

        if (model->cut == MODEL_PLAIN || !(profile->starts >> part->start & 1) ||
            (slots & device->foreign) || slots >> model->memory_slices ||
            (model->cut == MODEL_MODES && device->foreign))
                return false;
        for (unsigned i = 0; i < device->count; i++) {
                const struct part *other = &device->parts[i].part;
                if (book->works[device->parts[i].work].vanishes)
                        continue;
                if (other->method != METHOD_SLICE)
                        return false;
                const struct profile *beside = &model->profiles[other->profile];
                if ((slots & slots_of(beside, other->start)) ||
                    (profile->media_exclusive && beside->media_exclusive) ||
                    (model->cut == MODEL_MODES && other->profile != part->profile))
                        return false;
                compute += beside->compute_slices;
                media += beside->media;
                same += other->profile == part->profile;
        }
        return compute <= model->compute_slices && same <= profile->max_count &&
               (model->media_total == 0 || media <= model->media_total);
}

/* Whether tenants' shares may lie side by side: their trust domains are one, or mix. */
static bool mix(const struct book *book, uint16_t a, uint16_t b)
{
        uint16_t x = book->tenancy->tenants[a].trust, y = book->tenancy->tenants[b].trust;

        return x == y || (x < TRUSTS_MAX && y < TRUSTS_MAX &&
                          (book->tenancy->trusts[x].with >> y & 1));
}

static bool share_lies_well(const struct book *book, const struct model *model,
                            const struct book_device *device, uint16_t tenant,
                            const struct part *part)
{
        uint64_t milli = part->share_milli, mib = part->memory_mib;

        if (device->foreign)
                return false;
        for (unsigned i = 0; i < device->count; i++) {
                if (book->works[device->parts[i].work].vanishes)
                        continue;
                if (device->parts[i].part.method != METHOD_SHARE ||
                    !mix(book, tenant, book->works[device->parts[i].work].request.tenant))
                        return false;
                milli += device->parts[i].part.share_milli;
                mib += device->parts[i].part.memory_mib;
        }
        return milli <= SHARE_WHOLE && mib <= model->memory_mib;
}

bool book_lies_well(const struct book *book, uint32_t node, uint16_t tenant,
                    const struct part *part)
{
        const struct book_device *device = &book->nodes[node].devices[part->device];
        const struct model *model = book_model(book, node);
        bool empty = device->foreign == 0;

        if (part->device >= book->nodes[node].desc.devices || device->broken)
                return false;
        for (unsigned i = 0; i < device->count; i++)
                empty &= book->works[device->parts[i].work].vanishes;
        switch ((enum method)part->method) {
        case METHOD_WHOLE:
                return empty;
        case METHOD_SLICE:
                return slice_lies_well(book, model, device, part);
        case METHOD_SHARE:
                return share_lies_well(book, model, device, tenant, part);
        case METHODS_END:
                break;
        }
        return false;
}

bool book_admits(const struct book *book, uint32_t number, const struct need *need)
{
        const struct book_node *node = &book->nodes[number];

        return number < BOOK_NODES && node->here && node->up && !node->desc.drained &&
               (!need->plane || need->plane == node->desc.plane) &&
               need->devices <= node->desc.devices &&
               (!need->devices || (need->models >> node->desc.model & 1)) &&
               vocab_meets(book->vocab, node->desc.labels, need->where);
}

static unsigned fabric_of(const struct node_desc *desc, unsigned level)
{
        return level == NEAR_RACK ? desc->rack : level == NEAR_BLOCK ? desc->block
                                                                     : desc->nvlink;
}

/* Devices 0-3, 4-7 ... of one node where groups are of 4; without links each device is alone. */
static bool lies_linked(const struct book *book, const struct book_place *places, unsigned count)
{
        unsigned group = book->nodes[places[0].node].desc.link_group;

        for (unsigned p = 0; p < count; p++)
                for (unsigned i = 0; i < places[p].count; i++)
                        if (places[p].parts[i].device / (group ? group : 1) !=
                            places[0].parts[0].device / (group ? group : 1))
                                return false;
        return true;
}

/* Only what must be: a required level, and the spread. */
bool book_lies_as_wished(const struct book *book, const struct form *form,
                         const struct book_place *places, unsigned count)
{
        if (form->near_required && form->near == NEAR_DEVICE_LINKS &&
            !lies_linked(book, places, count))
                return false;
        for (unsigned a = 0; a < count; a++)
                for (unsigned b = a + 1; b < count; b++) {
                        const struct node_desc *x = &book->nodes[places[a].node].desc;
                        const struct node_desc *y = &book->nodes[places[b].node].desc;
                        bool same = places[a].node == places[b].node;
                        if (form->near_required && form->near != NEAR_NONE &&
                            form->near != NEAR_POOL && !same &&
                            (form->near <= NEAR_NODE || fabric_of(x, form->near) == 0 ||
                             fabric_of(x, form->near) != fabric_of(y, form->near)))
                                return false;
                        if (form->spread != SPREAD_NONE && same)
                                return false;
                        if (form->spread == SPREAD_RACK && x->rack != 0 && x->rack == y->rack &&
                            x->block == y->block)
                                return false;
                }
        return true;
}

/* ---- following ---- */

void book_put(struct book *book, uint32_t work, uint32_t number, const struct part *parts,
              unsigned count)
{
        struct book_node *node = &book->nodes[number];
        const struct need *need = &book->works[work].request.need;

        for (unsigned i = 0; i < count; i++) {
                struct book_device *device = &node->devices[parts[i].device];
                device->parts[device->count++] = (struct book_part){parts[i], work};
        }
        node->cpu += need->cpu_milli;
        node->ram += need->ram_mib;
        node->disk += need->disk_mib;
        node->network += need->network_mbit;
}

static void take_away(struct book *book, struct book_work *work)
{
        uint32_t id = (uint32_t)(work - book->works);
        const struct need *need = &work->request.need;

        for (unsigned m = 0; m < work->placed; m++) {
                struct book_node *node = &book->nodes[work->places[m].node];
                for (unsigned i = 0; i < work->places[m].count; i++) {
                        struct book_device *device =
                                &node->devices[work->places[m].parts[i].device];
                        unsigned kept = 0;
                        for (unsigned k = 0; k < device->count; k++)
                                if (device->parts[k].work != id)
                                        device->parts[kept++] = device->parts[k];
                        device->count = kept;
                }
                node->cpu -= need->cpu_milli;
                node->ram -= need->ram_mib;
                node->disk -= need->disk_mib;
                node->network -= need->network_mbit;
        }
        work->placed = 0;
        work->told_moves = work->told_asked = false;
        work->notice_until_ms = work->leave_by_ms = work->idle_since_ms = 0;
        work->told_idle = work->demoted = false;
        work->idle_done = IDLE_THEN_NOTHING;
        work->plan = 0;
}

/* A node that was described anew may hold more than it has. */
static bool is_short(uint64_t held, uint64_t more, uint64_t all)
{
        return more > 0 && held + more > all;
}

static bool follow_allocated(struct book *book, const struct fact_allocated *fact)
{
        struct book_work *work = book_work(book, fact->workload);

        if (!work || (work->status != WORK_WAITS && !work->started) ||
            fact->member >= work->request.form.members ||
            work->placed == work->request.form.members)
                return BOOK_FAIL(book, "workload %" PRIu64 " gets a place that is not its turn",
                                 fact->workload);
        const struct need *need = &work->request.need;
        struct book_node *node = &book->nodes[fact->node];
        book->checked[PROMISE_PLACES]++;
        if (!book_admits(book, fact->node, need))
                return BOOK_FAIL(book,
                                 "workload %" PRIu64 " starts on node %u, which is down, drained, "
                                 "or not for it",
                                 fact->workload, fact->node);
        if (is_short(node->cpu, need->cpu_milli, node->desc.cpu_milli) ||
            is_short(node->ram, need->ram_mib, node->desc.ram_mib) ||
            is_short(node->disk, need->disk_mib, node->desc.disk_mib) ||
            is_short(node->network, need->network_mbit, node->desc.network_mbit))
                return BOOK_FAIL(book,
                                 "workload %" PRIu64 " starts on node %u, which has not the cores "
                                 "(%" PRIu64 " of %u held, %u more), memory, disk or network",
                                 fact->workload, fact->node, node->cpu, node->desc.cpu_milli,
                                 need->cpu_milli);
        for (unsigned i = 0; i < fact->parts_count; i++) {
                const struct part *part = &fact->parts[i];
                book->checked[PROMISE_UNITS]++;
                book->checked[PROMISE_LOCKS]++;
                if (!book_lies_well(book, fact->node, work->request.tenant, part))
                        return BOOK_FAIL(book,
                                         "workload %" PRIu64 " takes a part of device %u of node "
                                         "%u that is not free",
                                         fact->workload, part->device, fact->node);
                if (node->devices[part->device].kept_for)
                        return BOOK_FAIL(book,
                                         "workload %" PRIu64 " takes device %u of node %u, which "
                                         "is locked for plan %u",
                                         fact->workload, part->device, fact->node,
                                         node->devices[part->device].kept_for - 1);
        }
        book_put(book, (uint32_t)fact->workload, fact->node, fact->parts, fact->parts_count);
        struct book_place *place = &work->places[work->placed++];
        place->node = fact->node;
        place->count = fact->parts_count;
        memcpy(place->parts, fact->parts, sizeof place->parts);
        work->standing = fact->standing;
        if (work->status == WORK_WAITS) {
                work->waited_ms += book->now_ms - work->queued_ms;
                work->since_ms = book->now_ms;
                work->saved_ms = 0;
                work->continues = book_class(book, work)->on_lost_contact ==
                                  LOST_CONTACT_CONTINUE;
                work->started = true;
        }
        work->status = WORK_RUNS;
        return true;
}

static void plan_unlock(struct book *book, uint32_t number)
{
        for (unsigned n = 0; n < BOOK_NODES; n++)
                for (unsigned d = 0; d < NODE_DEVICES_MAX; d++)
                        if (book->nodes[n].devices[d].kept_for == number + 1)
                                book->nodes[n].devices[d].kept_for = 0;
        for (uint64_t w = 1; w <= book->last_id; w++)
                if (book->works[w].plan == number + 1) {
                        book->works[w].plan = 0;
                        book->works[w].told_moves = false;
                        book->works[w].notice_until_ms = 0;
                        book->works[w].stays_ms = book->now_ms;
                }
        book->plans[number].live = false;
}

static bool follow_ended(struct book *book, struct book_work *work, enum release_cause cause,
                         const struct input *input)
{
        bool runs = work->status == WORK_RUNS;

        if (cause == RELEASE_DRAINED && work->leave_by_ms == 0)
                return BOOK_FAIL(book, "a workload leaves for a drain that it was not told of");
        bool told = cause == RELEASE_STOPPED || cause == RELEASE_TIMED_OUT ||
                    cause == RELEASE_DRAINED || cause == RELEASE_IDLE || cause == RELEASE_ASKED;
        bool asked = work->told_moves || work->told_asked;
        book->checked[PROMISE_ASKED] += told && asked;
        if (told && asked != (cause == RELEASE_ASKED))
                return BOOK_FAIL(book, "a workload is stopped (%s), and somebody %s for it",
                                 release_cause_name(cause), asked ? "asked" : "did not ask");
        if (told && work->told_idle != (cause == RELEASE_IDLE))
                return BOOK_FAIL(book, "a workload is stopped (%s), and was told so for something "
                                       "else",
                                 release_cause_name(cause));
        if (told) {
                book->checked[PROMISE_NOTICE]++;
                if (!runs || input->kind != INPUT_STOPPED || work->notice_until_ms == 0)
                        return BOOK_FAIL(book, "a workload is stopped that was not told to");
                book->checked[PROMISE_SPARED] += cause == RELEASE_STOPPED;
                if (cause == RELEASE_STOPPED && work->plan && work->standing == STANDING_PROTECTED)
                        return BOOK_FAIL(book, "protected work is stopped");
        }
        take_away(book, work);
        return true;
}

static bool follow_released(struct book *book, const struct fact *fact, const struct input *input)
{
        struct book_work *work = book_work(book, fact->released.workload);

        if (!work || work->status == WORK_GONE)
                return BOOK_FAIL(book, "workload %" PRIu64 " is released and is not there",
                                 fact->released.workload);
        if (fact->released.cause == RELEASE_ASKED)
                return BOOK_FAIL(book, "workload %" PRIu64 " was asked to stop, and does not wait "
                                       "again",
                                 fact->released.workload);
        if ((fact->released.cause == RELEASE_LOST && !law_lost(book, work, input, false)) ||
            !follow_ended(book, work, fact->released.cause, input))
                return false;
        work->status = WORK_GONE;
        work->end = (uint8_t)fact->released.cause;
        return true;
}

static bool follow_requeued(struct book *book, const struct fact_requeued *fact,
                            const struct input *input)
{
        struct book_work *work = book_work(book, fact->workload);
        int64_t day = book->now_ms - book->now_ms % CALENDAR_DAY_MS;

        if (!work || work->status != WORK_RUNS)
                return BOOK_FAIL(book, "workload %" PRIu64 " waits again and did not run",
                                 fact->workload);
        if (fact->attained_ms != work->attained_ms + work->saved_ms ||
            fact->lost_ms != book->now_ms - work->since_ms - work->saved_ms)
                return BOOK_FAIL(book, "workload %" PRIu64 " keeps %" PRId64 " ms and lost %" PRId64
                                       " ms, which is not what it saved",
                                 fact->workload, fact->attained_ms, fact->lost_ms);
        if ((fact->cause == RELEASE_LOST && !law_lost(book, work, input, true)) ||
            !follow_ended(book, work, fact->cause, input))
                return false;
        if (work->stops_day != day)
                work->stops = 0;
        work->stops_day = day;
        work->stops += fact->cause == RELEASE_STOPPED;
        if (fact->cause == RELEASE_FAILED && work->request.retries-- == 0)
                return BOOK_FAIL(book, "workload %" PRIu64 " has no retries left", fact->workload);
        work->attained_ms = fact->attained_ms;
        work->status = WORK_WAITS;
        work->queued_ms = book->now_ms;
        return true;
}

static void follow_queued(struct book *book, const struct request *request)
{
        struct book_work *work = &book->works[request->workload];

        work->status = WORK_WAITS;
        work->request = *request;
        work->user_held = request->user_hold;
        work->queued_ms = book->now_ms;
        if (request->workload > book->last_id)
                book->last_id = request->workload;
}

static void follow_node(struct book *book, uint32_t number, const struct node_desc *desc)
{
        struct book_node *node = &book->nodes[number];

        if (!node->here)
                memset(node, 0, sizeof *node);
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                if (node->desc.model != desc->model || d >= desc->devices)
                        node->devices[d].foreign = 0;
                node->devices[d].broken = desc->broken >> d & 1;
        }
        node->here = node->up = true;
        node->silent = false;
        node->desc = *desc;
}

static void follow_freeze(struct book *book, const struct freeze *freeze)
{
        unsigned kept = 0;

        if (freeze->plane == 0)
                book->frozen = freeze->frozen;
        for (unsigned p = 0; p < book->frozen_count; p++)
                if (book->frozen_planes[p] != freeze->plane)
                        book->frozen_planes[kept++] = book->frozen_planes[p];
        book->frozen_count = kept;
        if (freeze->plane && freeze->frozen)
                book->frozen_planes[book->frozen_count++] = freeze->plane;
}

static bool follow_pool(struct book *book, const struct fact *fact)
{
        struct book_node *node;

        switch (fact->kind) {
        case FACT_NODE_SET:
                if (!law_torn(book, fact->node_set.node, &fact->node_set.desc))
                        return false;
                follow_node(book, fact->node_set.node, &fact->node_set.desc);
                return true;
        case FACT_NODE_DOWN:
                book->nodes[fact->down.node].up = false;
                book->nodes[fact->down.node].silent = fact->down.silent;
                return true;
        case FACT_NODE_GONE:
                book->nodes[fact->node].here = false;
                return true;
        case FACT_LAYOUT_SEEN:
                node = &book->nodes[fact->layout_seen.node];
                node->devices[fact->layout_seen.report.device].foreign =
                        fact->layout_seen.report.foreign_slots;
                node->devices[fact->layout_seen.report.device].broken |=
                        fact->layout_seen.report.failed;
                return true;
        case FACT_FREEZE_IN:
                follow_freeze(book, &fact->freeze);
                return true;
        case FACT_MAINTENANCE_IN:
                book->maintenance = *fact->maintenance;
                return true;
        case FACT_TIME_SET:
                book->ticked_ms = fact->now_ms;
                return true;
        default:
                return true;
        }
}

static bool follow(struct book *book, const struct fact *fact, const struct input *input)
{
        struct book_work *work;

        switch (fact->kind) {
        case FACT_QUEUED:
                if (!law_queued(book, &fact->queued))
                        return false;
                follow_queued(book, &fact->queued);
                return true;
        case FACT_REFUSED:
                work = book_work(book, fact->refused.workload);
                if (work && work->status == WORK_RUNS)
                        return BOOK_FAIL(book, "workload %" PRIu64 " is refused while it runs",
                                         fact->refused.workload);
                if (work) {
                        work->status = WORK_GONE;
                        work->end = RELEASE_CANCELLED;
                }
                return true;
        case FACT_ALLOCATED:
                return follow_allocated(book, &fact->allocated);
        case FACT_RELEASED:
                return follow_released(book, fact, input);
        case FACT_REQUEUED:
                return follow_requeued(book, &fact->requeued, input);
        case FACT_CHECKPOINT_SET:
                work = book_work(book, fact->checkpoint.workload);
                return law_saved(book, work, fact->checkpoint.saved_ms);
        case FACT_USE_SET:
                return law_use(book, &fact->use);
        case FACT_IDLE_WARNED:
                return law_idle(book, book_work(book, fact->warned), IDLE_THEN_WARN);
        case FACT_HOLDS_SET:
                work = book_work(book, fact->holds.workload);
                work->user_held = fact->holds.holds & HOLD_USER;
                return true;
        case FACT_STANDING_SET:
                work = book_work(book, fact->standing.workload);
                return law_standing(book, work, fact->standing.standing);
        case FACT_POLICY_IN:
                return law_policy(book, fact->accounts->tenancy);
        case FACT_PLAN_ENDED:
                if (fact->plan_ended.end == PLAN_DONE)
                        book->handed = book->plans[fact->plan_ended.plan];
                plan_unlock(book, fact->plan_ended.plan);
                return true;
        case FACT_NOTICED:
                if (fact->noticed.plan != NONE)
                        return true;    /* with its plan */
                return law_told(book, fact);
        case FACT_NOTICE_WITHDRAWN:
                return law_stays(book, fact->stays);
        default:
                return follow_pool(book, fact);
        }
}

bool book_group(struct book *book, const struct input *input, const struct fact *facts,
                uint32_t count)
{
        bool good = true;

        book->input = input;
        book->handed.live = false;
        for (uint32_t i = 0; good && i < count; i++) {
                book->seen[facts[i].kind]++;
                good = facts[i].kind == FACT_PLANNED ? plan_law(book, facts, count, i)
                                                     : follow(book, &facts[i], input);
        }
        for (uint64_t w = 1; good && w <= book->last_id; w++)
                if (book->works[w].started) {
                        good = law_starts(book, &book->works[w]);
                        book->works[w].started = false;
                }
        return good;
}
