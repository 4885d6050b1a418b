#include "engine/model.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/geometry.h"
#include "engine/units.h"

struct model_table {
        size_t count;
        struct model models[MODELS_MAX];
};

struct model_table *model_table_new(void)
{
        return mem_new(1, sizeof(struct model_table));
}

struct model_table *model_table_copy(const struct model_table *table)
{
        struct model_table *copy = model_table_new();

        if (copy)
                *copy = *table;
        return copy;
}

void model_table_free(struct model_table *table)
{
        mem_free(table);
}

size_t model_count(const struct model_table *table)
{
        assert(table);
        return table->count;
}

const struct model *model_get(const struct model_table *table, unsigned id)
{
        assert(table);
        assert(id < table->count);
        return &table->models[id];
}

uint32_t profile_units(const struct model *model, const struct profile *profile)
{
        assert(model);
        assert(profile);
        return profile->compute_slices * model->compute_slice_units +
               profile->memory_slices * model->memory_slice_units;
}

/* Names. */

/* Printable ASCII without blanks at the ends and without any of the `refused` characters. */
static bool is_name(const char *text, size_t size, const char *refused)
{
        size_t length = 0;

        while (length < size && text[length])
                length++;
        if (length == 0 || length == size || text[0] == ' ' || text[length - 1] == ' ')
                return false;
        for (size_t i = 0; i < length; i++)
                if (text[i] < ' ' || text[i] > '~' || strchr(refused, text[i]))
                        return false;
        return true;
}

static bool is_only_stars(const char *text)
{
        while (*text == '*')
                text++;
        return *text == '\0';
}

/* The alias that stands for `name`: an equal one, or the pattern with most bytes that matches. */
static int find_by_alias(const struct model_table *table, const char *name)
{
        size_t best_length = 0;
        int best = -1;

        for (size_t id = 0; id < table->count; id++) {
                const struct model *model = &table->models[id];
                for (unsigned i = 0; i < model->aliases_count; i++) {
                        const char *alias = model->aliases[i];
                        if (str_equal_nocase(alias, name))
                                return (int)id;
                        size_t length = strlen(alias);
                        if (length > best_length && str_glob_nocase(alias, name)) {
                                best_length = length;
                                best = (int)id;
                        }
                }
        }
        return best;
}

static int find_by_name(const struct model_table *table, const char *name)
{
        for (size_t id = 0; id < table->count; id++)
                if (str_equal_nocase(table->models[id].name, name))
                        return (int)id;
        return -1;
}

static const char *near_names(const struct model_table *table, const char *wanted, char *buf,
                              size_t size)
{
        struct str_near near;

        str_near_init(&near, wanted);
        for (size_t id = 0; id < table->count; id++)
                str_near_add(&near, table->models[id].name);
        return str_near_text(&near, buf, size);
}

int model_find(const struct model_table *table, const char *name, struct err *err)
{
        assert(table);
        assert(name);
        int id = find_by_name(table, name);

        if (id < 0)
                id = find_by_alias(table, name);
        if (id >= 0)
                return id;

        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];
        return err_set(err, ERR_NOT_FOUND, "device model '%s' is not known; %s",
                       str_show(name, show), near_names(table, name, near, sizeof near));
}

int model_match(const struct model_table *table, const char *pattern, uint64_t *ret_models,
                struct err *err)
{
        assert(table);
        assert(pattern);
        assert(ret_models);
        char show[STR_SHOW_MAX], near[STR_NEAR_MAX];
        char part[MODEL_NAME_MAX] = "";
        uint64_t models = 0;

        for (const char *from = pattern; from; ) {
                const char *bar = strchr(from, '|');
                size_t length = bar ? (size_t)(bar - from) : strlen(from);
                if (length == 0)
                        return err_set(err, ERR_INPUT,
                                       "device model pattern '%s' has an empty part",
                                       str_show(pattern, show));
                if (length >= sizeof part)
                        return err_set(err, ERR_INPUT,
                                       "device model pattern '%s' has a part of %zu bytes; "
                                       "at most %d are allowed",
                                       str_show(pattern, show), length, MODEL_NAME_MAX - 1);
                memcpy(part, from, length);
                part[length] = '\0';
                for (size_t id = 0; id < table->count; id++)
                        if (str_glob_nocase(part, table->models[id].name))
                                models |= (uint64_t)1 << id;
                from = bar ? bar + 1 : NULL;
        }
        if (!models)
                return err_set(err, ERR_NOT_FOUND, "no device model matches '%s'; %s",
                               str_show(pattern, show),
                               near_names(table, part, near, sizeof near));
        *ret_models = models;
        return 0;
}

