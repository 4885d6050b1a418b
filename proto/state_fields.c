#include "proto/state_fields.h"

#include "engine/accounts.h"
#include "engine/price.h"
#include "engine/state.h"
#include "proto/log_fields.h"

#define BOUNDS(member) FIELD(state_bounds, member)
static const struct field bounds_list[] = {
        BOUNDS(nodes_max), BOUNDS(workloads_max), BOUNDS(members_max), BOUNDS(parts_max),
        BOUNDS(shapes_max), BOUNDS(buckets_max), BOUNDS(plans_max)};
const struct fields state_bounds_fields = FIELDS(bounds_list);

#define SLOTS(member) FIELD(slots, member)
static const struct field slots_list[] = {SLOTS(max), SLOTS(high), SLOTS(free), SLOTS(used)};
const struct fields state_slots_fields = FIELDS(slots_list);

#define NODE(member) FIELD(node, member)
#define HELD(wire, index) FIELD_NAMED(wire, node, held[index])
static const struct field node_list[] = {
        FIELD_STRUCT_OF(node, desc, log_desc_fields),
        HELD("held_share", HELD_SHARE), HELD("held_1", HELD_1), HELD("held_2", HELD_2),
        HELD("held_4", HELD_4), HELD("held_8", HELD_8),
        NODE(status), NODE(first_device), NODE(cpu_used), NODE(ram_used), NODE(disk_used),
        NODE(network_used), NODE(cpu_kept), NODE(ram_kept), NODE(disk_kept), NODE(network_kept),
        NODE(cpu_free), NODE(ram_free), NODE(disk_free), NODE(network_free), NODE(first_member),
        NODE(held_for), NODE(held_until_ms), NODE(frozen), NODE(closed), NODE(closed_from_ms),
        NODE(closed_until_ms)};
_Static_assert(HELD_CLASSES == 5, "each class of what a node holds is a column");
const struct fields state_node_fields = FIELDS(node_list);

#define SLICE(member) FIELD_NAMED(#member, device, state.slices.member)
#define DEVICE_STATE(member) FIELD_NAMED(#member, device, state.member)
#define DEVICE(member) FIELD(device, member)
static const struct field device_list[] = {
        DEVICE_STATE(mode), DEVICE_STATE(broken), DEVICE_STATE(share_taken_milli),
        DEVICE_STATE(share_taken_mib), DEVICE_STATE(foreign_slots), DEVICE_STATE(holders),
        SLICE(slots), SLICE(compute), SLICE(media), SLICE(media_exclusive),
        FIELD_NAMED("slice_mode", device, state.slices.mode),
        DEVICE(epoch), DEVICE(seen_epoch), DEVICE(kept_for), DEVICE(cut)};
const struct fields state_device_fields = FIELDS(device_list);

static const struct field shape_list[] = {FIELD_STRUCT_OF(shape, need, log_need_fields),
                                          FIELD(shape, fits_count)};
const struct fields state_shape_fields = FIELDS(shape_list);

#define BUCKET(member) FIELD(bucket, member)
static const struct field bucket_list[] = {
        FIELD_STRUCT_OF(bucket, form, log_form_fields),
        BUCKET(shape), BUCKET(priority), BUCKET(tenant), BUCKET(class), BUCKET(data), BUCKET(spare),
        BUCKET(head), BUCKET(tail), BUCKET(count)};
const struct fields state_bucket_fields = FIELDS(bucket_list);

#define WORK(member) FIELD(workload, member)
static const struct field workload_list[] = {
        FIELD_NAMED("promise_tenant", workload, promise.tenant),
        FIELD_NAMED("promise_any", workload, promise.any),
        WORK(id), WORK(arrival), WORK(submitted_ms), WORK(since_ms), WORK(waited_ms),
        WORK(attained_ms), WORK(saved_ms), WORK(start_ms), WORK(time_limit_ms),
        WORK(checkpoint_every_ms), WORK(checkpoint_within_ms), WORK(notice_until_ms),
        WORK(idle_since_ms), WORK(leave_by_ms), WORK(stops_from_ms), WORK(eta_at_ms),
        WORK(eta_p50_s), WORK(eta_p90_s), WORK(bucket), WORK(next), WORK(prev), WORK(first_member),
        WORK(plan), WORK(first_after), WORK(array), WORK(array_at_once), WORK(group),
        WORK(group_next), WORK(group_prev), WORK(members_placed), WORK(stops), WORK(retries),
        WORK(nodes_held), WORK(after_count), WORK(standing), WORK(notice_cause),
        WORK(eta_coverage_pct), WORK(holds), WORK(rescued), WORK(displaced), WORK(idle_done),
        WORK(demoted), WORK(contact_otherwise), WORK(once), WORK(service), WORK(serve), WORK(live)};
