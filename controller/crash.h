/* crash.h - what was being decided when the process crashed: written down for the next start.
 *
 * Not pure: signal handlers, one file, one timer; the one place beside main that keeps something
 * global, since a handler has no other way to it. The thread that called crash_watch() enters and
 * leaves; another one that serves a request does so beside it (crash_enter_beside()). A crash of
 * any other thread is told, but blames nothing. A child of fork() writes nothing.
 *
 * On the good path nothing is written, and no more copied than a name: entering keeps pointers, and
 * the handler of SIGABRT (a failed assertion), SIGSEGV, SIGBUS, SIGFPE and SIGILL writes what they
 * point to. Then the signal takes its course: a core is dumped, a sanitizer reports. What never
 * ends is made a crash: a timer of that first thread's CPU time, so that waiting for a disk, or a
 * machine that stood still, is none. SIGKILL (out of memory) leaves no record. The file is text:
 *
 *     berth-crash 1 input signal=6 at_ns=1764509999123456789 version=0.1.0 head=9 body=312 by=3\n
 *     HEAD BODY BY \n, a line for each frame of the stack, "end\n"
 *
 * BY is who asked for the request that was served; records of earlier versions have none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;

/* What was under way; the first one that is, is to blame. */
#define CRASH_OFS(X)                                                            \
        X(INPUT,   "input")             /* head: its kind; body: as it is logged */ \
        X(REQUEST, "request")           /* head: method and target; body: its body */ \
        X(OTHER,   "other")             /* a timer, a start, another thread: none of them */

enum crash_of {
#define X(name, word) CRASH_##name,
        CRASH_OFS(X)
#undef X
        CRASH_OFS_END
};
const char *crash_of_name(enum crash_of of);

#define CRASH_FILE_MAX  (128u << 20)    /* then nothing is added to it */
#define CRASH_STACK_MAX 48              /* frames */
#define CRASH_BY_MAX    128             /* bytes of a name, its NUL included; the rest is cut */

/* From here on: records go to the file, which is made where there is none; what was entered is
 * ended after `limit_ms` of CPU time, or a quarter more (0: never). Path and version are borrowed
 * until crash_unwatch(). 0 or -ERR_IO. */
int crash_watch(const char *path, const char *version, int64_t limit_ms, struct err *err);
/* An empty file goes. Without a crash_watch() nothing happens. */
void crash_unwatch(void);
/* The file is empty from now on: its records have been read, and are kept. */
void crash_forget(void);

/* Borrowed until it is left. REQUEST first, INPUT within; neither within itself. */
void crash_enter(enum crash_of of, const char *head, const char *body, size_t size);
void crash_leave(enum crash_of of);
/* Who asks for the request that is entered: copied. */
void crash_asked_by(const char *who);

/* The same for a thread beside that one, for the time it works at a REQUEST: each in a place of its
 * own. What never ends there is not made a crash. */
#define CRASH_BESIDE_MAX 4
struct crash_request {
        const char *head, *body, *by;   /* borrowed until it is left */
        size_t size;                    /* of the body */
};
void crash_enter_beside(unsigned place, const struct crash_request *request);
void crash_leave_beside(unsigned place);

/* ---- at the next start ---- */

struct crash_record {
        enum crash_of of;
        int signal;
        int64_t at_ns;                  /* of the wall clock */
        const char *version, *head, *body, *by, *stack;         /* not terminated: */
        size_t version_size, head_size, body_size, by_size, stack_size;
};

/* Each record in order; what `see` returns, if not 0, ends it and is returned. A record that was
 * cut behind its body counts; what is no record, or cut before, ends the reading: -ERR_INPUT. */
typedef int crash_see(void *arg, const struct crash_record *record, struct err *err);
int crash_read(const char *bytes, size_t size, crash_see *see, void *arg, struct err *err);
