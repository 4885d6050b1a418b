#include "cli/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/escape.h"
#include "cli/json_in.h"
#include "cli/raw.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "net/client.h"

#define PIECE_BYTES   16384
#define WAIT_MS       10000
#define SLACK_MS      10000
#define RETRY_MS      12000 /* the pool keeps a terminal for 15 s without us */
#define AGAIN_MS      100
#define HERE_MS       5000 /* so often it is said that we are here, while our output waits */
#define SESSION_BYTES 65

static const struct command_option options[] = {
        {"member", 0, "N", "beside this member (0)"},
        {"no-terminal", 'T', NULL, "plain pipes, also where standard input is a terminal"},
        {"reason", 0, "TEXT", "why; it is logged"},
        {"tenant", 't', "PATH", "whose work the name means"},
        {"context", 0, "NAME", "which pool, of those that `berth context list` shows"},
        {0},
};

static const char details[] =
        "Starts a shell, or COMMAND, beside the processes of running work: on its node, as its\n"
        "account, with its environment, working directory, devices and limits. It ends with the\n"
        "work. The exit code is the command's, or 128 and the signal that ended it.\n"
        "\n"
        "~. at the beginning of a line closes the terminal, ~? says what else there is. Without a\n"
        "terminal (or with -T) input and output are plain pipes, and errors go to the output.\n"
        "\n"
        "Whoever may cancel the work may do this; who did, COMMAND and the reason stand in the\n"
        "log, and in the events of the work: no place for secrets.\n"
        "\n"
        "examples:\n"
        "  berth attach 17\n"
        "  berth attach 17 --member 1 -- nvidia-smi\n"
        "  tar c src | berth attach 17 -- tar x -C /tmp\n";

static const char help_text[] = "\r\n~.  close the terminal\r\n~~  one tilde\r\n~?  this\r\n";

/* A session as both threads see it. */
struct view {
        struct talk *talk;
        char session[SESSION_BYTES];
        struct client *typing;          /* of the thread that reads what is typed */
        bool has_terminal;
        atomic_bool is_over, was_closed;        /* closed: by who typed ~. */
        atomic_bool is_held_up;         /* by who reads our output */
        uint64_t typed;                 /* bytes that the pool has */
        int64_t exit_code;              /* -1: not known */
};

/* ---- calls ---- */

/* Over and over until it is answered, for as long as the pool keeps the terminal. Answers that are
 * no success fail. */
static int insist(struct view *view, struct client *client, const struct client_request *request,
                  struct client_answer *ret_answer, struct err *err)
{
        int64_t until_ms = time_monotonic_ms() + request->timeout_ms + RETRY_MS;
        int rc;

        for (;;) {
                *ret_answer = (struct client_answer){0};
                rc = client_call(client, request, ret_answer, err);
                if (rc == 0 && ret_answer->status != 503 && ret_answer->status != 429)
                        break;
                if (rc == 0)
                        rc = client_check(ret_answer, err);
                client_answer_done(ret_answer);
                if (view->is_over || stop_asked() || time_monotonic_ms() >= until_ms)
                        return rc;
                usleep(AGAIN_MS * 1000);
        }
        rc = client_check(ret_answer, err);
        if (rc < 0)
                client_answer_done(ret_answer);
        return rc;
}

static int open_session(struct view *view, const struct raw_size *size, struct err *err)
{
        const struct command_call *call = view->talk->call;
        const char *term = getenv("TERM");
        struct text path = {0}, body = {0};
        struct client_answer answer = {0};
        json_t *session = NULL;
        const char *member = command_value(call, "member");

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, call->arguments[0]);
        text_add(&path, "/attach");
        talk_path_option(&path, call, "tenant");
        text_add(&body, "{\"member\": %s, \"rows\": %u, \"columns\": %u, \"term\": ",
                 member ? member : "0", size->rows, size->columns);
        if (view->has_terminal)
                text_add_json(&body, term && term[0] ? term : "xterm");
        else
                text_add(&body, "null");
        text_add(&body, ", \"command\": [");
        for (size_t i = 0; i < call->tail_count; i++) {
                text_add(&body, i ? ", " : "");
                text_add_json(&body, call->tail[i]);
        }
        text_add(&body, "]}");
        const struct talk_change change = {.method = "POST",
                                           .path = path.bytes,
                                           .body = body.bytes,
                                           .body_size = body.size,
                                           .reason = command_value(call, "reason")};
        int rc = path.failed || body.failed ? err_set(err, ERR_RANGE, "the command is too long")
                                            : talk_send(view->talk, &change, &answer, err);
        if (rc == 0)
                rc = talk_parse(view->talk, &answer, &session, err);
        if (rc == 0)
                snprintf(view->session, sizeof view->session, "%s",
                         json_in_text(session, "session"));
        json_decref(session);
        client_answer_done(&answer);
        text_done(&path);
        text_done(&body);
        return rc;
}

