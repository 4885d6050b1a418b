/* What happens to the pool: nodes come, go and break; policies, freezes and windows are set. */
#include "tests/property/policy_steps.h"

#include <stdio.h>

#include "base/mem.h"

static const struct node_desc *any_node(const struct trial *trial, struct rng *rng)
{
        return &trial->pool.nodes[draw_below(rng, trial->pool.nodes_count)];
}

/* Mostly one where something runs. */
static const struct node_desc *any_used_node(const struct trial *trial, struct rng *rng)
{
        const struct book *book = trial->book;
        const struct book_work *work =
                draw_chance(rng, 75) ? step_any_work(trial->book, rng, WORK_RUNS) : NULL;

        for (unsigned n = 0; work && n < trial->pool.nodes_count; n++)
                if (trial->pool.nodes[n].name == book->nodes[work->places[0].node].desc.name)
                        return &trial->pool.nodes[n];
        return any_node(trial, rng);
}

/* Often one with a device that broke. */
static const struct node_desc *any_broken_node(const struct trial *trial, struct rng *rng)
{
        unsigned first = draw_below(rng, trial->pool.nodes_count);

        for (unsigned n = 0; draw_chance(rng, 90) && n < trial->pool.nodes_count; n++) {
                const struct node_desc *desc =
                        &trial->pool.nodes[(first + n) % trial->pool.nodes_count];
                uint32_t node = state_node(trial->states[0], desc->name);
                if (node != NONE && trial->book->nodes[node].desc.broken)
                        return desc;
        }
        return &trial->pool.nodes[first];
}

/* Its lease is over (what continues may still run there), or it is known to be off. */
static int fail_node(struct trial *trial, uint32_t node, uint32_t name, bool is_silent)
{
        struct input input = {.kind = INPUT_NODE_FAILED, .failed = {name, is_silent}};
        int rc = trial_run(trial, &input);

        return rc > 0 ? law_silent(trial->book, node, is_silent) : rc != 0;
}

/* What lies on them stays: it may still run. The law of what is lost allows nothing here. */
int step_break(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        const struct node_desc *desc = any_used_node(trial, rng);
        uint32_t node = state_node(trial->states[0], desc->name);
        struct input input = {.kind = INPUT_DEVICES_FAILED,
                              .broke = {desc->name, (uint16_t)(1 + draw_below(rng, 1u << 5))}};
        bool may = node != NONE && input.broke.devices >> desc->devices == 0;
        bool up = node != NONE && book->nodes[node].up;
        int rc = trial_run(trial, &input);

        book->checked[PROMISE_DOWN]++;
        if (rc == 0)
                return 0;
        if (may != (rc > 0))
                return BOOK_FAIL(book, "devices %#x of %u fail, and that is %s",
                                 input.broke.devices, desc->devices, may ? "refused" : "taken");
        return rc < 0 || book->nodes[node].up == up ||
               BOOK_FAIL(book, "node %u has broken devices, and is %s now", node,
                         up ? "down" : "up");
}

/* Mostly one where something runs, so that it goes on unheard. */
int step_silence(struct trial *trial, struct rng *rng)
{
        uint32_t name = any_used_node(trial, rng)->name;
        uint32_t node = state_node(trial->states[0], name);

        return node == NONE || fail_node(trial, node, name, draw_chance(rng, 80));
}

/* The document says what it is like; it is not there. What is known of its devices stays. */
int step_describe(struct trial *trial, struct rng *rng)
{
        struct book *book = trial->book;
        struct input input = {.kind = INPUT_NODE_DESCRIBED};
        struct node_desc *desc = &input.node;

        *desc = *any_node(trial, rng);
        uint32_t node = state_node(trial->states[0], desc->name);
        bool may = node == NONE || !book->nodes[node].up;
        bool silent = node != NONE && book->nodes[node].silent;
        if (node != NONE)
                desc->broken = book->nodes[node].desc.broken;
        desc->drained = draw_chance(rng, 15);
        if (draw_chance(rng, 20))
                desc->plane = trial->words.planes[draw_below(rng, 2)];
        if (draw_chance(rng, 20))
                desc->cpu_milli /= 4;
        int rc = trial_run(trial, &input);
        book->checked[PROMISE_DOWN]++;
        if (rc == 0)
                return 0;
        if (may != (rc > 0))
                return BOOK_FAIL(book, "a node that is %s is described, and that is %s",
                                 may ? "down" : "there", may ? "refused" : "taken");
        node = state_node(trial->states[0], desc->name);
        return rc < 0 || (!book->nodes[node].up && book->nodes[node].silent == silent) ||
               BOOK_FAIL(book, "node %u is only described, and not as silent as it was", node);
}

