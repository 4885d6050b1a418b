/* What an agent reports, and what it means for the pool; exchange_answer.c says what is to run. */
#include "controller/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/works.h"
#include "engine/contact.h"
#include "proto/protocol.h"

#define GENERATION_MAX (UINT64_MAX / 4) /* what is above is no generation */
#define STEADY_MS_MAX  (INT64_MAX / 4)  /* and this no time since a machine's start */

static uint16_t broken_of(const json_t *report)
{
        uint16_t broken = 0;
        size_t i;
        json_t *device;

        json_array_foreach(json_object_get(report, "broken"), i, device) {
                json_int_t number = json_integer_value(device);
                if (number >= 0 && number < NODE_DEVICES_MAX)
                        broken = (uint16_t)(broken | 1u << number);
        }
        return broken;
}

/* A report that took long shows too large a difference; but the two clocks may drift apart by a
 * thousandth, so that the smallest one does not hold for ever. */
static void read_clock(struct node_entry *node, const char *boot, const json_t *sent,
                       int64_t steady_ms)
{
        int64_t sent_ms = json_integer_value(sent), drift_ms = (steady_ms - node->leased_ms) / 1000;

        if (!json_is_integer(sent) || sent_ms < 0 || sent_ms > STEADY_MS_MAX)
                return;
        int64_t clock_ms = steady_ms - sent_ms;
        if (node->has_clock && str_equal(node->boot, boot) && clock_ms > node->clock_ms + drift_ms)
                clock_ms = node->clock_ms + drift_ms;
        node->clock_ms = clock_ms;
        node->has_clock = true;
}

/* "protocol" is what the report is written in; "protocols" all that the agent speaks, from the
 * oldest to the newest. The first agents said only the former. */
static int agree(const json_t *report, uint32_t *ret_protocol, struct err *err)
{
        static const struct protocols ours = {PROTOCOL_MIN, PROTOCOL_MAX};
        const json_t *list = json_object_get(report, "protocols");
        json_int_t spoken = json_integer_value(json_object_get(report, "protocol"));
        json_int_t min = list ? json_integer_value(json_array_get(list, 0)) : spoken;
        json_int_t max = list ? json_integer_value(json_array_get(list, 1)) : spoken;
        uint32_t protocol;

        if (!json_is_integer(json_object_get(report, "protocol")) || min < 0 || min > UINT16_MAX ||
            max < 0 || max > UINT16_MAX || (list && json_array_size(list) != 2))
                return err_set(err, ERR_INPUT,
                               "fields 'protocol' and 'protocols': write one version, and [the "
                               "oldest, the newest] that the agent speaks");
        int rc = protocol_agree(ours, "this controller",
                                (struct protocols){(uint32_t)min, (uint32_t)max}, "the agent",
                                &protocol, err);
        if (rc)
                return rc;
        if (spoken < PROTOCOL_MIN || spoken > PROTOCOL_MAX)
                return err_set(err, ERR_INPUT,
                               "field 'protocol': the report is written in %" PRId64
                               ", and this controller reads %d to %d",
                               (int64_t)spoken, PROTOCOL_MIN, PROTOCOL_MAX);
        *ret_protocol = protocol;
        return 0;
}

int exchange_read(struct node_entry *node, const json_t *report, int64_t now_ms,
                  int64_t steady_ms, uint64_t *ret_seen, struct err *err)
{
        const char *version = json_string_value(json_object_get(report, "agent"));
        const char *boot = json_string_value(json_object_get(report, "boot"));
        uint32_t protocol = 0;

        int rc = agree(report, &protocol, err);
        if (rc)
                return rc;
        if (!json_is_array(json_object_get(report, "runs")))
                return err_set(err, ERR_INPUT, "field 'runs' is missing, or no list");
        if (!version || !str_copy(node->version, sizeof node->version, version))
                return err_set(err, ERR_INPUT, "field 'agent' is missing, or too long");
        if (!boot || strlen(boot) >= sizeof node->boot)
                return err_set(err, ERR_INPUT, "field 'boot' is missing, or too long");
        read_clock(node, boot, json_object_get(report, "sent_ms"), steady_ms);
        (void)str_copy(node->boot, sizeof node->boot, boot);
        *ret_seen = (uint64_t)json_integer_value(json_object_get(report, "seen"));
        node->protocol = protocol;
        node->seen = *ret_seen;
        node->seen_ms = now_ms;
        node->leased_ms = steady_ms;
        node->connected = true;
        node->reported = true;
        node->broken = broken_of(report);
        return 0;
}

struct reported {
        uint64_t workload, epoch;
        uint32_t member;
        enum phase phase;
        int32_t exit_code, signal;
        bool lost_contact;              /* EXITED: with its lease, or with its node */
        bool told_to_end;               /* EXITED: with TERM, so 0 does not mean that it is done */
        bool superseded;                /* REFUSED: it has run there in a later epoch */
        bool recalled;                  /* EXITED: and was forgotten, by a log that is lost */
        const char *reason;             /* REFUSED, EXITED: why; NULL: not said */
};

