/* What is printed of a server's answers. */
#include "tests/unit/cli/child.h"

#include <locale.h>

#include "cli/alerts.h"
#include "cli/ask.h"
#include "cli/json_in.h"
#include "cli/pool_show.h"
#include "cli/report.h"
#include "cli/status.h"
#include "cli/submit.h"
#include "cli/quarantine.h"
#include "cli/tokens.h"
#include "cli/usage.h"

/* What the printer writes of the JSON for `berth LINE`, `width` columns wide; a quote is written '.
 * Freed with free(). */
static char *print(talk_printer *printer, const struct command *command, const char *line,
                   size_t width, const char *quoted)
{
        static char copy[256], json[8192];
        static struct command_call call;
        struct talk talk = {.call = &call, .screen = {.width = width}};
        char *words[16] = {NULL}, *text = NULL;
        struct err err = {0};
        size_t size = 0;
        int count = 0;

        snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok(copy, " "); word && count < 15; word = strtok(NULL, " "))
                words[count++] = word;
        assert_int_equal(command_parse(command, count, words, &call, &err), 0);
        snprintf(json, sizeof json, "%s", quoted);
        for (char *at = json; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
        assert_non_null(value);
        FILE *file = open_memstream(&text, &size);
        int rc = printer(value, &talk, file, &err);
        fclose(file);
        json_decref(value);
        if (rc < 0) {
                free(text);
                return strdup(err.text);
        }
        return text;
}

static const char one_running[] =
        "{'workloads': [{'id': 17, 'name': 'sft', 'tenant': 'research/nlp', 'class': 'training', "
        "'user': 'ana', 'state': 'running', 'summary': 'It runs.', 'devices': 16, 'standing': "
        "'standard', 'waited_ms': 1020}]}";

static void work_is_listed_and_cut_to_the_width(void **state)
{
        (void)state;
        static const struct {
                const char *json;
                size_t width;
                const char *text;
        } rows[] = {
                {one_running, SCREEN_WIDE,
                 "id  name  tenant        class     user  state    devices  standing  waited\n"
                 "17  sft   research/nlp  training  ana   running       16  standard     1 s\n"},
                {"{'workloads': [{'id': 3, 'state': 'queued', 'summary': 'It finds no room now.'},"
                 " {'id': 2, 'state': 'held'}, {'id': 1, 'state': 'running',"
                 " 'summary': 'It runs.', 'nodes': ['n1', 'n2']}]}", SCREEN_WIDE,
                 "id  state    nodes, or why it waits\n"
                 " 3  queued   It finds no room now.\n"
                 " 2  held     see berth explain 2\n"
                 " 1  running  n1, n2\n"},
                {"{'workloads': [{'id': 3, 'state': 'queued', 'summary': 'It finds no room.'}]}",
                 40, "id  state   nodes, or why it waits\n 3  queued  It finds no room.\n"},
                {"{'workloads': [{'id': 3, 'state': 'queued', 'summary':"
                 " '0 of 4 members find room now, on 5 nodes.'}]}", 40,
                 "id  state   nodes, or why it waits\n 3  queued  0 of 4 members find room no…\n"},
                {"{'workloads': [{'id': 3, 'state': 'queued'}]}", 80, "id  state\n 3  queued\n"},
                {"{'workloads': []}", 80, "there is no such work\n"},
                {"{}", 80, "there is no such work\n"},
                {"[1]", 80, "there is no such work\n"},
                {"{'workloads': [{'id': 1, 'state': 'queued', 'user': 'ana'}]}", 11,
                 "id  user\n 1  ana\n\nid  state\n 1  queued\n"},
                {"{'workloads': [{'id': 1}, 7, null, {'id': 'x'}]}", 80, "id\n 1\n\n\n x\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = print(status_print_list, &status_command, "status", rows[i].width,
                                   rows[i].json);
                assert_string_equal(text, rows[i].text);
                free(text);
        }
}

