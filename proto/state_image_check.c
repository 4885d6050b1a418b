/* Whether what was read of a state can be followed: links, lists, and numbers that name things. */
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "proto/state_image_impl.h"

/* The tables with free lists, and where they stand in a state. */
#define TABLES(X)                                       \
        X(NODES,     nodes,       node_slots)           \
        X(WORKLOADS, workloads,   workload_slots)       \
        X(MEMBERS,   members,     member_slots)         \
        X(PARTS,     parts,       part_slots)           \
        X(PLANS,     plans,       plan_slots)           \
        X(PLACES,    plan_places, plan_place_slots)     \
        X(AFTERS,    afters,      after_slots)

enum table {
#define X(name, rows, slots) TABLE_##name,
        TABLES(X)
#undef X
        TABLES_END
};

static const char *const table_names[] = {
#define X(name, rows, slots) #rows,
        TABLES(X)
#undef X
};

/* Where a row was met: it stands in each list once. */
enum { MET_FREE = 1, MET_OWNED = 2, MET_ON_NODE = 4, MET_IN_GROUP = 8 };

struct check {
        const struct state *state;
        unsigned char *met[TABLES_END];
        uint32_t *victims;              /* of each plan, as counted */
        struct err *err;
};

static int refuse(const struct check *check, const char *table, uint32_t row, const char *what)
{
        return err_set(check->err, ERR_INPUT, "snapshot: row %u of table '%s' %s", row, table,
                       what);
}

static const struct slots *slots_of(const struct state *state, enum table table)
{
        switch (table) {
#define X(name, rows, slots)            \
        case TABLE_##name:              \
                return &state->slots;
                TABLES(X)
#undef X
        case TABLES_END:
                break;
        }
        return NULL;
}

/* The first word of a free row: the next one. */
static uint32_t free_next(const struct state *state, enum table table, uint32_t slot)
{
        uint32_t next = NONE;

        switch (table) {
#define X(name, rows, slots)                                    \
        case TABLE_##name:                                      \
                memcpy(&next, &state->rows[slot], sizeof next); \
                break;
                TABLES(X)
#undef X
        case TABLES_END:
                break;
        }
        return next;
}

static bool in_use(const struct check *check, enum table table, uint32_t slot)
{
        return slot < slots_of(check->state, table)->high &&
               !(check->met[table][slot] & MET_FREE);
}

/* 0 stands for none. */
static bool in_use_or_0(const struct check *check, enum table table, uint32_t slot_and_1)
{
        return slot_and_1 == 0 || in_use(check, table, slot_and_1 - 1);
}

/* False: there is no such row, or a list of the kind holds it already. */
static bool meet(struct check *check, enum table table, uint32_t slot, unsigned char where)
{
        if (!in_use(check, table, slot) || (check->met[table][slot] & where))
                return false;
        check->met[table][slot] |= where;
        return true;
}

/* ---- free rows ---- */

static int meet_free(struct check *check, enum table table)
{
        const struct slots *slots = slots_of(check->state, table);
        uint32_t count = 0;

        for (uint32_t slot = slots->free; slot != NONE;
             slot = free_next(check->state, table, slot), count++)
                if (!meet(check, table, slot, MET_FREE))
                        return refuse(check, table_names[table], slot,
                                      "cannot be free: the list of free rows is broken");
        if (count != slots->high - slots->used)
                return refuse(check, table_names[table], slots->high,
                              "is the end, but fewer or more rows are free than are not used");
        return 0;
}

/* ---- places ---- */

static bool part_is_good(const struct check *check, uint32_t node, const struct part *part)
{
        if (part->device >= check->state->nodes[node].desc.devices)
                return false;
        if (part->method != METHOD_SLICE)
                return part->method < METHODS_END;
        return part->profile < node_model(check->state, node)->profiles_count &&
               part->start < SLOTS_MAX;
}

static int check_member(struct check *check, uint32_t number)
{
        const struct member *member = &check->state->members[number];
        uint32_t count = 0;

        if (!in_use(check, TABLE_NODES, member->node))
                return refuse(check, "members", number, "lies on a node that is not there");
        for (uint32_t held = member->first_part; held != NONE;
             held = check->state->parts[held].next, count++)
                if (!meet(check, TABLE_PARTS, held, MET_OWNED) ||
                    !part_is_good(check, member->node, &check->state->parts[held].part))
                        return refuse(check, "members", number, "holds a part that cannot be");
        if (count != member->parts_count || count > NODE_DEVICES_MAX)
                return refuse(check, "members", number, "holds fewer or more parts than it says");
        return 0;
}

