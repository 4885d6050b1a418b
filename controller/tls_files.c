#include "controller/tls_files.h"

#include "base/file.h"
#include "base/mem.h"
#include "net/token.h"

#define PEM_BYTES_MAX (1u << 20)

int tls_files_read(const char *certificate, const char *key, const char *client_ca,
                   const char *own_ca, struct tls_files *ret_files, struct err *err)
{
        const char *const paths[] = {certificate, key, client_ca};
        struct tls_files files = {0};
        int rc = 0;

        for (unsigned f = 0; rc == 0 && f < ARRAY_LEN(paths); f++)
                if (paths[f])
                        rc = file_read(paths[f], PEM_BYTES_MAX, &files.texts[f], &files.sizes[f],
                                       err);
        if (rc) {
                tls_files_done(&files);
                return rc;
        }
        files.tls = (struct http_tls){files.texts[0], files.texts[1], files.texts[2], own_ca};
        *ret_files = files;
        return 0;
}

void tls_files_done(struct tls_files *files)
{
        for (unsigned f = 0; f < ARRAY_LEN(files->texts); f++) {
                if (files->texts[f])
                        token_wipe(files->texts[f], files->sizes[f]);
                mem_free(files->texts[f]);
        }
        *files = (struct tls_files){0};
}
