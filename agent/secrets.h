/* secrets.h - what a node holds for runs of an account, and how one run gets it.
 *
 * Not pure: files, mounts. No state of its own; no text of a secret is ever in an error, a log or
 * the memory that a run is forked from. The node's operator keeps one file a secret,
 *
 *     SECRETS/ACCOUNT/NAME
 *
 * where ACCOUNT is the account that the run is of (account.h). All three belong to root or to the
 * agent's own account, and nobody else may read them; below SECRETS no symbolic link is followed.
 *
 * A run has copies of those it names in RUN/secrets (folder 0500, files 0400, its account's). They
 * are in memory: a tmpfs in a mount namespace of the supervisor and all it forks, which the
 * kernel drops with the last of them. Where none may be mounted (an agent that is not root),
 * RUN/secrets is a symbolic link to a folder in /dev/shm.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct err;

#define SECRETS_BYTES_MAX (1u << 20)    /* of one */
#define SECRETS_TOTAL_MAX (16u << 20)   /* of all that a run has */
#define SECRETS_IN_RUN    "secrets"     /* in the run's folder */

struct secrets_wish {
        const char *folder;             /* SECRETS, absolute; NULL: the node holds none */
        const char *node, *account;
        const char *const *names;       /* checked: workload_is_secret() */
        uint32_t count;
};

/* Whether the node would give all of them now. 0; -ERR_NOT_FOUND: it has not this one;
 * -ERR_INPUT: a name that is none; -ERR_DENIED: others may read it, or it is no file;
 * -ERR_RANGE: too large; -ERR_IO. The sentences are for the owner of the run. */
int secrets_check(const struct secrets_wish *wish, struct err *err);

/* Copies them into the run's folder for this account. Called once, by the supervisor, which has one
 * thread and has forked nothing: it may get a mount namespace of its own. As secrets_check(); on
 * failure what was begun is left to secrets_take_back(). */
int secrets_give(const struct secrets_wish *wish, const char *run_folder, uid_t uid, gid_t gid,
                 struct err *err);

/* No process of the run is left: nothing of them is there when it returns 0. Where there was
 * nothing it does nothing, and it may be repeated, by whoever comes. -ERR_IO. */
int secrets_take_back(const char *run_folder, struct err *err);
