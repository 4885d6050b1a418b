#include "tests/unit/cli/child.h"

#include <jansson.h>

#include "base/doc.h"
#include "cli/submit.h"
#include "cli/submit_short.h"
#include "proto/model_doc.h"
#include "proto/pool_doc.h"
#include "proto/workload_doc.h"

#define WORDS_MAX 24

/* The document of `submit LINE`, as text; NULL: refused. Freed with free(). */
static char *document_of(const char *line, const char *tenant, struct err *err)
{
        static char copy[512], *words[WORDS_MAX + 1];
        struct command_call call;
        json_t *document = NULL;
        int count = 0;

        snprintf(copy, sizeof copy, "submit %s", line);
        for (char *word = strtok(copy, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
                words[count++] = word;
        words[count] = NULL;
        if (command_parse(&submit_command, count, words, &call, err) != 0)
                fail_msg("'%s': %s", line, err->text);
        if (submit_short(&call, tenant, &document, err) < 0)
                return NULL;
        char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(9));
        json_decref(document);
        return text;
}

static void options_become_a_document(void **state)
{
        (void)state;
        static const struct {
                const char *line, *tenant, *text;
        } rows[] = {
                {"-d 1 --workdir /w -- python train.py --lr 1", "web",
                 "{\"each\":{\"devices\":1},\"run\":{\"command\":[\"python\",\"train.py\",\"--lr\","
                 "\"1\"],\"workdir\":\"/w\"},\"kind\":\"Workload\",\"name\":\"train\","
                 "\"tenant\":\"web\"}"},
                {"--tenant a/b --class batch --name n --members 2 --devices 8 --model H100* --cpu "
                 "0.5 "
                 "--ram 16Gi --time-limit 6h --hold --workdir /w -- x",
                 "web",
                 "{\"each\":{\"devices\":8,\"model\":\"H100*\",\"ram\":\"16Gi\",\"cpu\":\"0.5\"},"
                 "\"run\":{\"command\":[\"x\"],\"workdir\":\"/w\"},\"kind\":\"Workload\","
                 "\"name\":\"n\",\"tenant\":\"a/b\",\"class\":\"batch\",\"time_limit\":\"6h\","
                 "\"hold\":true,\"members\":2}"},
                {"--start 2027-01-04 --members 2 --workdir /w -- x", "",
                 "{\"each\":{\"devices\":1},\"run\":{\"command\":[\"x\"],\"workdir\":\"/w\"},"
                 "\"kind\":\"Workload\",\"name\":\"x\",\"members\":2,"
                 "\"start\":\"2027-01-04T00:00Z\"}"},
                {"--model H100* --workdir /w -- python a/train.py", "web",
                 "{\"each\":{\"model\":\"H100*\",\"devices\":1},\"run\":{\"command\":[\"python\","
                 "\"a/train.py\"],\"workdir\":\"/w\"},\"kind\":\"Workload\",\"name\":\"train\","
                 "\"tenant\":\"web\"}"},
                {"--workdir /w -- x", "",
                 "{\"each\":{\"devices\":1},\"run\":{\"command\":[\"x\"],\"workdir\":\"/w\"},"
                 "\"kind\":\"Workload\",\"name\":\"x\"}"},
                {"--share 0.1 --memory 8Gi -e A=1 --env B=x=y --env C= --workdir /w -- x", "",
                 "{\"each\":{\"memory\":\"8Gi\",\"share\":0.1},\"run\":{\"command\":[\"x\"],"
                 "\"env\":{\"A\":\"1\",\"B\":\"x=y\",\"C\":\"\"},\"workdir\":\"/w\"},"
                 "\"kind\":\"Workload\",\"name\":\"x\"}"},
                {"--env FROM_HERE --profile 3g.40gb --workdir /w -- x -- y", "",
                 "{\"each\":{\"profile\":\"3g.40gb\"},\"run\":{\"command\":[\"x\",\"--\",\"y\"],"
                 "\"env\":{\"FROM_HERE\":\"here\"},\"workdir\":\"/w\"},\"kind\":\"Workload\","
                 "\"name\":\"x\"}"},
        };
        setenv("FROM_HERE", "here", 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                char *text = document_of(rows[i].line, rows[i].tenant, &err);
                if (!text)
                        fail_msg("'%s': %s", rows[i].line, err.text);
                assert_string_equal(text, rows[i].text);
                free(text);
        }
}

/* The decoder that the server uses takes what we make. */
static void the_document_is_one(void **state)
{
        (void)state;
        static const char *const lines[] = {
                "--tenant t -d 16 --members 4096 --workdir /w -- x",
                "--tenant t --share 0.001 --workdir /w -- x",
                "--tenant t --share 1 --memory 40Gi --workdir /w -- x",
                "--tenant t --cpu 500m --ram 16Gi --time-limit 1.5h -- x",
                "--tenant t --start 2h --workdir /w -- x",
                "--tenant t --profile 3g.20gb --model A100-40 -e A=1 -- ./a.b/c.d",
        };
        struct model_table *models = model_table_new();
        struct vocab *vocab = vocab_new();
        assert_int_equal(model_doc_builtin(models, NULL), 0);
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                struct workload_doc *workload = NULL;
                struct doc *doc = NULL;
                struct err err = {0};
                char *text = document_of(lines[i], "", &err);
                assert_non_null(text);
                if (doc_read_json("made", text, strlen(text), &doc, &err) < 0 ||
                    workload_doc_decode(doc_root(doc, 0), models, NULL, vocab, &workload, &err) < 0)
                        fail_msg("'%s': %s", lines[i], err.text);
                assert_string_equal(workload->tenant, "t");
                workload_doc_free(workload);
                doc_free(doc);
                free(text);
        }
        vocab_free(vocab);
        model_table_free(models);
}

