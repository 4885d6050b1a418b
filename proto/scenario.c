#include "proto/scenario.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "proto/model_doc.h"
#include "proto/scenario_impl.h"

#define NODES_MAX 1000000               /* of an equal pool; the engine has bounds of its own */
#define SEED_MAX  INT64_MAX             /* a whole number to every reader of JSON */

const char *const scenario_method_names[TASK_METHODS_END] = {
        [TASK_WHOLE] = "whole",
        [TASK_SLICE] = "slice",
        [TASK_SHARE] = "share",
        [TASK_MIXED] = "mixed",
};

const char *task_method_name(enum task_method method)
{
        return scenario_method_names[method];
}

bool scenario_is_history(const struct scenario *scenario)
{
        return scenario->workload.source == WORKLOAD_JOBS_CSV ||
               scenario->workload.source == WORKLOAD_SACCT;
}

bool scenario_has_policy(const struct scenario *scenario)
{
        for (uint32_t p = 0; p < scenario->policies_count; p++)
                if (scenario->policies[p].rule > RULE_SHORTEST_SKIP)
                        return true;
        return false;
}

int scenario_read_path(const struct reader *reader, const struct doc_node *node,
                       char ret_path[SCENARIO_PATH_MAX], struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, SCENARIO_PATH_MAX - 1, &text, err);

        if (rc < 0 || !text)
                return rc;
        char *path = file_beside(reader->scenario->file, text);
        if (!path)
                return err_set(err, ERR_NOMEM, "%s: out of memory", reader->scenario->file);
        bool fits = str_copy(ret_path, SCENARIO_PATH_MAX, path);
        mem_free(path);
        if (!fits)
                return doc_fail(node, err,
                                "with the document's folder in front, the path has more than %d "
                                "bytes; write a shorter one",
                                SCENARIO_PATH_MAX - 1);
        return 0;
}

int scenario_refuse_keys(const struct doc_node *map, const char *const *keys, size_t count,
                         const char *sentence, struct err *err)
{
        for (size_t i = 0; i < count; i++)
                if (doc_get(map, keys[i]))
                        return doc_fail(doc_get(map, keys[i]), err, "%s", sentence);
        return 0;
}

/* ---- pool ---- */

static int read_uniform(struct reader *reader, const struct model_table *models,
                        const struct doc_node *map, struct err *err)
{
        struct scenario_pool *pool = &reader->scenario->pool;
        const struct doc_node *devices, *name;
        uint32_t devices_count = 0;
        uint64_t cpu_milli = CPU_MILLI_MAX, ram_mib = RAM_MIB_MAX;
        int rc;

        if ((rc = doc_u32(doc_get(map, "nodes"), 1, NODES_MAX, &pool->nodes, err)) < 0 ||
            (rc = doc_need(map, "devices_per_node", &devices, err)) < 0 ||
            (rc = doc_u32(devices, 1, NODE_DEVICES_MAX, &devices_count, err)) < 0 ||
            (rc = doc_need(map, "model", &name, err)) < 0 ||
            (rc = doc_copy(name, pool->model, sizeof pool->model, err)) < 0 ||
            (rc = doc_cpu_milli(doc_get(map, "cpu"), 1, CPU_MILLI_MAX, &cpu_milli, err)) < 0 ||
            (rc = doc_size_mib(doc_get(map, "ram"), 1, RAM_MIB_MAX, &ram_mib, err)) < 0)
                return rc;
        int id = model_find(models, pool->model, err);
        if (id < 0) {
                doc_blame(name, err);
                return id;
        }
        reader->model = model_get(models, (unsigned)id);
        pool->source = POOL_UNIFORM;
        pool->devices_per_node = (uint8_t)devices_count;
        pool->cpu_milli = (uint32_t)cpu_milli;
        pool->ram_mib = (uint32_t)ram_mib;
        return 0;
}

