#include "proto/workload_doc.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/units.h"
#include "engine/vocab.h"
#include "proto/workload_impl.h"

#define RUN_BYTES_MAX (4u << 20) /* of all texts of `run` together */

/* ---- each: what one member needs ---- */

static int read_models(struct workload_reader *reader, const struct doc_node *node,
                       struct need *need, struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, 1000, &text, err);

        need->models = UINT64_MAX;
        if (rc < 0 || !text)
                return rc;
        int id = model_find(reader->models, text, NULL);
        if (id >= 0)
                need->models = UINT64_C(1) << id;
        else if ((rc = model_match(reader->models, text, &need->models, err)) < 0)
                return doc_blame(node, err);
        return 0;
}

static int read_profile(struct workload_reader *reader, const struct doc_node *node,
                        struct need *need, struct err *err)
{
        const char *text = NULL, *name = NULL;
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];
        int rc = doc_text(node, 1, DOC_TEXT_MAX, &text, err);

        if (rc < 0 || !text)
                return rc;
        str_near_init(&near, text);
        for (unsigned m = 0; m < model_count(reader->models); m++) {
                const struct model *model = model_get(reader->models, m);
                if (!(need->models >> m & 1))
                        continue;
                int found = profile_find(model, text, NULL);
                if (found >= 0)
                        name = model->profiles[found].name;
                for (unsigned p = 0; p < model->profiles_count; p++)
                        str_near_add(&near, model->profiles[p].name);
        }
        if (!name)
                return doc_fail(node, err, "'%s' is no profile of the models asked for; %s",
                                str_show(text, show), str_near_text(&near, known, sizeof known));
        if ((rc = vocab_word(reader->vocab, name, err)) < 0)
                return doc_blame(node, err);
        need->profile = (uint16_t)rc;
        return 0;
}

/* Which of the keys that say a part of a device are there, and what they come to. */
static int read_part(struct workload_reader *reader, const struct doc_node *each, struct need *need,
                     struct err *err)
{
        const struct doc_node *profile = doc_get(each, "profile"),
                              *memory = doc_get(each, "memory");
        const struct doc_node *share = doc_get(each, "share"), *model = doc_get(each, "model");
        uint32_t devices = profile || memory || share || model ? 1 : 0;
        uint64_t memory_mib = 0, share_milli = 0;
        int rc;

        if ((rc = doc_u32(doc_get(each, "devices"), 0, NODE_DEVICES_MAX, &devices, err)) < 0 ||
            (rc = read_models(reader, model, need, err)) < 0 ||
            (rc = read_profile(reader, profile, need, err)) < 0 ||
            (rc = doc_size_mib(memory, 1, DEVICE_MIB_MAX, &memory_mib, err)) < 0 ||
            (rc = doc_milli(share, 1, SHARE_WHOLE, &share_milli, err)) < 0)
                return rc;
        const struct doc_node *beside = memory ? memory : share;
        if (profile && beside)
                return doc_fail(beside, err,
                                "stands beside 'profile', which says it already; "
                                "leave one of the two out");
        if (devices == 0 && (profile || memory || share || model))
                return doc_fail(doc_get(each, "devices"), err,
                                "0 devices, but '%s' says what is needed of them; write 1 or more",
                                profile  ? "profile"
                                : memory ? "memory"
                                : share  ? "share"
                                         : "model");
        need->devices = (uint8_t)devices;
        need->memory_mib = (uint32_t)memory_mib;
        need->share_milli = (uint16_t)share_milli;
        need->ask = profile   ? ASK_PROFILE
                    : share   ? ASK_SHARE
                    : memory  ? ASK_MEMORY
                    : devices ? ASK_WHOLE
                              : ASK_NOTHING;
        return 0;
}

/* method: how the need is to be met; without it the class decides. */
static int read_method(struct workload_reader *reader, const struct doc_node *each,
                       struct need *need, struct err *err)
{
        const struct doc_node *node = doc_get(each, "method");
        unsigned method = CLASS_METHODS;
        int rc = doc_choice(node, class_method_names, CLASS_METHODS, &method, err);