static void one_is_shown_with_all_that_is_known(void **state)
{
        (void)state;
        static const char json[] =
                "{'id': 17, 'name': 'sft', 'state': 'stopping', 'summary': 'It is told to stop.', "
                "'tenant': 'research', 'class': 'training', 'request': '2 x 8 devices', "
                "'submitted': '2027-01-04T08:00:00Z', 'ended': null, 'waited_ms': 90000, "
                "'last_stop': {'text': 'It was preempted\\u001b for w.'}, "
                "'exit_code': null, 'notice': {'cause': 'preemption', 'until': 'soon'}, "
                "'places': [{'member': 0, 'node': 'gpu-01', 'devices': [0, 1], 'phase': "
                "'running'}], "
                "'document': 'kind: Workload\\nrun: {command: [sh, -c, x], workdir: /w}\\n'}";
        char *text = print(status_print_one, &status_command, "status 17", 80, json);
        assert_string_equal(text, "17 sft: stopping\n"
                                  "  It is told to stop.\n"
                                  "  tenant       research\n"
                                  "  class        training\n"
                                  "  asks for     2 x 8 devices\n"
                                  "  last run     It was preempted? for w.\n"
                                  "  notice       told to stop (preemption), until soon\n"
                                  "  submitted    2027-01-04T08:00:00Z\n"
                                  "  waited       90 s\n"
                                  "  command      sh -c x\n"
                                  "  workdir      /w\n"
                                  "\n"
                                  "places:\n"
                                  "member  node    devices  phase\n"
                                  "     0  gpu-01  0, 1     running\n");
        free(text);
}

static void long_lines_of_a_page_are_broken(void **state)
{
        (void)state;
        char json[1200], word[300];
        memset(word, 'w', sizeof word);
        snprintf(json, sizeof json,
                 "{'id': 1, 'name': 'w', 'state': 'queued', 'summary': 'It waits for 8 devices of a "
                 "node in which nothing else runs.', 'last_stop': {'text': 'It was preempted for 2 "
                 "big of web, which was promised them.'}, 'document': 'run: {command: [sh, -c, "
                 "exec python train.py --seed 17 --lr 0.1, \\u00fc%.299s], workdir: "
                 "/a/path/of/just/seventy/letters/which/stays/whole/as/it/is/part/of/a/page}'}",
                 word);
        char *text = print(status_print_one, &status_command, "status 1", 60, json);
        check_has(text, "1 w: queued\n"
                        "  It waits for 8 devices of a node in which nothing else\n"
                        "  runs.\n"
                        "  last run     It was preempted for 2 big of web, which was\n"
                        "               promised them.\n"
                        "  expected     no reliable estimate\n"
                        "  command      sh -c exec python train.py --seed 17 --lr 0.1\n"
                        "               \u00fcww");
        check_has(text, "www...\n");
        check_has(text, "/a/path/of/just/seventy/letters/which/stays/whole/as/it/is/part/of/a/"
                        "page\n");
        free(text);
}

