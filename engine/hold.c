#include "engine/hold_impl.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "engine/decide_impl.h"
#include "engine/drain.h"
#include "engine/queue_impl.h"

/* ---- who gets one ---- */

/* A part of a device does not wait for a whole one to come free: there room shows up piece by
 * piece, and is not foretold. With time slices narrow work takes turns. */
bool hold_is_for(const struct state *state, const struct bucket *bucket)
{
        const struct service_class *class = &state->accounts->tenancy->classes[bucket->class];

        return state->shapes[bucket->shape].need.ask == ASK_WHOLE &&
               (class->time_slices_count == 0 || is_wide(state, bucket));
}

/* Room for narrow work is worth keeping where run times are told, as its own is: what is only
 * learned of many short runs keeps more devices idle than it gains. */
static bool wants_hold(const struct state *state, uint32_t slot, int64_t now_ms)
{
        const struct workload *workload = &state->workloads[slot];
        const struct bucket *bucket = &state->buckets[workload->bucket];

        if (workload->plan)
                return false;
        return workload->rescued ||
               (hold_is_for(state, bucket) &&
                (workload->time_limit_ms > 0 || is_wide(state, bucket)) &&
                waited_ms(state, slot, now_ms) >= class_of(state, workload->bucket)->hold_after_ms);
}

/* Rescued work first, whatever its class and its tenant's share, and in order of arrival: who comes
 * later, and there is no end of those, takes nobody's nodes. */
static bool held_before(const struct state *state, const struct contender *a,
                        const struct contender *b)
{
        if (a->waiter.rescued != b->waiter.rescued)
                return a->waiter.rescued;
        return a->waiter.rescued ? a->waiter.arrival < b->waiter.arrival
                                 : order_before(state, a, b);
}

/* The first HOLDS_MAX in order, and the first wide one. */
struct holders {
        struct contender list[HOLDS_MAX], wide;
        unsigned count;
        bool any_wide;
};

static void holders_see(const struct state *state, struct holders *holders,
                        const struct contender *contender)
{
        struct contender *list = holders->list;
        unsigned at = holders->count;

        if (is_wide(state, &state->buckets[contender->bucket]) &&
            (!holders->any_wide || held_before(state, contender, &holders->wide))) {
                holders->wide = *contender;
                holders->any_wide = true;
        }
        while (at > 0 && held_before(state, contender, &list[at - 1]))
                at--;
        if (at == HOLDS_MAX)
                return;
        if (holders->count < HOLDS_MAX)
                holders->count++;
        memmove(&list[at + 1], &list[at], (holders->count - at - 1) * sizeof *list);
        list[at] = *contender;
}

/* A stream of narrow work would keep wide work waiting: where all of the first are narrow, the last
 * of them gives way to the first wide one, which chooses its nodes before the others. */
static void let_wide_in(const struct state *state, struct holders *holders)
{
        struct contender *list = holders->list;

        for (unsigned i = 0; i < holders->count; i++)
                if (is_wide(state, &state->buckets[list[i].bucket]))
                        return;
        if (!holders->any_wide)
                return;
        assert(holders->count == HOLDS_MAX);
        memmove(&list[1], &list[0], (HOLDS_MAX - 1) * sizeof *list);
        list[0] = holders->wide;
}

/* Waiters of one bucket: no more than could all be among the first. */
static void choose_of(struct memo *memo, const struct state *state, struct contender contender,
                      int64_t now_ms, struct holders *holders)
{
        bool whole = hold_is_for(state, &state->buckets[contender.bucket]);
        uint32_t at = 0, slot;

        for (unsigned n = 0;
             n < HOLDS_MAX && line_next(memo, state, contender.bucket, &at, &slot); at++) {
                contender.waiter = line_waiter(memo, state, contender.bucket, at, slot);
                if (!whole && !contender.waiter.rescued && !contender.waiter.displaced)
                        break;          /* rescued ones stand before it */
                if (!wants_hold(state, slot, now_ms))
                        continue;
                holders_see(state, holders, &contender);
                n++;
        }
}

static void choose(struct memo *memo, const struct state *state, int64_t now_ms,
                   struct holders *holders)
{
        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                struct contender contender = {.bucket = b};
                if (bucket->count == 0 ||
                    (!hold_is_for(state, bucket) && state->rescued_units == 0))
                        continue;
                accounts_admit(state, b, &contender.admission);
                if (contender.admission.gate != GATE_FIT)
                        continue;
                contender.standing = best_standing(&contender.admission);
                choose_of(memo, state, contender, now_ms, holders);
        }
        let_wide_in(state, holders);
}

