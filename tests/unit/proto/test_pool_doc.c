#include "tests/unit/models.h"

#include <stdlib.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/calendar.h"
#include "engine/vocab.h"
#include "proto/hostlist.h"
#include "proto/kind.h"
#include "proto/pool_doc.h"
#include "proto/when.h"

static int decode(const char *text, struct vocab *vocab, struct pool_doc **ret_pool,
                  struct err *err)
{
        const struct doc_node *root = NULL;
        struct doc *doc;
        int rc = doc_read_yaml("p.yaml", text, strlen(text), &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = kind_need(doc, "Pool", &root, err)) == 0)
                rc = pool_doc_decode(root, models, vocab, ret_pool, err);
        doc_free(doc);
        return rc;
}

/* ---- lists of names ---- */

struct names {
        char text[4096];
        size_t length, count;
};

static int take(void *arg, const char *name, struct err *err)
{
        struct names *names = arg;
        size_t room = sizeof names->text - names->length;

        (void)err;
        names->length += (size_t)snprintf(names->text + names->length, room, "%s%s",
                                          names->count++ ? " " : "", name);
        return 0;
}

static void lists_of_names_are_written_out(void **state)
{
        (void)state;
        static const struct {
                const char *text, *names;
        } rows[] = {
                {"gpu-1", "gpu-1"},
                {"gpu-[01-04]", "gpu-01 gpu-02 gpu-03 gpu-04"},
                {"gpu-[8-11]", "gpu-8 gpu-9 gpu-10 gpu-11"},
                {"gpu-[098-101]", "gpu-098 gpu-099 gpu-100 gpu-101"},
                {"n[1,3-4,007]x", "n1x n3x n4x n007x"},
                {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
                {"a[1-2],b,c[3]", "a1 a2 b c3"},
                {"[0-1].example.org", "0.example.org 1.example.org"},
                {"a[1,3]b[1-2,9]", "a1b1 a1b2 a1b9 a3b1 a3b2 a3b9"},
                {"a[0]", "a0"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct names names = {0};
                struct err err = {0};
                if (hostlist_expand(rows[i].text, 100, take, &names, &err) < 0)
                        fail_msg("%s", err.text);
                assert_string_equal(names.text, rows[i].names);
        }
}

static void crooked_lists_of_names_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                int rc;
                const char *sentence;
        } rows[] = {
                {"", -ERR_INPUT, "has an empty name"},
                {"a,", -ERR_INPUT, "has an empty name"},
                {"a,,b", -ERR_INPUT, "has an empty name"},
                {"a b", -ERR_INPUT, "has a byte that no name may have"},
                {"a/b", -ERR_INPUT, "has a byte"},
                {"a]", -ERR_INPUT, "has a byte"},
                {"a[1-2", -ERR_INPUT, "brackets that do not end"},
                {"a[", -ERR_INPUT, "has no number"},
                {"a[]", -ERR_INPUT, "has no number"},
                {"a[1-]", -ERR_INPUT, "has no number"},
                {"a[1,]", -ERR_INPUT, "has no number"},
                {"a[x]", -ERR_INPUT, "has no number"},
                {"a[2-1]", -ERR_INPUT, "has a range that falls"},
                {"a[01-100]", -ERR_INPUT, "ends differ in digits"},
                {"a[1-02]", 0, ""},
                {"a[1-2[3]]", -ERR_INPUT, "brackets that do not end"},
                {"a[1234567890]", -ERR_INPUT, "more than 9 digits"},
                {"a[1]b[1]c[1]d[1]e[1]", -ERR_INPUT, "more than 4 brackets"},
                {"a[1-101]", -ERR_RANGE, "makes more than the 100 names that still fit"},
                {"a[1-999999999]", -ERR_RANGE, "makes more than the 100 names that still fit"},
                {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -ERR_RANGE,
                 "more than 63 bytes"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct names names = {0};
                struct err err = {0};
                assert_int_equal(hostlist_expand(rows[i].text, 100, take, &names, &err),
                                 rows[i].rc);
                check_has(err.text, rows[i].sentence);
        }
        struct names names = {0};
        assert_int_equal(hostlist_expand("a[1-100]", 100, take, &names, NULL), 0);
        assert_int_equal(names.count, 100);
}

/* ---- times ---- */

static void times_are_read_with_their_zone(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                int64_t ms;
                const char *back;
        } rows[] = {
                {"1970-01-01T00:00Z", 0, "1970-01-01T00:00Z"},
                {"2027-01-04T08:00Z", 1799049600000, "2027-01-04T08:00Z"},
                {"2024-02-29T23:59:30Z", 1709251170000, "2024-02-29T23:59:30Z"},
                {"2027-01-04T08:00+01:30", 1799044200000, "2027-01-04T06:30Z"},
                {"2026-12-31T23:00-01:00", 1798761600000, "2027-01-01T00:00Z"},
                {"9999-12-31T23:59:59Z", 253402300799000, "9999-12-31T23:59:59Z"},
        };
        static const struct {
                const char *text;
                const char *sentence;
        } bad[] = {
                {"2027-01-04", "no time with a zone"},
                {"2027-01-04T08:00", "no time with a zone"},
                {"2027-01-04 08:00Z", "no time with"},
                {"2027-1-04T08:00Z", "no time with"},
                {"2027-01-04T08:00ZZ", "no time with"},
                {"2027-01-04T08:00+1:00", "no time with"},
                {"2027-01-04T08:00+15:00", "no time with"},
                {"2027-13-04T08:00Z", "does not exist"},
                {"2027-00-04T08:00Z", "does not exist"},
                {"2026-02-29T08:00Z", "does not exist"},
                {"2100-02-29T08:00Z", "does not exist"},
                {"2027-01-04T24:00Z", "does not exist"},
                {"2027-01-04T08:60Z", "does not exist"},
                {"2027-01-04T08:00:60Z", "does not exist"},
                {"1969-12-31T23:59Z", "lies before 1970"},
                {"1970-01-01T00:00+00:01", "outside"},
                {"9999-12-31T23:59:59-00:01", "outside"},
                {"now", "no time with a zone"},
        };
        char buf[WHEN_TEXT_MAX];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int64_t ms = -1;
                if (when_parse(rows[i].text, &ms, &err) < 0)
                        fail_msg("%s", err.text);
                assert_true(ms == rows[i].ms);
                assert_string_equal(when_text(ms, buf), rows[i].back);
        }
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct err err = {0};
                int64_t ms = 7;
                assert_true(when_parse(bad[i].text, &ms, &err) < 0);
                assert_true(ms == 7);
                check_has(err.text, bad[i].sentence);
        }
}

