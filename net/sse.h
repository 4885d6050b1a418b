/* sse.h - server-sent events: writing, and reading the bytes of a stream.
 *
 * Pure apart from the heap. The form is that of the HTML standard: lines "id:", "event:", "data:"
 * and "retry:", an empty line ends an event, a line that starts with ':' is a comment.
 *
 * Ids of ours are numbers that only grow; a client that comes back says the last one that it saw in
 * the header Last-Event-ID, and gets what followed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct text;

#define SSE_TYPE     "text/event-stream"
#define SSE_ID_MAX   64 /* bytes, with the final NUL */
#define SSE_NAME_MAX 64
#define SSE_DATA_MAX (1u << 20) /* bytes of one event's data that is read */

/* Adds one event. `name` may be NULL ("message"); it and data hold no CR, and no NUL; data may have
 * several lines. */
void sse_write(struct text *text, uint64_t id, const char *name, const char *data);
/* Adds "retry:": how long a client that lost the stream shall wait. */
void sse_write_retry(struct text *text, uint32_t retry_ms);

/* Reads the header's value. NULL and "" are 0: nothing was seen. -ERR_INPUT: no number of ours. */
int sse_last_id(const char *header, uint64_t *ret_id, struct err *err);

struct sse_event {
        const char *id;   /* the last id sent, "" before the first one */
        const char *name; /* "message" when none was given */
        const char *data; /* lines divided by '\n' */
};

/* A negative value ends the reading and comes back from sse_read(). */
typedef int sse_on_event(const struct sse_event *event, void *arg);

struct sse_reader;

struct sse_reader *sse_reader_new(void);         /* NULL: out of memory */
void sse_reader_free(struct sse_reader *reader); /* NULL is fine */

/* Takes bytes in pieces of any size; events are given to `on_event` when they are whole.
 * 0, what `on_event` returned, -ERR_RANGE (an event above SSE_DATA_MAX) or -ERR_NOMEM. After a
 * negative value the reader takes no more. */
int sse_read(struct sse_reader *reader, const char *bytes, size_t size, sse_on_event *on_event,
             void *arg, struct err *err);

/* What came last; for coming back. -1: no "retry:" yet. */
const char *sse_reader_id(const struct sse_reader *reader);
int64_t sse_reader_retry_ms(const struct sse_reader *reader);

/* As if `id` had come last. False: too long. */
bool sse_reader_seen(struct sse_reader *reader, const char *id);

/* A new connection: half an event is forgotten, the last id stays. */
void sse_reader_restart(struct sse_reader *reader);
