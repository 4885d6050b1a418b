/* Events against a real berthd: live, from its memory and from the log they are the same. */
#include "tests/unit/controller/served.h"

#include <pwd.h>

#include "base/mem.h"

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: gpu-01, plane: training, devices: {model: H100-80, count: 8},"
                           " cpu: 96, ram: 1024Gi}\n";
static const char two_nodes[] =
        "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
        "  - {name: \"gpu-[02-03]\", plane: training, devices: {model: H100-80, count: 8},"
        " cpu: 96, ram: 1024Gi}\n";
static const char policy[] = "kind: Policy\npreset: equal\nclasses: {training: {}}\n"
                             "default_class: training\n"
                             "tenants:\n  research: {tenants: {nlp: {}, vision: {}}}\n  web: {}\n";

static struct served served;

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* Of an event of work that whoever runs this test has submitted. The last 8 results stay. */
static const char *part_of(const char *name, const char *tenant, const char *rest)
{
        static char parts[8][200];
        static unsigned at;
        const struct passwd *user = getpwuid(geteuid());
        char *part = parts[at++ % 8];
        assert_non_null(user);
        snprintf(part, sizeof parts[0], "\"name\":\"%s\",\"tenant\":\"%s\",\"user\":\"%s\",%s",
                 name, tenant, user->pw_name, rest);
        return part;
}

/* All events there are so far, from the log or the ring; ends with the newest of that name. */
static void hear_all(const char *path, const char *headers, const char *until, struct text *text)
{
        int fd = served_follow(&served, path, headers);
        text_done(text);
        if (!served_hear(fd, text, until, SERVED_PATIENCE_MS))
                fail_msg("'%s' did not come: %s", until, text->bytes);
        close(fd);
}

/* The number of the event that begins there; 0: none does. */
static uint64_t id_at(const char *event)
{
        return strncmp(event, "id:", 3) == 0 ? strtoull(event + 3, NULL, 10) : 0;
}

static const char *behind(const char *event)
{
        const char *end = strstr(event, "\n\n");
        assert_non_null(end);
        return end + 2;
}

static unsigned count_of(const char *events, const char *part)
{
        unsigned count = 0;
        for (const char *at = events; (at = strstr(at, part)); at++)
                count++;
        return count;
}

/* From the start up to where `until` stands, whole events. */
static size_t size_until(const char *events, const char *until)
{
        const char *at = strstr(events, until);
        assert_non_null(at);
        return (size_t)(behind(at) - events);
}

/* A view is found by its tenant, by its workload, or as one that wants all: by hashes, of which two
 * may be equal. */
static void each_event_comes_once_whatever_the_number_of_its_work(void **state)
{
        (void)state;
        enum { WORKS = 40 };
        struct text all = {0};
        int fd = served_follow(&served, "/v1/events", "");
        assert_true(served_hear(fd, &all, "retry:", SERVED_PATIENCE_MS));
        for (unsigned w = 1; w < WORKS; w++)
                assert_int_equal(served_submit(&served, "w", "web", 1, "0.1"), w);
        served_submit(&served, "last", "web", 1, "0.1");
        const char *last = part_of("last", "web", "\"cause\":\"exited\",\"lost_ms\":0}\n\n");
        assert_true(served_hear(fd, &all, last, SERVED_PATIENCE_MS));
        close(fd);
        const char *events = served_events(&all);
        for (const char *at = events; id_at(at) && id_at(behind(at)); at = behind(at))
                assert_true(id_at(behind(at)) > id_at(at));
        assert_int_equal(count_of(events, "event:queued"), WORKS);
        assert_int_equal(count_of(events, "event:released"), WORKS);
        text_done(&all);
}

static void live_ones_are_those_that_the_log_gives_again(void **state)
{
        (void)state;
        struct text live = {0}, again = {0};
        int fd = served_follow(&served, "/v1/events", "");
        assert_true(served_hear(fd, &live, "retry:", SERVED_PATIENCE_MS));
        served_submit(&served, "one", "research/nlp", 2, "0.2");
        served_submit(&served, "two", "web", 8, "0.2");
        assert_true(served_hear(fd, &live, part_of("two", "web", "\"cause\":\"exited\""),
                                SERVED_PATIENCE_MS));
        assert_true(served_hear(fd, &live, "\n\n", SERVED_PATIENCE_MS));
        close(fd);
        const char *events = served_events(&live);
        for (const char *at = events; id_at(at) && id_at(behind(at)); at = behind(at))
                assert_true(id_at(behind(at)) > id_at(at));
        char from[64];
        snprintf(from, sizeof from, "/v1/events?after=%llu",
                 (unsigned long long)id_at(events) - 1);
        size_t size = size_until(events, part_of("two", "web", "\"cause\":\"exited\""));
        hear_all(from, "", part_of("two", "web", "\"cause\":"), &again);
        assert_memory_equal(served_events(&again), events, size);       /* from the ring */
        served_end(&served, SIGKILL);
        served_start(&served, NULL);
        hear_all(from, "", part_of("two", "web", "\"cause\":"), &again);
        assert_memory_equal(served_events(&again), events, size);       /* from the log */
        text_done(&live);
        text_done(&again);
}

