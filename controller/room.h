/* room.h - how full what is bounded is: what is full refuses.
 *
 * Not pure: memory is read from /proc.
 */
#pragma once

#include <stdint.h>

struct state;

#define ROOMS 7

struct room {
        const char *table;              /* a constant */
        uint64_t used, max;
};

void rooms_of(const struct state *state, struct room ret_rooms[ROOMS]);
/* Of a process, and what the machine has; 0: not known. */
uint64_t room_resident_bytes(int pid);
uint64_t room_memory_bytes(void);