/* The first run of work that runs says nothing new. */
static void runs_are_listed_once_one_has_ended(void **state)
{
        (void)state;
        static const struct {
                const char *runs, *text;
        } rows[] = {
                {"[]", ""},
                {"[{'run': 1, 'started': '2027-01-04T08:00:00.000Z', 'ended': null}]", ""},
                {"[{'run': 3, 'started': '2027-01-04T08:00:00.000Z', 'cause': 'failed', "
                 "'ended': '2027-01-04T09:00:00.000Z', 'exit_code': 3, 'signal': 0, "
                 "'nodes': ['n1', 'n1', 'n2', 'n1']}, {'run': 4, 'nodes': 7}, 5]",
                 "\nruns (`berth logs --run N` shows what one wrote):\n"
                 "run  started (UTC)        ended (UTC)          cause   exit code  nodes\n"
                 "  3  2027-01-04T08:00:00  2027-01-04T09:00:00  failed          3  n1, n2\n"
                 "  4\n\n"},
                {"[{'run': 1, 'ended': '2027-01-04T09:00:00.000Z', 'cause': 'failed', 'signal': 9, "
                 "'nodes': ['n1'], 'reason': 'out of memory'}]",
                 "\nruns (`berth logs --run N` shows what one wrote):\n"
                 "run  ended (UTC)          cause   signal  nodes  reason\n"
                 "  1  2027-01-04T09:00:00  failed       9  n1     out of memory\n"},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                char json[600], wanted[600];
                snprintf(json, sizeof json, "{'id': 1, 'name': 'w', 'state': 's', 'runs': %s}",
                         rows[r].runs);
                snprintf(wanted, sizeof wanted, "1 w: s\n%s", rows[r].text);
                char *text = print(status_print_one, &status_command, "status 1", 100, json);
                assert_string_equal(text, wanted);
                free(text);
        }
}

static void what_a_server_says_cannot_move_the_cursor(void **state)
{
        (void)state;
        char *text =
                print(status_print_line, &status_command, "status 1", 80,
                      "{'id': 1, 'name': '\\u001b[2J\\r', 'state': 'x\\n', 'summary': 'a\\u0007'}");
        assert_string_equal(text, "1 ?[2J?: x?. a?\n");
        free(text);
        text = print(status_print_one, &status_command, "status 1", 80,
                     "{'id': '\\u001b', 'document': 'run: {command: [\\\"\\\\e[2J\\\"]}'}");
        check_has(text, "  command      ?[2J\n");
        free(text);
        /* Nor turn the writing, nor begin a line of its own; C1 as UTF-8 is one byte to some. */
        text = print(status_print_one, &status_command, "status 1", 80,
                     "{'id': 1, 'name': 'a\\u009b2J', 'state': 'failed', 'reason': "
                     "'\\u202eno\\u2069', 'last_stop': {'text': '\\u0085x\\u2028y'}}");
        assert_string_equal(text, "1 a?2J: failed\n"
                                  "  reason       ?no?\n"
                                  "  last run     ?x?y\n");
        free(text);
        text = print(ask_print_notices, &notices_command, "notices", 80,
                     "{'notices': [{'workload': 1, 'name': '\\u2067a', 'cause': 'x\\u009d', 'for': "
                     "{'workload': 2, 'name': '\\u202db', 'tenant': 't'}}]}");
        check_has(text, "1         ?a    x?     2 ?b of t\n");
        free(text);
}

