#include "tests/unit/proto/words.h"

#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/workload_doc.h"

static int decode(const char *text, const struct tenancy *tenancy,
                  struct workload_doc **ret_workload, struct err *err)
{
        const struct doc_node *root = NULL;
        struct doc *doc;
        int rc = doc_read_yaml("w.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Workload", &root, err)) == 0)
                rc = workload_doc_decode(root, models, tenancy, vocab, ret_workload, err);
        doc_free(doc);
        return rc;
}

static struct workload_doc *decode_fine(const char *text)
{
        struct workload_doc *workload = NULL;
        struct err err = {0};

        if (decode(text, NULL, &workload, &err) < 0)
                fail_msg("%s", err.text);
        return workload;
}

static void the_job_of_the_manual_is_read(void **state)
{
        (void)state;
        struct workload_doc *job = decode_fine(
                "kind: Workload\nname: llama-sft\ntenant: research/nlp\nclass: training\n"
                "members: 2\n"
                "each: {devices: 8, model: \"H100*\", cpu: 64, ram: 512Gi, network: 100Gb,\n"
                "       disk: 1Ti}\n"
                "near: {require: rack}\n"
                "where: {plane: training, labels: {driver: \">=550\"}}\n"
                "time_limit: 6h\n"
                "checkpoint: {every: 30m, within: 90s, signal: USR1}\n"
                "after: [prepare-data]\narray: 1-100%10\nretries: 2\nhold: true\nstanding: spare\n"
                "start: 2027-01-04T08:00Z\ndata: personal\nspread: node\n"
                "run: {command: [torchrun, train.py, ''], env: {HF_HOME: /data/hf, EMPTY: ''},\n"
                "      secrets: [hf-token], workdir: /home/ana/sft, image: a/b}\n");
        const struct need *need = &job->request.need;
        const struct form *form = &job->request.form;
        uint64_t h100s = 0;
        struct where where;

        assert_int_equal(model_match(models, "H100*", &h100s, NULL), 0);
        assert_string_equal(job->name, "llama-sft");
        assert_string_equal(job->tenant, "research/nlp");
        assert_string_equal(job->class_name, "training");
        assert_string_equal(job->data, "personal");
        assert_true(job->is_held && job->is_spare && !job->is_service);
        assert_int_equal(need->ask, ASK_WHOLE);
        assert_int_equal(need->devices, 8);
        assert_true(need->models == h100s && job->models == h100s);
        assert_int_equal(need->cpu_milli, 64000);
        assert_int_equal(need->ram_mib, 512 * 1024);
        assert_int_equal(need->disk_mib, 1 << 20);
        assert_int_equal(need->network_mbit, 100000);
        assert_int_equal(need->plane, vocab_find(vocab, "training"));
        assert_int_equal(vocab_where_parse(vocab, "driver", ">=550", &where, NULL), 0);
        assert_int_equal(need->where, vocab_wheres(vocab, &where, 1, NULL));
        assert_int_equal(form->members, 2);
        assert_int_equal(form->near, NEAR_RACK);
        assert_int_equal(form->near_required, 1);
        assert_int_equal(form->spread, SPREAD_NODE);
        assert_int_equal(job->method, CLASS_METHODS);
        assert_true(job->time_limit_ms == 6 * 3600000);
        assert_true(job->start_ms == 1799049600000);
        assert_true(job->has_checkpoint && job->checkpoint.every_ms == 1800000);
        assert_true(job->checkpoint.within_ms == 90000);
        assert_string_equal(job->checkpoint.signal, "USR1");
        assert_int_equal(job->after_count, 1);
        assert_string_equal(job->after[0], "prepare-data");
        assert_true(job->array_first == 1 && job->array_last == 100 && job->array_at_once == 10);
        assert_int_equal(job->retries, 2);
        assert_int_equal(job->run.command_count, 3);
        assert_string_equal(job->run.command[1], "train.py");
        assert_string_equal(job->run.command[2], "");
        assert_int_equal(job->run.env_count, 2);
        assert_string_equal(job->run.env_names[0], "HF_HOME");
        assert_string_equal(job->run.env_values[0], "/data/hf");
        assert_string_equal(job->run.secrets[0], "hf-token");
        assert_string_equal(job->run.workdir, "/home/ana/sft");
        assert_string_equal(job->run.image, "a/b");
        workload_doc_free(job);
}

