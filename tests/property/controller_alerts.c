/* What is promised of alerts, held against the log and against what happened to the machines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/alerts.h"
#include "controller/core.h"
#include "controller/nodes.h"
#include "store/log.h"
#include "tests/property/controller_sim.h"

#define STALE_MS 20000                  /* as sim_alert_rules says */
#define CLEAR_MS 5000
#define LOOKS_MS 6000                   /* two looks, and what a step leaves open */
#define EXACT_MS 1000                   /* the controller's clock is a slice behind */
#define JUMP_MS  130000                 /* so far a clock can be put back, and a look more */

const char sim_alert_rules[] =
        "alerts: {stale_node: 20s, broken_promise: 40s, for: 5s, commit_latency: off,"
        " memory_pressure: off, agent_version: off, restore_test: off, fragmentation: off}\n";

/* ---- what the log says ---- */

/* Raised, and not resolved: of a kind and subject there is one at a time. */
struct open_alert {
        uint64_t id;
        char kind[32], subject[ALERT_SUBJECT_MAX];
};

struct told {
        struct open_alert open[64];
        unsigned count, raised;         /* open ones; all that ever were */
};

static struct open_alert *find_open(struct told *told, const char *kind, const char *subject)
{
        for (unsigned o = 0; o < told->count; o++)
                if (str_equal(told->open[o].kind, kind) &&
                    str_equal(told->open[o].subject, subject))
                        return &told->open[o];
        return NULL;
}

static void tell(struct sim *sim, struct told *told, const char *change, const json_t *alert)
{
        const char *kind = json_string_value(json_object_get(alert, "kind"));
        const char *subject = json_string_value(json_object_get(alert, "subject"));
        uint64_t id = (uint64_t)json_integer_value(json_object_get(alert, "id"));
        struct open_alert *open = find_open(told, kind, subject);
        bool raised = str_equal(change, "alert_raised");

        if (raised && open)
                sim_fail(sim, "alert %" PRIu64 " (%s of %s) is raised, and %" PRIu64
                         " is not resolved", id, kind, subject, open->id);
        else if (!raised && (!open || open->id != id))
                sim_fail(sim, "alert %" PRIu64 " (%s of %s) is resolved, and was not raised", id,
                         kind, subject);
        else if (raised && told->count == ARRAY_LEN(told->open))
                sim_fail(sim, "more than %zu alerts", ARRAY_LEN(told->open));
        if (sim->failed)
                return;
        if (!raised) {
                *open = told->open[--told->count];
                return;
        }
        told->raised++;
        open = &told->open[told->count++];
        open->id = id;
        (void)str_copy(open->kind, sizeof open->kind, kind);
        (void)str_copy(open->subject, sizeof open->subject, subject);
}

static void tell_note(struct sim *sim, struct told *told, const struct record *record)
{
        const char *change;
        json_t *note, *alert;

        if (record->size < 9 || memcmp(record->body, "{\"alert_", 8) != 0)
                return;
        note = json_loadb(record->body, record->size, 0, NULL);
        json_object_foreach(note, change, alert)
                tell(sim, told, change, alert);
        json_decref(note);
}

/* All that is durable. */
static void read_notes(struct sim *sim, struct told *ret_told)
{
        struct log_cursor *cursor;
        struct record record;

        ret_told->count = ret_told->raised = 0;
        if (log_read(core_view(sim->world.live.core), 1, &cursor, &sim->world.err) < 0) {
                sim_fail(sim, "the log cannot be read: %s", sim->world.err.text);
                return;
        }
        while (!sim->failed && log_next(cursor, &record, NULL) > 0)
                if (record.kind == RECORD_NOTE)
                        tell_note(sim, ret_told, &record);
        log_cursor_free(cursor);
}

static const struct alert *firing(const struct sim *sim, const char *kind, const char *subject)
{
        const struct alert *alert;
        uint32_t cursor = 0;

        while ((alert = alerts_next(sim->world.live.alerts, &cursor)))
                if (str_equal(alert_kind_names[alert->kind], kind) &&
                    str_equal(alert->subject, subject))
                        return alert;
        return NULL;
}

