/* fuzz_worker_line.c - what a worker says, whatever it is: read within bounds, refused with a
 * sentence, and figures and rates that are written again are the same. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "controller/worker_line.h"
#include "proto/log_group.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line that was written, without its line feed. */
static struct worker_line line_of(const struct text *text)
{
        struct worker_line line;

        assert(!text->failed);
        assert(text->bytes[text->size - 1] == '\n');
        int rc = worker_line_parse(text->bytes, text->size - 1, &line, NULL);
        assert(rc == 0);
        return line;
}

static int try_figures(const struct worker_line *line, struct err *err)
{
        struct worker_figures figures, again;
        struct text text = {0};
        int rc = worker_figures_parse(line, &figures, err);

        if (rc)
                return rc;
        worker_figures_write(&figures, &text);
        struct worker_line told = line_of(&text);
        rc = worker_figures_parse(&told, &again, err);
        assert(rc == 0);
        assert(memcmp(&figures, &again, sizeof figures) == 0);
        text_done(&text);
        return 0;
}

static int try_rates(const struct worker_line *line, struct err *err)
{
        static struct worker_rates rates, again;
        struct text first = {0}, second = {0};
        int rc = worker_rates_parse(line, &rates, err);

        if (rc)
                return rc;
        assert(rates.count <= CLASSES_MAX);
        worker_rates_write(&rates, &first);
        struct worker_line told = line_of(&first);
        rc = worker_rates_parse(&told, &again, err);
        assert(rc == 0);
        worker_rates_write(&again, &second);
        assert(first.size == second.size);
        assert(memcmp(first.bytes, second.bytes, first.size) == 0);
        text_done(&first);
        text_done(&second);
        return 0;
}

static int try_input(const struct worker_line *line, struct err *err)
{
        struct logged_input logged;
        int rc = worker_input_parse(line, &logged, err);

        if (rc)
                return rc;
        assert(logged.input.kind == INPUT_ETA_SET || logged.input.kind == INPUT_PLAN_SET);
        assert(logged.input.kind != INPUT_PLAN_SET || logged.input.plan);
        logged_input_done(&logged);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct worker_line line;
        struct err err = {0};
        int rc = worker_line_parse((const char *)data, size, &line, &err);

        if (rc == 0 && line.word != WORKER_ALIVE)
                assert(line.rest + line.rest_size == (const char *)data + size);
        if (rc == 0 && line.word == WORKER_INPUT)
                rc = try_input(&line, &err);
        else if (rc == 0 && line.word == WORKER_FIGURES)
                rc = try_figures(&line, &err);
        else if (rc == 0 && line.word == WORKER_RATES)
                rc = try_rates(&line, &err);
        if (rc) {
                assert(err.code == ERR_INPUT || err.code == ERR_RANGE);
                assert(err.text[0] != '\0');
        }
        return 0;
}