static void close_session(struct view *view)
{
        char path[128];
        struct client_answer answer = {0};
        struct client *client;

        /* A new connection: the others may have been stopped. */
        if (view->exit_code >= 0 || !view->session[0] ||
            talk_second(view->talk, &client, NULL) < 0)
                return;
        snprintf(path, sizeof path, "/v1/attachments/%s", view->session);
        const struct client_request request = {.method = "DELETE", .path = path,
                                               .timeout_ms = 3000};
        (void)client_call(client, &request, &answer, NULL);
        client_answer_done(&answer);
        client_free(client);
}

/* ---- what is typed ---- */

/* `more`: "&end=true", or a window; "". */
static int send_typed(struct view *view, const char *bytes, size_t size, const char *more)
{
        char path[192];
        uint64_t begin = view->typed, taken = begin;

        do {
                struct client_answer answer;
                size_t done = (size_t)(view->typed - begin);
                snprintf(path, sizeof path, "/v1/attachments/%s/input?offset=%" PRIu64 "%s",
                         view->session, view->typed, more);
                const struct client_request request = {
                        .method = "POST",
                        .path = path,
                        .type = "application/octet-stream",
                        .body = bytes + done,
                        .body_size = size - done,
                        .timeout_ms = WAIT_MS + SLACK_MS,
                };
                int rc = insist(view, view->typing, &request, &answer, NULL);
                if (rc < 0)
                        return rc;
                if (sscanf(answer.body, "{\"offset\":%" SCNu64, &taken) != 1 ||
                    taken < view->typed || taken > begin + size)
                        taken = view->typed;
                client_answer_done(&answer);
                view->typed = taken;
        } while (view->typed < begin + size);
        return 0;
}

static int send_window(struct view *view)
{
        struct raw_size size = raw_window();
        char more[64];

        snprintf(more, sizeof more, "&rows=%u&columns=%u", size.rows, size.columns);
        return send_typed(view, "", 0, more);
}

static void close_view(struct view *view)
{
        view->was_closed = true;
        view->is_over = true;
        client_stop(view->talk->client);
}

static int take_typed(struct view *view, struct escape *escape, const char *typed, size_t size)
{
        char bytes[PIECE_BYTES + 1];
        int rc = 0;

        if (!view->has_terminal)
                return send_typed(view, typed, size, "");
        while (rc == 0 && size > 0) {
                size_t taken, count;
                enum escape_action action = escape_take(escape, typed, size, &taken, bytes, &count);
                typed += taken;
                size -= taken;
                if (count > 0)
                        rc = send_typed(view, bytes, count, "");
                if (action == ESCAPE_CLOSE) {
                        close_view(view);
                        return -ERR_CANCELLED;
                }
                if (action == ESCAPE_HELP && write(STDOUT_FILENO, help_text,
                                                   sizeof help_text - 1) < 0)
                        return -ERR_IO;
        }
        return rc;
}