static void a_service_is_read(void **state)
{
        (void)state;
        struct workload_doc *service =
                decode_fine("kind: Workload\nname: chat\ntenant: web\nspread: rack\n"
                            "each: {model: 'NVIDIA H100 80GB HBM3', memory: 40Gi, method: serve}\n"
                            "service: {replicas: 2, port: 8000, ready: /health}\n"
                            "artifact: llama@sha256:abc\ncontext: 8192\nactive_tokens: 200000\n");

        assert_true(service->is_service);
        assert_string_equal(service->class_name, "");
        assert_int_equal(service->method, METHOD_SERVE);
        assert_int_equal(service->spread, SPREAD_RACK);
        assert_int_equal(service->service.replicas, 2);
        assert_int_equal(service->service.port, 8000);
        assert_string_equal(service->service.ready, "/health");
        assert_string_equal(service->artifact, "llama@sha256:abc");
        assert_int_equal(service->context_tokens, 8192);
        assert_int_equal(service->active_tokens, 200000);
        assert_int_equal(__builtin_popcountll(service->models), 1);
        workload_doc_free(service);
}

#define W "kind: Workload\nname: w\ntenant: t\n"

static void what_is_asked_decides_the_form_of_the_need(void **state)
{
        (void)state;
        static const struct {
                const char *each;
                unsigned ask, devices, methods, memory_mib, share_milli;
        } rows[] = {
                {"{cpu: 4}", ASK_NOTHING, 0, 0, 0, 0},
                {"{ram: 4Gi, devices: 0}", ASK_NOTHING, 0, 0, 0, 0},
                {"{devices: 2}", ASK_WHOLE, 2, 0, 0, 0},
                {"{model: T4}", ASK_WHOLE, 1, 0, 0, 0},
                {"{devices: 2, method: whole}", ASK_WHOLE, 2, 0, 0, 0},
                {"{profile: 3g.40gb}", ASK_PROFILE, 1, 0, 0, 0},
                {"{profile: 3G.40GB, method: slice, devices: 2}", ASK_PROFILE, 2, 0, 0, 0},
                {"{memory: 40Gi}", ASK_MEMORY, 1, METHODS_BY_MEMORY, 40960, 0},
                {"{memory: 40Gi, method: whole}", ASK_MEMORY, 1, METHOD_BIT(METHOD_WHOLE), 40960,
                 0},
                {"{memory: 40Gi, method: slice}", ASK_MEMORY, 1, METHOD_BIT(METHOD_SLICE), 40960,
                 0},
                {"{memory: 40Gi, method: share}", ASK_SHARE, 1, 0, 40960, 0},
                {"{share: 0.25}", ASK_SHARE, 1, 0, 0, 250},
                {"{share: 0.25, memory: 8Gi, devices: 2}", ASK_SHARE, 2, 0, 8192, 250},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[256];
                snprintf(text, sizeof text, W "each: %s\n", rows[i].each);
                struct workload_doc *workload = decode_fine(text);
                const struct need *need = &workload->request.need;
                assert_int_equal(need->ask, rows[i].ask);
                assert_int_equal(need->devices, rows[i].devices);
                assert_int_equal(need->methods, rows[i].methods);
                assert_int_equal(need->memory_mib, rows[i].memory_mib);
                assert_int_equal(need->share_milli, rows[i].share_milli);
                workload_doc_free(workload);
        }
}

#define E W "each: {devices: 1}\n"

