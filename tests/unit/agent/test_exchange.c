#include "tests/unit/check.h"

#include <stdlib.h>

#include "agent/exchange.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static const char full[] =
        "{\"generation\": 42, \"log\": \"9f86d081884c7d65\", \"lease_ms\": 30000, \"news\": {\"of\": [1, 2]}, \"runs\": ["
        "{\"workload\": 17, \"member\": 1, \"epoch\": 1042, \"name\": \"llama-sft\","
        " \"tenant\": \"research/nlp\", \"user\": \"ana\", \"run_as\": \"ana\","
        " \"command\": [\"torchrun\", \"tr\\u00e4in.py\"], \"env\": {\"HF_HOME\": \"/data/hf\"},"
        " \"workdir\": \"/home/ana/sft\", \"secrets\": [\"hf-token\"], \"devices\": ["
        "  {\"index\": 0, \"method\": \"whole\", \"profile\": null, \"share_milli\": 0,"
        "   \"memory_mib\": 0},"
        "  {\"index\": 3, \"method\": \"slice\", \"profile\": \"3g.40gb\", \"start\": 4},"
        "  {\"index\": 4, \"method\": \"share\", \"share_milli\": 250, \"memory_mib\": 20480}],"
        " \"cpu_milli\": 64000, \"ram_mib\": 524288, \"rank\": 1, \"world\": 2,"
        " \"array_index\": 7, \"addresses\": [\"gpu-01\", \"gpu-02\"], \"go\": true, \"checkpoint_signal\": \"USR1\","
        " \"lost_contact\": \"stop_at_lease\", \"shape\": \"new\","
        " \"stop\": {\"cause\": \"preemption\", \"until\": \"2027-01-04T08:00:00.250Z\","
        "  \"signal\": \"USR2\"}},"
        "{\"workload\": 16, \"member\": 0, \"epoch\": 3, \"command\": [\"true\"], \"stop\": null}],"
        "\"wants\": ["
        "{\"request\": 9, \"kind\": \"logs\", \"workload\": 17, \"member\": 1, \"epoch\": 1042,"
        " \"stream\": \"stderr\", \"offset\": -5, \"bytes\": 100},"
        "{\"request\": 10, \"kind\": \"from the future\"}]}";

static void check_full_run(const struct run_spec *run)
{
        assert_true(run_key_equal(run->key, (struct run_key){17, 1, 1042}));
        assert_string_equal(run->name, "llama-sft");
        assert_string_equal(run->tenant, "research/nlp");
        assert_string_equal(run->run_as, "ana");
        assert_int_equal(run->command_count, 2);
        assert_string_equal(run->command[1], "tr\xc3\xa4in.py");
        assert_int_equal(run->env_count, 1);
        assert_string_equal(run->env_names[0], "HF_HOME");
        assert_string_equal(run->env_values[0], "/data/hf");
        assert_string_equal(run->secrets[0], "hf-token");
        assert_int_equal(run->devices_count, 3);
        assert_int_equal(run->devices[1].method, RUN_SLICE);
        assert_string_equal(run->devices[1].profile, "3g.40gb");
        assert_int_equal(run->devices[1].start, 4);
        assert_int_equal(run->devices[2].share_milli, 250);
        assert_int_equal(run->devices[2].memory_mib, 20480);
        assert_int_equal(run->ram_mib, 524288);
        assert_int_equal(run->rank, 1);
        assert_true(run->is_task);
        assert_int_equal(run->array_index, 7);
        assert_int_equal(run->world, 2);
        assert_string_equal(run->addresses[1], "gpu-02");
        assert_true(run->go);
        assert_true(run->stops_at_lease);
        assert_string_equal(run->checkpoint_signal, "USR1");
        assert_string_equal(run->stop.cause, "preemption");
        assert_string_equal(run->stop.signal, "USR2");
        assert_true(run->stop.until_ms == 1799049600250);
}

