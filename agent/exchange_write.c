/* What the agent says, as JSON; and a run, as it stands in its folder. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/exchange.h"
#include "base/text.h"
#include "proto/protocol.h"
#include "proto/when.h"

static void add_key(struct text *text, struct run_key key)
{
        text_add(text, "\"workload\": %" PRIu64 ", \"member\": %" PRIu32 ", \"epoch\": %" PRIu64,
                 key.workload, key.member, key.epoch);
}

static void add_field(struct text *text, const char *key, const char *value)
{
        text_add(text, ", \"%s\": ", key);
        text_add_json(text, value);
}

static void add_texts(struct text *text, const char *key, const char *const *texts, uint32_t count)
{
        text_add(text, ", \"%s\": [", key);
        for (uint32_t i = 0; i < count; i++) {
                text_add(text, i ? ", " : "");
                text_add_json(text, texts[i]);
        }
        text_add(text, "]");
}

static void add_env(struct text *text, const struct run_spec *run)
{
        text_add(text, ", \"env\": {");
        for (uint32_t i = 0; i < run->env_count; i++) {
                text_add(text, i ? ", " : "");
                text_add_json(text, run->env_names[i]);
                text_add(text, ": ");
                text_add_json(text, run->env_values[i]);
        }
        text_add(text, "}");
}

static void add_devices(struct text *text, const struct run_spec *run)
{
        static const char *const methods[] = {
#define X(name, wire) [RUN_##name] = wire,
                RUN_METHODS(X)
#undef X
        };

        text_add(text, ", \"devices\": [");
        for (uint32_t i = 0; i < run->devices_count; i++) {
                const struct run_device *device = &run->devices[i];
                text_add(text, "%s{\"index\": %u, \"method\": \"%s\"", i ? ", " : "", device->index,
                         methods[device->method]);
                add_field(text, "profile", device->profile);
                text_add(text, ", \"start\": %u, \"share_milli\": %u, \"memory_mib\": %" PRIu64 "}",
                         device->start, device->share_milli, device->memory_mib);
        }
        text_add(text, "]");
}

/* To the millisecond: the end of a notice must not move. */
static void add_time(struct text *text, int64_t ms)
{
        char buf[WHEN_TEXT_MAX];

        when_text(ms, buf);
        if (ms % 1000 == 0) {
                text_add(text, "\"%s\"", buf);
                return;
        }
        buf[strlen(buf) - 1] = '\0'; /* the Z */
        text_add(text, "\"%s%s.%03dZ\"", buf, ms / 1000 % 60 ? "" : ":00", (int)(ms % 1000));
}

static void add_stop(struct text *text, const struct run_stop *stop)
{
        if (!stop->cause) {
                text_add(text, ", \"stop\": null");
                return;
        }
        text_add(text, ", \"stop\": {\"cause\": ");
        text_add_json(text, stop->cause);
        text_add(text, ", \"until\": ");
        add_time(text, stop->until_ms);
        text_add(text, ", \"until_ms\": %" PRId64, stop->until_ms);
        add_field(text, "signal", stop->signal);
        text_add(text, "}");
}

void exchange_write_run(struct text *text, const struct run_spec *run)
{
        text_add(text, "{");
        add_key(text, run->key);
        add_field(text, "name", run->name);
        add_field(text, "tenant", run->tenant);
        add_field(text, "user", run->user);
        add_field(text, "run_as", run->run_as);
        add_texts(text, "command", run->command, run->command_count);
        add_env(text, run);
        add_texts(text, "secrets", run->secrets, run->secrets_count);
        add_field(text, "workdir", run->workdir);
        add_devices(text, run);
        text_add(text,
                 ", \"cpu_milli\": %" PRIu64 ", \"ram_mib\": %" PRIu64 ", \"rank\": %u, "
                 "\"world\": %u",
                 run->cpu_milli, run->ram_mib, run->rank, run->world);
        if (run->is_task)
                text_add(text, ", \"array_index\": %" PRIu32, run->array_index);
        add_texts(text, "addresses", run->addresses, run->addresses_count);
        text_add(text, ", \"go\": %s", run->go ? "true" : "false");
        add_field(text, "checkpoint_signal", run->checkpoint_signal);
        add_stop(text, &run->stop);
        add_field(text, "lost_contact", run->stops_at_lease ? "stop_at_lease" : "continue");
        text_add(text, "}");
}

static void add_report(struct text *text, const struct run_report *run)
{
        char since[WHEN_TEXT_MAX];

        text_add(text, "{");
        add_key(text, run->key);
        add_field(text, "phase", run_phase_name(run->phase));
        if (run->since_ms > 0)
                add_field(text, "since", when_text(run->since_ms, since));
        if (run->pid > 0)
                text_add(text, ", \"pid\": %" PRId64, run->pid);
        if (run->phase == RUN_EXITED)
                text_add(text, ", \"exit_code\": %d, \"signal\": %d", run->exit_code, run->signal);
        if (run->phase == RUN_EXITED && run->lost_contact)
                text_add(text, ", \"lost_contact\": true");
        if (run->phase == RUN_EXITED && run->told_to_end)
                text_add(text, ", \"told_to_end\": true");
        if (run->phase == RUN_EXITED && run->recalled)
                text_add(text, ", \"recalled\": true");
        if (run->phase == RUN_REFUSED ||
            (run->phase == RUN_EXITED && run->reason && run->reason[0]))
                add_field(text, "reason", run->reason);
        if (run->phase == RUN_REFUSED && run->superseded)
                text_add(text, ", \"superseded\": true");
        text_add(text, "}");
}

void exchange_write(struct text *text, const struct exchange_report *report)
{
        const char *comma = "";

        text_add(text, "{\"protocol\": %u, \"protocols\": [%d, %d]", report->protocol, PROTOCOL_MIN,
                 PROTOCOL_MAX);
        add_field(text, "agent", report->agent);
        add_field(text, "boot", report->boot);
        text_add(text, ", \"seen\": %" PRIu64 ", \"given\": {", report->seen);
        if (report->log[0])
                text_add(text, "\"log\": \"%s\", ", report->log);
        text_add(text, "\"epoch\": %" PRIu64 ", \"workload\": %" PRIu64 "}",
                 report->newest_epoch, report->newest_workload);
        for (size_t i = 0; i < report->started_count; i++) {
                text_add(text, i ? ", {" : ", \"started\": [{");
                add_key(text, report->started[i]);
                text_add(text, i + 1 < report->started_count ? "}" : "}]");
        }
        text_add(text, ", \"runs\": [");
        for (size_t i = 0; i < report->runs_count; i++) {
                text_add(text, i ? ", " : "");
                add_report(text, &report->runs[i]);
        }
        text_add(text, "], \"checkpoints\": [");
        for (size_t i = 0; i < report->checkpoints_count; i++) {
                text_add(text, i ? ", {" : "{");
                add_key(text, report->checkpoints[i].key);
                text_add(text, ", \"at_ms\": %" PRId64 "}", report->checkpoints[i].at_ms);
        }
        text_add(text, "], \"broken\": [");
        for (unsigned device = 0; device < 64; device++) {
                if (!(report->broken >> device & 1))
                        continue;
                text_add(text, "%s%u", comma, device);
                comma = ", ";
        }
        text_add(text, "]}");
}
