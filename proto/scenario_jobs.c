/* A workload that is a recorded history, and the policies it is replayed with. */
#include <stdint.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/zone.h"
#include "proto/scenario_impl.h"
#include "proto/when.h"

#define FACTOR_MILLI_MAX  1000000              /* a limit 1,000 times as long as the job */
#define CHECKPOINT_MS_MAX INT64_C(31536000000) /* a year */
#define RESTART_MS_MAX    INT64_C(86400000)
#define TENANT_JOBS_MAX   10000000

_Static_assert(SCENARIO_ZONE_MAX == ZONE_NAME_MAX, "a zone's name fits");

static const char *const column_names[JOB_COLUMNS_END] = {
#define X(name, wire, is_needed) [JOB_COLUMN_##name] = wire,
        JOB_COLUMNS(X)
#undef X
};

static const bool column_is_needed[JOB_COLUMNS_END] = {
#define X(name, wire, is_needed) [JOB_COLUMN_##name] = is_needed,
        JOB_COLUMNS(X)
#undef X
};

static const char *const rule_names[] = {
#define X(name, wire, help) [RULE_##name] = wire,
        HISTORY_RULES(X)
#undef X
};
_Static_assert(ARRAY_LEN(rule_names) == RULE_FILE, "every rule has a name");

static const char *const duration_names[DURATIONS_END] = {
#define X(name, wire) [DURATIONS_##name] = wire,
        HISTORY_DURATIONS(X)
#undef X
};

const char *history_rule_name(enum history_rule rule)
{
        return rule_names[rule];
}

/* ---- columns: {submit: timestamp, duration: duration, devices: num_gpus, tenant: cluster} ---- */

static int read_columns(struct scenario_history *history, const struct doc_node *map,
                        struct err *err)
{
        const struct doc_node *columns, *node;
        int rc;

        if ((rc = doc_need(map, "columns", &columns, err)) < 0 ||
            (rc = doc_check_keys(columns, column_names, JOB_COLUMNS_END, err)) < 0)
                return rc;
        for (unsigned c = 0; c < JOB_COLUMNS_END; c++) {
                char *name = history->columns[c];
                if (column_is_needed[c] &&
                    (rc = doc_need(columns, column_names[c], &node, err)) < 0)
                        return rc;
                node = doc_get(columns, column_names[c]);
                if ((rc = doc_copy(node, name, SCENARIO_COLUMN_MAX, err)) < 0)
                        return rc;
                if (node && !name[0])
                        return doc_fail(node, err, "is empty; write the name of a column");
                for (unsigned before = 0; before < c && name[0]; before++)
                        if (str_equal(history->columns[before], name))
                                return doc_fail(node, err,
                                                "is the column of '%s' already; name another, or "
                                                "leave it out",
                                                column_names[before]);
        }
        return 0;
}

/* ---- timezone, from, until ---- */

static int read_when(const struct doc_node *node, const struct zone *zone, bool *has,
                     int64_t *ret_ms, struct err *err)
{
        const char *text = NULL;
        int rc = doc_text(node, 1, WHEN_TEXT_MAX - 1, &text, err);

        if (rc < 0 || !text)
                return rc;
        if ((rc = when_parse_local(text, zone, ret_ms, err)) < 0) {
                doc_blame(node, err);
                return rc;
        }
        *has = true;
        return 0;
}

static int read_window(struct scenario_history *history, const struct doc_node *map,
                       struct err *err)
{
        const struct doc_node *node = doc_get(map, "timezone");
        struct zone *zone;
        int rc;

        (void)str_copy(history->timezone, sizeof history->timezone, "UTC");
        history->from_ms = INT64_MIN;
        history->until_ms = INT64_MAX;
        if ((rc = doc_copy(node, history->timezone, sizeof history->timezone, err)) < 0)
                return rc;
        if ((rc = zone_load(history->timezone, &zone, err)) < 0) {
                if (node)
                        doc_blame(node, err);
                return rc;
        }
        rc = read_when(doc_get(map, "from"), zone, &history->has_from, &history->from_ms, err);
        if (rc == 0)
                rc = read_when(doc_get(map, "until"), zone, &history->has_until, &history->until_ms,
                               err);
        zone_free(zone);
        if (rc == 0 && history->until_ms <= history->from_ms)
                rc = doc_fail(doc_get(map, "until"), err,
                              "does not lie behind 'from'; jobs are taken from there until before "
                              "it");
        return rc;
}

/* ---- limit_factor: none | [1, 10] ---- */

