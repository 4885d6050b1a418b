#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/geometry.h"
#include "engine/units.h"
#include "tests/unit/models.h"

static unsigned profile_of(const struct model *model, const char *name)
{
        struct err err = {0};
        int profile = profile_find(model, name, &err);

        if (profile < 0)
                fail_msg("%s", err.text);
        return (unsigned)profile;
}

static bool is_same_state(struct slice_state a, struct slice_state b)
{
        return a.slots == b.slots && a.compute == b.compute && a.media == b.media &&
               a.media_exclusive == b.media_exclusive && a.mode == b.mode;
}

/* "3g.20gb@4 1g.5gb@0": places each in turn. */
static struct slice_state place(const struct model *model, const char *layout)
{
        struct slice_state state = {0};
        char name[PROFILE_NAME_MAX];
        unsigned start;
        int used;

        while (sscanf(layout, " %23[^@ ]@%u%n", name, &start, &used) == 2) {
                state = slice_take(model, state, profile_of(model, name), start);
                layout += used;
        }
        assert_string_equal(layout, "");
        return state;
}

/* The obvious models: search by trying everything. */

static unsigned room_by_search(const struct model *model, struct slice_state state,
                               unsigned profile, unsigned from)
{
        unsigned best = 0;

        for (unsigned start = from; start < model->memory_slices; start++) {
                if (!(slice_starts(model, state, profile) >> start & 1))
                        continue;
                struct slice_state next = slice_take(model, state, profile, start);
                unsigned room = 1 + room_by_search(model, next, profile, start + 1);
                if (room > best)
                        best = room;
        }
        return best;
}

static uint32_t free_by_search(const struct model *model, struct slice_state state, unsigned from)
{
        uint32_t best = 0;

        for (unsigned i = 0; i < model->profiles_count; i++)
                for (unsigned start = from; start < model->memory_slices; start++) {
                        if (!(slice_starts(model, state, i) >> start & 1))
                                continue;
                        uint32_t units = profile_units(model, &model->profiles[i]) +
                                free_by_search(model, slice_take(model, state, i, start),
                                               start + 1);
                        if (units > best)
                                best = units;
                }
        return best;
}

/* Whether one more instance fits, from the list of instances and the rules in words. */
static bool fits_by_list(const struct model *model, const struct instance *instances,
                         unsigned count, unsigned profile, unsigned start)
{
        const struct profile *p = &model->profiles[profile];
        unsigned compute = p->compute_slices, media = p->media, same = 1;

        if (!(p->starts >> start & 1))
                return false;
        for (unsigned i = 0; i < count; i++) {
                const struct profile *q = &model->profiles[instances[i].profile];
                compute += q->compute_slices;
                media += q->media;
                same += instances[i].profile == profile;
                if (model->cut == MODEL_MODES && instances[i].profile != profile)
                        return false;
                if (p->media_exclusive && q->media_exclusive)
                        return false;
                if (start < (unsigned)instances[i].start + q->memory_slices &&
                    instances[i].start < start + p->memory_slices)
                        return false;
        }
        return compute <= model->compute_slices && media <= model->media_total &&
               same <= p->max_count;
}

/* Layouts. */

static void layout_counts_are_the_known_constants(void **state)
{
        (void)state;
        static const struct { const char *model; unsigned layouts, maximal, sets; } rows[] = {
                { "A100-40",      723, 78, 38 },
                { "A100-80",      723, 78, 38 },
                { "H100-80",      723, 78, 38 },
                { "H100-PCIE-80", 723, 78, 38 },
                { "H100-NVL-94",  723, 78, 38 },
                { "GH200-96",     723, 78, 38 },
                { "GH200-144",    723, 78, 38 },
                { "H200",         723, 78, 38 },
                { "B200",         723, 78, 38 },
                { "GB200",        723, 78, 38 },
                { "B300",         723, 78, 38 },
                { "GB300",        723, 78, 38 },
                { "A30",           26,  5,  4 },
                { "RTX-PRO-6000",  26,  5,  4 },
                /* modes: every subset of each mode's parts, counted once when empty */
                { "MI300X",       275,  4,  4 },        /* 1 + 1 + 3 + 15 + 255 */
                { "MI300A",        72,  3,  3 },        /* 1 + 1 + 7 + 63 */
                { "T4",             1,  1,  1 },        /* plain: only the empty one */
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct layout_counts counts = layout_count(model_named(rows[i].model));
                assert_int_equal(counts.layouts, rows[i].layouts);
                assert_int_equal(counts.maximal, rows[i].maximal);
                assert_int_equal(counts.maximal_sets, rows[i].sets);
        }
}

