/* The files of a small history's ledger. tests/ledger_check.py counts the numbers again. */
#include "tests/scratch.h"
#include "tests/unit/models.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/ledger_out.h"
#include "proto/scenario.h"
#include "sim/history.h"

static char folder[SCRATCH_MAX];
static struct scenario scenario;
static struct history_result result;
static struct ledger_book book;
static struct text text;

static int open_folder(void **state)
{
        models_load(state);
        return scratch_folder(folder, sizeof folder, "ledger") ? 0 : -1;
}

static int close_folder(void **state)
{
        models_drop(state);
        return rmdir(folder);
}

static int forget(void **state)
{
        (void)state;
        history_result_done(&result);
        ledger_book_done(&book);
        text_done(&text);
        return 0;
}

/* Two hours on two devices from 23:00 on, and one hour on one of them from 01:00 on. */
static const char table[] = "at,ran,gpus,team\n"
                            "2025-01-31 23:00:00,7200,2,a\n"
                            "2025-02-01 00:30:00,3600,1,c\n";

#define HEAD \
        "kind: Replay\nname: two days\n" \
        "workload: {jobs_csv: h.csv, columns: {submit: at, duration: ran, devices: gpus, " \
        "tenant: team}, from: 2025-01-31, until: 2025-02-02}\n"

static int replay(const char *document, struct err *err)
{
        struct replay_hooks hooks = {.ledger = &book};
        char path[64], file[64];

        snprintf(path, sizeof path, "%s/s.yaml", folder);
        snprintf(file, sizeof file, "%s/h.csv", folder);
        int rc = file_write(file, table, sizeof table - 1, err);
        if (rc == 0)
                rc = scenario_decode(path, document, strlen(document), &scenario, err);
        if (rc == 0)
                rc = history_run_scenario(&scenario, models, &hooks, &result, err);
        unlink(file);
        return rc;
}

static void must_replay(const char *document)
{
        struct err err = {0};

        if (replay(document, &err) < 0)
                fail_msg("%s", err.text);
}

static void hours_lie_on_their_days(void **state)
{
        (void)state;
        must_replay(HEAD "pool: {nodes: 1, devices_per_node: 2, model: T4}\n");
        assert_int_equal(book.runs_count, 1);
        assert_int_equal(book.runs[0].days_count, 2);
        ledger_csv(&book, models, &text);
        /* 2 x 24 device-hours of 453,600,000,000; held: 2, then 2 + 1. */
        check_has(text.bytes, "\n2025-01-31,default,consolidate,1,T4,21772800000000,0,0,0,"
                              "907200000000,0,0,0,0,0,0,20865600000000,0,0,0\n");
        check_has(text.bytes, "\n2025-02-01,default,consolidate,1,T4,21772800000000,0,0,0,"
                              "1360800000000,0,0,0,0,0,");
        check_has(text.bytes, "\ntotal,default,consolidate,1,T4,43545600000000,0,0,0,"
                              "2268000000000,");
}

static void a_bill_adds_up_to_the_capacity(void **state)
{
        (void)state;
        unsigned long long all = 0;

        must_replay(HEAD "pool: {nodes: 1, devices_per_node: 2, model: T4, prices: {T4: 0.5}, "
                         "currency: EUR}\n");
        focus_csv(&book, models, &scenario, &text);
        check_has(text.bytes, "BilledCost,BillingAccountId,");
        check_has(text.bytes, "\n1,pool,two days,EUR,2025-02-01T00:00:00Z,2025-01-01T00:00:00Z,,,"
                              "Usage,,\"T4: held, use not measured\",Usage-Based,"
                              "2025-02-01T00:00:00Z,2025-01-31T00:00:00Z,2,Device-Hours,1,1,");
        check_has(text.bytes, ",EUR,2025-03-01T00:00:00Z,2025-02-01T00:00:00Z,");
        for (const char *line = strchr(text.bytes, '\n') + 1; *line;
             line = strchr(line, '\n') + 1) {
                const char *last = line;
                for (const char *at = line; *at != '\n'; at++)
                        if (*at == ',')
                                last = at + 1;
                all += strtoull(last, NULL, 10);
        }
        assert_true(all == 43545600000000);
}

static void a_page_is_a_page(void **state)
{
        (void)state;
        unsigned lines = 0;
        size_t column = 0;

        must_replay(HEAD "pool: {nodes: 1, devices_per_node: 2, model: T4, prices: {T4: 0.5}, "
                         "currency: EUR}\nseeds: 1..2\n");
        ledger_report(&book, &scenario, &result, true, &text);
        check_has(text.bytes, "2 devices T4, 2025-01-31 to 2025-02-02 (2.0 days)");
        check_has(text.bytes, "means of 2 draws");
        check_has(text.bytes, "held by jobs");
        check_has(text.bytes, "48.00 EUR");
        for (const char *at = text.bytes; *at; at++) {
                column = *at == '\n' ? 0 : column + 1;
                lines += *at == '\n';
                assert_true(column <= 100);
        }
        assert_true(lines <= 60);
}

static void comparisons_keep_no_ledger(void **state)
{
        (void)state;
        must_replay(HEAD "pool: {nodes: 1, devices_per_node: 2, model: T4}\npolicies: [fifo]\n");
        assert_int_equal(book.runs_count, 0);
        ledger_report(&book, &scenario, &result, true, &text);
        assert_int_equal(text.size, 0);
}

/* Some go on without that memory (doc.c looks for equal keys in another way): the ledger is closed
 * and checked all the same. */
static void no_memory_is_an_error_or_made_up_for(void **state)
{
        static const char document[] = HEAD "pool: {nodes: 1, devices_per_node: 2, model: T4}\n";
        struct err err = {0};

        for (unsigned long n = 1;; n++) {
                book.wants_facts = true;
                mem_fail_at(n);
                int rc = replay(document, &err);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                assert_true(rc == 0 || (failed && rc == -ERR_NOMEM));
                assert_true(rc != 0 || book.runs_count == 1);
                forget(state);
                if (!failed)
                        break;
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
        const struct CMUnitTest tests[] = {
                TEST(hours_lie_on_their_days),
                TEST(a_bill_adds_up_to_the_capacity),
                TEST(a_page_is_a_page),
                TEST(comparisons_keep_no_ledger),
                TEST(no_memory_is_an_error_or_made_up_for),
        };
        return cmocka_run_group_tests(tests, open_folder, close_folder);
}
