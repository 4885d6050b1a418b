#include "proto/model_doc.h"

#include <assert.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/model.h"
#include "proto/model_doc_text.h"

#define MEMORY_MIB_MAX      (64u << 20)         /* 64 TiB */
#define MULTIPROCESSORS_MAX 10000

static int read_u8(const struct doc_node *node, uint32_t min, uint32_t max, uint8_t *ret_value,
                   struct err *err)
{
        uint32_t value = *ret_value;
        int rc = doc_u32(node, min, max, &value, err);

        if (rc < 0)
                return rc;
        *ret_value = (uint8_t)value;
        return 0;
}

static int read_multiprocessors(const struct doc_node *map, uint16_t *ret_value, struct err *err)
{
        uint32_t value = 0;
        int rc = doc_u32(doc_get(map, "multiprocessors"), 1, MULTIPROCESSORS_MAX, &value, err);

        if (rc < 0)
                return rc;
        *ret_value = (uint16_t)value;
        return 0;
}

/* slices: {compute: 3, memory: 4} */
static int read_slices(const struct doc_node *map, uint8_t *ret_compute, uint8_t *ret_memory,
                       struct err *err)
{
        static const char *const keys[] = {"compute", "memory"};
        const struct doc_node *slices, *compute, *memory;
        int rc;

        if ((rc = doc_need(map, "slices", &slices, err)) < 0 ||
            (rc = doc_check_keys(slices, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(slices, "compute", &compute, err)) < 0 ||
            (rc = doc_need(slices, "memory", &memory, err)) < 0 ||
            (rc = read_u8(compute, 1, SLOTS_MAX, ret_compute, err)) < 0)
                return rc;
        return read_u8(memory, 1, SLOTS_MAX, ret_memory, err);
}

/* starts: [0, 4] */
static int read_starts(const struct doc_node *map, uint16_t *ret_starts, struct err *err)
{
        const struct doc_node *list;
        uint32_t starts = 0;
        int rc;

        if ((rc = doc_need(map, "starts", &list, err)) < 0 ||
            (rc = doc_check_list(list, 1, SLOTS_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, list) {
                uint32_t start = 0;
                if ((rc = doc_u32(node, 0, SLOTS_MAX - 1, &start, err)) < 0)
                        return rc;
                if (starts >> start & 1)
                        return doc_fail(node, err, "start %u stands twice", start);
                starts |= 1u << start;
        }
        *ret_starts = (uint16_t)starts;
        return 0;
}

static int read_profile(const struct doc_node *node, struct profile *profile, struct err *err)
{
        static const char *const keys[] = {
                "name", "slices", "starts", "memory_mib", "multiprocessors", "max_count", "media",
                "media_exclusive", "base", "verified",
        };
        const struct doc_node *name, *max_count;
        int rc;

        profile->base = true;
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(node, "name", &name, err)) < 0 ||
            (rc = doc_copy(name, profile->name, sizeof profile->name, err)) < 0 ||
            (rc = read_slices(node, &profile->compute_slices, &profile->memory_slices, err)) < 0 ||
            (rc = read_starts(node, &profile->starts, err)) < 0 ||
            (rc = doc_u32(doc_get(node, "memory_mib"), 1, MEMORY_MIB_MAX, &profile->memory_mib,
                          err)) < 0 ||
            (rc = read_multiprocessors(node, &profile->multiprocessors, err)) < 0 ||
            (rc = doc_need(node, "max_count", &max_count, err)) < 0 ||
            (rc = read_u8(max_count, 1, SLOTS_MAX, &profile->max_count, err)) < 0 ||
            (rc = read_u8(doc_get(node, "media"), 0, SLOTS_MAX, &profile->media, err)) < 0 ||
            (rc = doc_bool(doc_get(node, "media_exclusive"), &profile->media_exclusive,
                           err)) < 0 ||
            (rc = doc_bool(doc_get(node, "base"), &profile->base, err)) < 0)
                return rc;
        return doc_bool(doc_get(node, "verified"), &profile->verified, err);
}

static int read_aliases(const struct doc_node *list, struct model *model, struct err *err)
{
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 0, MODEL_ALIASES_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, list) {
                char *alias = model->aliases[model->aliases_count];
                if ((rc = doc_copy(node, alias, MODEL_NAME_MAX, err)) < 0)
                        return rc;
                model->aliases_count++;
        }
        return 0;
}

