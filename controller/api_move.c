/* Running work goes on somewhere else. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "controller/ending.h"
#include "controller/live.h"
#include "controller/view.h"
#include "controller/works.h"
#include "net/problem.h"

struct move {
        uint64_t id;
        uint32_t to;                    /* of the vocabulary; 0: anywhere else */
        bool dry_run;
};

/* {"to": "gpu-02"}; without it, any node. False: answered. */
static bool read_target(struct call *call, struct move *move)
{
        const struct vocab *vocab = core_state(call->live->core)->vocab;
        json_t *body = api_body(call), *to;
        struct err err = {0};

        if (!body)
                return false;
        to = json_object_get(body, "to");
        if (to && !json_is_null(to)) {
                int name = json_is_string(to) ? vocab_name_find(vocab, json_string_value(to)) : 0;
                move->to = name > 0 ? (uint32_t)name : 0;
                if (!json_is_string(to))
                        (void)err_set(&err, ERR_INPUT, "field 'to': write the name of a node");
                else if (name <= 0)
                        (void)err_set(&err, ERR_NOT_FOUND, "there is no node '%s'",
                                      json_string_value(to));
        }
        json_decref(body);
        if (err.code == ERR_OK)
                return true;
        api_fail(call, &err);
        return false;
}

static json_t *place_of(const struct state *state, const struct fact_allocated *place)
{
        json_t *row = json_object(), *devices = json_array();

        for (unsigned i = 0; i < place->parts_count; i++)
                (void)json_array_append_new(devices, json_integer(place->parts[i].device));
        view_set(row, "member", json_integer(place->member));
        view_set(row, "node", json_string(vocab_name_text(state->vocab,
                                                          state->nodes[place->node].desc.name)));
        view_set(row, "devices", devices);
        return row;
}

static json_t *answer_of(struct call *call, const struct move *move, const struct fact *facts,
                         uint32_t count)
{
        const struct state *state = core_state(call->live->core);
        const struct work *work = works_find(core_works(call->live->core), move->id);
        json_t *json = json_object(), *places = json_array();

        view_set(json, "id", json_integer((json_int_t)move->id));
        view_set(json, "state", json_string(view_state(call->live, work)));
        view_set(json, "dry_run", json_boolean(move->dry_run));
        for (uint32_t f = 0; f < count; f++) {
                if (facts[f].kind == FACT_PLACE_KEPT && facts[f].kept.place.workload == move->id)
                        (void)json_array_append_new(places, place_of(state, &facts[f].kept.place));
                if (facts[f].kind == FACT_NOTICED && facts[f].noticed.workload == move->id)
                        view_set(json, "until", view_time(facts[f].noticed.until_ms));
        }
        view_set(json, "places", places);
        return json;
}

static void fail(struct call *call, const struct err *err)
{
        problem_answer(call->exchange, err->code == ERR_FULL ? 409 : 0, err, NULL);
}

static void carry_out(struct call *call, const struct move *move)
{
        const struct work *work = works_find(core_works(call->live->core), move->id);
        const struct fact *facts;
        uint32_t count;
        struct err err;

        if (move->dry_run) {
                if (live_move(call->live, NULL, work, move->to, true, &facts, &count, &err) < 0)
                        fail(call, &err);
                else
                        api_reply(call, 200, answer_of(call, move, facts, count));
                return;
        }
        struct act *act = api_act(call);
        if (!act)
                return;
        if (live_move(call->live, act, work, move->to, false, &facts, &count, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                fail(call, &err);
                return;
        }
        json_t *answer = answer_of(call, move, facts, count);
        if (ending_asked(act, move->id, call->who.name,
                         http_header(call->exchange, "Berth-Reason"),
                         core_now_ms(call->live->core), &err) < 0) {
                json_decref(answer);
                core_undo(act);
                core_commit(act, api_ignore, NULL);
                fail(call, &err);
                return;
        }
        api_commit(call, act, 200, answer);
}

void post_move(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct move move = {0};
        struct work *work;
        struct call call;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_flag(&call, "dry_run", &move.dry_run) ||
            !(work = api_live_work(&call, ACTION_MANAGE)))
                return;
        move.id = work->id;
        if (read_target(&call, &move))
                carry_out(&call, &move);
}
