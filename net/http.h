/* http.h - an HTTP/1.1 server inside the caller's event loop.
 *
 * Not pure: sockets, and the loop's clock. One thread: every function here is called from the
 * thread that runs the loop, handlers and callbacks come from it too. Another thread that has an
 * answer ready wakes the loop by uv_async_send() and lets it answer there. Times in ms.
 *
 * One request with its answer is an *exchange*. The handler gets it once it is there whole, body
 * included, and answers at once or later. From then on the exchange is the handler's until it has
 * called one of the functions that answer, exactly once - also when the client has gone, or the
 * server was freed: then what it answers is dropped. What an exchange returns (path, headers, body)
 * lives until it is answered; after http_free() only answering is left.
 *
 * What the server refuses by itself, as problem documents (problem.h): a body above the limit
 * (413, before reading it where its length was said), a request line above HTTP_TARGET_MAX (414),
 * headers above the limit (431), a peer that asks too often (429 with Retry-After), a request that
 * does not arrive in time (408), a client certificate that the given authority did not sign (401),
 * a body whose length is said in more than one way (400).
 * Requests that are no HTTP at all are answered by the library below, with 400 and a page of its.
 *
 * No client can hold the loop: what has not moved for the time its phase allows is cut, a stream
 * whose reader does not keep up as well, and when all connections are taken the one that has been
 * without a request for longest goes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http_exchange;
struct http_server;
struct http_stream;
struct piece;
struct uv_loop_s;

#define HTTP_TARGET_MAX         4096 /* bytes of path and query */
#define HTTP_ANSWER_HEADERS_MAX 1024 /* bytes of the extra headers of one answer */
#define HTTP_ADDRESS_MAX        64
#define HTTP_SUBJECT_MAX        256
#define HTTP_URI_NAME_MAX       128
#define HTTP_FINGERPRINT_BYTES  32

#define HTTP_METHODS(X) \
        X(GET) \
        X(HEAD) \
        X(POST) \
        X(PUT) \
        X(PATCH) \
        X(DELETE) \
        X(OPTIONS)

enum http_method {
#define X(name) HTTP_##name,
        HTTP_METHODS(X)
#undef X
        HTTP_OTHER, /* any other word */
        HTTP_METHODS_END
};

const char *http_method_name(enum http_method method); /* "GET"; "OTHER" */
enum http_method http_method_of(const char *name);

/* What one server allows. A peer is a user id (unix socket), an IPv4 address or an IPv6 /64. */
struct http_limits {
        uint64_t body_bytes_max;
        uint32_t header_bytes_max;     /* of one request, its first line included */
        uint32_t connections_max;      /* less where the process may not open so many files */
        uint32_t peer_connections_max; /* of one peer */
        uint32_t streams_max;
        uint32_t stream_bytes_max;       /* waiting in one stream; more, and it is cut */
        uint32_t stream_parts;           /* of the loop's time, streams have one to send in, and a
                                            little of what is idle (share.h); 1: all of it */
        uint32_t rate_per_s, rate_burst; /* requests of one peer; rate_per_s 0: any number */
        int64_t request_ms_max;          /* from the first line (of a new connection: from its
                                            start) to the end of the body */
        int64_t idle_ms_max;             /* kept alive without a request */
        int64_t answer_ms_max;           /* to take an answer; of a stream: its next piece */
        int64_t heartbeat_ms;            /* of event streams: a comment after so much silence */
};
/* Fit for a controller of some thousand nodes. */
extern const struct http_limits http_limits_default;

/* A certificate as PEM texts, borrowed for the call. With `client_ca_pem`, clients may show
 * certificates, and those are checked; who shows none is served as well (the handler sees it). */
struct http_tls {
        const char *certificate_pem; /* the chain, own certificate first */
        const char *key_pem;
        const char *client_ca_pem; /* NULL: none is asked for (but for own_ca_pem) */
        const char *own_ca_pem;    /* one more authority, and it is told which certificates are its
                                      own; NULL: none */
};

