#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/http.h"
#include "net/http_impl.h"
#include "net/problem.h"

void http_suspend(struct http_connection *connection)
{
        assert(!connection->is_suspended);
        connection->is_suspended = true;
        MHD_suspend_connection(connection->mhd);
}

/* MHD comes to it in its next run, which nothing but this brings about. */
void http_resume(struct http_connection *connection)
{
        assert(connection->is_suspended);
        connection->is_suspended = false;
        MHD_resume_connection(connection->mhd);
        http_run_soon(connection->server);
}

bool http_answer_header(struct http_exchange *exchange, const char *name, const char *value)
{
        size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;

        assert(!strpbrk(name, ": \r\n"));
        if (strpbrk(value, "\r\n") ||
            name_size + value_size > HTTP_ANSWER_HEADERS_MAX - exchange->extra_size)
                return false;
        if (!exchange->extra && !(exchange->extra = mem_new(HTTP_ANSWER_HEADERS_MAX, 1)))
                return false;
        memcpy(exchange->extra + exchange->extra_size, name, name_size);
        exchange->extra_size += name_size;
        memcpy(exchange->extra + exchange->extra_size, value, value_size);
        exchange->extra_size += value_size;
        return true;
}

/* The client shall come back on a new connection: this server goes, or its certificate. */
static bool must_close(const struct http_connection *connection)
{
        const struct http_server *server = connection->server;

        return server->is_draining ||
               (connection->peer.is_tls && connection->daemon != server->tls);
}

static bool add_headers(struct http_exchange *exchange, struct MHD_Response *response)
{
        const char *at = exchange->extra;

        for (size_t left = exchange->extra_size; left > 0;) {
                const char *value = at + strlen(at) + 1;
                if (MHD_add_response_header(response, at, value) != MHD_YES)
                        return false;
                left -= (size_t)(value - at) + strlen(value) + 1;
                at = value + strlen(value) + 1;
        }
        return !must_close(http_connection_of(exchange)) ||
               MHD_add_response_header(response, "Connection", "close") == MHD_YES;
}

void http_answer_with(struct http_exchange *exchange, unsigned status,
                      struct MHD_Response *response)
{
        struct http_connection *connection = http_connection_of(exchange);
        struct http_server *server = connection->server;

        assert(exchange->step == STEP_OPEN);
        assert(server);
        exchange->step = STEP_ANSWERED;
        server->counters.exchanges--;
        if (!response || !add_headers(exchange, response)) {
                if (response)
                        MHD_destroy_response(response);
                /* The one answer that needs no memory. */
                response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
                status = 503;
        }
        exchange->status = status;
        if (server->answered)
                server->answered(server->answered_arg, exchange->operation, status);
        exchange->response = response;
        if (!response)
                http_shut(connection);
        if (connection->is_suspended) {
                http_phase_set(connection, PHASE_SENDING);
                http_resume(connection);
        }
}

void http_answer(struct http_exchange *exchange, unsigned status, const char *content_type,
                 const void *body, size_t size)
{
        struct http_connection *connection = http_connection_of(exchange);

        assert(exchange->step == STEP_OPEN);
        assert(status >= 200 && status <= 599);
        if (!connection->server) {
                http_connection_free(connection);
                return;
        }
        struct MHD_Response *response = MHD_create_response_from_buffer(
                content_type ? size : 0, content_type ? (void *)(uintptr_t)body : NULL,
                MHD_RESPMEM_MUST_COPY);
        if (response && content_type &&
            MHD_add_response_header(response, "Content-Type", content_type) != MHD_YES) {
                MHD_destroy_response(response);
                response = NULL;
        }
        http_answer_with(exchange, status, response);
}

void http_again(struct http_exchange *exchange)
{
        const struct http_server *server = http_connection_of(exchange)->server;

        assert(exchange->step == STEP_OPEN);
        exchange->extra_size = 0;
        exchange->data = NULL;
        exchange->operation = NULL;
        if (server)
                server->handler(exchange, server->arg);
        else
                http_answer(exchange, 503, NULL, NULL, 0); /* nobody hears it */
}

/* ---- past MHD ---- */

/* As much as the socket takes at once; who does not even take that gets none. */
static void send_raw(struct http_connection *connection, const struct text *text)
{
        if (!connection->peer.is_tls) {
                ssize_t sent =
                        send(connection->fd, text->bytes, text->size, MSG_DONTWAIT | MSG_NOSIGNAL);
                (void)sent;
                return;
        }
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        if (info && info->tls_session)
                gnutls_record_send(info->tls_session, text->bytes, text->size);
}

void http_refuse_raw(struct http_connection *connection, unsigned status, const char *detail)
{
        struct text body = {0}, whole = {0};
        struct err err;

        err_set(&err, ERR_RANGE, "%s", detail);
        problem_write(&body, status, &err, NULL);
        if (!body.failed)
                text_add(&whole,
                         "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: " PROBLEM_TYPE
                         "\r\nContent-Length: %zu\r\n\r\n%s",
                         status, problem_status_title(status), body.size, body.bytes);
        if (!body.failed && !whole.failed)
                send_raw(connection, &whole);
        text_done(&body);
        text_done(&whole);
        connection->server->counters.refused++;
        http_shut(connection);
}
