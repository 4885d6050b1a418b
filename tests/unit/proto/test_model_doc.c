#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/model.h"
#include "proto/model_doc.h"

static struct model_table *new_table(void)
{
        struct model_table *table = model_table_new();

        assert_non_null(table);
        return table;
}

static void assert_says(const struct err *err, const char *part)
{
        if (!strstr(err->text, part))
                fail_msg("'%s' does not say '%s'", err->text, part);
}

static int decode(const char *text, struct model_table *table, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_yaml("own.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        rc = model_doc_decode(doc, table, err);
        doc_free(doc);
        return rc;
}

static const struct model *model_of(const struct model_table *table, const char *name)
{
        struct err err = {0};
        int id = model_find(table, name, &err);

        if (id < 0)
                fail_msg("%s", err.text);
        return model_get(table, (unsigned)id);
}

static void the_built_in_models_load(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                enum model_cut cut;
                uint32_t memory_mib;
                unsigned multiprocessors, profiles;
                bool verified, toggle_needs_reset;
        } rows[] = {
                { "A30",          MODEL_SLICES,  24576,  56,  5, true,  true },
                { "A100-40",      MODEL_SLICES,  40960, 108,  7, true,  true },
                { "A100-80",      MODEL_SLICES,  81920, 108,  7, true,  true },
                { "H100-80",      MODEL_SLICES,  81559, 132,  7, false, false },
                { "H100-PCIE-80", MODEL_SLICES,  81559, 114,  7, false, false },
                { "H100-NVL-94",  MODEL_SLICES,  95830, 132,  7, true,  false },
                { "GH200-96",     MODEL_SLICES,  97871, 132,  7, false, false },
                { "GH200-144",    MODEL_SLICES, 146831, 132,  7, false, false },
                { "H200",         MODEL_SLICES, 143771, 132,  7, false, false },
                { "B200",         MODEL_SLICES, 183359, 148,  7, false, false },
                { "GB200",        MODEL_SLICES, 189471,   0,  7, false, false },
                { "B300",         MODEL_SLICES, 275040,   0,  7, false, false },
                { "GB300",        MODEL_SLICES, 284208,   0,  7, false, false },
                { "RTX-PRO-6000", MODEL_SLICES,  97887, 188, 11, false, false },
                { "MI300X",       MODEL_MODES,  196608, 304,  4, true,  false },
                { "MI325X",       MODEL_MODES,  262144, 304,  4, false, false },
                { "MI300A",       MODEL_MODES,  131072, 228,  3, false, false },
                { "MI350X",       MODEL_MODES,  294912, 256,  4, false, false },
                { "MI355X",       MODEL_MODES,  294912, 256,  4, false, false },
                { "T4",           MODEL_PLAIN,   15360,  40,  0, false, false },
                { "L4",           MODEL_PLAIN,   23034,  58,  0, false, false },
                { "L40S",         MODEL_PLAIN,   46068, 142,  0, false, false },
                { "V100-16",      MODEL_PLAIN,   16384,  80,  0, false, false },
                { "V100-32",      MODEL_PLAIN,   32768,  80,  0, false, false },
                { "P100",         MODEL_PLAIN,   16384,  56,  0, false, false },
                { "A10",          MODEL_PLAIN,   23028,  72,  0, false, false },
                { "A40",          MODEL_PLAIN,   46068,  84,  0, false, false },
        };
        struct model_table *table = new_table();
        struct err err = {0};

        if (model_doc_builtin(table, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(model_count(table), ARRAY_LEN(rows));
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct model *model = model_of(table, rows[i].name);
                assert_true(model->known);
                assert_int_equal(model->cut, rows[i].cut);
                assert_int_equal(model->memory_mib, rows[i].memory_mib);
                assert_int_equal(model->multiprocessors, rows[i].multiprocessors);
                assert_int_equal(model->profiles_count, rows[i].profiles);
                assert_int_equal(model->verified, rows[i].verified);
                assert_int_equal(model->toggle_needs_reset, rows[i].toggle_needs_reset);
        }
        model_table_free(table);
}

static void profiles_carry_every_figure(void **state)
{
        (void)state;
        static const struct {
                const char *model, *profile;
                unsigned compute, memory, starts, memory_mib, multiprocessors, count, media;
                bool exclusive, base, verified;
        } rows[] = {
                { "A30",     "4g.24gb",       4,  4, 0x01, 24000,  56, 1, 0, false, true,  true },
                { "A100-40", "1g.5gb",        1,  1, 0x7f,  4864,  14, 7, 0, false, true,  true },
                { "A100-40", "1g.5gb+me",     1,  1, 0x7f,  4864,  14, 1, 0, true,  false, true },
                { "A100-40", "1g.10gb",       1,  2, 0x55,  9856,  14, 4, 0, false, true,  true },
                { "A100-40", "2g.10gb",       2,  2, 0x15,  9856,  28, 3, 0, false, true,  true },
                { "H100-80", "3g.40gb",       3,  4, 0x11, 40448,  60, 2, 0, false, true,  false },
                { "H100-NVL-94", "7g.94gb",   7,  8, 0x01, 95360, 132, 1, 0, false, true,  true },
                { "B200",    "7g.180gb",      7,  8, 0x01, 172800,  0, 1, 0, false, true,  false },
                { "RTX-PRO-6000", "1g.24gb",  1,  3, 0x249, 24192, 46, 4, 1, false, true,  true },
                { "RTX-PRO-6000", "1g.24gb-me", 1, 3, 0x249, 24192, 46, 4, 0, false, false, true },
                { "RTX-PRO-6000", "2g.48gb+me.all", 2, 6, 0x41, 48512, 94, 1, 4,
                  true, false, true },
                { "RTX-PRO-6000", "4g.96gb+gfx", 4, 12, 0x01, 97280, 188, 1, 4,
                  false, false, true },
                { "MI300X",  "qpx",           2,  2, 0x55, 49152,  76, 4, 0, false, true,  true },
                { "MI300A",  "tpx",           2,  2, 0x15, 43690,  76, 3, 0, false, true,  false },
        };
        struct model_table *table = new_table();

        assert_int_equal(model_doc_builtin(table, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                const struct model *model = model_of(table, rows[i].model);
                int profile = profile_find(model, rows[i].profile, &err);
                if (profile < 0)
                        fail_msg("%s", err.text);
                const struct profile *p = &model->profiles[profile];
                assert_int_equal(p->compute_slices, rows[i].compute);
                assert_int_equal(p->memory_slices, rows[i].memory);
                assert_int_equal(p->starts, rows[i].starts);
                assert_int_equal(p->memory_mib, rows[i].memory_mib);
                assert_int_equal(p->multiprocessors, rows[i].multiprocessors);
                assert_int_equal(p->max_count, rows[i].count);
                assert_int_equal(p->media, rows[i].media);
                assert_int_equal(p->media_exclusive, rows[i].exclusive);
                assert_int_equal(p->base, rows[i].base);
                assert_int_equal(p->verified, rows[i].verified);
        }
        model_table_free(table);
}

static void the_built_in_models_are_those_of_the_file(void **state)
{
        (void)state;
        const char *source = getenv("BERTH_SOURCE");
        if (!source)
                skip();
        char path[4096];
        struct err err = {0};
        struct model_table *built_in = new_table(), *loaded = new_table();

        snprintf(path, sizeof path, "%s/data/device-models.yaml", source);
        assert_int_equal(model_doc_builtin(built_in, NULL), 0);
        if (model_doc_load(path, loaded, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(model_count(loaded), model_count(built_in));
        for (unsigned id = 0; id < model_count(loaded); id++) {
                const struct model *a = model_get(built_in, id), *b = model_get(loaded, id);
                assert_string_equal(a->name, b->name);
                assert_int_equal(a->memory_mib, b->memory_mib);
                assert_int_equal(a->profiles_count, b->profiles_count);
        }
        assert_int_equal(model_doc_load(path, loaded, &err), -ERR_EXISTS);
        assert_says(&err, "device-models.yaml:");
        assert_says(&err, "already names device model 'A30'");
        assert_int_equal(model_count(loaded), model_count(built_in));
        model_table_free(built_in);
        model_table_free(loaded);
}

#define OWN "kind: DeviceModels\nmodels:\n"

static void an_operators_file_adds_models(void **state)
{
        (void)state;
        static const char text[] =
                OWN
                "  - {name: X1, memory_mib: 1024}\n"
                "---\n"
                OWN
                "  - name: X2\n"
                "    cut: slices\n"
                "    slices: {compute: 2, memory: 2}\n"
                "    profiles:\n"
                "      - {name: half, slices: {compute: 1, memory: 1}, starts: [1, 0],\n"
                "         max_count: 2}\n";
        char path[] = "/tmp/test_model_doc_XXXXXX";
        int fd = mkstemp(path);
        struct err err = {0};
        struct model_table *table = new_table();

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
        close(fd);
        assert_int_equal(model_doc_builtin(table, NULL), 0);
        size_t before = model_count(table);
        if (model_doc_load(path, table, &err) < 0)
                fail_msg("%s", err.text);
        unlink(path);
        assert_int_equal(model_count(table), before + 2);
        assert_int_equal(model_of(table, "X1")->cut, MODEL_PLAIN);
        assert_false(model_of(table, "X1")->verified);
        const struct model *x2 = model_of(table, "X2");
        assert_int_equal(x2->profiles[0].starts, 0x3);
        assert_true(x2->profiles[0].base);
        assert_int_equal(x2->compute_slice_units, 31500);

        assert_true(model_doc_load("/nonexistent/models.yaml", table, &err) < 0);
        assert_says(&err, "/nonexistent/models.yaml");
        model_table_free(table);
}

/* A card of which each row below spoils something. */
#define CARD OWN                                                                \
        "  - name: X\n    cut: slices\n    slices: {compute: 2, memory: 2}\n"     \
        "    profiles:\n"

static void wrong_documents_name_line_and_field(void **state)
{
        (void)state;
        static const struct { const char *text; int rc; const char *place, *says; } rows[] = {
                { "kind: Pool\nmodels: [{name: X}]\n", -ERR_INPUT,
                  "own.yaml:1: field 'kind'", "DeviceModels" },
                { "models: [{name: X}]\n", -ERR_INPUT, "own.yaml:1:", "'kind' is missing" },
                { "kind: DeviceModels\n", -ERR_INPUT, "own.yaml:1:", "'models' is missing" },
                { "kind: DeviceModels\nmodels: []\n", -ERR_INPUT,
                  "own.yaml:2: field 'models'", "" },
                { "kind: DeviceModels\nmodels: {name: X}\n", -ERR_INPUT,
                  "own.yaml:2: field 'models'", "" },
                { OWN "  - {nam: X}\n", -ERR_INPUT, "own.yaml:3:", "'name'" },
                { OWN "  - {memory_mib: 5}\n", -ERR_INPUT, "own.yaml:3:", "is missing" },
                { OWN "  - name:\n", -ERR_INPUT, "own.yaml:3: field 'models[0].name'", "" },
                { OWN "  - name: X\n    memory_mib: -1\n", -ERR_RANGE,
                  "own.yaml:4: field 'models[0].memory_mib'", "'-1'" },
                { OWN "  - name: X\n    memory_mib: 0\n", -ERR_RANGE,
                  "own.yaml:4: field 'models[0].memory_mib'", "" },
                { OWN "  - name: X\n    multiprocessors: 10001\n", -ERR_RANGE,
                  "own.yaml:4: field 'models[0].multiprocessors'", "" },
                { OWN "  - name: X\n    verified: maybe\n", -ERR_INPUT,
                  "own.yaml:4: field 'models[0].verified'", "maybe" },
                { OWN "  - name: X\n    cut: slice\n", -ERR_INPUT,
                  "own.yaml:4: field 'models[0].cut'", "'slices'" },
                { OWN "  - name: X\n    media: 4\n", -ERR_INPUT,
                  "own.yaml:4: field 'models[0].media'", "'cut: slices'" },
                { OWN "  - name: X\n    cut: modes\n", -ERR_INPUT, "own.yaml:3:",
                  "slices' is missing" },
                { OWN "  - name: X\n    aliases: [a, b, c, d, e, f, g, h, i]\n", -ERR_INPUT,
                  "own.yaml:4: field 'models[0].aliases'", "" },
                { OWN "  - name: X\n    aliases: Y\n", -ERR_INPUT,
                  "own.yaml:4: field 'models[0].aliases'", "" },
                { OWN "  - name: X\n    aliases: [Y,\n      '*']\n", -ERR_INPUT,
                  "own.yaml:3: field 'models[0]'", "match every name" },
                { OWN "  - name: 123456789-123456789-123456789-123456789-12345678\n", -ERR_INPUT,
                  "own.yaml:3: field 'models[0].name'", "" },
                { OWN "  - name: X\n    cut: slices\n    slices: {compute: 17, memory: 2}\n"
                  "    profiles: []\n", -ERR_RANGE,
                  "own.yaml:5: field 'models[0].slices.compute'", "17" },
                { CARD "      []\n", -ERR_INPUT, "field 'models[0].profiles'", "" },
                { CARD "      - {name: h, starts: [0], max_count: 1}\n", -ERR_INPUT,
                  "own.yaml:7:", "slices' is missing" },
                { CARD "      - {name: h, slices: {compute: 1}, starts: [0], max_count: 1}\n",
                  -ERR_INPUT, "own.yaml:7:", "memory' is missing" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, max_count: 1}\n",
                  -ERR_INPUT, "own.yaml:7:", "starts' is missing" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0]}\n",
                  -ERR_INPUT, "own.yaml:7:", "max_count' is missing" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0, 16],\n"
                  "         max_count: 1}\n", -ERR_RANGE,
                  "own.yaml:7: field 'models[0].profiles[0].starts[1]'", "16" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0, ~],\n"
                  "         max_count: 1}\n", -ERR_INPUT,
                  "own.yaml:7: field 'models[0].profiles[0].starts[1]'", "" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [1, 1],\n"
                  "         max_count: 1}\n", -ERR_INPUT,
                  "own.yaml:7: field 'models[0].profiles[0].starts[1]'", "start 1 stands twice" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0, 2],\n"
                  "         max_count: 1}\n", -ERR_INPUT, "own.yaml:3: field 'models[0]'",
                  "profile 'h': 1 memory slices from slot 2 pass the end of 2 slots" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0, 1],\n"
                  "         max_count: 1}\n", -ERR_INPUT, "own.yaml:3: field 'models[0]'",
                  "profile 'h': max_count is 1, but 2 fit" },
                { CARD "      - {name: h, slices: {compute: 1, memory: 1}, starts: [0, 1],\n"
                  "         max_count: 2, medium: 1}\n", -ERR_INPUT, "own.yaml:8:", "'media'" },
                { OWN "  - name: X\n  - name: x\n", -ERR_EXISTS, "own.yaml:4: field 'models[1]'",
                  "already names device model 'X'" },
                { OWN "  - name: X\n---\n" OWN "  - name: Z\n    cut: 3\n", -ERR_INPUT,
                  "own.yaml:8: field 'models[0].cut'", "" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct model_table *table = new_table();
                struct err err = {0};
                int rc = decode(rows[i].text, table, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d '%s'\n%s", i, rc, err.text, rows[i].text);
                assert_says(&err, rows[i].place);
                assert_says(&err, rows[i].says);
                assert_int_equal(model_count(table), 0);
                model_table_free(table);
        }
}