const struct fields state_workload_fields = FIELDS(workload_list);

#define MEMBER(field) FIELD(member, field)
static const struct field member_list[] = {
        MEMBER(workload), MEMBER(node), MEMBER(next), MEMBER(node_next), MEMBER(node_prev),
        MEMBER(first_part), MEMBER(number), MEMBER(parts_count)};
const struct fields state_member_fields = FIELDS(member_list);

static const struct field part_list[] = {FIELD_STRUCT_OF(held_part, part, log_part_fields),
                                         FIELD(held_part, next)};
const struct fields state_part_fields = FIELDS(part_list);

#define PLAN(member) FIELD(plan, member)
static const struct field plan_list[] = {
        PLAN(beneficiary), PLAN(victims), PLAN(places), PLAN(first_place), PLAN(cause),
        PLAN(until_ms), PLAN(live)};
const struct fields state_plan_fields = FIELDS(plan_list);

#define PLACE(member) FIELD(plan_place, member)
static const struct field place_list[] = {
        PLACE(next), PLACE(node), PLACE(member),
        FIELD_LIST_OF(plan_place, parts, parts_count, log_part_fields)};
const struct fields state_plan_place_fields = FIELDS(place_list);

static const struct field after_list[] = {FIELD(after_link, waiter), FIELD(after_link, next)};
const struct fields state_after_fields = FIELDS(after_list);

#define WINDOW(member) FIELD_NAMED(#member, maintenance_window, when.member)
static const struct field window_list[] = {
        FIELD(maintenance_window, node), FIELD(maintenance_window, plane),
        WINDOW(from_ms), WINDOW(until_ms), WINDOW(every_ms), WINDOW(last_ms)};
const struct fields state_window_fields = FIELDS(window_list);

/* ---- the state's own numbers ---- */

#define STATE(member) FIELD(state, member)
#define TABLE(table) FIELD_STRUCT_OF(state, table##_slots, state_slots_fields)
static const struct field state_list[] = {
        TABLE(node), TABLE(workload), TABLE(member), TABLE(part), TABLE(plan),
        TABLE(plan_place), TABLE(after),
        FIELD_LIST_OF_NUMBERS(state, frozen_planes, frozen_planes_count),
        STATE(shapes_count), STATE(buckets_count), STATE(plan_set), STATE(capacity_models),
        STATE(devices_max), STATE(nodes_held), STATE(frozen), STATE(maintenance_due_ms),
        STATE(nodes_closing), STATE(now_ms), STATE(asked_ms), STATE(asked_slot), STATE(arrivals),
        STATE(waiting), STATE(noticed), STATE(idle), STATE(rescued_units), STATE(freed),
        STATE(nodes_version), STATE(order_version), STATE(plan_version), STATE(policy_version)};
const struct fields state_fields = FIELDS(state_list);

#define PRICE(member) FIELD(price_shape, member)
static const struct field price_list[] = {PRICE(cpu_milli), PRICE(share_milli), PRICE(devices),
                                          PRICE(models), PRICE(weight)};
const struct fields state_price_fields = FIELDS(price_list);

/* ---- accounts ---- */

#define ACCOUNTS(member) FIELD(accounts, member)
static const struct field accounts_list[] = {
        ACCOUNTS(kept_in_all), ACCOUNTS(dirty_count), ACCOUNTS(at_ms), ACCOUNTS(opened),
        ACCOUNTS(stopped_from_ms), ACCOUNTS(stopped_units)};
const struct fields state_accounts_fields = FIELDS(accounts_list);

/* A sum of 128 bits is two columns. */
static const struct field budget_list[] = {
        FIELD(budget_use, from_ms), FIELD(budget_use, until_ms),
        {.name = "used_low", .offset = offsetof(struct budget_use, used), .kind = FIELD_U64},
        {.name = "used_high", .offset = offsetof(struct budget_use, used) + 8, .kind = FIELD_U64}};
const struct fields state_budget_fields = FIELDS(budget_list);

#define RUNS(member) FIELD(runs, member)
static const struct field runs_list[] = {RUNS(added), RUNS(sorted_count), RUNS(changed)};
const struct fields state_runs_fields = FIELDS(runs_list);
