#include "cli/planned.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/json_in.h"
#include "cli/listing.h"
#include "proto/when.h"

#define WINDOW_OPTIONS                                                                          \
        {"from", 0, "TIME", "create: when it begins: " TALK_TIME_AHEAD},                        \
        {"until", 0, "TIME", "create: when it is over, alike"},                                 \
        {"every", 0, "SPAN", "create: it comes again: 7d"},                                     \
        {"last", 0, "TIME", "create: ... and no more from then on"},                            \
        {"dry-run", 'n', NULL, "create, delete: change nothing; say what would change"},        \
        {"reason", 'r', "TEXT", "create, delete: why; it is kept with who did it"}

static const struct command_option reservation_options[] = {
        {"tenant", 't', "PATH", "create: for whom; list: of that tenant"},
        {"devices", 'd', "MODEL=N ...", "create: how many of a model: H100-80=8. May be repeated"},
        {"unused", 0, "WORD", "create: lend (the default) or keep what is not used of it"},
        WINDOW_OPTIONS,
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const struct command_option maintenance_options[] = {
        {"nodes", 0, "NODES", "create: of these nodes: 'gpu-[01-04]'"},
        {"plane", 0, "PLANE", "create: of all nodes of this plane; without both, of the pool"},
        WINDOW_OPTIONS,
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char reservation_details[] =
        "A reservation promises devices to a tenant in a window of time (docs/policy.md,\n"
        "reservations). It stands beside the policy, and each change is a new revision of that:\n"
        "`berth policy show` has it, a rollback takes it back. create with a name that is there\n"
        "sets it anew. `berth apply` takes documents of kind Reservation.\n"
        "\n"
        "examples:\n"
        "  berth reservation create launch --tenant web --devices H100-80=8 \\\n"
        "        --from 2027-01-04T08:00Z --until 2027-01-08T18:00Z --unused keep\n"
        "  berth reservation list\n"
        "  berth reservation delete launch --reason 'the launch is off'\n";

static const char maintenance_details[] =
        "When a window begins, its nodes are empty: work that would not have ended by then is\n"
        "told to stop in time, with the notice of its class, and waits in its old place\n"
        "(docs/policy.md, drains). A dry run lists it. create with a name that is there sets it\n"
        "anew. `berth apply` takes documents of kind Maintenance.\n"
        "\n"
        "examples:\n"
        "  berth maintenance create fans --nodes 'gpu-[01-04]' --from 2027-01-04T08:00Z \\\n"
        "        --until 2027-01-04T12:00Z --reason 'new fans' --dry-run\n"
        "  berth maintenance list\n"
        "  berth maintenance delete fans\n";

/* ---- the document ---- */

static void add_option(struct text *text, const struct command_call *call, const char *option)
{
        const char *value = command_value(call, option);

        if (!value)
                return;
        text_add(text, "%s: ", option);
        text_add_json(text, value);
        text_add(text, "\n");
}

/* "H100-80=8" becomes "H100-80": 8. */
static int add_devices(struct text *text, const struct command_call *call, struct err *err)
{
        const char *value;
        size_t cursor = 0;
        unsigned count = 0;

        text_add(text, "devices: {");
        while ((value = command_each(call, "devices", &cursor))) {
                const char *equals = strrchr(value, '=');
                char model[64];
                if (!equals || equals == value || strspn(equals + 1, "0123456789.") == 0 ||
                    equals[1 + strspn(equals + 1, "0123456789.")] ||
                    (size_t)(equals - value) >= sizeof model)
                        return err_set(err, ERR_INPUT, "--devices %s: write MODEL=N, for example "
                                                       "H100-80=8",
                                       value);
                memcpy(model, value, (size_t)(equals - value));
                model[equals - value] = '\0';
                text_add(text, "%s", count++ ? ", " : "");
                text_add_json(text, model);
                text_add(text, ": %s", equals + 1);
        }
        text_add(text, "}\n");
        return count ? 0 : err_set(err, ERR_INPUT, "say how many: --devices MODEL=N, for example "
                                                   "H100-80=8");
}

/* "2h": so long from now, in whole seconds. A time stands in the document as it was given. */
static int add_time(struct text *text, const struct command_call *call, const char *name,
                    struct err *err)
{
        const char *given = command_value(call, name);
        char buf[WHEN_TEXT_MAX];
        int64_t at_ms = 0;

        if (!given || when_parse(given, &at_ms, NULL) == 0) {
                add_option(text, call, name);
                return 0;
        }
        if (when_ahead(given, time_wall_ms(), &at_ms, err) < 0)
                return err_prefix(err, "--%s", name);
        text_add(text, "%s: ", name);
        text_add_json(text, when_text(at_ms, buf));
        text_add(text, "\n");
        return 0;
}

static int write_document(struct text *text, const struct command_call *call, bool reserves,
                          struct err *err)
{
        static const char *const times[] = {"from", "until", "last"};
        int rc = 0;

        text_add(text, "kind: %s\nname: ", reserves ? "Reservation" : "Maintenance");
        text_add_json(text, call->arguments[0]);
        text_add(text, "\n");
        for (size_t t = 0; rc == 0 && t < ARRAY_LEN(times); t++)
                rc = add_time(text, call, times[t], err);
        if (rc < 0)
                return rc;
        add_option(text, call, "every");
        if (reserves) {
                add_option(text, call, "tenant");
                add_option(text, call, "unused");
                rc = add_devices(text, call, err);
        } else {
                add_option(text, call, "nodes");
                add_option(text, call, "plane");
                add_option(text, call, "reason");
        }
        return rc == 0 && text->failed ? err_set(err, ERR_NOMEM, "out of memory") : rc;
}

/* ---- putting it ---- */

static int print_stops(const json_t *stops, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"workload", "id", LISTING_NUMBER}, {"name", "name", LISTING_TEXT},
                {"tenant", "tenant", LISTING_TEXT}, {"node", "node", LISTING_TEXT},
                {"window", "window", LISTING_TEXT}, {"told", "told at", LISTING_TEXT},
                {"until", "gone by", LISTING_TEXT}, {"ends_before", "ends before", LISTING_TEXT},
                {0},
        };

        fputs("what runs there now:\n", file);
        return listing_print(stops, columns, 1, "nothing that would have to stop", &talk->screen,
                             file, err);
}

