/* What `berth policy check` and `diff` say, for programs. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/json_out.h"
#include "cli/policy_out.h"
#include "proto/policy_doc.h"

/* {"H100-80": "8", "jobs": "200"}: only what is said of the tenant itself. */
static json_t *amounts(const struct tenancy *tenancy, const struct model_table *models,
                       const uint64_t *of)
{
        json_t *json = json_object();

        for (unsigned d = 0; d < DIMENSIONS_END; d++) {
                char name[POLICY_TEXT_MAX], amount[POLICY_TEXT_MAX];
                if (of[d] == AMOUNT_ABSENT || (d < MODELS_MAX && d >= model_count(models)) ||
                    (d >= DIM_SLICES && d >= DIM_SLICES + tenancy->profiles_count))
                        continue;
                (void)json_object_set_new(
                        json, policy_dimension_key(tenancy, models, d, name),
                        json_string(policy_amount_text(d, of[d], amount)));
        }
        return json;
}

static json_t *tenants_of(const struct tenancy *tenancy, const struct model_table *models)
{
        json_t *rows = json_array();

        for (uint32_t t = 0; t < tenancy->tenants_count; t++) {
                const struct tenant *tenant = &tenancy->tenants[t];
                (void)json_array_append_new(
                        rows, json_pack("{s:s, s:o, s:o}", "tenant", tenant->path, "protect",
                                        amounts(tenancy, models, tenant->protect), "limit",
                                        amounts(tenancy, models, tenant->limit)));
        }
        return rows;
}

static json_t *classes_of(const struct tenancy *tenancy)
{
        json_t *rows = json_array();
        char terms[POLICY_TERMS_MAX];

        for (uint32_t c = 0; c < tenancy->classes_count; c++) {
                const struct service_class *class = &tenancy->classes[c];
                (void)json_array_append_new(
                        rows, json_pack("{s:s, s:I, s:s}", "class", class->name, "rank",
                                        (json_int_t)class->rank, "terms",
                                        policy_class_text(tenancy, class, terms, sizeof terms)));
        }
        return rows;
}

/* {"records": "30d"}: only what the policy says. */
static json_t *retention_of(const struct retention *retention)
{
        json_t *json = json_object();
        char text[RETENTION_TEXT_MAX];

        for (unsigned k = 0; k < RETENTIONS_END; k++)
                if (retention->spans[k] != RETENTION_UNSAID)
                        (void)json_object_set_new(json, retention_words[k],
                                                  json_string(retention_text(retention, k, text)));
        return json;
}

json_t *policy_json(const struct policy_doc *policy, const struct model_table *models)
{
        json_t *warnings = json_array();

        for (uint32_t w = 0; w < policy->warnings_count && w < POLICY_WARNINGS_MAX; w++)
                (void)json_array_append_new(warnings, json_string(policy->warnings[w].text));
        return json_pack("{s:o, s:o, s:o, s:o, s:I}", "tenants",
                         tenants_of(policy->tenancy, models), "classes",
                         classes_of(policy->tenancy), "retention",
                         retention_of(&policy->retention), "warnings", warnings,
                         "warnings_count", (json_int_t)policy->warnings_count);
}

json_t *policy_diff_json(const struct policy_doc *before, const struct policy_doc *after,
                         const struct model_table *models)
{
        json_t *changes = json_array();
        char *text = NULL, *rest = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        unsigned lines = file ? policy_print_diff(before, after, models, file) : 0;
        bool is_whole = file && fclose(file) == 0;

        for (char *line = lines ? strtok_r(text, "\n", &rest) : NULL; line;
             line = strtok_r(NULL, "\n", &rest))
                (void)json_array_append_new(changes, json_string(line));
        free(text);
        if (is_whole)
                return json_pack("{s:o}", "changes", changes);
        json_decref(changes);
        return NULL;
}
