#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cli/grid.h"
#include "cli/policy_out.h"
#include "proto/pool_doc.h"

#define ROWS_OF_BLOCK 100 /* tenants of one grid; below GRID_ROWS_MAX */

#define COLUMNS_MAX (GRID_COLUMNS_MAX - 5) /* of dimensions; those that follow are left out */

struct printer {
        const struct tenancy *tenancy;
        const struct model_table *models;
        size_t width;
        FILE *file;
        unsigned columns[COLUMNS_MAX]; /* dimensions that anybody says anything of */
        unsigned columns_count;
};

static bool is_used(const struct tenancy *tenancy, unsigned dimension)
{
        for (uint32_t i = 0; i < tenancy->tenants_count; i++) {
                const struct tenant *tenant = &tenancy->tenants[i];
                uint64_t limit = tenant->limit[dimension];
                /* Strict limits all that is not promised to 0. */
                if (amount_number(tenant->protect[dimension]) > 0 || amount_number(limit) > 0 ||
                    (limit == 0 && tenancy->preset != PRESET_STRICT) ||
                    (limit == AMOUNT_NONE &&
                     (dimension >= DIM_ANY || tenant->limit[DIM_ANY] != AMOUNT_NONE)))
                        return true;
        }
        return false;
}

static void amount_cell(const struct printer *printer, struct grid *grid, uint32_t index,
                        unsigned dimension)
{
        const struct tenancy *tenancy = printer->tenancy;
        char protect[POLICY_TEXT_MAX], limit[POLICY_TEXT_MAX];
        bool can_protect = dimension <= DIM_ANY || dimension == DIM_CPU ||
                           dimension == DIM_TOKENS_PER_MINUTE || dimension == DIM_ACTIVE_TOKENS;

        policy_amount_text(dimension, tenancy->tenants[index].protect[dimension], protect);
        policy_amount_text(dimension, tenancy_limit(tenancy, (uint16_t)index, dimension), limit);
        if (can_protect)
                grid_cell(grid, "%s / %s", protect, limit);
        else
                grid_cell(grid, "%s", limit);
}

/* The word for any, and in brackets what differs for models. */
static void weight_cell(const struct printer *printer, struct grid *grid,
                        const struct tenant *tenant)
{
        uint32_t any = tenant->weight_milli[DIM_ANY];
        char text[GRID_CELL_MAX];
        int length = snprintf(text, sizeof text, "%g", (double)any / 1000);

        for (unsigned m = 0; m < printer->tenancy->models_count; m++)
                if (tenant->weight_milli[m] != any && (size_t)length < sizeof text)
                        length += snprintf(text + length, sizeof text - (size_t)length, ", %s %g",
                                           model_get(printer->models, m)->name,
                                           (double)tenant->weight_milli[m] / 1000);
        grid_cell(grid, "%s", text);
}

static void lend_cell(const struct printer *printer, struct grid *grid, const struct tenant *tenant)
{
        char text[GRID_CELL_MAX], amount[POLICY_TEXT_MAX];
        uint64_t any = tenant->lend[DIM_ANY];
        int length = snprintf(text, sizeof text, "%s", policy_lend_text(DIM_ANY, any, amount));

        for (unsigned m = 0; m < printer->tenancy->models_count; m++)
                if (tenant->lend[m] != any && (size_t)length < sizeof text)
                        length +=
                                snprintf(text + length, sizeof text - (size_t)length, ", %s of %s",
                                         policy_lend_text(m, tenant->lend[m], amount),
                                         model_get(printer->models, m)->name);
        grid_cell(grid, "%s", text);
}

static void budget_cell(const struct printer *printer, struct grid *grid,
                        const struct tenant *tenant)
{
        char text[GRID_CELL_MAX] = "", budget[POLICY_TEXT_MAX];
        int length = 0;

        for (unsigned i = 0; i < tenant->budgets_count && (size_t)length < sizeof text; i++) {
                const struct budget *of = &tenant->budgets[i];
                length += snprintf(
                        text + length, sizeof text - (size_t)length, "%s%s%s%s", i ? "; " : "",
                        policy_budget_text(of, budget), of->dimension < MODELS_MAX ? " of " : "",
                        of->dimension < MODELS_MAX ? model_get(printer->models, of->dimension)->name
                                                   : "");
        }
        grid_cell(grid, "%s", text);
}

static void tenant_row(const struct printer *printer, struct grid *grid, uint32_t index)
{
        const struct tenancy *tenancy = printer->tenancy;
        const struct tenant *tenant = &tenancy->tenants[index];
        const char *slash = strrchr(tenant->path, '/');

        grid_row(grid);
        /* Blanks in front would be trimmed by no one: the first column is left-aligned. */
        grid_cell(grid, "%*s%s", 2 * (tenant->depth - 1), "", slash ? slash + 1 : tenant->path);
        for (unsigned c = 0; c < printer->columns_count; c++)
                amount_cell(printer, grid, index, printer->columns[c]);
        weight_cell(printer, grid, tenant);
        lend_cell(printer, grid, tenant);
        budget_cell(printer, grid, tenant);
        grid_cell(grid, "%s",
                  tenant->trust < tenancy->trusts_count ? tenancy->trusts[tenant->trust].name : "");
}

static int print_block(const struct printer *printer, uint32_t first, uint32_t last,
                       struct err *err)
{
        const struct tenancy *tenancy = printer->tenancy;
        struct grid *grid = grid_new(1);
        char title[POLICY_TEXT_MAX];