static int read_limit_factor(struct scenario_history *history, const struct doc_node *node,
                             struct err *err)
{
        static const char *const words[] = {"none"};
        const struct doc_node *ends[2];
        unsigned word = 0;
        int rc;

        if (!node)
                return 0;
        if (doc_kind(node) != DOC_LIST) {
                if (doc_choice(node, words, 1, &word, err) < 0)
                        return doc_fail(node, err,
                                        "is neither none nor two factors; write for example "
                                        "[1, 10]: limits from once to ten times the duration");
                return 0;
        }
        if ((rc = doc_check_list(node, 2, 2, err)) < 0)
                return rc;
        ends[0] = doc_first(node);
        ends[1] = doc_next(ends[0]);
        for (unsigned i = 0; i < 2; i++) {
                uint64_t milli = 0;
                if (doc_kind(ends[i]) == DOC_NULL)
                        return doc_fail(ends[i], err, "is no number; write for example 1");
                if ((rc = doc_milli(ends[i], 1000, FACTOR_MILLI_MAX, &milli, err)) < 0)
                        return rc;
                history->limit_factor_milli[i] = (uint32_t)milli;
        }
        if (history->limit_factor_milli[1] < history->limit_factor_milli[0])
                return doc_fail(ends[1], err,
                                "is less than the factor before it; write the least one first");
        history->has_limit_factor = true;
        return 0;
}

/* ---- checkpoint: {every: 30m, restart: 60s, share_pct: 100} ---- */

static int read_checkpoint(struct scenario_history *history, const struct doc_node *node,
                           struct err *err)
{
        static const char *const keys[] = {"every", "restart", "share_pct"};
        const struct doc_node *every;
        uint32_t share_pct = 100;
        int rc;

        if (!node)
                return 0;
        if ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(node, "every", &every, err)) < 0 ||
            (rc = doc_duration_ms(every, 1000, CHECKPOINT_MS_MAX, &history->checkpoint_every_ms,
                                  err)) < 0 ||
            (rc = doc_duration_ms(doc_get(node, "restart"), 0, RESTART_MS_MAX,
                                  &history->checkpoint_restart_ms, err)) < 0 ||
            (rc = doc_u32(doc_get(node, "share_pct"), 0, 100, &share_pct, err)) < 0)
                return rc;
        if (doc_kind(every) == DOC_NULL)
                return doc_fail(every, err, "has no time; write for example 30m");
        history->checkpoint_share_pct = (uint8_t)share_pct;
        history->has_checkpoint = true;
        return 0;
}

/* ---- the workload ---- */

int scenario_read_jobs(const struct reader *reader, const struct doc_node *map,
                       const struct doc_node *source, struct err *err)
{
        static const char *const made[] = {"interference", "arrivals",     "arrive_pct",   "load",
                                           "mean_life",    "warmup_lives", "measure_lives"};
        static const char *const table[] = {"columns"};
        struct scenario_workload *work = &reader->scenario->workload;
        struct scenario_history *history = &work->history;
        bool is_sacct = str_equal(doc_key(source), "sacct");
        int rc;

        work->source = is_sacct ? WORKLOAD_SACCT : WORKLOAD_JOBS_CSV;
        work->arrivals = ARRIVALS_RECORDED;
        if (reader->scenario->pool.source != POOL_UNIFORM)
                return doc_fail(source, err,
                                "needs a pool of equal nodes; write pool: {nodes: 72, "
                                "devices_per_node: 8, model: V100-16}");
        if (doc_kind(source) == DOC_NULL)
                return doc_fail(source, err, "names no file; write for example history.csv");
        if ((rc = scenario_refuse_keys(map, made, ARRAY_LEN(made),
                                       "does not go with a history, which says itself what comes "
                                       "and when; leave it out",
                                       err)) < 0 ||
            (rc = scenario_read_path(reader, source, history->file, err)) < 0)
                return rc;
        rc = is_sacct ? scenario_refuse_keys(map, table, 1,
                                             "goes with jobs_csv only: sacct names its columns "
                                             "itself; leave it out",
                                             err)
                      : read_columns(history, map, err);
        if (rc < 0 || (rc = read_window(history, map, err)) < 0 ||
            (rc = doc_u32(doc_get(map, "tenants_at_least_jobs"), 0, TENANT_JOBS_MAX,
                          &history->tenants_at_least_jobs, err)) < 0 ||
            (rc = read_limit_factor(history, doc_get(map, "limit_factor"), err)) < 0)
                return rc;
        return read_checkpoint(history, doc_get(map, "checkpoint"), err);
}

/* ---- policies: [default, fifo-skip, sliced.yaml] ---- */

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text), tail = strlen(end);

        return length > tail && str_equal(text + length - tail, end);
}

