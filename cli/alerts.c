#include "cli/alerts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/listing.h"

static const struct command_option options[] = {
        {"all", 'a', NULL, "those that are over too, the newest first"},
        {"kind", 0, "KIND", "of this kind: stale_node, broken_promise ..."},
        {"reason", 0, "TEXT", "ack: what is done about it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "What somebody should look at: critical ones first. `berth alerts ack ID` says that\n"
        "somebody does. An alert is over when what it tells of has been gone for a while; what\n"
        "happened once is over when it is acknowledged. The policy's `alerts` sets thresholds,\n"
        "and where changes are posted to (docs/alerts.md).\n"
        "\n"
        "examples:\n"
        "  berth alerts\n"
        "  berth alerts --all --kind stale_node\n"
        "  berth alerts ack 17 --reason \"the rack is being moved\"\n";

static void put_amount(const json_t *alert, const char *key, char buf[JSON_IN_MAX])
{
        const char *measure = json_in_text(alert, "measure");

        buf[0] = '\0';
        if (str_equal(measure, "share"))
                snprintf(buf, JSON_IN_MAX, "%.2f",
                         json_number_value(json_object_get(alert, key)));
        else if (str_equal(measure, "ms"))
                json_in_span(alert, key, buf);
}

/* As one reads it: amounts in words, and who looks after it. */
static void add_words(json_t *row)
{
        char value[JSON_IN_MAX], threshold[JSON_IN_MAX];
        const char *state = json_in_has(row, "resolved")       ? "over"
                            : json_in_has(row, "acknowledged") ? "acknowledged"
                                                               : "firing";

        put_amount(row, "value", value);
        put_amount(row, "threshold", threshold);
        json_object_set_new(row, "is", json_string(state));
        json_object_set_new(row, "value", json_string(value));
        json_object_set_new(row, "threshold", json_string(threshold));
}

int alerts_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"id", "id", LISTING_NUMBER},         {"severity", "severity", LISTING_TEXT},
                {"kind", "kind", LISTING_TEXT},       {"subject", "of", LISTING_TEXT},
                {"is", "is", LISTING_TEXT},           {"since", "since", LISTING_TEXT},
                {"value", "value", LISTING_NUMBER},   {"threshold", "threshold", LISTING_NUMBER},
                {"text", "what", LISTING_CUT},        {0},
        };

        return listing_print_with(json_object_get(answer, "alerts"), add_words, columns, 1,
                                  "nothing needs anybody's attention", &talk->screen, file, err);
}

void alerts_print_line(const json_t *counts, const struct talk *talk, FILE *file)
{
        int64_t firing = json_in_number(counts, "firing");
        int64_t critical = json_in_number(counts, "critical");
        int64_t open = json_in_number(counts, "unacknowledged");

        if (firing <= 0)
                return;
        fprintf(file, "%s%" PRId64 " alert%s", screen_on(&talk->screen, TONE_BAD), firing,
                firing == 1 ? "" : "s");
        if (critical > 0)
                fprintf(file, ", %" PRId64 " critical", critical);
        if (open < firing)
                fprintf(file, ", %" PRId64 " acknowledged", firing - open);
        fprintf(file, "; `berth alerts` lists %s%s\n", firing == 1 ? "it" : "them",
                screen_off(&talk->screen, TONE_BAD));
}

static int list(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/alerts");
        if (command_value(call, "all"))
                talk_path_query(&path, "state", "all");
        talk_path_option(&path, call, "kind");
        return talk_show(call, &path, alerts_print);
}

static int acknowledge(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/alerts");
        talk_path_segment(&path, call->arguments[1]);
        text_add(&path, "/acknowledge");
        const struct talk_change change = {.method = "POST",
                                           .path = path.failed ? "" : path.bytes,
                                           .reason = command_value(call, "reason")};
        int code = talk_act(call, &change, NULL);
        if (code == EXIT_FINE && !command_value(call, "json"))
                printf("alert %s is acknowledged\n", call->arguments[1]);
        text_done(&path);
        return code;
}

static int run(const struct command_call *call)
{
        if (call->arguments_count == 0)
                return list(call);
        if (call->arguments_count == 2 && str_equal(call->arguments[0], "ack"))
                return acknowledge(call);
        fprintf(stderr, "berth alerts: write `berth alerts`, or `berth alerts ack ID`\n");
        return EXIT_BAD_INPUT;
}

const struct command alerts_command = {
        .name = "alerts",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "[ack ID]",
        .arguments_max = 2,
        .summary = "what somebody should look at, and who does",
        .details = details,
        .options = options,
        .run = run,
};
