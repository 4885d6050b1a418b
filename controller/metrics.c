#include "controller/metrics_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "controller/alerts.h"
#include "controller/api.h"
#include "controller/core.h"
#include "controller/events.h"
#include "controller/forecaster.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/quarantine.h"
#include "controller/room.h"
#include "controller/usage.h"
#include "controller/worker.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/ledger.h"
#include "net/http.h"

#define ALERTS_SHOWN 200

/* ---- writing ---- */

static void head(struct text *text, const char *name, const char *type, const char *help)
{
        text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(struct text *text, const char *name, const char *type, const char *help,
                   uint64_t value)
{
        head(text, name, type, help);
        text_add(text, "%s %" PRIu64 "\n", name, value);
}

static void seconds(struct text *text, const char *name, const char *type, const char *help,
                    int64_t ms)
{
        head(text, name, type, help);
        text_add(text, "%s %" PRId64 ".%03d\n", name, ms / 1000, (int)(ms % 1000));
}

/* Names of models, classes and operations hold no quotes and no line ends; a backslash may not come
 * either. */
static void labelled(struct text *text, const char *name, const char *key, const char *value,
                     uint64_t count)
{
        text_add(text, "%s{%s=\"%s\"} %" PRIu64 "\n", name, key, value, count);
}

/* To a thousandth. */
static void add_milli(struct text *text, uint64_t milli)
{
        text_add(text, "%" PRIu64 ".%03u\n", milli / 1000, (unsigned)(milli % 1000));
}

/* ---- the pool ---- */

struct model_units {
        uint64_t held, buckets[BUCKETS_END], all;
};

static struct model_units units_of(const struct ledger *ledger, unsigned model)
{
        struct model_units units = {.held = ledger_held_now(ledger, model)};

        units.all = units.held;
        for (unsigned b = 0; b < BUCKETS_END; b++) {
                units.buckets[b] = ledger_units_now(ledger, model, b);
                units.all += units.buckets[b];
        }
        return units;
}

/* How much of what is free no standing shape can use. */
static void write_fragmentation(struct text *text, const struct ledger *ledger,
                                const struct model_table *models)
{
        static const char name[] = "berth_fragmentation_ratio";

        head(text, name, "gauge", "Stranded share of what is free or stranded.");
        for (unsigned m = 0; ledger && m < model_count(models); m++) {
                struct model_units units = units_of(ledger, m);
                uint64_t open = units.buckets[BUCKET_FREE] + units.buckets[BUCKET_STRANDED];
                if (units.all == 0)
                        continue;
                text_add(text, "%s{model=\"%s\"} ", name, model_get(models, m)->name);
                add_milli(text, open ? units.buckets[BUCKET_STRANDED] * 1000 / open : 0);
        }
}

static void write_units(struct text *text, const struct live *live)
{
        static const char name[] = "berth_units";
        const struct ledger *ledger = usage_ledger(live->usage);
        const struct model_table *models = core_models(live->core);

        head(text, name, "gauge", "Units of capacity by what they are used for; 126000 a device.");
        for (unsigned m = 0; ledger && m < model_count(models); m++) {
                struct model_units units = units_of(ledger, m);
                const char *model = model_get(models, m)->name;
                if (units.all == 0)
                        continue;
                text_add(text, "%s{model=\"%s\",state=\"allocated\"} %" PRIu64 "\n", name, model,
                         units.held);
                for (unsigned b = BUCKET_RESERVED; b < BUCKETS_END; b++)
                        text_add(text, "%s{model=\"%s\",state=\"%s\"} %" PRIu64 "\n", name, model,
                                 ledger_bucket_name(b), units.buckets[b]);
        }
        write_fragmentation(text, ledger, models);
}

/* Of the node that is nearest to it; none where no node is enrolled. */
static void write_certificates(struct text *text, const struct live *live, int64_t now_ms)
{
        static const char name[] = "berth_node_certificate_expires_seconds";
        const struct node_entry *node;
        int64_t first_ms = INT64_MAX;
        uint64_t enrolled = 0;
        uint32_t cursor = 0;

        while ((node = nodes_next(live->nodes, &cursor))) {
                if (!node->described || node->enrolment.id == 0)
                        continue;
                enrolled++;
                if (node->enrolment.until_ms < first_ms)
                        first_ms = node->enrolment.until_ms;
        }
        number(text, "berth_nodes_enrolled", "gauge", "Nodes that have a certificate.", enrolled);
        head(text, name, "gauge", "Until the first certificate of a node expires; below 0: since.");
        if (enrolled > 0)
                text_add(text, "%s %" PRId64 "\n", name, (first_ms - now_ms) / 1000);
}

static void write_nodes(struct text *text, const struct live *live)
{
        const struct state *state = core_state(live->core);
        uint64_t up = 0, down = 0, described = 0, connected = 0;
        struct node_entry *node;
        uint32_t cursor = 0;

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                up += state->nodes[n].status == NODE_UP;
                down += node_is_down(&state->nodes[n]);
        }
        while ((node = nodes_next(live->nodes, &cursor))) {
                described += node->described;
                connected += node->described && node->connected;
        }
        head(text, "berth_nodes", "gauge", "Nodes that have joined, by state.");
        labelled(text, "berth_nodes", "state", "up", up);
        labelled(text, "berth_nodes", "state", "down", down);
        number(text, "berth_nodes_described", "gauge", "Nodes of the pool document.", described);
        number(text, "berth_agents_connected", "gauge", "Agents that spoke within their lease.",
               connected);
}

