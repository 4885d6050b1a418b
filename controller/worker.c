#include "controller/worker.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/api_handlers.h"
#include "controller/live.h"
#include "controller/room.h"

#define CHILD_FD       3
#define BACKOFF_MS     1000
#define BACKOFF_MOST   60000
#define LIVED_MS       60000            /* who lived so long begins with a short wait again */
#define REFUSED_MOST   3                /* lines of one process that may not be said */
#define LINES_PER_S    2000             /* it says no more than some tens */

struct worker {
        struct worker_options options;
        struct live *live;
        uv_loop_t *loop;
        uv_process_t process;
        uv_pipe_t pipe;
        bool process_open, pipe_open;   /* handles that are not closed yet */
        bool is_up, is_ending;
        int64_t started_ms, heard_ms, start_at_ms, backoff_ms;  /* monotonic */
        int64_t second_ms;
        unsigned lines, refused;        /* of this second; of this process */
        char *line;                     /* WORKER_LINE_MAX: what has come of one */
        size_t line_size;
        const char *why;                /* it was ended by us; NULL: it was not */
        char trouble[256];              /* of the last one that ended */
        struct worker_shown shown;
        struct worker_rates rates;
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
        va_list arguments;

        fputs("berthd: worker ", stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
}

/* ---- ending ---- */

static void pipe_closed(uv_handle_t *handle)
{
        ((struct worker *)handle->data)->pipe_open = false;
}

static void process_closed(uv_handle_t *handle)
{
        ((struct worker *)handle->data)->process_open = false;
}

static void close_pipe(struct worker *worker)
{
        if (worker->pipe_open && !uv_is_closing((uv_handle_t *)&worker->pipe))
                uv_close((uv_handle_t *)&worker->pipe, pipe_closed);
}

static void end_process(struct worker *worker, const char *why)
{
        if (!worker->is_up)
                return;
        worker->why = worker->why ? worker->why : why;
        (void)uv_process_kill(&worker->process, SIGKILL);
        close_pipe(worker);
}

static void has_ended(uv_process_t *process, int64_t status, int number)
{
        struct worker *worker = process->data;
        int64_t lived_ms = time_monotonic_ms() - worker->started_ms;

        worker->is_up = false;
        worker->shown.ends++;
        if (worker->why)
                (void)str_copy(worker->trouble, sizeof worker->trouble, worker->why);
        else if (number)
                (void)snprintf(worker->trouble, sizeof worker->trouble, "signal %d", number);
        else
                (void)snprintf(worker->trouble, sizeof worker->trouble, "it ended with %d",
                               (int)status);
        if (lived_ms >= LIVED_MS)
                worker->backoff_ms = BACKOFF_MS;
        worker->start_at_ms = time_monotonic_ms() + worker->backoff_ms;
        if (!worker->is_ending)
                say("ended: pid=%d after_ms=%" PRId64 " again_in_ms=%" PRId64 " why=\"%s\"",
                    worker->shown.pid, lived_ms, worker->backoff_ms, worker->trouble);
        worker->backoff_ms = worker->backoff_ms < BACKOFF_MOST / 2 ? worker->backoff_ms * 2
                                                                   : BACKOFF_MOST;
        close_pipe(worker);
        uv_close((uv_handle_t *)process, process_closed);
}

/* ---- what it says ---- */

static void refuse(struct worker *worker, const struct err *err)
{
        worker->shown.refused++;
        say("said what it may not: %s", err->text);
        if (++worker->refused >= REFUSED_MOST)
                end_process(worker, "it said what it may not, again and again");
}

static void take_input(struct worker *worker, struct act **act, const struct worker_line *line)
{
        bool is_plan = false;
        struct err err = {0};
        int rc = worker_take(worker->live, act, line, api_now_ms(), &is_plan, &err);

        if (rc == -ERR_FULL && *act) {
                core_commit(*act, api_ignore, NULL);
                *act = NULL;
                rc = worker_take(worker->live, act, line, api_now_ms(), &is_plan, &err);
        }
        if (rc == 1)
                ++*(is_plan ? &worker->shown.plans : &worker->shown.estimates);
        else if (rc == 0 || rc == -ERR_IO || rc == -ERR_FULL || rc == -ERR_NOMEM ||
                 rc == -ERR_QUARANTINED)
                worker->shown.dropped++;
        else
                refuse(worker, &err);
}

/* Only letters that a terminal shows as they are. */
static void take_words(struct worker *worker, const struct worker_line *line)
{
        char words[WORKER_SAY_MAX + 1];
        size_t size = line->rest_size < WORKER_SAY_MAX ? line->rest_size : WORKER_SAY_MAX;

        for (size_t i = 0; i < size; i++)
                words[i] = line->rest[i] >= ' ' && line->rest[i] <= '~' ? line->rest[i] : '?';
        words[size] = '\0';
        say("says: %s", words);
        (void)worker;
}

static void take_line(struct worker *worker, struct act **act, const char *bytes, size_t size)
{
        struct worker_line line;
        struct err err = {0};
        int rc = worker_line_parse(bytes, size, &line, &err);

        if (rc == 0 && line.word == WORKER_INPUT) {
                take_input(worker, act, &line);
                return;
        }
        if (rc == 0 && line.word == WORKER_RATES)
                rc = worker_rates_parse(&line, &worker->rates, &err);
        else if (rc == 0 && line.word == WORKER_FIGURES)
                rc = worker_figures_parse(&line, &worker->shown.figures, &err);
        else if (rc == 0 && line.word == WORKER_SAY)
                take_words(worker, &line);
        if (rc)
                refuse(worker, &err);
}

static bool is_flood(struct worker *worker)
{
        int64_t now = time_monotonic_ms();

        if (now - worker->second_ms >= 1000) {
                worker->second_ms = now;
                worker->lines = 0;
        }
        return ++worker->lines > LINES_PER_S;
}

/* Bytes that came lie in the line's room already. */
static void take_bytes(struct worker *worker, size_t fresh)
{
        char *begin = worker->line, *end = worker->line + worker->line_size + fresh, *feed;
        struct act *act = NULL;

        while (!uv_is_closing((uv_handle_t *)&worker->pipe) &&
               (feed = memchr(begin, '\n', (size_t)(end - begin)))) {
                if (is_flood(worker))
                        end_process(worker, "it says too much");
                else
                        take_line(worker, &act, begin, (size_t)(feed - begin));
                begin = feed + 1;
        }
        if (act)
                core_commit(act, api_ignore, NULL);
        worker->line_size = (size_t)(end - begin);
        memmove(worker->line, begin, worker->line_size);
        if (worker->line_size == WORKER_LINE_MAX)
                end_process(worker, "it said a line that is too long");
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
        struct worker *worker = handle->data;

        (void)suggested;
        *ret_buf = uv_buf_init(worker->line + worker->line_size,
                               (unsigned)(WORKER_LINE_MAX - worker->line_size));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
        struct worker *worker = stream->data;

        (void)buf;
        if (size > 0) {
                worker->heard_ms = time_monotonic_ms();
                take_bytes(worker, (size_t)size);
        } else if (size < 0) {
                end_process(worker, "it closed its socket");
        }
}

/* ---- starting ---- */

static int spawn(struct worker *worker)
{
        char tick[24], parent[24];
        const char *const arguments[] = {"berthd", "worker", "--store", worker->options.store,
                                         "--fd", "3", "--tick-ms", tick, "--parent", parent, NULL};
        uv_stdio_container_t stdio[CHILD_FD + 1] = {
                {.flags = UV_IGNORE},
                {.flags = UV_IGNORE},
                {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
                {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE,
                 .data.stream = (uv_stream_t *)&worker->pipe}};
        const uv_process_options_t options = {.exit_cb = has_ended,
                                              .file = worker->options.program,
                                              .args = (char **)(uintptr_t)arguments,
                                              .stdio_count = CHILD_FD + 1,
                                              .stdio = stdio};

        (void)snprintf(tick, sizeof tick, "%" PRId64, worker->options.tick_ms);
        (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
        (void)uv_pipe_init(worker->loop, &worker->pipe, 0);
        worker->pipe.data = worker->process.data = worker;
        worker->pipe_open = worker->process_open = true;
        return uv_spawn(worker->loop, &worker->process, &options);
}

static void start(struct worker *worker)
{
        int64_t now = time_monotonic_ms();
        int rc = spawn(worker);

        worker->started_ms = worker->heard_ms = now;
        worker->why = NULL;
        worker->line_size = 0;
        worker->refused = 0;
        worker->shown.starts++;
        worker->shown.figures = (struct worker_figures){0};
        if (rc == 0) {
                worker->is_up = true;
                worker->shown.pid = worker->process.pid;
                (void)uv_read_start((uv_stream_t *)&worker->pipe, give_room, on_read);
                return;
        }
        (void)snprintf(worker->trouble, sizeof worker->trouble, "not started: %s",
                       uv_strerror(rc));
        say("not started: %s", uv_strerror(rc));
        worker->start_at_ms = now + BACKOFF_MOST;
        close_pipe(worker);
        uv_close((uv_handle_t *)&worker->process, process_closed);
}

/* ---- looking after it ---- */

void worker_tick(struct worker *worker)
{
        int64_t now = time_monotonic_ms();

        if (worker->is_ending)
                return;
        if (!worker->is_up) {
                if (!worker->process_open && !worker->pipe_open && now >= worker->start_at_ms)
                        start(worker);
                return;
        }
        worker->shown.rss_mib = room_resident_bytes(worker->shown.pid) >> 20;
        if (worker->shown.rss_mib > worker->options.memory_mib)
                end_process(worker, "it held too much memory");
        else if (now - worker->heard_ms > worker->options.silence_ms)
                end_process(worker, "it was silent for too long");
}

struct worker_shown worker_shown(const struct worker *worker)
{
        struct worker_shown shown = worker->shown;

        shown.is_up = worker->is_up;
        shown.pid = worker->is_up ? shown.pid : 0;
        shown.silent_ms = worker->is_up ? time_monotonic_ms() - worker->heard_ms : 0;
        shown.rss_mib = worker->is_up ? shown.rss_mib : 0;
        shown.trouble = worker->trouble;
        return shown;
}

const struct worker_rate *worker_rate_of(const struct worker *worker, const char *class,
                                         int64_t *ret_since_ms)
{
        *ret_since_ms = worker->rates.since_ms;
        for (uint32_t r = 0; r < worker->rates.count; r++)
                if (str_equal(worker->rates.list[r].class, class))
                        return &worker->rates.list[r];
        return NULL;
}

/* ---- life ---- */

struct worker *worker_new(struct uv_loop_s *loop, struct live *live,
                          const struct worker_options *options)
{
        struct worker *worker = mem_new(1, sizeof *worker);

        if (!worker)
                return NULL;
        worker->options = *options;
        worker->live = live;
        worker->loop = loop;
        worker->backoff_ms = BACKOFF_MS;
        worker->line = mem_new(WORKER_LINE_MAX, 1);
        if (!worker->options.program)
                worker->options.program = "/proc/self/exe";     /* this file, replaced or not */
        if (!worker->line) {
                worker_free(worker);
                return NULL;
        }
        start(worker);
        return worker;
}

void worker_end(struct worker *worker)
{
        if (!worker || worker->is_ending)
                return;
        worker->is_ending = true;
        end_process(worker, "berthd ends");
}

void worker_free(struct worker *worker)
{
        if (!worker)
                return;
        mem_free(worker->line);
        mem_free(worker);
}