static void an_answer_is_read_and_what_is_new_is_skipped(void **state)
{
        (void)state;
        struct exchange_answer *answer;
        struct err err;

        assert_int_equal(exchange_read(full, sizeof full - 1, &answer, &err), 0);
        assert_int_equal(answer->generation, 42);
        assert_string_equal(answer->log, "9f86d081884c7d65");
        assert_int_equal(answer->lease_ms, 30000);
        assert_int_equal(answer->runs_count, 2);
        assert_int_equal(answer->runs[0].key.workload, 16); /* sorted */
        assert_null(answer->runs[0].stop.cause);
        assert_false(answer->runs[0].go);
        assert_false(answer->runs[0].stops_at_lease);
        assert_int_equal(answer->runs[0].world, 1);
        assert_string_equal(answer->runs[0].workdir, "");
        check_full_run(&answer->runs[1]);
        assert_int_equal(answer->wants_count, 1);
        assert_int_equal(answer->wants[0].request, 9);
        assert_true(answer->wants[0].is_stderr);
        assert_int_equal(answer->wants[0].offset, -5);
        exchange_free(answer);
        exchange_free(NULL);
}

/* A made-up older and newer controller: their answers mean the same, or are refused with a reason. */
static void what_another_release_answers_is_read_or_says_who_is_to_be_upgraded(void **state)
{
        (void)state;
        static const struct {
                const char *head, *refusal;
        } rows[] = {
                {"", NULL},                     /* before there was a negotiation */
                {"\"protocol\": 1, ", NULL},
                {"\"protocol\": 1, \"quotas\": [{\"new\": null}], ", NULL},
                {"\"protocol\": 2, ", "the controller 2: upgrade this agent"},
                {"\"protocol\": 0, ", "the controller 0: upgrade the controller"},
                {"\"protocol\": \"1\", ", "protocol"},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct exchange_answer *answer;
                struct err err = {0};
                char text[200];
                int size = snprintf(text, sizeof text,
                                    "{%s\"generation\": 1, \"lease_ms\": 30000, \"runs\": []}",
                                    rows[r].head);
                int rc = exchange_read(text, (size_t)size, &answer, &err);
                assert_int_equal(rc, rows[r].refusal ? -ERR_INPUT : 0);
                if (rows[r].refusal) {
                        check_has(err.text, rows[r].refusal);
                        continue;
                }
                assert_int_equal(answer->protocol, 1);
                exchange_free(answer);
        }
}

static void what_ends_at_once_has_no_time(void **state)
{
        (void)state;
        static const char text[] =
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [{\"workload\": 1, "
                "\"member\": 0, \"epoch\": 1, \"command\": [\"x\"], \"stop\": {\"cause\": "
                "\"cancelled\", \"until\": \"2027-01-04T08:00:00.250Z\", \"until_ms\": 0}}]}";
        struct exchange_answer *answer;
        struct err err;

        assert_int_equal(exchange_read(text, sizeof text - 1, &answer, &err), 0);
        assert_true(answer->runs[0].stop.until_ms == 0);
        exchange_free(answer);
}

static void a_run_that_is_written_is_read_as_it_was(void **state)
{
        (void)state;
        struct exchange_answer *answer;
        struct run_spec again;
        struct text text = {0};
        struct doc *doc;
        struct err err;
        struct arena *arena = arena_new(0, 0);

        assert_int_equal(exchange_read(full, sizeof full - 1, &answer, &err), 0);
        exchange_write_run(&text, &answer->runs[1]);
        assert_false(text.failed);
        assert_int_equal(doc_read_json("run", text.bytes, text.size, &doc, &err), 0);
        assert_int_equal(exchange_read_run(doc_root(doc, 0), arena, &again, &err), 0);
        doc_free(doc);
        check_full_run(&again);
        text_done(&text);
        arena_free(arena);
        exchange_free(answer);
}

/* A small answer with one thing wrong in it, and what the sentence says. */
static void what_is_wrong_is_refused_with_its_place(void **state)
{
        (void)state;
        static const struct {
                const char *run, *says;
        } rows[] = {
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1", "'command' is missing"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": []",
                 "runs[0].command"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"\"]", "no program"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [7]", "is no string"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": \"x\"", "command"},
                {"\"workload\": \"1\", \"member\": 0, \"epoch\": 1, \"command\": [\"x\"]",
                 "workload"},
                {"\"workload\": 0, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"]", "workload"},
                {"\"workload\": 1, \"member\": 65536, \"epoch\": 1, \"command\": [\"x\"]",
                 "member"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 0, \"command\": [\"x\"]", "epoch"},
                {"\"workload\": 140737488355328, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"]",
                 "workload"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"env\": {\"A=B\": \"c\"}",
                 "no name of a variable"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"env\": [1]",
                 "env"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"go\": 1",
                 "go"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"rank\": 2, \"world\": 2",
                 "rank"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"devices\": [{\"index\": 64}]",
                 "devices[0].index"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"devices\": [{\"index\": 1, \"method\": \"magic\"}]",
                 "method"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"stop\": {\"cause\": \"x\", \"until\": \"soon\"}",
                 "stop.until"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"], "
                 "\"stop\": {\"until\": \"2027-01-04T08:00Z\"}",
                 "cause"},
                {"\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"]}, "
                 "{\"workload\": 1, \"member\": 0, \"epoch\": 1, \"command\": [\"x\"]",
                 "one run twice"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exchange_answer *answer;
                struct err err = {0};
                char *text = NULL;
                assert_true(asprintf(&text,
                                     "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [{%s}]}",
                                     rows[i].run) > 0);
                assert_true(exchange_read(text, strlen(text), &answer, &err) < 0);
                check_has(err.text, rows[i].says);
                free(text);
        }
}

