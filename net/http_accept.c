#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/http.h"
#include "net/http_impl.h"

#define ACCEPTS_PER_TURN 64

static bool by_fd_room(struct http_server *server, int fd)
{
        size_t wanted = (size_t)fd + 1, count = server->by_fd_count ? server->by_fd_count : 64;

        if (wanted <= server->by_fd_count)
                return true;
        while (count < wanted)
                count *= 2;
        struct http_connection **grown =
                mem_resize(server->by_fd, server->by_fd_count, count, sizeof *server->by_fd);
        if (!grown)
                return false;
        server->by_fd = grown;
        server->by_fd_count = count;
        return true;
}

void http_connection_free(struct http_connection *connection)
{
        mem_free(connection->exchange.target);
        mem_free(connection->exchange.body);
        mem_free(connection->exchange.extra);
        mem_free(connection->certificate);
        mem_free(connection);
}

/* The one longest without a request makes room for who comes, who has most likely one to make. */
static bool make_room(struct http_server *server)
{
        struct http_connection *idle = server->phases[PHASE_IDLE].first;
        struct http_connection *first = server->phases[PHASE_FIRST].first;
        struct http_connection *oldest = idle;

        if (!idle || (first && first->since_ms < idle->since_ms))
                oldest = first;
        if (!oldest)
                return false;
        http_cut_connection(oldest, HTTP_CUT_CROWDED);
        return true;
}

/* Those cut are still open, for a turn of the loop. */
static uint32_t connections_held(const struct http_server *server)
{
        return server->counters.connections - server->cut_count;
}

/* Takes the socket into the server's books; NULL: it is refused. */
static struct http_connection *enter(struct http_server *server, int fd, bool is_tls)
{
        if (connections_held(server) >= server->limits.connections_max && !make_room(server))
                return NULL;
        struct http_connection *connection = mem_new(1, sizeof *connection);
        if (!connection || !by_fd_room(server, fd)) {
                mem_free(connection);
                return NULL;
        }
        connection->fd = fd;
        connection->server = server;
        http_peer_read(fd, &connection->peer);
        connection->peer.is_tls = is_tls;
        if (!http_peer_enter(server, connection)) {
                mem_free(connection);
                return NULL;
        }
        assert(!server->by_fd[fd]);
        server->by_fd[fd] = connection;
        server->counters.connections++;
        server->counters.accepted++;
        connection->phase = PHASES_END;
        http_phase_set(connection, PHASE_FIRST);
        return connection;
}

/* What MHD was not told of, or refused. */
static void forget(struct http_server *server, struct http_connection *connection)
{
        http_phase_leave(connection);
        http_peer_leave(server, connection);
        server->by_fd[connection->fd] = NULL;
        server->counters.connections--;
        if (connection->daemon)
                connection->daemon->connections--;
        http_connection_free(connection);
}

static void hand_over(struct http_listener *listener, int fd,
                      const struct sockaddr_storage *address, socklen_t size)
{
        struct http_server *server = listener->server;
        struct http_daemon *daemon = listener->is_tls ? server->tls : server->plain;

        struct http_connection *connection = enter(server, fd, listener->is_tls);
        if (!connection) {
                server->counters.cuts[HTTP_CUT_REFUSED]++;
                close(fd);
                return;
        }
        connection->daemon = daemon;
        daemon->connections++;
        /* MHD closes the socket when it fails, and may have told us so already. */
        if (MHD_add_connection(daemon->mhd, fd, (const struct sockaddr *)address, size) !=
                    MHD_YES &&
            server->by_fd[fd] == connection)
                forget(server, connection);
}

void http_accept_ready(uv_poll_t *poll, int status, int events)
{
        struct http_listener *listener = poll->data;
        struct http_server *server = listener->server;

        (void)status;
        (void)events;
        for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
                struct sockaddr_storage address = {0};
                socklen_t size = sizeof address;
                int fd = accept4(listener->fd, (struct sockaddr *)&address, &size,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd >= 0) {
                        hand_over(listener, fd, &address, size);
                        continue;
                }
                if (errno == EINTR || errno == ECONNABORTED)
                        continue;
                /* Out of descriptors or memory: looking again at once would only burn time. */
                if (errno != EAGAIN) {
                        uv_poll_stop(&listener->poll);
                        listener->is_paused = true;
                }
                break;
        }
        http_run(server);
}
