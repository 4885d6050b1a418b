/* fuzz_doc_yaml.c - whatever the bytes, a tree that keeps its promises or one sentence. */
#include "tests/fuzz/doc_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct doc *doc = NULL;
        struct err err = {0};
        int rc = doc_read_yaml("f", (const char *)data, size, &doc, &err);
        if (rc < 0) {
                assert(!doc);
                assert(strncmp(err.text, "f:", 2) == 0);
                return 0;
        }
        assert(doc_count(doc) >= 1);
        /* YAML knows line ends of one byte at the least. */
        for (size_t i = 0; i < doc_count(doc); i++)
                doc_walk(doc_root(doc, i), 0, (unsigned)size + 1);
        doc_free(doc);
        return 0;
}
