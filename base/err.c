#include "base/err.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
        if (err) {
                err->code = code;
                va_list args;
                va_start(args, format);
                if (vsnprintf(err->text, sizeof err->text, format, args) < 0)
                        err->text[0] = '\0';
                va_end(args);
        }
        return -(int)code;
}

int err_prefix(struct err *err, const char *format, ...)
{
        if (!err)
                return -(int)ERR_INPUT;
        /* Apart first: an argument may point into err->text. */
        char whole[sizeof err->text];
        va_list args;
        va_start(args, format);
        int length = vsnprintf(whole, sizeof whole, format, args);
        va_end(args);
        if (length < 0)
                length = 0;
        if ((size_t)length < sizeof whole)
                snprintf(whole + length, sizeof whole - (size_t)length, ": %s", err->text);
        memcpy(err->text, whole, sizeof whole);
        return -(int)err->code;
}

const char *err_code_name(int code)
{
        static const char *const names[] = {
                [ERR_OK] = "ok",
#define X(name, wire) [ERR_##name] = wire,
                ERR_CODES(X)
#undef X
        };
        _Static_assert(sizeof names / sizeof names[0] == ERR_CODES_END, "one name per code");

        unsigned index = code < 0 ? 0u - (unsigned)code : (unsigned)code;
        return index < ERR_CODES_END ? names[index] : "unknown";
}
