#include "cli/stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "net/client.h"

#define SLICE_MS 100 /* a signal that comes just before the sleep is seen so soon */

/* A handler gets no argument. */
static volatile sig_atomic_t asked;
static struct client *volatile caught;

static void ask_to_stop(int signal_number)
{
        struct client *client = caught;

        (void)signal_number;
        asked = 1;
        if (client)
                client_stop(client);
}

void stop_catch(struct client *client)
{
        struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = (int)SA_RESETHAND};

        caught = client;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
}

bool stop_asked(void)
{
        return asked != 0;
}

void stop_pause_ms(int64_t ms)
{
        while (ms > 0 && !asked) {
                int64_t slice_ms = ms < SLICE_MS ? ms : SLICE_MS;
                struct timespec slice = {.tv_nsec = slice_ms * 1000000};
                nanosleep(&slice, NULL);
                ms -= slice_ms;
        }
}
