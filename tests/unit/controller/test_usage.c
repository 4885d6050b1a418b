/* Usage against a real berthd that is killed: every unit-millisecond counts once. */
#include "tests/unit/controller/served.h"

#include <sqlite3.h>

#include "base/mem.h"
#include "base/time.h"

#define UNITS_DEVICE INT64_C(126000)

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n"
                           "prices: {H100-80: 3600}\ncurrency: EUR\n";
static const char policy[] = "kind: Policy\npreset: equal\nclasses: {training: {}}\n"
                             "default_class: training\n"
                             "tenants:\n  research: {tenants: {nlp: {}}}\n  web: {}\n";

static struct served served;

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* The one number that a query gives. */
static int64_t number(const char *sql)
{
        sqlite3 *db;
        sqlite3_stmt *row;
        assert_int_equal(sqlite3_open_v2(served.store, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        sqlite3_busy_timeout(db, SERVED_PATIENCE_MS);
        if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        int64_t value = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
        sqlite3_close(db);
        return value;
}

/* Of both nodes, from when each joined until the newest note. */
static int64_t capacity_until_the_note(void)
{
        int64_t until = number("SELECT json_extract(CAST(body AS TEXT), '$.usage_until_ms')"
                               " FROM records WHERE kind = 4 AND instr(CAST(body AS TEXT), 'usage') > 0"
                               " ORDER BY seq DESC LIMIT 1");
        int64_t joined = number("SELECT sum(at_ms) FROM records WHERE kind = 2"
                                " AND instr(CAST(body AS TEXT), '\"node_set\"') > 0");
        assert_int_equal(number("SELECT count(*) FROM records WHERE kind = 2"
                                " AND instr(CAST(body AS TEXT), '\"node_set\"') > 0"), 2);
        return (2 * until - joined) * 8 * UNITS_DEVICE;
}

#define CAPACITY "bucket NOT LIKE 'lost%%' AND bucket NOT IN ('lent', 'caused_loss')"

static int64_t counted(const char *where)
{
        char sql[256];
        snprintf(sql, sizeof sql, "SELECT sum(unit_ms) FROM usage_hours WHERE " CAPACITY " AND %s",
                 where);
        return number(sql);
}

static void sums_equal_capacity_times_time_over_kills_and_clean_ends(void **state)
{
        (void)state;
        static const char *const often[] = {"--snapshot-every", "100", NULL};
        static const int signals[] = {SIGKILL, SIGTERM, SIGKILL, SIGKILL, SIGTERM};
        int64_t ran_ms = 0, seen_ms = 0;
        for (size_t round = 0; round < ARRAY_LEN(signals); round++) {
                served_start(&served, often);
                int64_t begin_ms = time_monotonic_ms();
                uint64_t a = served_submit(&served, "a", "web", 3, "0.3");
                uint64_t b = served_submit(&served, "b", "research/nlp", 8, "0.2");
                served_wait(&served, b, "succeeded");
                seen_ms += 8 * (time_monotonic_ms() - begin_ms);
                served_wait(&served, a, "succeeded");
                seen_ms += 3 * (time_monotonic_ms() - begin_ms);
                ran_ms += 3 * 300 + 8 * 200;
                for (int i = 0; i < 40; i++)
                        json_decref(served_json(&served, "POST", "/v1/freeze",
                                                i % 2 ? "{\"frozen\": false}" : "{\"frozen\": true}",
                                                200));
                served_end(&served, signals[round]);
                served_sleep_ms(50);
                if (round > 0)
                        assert_int_equal(counted("1"), capacity_until_the_note());
        }
        /* All runs lie between notes now: each lasted as long as it should, and as was seen. */
        int64_t held = counted("tenant <> ''");
        assert_true(held >= ran_ms * UNITS_DEVICE);
        assert_true(held <= seen_ms * UNITS_DEVICE);
        assert_true(number("SELECT count(*) FROM snapshots") > 0);
}

static void the_api_sums_and_prices_them(void **state)
{
        (void)state;
        served_start(&served, NULL);
        int64_t held = counted("tenant = 'web'");
        json_t *json = served_json(&served, "GET", "/v1/usage?by=tenant,model&tenant=web", NULL, 200);
        const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
        assert_int_equal(json_array_size(json_object_get(json, "rows")), 1);
        assert_string_equal(json_string_value(json_object_get(json, "currency")), "EUR");
        assert_string_equal(json_string_value(json_object_get(row, "tenant")), "web");
        assert_string_equal(json_string_value(json_object_get(row, "model")), "H100-80");
        assert_string_equal(json_string_value(json_object_get(row, "bucket")),
                            "allocated_unmeasured");
        assert_int_equal(strtoll(json_string_value(json_object_get(row, "unit_ms")), NULL, 10),
                         held);
        /* 3600 a device-hour: one a second. */
        double cost = strtod(json_string_value(json_object_get(row, "cost")), NULL);
        double seconds = (double)held / (double)UNITS_DEVICE / 1000;
        assert_true(cost > seconds - 0.0051 && cost < seconds + 0.0051);
        json_decref(json);

        /* Without the model in it the sum is the same, and all tenants and the pool's rows come. */
        json = served_json(&served, "GET", "/v1/usage?by=hour", NULL, 200);
        size_t r;
        json_t *each;
        int64_t sum = 0;
        json_array_foreach(json_object_get(json, "rows"), r, each) {
                const char *bucket = json_string_value(json_object_get(each, "bucket"));
                if (strncmp(bucket, "lost", 4) != 0)
                        sum += strtoll(json_string_value(json_object_get(each, "unit_ms")), NULL, 10);
                assert_null(json_object_get(each, "tenant"));
                check_has(json_string_value(json_object_get(each, "hour")), ":00:00.000Z");
        }
        assert_int_equal(sum, counted("1"));
        json_decref(json);
}

static void what_cannot_be_asked_is_refused(void **state)
{
        (void)state;
        static const struct { const char *path, *says; unsigned status; } rows[] = {
                {"/v1/usage?by=colour", "'colour' is none of", 400},
                {"/v1/usage?by=hour,day", "not both", 400},
                {"/v1/usage?from=2027-01-01T00:30Z", "not the start of an hour", 400},
                {"/v1/usage?until=soon", "query 'until': 'soon' is no time: write now, -1h", 400},
                {"/v1/usage?from=-1h&until=-2h", "is not before 'until'", 400},
                {"/v1/usage?from=2027-01-01T01:00Z&until=2027-01-01T01:00Z",
                 "is not before 'until'", 400},
                {"/v1/review?from=2027-01-02&until=2027-01-01", "is not before 'until'", 400},
                {"/v1/usage?until=1970-01-01", "is not before 'until'", 400},
                {"/v1/review?until=1970-01-01", "is not before 'until'", 400},
        };
        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                struct asked *asked = served_ask(&served, "GET", rows[r].path, "", NULL);
                assert_int_equal(asked->status, rows[r].status);
                check_has(asked->body, rows[r].says);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sums_equal_capacity_times_time_over_kills_and_clean_ends),
                cmocka_unit_test(the_api_sums_and_prices_them),
                cmocka_unit_test(what_cannot_be_asked_is_refused),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