static int read_pool(struct reader *reader, const struct model_table *models,
                     const struct doc_node *root, struct err *err)
{
        static const char *const keys[] = {
                "openb_nodes", "nodes", "devices_per_node", "model", "cpu", "ram", "prices",
                "currency",
        };
        struct scenario_pool *pool = &reader->scenario->pool;
        const struct doc_node *map;
        int rc;

        if ((rc = doc_need(root, "pool", &map, err)) < 0 ||
            (rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0)
                return rc;
        const struct doc_node *list = doc_get(map, "openb_nodes");
        if (!list && !doc_get(map, "nodes"))
                return doc_fail(map, err,
                                "describes no nodes; write {openb_nodes: FILE} or {nodes: 100, "
                                "devices_per_node: 8, model: A100-40}");
        if (!list)
                return read_uniform(reader, models, map, err);
        pool->source = POOL_OPENB;
        rc = scenario_refuse_keys(map, keys + 1, ARRAY_LEN(keys) - 1,
                                  "stands beside 'openb_nodes', which describes the nodes already; "
                                  "leave one of the two out",
                                  err);
        return rc < 0 ? rc : scenario_read_path(reader, list, pool->openb_nodes, err);
}

/* ---- demand ---- */

static int read_demand(const struct reader *reader, const struct doc_node *root, struct err *err)
{
        static const char *const words[] = {
                [DEMAND_SAME] = "same", [DEMAND_LEARNED] = "learned", [DEMAND_OPENB] = "none",
        };
        static const char *const keys[] = {"openb_pods"};
        struct scenario *scenario = reader->scenario;
        const struct doc_node *node = doc_get(root, "demand"), *pods;
        bool is_openb = scenario->workload.source == WORKLOAD_OPENB;
        unsigned word = is_openb ? DEMAND_SAME : DEMAND_OPENB;
        int rc;

        if (scenario_is_history(scenario)) {
                scenario->demand = DEMAND_LEARNED;
                return node ? doc_fail(node, err,
                                       "is learned from the history itself; leave it out")
                            : 0;
        }
        if (node && doc_kind(node) == DOC_MAP) {
                if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
                    (rc = doc_need(node, "openb_pods", &pods, err)) < 0 ||
                    (rc = scenario_read_path(reader, pods, scenario->demand_pods, err)) < 0)
                        return rc;
                scenario->demand = DEMAND_OPENB;
        } else {
                if ((rc = doc_choice(node, words, ARRAY_LEN(words), &word, err)) < 0)
                        return rc;
                scenario->demand = word == DEMAND_OPENB ? DEMAND_NONE : (enum demand_source)word;
        }
        if (!is_openb && scenario->demand != DEMAND_NONE)
                return doc_fail(node, err,
                                "an expected demand is used for 'openb_pods' only; write none or "
                                "leave it out");
        return 0;
}

/* ---- placements and seeds ---- */

static int add_placement(struct scenario *scenario, const char *text, struct err *err)
{
        struct policy policy = {0};
        bool consolidates = scenario_is_history(scenario) && str_equal(text, "consolidate");
        int rc = consolidates ? 0 : policy_parse(text, &policy, err);
        char show[STR_SHOW_MAX];

        if (rc < 0)
                return rc;
        for (uint32_t i = 0; i < scenario->placements_count; i++)
                if (scenario->placements[i].kind == policy.kind &&
                    scenario->placements[i].seed == policy.seed &&
                    scenario->consolidates[i] == consolidates)
                        return err_set(err, ERR_INPUT, "placement '%s' stands twice; name it once",
                                       str_show(text, show));
        if (scenario->placements_count == SCENARIO_PLACEMENTS_MAX)
                return err_set(err, ERR_RANGE, "there are more than %d placements; name fewer",
                               SCENARIO_PLACEMENTS_MAX);
        scenario->consolidates[scenario->placements_count] = consolidates;
        scenario->placements[scenario->placements_count++] = policy;
        return 0;
}

static int read_placements(struct scenario *scenario, const struct doc_node *root,
                           struct err *err)
{
        const struct doc_node *list = doc_get(root, "placements");
        int rc;

