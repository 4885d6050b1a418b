#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "sim/pool.h"
#include "sim/rng.h"
#include "sim/runner.h"
#include "tests/property/renamed.h"
#include "tests/scratch.h"
#include "tests/unit/check.h"

static char folder[SCRATCH_MAX];

static int open_folder(void **state)
{
        (void)state;
        return scratch_folder(folder, sizeof folder, "pool") ? 0 : -1;
}

static int close_folder(void **state)
{
        (void)state;
        return rmdir(folder);
}

/* A pool and its pods, by way of two files. */
struct lists {
        struct replay_pool pool;
        struct replay_pods pods;
};

static void load(const char *nodes, const char *pods, struct lists *ret_lists)
{
        struct scenario_pool spec = {.source = POOL_OPENB};
        char pods_path[sizeof folder + 16];
        struct err err = {0};

        memset(ret_lists, 0, sizeof *ret_lists);
        snprintf(spec.openb_nodes, sizeof spec.openb_nodes, "%s/nodes.csv", folder);
        snprintf(pods_path, sizeof pods_path, "%s/pods.csv", folder);
        if (file_write(spec.openb_nodes, nodes, strlen(nodes), &err) ||
            file_write(pods_path, pods, strlen(pods), &err) ||
            replay_pool_load(&spec, NULL, pods_path, &ret_lists->pool, &err) ||
            replay_pods_load(pods_path, &ret_lists->pool, &ret_lists->pods, &err))
                fail_msg("%s", err.text);
        unlink(spec.openb_nodes);
        unlink(pods_path);
}

static void done(struct lists *lists)
{
        replay_pods_done(&lists->pods);
        replay_pool_done(&lists->pool);
}

static void check_same(const struct lists *a, const struct lists *b, uint64_t seed)
{
        assert_int_equal(a->pool.nodes_count, b->pool.nodes_count);
        assert_int_equal(a->pool.devices, b->pool.devices);
        assert_int_equal(a->pods.count, b->pods.count);
        for (uint32_t n = 0; n < a->pool.nodes_count; n++) {
                const struct replay_node *x = &a->pool.nodes[n], *y = &b->pool.nodes[n];
                if (x->model != y->model || x->devices != y->devices ||
                    x->cpu_milli != y->cpu_milli || x->ram_mib != y->ram_mib)
                        fail_msg("seed %llu: node %u is %s (model %u) in one and %s (model %u) in "
                                 "the other", (unsigned long long)seed, n, x->name, x->model,
                                 y->name, y->model);
        }
        for (uint32_t p = 0; p < a->pods.count; p++)
                if (memcmp(&a->pods.needs[p], &b->pods.needs[p], sizeof *a->pods.needs))
                        fail_msg("seed %llu: pod %u allows models %#llx in one and %#llx in the "
                                 "other", (unsigned long long)seed, p,
                                 (unsigned long long)a->pods.needs[p].models,
                                 (unsigned long long)b->pods.needs[p].models);
}

static void check_renamed(const char *nodes_text, const char *pods_text, uint64_t seed)
{
        struct openb_nodes nodes = {0};
        struct openb_pods pods = {0};
        struct lists plain, renamed;
        char *texts[2];
        struct err err = {0};

        if (openb_nodes_parse("n", nodes_text, strlen(nodes_text), &nodes, &err) ||
            openb_pods_parse("p", pods_text, strlen(pods_text), &pods, &err))
                fail_msg("%s", err.text);
        load(nodes_text, pods_text, &plain);
        for (uint64_t i = 0; i < 4; i++) {
                assert_int_equal(renamed_write(&nodes, &pods, false, seed * 8 + i, &texts[0],
                                               &texts[1]), 0);
                load(texts[0], texts[1], &renamed);
                check_same(&plain, &renamed, seed);
                done(&renamed);
                mem_free(texts[0]);
                mem_free(texts[1]);
        }
        done(&plain);
        openb_nodes_done(&nodes);
        openb_pods_done(&pods);
}

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"

static void names_and_order_mean_nothing(void **state)
{
        (void)state;
        check_renamed(NODES "a,64000,262144,2,P100\n"
                            "b,96000,393216,8,T4\n"
                            "c,96000,393216,8,V100\n"
                            "d,32000,131072,0,\n"
                            "e,96000,393216,8,T4\n",
                      PODS "p,4000,8192,1,500,\n"
                           "q,4000,8192,1,1000,T4|V100\n"
                           "r,8000,8192,2,1000,V100\n"
                           "s,8000,8192,0,0,\n", 1);
}

/* Their nodes are alike: only what pods say of them tells the models apart. */
static void models_are_told_apart_by_their_pods(void **state)
{
        (void)state;
        check_renamed(NODES "a,64000,262144,4,X\n"
                            "b,64000,262144,4,Y\n"
                            "c,64000,262144,4,Z\n",
                      PODS "p,4000,8192,1,1000,X\n"
                           "q,5000,8192,1,1000,Y\n"
                           "r,4000,8192,1,1000,Z\n"
                           "s,6000,8192,1,1000,Z\n", 2);
}