static void devices_that_look_alike_stand_in_one_line(void **state)
{
        (void)state;
        static const char json[] =
                "{'nodes': [{'name': 'gpu-01', 'state': 'up', 'plane': 'training', 'model': "
                "'A100-40', "
                "'cpu_milli': 64000, 'cpu_used_milli': 500, 'ram_mib': 2048, 'ram_used_mib': 1024, "
                "'devices': ["
                "{'index': 0, 'state': 'whole', 'holders': [{'workload': 17, 'member': 0, "
                "'tenant': "
                "'nlp'}]},"
                "{'index': 1, 'state': 'whole', 'holders': [{'workload': 17, 'member': 0, "
                "'tenant': "
                "'nlp'}]},"
                "{'index': 2, 'state': 'sliced', 'used': '0.5', 'holders': [{'workload': 18, "
                "'member': "
                "1, 'tenant': 'web', 'profile': '3g.20gb'}, {}]},"
                "{'index': 3, 'state': 'shared', 'used': '0.25', 'holders': [{'workload': 19, "
                "'member': 0, 'tenant': 'web', 'share': 0.25, 'memory_mib': 8192}]},"
                "{'index': 5, 'state': 'free'}, {'index': 6, 'state': 'broken'}]},"
                "{'name': 'gpu-02', 'state': 'down', 'devices': [], 'agent': {'connected': false, "
                "'last_seen': 'then'}},"
                "{'name': 'gpu-03', 'state': 'up', 'devices': [], 'agent': {'connected': true, "
                "'version': '0.2.0', 'version_differs': true, 'certificate_expires': 'soon'}},"
                "{'name': 'gpu-04', 'state': 'up', 'devices': [], 'agent': {'connected': true, "
                "'version': '0.1.0', 'version_differs': false, 'certificate_expires': null}}]}";
        char *text = print(pool_print_nodes, &pool_command, "pool --nodes", 80, json);
        assert_string_equal(text,
                            "gpu-01  up  training  6 x A100-40  cpu 0.5 of 64  ram 1 of 2 GiB\n"
                            "  0-1    whole   17.0 nlp\n"
                            "  2      sliced  0.5 used  18.1 web 3g.20gb, somebody\n"
                            "  3      shared  0.25 used  19.0 web share 0.25 8192 MiB\n"
                            "  5      free\n"
                            "  6      broken\n"
                            "gpu-02  down  no agent since then\n"
                            "gpu-03  up  agent 0.2.0 (not the controller's)  certificate until soon\n"
                            "gpu-04  up  agent 0.1.0\n");
        free(text);
        /* Between its fields, where it is too long; a tone takes no columns. */
        text = print(pool_print_nodes, &pool_command, "pool --nodes", 60, json);
        check_has(text, "gpu-01  up  training  6 x A100-40  cpu 0.5 of 64\n"
                        "    ram 1 of 2 GiB\n"
                        "  0-1    whole   17.0 nlp\n");
        check_has(text, "gpu-03  up  agent 0.2.0 (not the controller's)\n"
                        "    certificate until soon\n");
        free(text);
        text = print(pool_print_nodes, &pool_command, "pool --nodes", 40, json);
        check_has(text, "  2      sliced  0.5 used\n"
                        "         18.1 web 3g.20gb, somebody\n");
        free(text);
        text = print(pool_print, &pool_command, "pool", 80,
                     "{'name': 'lab', 'nodes': 2, 'devices': 8, 'frozen': false, "
                     "'frozen_planes': ['training', 'serving'], 'models': []}");
        check_has(text, "frozen planes: training, serving; nothing starts there");
        free(text);
        text = print(pool_print_nodes, &pool_command, "pool --nodes --model X", 80,
                     "{'nodes': []}");
        assert_string_equal(text, "there is no such node\n");
        free(text);
}

