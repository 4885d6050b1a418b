#include "sim/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/decide.h"
#include "engine/units.h"
#include "trace/openb.h"

/* ---- openb: models by what they are ---- */

/* What tells one device model from another without its name. */
struct face {
        const char *name;
        uint64_t devices, nodes;
        uint64_t mark;                  /* of its nodes and of the pods that name it */
};

struct faces {
        struct face rows[MODELS_MAX];
        unsigned count;
};

static struct face *face_find(struct faces *faces, const char *name, size_t length)
{
        for (unsigned i = 0; i < faces->count; i++)
                if (strlen(faces->rows[i].name) == length &&
                    memcmp(faces->rows[i].name, name, length) == 0)
                        return &faces->rows[i];
        return NULL;
}

static struct face *face_like(struct faces *faces, const char *name)
{
        for (unsigned i = 0; i < faces->count; i++)
                if (str_equal_nocase(faces->rows[i].name, name))
                        return &faces->rows[i];
        return NULL;
}

/* One model fewer than a mask has bits: the last is nobody's, see NO_MODEL. */
static int faces_of_nodes(const char *path, const struct openb_nodes *nodes,
                          struct faces *ret_faces, struct err *err)
{
        for (size_t n = 0; n < nodes->count; n++) {
                const struct openb_node *row = &nodes->rows[n];
                if (row->gpu_count == 0)
                        continue;
                struct face *face = face_find(ret_faces, row->model, strlen(row->model));
                if (!face) {
                        const struct face *like = face_like(ret_faces, row->model);
                        if (like)
                                return err_set(err, ERR_INPUT,
                                               "%s:%u: column 'model': '%s' stood above as '%s'; "
                                               "write a name the same way everywhere",
                                               path, row->line, row->model, like->name);
                        if (ret_faces->count == MODELS_MAX - 1)
                                return err_set(err, ERR_FULL,
                                               "%s:%u: column 'model': '%s' is one device model "
                                               "too many; at most %d can be told apart",
                                               path, row->line, row->model, MODELS_MAX - 1);
                        face = &ret_faces->rows[ret_faces->count++];
                        *face = (struct face){.name = row->model};
                }
                face->devices += row->gpu_count;
                face->nodes++;
                /* A sum does not depend on the order of rows. */
                face->mark += map_mix((uint64_t)row->cpu_milli << 32 | row->memory_mib) ^
                              row->gpu_count;
        }
        return 0;
}

static void mark_by_pods(struct faces *faces, const struct openb_pods *pods)
{
        for (size_t p = 0; p < pods->count; p++) {
                const struct openb_pod *row = &pods->rows[p];
                uint64_t pod = map_mix((uint64_t)row->cpu_milli << 32 |
                                       (uint64_t)row->gpu_milli << 8 | row->gpu_count);
                unsigned others = 1;
                for (const char *at = row->gpu_spec; *at; at++)
                        others += *at == '|';
                for (const char *at = row->gpu_spec; *at;) {
                        size_t length = strcspn(at, "|");
                        struct face *face = face_find(faces, at, length);
                        if (face)
                                face->mark += map_mix(pod + others);
                        at += length + (at[length] == '|');
                }
        }
}

/* Models that look alike so far are told apart by the models they are named with, a few times over:
 * "A|C" and "B|D" tell A from B where C is not D. */
#define REFINE_ROUNDS 4
static void mark_by_company(struct faces *faces, const struct openb_pods *pods)
{
        uint64_t more[MODELS_MAX] = {0};

        for (size_t p = 0; p < pods->count; p++) {
                const struct openb_pod *row = &pods->rows[p];
                uint64_t company = map_mix((uint64_t)row->cpu_milli << 32 |
                                           (uint64_t)row->gpu_milli << 8 | row->gpu_count);
                struct face *named[MODELS_MAX];
                unsigned count = 0;
                for (const char *at = row->gpu_spec; *at && count < MODELS_MAX;) {
                        size_t length = strcspn(at, "|");
                        struct face *face = face_find(faces, at, length);
                        if (face) {
                                named[count++] = face;
                                company += map_mix(face->mark);
                        }
                        at += length + (at[length] == '|');
                }
                for (unsigned i = 0; i < count; i++)
                        more[named[i] - faces->rows] += map_mix(company);
        }
        for (unsigned m = 0; m < faces->count; m++)
                faces->rows[m].mark = map_mix(faces->rows[m].mark) + more[m];
}

