/* Whatever a command reads of an answer is a member of that answer's schema: else a column or a
 * line is promised that nothing ever fills. Answers are made of controller/openapi.yaml, with all
 * members that they may have; what is looked for in one and is not there is a finding. */
#include "tests/unit/cli/child.h"

#include <fcntl.h>
#include <jansson.h>

#include "base/doc.h"
#include "base/str.h"
#include "cli/listing.h"
#include "cli/names.h"
#include "net/client.h"

#define ROUNDS     24           /* so many words of an enumeration come up */
#define DEPTH_MAX  16
#define LABEL      "@"          /* the member of a made object that names its schema */
#define LABEL_MAX  160

static const struct doc_node *api;
static unsigned round_of;       /* chooses among words */

/* ---- answers, made of their schema ---- */

static json_t *made(const struct doc_node *schema, const char *label, unsigned depth);

static const char *raw(const struct doc_node *node)
{
        return node ? doc_raw(node) : NULL;
}

/* What "#/components/schemas/Node" names, and that it is called "Node"; itself where it is no
 * reference. */
static const struct doc_node *resolved(const struct doc_node *node, const char **label)
{
        static const char begin[] = "#/components/";
        const char *reference;

        while ((reference = raw(doc_get(node, "$ref")))) {
                char kind[32];
                assert_memory_equal(reference, begin, sizeof begin - 1);
                reference += sizeof begin - 1;
                *label = strchr(reference, '/') + 1;
                snprintf(kind, sizeof kind, "%.*s", (int)(*label - reference - 1), reference);
                node = doc_get(doc_get(doc_get(api, "components"), kind), *label);
                assert_non_null(node);
        }
        return node;
}

static bool has_type(const struct doc_node *schema, const char *type)
{
        const struct doc_node *said = doc_get(schema, "type");
        bool found = said && raw(said) && str_equal(raw(said), type);

        DOC_EACH (one, said)
                found = found || (raw(one) && str_equal(raw(one), type));
        return found;
}

static const char *const joins[] = {"allOf", "oneOf", "anyOf"};

static bool is_object(const struct doc_node *schema)
{
        const char *label;

        schema = resolved(schema, &label);
        bool found = has_type(schema, "object") || doc_get(schema, "properties");
        for (size_t j = 0; j < ARRAY_LEN(joins); j++)
                DOC_EACH (part, doc_get(schema, joins[j]))
                        found = found || is_object(part);
        return found;
}

/* Of alternatives the members of all. */
static void fill(json_t *object, const struct doc_node *schema, const char *label, unsigned depth)
{
        const struct doc_node *more = doc_get(schema, "additionalProperties");
        char name[LABEL_MAX];

        for (size_t j = 0; j < ARRAY_LEN(joins); j++)
                DOC_EACH (part, doc_get(schema, joins[j])) {
                        const char *of = label;
                        const struct doc_node *whole = resolved(part, &of);
                        fill(object, whole, label, depth);
                }
        DOC_EACH (member, doc_get(schema, "properties")) {
                snprintf(name, sizeof name, "%s.%s", label, doc_key(member));
                (void)json_object_set_new(object, LABEL, json_string(label));
                /* A list of pages ends. */
                json_t *value = str_equal(doc_key(member), "next") ? json_null()
                                                                   : made(member, name, depth);
                (void)json_object_set_new(object, doc_key(member), value);
        }
        if (more && doc_kind(more) == DOC_MAP) {
                snprintf(name, sizeof name, "%s.*", label);
                (void)json_object_set_new(object, "name", made(more, name, depth));
        }
}

/* One of a list of words, another in each round; NULL: there is none. */
static const char *word_of(const struct doc_node *schema)
{
        const struct doc_node *words = doc_get(schema, "enum");
        const char *found = raw(doc_get(schema, "const"));
        unsigned at = 0, count = (unsigned)doc_length(words);

        DOC_EACH (word, words)
                if (raw(word) && (!found || at++ <= round_of % count))
                        found = raw(word);
        return found;
}

static json_t *made_of_parts(const struct doc_node *schema, const char *label, unsigned depth)
{
        for (size_t j = 0; j < ARRAY_LEN(joins); j++)
                DOC_EACH (part, doc_get(schema, joins[j])) {
                        json_t *value = made(part, label, depth);
                        if (!json_is_null(value))
                                return value;
                        json_decref(value);
                }
        return NULL;
}

