#include "tests/unit/check.h"

#include <stdlib.h>
#include <time.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"

static struct doc *read_yaml(const char *text)
{
        struct err err = {0};
        struct doc *doc = NULL;
        if (doc_read_yaml("f.yaml", text, strlen(text), &doc, &err) < 0)
                fail_msg("%s", err.text);
        return doc;
}

static struct doc *read_json(const char *text)
{
        struct err err = {0};
        struct doc *doc = NULL;
        if (doc_read_json("f.json", text, strlen(text), &doc, &err) < 0)
                fail_msg("%s", err.text);
        return doc;
}

/* The node at "a.b.2.c"; fails when it is not there. */
static const struct doc_node *at(const struct doc *doc, const char *path)
{
        const struct doc_node *node = doc_root(doc, 0);
        char copy[256];
        snprintf(copy, sizeof copy, "%s", path);
        char *rest = copy;
        for (char *part; node && (part = strsep(&rest, "/"));) {
                if (doc_kind(node) == DOC_LIST) {
                        node = doc_first(node);
                        for (int i = atoi(part); node && i > 0; i--)
                                node = doc_next(node);
                } else {
                        node = doc_get(node, part);
                }
        }
        if (!node)
                fail_msg("nothing at '%s'", path);
        return node;
}

static const char scenario_yaml[] =
        "kind: Replay\n"
        "name: \"slices, uniform\"\n"
        "pool:       {nodes: 100, model: A100-40}\n"
        "workload:\n"
        "  load: 1.0\n"
        "  mix: {1g.5gb: 1,\n"
        "        7g.40gb: -1}\n"
        "placements:\n"
        "- auto\n"
        "- 'fgd'\n"
        "empty:\n"
        "tilde: ~\n"
        "quoted: \"null\"\n"
        "text: |\n"
        "  two\n"
        "  lines\n";

static const char scenario_json[] =
        "{\"kind\": \"Replay\",\n"
        " \"name\": \"slices, uniform\",\n"
        " \"pool\": {\"nodes\": 100, \"model\": \"A100-40\"},\n"
        " \"workload\": {\n"
        "   \"load\": 1.0,\n"
        "   \"mix\": {\"1g.5gb\": 1,\n"
        "           \"7g.40gb\": -1}\n"
        " },\n"
        " \"placements\": [\"auto\",\n"
        "   \"fgd\"],\n"
        " \"empty\": null,\n"
        " \"tilde\": null, \"quoted\": \"null\",\n"
        " \"text\": \"two\\nlines\\n\"}\n";

static void yaml_and_json_make_the_same_tree(void **state)
{
        (void)state;
        struct doc *docs[] = {read_yaml(scenario_yaml), read_json(scenario_json)};
        for (int i = 0; i < 2; i++) {
                const struct doc *doc = docs[i];
                assert_int_equal(doc_count(doc), 1);
                assert_int_equal(doc_kind(doc_root(doc, 0)), DOC_MAP);
                assert_int_equal(doc_length(doc_root(doc, 0)), 9);
                assert_string_equal(doc_raw(at(doc, "name")), "slices, uniform");
                assert_true(doc_is_quoted(at(doc, "name")));
                assert_string_equal(doc_raw(at(doc, "pool/nodes")), "100");
                assert_false(doc_is_quoted(at(doc, "pool/nodes")));
                assert_string_equal(doc_raw(at(doc, "workload/load")), "1.0");
                assert_string_equal(doc_raw(at(doc, "workload/mix/7g.40gb")), "-1");
                assert_int_equal(doc_kind(at(doc, "placements")), DOC_LIST);
                assert_string_equal(doc_raw(at(doc, "placements/1")), "fgd");
                assert_null(doc_key(at(doc, "placements/1")));
                assert_int_equal(doc_kind(at(doc, "empty")), DOC_NULL);
                assert_int_equal(doc_kind(at(doc, "tilde")), DOC_NULL);
                assert_int_equal(doc_kind(at(doc, "quoted")), DOC_SCALAR);
                assert_string_equal(doc_raw(at(doc, "text")), "two\nlines\n");
                assert_null(doc_get(doc_root(doc, 0), "none"));
                assert_null(doc_get(at(doc, "placements"), "auto"));
                assert_null(doc_get(NULL, "x"));
                assert_null(doc_first(NULL));
                assert_int_equal(doc_length(NULL), 0);
        }
        for (int i = 0; i < 2; i++)
                doc_free(docs[i]);
        doc_free(NULL);
}

