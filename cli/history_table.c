#include <inttypes.h>

#include "cli/grid.h"
#include "cli/history_out.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/history.h"

struct printer {
        const struct scenario *scenario;
        const struct history_result *result;
        size_t width;
        FILE *file;
};

const char *history_placement_text(const struct history_row *row, char *buf)
{
        if (!row->consolidates)
                return placement_text(&row->placement, buf);
        snprintf(buf, PLACEMENT_TEXT_MAX, "consolidate");
        return buf;
}

static struct grid *new_grid(void)
{
        struct grid *grid = grid_new(2);

        if (!grid)
                return NULL;
        grid_column(grid, "policy", false);
        grid_column(grid, "placement", false);
        return grid;
}

static void start_row(const struct printer *printer, struct grid *grid,
                      const struct history_row *row)
{
        char text[PLACEMENT_TEXT_MAX];

        grid_row(grid);
        grid_cell(grid, "%s", printer->scenario->policies[row->policy].name);
        grid_cell(grid, "%s", history_placement_text(row, text));
}

/* ---- what was run ---- */

static const char *durations_text(const struct scenario *scenario)
{
        switch (scenario->durations) {
        case DURATIONS_LEARNED:
                return "learned from jobs that ended";
        case DURATIONS_LIMIT:
                return "taken for the limits";
        case DURATIONS_ORACLE:
                return "known beforehand";
        case DURATIONS_END:
                break;
        }
        return "";
}

/* What stands in the history and takes no part. */
static void print_left_out(const struct printer *printer)
{
        const struct history_result *result = printer->result;
        const struct {
                uint32_t count;
                const char *why;
        } rows[] = {
                {result->left_never_ran, "never ran"},
                {result->left_still_running, "still ran"},
                {result->left_out_of_window, "outside from and until"},
                {result->left_small_tenant, "of tenants with too few jobs"},
        };
        const char *before = "left out: ";

        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                if (rows[r].count == 0)
                        continue;
                fprintf(printer->file, "%s%" PRIu32 " %s", before, rows[r].count, rows[r].why);
                before = ", ";
        }
        if (before[0] == ',')
                fputc('\n', printer->file);
}

static void print_head(const struct printer *printer, bool is_whole)
{
        const struct scenario *scenario = printer->scenario;
        const struct scenario_pool *pool = &scenario->pool;
        uint64_t seeds = scenario->seed_last - scenario->seed_first + 1;
        FILE *file = printer->file;

        fprintf(file, "%s\n", scenario->name);
        fprintf(file, "%zu jobs of %zu tenants on %" PRIu64 " devices (%u nodes of %u)\n",
                printer->result->jobs_count, printer->result->tenants_count,
                (uint64_t)pool->nodes * pool->devices_per_node, pool->nodes,
                pool->devices_per_node);
        print_left_out(printer);
        fprintf(file, "durations %s (fifo and shortest know them); ", durations_text(scenario));
        if (seeds == 1)
                fprintf(file, "seed %" PRIu64 "\n", scenario->seed_first);
        else
                fprintf(file,
                        "%" PRIu64 " seeds (%" PRIu64 "..%" PRIu64 "), means; max is of all\n",
                        seeds, scenario->seed_first, scenario->seed_last);
        if (is_whole)
                return;
        fprintf(file, "STOPPED: only what was finished by then stands below");
        uint32_t rows = printer->result->rows_count;
        if (rows > 0 && printer->result->rows[rows - 1].seeds < seeds)
                fprintf(file, "; the last row has %u of %" PRIu64 " seeds",
                        printer->result->rows[rows - 1].seeds, seeds);
        fputc('\n', file);
}

/* ---- the tables ---- */

static int print_waits(const struct printer *printer, struct err *err)
{
        static const char *const titles[] = {"jobs",  "refused", "wait s", "p50 s",   "p95 s",
                                             "p99 s", "max s",   "wide s", "short s", "jct s"};
        struct grid *grid = new_grid();
        bool has_refused = false;

        if (!grid)
                return grid_no_memory(err);
        for (size_t t = 0; t < sizeof titles / sizeof titles[0]; t++)
                grid_column(grid, titles[t], true);
        for (uint32_t r = 0; r < printer->result->rows_count; r++) {
                const struct history_figures *figures = &printer->result->rows[r].figures;
                const double seconds[] = {
                        figures->wait_mean_s,       figures->wait_p50_s, figures->wait_p95_s,
                        figures->wait_p99_s,        figures->wait_max_s, figures->wide_wait_mean_s,
                        figures->short_wait_mean_s, figures->jct_mean_s,
                };
                start_row(printer, grid, &printer->result->rows[r]);
                grid_cell(grid, "%.0f", figures->jobs);
                if (figures->refused > 0)
                        grid_cell(grid, "%.0f", figures->refused);
                else
                        grid_cell(grid, "%s", "");
                has_refused = has_refused || figures->refused > 0;
                for (size_t s = 0; s < sizeof seconds / sizeof seconds[0]; s++)
                        grid_cell(grid, "%.0f", seconds[s]);
        }
        int rc = grid_finish(grid, "waits in seconds, over all jobs", printer->width, printer->file,
                             err);
        fprintf(printer->file,
                "wait: end - submit - duration; jct: end - submit; wide: jobs of %d devices or "
                "more;\nshort: of less than %d s\n",
                HISTORY_WIDE, HISTORY_SHORT_MS / 1000);
        if (has_refused)
                fputs("refused: no state of the pool would fit them; they are in no other figure\n",
                      printer->file);
        return rc;
}

