#include "tests/unit/cli/child.h"

#include "cli/place.h"
#include "net/token.h"

static const char *const variables[] = {"BERTH_URL", "BERTH_TOKEN_FILE", "BERTH_CA_FILE",
                                        "BERTH_PIN", "BERTH_CONTEXT",    "BERTH_TENANT"};

static void forget_variables(void)
{
        for (size_t v = 0; v < ARRAY_LEN(variables); v++)
                unsetenv(variables[v]);
}

static struct place choose(const char *context)
{
        struct place place = {0};
        struct err err = {0};

        if (place_choose(context, &place, &err) < 0)
                fail_msg("%s", err.text);
        return place;
}

/* Two contexts; `lab` is in use. */
static void put_contexts(void)
{
        put("contexts.yaml", "current: lab\n"
                             "contexts:\n"
                             "  lab: {url: \"https://lab:1\", token_file: /lab.token, "
                             "tenant: research}\n"
                             "  far: {url: \"https://far:2\", pin: \"sha256//x\"}\n");
}

static void the_nearest_word_chooses_the_pool(void **state)
{
        (void)state;
        static const struct {
                const char *option, *url_variable, *context_variable;
                const char *url, *token_file, *tenant;
        } rows[] = {
                {NULL, NULL, NULL, "https://lab:1", "/lab.token", "research"},
                {NULL, NULL, "far", "https://far:2", "", ""},
                {NULL, "unix:/x", "far", "unix:/x", "", ""},
                {"lab", "unix:/x", "far", "https://lab:1", "/lab.token", "research"},
        };
        put_contexts();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                forget_variables();
                if (rows[i].url_variable)
                        setenv("BERTH_URL", rows[i].url_variable, 1);
                if (rows[i].context_variable)
                        setenv("BERTH_CONTEXT", rows[i].context_variable, 1);
                struct place place = choose(rows[i].option);
                assert_string_equal(place.url, rows[i].url);
                assert_string_equal(place.token_file, rows[i].token_file);
                assert_string_equal(place.tenant, rows[i].tenant);
        }
        forget_variables();
}

static void variables_go_before_a_context_but_trust_stays_with_its_url(void **state)
{
        (void)state;
        put_contexts();
        setenv("BERTH_TOKEN_FILE", "/other.token", 1);
        setenv("BERTH_TENANT", "web", 1);
        setenv("BERTH_PIN", "sha256//other", 1);
        struct place place = choose("far");
        assert_string_equal(place.token_file, "/other.token");
        assert_string_equal(place.tenant, "web");
        assert_string_equal(place.pin, "sha256//x");
        setenv("BERTH_URL", "https://new:3", 1);
        place = choose(NULL);
        assert_string_equal(place.pin, "sha256//other");
        assert_string_equal(place.name, "");
        forget_variables();
}

static void without_a_file_it_is_the_local_socket(void **state)
{
        (void)state;
        unlink(path_of("contexts.yaml"));
        struct place place = choose(NULL);
        assert_string_equal(place.url, PLACE_DEFAULT_URL);
        assert_string_equal(place.token_file, "");
}

static void a_wrong_file_is_named_with_its_line(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"contexts: {a: {token_file: x}}\n", "field 'contexts.a.url': "},
                {"contexts:\n  a: {urk: x}\n", "contexts.yaml:2: field 'contexts.a.urk'"},
                {"current: a\nothers: {}\n", "contexts.yaml:2: field 'others'"},
                {"contexts: [a]\n", "contexts.yaml:1: "},
                {"contexts: {a: {url: x}}\ncurrent: b\n", "there is no context 'b'; known: 'a'"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct place place = {0};
                struct err err = {0};
                put("contexts.yaml", rows[i].text);
                if (place_choose(NULL, &place, &err) >= 0)
                        fail_msg("'%s' was taken", rows[i].text);
                if (i == 0)
                        check_has(err.text, "contexts.yaml:1: ");
                else
                        check_has(err.text, rows[i].sentence);
                assert_string_equal(place.url, "");
        }
        unlink(path_of("contexts.yaml"));
}

