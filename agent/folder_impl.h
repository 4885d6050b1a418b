/* folder_impl.h - the inside of a state folder, for agent/folder*.c only. */
#pragma once

#include "agent/folder.h"

struct folder {
        char path[FOLDER_STATE_MAX];    /* absolute */
        char boot[FOLDER_BOOT_MAX];
        int lock_fd, poke_fd, epochs_fd;        /* -1 = not open */
};

/* "path: what errno says", and -ERR_IO. */
int folder_fail(struct err *err, const char *path);
