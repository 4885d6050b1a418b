/* Work is as its document says: submitted once, scaled, replaced, each in one act. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/declare.h"
#include "tests/unit/controller/world.h"

static struct world world;
static struct declare_plan plan;
static struct submitted submitted;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "declare");
        world.simulate = true;
        world_furnish(&world);
        world_tick(&world, 0);
        return 0;
}

static int end(void **state)
{
        (void)state;
        declare_done(&plan);
        world_done(&world);
        return 0;
}

/* Puts "kind: Workload, tenant: web, run" and what else is said; settled. */
static int put_as(const struct declare_wish *given, const char *rest)
{
        struct submission submission = {0};
        struct declare_wish wish = *given;
        struct ack ack = {0};
        char text[600];

        snprintf(text, sizeof text, "{kind: Workload, tenant: web, "
                                    "run: {command: [sleep, \"3600\"]}, %s}", rest);
        declare_done(&plan);
        submitted = (struct submitted){0};
        int rc = submission_read(world.live.core, text, strlen(text), false, NULL,
                                 &submission, &world.err);
        wish.submission = &submission;
        wish.who = wish.who ? wish.who : &world.who;
        if (rc == 0)
                rc = declare_plan(&world.live, &wish, &plan, &world.err);
        if (rc == 0 && plan.change != DECLARE_NOTHING) {
                struct act *act = world_act(&world);
                rc = declare_decide(&world.live, act, &wish, &plan, &submitted, &world.err);
                world_commit(&world, act, rc ? NULL : &ack);
                world_settle(&world);
                assert_true(rc != 0 || (ack.calls == 1 && ack.rc == 0));
        }
        submission_done(&submission);
        return rc;
}

static int put(const char *rest)
{
        return put_as(&(struct declare_wish){0}, rest);
}

static void expect(const char *rest, enum declare change, uint32_t submits, uint32_t cancels)
{
        if (put(rest) < 0)
                fail_msg("%s: %s", rest, world.err.text);
        assert_string_equal(declare_name(plan.change), declare_name(change));
        assert_int_equal(plan.submits, submits);
        assert_int_equal(plan.cancels, cancels);
        assert_int_equal(submitted.count, submits);
        assert_int_equal(submitted.refused, 0);
}

static void refused(const char *rest, const struct declare_wish *wish, int code, const char *says)
{
        uint64_t hash = world_hash(&world);

        assert_int_equal(put_as(wish, rest), -code);
        if (!strstr(world.err.text, says))
                fail_msg("'%s' does not say '%s'", world.err.text, says);
        assert_int_equal(world_hash(&world), hash);
}

static uint32_t living(const char *name)
{
        const struct work *work = works_named(core_works(world.live.core), "web", name);
        uint32_t count = 0;

        for (; work; work = works_find(core_works(world.live.core), work->older))
                count += work->wish != WISH_CANCEL;
        return count;
}

#define FULL "each: {devices: 4, model: H100-80}, members: 3"

