#include "net/http.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http_impl.h"

#define FILES_FOR_OTHERS 64
/* MHD must not stop at our own bound: that one is kept by making room. */
#define CONNECTIONS_SLACK 256
/* For the answer's headers and pieces of streams, in the memory MHD has per connection. */
#define ANSWER_POOL_BYTES 4096
#define RUNS_PER_TURN     8
#define SEND_NS           500000 /* that streams send at one go */
#define PRIORITIES        "NORMAL:-VERS-ALL:+VERS-TLS1.3"

const struct http_limits http_limits_default = {
        .body_bytes_max = 4 << 20,
        .header_bytes_max = 8 << 10,
        .connections_max = 16384,
        .peer_connections_max = 4096,
        .streams_max = 4096,
        .stream_bytes_max = 1 << 20,
        .stream_parts = 16,
        .rate_per_s = 2000,
        .rate_burst = 4000,
        .request_ms_max = 15000,
        .idle_ms_max = 120000,
        .answer_ms_max = 60000,
        .heartbeat_ms = 15000,
};

const char *http_method_name(enum http_method method)
{
        static const char *const names[] = {
#define X(name) [HTTP_##name] = #name,
                HTTP_METHODS(X)
#undef X
                        [HTTP_OTHER] = "OTHER",
        };
        _Static_assert(ARRAY_LEN(names) == HTTP_METHODS_END, "one name per method");

        return names[method];
}

enum http_method http_method_of(const char *name)
{
        enum http_method method = HTTP_GET;

        while (method < HTTP_OTHER && !str_equal(http_method_name(method), name))
                method++;
        return method;
}

const char *http_cut_name(enum http_cut cut)
{
        static const char *const names[] = {
#define X(name, wire) [HTTP_CUT_##name] = wire,
                HTTP_CUTS(X)
#undef X
        };
        _Static_assert(ARRAY_LEN(names) == HTTP_CUTS_END, "one name per reason");

        return names[cut];
}

struct http_counters http_counters(const struct http_server *server)
{
        return server->counters;
}

int64_t http_now_ms(const struct http_server *server)
{
        /* Above 0, which rate.h takes for "never". */
        return (int64_t)uv_now(server->loop) + 1;
}

/* ---- daemons ---- */

static void release_daemon(struct http_daemon *daemon)
{
        mem_free(daemon->own_ca_pem);
        mem_free(daemon);
}

static void free_daemon(uv_handle_t *handle)
{
        struct http_daemon *daemon = handle->data;
        struct http_server *server = daemon->server;

        release_daemon(daemon);
        http_handle_closed(server);
}

/* All its connections are suspended by us or not at all: MHD does not stop with one suspended. */
static void stop_daemon(struct http_daemon *daemon)
{
        uv_poll_stop(&daemon->poll);
        MHD_stop_daemon(daemon->mhd);
        daemon->mhd = NULL;
        uv_close((uv_handle_t *)&daemon->poll, free_daemon);
}

/* Old certificates go when nobody uses them. */
static void retire_daemons(struct http_server *server)
{
        if (!server->tls)
                return;
        for (struct http_daemon **at = &server->tls->next; *at;) {
                struct http_daemon *daemon = *at;
                if (daemon->connections > 0) {
                        at = &daemon->next;
                        continue;
                }
                *at = daemon->next;
                stop_daemon(daemon);
        }
}

static bool has_more(struct MHD_Daemon *mhd)
{
        MHD_UNSIGNED_LONG_LONG timeout_ms;

        return MHD_get_timeout(mhd, &timeout_ms) == MHD_YES && timeout_ms == 0;
}

static bool run_daemon(struct http_daemon *daemon)
{
        bool more = true;

        for (int run = 0; run < RUNS_PER_TURN && more; run++) {
                MHD_run(daemon->mhd);
                more = has_more(daemon->mhd);
        }
        return more;
}

static void run_again(uv_idle_t *idle)
{
        http_run(idle->data);
}

void http_run_soon(struct http_server *server)
{
        server->run_wanted = true;
        if (!server->is_freed)
                uv_idle_start(&server->again, run_again);
}

/* Lets MHD do what there is to do; what does not fit in one turn waits for the loop's next, so that
 * listeners, timers and the handlers' own work get theirs. */
void http_run(struct http_server *server)
{
        bool more = false;

        assert(!server->is_running); /* MHD does not enter itself */
        server->is_running = true;
        server->run_wanted = false;
        if (server->plain)
                more = run_daemon(server->plain);
        for (struct http_daemon *daemon = server->tls; daemon; daemon = daemon->next)
                more |= run_daemon(daemon);
        server->is_running = false;
        retire_daemons(server);
        if (more || server->run_wanted)
                uv_idle_start(&server->again, run_again);
        else
                uv_idle_stop(&server->again);
}

