#include "controller/forecaster.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/time.h"
#include "controller/room.h"

#define LOOK_MS 20                      /* whether it is still wanted, and within its bounds */
#define PROCESS "the process that makes it"

struct child {
        const struct forecaster *forecaster;
        store_stops *stops;
        void *stops_arg;
        int64_t until_ms;               /* monotonic */
        pid_t pid;
        int to, from;                   /* pipes; -1: closed */
        size_t sent, got;
        char answer[FORECAST_LINE_MAX + 2];
};

const char *forecast_outcome_name(enum forecast_outcome outcome)
{
        static const char *const names[] = {
#define X(name, word) [FORECAST_##name] = word,
                FORECAST_OUTCOMES(X)
#undef X
        };
        _Static_assert(ARRAY_LEN(names) == FORECAST_OUTCOMES_END, "a word of each");

        return names[outcome];
}

/* ---- starting ---- */

static void close_end(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

static int spawn(struct child *child, int in, int out, struct err *err)
{
        const struct forecaster *forecaster = child->forecaster;
        char parent[24];
        const char *const argv[] = {"berthd", "forecast", "--store", forecaster->store,
                                    "--parent", parent, NULL};
        const struct spawn spawn = {
                /* By default this file, replaced or not. */
                .program = forecaster->program ? forecaster->program : "/proc/self/exe",
                .argv = argv,
                .envp = environ,
                .fds = {in, out, STDERR_FILENO},
                .fds_count = 3};

        (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
        return spawn_program(&spawn, &child->pid, err);
}

/* No other child gets an end of these, which would keep them open: they close where another program
 * begins. */
static int start(struct child *child, struct err *err)
{
        int to[2] = {-1, -1}, from[2] = {-1, -1};
        int rc = pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0 ||
                                 fcntl(to[1], F_SETFL, O_NONBLOCK) < 0 ||
                                 fcntl(from[0], F_SETFL, O_NONBLOCK) < 0
                         ? err_set(err, ERR_IO, "no pipe: %s", strerror(errno))
                         : spawn(child, to[0], from[1], err);

        close_end(&to[0]);
        close_end(&from[1]);
        child->to = to[1];
        child->from = from[0];
        return rc < 0 ? err_prefix(err, PROCESS " was not started") : 0;
}

/* ---- speaking ---- */

static int may_go_on(const struct child *child, struct err *err)
{
        const struct forecaster *forecaster = child->forecaster;

        if (child->stops(child->stops_arg))
                return err_set(err, ERR_CANCELLED, "the answer was given up");
        if (time_monotonic_ms() >= child->until_ms)
                return err_set(err, ERR_IO, PROCESS " did not come to an end within %" PRId64 " s",
                               (forecaster->ms_max + 999) / 1000);
        if (room_resident_bytes(child->pid) >> 20 > forecaster->memory_mib)
                return err_set(err, ERR_IO,
                               PROCESS " held more than the %" PRIu64 " MiB that it may",
                               forecaster->memory_mib);
        return 0;
}

/* What is not read is no trouble: how the child ends tells why. */
static void send_part(struct child *child, const struct text *question)
{
        ssize_t n = write(child->to, question->bytes + child->sent, question->size - child->sent);

        if (n > 0)
                child->sent += (size_t)n;
        if (child->sent == question->size || (n < 0 && errno != EAGAIN && errno != EINTR))
                close_end(&child->to);
}

static void receive_part(struct child *child)
{
        size_t room = sizeof child->answer - 1 - child->got;    /* full: too long for an answer */
        ssize_t n = read(child->from, child->answer + child->got, room);

        if (n > 0)
                child->got += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                close_end(&child->from);
}

/* Until it says no more. */
static int converse(struct child *child, const struct text *question, struct err *err)
{
        int rc = 0;

        while (rc == 0 && child->from >= 0) {
                struct pollfd fds[] = {{.fd = child->from, .events = POLLIN},
                                       {.fd = child->to, .events = POLLOUT}};
                (void)poll(fds, ARRAY_LEN(fds), LOOK_MS);
                if (fds[1].revents)
                        send_part(child, question);
                if (fds[0].revents)
                        receive_part(child);
                rc = may_go_on(child, err);
        }
        return rc;
}

/* ---- its end ---- */

/* Who says no more ends: killed, where it does not. Afterwards there is no such child. */
static int wait_end(struct child *child, int rc, int *ret_status, struct err *err)
{
        pid_t gone = 0;

        for (int ms = 0; rc == 0 && (gone = waitpid(child->pid, ret_status, WNOHANG)) == 0;
             ms = LOOK_MS) {
                (void)poll(NULL, 0, ms ? ms : 1);
                rc = may_go_on(child, err);
        }
        if (gone > 0)
                return 0;
        if (rc == 0)
                return err_set(err, ERR_IO, PROCESS " ended, and nobody knows how");
        (void)kill(child->pid, SIGKILL);
        while (waitpid(child->pid, ret_status, 0) < 0 && errno == EINTR)
                ;
        return rc;
}

static int read_answer(const struct child *child, int status, struct forecast *ret_forecast,
                       struct err *err)
{
        const char *name = WIFSIGNALED(status) ? sigdescr_np(WTERMSIG(status)) : NULL;
        int rc;

        if (WIFSIGNALED(status))
                return err_set(err, ERR_IO, PROCESS " ended by signal %d (%s)", WTERMSIG(status),
                               name ? name : "of no name");
        if (WEXITSTATUS(status) != 0)
                return err_set(err, ERR_IO, PROCESS " ended with %d", WEXITSTATUS(status));
        rc = forecast_answer_parse(child->answer, child->got, ret_forecast, err);
        if (rc < 0) {
                (void)err_prefix(err, PROCESS " said what it may not");
                err->code = ERR_IO;
                return -ERR_IO;
        }
        return rc == 1 ? -ERR_RANGE : 0;
}

static int ask(struct child *child, const struct text *question, struct forecast *ret_forecast,
               struct err *err)
{
        int status = 0;
        int rc = start(child, err);

        if (rc == 0) {
                rc = converse(child, question, err);
                close_end(&child->to);
                rc = wait_end(child, rc, &status, err);
        }
        close_end(&child->to);
        close_end(&child->from);
        return rc ? rc : read_answer(child, status, ret_forecast, err);
}

int forecast_ask(struct forecaster *forecaster, const struct forecast_question *question,
                 store_stops *stops, void *stops_arg, struct forecast *ret_forecast,
                 struct err *err)
{
        struct child child = {.forecaster = forecaster,
                              .stops = stops,
                              .stops_arg = stops_arg,
                              .until_ms = time_monotonic_ms() + forecaster->ms_max,
                              .to = -1,
                              .from = -1};
        enum forecast_outcome outcome = FORECAST_MADE;
        struct text text = {0};
        struct err mine = {0};
        int rc;

        forecast_question_write(question, &text);
        rc = text.failed ? err_set(&mine, ERR_NOMEM, "out of memory")
                         : ask(&child, &text, ret_forecast, &mine);
        text_done(&text);
        if (rc)
                outcome = rc == -ERR_CANCELLED ? FORECAST_GIVEN_UP
                          : rc == -ERR_RANGE   ? FORECAST_NONE
                                               : FORECAST_FAILED;
        if (outcome == FORECAST_FAILED)
                fprintf(stderr, "berthd: no forecast: pid=%d why=\"%s\"\n", (int)child.pid,
                        mine.text);
        atomic_fetch_add(&forecaster->outcomes[outcome], 1);
        if (rc && err)
                *err = mine;
        return rc;
}
