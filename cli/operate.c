#include "cli/operate.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/json_out.h"
#include "cli/talk.h"

/* ---- drain, undrain ---- */

static const struct command_option drain_options[] = {
        {"by", 0, "TIME", "to be empty by then: " TALK_TIME_AHEAD "; else as its work ends"},
        {"reason", 'r', "TEXT", "why; it is shown"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const struct command_option undrain_options[] = {
        {"reason", 'r', "TEXT", "why; it is kept with who did it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char drain_details[] =
        "The node takes nothing new. With --by, what would not have ended by then is told to stop\n"
        "in time, with the notice of its class, and waits in its old place (docs/policy.md,\n"
        "drains).\n"
        "\n"
        "examples:\n"
        "  berth drain gpu-04\n"
        "  berth drain gpu-04 --by 2027-01-04T08:00Z --reason 'fan of device 3'\n";

static const char undrain_details[] = "examples:\n"
                                      "  berth undrain gpu-04\n";

static int print_drained(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        char by[JSON_IN_MAX];

        (void)err;
        json_in_clean(answer, "drain_by", by);
        fprintf(file, "%s takes nothing new%s%s\n", talk->call->arguments[0],
                by[0] ? ", and is to be empty by " : "", by);
        return 0;
}

static int print_undrained(const json_t *answer, const struct talk *talk, FILE *file,
                           struct err *err)
{
        (void)answer;
        (void)err;
        fprintf(file, "%s takes work again\n", talk->call->arguments[0]);
        return 0;
}

/* Sends `body` (taken; NULL: none) and prints. */
static int send_to(const struct command_call *call, struct text *path, json_t *body,
                   talk_printer *print)
{
        struct err err = {0};
        char *text = NULL;
        size_t size = 0;
        int code = EXIT_TROUBLE;

        if (path->failed || (body && json_out_add(body, JSON_COMPACT, &text, &size, &err) < 0)) {
                fprintf(stderr, "berth %s: out of memory, or a name is too long\n",
                        call->command->name);
        } else {
                const struct talk_change change = {
                        .method = "POST",
                        .path = path->bytes,
                        .body = text,
                        .body_size = size,
                        .reason = command_value(call, "reason"),
                };
                code = talk_act(call, &change, print);
        }
        mem_free(text);
        text_done(path);
        return code;
}

static int run_drain(const struct command_call *call)
{
        const char *by = command_value(call, "by"), *reason = command_value(call, "reason");
        struct text path = {0};

        text_add(&path, "/v1/nodes");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/drain");
        json_t *body = json_object();
        if (by)
                json_object_set_new(body, "by", json_string(by));
        if (reason)
                json_object_set_new(body, "reason", json_string(reason));
        return send_to(call, &path, body, print_drained);
}

static int run_undrain(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/nodes");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/undrain");
        return send_to(call, &path, NULL, print_undrained);
}

const struct command drain_command = {
        .name = "drain",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "NODE",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "let a node take nothing new, and be empty by a time",
        .details = drain_details,
        .options = drain_options,
        .run = run_drain,
};

const struct command undrain_command = {
        .name = "undrain",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "NODE",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "let a node take work again",
        .details = undrain_details,
        .options = undrain_options,
        .run = run_undrain,
};

/* ---- lost ---- */

static const struct command_option lost_options[] = {
        {"reason", 'r', "TEXT", "how it is known that the node is off; needed"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char lost_details[] =
        "For a node that is silent and known to be off. Work whose class has 'on_lost_contact:\n"
        "continue' keeps its place there until the node is back, for it may still run; with this\n"
        "it waits again, and may start elsewhere. If it runs after all, it runs twice.\n"
        "\n"
        "examples:\n"
        "  berth lost gpu-04 --reason 'power is off, seen by jo'\n";

static int print_lost(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        (void)answer;
        (void)err;
        fprintf(file, "what ran on %s is given up\n", talk->call->arguments[0]);
        return 0;
}

static int run_lost(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/nodes");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/lost");
        return send_to(call, &path, NULL, print_lost);
}

const struct command lost_command = {
        .name = "lost",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "NODE",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "give up what may go on on a silent node: it is off",
        .details = lost_details,
        .options = lost_options,
        .run = run_lost,
};

/* ---- freeze, unfreeze ---- */

static const struct command_option freeze_options[] = {
        {"plane", 0, "PLANE", "of this plane; the default is the whole pool"},
        {"reason", 'r', "TEXT", "why; it is kept with who did it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char freeze_details[] =
        "Nothing starts there, and nothing is stopped for capacity. What runs goes on, and work\n"
        "can be submitted and cancelled.\n"
        "\n"
        "examples:\n"
        "  berth freeze --reason 'storage is down'\n"
        "  berth freeze --plane training\n";

static const char unfreeze_details[] = "examples:\n"
                                       "  berth unfreeze\n"
                                       "  berth unfreeze --plane training\n";

static int print_frozen(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        const char *plane = command_value(talk->call, "plane");
        bool is_frozen = strcmp(talk->call->command->name, "freeze") == 0;

        (void)answer;
        (void)err;
        fprintf(file, "%s%s %s\n", plane ? "plane " : "the pool", plane ? plane : "",
                is_frozen ? "is frozen: nothing starts there, and nothing is stopped for capacity"
                          : "goes on");
        return 0;
}

static int set_frozen(const struct command_call *call, bool is_frozen)
{
        const char *plane = command_value(call, "plane");
        struct text path = {0};
        json_t *body = json_pack("{s: b}", "frozen", is_frozen);

        if (plane)
                json_object_set_new(body, "plane", json_string(plane));
        text_add(&path, "/v1/freeze");
        return send_to(call, &path, body, print_frozen);
}

static int run_freeze(const struct command_call *call)
{
        return set_frozen(call, true);
}

static int run_unfreeze(const struct command_call *call)
{
        return set_frozen(call, false);
}

const struct command freeze_command = {
        .name = "freeze",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "",
        .summary = "let nothing start, and nothing be stopped for capacity",
        .details = freeze_details,
        .options = freeze_options,
        .run = run_freeze,
};

const struct command unfreeze_command = {
        .name = "unfreeze",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "",
        .summary = "let a frozen pool or plane go on",
        .details = unfreeze_details,
        .options = freeze_options,
        .run = run_unfreeze,
};
