/* stop.h - Ctrl-C while a command waits for a pool.
 *
 * Catches SIGINT and SIGTERM for the whole process: the first one asks to stop, the second ends
 * the program as usual. One at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;

/* From now on a signal also ends the call that goes on (`client` may be NULL: none). It must live
 * until the next stop_catch(). */
void stop_catch(struct client *client);
bool stop_asked(void);

/* Sleeps, less long when it is asked to stop. */
void stop_pause_ms(int64_t ms);