typedef void http_handler(struct http_exchange *exchange, void *arg);

/* Told of each answer of the handler's: the operation (http_operation_set()), or NULL. */
typedef void http_answered(void *arg, const char *operation, unsigned status);

struct http_setup {
        struct http_limits limits;
        http_handler *handler;
        void *arg;
        const struct http_tls *tls; /* NULL: no TLS (until http_tls_set) */
        http_answered *answered;    /* NULL: nobody asks */
        void *answered_arg;
};

/* A server that listens nowhere yet. 0, -ERR_INPUT (a limit of 0, a certificate that cannot be
 * used), -ERR_IO, -ERR_NOMEM. */
int http_new(struct uv_loop_s *loop, const struct http_setup *setup,
             struct http_server **ret_server, struct err *err);

/* Cuts every connection, tells every stream's `closed`, removes unix sockets. The loop must run on
 * until its handles are closed (uv_run() with nothing else in it returns then); the memory goes
 * there. Not from within a handler or a stream's `closed`. NULL is fine. */
void http_free(struct http_server *server);

/* The certificate for connections from now on; those that stand keep theirs and close after
 * their next answer, event streams when they end. Unchanged on failure: -ERR_INPUT, -ERR_IO,
 * -ERR_NOMEM. */
int http_tls_set(struct http_server *server, const struct http_tls *tls, struct err *err);

/* Listening; each may be called several times.
 *
 * A unix socket with these mode bits. A socket file left by a dead owner is replaced; -ERR_EXISTS
 * when somebody listens there, or something else than a socket has the name. */
int http_listen_unix(struct http_server *server, const char *path, unsigned mode, struct err *err);

enum http_listen_flags {
        HTTP_LISTEN_TLS = 1,            /* needs a certificate */
        HTTP_LISTEN_PLAIN_ANYWHERE = 2, /* allow other than loopback addresses without TLS */
};
/* A numeric address ("127.0.0.1", "::1", "0.0.0.0") and port (0: any; *ret_port, may be NULL, says
 * which). -ERR_INPUT, -ERR_EXISTS (in use), -ERR_IO. */
int http_listen_tcp(struct http_server *server, const char *address, uint16_t port, unsigned flags,
                    uint16_t *ret_port, struct err *err);
/* A listening socket that was inherited (activation.h), unix or TCP. The server owns it on success,
 * and does not remove a unix socket's name, which is not its own. */
int http_listen_fd(struct http_server *server, int fd, unsigned flags, struct err *err);

/* No new connections; idle ones are cut, the others after their answer. Streams stay until they
 * are ended. Done when http_counters().connections is 0. */
void http_drain(struct http_server *server);

/* ---- the request ---- */

enum http_method http_method(const struct http_exchange *exchange);
const char *http_path(const struct http_exchange *exchange);  /* "/v1/x%20y", as it came */
const char *http_query(const struct http_exchange *exchange); /* behind the '?'; "": none */
/* The value of a header, its name in any case; NULL: absent. Of repeated ones the first. */
const char *http_header(const struct http_exchange *exchange, const char *name);
/* The body, with a NUL behind it that is not counted. Never NULL. */
const char *http_body(const struct http_exchange *exchange, size_t *ret_size);

enum http_peer_kind {
        HTTP_PEER_UNIX,
        HTTP_PEER_TCP,
};

struct http_certificate {
        char subject[HTTP_SUBJECT_MAX];              /* "CN=ana,O=berth" */
        uint8_t fingerprint[HTTP_FINGERPRINT_BYTES]; /* SHA-256 of the certificate */
        bool is_own;                 /* signed by http_tls.own_ca_pem itself */
        char uri[HTTP_URI_NAME_MAX]; /* the first of its names, where that is a URI; "" else */
        int64_t until_ms; /* it is checked when a connection begins, which may outlive it */
};

