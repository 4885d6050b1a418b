/* clock - preloaded beneath a program: its time of day is CLOCK_AHEAD_S seconds ahead. What is
 * measured on other clocks is as it was.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead_s(void)
{
        const char *text = getenv("CLOCK_AHEAD_S");

        return text ? (time_t)strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
        static int (*next)(clockid_t, struct timespec *);

        if (!next)
                *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
        int rc = next ? next(clock, ret_time) : -1;
        if (rc == 0 && clock == CLOCK_REALTIME)
                ret_time->tv_sec += ahead_s();
        return rc;
}

time_t time(time_t *ret_time)
{
        struct timespec now = {0};

        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (ret_time)
                *ret_time = now.tv_sec;
        return now.tv_sec;
}
