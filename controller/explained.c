#include "controller/explained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "proto/explain_json.h"
#include "proto/explain_text.h"

static void write_text(FILE *file, const struct explained *it, const struct explain_names *names)
{
        if (it->record)
                explain_text(file, it->record, names);
        else if (it->idle)
                explain_idle_text(file, it->idle, names);
        else
                explain_fits_text(file, it->fits, names);
}

static int make_json(const struct explained *it, const struct explain_names *names,
                     char **ret_text, struct err *err)
{
        if (it->record)
                return explain_json(it->record, names, ret_text, err);
        return it->idle ? explain_idle_json(it->idle, names, ret_text, err)
                        : explain_fits_json(it->fits, names, ret_text, err);
}

int explained_write(const struct explained *it, const struct explain_names *names, bool as_text,
                    char **ret_bytes, size_t *ret_size, struct err *err)
{
        char *bytes = NULL;
        size_t size = 0;
        FILE *file;
        int rc;

        if (!as_text) {
                rc = make_json(it, names, &bytes, err);
                if (rc == 0) {
                        *ret_bytes = bytes;
                        *ret_size = strlen(bytes);
                }
                return rc;
        }
        file = open_memstream(&bytes, &size);
        if (!file)
                return err_set(err, ERR_NOMEM, "out of memory");
        write_text(file, it, names);
        if (fclose(file) != 0 || !bytes) {
                free(bytes);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        *ret_bytes = bytes;
        *ret_size = size;
        return 0;
}

const char *explained_type(bool as_text)
{
        return as_text ? "text/plain; charset=utf-8" : "application/json";
}
