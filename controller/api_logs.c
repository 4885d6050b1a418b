/* What work wrote: asked of the agent that has it, and passed on. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/wants.h"
#include "controller/works.h"
#include "net/problem.h"

/* ---- where it lies, or lay ---- */

struct place {
        uint64_t epoch;
        const struct node_entry *node;
        bool ended;
};

static void find_running(struct call *call, const struct work *work, uint32_t member,
                         struct place *ret)
{
        const struct state *state = core_state(call->live->core);
        uint32_t slot = state_workload(state, work->id);

        ret->epoch = work->epoch;
        for (uint32_t at = slot == NONE ? NONE : state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next)
                if (state->members[at].number == member)
                        ret->node = live_node_of(call->live, state->members[at].node);
}

/* Of ended work that stands in its row. */
static void find_ended(struct call *call, const char *detail, uint32_t member, struct place *ret)
{
        json_t *json = detail[0] ? json_loads(detail, 0, NULL) : NULL;
        const char *name = json_string_value(
                json_array_get(json_object_get(json, "nodes"), member));

        ret->ended = true;
        ret->epoch = (uint64_t)json_integer_value(json_object_get(json, "epoch"));
        ret->node = name ? nodes_find(call->live->nodes, name) : NULL;
        json_decref(json);
}

/* False: answered. */
static bool find_place(struct call *call, uint64_t id, uint32_t member, struct place *ret)
{
        const struct work *work = works_find(core_works(call->live->core), id);
        struct object_copy *copy;
        char what[48];
        struct err err;
        int rc;

        *ret = (struct place){0};
        (void)snprintf(what, sizeof what, "workload %" PRIu64, id);
        rc = objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, &err);
        if (rc == 0) {
                rc = access_need(&call->who, ACTION_SEE, copy->object.tenant, what, &err);
                if (rc == 0 && work && work->epoch)
                        find_running(call, work, member, ret);
                else if (rc == 0)
                        find_ended(call, copy->object.detail, member, ret);
                mem_free(copy);
        }
        if (rc == -ERR_NOT_FOUND)
                (void)err_set(&err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                              call->who.name);
        else if (rc == 0 && !ret->node)
                rc = err_set(&err, ERR_NOT_FOUND,
                             "member %u of %s has not run anywhere that is known: it wrote nothing",
                             member, what);
        else if (rc == 0 && call->live->simulated)
                rc = err_set(&err, ERR_NOT_FOUND, "nodes are simulated here: nothing is written");
        else if (rc == 0 && !ret->node->connected)
                rc = err_set(&err, ERR_IO, "node '%s' does not answer", ret->node->name);
        if (rc < 0)
                api_fail(call, &err);
        return rc == 0;
}

/* ---- asking ---- */

void get_logs(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        int64_t member = 0, offset = 0, bytes = 65536;
        char stream[8] = "stdout";
        struct place place;
        struct call call;
        struct err err;
        uint64_t id;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_number(&call, "member", 0, MEMBERS_MAX - 1, &member) ||
            !api_query_number(&call, "offset", INT64_MIN / 2, INT64_MAX / 2, &offset) ||
            !api_query_number(&call, "bytes", 1, WANT_BYTES_MAX, &bytes) ||
            !api_query(&call, "stream", stream, sizeof stream) || !(id = api_workload(&call)) ||
            !find_place(&call, id, (uint32_t)member, &place))
                return;
        const struct want want = {.node = place.node,
                                  .asker = exchange,
                                  .workload = id,
                                  .epoch = place.epoch,
                                  .member = (uint32_t)member,
                                  .is_stderr = str_equal(stream, "stderr"),
                                  .offset = offset,
                                  .bytes = (uint32_t)bytes,
                                  .until_ms = api_now_ms() + WANT_WAIT_MS};
        if (place.ended)
                (void)http_answer_header(exchange, "Berth-Ended", "true");
        if (wants_add(call.live->wants, &want) == 0) {
                (void)err_set(&err, ERR_FULL, "too many ask agents for something now: try again");
                problem_answer(exchange, 503, &err, NULL);
                return;
        }
        live_touch(call.live, nodes_find(call.live->nodes, place.node->name), 0);
}

/* ---- answering ---- */

void post_answer(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const char *offset = http_header(exchange, "Berth-Offset");
        const char *size_so_far = http_header(exchange, "Berth-Size");
        struct node_entry *node;
        struct want want;
        struct call call;
        struct err err = {0};
        size_t size;

        if (!api_begin(arg, exchange, match, &call))
                return;
        node = nodes_find(call.live->nodes, route_param(match, "node"));
        const char *body = http_body(exchange, &size);
        uint64_t id = strtoull(route_param(match, "request"), NULL, 10);
        if (api_need_node(&call, &err) == 0 &&
            (!node || !wants_take(call.live->wants, id, node, &want)))
                (void)err_set(&err, ERR_NOT_FOUND, "nobody waits for this answer");
        else if (err.code == ERR_OK) {
                if (offset)
                        (void)http_answer_header(want.asker, "Berth-Offset", offset);
                if (size_so_far)
                        (void)http_answer_header(want.asker, "Berth-Size", size_so_far);
                http_answer(want.asker, 200, "text/plain; charset=utf-8", body, size);
                http_answer(exchange, 204, NULL, NULL, 0);
                return;
        }
        api_fail(&call, &err);
}

void api_end_wants(struct api *api, int64_t now_ms)
{
        struct want want;
        struct err err;

        while (wants_take_late(api->live->wants, now_ms, &want)) {
                (void)err_set(&err, ERR_IO, "node '%s' did not answer in time", want.node->name);
                problem_answer(want.asker, 504, &err, NULL);
        }
}
