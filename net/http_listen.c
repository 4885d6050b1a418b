#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http.h"
#include "net/http_impl.h"

#define BACKLOG 4096 /* the kernel cuts it to net.core.somaxconn */

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un un;
};

/* The listener owns `fd` on success. */
static int add_listener(struct http_server *server, int fd, unsigned flags,
                        struct http_listener **ret_listener, struct err *err)
{
        if (flags & HTTP_LISTEN_TLS && !server->tls)
                return err_set(err, ERR_INPUT, "TLS needs a certificate, and none is given");
        struct http_listener *listener = mem_new(1, sizeof *listener);
        if (!listener)
                return err_set(err, ERR_NOMEM, "out of memory");
        listener->server = server;
        listener->fd = fd;
        listener->is_tls = flags & HTTP_LISTEN_TLS;
        int rc = uv_poll_init(server->loop, &listener->poll, fd);
        if (rc < 0) {
                mem_free(listener);
                return err_set(err, ERR_IO, "the loop cannot watch a socket: %s", uv_strerror(rc));
        }
        server->handles++;
        listener->poll.data = listener;
        listener->next = server->listeners;
        server->listeners = listener;
        uv_poll_start(&listener->poll, UV_READABLE, http_accept_ready);
        *ret_listener = listener;
        return 0;
}

/* ---- unix ---- */

/* 0: the name is free now. A socket that nobody answers on is what a dead owner left. */
static int clear_name(const union address *address, const char *path, struct err *err)
{
        struct stat status;

        if (lstat(path, &status) < 0)
                return errno == ENOENT ? 0 : err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (!S_ISSOCK(status.st_mode))
                return err_set(err, ERR_EXISTS, "%s is there and is no socket", path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, ERR_IO, "a socket: %s", strerror(errno));
        int failed = connect(fd, &address->any, sizeof address->un) < 0 ? errno : 0;
        close(fd);
        /* EAGAIN: somebody listens and is busy. */
        if (failed != ECONNREFUSED)
                return err_set(err, ERR_EXISTS, "somebody listens on %s already", path);
        if (unlink(path) < 0 && errno != ENOENT)
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        return 0;
}

/* Nobody can connect before listen(), so the mode bits hold from the start. */
static int bind_unix(int fd, const union address *address, const char *path, unsigned mode,
                     struct err *err)
{
        if (bind(fd, &address->any, sizeof address->un) < 0)
                return err_set(err, errno == EADDRINUSE ? ERR_EXISTS : ERR_IO, "%s: %s", path,
                               strerror(errno));
        if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0) {
                int failed = errno;
                unlink(path);
                return err_set(err, ERR_IO, "%s: %s", path, strerror(failed));
        }
        return 0;
}

static int keep_name(struct http_listener *listener, const char *path)
{
        struct stat status;

        listener->path = mem_new(strlen(path) + 1, 1);
        if (!listener->path || stat(path, &status) < 0) {
                mem_free(listener->path);
                listener->path = NULL;
                return -ERR_NOMEM;
        }
        memcpy(listener->path, path, strlen(path) + 1);
        listener->inode = status.st_ino;
        return 0;
}

/* Only our own: a server that came after us may have taken the name. */
void http_listener_unlink(struct http_listener *listener)
{
        struct stat status;

        if (listener->path && lstat(listener->path, &status) == 0 &&
            status.st_ino == listener->inode)
                unlink(listener->path);
}

int http_listen_unix(struct http_server *server, const char *path, unsigned mode, struct err *err)
{
        union address address = {.un = {.sun_family = AF_UNIX}};
        struct http_listener *listener;

        if (!str_copy(address.un.sun_path, sizeof address.un.sun_path, path) || !path[0])
                return err_set(err, ERR_INPUT, "%s: a socket's path has 1 to %zu bytes", path,
                               sizeof address.un.sun_path - 1);
        int rc = clear_name(&address, path, err);
        if (rc < 0)
                return rc;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, ERR_IO, "a socket: %s", strerror(errno));
        rc = bind_unix(fd, &address, path, mode, err);
        if (rc == 0 && (rc = add_listener(server, fd, 0, &listener, err)) < 0)
                unlink(path);
        if (rc < 0) {
                close(fd);
                return rc;
        }
        keep_name(listener, path); /* else the name stays behind, which the next start clears */
        return 0;
}

