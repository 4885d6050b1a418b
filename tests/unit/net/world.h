/* world.h - a server in a thread of its own, and clients that speak to it through real sockets.
 *
 * What the server shall do is in the path that is asked for:
 *
 *     /hello            "hello"
 *     /echo             the body
 *     /peer             "unix uid=0 gid=0 pid=7", "tcp 127.0.0.1 tls=1 CN=ana"
 *     /header?name=x    the request's header x
 *     /later?ms=50      "later 50", after so long
 *     /hold?id=a        nothing, until somebody asks for
 *     /release?id=a     "released", and the one held gets "released a"
 *     /twice?id=a       nothing, until somebody asks for
 *     /again?id=a       "again", and the one held comes once more: then it echoes
 *     /big?bytes=n      n bytes
 *     /stream           an event stream; begins with an event that says the Last-Event-ID
 *     /push?bytes=n     one event with n bytes to every stream: "pushed 3 refused 1"
 *     /end              ends every stream
 *     /counters         "accepted=1 requests=1 ..."
 *     /drain            http_drain()
 *     /certificate?n=1  takes another certificate
 *     /fail?n=3         the third allocation of the server's thread from now on fails
 *     /failed           "yes" or "no": whether it has; none will from now on
 *     /v1/workloads/x   by routes: GET and DELETE answer with the name
 *     anything else     404
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http.h"
#include "tests/unit/net/certificate.h"

/* How long a test waits for what must come: a sanitized program on a busy machine is slow. */
#define PATIENCE_MS 60000

struct world;

struct world_setup {
        struct http_limits limits;
        const struct test_certificate *certificates; /* up to 2; NULL: no TLS */
        const char *client_ca;
};

/* Listens on a unix socket, on TCP, and with TLS if there is a certificate. */
struct world *world_start(const struct world_setup *setup);
/* Also frees exchanges that are held; false: the server left handles or streams behind. */
bool world_stop(struct world *world);

const char *world_socket(const struct world *world);
uint16_t world_port(const struct world *world);
uint16_t world_tls_port(const struct world *world);

/* ---- raw clients: a test fails where they cannot go on ---- */

int dial_unix(const struct world *world);
int dial_tcp(const struct world *world);
int dial_tls_raw(const struct world *world); /* TCP, to the port that expects TLS */
void say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct heard {
        unsigned status; /* 0: the connection was closed before an answer */
        char head[2048];
        char body[70000]; /* cut */
        size_t body_size; /* whole */
};
/* Reads one answer with a Content-Length; waits for it up to PATIENCE_MS. */
struct heard *hear(int fd);
/* Asks and hears, on a connection that is kept alive. The result is the same object each time. */
struct heard *ask(int fd, const char *path);
/* What has come so far, or comes within `ms`; terminated. -1: the connection is closed. */
int hear_raw(int fd, char *buf, size_t size, int ms);
bool is_closed_within(int fd, int ms);

/* Whether this process uses less than a fifth of a core once what was asked has been done. */
bool comes_to_rest(void);

/* Until the handler has held so many since the start: asked without a connection of its own. */
void waits_for_holds(const struct world *world, unsigned count);

/* A figure of /counters, by its name. */
uint64_t counter(int fd, const char *name);
/* Waits up to PATIENCE_MS for it to have that value. */
bool counter_becomes(int fd, const char *name, uint64_t value);
