#include "tests/property/case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/maintenance.h"
#include "proto/model_doc.h"

/* ---- the world ---- */

struct model_table *case_models(void)
{
        static const char *const names[CASE_MODELS] = {
                [CASE_A100_40] = "A100-40", [CASE_A30] = "A30",
                [CASE_T4] = "T4",           [CASE_UNLISTED] = NULL,
                [CASE_MI300X] = "MI300X",   [CASE_RTX_PRO_6000] = "RTX-PRO-6000",
        };
        struct model_table *all = model_table_new(), *table = model_table_new();
        struct err err = {0};
        int rc = all && table ? model_doc_builtin(all, &err) : -ERR_NOMEM;

        for (unsigned i = 0; rc >= 0 && i < CASE_MODELS; i++) {
                if (!names[i]) {
                        rc = model_add_unlisted(table, "MYSTERY", &err);
                        continue;
                }
                rc = model_find(all, names[i], &err);
                if (rc >= 0)
                        rc = model_add(table, model_get(all, (unsigned)rc), &err);
        }
        model_table_free(all);
        if (rc >= 0)
                return table;
        fprintf(stderr, "device models of the test: %s\n", err.text);
        model_table_free(table);
        return NULL;
}

static uint16_t word(struct vocab *vocab, const char *format, unsigned n, int *failed)
{
        char text[VOCAB_WORD_MAX];

        snprintf(text, sizeof text, "%s%u", format, n);
        int id = vocab_word(vocab, text, NULL);
        if (id < 0)
                *failed = id;
        return (uint16_t)id;
}

static uint16_t condition(struct vocab *vocab, const char *key, const char *text, int *failed)
{
        struct where where;
        int id = vocab_where_parse(vocab, key, text, &where, NULL);

        if (id >= 0)
                id = vocab_wheres(vocab, &where, 1, NULL);
        if (id < 0)
                *failed = id;
        return (uint16_t)id;
}

int case_words_enter(struct vocab *vocab, struct case_words *ret_words)
{
        static const char *const profiles[] = {
                "1g.5gb",  "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb",
                "7g.40gb", "1g.6gb",    "2g.12gb", "cpx",     "dpx",     "1g.24gb-me",
        };
        struct case_words words = {0};
        int failed = 0;

        for (unsigned i = 0; i < ARRAY_LEN(words.names); i++) {
                char text[16];
                snprintf(text, sizeof text, "n%02u", i);
                int id = vocab_name(vocab, text, NULL);
                if (id < 0)
                        return id;
                words.names[i] = (uint32_t)id;
        }
        for (unsigned i = 0; i < ARRAY_LEN(words.planes); i++)
                words.planes[i] = word(vocab, "plane-", i, &failed);
        for (unsigned i = 0; i < ARRAY_LEN(words.nvlinks); i++)
                words.nvlinks[i] = word(vocab, "nvl-", i, &failed);
        for (unsigned i = 0; i < ARRAY_LEN(words.racks); i++)
                words.racks[i] = word(vocab, "rack-", i, &failed);
        for (unsigned i = 0; i < ARRAY_LEN(words.blocks); i++)
                words.blocks[i] = word(vocab, "block-", i, &failed);
        uint16_t key = word(vocab, "driver", 0, &failed);
        words.labels[0] = 0;
        for (unsigned i = 1; i < ARRAY_LEN(words.labels); i++) {
                struct label label = {key, word(vocab, "5", 30 + 20 * i, &failed)};
                int id = vocab_labels(vocab, &label, 1, NULL);
                if (id < 0)
                        return id;
                words.labels[i] = (uint16_t)id;
        }
        words.wheres[0] = 0;
        words.wheres[1] = condition(vocab, "driver0", ">=560", &failed);
        words.wheres[2] = condition(vocab, "driver0", "550", &failed);
        words.wheres[3] = condition(vocab, "driver0", "!=570", &failed);
        words.profiles_count = ARRAY_LEN(profiles);
        _Static_assert(ARRAY_LEN(profiles) <= ARRAY_LEN(words.profiles), "room for all");
        for (unsigned i = 0; i < ARRAY_LEN(profiles); i++) {
                int id = vocab_word(vocab, profiles[i], NULL);
                if (id < 0)
                        return id;
                words.profiles[i] = (uint16_t)id;
        }
        *ret_words = words;
        return failed;
}

