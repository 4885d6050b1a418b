/* outputs.h - the files a command is to write, looked at before it runs for minutes.
 *
 * Not pure (looks at files). Writes nothing.
 */
#pragma once

#include <stddef.h>

struct err;
struct scenario;

struct output {
        const char *option;             /* "json", without the dashes */
        const char *path;               /* "-": standard output; NULL: not asked for */
};

/* Each can be written as far as is known now: there is a folder, no two are one file, and none is
 * among `inputs` (NULLs are fine) or read by the scenario (NULL: there is none). 0 or
 * -ERR_INPUT. */
int outputs_check(const struct output *outputs, size_t count, const char *const *inputs,
                  size_t inputs_count, const struct scenario *scenario, struct err *err);
