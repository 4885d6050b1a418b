#include "tests/property/alike.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/accounts.h"

bool request_same(const struct request *a, const struct request *b)
{
        return a->workload == b->workload && need_equal(&a->need, &b->need) &&
               form_equal(&a->form, &b->form) && a->priority == b->priority &&
               a->tenant == b->tenant && a->class == b->class && a->once == b->once &&
               a->spare == b->spare && a->user_hold == b->user_hold && a->service == b->service &&
               a->after_count == b->after_count &&
               memcmp(a->after, b->after, a->after_count * sizeof *a->after) == 0 &&
               a->retries == b->retries && a->array == b->array &&
               a->array_at_once == b->array_at_once && a->start_ms == b->start_ms &&
               a->time_limit_ms == b->time_limit_ms &&
               a->checkpoint_every_ms == b->checkpoint_every_ms &&
               a->checkpoint_within_ms == b->checkpoint_within_ms;
}

static bool desc_same(const struct node_desc *a, const struct node_desc *b)
{
        return a->name == b->name && a->plane == b->plane && a->labels == b->labels &&
               a->nvlink == b->nvlink && a->rack == b->rack && a->block == b->block &&
               a->model == b->model && a->devices == b->devices &&
               a->link_group == b->link_group && a->drained == b->drained &&
               a->drain_by_ms == b->drain_by_ms &&
               a->broken == b->broken && a->cpu_milli == b->cpu_milli &&
               a->ram_mib == b->ram_mib && a->disk_mib == b->disk_mib &&
               a->network_mbit == b->network_mbit && a->artifacts == b->artifacts;
}

static bool promise_same(struct promise a, struct promise b)
{
        return a.tenant == b.tenant && a.any == b.any;
}

static bool allocated_same(const struct fact_allocated *a, const struct fact_allocated *b)
{
        return a->workload == b->workload && a->node == b->node && a->member == b->member &&
               a->standing == b->standing && promise_same(a->promise, b->promise) &&
               a->parts_count == b->parts_count &&
               memcmp(a->parts, b->parts, a->parts_count * sizeof *a->parts) == 0;
}

static bool refused_same(const struct fact_refused *a, const struct fact_refused *b)
{
        return a->workload == b->workload && a->gate == b->gate &&
               a->has_nearest == b->has_nearest &&
               (!a->has_nearest || request_same(&a->nearest, &b->nearest));
}

static bool layout_same(const struct fact *a, const struct fact *b)
{
        if (a->kind == FACT_LAYOUT_STEP)
                return a->layout_step.node == b->layout_step.node &&
                       a->layout_step.epoch == b->layout_step.epoch &&
                       a->layout_step.device == b->layout_step.device &&
                       a->layout_step.op == b->layout_step.op &&
                       a->layout_step.profile == b->layout_step.profile &&
                       a->layout_step.start == b->layout_step.start;
        return a->layout_seen.node == b->layout_seen.node &&
               a->layout_seen.report.device == b->layout_seen.report.device &&
               a->layout_seen.report.failed == b->layout_seen.report.failed &&
               a->layout_seen.report.foreign_slots == b->layout_seen.report.foreign_slots &&
               a->layout_seen.report.epoch == b->layout_seen.report.epoch;
}

static bool planned_same(const struct fact_planned *a, const struct fact_planned *b)
{
        return a->beneficiary == b->beneficiary && a->plan == b->plan && a->cause == b->cause &&
               a->victims == b->victims && a->places == b->places &&
               a->until_ms == b->until_ms && a->loss == b->loss;
}

static bool requeued_same(const struct fact_requeued *a, const struct fact_requeued *b)
{
        return a->workload == b->workload && a->cause == b->cause &&
               a->attained_ms == b->attained_ms && a->lost_ms == b->lost_ms &&
               a->counts == b->counts;
}