/* ---- chance ---- */

static unsigned below(struct rng *rng, unsigned n)
{
        return (unsigned)rng_below(rng, n);
}

static bool chance(struct rng *rng, unsigned percent)
{
        return below(rng, 100) < percent;
}

/* ---- nodes ---- */

/* The fabric is a tree: two nodes of one rack are in one block, two of one domain in one rack. */
static void set_fabric(struct rng *rng, const struct case_words *words, struct node_desc *desc)
{
        if (chance(rng, 20))
                return;
        unsigned rack = below(rng, ARRAY_LEN(words->racks));
        desc->block = words->blocks[rack / 2];
        if (chance(rng, 15))
                return;
        desc->rack = words->racks[rack];
        if (chance(rng, 60))
                desc->nvlink = words->nvlinks[rack * 2 + below(rng, 2)];
}

static uint8_t draw_model(struct rng *rng)
{
        static const uint64_t weights[CASE_MODELS] = {
                [CASE_A100_40] = 55,  [CASE_A30] = 20,   [CASE_T4] = 12,
                [CASE_UNLISTED] = 10, [CASE_MI300X] = 9, [CASE_RTX_PRO_6000] = 9,
        };
        return (uint8_t)rng_weighted(rng, weights, CASE_MODELS);
}

static struct node_desc draw_node(struct rng *rng, const struct case_words *words, unsigned number,
                                  unsigned devices)
{
        struct node_desc desc = {.name = words->names[number], .devices = (uint8_t)devices};

        /* One draw a line: their order must not hang on the compiler. */
        desc.model = draw_model(rng);
        desc.cpu_milli = 1000 * (2 + below(rng, 15));
        desc.ram_mib = 4096 * (1 + below(rng, 8));
        desc.disk_mib = chance(rng, 80) ? 100000 : 0;
        desc.network_mbit = chance(rng, 80) ? 10000 : 0;
        desc.link_group = (uint8_t)(chance(rng, 40) ? 0 : 1 + below(rng, 4));
        if (chance(rng, 65))
                desc.plane = words->planes[below(rng, 2)];
        desc.labels = words->labels[below(rng, ARRAY_LEN(words->labels))];
        desc.artifacts = below(rng, 4);
        set_fabric(rng, words, &desc);
        return desc;
}

/* ---- requests ---- */

static void draw_ask(struct rng *rng, const struct case_words *words, struct need *need)
{
        static const uint64_t weights[] = {
                [ASK_NOTHING] = 10, [ASK_WHOLE] = 20, [ASK_PROFILE] = 25,
                [ASK_MEMORY] = 20,  [ASK_SHARE] = 25,
        };
        static const uint32_t memories[] = {1,     2000,  4000,  4864,  5000,  5952,  9000,
                                            12000, 16000, 20000, 24576, 40960, 200000};
        static const uint16_t shares[] = {1, 100, 250, 333, 500, 501, 750, 1000};

        need->ask = (uint8_t)rng_weighted(rng, weights, ARRAY_LEN(weights));
        need->devices = (uint8_t)(need->ask == ASK_NOTHING ? 0
                                  : chance(rng, 70)        ? 1
                                                           : 1 + below(rng, 3));
        if (need->ask == ASK_PROFILE)
                need->profile =
                        words->profiles[chance(rng, 70) ? below(rng, 7)
                                                        : below(rng, words->profiles_count)];
        if (need->ask == ASK_MEMORY) {
                need->memory_mib = memories[below(rng, ARRAY_LEN(memories))];
                need->methods = (uint8_t)below(rng, 1u << METHODS_END);
        }
        if (need->ask == ASK_SHARE) {
                unsigned which = below(rng, 3);
                if (which != 0)
                        need->memory_mib = memories[below(rng, ARRAY_LEN(memories))];
                if (which != 1)
                        need->share_milli = shares[below(rng, ARRAY_LEN(shares))];
        }
}

