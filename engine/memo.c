#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/gang.h"
#include "engine/memo_impl.h"
#include "engine/order.h"
#include "engine/preempt.h"

struct memo *memo_new(struct policy policy, enum memo_mode mode)
{
        struct memo *memo = mem_new(1, sizeof *memo);

        if (!memo)
                return NULL;
        memo->policy = policy;
        memo->mode = mode;
        map_init(&memo->spot_by_hash, SPOTS_MAX);
        map_init(&memo->kind_by_hash, SPOTS_MAX);
        map_init(&memo->look_by_hash, SPOTS_MAX);
        return memo;
}

static void free_looks(struct memo *memo)
{
        for (uint32_t l = 0; l < memo->looks_count; l++) {
                mem_free(memo->looks[l].steps);
                mem_free(memo->looks[l].admits);
        }
        for (uint32_t h = 0; h < memo->heaps_count * HEAP_KINDS; h++)
                mem_free(memo->heaps[h].entries);
        mem_free(memo->looks);
        mem_free(memo->heaps);
        mem_free(memo->look_of);
        map_clear(&memo->look_by_hash);
        memo->looks = NULL;
        memo->look_of = NULL;
        memo->heaps = NULL;
        memo->looks_count = memo->looks_room = 0;
        memo->heaps_count = memo->heaps_room = memo->look_of_room = 0;
}

/* Everything that follows from the state; facts being built and their buffer stay. */
static void forget(struct memo *memo)
{
        free_looks(memo);
        trust_forget(memo);
        mem_free(memo->spots);
        mem_free(memo->kinds);
        mem_free(memo->classes);
        mem_free(memo->briefs);
        mem_free(memo->class_table);
        mem_free(memo->active);
        mem_free(memo->links);
        mem_free(memo->ranks);
        mem_free(memo->held);
        mem_free(memo->log);
        map_clear(&memo->spot_by_hash);
        map_clear(&memo->kind_by_hash);
        memo->spots = NULL;
        memo->kinds = NULL;
        memo->classes = NULL;
        memo->briefs = NULL;
        memo->class_table = NULL;
        memo->active = NULL;
        memo->links = NULL;
        memo->ranks = NULL;
        memo->held = NULL;
        memo->log = NULL;
        memo->spots_count = memo->spots_room = 0;
        memo->kinds_count = memo->kinds_room = 0;
        memo->nodes_room = memo->held_count = 0;
        memo->synced = memo->failed = false;
        memo->stamp = 0;
        memo->bytes = 0;
}

void memo_free(struct memo *memo)
{
        if (!memo)
                return;
        forget(memo);
        map_done(&memo->spot_by_hash);
        map_done(&memo->kind_by_hash);
        map_done(&memo->look_by_hash);
        mem_free(memo->aside);
        mem_free(memo->facts);
        for (uint32_t b = 0; b < memo->buckets_room; b++)
                mem_free(memo->lines[b].waiters);
        mem_free(memo->lines);
        mem_free(memo->blocked);
        mem_free(memo->tight);
        mem_free(memo->feasible_alone);
        mem_free(memo->first_of_shape);
        mem_free(memo->next_of_shape);
        mem_free(memo->hold_for);
        mem_free(memo->hold_until);
        mem_free(memo->hold_places);
        preempt_scratch_free(memo->preempt);
        mem_free(memo->feasible);
        mem_free(memo->contending);
        mem_free(memo->open);
        gang_scratch_free(memo->gang);
        mem_free(memo);
}

void memo_adopt(struct memo *memo, const struct state *state)
{
        forget(memo);
        memo->settled = false;
        for (uint32_t b = 0; b < memo->buckets_room; b++) {
                memo->blocked[b] = memo->feasible[b] = 0;
                memo->lines[b].version = 0;
        }
        for (uint32_t s = 0; s < memo->tight_room; s++)
                memo->tight[s] = memo->feasible_alone[s] = 0;
        memo->buckets_listed = memo->shapes_listed = 0;
        memo->contend.epoch++;
        preempt_forget(memo->preempt);
        memo->state = state;
}

