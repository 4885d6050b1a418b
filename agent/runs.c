#include "agent/runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#define WAIT_MS_MAX     60000
#define LEASE_MARGIN_MS 10000

struct run {
        struct run_wish wish; /* the newest there was */
        enum run_phase phase;
        bool is_named;  /* by the newest list */
        bool is_let_go; /* the barrier was opened */
        bool is_termed, is_killed;
        int64_t termed_ms; /* steady */
        uint64_t noticed;  /* the notice it was given; 0 = none */
};

struct floor {
        uint64_t member; /* member_key() */
        uint64_t epoch;
};

struct runs {
        int64_t kill_after_ms;
        bool has_list, is_ending;
        uint64_t generation;
        uint64_t broken;                /* bit d: device d */
        bool has_contact;
        int64_t contact_ms, lease_ms; /* steady */
        size_t count;
        struct run runs[RUNS_MAX];
        struct map floor_at; /* member_key() -> index into floors */
        struct runs_newest newest;
        uint32_t floors_count;
        struct floor floors[RUNS_FLOORS_MAX];
};

/* The moves that are allowed: to which phases one leads (bit = phase). */
static const unsigned moves[RUN_PHASES_END] = {
        [RUN_WANTED] = 1u << RUN_STARTING | 1u << RUN_REFUSED,
        [RUN_STARTING] = 1u << RUN_READY | 1u << RUN_RUNNING | 1u << RUN_EXITED | 1u << RUN_REFUSED,
        [RUN_READY] = 1u << RUN_RUNNING | 1u << RUN_EXITED | 1u << RUN_REFUSED,
        [RUN_RUNNING] = 1u << RUN_EXITED,
        [RUN_EXITED] = 0,
        [RUN_REFUSED] = 0,
};

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static bool may_move(const struct run *run, enum run_phase phase)
{
        return moves[run->phase] >> phase & 1;
}

static void move(struct run *run, enum run_phase phase)
{
        assert(may_move(run, phase));
        run->phase = phase;
}

static bool is_live(const struct run *run)
{
        return run->phase == RUN_STARTING || run->phase == RUN_READY || run->phase == RUN_RUNNING;
}

struct runs *runs_new(int64_t kill_after_ms)
{
        assert(kill_after_ms >= 0);
        struct runs *runs = mem_new(1, sizeof *runs);

        if (!runs)
                return NULL;
        runs->kill_after_ms = kill_after_ms;
        map_init(&runs->floor_at, RUNS_FLOORS_MAX);
        return runs;
}

void runs_free(struct runs *runs)
{
        if (runs)
                map_done(&runs->floor_at);
        mem_free(runs);
}

/* ---- floors ---- */

static uint64_t member_key(uint64_t workload, uint32_t member)
{
        assert(workload <= EXCHANGE_WORKLOAD_MAX);
        assert(member <= EXCHANGE_MEMBER_MAX);
        return workload << 16 | member;
}

uint64_t runs_floor_of(const struct runs *runs, uint64_t workload, uint32_t member)
{
        uint32_t at = map_get(&runs->floor_at, member_key(workload, member));
        return at == MAP_NONE ? 0 : runs->floors[at].epoch;
}

struct runs_newest runs_newest(const struct runs *runs)
{
        return runs->newest;
}

size_t runs_started(const struct runs *runs, struct run_key *ret_keys, size_t max)
{
        size_t count = 0;

        for (uint32_t i = 0; i < runs->floors_count; i++) {
                const struct floor *floor = &runs->floors[i];
                size_t at = count < max ? count++ : max;
                for (; at > 0 && ret_keys[at - 1].epoch < floor->epoch; at--)
                        if (at < max)
                                ret_keys[at] = ret_keys[at - 1];
                if (at < max)
                        ret_keys[at] = (struct run_key){floor->member >> 16,
                                                        (uint32_t)(floor->member & 0xffff),
                                                        floor->epoch};
        }
        return count;
}

static int compare_keys(const void *a, const void *b)
{
        uint64_t x = ((const struct floor *)a)->member, y = ((const struct floor *)b)->member;
        return x < y ? -1 : x > y;
}