static void a_time_ahead_is_one_or_a_span_from_now(void **state)
{
        (void)state;
        enum { HOURS_10 = 36000000 };
        const int64_t now_ms = CALENDAR_MS_MAX - HOURS_10;
        static const struct {
                const char *text;
                int rc;
                int64_t ms;
        } rows[] = {
                {"1s", 0, CALENDAR_MS_MAX - HOURS_10 + 1000},
                {"10h", 0, CALENDAR_MS_MAX},
                {"10.1h", -ERR_RANGE, 7},
                {"0s", -ERR_RANGE, 7},
                {"1000000000000000000000d", -ERR_RANGE, 7},
                {"1970-01-01T00:00:01Z", 0, 1000},
                {"+1s", 0, CALENDAR_MS_MAX - HOURS_10 + 1000},
                {"-1s", 0, CALENDAR_MS_MAX - HOURS_10 - 1000},
                {"1970-01-02", 0, CALENDAR_DAY_MS},
                {"2x", -ERR_INPUT, 7},
                {"", -ERR_INPUT, 7},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int64_t ms = 7;
                assert_int_equal(when_ahead(rows[i].text, now_ms, &ms, &err), rows[i].rc);
                assert_true(ms == rows[i].ms);
                assert_true((rows[i].rc == 0) == (err.text[0] == '\0'));
        }
}