size_t memo_bytes(const struct memo *memo)
{
        return memo->bytes;
}

bool memo_room(struct memo *memo, void *array_pointer, uint32_t *room, uint32_t need, size_t size)
{
        void *array;

        if (need < *room)
                return true;
        uint32_t grown = *room ? *room : 16;
        while (grown <= need)
                grown *= 2;
        memcpy(&array, array_pointer, sizeof array);
        array = mem_resize(array, *room, grown, size);
        if (!array)
                return false;
        memcpy(array_pointer, &array, sizeof array);
        memo->bytes += (size_t)(grown - *room) * size;
        *room = grown;
        return true;
}

static uint32_t look_intern(struct memo *memo, uint32_t shape)
{
        struct need need = memo->state->shapes[shape].need;
        uint64_t key;

        need.ram_mib = need.disk_mib = need.network_mbit = 0;
        for (key = need_hash(&need);; key++) {
                uint32_t look = map_get(&memo->look_by_hash, key);
                if (look == MAP_NONE)
                        break;
                struct need other = memo->state->shapes[memo->looks[look].shape].need;
                other.ram_mib = other.disk_mib = other.network_mbit = 0;
                if (need_equal(&need, &other))
                        return look;
        }
        if (!memo_room(memo, &memo->looks, &memo->looks_room, memo->looks_count,
                       sizeof *memo->looks) ||
            map_set(&memo->look_by_hash, key, memo->looks_count) != 0)
                return NONE;
        memo->looks[memo->looks_count].shape = shape;
        return memo->looks_count++;
}

static bool follow_shapes(struct memo *memo, const struct state *state)
{
        for (; memo->heaps_count < state->shapes_count; memo->heaps_count++) {
                uint32_t shape = memo->heaps_count;
                if (!memo_room(memo, &memo->look_of, &memo->look_of_room, shape,
                               sizeof *memo->look_of) ||
                    !memo_room(memo, &memo->heaps, &memo->heaps_room,
                               shape * HEAP_KINDS + HEAP_KINDS - 1, sizeof *memo->heaps))
                        return false;
                memo->look_of[shape] = look_intern(memo, shape);
                if (memo->look_of[shape] == NONE)
                        return false;
        }
        return true;
}

/* ---- views ---- */

static uint32_t kind_intern(struct memo *memo, const struct node_desc *desc)
{
        struct node_desc same = {.plane = desc->plane,
                                 .labels = desc->labels,
                                 .model = desc->model,
                                 .devices = desc->devices,
                                 .drained = desc->drained,
                                 .ram_mib = desc->ram_mib,
                                 .disk_mib = desc->disk_mib,
                                 .network_mbit = desc->network_mbit,
                                 .artifacts = desc->artifacts};
        uint64_t key = map_mix((uint64_t)same.plane << 48 | (uint64_t)same.labels << 32 |
                               (uint64_t)same.model << 16 | (uint64_t)same.devices << 8 |
                               same.drained) ^
                       map_mix(same.artifacts ^ map_mix((uint64_t)same.ram_mib << 32 |
                                                        same.disk_mib) ^
                               same.network_mbit);

        for (;; key++) {
                uint32_t kind = map_get(&memo->kind_by_hash, key);
                if (kind == MAP_NONE)
                        break;
                const struct node_desc *have = &memo->kinds[kind].desc;
                if (have->plane == same.plane && have->labels == same.labels &&
                    have->model == same.model && have->devices == same.devices &&
                    have->drained == same.drained && have->ram_mib == same.ram_mib &&
                    have->disk_mib == same.disk_mib &&
                    have->network_mbit == same.network_mbit &&
                    have->artifacts == same.artifacts)
                        return kind;
        }
        uint32_t kind = memo->kinds_count;
        if (!memo_room(memo, &memo->kinds, &memo->kinds_room, kind, sizeof *memo->kinds) ||
            map_set(&memo->kind_by_hash, key, kind) != 0)
                return NONE;
        memo->kinds[kind].desc = same;
        memo->kinds_count++;
        return kind;
}

