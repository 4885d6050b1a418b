#include "engine/geometry.h"

#include <assert.h>
#include <string.h>

#include "engine/units.h"

/* Not __builtin_popcount: without a processor option it calls into the compiler's library. */
static unsigned count_slots(uint16_t slots)
{
        unsigned pairs = slots - (slots >> 1 & 0x5555u);
        unsigned fours = (pairs & 0x3333u) + (pairs >> 2 & 0x3333u);
        unsigned eights = (fours + (fours >> 4)) & 0x0f0fu;

        return (eights + (eights >> 8)) & 0x1fu;
}

static uint32_t slots_of(const struct profile *profile, unsigned start)
{
        return ((1u << profile->memory_slices) - 1u) << start;
}

static const struct profile *profile_at(const struct model *model, unsigned profile)
{
        assert(model);
        assert(profile < model->profiles_count);
        return &model->profiles[profile];
}

uint16_t slice_starts(const struct model *model, struct slice_state state, unsigned profile)
{
        const struct profile *p = profile_at(model, profile);

        if (state.mode && state.mode != profile + 1)
                return 0;
        if (p->media_exclusive && state.media_exclusive)
                return 0;
        if (state.compute + p->compute_slices > model->compute_slices)
                return 0;
        if (state.media + p->media > model->media_total)
                return 0;

        /* A start is blocked when any of the slots from it on is taken. */
        uint32_t blocked = 0;
        for (unsigned slot = 0; slot < p->memory_slices; slot++)
                blocked |= (uint32_t)state.slots >> slot;
        return (uint16_t)(p->starts & ~blocked);
}

struct slice_state slice_take(const struct model *model, struct slice_state state,
                              unsigned profile, unsigned start)
{
        const struct profile *p = profile_at(model, profile);

        assert(start < SLOTS_MAX);
        assert(slice_starts(model, state, profile) >> start & 1);

        state.slots = (uint16_t)(state.slots | slots_of(p, start));
        state.compute = (uint8_t)(state.compute + p->compute_slices);
        state.media = (uint8_t)(state.media + p->media);
        if (p->media_exclusive)
                state.media_exclusive = 1;
        if (model->cut == MODEL_MODES)
                state.mode = (uint8_t)(profile + 1);
        return state;
}

struct slice_state slice_give(const struct model *model, struct slice_state state,
                              unsigned profile, unsigned start)
{
        const struct profile *p = profile_at(model, profile);

        assert(start < SLOTS_MAX);
        assert(p->starts >> start & 1);
        uint32_t slots = slots_of(p, start);
        assert((state.slots & slots) == slots);
        assert(state.compute >= p->compute_slices);
        assert(state.media >= p->media);
        assert(!p->media_exclusive || state.media_exclusive);
        assert(model->cut != MODEL_MODES || state.mode == profile + 1);

        state.slots = (uint16_t)(state.slots & ~slots);
        state.compute = (uint8_t)(state.compute - p->compute_slices);
        state.media = (uint8_t)(state.media - p->media);
        if (p->media_exclusive)
                state.media_exclusive = 0;
        if (state.compute == 0)                 /* every profile has compute: the last part went */
                state.mode = 0;
        return state;
}

/* Instances of one profile are equally long, so taking the lowest start each time is optimal. */
unsigned slice_room(const struct model *model, struct slice_state state, unsigned profile)
{
        const struct profile *p = profile_at(model, profile);
        unsigned starts = slice_starts(model, state, profile);

        if (!starts)
                return 0;
        unsigned most = (unsigned)(model->compute_slices - state.compute) / p->compute_slices;
        if (p->media) {
                unsigned media = (unsigned)(model->media_total - state.media) / p->media;
                most = media < most ? media : most;
        }
        if (p->media_exclusive)
                most = 1;                       /* slice_starts saw that it is not there yet */

        unsigned room = 0;
        while (starts && room < most) {
                unsigned start = (unsigned)__builtin_ctz(starts);
                starts &= ~slots_of(p, start);
                room++;
        }
        return room;
}

