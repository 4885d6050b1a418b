#include <inttypes.h>

#include "base/mem.h"
#include "engine/decide.h"
#include "engine/price.h"
#include "engine/units.h"
#include "tests/unit/engine/models.h"

/* ---- a pool and what was decided of it ---- */

#define SEEN_MAX 512

static struct state *pool;
static struct memo *memo;
static struct fact seen[SEEN_MAX];
static unsigned seen_count;
static int64_t now_ms;

static void open_bounded(const struct state_bounds *bounds)
{
        pool = state_new(models, bounds);
        memo = memo_new((struct policy){.kind = POLICY_FIRST_FIT}, MEMO_INDEXED);
        assert_non_null(pool);
        assert_non_null(memo);
        now_ms = 1000;
        seen_count = 0;
}

static int open_pool(void **state)
{
        (void)state;
        open_bounded(&(struct state_bounds){.nodes_max = 16});
        return 0;
}

static int close_pool(void **state)
{
        (void)state;
        memo_free(memo);
        state_free(pool);
        memo = NULL;
        pool = NULL;
        return 0;
}

static void keep_fact(void *arg, const struct fact *fact)
{
        (void)arg;
        assert_true(seen_count < SEEN_MAX);
        seen[seen_count++] = *fact;
}

static int run(const struct input *input, struct err *err)
{
        seen_count = 0;
        int rc = engine_run(pool, memo, input, now_ms, keep_fact, NULL, err);
        state_check(pool);
        return rc;
}

static void must(const struct input *input)
{
        struct err err = {0};

        if (run(input, &err))
                fail_msg("%s: %s", input_name(input->kind), err.text);
}

/* The input fails so, says so, and leaves the state alone. */
static void must_fail(const struct input *input, int rc, const char *names)
{
        struct err err = {0};
        uint64_t hash = state_hash(pool);
        int got = run(input, &err);

        if (got != rc)
                fail_msg("%s: %d instead of %d (%s)", input_name(input->kind), got, rc, err.text);
        assert_int_equal(err.code, -rc);
        check_has(err.text, names);
        assert_int_equal(seen_count, 0);
        assert_true(state_hash(pool) == hash);
}

static unsigned count_facts(enum fact_kind kind)
{
        unsigned count = 0;

        for (unsigned i = 0; i < seen_count; i++)
                count += seen[i].kind == kind;
        return count;
}

static const struct fact *find_fact(enum fact_kind kind)
{
        for (unsigned i = 0; i < seen_count; i++)
                if (seen[i].kind == kind)
                        return &seen[i];
        fail_msg("there is no fact '%s'", fact_name(kind));
        return NULL;
}

/* ---- inputs ---- */

static uint32_t name(const char *text)
{
        return (uint32_t)vocab_name(pool->vocab, text, NULL);
}

static uint16_t word(const char *text)
{
        return (uint16_t)vocab_word(pool->vocab, text, NULL);
}

static struct node_desc node(const char *text, const char *model, unsigned devices)
{
        return (struct node_desc){.name = name(text),
                                  .model = model_id(model),
                                  .devices = (uint8_t)devices,
                                  .cpu_milli = 16000,
                                  .ram_mib = 65536,
                                  .disk_mib = 1000000,
                                  .network_mbit = 10000};
}

static void join(const char *text, const char *model, unsigned devices)
{
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = node(text, model, devices)});
}

static struct request ask(uint64_t id, unsigned devices)
{
        return (struct request){.workload = id,
                                .need = {.models = UINT64_MAX,
                                         .ask = devices ? ASK_WHOLE : ASK_NOTHING,
                                         .devices = (uint8_t)devices},
                                .form = {.members = 1}};
}

static struct request ask_slice(uint64_t id, const char *profile)
{
        struct request request = ask(id, 1);

        request.need.ask = ASK_PROFILE;
        request.need.profile = word(profile);
        return request;
}

static struct request ask_share(uint64_t id, uint16_t milli)
{
        struct request request = ask(id, 1);

