#include "tests/fault_vfs.h"

#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define FILES_MAX   8
#define NAME_MAX_   128
#define SECTOR      512u
#define REGIONS_MAX 64
#define SHM_LOCKS   8

/* One write or truncation that no sync has followed yet. */
struct pending {
        int64_t at;
        size_t size;
        uint8_t *bytes;                 /* NULL: a truncation to `at` */
        struct pending *next;
};

struct image {
        uint8_t *bytes;
        size_t size, room;
};

struct node {
        char name[NAME_MAX_];           /* "": free */
        struct image now;               /* what reads see */
        struct image durable;
        struct pending *first, *last;
        bool is_durable;                /* the name itself is */
        unsigned shared, opens;         /* locks and handles */
        const void *reserved, *pending_by, *exclusive;
        void *regions[REGIONS_MAX];     /* the shared memory of a main file */
        unsigned shm_shared[SHM_LOCKS];
        const void *shm_exclusive[SHM_LOCKS];
};

struct fault_vfs {
        sqlite3_vfs vfs;
        struct node nodes[FILES_MAX];
        uint64_t operations, failed;
        uint64_t fail_first, fail_count;
        enum fault_kind fail_kind;
        bool is_corrupting;
        void (*call)(void *self);
        void *call_self;
        uint64_t random;
        int system_errno;
};

struct fault_file {
        sqlite3_file file;
        struct fault_vfs *vfs;
        struct node *node;
        int level;                      /* SQLITE_LOCK_* */
        unsigned shm_mine_shared, shm_mine_exclusive;   /* bits */
        bool is_main;
        bool delete_on_close;
};

static struct fault_file *mine(sqlite3_file *file)
{
        return (struct fault_file *)file;
}

static void *must(void *memory)
{
        if (!memory)
                abort();
        return memory;
}

static uint64_t next_random(uint64_t *seed)
{
        *seed += 0x9e3779b97f4a7c15u;
        return map_mix(*seed);
}

/* --- bytes -------------------------------------------------------------------------------- */

static void image_resize(struct image *image, size_t size)
{
        if (size > image->room) {
                size_t room = size * 2;
                image->bytes = must(mem_resize(image->bytes, image->room, room, 1));
                image->room = room;
        }
        if (size > image->size)
                memset(image->bytes + image->size, 0, size - image->size);
        image->size = size;
}

static void image_write(struct image *image, int64_t at, const void *bytes, size_t size)
{
        if (size == 0)
                return;
        if ((size_t)at + size > image->size)
                image_resize(image, (size_t)at + size);
        memcpy(image->bytes + at, bytes, size);
}

/* As much of it as `size` says; a truncation whole. */
static void image_apply(struct image *image, const struct pending *it, size_t size)
{
        if (it->bytes)
                image_write(image, it->at, it->bytes, size);
        else
                image_resize(image, (size_t)it->at);
}

static void image_copy(struct image *to, const struct image *from)
{
        to->size = 0;
        image_resize(to, from->size);
        if (from->size > 0)
                memcpy(to->bytes, from->bytes, from->size);
}

static void add_pending(struct node *node, int64_t at, const void *bytes, size_t size)
{
        struct pending *it = must(mem_new(1, sizeof *it));

        it->at = at;
        it->size = size;
        if (bytes) {
                it->bytes = must(mem_new(size, 1));
                memcpy(it->bytes, bytes, size);
        }
        if (node->last)
                node->last->next = it;
        else
                node->first = it;
        node->last = it;
}

static void drop_pending(struct node *node)
{
        while (node->first) {
                struct pending *next = node->first->next;
                mem_free(node->first->bytes);
                mem_free(node->first);
                node->first = next;
        }
        node->last = NULL;
}

static void drop_regions(struct node *node)
{
        for (size_t i = 0; i < REGIONS_MAX; i++) {
                mem_free(node->regions[i]);
                node->regions[i] = NULL;
        }
}

static void node_clear(struct node *node)
{
        drop_pending(node);
        drop_regions(node);
        mem_free(node->now.bytes);
        mem_free(node->durable.bytes);
        *node = (struct node){.name = ""};
}

static struct node *find_node(struct fault_vfs *vfs, const char *name)
{
        for (size_t i = 0; i < FILES_MAX; i++)
                if (vfs->nodes[i].name[0] && strcmp(vfs->nodes[i].name, name) == 0)
                        return &vfs->nodes[i];
        return NULL;
}

static struct node *make_node(struct fault_vfs *vfs, const char *name)
{
        for (size_t i = 0; i < FILES_MAX; i++) {
                if (vfs->nodes[i].name[0])
                        continue;
                assert(strlen(name) < NAME_MAX_);
                strcpy(vfs->nodes[i].name, name);
                return &vfs->nodes[i];
        }
        abort();
}

