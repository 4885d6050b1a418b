#include "agent/allowed.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/account.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define ENTRY_MAX    4096               /* bytes of one entry: a path */
#define GROUP_BYTES  (1u << 20)         /* the entry of a group with all its members */
#define GROUPS_MAX   65536              /* of one account, as the kernel */

/* Is asked for each entry; below 0 ends it, 1 too: it was found. */
typedef int entry_fn(void *arg, const char *entry, struct err *err);

/* ---- reading ---- */

static int each_line(const char *path, char *text, entry_fn *fn, void *arg, struct err *err)
{
        char *rest = text;
        int rc = 0;

        for (char *line; rc == 0 && (line = strsep(&rest, "\n"));) {
                line[strcspn(line, "#")] = '\0';
                line += strspn(line, " \t\r");
                for (size_t end = strlen(line); end > 0 && strchr(" \t\r", line[end - 1]);)
                        line[--end] = '\0';
                if (!*line)
                        continue;
                rc = strpbrk(line, "/, \t")
                             ? err_set(err, ERR_INPUT,
                                       "'%.80s' is neither an account nor an @group; write one a "
                                       "line",
                                       line)
                             : fn(arg, line, err);
                if (rc < 0)
                        (void)err_prefix(err, "%s", path);
        }
        return rc;
}

static int each_of_file(const char *path, entry_fn *fn, void *arg, struct err *err)
{
        char *text = NULL;
        size_t size = 0;
        int rc = file_read(path, ALLOWED_BYTES_MAX, &text, &size, err);

        if (rc < 0)
                return rc;
        rc = strlen(text) == size ? each_line(path, text, fn, arg, err)
                                  : err_set(err, ERR_INPUT, "%s holds a zero byte", path);
        mem_free(text);
        return rc;
}

static int each_entry(const char *list, entry_fn *fn, void *arg, struct err *err)
{
        int rc = 0;

        for (const char *at = list; rc == 0; at++) {
                char entry[ENTRY_MAX];
                size_t length = strcspn(at, ",");
                if (length == 0 || length >= sizeof entry)
                        return err_set(err, ERR_INPUT,
                                       "the list of accounts has %s; write for example "
                                       "ana,@research",
                                       length ? "an entry that is too long" : "an empty entry");
                memcpy(entry, at, length);
                entry[length] = '\0';
                if (strchr(entry, '/') && entry[0] != '/')
                        return err_set(err, ERR_INPUT,
                                       "file '%.200s' is not absolute; write its whole path",
                                       entry);
                rc = entry[0] == '/' ? each_of_file(entry, fn, arg, err) : fn(arg, entry, err);
                at += length;
                if (!*at)
                        break;
        }
        return rc;
}

/* ---- asking ---- */

/* 0 and the group's number; -ERR_INPUT: there is none. */
static int find_group(const char *name, gid_t *ret_gid, struct err *err)
{
        char shown[STR_SHOW_MAX];
        struct group entry, *found = NULL;
        char *bytes = mem_new(GROUP_BYTES, 1);

        if (!bytes)
                return err_set(err, ERR_NOMEM, "out of memory");
        int system = getgrnam_r(name, &entry, bytes, GROUP_BYTES, &found);
        if (found)
                *ret_gid = found->gr_gid;
        mem_free(bytes);
        if (found)
                return 0;
        if (system == 0 || system == ENOENT || system == ESRCH)
                return err_set(err, ERR_INPUT, "there is no group '%s' on this node",
                               str_show(name, shown));
        return err_set(err, ERR_IO, "group '%s' cannot be looked up: %s", str_show(name, shown),
                       strerror(system));
}

/* The account's groups, as its processes will have them. */
struct asked {
        const struct account *account;
        gid_t *groups;
        int count;
};

static int is_it(void *arg, const char *entry, struct err *err)
{
        const struct asked *asked = arg;
        gid_t gid;

        if (entry[0] != '@')
                return str_equal(entry, asked->account->name);
        /* A group that is gone allows nobody; whoever else is on the list is. */
        if (find_group(entry + 1, &gid, err) < 0)
                return 0;
        for (int i = 0; i < asked->count; i++)
                if (asked->groups[i] == gid)
                        return 1;
        return 0;
}

static int read_groups(struct asked *asked, struct err *err)
{
        asked->count = GROUPS_MAX;
        asked->groups = mem_new(GROUPS_MAX, sizeof *asked->groups);
        if (!asked->groups)
                return err_set(err, ERR_NOMEM, "out of memory");
        if (getgrouplist(asked->account->name, asked->account->gid, asked->groups,
                         &asked->count) < 0)
                return err_set(err, ERR_IO, "the groups of account '%s' cannot be looked up",
                               asked->account->name);
        return 0;
}

int allowed_check(const char *list, const struct account *account, struct err *err)
{
        struct asked asked = {.account = account};
        int rc;

        if (!list && account->uid >= ALLOWED_UID_MIN)
                return 0;
        if (!list)
                return err_set(err, ERR_DENIED,
                               "account '%s' (uid %u) is one of the system, and this node runs "
                               "nothing as these: name another one in the policy (run_as), or list "
                               "it in the agent's --allow-accounts",
                               account->name, (unsigned)account->uid);
        rc = read_groups(&asked, err);
        if (rc == 0)
                rc = each_entry(list, is_it, &asked, err);
        mem_free(asked.groups);
        if (rc < 0)
                return err_prefix(err, "this node cannot tell which accounts it allows");
        if (rc > 0)
                return 0;
        return err_set(err, ERR_DENIED,
                       "this node does not run anything as account '%s': ask its operator to "
                       "add it to the agent's --allow-accounts",
                       account->name);
}

static int check_entry(void *arg, const char *entry, struct err *err)
{
        char shown[STR_SHOW_MAX];
        gid_t gid;

        (void)arg;
        if (str_equal(entry, "root"))
                return err_set(err, ERR_INPUT,
                               "'root' cannot be allowed: nothing is run as root, unless --runs-as "
                               "says that everything is");
        if (strpbrk(entry, " \t"))
                return err_set(err, ERR_INPUT, "'%s' is no name of an account or group",
                               str_show(entry, shown));
        return entry[0] == '@' ? find_group(entry + 1, &gid, err) : 0;
}

int allowed_check_list(const char *list, struct err *err)
{
        return each_entry(list, check_entry, NULL, err);
}
