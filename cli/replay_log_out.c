#include "cli/replay_log_out.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "cli/grid.h"
#include "cli/json_out.h"
#include "cli/words.h"
#include "sim/log_replay.h"
#include "sim/log_runs.h"
#include "sim/log_what_if.h"

#define TIME_MAX      40
#define ROWS_OF_BLOCK 100               /* tenants of one grid; below GRID_ROWS_MAX */
#define JOBS_SHOWN    20                /* that changed; all of them stand in the JSON */

static const char *time_text(int64_t at_ms, char buf[TIME_MAX])
{
        time_t seconds = (time_t)(at_ms / 1000);
        struct tm parts;

        if (!gmtime_r(&seconds, &parts))
                return "?";
        size_t length = strftime(buf, TIME_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
        (void)snprintf(buf + length, TIME_MAX - length, ".%03dZ", (int)(at_ms % 1000));
        return buf;
}

static json_t *time_json(int64_t at_ms)
{
        char buf[TIME_MAX];

        return at_ms == LOG_NEVER || at_ms == 0 ? json_null() : json_string(time_text(at_ms, buf));
}

static void print_span(uint64_t from_seq, uint64_t last_seq, int64_t from_ms, int64_t until_ms,
                       FILE *file)
{
        char a[TIME_MAX], b[TIME_MAX];

        if (from_ms == 0)
                fputs("an empty log\n", file);
        else if (from_seq > 0)
                fprintf(file, "records %" PRIu64 " to %" PRIu64 " (%s to %s), from the snapshot at "
                        "record %" PRIu64 " on\n",
                        from_seq + 1, last_seq, time_text(from_ms, a), time_text(until_ms, b),
                        from_seq);
        else
                fprintf(file, "records 1 to %" PRIu64 " (%s to %s)\n", last_seq,
                        time_text(from_ms, a), time_text(until_ms, b));
}

/* ---- the check ---- */

static void print_difference(const struct log_replay_result *result, FILE *file)
{
        const struct log_difference *it = &result->difference;
        char at[TIME_MAX];

        fprintf(file, "DIFFERENT at record %" PRIu64 " (%s)", it->seq, time_text(it->at_ms, at));
        if (it->fact)
                fprintf(file, ", fact %" PRIu32, it->fact);
        fprintf(file, "; %" PRIu64 " facts before it are the same\n", result->facts);
        if (it->input)
                fprintf(file, "  input:   %s\n", it->input);
        fprintf(file, "  logged:  %s\n", it->logged[0] ? it->logged : "(no fact)");
        fprintf(file, "  decided: %s\n", it->decided[0] ? it->decided : "(no fact)");
}

void log_check_print(const struct log_replay_result *result, const char *log, bool is_whole,
                     FILE *file)
{
        fprintf(file, "%s: ", log);
        print_span(result->from_seq, result->last_seq, result->from_ms, result->until_ms, file);
        if (result->difference.seq) {
                print_difference(result, file);
                return;
        }
        if (!is_whole)
                fputs("STOPPED; so far:\n", file);
        fprintf(file, "%" PRIu64 " inputs decided again: the same %" PRIu64 " facts, hash %016"
                PRIx64 "\n", result->inputs, result->facts, result->state_hash);
        if (result->snapshots)
                fprintf(file, "the state is that of %" PRIu32 " snapshot%s on the way\n",
                        result->snapshots, result->snapshots == 1 ? "" : "s");
}

static json_t *difference_json(const struct log_difference *it)
{
        if (it->seq == 0)
                return json_null();
        return json_pack("{s:I, s:o, s:o, s:s?, s:s, s:s}", "record", (json_int_t)it->seq, "at",
                         time_json(it->at_ms), "fact",
                         it->fact ? json_integer(it->fact) : json_null(), "input", it->input,
                         "logged", it->logged, "decided", it->decided);
}

int log_check_json(const struct log_replay_result *result, bool is_whole, char **ret_text,
                   size_t *ret_size, struct err *err)
{
        char hash[32];

        (void)snprintf(hash, sizeof hash, "%016" PRIx64, result->state_hash);
        json_t *root = json_pack(
                "{s:b, s:b, s:I, s:I, s:o, s:o, s:I, s:I, s:I, s:s, s:o}", "same",
                is_whole && result->difference.seq == 0, "stopped", !is_whole, "from_record",
                (json_int_t)result->from_seq, "until_record", (json_int_t)result->last_seq, "from",
                time_json(result->from_ms), "until", time_json(result->until_ms), "inputs",
                (json_int_t)result->inputs, "facts", (json_int_t)result->facts, "snapshots",
                (json_int_t)result->snapshots, "hash", hash, "difference",
                difference_json(&result->difference));
        return json_out_text(root, ret_text, ret_size, err);
}

/* ---- another policy ---- */

/* One number where both are told alike. */
static void pair_cell(struct grid *grid, double before, double after, int digits)
{
        char a[32], b[32];

        (void)snprintf(a, sizeof a, "%.*f", before == 0 ? 0 : digits, before);
        (void)snprintf(b, sizeof b, "%.*f", after == 0 ? 0 : digits, after);
        if (strcmp(a, b) == 0)
                grid_cell(grid, "%s", a);
        else
                grid_cell(grid, "%s -> %s", a, b);
}

static void change_row(struct grid *grid, const struct log_change *it)
{
        grid_row(grid);
        grid_cell(grid, "%s", it->tenant);
        grid_cell(grid, "%" PRIu32, it->jobs);
        grid_cell(grid, "%" PRIu32, it->earlier);
        grid_cell(grid, "%" PRIu32, it->later);
        pair_cell(grid, it->before.wait_mean_s, it->after.wait_mean_s, 1);
        pair_cell(grid, it->before.wait_p95_s, it->after.wait_p95_s, 1);
        pair_cell(grid, it->before.waiting, it->after.waiting, 0);
        pair_cell(grid, it->before.refused, it->after.refused, 0);
        pair_cell(grid, it->before.stops, it->after.stops, 0);
        pair_cell(grid, it->before.lost_device_hours, it->after.lost_device_hours, 2);
}

static int print_block(const struct log_what_if *what_if, uint32_t from, uint32_t until,
                       size_t width, FILE *file, struct err *err)
{
        static const char *const titles[] = {"jobs",          "earlier",    "later",
                                             "mean wait s",   "p95 wait s", "never started",
                                             "refused",       "stops",      "lost device-h"};
        struct grid *grid = grid_new(1);

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "tenant", false);
        for (size_t t = 0; t < sizeof titles / sizeof titles[0]; t++)
                grid_column(grid, titles[t], true);
        for (uint32_t t = from; t < until; t++)
                change_row(grid, &what_if->tenants[t]);
        if (until == what_if->tenants_count)
                change_row(grid, &what_if->all);
        return grid_finish(grid, NULL, width, file, err);
}