/* units[slot][compute][media][exclusive]: most units that instances starting at `slot` or later can
 * take with so many compute slices, media engines and "+me" instances left. Filled from the last
 * slot down, which is exact and needs no more than slots x compute x media x profiles steps. With
 * one unit for every instance it counts them. */
struct best_table {
        unsigned compute, media, exclusive;     /* left on the device */
        uint32_t units[SLOTS_MAX + 1][SLOTS_MAX + 1][SLOTS_MAX + 1][2];
};

static void best_copy_slot(struct best_table *best, unsigned slot)
{
        for (unsigned c = 0; c <= best->compute; c++)
                memcpy(best->units[slot][c], best->units[slot + 1][c],
                       (best->media + 1) * sizeof best->units[slot][c][0]);
}

static void best_try(struct best_table *best, unsigned slot, const struct profile *p,
                     uint32_t units)
{
        unsigned next = slot + p->memory_slices;

        for (unsigned c = p->compute_slices; c <= best->compute; c++)
                for (unsigned m = p->media; m <= best->media; m++)
                        for (unsigned e = p->media_exclusive; e <= best->exclusive; e++) {
                                uint32_t *here = &best->units[slot][c][m][e];
                                uint32_t sum = units +
                                        best->units[next][c - p->compute_slices][m - p->media]
                                                   [e - p->media_exclusive];
                                if (sum > *here)
                                        *here = sum;
                        }
}

static uint32_t best_side_by_side(const struct model *model, struct slice_state state,
                                  uint32_t profiles, bool counts)
{
        uint16_t starts[PROFILES_MAX];
        struct best_table best;

        best.compute = (unsigned)(model->compute_slices - state.compute);
        best.media = (unsigned)(model->media_total - state.media);
        best.exclusive = state.media_exclusive ? 0 : 1;
        for (unsigned i = 0; i < model->profiles_count; i++)
                starts[i] = profiles >> i & 1 ? slice_starts(model, state, i) : 0;

        for (unsigned c = 0; c <= best.compute; c++)
                memset(best.units[model->memory_slices][c], 0,
                       (best.media + 1) * sizeof best.units[0][c][0]);
        for (unsigned slot = model->memory_slices; slot-- > 0;) {
                best_copy_slot(&best, slot);
                for (unsigned i = 0; i < model->profiles_count; i++)
                        if (starts[i] >> slot & 1)
                                best_try(&best, slot, &model->profiles[i],
                                         counts ? 1 : profile_units(model, &model->profiles[i]));
        }
        return best.units[0][best.compute][best.media][best.exclusive];
}

static uint32_t best_of_one_mode(const struct model *model, struct slice_state state)
{
        uint32_t best = 0;

        for (unsigned i = 0; i < model->profiles_count; i++) {
                uint32_t units = slice_room(model, state, i) *
                                 profile_units(model, &model->profiles[i]);
                if (units > best)
                        best = units;
        }
        return best;
}

unsigned slice_room_of(const struct model *model, struct slice_state state, uint32_t profiles)
{
        unsigned best = 0;

        assert(model);
        if (model->cut == MODEL_SLICES && (profiles & (profiles - 1)) != 0)
                return best_side_by_side(model, state, profiles, true);
        for (unsigned i = 0; i < model->profiles_count; i++) {
                unsigned room = profiles >> i & 1 ? slice_room(model, state, i) : 0;
                best = room > best ? room : best;
        }
        return best;
}

struct slice_units slice_account(const struct model *model, struct slice_state state)
{
        struct slice_units ret = {0};

        assert(model);
        assert(state.compute <= model->compute_slices);
        assert(state.media <= model->media_total);
        switch (model->cut) {
        case MODEL_PLAIN:
                ret.free = UNITS_DEVICE;
                return ret;
        case MODEL_SLICES:
                ret.free = best_side_by_side(model, state, UINT32_MAX, false);
                break;
        case MODEL_MODES:
                ret.free = best_of_one_mode(model, state);
                break;
        }
        ret.taken = state.compute * model->compute_slice_units +
                    count_slots(state.slots) * model->memory_slice_units;
        assert(ret.taken <= UNITS_DEVICE);
        assert(ret.free <= UNITS_DEVICE - ret.taken);
        ret.stranded = UNITS_DEVICE - ret.taken - ret.free;
        return ret;
}

