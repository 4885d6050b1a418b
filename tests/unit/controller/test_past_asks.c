/* The past asked of a real berthd: who may, what is refused, and that nobody waits for it. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>

#include "base/time.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n";
static const char policy[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\ndefault_class: training\n"
        "tenants: {alpha: {}, zebra: {}}\n"
        "principals:\n  - {name: vera, tenants: {alpha: viewer}}\n";

static struct served served;
static char vera[SERVED_HEADER_MAX];
static uint64_t ours, theirs;           /* wait for what `before` has; */
static char then[32];                   /* ... at this time */

/* Now, to the ms; nothing happens in it that is asked about. */
static void keep_time(char when[32])
{
        struct timespec now;
        struct tm parts;
        served_sleep_ms(5);
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &parts);
        size_t size = strftime(when, 32, "%Y-%m-%dT%H:%M:%S", &parts);
        snprintf(when + size, 32 - size, ".%03ldZ", now.tv_nsec / 1000000);
        served_sleep_ms(5);
}

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        served_token(&served, "vera", "viewer", "alpha", vera);
        uint64_t before[2] = {served_submit(&served, "b1", "zebra", 8, "1000"),
                              served_submit(&served, "b2", "zebra", 8, "1000")};
        served_wait(&served, before[0], "running");
        served_wait(&served, before[1], "running");
        ours = served_submit(&served, "ours", "alpha", 8, "1000");
        theirs = served_submit(&served, "theirs", "zebra", 8, "1000");
        served_wait(&served, ours, "queued");
        keep_time(then);
        for (unsigned b = 0; b < 2; b++) {
                char path[64];
                snprintf(path, sizeof path, "/v1/workloads/%" PRIu64, before[b]);
                assert_true(served_ask(&served, "DELETE", path, "", NULL)->status < 300);
        }
        served_wait(&served, ours, "running");
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

static struct asked *explain_at(uint64_t id, const char *at, const char *more, const char *header)
{
        char path[160];
        snprintf(path, sizeof path, "/v1/workloads/%" PRIu64 "/explain?at=%s%s", id, at, more);
        return served_ask(&served, "GET", path, header, NULL);
}

static void what_runs_now_waited_then(void **state)
{
        (void)state;
        struct asked *asked = explain_at(ours, then, "", "");
        assert_int_equal(asked->status, 200);
        check_has(asked->body, "\"verdict\":\"WAIT_CAPACITY\"");
        check_has(asked->body, "\"b1\"");       /* the operator sees who is in the way */
        asked = explain_at(ours, then, "&format=text", "");
        check_has(asked->body, "as of      2");
        check_has(asked->body, "policy revision 1");
        char now[32];
        keep_time(now);
        check_has(explain_at(ours, now, "", "")->body, "\"verdict\":\"RUNNING\"");
        char path[96];
        snprintf(path, sizeof path, "/v1/idle?at=%s", then);
        asked = served_ask(&served, "GET", path, "", NULL);
        check_has(asked->body, "\"idle\":0,");
        check_has(asked->body, "\"policy_revision\":1");
}

static void the_queue_is_as_it_was(void **state)
{
        (void)state;
        char path[96];
        snprintf(path, sizeof path, "/v1/queue?at=%s", then);
        json_t *json = served_json(&served, "GET", path, NULL, 200);
        json_t *rows = json_object_get(json, "workloads");
        assert_int_equal(json_integer_value(json_object_get(json, "waiting")), 2);
        assert_int_equal(json_array_size(rows), 2);
        for (size_t r = 0; r < 2; r++) {
                json_t *row = json_array_get(rows, r);
                uint64_t id = (uint64_t)json_integer_value(json_object_get(row, "id"));
                assert_true(id == ours || id == theirs);
                assert_int_equal(json_integer_value(json_object_get(row, "position")), r + 1);
                assert_string_equal(json_string_value(json_object_get(row, "verdict")),
                                    "WAIT_CAPACITY");
                assert_string_equal(json_string_value(json_object_get(row, "tenant")),
                                    id == ours ? "alpha" : "zebra");
        }
        json_decref(json);
        struct asked *asked = served_ask(&served, "GET", path, vera, NULL);
        assert_int_equal(asked->status, 200);
        check_has(asked->body, "{\"waiting\":1,\"workloads\":[{\"position\":1,");
        assert_null(strstr(asked->body, "zebra"));
        snprintf(path, sizeof path, "/v1/queue?at=%s&limit=1", then);
        json = served_json(&served, "GET", path, NULL, 200);
        assert_int_equal(json_integer_value(json_object_get(json, "waiting")), 2);
        assert_int_equal(json_array_size(json_object_get(json, "workloads")), 1);
        json_decref(json);
        assert_int_equal(served_ask(&served, "GET", "/v1/queue?at=soon", "", NULL)->status, 400);
}

