/* What the numbers of a policy must keep to each other and to the pool, and what is in vain. */
#include "tests/unit/proto/policy.h"

#define A POLICY "tenants:\n  a: "

static const struct refusal bad_promises[] = {
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
};

static void promises_that_cannot_hold_are_refused(void **state)
{
        (void)state;
        check_refused(bad_promises, ARRAY_LEN(bad_promises));
}

static const struct refusal beyond_the_pool[] = {
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

static void what_the_pool_has_not_is_refused(void **state)
{
        (void)state;
        check_refused(beyond_the_pool, ARRAY_LEN(beyond_the_pool));
}

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
                 "p.yaml:5: field 'tenants.a.tenants.b.limit.T4': the limit of 3 devices for T4 "
                 "can never bind: above it stands 2"},
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

static void warnings_beyond_the_bound_are_counted(void **state)
{
        (void)state;
        char *text = many(POLICY "tenants:\n", "  t#: {lend: none}\n", POLICY_WARNINGS_MAX + 1, "");
        struct policy_doc *policy = decode_fine(text);

        assert_int_equal(policy->warnings_count, POLICY_WARNINGS_MAX + 1);
        policy_doc_free(policy);
        mem_free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(promises_that_cannot_hold_are_refused),
                cmocka_unit_test(what_the_pool_has_not_is_refused),
                cmocka_unit_test(what_is_in_vain_is_a_warning),
                cmocka_unit_test(what_binds_is_no_warning),
                cmocka_unit_test(warnings_beyond_the_bound_are_counted),
        };
        return cmocka_run_group_tests(tests, words_load, words_drop);
}
