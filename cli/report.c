#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/listing.h"
#include "cli/usage.h"
#include "cli/words.h"

#define BY_USUAL "tenant"

static const struct command_option options[] = {
        {"from", 0, "TIME", "from then on: " TALK_TIME "; the default is 30 days before the end"},
        {"until", 0, "TIME", "up to then; the default is now"},
        {"by", 0, "NAME,...", "a row for each: tenant (the default), class, model, day"},
        {"tenant", 't', "PATH", "of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "What was started and how long it had waited, what was refused and why, how work ended,\n"
        "what was stopped, what work was lost by it, and what came of reservations: by whole days\n"
        "(UTC; a span from now is widened to them), for as long as the pool keeps them (13\n"
        "months). `berth usage` is who used what; docs/review.md says what each figure counts.\n"
        "\n"
        "examples:\n"
        "  berth report\n"
        "  berth report --from 2027-01-01 --until 2027-02-01 --by tenant,class\n"
        "  berth report --from -7d\n"
        "  berth report --by day --json\n";

/* ---- waits ---- */

/* The bound in seconds below which `percent` of the waits lie; 0: there was none. */
static uint64_t bound_of(const json_t *row, unsigned percent)
{
        const json_t *bins = json_object_get(row, "waits_below");
        uint64_t all = 0, below = 0;
        const char *key;
        json_t *count;

        json_object_foreach((json_t *)(uintptr_t)bins, key, count)
                all += (uint64_t)json_integer_value(count);
        for (unsigned bit = 0; all > 0 && bit < 63; bit++) {
                char name[24];
                snprintf(name, sizeof name, "%" PRIu64, UINT64_C(1) << bit);
                below += (uint64_t)json_in_number(bins, name);
                if (below * 100 >= all * percent)
                        return UINT64_C(1) << bit;
        }
        return 0;
}

static void set_span(json_t *to, const char *key, double seconds, bool is_bound)
{
        char span[WORDS_MAX], text[WORDS_MAX + 8];

        snprintf(text, sizeof text, "%s%s", is_bound ? "< " : "", words_span(seconds, span));
        json_object_set_new(to, key, json_string(text));
}

static void set_waits(json_t *to, const json_t *row)
{
        int64_t starts = json_in_number(row, "starts");

        if (starts <= 0)
                return;
        set_span(to, "mean", (double)json_in_number(row, "wait_ms") / 1000 / (double)starts, false);
        set_span(to, "half", (double)bound_of(row, 50), true);
        set_span(to, "most", (double)bound_of(row, 95), true);
}

/* ---- the rest of a row ---- */

static int64_t sum_of(const json_t *row, const char *key)
{
        const char *name;
        json_t *count;
        int64_t sum = 0;

        json_object_foreach(json_object_get(row, key), name, count)
                sum += json_integer_value(count);
        return sum;
}

static double hours_of(const json_t *row, const char *key)
{
        const char *name;
        json_t *hours;
        double sum = 0;

        json_object_foreach(json_object_get(row, key), name, hours)
                sum += strtod(json_string_value(hours) ? json_string_value(hours) : "0", NULL);
        return sum;
}

static void set_hours(json_t *to, const char *key, double hours)
{
        char text[32];

        snprintf(text, sizeof text, "%.2f", hours);
        if (hours > 0)
                json_object_set_new(to, key, json_string(text));
}

static json_t *line_of(const json_t *row)
{
        static const char *const counts[] = {"refused", "ended", "stopped"};
        static const char *const names[] = {"tenant", "class", "model"};
        json_t *line = json_object();
        char day[JSON_IN_MAX];

        if (json_in_has(row, "day")) {
                json_in_clean(row, "day", day);
                day[strcspn(day, "T")] = '\0';
                json_object_set_new(line, "day", json_string(day));
        }
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
                if (json_in_has(row, names[n]))
                        json_object_set(line, names[n], json_object_get(row, names[n]));
        json_object_set_new(line, "starts", json_integer(json_in_number(row, "starts")));
        for (size_t c = 0; c < ARRAY_LEN(counts); c++)
                if (sum_of(row, counts[c]) > 0)
                        json_object_set_new(line, counts[c], json_integer(sum_of(row, counts[c])));
        set_waits(line, row);
        set_hours(line, "lost", hours_of(row, "lost"));
        set_hours(line, "caused", strtod(json_in_text(row, "caused_loss"), NULL));
        return line;
}

static int print_lines(const json_t *rows, const char *none, const struct talk *talk, FILE *file,
                       struct err *err)
{
        static const struct listing_column columns[] = {
                {"day", "day", LISTING_TEXT},         {"tenant", "tenant", LISTING_TEXT},
                {"class", "class", LISTING_TEXT},     {"model", "model", LISTING_TEXT},
                {"starts", "starts", LISTING_NUMBER}, {"mean", "mean wait", LISTING_NUMBER},
                {"half", "half", LISTING_NUMBER},     {"most", "95 %", LISTING_NUMBER},
                {"refused", "refused", LISTING_NUMBER}, {"ended", "ended", LISTING_NUMBER},
                {"stopped", "stopped", LISTING_NUMBER}, {"lost", "lost h", LISTING_NUMBER},
                {"caused", "cost others h", LISTING_NUMBER}, {0},
        };
        json_t *lines = json_array(), *row;
        size_t at;

        json_array_foreach((json_t *)(uintptr_t)rows, at, row)
                json_array_append_new(lines, line_of(row));
        int rc = listing_print(lines, columns, 2, none, &talk->screen, file, err);
        json_decref(lines);
        return rc;
}

/* ---- causes, of all rows together ---- */

struct cause {
        const char *key, *title;
        bool is_hours;
};

static void print_cause(const json_t *rows, const struct cause *cause, FILE *file)
{
        json_t *sums = json_object(), *row, *value;
        const char *name, *comma = "";
        size_t at;

        json_array_foreach((json_t *)(uintptr_t)rows, at, row)
                json_object_foreach(json_object_get(row, cause->key), name, value) {
                        double more = json_is_string(value) ? strtod(json_string_value(value), NULL)
                                                            : json_number_value(value);
                        double sum = json_number_value(json_object_get(sums, name)) + more;
                        json_object_set_new(sums, name, json_real(sum));
                }
        if (json_object_size(sums) > 0)
                fprintf(file, "%-14s ", cause->title);
        json_object_foreach(sums, name, value) {
                char shown[JSON_IN_MAX];
                json_t *text = json_pack("{s:s}", "name", name);
                json_in_clean(text, "name", shown);
                json_decref(text);
                fprintf(file, cause->is_hours ? "%s%s %.2f h" : "%s%s %.0f", comma, shown,
                        json_number_value(value));
                comma = ", ";
        }
        if (json_object_size(sums) > 0)
                fputc('\n', file);
        json_decref(sums);
}

int report_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct cause causes[] = {
                {"refused", "refused", false},   {"ended", "ended", false},
                {"stopped", "stopped", false},   {"lost", "work lost", true},
                {"reserved", "reservations", true},
        };
        const json_t *rows = json_object_get(answer, "rows");
        char from[JSON_IN_MAX], until[JSON_IN_MAX];

        fprintf(file, "%.10s to %.10s", json_in_clean(answer, "from", from),
                json_in_clean(answer, "until", until));
        usage_put_counted(answer, file);
        fputs("; amounts are device-hours\n", file);
        const char *none = json_in_has(answer, "counted_until")
                                   ? "nothing happened in that time"
                                   : "nothing is counted yet: ask again in some seconds";
        int rc = print_lines(rows, none, talk, file, err);
        if (rc == 0 && json_array_size(rows) > 0)
                fputc('\n', file);
        for (size_t c = 0; rc == 0 && c < ARRAY_LEN(causes); c++)
                print_cause(rows, &causes[c], file);
        return rc;
}

static int run(const struct command_call *call)
{
        struct text path = {0};
        const char *by = command_value(call, "by");

        text_add(&path, "/v1/review");
        talk_path_option(&path, call, "from");
        talk_path_option(&path, call, "until");
        talk_path_option(&path, call, "tenant");
        talk_path_query(&path, "by", by ? by : BY_USUAL);
        return talk_show(call, &path, report_print);
}

const struct command report_command = {
        .name = "report",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "what happened: waits, refusals, stops, losses, reservations",
        .details = details,
        .options = options,
        .run = run,
};
