/* fuzz_scenario.c - what is accepted keeps the promises of proto/scenario.h. */
#include <assert.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "proto/scenario.h"
#include "tests/fuzz/known_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scenario scenario;

static void check_text(const char *text, size_t size)
{
        assert(text[0] != '\0');
        assert(memchr(text, '\0', size));
}

/* None, or three capitals. */
static void check_currency(const struct scenario_pool *pool)
{
        if (pool->currency[0] == '\0')
                return;
        for (unsigned i = 0; i < 3; i++)
                assert(pool->currency[i] >= 'A' && pool->currency[i] <= 'Z');
        assert(pool->currency[3] == '\0');
}

static void check_pool(const struct scenario_pool *pool)
{
        if (pool->source == POOL_OPENB) {
                check_text(pool->openb_nodes, sizeof pool->openb_nodes);
                return;
        }
        assert(pool->nodes >= 1);
        assert(pool->devices_per_node >= 1 && pool->devices_per_node <= NODE_DEVICES_MAX);
        assert(model_find(known_models(), pool->model, NULL) >= 0);
        assert(pool->cpu_milli >= 1 && pool->cpu_milli <= CPU_MILLI_MAX);
        assert(pool->ram_mib >= 1 && pool->ram_mib <= RAM_MIB_MAX);
        assert(pool->price_micro <= UINT64_C(1000000000000));
        check_currency(pool);
        if (!scenario_is_history(&scenario))
                assert(pool->price_micro == 0 && pool->currency[0] == '\0');
}

static void check_history(const struct scenario_workload *work)
{
        const struct scenario_history *history = &work->history;

        check_text(history->file, sizeof history->file);
        check_text(history->timezone, sizeof history->timezone);
        assert(work->arrivals == ARRIVALS_RECORDED);
        assert((history->columns[JOB_COLUMN_TENANT][0] != '\0') ==
               (work->source == WORKLOAD_JOBS_CSV));
        assert(history->from_ms < history->until_ms);
        assert(history->limit_factor_milli[0] <= history->limit_factor_milli[1]);
        assert((history->limit_factor_milli[0] >= 1000) == history->has_limit_factor);
        assert((history->checkpoint_every_ms >= 1000) == history->has_checkpoint);
        assert(history->checkpoint_share_pct <= 100);
        assert(scenario.pool.source == POOL_UNIFORM);
        assert(scenario.eta_every <= SCENARIO_ETA_MAX);
        assert(scenario.eta_every == 0 || scenario_has_policy(&scenario));
        assert(scenario.policies_count >= 1 && scenario.policies_count <= SCENARIO_POLICIES_MAX);
        for (uint32_t p = 0; p < scenario.policies_count; p++) {
                const struct scenario_policy *policy = &scenario.policies[p];
                check_text(policy->name, sizeof policy->name);
                assert(policy->rule <= RULE_FILE);
                assert((policy->path[0] != '\0') == (policy->rule == RULE_FILE));
        }
}

static void check_workload(const struct scenario_workload *work)
{
        uint64_t weight = 0;

        if (scenario_is_history(&scenario)) {
                check_history(work);
                return;
        }
        assert(scenario.policies_count == 0);
        assert(scenario.eta_every == 0);
        assert(work->history.file[0] == '\0');
        for (uint32_t i = 0; i < work->mix_count; i++)
                weight += work->mix[i].weight_milli;
        for (uint32_t i = 0; i < work->tasks_count; i++)
                weight += work->tasks[i].weight_milli;
        assert((weight > 0) == (work->source != WORKLOAD_OPENB));
        assert((work->mix_count > 0) == (work->source == WORKLOAD_MIX));
        assert((work->tasks_count > 0) == (work->source == WORKLOAD_TASKS));
        assert((work->openb_pods[0] != '\0') == (work->source == WORKLOAD_OPENB));
        for (uint32_t i = 0; i < work->tasks_count; i++) {
                assert(work->tasks[i].compute_milli >= 1 && work->tasks[i].compute_milli <= 1000);
                assert(work->tasks[i].memory_mib >= 1);
                assert(work->tasks[i].mixed < METHODS_END);
        }
        assert(work->interference.per_neighbour_permille[METHOD_WHOLE] == 0);
        if (work->arrivals == ARRIVALS_POISSON) {
                assert(work->load_milli >= 1 && work->mean_life >= 1 && work->measure_lives >= 1);
        } else {
                assert(work->source == WORKLOAD_OPENB);
                assert(work->arrive_pct >= 1);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct doc *doc;
        struct err err = {0};

        if (doc_read_yaml("f", (const char *)data, size, &doc, &err) < 0)
                return 0;
        int rc = scenario_decode_doc("f", doc, known_models(), &scenario, &err);
        doc_free(doc);
        if (rc < 0) {
                assert(strncmp(err.text, "f:", 2) == 0);
                return 0;
        }
        check_text(scenario.name, sizeof scenario.name);
        check_pool(&scenario.pool);
        check_workload(&scenario.workload);
        assert(scenario.placements_count >= 1);
        assert(scenario.placements_count <= SCENARIO_PLACEMENTS_MAX);
        assert(scenario.seed_last - scenario.seed_first < SCENARIO_SEEDS_MAX);
        assert((scenario.methods_count > 0) == (scenario.workload.source == WORKLOAD_TASKS));
        assert((scenario.points_count > 0) == (scenario.workload.arrivals == ARRIVALS_SHUFFLED));
        for (uint32_t i = 1; i < scenario.points_count; i++)
                assert(scenario.points_pct[i] > scenario.points_pct[i - 1]);
        return 0;
}