/* --- operations --------------------------------------------------------------------------- */

static bool fails_now(struct fault_vfs *vfs, bool is_write)
{
        uint64_t number = ++vfs->operations;
        bool fails = vfs->fail_first > 0 && number >= vfs->fail_first &&
                     number - vfs->fail_first < vfs->fail_count &&
                     (is_write || vfs->fail_kind == FAULT_EIO);

        vfs->failed += fails ? 1 : 0;
        vfs->system_errno = !fails ? 0 : vfs->fail_kind == FAULT_EIO ? EIO : ENOSPC;
        return fails;
}

static int done(struct fault_vfs *vfs, int code)
{
        if (vfs->call)
                vfs->call(vfs->call_self);
        return code;
}

static int file_write_at(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
        struct fault_file *it = mine(file);
        bool fails = fails_now(it->vfs, true);
        size_t written = fails ? (size_t)size / 2 : (size_t)size;

        if (written > 0) {
                image_write(&it->node->now, at, bytes, written);
                add_pending(it->node, at, bytes, written);
        }
        if (!fails)
                return done(it->vfs, SQLITE_OK);
        return done(it->vfs, it->vfs->fail_kind == FAULT_ENOSPC ? SQLITE_FULL
                                                                : SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
        struct fault_file *it = mine(file);

        if (fails_now(it->vfs, false))
                return done(it->vfs, SQLITE_IOERR_TRUNCATE);
        image_resize(&it->node->now, (size_t)size);
        add_pending(it->node, size, NULL, 0);
        return done(it->vfs, SQLITE_OK);
}

/* A failed sync says nothing of what reached the disk, and the system may call the rest clean: only
 * what is written again will reach it. Here nothing of it does: the worst case. */
static void lose_pending(struct node *node)
{
        drop_pending(node);
}

static int file_sync(sqlite3_file *file, int flags)
{
        struct fault_file *it = mine(file);
        struct node *node = it->node;

        (void)flags;
        if (fails_now(it->vfs, false)) {
                lose_pending(node);
                return done(it->vfs, SQLITE_IOERR_FSYNC);
        }
        for (const struct pending *p = node->first; p; p = p->next)
                image_apply(&node->durable, p, p->size);
        drop_pending(node);
        node->is_durable = true;
        return done(it->vfs, SQLITE_OK);
}

static int file_read_at(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
        struct fault_file *it = mine(file);
        const struct image *image = &it->node->now;
        size_t wanted = (size_t)size;
        size_t has = (size_t)at >= image->size ? 0 : image->size - (size_t)at;

        it->vfs->system_errno = 0;
        if (has > 0)
                memcpy(bytes, image->bytes + at, has < wanted ? has : wanted);
        if (it->vfs->is_corrupting && it->is_main && at >= 4096)
                for (size_t i = 0; i < wanted; i++)
                        ((uint8_t *)bytes)[i] ^= 0x5a;
        if (has >= wanted)
                return SQLITE_OK;
        memset((uint8_t *)bytes + has, 0, wanted - has);
        return SQLITE_IOERR_SHORT_READ;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
        *ret_size = (sqlite3_int64)mine(file)->node->now.size;
        return SQLITE_OK;
}

/* --- locks -------------------------------------------------------------------------------- */

static int file_lock(sqlite3_file *file, int level)
{
        struct fault_file *it = mine(file);
        struct node *node = it->node;

        if (level <= it->level)
                return SQLITE_OK;
        if (it->level == SQLITE_LOCK_NONE) {
                if (node->pending_by || node->exclusive)
                        return SQLITE_BUSY;
                node->shared++;
                it->level = SQLITE_LOCK_SHARED;
        }
        if (level == SQLITE_LOCK_RESERVED) {
                if (node->reserved && node->reserved != it)
                        return SQLITE_BUSY;
                node->reserved = it;
        }
        if (level == SQLITE_LOCK_EXCLUSIVE) {
                if ((node->reserved && node->reserved != it) ||
                    (node->pending_by && node->pending_by != it))
                        return SQLITE_BUSY;
                node->pending_by = it;
                if (node->shared > 1) {
                        it->level = SQLITE_LOCK_PENDING;
                        return SQLITE_BUSY;
                }
                node->exclusive = it;
        }
        it->level = level;
        return SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int level)
{
        struct fault_file *it = mine(file);
        struct node *node = it->node;

        if (level >= it->level)
                return SQLITE_OK;
        if (node->reserved == it)
                node->reserved = NULL;
        if (node->pending_by == it)
                node->pending_by = NULL;
        if (node->exclusive == it)
                node->exclusive = NULL;
        if (level == SQLITE_LOCK_NONE)
                node->shared--;
        it->level = level;
        return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *file, int *ret_is_held)
{
        *ret_is_held = mine(file)->node->reserved != NULL;
        return SQLITE_OK;
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **ret_memory)
{
        struct node *node = mine(file)->node;

        assert(region < REGIONS_MAX);
        if (!node->regions[region] && extend)
                node->regions[region] = must(mem_new((size_t)size, 1));
        *ret_memory = node->regions[region];
        return SQLITE_OK;
}

static void shm_release(struct fault_file *it, unsigned bits)
{
        for (unsigned i = 0; i < SHM_LOCKS; i++) {
                if (!(bits >> i & 1))
                        continue;
                if (it->shm_mine_shared >> i & 1)
                        it->node->shm_shared[i]--;
                if (it->node->shm_exclusive[i] == it)
                        it->node->shm_exclusive[i] = NULL;
        }
        it->shm_mine_shared &= ~bits;
        it->shm_mine_exclusive &= ~bits;
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
        struct fault_file *it = mine(file);
        struct node *node = it->node;
        unsigned bits = ((1u << count) - 1) << offset;

        if (flags & SQLITE_SHM_UNLOCK) {
                shm_release(it, bits);
                return SQLITE_OK;
        }
        for (int i = offset; i < offset + count; i++) {
                unsigned others = node->shm_shared[i] - (it->shm_mine_shared >> i & 1);
                if ((node->shm_exclusive[i] && node->shm_exclusive[i] != it) ||
                    (flags & SQLITE_SHM_EXCLUSIVE && others > 0))
                        return SQLITE_BUSY;
        }
        for (int i = offset; i < offset + count; i++) {
                if (flags & SQLITE_SHM_EXCLUSIVE) {
                        node->shm_exclusive[i] = it;
                        it->shm_mine_exclusive |= 1u << i;
                } else if (!(it->shm_mine_shared >> i & 1)) {
                        node->shm_shared[i]++;
                        it->shm_mine_shared |= 1u << i;
                }
        }
        return SQLITE_OK;
}

static void file_shm_barrier(sqlite3_file *file)
{
        (void)file;
        __sync_synchronize();
}

static int file_shm_unmap(sqlite3_file *file, int is_delete)
{
        struct fault_file *it = mine(file);

        shm_release(it, (1u << SHM_LOCKS) - 1);
        if (is_delete && it->node->opens <= 1)
                drop_regions(it->node);
        return SQLITE_OK;
}

/* --- the rest of a file ------------------------------------------------------------------- */

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder);

