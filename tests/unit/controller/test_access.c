/* Who may what; and what may not be seen reads like what is not there. */
#include "tests/unit/check.h"

#include "tests/unit/controller/world.h"

static struct world world;
static const struct tenancy *tenancy;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "access");
        world_furnish(&world);
        tenancy = core_tenancy(world.live.core);
        return 0;
}

static int end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

static void roles_hold_for_their_tenant_and_all_below(void **state)
{
        (void)state;
        static const struct {
                const char *who, *tenant;
                const char *may;        /* s: see, u: submit, m: manage, a: see all, o: operate */
        } rows[] = {
                {"ana", "lab/a", "su"},         /* submitter of lab/a */
                {"ana", "lab", ""},
                {"ana", "lab/b", ""},
                {"ana", "lab/ab", ""},          /* begins alike */
                {"ana", "web", ""},
                {"ana", NULL, ""},
                {"bob", "lab", "sum"},          /* tenant-admin of lab */
                {"bob", "lab/a", "sum"},
                {"bob", "lab/b/deep", "sum"},
                {"bob", "labs", ""},
                {"bob", "web", ""},
                {"bob", NULL, ""},
                {"eve", "web", "s"},            /* viewer of web */
                {"eve", "lab/a", ""},
                {"aud", "web", "sa"},           /* auditor */
                {"aud", NULL, "sa"},
        };
        static const char letters[] = "sumao";
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                struct who who;
                assert_true(access_of_principal(rows[r].who, tenancy, &who));
                for (unsigned action = 0; action < 5; action++) {
                        bool may = access_may(&who, (enum action)action, rows[r].tenant);
                        if (may != (strchr(rows[r].may, letters[action]) != NULL))
                                fail_msg("%s, tenant %s, action %c: %d", rows[r].who,
                                         rows[r].tenant ? rows[r].tenant : "-", letters[action],
                                         may);
                }
        }
}

static void local_users_are_known_by_their_uid(void **state)
{
        (void)state;
        struct who who;
        access_of_uid(60001, 500, tenancy, &who);
        assert_string_equal(who.name, "ana");
        assert_int_equal(who.pool_role, POOL_ROLE_NONE);
        assert_true(access_may(&who, ACTION_SUBMIT, "lab/a"));
        access_of_uid(60003, 500, tenancy, &who);
        assert_false(access_may(&who, ACTION_SUBMIT, "lab/a"));
        access_of_uid(61111, 500, tenancy, &who);       /* nobody */
        assert_int_equal(who.grants_count, 0);
        assert_false(access_may(&who, ACTION_SEE, "web"));
        assert_string_equal(who.name, "uid 61111");
        access_of_uid(61111, 61111, tenancy, &who);     /* runs the controller */
        assert_true(access_may(&who, ACTION_OPERATE, NULL));
        access_of_uid(0, 500, NULL, &who);              /* root, and no policy yet */
        assert_true(access_may(&who, ACTION_OPERATE, NULL));
        assert_false(access_of_principal("nobody", tenancy, &who));
        assert_false(access_of_principal("ana", NULL, &who));
}

static void what_may_not_be_seen_reads_as_missing(void **state)
{
        (void)state;
        struct who who;
        struct err err = {0};
        assert_true(access_of_principal("ana", tenancy, &who));
        assert_int_equal(access_need(&who, ACTION_SEE, "web", "workload 7", &err), -ERR_NOT_FOUND);
        assert_string_equal(err.text, "workload 7 is not here, or not for ana to see");
        assert_int_equal(access_need(&who, ACTION_SUBMIT, "web", "web", &err), -ERR_NOT_FOUND);
        assert_int_equal(access_need(&who, ACTION_MANAGE, "lab/a", "workload 7", &err),
                         -ERR_DENIED);
        check_has(err.text, "a tenant-admin");
        assert_int_equal(access_need(&who, ACTION_OPERATE, NULL, "nodes", &err), -ERR_DENIED);
        assert_int_equal(access_need(&who, ACTION_SUBMIT, "lab/a", "lab/a", &err), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(roles_hold_for_their_tenant_and_all_below),
                cmocka_unit_test(local_users_are_known_by_their_uid),
                cmocka_unit_test(what_may_not_be_seen_reads_as_missing),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
