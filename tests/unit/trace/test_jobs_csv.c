#include "tests/unit/check.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/zone.h"
#include "trace/jobs_csv.h"

static struct zone *zone;
static struct jobs_csv_layout layout;

static int open_zone(void **state)
{
        (void)state;
        layout.zone = NULL;
        for (unsigned c = 0; c < JOB_COLUMNS_END; c++)
                layout.columns[c] = NULL;
        layout.columns[JOB_COLUMN_SUBMIT] = "timestamp";
        layout.columns[JOB_COLUMN_DURATION] = "duration";
        layout.columns[JOB_COLUMN_DEVICES] = "num_gpus";
        layout.columns[JOB_COLUMN_TENANT] = "cluster";
        if (zone_load("America/Los_Angeles", &zone, NULL) < 0)
                return -1;
        layout.zone = zone;
        return 0;
}

static int close_zone(void **state)
{
        (void)state;
        zone_free(zone);
        return 0;
}

static int parse(const char *text, const struct jobs_filter *filter, struct jobs *ret_jobs,
                 struct err *err)
{
        return jobs_csv_parse("h.csv", text, strlen(text), &layout, filter, ret_jobs, err);
}

static void parse_fine(const char *text, const struct jobs_filter *filter, struct jobs *ret_jobs)
{
        struct err err = {0};

        if (parse(text, filter, ret_jobs, &err) < 0)
                fail_msg("%s", err.text);
}

#define HEADER "timestamp,duration,num_gpus,gpu_time,cluster\n"
#define MS     1000

static void rows_of_any_order_become_jobs_in_order(void **state)
{
        (void)state;
        struct jobs jobs = {0};

        /* 2017-10-09 07:01:55 in Los Angeles is 14:01:55Z. */
        parse_fine(HEADER "2017-10-09 07:01:55,66.0,1,66.0,b\n"
                          "2017-10-08T07:01:55,2951.25,16,9,a\n"
                          "2017-10-09 07:01:55,10,0,,b\n"
                          "2017-10-09 14:01:54Z,10,2,,c\n"
                          "1507557713.5,10,2,,c\n"
                          "2017-10-07,1,1,,b\n",
                   &JOBS_ALL, &jobs);
        assert_int_equal(jobs.count, 6);
        assert_int_equal(jobs.tenants_count, 3);
        assert_string_equal(jobs.tenants[0], "b");
        assert_string_equal(jobs.tenants[1], "a");
        static const struct {
                int64_t submit_ms, duration_ms;
                uint32_t devices, tenant, line;
        } rows[] = {
                {INT64_C(1507359600) * MS, 1000, 1, 0, 7},
                {INT64_C(1507471315) * MS, 2951250, 16, 1, 3},
                {INT64_C(1507557713500), 10000, 2, 2, 6},
                {INT64_C(1507557714) * MS, 10000, 2, 2, 5},
                {INT64_C(1507557715) * MS, 66000, 1, 0, 2},
                {INT64_C(1507557715) * MS, 10000, 0, 0, 4},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                const struct job *job = &jobs.items[r];
                assert_int_equal(job->submit_ms, rows[r].submit_ms);
                assert_int_equal(job->eligible_ms, rows[r].submit_ms);
                assert_int_equal(job->duration_ms, rows[r].duration_ms);
                assert_int_equal(job->devices, rows[r].devices);
                assert_int_equal(job->members, 1);
                assert_int_equal(job->tenant, rows[r].tenant);
                assert_int_equal(job->line, rows[r].line);
                assert_int_equal(job->limit_ms, 0);
                assert_true(job->class == JOBS_NONE);
                assert_true(job->user == JOBS_NONE);
        }
        jobs_done(&jobs);
        jobs_done(&jobs);
        jobs_done(NULL);
}

static void optional_columns_are_read_and_may_be_empty(void **state)
{
        (void)state;
        struct jobs jobs = {0};
        struct jobs_csv_layout kept = layout;

        layout.columns[JOB_COLUMN_LIMIT] = "limit";
        layout.columns[JOB_COLUMN_CLASS] = ""; /* what pandas calls its index */
        layout.columns[JOB_COLUMN_USER] = "who";
        parse_fine("timestamp,duration,num_gpus,cluster,limit,,who,*\n"
                   "1,1,1,a,3600,batch,ana,x\n"
                   "2,1,1,a,,,,x\n"
                   "3,1,1,a,0,batch,bob,x\n",
                   &JOBS_ALL, &jobs);
        layout = kept;
        assert_int_equal(jobs.items[0].limit_ms, 3600000);
        assert_int_equal(jobs.items[1].limit_ms, 0);
        assert_int_equal(jobs.items[2].limit_ms, 0);
        assert_int_equal(jobs.items[0].class, 0);
        assert_true(jobs.items[1].class == JOBS_NONE);
        assert_string_equal(jobs.classes[0], "batch");
        assert_string_equal(jobs.users[jobs.items[2].user], "bob");
        jobs_done(&jobs);
        /* Without them, columns of these names are not read. */
        parse_fine("timestamp,duration,num_gpus,cluster,limit,,who\n1,1,1,a,soon,b,c\n", &JOBS_ALL,
                   &jobs);
        assert_int_equal(jobs.items[0].limit_ms, 0);
        jobs_done(&jobs);
}