static void a_whole_answer_can_be_wrong_too(void **state)
{
        (void)state;
        static const char *const rows[] = {
                "",
                "[]",
                "{}",
                "{\"generation\": 1, \"lease_ms\": 30000}",
                "{\"generation\": -1, \"lease_ms\": 30000, \"runs\": []}",
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [], \"log\": \"\"}",
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [], \"log\": \"../aa\"}",
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [], \"log\": {}}",
                "{\"generation\": 1, \"lease_ms\": 999, \"runs\": []}",
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": null}",
                "{\"generation\": 1, \"lease_ms\": 30000, \"runs\": [], \"wants\": [{}]}",
                "{\"generation\": 1, \"generation\": 2, \"lease_ms\": 30000, \"runs\": []}",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct exchange_answer *answer;
                struct err err = {0};
                assert_true(exchange_read(rows[i], strlen(rows[i]), &answer, &err) < 0);
                assert_true(err.text[0] != '\0');
        }
}

static void so_many_runs_and_no_more(void **state)
{
        (void)state;
        for (unsigned count = EXCHANGE_RUNS_MAX; count <= EXCHANGE_RUNS_MAX + 1; count++) {
                struct exchange_answer *answer;
                struct text text = {0};
                struct err err;
                text_add(&text, "{\"generation\": 1, \"lease_ms\": 1000, \"runs\": [");
                for (unsigned i = 0; i < count; i++)
                        text_add(&text,
                                 "%s{\"workload\": %u, \"member\": 0, \"epoch\": 1, "
                                 "\"command\": [\"x\"]}",
                                 i ? ", " : "", i + 1);
                text_add(&text, "]}");
                int rc = exchange_read(text.bytes, text.size, &answer, &err);
                assert_int_equal(rc == 0, count == EXCHANGE_RUNS_MAX);
                if (rc == 0)
                        exchange_free(answer);
                text_done(&text);
        }
}

static void no_memory_is_said_and_nothing_leaks(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct exchange_answer *answer;
                struct err err;
                mem_fail_at(n);
                int rc = exchange_read(full, sizeof full - 1, &answer, &err);
                int has_failed = mem_fail_happened();
                mem_fail_at(0);
                if (rc == 0)
                        exchange_free(answer);
                else
                        assert_int_equal(rc, -ERR_NOMEM);
                if (!has_failed)
                        break;
        }
}

