#include "agent/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/beside.h"
#include "agent/exchange.h"
#include "agent/folder.h"
#include "agent/link.h"
#include "agent/say.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define PIECE_BYTES    16384
#define WAIT_MS        10000    /* that the controller may keep a call */
#define SLACK_MS       10000
#define LOOK_MS        200      /* whether it is to stop */
#define ALIVE_MS       10000    /* with nothing to say, so often it is said that we are there */
#define PACE_US        2000     /* between two calls, of all sessions, in the long run: terminals
                                   are to take only a part of what a node may ask */
#define AHEAD_US       100000   /* what was not asked in so long may be asked at once */
#define AGAIN_MS       200      /* after a call that failed */
#define NODE_MAX       400
#define PATH_MAX_BYTES (NODE_MAX + 256)
#define PAST_COUNT     256      /* sessions are remembered: the controller may ask again */
#define CANNOT_EXIT    126
#define TOO_OFTEN      429

struct session {
        struct attaches *attaches;
        pthread_t thread;
        bool is_used;                   /* of the slot; under the lock */
        bool has_gone;                  /* the thread is at its end: to be joined */
        char id[EXCHANGE_SESSION_MAX];
        struct run_key key;
        struct beside_ask ask;
        struct arena *arena;            /* of `ask` */
        struct beside beside;
        struct client *out_client, *in_client;
        uint64_t said;                  /* bytes of the program that the controller has */
        int64_t said_ms;                /* when that was said; steady */
        atomic_bool is_over;            /* both threads are to end */
};

struct attaches {
        struct client_setup client;
        char node[NODE_MAX];
        const struct folder *folder;
        pthread_mutex_t lock;           /* of all below */
        int64_t next_us;                /* when the next call may be made */
        struct session sessions[ATTACHES_MAX];
        char past[PAST_COUNT][EXCHANGE_SESSION_MAX];
        size_t past_at;
};

/* ---- calls ---- */

static void wait_for_turn(struct attaches *attaches)
{
        int64_t now_us = time_monotonic_ns() / 1000;

        pthread_mutex_lock(&attaches->lock);
        if (attaches->next_us < now_us - AHEAD_US)
                attaches->next_us = now_us - AHEAD_US;
        int64_t at_us = attaches->next_us;
        attaches->next_us += PACE_US;
        pthread_mutex_unlock(&attaches->lock);
        if (at_us > now_us)
                usleep((useconds_t)(at_us - now_us));
}

/* Over and over until it is answered, for a while. The status; 0: nobody has. */
static unsigned insist(struct session *session, struct client *client,
                       const struct client_request *request, struct client_answer *ret_answer)
{
        int64_t until_ms = time_lease_ms() + request->timeout_ms + ATTACH_RETRY_MS;

        *ret_answer = (struct client_answer){0};
        while (!session->is_over && time_lease_ms() < until_ms) {
                wait_for_turn(session->attaches);
                int rc = client_call(client, request, ret_answer, NULL);
                if (rc == 0 && ret_answer->status < 500 && ret_answer->status != TOO_OFTEN)
                        return ret_answer->status;
                if (rc == 0)
                        client_answer_done(ret_answer);
                usleep(AGAIN_MS * 1000);
        }
        return 0;
}

/* Says a piece, as fast as whoever looks takes it. `exit_code` -1: it has not ended. False: nobody
 * wants to hear more. */
static bool say_piece(struct session *session, const char *bytes, size_t size, int exit_code)
{
        char path[PATH_MAX_BYTES], end[32] = "";
        uint64_t begin = session->said, taken;

        if (exit_code >= 0)
                snprintf(end, sizeof end, "&exit=%d", exit_code);
        do {
                size_t done = (size_t)(session->said - begin);
                struct client_answer answer;
                snprintf(path, sizeof path,
                         "/v1/nodes/%s/attachments/%s/output?offset=%" PRIu64 "%s",
                         session->attaches->node, session->id, session->said, end);
                const struct client_request request = {
                        .method = "POST",
                        .path = path,
                        .type = "application/octet-stream",
                        .body = bytes + done,
                        .body_size = size - done,
                        .timeout_ms = WAIT_MS + SLACK_MS,
                };
                unsigned status = insist(session, session->out_client, &request, &answer);
                bool is_good = status == 200 &&
                               sscanf(answer.body, "{\"offset\":%" SCNu64 "}", &taken) == 1 &&
                               taken >= session->said && taken <= begin + size;
                client_answer_done(&answer);
                if (!is_good)
                        return false;
                session->said = taken;
                session->said_ms = time_lease_ms();
        } while (session->said < begin + size);
        return true;
}

/* ---- from the program ---- */

/* What there is. False: nobody wants it, or (with *ret_ended) there will be no more. */
static bool pass_on(struct session *session, bool *ret_ended)
{
        char bytes[PIECE_BYTES];
        ssize_t got = read(session->beside.out, bytes, sizeof bytes);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (got <= 0) {                 /* a terminal without a program: EIO */
                *ret_ended = true;
                return false;
        }
        return say_piece(session, bytes, (size_t)got, -1);
}

