/* raw.h - the terminal that a command was called from, handed through byte by byte.
 *
 * Not pure: the process's terminal and signals; one at a time. While it is raw, Ctrl-C and the like
 * are bytes. raw_leave() gives it back as it was, and so do exit() and the signals that end a
 * program (HUP, QUIT and those of its own faults; INT and TERM ask it to stop: stop.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

struct raw_size {
        uint16_t rows, columns;
};

/* Of standard output, or input; 24 x 80 where it has none. */
struct raw_size raw_window(void);

/* Watches for a window that changes. 0 or -ERR_IO. */
int raw_open(struct err *err);
void raw_close(void);
/* Readable: the window changed, or raw_wake() was called. */
int raw_fd(void);
/* True: the window changed. */
bool raw_take(void);
void raw_wake(void);

/* Standard input becomes raw. 0 or -ERR_IO. */
int raw_enter(struct err *err);
/* The same for keys alone: they come one by one and are not shown; Ctrl-C stays what it is, and so
 * does what is written. */
int raw_enter_keys(struct err *err);
void raw_leave(void);