static void every_node_knows_its_line(void **state)
{
        (void)state;
        static const struct { const char *path; unsigned yaml, json; } rows[] = {
                {"kind", 1, 1},
                {"pool", 3, 3},
                {"pool/model", 3, 3},
                {"workload", 4, 4},
                {"workload/load", 5, 5},
                {"workload/mix/1g.5gb", 6, 6},
                {"workload/mix/7g.40gb", 7, 7},
                {"placements", 8, 9},
                {"placements/0", 9, 9},
                {"placements/1", 10, 10},
                {"empty", 11, 11},
                {"text", 14, 13},
        };
        struct doc *yaml = read_yaml(scenario_yaml);
        struct doc *json = read_json(scenario_json);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(doc_line(at(yaml, rows[i].path)), rows[i].yaml);
                assert_int_equal(doc_line(at(json, rows[i].path)), rows[i].json);
        }
        doc_free(yaml);
        doc_free(json);
}

static void numbers_keep_their_digits(void **state)
{
        (void)state;
        struct doc *doc = read_json("[0.1000000000000000055, 1e3, 0, -0.0, 9007199254740993, "
                                    "[], {}, true, \"\\\"\\\\\", \"a,]}:\", 3]");
        static const char *const texts[] = {"0.1000000000000000055", "1e3", "0", "-0.0",
                                            "9007199254740993", NULL, NULL, "true", "\"\\",
                                            "a,]}:", "3"};
        size_t i = 0;
        DOC_EACH (node, doc_root(doc, 0)) {
                if (texts[i])
                        assert_string_equal(doc_raw(node), texts[i]);
                else
                        assert_null(doc_raw(node));
                i++;
        }
        assert_int_equal(i, ARRAY_LEN(texts));
        doc_free(doc);
}

static void several_documents_stand_apart(void **state)
{
        (void)state;
        struct doc *doc = read_yaml("\xef\xbb\xbfkind: Pool\r\n---\r\nkind: Policy\r\n"
                                    "---\r\n- 1\r\n...\r\n");
        assert_int_equal(doc_count(doc), 3);
        assert_string_equal(doc_raw(doc_get(doc_root(doc, 0), "kind")), "Pool");
        assert_string_equal(doc_raw(doc_get(doc_root(doc, 1), "kind")), "Policy");
        assert_int_equal(doc_line(doc_get(doc_root(doc, 1), "kind")), 3);
        assert_int_equal(doc_kind(doc_root(doc, 2)), DOC_LIST);
        assert_null(doc_next(doc_root(doc, 0)));
        doc_free(doc);
}

