#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/units.h"
#include "engine/vocab.h"
#include "proto/kind.h"
#include "proto/model_doc.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"

static struct model_table *models;
static struct vocab *vocab;

#define DEVICE ((uint64_t)UNITS_DEVICE)
#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)

/* A Policy, and where the text holds one, its Pool. */
static int decode(const char *text, struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root = NULL, *pool_root = NULL;
        struct pool_doc *pool = NULL;
        struct doc *doc;
        int rc = doc_read_yaml("p.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Policy", &root, err)) == 0 &&
            (rc = kind_find(doc, "Pool", &pool_root, err)) == 0 && pool_root)
                rc = pool_doc_decode(pool_root, models, vocab, &pool, err);
        if (rc == 0)
                rc = policy_doc_decode(root, models, pool, ret_policy, err);
        pool_doc_free(pool);
        doc_free(doc);
        return rc;
}

static struct policy_doc *decode_fine(const char *text)
{
        struct policy_doc *policy = NULL;
        struct err err = {0};

        if (decode(text, &policy, &err) < 0)
                fail_msg("%s", err.text);
        return policy;
}

static unsigned model_id(const char *name)
{
        int id = model_find(models, name, NULL);

        assert_true(id >= 0);
        return (unsigned)id;
}

static const struct tenant *tenant_of(const struct policy_doc *policy, const char *path)
{
        int index = tenancy_find(policy->tenancy, path);

        if (index < 0)
                fail_msg("no tenant '%s'", path);
        return &policy->tenancy->tenants[index];
}

static const struct service_class *class_of(const struct policy_doc *policy, const char *name)
{
        int index = tenancy_class_find(policy->tenancy, name);

        if (index < 0)
                fail_msg("no class '%s'", name);
        return &policy->tenancy->classes[index];
}

/* ---- what comes out ---- */

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
                "    limit: {H100-80: 16, any: 20.5, jobs: 200, running: 50, cpu: 128, memory: 1Ti,\n"
                "            tokens_per_minute: unlimited, active_tokens: 5, slices: {3g.40gb: 4}}\n"
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

static void every_word_of_a_class_is_read(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                "kind: Policy\npreset: equal\n"
                "classes:\n"
                "  critical: {rank: 1, methods: [whole, slice], stop: never, spread: rack,\n"
                "             apart_from: {device: [test], node: [training]}, planes: [serving],\n"
                "             on_lost_contact: continue, by_weight: false}\n"
                "  training: {notice: 90s, time_slice: {levels: [1h, 8h, 64h]}, time_limit: 2h,\n"
                "             time_limit_max: 3d}\n"
                "  test: {rank: 3, methods: [serve, share], stop: always, notice: 0, exempt: 0,\n"
                "         stops_per_day: unlimited, order: shortest, hold_after: 0, above_limit: spare,\n"
                "         idle_after: {time: 2h, then: demote},\n"
                "         typical: {memory: 4Gi, compute: 0.25, communication: low, duration: 10m,\n"
                "                   latency: 200ms}}\n"
                "default_class: test\n"
                "tenants: {a: {}}\n");
        const struct service_class *critical = class_of(policy, "critical");
        const struct service_class *training = class_of(policy, "training");
        const struct service_class *test = class_of(policy, "test");

        assert_int_equal(policy->warnings_count, 0);
        assert_int_equal(policy->tenancy->classes_count, 3);
        assert_int_equal(policy->tenancy->default_class, 2);
        assert_int_equal(critical->methods, 3);
        assert_int_equal(critical->stop, STOP_NEVER);
        assert_int_equal(critical->spread, SPREAD_RACK);
        assert_true(critical->apart_device == 6 && critical->apart_node == 2);
        assert_true(test->apart_device == 1 && test->apart_node == 0);
        assert_true(training->apart_node == 1);
        assert_true(critical->planes == 1);
        assert_int_equal(critical->on_lost_contact, LOST_CONTACT_CONTINUE);
        assert_false(critical->by_weight);
        assert_true(training->by_weight);
        /* What it says not is the preset's. */
        assert_int_equal(training->rank, 2);
        assert_true(training->notice_ms == 90000 && training->exempt_ms == 20 * MINUTE);
        assert_int_equal(training->time_slices_count, 3);
        assert_true(training->time_slice_ms[2] == 64 * HOUR);
        assert_true(training->time_limit_ms == 2 * HOUR &&
                    training->time_limit_max_ms == 72 * HOUR);
        assert_int_equal(test->methods, 1u << METHOD_SERVE | 1u << METHOD_SHARE);
        assert_true(test->notice_ms == 0 && test->exempt_ms == 0 && test->hold_after_ms == 0);
        assert_true(test->stops_per_day == STOPS_UNLIMITED);
        assert_int_equal(test->above_limit, ABOVE_LIMIT_SPARE);
        assert_true(test->idle_after_ms == 2 * HOUR);
        assert_int_equal(test->idle_then, IDLE_THEN_DEMOTE);
        assert_int_equal(test->typical_memory_mib, 4096);
        assert_int_equal(test->typical_compute_milli, 250);
        assert_int_equal(test->typical_communication, COMMUNICATION_LOW);
        assert_true(test->typical_duration_ms == 10 * MINUTE && test->typical_latency_ms == 200);
        policy_doc_free(policy);
}

