/* agents.h - what the agents of one world say and are told, for tests of what becomes of it.
 *
 * Nodes n1 to n3 of world_furnish(). Everything here fails the test where it cannot go on.
 */
#pragma once

#include "tests/unit/check.h"

#include "controller/nodes.h"
#include "tests/unit/controller/world.h"

static struct world world;

static inline void report(const char *node, const char *runs)
{
        json_t *answer = world_report(&world, node, runs);
        if (!answer)
                fail_msg("%s: %s", node, world.err.text);
        json_decref(answer);
}

static inline int agents_begin(void **state)
{
        (void)state;
        world_init(&world, "exchange");
        world_furnish(&world);
        report("n1", "[]");
        report("n2", "[]");
        report("n3", "[]");
        return 0;
}

static inline int agents_end(void **state)
{
        (void)state;
        world_done(&world);
        return 0;
}

/* What an agent says of one member. */
static inline const char *run(uint64_t id, unsigned member, const char *rest)
{
        static char text[8][200];
        static unsigned count;
        const struct work *work = world_work(&world, id);
        char *room = text[count++ % 8];
        snprintf(room, sizeof text[0], "[{\"workload\":%u,\"member\":%u,\"epoch\":%u,%s}]",
                 (unsigned)id, member, work ? (unsigned)work->epoch : 0, rest);
        return room;
}

static inline const char *node_of(uint64_t id, unsigned member)
{
        const struct state *state = core_state(world.live.core);
        uint32_t slot = state_workload(state, id);
        assert_int_not_equal(slot, NONE);
        for (uint32_t at = state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].number == member)
                        return live_node_of(&world.live, state->members[at].node)->name;
        return NULL;
}

/* The agent of the node where the member is says that, and the answer's run of it (NULL: none). */
static inline json_t *say(uint64_t id, unsigned member, const char *rest)
{
        static json_t *kept;
        json_t *answer = world_report(&world, node_of(id, member), run(id, member, rest)), *it;
        size_t i;
        if (!answer)
                fail_msg("%s", world.err.text);
        json_decref(kept);
        kept = answer;
        json_array_foreach(json_object_get(answer, "runs"), i, it)
                if ((uint64_t)json_integer_value(json_object_get(it, "workload")) == id &&
                    json_integer_value(json_object_get(it, "member")) == member)
                        return it;
        return NULL;
}

#define RUNNING "\"phase\":\"running\""
#define READY   "\"phase\":\"ready\""
#define WELL    "\"phase\":\"exited\",\"exit_code\":0"
#define BADLY   "\"phase\":\"exited\",\"exit_code\":3"
#define TERMED  "\"phase\":\"exited\",\"signal\":15"

static inline void expect_row(uint64_t id, const char *wanted)
{
        char is[32], detail[512];
        world_row(&world, id, is, detail);
        assert_string_equal(is, wanted);
}

static inline bool is_up(const char *name)
{
        const struct state *state = core_state(world.live.core);
        uint32_t node = state_node(state, nodes_find(world.live.nodes, name)->desc.name);
        return node != NONE && state->nodes[node].status == NODE_UP;
}

/* All agents but that of the node. */
static inline void others_report(const char *but)
{
        for (unsigned n = 1; n <= 3; n++) {
                char name[4];
                snprintf(name, sizeof name, "n%u", n);
                if (strcmp(name, but) != 0)
                        report(name, "[]");
        }
}

/* Until its lease is over. */
static inline void silence(const char *node)
{
        for (unsigned t = 0; t < 17 && is_up(node); t++) {
                world_tick(&world, 2000);
                others_report(node);
        }
        assert_false(is_up(node));
}
