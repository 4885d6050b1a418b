/* Calls that a pool with simulated nodes cannot answer, against a server that answers as the API
 * says; and answers that a good pool does not give. */
#include "tests/unit/cli/child.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <jansson.h>
#include <uv.h>

#include "base/text.h"
#include "net/http.h"
#include "net/problem.h"
#include "net/routes.h"
#include "net/sse.h"
#include "net/uri.h"

#define LINES      200
#define LINE_BYTES 10

/* ---- the server, in a process of its own ---- */

static char log_text[LINES * LINE_BYTES + 1];
static unsigned asked_of_nine; /* how often workload 9 was looked at */
static unsigned asked_of_runs; /* the same of 12, or its newest run's output asked for */

#define RUN_LINES 100
#define RUN_LINE  "this is run 1\n"

static void answer(struct http_exchange *exchange, const char *json)
{
        http_answer(exchange, 200, "application/json", json, strlen(json));
}

/* Workload 12 is in its run 2 from the second look at it on, and ends with it. */
static void get_runs(struct http_exchange *exchange)
{
        bool again = ++asked_of_runs > 1;
        char text[256];

        snprintf(text, sizeof text,
                 "{\"id\":12,\"name\":\"w\",\"state\":\"%s\",\"runs\":[{\"run\":1}%s]}",
                 asked_of_runs < 3 ? "running" : "succeeded", again ? ",{\"run\":2}" : "");
        answer(exchange, text);
}

/* Each of its runs has so many lines, and what is asked for comes in two pieces. */
static void get_run_logs(struct http_exchange *exchange, long offset)
{
        char run_text[32] = "0", number[32], text[RUN_LINES * sizeof RUN_LINE] = "";
        int newest = asked_of_runs > 1 ? 2 : 1;

        query_get(http_query(exchange), "run", run_text, sizeof run_text, NULL);
        int run = atoi(run_text);
        asked_of_runs += run == 0;
        run = run > 0 ? run : newest + run;
        if (run < 1 || run > newest) {
                problem_answer(exchange, 404, &(struct err){ERR_NOT_FOUND, "no such run"}, NULL);
                return;
        }
        for (int line = 0; line < RUN_LINES; line++)
                memcpy(text + (size_t)line * (sizeof RUN_LINE - 1), RUN_LINE, sizeof RUN_LINE);
        for (char *at = text; (at = strchr(at, '1'));)
                *at = (char)('a' + run);
        long size = (long)strlen(text), bytes = size - offset < 700 ? size - offset : 700;
        snprintf(number, sizeof number, "%d", run);
        (void)http_answer_header(exchange, "Berth-Run", number);
        http_answer(exchange, 200, "text/plain", text + offset, (size_t)bytes);
}

/* Of its number: 7 failed with 7, 8 is lost, 9 runs until it was asked for three times. */
static void get_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const char *id = route_param(match, "id");
        char text[256];

        (void)arg;
        if (strcmp(id, "12") == 0) {
                get_runs(exchange);
                return;
        }
        asked_of_nine += strcmp(id, "9") == 0;
        snprintf(text, sizeof text, "{\"id\":%s,\"name\":\"w\",\"state\":\"%s\",\"exit_code\":%s}",
                 id,
                 *id == '7'          ? "failed"
                 : *id == '8'        ? "lost"
                 : asked_of_nine < 3 ? "running"
                                     : "succeeded",
                 *id == '7' ? "7" : "null");
        answer(exchange, text);
}

/* As a server that knows no "why" yet. */
static void get_workloads(struct http_exchange *exchange, const struct route_match *match,
                          void *arg)
{
        char why[8] = "", tenant[16] = "";

        (void)match;
        (void)arg;
        query_get(http_query(exchange), "why", why, sizeof why, NULL);
        query_get(http_query(exchange), "tenant", tenant, sizeof tenant, NULL);
        if (why[0])
                problem_answer(exchange, 400, &(struct err){ERR_INPUT, "no query 'why'"}, NULL);
        else if (tenant[0])
                problem_answer(exchange, 400, &(struct err){ERR_INPUT, "bad tenant"}, NULL);
        else
                answer(exchange, "{\"workloads\":[{\"id\":17,\"state\":\"queued\"}]}");
}

