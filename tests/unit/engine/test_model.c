#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/model.h"
#include "engine/units.h"
#include "proto/model_doc.h"

static struct model_table *table;

static int load_models(void **state)
{
        (void)state;
        struct err err = {0};

        table = model_table_new();
        assert_non_null(table);
        if (model_doc_builtin(table, &err) < 0)
                fail_msg("%s", err.text);
        return 0;
}

static int free_models(void **state)
{
        (void)state;
        model_table_free(table);
        table = NULL;
        return 0;
}

static void assert_says(const struct err *err, const char *part)
{
        if (!strstr(err->text, part))
                fail_msg("'%s' does not say '%s'", err->text, part);
}

/* A small card: four compute slices, four memory slices, two media engines. */
static struct model small_card(const char *name)
{
        struct model model = {
                .aliases = {"NVIDIA Small*"}, .aliases_count = 1, .cut = MODEL_SLICES,
                .known = true, .memory_mib = 4096, .multiprocessors = 40, .compute_slices = 4,
                .memory_slices = 4, .media_total = 2, .profiles_count = 3,
                .profiles = {
                        {.name = "1g", .compute_slices = 1, .memory_slices = 1, .max_count = 4,
                         .base = true, .starts = 0xf, .memory_mib = 1024, .multiprocessors = 10},
                        {.name = "1g+me", .compute_slices = 1, .memory_slices = 1, .max_count = 1,
                         .media = 1, .media_exclusive = true, .starts = 0xf,
                         .memory_mib = 1024, .multiprocessors = 10},
                        {.name = "4g", .compute_slices = 4, .memory_slices = 4, .max_count = 1,
                         .media = 2, .base = true, .starts = 0x1, .memory_mib = 4096,
                         .multiprocessors = 40},
                },
        };
        assert_true(str_copy(model.name, sizeof model.name, name));
        return model;
}

