#include "tests/unit/trace/sacct.h"

#include "base/mem.h"

/* Most rows here. */
#define HEADER "JobID|Account|State|Submit|Start|ElapsedRaw|AllocTRES|NNodes\n"

static void a_row_becomes_a_job(void **state)
{
        (void)state;
        struct jobs jobs;

        parse("JobID|JobIDRaw|Account|User|Partition|QOS|State|Submit|Eligible|Start|End|"
              "ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES|NNodes|NodeList|Priority|Reason|ExitCode|"
              "Reserved|Suspended|DBIndex\n"
              "71|71|speech|amy|train|scav|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:30|"
              "2025-03-04T08:01:00|2025-03-04T09:01:00|3600|1440|cpu=32,gres/gpu=8,node=2|"
              "billing=8,cpu=33,gres/gpu:a100=8,gres/gpu=8,mem=401G,node=2|2|gpu[03-04]|1200|None|"
              "0:0|00:00:30|00:00:00|501\n",
              &jobs);
        assert_int_equal(jobs.count, 1);
        const struct job *job = &jobs.items[0];
        assert_int_equal(job->submit_ms, INT64_C(1741075200000));
        assert_int_equal(job->eligible_ms, job->submit_ms + 30000);
        assert_int_equal(job->duration_ms, 3600000);
        assert_int_equal(job->limit_ms, 1440 * 60000);
        assert_string_equal(jobs.tenants[job->tenant], "speech");
        assert_string_equal(jobs.classes[job->class], "scav");
        assert_string_equal(jobs.users[job->user], "amy");
        assert_int_equal(job->members, 2);
        assert_int_equal(job->devices, 4);
        assert_int_equal(job->cpu_milli, 16500);
        assert_int_equal(job->ram_mib, 205312);
        assert_string_equal(job->model, "a100");
        assert_string_equal(job->profile, "");
        assert_int_equal(job->array, 0);
        assert_int_equal(job->line, 2);
        assert_int_equal(job->end, JOB_DONE);
        assert_int_equal(jobs.left_out, 0);
        jobs_done(&jobs);
}

