/* rng.h - chance with a name: the same seed gives the same numbers on every machine.
 *
 * Pure. xoshiro256** started by splitmix64. One owner at a time. Not for secrets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
        uint64_t words[4];
};

/* Any seed is fine, 0 too; seeds next to each other give unrelated numbers. */
void rng_init(struct rng *rng, uint64_t seed);
/* An independent stream of that seed, e.g. arrivals and lives apart: drawing more of one does not
 * move the other. Stream 0 is rng_init(). */
void rng_init_stream(struct rng *rng, uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n);        /* 0..n-1, unbiased; n is 1 or more */
double rng_exponential(struct rng *rng, double mean);   /* 0 or more, always finite */

/* An index below `count`, by its weight. The weights must not all be 0, nor overflow their sum. */
size_t rng_weighted(struct rng *rng, const uint64_t *weights, size_t count);

/* Every order equally likely (Fisher-Yates). */
void rng_shuffle(struct rng *rng, uint32_t *values, size_t count);
