#include "controller/last_stop.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"
#include "controller/live.h"
#include "controller/run_list.h"
#include "controller/view.h"
#include "controller/works.h"
#include "engine/queue.h"
#include "proto/explain_text.h"
#include "proto/when.h"
#include "store/objects.h"

/* A sentence that grows; what has no room is cut. */
struct sentence {
        char *buf;
        size_t used;
};

__attribute__((format(printf, 2, 3)))
static void add(struct sentence *line, const char *format, ...)
{
        size_t room = LAST_STOP_TEXT_MAX - line->used;
        va_list args;

        va_start(args, format);
        int size = vsnprintf(line->buf + line->used, room, format, args);
        va_end(args);
        if (size > 0)
                line->used += (size_t)size < room ? (size_t)size : room - 1;
}

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static int64_t number_of(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

/* ---- the sentence ---- */

/* "for workload 17 'sft' of web (class critical), ..." */
static void add_beneficiary(struct sentence *line, const json_t *run, bool is_shown)
{
        static const struct {
                const char *cause, *words;
        } reasons[] = {
                {"protect", ", whose tenant was due what it is promised"},
                {"order", ", which goes before it"},
                {"time_slice", ", which had run less"},
                {"gather", ", for which room was gathered"},
        };
        const char *class = text_of(run, "for_class"), *name = text_of(run, "for_name");

        if (is_shown)
                add(line, " for workload %" PRId64 "%s%s%s of %s", number_of(run, "for"),
                    name[0] ? " '" : "", name, name[0] ? "'" : "", text_of(run, "for_tenant"));
        else
                add(line, " for %s", json_object_get(run, "for") ? "work of another tenant"
                                                                 : "other work");
        if (class[0])
                add(line, " (class %s)", class);
        for (size_t r = 0; r < ARRAY_LEN(reasons); r++)
                if (str_equal(text_of(run, "plan"), reasons[r].cause))
                        add(line, "%s", reasons[r].words);
}

/* ", as ana asked: make room for the demo" */
static void add_asker(struct sentence *line, const json_t *run)
{
        if (text_of(run, "by")[0])
                add(line, ", as %s asked", text_of(run, "by"));
        if (text_of(run, "reason")[0])
                add(line, ": \"%s\"", text_of(run, "reason"));
}

static void add_told(struct sentence *line, const json_t *run, const char *when, bool is_shown)
{
        static const struct {
                const char *told, *words;
        } reasons[] = {
                {"drain", ": its node was to be empty"},
                {"maintenance", ": its node was to be empty, for maintenance"},
                {"idle", ": nobody used its devices"},
                {"time_limit", ": its time limit was over"},
        };
        const char *told = text_of(run, "told");
        bool is_moved = str_equal(told, "move");

        if (str_equal(told, "preemption")) {
                add(line, "It was preempted at %s", when);
                add_beneficiary(line, run, is_shown);
                return;
        }
        add(line, "It was %s at %s", is_moved ? "moved" : "stopped", when);
        for (size_t r = 0; r < ARRAY_LEN(reasons); r++)
                if (str_equal(told, reasons[r].told))
                        add(line, "%s", reasons[r].words);
        if (is_moved || str_equal(told, "asked"))
                add_asker(line, run);
}

/* ": out of memory" */
static void add_said(struct sentence *line, const json_t *run)
{
        if (text_of(run, "said")[0])
                add(line, ": %s", text_of(run, "said"));
}

static void add_why(struct sentence *line, const json_t *run, const char *when, bool is_shown)
{
        const char *cause = text_of(run, "cause");

        if (text_of(run, "told")[0] && !str_equal(cause, "failed") && !str_equal(cause, "lost")) {
                add_told(line, run, when, is_shown);
        } else if (str_equal(cause, "lost")) {
                add(line, "It was lost at %s", when);
                if (text_of(run, "node")[0])
                        add(line, " with node %s%s", text_of(run, "node"),
                            text_of(run, "said")[0] ? "" : ", or with a device of it");
                add_said(line, run);
        } else if (str_equal(cause, "failed")) {
                add(line, "It failed at %s", when);
                if (number_of(run, "signal") > 0)
                        add(line, " (signal %" PRId64 ")", number_of(run, "signal"));
                else if (json_object_get(run, "exit_code"))
                        add(line, " (exit code %" PRId64 ")", number_of(run, "exit_code"));
                add_said(line, run);
        } else {
                add(line, "Its run ended at %s (%s)", when, cause);
        }
}

static void add_loss(struct sentence *line, const json_t *run, uint64_t devices)
{
        int64_t lost_ms = number_of(run, "lost_ms"),
                ran_ms = number_of(run, "ended_ms") - number_of(run, "started_ms");
        char span[EXPLAIN_SPAN_MAX];

        if (!json_object_get(run, "lost_ms"))
                return;
        if (lost_ms <= 0) {
                add(line, " Nothing of its run was lost.");
                return;
        }
        explain_span_text(lost_ms, span);
        if (lost_ms >= ran_ms)
                add(line, " All of its run was lost: %s", span);
        else
                add(line, " %s of its run were lost, since its last checkpoint", span);
        if (devices > 0)
                add(line, ", on %" PRIu64 " device%s", devices, devices == 1 ? "" : "s");
        add(line, ".");
}

/* ---- its parts ---- */

static json_t *copy_or_null(const json_t *object, const char *key)
{
        json_t *value = json_object_get(object, key);

        return value ? json_incref(value) : json_null();
}

static json_t *beneficiary_of(const json_t *run, bool is_shown)
{
        static const char *const keys[][2] = {
                {"workload", "for"}, {"name", "for_name"}, {"tenant", "for_tenant"}};
        json_t *json;

        if (!json_object_get(run, "for"))
                return json_null();
        json = json_object();
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
                view_set(json, keys[k][0], is_shown ? copy_or_null(run, keys[k][1]) : json_null());
        view_set(json, "class", copy_or_null(run, "for_class"));
        return json;
}

static uint64_t devices_of(const struct live *live, uint64_t id)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, id);

        return slot == NONE ? 0
                            : bucket_devices(state,
                                             &state->buckets[state->workloads[slot].bucket]);
}