int profile_find(const struct model *model, const char *name, struct err *err)
{
        assert(model);
        assert(name);
        char show[STR_SHOW_MAX], list[360] = "";
        size_t used = 0;

        for (unsigned i = 0; i < model->profiles_count; i++)
                if (str_equal_nocase(model->profiles[i].name, name))
                        return (int)i;

        str_show(name, show);
        if (model->profiles_count == 0)
                return err_set(err, ERR_NOT_FOUND,
                               "device model '%s' cannot be cut into profiles; '%s' was asked for",
                               model->name, show);
        for (unsigned i = 0; i < model->profiles_count; i++) {
                const char *known = model->profiles[i].name;
                size_t length = strlen(known);
                if (used + length + 3 > sizeof list)
                        break;
                if (used) {
                        memcpy(list + used, ", ", 2);
                        used += 2;
                }
                memcpy(list + used, known, length + 1);
                used += length;
        }
        return err_set(err, ERR_NOT_FOUND, "device model '%s' has no profile '%s'; it has %s",
                       model->name, show, list);
}

/* Adding. */

static int check_names(const struct model *model, struct err *err)
{
        if (!is_name(model->name, sizeof model->name, "*|"))
                return err_set(err, ERR_INPUT,
                               "a device model's name is 1 to %d printable characters "
                               "without '*' and '|'", MODEL_NAME_MAX - 1);
        if (model->aliases_count > MODEL_ALIASES_MAX)
                return err_set(err, ERR_INPUT, "device model '%s' has %d aliases; at most %d",
                               model->name, model->aliases_count, MODEL_ALIASES_MAX);
        for (unsigned i = 0; i < model->aliases_count; i++) {
                const char *alias = model->aliases[i];
                if (!is_name(alias, sizeof model->aliases[i], "|"))
                        return err_set(err, ERR_INPUT,
                                       "device model '%s': alias %u is not 1 to %d printable "
                                       "characters without '|'",
                                       model->name, i + 1, MODEL_NAME_MAX - 1);
                if (is_only_stars(alias))
                        return err_set(err, ERR_INPUT,
                                       "device model '%s': alias '%s' would match every name",
                                       model->name, alias);
                for (unsigned k = 0; k < i; k++)
                        if (str_equal_nocase(alias, model->aliases[k]))
                                return err_set(err, ERR_INPUT,
                                               "device model '%s' has the alias '%s' twice",
                                               model->name, alias);
        }
        return 0;
}

static int check_not_taken(const struct model_table *table, const struct model *model,
                           const char *name, struct err *err)
{
        for (size_t id = 0; id < table->count; id++) {
                const struct model *other = &table->models[id];
                bool taken = str_equal_nocase(other->name, name);
                for (unsigned i = 0; i < other->aliases_count; i++)
                        taken |= str_equal_nocase(other->aliases[i], name);
                if (taken)
                        return err_set(err, ERR_EXISTS,
                                       "device model '%s': '%s' already names device model '%s'",
                                       model->name, name, other->name);
        }
        return 0;
}

/* What each slice costs must come out as a whole number of units. */
static int check_slices(const struct model *model, const char *what, unsigned slices,
                        struct err *err)
{
        if (slices == 0 || slices > SLOTS_MAX)
                return err_set(err, ERR_INPUT,
                               "device model '%s' has %u %s slices; 1 to %d are possible",
                               model->name, slices, what, SLOTS_MAX);
        if (UNITS_HALF % slices != 0)
                return err_set(err, ERR_INPUT,
                               "device model '%s': half a device is %d units, which %u %s slices "
                               "do not divide evenly",
                               model->name, UNITS_HALF, slices, what);
        return 0;
}

static int check_cut(const struct model *model, struct err *err)
{
        int rc;

        if (model->profiles_count > PROFILES_MAX)
                return err_set(err, ERR_INPUT, "device model '%s' has %d profiles; at most %d",
                               model->name, model->profiles_count, PROFILES_MAX);
        if (model->cut == MODEL_PLAIN) {
                if (model->profiles_count || model->compute_slices || model->memory_slices ||
                    model->media_total)
                        return err_set(err, ERR_INPUT,
                                       "device model '%s' is plain, but has slices or profiles",
                                       model->name);
                return 0;
        }
        if ((rc = check_slices(model, "compute", model->compute_slices, err)) < 0 ||
            (rc = check_slices(model, "memory", model->memory_slices, err)) < 0)
                return rc;
        if (model->media_total > SLOTS_MAX)
                return err_set(err, ERR_INPUT,
                               "device model '%s' counts %d media engines; at most %d",
                               model->name, model->media_total, SLOTS_MAX);
        if (model->profiles_count == 0)
                return err_set(err, ERR_INPUT,
                               "device model '%s' can be cut, but has no profile", model->name);
        return 0;
}

/* "device model 'X', profile 'Y'" in front of what is wrong with the profile. */
#define PROFILE_REFUSED(format, ...)                                            \
        err_set(err, ERR_INPUT, "device model '%s', profile '%s': " format,     \
                model->name, p->name, __VA_ARGS__)

