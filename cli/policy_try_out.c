/* What `berth policy try` prints: before and after, side by side. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/grid.h"
#include "cli/json_out.h"
#include "cli/policy_try.h"
#include "proto/scenario.h"
#include "sim/history.h"

#define ROWS_OF_BLOCK 100               /* tenants of one grid; below GRID_ROWS_MAX */
#define SPAN_TEXT     32

struct printer {
        const struct scenario *scenario;
        const struct history_figures *before, *after;
        size_t width;
        FILE *file;
};

/* ---- the table ---- */

/* "0" and not "-0" or "0.0"; one number where both are told alike. */
static void pair_cell(struct grid *grid, double before, double after, int digits)
{
        char a[32], b[32];

        snprintf(a, sizeof a, "%.*f", before == 0 ? 0 : digits, before);
        snprintf(b, sizeof b, "%.*f", after == 0 ? 0 : digits, after);
        if (strcmp(a, b) == 0)
                grid_cell(grid, "%s", a);
        else
                grid_cell(grid, "%s -> %s", a, b);
}

static void promises_cell(const struct printer *printer, struct grid *grid, double before,
                          double after)
{
        if (printer->before->has_promises)
                pair_cell(grid, before, after, 0);
        else
                grid_cell(grid, "%.0f", after);
}

static void tenant_row(const struct printer *printer, struct grid *grid, uint32_t number)
{
        const struct history_tenant *before = &printer->before->tenants[number];
        const struct history_tenant *after = &printer->after->tenants[number];

        grid_row(grid);
        grid_cell(grid, "%s", after->name);
        pair_cell(grid, before->jobs, after->jobs, 0);
        pair_cell(grid, before->wait_mean_s, after->wait_mean_s, 0);
        pair_cell(grid, before->wait_p95_s, after->wait_p95_s, 0);
        pair_cell(grid, before->stops, after->stops, 0);
        pair_cell(grid, before->lost_device_hours, after->lost_device_hours, 1);
        promises_cell(printer, grid, before->promises_broken, after->promises_broken);
}

static void all_row(const struct printer *printer, struct grid *grid)
{
        const struct history_figures *before = printer->before, *after = printer->after;

        grid_row(grid);
        grid_cell(grid, "all");
        pair_cell(grid, before->jobs, after->jobs, 0);
        pair_cell(grid, before->wait_mean_s, after->wait_mean_s, 0);
        pair_cell(grid, before->wait_p95_s, after->wait_p95_s, 0);
        pair_cell(grid, before->preemptions, after->preemptions, 0);
        pair_cell(grid, before->lost_device_hours, after->lost_device_hours, 1);
        promises_cell(printer, grid, before->promises_broken, after->promises_broken);
}

static int print_block(const struct printer *printer, uint32_t from, uint32_t until,
                       struct err *err)
{
        static const char *const titles[] = {"jobs",  "mean wait s",   "p95 wait s",
                                             "stops", "lost device-h", "promises broken"};
        struct grid *grid = grid_new(1);

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "tenant", false);
        for (size_t t = 0; t < ARRAY_LEN(titles); t++)
                grid_column(grid, titles[t], true);
        for (uint32_t t = from; t < until; t++)
                tenant_row(printer, grid, t);
        if (until == printer->after->tenants_count)
                all_row(printer, grid);
        return grid_finish(grid, NULL, printer->width, printer->file, err);
}

/* ---- in words ---- */

static const char *span_text(double seconds, char buf[SPAN_TEXT])
{
        if (seconds < 120)
                snprintf(buf, SPAN_TEXT, "%.0f s", seconds);
        else if (seconds < 7200)
                snprintf(buf, SPAN_TEXT, "%.0f min", seconds / 60);
        else if (seconds < 172800)
                snprintf(buf, SPAN_TEXT, "%.1f h", seconds / 3600);
        else
                snprintf(buf, SPAN_TEXT, "%.1f days", seconds / 86400);
        return buf;
}

/* "12 min instead of 2.1 h (90 % less)" */
static void say_wait(FILE *file, double before, double after)
{
        char a[SPAN_TEXT], b[SPAN_TEXT];

        fprintf(file, "%s", span_text(after, a));
        if (fabs(before - after) < 0.5) {
                fprintf(file, ", as before");
                return;
        }
        fprintf(file, " instead of %s", span_text(before, b));
        if (after < before)
                fprintf(file, " (%.0f %% less)", 100 * (before - after) / before);
        else if (before >= 1)
                fprintf(file, " (%.0f %% more)", 100 * (after - before) / before);
}

/* How many tenants wait less or more, and who is worst off. */
static void say_tenants(const struct printer *printer)
{
        uint32_t less = 0, more = 0, worst = 0;
        double most = 0;

        for (uint32_t t = 0; t < printer->after->tenants_count; t++) {
                double by = printer->after->tenants[t].wait_mean_s -
                            printer->before->tenants[t].wait_mean_s;
                less += by <= -1;
                more += by >= 1;
                if (by > most) {
                        most = by;
                        worst = t;
                }
        }
        fprintf(printer->file, "Of %" PRIu32 " tenants, %" PRIu32 " wait less and %" PRIu32 " more",
                printer->after->tenants_count, less, more);
        if (more > 0) {
                fprintf(printer->file, "; worst off is %s: ", printer->after->tenants[worst].name);
                say_wait(printer->file, printer->before->tenants[worst].wait_mean_s,
                         printer->after->tenants[worst].wait_mean_s);
        }
        fputs(".\n", printer->file);
}

