/* A policy as a whole, and its tenants. */
#include "tests/unit/proto/policy.h"

#include <stdlib.h>

#define A POLICY "tenants:\n  a: "

static void five_lines_are_a_policy(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine("kind: Policy\npreset: protected\ntenants:\n"
                                                "  research: {protect: {H100-80: 8}}\n"
                                                "  web: {protect: {H100-80: 8}}\n");
        unsigned h100 = model_id("H100-80");
        const struct tenant *web = tenant_of(policy, "web");

        assert_int_equal(policy->warnings_count, 0);
        assert_int_equal(policy->tenancy->tenants_count, 2);
        assert_int_equal(policy->tenancy->preset, PRESET_PROTECTED);
        assert_true(web->protect[h100] == 8 * DEVICE);
        assert_true(web->limit[h100] == AMOUNT_ABSENT);
        assert_true(web->lend[h100] == AMOUNT_UNLIMITED);
        assert_int_equal(web->weight_milli[h100], 1000);
        assert_int_equal(web->parent, TENANT_NONE);
        assert_int_equal(policy->tenancy->classes_count, 3);
        assert_int_equal(class_of(policy, "interactive")->rank, 1);
        assert_int_equal(class_of(policy, "training")->order, ORDER_SHORTEST);
        assert_int_equal(class_of(policy, "batch")->stop, STOP_ALWAYS);
        assert_int_equal(class_of(policy, "batch")->above_limit, ABOVE_LIMIT_SPARE);
        assert_true(class_of(policy, "batch")->notice_ms >= 2 * MINUTE);
        assert_int_equal(policy->tenancy->default_class, CLASS_NONE);
        policy_doc_free(policy);
}

static void presets_differ_as_the_manual_says(void **state)
{
        (void)state;
        struct policy_doc *equal = decode_fine("kind: Policy\npreset: equal\ntenants: {a: {}}\n");
        struct policy_doc *strict =
                decode_fine("kind: Policy\npreset: strict\n"
                            "tenants: {a: {protect: {T4: 2}}, b: {protect: {any: 3}}}\n");
        unsigned t4 = model_id("T4"), a100 = model_id("A100-40");

        assert_int_equal(equal->warnings_count, 0);
        assert_int_equal(class_of(equal, "batch")->stop, STOP_FOR_PROTECT);
        assert_int_equal(equal->tenancy->rules.over_jobs, OVER_JOBS_WAIT);

        assert_int_equal(strict->warnings_count, 0);
        assert_int_equal(strict->tenancy->rules.over_jobs, OVER_JOBS_REFUSE);
        assert_true(tenant_of(strict, "a")->limit[t4] == 2 * DEVICE);
        assert_true(tenant_of(strict, "a")->limit[a100] == 0);
        assert_true(tenant_of(strict, "a")->lend[t4] == AMOUNT_NONE);
        assert_true(tenant_of(strict, "b")->limit[DIM_ANY] == 3 * DEVICE);
        assert_true(tenant_of(strict, "b")->limit[t4] == AMOUNT_ABSENT);
        assert_int_equal(class_of(strict, "batch")->above_limit, ABOVE_LIMIT_WAIT);
        assert_int_equal(class_of(strict, "batch")->methods & 1u << METHOD_SHARE, 0);
        policy_doc_free(equal);
        policy_doc_free(strict);
}

