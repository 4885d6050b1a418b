/* A store that is older than what nodes were given: what agents say of it, and what comes of that. */
#include "tests/unit/controller/agents.h"

#include "base/mem.h"
#include "controller/alerts.h"
#include "store/log.h"

#define LOG "00000000000000aa"

static struct fault_vfs *copy;

static int begin(void **state)
{
        (void)state;
        world_init(&world, "restored");
        world.numbers = (struct numbers_wish){.log = 0xaa, .epoch_min = 1000000,
                                              .chance = NUMBERS_CHANCE_MIN};
        world_furnish(&world);
        report("n1", "[]");
        report("n2", "[]");
        report("n3", "[]");
        copy = fault_vfs_new("restored-copy");
        return 0;
}

static int end(void **state)
{
        int rc = agents_end(state);
        fault_vfs_free(copy);
        return rc;
}

static void back_up(void)
{
        fault_vfs_after_crash(world.disks[world.disk], copy, FAULT_LOSE_ALL, 1);
}

/* `clock_us`: what the clock says at the start. */
static void restore(uint64_t clock_us)
{
        world_stop(&world);
        world.disk = 1 - world.disk;
        fault_vfs_after_crash(copy, world.disks[world.disk], FAULT_LOSE_ALL, 1);
        world.numbers.epoch_min = clock_us;
        world_start(&world);
}

/* An exchange of an agent that was given so much. NULL: refused. */
static json_t *given(const char *node, const char *what, const char *runs)
{
        char text[600];
        snprintf(text, sizeof text,
                 "{\"protocol\":1,\"agent\":\"0\",\"boot\":\"b\",\"seen\":0,\"given\":%s,\"runs\":%s}",
                 what, runs);
        json_t *it = json_loads(text, 0, NULL);
        assert_non_null(it);
        return world_exchange(&world, node, it);
}

static const char *newest(uint64_t epoch, uint64_t workload)
{
        static char text[100];
        snprintf(text, sizeof text, "{\"log\":\"" LOG "\",\"epoch\":%llu,\"workload\":%llu}",
                 (unsigned long long)epoch, (unsigned long long)workload);
        return text;
}

static void taken(const char *node, const char *what)
{
        json_t *answer = given(node, what, "[]");
        if (!answer)
                fail_msg("%s: %s", node, world.err.text);
        json_decref(answer);
}

static unsigned alerts_of(const char *node)
{
        unsigned count = 0;
        uint32_t cursor = 0;
        const struct alert *it;
        while ((it = alerts_next(world.live.alerts, &cursor)))
                count += it->kind == ALERT_STORE_BEHIND && strcmp(it->subject, node) == 0;
        return count;
}

static void the_clock_alone_keeps_epochs_apart(void **state)
{
        (void)state;
        back_up();
        uint64_t id = world_job(&world, "web", "lost", 1), epoch = world_work(&world, id)->epoch;
        assert_true(epoch >= 1000000);
        restore(9000000);
        uint64_t again = world_job(&world, "web", "other", 1);
        assert_int_equal(again, id);            /* nobody has said a word yet */
        assert_true(world_work(&world, again)->epoch >= 9000000);
        epoch = world_work(&world, again)->epoch;
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_work(&world, again)->epoch, epoch);
        world_stop(&world);
        world_start(&world);
        assert_int_equal(core_snapshot(world.live.core, NULL), 0);
        world_settle(&world);
        world_stop(&world);
        world_start(&world);
        assert_true(world.told.had_snapshot);
        assert_int_equal(world_work(&world, again)->epoch, epoch);
}

static void what_an_agent_was_given_is_passed_and_said(void **state)
{
        (void)state;
        back_up();
        for (unsigned j = 0; j < 9; j++)
                (void)world_job(&world, "web", "lost", 1);
        uint64_t first = world_job(&world, "web", "last", 1), epoch = world_work(&world, first)->epoch;
        taken("n1", newest(epoch, first));
        assert_int_equal(alerts_of("n1"), 0);
        restore(500);                           /* the clock was set back */
        taken("n1", newest(epoch, first));
        taken("n1", newest(epoch, first));      /* it may be said again */
        assert_int_equal(alerts_of("n1"), 1);
        taken("n2", newest(epoch - 4, first - 1));
        assert_int_equal(alerts_of("n2"), 1);
        taken("n3", newest(0, 0));
        assert_int_equal(alerts_of("n3"), 0);
        uint64_t id = world_job(&world, "web", "next", 1);
        assert_int_equal(id, first + 1);
        assert_true(world_work(&world, id)->epoch > epoch);
        assert_false(core_knows(world.live.core, epoch, 1));
        /* Also when nothing but the log is left of it. */
        epoch = world_work(&world, id)->epoch;
        world_crash(&world, FAULT_LOSE_ALL, 1);
        world_start(&world);
        assert_int_equal(world_work(&world, id)->epoch, epoch);
        assert_int_equal(world_job(&world, "web", "after", 1), id + 1);
}

