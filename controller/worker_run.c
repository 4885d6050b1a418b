#include "controller/worker_run.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "base/time.h"
#include "controller/worker_child.h"
#include "controller/worker_follow.h"
#include "controller/worker_line.h"
#include "controller/worker_task.h"
#include "engine/state.h"
#include "plan/plan.h"
#include "sim/replay.h"
#include "store/store.h"

#define RECORDS_AT_ONCE  500u
#define IDLE_MS          500
#define FIGURES_MS       5000
#define RATES_MS         60000           /* not more often, and not for more of the time ... */
#define RATES_PART       200             /* ... than one part in so many */
#define RATES_FIRST_MS   2000           /* berthd's own start goes first */
#define FORETELL_MS      2000           /* not more often ... */
#define FORETELL_MOST_MS 600000         /* ... and, while work waits, not more seldom */
#define RESTART_MS       0              /* how long stopped work takes to start again: not known */

/* What the timer's handler sees: the only globals, for it has no other way to them. */
static volatile int beat_fd = -1;
static volatile int cancel;                     /* the task under way is to end */
static volatile int64_t task_until_ms;          /* of CPU time; 0: no task */

static int64_t cpu_ms(void)
{
        return time_cpu_ns() / 1000000;         /* safe in a signal's handler */
}

/* Says that it is alive, unless a task has not ended long after it was told to. */
static void on_timer(int number)
{
        int64_t until_ms = task_until_ms, now_ms = until_ms ? cpu_ms() : 0;
        int kept = errno;

        (void)number;
        if (until_ms && now_ms > until_ms)
                cancel = 1;
        if (!until_ms || now_ms < until_ms + 2 * WORKER_TASK_MS)
                (void)send(beat_fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        errno = kept;
}

static void start_timer(int fd)
{
        const struct itimerval each = {.it_interval = {.tv_sec = 1}, .it_value = {.tv_sec = 1}};
        struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};

        beat_fd = fd;
        sigemptyset(&action.sa_mask);
        (void)sigaction(SIGALRM, &action, NULL);
        (void)setitimer(ITIMER_REAL, &each, NULL);
}

struct run {
        const struct worker_run_options *options;
        struct worker_follow follow;
        struct planner *planner;
        struct text lines;              /* to be said */
        struct worker_figures figures;
        uint64_t cursor;                /* of task_foretell() */
        unsigned most;                  /* workloads of a question; fewer after one too long */
        int64_t figures_at_ms, rates_at_ms, foretell_at_ms, foretold_ms;        /* monotonic */
};

/* Whole lines, without the timer's between them. 0; -1: nobody listens any more. */
static int say_lines(struct run *run)
{
        struct text *lines = &run->lines;
        sigset_t alarm, kept;
        size_t said = 0;

        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        (void)sigprocmask(SIG_BLOCK, &alarm, &kept);
        while (!lines->failed && said < lines->size) {
                ssize_t n = send(run->options->fd, lines->bytes + said, lines->size - said,
                                 MSG_NOSIGNAL);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        break;
                said += (size_t)n;
        }
        (void)sigprocmask(SIG_SETMASK, &kept, NULL);
        bool all = !lines->failed && said == lines->size;
        lines->size = 0;
        return all ? 0 : -1;
}

/* ---- tasks ---- */

static void begin_task(void)
{
        cancel = 0;
        task_until_ms = cpu_ms() + WORKER_TASK_MS;
}

static void end_task(struct run *run, int rc)
{
        task_until_ms = 0;
        run->figures.ended += rc == -ERR_CANCELLED;
}

static int plan(struct run *run, struct err *err)
{
        bool made = false;

        run->follow.plan_due = false;
        begin_task();
        int rc = task_plan(&run->follow, run->planner, &run->lines, &made, err);
        end_task(run, rc);
        run->figures.plans += made;
        if (rc == 0 || rc == -ERR_NOMEM)
                return rc;
        text_add(&run->lines, "say no new plan: %.*s\n", WORKER_SAY_MAX - 20, err->text);
        return 0;
}

static int foretell(struct run *run, struct err *err)
{
        int64_t began_ms = time_monotonic_ms();
        unsigned answers = 0;

        run->follow.changed = false;
        begin_task();
        int rc = task_foretell(&run->follow, run->most, &run->cursor, &run->lines, &answers, err);
        end_task(run, rc);
        run->figures.answers += answers;
        run->foretold_ms = time_monotonic_ms();
        run->foretell_at_ms = run->foretold_ms + FORETELL_MS;
        if (rc == -ERR_CANCELLED) {
                /* The last of them to start made it so long: ask for less, and later. */
                run->most = run->most > 3 ? run->most / 4 : 1;
                run->foretell_at_ms = run->foretold_ms + FORETELL_MOST_MS;
        } else if (rc == 0 && run->foretold_ms - began_ms < FORETELL_MS &&
                   run->most < TASK_ASKED_MAX) {
                run->most++;
        }
        return rc == -ERR_CANCELLED ? 0 : rc;
}

static int tell_rates(struct run *run, struct err *err)
{
        int64_t began_ms = time_monotonic_ms();
        int rc = task_rates(&run->follow, run->follow.pool.now_ms, &run->lines, err);
        int64_t took_ms = time_monotonic_ms() - began_ms;

        run->rates_at_ms = time_monotonic_ms() + RATES_MS + RATES_PART * took_ms;
        return rc;
}

