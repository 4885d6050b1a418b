#include "agent/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define ANSWER_S 10

/* ---- an ask ---- */

static void write_ask(const struct beside_ask *ask, struct text *text)
{
        const struct beside_head head = {ask->rows, ask->columns, ask->command_count};

        text_add_bytes(text, (const char *)&head, sizeof head);
        text_add_bytes(text, ask->term, strlen(ask->term) + 1);
        for (uint32_t i = 0; i < ask->command_count; i++)
                text_add_bytes(text, ask->command[i], strlen(ask->command[i]) + 1);
}

/* The next text of the message; NULL: it does not end in it. */
static const char *next_text(const char **at, const char *end)
{
        const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

        if (!nul)
                return NULL;
        *at = nul + 1;
        return text;
}

int beside_read(const char *bytes, size_t size, const char **words, size_t words_max,
                struct beside_ask *ret_ask, struct err *err)
{
        struct beside_head head;
        const char *at = bytes + sizeof head, *end = bytes + size, *term;

        if (size <= sizeof head)
                return err_set(err, ERR_INPUT, "an ask of %zu bytes is none", size);
        memcpy(&head, bytes, sizeof head);
        term = next_text(&at, end);
        if (!term || head.words > words_max || head.rows == 0 || head.rows > UINT16_MAX ||
            head.columns == 0 || head.columns > UINT16_MAX)
                return err_set(err, ERR_INPUT, "an ask with %u words for a window of %u x %u",
                               head.words, head.rows, head.columns);
        for (uint32_t i = 0; i < head.words; i++)
                if (at == end || !(words[i] = next_text(&at, end)))
                        return err_set(err, ERR_INPUT, "word %u of an ask is missing", i);
        if (at != end || (head.words > 0 && !words[0][0]))
                return err_set(err, ERR_INPUT, "an ask names no program, or has more than it says");
        words[head.words] = NULL;
        *ret_ask = (struct beside_ask){term, head.rows, head.columns, words, head.words};
        return 0;
}

/* ---- the agent's end ----
 *
 * With a time limit on the socket a wait ends with EINTR when the process was stopped and goes on,
 * also without a handler: it is begun again.
 */

static bool is_connected(int fd, const struct sockaddr_un *address)
{
        int rc;

        do
                rc = connect(fd, (const struct sockaddr *)address, sizeof *address);
        while (rc < 0 && errno == EINTR);
        return rc == 0;
}

/* By the folder's handle: the path may be longer than an address takes. */
static int dial(const char *run_folder, struct err *err)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const struct timeval patience = {.tv_sec = ANSWER_S};
        int folder = open(run_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int fd = folder < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder,
                 BESIDE_NAME);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
                        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ||
                        !is_connected(fd, &address))) {
                close(fd);
                fd = -1;
        }
        int system = errno;
        if (folder >= 0)
                close(folder);
        if (fd < 0)
                return err_set(err, ERR_EXISTS, "it does not run on this node any more (%s)",
                               strerror(system));
        return fd;
}

/* The one or two handles that came along. */
static void take_handles(struct msghdr *message, struct beside *beside)
{
        struct cmsghdr *control = CMSG_FIRSTHDR(message);
        int handles[2] = {-1, -1};

        if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
            control->cmsg_len <= CMSG_LEN(sizeof handles))
                memcpy(handles, CMSG_DATA(control), control->cmsg_len - CMSG_LEN(0));
        beside->in = handles[0];
        beside->out = handles[1];
}

static int hear_started(struct beside *beside, struct err *err)
{
        struct beside_word word = {0};
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(2 * sizeof(int))];
        } control = {0};
        struct iovec piece = {&word, sizeof word};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t got;

        do
                got = recvmsg(beside->socket, &message, MSG_CMSG_CLOEXEC);
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof word)
                return err_set(err, ERR_IO, "its supervisor does not answer");
        take_handles(&message, beside);
        word.text[sizeof word.text - 1] = '\0';
        if (word.kind == BESIDE_STARTED && beside->in >= 0 && beside->out >= 0)
                return 0;
        enum err_code code = word.value == ERR_FULL || word.value == ERR_EXISTS
                                     ? (enum err_code)word.value
                                     : ERR_IO;
        return err_set(err, code, "%s", word.text[0] ? word.text : "it was not started");
}

int beside_start(const char *run_folder, const struct beside_ask *ask, struct beside *ret_beside,
                 struct err *err)
{
        struct beside beside = {.in = -1, .out = -1};
        struct text text = {0};
        int rc;

        write_ask(ask, &text);
        if (text.failed || text.size > BESIDE_ASK_MAX)
                rc = err_set(err, text.failed ? ERR_NOMEM : ERR_RANGE,
                             "the command has more than %d bytes", BESIDE_ASK_MAX);
        else
                rc = dial(run_folder, err);
        beside.socket = rc;
        if (rc >= 0) {
                ssize_t put;
                do
                        put = send(beside.socket, text.bytes, text.size, MSG_NOSIGNAL);
                while (put < 0 && errno == EINTR);
                rc = put == (ssize_t)text.size
                             ? hear_started(&beside, err)
                             : err_set(err, ERR_IO, "its supervisor does not listen");
        }
        text_done(&text);
        if (rc == 0) {
                *ret_beside = beside;
                return 0;
        }
        if (beside.socket >= 0)
                close(beside.socket);
        if (beside.in >= 0)
                close(beside.in);
        if (beside.out >= 0)
                close(beside.out);
        return rc;
}

int beside_exit(int socket)
{
        struct beside_word word;
        ssize_t got = recv(socket, &word, sizeof word, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return -1;
        return got == (ssize_t)sizeof word && word.kind == BESIDE_ENDED ? word.value & 255 : 255;
}