        request.need.ask = ASK_SHARE;
        request.need.share_milli = milli;
        return request;
}

static void submit(struct request request)
{
        must(&(struct input){.kind = INPUT_SUBMITTED, .request = request});
}

static void leave(enum input_kind kind, uint64_t id)
{
        must(&(struct input){.kind = kind, .workload = id});
}

static bool is_placed(uint64_t id)
{
        uint32_t slot = state_workload(pool, id);

        return slot != NONE && pool->workloads[slot].members_placed > 0;
}

static bool is_waiting(uint64_t id)
{
        uint32_t slot = state_workload(pool, id);

        return slot != NONE && pool->workloads[slot].members_placed == 0;
}

/* ---- inputs that cannot be meant ---- */

static void submissions_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        join("a", "A100-40", 2);
        submit(ask(1, 1));
        struct input input = {.kind = INPUT_SUBMITTED, .request = ask(1, 1)};
        must_fail(&input, -ERR_EXISTS, "1");

        input.request = ask(2, 1);
        input.request.form.members = 0;
        must_fail(&input, -ERR_INPUT, "member");
        input.request = ask(2, 0);
        input.request.need.ask = ASK_WHOLE;
        must_fail(&input, -ERR_INPUT, "devices");
        input.request = ask(2, NODE_DEVICES_MAX + 1);
        must_fail(&input, -ERR_RANGE, "devices");
}

static void endings_of_what_is_not_there_fail(void **state)
{
        (void)state;
        join("a", "T4", 1);
        must_fail(&(struct input){.kind = INPUT_CANCELLED, .workload = 7}, -ERR_NOT_FOUND, "7");
        must_fail(&(struct input){.kind = INPUT_EXITED, .workload = 7}, -ERR_NOT_FOUND, "7");
        submit(ask(1, 1));
        submit(ask(2, 1));
        assert_true(is_waiting(2));
        must_fail(&(struct input){.kind = INPUT_EXITED, .workload = 2}, -ERR_INPUT, "2");
        leave(INPUT_CANCELLED, 2);
        assert_int_equal(state_workload(pool, 2), NONE);
        leave(INPUT_EXITED, 1);
        assert_int_equal(state_workload(pool, 1), NONE);
}

static void nodes_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        struct input input = {.kind = INPUT_NODE_JOINED, .node = node("a", "A100-40", 2)};

        must(&input);
        must_fail(&input, -ERR_EXISTS, "a");
        input.node = node("b", "A100-40", NODE_DEVICES_MAX + 1);
        must_fail(&input, -ERR_RANGE, "17");
        input.node = node("b", "A100-40", 2);
        input.node.model = MODELS_MAX - 1;
        must_fail(&input, -ERR_NOT_FOUND, "model");
        input.node = node("b", "A100-40", 2);
        input.node.name = 0;
        must_fail(&input, -ERR_INPUT, "name");
        input.node = node("b", "A100-40", 2);
        input.node.cpu_milli = CPU_MILLI_MAX + 1;
        must_fail(&input, -ERR_RANGE, "b");

        input = (struct input){.kind = INPUT_NODE_CHANGED, .node = node("b", "A100-40", 2)};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input = (struct input){.kind = INPUT_NODE_FAILED, .node_name = name("b")};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input.kind = INPUT_NODE_REMOVED;
        must_fail(&input, -ERR_NOT_FOUND, "b");

        submit(ask(1, 1));
        input = (struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")};
        must_fail(&input, -ERR_INPUT, "a");
        input = (struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A30", 2)};
        must_fail(&input, -ERR_INPUT, "a");
        input.node = node("a", "A100-40", 1);
        must_fail(&input, -ERR_INPUT, "a");
}

/* A node without devices has no model; whatever stands there means nothing. */
static void a_node_without_devices_may_name_any_model(void **state)
{
        (void)state;
        struct node_desc desc = node("cpu", "A100-40", 0);

        desc.model = 255;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        submit(ask(1, 0));
        assert_true(is_placed(1));
        submit(ask(2, 1));
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FEASIBLE);
        assert_int_equal(state_workload(pool, 2), NONE);
}