static int file_close(sqlite3_file *file)
{
        struct fault_file *it = mine(file);

        (void)file_unlock(file, SQLITE_LOCK_NONE);
        shm_release(it, (1u << SHM_LOCKS) - 1);
        it->node->opens--;
        /* Without a connection there is no shared memory: the next one recovers from the WAL. */
        if (it->node->opens == 0)
                drop_regions(it->node);
        if (it->delete_on_close)
                node_clear(it->node);
        return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
        (void)file;
        (void)operation;
        (void)argument;
        return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *file)
{
        (void)file;
        return 4096;
}

/* As SQLite's own VFS says of Linux. */
static int file_characteristics(sqlite3_file *file)
{
        (void)file;
        return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = file_close,
        .xRead = file_read_at,
        .xWrite = file_write_at,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_reserved,
        .xFileControl = file_control,
        .xSectorSize = file_sector_size,
        .xDeviceCharacteristics = file_characteristics,
        .xShmMap = file_shm_map,
        .xShmLock = file_shm_lock,
        .xShmBarrier = file_shm_barrier,
        .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *base, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
        struct fault_vfs *vfs = base->pAppData;
        char temporary[32];

        if (!name) {
                (void)snprintf(temporary, sizeof temporary, "temporary-%llu",
                               (unsigned long long)next_random(&vfs->random));
                name = temporary;
        }
        struct node *node = find_node(vfs, name);
        *mine(file) = (struct fault_file){.vfs = vfs};
        if (!node && !(flags & SQLITE_OPEN_CREATE)) {
                vfs->system_errno = ENOENT;
                return SQLITE_CANTOPEN;
        }
        if (!node)
                node = make_node(vfs, name);
        node->opens++;
        mine(file)->node = node;
        mine(file)->is_main = (flags & SQLITE_OPEN_MAIN_DB) != 0;
        mine(file)->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
        file->pMethods = &methods;
        if (ret_flags)
                *ret_flags = flags;
        return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *base, const char *name, int sync_folder)
{
        struct fault_vfs *vfs = base->pAppData;
        struct node *node = find_node(vfs, name);

        (void)sync_folder;
        if (!node)
                return SQLITE_IOERR_DELETE_NOENT;
        if (fails_now(vfs, false))
                return done(vfs, SQLITE_IOERR_DELETE);
        node_clear(node);
        return done(vfs, SQLITE_OK);
}

