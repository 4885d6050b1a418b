#include "proto/request_of_workload.h"

#include "base/doc.h"
#include "base/err.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "tests/unit/proto/words.h"

#define HEAD "kind: Workload\nname: w\ntenant: a/b\n"

static struct policy_doc *policy;
static struct workload_doc *workload;

static void read_workload(const char *text)
{
        const struct doc_node *root = NULL;
        struct err err = {0};
        struct doc *doc;

        workload_doc_free(workload);
        workload = NULL;
        if (doc_read_yaml("w", text, strlen(text), &doc, &err) < 0 ||
            kind_need(doc, "Workload", &root, &err) < 0 ||
            workload_doc_decode(root, models, NULL, vocab, &workload, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
}

static struct request request_of(const char *text, const struct request_ids *ids, uint32_t index)
{
        struct request request;
        struct err err = {0};

        read_workload(text);
        if (request_of_workload(workload, policy->tenancy, ids, index, &request, &err) < 0)
                fail_msg("%s", err.text);
        return request;
}

static const struct request_ids some = {.workload = 100, .number = 9};

static void a_job_is_one_request(void **state)
{
        (void)state;
        static const uint64_t after[] = {5, 6};
        struct request_ids ids = {.workload = 100, .number = 9, .artifact = 3, .after_count = 2,
                                  .after = after};
        struct request it = request_of(
                HEAD "class: train\ndata: secret\nmembers: 2\neach: {devices: 8}\nspread: node\n"
                     "near: {require: rack}\ntime_limit: 6h\nretries: 2\nstanding: spare\n"
                     "hold: true\nstart: 2027-01-04T08:00Z\n"
                     "checkpoint: {every: 30m, within: 90s, signal: USR1}\n",
                &ids, 0);

        assert_int_equal(workload_requests(workload), 1);
        assert_int_equal(it.workload, 100);
        assert_int_equal(it.tenant, tenancy_find(policy->tenancy, "a/b"));
        assert_int_equal(it.class, tenancy_class_find(policy->tenancy, "train"));
        assert_int_equal(it.data, 2);
        assert_int_equal(it.form.members, 2);
        assert_int_equal(it.form.spread, SPREAD_NODE);
        assert_int_equal(it.form.near, NEAR_RACK);
        assert_int_equal(it.need.devices, 8);
        assert_int_equal(it.need.artifact, 3);
        assert_int_equal(it.time_limit_ms, 6 * 3600000);
        assert_int_equal(it.retries, 2);
        assert_int_equal(it.start_ms, workload->start_ms);
        assert_int_equal(it.checkpoint_every_ms, 1800000);
        assert_int_equal(it.checkpoint_within_ms, 90000);
        assert_int_equal(it.after_count, 2);
        assert_int_equal(it.after[1], 6);
        assert_true(it.spare && it.user_hold && !it.service && !it.serve && !it.once);
        assert_int_equal(it.array, 0);
        assert_int_equal(it.group, 0);
}

static void what_is_not_said_is_the_policys(void **state)
{
        (void)state;
        struct request it = request_of(HEAD "each: {devices: 1}\n", &some, 0);

        assert_int_equal(it.class, tenancy_class_find(policy->tenancy, "quick"));
        assert_int_equal(it.time_limit_ms, 2 * 3600000);
        assert_int_equal(it.data, 0);
        assert_false(it.spare || it.user_hold);
        it = request_of(HEAD "each: {devices: 1}\nservice: {port: 80}\n", &some, 0);
        assert_int_equal(it.time_limit_ms, 0);
}

static void an_array_is_a_request_for_each_task(void **state)
{
        (void)state;
        struct request it =
                request_of(HEAD "each: {devices: 1}\narray: 5-14%3\n", &some, 9);

        assert_int_equal(workload_requests(workload), 10);
        assert_int_equal(it.workload, 109);
        assert_int_equal(it.array, 9);
        assert_int_equal(it.array_at_once, 3);
        assert_int_equal(it.group, 0);
        it = request_of(HEAD "each: {devices: 1}\narray: 0-1\nspread: rack\n", &some, 1);
        assert_int_equal(workload_requests(workload), 2);
        assert_int_equal(it.group, 9);
        assert_int_equal(it.form.spread, SPREAD_RACK);
        it = request_of(HEAD "each: {devices: 1}\narray: 0-1\nmembers: 2\nspread: rack\n", &some,
                        1);
        assert_int_equal(it.group, 0);
        assert_int_equal(it.form.spread, SPREAD_RACK);
}

static void a_service_is_a_request_for_each_replica(void **state)
{
        (void)state;
        struct request it = request_of(HEAD "each: {devices: 1, method: serve}\nspread: node\n"
                                            "artifact: llama@1\n"
                                            "service: {port: 80, replicas: 3}\n",
                                       &some, 2);

        assert_int_equal(workload_requests(workload), 3);
        assert_int_equal(it.workload, 102);
        assert_int_equal(it.group, 9);
        assert_int_equal(it.form.spread, SPREAD_NODE);
        assert_int_equal(it.form.members, 1);
        assert_true(it.service && it.serve);
        assert_int_equal(it.retries, UINT16_MAX);       /* a replica that ended comes back */
}

static void without_a_policy_there_are_no_tenants(void **state)
{
        (void)state;
        struct request it;

        read_workload(HEAD "class: nobody\ndata: none\neach: {devices: 1}\n");
        assert_int_equal(request_of_workload(workload, NULL, &some, 0, &it, NULL), 0);
        assert_int_equal(it.tenant + it.class + it.data, 0);
        assert_int_equal(it.time_limit_ms, 0);
}

static void what_the_policy_does_not_know_is_named(void **state)
{
        (void)state;
        static const struct {
                const char *text, *names;
        } rows[] = {
                {"kind: Workload\nname: w\ntenant: x\neach: {devices: 1}\n", "tenant 'x'"},
                {HEAD "class: x\neach: {devices: 1}\n", "class 'x'"},
                {HEAD "data: x\neach: {devices: 1}\n", "data label 'x'"},
        };
        static const uint64_t after[AFTER_MAX + 1] = {1};
        struct request_ids many = {.workload = 100, .number = 1, .after_count = AFTER_MAX + 1,
                                   .after = after};
        struct request it;
        struct err err = {0};

        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                read_workload(rows[i].text);
                assert_int_equal(
                        request_of_workload(workload, policy->tenancy, &some, 0, &it, &err),
                        -ERR_NOT_FOUND);
                check_has(err.text, rows[i].names);
        }
        read_workload(HEAD "each: {devices: 1}\n");
        assert_int_equal(request_of_workload(workload, policy->tenancy, &many, 0, &it, &err),
                         -ERR_RANGE);
        many.after_count = AFTER_MAX;
        assert_int_equal(request_of_workload(workload, policy->tenancy, &many, 0, &it, &err), 0);
}

static int open_all(void **state)
{
        static const char text[] =
                "kind: Policy\npreset: equal\ndefault_class: quick\n"
                "classes: {train: {rank: 2}, quick: {rank: 1, time_limit: 2h}}\n"
                "data: {open: {}, secret: {apart: node}}\n"
                "tenants: {a: {tenants: {b: {}}}}\n";
        struct err err = {0};
        struct doc *doc;

        words_load(state);
        if (doc_read_yaml("p", text, strlen(text), &doc, &err) < 0)
                return -1;
        int rc = policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err);
        doc_free(doc);
        return rc;
}

static int close_all(void **state)
{
        workload_doc_free(workload);
        policy_doc_free(policy);
        return words_drop(state);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_job_is_one_request),
                cmocka_unit_test(what_is_not_said_is_the_policys),
                cmocka_unit_test(an_array_is_a_request_for_each_task),
                cmocka_unit_test(a_service_is_a_request_for_each_replica),
                cmocka_unit_test(without_a_policy_there_are_no_tenants),
                cmocka_unit_test(what_the_policy_does_not_know_is_named),
        };

        return cmocka_run_group_tests(tests, open_all, close_all);
}