static void an_older_copy_that_goes_on_meets_nothing_it_has_given(void **state)
{
        (void)state;
        uint64_t was[20];
        back_up();
        for (unsigned j = 0; j < ARRAY_LEN(was); j++) {
                was[j] = world_job(&world, "web", "lost", 1);
                if (world_work(&world, was[j])->epoch)
                        was[j] = world_work(&world, was[j])->epoch;
        }
        restore(0);                             /* no clock, and nobody has spoken */
        for (unsigned j = 0; j < ARRAY_LEN(was); j++) {
                uint64_t id = world_job(&world, "web", "new", 1);
                for (unsigned k = 0; k < ARRAY_LEN(was); k++)
                        assert_true(world_work(&world, id)->epoch != was[k] || was[k] < 1000);
        }
}

static void who_works_for_another_pool_or_says_what_cannot_be_is_refused(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int code;
                const char *why;
        } rows[] = {
                {"7", ERR_INPUT, "field 'given'"},
                {"{}", ERR_INPUT, "field 'given'"},
                {"{\"epoch\":-1,\"workload\":0}", ERR_INPUT, "field 'given'"},
                {"{\"epoch\":1.5,\"workload\":0}", ERR_INPUT, "field 'given'"},
                {"{\"epoch\":1,\"workload\":\"1\"}", ERR_INPUT, "field 'given'"},
                {"{\"log\":\"aa\",\"epoch\":1,\"workload\":1}", ERR_INPUT, "field 'given'"},
                {"{\"log\":\"00000000000000ab\",\"epoch\":1,\"workload\":1}", ERR_EXISTS,
                 "works for the pool of log 00000000000000ab, and this is the pool of log " LOG},
                {"{\"epoch\":9223372036854775807,\"workload\":1}", ERR_INPUT, "'epochs' is damaged"},
                {"{\"epoch\":4503599627370496,\"workload\":1}", ERR_INPUT, "'epochs' is damaged"},
                {"{\"epoch\":1,\"workload\":9223372036854775807}", ERR_INPUT, "'epochs' is damaged"},
                {"{\"epoch\":1,\"workload\":100000002}", ERR_INPUT, "'epochs' is damaged"},
        };
        uint64_t before = core_take_ids(world.live.core, 0);
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                assert_null(given("n1", rows[r].what, "[]"));
                assert_int_equal(world.err.code, rows[r].code);
                check_has(world.err.text, rows[r].why);
        }
        assert_int_equal(core_take_ids(world.live.core, 0), before);
        /* The bounds themselves are believed, and leave room for all that comes. */
        taken("n1", "{\"epoch\":4503599627370495,\"workload\":100000001}");
        uint64_t id = world_job(&world, "web", "high", 1), epoch = world_work(&world, id)->epoch;
        assert_int_equal(id, 100000002);
        assert_true(epoch > NUMBERS_EPOCH_MAX - 1);
        taken("n2", newest(epoch, id));         /* it was given that here, so it is no wonder */
        for (unsigned s = 0; s < 5; s++) {
                world_crash(&world, FAULT_LOSE_ALL, 1);
                world_start(&world);
                taken("n2", newest(epoch, id));
                id = world_job(&world, "web", "higher", 1);
                assert_true(world_work(&world, id)->epoch == 0 ||
                            world_work(&world, id)->epoch > epoch);
        }
}

static void a_second_controller_on_a_copy_is_noticed(void **state)
{
        (void)state;
        uint64_t id = world_job(&world, "web", "j", 1), epoch = world_work(&world, id)->epoch;
        taken("n1", newest(epoch, id));
        assert_null(given("n1", newest(epoch + 1000000, id + 1), "[]"));
        assert_int_equal(world.err.code, ERR_EXISTS);
        check_has(world.err.text, "by another controller since it first spoke with this one");
        taken("n1", newest(epoch, id));
}

