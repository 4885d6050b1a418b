/* The list of workloads: options to a query, pages to one answer, rows to a table. */
#include "cli/status.h"

#include <stdio.h>

#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/listing.h"
#include "cli/pages.h"

static const struct command_option options[] = {
        {"tenant", 't', "PATH", "work of this tenant and those below it"},
        {"mine", 'm', NULL, "work that you submitted"},
        {"class", 0, "NAME", "work of this class"},
        {"state", 0, "STATE", "work in this state only"},
        {"all", 'a', NULL, "ended work too (the same as --state all)"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Without a name: a table of the work that you may see and that has not ended, newest\n"
        "first: the nodes of what runs, and in a sentence why the rest waits (`berth explain`\n"
        "says it in full). With the number or name of a workload: all that is known of it. Of\n"
        "several of one name the newest is taken; --tenant says whose.\n"
        "\n"
        "States: queued, held, starting, running, stopping, cancelling, quarantined; and of what\n"
        "has ended succeeded, failed, cancelled, timed_out, lost, stopped, refused. --state also\n"
        "takes live and all.\n"
        "\n"
        "examples:\n"
        "  berth status\n"
        "  berth status --all --mine\n"
        "  berth status --tenant research/nlp --state running\n"
        "  berth status llama-sft\n"
        "  berth status 17 --json\n";

/* ---- the table ---- */

static bool waits(const json_t *row)
{
        const char *state = json_in_text(row, "state");

        return str_equal(state, "queued") || str_equal(state, "held");
}

/* Its nodes, or why it has none. */
static void add_why(json_t *row)
{
        if (json_array_size(json_object_get(row, "nodes")) > 0)
                json_object_set(row, "why", json_object_get(row, "nodes"));
        else if (waits(row) && json_in_has(row, "summary"))
                json_object_set(row, "why", json_object_get(row, "summary"));
}

/* What waits and was not explained (there may be much of it) says how to ask. */
static void add_why_or_way(json_t *row)
{
        char id[JSON_IN_MAX], text[JSON_IN_MAX + 32];

        add_why(row);
        if (json_in_has(row, "why") || !waits(row))
                return;
        (void)snprintf(text, sizeof text, "see berth explain %s", json_in_words(row, "id", id));
        json_object_set_new(row, "why", json_string(text));
}

/* Whether the server knows the question. */
static bool says_why(const json_t *list)
{
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_in_has(json_array_get(list, i), "summary") ||
                    json_in_has(json_array_get(list, i), "nodes"))
                        return true;
        return false;
}

static int print_list(const json_t *answer, const char *empty, const struct talk *talk, FILE *file,
                      struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_NUMBER},
                {"name", "name", LISTING_TEXT},
                {"tenant", "tenant", LISTING_TEXT},
                {"class", "class", LISTING_TEXT},
                {"user", "user", LISTING_TEXT},
                {"state", "state", LISTING_STATE},
                {"devices", "devices", LISTING_NUMBER},
                {"standing", "standing", LISTING_TEXT},
                {"waited_ms", "waited", LISTING_SPAN},
                {"why", "nodes, or why it waits", LISTING_CUT},
                {0},
        };
        const json_t *list = json_object_get(answer, "workloads");

        return listing_print_with(list, says_why(list) ? add_why_or_way : add_why, columns, 2,
                                  empty, &talk->screen, file, err);
}

int status_print_list(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        return print_list(answer, "there is no such work", talk, file, err);
}

/* Nothing was said of which work. */
static int print_live(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        return print_list(answer,
                          "nothing runs or waits; `berth status --all` shows what has ended", talk,
                          file, err);
}

/* `named`: what has its name. */
static void put_line(const json_t *workload, const json_t *named, const struct talk *talk,
                     FILE *file)
{
        char id[JSON_IN_MAX], name[JSON_IN_MAX], state[JSON_IN_MAX], summary[JSON_IN_MAX];
        enum tone tone = screen_state_tone(json_in_text(workload, "state"));

        json_in_clean(named, "name", name);
        fprintf(file, "%s%s%s: %s%s%s", json_in_words(workload, "id", id), name[0] ? " " : "", name,
                screen_on(&talk->screen, tone), json_in_clean(workload, "state", state),
                screen_off(&talk->screen, tone));
        if (json_in_clean(workload, "summary", summary)[0])
                fprintf(file, ". %s", summary);
        fputc('\n', file);
}

int status_print_line(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        const json_t *list = json_object_get(answer, "workloads");

        (void)err;
        if (!list)
                put_line(answer, answer, talk, file);
        for (size_t i = 0; i < json_array_size(list); i++)
                put_line(json_array_get(list, i), answer, talk, file);
        return 0;
}

/* ---- asking ---- */

static int run_list(const struct command_call *call)
{
        const char *state = command_value(call, "state");
        bool is_any = !state && !command_value(call, "all") && !command_value(call, "tenant") &&
                      !command_value(call, "class") && !command_value(call, "mine");
        struct text path = {0};

        if (!state && command_value(call, "all"))
                state = "all";
        text_add(&path, "/v1/workloads");
        talk_path_option(&path, call, "tenant");
        talk_path_option(&path, call, "class");
        talk_path_query(&path, "state", state);
        talk_path_query(&path, "mine", command_value(call, "mine") ? "true" : NULL);
        return pages_show(call, &path, "workloads", "why",
                          is_any ? print_live : status_print_list);
}

static int run(const struct command_call *call)
{
        struct text path = {0};

        if (call->arguments_count == 0)
                return run_list(call);
        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, call->arguments[0]);
        talk_path_option(&path, call, "tenant");
        return talk_show(call, &path, status_print_one);
}

const struct command status_command = {
        .name = "status",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "[ID|NAME]",
        .arguments_max = 1,
        .summary = "what runs and what waits, or all that is known of one workload",
        .details = details,
        .options = options,
        .run = run,
};