/* ---- work ---- */

static void write_queue(struct text *text, struct metrics *metrics, int64_t now_ms)
{
        const struct state *state = core_state(metrics->live->core);

        metrics_count_queue(metrics, now_ms);
        number(text, "berth_workloads_waiting", "gauge", "Workloads in the queue.", state->waiting);
        number(text, "berth_workloads_running", "gauge", "Workloads that hold their places.",
               state->workload_slots.used - state->waiting);
        number(text, "berth_workloads_noticed", "gauge", "Running ones that were told to stop.",
               state->noticed);
        head(text, "berth_queue", "gauge", "Workloads in the queue, by verdict and class.");
        for (unsigned c = 0; c < QUEUE_CLASSES; c++)
                for (unsigned v = 0; v < VERDICTS_END; v++)
                        if (metrics->queue[c][v] > 0)
                                text_add(text,
                                         "berth_queue{class=\"%s\",verdict=\"%s\"} %" PRIu64 "\n",
                                         c < CLASSES_MAX && state->accounts
                                                 ? state->accounts->tenancy->classes[c].name
                                                 : "",
                                         verdict_name(v), metrics->queue[c][v]);
}

static void write_causes(struct text *text, const struct metrics *metrics)
{
        static const char lost[] = "berth_lost_device_seconds_total";

        head(text, "berth_workloads_ended_total", "counter", "Workloads that ended, by cause.");
        for (unsigned c = 0; c < RELEASE_CAUSES_END; c++)
                labelled(text, "berth_workloads_ended_total", "cause", release_cause_name(c),
                         metrics->ended[c]);
        head(text, "berth_workloads_requeued_total", "counter",
             "Runs that ended and wait again, by cause; stopped: preempted.");
        for (unsigned c = 0; c < RELEASE_CAUSES_END; c++)
                labelled(text, "berth_workloads_requeued_total", "cause", release_cause_name(c),
                         metrics->stopped[c]);
        head(text, lost, "counter", "Work done and thrown away, by cause.");
        for (unsigned c = 0; c < RELEASE_CAUSES_END; c++) {
                text_add(text, "%s{cause=\"%s\"} ", lost, release_cause_name(c));
                add_milli(text, metrics->lost_device_ms[c]);
        }
        head(text, "berth_preemptions_planned_total", "counter", "Plans of preemption, by cause.");
        for (unsigned c = 0; c < PLAN_CAUSES_END; c++)
                labelled(text, "berth_preemptions_planned_total", "cause", plan_cause_name(c),
                         metrics->planned[c]);
        head(text, "berth_notices_total", "counter", "Running work told to stop, by cause.");
        for (unsigned c = 0; c < NOTICE_CAUSES_END; c++)
                labelled(text, "berth_notices_total", "cause", notice_cause_name(c),
                         metrics->noticed[c]);
}

/* ---- deciding and committing ---- */

