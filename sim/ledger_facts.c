#include "sim/ledger_facts.h"

#include <inttypes.h>

#include "base/text.h"
#include "engine/accounts.h"
#include "engine/state.h"
#include "sim/ledger_book.h"

static void add_string(struct text *text, const char *string)
{
        text_add(text, "\"");
        for (const char *at = string; *at; at++)
                if (*at == '"' || *at == '\\')
                        text_add(text, "\\%c", *at);
                else if ((unsigned char)*at < 0x20)
                        text_add(text, "\\u%04x", (unsigned)(unsigned char)*at);
                else
                        text_add(text, "%c", *at);
        text_add(text, "\"");
}

static void add_node(struct text *text, const struct state *state, uint32_t number,
                     const struct node_desc *desc, int64_t at_ms)
{
        text_add(text,
                 "{\"t\":%" PRId64 ",\"fact\":\"node_set\",\"node\":%" PRIu32 ",\"model\":", at_ms,
                 number);
        add_string(text, desc->devices ? model_get(state->models, desc->model)->name : "");
        text_add(text,
                 ",\"devices\":%u,\"cpu_milli\":%" PRIu32 ",\"ram_mib\":%" PRIu32
                 ",\"drained\":%s,\"broken\":%u}\n",
                 desc->devices, desc->cpu_milli, desc->ram_mib, desc->drained ? "true" : "false",
                 desc->broken);
}

void ledger_facts_start(struct text *text, const struct ledger_run *run, const struct state *state)
{
        text_add(text, "{\"run\":{\"policy\":");
        add_string(text, run->policy);
        text_add(text, ",\"placement\":");
        add_string(text, run->placement);
        text_add(text, ",\"seed\":%" PRIu64 ",\"from\":%" PRId64 ",\"until\":%" PRId64 "}}\n",
                 run->seed, run->from_ms, run->until_ms);
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status != NODE_FREE_SLOT)
                        add_node(text, state, n, &state->nodes[n].desc, run->from_ms);
}

static void add_queued(struct text *text, const struct state *state, const struct request *request)
{
        const struct accounts *accounts = state->accounts;

        text_add(text, ",\"workload\":%" PRIu64 ",\"tenant\":", request->workload);
        add_string(text, accounts ? accounts->tenancy->tenants[request->tenant].path : "-");
        text_add(text, ",\"class\":");
        add_string(text, accounts ? accounts->tenancy->classes[request->class].name : "-");
        text_add(text,
                 ",\"members\":%" PRIu32 ",\"devices\":%u,\"cpu_milli\":%" PRIu32
                 ",\"ram_mib\":%" PRIu32,
                 request->form.members, request->need.devices, request->need.cpu_milli,
                 request->need.ram_mib);
}

static void add_parts(struct text *text, const struct state *state,
                      const struct fact_allocated *place)
{
        static const char *const methods[METHODS_END] = {"whole", "slice", "share"};
        const struct model *model = node_model(state, place->node);

        text_add(text, ",\"node\":%" PRIu32 ",\"parts\":[", place->node);
        for (unsigned p = 0; p < place->parts_count; p++)
                text_add(text, "%s[%u,\"%s\",%" PRIu32 "]", p ? "," : "", place->parts[p].device,
                         methods[place->parts[p].method], part_units(model, &place->parts[p]));
        text_add(text, "]");
}

