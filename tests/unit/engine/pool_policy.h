/* pool_policy.h - pool.h with a policy in force. Time is told from the test's start, in ms. */
#pragma once

#include <string.h>

#include "base/doc.h"
#include "engine/accounts.h"
#include "proto/policy_doc.h"
#include "tests/unit/engine/pool.h"

#define S  INT64_C(1000)
#define M  (60 * S)
#define H  (60 * M)
#define T0 INT64_C(1000)                /* what pool.h starts with */

static struct policy_doc *policy;

static inline void set_policy(const char *text)
{
        struct input input = {.kind = INPUT_POLICY_SET};
        struct err err = {0};
        struct doc *doc;

        assert_int_equal(doc_read_yaml("p", text, strlen(text), &doc, &err), 0);
        if (policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        input.accounts = accounts_new(policy->tenancy, &err);
        assert_non_null(input.accounts);
        must(&input);
}

static inline int close_with_policy(void **state)
{
        close_pool(state);
        policy_doc_free(policy);
        policy = NULL;
        return 0;
}

static inline struct request of(struct request request, const char *tenant, const char *class)
{
        request.tenant = (uint16_t)tenancy_find(policy->tenancy, tenant);
        request.class = (uint16_t)tenancy_class_find(policy->tenancy, class);
        return request;
}

/* One device for tenant "u" in class "c"; it runs no longer than that (0: nobody knows). */
static inline struct request timed(uint64_t id, int64_t limit_ms)
{
        struct request request = of(ask(id, 1), "u", "c");

        request.time_limit_ms = limit_ms;
        return request;
}

static inline void at(int64_t ms)
{
        now_ms = T0 + ms;
}

static inline void tick_at(int64_t ms)
{
        at(ms);
        must(&(struct input){.kind = INPUT_TICKED});
}

static inline const struct workload *work(uint64_t id)
{
        return &pool->workloads[state_workload(pool, id)];
}

static inline bool is_told(uint64_t id)
{
        return work(id)->notice_until_ms != 0;
}

static inline bool lies_on(uint64_t id, const char *node)
{
        return is_placed(id) &&
               pool->members[work(id)->first_member].node == state_node(pool, name(node));
}

static inline void drain_by(const char *text, const char *model, unsigned devices, int64_t by_ms)
{
        struct node_desc desc = node(text, model, devices);

        desc.drained = true;
        desc.drain_by_ms = by_ms ? T0 + by_ms : 0;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

static inline void undrain(const char *text, const char *model, unsigned devices)
{
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node(text, model, devices)});
}