static int check_members(struct check *check, uint32_t slot, uint32_t members)
{
        const struct workload *workload = &check->state->workloads[slot];
        uint32_t count = 0;

        for (uint32_t at = workload->first_member; at != NONE;
             at = check->state->members[at].next, count++) {
                if (!meet(check, TABLE_MEMBERS, at, MET_OWNED) ||
                    check->state->members[at].workload != slot ||
                    check->state->members[at].number >= members)
                        return refuse(check, "workloads", slot, "has a member that is not its own");
                int rc = check_member(check, at);
                if (rc)
                        return rc;
        }
        if (count != workload->members_placed || (count != 0 && count != members))
                return refuse(check, "workloads", slot, "has fewer or more members than it says");
        return 0;
}

static int check_devices(const struct check *check, uint32_t number)
{
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                const struct device *device = &node_devices(check->state, number)[d];
                if (device->state.mode > DEVICE_SHARED || device->state.broken > 1 ||
                    device->state.slices.mode > PROFILES_MAX ||
                    !in_use_or_0(check, TABLE_PLANS, device->kept_for))
                        return refuse(check, "devices", number * NODE_DEVICES_MAX + d,
                                      "is in a state that is not known");
        }
        return 0;
}

static int check_node(struct check *check, uint32_t number)
{
        const struct state *state = check->state;
        const struct node *node = &state->nodes[number];
        uint32_t before = NONE;

        if (node->status > NODE_SILENT || !in_use_or_0(check, TABLE_WORKLOADS, node->held_for) ||
            node->first_device != number * NODE_DEVICES_MAX)
                return refuse(check, "nodes", number, "is in a state that is not known");
        if (node->desc.devices > state->devices_max || state->devices_max > NODE_DEVICES_MAX ||
            node->desc.model >= (node->desc.devices ? model_count(state->models) : MODELS_MAX))
                return refuse(check, "nodes", number, "has devices that are not known");
        for (uint32_t at = node->first_member; at != NONE; at = state->members[at].node_next) {
                if (!meet(check, TABLE_MEMBERS, at, MET_ON_NODE) ||
                    state->members[at].node != number || state->members[at].node_prev != before)
                        return refuse(check, "nodes", number,
                                      "holds a member that lies elsewhere");
                before = at;
        }
        return check_devices(check, number);
}

/* ---- work ---- */

static int check_group(struct check *check, uint32_t first)
{
        const struct workload *workloads = check->state->workloads;
        uint32_t before = NONE;

        for (uint32_t at = first; at != NONE; at = workloads[at].group_next) {
                if (!meet(check, TABLE_WORKLOADS, at, MET_IN_GROUP) ||
                    workloads[at].group != workloads[first].group ||
                    workloads[at].group_prev != before)
                        return refuse(check, "workloads", first, "is in a group that is broken");
                before = at;
        }
        return 0;
}

static int check_after(struct check *check, uint32_t slot)
{
        const struct state *state = check->state;

        for (uint32_t at = state->workloads[slot].first_after; at != 0;
             at = state->afters[at - 1].next)
                if (!meet(check, TABLE_AFTERS, at - 1, MET_OWNED) ||
                    !in_use(check, TABLE_WORKLOADS, state->afters[at - 1].waiter))
                        return refuse(check, "workloads", slot, "is awaited by nobody");
        return 0;
}

static bool promise_is_good(const struct check *check, const struct workload *workload)
{
        const struct accounts *accounts = check->state->accounts;

        return !accounts || workload->members_placed == 0 ||
               workload->standing != STANDING_PROTECTED ||
               workload->promise.tenant < accounts->tenants;
}

static int check_workload(struct check *check, uint32_t slot)
{
        const struct state *state = check->state;
        const struct workload *workload = &state->workloads[slot];

        if (!workload->live || workload->bucket >= state->buckets_count ||
            workload->standing >= STANDINGS_END || workload->notice_cause >= NOTICE_CAUSES_END ||
            workload->idle_done >= IDLE_THENS_END || !promise_is_good(check, workload))
                return refuse(check, "workloads", slot, "is in a state that is not known");
        if (!in_use_or_0(check, TABLE_PLANS, workload->plan))
                return refuse(check, "workloads", slot, "belongs to a plan that is not there");
        if (workload->plan && workload->members_placed > 0)
                check->victims[workload->plan - 1]++;
        int rc = check_members(check, slot, state->buckets[workload->bucket].form.members);
        if (rc == 0)
                rc = check_after(check, slot);
        if (rc == 0 && workload->group && workload->group_prev == NONE)
                rc = check_group(check, slot);
        return rc;
}