        if (!grid)
                return grid_no_memory(err);
        grid_column(grid, "tenant", false);
        for (unsigned c = 0; c < printer->columns_count; c++)
                grid_column(
                        grid,
                        policy_dimension_key(tenancy, printer->models, printer->columns[c], title),
                        true);
        grid_column(grid, "weight", true);
        grid_column(grid, "lend", false);
        grid_column(grid, "budget", false);
        grid_column(grid, "trust", false);
        for (uint32_t i = first; i < last; i++)
                tenant_row(printer, grid, i);
        return grid_finish(grid, NULL, printer->width, printer->file, err);
}

static int print_tenants(const struct printer *printer, struct err *err)
{
        const struct tenancy *tenancy = printer->tenancy;
        int rc = 0;

        fprintf(printer->file,
                "tenants: protect / limit, devices if nothing else is\n"
                "said; '-': no own promise\n");
        for (uint32_t i = 0; i < tenancy->tenants_count && rc == 0; i += ROWS_OF_BLOCK) {
                uint32_t left = tenancy->tenants_count - i;
                fputs(i ? "\n" : "", printer->file);
                rc = print_block(printer, i, i + (left < ROWS_OF_BLOCK ? left : ROWS_OF_BLOCK),
                                 err);
        }
        return rc;
}

/* Breaks at blanks, so that no line is wider than it should be; lines start with two blanks. */
static void put_wrapped(const char *text, size_t width, FILE *file)
{
        while (*text) {
                size_t length = strlen(text);
                if (length > width - 4) {
                        length = width - 4;
                        while (length > 0 && text[length] != ' ')
                                length--;
                        if (length == 0)
                                length = strcspn(text, " ");
                }
                fprintf(file, "    %.*s\n", (int)length, text);
                text += length;
                while (*text == ' ')
                        text++;
        }
}

static void print_classes(const struct printer *printer)
{
        const struct tenancy *tenancy = printer->tenancy;
        char text[POLICY_TERMS_MAX];

        fputs("\nclasses\n", printer->file);
        for (uint32_t i = 0; i < tenancy->classes_count; i++) {
                const struct service_class *class = &tenancy->classes[i];
                fprintf(printer->file, "  %s (rank %" PRIu32 ")%s\n", class->name, class->rank,
                        tenancy->default_class == i ? ", the default" : "");
                put_wrapped(policy_class_text(tenancy, class, text, sizeof text), printer->width,
                            printer->file);
        }
}

/* Nothing where the policy says nothing. */
static void print_retention(const struct printer *printer, const struct retention *retention)
{
        static const char *const of_what[RETENTIONS_END] = {
                [RETENTION_RECORDS] = "the log, behind its newest snapshot",
                [RETENTION_ENDED] = "work and all else that has ended",
                [RETENTION_REVIEW] = "usage, and what a review counts",
        };
        const char *title = "\nretention\n";
        char text[RETENTION_TEXT_MAX];

        for (unsigned k = 0; k < RETENTIONS_END; k++) {
                if (retention->spans[k] == RETENTION_UNSAID)
                        continue;
                fprintf(printer->file, "%s  %-8s %-10s %s\n", title, retention_words[k],
                        retention_text(retention, k, text), of_what[k]);
                title = "";
        }
}

static void print_pool(const struct printer *printer, const struct pool_doc *pool)
{
        const char *comma = "";

        fprintf(printer->file, "pool: %" PRIu32 " node%s, %" PRIu32 " healthy device%s (",
                pool->nodes_count, pool->nodes_count == 1 ? "" : "s", pool_doc_devices(pool),
                pool_doc_devices(pool) == 1 ? "" : "s");
        for (unsigned m = 0; m < printer->tenancy->models_count; m++)
                if (pool->devices[m] > 0) {
                        fprintf(printer->file, "%s%" PRIu32 " %s", comma, pool->devices[m],
                                model_get(printer->models, m)->name);
                        comma = ", ";
                }
        fputs(*comma ? ")\n\n" : "none)\n\n", printer->file);
}

int policy_print(const struct policy_doc *policy, const struct model_table *models,
                 const struct pool_doc *pool, size_t width, FILE *file, struct err *err)
{
        const struct tenancy *tenancy = policy->tenancy;
        struct printer printer = {.tenancy = tenancy,
                                  .models = models,
                                  .width = width < 40 ? 40 : width,
                                  .file = file};
        uint32_t kept = policy->warnings_count;
        int rc;

        for (unsigned d = 0; d < DIMENSIONS_END && printer.columns_count < COLUMNS_MAX; d++)
                if (is_used(tenancy, d))
                        printer.columns[printer.columns_count++] = d;
        if (pool)
                print_pool(&printer, pool);
        if ((rc = print_tenants(&printer, err)) < 0)
                return rc;
        print_classes(&printer);
        print_retention(&printer, &policy->retention);
        fputc('\n', file);
        if (kept > POLICY_WARNINGS_MAX)
                kept = POLICY_WARNINGS_MAX;
        for (uint32_t i = 0; i < kept; i++)
                fprintf(file, "warning: %s\n", policy->warnings[i].text);
        if (policy->warnings_count > kept)
                fprintf(file, "warning: and %" PRIu32 " more\n", policy->warnings_count - kept);
        fprintf(file, "ok: %" PRIu32 " tenant%s, %" PRIu32 " class%s, %" PRIu32 " warning%s\n",
                tenancy->tenants_count, tenancy->tenants_count == 1 ? "" : "s",
                tenancy->classes_count, tenancy->classes_count == 1 ? "" : "es",
                policy->warnings_count, policy->warnings_count == 1 ? "" : "s");
        return 0;
}
