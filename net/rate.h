/* rate.h - a token bucket: so many a second, and a burst on top.
 *
 * Pure. A zeroed bucket is full at its first use. Exact: nothing is lost by rounding.
 */
#pragma once

#include <stdint.h>

struct rate {
        int64_t filled_ms;    /* when `tokens_micro` was right; 0: never used */
        int64_t tokens_micro; /* millionths of a token */
};

/* Takes one token. 0, or how many ms to wait until there is one (1 or more; nothing is taken).
 * `per_s` and `burst` are 1 to 1,000,000; now_ms never goes back and is above 0. */
int64_t rate_take(struct rate *rate, uint32_t per_s, uint32_t burst, int64_t now_ms);

/* The same for what costs more than one (1 to 1,000,000): where there is one token it goes, and the
 * rest is a debt that comes in before the next. */
int64_t rate_charge(struct rate *rate, uint32_t cost, uint32_t per_s, uint32_t burst,
                    int64_t now_ms);