static void reservations_principals_trust_and_data_are_read(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                "kind: Policy\npreset: equal\n"
                "rules: {over_jobs: refuse, stop_rate: {pct: 10, per: 1h}, publish_quota: true}\n"
                "trust: {internal: {with: [partner]}, partner: , other: {}}\n"
                "data: {secret: {methods: [whole], planes: [lab], trust: [internal], apart: node,\n"
                "                nodes: {zone: '=a'}}, open: }\n"
                "tenants: {a: {trust: internal, tenants: {b: {}}}, c: {}}\n"
                "reservations:\n"
                "  - {name: launch, tenant: a/b, devices: {T4: 8, any: 2}, unused: keep,\n"
                "     from: 2027-01-04T08:00Z, until: 2027-01-08T18:00+01:00}\n"
                "  - {name: nightly, tenant: c, devices: {T4: 0.5}, from: 2027-01-04T22:00:30Z,\n"
                "     until: 2027-01-05T04:00Z, every: 1d, last: 2027-02-01T00:00Z}\n"
                "principals:\n"
                "  - {name: ana, uid: 1001, tenants: {a/b: submitter, c: viewer}, run_as: ana}\n"
                "  - {name: ci@x, tenants: {c: manager}, pool: auditor}\n");
        const struct tenancy *tenancy = policy->tenancy;
        const struct reservation *launch = &tenancy->reservations[0];
        const struct reservation *nightly = &tenancy->reservations[1];
        int64_t from, until, day = CALENDAR_DAY_MS;

        assert_int_equal(policy->warnings_count, 0);
        assert_int_equal(tenancy->rules.over_jobs, OVER_JOBS_REFUSE);
        assert_int_equal(tenancy->rules.stop_rate_pct, 10);
        assert_true(tenancy->rules.stop_rate_ms == HOUR && tenancy->rules.publish_quota);
        assert_true(tenancy->trusts[0].with == 3 && tenancy->trusts[1].with == 3);
        assert_true(tenancy->trusts[2].with == 4);
        assert_int_equal(tenant_of(policy, "a/b")->trust, 0);
        assert_int_equal(tenant_of(policy, "c")->trust, TRUSTS_MAX + 2);
        assert_true(tenancy->labels[0].trusts == 1 && tenancy->labels[0].planes == 1);
        assert_int_equal(tenancy->labels[0].apart, LABEL_APART_NODE);
        assert_string_equal(tenancy->labels[0].nodes[0].condition, "=a");
        assert_int_equal(tenancy->labels[1].methods, CLASS_METHOD_ALL);

        assert_int_equal(launch->tenant, 1);
        assert_int_equal(launch->models_count, 2);
        assert_true(launch->units[0] == 8 * DEVICE && launch->models[1] == DIM_ANY);
        assert_int_equal(launch->unused, UNUSED_KEEP);
        assert_true(launch->until_ms - launch->from_ms == 4 * day + 9 * HOUR);
        assert_true(nightly->from_ms % MINUTE == 30000);
        assert_true(reservation_window(launch, launch->from_ms - 1, &from, &until));
        assert_true(from == launch->from_ms && until == launch->until_ms);
        assert_false(reservation_window(launch, launch->until_ms, &from, &until));
        assert_true(reservation_window(nightly, nightly->until_ms - 1, &from, &until));
        assert_true(from == nightly->from_ms);
        assert_true(reservation_window(nightly, nightly->until_ms, &from, &until));
        assert_true(from == nightly->from_ms + day);
        assert_true(reservation_window(nightly, nightly->from_ms + 5 * day, &from, &until));
        assert_true(from == nightly->from_ms + 5 * day);
        /* The last one starts before `last`, and may end behind it. */
        assert_true(reservation_window(nightly, nightly->last_ms, &from, &until));
        assert_true(until == nightly->last_ms + 4 * HOUR);
        assert_false(reservation_window(nightly, until, &from, &until));

        assert_true(tenancy->principals[0].uid == 1001);
        assert_string_equal(tenancy->principals[0].run_as, "ana");
        assert_int_equal(tenancy->principals[0].grants[0].tenant, 1);
        assert_int_equal(tenancy->principals[0].grants[0].role, ROLE_SUBMITTER);
        assert_int_equal(tenancy->principals[0].grants[1].role, ROLE_VIEWER);
        assert_true(tenancy->principals[1].uid == -1);
        assert_int_equal(tenancy->principals[1].pool_role, POOL_ROLE_AUDITOR);
        policy_doc_free(policy);
}