static int compare_faces(const void *a, const void *b)
{
        const struct face *x = a, *y = b;

        if (x->devices != y->devices)
                return x->devices > y->devices ? -1 : 1;
        if (x->nodes != y->nodes)
                return x->nodes > y->nodes ? -1 : 1;
        if (x->mark != y->mark)
                return x->mark < y->mark ? -1 : 1;
        return strcmp(x->name, y->name);        /* twins: which is which cannot matter */
}

/* ---- openb: nodes ---- */

_Static_assert(OPENB_CPU_MILLI_MAX <= CPU_MILLI_MAX && OPENB_MEMORY_MIB_MAX <= RAM_MIB_MAX &&
               OPENB_MODEL_MAX < MODEL_NAME_MAX, "what a list may say, the engine can count");

static int compare_nodes(const void *a, const void *b)
{
        const struct replay_node *x = a, *y = b;

        if (x->model != y->model)
                return x->model < y->model ? -1 : 1;
        if (x->devices != y->devices)
                return x->devices > y->devices ? -1 : 1;
        if (x->cpu_milli != y->cpu_milli)
                return x->cpu_milli < y->cpu_milli ? -1 : 1;
        if (x->ram_mib != y->ram_mib)
                return x->ram_mib < y->ram_mib ? -1 : 1;
        return strcmp(x->name, y->name);        /* equal nodes: which is which cannot matter */
}

static int fill_openb(const struct openb_nodes *nodes, struct faces *faces,
                      struct replay_pool *pool, struct err *err)
{
        qsort(faces->rows, faces->count, sizeof *faces->rows, compare_faces);
        for (unsigned m = 0; m < faces->count; m++) {
                int id = model_add_unlisted(pool->own_models, faces->rows[m].name, err);
                if (id < 0)
                        return id;
        }
        for (size_t n = 0; n < nodes->count; n++) {
                const struct openb_node *row = &nodes->rows[n];
                struct replay_node *node = &pool->nodes[pool->nodes_count++];
                (void)str_copy(node->name, sizeof node->name, row->name);
                node->devices = (uint8_t)row->gpu_count;
                node->cpu_milli = row->cpu_milli;
                node->ram_mib = row->memory_mib;
                if (row->gpu_count > 0)
                        node->model = (uint8_t)(face_find(faces, row->model, strlen(row->model)) -
                                                faces->rows);
                pool->devices += row->gpu_count;
        }
        qsort(pool->nodes, pool->nodes_count, sizeof *pool->nodes, compare_nodes);
        return 0;
}

static int load_openb(const char *path, const char *openb_pods, struct replay_pool *pool,
                      struct err *err)
{
        struct openb_nodes nodes = {0};
        struct openb_pods pods = {0};
        struct faces faces = {0};
        int rc = openb_nodes_read(path, &nodes, err);

        if (rc == 0 && openb_pods && openb_pods[0])
                rc = openb_pods_read(openb_pods, &pods, err);
        if (rc == 0)
                rc = faces_of_nodes(path, &nodes, &faces, err);
        if (rc == 0) {
                mark_by_pods(&faces, &pods);
                for (unsigned round = 0; round < REFINE_ROUNDS; round++)
                        mark_by_company(&faces, &pods);
                pool->own_models = model_table_new();
                pool->nodes = mem_new(nodes.count, sizeof *pool->nodes);
                pool->models = pool->own_models;
                if (!pool->own_models || !pool->nodes)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
        }
        if (rc == 0)
                rc = fill_openb(&nodes, &faces, pool, err);
        if (rc == 0 && pool->devices == 0)
                rc = err_set(err, ERR_INPUT, "%s: no node has a device; use a list with GPU nodes",
                             path);
        openb_nodes_done(&nodes);
        openb_pods_done(&pods);
        return rc;
}