static void what_cannot_be_is_refused_with_the_way_out(void **state)
{
        (void)state;
        static const struct {
                const char *line, *sentence;
        } rows[] = {
                {"-d 17 -- x", "--devices: "},
                {"-d two -- x", "--devices: "},
                {"-d 1 --start soon -- x", "--start: 'soon' is no time: write 2h (from now)"},
                {"-d 1 --members 4097 -- x", "--members: "},
                {"-d 1 --share 1.001 -- x", "--share: "},
                {"-d 1 --share 0 -- x", "--share: "},
                {"-d 1 --env =1 -- x", "--env '=1' names no variable; write NAME=VALUE"},
                {"-d 1 --env NOT_HERE -- x",
                 "--env NOT_HERE: is not set here; write NOT_HERE=VALUE"},
                {"-d 1 --env A=1 --env A=2 -- x", "--env A is given twice"},
                {"-d 1 --name \xff -- x", "is no UTF-8"},
                {"-d 1 -- x \xff", "the command is no UTF-8"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                if (document_of(rows[i].line, "", &err))
                        fail_msg("'%s' was not refused", rows[i].line);
                check_has(err.text, rows[i].sentence);
        }
}

static void work_without_a_name_gets_that_of_its_program(void **state)
{
        (void)state;
        static const struct {
                const char *words[3];
                size_t count;
                const char *name;
        } rows[] = {
                {{"sleep", "1"}, 2, "sleep"},
                {{"python3.11", "/a/b/train.py"}, 2, "train"},
                {{"python", "-m", "x"}, 3, "python"},
                {{"/opt/my tool.sh"}, 1, "my-tool"},
                {{"bash", "run.sh"}, 2, "run"},
                {{".hidden"}, 1, ".hidden"},
                {{"gr\u00fcn"}, 1, "gr--n"},
                {{"0123456789012345678901234567890123456789"},
                 1,
                 "0123456789012345678901234567890"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char name[32];
                char *words[3] = {NULL};
                for (size_t w = 0; w < rows[i].count; w++)
                        words[w] = (char *)(uintptr_t)rows[i].words[w];
                assert_string_equal(submit_short_name(words, rows[i].count, name, sizeof name),
                                    rows[i].name);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_become_a_document),
                cmocka_unit_test(the_document_is_one),
                cmocka_unit_test(what_cannot_be_is_refused_with_the_way_out),
                cmocka_unit_test(work_without_a_name_gets_that_of_its_program),
        };
        unsetenv("NOT_HERE");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