void law_alerts_started(struct sim *sim)
{
        const struct alert *alert;
        struct told told;
        uint32_t cursor = 0;
        unsigned fires = 0;

        read_notes(sim, &told);
        for (unsigned o = 0; !sim->failed && o < told.count; o++) {
                const struct open_alert *open = &told.open[o];
                alert = firing(sim, open->kind, open->subject);
                if (!alert || alert->id != open->id)
                        sim_fail(sim, "alert %" PRIu64 " (%s of %s) was raised, and is forgotten",
                                 open->id, open->kind, open->subject);
        }
        while ((alert = alerts_next(sim->world.live.alerts, &cursor)))
                fires++;
        if (fires != told.count)
                sim_fail(sim, "%u alerts fire after a start, and %u are raised", fires,
                         told.count);
        sim->counts->others[SIM_ALERTS_KEPT] += told.count;
        sim->up_ms = sim->now_ms;
}

/* ---- what happened ---- */

void law_heard(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];

        if (sim->now_ms - machine->heard_ms >= STALE_MS - EXACT_MS)
                machine->fresh_ms = sim->now_ms;
        machine->heard_ms = sim->now_ms;
}

static int64_t later(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

/* A silent node is told of, and one that is heard of again no longer. */
static void look_at_machine(struct sim *sim, unsigned m)
{
        struct machine *machine = &sim->machines[m];
        const struct live *live = &sim->world.live;
        const struct node_entry *node = nodes_find(live->nodes, machine->name);

        if (!node || !node->described) {
                machine->described_ms = sim->now_ms;
                return;
        }
        int64_t begun = later(later(sim->up_ms, live->leased_ms), machine->described_ms);
        int64_t silent_ms = sim->now_ms - later(begun, machine->heard_ms);
        bool fires = firing(sim, "stale_node", machine->name) != NULL;

        if (silent_ms >= STALE_MS + LOOKS_MS && !fires)
                sim_fail(sim, "nothing was heard of %s for %" PRId64 " ms, and no alert fires",
                         machine->name, silent_ms);
        int64_t well_ms = sim->now_ms - later(later(sim->up_ms, machine->fresh_ms),
                                              machine->described_ms);
        if (machine->heard_ms > sim->up_ms &&
            sim->now_ms - machine->heard_ms < STALE_MS - EXACT_MS &&
            well_ms >= STALE_MS + CLEAR_MS + LOOKS_MS &&
            sim->now_ms - sim->jumped_ms > JUMP_MS && fires)
                sim_fail(sim, "%s is heard of for %" PRId64 " ms, and its alert fires still",
                         machine->name, well_ms);
}

static void look_at_one_each(struct sim *sim)
{
        const struct alert *alert, *other;
        uint32_t cursor = 0, second;

        while ((alert = alerts_next(sim->world.live.alerts, &cursor))) {
                second = cursor;
                while ((other = alerts_next(sim->world.live.alerts, &second)))
                        if (other->kind == alert->kind &&
                            str_equal(other->subject, alert->subject))
                                sim_fail(sim, "two alerts fire of %s (%s)", alert->subject,
                                         alert_kind_names[alert->kind]);
        }
}

/* The policy may have lost its place in the log to a second controller's records. */
static bool has_our_rules(const struct sim *sim)
{
        return sim->world.is_up && core_tenancy(sim->world.live.core) != NULL;
}

void law_alerts(struct sim *sim)
{
        if (sim->world.is_up)
                look_at_one_each(sim);
        for (unsigned m = 0; m < SIM_MACHINES; m++)
                if (has_our_rules(sim))
                        look_at_machine(sim, m);
                else
                        sim->machines[m].described_ms = sim->now_ms;
}

/* That nothing can be kept is told of at once; a look may be left out when the clock is put. */
void law_alerts_looked(struct sim *sim)
{
        struct writer_stats stats;

        core_stats(sim->world.live.core, &stats);
        if (stats.state == WRITER_FAILED && sim->now_ms - sim->jumped_ms > LOOKS_MS &&
            !firing(sim, "store_failed", "store"))
                sim_fail(sim, "the store has failed, and no alert fires");
        sim->counts->others[SIM_ALERTS_FAILED] += stats.state == WRITER_FAILED;
}

/* All is well for long: nothing fires, and all that was raised is resolved. */
void law_alerts_rest(struct sim *sim)
{
        const struct alert *alert;
        struct told told;
        uint32_t cursor = 0;

        if (!has_our_rules(sim))
                return;
        while ((alert = alerts_next(sim->world.live.alerts, &cursor)))
                sim_fail(sim, "all is well, and alert %" PRIu64 " fires: %s", alert->id,
                         alert->text);
        read_notes(sim, &told);
        sim->counts->others[SIM_ALERTS_RAISED] += told.raised;
        if (told.count > 0)
                sim_fail(sim, "all is well, and alert %" PRIu64 " (%s of %s) was never resolved",
                         told.open[0].id, told.open[0].kind, told.open[0].subject);
}
