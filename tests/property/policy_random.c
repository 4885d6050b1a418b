/* policy_random - random histories under random policies: every promise is checked at every step.
 *
 * policy_random [FIRST..LAST | SEED]   (or BERTH_SEEDS; BERTH_CASES says how many from 1)
 *
 * A seed draws a pool, three policies and some hundred steps in virtual time. Work ends, saves,
 * fails and stops as drawn; time ticks each minute. Then nothing more is submitted, all that was
 * taken away comes back, and everybody who waits for nothing but others must start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/gang.h"
#include "proto/policy_doc.h"
#include "tests/property/policy_trial.h"
#include "tests/property/shrink.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

enum { STEPS_MAX = 700, TASKS_MAX = 4 };
enum { IDLE_COUNTS = 50 };      /* among the other counts: reports, and what was done, by word */

static struct book book;
static struct model_table *models;

static int64_t to_next_tick(int64_t now_ms)
{
        return now_ms - now_ms % MINUTE_MS + MINUTE_MS;
}

/* ---- what work does ---- */

static int64_t end_ms(const struct book_work *work)
{
        int64_t left = work->need_ms - work->attained_ms;

        return work->since_ms + (left > SECOND_MS ? left : SECOND_MS);
}

static int64_t saves_ms(const struct book_work *work)
{
        int64_t every = work->request.checkpoint_every_ms;

        return every > 0 ? work->since_ms + work->saved_ms + every : INT64_MAX;
}

/* The next thing that running work does, and when. */
static int64_t next_of(const struct book_work *work, struct input *ret_input)
{
        int64_t at = end_ms(work), saves = saves_ms(work);

        *ret_input = (struct input){.kind = work->fails ? INPUT_FAILED : INPUT_EXITED,
                                    .workload = work->request.workload};
        if (work->notice_until_ms && work->notice_until_ms + work->delay_ms <= at) {
                at = work->notice_until_ms + work->delay_ms;
                ret_input->kind = INPUT_STOPPED;
        }
        if (saves < at) {
                at = saves;
                ret_input->kind = INPUT_CHECKPOINTED;
                ret_input->checkpoint.age_ms = work->age_ms;
        }
        return at;
}

/* The next event of all; ticks come first. */
static int64_t next_event(struct input *ret_input)
{
        int64_t first = INT64_MAX;

        for (uint64_t w = 1; w <= book.last_id; w++) {
                struct input input;
                if (book.works[w].status != WORK_RUNS)
                        continue;
                int64_t at = next_of(&book.works[w], &input);
                if (at < first) {
                        first = at;
                        *ret_input = input;
                }
        }
        return first;
}

/* 1, or 0: something is broken. */
static int run_at(struct trial *trial, int64_t at_ms, const struct input *input)
{
        book_time(&book, at_ms > book.now_ms ? at_ms : book.now_ms);
        int rc = trial_run(trial, input);
        if (rc == 0)
                return 0;
        if (rc < 0)
                return BOOK_FAIL(&book, "%s of workload %" PRIu64 " fails with %d",
                                 input_name(input->kind), input->workload, rc);
        struct book_work *work = input->kind == INPUT_FAILED
                                         ? book_work(&book, input->workload)
                                         : NULL;
        if (work)
                work->fails = false;
        return 1;
}

static int tick(struct trial *trial, int64_t at_ms)
{
        return run_at(trial, at_ms, &(struct input){.kind = INPUT_TICKED}) &&
               law_all_told(&book) && law_all_idle(&book) && trial_holds_well(trial);
}

/* Up to the time: what is due happens, and the clock ticks each minute. */
static int advance(struct trial *trial, int64_t until_ms)
{
        for (;;) {
                struct input input = {0};
                int64_t at = next_event(&input), ticks = to_next_tick(book.now_ms);
                if (at > until_ms && ticks > until_ms) {
                        book_time(&book, until_ms);
                        return 1;
                }
                int good = ticks <= at ? tick(trial, ticks) : run_at(trial, at, &input);
                if (!good)
                        return 0;
        }
}

/* ---- steps ---- */

/* One of those in that status; NULL. */
static struct book_work *any_work(struct rng *rng, enum work_status status)
{
        unsigned count = 0;

        for (uint64_t w = 1; w <= book.last_id; w++)
                count += book.works[w].status == status;
        if (count == 0)
                return NULL;
        unsigned wanted = draw_below(rng, count);
        for (uint64_t w = 1;; w++)
                if (book.works[w].status == status && wanted-- == 0)
                        return &book.works[w];
}

/* Inputs that may be errors; 0: something is broken. */
static int try(struct trial *trial, const struct input *input)
{
        return trial_run(trial, input) != 0;
}