static void check_units(void *arg, struct slice_state state, const struct instance *instances,
                        unsigned count)
{
        const struct model *model = arg;
        struct slice_units units = slice_account(model, state);
        uint32_t taken = 0;

        for (unsigned i = 0; i < count; i++)
                taken += profile_units(model, &model->profiles[instances[i].profile]);
        assert_int_equal(units.taken, taken);
        assert_int_equal(units.taken + units.free + units.stranded, UNITS_DEVICE);
}

static void units_of_every_layout_add_up_to_the_device(void **state)
{
        (void)state;
        for (unsigned id = 0; id < model_count(models); id++)
                layout_each(model_get(models, id), check_units, (void *)model_get(models, id));
}

static void check_searches(void *arg, struct slice_state state, const struct instance *instances,
                           unsigned count)
{
        const struct model *model = arg;

        (void)instances;
        (void)count;
        for (unsigned i = 0; i < model->profiles_count; i++)
                assert_int_equal(slice_room(model, state, i),
                                 room_by_search(model, state, i, 0));
        if (model->profiles_count)
                assert_int_equal(slice_account(model, state).free,
                                 free_by_search(model, state, 0));
}

static void room_and_free_equal_a_search_of_everything(void **state)
{
        (void)state;
        static const char *const searched[] = {"A30", "A100-40", "H200", "RTX-PRO-6000", "MI300A",
                                             "MI300X", "L4"};

        for (size_t i = 0; i < ARRAY_LEN(searched); i++) {
                const struct model *model = model_named(searched[i]);
                layout_each(model, check_searches, (void *)model);
        }
}

static void check_starts(void *arg, struct slice_state state, const struct instance *instances,
                         unsigned count)
{
        const struct model *model = arg;

        for (unsigned i = 0; i < model->profiles_count; i++) {
                uint16_t starts = slice_starts(model, state, i);
                for (unsigned start = 0; start < SLOTS_MAX; start++) {
                        bool fits = fits_by_list(model, instances, count, i, start);
                        assert_int_equal(starts >> start & 1, fits);
                        if (!fits)
                                continue;
                        struct slice_state next = slice_take(model, state, i, start);
                        assert_true(is_same_state(slice_give(model, next, i, start), state));
                }
        }

        /* Given back in another order than taken, nothing is left. */
        for (unsigned i = 0; i < count; i += 2)
                state = slice_give(model, state, instances[i].profile, instances[i].start);
        for (unsigned i = 1; i < count; i += 2)
                state = slice_give(model, state, instances[i].profile, instances[i].start);
        assert_true(is_same_state(state, (struct slice_state){0}));
}

static void starts_follow_the_rules_and_giving_undoes_taking(void **state)
{
        (void)state;
        for (unsigned id = 0; id < model_count(models); id++)
                layout_each(model_get(models, id), check_starts, (void *)model_get(models, id));
}

/* Named cases. */