static void a_report_says_what_there_is(void **state)
{
        (void)state;
        const struct run_report runs[] = {
                {.key = {17, 0, 1042}, .phase = RUN_RUNNING, .since_ms = 1799049600000,
                 .pid = 4711, .reason = ""},
                {.key = {16, 0, 990}, .phase = RUN_EXITED, .since_ms = 1799049601250,
                 .exit_code = 3, .reason = ""},
                {.key = {14, 0, 7}, .phase = RUN_EXITED, .signal = 15,
                 .reason = "its node went down",
                 .lost_contact = true, .told_to_end = true, .recalled = true},
                {.key = {15, 2, 1}, .phase = RUN_REFUSED, .reason = "no \"such\" program",
                 .superseded = true},
        };
        const struct exchange_checkpoint checkpoint = {{17, 0, 1042}, 123456};
        const struct run_key started[] = {{17, 0, 1042}, {16, 0, 990}};
        const struct exchange_report report = {
                .agent = "0.1.0", .boot = "f3b0", .protocol = 1, .seen = 41,
                .log = "9f86d081884c7d65", .newest_epoch = 1042, .newest_workload = 17,
                .started = started, .started_count = 2,
                .runs = runs, .runs_count = 4, .checkpoints = &checkpoint, .checkpoints_count = 1,
                .broken = 1ull << 3 | 1ull << 63};
        struct text text = {0};

        exchange_write(&text, &report);
        assert_string_equal(
                text.bytes,
                "{\"protocol\": 1, \"protocols\": [1, 1], \"agent\": \"0.1.0\", \"boot\": \"f3b0\", \"seen\": 41, "
                "\"given\": {\"log\": \"9f86d081884c7d65\", \"epoch\": 1042, "
                "\"workload\": 17}, \"started\": ["
                "{\"workload\": 17, \"member\": 0, \"epoch\": 1042}, "
                "{\"workload\": 16, \"member\": 0, \"epoch\": 990}], "
                "\"runs\": ["
                "{\"workload\": 17, \"member\": 0, \"epoch\": 1042, \"phase\": \"running\", "
                "\"since\": \"2027-01-04T08:00Z\", \"pid\": 4711}, "
                "{\"workload\": 16, \"member\": 0, \"epoch\": 990, \"phase\": \"exited\", "
                "\"since\": \"2027-01-04T08:00:01Z\", \"exit_code\": 3, \"signal\": 0}, "
                "{\"workload\": 14, \"member\": 0, \"epoch\": 7, \"phase\": \"exited\", "
                "\"exit_code\": 0, \"signal\": 15, \"lost_contact\": true, "
                "\"told_to_end\": true, \"recalled\": true, "
                "\"reason\": \"its node went down\"}, "
                "{\"workload\": 15, \"member\": 2, \"epoch\": 1, \"phase\": \"refused\", "
                "\"reason\": \"no \\\"such\\\" program\", \"superseded\": true}], "
                "\"checkpoints\": [{\"workload\": 17, \"member\": 0, \"epoch\": 1042, "
                "\"at_ms\": 123456}], \"broken\": [3, 63]}");
        text_done(&text);
}

static void one_key_has_one_text(void **state)
{
        (void)state;
        static const char *const wrong[] = {"",       "1",     "1.2",       "1.2.3.4", "01.0.1",
                                            "0.0.1",  "1.0.0", "1.65536.1", "a.0.1",   "1.0.1 ",
                                            "-1.0.1", "1..1",  ".0.1",      "1.0.",    "+1.0.1"};
        char text[RUN_KEY_TEXT_MAX];
        struct run_key key;

        assert_true(run_key_parse("17.0.18446744073709551615", &key));
        assert_string_equal(run_key_text(key, text), "17.0.18446744073709551615");
        for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
                assert_false(run_key_parse(wrong[i], &key));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_answer_is_read_and_what_is_new_is_skipped),
                cmocka_unit_test(
                        what_another_release_answers_is_read_or_says_who_is_to_be_upgraded),
                cmocka_unit_test(what_ends_at_once_has_no_time),
                cmocka_unit_test(a_run_that_is_written_is_read_as_it_was),
                cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
                cmocka_unit_test(a_whole_answer_can_be_wrong_too),
                cmocka_unit_test(so_many_runs_and_no_more),
                cmocka_unit_test(no_memory_is_said_and_nothing_leaks),
                cmocka_unit_test(a_report_says_what_there_is),
                cmocka_unit_test(one_key_has_one_text),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
