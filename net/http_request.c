#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "net/http.h"
#include "net/http_impl.h"
#include "net/problem.h"

#define BODY_ROOM_LEAST 1024
#define BODY_ROOM_KEPT  (16u << 10) /* a connection that is kept alive keeps so much */

/* ---- what the handler asks for ---- */

enum http_method http_method(const struct http_exchange *exchange)
{
        return exchange->method;
}

const char *http_path(const struct http_exchange *exchange)
{
        return exchange->target;
}

const char *http_query(const struct http_exchange *exchange)
{
        return exchange->query;
}

const char *http_header(const struct http_exchange *exchange, const char *name)
{
        const struct http_connection *connection = http_connection_of(exchange);

        assert(connection->server);
        return MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND, name);
}

const char *http_body(const struct http_exchange *exchange, size_t *ret_size)
{
        *ret_size = exchange->body_size;
        return exchange->body ? exchange->body : "";
}

const struct http_peer *http_peer(const struct http_exchange *exchange)
{
        return &http_connection_of(exchange)->peer;
}

void http_operation_set(struct http_exchange *exchange, const char *operation)
{
        exchange->operation = operation;
}

void http_data_set(struct http_exchange *exchange, void *data)
{
        exchange->data = data;
}

void *http_data(const struct http_exchange *exchange)
{
        return exchange->data;
}

/* ---- connections ---- */

static void connection_started(struct http_server *server, struct MHD_Connection *mhd,
                               void **context)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

        assert(info);
        assert((size_t)info->connect_fd < server->by_fd_count);
        struct http_connection *connection = server->by_fd[info->connect_fd];
        assert(connection);
        connection->mhd = mhd;
        *context = connection;
}

static void connection_closed(struct http_server *server, struct http_connection *connection)
{
        struct http_exchange *exchange = &connection->exchange;

        http_phase_leave(connection);
        http_peer_leave(server, connection);
        server->by_fd[connection->fd] = NULL;
        connection->daemon->connections--;
        server->counters.connections--;
        connection->mhd = NULL;
        connection->server = NULL;
        /* MHD leaves alone what the handler has, so this is http_free(): it answers later. */
        if (exchange->step == STEP_OPEN)
                assert(server->is_freed);
        else
                http_connection_free(connection);
}

void http_on_connection(void *server, struct MHD_Connection *mhd, void **context,
                        enum MHD_ConnectionNotificationCode code)
{
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                connection_started(server, mhd, context);
        else if (*context)
                connection_closed(server, *context);
}

/* ---- a request comes ---- */

static bool keep_target(struct http_exchange *exchange, const char *uri)
{
        size_t length = strlen(uri);
        size_t wanted = length + 2; /* a NUL behind the path and one behind the query */

        if (length > HTTP_TARGET_MAX)
                return false;
        if (wanted > exchange->target_room) {
                size_t room = wanted < 256 ? 256 : HTTP_TARGET_MAX + 2;
                char *target = mem_resize(exchange->target, exchange->target_room, room, 1);
                if (!target)
                        return false;
                exchange->target = target;
                exchange->target_room = room;
        }
        size_t path_length = strcspn(uri, "?");
        memcpy(exchange->target, uri, path_length);
        exchange->target[path_length] = '\0';
        exchange->query = exchange->target + path_length + 1;
        const char *query = uri[path_length] ? uri + path_length + 1 : "";
        memcpy(exchange->target + path_length + 1, query, strlen(query) + 1);
        return true;
}

/* The first line is there. What this returns is the state of the request for MHD. */
void *http_on_uri(void *server, const char *uri, struct MHD_Connection *mhd)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        struct http_connection *connection = info ? info->socket_context : NULL;

        (void)server;
        assert(connection);
        struct http_exchange *exchange = &connection->exchange;
        exchange->step = STEP_HEAD;
        exchange->body_size = exchange->extra_size = 0;
        exchange->too_large = false;
        exchange->data = NULL;
        exchange->operation = NULL;
        exchange->query = keep_target(exchange, uri) ? exchange->query : NULL;
        http_phase_set(connection, PHASE_RECEIVING);
        return connection;
}

