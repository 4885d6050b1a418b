/* What streams have to send is written past MHD, which sends at most 12 KiB at a time, and takes
 * all the time of the loop that it finds work for. Here each stream sends a chunk when its turn
 * comes, for as long as the share of all of them lasts; then who has a request comes first. */
#include "net/http_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/time.h"
#include "net/piece.h"

#define CHUNK_BYTES  (64u << 10) /* more is another chunk, at its next turn */
#define CHUNK_PIECES 16u
#define BLOCKED_MS   5 /* who takes nothing is asked again */
#define WAIT_MS      1 /* until there is a share again */

enum sent { SENT_ALL, SENT_SOME, SENT_BLOCKED, SENT_FAILED };

/* ---- the queue ---- */

static void enqueue(struct http_stream *stream)
{
        struct http_server *server = stream->connection->server;

        assert(!stream->is_sending);
        stream->is_sending = true;
        stream->next_sending = NULL;
        stream->previous_sending = server->last_sending;
        if (server->last_sending)
                server->last_sending->next_sending = stream;
        else
                server->first_sending = stream;
        server->last_sending = stream;
        server->sending_count++;
}

void http_send_forget(struct http_stream *stream)
{
        struct http_server *server = stream->connection->server;

        if (!stream->is_sending)
                return;
        stream->is_sending = false;
        if (stream->previous_sending)
                stream->previous_sending->next_sending = stream->next_sending;
        else
                server->first_sending = stream->next_sending;
        if (stream->next_sending)
                stream->next_sending->previous_sending = stream->previous_sending;
        else
                server->last_sending = stream->previous_sending;
        server->sending_count--;
}

/* ---- a chunk ---- */

static bool is_under_way(const struct http_chunk *chunk)
{
        return chunk->tail_left > 0;
}

static void begin_chunk(struct http_stream *stream)
{
        struct http_chunk *chunk = &stream->chunk;
        size_t size = stream->size < CHUNK_BYTES ? stream->size : CHUNK_BYTES;

        *chunk = (struct http_chunk){.body_left = size, .tail_left = 2};
        chunk->head_size = (uint32_t)snprintf(chunk->head, sizeof chunk->head, "%zx\r\n", size);
}

static size_t gather(const struct http_stream *stream, struct iovec *vectors)
{
        const struct http_chunk *chunk = &stream->chunk;
        size_t count = 0, left = chunk->body_left, at = stream->at;

        vectors[count++] = (struct iovec){(char *)(uintptr_t)chunk->head + chunk->head_at,
                                          chunk->head_size - chunk->head_at};
        for (uint32_t p = 0; left > 0 && p < CHUNK_PIECES; p++, at = 0) {
                const struct piece *piece = stream->pieces[(stream->first + p) % stream->room];
                size_t size = piece_size(piece) - at;
                if (size > left)
                        size = left;
                vectors[count++] = (struct iovec){(char *)(uintptr_t)piece_bytes(piece) + at, size};
                left -= size;
        }
        if (left == 0)
                vectors[count++] = (struct iovec){
                        (char *)(uintptr_t)"\r\n" + 2 - chunk->tail_left, chunk->tail_left};
        return count;
}

static void advance(struct http_stream *stream, size_t size)
{
        struct http_chunk *chunk = &stream->chunk;
        size_t head = chunk->head_size - chunk->head_at, body = chunk->body_left;

        if (head > size)
                head = size;
        chunk->head_at += (uint32_t)head;
        size -= head;
        if (body > size)
                body = size;
        http_stream_sent(stream, body);
        chunk->body_left -= body;
        size -= body;
        assert(size <= chunk->tail_left);
        chunk->tail_left -= (uint32_t)size;
}

static enum sent send_some(struct http_stream *stream)
{
        struct iovec vectors[CHUNK_PIECES + 2];

        if (!is_under_way(&stream->chunk))
                begin_chunk(stream);
        const struct msghdr message = {.msg_iov = vectors, .msg_iovlen = gather(stream, vectors)};
        ssize_t size = sendmsg(stream->connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0)
                return errno == EAGAIN || errno == EINTR ? SENT_BLOCKED : SENT_FAILED;
        advance(stream, (size_t)size);
        return stream->size > 0 || is_under_way(&stream->chunk) ? SENT_SOME : SENT_ALL;
}

/* ---- in turn ---- */

/* The one whose turn it is. True: it got on. */
static bool serve(struct http_server *server)
{
        struct http_stream *stream = server->first_sending;
        struct http_connection *connection = stream->connection;
        enum sent sent;

        http_send_forget(stream);
        if (connection->phase == PHASE_CUT || !connection->is_suspended)
                return true;            /* it ends, by MHD */
        sent = send_some(stream);
        switch (sent) {
        case SENT_ALL:
                http_phase_set(connection, PHASE_STREAM);
                if (stream->is_ended)
                        http_stream_wake(stream);
                break;
        case SENT_SOME:
                http_phase_set(connection, PHASE_SENDING);
                enqueue(stream);
                break;
        case SENT_BLOCKED:
                if (connection->phase != PHASE_SENDING)
                        http_phase_set(connection, PHASE_SENDING);
                enqueue(stream);
                break;
        case SENT_FAILED:
                stream->is_cut = true;
                http_shut(connection);
                break;
        }
        return sent != SENT_BLOCKED;
}

static void start_timer(struct http_server *server, uint64_t wait_ms)
{
        if (!server->is_freed)
                (void)uv_timer_start(&server->send, http_send_again, wait_ms, 0);
}

void http_send_again(uv_timer_t *timer)
{
        struct http_server *server = timer->data;
        int64_t begin_ns = time_monotonic_ns(), now_ns = begin_ns;
        int64_t left_ns = share_left_ns(&server->send_share, begin_ns);
        int64_t until_ns = begin_ns + left_ns;
        uint32_t blocked = 0;

        for (; now_ns < until_ns && blocked < server->sending_count; now_ns = time_monotonic_ns())
                blocked = serve(server) ? 0 : blocked + 1;
        share_spend(&server->send_share, now_ns - begin_ns);
        if (server->sending_count > 0)
                start_timer(server, blocked >= server->sending_count    ? BLOCKED_MS
                                    : server->limits.stream_parts == 1 ? 0
                                                                       : WAIT_MS);
}

/* What can go at once does: a few watchers need not wait for a timer. */
void http_send_soon(struct http_stream *stream)
{
        struct http_server *server = stream->connection->server;
        int64_t begin_ns = time_monotonic_ns();

        if (stream->is_sending)
                return;
        bool is_alone = server->sending_count == 0;
        enqueue(stream);
        if (is_alone && share_left_ns(&server->send_share, begin_ns) > 0) {
                (void)serve(server);
                share_spend(&server->send_share, time_monotonic_ns() - begin_ns);
        }
        if (is_alone && server->sending_count > 0)
                start_timer(server, 0);
}
