#include "store/export.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/keys.h"
#include "store/objects.h"
#include "store/period.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/sql.h"
#include "store/store_impl.h"

/* Rows of one transaction. */
#define ROWS_MAX 5000u

struct import {
        struct store *store;
        struct log_head head;
        unsigned rows;                  /* in the open transaction; 0: none is open */
        struct snapshot snapshot;       /* the one whose bytes come */
        uint8_t *body;
        size_t body_size, body_room;
};

/* Before a row: a transaction is open, and not too long a one. */
static int open_transaction(struct import *import, struct err *err)
{
        int rc = 0;

        if (import->rows == ROWS_MAX) {
                rc = store_end(import->store, err);
                import->rows = 0;
        }
        if (rc == 0 && import->rows == 0)
                rc = store_begin(import->store, err);
        if (rc == 0)
                import->rows++;
        return rc;
}

static int close_transaction(struct import *import, struct err *err)
{
        bool is_open = import->rows > 0;

        import->rows = 0;
        return is_open ? store_end(import->store, err) : 0;
}

static int take_head(void *self, const struct sealed_head *head, struct err *err)
{
        struct import *import = self;
        int rc = open_transaction(import, err);

        if (rc < 0 || (rc = prune_add_head(import->store, head, err)) < 0)
                return rc;
        import->head.seq = head->seq;
        memcpy(import->head.hash, head->hash, sizeof import->head.hash);
        return 0;
}

static int take_record(void *self, const struct record *record, struct err *err)
{
        struct import *import = self;
        int rc = open_transaction(import, err);

        return rc < 0 ? rc : log_append(import->store, record, &import->head, err);
}

static int write_snapshot(struct import *import, struct err *err)
{
        uint8_t chain[STORE_HASH_BYTES];
        const struct snapshot *it = &import->snapshot;
        int rc = close_transaction(import, err);

        if (rc < 0 || (rc = log_hash_at(import->store, it->seq, chain, err)) < 0)
                return rc;
        if (memcmp(chain, it->chain, sizeof chain) != 0)
                return err_set(err, ERR_INPUT, "export: a snapshot that belongs to another log");
        /* Its old ones are wanted too: as many are kept as there are. */
        return snapshot_write(import->store, it, import->body, import->body_size,
                              SNAPSHOT_KEEP_NEWEST(UINT32_MAX), err);
}

static int take_snapshot(void *self, const struct snapshot *snapshot, struct err *err)
{
        struct import *import = self;

        import->snapshot = *snapshot;
        import->body_size = 0;
        return snapshot->size == 0 ? write_snapshot(import, err) : 0;
}

static int take_chunk(void *self, const void *bytes, size_t size, struct err *err)
{
        struct import *import = self;

        if (size > import->body_room - import->body_size) {
                size_t room = import->body_room * 2 + size;
                uint8_t *grown = mem_resize(import->body, import->body_room, room, 1);
                if (!grown)
                        return err_set(err, ERR_NOMEM, "out of memory");
                import->body = grown;
                import->body_room = room;
        }
        memcpy(import->body + import->body_size, bytes, size);
        import->body_size += size;
        return import->body_size == import->snapshot.size ? write_snapshot(import, err) : 0;
}

static int take_object(void *self, const struct object *object, struct err *err)
{
        struct import *import = self;
        int rc = open_transaction(import, err);

        return rc < 0 ? rc : object_put(import->store, object, err);
}

static int take_row(void *self, const struct period_row *row, struct err *err)
{
        struct import *import = self;
        int rc = open_transaction(import, err);

        return rc < 0 ? rc : period_add(import->store, row, err);
}

static int take_key(void *self, const struct key_entry *entry, struct err *err)
{
        struct import *import = self;
        int rc = open_transaction(import, err);

        return rc < 0 ? rc : keys_add(import->store, entry, err);
}

static int64_t read_file(void *self, void *ret_bytes, size_t size, struct err *err)
{
        FILE *file = self;
        size_t got = fread(ret_bytes, 1, size, file);

        if (got < size && ferror(file))
                return err_set(err, ERR_IO, "export: %s", strerror(errno));
        return (int64_t)got;
}

/* All of it into an open store; then everything in its one file. */
static int fill(struct store *store, FILE *file, struct log_head *ret_head, struct err *err)
{
        struct import import = {.store = store};
        struct export_sink sink = {&import,    take_head,   take_record, take_snapshot,
                                   take_chunk, take_object, take_row,    take_key};
        int rc = export_read(read_file, file, &sink, ret_head, err);

        if (rc == 0)
                rc = close_transaction(&import, err);
        store_rollback(store);
        mem_free(import.body);
        assert(rc != 0 || import.head.seq == ret_head->seq);
        return rc < 0 ? rc : store_checkpoint(store, true, err);
}

/* A store that nobody has seen yet need not be synced before it is whole. */
static int make(const char *part, FILE *file, struct log_head *ret_head, struct err *err)
{
        struct store_options options = {.path = part, .is_unlocked = true, .is_unsafe = true};
        struct store *store;
        int rc = store_open(&options, &store, err);

        if (rc < 0)
                return rc;
        rc = fill(store, file, ret_head, err);
        store_close(store);
        if (rc < 0)
                return rc;
        int fd = open(part, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
                rc = err_set(err, ERR_IO, "%s: %s", part, strerror(errno));
        if (fd >= 0)
                close(fd);
        return rc;
}

/* The file, and what SQLite keeps beside one. */
static void remove_store(char *path, size_t length, size_t room)
{
        static const char *const tails[] = {"", "-wal", "-shm"};

        for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
                (void)snprintf(path + length, room - length, "%s", tails[i]);
                unlink(path);
        }
        path[length] = '\0';
}

static int import_from(const char *path, FILE *file, struct log_head *ret_head, struct err *err)
{
        size_t length = strlen(path) + sizeof ".part" - 1;
        char *part = mem_new(length + sizeof "-wal", 1);

        if (!part)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)snprintf(part, length + 1, "%s.part", path);
        remove_store(part, length, length + sizeof "-wal");     /* what an earlier try left */
        int rc = make(part, file, ret_head, err);
        if (rc == 0 && rename(part, path) < 0)
                rc = err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        else if (rc == 0 && (rc = store_sync_folder(path, err)) < 0)
                unlink(path);
        if (rc < 0)
                remove_store(part, length, length + sizeof "-wal");
        mem_free(part);
        return rc;
}

int store_import(const char *path, const char *from, struct log_head *ret_head, struct err *err)
{
        struct log_head head = {0};

        assert(path);
        assert(from);
        if (access(path, F_OK) == 0)
                return err_set(err, ERR_EXISTS, "%s: is there already; name a new file", path);
        bool is_standard = strcmp(from, "-") == 0;
        FILE *file = is_standard ? stdin : fopen(from, "re");
        if (!file)
                return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", from,
                               strerror(errno));
        int rc = import_from(path, file, &head, err);
        if (!is_standard)
                fclose(file);
        if (rc == 0)
                *ret_head = head;
        return rc;
}
