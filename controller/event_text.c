#include "controller/event_text.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/text.h"
#include "controller/view.h"
#include "engine/model.h"
#include "engine/vocab.h"

#define NO_NODE UINT32_MAX

/* ---- what a fact is of ---- */

uint64_t event_workload(const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_QUEUED:
                return fact->queued.workload;
        case FACT_REFUSED:
                return fact->refused.workload;
        case FACT_ALLOCATED:
                return fact->allocated.workload;
        case FACT_RELEASED:
                return fact->released.workload;
        case FACT_REQUEUED:
                return fact->requeued.workload;
        case FACT_CHECKPOINT_SET:
                return fact->checkpoint.workload;
        case FACT_USE_SET:
                return fact->use.workload;
        case FACT_IDLE_WARNED:
                return fact->warned;
        case FACT_HOLDS_SET:
                return fact->holds.workload;
        case FACT_RESCUED:
                return fact->rescued;
        case FACT_STANDING_SET:
                return fact->standing.workload;
        case FACT_PLANNED:
                return fact->planned.beneficiary;
        case FACT_PLACE_KEPT:
                return fact->kept.place.workload;
        case FACT_NOTICED:
                return fact->noticed.workload;
        case FACT_NOTICE_WITHDRAWN:
                return fact->stays;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                return fact->node_held.workload;
        case FACT_ETA_SET:
                return fact->eta.workload;
        default:                        /* the pool's */
                return 0;
        }
}

uint32_t event_node(const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_ALLOCATED:
                return fact->allocated.node;
        case FACT_PLACE_KEPT:
                return fact->kept.place.node;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                return fact->node_held.node;
        case FACT_LAYOUT_STEP:
                return fact->layout_step.node;
        case FACT_LAYOUT_SEEN:
                return fact->layout_seen.node;
        case FACT_NODE_SET:
                return fact->node_set.node;
        case FACT_NODE_DOWN:
                return fact->down.node;
        case FACT_NODE_GONE:
                return fact->node;
        default:
                return NO_NODE;
        }
}

bool event_is_own(const struct fact *fact)
{
        return event_workload(fact) != 0;
}

bool event_has_more(const struct fact *fact)
{
        return fact->kind == FACT_PLANNED || fact->kind == FACT_PLACE_KEPT ||
               fact->kind == FACT_NOTICED || fact->kind == FACT_NODE_HELD ||
               fact->kind == FACT_NODE_LET_GO;
}

/* ---- members ---- */

static void add_text(struct text *text, const char *key, const char *value)
{
        text_add(text, ",\"%s\":", key);
        if (value)
                text_add_json(text, value);
        else
                text_add(text, "null");
}

static void add_number(struct text *text, const char *key, int64_t value)
{
        text_add(text, ",\"%s\":", key);
        text_add_i64(text, value);
}

static void add_flag(struct text *text, const char *key, bool value)
{
        text_add(text, ",\"%s\":%s", key, value ? "true" : "false");
}

static void add_time(struct text *text, const char *key, int64_t ms)
{
        char when[VIEW_TIME_MAX];

        if (ms)
                text_add(text, ",\"%s\":\"%s\"", key, view_time_text(ms, when));
        else
                text_add(text, ",\"%s\":null", key);
}

static void add_place(struct text *text, const struct fact_allocated *place)
{
        static const char *const methods[METHODS_END] = {
                [METHOD_WHOLE] = "whole", [METHOD_SLICE] = "slice", [METHOD_SHARE] = "share"};

        text_add(text, ",\"devices\":[");
        for (unsigned p = 0; p < place->parts_count; p++)
                text_add(text, p ? ",%u" : "%u", place->parts[p].device);
        text_add(text, "]");
        if (place->parts_count > 0)
                add_text(text, "method", methods[place->parts[0].method]);
}

static void add_holds(struct text *text, unsigned holds)
{
        static const struct {
                unsigned bit;
                const char *word;
        } words[] = {{HOLD_USER, "user"}, {HOLD_AFTER, "after"}, {HOLD_START, "start"},
                     {HOLD_ARRAY, "array"}};
        const char *between = "";

        text_add(text, ",\"holds\":[");
        for (unsigned w = 0; w < ARRAY_LEN(words); w++) {
                if (!(holds & words[w].bit))
                        continue;
                text_add(text, "%s\"%s\"", between, words[w].word);
                between = ",";
        }
        text_add(text, "]");
}

/* ---- of a workload ---- */

static void add_ended(struct text *text, enum release_cause cause, int64_t lost_ms)
{
        add_text(text, "cause", release_cause_name(cause));
        add_number(text, "lost_ms", lost_ms);
}

static void add_noticed(struct text *text, const struct fact_noticed *fact, bool all)
{
        add_text(text, "cause", notice_cause_name(fact->cause));
        add_time(text, "until", fact->until_ms);
        if (fact->leave_by_ms)
                add_time(text, "leave_by", fact->leave_by_ms);
        if (all && fact->cause == NOTICE_PLAN)
                add_number(text, "plan", fact->plan);
}

static void add_planned(struct text *text, const struct fact_planned *fact, bool all)
{
        add_text(text, "cause", plan_cause_name(fact->cause));
        add_time(text, "until", fact->until_ms);
        if (!all)
                return;
        add_number(text, "plan", fact->plan);
        add_number(text, "victims", fact->victims);
        add_number(text, "places", fact->places);
}