static void a_time_is_told_as_people_tell_it(void **state)
{
        (void)state;
        const int64_t now_ms = 1799049600000;   /* 2027-01-04T08:00Z */
        static const struct {
                const char *text;
                bool is_relative;
                const char *back;       /* NULL: refused */
                const char *sentence;
        } rows[] = {
                {"now", true, "2027-01-04T08:00Z", ""},
                {"-1h", true, "2027-01-04T07:00Z", ""},
                {"-7d", true, "2026-12-28T08:00Z", ""},
                {"-0s", true, "2027-01-04T08:00Z", ""},
                {"-90s", true, "2027-01-04T07:58:30Z", ""},
                {"+30m", true, "2027-01-04T08:30Z", ""},
                {"2027-01-03", false, "2027-01-03T00:00Z", ""},
                {"2027-01-03 10:30", false, "2027-01-03T10:30Z", ""},
                {"2027-01-03T10:30", false, "2027-01-03T10:30Z", ""},
                {"2027-01-03T10:30:15.250+01:00", false, "2027-01-03T09:30:15Z", ""},
                {"1h", false, NULL, "write now, -1h, -7d (before now), 2027-01-04, or 2027-01-04T"},
                {"-1", true, NULL, "'-1' is no time: write now"},
                {"-", true, NULL, "is no time"},
                {"", false, NULL, "is no time"},
                {"Now", false, NULL, "is no time"},
                {"now-1h", false, NULL, "is no time"},
                {"--1h", true, NULL, "is no time"},
                {"-+1h", true, NULL, "is no time"},
                {"yesterday", false, NULL, "is no time"},
                {"-499735h", true, "1970-01-01T01:00Z", ""},
                {"-1799049600s", true, "1970-01-01T00:00Z", ""},
                {"-1799049601s", true, NULL, "is no span before now, from 1970 on"},
                {"+90000000h", true, NULL, "is no span from now, up to the year 9999"},
                {"2027-02-29", false, NULL, "does not exist in the calendar"},
        };
        char buf[WHEN_TEXT_MAX];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                int64_t ms = 7;
                int rc = when_told(rows[i].text, now_ms, &ms, &err);
                assert_int_equal(when_is_relative(rows[i].text), rows[i].is_relative);
                assert_true((rc == 0) == (rows[i].back != NULL));
                if (rows[i].back)
                        assert_string_equal(when_text(ms, buf), rows[i].back);
                else
                        assert_true(ms == 7);
                check_has(err.text, rows[i].sentence);
        }
}

static void days_and_dates_agree_for_eight_thousand_years(void **state)
{
        (void)state;
        struct calendar_date date = {1970, 1, 1};

        for (int64_t day = 0; date.year < 10000; day++) {
                assert_true(calendar_day(date) == day);
                struct calendar_date back = calendar_date(day);
                assert_true(back.year == date.year && back.month == date.month &&
                            back.day == date.day);
                if (date.day++ < calendar_month_days(date.year, date.month))
                        continue;
                date.day = 1;
                if (date.month++ < 12)
                        continue;
                date.month = 1;
                date.year++;
        }
}

