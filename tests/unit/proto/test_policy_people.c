/* Trust domains, data labels, reservations and principals of a policy. */
#include "tests/unit/proto/policy.h"

#define RESERVE POLICY "tenants: {a: {}}\nreservations:\n  - "
#define PEOPLE  POLICY "tenants: {a: {}}\nprincipals:\n  - "

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
                "  - {name: ci@x, tenants: {c: tenant-admin}, pool: auditor}\n"
                "  - {name: old, tenants: {c: manager}}\n");
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
        for (unsigned p = 1; p < 3; p++)
                assert_int_equal(tenancy->principals[p].grants[0].role, ROLE_TENANT_ADMIN);
        policy_doc_free(policy);
}

static const struct refusal bad_trusts[] = {
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
};

static void bad_trusts_and_labels_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_trusts, ARRAY_LEN(bad_trusts));
}

static const struct refusal bad_reservations[] = {
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
};

static void bad_reservations_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_reservations, ARRAY_LEN(bad_reservations));
}

static const struct refusal bad_principals[] = {
        {PEOPLE "{name: ana, tenants: {b: viewer}}\n", "there is no tenant 'b'; known: 'a'"},
        {PEOPLE "{name: ana, tenants: {a: submiter}}\n", "did you mean 'submitter'"},
        {PEOPLE "{name: ana, tenants: {a: }}\n", "has no role"},
        {PEOPLE "{name: ana, tenants: [a]}\n", "is a list; write a map"},
        {PEOPLE "{name: ana, tenants: {a: {jobs: 3}}}\n", "role"},
        {PEOPLE "{name: ana, tenants: {a: {role: submitter, running: 3}}}\n", "running"},
        {PEOPLE "{name: ana, tenants: {a: {role: submitter, jobs: -1}}}\n", "'-1'"},
        {PEOPLE "{name: ana, tenants: {a: {role: submitter, jobs: none}}}\n", "'none'"},
        {PEOPLE "{name: ana, tenants: {a: {role: submitter, jobs: }}}\n", "has no amount"},
        {PEOPLE "{name: ana, limit: 50}\n", "field 'principals[0].limit'"},
        {PEOPLE "{name: ana, limit: {}}\n", "jobs"},
        {PEOPLE "{name: ana, limit: {running: 5}}\n", "not counted by person, only jobs are"},
        {PEOPLE "{name: ana, limit: {job: 5}}\n", "did you mean 'jobs'"},
        {POLICY "tenants: {a: {limit_each: {any: 5}}}\n",
         "field 'tenants.a.limit_each.any': is not counted by person"},
        {POLICY "tenants: {a: {limit_each: 5}}\n", "field 'tenants.a.limit_each'"},
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
};

static void bad_principals_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        check_refused(bad_principals, ARRAY_LEN(bad_principals));
}

static void limits_of_persons_are_read_in_both_forms(void **state)
{
        (void)state;
        struct policy_doc *policy = decode_fine(
                POLICY "tenants: {a: {limit_each: {jobs: 5}, tenants: {b: {}}},"
                " c: {limit_each: {jobs: unlimited}}}\n"
                "principals:\n"
                "  - {name: ana, limit: {jobs: 50}, tenants: {a/b: {role: submitter, jobs: 0},"
                " c: tenant-admin, a: {role: viewer, jobs: unlimited}}}\n"
                "  - {name: ben, tenants: {a: {role: submitter}}}\n");
        const struct tenancy *tenancy = policy->tenancy;
        const struct principal *ana = &tenancy->principals[0], *ben = &tenancy->principals[1];

        assert_int_equal(policy->warnings_count, 0);
        assert_true(tenancy->tenants[0].each_jobs == 5);
        assert_true(tenancy->tenants[1].each_jobs == AMOUNT_ABSENT);
        assert_true(tenancy->tenants[2].each_jobs == AMOUNT_UNLIMITED);
        assert_true(ana->jobs == 50 && ben->jobs == AMOUNT_ABSENT);
        assert_int_equal(ana->grants_count, 3);
        assert_true(ana->grants[0].jobs == 0 && ana->grants[0].role == ROLE_SUBMITTER);
        assert_true(ana->grants[1].jobs == AMOUNT_ABSENT && ana->grants[1].role == ROLE_TENANT_ADMIN);
        assert_true(ana->grants[2].jobs == AMOUNT_UNLIMITED && ana->grants[2].role == ROLE_VIEWER);
        assert_true(ben->grants[0].jobs == AMOUNT_ABSENT && ben->grants[0].role == ROLE_SUBMITTER);
        policy_doc_free(policy);
}

static void expect_warning(const char *text, const char *wanted)
{
        struct policy_doc *policy = decode_fine(text);

        if (wanted) {
                assert_int_equal(policy->warnings_count, 1);
                check_has(policy->warnings[0].text, wanted);
        } else {
                assert_int_equal(policy->warnings_count, 0);
        }
        policy_doc_free(policy);
}

static void limits_of_persons_that_never_bind_are_warned_of(void **state)
{
        (void)state;
        expect_warning(PEOPLE "{name: v, tenants: {a: {role: viewer, jobs: 3}}}\n",
                       "'v' may submit nothing there");
        expect_warning(PEOPLE "{name: v, limit: {jobs: 3}, tenants: {a: viewer}}\n",
                       "field 'principals[0].limit': has no effect: 'v' may submit nothing");
        expect_warning(PEOPLE "{name: v, limit: {jobs: 3}, tenants: {a: {role: submitter,"
                              " jobs: 4}}}\n",
                       "limit of 4 jobs can never bind: the person's own of all tenants stops at 3");
        expect_warning(PEOPLE "{name: v, limit: {jobs: 3}, tenants: {a: {role: submitter,"
                              " jobs: 3}}}\n", NULL);
        expect_warning(PEOPLE "{name: v, pool: operator, tenants: {a: {role: viewer, jobs: 3}}}\n",
                       NULL);
        /* Above the tenant's own limit the rest waits, and counts: that is no bound. */
        expect_warning(POLICY "tenants: {a: {limit: {jobs: 3}, limit_each: {jobs: 4}}}\n", NULL);
        expect_warning(POLICY "rules: {over_jobs: refuse}\n"
                              "tenants: {a: {limit: {jobs: 3}, limit_each: {jobs: 4}}}\n",
                       "field 'tenants.a.limit_each.jobs': the limit of 4 jobs can never bind: the "
                       "tenant's own limit stops at 3");
        expect_warning(POLICY "tenants: {a: {limit_each: {jobs: 3}, tenants: {b: {limit_each:"
                              " {jobs: 4}}}}}\n",
                       "limit_each of a tenant above it stops at 3");
        /* Somebody has a word of their own above. */
        expect_warning(POLICY "tenants: {a: {limit_each: {jobs: 3}, tenants: {b: {limit_each:"
                              " {jobs: 4}}}}}\n"
                              "principals: [{name: v, tenants: {a: {role: submitter, jobs: 9}}}]\n",
                       NULL);
        expect_warning(POLICY "tenants: {a: {tenants: {b: {}}}}\nprincipals:\n"
                              "  - {name: v, tenants: {a: {role: submitter, jobs: 3},"
                              " a/b: {role: submitter, jobs: 4}}}\n",
                       "the person's of a tenant above it stops at 3");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reservations_principals_trust_and_data_are_read),
                cmocka_unit_test(bad_trusts_and_labels_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_reservations_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_principals_are_refused_with_place_and_way_out),
                cmocka_unit_test(limits_of_persons_are_read_in_both_forms),
                cmocka_unit_test(limits_of_persons_that_never_bind_are_warned_of),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