/* One job is kept of the rows. */
static void rows_become_one_job(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                int64_t duration_s;
                uint32_t requeues, end, never_ran, running, steps;
        } rows[] = {
                /* Requeued: two rows, the later submit is reset. */
                {"7|nlp|PREEMPTED|2025-03-04T08:00:00|2025-03-04T08:00:05|5400|cpu=1|1\n"
                 "7|nlp|COMPLETED|2025-03-04T09:30:05|2025-03-04T11:00:00|14400|cpu=1|1\n",
                 19800, 1, JOB_DONE, 0, 0, 0},
                /* The rows may come in any order. */
                {"7|nlp|COMPLETED|2025-03-04T09:30:05|2025-03-04T11:00:00|14400|cpu=1|1\n"
                 "7|nlp|NODE_FAIL|2025-03-04T08:00:00|2025-03-04T08:00:05|5400|cpu=1|1\n",
                 19800, 1, JOB_DONE, 0, 0, 0},
                {"7|nlp|REQUEUED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|REQUEUED|2025-03-04T08:10:05|2025-03-04T08:20:00|600|cpu=1|1\n"
                 "7|nlp|TIMEOUT|2025-03-04T08:30:00|2025-03-04T09:00:00|600|cpu=1|1\n",
                 1800, 2, JOB_TIMED_OUT, 0, 0, 0},
                /* Requeued, and cancelled before it ran again. */
                {"7|nlp|REQUEUED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|CANCELLED by 1001|2025-03-04T08:10:05|None|0||1\n",
                 600, 0, JOB_CANCELLED, 0, 0, 0},
                /* Requeued and waiting, held: what it ran so far. */
                {"7|nlp|REQUEUED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|PENDING|2025-03-04T08:10:05|Unknown|0||1\n",
                 600, 0, JOB_STOPPED, 0, 0, 0},
                {"7|nlp|REQUEUE_HOLD|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n", 600, 0,
                 JOB_STOPPED, 0, 0, 0},
                /* Requeued and running. */
                {"6|nlp|FAILED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|REQUEUED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|RUNNING|2025-03-04T08:10:05|2025-03-04T09:00:00|60|cpu=1|1\n",
                 600, 0, JOB_FAILED, 0, 1, 0},
                /* A change of size is no requeue. */
                {"7|nlp|RESIZING|2025-03-04T08:00:00|2025-03-04T08:00:00|600|cpu=1|1\n"
                 "7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:10:00|600|cpu=1|1\n",
                 1200, 0, JOB_DONE, 0, 0, 0},
                /* The same run out of two files, and its waiting out of a third. */
                {"7|nlp|PENDING|2025-03-04T08:00:00|Unknown|0||1\n"
                 "7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n" HEADER
                 "7|nlp|RUNNING|2025-03-04T08:00:00|2025-03-04T08:00:05|60|cpu=1|1\n"
                 "7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n",
                 600, 0, JOB_DONE, 0, 0, 0},
                /* What never ran: cancelled in the queue, refused, waiting, over at once. */
                {"6|nlp|OUT_OF_MEMORY|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7|nlp|CANCELLED by 1102|2025-03-04T08:40:00|Unknown|0||8\n"
                 "8|nlp|CANCELLED|2025-03-04T08:40:00|None|1200||8\n"
                 "9|nlp|FAILED|2025-03-04T09:30:00|2025-03-04T09:30:00|0||1\n"
                 "10|nlp|PENDING|2025-03-04T08:40:00|Unknown|0||1\n"
                 "11|nlp|FAILED|2025-03-04T09:30:00|2025-03-04T09:30:00|0|cpu=1|1\n",
                 600, 0, JOB_FAILED, 5, 0, 0},
                /* Steps, whatever they say. */
                {"7|nlp|DEADLINE|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
                 "7.batch|nlp|CANCELLED|2025-03-04T08:00:05|2025-03-04T08:00:05|655|cpu=16|1\n"
                 "7.extern|nlp|COMPLETED|||nonsense||\n7.0|||||||\n",
                 600, 0, JOB_TIMED_OUT, 0, 0, 3},
                {"7|nlp|BOOT_FAIL|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n", 600, 0,
                 JOB_NODE_FAILED, 0, 0, 0},
                {"7|nlp|PREEMPTED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n", 600, 0,
                 JOB_STOPPED, 0, 0, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[4096];
                struct jobs jobs;
                snprintf(text, sizeof text, "%s%s", HEADER, rows[i].text);
                parse(text, &jobs);
                assert_int_equal(jobs.count, 1);
                const struct job *job = &jobs.items[0];
                if (job->duration_ms != rows[i].duration_s * 1000 ||
                    job->requeues != rows[i].requeues || job->end != rows[i].end)
                        fail_msg("row %zu: %lld ms, %u requeues, end %u", i,
                                 (long long)job->duration_ms, job->requeues, job->end);
                assert_int_equal(job->submit_ms, INT64_C(1741075200000));
                assert_int_equal(jobs.left_never_ran, rows[i].never_ran);
                assert_int_equal(jobs.left_still_running, rows[i].running);
                assert_int_equal(jobs.left_steps, rows[i].steps);
                assert_int_equal(jobs.left_out, rows[i].never_ran + rows[i].running);
                jobs_done(&jobs);
        }
}

static void running_jobs_are_kept_on_request(void **state)
{
        (void)state;
        const struct sacct_options options = {.keep_running = true};
        struct jobs jobs;
        struct err err = {0};

        assert_int_equal(parse_with(HEADER "7|nlp|RUNNING|2025-03-04T08:00:00|2025-03-04T09:00:00|"
                                           "60|cpu=1|1\n",
                                    &options, &jobs, &err),
                         0);
        assert_int_equal(jobs.count, 1);
        assert_int_equal(jobs.items[0].duration_ms, 60000);
        assert_int_equal(jobs.items[0].end, JOB_STOPPED);
        assert_int_equal(notes.running, 1);
        jobs_done(&jobs);
}