static void reports_that_can_not_be_meant_fail(void **state)
{
        (void)state;
        join("a", "A100-40", 2);
        submit(ask_slice(1, "3g.20gb"));
        struct input input = {.kind = INPUT_LAYOUT_OBSERVED, .layout = {.node = name("b")}};
        must_fail(&input, -ERR_NOT_FOUND, "b");
        input.layout = (struct layout_report){.node = name("a"), .device = 2};
        must_fail(&input, -ERR_RANGE, "2");
        input.layout = (struct layout_report){.node = name("a"), .foreign_slots = 1u << 8};
        must_fail(&input, -ERR_RANGE, "8");
        uint32_t epoch = node_devices(pool, 0)[0].epoch;
        input.layout = (struct layout_report){.node = name("a"), .epoch = epoch + 1};
        must_fail(&input, -ERR_RANGE, "step");
        input.layout.epoch = epoch;
        must(&input);
        assert_int_equal(node_devices(pool, 0)[0].seen_epoch, epoch);
        input.layout.foreign_slots = node_devices(pool, 0)[0].state.slices.slots;
        must_fail(&input, -ERR_INPUT, "foreign");
}

static void plans_out_of_bounds_and_time_that_goes_back_fail(void **state)
{
        (void)state;
        struct price_plan *plan = mem_new(1, sizeof *plan);

        assert_non_null(plan);
        join("a", "T4", 1);
        must(&(struct input){.kind = INPUT_TICKED});
        now_ms = 10;
        must_fail(&(struct input){.kind = INPUT_TICKED}, -ERR_RANGE, "time");
        now_ms = 2000;
        plan->shapes_count = PRICE_SHAPES_MAX + 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "shapes");
        plan->shapes_count = 0;
        plan->table.models_len = PRICE_MODELS_MAX + 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "models");
        plan->table.models_len = 1;
        plan->shapes_count = 2;
        plan->shapes[0].weight = PRICE_WEIGHT_MAX;
        plan->shapes[1].weight = 1;
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "weights");
        plan->shapes[1].weight = UINT64_MAX;            /* must not wrap */
        must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE, "weights");
        plan->shapes[1].weight = 0;
        must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        int32_t *const prices[] = {
                &plan->table.core[0],
                &plan->table.models[0].part[PRICE_STEPS][PRICE_LEVELS - 1],
                &plan->table.models[0].idle[PRICE_DEVICES_MAX][PRICE_LEVELS - 1],
                &plan->table.models[0].scarcity,
        };
        plan->priced = true;
        for (unsigned i = 0; i < sizeof prices / sizeof prices[0]; i++) {
                *prices[i] = PRICE_UNITS_MAX + 1;
                must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE,
                          "prices");
                *prices[i] = -PRICE_UNITS_MAX - 1;
                must_fail(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan}, -ERR_RANGE,
                          "prices");
                *prices[i] = PRICE_UNITS_MAX;
                must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        }
        plan->priced = false;
        plan->shapes_count = 0;
        must(&(struct input){.kind = INPUT_PLAN_SET});
        uint64_t before = state_hash(pool);
        must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        assert_true(pool->plan_set);
        assert_true(state_hash(pool) != before);
        must(&(struct input){.kind = INPUT_PLAN_SET});
        assert_false(pool->plan_set);
        must_fail(&(struct input){.kind = INPUTS_END}, -ERR_INPUT, "kind");
        mem_free(plan);
}

/* ---- refusals ---- */