static void *read_typed(void *arg)
{
        struct view *view = arg;
        struct escape escape = {0};
        bool has_input = true;
        int rc = 0;

        while (rc == 0 && !view->is_over) {
                char bytes[PIECE_BYTES];
                struct pollfd polls[] = {
                        {.fd = raw_fd(), .events = POLLIN},
                        {.fd = has_input ? STDIN_FILENO : -1, .events = POLLIN},
                };
                int ready = poll(polls, 2, HERE_MS);
                if (ready == 0 && view->is_held_up)
                        rc = send_typed(view, "", 0, "");
                if (ready <= 0)
                        continue;
                if (polls[0].revents && raw_take() && view->has_terminal)
                        rc = send_window(view);
                if (rc < 0 || !polls[1].revents)
                        continue;
                ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
                if (got < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                has_input = got > 0;
                rc = has_input ? take_typed(view, &escape, bytes, (size_t)got)
                               : send_typed(view, "", 0, "&end=true");
        }
        return NULL;
}

/* ---- what is shown ---- */

/* Whoever reads our output may not read on: a signal, or ~., ends the wait for it. A signal may come
 * just before the wait, or to the other thread, so it looks every so often; and of what is written
 * at once, a pipe that has any room takes all. */
static int put(const struct view *view, const char *bytes, size_t size, struct err *err)
{
        while (size > 0) {
                struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
                int ready = poll(&room, 1, AGAIN_MS);
                if (stop_asked() || view->is_over)
                        return err_set(err, ERR_CANCELLED, "stopped");
                if (ready <= 0)
                        continue;
                ssize_t put = write(STDOUT_FILENO, bytes, size < PIPE_BUF ? size : PIPE_BUF);
                if (put < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (put < 0)
                        return err_set(err, ERR_IO, "standard output is closed");
                bytes += put;
                size -= (size_t)put;
        }
        return 0;
}

static int show(struct view *view, struct err *err)
{
        uint64_t offset = 0, code;
        int rc = 0;

        while (rc == 0 && !view->is_over && !stop_asked()) {
                char path[160];
                struct client_answer answer = {0};
                snprintf(path, sizeof path,
                         "/v1/attachments/%s/output?offset=%" PRIu64 "&wait_ms=%d", view->session,
                         offset, WAIT_MS);
                const struct client_request request = {.path = path,
                                                       .timeout_ms = WAIT_MS + SLACK_MS};
                rc = insist(view, view->talk->client, &request, &answer, err);
                if (rc < 0)
                        break;
                offset += answer.size;
                view->is_held_up = true;
                rc = put(view, answer.body, answer.size, err);
                view->is_held_up = false;
                client_answer_done(&answer);
                if (rc == 0 && client_header_u64(view->talk->client, "Berth-Exit", &code)) {
                        view->exit_code = (int64_t)(code & 255);
                        view->is_over = true;
                }
        }
        if (view->was_closed || view->exit_code >= 0)
                return 0;
        return rc < 0 ? rc : err_set(err, ERR_CANCELLED, "stopped");
}

static int look(struct view *view, struct err *err)
{
        pthread_t typing;
        int rc = talk_second(view->talk, &view->typing, err);

        if (rc == 0 && view->has_terminal)
                rc = raw_enter(err);
        if (rc == 0 && pthread_create(&typing, NULL, read_typed, view) != 0)
                rc = err_set(err, ERR_IO, "no thread can be started");
        if (rc == 0) {
                rc = show(view, err);
                view->is_over = true;
                client_stop(view->typing);
                raw_wake();
                pthread_join(typing, NULL);
        }
        raw_leave();
        return rc;
}

/* ---- the command ---- */

static int attach(struct talk *talk, struct err *err)
{
        struct view view = {.talk = talk, .exit_code = -1};
        int rc;

        view.has_terminal = !command_value(talk->call, "no-terminal") && isatty(STDIN_FILENO) &&
                            isatty(STDOUT_FILENO);
        struct raw_size size = raw_window();
        if ((rc = raw_open(err)) == 0 && (rc = open_session(&view, &size, err)) == 0)
                rc = look(&view, err);
        close_session(&view);
        client_free(view.typing);
        raw_close();
        if (view.was_closed)
                fprintf(stderr, "the terminal is closed\n");
        if (view.exit_code >= 0)
                talk->code = (enum exit_code)view.exit_code;
        return rc;
}

static int run(const struct command_call *call)
{
        return talk_with_member(call, attach);
}

const struct command attach_command = {
        .name = "attach",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "ID|NAME",
        .arguments_min = 1,
        .arguments_max = 1,
        .tail = "COMMAND",
        .summary = "a terminal beside running work",
        .details = details,
        .options = options,
        .run = run,
};
