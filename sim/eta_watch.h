/* eta_watch.h - asks, during a replay, when waiting jobs will start, and keeps the score. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/decide.h"
#include "sim/history_figures.h"
#include "sim/replay.h"

struct err;

struct eta_asked;

struct eta_watch {
        const struct replay_eta *hook;  /* NULL: nobody asks, and all calls are nothing */
        struct eta_asked *asked;        /* in the order of asking */
        size_t count;
        uint32_t room;
        uint64_t waited;                /* jobs that did not start when they came */
};

/* 0 or -ERR_NOMEM, as all that return something. */
int eta_watch_start(struct eta_watch *watch, const struct replay_hooks *hooks,
                    const struct state *state, int64_t tick_ms, int64_t restart_ms, uint64_t seed,
                    struct err *err);
void eta_watch_done(struct eta_watch *watch);           /* a zeroed one is fine */

int eta_watch_arrived(struct eta_watch *watch, const struct request *request, int64_t now_ms,
                      struct err *err);
/* After the turn of that submission. *ret_told: it waits, it was its turn to be asked for, and
 * *ret_input is the answer. */
int eta_watch_ask(struct eta_watch *watch, const struct state *state, struct policy placement,
                  uint64_t workload, int64_t now_ms, bool *ret_told, struct input *ret_input,
                  struct err *err);
/* At its first start. */
void eta_watch_started(struct eta_watch *watch, uint64_t workload, int64_t now_ms);

/* What was foretold against first starts; `records` by workload - 1. Writes the figures of eta. */
int eta_watch_end(const struct eta_watch *watch, const struct job_record *records,
                  struct history_figures *ret_figures, struct err *err);
