/* Terminals beside running work: what their client and their agent ask, and what time does. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "controller/attach.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/view.h"
#include "controller/works.h"
#include "net/problem.h"

#define BYTES_TYPE       "application/octet-stream"
#define WORDS_MAX        256
#define WORDS_BYTES_MAX  32768
#define TERM_MAX         64
#define WINDOW_MAX       4096
#define EXIT_MAX         255
#define STATUS_GONE      410
#define STATUS_TOO_MANY  429
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
        uint64_t offset;
        size_t size;

        if (!exchange)
                return;
        const char *bytes = http_body(exchange, &size);
        bool is_in = attach_put(pipe, pipe->writer.offset, bytes, size, &offset, NULL) < 0 ||
                     offset >= pipe->writer.offset + size;
        if (!is_in && pipe->writer.until_ms > now_ms)
                return;
        pipe->writer.exchange = NULL;
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

/* ---- opening one ---- */

static int check_words(const json_t *list, struct err *err)
{
        size_t i, bytes = 0;
        const json_t *word;

        if (list && !json_is_array(list))
                return err_set(err, ERR_INPUT, "field 'command' is no list of texts");
        json_array_foreach(list, i, word) {
                if (!json_is_string(word) || (i == 0 && json_string_length(word) == 0))
                        return err_set(err, ERR_INPUT, "field 'command[%zu]' is no text", i);
                bytes += json_string_length(word);
        }
        if (json_array_size(list) > WORDS_MAX || bytes > WORDS_BYTES_MAX)
                return err_set(err, ERR_RANGE, "field 'command' has more than %d words or %d bytes",
                               WORDS_MAX, WORDS_BYTES_MAX);
        return 0;
}

struct opening {
        int64_t member;
        struct attach_window window;
        const json_t *command;          /* borrowed; NULL: a shell */
        const char *term;               /* borrowed; NULL: no terminal, plain pipes */
};

static int read_window(const json_t *value, const char *field, uint16_t *ret, struct err *err)
{
        json_int_t number = value ? json_integer_value(value) : 1;

        if ((value && !json_is_integer(value)) || number < 1 || number > WINDOW_MAX)
                return err_set(err, ERR_RANGE, "field '%s' is not between 1 and %d", field,
                               WINDOW_MAX);
        *ret = (uint16_t)number;
        return 0;
}

static int read_opening(const json_t *body, struct opening *opening, struct err *err)
{
        const json_t *member = json_object_get(body, "member"),
                     *term = json_object_get(body, "term");
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)(uintptr_t)body, key, value)
                if (!str_equal(key, "member") && !str_equal(key, "command") &&
                    !str_equal(key, "term") && !str_equal(key, "rows") &&
                    !str_equal(key, "columns"))
                        return err_set(err, ERR_INPUT, "field '%.40s' is not known here", key);
        *opening = (struct opening){.member = json_integer_value(member),
                                    .command = json_object_get(body, "command"),
                                    .term = json_string_value(term)};
        if ((member && !json_is_integer(member)) || opening->member < 0 ||
            opening->member >= MEMBERS_MAX)
                return err_set(err, ERR_RANGE, "field 'member' is not between 0 and %d",
                               MEMBERS_MAX - 1);
        if ((term && !json_is_null(term) && !opening->term) ||
            (opening->term && strlen(opening->term) >= TERM_MAX))
                return err_set(err, ERR_INPUT, "field 'term' is no name of a terminal");
        int rc = read_window(json_object_get(body, "rows"), "rows", &opening->window.rows, err);
        if (rc == 0)
                rc = read_window(json_object_get(body, "columns"), "columns",
                                 &opening->window.columns, err);
        return rc < 0 ? rc : check_words(opening->command, err);
}

/* The node where the member runs. 0 or a negative code. */
static int find_run(struct call *call, const struct work *work, uint32_t member,
                    struct attachment *wanted, struct err *err)
{
        const struct state *state = core_state(call->live->core);
        uint32_t slot = state_workload(state, work->id);