/* May be null, and is now and then; so do two members that exclude each other both come up. */
static bool is_null_now(const struct doc_node *schema)
{
        bool may_be = has_type(schema, "null");

        for (size_t j = 0; j < ARRAY_LEN(joins); j++)
                DOC_EACH (part, doc_get(schema, joins[j]))
                        may_be = may_be || has_type(part, "null");
        return may_be && round_of % 4 == 3;
}

static json_t *made(const struct doc_node *schema, const char *label, unsigned depth)
{
        char name[LABEL_MAX];
        json_t *value;

        schema = resolved(schema, &label);
        if (depth == DEPTH_MAX || is_null_now(schema))
                return json_null();
        if (is_object(schema)) {
                value = json_object();
                fill(value, schema, label, depth + 1);
                return value;
        }
        if (doc_get(schema, "items")) {
                snprintf(name, sizeof name, "%s[]", label);
                value = json_array();
                (void)json_array_append_new(value, made(doc_get(schema, "items"), name, depth + 1));
                return value;
        }
        if ((value = made_of_parts(schema, label, depth + 1)))
                return value;
        if (has_type(schema, "boolean"))
                return json_boolean(round_of % 2 == 0);
        if (has_type(schema, "integer") || has_type(schema, "number"))
                return json_integer(3);
        if (word_of(schema))
                return json_string(word_of(schema));
        return has_type(schema, "string") ? json_string("2") : json_null();
}

/* ---- who asks for what ---- */

json_t *__real_json_object_get(const json_t *object, const char *key);
json_t *__wrap_json_object_get(const json_t *object, const char *key);
int __wrap_client_call(struct client *client, const struct client_request *request,
                       struct client_answer *ret_answer, struct err *err);

static const char *asking;              /* the command; NULL: what is looked up is the test's */
static unsigned found_count, lacks_count;
static char lacks[64][3 * LABEL_MAX];

/* One printer for two answers, and members that the command itself puts there. */
static bool is_excepted(const char *label, const char *key)
{
        static const char *const rows[][2] = {
                {"Workload", "workloads"},      /* one, or several */
                {"WorkloadRow", "workloads"},   /* the same */
                {"WorkloadRow", "summary"},     /* told of one that was submitted alone */
                {"Token", "is"},                /* "expired" */
                {"Notices.notices[]", "whom"},  /* of "for", where it is for somebody */
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++)
                if (str_equal(rows[r][0], label) && str_equal(rows[r][1], key))
                        return true;
        return false;
}

static void note(const char *label, const char *key)
{
        char line[sizeof lacks[0]];

        snprintf(line, sizeof line, "%s has no '%s', which `berth %s` looks for", label, key,
                 asking);
        for (unsigned i = 0; i < lacks_count; i++)
                if (str_equal(lacks[i], line))
                        return;
        if (lacks_count < ARRAY_LEN(lacks))
                memcpy(lacks[lacks_count++], line, sizeof line);
}

json_t *__wrap_json_object_get(const json_t *object, const char *key)
{
        json_t *value = __real_json_object_get(object, key);
        const char *label = json_string_value(__real_json_object_get(object, LABEL));

        if (asking && label && value)
                found_count++;
        if (asking && label && !value && !is_excepted(label, key))
                note(label, key);
        return value;
}

/* "/v1/workloads/{id}" of "/v1/workloads/17?tenant=web" */
static bool is_path(const char *template, const char *path)
{
        while (*template && *path && *path != '?') {
                if (*template == '{') {
                        template += strcspn(template, "}") + 1;
                        path += strcspn(path, "/?");
                } else if (*template++ != *path++) {
                        return false;
                }
        }
        return !*template && (!*path || *path == '?');
}

static const struct doc_node *responses_of(const struct client_request *request)
{
        char method[16];
        size_t n;

        snprintf(method, sizeof method, "%s", request->method ? request->method : "GET");
        for (n = 0; method[n]; n++)
                method[n] = (char)(method[n] | 0x20);
        /* One without parameters goes before one with. */
        for (int with = 0; with < 2; with++)
                DOC_EACH (path, doc_get(api, "paths"))
                        if ((strchr(doc_key(path), '{') != NULL) == with &&
                            is_path(doc_key(path), request->path) && doc_get(path, method))
                                return doc_get(doc_get(path, method), "responses");
        return NULL;
}

