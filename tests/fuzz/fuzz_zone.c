/* fuzz_zone.c - whatever a zone file says, a local time becomes a moment near it. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEAR_S (26 * 3600)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const int64_t times_s[] = {0,          1,          1489285800, 1509845400,
                                          2145916800, 4086590400, ZONE_S_MAX};
        struct zone *zone = NULL;
        struct err err = {0};

        if (zone_parse("f", (const char *)data, size, &zone, &err) < 0) {
                assert(err.text[0] != '\0');
                assert(!zone);
                return 0;
        }
        for (size_t t = 0; t < sizeof times_s / sizeof times_s[0]; t++) {
                int32_t offset_s = zone_offset_s(zone, times_s[t]);
                assert(offset_s > -NEAR_S && offset_s < NEAR_S);
                int64_t utc_s = zone_utc_s(zone, times_s[t]);
                assert(utc_s > times_s[t] - NEAR_S && utc_s < times_s[t] + NEAR_S);
        }
        zone_free(zone);
        return 0;
}
