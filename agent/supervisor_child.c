/* From the fork to the run's program. */
#include <errno.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/supervisor_impl.h"

#define FILES_SOFT 65536

static _Noreturn void give_up(const struct child_setup *setup, enum child_stage stage)
{
        struct child_word word = {(int32_t)stage, errno};

        if (write(setup->report, &word, sizeof word) < 0)
                _exit(126); /* the supervisor is gone */
        _exit(125);
}

static void limit(int resource, rlim_t soft, bool may_raise)
{
        struct rlimit now;

        if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
                return;
        if (may_raise)
                now.rlim_max = soft;
        now.rlim_cur = soft < now.rlim_max ? soft : now.rlim_max;
        (void)setrlimit((__rlimit_resource_t)resource, &now);
}

/* Whatever the agent was started with: no cores that fill the disk, room for many files, and memory
 * that may be pinned for devices and networks where root can allow it. */
static void set_limits(void)
{
        bool is_root = geteuid() == 0;

        limit(RLIMIT_CORE, 0, false);
        limit(RLIMIT_NOFILE, FILES_SOFT, false);
        limit(RLIMIT_MEMLOCK, RLIM_INFINITY, is_root);
}

static bool become(const struct launch_order *order)
{
        if (order->uid == geteuid())
                return true;
        return initgroups(order->account, order->gid) == 0 &&
               setresgid(order->gid, order->gid, order->gid) == 0 &&
               setresuid(order->uid, order->uid, order->uid) == 0;
}

/* After the last change of account: that would clear it. */
static void die_with(pid_t supervisor)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != supervisor)
                _exit(126);
}

static void wait_at_gate(const struct child_setup *setup)
{
        struct child_word word = {CHILD_READY, 0};
        char byte;
        ssize_t got;

        if (write(setup->report, &word, sizeof word) != (ssize_t)sizeof word)
                _exit(126);
        do
                got = read(setup->gate, &byte, 1);
        while (got < 0 && errno == EINTR);
        if (got != 1)
                _exit(126);
}

_Noreturn void child_run(const struct child_setup *setup)
{
        sigset_t none;

        setsid();
        if (setup->cage[0] && !cage_enter(setup->cage))
                give_up(setup, CHILD_CAGE);
        set_limits();
        if (!become(setup->order))
                give_up(setup, CHILD_ACCOUNT);
        die_with(setup->supervisor);
        if (chdir(setup->order->workdir) < 0)
                give_up(setup, CHILD_WORKDIR);
        umask(022);
        dup2(setup->out, STDOUT_FILENO);
        dup2(setup->err, STDERR_FILENO);
        (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        wait_at_gate(setup);
        environ = setup->order->variables;
        execvp(setup->order->command[0], setup->order->command);
        give_up(setup, CHILD_EXEC);
}

/* ---- beside the run ---- */

/* Into what is its terminal, or its output, by now. */
static _Noreturn void complain(const char *what, const char *which, int code)
{
        dprintf(STDERR_FILENO, "berth: %s%s%s: %s\r\n", what, which[0] ? " " : "", which,
                strerror(errno));
        _exit(code);
}

static void connect_to(const struct beside_child *child)
{
        if (child->term[0])
                (void)ioctl(child->in, TIOCSCTTY, 0);
        dup2(child->in, STDIN_FILENO);
        dup2(child->out, STDOUT_FILENO);
        dup2(child->out, STDERR_FILENO);
        (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
}

_Noreturn void child_beside(const struct beside_child *child)
{
        const struct launch_order *order = child->order;
        sigset_t none;

        setsid();
        connect_to(child);
        if (child->cage[0] && !cage_enter(child->cage))
                complain("its control group", "", 126);
        set_limits();
        if (!become(order))
                complain("account", order->account, 126);
        die_with(child->supervisor);
        if (chdir(order->workdir) < 0)
                complain("workdir", order->workdir, 126);
        umask(022);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        environ = order->variables;
        if (child->term[0])
                (void)setenv("TERM", child->term, 1);
        const char *shell = getenv("SHELL");
        const char *const just_a_shell[] = {shell && shell[0] ? shell : "/bin/sh", NULL};
        const char *const *command = child->command ? child->command : just_a_shell;
        execvp(command[0], (char *const *)(uintptr_t)command);
        complain("program", command[0], errno == ENOENT ? 127 : 126);
}
