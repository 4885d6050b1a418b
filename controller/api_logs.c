/* What work wrote: asked of the agent that has it, and passed on. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/live.h"
#include "controller/nodes.h"
#include "controller/run_list.h"
#include "controller/wants.h"
#include "net/problem.h"

/* ---- where it lies, or lay ---- */

struct place {
        uint64_t epoch, run;
        const struct node_entry *node;
        bool ended;
};

/* Of a run of the list. 0 or -ERR_NOT_FOUND. */
static int place_of(const struct call *call, const json_t *run, uint32_t member, const char *what,
                    struct place *ret, struct err *err)
{
        const char *node = run_list_node(run, member, what, err);

        if (!node)
                return -ERR_NOT_FOUND;
        *ret = (struct place){
                .epoch = (uint64_t)json_integer_value(json_object_get(run, "epoch")),
                .run = (uint64_t)json_integer_value(json_object_get(run, "run")),
                .node = nodes_find(call->live->nodes, node),
                .ended = json_is_string(json_object_get(run, "ended"))};
        if (call->live->simulated)
                return err_set(err, ERR_NOT_FOUND,
                               "nodes are simulated here: nothing is written");
        if (!ret->node)
                return err_set(err, ERR_NOT_FOUND,
                               "node '%s', where run %" PRIu64 " of %s was, has left the pool, and "
                               "what it wrote with it",
                               node, ret->run, what);
        return 0;
}

/* ---- asking ---- */

#define LOOKS_MAX 16    /* each waits for a commit, and one will do but for what never should be */

struct asking {
        struct call call;
        uint64_t id;
        int64_t run;                    /* run_list_find() */
        uint32_t member, bytes;
        int64_t offset;
        bool is_stderr;
        unsigned looks;
};

static int find_in_row(struct asking *asking, const struct object *object, const char *what,
                       struct place *ret, struct err *err)
{
        json_t *list = run_list(asking->call.live, object);
        const json_t *run = run_list_find(list, asking->run, what, err);
        int rc = run ? place_of(&asking->call, run, asking->member, what, ret, err)
                     : -ERR_NOT_FOUND;

        json_decref(list);
        return rc;
}

/* 1: look again when more is durable. 0; -ERR_NOT_FOUND, -ERR_FULL, -ERR_IO, -ERR_NOMEM. */
static int find_place(struct asking *asking, struct place *ret, struct err *err)
{
        const struct call *call = &asking->call;
        struct object_copy *copy;
        char what[48];
        int rc = objects_get(core_view(call->live->core), OBJECT_WORKLOAD, asking->id, &copy, err);

        (void)snprintf(what, sizeof what, "workload %" PRIu64, asking->id);
        if (rc == -ERR_NOT_FOUND)
                return err_set(err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                               call->who.name);
        if (rc < 0)
                return rc;
        rc = access_need(&call->who, ACTION_SEE, copy->object.tenant, what, err);
        if (rc == 0 && run_list_is_whole(call->live, &copy->object))
                rc = find_in_row(asking, &copy->object, what, ret, err);
        else if (rc == 0)
                rc = ++asking->looks < LOOKS_MAX
                             ? 1
                             : err_set(err, ERR_FULL, "%s is just ending: ask again", what);
        mem_free(copy);
        return rc;
}

static void ask_node(struct call *call, const struct asking *asking, const struct place *place)
{
        const struct want want = {.node = place->node,
                                  .asker = call->exchange,
                                  .workload = asking->id,
                                  .epoch = place->epoch,
                                  .run = place->run,
                                  .has_ended = place->ended,
                                  .member = asking->member,
                                  .is_stderr = asking->is_stderr,
                                  .offset = asking->offset,
                                  .bytes = asking->bytes,
                                  .until_ms = api_now_ms() + WANT_WAIT_MS};
        struct err err;

        if (!place->node->connected) {
                (void)err_set(&err, ERR_IO,
                              "node '%s', where run %" PRIu64 " of workload %" PRIu64
                              " was, does not answer: what it wrote lies there",
                              place->node->name, place->run, asking->id);
                problem_answer(call->exchange, 504, &err, NULL);
                return;
        }
        if (wants_add(call->live->wants, &want) == 0) {
                (void)err_set(&err, ERR_FULL, "too many ask agents for something now: try again");
                problem_answer(call->exchange, 503, &err, NULL);
                return;
        }
        live_touch(call->live, nodes_find(call->live->nodes, place->node->name), 0);
}

