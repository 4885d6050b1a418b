#include "tests/unit/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/runs.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#define KILL_AFTER_MS        10000
#define KEY(workload, epoch) ((struct run_key){workload, 0, epoch})

/* ---- by hand ---- */

struct act {
        struct runs *runs;
        struct runs_time now;
};

static struct act act_begin(void)
{
        struct act act = {runs_new(KILL_AFTER_MS), {1000000, 5000}};

        assert_non_null(act.runs);
        return act;
}

/* "start 1.0.1, term 2.0.1": all that is to be done now. */
static const char *steps(struct act *act)
{
        static const char *const words[] = {"start", "go",   "notice", "withdraw",
                                            "term",  "kill", "forget"};
        static char text[1024];
        struct run_step step;
        size_t at = 0;

        _Static_assert(ARRAY_LEN(words) == RUN_STEP_KINDS_END, "one word each");
        text[0] = '\0';
        while (runs_next(act->runs, act->now, &step)) {
                char key[RUN_KEY_TEXT_MAX];
                at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s", at ? ", " : "",
                                       words[step.kind], run_key_text(step.key, key));
                assert_true(at < sizeof text - 1);
        }
        return text;
}

static void after(struct act *act, int64_t ms)
{
        act->now.wall_ms += ms;
        act->now.steady_ms += ms;
}

static void a_run_goes_its_way(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish wish = {.key = KEY(1, 1)};

        assert_string_equal(steps(&act), "");
        assert_true(runs_desire(act.runs, 1, &wish, 1));
        assert_string_equal(steps(&act), "start 1.0.1");
        assert_string_equal(steps(&act), "");
        assert_true(runs_observe(act.runs, wish.key, RUN_READY));
        assert_string_equal(steps(&act), "");
        wish.go = true;
        assert_true(runs_desire(act.runs, 2, &wish, 1));
        assert_string_equal(steps(&act), "go 1.0.1");
        assert_true(runs_observe(act.runs, wish.key, RUN_RUNNING));
        assert_false(runs_observe(act.runs, wish.key, RUN_READY)); /* too late */
        assert_false(runs_observe(act.runs, KEY(7, 7), RUN_READY));
        assert_true(runs_observe(act.runs, wish.key, RUN_EXITED));
        assert_false(runs_observe(act.runs, wish.key, RUN_RUNNING));
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_count(act.runs), 1);
        assert_true(runs_desire(act.runs, 3, NULL, 0));
        assert_string_equal(steps(&act), "forget 1.0.1");
        assert_int_equal(runs_count(act.runs), 0);
        assert_int_equal(runs_floor_of(act.runs, 1, 0), 1);
        runs_free(act.runs);
        runs_free(NULL);
}

static void the_end_comes_by_steps_and_not_before_its_time(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish wish = {.key = KEY(1, 1), .go = true};

        runs_desire(act.runs, 1, &wish, 1);
        steps(&act);
        runs_observe(act.runs, wish.key, RUN_RUNNING);
        wish.has_stop = true;
        wish.until_ms = act.now.wall_ms + 3000;
        wish.notice = 7;
        runs_desire(act.runs, 2, &wish, 1);
        assert_string_equal(steps(&act), "notice 1.0.1");
        assert_int_equal(runs_wait_ms(act.runs, act.now), 3000);
        after(&act, 2999);
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_wait_ms(act.runs, act.now), 1);
        after(&act, 1);
        assert_string_equal(steps(&act), "term 1.0.1");
        after(&act, KILL_AFTER_MS - 1);
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_wait_ms(act.runs, act.now), 1);
        after(&act, 1);
        assert_string_equal(steps(&act), "kill 1.0.1");
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_wait_ms(act.runs, act.now), -1);
        runs_free(act.runs);
}

static void what_uses_a_broken_device_ends(void **state)
{
        (void)state;
        struct act act = act_begin();
        const struct run_wish wishes[] = {
                {.key = KEY(1, 1), .devices = 1, .go = true},
                {.key = KEY(2, 1), .devices = 6, .go = true},
        };

        runs_desire(act.runs, 1, wishes, 2);
        steps(&act);
        runs_observe(act.runs, KEY(1, 1), RUN_RUNNING);
        runs_observe(act.runs, KEY(2, 1), RUN_RUNNING);
        assert_string_equal(steps(&act), "");
        runs_broken(act.runs, 4);
        assert_string_equal(steps(&act), "term 2.0.1"); /* the list still names it */
        after(&act, KILL_AFTER_MS);
        assert_string_equal(steps(&act), "kill 2.0.1");
        runs_free(act.runs);
}