static bool is_readable(int fd, int wait_ms)
{
        struct pollfd look = {.fd = fd, .events = POLLIN};

        return poll(&look, 1, wait_ms) > 0;
}

/* What it wrote before it ended; what it left behind may go on writing, unheard. */
static void pass_on_rest(struct session *session)
{
        bool ended = false;
        size_t pieces = 0;

        while (!session->is_over && pieces++ < 64 && is_readable(session->beside.out, 0) &&
               pass_on(session, &ended))
                ;
}

static void follow(struct session *session)
{
        bool ended = false;
        int exit_code = -1;

        while (!session->is_over && exit_code < 0) {
                struct pollfd polls[] = {
                        {.fd = session->beside.socket, .events = POLLIN},
                        {.fd = ended ? -1 : session->beside.out, .events = POLLIN},
                };
                if (poll(polls, 2, LOOK_MS) < 0)
                        continue;
                if (polls[1].revents && !pass_on(session, &ended) && !ended)
                        return;
                if (polls[0].revents)
                        exit_code = beside_exit(session->beside.socket);
                /* The other thread may be held up by a program that does not read. */
                if (exit_code < 0 && time_lease_ms() - session->said_ms >= ALIVE_MS &&
                    !say_piece(session, "", 0, -1))
                        return;
        }
        if (session->is_over)
                return;
        if (!ended)
                pass_on_rest(session);
        (void)say_piece(session, "", 0, exit_code);
}

/* ---- to the program ---- */

/* False: it takes no more. */
static bool type(struct session *session, const char *bytes, size_t size)
{
        while (size > 0 && !session->is_over) {
                struct pollfd look = {.fd = session->beside.in, .events = POLLOUT};
                if (poll(&look, 1, LOOK_MS) <= 0)
                        continue;
                ssize_t put = write(session->beside.in, bytes, size);
                if (put < 0 && errno != EAGAIN && errno != EINTR)
                        return false;
                if (put > 0) {
                        bytes += put;
                        size -= (size_t)put;
                }
        }
        return true;
}

static void set_window(const struct session *session, struct client *client)
{
        uint64_t rows = 0, columns = 0;

        if (client_header_u64(client, "Berth-Rows", &rows) &&
            client_header_u64(client, "Berth-Columns", &columns)) {
                const struct winsize size = {.ws_row = (unsigned short)rows,
                                             .ws_col = (unsigned short)columns};
                (void)ioctl(session->beside.in, TIOCSWINSZ, &size);
        }
}

/* A terminal has no end of its own; a pipe has. */
static void end_input(struct session *session, bool *was_ended)
{
        if (*was_ended || session->ask.term[0])
                return;
        close(session->beside.in);
        session->beside.in = -1;
        *was_ended = true;
}

static void *listen_to(void *arg)
{
        struct session *session = arg;
        struct client *client = session->in_client;
        uint64_t offset = 0, window = 0;
        bool ended = false, takes = true;

        while (!session->is_over) {
                char path[PATH_MAX_BYTES], end[8];
                struct client_answer answer = {0};
                uint64_t now_window = window;
                snprintf(path, sizeof path,
                         "/v1/nodes/%s/attachments/%s/input?offset=%" PRIu64 "&wait_ms=%d"
                         "&window=%" PRIu64 "&ended=%s",
                         session->attaches->node, session->id, offset, WAIT_MS, window,
                         ended ? "true" : "false");
                const struct client_request request = {.path = path,
                                                       .timeout_ms = WAIT_MS + SLACK_MS};
                if (insist(session, client, &request, &answer) != 200) {
                        client_answer_done(&answer);
                        break;
                }
                client_header(client, "Berth-End", end, sizeof end);
                if (client_header_u64(client, "Berth-Window", &now_window) && now_window != window)
                        set_window(session, client);
                window = now_window;
                takes = takes && !ended && type(session, answer.body, answer.size);
                offset += answer.size;
                if (end[0])
                        end_input(session, &ended);
                client_answer_done(&answer);
        }
        session->is_over = true;
        client_stop(session->out_client);
        return NULL;
}

/* ---- a session ---- */

static void run_session(struct session *session)
{
        pthread_t listener;

        session->said_ms = time_lease_ms();
        fcntl(session->beside.in, F_SETFL, O_NONBLOCK);
        fcntl(session->beside.out, F_SETFL, O_NONBLOCK);
        if (pthread_create(&listener, NULL, listen_to, session) != 0)
                return;
        follow(session);
        session->is_over = true;
        client_stop(session->in_client);
        pthread_join(listener, NULL);
}

static void close_beside(struct beside *beside)
{
        close(beside->socket);          /* hangs up what is still there */
        if (beside->in >= 0)
                close(beside->in);
        close(beside->out);
}

