#include "cli/quarantine.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/listing.h"

static const struct command_option options[] = {
        {"reason", 'r', "TEXT", "release: why; it is kept with who did it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "list     what has crashed the controller: `held` did so twice within a day, and is\n"
        "         refused from then on; `suspect` did so once. --json: also stacks and the input\n"
        "release  it is tried again when it comes again; best after an upgrade\n"
        "\n"
        "Of the `engine` as a whole: inputs of several kinds have crashed it, and it decides\n"
        "nothing until this is released. What runs goes on.\n"
        "\n"
        "examples:\n"
        "  berth quarantine list\n"
        "  berth quarantine list --json\n"
        "  berth quarantine release 3 --reason 'upgraded to 0.1.1'\n";

int quarantine_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_NUMBER}, {"state", "state", LISTING_STATE},
                {"of", "of", LISTING_TEXT},   {"last", "last crash", LISTING_TEXT},
                {"by", "asked by", LISTING_TEXT},
                {"kind", "kind", LISTING_TEXT}, {"what", "what", LISTING_CUT},
                {0},
        };

        return listing_print(json_object_get(answer, "quarantine"), columns, 1,
                             "nothing has crashed the controller", &talk->screen, file, err);
}

static int run_list(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/quarantine");
        return talk_show(call, &path, quarantine_print);
}

static int run_release(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/quarantine");
        talk_path_segment(&path, call->arguments[0]);
        const struct talk_change change = {.method = "DELETE",
                                           .path = path.failed ? "" : path.bytes,
                                           .reason = command_value(call, "reason")};
        int code = talk_act(call, &change, NULL);
        if (code == EXIT_FINE && !command_value(call, "json"))
                printf("%s is tried again when it comes again\n", call->arguments[0]);
        text_done(&path);
        return code;
}

static const struct command_action actions[] = {
        {"list", "", 0, 0, run_list},
        {"release", "ID", 1, 1, run_release},
        {0},
};

const struct command quarantine_command = {
        .name = "quarantine",
        .group = GROUP_OPERATE,
        .is_live = true,
        .summary = "what has crashed the controller, and is not tried again",
        .details = details,
        .options = options,
        .actions = actions,
};
