#include "cli/top.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/pool_show.h"
#include "cli/raw.h"
#include "cli/status.h"
#include "cli/stop.h"
#include "cli/talk.h"

#define EVERY_MS       2000
#define EVERY_MS_LEAST 500
#define SLICE_MS       100      /* a Ctrl-C is seen so soon */
#define EVERY_MS_MOST  3600000

static const struct command_option options[] = {
        {"once", '1', NULL, "print it once; also without a terminal"},
        {"every", 0, "SPAN", "how often it is renewed (2s)"},
        {"tenant", 't', "PATH", "work of this tenant and those below it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Devices, notices, what runs and what waits, as much as the screen holds. q or Ctrl-C\n"
        "ends it, any other key renews it.\n"
        "With --json the parts are printed as {\"pool\", \"notices\", \"running\", \"queue\"},\n"
        "once.\n"
        "\n"
        "examples:\n"
        "  berth top\n"
        "  berth top --every 10s --tenant research\n"
        "  berth top --once\n";

/* What one screen shows. */
static const struct part {
        const char *name, *path;
        bool is_of_tenant;
        talk_printer *print;
} parts[] = {
        {"pool", "/v1/pool", false, pool_print},
        {"notices", "/v1/notices", true, ask_print_notices},
        {"running", "/v1/workloads?state=running&limit=100", true, status_print_list},
        {"queue", "/v1/queue?limit=100", true, ask_print_queue},
};

static int get_part(struct talk *talk, const struct part *part, json_t *all, struct err *err)
{
        struct text path = {0};
        json_t *value = NULL;

        text_add(&path, "%s", part->path);
        if (part->is_of_tenant)
                talk_path_option(&path, talk->call, "tenant");
        int rc = path.failed ? err_set(err, ERR_RANGE, "what is asked for is too long")
                             : talk_get_json(talk, path.bytes, &value, err);
        text_done(&path);
        if (rc == 0 && json_object_set_new(all, part->name, value) < 0)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        return rc;
}

static int get_all(struct talk *talk, json_t **ret_all, struct err *err)
{
        json_t *all = json_object();
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < ARRAY_LEN(parts); i++)
                rc = get_part(talk, &parts[i], all, err);
        if (rc < 0)
                json_decref(all);
        else
                *ret_all = all;
        return rc;
}

static int print_all(const struct talk *talk, const json_t *all, FILE *file, struct err *err)
{
        int rc = 0;

        for (size_t i = 0; rc == 0 && i < ARRAY_LEN(parts); i++) {
                const json_t *value = json_object_get(all, parts[i].name);
                bool is_notices = parts[i].print == ask_print_notices;
                if (is_notices && json_array_size(json_object_get(value, "notices")) == 0)
                        continue;
                if (i > 0)
                        fprintf(file, "\n%s%s%s\n", screen_on(&talk->screen, TONE_STRONG),
                                parts[i].name, screen_off(&talk->screen, TONE_STRONG));
                rc = parts[i].print(value, talk, file, err);
        }
        return rc;
}

/* ---- on a terminal ---- */

/* Over what stands there, line by line, so that nothing flickers. */
static void paint(const char *text, size_t lines_max)
{
        size_t lines = 0;

        fputs("\033[H", stdout);
        while (*text && lines + 1 < lines_max) {
                size_t length = strcspn(text, "\n");
                printf("%.*s\033[K\n", (int)length, text);
                text += length + (text[length] == '\n');
                lines++;
        }
        fputs("\033[J", stdout);
        fflush(stdout);
}

static int renew(struct talk *talk, struct err *err)
{
        json_t *all = NULL;
        char *text = NULL;
        size_t size = 0;
        int rc = get_all(talk, &all, err);
        FILE *file = rc == 0 ? open_memstream(&text, &size) : NULL;

        if (rc == 0 && !file)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        talk->screen = screen_look(); /* it may have another size by now */
        if (rc == 0)
                rc = print_all(talk, all, file, err);
        if (file && fclose(file) != 0 && rc == 0)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                paint(text, talk->screen.height);
        free(text);
        json_decref(all);
        return rc;
}

/* Until it is time to renew it, or a key says so. False: it was one that ends it. */
static bool pause_or_key(bool *has_keys, int64_t pause_ms)
{
        struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
        char key;

        for (; pause_ms > 0 && !stop_asked(); pause_ms -= SLICE_MS) {
                if (!*has_keys) {
                        stop_pause_ms(pause_ms);
                        return true;
                }
                if (poll(&keys, 1, SLICE_MS) <= 0)
                        continue;
                if (read(STDIN_FILENO, &key, 1) == 1)
                        return key != 'q' && key != 'Q';
                *has_keys = false;      /* nobody types any more */
        }
        return true;
}

static int show_live(struct talk *talk, int64_t every_ms, struct err *err)
{
        bool has_keys = isatty(STDIN_FILENO) && raw_enter_keys(NULL) == 0, goes_on = true;
        int rc = 0;

        stop_catch(talk->client);
        fputs("\033[?1049h\033[?25l\033[2J", stdout); /* another screen, no cursor */
        while (goes_on && !stop_asked()) {
                rc = renew(talk, err);
                if (rc < 0 && talk->code == EXIT_NO_ANSWER) {
                        printf("\033[H%s\033[K\n", err->text); /* it may come back */
                        fflush(stdout);
                        rc = 0;
                }
                if (rc < 0)
                        break;
                goes_on = pause_or_key(&has_keys, every_ms);
        }
        raw_leave();
        fputs("\033[?25h\033[?1049l", stdout);
        fflush(stdout);
        if (stop_asked()) {
                talk->code = EXIT_FINE; /* that is how one leaves it */
                rc = 0;
        }
        return rc;
}

static int show_once(struct talk *talk, struct err *err)
{
        json_t *all = NULL;
        int rc = get_all(talk, &all, err);

        if (rc == 0 && talk_is_json(talk)) {
                json_dumpf(all, stdout, JSON_COMPACT);
                fputc('\n', stdout);
        } else if (rc == 0) {
                rc = print_all(talk, all, stdout, err);
        }
        json_decref(all);
        return rc;
}

static int run(const struct command_call *call)
{
        const char *every = command_value(call, "every");
        int64_t every_ms = EVERY_MS;
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0 && every &&
            (rc = num_duration_ms(every, EVERY_MS_LEAST, EVERY_MS_MOST, &every_ms, &err)) < 0)
                err_prefix(&err, "--every");
        bool once = command_value(call, "once") || talk_is_json(&talk);
        if (rc == 0 && !once && talk.screen.height == 0)
                rc = err_set(&err, ERR_INPUT, "needs a terminal; berth top --once prints it once");
        if (rc == 0)
                rc = once ? show_once(&talk, &err) : show_live(&talk, every_ms, &err);
        return talk_close(&talk, rc, &err);
}

const struct command top_command = {
        .name = "top",
        .group = GROUP_POOL,
        .is_live = true,
        .arguments = "",
        .summary = "the pool on one screen, renewed",
        .details = details,
        .options = options,
        .run = run,
};