static void bad_workloads_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"kind: Workload\n", "field 'name' is missing"},
                {"kind: Workload\nname: a b\n", "'a b' is no name"},
                {"kind: Workload\nname: a/b\ntenant: t\n", "holds a '/'"},
                {"kind: Workload\nname: a\n", "field 'tenant' is missing"},
                {"kind: Workload\nname: a\ntenant: t u\n", "'t u' is no name"},
                {W, "field 'each' is missing"},
                {E "clas: x\n", "w.yaml:5: field 'clas': is not known here; did you mean 'class'"},
                {E "standing: protected\n", "'protected' is not known here"},
                {E "hold: maybe\n", "neither true nor false"},
                /* each */
                {W "each: {}\n", "needs nothing"},
                {W "each: {devices: 0}\n", "needs nothing"},
                {W "each: {devices: 17}\n", "write 0 to 16"},
                {W "each: {devices: 0, model: T4}\n", "0 devices, but 'model' says what"},
                {W "each: {model: T5}\n", "w.yaml:4: field 'each.model': "},
                {W "each: {model: 'X*'}\n", "field 'each.model'"},
                {W "each: {profile: 3g.41gb}\n", "'3g.41gb' is no profile of the models asked for; "
                                                 "did you mean '3g.40gb'"},
                {W "each: {profile: 3g.40gb, model: T4}\n",
                 "is no profile of the models asked for"},
                {W "each: {profile: 3g.40gb, memory: 1Gi}\n", "stands beside 'profile'"},
                {W "each: {profile: 3g.40gb, share: 0.5}\n", "stands beside 'profile'"},
                {W "each: {share: 1.5}\n", "out of range"},
                {W "each: {share: 0}\n", "out of range"},
                {W "each: {memory: 40GB}\n", "'40GB' is not a size"},
                {W "each: {devices: 1, method: slice}\n", "'slice' does not go with what is asked"},
                {W "each: {cpu: 1, method: whole}\n", "'whole' does not go with"},
                {W "each: {share: 0.5, method: whole}\n", "'whole' does not go with"},
                {W "each: {profile: 1g.5gb, method: share}\n", "'share' does not go with"},
                {W "each: {devices: 1, method: mps}\n", "'mps' is not known here"},
                {W "each: {devices: 1, cpus: 4}\n", "did you mean 'cpu'"},
                {W "each: {devices: 1, ram: 65Ti}\n", "out of range"},
                /* form */
                {E "members: 0\n", "write 1 to 4096"},
                {E "members: 4097\n", "write 1 to 4096"},
                {E "near: rack\n", "is a single value; write a map"},
                {E "near: {}\n", "takes one of the two"},
                {E "near: {require: rack, prefer: node}\n", "takes one of the two"},
                {E "near: {require: room}\n", "'room' is not known here"},
                {E "spread: block\n", "'block' is not known here"},
                {E "where: {planes: a}\n", "did you mean 'plane'"},
                {E "where: {labels: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}}\n",
                 "has 9 conditions"},
                {E "where: {labels: {driver: '>='}}\n",
                 "field 'where.labels.driver': a name is empty"},
                /* the rest */
                {E "time_limit: 6\n", "'6'"},
                {E "time_limit: 0\n", "out of range"},
                {E "start: tomorrow\n", "'tomorrow' is no time with a zone"},
                {E "checkpoint: {}\n", "says not when one is made"},
                {E "checkpoint: {signal: USR1}\n", "field 'within' is missing"},
                {E "checkpoint: {within: 90s}\n", "field 'signal' is missing"},
                {E "checkpoint: {signal: KILL, within: 90s}\n", "'KILL' is not known here"},
                {E "checkpoint: {signal: USR1, within: 61m}\n", "out of range"},
                {E "after: x\n", "is a single value; write a list"},
                {E "after: [w]\n", "is this workload itself"},
                {E "after: [x, x]\n", "stands twice"},
                {E "array: 5\n", "is no range"},
                {E "array: 5-1\n", "has no task"},
                {E "array: 0-0\n", "has no task"},
                {E "array: 0-10000\n", "more than 10000 tasks"},
                {E "array: 1-10%0\n", "lets 0 run at once"},
                {E "array: 1-x\n", "'x' is not a whole number"},
                {E "array: 1-\n", "is empty"},
                {E "retries: 101\n", "write 0 to 100"},
                {E "run: {command: train.py}\n", "is a single value; write a list"},
                {E "run: {command: []}\n", "has 0 entries"},
                {E "run: {command: ['']}\n", "begins with an empty word"},
                {E "run: {env: {1A: x}}\n", "is no name of a variable"},
                {E "run: {env: {BERTH_RANK: x}}\n", "which the agent sets"},
                {E "run: {secrets: ['']}\n", "is empty"},
                {E "run: {workdir: home}\n", "does not start with '/'"},
                {E "run: {cmd: [x]}\n", "is not known here; known: 'command'"},
                {E "service: {}\n", "field 'port' is missing"},
                {E "service: {port: 65536}\n", "write 1 to 65535"},
                {E "service: {port: 1, replicas: 0}\n", "write 1 to 4096"},
                {E "service: {port: 1, ready: health}\n", "does not start with '/'"},
                {E "service: {port: 1}\ntime_limit: 1h\n", "goes with a job, which ends"},
                {E "service: {port: 1}\narray: 1-2\n", "goes with a job"},
                {E "context: 1\n", "goes with a service"},
                {W "each: {devices: 1, method: serve}\n", "method 'serve' is for a service"},
                {W "each: {devices: 1, method: serve}\nservice: {port: 1}\n",
                 "field 'artifact' is missing"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct workload_doc *workload = NULL;
                struct err err = {0};
                if (decode(rows[i].text, NULL, &workload, &err) == 0)
                        fail_msg("row %zu was taken: %s", i, rows[i].text);
                assert_null(workload);
                check_has(err.text, "w.yaml:");
                check_has(err.text, rows[i].sentence);
        }
}