bool fact_same(const struct fact *a, const struct fact *b)
{
        if (a->kind != b->kind)
                return false;
        switch (a->kind) {
        case FACT_QUEUED:
                return request_same(&a->queued, &b->queued);
        case FACT_REFUSED:
                return refused_same(&a->refused, &b->refused);
        case FACT_ALLOCATED:
                return allocated_same(&a->allocated, &b->allocated);
        case FACT_RELEASED:
                return a->released.workload == b->released.workload &&
                       a->released.cause == b->released.cause &&
                       a->released.lost_ms == b->released.lost_ms;
        case FACT_REQUEUED:
                return requeued_same(&a->requeued, &b->requeued);
        case FACT_CHECKPOINT_SET:
                return a->checkpoint.workload == b->checkpoint.workload &&
                       a->checkpoint.saved_ms == b->checkpoint.saved_ms;
        case FACT_USE_SET:
                return a->use.workload == b->use.workload &&
                       a->use.idle_since_ms == b->use.idle_since_ms;
        case FACT_IDLE_WARNED:
                return a->warned == b->warned;
        case FACT_HOLDS_SET:
                return a->holds.workload == b->holds.workload && a->holds.holds == b->holds.holds;
        case FACT_STANDING_SET:
                return a->standing.workload == b->standing.workload &&
                       a->standing.standing == b->standing.standing &&
                       promise_same(a->standing.promise, b->standing.promise);
        case FACT_PROMISES_SEEN:
                return a->tree == b->tree;
        case FACT_RESCUED:
                return a->rescued == b->rescued;
        case FACT_PLANNED:
                return planned_same(&a->planned, &b->planned);
        case FACT_PLACE_KEPT:
                return a->kept.plan == b->kept.plan &&
                       allocated_same(&a->kept.place, &b->kept.place);
        case FACT_NOTICED:
                return a->noticed.workload == b->noticed.workload &&
                       a->noticed.plan == b->noticed.plan &&
                       a->noticed.cause == b->noticed.cause &&
                       a->noticed.leave_by_ms == b->noticed.leave_by_ms &&
                       a->noticed.until_ms == b->noticed.until_ms &&
                       a->noticed.units == b->noticed.units;
        case FACT_NOTICE_WITHDRAWN:
                return a->stays == b->stays;
        case FACT_PLAN_ENDED:
                return a->plan_ended.plan == b->plan_ended.plan &&
                       a->plan_ended.end == b->plan_ended.end;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                return a->node_held.workload == b->node_held.workload &&
                       a->node_held.node == b->node_held.node &&
                       a->node_held.until_ms == b->node_held.until_ms;
        case FACT_POLICY_IN:
                return a->accounts->tenancy == b->accounts->tenancy;
        case FACT_FREEZE_IN:
                return a->freeze.plane == b->freeze.plane && a->freeze.frozen == b->freeze.frozen;
        case FACT_ETA_SET:
                return a->eta.workload == b->eta.workload && a->eta.p50_ms == b->eta.p50_ms &&
                       a->eta.p90_ms == b->eta.p90_ms &&
                       a->eta.coverage_pct == b->eta.coverage_pct;
        case FACT_MAINTENANCE_IN:
                return a->maintenance == b->maintenance;
        case FACT_LAYOUT_STEP:
        case FACT_LAYOUT_SEEN:
                return layout_same(a, b);
        case FACT_NODE_SET:
                return a->node_set.node == b->node_set.node &&
                       desc_same(&a->node_set.desc, &b->node_set.desc);
        case FACT_NODE_DOWN:
                return a->down.node == b->down.node && a->down.silent == b->down.silent;
        case FACT_NODE_GONE:
                return a->node == b->node;
        case FACT_DEMAND_SET:
                return a->plan == b->plan;
        case FACT_TIME_SET:
                return a->now_ms == b->now_ms;
        case FACTS_END:
                break;
        }
        return false;
}