static int print_devices(const struct printer *printer, struct err *err)
{
        static const char *const titles[] = {"utilisation %", "stops",    "most of one job",
                                             "lost device-h", "promises", "broken"};
        struct grid *grid = new_grid();

        if (!grid)
                return grid_no_memory(err);
        for (size_t t = 0; t < sizeof titles / sizeof titles[0]; t++)
                grid_column(grid, titles[t], true);
        for (uint32_t r = 0; r < printer->result->rows_count; r++) {
                const struct history_figures *figures = &printer->result->rows[r].figures;
                start_row(printer, grid, &printer->result->rows[r]);
                grid_cell(grid, "%.2f", figures->utilisation_pct);
                grid_cell(grid, "%.0f", figures->preemptions);
                grid_cell(grid, "%u", figures->max_stops_of_one_job);
                grid_cell(grid, "%.1f", figures->lost_device_hours);
                if (!figures->has_promises)
                        continue;
                grid_cell(grid, "%.0f", figures->promises_made);
                grid_cell(grid, "%.0f", figures->promises_broken);
        }
        return grid_finish(grid, "devices: used, and lost by stopping work", printer->width,
                           printer->file, err);
}

static int print_gates(const struct printer *printer, struct err *err)
{
        struct grid *grid = new_grid();
        bool has_any = false;

        if (!grid)
                return grid_no_memory(err);
        for (unsigned g = 0; g < HISTORY_GATES; g++)
                grid_column(grid, history_gate_name(g), true);
        for (uint32_t r = 0; r < printer->result->rows_count; r++) {
                const struct history_figures *figures = &printer->result->rows[r].figures;
                if (!figures->has_gates)
                        continue;
                has_any = true;
                start_row(printer, grid, &printer->result->rows[r]);
                for (unsigned g = 0; g < HISTORY_GATES; g++) {
                        if (figures->waited_device_hours[g] > 0)
                                grid_cell(grid, "%.0f", figures->waited_device_hours[g]);
                        else
                                grid_cell(grid, "%s", "");
                }
        }
        if (has_any)
                return grid_finish(grid, "waited device-hours, by what held the jobs up",
                                   printer->width, printer->file, err);
        grid_free(grid);
        return 0;
}

static int print_eta(const struct printer *printer, struct err *err)
{
        struct grid *grid = new_grid();
        bool has_any = false;

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "estimated %", true);
        grid_column(grid, "within p90 %", true);
        grid_column(grid, "median relative error", true);
        for (uint32_t r = 0; r < printer->result->rows_count; r++) {
                const struct history_figures *figures = &printer->result->rows[r].figures;
                if (!figures->has_eta)
                        continue;
                has_any = true;
                start_row(printer, grid, &printer->result->rows[r]);
                grid_cell(grid, "%.1f", figures->eta_estimated_pct);
                grid_cell(grid, "%.1f", figures->eta_p90_coverage_pct);
                grid_cell(grid, "%.2f", figures->eta_median_relative_error);
        }
        if (has_any)
                return grid_finish(grid, "starts foretold to jobs that had to wait", printer->width,
                                   printer->file, err);
        grid_free(grid);
        return 0;
}

int history_table(const struct scenario *scenario, const struct history_result *result,
                  bool is_whole, size_t width, FILE *file, struct err *err)
{
        struct printer printer = {
                .scenario = scenario,
                .result = result,
                .width = width,
                .file = file,
        };
        int rc;

        print_head(&printer, is_whole);
        if (result->rows_count == 0)
                return 0;
        if ((rc = print_waits(&printer, err)) < 0 || (rc = print_devices(&printer, err)) < 0 ||
            (rc = print_gates(&printer, err)) < 0)
                return rc;
        return print_eta(&printer, err);
}