static void a_notice_may_change_and_be_withdrawn(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish wish = {.key = KEY(1, 1), .go = true};

        runs_desire(act.runs, 1, &wish, 1);
        steps(&act);
        runs_observe(act.runs, wish.key, RUN_RUNNING);
        wish.has_stop = true;
        wish.until_ms = act.now.wall_ms + 3000;
        wish.notice = 7;
        runs_desire(act.runs, 2, &wish, 1);
        runs_desire(act.runs, 2, &wish, 1); /* the same list again */
        assert_string_equal(steps(&act), "notice 1.0.1");
        runs_desire(act.runs, 3, &wish, 1);
        assert_string_equal(steps(&act), "");
        wish.until_ms += 5000;
        wish.notice = 8;
        runs_desire(act.runs, 4, &wish, 1);
        assert_string_equal(steps(&act), "notice 1.0.1");
        after(&act, 3000);
        assert_string_equal(steps(&act), "");
        wish.has_stop = false;
        runs_desire(act.runs, 5, &wish, 1);
        assert_string_equal(steps(&act), "withdraw 1.0.1");
        after(&act, 100000);
        assert_string_equal(steps(&act), "");
        /* One whose end has passed is still told why it ends. */
        wish.has_stop = true;
        wish.until_ms = act.now.wall_ms - 1;
        runs_desire(act.runs, 6, &wish, 1);
        assert_string_equal(steps(&act), "notice 1.0.1, term 1.0.1");
        runs_free(act.runs);
}

static void lost_contact_ends_who_wants_it(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish wishes[] = {{.key = KEY(1, 1), .stops_at_lease = true}, {.key = KEY(2, 1)}};

        runs_contact(act.runs, act.now.steady_ms, 30000);
        runs_desire(act.runs, 1, wishes, 2);
        steps(&act);
        after(&act, 20000);
        runs_contact(act.runs, act.now.steady_ms, 30000);
        after(&act, 16999);
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_wait_ms(act.runs, act.now), 1);
        runs_contact(act.runs, act.now.steady_ms - 100000, 30000); /* never backwards */
        after(&act, 1);
        struct run_step step;
        assert_true(runs_next(act.runs, act.now, &step));
        assert_int_equal(step.kind, RUN_STEP_TERM);
        assert_int_equal(step.key.workload, 1);
        assert_true(step.lost_contact);
        /* The wall's clock has no say in this. */
        act.now.wall_ms += 1000000;
        assert_string_equal(steps(&act), "");
        assert_int_equal(runs_wait_ms(act.runs, act.now), 10000);
        after(&act, 10000);
        assert_string_equal(steps(&act), "kill 1.0.1");
        runs_free(act.runs);
}

static void all_is_over_before_the_lease_is(void **state)
{
        (void)state;
        static const struct {
                int64_t lease_ms, kill_after_ms, term_ms, kill_ms;
        } rows[] = {
                {30000, 10000, 17000, 27000},
                {600000, 10000, 580000, 590000}, /* what is left for KILL does not grow for ever */
                {10000, 10000, 5000, 9000},      /* too short for a whole notice */
                {1000, 10000, 500, 900},
                {30000, 0, 27000, 27000},
        };

        for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                assert_int_equal(runs_lease_term_ms(rows[r].lease_ms, rows[r].kill_after_ms),
                                 rows[r].term_ms);
                assert_int_equal(runs_lease_kill_ms(rows[r].lease_ms), rows[r].kill_ms);
        }
}

/* Asked to end for another reason shortly before, or found late: it is over by then as well. */
static void a_lease_cuts_other_ends_short(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish wishes[] = {{.key = KEY(1, 1), .stops_at_lease = true},
                                    {.key = KEY(2, 1), .stops_at_lease = true}};

        runs_contact(act.runs, act.now.steady_ms, 30000);
        runs_desire(act.runs, 1, wishes, 2);
        steps(&act);
        after(&act, 16000);
        runs_desire(act.runs, 2, wishes + 1, 1);
        assert_string_equal(steps(&act), "term 1.0.1");
        after(&act, 12000); /* nobody looked for a while */
        char *text = strdup(steps(&act));
        check_has(text, "term 2.0.1");
        check_has(text, "kill 1.0.1");
        check_has(text, "kill 2.0.1");
        free(text);
        runs_free(act.runs);
}

