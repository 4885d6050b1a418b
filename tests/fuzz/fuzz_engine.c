/* fuzz_engine.c - bytes drive the engine; the one that looks at every node is its model.
 *
 * Six bytes set it up: policy, its seed, nodes, how small the tables are, which memo leads, when it
 * is dropped. Then inputs of all kinds, a byte for each kind and a byte or more for each field: a
 * low byte picks a sensible value, a high one takes any value from the bytes after it. What comes
 * out is followed by brute force too, as long as the tables are small enough for it, and until a
 * policy or a window of maintenance comes: it knows none. Under a policy requests and reports have
 * more to say, and time goes on only.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/decide.h"
#include "engine/maintenance.h"
#include "engine/price.h"
#include "tests/fuzz/engine_policy.h"
#include "tests/property/alike.h"
#include "tests/property/brute.h"
#include "tests/property/case.h"
#include "tests/property/policy_draw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 96, NAMES = 8, IDS = 12, ODD = 0xf0, GROUPS_MAX = 5000 };

/* Both memos decide on the first state; the second one only gets the facts, and now and then they
 * change places. */
struct world {
        const uint8_t *at, *end;
        struct policy policy;
        struct state *states[2];
        struct memo *memos[2];
        enum memo_mode modes[2];
        struct case_words words;
        const struct input *input;
        const struct tenancy *tenancy;  /* of the policy in force, or that is to be */
        struct accounts *accounts[2];   /* of the policy that is brought: one for each state */
        struct maintenance windows;
        int64_t now_ms;
        unsigned drop_every, decisions;
        bool follows;                   /* brute force keeps up */
        struct brute brute;
        struct price_plan plan;
};

static struct world world;

/* ---- bytes ---- */

static uint8_t next(void)
{
        return world.at < world.end ? *world.at++ : 0;
}

static uint64_t next_number(unsigned bytes)
{
        uint64_t number = 0;

        while (bytes-- > 0)
                number = number << 8 | next();
        return number;
}

/* One of the rows, or any number of so many bytes. */
static uint64_t pick(const uint32_t *rows, unsigned count, unsigned bytes)
{
        uint8_t byte = next();

        return byte >= ODD ? next_number(bytes) : rows[byte % count];
}

#define PICK(bytes, ...) \
        pick((const uint32_t[]){__VA_ARGS__}, ARRAY_LEN(((const uint32_t[]){__VA_ARGS__})), bytes)

/* ---- inputs ---- */

static uint16_t word_of(const uint16_t *words, unsigned count)
{
        unsigned at = next() % (count + 1);

        return at == count ? 0 : words[at];
}

#define WORD(list) word_of(world.words.list, ARRAY_LEN(world.words.list))

static uint32_t next_name(void)
{
        uint8_t byte = next();

        return byte == 0xff ? 0 : world.words.names[byte % NAMES];
}

static bool has_policy(void)
{
        return world.states[0]->accounts != NULL;
}

/* Of a time before or behind now. */
static int64_t next_span(void)
{
        return (int64_t)PICK(5, 0, 1000, 30000, 60000, 600000, 3600000, 86400000);
}

/* What only a policy gives a meaning. */
static void make_claims(struct request *request)
{
        request->tenant = (uint16_t)(next() % (world.tenancy->tenants_count + 1));
        request->class = (uint16_t)(next() % (world.tenancy->classes_count + 1));
        uint8_t flags = next();
        request->spare = flags & 1;
        request->service = flags >> 1 & 1;
        request->start_ms = flags >> 2 & 1 ? world.now_ms + next_span() : 0;
        request->time_limit_ms = flags >> 3 & 1 ? next_span() : 0;
        request->checkpoint_every_ms = flags >> 4 & 1 ? next_span() : 0;
        request->checkpoint_within_ms = flags >> 5 & 1 ? next_span() : 0;
        if (flags >> 6 & 1) {
                request->after_count = 1;
                request->after[0] = next() % IDS;
        }
        if (flags >> 7 & 1) {
                request->array = next() % 3;
                request->array_at_once = next() % 3;
        }
}

