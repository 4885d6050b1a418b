/* writer_impl.h - the inside of the writer, for store/writer*.c only.
 *
 * writer_run.c is what the writing thread does, writer.c what everybody may call.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "store/writer.h"

struct waiting_chore {
        struct writer_chore chore;
        uint64_t after_seq;             /* what was pushed before it comes before it */
};

struct writer {
        struct store *store;            /* the writing thread's alone */
        struct writer_options options;
        pthread_t thread;
        pthread_mutex_t mutex;          /* all that follows */
        pthread_cond_t wake;
        struct batch *first, *last;     /* waiting */
        struct map keys;                /* words of the keys that wait or are being committed */
        struct waiting_chore chores[WRITER_CHORES_MAX];
        uint32_t chores_count;
        uint64_t next_seq;              /* of the next record pushed */
        bool is_retry_asked, is_ending;
        bool is_checkpoint_failing;     /* the newest one did */
        int64_t busy_since_ns;          /* 0: no commit runs */
        struct writer_stats stats;
};

/* The body of the writing thread. */
void *writer_run(void *argument);

/* One transaction of what waits. False: nothing waited. */
bool writer_commit_group(struct writer *writer);

/* Ends all chores with -ERR_CANCELLED. */
void writer_cancel_chores(struct writer *writer, const char *why);
