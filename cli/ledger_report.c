/* One page for people who answer for the pool: what was promised, kept, used, wasted and lost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/ledger_out.h"
#include "cli/words.h"
#include "proto/scenario.h"
#include "sim/history.h"
#include "sim/ledger_text.h"

#define TEAMS_SHOWN  10
#define CAUSES_SHOWN 3

/* What a page is made of: means over the seeds of its row, in device-hours. */
struct team {
        const char *name;
        double used, lost, caused;
};

struct page {
        struct text *text;
        const struct scenario *scenario;
        const struct history_row *row;
        double capacity, buckets[BUCKETS_END], lost[LOSSES_END], idle_wanted, unlent;
        double protected_use, lent;
        double days;
        uint32_t runs, teams_count;
        bool is_stopped;
        struct team *teams;
};

/* ---- words ---- */

static const char *money(const struct page *page, double hours, char buf[WORDS_MAX])
{
        const struct scenario_pool *pool = &page->scenario->pool;
        double amount = hours * (double)pool->price_micro / 1e6;
        char number[WORDS_MAX];

        if (amount < 999.995)
                snprintf(buf, WORDS_MAX, "%.2f %.4s", amount, pool->currency);
        else
                snprintf(buf, WORDS_MAX, "%.20s %.4s", words_whole(amount, number), pool->currency);
        return buf;
}

/* ---- sums ---- */

static double hours(unit_ms sum)
{
        return (double)sum / UNITS_DEVICE / 3600000;
}

static void add_row(struct page *page, const struct ledger_run *run, const struct ledger_row *row)
{
        const char *name = run->tenants[row->key.tenant];
        uint32_t t = 0;

        while (t < page->teams_count && strcmp(page->teams[t].name, name) != 0)
                t++;
        if (t == page->teams_count)
                page->teams[page->teams_count++] = (struct team){.name = name};
        struct team *team = &page->teams[t];
        double used = hours(ledger_row_held(row)) / page->runs;
        team->used += used;
        team->lost += hours(ledger_row_lost(row)) / page->runs;
        team->caused += hours(row->caused) / page->runs;
        page->lent += hours(row->lent) / page->runs;
        if (row->key.standing == STANDING_PROTECTED)
                page->protected_use += used;
        for (unsigned l = 0; l < LOSSES_END; l++)
                page->lost[l] += hours(row->lost[l]) / page->runs;
}

static bool add_run(struct page *page, const struct ledger_book *book, const struct ledger_run *run)
{
        struct ledger_total total;

        if (!ledger_book_total(book, run, &total))
                return false;
        void *grown = mem_resize(page->teams, page->teams_count,
                                 page->teams_count + total.rows_count + 1, sizeof *page->teams);
        if (!grown) {
                mem_free(total.rows);
                return false;
        }
        page->teams = grown;
        for (unsigned m = 0; m < MODELS_MAX; m++) {
                const struct ledger_sums *sums = &total.sums[m];
                page->capacity += hours(sums->capacity) / page->runs;
                for (unsigned b = 0; b < BUCKETS_END; b++)
                        page->buckets[b] += hours(sums->buckets[b]) / page->runs;
                page->idle_wanted += hours(sums->idle_wanted) / page->runs;
                page->unlent += hours(sums->unlent) / page->runs;
        }
        for (uint32_t r = 0; r < total.rows_count; r++)
                add_row(page, run, &total.rows[r]);
        page->days = (double)(run->until_ms - run->from_ms) / 86400000;
        mem_free(total.rows);
        return true;
}

/* ---- the page ---- */

static void say_title(const struct page *page, const struct ledger_run *run)
{
        char from[LEDGER_TIME_MAX], until[LEDGER_TIME_MAX], days[WORDS_MAX];

        text_add(page->text, "POOL REPORT  %s\n", page->scenario->name);
        text_add(page->text, "%u devices %s, %s to %s (%s)\n",
                 (unsigned)(page->scenario->pool.nodes * page->scenario->pool.devices_per_node),
                 page->scenario->pool.model, ledger_day_text(run->from_ms, from),
                 ledger_day_text(run->until_ms, until), words_span(page->days * 86400, days));
        text_add(page->text, "A replay of recorded jobs under policy '%s'", run->policy);
        if (page->runs > 1)
                text_add(page->text, "; means of %u draws", (unsigned)page->runs);
        text_add(page->text, ". Amounts are device-hours:\none whole device for one hour.\n");
        if (page->is_stopped)
                text_add(page->text, "STOPPED: only what was finished by then stands here.\n");
}