/* A list of work: a bucket's, or of what runs in a tree. */
static int check_list(struct check *check, const char *table, uint32_t row, uint32_t first,
                      uint32_t last, bool runs, uint32_t *ret_count)
{
        const struct state *state = check->state;
        uint32_t before = NONE, count = 0;

        for (uint32_t at = first; at != NONE; at = state->workloads[at].next, count++) {
                const struct workload *workload = &state->workloads[at];
                if (!meet(check, TABLE_WORKLOADS, at, MET_OWNED) || workload->prev != before ||
                    (workload->members_placed > 0) != runs)
                        return refuse(check, table, row, "lists work that is not its own");
                uint32_t owner = !runs ? workload->bucket
                                       : state->accounts->root[state->buckets[workload->bucket]
                                                                       .tenant];
                if (owner != row)
                        return refuse(check, table, row, "lists work that is not its own");
                before = at;
        }
        if (last != before)
                return refuse(check, table, row, "lists work without an end");
        *ret_count = count;
        return 0;
}

/* ---- what is asked for ---- */

/* A request that is in canonical form stays as it is when it is settled. The group's number only
 * says that there may be others, so that their spread matters. */
static bool is_settled(const struct need *need, const struct form *form)
{
        struct request request = {.need = *need, .form = *form, .group = 1};

        return request_settle(&request, NULL) == 0 && need_equal(&request.need, need) &&
               form_equal(&request.form, form);
}

static int check_shape(struct check *check, uint32_t number)
{
        const struct shape *shape = &check->state->shapes[number];
        struct form one = {.members = 1};

        if (shape->fits_count > model_count(check->state->models))
                return refuse(check, "shapes", number, "was measured on models not known here");
        if (!is_settled(&shape->need, &one))
                return refuse(check, "shapes", number, "asks for what cannot be asked for");
        return 0;
}

static int check_bucket(struct check *check, uint32_t number, uint64_t *waiting)
{
        const struct state *state = check->state;
        const struct bucket *bucket = &state->buckets[number];
        const struct tenancy *tenancy = state->accounts ? state->accounts->tenancy : NULL;
        uint32_t count = 0;

        if (bucket->shape >= state->shapes_count ||
            !is_settled(&state->shapes[bucket->shape].need, &bucket->form))
                return refuse(check, "buckets", number, "asks for what cannot be asked for");
        if (tenancy && (bucket->tenant >= tenancy->tenants_count ||
                        bucket->class >= tenancy->classes_count ||
                        bucket->data > tenancy->labels_count))
                return refuse(check, "buckets", number, "is of nobody whom the policy knows");
        int rc = check_list(check, "buckets", number, bucket->head, bucket->tail, false, &count);
        if (rc == 0 && count != bucket->count)
                rc = refuse(check, "buckets", number, "lists fewer or more than it says");
        *waiting += count;
        return rc;
}

static int check_tree(struct check *check, uint32_t tenant)
{
        const struct accounts *accounts = check->state->accounts;
        uint32_t count;

        return check_list(check, "first", tenant, accounts->first[tenant], accounts->last[tenant],
                          true, &count);
}

static int check_plan(struct check *check, uint32_t number)
{
        const struct state *state = check->state;
        const struct plan *plan = &state->plans[number];
        uint32_t count = 0;

        if (!plan->live || plan->cause >= PLAN_CAUSES_END ||
            !in_use(check, TABLE_WORKLOADS, plan->beneficiary) ||
            state->workloads[plan->beneficiary].plan != number + 1 ||
            (plan->cause != PLAN_MOVE && state->workloads[plan->beneficiary].members_placed > 0))
                return refuse(check, "plans", number, "is for work that does not wait for it");
        for (uint32_t at = plan->first_place; at != NONE; at = state->plan_places[at].next) {
                const struct plan_place *place = &state->plan_places[at];
                bool good = meet(check, TABLE_PLACES, at, MET_OWNED) &&
                            in_use(check, TABLE_NODES, place->node);
                for (unsigned i = 0; good && i < place->parts_count; i++)
                        good = part_is_good(check, place->node, &place->parts[i]);
                if (!good)
                        return refuse(check, "plans", number, "keeps a place that cannot be");
                count++;
        }
        if (count != plan->places || check->victims[number] != plan->victims)
                return refuse(check, "plans", number, "has other victims or places than it says");
        return 0;
}