static int read_policy(const struct reader *reader, const struct doc_node *node,
                       struct scenario_policy *policy, struct err *err)
{
        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];
        const char *text = NULL;
        int rc = doc_text(node, 1, SCENARIO_PATH_MAX - 1, &text, err);

        if (rc < 0)
                return rc;
        if (!text)
                return doc_fail(node, err,
                                "is empty; write a policy file or for example fifo-skip");
        (void)str_copy(policy->name, sizeof policy->name, str_show(text, show));
        if (ends_with(text, ".yaml") || ends_with(text, ".yml") || ends_with(text, ".json")) {
                policy->rule = RULE_FILE;
                return scenario_read_path(reader, node, policy->path, err);
        }
        for (unsigned r = 0; r < RULE_FILE; r++) {
                policy->rule = (enum history_rule)r;
                if (str_equal(rule_names[r], text))
                        return 0;
        }
        return doc_fail(node, err,
                        "'%s' is neither a policy file (.yaml, .yml, .json) nor known; %s", show,
                        str_near(rule_names, RULE_FILE, text, near, sizeof near));
}

static int add_policy(const struct reader *reader, const struct doc_node *node, struct err *err)
{
        struct scenario *scenario = reader->scenario;
        struct scenario_policy *policy = &scenario->policies[scenario->policies_count];
        int rc = read_policy(reader, node, policy, err);

        if (rc < 0)
                return rc;
        for (uint32_t p = 0; p < scenario->policies_count; p++)
                if (scenario->policies[p].rule == policy->rule &&
                    str_equal(scenario->policies[p].path, policy->path))
                        return doc_fail(node, err, "'%s' stands twice; name it once", policy->name);
        scenario->policies_count++;
        return 0;
}

/* Told only what is not known, a policy would have to guess. */
static int check_durations(const struct scenario *scenario, const struct doc_node *node,
                           struct err *err)
{
        const struct scenario_history *history = &scenario->workload.history;

        if (scenario->durations != DURATIONS_LIMIT || history->has_limit_factor ||
            scenario->workload.source == WORKLOAD_SACCT || history->columns[JOB_COLUMN_LIMIT][0])
                return 0;
        return doc_fail(node, err,
                        "no job has a limit here; add workload.columns.limit or "
                        "workload.limit_factor: [1, 10], or write learned or oracle");
}

/* ---- eta: 40 ---- */

static int read_eta(struct scenario *scenario, const struct doc_node *node, struct err *err)
{
        int rc = doc_u32(node, 1, SCENARIO_ETA_MAX, &scenario->eta_every, err);

        if (rc < 0 || !node)
                return rc;
        if (!scenario_has_policy(scenario))
                return doc_fail(node, err,
                                "needs a policy: comparisons (fifo, shortest ...) foretell "
                                "nothing; add a file or default to 'policies', or leave it out");
        return 0;
}

/* ---- what is compared ---- */

static int read_list(const struct reader *reader, const struct doc_node *list, struct err *err)
{
        struct scenario *scenario = reader->scenario;
        int rc;

        if (!list) {
                struct scenario_policy *policy = &scenario->policies[scenario->policies_count++];
                policy->rule = RULE_DEFAULT;
                (void)str_copy(policy->name, sizeof policy->name, rule_names[RULE_DEFAULT]);
                return 0;
        }
        if ((rc = doc_check_list(list, 1, SCENARIO_POLICIES_MAX, err)) < 0)
                return rc;
        DOC_EACH(node, list)
                if ((rc = add_policy(reader, node, err)) < 0)
                        return rc;
        return 0;
}

int scenario_read_policies(const struct reader *reader, const struct doc_node *root,
                           struct err *err)
{
        static const char *const keys[] = {"policies", "durations", "eta"};
        struct scenario *scenario = reader->scenario;
        unsigned durations = DURATIONS_LEARNED;
        int rc;

        if (!scenario_is_history(scenario))
                return scenario_refuse_keys(root, keys, ARRAY_LEN(keys),
                                            "goes with a history only (workload.jobs_csv, "
                                            "workload.sacct); leave it out",
                                            err);
        if ((rc = doc_choice(doc_get(root, "durations"), duration_names, DURATIONS_END, &durations,
                             err)) < 0)
                return rc;
        scenario->durations = (enum history_durations)durations;
        if ((rc = read_list(reader, doc_get(root, "policies"), err)) < 0 ||
            (rc = check_durations(scenario, doc_get(root, "durations"), err)) < 0)
                return rc;
        return read_eta(scenario, doc_get(root, "eta"), err);
}