/* As it quotes what somebody wrote. */
static void get_explain(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        static const char text[] = "HELD  by ana:\n  \x1b]0;x\a\xc2\x9b" "2J\u202eno\r\n";

        (void)match;
        (void)arg;
        http_answer(exchange, 200, "text/plain", text, sizeof text - 1);
}

/* The number is the document's name. */
static void post_workload(struct http_exchange *exchange, const struct route_match *match,
                          void *arg)
{
        char text[128];
        size_t size;

        (void)match;
        (void)arg;
        json_t *document = json_loads(http_body(exchange, &size), 0, NULL);
        snprintf(text, sizeof text, "{\"id\":%s,\"name\":\"w\",\"state\":\"queued\"}",
                 json_string_value(json_object_get(document, "name")));
        json_decref(document);
        answer(exchange, text);
}

/* Half of the log is there until workload 9 has ended. */
static void get_logs(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char offset_text[32] = "0", bytes_text[32] = "64", stream[16] = "";
        long size = LINES * LINE_BYTES / (asked_of_nine < 3 ? 2 : 1);

        (void)arg;
        query_get(http_query(exchange), "offset", offset_text, sizeof offset_text, NULL);
        if (strcmp(route_param(match, "id"), "12") == 0) {
                get_run_logs(exchange, atol(offset_text));
                return;
        }
        query_get(http_query(exchange), "bytes", bytes_text, sizeof bytes_text, NULL);
        query_get(http_query(exchange), "stream", stream, sizeof stream, NULL);
        long offset = atol(offset_text), bytes = atol(bytes_text);
        if (strcmp(stream, "stderr") == 0)
                size = 0;
        offset = offset < 0 ? size + offset : offset;
        offset = offset < 0 ? 0 : offset > size ? size : offset;
        bytes = bytes > 700 && atol(offset_text) >= 0 ? 700 : bytes; /* pieces */
        bytes = bytes > size - offset ? size - offset : bytes;
        http_answer(exchange, 200, "text/plain", log_text + offset, (size_t)bytes);
}

static void stream_closed(struct http_stream *stream, void *arg)
{
        (void)stream;
        (void)arg;
}

/* Longer than what a table shows of a text, with members that say nothing. */
static const char *long_event(void)
{
        static char data[600];
        char words[400];

        memset(words, 'w', sizeof words);
        snprintf(data, sizeof data,
                 "{\"tenant\":null,\"text\":\"%.400s\",\"of\":\"\",\"broken\":[],"
                 "\"value\":0,\"since\":\"noon\"}",
                 words);
        return data;
}

/* Four events, of them what was not seen; then silence. */
static void get_events(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct text text = {0};
        uint64_t seen = 0;

        (void)match;
        (void)arg;
        sse_last_id(http_header(exchange, "Last-Event-ID"), &seen, NULL);
        for (uint64_t id = seen + 1; id <= 3; id++)
                sse_write(&text, id, "allocated", "{\"workload\":17,\"node\":\"gpu-01\"}");
        if (seen < 4)
                sse_write(&text, 4, "alert_raised", long_event());
        if (seen == 4)
                sse_write(&text, 5, "hold_\xc2\x9bset", "{\"reason\":\"\\u001b[2J\u202eno\"}");
        struct http_stream *stream = http_stream_open(exchange, SSE_TYPE, stream_closed, NULL);
        http_stream_push(stream, text.bytes, text.size);
        text_done(&text);
}

/* ?tenant=409: that status. */
static void get_queue(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct err err;
        char status[16] = "200";

        (void)match;
        (void)arg;
        query_get(http_query(exchange), "tenant", status, sizeof status, NULL);
        err_set(&err, ERR_IO, "the server's own sentence");
        if (strcmp(status, "200") == 0)
                http_answer(exchange, 200, "text/html", "<html>", 6);
        else
                problem_answer(exchange, (unsigned)atoi(status), &err, NULL);
}

static void post_preempt(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char text[256];

        (void)arg;
        snprintf(text, sizeof text, "{\"id\":%s,\"state\":\"stopping\",\"summary\":\"%s\"}",
                 route_param(match, "id"), http_header(exchange, "Berth-Reason"));
        answer(exchange, text);
}

