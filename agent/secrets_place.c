/* Where a run's copies lie: in memory, and for no longer than the run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/folder.h"
#include "agent/secrets.h"
#include "agent/secrets_impl.h"
#include "base/err.h"
#include "base/str.h"

#define SHM           "/dev/shm"
#define SHM_NAME      "berth-secrets."  /* and 16 hexadecimal digits */
#define DEPTH_MAX     32
#define SHM_PATH_SIZE (sizeof SHM "/" SHM_NAME + 16)
/* SECRETS_TOTAL_MAX, and a page for each of EXCHANGE_WORDS_MAX files. */
#define TMPFS_OPTIONS "mode=0700,size=24m,nr_inodes=2048"

static int fail(const char *path, struct err *err)
{
        return err_set(err, ERR_IO, "the run's secrets: %s: %s", path, strerror(errno));
}

static const char *path_of(const char *run_folder, char path[FOLDER_PATH_MAX])
{
        snprintf(path, FOLDER_PATH_MAX, "%s/" SECRETS_IN_RUN, run_folder);
        return path;
}

/* ---- a tmpfs of its own ---- */

/* What is mounted on the node later shows in the namespace too, and nothing the other way. */
static bool mount_own(const char *path)
{
        const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return false;
        /* Linux 6.4 can keep it out of the swap. */
        return mount("berth-secrets", path, "tmpfs", flags, TMPFS_OPTIONS ",noswap") == 0 ||
               mount("berth-secrets", path, "tmpfs", flags, TMPFS_OPTIONS) == 0;
}

static int open_place(const char *path, struct secrets_place *place, struct err *err)
{
        place->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return place->fd < 0 ? fail(path, err) : 0;
}

/* ---- a folder in /dev/shm ---- */

/* The link comes first: what it names is found by whoever cleans up, whenever we are killed. */
static int make_shared(const char *link, struct secrets_place *place, struct err *err)
{
        char path[SHM_PATH_SIZE];
        struct statfs statfs_of;
        uint64_t number;

        if (statfs(SHM, &statfs_of) < 0 || statfs_of.f_type != TMPFS_MAGIC)
                return err_set(err, ERR_IO,
                               "the run's secrets have no place in memory on this node: no tmpfs "
                               "can be mounted, and " SHM " is none");
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
                return fail("random numbers", err);
        snprintf(path, sizeof path, SHM "/" SHM_NAME "%016" PRIx64, number);
        if (symlink(path, link) < 0)
                return fail(link, err);
        if (mkdir(path, 0700) < 0)
                return fail(path, err);
        return open_place(path, place, err);
}

/* With what the run's account may have put there, which was its folder: no link is followed.
 * What cannot be removed is told by the rmdir() above it. */
static void remove_below(int at, const char *name, unsigned depth)
{
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (!dir) {
                if (fd >= 0)
                        close(fd);
                return;
        }
        (void)fchmod(fd, 0700); /* as given, its own account may not write in it either */
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
                    unlinkat(fd, entry->d_name, 0) == 0 || depth == 0)
                        continue;
                remove_below(fd, entry->d_name, depth - 1);
        }
        closedir(dir);
        (void)unlinkat(at, name, AT_REMOVEDIR);
}

static int remove_folder(const char *path, struct err *err)
{
        struct stat stat;

        remove_below(AT_FDCWD, path, DEPTH_MAX);
        if (lstat(path, &stat) == 0)
                return err_set(err, ERR_IO, "the run's secrets: %s cannot be removed", path);
        return errno == ENOENT ? 0 : fail(path, err);
}

static int remove_shared(const char *link, struct err *err)
{
        char target[SHM_PATH_SIZE + 1];
        ssize_t length = readlink(link, target, sizeof target - 1);
        static const char begin[] = SHM "/" SHM_NAME;
        int rc = 0;

        if (length < 0)
                return fail(link, err);
        target[length] = '\0';
        if (strncmp(target, begin, sizeof begin - 1) == 0 &&
            !strchr(target + sizeof begin - 1, '/'))
                rc = remove_folder(target, err);
        if (rc == 0 && unlink(link) < 0)
                rc = fail(link, err);
        return rc;
}

/* ---- ---- */

int secrets_place_make(const char *run_folder, struct secrets_place *place, struct err *err)
{
        char path[FOLDER_PATH_MAX];

        if (mkdir(path_of(run_folder, path), 0700) < 0)
                return fail(path, err);
        place->is_mounted = mount_own(path);
        if (place->is_mounted)
                return open_place(path, place, err);
        return rmdir(path) < 0 ? fail(path, err) : make_shared(path, place, err);
}

int secrets_place_close(const char *run_folder, struct secrets_place *place, struct err *err)
{
        char path[FOLDER_PATH_MAX];

        path_of(run_folder, path);
        if (fchmod(place->fd, 0500) < 0 ||
            (place->uid != geteuid() && fchown(place->fd, place->uid, place->gid) < 0))
                return fail(path, err);
        if (place->is_mounted &&
            mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV |
                                            MS_NOEXEC, NULL) < 0)
                return fail(path, err);
        return 0;
}

int secrets_take_back(const char *run_folder, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        struct stat stat;

        if (lstat(path_of(run_folder, path), &stat) < 0)
                return errno == ENOENT ? 0 : fail(path, err);
        if (S_ISLNK(stat.st_mode))
                return remove_shared(path, err);
        /* In the supervisor's namespace; in any other nothing is mounted there. */
        (void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
        return rmdir(path) < 0 && errno != ENOENT ? fail(path, err) : 0;
}
