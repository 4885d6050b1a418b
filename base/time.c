#include "base/time.h"

#include <assert.h>
#include <sys/resource.h>
#include <time.h>

static int64_t now_ns(clockid_t clock)
{
        struct timespec now;
        int rc = clock_gettime(clock, &now);
        assert(rc == 0);
        (void)rc;
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t time_wall_ms(void)
{
        return now_ns(CLOCK_REALTIME) / 1000000;
}

int64_t time_monotonic_ns(void)
{
        return now_ns(CLOCK_MONOTONIC);
}

int64_t time_monotonic_ms(void)
{
        return now_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t time_lease_ms(void)
{
        return now_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t time_cpu_ns(void)
{
        return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t time_peak_rss_mib(void)
{
        struct rusage usage;
        int rc = getrusage(RUSAGE_SELF, &usage);
        assert(rc == 0);
        (void)rc;
        return ((uint64_t)usage.ru_maxrss + 1023) / 1024;
}
