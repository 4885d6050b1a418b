#include "store/vfs_count.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct vfs_count {
        sqlite3_vfs vfs;                /* pAppData is the struct */
        sqlite3_vfs *base;
        atomic_uint_fast64_t syncs;
        char name[48];
};

/* The base's file stands behind ours in the same memory. */
struct counted_file {
        sqlite3_file file;
        struct vfs_count *owner;
        sqlite3_file *base;
};

static struct counted_file *counted(sqlite3_file *file)
{
        return (struct counted_file *)file;
}

static sqlite3_file *base_of(sqlite3_file *file)
{
        return counted(file)->base;
}

static int file_close(sqlite3_file *file)
{
        return base_of(file)->pMethods->xClose(base_of(file));
}

static int file_read_at(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
        return base_of(file)->pMethods->xRead(base_of(file), bytes, size, at);
}

static int file_write_at(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
        return base_of(file)->pMethods->xWrite(base_of(file), bytes, size, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
        return base_of(file)->pMethods->xTruncate(base_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
        atomic_fetch_add_explicit(&counted(file)->owner->syncs, 1, memory_order_relaxed);
        return base_of(file)->pMethods->xSync(base_of(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
        return base_of(file)->pMethods->xFileSize(base_of(file), ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
        return base_of(file)->pMethods->xLock(base_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
        return base_of(file)->pMethods->xUnlock(base_of(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *ret_is_held)
{
        return base_of(file)->pMethods->xCheckReservedLock(base_of(file), ret_is_held);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
        return base_of(file)->pMethods->xFileControl(base_of(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file)
{
        return base_of(file)->pMethods->xSectorSize(base_of(file));
}

static int file_characteristics(sqlite3_file *file)
{
        return base_of(file)->pMethods->xDeviceCharacteristics(base_of(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **ret_memory)
{
        return base_of(file)->pMethods->xShmMap(base_of(file), region, size, extend, ret_memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
        return base_of(file)->pMethods->xShmLock(base_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
        base_of(file)->pMethods->xShmBarrier(base_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_delete)
{
        return base_of(file)->pMethods->xShmUnmap(base_of(file), is_delete);
}

/* Version 2: without the memory mapping of version 3, which SQLite does not use by default. */
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

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
        struct vfs_count *count = vfs->pAppData;
        struct counted_file *mine = counted(file);

        *mine = (struct counted_file){.owner = count, .base = (sqlite3_file *)(void *)(mine + 1)};
        memset(mine->base, 0, (size_t)count->base->szOsFile);
        int code = count->base->xOpen(count->base, name, mine->base, flags, ret_flags);
        /* SQLite closes a file when it has methods, also after a failed open. */
        if (mine->base->pMethods)
                file->pMethods = &methods;
        return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xDelete(base, name, sync_folder);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_answer)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xAccess(base, name, flags, ret_answer);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret_path)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xFullPathname(base, name, size, ret_path);
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *ret_bytes)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xRandomness(base, size, ret_bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int micros)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xSleep(base, micros);
}

static int vfs_time(sqlite3_vfs *vfs, double *ret_days)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xCurrentTime(base, ret_days);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *ret_text)
{
        sqlite3_vfs *base = ((struct vfs_count *)vfs->pAppData)->base;

        return base->xGetLastError ? base->xGetLastError(base, size, ret_text) : 0;
}

int vfs_count_new(const char *base_name, struct vfs_count **ret_vfs, struct err *err)
{
        assert(ret_vfs);

        if (sqlite3_initialize() != SQLITE_OK)
                return err_set(err, ERR_NOMEM, "SQLite could not be started");
        sqlite3_vfs *base = sqlite3_vfs_find(base_name);
        if (!base)
                return err_set(err, ERR_NOT_FOUND, "SQLite has no VFS '%s'",
                               base_name ? base_name : "(default)");
        struct vfs_count *count = mem_new(1, sizeof *count);
        if (!count)
                return err_set(err, ERR_NOMEM, "out of memory");
        count->base = base;
        (void)snprintf(count->name, sizeof count->name, "berth-count-%p", (void *)count);
        count->vfs = (sqlite3_vfs){
                .iVersion = 1,
                .szOsFile = (int)sizeof(struct counted_file) + base->szOsFile,
                .mxPathname = base->mxPathname,
                .zName = count->name,
                .pAppData = count,
                .xOpen = vfs_open,
                .xDelete = vfs_delete,
                .xAccess = vfs_access,
                .xFullPathname = vfs_full_path,
                .xRandomness = vfs_randomness,
                .xSleep = vfs_sleep,
                .xCurrentTime = vfs_time,
                .xGetLastError = vfs_last_error,
        };
        if (sqlite3_vfs_register(&count->vfs, 0) != SQLITE_OK) {
                mem_free(count);
                return err_set(err, ERR_NOMEM, "SQLite took no further VFS");
        }
        *ret_vfs = count;
        return 0;
}

void vfs_count_free(struct vfs_count *vfs)
{
        if (!vfs)
                return;
        (void)sqlite3_vfs_unregister(&vfs->vfs);
        mem_free(vfs);
}

const char *vfs_count_name(const struct vfs_count *vfs)
{
        return vfs->name;
}

uint64_t vfs_count_syncs(const struct vfs_count *vfs)
{
        return atomic_load_explicit(&vfs->syncs, memory_order_relaxed);
}