/* What waits, and what becomes of it. False: the fact is none of these. */
static bool add_of_waiting(struct text *text, const struct fact *fact, bool all)
{
        switch (fact->kind) {
        case FACT_QUEUED:
                add_number(text, "members", fact->queued.form.members);
                return true;
        case FACT_REFUSED:
                add_text(text, "gate", gate_name(fact->refused.gate));
                return true;
        case FACT_HOLDS_SET:
                add_holds(text, fact->holds.holds);
                return true;
        case FACT_PLANNED:
                add_planned(text, &fact->planned, all);
                return true;
        case FACT_PLACE_KEPT:
                add_number(text, "member", fact->kept.place.member);
                if (all) {
                        add_number(text, "plan", fact->kept.plan);
                        add_place(text, &fact->kept.place);
                }
                return true;
        case FACT_NODE_HELD:
                add_time(text, "until", fact->node_held.until_ms);
                return true;
        case FACT_ETA_SET:
                add_number(text, "p50_ms", fact->eta.p50_ms);
                add_number(text, "p90_ms", fact->eta.p90_ms);
                add_number(text, "coverage_pct", fact->eta.coverage_pct);
                return true;
        default:
                return false;
        }
}

static bool add_of_running(struct text *text, const struct fact *fact, bool all)
{
        switch (fact->kind) {
        case FACT_ALLOCATED:
                add_number(text, "member", fact->allocated.member);
                add_text(text, "standing", standing_name(fact->allocated.standing));
                add_place(text, &fact->allocated);
                return true;
        case FACT_RELEASED:
                add_ended(text, fact->released.cause, fact->released.lost_ms);
                return true;
        case FACT_REQUEUED:
                add_ended(text, fact->requeued.cause, fact->requeued.lost_ms);
                add_number(text, "attained_ms", fact->requeued.attained_ms);
                add_flag(text, "counts", fact->requeued.counts);
                return true;
        case FACT_CHECKPOINT_SET:
                add_number(text, "saved_ms", fact->checkpoint.saved_ms);
                return true;
        case FACT_USE_SET:
                add_time(text, "idle_since", fact->use.idle_since_ms);
                return true;
        case FACT_STANDING_SET:
                add_text(text, "standing", standing_name(fact->standing.standing));
                return true;
        case FACT_NOTICED:
                add_noticed(text, &fact->noticed, all);
                return true;
        default:
                return false;
        }
}

/* ---- of the pool ---- */

static void add_desc(struct text *text, const struct node_desc *desc,
                     const struct event_about *about)
{
        add_text(text, "plane", vocab_text(about->vocab, desc->plane));
        if (desc->devices)
                add_text(text, "model", model_get(about->models, desc->model)->name);
        add_number(text, "devices", desc->devices);
        add_flag(text, "drained", desc->drained);
        if (desc->drain_by_ms)
                add_time(text, "drain_by", desc->drain_by_ms);
        text_add(text, ",\"broken\":[");
        for (unsigned d = 0, shown = 0; d < desc->devices; d++)
                if (desc->broken >> d & 1)
                        text_add(text, shown++ ? ",%u" : "%u", d);
        text_add(text, "]");
}

static void add_layout_seen(struct text *text, const struct layout_report *report)
{
        add_number(text, "device", report->device);
        add_number(text, "epoch", report->epoch);
        add_flag(text, "failed", report->failed);
        if (report->foreign_slots)
                add_number(text, "foreign_slots", __builtin_popcount(report->foreign_slots));
}

static void add_of_pool(struct text *text, const struct fact *fact,
                        const struct event_about *about)
{
        switch (fact->kind) {
        case FACT_PLAN_ENDED:
                add_number(text, "plan", fact->plan_ended.plan);
                add_text(text, "end", fact->plan_ended.end == PLAN_DONE ? "done" : "withdrawn");
                break;
        case FACT_FREEZE_IN:
                add_text(text, "plane",
                         fact->freeze.plane ? vocab_text(about->vocab, fact->freeze.plane) : NULL);
                add_flag(text, "frozen", fact->freeze.frozen);
                break;
        case FACT_LAYOUT_STEP:
                add_number(text, "device", fact->layout_step.device);
                add_number(text, "epoch", fact->layout_step.epoch);
                add_text(text, "step", layout_op_name(fact->layout_step.op));
                break;
        case FACT_LAYOUT_SEEN:
                add_layout_seen(text, &fact->layout_seen.report);
                break;
        case FACT_NODE_SET:
                add_desc(text, &fact->node_set.desc, about);
                break;
        default:                        /* its name and time say all */
                break;
        }
}

void event_write(const struct fact *fact, const struct event_about *about, enum event_view view,
                 struct text *text)
{
        uint64_t workload = event_workload(fact);
        bool all = view == EVENT_ALL;
        char when[VIEW_TIME_MAX];

        text_add(text, "{\"at\":\"%s\"", view_time_text(about->at_ms, when));
        if (workload) {
                add_number(text, "workload", (int64_t)workload);
                add_text(text, "name", about->name);
                add_text(text, "tenant", about->tenant);
                add_text(text, "user", about->user);
        }
        if (event_node(fact) != NO_NODE && (all || fact->kind == FACT_ALLOCATED))
                add_text(text, "node", about->node);
        if (!workload)
                add_of_pool(text, fact, about);
        else if (!add_of_waiting(text, fact, all))
                (void)add_of_running(text, fact, all);
        text_add(text, "}");
}
