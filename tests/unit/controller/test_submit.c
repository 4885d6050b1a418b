/* Documents become workloads: all of an array or none, after others, services. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/controller/world.h"

static struct world world;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "submit");
        world.simulate = true;                  /* nodes are there at once */
        world_furnish(&world);
        world_tick(&world, 0);
        return 0;
}

static int end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* Submits "kind: Workload, tenant: web, each: {devices: 1}, run" and what else is said; settled. */
static int submit(const char *rest, struct submitted *ret)
{
        char text[600];
        struct ack ack = {0};
        snprintf(text, sizeof text,
                 "{kind: Workload, tenant: web, each: {devices: 1, model: H100-80},"
                 " run: {command: [sleep, \"3600\"]}, %s}", rest);
        int rc = world_submit(&world, text, &ack, ret);
        world_settle(&world);
        if (rc == 0)
                assert_int_equal(ack.rc, 0);
        return rc;
}

static void expect_row(uint64_t id, const char *wanted)
{
        char is[32], detail[512];
        world_row(&world, id, is, detail);
        assert_string_equal(is, wanted);
}

/* Decided, and not durable yet. */
static void finish_soon(uint64_t id, enum input_kind kind)
{
        const struct input input = {.kind = kind, .workload = id};
        struct act *act = world_act(&world);
        if (core_input(act, &input, NULL, &world.err) < 0)
                fail_msg("%s", world.err.text);
        world_commit(&world, act, NULL);
}

static void finish(uint64_t id, enum input_kind kind)
{
        finish_soon(id, kind);
        world_settle(&world);
}

static unsigned holds(uint64_t id)
{
        const struct state *state = core_state(world.live.core);
        uint32_t slot = state_workload(state, id);
        assert_int_not_equal(slot, NONE);
        return state->workloads[slot].holds;
}

static void an_array_is_one_document_and_many_workloads(void **state)
{
        (void)state;
        struct submitted submitted;
        assert_int_equal(submit("name: a, array: 1-20", &submitted), 0);
        assert_int_equal(submitted.count, 20);
        assert_int_equal(works_count(core_works(world.live.core)), 20);
        for (uint32_t i = 0; i < 20; i++) {
                const struct work *work = world_work(&world, submitted.first_id + i);
                assert_string_equal(work->name, "a");
                assert_true(work->document != 0);
                assert_int_equal(work->document, world_work(&world, submitted.first_id)->document);
                expect_row(submitted.first_id + i, "live");
        }
        state_check(core_state(world.live.core));
}

static void an_array_that_does_not_fit_into_the_tables_leaves_nothing(void **state)
{
        (void)state;
        struct submitted submitted;
        assert_int_equal(submit("name: a, array: 1-200", &submitted), 0);
        uint64_t hash = world_hash(&world), next = submitted.first_id + 200;
        assert_int_equal(submit("name: b, array: 1-100", &submitted), -ERR_FULL);
        check_has(world.err.text, "takes 56 more now");
        assert_int_equal(world_hash(&world), hash);
        assert_int_equal(works_count(core_works(world.live.core)), 200);
        expect_row(next, "missing");
        assert_int_equal(submit("name: b, array: 1-56", &submitted), 0);
        assert_int_equal(works_count(core_works(world.live.core)), 256);
}

/* The table of works has room, but something else fails on the way: here memory. */
static void an_array_that_fails_half_way_leaves_nothing(void **state)
{
        (void)state;
        struct submitted submitted;
        uint64_t hash = world_hash(&world);
        static const char text[] = "{kind: Workload, tenant: web, name: a, array: 1-30,"
                                   " each: {devices: 1, model: H100-80}, run: {command: [x]}}";
        unsigned undone = 0;
        int happened = 1;
        for (unsigned long n = 1; happened; n += 7) {
                mem_fail_at(n);
                int rc = world_submit(&world, text, NULL, &submitted);
                happened = mem_fail_happened();
                mem_fail_at(0);
                world_settle(&world);
                assert_int_equal(core_may_act(world.live.core, NULL), 0);
                state_check(core_state(world.live.core));
                if (rc < 0) {
                        undone++;
                        assert_int_equal(world_hash(&world), hash);
                        assert_int_equal(works_count(core_works(world.live.core)), 0);
                        continue;
                }
                /* It did without what it did not get. */
                assert_int_equal(works_count(core_works(world.live.core)), 30);
                end(state);
                begin(state);
                assert_int_equal(world_hash(&world), hash);
        }
        assert_true(undone > 20);
}