static void daemon_ready(uv_poll_t *poll, int status, int events)
{
        struct http_daemon *daemon = poll->data;

        (void)status;
        (void)events;
        http_run(daemon->server);
}

static struct MHD_Daemon *start_mhd(struct http_server *server, const struct http_tls *tls,
                                    const char *trust)
{
        const struct http_limits *limits = &server->limits;
        size_t pool = limits->header_bytes_max + ANSWER_POOL_BYTES;
        struct MHD_OptionItem options[6] = {{MHD_OPTION_END, 0, NULL}};
        unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;

        if (tls) {
                unsigned used = 0;
                flags |= MHD_USE_TLS;
                options[used++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                                          (void *)(uintptr_t)tls->certificate_pem};
                options[used++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0,
                                                          (void *)(uintptr_t)tls->key_pem};
                options[used++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                          (void *)(uintptr_t)PRIORITIES};
                if (trust)
                        options[used++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                                  (void *)(uintptr_t)trust};
                options[used] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
        }
        return MHD_start_daemon(
                flags, 0, NULL, NULL, http_on_request, server, MHD_OPTION_NOTIFY_COMPLETED,
                http_on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, server,
                MHD_OPTION_URI_LOG_CALLBACK, http_on_uri, server,
                MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool, MHD_OPTION_CONNECTION_LIMIT,
                limits->connections_max + CONNECTIONS_SLACK, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/* What it needs of the texts, which are gone when this returns. */
static int start_with(struct http_daemon *daemon, const struct http_tls *tls, struct err *err)
{
        bool failed = false;
        char *trust = tls ? http_tls_trust(tls, &failed) : NULL;

        if (tls && tls->own_ca_pem) {
                size_t size = strlen(tls->own_ca_pem) + 1;
                daemon->own_ca_pem = mem_new(size, 1);
                failed |= !daemon->own_ca_pem;
                if (daemon->own_ca_pem)
                        memcpy(daemon->own_ca_pem, tls->own_ca_pem, size);
        }
        if (!failed)
                daemon->mhd = start_mhd(daemon->server, tls, trust);
        mem_free(trust);
        if (failed)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (!daemon->mhd)
                return err_set(err, ERR_IO, "the HTTP server cannot start: %s", strerror(errno));
        return 0;
}

int http_daemon_start(struct http_server *server, const struct http_tls *tls,
                      struct http_daemon **ret_daemon, struct err *err)
{
        struct http_daemon *daemon = mem_new(1, sizeof *daemon);

        if (!daemon)
                return err_set(err, ERR_NOMEM, "out of memory");
        daemon->server = server;
        daemon->is_tls = tls != NULL;
        int rc = start_with(daemon, tls, err);
        if (rc < 0) {
                release_daemon(daemon);
                return rc;
        }
        const union MHD_DaemonInfo *info =
                MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD);
        daemon->poll.data = daemon;
        if (!info || uv_poll_init(server->loop, &daemon->poll, info->epoll_fd) < 0) {
                MHD_stop_daemon(daemon->mhd);
                release_daemon(daemon);
                return err_set(err, ERR_IO, "the HTTP server cannot be watched by the loop");
        }
        server->handles++;
        uv_poll_start(&daemon->poll, UV_READABLE, daemon_ready);
        *ret_daemon = daemon;
        return 0;
}

/* After its next answer, the client comes back and meets the new certificate. */
static void cut_idle(struct http_server *server, bool tls_only)
{
        struct http_connection *next;

        for (struct http_connection *at = server->phases[PHASE_IDLE].first; at; at = next) {
                next = at->next;
                if (!tls_only || at->peer.is_tls)
                        http_shut(at);
        }
}

int http_tls_set(struct http_server *server, const struct http_tls *tls, struct err *err)
{
        struct http_daemon *daemon;

        int rc = http_tls_check(tls, err);
        if (rc < 0 || (rc = http_daemon_start(server, tls, &daemon, err)) < 0)
                return rc;
        cut_idle(server, true);
        daemon->next = server->tls;
        server->tls = daemon;
        http_run_soon(server);
        return 0;
}

/* ---- life ---- */

static int check_limits(const struct http_limits *limits, struct err *err)
{
        if (limits->body_bytes_max == 0 || limits->header_bytes_max < 1024 ||
            limits->connections_max == 0 || limits->peer_connections_max == 0 ||
            limits->stream_bytes_max == 0 || limits->stream_parts == 0)
                return err_set(err, ERR_INPUT,
                               "limits of connections, body and streams must be above 0, headers "
                               "at least 1024 bytes");
        if (limits->request_ms_max <= 0 || limits->idle_ms_max <= 0 || limits->answer_ms_max <= 0 ||
            limits->heartbeat_ms <= 0)
                return err_set(err, ERR_INPUT, "times of a server's limits must be above 0");
        if (limits->rate_per_s > 0 && (limits->rate_per_s > 1000000 || limits->rate_burst == 0 ||
                                       limits->rate_burst > 1000000))
                return err_set(err, ERR_INPUT, "a rate and its burst are 1 to 1000000");
        return 0;
}

/* As many connections as this process may open files, some left for others. */
static uint32_t connections_possible(uint32_t wanted)
{
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY ||
            files.rlim_cur > (rlim_t)wanted + FILES_FOR_OTHERS)
                return wanted;
        return files.rlim_cur > 2 * FILES_FOR_OTHERS ? (uint32_t)files.rlim_cur - FILES_FOR_OTHERS
                                                     : FILES_FOR_OTHERS;
}

