/* What runs wrote: read piece by piece, and removed in the end. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder.h"
#include "agent/folder_impl.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define ENDED_WALK_MAX 100000

static int open_output(const struct folder *folder, const struct exchange_want *want)
{
        static const char *const places[] = {"runs", "ended"};
        char path[FOLDER_PATH_MAX], text[RUN_KEY_TEXT_MAX];
        int fd = -1;

        for (size_t i = 0; i < ARRAY_LEN(places) && fd < 0; i++) {
                snprintf(path, sizeof path, "%s/%s/%s/%s", folder->path, places[i],
                         run_key_text(want->key, text), want->is_stderr ? "stderr" : "stdout");
                fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        }
        return fd;
}

static uint64_t start_of(int64_t offset, uint64_t total)
{
        if (offset >= 0)
                return (uint64_t)offset < total ? (uint64_t)offset : total;
        uint64_t back = 0 - (uint64_t)offset;
        return back < total ? total - back : 0;
}

static int read_piece(int fd, struct folder_piece *piece, size_t bytes_max, struct err *err)
{
        size_t want = piece->total - piece->offset < bytes_max
                              ? (size_t)(piece->total - piece->offset)
                              : bytes_max;

        piece->bytes = mem_new(want, 1);
        if (!piece->bytes)
                return err_set(err, ERR_NOMEM, "out of memory");
        while (piece->size < want) {
                ssize_t got = pread(fd, piece->bytes + piece->size, want - piece->size,
                                    (off_t)(piece->offset + piece->size));
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0) {
                        mem_free(piece->bytes);
                        return err_set(err, ERR_IO, "output cannot be read: %s", strerror(errno));
                }
                if (got == 0)
                        break; /* the run cut its file meanwhile */
                piece->size += (size_t)got;
        }
        return 0;
}

int folder_output(const struct folder *folder, const struct exchange_want *want,
                  struct folder_piece *ret_piece, struct err *err)
{
        struct folder_piece piece = {0};
        struct stat stat_of;
        char text[RUN_KEY_TEXT_MAX];
        int fd = open_output(folder, want), rc;

        if (fd < 0)
                return err_set(err, ERR_NOT_FOUND, "no output of run %s is kept here",
                               run_key_text(want->key, text));
        if (fstat(fd, &stat_of) < 0 || !S_ISREG(stat_of.st_mode)) {
                close(fd);
                return err_set(err, ERR_IO, "the output of run %s is no file",
                               run_key_text(want->key, text));
        }
        piece.total = (uint64_t)stat_of.st_size;
        piece.offset = start_of(want->offset, piece.total);
        rc = read_piece(fd, &piece, want->bytes, err);
        close(fd);
        if (rc == 0)
                *ret_piece = piece;
        return rc;
}

/* ---- what is kept ---- */

struct ended {
        char name[RUN_KEY_TEXT_MAX];
        int64_t at_ms;
        uint64_t bytes;
};

static int compare_ended(const void *a, const void *b)
{
        const struct ended *x = a, *y = b;
        return x->at_ms > y->at_ms ? -1 : x->at_ms < y->at_ms;
}

/* Its age is that of its status, the last thing that is written. */
static void look_at(const char *place, const char *name, struct ended *ret_ended)
{
        static const char *const files[] = {"status.json", "run.json", "stdout", "stderr"};
        char path[FOLDER_PATH_MAX + 64];
        struct stat stat_of;

        *ret_ended = (struct ended){0};
        str_copy(ret_ended->name, sizeof ret_ended->name, name);
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                snprintf(path, sizeof path, "%s/%s/%s", place, name, files[i]);
                if (lstat(path, &stat_of) < 0)
                        continue;
                ret_ended->bytes += (uint64_t)stat_of.st_blocks * 512;
                if (ret_ended->at_ms == 0)
                        ret_ended->at_ms = (int64_t)stat_of.st_mtim.tv_sec * 1000 +
                                           stat_of.st_mtim.tv_nsec / 1000000;
        }
}

static struct ended *list_ended(const char *place, size_t *ret_count)
{
        struct ended *list = NULL;
        struct run_key key;
        size_t count = 0, room = 0;
        DIR *dir = opendir(place);

        for (struct dirent *entry; dir && (entry = readdir(dir));) {
                if (!run_key_parse(entry->d_name, &key) || count == ENDED_WALK_MAX)
                        continue;
                if (count == room) {
                        size_t grown_room = room ? 2 * room : 64;
                        struct ended *grown = mem_resize(list, room, grown_room, sizeof *list);
                        if (!grown)
                                break; /* the rest another time */
                        list = grown;
                        room = grown_room;
                }
                look_at(place, entry->d_name, &list[count++]);
        }
        if (dir)
                closedir(dir);
        *ret_count = count;
        return list;
}

void folder_prune(struct folder *folder, const struct folder_keep *keep, int64_t now_ms)
{
        char place[FOLDER_PATH_MAX], path[FOLDER_PATH_MAX + 64];
        uint64_t bytes = 0;
        size_t count;

        snprintf(place, sizeof place, "%s/ended", folder->path);
        struct ended *list = list_ended(place, &count);
        if (count > 0)
                qsort(list, count, sizeof *list, compare_ended);
        for (size_t i = 0; i < count; i++) {
                bytes += list[i].bytes;
                if (i < keep->runs_max && bytes <= keep->bytes_max &&
                    now_ms - list[i].at_ms <= keep->age_ms_max)
                        continue;
                snprintf(path, sizeof path, "%s/%s", place, list[i].name);
                (void)durable_remove_folder(path, NULL);
        }
        mem_free(list);
}
