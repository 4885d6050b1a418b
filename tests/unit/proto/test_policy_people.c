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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reservations_principals_trust_and_data_are_read),
                cmocka_unit_test(bad_trusts_and_labels_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_reservations_are_refused_with_place_and_way_out),
                cmocka_unit_test(bad_principals_are_refused_with_place_and_way_out),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