/* One more of what was cut would be too much. */
static bool step_up(struct request *request, const struct request *asked, unsigned wish)
{
        struct need *need = &request->need;
        const struct need *want = &asked->need;

        switch (wish) {
        case 0:
                if (need->devices >= want->devices)
                        return false;
                need->devices++;
                return true;
        case 1:
                if (request->form.members >= asked->form.members)
                        return false;
                request->form.members++;
                return true;
        case 2:
                if (need->cpu_milli >= want->cpu_milli)
                        return false;
                need->cpu_milli++;
                return true;
        case 3:
                if (need->ram_mib >= want->ram_mib)
                        return false;
                need->ram_mib++;
                return true;
        case 4:
                if (need->memory_mib >= want->memory_mib)
                        return false;
                need->memory_mib++;
                return true;
        case 5:
                if (need->share_milli >= want->share_milli)
                        return false;
                need->share_milli++;
                return true;
        default:
                return false;
        }
}

static void the_nearest_request_is_taken_and_one_step_more_is_not(void **state)
{
        (void)state;
        struct request asked[8];
        unsigned count = 0;

        join("a", "A100-40", 2);
        join("b", "T4", 4);
        asked[count++] = ask(1, 8);
        asked[count] = ask(1, 2);
        asked[count++].form.members = 9;
        asked[count] = ask(1, 1);
        asked[count++].need.cpu_milli = 64000;
        asked[count] = ask(1, 3);
        asked[count].need.ram_mib = 1u << 20;
        asked[count++].need.cpu_milli = 17000;
        asked[count] = ask(1, 1);
        asked[count].need.ask = ASK_MEMORY;
        asked[count++].need.memory_mib = 81920;
        asked[count] = ask(1, 3);
        asked[count].need.ask = ASK_SHARE;
        asked[count].need.share_milli = 600;
        asked[count++].form = (struct form){.members = 4, .near = NEAR_NODE, .near_required = 1};
        asked[count] = ask(1, 0);
        asked[count++].form = (struct form){.members = 5, .spread = SPREAD_NODE};

        for (unsigned i = 0; i < count; i++) {
                struct request want = asked[i];
                assert_int_equal(request_settle(&want, NULL), 0);
                want.once = true;
                submit(want);
                const struct fact *fact = find_fact(FACT_REFUSED);
                assert_int_equal(fact->refused.gate, GATE_FEASIBLE);
                assert_true(fact->refused.has_nearest);
                struct request nearest = fact->refused.nearest;

                for (unsigned wish = 0; wish < 6; wish++) {
                        struct request more = nearest;
                        if (!step_up(&more, &want, wish))
                                continue;
                        more.once = true;
                        submit(more);
                        if (count_facts(FACT_REFUSED) != 1 ||
                            find_fact(FACT_REFUSED)->refused.gate != GATE_FEASIBLE)
                                fail_msg("request %u: one more of wish %u still fits", i, wish);
                }
                nearest.once = true;
                submit(nearest);
                if (!is_placed(1))
                        fail_msg("request %u: the nearest one is refused too", i);
                leave(INPUT_EXITED, 1);
        }
}

static void what_is_not_there_has_no_nearest(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.models = 1ull << model_id("T4");
        submit(request);
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FEASIBLE);
        assert_false(find_fact(FACT_REFUSED)->refused.has_nearest);
        request = ask(1, 1);
        request.need.plane = word("moon");
        submit(request);
        assert_false(find_fact(FACT_REFUSED)->refused.has_nearest);
        assert_int_equal(state_workload(pool, 1), NONE);
}

static void down_and_drained_nodes_count_for_ever_but_not_now(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);

        desc.drained = true;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        submit(ask(1, 2));
        assert_true(is_waiting(1));
        struct request once = ask(2, 1);
        once.once = true;
        submit(once);
        assert_int_equal(find_fact(FACT_REFUSED)->refused.gate, GATE_FIT);
        assert_int_equal(state_workload(pool, 2), NONE);
        desc.drained = false;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_true(is_placed(1));
}

/* ---- the queue ---- */

