/* Terminals beside running work: what their client and their agent ask, and what time does. How one
 * is opened: api_attach_open.c. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "controller/attach.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/works.h"
#include "net/problem.h"

#define BYTES_TYPE       "application/octet-stream"
#define EXIT_MAX         255
#define STATUS_GONE      410
#define STATUS_GIVEN_UP  503

/* Leases of sessions are counted as those of nodes: no clock that is set ends one. */
static int64_t now_of(const struct api *api)
{
        return live_steady_ms(api->live);
}

static void answer_number(struct http_exchange *exchange, const char *name, int64_t value)
{
        char text[24];

        (void)snprintf(text, sizeof text, "%" PRId64, value);
        (void)http_answer_header(exchange, name, text);
}

/* ---- the end of a session ---- */

static void answer_gone(struct http_exchange *exchange, const char *why)
{
        struct err err;

        (void)err_set(&err, ERR_NOT_FOUND, "this terminal is closed: %s", why);
        problem_answer(exchange, STATUS_GONE, &err, NULL);
}

static void gone_to(struct attach_wait *wait, const char *why)
{
        struct http_exchange *exchange = wait->exchange;

        wait->exchange = NULL;
        if (exchange)
                answer_gone(exchange, why);
}

/* Who waits hears of it; whoever comes later too, for a while. */
static void break_off(struct attachment *session, const char *why, int64_t now_ms)
{
        if (session->broken || session->ended_ms)
                return;
        session->broken = why;
        session->ended_ms = now_ms;
        gone_to(&session->in.reader, why);
        gone_to(&session->in.writer, why);
        gone_to(&session->out.reader, why);
        gone_to(&session->out.writer, why);
}

/* ---- who waits at a pipe ---- */

/* Only the newest call of a kind waits: the one before was given up. */
static void wait_at(struct attach_wait *wait, struct http_exchange *exchange, uint64_t offset,
                    int64_t until_ms)
{
        if (wait->exchange)
                http_answer(wait->exchange, STATUS_GIVEN_UP, NULL, NULL, 0);
        *wait = (struct attach_wait){exchange, offset, until_ms};
}

static void answer_taken(struct http_exchange *exchange, uint64_t offset)
{
        char text[48];
        int size = snprintf(text, sizeof text, "{\"offset\":%" PRIu64 "}", offset);

        http_answer(exchange, 200, "application/json", text, (size_t)size);
}

/* The bytes there are, to who waits for them. */
static void answer_bytes(struct attach_pipe *pipe, struct http_exchange *exchange)
{
        answer_number(exchange, "Berth-Offset", (int64_t)pipe->from);
        http_answer(exchange, 200, BYTES_TYPE, pipe->bytes, pipe->size);
}

static void serve_client(struct attachment *session, int64_t now_ms)
{
        struct attach_pipe *pipe = &session->out;
        struct http_exchange *exchange = pipe->reader.exchange;

        if (!exchange || (pipe->size == 0 && !pipe->has_ended && pipe->reader.until_ms > now_ms))
                return;
        pipe->reader.exchange = NULL;
        session->client_ms = now_ms;
        if (pipe->has_ended)
                answer_number(exchange, "Berth-Exit", session->exit_code);
        answer_bytes(pipe, exchange);
}

static void serve_agent(struct attachment *session, int64_t now_ms)
{
        struct attach_pipe *pipe = &session->in;
        struct http_exchange *exchange = pipe->reader.exchange;

        bool has_news = pipe->size > 0 || session->reader_window != session->window_count ||
                        (pipe->has_ended && !session->reader_ended);
        if (!exchange || (!has_news && pipe->reader.until_ms > now_ms))
                return;
        pipe->reader.exchange = NULL;
        session->agent_ms = now_ms;
        answer_number(exchange, "Berth-Window", session->window_count);
        answer_number(exchange, "Berth-Rows", session->window.rows);
        answer_number(exchange, "Berth-Columns", session->window.columns);
        if (pipe->has_ended)
                (void)http_answer_header(exchange, "Berth-End", "true");
        answer_bytes(pipe, exchange);
}