static double held_by_jobs(const struct page *page)
{
        return page->buckets[BUCKET_UNMEASURED] + page->buckets[BUCKET_DELIVERED] +
               page->buckets[BUCKET_IDLE];
}

static void say_promises(const struct page *page)
{
        const struct history_figures *figures = &page->row->figures;
        char made[WORDS_MAX], used[WORDS_MAX], share[WORDS_MAX];

        text_add(page->text, "\nPROMISED AND KEPT\n");
        if (page->protected_use <= 0 && page->unlent <= 0)
                text_add(page->text, "  This policy promises no team a minimum of its own.\n");
        else
                text_add(page->text,
                         "  %s device-hours (%s of what jobs held) were inside a promise.\n",
                         words_whole(page->protected_use, used),
                         words_percent(page->protected_use, held_by_jobs(page), share));
        if (figures->has_promises)
                text_add(page->text, "  Promises made: %s; broken: %.0f.\n",
                         words_whole(figures->promises_made, made), figures->promises_broken);
        if (page->lent > 0.5)
                text_add(page->text,
                         "  %s more were promised, not needed by their team, and used by "
                         "others.\n",
                         words_whole(page->lent, used));
        if (page->unlent > 0.5)
                text_add(page->text,
                         "  Of what was free, %s was promised to teams that neither used nor lent "
                         "it.\n",
                         words_whole(page->unlent, used));
        if (figures->preemptions > 0)
                text_add(
                        page->text,
                        "  %s runs were stopped to make room for others, and started again; no job "
                        "more than %u times.\n",
                        words_whole(figures->preemptions, made), figures->max_stops_of_one_job);
        else
                text_add(page->text, "  No running job was stopped to make room for another.\n");
}

static const char *words_of(enum ledger_bucket bucket)
{
        static const char *const words[BUCKETS_END] = {
                [BUCKET_DELIVERED] = "held by jobs and used",
                [BUCKET_OVERHEAD] = "starting again after a stop",
                [BUCKET_IDLE] = "held by jobs and not used",
                [BUCKET_UNMEASURED] = "held by jobs",
                [BUCKET_RESERVED] = "kept free for a waiting job",
                [BUCKET_DRAINING] = "being emptied",
                [BUCKET_RECONFIGURING] = "being set up",
                [BUCKET_FOREIGN] = "used by others than the pool",
                [BUCKET_UNHEALTHY] = "broken",
                [BUCKET_STRANDED] = "free, but in pieces nobody can use",
                [BUCKET_FREE] = "free"};

        return words[bucket];
}

static void say_line(const struct page *page, const char *what, double part)
{
        char number[WORDS_MAX], share[WORDS_MAX], costs[WORDS_MAX] = "";

        if (page->scenario->pool.price_micro > 0)
                money(page, part, costs);
        text_add(page->text, "  %-36s %12s  %7s  %16s\n", what, words_whole(part, number),
                 words_percent(part, page->capacity, share), costs);
}