static void draw_form(struct rng *rng, unsigned members_max, const struct need *need,
                      struct form *form)
{
        form->members = chance(rng, 55) ? 1 : 1 + below(rng, members_max);
        if (chance(rng, 45)) {
                form->near = (uint8_t)below(rng, NEAR_LEVELS_END);
                form->near_required = chance(rng, 65);
        }
        /* Links are between devices: who asks for none does not ask for links. */
        if (need->devices == 0 && form->near == NEAR_DEVICE_LINKS)
                form->near = NEAR_NODE;
        if (chance(rng, 25))
                form->spread = (uint8_t)below(rng, SPREAD_LEVELS_END);
}

static struct request draw_request(struct rng *rng, const struct case_words *words,
                                   unsigned members_max, uint64_t workload)
{
        struct request request = {.workload = workload};
        struct need *need = &request.need;

        request.priority = (int32_t)below(rng, 3) - 1;
        request.once = chance(rng, 35);
        draw_ask(rng, words, need);
        need->models = UINT64_MAX;
        if (chance(rng, 30))
                need->models = 1 + rng_below(rng, (1u << CASE_MODELS) - 1);
        need->cpu_milli = chance(rng, 70) ? 500 * below(rng, 9) : 0;
        need->ram_mib = chance(rng, 50) ? 1024 * below(rng, 9) : 0;
        need->disk_mib = chance(rng, 15) ? 30000 : 0;
        need->network_mbit = chance(rng, 15) ? 4000 : 0;
        if (chance(rng, 10))
                need->plane = words->planes[below(rng, 2)];
        if (chance(rng, 10))
                need->where = words->wheres[1 + below(rng, 3)];
        if (chance(rng, 20))
                need->artifact = (uint16_t)(1 + below(rng, 2));
        draw_form(rng, members_max, need, &request.form);
        return request;
}

/* ---- plans: any table is allowed, it must only move places, never what fits ---- */

static void draw_plan(struct rng *rng, struct price_plan *plan)
{
        memset(plan, 0, sizeof *plan);
        plan->hash = rng_next(rng);
        plan->revision = 1 + rng_below(rng, 9);
        plan->priced = chance(rng, 60);
        plan->shapes_count = below(rng, 7);
        for (unsigned s = 0; s < plan->shapes_count; s++) {
                struct price_shape *shape = &plan->shapes[s];
                shape->devices = (uint8_t)below(rng, 4);
                shape->cpu_milli = 1000 * s + 500 * below(rng, 2); /* no two alike */
                shape->share_milli = (uint16_t)(shape->devices == 0   ? 0
                                                : shape->devices == 1 ? 100 * (1 + below(rng, 10))
                                                                      : 1000);
                shape->models = chance(rng, 70) ? UINT64_MAX : 1 + rng_below(rng, 63);
                shape->weight = 1 + rng_below(rng, 50);
        }
        if (!plan->priced)
                return;
        plan->table.models_len = CASE_MODELS;
        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                plan->table.core[l] = (int32_t)below(rng, 5000);
        for (unsigned m = 0; m < CASE_MODELS; m++) {
                struct price_model *prices = &plan->table.models[m];
                prices->scarcity = (int32_t)below(rng, UNITS_DEVICE / 5);
                for (unsigned l = 0; l < PRICE_LEVELS; l++) {
                        for (unsigned i = 1; i <= PRICE_STEPS; i++)
                                prices->part[i][l] = prices->part[i - 1][l] +
                                                     (int32_t)below(rng, UNITS_DEVICE / 60);
                        for (unsigned g = 1; g <= PRICE_DEVICES_MAX; g++)
                                prices->idle[g][l] =
                                        prices->idle[g - 1][l] + (int32_t)below(rng, UNITS_DEVICE);
                }
        }
}

/* ---- histories ---- */

struct maker {
        struct rng rng;
        const struct case_size *size;
        const struct case_words *words;
        struct history *history;
        struct node_desc nodes[64];
        unsigned nodes_count;
        uint64_t last_workload;
};

static struct input *add(struct maker *maker, enum input_kind kind)
{
        struct history *history = maker->history;

