/* account.h - the account on this machine whose processes a run is.
 *
 * Not pure: the machine's user database.
 */
#pragma once

#include <sys/types.h>

struct err;

#define ACCOUNT_TEXT_MAX 1024
#define ACCOUNT_SELF     "self" /* the agent's own, whatever it is */

struct account {
        char name[128], home[ACCOUNT_TEXT_MAX], shell[ACCOUNT_TEXT_MAX];
        uid_t uid;
        gid_t gid;
};

/* `told` is what the operator said for all runs (a name, or ACCOUNT_SELF), or NULL: then it is the
 * run's own, `wanted`. 0; -ERR_INPUT: no account was named, it is root's and the operator did not
 * say so, or only root could become it; -ERR_NOT_FOUND: there is none of that name; -ERR_IO,
 * -ERR_NOMEM. */
int account_find(const char *told, const char *wanted, struct account *ret_account,
                 struct err *err);
