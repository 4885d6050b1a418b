/* What the agent tells the controller. */
#include <string.h>

#include "agent/agent_impl.h"
#include "agent/say.h"
#include "base/err.h"
#include "base/text.h"
#include "proto/protocol.h"

void agent_look_at_devices(struct agent *agent)
{
        const struct device_backend *backend = &agent->setup->devices;
        uint64_t broken = 0;
        struct err err;

        if (backend->ops->list(backend->self, &agent->devices, &err) < 0) {
                say(SAY_ERROR, "devices cannot be listed", "error=\"%s\"", err.text);
                return;
        }
        for (uint32_t i = 0; i < agent->devices.count; i++)
                if (agent->devices.devices[i].is_broken)
                        broken |= 1ull << agent->devices.devices[i].index;
        if (broken != agent->broken)
                agent->is_news = true;
        agent->broken = broken;
        runs_broken(agent->runs, broken);
}

/* Nothing was made of it. */
static void say_why_refused(const struct agent *agent, struct run_report *report)
{
        uint64_t floor = runs_floor_of(agent->runs, report->key.workload, report->key.member);

        report->superseded = floor > report->key.epoch;
        report->reason = floor > report->key.epoch ? "it has run here since, in a later epoch"
                         : floor == report->key.epoch
                                 ? "it was started here before, and how it ended is not kept"
                                 : "it was told to stop before it was started";
}

static void fill_run(struct agent *agent, size_t index, struct run_report *report)
{
        *report = (struct run_report){
                .key = runs_key(agent->runs, index),
                .phase = runs_phase_at(agent->runs, index),
        };
        const struct live *live = agent_find(agent, report->key);
        if (!live) {
                say_why_refused(agent, report);
                return;
        }
        report->reason = live->status.reason;
        report->since_ms = live->status.since_ms;
        report->pid = live->status.pid;
        report->exit_code = live->status.exit_code;
        report->signal = live->status.signal;
        report->lost_contact = live->lost_contact || live->status.lost_contact;
        report->told_to_end = live->status.told_to_end;
        report->recalled = live->is_recalled;
}

void agent_report(struct agent *agent)
{
        struct run_report *runs = agent->reports;
        struct exchange_checkpoint *checkpoints = agent->checkpoints;
        const struct runs_newest newest = runs_newest(agent->runs);
        struct exchange_report report = {
                .agent = agent->setup->version,
                .boot = folder_boot(agent->folder),
                /* What does not answer may be an older one by now. */
                .protocol = agent->answer && !agent->is_failing ? agent->answer->protocol
                                                                : PROTOCOL_MIN,
                .seen = runs_generation(agent->runs),
                .log = agent->log,
                .newest_epoch = newest.epoch,
                .newest_workload = newest.workload,
                .started = agent->started,
                .runs = runs,
                .checkpoints = checkpoints,
                .broken = agent->broken,
        };
        struct text text = {0};

        if (!agent->is_news && !agent->is_stale)
                return;
        if (agent->answer && agent->answer->wants_started)
                report.started_count = runs_started(agent->runs, agent->started,
                                                    EXCHANGE_STARTED_MAX);
        for (size_t i = 0; i < runs_count(agent->runs); i++) {
                fill_run(agent, i, &runs[report.runs_count]);
                /* What waits for its devices to come free is not there yet. */
                report.runs_count += runs[report.runs_count].phase != RUN_WANTED;
        }
        for (size_t i = 0; i < agent->lives_count; i++)
                if (agent->lives[i].has_checkpoint)
                        checkpoints[report.checkpoints_count++] = (struct exchange_checkpoint){
                                agent->lives[i].key, agent->lives[i].checkpoint_ms};
        exchange_write(&text, &report);
        uint64_t number =
                text.failed ? 0 : link_report(agent->link, text.bytes, text.size, agent->is_news);
        text_done(&text);
        if (number == 0)
                return; /* out of memory: the next round tries again */
        agent->said = number;
        for (size_t i = 0; i < agent->lives_count; i++)
                if (agent->lives[i].has_checkpoint && agent->lives[i].checkpoint_report == 0)
                        agent->lives[i].checkpoint_report = number;
        agent->is_news = agent->is_stale = false;
}

void agent_confirmed(struct agent *agent, uint64_t number)
{
        agent->confirmed = number;
        for (size_t i = 0; i < agent->lives_count; i++) {
                struct live *live = &agent->lives[i];
                if (!live->has_checkpoint || live->checkpoint_report == 0 ||
                    live->checkpoint_report > number)
                        continue;
                live->has_checkpoint = false;
                agent->is_stale = true;
        }
}
