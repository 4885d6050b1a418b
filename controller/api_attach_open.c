/* Terminals beside running work: how one is opened, and what the log says of it. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/attach.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/view.h"
#include "controller/works.h"
#include "net/problem.h"

#define WORDS_MAX       256
#define WORDS_BYTES_MAX 32768
#define TERM_MAX        64
#define STATUS_TOO_MANY 429

/* ---- the log ---- */

/* {"attached":{...}}: events are made of it (events_log.c), so it says whose work that is. */
static int note(struct act *act, const char *what, json_t *data, struct err *err)
{
        json_t *json = json_object();

        view_set(json, what, data);
        char *text = json_object_size(json) == 1 ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        int rc = text ? core_note(act, text, err) : err_set(err, ERR_NOMEM, "out of memory");
        free(text);
        return rc;
}

static json_t *about_of(const struct attachment *session, const struct work *work,
                        const json_t *command)
{
        json_t *json = json_object();

        view_set(json, "workload", json_integer((json_int_t)work->id));
        view_set(json, "name", json_string(work->name));
        view_set(json, "tenant", json_string(work->tenant));
        view_set(json, "user", json_string(work->user));
        view_set(json, "node", json_string(session->node->name));
        view_set(json, "member", json_integer(session->member));
        view_set(json, "actor", json_string(session->owner));
        view_set(json, "command", command ? json_deep_copy(command) : json_array());
        return json;
}

/* What both notes have. NULL: out of memory. */
static json_t *told_of(const struct attachment *session, int64_t now_ms)
{
        json_t *json = json_object();

        view_set(json, "at", view_time(now_ms));
        if (json_object_update(json, session->about) == 0)
                return json;
        json_decref(json);
        return NULL;
}

/* Who was let beside whose work, to do what, with the reason they gave. */
static int note_opened(struct call *call, struct act *act, const struct attachment *session,
                       struct err *err)
{
        const char *reason = http_header(call->exchange, "Berth-Reason");
        json_t *json = told_of(session, core_now_ms(call->live->core));

        view_set(json, "reason", json_string(reason ? reason : ""));
        return note(act, "attached", json, err);
}

static int note_ended(struct act *act, const struct attachment *session, int64_t now_ms,
                      struct err *err)
{
        json_t *json = told_of(session, now_ms);

        view_set(json, "lasted_ms", json_integer(session->ended_ms - session->opened_ms));
        view_set(json, "exit_code",
                 session->broken ? json_null() : json_integer(session->exit_code));
        view_set(json, "why", session->broken ? json_string(session->broken) : json_null());
        return note(act, "detached", json, err);
}

void api_log_detached(struct api *api, struct attachment *session)
{
        struct core *core = api->live->core;

        if (!session->ended_ms || session->end_is_logged)
                return;
        struct act *act = core_begin(core, session->owner, "", api_now_ms(), NULL);
        if (!act)                       /* the store has failed: when it is back */
                return;
        if (note_ended(act, session, core_now_ms(core), NULL) < 0) {
                core_abandon(act);
                return;
        }
        core_commit(act, api_ignore, NULL);
        session->end_is_logged = true;
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

        if ((value && !json_is_integer(value)) || number < 1 || number > ATTACH_WINDOW_MAX)
                return err_set(err, ERR_RANGE, "field '%s' is not between 1 and %d", field,
                               ATTACH_WINDOW_MAX);
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

static json_t *view_session(const struct attachment *session)
{
        json_t *json = json_object();

        view_set(json, "session", json_string(session->id));
        view_set(json, "workload", json_integer((json_int_t)session->workload));
        view_set(json, "member", json_integer(session->member));
        view_set(json, "node", json_string(session->node->name));
        return json;
}

/* One whose note is on its way to the disk. */
struct opened {
        struct attachments *attachments;
        char session[ATTACH_ID_MAX];
};

/* What is not in the log was never opened: neither its client nor its agent has heard of it. */
static void opened_done(void *arg, int rc, const struct err *err)
{
        struct opened *opened = arg;
        struct attachment *session = attachments_find(opened->attachments, opened->session);

        (void)err;
        if (rc < 0 && session)
                attachments_drop(opened->attachments, session);
        mem_free(opened);
}

/* False: answered, and nothing is left of the session. */
static bool commit_opened(struct call *call, struct attachment *session, struct opened *opened)
{
        struct act *act = api_act(call);
        struct err err;

        if (!act)
                return false;
        if (note_opened(call, act, session, &err) < 0) {
                core_abandon(act);
                api_fail(call, &err);
                return false;
        }
        *opened = (struct opened){.attachments = call->live->attachments};
        (void)str_copy(opened->session, sizeof opened->session, session->id);
        /* Its agent hears of it when the note is durable. */
        live_touch(call->live, session->node, core_next_seq(call->live->core) - 1);
        api_commit(call, act, 201, view_session(session));
        core_when_durable(call->live->core, opened_done, opened);
        return true;
}

static void open_session(struct call *call, const struct opening *opening,
                         const struct work *work, const struct attachment *wanted)
{
        struct attachments *attachments = call->live->attachments;
        struct opened *opened = mem_new(1, sizeof *opened);
        struct attachment *session;
        struct err err = {0};
        int rc = opened ? attachments_open(attachments, wanted, live_steady_ms(call->live),
                                           &session, &err)
                        : err_set(&err, ERR_NOMEM, "out of memory");

        if (rc < 0) {
                problem_answer(call->exchange, err.code == ERR_FULL ? STATUS_TOO_MANY : 0, &err,
                               NULL);
                mem_free(opened);
                return;
        }
        session->want = want_of(session, opening);
        session->about = about_of(session, work, opening->command);
        if (!commit_opened(call, session, opened)) {
                attachments_drop(attachments, session);
                mem_free(opened);
        }
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
        if (read_opening(body, &opening, &err) < 0) {
                api_fail(&call, &err);
        } else if (core_may_act(call.live->core, &err) < 0) {
                /* First: what runs is known only when its node has been heard again. */
                problem_answer(exchange, 503, &err, NULL);
        } else if (find_run(&call, work, (uint32_t)opening.member, &wanted, &err) < 0) {
                api_fail(&call, &err);
        } else {
                wanted.window = opening.window;
                open_session(&call, &opening, work, &wanted);
        }
        json_decref(body);
}
