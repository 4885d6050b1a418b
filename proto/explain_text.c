#include "proto/explain_text.h"

#include <inttypes.h>
#include <string.h>

#include "engine/units.h"
#include "proto/policy_doc.h"
#include "proto/when.h"

static void print_time(FILE *file, int64_t ms, const struct explain_names *names)
{
        char when[WHEN_TEXT_MAX];

        if (names->clock)
                fprintf(file, "%s", when_text(ms / 1000 * 1000, when));
        else
                fprintf(file, "%" PRId64 " s", ms / 1000);
}

const char *explain_span_text(int64_t ms, char buf[EXPLAIN_SPAN_MAX])
{
        int64_t minutes = ms / 60000;

        if (minutes < 1)
                snprintf(buf, EXPLAIN_SPAN_MAX, "%" PRId64 "s", ms / 1000);
        else if (minutes < 60)
                snprintf(buf, EXPLAIN_SPAN_MAX, "%" PRId64 "m", minutes);
        else if (minutes < 2880)
                snprintf(buf, EXPLAIN_SPAN_MAX, "%" PRId64 "h %" PRId64 "m", minutes / 60,
                         minutes % 60);
        else
                snprintf(buf, EXPLAIN_SPAN_MAX, "%" PRId64 "d %" PRId64 "h", minutes / 1440,
                         minutes % 1440 / 60);
        return buf;
}

static const char *name_of(uint64_t id, const struct explain_names *names, char buf[32])
{
        const char *name = names->workload ? names->workload(names->arg, id) : NULL;

        if (name)
                return name;
        snprintf(buf, 32, "workload %" PRIu64, id);
        return buf;
}

/* ---- why, in one sentence ---- */

static const char *held_text(const struct explanation *it, char buf[EXPLAIN_TEXT_MAX])
{
        if (it->holds & HOLD_USER)
                snprintf(buf, EXPLAIN_TEXT_MAX, "It is held until its owner releases it.");
        else if (it->holds & HOLD_AFTER)
                snprintf(buf, EXPLAIN_TEXT_MAX,
                         "It waits for the end of %" PRIu32 " other workload%s.", it->after_left,
                         it->after_left == 1 ? "" : "s");
        else if (it->holds & HOLD_ARRAY)
                snprintf(buf, EXPLAIN_TEXT_MAX,
                         "%" PRIu32 " tasks of its array run, and at most %" PRIu32 " may.",
                         it->array_running, it->array_at_once);
        else
                snprintf(buf, EXPLAIN_TEXT_MAX, "Its start time has not come.");
        return buf;
}

static enum gate first_failed(const struct explanation *it)
{
        unsigned gate = 0;

        while (gate < EXPLAIN_GATES && it->gates[gate].passed)
                gate++;
        return (enum gate)gate;
}

static const char *refused_text(const struct explanation *it)
{
        switch (first_failed(it)) {
        case GATE_JOBS:
                return "Its tenant has as many jobs as it may have.";
        case GATE_BUDGET:
                return "The budget of its tenant is used up.";
        default:
                return "Its tenant may not use this class, device model or standing.";
        }
}

static const char *room_text(const struct explanation *it, char buf[EXPLAIN_TEXT_MAX])
{
        if (it->table_full)
                return "The engine's tables are full.";
        if (it->request.form.members == 1)
                snprintf(buf, EXPLAIN_TEXT_MAX, "It finds %sroom now, on %" PRIu32 " node%s.",
                         it->all.members ? "" : "no ", it->all.nodes,
                         it->all.nodes == 1 ? "" : "s");
        else
                snprintf(buf, EXPLAIN_TEXT_MAX,
                         "%" PRIu32 " of %" PRIu32 " members find room now, on %" PRIu32 " node%s.",
                         it->all.members, it->request.form.members, it->all.nodes,
                         it->all.nodes == 1 ? "" : "s");
        return buf;
}