static void a_document_too_large_for_so_many_is_refused_before(void **state)
{
        (void)state;
        static char text[400000], rest[sizeof text];
        struct submitted submitted;
        memset(text, 'x', sizeof text - 400);
        for (size_t i = 30000; i < sizeof text - 400; i += 30000)
                memcpy(text + i, "\", \"", 4);
        snprintf(rest, sizeof rest, "{kind: Workload, name: a, tenant: web, array: 1-250,"
                 " each: {devices: 1}, run: {command: [\"%s\"]}}", text);
        uint64_t hash = world_hash(&world);
        assert_int_equal(world_submit(&world, rest, NULL, &submitted), -ERR_FULL);
        check_has(world.err.text, "more than one request may bring");
        world_settle(&world);
        assert_int_equal(world_hash(&world), hash);
}

static void a_service_is_its_replicas(void **state)
{
        (void)state;
        struct submitted submitted;
        assert_int_equal(submit("name: s, service: {replicas: 3, port: 8000}", &submitted), 0);
        assert_int_equal(submitted.count, 3);
        world_tick(&world, 2000);
        for (uint32_t i = 0; i < 3; i++)
                assert_true(world_work(&world, submitted.first_id + i)->epoch > 0);
}

/* Whoever submits one behind the other never hears that there is no such work. */
static void what_is_just_ending_is_neither_there_nor_gone(void **state)
{
        (void)state;
        struct submitted first, second;
        assert_int_equal(submit("name: a", &first), 0);
        finish_soon(first.first_id, INPUT_EXITED);
        assert_int_equal(submit("name: b, after: [a]", &second), -ERR_CANCELLED);
        check_has(world.err.text, "try again");
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
        assert_false(holds(second.first_id) & HOLD_AFTER);
}

static void work_waits_for_the_good_end_of_what_it_comes_after(void **state)
{
        (void)state;
        struct submitted first, second;
        assert_int_equal(submit("name: b, after: [a]", &second), -ERR_NOT_FOUND);
        check_has(world.err.text, "no workload 'a'");
        assert_int_equal(submit("name: a", &first), 0);
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
        assert_true(holds(second.first_id) & HOLD_AFTER);
        finish(first.first_id, INPUT_EXITED);
        assert_false(holds(second.first_id) & HOLD_AFTER);
        expect_row(first.first_id, "succeeded");
        assert_int_equal(submit("name: c, after: [a]", &second), 0);    /* long over, and well */
        assert_false(holds(second.first_id) & HOLD_AFTER);
}

static void work_after_what_failed_is_refused(void **state)
{
        (void)state;
        struct submitted first, second, third;
        char is[32], detail[512];
        assert_int_equal(submit("name: a", &first), 0);
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
        assert_int_equal(submit("name: c, after: [b]", &third), 0);
        finish(first.first_id, INPUT_FAILED);
        assert_null(world_work(&world, second.first_id));
        assert_null(world_work(&world, third.first_id));
        expect_row(first.first_id, "failed");
        expect_row(third.first_id, "refused");
        world_row(&world, second.first_id, is, detail);
        assert_string_equal(is, "refused");
        check_has(detail, "did not end well");
        assert_int_equal(submit("name: d, after: [a]", &second), -ERR_INPUT);
        check_has(world.err.text, "failed");
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(works_count(core_works(world.live.core)), 0);
}

/* Tasks end in any order. */
static void work_after_an_array_waits_for_all_its_tasks(void **state)
{
        (void)state;
        struct submitted array, second;
        assert_int_equal(submit("name: a, array: 1-3", &array), 0);
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
        finish(array.first_id + 2, INPUT_EXITED);
        assert_true(holds(second.first_id) & HOLD_AFTER);
        assert_int_equal(submit("name: c, after: [a]", &second), 0);
        assert_true(holds(second.first_id) & HOLD_AFTER);
        finish(array.first_id, INPUT_EXITED);
        finish(array.first_id + 1, INPUT_EXITED);
        assert_false(holds(second.first_id) & HOLD_AFTER);
        assert_false(holds(second.first_id - 1) & HOLD_AFTER);
        assert_int_equal(submit("name: d, after: [a]", &second), 0);
}

static void work_after_an_array_of_which_one_failed_is_refused(void **state)
{
        (void)state;
        struct submitted array, second;
        assert_int_equal(submit("name: a, array: 1-3", &array), 0);
        finish(array.first_id + 1, INPUT_FAILED);
        assert_int_equal(submit("name: b, after: [a]", &second), -ERR_INPUT);
        finish(array.first_id, INPUT_EXITED);
        finish(array.first_id + 2, INPUT_EXITED);       /* the newest ended well */
        assert_int_equal(submit("name: b, after: [a]", &second), -ERR_INPUT);
        assert_int_equal(submit("name: a", &array), 0); /* another one of that name */
        finish(array.first_id, INPUT_EXITED);
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
}