        if (rc < 0)
                return rc;
        reader->workload->method = (uint8_t)method;
        if (!node)
                return 0;
        bool fits = method == METHOD_SERVE;
        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                fits = false;
                break;
        case ASK_WHOLE:
                fits = fits || method == METHOD_WHOLE;
                break;
        case ASK_PROFILE:
                fits = fits || method == METHOD_SLICE;
                break;
        case ASK_MEMORY:
                fits = true;
                if (method == METHOD_SHARE)
                        need->ask = ASK_SHARE;
                else if (method != METHOD_SERVE)
                        need->methods = (uint8_t)METHOD_BIT(method);
                break;
        case ASK_SHARE:
                fits = fits || method == METHOD_SHARE;
                break;
        }
        if (fits)
                return 0;
        return doc_fail(node, err,
                        "'%s' does not go with what is asked for; whole devices are 'whole', a "
                        "profile is 'slice', a share is 'share', memory alone is any of them",
                        class_method_names[method]);
}

static int read_each(struct workload_reader *reader, const struct doc_node *each, struct err *err)
{
        static const char *const keys[] = {
                "devices", "model", "profile", "memory", "share",
                "method",  "cpu",   "ram",     "disk",   "network",
        };
        struct need *need = &reader->workload->request.need;
        uint64_t cpu = 0, ram = 0, disk = 0, network = 0;
        int rc;

        if ((rc = doc_check_keys(each, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = read_part(reader, each, need, err)) < 0 ||
            (rc = read_method(reader, each, need, err)) < 0 ||
            (rc = doc_cpu_milli(doc_get(each, "cpu"), 0, CPU_MILLI_MAX, &cpu, err)) < 0 ||
            (rc = doc_size_mib(doc_get(each, "ram"), 0, RAM_MIB_MAX, &ram, err)) < 0 ||
            (rc = doc_size_mib(doc_get(each, "disk"), 0, DISK_MIB_MAX, &disk, err)) < 0 ||
            (rc = doc_rate_mbit(doc_get(each, "network"), 0, NETWORK_MBIT_MAX, &network, err)) < 0)
                return rc;
        need->cpu_milli = (uint32_t)cpu;
        need->ram_mib = (uint32_t)ram;
        need->disk_mib = (uint32_t)disk;
        need->network_mbit = (uint32_t)network;
        reader->workload->models = need->models;
        if (need->ask == ASK_NOTHING && cpu == 0 && ram == 0)
                return doc_fail(each, err,
                                "needs nothing; write for example {devices: 1} or "
                                "{cpu: 4, ram: 16Gi}");
        return 0;
}

/* ---- near: {require: rack} or {prefer: node}; spread: node ---- */

static int read_form(struct workload_reader *reader, const struct doc_node *root, struct err *err)
{
        struct form *form = &reader->workload->request.form;
        static const char *const keys[] = {"require", "prefer"};
        const struct doc_node *near = doc_get(root, "near");
        const char *names[NEAR_LEVELS_END];
        unsigned level = NEAR_NONE, spread = SPREAD_NONE;
        int rc;

        form->members = 1;
        if ((rc = doc_u32(doc_get(root, "members"), 1, MEMBERS_MAX, &form->members, err)) < 0 ||
            (rc = doc_choice(doc_get(root, "spread"), spread_names, SPREAD_LEVELS_END, &spread,
                             err)) < 0)
                return rc;
        form->spread = reader->workload->spread = (uint8_t)spread;
        if (!near)
                return 0;
        for (unsigned i = 0; i < NEAR_LEVELS_END; i++)
                names[i] = near_level_name((enum near_level)i);
        if ((rc = doc_check_keys(near, keys, ARRAY_LEN(keys), err)) < 0)
                return rc;
        const struct doc_node *require = doc_get(near, "require"),
                              *prefer = doc_get(near, "prefer");
        if (!require == !prefer)
                return doc_fail(near, err,
                                "takes one of the two: {require: rack} or {prefer: "
                                "rack}");
        if ((rc = doc_choice(require ? require : prefer, names, NEAR_LEVELS_END, &level, err)) < 0)
                return rc;
        form->near = (uint8_t)level;
        form->near_required = require != NULL;
        return 0;
}

/* ---- where: {plane: training, labels: {driver: ">=550"}} ---- */

static int read_conditions(struct workload_reader *reader, const struct doc_node *map,
                           struct need *need, struct err *err)
{
        struct where wheres[VOCAB_WHERES_MAX];
        size_t count = 0;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > VOCAB_WHERES_MAX)
                return doc_fail(map, err, "has %zu conditions; at most %d are possible",
                                doc_length(map), VOCAB_WHERES_MAX);
        DOC_EACH(node, map) {
                const char *text = NULL;
                if ((rc = doc_text(node, 1, VOCAB_WORD_MAX - 1, &text, err)) < 0)
                        return rc;
                if ((rc = vocab_where_parse(reader->vocab, doc_key(node), text, &wheres[count],
                                            err)) < 0)
                        return doc_blame(node, err);
                count++;
        }
        if ((rc = vocab_wheres(reader->vocab, wheres, count, err)) < 0)
                return doc_blame(map, err);
        need->where = (uint16_t)rc;
        return 0;
}