/* ---- TCP ---- */

static int parse_address(const char *text, uint16_t port, union address *ret_address,
                         socklen_t *ret_size, struct err *err)
{
        memset(ret_address, 0, sizeof *ret_address);
        if (inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1) {
                ret_address->v4.sin_family = AF_INET;
                ret_address->v4.sin_port = htons(port);
                *ret_size = sizeof ret_address->v4;
                return 0;
        }
        if (inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) == 1) {
                ret_address->v6.sin6_family = AF_INET6;
                ret_address->v6.sin6_port = htons(port);
                *ret_size = sizeof ret_address->v6;
                return 0;
        }
        char shown[STR_SHOW_MAX];
        return err_set(err, ERR_INPUT,
                       "'%s' is no address to listen on; write 127.0.0.1, ::1, "
                       "0.0.0.0 or one of this machine's",
                       str_show(text, shown));
}

static bool is_loopback(const union address *address)
{
        if (address->any.sa_family == AF_INET)
                return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
        return address->any.sa_family != AF_INET6 || IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static int check_plain(const union address *address, unsigned flags, struct err *err)
{
        if (is_loopback(address) || flags & (HTTP_LISTEN_TLS | HTTP_LISTEN_PLAIN_ANYWHERE))
                return 0;
        return err_set(err, ERR_INPUT,
                       "listening for others than this machine needs TLS: tokens would be read on "
                       "the way; give a certificate and its key");
}

static int bind_tcp(const union address *address, socklen_t size, int *ret_fd, struct err *err)
{
        int on = 1;
        int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return err_set(err, ERR_IO, "a socket: %s", strerror(errno));
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            (address->any.sa_family == AF_INET6 &&
             setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
            bind(fd, &address->any, size) < 0 || listen(fd, BACKLOG) < 0) {
                int failed = errno;
                close(fd);
                return err_set(err, failed == EADDRINUSE ? ERR_EXISTS : ERR_IO, "%s",
                               strerror(failed));
        }
        *ret_fd = fd;
        return 0;
}

static uint16_t port_of(int fd)
{
        union address address = {0};
        socklen_t size = sizeof address;

        if (getsockname(fd, &address.any, &size) < 0)
                return 0;
        return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

int http_listen_tcp(struct http_server *server, const char *address_text, uint16_t port,
                    unsigned flags, uint16_t *ret_port, struct err *err)
{
        union address address;
        socklen_t size = 0;
        struct http_listener *listener;
        int fd = -1;

        int rc = parse_address(address_text, port, &address, &size, err);
        if (rc < 0 || (rc = check_plain(&address, flags, err)) < 0)
                return rc;
        if ((rc = bind_tcp(&address, size, &fd, err)) < 0)
                return err_prefix(err, "%s port %u", address_text, port);
        if ((rc = add_listener(server, fd, flags, &listener, err)) < 0) {
                close(fd);
                return rc;
        }
        if (ret_port)
                *ret_port = port_of(fd);
        return 0;
}

/* ---- inherited ---- */

int http_listen_fd(struct http_server *server, int fd, unsigned flags, struct err *err)
{
        union address address = {0};
        socklen_t size = sizeof address, option_size = sizeof(int);
        int is_listening = 0;
        struct http_listener *listener;

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option_size) < 0 ||
            !is_listening || getsockname(fd, &address.any, &size) < 0)
                return err_set(err, ERR_INPUT, "descriptor %d is no listening socket", fd);
        sa_family_t family = address.any.sa_family;
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6)
                return err_set(err, ERR_INPUT, "descriptor %d is neither unix nor TCP", fd);
        int rc = check_plain(&address, flags, err);
        return rc < 0 ? rc : add_listener(server, fd, flags, &listener, err);
}