/* ---- warnings ---- */

#define POLICY "kind: Policy\npreset: equal\n"
#define POOL \
        "---\nkind: Pool\nplanes: {lab: {}}\nnodes:\n" \
        "  - {name: 'n[1-2]', plane: lab, devices: {model: T4, count: 4, unhealthy: [3]}, cpu: 10}\n"

static void what_is_in_vain_is_a_warning(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"kind: Policy\ntenants: {a: {}}\n", "p.yaml:1: no tenant has a protect, so nobody "
                                                     "is protected"},
                {"kind: Policy\npreset: strict\ntenants:\n  a: {}\n  b: {protect: {T4: 1}}\n",
                 "p.yaml:4: field 'tenants.a': tenant 'a' is promised nothing, and with 'preset: "
                 "strict'"},
                {POLICY "tenants:\n  a: {limit: {T4: 2},\n      tenants: {b: {limit: {T4: 3}}}}\n",
                 "p.yaml:5: field 'tenants.a.tenants.b.limit.T4': the limit of 3 devices for T4 can "
                 "never bind: above it stands 2"},
                {POLICY "tenants: {a: {limit: {T4: none}, tenants: {b: {limit: {T4: 3}}}}}\n",
                 "above it stands none"},
                {POLICY "tenants: {a: {limit: {T4: 3, any: 2}}}\n",
                 "the limit of 3 devices for T4 can never bind: any stops at 2"},
                {POLICY "tenants: {a: {limit: {jobs: 3, running: 4}}}\n",
                 "limit.running': the limit of 4 for running can never bind: jobs stops at 3"},
                {POLICY "tenants: {a: {limit: {slices: {1g.5gb: 3}}, tenants: {b: {limit: {slices: "
                        "{1g.5gb: 4}}}}}}\n",
                 "limit.slices.1g.5gb': the limit of 4 for slices of 1g.5gb can never bind"},
                {POLICY "tenants: {a: {lend: {T4: 1}}}\n",
                 "has no effect: tenant 'a' has no protect"},
                {POLICY "tenants: {a: {protect: {T4: 1}, lend: {T4: 2}}}\n",
                 "lends 2 of T4, more than the 1 that are promised"},
                {POLICY "tenants: {a: {limit: {any: 1}, budget: {device_hours: 745}}}\n",
                 "the budget can never be used up: at most 1 device of any model"},
                {POLICY "classes: {c: {rank: 1, stop: never, notice: 5m}}\ntenants: {a: {}}\n",
                 "field 'classes.c.notice': has no effect beside 'stop: never'"},
                {POLICY "classes: {c: {rank: 1, stop: never, notice: 5m, exempt: 1h, "
                        "idle_after: {time: 2h, then: stop}}}\ntenants: {a: {}}\n",
                 "field 'classes.c.exempt': has no effect beside 'stop: never'"},
                {POLICY "classes: {c: {rank: 1, stops_per_day: 0}}\ntenants: {a: {}}\n",
                 "0 stops a day is what 'stop: never' says"},
                {POLICY
                 "tenants: {a: {classes: [batch], tenants: {b: {classes: [batch, training]}}}}\n",
                 "names what the tenant above may not use"},
                {POLICY "tenants: {a: {}}\nprincipals: [{name: ana}]\n",
                 "principal 'ana' may do nothing"},
                {POLICY "tenants: {a: {limit: {T4: 7}}}\n" POOL,
                 "the limit of 7 devices for T4 can never bind: the pool has 6"},
                {POLICY "tenants: {a: {limit: {A100-40: 1}}}\n" POOL,
                 "the pool has no healthy device of A100-40"},
                {POLICY "tenants: {a: {budget: {device_hours: 145, per: day}}}\n" POOL,
                 "at most 6 devices of any model"},
                {POLICY
                 "tenants: {a: {}}\nreservations:\n"
                 "  - {name: x, tenant: a, devices: {T4: 4}, from: 2027-01-01T00:00Z, until: "
                 "2027-01-02T00:00Z, every: 2d}\n"
                 "  - {name: y, tenant: a, devices: {T4: 4}, from: 2027-01-03T01:00Z, until: "
                 "2027-01-03T02:00Z}\n" POOL,
                 "field 'reservations[1]': when reservation 'y' begins, 8 devices of T4"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_doc *policy = decode_fine(rows[i].text);
                if (policy->warnings_count != 1)
                        fail_msg("row %zu has %u warnings", i, policy->warnings_count);
                check_has(policy->warnings[0].text, rows[i].sentence);
                policy_doc_free(policy);
        }
}

