#include "sim/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
        return x << bits | x >> (64 - bits);
}

void rng_init(struct rng *rng, uint64_t seed)
{
        rng_init_stream(rng, seed, 0);
}

void rng_init_stream(struct rng *rng, uint64_t seed, uint64_t stream)
{
        uint64_t state = stream;

        /* The stream is mixed first, so that (seed, stream) and (seed + 1, stream - 1) differ. */
        state = seed ^ (stream == 0 ? 0 : splitmix(&state));
        for (unsigned i = 0; i < 4; i++)
                rng->words[i] = splitmix(&state);
}

uint64_t rng_next(struct rng *rng)
{
        uint64_t *s = rng->words;
        uint64_t result = rotate(s[1] * 5, 7) * 9;
        uint64_t t = s[1] << 17;

        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate(s[3], 45);
        return result;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
        assert(n > 0);
        /* Numbers below 2^64 mod n would come up once too often. */
        uint64_t least = -n % n;
        uint64_t x;

        do
                x = rng_next(rng);
        while (x < least);
        return x % n;
}

/* [0, 1), 53 bits */
static double rng_unit(struct rng *rng)
{
        return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_exponential(struct rng *rng, double mean)
{
        return -mean * log1p(-rng_unit(rng));
}

size_t rng_weighted(struct rng *rng, const uint64_t *weights, size_t count)
{
        uint64_t total = 0;

        for (size_t i = 0; i < count; i++)
                total += weights[i];
        assert(total > 0);
        uint64_t at = rng_below(rng, total);
        for (size_t i = 0; i + 1 < count; i++) {
                if (at < weights[i])
                        return i;
                at -= weights[i];
        }
        return count - 1;
}

void rng_shuffle(struct rng *rng, uint32_t *values, size_t count)
{
        for (size_t i = count; i > 1; i--) {
                size_t j = rng_below(rng, i);
                uint32_t value = values[i - 1];
                values[i - 1] = values[j];
                values[j] = value;
        }
}
