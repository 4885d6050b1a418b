/* What is planned by the calendar: reservations, maintenance, and what a window means for work. */
#include "controller/view.h"

#include <inttypes.h>

#include "base/str.h"
#include "controller/access.h"
#include "controller/live.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/drain.h"
#include "engine/maintenance.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"

/* Its times as they were written; the one that is open, or comes next; and which that is. */
static void add_window(json_t *row, const struct calendar_window *window, int64_t now_ms)
{
        int64_t from = 0, until = 0;
        bool comes = calendar_window_next(window, now_ms, &from, &until);

        view_set(row, "from", view_time(window->from_ms));
        view_set(row, "until", view_time(window->until_ms));
        view_set(row, "every_ms",
                 window->every_ms ? json_integer(window->every_ms) : json_null());
        view_set(row, "last", view_time(window->last_ms));
        view_set(row, "state", json_string(!comes ? "past" : from <= now_ms ? "active"
                                                                           : "planned"));
        view_set(row, "next_from", view_time(comes ? from : 0));
        view_set(row, "next_until", view_time(comes ? until : 0));
}

/* ---- reservations ---- */

static json_t *reservation_row(struct live *live, const struct reservation *reservation)
{
        const struct accounts *accounts = core_state(live->core)->accounts;
        const struct tenancy *tenancy = accounts->tenancy;
        const struct calendar_window window = {reservation->from_ms, reservation->until_ms,
                                               reservation->every_ms, reservation->last_ms};
        json_t *row = json_object(), *devices = json_object(), *held = json_object();

        view_set(row, "name", json_string(reservation->name));
        view_set(row, "tenant", json_string(tenancy->tenants[reservation->tenant].path));
        for (unsigned m = 0; m < reservation->models_count; m++) {
                unsigned dimension = reservation->models[m];
                char name[POLICY_TEXT_MAX];
                policy_dimension_key(tenancy, core_models(live->core), dimension, name);
                view_set(devices, name, view_devices(reservation->units[m]));
                view_set(held, name,
                         view_devices(*account_held(accounts, reservation->tenant, dimension)));
        }
        view_set(row, "devices", devices);
        view_set(row, "held", held);
        view_set(row, "unused", json_string(unused_names[reservation->unused]));
        add_window(row, &window, core_now_ms(live->core));
        return row;
}

json_t *view_reservations(struct live *live, const char *tenant)
{
        const struct tenancy *tenancy = core_tenancy(live->core);
        json_t *json = json_object(), *rows = json_array();

        for (uint32_t r = 0; tenancy && r < tenancy->reservations_count; r++) {
                const struct reservation *reservation = &tenancy->reservations[r];
                if (!tenant ||
                    tenant_is_below(tenancy->tenants[reservation->tenant].path, tenant))
                        (void)json_array_append_new(rows, reservation_row(live, reservation));
        }
        view_set(json, "reservations", rows);
        return json;
}

/* ---- maintenance ---- */

static json_t *window_row(struct live *live, const struct pool_doc *pool, uint32_t *at)
{
        const struct maintenance *maintenance = &pool->maintenance;
        const struct maintenance_window *first = &maintenance->windows[*at];
        const struct vocab *vocab = core_state(live->core)->vocab;
        json_t *row = json_object(), *nodes = json_array();

        view_set(row, "name", json_string(first->name));
        view_set(row, "plane",
                 first->plane ? json_string(vocab_text(vocab, first->plane)) : json_null());
        view_set(row, "reason",
                 pool->reasons[*at][0] ? json_string(pool->reasons[*at]) : json_null());
        add_window(row, &first->when, core_now_ms(live->core));
        for (; *at < maintenance->count &&
               str_equal(maintenance->windows[*at].name, first->name); ++*at)
                if (maintenance->windows[*at].node)
                        (void)json_array_append_new(
                                nodes, json_string(vocab_name_text(
                                               vocab, maintenance->windows[*at].node)));
        view_set(row, "nodes", nodes);
        return row;
}

json_t *view_maintenance(struct live *live)
{
        json_t *json = json_object(), *rows = json_array();

        for (uint32_t at = 0; live->pool && at < live->pool->maintenance.count;)
                (void)json_array_append_new(rows, window_row(live, live->pool, &at));
        view_set(json, "maintenance", rows);
        return json;
}

/* ---- what has to stop ---- */

struct reach {
        const struct maintenance_window *window;
        uint32_t node;
        int64_t from_ms;
};

static int64_t next_from(const struct maintenance *maintenance, const struct node *node,
                         int64_t now_ms, const struct maintenance_window **ret_window)
{
        int64_t from = INT64_MAX, until;

        *ret_window = maintenance_next(maintenance, &node->desc, now_ms, &from, &until);
        return *ret_window ? from : INT64_MAX;
}

/* The first window that the work's nodes are reached by, sooner than by what is in force. */
static bool find_reach(const struct state *state, const struct workload *workload,
                       const struct pool_doc *pool, int64_t now_ms, struct reach *ret_reach)
{
        struct reach reach = {.from_ms = INT64_MAX};

        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct node *node = &state->nodes[state->members[at].node];
                const struct maintenance_window *window, *old;
                int64_t from = next_from(&pool->maintenance, node, now_ms, &window);
                if (from < reach.from_ms &&
                    from < next_from(&state->maintenance, node, now_ms, &old))
                        reach = (struct reach){window, state->members[at].node, from};
        }
        *ret_reach = reach;
        return reach.window != NULL;
}

static json_t *stop_row(struct live *live, uint32_t slot, const struct work *work,
                        const struct reach *reach)
{
        const struct state *state = core_state(live->core);
        const struct workload *workload = &state->workloads[slot];
        int64_t now = core_now_ms(live->core), notice = 0, until = reach->from_ms;
        json_t *row = json_object();

        if (state->accounts)
                notice = class_of(state, workload->bucket)->notice_ms;
        int64_t told = reach->from_ms - notice - DRAIN_EARLY_MS;
        told = told > now ? told : now;
        until = told + notice > until ? told + notice : until;
        view_set(row, "workload", json_integer((json_int_t)work->id));
        view_set(row, "name", json_string(work->name));
        view_set(row, "tenant", json_string(work->tenant));
        view_set(row, "node", json_string(vocab_name_text(state->vocab,
                                                          state->nodes[reach->node].desc.name)));
        view_set(row, "window", json_string(reach->window->name));
        view_set(row, "told", view_time(told));
        view_set(row, "until", view_time(until));
        view_set(row, "ends_before",
                 json_boolean(!workload->service &&
                              now + expected_left_ms(state, slot, BACKFILL_PERCENT, now) <=
                                      reach->from_ms));
        return row;
}

json_t *view_stops(struct live *live, const struct pool_doc *pool)
{
        const struct state *state = core_state(live->core);
        json_t *rows = json_array();

        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                struct reach reach;
                if (!workload->live || workload->members_placed == 0 ||
                    !find_reach(state, workload, pool, core_now_ms(live->core), &reach))
                        continue;
                const struct work *work = works_find(core_works(live->core), workload->id);
                if (work)
                        (void)json_array_append_new(rows, stop_row(live, w, work, &reach));
        }
        return rows;
}