static int check_profile(const struct model *model, const struct profile *p, struct err *err)
{
        if (p->compute_slices == 0 || p->compute_slices > model->compute_slices)
                return PROFILE_REFUSED("%d compute slices; the device has %d",
                                       p->compute_slices, model->compute_slices);
        if (p->memory_slices == 0 || p->memory_slices > model->memory_slices)
                return PROFILE_REFUSED("%d memory slices; the device has %d",
                                       p->memory_slices, model->memory_slices);
        if (p->starts == 0)
                return PROFILE_REFUSED("%s", "it may start nowhere");
        unsigned last = 31u - (unsigned)__builtin_clz(p->starts);
        if (last + p->memory_slices > model->memory_slices)
                return PROFILE_REFUSED("%d memory slices from slot %u pass the end of %d slots",
                                       p->memory_slices, last, model->memory_slices);
        if (p->media > model->media_total)
                return PROFILE_REFUSED("%d media engines; the device counts %d",
                                       p->media, model->media_total);
        return 0;
}

/* All instances that fit together stay within the device; the profile alone is right already. */
static int check_profile_sums(const struct model *model, unsigned index, struct err *err)
{
        const struct profile *p = &model->profiles[index];
        unsigned room = slice_room(model, (struct slice_state){0}, index);

        /* A state counts no instances per profile: what fits must follow from slices and media. */
        if (p->max_count != room)
                return PROFILE_REFUSED("max_count is %d, but %u fit by slices, starts and media",
                                       p->max_count, room);
        if (model->memory_mib && (uint64_t)p->memory_mib * room > model->memory_mib)
                return PROFILE_REFUSED("%u times %u MiB are more than the device's %u MiB",
                                       room, p->memory_mib, model->memory_mib);
        if (model->multiprocessors && p->multiprocessors * room > model->multiprocessors)
                return PROFILE_REFUSED("%u times %d multiprocessors are more than the device's %d",
                                       room, p->multiprocessors, model->multiprocessors);
        if (model->cut == MODEL_MODES && (p->compute_slices * room != model->compute_slices ||
                                          p->memory_slices * room != model->memory_slices))
                return PROFILE_REFUSED("%u parts of a mode must fill the device", room);
        return 0;
}

#undef PROFILE_REFUSED

static int check_profiles(const struct model *model, struct err *err)
{
        int rc;

        for (unsigned i = 0; i < model->profiles_count; i++) {
                const struct profile *p = &model->profiles[i];
                if (!is_name(p->name, sizeof p->name, "*| "))
                        return err_set(err, ERR_INPUT,
                                       "device model '%s': the name of profile %u is not 1 to %d "
                                       "printable characters without blanks, '*' and '|'",
                                       model->name, i + 1, PROFILE_NAME_MAX - 1);
                for (unsigned k = 0; k < i; k++)
                        if (str_equal_nocase(p->name, model->profiles[k].name))
                                return err_set(err, ERR_INPUT,
                                               "device model '%s' has the profile '%s' twice",
                                               model->name, p->name);
                if ((rc = check_profile(model, p, err)) < 0 ||
                    (rc = check_profile_sums(model, i, err)) < 0)
                        return rc;
        }
        return 0;
}

static int check_free(const struct model_table *table, const struct model *model, struct err *err)
{
        int rc;

        if (table->count == MODELS_MAX)
                return err_set(err, ERR_FULL, "device model '%s' is one too many: %d are known",
                               model->name, MODELS_MAX);
        if ((rc = check_not_taken(table, model, model->name, err)) < 0)
                return rc;
        for (unsigned i = 0; i < model->aliases_count; i++)
                if ((rc = check_not_taken(table, model, model->aliases[i], err)) < 0)
                        return rc;
        return 0;
}

int model_add(struct model_table *table, const struct model *model, struct err *err)
{
        assert(table);
        assert(model);
        int rc;

        if ((rc = check_names(model, err)) < 0 || (rc = check_free(table, model, err)) < 0 ||
            (rc = check_cut(model, err)) < 0 || (rc = check_profiles(model, err)) < 0)
                return rc;

        struct model *added = &table->models[table->count];
        *added = *model;
        added->compute_slice_units = 0;
        added->memory_slice_units = 0;
        if (model->cut != MODEL_PLAIN) {
                added->compute_slice_units = UNITS_HALF / model->compute_slices;
                added->memory_slice_units = UNITS_HALF / model->memory_slices;
        }
        return (int)table->count++;
}

int model_add_unlisted(struct model_table *table, const char *name, struct err *err)
{
        assert(table);
        assert(name);
        int id = model_find(table, name, NULL);

        if (id >= 0)
                return id;
        struct model model = {.cut = MODEL_PLAIN};
        if (!str_copy(model.name, sizeof model.name, name)) {
                char show[STR_SHOW_MAX];
                return err_set(err, ERR_INPUT,
                               "device model name '%s' has more than %d bytes",
                               str_show(name, show), MODEL_NAME_MAX - 1);
        }
        return model_add(table, &model, err);
}
