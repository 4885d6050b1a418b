/* Programs beside a run: asked for through its socket, started, hung up. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/beside.h"
#include "agent/supervisor_impl.h"
#include "base/err.h"

#define WORDS_MAX      1024
#define HANGUP_MS      2000     /* from HUP to KILL */
#define BACKLOG        16

/* ---- listening ---- */

void besides_open(struct besides *besides, const char *run_folder)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char path[FOLDER_PATH_MAX + 16];
        int folder = open(run_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

        besides->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        for (size_t i = 0; i < BESIDE_MAX; i++)
                besides->list[i].socket = -1;
        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
                 BESIDE_NAME);
        snprintf(path, sizeof path, "%s/%s", run_folder, BESIDE_NAME);
        /* A run without it runs as well. */
        if (besides->listener >= 0 &&
            (folder < 0 ||
             bind(besides->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
             chmod(path, 0600) < 0 || listen(besides->listener, BACKLOG) < 0)) {
                close(besides->listener);
                besides->listener = -1;
        }
        if (folder >= 0)
                close(folder);
}

static bool say(int socket, enum beside_kind kind, int value, const char *text, const int *handles,
                size_t count)
{
        struct beside_word word = {.kind = (int32_t)kind, .value = value};
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(2 * sizeof(int))];
        } control = {0};
        struct iovec piece = {&word, sizeof word};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

        snprintf(word.text, sizeof word.text, "%s", text);
        if (count > 0) {
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(count * sizeof(int));
                struct cmsghdr *header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(count * sizeof(int));
                memcpy(CMSG_DATA(header), handles, count * sizeof(int));
        }
        return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof word;
}

/* ---- starting one ---- */

/* The ends of what it is connected by: ours, to be handed on, and the program's. */
struct ends {
        int in, out, child_in, child_out;
};

static void close_ends(struct ends *ends)
{
        const int all[] = {ends->in, ends->out, ends->child_in, ends->child_out};

        for (size_t i = 0; i < 4; i++)
                if (all[i] >= 0)
                        close(all[i]);
}

/* Both ends are the same one, as two handles. */
static int open_terminal(const struct launch_order *order, const struct beside_ask *ask,
                         struct ends *ends, struct err *err)
{
        struct winsize size = {.ws_row = (unsigned short)ask->rows,
                               .ws_col = (unsigned short)ask->columns};
        char name[64];

