/* secrets_impl.h - where a run's copies lie, for agent/secrets*.c only. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;

struct secrets_place {
        uid_t uid;                      /* whose it will be */
        gid_t gid;
        int fd;                         /* the folder; -1: not made */
        bool is_mounted;                /* else it is in /dev/shm */
};

/* A folder in memory, which only we may enter yet. 0, -ERR_IO. */
int secrets_place_make(const char *run_folder, struct secrets_place *place, struct err *err);
/* From now on it is the run's, and stays as it is. 0, -ERR_IO. */
int secrets_place_close(const char *run_folder, struct secrets_place *place, struct err *err);