int slice_fragment(const struct model *model, struct slice_state state)
{
        assert(model);
        int slots_free = model->memory_slices - (int)count_slots(state.slots);
        int sum = 0;

        for (unsigned i = 0; i < model->profiles_count; i++) {
                const struct profile *p = &model->profiles[i];
                if (p->base)
                        sum += slots_free - (int)slice_room(model, state, i) * p->memory_slices;
        }
        return sum;
}

/* One walk over all layouts: at each slot nothing, or one of the base profiles, starts. */
struct layout_walk {
        const struct model *model;
        layout_visit *visit;
        void *arg;
        struct instance instances[SLOTS_MAX];   /* each takes a slot, so there are never more */
        unsigned count;
};

static void walk_from(struct layout_walk *walk, struct slice_state state, unsigned slot)
{
        const struct model *model = walk->model;

        if (slot >= model->memory_slices) {
                walk->visit(walk->arg, state, walk->instances, walk->count);
                return;
        }
        walk_from(walk, state, slot + 1);
        for (unsigned i = 0; i < model->profiles_count; i++) {
                const struct profile *p = &model->profiles[i];
                if (!p->base || !(slice_starts(model, state, i) >> slot & 1))
                        continue;
                walk->instances[walk->count++] = (struct instance){(uint8_t)i, (uint8_t)slot};
                walk_from(walk, slice_take(model, state, i, slot), slot + p->memory_slices);
                walk->count--;
        }
}

void layout_each(const struct model *model, layout_visit *visit, void *arg)
{
        assert(model);
        assert(visit);
        struct layout_walk walk = {.model = model, .visit = visit, .arg = arg};

        walk_from(&walk, (struct slice_state){0}, 0);
}

static bool is_maximal(const struct model *model, struct slice_state state)
{
        for (unsigned i = 0; i < model->profiles_count; i++)
                if (model->profiles[i].base && slice_starts(model, state, i))
                        return false;
        return true;
}

/* How many instances of each profile a layout holds, wherever they stand. */
struct layout_set {
        uint8_t counts[PROFILES_MAX];
};

static struct layout_set set_of(const struct instance *instances, unsigned count)
{
        struct layout_set set = {0};

        for (unsigned i = 0; i < count; i++)
                set.counts[instances[i].profile]++;
        return set;
}

/* Looks whether a maximal layout of the same set comes earlier in the walk. Walking again for each
 * maximal layout costs some ten thousand visits, and needs no table whose size must be guessed. */
struct set_search {
        const struct model *model;
        const struct layout_set *set;
        unsigned visits_left;
        bool found;
};

static void search_set(void *arg, struct slice_state state, const struct instance *instances,
                       unsigned count)
{
        struct set_search *search = arg;

        if (search->visits_left == 0)
                return;
        search->visits_left--;
        if (search->found || !is_maximal(search->model, state))
                return;
        struct layout_set set = set_of(instances, count);
        search->found = memcmp(&set, search->set, sizeof set) == 0;
}

struct layout_tally {
        const struct model *model;
        struct layout_counts counts;
};

static void tally_layout(void *arg, struct slice_state state, const struct instance *instances,
                         unsigned count)
{
        struct layout_tally *tally = arg;

        if (is_maximal(tally->model, state)) {
                struct layout_set set = set_of(instances, count);
                struct set_search search = {
                        .model = tally->model,
                        .set = &set,
                        .visits_left = tally->counts.layouts,
                };
                layout_each(tally->model, search_set, &search);
                tally->counts.maximal++;
                tally->counts.maximal_sets += !search.found;
        }
        tally->counts.layouts++;
}

struct layout_counts layout_count(const struct model *model)
{
        struct layout_tally tally = {.model = model};

        layout_each(model, tally_layout, &tally);
        return tally.counts;
}