/* Checkpoints are told of some time after they were made, and before the next one is due. */
static void live(struct rng *rng, uint64_t id, int64_t every_ms)
{
        if (every_ms > 0 && draw_chance(rng, 40))
                book.works[id].age_ms = (int64_t)rng_below(rng, (uint64_t)every_ms);
        book.works[id].need_ms = draw_span(rng, 30 * SECOND_MS, 4 * HOUR_MS);
        book.works[id].delay_ms = draw_chance(rng, 60) ? 0 : (int64_t)draw_below(rng, 20000);
        book.works[id].fails = draw_chance(rng, 8);
}

static int submit(struct trial *trial, struct rng *rng, unsigned step)
{
        struct input input = {.kind = INPUT_SUBMITTED};
        struct request request = draw_work(rng, &trial->pool, &trial->words, book.tenancy,
                                           book.now_ms);
        unsigned tasks = draw_chance(rng, 15) ? 2 + draw_below(rng, TASKS_MAX - 1) : 1;
        uint64_t id = 1 + (uint64_t)step * TASKS_MAX;

        if (tasks > 1) {
                request.array = step + 1;
                request.array_at_once = draw_below(rng, 3);
        }
        while (draw_chance(rng, 8) && request.after_count < 3) {
                struct book_work *other = any_work(rng, draw_chance(rng, 50) ? WORK_RUNS
                                                                              : WORK_WAITS);
                if (other)
                        request.after[request.after_count++] = other->request.workload;
        }
        for (unsigned t = 0; t < tasks; t++) {
                input.request = request;
                input.request.workload = id + t;
                live(rng, id + t, request.checkpoint_every_ms);
                if (!try(trial, &input))
                        return 0;
        }
        return 1;
}

/* Nobody takes away what does not run, or was not told to stop: the engine says so. What was told
 * may leave before its notice is over. */
static int stop_any(struct trial *trial, struct rng *rng)
{
        struct book_work *work = any_work(rng, draw_chance(rng, 90) ? WORK_RUNS : WORK_WAITS);

        if (!work)
                return 1;
        bool may = work->notice_until_ms != 0;
        int rc = trial_run(trial, &(struct input){.kind = INPUT_STOPPED,
                                                  .workload = work->request.workload});
        book.checked[PROMISE_NOTICE]++;
        return rc == 0   ? 0
               : rc < 0  ? 1
               : may     ? 1
                         : BOOK_FAIL(&book, "workload %" PRIu64 " may be stopped untold",
                                     work->request.workload);
}

static int of_work(struct trial *trial, struct rng *rng, enum input_kind kind,
                   enum work_status status)
{
        struct book_work *work = any_work(rng, status);

        if (!work)
                return 1;
        struct input input = {.kind = kind, .workload = work->request.workload};
        if (kind == INPUT_HOLD_CHANGED) {
                input.hold.workload = work->request.workload;
                input.hold.held = !work->user_held;
        }
        return try(trial, &input);
}

/* Of what idleness made spare, or told to stop, half is used again. */
static struct book_work *any_told_idle(struct rng *rng)
{
        unsigned start = draw_below(rng, (unsigned)book.last_id + 1);

        for (uint64_t i = 0; i <= book.last_id; i++) {
                struct book_work *work = &book.works[(start + i) % (book.last_id + 1)];
                if (work->status == WORK_RUNS && (work->demoted || work->told_idle))
                        return work;
        }
        return NULL;
}

/* Some reports are old, a few cannot be: from before it started, or from the future. */
static int report_use(struct trial *trial, struct rng *rng)
{
        struct book_work *told = draw_chance(rng, 50) ? any_told_idle(rng) : NULL;
        struct book_work *work = told ? told
                                      : any_work(rng, draw_chance(rng, 97) ? WORK_RUNS
                                                                           : WORK_WAITS);
        struct input input = {.kind = INPUT_USE_REPORTED};

        if (!work)
                return 1;
        input.use.workload = work->request.workload;
        int64_t ran_ms = book.now_ms - work->since_ms;
        if (draw_chance(rng, told ? 25 : 80))
                input.use.idle_since_ms = book.now_ms;
        if (input.use.idle_since_ms && draw_chance(rng, 60) && ran_ms > 0)
                input.use.idle_since_ms -= (int64_t)rng_below(rng, (uint64_t)ran_ms);
        if (draw_chance(rng, 3))
                input.use.idle_since_ms = draw_chance(rng, 50) ? work->since_ms - 1
                                                               : book.now_ms + 1;
        bool may = work->status == WORK_RUNS &&
                   (input.use.idle_since_ms == 0 || (input.use.idle_since_ms >= work->since_ms &&
                                                     input.use.idle_since_ms <= book.now_ms));
        int rc = trial_run(trial, &input);
        book.checked[PROMISE_IDLE]++;
        return rc == 0          ? 0
               : may == (rc > 0) ? 1
                                 : BOOK_FAIL(&book, "what is said of the use of workload %" PRIu64
                                                    " is %s",
                                             input.use.workload, may ? "refused" : "believed");
}