static void priority_goes_first_then_arrival_and_others_may_pass(void **state)
{
        (void)state;
        struct request low = ask(2, 1), high = ask(3, 2), small = ask(4, 1);

        join("a", "A100-40", 2);
        submit(ask(1, 2));
        low.priority = -1;
        high.priority = 5;
        submit(low);
        submit(high);
        submit(small);
        assert_true(is_waiting(2) && is_waiting(3) && is_waiting(4));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(3) && is_waiting(4) && is_waiting(2));
        /* The wide one of high priority does not fit; what fits passes. */
        high.workload = 5;
        submit(high);
        leave(INPUT_EXITED, 3);
        assert_true(is_placed(5));
        leave(INPUT_CANCELLED, 5);
        assert_true(is_placed(4) && is_placed(2));
        submit(high);
        leave(INPUT_EXITED, 4);
        assert_true(is_waiting(5));
        submit(small);
        assert_true(is_placed(4));
}

/* ---- layouts ---- */

static void check_step(const struct fact *fact, enum layout_op op, uint32_t epoch)
{
        assert_int_equal(fact->kind, FACT_LAYOUT_STEP);
        assert_int_equal(fact->layout_step.op, op);
        assert_int_equal(fact->layout_step.epoch, epoch);
}

static void layout_steps_come_in_order_and_count_on(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "3g.20gb"));
        assert_int_equal(seen_count, 4);
        assert_int_equal(seen[0].kind, FACT_QUEUED);
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        check_step(&seen[2], LAYOUT_CREATE, 2);
        assert_int_equal(seen[3].kind, FACT_ALLOCATED);
        assert_int_equal(seen[2].layout_step.start, seen[3].allocated.parts[0].start);
        assert_int_equal(seen[2].layout_step.profile, seen[3].allocated.parts[0].profile);

        submit(ask_slice(2, "1g.5gb"));
        assert_int_equal(seen_count, 3);
        check_step(&seen[1], LAYOUT_CREATE, 3);         /* it is cut already */
        leave(INPUT_EXITED, 1);
        check_step(&seen[0], LAYOUT_DESTROY, 4);
        assert_int_equal(seen[1].kind, FACT_RELEASED);

        submit(ask(3, 1));
        assert_true(is_waiting(3));
        leave(INPUT_EXITED, 2);
        check_step(&seen[0], LAYOUT_DESTROY, 5);
        check_step(&seen[2], LAYOUT_CUT_OFF, 6);        /* wanted whole */
        assert_true(is_placed(3));
        assert_false(node_devices(pool, 0)[0].cut);
        assert_int_equal(node_devices(pool, 0)[0].epoch, 6);
}

/* Cutting resets the device: it must come once, before the first instance of the gang. */
static void a_gang_on_one_device_has_it_cut_once(void **state)
{
        (void)state;
        struct request gang = ask_slice(1, "1g.5gb");

        join("a", "A100-40", 1);
        gang.form.members = 5;
        submit(gang);
        assert_int_equal(count_facts(FACT_ALLOCATED), 5);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 6);
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        leave(INPUT_EXITED, 1);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 5);

        gang = ask_share(2, 200);
        gang.form.members = 5;
        submit(gang);
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 1);
        check_step(&seen[1], LAYOUT_CUT_OFF, 12);
}

static void a_mode_is_chosen_anew_when_the_device_was_empty(void **state)
{
        (void)state;
        join("a", "MI300X", 1);
        submit(ask_slice(1, "cpx"));
        check_step(&seen[1], LAYOUT_CUT_ON, 1);
        submit(ask_slice(2, "dpx"));
        assert_true(is_waiting(2));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
        check_step(&seen[0], LAYOUT_DESTROY, 3);
        check_step(&seen[2], LAYOUT_CUT_ON, 4);
        check_step(&seen[3], LAYOUT_CREATE, 5);
}

static void a_failed_step_breaks_the_device_until_it_is_described_anew(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"), .failed = true, .epoch = 2}});
        assert_int_equal(state_workload(pool, 1), NONE);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_LOST);
        submit(ask(2, 1));
        assert_true(is_waiting(2));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_placed(2));
}