void view_settle(const struct memo *memo, struct view *view)
{
        uint32_t *spots = view->spots;

        view->idle = 0;
        view->free_units = 0;
        for (unsigned i = 0; i < view->count; i++) {
                uint32_t spot = spots[i];
                unsigned at = i;
                for (; at > 0 && spot_compare(memo, spot, spots[at - 1]) < 0; at--)
                        spots[at] = spots[at - 1];
                spots[at] = spot;
                view->idle = (uint8_t)(view->idle + memo->spots[spot].idle);
                view->free_units += memo->spots[spot].free_units;
        }
}

uint32_t node_held_mask(const struct node *node)
{
        uint32_t mask = 0;

        for (unsigned h = 0; h < HELD_CLASSES; h++)
                if (node->held[h])
                        mask |= 1u << h;
        return mask;
}

/* As scores see it: a placement lock closes a device as a fault does. */
static struct device_state condition_of(const struct device *device)
{
        struct device_state state = device->state;

        if (device->kept_for)
                state.broken = 1;
        return state;
}

static bool same_condition(const struct spot *spot, const struct device_state *state)
{
        struct device_state settled = *state;

        settled.holders = state->holders > 0;
        return memcmp(&spot->state, &settled, sizeof settled) == 0;
}

bool view_of_node(struct memo *memo, uint32_t number, struct view *ret_view)
{
        const struct state *state = memo->state;
        const struct node *node = &state->nodes[number];
        struct node_link *link = &memo->links[number];
        uint32_t bucket = memo->ops->bucket_milli;

        if (link->kind_version != state->nodes_version + 1) {
                link->kind = kind_intern(memo, &node->desc);
                link->kind_version = state->nodes_version + 1;
                memset(link->spots, 0, sizeof link->spots);
        }
        if (link->kind == NONE)
                return false;
        *ret_view = (struct view){.kind = link->kind,
                                  .cpu_free = node->cpu_free - node->cpu_free % bucket,
                                  .held = memo->ops->wants_held ? node_held_mask(node) : 0,
                                  .closes_ms = node_closes_ms(node),
                                  .model = node->desc.model,
                                  .count = node->desc.devices};
        for (unsigned d = 0; d < node->desc.devices; d++) {
                struct device_state device = condition_of(&node_devices(state, number)[d]);
                if (link->spots[d] == 0 || !same_condition(&memo->spots[link->spots[d]], &device))
                        link->spots[d] = spot_intern(memo, node->desc.model, &device);
                if (link->spots[d] == 0)
                        return false;
                ret_view->spots[d] = link->spots[d];
        }
        view_settle(memo, ret_view);
        return true;
}

/* ---- ranks ---- */

struct named {
        const char *name;
        uint32_t node;
};