static void print_sum(const struct log_what_if *what_if, FILE *file)
{
        const struct log_change *all = &what_if->all;
        uint32_t same = all->jobs - all->earlier - all->later;
        char a[WORDS_MAX], b[WORDS_MAX];

        fprintf(file, "\nOf %" PRIu32 " jobs %" PRIu32 " start earlier, %" PRIu32 " later, %" PRIu32
                " as before; the mean wait is %s", all->jobs, all->earlier, all->later, same,
                words_span(all->after.wait_mean_s, a));
        if (strcmp(a, words_span(all->before.wait_mean_s, b)) == 0)
                fputs(", as before.\n", file);
        else
                fprintf(file, " instead of %s.\n", b);
}

static const char *start_text(int64_t started_ms, bool is_refused, char buf[TIME_MAX])
{
        if (is_refused)
                return "refused";
        return started_ms == LOG_NEVER || started_ms == 0 ? "never started"
                                                          : time_text(started_ms, buf);
}

/* The decisions that change: job by job, as far as one reads. */
static int print_jobs(const struct log_what_if *what_if, size_t width, FILE *file,
                      struct err *err)
{
        static const char *const titles[] = {"workload", "submitted", "before", "after"};
        uint32_t shown = what_if->jobs_count < JOBS_SHOWN ? what_if->jobs_count : JOBS_SHOWN;
        char submitted[TIME_MAX], before[TIME_MAX], after[TIME_MAX];
        struct grid *grid;

        if (shown == 0)
                return 0;
        if (!(grid = grid_new(1)))
                return grid_no_memory(err);
        for (size_t t = 0; t < sizeof titles / sizeof titles[0]; t++)
                grid_column(grid, titles[t], t == 0);
        grid_column(grid, "tenant", false);
        for (uint32_t j = 0; j < shown; j++) {
                const struct log_job_change *it = &what_if->jobs[j];
                grid_row(grid);
                grid_cell(grid, "%" PRIu64, it->workload);
                grid_cell(grid, "%s", time_text(it->submit_ms, submitted));
                grid_cell(grid, "%s", start_text(it->before_ms, it->was_refused, before));
                grid_cell(grid, "%s", start_text(it->after_ms, it->is_refused, after));
                grid_cell(grid, "%s", what_if->tenants[it->tenant].tenant);
        }
        fputs("\nstarts that change:\n", file);
        int rc = grid_finish(grid, NULL, width, file, err);
        if (what_if->jobs_count > shown)
                fprintf(file, "... and %" PRIu32 " more: --json lists them all\n",
                        what_if->jobs_count - shown);
        return rc;
}