/* Of a dry run the first success that is described, else the last. */
static const struct doc_node *schema_of(const struct client_request *request)
{
        bool is_dry = strstr(request->path, "dry_run=true") != NULL;
        const struct doc_node *found = NULL;

        DOC_EACH (response, responses_of(request)) {
                const char *label;
                const struct doc_node *content = doc_get(resolved(response, &label), "content");
                const struct doc_node *json = doc_get(content, "application/json");
                if (doc_key(response)[0] == '2' && json && !(is_dry && found))
                        found = doc_get(json, "schema");
        }
        return found;
}

/* The documents are no JSON. */
static bool wants_document(const struct client_request *request)
{
        return (!request->method || str_equal(request->method, "GET")) &&
               (strstr(request->path, "format=document") || is_path("/v1/policy", request->path) ||
                is_path("/v1/pool/document", request->path));
}

int __wrap_client_call(struct client *client, const struct client_request *request,
                       struct client_answer *ret_answer, struct err *err)
{
        const struct doc_node *schema = schema_of(request);
        struct client_answer answer = {.status = 200, .etag = "\"1\"", .retry_after_s = -1};
        const char *was = asking;

        (void)client;
        if (!responses_of(request))
                return err_set(err, ERR_IO, "%s is not described", request->path);
        asking = NULL;
        json_t *value = schema ? made(schema, "the answer", 0) : json_object();
        asking = was;
        answer.body = wants_document(request) ? strdup("kind: Workload\nname: w\n")
                                              : json_dumps(value, JSON_COMPACT);
        answer.size = strlen(answer.body);
        json_decref(value);
        *ret_answer = answer;
        return 0;
}

/* ---- the tests ---- */

/* What the command prints is nobody's concern here. */
static int run_quietly(const char *line)
{
        static const int streams[] = {STDOUT_FILENO, STDERR_FILENO};
        char copy[256], program[] = "berth";
        char *words[16] = {program};
        int count = 1, saved[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

        snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok(copy, " "); word && count < 15; word = strtok(NULL, " "))
                words[count++] = *word == '@' ? (char *)(uintptr_t)path_of(word + 1) : word;
        fflush(NULL);
        for (size_t s = 0; s < ARRAY_LEN(streams); s++) {
                saved[s] = dup(streams[s]);
                dup2(nowhere, streams[s]);
        }
        asking = line;
        int code = command_main(count, words);
        asking = NULL;
        fflush(NULL);
        for (size_t s = 0; s < ARRAY_LEN(streams); s++) {
                dup2(saved[s], streams[s]);
                close(saved[s]);
        }
        close(nowhere);
        return code;
}

/* Those of the first table read something of what they are answered. */
static const char *const reading[] = {
        "status",
        "status 1",
        "queue",
        "tenants",
        "notices",
        "pool",
        "pool --nodes",
        "top --once",
        "alerts --all",
        "report",
        "usage --by tenant,model,class,method,day",
        "submit -n --tenant web -d 1 -- x",
        "submit --tenant web -d 1 -- x",
        "submit -d 1 -- x",
        "submit @w.yaml",
        "change 1 class=a",
        "change 1 -n class=a",
        "change 1 --replace class=a",
        "move 1",
        "move 1 -n",
        "cancel 1",
        "hold 1",
        "release 1",
        "restart 1",
        "preempt 1 --reason x",
        "drain n",
        "reservation list",
        "reservation create r --tenant web --devices T4=1 --until 2h",
        "reservation delete r",
        "maintenance list",
        "maintenance create m --nodes n1 --until 2h -n",
        "maintenance delete m",
        "token list",
        "token make --principal a",
        "token make --join --node n1",
        "token make --join --nodes 2",
        "quarantine list",
        "policy show",
        "policy revisions",
        "policy rollback 2",
        "apply @w.yaml",
        "apply @policy.yaml",
        "apply @pool.yaml",
}, *const silent[] = {
        "alerts ack 1 --reason x",
        "undrain n",
        "lost n",
        "freeze",
        "unfreeze --plane p",
        "token revoke 1",
        "token revoke --node n1",
        "quarantine release 1",
};

