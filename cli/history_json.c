#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/history_out.h"
#include "cli/json_out.h"
#include "cli/replay_out.h"
#include "proto/scenario.h"
#include "sim/history.h"

#define DECIMAL_MAX 40 /* digits of 128 bits, with the final NUL */

static const char *decimal(unit_ms value, char buf[DECIMAL_MAX])
{
        char *at = buf + DECIMAL_MAX - 1;

        *at = '\0';
        do
                *--at = (char)('0' + (int)(value % 10));
        while ((value /= 10) > 0);
        return at;
}

static json_t *tenants(const struct history_figures *figures)
{
        json_t *list = json_array();

        for (uint32_t t = 0; list && t < figures->tenants_count; t++) {
                const struct history_tenant *tenant = &figures->tenants[t];
                json_t *entry = json_pack("{s:s, s:o, s:{s:o}, s:o}", "tenant", tenant->name,
                                          "jobs", json_out_number(tenant->jobs), "wait_s", "mean",
                                          json_out_number(tenant->wait_mean_s), "device_hours",
                                          json_out_number(tenant->device_hours));
                if (json_array_append_new(list, entry) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

static json_t *gates(const struct history_figures *figures)
{
        json_t *map = json_object();

        for (unsigned g = 0; map && g < HISTORY_GATES; g++)
                if (json_object_set_new(map, history_gate_name(g),
                                        json_out_number(figures->waited_device_hours[g])) < 0) {
                        json_decref(map);
                        return NULL;
                }
        return map;
}

static json_t *ledger(const struct history_figures *figures)
{
        json_t *map = json_object();
        char buf[DECIMAL_MAX];

        for (uint32_t b = 0; map && b < figures->ledger_count; b++) {
                const struct history_bucket *bucket = &figures->ledger[b];
                json_t *text = json_string(decimal(bucket->unit_ms, buf));
                if (json_object_set_new(map, bucket->name, text) < 0) {
                        json_decref(map);
                        return NULL;
                }
        }
        return map;
}

/* False: out of memory. */
static bool add_optional(json_t *entry, const struct history_figures *figures)
{
        bool ok = true;

        if (figures->refused > 0)
                ok = json_object_set_new(entry, "refused", json_out_number(figures->refused)) == 0;
        if (ok && figures->has_promises)
                ok = json_object_set_new(entry, "promises",
                                         json_pack("{s:o, s:o}", "made",
                                                   json_out_number(figures->promises_made),
                                                   "broken",
                                                   json_out_number(figures->promises_broken))) == 0;
        if (ok && figures->has_gates)
                ok = json_object_set_new(entry, "waited_device_hours_by_gate", gates(figures)) == 0;
        if (ok && figures->has_ledger)
                ok = json_object_set_new(entry, "ledger_unit_ms", ledger(figures)) == 0;
        if (ok && figures->has_eta)
                ok = json_object_set_new(
                             entry, "eta",
                             json_pack("{s:o, s:o, s:o}", "estimated_pct",
                                       json_out_number(figures->eta_estimated_pct),
                                       "p90_coverage_pct",
                                       json_out_number(figures->eta_p90_coverage_pct),
                                       "median_relative_error",
                                       json_out_number(figures->eta_median_relative_error))) == 0;
        return ok;
}

static json_t *row_entry(const struct scenario *scenario, const struct history_row *row)
{
        const struct history_figures *figures = &row->figures;
        char placement[PLACEMENT_TEXT_MAX];
        json_t *wait = json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean",
                                 json_out_number(figures->wait_mean_s), "p50",
                                 json_out_number(figures->wait_p50_s), "p95",
                                 json_out_number(figures->wait_p95_s), "p99",
                                 json_out_number(figures->wait_p99_s), "max",
                                 json_out_number(figures->wait_max_s));
        json_t *entry = json_pack(
                "{s:s, s:s, s:o, s:o, s:{s:o}, s:{s:o}, s:{s:o}, s:o, s:o, s:I, s:o, s:o}",
                "policy", scenario->policies[row->policy].name, "placement",
                history_placement_text(row, placement), "jobs", json_out_number(figures->jobs),
                "wait_s", wait, "jct_s", "mean", json_out_number(figures->jct_mean_s),
                "wide_wait_s", "mean", json_out_number(figures->wide_wait_mean_s), "short_wait_s",
                "mean", json_out_number(figures->short_wait_mean_s), "utilisation_pct",
                json_out_number(figures->utilisation_pct), "preemptions",
                json_out_number(figures->preemptions), "max_stops_of_one_job",
                (json_int_t)figures->max_stops_of_one_job, "lost_device_hours",
                json_out_number(figures->lost_device_hours), "tenants", tenants(figures));

        if (entry && !add_optional(entry, figures)) {
                json_decref(entry);
                return NULL;
        }
        return entry;
}

int history_json(const struct scenario *scenario, const struct history_result *result,
                 bool is_whole, char **ret_text, size_t *ret_size, struct err *err)
{
        char *text = mem_new(1, 1);     /* no row is no failure */
        size_t size = 0;
        int rc = text ? 0 : err_set(err, ERR_NOMEM, "out of memory while writing JSON");

        for (uint32_t r = 0; rc == 0 && r < result->rows_count; r++) {
                json_t *entry = row_entry(scenario, &result->rows[r]);
                if (entry && !is_whole && r + 1 == result->rows_count)
                        json_object_set_new(entry, "stopped", json_true());
                rc = json_out_add(entry, JSON_COMPACT, &text, &size, err);
        }
        if (rc < 0) {
                mem_free(text);
                return rc;
        }
        *ret_text = text;
        *ret_size = size;
        return 0;
}