static void more_than_can_be_waited_for_is_said(void **state)
{
        (void)state;
        struct submitted array, second;
        assert_int_equal(submit("name: a, array: 1-9", &array), 0);
        assert_int_equal(submit("name: b, after: [a]", &second), -ERR_RANGE);
        check_has(world.err.text, "more than 8 workloads");
        finish(array.first_id + 4, INPUT_EXITED);
        assert_int_equal(submit("name: b, after: [a]", &second), 0);
}

static void what_the_engine_refuses_is_known_and_over(void **state)
{
        (void)state;
        struct submitted submitted;
        struct ack ack = {0};
        assert_int_equal(world_submit(&world,
                                      "{kind: Workload, name: a, tenant: web,"
                                      " each: {devices: 16, model: H100-80}, run: {command: [x]}}",
                                      &ack, &submitted),
                         0);
        world_settle(&world);
        assert_int_equal(ack.rc, 0);
        assert_int_equal(submitted.refused, 1);
        assert_null(world_work(&world, submitted.first_id));
        expect_row(submitted.first_id, "refused");
        assert_int_equal(world_job(&world, "web", "b", 1), submitted.first_id + 1);
}

static void documents_are_read_again_under_another_policy(void **state)
{
        (void)state;
        struct submitted submitted;
        char text[2048];
        struct object_copy *copy;
        struct submission submission;
        assert_int_equal(submit("name: a", &submitted), 0);
        snprintf(text, sizeof text, "%s", world_policy);
        char *line = strstr(text, "default_class:");
        memmove(line, strchr(line, '\n') + 1, strlen(strchr(line, '\n')));
        int rc = world_put_policy(&world, text);
        if (rc < 0)
                fail_msg("%s", world.err.text);
        assert_int_equal(objects_get(core_view(world.live.core), OBJECT_WORKLOAD,
                                     submitted.first_id, &copy, NULL),
                         0);
        assert_int_equal(submission_read_again(world.live.core, &copy->object, &submission,
                                               &world.err),
                         0);
        submission_done(&submission);
        mem_free(copy);
}

/* ---- limits of persons ---- */

#define PERSONS_POLICY(web, ana)                                                \
        "{kind: Policy, preset: equal, default_class: training,"                \
        " tenants: {web: " web ", lab: {tenants: {a: {}, b: {}}}},"             \
        " principals: [" ana "{name: ben, tenants: {web: submitter}}]}"

static void be(const char *name)
{
        (void)str_copy(world.who.name, sizeof world.who.name, name);
}

static int submit_to(const char *tenant, const char *name, unsigned tasks,
                     struct submitted *ret)
{
        char text[300];
        snprintf(text, sizeof text, "{kind: Workload, tenant: %s, name: %s, array: 1-%u,"
                 " each: {devices: 1, model: H100-80}, run: {command: [x]}}", tenant, name, tasks);
        int rc = world_submit(&world, text, NULL, ret);
        world_settle(&world);
        return rc;
}

static uint32_t count_of(const char *user, const char *tenant)
{
        return works_of_person(core_works(world.live.core), user, tenant);
}

static void a_person_has_no_more_than_the_policy_says(void **state)
{
        (void)state;
        struct submitted submitted, first;
        assert_int_equal(world_put_policy(&world, PERSONS_POLICY("{limit_each: {jobs: 4}}",
                "{name: ana, limit: {jobs: 8}, tenants: {web: submitter,"
                " lab: {role: submitter, jobs: 5}}}, ")), 0);
        be("ana");
        assert_int_equal(submit_to("web", "w", 4, &first), 0);
        uint64_t hash = world_hash(&world);
        assert_int_equal(submit_to("web", "x", 1, &submitted), -ERR_LIMIT);
        check_has(world.err.text, "workload 'x' is 1 more, and ana has 4 of at most 4 waiting and "
                                  "running in tenant web (policy: limit_each of the tenant)");
        check_has(world.err.text, "ask an operator");
        assert_int_equal(world_hash(&world), hash);
        /* Nothing is taken of an array of which some would fit; tenants below count together. */
        assert_int_equal(submit_to("lab/a", "a", 3, &submitted), 0);
        assert_int_equal(submit_to("lab/b", "b", 3, &submitted), -ERR_LIMIT);
        check_has(world.err.text, "is 3 more, and ana has 3 of at most 5");
        check_has(world.err.text, "tenant lab (policy: jobs of the principal there)");
        assert_int_equal(count_of("ana", "lab/b"), 0);
        assert_int_equal(count_of("ana", ""), 7);
        assert_int_equal(submit_to("lab/b", "b", 2, &submitted), -ERR_LIMIT);
        check_has(world.err.text, "ana has 7 of at most 8 waiting and running in all tenants "
                                  "together (policy: limit of the principal)");
        assert_int_equal(submit_to("lab/b", "b", 1, &submitted), 0);
        /* Others are counted apart, also those that are no principals. */
        be("ben");
        assert_int_equal(submit_to("web", "v", 4, &submitted), 0);
        be("root");
        assert_int_equal(submit_to("web", "u", 5, &submitted), -ERR_LIMIT);
        /* What has ended makes room, once that is decided. */
        be("ana");
        finish(first.first_id, INPUT_EXITED);
        assert_int_equal(count_of("ana", "web"), 3);
        assert_int_equal(submit_to("web", "x", 1, &submitted), 0);
        be("operator");
}