static void say_use(const struct page *page)
{
        static const char *const absent[BUCKETS_END] = {[BUCKET_DRAINING] = "being emptied",
                                                        [BUCKET_RECONFIGURING] = "being set up",
                                                        [BUCKET_FOREIGN] = "used from outside",
                                                        [BUCKET_UNHEALTHY] = "broken",
                                                        [BUCKET_STRANDED] = "in useless pieces"};
        double free_hours = page->buckets[BUCKET_FREE] + page->buckets[BUCKET_STRANDED];
        char number[WORDS_MAX], share[WORDS_MAX];
        bool none = false;

        text_add(page->text, "\n%-38s %12s  %7s  %16s\n", "WHERE THE TIME WENT", "device-hours",
                 "of all", page->scenario->pool.price_micro > 0 ? "at list price" : "");
        for (unsigned b = 0; b < BUCKETS_END; b++)
                if (page->buckets[b] > 0)
                        say_line(page, words_of((enum ledger_bucket)b), page->buckets[b]);
        say_line(page, "all", page->capacity);
        if (page->buckets[BUCKET_UNMEASURED] > 0)
                text_add(page->text, "  How well jobs used what they held was not measured.\n");
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                if (page->buckets[b] > 0 || !absent[b])
                        continue;
                text_add(page->text, "%s%s", none ? ", " : "  Nothing was ", absent[b]);
                none = true;
        }
        if (none)
                text_add(page->text, ".\n");
        if (free_hours > 0)
                text_add(page->text, "  Of what was free, %s (%s) was free while a job waited.\n",
                         words_whole(page->idle_wanted, number),
                         words_percent(page->idle_wanted, free_hours, share));
}

static void say_lost(const struct page *page)
{
        static const char *const words[LOSSES_END] = {
                [LOSS_PROTECT] = "stopped: a team was due its promise",
                [LOSS_ORDER] = "stopped: another job goes before it",
                [LOSS_TIME_SLICE] = "stopped: another job had run less",
                [LOSS_GATHER] = "stopped: to gather room for wide jobs",
                [LOSS_NODE] = "its machine failed",
                [LOSS_DRAINED] = "its machine was to be empty",
                [LOSS_FAILED] = "the job failed",
                [LOSS_CANCELLED] = "its owner ended it",
                [LOSS_TIMED_OUT] = "its time was over",
                [LOSS_IDLE] = "nobody used its devices",
                [LOSS_ASKED] = "its owner, or an operator, began it anew"};
        double all = 0;
        char number[WORDS_MAX], share[WORDS_MAX];

        for (unsigned l = 0; l < LOSSES_END; l++)
                all += page->lost[l];
        text_add(page->text, "\nWORK DONE AND LOST (inside what jobs held)\n");
        if (all <= 0) {
                text_add(page->text, "  None.\n");
                return;
        }
        for (unsigned l = 0; l < LOSSES_END; l++)
                if (page->lost[l] > 0)
                        say_line(page, words[l], page->lost[l]);
        text_add(page->text, "  In all %s, %s of what jobs held. ", words_whole(all, number),
                 words_percent(all, held_by_jobs(page), share));
        text_add(page->text, "What the pool stopped is paid back.\n");
}

static int compare_teams(const void *a, const void *b)
{
        double x = ((const struct team *)a)->used, y = ((const struct team *)b)->used;

        return x < y   ? 1
               : x > y ? -1
                       : strcmp(((const struct team *)a)->name, ((const struct team *)b)->name);
}

static const struct history_tenant *waits_of(const struct page *page, const char *name)
{
        const struct history_figures *figures = &page->row->figures;

        for (uint32_t t = 0; t < figures->tenants_count; t++)
                if (strcmp(figures->tenants[t].name, name) == 0)
                        return &figures->tenants[t];
        return NULL;
}

static void say_teams(const struct page *page)
{
        uint32_t shown = page->teams_count <= TEAMS_SHOWN + 1 ? page->teams_count : TEAMS_SHOWN;
        char used[WORDS_MAX], share[WORDS_MAX], lost[WORDS_MAX], caused[WORDS_MAX], jobs[WORDS_MAX],
                wait[WORDS_MAX];
        double rest = 0;

        if (page->teams_count > 1)
                qsort(page->teams, page->teams_count, sizeof *page->teams, compare_teams);
        text_add(page->text, "\nWHO HELD IT\n  %-20s %12s %8s %8s %12s %8s %10s\n", "team", "held",
                 "of all", "lost", "cost others", "jobs", "mean wait");
        for (uint32_t t = 0; t < shown; t++) {
                const struct team *team = &page->teams[t];
                const struct history_tenant *waits = waits_of(page, team->name);
                text_add(page->text, "  %-20.20s %12s %8s %8s %12s %8s %10s\n", team->name,
                         words_whole(team->used, used),
                         words_percent(team->used, page->capacity, share),
                         words_whole(team->lost, lost), words_whole(team->caused, caused),
                         waits ? words_whole(waits->jobs, jobs) : "-",
                         waits ? words_span(waits->wait_mean_s, wait) : "-");
        }
        for (uint32_t t = shown; t < page->teams_count; t++)
                rest += page->teams[t].used;
        if (shown < page->teams_count)
                text_add(page->text, "  %2u other teams       %12s %8s\n",
                         (unsigned)(page->teams_count - shown), words_whole(rest, used),
                         words_percent(rest, page->capacity, share));
}