static void get_usage(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char by[64] = "", text[256];

        (void)match;
        (void)arg;
        query_get(http_query(exchange), "by", by, sizeof by, NULL);
        snprintf(text, sizeof text,
                 "{\"from\":\"a\",\"until\":\"b\",\"rows\":[{\"tenant\":\"%s\","
                 "\"device_hours\":\"1.5\"}]}",
                 by);
        answer(exchange, text);
}

static void post_token(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)match;
        (void)arg;
        size_t size;
        const char *body = http_body(exchange, &size);
        if (memmem(body, size, "n[1-2]", 6))
                answer(exchange, "{\"tokens\":["
                                 "{\"id\":3,\"node\":\"n1\",\"token\":\"berth_secret\"},"
                                 "{\"id\":4,\"node\":\"n2\",\"token\":\"berth_secret\"}]}");
        else if (memmem(body, size, "x[1-2]", 6))  /* not what was asked for */
                answer(exchange, "{\"tokens\":["
                                 "{\"id\":3,\"node\":\"../n1\",\"token\":\"berth_secret\"}]}");
        else if (memmem(body, size, "n[8-9]", 6))
                problem_answer(exchange, 404,
                               &(struct err){ERR_NOT_FOUND, "there is no node 'n8', 'n9'"}, NULL);
        else
                answer(exchange, "{\"id\":3,\"token\":\"berth_secret\"}");
}

static void post_acknowledge(struct http_exchange *exchange, const struct route_match *match,
                             void *arg)
{
        const char *reason = http_header(exchange, "Berth-Reason");

        (void)arg;
        if (reason && strcmp(reason, "seen") == 0 && strcmp(route_param(match, "id"), "4") == 0)
                answer(exchange, "{\"id\":4}");
        else
                problem_answer(exchange, 404, &(struct err){ERR_NOT_FOUND, "no alert fires"}, NULL);
}

static void get_tokens(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)match;
        (void)arg;
        answer(exchange, "{\"tokens\":[{\"id\":3,\"principal\":\"ana\",\"role\":\"viewer\"}]}");
}

static void delete_token(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        (void)match;
        (void)arg;
        http_answer(exchange, 204, NULL, NULL, 0);
}

static void get_quarantine(struct http_exchange *exchange, const struct route_match *match,
                           void *arg)
{
        (void)match;
        (void)arg;
        answer(exchange, "{\"quarantine\":[{\"id\":3,\"state\":\"held\",\"of\":\"input\","
                         "\"last\":\"t\",\"kind\":\"submitted\",\"what\":\"'a' of web\"}]}");
}

static void delete_quarantine(struct http_exchange *exchange, const struct route_match *match,
                              void *arg)
{
        (void)arg;
        const char *reason = http_header(exchange, "Berth-Reason");
        if (strcmp(route_param(match, "id"), "3") == 0 && reason && strcmp(reason, "newer") == 0)
                answer(exchange, "{\"id\":3,\"state\":\"released\"}");
        else
                http_answer(exchange, 404, NULL, NULL, 0);
}

static void delete_certificate(struct http_exchange *exchange, const struct route_match *match,
                               void *arg)
{
        (void)match;
        (void)arg;
        answer(exchange, "{\"node\":\"n1\",\"enrolment\":1,\"state\":\"revoked\"}");
}

static void get_revisions(struct http_exchange *exchange, const struct route_match *match,
                          void *arg)
{
        (void)match;
        (void)arg;
        answer(exchange, "{\"revisions\":[{\"revision\":2,\"by\":\"ana\",\"reason\":\"growth\"}]}");
}

static void post_rollback(struct http_exchange *exchange, const struct route_match *match,
                          void *arg)
{
        size_t size;

        (void)match;
        (void)arg;
        answer(exchange, strcmp(http_body(exchange, &size), "{\"revision\": 2}") == 0
                                 ? "{\"revision\":4}"
                                 : "{}");
}

