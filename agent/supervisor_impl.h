/* supervisor_impl.h - the inside of a supervisor, for agent/supervisor*.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cage.h"
#include "agent/folder.h"

struct arena;
struct err;

/* The object "launch" of run.json. */
struct launch_order {
        char **command, **variables;    /* both end with NULL */
        const char *workdir, *account, *boot;
        const char *cages;              /* "" = none */
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
