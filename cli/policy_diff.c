/* What one policy changes against another, one sentence a change. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/str.h"
#include "cli/policy_diff_impl.h"

void policy_say(struct policy_diff *diff, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vfprintf(diff->file, format, args);
        va_end(args);
        fputc('\n', diff->file);
        diff->lines++;
}

/* ---- amounts ---- */

struct change {
        const char *path, *what;
        unsigned dimension;
        uint64_t old, new;
};

static void say_protect(struct policy_diff *diff, const struct change *change)
{
        char old[POLICY_TEXT_MAX], new[POLICY_TEXT_MAX];
        bool is_root = !strchr(change->path, '/');

        policy_amount_text(change->dimension, change->old, old);
        policy_amount_unit_text(change->dimension, change->new, new);
        if (amount_number(change->new) == 0 && amount_number(change->old) > 0)
                policy_say(diff,
                           "%s: its protect of %s (%s) ends; %s keeps its places as "
                           "standard work, and may be reclaimed for others' protect, with notice",
                           change->path, change->what,
                           policy_amount_unit_text(change->dimension, change->old, old),
                           is_root || change->new != AMOUNT_ABSENT
                                   ? "running work"
                                   : "it draws on what the tenants above it are promised; running "
                                     "work beyond that");
        else if (amount_number(change->new) < amount_number(change->old))
                policy_say(
                        diff,
                        "%s: protect of %s falls from %s to %s; running work keeps its "
                        "places, what is "
                        "above the new protect may be reclaimed for others' protect, with notice",
                        change->path, change->what, old, new);
        else if (amount_number(change->old) == 0 && amount_number(change->new) > 0)
                policy_say(diff,
                           "%s: is promised %s of %s, and had no promise of its own; work "
                           "that borrowed "
                           "them is stopped only when they are asked for, with notice",
                           change->path, new, change->what);
        else if (amount_number(change->new) > amount_number(change->old))
                policy_say(
                        diff,
                        "%s: protect of %s rises from %s to %s; work that borrowed them is stopped "
                        "only when they are asked for, with notice",
                        change->path, change->what, old, new);
        else if (!is_root && (change->new == AMOUNT_NONE) != (change->old == AMOUNT_NONE))
                policy_say(diff, "%s: %s draws on the promise of %s above it", change->path,
                           change->new == AMOUNT_NONE ? "no longer" : "now", change->what);
}

/* Limits as numbers of one line: none is below 0, and what is not said is no limit. */
static int64_t limit_rank(uint64_t amount)
{
        if (amount == AMOUNT_NONE)
                return -1;
        return amount_is_number(amount) ? (int64_t)amount : INT64_MAX;
}

static void say_limit(struct policy_diff *diff, const struct change *change)
{
        int64_t old_rank = limit_rank(change->old), new_rank = limit_rank(change->new);
        char old[POLICY_TEXT_MAX], new[POLICY_TEXT_MAX];
        bool is_work = change->dimension >= DIM_JOBS;

        if (old_rank == new_rank)
                return;
        policy_amount_text(change->dimension, change->old, old);
        policy_amount_unit_text(change->dimension, change->new, new);
        if (new_rank == INT64_MAX)
                policy_say(diff, "%s: the limit of %s on %s goes; only limits above it hold",
                           change->path, old, change->what);
        else if (new_rank < 0)
                policy_say(diff, "%s: may no longer use %s; running work goes on to its end",
                           change->path, change->what);
        else if (old_rank == INT64_MAX)
                policy_say(diff, "%s: gets a limit of %s on %s; running work above it %s",
                           change->path, new, change->what,
                           is_work ? "goes on" : "goes on, as spare where its class can be");
        else if (new_rank < old_rank)
                policy_say(diff, "%s: limit on %s falls from %s to %s; running work above it %s",
                           change->path, change->what, old, new,
                           is_work ? "goes on" : "goes on, as spare where its class can be");
        else
                policy_say(diff, "%s: limit on %s rises from %s to %s", change->path, change->what,
                           old, new);
}

/* Whether a model goes the way of "any", where one word stood for all. */
static bool goes_with_any(const uint64_t *old, const uint64_t *new, unsigned dimension)
{
        return dimension < MODELS_MAX && old[dimension] == old[DIM_ANY] &&
               new[dimension] == new[DIM_ANY] && !amount_is_number(old[dimension]) &&
               !amount_is_number(new[dimension]);
}

/* What strict says of every model that is not promised: 1 when it comes, -1 when it goes. */
static int strict_change(const struct policy_diff *diff, const struct tenant *old,
                         const struct tenant *new, unsigned dimension)
{
        bool is_model = dimension < MODELS_MAX && amount_number(old->protect[dimension]) == 0 &&
                        amount_number(new->protect[dimension]) == 0;
        int64_t was = limit_rank(old->limit[dimension]), is = limit_rank(new->limit[dimension]);

        if (is_model && diff->after->preset == PRESET_STRICT && was == INT64_MAX && is == 0)
                return 1;
        if (is_model && diff->before->preset == PRESET_STRICT && was == 0 && is == INT64_MAX)
                return -1;
        return 0;
}

