#include "sim/log_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/export.h"
#include "store/store.h"

#define FOLDER_MAX 4096

struct log_source {
        struct store *store;
        char folder[FOLDER_MAX];        /* "": none was made */
};

int log_source_is_export(const char *path, bool *ret_is_export, struct err *err)
{
        char begin[sizeof EXPORT_MAGIC - 1];
        FILE *file = fopen(path, "re");

        if (!file)
                return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                               strerror(errno));
        *ret_is_export = fread(begin, 1, sizeof begin, file) == sizeof begin &&
                         memcmp(begin, EXPORT_MAGIC, sizeof begin) == 0;
        fclose(file);
        return 0;
}

static int make_folder(struct log_source *source, struct err *err)
{
        const char *above = getenv("TMPDIR");
        char folder[FOLDER_MAX];
        int length = snprintf(folder, sizeof folder, "%s/berth-log-XXXXXX",
                              above && above[0] ? above : "/tmp");

        if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
                return err_set(err, ERR_IO, "%s: %s", folder, strerror(errno));
        (void)strcpy(source->folder, folder);
        return 0;
}

/* The store in the folder, and what SQLite keeps beside one. */
static void path_in(const struct log_source *source, const char *tail, char ret_path[],
                    size_t size)
{
        (void)snprintf(ret_path, size, "%s/store%s", source->folder, tail);
}

static void remove_folder(const struct log_source *source)
{
        static const char *const tails[] = {"", "-wal", "-shm"};
        char path[FOLDER_MAX + 16];

        if (!source->folder[0])
                return;
        for (size_t t = 0; t < ARRAY_LEN(tails); t++) {
                path_in(source, tails[t], path, sizeof path);
                unlink(path);
        }
        rmdir(source->folder);
}

static int open_any(struct log_source *source, const char *path, struct err *err)
{
        char made[FOLDER_MAX + 16];
        struct store_options options = {.path = path, .is_read_only = true, .must_exist = true};
        struct log_head head;
        bool is_export = false;
        int rc = log_source_is_export(path, &is_export, err);

        if (rc == 0 && is_export) {
                rc = make_folder(source, err);
                path_in(source, "", made, sizeof made);
                options.path = made;
                if (rc == 0 && (rc = store_import(made, path, &head, err)) < 0)
                        (void)err_prefix(err, "%s", path);
        }
        return rc ? rc : store_open(&options, &source->store, err);
}

int log_source_open(const char *path, struct log_source **ret_source, struct err *err)
{
        struct log_source *source = mem_new(1, sizeof *source);
        int rc;

        if (!source)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = open_any(source, path, err);
        if (rc) {
                log_source_close(source);
                return rc;
        }
        *ret_source = source;
        return 0;
}

void log_source_close(struct log_source *source)
{
        if (!source)
                return;
        store_close(source->store);
        remove_folder(source);
        mem_free(source);
}

struct store *log_source_store(struct log_source *source)
{
        return source->store;
}
