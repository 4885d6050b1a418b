#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http.h"
#include "net/http_impl.h"
#include "net/problem.h"
#include "net/sse.h"

#define BLOCK_BYTES     4096
#define ROOM_LEAST      1024
#define ROOM_KEPT       4096 /* a stream that waits keeps so much */
#define HEARTBEAT       ":\n\n"
#define HEARTBEAT_BYTES (sizeof HEARTBEAT - 1)

/* MHD asks for more of the body. */
static ssize_t read_stream(void *arg, uint64_t position, char *bytes, size_t max)
{
        struct http_stream *stream = arg;
        struct http_connection *connection = stream->connection;

        (void)position;
        /* What is cut is shut down already, and MHD closes it when it writes the end. Told of an
         * error here, it forgets to (seen with 0.9.75, for a connection that was suspended before).
         */
        if (stream->is_cut || (stream->size == 0 && stream->is_ended))
                return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->size == 0) {
                http_phase_set(connection, PHASE_STREAM);
                http_suspend(connection);
                return 0;
        }
        size_t size = stream->size < max ? stream->size : max;
        memcpy(bytes, stream->bytes + stream->head, size);
        stream->head += size;
        stream->size -= size;
        if (stream->size == 0)
                stream->head = 0;
        if (stream->size == 0 && stream->room > ROOM_KEPT) {
                mem_free(stream->bytes);
                stream->bytes = NULL;
                stream->room = 0;
        }
        http_phase_set(connection, PHASE_SENDING);
        return (ssize_t)size;
}

static struct MHD_Response *stream_response(struct http_stream *stream, const char *content_type)
{
        struct MHD_Response *response = MHD_create_response_from_callback(
                MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, stream, NULL);

        if (!response)
                return NULL;
        /* Proxies must neither keep nor gather what comes. */
        if (MHD_add_response_header(response, "Content-Type", content_type) == MHD_YES &&
            MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES &&
            MHD_add_response_header(response, "X-Accel-Buffering", "no") == MHD_YES)
                return response;
        MHD_destroy_response(response);
        return NULL;
}

static struct http_stream *refuse(struct http_exchange *exchange, const char *sentence)
{
        struct err err;

        err_set(&err, ERR_FULL, "%s", sentence);
        problem_answer(exchange, 503, &err, NULL);
        return NULL;
}

struct http_stream *http_stream_open(struct http_exchange *exchange, const char *content_type,
                                     http_stream_closed *closed, void *arg)
{
        struct http_connection *connection = http_connection_of(exchange);
        struct http_server *server = connection->server;

        assert(exchange->step == STEP_OPEN);
        if (!server)
                return refuse(exchange, "the server is gone");
        if (server->counters.streams >= server->limits.streams_max)
                return refuse(exchange, "as many streams are open as there may be");
        struct http_stream *stream = mem_new(1, sizeof *stream);
        struct MHD_Response *response = stream ? stream_response(stream, content_type) : NULL;
        if (!response) {
                mem_free(stream);
                return refuse(exchange, "out of memory");
        }
        stream->connection = connection;
        stream->closed = closed;
        stream->arg = arg;
        stream->is_event_stream = str_equal(content_type, SSE_TYPE);
        exchange->stream = stream;
        server->counters.streams++;
        http_answer_with(exchange, 200, response);
        return stream;
}

static bool make_room(struct http_stream *stream, size_t size)
{
        size_t room = stream->room ? stream->room : ROOM_LEAST;

        if (size <= stream->room - stream->head - stream->size)
                return true;
        if (stream->size > 0)
                memmove(stream->bytes, stream->bytes + stream->head, stream->size);
        stream->head = 0;
        if (size <= stream->room - stream->size)
                return true;
        while (room - stream->size < size)
                room *= 2;
        char *grown = mem_resize(stream->bytes, stream->room, room, 1);
        if (!grown)
                return false;
        stream->bytes = grown;
        stream->room = room;
        return true;
}

static void cut(struct http_stream *stream, enum http_cut why)
{
        stream->is_cut = true;
        http_cut_connection(stream->connection, why);
}

/* MHD looks at the stream again. Not before it has the answer: then it does anyway. */
static void wake(struct http_stream *stream)
{
        struct http_connection *connection = stream->connection;

        if (!connection->is_suspended)
                return;
        http_phase_set(connection, PHASE_SENDING);
        http_resume(connection);
}

int http_stream_push(struct http_stream *stream, const void *bytes, size_t size)
{
        struct http_connection *connection = stream->connection;

        if (stream->is_cut || stream->is_ended || connection->phase == PHASE_CUT)
                return -ERR_CANCELLED;
        if (size == 0)
                return 0;
        if (size > connection->server->limits.stream_bytes_max - stream->size ||
            !make_room(stream, size)) {
                cut(stream, HTTP_CUT_STREAM);
                return -ERR_FULL;
        }
        memcpy(stream->bytes + stream->head + stream->size, bytes, size);
        stream->size += size;
        wake(stream);
        return 0;
}

size_t http_stream_waiting(const struct http_stream *stream)
{
        return stream->size;
}

void http_stream_end(struct http_stream *stream)
{
        stream->is_ended = true;
        wake(stream);
}

void http_stream_heartbeat(struct http_stream *stream)
{
        struct http_connection *connection = stream->connection;
        char byte;

        /* MHD does not look at a suspended connection; a client that went says so here. */
        if (recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
                stream->is_cut = true;
                http_shut(connection);
                return;
        }
        http_phase_set(connection, PHASE_STREAM);
        if (stream->is_event_stream)
                http_stream_push(stream, HEARTBEAT, HEARTBEAT_BYTES);
}

void http_stream_detach(struct http_stream *stream)
{
        struct http_connection *connection = stream->connection;

        connection->exchange.stream = NULL;
        connection->server->counters.streams--;
        stream->connection = NULL;
        stream->closed(stream, stream->arg);
        mem_free(stream->bytes);
        mem_free(stream);
}
