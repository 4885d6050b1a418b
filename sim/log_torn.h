/* log_torn.h - what the failures of a log tore (engine/contact.h), and how long that took to end.
 *
 * Pure apart from the heap. How long is the agents' doing: another policy has other work lie where
 * it failed, and that takes as long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

#define TORN_FOR_EVER INT64_MAX

struct tearing {
        uint64_t failure_seq;           /* record of the input that tore it */
        uint64_t end_seq;               /* of the one that ended it; 0: none did */
        int64_t at_ms, took_ms;         /* TORN_FOR_EVER: the log does not tell of its end */
        uint32_t job;                   /* by place in the story; MAP_NONE: nobody lay there */
};

/* In order of the failures. */
struct log_torn {
        struct tearing *items;
        uint32_t count, room;
        struct map ends;                /* end_seq: its place */
};

void log_torn_init(struct log_torn *torn);
void log_torn_done(struct log_torn *torn);              /* a zeroed one is fine */

/* A failure that is no older than those before: one for each job it tore (MAP_NONE: for itself).
 * The place of the newest is count - 1. 0 or -ERR_NOMEM. */
int log_torn_add(struct log_torn *torn, uint64_t failure_seq, uint32_t job, int64_t at_ms);
/* 0 or -ERR_NOMEM. */
int log_torn_end(struct log_torn *torn, uint32_t place, uint64_t end_seq, int64_t at_ms);

/* Whether anything broke by that input, or was torn. */
bool log_torn_has(const struct log_torn *torn, uint64_t failure_seq);
/* Whether that input ended something torn. */
bool log_torn_has_end(const struct log_torn *torn, uint64_t end_seq);
/* How it goes with a job that the failure tears: as it went; where it did not tear that one, as
 * with the one that took longest. NULL: it tore nobody. */
const struct tearing *log_torn_like(const struct log_torn *torn, uint64_t failure_seq,
                                    uint32_t job);
