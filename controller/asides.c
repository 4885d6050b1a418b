#include "controller/asides.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/core.h"
#include "store/store.h"

enum asked_state { ASKED_NOT_DURABLE, ASKED_WAITS, ASKED_WORKED_AT };

struct asked {
        struct asked *next;             /* in the order in which they will be worked at */
        struct asides *asides;          /* NULL: it is done, and only the disk was waited for */
        struct aside aside;
        uint64_t round;                 /* of the persons' turns */
        enum asked_state state;
        bool is_anew;                   /* what was decided before it is undone */
        uv_work_t work;
        atomic_bool ends;
        /* The thread's, while it is worked at. */
        int64_t until_ns;
        int rc;
        struct err err;
};

struct lane {
        struct asked *first;
        unsigned count;
        uint64_t round;                 /* of the newest one that was begun */
        bool is_at_work;
};

struct asides {
        uv_loop_t *loop;
        struct core *core;
        const struct store *store;      /* of which each thread takes a view */
        struct lane lanes[ASIDE_LANES_END];
        bool is_ending;                 /* the loop still runs, and may bring more */
};

static const struct {
        unsigned max, person_max;
} bounds[] = {
#define X(name, max, person_max) {max, person_max},
        ASIDE_LANES(X)
#undef X
};
_Static_assert(ARRAY_LEN(bounds) == ASIDE_LANES_END, "bounds of each lane");
_Static_assert((int)ASIDE_LANES_END <= (int)CRASH_BESIDE_MAX, "a thread of each lane");

struct asides *asides_new(struct uv_loop_s *loop, struct core *core)
{
        struct asides *asides = mem_new(1, sizeof *asides);

        if (asides) {
                asides->loop = loop;
                asides->core = core;
                asides->store = core_view(core);
        }
        return asides;
}

/* ---- in the thread ---- */

static const char cancelled[] = "the controller ends, or nobody waits for the answer any more";

static bool stops(void *arg)
{
        const struct asked *ask = arg;

        return atomic_load(&ask->ends) || time_monotonic_ns() > ask->until_ns;
}

static int read_and_work(struct asked *ask, struct err *err)
{
        const struct aside_kind *kind = ask->aside.kind;
        struct store *view;
        int rc = store_view(ask->asides->store, &view, err);

        if (rc)
                return rc;
        if (!kind->in_pieces)
                rc = store_view_begin(view, err);
        if (rc == 0) {
                store_view_stops(view, stops, ask);
                rc = kind->work(ask->aside.self, view, stops, ask, err);
                store_view_stops(view, NULL, NULL);
        }
        store_view_end(view);
        store_close(view);
        return rc;
}

static void run(uv_work_t *work)
{
        struct asked *ask = work->data;
        const struct aside_kind *kind = ask->aside.kind;
        unsigned lane = kind->lane;

        crash_enter_beside(lane, &ask->aside.request);
        ask->until_ns = time_monotonic_ns() + ASIDE_MS_MAX * 1000000;
        ask->rc = kind->reads_nothing
                          ? kind->work(ask->aside.self, NULL, stops, ask, &ask->err)
                          : read_and_work(ask, &ask->err);
        if (ask->rc == -ERR_CANCELLED && atomic_load(&ask->ends))
                (void)err_set(&ask->err, ERR_CANCELLED, "%s", cancelled);
        else if (ask->rc == -ERR_CANCELLED)
                ask->rc = err_set(&ask->err, ERR_RANGE,
                                  "this takes longer than %" PRId64 " s, by its size or because "
                                  "the machine is busy: %s",
                                  ASIDE_MS_MAX / 1000, kind->if_too_long);
        crash_leave_beside(lane);
        /* A pool that was made here has touched hundreds of MiB, which the heap would keep for the
         * next one. It takes a millisecond. */
        (void)malloc_trim(0);
}

/* ---- in the loop ---- */

static struct lane *lane_of(const struct asked *ask)
{
        return &ask->asides->lanes[ask->aside.kind->lane];
}

/* It is in its lane no longer. */
static void tell(struct asked *ask)
{
        ask->aside.kind->done(ask->aside.self, ask->rc, &ask->err);
        if (ask->state == ASKED_NOT_DURABLE)
                ask->asides = NULL;     /* on_durable() still comes */
        else
                mem_free(ask);
}

static void take_out(struct asked *ask)
{
        struct lane *lane = lane_of(ask);
        struct asked **at = &lane->first;

        while (*at != ask)
                at = &(*at)->next;
        *at = ask->next;
        lane->count--;
}

static void fail(struct asked *ask, const char *why)
{
        ask->rc = err_set(&ask->err, ERR_CANCELLED, "%s", why);
        take_out(ask);
        tell(ask);
}

