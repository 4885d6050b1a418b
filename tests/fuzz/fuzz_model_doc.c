/* fuzz_model_doc.c - what is accepted keeps what engine/model.h and engine/geometry.h promise. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "engine/device.h"
#include "engine/units.h"
#include "proto/model_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one layout should come to, summed the plain way. */
struct sums {
        uint32_t units;
        unsigned slots, compute;
};

static void check_account(const struct model *model, struct slice_state state,
                          const struct sums *sums)
{
        struct slice_units units = slice_account(model, state);

        assert(units.taken == sums->units);
        assert(units.taken + units.free + units.stranded == UNITS_DEVICE);
        assert((unsigned)__builtin_popcount(state.slots) == sums->slots);
        assert(state.compute == sums->compute);
        for (unsigned p = 0; p < model->profiles_count; p++) {
                unsigned room = slice_room(model, state, p);
                assert((room > 0) == (slice_starts(model, state, p) != 0));
                assert(room <= model->profiles[p].max_count);
                assert(room * profile_units(model, &model->profiles[p]) <= units.free);
        }
}

/* Fills a device in a mixed order with at most `most` instances, then gives everything back. */
static void check_layout(const struct model *model, uint32_t mixed, unsigned most)
{
        struct instance instances[SLOTS_MAX];
        struct slice_state state = {0};
        struct sums sums = {0};
        unsigned count = 0;

        check_account(model, state, &sums);
        for (unsigned misses = 0; misses < 2u * model->profiles_count;) {
                mixed = mixed * 1664525 + 1013904223;
                unsigned p = (mixed >> 8) % model->profiles_count, start = mixed >> 24;
                uint16_t starts = slice_starts(model, state, p);
                misses++;
                if (!starts)
                        continue;
                for (start %= SLOTS_MAX; !(starts >> start & 1);)
                        start = (start + 1) % SLOTS_MAX;
                assert(count < most);
                instances[count++] = (struct instance){(uint8_t)p, (uint8_t)start};
                state = slice_take(model, state, p, start);
                sums.units += profile_units(model, &model->profiles[p]);
                sums.slots += model->profiles[p].memory_slices;
                sums.compute += model->profiles[p].compute_slices;
                check_account(model, state, &sums);
                misses = 0;
        }
        while (count-- > 0)
                state = slice_give(model, state, instances[count].profile, instances[count].start);
        static const struct slice_state empty;
        assert(memcmp(&state, &empty, sizeof state) == 0);
}

static void check_profile(const struct model *model, unsigned p)
{
        const struct profile *profile = &model->profiles[p];
        char upper[PROFILE_NAME_MAX];

        assert(memchr(profile->name, '\0', sizeof profile->name));
        for (size_t i = 0; i < sizeof upper; i++)
                upper[i] = (char)toupper((unsigned char)profile->name[i]);
        assert(profile_find(model, profile->name, NULL) == (int)p);
        assert(profile_find(model, upper, NULL) == (int)p);
        assert(slice_room(model, (struct slice_state){0}, p) == profile->max_count);
        assert((uint64_t)profile->max_count * profile_units(model, profile) <= UNITS_DEVICE);
}

/* Most instances of any profiles on an empty device. */
static unsigned room_of(const struct model *model)
{
        struct device_state empty = {0};
        struct part_fit fit = {.profiles = (uint32_t)((1ull << model->profiles_count) - 1)};
        unsigned room = part_room(model, &empty, &fit);

        for (unsigned p = 0; p < model->profiles_count; p++)
                assert(model->profiles[p].max_count <= room);
        assert(room <= model->compute_slices);
        assert(room <= model->memory_slices);
        return room;
}

static void check_model(const struct model_table *table, unsigned id, uint32_t mixed)
{
        const struct model *model = model_get(table, id);
        uint64_t models = 0;

        assert(memchr(model->name, '\0', sizeof model->name));
        assert(model_find(table, model->name, NULL) == (int)id);
        assert(model_match(table, model->name, &models, NULL) == 0);
        assert(models == 1ull << id);
        for (unsigned a = 0; a < model->aliases_count; a++)
                assert(model_find(table, model->aliases[a], NULL) == (int)id);
        if (model->cut == MODEL_PLAIN) {
                assert(model->profiles_count == 0);
                return;
        }
        assert(model->compute_slices * model->compute_slice_units == UNITS_HALF);
        assert(model->memory_slices * model->memory_slice_units == UNITS_HALF);
        for (unsigned p = 0; p < model->profiles_count; p++)
                check_profile(model, p);
        for (unsigned i = 0; i < 4; i++)
                check_layout(model, mixed + i * 77777, room_of(model));
}

/* "f:12: ..." */
static void check_sentence(const struct err *err)
{
        const char *at = err->text + 2;

        assert(strncmp(err->text, "f:", 2) == 0);
        assert(*at >= '1' && *at <= '9');
        while (*at >= '0' && *at <= '9')
                at++;
        assert(strncmp(at, ": ", 2) == 0);
        assert(at[2] != '\0');
}

/* All or nothing: twice the same is refused, and the table stays what it was. */
static void check_again(const struct doc *doc, struct model_table *table)
{
        size_t count = model_count(table);
        struct err err = {0};

        assert(model_doc_decode(doc, table, &err) < 0);
        check_sentence(&err);
        assert(model_count(table) == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct doc *doc;
        struct err err = {0};
        uint32_t mixed = (uint32_t)size;

        if (doc_read_yaml("f", (const char *)data, size, &doc, &err) < 0)
                return 0;
        struct model_table *table = model_table_new();
        if (!table)
                abort();
        for (size_t i = 0; i < size; i++)
                mixed = mixed * 31 + data[i];
        if (model_doc_decode(doc, table, &err) < 0) {
                check_sentence(&err);
                assert(model_count(table) == 0);
        } else {
                assert(model_count(table) >= 1);
                for (unsigned id = 0; id < model_count(table); id++)
                        check_model(table, id, mixed);
                check_again(doc, table);
        }
        model_table_free(table);
        doc_free(doc);
        return 0;
}