static void make_windows(struct maintenance *windows)
{
        *windows = (struct maintenance){.count = next() % 3};
        for (uint32_t w = 0; w < windows->count; w++) {
                struct maintenance_window *window = &windows->windows[w];
                uint8_t flags = next();
                window->when.from_ms = world.now_ms + next_span();
                window->when.until_ms = window->when.from_ms + next_span();
                window->when.every_ms = flags & 1 ? next_span() : 0;
                window->when.last_ms = flags >> 1 & 1 ? world.now_ms + next_span() : 0;
                window->node = flags >> 2 & 1 ? next_name() : 0;
                window->plane = flags >> 3 & 1 ? WORD(planes) : 0;
        }
}

static void make_request(struct request *request)
{
        struct need *need = &request->need;
        struct form *form = &request->form;

        request->workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        need->ask = (uint8_t)PICK(1, ASK_NOTHING, ASK_WHOLE, ASK_PROFILE, ASK_MEMORY, ASK_SHARE);
        need->devices = (uint8_t)PICK(1, 1, 2, 0, 3, 4, 16);
        need->memory_mib = (uint32_t)PICK(4, 0, 1, 4864, 9000, 20000, 40960, 200000);
        need->share_milli = (uint16_t)PICK(2, 0, 1, 100, 250, 333, 500, 501, 1000);
        need->profile = word_of(world.words.profiles, world.words.profiles_count);
        need->methods = next();
        need->models = PICK(8, UINT32_MAX, 1, 2, 3, 4, 8, 16, 32, 48, 0);
        if (need->models == UINT32_MAX)
                need->models = UINT64_MAX;
        need->cpu_milli = (uint32_t)PICK(4, 0, 500, 1000, 4000, 100000);
        need->ram_mib = (uint32_t)PICK(4, 0, 1024, 8192);
        need->disk_mib = (uint32_t)PICK(4, 0, 0, 30000);
        need->network_mbit = (uint32_t)PICK(4, 0, 0, 4000);
        form->members = (uint32_t)PICK(4, 1, 1, 1, 2, 3, 4, 8, 0, 4096);
        form->near = (uint8_t)PICK(1, 0, 1, 2, 3, 4, 5, 6);
        form->spread = (uint8_t)PICK(1, 0, 0, 1, 2);
        uint8_t flags = next();
        form->near_required = flags & 3;
        request->once = flags >> 2 & 1;
        request->priority = (int32_t)PICK(4, 0, 1, 2, UINT32_MAX);
        need->plane = flags >> 3 & 1 ? WORD(planes) : 0;
        need->where = flags >> 4 & 1 ? WORD(wheres) : 0;
        need->artifact = flags >> 5 & 1 ? (uint16_t)PICK(2, 1, 2, 64, 65) : 0;
        if (flags >> 6 & 1)
                memset(need->reserved, next(), sizeof need->reserved);
        if (flags >> 7 & 1) {
                uint8_t more = next();
                request->user_hold = more & 1;
                request->retries = more >> 1 & 3;
        }
        if (has_policy())
                make_claims(request);
}

static void make_desc(struct node_desc *desc)
{
        desc->name = next_name();
        desc->model = (uint8_t)PICK(1, 0, 1, 2, 3, 4, 5);
        desc->devices = (uint8_t)PICK(1, 1, 2, 4, 0, 8, 16);
        desc->cpu_milli = (uint32_t)PICK(4, 8000, 64000, 2000, 0);
        desc->ram_mib = (uint32_t)PICK(4, 65536, 4096, 0);
        desc->disk_mib = (uint32_t)PICK(4, 100000, 0);
        desc->network_mbit = (uint32_t)PICK(4, 10000, 0);
        desc->link_group = (uint8_t)PICK(1, 0, 1, 2, 3, 4);
        desc->broken = (uint16_t)PICK(2, 0, 0, 0, 1, 2);
        desc->artifacts = PICK(8, 0, 1, 2, 3);
        uint8_t flags = next();
        desc->drained = flags & 1;
        desc->plane = flags >> 1 & 1 ? WORD(planes) : 0;
        desc->labels = flags >> 2 & 1 ? WORD(labels) : 0;
        desc->nvlink = flags >> 3 & 1 ? WORD(nvlinks) : 0;
        desc->rack = flags >> 4 & 1 ? WORD(racks) : 0;
        desc->block = flags >> 5 & 1 ? WORD(blocks) : 0;
        desc->drain_by_ms = flags >> 6 & 1 ? 3000 : 0;
        if (desc->drain_by_ms && has_policy())
                desc->drain_by_ms = world.now_ms + next_span();
}

