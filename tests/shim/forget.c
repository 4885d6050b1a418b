/* forget - preloaded beneath a program: what it wrote to some files and did not sync can be undone.
 *
 * SIGKILL loses nothing that the kernel has. So the old bytes are written down before each write, in
 * FORGET_UNDO.NAME beside the file NAME, and thrown away when NAME is synced. Whoever has killed
 * the program applies what stands there backwards (tests/kill_daemon.py), and has the disk as a loss
 * of power would have left it.
 *
 * FORGET_FILES is what their paths begin with; those that end in -shm are memory and do not count.
 * A record: i64 offset, i64 size of the file before, u32 bytes; then so many old bytes.
 */
#undef _FILE_OFFSET_BITS                /* both names of each call are taken over */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name)
{
        void *found = dlsym(RTLD_NEXT, name);

        if (!found)
                abort();
        return found;
}

/* The file's name, when it is one of those; else NULL. */
static const char *watched(int fd, char path[PATH_MAX])
{
        const char *begin = getenv("FORGET_FILES");
        char entry[64];

        snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(entry, path, PATH_MAX - 1);
        if (!begin || length <= 0)
                return NULL;
        path[length] = '\0';
        if (strncmp(path, begin, strlen(begin)) != 0 ||
            (length > 4 && strcmp(path + length - 4, "-shm") == 0))
                return NULL;
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

static int open_undo(const char *name, int flags)
{
        const char *begin = getenv("FORGET_UNDO");
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s.%s", begin ? begin : "/tmp/forget", name);
        return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
}

static void put(int undo, const void *bytes, size_t size)
{
        if (write(undo, bytes, size) != (ssize_t)size)
                abort();                /* the test would see nothing */
}

/* One write() for the record: a kill leaves all of it, or none. */
static void write_down(int fd, const char *name, int64_t at, size_t size)
{
        struct stat about;

        if (fstat(fd, &about) < 0)
                abort();
        int64_t before = about.st_size;
        size_t old = at >= before ? 0 : (size_t)(before - at) < size ? (size_t)(before - at) : size;
        char *record = malloc(20 + old);
        uint32_t count = (uint32_t)old;
        if (!record || (old > 0 && pread(fd, record + 20, old, at) != (ssize_t)old))
                abort();
        memcpy(record, &at, 8);
        memcpy(record + 8, &before, 8);
        memcpy(record + 16, &count, 4);
        int undo = open_undo(name, O_APPEND);
        if (undo < 0)
                abort();
        put(undo, record, 20 + old);
        close(undo);
        free(record);
}

static void before_write(int fd, int64_t at, size_t size)
{
        char path[PATH_MAX];
        const char *name = watched(fd, path);

        if (name)
                write_down(fd, name, at, size);
}

static int after_sync(int fd, int rc)
{
        char path[PATH_MAX];
        const char *name = rc == 0 ? watched(fd, path) : NULL;

        if (name) {
                int undo = open_undo(name, O_TRUNC);
                if (undo >= 0)
                        close(undo);
        }
        return rc;
}

static ssize_t do_pwrite(int fd, const void *bytes, size_t size, off64_t at)
{
        static ssize_t (*real)(int, const void *, size_t, off64_t);

        pthread_mutex_lock(&lock);
        if (!real)
                *(void **)&real = next("pwrite64");
        before_write(fd, at, size);
        ssize_t done = real(fd, bytes, size, at);
        pthread_mutex_unlock(&lock);
        return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
        return do_pwrite(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
        return do_pwrite(fd, bytes, size, at);
}

static int do_truncate(int fd, off64_t size)
{
        static int (*real)(int, off64_t);
        struct stat about;

        pthread_mutex_lock(&lock);
        if (!real)
                *(void **)&real = next("ftruncate64");
        if (fstat(fd, &about) == 0)
                before_write(fd, size, about.st_size > size ? (size_t)(about.st_size - size) : 0);
        int rc = real(fd, size);
        pthread_mutex_unlock(&lock);
        return rc;
}

int ftruncate(int fd, off_t size)
{
        return do_truncate(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
        return do_truncate(fd, size);
}

static int do_sync(int fd, const char *name)
{
        int (*real)(int);

        pthread_mutex_lock(&lock);
        *(void **)&real = next(name);
        int rc = after_sync(fd, real(fd));
        pthread_mutex_unlock(&lock);
        return rc;
}

int fsync(int fd)
{
        return do_sync(fd, "fsync");
}

int fdatasync(int fd)
{
        return do_sync(fd, "fdatasync");
}
