/* supervisor_impl.h - the inside of a supervisor, for agent/supervisor*.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/beside.h"
#include "agent/cage.h"
#include "agent/folder.h"

struct arena;
struct err;
struct pollfd;

/* The object "launch" of run.json. */
struct launch_order {
        char **command, **variables;    /* both end with NULL */
        const char *workdir, *account, *boot;
        const char *cages;              /* "" = none */
        char **secrets;                 /* names, ending with NULL; NULL: it wants none */
        const char *secrets_folder, *node;      /* with `secrets` */
        uid_t uid;
        gid_t gid;
        uint64_t cpu_milli, ram_mib;
        bool go;
        int64_t leftover_ms;
};
int launch_order_read(const char *run_folder, struct arena *arena, struct launch_order *ret_order,
                      struct err *err);

/* What a child says before it becomes the run's program, by a pipe that closes when it does. */
enum child_stage { CHILD_CAGE, CHILD_ACCOUNT, CHILD_WORKDIR, CHILD_READY, CHILD_EXEC };
struct child_word {
        int32_t stage;                  /* READY: it waits at the gate; else this failed */
        int32_t system;                 /* errno */
};

struct child_setup {
        const struct launch_order *order;
        const char *cage;               /* "" = none */
        int out, err;                   /* its output */
        int report, gate;               /* writes words; waits for one byte */
        pid_t supervisor;
};
/* In the child, right after the fork. Does not return. */
_Noreturn void child_run(const struct child_setup *setup);

/* A program beside the run. */
struct beside_child {
        const struct launch_order *order;
        const char *cage;
        pid_t supervisor;
        const char *const *command;     /* NULL: the account's shell */
        const char *term;               /* "" = no terminal */
        int in, out;
};
_Noreturn void child_beside(const struct beside_child *child);

/* ---- supervisor_beside.c: programs beside the run ---- */

struct beside_run {
        int socket;                     /* -1: free, or nobody listens any more */
        pid_t pid;                      /* 0: not asked yet, or gone */
        int64_t kill_ms;                /* 0: not to be killed */
};

struct besides {
        const struct launch_order *order;
        const char *cage;
        int listener;                   /* -1: none */
        struct beside_run list[BESIDE_MAX];
};

void besides_open(struct besides *besides, const char *run_folder);
/* Room for BESIDE_MAX + 1 of them; how many there are. */
size_t besides_fill(const struct besides *besides, struct pollfd *polls);
/* What came; only beside a run that runs is anything started. */
void besides_hear(struct besides *besides, const struct pollfd *polls, bool is_running,
                  int64_t now_ms);
/* In how many ms to come back; -1: not by time. */
int besides_press(struct besides *besides, int64_t now_ms);
/* Any child that was waited for. */
void besides_reaped(struct besides *besides, pid_t pid, int status);
