#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/http.h"
#include "net/http_impl.h"

/* Peers remembered beyond those that are connected: how fast they asked. */
#define PEERS_GONE_MAX 4096

/* First byte of a key; the address or user below it. */
#define KEY_UNIX (1ull << 56)
#define KEY_V4   (2ull << 56)
#define KEY_V6   (3ull << 56) /* mixed: an IPv6 network needs all 64 bits */

int http_peers_init(struct http_server *server)
{
        server->oldest_peer = server->newest_peer = MAP_NONE;
        server->peers_max = server->limits.connections_max + PEERS_GONE_MAX;
        server->peers = mem_new(server->peers_max, sizeof *server->peers);
        map_init(&server->peer_index, server->peers_max);
        return server->peers ? 0 : -1;
}

void http_peers_done(struct http_server *server)
{
        map_done(&server->peer_index);
        mem_free(server->peers);
        server->peers = NULL;
}

/* ---- who is it ---- */

static void read_unix(int fd, struct http_peer *peer)
{
        struct ucred who = {0};
        socklen_t size = sizeof who;

        peer->kind = HTTP_PEER_UNIX;
        str_copy(peer->address, sizeof peer->address, "unix");
        /* Nobody, should the kernel not say: a user id that has no rights. */
        peer->uid = peer->gid = UINT32_MAX;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
                return;
        peer->uid = who.uid;
        peer->gid = who.gid;
        peer->pid = who.pid;
}

static void read_tcp(const struct sockaddr_storage *address, struct http_peer *peer)
{
        const void *bytes = &((const struct sockaddr_in *)address)->sin_addr;
        int family = address->ss_family;

        peer->kind = HTTP_PEER_TCP;
        peer->port = ntohs(((const struct sockaddr_in *)address)->sin_port);
        if (family == AF_INET6) {
                const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
                bytes = v6;
                /* ::ffff:10.0.0.7 is 10.0.0.7. */
                if (IN6_IS_ADDR_V4MAPPED(v6)) {
                        family = AF_INET;
                        bytes = &v6->s6_addr[12];
                }
        }
        if (!inet_ntop(family, bytes, peer->address, sizeof peer->address))
                str_copy(peer->address, sizeof peer->address, "unknown");
}

void http_peer_read(int fd, struct http_peer *ret_peer)
{
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;

        memset(ret_peer, 0, sizeof *ret_peer);
        if (getpeername(fd, (struct sockaddr *)&address, &size) < 0)
                address.ss_family = AF_INET; /* gone already: 0.0.0.0 */
        if (address.ss_family == AF_UNIX)
                read_unix(fd, ret_peer);
        else
                read_tcp(&address, ret_peer);
}

static uint64_t key_of(const struct http_peer *peer)
{
        struct in_addr v4;
        struct in6_addr v6;
        uint64_t network;

        if (peer->kind == HTTP_PEER_UNIX)
                return KEY_UNIX | peer->uid;
        if (inet_pton(AF_INET, peer->address, &v4) == 1)
                return KEY_V4 | ntohl(v4.s_addr);
        if (inet_pton(AF_INET6, peer->address, &v6) != 1)
                return KEY_V4;
        memcpy(&network, v6.s6_addr, sizeof network);
        return map_mix(network ^ KEY_V6);
}

/* ---- how much of it ---- */

/* The list of those without connections, the one longest gone first. */
static void gone_remove(struct http_server *server, uint32_t index)
{
        struct http_peer_entry *entry = &server->peers[index];

        if (entry->older != MAP_NONE)
                server->peers[entry->older].newer = entry->newer;
        else
                server->oldest_peer = entry->newer;
        if (entry->newer != MAP_NONE)
                server->peers[entry->newer].older = entry->older;
        else
                server->newest_peer = entry->older;
}

static void gone_add(struct http_server *server, uint32_t index)
{
        struct http_peer_entry *entry = &server->peers[index];

        entry->older = server->newest_peer;
        entry->newer = MAP_NONE;
        if (entry->older != MAP_NONE)
                server->peers[entry->older].newer = index;
        else
                server->oldest_peer = index;
        server->newest_peer = index;
}

/* An entry for a key that has none; there are more entries than connections, so one without any is
 * there when all are taken. It is left in the list of those. MAP_NONE: out of memory. */
static uint32_t new_entry(struct http_server *server, uint64_t key)
{
        uint32_t index = server->peers_count;
        bool is_fresh = index < server->peers_max;

        if (!is_fresh) {
                index = server->oldest_peer;
                if (index == MAP_NONE)
                        return MAP_NONE;
                map_remove(&server->peer_index, server->peers[index].key);
                gone_remove(server, index);
        }
        server->peers[index] = (struct http_peer_entry){.key = key};
        gone_add(server, index);
        server->peers_count += is_fresh;
        /* Without its place in the map it is only an entry that nobody finds again. */
        return map_set(&server->peer_index, key, index) < 0 ? MAP_NONE : index;
}

bool http_peer_enter(struct http_server *server, struct http_connection *connection)
{
        uint64_t key = key_of(&connection->peer);
        uint32_t index = map_get(&server->peer_index, key);

        if (index == MAP_NONE)
                index = new_entry(server, key);
        if (index == MAP_NONE ||
            server->peers[index].connections >= server->limits.peer_connections_max)
                return false;
        if (server->peers[index].connections++ == 0)
                gone_remove(server, index);
        connection->peer_entry = index;
        return true;
}

void http_peer_leave(struct http_server *server, struct http_connection *connection)
{
        uint32_t index = connection->peer_entry;

        assert(server->peers[index].connections > 0);
        if (--server->peers[index].connections == 0)
                gone_add(server, index);
}

bool http_client_gone(const struct http_exchange *exchange)
{
        const struct http_connection *connection = (const void *)exchange;
        struct pollfd look = {.fd = connection->fd, .events = POLLRDHUP};

        return !connection->server || poll(&look, 1, 0) > 0;
}
