/* Another program as a child: what it has of us, and what it has not. */
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/spawn.h"

/* What a line of shell says on its output, and how it ended. */
static int run(const char *line, bool new_session, char said[512])
{
        const char *const argv[] = {"sh", "-c", line, NULL};
        char only[] = "ONLY=this", *const envp[] = {only, NULL};
        struct err err = {0};
        int pipes[2], status = -1;
        size_t size = 0;
        pid_t pid;

        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        const struct spawn spawn = {.program = "/bin/sh", .argv = argv, .envp = envp,
                                    .fds = {SPAWN_NO_FD, pipes[1], SPAWN_NO_FD}, .fds_count = 3,
                                    .new_session = new_session};
        if (spawn_program(&spawn, &pid, &err) < 0)
                fail_msg("%s", err.text);
        close(pipes[1]);
        for (ssize_t n; (n = read(pipes[0], said + size, 511 - size)) > 0; size += (size_t)n)
                ;
        said[size] = '\0';
        close(pipes[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void it_has_the_handles_it_is_given_and_no_other(void **state)
{
        static const char line[] = "n=0; while [ $n -lt 64 ]; do"
                                   " [ ! -e /proc/$$/fd/$n ] || echo $n; n=$((n + 1)); done";
        char said[512];

        (void)state;
        int open_one = dup(STDERR_FILENO);      /* which exec would not close */
        assert_true(open_one > 2);
        assert_int_equal(run(line, false, said), 0);
        assert_string_equal(said, "0\n1\n2\n");
        close(open_one);
}

static void its_environment_is_what_it_is_given(void **state)
{
        char said[512];

        (void)state;
        setenv("NOT_THIS", "1", 1);
        assert_int_equal(run("echo \"$ONLY$NOT_THIS\"", false, said), 0);
        assert_string_equal(said, "this\n");
}

static void signals_are_as_a_fresh_program_has_them(void **state)
{
        sigset_t term, kept;
        char said[512];

        (void)state;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        signal(SIGHUP, SIG_IGN);
        sigprocmask(SIG_BLOCK, &term, &kept);
        int status = run("kill -TERM $$; echo lives", false, said);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        status = run("kill -HUP $$; echo lives", false, said);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
        sigprocmask(SIG_SETMASK, &kept, NULL);
        signal(SIGHUP, SIG_DFL);
}

static void a_session_of_its_own_is_asked_for(void **state)
{
        static const char line[] = "set -- $(cat /proc/$$/stat); [ \"$6\" = $$ ]";
        char said[512];

        (void)state;
        assert_int_equal(run(line, true, said), 0);
        assert_int_not_equal(run(line, false, said), 0);
}

static void what_cannot_be_started_is_named(void **state)
{
        const char *const argv[] = {"x", NULL};
        char *const envp[] = {NULL};
        const struct spawn spawn = {.program = "/nowhere/program", .argv = argv, .envp = envp};
        struct err err = {0};
        pid_t pid;

        (void)state;
        assert_int_equal(spawn_program(&spawn, &pid, &err), -ERR_IO);
        check_has(err.text, "/nowhere/program cannot be started: No such file");
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_has_the_handles_it_is_given_and_no_other),
                cmocka_unit_test(its_environment_is_what_it_is_given),
                cmocka_unit_test(signals_are_as_a_fresh_program_has_them),
                cmocka_unit_test(a_session_of_its_own_is_asked_for),
                cmocka_unit_test(what_cannot_be_started_is_named),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
