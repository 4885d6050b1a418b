#include "proto/log_fields.h"

#include "engine/fact.h"

#define NEED(member) FIELD(need, member)
static const struct field need_list[] = {
        NEED(models), NEED(cpu_milli), NEED(ram_mib),     NEED(disk_mib), NEED(network_mbit),
        NEED(memory_mib), NEED(share_milli), NEED(profile), NEED(plane), NEED(where),
        NEED(artifact), NEED(ask), NEED(devices), NEED(methods)};
const struct fields log_need_fields = FIELDS(need_list);

#define FORM(member) FIELD(form, member)
static const struct field form_list[] = {FORM(members), FORM(near), FORM(near_required),
                                         FORM(spread)};
const struct fields log_form_fields = FIELDS(form_list);

#define REQUEST(member) FIELD(request, member)
static const struct field request_list[] = {
        REQUEST(workload),
        FIELD_STRUCT_OF(request, need, log_need_fields),
        FIELD_STRUCT_OF(request, form, log_form_fields),
        REQUEST(priority),
        REQUEST(tenant),
        REQUEST(class),
        REQUEST(data),
        REQUEST(group),
        REQUEST(once),
        REQUEST(spare),
        REQUEST(user_hold),
        REQUEST(service),
        REQUEST(serve),
        FIELD_LIST_OF_NUMBERS(request, after, after_count),
        REQUEST(retries),
        REQUEST(array),
        REQUEST(array_at_once),
        REQUEST(start_ms),
        REQUEST(time_limit_ms),
        REQUEST(checkpoint_every_ms),
        REQUEST(checkpoint_within_ms)};
const struct fields log_request_fields = FIELDS(request_list);

#define PART(member) FIELD(part, member)
static const struct field part_list[] = {PART(device), PART(method),      PART(profile),
                                         PART(start),  PART(share_milli), PART(memory_mib)};
const struct fields log_part_fields = FIELDS(part_list);

static const char *standing_word(unsigned standing)
{
        return standing_name((enum standing)standing);
}

#define PLACE(member) FIELD(fact_allocated, member)
static const struct field place_list[] = {
        PLACE(workload),
        PLACE(node),
        PLACE(member),
        FIELD_WORD(fact_allocated, standing, standing_word, STANDINGS_END),
        FIELD_NAMED("promise_tenant", fact_allocated, promise.tenant),
        FIELD_NAMED("promise_any", fact_allocated, promise.any),
        FIELD_LIST_OF(fact_allocated, parts, parts_count, log_part_fields)};
const struct fields log_place_fields = FIELDS(place_list);

#define DESC(member) FIELD(node_desc, member)
static const struct field desc_list[] = {
        DESC(name),     DESC(plane),     DESC(labels),   DESC(nvlink),       DESC(rack),
        DESC(block),    DESC(model),     DESC(devices),  DESC(link_group),   DESC(drained),
        DESC(drain_by_ms), DESC(broken), DESC(cpu_milli), DESC(ram_mib),     DESC(disk_mib),
        DESC(network_mbit), DESC(artifacts)};
const struct fields log_desc_fields = FIELDS(desc_list);

static const char *layout_word(unsigned op)
{
        return layout_op_name((enum layout_op)op);
}

#define LAYOUT(member) FIELD(fact_layout, member)
static const struct field layout_list[] = {
        LAYOUT(node), LAYOUT(epoch), LAYOUT(device),
        FIELD_WORD(fact_layout, op, layout_word, LAYOUT_OPS_END),
        LAYOUT(profile), LAYOUT(start)};
const struct fields log_layout_fields = FIELDS(layout_list);

#define REPORT(member) FIELD(layout_report, member)
static const struct field report_list[] = {REPORT(node), REPORT(device), REPORT(failed),
                                           REPORT(foreign_slots), REPORT(epoch)};
const struct fields log_report_fields = FIELDS(report_list);