static void a_lower_limit_leaves_what_is_there(void **state)
{
        (void)state;
        struct submitted submitted;
        be("ben");
        assert_int_equal(submit_to("web", "w", 5, &submitted), 0);
        assert_int_equal(world_put_policy(&world, PERSONS_POLICY("{limit_each: {jobs: 2}}", "")),
                         0);
        world_tick(&world, 1000);
        assert_int_equal(count_of("ben", "web"), 5);
        assert_int_equal(submit_to("web", "x", 1, &submitted), -ERR_LIMIT);
        check_has(world.err.text, "ben has 5 of at most 2");
        assert_int_equal(world_put_policy(&world, PERSONS_POLICY("{limit_each: {jobs: 2}}",
                "{name: ana, tenants: {web: {role: submitter, jobs: unlimited}}}, ")), 0);
        be("ana");
        assert_int_equal(submit_to("web", "y", 30, &submitted), 0);
        be("operator");
}

static void counts_of_persons_survive_whatever_happens(void **state)
{
        (void)state;
        struct submitted submitted, lost;
        static const char text[] = "{kind: Workload, tenant: web, name: a, array: 1-30,"
                                   " each: {devices: 1, model: H100-80}, run: {command: [x]}}";
        assert_int_equal(world_put_policy(&world, PERSONS_POLICY("{limit_each: {jobs: 10}}",
                "{name: ana, tenants: {web: {role: submitter, jobs: 60}}}, ")), 0);
        be("ana");
        assert_int_equal(submit_to("web", "w", 7, &submitted), 0);
        finish(submitted.first_id + 2, INPUT_FAILED);
        assert_int_equal(count_of("ana", "web"), 6);
        /* An act that is undone half way makes the state anew. */
        int happened = 1;
        unsigned undone = 0;
        for (unsigned long n = 1; happened && undone < 20; n += 40) {
                mem_fail_at(n);
                int rc = world_submit(&world, text, NULL, &lost);
                happened = mem_fail_happened();
                mem_fail_at(0);
                world_settle(&world);
                if (rc == 0)
                        break;
                undone++;
                assert_int_equal(count_of("ana", "web"), 6);
                assert_int_equal(count_of("ana", ""), 6);
        }
        assert_true(undone > 2);
        uint32_t before = count_of("ana", "");
        /* Decided and not durable: it counts at once, and is gone with the power. */
        assert_int_equal(world_submit(&world, "{kind: Workload, tenant: web, name: z,"
                                      " each: {devices: 1}, run: {command: [x]}}", NULL, &lost), 0);
        assert_int_equal(count_of("ana", ""), before + 1);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(count_of("ana", ""), before);
        assert_int_equal(count_of("ana", "web"), before);
        assert_int_equal(count_of("ben", "web"), 0);
        be("operator");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                T(an_array_is_one_document_and_many_workloads),
                T(an_array_that_does_not_fit_into_the_tables_leaves_nothing),
                T(an_array_that_fails_half_way_leaves_nothing),
                T(a_document_too_large_for_so_many_is_refused_before),
                T(a_service_is_its_replicas),
                T(what_is_just_ending_is_neither_there_nor_gone),
                T(work_waits_for_the_good_end_of_what_it_comes_after),
                T(work_after_what_failed_is_refused),
                T(work_after_an_array_waits_for_all_its_tasks),
                T(work_after_an_array_of_which_one_failed_is_refused),
                T(more_than_can_be_waited_for_is_said),
                T(what_the_engine_refuses_is_known_and_over),
                T(documents_are_read_again_under_another_policy),
                T(a_person_has_no_more_than_the_policy_says),
                T(a_lower_limit_leaves_what_is_there),
                T(counts_of_persons_survive_whatever_happens),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
