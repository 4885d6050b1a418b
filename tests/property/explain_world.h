/* explain_world.h - a random history with a policy, that can be lived through again,
 * and with what is foreign to one tenant under other names. */
#pragma once

#include "engine/decide.h"
#include "tests/property/policy_draw.h"
#include "tests/property/shrink.h"

struct policy_doc;

struct lived {
        struct input input;
        int64_t now_ms;
};

/* What is fixed of a case. */
struct world {
        uint64_t seed;
        const struct model_table *models;
        struct case_words words;
        struct draw_pool pool;
        struct maintenance windows;     /* set at first; of two seeds in three there are none */
        struct lived *lived;            /* all inputs so far; POLICY_SET without accounts */
        uint32_t lived_count, lived_room;
        uint64_t last_id;
        int64_t now_ms;
};

/* One life of it. */
struct life {
        const struct world *world;
        struct policy_doc *policy;
        struct state *state;
        struct memo *memo;
        uint16_t viewer;                /* renames: whatever is foreign to this tenant */
        const char *prefix;             /* of foreign tenants' names; NULL: as they are */
        uint64_t foreign_ids;           /* added to ids of foreign workloads */
        enum gate refused_at;           /* of the newest refusal */
        unsigned started;               /* members placed by the newest input */
};

bool world_open(struct world *world, const struct model_table *models, uint64_t seed);
void world_close(struct world *world);

bool life_open(struct life *life, const struct world *world, uint16_t viewer, const char *prefix,
               uint64_t foreign_ids);
void life_close(struct life *life);
/* 0, or the error that the input is. */
int life_run(struct life *life, const struct input *input, int64_t now_ms);
/* All that was lived so far. */
bool life_again(struct life *life, const struct world *world);
bool is_foreign(const struct life *life, uint16_t tenant);

/* Draws step number `step` and runs it in the life, which is kept. */
void world_step(struct world *world, struct life *life, unsigned step);
