#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "trace/openb.h"

#define NODE_HEADER "sn,cpu_milli,memory_mib,gpu,model\n"
#define POD_HEADER  "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
#define POD_FULL    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase," \
                    "creation_time,deletion_time,scheduled_time\n"

static int parse_nodes(const char *text, struct openb_nodes *ret_nodes, struct err *err)
{
        return openb_nodes_parse("n.csv", text, strlen(text), ret_nodes, err);
}

static int parse_pods(const char *text, struct openb_pods *ret_pods, struct err *err)
{
        return openb_pods_parse("p.csv", text, strlen(text), ret_pods, err);
}

static void nodes_are_read_in_order(void **state)
{
        (void)state;
        struct openb_nodes nodes = {0};
        struct err err = {0};
        assert_int_equal(parse_nodes(NODE_HEADER "a,64000,262144,2,P100\nb,96000,393216,0,\n"
                                     "c,4096000,67108864,16,P100\n", &nodes, &err), 0);
        assert_int_equal(nodes.count, 3);
        assert_string_equal(nodes.rows[0].name, "a");
        assert_int_equal(nodes.rows[0].cpu_milli, 64000);
        assert_int_equal(nodes.rows[0].memory_mib, 262144);
        assert_int_equal(nodes.rows[0].gpu_count, 2);
        assert_string_equal(nodes.rows[0].model, "P100");
        assert_string_equal(nodes.rows[1].model, "");
        assert_string_equal(nodes.rows[2].model, "P100");
        openb_nodes_done(&nodes);
        openb_nodes_done(&nodes);
        openb_nodes_done(NULL);
}

