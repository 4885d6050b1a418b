/* quarantine.h - what has crashed the controller, and is not tried again.
 *
 * Not pure: reads the crash records of earlier runs (crash.h), keeps the list in the store
 * (OBJECT_QUARANTINE). One thread: that of the loop. Times: ms of the wall clock.
 *
 * An input, or a request of the API, is known again by its *marks*: a hash of what it means,
 * without the numbers that differ from try to try; and, of work that is submitted, one of all that
 * the engine sees of it, so that a sweep of a hundred names is one thing. After the first crash it
 * is a *suspect*; after QUARANTINE_CRASHES within QUARANTINE_WITHIN_MS it is *held*: refused with
 * -ERR_QUARANTINED until an operator lets it go. A suspect that is not heard of for so long is
 * forgotten, and a tick that passes is no suspect any more: all ticks look alike.
 *
 * Where inputs of QUARANTINE_KINDS kinds have crashed the engine within QUARANTINE_ENGINE_MS, what
 * is wrong is not an input but the state: then the *engine* is held, and takes no input at all.
 * Reads, and what agents run, go on.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/crash.h"

struct act;
struct core;
struct core_guard;
struct err;
struct quarantine;

#define QUARANTINE_CRASHES   2
#define QUARANTINE_WITHIN_MS INT64_C(86400000)
#define QUARANTINE_KINDS     3
#define QUARANTINE_ENGINE_MS INT64_C(600000)
#define QUARANTINE_MAX       256        /* entries; then the oldest suspect makes room */
#define QUARANTINE_KIND_MAX  64
#define QUARANTINE_WHAT_MAX  160
#define QUARANTINE_SHOWN_MAX 8192       /* bytes of the input that are kept for a person */

struct quarantine_marks {
        uint64_t meaning;               /* of a document: its text, and whose it is */
        uint64_t sight;                 /* as the engine sees it; else the same */
};

/* CRASH_OTHER stands for the engine as a whole. */
struct quarantine_entry {
        uint64_t id;
        struct quarantine_marks marks;
        uint8_t of;                     /* enum crash_of */
        bool is_held;                   /* else a suspect */
        bool is_new;                    /* this start has read of a crash by it */
        int64_t first_ms, last_ms;      /* crashes */
        char kind[QUARANTINE_KIND_MAX]; /* "submitted"; "POST /v1/workloads", cut */
        char what[QUARANTINE_WHAT_MAX]; /* "'llama' of research"; "?by=day&tenant=web" */
        char by[CRASH_BY_MAX];          /* who asked, the last time; "": nobody, or unknown */
        json_t *about;                  /* as it is kept: with the crashes */
};

/* The list as the store has it; `core` is borrowed. 0, -ERR_IO, -ERR_NOMEM. */
int quarantine_open(struct core *core, struct quarantine **ret_quarantine, struct err *err);
void quarantine_free(struct quarantine *quarantine);    /* NULL is fine */

/* Adds the crash records of the file (none: nothing to do), each once however often they are read;
 * they are forgotten (crash_forget()) when the list is durable. *ret_crashes: how many were new.
 * 0, -ERR_INPUT (damaged: what could be read counts), -ERR_IO, -ERR_NOMEM. */
int quarantine_take(struct quarantine *quarantine, const char *path, int64_t now_ms,
                    unsigned *ret_crashes, struct err *err);

/* What core_guard_set() wants: asks for each input, and hears of each that was decided. */
struct core_guard quarantine_guard(struct quarantine *quarantine);
/* 0, or -ERR_QUARANTINED with the way out. */
int quarantine_check(const struct quarantine *quarantine, enum crash_of of, const char *head,
                     const char *body, size_t size, struct err *err);
bool quarantine_holds_any(const struct quarantine *quarantine, enum crash_of of);

/* NULL: the end; start with 0. */
const struct quarantine_entry *quarantine_next(const struct quarantine *quarantine,
                                               uint32_t *cursor);
/* It may be tried again, and its crashes are forgotten. 0, -ERR_NOT_FOUND, -ERR_IO. */
int quarantine_release(struct quarantine *quarantine, struct act *act, uint64_t id,
                       struct err *err);
uint64_t quarantine_crashes(const struct quarantine *quarantine);       /* taken since the start */
uint64_t quarantine_refused(const struct quarantine *quarantine);       /* ... and refused */

/* ---- marks: quarantine_mark.c; pure but for the heap ---- */

/* One of them is the same for what is the same. `head`, `body`: as crash_enter() was given them. */
struct quarantine_marks quarantine_mark(enum crash_of of, const char *head, size_t head_size,
                                        const char *body, size_t size);
bool quarantine_is_same(const struct quarantine_marks *a, const struct quarantine_marks *b);
/* In words: "'llama' of research", "workload 17", the query of a request; "" where there is nothing
 * to say. */
void quarantine_what(const struct crash_record *record, char *ret_what, size_t what_size);