/* Workloads are numbered as they come: low numbers are the ones that ended long ago. */
static void forget_floors(struct runs *runs)
{
        uint32_t kept = runs->floors_count / 2;

        qsort(runs->floors, runs->floors_count, sizeof *runs->floors, compare_keys);
        memmove(runs->floors, runs->floors + runs->floors_count - kept,
                kept * sizeof *runs->floors);
        runs->floors_count = kept;
        map_clear(&runs->floor_at);
        for (uint32_t i = 0; i < kept; i++) {
                int rc = map_set(&runs->floor_at, runs->floors[i].member, i);
                assert(rc == 0); /* a map that was larger before has the room */
                (void)rc;
        }
}

int runs_floor(struct runs *runs, struct run_key key, struct err *err)
{
        uint64_t member = member_key(key.workload, key.member);
        uint32_t at = map_get(&runs->floor_at, member);

        if (at == MAP_NONE) {
                if (runs->floors_count == RUNS_FLOORS_MAX)
                        forget_floors(runs);
                at = runs->floors_count;
                if (map_set(&runs->floor_at, member, at) < 0)
                        return err_set(err, ERR_NOMEM, "out of memory");
                runs->floors[at] = (struct floor){member, 0};
                runs->floors_count++;
        }
        if (runs->floors[at].epoch < key.epoch)
                runs->floors[at].epoch = key.epoch;
        if (runs->newest.epoch < key.epoch)
                runs->newest.epoch = key.epoch;
        if (runs->newest.workload < key.workload)
                runs->newest.workload = key.workload;
        return 0;
}

/* ---- what comes in ---- */

static struct run *find(struct runs *runs, struct run_key key)
{
        for (size_t i = 0; i < runs->count; i++)
                if (run_key_equal(runs->runs[i].wish.key, key))
                        return &runs->runs[i];
        return NULL;
}

static void drop(struct runs *runs, struct run *run)
{
        *run = runs->runs[--runs->count];
}

int runs_adopt(struct runs *runs, const struct run_wish *wish, enum run_phase phase,
               struct err *err)
{
        char text[RUN_KEY_TEXT_MAX];

        assert(phase != RUN_WANTED);
        if (find(runs, wish->key))
                return err_set(err, ERR_EXISTS, "run %s is there already",
                               run_key_text(wish->key, text));
        if (runs->count == RUNS_MAX)
                return err_set(err, ERR_FULL, "there are %d runs already", RUNS_MAX);
        int rc = runs_floor(runs, wish->key, err);
        if (rc < 0)
                return rc;
        runs->runs[runs->count++] =
                (struct run){.wish = *wish, .phase = phase, .noticed = wish->notice};
        return 0;
}

void runs_contact(struct runs *runs, int64_t steady_ms, int64_t lease_ms)
{
        if (!runs->has_contact || steady_ms > runs->contact_ms)
                runs->contact_ms = steady_ms;
        runs->lease_ms = lease_ms;
        runs->has_contact = true;
}

static void desire_one(struct runs *runs, const struct run_wish *wish)
{
        struct run *run = find(runs, wish->key);

        if (!run && runs->count == RUNS_MAX)
                return;
        if (!run) {
                run = &runs->runs[runs->count++];
                *run = (struct run){.phase = RUN_WANTED};
        }
        run->wish = *wish;
        run->is_named = true;
        if (run->phase == RUN_WANTED &&
            (wish->has_stop ||
             wish->key.epoch <= runs_floor_of(runs, wish->key.workload, wish->key.member)))
                move(run, RUN_REFUSED);
}

bool runs_desire(struct runs *runs, uint64_t generation, const struct run_wish *wishes,
                 size_t count)
{
        if (runs->has_list && generation < runs->generation)
                return false;
        runs->has_list = true;
        runs->generation = generation;
        for (size_t i = 0; i < runs->count; i++)
                runs->runs[i].is_named = false;
        for (size_t i = 0; i < count; i++)
                desire_one(runs, &wishes[i]);
        for (size_t i = runs->count; i-- > 0;)
                if (runs->runs[i].phase == RUN_WANTED && !runs->runs[i].is_named)
                        drop(runs, &runs->runs[i]);
        return true;
}

