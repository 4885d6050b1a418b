/* http_impl.h - the inside of the server, for net/http*.c only.
 *
 * The loop watches every listening socket and the epoll descriptor of every MHD daemon. Connections
 * are accepted here and handed to a daemon: the plain one, or the newest one with TLS; older ones
 * with TLS live until their last connection goes, so a new certificate disturbs nobody.
 *
 * A connection is always in one phase, and in that phase's list, the one longest in it first. A
 * timer looks at the heads of the lists: what was too long in its phase is cut, which is a
 * shutdown() of the socket; MHD then sees its end and closes it.
 *
 * While the handler has an exchange, and while a stream has nothing to send, MHD leaves the
 * connection alone (suspended); so it cannot vanish meanwhile. The body of a stream on a plain
 * connection is written past MHD, which stays suspended until the end of it.
 */
#pragma once

#include <microhttpd.h>
#include <uv.h>

#include "base/map.h"
#include "net/http.h"
#include "net/rate.h"
#include "net/share.h"

enum phase {
        PHASE_FIRST,     /* accepted, no request yet */
        PHASE_IDLE,      /* kept alive */
        PHASE_RECEIVING, /* a request has begun */
        PHASE_HANDLING,  /* the handler has it: no bound here */
        PHASE_SENDING,   /* the client takes an answer, or a piece of a stream */
        PHASE_STREAM,    /* a stream with nothing to send */
        PHASE_CUT,       /* shut down, not yet closed */
        PHASES_END,
};

enum step {
        STEP_NONE,
        STEP_HEAD,     /* the first line is there */
        STEP_BODY,     /* the headers are there and accepted */
        STEP_OPEN,     /* the handler's */
        STEP_ANSWERED, /* there is an answer, to be queued or queued */
};

struct http_exchange {
        enum step step;
        enum http_method method;
        char *target; /* path, NUL, query, NUL; NULL before the first request */
        size_t target_room;
        const char *query;
        char *body;
        size_t body_size, body_room;
        bool too_large; /* the body, found while it came */
        unsigned status;
        struct MHD_Response *response;
        char *extra; /* "name\0value\0" ... of the answer */
        size_t extra_size;
        struct http_stream *stream;
        void *data;
        const char *operation; /* NULL: not known */
};

struct http_peer_entry {
        uint64_t key;
        uint32_t connections;
        uint32_t older, newer; /* in the list of those without connections; MAP_NONE: the end */
        struct rate rate;
};

struct http_connection {
        struct http_exchange exchange; /* first: an exchange is its connection */
        struct http_server *server;    /* NULL: the server was freed, the exchange is still open */
        struct http_daemon *daemon;
        struct MHD_Connection *mhd; /* NULL until MHD has started with it */
        int fd;
        uint32_t peer_entry;
        struct http_peer peer;
        struct http_certificate *certificate;
        bool is_suspended, certificate_asked;
        bool has_chunks; /* its request was of HTTP/1.1 */
        enum phase phase;
        int64_t since_ms;
        struct http_connection *previous, *next;
};

struct phase_list {
        struct http_connection *first, *last;
};

struct http_daemon {
        struct http_server *server;
        struct MHD_Daemon *mhd;
        uv_poll_t poll;
        uint32_t connections;
        bool is_tls;
        char *own_ca_pem;         /* of the certificates that are our own; NULL: none are */
        struct http_daemon *next; /* older */
};

struct http_listener {
        struct http_server *server;
        uv_poll_t poll;
        int fd;
        bool is_tls, is_paused;
        char *path; /* NULL: nothing to remove */
        uint64_t inode;
        struct http_listener *next;
};

/* A chunk of the body that is under way, past MHD: its first line, so many bytes of the pieces, and
 * the line's end behind them. */
struct http_chunk {
        char head[20];
        uint32_t head_at, head_size;
        size_t body_left;
        uint32_t tail_left;
};

struct http_stream {
        struct http_connection *connection; /* NULL: it is closed */
        http_stream_closed *closed;
        void *arg;
        struct piece **pieces; /* a ring of `room`: what waits, each held */
        uint32_t first, count, room;
        size_t at;   /* so much of the first one is sent */
        size_t size; /* that wait, in all */
        struct http_chunk chunk;
        struct http_stream *next_sending, *previous_sending;
        bool is_event_stream, is_ended, is_cut;
        bool is_direct;  /* MHD has sent the answer's head, and leaves the body to us */
        bool is_sending; /* it stands in the server's queue */
};