static void who_comes_back_gets_exactly_what_followed(void **state)
{
        (void)state;
        struct text all = {0}, rest = {0};
        served_submit(&served, "three", "web", 1, "0.1");
        hear_all("/v1/events?after=0", "", part_of("three", "web", "\"cause\":\"exited\""), &all);
        const char *events = served_events(&all), *at = events;
        size_t size = size_until(events, part_of("three", "web", "\"cause\":\"exited\""));
        unsigned looked = 0;
        for (unsigned n = 0; at < events + size; n++) {
                char header[64];
                uint64_t id = id_at(at);
                at = behind(at);
                if (n % 7 != 0 || at == events + size)
                        continue;
                snprintf(header, sizeof header, "Last-Event-ID: %llu\r\n", (unsigned long long)id);
                hear_all("/v1/events?after=1", header,
                         part_of("three", "web", "\"cause\":\"exited\""), &rest);
                size_t left = (size_t)(events + size - at) - 20;
                assert_true(strlen(served_events(&rest)) >= left);
                assert_memory_equal(served_events(&rest), at, left);
                looked++;
        }
        assert_true(looked > 2);
        text_done(&all);
        text_done(&rest);
}

/* Its time, as it says it; the text lives as long as the event. */
static void time_of(const char *event, char ret_at[32])
{
        const char *at = strstr(event, "\"at\":\"");
        assert_true(at && at < behind(event));
        snprintf(ret_at, 32, "%.24s", at + 6);
}

static void a_time_begins_with_the_first_that_was_then_or_later(void **state)
{
        (void)state;
        struct text all = {0}, rest = {0};
        char at[32], before[32], path[64];
        served_submit(&served, "timed", "web", 1, "0.1");
        const char *const last = "\"name\":\"timed\",\"tenant\":\"web\",\"user\":\"root\","
                                 "\"cause\":\"exited\"";
        hear_all("/v1/events?after=0", "", last, &all);
        const char *events = served_events(&all), *event = events;
        size_t size = size_until(events, last);
        unsigned looked = 0;
        time_of(event, before);
        for (unsigned n = 0; (event = behind(event)) < events + size;) {
                time_of(event, at);
                bool is_first = strcmp(at, before) > 0;
                assert_true(strcmp(at, before) >= 0);
                snprintf(before, sizeof before, "%s", at);
                if (!is_first || n++ % 5 != 0)
                        continue;
                snprintf(path, sizeof path, "/v1/events?from=%s", at);
                hear_all(path, "", last, &rest);
                size_t left = (size_t)(events + size - event) - 20;
                assert_true(strlen(served_events(&rest)) >= left);
                assert_memory_equal(served_events(&rest), event, left);
                looked++;
        }
        assert_true(looked > 2);
        hear_all("/v1/events?from=-1h", "", last, &rest);       /* older than the pool: all */
        assert_memory_equal(served_events(&rest), events, size - 20);
        text_done(&all);
        text_done(&rest);
}

static void filters_leave_the_rest_out(void **state)
{
        (void)state;
        struct text text = {0};
        char path[96];
        uint64_t id = served_submit(&served, "four", "research/vision", 1, "0.1");
        uint64_t five = served_submit(&served, "five", "web", 1, "0.1");
        snprintf(path, sizeof path, "/v1/events?after=0&workload=%llu", (unsigned long long)id);
        hear_all(path, "", "\"cause\":\"exited\"", &text);
        assert_int_equal(count_of(text.bytes, "\nevent:"), 3);
        assert_int_equal(count_of(text.bytes, "\"name\":\"four\""), 3);
        hear_all("/v1/events?after=0&tenant=research", "",
                 part_of("four", "research/vision", "\"cause\":\"exited\""), &text);
        assert_int_equal(count_of(text.bytes, "\nevent:"), 6);
        assert_null(strstr(text.bytes, "\"web\""));
        assert_null(strstr(text.bytes, "time_set"));
        snprintf(path, sizeof path, "/v1/events?after=0&workload=%llu", (unsigned long long)five);
        hear_all(path, "", "\"cause\":\"exited\"", &text);     /* nothing of it in what follows */
        text_done(&text);
}

