#include "controller/worker_line.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"
#include "proto/fields.h"
#include "proto/log_group.h"

/* ---- lines ---- */

static const char *const words[] = {[WORKER_INPUT] = "input ", [WORKER_RATES] = "rates ",
                                    [WORKER_FIGURES] = "figures ", [WORKER_SAY] = "say "};

/* The number up to the next blank, which is passed. */
static int take_number(struct worker_line *line, uint64_t max, uint64_t *ret_number,
                       struct err *err)
{
        const char *blank = memchr(line->rest, ' ', line->rest_size);
        size_t size = blank ? (size_t)(blank - line->rest) : 0;
        char text[24];

        if (size == 0 || size >= sizeof text)
                return err_set(err, ERR_INPUT, "an input without its record and its time");
        memcpy(text, line->rest, size);
        text[size] = '\0';
        line->rest += size + 1;
        line->rest_size -= size + 1;
        return num_u64(text, 0, max, ret_number, err);
}

int worker_line_parse(const char *bytes, size_t size, struct worker_line *ret_line,
                      struct err *err)
{
        struct worker_line line = {.word = WORKER_ALIVE};
        uint64_t ms = 0;
        int rc = 0;

        if (size == 0) {
                *ret_line = line;
                return 0;
        }
        for (unsigned w = WORKER_INPUT; w <= WORKER_SAY && line.word == WORKER_ALIVE; w++) {
                size_t length = strlen(words[w]);
                if (size < length || memcmp(bytes, words[w], length) != 0)
                        continue;
                line.word = w;
                line.rest = bytes + length;
                line.rest_size = size - length;
        }
        if (line.word == WORKER_ALIVE)
                return err_set(err, ERR_INPUT, "a line that begins with no known word");
        if (line.word == WORKER_INPUT) {
                rc = take_number(&line, INT64_MAX, &line.seq, err);
                if (rc == 0)
                        rc = take_number(&line, INT64_MAX, &ms, err);
                line.as_of_ms = (int64_t)ms;
        }
        if (rc == 0)
                *ret_line = line;
        return rc;
}

int worker_input_parse(const struct worker_line *line, struct logged_input *ret_input,
                       struct err *err)
{
        struct logged_input logged;
        int rc = log_input_parse(line->rest, line->rest_size, &logged, err);

        if (rc)
                return rc;
        enum input_kind kind = logged.input.kind;
        if ((kind != INPUT_ETA_SET && (kind != INPUT_PLAN_SET || !logged.plan)) ||
            logged.document || logged.revision || logged.has_bounds) {
                logged_input_done(&logged);
                return err_set(err, ERR_INPUT,
                               "an input '%s', and a worker enters estimates and plans alone",
                               input_name(kind));
        }
        *ret_input = logged;
        return 0;
}

static json_t *load(const struct worker_line *line, struct err *err)
{
        json_error_t why;
        json_t *object = json_loadb(line->rest, line->rest_size, JSON_REJECT_DUPLICATES, &why);

        if (!json_is_object(object)) {
                json_decref(object);
                (void)err_set(err, ERR_INPUT, "what follows the word is no JSON object");
                return NULL;
        }
        return object;
}

/* ---- figures ---- */

#define FIGURE(member) FIELD(worker_figures, member)
static const struct field figures_list[] = {
        FIGURE(seq), FIGURE(behind), FIGURE(arrivals), FIGURE(plans), FIGURE(answers),
        FIGURE(ended), FIGURE(cpu_ms), FIGURE(starts_small), FIGURE(starts_wide),
        FIGURE(coverage_small), FIGURE(coverage_wide)};
static const struct fields figures_fields = FIELDS(figures_list);

void worker_figures_write(const struct worker_figures *figures, struct text *line)
{
        text_add(line, "figures {\"version\":1");
        fields_write(&figures_fields, figures, line);
        text_add(line, "}\n");
}

int worker_figures_parse(const struct worker_line *line, struct worker_figures *ret_figures,
                         struct err *err)
{
        static const char *const beside[] = {"version", NULL};
        struct worker_figures figures = {0};
        json_t *object = load(line, err);
        int rc = object ? fields_read(&figures_fields, object, beside, &figures, err) : -ERR_INPUT;

        json_decref(object);
        if (rc == 0 && (figures.coverage_small > 100 || figures.coverage_wide > 100))
                rc = err_set(err, ERR_INPUT, "a coverage above 100 %%");
        if (rc == 0)
                *ret_figures = figures;
        return rc;
}

/* ---- rates ---- */

#define RATE(member) FIELD(worker_rate, member)
static const struct field rate_list[] = {RATE(held_device_ms), RATE(lost_device_ms), RATE(stops)};
static const struct fields rate_fields = FIELDS(rate_list);

void worker_rates_write(const struct worker_rates *rates, struct text *line)
{
        text_add(line, "rates {\"since_ms\":%" PRId64 ",\"until_ms\":%" PRId64 ",\"classes\":[",
                 rates->since_ms, rates->until_ms);
        for (uint32_t r = 0; r < rates->count; r++) {
                text_add(line, "%s{\"class\":", r ? "," : "");
                text_add_json(line, rates->list[r].class);
                fields_write(&rate_fields, &rates->list[r], line);
                text_add(line, "}");
        }
        text_add(line, "]}\n");
}

static int read_rate(json_t *object, struct worker_rate *rate, struct err *err)
{
        static const char *const beside[] = {"class", NULL};
        const char *class = json_string_value(json_object_get(object, "class"));

        if (!class || !str_copy(rate->class, sizeof rate->class, class))
                return err_set(err, ERR_INPUT, "a rate without a class whose name fits");
        return fields_read(&rate_fields, object, beside, rate, err);
}

static int read_rates(json_t *object, struct worker_rates *rates, struct err *err)
{
        const json_t *list = json_object_get(object, "classes");
        int rc = 0;

        rates->since_ms = json_integer_value(json_object_get(object, "since_ms"));
        rates->until_ms = json_integer_value(json_object_get(object, "until_ms"));
        if (rates->since_ms < 0 || rates->until_ms < rates->since_ms)
                return err_set(err, ERR_INPUT, "rates of a time that ends before it begins");
        if (!json_is_array(list) || json_array_size(list) > CLASSES_MAX)
                return err_set(err, ERR_INPUT, "field 'classes' is no list of %d at most",
                               CLASSES_MAX);
        for (size_t r = 0; rc == 0 && r < json_array_size(list); r++)
                rc = read_rate(json_array_get(list, r), &rates->list[r], err);
        rates->count = (uint32_t)json_array_size(list);
        return rc;
}

int worker_rates_parse(const struct worker_line *line, struct worker_rates *ret_rates,
                       struct err *err)
{
        json_t *object = load(line, err);
        struct worker_rates rates = {0};
        int rc = object ? read_rates(object, &rates, err) : -ERR_INPUT;

        json_decref(object);
        if (rc == 0)
                *ret_rates = rates;
        return rc;
}