/* ---- uniform ---- */

static int load_uniform(const struct scenario_pool *spec, const struct model_table *models,
                        struct replay_pool *pool, struct err *err)
{
        int model = model_find(models, spec->model, err);

        if (model < 0)
                return model;
        pool->models = models;
        pool->nodes = mem_new(spec->nodes, sizeof *pool->nodes);
        if (!pool->nodes)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t n = 0; n < spec->nodes; n++) {
                struct replay_node *node = &pool->nodes[n];
                snprintf(node->name, sizeof node->name, "node-%06u", n);
                node->model = (uint8_t)model;
                node->devices = spec->devices_per_node;
                node->cpu_milli = spec->cpu_milli ? spec->cpu_milli : CPU_MILLI_MAX;
                node->ram_mib = spec->ram_mib ? spec->ram_mib : RAM_MIB_MAX;
        }
        pool->nodes_count = spec->nodes;
        pool->devices = spec->nodes * spec->devices_per_node;
        if (spec->last_node_devices > 0) {
                pool->nodes[spec->nodes - 1].devices = spec->last_node_devices;
                pool->devices -= spec->devices_per_node - spec->last_node_devices;
        }
        return 0;
}

int replay_pool_load(const struct scenario_pool *spec, const struct model_table *models,
                     const char *openb_pods, struct replay_pool *ret_pool, struct err *err)
{
        struct replay_pool pool = {0};
        int rc = spec->source == POOL_OPENB ? load_openb(spec->openb_nodes, openb_pods, &pool, err)
                                            : load_uniform(spec, models, &pool, err);

        if (rc)
                replay_pool_done(&pool);
        else
                *ret_pool = pool;
        return rc;
}

void replay_pool_done(struct replay_pool *pool)
{
        model_table_free(pool->own_models);
        mem_free(pool->nodes);
        *pool = (struct replay_pool){0};
}

/* ---- pods ---- */

/* Models no pool can have: what only asks for unknown ones fits nowhere. */
#define NO_MODEL (1ull << (MODELS_MAX - 1))

static uint64_t models_of_spec(const struct replay_pool *pool, const char *spec)
{
        uint64_t mask = 0;

        if (!*spec)
                return UINT64_MAX;
        for (const char *at = spec; *at;) {
                size_t length = strcspn(at, "|");
                for (unsigned m = 0; m < model_count(pool->models); m++) {
                        const char *name = model_get(pool->models, m)->name;
                        if (strlen(name) == length && memcmp(name, at, length) == 0)
                                mask |= 1ull << m;
                }
                at += length + (at[length] == '|');
        }
        return mask ? mask : NO_MODEL;
}

static struct need need_of_pod(const struct replay_pool *pool, const struct openb_pod *row)
{
        struct need need = {.models = UINT64_MAX,
                            .cpu_milli = row->cpu_milli,
                            .ram_mib = row->memory_mib,
                            .devices = (uint8_t)row->gpu_count};

        if (row->gpu_count == 0)
                return need;
        need.models = models_of_spec(pool, row->gpu_spec);
        if (row->gpu_milli == SHARE_WHOLE) {
                need.ask = ASK_WHOLE;
        } else {
                need.ask = ASK_SHARE;
                need.share_milli = (uint16_t)row->gpu_milli;
        }
        return need;
}

static int compare_needs(const void *a, const void *b)
{
        const struct need *x = a, *y = b;

        if (x->devices != y->devices)
                return x->devices < y->devices ? -1 : 1;
        if (x->share_milli != y->share_milli)
                return x->share_milli < y->share_milli ? -1 : 1;
        if (x->cpu_milli != y->cpu_milli)
                return x->cpu_milli < y->cpu_milli ? -1 : 1;
        if (x->ram_mib != y->ram_mib)
                return x->ram_mib < y->ram_mib ? -1 : 1;
        return x->models < y->models ? -1 : x->models > y->models;
}