static void usage_has_the_columns_that_were_asked_for(void **state)
{
        (void)state;
        static const char json[] =
                "{'from': 'a', 'until': 'b', 'currency': 'EUR', 'rows': [{'tenant': 'web', "
                "'model': "
                "'H100-80', 'bucket': 'delivered', 'device_hours': '12.5', 'cost': '30.00'}]}";
        static const struct {
                const char *line, *text;
        } rows[] = {
                {"usage", "a to b\n"
                          "tenant  bucket     device-hours  cost EUR\n"
                          "web     delivered          12.5     30.00\n"},
                {"usage --by model,tenant", "a to b\n"
                                            "model    tenant  bucket     device-hours  cost EUR\n"
                                            "H100-80  web     delivered          12.5     30.00\n"},
                {"usage --by modl", "--by: there is no 'modl'; did you mean 'model'?"},
                {"usage --by day,day,day,day,day,day,day", "names too much"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = print(usage_print, &usage_command, rows[i].line, 80, json);
                check_has(text, rows[i].text);
                free(text);
        }
}

static void alerts_are_told_in_words(void **state)
{
        (void)state;
        static const char json[] =
                "{'alerts': [{'id': 2, 'kind': 'broken_promise', 'severity': 'critical', "
                "'subject': 'web', 'measure': 'ms', 'value': 960000, 'threshold': 900000, "
                "'since': '2027-01-04', 'acknowledged': null, 'resolved': null, 'text': 'waits'}, "
                "{'id': 7, 'kind': 'fragmentation', 'severity': 'warning', 'subject': 'T4', "
                "'measure': 'share', 'value': 0.31, 'threshold': 0.25, 'since': '2027-01-05', "
                "'acknowledged': '2027-01-06', 'resolved': null, 'text': 'in pieces'}, "
                "{'id': 1, 'kind': 'store_failed', 'severity': 'critical', 'subject': 'store', "
                "'measure': 'state', 'value': null, 'threshold': null, 'since': '2027-01-01', "
                "'acknowledged': null, 'resolved': '2027-01-02', 'text': 'full'}]}";
        char *text = print(alerts_print, &alerts_command, "alerts", 160, json);
        check_has(text, " 2  critical  broken_promise  web    firing");
        check_has(text, "16 min     15 min  waits\n");
        check_has(text, " 7  warning   fragmentation   T4     acknowledged");
        check_has(text, "0.31       0.25  in pieces\n");
        check_has(text, " 1  critical  store_failed    store  over");
        free(text);
        text = print(pool_print, &pool_command, "pool", 80,
                     "{'nodes': 1, 'devices': 2, 'models': [], 'alerts': {'firing': 3, "
                     "'critical': 1, 'unacknowledged': 2}}");
        check_has(text, "3 alerts, 1 critical, 1 acknowledged; `berth alerts` lists them\n");
        free(text);
        text = print(pool_print, &pool_command, "pool", 80,
                     "{'nodes': 1, 'devices': 2, 'models': [], 'alerts': {'firing': 0}}");
        assert_null(strstr(text, "alert"));
        free(text);
}

static void a_report_tells_waits_causes_and_losses(void **state)
{
        (void)state;
        static const char json[] =
                "{'from': '2027-01-01T00:00:00.000Z', 'until': '2027-02-01T00:00:00.000Z', "
                "'counted_until': '2027-01-09T08:05:38.320Z', "
                "'rows': [{'tenant': 'web', 'starts': 10, 'wait_ms': 50000, "
                "'waits_below': {'1': 6, '8': 3, '64': 1}, 'refused': {'LIMIT': 2}, "
                "'ended': {'exited': 9}, 'stopped': {}, 'lost': {'for_promise': '1.5'}, "
                "'reserved': {'promised': '4', 'used': '3'}}, "
                "{'tenant': null, 'starts': 0, 'refused': {'LIMIT': 1, 'FEASIBLE': 4}, "
                "'lost': {'failed': '0.25'}, 'caused_loss': '2'}]}";
        char *text = print(report_print, &report_command, "report", 120, json);
        check_has(text, "2027-01-01 to 2027-02-01, counted until 2027-01-09T08:05Z; amounts ");
        check_has(text, "web         10        5 s  < 1 s  < 64 s        2      9    1.50\n");
        check_has(text, "refused        LIMIT 3, FEASIBLE 4\n");
        check_has(text, "work lost      for_promise 1.50 h, failed 0.25 h\n");
        check_has(text, "reservations   promised 4.00 h, used 3.00 h\n");
        assert_null(strstr(text, "stopped"));
        free(text);
}

static void tenants_show_what_they_borrow_and_use(void **state)
{
        (void)state;
        char *text = print(ask_print_tenants, &tenants_command, "tenants", 120,
                           "{'tenants': [{'tenant': 'web', 'protect': {'H100-80': '8'}, "
                           "'limit': {'any': '16'}, 'held': '12', 'protected': '8', "
                           "'borrowed': '4', 'spare': '0', 'workloads': 3, 'running': 2, "
                           "'budgets': [{'of': 'any', 'used': '1012.125', 'device_hours': "
                           "'8760000.000', 'per': 'year'}, {'of': 'H100-80', 'used': '3.000', "
                           "'device_hours': '10.000', 'per': 'day'}]}, {'tenant': 'x'}]}");
        assert_string_equal(
                text, "tenant  protect    limit   held  protected  borrowed  spare  work  running\n"
                      "web     H100-80 8  any 16    12          8         4      0     3        2\n"
                      "x\n"
                      "\n"
                      "tenant  budget used\n"
                      "web     1012.125 of 8760000 h a year, 3 of 10 h a day of H100-80\n"
                      "x\n");
        free(text);
}

static void tokens_that_have_expired_say_so(void **state)
{
        (void)state;
        char *text = print(tokens_print, &token_command, "token list", 100,
                           "{'tokens': [{'id': 1, 'principal': 'ana', 'role': 'viewer', 'expires': "
                           "'noon', 'expired': true, 'made_by': 'root'}, {'id': 2, 'principal': "
                           "'bob', 'role': 'viewer', 'expires': 'night', 'expired': false}]}");
        assert_string_equal(text, "id  principal  role    is       expires  by\n"
                                  "1   ana        viewer  expired  noon     root\n"
                                  "2   bob        viewer           night\n");
        free(text);
}

static void a_pool_of_one_node_has_one_node(void **state)
{
        (void)state;
        char *text = print(pool_print, &pool_command, "pool", 80,
                           "{'nodes': 1, 'devices': 1, 'nodes_down': 1}");
        check_has(text, "1 node, 1 device, 1 node down\n");
        free(text);
        text = print(pool_print, &pool_command, "pool", 80, "{'nodes': 2, 'devices': 0}");
        check_has(text, "2 nodes, 0 devices\n");
        free(text);
}

static void notices_say_for_whom(void **state)
{
        (void)state;
        char *text = print(ask_print_notices, &notices_command, "notices", 120,
                           "{'notices': [{'workload': 1, 'name': 'a', 'tenant': 't', 'cause': "
                           "'preemption', 'until': 'noon', 'for': {'workload': 17, 'name': 'sft', "
                           "'tenant': 'web', 'class': 'critical'}}, "
                           "{'workload': 2, 'name': 'b', 'tenant': 't', 'for': {'workload': null, "
                           "'name': null, 'tenant': null, 'class': 'critical'}}, "
                           "{'workload': 3, 'name': 'c', 'tenant': 't', 'for': null}]}");
        check_has(text, "preemption  noon   17 sft of web (class critical)\n");
        check_has(text, "work of another tenant (class critical)\n");
        check_has(text, "3         c     t\n");
        free(text);
}

static void lists_that_are_empty_say_so(void **state)
{
        (void)state;
        static const struct {
                talk_printer *print;
                const struct command *command;
                const char *line, *text;
        } rows[] = {
                {ask_print_queue, &queue_command, "queue", "nothing waits\n"},
                {ask_print_tenants, &tenants_command, "tenants", "there is no tenant"},
                {ask_print_notices, &notices_command, "notices", "no work has been told to stop\n"},
                {tokens_print, &token_command, "token list", "there is no token"},
                {quarantine_print, &quarantine_command, "quarantine list", "nothing has crashed"},
                {pool_print, &pool_command, "pool", "there is no device\n"},
                {alerts_print, &alerts_command, "alerts", "nothing needs anybody's attention\n"},
                {report_print, &report_command, "report", "nothing is counted yet: ask again"},
                {usage_print, &usage_command, "usage", "nothing is counted yet: ask again"},
                {submit_print_dry, &submit_command, "submit", "nothing was submitted\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = print(rows[i].print, rows[i].command, rows[i].line, 80, "{}");
                check_has(text, rows[i].text);
                free(text);
        }
}

static void long_lines_are_broken_at_blanks(void **state)
{
        (void)state;
        static const struct {
                size_t width;
                const char *text, *broken;
        } rows[] = {
                {80, "short\n\nlines\n", "short\n\nlines\n"},
                {80, "no end", "no end\n"},
                {9, "a sentence of words\n", "a\nsentence\nof words\n"},
                {5, "incomprehensible\n", "incomprehensible\n"},
                {40, "asks for   4 x 8 devices, class training; as spare\n",
                 "asks for   4 x 8 devices, class\n           training; as spare\n"},
                {40, "  -d, --devices N  whole devices of each member\n",
                 "  -d, --devices N  whole devices of each\n                   member\n"},
                {40, "    there: somebody, 8 devices, protected\n",
                 "    there: somebody, 8 devices,\n    protected\n"},
                {50, "where                               nodes  nodes by reason\n",
                 "where                               nodes\n    nodes by reason\n"},
                {4, "\xc3\xa4\xc3\xb6 \xc3\xbc x\n", "\xc3\xa4\xc3\xb6 \xc3\xbc\nx\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = NULL;
                size_t size = 0;
                FILE *file = open_memstream(&text, &size);
                screen_put_wrapped(rows[i].text, strlen(rows[i].text), rows[i].width, file);
                fclose(file);
                assert_string_equal(text, rows[i].broken);
                free(text);
        }
}

static void what_goes_on_below_a_wide_line_is_put_behind_it(void **state)
{
        (void)state;
        static const struct {
                const char *text, *joined;
        } rows[] = {
                {"", ""},
                {"as it\nstands\n", "as it\nstands\n"},
                {"more than twenty columns\nand\nmore\n\nnew\n",
                 "more than twenty columns and more\n\nnew\n"},
                {"more than twenty columns\nno end", "more than twenty columns no end"},
                {"more than twenty columns\n  indented\n",
                 "more than twenty columns\n  indented\n"},
                {"more than twenty columns\na  table\n", "more than twenty columns\na  table\n"},
                {"FILE  more than twenty columns\n      go on\nB  c\n",
                 "FILE  more than twenty columns go on\nB  c\n"},
                {"  berth more than twenty columns\n  berth status\n",
                 "  berth more than twenty columns\n  berth status\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = strdup(rows[i].text);
                text[screen_join_wide(text, strlen(text), 20)] = '\0';
                assert_string_equal(text, rows[i].joined);
                free(text);
        }
}

static void long_words_are_cut_between_characters(void **state)
{
        (void)state;
        char buf[JSON_IN_MAX], text[600] = "a";
        for (size_t i = 0; i < 250; i++)
                strcat(text, "\u00fc");
        json_t *object = json_pack("{s: s}", "key", text);
        json_in_words(object, "key", buf);
        assert_int_equal(strlen(buf), JSON_IN_MAX - 1);
        assert_memory_equal(buf, text, strlen(buf));
        json_object_set_new(object, "key", json_string(text + 1));
        json_in_words(object, "key", buf);
        assert_int_equal(strlen(buf), JSON_IN_MAX - 2); /* not half a character */
        json_decref(object);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(work_is_listed_and_cut_to_the_width),
                cmocka_unit_test(one_is_shown_with_all_that_is_known),
                cmocka_unit_test(long_lines_of_a_page_are_broken),
                cmocka_unit_test(runs_are_listed_once_one_has_ended),
                cmocka_unit_test(what_a_server_says_cannot_move_the_cursor),
                cmocka_unit_test(devices_that_look_alike_stand_in_one_line),
                cmocka_unit_test(usage_has_the_columns_that_were_asked_for),
                cmocka_unit_test(alerts_are_told_in_words),
                cmocka_unit_test(a_report_tells_waits_causes_and_losses),
                cmocka_unit_test(tenants_show_what_they_borrow_and_use),
                cmocka_unit_test(notices_say_for_whom),
                cmocka_unit_test(tokens_that_have_expired_say_so),
                cmocka_unit_test(a_pool_of_one_node_has_one_node),
                cmocka_unit_test(lists_that_are_empty_say_so),
                cmocka_unit_test(long_lines_are_broken_at_blanks),
                cmocka_unit_test(what_goes_on_below_a_wide_line_is_put_behind_it),
                cmocka_unit_test(long_words_are_cut_between_characters),
        };
        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
