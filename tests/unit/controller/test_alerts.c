/* Alerts over a disk that fails and in virtual time: when they fire, and that a restart neither
 * forgets one nor raises it again. */
#include "tests/unit/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/alerts.h"
#include "controller/usage.h"
#include "engine/ledger.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/review.h"
#include "tests/unit/controller/world.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

static struct world world;

static int start(void **state)
{
        (void)state;
        world_init(&world, "alerts");
        world.keeps_models = true;
        world_furnish(&world);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* ---- steps ---- */

/* Ticks and looks until so much later. */
static void pass(int64_t ms, int64_t step_ms)
{
        for (int64_t end_ms = world.now_ms + ms; world.now_ms < end_ms;) {
                world_tick(&world, step_ms);
                alerts_look(world.live.alerts, world.now_ms);
                world_settle(&world);
        }
}

static void freeze(bool frozen)
{
        const struct input input = {.kind = INPUT_FREEZE_SET, .freeze = {.frozen = frozen}};
        struct act *act = world_act(&world);
        assert_int_equal(core_input(act, &input, NULL, &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
}

static void set_alerts(const char *rules)
{
        char text[2048];
        snprintf(text, sizeof text, "%salerts: %s\n", world_policy, rules);
        if (world_put_policy(&world, text) < 0)
                fail_msg("%s", world.err.text);
}

/* The one of kind and subject that fires; NULL: none does. */
static const struct alert *firing(enum alert_kind kind, const char *subject)
{
        const struct alert *alert, *found = NULL;
        uint32_t cursor = 0;
        while ((alert = alerts_next(world.live.alerts, &cursor)))
                if (alert->kind == kind && str_equal(alert->subject, subject)) {
                        assert_null(found);
                        found = alert;
                }
        return found;
}

/* Notes of the log that begin so. */
static unsigned notes(const char *begin)
{
        struct log_cursor *cursor;
        struct record record;
        unsigned count = 0;
        assert_int_equal(log_read(core_view(world.live.core), 1, &cursor, NULL), 0);
        while (log_next(cursor, &record, NULL) > 0)
                count += record.kind == RECORD_NOTE && record.size > strlen(begin) &&
                         memcmp(record.body, begin, strlen(begin)) == 0;
        log_cursor_free(cursor);
        return count;
}

static struct alert row_of(uint64_t id)
{
        struct object_copy *copy;
        struct alert alert = {0};
        assert_int_equal(objects_get(core_view(world.live.core), OBJECT_ALERT, id, &copy, NULL), 0);
        assert_true(alert_of_object(&copy->object, &alert));
        mem_free(copy);
        return alert;
}

/* All three speak, so that they are up. */
static void agents_speak(void)
{
        static const char *const names[] = {"n1", "n2", "n3"};
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                json_decref(world_report(&world, names[n], "[]"));
}

static void speak_for(int64_t ms)
{
        for (int64_t end_ms = world.now_ms + ms; world.now_ms < end_ms;) {
                agents_speak();
                pass(5 * SECOND, 5 * SECOND);
        }
}

/* ---- tests ---- */

static void a_broken_promise_fires_once_over_crashes(void **state)
{
        (void)state;
        set_alerts("{stale_node: off, agent_version: off}");
        agents_speak();
        freeze(true);
        uint64_t id = world_job(&world, "web", "due", 2);
        int64_t due_ms = world.now_ms;
        speak_for(10 * MINUTE);
        assert_null(firing(ALERT_BROKEN_PROMISE, "web"));
        world_crash(&world, FAULT_LOSE_ALL, 1);         /* while it is pending */
        world_start(&world);
        speak_for(4 * MINUTE);
        assert_null(firing(ALERT_BROKEN_PROMISE, "web"));
        speak_for(90 * SECOND);
        const struct alert *alert = firing(ALERT_BROKEN_PROMISE, "web");
        assert_non_null(alert);
        assert_true(alert->since_ms <= due_ms + 10 * SECOND);
        assert_true(alert->fired_ms - alert->since_ms >= 15 * MINUTE);
        assert_string_equal(alert->tenant, "web");
        char name[32];
        snprintf(name, sizeof name, "workload %" PRIu64, id);
        check_has(alert->text, name);
        const struct alert then = *alert;
        for (unsigned round = 0; round < 3; round++) {
                world_crash(&world, FAULT_LOSE_ALL, 2 + round);
                world_start(&world);
                speak_for(20 * SECOND);
                alert = firing(ALERT_BROKEN_PROMISE, "web");
                assert_non_null(alert);
                assert_int_equal(alert->id, then.id);
                assert_int_equal(alert->since_ms, then.since_ms);
                assert_int_equal(alert->fired_ms, then.fired_ms);
        }
        assert_int_equal(notes("{\"alert_raised\":"), 1);

        freeze(false);
        speak_for(10 * SECOND);
        assert_non_null(firing(ALERT_BROKEN_PROMISE, "web"));   /* not gone for long enough */
        world.now_ms -= 300 * SECOND;           /* the clock is set back */
        speak_for(80 * SECOND);
        assert_null(firing(ALERT_BROKEN_PROMISE, "web"));
        assert_int_equal(row_of(then.id).state, ALERT_RESOLVED);
        assert_int_equal(notes("{\"alert_raised\":"), 1);
        assert_int_equal(notes("{\"alert_resolved\":"), 1);
        world_crash(&world, FAULT_LOSE_ALL, 7);
        world_start(&world);
        speak_for(30 * SECOND);
        assert_null(firing(ALERT_BROKEN_PROMISE, "web"));
        assert_int_equal(notes("{\"alert_"), 2);
}

/* Each waits for a moment only: nobody's promise is broken. */
static void a_queue_that_moves_breaks_no_promise(void **state)
{
        (void)state;
        set_alerts("{stale_node: off, agent_version: off, broken_promise: 60s}");
        agents_speak();
        freeze(true);
        for (unsigned j = 0; j < 6; j++) {
                char name[16];
                snprintf(name, sizeof name, "j%u", j);
                uint64_t id = world_job(&world, "web", name, 1);
                speak_for(40 * SECOND);
                assert_int_equal(world_cancel(&world, id, NULL), 0);
                world_settle(&world);
        }
        assert_null(firing(ALERT_BROKEN_PROMISE, "web"));
        world_job(&world, "web", "stays", 1);
        speak_for(80 * SECOND);
        assert_non_null(firing(ALERT_BROKEN_PROMISE, "web"));
}

static void a_silent_node_fires_and_a_restart_leaves_it(void **state)
{
        (void)state;
        set_alerts("{stale_node: 2m, agent_version: off, for: 10s}");
        agents_speak();
        pass(MINUTE, 5 * SECOND);
        json_decref(world_report(&world, "n1", "[]"));
        assert_null(firing(ALERT_STALE_NODE, "n2"));
        pass(70 * SECOND, 5 * SECOND);
        assert_null(firing(ALERT_STALE_NODE, "n1"));
        const struct alert *alert = firing(ALERT_STALE_NODE, "n2");
        assert_non_null(alert);
        uint64_t id = alert->id;
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        json_decref(world_report(&world, "n3", "[]"));
        pass(30 * SECOND, 5 * SECOND);
        assert_null(firing(ALERT_STALE_NODE, "n3"));    /* it has spoken */
        alert = firing(ALERT_STALE_NODE, "n2");         /* and this one not yet */
        assert_non_null(alert);
        assert_int_equal(alert->id, id);
        json_decref(world_report(&world, "n2", "[]"));
        pass(20 * SECOND, 5 * SECOND);
        assert_null(firing(ALERT_STALE_NODE, "n2"));
}

static void an_agent_of_another_version_is_told(void **state)
{
        (void)state;
        set_alerts("{for: 5s}");
        agents_speak();                 /* "0.1"; the controller of the test has none */
        pass(15 * SECOND, 5 * SECOND);
        const struct alert *alert = firing(ALERT_AGENT_VERSION, "n1");
        assert_non_null(alert);
        check_has(alert->text, "0.1");
        set_alerts("{agent_version: off, for: 5s}");    /* switched off, it is over */
        pass(20 * SECOND, 5 * SECOND);
        assert_null(firing(ALERT_AGENT_VERSION, "n1"));
}

static void submit(const char *name, const char *each)
{
        char text[400];
        struct submitted submitted;
        snprintf(text, sizeof text,
                 "{kind: Workload, name: %s, tenant: web, each: {%s}, "
                 "run: {command: [sleep, '60']}}", name, each);
        if (world_submit(&world, text, NULL, &submitted) < 0)
                fail_msg("%s", world.err.text);
        world_settle(&world);
}

/* Nodes of four have three taken, and work of three or four leaves the rest of each; the node of
 * two could not take such work if it were empty. */
static void too_small_a_node_is_not_fragmented(void **state)
{
        (void)state;
        char text[600];
        snprintf(text, sizeof text,
                 "%s  - {name: n4, plane: training, devices: {model: A100-40, count: 2}, cpu: 64,"
                 " ram: 512Gi}\n", world_pool);
        assert_int_equal(world_put_pool(&world, text), 0);
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: off, for: 5s}");
        agents_speak();
        json_decref(world_report(&world, "n4", "[]"));
        for (unsigned j = 0; j < 3; j++)
                submit(j == 0 ? "a" : j == 1 ? "b" : "c", "devices: 3, model: H100-80");
        submit("any", "devices: 4");    /* waits */
        pass(15 * SECOND, 5 * SECOND);
        const struct ledger *ledger = usage_ledger(world.live.usage);
        int number = model_find(world.models, "A100-40", NULL);
        assert_int_equal(ledger_units_now(ledger, (unsigned)number, BUCKET_STRANDED),
                         2 * UNITS_DEVICE);
        assert_null(firing(ALERT_FRAGMENTATION, "A100-40"));
        const struct alert *alert = firing(ALERT_FRAGMENTATION, "H100-80");
        assert_non_null(alert);
        assert_int_equal(alert->value, 1000);
}

/* 256 workloads: six are 23 thousandths, five 19, four 15. */
static void a_share_that_hovers_is_one_alert(void **state)
{
        (void)state;
        uint64_t ids[6];
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: 0.02, for: 10s}");
        agents_speak();
        freeze(true);
        for (unsigned j = 0; j < ARRAY_LEN(ids); j++) {
                char name[16];
                snprintf(name, sizeof name, "h%u", j);
                ids[j] = world_job(&world, "lab/a", name, 1);
        }
        pass(5 * SECOND, 5 * SECOND);
        assert_null(firing(ALERT_MEMORY_PRESSURE, "workloads"));        /* not for long enough */
        pass(10 * SECOND, 5 * SECOND);
        const struct alert *alert = firing(ALERT_MEMORY_PRESSURE, "workloads");
        assert_non_null(alert);
        uint64_t id = alert->id;
        assert_int_equal(alert->value, 23);
        assert_int_equal(alert->threshold, 20);
        assert_int_equal(world_cancel(&world, ids[0], NULL), 0);
        pass(MINUTE, 5 * SECOND);
        alert = firing(ALERT_MEMORY_PRESSURE, "workloads");
        assert_non_null(alert);         /* below, and not far below */
        assert_int_equal(alert->id, id);
        assert_int_equal(world_cancel(&world, ids[1], NULL), 0);
        pass(MINUTE, 5 * SECOND);
        assert_null(firing(ALERT_MEMORY_PRESSURE, "workloads"));
}

static void a_one_off_is_over_when_it_is_acknowledged(void **state)
{
        (void)state;
        struct alerts *alerts = world.live.alerts;
        struct alert told;
        struct err err;
        char reason[ALERT_REASON_MAX + 1];
        uint64_t id = alerts_raise(alerts, ALERT_QUARANTINED, "input 7", "web", "first",
                                   world.now_ms);
        assert_true(id > 0);
        assert_int_equal(alerts_raise(alerts, ALERT_QUARANTINED, "input 7", "web", "again",
                                      world.now_ms), id);
        pass(5 * MINUTE, MINUTE);
        assert_string_equal(firing(ALERT_QUARANTINED, "input 7")->text, "again");
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        alerts = world.live.alerts;
        pass(5 * MINUTE, MINUTE);
        assert_non_null(firing(ALERT_QUARANTINED, "input 7"));

        memset(reason, 'x', sizeof reason);
        reason[sizeof reason - 1] = '\0';
        struct act *act = world_act(&world);
        assert_int_equal(alerts_acknowledge(alerts, act, 999, "op", "", world.now_ms, &told, &err),
                         -ERR_NOT_FOUND);
        assert_int_equal(alerts_acknowledge(alerts, act, id, "op", reason, world.now_ms, &told,
                                            &err), -ERR_RANGE);
        reason[sizeof reason - 2] = '\0';
        assert_int_equal(alerts_acknowledge(alerts, act, id, "op", reason, world.now_ms, &told,
                                            &err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
        assert_int_equal(told.state, ALERT_RESOLVED);
        assert_null(firing(ALERT_QUARANTINED, "input 7"));
        world_crash(&world, FAULT_LOSE_ALL, 2);
        world_start(&world);
        assert_null(firing(ALERT_QUARANTINED, "input 7"));
        assert_string_equal(row_of(id).acknowledged_by, "op");
        assert_string_equal(row_of(id).reason, reason);
        /* The next one is another one. */
        assert_true(alerts_raise(world.live.alerts, ALERT_QUARANTINED, "input 7", "", "new",
                                 world.now_ms) > id);
}

static void somebody_who_looks_after_it_is_known_after_a_crash(void **state)
{
        (void)state;
        struct alert told;
        struct err err;
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: 0.001, for: 0s}");
        agents_speak();
        world_job(&world, "web", "one", 1);
        pass(2 * SECOND, SECOND);
        uint64_t id = firing(ALERT_MEMORY_PRESSURE, "workloads")->id;
        struct act *act = world_act(&world);
        assert_int_equal(alerts_acknowledge(world.live.alerts, act, id, "ana", "on it",
                                            world.now_ms, &told, &err), 0);
        assert_int_equal(alerts_acknowledge(world.live.alerts, act, id, "bob", "", world.now_ms,
                                            &told, &err), -ERR_EXISTS);
        check_has(err.text, "ana has acknowledged");
        world_commit(&world, act, NULL);
        world_settle(&world);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        pass(2 * SECOND, SECOND);
        const struct alert *alert = firing(ALERT_MEMORY_PRESSURE, "workloads");
        assert_int_equal(alert->id, id);
        assert_string_equal(alert->acknowledged_by, "ana");
        assert_int_equal(notes("{\"alert_acknowledged\":"), 1);
}

static void count_day(const char *measure, int64_t days_ago)
{
        const struct review_row row = {
                .day_ms = world.now_ms - world.now_ms % REVIEW_DAY_MS - days_ago * REVIEW_DAY_MS,
                .tenant = "web", .class = "training", .model = "", .measure = measure,
                .detail = "", .amount = 1};
        struct act *act = world_act(&world);
        assert_int_equal(core_review(act, &row, &world.err), 0);
        assert_int_equal(core_note(act, "{\"counted\":1}", &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
}

/* The days are summed once, and the newest again and again: what the old ones said stays. */
static void checkpoints_that_nothing_goes_on_from_are_told(void **state)
{
        (void)state;
        set_alerts("{stale_node: off, agent_version: off, for: 0s}");
        pass(2 * SECOND, SECOND);
        assert_null(firing(ALERT_RESTORE_TEST, "training"));
        count_day("checkpoints", 40);
        count_day("checkpoints", 0);
        pass(6 * MINUTE, MINUTE);
        const struct alert *alert = firing(ALERT_RESTORE_TEST, "training");
        assert_non_null(alert);
        check_has(alert->text, "has written checkpoints for 40 days, and none was ever gone on");
        int64_t since_ms = alert->since_ms;
        for (unsigned round = 0; round < 3; round++) {
                assert_int_equal(live_count_usage(&world.live, world.now_ms, &world.err), 0);
                world_settle(&world);
                pass(6 * MINUTE, MINUTE);
                alert = firing(ALERT_RESTORE_TEST, "training");
                assert_non_null(alert);
                assert_int_equal(alert->since_ms, since_ms);
        }
        count_day("restores", 0);
        pass(6 * MINUTE, MINUTE);
        assert_null(firing(ALERT_RESTORE_TEST, "training"));
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        pass(6 * MINUTE, MINUTE);
        assert_null(firing(ALERT_RESTORE_TEST, "training"));
}

static void what_nobody_was_to_be_told_is_never_told(void **state)
{
        (void)state;
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: 0.001, for: 0s}");
        agents_speak();
        world_job(&world, "web", "one", 1);
        (void)alerts_raise(world.live.alerts, ALERT_QUARANTINED, "7", "", "still", world.now_ms);
        pass(2 * SECOND, SECOND);
        assert_non_null(firing(ALERT_MEMORY_PRESSURE, "workloads"));
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: off, for: 0s}");
        pass(3 * SECOND, SECOND);
        assert_null(firing(ALERT_MEMORY_PRESSURE, "workloads"));
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: off, for: 0s, "
                   "webhook: {url: 'http://127.0.0.1:1/'}}");
        pass(2 * SECOND, SECOND);
        assert_int_equal(alerts_figures(world.live.alerts).waiting, 0);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_non_null(firing(ALERT_QUARANTINED, "7"));
        assert_int_equal(alerts_figures(world.live.alerts).waiting, 0);
}

/* It cannot be kept, and is shown all the same; when the store is back, it is kept too. */
static void a_store_that_has_failed_is_told_at_once(void **state)
{
        (void)state;
        struct fault_vfs *disk = world.disks[world.disk];
        struct err err;
        set_alerts("{stale_node: off, agent_version: off, cycle_age: off, for: 5s}");
        fault_vfs_fail(disk, FAULT_EIO, fault_vfs_operations(disk) + 1, 1000000);
        struct ack ack = {0};
        struct submitted submitted;
        (void)world_submit(&world, "kind: Workload\nname: lost\ntenant: web\neach: {devices: 1}\n"
                                   "run: {command: [x]}\n", &ack, &submitted);
        world_settle(&world);
        assert_true(core_may_act(world.live.core, &err) < 0);
        world.now_ms += 10 * SECOND;
        alerts_look(world.live.alerts, world.now_ms);
        const struct alert *alert = firing(ALERT_STORE_FAILED, "store");
        assert_non_null(alert);
        check_has(alert->text, "nothing can be kept");
        uint64_t id = alert->id;
        fault_vfs_fail(disk, FAULT_EIO, 0, 0);
        core_retry(world.live.core);
        world_settle(&world);
        assert_int_equal(core_may_act(world.live.core, &err), 0);
        pass(20 * SECOND, SECOND);
        assert_null(firing(ALERT_STORE_FAILED, "store"));
        assert_int_equal(row_of(id).state, ALERT_RESOLVED);
        assert_int_equal(notes("{\"alert_raised\":"), 1);
        assert_int_equal(notes("{\"alert_resolved\":"), 1);
}

static void what_does_not_fit_is_counted(void **state)
{
        (void)state;
        char name[32];
        for (unsigned a = 0; a < ALERTS_MAX; a++) {
                snprintf(name, sizeof name, "input %u", a);
                if (alerts_raise(world.live.alerts, ALERT_QUARANTINED, name, "", "x",
                                 world.now_ms) == 0)
                        fail_msg("number %u does not fit", a);
        }
        assert_int_equal(alerts_figures(world.live.alerts).left_out, 0);
        assert_int_equal(alerts_raise(world.live.alerts, ALERT_QUARANTINED, "more", "", "x",
                                      world.now_ms), 0);
        assert_int_equal(alerts_figures(world.live.alerts).left_out, 1);
        assert_int_equal(alerts_figures(world.live.alerts).firing[ALERT_QUARANTINED], ALERTS_MAX);
        pass(20 * SECOND, 2 * SECOND);  /* a thousand are kept at a look */
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(alerts_figures(world.live.alerts).firing[ALERT_QUARANTINED], ALERTS_MAX);
}

/* A name that is cut is cut between letters; one that is switched off is no alert. */
static void odd_names_are_kept(void **state)
{
        (void)state;
        char name[200];
        for (size_t at = 0; at + 2 < sizeof name; at += 2)
                memcpy(name + at, "\xc3\xa4", 3);
        uint64_t id = alerts_raise(world.live.alerts, ALERT_QUARANTINED, name, "", name,
                                   world.now_ms);
        pass(2 * SECOND, SECOND);
        assert_int_equal(strlen(row_of(id).subject), ALERT_SUBJECT_MAX - 2);
        set_alerts("{quarantined_input: off}");
        assert_int_equal(alerts_raise(world.live.alerts, ALERT_QUARANTINED, "other", "", "x",
                                      world.now_ms), 0);
}

/* Out of memory anywhere: what could not be raised now is raised at the next look. */
static void without_memory_it_comes_later(void **state)
{
        (void)state;
        set_alerts("{stale_node: off, agent_version: off, memory_pressure: 0.001, for: 0s}");
        agents_speak();
        for (unsigned long n = 1; n < 400; n++) {
                world.now_ms += 2 * SECOND;
                mem_fail_at(n);
                alerts_look(world.live.alerts, world.now_ms);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                world_settle(&world);
                if (!happened)
                        break;
        }
        pass(4 * SECOND, SECOND);
        assert_non_null(firing(ALERT_MEMORY_PRESSURE, "nodes"));
        assert_int_equal(row_of(firing(ALERT_MEMORY_PRESSURE, "nodes")->id).state, ALERT_FIRING);
}

/* Written by a program that is newer, or by a hand. */
static void put_unreadable(uint64_t id)
{
        const struct object odd = {.kind = OBJECT_ALERT, .id = id, .tenant = "", .name = "first",
                                   .class = "of_another_day", .owner = "", .state = "firing",
                                   .detail = "{}", .created_ms = world.now_ms,
                                   .updated_ms = world.now_ms};
        struct act *act = world_act(&world);
        assert_int_equal(core_put(act, &odd, &world.err), 0);
        assert_int_equal(core_note(act, "{\"alerts\":\"kept\"}", &world.err), 0);
        world_commit(&world, act, NULL);
        world_settle(&world);
}

static void a_row_that_cannot_be_read_is_left_out_and_said(void **state)
{
        (void)state;
        struct alerts *alerts = world.live.alerts;
        uint64_t first = alerts_raise(alerts, ALERT_QUARANTINED, "first", "", "one", world.now_ms);
        uint64_t other = alerts_raise(alerts, ALERT_QUARANTINED, "other", "", "two", world.now_ms);
        pass(2 * SECOND, SECOND);
        put_unreadable(first);
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        alerts = world.live.alerts;
        assert_null(firing(ALERT_QUARANTINED, "first"));
        assert_int_equal(firing(ALERT_QUARANTINED, "other")->id, other);
        struct alerts_figures figures = alerts_figures(alerts);
        assert_int_equal(figures.unread, 1);
        assert_int_equal(figures.unread_id, first);
        /* The pool goes on, and what is still so is raised anew. */
        pass(5 * SECOND, SECOND);
        assert_true(alerts_raise(alerts, ALERT_QUARANTINED, "first", "", "one", world.now_ms) >
                    other);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
        const struct CMUnitTest tests[] = {
                WORLD_TEST(a_broken_promise_fires_once_over_crashes),
                WORLD_TEST(what_nobody_was_to_be_told_is_never_told),
                WORLD_TEST(checkpoints_that_nothing_goes_on_from_are_told),
                WORLD_TEST(a_queue_that_moves_breaks_no_promise),
                WORLD_TEST(a_silent_node_fires_and_a_restart_leaves_it),
                WORLD_TEST(an_agent_of_another_version_is_told),
                WORLD_TEST(too_small_a_node_is_not_fragmented),
                WORLD_TEST(a_share_that_hovers_is_one_alert),
                WORLD_TEST(a_one_off_is_over_when_it_is_acknowledged),
                WORLD_TEST(somebody_who_looks_after_it_is_known_after_a_crash),
                WORLD_TEST(a_store_that_has_failed_is_told_at_once),
                WORLD_TEST(what_does_not_fit_is_counted),
                WORLD_TEST(odd_names_are_kept),
                WORLD_TEST(without_memory_it_comes_later),
                WORLD_TEST(a_row_that_cannot_be_read_is_left_out_and_said),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