static int read_where(struct workload_reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const keys[] = {"plane", "labels"};
        struct need *need = &reader->workload->request.need;
        const char *plane = NULL;
        int rc;

        if (!map)
                return 0;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_text(doc_get(map, "plane"), 1, TENANCY_WORD_MAX - 1, &plane, err)) < 0)
                return rc;
        if (plane) {
                if ((rc = vocab_word(reader->vocab, plane, err)) < 0)
                        return doc_blame(doc_get(map, "plane"), err);
                need->plane = (uint16_t)rc;
        }
        return read_conditions(reader, doc_get(map, "labels"), need, err);
}

/* ---- whose it is ---- */

static int check_known(const struct doc_node *node, const char *what, const char *names,
                       size_t stride, size_t count, const char *wanted, struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        str_near_init(&near, wanted);
        for (size_t i = 0; i < count; i++) {
                if (str_equal(names + i * stride, wanted))
                        return 0;
                str_near_add(&near, names + i * stride);
        }
        return doc_fail(node, err, "the policy has no %s '%s'; %s", what, str_show(wanted, show),
                        str_near_text(&near, known, sizeof known));
}

static int check_class(const struct workload_reader *reader, const struct doc_node *root,
                       struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        const char *wanted = reader->workload->class_name;
        char known[STR_NEAR_MAX];
        struct str_near near;

        if (wanted[0])
                return check_known(doc_get(root, "class"), "class", tenancy->classes[0].name,
                                   sizeof tenancy->classes[0], tenancy->classes_count, wanted,
                                   err);
        if (tenancy->default_class != CLASS_NONE)
                return 0;
        str_near_init(&near, "");
        for (size_t c = 0; c < tenancy->classes_count; c++)
                str_near_add(&near, tenancy->classes[c].name);
        return doc_fail(root, err,
                        "field 'class' is missing, and the policy has no default_class; add it; %s",
                        str_near_text(&near, known, sizeof known));
}

static int check_owner(const struct workload_reader *reader, const struct doc_node *root,
                       struct err *err)
{
        const struct tenancy *tenancy = reader->tenancy;
        const struct workload_doc *workload = reader->workload;
        int rc = 0;

        if (!tenancy)
                return 0;
        rc = check_known(doc_get(root, "tenant"), "tenant", tenancy->tenants[0].path,
                         sizeof tenancy->tenants[0], tenancy->tenants_count, workload->tenant, err);
        if (rc == 0)
                rc = check_class(reader, root, err);
        if (rc == 0 && workload->data[0])
                rc = check_known(doc_get(root, "data"), "data label", tenancy->labels[0].name,
                                 sizeof tenancy->labels[0], tenancy->labels_count, workload->data,
                                 err);
        return rc;
}