/* A core_done. What was decided meanwhile may have ended a run: then it waits for that, too. */
static void look(void *arg, int rc, const struct err *why)
{
        struct asking *asking = arg;
        struct place place = {0};
        struct err err;

        if (rc < 0) {
                api_undone(asking->call.live->core, asking->call.exchange, why);
                mem_free(asking);
                return;
        }
        rc = find_place(asking, &place, &err);
        if (rc > 0) {
                core_when_durable(asking->call.live->core, look, asking);
                return;
        }
        if (rc < 0)
                api_fail(&asking->call, &err);
        else
                ask_node(&asking->call, asking, &place);
        mem_free(asking);
}

/* False: answered. */
static bool query_run(struct call *call, int64_t *ret_run)
{
        char text[24] = "", show[STR_SHOW_MAX];
        struct err err;

        *ret_run = RUN_NEWEST;
        if (!api_query(call, "run", text, sizeof text))
                return false;
        if (text[0] == '\0' ||
            (num_i64(text, INT32_MIN, INT32_MAX, ret_run, &err) == 0 && *ret_run != RUN_NEWEST))
                return true;
        (void)err_set(&err, ERR_INPUT,
                      "query 'run': '%s' is no run; they are numbered from 1, and -1 is the one "
                      "before the newest",
                      str_show(text, show));
        api_fail(call, &err);
        return false;
}

void get_logs(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        static const struct err no_memory = {ERR_NOMEM, "out of memory"};
        int64_t member = 0, offset = 0, bytes = 65536, run;
        char stream[8] = "stdout";
        struct asking *asking;
        struct call call;
        uint64_t id;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_number(&call, "member", 0, MEMBERS_MAX - 1, &member) ||
            !api_query_number(&call, "offset", INT64_MIN / 2, INT64_MAX / 2, &offset) ||
            !api_query_number(&call, "bytes", 1, WANT_BYTES_MAX, &bytes) ||
            !api_query(&call, "stream", stream, sizeof stream) || !query_run(&call, &run) ||
            !(id = api_workload(&call)))
                return;
        asking = mem_new(1, sizeof *asking);
        if (!asking) {
                api_fail(&call, &no_memory);
                return;
        }
        call.match = NULL;              /* it ends with this call */
        *asking = (struct asking){.call = call,
                                  .id = id,
                                  .run = run,
                                  .member = (uint32_t)member,
                                  .bytes = (uint32_t)bytes,
                                  .offset = offset,
                                  .is_stderr = str_equal(stream, "stderr")};
        look(asking, 0, NULL);
}

/* ---- answering ---- */

/* A run that has not ended may just have begun: then it has written nothing. */
static void answer_gone(const struct want *want)
{
        struct err err;

        (void)err_set(&err, ERR_NOT_FOUND,
                      "node '%s' has nothing of what run %" PRIu64 " of workload %" PRIu64
                      " wrote: output is kept for some days after a run has ended",
                      want->node->name, want->run, want->workload);
        problem_answer(want->asker, 410, &err, NULL);
}

static void answer_output(const struct want *want, struct http_exchange *exchange)
{
        static const char *const headers[] = {"Berth-Offset", "Berth-Size"};
        size_t size;
        const char *body = http_body(exchange, &size);
        char number[24];

        (void)snprintf(number, sizeof number, "%" PRIu64, want->run);
        (void)http_answer_header(want->asker, "Berth-Run", number);
        if (want->has_ended)
                (void)http_answer_header(want->asker, "Berth-Ended", "true");
        for (size_t h = 0; h < ARRAY_LEN(headers); h++)
                if (http_header(exchange, headers[h]))
                        (void)http_answer_header(want->asker, headers[h],
                                                 http_header(exchange, headers[h]));
        http_answer(want->asker, 200, "text/plain; charset=utf-8", body, size);
}

void post_answer(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        const char *gone = http_header(exchange, "Berth-Gone");
        struct node_entry *node;
        struct want want;
        struct call call;
        struct err err = {0};

        if (!api_begin(arg, exchange, match, &call))
                return;
        node = nodes_find(call.live->nodes, route_param(match, "node"));
        uint64_t id = strtoull(route_param(match, "request"), NULL, 10);
        if (api_need_node(&call, &err) == 0 &&
            (!node || !wants_take(call.live->wants, id, node, &want)))
                (void)err_set(&err, ERR_NOT_FOUND, "nobody waits for this answer");
        else if (err.code == ERR_OK) {
                if (want.has_ended && gone && str_equal(gone, "true"))
                        answer_gone(&want);
                else
                        answer_output(&want, exchange);
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
