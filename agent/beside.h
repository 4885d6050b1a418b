/* beside.h - a program beside a run, with a terminal or plain pipes: what the agent asks of the
 * run's supervisor, which starts it as the run's account, in its control group and environment.
 *
 * Not pure: a unix socket in the run's folder (`beside`, the agent's alone), one connection for
 * each program. The supervisor hands out the program's terminal (or pipes) and tells how it ended;
 * the bytes do not pass through it. A connection that closes hangs the program up; the end of the
 * run ends it. Any thread, each connection one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

#define BESIDE_NAME    "beside"
#define BESIDE_ASK_MAX 65536    /* bytes of one ask */
#define BESIDE_MAX     8        /* programs beside one run */

struct beside_ask {
        const char *term;               /* what $TERM is to be; "" = no terminal */
        uint32_t rows, columns;
        const char *const *command;
        uint32_t command_count;         /* 0: the account's shell */
};

struct beside {
        int socket;
        int in, out;                    /* to the program and from it; a terminal: the same twice */
};

/* Starts it. 0, and all three are the caller's to close; -ERR_EXISTS: the run does not run (any
 * more); -ERR_RANGE: the ask is too long; -ERR_FULL: there are BESIDE_MAX; -ERR_IO. */
int beside_start(const char *run_folder, const struct beside_ask *ask, struct beside *ret_beside,
                 struct err *err);
/* How it ended, once the socket is readable: its exit code, 128 and the signal, or 255 where its
 * supervisor is gone. -1: it has not. */
int beside_exit(int socket);

/* ---- for both ends: what goes through the socket, a message each ---- */

/* Followed by `term` and the words of the command, each with its NUL. */
struct beside_head {
        uint32_t rows, columns, words;
};

enum beside_kind { BESIDE_STARTED, BESIDE_REFUSED, BESIDE_ENDED };
struct beside_word {
        int32_t kind;                   /* enum beside_kind */
        int32_t value;                  /* REFUSED: an error code; ENDED: the exit code */
        char text[240];                 /* REFUSED: why */
};

/* Takes an ask apart; texts point into `bytes`, the list is `words` (of room for `words_max` and a
 * NULL). 0 or -ERR_INPUT: it is none. */
int beside_read(const char *bytes, size_t size, const char **words, size_t words_max,
                struct beside_ask *ret_ask, struct err *err);