struct http_server {
        uv_loop_t *loop;
        struct http_limits limits;
        http_handler *handler;
        void *arg;
        http_answered *answered;
        void *answered_arg;
        struct http_daemon *plain, *tls; /* `tls` is the newest */
        struct http_listener *listeners;
        struct phase_list phases[PHASES_END];
        struct http_connection **by_fd;
        size_t by_fd_count;
        struct map peer_index;
        struct http_peer_entry *peers;
        uint32_t peers_count, peers_max, oldest_peer, newest_peer;
        uv_timer_t sweep;
        uv_idle_t again;    /* MHD has more to do than one run did */
        uv_timer_t send;    /* streams have more to send than they were let */
        struct share send_share;
        struct http_stream *first_sending, *last_sending; /* in turn */
        uint32_t sending_count;
        uint32_t cut_count; /* connections in PHASE_CUT */
        uint32_t handles;   /* uv handles that are not closed */
        bool run_wanted, is_running, is_draining, is_freed;
        struct http_counters counters;
};

/* http.c */
void http_handle_closed(struct http_server *server);
void http_run(struct http_server *server);
void http_run_soon(struct http_server *server); /* in the loop's next turn, before it waits */
int http_daemon_start(struct http_server *server, const struct http_tls *tls,
                      struct http_daemon **ret_daemon, struct err *err);
int64_t http_now_ms(const struct http_server *server);

/* http_tls.c */
int http_tls_check(const struct http_tls *tls, struct err *err);
/* Whom clients' certificates may be signed by, as one text; NULL: nobody, or (*ret_failed) out of
 * memory. Freed with mem_free(). */
char *http_tls_trust(const struct http_tls *tls, bool *ret_failed);
/* Fills peer.certificate on the first request of a connection. 0; -ERR_INPUT: shown, but not signed
 * by the authority, or run out; -ERR_NOMEM. */
int http_tls_peer(struct http_connection *connection, struct err *err);

/* http_listen.c */
void http_listener_unlink(struct http_listener *listener);

/* http_peer.c: who connects, and how much of it */
int http_peers_init(struct http_server *server);
void http_peers_done(struct http_server *server);
void http_peer_read(int fd, struct http_peer *ret_peer);
/* False: the peer has all the connections it may have. */
bool http_peer_enter(struct http_server *server, struct http_connection *connection);
void http_peer_leave(struct http_server *server, struct http_connection *connection);

/* http_accept.c */
void http_accept_ready(uv_poll_t *poll, int status, int events);
void http_connection_free(struct http_connection *connection);

/* http_phase.c */
void http_phase_set(struct http_connection *connection, enum phase phase);
void http_phase_leave(struct http_connection *connection);
void http_cut_connection(struct http_connection *connection, enum http_cut why);
/* Cuts without counting. */
void http_shut(struct http_connection *connection);
void http_sweep(uv_timer_t *timer);

/* http_request.c: what MHD calls */
void *http_on_uri(void *server, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_on_request(void *server, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **state);
void http_on_completed(void *server, struct MHD_Connection *mhd, void **state,
                       enum MHD_RequestTerminationCode code);
void http_on_connection(void *server, struct MHD_Connection *mhd, void **context,
                        enum MHD_ConnectionNotificationCode code);

/* http_answer.c */
void http_suspend(struct http_connection *connection);
void http_resume(struct http_connection *connection);
/* Gives `response` (owned by the exchange from here on) as the answer. */
void http_answer_with(struct http_exchange *exchange, unsigned status,
                      struct MHD_Response *response);
/* A refusal written past MHD, for a request that MHD still reads; then the connection is cut. */
void http_refuse_raw(struct http_connection *connection, unsigned status, const char *detail);

/* http_stream.c */
void http_stream_detach(struct http_stream *stream);
void http_stream_heartbeat(struct http_stream *stream);
/* So many of the first bytes that wait are sent. */
void http_stream_sent(struct http_stream *stream, size_t size);
/* MHD looks at the stream again, if it does not by itself. */
void http_stream_wake(struct http_stream *stream);

/* http_send.c: bodies of streams, written past MHD */
/* Sends what waits of a direct stream: now, or when its turn comes. */
void http_send_soon(struct http_stream *stream);
void http_send_forget(struct http_stream *stream);
void http_send_again(uv_timer_t *timer);

static inline struct http_connection *http_connection_of(const struct http_exchange *exchange)
{
        return (struct http_connection *)(uintptr_t)exchange;
}
