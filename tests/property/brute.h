/* brute.h - a pool of a handful of devices, kept and searched the plain way.
 *
 * Knows the model tables and what a request means; shares no code with the engine's
 * placement. It follows the facts and says of each whether it is lawful, and whether
 * a request could be placed, by trying everything.
 */
#pragma once

#include "engine/fact.h"
#include "engine/model.h"
#include "engine/vocab.h"

enum {
        BRUTE_NODES = 8,
        BRUTE_WORKS = 8,
        BRUTE_PARTS = 64, /* on one device: more small shares than 5 workloads hold */
        BRUTE_MEMBERS = 8,
};

struct brute_part {
        struct part part;
        uint64_t workload;
};

struct brute_device {
        struct brute_part parts[BRUTE_PARTS];
        unsigned count;
        bool broken;
        uint16_t foreign;
        /* what the layout steps made of it */
        bool cut;
        uint32_t epoch;
        struct {
                uint8_t profile, start;
        } instances[BRUTE_PARTS];
        unsigned instances_count;
};

struct brute_node {
        bool here, up;
        struct node_desc desc;
        struct brute_device devices[NODE_DEVICES_MAX];
        uint64_t cpu, ram, disk, network; /* held by members */
};

struct brute_work {
        bool live;
        uint8_t holds;
        struct request request;
        uint64_t arrival;
        unsigned placed; /* members; all or none, between groups */
        struct {
                uint32_t node;
                uint8_t count;
                struct part parts[NODE_DEVICES_MAX];
        } members[BRUTE_MEMBERS];
};

struct brute {
        const struct model_table *models;
        const struct vocab *vocab;
        struct brute_node nodes[BRUTE_NODES]; /* by the state's node number */
        struct brute_work works[BRUTE_WORKS];
        uint64_t arrivals;
        bool frozen;
        uint16_t frozen_planes[8], frozen_count;
};

void brute_init(struct brute *brute, const struct model_table *models, const struct vocab *vocab);

struct brute_work *brute_work(struct brute *brute, uint64_t id); /* NULL: not there */

/* Takes one fact over. False: it is not lawful, and `why` says so. `input` is what led to it. */
bool brute_apply(struct brute *brute, const struct fact *fact, const struct input *input, char *why,
                 size_t why_size);

/* At the end of a group: gangs are whole and as they wished, instances are what slices need. */
bool brute_group_ends(const struct brute *brute, char *why, size_t why_size);

/* Whether a workload that was placed just now lies as its form wishes; `near`: also as it prefers.
 */
bool brute_placed_well(const struct brute *brute, const struct brute_work *work, bool near,
                       char *why, size_t why_size);

enum brute_pool { BRUTE_NOW, BRUTE_EMPTY };
/* Whether the request (settled) could be placed in the pool as it is / with nobody there, all up,
 * sound and undrained. -1: the search grew too big to finish. */
int brute_could(const struct brute *brute, const struct request *request, enum brute_pool pool);
