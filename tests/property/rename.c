/* rename - names and order of rows mean nothing: the published lists, renamed and shuffled, fill a
 * pool to exactly the same figure.
 *
 * rename [LISTS]       of the lists, so many: as with `quality`.
 *
 * Placement auto with the planner, one seed, 100 % arrived. Needs BERTH_DATA with openb/ in it;
 * exits with 77 (skipped) where there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "plan/plan.h"
#include "proto/model_doc.h"
#include "proto/scenario.h"
#include "sim/replay.h"
#include "tests/property/data.h"
#include "tests/property/renamed.h"
#include "tests/scratch.h"

enum { SKIPPED = 77, RENAME_SEED = 1 };

static char folder[SCRATCH_MAX];

struct figure {
        double unallocated_pct;
        uint64_t accepted, refused;
        bool priced;
};

static void path_in(char *ret_path, size_t size, const char *name)
{
        snprintf(ret_path, size, "%s/%s", folder, name);
}

static void unlink_lists(void)
{
        char path[256];

        path_in(path, sizeof path, "nodes.csv");
        unlink(path);
        path_in(path, sizeof path, "pods.csv");
        unlink(path);
}

static int replay(const struct model_table *models, struct figure *ret_figure, struct err *err)
{
        static const char text[] = "kind: Replay\n"
                                   "name: renamed\n"
                                   "pool: {openb_nodes: nodes.csv}\n"
                                   "workload: {openb_pods: pods.csv, arrive_pct: 100}\n"
                                   "demand: same\n"
                                   "placements: [auto]\n"
                                   "seeds: 42..42\n"
                                   "report_at_pct: [100]\n";
        struct scenario *scenario = mem_new(1, sizeof *scenario);
        struct replay_result *result = mem_new(1, sizeof *result);
        struct planner *planner = planner_new();
        struct replay_hooks hooks = {.make_plan = plan_make, .plan_arg = planner};
        char path[256];
        int rc = -ERR_NOMEM;

        path_in(path, sizeof path, "rename.yaml");
        if (scenario && result && planner)
                rc = scenario_decode(path, text, strlen(text), scenario, err);
        if (rc == 0)
                rc = replay_run_scenario(scenario, models, &hooks, result, err);
        if (rc == 0)
                *ret_figure = (struct figure){
                        .unallocated_pct = result->runs[0].points[0].unallocated_pct.mean,
                        .accepted = result->runs[0].accepted,
                        .refused = result->runs[0].refused,
                        .priced = result->runs[0].plan_priced};
        planner_free(planner);
        mem_free(result);
        mem_free(scenario);
        return rc;
}

static int run_one(const struct model_table *models, const struct openb_nodes *nodes,
                   const struct openb_pods *pods, bool plain, uint64_t seed,
                   struct figure *ret_figure, struct err *err)
{
        char *texts[2] = {NULL, NULL}, path[256];
        int rc = renamed_write(nodes, pods, plain, seed, &texts[0], &texts[1]);

        if (rc)
                return err_set(err, ERR_NOMEM, "the renamed lists could not be made");
        path_in(path, sizeof path, "nodes.csv");
        rc = file_write(path, texts[0], strlen(texts[0]), err);
        path_in(path, sizeof path, "pods.csv");
        if (rc == 0)
                rc = file_write(path, texts[1], strlen(texts[1]), err);
        if (rc == 0)
                rc = replay(models, ret_figure, err);
        mem_free(texts[0]);
        mem_free(texts[1]);
        unlink_lists();
        return rc;
}

static bool check_list(const char *data, const struct model_table *models, const char *list)
{
        struct openb_nodes nodes = {0};
        struct openb_pods pods = {0};
        struct figure plain = {0}, renamed = {0};
        char path[4096];
        struct err err = {0};

        snprintf(path, sizeof path, "%sopenb_node_list_gpu_node.csv", data);
        int rc = openb_nodes_read(path, &nodes, &err);
        snprintf(path, sizeof path, "%sopenb_pod_list_%s.csv", data, list);
        if (rc == 0)
                rc = openb_pods_read(path, &pods, &err);
        if (rc == 0)
                rc = run_one(models, &nodes, &pods, true, 0, &plain, &err);
        if (rc == 0)
                rc = run_one(models, &nodes, &pods, false, RENAME_SEED, &renamed, &err);
        bool good = rc == 0 && renamed.unallocated_pct == plain.unallocated_pct &&
                    renamed.accepted == plain.accepted && renamed.priced == plain.priced;
        if (rc == 0)
                printf("%s: %.6f %% unallocated as published, %.6f %% renamed (seed %d), %s: %s\n",
                       list, plain.unallocated_pct, renamed.unallocated_pct, RENAME_SEED,
                       plain.priced ? "prices decide" : "fragments decide",
                       good ? "equal" : "NOT EQUAL: some decision hangs on names or order");
        else
                printf("%s: %s\n", list, err.text);
        openb_nodes_done(&nodes);
        openb_pods_done(&pods);
        return good;
}

int main(int argc, char **argv)
{
        static const char *const lists[] = {"default", "gpuspec33"};
        size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : ARRAY_LEN(lists);
        char data[DATA_PATH_MAX];
        struct err err = {0};

        if (!data_openb("", data))
                return SKIPPED;
        struct model_table *models = model_table_new();
        if (!models || model_doc_builtin(models, &err) ||
            !scratch_folder(folder, sizeof folder, "rename")) {
                printf("the test could not begin: %s\n", err.text);
                return 1;
        }
        bool good = true;
        for (size_t i = 0; i < count && i < ARRAY_LEN(lists); i++)
                good &= check_list(data, models, lists[i]);
        rmdir(folder);
        model_table_free(models);
        return good ? 0 : 1;
}