int step_change_node(struct trial *trial, struct rng *rng)
{
        struct node_desc desc = *any_broken_node(trial, rng);
        unsigned rack = draw_below(rng, ARRAY_LEN(trial->words.racks));
        uint32_t now = state_node(trial->states[0], desc.name);

        if (now == NONE)
                return trial_try(trial, &(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        switch (draw_below(rng, 9)) {
        case 0:
                desc.drained = true;
                if (draw_chance(rng, 60))
                        desc.drain_by_ms = trial->book->now_ms +
                                           draw_span(rng, MINUTE_MS, 2 * HOUR_MS);
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
                return trial_try(trial, &(struct input){.kind = INPUT_NODE_REMOVED,
                                                        .node_name = desc.name});
        case 6:
                desc.rack = trial->words.racks[rack];
                desc.block = trial->words.blocks[rack / 2];
                desc.nvlink = 0;
                break;
        default:
                break;                  /* as it was */
        }
        return trial_try(trial, &(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

/* Mostly of a step that nothing has been heard of yet. */
static unsigned any_device(const struct trial *trial, struct rng *rng,
                           const struct node_desc *desc, uint32_t node)
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

int step_observe(struct trial *trial, struct rng *rng)
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
                       : !fails ||
                                 trial->book->nodes[node].desc.broken >> input.layout.device & 1 ||
                                 BOOK_FAIL(trial->book, "a step failed on device %u of node %u, "
                                                        "which counts as well",
                                           input.layout.device, node);
}

int step_policy(struct trial *trial, unsigned policy)
{
        trial->policy = policy;
        return trial_try(trial, &(struct input){.kind = INPUT_POLICY_SET});
}

int step_freeze(struct trial *trial, struct rng *rng)
{
        struct freeze change = {.frozen = draw_chance(rng, 40)};

        if (draw_chance(rng, 70))
                change.plane = trial->words.planes[draw_below(rng, 2)];
        return trial_try(trial, &(struct input){.kind = INPUT_FREEZE_SET, .freeze = change});
}

static struct maintenance_window draw_window(const struct trial *trial, struct rng *rng)
{
        struct maintenance_window window = {0};
        int64_t length = draw_span(rng, 5 * MINUTE_MS, 2 * HOUR_MS);

        window.when.from_ms = DRAW_START_MS + draw_span(rng, MINUTE_MS, DAY_MS);
        window.when.until_ms = window.when.from_ms + length;
        if (draw_chance(rng, 50))
                window.when.every_ms = length + draw_span(rng, 1, 8 * HOUR_MS);
        if (window.when.every_ms && draw_chance(rng, 50))
                window.when.last_ms = window.when.from_ms + DAY_MS;
        if (draw_chance(rng, 60))
                window.node = trial->pool.nodes[draw_below(rng, trial->pool.nodes_count)].name;
        else if (draw_chance(rng, 60))
                window.plane = trial->words.planes[draw_below(rng, 2)];
        return window;
}

void step_draw_windows(struct trial *trial)
{
        struct rng rng;

        rng_init_stream(&rng, trial->seed, 3);
        for (unsigned s = 1; s < TRIAL_WINDOWS; s++)
                for (unsigned w = 1 + draw_below(&rng, 3); w > 0; w--) {
                        struct maintenance *set = &trial->windows[s];
                        set->windows[set->count++] = draw_window(trial, &rng);
                }
}

int step_maintain(struct trial *trial, unsigned set)
{
        return trial_try(trial, &(struct input){.kind = INPUT_MAINTENANCE_SET,
                                                .maintenance = &trial->windows[set]});
}

int step_restore(struct trial *trial)
{
        struct book *book = trial->book;
        struct input thaw = {.kind = INPUT_FREEZE_SET};

        if (!trial_try(trial, &thaw) || !step_maintain(trial, 0))
                return 0;
        for (unsigned p = 0; p < 2; p++) {
                thaw.freeze.plane = trial->words.planes[p];
                if (!trial_try(trial, &thaw))
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
                        if (!trial_try(trial, &clear))
                                return 0;
                }
                if (!trial_try(trial, &back))
                        return 0;
        }
        for (uint64_t w = 1; w <= book->last_id; w++) {
                struct input let = {.kind = INPUT_HOLD_CHANGED, .hold = {.workload = w}};
                if (book->works[w].status == WORK_WAITS && book->works[w].user_held &&
                    !trial_try(trial, &let))
                        return 0;
        }
        return 1;
}

int step_mend(struct trial *trial)
{
        for (unsigned n = 0; n < trial->pool.nodes_count; n++) {
                const struct node_desc *desc = &trial->pool.nodes[n];
                uint32_t node = state_node(trial->states[0], desc->name);
                const struct input well = {.kind = INPUT_NODE_CHANGED, .node = *desc};
                if (trial->book->nodes[node].desc.broken && !trial_try(trial, &well))
                        return 0;
        }
        return 1;
}