        ends->in = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (ends->in < 0 || grantpt(ends->in) < 0 || unlockpt(ends->in) < 0 ||
            ptsname_r(ends->in, name, sizeof name) != 0 ||
            (ends->child_in = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 ||
            ioctl(ends->in, TIOCSWINSZ, &size) < 0)
                return err_set(err, ERR_IO, "no terminal can be made: %s", strerror(errno));
        /* Programs open it by its name too. Where we may not give it away it is ours, as they are. */
        if (fchown(ends->child_in, order->uid, (gid_t)-1) < 0 && geteuid() == 0)
                return err_set(err, ERR_IO, "its terminal: %s", strerror(errno));
        ends->out = fcntl(ends->in, F_DUPFD_CLOEXEC, 3);
        ends->child_out = fcntl(ends->child_in, F_DUPFD_CLOEXEC, 3);
        return ends->out < 0 || ends->child_out < 0
                       ? err_set(err, ERR_IO, "its terminal: %s", strerror(errno))
                       : 0;
}

static int open_pipes(struct ends *ends, struct err *err)
{
        int in[2], out[2];

        if (pipe2(in, O_CLOEXEC) < 0)
                return err_set(err, ERR_IO, "no pipe can be made: %s", strerror(errno));
        ends->child_in = in[0];
        ends->in = in[1];
        if (pipe2(out, O_CLOEXEC) < 0)
                return err_set(err, ERR_IO, "no pipe can be made: %s", strerror(errno));
        ends->out = out[0];
        ends->child_out = out[1];
        return 0;
}

static int start(const struct besides *besides, const struct beside_ask *ask, struct ends *ends,
                 pid_t *ret_pid, struct err *err)
{
        int rc = ask->term[0] ? open_terminal(besides->order, ask, ends, err)
                              : open_pipes(ends, err);

        if (rc < 0)
                return rc;
        const struct beside_child child = {
                .order = besides->order,
                .cage = besides->cage,
                .supervisor = getpid(),
                .command = ask->command_count > 0 ? ask->command : NULL,
                .term = ask->term,
                .in = ends->child_in,
                .out = ends->child_out,
        };
        pid_t pid = fork();
        if (pid < 0)
                return err_set(err, ERR_IO, "it cannot be started: %s", strerror(errno));
        if (pid == 0)
                child_beside(&child);
        *ret_pid = pid;
        return 0;
}

static void drop(struct beside_run *beside)
{
        close(beside->socket);
        *beside = (struct beside_run){.socket = -1};
}

static void take_ask(struct besides *besides, struct beside_run *beside, bool is_running)
{
        static char bytes[BESIDE_ASK_MAX];
        static const char *words[WORDS_MAX + 1];
        struct ends ends = {-1, -1, -1, -1};
        struct beside_ask ask;
        struct err err = {0};
        ssize_t got = recv(beside->socket, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);

        if (got < 0 && errno == EAGAIN)
                return;
        int rc = got <= 0 || (size_t)got > sizeof bytes
                         ? err_set(&err, ERR_INPUT, "an ask that is too long")
                         : beside_read(bytes, (size_t)got, words, WORDS_MAX, &ask, &err);
        if (rc == 0 && !is_running)
                rc = err_set(&err, ERR_EXISTS, "it does not run now");
        if (rc == 0)
                rc = start(besides, &ask, &ends, &beside->pid, &err);
        const int handles[] = {ends.in, ends.out};
        if (rc == 0)
                (void)say(beside->socket, BESIDE_STARTED, 0, "", handles, 2);
        else
                (void)say(beside->socket, BESIDE_REFUSED, (int)err.code, err.text, NULL, 0);
        close_ends(&ends);
        if (rc < 0)
                drop(beside);
}

static void accept_one(struct besides *besides)
{
        int fd = accept4(besides->listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
                return;
        for (size_t i = 0; i < BESIDE_MAX; i++)
                if (besides->list[i].socket < 0 && besides->list[i].pid == 0) {
                        besides->list[i].socket = fd;
                        return;
                }
        (void)say(fd, BESIDE_REFUSED, ERR_FULL, "there are as many terminals beside it as may be",
                  NULL, 0);
        close(fd);
}

/* ---- ending one ---- */

/* Nobody listens any more. Its terminal has gone with its other end, which says so to the programs
 * in front; one with pipes is told here. */
static void hang_up(struct beside_run *beside, int64_t now_ms)
{
        close(beside->socket);
        beside->socket = -1;
        beside->kill_ms = now_ms + HANGUP_MS;
        (void)kill(-beside->pid, SIGHUP);
        (void)kill(-beside->pid, SIGCONT);
}

static void hear(struct besides *besides, struct beside_run *beside, bool is_running,
                 int64_t now_ms)
{
        char byte;

        if (beside->pid == 0)
                take_ask(besides, beside, is_running);
        else if (recv(beside->socket, &byte, 1, MSG_DONTWAIT) == 0)
                hang_up(beside, now_ms);
}

size_t besides_fill(const struct besides *besides, struct pollfd *polls)
{
        polls[0] = (struct pollfd){.fd = besides->listener, .events = POLLIN};
        for (size_t i = 0; i < BESIDE_MAX; i++)
                polls[1 + i] = (struct pollfd){.fd = besides->list[i].socket, .events = POLLIN};
        return BESIDE_MAX + 1;
}

void besides_hear(struct besides *besides, const struct pollfd *polls, bool is_running,
                  int64_t now_ms)
{
        for (size_t i = 0; i < BESIDE_MAX; i++)
                if (polls[1 + i].fd >= 0 && polls[1 + i].revents)
                        hear(besides, &besides->list[i], is_running, now_ms);
        if (polls[0].fd >= 0 && polls[0].revents)
                accept_one(besides);
}

int besides_press(struct besides *besides, int64_t now_ms)
{
        int wait = -1;

        for (size_t i = 0; i < BESIDE_MAX; i++) {
                struct beside_run *beside = &besides->list[i];
                if (beside->kill_ms == 0)
                        continue;
                if (now_ms >= beside->kill_ms) {
                        (void)kill(-beside->pid, SIGKILL);
                        beside->kill_ms = now_ms + HANGUP_MS;
                }
                int left = (int)(beside->kill_ms - now_ms);
                wait = wait < 0 || left < wait ? left : wait;
        }
        return wait;
}

void besides_reaped(struct besides *besides, pid_t pid, int status)
{
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

        for (size_t i = 0; i < BESIDE_MAX; i++) {
                struct beside_run *beside = &besides->list[i];
                if (beside->pid != pid)
                        continue;
                beside->pid = 0;
                beside->kill_ms = 0;
                if (beside->socket < 0)
                        continue;
                (void)say(beside->socket, BESIDE_ENDED, code, "", NULL, 0);
                drop(beside);
        }
}