bool runs_observe(struct runs *runs, struct run_key key, enum run_phase phase)
{
        struct run *run = find(runs, key);

        /* Only a step leads to STARTING. */
        if (!run || phase == RUN_STARTING || !may_move(run, phase))
                return false;
        move(run, phase);
        return true;
}

void runs_broken(struct runs *runs, uint64_t devices)
{
        runs->broken = devices;
}

void runs_end_all(struct runs *runs)
{
        runs->is_ending = true;
}

bool runs_any_live(const struct runs *runs)
{
        for (size_t i = 0; i < runs->count; i++)
                if (is_live(&runs->runs[i]))
                        return true;
        return false;
}

/* ---- what is to be done ---- */

int64_t runs_lease_kill_ms(int64_t lease_ms)
{
        return lease_ms - least(lease_ms / 10, LEASE_MARGIN_MS);
}

int64_t runs_lease_term_ms(int64_t lease_ms, int64_t kill_after_ms)
{
        int64_t term_ms = runs_lease_kill_ms(lease_ms) - kill_after_ms;

        return term_ms > lease_ms / 2 ? term_ms : lease_ms / 2;
}

static int64_t lease_term_at_ms(const struct runs *runs)
{
        return runs->contact_ms + runs_lease_term_ms(runs->lease_ms, runs->kill_after_ms);
}

static bool is_contact_lost(const struct runs *runs, struct runs_time now)
{
        return runs->has_contact && now.steady_ms >= lease_term_at_ms(runs);
}

static bool ends_for_contact(const struct runs *runs, const struct run *run, struct runs_time now)
{
        return run->wish.stops_at_lease && is_contact_lost(runs, now);
}

/* Of one that was asked to end. Where contact is lost it is over before the lease, whyever it was
 * asked. */
static int64_t kill_at_ms(const struct runs *runs, const struct run *run)
{
        int64_t at_ms = run->termed_ms + runs->kill_after_ms;

        if (!run->wish.stops_at_lease || !runs->has_contact)
                return at_ms;
        int64_t lease_at_ms = runs->contact_ms + runs_lease_kill_ms(runs->lease_ms);
        /* What is asked this late was not wanted to end while there was contact. */
        return least(at_ms, lease_at_ms > run->termed_ms ? lease_at_ms : run->termed_ms);
}

static bool must_end(const struct runs *runs, const struct run *run, struct runs_time now)
{
        if (runs->is_ending || (runs->has_list && !run->is_named) ||
            run->wish.devices & runs->broken)
                return true;
        if (ends_for_contact(runs, run, now))
                return true;
        return run->wish.has_stop && now.wall_ms >= run->wish.until_ms;
}

/* Of a live run. */
static bool live_step(const struct runs *runs, struct run *run, struct runs_time now,
                      struct run_step *ret_step)
{
        if (run->is_termed) {
                if (run->is_killed || now.steady_ms < kill_at_ms(runs, run))
                        return false;
                run->is_killed = true;
                ret_step->kind = RUN_STEP_KILL;
        } else if (run->is_named && run->wish.has_stop && run->noticed != run->wish.notice) {
                /* Also when its end has passed already: the run learns why it is ended. */
                run->noticed = run->wish.notice;
                ret_step->kind = RUN_STEP_NOTICE;
        } else if (must_end(runs, run, now)) {
                run->is_termed = true;
                run->termed_ms = now.steady_ms;
                ret_step->kind = RUN_STEP_TERM;
                ret_step->lost_contact = ends_for_contact(runs, run, now) && !runs->is_ending &&
                                         (run->is_named || !runs->has_list);
        } else if (!run->wish.has_stop && run->noticed && run->is_named) {
                run->noticed = 0;
                ret_step->kind = RUN_STEP_WITHDRAW;
        } else if (run->phase == RUN_READY && run->wish.go && !run->is_let_go) {
                run->is_let_go = true;
                ret_step->kind = RUN_STEP_GO;
        } else {
                return false;
        }
        return true;
}