static void place_print(char *ret_text, size_t size, const char *what,
                        const struct fact_allocated *place)
{
        size_t at = (size_t)snprintf(ret_text, size, "%s: workload %" PRIu64 " member %u on node "
                                                     "%u",
                                     what, place->workload, place->member, place->node);

        for (unsigned i = 0; i < place->parts_count && at < size; i++)
                at += (size_t)snprintf(ret_text + at, size - at, " device %u by method %u",
                                       place->parts[i].device, place->parts[i].method);
        if (at < size)
                snprintf(ret_text + at, size - at, ", %s", standing_name(place->standing));
}

void fact_print(char *ret_text, size_t size, const struct fact *fact)
{
        const char *name = fact_name(fact->kind);

        switch (fact->kind) {
        case FACT_ALLOCATED:
                place_print(ret_text, size, name, &fact->allocated);
                return;
        case FACT_PLACE_KEPT:
                place_print(ret_text, size, name, &fact->kept.place);
                return;
        case FACT_QUEUED:
                snprintf(ret_text, size, "%s: workload %" PRIu64, name, fact->queued.workload);
                return;
        case FACT_REFUSED:
                snprintf(ret_text, size, "%s: workload %" PRIu64 " by %s", name,
                         fact->refused.workload, gate_name(fact->refused.gate));
                return;
        case FACT_RELEASED:
                snprintf(ret_text, size, "%s: workload %" PRIu64 ", %s", name,
                         fact->released.workload, release_cause_name(fact->released.cause));
                return;
        case FACT_REQUEUED:
                snprintf(ret_text, size, "%s: workload %" PRIu64 ", %s", name,
                         fact->requeued.workload, release_cause_name(fact->requeued.cause));
                return;
        case FACT_USE_SET:
                snprintf(ret_text, size, "%s: workload %" PRIu64 " since %" PRId64, name,
                         fact->use.workload, fact->use.idle_since_ms);
                return;
        case FACT_IDLE_WARNED:
                snprintf(ret_text, size, "%s: workload %" PRIu64, name, fact->warned);
                return;
        case FACT_HOLDS_SET:
                snprintf(ret_text, size, "%s: workload %" PRIu64 " %#x", name,
                         fact->holds.workload, fact->holds.holds);
                return;
        case FACT_STANDING_SET:
                snprintf(ret_text, size, "%s: workload %" PRIu64 " %s", name,
                         fact->standing.workload, standing_name(fact->standing.standing));
                return;
        case FACT_RESCUED:
                snprintf(ret_text, size, "%s: workload %" PRIu64, name, fact->rescued);
                return;
        case FACT_PLANNED:
                snprintf(ret_text, size,
                         "%s: %u for workload %" PRIu64 " by %s, %u victims, until %" PRId64, name,
                         fact->planned.plan, fact->planned.beneficiary,
                         plan_cause_name(fact->planned.cause), fact->planned.victims,
                         fact->planned.until_ms);
                return;
        case FACT_NOTICED:
                snprintf(ret_text, size,
                         "%s: workload %" PRIu64 " for plan %d (%s) until %" PRId64 ", %" PRIu64
                         " units",
                         name, fact->noticed.workload, (int)fact->noticed.plan,
                         notice_cause_name(fact->noticed.cause), fact->noticed.until_ms,
                         fact->noticed.units);
                return;
        case FACT_NOTICE_WITHDRAWN:
                snprintf(ret_text, size, "%s: workload %" PRIu64, name, fact->stays);
                return;
        case FACT_PLAN_ENDED:
                snprintf(ret_text, size, "%s: %u %s", name, fact->plan_ended.plan,
                         fact->plan_ended.end == PLAN_DONE ? "done" : "withdrawn");
                return;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                snprintf(ret_text, size, "%s: node %u for workload %" PRIu64 " until %" PRId64,
                         name, fact->node_held.node, fact->node_held.workload,
                         fact->node_held.until_ms);
                return;
        default:
                snprintf(ret_text, size, "%s", name);
        }
}
