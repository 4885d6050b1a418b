/* explained.h - an explanation as it is answered: in words, or as JSON.
 *
 * Pure apart from the heap. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct explain_names;
struct explained_fits;
struct explained_idle;
struct explanation;

/* One of them. */
struct explained {
        const struct explanation *record;
        const struct explained_idle *idle;
        const struct explained_fits *fits;
};

/* *ret_bytes is freed with free(). 0 or -ERR_NOMEM. */
int explained_write(const struct explained *it, const struct explain_names *names, bool as_text,
                    char **ret_bytes, size_t *ret_size, struct err *err);

const char *explained_type(bool as_text);               /* of the answer's content */
