#include "cli/explain_at.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/command.h"
#include "proto/explain_json.h"
#include "proto/scenario.h"
#include "proto/when.h"
#include "sim/baseline.h"

#define LISTED_MAX 30 /* waiting workloads of a tenant */

static const char *job_name(void *arg, uint64_t id)
{
        char *buf = arg;

        snprintf(buf, 32, "job %" PRIu64, id);
        return buf;
}

/* ---- what is asked for ---- */

/* The replay ends with the look: what would be written at its end never comes. */
static int refuse_outputs(const struct command_call *call, struct err *err)
{
        static const char *const options[] = {"report", "ledger", "showback", "focus", "facts"};
        const char *json = command_value(call, "json");

        for (size_t o = 0; o < ARRAY_LEN(options); o++)
                if (command_value(call, options[o]))
                        return err_set(err, ERR_INPUT,
                                       "--%s is written at the end of a replay, and --explain-at "
                                       "ends it before; leave one of the two out",
                                       options[o]);
        if (json && !str_equal(json, "-"))
                return err_set(err, ERR_INPUT,
                               "with --explain-at, --json goes to standard output only; write "
                               "--json -");
        return 0;
}

static int check_ask(const struct explain_at *ask, const struct command_call *call,
                     const struct scenario *scenario, struct err *err)
{
        if (!ask->is_wanted) {
                if (ask->workload || ask->tenant || command_value(call, "view"))
                        return err_set(err, ERR_INPUT,
                                       "--workload, --tenant and --view go with "
                                       "--explain-at TIME");
                return 0;
        }
        if (!scenario_is_history(scenario))
                return err_set(err, ERR_INPUT, "--explain-at needs a history whose jobs wait");
        if (!scenario_has_policy(scenario))
                return err_set(err, ERR_INPUT,
                               "--explain-at needs a policy: name `default` or a "
                               "file in `policies`; queue rules say nothing of why");
        if (ask->as_tenant && !ask->tenant && !ask->workload)
                return err_set(err, ERR_INPUT, "--view tenant needs --tenant or --workload");
        return refuse_outputs(call, err);
}

int explain_at_ask(const struct command_call *call, const struct scenario *scenario,
                   struct explain_at *ret_ask, struct err *err)
{
        const char *at = command_value(call, "explain-at"), *view = command_value(call, "view");
        const char *workload = command_value(call, "workload"), *json = command_value(call, "json");
        struct explain_at ask = {.tenant = command_value(call, "tenant")};
        int rc = 0;

        ask.is_wanted = at != NULL;
        ask.as_json = json && str_equal(json, "-");
        if (at && (rc = when_parse(at, &ask.look.at_ms, err)) < 0)
                return err_prefix(err, "--explain-at");
        if (workload && (rc = num_u64(workload, 1, UINT32_MAX, &ask.workload, err)) < 0)
                return err_prefix(err, "--workload");
        if (view && !str_equal(view, "operator") && !str_equal(view, "tenant"))
                return err_set(err, ERR_INPUT, "--view is 'operator' or 'tenant', not '%s'", view);
        ask.as_tenant = view && str_equal(view, "tenant");
        rc = check_ask(&ask, call, scenario, err);
        if (rc == 0)
                *ret_ask = ask;
        return rc;
}

/* ---- what is shown ---- */

struct showing {
        const struct explain_at *ask;
        const struct state *state;
        struct memo *memo;
        int64_t now_ms;
        struct viewer viewer;
        struct explain_names names;
        struct explanation *record;
        char name[32];
};

static int print_json(char *text)
{
        printf("%s\n", text);
        free(text);
        return 0;
}

static int explain_one(struct showing *it, uint64_t id, struct err *err)
{
        int rc = explain(it->memo, it->state, id, it->now_ms, it->record, err);

        if (rc)
                return rc;
        it->record->snapshot = it->state->arrivals;
        struct viewer viewer = it->viewer;
        if (it->ask->as_tenant && !it->ask->tenant)
                viewer.tenant = it->record->request.tenant;
        return explain_view(it->record, it->state, viewer, err);
}

static int show_workload(struct showing *it, struct err *err)
{
        char *text;
        int rc = explain_one(it, it->ask->workload, err);

        if (rc)
                return rc;
        if (!it->ask->as_json) {
                explain_text(stdout, it->record, &it->names);
                return 0;
        }
        rc = explain_json(it->record, &it->names, &text, err);
        return rc ? rc : print_json(text);
}

/* Waiting work of the tenant, a line each as far as it is listed. */
static int list_waiting(struct showing *it, struct err *err)
{
        const struct state *state = it->state;
        uint32_t listed = 0;

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                char asks[EXPLAIN_TEXT_MAX], why[EXPLAIN_TEXT_MAX];
                if (!workload->live || workload->members_placed > 0 ||
                    !tenancy_is_below(state->accounts->tenancy,
                                      state->buckets[workload->bucket].tenant, it->viewer.tenant) ||
                    listed++ >= LISTED_MAX)
                        continue;
                int rc = explain_one(it, workload->id, err);
                if (rc)
                        return rc;
                printf("%-12s %-15s  %s: %s\n", job_name(it->name, workload->id),
                       verdict_name(it->record->verdict),
                       explain_request_text(&it->record->request, &it->names, asks),
                       explain_summary(it->record, &it->names, why));
        }
        if (listed > LISTED_MAX)
                printf("... and %" PRIu32 " more that wait\n", listed - LISTED_MAX);
        printf("%s", listed ? "\n" : "nothing waits\n\n");
        return 0;
}

