/* fuzz_doc_edit.c - what is written reads as the same tree, also after changes. Behind a NUL stand
 * assignments, a line each. */
#include <stdlib.h>

#include "base/doc_edit.h"
#include "base/text.h"
#include "tests/fuzz/doc_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct doc_node *root)
{
        struct text written = {0};
        struct doc *again;
        struct err err;

        doc_write(root, &written);
        if (written.failed)
                abort();
        /* Quotes and escapes make it longer: beyond the bounds nothing is promised. */
        if (written.size < DOC_TEXT_MAX) {
                assert(doc_read_yaml("f", written.bytes, written.size, &again, &err) == 0);
                assert(doc_count(again) == 1);
                assert(doc_equal(root, doc_root(again, 0)));
                doc_free(again);
        }
        text_done(&written);
}

static void change(struct doc *doc, char *lines)
{
        struct err err;

        for (char *rest = lines, *line; (line = strsep(&rest, "\n"));) {
                int rc = doc_assign(doc, doc_root(doc, 0), line, &err);
                assert(rc == 0 || err.text[0] != '\0');
                doc_walk(doc_root(doc, 0), 0, UINT32_MAX);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
        size_t length = nul ? (size_t)(nul - data) : size;
        struct doc *doc;
        struct err err;

        if (doc_read_yaml("f", (const char *)data, length, &doc, &err) < 0)
                return 0;
        check_again(doc_root(doc, 0));
        if (nul && doc_kind(doc_root(doc, 0)) == DOC_MAP) {
                char *lines = calloc(1, size - length);
                if (!lines)
                        abort();
                memcpy(lines, nul + 1, size - length - 1);
                change(doc, lines);
                check_again(doc_root(doc, 0));
                free(lines);
        }
        doc_free(doc);
        return 0;
}
