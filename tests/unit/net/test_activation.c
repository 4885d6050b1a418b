#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/activation.h"

/* ---- sockets: in a child, as the service manager would start it ---- */

/* What a started service must find; its exit status says which check failed. */
static int service(unsigned sockets, const char *first_name)
{
        struct activation got = {.count = 99};
        struct err err;

        if (activation_take(&got, &err) < 0 || got.count != sockets)
                return 1;
        for (unsigned i = 0; i < got.count; i++) {
                if (!(fcntl(got.sockets[i].fd, F_GETFD) & FD_CLOEXEC))
                        return 2;
        }
        if (sockets > 0 && strcmp(got.sockets[0].name, first_name) != 0)
                return 3;
        /* Taken is taken: nobody else in this process finds them again. */
        if (getenv("LISTEN_FDS") || activation_take(&got, &err) < 0 || got.count != 0)
                return 4;
        return 0;
}

static void child(unsigned sockets, const char *names, bool is_for_us, const char *first_name)
{
        char number[16];

        for (unsigned i = 0; i < sockets; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM, 0);
                if (fd != (int)(3 + i) && (dup2(fd, (int)(3 + i)) < 0 || close(fd) < 0))
                        _exit(10);
        }
        snprintf(number, sizeof number, "%d", is_for_us ? (int)getpid() : 1);
        setenv("LISTEN_PID", number, 1);
        snprintf(number, sizeof number, "%u", sockets);
        setenv("LISTEN_FDS", number, 1);
        if (names)
                setenv("LISTEN_FDNAMES", names, 1);
        _exit(service(is_for_us ? sockets : 0, first_name));
}

static void sockets_are_taken_with_their_names(void **state)
{
        (void)state;
        static const struct {
                unsigned sockets;
                const char *names;
                bool is_for_us;
                const char *first_name;
        } rows[] = {
                {1, "api", true, "api"},
                {2, "api:metrics", true, "api"},
                {2, NULL, true, "unknown"},
                {1, "api", false, ""}, /* meant for another process */
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int status;
                pid_t pid = fork();
                if (pid == 0)
                        child(rows[i].sockets, rows[i].names, rows[i].is_for_us,
                              rows[i].first_name);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                        fail_msg("row %zu: %x", i, (unsigned)status);
        }
}

static void without_a_manager_there_are_none(void **state)
{
        (void)state;
        struct activation got = {.count = 99};
        struct err err;
        assert_int_equal(activation_take(&got, &err), 0);
        assert_int_equal(got.count, 0);
        assert_false(activation_ready("ready"));
        assert_false(activation_alive());
        assert_int_equal(activation_watchdog_ms(), 0);
}

/* ---- telling: a socket in the manager's place ---- */

static const char *heard(int fd)
{
        static char text[512];
        ssize_t size = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);

        if (size < 0)
                fail_msg("nothing was told: %s", strerror(errno));
        text[size] = '\0';
        return text;
}

static void the_manager_is_told(void **state)
{
        (void)state;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        snprintf(address.sun_path, sizeof address.sun_path, "/tmp/berth-notify-%d.sock",
                 (int)getpid());
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        setenv("NOTIFY_SOCKET", address.sun_path, 1);
        assert_true(activation_ready("serving 12 nodes"));
        assert_string_equal(heard(fd), "READY=1\nSTATUS=serving 12 nodes");
        assert_true(activation_ready(NULL));
        assert_string_equal(heard(fd), "READY=1");
        assert_true(activation_stopping("draining\nWATCHDOG=trigger"));
        assert_string_equal(heard(fd), "STOPPING=1\nSTATUS=draining");
        assert_true(activation_reloading());
        check_has(heard(fd), "RELOADING=1\nMONOTONIC_USEC=");
        assert_true(activation_alive());
        assert_string_equal(heard(fd), "WATCHDOG=1");
        setenv("WATCHDOG_USEC", "30000000", 1);
        assert_int_equal(activation_watchdog_ms(), 15000);
        setenv("WATCHDOG_PID", "1", 1); /* another process's watchdog */
        assert_int_equal(activation_watchdog_ms(), 0);
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        unlink(address.sun_path);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sockets_are_taken_with_their_names),
                cmocka_unit_test(without_a_manager_there_are_none),
                cmocka_unit_test(the_manager_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