static void without_contact_nothing_starts(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish old = {.key = KEY(1, 1), .devices = 1};
        struct run_wish next = {.key = KEY(2, 1), .devices = 1};

        runs_contact(act.runs, act.now.steady_ms, 30000);
        runs_desire(act.runs, 1, &old, 1);
        steps(&act);
        runs_desire(act.runs, 2, &next, 1);
        assert_string_equal(steps(&act), "term 1.0.1");
        after(&act, 17000);
        assert_string_equal(steps(&act), "kill 1.0.1");
        runs_observe(act.runs, old.key, RUN_EXITED);
        assert_string_equal(steps(&act), "forget 1.0.1"); /* its place is free, and yet */
        runs_contact(act.runs, act.now.steady_ms, 30000);
        assert_string_equal(steps(&act), "start 2.0.1");
        runs_free(act.runs);
}

static void nothing_starts_while_its_place_is_taken(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish old = {.key = KEY(1, 1), .devices = 3};
        struct run_wish next[] = {{.key = KEY(2, 1), .devices = 2},
                                  {.key = KEY(3, 1), .devices = 4},
                                  {.key = KEY(1, 2), .devices = 8}};

        runs_desire(act.runs, 1, &old, 1);
        steps(&act);
        runs_desire(act.runs, 2, next, 3);
        assert_string_equal(steps(&act), "term 1.0.1, start 3.0.1");
        runs_observe(act.runs, old.key, RUN_EXITED);
        char *text = strdup(steps(&act));
        check_has(text, "forget 1.0.1");
        check_has(text, "start 2.0.1");
        check_has(text, "start 1.0.2");
        free(text);
        runs_free(act.runs);
}

static void a_restart_starts_and_ends_nothing_by_itself(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct err err;
        struct run_wish wish = {.key = KEY(1, 3)}, stopped = {.key = KEY(2, 1)};
        unsigned refused = 0;

        stopped.has_stop = true;
        stopped.until_ms = act.now.wall_ms + 100;
        stopped.notice = 5;
        assert_int_equal(runs_floor(act.runs, KEY(1, 4), &err), 0);
        assert_int_equal(runs_adopt(act.runs, &wish, RUN_RUNNING, &err), 0);
        assert_int_equal(runs_adopt(act.runs, &wish, RUN_RUNNING, &err), -ERR_EXISTS);
        assert_int_equal(runs_adopt(act.runs, &stopped, RUN_RUNNING, &err), 0);
        assert_int_equal(runs_generation(act.runs), 0);
        assert_string_equal(steps(&act), "");
        after(&act, 100);
        assert_string_equal(steps(&act), "term 2.0.1"); /* its notice is over */
        /* Epochs that ran are refused. */
        wish.key.epoch = 4;
        runs_desire(act.runs, 1, &wish, 1);
        assert_string_equal(steps(&act), "term 1.0.3");
        for (size_t i = 0; i < runs_count(act.runs); i++)
                if (runs_key(act.runs, i).epoch == 4)
                        refused += runs_phase_at(act.runs, i) == RUN_REFUSED;
        assert_int_equal(refused, 1);
        runs_free(act.runs);
}

static void floors_are_bounded_and_the_oldest_go(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct err err;

        for (uint64_t workload = 1; workload <= RUNS_FLOORS_MAX; workload++)
                assert_int_equal(runs_floor(act.runs, KEY(workload, workload), &err), 0);
        assert_int_equal(runs_floor_of(act.runs, 1, 0), 1);
        assert_int_equal(runs_floor(act.runs, KEY(RUNS_FLOORS_MAX + 1, 9), &err), 0);
        assert_int_equal(runs_floor_of(act.runs, 1, 0), 0);
        assert_int_equal(runs_floor_of(act.runs, RUNS_FLOORS_MAX + 1, 0), 9);
        assert_int_equal(runs_floor_of(act.runs, RUNS_FLOORS_MAX, 0), RUNS_FLOORS_MAX);
        runs_free(act.runs);
}

