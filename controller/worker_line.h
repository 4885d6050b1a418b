/* worker_line.h - what the worker process says to berthd, one line each.
 *
 * Pure apart from the heap. From the worker, each ended by a line feed:
 *
 *     (an empty line)                  it is alive
 *     input SEQ MS {"input":...}       to be entered: a price plan or an estimate, as logged
 *                                      (proto/log_group.h), from the state after record SEQ, of MS
 *     rates {"since_ms":...}           how often work of each class was stopped
 *     figures {"seq":...}              how it is: struct worker_figures
 *     say TEXT                         for berthd's own log
 *
 * berthd says nothing: the worker follows the log. Nothing of it is trusted: lines are bounded,
 * numbers checked, and what is entered is checked by the engine like any input.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/tenancy.h"

struct err;
struct logged_input;
struct text;

#define WORKER_LINE_MAX (1u << 20)      /* bytes; a plan of 64 device models has 500 KiB */
#define WORKER_SAY_MAX  200

enum worker_word { WORKER_ALIVE, WORKER_INPUT, WORKER_RATES, WORKER_FIGURES, WORKER_SAY };

struct worker_line {
        enum worker_word word;
        uint64_t seq;                   /* INPUT */
        int64_t as_of_ms;               /* INPUT */
        const char *rest;               /* what stands behind it, in the line */
        size_t rest_size;
};

/* 0 or -ERR_INPUT; `line` is without its line feed, and need not be terminated. */
int worker_line_parse(const char *line, size_t size, struct worker_line *ret_line,
                      struct err *err);
/* A price plan or an estimate, and nothing else. 0, -ERR_INPUT, -ERR_RANGE, -ERR_NOMEM. */
int worker_input_parse(const struct worker_line *line, struct logged_input *ret_input,
                       struct err *err);

struct worker_figures {
        uint64_t seq;                   /* record that it has followed to */
        uint64_t behind;                /* records, about */
        uint64_t arrivals;              /* that its demand was learnt from */
        uint64_t plans, answers;        /* made since its start */
        uint64_t ended;                 /* tasks that took too long and were given up */
        uint64_t cpu_ms;                /* spent since its start */
        uint64_t starts_small, starts_wide;     /* that were foretold */
        uint8_t coverage_small, coverage_wide;  /* percent; 0: too few */
};

void worker_figures_write(const struct worker_figures *figures, struct text *line);
int worker_figures_parse(const struct worker_line *line, struct worker_figures *ret_figures,
                         struct err *err);

/* How work of a class fared: device-time in milliseconds. */
struct worker_rate {
        char class[TENANCY_WORD_MAX];
        uint64_t held_device_ms;        /* allocated */
        uint64_t lost_device_ms;        /* of it, by stops for capacity */
        uint64_t stops;                 /* for capacity */
};

struct worker_rates {
        int64_t since_ms, until_ms;     /* hours that were counted */
        uint32_t count;
        struct worker_rate list[CLASSES_MAX];
};

void worker_rates_write(const struct worker_rates *rates, struct text *line);
int worker_rates_parse(const struct worker_line *line, struct worker_rates *ret_rates,
                       struct err *err);
