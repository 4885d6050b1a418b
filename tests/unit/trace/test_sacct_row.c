#include "tests/unit/trace/sacct.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/zone.h"

#define SHORT "JobID|Account|State|Submit|ElapsedRaw|AllocTRES|NNodes\n"

static void limits_and_clocks_are_read_in_both_forms(void **state)
{
        (void)state;
        static const struct {
                const char *column, *text;
                int64_t limit_s;
        } rows[] = {
                {"TimelimitRaw", "90", 5400},
                {"TimelimitRaw", "UNLIMITED", 0},
                {"TimelimitRaw", "", 0},
                {"TimelimitRaw", "Partition_Limit", 0},
                {"Timelimit", "1-02:03:04", 93784},
                {"Timelimit", "02:03:04", 7384},
                {"Timelimit", "30:00", 1800},
                {"Timelimit", "UNLIMITED", 0},
                {"timelimit", "00:00:10.500", 10},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                struct jobs jobs;
                snprintf(text, sizeof text,
                         "%s|JobID|Account|State|Submit|Elapsed|AllocTRES|NNodes\n"
                         "%s|7|nlp|FAILED|2025-03-04T08:00:00|1-00:00:01|cpu=1|1\n",
                         rows[i].column, rows[i].text);
                parse(text, &jobs);
                assert_int_equal(jobs.items[0].limit_ms, rows[i].limit_s * 1000);
                assert_int_equal(jobs.items[0].duration_ms, 86401000);
                assert_int_equal(jobs.items[0].devices, 0);
                assert_true(jobs.items[0].class == JOBS_NONE);
                jobs_done(&jobs);
        }
}