struct http_peer {
        enum http_peer_kind kind;
        bool is_tls;
        uint16_t port;     /* TCP */
        uint32_t uid, gid; /* unix: of who connected, as the kernel says */
        int32_t pid;
        char address[HTTP_ADDRESS_MAX];             /* "10.0.0.7", "::1", or "unix" */
        const struct http_certificate *certificate; /* checked; NULL: it showed none */
};
const struct http_peer *http_peer(const struct http_exchange *exchange);

/* Whether the client has gone, or sends nothing more: for who works long at an answer, now and then.
 * Asks the system. */
bool http_client_gone(const struct http_exchange *exchange);

/* What is asked for, for http_answered; borrowed. */
void http_operation_set(struct http_exchange *exchange, const char *operation);

/* The caller's own pointer, from the handler to whoever answers. NULL at first. */
void http_data_set(struct http_exchange *exchange, void *data);
void *http_data(const struct http_exchange *exchange);

/* ---- the answer ---- */

/* One more header of the answer, before it is given. False: no room; nothing is added. */
bool http_answer_header(struct http_exchange *exchange, const char *name, const char *value);

/* Answers; the body is copied. With `content_type` NULL there is no body. */
void http_answer(struct http_exchange *exchange, unsigned status, const char *content_type,
                 const void *body, size_t size);

/* Gives it to the handler once more, as if it had just come: for who finds, before it is answered,
 * that what it looked at is no longer so. Headers that were added are gone. */
void http_again(struct http_exchange *exchange);

/* ---- streams ---- */

/* Called exactly once for each stream, never from within a call on that same stream; afterwards
 * the stream is gone. */
typedef void http_stream_closed(struct http_stream *stream, void *arg);

/* Answers with 200 and a body that comes in pieces (event streams: sse.h). NULL: streams_max are
 * open, or out of memory; then the exchange was answered with 503 and `closed` is not called. */
struct http_stream *http_stream_open(struct http_exchange *exchange, const char *content_type,
                                     http_stream_closed *closed, void *arg);

/* Sends a piece; it is copied. -ERR_FULL: the reader did not keep up and the stream is cut;
 * -ERR_CANCELLED: it was cut or ended before. Never blocks. */
int http_stream_push(struct http_stream *stream, const void *bytes, size_t size);
/* The same of a piece that many streams may send: it is held, not copied (piece.h). */
int http_stream_push_piece(struct http_stream *stream, struct piece *piece);

/* Bytes that wait to be sent: for whoever has more than a reader takes at once. */
size_t http_stream_waiting(const struct http_stream *stream);

/* Sends what waits, then ends it. */
void http_stream_end(struct http_stream *stream);

/* ---- figures ---- */

#define HTTP_CUTS(X) \
        X(REQUEST, "request_timeout")    /* a request did not arrive in time */ \
        X(IDLE, "idle_timeout")          /* nothing asked for */ \
        X(ANSWER, "answer_timeout")      /* an answer was not taken in time */ \
        X(STREAM, "stream_overflow")     /* a stream's reader did not keep up */ \
        X(CROWDED, "crowded_out")        /* was without a request when all were taken */ \
        X(REFUSED, "connection_refused") /* all were taken, or too many of one peer */

enum http_cut {
#define X(name, wire) HTTP_CUT_##name,
        HTTP_CUTS(X)
#undef X
                HTTP_CUTS_END
};
const char *http_cut_name(enum http_cut cut);

struct http_counters {
        uint64_t accepted;        /* connections, ever */
        uint64_t requests;        /* given to the handler, ever */
        uint64_t refused;         /* answered by the server itself with 4xx, ever */
        uint64_t answers_dropped; /* the client had gone, ever */
        uint64_t cuts[HTTP_CUTS_END];
        uint32_t connections; /* now */
        uint32_t exchanges;   /* the handler's, now */
        uint32_t streams;     /* now */
};
struct http_counters http_counters(const struct http_server *server);