/* Mostly as long as its class says; a few cannot be. */
static int64_t draw_notice(struct rng *rng, const struct book_work *work)
{
        switch (draw_below(rng, 20)) {
        case 0:
                return -1;
        case 1:
                return RUN_MS_MAX + 1;
        case 2:
        case 3:
        case 4:
                return 0;
        case 5:
        case 6:
                return draw_span(rng, SECOND_MS, 2 * HOUR_MS);
        default:
                return book_class(&book, work)->notice_ms;
        }
}

/* Whether somebody may want that it stops. */
static bool may_be_asked(const struct book_work *work, int64_t notice_ms)
{
        return work->status == WORK_RUNS && !work->notice_until_ms && notice_ms >= 0 &&
               notice_ms <= RUN_MS_MAX;
}

/* Taken where it may be, refused where not. */
static int ask(struct trial *trial, const struct input *input, uint64_t id, bool may,
               enum promise_kind promise)
{
        int rc = trial_run(trial, input);

        book.checked[promise]++;
        return rc == 0           ? 0
               : may == (rc > 0) ? 1
                                 : BOOK_FAIL(&book, "%s of workload %" PRIu64 " is %s",
                                             input_name(input->kind), id,
                                             may ? "refused" : "taken, and cannot be");
}

static int ask_to_stop(struct trial *trial, struct rng *rng)
{
        struct book_work *work = any_work(rng, draw_chance(rng, 90) ? WORK_RUNS : WORK_WAITS);
        struct input input = {.kind = INPUT_STOP_ASKED};

        if (!work)
                return 1;
        input.stop.workload = work->request.workload;
        input.stop.notice_ms = draw_notice(rng, work);
        return ask(trial, &input, input.stop.workload, may_be_asked(work, input.stop.notice_ms),
                   PROMISE_ASKED);
}

/* Some where it lies already, some that do not run: refused, and nothing changes. Others are where
 * there is no room. */
static int move(struct trial *trial, struct rng *rng)
{
        struct book_work *work = any_work(rng, draw_chance(rng, 95) ? WORK_RUNS : WORK_WAITS);
        struct input input = {.kind = INPUT_MOVE_ASKED};

        if (!work)
                return 1;
        input.move.workload = work->request.workload;
        input.move.notice_ms = draw_notice(rng, work);
        if (draw_chance(rng, 40))
                input.move.node = trial->pool.nodes[draw_below(rng,
                                                               trial->pool.nodes_count)].name;
        bool may = may_be_asked(work, input.move.notice_ms) && work->request.need.devices > 0 &&
                   !book_lies_frozen(&book, work);
        int rc = trial_run(trial, &input);
        return rc <= 0 ? rc != 0
               : may   ? 1
                       : BOOK_FAIL(&book, "workload %" PRIu64 " is moved, and cannot be",
                                   input.move.workload);
}

/* Its agent says that it ended for want of contact. */
static int lose(struct trial *trial, struct rng *rng)
{
        struct book_work *work = any_work(rng, draw_chance(rng, 90) ? WORK_RUNS : WORK_WAITS);

        if (!work)
                return 1;
        const struct input input = {.kind = INPUT_LOST, .workload = work->request.workload};
        return ask(trial, &input, input.workload, work->status == WORK_RUNS, PROMISE_LOST);
}

/* Word of a checkpoint: new or late, from before the newest or the run, a few from no time. */
static int save(struct trial *trial, struct rng *rng)
{
        struct book_work *work = any_work(rng, draw_chance(rng, 95) ? WORK_RUNS : WORK_WAITS);
        struct input input = {.kind = INPUT_CHECKPOINTED};

        if (!work)
                return 1;
        int64_t ran_ms = book.now_ms - work->since_ms, age_ms = 0, before_ms = work->saved_ms;
        unsigned kind = draw_below(rng, 20);
        if (kind >= 5)
                age_ms = (int64_t)rng_below(rng, (uint64_t)ran_ms + 1);
        if (kind >= 15)
                age_ms += draw_span(rng, SECOND_MS, HOUR_MS);
        if (kind == 18)
                age_ms = -1;
        if (kind == 19)
                age_ms = RUN_MS_MAX + 1;
        input.checkpoint.workload = work->request.workload;
        input.checkpoint.age_ms = age_ms;
        bool may = work->status == WORK_RUNS && age_ms >= 0 && age_ms <= RUN_MS_MAX;
        if (!ask(trial, &input, input.checkpoint.workload, may, PROMISE_SAVED))
                return 0;
        int64_t saved_ms = may && ran_ms - age_ms > before_ms ? ran_ms - age_ms : before_ms;
        return work->saved_ms == saved_ms ||
               BOOK_FAIL(&book, "workload %" PRIu64 " has saved %" PRId64 " ms of its run, and %"
                                PRId64 " ms are kept",
                         input.checkpoint.workload, saved_ms, work->saved_ms);
}