int replay_pods_load(const char *path, const struct replay_pool *pool,
                     struct replay_pods *ret_pods, struct err *err)
{
        struct openb_pods pods = {0};
        int rc = openb_pods_read(path, &pods, err);

        if (rc)
                return rc;
        struct need *needs = mem_new(pods.count, sizeof *needs);
        if (!needs) {
                openb_pods_done(&pods);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        for (size_t p = 0; p < pods.count; p++)
                needs[p] = need_of_pod(pool, &pods.rows[p]);
        qsort(needs, pods.count, sizeof *needs, compare_needs);
        *ret_pods = (struct replay_pods){needs, (uint32_t)pods.count};
        openb_pods_done(&pods);
        return 0;
}

void replay_pods_done(struct replay_pods *pods)
{
        mem_free(pods->needs);
        *pods = (struct replay_pods){0};
}

struct need need_on_whole(const struct need *need)
{
        struct need whole = *need;

        if (need->devices == 0)
                return whole;
        whole.ask = ASK_WHOLE;
        whole.share_milli = whole.profile = 0;
        whole.memory_mib = 0;
        whole.methods = 0;
        return whole;
}

bool need_has_no_model(const struct need *need)
{
        return need->models == NO_MODEL;
}

uint64_t need_milli(const struct need *need)
{
        return need->ask == ASK_SHARE ? (uint64_t)need->devices * need->share_milli
                                      : (uint64_t)need->devices * SHARE_WHOLE;
}

/* ---- states ---- */

#define SHAPES_MAX 65536        /* different requests; with more of them a run ends in an error */

static int join(struct state *state, struct memo *memo, const struct replay_node *node,
                uint32_t copy, struct err *err)
{
        char name[VOCAB_WORD_MAX];

        if (copy == 0)
                (void)str_copy(name, sizeof name, node->name);
        else
                snprintf(name, sizeof name, "%.100s.%u", node->name, copy);
        int word = vocab_name(state->vocab, name, err);
        if (word < 0)
                return word;
        struct input input = {.kind = INPUT_NODE_JOINED,
                              .node = {.name = (uint32_t)word,
                                       .model = node->model,
                                       .devices = node->devices,
                                       .cpu_milli = node->cpu_milli,
                                       .ram_mib = node->ram_mib}};
        return engine_run(state, memo, &input, 0, NULL, NULL, err);
}

struct state *replay_state_new(const struct replay_pool *pool, uint32_t copies, struct err *err)
{
        /* What a replay can hold at once: eight parts of each device, and CPU work. One member
         * each, so that the table of workloads is the one that fills first: that ends a run. */
        uint32_t devices = pool->devices * copies, nodes = pool->nodes_count * copies;
        uint32_t at_once = (devices + nodes) * 8 + 65536;
        struct state_bounds bounds = {.nodes_max = nodes,
                                      .workloads_max = at_once,
                                      .members_max = at_once,
                                      .parts_max = at_once + devices,
                                      .shapes_max = SHAPES_MAX,
                                      .buckets_max = SHAPES_MAX};
        struct state *state = state_new(pool->models, &bounds);
        /* Joining places nothing, so any policy does. */
        struct memo *memo = memo_new((struct policy){.kind = POLICY_FIRST_FIT}, MEMO_INDEXED);
        int rc = state && memo ? 0 : err_set(err, ERR_NOMEM, "out of memory");

        /* Copies of a node stand together: canonical order holds for the larger pool too. */
        for (uint32_t n = 0; rc == 0 && n < pool->nodes_count; n++)
                for (uint32_t copy = 0; rc == 0 && copy < copies; copy++)
                        rc = join(state, memo, &pool->nodes[n], copy, err);
        memo_free(memo);
        if (rc) {
                state_free(state);
                return NULL;
        }
        return state;
}