static void names_and_aliases_find_their_model(void **state)
{
        (void)state;
        static const struct { const char *name, *model; } rows[] = {
                { "A100-40",                                    "A100-40" },
                { "a100-40",                                    "A100-40" },
                { "NVIDIA A100-SXM4-40GB",                      "A100-40" },
                { "NVIDIA A100 80GB PCIe",                      "A100-80" },
                { "NVIDIA A800-SXM4-80GB",                      "A100-80" },
                { "nvidia h100 80gb hbm3",                      "H100-80" },
                { "H100-SXM-80",                                "H100-80" },
                { "NVIDIA H100 PCIe",                           "H100-PCIE-80" },
                { "NVIDIA H100 NVL",                            "H100-NVL-94" },
                { "NVIDIA GH200 480GB",                         "GH200-96" },
                { "NVIDIA GH200 144G HBM3e",                    "GH200-144" },
                { "NVIDIA H200 NVL",                            "H200" },
                { "NVIDIA B300 SXM6 AC",                        "B300" },
                { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000" },
                { "AMD Instinct MI300X OAM",                    "MI300X" },
                { "AMD Instinct MI300A",                        "MI300A" },
                { "V100M16",                                    "V100-16" },
                { "Tesla V100-SXM2-32GB",                       "V100-32" },
                { "Tesla V100S-PCIE-32GB",                      "V100-32" },
                { "Tesla T4",                                   "T4" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int id = model_find(table, rows[i].name, &err);
                if (id < 0)
                        fail_msg("%s", err.text);
                assert_string_equal(model_get(table, (unsigned)id)->name, rows[i].model);
        }
}

static void unknown_names_list_near_ones(void **state)
{
        (void)state;
        static const struct { const char *name, *says; } rows[] = {
                { "H100-81",    "'H100-81' is not known; did you mean 'H100-80'" },
                { "A100-4O",    "did you mean 'A100-40'" },
                { "MI300",      "'MI300X'" },
                { "quantum",    "known: '" },
                { "",           "'' is not known" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                assert_int_equal(model_find(table, rows[i].name, &err), -ERR_NOT_FOUND);
                assert_says(&err, rows[i].says);
        }
}

static void patterns_match_sets_of_names(void **state)
{
        (void)state;
        static const struct {
                const char *pattern;
                int rc;
                unsigned count;
                const char *says;
        } rows[] = {
                { "H100*",              0, 3, NULL },   /* -80, -PCIE-80, -NVL-94 */
                { "h100-*",             0, 3, NULL },
                { "A100-40",            0, 1, NULL },
                { "A100-40|A100-40",    0, 1, NULL },
                { "A100*|H200",         0, 3, NULL },
                { "V100-*|P100|T4",     0, 4, NULL },
                { "Z9|T4",              0, 1, NULL },
                { "NVIDIA*",            -ERR_NOT_FOUND, 0, "no device model matches 'NVIDIA*'" },
                { "H10O-80",            -ERR_NOT_FOUND, 0, "did you mean 'H100-80'" },
                { "",                   -ERR_INPUT, 0, "empty part" },
                { "T4|",                -ERR_INPUT, 0, "empty part" },
                { "|T4",                -ERR_INPUT, 0, "empty part" },
                { "***********************************************", 0, UINT32_MAX, NULL },
                { "************************************************", -ERR_INPUT, 0, "48 bytes" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                uint64_t models = 0;
                int rc = model_match(table, rows[i].pattern, &models, &err);
                assert_int_equal(rc, rows[i].rc);
                unsigned count = rows[i].count;
                if (count == UINT32_MAX)
                        count = (unsigned)model_count(table);
                assert_int_equal(__builtin_popcountll(models), count);
                if (rows[i].says)
                        assert_says(&err, rows[i].says);
        }
        uint64_t models = 0;
        assert_int_equal(model_match(table, "A30", &models, NULL), 0);
        assert_true(models == (uint64_t)1 << model_find(table, "A30", NULL));
}

static void profiles_are_found_or_listed(void **state)
{
        (void)state;
        struct err err = {0};
        const struct model *a100 = model_get(table, (unsigned)model_find(table, "A100-40", NULL));
        const struct model *t4 = model_get(table, (unsigned)model_find(table, "T4", NULL));

        int profile = profile_find(a100, "3G.20GB", &err);
        assert_true(profile >= 0);
        assert_string_equal(a100->profiles[profile].name, "3g.20gb");
        assert_int_equal(profile_units(a100, &a100->profiles[profile]), 3 * 9000 + 4 * 7875);

        assert_int_equal(profile_find(a100, "3g.40gb", &err), -ERR_NOT_FOUND);
        assert_says(&err, "'A100-40' has no profile '3g.40gb'; it has 1g.5gb, 1g.5gb+me, 1g.10gb, "
                          "2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb");
        assert_int_equal(profile_find(t4, "1g", &err), -ERR_NOT_FOUND);
        assert_says(&err, "cannot be cut");
}

static void the_longest_list_of_profiles_is_cut_not_overrun(void **state)
{
        (void)state;
        struct model model = small_card("Long");
        struct err err = {0};

        model.profiles_count = PROFILES_MAX;
        for (unsigned i = 0; i < PROFILES_MAX; i++)
                snprintf(model.profiles[i].name, PROFILE_NAME_MAX, "%02u-profile-of-23-bytes", i);
        assert_int_equal(profile_find(&model, "x", &err), -ERR_NOT_FOUND);
        assert_says(&err, "00-profile-of-23-bytes");
}

static void units_of_slices_divide_the_device(void **state)
{
        (void)state;
        static const struct { const char *name; uint32_t compute, memory; } rows[] = {
                { "A100-40",      9000,  7875 },
                { "A30",         15750, 15750 },
                { "RTX-PRO-6000", 15750, 5250 },
                { "MI300X",       7875,  7875 },
                { "MI300A",      10500, 10500 },
                { "T4",              0,     0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int id = model_find(table, rows[i].name, NULL);
                assert_true(id >= 0);
                const struct model *model = model_get(table, (unsigned)id);
                assert_int_equal(model->compute_slice_units, rows[i].compute);
                assert_int_equal(model->memory_slice_units, rows[i].memory);
        }
}

/* Each row spoils one figure of a good card. */
static void no_name(struct model *m)         { m->name[0] = '\0'; }
static void open_name(struct model *m)       { memset(m->name, 'x', sizeof m->name); }
static void star_name(struct model *m)       { m->name[0] = '*'; }
static void bar_alias(struct model *m)       { m->aliases[0][3] = '|'; }
static void catch_all_alias(struct model *m) { memcpy(m->aliases[0], "**", 3); }
static void many_aliases(struct model *m)    { m->aliases_count = MODEL_ALIASES_MAX + 1; }
static void two_equal_aliases(struct model *m)
{
        memcpy(m->aliases[1], m->aliases[0], sizeof m->aliases[0]);
        m->aliases_count = 2;
}
static void plain_with_profiles(struct model *m) { m->cut = MODEL_PLAIN; }
static void no_compute(struct model *m)      { m->compute_slices = 0; }
static void many_slots(struct model *m)      { m->memory_slices = SLOTS_MAX + 1; }
static void uneven_slices(struct model *m)   { m->compute_slices = 11; }
static void many_media(struct model *m)      { m->media_total = SLOTS_MAX + 1; }
static void no_profiles(struct model *m)     { m->profiles_count = 0; }
static void many_profiles(struct model *m)   { m->profiles_count = PROFILES_MAX + 1; }
static void blank_profile(struct model *m)   { m->profiles[0].name[1] = ' '; }
static void twin_profile(struct model *m)    { memcpy(m->profiles[1].name, "1G", 3); }
static void profile_wide(struct model *m)    { m->profiles[2].compute_slices = 5; }
static void profile_empty(struct model *m)   { m->profiles[0].compute_slices = 0; }
static void profile_long(struct model *m)    { m->profiles[2].memory_slices = 5; }
static void profile_flat(struct model *m)    { m->profiles[0].memory_slices = 0; }
static void profile_nowhere(struct model *m) { m->profiles[0].starts = 0; }
static void profile_beyond(struct model *m)  { m->profiles[2].starts = 0x3; }
static void profile_media(struct model *m)   { m->profiles[1].media = 3; }
static void count_low(struct model *m)       { m->profiles[0].max_count = 3; }
static void count_high(struct model *m)      { m->profiles[1].max_count = 4; }
static void memory_high(struct model *m)     { m->profiles[0].memory_mib = 1025; }
static void memory_wraps(struct model *m)    { m->profiles[0].memory_mib = 0x40000001; }
static void multi_high(struct model *m)      { m->profiles[0].multiprocessors = 11; }
static void mode_with_gap(struct model *m)
{
        m->cut = MODEL_MODES;
        m->profiles[0].starts = 0x7;
        m->profiles[0].max_count = 3;
}

static void wrong_figures_are_refused_and_change_nothing(void **state)
{
        (void)state;
        static const struct { void (*spoil)(struct model *); const char *says; } rows[] = {
                { no_name,             "1 to 47 printable" },
                { open_name,           "1 to 47 printable" },
                { star_name,           "without '*'" },
                { bar_alias,           "alias 1" },
                { catch_all_alias,     "match every name" },
                { many_aliases,        "9 aliases; at most 8" },
                { two_equal_aliases,   "twice" },
                { plain_with_profiles, "is plain" },
                { no_compute,          "0 compute slices" },
                { many_slots,          "17 memory slices; 1 to 16" },
                { uneven_slices,       "63000 units, which 11 compute slices" },
                { many_media,          "17 media engines" },
                { no_profiles,         "has no profile" },
                { many_profiles,       "25 profiles; at most 24" },
                { blank_profile,       "profile 1" },
                { twin_profile,        "the profile '1G' twice" },
                { profile_wide,        "profile '4g': 5 compute slices; the device has 4" },
                { profile_empty,       "profile '1g': 0 compute slices" },
                { profile_long,        "profile '4g': 5 memory slices" },
                { profile_flat,        "profile '1g': 0 memory slices" },
                { profile_nowhere,     "start nowhere" },
                { profile_beyond,      "4 memory slices from slot 1 pass the end of 4" },
                { profile_media,       "3 media engines; the device counts 2" },
                { count_low,           "max_count is 3, but 4 fit" },
                { count_high,          "max_count is 4, but 1 fit" },
                { memory_high,         "4 times 1025 MiB are more than the device's 4096" },
                { memory_wraps,        "are more than" },
                { multi_high,          "4 times 11 multiprocessors" },
                { mode_with_gap,       "3 parts of a mode must fill" },
        };
        struct model_table *small = model_table_new();

        assert_non_null(small);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct model model = small_card("Small");
                struct err err = {0};
                rows[i].spoil(&model);
                assert_int_equal(model_add(small, &model, &err), -ERR_INPUT);
                assert_says(&err, rows[i].says);
                assert_int_equal(model_count(small), 0);
        }
        struct model good = small_card("Small");
        assert_int_equal(model_add(small, &good, NULL), 0);
        model_table_free(small);
}

static void a_second_model_of_a_name_or_alias_is_refused(void **state)
{
        (void)state;
        static const struct { const char *name, *alias; int rc; } rows[] = {
                { "small",         "Other",         -ERR_EXISTS },
                { "NVIDIA SMALL",  "Other",         0 },        /* only a pattern covers it */
                { "Second",        "Small",         -ERR_EXISTS },
                { "Second",        "nvidia small*", -ERR_EXISTS },
                { "Second",        "NVIDIA Sm*",    0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct model_table *small = model_table_new();
                assert_non_null(small);
                struct model model = small_card("Small");
                struct err err = {0};
                assert_int_equal(model_add(small, &model, &err), 0);

                model = small_card(rows[i].name);
                assert_true(str_copy(model.aliases[0], MODEL_NAME_MAX, rows[i].alias));
                int rc = model_add(small, &model, &err);
                assert_int_equal(rc, rows[i].rc < 0 ? rows[i].rc : 1);
                assert_int_equal(model_count(small), rows[i].rc < 0 ? 1 : 2);
                if (rc < 0)
                        assert_says(&err, "already names device model 'Small'");
                model_table_free(small);
        }
}

static void of_several_patterns_the_longest_wins(void **state)
{
        (void)state;
        struct model_table *small = model_table_new();

        assert_non_null(small);
        struct model wide = small_card("Wide"), narrow = small_card("Narrow");
        assert_true(str_copy(wide.aliases[0], MODEL_NAME_MAX, "NVIDIA S*"));
        assert_true(str_copy(narrow.aliases[0], MODEL_NAME_MAX, "NVIDIA Small 4*"));
        assert_int_equal(model_add(small, &wide, NULL), 0);
        assert_int_equal(model_add(small, &narrow, NULL), 1);
        assert_int_equal(model_find(small, "NVIDIA Small 40", NULL), 1);
        assert_int_equal(model_find(small, "NVIDIA Small 80", NULL), 0);
        model_table_free(small);
}

static void unlisted_models_are_plain_and_added_once(void **state)
{
        (void)state;
        struct model_table *small = model_table_new();
        struct err err = {0};

        assert_non_null(small);
        struct model model = small_card("Small");
        assert_int_equal(model_add(small, &model, NULL), 0);
        assert_int_equal(model_add_unlisted(small, "G2", &err), 1);
        assert_int_equal(model_add_unlisted(small, "g2", &err), 1);
        assert_int_equal(model_add_unlisted(small, "small", &err), 0);
        assert_int_equal(model_add_unlisted(small, "NVIDIA Small 8", &err), 0);
        assert_int_equal(model_count(small), 2);

        const struct model *g2 = model_get(small, 1);
        assert_int_equal(g2->cut, MODEL_PLAIN);
        assert_false(g2->known);
        assert_int_equal(g2->memory_mib, 0);

        assert_int_equal(model_add_unlisted(small, "G*", &err), -ERR_INPUT);
        assert_int_equal(model_add_unlisted(small, "", &err), -ERR_INPUT);
        assert_int_equal(model_add_unlisted(small, "x\n", &err), -ERR_INPUT);
        assert_int_equal(model_add_unlisted(
                small, "123456789-123456789-123456789-123456789-12345678", &err), -ERR_INPUT);
        assert_says(&err, "more than 47 bytes");
        assert_int_equal(model_add_unlisted(
                small, "123456789-123456789-123456789-123456789-1234567", &err), 2);
        model_table_free(small);
}

static void the_table_refuses_one_model_too_many(void **state)
{
        (void)state;
        struct model_table *small = model_table_new();
        struct err err = {0};
        char name[MODEL_NAME_MAX];

        assert_non_null(small);
        for (int i = 0; i < MODELS_MAX; i++) {
                snprintf(name, sizeof name, "M%d", i);
                assert_int_equal(model_add_unlisted(small, name, &err), i);
        }
        assert_int_equal(model_add_unlisted(small, "M64", &err), -ERR_FULL);
        assert_says(&err, "64");
        assert_int_equal(model_count(small), MODELS_MAX);

        uint64_t models = 0;
        assert_int_equal(model_match(small, "*", &models, &err), 0);
        assert_true(models == UINT64_MAX);
        model_table_free(small);
}

static void no_memory_is_no_table(void **state)
{
        (void)state;
        mem_fail_at(1);
        assert_null(model_table_new());
        mem_fail_at(0);
        model_table_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_and_aliases_find_their_model),
                cmocka_unit_test(unknown_names_list_near_ones),
                cmocka_unit_test(patterns_match_sets_of_names),
                cmocka_unit_test(profiles_are_found_or_listed),
                cmocka_unit_test(the_longest_list_of_profiles_is_cut_not_overrun),
                cmocka_unit_test(units_of_slices_divide_the_device),
                cmocka_unit_test(wrong_figures_are_refused_and_change_nothing),
                cmocka_unit_test(a_second_model_of_a_name_or_alias_is_refused),
                cmocka_unit_test(of_several_patterns_the_longest_wins),
                cmocka_unit_test(unlisted_models_are_plain_and_added_once),
                cmocka_unit_test(the_table_refuses_one_model_too_many),
                cmocka_unit_test(no_memory_is_no_table),
        };
        return cmocka_run_group_tests(tests, load_models, free_models);
}