static void say_waits(const struct page *page)
{
        static const char *const words[GATES_END] = {
                [GATE_ALLOWED] = "not allowed for the team",
                [GATE_FEASIBLE] = "impossible on this pool",
                [GATE_JOBS] = "the team's limit on jobs",
                [GATE_LIMIT] = "the team's limit on devices",
                [GATE_BUDGET] = "the team's budget was used up",
                [GATE_HOLD] = "the job itself: held, too early, after another job",
                [GATE_ORDER] = "other jobs had the better claim",
                [GATE_FIT] = "no room: not enough free devices together",
                [GATE_TABLE] = "a table of the controller was full"};
        const struct history_figures *figures = &page->row->figures;
        double left[GATES_END], all = 0;
        char mean[WORDS_MAX], half[WORDS_MAX], most[WORDS_MAX], max[WORDS_MAX], jobs[WORDS_MAX];

        text_add(page->text,
                 "\nWAITING\n  %s jobs waited %s in the mean; half of them at most %s, "
                 "95 %% at most %s,\n  the longest %s.",
                 words_whole(figures->jobs, jobs), words_span(figures->wait_mean_s, mean),
                 words_span(figures->wait_p50_s, half), words_span(figures->wait_p95_s, most),
                 words_span(figures->wait_max_s, max));
        if (figures->refused > 0)
                text_add(page->text, " %s could never have run here and were refused.",
                         words_whole(figures->refused, jobs));
        text_add(page->text, "\n  Largest causes, in device-hours that jobs waited for:\n");
        for (unsigned g = 0; g < GATES_END; g++)
                all += left[g] = figures->waited_device_hours[g];
        for (unsigned c = 0; c < CAUSES_SHOWN; c++) {
                unsigned largest = 0;
                for (unsigned g = 1; g < GATES_END; g++)
                        if (left[g] > left[largest])
                                largest = g;
                if (left[largest] <= 0) {
                        text_add(page->text, c == 0 ? "    nothing waited\n" : "");
                        break;
                }
                text_add(page->text, "    %u  %-46s %11s  %7s\n", c + 1, words[largest],
                         words_whole(left[largest], jobs), words_percent(left[largest], all, mean));
                left[largest] = 0;
        }
}

static void say_page(const struct ledger_book *book, struct page *page, uint32_t number)
{
        const struct ledger_run *first = NULL;

        for (uint32_t r = 0; r < book->runs_count; r++)
                page->runs += book->runs[r].row == number;
        for (uint32_t r = 0; r < book->runs_count; r++) {
                if (book->runs[r].row != number)
                        continue;
                if (!first)
                        first = &book->runs[r];
                if (!add_run(page, book, &book->runs[r]))
                        page->text->failed = true;
        }
        if (first) {
                if (page->text->size > 0)
                        text_add(page->text, "\n\n");
                say_title(page, first);
                say_promises(page);
                say_use(page);
                say_lost(page);
                say_teams(page);
                say_waits(page);
        }
        mem_free(page->teams);
}

void ledger_report(const struct ledger_book *book, const struct scenario *scenario,
                   const struct history_result *result, bool is_whole, struct text *text)
{
        for (uint32_t r = 0; r < result->rows_count; r++) {
                struct page page = {.text = text,
                                    .scenario = scenario,
                                    .row = &result->rows[r],
                                    .is_stopped = !is_whole && r + 1 == result->rows_count};
                say_page(book, &page, r);
        }
        if (!is_whole && result->rows_count == 0)
                text_add(text, "STOPPED before anything was finished.\n");
}
