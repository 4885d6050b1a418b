#include "base/mem.h"
#include "engine/device.h"
#include "engine/units.h"
#include "sim/rng.h"
#include "tests/unit/models.h"

static const char *const mixed[] = {"A100-40", "A30", "T4", "MYSTERY", "MI300X", "RTX-PRO-6000"};

static struct need share_need(uint16_t milli, uint32_t mib)
{
        return (struct need){.models = UINT64_MAX, .ask = ASK_SHARE, .devices = 1,
                             .share_milli = milli, .memory_mib = mib};
}

static struct need memory_need(uint32_t mib, uint8_t methods)
{
        return (struct need){.models = UINT64_MAX, .ask = ASK_MEMORY, .devices = 1,
                             .memory_mib = mib, .methods = methods};
}

/* ---- what a need comes to ---- */

static void shares_take_the_other_half_in_proportion(void **state)
{
        (void)state;
        static const struct {
                const char *model;
                uint16_t milli;
                uint32_t mib;
                bool fits;
                uint16_t takes_milli;
                uint32_t takes_mib;
        } rows[] = {
                { "A100-40",  250,     0, true,   250, 10240 },
                { "A100-40",    0, 10240, true,   250, 10240 },
                { "A100-40",    0, 10241, true,   251, 10241 },         /* rounds up */
                { "A100-40",    0,     1, true,     1,     1 },
                { "A100-40",    1,     0, true,     1,    40 },         /* rounds down */
                { "A100-40",  300,  1000, true,   300,  1000 },         /* both: as said */
                { "A100-40",    0, 40960, true,  1000, 40960 },
                { "A100-40",    0, 40961, false,    0,     0 },
                { "A100-40",  100, 40961, false,    0,     0 },
                { "MYSTERY",  500,     0, true,   500,     0 },
                { "MYSTERY",  500,     1, false,    0,     0 },         /* memory not known */
                { "MYSTERY",    0,     1, false,    0,     0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct need need = share_need(rows[i].milli, rows[i].mib);
                struct part_fit fit;
                bool fits = part_fit_make(model_named(rows[i].model), &need, NULL, &fit);
                if (fits != rows[i].fits)
                        fail_msg("row %zu: %s", i, fits ? "fits" : "does not fit");
                if (!fits)
                        continue;
                assert_int_equal(fit.share_milli, rows[i].takes_milli);
                assert_int_equal(fit.memory_mib, rows[i].takes_mib);
                assert_int_equal(fit.profiles, 0);
                assert_false(fit.whole);
        }
}

static void profiles_go_by_name_and_memory_by_size(void **state)
{
        (void)state;
        static const struct {
                const char *model, *profile;    /* NULL: memory */
                uint32_t mib;
                uint8_t methods;
                bool fits, whole, share;
                const char *profiles;           /* those allowed, joined by blanks */
        } rows[] = {
                { "A100-40", "3g.20gb", 0, 0, true, false, false, "3g.20gb" },
                { "A100-40", "1g.5gb+me", 0, 0, true, false, false, "1g.5gb+me" },
                { "A100-40", "1g.6gb", 0, 0, false, false, false, "" },
                { "T4", "1g.5gb", 0, 0, false, false, false, "" },
                { "A100-40", NULL, 9856, METHOD_BIT(METHOD_SLICE), true, false, false,
                  "1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb" },
                { "A100-40", NULL, 9857, METHOD_BIT(METHOD_SLICE), true, false, false,
                  "3g.20gb 4g.20gb 7g.40gb" },
                { "A100-40", NULL, 40193, METHODS_BY_MEMORY, true, true, false, "" },
                { "A100-40", NULL, 40961, METHODS_BY_MEMORY, false, false, false, "" },
                { "A100-40", NULL, 4864, METHOD_BIT(METHOD_SHARE), true, false, true, "" },
                { "T4", NULL, 1000, METHOD_BIT(METHOD_SLICE), false, false, false, "" },
                { "T4", NULL, 1000, METHODS_BY_MEMORY, true, true, false, "" },
                { "MYSTERY", NULL, 1, METHODS_BY_MEMORY | METHOD_BIT(METHOD_SHARE), false, false,
                  false, "" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct model *model = model_named(rows[i].model);
                struct need need = memory_need(rows[i].mib, rows[i].methods);
                if (rows[i].profile)
                        need = (struct need){.models = UINT64_MAX, .ask = ASK_PROFILE,
                                             .devices = 1, .profile = 1};
                struct part_fit fit;
                bool fits = part_fit_make(model, &need, rows[i].profile, &fit);
                if (fits != rows[i].fits)
                        fail_msg("row %zu: %s", i, fits ? "fits" : "does not fit");
                if (!fits)
                        continue;
                assert_int_equal(fit.whole, rows[i].whole);
                assert_int_equal(fit.share_milli > 0, rows[i].share);
                char names[256] = "";
                for (unsigned p = 0; p < model->profiles_count; p++)
                        if (fit.profiles >> p & 1)
                                snprintf(names + strlen(names), sizeof names - strlen(names),
                                         "%s%s", names[0] ? " " : "", model->profiles[p].name);
                assert_string_equal(names, rows[i].profiles);
        }
}

/* ---- against trying everything ---- */

static bool draw_fit(struct rng *rng, const struct model *model, struct part_fit *ret_fit)
{
        static const uint32_t sizes[] = {1, 2000, 4864, 9000, 12000, 20000, 40000};
        struct need need = {.models = UINT64_MAX, .devices = 1};
        const char *profile = NULL;

        need.ask = (uint8_t)(ASK_WHOLE + rng_below(rng, 4));
        if (need.ask == ASK_PROFILE) {
                if (model->profiles_count == 0)
                        return false;
                need.profile = 1;
                profile = model->profiles[rng_below(rng, model->profiles_count)].name;
        }
        if (need.ask == ASK_MEMORY)
                need.methods = (uint8_t)(1 + rng_below(rng, 7));
        if (need.ask == ASK_MEMORY || (need.ask == ASK_SHARE && rng_below(rng, 2)))
                need.memory_mib = sizes[rng_below(rng, ARRAY_LEN(sizes))];
        if (need.ask == ASK_SHARE && (need.memory_mib == 0 || rng_below(rng, 2)))
                need.share_milli = (uint16_t)(150 + rng_below(rng, 850));
        return part_fit_make(model, &need, profile, ret_fit);
}

static unsigned room_by_search(const struct model *model, const struct device_state *state,
                               const struct part_fit *fit)
{
        struct part options[PART_OPTIONS_MAX];
        unsigned count = part_options(model, state, fit, options), best = 0;

        for (unsigned i = 0; i < count; i++) {
                struct device_state next = *state;
                device_take(model, &next, &options[i]);
                unsigned room = 1 + room_by_search(model, &next, fit);
                if (room > best)
                        best = room;
        }
        return best;
}

static void check_options(const struct model *model, const struct device_state *state,
                          const struct part_fit *fit)
{
        struct part options[PART_OPTIONS_MAX];
        unsigned count = part_options(model, state, fit, options);

        assert_in_range(count, 0, PART_OPTIONS_MAX);
        assert_int_equal(part_fits(model, state, fit), count > 0);
        for (unsigned i = 0; i < count; i++) {
                struct device_state next = *state;
                device_take(model, &next, &options[i]);
                assert_int_equal(next.holders, state->holders + 1);
                assert_false(device_is_idle(&next));
                device_give(model, &next, &options[i]);
                assert_memory_equal(&next, state, sizeof next);
                if (i == 0)
                        continue;
                uint32_t before = part_units(model, &options[i - 1]);
                uint32_t units = part_units(model, &options[i]);
                assert_true(before <= units);
                if (before == units && options[i].method == METHOD_SLICE &&
                    options[i - 1].method == METHOD_SLICE)
                        assert_true(options[i - 1].profile < options[i].profile ||
                                    (options[i - 1].profile == options[i].profile &&
                                     options[i - 1].start < options[i].start));
        }
        assert_int_equal(part_room(model, state, fit) > 0, count > 0);
}

/* Trying one set of instances after the other would not end: 15! orders of `a` alone. */
static void room_of_the_widest_model_is_found_at_once(void **state)
{
        (void)state;
        struct model wide = {.name = "W",
                             .cut = MODEL_SLICES,
                             .compute_slices = 15,
                             .memory_slices = 15,
                             .media_total = 10,
                             .profiles_count = 3,
                             .profiles = {{.name = "a", .compute_slices = 1, .memory_slices = 1,
                                           .max_count = 10, .media = 1, .starts = 0x7fff},
                                          {.name = "b", .compute_slices = 1, .memory_slices = 2,
                                           .max_count = 7, .starts = 0x3fff},
                                          {.name = "c", .compute_slices = 2, .memory_slices = 1,
                                           .max_count = 7, .starts = 0x7fff}}};
        static const struct { uint32_t profiles; unsigned room; } rows[] = {
                { 1, 10 }, { 2, 7 }, { 4, 7 }, { 3, 12 }, { 5, 12 }, { 6, 10 }, { 7, 13 },
        };
        struct model_table *table = model_table_new();
        struct device_state empty = {0};
        assert_int_equal(model_add(table, &wide, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct part_fit fit = {.profiles = rows[i].profiles};
                assert_int_equal(part_room(model_get(table, 0), &empty, &fit), rows[i].room);
        }
        model_table_free(table);
}

static void room_is_what_trying_everything_finds(void **state)
{
        (void)state;
        for (uint64_t seed = 1; seed <= 4000; seed++) {
                struct rng rng;
                rng_init(&rng, seed);
                const struct model *model = model_named(mixed[rng_below(&rng, ARRAY_LEN(mixed))]);
                struct device_state device = {0};
                struct part held[64], options[PART_OPTIONS_MAX];
                unsigned count = 0, steps = (unsigned)rng_below(&rng, 8);
                uint64_t units = 0;

                if (model->memory_slices && rng_below(&rng, 5) == 0)
                        device.foreign_slots = (uint16_t)(1u << rng_below(&rng,
                                                                          model->memory_slices));
                for (unsigned i = 0; i < steps; i++) {
                        struct part_fit fit;
                        if (!draw_fit(&rng, model, &fit))
                                continue;
                        unsigned n = part_options(model, &device, &fit, options);
                        check_options(model, &device, &fit);
                        if (n == 0)
                                continue;
                        held[count] = options[rng_below(&rng, n)];
                        device_take(model, &device, &held[count]);
                        units += part_units(model, &held[count++]);
                        assert_true(units <= UNITS_DEVICE);
                }
                for (unsigned i = 0; i < 3; i++) {
                        struct part_fit fit;
                        /* The plain search of small memory on an empty card takes long. */
                        if (!draw_fit(&rng, model, &fit) ||
                            (__builtin_popcount(fit.profiles) > 2 && device.holders < 2))
                                continue;
                        unsigned room = part_room(model, &device, &fit);
                        unsigned found = room_by_search(model, &device, &fit);
                        if (room != found)
                                fail_msg("seed %llu, %s: room for %u, but %u fit",
                                         (unsigned long long)seed, model->name, room, found);
                }
                /* Given back in any order, nothing is left. */
                while (count > 0) {
                        unsigned i = (unsigned)rng_below(&rng, count);
                        device_give(model, &device, &held[i]);
                        held[i] = held[--count];
                }
                struct device_state clean = {.foreign_slots = device.foreign_slots};
                assert_memory_equal(&device, &clean, sizeof clean);
        }
}

/* ---- by hand ---- */

static void a_broken_or_foreign_device_takes_little(void **state)
{
        (void)state;
        const struct model *model = model_named("A100-40");
        struct part_fit whole = {.whole = true};
        struct part_fit share = {.share_milli = 100, .memory_mib = 4096};
        struct part_fit slice = {.profiles = 1};        /* 1g.5gb */
        struct device_state device = {.broken = 1};

        assert_false(part_fits(model, &device, &whole));
        assert_false(part_fits(model, &device, &share));
        assert_false(part_fits(model, &device, &slice));
        assert_int_equal(part_room(model, &device, &slice), 0);
        assert_int_equal(device_free_units(model, &device), 0);
        assert_false(device_is_idle(&device));

        device = (struct device_state){.foreign_slots = 1};
        assert_false(part_fits(model, &device, &whole));
        assert_false(part_fits(model, &device, &share));
        assert_int_equal(part_room(model, &device, &slice), 6);         /* slots 1 to 6 */
        assert_false(device_is_idle(&device));

        /* Memory that somebody took behind our back is not there for one more share. */
        device = (struct device_state){0};
        device_take(model, &device, &(struct part){.method = METHOD_SHARE, .share_milli = 100,
                                                   .memory_mib = 4096});
        assert_int_equal(part_room(model, &device, &share), 9);
        device.foreign_slots = 2;
        assert_false(part_fits(model, &device, &share));
        assert_int_equal(part_room(model, &device, &share), 0);
}

static void methods_do_not_mix_on_one_device(void **state)
{
        (void)state;
        const struct model *model = model_named("A100-40");
        static const struct part parts[] = {
                {.method = METHOD_WHOLE},
                {.method = METHOD_SLICE, .profile = 0, .start = 0},
                {.method = METHOD_SHARE, .share_milli = 1, .memory_mib = 1},
        };
        static const struct part_fit fits[] = {
                {.whole = true}, {.profiles = 1}, {.share_milli = 1, .memory_mib = 1},
        };
        for (size_t a = 0; a < ARRAY_LEN(parts); a++)
                for (size_t b = 0; b < ARRAY_LEN(fits); b++) {
                        struct device_state device = {0};
                        device_take(model, &device, &parts[a]);
                        assert_int_equal(part_fits(model, &device, &fits[b]), a == b && a != 0);
                }
}

static void units_are_half_compute_and_half_memory(void **state)
{
        (void)state;
        static const struct { const char *model; struct part part; uint32_t units; } rows[] = {
                { "A100-40", {.method = METHOD_WHOLE}, 126000 },
                { "T4", {.method = METHOD_WHOLE}, 126000 },
                { "A100-40", {.method = METHOD_SLICE, .profile = 0}, 9000 + 7875 },
                { "A100-40", {.method = METHOD_SHARE, .share_milli = 250, .memory_mib = 10240},
                  31500 },
                { "A100-40", {.method = METHOD_SHARE, .share_milli = 1000, .memory_mib = 40960},
                  126000 },
                { "A100-40", {.method = METHOD_SHARE, .share_milli = 500, .memory_mib = 0},
                  31500 },
                { "MYSTERY", {.method = METHOD_SHARE, .share_milli = 500}, 63000 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(part_units(model_named(rows[i].model), &rows[i].part),
                                 rows[i].units);
}

static void free_units_are_what_nobody_holds(void **state)
{
        (void)state;
        const struct model *model = model_named("A100-40");
        struct device_state device = {0};

        assert_int_equal(device_free_units(model, &device), 126000);
        device_take(model, &device, &(struct part){.method = METHOD_SLICE, .profile = 0});
        assert_int_equal(device_free_units(model, &device), 126000 - 16875);
        device = (struct device_state){0};
        device_take(model, &device, &(struct part){.method = METHOD_SHARE, .share_milli = 250,
                                                   .memory_mib = 10240});
        assert_int_equal(device_free_units(model, &device), 94500);
        device = (struct device_state){0};
        device_take(model, &device, &(struct part){.method = METHOD_WHOLE});
        assert_int_equal(device_free_units(model, &device), 0);
        device.broken = 1;
        assert_int_equal(device_free_units(model, &device), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shares_take_the_other_half_in_proportion),
                cmocka_unit_test(profiles_go_by_name_and_memory_by_size),
                cmocka_unit_test(room_is_what_trying_everything_finds),
                cmocka_unit_test(room_of_the_widest_model_is_found_at_once),
                cmocka_unit_test(a_broken_or_foreign_device_takes_little),
                cmocka_unit_test(methods_do_not_mix_on_one_device),
                cmocka_unit_test(units_are_half_compute_and_half_memory),
                cmocka_unit_test(free_units_are_what_nobody_holds),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