static void units_are_as_promised(void **state)
{
        (void)state;
        static const struct {
                const char *model, *layout;
                uint32_t taken, free, stranded;
        } rows[] = {
                { "A100-40", "",                          0, 126000,    0 },
                { "A100-40", "7g.40gb@0",            126000,      0,    0 },
                { "A100-40", "3g.20gb@0 3g.20gb@4",  117000,      0, 9000 },
                { "A100-40", "4g.20gb@0 3g.20gb@4",  126000,      0,    0 },
                { "A100-40", "1g.5gb@0",              16875, 109125,    0 },    /* 1g + 2g + 3g */
                { "A100-40", "3g.20gb@0 1g.5gb@5",    75375,  41625, 9000 },   /* 1g@4, 1g.10gb@6 */
                { "H100-80", "3g.40gb@4",             58500,  67500,    0 },
                { "A30",     "2g.12gb@2",             63000,  63000,    0 },
                { "A30",     "1g.6gb+me@0",           31500,  94500,    0 },
                { "RTX-PRO-6000", "1g.24gb@3",        31500,  94500,    0 },
                /* one me.all leaves room for the parts without media engines */
                { "RTX-PRO-6000", "1g.24gb+me.all@0", 31500,  94500,    0 },
                { "RTX-PRO-6000", "2g.48gb@0",        63000,  63000,    0 },
                { "MI300X",  "cpx@7",                 15750, 110250,    0 },
                { "MI300X",  "dpx@4",                 63000,  63000,    0 },
                { "MI300A",  "tpx@2",                 42000,  84000,    0 },
                { "V100-16", "",                          0, 126000,    0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct model *model = model_named(rows[i].model);
                struct slice_units units = slice_account(model, place(model, rows[i].layout));
                assert_int_equal(units.taken, rows[i].taken);
                assert_int_equal(units.free, rows[i].free);
                assert_int_equal(units.stranded, rows[i].stranded);
        }
}

static void rooms_are_as_promised(void **state)
{
        (void)state;
        static const struct { const char *model, *layout, *profile; unsigned room; } rows[] = {
                { "A100-40", "",                           "1g.5gb",         7 },
                { "A100-40", "",                           "1g.10gb",        4 },
                { "A100-40", "",                           "1g.5gb+me",      1 },
                /* five compute slices are free, yet neither 3g nor 4g fits */
                { "A100-40", "1g.5gb@1 1g.5gb@5",          "3g.20gb",        0 },
                { "A100-40", "1g.5gb@1 1g.5gb@5",          "4g.20gb",        0 },
                { "A100-40", "1g.5gb@1 1g.5gb@5",          "1g.5gb",         5 },
                { "A100-40", "3g.20gb@0 3g.20gb@4",        "1g.5gb",         0 },
                { "A100-40", "1g.5gb+me@0",                "1g.5gb+me",      0 },
                { "A100-40", "1g.5gb+me@0",                "1g.5gb",         6 },
                { "A30",     "1g.6gb+me@3",                "2g.12gb+me",     0 },
                { "A30",     "1g.6gb+me@3",                "2g.12gb",        1 },
                { "RTX-PRO-6000", "",                      "1g.24gb-me",     4 },
                { "RTX-PRO-6000", "1g.24gb+me.all@0",      "1g.24gb",        0 },
                { "RTX-PRO-6000", "1g.24gb+me.all@0",      "1g.24gb-me",     3 },
                { "RTX-PRO-6000", "1g.24gb+me.all@0",      "2g.48gb-me",     1 },
                { "RTX-PRO-6000", "1g.24gb-me@0",          "1g.24gb+me.all", 1 },
                { "RTX-PRO-6000", "1g.24gb@0",             "1g.24gb+me.all", 0 },
                { "RTX-PRO-6000", "1g.24gb+me@0",          "1g.24gb+me",     0 },
                { "RTX-PRO-6000", "1g.24gb+me@0",          "1g.24gb+gfx",    3 },
                { "RTX-PRO-6000", "2g.48gb+gfx@0",         "1g.24gb",        2 },
                { "MI300X",  "",                           "spx",            1 },
                { "MI300X",  "",                           "cpx",            8 },
                { "MI300X",  "cpx@0",                      "cpx",            7 },
                { "MI300X",  "cpx@0",                      "dpx",            0 },
                { "MI300X",  "cpx@0",                      "spx",            0 },
                { "MI300X",  "qpx@6",                      "qpx",            3 },
                { "MI300A",  "tpx@0",                      "cpx",            0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct model *model = model_named(rows[i].model);
                struct slice_state layout = place(model, rows[i].layout);
                unsigned room = slice_room(model, layout, profile_of(model, rows[i].profile));
                if (room != rows[i].room)
                        fail_msg("%s '%s' %s: %u, not %u", rows[i].model, rows[i].layout,
                                 rows[i].profile, room, rows[i].room);
        }
}

static void the_mode_stays_until_the_last_part_goes(void **state)
{
        (void)state;
        const struct model *model = model_named("MI300X");
        unsigned cpx = profile_of(model, "cpx"), dpx = profile_of(model, "dpx");
        struct slice_state parts = place(model, "cpx@2 cpx@5");

        assert_int_equal(slice_starts(model, parts, cpx), 0xdb);
        assert_int_equal(slice_starts(model, parts, dpx), 0);
        parts = slice_give(model, parts, cpx, 2);
        assert_int_equal(parts.mode, cpx + 1);
        assert_int_equal(slice_starts(model, parts, dpx), 0);
        parts = slice_give(model, parts, cpx, 5);
        assert_true(is_same_state(parts, (struct slice_state){0}));
        assert_int_equal(slice_starts(model, parts, dpx), 0x11);
}

static void foreign_slots_block_starts(void **state)
{
        (void)state;
        const struct model *model = model_named("A100-40");
        struct slice_state foreign = {.slots = 0x08};

        assert_int_equal(slice_starts(model, foreign, profile_of(model, "1g.5gb")), 0x77);
        assert_int_equal(slice_starts(model, foreign, profile_of(model, "2g.10gb")), 0x11);
        assert_int_equal(slice_starts(model, foreign, profile_of(model, "3g.20gb")), 0x10);
        assert_int_equal(slice_room(model, foreign, profile_of(model, "1g.10gb")), 3);
}

static void fragment_counts_slots_that_no_instance_can_use(void **state)
{
        (void)state;
        static const struct { const char *layout; int fragment; } rows[] = {
                { "",                    7 },   /* 1g 8-7, 2g 8-6, 4g 8-4 */
                { "7g.40gb@0",           0 },
                { "3g.20gb@0 3g.20gb@4", 0 },
                { "3g.20gb@4",           4 },   /* 7g 4-0; all others fill the four slots */
                { "3g.20gb@0",          11 },   /* 1g 4-3, 2g 4-2, 4g 4-0, 7g 4-0 */
        };
        const struct model *model = model_named("A100-40");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(slice_fragment(model, place(model, rows[i].layout)),
                                 rows[i].fragment);
        assert_int_equal(slice_fragment(model_named("T4"), (struct slice_state){0}), 0);
}

/* A long walk of random takes and gives over all profiles, +me and the like included. */
static uint32_t next_random(uint64_t *seed)
{
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(*seed >> 33);
}

static void walk(const struct model *model, uint64_t seed, unsigned steps)
{
        struct instance instances[SLOTS_MAX];
        struct slice_state state = {0};
        unsigned count = 0;

        for (unsigned step = 0; step < steps; step++) {
                unsigned profile = next_random(&seed) % model->profiles_count;
                unsigned start = next_random(&seed) % model->memory_slices;
                bool fits = fits_by_list(model, instances, count, profile, start);

                assert_int_equal(slice_starts(model, state, profile) >> start & 1, fits);
                if (fits) {
                        state = slice_take(model, state, profile, start);
                        instances[count++] = (struct instance){(uint8_t)profile, (uint8_t)start};
                } else if (count && next_random(&seed) % 4 == 0) {
                        unsigned i = next_random(&seed) % count;
                        state = slice_give(model, state, instances[i].profile, instances[i].start);
                        instances[i] = instances[--count];
                }
                struct slice_units units = slice_account(model, state);
                assert_int_equal(units.taken + units.free + units.stranded, UNITS_DEVICE);
                if (step % 16 == 0) {
                        assert_int_equal(units.free, free_by_search(model, state, 0));
                        assert_int_equal(slice_room(model, state, profile),
                                         room_by_search(model, state, profile, 0));
                }
        }
}

static void random_walks_agree_with_the_rules(void **state)
{
        (void)state;
        for (unsigned id = 0; id < model_count(models); id++) {
                const struct model *model = model_get(models, id);
                if (model->profiles_count == 0)
                        continue;
                print_message("%s, seed %u\n", model->name, id + 1);
                walk(model, id + 1, 600);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(layout_counts_are_the_known_constants),
                cmocka_unit_test(units_of_every_layout_add_up_to_the_device),
                cmocka_unit_test(room_and_free_equal_a_search_of_everything),
                cmocka_unit_test(starts_follow_the_rules_and_giving_undoes_taking),
                cmocka_unit_test(units_are_as_promised),
                cmocka_unit_test(rooms_are_as_promised),
                cmocka_unit_test(the_mode_stays_until_the_last_part_goes),
                cmocka_unit_test(foreign_slots_block_starts),
                cmocka_unit_test(fragment_counts_slots_that_no_instance_can_use),
                cmocka_unit_test(random_walks_agree_with_the_rules),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
