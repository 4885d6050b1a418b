#include "base/spawn.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

static int give_fds(const struct spawn *spawn, posix_spawn_file_actions_t *actions)
{
        int system = 0;

        for (unsigned n = 0; n < spawn->fds_count && system == 0; n++) {
                if (spawn->fds[n] == SPAWN_NO_FD)
                        system = posix_spawn_file_actions_addopen(actions, (int)n, "/dev/null",
                                                                  O_RDWR, 0);
                else
                        system = posix_spawn_file_actions_adddup2(actions, spawn->fds[n], (int)n);
        }
        return system ? system
                      : posix_spawn_file_actions_addclosefrom_np(actions, (int)spawn->fds_count);
}

int spawn_program(const struct spawn *spawn, pid_t *ret_pid, struct err *err)
{
        char **argv = (char **)(uintptr_t)spawn->argv;          /* as posix_spawn() wants it */
        short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;

        assert(spawn->fds_count <= SPAWN_FDS_MAX);
        sigemptyset(&none);
        sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        int system = give_fds(spawn, &actions);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        if (spawn->new_session)
                flags |= POSIX_SPAWN_SETSID;
        posix_spawnattr_setflags(&attributes, flags);
        if (system == 0)
                system = posix_spawn(ret_pid, spawn->program, &actions, &attributes, argv,
                                     spawn->envp);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        if (system != 0)
                return err_set(err, ERR_IO, "%s cannot be started: %s", spawn->program,
                               strerror(system));
        return 0;
}