static void a_failed_step_may_report_what_is_in_the_way(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        uint16_t slots = node_devices(pool, 0)[0].state.slices.slots;
        /* The old instance of the same slots is still there: the new one could not be made. */
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"),
                                        .failed = true,
                                        .epoch = 2,
                                        .foreign_slots = slots}});
        assert_int_equal(state_workload(pool, 1), NONE);
        assert_true(node_devices(pool, 0)[0].state.broken);
}

static void late_and_repeated_reports_do_no_harm(void **state)
{
        (void)state;
        struct input report = {.kind = INPUT_LAYOUT_OBSERVED,
                               .layout = {.node = name("a"), .epoch = 2}};

        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        must(&report);
        report.layout.epoch = 1;
        report.layout.failed = true;
        must(&report);
        assert_true(is_placed(1));
        assert_int_equal(node_devices(pool, 0)[0].seen_epoch, 2);
        report.layout.epoch = 2;
        must(&report);
        assert_true(is_placed(1));
}

static void nothing_lies_beside_a_stranger_whose_mode_is_unknown(void **state)
{
        (void)state;
        struct request request = ask_slice(1, "cpx");

        join("a", "MI300X", 1);
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"), .foreign_slots = 0x0f}});
        submit(request);
        assert_true(is_waiting(1));
}

/* ---- nodes ---- */

static void the_slot_of_the_next_node_is_part_of_the_hash(void **state)
{
        (void)state;
        uint64_t hashes[2];

        for (unsigned i = 0; i < 2; i++) {
                close_pool(state);
                open_pool(state);
                join("a", "T4", 1);
                join("b", "T4", 1);
                join("c", "T4", 1);
                must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name(i ? "a" : "b")});
                must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name(i ? "b" : "a")});
                hashes[i] = state_hash(pool);
        }
        assert_int_not_equal(hashes[0], hashes[1]);
}

static void a_lost_member_ends_its_gang_as_a_whole(void **state)
{
        (void)state;
        struct request gang = ask(1, 1);

        join("a", "A100-40", 1);
        join("b", "A100-40", 1);
        join("c", "A100-40", 1);
        gang.form.members = 2;
        submit(gang);
        submit(ask(2, 1));
        must(&(struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")});
        assert_int_equal(count_facts(FACT_RELEASED), 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.workload, 1);
        assert_int_equal(find_fact(FACT_RELEASED)->released.cause, RELEASE_LOST);
        assert_int_equal(state_workload(pool, 1), NONE);
        assert_true(is_placed(2));
        /* Nothing new on it, until it is back. */
        submit(gang);
        assert_true(is_waiting(1));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A100-40", 1)});
        assert_true(is_placed(1));
        /* Gone for good is only what holds nothing. */
        must_fail(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")}, -ERR_INPUT,
                  "a");
        leave(INPUT_EXITED, 1);
        must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")});
        assert_int_equal(state_node(pool, name("a")), NONE);
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = node("a", "A100-40", 1)});
}

static void another_card_brings_nothing_of_the_old_one(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        submit(ask_slice(1, "1g.5gb"));
        leave(INPUT_EXITED, 1);
        must(&(struct input){.kind = INPUT_LAYOUT_OBSERVED,
                             .layout = {.node = name("a"), .foreign_slots = 0x80}});
        submit(ask(2, 1));
        assert_true(is_waiting(2));
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = node("a", "A30", 1)});
        assert_true(is_placed(2));
        assert_int_equal(count_facts(FACT_LAYOUT_STEP), 0);     /* it never was cut */
}

static void a_node_that_shrinks_keeps_its_work_and_takes_no_more(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.cpu_milli = 10000;
        submit(request);
        desc.cpu_milli = 4000;
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        assert_true(is_placed(1));
        assert_int_equal(pool->nodes[0].cpu_free, 0);
        request = ask(2, 1);
        request.need.cpu_milli = 1;
        submit(request);
        assert_true(is_waiting(2));
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));
}

/* ---- bounds ---- */

static int open_small(void **state)
{
        (void)state;
        open_bounded(&(struct state_bounds){.nodes_max = 2,
                                            .workloads_max = 3,
                                            .members_max = 3,
                                            .parts_max = 4,
                                            .shapes_max = 2,
                                            .buckets_max = 3});
        return 0;
}

