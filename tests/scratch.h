/* scratch.h - folders that tests write in: below $TMPDIR, which tests/run.py sets to a folder of the
 * run that the next run clears, else below /tmp. Short names: sockets lie in them.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SCRATCH_MAX 96

/* Makes one. NULL: it could not be made. */
static inline char *scratch_folder(char *ret_path, size_t size, const char *name)
{
        const char *below = getenv("TMPDIR");
        int length = snprintf(ret_path, size, "%s/berth-%s-XXXXXX",
                              below && below[0] ? below : "/tmp", name);

        return length < 0 || (size_t)length >= size ? NULL : mkdtemp(ret_path);
}
