/* known_models.h - the built-in device models, read once for all inputs. */
#pragma once

#include <stdlib.h>

#include "base/err.h"
#include "engine/model.h"
#include "proto/model_doc.h"

static inline const struct model_table *known_models(void)
{
        static struct model_table *models;
        struct err err;

        if (!models) {
                models = model_table_new();
                if (!models || model_doc_builtin(models, &err) < 0)
                        abort();
        }
        return models;
}
