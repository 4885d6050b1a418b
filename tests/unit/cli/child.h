/* child.h - `berth ...` in a process of its own, with files in a folder of the test's. */
#pragma once

#include "tests/scratch.h"
#include "tests/unit/check.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/command.h"

#define CHILD_ARGS_MAX 24
#define CHILD_PATIENCE_MS 60000

/* A scenario over the file `jobs.csv`; lines may follow it. */
#define JOBS_SCENARIO                                                            \
        "kind: Replay\n"                                                         \
        "name: small\n"                                                          \
        "pool: {nodes: 1, devices_per_node: 8, model: V100}\n"                   \
        "workload:\n"                                                            \
        "  jobs_csv: jobs.csv\n"                                                 \
        "  columns: {submit: at, duration: ran, devices: gpus, tenant: team}\n"  \
        "  checkpoint: {every: 5m, restart: 60s}\n"

static char folder[64];

/* The path of a file there; the last 32 results stay. */
static inline const char *path_of(const char *name)
{
        static char paths[32][96];
        static unsigned at;
        char *path = paths[at++ % 32];

        snprintf(path, sizeof paths[0], "%s/%s", folder, name);
        return path;
}

static inline int open_child_folder(void)
{
        return scratch_folder(folder, sizeof folder, "cli") ? 0 : -1;
}

/* Removes these files; any other one there is a failure. */
static inline int close_child_folder(const char *const *names, size_t count)
{
        for (size_t n = 0; n < count; n++)
                unlink(path_of(names[n]));
        return rmdir(folder);
}

static inline void put(const char *name, const char *text)
{
        struct err err = {0};

        if (file_write(path_of(name), text, strlen(text), &err) < 0)
                fail_msg("%s", err.text);
}

/* `jobs.csv`: so many that a thousand seeds take seconds, and one a moment. */
static inline void put_many_jobs(void)
{
        char text[4096];
        size_t used = (size_t)snprintf(text, sizeof text, "at,ran,gpus,team\n");

        for (unsigned j = 0; j < 60; j++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%u,%u,%u,%s\n",
                                         1700000000 + 60 * j, 600 + j % 7 * 600, 1 + j % 8,
                                         j % 3 ? "a" : "b");
        put("jobs.csv", text);
}

/* Freed with mem_free(). */
static inline char *text_of(const char *name)
{
        struct err err = {0};
        char *text = NULL;
        size_t size = 0;

        if (file_read(path_of(name), 1 << 22, &text, &size, &err) < 0)
                fail_msg("%s", err.text);
        return text;
}

/* The file `err` holds the part. */
static inline void check_err(const char *part)
{
        char *text = text_of("err");

        check_has(text, part);
        mem_free(text);
}

/* Starts it; its output goes to the file `out`, what it says of errors to `err`. */
static inline pid_t start_child(const char *const *args)
{
        const char *argv[CHILD_ARGS_MAX] = {"berth"};
        int argc = 1;

        while (*args && argc < CHILD_ARGS_MAX - 1)
                argv[argc++] = *args++;
        fflush(NULL);
        pid_t child = fork();
        if (child != 0)
                return child;
        if (!freopen(path_of("out"), "w", stdout) || !freopen(path_of("err"), "w", stderr))
                _exit(99);
        setvbuf(stderr, NULL, _IONBF, 0);       /* as it is when a program starts */
        int rc = command_main(argc, (char **)argv);
        fflush(NULL);
        _exit(rc);
}

/* Its exit code; -1: a signal ended it. */
static inline int end_child(pid_t child)
{
        int status;

        assert_true(child > 0);
        assert_true(waitpid(child, &status, 0) == child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* `berth LINE`, split at blanks; the '@' that a word begins with stands for `at`. Its exit code. */
static inline int run_line(const char *line, const char *at)
{
        static char copy[512], words[CHILD_ARGS_MAX][1024];
        const char *args[CHILD_ARGS_MAX] = {NULL};
        int count = 0;

        snprintf(copy, sizeof copy, "%s", line);
        for (char *word = strtok(copy, " "); word && count < CHILD_ARGS_MAX - 1;
             word = strtok(NULL, " ")) {
                bool is_at = word[0] == '@';
                snprintf(words[count], sizeof words[0], "%s%s", is_at ? at : "", word + is_at);
                args[count] = words[count];
                count++;
        }
        return end_child(start_child(args));
}

/* A line, how it ends, and parts of what it prints and of what it says. */
struct child_row {
        const char *line;
        int code;
        const char *out, *err;
};

static inline void check_rows(const struct child_row *rows, size_t count, const char *at)
{
        for (size_t i = 0; i < count; i++) {
                int code = run_line(rows[i].line, at);
                char *out = text_of("out"), *err = text_of("err");
                if (code != rows[i].code)
                        fail_msg("'%s' ended with %d: %s", rows[i].line, code, err);
                check_has(out, rows[i].out);
                check_has(err, rows[i].err);
                mem_free(out);
                mem_free(err);
        }
}

/* Interrupts it once it has printed that. */
static inline int interrupt_child_behind(const char *const *args, const char *part)
{
        const struct timespec pause = {.tv_nsec = 10000000};
        bool is_there = false;

        put("out", "");
        pid_t child = start_child(args);
        for (int waited_ms = 0; !is_there && waited_ms < CHILD_PATIENCE_MS; waited_ms += 10) {
                nanosleep(&pause, NULL);
                char *out = text_of("out");
                is_there = strstr(out, part);
                mem_free(out);
        }
        kill(child, SIGINT);
        int code = end_child(child);
        if (!is_there)
                fail_msg("it never printed '%s'", part);
        return code;
}

/* Interrupts it after a while; too soon, before it listens, the while is made longer. */
static inline int interrupt_child(const char *const *args)
{
        for (long wait_ms = 300;; wait_ms *= 2) {
                struct timespec pause = {wait_ms / 1000, wait_ms % 1000 * 1000000};
                pid_t child = start_child(args);
                nanosleep(&pause, NULL);
                kill(child, SIGINT);
                int code = end_child(child);
                if (code >= 0 || wait_ms > 10000)
                        return code;
        }
}
