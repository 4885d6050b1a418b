#include "controller/past_queue.h"

#include "base/mem.h"
#include "controller/access.h"
#include "controller/view.h"
#include "controller/why.h"
#include "engine/accounts.h"
#include "engine/memo.h"
#include "engine/queue.h"
#include "engine/state.h"
#include "sim/log_pool.h"
#include "store/objects.h"

/* By the policy of then; without one nobody is kept apart. */
static bool is_asked_for(const struct state *state, uint32_t slot, const char *tenant)
{
        const struct bucket *bucket = &state->buckets[state->workloads[slot].bucket];

        return !tenant[0] || !state->accounts ||
               tenant_is_below(state->accounts->tenancy->tenants[bucket->tenant].path, tenant);
}

/* Of one whose row is gone, what the state itself has. */
static json_t *row_of(struct store *view, const struct state *state, struct why *why,
                      uint32_t slot, uint32_t position, const char *tenant, int64_t at_ms)
{
        static const struct object unknown = {.name = "", .tenant = "", .owner = ""};
        struct object_copy *copy = NULL;
        json_t *row = NULL;

        if (objects_get(view, OBJECT_WORKLOAD, state->workloads[slot].id, &copy, NULL) < 0)
                copy = NULL;
        const struct object *object = copy ? &copy->object : &unknown;
        if (!tenant[0] || tenant_is_below(object->tenant, tenant))
                row = view_queue_row(state, why, slot, position, object, at_ms);
        mem_free(copy);
        return row;
}

json_t *past_queue(struct store *view, const struct log_pool *pool, const char *tenant,
                   bool sees_all, uint32_t limit, int64_t at_ms)
{
        const struct policy placement = {.kind = POLICY_AUTO};  /* as the live pool's */
        struct memo *memo = memo_new(placement, MEMO_INDEXED);
        struct queue_list *list = queue_list_new(pool->state);
        struct why *why = memo ? why_new(memo, pool->state, at_ms, sees_all) : NULL;
        json_t *json = list && why ? json_object() : NULL, *rows = json_array();
        uint32_t waiting = 0, slot;

        while (json && (slot = queue_list_next(list)) != NONE) {
                if (!is_asked_for(pool->state, slot, tenant))
                        continue;
                waiting++;
                json_t *row = waiting <= limit ? row_of(view, pool->state, why, slot, waiting,
                                                        tenant, at_ms)
                                               : NULL;
                if (row)
                        (void)json_array_append_new(rows, row);
        }
        queue_list_free(list);
        why_free(why);
        memo_free(memo);
        if (!json) {
                json_decref(rows);
                return NULL;
        }
        view_set(json, "waiting", json_integer(waiting));
        view_set(json, "workloads", rows);
        return json;
}
