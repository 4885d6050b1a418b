/* What conditions look like: each reports what is so now, and is silent about what is not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/alerts_impl.h"
#include "controller/core.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/room.h"
#include "controller/usage.h"
#include "controller/webhook.h"
#include "controller/works.h"
#include "engine/accounts.h"
#include "engine/ledger.h"

#define LOOKED_AT_MAX 64                /* held workloads of a bucket that are passed over */

static void say(struct alert_report *report, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void say(struct alert_report *report, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(report->text, sizeof report->text, format, arguments);
        va_end(arguments);
}

/* ---- the pool ---- */

/* Where no work of the model runs or waits, that none could use it says nothing. */
static bool is_wanted(const struct state *state, unsigned model)
{
        bool wanted = state->used[model] > 0;

        for (uint32_t b = 0; !wanted && b < state->buckets_count; b++)
                wanted = state->buckets[b].count > 0 &&
                         (state->shapes[state->buckets[b].shape].models >> model & 1);
        return wanted;
}

/* Less than a device in pieces is no matter, however little else is free; nor is it one of pieces
 * where all that is asked for would not find room on an empty node either. */
static void look_at_fragments(struct alerts *alerts, int64_t now_ms)
{
        const struct ledger *ledger = usage_ledger(alerts->live->usage);
        const struct model_table *models = core_models(alerts->live->core);
        const struct state *state = core_state(alerts->live->core);

        for (unsigned m = 0; ledger && m < model_count(models); m++) {
                uint64_t stranded = ledger_units_now(ledger, m, BUCKET_STRANDED);
                uint64_t open = stranded + ledger_units_now(ledger, m, BUCKET_FREE);
                struct alert_report report = {.kind = ALERT_FRAGMENTATION,
                                              .subject = model_get(models, m)->name,
                                              .tenant = "",
                                              .since_ms = now_ms,
                                              .wait_ms = alerts_rules(alerts)->hold_ms};
                if (stranded < UNITS_DEVICE || !is_wanted(state, m) ||
                    !ledger_can_be_used(ledger, state, m))
                        continue;
                report.value = (int64_t)(stranded * 1000 / open);
                say(&report, "%" PRId64 " %% of the free capacity of %s lies in pieces that no "
                             "work of late could use; `berth idle` shows where",
                    report.value / 10, report.subject);
                alerts_report(alerts, &report, now_ms);
        }
}

static void look_at_room(struct alerts *alerts, int64_t now_ms)
{
        struct room rooms[ROOMS + 1];

        rooms_of(core_state(alerts->live->core), rooms);
        rooms[ROOMS] = (struct room){"memory", room_resident_bytes((int)getpid()),
                                     room_memory_bytes()};
        for (size_t r = 0; r <= ROOMS; r++) {
                struct alert_report report = {.kind = ALERT_MEMORY_PRESSURE,
                                              .subject = rooms[r].table,
                                              .tenant = "",
                                              .since_ms = now_ms,
                                              .wait_ms = alerts_rules(alerts)->hold_ms};
                if (rooms[r].max == 0)
                        continue;
                report.value = (int64_t)(rooms[r].used * 1000 / rooms[r].max);
                if (r == ROOMS)
                        say(&report, "the controller holds %" PRIu64 " of %" PRIu64
                                     " MiB of its machine's memory",
                            rooms[r].used >> 20, rooms[r].max >> 20);
                else
                        say(&report, "the table of %s holds %" PRIu64 " of at most %" PRIu64
                                     "; what is full refuses",
                            rooms[r].table, rooms[r].used, rooms[r].max);
                alerts_report(alerts, &report, now_ms);
        }
}

/* ---- the queue ---- */

/* The first one that nothing holds; NONE. */
static uint32_t first_of(const struct state *state, const struct bucket *bucket)
{
        uint32_t at = bucket->head;

        for (unsigned n = 0; n < LOOKED_AT_MAX && at != NONE && state->workloads[at].holds; n++)
                at = state->workloads[at].next;
        return at != NONE && state->workloads[at].holds ? NONE : at;
}

static const char *name_of(const struct alerts *alerts, uint64_t id)
{
        const struct work *work = works_find(core_works(alerts->live->core), id);

        return work ? work->name : "";
}

static void report_due(struct alerts *alerts, uint32_t tenant, uint32_t slot, int64_t now_ms)
{
        const struct state *state = core_state(alerts->live->core);
        const char *path = state->accounts->tenancy->tenants[tenant].path;
        uint64_t id = state->workloads[slot].id;
        struct alert_report report = {
                .kind = ALERT_BROKEN_PROMISE,
                .subject = path,
                .tenant = path,
                .since_ms = now_ms,
                .watched = id,
                .wait_ms = alerts_rules(alerts)->thresholds[ALERT_BROKEN_PROMISE]};

        say(&report, "workload %" PRIu64 " ('%.60s') fits into what tenant '%.100s' is promised, "
                     "and waits all the same; `berth explain %" PRIu64 "` says why",
            id, name_of(alerts, id), path, id);
        alerts_report(alerts, &report, now_ms);
}

/* Of each tenant the first to come of those that its promise has room for: with one, the others may
 * no longer be due. */
static void look_at_promises(struct alerts *alerts, uint32_t *due, int64_t now_ms)
{
        const struct state *state = core_state(alerts->live->core);

        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                struct admission admission;
                uint32_t slot = bucket->count > 0 ? first_of(state, bucket) : NONE;
                if (slot == NONE || bucket_devices(state, bucket) == 0)
                        continue;
                accounts_admit(state, b, &admission);
                uint32_t *first = &due[bucket->tenant];
                if (admission.models[STANDING_PROTECTED] == 0)
                        continue;
                if (*first == 0 ||
                    state->workloads[slot].arrival < state->workloads[*first - 1].arrival)
                        *first = slot + 1;
        }
        for (uint32_t t = 0; t < state->accounts->tenants; t++)
                if (due[t])
                        report_due(alerts, t, due[t] - 1, now_ms);
}

