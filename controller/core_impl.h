/* core_impl.h - the inside of the core, for core*.c only. */
#pragma once

#include <pthread.h>

#include "base/text.h"
#include "controller/core.h"
#include "controller/works.h"
#include "engine/memo.h"
#include "proto/log_group.h"

/* Who waits for a record to be durable, in order of the records; or for the state to be made anew.
 * A ring. */
struct waiting {
        uint64_t seq;                   /* 0: for the state */
        core_done *done;
        void *arg;
};

struct waiting_ring {
        struct waiting *them;
        uint32_t first, count, room;
};

struct act {
        struct core *core;
        struct batch *batch;
        const char *actor, *reason;
        bool open;
        bool has_numbers;               /* its first record is their note; before that they were: */
        struct numbers numbers_before;
};

/* From the writer's thread to the core's. */
struct core_mail {
        pthread_mutex_t lock;
        uint64_t durable_seq;
        bool failed, recovered;
        struct err failure;
};

struct core {
        struct core_setup setup;
        struct writer *writer;
        struct store *view;             /* the core's own, for reading */
        struct state *state;
        struct memo *memo;
        struct policy_doc *policy;      /* in force; NULL: none */
        uint64_t policy_revision;
        struct works *works;
        struct logged_words words;
        struct act act;                 /* one at a time */
        struct text input_body, facts_body;     /* scratch: of two records */
        struct fact *facts;             /* of the act, in order */
        uint32_t facts_count, facts_room;
        struct waiting_ring waiting;    /* for the disk */
        struct waiting_ring looking;    /* for a state that the log has */
        uint64_t last_seq, durable_seq; /* decided; on the disk */
        int64_t now_ms;
        bool has_begun;                 /* its log has an input: the pool's bounds are said */
        bool store_failed;              /* nothing can be committed */
        bool stale;                     /* the state is ahead of the log: it is to be made anew */
        uint32_t models_listed;         /* device models that were there from the start */
        struct core_mail *mail;
        uint64_t next_workload;         /* number of the next one */
        uint64_t first_workload;        /* the same when this start began */
        struct numbers numbers;         /* the log's */
        struct numbers_wish wish;       /* of this start, and what was passed since */
        struct core_figures figures;
        struct core_watch watches[CORE_WATCHES_MAX];
        unsigned watches_count;
        struct core_guard guard;        /* zeroed: none */
};

/* core_durable.c: who waits. False: there is no room for one more. */
bool core_wait_for(struct waiting_ring *ring, uint64_t seq, core_done *done, void *arg);
void core_take_event(void *self, const struct writer_event *event); /* a writer_callback */
void core_end_writer(struct core *core);
/* core_numbers.c: before an input, the note of the log's numbers, where they are to change. 0,
 * -ERR_FULL, -ERR_NOMEM: nothing has changed. */
int core_number(struct act *act, struct err *err);
/* core_recover.c: the state, from snapshot and facts. */
int core_recover(struct core *core, struct core_recovery *ret_recovery, struct err *err);
/* Applies the fact, and keeps works in step. 0 or -ERR_NOMEM. */
int core_apply(struct core *core, const struct fact *fact, uint64_t seq, int64_t at_ms);
/* Tells watches of a request that was never taken, if that is what the fact says. */
void core_tell_refused(struct core *core, const struct request *request, const struct fact *fact,
                       int64_t at_ms);
/* Logs words and device models that no record has, where there are any. 0, -ERR_FULL,
 * -ERR_NOMEM. */
int core_words(struct act *act, struct err *err);
void core_drop_state(struct core *core);
/* Behind the fact that brings it into force. */
void core_take_policy(struct core *core, struct policy_doc *policy, uint64_t revision);
