/* fuzz_agent_beside.c - an ask for a program beside a run that is accepted names a program, or none, in
 * texts that lie within its bytes. */
#include <assert.h>
#include <string.h>

#include "agent/beside.h"
#include "base/err.h"
#include "base/mem.h"

enum { WORDS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *words[WORDS + 1];
        struct beside_ask ask;
        struct err err = {0};
        char *bytes = mem_new(size + 1, 1);     /* exactly so many: a sanitizer sees one more */
        size_t used = sizeof(struct beside_head);

        if (!bytes)
                return 0;
        if (size > 0)
                memcpy(bytes, data, size);
        if (beside_read(bytes, size, words, WORDS, &ask, &err) < 0) {
                assert(err.text[0] != '\0');
        } else {
                assert(ask.rows > 0 && ask.columns > 0 && ask.command_count <= WORDS);
                used += strlen(ask.term) + 1;
                for (uint32_t i = 0; i < ask.command_count; i++)
                        used += strlen(ask.command[i]) + 1;
                assert(used == size && !words[ask.command_count]);
                assert(ask.command_count == 0 || ask.command[0][0]);
        }
        mem_free(bytes);
        return 0;
}