static void the_same_document_changes_nothing(void **state)
{
        (void)state;
        expect("name: a, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        uint64_t seq = core_last_seq(world.live.core);
        expect("name: a, each: {devices: 1}", DECLARE_NOTHING, 0, 0);
        expect("each: {\"devices\": 1}, name: \"a\"", DECLARE_NOTHING, 0, 0);
        expect("each: {devices: 1}, name: a, where: {}", DECLARE_NOTHING, 0, 0);
        assert_int_equal(core_last_seq(world.live.core), seq);
}

static void a_service_is_scaled(void **state)
{
        (void)state;
        expect("name: s, each: {devices: 1}, service: {replicas: 2, port: 80}", DECLARE_SUBMITTED,
               2, 0);
        uint32_t number = works_named(core_works(world.live.core), "web", "s")->document;
        uint64_t first = submitted.first_id;
        expect("name: s, each: {devices: 1}, service: {replicas: 5, port: 80}", DECLARE_SCALED, 3,
               0);
        assert_int_equal(living("s"), 5);
        /* They are of one service: spread holds between all. */
        assert_int_equal(works_named(core_works(world.live.core), "web", "s")->document, number);
        expect("name: s, each: {devices: 1}, service: {replicas: 1, port: 80}", DECLARE_SCALED, 0,
               4);
        assert_int_equal(living("s"), 1);
        assert_int_equal(world_work(&world, first)->wish, WISH_NONE);   /* the oldest stays */
        /* What was lost comes back. */
        struct ack ack;
        assert_int_equal(world_cancel(&world, first, &ack), 0);
        world_tick(&world, 60000);
        assert_int_equal(living("s"), 0);
        expect("name: s, each: {devices: 1}, service: {replicas: 1, port: 80}", DECLARE_SUBMITTED,
               1, 0);
        /* After a restart, too: the row is of the newest document. */
        expect("name: s, each: {devices: 1}, service: {replicas: 3, port: 80}", DECLARE_SCALED, 2,
               0);
        world_stop(&world);
        world_start(&world);
        expect("name: s, each: {devices: 1}, service: {port: 80, replicas: 3}", DECLARE_NOTHING, 0,
               0);
}

static void what_waits_is_replaced_and_what_runs_is_not(void **state)
{
        (void)state;
        struct declare_wish replaces = {.replace = true};
        expect("name: full, " FULL, DECLARE_SUBMITTED, 1, 0);
        uint64_t full = submitted.first_id;
        expect("name: w, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        uint64_t first = submitted.first_id;
        expect("name: w, each: {devices: 2}", DECLARE_REPLACED, 1, 1);
        assert_null(world_work(&world, first));
        assert_int_equal(living("w"), 1);
        refused("name: full, retries: 3, " FULL, &(struct declare_wish){0}, ERR_EXISTS,
                "runs, and its document changes (retries): replace=true");
        assert_int_equal(put_as(&replaces, "name: full, retries: 3, " FULL), 0);
        assert_int_equal(plan.change, DECLARE_REPLACED);
        assert_int_equal(living("full"), 1);
        assert_int_equal(world_work(&world, full)->wish, WISH_CANCEL);
}

static void held_stays_held_and_let_go_stays_so(void **state)
{
        (void)state;
        expect("name: h, hold: true, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        expect("name: h, each: {devices: 1}, retries: 1", DECLARE_REPLACED, 1, 1);
        assert_int_equal(world_work(&world, submitted.first_id)->epoch, 0);
        const struct input go = {.kind = INPUT_HOLD_CHANGED, .hold = {submitted.first_id, false}};
        expect("name: full, " FULL, DECLARE_SUBMITTED, 1, 0);
        struct act *act = world_act(&world);
        assert_int_equal(core_input(act, &go, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        expect("name: h, hold: true, each: {devices: 1}", DECLARE_REPLACED, 1, 1);
        const struct state *engine = core_state(world.live.core);
        uint32_t slot = state_workload(engine, submitted.first_id);
        assert_int_equal(engine->workloads[slot].holds & HOLD_USER, 0);
}

static void what_others_wait_for_or_is_not_ones_own_stays(void **state)
{
        (void)state;
        struct who other = {.name = "other", .grants_count = 1};
        (void)str_copy(other.grants[0].tenant, sizeof other.grants[0].tenant, "web");
        other.grants[0].role = ROLE_SUBMITTER;
        char tag[DECLARE_TAG_MAX];
        expect("name: full, " FULL, DECLARE_SUBMITTED, 1, 0);
        expect("name: first, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        expect("name: then, after: [first], each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        refused("name: first, each: {devices: 2}", &(struct declare_wish){0}, ERR_EXISTS,
                "waits for workload 2 ('after')");
        refused("name: then, each: {devices: 2}", &(struct declare_wish){.who = &other}, ERR_DENIED,
                "workload 3");
        declare_tag("something else", tag);
        refused("name: then, each: {devices: 2}", &(struct declare_wish){.tag = tag}, ERR_EXISTS,
                "has another document by now");
        refused("name: gone, each: {devices: 2}", &(struct declare_wish){.tag = tag}, ERR_EXISTS,
                "has ended by now");
}

static void a_number_means_one_of_a_name(void **state)
{
        (void)state;
        struct submitted one;
        struct ack ack = {0};
        static const char text[] = "{kind: Workload, tenant: web, name: n, each: {devices: 1}, "
                                   "run: {command: [sleep, \"3600\"]}}";
        expect("name: full, " FULL, DECLARE_SUBMITTED, 1, 0);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(world_submit(&world, text, &ack, &one), 0);
        world_settle(&world);
        struct declare_wish wish = {.id = one.first_id - 1};
        assert_int_equal(put_as(&wish, "name: n, each: {devices: 2}"), 0);
        assert_int_equal(plan.cancels, 1);
        assert_int_equal(living("n"), 3);
        assert_null(world_work(&world, one.first_id - 1));
        expect("name: n, each: {devices: 3}", DECLARE_REPLACED, 1, 3);
        assert_int_equal(living("n"), 1);
}

static void a_change_counts_what_it_adds(void **state)
{
        (void)state;
        static const char policy[] = "{kind: Policy, preset: equal, default_class: training,"
                                     " tenants: {web: {limit_each: {jobs: %u}}}}";
        char text[200];

        snprintf(text, sizeof text, policy, 3);
        assert_int_equal(world_put_policy(&world, text), 0);
        expect("name: full, " FULL, DECLARE_SUBMITTED, 1, 0);
        expect("name: a, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        expect("name: b, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        refused("name: c, each: {devices: 1}", &(struct declare_wish){0}, ERR_LIMIT,
                "has 3 of at most 3");
        expect("name: a, each: {devices: 2}", DECLARE_REPLACED, 1, 1);
        refused("name: a, array: 1-2, each: {devices: 2}", &(struct declare_wish){0}, ERR_LIMIT,
                "'a' is 1 more, and");
        assert_int_equal(living("a"), 1);
        /* Also above a limit that was lowered; and running work, which is still there for a while. */
        snprintf(text, sizeof text, policy, 1);
        assert_int_equal(world_put_policy(&world, text), 0);
        expect("name: b, each: {devices: 2}", DECLARE_REPLACED, 1, 1);
        assert_int_equal(put_as(&(struct declare_wish){.replace = true},
                                "name: full, each: {devices: 3, model: H100-80}, members: 3"), 0);
        assert_int_equal(living("full"), 1);
        /* What another person has does not go for it. */
        (void)str_copy(world.who.name, sizeof world.who.name, "else");
        expect("name: d, each: {devices: 1}", DECLARE_SUBMITTED, 1, 0);
        refused("name: a, each: {devices: 1}", &(struct declare_wish){0}, ERR_LIMIT,
                "else has 1 of at most 1");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_same_document_changes_nothing, begin, end),
                cmocka_unit_test_setup_teardown(a_service_is_scaled, begin, end),
                cmocka_unit_test_setup_teardown(what_waits_is_replaced_and_what_runs_is_not, begin,
                                                end),
                cmocka_unit_test_setup_teardown(held_stays_held_and_let_go_stays_so, begin, end),
                cmocka_unit_test_setup_teardown(what_others_wait_for_or_is_not_ones_own_stays,
                                                begin, end),
                cmocka_unit_test_setup_teardown(a_number_means_one_of_a_name, begin, end),
                cmocka_unit_test_setup_teardown(a_change_counts_what_it_adds, begin, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