/* Mostly the newest step that was planned, so that reports get through. */
static void make_report(struct layout_report *report)
{
        report->node = next_name();
        report->device = (uint8_t)PICK(1, 0, 1, 2, 3);
        report->foreign_slots = (uint16_t)PICK(2, 0, 0, 1, 2, 0x80, 0xff);
        uint8_t flags = next();
        report->failed = flags & 1;
        uint32_t node = state_node(world.states[0], report->node);
        if (flags >> 1 & 1)
                report->epoch = (uint32_t)next_number(4);
        else if (node != NONE && report->device < NODE_DEVICES_MAX)
                report->epoch = node_devices(world.states[0], node)[report->device].epoch;
}

static void make_shape(struct price_shape *shape)
{
        shape->devices = (uint8_t)PICK(1, 1, 0, 2, 4);
        shape->share_milli = (uint16_t)PICK(2, 1000, 500, 100, 0);
        shape->cpu_milli = (uint32_t)PICK(4, 1000, 4000, 0);
        shape->models = PICK(8, UINT32_MAX, 1, 2, 60);
        shape->weight = PICK(8, 1, 5, 1000) << PICK(1, 0, 0, 8, 32, 54, 60) % 64;
}

/* The next of a row of prices that rises by up to 2^bits each time. */
static int32_t risen(int32_t price, unsigned bits, uint32_t *mixed)
{
        uint32_t sum = 0;

        *mixed = *mixed * 1664525 + 1013904223;
        sum = (uint32_t)price + (*mixed >> (32 - bits));
        return (int32_t)sum;
}

/* A few bytes make a whole table; with many bits its prices are nonsense of any size. */
static void make_prices(struct price_table *table)
{
        uint32_t mixed = (uint32_t)next_number(2);
        unsigned bits = (unsigned)PICK(1, 11, 17, 4, 20) % 32 + 1;

        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                table->core[l] = (int32_t)PICK(4, 0, 100, 5000, 120000);
        for (unsigned m = 0; m < CASE_MODELS; m++) {
                struct price_model *prices = &table->models[m];
                prices->scarcity = (int32_t)PICK(4, 0, 1000, 25000);
                for (unsigned l = 0; l < PRICE_LEVELS; l++) {
                        for (unsigned i = 1; i <= PRICE_STEPS; i++)
                                prices->part[i][l] = risen(prices->part[i - 1][l], bits, &mixed);
                        for (unsigned g = 1; g <= PRICE_DEVICES_MAX; g++)
                                prices->idle[g][l] = risen(prices->idle[g - 1][l], bits, &mixed);
                }
        }
}

static const struct price_plan *make_plan(void)
{
        struct price_plan *plan = &world.plan;
        uint8_t flags = next();

        if ((flags & 3) == 0)
                return NULL;
        memset(plan, 0, sizeof *plan);
        plan->hash = next_number(2);
        plan->priced = flags >> 2 & 1;
        plan->shapes_count = (uint32_t)PICK(4, 0, 1, 2, 6, PRICE_SHAPES_MAX, PRICE_SHAPES_MAX + 1);
        plan->table.models_len = (uint32_t)PICK(4, CASE_MODELS, 0, 64, 65);
        for (unsigned s = 0; s < plan->shapes_count && s < 8; s++)
                make_shape(&plan->shapes[s]);
        if (plan->priced)
                make_prices(&plan->table);
        return plan;
}

