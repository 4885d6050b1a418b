/* The policy and the pool as documents: checked, kept, and brought into force. */
#include "controller/live.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/doc.h"
#include "base/mem.h"
#include "base/text.h"
#include "controller/enrolment.h"
#include "controller/live_impl.h"
#include "controller/nodes.h"
#include "controller/view.h"
#include "engine/accounts.h"
#include "proto/kind.h"
#include "proto/policy_doc.h"
#include "proto/pool_doc.h"

int live_check_revision(uint64_t wanted, uint64_t there, const char *what, struct err *err)
{
        if (wanted == 0 || wanted == there)
                return 0;
        return err_set(err, ERR_EXISTS,
                       "revision %" PRIu64 " of the %s is in force, not %" PRIu64
                       ": read it and try again",
                       there, what, wanted);
}

/* {"reason": "growth"}, where one was said. */
static void put_reason(const struct document_put *put, struct text *detail)
{
        if (!put->reason || !put->reason[0])
                return;
        text_add(detail, "{\"reason\":");
        text_add_json(detail, put->reason);
        text_add(detail, "}");
}

static int keep_document(struct live *live, struct act *act, enum object_kind kind,
                         const struct document_put *put, const char *name, struct err *err)
{
        struct text detail = {0};

        put_reason(put, &detail);
        const struct object object = {.kind = kind,
                                      .id = put->revision,
                                      .tenant = "",
                                      .name = name,
                                      .class = "",
                                      .owner = put->by ? put->by : "",
                                      .state = "set",
                                      .detail = detail.bytes ? detail.bytes : "",
                                      .created_ms = core_now_ms(live->core),
                                      .updated_ms = core_now_ms(live->core),
                                      .body = put->text,
                                      .size = strlen(put->text)};

        int rc = detail.failed ? err_set(err, ERR_NOMEM, "out of memory")
                               : core_put(act, &object, err);
        text_done(&detail);
        return rc;
}

/* ---- policy ---- */

static void list_warnings(const struct policy_doc *policy, struct document_put *put)
{
        put->warnings = json_array();
        for (uint32_t w = 0; w < policy->warnings_count && w < POLICY_WARNINGS_MAX; w++)
                (void)json_array_append_new(put->warnings,
                                            json_string(policy->warnings[w].text));
}

static int next_revision(struct live *live, enum object_kind kind, uint64_t *ret_revision,
                         struct err *err)
{
        int rc = objects_last(core_view(live->core), kind, ret_revision, err);

        *ret_revision += 1;
        return rc;
}

static int enforce_policy(struct live *live, struct act *act, struct document_put *put,
                          struct policy_doc *policy, struct err *err)
{
        const struct core_document document = {.text = put->text, .revision = put->revision};
        struct input input = {.kind = INPUT_POLICY_SET};
        int rc;

        policy->tenancy->revision = put->revision;
        input.accounts = accounts_new(policy->tenancy, err);
        if (!input.accounts)
                return -ERR_NOMEM;
        rc = core_input(act, &input, &document, err);
        /* The state may have them although the input could not be logged. */
        bool in_force = core_state(live->core)->accounts == input.accounts;
        if (in_force)
                core_policy_set(live->core, policy, put->revision);
        else
                accounts_free(input.accounts);
        if (rc)
                return rc;
        rc = keep_document(live, act, OBJECT_POLICY, put, "policy", err);
        if (rc)
                core_undo(act);
        return rc;
}

int live_put_policy(struct live *live, struct act *act, struct document_put *put, struct err *err)
{
        struct policy_doc *policy;
        uint64_t there = core_policy_revision(live->core);
        int rc = live_check_revision(put->wanted, there, "policy", err);

        if (rc == 0 && !put->is_whole)
                return live_put_with_beside(live, act, BESIDE_RESERVATION, put, err);
        if (rc == 0)
                rc = policy_doc_read(put->text, core_models(live->core), live->pool, &policy, err);
        if (rc)
                return rc;
        list_warnings(policy, put);
        rc = next_revision(live, OBJECT_POLICY, &put->revision, err);
        if (put->revision <= there)
                put->revision = there + 1;      /* the newest is not durable yet */
        if (rc == 0 && !put->dry_run) {
                rc = enforce_policy(live, act, put, policy, err);
                if (rc == 0 || core_tenancy(live->core) == policy->tenancy)
                        return rc;              /* it is the core's */
        }
        policy_doc_free(policy);
        return rc;
}

/* ---- pool ---- */

