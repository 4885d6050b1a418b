/* Work that was stopped and waits again says why: a real berthd, with simulated nodes. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"

#define NODES "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n" \
              "  - {name: gpu-01, plane: training, devices: {model: H100-80, count: 8}, cpu: 96," \
              " ram: 1024Gi}\n"
static const char policy[] =
        "kind: Policy\npreset: protected\ndefault_class: training\n"
        "classes: {training: {rank: 2, methods: [whole], stop: for_protect, notice: 100ms,"
        " exempt: 0s, stops_per_day: 100}}\n"
        "rules: {stop_rate: {pct: 100, per: 10m}}\n"
        "tenants: {research: {}, zebra: {protect: {H100-80: 8}}}\n"
        "principals:\n"
        "  - {name: vera, tenants: {research: tenant-admin}}\n";

static struct served served;
static char vera[SERVED_HEADER_MAX];    /* her header */
static uint64_t ours;

static int start(void **state)
{
        (void)state;
        served_new(&served, NODES, policy);
        served_start(&served, NULL);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* How its last run ended, once it has ended for that reason. */
static json_t *last_stop(uint64_t id, const char *header, const char *told)
{
        char path[64];

        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, id);
        for (unsigned tries = 0; tries < SERVED_PATIENCE_MS / 10; tries++) {
                json_t *json = json_loads(served_ask(&served, "GET", path, header, NULL)->body, 0,
                                          NULL);
                json_t *last = json_incref(json_object_get(json, "last_stop"));
                json_decref(json);
                const char *is = json_string_value(json_object_get(last, "told"));
                if (is && str_equal(is, told))
                        return last;
                json_decref(last);
                served_sleep_ms(10);
        }
        fail_msg("it was never stopped (%s)", told);
        return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
        return json_string_value(json_object_get(object, key));
}

static void until_running(uint64_t id)
{
        char path[64];

        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, id);
        for (unsigned tries = 0; tries < SERVED_PATIENCE_MS / 10; tries++) {
                if (strstr(served_ask(&served, "GET", path, "", NULL)->body,
                           "\"state\":\"running\""))
                        return;
                served_sleep_ms(10);
        }
        fail_msg("%" PRIu64 " does not run", id);
}

static struct asked *explain_text_of(uint64_t id, const char *header, const char *view)
{
        char path[96];

        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64 "/explain?format=text&view=%s", id,
                 view);
        return served_ask(&served, "GET", path, header, NULL);
}

static void who_is_preempted_hears_for_whom_and_what_was_lost(void **state)
{
        (void)state;
        char path[64], words[512];
        ours = served_submit(&served, "ours", "research", 8, "1000");
        until_running(ours);
        served_sleep_ms(1100);
        uint64_t theirs = served_submit(&served, "secret", "zebra", 8, "1000");
        snprintf(words, sizeof words, " for workload %" PRIu64 " 'secret' of zebra (class training)"
                 ", whose tenant was due what it is promised. All of its run was lost: ", theirs);
        json_t *last = last_stop(ours, "", "preemption");
        check_has(text_of(last, "text"), "It was preempted at 20");
        check_has(text_of(last, "text"), words);
        check_has(text_of(last, "text"), ", on 8 devices.");
        assert_string_equal(text_of(last, "plan"), "protect");
        assert_string_equal(text_of(json_object_get(last, "for"), "tenant"), "zebra");
        assert_true(json_integer_value(json_object_get(last, "lost_ms")) >= 1000);
        check_has(explain_text_of(ours, "", "operator")->body, "\nlast run   It was preempted at ");
        check_has(explain_text_of(ours, "", "operator")->body, "'secret' of zebra");
        json_decref(last);
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, theirs);
        assert_true(strstr(served_ask(&served, "GET", path, "", NULL)->body,
                           "\"last_stop\":null") != NULL);
}

static void a_tenant_hears_the_reason_and_nothing_of_others(void **state)
{
        (void)state;
        served_token(&served, "vera", "tenant-admin", "research", vera);
        json_t *last = last_stop(ours, vera, "preemption");
        char *all = json_dumps(last, JSON_COMPACT);
        check_has(text_of(last, "text"), " for work of another tenant (class training), whose ");
        assert_null(strstr(all, "secret"));
        assert_null(strstr(all, "zebra"));
        assert_true(json_is_null(json_object_get(json_object_get(last, "for"), "workload")));
        free(all);
        json_decref(last);
        const char *const headers[] = {vera, ""};       /* an operator who looks as a tenant */
        for (size_t h = 0; h < ARRAY_LEN(headers); h++) {
                struct asked *asked = explain_text_of(ours, headers[h], "tenant");
                check_has(asked->body, "\nlast run   It was preempted at ");
                assert_null(strstr(asked->body, "secret"));
                assert_null(strstr(asked->body, "zebra"));
        }
}

static void it_is_known_after_a_kill(void **state)
{
        (void)state;
        json_t *before = last_stop(ours, "", "preemption");
        served_end(&served, SIGKILL);
        served_start(&served, NULL);
        json_t *after = last_stop(ours, "", "preemption");
        assert_true(json_equal(before, after));
        json_decref(before);
        json_decref(after);
}