static void tell_figures(struct run *run)
{
        struct worker_follow *follow = &run->follow;
        struct worker_figures *figures = &run->figures;

        run->figures_at_ms = time_monotonic_ms() + FIGURES_MS;
        figures->seq = follow->pool.seq;
        figures->behind = follow->head_seq - follow->pool.seq;
        figures->arrivals = follow->learned.arrived;
        figures->cpu_ms = (uint64_t)cpu_ms();
        if (follow->eta) {
                struct eta_learnt small = eta_learnt(follow->eta, ETA_SMALL);
                struct eta_learnt wide = eta_learnt(follow->eta, ETA_WIDE);
                figures->starts_small = small.starts;
                figures->starts_wide = wide.starts;
                figures->coverage_small = (uint8_t)small.coverage_pct;
                figures->coverage_wide = (uint8_t)wide.coverage_pct;
        }
        worker_figures_write(figures, &run->lines);
}

/* One thing that is due, now that the log has been followed to its end. */
static int work(struct run *run, struct err *err)
{
        int64_t now = time_monotonic_ms();

        if (run->follow.plan_due)
                return plan(run, err);
        if (now >= run->rates_at_ms)
                return tell_rates(run, err);
        if (now >= run->foretell_at_ms &&
            (run->follow.changed || now - run->foretold_ms >= FORETELL_MOST_MS))
                return foretell(run, err);
        return 0;
}

/* ---- the loop ---- */

/* Until there is something to read, which can only be the end. 1: it is. */
static int wait_ms(struct run *run, int64_t ms)
{
        struct pollfd socket = {.fd = run->options->fd, .events = POLLIN};
        int64_t until = time_monotonic_ms() + ms;
        char byte;

        for (int64_t left = ms; left >= 0; left = until - time_monotonic_ms()) {
                int n = poll(&socket, 1, (int)left);
                ssize_t got = n > 0 ? recv(socket.fd, &byte, 1, MSG_DONTWAIT) : 1;
                if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
                        return 1;
                if (n == 0)
                        return 0;
        }
        return 0;
}

static int loop(struct run *run, struct err *err)
{
        int64_t began = cpu_ms();

        for (;;) {
                int more = worker_follow_step(&run->follow, RECORDS_AT_ONCE, err);
                int rc = more == 0 ? work(run, err) : more < 0 ? more : 0;
                if (rc < 0)
                        return rc;
                if (time_monotonic_ms() >= run->figures_at_ms)
                        tell_figures(run);
                if (say_lines(run) < 0)
                        return 0;
                /* What was used is rested for. */
                int64_t used = cpu_ms() - began;
                int64_t rest = used * (100 - WORKER_SHARE_PCT) / WORKER_SHARE_PCT;
                began = cpu_ms();
                if (wait_ms(run, more == 0 && rest < IDLE_MS ? IDLE_MS : rest))
                        return 0;
        }
}

static int open_all(struct run *run, struct err *err)
{
        const struct store_options store = {.path = run->options->store, .is_read_only = true,
                                            .must_exist = true};
        static struct replay_hooks hooks = {.cancel = &cancel};
        int rc = store_open(&store, &run->follow.store, err);

        if (rc)
                return rc;
        run->planner = planner_new();
        if (!run->planner)
                return err_set(err, ERR_NOMEM, "out of memory");
        planner_watch(run->planner, &hooks);
        run->follow.eta_options = (struct eta_options){.tick_ms = run->options->tick_ms,
                                                       .restart_ms = RESTART_MS,
                                                       .seed = 1,
                                                       .cancel = &cancel};
        return worker_follow_begin(&run->follow, err);
}

int worker_run(const struct worker_run_options *options)
{
        struct run run = {.options = options, .most = TASK_ASKED_MAX};
        struct err err = {0};
        int rc;

        if (!worker_be_child("berthd-worker", options->parent))
                return EXIT_FAILURE;            /* and nobody to tell */
        run.rates_at_ms = time_monotonic_ms() + RATES_FIRST_MS;
        start_timer(options->fd);
        rc = open_all(&run, &err);
        if (rc == 0)
                rc = loop(&run, &err);
        if (rc < 0) {
                text_add(&run.lines, "say %.*s\n", WORKER_SAY_MAX, err.text);
                (void)say_lines(&run);
        }
        worker_follow_done(&run.follow);
        planner_free(run.planner);
        store_close(run.follow.store);
        text_done(&run.lines);
        return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int worker_main(int argc, char **argv)
{
        static const struct option list[] = {{"store", required_argument, NULL, 's'},
                                             {"fd", required_argument, NULL, 'f'},
                                             {"tick-ms", required_argument, NULL, 't'},
                                             {"parent", required_argument, NULL, 'p'},
                                             {0}};
        struct worker_run_options options = {.fd = -1, .tick_ms = 2000};
        uint64_t fd = 0, parent = 0;
        int option, rc = 0;

        while (rc == 0 && (option = getopt_long(argc, argv, "", list, NULL)) != -1) {
                if (option == 's')
                        options.store = optarg;
                else if (option == 'f')
                        rc = num_u64(optarg, 3, 1023, &fd, NULL);
                else if (option == 't')
                        rc = num_i64(optarg, 100, 60000, &options.tick_ms, NULL);
                else if (option == 'p')
                        rc = num_u64(optarg, 1, INT32_MAX, &parent, NULL);
                else
                        rc = -1;
        }
        options.fd = (int)fd;
        options.parent = (pid_t)parent;
        if (rc == 0 && options.store && options.fd >= 3 && parent)
                return worker_run(&options);
        fputs("berthd worker: started by berthd itself, and by nobody else\n", stderr);
        return EXIT_FAILURE;
}