/* ---- all of it ---- */

static int check_free(struct check *check)
{
        int rc = 0;

        for (unsigned t = 0; rc == 0 && t < TABLES_END; t++)
                rc = meet_free(check, (enum table)t);
        for (uint32_t n = 0; rc == 0 && n < check->state->node_slots.high; n++)
                if ((check->state->nodes[n].status == NODE_FREE_SLOT) ==
                    in_use(check, TABLE_NODES, n))
                        rc = refuse(check, "nodes", n, "is free and is not");
        return rc;
}

/* What is in use is somebody's: parts, members (of work, on a node), places, links, work in a list
 * and in its group. */
static int check_owned(const struct check *check)
{
        const struct state *state = check->state;

        for (unsigned t = TABLE_WORKLOADS; t < TABLES_END; t++)
                for (uint32_t slot = 0; slot < slots_of(state, (enum table)t)->high; slot++) {
                        const struct workload *workload =
                                t == TABLE_WORKLOADS ? &state->workloads[slot] : NULL;
                        unsigned wanted = t == TABLE_PLANS ? 0 : MET_OWNED;
                        if (!in_use(check, (enum table)t, slot))
                                continue;
                        if (workload && workload->members_placed > 0 && !state->accounts)
                                wanted = 0;     /* what runs is listed by policies only */
                        if (workload && workload->group)
                                wanted |= MET_IN_GROUP;
                        if (t == TABLE_MEMBERS)
                                wanted |= MET_ON_NODE;
                        if ((check->met[t][slot] & wanted) != wanted)
                                return refuse(check, table_names[t], slot, "is in no list");
                }
        return 0;
}

static int check_rows(struct check *check)
{
        const struct state *state = check->state;
        uint64_t waiting = 0;
        int rc = check_free(check);

        for (uint32_t n = 0; rc == 0 && n < state->node_slots.high; n++)
                if (in_use(check, TABLE_NODES, n))
                        rc = check_node(check, n);
        for (uint32_t s = 0; rc == 0 && s < state->shapes_count; s++)
                rc = check_shape(check, s);
        for (uint32_t w = 0; rc == 0 && w < state->workload_slots.high; w++)
                if (in_use(check, TABLE_WORKLOADS, w))
                        rc = check_workload(check, w);
        for (uint32_t b = 0; rc == 0 && b < state->buckets_count; b++)
                rc = check_bucket(check, b, &waiting);
        for (uint32_t t = 0; rc == 0 && state->accounts && t < state->accounts->tenants; t++)
                rc = check_tree(check, t);
        for (uint32_t p = 0; rc == 0 && p < state->plan_slots.high; p++)
                if (in_use(check, TABLE_PLANS, p))
                        rc = check_plan(check, p);
        if (rc == 0 && waiting != state->waiting)
                rc = state_image_differs("fewer or more work waits than it says", check->err);
        if (rc == 0 && state->asked_slot != NONE &&
            state->asked_slot >= state->workload_slots.high)
                rc = state_image_differs("a plan was made for work that never was", check->err);
        return rc ? rc : check_owned(check);
}

int state_image_check(const struct state *state, struct err *err)
{
        struct check check = {.state = state, .err = err};
        bool room = (check.victims = mem_new(state->plan_slots.high, sizeof *check.victims));

        for (unsigned t = 0; t < TABLES_END; t++)
                room &= (check.met[t] = mem_new(slots_of(state, (enum table)t)->high, 1)) != NULL;
        int rc = room ? check_rows(&check) : err_set(err, ERR_NOMEM, "out of memory");
        for (unsigned t = 0; t < TABLES_END; t++)
                mem_free(check.met[t]);
        mem_free(check.victims);
        return rc;
}

int state_image_check_keys(const struct state *state, struct err *err)
{
        struct check check = {.state = state, .err = err};

        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (state->nodes[n].status != NODE_FREE_SLOT &&
                    state_node(state, state->nodes[n].desc.name) != n)
                        return refuse(&check, "nodes", n, "has the name of another");
        for (uint32_t w = 0; w < state->workload_slots.high; w++) {
                const struct workload *workload = &state->workloads[w];
                if (workload->live && state_workload(state, workload->id) != w)
                        return refuse(&check, "workloads", w, "has the id of another");
                if (workload->live && workload->group && workload->group_prev == NONE &&
                    map_get(state->first_of_group, workload->group) != w)
                        return refuse(&check, "workloads", w, "begins a group that is there");
        }
        return 0;
}
