/* fuzz_agent_allowed.c - a file of allowed accounts: what a list of a single made-up name allows is
 * that name on a line of its own, and nothing that is not written there. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/allowed.h"
#include "base/err.h"

/* No system has it, so it has no groups but its own, which is none. */
#define NAME "zq-nobody-has-it"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct account account = {.name = NAME, .uid = 4000000000u, .gid = 4000000000u};
        char path[64];
        struct err err = {0};
        int fd = memfd_create("allowed", 0);

        if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size)) {
                close(fd);
                return 0;
        }
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        (void)lseek(fd, 0, SEEK_SET);
        int rc = allowed_check(path, &account, &err);
        if (rc == 0)
                assert(memmem(data, size, NAME, strlen(NAME)));
        else
                assert(rc == -ERR_DENIED || err.text[0] != '\0');
        if (allowed_check_list(path, &err) < 0)
                assert(err.text[0] != '\0');
        close(fd);
        return 0;
}
