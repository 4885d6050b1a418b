#include "controller/wish.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

static const char *wish_name(enum work_wish wish)
{
        static const char *const names[WISHES_END] = {
#define X(name, wire) [WISH_##name] = wire,
                WISHES(X)
#undef X
        };

        return names[wish];
}

void wish_note_write(uint64_t workload, enum work_wish wish, struct text *out)
{
        text_add(out, "{\"wish\":\"%s\",\"workload\":%" PRIu64 "}", wish_name(wish), workload);
}

bool wish_note_read(const void *body, size_t size, uint64_t *ret_workload,
                    enum work_wish *ret_wish)
{
        static const char begin[] = "{\"wish\":";
        bool found = false;
        json_t *note;

        /* Most notes are not: they need not be read. */
        if (size < sizeof begin || memcmp(body, begin, sizeof begin - 1) != 0)
                return false;
        note = json_loadb(body, size, 0, NULL);
        const char *word = json_string_value(json_object_get(note, "wish"));
        json_int_t workload = json_integer_value(json_object_get(note, "workload"));
        for (unsigned w = 0; word && workload > 0 && w < WISHES_END; w++) {
                if (!str_equal(word, wish_name((enum work_wish)w)))
                        continue;
                *ret_workload = (uint64_t)workload;
                *ret_wish = (enum work_wish)w;
                found = true;
        }
        json_decref(note);
        return found;
}