        if (history->count == CASE_STEPS_MAX)
                history->count--;
        struct input *step = &history->steps[history->count++];
        memset(step, 0, sizeof *step);
        step->kind = kind;
        return step;
}

/* What has a part on it may stay there for good: nobody tells of it. */
static void add_failed_device(struct maker *maker, struct node_desc *desc)
{
        uint16_t device = (uint16_t)(1u << below(&maker->rng, desc->devices));
        struct input *step = add(maker, INPUT_DEVICES_FAILED);

        step->broke.node_name = desc->name;
        step->broke.devices = device;
        desc->broken |= device;
}

static void add_node_change(struct maker *maker)
{
        struct rng *rng = &maker->rng;
        struct node_desc *desc = &maker->nodes[below(rng, maker->nodes_count)];

        switch (below(rng, 7)) {
        case 0:
                desc->drained = !desc->drained;
                break;
        case 1:
                desc->cpu_milli = 1000 * (1 + below(rng, 15));
                break;
        case 2:
                if (desc->devices)
                        desc->broken ^= (uint16_t)(1u << below(rng, desc->devices));
                break;
        case 3:
                if (desc->devices) {
                        add_failed_device(maker, desc);
                        return;
                }
                break;
        case 4:
                desc->labels = maker->words->labels[below(rng, 3)];
                desc->plane = chance(rng, 50) ? 0 : maker->words->planes[below(rng, 2)];
                break;
        case 5:
                desc->model = draw_model(rng); /* refused while in use */
                break;
        default:
                break; /* back after a failure, as it was */
        }
        add(maker, INPUT_NODE_CHANGED)->node = *desc;
}

static void add_layout(struct maker *maker)
{
        struct rng *rng = &maker->rng;
        const struct node_desc *desc = &maker->nodes[below(rng, maker->nodes_count)];
        static const uint8_t slots[CASE_MODELS] = {8, 4, 0, 0, 8, 4};

        if (desc->devices == 0)
                return;
        struct layout_report report = {.node = desc->name};
        report.device = (uint8_t)below(rng, desc->devices);
        report.failed = chance(rng, 15);
        report.epoch = chance(rng, 70) ? 0 : below(rng, 3);
        if (slots[desc->model] && chance(rng, 60))
                report.foreign_slots = (uint16_t)(1u << below(rng, slots[desc->model]));
        add(maker, INPUT_LAYOUT_OBSERVED)->layout = report;
}

static void add_step(struct maker *maker)
{
        enum { SUBMIT, EXIT, CANCEL, CHANGE, FAIL, REMOVE, LAYOUT, PLAN, TICK, KINDS };
        static const uint64_t weights[KINDS] = {50, 18, 7, 9, 3, 1, 5, 3, 2};
        struct rng *rng = &maker->rng;
        uint64_t any = 1 + rng_below(rng, maker->size->workloads_max);
        const struct node_desc *desc = &maker->nodes[below(rng, maker->nodes_count)];
        struct input *step;

        switch (rng_weighted(rng, weights, KINDS)) {
        case SUBMIT:
                /* Round robin, so that ids come up again when their work is likely over. */
                maker->last_workload = maker->last_workload % maker->size->workloads_max + 1;
                add(maker, INPUT_SUBMITTED)->request = draw_request(
                        rng, maker->words, maker->size->members_max, maker->last_workload);
                break;
        case EXIT:
                add(maker, INPUT_EXITED)->workload = any;
                break;
        case CANCEL:
                add(maker, INPUT_CANCELLED)->workload = any;
                break;
        case CHANGE:
                add_node_change(maker);
                break;
        case FAIL:
                add(maker, INPUT_NODE_FAILED)->node_name = desc->name;
                break;
        case REMOVE:
                add(maker, INPUT_NODE_REMOVED)->node_name = desc->name;
                if (chance(rng, 70))
                        add(maker, INPUT_NODE_JOINED)->node = *desc;
                break;
        case LAYOUT:
                add_layout(maker);
                break;
        case PLAN:
                if (!maker->size->plans)
                        break;
                step = add(maker, INPUT_PLAN_SET);
                if (chance(rng, 85))
                        step->plan = &maker->history->plans[below(rng, CASE_PLANS)];
                break;
        default:
                add(maker, INPUT_TICKED);
        }
}