static int compare_names(const void *a, const void *b)
{
        return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static bool rank_by_name(struct memo *memo)
{
        const struct state *state = memo->state;
        uint32_t count = state->node_slots.high;
        struct named *order = mem_new(count, sizeof *order);

        if (!order)
                return false;
        for (uint32_t n = 0; n < count; n++) {
                bool free = state->nodes[n].status == NODE_FREE_SLOT;
                unsigned name = free ? 0 : state->nodes[n].desc.name;
                order[n] = (struct named){vocab_name_text(state->vocab, name), n};
        }
        qsort(order, count, sizeof *order, compare_names);
        for (uint32_t i = 0; i < count; i++)
                memo->ranks[order[i].node] = i;
        mem_free(order);
        return true;
}

static bool rank_nodes(struct memo *memo)
{
        memo->ranks_version = memo->state->nodes_version + 1;
        if (memo->ops->by_name)
                return rank_by_name(memo);
        for (uint32_t n = 0; n < memo->nodes_room; n++)
                memo->ranks[n] = n;
        return true;
}

/* ---- following the state ---- */

static void follow_hold(struct memo *memo, uint32_t number)
{
        bool held = memo->state->nodes[number].held_for != 0;
        uint32_t at = 0;

        if (memo->links[number].held == held)
                return;
        memo->links[number].held = held;
        if (held) {
                memo->held[memo->held_count++] = number;
                return;
        }
        while (memo->held[at] != number)
                at++;
        memo->held[at] = memo->held[--memo->held_count];
}

static bool node_follow(struct memo *memo, uint32_t number)
{
        struct view view;

        class_leave(memo, number);
        follow_hold(memo, number);
        if (memo->state->nodes[number].status != NODE_UP)
                return true;
        if (!view_of_node(memo, number, &view) || !trust_follow(memo, number))
                return false;
        /* Where room is held, or nothing may start, nobody finds it by the index. */
        if (!memo->state->nodes[number].held_for && !memo->state->nodes[number].frozen)
                class_join(memo, number, &view);
        return true;
}

static bool tables_new(struct memo *memo, uint32_t nodes)
{
        uint32_t room = 64;

        while (room < nodes)
                room *= 2;
        memo->links = mem_new(room, sizeof *memo->links);
        memo->ranks = mem_new(room, sizeof *memo->ranks);
        memo->held = mem_new(room, sizeof *memo->held);
        memo->classes = mem_new(room, sizeof *memo->classes);
        memo->briefs = mem_new(room, sizeof *memo->briefs);
        memo->active = mem_new(room, sizeof *memo->active);
        memo->class_table = mem_new(room * 2, sizeof *memo->class_table);
        memo->log = mem_new(room * 2, sizeof *memo->log);
        memo->nodes_room = room;
        memo->bytes += room * (sizeof *memo->links + sizeof *memo->classes + sizeof *memo->briefs +
                               7 * sizeof(uint32_t) + 2 * sizeof *memo->log);
        if (!memo->links || !memo->ranks || !memo->held || !memo->classes || !memo->briefs ||
            !memo->active || !memo->class_table || !memo->log)
                return false;
        for (uint32_t n = 0; n < room; n++)
                memo->links[n].class = NONE;
        memset(memo->class_table, 0xff, (size_t)room * 2 * sizeof *memo->class_table);
        memo->class_table_room = memo->log_room = room * 2;
        memo->classes_high = 0;
        memo->classes_free = NONE;
        memo->active_count = 0;
        memo->log_count = 1;
        return true;
}

static bool start_anew(struct memo *memo, const struct state *state)
{
        forget(memo);
        memo->state = state;
        memo->ops = policy_ops_of(memo, state);
        fragment_target_make(state->plan->shapes, state->plan_set ? state->plan->shapes_count : 0,
                             &memo->target);
        memo->plan_seen = state->plan_version;
        memo->policy_seen = state->policy_version;
        memo->changes_seen = state->changes_count;
        if (!tables_new(memo, state->node_slots.high) || !rank_nodes(memo))
                return false;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (!node_follow(memo, n))
                        return false;
        return true;
}

static bool follow_changes(struct memo *memo, const struct state *state)
{
        for (; memo->changes_seen < state->changes_count; memo->changes_seen++)
                if (!node_follow(memo, state->changes[memo->changes_seen % CHANGES_RING]))
                        return false;
        return true;
}

static bool is_stale(const struct memo *memo, const struct state *state)
{
        return !memo->synced || memo->failed || memo->stamp > UINT32_MAX - 2 * CHANGES_RING ||
               memo->state != state || memo->plan_seen != state->plan_version ||
               memo->policy_seen != state->policy_version ||
               memo->nodes_room < state->node_slots.high ||
               state->changes_count - memo->changes_seen > CHANGES_RING ||
               memo->spots_count >= SPOTS_MAX ||
               (memo->ops->by_name && memo->ranks_version != state->nodes_version + 1);
}

int memo_sync(struct memo *memo, const struct state *state, struct err *err)
{
        bool stale = is_stale(memo, state);

        /* Following can fail for want of room in a bounded table; a fresh start then holds only
         * what there is now. */
        if (!stale && follow_changes(memo, state))
                goto shapes;
        memo->synced = false;
        if (!start_anew(memo, state))
                goto nomem;
        memo->synced = true;
shapes:
        if (follow_shapes(memo, state))
                return 0;
nomem:
        forget(memo);
        return err_set(err, ERR_NOMEM, "out of memory while indexing the pool");
}
