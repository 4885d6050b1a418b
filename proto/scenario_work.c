/* What a scenario's workload is made of: a recorded list, a mix of slices, or kinds of task; a
 * history of jobs is read in scenario_jobs.c. */
#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "engine/units.h"
#include "proto/scenario_impl.h"

#define ARRIVE_PCT_MAX        10000
#define LOAD_MILLI_MAX        100000
#define WEIGHT_MILLI_MAX      1000000000u       /* a million */
#define LIFE_MAX              1000000
#define LIVES_MAX             1000
#define SLOWDOWN_PERMILLE_MAX 10000     /* a neighbour makes work take 11 times as long */

/* ---- mix: {1g.5gb: 1, whole: 0.5, share:250: 2} ---- */

static int check_mix_name(const struct reader *reader, const struct doc_node *node,
                          struct err *err)
{
        static const char share[] = "share:";
        const char *name = doc_key(node);
        const struct model *model = reader->model;
        uint64_t milli;
        int rc;

        if (str_equal(name, "whole"))
                return 0;
        if (strncmp(name, share, sizeof share - 1) == 0) {
                if ((rc = num_u64(name + sizeof share - 1, 1, SHARE_WHOLE, &milli, err)) < 0) {
                        err_prefix(err, "thousandths of a device");
                        doc_blame(node, err);
                }
                return rc;
        }
        if (profile_find(model, name, NULL) >= 0)
                return 0;
        struct str_near near;
        char known[STR_NEAR_MAX];
        str_near_init(&near, name);
        for (unsigned p = 0; p < model->profiles_count; p++)
                str_near_add(&near, model->profiles[p].name);
        str_near_add(&near, "whole");
        str_near_add(&near, "share:250");
        return doc_fail(node, err,
                        "is neither a profile of %s, nor 'whole', nor 'share:250' (thousandths of "
                        "a device); %s",
                        model->name, str_near_text(&near, known, sizeof known));
}

static int read_mix(const struct reader *reader, const struct doc_node *map, struct err *err)
{
        struct scenario_workload *work = &reader->scenario->workload;
        uint64_t total = 0;
        int rc;

        if (!reader->model)
                return doc_fail(map, err,
                                "needs a pool of one device model; write pool: {nodes: 100, "
                                "devices_per_node: 1, model: A100-40}");
        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) == 0 || doc_length(map) > SCENARIO_MIX_MAX)
                return doc_fail(map, err, "has %zu entries; write 1 to %d as 'profile: weight'",
                                doc_length(map), SCENARIO_MIX_MAX);
        DOC_EACH (node, map) {
                struct scenario_mix *mix = &work->mix[work->mix_count];
                if ((rc = check_mix_name(reader, node, err)) < 0)
                        return rc;
                if (doc_kind(node) == DOC_NULL)
                        return doc_fail(node, err, "has no weight; write for example 1");
                if ((rc = doc_milli(node, 0, WEIGHT_MILLI_MAX, &mix->weight_milli, err)) < 0)
                        return rc;
                if (!str_copy(mix->name, sizeof mix->name, doc_key(node)))
                        return doc_fail(node, err, "is longer than %d bytes",
                                        PROFILE_NAME_MAX - 1);
                total += mix->weight_milli;
                work->mix_count++;
        }
        if (total == 0)
                return doc_fail(map, err, "has only weights of 0; give one of them more");
        work->source = WORKLOAD_MIX;
        return 0;
}

/* ---- tasks: {notebook: {compute: 0.1, memory: 4Gi, mixed: share}} ---- */

int scenario_task_profile(const struct model *model, const struct scenario_task *task)
{
        uint32_t least = UINT32_MAX;
        int best = -1;

        for (unsigned p = 0; p < model->profiles_count; p++) {
                const struct profile *profile = &model->profiles[p];
                uint32_t units = profile_units(model, profile);
                bool has_compute = (uint32_t)profile->compute_slices * SHARE_WHOLE >=
                                   (uint32_t)task->compute_milli * model->compute_slices;
                if (!profile->base || !has_compute || profile->memory_mib < task->memory_mib ||
                    units >= least)
                        continue;
                least = units;
                best = (int)p;
        }
        return best;
}

static int read_task(const struct reader *reader, const struct doc_node *node,
                     struct scenario_task *task, struct err *err)
{
        static const char *const keys[] = {"weight", "compute", "memory", "cpu", "ram", "mixed"};
        const struct scenario_pool *pool = &reader->scenario->pool;
        const struct doc_node *compute, *memory;
        uint64_t milli = 0, memory_mib = 0, cpu_milli = 0, ram_mib = 0;
        unsigned mixed = METHOD_WHOLE;
        int rc;

