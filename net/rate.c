#include "net/rate.h"

#include <assert.h>

#define MICRO     1000000
#define PER_S_MAX 1000000
/* Twice that fills every bucket there can be, whatever its debt; more would only overflow. */
#define PAUSE_MS_MAX (1000ll * PER_S_MAX)

int64_t rate_take(struct rate *rate, uint32_t per_s, uint32_t burst, int64_t now_ms)
{
        return rate_charge(rate, 1, per_s, burst, now_ms);
}

int64_t rate_charge(struct rate *rate, uint32_t cost, uint32_t per_s, uint32_t burst,
                    int64_t now_ms)
{
        assert(cost >= 1 && cost <= PER_S_MAX);
        assert(per_s >= 1 && per_s <= PER_S_MAX);
        assert(burst >= 1 && burst <= PER_S_MAX);
        assert(now_ms > 0);
        assert(now_ms >= rate->filled_ms);

        int64_t full = (int64_t)burst * MICRO;
        int64_t pause_ms = now_ms - rate->filled_ms;
        int64_t micro_per_ms = (int64_t)per_s * (MICRO / 1000);

        if (rate->filled_ms == 0 || pause_ms > PAUSE_MS_MAX * 2 ||
            pause_ms * micro_per_ms > full - rate->tokens_micro)
                rate->tokens_micro = full;
        else
                rate->tokens_micro += pause_ms * micro_per_ms;
        rate->filled_ms = now_ms;

        if (rate->tokens_micro < MICRO)
                return (MICRO - rate->tokens_micro + micro_per_ms - 1) / micro_per_ms;
        rate->tokens_micro -= (int64_t)cost * MICRO;
        return 0;
}
