/* baseline.h - the queue rules that everybody knows, to compare a policy with.
 *
 * Pure apart from the heap. A history on equal nodes, without preemption, tenants or limits, and
 * every duration known beforehand: the four rules of HISTORY_RULES (proto/scenario.h) but for the
 * default policy. A job of at most a node's devices goes to one node, the fullest that has room,
 * equally full ones drawn by the seed (nodes are alike, so an order of them would say nothing); a
 * wider one takes whole free nodes, and holds all of them. Members do not matter, only their sum;
 * a slice or a share counts as a device.
 */
#pragma once

#include <stdint.h>

#include "proto/scenario.h"
#include "sim/job_record.h"
#include "sim/replay.h"

struct err;
struct jobs;

struct baseline_setup {
        const struct jobs *jobs;
        uint32_t nodes;
        uint8_t devices_per_node;
        enum history_rule rule; /* FIFO ... SHORTEST_SKIP */
        uint64_t seed;
        struct job_window window;
        const struct replay_hooks *hooks; /* NULL: nobody watches */
};

/* Writes a record for each job; one that is wider than the pool is refused and holds nobody up.
 * 0, -ERR_NOMEM or -ERR_CANCELLED. */
int baseline_run(const struct baseline_setup *setup, struct job_record *ret_records,
                 struct err *err);