/* Whether it ended well in one of the rounds: in others it is told of refusals, too. */
static bool run_rounds(const char *line)
{
        bool was_fine = false;

        found_count = 0;
        for (round_of = 0; round_of < ROUNDS; round_of++)
                was_fine = run_quietly(line) == EXIT_FINE || was_fine;
        return was_fine;
}

static void what_commands_read_is_in_the_schema(void **state)
{
        (void)state;
        for (size_t l = 0; l < ARRAY_LEN(reading) + ARRAY_LEN(silent); l++) {
                bool is_silent = l >= ARRAY_LEN(reading);
                const char *line = is_silent ? silent[l - ARRAY_LEN(reading)] : reading[l];
                if (!run_rounds(line))
                        fail_msg("berth %s: failed", line);
                if (!is_silent && found_count == 0)
                        fail_msg("berth %s: reads nothing", line);
        }
        for (unsigned i = 0; i < lacks_count; i++)
                print_error("%s\n", lacks[i]);
        assert_int_equal(lacks_count, 0);
}

static void what_completion_reads_is_in_the_schema(void **state)
{
        (void)state;
        for (unsigned kind = 0; kind < NAMES_KINDS_END; kind++) {
                char line[64];
                if (kind == NAMES_CONTEXTS)
                        continue;               /* of a file */
                snprintf(line, sizeof line, "__complete %s", names_word(kind));
                assert_true(run_rounds(line));
                assert_true(found_count > 0);
        }
        for (unsigned i = 0; i < lacks_count; i++)
                print_error("%s\n", lacks[i]);
        assert_int_equal(lacks_count, 0);
}

static void a_column_without_a_member_is_found(void **state)
{
        (void)state;
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_NUMBER}, {"colour", "colour", LISTING_TEXT}, {0}};
        const struct screen screen = {.width = SCREEN_WIDE};
        const struct client_request request = {.path = "/v1/workloads?state=all"};
        json_t *answer = made(schema_of(&request), "the answer", 0);
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);

        asking = "colours";
        assert_int_equal(listing_print(json_object_get(answer, "workloads"), columns, 1, "none",
                                       &screen, file, NULL), 0);
        assert_null(json_object_get(answer, "work"));
        asking = NULL;
        fclose(file);
        free(text);
        json_decref(answer);
        assert_int_equal(lacks_count, 2);
        assert_string_equal(lacks[0], "Workload has no 'colour', which `berth colours` looks for");
        assert_string_equal(lacks[1], "Workloads has no 'work', which `berth colours` looks for");
        lacks_count = 0;
}

static int open_all(void **state)
{
        static struct doc *doc;
        struct err err = {0};
        char path[512];

        (void)state;
        snprintf(path, sizeof path, "%s/controller/openapi.yaml", getenv("BERTH_SOURCE"));
        if (doc_read_file(path, &doc, &err) < 0) {
                print_error("%s\n", err.text);
                return -1;
        }
        api = doc_root(doc, 0);
        setenv("BERTH_URL", "unix:/nowhere", 1);
        setenv("BERTH_COMPLETE_MS", "60000", 1);
        unsetenv("BERTH_TENANT");
        if (open_child_folder() < 0)
                return -1;
        put("w.yaml", "kind: Workload\nname: w\ntenant: web\neach: {devices: 1}\n"
                      "run: {command: [x]}\n");
        put("policy.yaml", "kind: Policy\npreset: equal\ntenants: {web: {}}\n");
        put("pool.yaml", "kind: Pool\nnodes: [{name: n1, devices: {model: T4, count: 1}}]\n");
        return 0;
}

static int close_all(void **state)
{
        static const char *const names[] = {"w.yaml", "policy.yaml", "pool.yaml"};

        (void)state;
        doc_free((struct doc *)(uintptr_t)doc_of(api));
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_column_without_a_member_is_found),
                cmocka_unit_test(what_commands_read_is_in_the_schema),
                cmocka_unit_test(what_completion_reads_is_in_the_schema),
        };
        return cmocka_run_group_tests(tests, open_all, close_all);
}