static void a_tenant_sees_its_own_and_nothing_else(void **state)
{
        (void)state;
        struct asked *asked = explain_at(ours, then, "", vera);
        assert_int_equal(asked->status, 200);
        check_has(asked->body, "\"verdict\":\"WAIT_CAPACITY\"");
        if (strstr(asked->body, "zebra") || strstr(asked->body, "\"b1\""))
                fail_msg("it tells of others: %s", asked->body);
        static struct asked hidden;
        hidden = *explain_at(theirs, then, "", vera);
        assert_int_equal(hidden.status, 403 + (hidden.status == 404));
        check_has(hidden.body, "not for vera to see");
        check_has(explain_at(999, then, "", vera)->body, "not for vera to see");
        assert_int_equal(served_ask(&served, "GET", "/v1/idle?at=-1s", vera, NULL)->status, 403);
}

static void times_that_cannot_be_meant_are_refused(void **state)
{
        (void)state;
        static const struct { const char *at, *why; unsigned status; } bad[] = {
                {"soon", "is no time: write", 400},
                {"-soon", "is no time: write", 400},
                {"2026-02-30T00:00Z", "does not exist in the calendar", 400},
                {"2h", "write now, -1h, -7d", 400},
                {"2999-01-01T00:00Z", "has not come yet", 400},
                {"2001-01-01T00:00Z", "had not been submitted", 404},
        };
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
                struct asked *asked = explain_at(ours, bad[b].at, "", "");
                check_has(asked->body, bad[b].why);
                assert_int_equal(asked->status, bad[b].status);
        }
        struct asked *asked = served_ask(&served, "GET", "/v1/idle?at=2001-01-01T00:00Z", "", NULL);
        assert_int_equal(asked->status, 404);
        check_has(asked->body, "the oldest time that can be asked for is 2");
}

/* Many at once, of whom most leave: the others are answered, or told that too many wait. */
static void who_leaves_holds_up_nobody(void **state)
{
        (void)state;
        char path[96];
        int stay[4];
        snprintf(path, sizeof path, "/v1/idle?at=%s", then);
        for (unsigned n = 0; n < 40; n++) {
                int fd = served_follow(&served, path, "");
                if (n % 10 == 9)
                        stay[n / 10] = fd;
                else
                        close(fd);
        }
        for (unsigned n = 0; n < 4; n++) {
                struct text text = {0};
                assert_true(served_hear(stay[n], &text, NULL, SERVED_PATIENCE_MS));
                if (!strstr(text.bytes, " 200 "))
                        check_has(text.bytes, "try again");
                text_done(&text);
                close(stay[n]);
        }
        struct asked *asked = NULL;
        for (int tries = 0; tries < 3000 && (!asked || asked->status == 503); tries++) {
                asked = served_ask(&served, "GET", path, "", NULL);
                served_sleep_ms(asked->status == 503 ? 20 : 0);
        }
        assert_int_equal(asked->status, 200);   /* the places are free again */
}

/* A question under way does not keep the controller from ending: served_done() looks. */
static void it_ends_while_somebody_asks(void **state)
{
        (void)state;
        char path[96];
        snprintf(path, sizeof path, "/v1/idle?at=%s", then);
        int fd = served_follow(&served, path, "");
        served_end(&served, SIGTERM);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_runs_now_waited_then),
                cmocka_unit_test(the_queue_is_as_it_was),
                cmocka_unit_test(a_tenant_sees_its_own_and_nothing_else),
                cmocka_unit_test(times_that_cannot_be_meant_are_refused),
                cmocka_unit_test(who_leaves_holds_up_nobody),
                cmocka_unit_test(it_ends_while_somebody_asks),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