/* A goes with C, B with D; all four have equal nodes, and only C is named in a pod of its own. */
static void models_are_told_apart_by_their_company(void **state)
{
        (void)state;
        check_renamed(NODES "a,64000,262144,4,A\n"
                            "b,64000,262144,4,B\n"
                            "c,64000,262144,4,C\n"
                            "d,64000,262144,4,D\n",
                      PODS "p,4000,8192,1,1000,A|C\n"
                           "q,4000,8192,1,1000,B|D\n"
                           "r,6000,8192,1,1000,C\n", 3);
}

static unsigned below(struct rng *rng, unsigned n)
{
        return (unsigned)rng_below(rng, n);
}

static void draw_lists(struct rng *rng, char *nodes, char *pods, size_t size)
{
        static const char *const names[] = {"A", "B", "C", "D"};
        unsigned nodes_count = 2 + below(rng, 6), pods_count = 1 + below(rng, 8);
        size_t at = (size_t)snprintf(nodes, size, NODES);

        for (unsigned n = 0; n < nodes_count; n++) {
                unsigned devices = n == 0 ? 1 : below(rng, 3), cpu = 32000 * (1 + below(rng, 2));
                unsigned model = below(rng, 4);
                at += (size_t)snprintf(nodes + at, size - at, "n%u,%u,65536,%u,%s\n", n, cpu,
                                       devices, devices ? names[model] : "");
        }
        at = (size_t)snprintf(pods, size, PODS);
        for (unsigned p = 0; p < pods_count; p++) {
                unsigned cpu = 1000 * (1 + below(rng, 2)), milli = 500 * (1 + below(rng, 2));
                unsigned set = below(rng, 16), named = 0;
                at += (size_t)snprintf(pods + at, size - at, "p%u,%u,1024,1,%u,", p, cpu, milli);
                for (unsigned m = 0; m < 4; m++)
                        if (set >> m & 1)
                                at += (size_t)snprintf(pods + at, size - at, "%s%s",
                                                       named++ ? "|" : "", names[m]);
                at += (size_t)snprintf(pods + at, size - at, "\n");
        }
}

static void random_lists_have_one_canonical_form(void **state)
{
        (void)state;
        for (uint64_t seed = 10; seed < 410; seed++) {
                char nodes[2048], pods[2048];
                struct rng rng;
                rng_init(&rng, seed);
                draw_lists(&rng, nodes, pods, sizeof nodes);
                check_renamed(nodes, pods, seed);
        }
}

static void bad_node_lists_are_refused_with_their_place(void **state)
{
        (void)state;
        struct scenario_pool spec = {.source = POOL_OPENB};
        struct replay_pool pool;
        struct err err = {0};
        char many[4096];
        size_t at = (size_t)snprintf(many, sizeof many, NODES);

        for (int i = 0; i < 64; i++)
                at += (size_t)snprintf(many + at, sizeof many - at, "n%d,1,1,1,M%d\n", i, i);
        const char *const rows[][2] = {
                {NODES "a,1,1,1,A\nb,1,1,1,a\n",
                 "nodes.csv:3: column 'model': 'a' stood above as 'A'"},
                {many, "nodes.csv:65: column 'model': 'M63' is one device model too many"},
                {NODES "a,1,1,0,\n", "nodes.csv: no node has a device"},
        };
        snprintf(spec.openb_nodes, sizeof spec.openb_nodes, "%s/nodes.csv", folder);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(file_write(spec.openb_nodes, rows[i][0], strlen(rows[i][0]), &err),
                                 0);
                if (replay_pool_load(&spec, NULL, NULL, &pool, &err) == 0)
                        fail_msg("not refused: %s", rows[i][1]);
                check_has(err.text, rows[i][1]);
        }
        unlink(spec.openb_nodes);
}

/* Every request of its own kind: each is decided, none refused for lack of room in a table. */
static void many_kinds_of_request_are_all_decided(void **state)
{
        (void)state;
        struct lists lists;
        struct runner *runner = mem_new(1, sizeof *runner);
        struct err err = {0};
        uint64_t id;

        assert_non_null(runner);
        load(NODES "a,4096000,67108864,1,A\n", PODS "p,1,1,1,1000,\n", &lists);
        assert_int_equal(runner_init(runner, &lists.pool, 1,
                                     (struct policy){.kind = POLICY_FIRST_FIT}, NULL, false, NULL,
                                     &err), 0);
        for (uint32_t kind = 1; kind <= 6000; kind++) {
                struct need need = lists.pods.needs[0];
                need.cpu_milli = kind;
                if (runner_submit(runner, &need, 0, &id, &err) != 1)
                        fail_msg("request %u was not placed: %s", kind, err.text);
                assert_int_equal(runner_exit(runner, id, 0, &err), 0);
        }
        runner_done(runner);
        mem_free(runner);
        done(&lists);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_and_order_mean_nothing),
                cmocka_unit_test(models_are_told_apart_by_their_pods),
                cmocka_unit_test(models_are_told_apart_by_their_company),
                cmocka_unit_test(bad_node_lists_are_refused_with_their_place),
                cmocka_unit_test(many_kinds_of_request_are_all_decided),
                cmocka_unit_test(random_lists_have_one_canonical_form),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
