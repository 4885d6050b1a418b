/* escape.h - what is typed at a far terminal, and what is meant for the command itself: "~." at the
 * beginning of a line closes it, "~?" helps, "~~" is one tilde.
 *
 * Pure. One owner at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum escape_action { ESCAPE_NONE, ESCAPE_CLOSE, ESCAPE_HELP };

struct escape {
        bool is_inside;         /* of a line: something was typed in it */
        bool has_tilde;         /* one was typed at its beginning, and waits for what follows */
};

/* Takes what was typed up to the first action. What is to be sent stands in `ret_bytes` (room for
 * size + 1). *ret_taken: how much of it was taken; again with the rest while there is some. */
enum escape_action escape_take(struct escape *escape, const char *typed, size_t size,
                               size_t *ret_taken, char *ret_bytes, size_t *ret_size);