static void try_session(struct session *session)
{
        char folder[FOLDER_PATH_MAX], text[RUN_KEY_TEXT_MAX], words[300];
        struct err err = {0};

        folder_path(session->attaches->folder, session->key, "", folder);
        if (beside_start(folder, &session->ask, &session->beside, &err) < 0) {
                say(SAY_WARN, "no terminal beside run", "run=%s error=\"%s\"",
                    run_key_text(session->key, text), err.text);
                int size = snprintf(words, sizeof words, "berth: %s\r\n", err.text);
                (void)say_piece(session, words, (size_t)size, CANNOT_EXIT);
                return;
        }
        say(SAY_INFO, "terminal beside run opened", "run=%s", run_key_text(session->key, text));
        run_session(session);
        close_beside(&session->beside);
        say(SAY_INFO, "terminal beside run closed", "run=%s", run_key_text(session->key, text));
}

static void *serve(void *arg)
{
        struct session *session = arg;
        struct attaches *attaches = session->attaches;

        try_session(session);
        pthread_mutex_lock(&attaches->lock);
        session->has_gone = true;
        pthread_mutex_unlock(&attaches->lock);
        return NULL;
}

/* With the lock held, of one whose thread is at its end or was not started. */
static void clear(struct session *session)
{
        client_free(session->in_client);
        client_free(session->out_client);
        arena_free(session->arena);
        memset(session, 0, sizeof *session);
}

static int copy_ask(struct session *session, const struct exchange_attach *wanted)
{
        session->arena = arena_new(0, 0);
        if (!session->arena)
                return -ERR_NOMEM;
        const char **command = arena_array(session->arena, wanted->command_count + 1,
                                           sizeof *command);
        const char *term = arena_text(session->arena, wanted->term, strlen(wanted->term));
        if (!command || !term)
                return -ERR_NOMEM;
        for (uint32_t i = 0; i < wanted->command_count; i++)
                if (!(command[i] = arena_text(session->arena, wanted->command[i],
                                              strlen(wanted->command[i]))))
                        return -ERR_NOMEM;
        session->ask = (struct beside_ask){term, wanted->rows, wanted->columns, command,
                                           wanted->command_count};
        return 0;
}

/* With the lock held. */
static int begin(struct attaches *attaches, struct session *session,
                 const struct exchange_attach *wanted)
{
        session->attaches = attaches;
        session->key = wanted->key;
        str_copy(session->id, sizeof session->id, wanted->session);
        if (copy_ask(session, wanted) < 0 ||
            client_new(&attaches->client, &session->in_client, NULL) < 0 ||
            client_new(&attaches->client, &session->out_client, NULL) < 0 ||
            pthread_create(&session->thread, NULL, serve, session) != 0)
                return -ERR_IO;
        session->is_used = true;
        str_copy(attaches->past[attaches->past_at++ % PAST_COUNT], EXCHANGE_SESSION_MAX,
                 wanted->session);
        return 0;
}

static bool is_known(const struct attaches *attaches, const char *id)
{
        for (size_t i = 0; i < PAST_COUNT; i++)
                if (str_equal(attaches->past[i], id))
                        return true;
        return false;
}

void attaches_start(struct attaches *attaches, const struct exchange_attach *wanted)
{
        pthread_mutex_lock(&attaches->lock);
        for (size_t i = 0; i < ATTACHES_MAX; i++) {
                struct session *session = &attaches->sessions[i];
                if (session->is_used && session->has_gone) {
                        pthread_join(session->thread, NULL);
                        clear(session);
                }
        }
        for (size_t i = 0; i < ATTACHES_MAX && !is_known(attaches, wanted->session); i++) {
                struct session *session = &attaches->sessions[i];
                if (session->is_used)
                        continue;
                if (begin(attaches, session, wanted) == 0)
                        break;
                say(SAY_ERROR, "no terminal can be opened", "workload=%" PRIu64,
                    wanted->key.workload);
                clear(session);
                break;
        }
        pthread_mutex_unlock(&attaches->lock);
}

struct attaches *attaches_new(const struct client_setup *client, const char *node,
                              const struct folder *folder)
{
        struct attaches *attaches = mem_new(1, sizeof *attaches);

        if (!attaches)
                return NULL;
        attaches->client = *client;
        attaches->folder = folder;
        str_copy(attaches->node, sizeof attaches->node, node);
        pthread_mutex_init(&attaches->lock, NULL);
        return attaches;
}

void attaches_free(struct attaches *attaches)
{
        if (!attaches)
                return;
        for (size_t i = 0; i < ATTACHES_MAX; i++) {
                struct session *session = &attaches->sessions[i];
                if (!session->is_used)
                        continue;
                session->is_over = true;
                client_stop(session->in_client);
                client_stop(session->out_client);
                pthread_join(session->thread, NULL);
                clear(session);
        }
        pthread_mutex_destroy(&attaches->lock);
        mem_free(attaches);
}