/* ---- where ---- */

struct end {
        int64_t at_ms;
        unsigned devices;
};

static int64_t ready_ms(const struct state *state, uint32_t number, unsigned devices,
                        const struct asker *asker, int64_t now_ms)
{
        const struct node *node = &state->nodes[number];
        struct end ends[NODE_DEVICES_MAX * 2];
        unsigned count = 0, free = 0;
        int64_t at_ms = now_ms;

        for (unsigned d = 0; d < node->desc.devices; d++) {
                const struct device *device = &node_devices(state, number)[d];
                free += device_is_idle(&device->state) && device->kept_for == 0;
        }
        for (uint32_t at = node->first_member; at != NONE; at = state->members[at].node_next) {
                const struct member *member = &state->members[at];
                if (count == NODE_DEVICES_MAX * 2)
                        return INT64_MAX;
                struct end end = {now_ms + expected_left_ms(state, member->workload, END_PERCENT,
                                                            now_ms),
                                  member->parts_count};
                if (asker && isolation_member(state, asker, at) == BARRED_NODE) {
                        if (state->workloads[member->workload].service)
                                return INT64_MAX;
                        at_ms = end.at_ms > at_ms ? end.at_ms : at_ms;
                }
                unsigned place = count++;
                for (; place > 0 && ends[place - 1].at_ms > end.at_ms; place--)
                        ends[place] = ends[place - 1];
                ends[place] = end;
        }
        for (unsigned e = 0; e < count && free < devices; e++) {
                free += ends[e].devices;
                at_ms = ends[e].at_ms > at_ms ? ends[e].at_ms : at_ms;
        }
        return free >= devices ? at_ms : INT64_MAX;
}

int64_t hold_ready_ms(const struct hold_search *search, uint32_t number, unsigned devices)
{
        const struct state *state = search->state;
        const struct node *node = &state->nodes[number];
        const struct place_right *right = &search->right;

        if (node->status != NODE_UP || node->frozen || search->taken_for[number] ||
            !node_admits(state, &node->desc, &state->shapes[search->bucket->shape].need) ||
            !(right->models >> node->desc.model & 1) ||
            (right->asker && !isolation_admits(state, right->asker, number)))
                return INT64_MAX;
        int64_t ready = ready_ms(state, number, devices, right->asker, search->now_ms);
        if (ready == INT64_MAX ||
            right->leaves_ms + (ready - search->now_ms) > node_closes_ms(node))
                return INT64_MAX;
        return ready;
}

/* The soonest nodes for the members, one each; 0: there are not enough. */
static int find_nodes(const struct hold_search *search, struct place *places)
{
        const struct need *need = &search->state->shapes[search->bucket->shape].need;
        uint32_t have = 0, count = search->bucket->form.members;

        for (uint32_t n = 0; n < search->state->node_slots.high; n++) {
                int64_t ready = hold_ready_ms(search, n, need->devices);
                if (ready == INT64_MAX || (have == count && ready >= places[have - 1].ready_ms))
                        continue;
                if (have < count)
                        have++;
                uint32_t at = have - 1;
                for (; at > 0 && places[at - 1].ready_ms > ready; at--)
                        places[at] = places[at - 1];
                places[at] = (struct place){.ready_ms = ready, .node = n};
        }
        return have == count;
}

static int hold_node(struct memo *memo, uint64_t workload, uint32_t node, int64_t until_ms,
                     enum fact_kind kind, struct err *err)
{
        struct fact *fact = fact_add(memo, kind);

        if (!fact)
                return no_memory(err);
        fact->node_held.workload = workload;
        fact->node_held.node = node;
        fact->node_held.until_ms = until_ms;
        return 0;
}

/* Two scratch arrays by node: for whom (slot + 1), and until when. */
static bool hold_room(struct memo *memo, const struct state *state)
{
        uint32_t nodes = state->node_slots.high;
        uint32_t room = memo->hold_room;

        if (!memo_room(memo, &memo->hold_for, &room, nodes, sizeof *memo->hold_for) ||
            !memo_room(memo, &memo->hold_until, &memo->hold_room, nodes,
                       sizeof *memo->hold_until) ||
            !memo_room(memo, &memo->hold_places, &memo->hold_places_room, MEMBERS_MAX,
                       sizeof *memo->hold_places))
                return false;
        memset(memo->hold_for, 0, nodes * sizeof *memo->hold_for);
        return true;
}

