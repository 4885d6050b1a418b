#include "cli/escape.h"

static bool ends_line(char byte)
{
        return byte == '\r' || byte == '\n';
}

enum escape_action escape_take(struct escape *escape, const char *typed, size_t size,
                               size_t *ret_taken, char *ret_bytes, size_t *ret_size)
{
        enum escape_action action = ESCAPE_NONE;
        size_t at = 0, out = 0;

        while (at < size && action == ESCAPE_NONE) {
                char byte = typed[at++];
                if (escape->has_tilde) {
                        escape->has_tilde = false;
                        action = byte == '.'   ? ESCAPE_CLOSE
                                 : byte == '?' ? ESCAPE_HELP
                                               : ESCAPE_NONE;
                        if (action != ESCAPE_NONE)
                                continue;
                        ret_bytes[out++] = '~';
                        escape->is_inside = true;
                        if (byte == '~')
                                continue;
                } else if (byte == '~' && !escape->is_inside) {
                        escape->has_tilde = true;
                        continue;
                }
                escape->is_inside = !ends_line(byte);
                ret_bytes[out++] = byte;
        }
        *ret_taken = at;
        *ret_size = out;
        return action;
}