static void times_are_local_unless_they_say_otherwise(void **state)
{
        (void)state;
        struct zone *berlin;
        if (zone_load("Europe/Berlin", &berlin, NULL) < 0) {
                print_message("no zone files here\n");
                skip();
        }
        static const struct {
                const char *submit, *eligible;
                int64_t submit_s, waits_s;
                uint32_t ambiguous;
        } rows[] = {
                {"2025-03-04T08:00:00", "2025-03-04T08:00:05", 1741071600, 5, 0},
                {"2025-03-04T08:00:00", "Unknown", 1741071600, 0, 0},
                {"2025-03-04T08:00:00", "2025-03-04T07:00:00", 1741071600, 0, 0},
                {"2025-03-04T08:00:00Z", "None", 1741075200, 0, 0},
                {"2025-03-04T08:00:00+02:00", "", 1741068000, 0, 0},
                {"1741075200", "1741075201", 1741075200, 1, 0},
                /* The hour that comes twice: 02:50, then 02:10 by winter time. */
                {"2025-10-26T02:50:00", "2025-10-26T02:10:00", 1761439800, 1200, 2},
                {"2025-10-26T02:10:00", "2025-10-26T02:50:00", 1761437400, 2400, 2},
                {"2025-10-26T01:59:59", "2025-10-26T03:00:00", 1761436799, 7201, 0},
                /* The hour that never comes. */
                {"2025-03-30T02:30:00", "None", 1743298200, 0, 0},
        };
        const struct sacct_options options = {.zone = berlin};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                struct jobs jobs;
                struct err err = {0};
                snprintf(text, sizeof text,
                         "JobID|Account|State|Submit|Eligible|Elapsed|AllocTRES|NNodes\n"
                         "7|nlp|FAILED|%s|%s|00:00:01|cpu=1|1\n",
                         rows[i].submit, rows[i].eligible);
                if (parse_with(text, &options, &jobs, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(jobs.items[0].submit_ms, rows[i].submit_s * 1000);
                assert_int_equal(jobs.items[0].eligible_ms - jobs.items[0].submit_ms,
                                 rows[i].waits_s * 1000);
                assert_int_equal(notes.ambiguous_times, rows[i].ambiguous);
                jobs_done(&jobs);
        }
        zone_free(berlin);
}

/* A row with all names, and what becomes of them. */
static void tenants_and_classes_come_from_the_columns_asked_for(void **state)
{
        (void)state;
        static const struct {
                struct sacct_options options;
                const char *tenant, *class;
        } rows[] = {
                {{0}, "nlp", "high"},
                {{.tenant = SACCT_TENANT_ACCOUNT_USER, .class = SACCT_CLASS_PARTITION},
                 "nlp/ada",
                 "gpu"},
                {{.tenant = SACCT_TENANT_USER, .class = SACCT_CLASS_QOS}, "ada", "high"},
                {{.tenant = SACCT_TENANT_PARTITION, .class = SACCT_CLASS_NONE}, "gpu", NULL},
                {{.tenant = SACCT_TENANT_QOS}, "high", "high"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct jobs jobs;
                struct err err = {0};
                if (parse_with("JobID|Account|User|Partition|QOS|State|Submit|ElapsedRaw|AllocTRES|"
                               "NNodes\n7|nlp|ada|gpu|high|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n"
                               "8|||||FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
                               &rows[i].options, &jobs, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(jobs.count, 2);
                assert_string_equal(jobs.tenants[jobs.items[0].tenant], rows[i].tenant);
                assert_string_equal(jobs.tenants[jobs.items[1].tenant],
                                    i == 1 ? "none/none" : "none");
                if (rows[i].class)
                        assert_string_equal(jobs.classes[jobs.items[0].class], rows[i].class);
                else
                        assert_true(jobs.items[0].class == JOBS_NONE);
                assert_true(jobs.items[1].class == JOBS_NONE);
                assert_true(jobs.items[1].user == JOBS_NONE);
                jobs_done(&jobs);
        }
        struct jobs jobs;
        parse("JobID|Account|Partition|State|Submit|ElapsedRaw|AllocTRES|NNodes\n"
              "7|nlp|gpu|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
              &jobs);
        assert_string_equal(jobs.classes[0], "gpu");
        jobs_done(&jobs);
        assert_string_equal(sacct_tenant_names[SACCT_TENANT_ACCOUNT_USER], "account/user");
        assert_string_equal(sacct_class_names[SACCT_CLASS_AUTO], "auto");
        assert_string_equal(sacct_model_names[SACCT_MODEL_REQUESTED], "requested");
}

static void needs_come_from_what_was_allocated(void **state)
{
        (void)state;
        static const struct {
                struct sacct_options options;
                const char *row; /* ReqTRES|AllocTRES|NNodes|NodeList */
                uint32_t members, devices, share_milli, cpu_milli;
                const char *model, *profile;
                uint32_t from_request, uneven, mixed, untyped;
        } rows[] = {
                {{0},
                 "gres/gpu=1|cpu=8,gres/gpu:h100=1,gres/gpu=1|1|n1",
                 1,
                 1,
                 0,
                 8000,
                 "h100",
                 "",
                 0,
                 0,
                 0,
                 0},
                {{.model = SACCT_MODEL_REQUESTED},
                 "gres/gpu=1|cpu=8,gres/gpu:h100=1,gres/gpu=1|1|n1",
                 1,
                 1,
                 0,
                 8000,
                 "",
                 "",
                 0,
                 0,
                 0,
                 0},
                {{.model = SACCT_MODEL_REQUESTED},
                 "gres/gpu:h100=1|gres/gpu:h100=1,gres/gpu=1|1|n1",
                 1,
                 1,
                 0,
                 0,
                 "h100",
                 "",
                 0,
                 0,
                 0,
                 0},
                {{0},
                 "cpu=4,gres/gpu:a100=2||2|None assigned",
                 2,
                 1,
                 0,
                 2000,
                 "a100",
                 "",
                 1,
                 0,
                 0,
                 0},
                {{0}, "|gres/gpu=5,cpu=3|2|n[1-2]", 2, 3, 0, 1500, "", "", 0, 1, 0, 1},
                {{0},
                 "|gres/gpu:a100=1,gres/gpu:h100=1,gres/gpu=2|2|n[1-2]",
                 2,
                 1,
                 0,
                 0,
                 "",
                 "",
                 0,
                 0,
                 1,
                 0},
                {{0},
                 "|gres/gpu:a100_3g.20gb=1,gres/gpu=1|1|m1",
                 1,
                 1,
                 0,
                 0,
                 "a100",
                 "3g.20gb",
                 0,
                 0,
                 0,
                 0},
                {{0}, "|gres/shard=2|1|n1", 1, 1, 500, 0, "", "", 0, 0, 0, 1},
                {{.shards_per_device = 8}, "|gres/shard=2|1|n1", 1, 1, 250, 0, "", "", 0, 0, 0, 1},
                {{0}, "|gres/mps:h100=50,gres/mps=50|1|n1", 1, 1, 500, 0, "h100", "", 0, 0, 0, 0},
                /* The number of nodes: from TRES, from the list, as neither says it outright. */
                {{0}, "|gres/gpu=4,node=4|0|n[1-9]", 4, 1, 0, 0, "", "", 0, 0, 0, 1},
                {{0}, "|gres/gpu=4|Unknown|r[1-2]-n[03-04]", 4, 1, 0, 0, "", "", 0, 0, 0, 1},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[1024];
                struct jobs jobs;
                struct err err = {0};
                snprintf(text, sizeof text,
                         "JobID|Account|State|Submit|ElapsedRaw|ReqTRES|AllocTRES|NNodes|NodeList\n"
                         "7|nlp|FAILED|2025-03-04T08:00:00|1|%s\n",
                         rows[i].row);
                if (parse_with(text, &rows[i].options, &jobs, &err) < 0)
                        fail_msg("%s", err.text);
                const struct job *job = &jobs.items[0];
                assert_int_equal(job->members, rows[i].members);
                assert_int_equal(job->devices, rows[i].devices);
                assert_int_equal(job->share_milli, rows[i].share_milli);
                assert_int_equal(job->cpu_milli, rows[i].cpu_milli);
                assert_string_equal(job->model, rows[i].model);
                assert_string_equal(job->profile, rows[i].profile);
                assert_int_equal(notes.from_request, rows[i].from_request);
                assert_int_equal(notes.uneven, rows[i].uneven);
                assert_int_equal(notes.mixed, rows[i].mixed);
                assert_int_equal(notes.untyped, rows[i].untyped);
                jobs_done(&jobs);
        }
}

static void lines_may_end_in_several_ways(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "JobID|Account|State|Submit|ElapsedRaw|AllocTRES|NNodes\n"
                "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1",
                "JobID|Account|State|Submit|ElapsedRaw|AllocTRES|NNodes|\n"
                "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1|\n",
                "\xef\xbb\xbfJobID|Account|State|Submit|ElapsedRaw|AllocTRES|NNodes\r\n\r\n"
                "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\r\n\n",
                "NNODES|jobid|ACCOUNT|state|submit|elapsedraw|alloctres|Comment\n"
                "1|7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|\xff nonsense\n",
        };
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct jobs jobs;
                parse(texts[i], &jobs);
                assert_int_equal(jobs.count, 1);
                assert_int_equal(jobs.items[0].members, 1);
                jobs_done(&jobs);
        }
}

static void commands_are_not_kept(void **state)
{
        (void)state;
        struct jobs jobs;
        struct err err = {0};

        parse("SubmitLine|JobName|" SHORT
              "sbatch --token=s3cret|s3cret|7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
              &jobs);
        for (uint32_t t = 0; t < jobs.tenants_count; t++)
                assert_string_not_equal(jobs.tenants[t], "s3cret");
        jobs_done(&jobs);
        /* Nor told in an error. */
        assert_int_equal(parse_with("SubmitLine|" SHORT "sbatch a | s3cret|7|nlp|FAILED|"
                                    "2025-03-04T08:00:00|1|cpu=1|1\n",
                                    NULL, &jobs, &err),
                         -ERR_INPUT);
        check_has(err.text, "has 9 fields and the first line names 8 columns");
        assert_null(strstr(err.text, "s3cret"));
}

static void bad_files_are_refused_with_their_place(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"",
                 "s.txt:1: is empty; fill it with: TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -D"},
                {"\n\n", "is empty"},
                {SHORT, "s.txt:1: no row follows the first line"},
                {"JobID|User\n",
                 "s.txt:1: lacks the columns Account, State, Submit, ElapsedRaw, "
                 "AllocTRES, NNodes; print them with: TZ=UTC SLURM_TIME_FORMAT=standard sacct "},
                {"hello\n", "lacks the columns JobID, Account"},
                {"JobID|State|JobID\n", "s.txt:1: column 'JobID' stands twice; keep one"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1\n",
                 "s.txt:2: has 6 fields and the "
                 "first line names 7 columns; a '|' or a line break"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1|\nx\n", "s.txt:3: has 1 fields"},
                {SHORT "JobID|Account|State|Submit|ElapsedRaw|NNodes|AllocTRES\n",
                 "s.txt:2: names columns again, other ones than the first line"},
                {SHORT "7|nlp|DAYDREAMING|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "s.txt:2: column 'State': "
                 "'DAYDREAMING' is no state of a job that is known here"},
                {SHORT "7|nlp|completed|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "'completed' is no state"},
                {SHORT "7|\xe4|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "s.txt:2: column 'Account': is not UTF-8; write the name of a tenant in that"},
                {SHORT "7|nlp||2025-03-04T08:00:00|1|cpu=1|1\n", "column 'State': '' is no state"},
                {SHORT "seven|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "column 'JobID': 'seven' is no number of a job such as 7001, 7001_3, 7001_[4-9"},
                {SHORT "7_[1-3|nlp|PENDING|2025-03-04T08:00:00|1||1\n", "'7_[1-3' is no number"},
                {SHORT "7_99999999|nlp|PENDING|2025-03-04T08:00:00|1||1\n",
                 "is no number of a job"},
                {SHORT "4294967296|nlp|PENDING|2025-03-04T08:00:00|1||1\n",
                 "is no number of a job"},
                {SHORT "7|nlp|FAILED|yesterday|1|cpu=1|1\n",
                 "s.txt:2: column 'Submit': 'yesterday' is "
                 "no time"},
                {SHORT "7|nlp|FAILED|Unknown|1|cpu=1|1\n", "column 'Submit': says no time"},
                {SHORT "7|nlp|FAILED|2025-02-30T08:00:00|1|cpu=1|1\n",
                 "does not exist in the calendar"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|-1|cpu=1|1\n",
                 "column 'ElapsedRaw': '-1'"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|315360001|cpu=1|1\n",
                 "'315360001' is out of"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu|1\n",
                 "s.txt:2: column 'AllocTRES': "
                 "'cpu' is not of the form name=number"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|x\n",
                 "column 'NNodes': 'x' is not"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|\n",
                 "column 'NNodes': says no number"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=99999999|1\n",
                 "column 'AllocTRES': "
                 "gives one node more processors"},
                {SHORT "7|nlp|FAILED|2025-03-04T08:00:00|1|gres/gpu=1000000|3\n",
                 "has more than "
                 "1000000 devices"},
                {SHORT "7|nlp|PENDING|2025-03-04T08:00:00|0||1\n",
                 "s.txt: no job is left of 1 rows: 1 "
                 "jobs never ran"},
                {"NodeList|JobID|Account|State|Submit|ElapsedRaw|AllocTRES\n"
                 "n[1-2|7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1\n",
                 "column 'NodeList': 'n[1-2' has "
                 "brackets that do not end"},
                {"QOS|" SHORT
                 "abcdefghijklmnopqrstuvwxyz-abcdefg|7|nlp|FAILED|2025-03-04T08:00:00|1|"
                 "cpu=1|1\n",
                 "s.txt:2: column 'QOS': is 34 bytes long; the name of a class has at"},
                {"Timelimit|" SHORT "soon|7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "column "
                 "'Timelimit': 'soon' is no time limit such as"},
                {"Suspended|" SHORT "x|7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n",
                 "column 'Suspended': 'x' is no length of time"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct jobs jobs;
                struct err err = {0};
                int rc = parse_with(rows[i].text, NULL, &jobs, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, rows[i].sentence);
                assert_null(jobs.items);
                assert_int_equal(parse_with(rows[i].text, NULL, &jobs, NULL), rc);
        }
        struct jobs jobs;
        struct err err = {0};
        assert_int_equal(
                sacct_parse("s.txt", SHORT "\0", sizeof SHORT, NULL, &JOBS_ALL, &jobs, NULL, &err),
                -ERR_INPUT);
        check_has(err.text, "s.txt:2: holds a NUL byte");
}

static void a_row_and_its_columns_are_bounded(void **state)
{
        (void)state;
        size_t size = SACCT_ROW_BYTES_MAX + 2;
        char *bytes = malloc(size);
        struct jobs jobs;
        struct err err = {0};

        assert_non_null(bytes);
        memset(bytes, 'x', size);
        assert_int_equal(sacct_parse("s", bytes, size, NULL, &JOBS_ALL, &jobs, NULL, &err),
                         -ERR_INPUT);
        check_has(err.text, "s:1: is longer than 1048576 bytes");
        memset(bytes, '|', SACCT_COLUMNS_MAX + 1);
        assert_int_equal(
                sacct_parse("s", bytes, SACCT_COLUMNS_MAX + 1, NULL, &JOBS_ALL, &jobs, NULL, &err),
                -ERR_INPUT);
        check_has(err.text, "s:1: names 194 columns; at most 192 are read");
        free(bytes);
}

static void files_are_read_and_missing_ones_named(void **state)
{
        (void)state;
        char path[] = "/tmp/berth-sacct-XXXXXX";
        int fd = mkstemp(path);
        struct jobs jobs = {0};
        struct err err = {0};

        assert_true(fd >= 0);
        dprintf(fd, "%s7|nlp|FAILED|2025-03-04T08:00:00|1|cpu=1|1\n", SHORT);
        close(fd);
        assert_int_equal(sacct_read(path, NULL, &JOBS_ALL, &jobs, NULL, &err), 0);
        assert_int_equal(jobs.count, 1);
        jobs_done(&jobs);
        unlink(path);
        assert_int_equal(sacct_read(path, NULL, &JOBS_ALL, &jobs, NULL, &err), -ERR_NOT_FOUND);
        check_has(err.text, path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(limits_and_clocks_are_read_in_both_forms),
                cmocka_unit_test(times_are_local_unless_they_say_otherwise),
                cmocka_unit_test(tenants_and_classes_come_from_the_columns_asked_for),
                cmocka_unit_test(needs_come_from_what_was_allocated),
                cmocka_unit_test(lines_may_end_in_several_ways),
                cmocka_unit_test(commands_are_not_kept),
                cmocka_unit_test(bad_files_are_refused_with_their_place),
                cmocka_unit_test(a_row_and_its_columns_are_bounded),
                cmocka_unit_test(files_are_read_and_missing_ones_named),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