/* Work of one bucket waits for one reason, apart from what is held: one of it is explained. */
static int count_waiting(struct showing *it, struct err *err)
{
        const struct state *state = it->state;
        uint64_t counts[VERDICTS_END] = {0};

        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                enum verdict verdict = VERDICTS_END;
                for (uint32_t slot = bucket->head; slot != NONE;
                     slot = state->workloads[slot].next) {
                        if (state->workloads[slot].holds || state->workloads[slot].plan) {
                                counts[state->workloads[slot].plan ? VERDICT_WAIT_PREEMPTION
                                                                   : VERDICT_HELD]++;
                                continue;
                        }
                        int rc = 0;
                        if (verdict == VERDICTS_END)
                                rc = explain_one(it, state->workloads[slot].id, err);
                        if (rc)
                                return rc;
                        verdict = it->record->verdict;
                        counts[verdict]++;
                }
        }
        printf("%" PRIu64 " workloads wait", state->waiting);
        for (unsigned v = 0; v < VERDICTS_END; v++)
                if (counts[v] > 0)
                        printf(", %" PRIu64 " %s", counts[v], verdict_name((enum verdict)v));
        printf("\n");
        return 0;
}

static int show_fits(struct showing *it, struct err *err)
{
        static struct explained_fits fits;
        const struct tenancy *tenancy = it->state->accounts->tenancy;
        uint16_t class = tenancy->default_class == CLASS_NONE ? 0 : tenancy->default_class;
        char *text;
        int rc =
                explain_fits(it->memo, it->state, it->viewer.tenant, class, it->now_ms, &fits, err);

        if (rc)
                return rc;
        if (it->ask->as_json) {
                rc = explain_fits_json(&fits, &it->names, &text, err);
                return rc ? rc : print_json(text);
        }
        printf("the largest that would start now in class %s:\n", tenancy->classes[class].name);
        explain_fits_text(stdout, &fits, &it->names);
        return 0;
}

static int show_idle(struct showing *it, struct err *err)
{
        static struct explained_idle idle;
        char *text;
        int rc = explain_idle(it->memo, it->state, it->now_ms, &idle, err);

        if (rc)
                return rc;
        if (it->ask->as_json) {
                rc = explain_idle_json(&idle, &it->names, &text, err);
                return rc ? rc : print_json(text);
        }
        explain_idle_text(stdout, &idle, &it->names);
        return 0;
}

static int find_tenant(struct showing *it, struct err *err)
{
        const struct explain_at *ask = it->ask;

        if (!ask->tenant)
                return 0;
        int tenant = tenancy_find(it->state->accounts->tenancy, ask->tenant);
        if (tenant < 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no tenant '%s'", ask->tenant);
        it->viewer.tenant = (uint16_t)tenant;
        return 0;
}

static int show(void *arg, const struct state *state, struct memo *memo, int64_t now_ms,
                struct err *err)
{
        struct explain_at *ask = arg;
        struct showing it = {.ask = ask,
                             .state = state,
                             .memo = memo,
                             .now_ms = now_ms,
                             .viewer = {.is_operator = !ask->as_tenant},
                             .record = mem_new(1, sizeof *it.record)};
        int rc = it.record ? find_tenant(&it, err) : err_set(err, ERR_NOMEM, "out of memory");

        it.names = (struct explain_names){
                .state = state, .workload = job_name, .arg = it.name, .clock = true};
        if (rc == 0 && ask->workload)
                rc = show_workload(&it, err);
        else if (rc == 0 && ask->tenant)
                rc = ask->as_json ? 0 : list_waiting(&it, err);
        else if (rc == 0)
                rc = ask->as_json ? 0 : count_waiting(&it, err);
        if (rc == 0 && !ask->workload)
                rc = ask->tenant ? show_fits(&it, err) : show_idle(&it, err);
        mem_free(it.record);
        return rc;
}

struct replay_look *explain_at_look(struct explain_at *ask)
{
        if (!ask->is_wanted)
                return NULL;
        ask->look.look = show;
        ask->look.arg = ask;
        return &ask->look;
}

int explain_at_end(const struct explain_at *ask, int rc, struct err *err)
{
        char when[WHEN_TEXT_MAX];

        if (rc == -ERR_CANCELLED && ask->look.seen)
                return 0;
        if (rc == 0)
                return err_set(err, ERR_INPUT, "--explain-at: the history ends before %s",
                               when_text(ask->look.at_ms, when));
        return rc;
}