/* A writer that waits for room puts in more; it is answered when all is in, or it is time. */
static void serve_writer(struct attachment *session, struct attach_pipe *pipe, int64_t now_ms)
{
        struct http_exchange *exchange = pipe->writer.exchange;
        uint64_t offset = 0;
        struct err err;
        size_t size;

        if (!exchange)
                return;
        const char *bytes = http_body(exchange, &size);
        int rc = attach_put(pipe, pipe->writer.offset, bytes, size, &offset, &err);
        if (rc == 0 && offset < pipe->writer.offset + size && pipe->writer.until_ms > now_ms)
                return;
        pipe->writer.exchange = NULL;
        if (rc < 0) {                   /* it ended by another call meanwhile */
                problem_answer(exchange, 0, &err, NULL);
                return;
        }
        session->used_ms = now_ms;
        answer_taken(exchange, offset);
}

static void serve(struct attachment *session, int64_t now_ms)
{
        serve_writer(session, &session->in, now_ms);
        serve_writer(session, &session->out, now_ms);
        serve_client(session, now_ms);
        serve_agent(session, now_ms);
}

static void read_from(struct call *call, struct attachment *session, struct attach_pipe *pipe)
{
        int64_t offset = 0, wait_ms = 0, now_ms = now_of(call->api);
        struct err err;

        if (!api_query_number(call, "offset", 0, INT64_MAX, &offset) ||
            !api_query_number(call, "wait_ms", 0, ATTACH_WAIT_MS_MAX, &wait_ms))
                return;
        if (attach_have(pipe, (uint64_t)offset, &err) < 0) {
                api_fail(call, &err);
                return;
        }
        wait_at(&pipe->reader, call->exchange, (uint64_t)offset, now_ms + wait_ms);
        serve(session, now_ms);
}

/* True: all of it is in, and the call is to be answered. Else it is answered, or waits for room. */
static bool write_to(struct call *call, struct attachment *session, struct attach_pipe *pipe,
                     uint64_t *ret_offset)
{
        int64_t offset = 0, now_ms = now_of(call->api);
        struct err err;
        size_t size;
        const char *bytes = http_body(call->exchange, &size);

        if (!api_query_number(call, "offset", 0, INT64_MAX / 2, &offset))
                return false;
        if (attach_put(pipe, (uint64_t)offset, bytes, size, ret_offset, &err) < 0) {
                api_fail(call, &err);
                return false;
        }
        session->used_ms = size > 0 ? now_ms : session->used_ms;
        if (*ret_offset >= (uint64_t)offset + size)
                return true;
        wait_at(&pipe->writer, call->exchange, (uint64_t)offset, now_ms + ATTACH_WAIT_MS_MAX / 2);
        serve(session, now_ms);
        return false;
}

/* ---- its client ---- */

/* Who was let at the work may have lost that since. What has ended is nobody's any more: its last
 * words are still its owner's. */
static bool may_still(struct call *call, const struct attachment *session)
{
        const struct work *work = works_find(core_works(call->live->core), session->workload);

        return !work || api_need_work(call, work, ACTION_MANAGE, NULL) == 0;
}

/* NULL: answered. One that is another's reads like one that is not there. */
static struct attachment *own_session(struct call *call)
{
        struct attachment *session = attachments_find(call->live->attachments,
                                                      route_param(call->match, "session"));
        struct err err;

        if (session && str_equal(session->owner, call->who.name)) {
                session->client_ms = now_of(call->api);
                if (!may_still(call, session))
                        break_off(session, "who opened it may not manage the work any more",
                                  session->client_ms);
                if (!session->broken)
                        return session;
                answer_gone(call->exchange, session->broken);
                return NULL;
        }
        (void)err_set(&err, ERR_NOT_FOUND, "there is no such terminal, or it is not for %s",
                      call->who.name);
        api_fail(call, &err);
        return NULL;
}

void get_attach_output(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment *session;
        struct call call;

        if (api_begin(arg, exchange, match, &call) && (session = own_session(&call)))
                read_from(&call, session, &session->out);
}