static const struct route table[] = {
        {HTTP_POST, "/v1/workloads", "postWorkload", post_workload, NULL},
        {HTTP_GET, "/v1/workloads", "getWorkloads", get_workloads, NULL},
        {HTTP_GET, "/v1/workloads/{id}", "getWorkload", get_workload, NULL},
        {HTTP_GET, "/v1/workloads/{id}/explain", "getExplain", get_explain, NULL},
        {HTTP_GET, "/v1/workloads/{id}/logs", "getLogs", get_logs, NULL},
        {HTTP_POST, "/v1/workloads/{id}/preempt", "postPreempt", post_preempt, NULL},
        {HTTP_GET, "/v1/events", "getEvents", get_events, NULL},
        {HTTP_GET, "/v1/queue", "getQueue", get_queue, NULL},
        {HTTP_GET, "/v1/usage", "getUsage", get_usage, NULL},
        {HTTP_POST, "/v1/alerts/{id}/acknowledge", "postAcknowledge", post_acknowledge, NULL},
        {HTTP_GET, "/v1/tokens", "getTokens", get_tokens, NULL},
        {HTTP_POST, "/v1/tokens", "postToken", post_token, NULL},
        {HTTP_DELETE, "/v1/tokens/{id}", "deleteToken", delete_token, NULL},
        {HTTP_GET, "/v1/quarantine", "getQuarantine", get_quarantine, NULL},
        {HTTP_DELETE, "/v1/quarantine/{id}", "deleteQuarantine", delete_quarantine, NULL},
        {HTTP_DELETE, "/v1/nodes/{node}/certificate", "deleteCertificate", delete_certificate, NULL},
        {HTTP_GET, "/v1/policy/revisions", "getRevisions", get_revisions, NULL},
        {HTTP_POST, "/v1/policy/rollback", "postRollback", post_rollback, NULL},
};

/* Never returns; says that it listens by closing `ready`. */
static void serve(int ready)
{
        struct routes routes = {.routes = table, .count = ARRAY_LEN(table)};
        struct http_setup setup = {
                .limits = http_limits_default, .handler = routes_serve, .arg = &routes};
        struct http_server *server;
        struct err err = {0};
        uv_loop_t loop;

        uv_loop_init(&loop);
        if (routes_check(table, ARRAY_LEN(table), &err) < 0 ||
            http_new(&loop, &setup, &server, &err) < 0 ||
            http_listen_unix(server, path_of("s.sock"), 0600, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                _exit(1);
        }
        close(ready);
        uv_run(&loop, UV_RUN_DEFAULT);
        _exit(0);
}

static pid_t server_pid;

static int start_server(void)
{
        int ready[2];
        char byte;

        for (int i = 0; i < LINES; i++)
                snprintf(log_text + i * LINE_BYTES, LINE_BYTES + 1, "line %4d\n", i + 1);
        if (pipe(ready) < 0)
                return -1;
        server_pid = fork();
        if (server_pid == 0) {
                close(ready[0]);
                serve(ready[1]);
        }
        close(ready[1]);
        while (read(ready[0], &byte, 1) > 0)
                ;
        close(ready[0]);
        return 0;
}

/* ---- the tests ---- */

static void the_exit_code_is_that_of_the_work(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"submit --wait --tenant web -d 1 --name 7 -- x", 7, "",
                 "7 w: failed with exit code 7\n"},
                {"submit --wait --tenant web -d 1 --name 8 -- x", EXIT_UNDONE, "", "8 w: lost\n"},
                {"submit --wait --json --tenant web -d 1 --name 7 -- x", 7,
                 "\"exit_code\":7}\n", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), folder);
}

static void refusals_have_exit_codes(void **state)
{
        (void)state;
        static const struct {
                const char *status;
                int code;
        } rows[] = {
                {"400", EXIT_BAD_INPUT}, {"422", EXIT_BAD_INPUT}, {"404", EXIT_NOT_FOUND},
                {"403", EXIT_REFUSED},   {"409", EXIT_REFUSED},   {"412", EXIT_REFUSED},
                {"401", EXIT_REFUSED},   {"429", EXIT_NO_ANSWER}, {"500", EXIT_NO_ANSWER},
                {"503", EXIT_NO_ANSWER}, {"504", EXIT_NO_ANSWER},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char line[64];
                snprintf(line, sizeof line, "queue --tenant %s", rows[i].status);
                assert_int_equal(run_line(line, folder), rows[i].code);
                check_err(rows[i].code == EXIT_REFUSED && strcmp(rows[i].status, "401") == 0
                                  ? "name a file with your token in BERTH_TOKEN_FILE"
                                  : "berth queue: the server's own sentence\n");
        }
        assert_int_equal(run_line("queue --tenant 200", folder), EXIT_NO_ANSWER);
        check_err("answered what is no JSON");
}