int planned_print(const char *what, const char *name, const json_t *answer,
                  const struct talk *talk, FILE *file, struct err *err)
{
        const json_t *warnings = json_object_get(answer, "warnings");
        const json_t *stops = json_object_get(answer, "stops");
        bool is_dry = json_in_flag(answer, "dry_run");
        const char *whole = str_equal(what, "reservation") ? "policy" : "pool";
        char revision[JSON_IN_MAX];

        fprintf(file, "%s %s: %s %s revision %s\n", what, name, whole, is_dry ? "would be" : "is",
                json_in_words(answer, "revision", revision));
        for (size_t i = 0; i < json_array_size(warnings); i++) {
                fputs("warning: ", file);
                json_in_put_words(json_array_get(warnings, i), file);
                fputc('\n', file);
        }
        return stops ? print_stops(stops, talk, file, err) : 0;
}

static int print_reservation(const json_t *answer, const struct talk *talk, FILE *file,
                             struct err *err)
{
        return planned_print("reservation", talk->call->arguments[0], answer, talk, file, err);
}

static int print_maintenance(const json_t *answer, const struct talk *talk, FILE *file,
                             struct err *err)
{
        return planned_print("maintenance", talk->call->arguments[0], answer, talk, file, err);
}

static int send(const struct command_call *call, const char *method, const char *under,
                const struct text *body, talk_printer *print)
{
        struct text path = {0};
        int code = EXIT_TROUBLE;

        text_add(&path, "%s", under);
        talk_path_segment(&path, call->arguments[0]);
        talk_path_query(&path, "dry_run", command_value(call, "dry-run") ? "true" : NULL);
        if (path.failed) {
                fprintf(stderr, "berth %s: the name is too long\n", call->command->name);
        } else {
                const struct talk_change change = {.method = method,
                                                   .path = path.bytes,
                                                   .type = body ? "application/yaml" : NULL,
                                                   .body = body ? body->bytes : NULL,
                                                   .body_size = body ? body->size : 0,
                                                   .reason = command_value(call, "reason")};
                code = talk_act(call, &change, print);
        }
        text_done(&path);
        return code;
}