/* Twenty rounds of twelve kinds fill the bytes below ODD; the ones above are kinds that came
 * later, so that older seeds still mean what they meant. */
static enum input_kind next_kind(void)
{
        static const uint8_t kinds[] = {
                INPUT_SUBMITTED,    INPUT_SUBMITTED,    INPUT_NODE_JOINED,     INPUT_CANCELLED,
                INPUT_EXITED,       INPUT_NODE_CHANGED, INPUT_LAYOUT_OBSERVED, INPUT_NODE_FAILED,
                INPUT_NODE_REMOVED, INPUT_PLAN_SET,     INPUT_TICKED,          INPUTS_END,
        };
        static const uint8_t later[] = {
                INPUT_FAILED,     INPUT_STOPPED,      INPUT_CHECKPOINTED, INPUT_HOLD_CHANGED,
                INPUT_FREEZE_SET, INPUT_USE_REPORTED, INPUT_STOP_ASKED,   INPUT_MOVE_ASKED,
        };
        static const uint8_t last[] = {
                INPUT_POLICY_SET,     INPUT_POLICY_SET,     INPUT_MAINTENANCE_SET, INPUT_ETA_SET,
                INPUT_DEVICES_FAILED, INPUT_NODE_DESCRIBED, INPUT_LOST,
        };
        uint8_t byte = next();

        if (byte > UINT8_MAX - ARRAY_LEN(last))
                return (enum input_kind)last[byte + ARRAY_LEN(last) - 1 - UINT8_MAX];
        _Static_assert(ODD % ARRAY_LEN(kinds) == 0, "whole rounds");
        return (enum input_kind)(byte < ODD ? kinds[byte % ARRAY_LEN(kinds)]
                                            : later[byte % ARRAY_LEN(later)]);
}

/* Policies begin in a time that their documents speak of. */
static void bring_policy(struct input *input)
{
        const struct tenancy *tenancy = fuzz_policy(next(), world.states[0]->models);

        if (!tenancy) {
                input->kind = INPUTS_END;
                return;
        }
        for (unsigned s = 0; s < 2; s++)
                if (!(world.accounts[s] = accounts_new(tenancy, NULL)))
                        abort();
        input->accounts = world.accounts[0];
        world.follows = false;
        if (world.now_ms < DRAW_START_MS)
                world.now_ms = DRAW_START_MS;
}

