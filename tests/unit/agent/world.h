/* world.h - an agent as a process, a controller for it, and a folder for both.
 *
 * The agent is this test's own program, started again (world_is_agent()); its supervisors are
 * berth-agent, which BERTH_AGENT names. Times are short: TERM to KILL WORLD_KILL_MS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/unit/agent/controller.h"

#define WORLD_KILL_MS 1500
#define WORLD_DEVICES 4

struct world {
        char folder[64]; /* /tmp/...; the agent's state/ and secrets/ in it */
        char url[100];
        struct controller *controller;
        pid_t agent;         /* 0 = none runs */
        const char *runs_as; /* of the next agent; NULL: none is given */
        const char *allowed; /* the list of accounts, likewise */
        bool stops_runs, has_cages;
};

/* Whether this process was started to be an agent; then it was, and *ret_code is its exit code. */
bool world_is_agent(int argc, char **argv, int *ret_code);

/* cmocka's setup and teardown of one test: *state is the world. No agent runs yet. */
int world_set_up(void **state);
int world_tear_down(void **state);

void agent_begin(struct world *world);
/* Sends the signal and waits; the exit code, or -signal. */
int agent_end(struct world *world, int signal);

/* A run for the list: {"workload": n, "member": 0, "epoch": e, "command": ["sh", "-c", script],
 * "go": true, EXTRA}; freed with free(). `extra` may be "". In the script, @ is the world's folder.
 */
char *run_json(const struct world *world, uint64_t workload, uint64_t epoch, const char *script,
               const char *extra);
/* Two of them, for a list; frees both. */
char *both_runs(char *one, char *other);
/* The list is this from now on; frees it. */
void list_runs(struct world *world, char *runs);

/* A file in the world's folder. */
bool has_file(const struct world *world, const char *name);
/* Its text, cut; "" where there is none. */
const char *file_text(const struct world *world, const char *name);
void make_file(const struct world *world, const char *name);
bool waits_for_file(const struct world *world, const char *name);

/* The supervisor of "1.0.1", once it has said that its run is there. */
pid_t supervisor_of(const struct world *world, const char *run);
/* It is gone when this returns: the next agent finds nobody. */
void kill_supervisor(const struct world *world, const char *run);

/* Whether the process is there (and not dead). */
bool is_alive(int64_t pid);
bool waits_for_death(int64_t pid);

int64_t wall_ms(void);
/* "2027-01-04T08:00:00.250Z", so many ms from now. */
const char *time_in(int64_t ms, char buf[40], int64_t *ret_wall_ms);