static void contexts_are_set_used_and_removed(void **state)
{
        (void)state;
        static const struct child_row rows[] = {
                {"context list", 0, "there is no context; make one", ""},
                {"context set lab", 2, "", "say where the pool is: --url"},
                {"context set lab --url https://lab:1 --tenant research", 0, "", ""},
                {"context show", 0, "https://lab:1", ""},
                {"context set far --url https://far:2", 0, "", ""},
                {"context list", 0, "*  lab   https://lab:1  research\n   far   https://far:2\n",
                 ""},
                {"context use fat", 2, "", "there is no context 'fat'; did you mean 'far'"},
                {"context use far", 0, "", ""},
                {"context show", 0, "https://far:2", ""},
                {"context set lab --tenant web", 0, "", ""},
                {"context remove far", 0, "", ""},
                {"context show", 0, "unix:/run/berth/berthd.sock", ""},
                {"context list", 0, "\nlab   https://lab:1  web\n", ""},
                {"context remove far", 2, "", "there is no context 'far'"},
                {"context list --url x", 2, "", "--url goes with set only"},
                {"status --context none", 2, "", "there is no context 'none'"},
        };
        unlink(path_of("contexts.yaml"));
        check_rows(rows, ARRAY_LEN(rows), folder);
        unlink(path_of("contexts.yaml"));
}

/* So that the context is good from any folder. */
static void files_are_kept_with_their_whole_path(void **state)
{
        (void)state;
        char here[PLACE_TEXT_MAX], whole[2 * PLACE_TEXT_MAX];
        assert_non_null(getcwd(here, sizeof here));
        snprintf(whole, sizeof whole, "%s/sub/ca.pem", here);
        assert_int_equal(run_line("context set near --url https://near:3 --ca-file sub/ca.pem "
                                  "--token-file /t", folder), 0);
        struct place place = choose("near");
        assert_string_equal(place.ca_file, whole);
        assert_string_equal(place.token_file, "/t");
        assert_int_equal(run_line("context set near --ca-file=", folder), 0);
        place = choose("near");
        assert_string_equal(place.ca_file, "");
        unlink(path_of("contexts.yaml"));
}

static void as_many_contexts_as_fit_and_no_more(void **state)
{
        (void)state;
        struct places *places = mem_new(1, sizeof *places);
        struct err err = {0};
        assert_non_null(places);
        places->count = PLACE_CONTEXTS_MAX;
        for (size_t i = 0; i < PLACE_CONTEXTS_MAX; i++) {
                snprintf(places->list[i].name, PLACE_NAME_MAX, "c%zu", i);
                snprintf(places->list[i].url, PLACE_TEXT_MAX, "unix:/%zu \"'", i);
        }
        assert_int_equal(places_save(places, &err), 0);
        mem_free(places);
        assert_int_equal(places_load(&places, &err), 0);
        assert_int_equal(places->count, PLACE_CONTEXTS_MAX);
        assert_string_equal(places->list[63].url, "unix:/63 \"'");
        mem_free(places);
        assert_int_equal(run_line("context set more --url unix:/x", folder), 2);
        check_err("there are 64 contexts already");
        unlink(path_of("contexts.yaml"));
}

static void a_token_file_holds_one_token(void **state)
{
        (void)state;
        struct token token;
        char text[TOKEN_TEXT_MAX], read[TOKEN_TEXT_MAX], line[TOKEN_TEXT_MAX + 8];
        struct err err = {0};
        token_make(&token);
        token_text(&token, text);
        snprintf(line, sizeof line, "\n %s \n", text);
        put("token", line);
        assert_int_equal(place_token(path_of("token"), read, sizeof read, &err), 0);
        assert_string_equal(read, text);
        line[20] = line[20] == 'x' ? 'y' : 'x'; /* mistyped */
        put("token", line);
        assert_int_equal(place_token(path_of("token"), read, sizeof read, &err), -ERR_INPUT);
        assert_null(strstr(err.text, text));
        unlink(path_of("token"));
        assert_int_equal(place_token(path_of("token"), read, sizeof read, &err), -ERR_NOT_FOUND);
        check_has(err.text, path_of("token"));
}

static int open_folder(void **state)
{
        (void)state;
        if (open_child_folder() < 0)
                return -1;
        forget_variables();
        return setenv("BERTH_CONTEXTS", path_of("contexts.yaml"), 1);
}

static int close_folder(void **state)
{
        (void)state;
        static const char *const names[] = {"out", "err"};
        return close_child_folder(names, ARRAY_LEN(names));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_nearest_word_chooses_the_pool),
                cmocka_unit_test(variables_go_before_a_context_but_trust_stays_with_its_url),
                cmocka_unit_test(without_a_file_it_is_the_local_socket),
                cmocka_unit_test(a_wrong_file_is_named_with_its_line),
                cmocka_unit_test(contexts_are_set_used_and_removed),
                cmocka_unit_test(files_are_kept_with_their_whole_path),
                cmocka_unit_test(as_many_contexts_as_fit_and_no_more),
                cmocka_unit_test(a_token_file_holds_one_token),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