static void periods_begin_and_end_with_the_calendar(void **state)
{
        (void)state;
        static const struct {
                enum period period;
                const char *now, *from, *until;
        } rows[] = {
                {PERIOD_DAY, "2027-01-04T23:59:59Z", "2027-01-04T00:00Z", "2027-01-05T00:00Z"},
                {PERIOD_WEEK, "2027-01-04T00:00Z", "2027-01-04T00:00Z", "2027-01-11T00:00Z"},
                {PERIOD_WEEK, "2027-01-03T12:00Z", "2026-12-28T00:00Z", "2027-01-04T00:00Z"},
                {PERIOD_MONTH, "2027-02-28T12:00Z", "2027-02-01T00:00Z", "2027-03-01T00:00Z"},
                {PERIOD_MONTH, "2027-12-31T12:00Z", "2027-12-01T00:00Z", "2028-01-01T00:00Z"},
                {PERIOD_QUARTER, "2027-05-01T00:00Z", "2027-04-01T00:00Z", "2027-07-01T00:00Z"},
                {PERIOD_QUARTER, "2027-12-01T00:00Z", "2027-10-01T00:00Z", "2028-01-01T00:00Z"},
                {PERIOD_YEAR, "2027-12-31T23:59Z", "2027-01-01T00:00Z", "2028-01-01T00:00Z"},
        };
        char buf[WHEN_TEXT_MAX];

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t now = 0, from, until;
                assert_int_equal(when_parse(rows[i].now, &now, NULL), 0);
                calendar_period(rows[i].period, now, &from, &until);
                assert_string_equal(when_text(from, buf), rows[i].from);
                assert_string_equal(when_text(until, buf), rows[i].until);
        }
}

/* ---- the document ---- */

static void the_pool_is_read(void **state)
{
        (void)state;
        struct vocab *vocab = vocab_new();
        struct pool_doc *pool = NULL;
        struct err err = {0};
        const char *text =
                "kind: Pool\nname: main\nplanes: {training: {}, serving: {frozen: true}}\nnodes:\n"
                "  - {name: 'gpu-[01-04]', plane: training, devices: {model: H100-80, count: 8},\n"
                "     cpu: 96, ram: 1024Gi, disk: 4Ti, network: 400Gb, rack: r1, block: b1,\n"
                "     fabric: nvswitch, nvlink: d1, labels: {driver: '570', zone: a}}\n"
                "  - {name: s1, plane: serving, fabric: nvlink, link_group: 2, drained: true,\n"
                "     devices: {model: A100-40, count: 4, unhealthy: [0, 3]}}\n"
                "  - {name: cpu1, cpu: 500m, ram: 4Gi, drained: true,\n"
                "     drain_by: 2027-01-04T08:00Z}\n"
                "maintenance:\n"
                "  - {name: firmware, plane: serving, from: 2027-01-05T08:00Z,\n"
                "     until: 2027-01-05T10:00Z, every: 7d, last: 2028-01-01T00:00Z}\n"
                "  - {name: power, from: 2027-02-01T00:00Z, until: 2027-02-02T00:00Z}\n"
                "  - {name: fan, node: gpu-03, from: 2027-03-01T00:00Z, until: 2027-03-01T01:00Z}\n"
                "prices: {H100-80: 2.40, T4: 0.000001}\ncurrency: EUR\n";

        assert_non_null(vocab);
        if (decode(text, vocab, &pool, &err) < 0)
                fail_msg("%s", err.text);
        unsigned h100 = (unsigned)model_find(models, "H100-80", NULL);
        unsigned a100 = (unsigned)model_find(models, "A100-40", NULL);
        const struct node_desc *gpu = &pool->nodes[1], *serve = &pool->nodes[4];

        assert_string_equal(pool->name, "main");
        assert_int_equal(pool->planes_count, 2);
        assert_true(pool->planes[1].frozen && !pool->planes[0].frozen);
        assert_int_equal(pool->nodes_count, 6);
        assert_string_equal(vocab_name_text(vocab, gpu->name), "gpu-02");
        assert_int_equal(pool->lines[1], 5);
        assert_int_equal(gpu->plane, pool->planes[0].word);
        assert_int_equal(gpu->model, h100);
        assert_int_equal(gpu->devices, 8);
        assert_int_equal(gpu->link_group, 8);
        assert_string_equal(vocab_text(vocab, gpu->nvlink), "d1");
        assert_string_equal(vocab_text(vocab, gpu->rack), "r1");
        assert_string_equal(vocab_text(vocab, gpu->block), "b1");
        assert_int_equal(gpu->cpu_milli, 96000);
        assert_int_equal(gpu->ram_mib, 1024 * 1024);
        assert_int_equal(gpu->disk_mib, 4 << 20);
        assert_int_equal(gpu->network_mbit, 400000);
        struct where where;
        assert_int_equal(vocab_where_parse(vocab, "driver", ">=550", &where, NULL), 0);
        int wheres = vocab_wheres(vocab, &where, 1, NULL);
        assert_true(vocab_meets(vocab, gpu->labels, (unsigned)wheres));
        assert_false(vocab_meets(vocab, serve->labels, (unsigned)wheres));

        assert_int_equal(serve->link_group, 2);
        assert_true(serve->drained);
        assert_int_equal(serve->broken, 9);
        assert_int_equal(serve->cpu_milli, CPU_MILLI_MAX);
        assert_int_equal(pool->nodes[5].devices, 0);
        assert_int_equal(pool->nodes[5].cpu_milli, 500);
        assert_int_equal(pool->nodes[5].drain_by_ms, 1799049600000);
        assert_int_equal(serve->drain_by_ms, 0);
        const struct maintenance_window *windows = pool->maintenance.windows;
        assert_int_equal(pool->maintenance.count, 3);
        assert_string_equal(windows[0].name, "firmware");
        assert_int_equal(windows[0].plane, pool->planes[1].word);
        assert_int_equal(windows[0].when.from_ms, 1799049600000 + CALENDAR_DAY_MS);
        assert_int_equal(windows[0].when.until_ms - windows[0].when.from_ms, 2 * 3600000);
        assert_int_equal(windows[0].when.every_ms, 7 * CALENDAR_DAY_MS);
        assert_true(windows[0].when.last_ms > windows[0].when.from_ms);
        assert_true(windows[1].plane == 0 && windows[1].node == 0 && windows[1].when.every_ms == 0);
        assert_int_equal(windows[2].node, pool->nodes[2].name);
        assert_int_equal(maintenance_check(&pool->maintenance, &err), 0);
        assert_int_equal(pool->devices[h100], 32);
        assert_int_equal(pool->devices[a100], 2);
        assert_int_equal(pool_doc_devices(pool), 34);
        assert_true(pool->price_micro[h100] == 2400000);
        assert_string_equal(pool->currency, "EUR");
        pool_doc_free(pool);
        vocab_free(vocab);
}

