#include <inttypes.h>
#include <langinfo.h>
#include <string.h>

#include "base/str.h"
#include "cli/grid.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/replay.h"

struct printer {
        const struct scenario *scenario;
        const struct replay_result *result;
        const char *plus_minus;
        bool has_methods;
        bool has_sd; /* several seeds */
        size_t width;
        FILE *file;
};

/* ---- cells ---- */

static void stat_cell(const struct printer *printer, struct grid *grid,
                      const struct replay_stat *stat, const char *format_mean)
{
        char mean[32];

        /* The formats are this file's own: "%.2f" and "%+.1f". */
        if (str_equal(format_mean, "%+.1f"))
                snprintf(mean, sizeof mean, "%+.1f", stat->mean);
        else
                snprintf(mean, sizeof mean, "%.2f", stat->mean);
        if (printer->has_sd)
                grid_cell(grid, "%s %s%.2f", mean, printer->plus_minus, stat->sd);
        else
                grid_cell(grid, "%s", mean);
}

static bool is_baseline(const struct replay_run *run)
{
        return run->has_method && run->method == TASK_WHOLE;
}

static void start_row(const struct printer *printer, struct grid *grid,
                      const struct replay_run *run)
{
        char text[PLACEMENT_TEXT_MAX];

        grid_row(grid);
        grid_cell(grid, "%s", run->is_baseline ? "whole devices" :
                                                 placement_text(&run->placement, text));
        if (!printer->has_methods)
                grid_cell(grid, "%s", "");
        else if (is_baseline(run))
                grid_cell(grid, "whole (baseline)");
        else
                grid_cell(grid, "%s", task_method_name(run->method));
}

static struct grid *new_grid(const char *first)
{
        struct grid *grid = grid_new(2);

        if (!grid)
                return NULL;
        grid_column(grid, first, false);
        grid_column(grid, "method", false);
        return grid;
}

/* ---- what was run ---- */

static const char *demand_text(const struct scenario *scenario)
{
        switch (scenario->demand) {
        case DEMAND_SAME:
                return "known: the list's own";
        case DEMAND_LEARNED:
                return "learned from arrivals";
        case DEMAND_OPENB:
                return "another list's";
        case DEMAND_NONE:
                break;
        }
        return "not known";
}

/* Only the last row can hold fewer seeds than were asked for. */
static void print_stopped(const struct printer *printer, uint64_t seeds)
{
        const struct replay_result *result = printer->result;
        const struct replay_run *last = result->runs_count ? &result->runs[result->runs_count - 1]
                                                           : NULL;

        fprintf(printer->file, "STOPPED: only what was finished by then stands below");
        if (last && last->seeds < seeds)
                fprintf(printer->file, "; the last row has %u of %" PRIu64 " seeds", last->seeds,
                        seeds);
        fputc('\n', printer->file);
}

static void print_head(const struct printer *printer, bool is_whole)
{
        const struct scenario *scenario = printer->scenario;
        const struct scenario_workload *work = &scenario->workload;
        uint64_t seeds = scenario->seed_last - scenario->seed_first + 1;
        FILE *file = printer->file;

        fprintf(file, "%s\n", scenario->name);
        if (work->arrivals == ARRIVALS_SHUFFLED)
                fprintf(file, "shuffled arrivals up to %u %% of the pool, nobody leaves",
                        work->arrive_pct);
        else
                fprintf(file,
                        "poisson arrivals, load %.6g, mean life %u; %u lives of warm-up, %u "
                        "measured",
                        work->load_milli / 1000.0, work->mean_life, work->warmup_lives,
                        work->measure_lives);
        fputc('\n', file);
        if (work->source == WORKLOAD_OPENB)
                fprintf(file, "demand %s; ", demand_text(scenario));
        if (seeds == 1)
                fprintf(file, "seed %" PRIu64 "\n", scenario->seed_first);
        else
                fprintf(file, "%" PRIu64 " seeds (%" PRIu64 "..%" PRIu64 "), mean %ssd\n", seeds,
                        scenario->seed_first, scenario->seed_last, printer->plus_minus);
        if (!is_whole)
                print_stopped(printer, seeds);
        if (printer->result->pods_without_model > 0)
                fprintf(file, "%u pods of the list ask only for device models that no node has\n",
                        printer->result->pods_without_model);
}

