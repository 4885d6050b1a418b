#include "agent/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/family.h"
#include "agent/launch.h"
#include "agent/secrets.h"
#include "agent/supervisor_impl.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/time.h"

#define KILL_AGAIN_MS 100
#define RETRY_S       1
#define ORDERS_MAX    1024
#define LOOK_MS       60000 /* a machine that slept has not waited */

enum stage {
        STAGE_SETUP, /* the child prepares */
        STAGE_GATE,  /* it waits for the others */
        STAGE_EXEC,  /* it was let go */
        STAGE_RUNNING,
};

struct supervisor {
        const char *folder;
        struct launch_order order;
        struct run_status status;
        char cage[CAGE_PATH_MAX]; /* "" = none */
        enum stage stage;
        int control, signals, report, gate; /* report -1: closed */
        pid_t first;
        bool has_ended; /* the first process has, as `wait_status` says */
        int wait_status;
        bool is_refused; /* it did not come to its program */
        bool is_term_ordered, is_kill_ordered;
        bool is_lease_over;
        int64_t lease_term_ms, lease_kill_ms;   /* 0: it has none */
        int64_t leftover_kill_ms; /* when what outlives it is killed; 0 = not asked yet */
        struct besides besides;
        char orders[ORDERS_MAX];
        size_t orders_size;
};

/* ---- saying how it is ---- */

static bool is_gone(const char *folder)
{
        return access(folder, F_OK) < 0 && errno == ENOENT;
}

static void say(struct supervisor *self, enum run_phase phase)
{
        struct err err;

        self->status.phase = phase;
        self->status.since_ms = time_wall_ms();
        self->status.pid = self->first;
        bool is_final = phase == RUN_EXITED || phase == RUN_REFUSED;
        /* The end must reach the disk, however long that takes: the run still counts as there. But
         * where its folder was removed nobody will look for it. */
        while (status_write(self->folder, &self->status, &err) < 0 && is_final &&
               !is_gone(self->folder))
                sleep(RETRY_S);
        folder_poke(self->folder);
}

static int refuse(struct supervisor *self, const char *reason)
{
        str_copy(self->status.reason, sizeof self->status.reason, reason);
        say(self, RUN_REFUSED);
        return 0;
}

static void note_failure(struct supervisor *self, const struct child_word *word)
{
        const struct launch_order *order = &self->order;
        const char *system = strerror(word->system);
        char *reason = self->status.reason;
        size_t size = sizeof self->status.reason;
        char shown[STR_SHOW_MAX];

        self->is_refused = true;
        switch ((enum child_stage)word->stage) {
        case CHILD_CAGE:
                snprintf(reason, size, "its control group cannot be entered: %s", system);
                return;
        case CHILD_ACCOUNT:
                snprintf(reason, size, "it cannot become account '%s': %s", order->account, system);
                return;
        case CHILD_WORKDIR:
                snprintf(reason, size, "workdir '%s': %s", str_show(order->workdir, shown), system);
                return;
        case CHILD_EXEC:
                snprintf(reason, size, "program '%s': %s", str_show(order->command[0], shown),
                         system);
                return;
        case CHILD_READY:
                break;
        }
        assert(false); /* READY is no failure */
}

/* ---- starting ---- */