static json_t *stop_of(const struct live *live, const struct object *object, const json_t *run,
                       bool sees_all)
{
        static const char *const keys[] = {"cause", "told", "plan", "by", "reason", "node",
                                           "lost_ms"};
        bool is_shown = json_object_get(run, "for_tenant") &&
                        (sees_all || tenant_is_below(text_of(run, "for_tenant"), object->tenant));
        int64_t ended_ms = number_of(run, "ended_ms");
        char buf[LAST_STOP_TEXT_MAX] = "", when[WHEN_TEXT_MAX];
        struct sentence line = {buf, 0};
        json_t *json = json_object();

        add_why(&line, run, when_text(ended_ms > 0 ? ended_ms : 0, when), is_shown);
        add(&line, ".");
        add_loss(&line, run, devices_of(live, object->id));
        view_set(json, "at", view_time(ended_ms));
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
                view_set(json, keys[k], copy_or_null(run, keys[k]));
        view_set(json, "for", beneficiary_of(run, is_shown));
        view_set(json, "text", json_string(buf));
        return json;
}

json_t *last_stop_view(const struct live *live, const struct object *object, bool sees_all)
{
        json_t *detail, *stop = NULL;

        if (object->ended_ms || !object->detail[0] || !run_list_is_whole(live, object))
                return json_null();
        detail = json_loads(object->detail, 0, NULL);
        const json_t *runs = json_object_get(detail, "runs");
        size_t count = json_array_size(runs);
        if (count > 0)
                stop = stop_of(live, object, json_array_get(runs, count - 1), sees_all);
        json_decref(detail);
        return count > 0 ? stop : json_null();
}

const char *last_stop_text(const json_t *stop, char buf[LAST_STOP_TEXT_MAX])
{
        if (!str_copy(buf, LAST_STOP_TEXT_MAX, text_of(stop, "text")))
                buf[0] = '\0';
        return buf;
}
