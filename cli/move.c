#include "cli/move.h"

#include "base/text.h"
#include "cli/json_in.h"
#include "cli/talk.h"

static const struct command_option options[] = {
        {"to", 0, "NODE", "to this node; the default is any other that has room"},
        {"tenant", 't', "PATH", "whose work the name means"},
        {"dry-run", 'n', NULL, "change nothing; say where it would go"},
        {"reason", 'r', "TEXT", "why; it is kept with who did it, and shown"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "A place is found and kept first, on devices of the model that the work has; then the\n"
        "work gets the notice of its class, is stopped, and starts again there, from its last\n"
        "checkpoint where its program looks for one. Where no other node has room it stays.\n"
        "Nobody else is stopped for it.\n"
        "\n"
        "examples:\n"
        "  berth move 17 --dry-run\n"
        "  berth move 17 --to gpu-04 --reason 'fan of gpu-02'\n";

static int print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        const json_t *places = json_object_get(answer, "places");
        bool is_dry = json_in_flag(answer, "dry_run");
        char id[JSON_IN_MAX], until[JSON_IN_MAX], node[JSON_IN_MAX], devices[JSON_IN_MAX];

        (void)talk;
        (void)err;
        fprintf(file, "%s %s, and %s until %s where it is\n", json_in_words(answer, "id", id),
                is_dry ? "would be moved" : "is moved", is_dry ? "run on" : "runs on",
                json_in_words(answer, "until", until));
        for (size_t p = 0; p < json_array_size(places); p++) {
                const json_t *place = json_array_get(places, p);
                fprintf(file, "  member %lld to %s, devices %s\n",
                        (long long)json_in_number(place, "member"),
                        json_in_words(place, "node", node),
                        json_in_words(place, "devices", devices));
        }
        if (is_dry)
                fputs("nothing was changed\n", file);
        return 0;
}

static int run(const struct command_call *call)
{
        const char *to = command_value(call, "to");
        struct text path = {0}, body = {0};
        int code = EXIT_BAD_INPUT;

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/move");
        talk_path_option(&path, call, "tenant");
        talk_path_query(&path, "dry_run", command_value(call, "dry-run") ? "true" : NULL);
        text_add(&body, "{");
        if (to) {
                text_add(&body, "\"to\": ");
                text_add_json(&body, to);
        }
        text_add(&body, "}");
        if (path.failed || body.failed) {
                fputs("berth move: a name is too long\n", stderr);
        } else {
                const struct talk_change change = {.method = "POST",
                                                   .path = path.bytes,
                                                   .body = body.bytes,
                                                   .body_size = body.size,
                                                   .reason = command_value(call, "reason")};
                code = talk_act(call, &change, print);
        }
        text_done(&body);
        text_done(&path);
        return code;
}

const struct command move_command = {
        .name = "move",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "ID|NAME",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "let running work go on somewhere else",
        .details = details,
        .options = options,
        .run = run,
};