static void a_full_node_table_refuses_the_next(void **state)
{
        (void)state;
        join("a", "T4", 1);
        join("b", "T4", 1);
        must_fail(&(struct input){.kind = INPUT_NODE_JOINED, .node = node("c", "T4", 1)},
                  -ERR_FULL, "2");
        must(&(struct input){.kind = INPUT_NODE_REMOVED, .node_name = name("a")});
        join("c", "T4", 1);
}

static bool is_refused_by(enum gate gate)
{
        return count_facts(FACT_REFUSED) == 1 && find_fact(FACT_REFUSED)->refused.gate == gate;
}

static void a_full_workload_table_refuses_the_next(void **state)
{
        (void)state;
        join("a", "T4", 8);
        for (uint64_t id = 1; id <= 3; id++)
                submit(ask(id, 1));
        assert_true(is_placed(3));
        uint64_t hash = state_hash(pool);
        submit(ask(4, 1));
        assert_true(is_refused_by(GATE_TABLE));
        assert_true(state_hash(pool) == hash);
        leave(INPUT_EXITED, 1);
        submit(ask(4, 1));
        assert_true(is_placed(4));
}

static void full_shape_and_bucket_tables_refuse_the_next(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "T4", 8);
        submit(request);
        leave(INPUT_EXITED, 1);
        submit(ask(1, 2));
        leave(INPUT_EXITED, 1);
        submit(ask(1, 3));                      /* a third shape */
        assert_true(is_refused_by(GATE_TABLE));
        request.priority = 1;                   /* a third bucket of a known shape */
        submit(request);
        assert_true(is_placed(1));
        leave(INPUT_EXITED, 1);
        request.priority = 2;
        submit(request);
        assert_true(is_refused_by(GATE_TABLE));
        request.priority = 0;
        submit(request);
        assert_true(is_placed(1));
}

static void full_member_and_part_tables_let_it_wait(void **state)
{
        (void)state;
        struct request gang = ask_share(1, 100);

        join("a", "T4", 8);
        gang.form.members = 3;
        submit(gang);
        assert_true(is_placed(1));              /* at the bound */
        submit(ask(2, 2));
        assert_true(is_waiting(2));             /* a fourth member */
        leave(INPUT_EXITED, 1);
        assert_true(is_placed(2));              /* 2 of 4 parts */
        gang = ask(3, 2);
        submit(gang);
        assert_true(is_placed(3));              /* 4 of 4 */
        gang.workload = 4;
        submit(gang);
        assert_true(is_waiting(4));
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(4));
}

/* ---- memory ---- */

/* Decides the step on a fresh memo with allocation n failing, for all n: nothing has changed, and
 * the same memo can do it when there is memory again. */
static void step_short_of_memory(const struct input *input, unsigned step)
{
        uint64_t hash = state_hash(pool);

        for (unsigned long n = 1; n < 2000; n++) {
                struct memo *fresh = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
                struct group group;
                struct err err = {0};
                assert_non_null(fresh);
                mem_fail_at(n);
                int rc = engine_decide(pool, fresh, input, now_ms, step, &group, &err);
                int failed = mem_fail_happened();
                mem_fail_at(0);
                assert_true(state_hash(pool) == hash);
                if (failed && rc) {             /* it may also do without */
                        if (rc != -ERR_NOMEM)
                                fail_msg("allocation %lu of step %u fails, and decide() says %d",
                                         n, step, rc);
                        assert_true(err.text[0] != '\0');
                        rc = engine_decide(pool, fresh, input, now_ms, step, &group, &err);
                }
                memo_free(fresh);
                if (rc)
                        fail_msg("step %u after a failed allocation: %s", step, err.text);
                if (!failed)
                        return;
        }
        fail_msg("step %u never gets by without one more allocation", step);
}