        task->weight_milli = 1000;
        if (!str_copy(task->name, sizeof task->name, doc_key(node)))
                return doc_fail(node, err, "is longer than %zu bytes; use a shorter name",
                                sizeof task->name - 1);
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_milli(doc_get(node, "weight"), 0, WEIGHT_MILLI_MAX, &task->weight_milli,
                            err)) < 0 ||
            (rc = doc_need(node, "compute", &compute, err)) < 0 ||
            (rc = doc_milli(compute, 1, SHARE_WHOLE, &milli, err)) < 0 ||
            (rc = doc_need(node, "memory", &memory, err)) < 0 ||
            (rc = doc_size_mib(memory, 1, DEVICE_MIB_MAX, &memory_mib, err)) < 0 ||
            (rc = doc_cpu_milli(doc_get(node, "cpu"), 0, CPU_MILLI_MAX, &cpu_milli, err)) < 0 ||
            (rc = doc_size_mib(doc_get(node, "ram"), 0, RAM_MIB_MAX, &ram_mib, err)) < 0 ||
            (rc = doc_choice(doc_get(node, "mixed"), scenario_method_names, METHODS_END, &mixed,
                             err)) < 0)
                return rc;
        if (memory_mib > reader->model->memory_mib)
                return doc_fail(memory, err,
                                "%" PRIu64 " MiB is more than %s has; write at most %uMi",
                                memory_mib, reader->model->name, reader->model->memory_mib);
        if (cpu_milli > pool->cpu_milli || ram_mib > pool->ram_mib)
                return doc_fail(doc_get(node, cpu_milli > pool->cpu_milli ? "cpu" : "ram"), err,
                                "is more than a node has; ask for less or raise pool.cpu and "
                                "pool.ram");
        if (mixed == METHOD_SLICE && reader->model->cut == MODEL_PLAIN)
                return doc_fail(doc_get(node, "mixed"), err,
                                "%s cannot be cut into slices; write whole or share",
                                reader->model->name);
        task->compute_milli = (uint16_t)milli;
        task->memory_mib = (uint32_t)memory_mib;
        task->cpu_milli = (uint32_t)cpu_milli;
        task->ram_mib = (uint32_t)ram_mib;
        task->mixed = (uint8_t)mixed;
        return 0;
}

static int check_task_pool(const struct reader *reader, const struct doc_node *map,
                           struct err *err)
{
        if (!reader->model)
                return doc_fail(map, err,
                                "needs a pool of one device model; write pool: {nodes: 25, "
                                "devices_per_node: 4, model: A100-40}");
        if (reader->model->memory_mib == 0)
                return doc_fail(map, err,
                                "needs a device model of known memory, and that of %s is not "
                                "known; name another in pool.model",
                                reader->model->name);
        return 0;
}

static int read_tasks(const struct reader *reader, const struct doc_node *map, struct err *err)
{
        struct scenario_workload *work = &reader->scenario->workload;
        uint64_t total = 0;
        int rc;

        if ((rc = check_task_pool(reader, map, err)) < 0 || (rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) == 0 || doc_length(map) > SCENARIO_MIX_MAX)
                return doc_fail(map, err,
                                "has %zu entries; write 1 to %d as 'name: {compute: 0.25, memory: "
                                "8Gi}'",
                                doc_length(map), SCENARIO_MIX_MAX);
        DOC_EACH (node, map) {
                struct scenario_task *task = &work->tasks[work->tasks_count];
                if ((rc = read_task(reader, node, task, err)) < 0)
                        return rc;
                total += task->weight_milli;
                work->tasks_count++;
        }
        if (total == 0)
                return doc_fail(map, err, "has only weights of 0; give one of them more");
        work->source = WORKLOAD_TASKS;
        return 0;
}

/* ---- interference: {share: {per_neighbour_pct: 12, measured: false}} ---- */

static int read_neighbour(const struct doc_node *node, struct scenario_interference *table,
                          enum method method, struct err *err)
{
        static const char *const keys[] = {"per_neighbour_pct", "measured", "source"};
        const struct doc_node *pct, *measured;
        uint64_t permille = 0;
        int rc;

        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(node, "per_neighbour_pct", &pct, err)) < 0 ||
            (rc = doc_fixed(pct, 1, 0, SLOWDOWN_PERMILLE_MAX, &permille, err)) < 0 ||
            (rc = doc_need(node, "measured", &measured, err)) < 0 ||
            (rc = doc_bool(measured, &table->measured[method], err)) < 0 ||
            (rc = doc_copy(doc_get(node, "source"), table->source[method],
                           sizeof table->source[method], err)) < 0)
                return rc;
        if (table->measured[method] && !table->source[method][0])
                return doc_fail(measured, err,
                                "says that the figure was measured; add 'source: where and how', "
                                "or write measured: false");
        table->given[method] = true;
        table->per_neighbour_permille[method] = (uint16_t)permille;
        return 0;
}