static void look_at_age(struct alerts *alerts, int64_t now_ms)
{
        const struct state *state = core_state(alerts->live->core);
        uint32_t oldest = NONE;

        for (uint32_t b = 0; b < state->buckets_count; b++) {
                const struct bucket *bucket = &state->buckets[b];
                uint32_t slot = bucket->count > 0 ? first_of(state, bucket) : NONE;
                if (slot == NONE)
                        continue;
                int64_t at_ms = state->workloads[slot].submitted_ms;
                if (oldest == NONE || at_ms < state->workloads[oldest].submitted_ms)
                        oldest = slot;
        }
        if (oldest == NONE)
                return;
        const struct workload *workload = &state->workloads[oldest];
        struct alert_report report = {.kind = ALERT_QUEUE_AGE,
                                      .subject = "pool",
                                      .tenant = "",
                                      .since_ms = workload->submitted_ms,
                                      .value = now_ms - workload->submitted_ms};
        char age[ALERT_AMOUNT_MAX];
        say(&report, "workload %" PRIu64 " ('%.60s') was submitted %s ago and waits; `berth "
                     "explain %" PRIu64 "` says why",
            workload->id, name_of(alerts, workload->id),
            alert_amount_text(ALERT_QUEUE_AGE, report.value, age), workload->id);
        alerts_report(alerts, &report, now_ms);
}

/* What was so at the last look through the queue still is. */
static void keep_as_it_is(struct alerts *alerts, enum alert_kind kind)
{
        for (uint32_t e = 0; e < alerts->count; e++)
                if (alerts->entries[e].is_used && alerts->entries[e].alert.kind == kind &&
                    alerts->entries[e].clear_ms == 0)
                        alerts->entries[e].is_seen = true;
}

static void look_at_queue(struct alerts *alerts, int64_t now_ms)
{
        const struct state *state = core_state(alerts->live->core);
        const struct alert_rules *rules = alerts_rules(alerts);
        int64_t passed_ms = now_ms - alerts->queue_looked_ms;
        uint32_t *due;

        if (alerts->queue_looked_ms && passed_ms >= 0 && passed_ms < ALERTS_QUEUE_MS) {
                keep_as_it_is(alerts, ALERT_BROKEN_PROMISE);
                keep_as_it_is(alerts, ALERT_QUEUE_AGE);
                return;
        }
        alerts->queue_looked_ms = now_ms;
        if (rules->thresholds[ALERT_QUEUE_AGE] != ALERT_OFF)
                look_at_age(alerts, now_ms);
        if (!state->accounts || rules->thresholds[ALERT_BROKEN_PROMISE] == ALERT_OFF)
                return;
        due = mem_new(state->accounts->tenants, sizeof *due);
        if (due)
                look_at_promises(alerts, due, now_ms);
        mem_free(due);
}

/* ---- nodes ---- */

static void look_at_silence(struct alerts *alerts, const struct node_entry *node, int64_t now_ms)
{
        int64_t threshold_ms = alerts_rules(alerts)->thresholds[ALERT_STALE_NODE];
        struct alert_report report = {.kind = ALERT_STALE_NODE,
                                      .subject = node->name,
                                      .tenant = ""};
        char age[ALERT_AMOUNT_MAX];

        int64_t heard_ms = node->leased_ms > alerts->live->leased_ms ? node->leased_ms
                                                                     : alerts->live->leased_ms;
        report.value = live_steady_ms(alerts->live) - heard_ms;
        report.since_ms = now_ms - report.value;
        report.is_unknown = !node->reported && report.value < threshold_ms;
        if (report.value < threshold_ms && !report.is_unknown)
                return;                 /* as most are, and there may be many */
        say(&report, "the agent of node '%.100s' has not been heard of for %s; is it running, and "
                     "can it reach the controller?",
            node->name, alert_amount_text(ALERT_STALE_NODE, report.value, age));
        alerts_report(alerts, &report, now_ms);
}

