#include "tests/unit/cli/child.h"

#include "base/doc.h"
#include "cli/documents.h"

static struct documents *load(const char *name)
{
        struct documents *documents = NULL;
        struct err err = {0};

        if (documents_load(path_of(name), &documents, &err) < 0)
                fail_msg("%s", err.text);
        return documents;
}

static void each_document_is_sent_on_its_own_lines(void **state)
{
        (void)state;
        put("many.yaml", "# first\nkind: Pool\nname: a\n--- # second\nkind: Policy\n\n"
                         "--- {kind: Workload}\n# end\n");
        struct documents *documents = load("many.yaml");
        assert_int_equal(documents->count, 3);
        assert_string_equal(documents->list[0].body.bytes, "# first\nkind: Pool\nname: a\n");
        assert_string_equal(documents->list[1].body.bytes, "\n\n\n--- # second\nkind: Policy\n\n");
        assert_string_equal(documents->list[2].body.bytes,
                            "\n\n\n\n\n\n--- {kind: Workload}\n# end\n");
        assert_string_equal(documents->list[1].kind, "Policy");
        assert_string_equal(documents->list[1].type, "application/yaml");
        /* What is sent reads as what is there, and each thing stands in its line. */
        for (size_t d = 0; d < documents->count; d++) {
                struct document *document = &documents->list[d];
                struct doc *doc = NULL;
                assert_int_equal(
                        doc_read_yaml("", document->body.bytes, document->body.size, &doc, NULL),
                        0);
                assert_int_equal(doc_count(doc), 1);
                assert_int_equal(doc_line(doc_get(doc_root(doc, 0), "kind")),
                                 doc_line(doc_get(document->root, "kind")));
                doc_free(doc);
        }
        documents_free(documents);
        unlink(path_of("many.yaml"));
}

static void json_is_sent_as_json(void **state)
{
        (void)state;
        put("one.json", "{\"kind\": \"Workload\"}\n");
        struct documents *documents = load("one.json");
        assert_int_equal(documents->count, 1);
        assert_string_equal(documents->list[0].type, "application/json");
        assert_string_equal(documents->list[0].body.bytes, "{\"kind\": \"Workload\"}\n");
        documents_free(documents);
        unlink(path_of("one.json"));
}

static void a_file_without_kind_or_syntax_is_refused(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"name: x\n", "field 'kind' is missing"},
                {"kind: [a\n", "bad.yaml:"},
                {"kind: Pool\n---\nname: x\n", "bad.yaml:3: "},
                {"", "bad.yaml"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct documents *documents = NULL;
                struct err err = {0};
                put("bad.yaml", rows[i].text);
                assert_true(documents_load(path_of("bad.yaml"), &documents, &err) < 0);
                check_has(err.text, rows[i].sentence);
                assert_null(documents);
        }
        unlink(path_of("bad.yaml"));
}

static void hold_is_added_however_it_is_written(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                int rc;
        } rows[] = {
                {"kind: Workload\nname: a\n", 0},
                {"kind: Workload\nname: a", 0},
                {"# {\n{kind: Workload, name: a}\n", 0},
                {"--- {kind: Workload, name: a}\n", 0},
                {"{\n  \"kind\": \"Workload\", \"name\": \"a\"\n}\n", 0},
                {"kind: Workload\nname: a\nhold: true\n", 0},
                {"kind: Workload\nname: a\nhold: false\n", -ERR_INPUT},
                {"  kind: Workload\n  name: a\n", -ERR_INPUT},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                bool hold = false;
                struct doc *doc = NULL;
                put("w.yaml", rows[i].text);
                struct documents *documents = load("w.yaml");
                int rc = document_hold(&documents->list[0], &err);
                if (rc != rows[i].rc)
                        fail_msg("'%s': %d %s", rows[i].text, rc, err.text);
                if (rc < 0)
                        check_has(err.text, "write hold: true into the file");
                const struct text *body = &documents->list[0].body;
                assert_int_equal(doc_read_yaml("", body->bytes, body->size, &doc, NULL), 0);
                assert_int_equal(doc_bool(doc_get(doc_root(doc, 0), "hold"), &hold, NULL), 0);
                assert_int_equal(hold, rc == 0);
                assert_string_equal(doc_raw(doc_get(doc_root(doc, 0), "name")), "a");
                doc_free(doc);
                documents_free(documents);
        }
        unlink(path_of("w.yaml"));
}

static void the_servers_place_is_the_files(void **state)
{
        (void)state;
        static const struct {
                const char *path, *said, *becomes;
        } rows[] = {
                {"a.yaml", "workload:12: field 'x': no", "a.yaml:12: field 'x': no"},
                {"a.yaml", "policy:1: no", "a.yaml:1: no"},
                {"a.yaml", "no capacity", "a.yaml: no capacity"},
                {"a.yaml", "workload: gone", "a.yaml: workload: gone"},
                {NULL, "workload:1: field 'class' is missing", "field 'class' is missing"},
                {NULL, "tenant 'a' is unknown", "tenant 'a' is unknown"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                err_set(&err, ERR_INPUT, "%s", rows[i].said);
                documents_blame(rows[i].path, &err);
                assert_string_equal(err.text, rows[i].becomes);
                assert_int_equal(err.code, ERR_INPUT);
        }
}

static void no_memory_is_told(void **state)
{
        (void)state;
        put("many.yaml", "kind: Pool\n---\nkind: Policy\n");
        for (unsigned long n = 1;; n++) {
                struct documents *documents = NULL;
                mem_fail_at(n);
                int rc = documents_load(path_of("many.yaml"), &documents, NULL);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                documents_free(documents);
                if (!happened)
                        break;
                assert_int_equal(rc, -ERR_NOMEM);
        }
        unlink(path_of("many.yaml"));
}

static int open_folder(void **state)
{
        (void)state;
        return open_child_folder();
}

static int close_folder(void **state)
{
        (void)state;
        return close_child_folder(NULL, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_document_is_sent_on_its_own_lines),
                cmocka_unit_test(json_is_sent_as_json),
                cmocka_unit_test(a_file_without_kind_or_syntax_is_refused),
                cmocka_unit_test(hold_is_added_however_it_is_written),
                cmocka_unit_test(the_servers_place_is_the_files),
                cmocka_unit_test(no_memory_is_told),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
