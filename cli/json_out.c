#include "cli/json_out.h"

#include <math.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#define DIGITS 9                        /* of a number with a fraction */

json_t *json_out_number(double value)
{
        if (!isfinite(value))
                return json_null();
        if (value == floor(value) && fabs(value) < 9e15)
                return json_integer((json_int_t)value);
        return json_real(value);
}

int json_out_add(json_t *value, size_t layout, char **text, size_t *size, struct err *err)
{
        size_t flags = layout | JSON_REAL_PRECISION(DIGITS);
        size_t length = value ? json_dumpb(value, NULL, 0, flags) : 0;
        char *grown = length > 0 ? mem_resize(*text, *size, *size + length + 1, 1) : NULL;

        if (grown) {
                json_dumpb(value, grown + *size, length, flags);
                grown[*size + length] = '\n';
                *text = grown;
                *size += length + 1;
        }
        json_decref(value);
        return grown ? 0 : err_set(err, ERR_NOMEM, "out of memory while writing JSON");
}

int json_out_text(json_t *value, char **ret_text, size_t *ret_size, struct err *err)
{
        char *text = NULL;
        size_t size = 0;
        int rc = json_out_add(value, JSON_INDENT(2), &text, &size, err);

        if (rc < 0)
                return rc;
        *ret_text = text;
        *ret_size = size;
        return 0;
}

int json_out_file(json_t *value, const char *path, struct err *err)
{
        char *text = NULL;
        size_t size;
        int rc = json_out_text(value, &text, &size, err);

        if (rc == 0)
                rc = file_write(path, text, size, err);
        mem_free(text);
        return rc;
}