#define NODES  "kind: Pool\nnodes:\n  - "
#define WINDOW ", from: 2027-01-04T08:00Z, until: 2027-01-04T10:00Z"

static void bad_pools_are_refused_with_place_and_way_out(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"kind: Pool\n", "field 'nodes' is missing"},
                {"kind: Pool\nnodes: []\n", "has 0 entries"},
                {"kind: Pool\nnods: []\n", "did you mean 'nodes'"},
                {"kind: Policy\n", "is of kind Policy; write a document of kind Pool"},
                {"kind: Pool\nplanes: [a]\nnodes: [{name: a}]\n", "is a list; write a map"},
                {"kind: Pool\nplanes: {a: {frozn: true}}\nnodes: [{name: a}]\n",
                 "did you mean 'frozen'"},
                {NODES "{}\n", "field 'name' is missing"},
                {NODES "{name: 'a[2-1]'}\n",
                 "p.yaml:3: field 'nodes[0].name': 'a[2-1]' has a range "
                 "that falls"},
                {NODES "{name: 'a[1-100001]'}\n",
                 "makes more than the 100000 names that still fit"},
                {NODES "{name: a}\n  - {name: 'a'}\n",
                 "p.yaml:4: field 'nodes[1].name': node 'a' stands twice (first in line 3)"},
                {NODES "{name: 'a[1,1]'}\n", "node 'a1' stands twice"},
                {NODES "{name: a, plane: x}\n", "the pool has no planes"},
                {"kind: Pool\nplanes: {lab: {}}\nnodes: [{name: a, plane: lap}]\n",
                 "did you mean 'lab'"},
                {NODES "{name: a, devices: 8}\n", "is a single value; write a map"},
                {NODES "{name: a, devices: {count: 8}}\n", "field 'model' is missing"},
                {NODES "{name: a, devices: {model: H100-8, count: 8}}\n", "did you mean 'H100-80'"},
                {NODES "{name: a, devices: {model: T4}}\n", "field 'count' is missing"},
                {NODES "{name: a, devices: {model: T4, count: 0}}\n", "write 1 to 16"},
                {NODES "{name: a, devices: {model: T4, count: 17}}\n", "write 1 to 16"},
                {NODES "{name: a, devices: {model: T4, count: 2, unhealthy: [2]}}\n",
                 "write 0 to 1"},
                {NODES "{name: a, devices: {model: T4, count: 2, unhealthy: [1, 1]}}\n",
                 "device 1 stands twice"},
                {NODES "{name: a, cpu: 0}\n", "out of range"},
                {NODES "{name: a, ram: 4GB}\n", "'4GB' is not a size"},
                {NODES "{name: a, network: 400}\n", "'400'"},
                {NODES "{name: a, rack: ''}\n", "is empty"},
                {NODES "{name: a, fabric: infiniband}\n", "'infiniband' is not known here"},
                {NODES "{name: a, fabric: nvlink, devices: {model: T4, count: 2}}\n",
                 "add link_group: 2"},
                {NODES "{name: a, fabric: pcie, link_group: 2, devices: {model: T4, count: 2}}\n",
                 "'fabric: pcie' links no devices"},
                {NODES "{name: a, fabric: xgmi, link_group: 2, devices: {model: T4, count: 4}}\n",
                 "'fabric: xgmi' links all devices"},
                {NODES "{name: a, link_group: 4, devices: {model: T4, count: 2}}\n",
                 "4 devices are linked, but a node has 2"},
                {NODES "{name: a, labels: [x]}\n", "is a list; write a map"},
                {NODES "{name: a, labels: {x: }}\n", "has no value"},
                {NODES "{name: a, drained: yes}\n", "'yes' is neither true nor false"},
                {NODES "{name: a, drain_by: 2027-01-04T08:00Z}\n", "add drained: true"},
                {NODES "{name: a, drained: true, drain_by: 5m}\n", "no time with a zone"},
                {NODES "{name: a}\nmaintenance: {}\n", "is a map; write a list"},
                {NODES "{name: a}\nmaintenance: [{from: 2027-01-04T08:00Z}]\n",
                 "field 'name' is missing"},
                {NODES "{name: a}\nmaintenance: [{name: w, from: 2027-01-04T08:00Z}]\n",
                 "field 'until' is missing"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW ", plan: x}]\n",
                 "did you mean 'plane'"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW ", plane: x}]\n",
                 "the pool has no planes"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW ", node: b}]\n",
                 "'b' is no node of this pool"},
                {NODES "{name: a, plane: p}\nplanes: {p: {}}\nmaintenance: [{name: w" WINDOW
                       ", node: a, plane: p}]\n",
                 "stands beside a plane"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW "}, {name: w" WINDOW "}]\n",
                 "'w' stands twice"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW ", every: 1h}]\n",
                 "would begin anew before it ends"},
                {NODES "{name: a}\nmaintenance: [{name: w" WINDOW ", last: 2028-01-04T08:00Z}]\n",
                 "add every: 7d"},
                {NODES "{name: a}\nmaintenance: [{name: w, from: 2027-01-04T08:00Z, until: "
                       "2029-01-04T08:00Z}]\n",
                 "for good, write drained: true at the node"},
                {NODES "{name: a}\nprices: {T5: 1}\n", "did you mean 'T4'"},
                {NODES "{name: a}\nprices: {T4: -1}\n", "'-1'"},
                {NODES "{name: a}\nprices: {T4: }\n", "has no price"},
                {NODES "{name: a}\nprices: {T4: 1, t4: 1}\n", "is T4, which stands here already"},
                {NODES "{name: a}\ncurrency: eur\n", "no currency of three capitals"},
                {NODES "{name: a}\ncurrency: EURO\n", "write 1 to 3"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct vocab *vocab = vocab_new();
                struct pool_doc *pool = NULL;
                struct err err = {0};
                assert_non_null(vocab);
                if (decode(rows[i].text, vocab, &pool, &err) == 0)
                        fail_msg("row %zu was taken", i);
                assert_null(pool);
                check_has(err.text, "p.yaml:");
                check_has(err.text, rows[i].sentence);
                vocab_free(vocab);
        }
}

