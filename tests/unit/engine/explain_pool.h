/* explain_pool.h - a pool whose policy is a list of tenants, and the explanation of its work. */
#pragma once

#include "engine/explain.h"
#include "tests/unit/engine/pool_policy.h"

static struct explanation it;           /* the newest */

/* The tenants of a policy with two classes; work is of the first one. */
static inline void set_tenants(const char *tenants)
{
        static const char classes[] =
                "kind: Policy\n"
                "preset: protected\n"
                "classes:\n"
                "  train: {rank: 1, methods: [whole, slice, share], stop: for_protect, "
                "notice: 5m, exempt: 0s, hold_after: 10m}\n"
                "  test:  {rank: 2, methods: [whole, slice, share], stop: always, notice: 30s, "
                "exempt: 0s, hold_after: 10m}\n"
                "tenants:\n";
        char text[4096];

        snprintf(text, sizeof text, "%s%s", classes, tenants);
        set_policy(text);
}

static inline uint16_t tenant(const char *path)
{
        int found = tenancy_find(policy->tenancy, path);

        assert_true(found >= 0);
        return (uint16_t)found;
}

static inline struct request by(const char *path, struct request request)
{
        request.tenant = tenant(path);
        return request;
}

/* Leaves `it` as it is. */
static inline void explain_brief_agrees(uint64_t id)
{
        static struct explanation brief;

        assert_int_equal(explain_briefly(memo, pool, id, now_ms, &brief, NULL), 0);
        assert_int_equal(brief.verdict, it.verdict);
        assert_int_equal(brief.standing, it.standing);
        for (unsigned g = 0; g < EXPLAIN_GATES; g++)
                assert_int_equal(brief.gates[g].passed, it.gates[g].passed);
        assert_int_equal(brief.groups_count, it.groups_count);
        assert_int_equal(brief.all.members, it.all.members);
        assert_int_equal(brief.all.nodes, it.all.nodes);
        assert_int_equal(brief.nearest_count, 0);
        assert_int_equal(brief.position.in_tenant, 0);
}

static inline void explain_now(uint64_t id)
{
        struct err err = {0};
        uint64_t hash = state_hash(pool);

        if (explain(memo, pool, id, now_ms, &it, &err))
                fail_msg("%s", err.text);
        explain_brief_agrees(id);
        assert_true(state_hash(pool) == hash);
}

static inline void explain_asked(struct request request)
{
        struct err err = {0};

        if (explain_request(memo, pool, &request, now_ms, &it, &err))
                fail_msg("%s", err.text);
}

static inline void is_verdict(enum verdict verdict)
{
        if (it.verdict != verdict)
                fail_msg("%s instead of %s", verdict_name(it.verdict), verdict_name(verdict));
}

/* The first gate that fails, and no other thing, gives the verdict. */
static inline void fails_first(enum gate gate)
{
        for (unsigned g = 0; g < gate; g++)
                if (!it.gates[g].passed)
                        fail_msg("%s fails before %s", gate_name((enum gate)g), gate_name(gate));
        assert_false(it.gates[gate].passed);
}

static inline const struct explained_unblock *offered(enum unblock_kind kind)
{
        for (uint32_t n = 0; n < it.nearest_count; n++)
                if (it.nearest[n].kind == kind)
                        return &it.nearest[n];
        fail_msg("no '%s' is offered", unblock_name(kind));
        return NULL;
}
