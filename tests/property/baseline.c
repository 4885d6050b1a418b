/* baseline.c - the four queue rules on the Philly history give what was measured of them.
 *
 * Reference: six seeds of another simulator of the same rules, least and greatest, and the digits
 * published before. How equally full nodes are chosen moves the means by so much: FIFO strict 25 %,
 * the other means 10 %, waits of wide jobs 20 %. A seed as argument runs just that, and prints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/zone.h"
#include "proto/when.h"
#include "sim/baseline.h"
#include "sim/history_figures.h"
#include "tests/property/data.h"
#include "trace/jobs.h"
#include "trace/jobs_csv.h"

#define SEEDS_LAST 3

static const struct reference {
        uint32_t nodes;
        enum history_rule rule;
        double mean_s[2], wide_s[2]; /* least, greatest */
} references[] = {
        {80, RULE_FIFO, {13932, 21774}, {14475, 28055}},
        {80, RULE_FIFO_SKIP, {3304, 3998}, {16322, 23835}},
        {80, RULE_SHORTEST, {1608, 1701}, {6453, 7596}},
        {80, RULE_SHORTEST_SKIP, {1339, 1451}, {11802, 15574}},
        {72, RULE_FIFO, {84579, 110977}, {119940, 162329}},
        {72, RULE_FIFO_SKIP, {7404, 8953}, {66299, 71733}},
        {72, RULE_SHORTEST, {3681, 4392}, {20727, 24460}},
        {72, RULE_SHORTEST_SKIP, {2503, 2687}, {41405, 52082}},
        {64, RULE_FIFO, {308068, 331988}, {432202, 465405}},
        {64, RULE_FIFO_SKIP, {19570, 24865}, {196564, 259532}},
        {64, RULE_SHORTEST, {6271, 6987}, {42591, 45085}},
        {64, RULE_SHORTEST_SKIP, {5311, 6268}, {134881, 174095}},
};

static void stop(const char *what)
{
        fprintf(stderr, "baseline: %s\n", what);
        exit(1);
}

static void load(const char *path, struct jobs *jobs, struct job_window *window)
{
        struct jobs_csv_layout layout = {.columns = {[JOB_COLUMN_SUBMIT] = "timestamp",
                                                     [JOB_COLUMN_DURATION] = "duration",
                                                     [JOB_COLUMN_DEVICES] = "num_gpus",
                                                     [JOB_COLUMN_TENANT] = "cluster"}};
        struct jobs_filter filter = {.tenants_at_least_jobs = 10};
        struct zone *zone;
        struct err err = {0};

        if (zone_load("America/Los_Angeles", &zone, &err) < 0 ||
            when_parse_local("2017-10-01", zone, &filter.from_ms, &err) < 0 ||
            when_parse_local("2017-12-01", zone, &filter.until_ms, &err) < 0)
                stop(err.text);
        layout.zone = zone;
        if (jobs_csv_read(path, &layout, &filter, jobs, &err) < 0)
                stop(err.text);
        zone_free(zone);
        window->from_ms = filter.from_ms;
        window->until_ms = filter.until_ms;
        if (jobs->count != 68503 || jobs->left_small_tenant != 7 || jobs->tenants_count != 11)
                stop("the history has other jobs than it had when this was measured");
}

static bool is_near(double value, const double range[2], double noise)
{
        return value >= range[0] * (1 - noise) && value <= range[1] * (1 + noise);
}

static int check(const struct reference *reference, const struct jobs *jobs,
                 const struct job_window *window, uint64_t first, uint64_t last)
{
        struct job_record *records = mem_new(jobs->count, sizeof *records);
        struct history_figures sum = {0};
        struct err err = {0};
        int64_t begin_ns = time_monotonic_ns();
        uint64_t devices = (uint64_t)reference->nodes * 8;

        for (uint64_t seed = first; seed <= last; seed++) {
                struct history_figures one = {0};
                struct baseline_setup setup = {.jobs = jobs,
                                               .nodes = reference->nodes,
                                               .devices_per_node = 8,
                                               .rule = reference->rule,
                                               .seed = seed,
                                               .window = *window};
                if (!records || baseline_run(&setup, records, &err) < 0 ||
                    history_figures_take(&one, jobs, records, devices, window, &err) < 0 ||
                    history_figures_add(&sum, &one, &err) < 0)
                        stop("out of memory");
                history_figures_done(&one);
        }
        history_figures_divide(&sum, (uint32_t)(last - first + 1));
        double noise = reference->rule == RULE_FIFO ? 0.25 : 0.10;
        bool is_fine = is_near(sum.wait_mean_s, reference->mean_s, noise) &&
                       is_near(sum.wide_wait_mean_s, reference->wide_s, 0.20);
        printf("%s%u %-13s mean %8.0f [%.0f-%.0f] wide %8.0f [%.0f-%.0f] short %7.0f p99 %8.0f "
               "max %8.0f jct %8.0f used %.2f %% (%.2f s)\n",
               is_fine ? "" : "BAD ", reference->nodes * 8, history_rule_name(reference->rule),
               sum.wait_mean_s, reference->mean_s[0], reference->mean_s[1], sum.wide_wait_mean_s,
               reference->wide_s[0], reference->wide_s[1], sum.short_wait_mean_s, sum.wait_p99_s,
               sum.wait_max_s, sum.jct_mean_s, sum.utilisation_pct,
               (double)(time_monotonic_ns() - begin_ns) / 1e9);
        history_figures_done(&sum);
        mem_free(records);
        return is_fine ? 0 : 1;
}

int main(int argc, char **argv)
{
        uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
        uint64_t last = argc > 1 ? first : SEEDS_LAST;
        struct jobs jobs = {0};
        struct job_window window;
        char path[DATA_PATH_MAX];
        int bad = 0;

        if (!data_path("philly", "philly.csv", path))
                return 77;
        load(path, &jobs, &window);
        for (size_t r = 0; r < ARRAY_LEN(references); r++)
                bad += check(&references[r], &jobs, &window, first, last);
        jobs_done(&jobs);
        return bad > 0;
}