/* The log, from and to these lines, is all that was printed. */
static void check_log(int first, int last)
{
        char *out = text_of("out");

        assert_int_equal(strlen(out), (last - first + 1) * LINE_BYTES);
        assert_memory_equal(out, log_text + (first - 1) * LINE_BYTES, strlen(out));
        mem_free(out);
}

static void logs_are_read_piece_by_piece(void **state)
{
        (void)state;
        assert_int_equal(run_line("logs 7", folder), 0);
        check_log(1, LINES / 2);
        assert_int_equal(run_line("logs 7 --tail 3", folder), 0);
        check_log(LINES / 2 - 2, LINES / 2);
        assert_int_equal(run_line("logs 7 --tail 1", folder), 0);
        check_log(LINES / 2, LINES / 2);
        assert_int_equal(run_line("logs 7 --tail 100000", folder), 0);
        check_log(1, LINES / 2);
        /* What it wrote at its very end is read too. */
        assert_int_equal(run_line("logs 9 --follow", folder), 0);
        check_log(1, LINES);
        assert_int_equal(run_line("logs 9 --stderr", folder), 0);
        char *out = text_of("out");
        assert_string_equal(out, "");
        mem_free(out);
        static const struct child_row rows[] = {
                {"logs 7 --tail 0", 2, "", "--tail: "},
                {"logs 7 --tail 1 -f", 2, "", "--tail and --follow do not go together"},
                {"logs 7 --member 4096", 2, "", "--member: "},
        };
        check_rows(rows, ARRAY_LEN(rows), folder);
}

/* So many lines of each of the runs from `first` to `last`, in order. */
static void check_runs(int first, int last)
{
        char *out = text_of("out"), *at = out;
        for (int run = first; run <= last; run++)
                for (int line = 0; line < RUN_LINES; line++, at += sizeof RUN_LINE - 1) {
                        assert_memory_equal(at, RUN_LINE, 12);
                        assert_int_equal(at[12], 'a' + run);
                }
        assert_string_equal(at, "");
        mem_free(out);
}

static void logs_are_of_one_run_or_go_on_with_the_next(void **state)
{
        (void)state;
        static const struct child_row wrong[] = {
                {"logs 12 --run 0", 2, "", "`berth status 12` lists them"},
                {"logs 12 --run first", 2, "", "numbered from 1"},
                {"logs 12 --run 1 --previous", 2, "", "--run and --previous do not go together"},
                {"logs 12 --run 1 -f", 2, "", "not with --run"},
                {"logs 12 -p -f", 2, "", "not with --previous"},
                {"logs 12 --previous", 3, "", "no such run"},
        };
        check_rows(wrong, ARRAY_LEN(wrong), folder);
        assert_int_equal(run_line("logs 12 -f", folder), 0);
        check_runs(1, 2);
        char *err = text_of("err");
        assert_string_equal(err, "berth: run 2\n");
        mem_free(err);
        static const struct {
                const char *line;
                int run;
        } rows[] = {{"logs 12", 2},         {"logs 12 --run 1", 1},   {"logs 12 --run 2", 2},
                    {"logs 12 --run -1", 1}, {"logs 12 --previous", 1}};
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                assert_int_equal(run_line(rows[r].line, folder), 0);
                check_runs(rows[r].run, rows[r].run);
        }
}

static void events_end_when_they_are_all_there(void **state)
{
        (void)state;
        static const char *const follow[] = {"events", "-f", "--json", NULL};
        static const struct child_row rows[] = {
                {"events", 0, "1  allocated             workload 17, node gpu-01\n2  allocated",
                 ""},
                {"events --after 2 --json", 0,
                 "{\"id\":\"3\",\"event\":\"allocated\","
                 "\"data\":{\"workload\":17,\"node\":\"gpu-01\"}}"
                 "\n",
                 ""},
        };
        check_rows(rows, ARRAY_LEN(rows), folder);
        char *out = text_of("out");
        assert_null(strstr(out, "\"id\":\"2\""));
        mem_free(out);
        assert_int_equal(interrupt_child_behind(follow, "{\"id\":\"3\""), EXIT_STOPPED);
        assert_int_equal(run_line("events --after 3", folder), 0);
        out = text_of("out");
        check_has(out, "4  alert_raised          text wwww");
        check_has(out, "wwww, value 0, since noon\n");
        assert_int_equal(strlen(out),
                         strlen("4  alert_raised          text , value 0, since noon\n") + 400);
        mem_free(out);
}