static void diff_amounts(struct policy_diff *diff, const struct tenant *old,
                         const struct tenant *new)
{
        const struct tenancy *before = diff->before, *after = diff->after;
        char what[POLICY_TEXT_MAX];
        bool comes = false, goes = false;

        for (unsigned d = 0; d < DIM_SLICES; d++) {
                if (d >= after->models_count && d < MODELS_MAX)
                        continue;
                struct change change = {new->path,
                                        policy_dimension_text(after, diff->models, d, what), d,
                                        old->protect[d], new->protect[d]};
                if (!goes_with_any(old->protect, new->protect, d))
                        say_protect(diff, &change);
                change.old = old->limit[d];
                change.new = new->limit[d];
                int strict = strict_change(diff, old, new, d);
                comes = comes || strict > 0;
                goes = goes || strict < 0;
                if (strict == 0 && !goes_with_any(old->limit, new->limit, d))
                        say_limit(diff, &change);
        }
        if (comes || goes)
                policy_say(diff, "%s: %s hold models that it is not promised%s", new->path,
                           comes ? "may no longer" : "may now",
                           comes ? "; running work goes on as spare" : "");
        /* Profiles have their numbers in the order of each document. */
        for (uint32_t p = 0; p < before->profiles_count + after->profiles_count; p++) {
                bool is_old = p < before->profiles_count;
                const char *name =
                        is_old ? before->profiles[p] : after->profiles[p - before->profiles_count];
                uint64_t amounts[2] = {AMOUNT_ABSENT, AMOUNT_ABSENT};
                bool seen = false;
                for (uint32_t i = 0; i < before->profiles_count; i++)
                        if (str_equal(before->profiles[i], name)) {
                                amounts[0] = old->limit[DIM_SLICES + i];
                                seen = !is_old;
                        }
                for (uint32_t i = 0; i < after->profiles_count; i++)
                        if (str_equal(after->profiles[i], name))
                                amounts[1] = new->limit[DIM_SLICES + i];
                snprintf(what, sizeof what, "slices of %s", name);
                struct change change = {new->path, what, DIM_SLICES, amounts[0], amounts[1]};
                if (!seen)
                        say_limit(diff, &change);
        }
}

/* ---- the other words of a tenant ---- */

static void diff_weight_and_lend(struct policy_diff *diff, const struct tenant *old,
                                 const struct tenant *new)
{
        char what[POLICY_TEXT_MAX], a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];

        for (unsigned d = DEVICE_DIMENSIONS; d-- > 0;) {
                bool is_any = d == DIM_ANY;
                policy_dimension_text(diff->after, diff->models, d, what);
                /* A model that goes with "any" was told there. */
                if (old->weight_milli[d] != new->weight_milli[d] &&
                    (is_any || old->weight_milli[d] != old->weight_milli[DIM_ANY] ||
                     new->weight_milli[d] != new->weight_milli[DIM_ANY]))
                        policy_say(diff, "%s: weight for %s %s from %g to %g", new->path, what,
                                   new->weight_milli[d] > old->weight_milli[d] ? "rises" : "falls",
                                   (double)old->weight_milli[d] / 1000,
                                   (double)new->weight_milli[d] / 1000);
                if (old->lend[d] != new->lend[d] && (is_any || old->lend[d] != old->lend[DIM_ANY] ||
                                                     new->lend[d] != new->lend[DIM_ANY]))
                        policy_say(diff, "%s: lends %s of its unused protect of %s, %s before",
                                   new->path, policy_lend_text(d, new->lend[d], b), what,
                                   policy_lend_text(d, old->lend[d], a));
        }
}

static const struct budget *budget_of(const struct tenant *tenant, unsigned dimension)
{
        for (unsigned i = 0; i < tenant->budgets_count; i++)
                if (tenant->budgets[i].dimension == dimension)
                        return &tenant->budgets[i];
        return NULL;
}

static void diff_budgets(struct policy_diff *diff, const struct tenant *old,
                         const struct tenant *new)
{
        char what[POLICY_TEXT_MAX], a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];

        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                const struct budget *was = budget_of(old, d), *is = budget_of(new, d);
                policy_dimension_text(diff->after, diff->models, d, what);
                if (was && !is)
                        policy_say(diff, "%s: its budget for %s (%s) goes", new->path, what,
                                   policy_budget_text(was, a));
                else if (!was && is)
                        policy_say(diff,
                                   "%s: gets a budget for %s: %s; what was used in this %s counts",
                                   new->path, what, policy_budget_text(is, b),
                                   period_name((enum period)is->period));
                else if (was && (was->device_ms != is->device_ms || was->period != is->period ||
                                 was->on_empty != is->on_empty))
                        policy_say(diff, "%s: budget for %s becomes %s; it was %s", new->path, what,
                                   policy_budget_text(is, b), policy_budget_text(was, a));
        }
}

