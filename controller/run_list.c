#include "controller/run_list.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/ending.h"
#include "controller/live.h"
#include "controller/view.h"
#include "controller/works.h"
#include "engine/state.h"
#include "store/objects.h"

static int64_t number_of(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

static json_t *copy_or_null(const json_t *object, const char *key)
{
        json_t *value = json_object_get(object, key);

        return value ? json_incref(value) : json_null();
}

/* Name by name, of as many members as are kept. */
static json_t *nodes_then(const json_t *kept)
{
        const json_t *nodes = json_object_get(kept, "nodes");
        const json_t *spans = json_object_get(kept, "spans");
        json_t *list = json_array();

        for (size_t n = 0; n < json_array_size(nodes); n++) {
                const json_t *span = json_array_get(spans, n);
                int64_t members = span ? json_integer_value(span) : 1;
                for (; members > 0 && json_array_size(list) < MEMBERS_MAX; members--)
                        (void)json_array_append(list, json_array_get(nodes, n));
        }
        return list;
}

/* One that has ended, from what was kept of it; what its node said of that as `said`. */
static void add_ended(json_t *list, int64_t number, const json_t *kept, const char *said,
                      int64_t ended_ms)
{
        json_t *run = json_object();
        json_t *nodes = nodes_then(kept);
        int64_t known = (int64_t)json_array_size(nodes), members = number_of(kept, "members");

        view_set(run, "run", json_integer(number));
        view_set(run, "epoch", json_integer(number_of(kept, "epoch")));
        view_set(run, "started", view_time(number_of(kept, "started_ms")));
        view_set(run, "ended", view_time(ended_ms));
        view_set(run, "cause", copy_or_null(kept, "cause"));
        view_set(run, "exit_code", view_exit_code(kept));
        view_set(run, "signal", copy_or_null(kept, "signal"));
        view_set(run, "reason", copy_or_null(kept, said));
        view_set(run, "members", json_integer(members > known ? members : known));
        view_set(run, "nodes", nodes);
        (void)json_array_append_new(list, run);
}

static json_t *nodes_now(const struct state *state, const struct work *work)
{
        uint32_t slot = state_workload(state, work->id);
        json_t *nodes = json_array();

        for (uint16_t m = 0; m < work->members_count; m++)
                (void)json_array_append_new(nodes, json_string(""));
        for (uint32_t at = slot == NONE ? NONE : state->workloads[slot].first_member; at != NONE;
             at = state->members[at].next) {
                const struct member *member = &state->members[at];
                const uint32_t name = state->nodes[member->node].desc.name;
                (void)json_array_set_new(nodes, member->number,
                                         json_string(vocab_name_text(state->vocab, name)));
        }
        return nodes;
}

static void add_present(json_t *list, int64_t number, const struct state *state,
                        const struct work *work)
{
        static const char *const later[] = {"ended", "cause", "exit_code", "signal", "reason"};
        json_t *run = json_object();

        view_set(run, "run", json_integer(number));
        view_set(run, "epoch", json_integer((json_int_t)work->epoch));
        view_set(run, "started", view_time(work->started_ms));
        for (size_t k = 0; k < ARRAY_LEN(later); k++)
                view_set(run, later[k], json_null());
        view_set(run, "members", json_integer(work->members_count));
        view_set(run, "nodes", nodes_now(state, work));
        (void)json_array_append_new(list, run);
}

json_t *run_list(const struct live *live, const struct object *object)
{
        const struct work *work = works_find(core_works(live->core), object->id);
        json_t *detail = object->detail[0] ? json_loads(object->detail, 0, NULL) : NULL;
        const json_t *kept = json_object_get(detail, "runs");
        int64_t ended = number_of(detail, "runs_ended");
        int64_t number = ended - (int64_t)json_array_size(kept);
        json_t *list = json_array();

        for (size_t r = 0; r < json_array_size(kept); r++) {
                const json_t *run = json_array_get(kept, r);
                add_ended(list, ++number, run, "said", number_of(run, "ended_ms"));
        }
        /* The row has what is durable: as long as it may lack the run before, this one would be
         * taken for that. */
        if (work && work->epoch && core_is_durable(live->core, work->placed))
                add_present(list, ended + 1, core_state(live->core), work);
        else if (object->ended_ms && number_of(detail, "epoch") > 0)
                add_ended(list, ended + 1, detail, "reason", object->ended_ms);
        json_decref(detail);
        return list;
}

bool run_list_is_whole(const struct live *live, const struct object *object)
{
        const struct work *work = works_find(core_works(live->core), object->id);

        if (core_is_durable(live->core, core_last_seq(live->core)))
                return true;
        return work ? core_is_durable(live->core, work->requeued) : object->ended_ms != 0;
}

const json_t *run_list_find(const json_t *list, int64_t run, const char *what, struct err *err)
{
        size_t count = json_array_size(list);
        int64_t first = number_of(json_array_get(list, 0), "run");
        int64_t newest = count > 0 ? first + (int64_t)count - 1 : 0;
        int64_t number = run > 0 ? run : newest + run;

        if (count == 0) {
                (void)err_set(err, ERR_NOT_FOUND, "%s has not run yet: it wrote nothing", what);
                return NULL;
        }
        if (number >= first && number <= newest)
                return json_array_get(list, (size_t)(number - first));
        if (number > newest)
                (void)err_set(err, ERR_NOT_FOUND,
                              "%s has no run %" PRId64 ": its newest is run %" PRId64, what,
                              number, newest);
        else if (number < 1 && first == 1)
                (void)err_set(err, ERR_NOT_FOUND,
                              "%s has had %" PRId64 " %s: none is %" PRId64
                              " before the newest",
                              what, newest, newest == 1 ? "run" : "runs", -run);
        else
                (void)err_set(err, ERR_NOT_FOUND,
                              "where run %" PRId64 " of %s was is not known any more: the oldest "
                              "that is kept is run %" PRId64,
                              number, what, first);
        return NULL;
}

const char *run_list_node(const json_t *run, uint32_t member, const char *what, struct err *err)
{
        const json_t *nodes = json_object_get(run, "nodes");
        const char *name = json_string_value(json_array_get(nodes, member));
        int64_t members = number_of(run, "members");

        if (name && *name)
                return name;
        if (member < members)
                (void)err_set(err, ERR_NOT_FOUND,
                              "where member %" PRIu32 " of %s was in run %" PRId64 " is not known: "
                              "of a run that has ended, the first %u nodes are kept",
                              member, what, number_of(run, "run"), ENDING_NODES);
        else
                (void)err_set(err, ERR_NOT_FOUND,
                              "%s had no member %" PRIu32 " in run %" PRId64
                              ": its members are numbered from 0 to %" PRId64,
                              what, member, number_of(run, "run"), members > 0 ? members - 1 : 0);
        return NULL;
}
