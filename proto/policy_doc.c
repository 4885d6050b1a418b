#include "proto/policy_doc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/units.h"
#include "proto/kind.h"
#include "proto/policy_impl.h"
#include "proto/pool_doc.h"

void policy_warn(struct policy_reader *reader, const struct doc_node *node, const char *format, ...)
{
        struct policy_doc *policy = reader->policy;
        char sentence[POLICY_WARNING_MAX];
        struct err err;
        va_list args;

        if (policy->warnings_count < POLICY_WARNINGS_MAX) {
                struct policy_warning *warning = &policy->warnings[policy->warnings_count];
                va_start(args, format);
                vsnprintf(sentence, sizeof sentence, format, args);
                va_end(args);
                doc_fail(node, &err, "%s", sentence);
                warning->line = doc_line(node);
                snprintf(warning->text, sizeof warning->text, "%s", err.text);
        }
        policy->warnings_count++;
}

int policy_copy_name(const struct doc_node *node, const char *text, char ret_name[TENANCY_WORD_MAX],
                     struct err *err)
{
        char show[STR_SHOW_MAX];
        bool fits = text[0] && strlen(text) < TENANCY_WORD_MAX;

        for (const char *at = text; fits && *at; at++)
                fits = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= '0' && *at <= '9') || strchr("_.-", *at);
        if (!fits)
                return doc_fail(node, err,
                                "'%s' is no name; write 1 to %d letters, digits, '_', '.' and '-'",
                                str_show(text, show), TENANCY_WORD_MAX - 1);
        memcpy(ret_name, text, strlen(text) + 1);
        return 0;
}

/* ---- words that stand for bits ---- */

int policy_read_methods(const struct doc_node *list, uint8_t *ret_methods, struct err *err)
{
        uint8_t methods = 0;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 1, CLASS_METHODS, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                unsigned method = 0;
                if ((rc = doc_choice(node, class_method_names, CLASS_METHODS, &method, err)) < 0)
                        return rc;
                methods = (uint8_t)(methods | 1u << method);
        }
        *ret_methods = methods;
        return 0;
}

static int find_plane(struct policy_reader *reader, const struct doc_node *node, const char *name,
                      unsigned *ret_plane, struct err *err)
{
        struct tenancy *tenancy = reader->tenancy;
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];
        bool is_there = !reader->pool;

        str_near_init(&near, name);
        for (uint32_t i = 0; reader->pool && i < reader->pool->planes_count; i++) {
                str_near_add(&near, reader->pool->planes[i].name);
                is_there = is_there || str_equal(reader->pool->planes[i].name, name);
        }
        if (!is_there)
                return doc_fail(node, err, "the pool has no plane '%s'; %s", str_show(name, show),
                                str_near_text(&near, known, sizeof known));
        for (uint32_t i = 0; i < tenancy->planes_count; i++)
                if (str_equal(tenancy->planes[i], name)) {
                        *ret_plane = i;
                        return 0;
                }
        if (tenancy->planes_count == PLANES_MAX)
                return doc_fail(node, err, "is plane number %d; name fewer", PLANES_MAX + 1);
        int rc = policy_copy_name(node, name, tenancy->planes[tenancy->planes_count], err);
        if (rc < 0)
                return rc;
        *ret_plane = tenancy->planes_count++;
        return 0;
}

int policy_read_planes(struct policy_reader *reader, const struct doc_node *list,
                       uint64_t *ret_planes, struct err *err)
{
        uint64_t planes = 0;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 1, PLANES_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, list) {
                const char *name = NULL;
                unsigned plane = 0;
                if ((rc = doc_text(node, 1, DOC_TEXT_MAX, &name, err)) < 0 ||
                    (rc = find_plane(reader, node, name, &plane, err)) < 0)
                        return rc;
                planes |= UINT64_C(1) << plane;
        }
        *ret_planes = planes;
        return 0;
}

int policy_read_classes(const struct policy_reader *reader, const struct doc_node *list,
                        uint64_t *ret_classes, struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        const char *names[CLASSES_MAX];
        uint64_t classes = 0;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 1, CLASSES_MAX, err)) < 0)
                return rc;
        for (uint32_t i = 0; i < tenancy->classes_count; i++)
                names[i] = tenancy->classes[i].name;
        DOC_EACH(node, list) {
                unsigned index = 0;
                if ((rc = doc_choice(node, names, tenancy->classes_count, &index, err)) < 0)
                        return rc;
                classes |= UINT64_C(1) << index;
        }
        *ret_classes = classes;
        return 0;
}