static int64_t sweep_period_ms(const struct http_limits *limits)
{
        int64_t least_ms = limits->request_ms_max;

        if (limits->idle_ms_max < least_ms)
                least_ms = limits->idle_ms_max;
        if (limits->answer_ms_max < least_ms)
                least_ms = limits->answer_ms_max;
        if (limits->heartbeat_ms < least_ms)
                least_ms = limits->heartbeat_ms;
        least_ms /= 4;
        return least_ms < 10 ? 10 : least_ms > 1000 ? 1000 : least_ms;
}

/* Handles that only serve the server keep no loop alive by themselves. */
static void start_timers(struct http_server *server)
{
        uint64_t period_ms = (uint64_t)sweep_period_ms(&server->limits);

        uv_timer_init(server->loop, &server->sweep);
        uv_idle_init(server->loop, &server->again);
        uv_timer_init(server->loop, &server->send);
        server->sweep.data = server->again.data = server->send.data = server;
        server->handles += 3;
        share_init(&server->send_share, server->loop, server->limits.stream_parts, SEND_NS);
        uv_timer_start(&server->sweep, http_sweep, period_ms, period_ms);
}

int http_new(struct uv_loop_s *loop, const struct http_setup *setup,
             struct http_server **ret_server, struct err *err)
{
        int rc = check_limits(&setup->limits, err);
        if (rc < 0 || (setup->tls && (rc = http_tls_check(setup->tls, err)) < 0))
                return rc;

        struct http_server *server = mem_new(1, sizeof *server);
        if (!server)
                return err_set(err, ERR_NOMEM, "out of memory");
        server->loop = loop;
        server->limits = setup->limits;
        server->limits.connections_max = connections_possible(setup->limits.connections_max);
        server->handler = setup->handler;
        server->arg = setup->arg;
        server->answered = setup->answered;
        server->answered_arg = setup->answered_arg;
        start_timers(server);

        if (http_peers_init(server) < 0)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = http_daemon_start(server, NULL, &server->plain, err);
        if (rc == 0 && setup->tls)
                rc = http_daemon_start(server, setup->tls, &server->tls, err);
        if (rc < 0) {
                http_free(server);
                return rc;
        }
        *ret_server = server;
        return 0;
}

void http_handle_closed(struct http_server *server)
{
        if (--server->handles > 0)
                return;
        assert(server->is_freed);
        http_peers_done(server);
        mem_free(server->by_fd);
        mem_free(server);
}

static void timer_closed(uv_handle_t *handle)
{
        http_handle_closed(handle->data);
}

static void free_listener(uv_handle_t *handle)
{
        struct http_listener *listener = handle->data;
        struct http_server *server = listener->server;

        mem_free(listener->path);
        mem_free(listener);
        http_handle_closed(server);
}

static void close_listeners(struct http_server *server)
{
        for (struct http_listener *listener; (listener = server->listeners);) {
                server->listeners = listener->next;
                uv_poll_stop(&listener->poll);
                http_listener_unlink(listener);
                close(listener->fd);
                uv_close((uv_handle_t *)&listener->poll, free_listener);
        }
}

void http_drain(struct http_server *server)
{
        server->is_draining = true;
        close_listeners(server);
        cut_idle(server, false);
        for (struct http_connection *at; (at = server->phases[PHASE_FIRST].first);)
                http_shut(at);
        http_run_soon(server);
}

/* MHD stops only when nothing is suspended. */
static void resume_all(struct http_server *server)
{
        for (enum phase phase = 0; phase < PHASES_END; phase++) {
                for (struct http_connection *at = server->phases[phase].first; at; at = at->next) {
                        if (at->is_suspended)
                                http_resume(at);
                }
        }
}

void http_free(struct http_server *server)
{
        if (!server)
                return;
        assert(!server->is_freed);
        assert(!server->is_running);

        server->is_freed = true;
        close_listeners(server);
        resume_all(server);
        if (server->plain)
                stop_daemon(server->plain);
        for (struct http_daemon *daemon; (daemon = server->tls);) {
                server->tls = daemon->next;
                stop_daemon(daemon);
        }
        uv_close((uv_handle_t *)&server->sweep, timer_closed);
        uv_close((uv_handle_t *)&server->again, timer_closed);
        uv_close((uv_handle_t *)&server->send, timer_closed);
}