static void what_binds_is_no_warning(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "kind: Policy\ntenants: {a: {protect: {cpu: 1}}}\n",
                "kind: Policy\npreset: strict\ntenants: {a: {protect: {tokens_per_minute: 1}}}\n",
                POLICY "tenants: {a: {limit: {T4: 2}, tenants: {b: {limit: {T4: 2}}}}}\n",
                POLICY "tenants: {a: {limit: {any: 1}, budget: {device_hours: 744}}}\n",
                POLICY
                "tenants: {a: {limit: {T4: 6}, budget: {device_hours: 144, per: day}}}\n" POOL,
                POLICY "tenants: {a: {protect: {T4: 6, cpu: 20}, planes: [lab]}}\n" POOL,
                POLICY "tenants: {a: {limit: none}, b: {limit: unlimited}}\n" POOL,
                POLICY "tenants: {a: {protect: {T4: 2}, lend: {T4: 2}}}\n",
                POLICY "classes: {batch: }\ntenants: {a: }\n",
                POLICY "tenants: {a: {protect: none}}\n",
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_doc *policy = decode_fine(rows[i]);
                if (policy->warnings_count != 0)
                        fail_msg("row %zu: %s", i, policy->warnings[0].text);
                policy_doc_free(policy);
        }
}

/* ---- refusals ---- */

#define A       POLICY "tenants:\n  a: "
#define CLASS   POLICY "tenants: {a: {}}\nclasses:\n  c: "
#define RESERVE POLICY "tenants: {a: {}}\nreservations:\n  - "
#define WINDOW \
        "name: x, tenant: a, devices: {T4: 1}, from: 2027-01-01T00:00Z, until: 2027-01-02T00:00Z"
#define PEOPLE POLICY "tenants: {a: {}}\nprincipals:\n  - "