        if (call->live->simulated)
                return err_set(err, ERR_EXISTS,
                               "nodes are simulated here: there are no processes to be beside");
        if (work->epoch && member >= work->members_count)
                return err_set(err, ERR_NOT_FOUND, "workload %" PRIu64 " has no member %" PRIu32,
                               work->id, member);
        if (work->epoch == 0 || slot == NONE ||
            work->members[member].phase != PHASE_RUNNING)
                return err_set(err, ERR_EXISTS,
                               "member %" PRIu32 " of workload %" PRIu64 " does not run now: "
                               "'berth status %" PRIu64 "' says how it is",
                               member, work->id, work->id);
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].number == member)
                        wanted->node = live_node_of(call->live, state->members[at].node);
        if (!wanted->node || !wanted->node->connected)
                return err_set(err, ERR_IO, "node '%s' does not answer",
                               wanted->node ? wanted->node->name : "?");
        wanted->workload = work->id;
        wanted->epoch = work->epoch;
        wanted->member = member;
        (void)str_copy(wanted->owner, sizeof wanted->owner, call->who.name);
        return 0;
}

static json_t *want_of(const struct attachment *session, const struct opening *opening)
{
        json_t *json = json_object();

        view_set(json, "kind", json_string("attach"));
        view_set(json, "session", json_string(session->id));
        view_set(json, "workload", json_integer((json_int_t)session->workload));
        view_set(json, "member", json_integer(session->member));
        view_set(json, "epoch", json_integer((json_int_t)session->epoch));
        view_set(json, "command", opening->command ? json_deep_copy(opening->command)
                                                   : json_array());
        view_set(json, "term", opening->term ? json_string(opening->term) : json_null());
        view_set(json, "rows", json_integer(session->window.rows));
        view_set(json, "columns", json_integer(session->window.columns));
        return json;
}

/* Who was let beside whose work stands in the log, with the reason they gave. */
static int note_opened(struct act *act, const struct attachment *session, struct err *err)
{
        char text[160];

        (void)snprintf(text, sizeof text,
                       "{\"attached\":%" PRIu64 ",\"member\":%" PRIu32 ",\"epoch\":%" PRIu64 "}",
                       session->workload, session->member, session->epoch);
        return core_note(act, text, err);
}

static json_t *view_session(const struct attachment *session)
{
        json_t *json = json_object();

        view_set(json, "session", json_string(session->id));
        view_set(json, "workload", json_integer((json_int_t)session->workload));
        view_set(json, "member", json_integer(session->member));
        view_set(json, "node", json_string(session->node->name));
        return json;
}

static void open_session(struct call *call, const struct opening *opening,
                         const struct attachment *wanted)
{
        struct attachments *attachments = call->live->attachments;
        struct attachment *session;
        struct err err = {0};

        if (attachments_open(attachments, wanted, now_of(call->api), &session, &err) < 0) {
                problem_answer(call->exchange, err.code == ERR_FULL ? STATUS_TOO_MANY : 0, &err,
                               NULL);
                return;
        }
        session->want = want_of(session, opening);
        struct act *act = api_act(call);
        if (!act || note_opened(act, session, &err) < 0) {
                if (act) {
                        core_abandon(act);
                        api_fail(call, &err);
                }
                attachments_drop(attachments, session);
                return;
        }
        /* Its agent hears of it when the note is durable. */
        live_touch(call->live, session->node, core_next_seq(call->live->core) - 1);
        api_commit(call, act, 201, view_session(session));
}

void post_attach(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct attachment wanted = {0};
        struct opening opening = {0};
        struct call call;
        struct err err = {0};
        json_t *body;

        if (!api_begin(arg, exchange, match, &call))
                return;
        const struct work *work = api_live_work(&call, ACTION_MANAGE);
        if (!work || !(body = api_body(&call)))
                return;
        if (read_opening(body, &opening, &err) < 0 ||
            find_run(&call, work, (uint32_t)opening.member, &wanted, &err) < 0) {
                api_fail(&call, &err);
        } else {
                wanted.window = opening.window;
                open_session(&call, &opening, &wanted);
        }
        json_decref(body);
}

/* ---- its client ---- */

/* NULL: answered. One that is another's reads like one that is not there. */
static struct attachment *own_session(struct call *call)
{
        struct attachment *session = attachments_find(call->live->attachments,
                                                      route_param(call->match, "session"));
        struct err err;

        if (session && str_equal(session->owner, call->who.name)) {
                session->client_ms = now_of(call->api);
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

        if (!api_query_number(call, "rows", 1, WINDOW_MAX, &rows) ||
            !api_query_number(call, "columns", 1, WINDOW_MAX, &columns))
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
        bool waits = session->in.reader.exchange || session->in.writer.exchange ||
                     session->out.reader.exchange || session->out.writer.exchange;

        return session->ended_ms && !waits && now_ms - session->ended_ms > ATTACH_ENDED_MS;
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
                if (is_done(session, now_ms))
                        attachments_drop(attachments, session);
        }
}