static void look_at_version(struct alerts *alerts, const struct node_entry *node, int64_t now_ms)
{
        struct alert_report report = {.kind = ALERT_AGENT_VERSION,
                                      .subject = node->name,
                                      .tenant = "",
                                      .since_ms = now_ms,
                                      .value = node->version[0] != '\0',
                                      .is_unknown = !node->reported,
                                      .wait_ms = alerts_rules(alerts)->hold_ms};

        if (node->reported && str_equal(node->version, alerts->version))
                return;
        say(&report, "the agent of node '%.100s' is of version %.40s, and the controller of %.40s",
            node->name, node->version, alerts->version);
        alerts_report(alerts, &report, now_ms);
}

static void look_at_nodes(struct alerts *alerts, int64_t now_ms)
{
        struct node_entry *node;
        uint32_t cursor = 0;

        if (alerts->live->simulated)
                return;                 /* they have no agents */
        while ((node = nodes_next(alerts->live->nodes, &cursor)))
                if (node->described) {
                        look_at_silence(alerts, node, now_ms);
                        look_at_version(alerts, node, now_ms);
                }
}

/* ---- the controller ---- */

static void look_at_store(struct alerts *alerts, int64_t now_ms)
{
        struct alert_report failed = {.kind = ALERT_STORE_FAILED,
                                      .subject = "store",
                                      .tenant = "",
                                      .since_ms = now_ms,
                                      .value = 1};
        struct alert_report slow = {.kind = ALERT_COMMIT_LATENCY,
                                    .subject = "store",
                                    .tenant = "",
                                    .since_ms = now_ms,
                                    .wait_ms = alerts_rules(alerts)->hold_ms};
        struct writer_stats stats;
        uint64_t commits = 0;

        core_stats(alerts->live->core, &stats);
        if (stats.state == WRITER_FAILED) {
                say(&failed, "nothing is taken, for nothing can be kept: %.180s",
                    stats.failure.text);
                alerts_report(alerts, &failed, now_ms);
        }
        for (unsigned b = 0; b < WRITER_LATENCY_BUCKETS; b++)
                commits += stats.latency[b];
        if (commits > alerts->commits && alerts->looked_ms)
                slow.value = (int64_t)((stats.latency_us_sum - alerts->commit_us) / 1000 /
                                       (commits - alerts->commits));
        if (stats.busy_ms > slow.value)
                slow.value = stats.busy_ms;
        slow.is_unknown = commits == alerts->commits && stats.busy_ms == 0;
        alerts->commits = commits;
        alerts->commit_us = stats.latency_us_sum;
        say(&slow, "a commit takes %" PRId64 " ms: every answer waits for that disk", slow.value);
        alerts_report(alerts, &slow, now_ms);
}

static void look_at_cycle(struct alerts *alerts, int64_t now_ms)
{
        int64_t passed_ms = live_steady_ms(alerts->live) - alerts->live->ticked_ms;
        struct alert_report report = {.kind = ALERT_CYCLE_AGE,
                                      .subject = "pool",
                                      .tenant = "",
                                      .since_ms = now_ms - passed_ms,
                                      .value = passed_ms};
        char age[ALERT_AMOUNT_MAX];

        say(&report, "nothing was decided for %s; the controller's own log says why",
            alert_amount_text(ALERT_CYCLE_AGE, report.value, age));
        alerts_report(alerts, &report, now_ms);
}

static void look_at_webhook(struct alerts *alerts, int64_t now_ms)
{
        struct alert_report report = {.kind = ALERT_WEBHOOK_FAILING,
                                      .subject = "webhook",
                                      .tenant = "",
                                      .wait_ms = alerts_rules(alerts)->hold_ms};
        struct webhook_figures figures = {0};

        if (!alerts->webhook || !alerts_rules(alerts)->webhook_url[0])
                return;
        webhook_figures(alerts->webhook, &figures);
        report.is_unknown = figures.posted + figures.failed == 0;
        report.since_ms = figures.failing_since_ms < now_ms ? figures.failing_since_ms : now_ms;
        report.value = figures.failing_since_ms != 0;
        say(&report, "alerts do not get through: %.180s", figures.failure);
        alerts_report(alerts, &report, now_ms);
}

void alerts_measure(struct alerts *alerts, int64_t now_ms)
{
        look_at_fragments(alerts, now_ms);
        look_at_room(alerts, now_ms);
        look_at_queue(alerts, now_ms);
        look_at_nodes(alerts, now_ms);
        look_at_store(alerts, now_ms);
        look_at_cycle(alerts, now_ms);
        look_at_webhook(alerts, now_ms);
        alerts_look_at_restores(alerts, now_ms);
}
