#include "net/piece.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct piece {
        size_t size;
        uint32_t holders;
        char bytes[];
};

struct piece *piece_new(const void *bytes, size_t size)
{
        struct piece *piece = size <= SIZE_MAX - sizeof *piece ? mem_new(sizeof *piece + size, 1)
                                                               : NULL;

        if (!piece)
                return NULL;
        piece->size = size;
        piece->holders = 1;
        if (size > 0)
                memcpy(piece->bytes, bytes, size);
        return piece;
}

struct piece *piece_hold(struct piece *piece)
{
        assert(piece->holders > 0);
        assert(piece->holders < UINT32_MAX);
        piece->holders++;
        return piece;
}

void piece_release(struct piece *piece)
{
        if (!piece)
                return;
        assert(piece->holders > 0);
        if (--piece->holders == 0)
                mem_free(piece);
}

const char *piece_bytes(const struct piece *piece)
{
        return piece->bytes;
}

size_t piece_size(const struct piece *piece)
{
        return piece->size;
}