static void a_pool_holds_64_windows_and_no_more(void **state)
{
        (void)state;
        for (unsigned count = MAINTENANCE_MAX; count <= MAINTENANCE_MAX + 1; count++) {
                static char text[16384];
                struct vocab *vocab = vocab_new();
                struct pool_doc *pool = NULL;
                struct err err = {0};
                size_t at = (size_t)snprintf(text, sizeof text, NODES "{name: a}\nmaintenance:\n");
                for (unsigned w = 0; w < count; w++)
                        at += (size_t)snprintf(text + at, sizeof text - at,
                                               "  - {name: w%u" WINDOW "}\n", w);
                assert_non_null(vocab);
                int rc = decode(text, vocab, &pool, &err);
                assert_int_equal(rc == 0, count == MAINTENANCE_MAX);
                if (rc)
                        check_has(err.text, "has 65 entries");
                pool_doc_free(pool);
                vocab_free(vocab);
        }
}

static void a_pool_holds_a_hundred_thousand_nodes(void **state)
{
        (void)state;
        struct vocab *vocab = vocab_new();
        struct pool_doc *pool = NULL;
        struct err err = {0};

        assert_non_null(vocab);
        if (decode(NODES "{name: 'n[1-99999]'}\n  - {name: last}\n", vocab, &pool, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(pool->nodes_count, POOL_NODES_MAX);
        pool_doc_free(pool);
        vocab_free(vocab);
}

static void no_memory_is_an_error_at_every_step(void **state)
{
        (void)state;
        for (unsigned long n = 1;; n++) {
                struct vocab *vocab = vocab_new();
                struct pool_doc *pool = NULL;
                struct err err = {0};
                assert_non_null(vocab);
                mem_fail_at(n);
                int rc = decode(NODES "{name: 'n[1-70]', labels: {a: b}}\n", vocab, &pool, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                pool_doc_free(pool);
                vocab_free(vocab);
                if (!happened) {
                        assert_int_equal(rc, 0);
                        return;
                }
                assert_int_equal(rc, -ERR_NOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lists_of_names_are_written_out),
                cmocka_unit_test(crooked_lists_of_names_are_refused),
                cmocka_unit_test(times_are_read_with_their_zone),
                cmocka_unit_test(a_time_ahead_is_one_or_a_span_from_now),
                cmocka_unit_test(a_time_is_told_as_people_tell_it),
                cmocka_unit_test(days_and_dates_agree_for_eight_thousand_years),
                cmocka_unit_test(periods_begin_and_end_with_the_calendar),
                cmocka_unit_test(the_pool_is_read),
                cmocka_unit_test(bad_pools_are_refused_with_place_and_way_out),
                cmocka_unit_test(a_pool_holds_64_windows_and_no_more),
                cmocka_unit_test(a_pool_holds_a_hundred_thousand_nodes),
                cmocka_unit_test(no_memory_is_an_error_at_every_step),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