static bool set_window(struct call *call, struct attachment *session)
{
        int64_t rows = session->window.rows, columns = session->window.columns;

        if (!api_query_number(call, "rows", 1, ATTACH_WINDOW_MAX, &rows) ||
            !api_query_number(call, "columns", 1, ATTACH_WINDOW_MAX, &columns))
                return false;
        if (rows == session->window.rows && columns == session->window.columns)
                return true;
        session->window = (struct attach_window){(uint16_t)rows, (uint16_t)columns};
        session->window_count++;
        return true;
}

void post_attach_input(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment *session;
        struct call call;
        bool ends = false;
        uint64_t offset;

        if (!api_begin(arg, exchange, match, &call) || !(session = own_session(&call)) ||
            !api_query_flag(&call, "end", &ends) || !set_window(&call, session) ||
            !write_to(&call, session, &session->in, &offset))
                return;
        session->in.has_ended |= ends;
        serve(session, now_of(call.api));
        answer_taken(exchange, offset);
}

void delete_attach(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment *session;
        struct call call;

        if (!api_begin(arg, exchange, match, &call) || !(session = own_session(&call)))
                return;
        break_off(session, "its owner closed it", now_of(call.api));
        http_answer(exchange, 204, NULL, NULL, 0);
}

/* ---- its agent ---- */

/* NULL: answered. */
static struct attachment *node_session(struct call *call)
{
        struct attachment *session = attachments_find(call->live->attachments,
                                                      route_param(call->match, "session"));
        struct err err;

        if (api_need_node(call, &err) < 0) {
                api_fail(call, &err);
                return NULL;
        }
        if (!session || !str_equal(session->node->name, route_param(call->match, "node"))) {
                answer_gone(call->exchange, "there is none of that name");
                return NULL;
        }
        if (session->broken) {
                answer_gone(call->exchange, session->broken);
                return NULL;
        }
        session->is_taken = true;
        session->agent_ms = now_of(call->api);
        return session;
}

void get_attach_input(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment *session;
        int64_t window = 0;
        bool ended = false;
        struct call call;

        if (!api_begin(arg, exchange, match, &call) || !(session = node_session(&call)) ||
            !api_query_number(&call, "window", 0, UINT32_MAX, &window) ||
            !api_query_flag(&call, "ended", &ended))
                return;
        session->reader_ended = ended;
        session->reader_window = (uint32_t)window;
        read_from(&call, session, &session->in);
}

void post_attach_output(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment *session;
        int64_t exit_code = -1;
        struct call call;
        uint64_t offset;

        if (!api_begin(arg, exchange, match, &call) || !(session = node_session(&call)) ||
            !api_query_number(&call, "exit", 0, EXIT_MAX, &exit_code) ||
            !write_to(&call, session, &session->out, &offset))
                return;
        if (exit_code >= 0 && !session->out.has_ended) {
                session->exit_code = (int)exit_code;
                session->out.has_ended = true;
                session->ended_ms = now_of(call.api);
                gone_to(&session->in.reader, "its program has ended");
                gone_to(&session->in.writer, "its program has ended");
        }
        serve(session, now_of(call.api));
        answer_taken(exchange, offset);
}

/* ---- time ---- */

static bool is_done(const struct attachment *session, int64_t now_ms)
{
        return session->end_is_logged && !attachment_is_waited_at(session) &&
               now_ms - session->ended_ms > ATTACH_ENDED_MS;
}

void api_end_attachments(struct api *api, bool all)
{
        struct attachments *attachments = api->live->attachments;
        int64_t now_ms = now_of(api);
        struct attachment *session;
        uint32_t cursor = 0;

        while ((session = attachments_next(attachments, &cursor))) {
                const char *over = all ? "the controller ends" : attachment_over(session, now_ms);
                serve(session, now_ms);
                if (over && !session->ended_ms)
                        break_off(session, over, now_ms);
                else if (all)
                        gone_to(&session->out.reader, over);
                api_log_detached(api, session);
                if (is_done(session, now_ms))
                        attachments_drop(attachments, session);
        }
}