static void say_costs(const struct printer *printer)
{
        const struct history_figures *before = printer->before, *after = printer->after;

        fprintf(printer->file,
                "Work is stopped %.0f times instead of %.0f, which loses %.1f device-hours instead "
                "of %.1f.\n",
                after->preemptions, before->preemptions, after->lost_device_hours,
                before->lost_device_hours);
        if (after->promises_made > 0)
                fprintf(printer->file, "Of %.0f promised devices %.0f come late",
                        after->promises_made, after->promises_broken);
        else if (before->promises_made > 0)
                fprintf(printer->file, "No promise falls due");
        else
                return;
        if (before->promises_made > 0)
                fprintf(printer->file, "; before, of %.0f %.0f.\n", before->promises_made,
                        before->promises_broken);
        else
                fputs("; before, none was promised.\n", printer->file);
}

int policy_try_print(const struct scenario *scenario, const struct history_result *result,
                     size_t width, bool is_whole, FILE *file, struct err *err)
{
        struct printer printer = {.scenario = scenario,
                                  .before = &result->rows[0].figures,
                                  .after = &result->rows[1].figures,
                                  .width = width,
                                  .file = file};
        uint32_t tenants = printer.after->tenants_count;
        int rc = 0;

        fprintf(file,
                "%s: %zu jobs of %zu tenants, %" PRIu64 " seed%s\n"
                "before -> after: %s -> %s\n\n",
                scenario->name, result->jobs_count, result->tenants_count,
                scenario->seed_last - scenario->seed_first + 1,
                scenario->seed_last > scenario->seed_first ? "s (means)" : "",
                scenario->policies[0].name, scenario->policies[1].name);
        if (!is_whole)
                fprintf(file, "STOPPED: of %s only %" PRIu32 " of %" PRIu64 " seeds\n\n",
                        scenario->policies[1].name, result->rows[1].seeds,
                        scenario->seed_last - scenario->seed_first + 1);
        for (uint32_t t = 0; rc == 0 && t < tenants; t += ROWS_OF_BLOCK)
                rc = print_block(&printer, t,
                                 tenants - t > ROWS_OF_BLOCK ? t + ROWS_OF_BLOCK : tenants, err);
        if (rc < 0)
                return rc;
        fprintf(file, "\nUnder %s the mean wait of a job is ", scenario->policies[1].name);
        say_wait(file, printer.before->wait_mean_s, printer.after->wait_mean_s);
        fputs(".\n", file);
        say_tenants(&printer);
        say_costs(&printer);
        return 0;
}

/* ---- JSON ---- */

static json_t *side(double jobs, double mean_s, double p95_s, double stops, double lost,
                    double broken, bool has_promises)
{
        return json_pack("{s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "jobs", json_out_number(jobs),
                         "wait_s", "mean", json_out_number(mean_s), "p95", json_out_number(p95_s),
                         "stops", json_out_number(stops), "lost_device_hours",
                         json_out_number(lost), "promises_broken",
                         has_promises ? json_out_number(broken) : json_null());
}

static json_t *side_of_tenant(const struct history_figures *figures, uint32_t number)
{
        const struct history_tenant *it = &figures->tenants[number];

        return side(it->jobs, it->wait_mean_s, it->wait_p95_s, it->stops, it->lost_device_hours,
                    it->promises_broken, figures->has_promises);
}

static json_t *side_of_all(const struct history_figures *figures)
{
        return side(figures->jobs, figures->wait_mean_s, figures->wait_p95_s, figures->preemptions,
                    figures->lost_device_hours, figures->promises_broken, figures->has_promises);
}

static json_t *tenants(const struct history_figures *before, const struct history_figures *after)
{
        json_t *list = json_array();

        for (uint32_t t = 0; list && t < after->tenants_count; t++) {
                json_t *entry = json_pack("{s:s, s:o, s:o}", "tenant", after->tenants[t].name,
                                          "before", side_of_tenant(before, t), "after",
                                          side_of_tenant(after, t));
                if (json_array_append_new(list, entry) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

int policy_try_json(const struct scenario *scenario, const struct history_result *result,
                    bool is_whole, char **ret_text, size_t *ret_size, struct err *err)
{
        const struct history_figures *before = &result->rows[0].figures;
        const struct history_figures *after = &result->rows[1].figures;
        json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:o, s:{s:o, s:o}}", "history",
                                 scenario->name, "before", scenario->policies[0].name, "after",
                                 scenario->policies[1].name, "seeds",
                                 (json_int_t)(scenario->seed_last - scenario->seed_first + 1),
                                 "tenants", tenants(before, after), "all", "before",
                                 side_of_all(before), "after", side_of_all(after));
        if (root && !is_whole && json_object_set_new(root, "stopped", json_true()) < 0) {
                json_decref(root);
                root = NULL;
        }
        return json_out_text(root, ret_text, ret_size, err);
}