static bool has_body(const struct http_connection *connection)
{
        const char *length = MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                                         MHD_HTTP_HEADER_CONTENT_LENGTH);

        return (length && strcmp(length, "0") != 0) ||
               MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                           MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Answers in the handler's place. A body that was not read ends the connection. */
static void refuse(struct http_connection *connection, unsigned status, const struct err *err)
{
        struct http_exchange *exchange = &connection->exchange;

        if (has_body(connection))
                http_answer_header(exchange, "Connection", "close");
        connection->server->counters.refused++;
        connection->server->counters.exchanges++;
        exchange->step = STEP_OPEN;
        problem_answer(exchange, status, err, NULL);
}

static bool check_rate(struct http_connection *connection)
{
        struct http_server *server = connection->server;
        char seconds[24];
        struct err err;

        if (server->limits.rate_per_s == 0)
                return true;
        int64_t wait_ms =
                rate_take(&server->peers[connection->peer_entry].rate, server->limits.rate_per_s,
                          server->limits.rate_burst, http_now_ms(server));
        if (wait_ms == 0)
                return true;
        err_set(&err, ERR_FULL, "more than %u requests a second from here",
                server->limits.rate_per_s);
        snprintf(seconds, sizeof seconds, "%lld", (long long)(wait_ms + 999) / 1000);
        http_answer_header(&connection->exchange, "Retry-After", seconds);
        refuse(connection, 429, &err);
        return false;
}

static enum MHD_Result count_length(void *count, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
        (void)kind;
        (void)value;
        *(unsigned *)count += str_equal_nocase(name, MHD_HTTP_HEADER_CONTENT_LENGTH);
        return MHD_YES;
}

/* A length said twice is read one way here and another way by a proxy before us: then what one
 * takes for a body is a request for the other. */
static bool check_framing(struct http_connection *connection)
{
        unsigned lengths = 0;
        struct err err;

        MHD_get_connection_values(connection->mhd, MHD_HEADER_KIND, count_length, &lengths);
        if (lengths == 0 ||
            (lengths == 1 && !MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                                          MHD_HTTP_HEADER_TRANSFER_ENCODING)))
                return true;
        err_set(&err, ERR_INPUT, "the body's length is said in more than one way");
        refuse(connection, 400, &err);
        return false;
}

static bool check_size(struct http_connection *connection)
{
        const char *text = MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND,
                                                       MHD_HTTP_HEADER_CONTENT_LENGTH);
        uint64_t max = connection->server->limits.body_bytes_max, size;
        struct err err;

        if (!text || num_u64(text, 0, max, &size, NULL) == 0)
                return true;
        err_set(&err, ERR_RANGE, "a body of %s bytes; at most %llu are taken", text,
                (unsigned long long)max);
        refuse(connection, 413, &err);
        return false;
}

static bool check_head(struct http_connection *connection)
{
        struct err err;
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
        uint32_t header_max = connection->server->limits.header_bytes_max;

        if (!connection->exchange.query) {
                err_set(&err, ERR_RANGE, "path and query have at most %d bytes", HTTP_TARGET_MAX);
                refuse(connection, 414, &err);
                return false;
        }
        if (info && info->header_size > header_max) {
                err_set(&err, ERR_RANGE, "headers of %zu bytes; at most %u are taken",
                        info->header_size, header_max);
                refuse(connection, 431, &err);
                return false;
        }
        if (connection->peer.is_tls && http_tls_peer(connection, &err) < 0) {
                refuse(connection, 401, &err);
                return false;
        }
        return check_rate(connection) && check_framing(connection) && check_size(connection);
}

/* ---- its body ---- */

static bool body_room(struct http_exchange *exchange, size_t wanted)
{
        size_t room = exchange->body_room ? exchange->body_room : BODY_ROOM_LEAST;

        if (wanted <= exchange->body_room)
                return true;
        while (room < wanted)
                room *= 2;
        char *grown = mem_resize(exchange->body, exchange->body_room, room, 1);
        if (!grown)
                return false;
        exchange->body = grown;
        exchange->body_room = room;
        return true;
}