/* What only a model that can be cut has. */
static int read_cut(const struct doc_node *node, struct model *model, struct err *err)
{
        static const char *const cuts[] = {
                [MODEL_PLAIN] = "plain", [MODEL_SLICES] = "slices", [MODEL_MODES] = "modes",
        };
        static const char *const cut_keys[] = {"slices", "media", "profiles"};
        const struct doc_node *profiles;
        unsigned cut = MODEL_PLAIN;
        int rc;

        if ((rc = doc_choice(doc_get(node, "cut"), cuts, ARRAY_LEN(cuts), &cut, err)) < 0)
                return rc;
        model->cut = (enum model_cut)cut;
        if (model->cut == MODEL_PLAIN) {
                for (size_t i = 0; i < ARRAY_LEN(cut_keys); i++)
                        if (doc_get(node, cut_keys[i]))
                                return doc_fail(doc_get(node, cut_keys[i]), err,
                                                "needs 'cut: slices' or 'cut: modes' beside it");
                return 0;
        }
        if ((rc = read_slices(node, &model->compute_slices, &model->memory_slices, err)) < 0 ||
            (rc = read_u8(doc_get(node, "media"), 1, SLOTS_MAX, &model->media_total, err)) < 0 ||
            (rc = doc_need(node, "profiles", &profiles, err)) < 0 ||
            (rc = doc_check_list(profiles, 1, PROFILES_MAX, err)) < 0)
                return rc;
        DOC_EACH (child, profiles) {
                if ((rc = read_profile(child, &model->profiles[model->profiles_count], err)) < 0)
                        return rc;
                model->profiles_count++;
        }
        return 0;
}

static int read_model(const struct doc_node *node, struct model *model, struct err *err)
{
        static const char *const keys[] = {
                "name", "aliases", "source", "verified", "memory_mib", "multiprocessors", "cut",
                "slices", "media", "toggle_needs_reset", "profiles",
        };
        const struct doc_node *name;
        const char *source;
        int rc;

        memset(model, 0, sizeof *model);
        model->known = true;
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(node, "name", &name, err)) < 0 ||
            (rc = doc_copy(name, model->name, sizeof model->name, err)) < 0 ||
            (rc = read_aliases(doc_get(node, "aliases"), model, err)) < 0 ||
            (rc = doc_text(doc_get(node, "source"), 1, 1000, &source, err)) < 0 ||
            (rc = doc_bool(doc_get(node, "verified"), &model->verified, err)) < 0 ||
            (rc = doc_u32(doc_get(node, "memory_mib"), 1, MEMORY_MIB_MAX, &model->memory_mib,
                          err)) < 0 ||
            (rc = read_multiprocessors(node, &model->multiprocessors, err)) < 0 ||
            (rc = doc_bool(doc_get(node, "toggle_needs_reset"), &model->toggle_needs_reset,
                           err)) < 0)
                return rc;
        return read_cut(node, model, err);
}

static int read_root(const struct doc_node *root, struct model_table *table, struct err *err)
{
        static const char *const kinds[] = {"DeviceModels"};
        static const char *const keys[] = {"kind", "models"};
        const struct doc_node *kind, *models;
        struct model model;
        unsigned index;
        int rc;

        if ((rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(root, "kind", &kind, err)) < 0 ||
            (rc = doc_choice(kind, kinds, ARRAY_LEN(kinds), &index, err)) < 0 ||
            (rc = doc_need(root, "models", &models, err)) < 0 ||
            (rc = doc_check_list(models, 1, MODELS_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, models) {
                if ((rc = read_model(node, &model, err)) < 0)
                        return rc;
                if (model_add(table, &model, err) < 0)
                        return doc_blame(node, err);
        }
        return 0;
}

static void add_all(struct model_table *table, const struct model_table *from, size_t first)
{
        for (size_t id = first; id < model_count(from); id++) {
                int rc = model_add(table, model_get(from, (unsigned)id), NULL);
                assert(rc >= 0);        /* the same model was accepted a moment ago */
        }
}

int model_doc_decode(const struct doc *doc, struct model_table *table, struct err *err)
{
        assert(doc);
        assert(table);

        /* All or nothing: the new models are tried on a copy of the table. */
        struct model_table *trial = model_table_new();
        if (!trial)
                return err_set(err, ERR_NOMEM, "%s: out of memory", doc_name(doc));
        add_all(trial, table, 0);

        int rc = 0;
        for (size_t i = 0; i < doc_count(doc) && rc == 0; i++)
                rc = read_root(doc_root(doc, i), trial, err);
        if (rc == 0)
                add_all(table, trial, model_count(table));
        model_table_free(trial);
        return rc;
}

int model_doc_load(const char *path, struct model_table *table, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_file(path, &doc, err);

        if (rc < 0)
                return rc;
        rc = model_doc_decode(doc, table, err);
        doc_free(doc);
        return rc;
}

int model_doc_builtin(struct model_table *table, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_yaml("device-models.yaml (built in)", (const char *)model_doc_text,
                               model_doc_text_size, &doc, err);

        if (rc < 0)
                return rc;
        rc = model_doc_decode(doc, table, err);
        doc_free(doc);
        return rc;
}
