/* A dry run says when work would start: a real berthd, whose pool a process makes once more. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"

#define MINUTE_MS 60000

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: gpu-01, plane: training, cpu: 96, ram: 1024Gi,"
                           " devices: {model: H100-80, count: 8}}\n";
static const char policy[] = "kind: Policy\npreset: equal\ndefault_class: training\n"
                             "classes: {training: {rank: 1, methods: [whole], stop: never}}\n"
                             "tenants: {alpha: {limit: {H100-80: 8}}, zebra: {}}\n"
                             "principals: [{name: vera, tenants: {alpha: submitter}}]\n";
static struct served served;
static char vera[SERVED_HEADER_MAX];    /* her header */

static void submit(const char *name, const char *limit)
{
        char body[512];

        snprintf(body, sizeof body,
                 "kind: Workload\nname: %s\ntenant: zebra\neach: {devices: 4}\ntime_limit: %s\n"
                 "run: {command: [sleep, \"100000\"]}\n", name, limit);
        json_decref(served_json(&served, "POST", "/v1/workloads", body, 201));
}

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        served_token(&served, "vera", "submitter", "alpha", vera);
        submit("short", "20m");
        submit("long", "40m");          /* the pool is full, and nothing is known of run times */
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* Of a dry run; `more`: lines of its document. */
static json_t *forecast(const char *query, const char *header, unsigned devices, const char *more)
{
        char body[512], path[96];

        snprintf(path, sizeof path, "/v1/workloads?dry_run=true%s", query);
        snprintf(body, sizeof body,
                 "kind: Workload\nname: asked\ntenant: alpha\neach: {devices: %u}\n%s"
                 "run: {command: [sleep, \"1\"]}\n", devices, more);
        struct asked *asked = served_ask(&served, "POST", path, header, body);
        if (asked->status != 200)
                fail_msg("%u: %s", asked->status, asked->body);
        json_t *json = json_loads(asked->body, 0, NULL);
        assert_true(json_is_true(json_object_get(json, "dry_run")));
        assert_non_null(json_object_get(json, "terms"));
        json_t *it = json_incref(json_object_get(json, "forecast"));
        json_decref(json);
        assert_non_null(it);
        return it;
}

static int64_t number_of(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

static void it_starts_when_what_runs_has_come_to_its_limit(void **state)
{
        (void)state;
        static const struct { unsigned devices; int64_t minutes; } rows[] = {{4, 20}, {8, 40}};
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                json_t *it = forecast("", "", rows[r].devices, "");
                int64_t p50_ms = number_of(it, "starts_in_ms"),
                        p90_ms = number_of(it, "starts_in_p90_ms");
                assert_true(json_is_null(json_object_get(it, "none")));
                assert_true(number_of(it, "futures") >= 3);
                assert_int_equal(number_of(it, "started"), number_of(it, "futures"));
                /* Less than the test has run for, and a tick more. */
                assert_true(p50_ms > (rows[r].minutes - 5) * MINUTE_MS);
                assert_true(p50_ms <= (rows[r].minutes + 1) * MINUTE_MS);
                assert_true(p50_ms <= p90_ms && p90_ms <= (rows[r].minutes + 1) * MINUTE_MS);
                check_has(json_string_value(json_object_get(it, "assumes")),
                          "or to its time limit");
                json_decref(it);
        }
}

static void a_tenant_is_told_in_steps(void **state)
{
        (void)state;
        json_t *it = forecast("", vera, 4, "");
        const char *starts = json_string_value(json_object_get(it, "starts"));
        assert_non_null(starts);
        assert_true(starts[15] == '0' || starts[15] == '5');    /* 2027-01-04T08:05:00.000Z */
        assert_string_equal(starts + 16, ":00.000Z");
        json_decref(it);
}

static void what_would_not_wait_has_none(void **state)
{
        (void)state;
        assert_true(json_is_null(forecast("&forecast=false", "", 4, "")));
        assert_true(json_is_null(forecast("", "", 9, "")));     /* NEVER */
        json_t *it = forecast("", "", 4, "hold: true\n");
        check_has(json_string_value(json_object_get(it, "none")), "until its owner releases it");
        assert_true(json_is_null(json_object_get(it, "starts")));
        json_decref(it);
        it = forecast("", "", 4, "start: 2999-01-01T00:00Z\n");
        assert_true(json_is_null(json_object_get(it, "starts_in_ms")));
        assert_true(json_is_null(json_object_get(it, "none")));
        assert_int_equal(number_of(it, "started"), 0);
        json_decref(it);
}

static void nothing_comes_of_being_asked(void **state)
{
        (void)state;
        json_t *all = served_json(&served, "GET", "/v1/workloads?state=all", NULL, 200);
        assert_int_equal(json_array_size(json_object_get(all, "workloads")), 2);
        json_decref(all);
        json_decref(served_json(&served, "DELETE", "/v1/workloads/long?tenant=zebra", NULL, 200));
        json_t *it = NULL;
        for (unsigned tries = 0; tries < SERVED_PATIENCE_MS / 20; tries++) {
                json_decref(it);
                it = forecast("", "", 4, "");
                if (json_is_null(it))
                        break;          /* it would start at once */
                served_sleep_ms(20);
        }
        assert_true(json_is_null(it));
}

/* The most it ever held. */
static uint64_t peak_mib(void)
{
        char path[64], line[128];
        unsigned long kib = 0;

        snprintf(path, sizeof path, "/proc/%d/status", (int)served.pid);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        while (kib == 0 && fgets(line, sizeof line, file))
                (void)sscanf(line, "VmHWM: %lu", &kib);
        (void)fclose(file);
        assert_true(kib > 0);
        return kib >> 10;
}

/* Two pools are made for each, with room for all that may come. */
static void its_memory_is_not_the_controllers(void **state)
{
        (void)state;
        uint64_t before = peak_mib();
        for (unsigned asked = 0; asked < 6; asked++)
                json_decref(forecast("", "", 8, ""));
        uint64_t after = peak_mib();
        if (after >= before + 16)               /* a sanitizer's threads have some */
                fail_msg("%" PRIu64 " MiB were %" PRIu64 " MiB at most", before, after);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(its_memory_is_not_the_controllers),    /* nothing is made yet */
                cmocka_unit_test(it_starts_when_what_runs_has_come_to_its_limit),
                cmocka_unit_test(a_tenant_is_told_in_steps),
                cmocka_unit_test(what_would_not_wait_has_none),
                cmocka_unit_test(nothing_comes_of_being_asked),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
