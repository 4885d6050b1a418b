/* bytes.h - numbers as bytes, little-endian, and back within bounds; for store/ only.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *bytes_put_u32(uint8_t *at, uint32_t value)
{
        for (unsigned i = 0; i < 4; i++)
                *at++ = (uint8_t)(value >> 8 * i);
        return at;
}

static inline uint8_t *bytes_put_u64(uint8_t *at, uint64_t value)
{
        for (unsigned i = 0; i < 8; i++)
                *at++ = (uint8_t)(value >> 8 * i);
        return at;
}

/* What is left to read; once something was missing it stays failed and gives zeros. */
struct bytes_in {
        const uint8_t *at;
        size_t left;
        bool failed;
};

/* The next `size` bytes, where they lie; NULL when there are fewer. */
static inline const uint8_t *bytes_take(struct bytes_in *in, size_t size)
{
        const uint8_t *taken = in->at;

        if (in->failed || size > in->left) {
                in->failed = true;
                return NULL;
        }
        in->at += size;
        in->left -= size;
        return taken;
}

static inline uint64_t bytes_take_number(struct bytes_in *in, unsigned size)
{
        const uint8_t *bytes = bytes_take(in, size);
        uint64_t value = 0;

        for (unsigned i = 0; bytes && i < size; i++)
                value |= (uint64_t)bytes[i] << 8 * i;
        return value;
}

static inline uint32_t bytes_take_u32(struct bytes_in *in)
{
        return (uint32_t)bytes_take_number(in, 4);
}

static inline uint64_t bytes_take_u64(struct bytes_in *in)
{
        return bytes_take_number(in, 8);
}

static inline void bytes_take_into(struct bytes_in *in, void *ret_bytes, size_t size)
{
        const uint8_t *bytes = bytes_take(in, size);

        if (bytes)
                memcpy(ret_bytes, bytes, size);
        else
                memset(ret_bytes, 0, size);
}
