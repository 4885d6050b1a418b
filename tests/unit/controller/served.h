/* served.h - the real berthd as a child, with a store in a folder of the test's, on a unix socket.
 *
 * Its program is named by BERTHD. Everything here fails the test where it cannot go on.
 */
#pragma once

#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "net/client.h"

#define SERVED_ARGS_MAX 32
/* For what must come: a sanitized berthd on a busy machine is slow. */
#define SERVED_PATIENCE_MS 60000

struct served {
        char folder[64], socket[96], store[96];
        pid_t pid;
};

/* As a caller other than the one who runs it: by a token; NULL: by the uid. */
struct asked {
        unsigned status;
        char body[1 << 16];
};

static inline void served_write(const struct served *served, const char *name, const char *text)
{
        char path[128];
        struct err err;

        snprintf(path, sizeof path, "%s/%s", served->folder, name);
        if (file_write(path, text, strlen(text), &err) < 0)
                fail_msg("%s", err.text);
}

static inline void served_sleep_ms(long ms)
{
        const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

        nanosleep(&time, NULL);
}

static inline int served_dial(const struct served *served)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s", served->socket);
        for (int waited = 0; waited < SERVED_PATIENCE_MS; waited += 10) {
                if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                        return fd;
                if (waitpid(served->pid, NULL, WNOHANG) > 0)
                        fail_msg("berthd has ended: see %s/log", served->folder);
                served_sleep_ms(10);
        }
        fail_msg("nobody listens on %s", served->socket);
        return -1;
}

/* `more`: further arguments, NULL at their end; documents "pool.yaml" and "policy.yaml" of the
 * folder are given. */
static inline void served_start(struct served *served, const char *const *more)
{
        char listen[112], pool[96], policy[96], log[96];
        const char *args[SERVED_ARGS_MAX] = {getenv("BERTHD"), "--store", served->store,
                                             "--listen", listen, "--simulate", "--tick", "100ms",
                                             "--pool", pool, "--policy", policy,
                                             "--nodes-max", "64", "--workloads-max", "1000"};
        unsigned count = 16;

        assert_non_null(args[0]);
        snprintf(listen, sizeof listen, "unix:%s", served->socket);
        snprintf(pool, sizeof pool, "%s/pool.yaml", served->folder);
        snprintf(policy, sizeof policy, "%s/policy.yaml", served->folder);
        snprintf(log, sizeof log, "%s/log", served->folder);
        while (more && *more && count < SERVED_ARGS_MAX - 1)
                args[count++] = *more++;
        unlink(served->socket);
        served->pid = fork();
        assert_true(served->pid >= 0);
        if (served->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);       /* a test that fails leaves none behind */
                if (!freopen(log, "a", stderr))
                        _exit(126);
                execv(args[0], (char *const *)(uintptr_t)args);
                _exit(127);
        }
        close(served_dial(served));
}

static inline void served_end(struct served *served, int signal)
{
        int status;

        if (served->pid <= 0)
                return;
        kill(served->pid, signal);
        assert_int_equal(waitpid(served->pid, &status, 0), served->pid);
        if (signal == SIGTERM && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
                fail_msg("berthd ended badly (%x): see %s/log", (unsigned)status, served->folder);
        served->pid = 0;
}

static inline void served_new(struct served *served, const char *pool, const char *policy)
{
        *served = (struct served){0};
        assert_non_null(scratch_folder(served->folder, sizeof served->folder, "served"));
        snprintf(served->socket, sizeof served->socket, "%s/s", served->folder);
        snprintf(served->store, sizeof served->store, "%s/pool.db", served->folder);
        served_write(served, "pool.yaml", pool);
        served_write(served, "policy.yaml", policy);
}

/* Ends it well, and removes all. */
static inline void served_done(struct served *served)
{
        static const char *const names[] = {"pool.yaml", "policy.yaml", "log", "s", "pool.db",
                                            "pool.db-wal", "pool.db-shm", "pool.db.lock",
                                            "pool.db.crash",
                                            "cert.pem", "key.pem", "pool.db.authority"};
        char path[128];

        served_end(served, SIGTERM);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
                snprintf(path, sizeof path, "%s/%s", served->folder, names[n]);
                unlink(path);
        }
        assert_int_equal(rmdir(served->folder), 0);
}

/* ---- asking ---- */

/* One request on a connection of its own; `headers` are whole lines, or "". The same object each
 * time. */
