/* Usage and reviews asked of a real berthd: of 13 months, by many, while work goes on. */
#include "tests/unit/controller/served.h"

#include <inttypes.h>
#include <sqlite3.h>

static const char pool[] = "kind: Pool\nname: small\nplanes: {training: {}}\nnodes:\n"
                           "  - {name: \"gpu-[01-02]\", plane: training,"
                           " devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}\n"
                           "prices: {H100-80: 2.00}\n";
static const char policy[] =
        "kind: Policy\npreset: equal\nclasses: {training: {rank: 1}}\ndefault_class: training\n"
        "tenants: {alpha: {}, zebra: {}}\n"
        "principals:\n  - {name: vera, tenants: {alpha: viewer}}\n";

enum { DAYS = 395 };

static struct served served;
static char vera[SERVED_HEADER_MAX], whole[200];

static void run_sql(const char *sql, int64_t number)
{
        sqlite3 *db;
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_open(served.store, &db), SQLITE_OK);
        if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
                fail_msg("%s", sqlite3_errmsg(db));
        sqlite3_bind_int64(statement, 1, number);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_finalize(statement);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Of each day and tenant: 7 starts in each of 40 classes, and a device for three hours, once
 * delivered and once lost. */
static void fill(void)
{
        int64_t today = (int64_t)time(NULL) / 86400;
        char first[16], end[16];
        time_t times[2] = {(time_t)((today - (DAYS - 1)) * 86400), (time_t)((today + 1) * 86400)};
        struct tm parts;
        run_sql("WITH RECURSIVE number(n) AS"
                " (VALUES (0) UNION ALL SELECT n + 1 FROM number WHERE n < 394)"
                " INSERT INTO review_days SELECT (?1 - day.n) * 86400000, tenant.column1,"
                " 'c' || class.n, 'H100-80', 'starts', '', 7 FROM number AS day,"
                " (VALUES ('alpha'), ('zebra')) AS tenant, number AS class WHERE class.n < 40",
                today);
        run_sql("WITH RECURSIVE number(n) AS"
                " (VALUES (0) UNION ALL SELECT n + 1 FROM number WHERE n < 394)"
                " INSERT INTO usage_hours SELECT (?1 - day.n) * 86400000 + hour.n * 3600000,"
                " tenant.column1, 'H100-80', 'training', 'whole', bucket.column1, 453600000000"
                " FROM number AS day, number AS hour, (VALUES ('alpha'), ('zebra')) AS tenant,"
                " (VALUES ('delivered'), ('lost_failed')) AS bucket WHERE hour.n < 3", today);
        (void)strftime(first, sizeof first, "%Y-%m-%d", gmtime_r(&times[0], &parts));
        (void)strftime(end, sizeof end, "%Y-%m-%d", gmtime_r(&times[1], &parts));
        snprintf(whole, sizeof whole, "?from=%sT00:00Z&until=%sT00:00Z", first, end);
}

static int start(void **state)
{
        (void)state;
        served_new(&served, pool, policy);
        served_start(&served, NULL);
        served_end(&served, SIGTERM);
        fill();
        served_start(&served, NULL);
        served_token(&served, "vera", "viewer", "alpha", vera);
        return 0;
}

static int stop(void **state)
{
        (void)state;
        served_done(&served);
        return 0;
}

/* Of all the days, with what the query has besides. */
static void expect(const char *path, const char *more, const char *header, unsigned status,
                   const char *has)
{
        char all[300];
        snprintf(all, sizeof all, "%s%s%s", path, whole, more);
        struct asked *asked = served_ask(&served, "GET", all, header, NULL);
        if (asked->status != status || !strstr(asked->body, has))
                fail_msg("%s: %u %s", all, asked->status, asked->body);
}

static void one_answer_covers_all_that_is_kept(void **state)
{
        (void)state;
        expect("/v1/review", "&tenant=alpha", "", 200, "\"starts\":110600,");
        expect("/v1/review", "&tenant=alpha", "", 200, "\"lost\":{\"failed\":\"1185\"}");
        expect("/v1/review", "&by=", "", 200, "\"starts\":221200,");
        expect("/v1/usage", "&tenant=zebra", "", 200,
               "\"bucket\":\"delivered\",\"device_hours\":\"1185\",\"unit_ms\":\"537516000000000\","
               "\"cost\":\"2370.00\"");
        expect("/v1/usage", "", vera, 200, "\"tenant\":\"alpha\"");
        expect("/v1/usage", "&tenant=zebra", vera, 404, "not for vera to see");
}

static void what_is_too_much_is_refused_with_what_to_do(void **state)
{
        (void)state;
        expect("/v1/review", "&by=tenant,class,day", "", 400, "ask for less time, or by less");
}

/* Of one's own 4 may wait. Who is told to come later finds the places free again. */
static void too_many_at_once_are_told_when_to_come_again(void **state)
{
        (void)state;
        char path[300];
        int fds[24];
        unsigned answered = 0, later = 0;
        snprintf(path, sizeof path, "/v1/review%s&by=class", whole);
        for (unsigned f = 0; f < 24; f++)
                fds[f] = served_follow(&served, path, "");
        (void)served_submit(&served, "beside", "zebra", 1, "1000");
        for (unsigned f = 0; f < 24; f++) {
                struct text text = {0};
                assert_true(served_hear(fds[f], &text, NULL, SERVED_PATIENCE_MS));
                if (strstr(text.bytes, " 503 ")) {
                        check_has(text.bytes, "Retry-After: 5");
                        check_has(text.bytes, "4 such questions of yours");
                        later++;
                } else {
                        check_has(text.bytes, " 200 ");
                        check_has(text.bytes, "\"class\":\"c39\"");
                        answered++;
                }
                text_done(&text);
                close(fds[f]);
        }
        assert_true(answered >= 4);
        assert_int_equal(answered + later, 24);
        expect("/v1/review", "", "", 200, "alpha");
}

/* With questions under way and waiting: served_end() wants a good end. */
static void it_ends_while_somebody_asks(void **state)
{
        (void)state;
        char path[300];
        int fds[4];
        snprintf(path, sizeof path, "/v1/review%s&by=class", whole);
        for (unsigned f = 0; f < 4; f++)
                fds[f] = served_follow(&served, path, "");
        served_end(&served, SIGTERM);
        for (unsigned f = 0; f < 4; f++)
                close(fds[f]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_answer_covers_all_that_is_kept),
                cmocka_unit_test(what_is_too_much_is_refused_with_what_to_do),
                cmocka_unit_test(too_many_at_once_are_told_when_to_come_again),
                cmocka_unit_test(it_ends_while_somebody_asks),
        };
        return cmocka_run_group_tests(tests, start, stop);
}