static bool read_run(const json_t *run, struct reported *ret)
{
        const char *phase = json_string_value(json_object_get(run, "phase"));
        unsigned p = 0;

        while (phase && p < PHASES_END && !str_equal(phase_name((enum phase)p), phase))
                p++;
        if (!phase || p == PHASES_END)
                return false;
        *ret = (struct reported){
                .workload = (uint64_t)json_integer_value(json_object_get(run, "workload")),
                .epoch = (uint64_t)json_integer_value(json_object_get(run, "epoch")),
                .member = (uint32_t)json_integer_value(json_object_get(run, "member")),
                .phase = (enum phase)p,
                .exit_code = (int32_t)json_integer_value(json_object_get(run, "exit_code")),
                .signal = (int32_t)json_integer_value(json_object_get(run, "signal")),
                .lost_contact = json_is_true(json_object_get(run, "lost_contact")),
                .told_to_end = json_is_true(json_object_get(run, "told_to_end")),
                .superseded = json_is_true(json_object_get(run, "superseded")),
                .recalled = json_is_true(json_object_get(run, "recalled")),
                .reason = json_string_value(json_object_get(run, "reason"))};
        return true;
}

/* The member that the report is about; NULL: it should not run (any more). */
static struct work_member *member_of(struct live *live, const struct node_entry *node,
                                     const struct reported *reported, struct work **ret_work)
{
        const struct state *state = core_state(live->core);
        struct work *work = works_find(core_works(live->core), reported->workload);
        uint32_t slot = work ? state_workload(state, work->id) : NONE;

        if (slot == NONE || work->epoch != reported->epoch ||
            reported->member >= work->members_count)
                return NULL;
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].number == reported->member &&
                    state->nodes[state->members[at].node].desc.name == node->desc.name) {
                        *ret_work = work;
                        return &work->members[reported->member];
                }
        return NULL;
}

static bool is_up(const struct live *live, const struct node_entry *node)
{
        uint32_t number = state_node(core_state(live->core), node->desc.name);

        return number != NONE && core_state(live->core)->nodes[number].status == NODE_UP;
}

static bool is_in_pool(const struct live *live, const struct node_entry *node)
{
        return state_node(core_state(live->core), node->desc.name) != NONE;
}

/* Whether a run that should not be there is: processes of it may still use the devices. */
static bool has_strangers(struct live *live, const struct node_entry *node, const json_t *report)
{
        size_t i;
        json_t *run;

        json_array_foreach(json_object_get(report, "runs"), i, run) {
                struct reported reported;
                struct work *work;
                if (read_run(run, &reported) && reported.phase != PHASE_EXITED &&
                    reported.phase != PHASE_REFUSED &&
                    !member_of(live, node, &reported, &work))
                        return true;
        }
        return false;
}

/* Whether work that was given up with the node still ends elsewhere: it is not to begin here. */
static bool keeps_torn(struct live *live, const struct node_entry *node)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, node->desc.name);

        for (uint32_t at = number == NONE ? NONE : state->nodes[number].first_member; at != NONE;
             at = state->members[at].node_next)
                if (!member_may_run(state, &state->members[at]))
                        return true;
        return false;
}

/* A node that was lost joins again when its agent has seen that it should run nothing, and does so:
 * a report from before, which comes late, proves nothing. */
static bool may_join(struct live *live, const struct node_entry *node, const json_t *report)
{
        json_int_t seen = json_integer_value(json_object_get(report, "seen"));

        if (is_in_pool(live, node) && !node->awaited &&
            (node->fence == 0 || seen < 0 || (uint64_t)seen < node->fence ||
             (uint64_t)seen > node->generation))
                return false;
        return !has_strangers(live, node, report) && !keeps_torn(live, node);
}

/* Generations begin with the clock of the controller's start. An agent that has seen a later one
 * takes no earlier one: the clock was set back since. */
static void catch_up(struct live *live, struct node_entry *node)
{
        if (node->seen <= node->generation || node->seen > GENERATION_MAX)
                return;
        node->generation = node->seen;
        live_touch(live, node, core_last_seq(live->core));
}

void exchange_fence(struct live *live, struct node_entry *node)
{
        catch_up(live, node);
        if (node->fence || node->awaited || !is_in_pool(live, node) || is_up(live, node))
                return;
        live_touch(live, node, core_last_seq(live->core));
        node->fence = node->generation;
}

static bool changes(const struct work_member *member, const struct reported *reported)
{
        return member->phase != reported->phase && member->phase != PHASE_EXITED &&
               member->phase != PHASE_REFUSED;
}

/* The member that has made a checkpoint which is not known yet; NULL: none. */
static struct work_member *checkpoint_of(struct live *live, const json_t *it)
{
        uint64_t id = (uint64_t)json_integer_value(json_object_get(it, "workload"));
        uint64_t epoch = (uint64_t)json_integer_value(json_object_get(it, "epoch"));
        json_int_t number = json_integer_value(json_object_get(it, "member"));
        const json_t *at = json_object_get(it, "at_ms");
        const struct work *work = works_find(core_works(live->core), id);