static void start_next(struct asides *asides, struct lane *lane);

static void on_done(uv_work_t *work, int status)
{
        struct asked *ask = work->data;
        struct asides *asides = ask->asides;
        struct lane *lane = lane_of(ask);

        (void)status;                   /* it is never cancelled before it runs */
        lane->is_at_work = false;
        take_out(ask);
        tell(ask);
        start_next(asides, lane);
}

static struct asked *first_that_waits(const struct lane *lane)
{
        struct asked *ask = lane->first;

        while (ask && ask->state != ASKED_WAITS)
                ask = ask->next;
        return ask;
}

static void start_next(struct asides *asides, struct lane *lane)
{
        struct asked *ask;

        while (!lane->is_at_work && (ask = first_that_waits(lane))) {
                ask->work.data = ask;
                if (uv_queue_work(asides->loop, &ask->work, run, on_done) == 0) {
                        ask->state = ASKED_WORKED_AT;
                        lane->round = ask->round;
                        lane->is_at_work = true;
                } else {
                        fail(ask, "no thread takes the work now: try again");
                }
        }
}

/* All that was decided before it was asked is on the disk, or never will be. */
static void on_durable(void *arg, int rc, const struct err *err)
{
        struct asked *ask = arg;

        if (!ask->asides) {
                mem_free(ask);
                return;
        }
        if (rc == -ERR_IO && !ask->is_anew && !ask->aside.kind->has_seen_state) {
                ask->is_anew = true;
                core_when_anew(ask->asides->core, on_durable, ask);
                return;
        }
        ask->state = ASKED_WAITS;
        if (rc == 0) {
                start_next(ask->asides, lane_of(ask));
                return;
        }
        ask->rc = rc;
        ask->err = *err;
        take_out(ask);
        tell(ask);
}

/* Behind those of the same round or before. */
static void put_in(struct lane *lane, struct asked *ask)
{
        struct asked **at = &lane->first;

        while (*at && ((*at)->round <= ask->round || (*at)->state == ASKED_WORKED_AT))
                at = &(*at)->next;
        ask->next = *at;
        *at = ask;
        lane->count++;
}

static int check_room(const struct aside *aside, const struct lane *lane, unsigned own,
                      struct err *err)
{
        bool too_many_own = own >= bounds[aside->kind->lane].person_max;

        if (lane->count < bounds[aside->kind->lane].max && !too_many_own)
                return 0;
        return err_set(err, ERR_FULL,
                       "%u such questions%s wait for an answer already: try again when one "
                       "has come",
                       too_many_own ? own : lane->count, too_many_own ? " of yours" : "");
}

int asides_add(struct asides *asides, const struct aside *aside, struct err *err)
{
        struct lane *lane = &asides->lanes[aside->kind->lane];
        uint64_t round = lane->round;
        unsigned own = 0;

        if (asides->is_ending)
                return err_set(err, ERR_CANCELLED, "%s", cancelled);
        for (const struct asked *other = lane->first; other; other = other->next)
                if (str_equal(other->aside.request.by, aside->request.by)) {
                        own++;
                        if (other->round >= round)
                                round = other->round + 1;
                }
        int rc = check_room(aside, lane, own, err);
        if (rc)
                return rc;
        struct asked *ask = mem_new(1, sizeof *ask);
        if (!ask)
                return err_set(err, ERR_NOMEM, "out of memory");
        ask->asides = asides;
        ask->aside = *aside;
        ask->round = round;
        atomic_init(&ask->ends, false);
        put_in(lane, ask);
        core_when_durable(asides->core, on_durable, ask);
        return 0;
}

static void look_at_lane(struct lane *lane, bool all)
{
        for (struct asked *ask = lane->first, *next; ask; ask = next) {
                next = ask->next;
                if (!all && !ask->aside.kind->is_unwanted(ask->aside.self))
                        continue;
                if (ask->state == ASKED_WORKED_AT)
                        atomic_store(&ask->ends, true); /* told when the thread is done */
                else
                        fail(ask, cancelled);
        }
}

void asides_look(struct asides *asides, bool all)
{
        for (unsigned l = 0; asides && l < ASIDE_LANES_END; l++)
                look_at_lane(&asides->lanes[l], all);
}

void asides_free(struct asides *asides)
{
        if (!asides)
                return;
        asides->is_ending = true;
        asides_look(asides, true);
        for (unsigned l = 0; l < ASIDE_LANES_END; l++)
                while (asides->lanes[l].is_at_work)
                        (void)uv_run(asides->loop, UV_RUN_ONCE);
        mem_free(asides);
}