static inline struct asked *served_ask(const struct served *served, const char *method,
                                       const char *path, const char *headers, const char *body)
{
        static struct asked asked;
        static char raw[1 << 17];
        size_t size = 0;
        int fd = served_dial(served);
        struct text text = {0};

        text_add(&text, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s", method, path,
                 headers);
        if (body)
                text_add(&text, "Content-Length: %zu\r\n", strlen(body));
        text_add(&text, "\r\n");
        if (body)
                text_add_bytes(&text, body, strlen(body));
        assert_int_equal(write(fd, text.bytes, text.size), (ssize_t)text.size);
        text_done(&text);
        for (ssize_t got; size < sizeof raw - 1 &&
                          (got = read(fd, raw + size, sizeof raw - 1 - size)) > 0;)
                size += (size_t)got;
        close(fd);
        raw[size] = '\0';
        asked = (struct asked){0};
        const char *end = strstr(raw, "\r\n\r\n");
        if (!end || sscanf(raw, "HTTP/1.1 %u", &asked.status) != 1)
                fail_msg("no answer to %s %s: '%s'", method, path, raw);
        snprintf(asked.body, sizeof asked.body, "%s", end + 4);
        return &asked;
}

/* The answer as JSON, which has that status. */
static inline json_t *served_json(const struct served *served, const char *method,
                                  const char *path, const char *body, unsigned status)
{
        struct asked *asked = served_ask(served, method, path, "", body);
        json_t *json = json_loads(asked->body, 0, NULL);

        if (asked->status != status || !json)
                fail_msg("%s %s: %u %s", method, path, asked->status, asked->body);
        return json;
}

/* The header line by which requests are that person's, with a new token. */
#define SERVED_HEADER_MAX 128
static inline void served_token(const struct served *served, const char *principal,
                                const char *role, const char *tenant,
                                char ret_header[SERVED_HEADER_MAX])
{
        char wish[200];

        snprintf(wish, sizeof wish, "{\"principal\": \"%s\", \"role\": \"%s\", \"tenant\": \"%s\"}",
                 principal, role, tenant);
        json_t *made = served_json(served, "POST", "/v1/tokens", wish, 201);
        snprintf(ret_header, SERVED_HEADER_MAX, "Authorization: Bearer %s\r\n",
                 json_string_value(json_object_get(made, "token")));
        json_decref(made);
}

/* Its number. */
static inline uint64_t served_submit(const struct served *served, const char *name,
                                     const char *tenant, unsigned devices, const char *sleep)
{
        char body[512];

        snprintf(body, sizeof body,
                 "kind: Workload\nname: %s\ntenant: %s\neach: {devices: %u}\n"
                 "run: {command: [sleep, \"%s\"]}\n",
                 name, tenant, devices, sleep);
        json_t *json = served_json(served, "POST", "/v1/workloads", body, 201);
        uint64_t id = (uint64_t)json_integer_value(json_object_get(json, "id"));
        json_decref(json);
        assert_true(id > 0);
        return id;
}

/* Until the workload is in that state. */
static inline void served_wait(const struct served *served, uint64_t id, const char *state)
{
        char path[64], part[64];

        snprintf(path, sizeof path, "/v1/workloads/%llu", (unsigned long long)id);
        snprintf(part, sizeof part, "\"state\":\"%s\"", state);
        for (int waited = 0; waited < SERVED_PATIENCE_MS; waited += 20) {
                if (strstr(served_ask(served, "GET", path, "", NULL)->body, part))
                        return;
                served_sleep_ms(20);
        }
        fail_msg("workload %llu does not become %s", (unsigned long long)id, state);
}

/* ---- streams ---- */

/* Begins to follow, without chunks: what comes are the bytes of the stream. */
static inline int served_follow(const struct served *served, const char *path,
                                const char *headers)
{
        int fd = served_dial(served);

        dprintf(fd, "GET %s HTTP/1.0\r\n%s\r\n", path, headers);
        return fd;
}

/* Adds what comes at once. False: nothing comes within `ms`, or it has ended. */
static inline bool served_hear_once(int fd, struct text *text, int ms)
{
        char bytes[4096];
        struct pollfd wait = {fd, POLLIN, 0};
        ssize_t got = poll(&wait, 1, ms) > 0 ? read(fd, bytes, sizeof bytes) : 0;

        if (got > 0)
                text_add_bytes(text, bytes, (size_t)got);
        return got > 0;
}

/* Adds what comes, until the text holds `until` (NULL: until the stream ends) or `ms` are over.
 * False: they were, or it ended before. */
static inline bool served_hear(int fd, struct text *text, const char *until, int ms)
{
        char bytes[4096];

        while (!until || !text->bytes || !strstr(text->bytes, until)) {
                struct pollfd wait = {fd, POLLIN, 0};
                if (poll(&wait, 1, ms) <= 0)
                        return false;
                ssize_t got = read(fd, bytes, sizeof bytes);
                if (got <= 0)
                        return !until;
                text_add_bytes(text, bytes, (size_t)got);
        }
        return true;
}

/* The events in the text behind the answer's head, from `bytes` on: without the first lines, and
 * without comments. */
static inline const char *served_events(const struct text *text)
{
        const char *body = text->bytes ? strstr(text->bytes, "\r\n\r\n") : NULL;
        const char *retry = body ? strstr(body, "retry:") : NULL;
        const char *first = retry ? strstr(retry, "\n\n") : NULL;

        return first ? first + 2 : "";
}