static void who_asked_for_the_end_is_told_with_the_reason(void **state)
{
        (void)state;
        char path[64];
        json_decref(served_json(&served, "DELETE", "/v1/workloads/secret?tenant=zebra", NULL, 200));
        until_running(ours);
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64 "/restart", ours);
        char header[256];
        snprintf(header, sizeof header, "%sBerth-Reason: a better \"seed\"\r\n", vera);
        assert_int_equal(served_ask(&served, "POST", path, header, "")->status, 200);
        json_t *last = last_stop(ours, vera, "asked");
        check_has(text_of(last, "text"), "Z, as vera asked: \"a better \"seed\"\". All of its run");
        assert_string_equal(text_of(last, "by"), "vera");
        assert_string_equal(text_of(last, "reason"), "a better \"seed\"");
        assert_true(json_is_null(json_object_get(last, "for")));
        json_decref(last);
        until_running(ours);
        /* Who asked before is not blamed for what is nobody's wish. */
        json_decref(served_json(&served, "POST", "/v1/nodes/gpu-01/drain", "{\"by\": \"1s\"}",
                                200));
        last = last_stop(ours, vera, "drain");
        check_has(text_of(last, "text"), ": its node was to be empty. ");
        assert_true(json_is_null(json_object_get(last, "by")));
        json_decref(last);
}

/* It could stand in no record: nothing is decided, and others notice nothing. */
static void a_reason_that_cannot_be_kept_is_refused_at_once(void **state)
{
        (void)state;
        static const struct {
                const char *unit;
                size_t count;
                unsigned status;
        } rows[] = {{"x", 1023, 201}, {"x", 1024, 400}, {"x", 3000, 400}, {"\xff", 1, 400},
                    {"\xc3\xa9", 511, 201}};
        static const char work[] = "kind: Workload\nname: any\ntenant: research\n"
                                   "each: {devices: 1}\nrun: {command: [sleep, \"1\"]}\n";
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct text header = {0};
                text_add(&header, "Berth-Reason: ");
                for (size_t u = 0; u < rows[r].count; u++)
                        text_add(&header, "%s", rows[r].unit);
                text_add(&header, "\r\n");
                struct asked *asked =
                        served_ask(&served, "POST", "/v1/workloads", header.bytes, work);
                assert_int_equal(asked->status, rows[r].status);
                if (rows[r].status == 400)
                        check_has(asked->body, "header Berth-Reason");
                text_done(&header);
                json_decref(served_json(&served, "POST", "/v1/workloads", work, 201));
        }
}

/* The same long notice for everybody, and what `research` may use. */
static const char patient[] =
        "kind: Policy\npreset: protected\ndefault_class: training\n"
        "classes: {training: {rank: 2, methods: [whole], stop: for_protect, notice: 1h,"
        " exempt: 0s}}\n"
        "rules: {stop_rate: {pct: 100, per: 10m}}\n"
        "tenants: {research: {budget: {device_hours: 9, per: day, on_empty: warn}},"
        " zebra: {protect: {H100-80: 8}}}\n"
        "principals:\n"
        "  - {name: vera, tenants: {research: tenant-admin}}\n";

static char *the_only_notice(const char *header)
{
        for (unsigned tries = 0; tries < SERVED_PATIENCE_MS / 10; tries++) {
                struct asked *asked = served_ask(&served, "GET", "/v1/notices", header, NULL);
                if (strstr(asked->body, "preemption"))
                        return asked->body;
                served_sleep_ms(10);
        }
        fail_msg("nobody is told to stop");
        return NULL;
}

static void while_it_is_told_to_stop_it_hears_for_whom(void **state)
{
        (void)state;
        char wanted[160];
        json_decref(served_json(&served, "POST", "/v1/nodes/gpu-01/undrain", "", 200));
        json_decref(served_json(&served, "DELETE", "/v1/workloads/ours?tenant=research", NULL,
                                200));
        (void)served_ask(&served, "DELETE", "/v1/workloads/any?tenant=research", "", NULL);
        json_decref(served_json(&served, "PUT", "/v1/policy", patient, 200));
        uint64_t first = served_submit(&served, "first", "research", 8, "1000");
        until_running(first);
        struct asked *asked = served_ask(&served, "GET", "/v1/tenants", vera, NULL);
        check_has(asked->body, "\"held\":\"8\",\"protected\":\"0\",\"borrowed\":\"8\"");
        check_has(asked->body, "\"budgets\":[{\"of\":\"any\",\"used\":\"");
        check_has(asked->body, "\"device_hours\":\"9.000\",\"per\":\"day\",\"until\":\"2");
        check_has(asked->body, ",\"on_empty\":\"warn\"}]");
        uint64_t theirs = served_submit(&served, "secret", "zebra", 8, "1000");
        snprintf(wanted, sizeof wanted, "\"for\":{\"workload\":%" PRIu64 ",\"name\":\"secret\","
                 "\"tenant\":\"zebra\",\"class\":\"training\"}", theirs);
        check_has(the_only_notice(""), wanted);
        check_has(the_only_notice(vera), "\"for\":{\"workload\":null,\"name\":null,"
                                         "\"tenant\":null,\"class\":\"training\"}");
        assert_null(strstr(the_only_notice(vera), "zebra"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_is_preempted_hears_for_whom_and_what_was_lost),
                cmocka_unit_test(a_tenant_hears_the_reason_and_nothing_of_others),
                cmocka_unit_test(it_is_known_after_a_kill),
                cmocka_unit_test(a_reason_that_cannot_be_kept_is_refused_at_once),
                cmocka_unit_test(who_asked_for_the_end_is_told_with_the_reason),
                cmocka_unit_test(while_it_is_told_to_stop_it_hears_for_whom),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