static int create(const struct command_call *call, const char *under, bool reserves,
                  talk_printer *print)
{
        struct text body = {0};
        struct err err;
        int code = EXIT_BAD_INPUT;

        if (write_document(&body, call, reserves, &err) == 0)
                code = send(call, "PUT", under, &body, print);
        else
                fprintf(stderr, "berth %s: %s\n", call->command->name, err.text);
        text_done(&body);
        return code;
}

static int run_reserve(const struct command_call *call)
{
        return create(call, "/v1/reservations", true, print_reservation);
}

static int run_maintain(const struct command_call *call)
{
        return create(call, "/v1/maintenance", false, print_maintenance);
}

static int run_unreserve(const struct command_call *call)
{
        return send(call, "DELETE", "/v1/reservations", NULL, print_reservation);
}

static int run_end_maintenance(const struct command_call *call)
{
        return send(call, "DELETE", "/v1/maintenance", NULL, print_maintenance);
}

/* ---- lists ---- */

static int print_reservations(const json_t *answer, const struct talk *talk, FILE *file,
                              struct err *err)
{
        static const struct listing_column columns[] = {
                {"name", "name", LISTING_TEXT},   {"tenant", "tenant", LISTING_TEXT},
                {"state", "state", LISTING_TEXT}, {"devices", "devices", LISTING_TEXT},
                {"held", "held", LISTING_TEXT},   {"unused", "unused", LISTING_TEXT},
                {"from", "from", LISTING_TEXT},   {"until", "until", LISTING_TEXT},
                {"every_ms", "every", LISTING_SPAN}, {0},
        };

        return listing_print(json_object_get(answer, "reservations"), columns, 1,
                             "nothing is reserved that you may see", &talk->screen, file, err);
}

static int run_reservations(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/reservations");
        talk_path_option(&path, call, "tenant");
        return talk_show(call, &path, print_reservations);
}

static int print_windows(const json_t *answer, const struct talk *talk, FILE *file,
                         struct err *err)
{
        static const struct listing_column columns[] = {
                {"name", "name", LISTING_TEXT},      {"state", "state", LISTING_TEXT},
                {"plane", "plane", LISTING_TEXT},    {"nodes", "nodes", LISTING_TEXT},
                {"from", "from", LISTING_TEXT},      {"until", "until", LISTING_TEXT},
                {"every_ms", "every", LISTING_SPAN}, {"reason", "reason", LISTING_CUT},
                {0},
        };

        return listing_print(json_object_get(answer, "maintenance"), columns, 1,
                             "no maintenance is planned", &talk->screen, file, err);
}

static int run_windows(const struct command_call *call)
{
        struct text path = {0};

        text_add(&path, "/v1/maintenance");
        return talk_show(call, &path, print_windows);
}

static const struct command_action reservation_actions[] = {
        {"create", "NAME", 1, 1, run_reserve},
        {"list", "", 0, 0, run_reservations},
        {"delete", "NAME", 1, 1, run_unreserve},
        {0},
};

static const struct command_action maintenance_actions[] = {
        {"create", "NAME", 1, 1, run_maintain},
        {"list", "", 0, 0, run_windows},
        {"delete", "NAME", 1, 1, run_end_maintenance},
        {0},
};

const struct command reservation_command = {
        .name = "reservation",
        .group = GROUP_OPERATE,
        .is_live = true,
        .summary = "promise devices to a tenant in a window of time",
        .details = reservation_details,
        .options = reservation_options,
        .actions = reservation_actions,
};

const struct command maintenance_command = {
        .name = "maintenance",
        .group = GROUP_OPERATE,
        .is_live = true,
        .summary = "plan when nodes are to be empty",
        .details = maintenance_details,
        .options = maintenance_options,
        .actions = maintenance_actions,
};
