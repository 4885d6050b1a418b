/* fuzz_forecast_line.c - what berthd and the process that makes a forecast say, whatever it is:
 * read within bounds, refused with a sentence, and what is taken is the same when it is written
 * again. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "controller/forecast_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
        assert(err->code == ERR_INPUT || err->code == ERR_RANGE);
        assert(err->text[0] != '\0');
}

static void try_question(const char *bytes, size_t size)
{
        struct forecast_question question, again;
        struct text text = {0};
        struct err err = {0};

        if (forecast_question_parse(bytes, size, &question, &err) < 0) {
                check_refusal(&err);
                return;
        }
        assert(question.text + question.size == bytes + size);
        forecast_question_write(&question, &text);
        assert(!text.failed);
        int rc = forecast_question_parse(text.bytes, text.size, &again, NULL);
        assert(rc == 0);
        assert(again.seq == question.seq);
        assert(again.now_ms == question.now_ms);
        assert(again.is_json == question.is_json);
        assert(again.size == question.size);
        assert(memcmp(again.text, question.text, again.size) == 0);
        text_done(&text);
}

static void try_answer(const char *bytes, size_t size)
{
        struct forecast forecast = {0}, again = {0};
        struct text text = {0};
        struct err err = {0}, told = {0};
        int rc = forecast_answer_parse(bytes, size, &forecast, &err);

        if (rc < 0) {
                check_refusal(&err);
                return;
        }
        assert(rc == 1 || (forecast.futures <= FORECAST_FUTURES &&
                           forecast.started <= forecast.futures &&
                           forecast.p90_ms <= FORECAST_HORIZON_MS));
        forecast_answer_write(rc, &forecast, &err, &text);
        assert(!text.failed);
        int rc_again = forecast_answer_parse(text.bytes, text.size, &again, &told);
        assert(rc_again == rc);
        assert(memcmp(&forecast, &again, sizeof again) == 0);
        assert(str_equal(err.text, told.text));
        text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *bytes = malloc(size + 1);         /* terminated, and not a byte more */

        if (!bytes)
                return 0;
        if (size > 0)
                memcpy(bytes, data, size);
        bytes[size] = '\0';
        try_question(bytes, size);
        try_answer(bytes, size);
        free(bytes);
        return 0;
}