/* ---- the tables ---- */

static const struct replay_run *curve_of(const struct replay_result *result)
{
        for (uint32_t r = 0; r < result->runs_count; r++)
                if (result->runs[r].points_count > 0)
                        return &result->runs[r];
        return NULL;
}

static int print_points(const struct printer *printer, struct err *err)
{
        const struct replay_result *result = printer->result;
        const struct replay_run *curve = curve_of(result);
        char title[32];

        if (!curve)
                return 0;
        struct grid *grid = new_grid("placement");
        if (!grid)
                return grid_no_memory(err);
        for (uint32_t p = 0; p < curve->points_count; p++) {
                snprintf(title, sizeof title, "at %u %%", curve->points[p].arrived_pct);
                grid_column(grid, title, true);
        }
        for (uint32_t r = 0; r < result->runs_count; r++) {
                const struct replay_run *run = &result->runs[r];
                start_row(printer, grid, run);
                for (uint32_t p = 0; p < curve->points_count && p < run->points_count; p++)
                        stat_cell(printer, grid, &run->points[p].unallocated_pct, "%.2f");
        }
        return grid_finish(grid,
                           "unallocated, % of the pool's devices, when this much of it had been "
                           "requested",
                           printer->width, printer->file, err);
}

static int print_acceptance(const struct printer *printer, struct err *err)
{
        const struct replay_result *result = printer->result;
        struct grid *grid = new_grid("placement");

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "count %", true);
        grid_column(grid, "slices %", true);
        grid_column(grid, "units %", true);
        grid_column(grid, "placements/s", true);
        grid_column(grid, "p50 us", true);
        grid_column(grid, "p99 us", true);
        grid_column(grid, "plan s", true);
        for (uint32_t r = 0; r < result->runs_count; r++) {
                const struct replay_run *run = &result->runs[r];
                start_row(printer, grid, run);
                stat_cell(printer, grid, &run->acceptance.count_pct, "%.2f");
                if (run->acceptance.has_slices)
                        stat_cell(printer, grid, &run->acceptance.slices_pct, "%.2f");
                else
                        grid_cell(grid, "%s", "");
                stat_cell(printer, grid, &run->acceptance.units_pct, "%.2f");
                grid_cell(grid, "%.0f", run->decisions_per_s);
                grid_cell(grid, "%.2f", run->decide_p50_us);
                grid_cell(grid, "%.2f", run->decide_p99_us);
                if (run->plan_note[0])
                        grid_cell(grid, "%.2f", run->plan_s);
                else
                        grid_cell(grid, "%s", "");
        }
        return grid_finish(grid, "accepted, % of what arrived; and how fast it was decided",
                           printer->width, printer->file, err);
}

/* How a run's slowdown is known: by the table, if any of its methods has neighbours. */
static const char *rests_on(const struct scenario *scenario, enum task_method method)
{
        const struct scenario_workload *work = &scenario->workload;
        bool uses[METHODS_END] = {false};
        bool all = true, any = false;

        if (method != TASK_MIXED)
                uses[method] = true;
        for (uint32_t t = 0; method == TASK_MIXED && t < work->tasks_count; t++)
                uses[work->tasks[t].mixed] = true;
        for (int m = METHOD_SLICE; m < METHODS_END; m++) {
                if (!uses[m])
                        continue;
                all = all && work->interference.measured[m];
                any = any || work->interference.measured[m];
        }
        if (!uses[METHOD_SLICE] && !uses[METHOD_SHARE])
                return "no neighbours";
        return all ? "measured" : any ? "measured, assumed" : "assumed";
}