static void every_word_of_a_tenant_is_read(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                "kind: Policy\n"
                "tenants:\n"
                "  r:\n"
                "    protect: {h100-80: 8, cpu: 64, tokens_per_minute: 1000}\n"
                "    limit: {H100-80: 16, any: 20.5, jobs: 200, running: 50, cpu: 128,\n"
                "            memory: 1Ti, tokens_per_minute: unlimited, active_tokens: 5,\n"
                "            slices: {3g.40gb: 4}}\n"
                "    weight: {any: 2, T4: 0.5}\n"
                "    lend: {H100-80: 4}\n"
                "    budget: {any: {device_hours: 500, per: week, on_empty: refuse},\n"
                "             T4: {device_hours: 0.5}}\n"
                "    trust: internal\n"
                "    classes: [training, batch]\n"
                "    methods: [whole]\n"
                "    planes: [lab]\n"
                "    tenants: {x: {limit: {T4: none, H100-80: 0}}, y: {lend: none}}\n");
        const struct tenancy *tenancy = policy->tenancy;
        const struct tenant *r = tenant_of(policy, "r"), *x = tenant_of(policy, "r/x");
        unsigned h100 = model_id("H100-80"), t4 = model_id("T4");

        assert_int_equal(policy->warnings_count, 0);
        assert_true(r->protect[h100] == 8 * DEVICE);
        assert_true(r->protect[DIM_CPU] == 64000);
        assert_true(r->protect[DIM_TOKENS_PER_MINUTE] == 1000);
        assert_true(r->limit[DIM_ANY] == 20 * DEVICE + DEVICE / 2);
        assert_true(r->limit[DIM_JOBS] == 200 && r->limit[DIM_RUNNING] == 50);
        assert_true(r->limit[DIM_CPU] == 128000 && r->limit[DIM_MEMORY] == 1 << 20);
        assert_true(r->limit[DIM_TOKENS_PER_MINUTE] == AMOUNT_UNLIMITED);
        assert_true(r->limit[DIM_ACTIVE_TOKENS] == 5);
        assert_string_equal(tenancy->profiles[0], "3g.40gb");
        assert_true(r->limit[DIM_SLICES] == 4);
        assert_int_equal(r->weight_milli[h100], 2000);
        assert_int_equal(r->weight_milli[t4], 500);
        assert_true(r->lend[h100] == 4 * DEVICE && r->lend[t4] == AMOUNT_UNLIMITED);
        assert_int_equal(r->budgets_count, 2);
        assert_int_equal(r->budgets[0].dimension, DIM_ANY);
        assert_int_equal(r->budgets[0].period, PERIOD_WEEK);
        assert_int_equal(r->budgets[0].on_empty, ON_EMPTY_REFUSE);
        assert_true(r->budgets[0].device_ms == 500ull * 3600000);
        assert_true(r->budgets[1].device_ms == 1800000);
        assert_int_equal(r->budgets[1].period, PERIOD_MONTH);
        assert_int_equal(r->budgets[1].on_empty, ON_EMPTY_WARN);
        assert_int_equal(r->methods, 1u << METHOD_WHOLE);
        assert_true(r->classes == 6 && r->planes == 1);
        assert_string_equal(tenancy->trusts[r->trust].name, "internal");

        /* Below it: rights and trust come along, limits hold together. */
        assert_int_equal(x->depth, 2);
        assert_int_equal(x->trust, r->trust);
        assert_true(x->classes == 6);
        assert_true(x->protect[h100] == AMOUNT_ABSENT);
        assert_int_equal(x->weight_milli[h100], 1000);
        assert_true(tenancy_limit(tenancy, 1, t4) == AMOUNT_NONE);
        assert_true(tenancy_limit(tenancy, 1, h100) == 0);
        assert_true(tenancy_limit(tenancy, 2, h100) == 16 * DEVICE);
        assert_true(tenancy_limit(tenancy, 2, t4) == AMOUNT_UNLIMITED);
        assert_true(tenant_of(policy, "r/y")->lend[h100] == AMOUNT_NONE);
        assert_true(tenancy_is_below(tenancy, 2, 0));
        assert_true(tenancy_is_below(tenancy, 2, 2));
        assert_false(tenancy_is_below(tenancy, 0, 2));
        policy_doc_free(policy);
}