static void make_input(struct input *input)
{
        memset(input, 0, sizeof *input);
        input->kind = next_kind();
        switch (input->kind) {
        case INPUT_SUBMITTED:
                make_request(&input->request);
                break;
        case INPUT_CANCELLED:
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_LOST:
                input->workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                break;
        case INPUT_CHECKPOINTED:
                input->checkpoint.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->checkpoint.age_ms = input->checkpoint.workload % 2 ? 1 : 0;
                if (has_policy())
                        input->checkpoint.age_ms = next_span();
                break;
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
                make_desc(&input->node);
                break;
        case INPUT_DEVICES_FAILED:
                input->broke.node_name = next_name();
                input->broke.devices = (uint16_t)PICK(1, 1, 2, 4, 128, 255);
                break;
        case INPUT_NODE_FAILED:
                input->failed.node_name = next_name();
                input->failed.silent = has_policy() && next() & 1;
                break;
        case INPUT_NODE_REMOVED:
                input->node_name = next_name();
                break;
        case INPUT_LAYOUT_OBSERVED:
                make_report(&input->layout);
                break;
        case INPUT_PLAN_SET:
                input->plan = make_plan();
                break;
        case INPUT_STOP_ASKED:
                input->stop.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->stop.notice_ms = (int64_t)PICK(8, 0, 1000, UINT32_MAX);
                break;
        case INPUT_MOVE_ASKED:
                input->move.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->move.notice_ms = (int64_t)PICK(8, 0, 1000, UINT32_MAX);
                input->move.node = next() & 1 ? next_name() : 0;
                break;
        case INPUT_HOLD_CHANGED:
                input->hold.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->hold.held = next() & 1;
                break;
        case INPUT_USE_REPORTED:
                input->use.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->use.idle_since_ms = (int64_t)PICK(8, 0, 0, 1000, 5000, UINT32_MAX);
                if (has_policy() && input->use.idle_since_ms)
                        input->use.idle_since_ms = world.now_ms - next_span();
                break;
        case INPUT_FREEZE_SET:
                input->freeze.frozen = next() & 1;
                input->freeze.plane = WORD(planes);
                break;
        case INPUT_TICKED:
                if (has_policy())
                        world.now_ms += next_span();
                else
                        world.now_ms = (int64_t)PICK(8, 0, 1000, 5000, UINT32_MAX);
                if (has_policy() && world.now_ms > CALENDAR_MS_MAX)
                        world.now_ms = CALENDAR_MS_MAX;
                break;
        case INPUT_ETA_SET:
                input->eta.workload = PICK(8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
                input->eta.p50_ms = next_span();
                input->eta.p90_ms = input->eta.p50_ms + next_span() - 1;
                input->eta.coverage_pct = next() % 102;
                break;
        case INPUT_MAINTENANCE_SET:
                make_windows(&world.windows);
                input->maintenance = &world.windows;
                world.follows = false;
                break;
        case INPUT_POLICY_SET:
                bring_policy(input);
                break;
        case INPUTS_END:
                break;
        }
}

/* ---- what must hold ---- */

static void check_alike(const struct fact *a, const struct fact *b)
{
        assert(fact_same(a, b));
        if (a->kind == FACT_REFUSED && a->refused.has_nearest) {
                struct request nearest = a->refused.nearest;
                assert(request_settle(&nearest, NULL) == 0);
        }
}

/* A failed input has a sentence, fails for both, and has changed nothing. */
static void check_failure(int rc, int other, const struct err *err, uint64_t hash_before)
{
        assert(rc < 0);
        assert(rc == other);
        assert(err->code == (enum err_code) - rc);
        assert(err->text[0] != '\0');
        assert(state_hash(world.states[0]) == hash_before);
}

static void follow(const struct fact *fact)
{
        char why[256] = "";

        if (!world.follows)
                return;
        if (!brute_apply(&world.brute, fact, world.input, why, sizeof why)) {
                fprintf(stderr, "%s\n", why);
                abort();
        }
}

static void apply_group(const struct group *group)
{
        const struct brute_work *placed = NULL;
        char why[256] = "";

        if (group->count == 0)
                return;                 /* nothing has changed */
        for (uint32_t i = 0; i < group->count; i++) {
                const struct fact *fact = &group->facts[i];
                struct fact other = *fact;
                follow(fact);
                state_apply(world.states[0], fact, world.now_ms);
                if (fact->kind == FACT_POLICY_IN) {
                        other.accounts = world.accounts[1];
                        world.tenancy = fact->accounts->tenancy;
                }
                state_apply(world.states[1], &other, world.now_ms);
                if (world.follows && fact->kind == FACT_ALLOCATED)
                        placed = brute_work(&world.brute, fact->allocated.workload);
        }
        state_check(world.states[0]);
        if ((placed && !brute_placed_well(&world.brute, placed, false, why, sizeof why)) ||
            (world.follows && !brute_group_ends(&world.brute, why, sizeof why))) {
                fprintf(stderr, "%s\n", why);
                abort();
        }
        assert(state_hash(world.states[0]) == state_hash(world.states[1]));
}

/* ---- one run ---- */

static void new_memo(unsigned which)
{
        memo_free(world.memos[which]);
        world.memos[which] = memo_new(world.policy, world.modes[which]);
        if (!world.memos[which])
                abort();
}

/* As after a crash: from here on the state that only got the facts is decided on. */
static void drop(unsigned which)
{
        struct state *other = world.states[1];

        world.states[1] = world.states[0];
        world.states[0] = other;
        new_memo(which);
}

static void run_input(const struct input *input)
{
        uint64_t hash = state_hash(world.states[0]);
        uint64_t waited = world.states[0]->waiting;
        bool more = true;

        world.input = input;
        for (unsigned step = 0; more; step++) {
                struct group groups[2] = {0};
                struct err errs[2] = {0};
                int rcs[2];
                if (world.drop_every && ++world.decisions % world.drop_every == 0)
                        drop(world.decisions / world.drop_every % 2);
                for (unsigned m = 0; m < 2; m++)
                        rcs[m] = engine_decide(world.states[0], world.memos[m], input,
                                               world.now_ms, step, &groups[m], &errs[m]);
                if (rcs[0]) {
                        assert(step == 0);
                        check_failure(rcs[0], rcs[1], &errs[0], hash);
                        for (unsigned s = 0; input->kind == INPUT_POLICY_SET && s < 2; s++)
                                accounts_free(world.accounts[s]);
                        return;
                }
                assert(rcs[1] == 0);
                assert(groups[0].count == groups[1].count);
                for (uint32_t i = 0; i < groups[0].count; i++)
                        check_alike(&groups[0].facts[i], &groups[1].facts[i]);
                apply_group(&groups[0]);
                more = groups[0].more || groups[1].more;
                /* Each turn of the queue takes one workload out of it; the last takes none. By a
                 * policy there are turns of other kinds, and they end. */
                assert(step <= (has_policy() ? GROUPS_MAX : waited + 3));
        }
}

static void open_states(void)
{
        static const struct {
                uint32_t workloads, members, parts, shapes, buckets;
        } sizes[] = {
                {BRUTE_WORKS, BRUTE_MEMBERS, 64, 16, 16}, {BRUTE_WORKS, BRUTE_MEMBERS, 16, 4, 5},
                {3, 6, 4, 2, 3},                          {16, 64, 128, 16, 16},
                {16, 8192, 16384, 16, 16},
        };
        unsigned nodes = 1 + next() % 6, row = next() % ARRAY_LEN(sizes);
        struct state_bounds bounds = {.nodes_max = nodes,
                                      .workloads_max = sizes[row].workloads,
                                      .members_max = sizes[row].members,
                                      .parts_max = sizes[row].parts,
                                      .shapes_max = sizes[row].shapes,
                                      .buckets_max = sizes[row].buckets,
                                      .plans_max = 4};
        static struct model_table *models;

        if (!models && !(models = case_models()))
                abort();
        world.follows = sizes[row].workloads <= BRUTE_WORKS;
        for (unsigned s = 0; s < 2; s++) {
                world.states[s] = state_new(models, &bounds);
                if (!world.states[s] ||
                    case_words_enter(world.states[s]->vocab, &world.words) < 0)
                        abort();
        }
        brute_init(&world.brute, models, world.states[0]->vocab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct input input;

        world.at = data;
        world.end = data + size;
        world.now_ms = 0;
        world.tenancy = NULL;
        world.decisions = 0;
        world.policy.kind = (enum policy_kind)(next() % POLICIES_END);
        world.policy.seed = next();
        open_states();
        uint8_t flags = next();
        world.modes[0] = flags & 1 ? MEMO_SCAN : MEMO_INDEXED;
        world.modes[1] = flags >> 1 & 1 ? MEMO_INDEXED : MEMO_SCAN;
        world.drop_every = next() % 16;
        new_memo(0);
        new_memo(1);
        for (unsigned i = 0; i < STEPS_MAX && world.at < world.end; i++) {
                make_input(&input);
                run_input(&input);
        }
        state_check(world.states[1]);
        for (unsigned i = 0; i < 2; i++) {
                memo_free(world.memos[i]);
                state_free(world.states[i]);
                world.memos[i] = NULL;
        }
        return 0;
}