static const struct {
        const char *text, *sentence;
} refusals[] = {
        /* the document */
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
        /* tenants */
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
        /* sums */
        {A "{protect: {T4: 4}, tenants: {b: {protect: {T4: 3}}, c: {protect: {T4: 2}}}}\n",
         "p.yaml:4: field 'tenants.a.protect.T4': tenant 'a' is promised 4 devices of T4, but the "
         "tenants below it 5 devices together"},
        {A "{protect: none, tenants: {b: {protect: {T4: 3}}}}\n", "is promised 0 devices of T4"},
        {A "{protect: {any: 4}, tenants: {b: {protect: {T4: 3}}, c: {protect: {A10: 2}}}}\n",
         "is promised 4 devices of any model, but what it and the tenants below it are promised of "
         "single models is part of that and adds up to 5"},
        {A "{protect: {any: 4}, tenants: {b: {protect: {T4: 3}}, c: {protect: {any: 2}}}}\n",
         "is promised 4 devices of any model, but the tenants below it 5 devices together"},
        {A "{protect: {T4: 3, any: 2}}\n", "adds up to 3"},
        {A "{protect: {cpu: 4}, tenants: {b: {protect: {cpu: 5}}}}\n",
         "is promised 4 cores of cpu, but the tenants below it 5 cores"},
        {A "{protect: {T4: 4}, limit: {T4: 3}}\n",
         "tenant 'a' is promised 4 devices of T4, above its limit of 3"},
        {A "{limit: {T4: 3}, tenants: {b: {protect: {T4: 4}}}}\n", "above its limit of 3"},
        {A "{protect: {T4: 4, A10: 4}, limit: {any: 7}}\n",
         "tenant 'a' is promised 8 devices of any model, above its limit of 7"},
        {A "{protect: {T4: 4}, limit: {T4: none}}\n", "above its limit of none"},
        /* classes */
        {CLASS "{}\n", "field 'classes.c': field 'rank' is missing"},
        {CLASS "{rank: 1001}\n", "out of range"},
        {CLASS "{rank: 1, methods: [hole]}\n", "did you mean 'whole'"},
        {CLASS "{rank: 1, stop: sometimes}\n", "'sometimes' is not known here"},
        {CLASS "{rank: 1, notice: 5}\n", "'5'"},
        {CLASS "{rank: 1, notice: 61m}\n", "out of range"},
        {CLASS "{rank: 1, exempt: 31d}\n", "out of range"},
        {CLASS "{rank: 1, stops_per_day: -1}\n", "'-1' is negative"},
        {CLASS "{rank: 1, order: longest}\n", "'longest' is not known here"},
        {CLASS "{rank: 1, time_slice: [1h]}\n", "is a list; write a map"},
        {CLASS "{rank: 1, time_slice: {levels: [8h, 1h]}}\n", "does not rise above the level"},
        {CLASS "{rank: 1, time_slice: {levels: []}}\n", "has 0 entries"},
        {CLASS "{rank: 1, stop: never, time_slice: {levels: [1h]}}\n", "leave one of the two out"},
        {CLASS "{rank: 1, stop: never, above_limit: spare}\n", "spare work may be stopped"},
        {CLASS "{rank: 1, stop: never, idle_after: {time: 1h, then: demote}}\n",
         "makes idle work spare"},
        {CLASS "{rank: 1, idle_after: {time: 1h}}\n", "field 'then' is missing"},
        {CLASS "{rank: 1, idle_after: {time: 1s, then: stop}}\n", "out of range"},
        {CLASS "{rank: 1, apart_from: {device: [d]}}\n", "'d' is not known here"},
        {CLASS "{rank: 1, apart_from: [c]}\n", "is a list; write a map"},
        {CLASS "{rank: 1, spread: block}\n", "'block' is not known here"},
        {CLASS "{rank: 1, on_lost_contact: stop}\n", "'stop' is not known here"},
        {CLASS "{rank: 1, time_limit: 2h, time_limit_max: 1h}\n", "above time_limit_max"},
        {CLASS "{rank: 1, typical: {compute: 2}}\n", "out of range"},
        {CLASS "{rank: 1, typical: {mem: 2}}\n", "did you mean 'memory'"},
        {CLASS "{rnak: 1}\n", "did you mean 'rank'"},
        {POLICY "tenants: {a: {}}\nclasses: {}\n", "has 0 classes"},
        {POLICY "tenants: {a: {}}\nclasses: {'a b': {rank: 1}}\n", "'a b' is no name"},
        /* trust and data */
        {POLICY "trust: {internal: {}}\ntenants: {a: {trust: intern}}\n",
         "did you mean 'internal'"},
        {POLICY "trust: {internal: {with: [extern]}}\ntenants: {a: {}}\n", "'extern' is not known"},
        {POLICY "data: {secret: {trust: [internal]}}\ntenants: {a: {}}\n",
         "'internal' is not known"},
        {POLICY "data: {secret: {apart: rack}}\ntenants: {a: {}}\n", "'rack' is not known here"},
        {POLICY "data: {secret: {nodes: {a: '>= '}}}\ntenants: {a: {}}\n",
         "field 'data.secret.nodes.a': has no value to compare with"},
        {POLICY "data: {secret: {nodes: {a: 1, b: 1, c: 1, d: 1, e: 1}}}\ntenants: {a: {}}\n",
         "has 5 conditions; write at most 4"},
        /* reservations */
        {RESERVE "{}\n", "field 'name' is missing"},
        {RESERVE "{name: x, tenant: b}\n", "there is no tenant 'b'"},
        {RESERVE "{name: x, tenant: a, devices: {}}\n", "has 0 entries"},
        {RESERVE "{name: x, tenant: a, devices: {T5: 1}}\n", "is no device model"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 0}}\n", "reserves nothing"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 1, t4: 1}}\n", "stands twice"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 1}, from: 2027-01-01, until: 2027-01-02}\n",
         "'2027-01-01' is no time with a zone"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 1}, from: 2027-02-29T00:00Z, until: "
                 "2027-03-02T00:00Z}\n",
         "'2027-02-29T00:00Z' does not exist"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 1}, from: 2027-01-02T00:00Z, until: "
                 "2027-01-02T00:00Z}\n",
         "field 'reservations[0].until': does not lie behind 'from'"},
        {RESERVE "{name: x, tenant: a, devices: {T4: 1}, from: 2027-01-02T00:00Z, until: "
                 "2029-01-02T00:00Z}\n",
         "more than 366 days"},
        {RESERVE "{" WINDOW ", every: 12h}\n", "the window is 1d long and would begin anew"},
        {RESERVE "{" WINDOW ", last: 2027-03-01T00:00Z}\n", "add every: 7d or leave it out"},
        {RESERVE "{" WINDOW ", every: 7d, last: 2027-01-01T00:00Z}\n", "lies before the first"},
        {RESERVE "{" WINDOW ", unused: give}\n", "'give' is not known here"},
        {RESERVE "{" WINDOW "}\n  - {" WINDOW "}\n", "field 'reservations[1].name': 'x' stands "
                                                     "twice"},
        /* principals */
        {PEOPLE "{name: ana, tenants: {b: viewer}}\n", "there is no tenant 'b'; known: 'a'"},
        {PEOPLE "{name: ana, tenants: {a: submiter}}\n", "did you mean 'submitter'"},
        {PEOPLE "{name: ana, tenants: {a: }}\n", "has no role"},
        {PEOPLE "{name: ana, tenants: [a]}\n", "is a list; write a map"},
        {PEOPLE "{name: ana, uid: 4294967295}\n", "out of range"},
        {PEOPLE "{name: ana, uid: -1}\n", "'-1' is negative"},
        {PEOPLE "{name: ana, uid: 0, tenants: {a: submitter}}\n", "name another local user"},
        {PEOPLE "{name: ana, run_as: root}\n", "does not run as 'root'"},
        {PEOPLE "{name: ana, run_as: '0'}\n", "does not run as '0'"},
        {PEOPLE "{name: 'a b'}\n", "holds a blank"},
        {PEOPLE "{name: ana, pool: god}\n", "'god' is not known here"},
        {PEOPLE "{name: ana, pool: auditor}\n  - {name: ana, pool: auditor}\n",
         "'ana' stands twice"},
        {PEOPLE "{name: ana, uid: 7, pool: auditor}\n  - {name: bob, uid: 7, pool: auditor}\n",
         "7 is the uid of 'ana' too"},
        /* the pool */
        {POLICY "tenants: {a: {protect: {T4: 7}}}\n" POOL,
         "all promises of T4 add up to 7 devices, but the pool has 6 that are healthy"},
        {POLICY "tenants: {a: {protect: {T4: 3}}, b: {protect: {T4: 4}}}\n" POOL, "add up to 7"},
        {POLICY "tenants: {a: {protect: {T4: 3}}, b: {protect: {any: 4}}}\n" POOL,
         "all promises of any model add up to 7 devices"},
        {POLICY "tenants: {a: {protect: {A10: 1}}}\n" POOL, "the pool has 0 that are healthy"},
        {POLICY "tenants: {a: {protect: {cpu: 21}}}\n" POOL, "the pool has 20"},
        {POLICY "tenants: {a: {planes: [lap]}}\n" POOL, "the pool has no plane 'lap'; did you mean "
                                                        "'lab'"},
        {POLICY "classes: {c: {rank: 1, planes: [train]}}\ntenants: {a: {}}\n" POOL,
         "field 'classes.c.planes[0]': the pool has no plane 'train'"},
};