static void a_number_that_comes_again_is_another_job(void **state)
{
        (void)state;
        struct jobs jobs;

        parse("User|" HEADER
              "ada|7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
              "bob|7|nlp|COMPLETED|2025-03-04T09:00:00|2025-03-04T09:00:00|600|cpu=1|1\n"
              "bob|7|nlp|COMPLETED|2025-03-05T09:10:01|2025-03-05T10:00:00|600|cpu=1|1\n"
              "bob|7|nlp|COMPLETED|2025-03-06T10:10:00|2025-03-06T11:00:00|600|cpu=1|1\n",
              &jobs);
        assert_int_equal(jobs.count, 3);
        assert_int_equal(notes.numbers_reused, 2);
        assert_int_equal(jobs.items[2].requeues, 1); /* a day behind, and no later */
        jobs_done(&jobs);

        parse("Cluster|" HEADER
              "north|7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
              "south|7|nlp|COMPLETED|2025-03-04T09:00:00|2025-03-04T09:00:05|600|cpu=1|1\n",
              &jobs);
        assert_int_equal(jobs.count, 2);
        assert_int_equal(notes.numbers_reused, 0);
        jobs_done(&jobs);
}

static void tasks_of_an_array_bear_its_number(void **state)
{
        (void)state;
        struct jobs jobs;

        /* The last task has the array's own JobIDRaw. Components of one job have their own. */
        parse("JobIDRaw|" HEADER
              "11|10_1|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
              "10|10_[3-9:2,12%2]|nlp|PENDING|2025-03-04T08:00:00|Unknown|0||1\n"
              "10|10_2|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:01:05|600|cpu=1|1\n"
              "21|20_1|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:01:05|600|cpu=1|1\n"
              "20|20_[1,3,5,...]|nlp|PENDING|2025-03-04T08:00:00|Unknown|0||1\n"
              "9|9+0|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:01:05|600|cpu=1|1\n"
              "10|9+1|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:01:05|600|cpu=1|1\n",
              &jobs);
        assert_int_equal(jobs.count, 5);
        assert_int_equal(jobs.items[0].array, 1);
        assert_int_equal(jobs.items[0].array_at_once, 2);
        assert_int_equal(jobs.items[1].array, 1);
        assert_int_equal(jobs.items[1].array_at_once, 2);
        assert_int_equal(jobs.items[2].array, 2);
        assert_int_equal(jobs.items[2].array_at_once, 0);
        assert_int_equal(jobs.items[3].array, 0);
        assert_int_equal(jobs.items[4].array, 0);
        assert_int_equal(jobs.left_never_ran, 5 + 3);
        assert_int_equal(jobs.left_steps, 0);
        jobs_done(&jobs);
}

static void suspended_time_is_taken_off_once(void **state)
{
        (void)state;
        static const struct {
                const char *end, *elapsed, *suspended;
                int64_t duration_s;
        } rows[] = {
                {"2025-03-04T10:00:00", "7200", "00:00:00", 7200},
                {"2025-03-04T10:00:00", "7200", "00:10:00", 6600},
                {"2025-03-04T10:00:00", "6600", "00:10:00", 6600}, /* Slurm did it */
                {"2025-03-04T10:00:00", "7200", "1-00:00:00", 0},
                {"Unknown", "6600", "00:10:00", 6600},
                {"2025-03-04T10:00:00", "INVALID", "00:10:00", 6600},
                {"2025-03-04T10:00:00", "7200", "INVALID", 7200},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                struct jobs jobs;
                snprintf(text, sizeof text,
                         "Suspended|End|" HEADER "%s|%s|7|nlp|COMPLETED|2025-03-04T08:00:00|"
                         "2025-03-04T08:00:00|%s|cpu=1|1\n00:00:00|Unknown|8|nlp|FAILED|"
                         "2025-03-04T09:00:00|2025-03-04T09:00:00|600|cpu=1|1\n",
                         rows[i].suspended, rows[i].end, rows[i].elapsed);
                parse(text, &jobs);
                assert_int_equal(jobs.count, rows[i].duration_s ? 2 : 1);
                if (rows[i].duration_s)
                        assert_int_equal(jobs.items[0].duration_ms, rows[i].duration_s * 1000);
                jobs_done(&jobs);
        }
}