/* ---- what is counted ---- */

static int fail_dimension(const struct policy_reader *reader, const struct doc_node *node,
                          bool counted, struct err *err)
{
        const char *name = doc_key(node);
        struct str_near near;
        char known[STR_NEAR_MAX];
        bool has_slices = counted && !str_equal(doc_key(doc_parent(node)), "protect");

        for (unsigned m = 0; m < model_count(reader->models); m++)
                if (profile_find(model_get(reader->models, m), name, NULL) >= 0)
                        return doc_fail(node, err,
                                        has_slices
                                                ? "is a profile; write slices: {%s: 4}"
                                                : "is a profile; name the device model instead of "
                                                  "%s",
                                        name);
        str_near_init(&near, name);
        for (unsigned m = 0; m < model_count(reader->models); m++)
                str_near_add(&near, model_get(reader->models, m)->name);
        str_near_add(&near, "any");
        for (unsigned d = DIM_JOBS; counted && d < DIM_SLICES; d++)
                str_near_add(&near, dimension_word(d));
        if (counted)
                str_near_add(&near, "slices");
        return doc_fail(node, err, "is %s; %s",
                        counted ? "neither a device model nor a word that is counted"
                                : "no device model",
                        str_near_text(&near, known, sizeof known));
}

int policy_read_dimension(const struct policy_reader *reader, const struct doc_node *node,
                          bool counted, unsigned *ret_dimension, struct err *err)
{
        unsigned last = counted ? DIM_SLICES : DIM_ANY + 1;

        for (unsigned d = DIM_ANY; d < last; d++)
                if (str_equal(doc_key(node), dimension_word(d))) {
                        *ret_dimension = d;
                        return 0;
                }
        int id = model_find(reader->models, doc_key(node), NULL);
        if (id < 0)
                return fail_dimension(reader, node, counted, err);
        *ret_dimension = (unsigned)id;
        return 0;
}

int policy_read_amount(const struct doc_node *node, unsigned dimension, uint64_t *ret_amount,
                       struct err *err)
{
        uint64_t amount = 0;
        int rc;

        if (doc_kind(node) == DOC_NULL)
                return doc_fail(node, err, "has no amount; write a number");
        if (dimension <= DIM_ANY) {
                rc = doc_milli(node, 0, (uint64_t)POOL_DEVICES_MAX * 1000, &amount, err);
                amount *= UNITS_DEVICE / 1000;
        } else if (dimension == DIM_CPU) {
                rc = doc_cpu_milli(node, 0, AMOUNT_MAX, &amount, err);
        } else if (dimension == DIM_MEMORY) {
                rc = doc_size_mib(node, 0, AMOUNT_MAX, &amount, err);
        } else {
                rc = doc_u64(node, 0, 1000000000000, &amount, err);
        }
        if (rc < 0)
                return rc;
        *ret_amount = amount;
        return 0;
}

/* ---- rules ---- */

static int read_rules(struct tenancy_rules *rules, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"over_jobs", "stop_rate", "publish_quota"};
        static const char *const rate_keys[] = {"pct", "per"};
        const struct doc_node *rate = doc_get(map, "stop_rate"), *pct;
        unsigned over_jobs = rules->over_jobs;
        uint32_t rate_pct = 0;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_choice(doc_get(map, "over_jobs"), over_jobs_names, OVER_JOBS_END, &over_jobs,
                             err)) < 0 ||
            (rc = doc_bool(doc_get(map, "publish_quota"), &rules->publish_quota, err)) < 0)
                return rc;
        rules->over_jobs = (uint8_t)over_jobs;
        if (!rate)
                return 0;
        if ((rc = doc_check_keys(rate, rate_keys, ARRAY_LEN(rate_keys), err)) < 0 ||
            (rc = doc_need(rate, "pct", &pct, err)) < 0 ||
            (rc = doc_u32(pct, 1, 100, &rate_pct, err)) < 0 ||
            (rc = doc_duration_ms(doc_get(rate, "per"), 60000, CALENDAR_DAY_MS,
                                  &rules->stop_rate_ms, err)) < 0)
                return rc;
        rules->stop_rate_pct = (uint8_t)rate_pct;
        return 0;
}

