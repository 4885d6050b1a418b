#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ROOM_LEAST  4096
#define DECIMAL_MAX 40 /* digits of 128 bits, with the final NUL */

void text_done(struct text *text)
{
        if (text)
                mem_free(text->bytes);
        if (text)
                *text = (struct text){0};
}

/* Room for so many bytes more, and the final NUL. */
static bool make_room(struct text *text, size_t more)
{
        size_t room = text->room ? text->room : ROOM_LEAST;

        if (text->failed)
                return false;
        if (text->bytes && more < text->room - text->size)
                return true;
        while (more >= room - text->size && room <= SIZE_MAX / 2)
                room *= 2;
        char *grown = mem_resize(text->bytes, text->room, room, 1);
        text->failed = !grown;
        if (!grown)
                return false;
        text->bytes = grown;
        text->room = room;
        return true;
}

void text_add(struct text *text, const char *format, ...)
{
        va_list arguments;

        if (!make_room(text, 256))
                return;
        va_start(arguments, format);
        int length =
                vsnprintf(text->bytes + text->size, text->room - text->size, format, arguments);
        va_end(arguments);
        if (length >= 0 && (size_t)length >= text->room - text->size) {
                if (!make_room(text, (size_t)length))
                        return;
                va_start(arguments, format);
                length = vsnprintf(text->bytes + text->size, text->room - text->size, format,
                                   arguments);
                va_end(arguments);
        }
        if (length < 0)
                text->failed = true;
        else
                text->size += (size_t)length;
}

void text_add_bytes(struct text *text, const char *bytes, size_t size)
{
        if (!make_room(text, size))
                return;
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
        text->bytes[text->size] = '\0';
}

void text_add_i64(struct text *text, int64_t number)
{
        char digits[DECIMAL_MAX], *at = digits + sizeof digits;
        uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

        do
                *--at = (char)('0' + (int)(rest % 10));
        while ((rest /= 10) > 0);
        if (number < 0)
                *--at = '-';
        text_add_bytes(text, at, (size_t)(digits + sizeof digits - at));
}

void text_add_json(struct text *text, const char *string)
{
        text_add_bytes(text, "\"", 1);
        for (const char *at = string; *at;) {
                size_t plain = 0;
                while ((unsigned char)at[plain] >= 0x20 && at[plain] != '"' && at[plain] != '\\')
                        plain++;
                text_add_bytes(text, at, plain);
                at += plain;
                if (*at == '"' || *at == '\\')
                        text_add(text, "\\%c", *at++);
                else if (*at)
                        text_add(text, "\\u%04x", (unsigned char)*at++);
        }
        text_add_bytes(text, "\"", 1);
}

void text_add_csv(struct text *text, const char *field)
{
        if (!strpbrk(field, ",\"\r\n")) {
                text_add(text, "%s", field);
                return;
        }
        text_add(text, "\"");
        for (const char *at = field; *at; at++)
                text_add(text, *at == '"' ? "\"\"" : "%c", *at);
        text_add(text, "\"");
}

void text_add_number(struct text *text, text_number number)
{
        char digits[DECIMAL_MAX], *at = digits + sizeof digits - 1;

        *at = '\0';
        do
                *--at = (char)('0' + (int)(number % 10));
        while ((number /= 10) > 0);
        text_add(text, "%s", at);
}