/* Its lease is over (what continues may still run there), or it is known to be off. */
static int fail_node(struct trial *trial, uint32_t node, uint32_t name, bool is_silent)
{
        struct input input = {.kind = INPUT_NODE_FAILED, .failed = {name, is_silent}};
        int rc = trial_run(trial, &input);

        return rc > 0 ? law_silent(&book, node, is_silent) : rc != 0;
}

static const struct node_desc *any_node(struct trial *trial, struct rng *rng)
{
        return &trial->pool.nodes[draw_below(rng, trial->pool.nodes_count)];
}

/* Mostly one where something runs. */
static const struct node_desc *any_used_node(struct trial *trial, struct rng *rng)
{
        const struct book_work *work = draw_chance(rng, 75) ? any_work(rng, WORK_RUNS) : NULL;

        for (unsigned n = 0; work && n < trial->pool.nodes_count; n++)
                if (trial->pool.nodes[n].name == book.nodes[work->places[0].node].desc.name)
                        return &trial->pool.nodes[n];
        return any_node(trial, rng);
}

/* Often one with a device that broke. */
static const struct node_desc *any_broken_node(struct trial *trial, struct rng *rng)
{
        unsigned first = draw_below(rng, trial->pool.nodes_count);

        for (unsigned n = 0; draw_chance(rng, 90) && n < trial->pool.nodes_count; n++) {
                const struct node_desc *desc =
                        &trial->pool.nodes[(first + n) % trial->pool.nodes_count];
                uint32_t node = state_node(trial->states[0], desc->name);
                if (node != NONE && book.nodes[node].desc.broken)
                        return desc;
        }
        return &trial->pool.nodes[first];
}

/* What lies on them stays: it may still run. The law of what is lost allows nothing here. */
static int break_devices(struct trial *trial, struct rng *rng)
{
        const struct node_desc *desc = any_used_node(trial, rng);
        uint32_t node = state_node(trial->states[0], desc->name);
        struct input input = {.kind = INPUT_DEVICES_FAILED,
                              .broke = {desc->name, (uint16_t)(1 + draw_below(rng, 1u << 5))}};
        bool may = node != NONE && input.broke.devices >> desc->devices == 0;
        bool up = node != NONE && book.nodes[node].up;
        int rc = trial_run(trial, &input);

        book.checked[PROMISE_DOWN]++;
        if (rc == 0)
                return 0;
        if (may != (rc > 0))
                return BOOK_FAIL(&book, "devices %#x of %u fail, and that is %s",
                                 input.broke.devices, desc->devices, may ? "refused" : "taken");
        return rc < 0 || book.nodes[node].up == up ||
               BOOK_FAIL(&book, "node %u has broken devices, and is %s now", node,
                         up ? "down" : "up");
}

/* Mostly one where something runs, so that it goes on unheard. */
static int silence(struct trial *trial, struct rng *rng)
{
        uint32_t name = any_used_node(trial, rng)->name;
        uint32_t node = state_node(trial->states[0], name);

        return node == NONE || fail_node(trial, node, name, draw_chance(rng, 80));
}

/* The document says what it is like; it is not there. What is known of its devices stays. */
static int describe(struct trial *trial, struct rng *rng)
{
        struct input input = {.kind = INPUT_NODE_DESCRIBED};
        struct node_desc *desc = &input.node;

        *desc = *any_node(trial, rng);
        uint32_t node = state_node(trial->states[0], desc->name);
        bool may = node == NONE || !book.nodes[node].up;
        bool silent = node != NONE && book.nodes[node].silent;
        if (node != NONE)
                desc->broken = book.nodes[node].desc.broken;
        desc->drained = draw_chance(rng, 15);
        if (draw_chance(rng, 20))
                desc->plane = trial->words.planes[draw_below(rng, 2)];
        if (draw_chance(rng, 20))
                desc->cpu_milli /= 4;
        int rc = trial_run(trial, &input);
        book.checked[PROMISE_DOWN]++;
        if (rc == 0)
                return 0;
        if (may != (rc > 0))
                return BOOK_FAIL(&book, "a node that is %s is described, and that is %s",
                                 may ? "down" : "there", may ? "refused" : "taken");
        node = state_node(trial->states[0], desc->name);
        return rc < 0 || (!book.nodes[node].up && book.nodes[node].silent == silent) ||
               BOOK_FAIL(&book, "node %u is only described, and not as silent as it was", node);
}