/* Buckets hold what lies in them; Prometheus wants all up to a bound. Bounds in microseconds. */
static void histogram(struct text *text, const char *name, const char *help,
                      const uint64_t *counts, const int64_t *bounds_us, unsigned bounds,
                      uint64_t sum_us)
{
        uint64_t all = 0;

        head(text, name, "histogram", help);
        for (unsigned b = 0; b < bounds; b++) {
                all += counts[b];
                text_add(text, "%s_bucket{le=\"%" PRId64 ".%06d\"} %" PRIu64 "\n", name,
                         bounds_us[b] / 1000000, (int)(bounds_us[b] % 1000000), all);
        }
        all += counts[bounds];
        text_add(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, all);
        text_add(text, "%s_sum %" PRIu64 ".%06d\n%s_count %" PRIu64 "\n", name, sum_us / 1000000,
                 (int)(sum_us % 1000000), name, all);
}

static void write_decisions(struct text *text, const struct metrics *metrics, int64_t now_ms)
{
        const struct core *core = metrics->live->core;
        const struct core_figures *figures = core_figures(core);
        int64_t bounds_us[CORE_LATENCY_BUCKETS - 1];

        for (unsigned b = 0; b < CORE_LATENCY_BUCKETS - 1; b++)
                bounds_us[b] = INT64_C(1) << b;
        histogram(text, "berth_decision_seconds", "Time to decide and apply one input.",
                  figures->latency, bounds_us, CORE_LATENCY_BUCKETS - 1,
                  figures->latency_ns_sum / 1000);
        head(text, "berth_inputs_total", "counter", "Inputs decided, by kind.");
        for (unsigned k = 0; k < INPUTS_END; k++)
                labelled(text, "berth_inputs_total", "input", input_name(k), figures->inputs[k]);
        head(text, "berth_facts_total", "counter", "Facts decided, by kind.");
        for (unsigned k = 0; k < FACTS_END; k++)
                labelled(text, "berth_facts_total", "fact", fact_name(k), metrics->facts[k]);
        int64_t age_ms = now_ms - core_state(core)->now_ms;
        seconds(text, "berth_cycle_age_seconds", "gauge", "Since the newest tick was decided.",
                age_ms > 0 ? age_ms : 0);
        number(text, "berth_policy_revision", "gauge", "Of the policy in force; 0: none.",
               core_policy_revision(core));
}

static void write_store(struct text *text, const struct metrics *metrics)
{
        struct writer_stats stats;

        core_stats(metrics->live->core, &stats);
        histogram(text, "berth_commit_seconds", "Time to bring a group to the disk.", stats.latency,
                  writer_latency_us, WRITER_LATENCY_BUCKETS - 1, stats.latency_us_sum);
        number(text, "berth_store_up", "gauge", "1: commits go through; 0: the store has failed.",
               stats.state == WRITER_WORKING);
        seconds(text, "berth_commit_busy_seconds", "gauge", "How long the present commit runs.",
                stats.busy_ms);
        number(text, "berth_commit_waiting_batches", "gauge", "Requests that wait for the disk.",
               stats.waiting_batches);
        number(text, "berth_store_failures_total", "counter", "Commits that failed.",
               stats.failures);
        number(text, "berth_log_records_total", "counter", "Records brought to the disk.",
               stats.records);
        number(text, "berth_log_seq", "gauge", "Number of the newest record on the disk.",
               stats.durable_seq);
}

/* ---- the process ---- */

/* What is bounded refuses when it is full: how near that is. */
static void write_tables(struct text *text, const struct state *state)
{
        struct room tables[ROOMS];

        rooms_of(state, tables);
        head(text, "berth_table_used", "gauge", "Entries of a table that is bounded.");
        for (size_t t = 0; t < ROOMS; t++)
                labelled(text, "berth_table_used", "table", tables[t].table, tables[t].used);
        head(text, "berth_table_max", "gauge", "... and how many it may have.");
        for (size_t t = 0; t < ROOMS; t++)
                labelled(text, "berth_table_max", "table", tables[t].table, tables[t].max);
        number(text, "berth_memory_resident_bytes", "gauge", "Memory of the process.",
               room_resident_bytes((int)getpid()));
}