/* Devices of those that live on though the list does not name them. */
static uint64_t devices_held(const struct runs *runs)
{
        uint64_t held = 0;

        for (size_t i = 0; i < runs->count; i++)
                if (is_live(&runs->runs[i]) && !runs->runs[i].is_named)
                        held |= runs->runs[i].wish.devices;
        return held;
}

static bool member_lives(const struct runs *runs, struct run_key key)
{
        for (size_t i = 0; i < runs->count; i++)
                if (is_live(&runs->runs[i]) && runs->runs[i].wish.key.workload == key.workload &&
                    runs->runs[i].wish.key.member == key.member)
                        return true;
        return false;
}

static bool may_start(struct runs *runs, struct run *run, uint64_t held, struct runs_time now)
{
        struct run_key key = run->wish.key;

        /* What was wanted so long ago may be wanted elsewhere by now. */
        if (runs->is_ending || is_contact_lost(runs, now) || run->wish.devices & held ||
            member_lives(runs, key))
                return false;
        if (key.epoch <= runs_floor_of(runs, key.workload, key.member)) {
                move(run, RUN_REFUSED);
                return false;
        }
        /* Without memory for the floor it is not started: it could come twice. */
        return runs_floor(runs, key, NULL) == 0;
}

bool runs_next(struct runs *runs, struct runs_time now, struct run_step *ret_step)
{
        uint64_t held = devices_held(runs);

        for (size_t i = 0; i < runs->count; i++) {
                struct run *run = &runs->runs[i];
                struct run_step step = {.key = run->wish.key};
                bool is_step = false;

                if (is_live(run)) {
                        is_step = live_step(runs, run, now, &step);
                } else if (run->phase == RUN_WANTED) {
                        is_step = may_start(runs, run, held, now);
                        step.kind = RUN_STEP_START;
                        if (is_step)
                                move(run, RUN_STARTING);
                        run->is_let_go = is_step && run->wish.go;
                } else if (runs->has_list && !run->is_named) {
                        is_step = true;
                        step.kind = RUN_STEP_FORGET;
                        drop(runs, run);
                }
                if (!is_step)
                        continue;
                *ret_step = step;
                return true;
        }
        return false;
}

int64_t runs_wait_ms(const struct runs *runs, struct runs_time now)
{
        int64_t wait_ms = INT64_MAX;

        for (size_t i = 0; i < runs->count; i++) {
                const struct run *run = &runs->runs[i];
                if (!is_live(run) || run->is_killed)
                        continue;
                if (run->is_termed) {
                        wait_ms = least(wait_ms, kill_at_ms(runs, run) - now.steady_ms);
                        continue;
                }
                if (run->wish.has_stop)
                        wait_ms = least(wait_ms, run->wish.until_ms - now.wall_ms);
                if (run->wish.stops_at_lease && runs->has_contact)
                        wait_ms = least(wait_ms, lease_term_at_ms(runs) - now.steady_ms);
        }
        if (wait_ms == INT64_MAX)
                return -1;
        return wait_ms < 0 ? 0 : least(wait_ms, WAIT_MS_MAX);
}

/* ---- looking ---- */

uint64_t runs_generation(const struct runs *runs)
{
        return runs->generation;
}

size_t runs_count(const struct runs *runs)
{
        return runs->count;
}

struct run_key runs_key(const struct runs *runs, size_t index)
{
        assert(index < runs->count);
        return runs->runs[index].wish.key;
}

enum run_phase runs_phase_at(const struct runs *runs, size_t index)
{
        assert(index < runs->count);
        return runs->runs[index].phase;
}

bool runs_lease(const struct runs *runs, struct run_key key, int64_t *ret_term_ms,
                int64_t *ret_kill_ms)
{
        if (!runs->has_contact)
                return false;
        for (size_t i = 0; i < runs->count; i++) {
                if (!run_key_equal(runs->runs[i].wish.key, key))
                        continue;
                *ret_term_ms = lease_term_at_ms(runs);
                *ret_kill_ms = runs->contact_ms + runs_lease_kill_ms(runs->lease_ms);
                return runs->runs[i].wish.stops_at_lease;
        }
        return false;
}
