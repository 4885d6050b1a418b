/* What an agent is told: all that may run on its node. exchange.c reads what it reports. */
#include "controller/exchange.h"

#include <string.h>

#include "base/mem.h"
#include "controller/attach.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/submit.h"
#include "controller/view.h"
#include "controller/wants.h"
#include "controller/works.h"
#include "engine/contact.h"
#include "engine/tenancy.h"
#include "proto/protocol.h"
#include "proto/workload_doc.h"

static void add_stop(json_t *json, const struct live *live, const struct work *work,
                     const struct workload *workload, const struct workload_doc *document)
{
        json_t *stop = json_null();

        bool is_torn = workload_is_torn(core_state(live->core), workload);
        bool now = work->wish == WISH_CANCEL || work->ending || is_torn;

        if (now || workload->notice_until_ms) {
                stop = json_object();
                view_set(stop, "cause",
                         json_string(work->wish == WISH_CANCEL ? "cancelled"
                                     : is_torn                 ? "a part of it is lost"
                                     : work->ending            ? "a member ended"
                                                               : notice_cause_name(
                                                   (enum notice_cause)workload->notice_cause)));
                view_set(stop, "until", view_time(now ? core_now_ms(live->core)
                                                      : workload->notice_until_ms));
                view_set(stop, "until_ms", json_integer(now ? 0 : workload->notice_until_ms));
                view_set(stop, "signal",
                         document && document->checkpoint.signal[0]
                                 ? json_string(document->checkpoint.signal)
                                 : json_null());
        }
        view_set(json, "stop", stop);
}

static json_t *texts(uint32_t count, const char **list)
{
        json_t *json = json_array();

        for (uint32_t i = 0; i < count; i++)
                (void)json_array_append_new(json, json_string(list[i]));
        return json;
}

static void add_command(json_t *json, const struct workload_doc *document)
{
        const struct workload_run *run = &document->run;
        json_t *env = json_object();

        for (uint32_t i = 0; i < run->env_count; i++)
                view_set(env, run->env_names[i], json_string(run->env_values[i]));
        view_set(json, "command", texts(run->command_count, run->command));
        view_set(json, "env", env);
        view_set(json, "secrets", texts(run->secrets_count, run->secrets));
        view_set(json, "workdir", run->workdir ? json_string(run->workdir) : json_null());
        view_set(json, "checkpoint_signal",
                 document->checkpoint.signal[0] ? json_string(document->checkpoint.signal)
                                                : json_null());
}

static json_t *devices_of(const struct state *state, const struct member *member)
{
        static const char *const methods[METHODS_END] = {
                [METHOD_WHOLE] = "whole", [METHOD_SLICE] = "slice", [METHOD_SHARE] = "share"};
        json_t *list = json_array();

        for (uint32_t held = member->first_part; held != NONE; held = state->parts[held].next) {
                const struct part *part = &state->parts[held].part;
                json_t *device = json_object();
                view_set(device, "index", json_integer(part->device));
                view_set(device, "method", json_string(methods[part->method]));
                view_set(device, "profile",
                         part->method == METHOD_SLICE
                                 ? json_string(node_model(state, member->node)
                                                       ->profiles[part->profile]
                                                       .name)
                                 : json_null());
                view_set(device, "start", json_integer(part->start));
                view_set(device, "share_milli", json_integer(part->share_milli));
                view_set(device, "memory_mib", json_integer(part->memory_mib));
                (void)json_array_append_new(list, device);
        }
        return list;
}

/* Names of the nodes by rank. */
static json_t *addresses_of(const struct state *state, const struct workload *workload,
                            uint32_t members)
{
        json_t *list = json_array();

        for (uint32_t m = 0; m < members; m++)
                (void)json_array_append_new(list, json_string(""));
        for (uint32_t at = workload->first_member; at != NONE; at = state->members[at].next) {
                const struct member *member = &state->members[at];
                const char *name = vocab_name_text(state->vocab,
                                                   state->nodes[member->node].desc.name);
                (void)json_array_set_new(list, member->number, json_string(name));
        }
        return list;
}

/* The barrier: all members have their processes ready, and are not to end before they began. */
static bool may_go(const struct state *state, const struct workload *workload,
                   const struct work *work)
{
        if (work->ending || work->left_told || work->wish == WISH_CANCEL ||
            workload_is_torn(state, workload))
                return work->members_count == 1;
        for (uint16_t m = 0; m < work->members_count; m++)
                if (work->members[m].phase != PHASE_READY &&
                    work->members[m].phase != PHASE_RUNNING &&
                    work->members[m].phase != PHASE_EXITED)
                        return work->members_count == 1;
        return true;
}

