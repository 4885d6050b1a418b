/* Where the daemon listens. */
#include "controller/daemon_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "controller/metrics.h"
#include "controller/tls_files.h"
#include "net/activation.h"
#include "net/authority.h"
#include "net/http.h"

static int listen_on(struct daemon *daemon, const char *where, struct err *err)
{
        unsigned flags = daemon->options->tls_certificate ? HTTP_LISTEN_TLS : 0;
        char address[HTTP_ADDRESS_MAX];
        const char *colon;
        uint16_t port = 0;
        int rc;

        if (strncmp(where, "unix:", 5) == 0)
                rc = http_listen_unix(daemon->http, where + 5, 0666, err);
        else if (strncmp(where, "tcp:", 4) == 0 && (colon = strrchr(where + 4, ':')) &&
                 (size_t)(colon - where - 4) < sizeof address) {
                memcpy(address, where + 4, (size_t)(colon - where - 4));
                address[colon - where - 4] = '\0';
                rc = http_listen_tcp(daemon->http, address, (uint16_t)atoi(colon + 1), flags, &port,
                                     err);
        } else {
                rc = err_set(err, ERR_INPUT, "'%s': write unix:PATH or tcp:ADDRESS:PORT", where);
        }
        if (rc == 0 && port)
                daemon_say("listening", "on=%s port=%u tls=%d", where, port, flags != 0);
        else if (rc == 0)
                daemon_say("listening", "on=%s", where);
        return rc;
}

static int new_server(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        struct tls_files files = {0};
        struct http_setup setup = {.limits = http_limits_default,
                                   .handler = guarded_serve,
                                   .arg = &daemon->guarded};
        int rc = 0;

        daemon->guarded = (struct guarded){.routes = &daemon->routes,
                                           .quarantine = daemon->api.quarantine};
        setup.limits.rate_per_s = options->requests_per_s;
        setup.answered = metrics_answered;
        setup.answered_arg = daemon->metrics;
        if (options->tls_certificate) {
                rc = tls_files_read(options->tls_certificate, options->tls_key, options->client_ca,
                                    authority_certificate(daemon->api.authority), &files, err);
                setup.tls = &files.tls;
        }
        if (rc == 0)
                rc = http_new(&daemon->loop, &setup, &daemon->http, err);
        tls_files_done(&files);
        metrics_serve(daemon->metrics, daemon->http);
        return rc;
}

/* What is inherited: TCP with TLS, where there is a certificate. */
static int listen_inherited(struct daemon *daemon, int fd, struct err *err)
{
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        bool is_unix = getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
                       address.ss_family == AF_UNIX;
        bool tls = daemon->options->tls_certificate && !is_unix;
        int rc = http_listen_fd(daemon->http, fd, tls ? HTTP_LISTEN_TLS : 0, err);

        if (rc < 0)
                return err_prefix(err, "a socket of the service manager");
        daemon_say("listening", "on=%s descriptor=%d tls=%d", is_unix ? "unix" : "tcp", fd, tls);
        return 0;
}

/* Whether "unix:PATH" is one of them already: units name the path, with and without a socket's. */
static bool is_inherited(const struct activation *sockets, const char *where)
{
        for (unsigned s = 0; strncmp(where, "unix:", 5) == 0 && s < sockets->count; s++) {
                struct sockaddr_un address = {0};
                socklen_t size = sizeof address;
                if (getsockname(sockets->sockets[s].fd, (struct sockaddr *)&address, &size) == 0 &&
                    address.sun_family == AF_UNIX &&
                    strncmp(address.sun_path, where + 5, sizeof address.sun_path) == 0)
                        return true;
        }
        return false;
}

int daemon_listen(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        struct activation sockets;
        int rc = new_server(daemon, err);

        if (rc == 0)
                rc = activation_take(&sockets, err);
        for (unsigned s = 0; rc == 0 && s < sockets.count; s++)
                rc = listen_inherited(daemon, sockets.sockets[s].fd, err);
        if (rc == 0 && sockets.count == 0 && options->listens_count == 0)
                rc = listen_on(daemon, DAEMON_LISTEN_DEFAULT, err);
        for (unsigned l = 0; rc == 0 && l < options->listens_count; l++)
                if (!is_inherited(&sockets, options->listens[l]))
                        rc = listen_on(daemon, options->listens[l], err);
        return rc;
}
