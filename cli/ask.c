#include "cli/ask.h"

#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "cli/listing.h"

/* ---- queue ---- */

static const struct command_option queue_options[] = {
        {"at", 0, "TIME", "as it was then: " TALK_TIME},
        {"tenant", 't', "PATH", "of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char queue_details[] =
        "What waits, in the order in which the pool tries it: who has less than was promised\n"
        "first, then by class, by how much its tenant borrowed, and by the class's own order. You\n"
        "see what you may see; of a tenant's work the position is exact. A start is foretold\n"
        "where there is a reliable estimate: half start within the first time, nine in ten\n"
        "within p90.\n"
        "\n"
        "examples:\n"
        "  berth queue\n"
        "  berth queue --tenant research/nlp\n"
        "  berth queue --at -2h\n";

int ask_print_queue(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"position", "#", LISTING_NUMBER},
                {"id", "id", LISTING_NUMBER},
                {"name", "name", LISTING_TEXT},
                {"tenant", "tenant", LISTING_TEXT},
                {"class", "class", LISTING_TEXT},
                {"devices", "devices", LISTING_NUMBER},
                {"waited_ms", "waited", LISTING_SPAN},
                {"expected_ms", "expected run", LISTING_SPAN},
                {"starts_in_ms", "starts in", LISTING_SPAN},
                {"starts_in_p90_ms", "p90", LISTING_SPAN},
                {"verdict", "verdict", LISTING_TEXT},
                {"summary", "why", LISTING_CUT},
                {0},
        };

        return listing_print(json_object_get(answer, "workloads"), columns, 3, "nothing waits",
                             &talk->screen, file, err);
}

static int run_queue(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/queue");
        talk_path_option(&path, call, "tenant");
        talk_path_query(&path, "limit", "1000");
        talk_path_option(&path, call, "at");
        return talk_show(call, &path, ask_print_queue);
}

const struct command queue_command = {
        .name = "queue",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "",
        .summary = "what waits, in the order in which it is tried",
        .details = queue_details,
        .options = queue_options,
        .run = run_queue,
};

/* ---- explain ---- */