static void parents_promise_what_their_children_are_promised(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                "kind: Policy\n"
                "tenants:\n"
                "  a: {tenants: {b: {tenants: {c: {protect: {T4: 2}}, d: {protect: {T4: 3}}}},\n"
                "                e: {protect: {T4: 1, any: 4}}}}\n"
                "  f: {protect: {T4: 9}, tenants: {g: {protect: {any: 4}}}}\n");
        unsigned t4 = model_id("T4");

        assert_true(tenant_of(policy, "a/b")->protect[t4] == 5 * DEVICE);
        assert_true(tenant_of(policy, "a")->protect[t4] == 6 * DEVICE);
        assert_true(tenant_of(policy, "a")->protect[DIM_ANY] == 9 * DEVICE);
        assert_true(tenant_of(policy, "f")->protect[t4] == 9 * DEVICE);
        assert_true(tenancy_protect_all(tenant_of(policy, "a/e")) == 4 * DEVICE);
        assert_true(tenant_of(policy, "f")->protect[DIM_ANY] == 9 * DEVICE);
        policy_doc_free(policy);
}

static const struct refusal bad_documents[] = {
        {"kind: Polcy\n", "'Polcy' is not known here; did you mean 'Policy'"},
        {"kind: Pool\n", "p.yaml:1: is of kind Pool; write a document of kind Policy"},
        {POLICY "tenants: {a: {}}\n---\n" POLICY "tenants: {a: {}}\n",
         "is a second document of kind Policy (the first starts in line 1)"},
        {POLICY, "p.yaml:1: field 'tenants' is missing"},
        {POLICY "tenants: {}\n", "field 'tenants': has no tenants"},
        {POLICY "tenants: [a]\n", "is a list; write a map"},
        {POLICY "tenents: {a: {}}\n", "p.yaml:3: field 'tenents': is not known here; did you mean "
                                      "'tenants'"},
        {"kind: Policy\npreset: fair\ntenants: {a: {}}\n", "'fair' is not known here; known: "
                                                           "'equal', 'protected', 'strict'"},
        {POLICY "default_class: trainig\ntenants: {a: {}}\n", "did you mean 'training'"},
        {POLICY "rules: {over_job: wait}\ntenants: {a: {}}\n", "did you mean 'over_jobs'"},
        {POLICY "rules: {stop_rate: {pct: 0}}\ntenants: {a: {}}\n", "write 1 to 100"},
        {POLICY "rules: {stop_rate: {per: 1h}}\ntenants: {a: {}}\n", "field 'pct' is missing"},
        {POLICY "rules: {stop_rate: {pct: 1, per: 2d}}\ntenants: {a: {}}\n", "out of range"},
};

static void bad_documents_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_documents, ARRAY_LEN(bad_documents));
}

