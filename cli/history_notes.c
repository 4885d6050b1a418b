/* What a reader of a replayed history has to know of it before he believes a figure. */
#include <inttypes.h>

#include "base/mem.h"
#include "cli/history_out.h"
#include "proto/scenario.h"
#include "sim/history.h"

/* One line for what the reader of the file had to guess or to leave aside. */
static void say_reading(const char *file, const struct history_result *result, const char *who,
                        FILE *out)
{
        const struct sacct_notes *notes = &result->sacct;
        const struct {
                uint32_t count;
                const char *what;
        } rows[] = {
                {notes->untyped, "jobs with devices of no named type, taken as whole ones"},
                {notes->uneven, "jobs uneven over their nodes, rounded up"},
                {notes->mixed, "jobs with several kinds of devices at once"},
                {notes->from_request, "jobs without AllocTRES, taken as they asked"},
                {notes->runs_missing, "jobs with runs that the rows do not show (print with -D)"},
                {notes->waits_again, "jobs stopped and waiting again"},
                {notes->numbers_reused, "numbers used again for another job"},
                {notes->repeated_rows, "rows of a run that stood there already"},
                {notes->ambiguous_times, "times of an hour that came twice (print with TZ=UTC)"},
        };
        const char *before = ": ";

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                if (rows[r].count == 0)
                        continue;
                if (before[0] == ':')
                        fprintf(out, "%s: note: %s", who, file);
                fprintf(out, "%s%" PRIu32 " %s", before, rows[r].count, rows[r].what);
                before = "; ";
        }
        if (before[0] == ';')
                fputc('\n', out);
}

/* Misspelt, a tenant is promised nothing, and the figures look like a bad policy. */
static void say_unnamed(const struct scenario *scenario, const struct history_result *result,
                        const char *who, FILE *out)
{
        for (uint32_t r = 0; r < result->rows_count; r++) {
                const struct history_row *row = &result->rows[r];
                const struct scenario_policy *policy = &scenario->policies[row->policy];
                const struct history_gap *gap = &row->figures.gap;
                if (policy->rule != RULE_FILE || (r > 0 && row[-1].policy == row->policy))
                        continue;
                if (gap->tenants > 0)
                        fprintf(out,
                                "%s: note: %s does not name %" PRIu32 " of the history's %zu "
                                "tenants (%s ...); they are promised nothing\n",
                                who, policy->name, gap->tenants, result->tenants_count,
                                gap->tenant);
                if (gap->classes > 0)
                        fprintf(out,
                                "%s: note: %s does not name %" PRIu32 " of the history's classes "
                                "(%s ...); their jobs are of its default class\n",
                                who, policy->name, gap->classes,
                                gap->class);
        }
}

void history_notes(const struct scenario *scenario, const struct history_result *result,
                   const char *who, FILE *out)
{
        const char *file = scenario->workload.history.file;

        say_reading(file, result, who, out);
        if (result->parts_as_whole > 0)
                fprintf(out,
                        "%s: note: %s: %" PRIu32 " jobs had slices or shares; here each of them "
                        "holds whole devices\n",
                        who, file, result->parts_as_whole);
        say_unnamed(scenario, result, who, out);
}