static int vfs_access(sqlite3_vfs *base, const char *name, int flags, int *ret_answer)
{
        (void)flags;
        *ret_answer = find_node(base->pAppData, name) != NULL;
        return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *base, const char *name, int size, char *ret_path)
{
        (void)base;
        (void)snprintf(ret_path, (size_t)size, "%s", name);
        return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *base, int size, char *ret_bytes)
{
        struct fault_vfs *vfs = base->pAppData;

        for (int i = 0; i < size; i++)
                ret_bytes[i] = (char)next_random(&vfs->random);
        return size;
}

static int vfs_sleep(sqlite3_vfs *base, int micros)
{
        (void)base;
        return micros;
}

static int vfs_time(sqlite3_vfs *base, double *ret_days)
{
        (void)base;
        *ret_days = 2460676.5;
        return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *base, int size, char *ret_text)
{
        (void)size;
        (void)ret_text;
        return ((struct fault_vfs *)base->pAppData)->system_errno;
}

struct fault_vfs *fault_vfs_new(const char *name)
{
        struct fault_vfs *vfs = must(mem_new(1, sizeof *vfs));

        vfs->random = 1;
        vfs->vfs = (sqlite3_vfs){
                .iVersion = 1,
                .szOsFile = sizeof(struct fault_file),
                .mxPathname = NAME_MAX_ - 1,
                .zName = name,
                .pAppData = vfs,
                .xOpen = vfs_open,
                .xDelete = vfs_delete,
                .xAccess = vfs_access,
                .xFullPathname = vfs_full_path,
                .xRandomness = vfs_randomness,
                .xSleep = vfs_sleep,
                .xCurrentTime = vfs_time,
                .xGetLastError = vfs_last_error,
        };
        if (sqlite3_vfs_register(&vfs->vfs, 0) != SQLITE_OK)
                abort();
        return vfs;
}

void fault_vfs_free(struct fault_vfs *vfs)
{
        if (!vfs)
                return;
        (void)sqlite3_vfs_unregister(&vfs->vfs);
        for (size_t i = 0; i < FILES_MAX; i++)
                node_clear(&vfs->nodes[i]);
        mem_free(vfs);
}

const char *fault_vfs_name(const struct fault_vfs *vfs)
{
        return vfs->vfs.zName;
}

uint64_t fault_vfs_operations(const struct fault_vfs *vfs)
{
        return vfs->operations;
}

void fault_vfs_on_operation(struct fault_vfs *vfs, void (*call)(void *self), void *self)
{
        vfs->call = call;
        vfs->call_self = self;
}

void fault_vfs_fail(struct fault_vfs *vfs, enum fault_kind kind, uint64_t first, uint64_t count)
{
        vfs->fail_kind = kind;
        vfs->fail_first = first;
        vfs->fail_count = count;
}

uint64_t fault_vfs_failed(const struct fault_vfs *vfs)
{
        return vfs->failed;
}

void fault_vfs_corrupt_reads(struct fault_vfs *vfs, bool is_on)
{
        vfs->is_corrupting = is_on;
}

/* What is left of the pending writes of one file. */
static void crash_node(const struct node *from, struct node *to, enum fault_loss loss,
                       uint64_t *seed)
{
        image_copy(&to->durable, &from->durable);
        for (const struct pending *it = from->first; it; it = it->next) {
                size_t size = it->size;
                if (loss == FAULT_LOSE_ALL || (loss == FAULT_LOSE_SOME && next_random(seed) % 2))
                        continue;
                if (loss == FAULT_LOSE_TORN && !it->next && it->bytes)
                        size = next_random(seed) % (it->size / SECTOR + 1) * SECTOR;
                image_apply(&to->durable, it, size);
        }
        image_copy(&to->now, &to->durable);
        to->is_durable = true;
}

void fault_vfs_after_crash(const struct fault_vfs *vfs, struct fault_vfs *to, enum fault_loss loss,
                           uint64_t seed)
{
        for (size_t i = 0; i < FILES_MAX; i++) {
                const struct node *from = &vfs->nodes[i];
                assert(to->nodes[i].opens == 0);
                node_clear(&to->nodes[i]);
                /* The name of a file that was never synced may be lost with its bytes. */
                if (!from->name[0] || (!from->is_durable && loss == FAULT_LOSE_ALL))
                        continue;
                strcpy(to->nodes[i].name, from->name);
                crash_node(from, &to->nodes[i], loss, &seed);
        }
}

uint8_t *fault_vfs_bytes(struct fault_vfs *vfs, const char *name, size_t *ret_size)
{
        struct node *node = find_node(vfs, name);

        if (!node)
                return NULL;
        *ret_size = node->now.size;
        return node->now.bytes;
}