void history_make(struct history *history, const struct case_size *size,
                  const struct case_words *words, uint64_t seed)
{
        struct maker maker = {.size = size, .words = words, .history = history};
        struct rng *rng = &maker.rng;

        rng_init(rng, seed);
        history->seed = seed;
        history->count = 0;
        if (!history->plans)
                history->plans = mem_new(CASE_PLANS, sizeof *history->plans);
        if (!history->plans)
                return;
        if (size->plans)
                for (unsigned i = 0; i < CASE_PLANS; i++)
                        draw_plan(rng, &history->plans[i]);

        unsigned left = size->devices_max;
        maker.nodes_count = size->nodes_min + below(rng, size->nodes_max - size->nodes_min + 1);
        for (unsigned n = 0; n < maker.nodes_count; n++) {
                unsigned devices = chance(rng, 12) ? 0 : 1 + below(rng, 4);
                if (devices > left)
                        devices = left;
                left -= devices;
                maker.nodes[n] = draw_node(rng, words, n, devices);
                add(&maker, INPUT_NODE_JOINED)->node = maker.nodes[n];
        }
        unsigned steps = size->steps_min + below(rng, size->steps_max - size->steps_min + 1);
        for (unsigned i = 0; i < steps; i++)
                add_step(&maker);
}

/* ---- sentences ---- */

struct text {
        char *at;
        size_t left;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        int n = vsnprintf(text->at, text->left, format, args);
        va_end(args);
        if (n < 0)
                return;
        size_t step = (size_t)n < text->left ? (size_t)n : text->left - 1;
        text->at += step;
        text->left -= step;
}

static void put_need(struct text *text, const struct need *need, const struct vocab *vocab)
{
        put(text, "%u devices", need->devices);
        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                break;
        case ASK_WHOLE:
                put(text, " whole");
                break;
        case ASK_PROFILE:
                put(text, " as %s", vocab_text(vocab, need->profile));
                break;
        case ASK_MEMORY:
                put(text, " of >= %u MiB by methods %#x", need->memory_mib, need->methods);
                break;
        case ASK_SHARE:
                put(text, " shared, %u milli and %u MiB", need->share_milli, need->memory_mib);
                break;
        }
        if (need->models != UINT64_MAX)
                put(text, " of models %#" PRIx64, need->models);
        put(text, ", %u milli cores, %u MiB RAM", need->cpu_milli, need->ram_mib);
        if (need->disk_mib)
                put(text, ", %u MiB disk", need->disk_mib);
        if (need->network_mbit)
                put(text, ", %u Mbit/s", need->network_mbit);
        if (need->plane)
                put(text, ", on %s", vocab_text(vocab, need->plane));
        if (need->where)
                put(text, ", label conditions %u", need->where);
        if (need->artifact)
                put(text, ", artifact %u", need->artifact - 1u);
}

void request_print(char *ret_text, size_t size, const struct request *request,
                   const struct vocab *vocab)
{
        static const char *const spreads[SPREAD_LEVELS_END] = {"", ", spread over nodes",
                                                               ", spread over racks"};
        struct text text = {ret_text, size};

        put(&text, "%u x (", request->form.members);
        put_need(&text, &request->need, vocab);
        put(&text, ")");
        if (request->form.near)
                put(&text, ", near %s %s", near_level_name(request->form.near),
                    request->form.near_required ? "required" : "preferred");
        put(&text, "%s, priority %d%s", spreads[request->form.spread], request->priority,
            request->once ? ", now or never" : "");
}

static void put_node(struct text *text, const struct node_desc *desc, const struct vocab *vocab,
                     const struct model_table *models)
{
        put(text, "%u x %s, %u milli cores, %u MiB RAM, %u MiB disk, %u Mbit/s", desc->devices,
            desc->devices ? model_get(models, desc->model)->name : "none", desc->cpu_milli,
            desc->ram_mib, desc->disk_mib, desc->network_mbit);
        put(text, ", nvlink '%s', rack '%s', block '%s', plane '%s', labels %u, link group %u",
            vocab_text(vocab, desc->nvlink), vocab_text(vocab, desc->rack),
            vocab_text(vocab, desc->block), vocab_text(vocab, desc->plane), desc->labels,
            desc->link_group);
        if (desc->broken)
                put(text, ", broken %#x", desc->broken);
        if (desc->drained)
                put(text, ", drained");
        if (desc->drain_by_ms)
                put(text, " by %" PRId64, desc->drain_by_ms);
}