const char *explain_summary(const struct explanation *it, const struct explain_names *names,
                            char buf[EXPLAIN_TEXT_MAX])
{
        (void)names;
        buf[0] = '\0';
        switch (it->verdict) {
        case VERDICT_REFUSED:
                return refused_text(it);
        case VERDICT_NEVER:
                return first_failed(it) == GATE_LIMIT
                               ? "It alone is above a limit."
                               : "This pool could not hold it if it were empty.";
        case VERDICT_WAIT_QUOTA:
                return first_failed(it) == GATE_JOBS ? "As many run as may run."
                                                     : "A quota is reached.";
        case VERDICT_WAIT_BUDGET:
                return "A budget is used up.";
        case VERDICT_HELD:
                return held_text(it, buf);
        case VERDICT_WAIT_ORDER:
                return "There is room, but others have the claim to it.";
        case VERDICT_WAIT_CAPACITY:
                return room_text(it, buf);
        case VERDICT_WAIT_PREEMPTION:
                snprintf(buf, EXPLAIN_TEXT_MAX, "Room is being made for it (%s).",
                         plan_cause_name(it->plan_cause));
                return buf;
        case VERDICT_STARTING:
                return "Nothing stands in its way: it starts at the next turn.";
        case VERDICT_RUNNING:
                if (it->is_torn)
                        return "A part of it is lost: a device broke, or its node was given up. "
                               "What is left is being ended, and then it waits again.";
                if (it->is_silent)
                        return "Its node is silent. It keeps its place until the node is back, or "
                               "an operator gives it up.";
                if (it->told_idle)
                        return "It runs, and has been told to stop: its devices are idle.";
                if (it->until_ms)
                        return "It runs, and has been told to stop.";
                return it->is_idle ? "It runs, and its devices are idle." : "It runs.";
        case VERDICT_UNKNOWN:
                return "What is known of the pool is too old to say.";
        case VERDICTS_END:
                break;
        }
        return buf;
}

/* ---- parts ---- */

static void print_head(FILE *file, const struct explanation *it, const struct explain_names *names)
{
        const struct state *state = names->state;
        char buf[EXPLAIN_TEXT_MAX], name[32], span[EXPLAIN_SPAN_MAX];

        fprintf(file, "%s", name_of(it->workload, names, name));
        if (state->accounts && it->request.tenant < state->accounts->tenancy->tenants_count)
                fprintf(file, " of %s", state->accounts->tenancy->tenants[it->request.tenant].path);
        fprintf(file, ": %s\n%s\n", verdict_name(it->verdict), explain_summary(it, names, buf));
        fprintf(file, "\nasks for   %s", explain_request_text(&it->request, names, buf));
        if (state->accounts && it->request.class < state->accounts->tenancy->classes_count)
                fprintf(file, ", class %s",
                        state->accounts->tenancy->classes[it->request.class].name);
        if (it->verdict != VERDICT_RUNNING) {
                fprintf(file, "; waited %s", explain_span_text(it->waited_ms, span));
        }
        if (it->standing < STANDINGS_END)
                fprintf(file, "; %s %s work",
                        it->verdict == VERDICT_RUNNING ? "as" : "would start as",
                        standing_name(it->standing));
        fprintf(file, "\n");
        if (names->last_stop && names->last_stop[0])
                fprintf(file, "last run   %s\n", names->last_stop);
        if (it->has_possible)
                fprintf(file, "possible   at most %s\n",
                        explain_request_text(&it->possible, names, buf));
}

static void print_gates(FILE *file, const struct explanation *it, const struct explain_names *names)
{
        char buf[EXPLAIN_TEXT_MAX];

        fprintf(file, "\n");
        for (unsigned g = 0; g < EXPLAIN_GATES; g++) {
                const struct explained_gate *gate = &it->gates[g];
                const char *numbers = explain_gate_text(gate, (enum gate)g, names, buf);
                fprintf(file, "%-9s  %s%s%s\n", gate_name((enum gate)g),
                        gate->passed ? "passes" : "FAILS", numbers[0] ? "   " : "", numbers);
        }
}

