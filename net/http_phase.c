#include <assert.h>
#include <sys/socket.h>

#include "net/http.h"
#include "net/http_impl.h"

void http_phase_leave(struct http_connection *connection)
{
        if (connection->phase == PHASES_END)
                return;
        struct http_server *server = connection->server;
        struct phase_list *list = &server->phases[connection->phase];
        if (connection->previous)
                connection->previous->next = connection->next;
        else
                list->first = connection->next;
        if (connection->next)
                connection->next->previous = connection->previous;
        else
                list->last = connection->previous;
        server->cut_count -= connection->phase == PHASE_CUT;
        connection->previous = connection->next = NULL;
        connection->phase = PHASES_END;
}

/* Also to the phase it is in: its time starts anew. What is cut stays cut. */
void http_phase_set(struct http_connection *connection, enum phase phase)
{
        struct http_server *server = connection->server;

        if (connection->phase == PHASE_CUT)
                return;
        http_phase_leave(connection);
        struct phase_list *list = &server->phases[phase];
        connection->phase = phase;
        connection->since_ms = http_now_ms(server);
        connection->previous = list->last;
        if (list->last)
                list->last->next = connection;
        else
                list->first = connection;
        list->last = connection;
        server->cut_count += phase == PHASE_CUT;
}

void http_shut(struct http_connection *connection)
{
        if (connection->phase == PHASE_CUT)
                return;
        shutdown(connection->fd, SHUT_RDWR);
        http_phase_set(connection, PHASE_CUT);
        /* What the handler has stays suspended, until it is answered. */
        if (connection->is_suspended && connection->exchange.step != STEP_OPEN)
                http_resume(connection);
}

void http_cut_connection(struct http_connection *connection, enum http_cut why)
{
        if (connection->phase == PHASE_CUT)
                return;
        connection->server->counters.cuts[why]++;
        http_shut(connection);
}

static void on_late(struct http_connection *connection)
{
        switch (connection->phase) {
        case PHASE_FIRST:
                http_cut_connection(connection, HTTP_CUT_REQUEST);
                break;
        case PHASE_RECEIVING:
                http_refuse_raw(connection, 408, "the request did not arrive in time");
                connection->server->counters.cuts[HTTP_CUT_REQUEST]++;
                break;
        case PHASE_IDLE:
                http_cut_connection(connection, HTTP_CUT_IDLE);
                break;
        case PHASE_SENDING:
                http_cut_connection(connection, HTTP_CUT_ANSWER);
                break;
        case PHASE_STREAM:
                http_stream_heartbeat(connection->exchange.stream);
                break;
        case PHASE_HANDLING:
        case PHASE_CUT:
        case PHASES_END:
                assert(false); /* these have no bound */
        }
}

static void resume_listeners(struct http_server *server)
{
        for (struct http_listener *at = server->listeners; at; at = at->next) {
                if (!at->is_paused)
                        continue;
                at->is_paused = false;
                uv_poll_start(&at->poll, UV_READABLE, http_accept_ready);
        }
}

/* The heads of the lists only: who is behind them came later. Each connection it acts on goes to
 * another place, so this ends. */
void http_sweep(uv_timer_t *timer)
{
        struct http_server *server = timer->data;
        const struct http_limits *limits = &server->limits;
        const int64_t bounds_ms[PHASES_END] = {
                [PHASE_FIRST] = limits->request_ms_max,     [PHASE_IDLE] = limits->idle_ms_max,
                [PHASE_RECEIVING] = limits->request_ms_max, [PHASE_SENDING] = limits->answer_ms_max,
                [PHASE_STREAM] = limits->heartbeat_ms,
        };

        for (enum phase phase = 0; phase < PHASES_END; phase++) {
                if (bounds_ms[phase] == 0)
                        continue;
                int64_t before_ms = http_now_ms(server) - bounds_ms[phase];
                struct http_connection *at;
                while ((at = server->phases[phase].first) && at->since_ms <= before_ms)
                        on_late(at);
        }
        resume_listeners(server);
        http_run(server);
}