static void a_full_table_takes_no_more_and_loses_nothing(void **state)
{
        (void)state;
        struct act act = act_begin();
        struct run_wish *wishes = mem_new(EXCHANGE_RUNS_MAX, sizeof *wishes);
        struct run_step step;
        size_t started = 0;

        for (int round = 0; round < 3; round++) {
                for (uint32_t i = 0; i < EXCHANGE_RUNS_MAX; i++)
                        wishes[i] = (struct run_wish){
                                .key = KEY((uint64_t)round * EXCHANGE_RUNS_MAX + i + 1, 1)};
                runs_desire(act.runs, (uint64_t)round + 1, wishes, EXCHANGE_RUNS_MAX);
                while (runs_next(act.runs, act.now, &step))
                        started += step.kind == RUN_STEP_START;
        }
        assert_int_equal(started, RUNS_MAX);
        assert_int_equal(runs_count(act.runs), RUNS_MAX);
        mem_free(wishes);
        runs_free(act.runs);
}

/* ---- at random, against a model of what was seen ---- */

enum { WORKLOADS = 4, EPOCHS = 5, KEYS = WORKLOADS * EPOCHS };

struct model_run {
        bool was_started, is_forgotten, is_named;
        enum run_phase phase; /* once it was started */
        struct run_wish wish; /* the newest that the machine was told */
        uint64_t noticed;
        bool is_termed, is_killed; /* in this life of the agent */
        int64_t termed_ms;
};

struct model {
        uint64_t seed, run;
        struct runs *runs;
        struct runs_time now;
        bool has_list; /* in this life */
        uint64_t generation, newest;
        bool has_contact;
        int64_t contact_ms, lease_ms;
        struct model_run all[KEYS];
        uint64_t started_epoch[WORKLOADS];
        unsigned long starts, terms, kills, refused_late;
};

static uint64_t draw(struct model *model, uint64_t bound)
{
        model->seed += 0x9e3779b97f4a7c15u;
        return map_mix(model->seed) % bound;
}

static struct run_key key_of(unsigned index)
{
        return KEY(index / EPOCHS + 1, index % EPOCHS + 1);
}

static struct model_run *model_find(struct model *model, struct run_key key)
{
        return &model->all[(key.workload - 1) * EPOCHS + key.epoch - 1];
}

static bool lives(const struct model_run *run)
{
        return run->was_started && !run->is_forgotten &&
               (run->phase == RUN_STARTING || run->phase == RUN_READY || run->phase == RUN_RUNNING);
}