static void what_ended_in_a_lost_log_is_taken_as_it_ended(void **state)
{
        (void)state;
        static const struct {
                const char *says;
                bool waits;                     /* again; else it has ended so */
                const char *row;
        } rows[] = {
                {"\"phase\":\"exited\",\"exit_code\":0,\"signal\":0,\"recalled\":true", false,
                 "succeeded"},
                {"\"phase\":\"exited\",\"exit_code\":3,\"signal\":0,\"recalled\":true", false, "failed"},
                {"\"phase\":\"exited\",\"exit_code\":0,\"signal\":15,\"told_to_end\":true,"
                 "\"recalled\":true", true, "live"},
                {"\"phase\":\"exited\",\"exit_code\":0,\"signal\":15,\"told_to_end\":true", false,
                 "failed"},
                {"\"phase\":\"refused\",\"superseded\":true,\"reason\":\"it has run here since\"", true,
                 "live"},
                {"\"phase\":\"refused\",\"reason\":\"not kept\"", false, "failed"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char name[8], row[32], detail[512];
                snprintf(name, sizeof name, "j%zu", r);
                uint64_t id = world_job(&world, "web", name, 1), epoch = world_work(&world, id)->epoch;
                json_decref(given(node_of(id, 0), newest(epoch, id), run(id, 0, rows[r].says)));
                world_settle(&world);
                world_row(&world, id, row, detail);
                assert_string_equal(row, rows[r].row);
                if (rows[r].waits)
                        assert_int_not_equal(world_work(&world, id)->epoch, epoch);
        }
}

/* How many notes of that kind the log has. */
static unsigned notes(const char *start)
{
        struct log_cursor *cursor;
        struct record record;
        unsigned count = 0;
        assert_int_equal(log_read(core_view(world.live.core), 1, &cursor, NULL), 0);
        while (log_next(cursor, &record, NULL) > 0)
                count += record.kind == RECORD_NOTE && record.size > strlen(start) &&
                         memcmp(record.body, start, strlen(start)) == 0;
        log_cursor_free(cursor);
        return count;
}

static void work_that_ran_in_a_lost_log_is_named(void **state)
{
        (void)state;
        char text[600];
        uint64_t known = world_job(&world, "web", "known", 1), waits = 0;
        for (unsigned j = 0; j < 12; j++)
                waits = world_job(&world, "web", "fill", 1);
        uint64_t early = world_work(&world, known)->epoch;
        assert_int_equal(world_work(&world, waits)->epoch, 0);
        back_up();
        uint64_t later = world_job(&world, "web", "later", 1);
        uint64_t late = numbers_epoch(core_numbers(world.live.core), core_last_seq(world.live.core));
        restore(9000000000);
        json_t *answer = given("n1", newest(late, later), "[]");
        assert_true(json_is_true(json_object_get(answer, "started")));
        json_decref(answer);
        uint64_t other = world_job(&world, "web", "other", 1);
        assert_true(other > later);
        /* What this log knows, what ran without it, what it never had, and nonsense. */
        snprintf(text, sizeof text,
                 "{\"protocol\":1,\"agent\":\"0\",\"boot\":\"b\",\"seen\":0,\"given\":%s,\"runs\":[],"
                 "\"started\":[{\"workload\":%llu,\"member\":0,\"epoch\":%llu},"
                 "{\"workload\":%llu,\"member\":0,\"epoch\":%llu},"
                 "{\"workload\":%llu,\"member\":0,\"epoch\":%llu},"
                 "{\"workload\":%llu,\"member\":0,\"epoch\":%llu}, 7]}",
                 newest(late, later), (unsigned long long)known, (unsigned long long)early,
                 (unsigned long long)waits, (unsigned long long)late, (unsigned long long)later,
                 (unsigned long long)late, (unsigned long long)other, (unsigned long long)late);
        for (unsigned round = 0; round < 2; round++) {
                answer = world_exchange(&world, "n1", json_loads(text, 0, NULL));
                assert_non_null(answer);
                assert_null(json_object_get(answer, "started"));
                json_decref(answer);
                assert_int_equal(notes("{\"ran_before\":{"), 1);
        }
        taken("n2", newest(early, known));
        assert_int_equal(notes("{\"numbers\":{"), 2);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_clock_alone_keeps_epochs_apart, begin, end),
                cmocka_unit_test_setup_teardown(what_an_agent_was_given_is_passed_and_said, begin,
                                                end),
                cmocka_unit_test_setup_teardown(
                        an_older_copy_that_goes_on_meets_nothing_it_has_given, begin, end),
                cmocka_unit_test_setup_teardown(
                        who_works_for_another_pool_or_says_what_cannot_be_is_refused, begin, end),
                cmocka_unit_test_setup_teardown(a_second_controller_on_a_copy_is_noticed, begin,
                                                end),
                cmocka_unit_test_setup_teardown(work_that_ran_in_a_lost_log_is_named, begin, end),
                cmocka_unit_test_setup_teardown(what_ended_in_a_lost_log_is_taken_as_it_ended, begin,
                                                end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
