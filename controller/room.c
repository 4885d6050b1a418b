#include "controller/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/state.h"

void rooms_of(const struct state *state, struct room ret_rooms[ROOMS])
{
        const struct room rooms[ROOMS] = {
                {"nodes", state->node_slots.used, state->bounds.nodes_max},
                {"workloads", state->workload_slots.used, state->bounds.workloads_max},
                {"members", state->member_slots.used, state->bounds.members_max},
                {"parts", state->part_slots.used, state->bounds.parts_max},
                {"shapes", state->shapes_count, state->bounds.shapes_max},
                {"buckets", state->buckets_count, state->bounds.buckets_max},
                {"plans", state->plan_slots.used, state->bounds.plans_max},
        };

        memcpy(ret_rooms, rooms, sizeof rooms);
}

uint64_t room_resident_bytes(int pid)
{
        char path[48];
        uint64_t all = 0, resident = 0;

        (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
        FILE *file = fopen(path, "re");
        if (!file)
                return 0;
        if (fscanf(file, "%" SCNu64 " %" SCNu64, &all, &resident) != 2)
                resident = 0;
        (void)fclose(file);
        return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t room_memory_bytes(void)
{
        long pages = sysconf(_SC_PHYS_PAGES);

        return pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
