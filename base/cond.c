#include "base/cond.h"

#include <errno.h>
#include <time.h>

void cond_init(pthread_cond_t *cond)
{
        pthread_condattr_t attributes;

        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &attributes);
        pthread_condattr_destroy(&attributes);
}

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ms)
{
        const struct timespec until = {until_ms / 1000, until_ms % 1000 * 1000000};

        return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}
