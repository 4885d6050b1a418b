#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "cli/json_out.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/replay.h"

static json_t *real(double value)
{
        return isfinite(value) ? json_real(value) : json_null();
}

static json_t *stat(const struct replay_stat *stat)
{
        return json_pack("{s:o, s:o}", "mean", real(stat->mean), "sd", real(stat->sd));
}

static json_t *points(const struct replay_run *run)
{
        json_t *list = json_array();

        for (uint32_t p = 0; p < run->points_count; p++) {
                const struct replay_point *point = &run->points[p];
                json_t *entry = json_pack("{s:i, s:o}", "arrived_pct", (int)point->arrived_pct,
                                          "unallocated_pct", stat(&point->unallocated_pct));
                if (point->has_fragmented &&
                    json_object_set_new(entry, "fragmented_pct_of_capacity",
                                        stat(&point->fragmented_pct)) < 0) {
                        json_decref(entry);
                        entry = NULL;
                }
                if (json_array_append_new(list, entry) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

static json_t *acceptance(const struct replay_acceptance *acceptance)
{
        if (acceptance->has_slices)
                return json_pack("{s:o, s:o, s:o}", "count_pct", stat(&acceptance->count_pct),
                                 "slices_pct", stat(&acceptance->slices_pct), "units_pct",
                                 stat(&acceptance->units_pct));
        return json_pack("{s:o, s:o}", "count_pct", stat(&acceptance->count_pct), "units_pct",
                         stat(&acceptance->units_pct));
}

static json_t *benefit(const struct replay_benefit *benefit)
{
        return json_pack("{s:o, s:o, s:o}", "done_per_life", stat(&benefit->done_per_life),
                         "over_whole_pct", stat(&benefit->over_whole_pct), "slowdown_pct",
                         stat(&benefit->slowdown_pct));
}

/* False: out of memory. */
static bool add_optional(json_t *entry, const struct replay_run *run)
{
        bool ok = true;

        if (run->has_method)
                ok = json_object_set_new(entry, "method",
                                         json_string(task_method_name(run->method))) == 0;
        if (ok && run->points_count > 0)
                ok = json_object_set_new(entry, "points", points(run)) == 0;
        if (ok && run->has_benefit)
                ok = json_object_set_new(entry, "benefit", benefit(&run->benefit)) == 0;
        if (ok && run->plan_note[0])
                ok = json_object_set_new(entry, "plan_s", real(run->plan_s)) == 0;
        if (ok && run->plan_note[0])
                ok = json_object_set_new(entry, "plan",
                                         json_pack("{s:b, s:s}", "priced", run->plan_priced, "note",
                                                   run->plan_note)) == 0;
        return ok;
}

static json_t *run_entry(const struct replay_run *run)
{
        char placement[PLACEMENT_TEXT_MAX], hash[24];

        snprintf(hash, sizeof hash, "%016" PRIx64, run->facts_hash);
        json_t *entry = json_pack(
                "{s:s, s:i, s:o, s:I, s:I, s:o, s:{s:o, s:o}, s:o, s:s}", "placement",
                placement_text(&run->placement, placement), "seeds", (int)run->seeds, "acceptance",
                acceptance(&run->acceptance), "accepted", (json_int_t)run->accepted, "refused",
                (json_int_t)run->refused, "decisions_per_s", real(run->decisions_per_s),
                "decide_us", "p50", real(run->decide_p50_us), "p99", real(run->decide_p99_us),
                "peak_rss_mib", real(run->peak_rss_mib), "facts_hash", hash);
        if (entry && !add_optional(entry, run)) {
                json_decref(entry);
                return NULL;
        }
        return entry;
}

static json_t *interference(const struct scenario_interference *table)
{
        json_t *map = json_object();

        for (int m = METHOD_SLICE; m < METHODS_END; m++) {
                if (!table->given[m])
                        continue;
                json_t *entry = json_pack("{s:f, s:b}", "per_neighbour_pct",
                                          table->per_neighbour_permille[m] / 10.0, "measured",
                                          (int)table->measured[m]);
                if ((table->source[m][0] &&
                     json_object_set_new(entry, "source", json_string(table->source[m])) < 0) ||
                    json_object_set_new(map, task_method_name((enum task_method)m), entry) < 0) {
                        json_decref(map);
                        return NULL;
                }
        }
        return map;
}

static json_t *document(const struct scenario *scenario, const struct replay_result *result,
                        bool is_whole)
{
        json_t *runs = json_array();

        const struct replay_run *baseline = NULL;

        for (uint32_t r = 0; runs && r < result->runs_count; r++) {
                if (result->runs[r].is_baseline) {
                        baseline = &result->runs[r]; /* no answer to what was asked: stands apart */
                } else if (json_array_append_new(runs, run_entry(&result->runs[r])) < 0) {
                        json_decref(runs);
                        return NULL;
                }
        }
        json_t *root = json_pack("{s:s, s:{s:I, s:I}, s:o}", "scenario", scenario->name, "seeds",
                                 "first", (json_int_t)scenario->seed_first, "last",
                                 (json_int_t)scenario->seed_last, "runs", runs);
        if (root && scenario->workload.source == WORKLOAD_TASKS)
                json_object_set_new(root, "interference",
                                    interference(&scenario->workload.interference));
        if (root && result->pods_without_model > 0)
                json_object_set_new(root, "pods_without_model",
                                    json_integer(result->pods_without_model));
        if (root && baseline)
                json_object_set_new(root, "whole_device_baseline", run_entry(baseline));
        if (root && !is_whole)
                json_object_set_new(root, "stopped", json_true());
        return root;
}

int replay_json(const struct scenario *scenario, const struct replay_result *result, bool is_whole,
                char **ret_text, size_t *ret_size, struct err *err)
{
        return json_out_text(document(scenario, result, is_whole), ret_text, ret_size, err);
}