static void print_notes(const struct log_what_if *what_if, FILE *file)
{
        const struct history_gap *gap = &what_if->gap;

        if (what_if->policies_left_out)
                fprintf(file, "%" PRIu32 " later change%s of policy in the log %s left out.\n",
                        what_if->policies_left_out, what_if->policies_left_out == 1 ? "" : "s",
                        what_if->policies_left_out == 1 ? "is" : "are");
        if (gap->tenants)
                fprintf(file, "The policy does not name %" PRIu32 " tenant%s of the log ('%s'%s): "
                        "there without promise or limit.\n", gap->tenants,
                        gap->tenants == 1 ? "" : "s", gap->tenant,
                        gap->tenants == 1 ? "" : " ...");
        if (gap->classes)
                fprintf(file, "It does not name %" PRIu32 " class%s of the log ('%s'%s): their "
                        "work is of its default class.\n", gap->classes,
                        gap->classes == 1 ? "" : "es", gap->class,
                        gap->classes == 1 ? "" : " ...");
        if (what_if->never_ended)
                fprintf(file, "%" PRIu32 " job%s had not ended when the log did: each is taken to "
                        "run as long as its tenant's middle one.\n",
                        what_if->never_ended, what_if->never_ended == 1 ? "" : "s");
        if (what_if->inputs_left_out)
                fprintf(file, "%" PRIu32 " input%s of the log cannot be meant under it.\n",
                        what_if->inputs_left_out, what_if->inputs_left_out == 1 ? "" : "s");
}

int log_what_if_print(const struct log_what_if *what_if, const char *policy, size_t width,
                      FILE *file, struct err *err)
{
        uint32_t tenants = what_if->tenants_count;
        int rc = 0;

        print_span(what_if->from_seq, what_if->last_seq, what_if->from_ms, what_if->until_ms,
                   file);
        fprintf(file, "before -> after: as recorded -> %s\n\n", policy);
        for (uint32_t t = 0; rc == 0 && t < tenants; t += ROWS_OF_BLOCK)
                rc = print_block(what_if, t,
                                 tenants - t > ROWS_OF_BLOCK ? t + ROWS_OF_BLOCK : tenants, width,
                                 file, err);
        if (rc)
                return rc;
        print_sum(what_if, file);
        print_notes(what_if, file);
        return print_jobs(what_if, width, file, err);
}

static json_t *side_json(const struct log_side *side)
{
        return json_pack("{s:i, s:i, s:i, s:i, s:{s:o, s:o}, s:o}", "started", (int)side->started,
                         "never_started", (int)side->waiting, "refused", (int)side->refused,
                         "stops", (int)side->stops, "wait_s", "mean",
                         json_out_number(side->wait_mean_s), "p95",
                         json_out_number(side->wait_p95_s), "lost_device_hours",
                         json_out_number(side->lost_device_hours));
}

static json_t *change_json(const struct log_change *it)
{
        return json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "tenant", it->tenant, "jobs",
                         (int)it->jobs, "earlier", (int)it->earlier, "later", (int)it->later,
                         "before", side_json(&it->before), "after", side_json(&it->after));
}

static json_t *job_json(const struct log_what_if *what_if, const struct log_job_change *it)
{
        return json_pack("{s:I, s:s, s:o, s:{s:o, s:b}, s:{s:o, s:b}}", "workload",
                         (json_int_t)it->workload, "tenant", what_if->tenants[it->tenant].tenant,
                         "submitted", time_json(it->submit_ms), "before", "started",
                         time_json(it->before_ms), "refused", it->was_refused, "after", "started",
                         time_json(it->after_ms), "refused", it->is_refused);
}

int log_what_if_json(const struct log_what_if *what_if, char **ret_text, size_t *ret_size,
                     struct err *err)
{
        json_t *tenants = json_array(), *jobs = json_array();
        json_t *root;

        for (uint32_t t = 0; t < what_if->tenants_count; t++)
                if (json_array_append_new(tenants, change_json(&what_if->tenants[t])) < 0)
                        tenants = (json_decref(tenants), NULL);
        for (uint32_t j = 0; j < what_if->jobs_count; j++)
                if (json_array_append_new(jobs, job_json(what_if, &what_if->jobs[j])) < 0)
                        jobs = (json_decref(jobs), NULL);
        root = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "from_record",
                         (json_int_t)what_if->from_seq, "until_record",
                         (json_int_t)what_if->last_seq, "from", time_json(what_if->from_ms),
                         "until", time_json(what_if->until_ms), "tenants", tenants, "all",
                         change_json(&what_if->all), "changed", jobs, "policies_left_out",
                         (int)what_if->policies_left_out, "never_ended",
                         (int)what_if->never_ended, "inputs_left_out",
                         (int)what_if->inputs_left_out);
        return json_out_text(root, ret_text, ret_size, err);
}