#define HOLDS(model, condition) \
        do { \
                if (!(condition)) \
                        fail_msg("run %" PRIu64 ": does not hold: %s", (model)->run, #condition); \
        } while (0)

static int64_t without_contact_ms(const struct model *model)
{
        return model->now.steady_ms - model->contact_ms;
}

static void check_start(struct model *model, struct model_run *run)
{
        struct run_key key = run->wish.key;

        HOLDS(model, model->has_list && run->is_named);
        HOLDS(model, !run->was_started);
        HOLDS(model, !model->has_contact || without_contact_ms(model) < 17000);
        HOLDS(model, key.epoch > model->started_epoch[key.workload - 1]);
        HOLDS(model, !run->wish.has_stop);
        for (unsigned i = 0; i < KEYS; i++) {
                const struct model_run *other = &model->all[i];
                if (!lives(other))
                        continue;
                HOLDS(model, other->wish.key.workload != key.workload);
                HOLDS(model, other->is_named || !(other->wish.devices & run->wish.devices));
        }
        model->starts++;
        model->started_epoch[key.workload - 1] = key.epoch;
        run->was_started = true;
        run->phase = RUN_STARTING;
}

static void check_term(struct model *model, struct model_run *run)
{
        bool is_over = run->wish.has_stop && model->now.wall_ms >= run->wish.until_ms;
        bool is_lost = run->wish.stops_at_lease && model->has_contact &&
                       without_contact_ms(model) >= 17000;

        HOLDS(model, lives(run) && !run->is_termed);
        HOLDS(model, (model->has_list && !run->is_named) || is_over || is_lost);
        run->is_termed = true;
        run->termed_ms = model->now.steady_ms;
        model->terms++;
}

/* The controller may give it up in a moment: of a lease of 30 s a tenth is left. */
static bool must_be_over(const struct model *model, const struct model_run *run)
{
        return run->wish.stops_at_lease && model->has_contact && without_contact_ms(model) >= 27000;
}

static void check_step(struct model *model, struct run_step step)
{
        struct model_run *run = model_find(model, step.key);

        switch (step.kind) {
        case RUN_STEP_START:
                check_start(model, run);
                break;
        case RUN_STEP_GO:
                HOLDS(model, run->phase == RUN_READY && run->wish.go);
                break;
        case RUN_STEP_NOTICE:
                HOLDS(model, lives(run) && run->is_named && run->wish.has_stop && !run->is_termed);
                HOLDS(model, run->noticed != run->wish.notice);
                run->noticed = run->wish.notice;
                break;
        case RUN_STEP_WITHDRAW:
                HOLDS(model, lives(run) && !run->wish.has_stop && run->noticed);
                run->noticed = 0;
                break;
        case RUN_STEP_TERM:
                check_term(model, run);
                break;
        case RUN_STEP_KILL:
                HOLDS(model, lives(run) && run->is_termed);
                HOLDS(model, model->now.steady_ms - run->termed_ms >= KILL_AFTER_MS ||
                                     must_be_over(model, run));
                run->is_killed = true;
                model->kills++;
                break;
        case RUN_STEP_FORGET:
                HOLDS(model, !lives(run) && model->has_list && !run->is_named);
                run->is_forgotten = run->was_started;
                break;
        case RUN_STEP_KINDS_END:
                fail();
        }
}

/* After all steps: what must end has been asked to. */
static void check_nothing_left(struct model *model)
{
        for (unsigned i = 0; i < KEYS; i++) {
                const struct model_run *run = &model->all[i];
                if (!lives(run))
                        continue;
                HOLDS(model, !must_be_over(model, run) || run->is_killed);
                if (run->is_termed)
                        continue;
                HOLDS(model, !model->has_list || run->is_named);
                HOLDS(model, !run->wish.has_stop || model->now.wall_ms < run->wish.until_ms);
        }
}

static void take_steps(struct model *model)
{
        struct run_step step;

        while (runs_next(model->runs, model->now, &step))
                check_step(model, step);
        check_nothing_left(model);
        HOLDS(model, runs_wait_ms(model->runs, model->now) >= -1);
}

static struct run_wish draw_wish(struct model *model, unsigned index)
{
        struct run_wish wish = {
                .key = key_of(index),
                .devices = 1ull << draw(model, 3),
                .go = draw(model, 2),
                .stops_at_lease = draw(model, 2),
                .has_stop = draw(model, 4) == 0,
        };
        struct model_run *run = &model->all[index];

        /* Devices of an epoch never change. */
        if (run->wish.devices)
                wish.devices = run->wish.devices;
        if (wish.has_stop) {
                wish.until_ms = model->now.wall_ms - 2000 + (int64_t)draw(model, 20000);
                wish.notice = 1 + draw(model, 3);
        }
        return wish;
}

static void send_list(struct model *model)
{
        struct run_wish wishes[KEYS];
        size_t count = 0;
        bool is_late = model->newest > 0 && draw(model, 5) == 0;
        uint64_t generation = is_late ? draw(model, model->newest) + 1 : ++model->newest;
        unsigned keep = (unsigned)draw(model, 4);
        bool is_taken = !model->has_list || generation >= model->generation;

        for (unsigned i = 0; i < KEYS; i++)
                if (draw(model, 4) < keep)
                        wishes[count++] = draw_wish(model, i);
        HOLDS(model, runs_desire(model->runs, generation, wishes, count) == is_taken);
        if (!is_taken)
                return;
        model->has_list = true;
        model->generation = generation;
        for (unsigned i = 0; i < KEYS; i++)
                model->all[i].is_named = false;
        for (size_t i = 0; i < count; i++) {
                struct model_run *run = model_find(model, wishes[i].key);
                run->is_named = true;
                run->wish = wishes[i];
        }
}

/* Something was seen, or is said again too late. */
static void see(struct model *model)
{
        struct model_run *run = &model->all[draw(model, KEYS)];
        enum run_phase phase = (enum run_phase)(RUN_STARTING + draw(model, 5));
        bool is_forward = lives(run) && phase > run->phase &&
                          !(run->phase == RUN_RUNNING && phase == RUN_REFUSED);

        /* A process that was never started says nothing. */
        if (!run->was_started)
                return;
        HOLDS(model, runs_observe(model->runs, run->wish.key, phase) == is_forward);
        if (is_forward)
                run->phase = phase;
        else
                model->refused_late++;
}

static void restart(struct model *model)
{
        struct err err;

        runs_free(model->runs);
        model->runs = runs_new(KILL_AFTER_MS);
        assert_non_null(model->runs);
        model->has_list = false;
        for (unsigned i = 0; i < WORKLOADS; i++)
                if (model->started_epoch[i])
                        assert_int_equal(
                                runs_floor(model->runs, KEY(i + 1, model->started_epoch[i]), &err),
                                0);
        for (unsigned i = 0; i < KEYS; i++) {
                struct model_run *run = &model->all[i];
                run->is_named = run->is_termed = run->is_killed = false;
                if (!run->was_started || run->is_forgotten)
                        continue;
                /* The folder knows of a notice only when it was given. */
                run->wish.has_stop = run->wish.has_stop && run->noticed == run->wish.notice;
                run->wish.notice = run->wish.has_stop ? run->noticed : 0;
                run->noticed = run->wish.notice;
                assert_int_equal(runs_adopt(model->runs, &run->wish, run->phase, &err), 0);
        }
        if (model->has_contact)
                runs_contact(model->runs, model->contact_ms, model->lease_ms);
}

static void pass_time(struct model *model)
{
        int64_t ms = (int64_t)draw(model, 6000);

        model->now.steady_ms += ms;
        model->now.wall_ms += ms;
        if (draw(model, 20) == 0) /* somebody sets the clock */
                model->now.wall_ms += (int64_t)draw(model, 10000) - 5000;
}

static void at_random_every_promise_holds(void **state)
{
        (void)state;
        enum { RUNS = 300, STEPS = 400 };
        unsigned long starts = 0, terms = 0, kills = 0, late = 0;

        for (uint64_t run = 1; run <= RUNS; run++) {
                struct model model = {.seed = run, .run = run, .now = {1000000000, 1000}};
                for (unsigned i = 0; i < KEYS; i++)
                        model.all[i].wish.key = key_of(i);
                restart(&model);
                for (int step = 0; step < STEPS; step++) {
                        uint64_t what = draw(&model, 40);
                        if (what < 10) {
                                send_list(&model);
                        } else if (what < 24) {
                                see(&model);
                        } else if (what < 34) {
                                pass_time(&model);
                        } else if (what < 39) {
                                model.has_contact = true;
                                model.contact_ms = model.now.steady_ms;
                                model.lease_ms = 30000;
                                runs_contact(model.runs, model.contact_ms, model.lease_ms);
                        } else {
                                restart(&model);
                        }
                        take_steps(&model);
                }
                runs_free(model.runs);
                starts += model.starts;
                terms += model.terms;
                kills += model.kills;
                late += model.refused_late;
        }
        /* The histories are worth something. */
        assert_true(starts > 1000);
        assert_true(terms > 500);
        assert_true(kills > 100);
        assert_true(late > 1000);
}

static void what_was_started_is_told_the_newest_first(void **state)
{
        (void)state;
        struct runs *runs = runs_new(1000);
        struct run_key keys[4];
        struct err err;

        assert_non_null(runs);
        assert_int_equal(runs_started(runs, keys, 4), 0);
        assert_int_equal(runs_newest(runs).epoch, 0);
        for (uint64_t w = 1; w <= 7; w++)
                assert_int_equal(runs_floor(runs, KEY(w, 100 - w), &err), 0);
        assert_int_equal(runs_floor(runs, KEY(5, 200), &err), 0);
        assert_int_equal(runs_newest(runs).epoch, 200);
        assert_int_equal(runs_newest(runs).workload, 7);
        assert_int_equal(runs_started(runs, keys, 0), 0);
        assert_int_equal(runs_started(runs, keys, 4), 4);
        static const struct run_key newest[] = {{5, 0, 200}, {1, 0, 99}, {2, 0, 98}, {3, 0, 97}};
        for (unsigned i = 0; i < 4; i++)
                assert_true(run_key_equal(keys[i], newest[i]));
        runs_free(runs);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_run_goes_its_way),
                cmocka_unit_test(the_end_comes_by_steps_and_not_before_its_time),
                cmocka_unit_test(what_uses_a_broken_device_ends),
                cmocka_unit_test(a_notice_may_change_and_be_withdrawn),
                cmocka_unit_test(lost_contact_ends_who_wants_it),
                cmocka_unit_test(all_is_over_before_the_lease_is),
                cmocka_unit_test(a_lease_cuts_other_ends_short),
                cmocka_unit_test(without_contact_nothing_starts),
                cmocka_unit_test(nothing_starts_while_its_place_is_taken),
                cmocka_unit_test(a_restart_starts_and_ends_nothing_by_itself),
                cmocka_unit_test(floors_are_bounded_and_the_oldest_go),
                cmocka_unit_test(what_was_started_is_told_the_newest_first),
                cmocka_unit_test(a_full_table_takes_no_more_and_loses_nothing),
                cmocka_unit_test(at_random_every_promise_holds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