/* "BUSY 6, FRAGMENTED 2", most first. */
static void print_codes(FILE *file, const struct explained_group *group)
{
        bool done[CODES_END] = {false};

        for (unsigned n = 0; n < CODES_END; n++) {
                unsigned best = CODES_END;
                for (unsigned c = 0; c < CODES_END; c++)
                        if (!done[c] && group->nodes_of[c] > 0 &&
                            (best == CODES_END || group->nodes_of[c] > group->nodes_of[best]))
                                best = c;
                if (best == CODES_END)
                        return;
                done[best] = true;
                fprintf(file, "%s%s %" PRIu32, n ? ", " : "", node_code_name(best),
                        group->nodes_of[best]);
        }
}

static void print_other(FILE *file, const struct explained_other *other,
                        const struct explain_names *names)
{
        const struct tenancy *tenancy =
                names->state->accounts ? names->state->accounts->tenancy : NULL;
        char name[32];

        fprintf(file, "%s", name_of(other->workload, names, name));
        if (tenancy)
                fprintf(file, " (%s, %s)", tenancy->tenants[other->tenant].path,
                        tenancy->classes[other->class].name);
        fprintf(file, ", %" PRIu32 " device%s", other->devices, other->devices == 1 ? "" : "s");
        if (other->standing < STANDINGS_END)
                fprintf(file, ", %s, %s", standing_name((enum standing)other->standing),
                        other->may_be_stopped ? "may be stopped" : "may not be stopped");
        if (other->end_ms > 0) {
                fprintf(file, ", expected to end at ");
                print_time(file, other->end_ms, names);
        }
        fprintf(file, "\n");
}

static void print_groups(FILE *file, const struct explanation *it,
                         const struct explain_names *names)
{
        char buf[EXPLAIN_TEXT_MAX];

        if (it->groups_count == 0)
                return;
        fprintf(file, "\n%-34s %6s %7s %5s %8s  %s\n", "where", "nodes", "devices", "free",
                "together", "nodes by reason");
        for (uint32_t g = 0; g <= it->groups_count; g++) {
                bool last = g == it->groups_count;
                const struct explained_group *group = last ? &it->all : &it->groups[g];
                if (last && g == 1)
                        break;
                const char *about = group->rounded ? "~" : "";
                fprintf(file, "%-34s %6" PRIu32 " %7" PRIu32 " %4s%" PRIu32 " %7s%" PRIu32 "  ",
                        last ? "all" : explain_group_text(group, names, buf), group->nodes,
                        group->devices, about, group->free_devices, about, group->largest_free);
                print_codes(file, group);
                fprintf(file, "\n");
                for (uint32_t b = 0; b < group->blockers_count; b++) {
                        fprintf(file, "    there: ");
                        print_other(file, &group->blockers[b], names);
                }
        }
}

static void print_position(FILE *file, const struct explanation *it,
                           const struct explain_names *names)
{
        const struct explained_position *position = &it->position;

        if (!position->known)
                return;
        fprintf(file,
                "\nplace      %" PRIu32 " of %" PRIu32 " of its tenant; before it in the pool: ",
                position->in_tenant, position->of_tenant);
        if (position->ahead == AHEAD_NEXT)
                fprintf(file, "nobody, it is next\n");
        else if (position->ahead_exact > 0)
                fprintf(file, "%" PRIu32 ", about %" PRIu64 " device-hours\n",
                        position->ahead_exact, position->ahead_device_ms / 3600000);
        else
                fprintf(file, "%s, %s device-hours\n", ahead_text(position->ahead),
                        position->device_hours == AHEAD_NEXT ? "0"
                                                             : ahead_text(position->device_hours));
        for (uint32_t i = 0; i < position->first_count; i++) {
                fprintf(file, "    before: ");
                print_other(file, &position->first[i], names);
        }
}

