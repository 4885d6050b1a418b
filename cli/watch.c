#include "cli/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "sim/replay.h"

#define SHOW_EVERY_NS 100000000

/* A handler gets no argument. */
static volatile int stop_asked;

static void ask_to_stop(int signal_number)
{
        (void)signal_number;
        stop_asked = 1;
}

static void catch_signals(void)
{
        struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};

        stop_asked = 0;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        /* A file above `ulimit -f` fails like a full disk does, and leaves nothing behind. */
        signal(SIGXFSZ, SIG_IGN);
}

static void show_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
        struct watch *watch = arg;
        int64_t now_ns = time_monotonic_ns();

        if (!watch->is_shown || now_ns < watch->next_ns)
                return;
        watch->next_ns = now_ns + SHOW_EVERY_NS;
        watch->is_dirty = true;
        fprintf(stderr, "\r\033[K%.60s: %" PRIu64 " of %" PRIu64, what, done, total);
        if (total > 0 && done <= total)
                fprintf(stderr, " (%.0f %%)", 100 * (double)done / (double)total);
        fflush(stderr);
}

void watch_start(struct watch *watch, bool is_quiet, struct replay_hooks *hooks)
{
        *watch = (struct watch){.is_shown = !is_quiet && isatty(STDERR_FILENO)};
        hooks->progress = show_progress;
        hooks->progress_arg = watch;
        hooks->cancel = &stop_asked;
        catch_signals();
}

void watch_end(struct watch *watch)
{
        if (watch->is_dirty)
                fputs("\r\033[K", stderr);
        watch->is_dirty = false;
}