static const struct command_option explain_options[] = {
        {"tenant", 't', "PATH", "whose work the name means"},
        {"at", 0, "TIME", "as it was then: " TALK_TIME},
        {"view", 0, "VIEW", "as 'tenant' or 'operator' sees it; the default is all you may see"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char explain_details[] =
        "Goes through all conditions for a start, says which one fails first, what each group of\n"
        "nodes lacks, what would help, and when it is expected to start. docs/explain.md\n"
        "describes the text.\n"
        "\n"
        "examples:\n"
        "  berth explain 17\n"
        "  berth explain llama-sft --view tenant\n"
        "  berth explain 17 --at -2h              as it was two hours ago\n";

static int run_explain(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/explain");
        talk_path_option(&path, call, "tenant");
        talk_path_option(&path, call, "view");
        talk_path_option(&path, call, "at");
        return talk_show_text(call, &path);
}

const struct command explain_command = {
        .name = "explain",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "ID|NAME",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "why a workload waits, and what would help",
        .details = explain_details,
        .options = explain_options,
        .run = run_explain,
};

/* ---- fits ---- */

static const struct command_option fits_options[] = {
        {"tenant", 't', "PATH", "for this tenant; the default is yours"},
        {"class", 0, "NAME", "for work of this class"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char fits_details[] =
        "The largest requests that would start at once, per device model and method.\n"
        "\n"
        "examples:\n"
        "  berth fits --tenant research/nlp\n"
        "  berth fits --tenant web --class critical\n";

static int run_fits(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/fits");
        talk_path_option(&path, call, "tenant");
        talk_path_option(&path, call, "class");
        return talk_show_text(call, &path);
}

const struct command fits_command = {
        .name = "fits",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "",
        .summary = "the largest requests that would start now",
        .details = fits_details,
        .options = fits_options,
        .run = run_fits,
};

/* ---- idle ---- */

static const struct command_option idle_options[] = {
        {"at", 0, "TIME", "as it was then: " TALK_TIME},
        {"model", 0, "MODEL", "devices of this model"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char idle_details[] =
        "Why devices are not used: nobody asks for them, they are kept for somebody, drained,\n"
        "broken, or left over where nothing that waits fits.\n"
        "\n"
        "examples:\n"
        "  berth idle\n"
        "  berth idle --model H100-80\n"
        "  berth idle --at 2027-01-04T08:00Z\n";

static int run_idle(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/idle");
        talk_path_option(&path, call, "model");
        talk_path_option(&path, call, "at");
        return talk_show_text(call, &path);
}

const struct command idle_command = {
        .name = "idle",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "why devices are idle",
        .details = idle_details,
        .options = idle_options,
        .run = run_idle,
};

/* ---- tenants ---- */

static const struct command_option tenants_options[] = {
        {"tenant", 't', "PATH", "this one and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char tenants_details[] =
        "What each tenant is promised (protect) and may hold at most (limit), in devices; what it\n"
        "holds as protected work, borrowed beyond its promise, and besides as spare work (others\n"
        "may take it); how much of its work there is, and runs; what is used of its budget, in\n"
        "device-hours.\n"
        "\n"
        "examples:\n"
        "  berth tenants\n"
        "  berth tenants --tenant research\n";

/* "12.5 of 5000 h a month, 3 of 10 h a day of H100-80". */
static void add_budget(json_t *row)
{
        const json_t *budgets = json_object_get(row, "budgets");
        char per[JSON_IN_MAX], of[JSON_IN_MAX];
        struct text text = {0};

        for (size_t b = 0; b < json_array_size(budgets); b++) {
                const json_t *budget = json_array_get(budgets, b);
                bool is_any = str_equal(json_in_clean(budget, "of", of), "any");
                text_add(&text, "%s%.12g of %.12g h a %s%s%s", b ? ", " : "",
                         json_in_decimal(budget, "used"), json_in_decimal(budget, "device_hours"),
                         json_in_clean(budget, "per", per), is_any ? "" : " of ",
                         is_any ? "" : of);
        }
        if (text.size > 0)
                json_object_set_new(row, "budget", json_string(text.bytes));
        text_done(&text);
}

int ask_print_tenants(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"tenant", "tenant", LISTING_TEXT},
                {"protect", "protect", LISTING_TEXT},
                {"limit", "limit", LISTING_TEXT},
                {"held", "held", LISTING_NUMBER},
                {"protected", "protected", LISTING_NUMBER},
                {"borrowed", "borrowed", LISTING_NUMBER},
                {"spare", "spare", LISTING_NUMBER},
                {"workloads", "work", LISTING_NUMBER},
                {"running", "running", LISTING_NUMBER},
                {"budget", "budget used", LISTING_TEXT},
                {0},
        };

        return listing_print_with(json_object_get(answer, "tenants"), add_budget, columns, 1,
                                  "there is no tenant that you may see", &talk->screen, file, err);
}

static int run_tenants(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/tenants");
        talk_path_option(&path, call, "tenant");
        return talk_show(call, &path, ask_print_tenants);
}

const struct command tenants_command = {
        .name = "tenants",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "what tenants are promised, hold and borrow, and what their budgets come to",
        .details = tenants_details,
        .options = tenants_options,
        .run = run_tenants,
};

/* ---- notices ---- */

static const struct command_option notices_options[] = {
        {"tenant", 't', "PATH", "work of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char notices_details[] =
        "Work that has been told to stop: why, until when it may run, and for whom.\n"
        "\n"
        "examples:\n"
        "  berth notices\n";

/* "17 sft of web (class critical)", or "work of another tenant (class critical)". */
static void add_whom(json_t *row)
{
        const json_t *other = json_object_get(row, "for");
        char id[JSON_IN_MAX], name[JSON_IN_MAX], tenant[JSON_IN_MAX], class[JSON_IN_MAX];
        struct text text = {0};

        if (json_in_has(other, "workload"))
                text_add(&text, "%s %s of %s", json_in_words(other, "workload", id),
                         json_in_clean(other, "name", name),
                         json_in_clean(other, "tenant", tenant));
        else if (json_is_object(other))
                text_add(&text, "work of another tenant");
        if (json_in_has(other, "class"))
                text_add(&text, " (class %s)", json_in_clean(other, "class", class));
        if (text.size > 0)
                json_object_set_new(row, "whom", json_string(text.bytes));
        text_done(&text);
}

int ask_print_notices(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"workload", "workload", LISTING_TEXT},
                {"name", "name", LISTING_TEXT},
                {"tenant", "tenant", LISTING_TEXT},
                {"cause", "cause", LISTING_TEXT},
                {"until", "until", LISTING_TEXT},
                {"whom", "for", LISTING_TEXT},
                {0},
        };

        return listing_print_with(json_object_get(answer, "notices"), add_whom, columns, 1,
                                  "no work has been told to stop", &talk->screen, file, err);
}

static int run_notices(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/notices");
        talk_path_option(&path, call, "tenant");
        return talk_show(call, &path, ask_print_notices);
}

const struct command notices_command = {
        .name = "notices",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "work that has been told to stop",
        .details = notices_details,
        .options = notices_options,
        .run = run_notices,
};