static int read_name(const struct doc_node *node, char *ret_name, size_t size, struct err *err)
{
        int rc = doc_copy(node, ret_name, size, err);
        char show[STR_SHOW_MAX];

        if (rc < 0 || !node)
                return rc;
        for (const char *at = ret_name; *at; at++)
                if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                      (*at >= '0' && *at <= '9') || strchr("_.-/", *at)))
                        return doc_fail(node, err,
                                        "'%s' is no name; write letters, digits, '_', "
                                        "'.' and '-'",
                                        str_show(ret_name, show));
        return 0;
}

static int read_owner(struct workload_reader *reader, const struct doc_node *root, struct err *err)
{
        static const char *const standings[] = {"standard", "spare"};
        struct workload_doc *workload = reader->workload;
        const struct doc_node *name, *tenant;
        unsigned standing = 0;
        int rc;

        if ((rc = doc_need(root, "name", &name, err)) < 0 ||
            (rc = read_name(name, workload->name, sizeof workload->name, err)) < 0 ||
            (rc = doc_need(root, "tenant", &tenant, err)) < 0 ||
            (rc = read_name(tenant, workload->tenant, sizeof workload->tenant, err)) < 0 ||
            (rc = read_name(doc_get(root, "class"), workload->class_name,
                            sizeof workload->class_name, err)) < 0 ||
            (rc = read_name(doc_get(root, "data"), workload->data, sizeof workload->data, err)) <
                    0 ||
            (rc = doc_choice(doc_get(root, "standing"), standings, ARRAY_LEN(standings), &standing,
                             err)) < 0 ||
            (rc = doc_bool(doc_get(root, "hold"), &workload->is_held, err)) < 0)
                return rc;
        if (strchr(workload->name, '/'))
                return doc_fail(name, err,
                                "holds a '/', which stands between tenants; leave it "
                                "out");
        workload->is_spare = standing == 1;
        return check_owner(reader, root, err);
}

/* ---- the document ---- */

static int read_root(struct workload_reader *reader, const struct doc_node *root, struct err *err)
{
        static const char *const keys[] = {
                "kind",       "name",    "tenant",     "class",   "data",          "standing",
                "hold",       "members", "each",       "near",    "spread",        "where",
                "time_limit", "start",   "checkpoint", "after",   "array",         "retries",
                "run",        "service", "artifact",   "context", "active_tokens",
        };
        static const char *const kinds[] = {"Workload"};
        struct request *request = &reader->workload->request;
        const struct doc_node *kind, *each;
        unsigned index = 0;
        int rc;

        if ((rc = doc_need(root, "kind", &kind, err)) < 0 ||
            (rc = doc_choice(kind, kinds, ARRAY_LEN(kinds), &index, err)) < 0 ||
            (rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = read_owner(reader, root, err)) < 0 ||
            (rc = doc_need(root, "each", &each, err)) < 0 ||
            (rc = read_each(reader, each, err)) < 0 || (rc = read_form(reader, root, err)) < 0 ||
            (rc = read_where(reader, doc_get(root, "where"), err)) < 0 ||
            (rc = workload_read_run(reader, root, err)) < 0)
                return rc;
        if ((rc = request_settle(request, err)) < 0)
                return doc_blame(root, err);
        return 0;
}

int workload_doc_decode(const struct doc_node *root, const struct model_table *models,
                        const struct tenancy *tenancy, struct vocab *vocab,
                        struct workload_doc **ret_workload, struct err *err)
{
        assert(root);
        assert(models);
        assert(vocab);

        struct workload_reader reader = {.models = models, .tenancy = tenancy, .vocab = vocab};

        reader.workload = mem_new(1, sizeof *reader.workload);
        if (reader.workload)
                reader.workload->arena = arena_new(4096, RUN_BYTES_MAX);
        if (!reader.workload || !reader.workload->arena) {
                workload_doc_free(reader.workload);
                return err_set(err, ERR_NOMEM, "out of memory for a workload");
        }
        int rc = read_root(&reader, root, err);
        if (rc == 0)
                *ret_workload = reader.workload;
        else
                workload_doc_free(reader.workload);
        return rc;
}

void workload_doc_free(struct workload_doc *workload)
{
        if (!workload)
                return;
        arena_free(workload->arena);
        mem_free(workload);
}