        if (!list)
                return add_placement(scenario,
                                     scenario_is_history(scenario) ? "consolidate"
                                                                   : policy_name(POLICY_AUTO),
                                     err);
        if ((rc = doc_check_list(list, 1, SCENARIO_PLACEMENTS_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, list) {
                const char *text = NULL;
                if ((rc = doc_text(node, 1, SCENARIO_PATH_MAX, &text, err)) < 0)
                        return rc;
                if ((rc = add_placement(scenario, text, err)) < 0) {
                        doc_blame(node, err);
                        return rc;
                }
        }
        return 0;
}

int scenario_parse_placements(const char *text, struct scenario *scenario, struct err *err)
{
        struct scenario trial = *scenario;
        char word[64];

        trial.placements_count = 0;
        for (;;) {
                size_t length = strcspn(text, ",");
                int rc;
                if (length == 0)
                        return err_set(err, ERR_INPUT,
                                       "an empty placement; write for example auto,fgd,best-fit");
                /* What is too long for any name is cut and then not found, which says it best. */
                size_t kept = length < sizeof word ? length : sizeof word - 1;
                memcpy(word, text, kept);
                word[kept] = '\0';
                if ((rc = add_placement(&trial, word, err)) < 0)
                        return rc;
                if (text[length] == '\0')
                        break;
                text += length + 1;
        }
        *scenario = trial;
        return 0;
}

static int parse_seed(const char *text, size_t length, uint64_t *ret_seed, struct err *err)
{
        char number[32];
        size_t kept = length < sizeof number ? length : sizeof number - 1;

        memcpy(number, text, kept);
        number[kept] = '\0';
        return num_u64(number, 0, SEED_MAX, ret_seed, err);
}

int scenario_parse_seeds(const char *text, struct scenario *scenario, struct err *err)
{
        const char *dots = strstr(text, "..");
        uint64_t first, last;
        int rc = parse_seed(text, dots ? (size_t)(dots - text) : strlen(text), &first, err);

        last = first;
        if (rc == 0 && dots)
                rc = parse_seed(dots + 2, strlen(dots + 2), &last, err);
        if (rc < 0)
                return err_prefix(err, "seeds are a number or a range such as 42..51");
        if (last < first)
                return err_set(err, ERR_INPUT,
                               "the seeds run backwards; write %" PRIu64 "..%" PRIu64, last, first);
        if (last - first >= SCENARIO_SEEDS_MAX)
                return err_set(err, ERR_RANGE, "these are more than %d seeds; write fewer",
                               SCENARIO_SEEDS_MAX);
        scenario->seed_first = first;
        scenario->seed_last = last;
        return 0;
}

static int read_seeds(struct scenario *scenario, const struct doc_node *root, struct err *err)
{
        const struct doc_node *node = doc_get(root, "seeds");
        const char *text = "1";
        int rc = doc_text(node, 1, 64, &text, err);

        if (rc < 0)
                return rc;
        rc = scenario_parse_seeds(text, scenario, err);
        if (rc < 0)
                doc_blame(node, err);
        return rc;
}

/* ---- points of the curve ---- */

static void default_points(struct scenario *scenario)
{
        static const uint16_t points[] = {50, 80, 90, 95, 100, 130};
        uint16_t last = scenario->workload.arrive_pct;

        for (size_t i = 0; i < ARRAY_LEN(points) && points[i] <= last; i++)
                scenario->points_pct[scenario->points_count++] = points[i];
        if (scenario->points_count == 0)
                scenario->points_pct[scenario->points_count++] = last;
}

static int read_points(struct scenario *scenario, const struct doc_node *root, struct err *err)
{
        const struct doc_node *list = doc_get(root, "report_at_pct");
        uint32_t before = 0;
        int rc;

        if (scenario->workload.arrivals == ARRIVALS_POISSON)
                return list ? doc_fail(list, err,
                                       "goes with shuffled arrivals only: poisson arrivals are "
                                       "measured over measure_lives; leave it out")
                            : 0;
        if (scenario->workload.arrivals == ARRIVALS_RECORDED)
                return list ? doc_fail(list, err,
                                       "goes with shuffled arrivals only, and those of a history "
                                       "are recorded; leave it out")
                            : 0;
        if (!list) {
                default_points(scenario);
                return 0;
        }
        if ((rc = doc_check_list(list, 1, SCENARIO_POINTS_MAX, err)) < 0)
                return rc;
        DOC_EACH (node, list) {
                uint32_t point = 0;
                if ((rc = doc_u32(node, 1, UINT16_MAX, &point, err)) < 0)
                        return rc;
                if (point <= before)
                        return doc_fail(node, err,
                                        "%u does not rise above the %u before it; write the points "
                                        "from the lowest to the highest",
                                        point, before);
                if (point > scenario->workload.arrive_pct)
                        return doc_fail(node, err,
                                        "%u lies beyond arrive_pct (%u), where arrivals end; leave "
                                        "it out or raise workload.arrive_pct",
                                        point, scenario->workload.arrive_pct);
                scenario->points_pct[scenario->points_count++] = (uint16_t)point;
                before = point;
        }
        return 0;
}

/* ---- the document ---- */

static int read_name(struct scenario *scenario, const struct doc_node *root, struct err *err)
{
        const char *slash = strrchr(scenario->file, '/');
        const char *name = NULL;
        char show[STR_SHOW_MAX];
        int rc = doc_text(doc_get(root, "name"), 1, sizeof scenario->name - 1, &name, err);

        if (rc < 0)
                return rc;
        for (const char *at = name; at && *at; at++)
                if ((unsigned char)*at < 0x20 || *at == 0x7f)
                        return doc_fail(doc_get(root, "name"), err,
                                        "holds a control character; write one line of text");
        /* A file may be called anything; only what can be shown of that goes on. */
        if (!name)
                name = str_show(slash ? slash + 1 : scenario->file, show);
        (void)str_copy(scenario->name, sizeof scenario->name, name);
        return 0;
}

static int read_root(struct reader *reader, const struct model_table *models,
                     const struct doc_node *root, struct err *err)
{
        static const char *const keys[] = {
                "kind", "name", "pool", "workload", "demand", "policies", "placements", "durations",
                "eta", "methods", "seeds", "report_at_pct",
        };
        static const char *const kinds[] = {"Replay"};
        struct scenario *scenario = reader->scenario;
        const struct doc_node *kind;
        unsigned which = 0;
        int rc;

        if ((rc = doc_need(root, "kind", &kind, err)) < 0 ||
            (rc = doc_choice(kind, kinds, ARRAY_LEN(kinds), &which, err)) < 0 ||
            (rc = doc_check_keys(root, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = read_name(scenario, root, err)) < 0 ||
            (rc = read_pool(reader, models, root, err)) < 0 ||
            (rc = scenario_read_workload(reader, root, err)) < 0 ||
            (rc = scenario_read_policies(reader, root, err)) < 0 ||
            (rc = scenario_read_prices(reader, models, root, err)) < 0 ||
            (rc = read_demand(reader, root, err)) < 0 ||
            (rc = read_placements(scenario, root, err)) < 0 ||
            (rc = read_seeds(scenario, root, err)) < 0)
                return rc;
        return read_points(scenario, root, err);
}

int scenario_decode_doc(const char *file, const struct doc *doc, const struct model_table *models,
                        struct scenario *ret_scenario, struct err *err)
{
        assert(file);
        assert(doc);
        assert(models);

        struct scenario *scenario = mem_new(1, sizeof *scenario);
        struct reader reader = {.scenario = scenario};
        int rc;

        if (!scenario)
                return err_set(err, ERR_NOMEM, "%s: out of memory", doc_name(doc));
        if (!str_copy(scenario->file, sizeof scenario->file, file))
                rc = err_set(err, ERR_RANGE, "%s: the path has more than %d bytes; move the file",
                             doc_name(doc), SCENARIO_PATH_MAX - 1);
        else if (doc_count(doc) > 1)
                rc = doc_fail(doc_root(doc, 1), err,
                              "a second document starts here; write one scenario a file");
        else
                rc = read_root(&reader, models, doc_root(doc, 0), err);
        if (rc == 0)
                *ret_scenario = *scenario;
        mem_free(scenario);
        return rc;
}

int scenario_load_with(const char *path, const struct model_table *models,
                       struct scenario *ret_scenario, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_file(path, &doc, err);

        if (rc < 0)
                return rc;
        rc = scenario_decode_doc(path, doc, models, ret_scenario, err);
        doc_free(doc);
        return rc;
}

/* Frees `doc`. */
static int decode_builtin(const char *file, struct doc *doc, struct scenario *ret_scenario,
                          struct err *err)
{
        struct model_table *models = model_table_new();
        int rc = models ? model_doc_builtin(models, err)
                        : err_set(err, ERR_NOMEM, "%s: out of memory", doc_name(doc));

        if (rc == 0)
                rc = scenario_decode_doc(file, doc, models, ret_scenario, err);
        model_table_free(models);
        doc_free(doc);
        return rc;
}

int scenario_load(const char *path, struct scenario *ret_scenario, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_file(path, &doc, err);

        return rc < 0 ? rc : decode_builtin(path, doc, ret_scenario, err);
}

int scenario_decode(const char *file, const char *text, size_t size,
                    struct scenario *ret_scenario, struct err *err)
{
        struct doc *doc;
        int rc = doc_read_yaml(file, text, size, &doc, err);

        return rc < 0 ? rc : decode_builtin(file, doc, ret_scenario, err);
}