static void print_nearest(FILE *file, const struct explanation *it,
                          const struct explain_names *names)
{
        char buf[EXPLAIN_TEXT_MAX];

        for (uint32_t n = 0; n < it->nearest_count; n++)
                fprintf(file, "%s%s, as %s work\n", n ? "  or when  " : "\nstarts when ",
                        explain_unblock_text(&it->nearest[n], names, buf),
                        standing_name(it->nearest[n].standing < STANDINGS_END
                                              ? it->nearest[n].standing
                                              : STANDING_STANDARD));
}

static void print_eta(FILE *file, const struct explanation *it, const struct explain_names *names)
{
        char span[EXPLAIN_SPAN_MAX];

        if (it->verdict == VERDICT_RUNNING || it->verdict == VERDICT_STARTING)
                return;
        fprintf(file, "\nexpected   ");
        if (!it->eta_known || it->eta_coverage_pct < EXPLAIN_ETA_PCT) {
                fprintf(file, "no reliable estimate\n");
                return;
        }
        print_time(file, it->eta_p50_ms, names);
        fprintf(file, ", nine times in ten before ");
        print_time(file, it->eta_p90_ms, names);
        /* What is explained is as of the newest tick; it may have been foretold after that. */
        explain_span_text(it->as_of_ms > it->eta_at_ms ? it->as_of_ms - it->eta_at_ms : 0, span);
        fprintf(file, " (held in %u %% of cases; foretold %s ago)\n", it->eta_coverage_pct, span);
}

static void print_as_of(FILE *file, int64_t as_of_ms, uint64_t snapshot, uint64_t revision,
                        const struct explain_names *names)
{
        fprintf(file, "as of      ");
        print_time(file, as_of_ms, names);
        fprintf(file, ", state %" PRIu64 ", policy revision %" PRIu64 "\n", snapshot, revision);
}

void explain_text(FILE *file, const struct explanation *it, const struct explain_names *names)
{
        char buf[EXPLAIN_TEXT_MAX];

        print_head(file, it, names);
        print_gates(file, it, names);
        print_groups(file, it, names);
        print_position(file, it, names);
        print_nearest(file, it, names);
        print_eta(file, it, names);
        print_as_of(file, it->as_of_ms, it->snapshot, it->policy_revision, names);
        if (explain_line(it, names, buf)[0])
                fprintf(file, "try        %s\n", buf);
}

/* ---- idle capacity ---- */

void explain_idle_text(FILE *file, const struct explained_idle *idle,
                       const struct explain_names *names)
{
        fprintf(file, "%" PRIu32 " devices are idle\n", idle->idle);
        for (uint32_t m = 0; m < idle->models_count; m++) {
                fprintf(file, "\n%s: %" PRIu32 " of %" PRIu32 "\n",
                        model_get(names->state->models, idle->models[m].model)->name,
                        idle->models[m].idle, idle->models[m].devices);
                for (unsigned c = 0; c < IDLES_END; c++)
                        if (idle->models[m].of[c] > 0)
                                fprintf(file, "%8" PRIu32 "  %s: %s\n", idle->models[m].of[c],
                                        idle_code_name(c), idle_code_text(c));
        }
        if (idle->snapshot > 0) {
                fputc('\n', file);
                print_as_of(file, idle->as_of_ms, idle->snapshot, idle->policy_revision, names);
        }
}

/* ---- what would start ---- */

void explain_fits_text(FILE *file, const struct explained_fits *fits,
                       const struct explain_names *names)
{
        char buf[EXPLAIN_TEXT_MAX];

        for (uint32_t i = 0; i < fits->count; i++) {
                const struct fit_line *line = &fits->lines[i];
                const char *model = model_get(names->state->models, line->model)->name;
                if (line->standing == STANDINGS_END) {
                        fprintf(file, "%s: nothing starts now\n", model);
                        continue;
                }
                fprintf(file, "%s, as %s work\n", explain_request_text(&line->request, names, buf),
                        standing_name(line->standing));
        }
        if (fits->count == 0)
                fprintf(file, "nothing starts now\n");
}