static int change_node(struct trial *trial, struct rng *rng)
{
        struct node_desc desc = *any_broken_node(trial, rng);
        unsigned rack = draw_below(rng, ARRAY_LEN(trial->words.racks));
        uint32_t now = state_node(trial->states[0], desc.name);

        if (now == NONE)
                return try(trial, &(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        switch (draw_below(rng, 9)) {
        case 0:
                desc.drained = true;
                if (draw_chance(rng, 60))
                        desc.drain_by_ms = book.now_ms + draw_span(rng, MINUTE_MS, 2 * HOUR_MS);
                break;
        case 1:
                desc.broken = (uint16_t)(1u << draw_below(rng, desc.devices));
                break;
        case 2:
                desc.cpu_milli /= 4;
                break;
        case 3:
                desc.plane = trial->words.planes[draw_below(rng, 2)];
                break;
        case 4:
                return fail_node(trial, now, desc.name, draw_chance(rng, 60));
        case 5:
                return try(trial, &(struct input){.kind = INPUT_NODE_REMOVED,
                                                  .node_name = desc.name});
        case 6:
                desc.rack = trial->words.racks[rack];
                desc.block = trial->words.blocks[rack / 2];
                desc.nvlink = 0;
                break;
        default:
                break;                  /* as it was */
        }
        return try(trial, &(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

/* Mostly of a step that nothing has been heard of yet. */
static unsigned any_device(struct trial *trial, struct rng *rng, const struct node_desc *desc,
                           uint32_t node)
{
        unsigned first = draw_below(rng, desc->devices);

        for (unsigned d = 0; node != NONE && draw_chance(rng, 90) && d < desc->devices; d++) {
                unsigned at = (first + d) % desc->devices;
                const struct device *device = &node_devices(trial->states[0], node)[at];
                if (device->seen_epoch < device->epoch)
                        return at;
        }
        return first;
}

static int observe(struct trial *trial, struct rng *rng)
{
        static const uint8_t slots[CASE_MODELS] = {8, 4, 0, 0, 8, 4};
        const struct node_desc *desc = any_used_node(trial, rng);
        struct input input = {.kind = INPUT_LAYOUT_OBSERVED, .layout = {.node = desc->name}};
        uint32_t node = state_node(trial->states[0], desc->name);
        bool fails = false;

        input.layout.device = (uint8_t)any_device(trial, rng, desc, node);
        input.layout.failed = draw_chance(rng, 40);
        if (node != NONE) {
                const struct device *device =
                        &node_devices(trial->states[0], node)[input.layout.device];
                input.layout.epoch = device->epoch;
                fails = input.layout.failed && device->seen_epoch < device->epoch;
        }
        if (slots[desc->model] && draw_chance(rng, 50))
                input.layout.foreign_slots = (uint16_t)(1u << draw_below(rng, slots[desc->model]));
        int rc = trial_run(trial, &input);
        return rc <= 0 ? rc != 0
                       : !fails || book.nodes[node].desc.broken >> input.layout.device & 1 ||
                                 BOOK_FAIL(&book, "a step failed on device %u of node %u, which "
                                                  "counts as well",
                                           input.layout.device, node);
}

static int set_policy(struct trial *trial, unsigned policy)
{
        trial->policy = policy;
        return try(trial, &(struct input){.kind = INPUT_POLICY_SET});
}

static int freeze(struct trial *trial, struct rng *rng)
{
        struct freeze change = {.frozen = draw_chance(rng, 40)};

        if (draw_chance(rng, 70))
                change.plane = trial->words.planes[draw_below(rng, 2)];
        return try(trial, &(struct input){.kind = INPUT_FREEZE_SET, .freeze = change});
}

/* Sets of windows to choose from; the first is empty. */
static void draw_windows(struct trial *trial)
{
        struct rng rng;

        rng_init_stream(&rng, trial->seed, 3);
        for (unsigned s = 1; s < TRIAL_WINDOWS; s++)
                for (unsigned w = 1 + draw_below(&rng, 3); w > 0; w--) {
                        struct maintenance *set = &trial->windows[s];
                        struct maintenance_window *window = &set->windows[set->count++];
                        int64_t length = draw_span(&rng, 5 * MINUTE_MS, 2 * HOUR_MS);
                        window->when.from_ms = DRAW_START_MS + draw_span(&rng, MINUTE_MS, DAY_MS);
                        window->when.until_ms = window->when.from_ms + length;
                        if (draw_chance(&rng, 50))
                                window->when.every_ms = length + draw_span(&rng, 1, 8 * HOUR_MS);
                        if (window->when.every_ms && draw_chance(&rng, 50))
                                window->when.last_ms = window->when.from_ms + DAY_MS;
                        if (draw_chance(&rng, 60))
                                window->node = trial->pool.nodes[draw_below(
                                        &rng, trial->pool.nodes_count)].name;
                        else if (draw_chance(&rng, 60))
                                window->plane = trial->words.planes[draw_below(&rng, 2)];
                }
}

static int maintain(struct trial *trial, unsigned set)
{
        return try(trial, &(struct input){.kind = INPUT_MAINTENANCE_SET,
                                          .maintenance = &trial->windows[set]});
}

static int run_step(struct trial *trial, unsigned step)
{
        enum { SUBMIT, WAIT, CANCEL, HOLD, STOP, CHANGE, OBSERVE, FREEZE, MAINTAIN, POLICY, EXIT,
               FAIL, USE, MOVE, LOSE, ASK, SAVE, DESCRIBE, SILENCE, BREAK, KINDS };
        static const uint64_t weights[KINDS] = {54, 12, 4, 4, 5, 8, 4, 4, 2, 1, 4, 2, 16, 6,
                                                3,  5,  5, 3, 3, 3};
        struct rng rng;
        int64_t span;

        rng_init_stream(&rng, trial->seed, 10 + step);
        unsigned size = draw_below(&rng, 20);
        span = size < 14   ? draw_below(&rng, 40000)
               : size < 19 ? draw_below(&rng, 180000)
                           : draw_span(&rng, 3 * MINUTE_MS, HOUR_MS);
        if (!advance(trial, book.now_ms + span))
                return 0;
        switch (rng_weighted(&rng, weights, KINDS)) {
        case SUBMIT:
                return submit(trial, &rng, step);
        case CANCEL:
                return of_work(trial, &rng, INPUT_CANCELLED,
                               draw_chance(&rng, 60) ? WORK_WAITS : WORK_RUNS);
        case HOLD:
                return of_work(trial, &rng, INPUT_HOLD_CHANGED,
                               draw_chance(&rng, 80) ? WORK_WAITS : WORK_RUNS);
        case STOP:
                return stop_any(trial, &rng);
        case CHANGE:
                return change_node(trial, &rng);
        case OBSERVE:
                return observe(trial, &rng);
        case FREEZE:
                return freeze(trial, &rng);
        case MAINTAIN:
                return maintain(trial, draw_below(&rng, TRIAL_WINDOWS));
        case POLICY:
                return set_policy(trial, draw_below(&rng, TRIAL_POLICIES));
        case EXIT:
                return of_work(trial, &rng, INPUT_EXITED, WORK_RUNS);
        case USE:
                return report_use(trial, &rng);
        case MOVE:
                return move(trial, &rng);
        case LOSE:
                return lose(trial, &rng);
        case ASK:
                return ask_to_stop(trial, &rng);
        case SAVE:
                return save(trial, &rng);
        case DESCRIBE:
                return describe(trial, &rng);
        case SILENCE:
                return silence(trial, &rng);
        case BREAK:
                return break_devices(trial, &rng);
        case FAIL:
                return of_work(trial, &rng, INPUT_FAILED, WORK_RUNS);
        default:
                return 1;
        }
}

/* ---- the end: everybody starts ---- */

/* Devices that broke count as well again when what lay on them has gone. */
static int mend(struct trial *trial)
{
        for (unsigned n = 0; n < trial->pool.nodes_count; n++) {
                const struct node_desc *desc = &trial->pool.nodes[n];
                uint32_t node = state_node(trial->states[0], desc->name);
                const struct input well = {.kind = INPUT_NODE_CHANGED, .node = *desc};
                if (book.nodes[node].desc.broken && !try(trial, &well))
                        return 0;
        }
        return 1;
}

/* What was taken away comes back; owners let go. */
static int restore(struct trial *trial)
{
        struct input thaw = {.kind = INPUT_FREEZE_SET};

        if (!try(trial, &thaw) || !maintain(trial, 0))
                return 0;
        for (unsigned p = 0; p < 2; p++) {
                thaw.freeze.plane = trial->words.planes[p];
                if (!try(trial, &thaw))
                        return 0;
        }
        for (unsigned n = 0; n < trial->pool.nodes_count; n++) {
                const struct node_desc *desc = &trial->pool.nodes[n];
                uint32_t node = state_node(trial->states[0], desc->name);
                struct input back = {.kind = node == NONE ? INPUT_NODE_JOINED
                                                          : INPUT_NODE_CHANGED,
                                     .node = *desc};
                for (unsigned d = 0; node != NONE && d < desc->devices; d++) {
                        struct input clear = {.kind = INPUT_LAYOUT_OBSERVED,
                                              .layout = {.node = desc->name,
                                                         .device = (uint8_t)d}};
                        clear.layout.epoch = node_devices(trial->states[0], node)[d].epoch;
                        if (!try(trial, &clear))
                                return 0;
                }
                if (!try(trial, &back))
                        return 0;
        }
        for (uint64_t w = 1; w <= book.last_id; w++) {
                struct input let = {.kind = INPUT_HOLD_CHANGED, .hold = {.workload = w}};
                if (book.works[w].status == WORK_WAITS && book.works[w].user_held &&
                    !try(trial, &let))
                        return 0;
        }
        return 1;
}

static unsigned count_of(enum work_status status)
{
        unsigned count = 0;

        for (uint64_t w = 1; w <= book.last_id; w++)
                count += book.works[w].status == status;
        return count;
}

/* What is held of memory and slices is known of a place only: such a limit may forbid all of them,
 * and the gates do not say so. */
static bool has_late_limit(const struct book_work *work)
{
        bool late = false;

        for (uint16_t t = work->request.tenant; t != TENANT_NONE;
             t = book.tenancy->tenants[t].parent)
                for (unsigned d = DIM_MEMORY; d < DIMENSIONS_END; d++)
                        late |= (d == DIM_MEMORY || d >= DIM_SLICES) &&
                                amount_is_number(book.tenancy->tenants[t].limit[d]);
        return late;
}

/* Models that one workload may lie on together: where nothing is kept for promises and it would be
 * standard on each, or spare. One promise pays for all of a workload: of others it needs one model
 * that holds it alone. */
static uint64_t mixture(const struct state *state, const struct admission *admission)
{
        const uint64_t *as = admission->models;

        if (state->accounts->kept_in_all > 0 || as[STANDING_PROTECTED])
                return 0;
        return as[STANDING_STANDARD] && as[STANDING_SPARE]
                       ? 0
                       : as[STANDING_STANDARD] | as[STANDING_SPARE];
}

static bool could_lie(struct trial *trial, struct need need, const struct book_work *work,
                      uint64_t allowed)
{
        need.models &= allowed;
        return need.models &&
               gang_feasible(trial->memos[TRIAL_KEPT], trial->states[TRIAL_KEPT], &need,
                             &work->request.form, NULL) == 1;
}

/* Whether it waits although nothing but others was in its way, and there is nobody else. */
static bool is_starved(struct trial *trial, const struct book_work *work)
{
        const struct state *state = trial->states[TRIAL_KEPT];
        uint32_t slot = state_workload(state, work->request.workload);
        struct admission admission;
        struct need need = work->request.need;

        if (state->workloads[slot].holds || has_late_limit(work))
                return false;
        accounts_admit(state, state->workloads[slot].bucket, &admission);
        if (admission.gate != GATE_FIT)
                return false;           /* a limit, a budget, or kept for others' promises */
        if (need.devices == 0)
                return could_lie(trial, need, work, need.models);
        uint64_t mixed = mixture(state, &admission), allowed = 0;
        for (unsigned s = 0; s < STANDINGS_END; s++)
                allowed |= admission.models[s];
        for (uint64_t left = allowed & need.models & ~mixed; left; left &= left - 1)
                if (could_lie(trial, need, work, left & -left))
                        return true;
        return mixed && could_lie(trial, need, work, mixed);
}

static int drain(struct trial *trial, struct counts *counts)
{
        int64_t begin = book.now_ms, idle = 0;

        if (!restore(trial))
                return 0;
        while (count_of(WORK_WAITS) > 0 || count_of(WORK_RUNS) > 0) {
                struct input input = {0};
                int64_t at = next_event(&input);
                bool runs = at != INT64_MAX;
                if (runs && (!run_at(trial, at, &input) || !mend(trial)))
                        return 0;
                if (!tick(trial, to_next_tick(book.now_ms)))
                        return 0;
                idle = runs ? 0 : idle + 1;
                if (idle > 3)
                        break;
                if (book.now_ms - begin > 90 * DAY_MS)
                        return BOOK_FAIL(&book, "after 90 days without submissions %u wait and %u "
                                                "run",
                                         count_of(WORK_WAITS), count_of(WORK_RUNS));
        }
        int64_t took = (book.now_ms - begin) / MINUTE_MS;
        if (counts->others[PROMISES_END] < (uint64_t)took)
                counts->others[PROMISES_END] = (uint64_t)took;
        for (uint64_t w = 1; w <= book.last_id; w++) {
                if (book.works[w].status != WORK_WAITS)
                        continue;
                book.checked[PROMISE_STARTS]++;
                counts->others[PROMISES_END + 1]++;
                if (is_starved(trial, &book.works[w]))
                        return BOOK_FAIL(&book, "workload %" PRIu64 " waits for ever in a pool "
                                                "without work",
                                         w);
        }
        return 1;
}

/* ---- cases ---- */

static int open_pool(struct trial *trial)
{
        draw_windows(trial);
        book_time(&book, DRAW_START_MS);
        for (unsigned n = 0; n < trial->pool.nodes_count; n++)
                if (!try(trial, &(struct input){.kind = INPUT_NODE_JOINED,
                                                .node = trial->pool.nodes[n]}))
                        return 0;
        return tick(trial, DRAW_START_MS) && set_policy(trial, 0);
}

static bool verbose;

static bool run_case(uint64_t seed, const struct step_set *keep, struct counts *counts, char *why,
                     size_t why_size)
{
        struct trial trial = {.book = &book, .verbose = verbose};
        struct rng rng;
        int good = trial_open(&trial, models, seed) && open_pool(&trial);

        rng_init_stream(&rng, seed, 2);
        unsigned steps = 100 + draw_below(&rng, 400);
        counts->steps_made = steps;
        for (unsigned i = 0; good && i < steps; i++) {
                counts->step = i;
                if (step_set_has(keep, i))
                        good = run_step(&trial, i);
        }
        if (good)
                good = drain(&trial, counts) && trial_replays(&trial);
        for (unsigned p = 0; p < PROMISES_END; p++)
                counts->others[p] += book.checked[p];
        counts->placed += book.seen[FACT_ALLOCATED];
        counts->refused += book.seen[FACT_REFUSED];
        for (unsigned c = 0; c < PLAN_CAUSES_END; c++)
                counts->others[PROMISES_END + 2 + c] += book.causes[c];
        static const uint8_t facts[] = {FACT_REQUEUED, FACT_STANDING_SET, FACT_RESCUED,
                                        FACT_NODE_HELD, FACT_POLICY_IN, FACT_NOTICE_WITHDRAWN};
        for (unsigned f = 0; f < ARRAY_LEN(facts); f++)
                counts->others[PROMISES_END + 2 + PLAN_CAUSES_END + f] += book.seen[facts[f]];
        for (unsigned t = 0; t < IDLE_THENS_END; t++)
                counts->others[IDLE_COUNTS + t] += book.idle[t];
        counts->others[IDLE_COUNTS] += book.seen[FACT_USE_SET];
        counts->others[IDLE_COUNTS + IDLE_THENS_END] += book.rises;
        counts->others[63] += trial.log_count;
        snprintf(why, why_size, "%s", book.why);
        trial_close(&trial);
        return good;
}

static void print_case(uint64_t seed, const struct step_set *keep, unsigned last)
{
        struct counts counts = {0};
        char why[512];

        fflush(stdout);
        pid_t child = fork();
        if (child < 0)
                return;
        if (child > 0) {
                waitpid(child, NULL, 0);
                return;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        verbose = true;
        run_case(seed, keep, &counts, why, sizeof why);
        printf("step %u: %s\n", last + 1, why);
        _exit(0);
}

static void summary(const struct counts *counts)
{
        static const char *const words[PROMISES_END] = {
#define X(name, text) [PROMISE_##name] = text,
                PROMISES(X)
#undef X
        };
        const uint64_t *others = counts->others;
        uint64_t all = 0;

        for (unsigned p = 0; p < PROMISES_END; p++)
                all += others[p];
        printf("%" PRIu64 " inputs, %" PRIu64 " members placed, %" PRIu64 " refused, %" PRIu64
               " queued again, %" PRIu64 " raised, %" PRIu64 " rescued, %" PRIu64
               " nodes held, %" PRIu64 " policies, %" PRIu64 " notices withdrawn\n",
               others[63], counts->placed, counts->refused,
               others[PROMISES_END + 2 + PLAN_CAUSES_END],
               others[PROMISES_END + 3 + PLAN_CAUSES_END],
               others[PROMISES_END + 4 + PLAN_CAUSES_END],
               others[PROMISES_END + 5 + PLAN_CAUSES_END],
               others[PROMISES_END + 6 + PLAN_CAUSES_END],
               others[PROMISES_END + 7 + PLAN_CAUSES_END]);
        printf("  plans:");
        for (unsigned c = 0; c < PLAN_CAUSES_END; c++)
                printf(" %" PRIu64 " %s", others[PROMISES_END + 2 + c],
                       plan_cause_name((enum plan_cause)c));
        printf("; the last one started within %" PRIu64 " minutes after the last submission; "
               "%" PRIu64 " wait for a limit, a budget or a promise\n",
               others[PROMISES_END], others[PROMISES_END + 1]);
        printf("  idle: %" PRIu64 " reports, %" PRIu64 " warned, %" PRIu64 " made spare, %" PRIu64
               " told to stop, %" PRIu64 " no longer spare\n",
               others[IDLE_COUNTS], others[IDLE_COUNTS + IDLE_THEN_WARN],
               others[IDLE_COUNTS + IDLE_THEN_DEMOTE], others[IDLE_COUNTS + IDLE_THEN_STOP],
               others[IDLE_COUNTS + IDLE_THENS_END]);
        for (unsigned p = 0; p < PROMISES_END; p++)
                printf("  %10" PRIu64 "  %s\n", others[p], words[p]);
        printf("checked %" PRIu64 " promises, 0 broken\n", all);
}

int main(int argc, char **argv)
{
        static const struct shrink shrink = {.name = "policy_random",
                                             .cases = 200,
                                             .models = &models,
                                             .run = run_case,
                                             .print = print_case,
                                             .summary = summary};

        return shrink_main(&shrink, argc, argv);
}
