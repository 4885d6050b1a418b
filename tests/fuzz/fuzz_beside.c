/* fuzz_beside.c - what is set can be taken away again, and nothing else changes by it. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/text.h"
#include "proto/beside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many documents it holds; 0: it does not read. */
static size_t count_of(const char *text)
{
        struct doc *doc;

        if (doc_read_yaml("f", text, strlen(text), &doc, NULL) < 0)
                return 0;
        size_t count = doc_count(doc);
        doc_free(doc);
        return count;
}

static void check(const char *text)
{
        static const char small[] = "kind: Reservation\nname: fuzz-one\n";
        struct text with = {0}, without = {0}, again = {0};
        struct err err;

        size_t count = count_of(text);
        assert(beside_main(text, "Reservation") <= strlen(text));
        if (beside_set(text, "Reservation", "fuzz-one", NULL, &without, &err) == 0) {
                text_done(&without);
                return;                 /* it has one of that name */
        }
        text_done(&without);
        without = (struct text){0};
        assert(beside_set(text, "Reservation", "fuzz-one", small, &with, &err) == 0);
        if (count == 0) {
                text_done(&with);
                return;                 /* no document at all: nothing stands beside it */
        }
        assert(count_of(with.bytes) == count + 1);
        assert(beside_set(with.bytes, "Reservation", "fuzz-one", NULL, &without, &err) == 0);
        assert(count_of(without.bytes) == count);
        /* Only a line's end may have been added. */
        size_t length = strlen(text);
        assert(without.size >= length && without.size <= length + 1);
        assert(length == 0 || memcmp(without.bytes, text, length) == 0);
        assert(beside_carry(text, with.bytes, "Reservation", &again, &err) == 0);
        assert(count_of(again.bytes) == count + 1);
        text_done(&again);
        text_done(&with);
        text_done(&without);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = calloc(1, size + 1);

        if (!text)
                abort();
        memcpy(text, data, size);
        check(text);
        free(text);
        return 0;
}