static bool method_is_used(const struct scenario *scenario, enum method method)
{
        const struct scenario_workload *work = &scenario->workload;

        for (uint32_t i = 0; i < scenario->methods_count; i++) {
                if ((method == METHOD_SLICE && scenario->methods[i] == TASK_SLICE) ||
                    (method == METHOD_SHARE && scenario->methods[i] == TASK_SHARE))
                        return true;
                for (uint32_t t = 0; scenario->methods[i] == TASK_MIXED && t < work->tasks_count;
                     t++)
                        if (work->tasks[t].mixed == method)
                                return true;
        }
        return false;
}

static int read_interference(const struct reader *reader, const struct doc_node *map,
                             struct err *err)
{
        static const char *const keys[] = {"slice", "share"};
        static const enum method methods[] = {METHOD_SLICE, METHOD_SHARE};
        struct scenario_interference *table = &reader->scenario->workload.interference;
        const struct doc_node *node = doc_get(map, "interference");
        int rc;

        if (node && (rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0)
                return rc;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const struct doc_node *entry = doc_get(node, keys[i]);
                if (entry && (rc = read_neighbour(entry, table, methods[i], err)) < 0)
                        return rc;
                /* Nothing is assumed silently: 0 is a figure too, and has to be written. */
                if (!entry && method_is_used(reader->scenario, methods[i]))
                        return doc_fail(node ? node : map, err,
                                        "lacks how much neighbours cost with method %s; add %s%s: "
                                        "{per_neighbour_pct: 10, measured: false}",
                                        keys[i], node ? "" : "interference: ", keys[i]);
        }
        return 0;
}

