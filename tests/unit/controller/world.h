/* world.h - a controller over a disk that can fail, in virtual time: for tests.
 *
 * One thread. The real core, live pool and store; the writer is stepped. Two disks: a crash makes
 * one of them what was left of the other. Ends the program when a step fails that no test wants to
 * see fail; calls that may fail return a code and leave the sentence in `err`.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "controller/access.h"
#include "controller/live.h"
#include "controller/submit.h"
#include "controller/works.h"
#include "engine/state.h"
#include "tests/fault_vfs.h"

#define WORLD_START_MS INT64_C(1798761600000)           /* 2027-01-01T00:00:00Z */

/* How an act ended. */
struct ack {
        unsigned calls;
        int rc;
};

#define WORLD_LEASE_MS 30000

struct world {
        struct fault_vfs *disks[2];
        unsigned disk;                  /* that the controller is on */
        struct model_table *models;     /* made anew at each start, unless `keeps_models` */
        bool keeps_models;              /* starts are quicker */
        bool simulate;
        struct numbers_wish numbers;    /* of its starts; zeroed: epochs are records' numbers */
        bool is_up;
        struct live live;
        int64_t now_ms;
        int64_t steady_ms;              /* the clock of leases: goes on with world_tick() */
        struct core_recovery told;
        struct who who;                 /* who submits: an operator */
        struct err err;
};

/* Two empty disks and no controller yet; `name` tells the disks of worlds apart. */
void world_init(struct world *world, const char *name);
void world_done(struct world *world);                   /* a zeroed one is fine */

/* The controller on its disk. 0, or what live_open() returns. */
int world_try_start(struct world *world);
void world_start(struct world *world);
void world_stop(struct world *world);                   /* a clean end, without a snapshot */
/* The power goes; the next world_start() finds what is left. */
void world_crash(struct world *world, enum fault_loss loss, uint64_t seed);
/* Everything that was pushed is committed or has failed, and who waits is told. */
void world_settle(struct world *world);
/* Starts, and puts world_pool and world_policy. */
void world_furnish(struct world *world);

/* Three nodes n1 to n3 of four H100-80; tenants web (4 promised), lab/a and lab/b (2 promised to lab);
 * classes training (notice 30s), batch (notice 10s, may be stopped by all), and quiet (never). */
extern const char world_pool[], world_policy[];

struct act *world_act(struct world *world);
void world_commit(struct world *world, struct act *act, struct ack *ack);       /* not settled */

int world_put_policy(struct world *world, const char *text);    /* settled */
int world_put_pool(struct world *world, const char *text);
/* Not settled. `ack` may be NULL. */
int world_submit(struct world *world, const char *text, struct ack *ack,
                 struct submitted *ret_submitted);
/* A job of the tenant with so many members of one device each, settled: its number. */
uint64_t world_job(struct world *world, const char *tenant, const char *name, unsigned members);
int world_cancel(struct world *world, uint64_t id, struct ack *ack);
void world_tick(struct world *world, int64_t after_ms);         /* settled */

/* One exchange: the report (taken over), and the answer, if what it says is durable; else NULL, as
 * where it is refused (with a code in err). Settled before the answer. */
json_t *world_exchange(struct world *world, const char *node, json_t *report);
/* The same of an agent that says it runs what `runs` says: a list in JSON. It has seen everything. */
json_t *world_report(struct world *world, const char *node, const char *runs);

struct work *world_work(const struct world *world, uint64_t id);        /* NULL: it has ended */
/* Where the store says that it is: "live", "succeeded" ...; and its detail. */
void world_row(const struct world *world, uint64_t id, char ret_state[32], char ret_detail[512]);
uint64_t world_hash(const struct world *world);