static int open_output(const struct supervisor *self, const char *name)
{
        char path[FOLDER_PATH_MAX];

        snprintf(path, sizeof path, "%s/%s", self->folder, name);
        return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int make_cage(struct supervisor *self, struct err *err)
{
        const char *name = strrchr(self->folder, '/');

        if (!self->order.cages[0])
                return 0;
        cage_enter_beside(self->order.cages);
        return cage_make(self->order.cages, name ? name + 1 : self->folder, self->order.cpu_milli,
                         self->order.ram_mib, self->cage, err);
}

/* Before the fork: the run, and whatever is started beside it, sees what is mounted. */
static int give_secrets(const struct supervisor *self, struct err *err)
{
        const struct launch_order *order = &self->order;
        struct secrets_wish wish = {
                .folder = order->secrets_folder,
                .node = order->node,
                .account = order->account,
                .names = (const char *const *)order->secrets,
        };

        while (wish.names && wish.names[wish.count])
                wish.count++;
        return secrets_give(&wish, self->folder, order->uid, order->gid, err);
}

/* Before the end is said. What could not be removed the agent says when it forgets the run. */
static void take_secrets_back(const struct supervisor *self)
{
        if (self->order.secrets)
                (void)secrets_take_back(self->folder, NULL);
}

static void note_pids(const struct supervisor *self)
{
        const struct run_pids pids = {
                .supervisor = getpid(),
                .first = self->first,
                .supervisor_start = process_start(getpid()),
                .first_start = process_start(self->first),
        };

        /* Only to find what is left when the supervisor itself is killed; there is the mark too. */
        (void)pids_write(self->folder, self->order.boot, &pids, NULL);
}

static int start_child(struct supervisor *self, struct err *err)
{
        struct child_setup setup = {
                .order = &self->order,
                .cage = self->cage,
                .out = open_output(self, "stdout"),
                .err = open_output(self, "stderr"),
                .supervisor = getpid(),
        };
        int report[2] = {-1, -1}, gate[2] = {-1, -1};

        if (setup.out < 0 || setup.err < 0 || pipe2(report, O_CLOEXEC) < 0 ||
            pipe2(gate, O_CLOEXEC) < 0)
                return err_set(err, ERR_IO, "it cannot be started: %s", strerror(errno));
        setup.report = report[1];
        setup.gate = gate[0];
        self->first = fork();
        if (self->first < 0)
                return err_set(err, ERR_IO, "it cannot be started: %s", strerror(errno));
        if (self->first == 0) {
                close(gate[1]); /* or it would hold its own gate open */
                child_run(&setup);
        }
        close(report[1]);
        close(gate[0]);
        close(setup.out);
        close(setup.err);
        self->report = report[0];
        self->gate = gate[1];
        note_pids(self);
        return 0;
}

static void let_go(struct supervisor *self)
{
        self->order.go = true;
        if (self->stage != STAGE_GATE)
                return;
        self->stage = STAGE_EXEC;
        /* Where the child has died there is nobody to tell. */
        if (write(self->gate, "g", 1) < 0)
                return;
}

/* What the child says: it is ready, it failed, or, by closing the pipe, it has become the program.
 */
static void hear_child(struct supervisor *self)
{
        struct child_word word;
        ssize_t got = read(self->report, &word, sizeof word);

        if (got < 0)
                return;
        if (got == (ssize_t)sizeof word && word.stage == CHILD_READY) {
                self->stage = STAGE_GATE;
                if (self->order.go)
                        let_go(self);
                else
                        say(self, RUN_READY);
                return;
        }
        close(self->report);
        self->report = -1;
        if (got == (ssize_t)sizeof word) {
                note_failure(self, &word);
        } else if (self->stage == STAGE_EXEC) {
                self->stage = STAGE_RUNNING;
                say(self, RUN_RUNNING);
        }
}

/* ---- orders ---- */

static void send_signal(const struct supervisor *self, const char *name)
{
        int signal = launch_signal_number(name);

        /* Before it is its own program it could do nothing but die of it. */
        if (signal && self->stage == STAGE_RUNNING && !self->has_ended)
                (void)kill(self->first, signal);
}

static void send_all(const struct supervisor *self, int signal)
{
        if (self->cage[0])
                cage_signal(self->cage, signal);
        (void)family_signal(signal);
}

/* Once it is over it stays so. */
static void take_lease(struct supervisor *self, const char *times)
{
        char *end;
        int64_t term_ms = strtoll(times, &end, 10), kill_ms = strtoll(end, NULL, 10);

        if (self->is_lease_over)
                return;
        self->lease_term_ms = term_ms;
        self->lease_kill_ms = kill_ms;
}

static void terminate(struct supervisor *self)
{
        send_all(self, SIGTERM);
        send_all(self, SIGCONT);
}

static void obey(struct supervisor *self, const char *order)
{
        if (str_equal(order, "go")) {
                let_go(self);
        } else if (strncmp(order, "signal ", 7) == 0) {
                send_signal(self, order + 7);
        } else if (strncmp(order, "lease ", 6) == 0) {
                take_lease(self, order + 6);
        } else if (str_equal(order, "term")) {
                self->is_term_ordered = true;
                self->status.told_to_end |= !self->has_ended;
                terminate(self);
        } else if (str_equal(order, "kill")) {
                self->is_kill_ordered = true;
        }
}

static void hear_orders(struct supervisor *self)
{
        ssize_t got = read(self->control, self->orders + self->orders_size,
                           sizeof self->orders - 1 - self->orders_size);

        if (got <= 0)
                return;
        self->orders_size += (size_t)got;
        self->orders[self->orders_size] = '\0';
        char *at = self->orders;
        for (char *end; (end = strchr(at, '\n')); at = end + 1) {
                *end = '\0';
                obey(self, at);
        }
        self->orders_size -= (size_t)(at - self->orders);
        memmove(self->orders, at, self->orders_size);
        if (self->orders_size == sizeof self->orders - 1)
                self->orders_size = 0; /* no order is that long */
}

/* ---- the end ---- */

/* Whether nothing is left: no child, and as the subreaper of all that means no descendant. */
static bool reap(struct supervisor *self)
{
        struct signalfd_siginfo info;
        int status;
        pid_t pid;

        while (read(self->signals, &info, sizeof info) > 0)
                ;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                besides_reaped(&self->besides, pid, status);
                if (pid != self->first)
                        continue;
                self->has_ended = true;
                self->wait_status = status;
        }
        return pid < 0 && errno == ECHILD && (!self->cage[0] || cage_is_empty(self->cage));
}