static void what_the_filter_leaves_out_is_counted(void **state)
{
        (void)state;
        struct jobs_filter filter = {
                .from_ms = 10000, .until_ms = 20000, .tenants_at_least_jobs = 2};
        struct jobs jobs = {0};

        parse_fine(HEADER "9.999,1,1,,a\n"
                          "10,1,1,,small\n"
                          "10,1,1,,b\n"
                          "19.999,1,1,,b\n"
                          "20,1,1,,small\n"
                          "11,0,1,,b\n"
                          "12,1,1,,a\n"
                          "13,1,1,,a\n",
                   &filter, &jobs);
        assert_int_equal(jobs.count, 4);
        assert_int_equal(jobs.left_out_of_window, 2);
        assert_int_equal(jobs.left_small_tenant, 1);
        assert_int_equal(jobs.left_never_ran, 1);
        assert_int_equal(jobs.left_out, 4);
        /* Tenants are numbered anew, in the order of the file. */
        assert_int_equal(jobs.tenants_count, 2);
        assert_string_equal(jobs.tenants[0], "a");
        assert_string_equal(jobs.tenants[1], "b");
        assert_int_equal(jobs.items[0].tenant, 1);
        assert_int_equal(jobs.items[1].tenant, 0);
        jobs_done(&jobs);
}

static void bad_rows_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"", "h.csv:1: is empty; the first line names the columns, starting with "
                     "'timestamp'"},
                {HEADER, "h.csv:1: no row follows the first line"},
                {"time,duration,num_gpus,cluster\n", "h.csv:1: column 'timestamp' is not among"},
                {"timestamp,duration,gpus,cluster\n", "did you mean 'gpus'?"},
                {"timestamp,duration,num_gpus,cluster,cluster\n", "column 'cluster' stands twice"},
                {HEADER "yesterday,1,1,,a\n",
                 "h.csv:2: column 'timestamp': 'yesterday' is no time; write for example "
                 "2027-01-04 08:00:00"},
                {HEADER "2017-02-29 00:00:00,1,1,,a\n", "does not exist in the calendar"},
                {HEADER "2017-01-01 24:00:00,1,1,,a\n", "does not exist in the calendar"},
                {HEADER "2017-01-01 00:00:00.1234,1,1,,a\n", "is no time"},
                {HEADER "1969-01-01 00:00:00,1,1,,a\n", "lies before 1970"},
                {HEADER "30.03.2025,1,1,,a\n",
                 "column 'timestamp': '30.03.2025' is no time; write for example "},
                {HEADER ",1,1,,a\n", "column 'timestamp': '' is no time"},
                {HEADER "1,,1,,a\n", "column 'duration': is empty"},
                {HEADER "1,-1,1,,a\n", "column 'duration': '-1' is negative"},
                {HEADER "1,1.2345,1,,a\n", "column 'duration': '1.2345'"},
                {HEADER "1,1e3,1,,a\n", "column 'duration': '1e3'"},
                {HEADER "1,315360001,1,,a\n", "column 'duration': '315360001' is out of range"},
                {HEADER "1,1,1.0,,a\n", "column 'num_gpus': '1.0' is not a whole number"},
                {HEADER "1,1,1000001,,a\n", "column 'num_gpus': '1000001' is out of range"},
                {HEADER "1,1,1,,\n", "column 'cluster': is empty; write the name of a tenant"},
                {HEADER "1,1,1,,\"a\nb\"\n", "column 'cluster': holds a control character"},
                {HEADER "1,1,1,a\n", "h.csv:2: the row has 4 fields"},
                {HEADER "1,0,1,,a\n", "h.csv: no job is left: 1 never ran"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct jobs jobs = {0};
                struct err err = {0};
                int rc = parse(rows[r].text, &JOBS_ALL, &jobs, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE)
                        fail_msg("row %zu gave %d", r, rc);
                assert_int_equal(rc, -(int)err.code);
                check_has(err.text, rows[r].sentence);
                assert_null(jobs.items);
        }
}

static void names_have_a_bound(void **state)
{
        (void)state;
        char text[512], name[TENANT_PATH_MAX + 1];
        struct jobs jobs = {0};
        struct err err = {0};

        memset(name, 'x', sizeof name);
        name[TENANT_PATH_MAX - 1] = '\0';
        snprintf(text, sizeof text, HEADER "1,1,1,,%s\n", name);
        parse_fine(text, &JOBS_ALL, &jobs);
        assert_string_equal(jobs.tenants[0], name);
        jobs_done(&jobs);
        name[TENANT_PATH_MAX - 1] = 'x';
        name[TENANT_PATH_MAX] = '\0';
        snprintf(text, sizeof text, HEADER "1,1,1,,%s\n", name);
        assert_int_equal(parse(text, &JOBS_ALL, &jobs, &err), -ERR_RANGE);
        check_has(err.text, "h.csv:2: column 'cluster': is 128 bytes long");
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        struct jobs jobs = {0};
        struct err err = {0};

        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                int rc = parse(HEADER "2,1,1,,a\n1,1,1,,b\n", &JOBS_ALL, &jobs, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                if (!failed)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
                check_has(err.text, "out of memory");
        }
        assert_int_equal(jobs.count, 2);
        jobs_done(&jobs);
}

static void a_file_that_is_not_there_is_named(void **state)
{
        (void)state;
        struct jobs jobs = {0};
        struct err err = {0};

        assert_int_equal(jobs_csv_read("/nowhere/h.csv", &layout, &JOBS_ALL, &jobs, &err),
                         -ERR_NOT_FOUND);
        check_has(err.text, "/nowhere/h.csv: No such file");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rows_of_any_order_become_jobs_in_order),
                cmocka_unit_test(optional_columns_are_read_and_may_be_empty),
                cmocka_unit_test(what_the_filter_leaves_out_is_counted),
                cmocka_unit_test(bad_rows_are_refused_with_place_and_way_out),
                cmocka_unit_test(names_have_a_bound),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(a_file_that_is_not_there_is_named),
        };
        return cmocka_run_group_tests(tests, open_zone, close_zone);
}