static void add_of_work(struct text *text, const struct state *state, const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_QUEUED:
                add_queued(text, state, &fact->queued);
                break;
        case FACT_REFUSED:
                text_add(text, ",\"workload\":%" PRIu64, fact->refused.workload);
                break;
        case FACT_ALLOCATED:
                text_add(text, ",\"workload\":%" PRIu64 ",\"member\":%u,\"standing\":\"%s\"",
                         fact->allocated.workload, fact->allocated.member,
                         standing_name((enum standing)fact->allocated.standing));
                add_parts(text, state, &fact->allocated);
                break;
        case FACT_RELEASED:
                text_add(text, ",\"workload\":%" PRIu64 ",\"cause\":\"%s\",\"lost_ms\":%" PRId64,
                         fact->released.workload, release_cause_name(fact->released.cause),
                         fact->released.lost_ms);
                break;
        case FACT_REQUEUED:
                text_add(text, ",\"workload\":%" PRIu64 ",\"cause\":\"%s\",\"lost_ms\":%" PRId64,
                         fact->requeued.workload, release_cause_name(fact->requeued.cause),
                         fact->requeued.lost_ms);
                break;
        case FACT_ETA_SET:
                text_add(text,
                         ",\"workload\":%" PRIu64 ",\"p50_ms\":%" PRId64 ",\"p90_ms\":%" PRId64
                         ",\"coverage_pct\":%u",
                         fact->eta.workload, fact->eta.p50_ms, fact->eta.p90_ms,
                         fact->eta.coverage_pct);
                break;
        case FACT_USE_SET:
                text_add(text, ",\"workload\":%" PRIu64 ",\"idle_since\":", fact->use.workload);
                if (fact->use.idle_since_ms)
                        text_add(text, "%" PRId64, fact->use.idle_since_ms);
                else
                        text_add(text, "null");
                break;
        case FACT_IDLE_WARNED:
                text_add(text, ",\"workload\":%" PRIu64, fact->warned);
                break;
        case FACT_STANDING_SET:
                text_add(text, ",\"workload\":%" PRIu64 ",\"standing\":\"%s\"",
                         fact->standing.workload, standing_name(fact->standing.standing));
                break;
        default:
                break;
        }
}

static void add_of_plans(struct text *text, const struct state *state, const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_PLANNED:
                text_add(text, ",\"plan\":%" PRIu32 ",\"workload\":%" PRIu64 ",\"cause\":\"%s\"",
                         fact->planned.plan, fact->planned.beneficiary,
                         plan_cause_name(fact->planned.cause));
                break;
        case FACT_PLACE_KEPT:
                text_add(text, ",\"plan\":%" PRIu32, fact->kept.plan);
                add_parts(text, state, &fact->kept.place);
                break;
        case FACT_NOTICED:
                text_add(text, ",\"workload\":%" PRIu64, fact->noticed.workload);
                if (fact->noticed.plan != NONE)
                        text_add(text, ",\"plan\":%" PRIu32, fact->noticed.plan);
                text_add(text, ",\"cause\":\"%s\",\"until\":%" PRId64,
                         notice_cause_name(fact->noticed.cause), fact->noticed.until_ms);
                break;
        case FACT_NOTICE_WITHDRAWN:
                text_add(text, ",\"workload\":%" PRIu64, fact->stays);
                break;
        case FACT_PLAN_ENDED:
                text_add(text, ",\"plan\":%" PRIu32, fact->plan_ended.plan);
                break;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                text_add(text, ",\"workload\":%" PRIu64 ",\"node\":%" PRIu32,
                         fact->node_held.workload, fact->node_held.node);
                break;
        case FACT_NODE_DOWN:
                text_add(text, ",\"node\":%" PRIu32, fact->down.node);
                break;
        case FACT_NODE_GONE:
                text_add(text, ",\"node\":%" PRIu32, fact->node);
                break;
        default:
                break;
        }
}

void ledger_facts_add(struct text *text, const struct state *state, const struct fact *fact,
                      int64_t now_ms)
{
        if (fact->kind == FACT_NODE_SET) {
                add_node(text, state, fact->node_set.node, &fact->node_set.desc, now_ms);
                return;
        }
        text_add(text, "{\"t\":%" PRId64 ",\"fact\":\"%s\"", now_ms, fact_name(fact->kind));
        add_of_work(text, state, fact);
        add_of_plans(text, state, fact);
        text_add(text, "}\n");
}

void ledger_facts_overhead(struct text *text, uint64_t workload, int64_t now_ms, int64_t until_ms)
{
        text_add(text,
                 "{\"t\":%" PRId64 ",\"fact\":\"overhead\",\"workload\":%" PRIu64
                 ",\"until\":%" PRId64 "}\n",
                 now_ms, workload, until_ms);
}
