#include "proto/log_fact.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "proto/log_fields.h"

/* ---- words ---- */

#define WORD(of, type)                                                  \
        static const char *of##_word(unsigned value)                    \
        {                                                               \
                return of##_name((type)value);                          \
        }
WORD(gate, enum gate)
WORD(release_cause, enum release_cause)
WORD(standing, enum standing)
WORD(plan_cause, enum plan_cause)
WORD(notice_cause, enum notice_cause)
WORD(fact, enum fact_kind)
WORD(input, enum input_kind)

static const char *plan_end_word(unsigned end)
{
        return end == PLAN_DONE ? "done" : "withdrawn";
}

/* ---- facts: the fields of each kind ---- */

#define AT(wire, member) FIELD_NAMED(wire, fact, member)
#define AS(wire, member, of, end)                                                                \
        {.name = (wire), .offset = offsetof(struct fact, member), .kind = FIELD_OF(fact, member), \
         .word = of##_word, .words_count = (end)}
#define IN(wire, member, fields)                                                                 \
        {.name = (wire), .offset = offsetof(struct fact, member), .kind = FIELD_STRUCT,          \
         .of = &(fields)}

static const struct field queued[] = {IN("request", queued, log_request_fields)};
static const struct field refused[] = {
        AT("workload", refused.workload), AS("gate", refused.gate, gate, GATES_END),
        AT("has_nearest", refused.has_nearest), IN("nearest", refused.nearest, log_request_fields)};
static const struct field allocated[] = {IN("place", allocated, log_place_fields)};
static const struct field released[] = {
        AT("workload", released.workload),
        AS("cause", released.cause, release_cause, RELEASE_CAUSES_END),
        AT("lost_ms", released.lost_ms)};
static const struct field requeued[] = {
        AT("workload", requeued.workload),
        AS("cause", requeued.cause, release_cause, RELEASE_CAUSES_END),
        AT("attained_ms", requeued.attained_ms), AT("lost_ms", requeued.lost_ms),
        AT("counts", requeued.counts)};
static const struct field checkpoint[] = {AT("workload", checkpoint.workload),
                                          AT("saved_ms", checkpoint.saved_ms)};
static const struct field use[] = {AT("workload", use.workload),
                                   AT("idle_since_ms", use.idle_since_ms)};
static const struct field warned[] = {AT("workload", warned)};
static const struct field holds[] = {AT("workload", holds.workload), AT("holds", holds.holds)};
static const struct field rescued[] = {AT("workload", rescued)};
static const struct field standing[] = {
        AT("workload", standing.workload),
        AS("standing", standing.standing, standing, STANDINGS_END),
        AT("promise_tenant", standing.promise.tenant), AT("promise_any", standing.promise.any)};
static const struct field promises[] = {AT("tree", tree)};
static const struct field planned[] = {
        AT("workload", planned.beneficiary), AT("plan", planned.plan),
        AS("cause", planned.cause, plan_cause, PLAN_CAUSES_END), AT("victims", planned.victims),
        AT("places", planned.places), AT("until_ms", planned.until_ms),
        AT("loss", planned.loss)};
static const struct field kept[] = {AT("plan", kept.plan),
                                    IN("place", kept.place, log_place_fields)};
static const struct field noticed[] = {
        AT("workload", noticed.workload), AT("plan", noticed.plan),
        AS("cause", noticed.cause, notice_cause, NOTICE_CAUSES_END),
        AT("until_ms", noticed.until_ms), AT("leave_by_ms", noticed.leave_by_ms),
        AT("units", noticed.units)};
static const struct field stays[] = {AT("workload", stays)};
static const struct field plan_ended[] = {AT("plan", plan_ended.plan),
                                          AS("end", plan_ended.end, plan_end, PLAN_ENDS_END)};
static const struct field node_held[] = {AT("workload", node_held.workload),
                                         AT("node", node_held.node),
                                         AT("until_ms", node_held.until_ms)};
static const struct field freeze[] = {AT("plane", freeze.plane), AT("frozen", freeze.frozen)};
static const struct field eta[] = {AT("workload", eta.workload), AT("p50_ms", eta.p50_ms),
                                   AT("p90_ms", eta.p90_ms),
                                   AT("coverage_pct", eta.coverage_pct),
                                   AT("raw_ms", eta.raw_ms)};
static const struct field layout_step[] = {IN("step", layout_step, log_layout_fields)};
static const struct field layout_seen[] = {AT("node", layout_seen.node),
                                           IN("report", layout_seen.report, log_report_fields)};
static const struct field node_set[] = {AT("node", node_set.node),
                                        IN("desc", node_set.desc, log_desc_fields)};
static const struct field down[] = {AT("node", down.node), AT("silent", down.silent)};
static const struct field node[] = {AT("node", node)};
static const struct field time_set[] = {AT("now_ms", now_ms)};

static const struct fields fact_fields[FACTS_END] = {
        [FACT_QUEUED] = FIELDS(queued),
        [FACT_REFUSED] = FIELDS(refused),
        [FACT_ALLOCATED] = FIELDS(allocated),
        [FACT_RELEASED] = FIELDS(released),
        [FACT_REQUEUED] = FIELDS(requeued),
        [FACT_CHECKPOINT_SET] = FIELDS(checkpoint),
        [FACT_USE_SET] = FIELDS(use),
        [FACT_IDLE_WARNED] = FIELDS(warned),
        [FACT_HOLDS_SET] = FIELDS(holds),
        [FACT_RESCUED] = FIELDS(rescued),
        [FACT_STANDING_SET] = FIELDS(standing),
        [FACT_PROMISES_SEEN] = FIELDS(promises),
        [FACT_PLANNED] = FIELDS(planned),
        [FACT_PLACE_KEPT] = FIELDS(kept),
        [FACT_NOTICED] = FIELDS(noticed),
        [FACT_NOTICE_WITHDRAWN] = FIELDS(stays),
        [FACT_PLAN_ENDED] = FIELDS(plan_ended),
        [FACT_NODE_HELD] = FIELDS(node_held),
        [FACT_NODE_LET_GO] = FIELDS(node_held),
        [FACT_FREEZE_IN] = FIELDS(freeze),
        [FACT_ETA_SET] = FIELDS(eta),
        [FACT_LAYOUT_STEP] = FIELDS(layout_step),
        [FACT_LAYOUT_SEEN] = FIELDS(layout_seen),
        [FACT_NODE_SET] = FIELDS(node_set),
        [FACT_NODE_DOWN] = FIELDS(down),
        [FACT_NODE_GONE] = FIELDS(node),
        [FACT_TIME_SET] = FIELDS(time_set),
        /* POLICY_IN, MAINTENANCE_IN, DEMAND_SET: what they set is their input's. */
};

const struct fields *log_fact_fields(enum fact_kind kind)
{
        return &fact_fields[kind];
}

void log_fact_write(const struct fact *fact, struct text *text)
{
        text_add(text, "{\"fact\":\"%s\"", fact_name(fact->kind));
        fields_write(&fact_fields[fact->kind], fact, text);
        text_add_bytes(text, "}", 1);
}

/* The number of the word in the object's member; `end`: there is none. */
static unsigned kind_of(json_t *object, const char *member, field_word *word, unsigned end)
{
        const char *name = json_string_value(json_object_get(object, member));
        unsigned kind = 0;

        while (name && kind < end && !str_equal(word(kind), name))
                kind++;
        return name ? kind : end;
}

int log_fact_read(json_t *object, struct fact *ret_fact, struct err *err)
{
        static const char *const beside[] = {"fact", NULL};
        unsigned kind = kind_of(object, "fact", fact_word, FACTS_END);
        struct fact fact;
        int rc;

        if (kind == FACTS_END)
                return err_set(err, ERR_INPUT, "this is no fact that is known");
        memset(&fact, 0, sizeof fact);  /* an initializer would clear one member of the union */
        fact.kind = kind;
        rc = fields_read(&fact_fields[kind], object, beside, &fact, err);
        if (rc)
                return err_prefix(err, "fact '%s'", fact_name(kind));
        *ret_fact = fact;
        return 0;
}

/* ---- inputs ---- */

#undef AT
#undef IN
#define AT(wire, member) FIELD_NAMED(wire, input, member)
#define IN(wire, member, fields)                                                                \
        {.name = (wire), .offset = offsetof(struct input, member), .kind = FIELD_STRUCT,        \
         .of = &(fields)}

static const struct field in_request[] = {IN("request", request, log_request_fields)};
static const struct field in_workload[] = {AT("workload", workload)};
static const struct field in_hold[] = {AT("workload", hold.workload), AT("held", hold.held)};
static const struct field in_stop[] = {AT("workload", stop.workload),
                                       AT("notice_ms", stop.notice_ms)};
static const struct field in_move[] = {AT("workload", move.workload),
                                       AT("notice_ms", move.notice_ms), AT("node", move.node)};
static const struct field in_checkpoint[] = {AT("workload", checkpoint.workload),
                                             AT("age_ms", checkpoint.age_ms)};
static const struct field in_use[] = {AT("workload", use.workload),
                                      AT("idle_since_ms", use.idle_since_ms)};
static const struct field in_freeze[] = {AT("plane", freeze.plane), AT("frozen", freeze.frozen)};
static const struct field in_eta[] = {AT("workload", eta.workload), AT("p50_ms", eta.p50_ms),
                                      AT("p90_ms", eta.p90_ms),
                                      AT("coverage_pct", eta.coverage_pct),
                                   AT("raw_ms", eta.raw_ms)};
static const struct field in_node[] = {IN("desc", node, log_desc_fields)};
static const struct field in_node_name[] = {AT("node", node_name)};
static const struct field in_failed[] = {AT("node", failed.node_name), AT("silent", failed.silent)};
static const struct field in_broke[] = {AT("node", broke.node_name), AT("devices", broke.devices)};
static const struct field in_layout[] = {IN("report", layout, log_report_fields)};

static const struct fields input_fields[INPUTS_END] = {
        [INPUT_SUBMITTED] = FIELDS(in_request),      [INPUT_CANCELLED] = FIELDS(in_workload),
        [INPUT_EXITED] = FIELDS(in_workload),        [INPUT_FAILED] = FIELDS(in_workload),
        [INPUT_STOPPED] = FIELDS(in_workload),       [INPUT_CHECKPOINTED] = FIELDS(in_checkpoint),
        [INPUT_LOST] = FIELDS(in_workload),
        [INPUT_STOP_ASKED] = FIELDS(in_stop),        [INPUT_USE_REPORTED] = FIELDS(in_use),
        [INPUT_HOLD_CHANGED] = FIELDS(in_hold),      [INPUT_NODE_JOINED] = FIELDS(in_node),
        [INPUT_NODE_CHANGED] = FIELDS(in_node),      [INPUT_NODE_DESCRIBED] = FIELDS(in_node),
        [INPUT_NODE_FAILED] = FIELDS(in_failed),     [INPUT_DEVICES_FAILED] = FIELDS(in_broke),
        [INPUT_NODE_REMOVED] = FIELDS(in_node_name), [INPUT_LAYOUT_OBSERVED] = FIELDS(in_layout),
        [INPUT_FREEZE_SET] = FIELDS(in_freeze),      [INPUT_ETA_SET] = FIELDS(in_eta),
        [INPUT_MOVE_ASKED] = FIELDS(in_move),
        /* PLAN_SET, POLICY_SET, MAINTENANCE_SET: the caller's; TICKED has no fields. */
};

const struct fields *log_input_fields(enum input_kind kind)
{
        return &input_fields[kind];
}

void log_input_write(const struct input *input, struct text *text)
{
        text_add(text, "\"input\":\"%s\"", input_name(input->kind));
        fields_write(&input_fields[input->kind], input, text);
}

int log_input_read(json_t *object, const char *const *beside, struct input *ret_input,
                   struct err *err)
{
        enum { BESIDE_MAX = 8 };
        const char *skip[BESIDE_MAX + 2] = {"input"};
        unsigned kind = kind_of(object, "input", input_word, INPUTS_END);
        struct input input;
        int rc;

        if (kind == INPUTS_END)
                return err_set(err, ERR_INPUT, "this is no input that is known");
        for (size_t i = 0; beside && beside[i]; i++) {
                assert(i < BESIDE_MAX);
                skip[i + 1] = beside[i];
        }
        memset(&input, 0, sizeof input);
        input.kind = kind;
        rc = fields_read(&input_fields[kind], object, skip, &input, err);
        if (rc)
                return err_prefix(err, "input '%s'", input_name(kind));
        *ret_input = input;
        return 0;
}