static int wait_for(int64_t ms)
{
        return (int)(ms < 0 ? 0 : ms < LOOK_MS ? ms : LOOK_MS);
}

/* -1: never. */
static int sooner(int a_ms, int b_ms)
{
        return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* In how many ms to come back for the lease; -1: it has none. */
static int watch_lease(struct supervisor *self)
{
        int64_t now = time_lease_ms();

        if (self->lease_term_ms == 0 || self->is_kill_ordered || self->has_ended)
                return -1;
        if (now < self->lease_term_ms)
                return wait_for(self->lease_term_ms - now);
        if (!self->is_lease_over && !self->is_term_ordered) {
                self->status.lost_contact = true;
                terminate(self);
        }
        self->is_lease_over = true;
        self->is_kill_ordered = now >= self->lease_kill_ms;
        return wait_for(self->lease_kill_ms - now);
}

/* Ends what has to end; in how many ms to come back, -1: not by time. */
static int press(struct supervisor *self)
{
        int64_t now = time_monotonic_ms();
        int lease_wait = watch_lease(self);

        if (self->has_ended && self->leftover_kill_ms == 0) {
                self->leftover_kill_ms = now + self->order.leftover_ms;
                send_all(self, SIGTERM);
        }
        if (self->is_kill_ordered || (self->has_ended && now >= self->leftover_kill_ms)) {
                send_all(self, SIGKILL);
                return KILL_AGAIN_MS;
        }
        /* Descendants that are not ours to wait for end without a signal to us. */
        return self->has_ended ? KILL_AGAIN_MS : lease_wait;
}

static void run_to_end(struct supervisor *self)
{
        while (!reap(self)) {
                struct pollfd polls[3 + BESIDE_MAX + 1] = {
                        {.fd = self->control, .events = POLLIN},
                        {.fd = self->signals, .events = POLLIN},
                        {.fd = self->report, .events = POLLIN},
                };
                size_t count = 3 + besides_fill(&self->besides, polls + 3);
                int wait = sooner(press(self), besides_press(&self->besides, time_monotonic_ms()));
                if (poll(polls, (nfds_t)count, wait) < 0)
                        continue;
                besides_hear(&self->besides, polls + 3,
                             self->stage == STAGE_RUNNING && !self->has_ended, time_monotonic_ms());
                if (polls[2].revents)
                        hear_child(self);
                if (polls[0].revents)
                        hear_orders(self);
        }
        /* It may have said why, and died, between two looks. */
        if (self->report >= 0)
                hear_child(self);
        if (self->report >= 0)
                hear_child(self);
}

/* Nothing runs in it any more, or ever did. */
static void clear(const struct supervisor *self)
{
        if (self->cage[0])
                cage_remove(self->cage);
        take_secrets_back(self);
}

/* Why it ended so, as far as that is not its own doing. */
static void explain_end(struct supervisor *self, enum cage_memory memory)
{
        struct run_status *status = &self->status;

        status->reason[0] = '\0';
        if (folder_is_going_down(self->folder)) {
                /* It has got TERM, so 0 does not mean that it is done. */
                status->lost_contact = true;
                str_copy(status->reason, sizeof status->reason, FOLDER_WENT_DOWN);
        } else if (status->exit_code == 0 && status->signal == 0) {
                return;
        } else if (memory == CAGE_MEMORY_LIMIT) {
                snprintf(status->reason, sizeof status->reason,
                         "out of memory: it needed more than the %" PRIu64 " MiB it asked for",
                         self->order.ram_mib);
        } else if (memory == CAGE_MEMORY_NODE) {
                str_copy(status->reason, sizeof status->reason,
                         "out of memory: its node ran out, though it kept to what it asked for");
        }
}

static int finish(struct supervisor *self)
{
        enum cage_memory memory = self->cage[0] ? cage_memory(self->cage) : CAGE_MEMORY_FINE;

        clear(self);
        if (self->is_refused) {
                say(self, RUN_REFUSED);
                return 0;
        }
        self->status.exit_code = WIFEXITED(self->wait_status) ? WEXITSTATUS(self->wait_status) : 0;
        self->status.signal = WIFSIGNALED(self->wait_status) ? WTERMSIG(self->wait_status) : 0;
        explain_end(self, memory);
        say(self, RUN_EXITED);
        return 0;
}

/* ---- */

static int set_up_process(struct supervisor *self, struct err *err)
{
        sigset_t all, child;

        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        umask(077);
        (void)prctl(PR_SET_NAME, "berth-run");
        self->signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
        if (self->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || chdir("/") < 0 ||
            fcntl(self->control, F_SETFD, FD_CLOEXEC) < 0 ||
            fcntl(self->control, F_SETFL, O_NONBLOCK) < 0)
                return err_set(err, ERR_IO, "its supervisor cannot be set up: %s", strerror(errno));
        return 0;
}

int supervisor_main(const char *run_folder)
{
        struct supervisor self = {
                .folder = run_folder,
                .control = SUPERVISOR_CONTROL_FD,
                .report = -1,
                .gate = -1,
        };
        struct err err;
        struct arena *arena = arena_new(0, 0);
        int rc = set_up_process(&self, &err);

        if (rc == 0 && !arena)
                rc = err_set(&err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = launch_order_read(run_folder, arena, &self.order, &err);
        if (rc == 0)
                rc = make_cage(&self, &err);
        if (rc == 0)
                rc = give_secrets(&self, &err);
        if (rc == 0)
                rc = start_child(&self, &err);
        if (rc == 0) {
                self.besides.order = &self.order;
                self.besides.cage = self.cage;
                besides_open(&self.besides, run_folder);
                run_to_end(&self);
                rc = finish(&self);
        } else {
                clear(&self);
                rc = refuse(&self, err.text);
        }
        arena_free(arena);
        return rc < 0;
}