/* ---- the document ---- */

static int read_default_class(struct policy_reader *reader, const struct doc_node *node,
                              struct err *err)
{
        struct tenancy *tenancy = reader->tenancy;
        const char *names[CLASSES_MAX];
        unsigned index = 0;
        int rc;

        if (!node)
                return 0;
        for (uint32_t i = 0; i < tenancy->classes_count; i++)
                names[i] = tenancy->classes[i].name;
        if ((rc = doc_choice(node, names, tenancy->classes_count, &index, err)) < 0)
                return rc;
        tenancy->default_class = (uint16_t)index;
        return 0;
}

static int read_root(struct policy_reader *reader, const struct doc_node *root, struct err *err)
{
        static const char *const keys[] = {
                "kind",  "preset", "rules",   "classes",      "default_class",
                "trust", "data",   "tenants", "reservations", "principals",
                "alerts", "retention",
        };
        static const char *const kinds[] = {"Policy"};
        struct tenancy *tenancy = reader->tenancy;
        const struct doc_node *kind;
        unsigned index = 0, preset = PRESET_PROTECTED;
        int rc;

        if ((rc = doc_need(root, "kind", &kind, err)) < 0 ||
            (rc = doc_choice(kind, kinds, ARRAY_LEN(kinds), &index, err)) < 0 ||
            (rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_choice(doc_get(root, "preset"), preset_names, PRESETS_END, &preset, err)) < 0)
                return rc;
        tenancy->models_count = (uint32_t)model_count(reader->models);
        policy_apply_preset(tenancy, (enum preset)preset);
        if ((rc = read_rules(&tenancy->rules, doc_get(root, "rules"), err)) < 0 ||
            (rc = policy_read_all_classes(reader, root, err)) < 0 ||
            (rc = read_default_class(reader, doc_get(root, "default_class"), err)) < 0 ||
            (rc = policy_read_trusts(reader, doc_get(root, "trust"), err)) < 0 ||
            (rc = policy_read_tenants(reader, root, err)) < 0)
                return rc;
        /* From here on a domain that no tenant has is a mistake. */
        reader->trusts_listed = true;
        if ((rc = policy_read_labels(reader, doc_get(root, "data"), err)) < 0 ||
            (rc = policy_read_reservations(reader, root, err)) < 0 ||
            (rc = policy_read_principals(reader, root, err)) < 0 ||
            (rc = policy_read_alerts(&tenancy->alerts, doc_get(root, "alerts"), err)) < 0 ||
            (rc = retention_read(doc_get(root, "retention"), &reader->policy->retention, err)) < 0)
                return rc;
        tenancy_settle(tenancy);
        return policy_check(reader, root, err);
}

int policy_doc_decode(const struct doc_node *root, const struct model_table *models,
                      const struct pool_doc *pool, struct policy_doc **ret_policy, struct err *err)
{
        assert(root);
        assert(models);

        struct policy_reader reader = {.models = models, .pool = pool};
        int rc = -ERR_NOMEM;

        reader.policy = mem_new(1, sizeof *reader.policy);
        if (reader.policy)
                reader.policy->tenancy = tenancy_new();
        reader.tenant_nodes = mem_new(TENANTS_MAX, sizeof *reader.tenant_nodes);
        if (!reader.policy || !reader.policy->tenancy || !reader.tenant_nodes) {
                err_set(err, ERR_NOMEM, "out of memory for a policy");
                goto out;
        }
        reader.tenancy = reader.policy->tenancy;
        rc = read_root(&reader, root, err);
        if (rc == 0) {
                *ret_policy = reader.policy;
                reader.policy = NULL;
        }
out:
        mem_free(reader.tenant_nodes);
        policy_doc_free(reader.policy);
        return rc;
}

int policy_doc_read(const char *text, const struct model_table *models, const struct pool_doc *pool,
                    struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = doc_read_yaml("policy", text, strlen(text), &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Policy", &root, err);
        if (rc == 0)
                rc = policy_doc_decode(root, models, pool, ret_policy, err);
        doc_free(doc);
        return rc;
}

void policy_doc_free(struct policy_doc *policy)
{
        if (!policy)
                return;
        tenancy_free(policy->tenancy);
        mem_free(policy);
}
