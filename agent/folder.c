/* The state folder itself: its lock, its pipe, what was started, when contact was had. */
#include "agent/folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder_impl.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"

#define BOOT_ID_FILE    "/proc/sys/kernel/random/boot_id"
#define EPOCHS_SIZE_MAX (64u << 20)

int folder_fail(struct err *err, const char *path)
{
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

static const char *inside(const struct folder *folder, const char *name, char buf[FOLDER_PATH_MAX])
{
        snprintf(buf, FOLDER_PATH_MAX, "%s/%s", folder->path, name);
        return buf;
}

/* ---- opening ---- */

static int make_folder(const char *path, struct err *err)
{
        if (mkdir(path, 0711) < 0 && errno != EEXIST)
                return folder_fail(err, path);
        /* Whatever the umask: a run's account passes through to its notice. */
        if (chmod(path, 0711) < 0)
                return folder_fail(err, path);
        return 0;
}

static int take_lock(struct folder *folder, struct err *err)
{
        char path[FOLDER_PATH_MAX];

        folder->lock_fd = open(inside(folder, "lock", path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (folder->lock_fd < 0)
                return folder_fail(err, path);
        if (flock(folder->lock_fd, LOCK_EX | LOCK_NB) == 0)
                return 0;
        if (errno == EWOULDBLOCK)
                return err_set(err, ERR_EXISTS,
                               "%s is used by another agent; stop it, or give --state another "
                               "folder",
                               folder->path);
        return folder_fail(err, path);
}

static int read_format(const char *path, uint64_t *ret_format, struct err *err)
{
        char *bytes;
        size_t size;
        int rc = file_read(path, 32, &bytes, &size, err);

        *ret_format = 1;
        if (rc == -ERR_NOT_FOUND)
                return 0;
        if (rc < 0)
                return rc;
        bytes[strcspn(bytes, "\n")] = '\0';
        rc = num_u64(bytes, 1, UINT16_MAX, ret_format, err);
        mem_free(bytes);
        return rc < 0 ? err_prefix(err, "%s", path) : 0;
}

/* Only once it is ours: another agent may be about to replace what it writes. */
static int take_format(struct folder *folder, struct err *err)
{
        char path[FOLDER_PATH_MAX], line[16];
        uint64_t format;
        int rc = read_format(inside(folder, "format", path), &format, err);

        if (rc < 0)
                return rc;
        if (format > FOLDER_FORMAT)
                return err_set(err, ERR_INPUT,
                               "%s is of format %" PRIu64 ", that of a newer berth-agent; this one "
                               "reads up to %d: start the newer one again",
                               folder->path, format, FOLDER_FORMAT);
        if (format == FOLDER_FORMAT)
                return 0;
        int length = snprintf(line, sizeof line, "%d\n", FOLDER_FORMAT);
        return durable_write(path, line, (size_t)length, 0600, err);
}

static int open_poke(struct folder *folder, struct err *err)
{
        char path[FOLDER_PATH_MAX];

        if (mkfifo(inside(folder, "poke", path), 0600) < 0 && errno != EEXIST)
                return folder_fail(err, path);
        /* Written too, so that it never ends. */
        folder->poke_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        return folder->poke_fd < 0 ? folder_fail(err, path) : 0;
}

static void read_boot(struct folder *folder)
{
        char *bytes;
        size_t size;

        if (file_read(BOOT_ID_FILE, FOLDER_BOOT_MAX - 1, &bytes, &size, NULL) < 0)
                return;
        bytes[strcspn(bytes, "\r\n ")] = '\0';
        str_copy(folder->boot, sizeof folder->boot, bytes);
        mem_free(bytes);
}

int folder_open(const char *path, struct folder **ret_folder, struct err *err)
{
        char sub[FOLDER_PATH_MAX];
        int rc;

        if (path[0] != '/' || strlen(path) >= FOLDER_STATE_MAX)
                return err_set(err, ERR_RANGE,
                               "the state folder's path must be absolute and shorter than %d bytes",
                               FOLDER_STATE_MAX);
        struct folder *folder = mem_new(1, sizeof *folder);
        if (!folder)
                return err_set(err, ERR_NOMEM, "out of memory");
        str_copy(folder->path, sizeof folder->path, path);
        folder->lock_fd = folder->poke_fd = folder->epochs_fd = -1;
        read_boot(folder);
        if ((rc = make_folder(path, err)) == 0 && (rc = take_lock(folder, err)) == 0 &&
            (rc = take_format(folder, err)) == 0 &&
            (rc = make_folder(inside(folder, "runs", sub), err)) == 0 &&
            (rc = make_folder(inside(folder, "ended", sub), err)) == 0 &&
            (rc = durable_sync_folder(path, err)) == 0)
                rc = open_poke(folder, err);
        if (rc < 0)
                folder_close(folder);
        else
                *ret_folder = folder;
        return rc;
}

void folder_close(struct folder *folder)
{
        if (!folder)
                return;
        if (folder->lock_fd >= 0)
                close(folder->lock_fd);
        if (folder->poke_fd >= 0)
                close(folder->poke_fd);
        if (folder->epochs_fd >= 0)
                close(folder->epochs_fd);
        mem_free(folder);
}

const char *folder_boot(const struct folder *folder)
{
        return folder->boot;
}

/* ---- waking ---- */

int folder_poke_fd(const struct folder *folder)
{
        return folder->poke_fd;
}

void folder_poke_clear(const struct folder *folder)
{
        char bytes[4096];

        while (read(folder->poke_fd, bytes, sizeof bytes) > 0)
                ;
}

void folder_poke(const char *run_folder)
{
        char path[FOLDER_PATH_MAX];

        snprintf(path, sizeof path, "%s/../../poke", run_folder);
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return;
        if (write(fd, "!", 1) < 0) { /* full: the agent has reason enough to look */
        }
        close(fd);
}

/* ---- the node goes down ---- */

bool folder_is_going_down(const char *run_folder)
{
        char path[FOLDER_PATH_MAX];

        snprintf(path, sizeof path, "%s/../../going-down", run_folder);
        return access(path, F_OK) == 0;
}

int folder_is_up(const struct folder *folder, struct err *err)
{
        char path[FOLDER_PATH_MAX];

        if (unlink(inside(folder, "going-down", path)) == 0 || errno == ENOENT)
                return 0;
        return folder_fail(err, path);
}

/* ---- epochs ---- */

/* A line that is not whole was not synced, and what it stood for was not started. */
static bool parse_epoch(char *line, struct run_key *ret_key)
{
        char text[RUN_KEY_TEXT_MAX];
        char *rest, *workload = strtok_r(line, " ", &rest), *member = strtok_r(NULL, " ", &rest),
                    *epoch = strtok_r(NULL, " ", &rest);

        if (!workload || !member || !epoch)
                return false;
        int length = snprintf(text, sizeof text, "%s.%s.%s", workload, member, epoch);
        return length > 0 && (size_t)length < sizeof text && run_key_parse(text, ret_key);
}

static int compare_keys(const void *a, const void *b)
{
        const struct run_key *x = a, *y = b;

        if (x->workload != y->workload)
                return x->workload < y->workload ? -1 : 1;
        if (x->member != y->member)
                return x->member < y->member ? -1 : 1;
        return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* All lines, sorted. *ret_keys is freed with mem_free(). */
static int read_epochs(char *bytes, struct run_key **ret_keys, size_t *ret_count, struct err *err)
{
        size_t lines = 0, count = 0;

        for (const char *at = bytes; *at; at++)
                lines += *at == '\n';
        struct run_key *keys = mem_new(lines, sizeof *keys);
        if (!keys)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (char *at = bytes, *end; (end = strchr(at, '\n')); at = end + 1) {
                *end = '\0';
                count += parse_epoch(at, &keys[count]);
        }
        qsort(keys, count, sizeof *keys, compare_keys);
        *ret_keys = keys;
        *ret_count = count;
        return 0;
}

/* The newest of each member, to `visit` and into the new file. */
static int keep_newest(struct folder *folder, const struct run_key *keys, size_t count,
                       folder_epoch_visit *visit, void *arg, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        struct text text = {0};
        int rc = 0;

        text_add(&text, "%s", "");
        for (size_t i = 0; i < count && rc == 0; i++) {
                if (i + 1 < count && keys[i + 1].workload == keys[i].workload &&
                    keys[i + 1].member == keys[i].member)
                        continue;
                text_add(&text, "%" PRIu64 " %" PRIu32 " %" PRIu64 "\n", keys[i].workload,
                         keys[i].member, keys[i].epoch);
                rc = visit(arg, keys[i], err);
        }
        if (rc == 0 && text.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = durable_write(inside(folder, "epochs", path), text.bytes, text.size, 0600,
                                   err);
        text_done(&text);
        return rc;
}

int folder_epochs(struct folder *folder, folder_epoch_visit *visit, void *arg, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        char *bytes = NULL;
        struct run_key *keys = NULL;
        size_t size, count = 0;
        int rc = file_read(inside(folder, "epochs", path), EPOCHS_SIZE_MAX, &bytes, &size, err);

        if (rc == 0)
                rc = read_epochs(bytes, &keys, &count, err);
        else if (rc == -ERR_NOT_FOUND)
                rc = 0;
        mem_free(bytes);
        if (rc == 0)
                rc = keep_newest(folder, keys, count, visit, arg, err);
        mem_free(keys);
        if (rc < 0)
                return rc;
        if (folder->epochs_fd >= 0)
                close(folder->epochs_fd);
        folder->epochs_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        return folder->epochs_fd < 0 ? folder_fail(err, path) : 0;
}

int folder_epoch_add(struct folder *folder, struct run_key key, struct err *err)
{
        char line[RUN_KEY_TEXT_MAX + 8];

        assert(folder->epochs_fd >= 0); /* folder_epochs() came before */
        int length = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu32 " %" PRIu64 "\n",
                              key.workload, key.member, key.epoch);
        if (write(folder->epochs_fd, line, (size_t)length) != length ||
            fdatasync(folder->epochs_fd) < 0) {
                int rc = err_set(err, ERR_IO, "%s/epochs: %s", folder->path, strerror(errno));
                /* Half a line must not swallow the next one. */
                if (write(folder->epochs_fd, "\n", 1) < 0)
                        return rc;
                return rc;
        }
        return 0;
}

/* ---- whose work it is ---- */

int folder_log_read(const struct folder *folder, char ret_log[EXCHANGE_LOG_MAX], struct err *err)
{
        char path[FOLDER_PATH_MAX];
        char *bytes;
        size_t size;
        int rc = file_read(inside(folder, "log", path), EXCHANGE_LOG_MAX, &bytes, &size, err);

        ret_log[0] = '\0';
        if (rc)
                return rc == -ERR_NOT_FOUND ? 0 : rc;
        bytes[strcspn(bytes, "\n")] = '\0';
        if (exchange_is_log(bytes))
                str_copy(ret_log, EXCHANGE_LOG_MAX, bytes);
        else
                rc = err_set(err, ERR_INPUT,
                             "%s: it is no name of a log; without the file the agent works for "
                             "whichever controller answers first",
                             path);
        mem_free(bytes);
        return rc;
}

int folder_log_write(const struct folder *folder, const char *log, struct err *err)
{
        char path[FOLDER_PATH_MAX], line[EXCHANGE_LOG_MAX + 1];
        int length = snprintf(line, sizeof line, "%s\n", log);

        return durable_write(inside(folder, "log", path), line, (size_t)length, 0600, err);
}

/* ---- contact ---- */

bool folder_contact_read(const struct folder *folder, struct folder_contact *ret_contact)
{
        char path[FOLDER_PATH_MAX];
        char *bytes, *rest;
        size_t size;
        bool is_good = false;

        if (file_read(inside(folder, "contact", path), 256, &bytes, &size, NULL) < 0)
                return false;
        char *boot = strtok_r(bytes, " \n", &rest), *steady = strtok_r(NULL, " \n", &rest),
             *lease = strtok_r(NULL, " \n", &rest);
        if (boot && steady && lease && str_equal(boot, folder->boot))
                is_good = num_i64(steady, 0, INT64_MAX, &ret_contact->steady_ms, NULL) == 0 &&
                          num_i64(lease, 1, INT32_MAX, &ret_contact->lease_ms, NULL) == 0;
        mem_free(bytes);
        return is_good;
}

void folder_contact_write(const struct folder *folder, struct folder_contact contact)
{
        char path[FOLDER_PATH_MAX], line[FOLDER_BOOT_MAX + 64];
        int length = snprintf(line, sizeof line, "%s %" PRId64 " %" PRId64 "\n", folder->boot,
                              contact.steady_ms, contact.lease_ms);

        /* Where it cannot be written, a restarted agent counts the lease from its start. */
        (void)file_write(inside(folder, "contact", path), line, (size_t)length, NULL);
}