static int read_pool(struct live *live, const char *text, struct pool_doc **ret_pool,
                     struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = doc_read_yaml("pool", text, strlen(text), &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Pool", &root, err);
        if (rc == 0)
                rc = pool_doc_decode(root, core_models(live->core), core_state(live->core)->vocab,
                                     ret_pool, err);
        doc_free(doc);
        return rc;
}

static void take_pool(struct live *live, struct pool_doc *pool, uint64_t revision)
{
        pool_doc_free(live->pool);
        live->pool = pool;
        live->pool_revision = revision;
}

struct newest {
        char *text;
        uint64_t revision;
};

static int see_newest(void *arg, const struct object *object, struct err *err)
{
        struct newest *newest = arg;

        newest->revision = object->id;
        newest->text = mem_new(object->size + 1, 1);
        if (!newest->text)
                return err_set(err, ERR_NOMEM, "out of memory");
        memcpy(newest->text, object->body, object->size);
        return 0;
}

int live_load_pool(struct live *live, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_POOL, .live = true,
                                             .with_body = true, .limit = 1};
        struct newest newest = {0};
        struct pool_doc *pool = NULL;
        int rc = objects_list(core_view(live->core), &filter, see_newest, &newest, err);

        if (rc == 0 && newest.text)
                rc = read_pool(live, newest.text, &pool, err);
        if (rc == 0)
                take_pool(live, newest.text ? pool : NULL, newest.revision);
        if (rc == 0)
                rc = nodes_describe(live->nodes, live->pool, core_state(live->core)->vocab, err);
        mem_free(newest.text);
        return rc;
}

/* A node that has work cannot go: it is drained first. */
static int check_removals(struct live *live, const struct pool_doc *pool, struct err *err)
{
        const struct state *state = core_state(live->core);

        for (uint32_t n = 0; n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                bool stays = node->status == NODE_FREE_SLOT || node->first_member == NONE;
                for (uint32_t p = 0; !stays && p < pool->nodes_count; p++)
                        stays = pool->nodes[p].name == node->desc.name;
                if (!stays)
                        return err_set(err, ERR_INPUT,
                                       "node '%s' is no longer in the document, and work runs on "
                                       "it: drain it first",
                                       vocab_name_text(state->vocab, node->desc.name));
        }
        return 0;
}

static int apply_node(struct live *live, struct act *act, struct node_entry *node,
                      struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t number = state_node(state, node->desc.name);
        const struct input gone = {.kind = INPUT_NODE_REMOVED, .node_name = node->desc.name};

        if (!node->described)
                return number == NONE ? 0 : core_input(act, &gone, NULL, err);
        if (number != NONE ? state->nodes[number].status == NODE_UP : live->simulated != NULL)
                return live_join(live, act, node, err);
        if (number != NONE && state->nodes[number].first_member != NONE)
                return 0;               /* what continues there is as it was */
        return live_describe(live, act, node, err);     /* it joins when its agent speaks */
}

static int apply_planes(struct act *act, const struct pool_doc *pool, struct err *err)
{
        int rc = 0;

        for (uint32_t p = 0; rc == 0 && p < pool->planes_count; p++) {
                const struct input input = {
                        .kind = INPUT_FREEZE_SET,
                        .freeze = {pool->planes[p].word, pool->planes[p].frozen}};
                rc = core_input(act, &input, NULL, err);
        }
        return rc;
}

static int enforce_pool(struct live *live, struct act *act, const struct pool_doc *pool,
                        struct err *err)
{
        const struct input windows = {.kind = INPUT_MAINTENANCE_SET,
                                      .maintenance = &pool->maintenance};
        struct node_entry *node;
        uint32_t cursor = 0;
        int rc = nodes_describe(live->nodes, pool, core_state(live->core)->vocab, err);

        while (rc == 0 && (node = nodes_next(live->nodes, &cursor)))
                rc = apply_node(live, act, node, err);
        if (rc == 0)
                rc = apply_planes(act, pool, err);
        if (rc == 0)
                rc = core_input(act, &windows, NULL, err);
        return rc;
}

/* Who comes back is enrolled anew. */
static int end_enrolments(struct live *live, struct act *act, struct err *err)
{
        struct node_entry *node;
        uint32_t cursor = 0;
        int rc = 0;

        while (rc == 0 && (node = nodes_next(live->nodes, &cursor)))
                if (!node->described)
                        rc = enrolment_end(live, act, node, "removed", err);
        return rc;
}

int live_put_pool(struct live *live, struct act *act, struct document_put *put, struct err *err)
{
        struct pool_doc *pool;
        int rc = live_check_revision(put->wanted, live->pool_revision, "pool", err);

        if (rc == 0 && !put->is_whole)
                return live_put_with_beside(live, act, BESIDE_MAINTENANCE, put, err);
        if (rc == 0)
                rc = read_pool(live, put->text, &pool, err);
        if (rc)
                return rc;
        put->warnings = json_array();
        put->revision = live->pool_revision + 1;
        rc = check_removals(live, pool, err);
        if (rc == 0 && put->dry_run)
                put->stops = view_stops(live, pool);
        if (rc == 0 && !put->dry_run)
                rc = enforce_pool(live, act, pool, err);
        if (rc == 0 && !put->dry_run)
                rc = keep_document(live, act, OBJECT_POOL, put, pool->name, err);
        if (rc == 0 && !put->dry_run && (rc = end_enrolments(live, act, err)) < 0)
                core_undo(act);
        if (rc == 0 && !put->dry_run) {
                take_pool(live, pool, put->revision);
                return 0;
        }
        pool_doc_free(pool);
        if (rc && !put->dry_run && core_facts_any(act))
                core_undo(act);         /* all of it, or nothing */
        else if (rc && !put->dry_run)
                (void)nodes_describe(live->nodes, live->pool, core_state(live->core)->vocab, NULL);
        return rc;
}