static void bad_nodes_are_refused_with_their_place(void **state)
{
        (void)state;
        static const struct { const char *text, *sentence; } rows[] = {
                {"", "n.csv:1: is empty"},
                {NODE_HEADER, "n.csv:1: no row follows the first line"},
                {"sn,cpu_milli,memory_mib,gpus,model\n", "column 'gpu' is not among the columns "
                 "that the line names; did you mean 'gpus'?"},
                {"sn,cpu_milli,memory_mib,gpu,model,x\n", "column 'x' is not known here"},
                {NODE_HEADER "a,1,1,2,\n", "n.csv:2: column 'model': is empty and the node has 2 "
                 "devices"},
                {NODE_HEADER "a,1,1,17,T4\n", "column 'gpu': '17' is out of range; write 0 to 16"},
                {NODE_HEADER "a,-1,1,0,\n", "column 'cpu_milli': '-1' is negative"},
                {NODE_HEADER "a,4096001,1,0,\n", "column 'cpu_milli': '4096001' is out of"},
                {NODE_HEADER "a,1,67108865,0,\n", "column 'memory_mib': '67108865' is out of"},
                {NODE_HEADER "a,1,1,1,A|B\n",
                 "n.csv:2: column 'model': 'A|B' is no name of a model"},
                {NODE_HEADER "a,1,1,1,A*\n", "column 'model': 'A*' is no name"},
                {NODE_HEADER "a,1,1,1,caf\xc3\xa9\n", "is no name of a model"},
                {NODE_HEADER "a,1,1,1,A \n", "column 'model': 'A ' is no name"},
                {NODE_HEADER "a,1,1,1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
                 "column 'model': is 48 bytes long; write 0 to 47"},
                {NODE_HEADER "a,1.5,1,0,\n", "'1.5' is not a whole number"},
                {NODE_HEADER "a,,1,0,\n", "column 'cpu_milli': is empty"},
                {NODE_HEADER ",1,1,0,\n", "column 'sn': is empty"},
                {NODE_HEADER "a,1,1,0,\nb,1,1,0,\na,1,1,0,\n",
                 "n.csv:4: column 'sn': 'a' stands here a second time"},
                {NODE_HEADER "a,1,1,0\n", "n.csv:2: the row has 4 fields"},
                {NODE_HEADER "\"a\nb\",1,1,0,\n", "column 'sn': holds a control character"},
                {NODE_HEADER "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,1,1,0,\n",
                 "column 'sn': is 65 bytes long; write 1 to 64"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct openb_nodes nodes = {0};
                struct err err = {0};
                int rc = parse_nodes(rows[i].text, &nodes, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, rows[i].sentence);
                assert_null(nodes.rows);
        }
}

static void pods_are_read_with_and_without_the_last_columns(void **state)
{
        (void)state;
        struct openb_pods pods = {0};
        struct err err = {0};
        assert_int_equal(parse_pods(POD_FULL "a,12000,16384,1,460,V100M16|V100M32,LS,Running,0,9,\n"
                                    "b,1,2,0,0,,,,,,\n", &pods, &err), 0);
        assert_int_equal(pods.count, 2);
        assert_string_equal(pods.rows[0].gpu_spec, "V100M16|V100M32");
        assert_int_equal(pods.rows[0].gpu_milli, 460);
        assert_string_equal(pods.rows[0].qos, "LS");
        assert_string_equal(pods.rows[0].phase, "Running");
        assert_int_equal(pods.rows[0].created_s, 0);
        assert_int_equal(pods.rows[0].deleted_s, 9);
        assert_true(pods.rows[0].scheduled_s == OPENB_TIME_NONE);
        assert_string_equal(pods.rows[1].gpu_spec, "");
        assert_true(pods.rows[1].created_s == OPENB_TIME_NONE);
        openb_pods_done(&pods);

        assert_int_equal(parse_pods(POD_HEADER "a,1,2,8,1000\n", &pods, &err), 0);
        assert_int_equal(pods.rows[0].gpu_count, 8);
        assert_string_equal(pods.rows[0].gpu_spec, "");
        assert_string_equal(pods.rows[0].phase, "");
        assert_true(pods.rows[0].deleted_s == OPENB_TIME_NONE);
        openb_pods_done(&pods);

        /* Columns in another order, CRLF, a byte order mark, no last line break. */
        assert_int_equal(parse_pods("\xef\xbb\xbfgpu_milli,num_gpu,memory_mib,cpu_milli,name\r\n"
                                    "1000,1,3,4,z", &pods, &err), 0);
        assert_string_equal(pods.rows[0].name, "z");
        assert_int_equal(pods.rows[0].cpu_milli, 4);
        openb_pods_done(&pods);
        openb_pods_done(NULL);
}

static void bad_pods_are_refused_with_their_place(void **state)
{
        (void)state;
        static const struct { const char *text, *sentence; } rows[] = {
                {POD_HEADER, "no row follows"},
                {POD_HEADER "a,1,1,2,500\n",
                 "p.csv:2: column 'gpu_milli': is 500 and num_gpu is 2; only one device can be "
                 "shared"},
                {POD_HEADER "a,1,1,0,500\n", "column 'gpu_milli': is 500 and num_gpu is 0"},
                {POD_HEADER "a,1,1,1,0\n", "column 'gpu_milli': is 0 and num_gpu is 1"},
                {POD_HEADER "a,1,1,1,1001\n", "column 'gpu_milli': '1001' is out of range; write 0 "
                 "to 1000"},
                {POD_HEADER "a,1,1,17,1000\n", "column 'num_gpu': '17' is out of range"},
                {POD_HEADER "a,1,1,1e0,1000\n", "'1e0' is not a whole number"},
                {POD_HEADER "a,1,1,18446744073709551617,1000\n", "is out of range"},
                {POD_FULL "a,1,1,1,1000,|T4,,,,,\n",
                 "column 'gpu_spec': '|T4' holds an empty model"},
                {POD_FULL "a,1,1,1,1000,T4|,,,,,\n", "holds an empty model name"},
                {POD_FULL "a,1,1,1,1000,T4||P4,,,,,\n", "holds an empty model name"},
                {POD_FULL "a,1,1,1,1000,,,,-5,,\n", "column 'creation_time': '-5' is negative"},
                {POD_FULL "a,1,1,1,1000,,,,1.5,,\n", "column 'creation_time': '1.5' is not"},
                {POD_FULL "a,1,1,1,1000,,,,,,soon\n", "column 'scheduled_time': 'soon' is not"},
                {POD_FULL "a,1,1,1,1000\n", "the row has 5 fields and the first line names 11"},
                {"name,cpu_milli,memory_mib,num_gpu,gpu_mili\n", "did you mean 'gpu_mili'"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct openb_pods pods = {0};
                struct err err = {0};
                int rc = parse_pods(rows[i].text, &pods, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, rows[i].sentence);
                assert_null(pods.rows);
        }
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct openb_nodes nodes = {0};
                struct openb_pods pods = {0};
                struct err err = {0};
                mem_fail_at(n);
                int rc = parse_nodes(NODE_HEADER "a,1,1,0,\nb,1,1,1,T4\n", &nodes, &err);
                if (rc == 0)
                        rc = parse_pods(POD_HEADER "a,1,1,1,500\nb,1,1,1,20\n", &pods, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                openb_nodes_done(&nodes);
                openb_pods_done(&pods);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                if (!happened)
                        break;
        }
}

static void files_that_cannot_be_read_are_named(void **state)
{
        (void)state;
        struct openb_nodes nodes = {0};
        struct openb_pods pods = {0};
        struct err err = {0};
        assert_int_equal(openb_nodes_read("/no/such.csv", &nodes, &err), -ERR_NOT_FOUND);
        check_has(err.text, "/no/such.csv: No such file");
        assert_int_equal(openb_pods_read("/tmp", &pods, &err), -ERR_IO);
        check_has(err.text, "/tmp: is a directory");
}

/* The published lists, where they lie beside the source (BERTH_DATA). */
static void the_published_lists_have_their_published_sizes(void **state)
{
        (void)state;
        const char *data = getenv("BERTH_DATA");
        const char *source = getenv("BERTH_SOURCE");
        char folder[4096];
        char path[4200];
        snprintf(folder, sizeof folder, "%s%s/openb", data ? "" : source ? source : ".",
                 data ? data : "/../shared/data");
        snprintf(path, sizeof path, "%s/openb_node_list_gpu_node.csv", folder);
        if (access(path, R_OK) < 0)
                skip();
        struct openb_nodes nodes = {0};
        struct openb_pods pods = {0};
        struct err err = {0};
        if (openb_nodes_read(path, &nodes, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(nodes.count, 1213);
        uint64_t gpus = 0;
        uint64_t cpu_milli = 0;
        for (size_t i = 0; i < nodes.count; i++) {
                gpus += nodes.rows[i].gpu_count;
                cpu_milli += nodes.rows[i].cpu_milli;
        }
        assert_int_equal(gpus, 6212);
        assert_int_equal(cpu_milli, 107018000);
        openb_nodes_done(&nodes);

        snprintf(path, sizeof path, "%s/openb_pod_list_default.csv", folder);
        if (openb_pods_read(path, &pods, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(pods.count, 8152);
        uint64_t gpu_milli = 0;
        size_t unscheduled = 0;
        for (size_t i = 0; i < pods.count; i++) {
                gpu_milli += (uint64_t)pods.rows[i].gpu_count * pods.rows[i].gpu_milli;
                unscheduled += pods.rows[i].scheduled_s == OPENB_TIME_NONE;
        }
        assert_int_equal(gpu_milli / 100, 60868);
        assert_int_equal(unscheduled, 897);
        openb_pods_done(&pods);

        static const char *const lists[] = {"cpu0", "cpu037", "cpu050", "cpu235", "cpu250",
                                            "gpushare20", "gpushare40", "gpushare100",
                                            "gpuspec05", "gpuspec10", "gpuspec33",
                                            "multigpu20", "multigpu50"};
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                snprintf(path, sizeof path, "%s/openb_pod_list_%s.csv", folder, lists[i]);
                if (access(path, R_OK) < 0)
                        continue;
                if (openb_pods_read(path, &pods, &err) < 0)
                        fail_msg("%s", err.text);
                openb_pods_done(&pods);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nodes_are_read_in_order),
                cmocka_unit_test(bad_nodes_are_refused_with_their_place),
                cmocka_unit_test(pods_are_read_with_and_without_the_last_columns),
                cmocka_unit_test(bad_pods_are_refused_with_their_place),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(files_that_cannot_be_read_are_named),
                cmocka_unit_test(the_published_lists_have_their_published_sizes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