/* More than are sent to at one go: each hears all, once, in order. */
static void many_watchers_hear_the_same(void **state)
{
        (void)state;
        enum { MANY = 40, ROUNDS = 6 };
        struct text texts[MANY] = {0};
        int fds[MANY];
        for (unsigned w = 0; w < MANY; w++) {
                fds[w] = served_follow(&served, "/v1/events?tenant=web", "");
                assert_true(served_hear(fds[w], &texts[w], "retry:", SERVED_PATIENCE_MS));
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
                served_submit(&served, round + 1 < ROUNDS ? "many" : "last", "web", 1, "0.1");
                served_sleep_ms(40);
        }
        for (unsigned w = 0; w < MANY; w++) {
                const char *last = part_of("last", "web", "\"cause\":\"exited\",\"lost_ms\":0}\n\n");
                if (!served_hear(fds[w], &texts[w], last, SERVED_PATIENCE_MS))
                        fail_msg("watcher %u: %s", w, texts[w].bytes);
                assert_int_equal(count_of(texts[w].bytes, "\nevent:"), 3 * ROUNDS);
                assert_string_equal(served_events(&texts[w]), served_events(&texts[0]));
                close(fds[w]);
        }
        for (unsigned w = 0; w < MANY; w++)
                text_done(&texts[w]);
}

static void a_number_that_is_another_nodes_now_keeps_its_name(void **state)
{
        (void)state;
        struct text text = {0};
        json_decref(served_json(&served, "PUT", "/v1/pool/document", two_nodes, 200));
        served_submit(&served, "six", "web", 8, "0.1");
        served_end(&served, SIGTERM);
        served_write(&served, "pool.yaml", two_nodes);
        served_start(&served, NULL);
        hear_all("/v1/events?after=0", "", part_of("six", "web", "\"cause\":\"exited\""), &text);
        const char *one = strstr(text.bytes, "event:allocated"), *gone = strstr(text.bytes, "node_gone");
        const char *six = strstr(text.bytes, part_of("six", "web", "\"node\""));
        assert_non_null(one);
        assert_non_null(gone);
        assert_non_null(six);
        assert_true(one < gone && gone < six);
        check_has(gone, "\"node\":\"gpu-01\"");
        for (; one < gone; one = strstr(one + 1, "event:allocated"))
                assert_int_equal(strncmp(strstr(one, "\"node\""), "\"node\":\"gpu-01\"", 15), 0);
        assert_int_equal(strncmp(strstr(six, "\"node\""), "\"node\":\"gpu-0", 13), 0);
        assert_int_not_equal(strncmp(strstr(six, "\"node\""), "\"node\":\"gpu-01\"", 15), 0);
        text_done(&text);
}

static void what_cannot_be_is_refused(void **state)
{
        (void)state;
        static const struct { const char *path, *headers, *says; unsigned status; } rows[] = {
                {"/v1/events?after=9223372036854775807", "", "yet to come", 400},
                {"/v1/events?after=x", "", "no id of this stream", 400},
                {"/v1/events", "Last-Event-ID: -1\r\n", "no id of this stream", 400},
                {"/v1/events?workload=999999", "", "not here", 404},
                {"/v1/events?from=%2B1h", "", "has not come yet", 400},
                {"/v1/events?from=1h", "", "query 'from': '1h' is no time", 400},
                {"/v1/events?workload=0", "", "query 'workload'", 400},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct asked *asked = served_ask(&served, "GET", rows[r].path, rows[r].headers, NULL);
                assert_int_equal(asked->status, rows[r].status);
                check_has(asked->body, rows[r].says);
        }
}

static void a_policy_that_comes_ends_every_stream(void **state)
{
        (void)state;
        struct text text = {0};
        int fd = served_follow(&served, "/v1/events", "");
        assert_true(served_hear(fd, &text, "retry:", SERVED_PATIENCE_MS));
        json_decref(served_json(&served, "PUT", "/v1/policy", policy, 200));
        assert_true(served_hear(fd, &text, NULL, SERVED_PATIENCE_MS));
        check_has(text.bytes, "event:policy_in_force");
        close(fd);
        text_done(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_event_comes_once_whatever_the_number_of_its_work),
                cmocka_unit_test(live_ones_are_those_that_the_log_gives_again),
                cmocka_unit_test(who_comes_back_gets_exactly_what_followed),
                cmocka_unit_test(a_time_begins_with_the_first_that_was_then_or_later),
                cmocka_unit_test(filters_leave_the_rest_out),
                cmocka_unit_test(what_cannot_be_is_refused),
                cmocka_unit_test(many_watchers_hear_the_same),
                cmocka_unit_test(a_policy_that_comes_ends_every_stream),
                cmocka_unit_test(a_number_that_is_another_nodes_now_keeps_its_name),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
