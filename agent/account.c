#include "agent/account.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define ENTRY_BYTES 65536

static int copy_entry(const struct passwd *entry, struct account *account, struct err *err)
{
        account->uid = entry->pw_uid;
        account->gid = entry->pw_gid;
        if (str_copy(account->name, sizeof account->name, entry->pw_name) &&
            str_copy(account->home, sizeof account->home, entry->pw_dir) &&
            str_copy(account->shell, sizeof account->shell, entry->pw_shell))
                return 0;
        return err_set(err, ERR_INPUT, "the entry of account '%s' is too long", entry->pw_name);
}

/* By name, or with NULL the one of this process, which need not have a name. */
static int look_up(const char *name, struct account *account, struct err *err)
{
        char shown[STR_SHOW_MAX];
        struct passwd entry, *found = NULL;
        char *bytes = mem_new(ENTRY_BYTES, 1);
        int rc;

        if (!bytes)
                return err_set(err, ERR_NOMEM, "out of memory");
        int system = name ? getpwnam_r(name, &entry, bytes, ENTRY_BYTES, &found)
                          : getpwuid_r(geteuid(), &entry, bytes, ENTRY_BYTES, &found);
        if (found) {
                rc = copy_entry(found, account, err);
        } else if (!name) {
                *account = (struct account){.home = "/", .uid = geteuid(), .gid = getegid()};
                snprintf(account->name, sizeof account->name, "%u", (unsigned)geteuid());
                rc = 0;
        } else if (system == 0 || system == ENOENT || system == ESRCH) {
                rc = err_set(err, ERR_NOT_FOUND, "there is no account '%s' on this node",
                             str_show(name, shown));
        } else {
                rc = err_set(err, ERR_IO, "account '%s' cannot be looked up: %s",
                             str_show(name, shown), strerror(system));
        }
        mem_free(bytes);
        return rc;
}

int account_find(const char *told, const char *wanted, struct account *ret_account, struct err *err)
{
        struct account account;
        bool is_self = told && str_equal(told, ACCOUNT_SELF);
        const char *name = told ? told : wanted;

        if (!is_self && !name[0])
                return err_set(err, ERR_INPUT,
                               "no account is named to run it; give its principal run_as in the "
                               "policy, or start the agent with --runs-as");
        int rc = look_up(is_self ? NULL : name, &account, err);
        if (rc < 0)
                return rc;
        if (account.uid == 0 && !told)
                return err_set(err, ERR_INPUT,
                               "nothing is run as root here; --runs-as would have to say so");
        if (geteuid() != 0 && account.uid != geteuid())
                return err_set(err, ERR_INPUT,
                               "the agent is not root and cannot run anything as '%s'",
                               account.name);
        *ret_account = account;
        return 0;
}