/* What may hold anything. */
static void add_label(struct text *text, const char *value)
{
        for (; *value; value++)
                if (*value == '\n')
                        text_add_bytes(text, "\\n", 2);
                else
                        text_add(text, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
}

static void write_alert(struct text *text, const struct alert *alert)
{
        text_add(text, "berth_alert{kind=\"%s\",subject=\"", alert_kind_names[alert->kind]);
        add_label(text, alert->subject);
        text_add(text, "\",severity=\"%s\"} %d\n",
                 alert_severity_names[alert_severity_of(alert->kind)],
                 alert->acknowledged_ms == 0);
}

/* Each one that fires, up to a bound. */
static void write_alerts(struct text *text, const struct alerts *alerts)
{
        const struct alerts_figures figures = alerts_figures(alerts);
        const struct alert *alert;
        uint32_t cursor = 0;

        head(text, "berth_alerts_firing", "gauge", "Alerts that fire, by kind.");
        for (unsigned k = 0; k < ALERT_KINDS_END; k++)
                labelled(text, "berth_alerts_firing", "kind", alert_kind_names[k],
                         figures.firing[k]);
        head(text, "berth_alert", "gauge", "One that fires; 0: somebody looks after it.");
        for (unsigned n = 0; n < ALERTS_SHOWN && (alert = alerts_next(alerts, &cursor)); n++)
                write_alert(text, alert);
        number(text, "berth_alerts_left_out_total", "counter",
               "Alerts for which there was no room.", figures.left_out);
        number(text, "berth_webhook_posted_total", "counter", "Changes that the webhook has taken.",
               figures.posted);
        number(text, "berth_webhook_failures_total", "counter", "Tries of the webhook that failed.",
               figures.failed);
        number(text, "berth_webhook_given_up_total", "counter",
               "Changes that the webhook refused too often.", figures.given_up);
        number(text, "berth_webhook_waiting", "gauge", "Changes that the webhook has not got yet.",
               figures.waiting);
}

static void write_requests(struct text *text, const struct metrics *metrics)
{
        head(text, "berth_requests_total", "counter", "Answers, by operation and status.");
        for (size_t r = 0; r <= api_routes_count; r++)
                for (unsigned s = 0; s < STATUS_MAX; s++)
                        if (metrics->requests[r][s] > 0)
                                text_add(text,
                                         "berth_requests_total{operation=\"%s\",status=\"%u\"} "
                                         "%" PRIu64 "\n",
                                         r < api_routes_count ? api_routes[r].operation : "", s,
                                         metrics->requests[r][s]);
}

static void write_http(struct text *text, const struct metrics *metrics)
{
        struct http_counters counters = metrics->http ? http_counters(metrics->http)
                                                      : (struct http_counters){0};

        write_requests(text, metrics);
        number(text, "berth_http_refused_total", "counter",
               "Requests that the server refused by itself: too large, too slow, too many.",
               counters.refused);
        number(text, "berth_http_connections", "gauge", "Open ones.", counters.connections);
        number(text, "berth_http_accepted_total", "counter", "Connections, ever.",
               counters.accepted);
        head(text, "berth_http_cut_total", "counter", "Connections that were cut, by reason.");
        for (unsigned c = 0; c < HTTP_CUTS_END; c++)
                labelled(text, "berth_http_cut_total", "reason", http_cut_name(c),
                         counters.cuts[c]);
}

static void write_events(struct text *text, const struct metrics *metrics)
{
        struct events_figures figures = events_figures(metrics->events);

        number(text, "berth_events_watchers", "gauge", "Open streams of events.",
               figures.watchers);
        number(text, "berth_events_behind", "gauge", "Watchers that catch up.", figures.behind);
        number(text, "berth_events_cut_total", "counter", "Watchers that did not keep up.",
               figures.cut);
}

/* ---- the worker ---- */

static void write_worker(struct text *text, const struct worker *worker)
{
        struct worker_shown shown = worker ? worker_shown(worker) : (struct worker_shown){0};
        const struct worker_figures *figures = &shown.figures;

        number(text, "berth_worker_up", "gauge", "1: the worker process runs.", shown.is_up);
        seconds(text, "berth_worker_age_seconds", "gauge", "Since it was heard last.",
                shown.silent_ms);
        number(text, "berth_worker_starts_total", "counter", "Worker processes started.",
               shown.starts);
        number(text, "berth_worker_behind_records", "gauge", "Records of the log it has to follow.",
               figures->behind);
        number(text, "berth_worker_plans_total", "counter", "Price plans entered.", shown.plans);
        number(text, "berth_worker_estimates_total", "counter", "Estimates of starts entered.",
               shown.estimates);
        number(text, "berth_worker_late_total", "counter",
               "What it told too late: dropped, as its work had started or gone.", shown.dropped);
        number(text, "berth_worker_refused_total", "counter", "Lines that it may not say.",
               shown.refused);
        head(text, "berth_worker_coverage_percent", "gauge",
             "Starts within the foretold p90, of the last 100; 0: too few to say.");
        labelled(text, "berth_worker_coverage_percent", "work", "small", figures->coverage_small);
        labelled(text, "berth_worker_coverage_percent", "work", "wide", figures->coverage_wide);
        head(text, "berth_worker_foretold_starts", "gauge",
             "Starts that estimates are learnt from.");
        labelled(text, "berth_worker_foretold_starts", "work", "small", figures->starts_small);
        labelled(text, "berth_worker_foretold_starts", "work", "wide", figures->starts_wide);
        seconds(text, "berth_worker_cpu_seconds", "gauge", "Processor time it has used.",
                (int64_t)figures->cpu_ms);
        number(text, "berth_worker_memory_resident_bytes", "gauge", "Memory it holds.",
               shown.rss_mib << 20);
}

static void write_forecasts(struct text *text, struct forecaster *forecaster)
{
        head(text, "berth_forecasts_total", "counter",
             "Forecasts of dry runs that were asked for.");
        for (unsigned o = 0; o < FORECAST_OUTCOMES_END; o++)
                labelled(text, "berth_forecasts_total", "outcome",
                         forecast_outcome_name((enum forecast_outcome)o),
                         forecaster ? atomic_load(&forecaster->outcomes[o]) : 0);
}

static void write_quarantine(struct text *text, const struct metrics *metrics)
{
        const struct quarantine_entry *entry;
        uint64_t held = 0, suspects = 0;
        uint32_t cursor = 0;

        while ((entry = quarantine_next(metrics->quarantine, &cursor)))
                *(entry->is_held ? &held : &suspects) += 1;
        head(text, "berth_quarantine", "gauge", "Inputs that have crashed the controller.");
        labelled(text, "berth_quarantine", "state", "held", held);
        labelled(text, "berth_quarantine", "state", "suspect", suspects);
        number(text, "berth_quarantine_refused_total", "counter",
               "Inputs that were not tried again.", quarantine_refused(metrics->quarantine));
        number(text, "berth_crashes_found", "gauge", "Crashes that this start found records of.",
               quarantine_crashes(metrics->quarantine));
}

void metrics_write(struct metrics *metrics, int64_t now_ms, struct text *text)
{
        write_units(text, metrics->live);
        write_nodes(text, metrics->live);
        write_certificates(text, metrics->live, now_ms);
        write_queue(text, metrics, now_ms);
        write_causes(text, metrics);
        write_decisions(text, metrics, now_ms);
        write_store(text, metrics);
        write_tables(text, core_state(metrics->live->core));
        write_alerts(text, metrics->live->alerts);
        write_http(text, metrics);
        write_events(text, metrics);
        write_worker(text, metrics->live->worker);
        write_forecasts(text, metrics->live->forecaster);
        write_quarantine(text, metrics);
}

/* ---- life ---- */

struct metrics *metrics_new(struct live *live, const struct events *events,
                            const struct quarantine *quarantine)
{
        struct metrics *metrics = mem_new(1, sizeof *metrics);

        if (!metrics)
                return NULL;
        metrics->live = live;
        metrics->events = events;
        metrics->quarantine = quarantine;
        metrics->requests = mem_new(api_routes_count + 1, sizeof *metrics->requests);
        if (!metrics->requests) {
                mem_free(metrics);
                return NULL;
        }
        metrics_watch(metrics);
        return metrics;
}

void metrics_free(struct metrics *metrics)
{
        if (!metrics)
                return;
        mem_free(metrics->requests);
        mem_free(metrics->verdicts);
        mem_free(metrics);
}

void metrics_serve(struct metrics *metrics, const struct http_server *http)
{
        metrics->http = http;
}