static const struct refusal bad_tenants[] = {
        {A "{protect: {H100-8: 8}}\n", "p.yaml:4: field 'tenants.a.protect.H100-8': is neither a "
                                       "device model nor a word that is counted; did you mean "
                                       "'H100-80'"},
        {A "{limit: {job: 8}}\n", "did you mean 'jobs'"},
        {A "{protect: {3g.40gb: 8}}\n", "is a profile; name the device model instead of 3g.40gb"},
        {A "{limit: {3g.40gb: 8}}\n", "is a profile; write slices: {3g.40gb: 4}"},
        {A "{limit: {slices: {3g.41gb: 8}}}\n", "is no profile of any device model; did you mean "
                                                "'3g.40gb'"},
        {A "{limit: {slices: 8}}\n", "is a single value; write a map"},
        {A "{protect: {slices: {3g.40gb: 8}}}\n", "slices are not promised, devices are"},
        {A "{protect: {jobs: 8}}\n", "cannot be promised, only limited"},
        {A "{protect: {T4: unlimited}}\n", "a promise is a number or none"},
        {A "{protect: unlimited}\n", "says not of what; write for example {any: 16} or none"},
        {A "{protect: 8}\n", "field 'tenants.a.protect': says not of what"},
        {A "{limit: 8}\n", "{any: 16}, unlimited or none"},
        {A "{limit: {T4: -1}}\n", "'-1' is negative"},
        {A "{limit: {T4: 1.0001}}\n", "1.0001"},
        {A "{limit: {T4: }}\n", "has no amount"},
        {A "{limit: {T4: many}}\n", "'many' is not"},
        {A "{limit: {T4: 1000001}}\n", "out of range"},
        {A "{limit: {jobs: 1.5}}\n", "'1.5' is not a whole number"},
        {A "{limit: {memory: 40GB}}\n", "'40GB' is not a size"},
        {A "{limit: {T4: 1, t4: 2}}\n", "stands twice under different names"},
        {A "{limit: {T4: 1, T4: 2}}\n", "stands here a second time"},
        {A "{weight: 0}\n", "write 0.001 to 1000"},
        {A "{weight: }\n", "has no value"},
        {A "{weight: {T5: 1}}\n", "is no device model; did you mean 'T4'"},
        {A "{weight: {jobs: 1}}\n", "is no device model"},
        {A "{lend: some}\n", "is neither all, none nor amounts"},
        {A "{lend: {1g.5gb: 1}}\n", "is a profile; name the device model instead of 1g.5gb"},
        {A "{lend: {T4: -1}}\n", "'-1' is negative"},
        {A "{budget: 5000}\n", "is a single value; write a map"},
        {A "{budget: {}}\n", "field 'device_hours' is missing"},
        {A "{budget: {per: month}}\n", "field 'device_hours' is missing"},
        {A "{budget: {device_hours: 5, per: fortnight}}\n", "'fortnight' is not known here"},
        {A "{budget: {device_hours: 5, on_empty: kill}}\n", "'kill' is not known here"},
        {A "{budget: {device_hours: 300000001}}\n", "out of range"},
        {A "{budget: {T4: {device_hours: 1}, t4: {device_hours: 1}}}\n", "stands twice"},
        {A "{classes: [trainin]}\n", "did you mean 'training'"},
        {A "{classes: []}\n", "has 0 entries"},
        {A "{methods: [slices]}\n", "did you mean 'slice'"},
        {A "{classes: [batch], tenants: {b: {classes: [training]}}}\n", "leaves nothing"},
        {A "{planes: ['a b']}\n", "'a b' is no name"},
        {A "{trust: 'x y'}\n", "'x y' is no name"},
        {A "{protected: {T4: 1}}\n", "did you mean 'protect'"},
        {A "5\n", "is a single value; write a map"},
        {POLICY "tenants: {'a/b': {}}\n", "'a/b' is no name; write letters"},
        {POLICY "tenants: {'..': {}}\n", "'..' is no name"},
        {POLICY "tenants: {'-x': {}}\n", "'-x' is no name"},
        {POLICY "tenants: {'': {}}\n", "a key is empty"},
        {POLICY "tenants: {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: {}}\n", "is too long; at most 31"},
        {A "{tenants: {b: {tenants: {c: {tenants: {d: {tenants: {e: {tenants: {f: {tenants: {g: "
           "{tenants: {h: {tenants: {i: {}}}}}}}}}}}}}}}}}\n",
         "'i' is deeper than 8 levels"},
};

static void bad_tenants_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_tenants, ARRAY_LEN(bad_tenants));
}

/* ---- bounds ---- */