void step_print(char *ret_text, size_t size, const struct input *step, const struct vocab *vocab,
                const struct model_table *models)
{
        struct text text = {ret_text, size};

        switch (step->kind) {
        case INPUT_SUBMITTED:
                put(&text, "workload %" PRIu64 " is submitted: ", step->request.workload);
                request_print(text.at, text.left, &step->request, vocab);
                break;
        case INPUT_CANCELLED:
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_LOST:
        case INPUT_CHECKPOINTED:
                put(&text, "workload %" PRIu64 " %s", step->workload, input_name(step->kind));
                break;
        case INPUT_STOP_ASKED:
                put(&text, "workload %" PRIu64 " is asked to stop within %" PRId64 " ms",
                    step->stop.workload, step->stop.notice_ms);
                break;
        case INPUT_MOVE_ASKED:
                put(&text, "workload %" PRIu64 " is asked to move to node %s within %" PRId64 " ms",
                    step->move.workload,
                    step->move.node ? vocab_name_text(vocab, step->move.node) : "any",
                    step->move.notice_ms);
                break;
        case INPUT_USE_REPORTED:
                put(&text, "workload %" PRIu64 " is %s", step->use.workload,
                    step->use.idle_since_ms ? "idle" : "in use");
                if (step->use.idle_since_ms)
                        put(&text, " since %" PRId64, step->use.idle_since_ms);
                break;
        case INPUT_HOLD_CHANGED:
                put(&text, "workload %" PRIu64 " is %s its owner", step->hold.workload,
                    step->hold.held ? "held by" : "let go by");
                break;
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
                put(&text, "node %s %s: ", vocab_name_text(vocab, step->node.name),
                    step->kind == INPUT_NODE_JOINED    ? "joins"
                    : step->kind == INPUT_NODE_CHANGED ? "changes"
                                                       : "is described, and down");
                put_node(&text, &step->node, vocab, models);
                break;
        case INPUT_DEVICES_FAILED:
                put(&text, "devices %#x of node %s fail", step->broke.devices,
                    vocab_name_text(vocab, step->broke.node_name));
                break;
        case INPUT_NODE_FAILED:
        case INPUT_NODE_REMOVED:
                put(&text, "node %s %s", vocab_name_text(vocab, step->node_name),
                    step->kind == INPUT_NODE_FAILED ? "fails" : "is removed");
                break;
        case INPUT_LAYOUT_OBSERVED:
                put(&text, "node %s reports device %u: foreign slots %#x%s, step %u",
                    vocab_name_text(vocab, step->layout.node), step->layout.device,
                    step->layout.foreign_slots, step->layout.failed ? ", a failed step" : "",
                    step->layout.epoch);
                break;
        case INPUT_PLAN_SET:
                if (step->plan)
                        put(&text, "a demand plan is set: %u shapes, %s", step->plan->shapes_count,
                            step->plan->priced ? "random prices" : "no prices");
                else
                        put(&text, "the demand plan is taken away");
                break;
        case INPUT_POLICY_SET:
                put(&text, "a policy is set");
                break;
        case INPUT_FREEZE_SET:
                put(&text, "%s is %s",
                    step->freeze.plane ? vocab_text(vocab, step->freeze.plane) : "the pool",
                    step->freeze.frozen ? "frozen" : "thawed");
                break;
        case INPUT_ETA_SET:
                put(&text, "the start of workload %llu is foretold",
                    (unsigned long long)step->eta.workload);
                break;
        case INPUT_MAINTENANCE_SET:
                put(&text, "%u maintenance windows are set", step->maintenance->count);
                break;
        case INPUT_TICKED:
                put(&text, "time passes");
                break;
        case INPUTS_END:
                break;
        }
}