static void what_others_wrote_steers_no_terminal(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"explain 7", 0, "HELD  by ana:\n  ?]0;x??2J?no?\n", ""},
                {"events --after 4", 0, "5  hold_?set             reason ?[2J?no\n", ""},
                {"events --after 4 --json", 0, "\"reason\":\"\\u001B[2J\u202eno\"", ""},
        };
        check_rows(rows, ARRAY_LEN(rows), folder);
}

static void other_calls_print_what_was_answered(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"preempt 7 --reason repairs", 0, "7: stopping. repairs\n", ""},
                {"usage --by tenant,day", 0, "tenant      device-hours\ntenant,day           1.5\n",
                 ""},
                {"alerts ack 4 --reason seen", 0, "alert 4 is acknowledged\n", ""},
                {"alerts ack 5", 3, "", "no alert fires"},
                {"alerts ack", 2, "", "`berth alerts ack ID`"},
                {"events --follow --until now", 2, "", "--follow has no end"},
                {"events --from -1h --until -2h", 2, "", "nothing lies between"},
                {"events --from -1h --after 3", 2, "", "name one of them"},
                {"events --from 1h", 2, "", "--from: '1h' is no time"},
                {"policy revisions", 0, "       2  ana  growth\n", ""},
                {"policy rollback 2", 0, "policy is revision 4, the same as 2\n", ""},
                {"policy revisions --json", 0, "\"revisions\"", ""},
                {"policy revisions --json x.json", 2, "", "goes to standard output only"},
                {"policy rollback 0", 2, "", "`berth policy revisions` lists them"},
                {"quarantine list", 0, "3  held   input  t           submitted  'a' of web\n", ""},
                {"quarantine release 3 --reason newer", 0, "3 is tried again when it comes again\n",
                 ""},
                {"quarantine release 4", 3, "", ""},
                {"token list", 0, "3   ana        viewer\n", ""},
                {"token revoke 3", 0, "token 3 is worth nothing from now on\n", ""},
                {"token make --principal ana", 0, "berth_secret\n",
                 "`berth token revoke 3` ends it"},
                {"token make --out @/new.token", 0, "", "token 3 is in "},
                {"token make --out @/new.token", 2, "", "is there already; name a new file"},
                {"token list --role viewer", 2, "", "--role goes with make only"},
                {"token make --join", 2, "", "for which node?"},
                {"token make --join --node n1 --nodes n2", 2, "", "for which node?"},
                {"token make --join --node n1 --role agent", 2, "", "goes without --role"},
                {"token make --nodes n1", 2, "", "--nodes goes with --join, or --role agent"},
                {"token make --join --node n1 --out @/a --json", 2, "", "goes without --out"},
                {"token make --join --nodes n[2-1]", 2, "", "n[2-1]"},
                {"token make --join --nodes n[1-2]", 0, "n1 berth_secret\nn2 berth_secret\n",
                 "token 3; `berth token revoke 3` ends it"},
                {"token make --join --nodes n[1-2] --out @/all", 0, "", "all/n2.token; `berth"},
                {"token make --join --nodes n[2-3] --out @/all", 2, "", "n2.token: is there"},
                {"token make --join --nodes n[8-9] --out @/all", 3, "", "no node 'n8', 'n9'"},
                {"token make --join --nodes x[1-2] --out @/all", 5, "", "holds no token for x1"},
                {"token revoke", 2, "", "a token's number, or --node NODE"},
                {"token revoke 3 --node n1", 2, "", "a token's number, or --node NODE"},
                {"token revoke --node n1", 0, "node n1 is enrolled no longer", ""},
        };
        struct stat status;
        check_rows(rows, ARRAY_LEN(rows), folder);
        char *token = text_of("new.token");
        assert_string_equal(token, "berth_secret\n");
        mem_free(token);
        assert_int_equal(stat(path_of("new.token"), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        unlink(path_of("new.token"));
        unlink(path_of("all/n1.token"));
        unlink(path_of("all/n2.token"));
        assert_int_equal(rmdir(path_of("all")), 0);
}

/* ---- an answer that gets lost ---- */

/* The next request's head and body; its key. */
static void take_request(int listener, int *ret_fd, char ret_key[64])
{
        char head[4096] = "";
        size_t used = 0;
        int fd = accept(listener, NULL, NULL);
        ssize_t got;

        while (!strstr(head, "\r\n\r\n") && used < sizeof head - 1 &&
               (got = read(fd, head + used, sizeof head - 1 - used)) > 0)
                used += (size_t)got;
        const char *key = strstr(head, "Idempotency-Key: ");
        snprintf(ret_key, 64, "%.*s", key ? (int)strcspn(key + 17, "\r") : 0, key ? key + 17 : "");
        *ret_fd = fd;
}

/* Drops the first request without an answer, or is busy; tells whether the second has the same key. */
static void serve_twice(int listener, bool is_busy)
{
        static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                                   "Content-Length: 0\r\n\r\n";
        char first[64], second[64], text[256], json[64];
        int fd;

        take_request(listener, &fd, first);
        if (is_busy && write(fd, busy, sizeof busy - 1) < 0)
                _exit(1);
        close(fd);
        take_request(listener, &fd, second);
        snprintf(json, sizeof json, "{\"id\":1,\"state\":\"%s\"}",
                 strlen(first) == 32 && strcmp(first, second) == 0 ? "same" : "other");
        int length = snprintf(text, sizeof text,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              strlen(json), json);
        _exit(write(fd, text, (size_t)length) == length ? 0 : 1);
}

static void ask_twice(bool is_busy)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char url[96];
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of("raw.sock"));
        assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(listener, 4), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
                serve_twice(listener, is_busy);
        close(listener);
        snprintf(url, sizeof url, "unix:%s", path_of("raw.sock"));
        setenv("BERTH_URL", url, 1);
        assert_int_equal(run_line("restart 1", folder), 0);
        char *out = text_of("out");
        assert_string_equal(out, "1: same\n");
        mem_free(out);
        assert_int_equal(end_child(child), 0);
        snprintf(url, sizeof url, "unix:%s", path_of("s.sock"));
        setenv("BERTH_URL", url, 1);
        unlink(path_of("raw.sock"));
}