static int emit_changes(struct memo *memo, const struct state *state, struct err *err)
{
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                uint32_t wanted = memo->hold_for[n];
                if (node->held_for != 0 && node->held_for != wanted) {
                        int rc = hold_node(memo, state->workloads[node->held_for - 1].id, n, 0,
                                           FACT_NODE_LET_GO, err);
                        if (rc)
                                return rc;
                }
                if (wanted == 0 || (node->held_for == wanted &&
                                    node->held_until_ms == memo->hold_until[n]))
                        continue;
                int rc = hold_node(memo, state->workloads[wanted - 1].id, n, memo->hold_until[n],
                                   FACT_NODE_HELD, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* Nodes for one, where they are to come free. */
static int hold_for(struct memo *memo, const struct state *state, const struct contender *it,
                    int64_t now_ms, struct err *err)
{
        const uint64_t *may = it->admission.models;
        uint32_t slot = it->waiter.slot;
        struct asker asker;
        struct hold_search search = {
                .state = state,
                .bucket = &state->buckets[it->bucket],
                .right = {may[STANDING_PROTECTED] | may[STANDING_STANDARD] | may[STANDING_SPARE],
                          leaves_ms(state, slot, now_ms),
                          asker_of_slot(state, slot, &asker) ? &asker : NULL},
                .taken_for = memo->hold_for,
                .now_ms = now_ms};
        uint32_t members = search.bucket->form.members;
        int rc = hold_looks_around(state, search.bucket) ? hold_find_near(memo, &search, err)
                                                         : find_nodes(&search, memo->hold_places);
        const struct place *places = memo->hold_places;

        if (rc < 0)
                return rc;
        /* Where there seems to be room now it starts without; but others may go before rescued
         * work, or the room be held for them. */
        if (rc == 0 || (places[members - 1].ready_ms <= now_ms && !it->waiter.rescued))
                return 0;
        for (uint32_t m = 0; m < members; m++) {
                memo->hold_for[places[m].node] = slot + 1;
                memo->hold_until[places[m].node] = places[members - 1].ready_ms;
        }
        return 0;
}

int decide_holds(struct memo *memo, const struct state *state, int64_t now_ms, struct err *err)
{
        struct holders holders = {.count = 0};

        if (!hold_room(memo, state))
                return no_memory(err);
        choose(memo, state, now_ms, &holders);
        for (unsigned i = 0; i < holders.count; i++) {
                int rc = hold_for(memo, state, &holders.list[i], now_ms, err);
                if (rc)
                        return rc;
        }
        return emit_changes(memo, state, err);
}

int let_go_of_nodes(struct memo *memo, const struct state *state, uint32_t slot, struct err *err)
{
        if (state->workloads[slot].nodes_held == 0)
                return 0;
        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                if (state->nodes[n].held_for != slot + 1)
                        continue;
                int rc = hold_node(memo, state->workloads[slot].id, n, 0, FACT_NODE_LET_GO, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- who may use one ---- */

static bool open_to(const struct node *node, struct place_right right)
{
        return node->status == NODE_UP && node->held_for != 0 && !node->frozen &&
               right.leaves_ms <= node_closes_ms(node) &&
               (right.models == UINT64_MAX ||
                (node->desc.devices > 0 && (right.models >> node->desc.model & 1)));
}

bool held_fits(struct memo *memo, const struct state *state, uint32_t shape,
               struct place_right right)
{
        for (uint32_t h = 0; h < memo->held_count; h++) {
                uint32_t n = memo->held[h];
                struct move move;
                int64_t key;
                if (open_to(&state->nodes[n], right) &&
                    node_best(memo, shape, n, right.asker, &key, &move))
                        return true;
        }
        return false;
}

uint32_t held_best(struct memo *memo, const struct state *state, uint32_t slot,
                   struct place_right right, int64_t now_ms, struct move *ret_move)
{
        const struct workload *workload = &state->workloads[slot];
        int64_t best_key = 0, gone_ms = INT64_MAX;
        uint32_t best = NONE, shape = state->buckets[workload->bucket].shape;

        if (state->nodes_held == 0)
                return NONE;
        if (!workload->service)
                gone_ms = now_ms + expected_left_ms(state, slot, BACKFILL_PERCENT, now_ms);
        for (uint32_t h = 0; h < memo->held_count; h++) {
                uint32_t n = memo->held[h];
                const struct node *node = &state->nodes[n];
                struct move move;
                int64_t key;
                if (!open_to(node, right) ||
                    (node->held_for != slot + 1 && gone_ms > node->held_until_ms) ||
                    !node_best(memo, shape, n, right.asker, &key, &move))
                        continue;
                if (best == NONE || key > best_key || (key == best_key && n < best)) {
                        best = n;
                        best_key = key;
                        *ret_move = move;
                }
        }
        return best;
}
