/* What the API shows of tenants: what they hold, and who of their work has been told to stop. */
#include "controller/view.h"

#include "controller/access.h"
#include "controller/live.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/calendar.h"
#include "proto/policy_doc.h"

/* ---- tenants ---- */

static json_t *amounts_of(struct live *live, const uint64_t *amounts)
{
        const struct tenancy *tenancy = core_tenancy(live->core);
        json_t *json = json_object();

        for (unsigned d = 0; d < DIMENSIONS_END; d++) {
                char name[POLICY_TEXT_MAX], amount[POLICY_TEXT_MAX];
                if (amounts[d] == AMOUNT_ABSENT ||
                    (d < MODELS_MAX && d >= model_count(core_models(live->core))) ||
                    (d >= DIM_SLICES && d >= DIM_SLICES + tenancy->profiles_count))
                        continue;
                view_set(json,
                    policy_dimension_key(tenancy, core_models(live->core), d, name),
                    json_string(policy_amount_text(d, amounts[d], amount)));
        }
        return json;
}

/* Its own; those of the tenants above it hold as well. */
static json_t *budgets_of(struct live *live, uint16_t number)
{
        const struct accounts *accounts = core_state(live->core)->accounts;
        const struct tenant *tenant = &accounts->tenancy->tenants[number];
        json_t *list = json_array();

        for (unsigned b = 0; b < tenant->budgets_count; b++) {
                const struct budget *budget = &tenant->budgets[b];
                const struct budget_use *use =
                        &accounts->budgets[(size_t)number * TENANT_BUDGETS_MAX + b];
                const struct model *model = budget->dimension == DIM_ANY
                                                    ? NULL
                                                    : model_get(core_models(live->core),
                                                                budget->dimension);
                json_t *row = json_object();
                view_set(row, "of", json_string(model ? model->name : "any"));
                view_set(row, "used", view_device_hours((uint64_t)(use->used / UNITS_DEVICE)));
                view_set(row, "device_hours", view_device_hours(budget->device_ms));
                view_set(row, "per", json_string(period_name((enum period)budget->period)));
                view_set(row, "until", view_time(use->until_ms));
                view_set(row, "on_empty", json_string(on_empty_names[budget->on_empty]));
                (void)json_array_append_new(list, row);
        }
        return list;
}

static json_t *tenant_row(struct live *live, uint16_t number)
{
        const struct accounts *accounts = core_state(live->core)->accounts;
        const struct tenant *tenant = &accounts->tenancy->tenants[number];
        uint64_t held = *account_held(accounts, number, DIM_ANY),
                 within = *account(accounts->within, number, DIM_ANY);
        json_t *row = json_object();

        view_set(row, "tenant", json_string(tenant->path));
        view_set(row, "protect", amounts_of(live, tenant->protect));
        view_set(row, "limit", amounts_of(live, tenant->limit));
        view_set(row, "held", view_devices(held));
        view_set(row, "protected", view_devices(within));
        view_set(row, "borrowed", view_devices(held - within));
        view_set(row, "spare", view_devices(*account(accounts->spare, number, DIM_ANY)));
        view_set(row, "workloads",
            json_integer((json_int_t)*account_held(accounts, number, DIM_JOBS)));
        view_set(row, "running",
            json_integer((json_int_t)*account_held(accounts, number, DIM_RUNNING)));
        view_set(row, "budgets", budgets_of(live, number));
        return row;
}

json_t *view_tenants(struct live *live, const char *tenant)
{
        const struct tenancy *tenancy = core_tenancy(live->core);
        json_t *json = json_object(), *rows = json_array();

        for (uint32_t t = 0; tenancy && t < tenancy->tenants_count; t++)
                if (!tenant || tenant_is_below(tenancy->tenants[t].path, tenant))
                        (void)json_array_append_new(rows, tenant_row(live, (uint16_t)t));
        view_set(json, "tenants", rows);
        return json;
}

/* ---- notices ---- */

/* Whom the plan that it has to leave for makes room for, as last_stop.h tells it afterwards. */
static json_t *beneficiary_of(const struct live *live, const struct workload *workload,
                              const struct work *work, bool sees_all)
{
        const struct state *state = core_state(live->core);

        if (!workload->plan || !state->accounts)
                return json_null();
        const struct workload *other =
                &state->workloads[state->plans[workload->plan - 1].beneficiary];
        const struct work *of = works_find(core_works(live->core), other->id);
        if (other == workload || !of)
                return json_null();
        bool is_shown = sees_all || tenant_is_below(of->tenant, work->tenant);
        uint16_t class = state->buckets[other->bucket].class;
        json_t *json = json_object();
        view_set(json, "workload", is_shown ? json_integer((json_int_t)of->id) : json_null());
        view_set(json, "name", is_shown ? json_string(of->name) : json_null());
        view_set(json, "tenant", is_shown ? json_string(of->tenant) : json_null());
        view_set(json, "class", json_string(state->accounts->tenancy->classes[class].name));
        return json;
}

json_t *view_notices(struct live *live, const char *tenant, bool sees_all)
{
        const struct state *state = core_state(live->core);
        json_t *json = json_object(), *rows = json_array();

        for (uint32_t w = 0; state->noticed > 0 && w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                const struct work *work = workload->live && workload->notice_until_ms
                                                  ? works_find(core_works(live->core),
                                                               workload->id)
                                                  : NULL;
                if (!work || (tenant && !tenant_is_below(work->tenant, tenant)))
                        continue;
                json_t *row = json_object();
                view_set(row, "workload", json_integer((json_int_t)work->id));
                view_set(row, "name", json_string(work->name));
                view_set(row, "tenant", json_string(work->tenant));
                view_set(row, "cause",
                    json_string(notice_cause_name((enum notice_cause)workload->notice_cause)));
                view_set(row, "until", view_time(workload->notice_until_ms));
                view_set(row, "for", beneficiary_of(live, workload, work, sees_all));
                (void)json_array_append_new(rows, row);
        }
        view_set(json, "notices", rows);
        return json;
}
