/* hostlist.h - many names in one text: "gpu-[01-04,07]", "r[1-2]n[1-8]", "a1,b[2-3]".
 *
 * Pure. Strict: a name is letters, digits, '-', '_' and '.'; a range rises; both ends of a range
 * have as many digits as each other, or the first one has no leading zero.
 */
#pragma once

#include <stddef.h>

struct err;

#define HOSTLIST_NAME_MAX     64        /* bytes of one name with the final NUL */
#define HOSTLIST_TEXT_MAX     4096      /* bytes of the text */
#define HOSTLIST_BRACKETS_MAX 4         /* of one name */

/* Takes one name; a negative code ends the walk and is returned. */
typedef int hostlist_take(void *arg, const char *name, struct err *err);

/* Calls `take` for each name, the last bracket running fastest. 0, -ERR_INPUT (not of that form),
 * -ERR_RANGE (a name or the text too long, more than `names_max` names; nothing beyond them is
 * taken), or what `take` returned. */
int hostlist_expand(const char *text, size_t names_max, hostlist_take *take, void *arg,
                    struct err *err);