        if (!work || work->epoch == 0 || work->epoch != epoch || number < 0 ||
            number >= work->members_count)
                return NULL;
        struct work_member *member = &work->members[number];
        return !at || json_integer_value(at) > member->checkpoint_ms ? member : NULL;
}

bool exchange_has_news(struct live *live, const struct node_entry *node, const json_t *report)
{
        uint32_t number = state_node(core_state(live->core), node->desc.name);
        size_t i;
        json_t *run;

        if (exchange_wants_started(node) && json_object_get(report, "started"))
                return true;
        if (!is_up(live, node))
                return may_join(live, node, report);
        if (core_state(live->core)->nodes[number].desc.broken != live_broken(live, node))
                return true;
        json_array_foreach(json_object_get(report, "runs"), i, run) {
                struct reported reported;
                struct work *work;
                const struct work_member *member =
                        read_run(run, &reported) ? member_of(live, node, &reported, &work) : NULL;
                if (member && changes(member, &reported))
                        return true;
        }
        json_array_foreach(json_object_get(report, "checkpoints"), i, run)
                if (checkpoint_of(live, run))
                        return true;
        return false;
}

/* It was told to end, or has begun anew since, by a log that this one is an older copy of: it has
 * not failed, and waits again. */
static bool is_of_lost_log(const struct live *live, const struct work *work,
                           const struct reported *reported)
{
        const struct state *state = core_state(live->core);
        const struct workload *it = &state->workloads[state_workload(state, work->id)];

        return reported->superseded ||
               (reported->recalled && reported->told_to_end && work->wish == WISH_NONE &&
                !work->ending && !it->notice_until_ms && !workload_is_torn(state, it));
}

static int apply_run(struct live *live, struct act *act, struct node_entry *node,
                     const struct reported *reported, struct err *err)
{
        struct work *work;
        struct work_member *member = member_of(live, node, reported, &work);

        if (!member || !changes(member, reported))
                return 0;
        member->phase = (uint8_t)reported->phase;
        member->exit_code = reported->exit_code;
        member->signal = reported->signal;
        member->lost_contact = reported->lost_contact || is_of_lost_log(live, work, reported);
        if (reported->phase == PHASE_REFUSED || reported->phase == PHASE_EXITED)
                work_set_reason(work, reported->reason);
        member->failed = reported->phase == PHASE_REFUSED || reported->exit_code != 0 ||
                         reported->signal != 0 || reported->lost_contact ||
                         reported->told_to_end;
        if (member->failed && !work->failed_first)
                work->failed_first = (uint16_t)(member - work->members + 1);
        return live_settle(live, act, work, err);
}

/* How long ago that was: however late the report is that says so. Where it cannot be known, it is
 * now. */
static int64_t age_of(const struct live *live, const struct node_entry *node, const json_t *at)
{
        int64_t at_ms = json_integer_value(at);

        if (!json_is_integer(at) || !node->has_clock || at_ms < 0 || at_ms > STEADY_MS_MAX)
                return 0;
        int64_t age_ms = live_steady_ms(live) - (at_ms + node->clock_ms);
        return age_ms < 0 ? 0 : age_ms < RUN_MS_MAX ? age_ms : RUN_MS_MAX;
}

static int apply_checkpoints(struct live *live, struct act *act, const struct node_entry *node,
                             const json_t *report, struct err *err)
{
        size_t i;
        json_t *it;

        json_array_foreach(json_object_get(report, "checkpoints"), i, it) {
                struct input input = {.kind = INPUT_CHECKPOINTED};
                struct work_member *member = checkpoint_of(live, it);
                const json_t *at = json_object_get(it, "at_ms");
                if (!member)
                        continue;
                member->checkpoint_ms = json_integer_value(at);
                input.checkpoint.workload =
                        (uint64_t)json_integer_value(json_object_get(it, "workload"));
                input.checkpoint.age_ms = age_of(live, node, at);
                int rc = core_unless_held(core_input(act, &input, NULL, err));
                if (rc)
                        return rc;
        }
        return 0;
}

int exchange_apply(struct live *live, struct act *act, struct node_entry *node,
                   const json_t *report, struct err *err)
{
        size_t i;
        json_t *run;
        int rc = exchange_apply_started(live, act, node, report, err);

        if (rc)
                return rc;
        if (!is_up(live, node)) {
                if (!may_join(live, node, report))
                        return 0;
                node->fence = 0;
                rc = live_join(live, act, node, err);
                live_touch(live, node, core_next_seq(live->core) - 1);
        }
        /* Before the end of what made them: nothing is saved by what runs no more. */
        rc = rc ? rc : apply_checkpoints(live, act, node, report, err);
        /* Health first: what a broken device has ended is no failure of what ran there. */
        rc = rc ? rc : core_unless_held(live_health(live, act, node, err));
        json_array_foreach(json_object_get(report, "runs"), i, run) {
                struct reported reported;
                if (rc == 0 && read_run(run, &reported))
                        rc = apply_run(live, act, node, &reported, err);
        }
        return rc;
}