static int print_benefit(const struct printer *printer, struct err *err)
{
        const struct replay_result *result = printer->result;
        struct grid *grid = new_grid("placement");
        bool has_any = false;

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "tasks done/life", true);
        grid_column(grid, "over whole %", true);
        grid_column(grid, "slowdown %", true);
        grid_column(grid, "slowdown is", false);
        for (uint32_t r = 0; r < result->runs_count; r++) {
                const struct replay_run *run = &result->runs[r];
                if (!run->has_benefit)
                        continue;
                has_any = true;
                start_row(printer, grid, run);
                stat_cell(printer, grid, &run->benefit.done_per_life, "%.2f");
                if (is_baseline(run))
                        grid_cell(grid, "0");
                else
                        stat_cell(printer, grid, &run->benefit.over_whole_pct, "%+.1f");
                stat_cell(printer, grid, &run->benefit.slowdown_pct, "%.2f");
                grid_cell(grid, "%s", rests_on(printer->scenario, run->method));
        }
        if (!has_any) {
                grid_free(grid);
                return 0;
        }
        return grid_finish(grid, "what a method brings: the same tasks and work for each",
                           printer->width, printer->file, err);
}

static int print_interference(const struct printer *printer, struct err *err)
{
        const struct scenario_workload *work = &printer->scenario->workload;
        const struct scenario_interference *table = &work->interference;

        if (work->source != WORKLOAD_TASKS)
                return 0;
        struct grid *grid = grid_new(1);
        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "method", false);
        grid_column(grid, "work takes longer by", true);
        grid_column(grid, "this is", false);
        grid_column(grid, "source", false);
        grid_row(grid);
        grid_cell(grid, "whole");
        grid_cell(grid, "0 %%");
        grid_cell(grid, "by definition");
        grid_cell(grid, "nobody else is on the device");
        for (int m = METHOD_SLICE; m < METHODS_END; m++) {
                if (!table->given[m])
                        continue;
                grid_row(grid);
                grid_cell(grid, "%s", task_method_name((enum task_method)m));
                grid_cell(grid, "%.1f %%", table->per_neighbour_permille[m] / 10.0);
                grid_cell(grid, "%s", table->measured[m] ? "measured" : "assumed");
                grid_cell(grid, "%s", table->source[m]);
        }
        int rc = grid_finish(grid, "interference, for each neighbour on the same device",
                             printer->width, printer->file, err);
        fputs("every figure above depends on this table, acceptance too (slower work holds its "
              "place\n"
              "longer): where a figure is assumed, so are they\n",
              printer->file);
        return rc;
}

static void print_notes(const struct printer *printer)
{
        const struct replay_result *result = printer->result;
        char text[PLACEMENT_TEXT_MAX];
        bool is_first = true;

        for (uint32_t r = 0; r < result->runs_count; r++) {
                const struct replay_run *run = &result->runs[r];
                bool blind = run->placement.kind == POLICY_AUTO && !run->plan_note[0];
                if (run->is_baseline || (!blind && !run->plan_note[0]))
                        continue;
                fprintf(printer->file, "%s%s%s%s: %s\n", is_first ? "\n" : "",
                        placement_text(&run->placement, text), run->has_method ? ", " : "",
                        run->has_method ? task_method_name(run->method) : "",
                        blind ? "no expected demand is known here, so it decides as gradient does"
                              : run->plan_note);
                is_first = false;
        }
}

int replay_table(const struct scenario *scenario, const struct replay_result *result, bool is_whole,
                 size_t width, FILE *file, struct err *err)
{
        struct printer printer = {
                .scenario = scenario,
                .result = result,
                .plus_minus = str_equal(nl_langinfo(CODESET), "UTF-8") ? "\u00b1" : "+-",
                .has_sd = scenario->seed_last > scenario->seed_first,
                .width = width,
                .file = file,
        };
        int rc;

        for (uint32_t r = 0; r < result->runs_count; r++)
                printer.has_methods = printer.has_methods ||
                                      (result->runs[r].has_method && !result->runs[r].is_baseline);
        print_head(&printer, is_whole);
        if (result->runs_count == 0)
                return 0;
        if ((rc = print_points(&printer, err)) < 0 || (rc = print_acceptance(&printer, err)) < 0 ||
            (rc = print_benefit(&printer, err)) < 0 || (rc = print_interference(&printer, err)) < 0)
                return rc;
        print_notes(&printer);
        return 0;
}
