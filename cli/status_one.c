/* All that is known of one workload, in lines. */
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/grid.h"
#include "cli/json_in.h"
#include "cli/status.h"

static void put_field(FILE *file, const char *title, const char *text)
{
        if (text[0])
                fprintf(file, "  %-12s %s\n", title, text);
}

/* How its last run ended, while it waits for the next one or has it: the server's sentence. */
static void put_last_stop(const json_t *workload, FILE *file)
{
        const json_t *stop = json_object_get(workload, "last_stop");

        if (!json_in_text(stop, "text")[0])
                return;
        fprintf(file, "  %-12s ", "last run");
        json_in_put(stop, "text", file);
        fputc('\n', file);
}

static void put_times(const json_t *workload, FILE *file)
{
        static const char *const keys[] = {"submitted", "started", "ended"};
        char buf[JSON_IN_MAX];

        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
                put_field(file, keys[i], json_in_clean(workload, keys[i], buf));
        put_field(file, "waited", json_in_span(workload, "waited_ms", buf));
}

/* "preemption, until 2027-01-04T08:10:00Z" */
static void put_notice(const json_t *workload, const struct talk *talk, FILE *file)
{
        const json_t *notice = json_object_get(workload, "notice");
        char cause[JSON_IN_MAX], until[JSON_IN_MAX];

        if (!json_is_object(notice))
                return;
        fprintf(file, "  %-12s %stold to stop (%s), until %s%s\n", "notice",
                screen_on(&talk->screen, TONE_BAD), json_in_clean(notice, "cause", cause),
                json_in_clean(notice, "until", until), screen_off(&talk->screen, TONE_BAD));
}

static void put_eta(const json_t *workload, FILE *file)
{
        const json_t *eta = json_object_get(workload, "eta");
        char p50[JSON_IN_MAX], p90[JSON_IN_MAX], percent[JSON_IN_MAX], told[JSON_IN_MAX];

        if (json_is_object(eta))
                fprintf(file,
                        "  %-12s %.16s, nine times in ten before %.16s (held in %s %% of cases; "
                        "foretold %.16s)\n",
                        "expected", json_in_clean(eta, "p50", p50), json_in_clean(eta, "p90", p90),
                        json_in_words(eta, "covered_pct", percent),
                        json_in_clean(eta, "foretold", told));
        else if (str_equal(json_in_text(workload, "state"), "queued"))
                put_field(file, "expected", "no reliable estimate");
}

/* One that is longer than a page needs ends with "...". Returns `buf`. */
static const char *shown(const char *text, char buf[JSON_IN_MAX])
{
        static const char more[] = "...";
        size_t size = strlen(text), room = JSON_IN_MAX - sizeof more;
        size_t length = str_cut(text, size, room);

        snprintf(buf, JSON_IN_MAX, "%.*s%s", (int)length, text, length < size ? more : "");
        (void)str_make_fit(buf, strlen(buf), false);
        return buf;
}

/* The document is there as it was submitted: YAML, or JSON, which is YAML too. */
static void put_command(const json_t *workload, FILE *file)
{
        const char *text = json_in_text(workload, "document");
        struct doc *doc = NULL;

        if (!text[0] || doc_read_yaml("", text, strlen(text), &doc, NULL) < 0)
                return;
        const struct doc_node *run = doc_get(doc_root(doc, 0), "run");
        const struct doc_node *command = doc_get(run, "command");
        const struct doc_node *workdir = doc_get(run, "workdir");
        char buf[JSON_IN_MAX];
        if (doc_length(command) > 0)
                fprintf(file, "  %-12s", "command");
        DOC_EACH(word, command)
                fprintf(file, " %s", doc_raw(word) ? shown(doc_raw(word), buf) : "?");
        if (doc_length(command) > 0)
                fputc('\n', file);
        if (workdir && doc_raw(workdir))
                put_field(file, "workdir", shown(doc_raw(workdir), buf));
        doc_free(doc);
}

static int put_places(const json_t *workload, const struct talk *talk, FILE *file, struct err *err)
{
        static const char *const titles[] = {"member", "node", "devices", "phase"};
        const json_t *places = json_object_get(workload, "places");
        struct grid *grid;
        char buf[JSON_IN_MAX];

        if (json_array_size(places) == 0)
                return 0;
        if (!(grid = grid_new(1)))
                return grid_no_memory(err);
        for (size_t c = 0; c < ARRAY_LEN(titles); c++)
                grid_column(grid, titles[c], c == 0);
        for (size_t i = 0; i < json_array_size(places); i++) {
                const json_t *place = json_array_get(places, i);
                grid_row(grid);
                for (size_t c = 0; c < ARRAY_LEN(titles); c++)
                        grid_cell(grid, "%s", json_in_words(place, titles[c], buf));
        }
        return grid_finish(grid, "places:", talk->screen.width, file, err);
}

