#include <assert.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http.h"
#include "net/http_impl.h"
#include "net/piece.h"
#include "net/problem.h"
#include "net/sse.h"

#define BLOCK_BYTES     4096
#define ROOM_LEAST      4
#define HEARTBEAT       ":\n\n"
#define HEARTBEAT_BYTES (sizeof HEARTBEAT - 1)

/* ---- what waits ---- */

static bool add(struct http_stream *stream, struct piece *piece)
{
        if (stream->count == stream->room) {
                uint32_t room = stream->room ? stream->room * 2 : ROOM_LEAST;
                struct piece **grown = mem_new(room, sizeof *grown);
                if (!grown)
                        return false;
                for (uint32_t p = 0; p < stream->count; p++)
                        grown[p] = stream->pieces[(stream->first + p) % stream->room];
                mem_free(stream->pieces);
                stream->pieces = grown;
                stream->room = room;
                stream->first = 0;
        }
        stream->pieces[(stream->first + stream->count++) % stream->room] = piece_hold(piece);
        stream->size += piece_size(piece);
        return true;
}

void http_stream_sent(struct http_stream *stream, size_t size)
{
        assert(size <= stream->size);
        stream->size -= size;
        while (size > 0) {
                struct piece *piece = stream->pieces[stream->first];
                size_t left = piece_size(piece) - stream->at;
                if (size < left) {
                        stream->at += size;
                        return;
                }
                size -= left;
                stream->at = 0;
                stream->first = (stream->first + 1) % stream->room;
                stream->count--;
                piece_release(piece);
        }
}

static void drop_all(struct http_stream *stream)
{
        for (; stream->count > 0; stream->count--) {
                piece_release(stream->pieces[stream->first]);
                stream->first = (stream->first + 1) % stream->room;
        }
        mem_free(stream->pieces);
}

/* ---- MHD's side ---- */

static size_t take(struct http_stream *stream, char *bytes, size_t max)
{
        const struct piece *piece = stream->pieces[stream->first];
        size_t left = piece_size(piece) - stream->at, size = left < max ? left : max;

        memcpy(bytes, piece_bytes(piece) + stream->at, size);
        http_stream_sent(stream, size);
        return size;
}

/* MHD asks for more of the body. */
static ssize_t read_stream(void *arg, uint64_t position, char *bytes, size_t max)
{
        struct http_stream *stream = arg;
        struct http_connection *connection = stream->connection;

        (void)position;
        /* What is cut is shut down already, and MHD closes it when it writes the end. Told of an
         * error here, it forgets to (seen with 0.9.75, for a connection that was suspended before).
         */
        if (stream->is_cut || connection->phase == PHASE_CUT ||
            (stream->size == 0 && stream->is_ended))
                return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->size == 0 || stream->is_direct) {
                http_phase_set(connection, PHASE_STREAM);
                http_suspend(connection);
                if (stream->size > 0)
                        http_send_soon(stream);
                return 0;
        }
        http_phase_set(connection, PHASE_SENDING);
        return (ssize_t)take(stream, bytes, max);
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
        stream->is_direct = connection->has_chunks && !connection->peer.is_tls;
        exchange->stream = stream;
        server->counters.streams++;
        http_answer_with(exchange, 200, response);
        return stream;
}

static void cut(struct http_stream *stream, enum http_cut why)
{
        stream->is_cut = true;
        http_cut_connection(stream->connection, why);
}

/* Not before it has the answer: then it does anyway. */
void http_stream_wake(struct http_stream *stream)
{
        struct http_connection *connection = stream->connection;

        if (!connection->is_suspended)
                return;
        http_phase_set(connection, PHASE_SENDING);
        http_resume(connection);
}

int http_stream_push_piece(struct http_stream *stream, struct piece *piece)
{
        struct http_connection *connection = stream->connection;
        size_t size = piece_size(piece);

        if (stream->is_cut || stream->is_ended || connection->phase == PHASE_CUT)
                return -ERR_CANCELLED;
        if (size == 0)
                return 0;
        if (size > connection->server->limits.stream_bytes_max - stream->size ||
            !add(stream, piece)) {
                cut(stream, HTTP_CUT_STREAM);
                return -ERR_FULL;
        }
        if (!stream->is_direct)
                http_stream_wake(stream);
        else if (connection->is_suspended && connection->exchange.step == STEP_ANSWERED)
                http_send_soon(stream);
        return 0;
}

int http_stream_push(struct http_stream *stream, const void *bytes, size_t size)
{
        struct piece *piece = piece_new(bytes, size);
        int rc;

        if (!piece) {
                cut(stream, HTTP_CUT_STREAM);
                return -ERR_FULL;
        }
        rc = http_stream_push_piece(stream, piece);
        piece_release(piece);
        return rc;
}

size_t http_stream_waiting(const struct http_stream *stream)
{
        return stream->size;
}

void http_stream_end(struct http_stream *stream)
{
        stream->is_ended = true;
        if (!stream->is_sending)        /* else when it has been sent */
                http_stream_wake(stream);
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

        http_send_forget(stream);
        connection->exchange.stream = NULL;
        connection->server->counters.streams--;
        stream->connection = NULL;
        stream->closed(stream, stream->arg);
        drop_all(stream);
        mem_free(stream);
}
