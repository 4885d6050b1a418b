/* fuzz_crash_record.c - what is read of crash records stands in the file, in order; whatever it is,
 * it has a mark, the same each time, and words that are UTF-8. */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "controller/quarantine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
        const char *at, *end;
        unsigned count;
};

static void take(struct seen *seen, const char *bytes, size_t size)
{
        assert(bytes >= seen->at && bytes <= seen->end && size <= (size_t)(seen->end - bytes));
        seen->at = bytes + size;
}

static int see(void *arg, const struct crash_record *record, struct err *err)
{
        char what[QUARANTINE_WHAT_MAX];
        struct seen *seen = arg;

        (void)err;
        take(seen, record->version, record->version_size);
        take(seen, record->head, record->head_size);
        take(seen, record->body, record->body_size);
        take(seen, record->by, record->by_size);
        take(seen, record->stack, record->stack_size);
        assert(record->by_size <= CRASH_BY_MAX);
        assert(record->of < CRASH_OFS_END && record->at_ns >= 0);
        const struct quarantine_marks first = quarantine_mark(
                record->of, record->head, record->head_size, record->body, record->body_size);
        const struct quarantine_marks again = quarantine_mark(
                record->of, record->head, record->head_size, record->body, record->body_size);
        assert(first.meaning == again.meaning && first.sight == again.sight);
        quarantine_what(record, what, sizeof what);
        assert(str_is_utf8(what, strlen(what), NULL));
        seen->count++;
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct seen seen = {.at = (const char *)data, .end = (const char *)data + size};
        struct err err = {0};

        int rc = crash_read((const char *)data, size, see, &seen, &err);
        assert(rc == 0 || (rc == -ERR_INPUT && err.text[0]));
        assert(rc < 0 || size == 0 || seen.count > 0);
        return 0;
}