static void restarts_tell_of_runs_that_are_not_there(void **state)
{
        (void)state;
        struct jobs jobs;

        parse("Restarts|" HEADER
              "3|7|nlp|COMPLETED|2025-03-04T08:00:00|2025-03-04T08:00:05|600|cpu=1|1\n"
              "1|8|nlp|REQUEUED|2025-03-04T09:00:00|2025-03-04T09:00:05|600|cpu=1|1\n",
              &jobs);
        assert_int_equal(jobs.items[0].requeues, 3);
        assert_int_equal(jobs.items[1].requeues, 0); /* the start is still to come */
        assert_int_equal(notes.runs_missing, 1);
        assert_int_equal(notes.waits_again, 1);
        jobs_done(&jobs);
}

static void a_window_holds_for_the_first_submission(void **state)
{
        (void)state;
        const struct jobs_filter filter = {.from_ms = INT64_C(1741075200000),
                                           .until_ms = INT64_C(1741078800000)};
        static const char text[] =
                HEADER "7|nlp|PREEMPTED|2025-03-04T08:00:00|2025-03-04T08:00:05|5400|cpu=1|1\n"
                       "7|nlp|COMPLETED|2025-03-04T09:30:05|2025-03-04T11:00:00|14400|cpu=1|1\n"
                       "8|nlp|COMPLETED|2025-03-04T09:00:00|2025-03-04T11:00:00|14400|cpu=1|1\n";
        struct jobs jobs = {0};

        assert_int_equal(sacct_parse("s", text, strlen(text), NULL, &filter, &jobs, NULL, NULL), 0);
        assert_int_equal(jobs.count, 1);
        assert_int_equal(jobs.items[0].duration_ms, 19800000);
        assert_int_equal(jobs.left_out_of_window, 1);
        jobs_done(&jobs);
}

static void no_failed_allocation_is_forgotten(void **state)
{
        (void)state;
        static const char text[] =
                HEADER "7|nlp|PREEMPTED|2025-03-04T08:00:00|2025-03-04T08:00:05|5400|cpu=1|1\n"
                       "8_1|nlp|COMPLETED|2025-03-04T09:00:00|2025-03-04T11:00:00|144|cpu=1|1\n"
                       "8_[2-9%3]|nlp|PENDING|2025-03-04T09:00:00|Unknown|0||1\n";
        unsigned long n = 0;
        bool is_done = false;

        while (!is_done) {
                struct jobs jobs;
                struct err err = {0};
                mem_fail_at(++n);
                int rc = parse_with(text, NULL, &jobs, &err);
                is_done = !mem_fail_happened();
                assert_int_equal(rc, is_done ? 0 : -ERR_NOMEM);
                assert_true(is_done || err.text[0] != '\0');
                jobs_done(&jobs);
                mem_fail_at(0);
        }
        assert_true(n > 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_row_becomes_a_job),
                cmocka_unit_test(rows_become_one_job),
                cmocka_unit_test(running_jobs_are_kept_on_request),
                cmocka_unit_test(a_number_that_comes_again_is_another_job),
                cmocka_unit_test(tasks_of_an_array_bear_its_number),
                cmocka_unit_test(suspended_time_is_taken_off_once),
                cmocka_unit_test(restarts_tell_of_runs_that_are_not_there),
                cmocka_unit_test(a_window_holds_for_the_first_submission),
                cmocka_unit_test(no_failed_allocation_is_forgotten),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
