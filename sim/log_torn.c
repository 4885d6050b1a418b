#include "sim/log_torn.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define TEARINGS_MAX (1u << 28)

void log_torn_init(struct log_torn *torn)
{
        *torn = (struct log_torn){0};
        map_init(&torn->ends, TEARINGS_MAX);
}

void log_torn_done(struct log_torn *torn)
{
        mem_free(torn->items);
        map_done(&torn->ends);
        *torn = (struct log_torn){0};
}

int log_torn_add(struct log_torn *torn, uint64_t failure_seq, uint32_t job, int64_t at_ms)
{
        struct tearing *grown = mem_grow(torn->items, torn->count, &torn->room, 64,
                                         sizeof *grown);

        if (!grown)
                return -ERR_NOMEM;
        torn->items = grown;
        assert(torn->count == 0 || torn->items[torn->count - 1].failure_seq <= failure_seq);
        torn->items[torn->count++] = (struct tearing){.failure_seq = failure_seq,
                                                      .at_ms = at_ms,
                                                      .took_ms = TORN_FOR_EVER,
                                                      .job = job};
        return 0;
}

int log_torn_end(struct log_torn *torn, uint32_t place, uint64_t end_seq, int64_t at_ms)
{
        struct tearing *it = &torn->items[place];

        assert(it->end_seq == 0);
        if (map_set(&torn->ends, end_seq, place) < 0)
                return -ERR_NOMEM;
        it->end_seq = end_seq;
        it->took_ms = at_ms - it->at_ms;
        return 0;
}

/* The first one of that failure, or of a later one. */
static uint32_t first_of(const struct log_torn *torn, uint64_t failure_seq)
{
        uint32_t low = 0, high = torn->count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (torn->items[middle].failure_seq < failure_seq)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

bool log_torn_has(const struct log_torn *torn, uint64_t failure_seq)
{
        uint32_t at = first_of(torn, failure_seq);

        return at < torn->count && torn->items[at].failure_seq == failure_seq;
}

bool log_torn_has_end(const struct log_torn *torn, uint64_t end_seq)
{
        return map_get(&torn->ends, end_seq) != MAP_NONE;
}

const struct tearing *log_torn_like(const struct log_torn *torn, uint64_t failure_seq,
                                    uint32_t job)
{
        const struct tearing *longest = NULL;

        for (uint32_t at = first_of(torn, failure_seq); at < torn->count; at++) {
                const struct tearing *it = &torn->items[at];
                if (it->failure_seq != failure_seq)
                        break;
                if (it->job == job)
                        return it;
                if (it->job != MAP_NONE && (!longest || it->took_ms > longest->took_ms))
                        longest = it;
        }
        return longest;
}