static void a_table_that_is_full_stays_as_it_was(void **state)
{
        (void)state;
        struct model_table *table = new_table();
        struct err err = {0};
        char name[MODEL_NAME_MAX];

        for (int i = 0; i < MODELS_MAX - 1; i++) {
                snprintf(name, sizeof name, "M%d", i);
                assert_int_equal(model_add_unlisted(table, name, &err), i);
        }
        assert_int_equal(decode(OWN "  - name: X\n  - name: Y\n", table, &err), -ERR_FULL);
        assert_int_equal(model_count(table), MODELS_MAX - 1);
        assert_int_equal(decode(OWN "  - name: X\n", table, &err), 0);
        assert_int_equal(model_count(table), MODELS_MAX);
        model_table_free(table);
}

static void every_failed_allocation_is_refused_cleanly(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct model_table *table = new_table();
                struct err err = {0};
                mem_fail_at(n);
                int rc = decode(OWN "  - name: X\n    aliases: [Y]\n", table, &err);
                int happened = mem_fail_happened();
                mem_fail_at(0);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        model_table_free(table);
                        break;
                }
                assert_int_equal(rc, -ERR_NOMEM);
                assert_int_equal(model_count(table), 0);
                model_table_free(table);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_built_in_models_load),
                cmocka_unit_test(profiles_carry_every_figure),
                cmocka_unit_test(the_built_in_models_are_those_of_the_file),
                cmocka_unit_test(an_operators_file_adds_models),
                cmocka_unit_test(wrong_documents_name_line_and_field),
                cmocka_unit_test(a_table_that_is_full_stays_as_it_was),
                cmocka_unit_test(every_failed_allocation_is_refused_cleanly),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