static void out_of_memory_changes_nothing(void **state)
{
        (void)state;
        struct request gang = ask_share(9, 300), never = ask(10, 16);
        struct input input = {.kind = INPUT_SUBMITTED};
        struct err err = {0};
        struct group group;

        join("a", "A100-40", 2);
        join("b", "T4", 4);
        join("c", "MYSTERY", 1);
        submit(ask_slice(1, "3g.20gb"));
        submit(ask(2, 3));
        submit(ask(3, 3));
        assert_true(is_waiting(3));
        gang.form = (struct form){.members = 3, .near = NEAR_RACK};
        const struct request requests[] = {ask(7, 1), ask_slice(8, "1g.5gb"), gang, never};
        for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
                input.request = requests[i];
                step_short_of_memory(&input, 0);
                assert_int_equal(engine_decide(pool, memo, &input, now_ms, 0, &group, &err), 0);
                for (uint32_t f = 0; f < group.count; f++)
                        state_apply(pool, &group.facts[f], now_ms);
                if (group.more)
                        step_short_of_memory(&input, 1);
                state_check(pool);
        }
        input = (struct input){.kind = INPUT_EXITED, .workload = 2};
        step_short_of_memory(&input, 0);
        input = (struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")};
        step_short_of_memory(&input, 0);
        input = (struct input){.kind = INPUT_TICKED};
        step_short_of_memory(&input, 0);
        step_short_of_memory(&input, 1);
}

static void state_and_memo_are_made_or_not(void **state)
{
        (void)state;
        for (unsigned long n = 1; n < 200; n++) {
                mem_fail_at(n);
                struct state *made = state_new(models, &(struct state_bounds){.nodes_max = 2});
                int failed = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(made == NULL, failed);
                state_free(made);
                if (!failed)
                        break;
        }
        mem_fail_at(1);
        struct memo *made = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        assert_true(made == NULL || !mem_fail_happened());
        mem_fail_at(0);
        memo_free(made);
        state_free(NULL);
        memo_free(NULL);
}

int main(void)
{
#define POOL(test) cmocka_unit_test_setup_teardown(test, open_pool, close_pool)
#define SMALL(test) cmocka_unit_test_setup_teardown(test, open_small, close_pool)
        const struct CMUnitTest tests[] = {
                POOL(submissions_that_can_not_be_meant_fail),
                POOL(endings_of_what_is_not_there_fail),
                POOL(nodes_that_can_not_be_meant_fail),
                POOL(a_node_without_devices_may_name_any_model),
                POOL(reports_that_can_not_be_meant_fail),
                POOL(plans_out_of_bounds_and_time_that_goes_back_fail),
                POOL(the_nearest_request_is_taken_and_one_step_more_is_not),
                POOL(what_is_not_there_has_no_nearest),
                POOL(down_and_drained_nodes_count_for_ever_but_not_now),
                POOL(priority_goes_first_then_arrival_and_others_may_pass),
                POOL(layout_steps_come_in_order_and_count_on),
                POOL(a_gang_on_one_device_has_it_cut_once),
                POOL(a_mode_is_chosen_anew_when_the_device_was_empty),
                POOL(a_failed_step_breaks_the_device_until_it_is_described_anew),
                POOL(a_failed_step_may_report_what_is_in_the_way),
                POOL(late_and_repeated_reports_do_no_harm),
                POOL(nothing_lies_beside_a_stranger_whose_mode_is_unknown),
                POOL(the_slot_of_the_next_node_is_part_of_the_hash),
                POOL(a_lost_member_ends_its_gang_as_a_whole),
                POOL(another_card_brings_nothing_of_the_old_one),
                POOL(a_node_that_shrinks_keeps_its_work_and_takes_no_more),
                SMALL(a_full_node_table_refuses_the_next),
                SMALL(a_full_workload_table_refuses_the_next),
                SMALL(full_shape_and_bucket_tables_refuse_the_next),
                SMALL(full_member_and_part_tables_let_it_wait),
                POOL(out_of_memory_changes_nothing),
                cmocka_unit_test(state_and_memo_are_made_or_not),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