static void names_are_held_against_the_policy(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"tenant: research\nclass: training\ndata: secret\n", NULL},
                {"tenant: reserch\nclass: training\n",
                 "the policy has no tenant 'reserch'; did you "
                 "mean 'research'"},
                {"tenant: research\nclass: traning\n",
                 "the policy has no class 'traning'; did you"},
                {"tenant: research\n",
                 "the policy has no default_class; add it; known: 'interactive', 'training', "
                 "'batch'"},
                {"tenant: research\nclass: batch\ndata: open\n", "no data label 'open'; "},
                {"tenant: research\nclass: batch\nrun: {secrets: [hf-token, a/b]}\n",
                 "is no name of a secret; write"},
                {"tenant: research\nclass: batch\nrun: {secrets: [hf-token]}\n", NULL},
        };
        const char *policy_text = "kind: Policy\npreset: equal\ndata: {secret: {}}\n"
                                  "tenants: {research: {}}\n";
        struct policy_doc *policy = NULL;
        struct err err = {0};
        struct doc *doc;

        if (doc_read_yaml("p", policy_text, strlen(policy_text), &doc, &err) < 0 ||
            policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct workload_doc *workload = NULL;
                char text[256];
                snprintf(text, sizeof text, "kind: Workload\nname: w\n%seach: {devices: 1}\n",
                         rows[i].text);
                int rc = decode(text, policy->tenancy, &workload, &err);
                assert_int_equal(rc < 0, rows[i].sentence != NULL);
                if (rc < 0)
                        check_has(err.text, rows[i].sentence);
                workload_doc_free(workload);
        }
        policy_doc_free(policy);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct workload_doc *workload = NULL;
                struct err err = {0};
                mem_fail_at(n);
                int rc = decode(E "run: {command: [a], env: {B: c}}\n", NULL, &workload, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                workload_doc_free(workload);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        return;
                }
                assert_true(rc < 0);
        }
}

static void secrets_have_names_that_a_node_may_hold(void **state)
{
        (void)state;
        char longest[WORKLOAD_SECRET_MAX + 2];
        static const struct {
                const char *name;
                bool fits;
        } rows[] = {
                {"hf-token", true}, {"a", true},      {"A_b.c-9", true}, {"a..b", true},
                {"", false},        {".", false},     {"..", false},     {".hidden", false},
                {"a/b", false},     {"../a", false},  {"/a", false},     {"a b", false},
                {"a\n", false},     {"\xc3\xa4", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(workload_is_secret(rows[i].name), rows[i].fits);
        memset(longest, 'a', sizeof longest - 1);
        longest[WORKLOAD_SECRET_MAX + 1] = '\0';
        assert_false(workload_is_secret(longest));
        longest[WORKLOAD_SECRET_MAX] = '\0';
        assert_true(workload_is_secret(longest));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(secrets_have_names_that_a_node_may_hold),
                cmocka_unit_test(the_job_of_the_manual_is_read),
                cmocka_unit_test(a_service_is_read),
                cmocka_unit_test(what_is_asked_decides_the_form_of_the_need),
                cmocka_unit_test(bad_workloads_are_refused_with_place_and_way_out),
                cmocka_unit_test(names_are_held_against_the_policy),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