/* False: the document cannot be read now. Then nothing is said of the node's runs at all: an agent
 * would take a run without a command for one that cannot be started. */
static bool add_document(json_t *json, struct live *live, const struct work *work,
                         const struct workload *workload)
{
        struct submission submission = {0};
        struct object_copy *copy;

        if (objects_get(core_view(live->core), OBJECT_WORKLOAD, work->id, &copy, NULL) < 0)
                return false;
        json_t *detail = json_loads(copy->object.detail, 0, NULL);
        (void)json_object_set(json, "run_as", json_object_get(detail, "run_as"));
        (void)json_object_set(json, "array_index", json_object_get(detail, "array_index"));
        json_decref(detail);
        bool read = submission_read_again(live->core, &copy->object, &submission, NULL) == 0;
        if (read) {
                add_command(json, submission.document);
                add_stop(json, live, work, workload, submission.document);
        }
        submission_done(&submission);
        mem_free(copy);
        return read;
}

static json_t *run_of(struct live *live, const struct member *member)
{
        const struct state *state = core_state(live->core);
        const struct workload *workload = &state->workloads[member->workload];
        const struct bucket *bucket = &state->buckets[workload->bucket];
        const struct need *need = &state->shapes[bucket->shape].need;
        const struct work *work = works_find(core_works(live->core), workload->id);
        json_t *json;

        if (!work)
                return NULL;
        json = json_object();
        view_set(json, "workload", json_integer((json_int_t)work->id));
        view_set(json, "member", json_integer(member->number));
        view_set(json, "epoch", json_integer((json_int_t)work->epoch));
        view_set(json, "name", json_string(work->name));
        view_set(json, "tenant", json_string(work->tenant));
        view_set(json, "user", json_string(work->user));
        view_set(json, "devices", devices_of(state, member));
        view_set(json, "cpu_milli", json_integer(need->cpu_milli));
        view_set(json, "ram_mib", json_integer(need->ram_mib));
        view_set(json, "rank", json_integer(member->number));
        view_set(json, "world", json_integer(bucket->form.members));
        view_set(json, "addresses", addresses_of(state, workload, bucket->form.members));
        view_set(json, "go", json_boolean(may_go(state, workload, work)));
        view_set(json, "lost_contact",
                 json_string(lost_contact_names[workload_continues(state, workload)
                                                        ? LOST_CONTACT_CONTINUE
                                                        : LOST_CONTACT_STOP_AT_LEASE]));
        if (!add_document(json, live, work, workload)) {
                json_decref(json);
                return NULL;
        }
        return json;
}

/* Terminals come first: they are few, and somebody sits before them. What is more than an agent
 * takes comes with the next answer: one that refuses an answer has heard nothing. */
static json_t *all_wants(const struct live *live, const struct node_entry *node)
{
        json_t *wants = json_array(), *logs = wants_of(live->wants, node);

        attachments_add_wants(live->attachments, node, wants);
        (void)json_array_extend(wants, logs);
        json_decref(logs);
        while (json_array_size(wants) > PROTOCOL_WANTS_MAX)
                (void)json_array_remove(wants, json_array_size(wants) - 1);
        return wants;
}

json_t *exchange_answer(struct live *live, const struct node_entry *node)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, node->desc.name);
        json_t *json = json_object(), *runs = json_array();
        char log[NUMBERS_LOG_TEXT_MAX];

        for (uint32_t at = number == NONE ? NONE : state->nodes[number].first_member; at != NONE;
             at = state->members[at].node_next) {
                if (!member_may_run(state, &state->members[at]))
                        continue;       /* it was given up */
                json_t *run = run_of(live, &state->members[at]);
                if (!run) {
                        json_decref(runs);
                        json_decref(json);
                        return NULL;
                }
                (void)json_array_append_new(runs, run);
        }
        view_set(json, "protocol", json_integer(node->protocol));
        if (core_numbers(live->core)->log)
                view_set(json, "log", json_string(numbers_log_text(core_numbers(live->core)->log,
                                                                   log)));
        if (exchange_wants_started(node))
                view_set(json, "started", json_true());
        view_set(json, "generation", json_integer((json_int_t)node->generation));
        view_set(json, "lease_ms", json_integer(live->lease_ms));
        view_set(json, "runs", runs);
        view_set(json, "wants", all_wants(live, node));
        return json;
}
