/* log_world.h - a small pool run by the controller's core on a real store, for tests of its log.
 *
 * One thread; time is the caller's. Ends the test when a step fails that none wants to see fail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/fact.h"

struct core;
struct model_table;

#define LOG_WORLD_START_MS 1798761600000ll      /* 2027-01-01T00:00:00Z */

struct log_world {
        const char *path;
        struct model_table *models;
        struct core *core;
        int64_t now_ms;
        uint64_t revision;              /* of the policy */
        uint64_t workloads;
};

/* On the store at `path`, made when there is none; `nodes_max` of a new one. */
void log_world_open(struct log_world *world, const char *path, uint32_t nodes_max);
void log_world_close(struct log_world *world);
/* Ends and comes back, as after a restart. */
void log_world_restart(struct log_world *world);
void log_world_snapshot(struct log_world *world);

/* Each is an act of its own, and durable when it returns. */
void log_world_policy(struct log_world *world, const char *text);
void log_world_node(struct log_world *world, const char *name, const char *model,
                    uint8_t devices);
void log_world_note(struct log_world *world, const char *text);
void log_world_input(struct log_world *world, const struct input *input);
void log_world_tick(struct log_world *world, int64_t now_ms);
/* Its number. `tenant` and `class` are in the policy. */
uint64_t log_world_submit(struct log_world *world, const char *tenant, const char *class,
                          uint8_t devices, int64_t limit_ms);
/* Work whose notice is over goes, as its agent would report. */
void log_world_stop_due(struct log_world *world);
bool log_world_runs(const struct log_world *world, uint64_t workload);
bool log_world_lives(const struct log_world *world, uint64_t workload);
