#include "cli/pool_show.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/alerts.h"
#include "cli/json_in.h"
#include "cli/listing.h"
#include "cli/pages.h"

/* Options and queries alike. */
static const char *const filters[] = {"model", "plane", "state"};

#define STATE_WIDTH 6 /* "sliced" */
#define NODE_HANG   4 /* where a line that is too long goes on */
#define DEVICE_HANG 9

static const struct command_option options[] = {
        {"nodes", 'N', NULL, "node by node: its devices, their parts, and who holds them"},
        {"model", 0, "MODEL", "with --nodes: of this device model"},
        {"plane", 0, "PLANE", "with --nodes: of this plane"},
        {"state", 0, "STATE", "with --nodes: in this state"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "With --nodes, devices of a node that look alike stand in one line (0-7). A holder is\n"
        "workload.member and its tenant; what you may not see is there without a name.\n"
        "\n"
        "examples:\n"
        "  berth pool\n"
        "  berth pool --nodes --plane training\n"
        "  berth pool --nodes --model H100-80 --state up\n";

/* ---- sums ---- */

/* "planned for 12 shapes, seen in 512 arrivals; placed by prices; 3 m ago" */
static void put_plan(const json_t *plan, FILE *file)
{
        char shapes[JSON_IN_MAX], arrivals[JSON_IN_MAX], age[JSON_IN_MAX];

        if (!json_is_object(plan))
                return;
        fprintf(file, "planned for %s shapes, seen in %s arrivals; placed by %s; %s ago\n",
                json_in_words(plan, "shapes", shapes), json_in_words(plan, "arrivals", arrivals),
                json_in_flag(plan, "priced") ? "prices" : "fragments",
                json_in_span(plan, "age_ms", age));
}

static void put_frozen(const json_t *answer, const struct screen *screen, FILE *file)
{
        char planes[JSON_IN_MAX];

        if (json_in_flag(answer, "frozen"))
                fprintf(file,
                        "%sfrozen: nothing starts and nothing is stopped for capacity; `berth "
                        "unfreeze` ends it%s\n",
                        screen_on(screen, TONE_BAD), screen_off(screen, TONE_BAD));
        if (json_in_words(answer, "frozen_planes", planes)[0])
                fprintf(file,
                        "%sfrozen planes: %s; nothing starts there and nothing is stopped for "
                        "capacity; `berth unfreeze --plane NAME` ends it%s\n",
                        screen_on(screen, TONE_BAD), planes, screen_off(screen, TONE_BAD));
}

static const char *plural(const json_t *answer, const char *key)
{
        return json_in_number(answer, key) == 1 ? "" : "s";
}

int pool_print(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        static const struct listing_column columns[] = {
                {"model", "model", LISTING_TEXT},
                {"devices", "devices", LISTING_NUMBER},
                {"allocated", "allocated", LISTING_NUMBER},
                {"free", "free", LISTING_NUMBER},
                {"draining", "draining", LISTING_NUMBER},
                {"unhealthy", "unhealthy", LISTING_NUMBER},
                {0},
        };
        const struct screen *screen = &talk->screen;
        char name[JSON_IN_MAX], nodes[JSON_IN_MAX], devices[JSON_IN_MAX], buf[JSON_IN_MAX];

        json_in_clean(answer, "name", name);
        fprintf(file, "%s%s%s node%s, %s device%s", name, name[0] ? ": " : "",
                json_in_words(answer, "nodes", nodes), plural(answer, "nodes"),
                json_in_words(answer, "devices", devices), plural(answer, "devices"));
        if (json_in_number(answer, "nodes_down") > 0)
                fprintf(file, ", %s%s node%s down%s", screen_on(screen, TONE_BAD),
                        json_in_words(answer, "nodes_down", buf), plural(answer, "nodes_down"),
                        screen_off(screen, TONE_BAD));
        if (json_in_has(answer, "policy_revision"))
                fprintf(file, ", policy %s", json_in_words(answer, "policy_revision", buf));
        fputc('\n', file);
        put_plan(json_object_get(answer, "plan"), file);
        put_frozen(answer, screen, file);
        alerts_print_line(json_object_get(answer, "alerts"), talk, file);
        return listing_print(json_object_get(answer, "models"), columns, 1, "there is no device",
                             screen, file, err);
}

/* ---- node by node ---- */

/* "17.0 research/nlp 3g.40gb, 18.0 web share 0.25 8192 MiB" */
static void add_holders(struct text *line, const json_t *device)
{
        static const char *const parts[] = {"profile", "share", "memory_mib"};
        const json_t *holders = json_object_get(device, "holders");
        char buf[JSON_IN_MAX];

        for (size_t h = 0; h < json_array_size(holders); h++) {
                const json_t *holder = json_array_get(holders, h);
                text_add(line, "%s%s", h > 0 ? ", " : "  ",
                         json_in_has(holder, "workload") ? json_in_words(holder, "workload", buf)
                                                         : "somebody");
                if (json_in_has(holder, "member"))
                        text_add(line, ".%s", json_in_words(holder, "member", buf));
                if (json_in_has(holder, "tenant"))
                        text_add(line, " %s", json_in_words(holder, "tenant", buf));
                for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
                        json_in_words(holder, parts[p], buf);
                        if (!buf[0] || (p > 0 && str_equal(buf, "0")))
                                continue;
                        text_add(line, " %s%s%s", p == 1 ? "share " : "", buf,
                                 p == 2 ? " MiB" : "");
                }
        }
}

/* What stands behind a device's number. */
static void add_device(struct text *line, const json_t *device, const struct screen *screen)
{
        char state[JSON_IN_MAX], used[JSON_IN_MAX];
        bool is_broken = str_equal(json_in_clean(device, "state", state), "broken");
        bool is_free = str_equal(state, "free");
        enum tone tone = is_broken ? TONE_BAD : is_free ? TONE_DIM : TONE_PLAIN;

        text_add(line, "%s%s%s", screen_on(screen, tone), state, screen_off(screen, tone));
        if (!is_free && strlen(state) < STATE_WIDTH)
                text_add(line, "%*s", (int)(STATE_WIDTH - strlen(state)), "");
        if (str_equal(state, "sliced") || str_equal(state, "shared"))
                text_add(line, "  %s used", json_in_words(device, "used", used));
        add_holders(line, device);
        bool is_held = str_equal(state, "whole") || str_equal(state, "sliced") ||
                       str_equal(state, "shared");
        if (is_held && json_array_size(json_object_get(device, "holders")) == 0)
                text_add(line, "  others");     /* whom one may not see */
}

static void put_range(const struct screen *screen, FILE *file, int64_t first, int64_t last,
                      const char *text)
{
        struct text row = {0};
        char range[32];

        if (first == last)
                snprintf(range, sizeof range, "%" PRId64, first);
        else
                snprintf(range, sizeof range, "%" PRId64 "-%" PRId64, first, last);
        text_add(&row, "  %-5s  %s", range, text);
        if (!row.failed)
                screen_put_row(row.bytes, row.size, DEVICE_HANG, screen->width, file);
        text_done(&row);
}

static int put_devices(const json_t *node, const struct screen *screen, FILE *file, struct err *err)
{
        const json_t *devices = json_object_get(node, "devices");
        struct text before = {0}, line = {0};
        int64_t first = 0, last = 0;

        for (size_t d = 0; d < json_array_size(devices); d++) {
                const json_t *device = json_array_get(devices, d);
                int64_t index = json_in_number(device, "index");
                add_device(&line, device, screen);
                if (line.failed)
                        break;
                if (before.bytes && index == last + 1 && str_equal(before.bytes, line.bytes)) {
                        text_done(&line);
                        last = index;
                        continue;
                }
                if (before.bytes)
                        put_range(screen, file, first, last, before.bytes);
                text_done(&before);
                before = line;
                line = (struct text){0};
                first = last = index;
        }
        bool failed = line.failed;
        if (before.bytes && !failed)
                put_range(screen, file, first, last, before.bytes);
        text_done(&before);
        text_done(&line);
        return failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* What is worth knowing of an agent that is fine: which one it is, where that is another than the
 * controller's; and until when its certificate is good. */
static void add_agent(const json_t *agent, const struct screen *screen, struct text *row)
{
        char buf[JSON_IN_MAX];
        bool differs = json_in_flag(agent, "version_differs");

        if (json_in_text(agent, "version")[0])
                text_add(row, "  %sagent %s%s%s", differs ? screen_on(screen, TONE_BAD) : "",
                        json_in_clean(agent, "version", buf),
                        differs ? " (not the controller's)" : "",
                        differs ? screen_off(screen, TONE_BAD) : "");
        if (json_in_has(agent, "certificate_expires"))
                text_add(row, "  certificate until %s",
                        json_in_clean(agent, "certificate_expires", buf));
}

/* "gpu-01  up  training  8 x H100-80  cpu 64 of 96  ram 512 of 1024 GiB" */
static void add_node(const json_t *node, const struct screen *screen, struct text *row)
{
        char buf[JSON_IN_MAX];
        enum tone tone = screen_state_tone(json_in_text(node, "state"));
        const json_t *agent = json_object_get(node, "agent");

        text_add(row, "%s%s%s", screen_on(screen, TONE_STRONG), json_in_clean(node, "name", buf),
                screen_off(screen, TONE_STRONG));
        text_add(row, "  %s%s%s", screen_on(screen, tone), json_in_clean(node, "state", buf),
                screen_off(screen, tone));
        if (json_in_text(node, "plane")[0])
                text_add(row, "  %s", json_in_clean(node, "plane", buf));
        if (json_in_text(node, "rack")[0])
                text_add(row, "  rack %s", json_in_clean(node, "rack", buf));
        if (json_in_has(node, "model"))
                text_add(row, "  %zu x %s", json_array_size(json_object_get(node, "devices")),
                        json_in_clean(node, "model", buf));
        if (json_in_number(node, "cpu_milli") > 0)
                text_add(row, "  cpu %g of %g",
                        (double)json_in_number(node, "cpu_used_milli") / 1000,
                        (double)json_in_number(node, "cpu_milli") / 1000);
        if (json_in_number(node, "ram_mib") > 0)
                text_add(row, "  ram %" PRId64 " of %" PRId64 " GiB",
                        json_in_number(node, "ram_used_mib") / 1024,
                        json_in_number(node, "ram_mib") / 1024);
        if (json_in_has(node, "drain_by"))
                text_add(row, "  to be empty by %s", json_in_clean(node, "drain_by", buf));
        add_agent(agent, screen, row);
        if (agent && !json_in_flag(agent, "connected") && !json_in_flag(agent, "simulated"))
                text_add(row, "  %sno agent%s%s%s", screen_on(screen, TONE_BAD),
                        json_in_has(agent, "last_seen") ? " since " : "",
                        json_in_clean(agent, "last_seen", buf), screen_off(screen, TONE_BAD));
        }

int pool_print_nodes(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        const json_t *nodes = json_object_get(answer, "nodes");
        bool any = false;
        int rc = 0;

        for (size_t n = 0; rc == 0 && n < json_array_size(nodes); n++) {
                const json_t *node = json_array_get(nodes, n);
                struct text row = {0};
                any = true;
                add_node(node, &talk->screen, &row);
                if (row.failed)
                        rc = err_set(err, ERR_NOMEM, "out of memory");
                else
                        screen_put_row(row.bytes, row.size, NODE_HANG, talk->screen.width, file);
                text_done(&row);
                if (rc < 0)
                        break;
                rc = put_devices(node, &talk->screen, file, err);
        }
        if (!any)
                fputs("there is no such node\n", file);
        return rc;
}

static int run(const struct command_call *call)
{
        bool by_node = command_value(call, "nodes") != NULL;
        struct text path = {0};

        for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
                if (by_node || !command_value(call, filters[i]))
                        continue;
                fprintf(stderr, "berth pool: --%s goes with --nodes\n", filters[i]);
                return EXIT_BAD_INPUT;
        }
        if (!by_node) {
                text_add(&path, "/v1/pool");
                return talk_show(call, &path, pool_print);
        }
        text_add(&path, "/v1/nodes");
        for (size_t i = 0; i < ARRAY_LEN(filters); i++)
                talk_path_option(&path, call, filters[i]);
        return pages_show(call, &path, "nodes", NULL, pool_print_nodes);
}

const struct command pool_command = {
        .name = "pool",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "what there is and how much of it is free, in sums or node by node",
        .details = details,
        .options = options,
        .run = run,
};