static void an_old_server_is_not_asked_why(void **state)
{
        (void)state;
        assert_int_equal(run_line("status", folder), 0);
        char *out = text_of("out");
        assert_string_equal(out, "id  state\n17  queued\n");
        mem_free(out);
        assert_int_equal(run_line("status --tenant x", folder), 2);
        check_err("berth status: bad tenant");
}

static void a_lost_answer_is_asked_for_with_the_same_key(void **state)
{
        (void)state;
        ask_twice(false);
        ask_twice(true);                /* a server that is busy gets a second chance, too */
}

static int open_all(void **state)
{
        char url[96];

        (void)state;
        if (open_child_folder() < 0)
                return -1;
        snprintf(url, sizeof url, "unix:%s", path_of("s.sock"));
        setenv("BERTH_URL", url, 1);
        unsetenv("BERTH_TOKEN_FILE");
        return start_server();
}

static int close_all(void **state)
{
        static const char *const names[] = {"out", "err", "s.sock"};

        (void)state;
        kill(server_pid, SIGTERM);
        waitpid(server_pid, NULL, 0);
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_exit_code_is_that_of_the_work),
                cmocka_unit_test(refusals_have_exit_codes),
                cmocka_unit_test(logs_are_read_piece_by_piece),
                cmocka_unit_test(logs_are_of_one_run_or_go_on_with_the_next),
                cmocka_unit_test(events_end_when_they_are_all_there),
                cmocka_unit_test(what_others_wrote_steers_no_terminal),
                cmocka_unit_test(other_calls_print_what_was_answered),
                cmocka_unit_test(an_old_server_is_not_asked_why),
                cmocka_unit_test(a_lost_answer_is_asked_for_with_the_same_key),
        };
        return cmocka_run_group_tests(tests, open_all, close_all);
}
