/* What an operator and what a tenant is told of the same record, as text and as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "proto/explain_json.h"
#include "proto/explain_text.h"
#include "tests/unit/engine/explain_pool.h"

static char *text_for(const char *viewer)
{
        struct explain_names names = {.state = pool};
        struct viewer who = {.is_operator = !viewer, .tenant = viewer ? tenant(viewer) : 0};
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_int_equal(explain_view(&it, pool, who, NULL), 0);
        explain_text(file, &it, &names);
        fclose(file);
        return text;
}

static char *view_of_full_pool(unsigned size, const char *other)
{
        char tenants[256];

        open_pool(NULL);
        join("a", "A100-40", 8);
        snprintf(tenants, sizeof tenants, "  red: {}\n  %s: {}\n", other);
        set_tenants(tenants);
        submit(by("red", ask(1, 8)));
        struct request request = by(other, ask(500 + size, size));
        request.time_limit_ms = H;
        submit(request);
        submit(by("red", ask(2, 8)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        assert_int_equal(it.position.ahead_exact, 1);
        char *text = text_for("red");
        assert_int_equal(it.position.ahead_exact, 0);
        close_with_policy(NULL);
        return text;
}

static void a_tenants_text_stays_when_others_change(void **state)
{
        (void)state;
        char *texts[3];

        close_with_policy(NULL);
        texts[0] = view_of_full_pool(2, "blue");
        texts[1] = view_of_full_pool(2, "secret-team");
        texts[2] = view_of_full_pool(5, "blue"); /* still 1-5 device-hours */
        assert_string_equal(texts[0], texts[1]);
        assert_string_equal(texts[0], texts[2]);
        assert_null(strstr(texts[0], "blue"));
        assert_null(strstr(texts[0], "502"));
        check_has(texts[0], "1-5, 1-5 device-hours");
        for (unsigned i = 0; i < 3; i++)
                free(texts[i]);
        open_pool(NULL);
}

static void foreign_and_missing_workloads_sound_alike(void **state)
{
        (void)state;
        struct err missing = {0}, foreign = {0};

        join("a", "A100-40", 8);
        set_tenants("  red: {}\n  blue: {}\n");
        assert_int_equal(explain(memo, pool, 1, now_ms, &it, &missing), -ERR_NOT_FOUND);
        submit(by("blue", ask(1, 8)));
        explain_now(1);
        struct viewer red = {.tenant = tenant("red")};
        assert_int_equal(explain_view(&it, pool, red, &foreign), -ERR_NOT_FOUND);
        assert_string_equal(missing.text, foreign.text);
}

static void operators_see_who_and_tenants_a_limit_above_them(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  lab: {limit: {any: 4}, tenants: {red: {}, blue: {}}}\n");
        submit(by("lab/blue", ask(1, 4)));
        submit(by("lab/red", ask(2, 1)));
        explain_now(2);
        char *text = text_for(NULL);
        check_has(text, "4 of 4 (any model) in lab, 5 with this");
        free(text);
        explain_now(2);
        text = text_for("lab/red");
        check_has(text, "a limit of lab, which is shared with others");
        assert_null(strstr(text, "blue"));
        assert_null(strstr(text, "5 with"));
        free(text);
}

static void json_holds_what_the_record_holds(void **state)
{
        struct explain_names names;
        struct err err = {0};
        char *text;

        (void)state;
        join("a", "A100-40", 8);
        set_tenants("  lab: {limit: {any: 4}, tenants: {red: {}, blue: {}}}\n");
        submit(by("lab/blue", ask(1, 4)));
        submit(by("lab/red", ask(2, 2)));
        names = (struct explain_names){.state = pool, .clock = true};
        explain_now(2);
        assert_int_equal(explain_json(&it, &names, &text, &err), 0);
        check_has(text, "\"verdict\":\"WAIT_QUOTA\"");
        check_has(text, "{\"gate\":\"LIMIT\",\"passed\":false,\"of\":\"lab\",\"counted\":"
                        "\"any\",\"used\":4,\"limit\":4,\"after\":6}");
        free(text);
        struct viewer red = {.tenant = tenant("lab/red")};
        assert_int_equal(explain_view(&it, pool, red, &err), 0);
        assert_int_equal(explain_json(&it, &names, &text, &err), 0);
        check_has(text, "\"shared_limit_of\":\"lab\"");
        assert_null(strstr(text, "blue"));
        free(text);
        struct explained_idle idle;
        assert_int_equal(explain_idle(memo, pool, now_ms, &idle, NULL), 0);
        assert_int_equal(explain_idle_json(&idle, &names, &text, &err), 0);
        check_has(text, "{\"v\":1,\"idle\":4,\"models\":[{\"model\":\"A100-40\",\"devices\":8,"
                        "\"idle\":4,\"why\":{\"QUOTA\":4}}]}");
        free(text);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pool, close_with_policy)
                TEST(a_tenants_text_stays_when_others_change),
                TEST(foreign_and_missing_workloads_sound_alike),
                TEST(operators_see_who_and_tenants_a_limit_above_them),
                TEST(json_holds_what_the_record_holds),
#undef TEST
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