static int read_methods(const struct reader *reader, const struct doc_node *root, struct err *err)
{
        struct scenario *scenario = reader->scenario;
        const struct doc_node *list = doc_get(root, "methods");
        unsigned seen = 0;
        int rc;

        if (scenario->workload.source != WORKLOAD_TASKS)
                return list ? doc_fail(list, err,
                                       "goes with workload.tasks only; leave it out") : 0;
        if ((rc = doc_need(root, "methods", &list, err)) < 0 ||
            (rc = doc_check_list(list, 1, SCENARIO_METHODS_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, list) {
                unsigned method = 0;
                rc = doc_choice(node, scenario_method_names, TASK_METHODS_END, &method, err);
                if (rc < 0)
                        return rc;
                if (seen >> method & 1)
                        return doc_fail(node, err, "method '%s' stands twice; name it once",
                                        scenario_method_names[method]);
                if (method == TASK_SLICE && reader->model->cut == MODEL_PLAIN)
                        return doc_fail(node, err,
                                        "%s cannot be cut into slices; leave slice out or name "
                                        "another pool.model",
                                        reader->model->name);
                seen |= 1u << method;
                scenario->methods[scenario->methods_count++] = (enum task_method)method;
        }
        return 0;
}

static int check_mixed(const struct reader *reader, const struct doc_node *tasks, struct err *err)
{
        const struct scenario *scenario = reader->scenario;

        for (uint32_t i = 0; i < scenario->methods_count; i++)
                if (scenario->methods[i] == TASK_MIXED)
                        DOC_EACH (task, tasks)
                                if (!doc_get(task, "mixed"))
                                        return doc_fail(task, err,
                                                        "does not say how method 'mixed' serves "
                                                        "it; add mixed: whole, slice or share");
        return 0;
}

/* ---- arrivals ---- */

static int read_shuffled(const struct doc_node *map, struct scenario_workload *work,
                         struct err *err)
{
        static const char *const poisson[] = {"load", "mean_life", "warmup_lives", "measure_lives"};
        uint32_t arrive_pct = 130;
        int rc = scenario_refuse_keys(map, poisson, ARRAY_LEN(poisson),
                                      "goes with 'arrivals: poisson' only; add that, or leave it "
                                      "out",
                                      err);

        if (rc == 0)
                rc = doc_u32(doc_get(map, "arrive_pct"), 1, ARRIVE_PCT_MAX, &arrive_pct, err);
        work->arrive_pct = (uint16_t)arrive_pct;
        return rc;
}

static int read_poisson(const struct doc_node *map, struct scenario_workload *work,
                        struct err *err)
{
        static const char *const shuffled[] = {"arrive_pct"};
        const struct doc_node *load;
        uint64_t load_milli = 0;
        int rc;

        work->mean_life = 500;
        work->warmup_lives = 3;
        work->measure_lives = 9;
        if ((rc = scenario_refuse_keys(map, shuffled, ARRAY_LEN(shuffled),
                                       "goes with 'arrivals: shuffled' only, where nobody leaves; "
                                       "write load instead",
                                       err)) < 0 ||
            (rc = doc_need(map, "load", &load, err)) < 0 ||
            (rc = doc_milli(load, 1, LOAD_MILLI_MAX, &load_milli, err)) < 0 ||
            (rc = doc_u32(doc_get(map, "mean_life"), 1, LIFE_MAX, &work->mean_life, err)) < 0 ||
            (rc = doc_u32(doc_get(map, "warmup_lives"), 0, LIVES_MAX, &work->warmup_lives,
                          err)) < 0)
                return rc;
        work->load_milli = (uint32_t)load_milli;
        return doc_u32(doc_get(map, "measure_lives"), 1, LIVES_MAX, &work->measure_lives, err);
}

static int read_arrivals(const struct doc_node *map, struct scenario_workload *work,
                         struct err *err)
{
        static const char *const names[] = {
                [ARRIVALS_SHUFFLED] = "shuffled", [ARRIVALS_POISSON] = "poisson",
        };
        const struct doc_node *node = doc_get(map, "arrivals");
        bool is_openb = work->source == WORKLOAD_OPENB;
        unsigned arrivals = is_openb ? ARRIVALS_SHUFFLED : ARRIVALS_POISSON;
        int rc = doc_choice(node, names, ARRAY_LEN(names), &arrivals, err);

        if (rc < 0)
                return rc;
        work->arrivals = (enum workload_arrivals)arrivals;
        if (work->arrivals == ARRIVALS_POISSON)
                return read_poisson(map, work, err);
        if (!is_openb)
                return doc_fail(node, err, "'shuffled' goes with openb_pods only; write poisson");
        return read_shuffled(map, work, err);
}

/* ---- all of it ---- */

static int read_source(const struct reader *reader, const struct doc_node *map, struct err *err)
{
        static const char *const sources[] = {"openb_pods", "mix", "tasks", "jobs_csv", "sacct"};
        const struct doc_node *found = NULL;

        for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
                const struct doc_node *node = doc_get(map, sources[i]);
                if (node && found)
                        return doc_fail(node, err, "stands beside '%s'; leave one of the two out",
                                        doc_key(found));
                if (node)
                        found = node;
        }
        if (!found)
                return doc_fail(map, err,
                                "says not what arrives; write one of openb_pods, mix, tasks, "
                                "jobs_csv and sacct");
        if (str_equal(doc_key(found), "mix"))
                return read_mix(reader, found, err);
        if (str_equal(doc_key(found), "tasks"))
                return read_tasks(reader, found, err);
        if (!str_equal(doc_key(found), "openb_pods"))
                return scenario_read_jobs(reader, map, found, err);
        reader->scenario->workload.source = WORKLOAD_OPENB;
        return scenario_read_path(reader, found, reader->scenario->workload.openb_pods, err);
}

int scenario_read_workload(const struct reader *reader, const struct doc_node *root,
                           struct err *err)
{
        static const char *const keys[] = {
                "openb_pods", "mix", "tasks", "interference", "arrivals", "arrive_pct", "load",
                "mean_life", "warmup_lives", "measure_lives", HISTORY_KEYS,
        };
        static const char *const history_keys[] = {HISTORY_KEYS};
        static const char *const task_keys[] = {"interference"};
        struct scenario_workload *work = &reader->scenario->workload;
        const struct doc_node *map;
        int rc;

        if ((rc = doc_need(root, "workload", &map, err)) < 0 ||
            (rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = read_source(reader, map, err)) < 0 ||
            (rc = read_methods(reader, root, err)) < 0)
                return rc;
        if (scenario_is_history(reader->scenario))
                return 0;
        if ((rc = scenario_refuse_keys(map, history_keys, ARRAY_LEN(history_keys),
                                       "goes with workload.jobs_csv and workload.sacct only; leave "
                                       "it out",
                                       err)) < 0 ||
            (rc = read_arrivals(map, work, err)) < 0)
                return rc;
        if (work->source != WORKLOAD_TASKS)
                return scenario_refuse_keys(map, task_keys, 1,
                                            "goes with workload.tasks only; leave it out", err);
        if ((rc = check_mixed(reader, doc_get(map, "tasks"), err)) < 0)
                return rc;
        return read_interference(reader, map, err);
}
