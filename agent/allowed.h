/* allowed.h - which accounts of this machine work of the pool may run as: the node's own word.
 *
 * Not pure: the machine's user database, and a file. Whatever the policy or the controller says, a
 * run is of no other account. The list is one text: names, "@group" and absolute paths of files,
 * between commas. A file has one name or "@group" a line; '#' begins a comment. Files and
 * groups are read anew at each question, so that a change needs no restart; what cannot be read
 * allows nothing. NULL, no list: every account of people, uid ALLOWED_UID_MIN and above.
 */
#pragma once

#include <sys/types.h>

struct account;
struct err;

#define ALLOWED_UID_MIN   1000          /* UID_MIN of login.defs */
#define ALLOWED_BYTES_MAX 65536         /* of the list, and of a file */

/* Whether the list can be used: 0; -ERR_INPUT with the entry (empty, root, a group that is not
 * there, a file within a file), -ERR_NOT_FOUND (a file), -ERR_IO, -ERR_RANGE, -ERR_NOMEM. An
 * account that is not there is none that is allowed, and no error. */
int allowed_check_list(const char *list, struct err *err);

/* 0, or -ERR_DENIED with the reason for the run's owner; other codes where the list cannot be read.
 * Says nothing of root, which account_find() refuses before. */
int allowed_check(const char *list, const struct account *account, struct err *err);
