#include "agent/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/secrets_impl.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/workload_doc.h"

#define COPY_BYTES 16384

/* ---- finding one ---- */

/* The one that is looked for, for sentences. */
struct asked {
        const struct secrets_wish *wish;
        const char *name;
};

static int fail_absent(const struct asked *asked, struct err *err)
{
        const struct secrets_wish *wish = asked->wish;

        return err_set(err, ERR_NOT_FOUND, "node %s has no secret '%s' for account '%s'",
                       wish->node, asked->name, wish->account);
}

/* `what` is a path on the node: its operator is who can do something. */
static int fail_at(const struct asked *asked, int code, const char *what, const char *why,
                   struct err *err)
{
        const struct secrets_wish *wish = asked->wish;

        return err_set(err, (enum err_code)code,
                       "node %s cannot give secret '%s' to account '%s': its %s %s", wish->node,
                       asked->name, wish->account, what, why);
}

static int fail_open(const struct asked *asked, const char *what, struct err *err)
{
        if (errno == ENOENT)
                return fail_absent(asked, err);
        if (errno == ELOOP || errno == ENOTDIR)
                return fail_at(asked, ERR_DENIED, what,
                               "is a symbolic link or of the wrong kind; links are not followed",
                               err);
        return fail_at(asked, ERR_IO, what, strerror(errno), err);
}

static int check_owner(const struct asked *asked, const struct stat *stat, const char *what,
                       struct err *err)
{
        if (stat->st_uid != 0 && stat->st_uid != geteuid())
                return fail_at(asked, ERR_DENIED, what,
                               "must belong to root or to the agent's own account", err);
        if ((stat->st_mode & 077) != 0)
                return fail_at(asked, ERR_DENIED, what,
                               "is open to others than its owner; 'chmod go=' puts that right",
                               err);
        return 0;
}

/* Takes `at` over: it is closed. The folder, or a negative code. */
static int open_folder(const struct asked *asked, int at, const char *name, int flags,
                       const char *what, struct err *err)
{
        struct stat stat;
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

        if (fd < 0) {
                int rc = fail_open(asked, what, err);
                if (at >= 0)
                        close(at);
                return rc;
        }
        if (at >= 0)
                close(at);
        int rc = fstat(fd, &stat) < 0 ? fail_at(asked, ERR_IO, what, strerror(errno), err)
                                      : check_owner(asked, &stat, what, err);
        if (rc == 0)
                return fd;
        close(fd);
        return rc;
}

static int check_file(const struct asked *asked, int fd, uint64_t *total, struct err *err)
{
        struct stat stat;

        if (fstat(fd, &stat) < 0)
                return fail_at(asked, ERR_IO, "file", strerror(errno), err);
        if (!S_ISREG(stat.st_mode))
                return fail_at(asked, ERR_DENIED, "file", "is not a plain file", err);
        int rc = check_owner(asked, &stat, "file", err);
        if (rc < 0)
                return rc;
        if (stat.st_size > SECRETS_BYTES_MAX)
                return fail_at(asked, ERR_RANGE, "file", "is larger than 1 MiB", err);
        *total += (uint64_t)stat.st_size;
        if (*total > SECRETS_TOTAL_MAX)
                return fail_at(asked, ERR_RANGE, "size",
                               "with the others before it is beyond the 16 MiB of a run", err);
        return 0;
}

/* Its file, or a negative code. */
static int open_secret(const struct asked *asked, uint64_t *total, struct err *err)
{
        const struct secrets_wish *wish = asked->wish;
        int fd;

        if (!wish->folder || strchr(wish->account, '/') || wish->account[0] == '.')
                return fail_absent(asked, err);
        if ((fd = open_folder(asked, AT_FDCWD, wish->folder, 0, "folder of all secrets", err)) <
                    0 ||
            (fd = open_folder(asked, fd, wish->account, O_NOFOLLOW, "account's folder", err)) < 0)
                return fd;
        /* A pipe must not hold us up. */
        int file = openat(fd, asked->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int rc = file < 0 ? fail_open(asked, "file", err) : 0;
        close(fd);
        if (rc == 0 && (rc = check_file(asked, file, total, err)) < 0)
                close(file);
        return rc < 0 ? rc : file;
}

/* ---- giving ---- */

/* Through a small buffer that is wiped: the run is forked from this memory. */
static int copy(const struct asked *asked, int from, int to, struct err *err)
{
        char bytes[COPY_BYTES];
        uint64_t size = 0;
        ssize_t got;
        int rc = 0;

        while (rc == 0 && (got = read(from, bytes, sizeof bytes)) != 0) {
                if (got < 0 && errno == EINTR)
                        continue;
                if (got > 0)
                        size += (uint64_t)got;
                if (got < 0)
                        rc = fail_at(asked, ERR_IO, "file", strerror(errno), err);
                else if (size > SECRETS_BYTES_MAX)
                        rc = fail_at(asked, ERR_RANGE, "file", "grows beyond 1 MiB", err);
                else if (write(to, bytes, (size_t)got) != got)
                        rc = fail_at(asked, ERR_IO, "copy", "cannot be written: memory is full",
                                     err);
        }
        explicit_bzero(bytes, sizeof bytes);
        return rc;
}

static int give_one(const struct asked *asked, int from, const struct secrets_place *place,
                    struct err *err)
{
        int to = openat(place->fd, asked->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (to < 0)
                return fail_at(asked, ERR_IO, "copy", strerror(errno), err);
        int rc = copy(asked, from, to, err);
        if (rc == 0 && (fchmod(to, 0400) < 0 ||
                        (place->uid != geteuid() && fchown(to, place->uid, place->gid) < 0)))
                rc = fail_at(asked, ERR_IO, "copy", strerror(errno), err);
        close(to);
        return rc;
}

static bool is_named_before(const struct secrets_wish *wish, uint32_t index)
{
        for (uint32_t i = 0; i < index; i++)
                if (str_equal(wish->names[i], wish->names[index]))
                        return true;
        return false;
}

/* All of them, each once; `place` NULL: only looked at. */
static int each(const struct secrets_wish *wish, const struct secrets_place *place,
                struct err *err)
{
        char shown[STR_SHOW_MAX];
        uint64_t total = 0;
        int rc = 0;

        for (uint32_t i = 0; i < wish->count && rc == 0; i++) {
                const struct asked asked = {wish, wish->names[i]};
                if (!workload_is_secret(asked.name))
                        return err_set(err, ERR_INPUT,
                                       "'%s' is no name of a secret; write letters, digits, '_', "
                                       "'-' and '.', which is not the first",
                                       str_show(asked.name, shown));
                if (is_named_before(wish, i))
                        continue;
                int file = open_secret(&asked, &total, err);
                if (file < 0)
                        return file;
                if (place)
                        rc = give_one(&asked, file, place, err);
                close(file);
        }
        return rc;
}

int secrets_check(const struct secrets_wish *wish, struct err *err)
{
        return each(wish, NULL, err);
}

int secrets_give(const struct secrets_wish *wish, const char *run_folder, uid_t uid, gid_t gid,
                 struct err *err)
{
        struct secrets_place place = {.uid = uid, .gid = gid, .fd = -1};
        int rc;

        if (wish->count == 0)
                return 0;
        if ((rc = secrets_place_make(run_folder, &place, err)) == 0 &&
            (rc = each(wish, &place, err)) == 0)
                rc = secrets_place_close(run_folder, &place, err);
        if (place.fd >= 0)
                close(place.fd);
        return rc;
}
