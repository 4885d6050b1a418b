/* attach.h - terminals beside running work: what goes between a client and the agent of its node.
 *
 * Pure apart from the heap. One thread. A *session* is two pipes of bytes that remember how much
 * went through them: a piece comes with its offset, so one that is said again is taken once. Both
 * are bounded: a reader that does not come makes its writer wait, all the way to the program.
 * Whoever waits at a pipe (an HTTP exchange) is held here and answered by api_attach.c.
 *
 * Its beginning and its end are notes in the log, which events are made of (events_log.c).
 *
 * A session ends with its program, when its client has not come for ATTACH_GRACE_MS, when its agent
 * has not for ATTACH_AGENT_MS, or after ATTACH_IDLE_MS without a byte. Times: any clock in ms.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attachments;
struct err;
struct http_exchange;
struct node_entry;

#define ATTACH_ID_MAX           33      /* 128 random bits in hex, NUL */
#define ATTACH_NAME_MAX         64      /* of who opened it (WHO_NAME_MAX) */
#define ATTACH_SESSIONS_MAX     256
#define ATTACH_OF_RUN_MAX       4
#define ATTACH_OF_PRINCIPAL_MAX 16
#define ATTACH_OF_NODE_MAX      32      /* more its agent does not take */
#define ATTACH_WINDOW_MAX       4096    /* rows, columns */
#define ATTACH_PIPE_BYTES       65536u
#define ATTACH_WAIT_MS_MAX      INT64_C(20000)  /* that one call may wait */
#define ATTACH_START_MS         INT64_C(15000)  /* for its agent to come */
#define ATTACH_GRACE_MS         INT64_C(15000)
#define ATTACH_AGENT_MS         INT64_C(30000)
#define ATTACH_IDLE_MS          INT64_C(3600000)
#define ATTACH_ENDED_MS         INT64_C(30000)  /* an end that nobody fetches is kept */

/* Who waits at an end of a pipe. */
struct attach_wait {
        struct http_exchange *exchange; /* NULL: nobody */
        uint64_t offset;
        int64_t until_ms;
};

struct attach_pipe {
        uint64_t from;                  /* the reader has all before; `bytes` begin here */
        uint32_t size;
        bool has_ended;                 /* its writer has no more */
        struct attach_wait reader, writer;
        char bytes[ATTACH_PIPE_BYTES];
};

/* Takes what of the piece is new and has room. 0, or -ERR_INPUT: there is a gap before it, or the
 * pipe has ended before. *ret_offset: how far the writer has come. */
int attach_put(struct attach_pipe *pipe, uint64_t offset, const char *bytes, size_t size,
               uint64_t *ret_offset, struct err *err);
/* The reader has all before the offset. 0, or -ERR_INPUT: nobody wrote so far, or it went on from
 * there already: a call that is late. */
int attach_have(struct attach_pipe *pipe, uint64_t offset, struct err *err);

struct attach_window {
        uint16_t rows, columns;
};

struct attachment {
        char id[ATTACH_ID_MAX];
        char owner[ATTACH_NAME_MAX];
        struct node_entry *node;
        uint64_t workload, epoch;
        uint32_t member;
        json_t *want;                   /* owned: as the exchange with the agent has it */
        json_t *about;                  /* owned: whose work it is beside, who opened it, and what
                                           it starts: what events say of it */
        bool is_taken;                  /* its agent has come */
        struct attach_window window;
        uint32_t window_count;          /* how often it was set */
        uint32_t reader_window;         /* that the agent knows, which waits at `in` */
        bool reader_ended;              /* ... and that `in` has ended */
        struct attach_pipe in, out;     /* to the program; from it */
        int exit_code;                  /* when `out` has ended */
        const char *broken;             /* why it ended without an exit code; NULL: it has not */
        int64_t opened_ms, used_ms, client_ms, agent_ms;        /* last moved, came, came */
        int64_t ended_ms;               /* 0: not yet */
        bool end_is_logged;
};

struct attachments *attachments_new(void);                      /* NULL: out of memory */
/* Nobody waits any more. NULL is fine. */
void attachments_free(struct attachments *attachments);

/* What stands in `wanted`: owner, node, run, window. Where there is no room otherwise, the session
 * that ended first goes, once its end is logged. 0; -ERR_FULL: as many as there may be, of the run,
 * its owner, its node or at all; -ERR_NOMEM. */
int attachments_open(struct attachments *attachments, const struct attachment *wanted,
                     int64_t now_ms, struct attachment **ret_session, struct err *err);
/* NULL: there is none of that name. */
struct attachment *attachments_find(const struct attachments *attachments, const char *id);
/* Walks all: start with 0; the one that was returned may be dropped meanwhile. NULL: the end. */
struct attachment *attachments_next(const struct attachments *attachments, uint32_t *cursor);
/* Nobody may wait at it. */
void attachments_drop(struct attachments *attachments, struct attachment *session);
/* Adds those that the node's agent has not taken yet, as the exchange has them. */
void attachments_add_wants(const struct attachments *attachments, const struct node_entry *node,
                           json_t *list);

/* Whether a call is held at any end of its pipes. */
bool attachment_is_waited_at(const struct attachment *session);
/* Why it is over by now, in words that stay; NULL: it is not. */
const char *attachment_over(const struct attachment *session, int64_t now_ms);
