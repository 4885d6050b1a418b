/* models.h - the built-in device models, and "MYSTERY" of which nothing is known, loaded once. */
#pragma once

#include "base/err.h"
#include "engine/model.h"
#include "proto/model_doc.h"
#include "tests/unit/check.h"

static struct model_table *models;

static inline int models_load(void **state)
{
        struct err err = {0};

        (void)state;
        models = model_table_new();
        assert_non_null(models);
        if (model_doc_builtin(models, &err) < 0 || model_add_unlisted(models, "MYSTERY", &err) < 0)
                fail_msg("%s", err.text);
        return 0;
}

static inline int models_drop(void **state)
{
        (void)state;
        model_table_free(models);
        return 0;
}

static inline uint8_t model_id(const char *name)
{
        struct err err = {0};
        int id = model_find(models, name, &err);

        if (id < 0)
                fail_msg("%s", err.text);
        return (uint8_t)id;
}

static inline const struct model *model_named(const char *name)
{
        return model_get(models, model_id(name));
}