/* Of a gang each node once. */
static json_t *nodes_once(const json_t *run)
{
        const json_t *nodes = json_object_get(run, "nodes");
        json_t *seen = json_object(), *list = json_array(), *once = json_object();

        for (size_t n = 0; n < json_array_size(nodes); n++) {
                const char *name = json_string_value(json_array_get(nodes, n));
                if (!name || json_object_get(seen, name))
                        continue;
                (void)json_object_set_new(seen, name, json_true());
                (void)json_array_append_new(list, json_string(name));
        }
        json_decref(seen);
        (void)json_object_set_new(once, "nodes", list);
        return once;
}

/* "" where none ended it. */
static const char *signal_of(const json_t *ended, char buf[JSON_IN_MAX])
{
        return json_in_number(ended, "signal") > 0 ? json_in_words(ended, "signal", buf) : "";
}

static void put_run(const json_t *run, struct grid *grid)
{
        static const char *const keys[] = {"cause", "exit_code"};
        char started[JSON_IN_MAX], ended[JSON_IN_MAX], buf[JSON_IN_MAX];
        json_t *nodes = nodes_once(run);

        grid_row(grid);
        grid_cell(grid, "%s", json_in_words(run, "run", buf));
        grid_cell(grid, "%.19s", json_in_clean(run, "started", started));
        grid_cell(grid, "%.19s", json_in_clean(run, "ended", ended));
        for (size_t k = 0; k < ARRAY_LEN(keys); k++)
                grid_cell(grid, "%s", json_in_words(run, keys[k], buf));
        grid_cell(grid, "%s", signal_of(run, buf));
        grid_cell(grid, "%s", json_in_words(nodes, "nodes", buf));
        grid_cell(grid, "%s", json_in_words(run, "reason", buf));
        json_decref(nodes);
}

/* The only run of work that runs says nothing that does not stand above. */
static int put_runs(const json_t *workload, const struct talk *talk, FILE *file, struct err *err)
{
        static const char *const titles[] = {"run",       "started (UTC)", "ended (UTC)", "cause",
                                             "exit code", "signal",        "nodes", "reason"};
        const json_t *runs = json_object_get(workload, "runs");
        struct grid *grid;

        if (json_array_size(runs) == 0 ||
            (json_array_size(runs) == 1 && !json_in_has(json_array_get(runs, 0), "ended")))
                return 0;
        if (!(grid = grid_new(1)))
                return grid_no_memory(err);
        for (size_t c = 0; c < ARRAY_LEN(titles); c++)
                grid_column(grid, titles[c], c == 0 || c == 4 || c == 5);
        for (size_t r = 0; r < json_array_size(runs); r++)
                put_run(json_array_get(runs, r), grid);
        return grid_finish(grid, "runs (`berth logs --run N` shows what one wrote):",
                           talk->screen.width, file, err);
}

/* All but the tables. */
static void put_lines(const json_t *answer, const struct talk *talk, FILE *file)
{
        static const struct {
                const char *key, *title;
        } rows[] = {
                {"tenant", "tenant"},       {"class", "class"},
                {"user", "user"},           {"request", "asks for"},
                {"standing", "standing"},   {"verdict", "verdict"},
                {"stops", "stops"},         {"retries_left", "retries left"},
                {"exit_code", "exit code"},
        }, ends[] = {{"cause", "last end"}, {"reason", "reason"}};
        char name[JSON_IN_MAX], id[JSON_IN_MAX], buf[JSON_IN_MAX];
        enum tone tone = screen_state_tone(json_in_text(answer, "state"));

        fprintf(file, "%s %s: %s%s%s\n", json_in_words(answer, "id", id),
                json_in_clean(answer, "name", name), screen_on(&talk->screen, tone),
                json_in_clean(answer, "state", buf), screen_off(&talk->screen, tone));
        if (json_in_clean(answer, "summary", buf)[0])
                fprintf(file, "  %s\n", buf);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                put_field(file, rows[i].title, json_in_words(answer, rows[i].key, buf));
        put_field(file, "signal", signal_of(answer, buf));
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
                put_field(file, ends[i].title, json_in_words(answer, ends[i].key, buf));
        put_last_stop(answer, file);
        put_notice(answer, talk, file);
        put_times(answer, file);
        put_eta(answer, file);
        put_command(answer, file);
}

int status_print_one(const json_t *answer, const struct talk *talk, FILE *file, struct err *err)
{
        struct screen_page page;
        int rc = screen_page_open(&page, err);

        if (rc < 0)
                return rc;
        put_lines(answer, talk, page.file);
        rc = screen_page_put(&page, talk->screen.width, file, err);
        if (rc == 0)
                rc = put_places(answer, talk, file, err);
        return rc < 0 ? rc : put_runs(answer, talk, file, err);
}
