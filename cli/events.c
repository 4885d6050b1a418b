#include "cli/events.h"

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/json_in.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "net/client.h"
#include "proto/when.h"

#define CAUGHT_UP_MS 1000 /* nothing for so long, or something that much later: those were all */
#define TRIES_MAX    10

static const struct command_option options[] = {
        {"follow", 'f', NULL, "go on with what happens; Ctrl-C ends it"},
        {"after", 0, "N", "begin behind this event; 0: all that is kept; else from now on"},
        {"from", 0, "TIME", "begin then: " TALK_TIME},
        {"until", 0, "TIME", "end with what happened then; without --from all that is kept before"},
        {"workload", 0, "ID", "of this workload"},
        {"tenant", 't', "PATH", "of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "One line for each: its number, its name, and what it says. With --json a line is one\n"
        "JSON object, {\"id\", \"event\", \"data\"}. Without --follow it ends with what is there\n"
        "already. A stream that breaks off is taken up again where it was.\n"
        "\n"
        "examples:\n"
        "  berth events -f\n"
        "  berth events --from -1h --until -30m\n"
        "  berth events --after 4711 --json\n"
        "  berth events -f --workload 17\n";

struct printing {
        struct talk *talk;
        struct err *err;
        bool has_come;                  /* an event */
        int64_t until_ms;               /* later ones are not asked for; 0: all are */
};

static bool is_later(const struct printing *printing, const json_t *data)
{
        const char *at = json_string_value(json_object_get(data, "at"));
        int64_t at_ms;

        return printing->until_ms && at && when_parse_local(at, NULL, &at_ms, NULL) == 0 &&
               at_ms > printing->until_ms;
}

static void put_json(const struct sse_event *event, const json_t *data)
{
        json_t *line = json_pack("{s: s, s: s, s: O?}", "id", event->id, "event", event->name,
                                 "data", data);

        if (line)
                json_dumpf(line, stdout, JSON_COMPACT);
        fputc('\n', stdout);
        json_decref(line);
}

/* "4711  allocated  workload 17, node gpu-01" */
static void put_line(const struct sse_event *event, const json_t *data)
{
        json_t *other = data ? NULL : json_string(event->data);
        char id[STR_SHOW_MAX], name[STR_SHOW_MAX];

        printf("%s  %-20s  ", str_show(event->id, id), str_show(event->name, name));
        json_in_put_words(data ? data : other, stdout);
        fputc('\n', stdout);
        json_decref(other);
}

static int on_event(const struct sse_event *event, void *arg)
{
        struct printing *printing = arg;
        json_t *data = json_loads(event->data, JSON_DECODE_ANY, NULL);

        if (is_later(printing, data)) {
                json_decref(data);
                return -(int)ERR_CANCELLED;
        }
        printing->has_come |= !str_equal(event->name, "time_set");
        if (talk_is_json(printing->talk))
                put_json(event, data);
        else if (!str_equal(event->name, "time_set"))  /* that the clock goes on is no news */
                put_line(event, data);
        json_decref(data);
        if (fflush(stdout) == EOF) {
                printing->talk->code = EXIT_TROUBLE;
                return err_set(printing->err, ERR_IO, "standard output is closed");
        }
        return 0;
}

/* Until when; 0: without an end. */
static int take_end(const struct command_call *call, int64_t *ret_until_ms, struct err *err)
{
        const char *from = command_value(call, "from"), *until = command_value(call, "until");
        int64_t now_ms = time_wall_ms(), from_ms = 0;

        *ret_until_ms = command_value(call, "follow") ? 0 : now_ms + CAUGHT_UP_MS;
        if (from && command_value(call, "after"))
                return err_set(err, ERR_INPUT, "--after and --from: name one of them");
        if (from && when_told(from, now_ms, &from_ms, err) < 0)
                return err_prefix(err, "--from");
        if (!until)
                return 0;
        if (command_value(call, "follow"))
                return err_set(err, ERR_INPUT, "--follow has no end: it goes without --until");
        if (when_told(until, now_ms, ret_until_ms, err) < 0)
                return err_prefix(err, "--until");
        if (*ret_until_ms < from_ms)
                return err_set(err, ERR_INPUT, "--until is before --from: nothing lies between");
        return 0;
}

/* Behind which event it begins; NULL: with what comes, or when --from says. */
static const char *begin_of(const struct command_call *call)
{
        const char *after = command_value(call, "after");
        bool is_until = command_value(call, "until") && !command_value(call, "from");

        return !after && is_until ? "0" : after;
}

static int run(const struct command_call *call)
{
        bool follows = command_value(call, "follow") != NULL;
        const char *after = begin_of(call);
        struct text path = {0};
        struct err err = {0};
        struct talk talk;
        struct printing printing = {.talk = &talk, .err = &err};

        int rc = talk_open_quiet(call, follows ? 0 : CAUGHT_UP_MS, &talk, &err);

        if (rc == 0)
                rc = take_end(call, &printing.until_ms, &err);
        text_add(&path, "/v1/events");
        talk_path_option(&path, call, "tenant");
        talk_path_option(&path, call, "workload");
        talk_path_option(&path, call, "from");
        if (rc == 0 && path.failed)
                rc = err_set(&err, ERR_RANGE, "what is asked for is too long");
        if (rc == 0) {
                stop_catch(talk.client);
                rc = client_watch(talk.client, path.bytes, after ? after : "",
                                  follows ? TRIES_MAX : 1, on_event, &printing, &err);
                if (!follows && rc == -ERR_CANCELLED && !stop_asked())
                        rc = 0; /* caught up */
                if (rc == 0 && !command_value(call, "after") && !printing.has_come &&
                    !talk_is_json(&talk))
                        fputs(command_value(call, "from") || command_value(call, "until")
                                      ? "nothing happened in that time\n"
                                      : "nothing happens just now; --from -1h shows the last hour, "
                                        "--after 0 all that is kept, and -f waits for what comes\n",
                              stderr);
                if (rc == -ERR_NOT_FOUND)
                        talk.code = EXIT_NOT_FOUND;
        }
        text_done(&path);
        return talk_close(&talk, rc, &err);
}

const struct command events_command = {
        .name = "events",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "what the pool decided, as it happens",
        .details = details,
        .options = options,
        .run = run,
};