static enum MHD_Result take_body(struct http_connection *connection, const char *bytes,
                                 size_t *size)
{
        struct http_exchange *exchange = &connection->exchange;

        if (*size > connection->server->limits.body_bytes_max - exchange->body_size) {
                http_refuse_raw(connection, 413, "the body is larger than what is taken");
                return MHD_NO;
        }
        if (!body_room(exchange, exchange->body_size + *size + 1)) {
                http_refuse_raw(connection, 503, "out of memory");
                return MHD_NO;
        }
        memcpy(exchange->body + exchange->body_size, bytes, *size);
        exchange->body_size += *size;
        exchange->body[exchange->body_size] = '\0';
        *size = 0;
        return MHD_YES;
}

/* ---- it is there ---- */

static enum MHD_Result queue_answer(struct http_connection *connection)
{
        struct http_exchange *exchange = &connection->exchange;

        if (!exchange->response)
                return MHD_NO; /* there was no memory for one: MHD closes */
        enum MHD_Result rc =
                MHD_queue_response(connection->mhd, exchange->status, exchange->response);
        MHD_destroy_response(exchange->response);
        exchange->response = NULL;
        http_phase_set(connection, PHASE_SENDING);
        return rc;
}

static enum MHD_Result hand_to_handler(struct http_connection *connection)
{
        struct http_server *server = connection->server;
        struct http_exchange *exchange = &connection->exchange;

        if (exchange->body && exchange->body_size == 0)
                exchange->body[0] = '\0'; /* that of the request before */
        exchange->step = STEP_OPEN;
        server->counters.requests++;
        server->counters.exchanges++;
        http_phase_set(connection, PHASE_HANDLING);
        server->handler(exchange, server->arg);
        if (exchange->step == STEP_ANSWERED)
                return queue_answer(connection);
        http_suspend(connection);
        return MHD_YES;
}

enum MHD_Result http_on_request(void *server, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **state)
{
        struct http_connection *connection = *state;
        struct http_exchange *exchange = &connection->exchange;

        (void)server;
        (void)mhd;
        (void)url;
        switch (exchange->step) {
        case STEP_HEAD:
                connection->has_chunks = str_equal(version, MHD_HTTP_VERSION_1_1);
                exchange->method = http_method_of(method);
                if (check_head(connection)) {
                        exchange->step = STEP_BODY;
                        return MHD_YES;
                }
                /* An answer this early ends the connection: so only where a body would come. */
                return has_body(connection) ? queue_answer(connection) : MHD_YES;
        case STEP_BODY:
                return *upload_size > 0 ? take_body(connection, upload, upload_size)
                                        : hand_to_handler(connection);
        case STEP_ANSWERED:
                if (exchange->response && *upload_size == 0)
                        return queue_answer(connection);
                *upload_size = 0; /* of a body that was refused */
                return MHD_YES;
        case STEP_NONE:
        case STEP_OPEN:
                break;
        }
        return MHD_NO;
}

/* ---- it is over ---- */

void http_on_completed(void *server_, struct MHD_Connection *mhd, void **state,
                       enum MHD_RequestTerminationCode code)
{
        struct http_server *server = server_;
        struct http_connection *connection = *state;

        (void)mhd;
        if (!connection || connection->exchange.step == STEP_OPEN)
                return;
        struct http_exchange *exchange = &connection->exchange;
        if (exchange->step == STEP_ANSWERED && !exchange->stream &&
            code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
                server->counters.answers_dropped++;
        if (exchange->response)
                MHD_destroy_response(exchange->response);
        exchange->response = NULL;
        if (exchange->stream)
                http_stream_detach(exchange->stream);
        if (exchange->body_room > BODY_ROOM_KEPT) {
                mem_free(exchange->body);
                exchange->body = NULL;
                exchange->body_room = 0;
        }
        exchange->step = STEP_NONE;
        http_phase_set(connection, PHASE_IDLE);
}
