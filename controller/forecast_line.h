/* forecast_line.h - what berthd and the process that makes a forecast say to each other.
 *
 * Pure apart from the heap. The question is a line, and behind it the document to the end:
 *
 *     SEQ NOW_MS yaml|json
 *
 * The answer is one of these lines:
 *
 *     forecast FUTURES STARTED P50_MS P90_MS   struct forecast
 *     none WHY                                 a sentence
 *
 * The answer is not trusted: it is bounded, and its numbers are checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct text;

#define FORECAST_FUTURES      10
#define FORECAST_HORIZON_MS   INT64_C(86400000)
#define FORECAST_LINE_MAX     1024              /* bytes of an answer, or of a question's line */
#define FORECAST_DOCUMENT_MAX (16u << 20)       /* bytes; no body of a request is so large */

struct forecast_question {
        const char *text;               /* the Workload document; terminated */
        size_t size;
        bool is_json;
        uint64_t seq;                   /* of the log: what is told is of that record or later */
        int64_t now_ms;
};

struct forecast {
        unsigned futures, started;      /* that were drawn; in which it starts within the horizon */
        int64_t p50_ms, p90_ms;         /* from now; -1: not within the horizon */
};

/* Out of memory fails the text. */
void forecast_question_write(const struct forecast_question *question, struct text *text);
/* `bytes` are terminated, and borrowed for the question's text. 0 or -ERR_INPUT, -ERR_RANGE. */
int forecast_question_parse(const char *bytes, size_t size, struct forecast_question *ret_question,
                            struct err *err);

/* `rc`: what forecast_make() returned, with its sentence. */
void forecast_answer_write(int rc, const struct forecast *forecast, const struct err *why,
                           struct text *text);
/* A whole answer, its line feed included; `bytes` are terminated. 0: a forecast; 1: there is none,
 * and `err` has the sentence; -ERR_INPUT or -ERR_RANGE: it says what it may not. */
int forecast_answer_parse(const char *bytes, size_t size, struct forecast *ret_forecast,
                          struct err *err);