static void bad_files_are_refused_with_their_line(void **state)
{
        (void)state;
        static const struct { const char *yaml, *sentence; } rows[] = {
                {"", "f.yaml:1: holds no document"},
                {"# only a comment\n", "f.yaml:1: holds no document"},
                {"a: &x 1\n", "f.yaml:1: anchors ('&x') are not read"},
                {"a: 1\nb: *x\n", "f.yaml:2: aliases ('*x') are not read"},
                {"model: *\n", "f.yaml:1: is not YAML"},
                {"a: !!int 1\n", "f.yaml:1: tags ('!!int') are not read"},
                {"a: !x [1]\n", "tags ('!x') are not read"},
                {"a: !x {b: 1}\n", "tags ('!x') are not read"},
                {"a: ! b\n", "tags ('!') are not read"},
                {"a: &x [1]\n", "anchors"},
                {"a: &x {b: 1}\n", "anchors"},
                {"&x a: 1\n", "anchors"},
                {"%TAG ! tag:example.com,2000:\n---\na: 1\n", "%TAG is not read"},
                {"<<: {a: 1}\n", "merge keys ('<<') are not read"},
                {"a: 1\nb: 2\na: 3\n",
                 "f.yaml:3: field 'a': stands here a second time (first in line 1); keep one"},
                {"x: {b: 1, \"b\": 2}\n", "field 'x.b': stands here a second time"},
                {"? [a]\n: 1\n", "f.yaml:1: a key is a list or a map"},
                {"{{a: 1}: 2}\n", "a key is a list or a map"},
                {"\"\": 1\n", "a key is empty"},
                {"a: \"x\\0y\"\n", "f.yaml:1: holds a NUL character"},
                {"\"x\\0y\": 1\n", "a key holds a NUL character"},
                {"a: [1, 2\nb: 3\n", "is not YAML: while parsing a flow sequence"},
                {"a: 1\n b: 2\n", "f.yaml:2: is not YAML"},
                {"a: \"open\n", "is not YAML"},
                {"\tb: 2\n", "is not YAML"},
                {"a: 1\nb: \xff\n", "f.yaml:2: byte 0xff is not UTF-8"},
                {"\xff\xfe" "a", "f.yaml:1: byte 0xff is not UTF-8"},
                {"a: 1\nb: \x01\n", "f.yaml:2: is not YAML"},
                {"a: 1\n--- \nb: 1\nb: 2\n", "f.yaml:4: field 'b': stands here a second time"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct doc *doc = NULL;
                int rc = doc_read_yaml("f.yaml", rows[i].yaml, strlen(rows[i].yaml), &doc, &err);
                if (rc != -ERR_INPUT)
                        fail_msg("'%s' was not refused: %d", rows[i].yaml, rc);
                assert_null(doc);
                check_has(err.text, rows[i].sentence);
        }
}

static void bad_json_is_refused_with_its_line(void **state)
{
        (void)state;
        static const struct { const char *json, *sentence; } rows[] = {
                {"", "f.json:1: is not JSON"},
                {"3", "f.json:1: is not JSON"},
                {"{\"a\": 1,\n \"a\": 2}", "f.json:2: is not JSON: duplicate object key"},
                {"{\"a\": 1,\n \"b\": }", "f.json:2: is not JSON"},
                {"[1,\n2", "f.json:2: is not JSON"},
                {"[1] [2]", "is not JSON: end of file expected"},
                {"[1,]", "is not JSON"},
                {"['a']", "is not JSON"},
                {"[01]", "is not JSON"},
                {"[99999999999999999999]", "too big integer"},
                {"[1e999]", "real number overflow"},
                {"[\"\\u0000\"]", "is not JSON"},
                {"[\"\xff\"]", "f.json:1: byte 0xff is not UTF-8"},
                {"{\"\": 1}", "f.json:1: a key is empty"},
                {"\xff\xfe[", "not UTF-8"},
                {"[NaN]", "is not JSON"},
                {"// no\n[]", "is not JSON"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct doc *doc = NULL;
                int rc = doc_read_json("f.json", rows[i].json, strlen(rows[i].json), &doc, &err);
                if (rc != -ERR_INPUT)
                        fail_msg("'%s' was not refused: %d", rows[i].json, rc);
                assert_null(doc);
                check_has(err.text, rows[i].sentence);
        }
        struct err err = {0};
        struct doc *doc = NULL;
        assert_int_equal(doc_read_json("f.json", "[1,\n\0]", 6, &doc, &err), -ERR_INPUT);
        check_has(err.text, "f.json:2: holds a NUL byte");
        assert_int_equal(doc_read_yaml("f.yaml", "a: \0", 4, &doc, &err), -ERR_INPUT);
        check_has(err.text, "f.yaml:1: holds a NUL byte");
}

static int read_nested(bool is_json, int depth, struct err *err)
{
        char text[200];
        memset(text, '[', (size_t)depth);
        text[depth] = '1';
        memset(text + depth + 1, ']', (size_t)depth);
        struct doc *doc = NULL;
        size_t size = 2 * (size_t)depth + 1;
        int rc = is_json ? doc_read_json("f", text, size, &doc, err)
                         : doc_read_yaml("f", text, size, &doc, err);
        doc_free(doc);
        return rc;
}

static void nesting_has_a_bound(void **state)
{
        (void)state;
        for (int is_json = 0; is_json < 2; is_json++) {
                struct err err = {0};
                assert_int_equal(read_nested(is_json, DOC_DEPTH_MAX, &err), 0);
                assert_int_equal(read_nested(is_json, DOC_DEPTH_MAX + 1, &err), -ERR_INPUT);
                check_has(err.text, "f:1: is nested deeper than 32");
        }
}

static int read_long(bool is_json, size_t length, struct err *err)
{
        char *text = malloc(length + 4);
        assert_non_null(text);
        memset(text, 'x', length + 4);
        memcpy(text, "[\"", 2);
        memcpy(text + 2 + length, "\"]", 2);
        struct doc *doc = NULL;
        int rc = is_json ? doc_read_json("f", text, length + 4, &doc, err)
                         : doc_read_yaml("f", text, length + 4, &doc, err);
        doc_free(doc);
        free(text);
        return rc;
}

static void texts_have_a_bound(void **state)
{
        (void)state;
        for (int is_json = 0; is_json < 2; is_json++) {
                struct err err = {0};
                assert_int_equal(read_long(is_json, DOC_TEXT_MAX, &err), 0);
                assert_int_equal(read_long(is_json, DOC_TEXT_MAX + 1, &err), -ERR_INPUT);
                check_has(err.text, "f:1: a value is 1048577 bytes long; at most 1048576 are read");
                assert_int_equal(read_long(is_json, 10u << 20, &err), -ERR_INPUT);
                assert_int_equal(read_long(is_json, DOC_BYTES_MAX, &err), -ERR_INPUT);
                check_has(err.text, "f:1: 67108868 bytes are too many; at most 67108864 are read");
        }
}

static int read_wide(bool is_json, size_t values, struct err *err)
{
        char *text = malloc(2 * values + 2);
        assert_non_null(text);
        text[0] = '[';
        for (size_t i = 0; i < values; i++)
                memcpy(text + 1 + 2 * i, "1,", 2);
        text[2 * values] = ']';
        struct doc *doc = NULL;
        int rc = is_json ? doc_read_json("f", text, 2 * values + 1, &doc, err)
                         : doc_read_yaml("f", text, 2 * values + 1, &doc, err);
        doc_free(doc);
        free(text);
        return rc;
}

static void the_number_of_values_has_a_bound(void **state)
{
        (void)state;
        for (int is_json = 0; is_json < 2; is_json++) {
                struct err err = {0};
                assert_int_equal(read_wide(is_json, DOC_NODES_MAX - 1, &err), 0);
                assert_int_equal(read_wide(is_json, DOC_NODES_MAX, &err), -ERR_INPUT);
                check_has(err.text, "holds more than 1000000 values");
        }
        struct err err = {0};
        assert_int_equal(read_wide(true, 30000000, &err), -ERR_INPUT);
        check_has(err.text, "holds more than 1000000 values");
}

static void wide_maps_with_equal_keys_are_found_quickly(void **state)
{
        (void)state;
        enum { KEYS = 100000 };
        char *text = malloc(KEYS * 16);
        assert_non_null(text);
        size_t size = 0;
        for (int i = 0; i < KEYS; i++)
                size += (size_t)sprintf(text + size, "k%d: 1\n", i == KEYS - 1 ? 7 : i);
        struct err err = {0};
        struct doc *doc = NULL;
        clock_t start = clock();
        assert_int_equal(doc_read_yaml("f", text, size, &doc, &err), -ERR_INPUT);
        check_has(err.text, "f:100000: field 'k7': stands here a second time (first in line 8)");
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5.0);
        free(text);
}

static void paths_lead_to_the_field(void **state)
{
        (void)state;
        struct doc *doc = read_yaml("workload: {mix: {1g.5gb: x}}\n"
                                    "nodes: [{name: a}, {name: [[b]]}]\n");
        char path[DOC_PATH_MAX];
        assert_string_equal(doc_path(doc_root(doc, 0), path), "");
        assert_string_equal(doc_path(at(doc, "workload/mix/1g.5gb"), path), "workload.mix.1g.5gb");
        assert_string_equal(doc_path(at(doc, "nodes/1/name/0/0"), path), "nodes[1].name[0][0]");
        struct err err = {0};
        assert_int_equal(doc_fail(at(doc, "nodes/0/name"), &err, "is %s", "odd"), -ERR_INPUT);
        assert_string_equal(err.text, "f.yaml:2: field 'nodes[0].name': is odd");
        assert_int_equal(doc_fail(doc_root(doc, 0), &err, "is odd"), -ERR_INPUT);
        assert_string_equal(err.text, "f.yaml:1: is odd");
        err_set(&err, ERR_NOT_FOUND, "no such model");
        assert_int_equal(doc_blame(at(doc, "workload"), &err), -ERR_NOT_FOUND);
        assert_string_equal(err.text, "f.yaml:1: field 'workload': no such model");
        assert_int_equal(doc_fail(at(doc, "workload"), NULL, "is odd"), -ERR_INPUT);
        doc_free(doc);
}

static void long_paths_and_names_leave_room_for_the_sentence(void **state)
{
        (void)state;
        char text[4000];
        size_t size = 0;
        for (int i = 0; i < 20; i++)
                size += (size_t)sprintf(text + size, "{averyveryveryverylongkeynumber%d: ", i);
        size += (size_t)sprintf(text + size, "x");
        for (int i = 0; i < 20; i++)
                text[size++] = '}';
        char name[1000];
        memset(name, 'n', sizeof name - 1);
        memcpy(name + sizeof name - 6, ".yaml", 6);
        struct err err = {0};
        struct doc *doc = NULL;
        assert_int_equal(doc_read_yaml(name, text, size, &doc, &err), 0);
        const struct doc_node *node = doc_root(doc, 0);
        while (doc_first(node))
                node = doc_first(node);
        uint64_t value = 0;
        assert_int_equal(doc_u64(node, 0, 9, &value, &err), -ERR_INPUT);
        check_has(err.text, "nnn.yaml:1: field '...");
        check_has(err.text, "number19': 'x' is not a whole number; write for example 12");
        doc_free(doc);
}

static void scalars_decode_or_say_what_to_write(void **state)
{
        (void)state;
        static const char text[] = "n: 12\nneg: -3\nq: \"12\"\nword: abc\nlist: [1]\nmap: {a: 1}\n"
                                   "none:\nyes: true\nno: false\nold: yes\nqbool: \"true\"\n"
                                   "share: 0.25\nfine: 0.0001\nram: 512Gi\nqram: \"512Gi\"\n"
                                   "net: 100Gb\ntime: 30m\ncpu: 0.5\nblank: \"\"\nbig: 4294967296\n"
                                   "day: 2d\n";
        struct doc *doc = read_yaml(text);
        struct err err = {0};
        uint64_t u64 = 5;
        uint32_t u32 = 5;
        int64_t i64 = 5;
        bool boolean = false;
        const char *word = "unset";
        char copy[4] = "old";

        assert_int_equal(doc_u64(at(doc, "n"), 0, 99, &u64, &err), 0);
        assert_int_equal(u64, 12);
        assert_int_equal(doc_u32(at(doc, "n"), 0, 99, &u32, &err), 0);
        assert_int_equal(u32, 12);
        assert_int_equal(doc_i64(at(doc, "neg"), -9, 9, &i64, &err), 0);
        assert_int_equal(i64, -3);
        assert_int_equal(doc_bool(at(doc, "yes"), &boolean, &err), 0);
        assert_true(boolean);
        assert_int_equal(doc_bool(at(doc, "no"), &boolean, &err), 0);
        assert_false(boolean);
        assert_int_equal(doc_milli(at(doc, "share"), 0, 1000, &u64, &err), 0);
        assert_int_equal(u64, 250);
        assert_int_equal(doc_fixed(at(doc, "share"), 2, 0, 100, &u64, &err), 0);
        assert_int_equal(u64, 25);
        assert_int_equal(doc_size_mib(at(doc, "ram"), 0, UINT64_MAX, &u64, &err), 0);
        assert_int_equal(u64, 524288);
        assert_int_equal(doc_size_mib(at(doc, "qram"), 0, UINT64_MAX, &u64, &err), 0);
        assert_int_equal(doc_rate_mbit(at(doc, "net"), 0, UINT64_MAX, &u64, &err), 0);
        assert_int_equal(u64, 100000);
        assert_int_equal(doc_duration_ms(at(doc, "time"), 0, INT64_MAX, &i64, &err), 0);
        assert_int_equal(i64, 1800000);
        assert_int_equal(doc_cpu_milli(at(doc, "cpu"), 0, UINT64_MAX, &u64, &err), 0);
        assert_int_equal(u64, 500);
        assert_int_equal(doc_text(at(doc, "word"), 1, 3, &word, &err), 0);
        assert_string_equal(word, "abc");
        assert_int_equal(doc_copy(at(doc, "word"), copy, sizeof copy, &err), 0);
        assert_string_equal(copy, "abc");
        assert_int_equal(doc_text(at(doc, "blank"), 0, 3, &word, &err), 0);
        assert_string_equal(word, "");

        assert_int_equal(doc_u64(at(doc, "q"), 0, 99, &u64, &err), -ERR_INPUT);
        assert_string_equal(err.text, "f.yaml:3: field 'q': '12' stands in quotes; write it "
                                      "without");
        assert_int_equal(doc_u64(at(doc, "neg"), 0, 99, &u64, &err), -ERR_RANGE);
        check_has(err.text, "f.yaml:2: field 'neg': '-3' is negative");
        assert_int_equal(doc_u64(at(doc, "word"), 0, 99, &u64, &err), -ERR_INPUT);
        check_has(err.text, "field 'word': 'abc' is not a whole number; write for example 12");
        assert_int_equal(doc_u64(at(doc, "list"), 0, 99, &u64, &err), -ERR_INPUT);
        check_has(err.text, "is a list; write a single value");
        assert_int_equal(doc_u64(at(doc, "none"), 0, 99, &u64, &err), -ERR_INPUT);
        check_has(err.text, "has no value; write one or leave the field out");
        u32 = 5;
        assert_int_equal(doc_u32(at(doc, "big"), 0, UINT32_MAX, &u32, &err), -ERR_RANGE);
        assert_int_equal(u32, 5);
        assert_int_equal(doc_bool(at(doc, "old"), &boolean, &err), -ERR_INPUT);
        check_has(err.text, "'yes' is neither true nor false");
        assert_int_equal(doc_bool(at(doc, "qbool"), &boolean, &err), -ERR_INPUT);
        assert_int_equal(doc_milli(at(doc, "fine"), 0, 1000, &u64, &err), -ERR_INPUT);
        check_has(err.text, "more than 3 digits");
        assert_int_equal(doc_fixed(at(doc, "fine"), 2, 0, 1000, &u64, &err), -ERR_INPUT);
        assert_int_equal(doc_duration_ms(at(doc, "day"), 0, 86400000, &i64, &err), -ERR_RANGE);
        check_has(err.text, "field 'day': '2d' is out of range; write 0 to 1d");
        assert_int_equal(doc_text(at(doc, "blank"), 1, 3, &word, &err), -ERR_INPUT);
        check_has(err.text, "is empty");
        assert_int_equal(doc_copy(at(doc, "word"), copy, 3, &err), -ERR_INPUT);
        check_has(err.text, "is 3 bytes long; write 1 to 2");
        assert_int_equal(doc_text(at(doc, "map"), 1, 3, &word, &err), -ERR_INPUT);
        doc_free(doc);
}

static void absent_fields_keep_their_defaults(void **state)
{
        (void)state;
        struct err err = {0};
        uint64_t u64 = 7;
        uint32_t u32 = 7;
        int64_t i64 = 7;
        unsigned index = 7;
        bool boolean = true;
        const char *word = "default";
        assert_int_equal(doc_u64(NULL, 0, 1, &u64, &err), 0);
        assert_int_equal(doc_u32(NULL, 0, 1, &u32, &err), 0);
        assert_int_equal(doc_i64(NULL, 0, 1, &i64, &err), 0);
        assert_int_equal(doc_milli(NULL, 0, 1, &u64, &err), 0);
        assert_int_equal(doc_fixed(NULL, 1, 0, 1, &u64, &err), 0);
        assert_int_equal(doc_size_mib(NULL, 0, 1, &u64, &err), 0);
        assert_int_equal(doc_duration_ms(NULL, 0, 1, &i64, &err), 0);
        assert_int_equal(doc_bool(NULL, &boolean, &err), 0);
        assert_int_equal(doc_text(NULL, 0, 1, &word, &err), 0);
        assert_int_equal(doc_choice(NULL, NULL, 0, &index, &err), 0);
        assert_int_equal(doc_check_map(NULL, &err), 0);
        assert_int_equal(doc_check_list(NULL, 1, 2, &err), 0);
        assert_int_equal(doc_check_keys(NULL, NULL, 0, &err), 0);
        assert_true(u64 == 7 && u32 == 7 && i64 == 7 && index == 7 && boolean);
        assert_string_equal(word, "default");
}

static void shapes_are_checked(void **state)
{
        (void)state;
        static const char *const keys[] = {"kind", "nodes", "name"};
        static const char *const kinds[] = {"Pool", "Policy", "Workload"};
        struct doc *doc = read_yaml("kind: Pol\nnods: [1, 2]\n");
        struct err err = {0};
        const struct doc_node *root = doc_root(doc, 0);
        const struct doc_node *node = NULL;
        unsigned index = 9;
        assert_int_equal(doc_check_keys(root, keys, ARRAY_LEN(keys), &err), -ERR_INPUT);
        assert_string_equal(err.text, "f.yaml:2: field 'nods': is not known here; did you mean "
                                      "'nodes'?");
        assert_int_equal(doc_need(root, "name", &node, &err), -ERR_INPUT);
        assert_string_equal(err.text, "f.yaml:1: field 'name' is missing; add it");
        assert_int_equal(doc_need(root, "kind", &node, &err), 0);
        assert_int_equal(doc_choice(node, kinds, ARRAY_LEN(kinds), &index, &err), -ERR_INPUT);
        check_has(err.text, "field 'kind': 'Pol' is not known here; did you mean 'Pool'");
        assert_int_equal(index, 9);
        assert_int_equal(doc_check_map(node, &err), -ERR_INPUT);
        check_has(err.text, "is a single value; write a map of 'key: value'");
        assert_int_equal(doc_check_keys(node, keys, ARRAY_LEN(keys), &err), -ERR_INPUT);
        assert_int_equal(doc_need(node, "x", &node, &err), -ERR_INPUT);
        assert_int_equal(doc_check_list(at(doc, "nods"), 1, 2, &err), 0);
        assert_int_equal(doc_check_list(at(doc, "nods"), 3, 9, &err), -ERR_INPUT);
        check_has(err.text, "has 2 entries; write 3 to 9");
        assert_int_equal(doc_check_list(root, 0, 9, &err), -ERR_INPUT);
        check_has(err.text, "f.yaml:1: is a map; write a list");
        doc_free(doc);

        doc = read_yaml("kind: Policy\n");
        assert_int_equal(doc_choice(at(doc, "kind"), kinds, ARRAY_LEN(kinds), &index, &err), 0);
        assert_int_equal(index, 1);
        assert_int_equal(doc_check_keys(doc_root(doc, 0), keys, ARRAY_LEN(keys), &err), 0);
        doc_free(doc);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct err err = {0};
                struct doc *doc = NULL;
                mem_fail_at(n);
                int rc = doc_read_yaml("f", scenario_yaml, strlen(scenario_yaml), &doc, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                doc_free(doc);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                if (!happened)
                        break;
        }
}

static void files_are_read_by_their_ending(void **state)
{
        (void)state;
        struct err err = {0};
        struct doc *doc = NULL;
        assert_int_equal(doc_read_file("/no/such.yaml", &doc, &err), -ERR_NOT_FOUND);
        check_has(err.text, "/no/such.yaml: No such file");
        char path[] = "/tmp/berth-test-XXXXXX.json";
        int fd = mkstemps(path, 5);
        FILE *file = fdopen(fd, "w");
        fputs("\xef\xbb\xbf{\"a\": [true,\n null]}", file);
        fclose(file);
        assert_int_equal(doc_read_file(path, &doc, &err), 0);
        assert_string_equal(doc_name(doc), path);
        assert_int_equal(doc_line(at(doc, "a/1")), 2);
        doc_free(doc);
        remove(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(yaml_and_json_make_the_same_tree),
                cmocka_unit_test(every_node_knows_its_line),
                cmocka_unit_test(numbers_keep_their_digits),
                cmocka_unit_test(several_documents_stand_apart),
                cmocka_unit_test(bad_files_are_refused_with_their_line),
                cmocka_unit_test(bad_json_is_refused_with_its_line),
                cmocka_unit_test(nesting_has_a_bound),
                cmocka_unit_test(texts_have_a_bound),
                cmocka_unit_test(the_number_of_values_has_a_bound),
                cmocka_unit_test(wide_maps_with_equal_keys_are_found_quickly),
                cmocka_unit_test(paths_lead_to_the_field),
                cmocka_unit_test(long_paths_and_names_leave_room_for_the_sentence),
                cmocka_unit_test(scalars_decode_or_say_what_to_write),
                cmocka_unit_test(absent_fields_keep_their_defaults),
                cmocka_unit_test(shapes_are_checked),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
                cmocka_unit_test(files_are_read_by_their_ending),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