static void tables_hold_what_they_say_and_no_more(void **state)
{
        (void)state;
        static const struct {
                const char *head, *format, *tail;
                unsigned max;
                const char *sentence;
        } rows[] = {
                {POLICY "tenants:\n", "  t#: {}\n", "", TENANTS_MAX, "more than 4096 tenants"},
                {POLICY "tenants: {a: {}}\nclasses:\n", "  c#: {rank: 1}\n", "", CLASSES_MAX,
                 "has 65 classes"},
                {POLICY "tenants: {a: {}}\nprincipals:\n", "  - {name: p#, pool: auditor}\n", "",
                 PRINCIPALS_MAX, "write 0 to 4096"},
                {POLICY "tenants: {a: {}}\ndata:\n", "  d#: {}\n", "", DATA_LABELS_MAX,
                 "has 65 data labels"},
                {POLICY "tenants: {a: {planes: [", "p#, ", "]}}\n", PLANES_MAX, "write 1 to 64"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_doc *policy = NULL;
                struct err err = {0};
                char *text = many(rows[i].head, rows[i].format, rows[i].max, rows[i].tail);
                policy_doc_free(decode_fine(text));
                mem_free(text);
                text = many(rows[i].head, rows[i].format, rows[i].max + 1, rows[i].tail);
                assert_true(decode(text, &policy, &err) < 0);
                check_has(err.text, rows[i].sentence);
                mem_free(text);
        }
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        const char *text = POLICY "tenants: {a: {protect: {T4: 1}, tenants: {b: {}}}}\n"
                                  "reservations: [{" WINDOW "}]\nprincipals: [{name: x}]\n" POOL;
        struct policy_doc *policy = NULL;

        for (unsigned long n = 1;; n++) {
                struct err err = {0};
                mem_fail_at(n);
                int rc = decode(text, &policy, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        break;
                }
                assert_int_equal(rc, -ERR_NOMEM);
                assert_null(policy);
        }
        policy_doc_free(policy);
}

/* ---- texts ---- */

static void amounts_and_durations_read_well(void **state)
{
        (void)state;
        static const struct {
                unsigned dimension;
                uint64_t amount;
                const char *text;
        } rows[] = {
                {0, 8 * DEVICE, "8 devices"},
                {DIM_ANY, DEVICE, "1 device"},
                {DIM_ANY, DEVICE / 2, "0.5 devices"},
                {0, 126, "0.001 devices"},
                {0, AMOUNT_NONE, "none"},
                {0, AMOUNT_UNLIMITED, "unlimited"},
                {0, AMOUNT_ABSENT, "-"},
                {DIM_CPU, 1500, "1.5 cores"},
                {DIM_CPU, 1000, "1 core"},
                {DIM_MEMORY, 40960, "40 GiB"},
                {DIM_MEMORY, 1, "1 MiB"},
                {DIM_MEMORY, 0, "0 MiB"},
                {DIM_MEMORY, 2 << 20, "2 TiB"},
                {DIM_JOBS, 200, "200"},
                {DIM_SLICES, 4, "4"},
        };
        static const struct {
                int64_t ms;
                const char *text;
        } times[] = {
                {0, "0s"},       {500, "500ms"},   {90000, "90s"},   {300000, "5m"},
                {7200000, "2h"}, {5400000, "90m"}, {86400000, "1d"},
        };
        char buf[POLICY_TEXT_MAX];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_string_equal(policy_amount_unit_text(rows[i].dimension, rows[i].amount, buf),
                                    rows[i].text);
        for (size_t i = 0; i < ARRAY_LEN(times); i++)
                assert_string_equal(policy_duration_text(times[i].ms, buf), times[i].text);
}

static void the_examples_are_read(void **state)
{
        (void)state;
        const char *source = getenv("BERTH_SOURCE");
        static const char *const names[] = {"policy.yaml", "policy-full.yaml"};
        const struct doc_node *root;
        struct pool_doc *pool = NULL;
        struct err err = {0};
        char path[1024];
        struct doc *doc;

        snprintf(path, sizeof path, "%s/examples/pool.yaml", source ? source : ".");
        if (doc_read_file(path, &doc, &err) < 0 || kind_need(doc, "Pool", &root, &err) < 0 ||
            pool_doc_decode(root, models, vocab, &pool, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                struct policy_doc *policy = NULL;
                snprintf(path, sizeof path, "%s/examples/%s", source ? source : ".", names[i]);
                if (doc_read_file(path, &doc, &err) < 0 ||
                    kind_need(doc, "Policy", &root, &err) < 0 ||
                    policy_doc_decode(root, models, pool, &policy, &err) < 0)
                        fail_msg("%s", err.text);
                if (policy->warnings_count > 0)
                        fail_msg("%s", policy->warnings[0].text);
                policy_doc_free(policy);
                doc_free(doc);
        }
        pool_doc_free(pool);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(five_lines_are_a_policy),
                cmocka_unit_test(presets_differ_as_the_manual_says),
                cmocka_unit_test(every_word_of_a_tenant_is_read),
                cmocka_unit_test(parents_promise_what_their_children_are_promised),
                cmocka_unit_test(bad_documents_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_tenants_are_refused_with_place_and_way_out),
                cmocka_unit_test(tables_hold_what_they_say_and_no_more),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(amounts_and_durations_read_well),
                cmocka_unit_test(the_examples_are_read),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