static void diff_limit_each(struct policy_diff *diff, const struct tenant *old,
                            const struct tenant *new)
{
        int64_t was = limit_rank(old->each_jobs), is = limit_rank(new->each_jobs);
        char a[POLICY_TEXT_MAX], b[POLICY_TEXT_MAX];

        policy_amount_text(DIM_JOBS, old->each_jobs, a);
        policy_amount_text(DIM_JOBS, new->each_jobs, b);
        if (is == INT64_MAX && was != is)
                policy_say(diff, "%s: the limit of %s jobs of each person goes", new->path, a);
        else if (was == INT64_MAX && was != is)
                policy_say(diff,
                           "%s: each person may have %s jobs at most; what they have above it "
                           "stays",
                           new->path, b);
        else if (is != was)
                policy_say(diff, "%s: the limit of each person %s from %s to %s jobs%s", new->path,
                           is > was ? "rises" : "falls", a, b,
                           is > was ? "" : "; what they have above it stays");
}

static const char *trust_text(const struct tenancy *tenancy, const struct tenant *tenant)
{
        if (tenant->trust < TRUSTS_MAX)
                return tenancy->trusts[tenant->trust].name;
        return "its own";
}

static void diff_rights(struct policy_diff *diff, const struct tenant *old,
                        const struct tenant *new)
{
        char a[POLICY_NAMES_MAX], b[POLICY_NAMES_MAX];

        policy_classes_text(diff->before, old->classes, a, sizeof a);
        policy_classes_text(diff->after, new->classes, b, sizeof b);
        if (!str_equal(a, b))
                policy_say(diff, "%s: may use classes %s; it was %s", new->path, b, a);
        policy_planes_text(diff->before, old->planes, a, sizeof a);
        policy_planes_text(diff->after, new->planes, b, sizeof b);
        if (!str_equal(a, b))
                policy_say(diff, "%s: may use planes %s; it was %s", new->path, b, a);
        policy_methods_text(old->methods, a);
        policy_methods_text(new->methods, b);
        if (!str_equal(a, b))
                policy_say(diff, "%s: may use methods %s; it was %s", new->path, b, a);
        if (!str_equal(trust_text(diff->before, old), trust_text(diff->after, new)))
                policy_say(diff, "%s: its trust domain becomes %s; it was %s", new->path,
                           trust_text(diff->after, new), trust_text(diff->before, old));
}

static void diff_tenants(struct policy_diff *diff)
{
        for (uint32_t i = 0; i < diff->after->tenants_count; i++) {
                const struct tenant *new = &diff->after->tenants[i];
                int old = tenancy_find(diff->before, new->path);
                char all[POLICY_TEXT_MAX];
                if (old < 0 && tenancy_protect_all(new) == 0) {
                        policy_say(diff, "%s: is new; it has no promise of its own", new->path);
                        continue;
                }
                if (old < 0) {
                        policy_say(diff, "%s: is new; it is promised %s in all", new->path,
                                   policy_amount_unit_text(DIM_ANY, tenancy_protect_all(new), all));
                        continue;
                }
                diff_amounts(diff, &diff->before->tenants[old], new);
                diff_weight_and_lend(diff, &diff->before->tenants[old], new);
                diff_budgets(diff, &diff->before->tenants[old], new);
                diff_limit_each(diff, &diff->before->tenants[old], new);
                diff_rights(diff, &diff->before->tenants[old], new);
        }
        for (uint32_t i = 0; i < diff->before->tenants_count; i++) {
                const struct tenant *old = &diff->before->tenants[i];
                if (tenancy_find(diff->after, old->path) < 0)
                        policy_say(diff,
                                   "%s: is gone; its running work goes on as spare to its "
                                   "end, what waits "
                                   "is refused, nothing new is taken",
                                   old->path);
        }
}

unsigned policy_print_diff(const struct policy_doc *before, const struct policy_doc *after,
                           const struct model_table *models, FILE *file)
{
        struct policy_diff diff = {before->tenancy, after->tenancy, models, file, 0};

        diff_tenants(&diff);
        policy_diff_classes(&diff);
        policy_diff_trusts(&diff);
        policy_diff_labels(&diff);
        policy_diff_reservations(&diff);
        policy_diff_principals(&diff);
        policy_diff_rules(&diff);
        policy_diff_alerts(&diff);
        policy_diff_retention(&diff, &before->retention, &after->retention);
        if (diff.lines == 0)
                fputs("nothing changes for anybody\n", file);
        return diff.lines;
}