static void bad_documents_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
                struct policy_doc *policy = NULL;
                struct err err = {0};
                if (decode(refusals[i].text, &policy, &err) == 0)
                        fail_msg("row %zu was taken: %s", i, refusals[i].text);
                assert_null(policy);
                check_has(err.text, "p.yaml:");
                check_has(err.text, refusals[i].sentence);
        }
}

/* ---- bounds ---- */

static char *many(const char *head, const char *format, unsigned count, const char *tail)
{
        size_t room = strlen(head) + strlen(tail) + (size_t)count * 64 + 1;
        char *text = mem_new(room, 1);
        size_t at = 0;

        assert_non_null(text);
        at += (size_t)snprintf(text, room, "%s", head);
        for (unsigned i = 0; i < count; i++) {
                const char *split = strchr(format, '#');
                at += (size_t)snprintf(text + at, room - at, "%.*s%u%s", (int)(split - format),
                                       format, i, split + 1);
        }
        snprintf(text + at, room - at, "%s", tail);
        return text;
}

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

static void warnings_beyond_the_bound_are_counted(void **state)
{
        (void)state;
        char *text = many(POLICY "tenants:\n", "  t#: {lend: none}\n", POLICY_WARNINGS_MAX + 1, "");
        struct policy_doc *policy = decode_fine(text);

        assert_int_equal(policy->warnings_count, POLICY_WARNINGS_MAX + 1);
        policy_doc_free(policy);
        mem_free(text);
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

static int set_up(void **state)
{
        (void)state;
        struct err err = {0};

        models = model_table_new();
        vocab = vocab_new();
        return models && vocab && model_doc_builtin(models, &err) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        model_table_free(models);
        vocab_free(vocab);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(five_lines_are_a_policy),
                cmocka_unit_test(presets_differ_as_the_manual_says),
                cmocka_unit_test(every_word_of_a_tenant_is_read),
                cmocka_unit_test(parents_promise_what_their_children_are_promised),
                cmocka_unit_test(every_word_of_a_class_is_read),
                cmocka_unit_test(reservations_principals_trust_and_data_are_read),
                cmocka_unit_test(what_is_in_vain_is_a_warning),
                cmocka_unit_test(what_binds_is_no_warning),
                cmocka_unit_test(bad_documents_are_refused_with_place_and_way_out),
                cmocka_unit_test(tables_hold_what_they_say_and_no_more),
                cmocka_unit_test(warnings_beyond_the_bound_are_counted),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(amounts_and_durations_read_well),
                cmocka_unit_test(the_examples_are_read),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
