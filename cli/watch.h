/* watch.h - what a long run shows of itself, and how Ctrl-C ends it.
 *
 * Catches SIGINT and SIGTERM for the whole process: the first one asks the run to stop soon, the
 * second ends the program as usual. One run at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct replay_hooks;

struct watch {
        bool is_shown;
        bool is_dirty;                  /* a line of progress stands there */
        int64_t next_ns;
};

/* Fills in progress and cancel of the hooks, which borrow `watch`. Progress is shown where standard
 * error is a terminal, and not when `is_quiet`. */
void watch_start(struct watch *watch, bool is_quiet, struct replay_hooks *hooks);
void watch_end(struct watch *watch);    /* takes the line of progress away */
