/* Each verdict, each reason of a node and each reason of an idle device, by hand. */
#include "engine/explain.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/doc.h"
#include "engine/accounts.h"
#include "proto/explain_json.h"
#include "proto/policy_doc.h"
#include "tests/unit/engine/pool.h"

#define HOUR_MS INT64_C(3600000)

static struct policy_doc *policy;
static struct explanation it;

/* ---- a pool with a policy ---- */

static const char tree[] =
        "kind: Policy\n"
        "preset: protected\n"
        "classes:\n"
        "  train: {rank: 1, methods: [whole, slice, share], stop: for_protect, notice: 5m, "
        "exempt: 0s, hold_after: 10m}\n"
        "  test:  {rank: 2, methods: [whole, slice, share], stop: always, notice: 30s, "
        "exempt: 0s, hold_after: 10m}\n"
        "tenants:\n";

static void set_policy(const char *tenants)
{
        char text[4096];
        struct err err = {0};
        struct doc *doc = NULL;

        snprintf(text, sizeof text, "%s%s", tree, tenants);
        if (doc_read_yaml("policy", text, strlen(text), &doc, &err) ||
            policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err))
                fail_msg("%s", err.text);
        doc_free(doc);
        struct input input = {.kind = INPUT_POLICY_SET};
        input.accounts = accounts_new(policy->tenancy, &err);
        assert_non_null(input.accounts);
        must(&input);
}

static int close_all(void **state)
{
        close_pool(state);
        policy_doc_free(policy);
        policy = NULL;
        return 0;
}

static uint16_t tenant(const char *path)
{
        int found = tenancy_find(policy->tenancy, path);

        assert_true(found >= 0);
        return (uint16_t)found;
}

static struct request of(const char *path, struct request request)
{
        request.tenant = tenant(path);
        return request;
}

static void tick_at(int64_t at_ms)
{
        now_ms = at_ms;
        must(&(struct input){.kind = INPUT_TICKED});
}

/* ---- explaining ---- */

static void explain_now(uint64_t id)
{
        struct err err = {0};
        uint64_t hash = state_hash(pool);

        if (explain(memo, pool, id, now_ms, &it, &err))
                fail_msg("%s", err.text);
        assert_true(state_hash(pool) == hash);
}

static void explain_asked(struct request request)
{
        struct err err = {0};

        if (explain_request(memo, pool, &request, now_ms, &it, &err))
                fail_msg("%s", err.text);
}

static void is_verdict(enum verdict verdict)
{
        if (it.verdict != verdict)
                fail_msg("%s instead of %s", verdict_name(it.verdict), verdict_name(verdict));
}

/* The first gate that fails, and no other thing, gives the verdict. */
static void fails_first(enum gate gate)
{
        for (unsigned g = 0; g < gate; g++)
                if (!it.gates[g].passed)
                        fail_msg("%s fails before %s", gate_name((enum gate)g), gate_name(gate));
        assert_false(it.gates[gate].passed);
}

static const struct explained_unblock *offered(enum unblock_kind kind)
{
        for (uint32_t n = 0; n < it.nearest_count; n++)
                if (it.nearest[n].kind == kind)
                        return &it.nearest[n];
        fail_msg("no '%s' is offered", unblock_name(kind));
        return NULL;
}

static char *text_for(const char *viewer)
{
        struct explain_names names = {.state = pool};
        struct viewer who = {.is_operator = !viewer, .tenant = viewer ? tenant(viewer) : 0};
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);

        assert_non_null(file);
        assert_int_equal(explain_view(&it, pool, who, NULL), 0);
        explain_text(file, &it, &names);
        fclose(file);
        return text;
}

static void says(const char *summary)
{
        struct explain_names names = {.state = pool};
        char buf[EXPLAIN_TEXT_MAX];

        assert_string_equal(explain_summary(&it, &names, buf), summary);
}

/* ---- verdicts ---- */

static void what_a_tenant_may_not_use_is_refused(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {limit: {A100-40: none}}\n  blue: {limit: {any: 4}}\n");
        explain_asked(of("red", ask(1, 1))); /* other models would do, but none is here */
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_LIMIT);
        struct request request = of("red", ask(1, 1));
        request.need.models = 1ull << model_id("A100-40");
        explain_asked(request);
        is_verdict(VERDICT_REFUSED);
        fails_first(GATE_ALLOWED);
        assert_int_equal(it.all.nodes_of[CODE_NOT_ALLOWED], 1);
}

static void what_no_pool_state_fits_is_never(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {limit: {any: 4}}\n");
        explain_asked(of("red", ask(1, 16)));
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_FEASIBLE);
        assert_true(it.has_possible);
        assert_int_equal(it.possible.need.devices, 8);
        explain_asked(of("red", ask(1, 8))); /* alone above its limit */
        is_verdict(VERDICT_NEVER);
        fails_first(GATE_LIMIT);
        assert_int_equal(it.gates[GATE_LIMIT].limit, 4 * 126000);
        assert_int_equal(it.gates[GATE_LIMIT].after, 8 * 126000);
}

static void limits_make_it_wait_for_quota(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {limit: {any: 4}}\n  blue: {limit: {running: 1}}\n");
        submit(of("red", ask(1, 3)));
        submit(of("red", ask(2, 2)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_QUOTA);
        fails_first(GATE_LIMIT);
        assert_true(it.gates[GATE_FIT].passed);
        assert_int_equal(it.gates[GATE_LIMIT].tenant, tenant("red"));
        assert_int_equal(it.gates[GATE_LIMIT].used, 3 * 126000);
        assert_int_equal(it.gates[GATE_LIMIT].after, 5 * 126000);
        assert_int_equal(it.all.nodes_of[CODE_QUOTA], 1);
        unblock = offered(UNBLOCK_QUOTA);
        assert_int_equal(unblock->raises[0].to, 5 * 126000);
        unblock = offered(UNBLOCK_OWN_END);
        assert_int_equal(unblock->workload, 1);
        unblock = offered(UNBLOCK_REQUEST);
        submit(of("blue", ask(3, 1)));
        submit(of("blue", ask(4, 1)));
        explain_now(4);
        is_verdict(VERDICT_WAIT_QUOTA);
        fails_first(GATE_JOBS);
        assert_int_equal(it.gates[GATE_JOBS].used, 1);
        assert_int_equal(it.gates[GATE_JOBS].limit, 1);
}

static void an_empty_budget_makes_it_wait(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {budget: {device_hours: 4, per: month, on_empty: refuse}}\n");
        submit(of("red", ask(1, 8)));
        submit(of("red", ask(2, 8)));
        tick_at(HOUR_MS);
        leave(INPUT_EXITED, 1);
        explain_now(2);
        is_verdict(VERDICT_WAIT_BUDGET);
        fails_first(GATE_BUDGET);
        assert_int_equal(it.gates[GATE_BUDGET].limit, 4 * HOUR_MS);
        assert_true(it.gates[GATE_BUDGET].used >= it.gates[GATE_BUDGET].limit);
        explain_asked(of("red", ask(3, 1)));
        is_verdict(VERDICT_REFUSED);
}

static void holds_hold(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {}\n");
        struct request request = of("red", ask(1, 1));
        request.user_hold = true;
        submit(request);
        explain_now(1);
        is_verdict(VERDICT_HELD);
        fails_first(GATE_HOLD);
        unblock = offered(UNBLOCK_LET_GO);
        request = of("red", ask(2, 1));
        request.start_ms = now_ms + HOUR_MS;
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_HELD);
        unblock = offered(UNBLOCK_TIME);
        assert_int_equal(unblock->at_ms, now_ms + HOUR_MS);
        submit(of("red", ask(3, 1)));
        request = of("red", ask(4, 1));
        request.after_count = 1;
        request.after[0] = 3;
        submit(request);
        explain_now(4);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.after_left, 1);
        request = of("red", ask(5, 1));
        request.array = 1;
        request.array_at_once = 1;
        submit(request);
        request.workload = 6;
        submit(request);
        explain_now(6);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.array_running, 1);
}

static void promises_and_capacity_holds_are_claims(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {}\n  blue: {protect: {A100-40: 4}, lend: none}\n");
        submit(of("red", ask(1, 8)));
        explain_now(1);
        is_verdict(VERDICT_WAIT_ORDER);
        fails_first(GATE_ORDER);
        assert_int_equal(it.all.nodes_of[CODE_RESERVED], 1);
        assert_int_equal(it.gates[GATE_ORDER].limit, 4 * 126000);
}

static void wide_work_that_waits_keeps_room(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {protect: {A100-40: 4}}\n  blue: {}\n");
        struct request half = of("red", ask(1, 4));
        half.time_limit_ms = 20 * HOUR_MS;
        submit(half);
        submit(of("blue", ask(2, 8)));
        tick_at(HOUR_MS);
        assert_int_equal(pool->nodes_held, 1);
        half.workload = 3;
        half.time_limit_ms = 90 * HOUR_MS;
        submit(half);
        explain_now(3);
        is_verdict(VERDICT_WAIT_ORDER);
        assert_int_equal(it.all.nodes_of[CODE_HELD_FOR_OTHER], 1);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
}

static void nothing_free_is_capacity(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        join("a", "A100-40", 8);
        join("b", "A30", 8);
        set_policy("  red: {}\n");
        struct request request = of("red", ask(1, 6));
        request.need.models = 1ull << model_id("A100-40");
        submit(request);
        request.workload = 2;
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        fails_first(GATE_FIT);
        assert_int_equal(it.all.nodes_of[CODE_BUSY], 1);
        assert_int_equal(it.all.nodes_of[CODE_TYPE_MISMATCH], 1);
        assert_int_equal(it.all.free_devices, 10);
        unblock = offered(UNBLOCK_REQUEST);
        assert_int_equal(unblock->changes, CHANGE_MODELS);
        unblock = offered(UNBLOCK_OWN_END);
        assert_int_equal(it.position.in_tenant, 1);
        assert_int_equal(it.position.ahead, AHEAD_NEXT);
}

static void a_plan_under_way_has_a_deadline(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {}\n  blue: {protect: {A100-40: 8}}\n");
        submit(of("red", ask(1, 8)));
        submit(of("blue", ask(2, 8)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_PREEMPTION);
        assert_int_equal(it.until_ms, now_ms + 5 * 60000);
        assert_int_equal(it.plan_cause, PLAN_PROTECT);
        assert_int_equal(offered(UNBLOCK_PLAN)->at_ms, it.until_ms);
        explain_now(1);
        is_verdict(VERDICT_RUNNING);
        assert_true(it.until_ms > 0);
}

static void what_starts_runs_or_is_not_known_says_so(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        explain_asked(ask(1, 8)); /* without a policy */
        is_verdict(VERDICT_STARTING);
        submit(ask(1, 8));
        submit(ask(2, 8));
        explain_now(1);
        is_verdict(VERDICT_RUNNING);
        says("It runs.");
        must(&(struct input){.kind = INPUT_USE_REPORTED,
                             .use = {.workload = 1, .idle_since_ms = now_ms}});
        explain_now(1);
        says("It runs, and its devices are idle.");
        it.told_idle = true;
        says("It runs, and has been told to stop: its devices are idle.");
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        now_ms += 10 * HOUR_MS;
        explain_now(2);
        is_verdict(VERDICT_UNKNOWN);
        fails_first(GATE_FIT);
        struct err err = {0};
        assert_int_equal(explain(memo, pool, 77, now_ms, &it, &err), -ERR_NOT_FOUND);
        check_has(err.text, "there is no workload 77");
}

/* ---- reasons of nodes ---- */

static void change(struct node_desc desc)
{
        must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
}

static void only_code(enum node_code code)
{
        for (unsigned c = 0; c < CODES_END; c++)
                if (it.all.nodes_of[c] != (c == code))
                        fail_msg("%u nodes are %s; %s is expected", it.all.nodes_of[c],
                                 node_code_name(c), node_code_name(code));
}

static void each_reason_of_a_node_is_told(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 2);
        struct request request = ask(9, 1);

        join("a", "A100-40", 2);
        explain_asked(request);
        only_code(CODE_FITS);
        request.need.models = 1ull << model_id("A30");
        explain_asked(request);
        only_code(CODE_TYPE_MISMATCH);
        request = ask(9, 1);
        request.need.plane = word("elsewhere");
        explain_asked(request);
        only_code(CODE_EXCLUDED);
        explain_asked(ask_slice(9, "1g.6gb"));
        only_code(CODE_PROFILE_ABSENT);
        explain_asked(ask(9, 3));
        only_code(CODE_TOO_SMALL);
        desc.broken = 3;
        change(desc);
        explain_asked(ask(9, 1));
        only_code(CODE_UNHEALTHY);
        desc.broken = 0;
        desc.drained = true;
        change(desc);
        explain_asked(ask(9, 1));
        only_code(CODE_DRAINING);
        desc.drained = false;
        change(desc);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, true}});
        explain_asked(ask(9, 1));
        only_code(CODE_FROZEN);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, false}});
        submit(ask(1, 2));
        explain_asked(ask(9, 1));
        only_code(CODE_BUSY);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.cpu_milli = 15000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_CORES);
        request.need.cpu_milli = 0;
        request.need.ram_mib = 65536;
        submit((request.workload = 2, request));
        leave(INPUT_EXITED, 2);
        leave(INPUT_EXITED, 1);
}

static void idle_is(enum idle_code code, unsigned count)
{
        struct explained_idle idle;

        assert_int_equal(explain_idle(memo, pool, now_ms, &idle, NULL), 0);
        assert_int_equal(idle.models_count, 1);
        for (unsigned c = 0; c < IDLES_END; c++)
                if (idle.models[0].of[c] != (c == code ? count : 0))
                        fail_msg("%u devices are %s; %u x %s is expected", idle.models[0].of[c],
                                 idle_code_name(c), count, idle_code_name(code));
        assert_int_equal(idle.idle, count);
}

static void window(int64_t from_ms, int64_t until_ms)
{
        struct maintenance windows = {.count = 1};

        windows.windows[0] = (struct maintenance_window){
                .name = "w", .when = {.from_ms = from_ms, .until_ms = until_ms}};
        must(&(struct input){.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows});
}

static void a_node_that_closes_too_soon_says_so(void **state)
{
        (void)state;
        struct request request = ask(9, 1);

        join("a", "A100-40", 2);
        tick_at(0);
        window(2 * HOUR_MS, 3 * HOUR_MS);
        request.time_limit_ms = 2 * HOUR_MS;
        explain_asked(request);
        only_code(CODE_FITS);
        is_verdict(VERDICT_STARTING);
        request.time_limit_ms++;
        explain_asked(request);
        only_code(CODE_CLOSES_SOON);
        is_verdict(VERDICT_WAIT_CAPACITY);
        fails_first(GATE_FIT);
        submit(ask(1, 1)); /* nobody knows how long that runs */
        explain_now(1);
        only_code(CODE_CLOSES_SOON);
        is_verdict(VERDICT_WAIT_CAPACITY);
        request = ask(2, 2);
        request.time_limit_ms = HOUR_MS;
        submit(request);
        explain_now(1); /* the node is busy as well */
        only_code(CODE_CLOSES_SOON);
        leave(INPUT_EXITED, 2);
        tick_at(2 * HOUR_MS); /* the window is open */
        explain_now(1);
        only_code(CODE_DRAINING);
        assert_int_equal(it.all.free_devices, 0);
        idle_is(IDLE_DRAINING, 2);
        tick_at(3 * HOUR_MS);
        assert_true(is_placed(1));
}

static void a_start_time_is_offered_where_no_window_closes_in(void **state)
{
        (void)state;
        struct request request;

        join("a", "A100-40", 8);
        set_policy("  red: {}\n");
        tick_at(0);
        request = of("red", ask(1, 1));
        request.start_ms = HOUR_MS;
        request.time_limit_ms = HOUR_MS;
        submit(request);
        window(2 * HOUR_MS, 3 * HOUR_MS);
        explain_now(1);
        assert_int_equal(offered(UNBLOCK_TIME)->at_ms, HOUR_MS);
        window(2 * HOUR_MS - 1, 3 * HOUR_MS);
        explain_now(1);
        is_verdict(VERDICT_HELD);
        assert_int_equal(it.all.nodes_of[CODE_FITS], 1); /* it would be gone if it began now */
        for (uint32_t n = 0; n < it.nearest_count; n++)
                assert_int_not_equal(it.nearest[n].kind, UNBLOCK_TIME);
}

static void room_of_other_kinds_is_told(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "A100-40", 2);
        request.need.ram_mib = 60000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_RAM);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.disk_mib = 900000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_DISK);
        leave(INPUT_EXITED, 1);
        request = ask(1, 1);
        request.need.network_mbit = 9000;
        submit(request);
        explain_asked((request.workload = 9, request));
        only_code(CODE_NETWORK);
        leave(INPUT_EXITED, 1);
        /* Two thirds of the memory of one are left of each, and four slices. */
        for (uint64_t id = 1; id < 5; id++) {
                request = ask_slice(id, "2g.10gb");
                submit(request);
        }
        request = ask_slice(9, "4g.20gb");
        request.need.devices = 2;
        explain_asked(request);
        only_code(CODE_BUSY);
        request = ask_share(9, 100);
        explain_asked(request);
        assert_true(it.all.nodes_of[CODE_FITS] + it.all.nodes_of[CODE_LAYOUT_CHANGE_NEEDED] == 1);
}

static void slices_that_lie_apart_are_fragments(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        for (uint64_t id = 1; id < 8; id++)
                submit(ask_slice(id, "1g.5gb"));
        for (uint64_t id = 1; id < 8; id++)
                if (id % 2 == 0)
                        leave(INPUT_EXITED, id);
        explain_asked(ask_slice(9, "3g.20gb"));
        assert_true(it.all.nodes_of[CODE_FRAGMENTED] + it.all.nodes_of[CODE_BUSY] +
                            it.all.nodes_of[CODE_FITS] ==
                    1);
}

static void shares_leave_no_slices_and_little_memory(void **state)
{
        (void)state;
        join("a", "A100-40", 1);
        struct request request = ask_share(1, 100);
        request.need.memory_mib = 35000;
        submit(request);
        explain_asked(ask_slice(9, "1g.5gb"));
        only_code(CODE_LAYOUT_CHANGE_NEEDED);
        request = ask_share(9, 100);
        request.need.memory_mib = 10000;
        explain_asked(request);
        only_code(CODE_MEMORY);
}

static void gangs_want_to_be_near(void **state)
{
        const struct explained_unblock *unblock;

        (void)state;
        for (unsigned n = 0; n < 2; n++) {
                struct node_desc desc = node(n ? "b" : "a", "A100-40", 2);
                desc.rack = word(n ? "r2" : "r1");
                must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
        }
        struct node_desc third = node("c", "A100-40", 2);
        third.rack = word("r1");
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = third});
        submit(ask(1, 2));
        struct request request = ask(2, 2);
        request.form = (struct form){.members = 2, .near = NEAR_RACK, .near_required = 1};
        submit(request);
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        assert_int_equal(it.all.nodes_of[CODE_TOPOLOGY], 2);
        assert_int_equal(it.groups_count, 2);
        unblock = offered(UNBLOCK_REQUEST);
        assert_int_equal(unblock->changes, CHANGE_NEAR);
}

/* ---- views ---- */

static char *view_of_full_pool(unsigned size, const char *other)
{
        char tenants[256];

        open_pool(NULL);
        join("a", "A100-40", 8);
        snprintf(tenants, sizeof tenants, "  red: {}\n  %s: {}\n", other);
        set_policy(tenants);
        submit(of("red", ask(1, 8)));
        struct request request = of(other, ask(500 + size, size));
        request.time_limit_ms = HOUR_MS;
        submit(request);
        submit(of("red", ask(2, 8)));
        explain_now(2);
        is_verdict(VERDICT_WAIT_CAPACITY);
        assert_int_equal(it.position.ahead_exact, 1);
        char *text = text_for("red");
        assert_int_equal(it.position.ahead_exact, 0);
        close_all(NULL);
        return text;
}

static void a_tenants_text_stays_when_others_change(void **state)
{
        (void)state;
        char *texts[3];

        close_all(NULL);
        texts[0] = view_of_full_pool(2, "blue");
        texts[1] = view_of_full_pool(2, "secret-team");
        texts[2] = view_of_full_pool(5, "blue"); /* still 1-5 device-hours */
        assert_string_equal(texts[0], texts[1]);
        assert_string_equal(texts[0], texts[2]);
        assert_null(strstr(texts[0], "blue"));
        assert_null(strstr(texts[0], "502"));
        check_has(texts[0], "1-5, 1-5 device-hours");
        for (unsigned i = 0; i < 3; i++)
                free(texts[i]);
        open_pool(NULL);
}

static void foreign_and_missing_workloads_sound_alike(void **state)
{
        (void)state;
        struct err missing = {0}, foreign = {0};

        join("a", "A100-40", 8);
        set_policy("  red: {}\n  blue: {}\n");
        assert_int_equal(explain(memo, pool, 1, now_ms, &it, &missing), -ERR_NOT_FOUND);
        submit(of("blue", ask(1, 8)));
        explain_now(1);
        struct viewer red = {.tenant = tenant("red")};
        assert_int_equal(explain_view(&it, pool, red, &foreign), -ERR_NOT_FOUND);
        assert_string_equal(missing.text, foreign.text);
}

static void operators_see_who_and_tenants_a_limit_above_them(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  lab: {limit: {any: 4}, tenants: {red: {}, blue: {}}}\n");
        submit(of("lab/blue", ask(1, 4)));
        submit(of("lab/red", ask(2, 1)));
        explain_now(2);
        char *text = text_for(NULL);
        check_has(text, "4 of 4 (any model) in lab, 5 with this");
        free(text);
        explain_now(2);
        text = text_for("lab/red");
        check_has(text, "a limit of lab, which is shared with others");
        assert_null(strstr(text, "blue"));
        assert_null(strstr(text, "5 with"));
        free(text);
}

static void json_holds_what_the_record_holds(void **state)
{
        struct explain_names names;
        struct err err = {0};
        char *text;

        (void)state;
        join("a", "A100-40", 8);
        set_policy("  lab: {limit: {any: 4}, tenants: {red: {}, blue: {}}}\n");
        submit(of("lab/blue", ask(1, 4)));
        submit(of("lab/red", ask(2, 2)));
        names = (struct explain_names){.state = pool, .clock = true};
        explain_now(2);
        assert_int_equal(explain_json(&it, &names, &text, &err), 0);
        check_has(text, "\"verdict\":\"WAIT_QUOTA\"");
        check_has(text, "{\"gate\":\"LIMIT\",\"passed\":false,\"of\":\"lab\",\"counted\":"
                        "\"any model\",\"used\":4,\"limit\":4,\"after\":6}");
        free(text);
        struct viewer red = {.tenant = tenant("lab/red")};
        assert_int_equal(explain_view(&it, pool, red, &err), 0);
        assert_int_equal(explain_json(&it, &names, &text, &err), 0);
        check_has(text, "\"shared_limit_of\":\"lab\"");
        assert_null(strstr(text, "blue"));
        free(text);
        struct explained_idle idle;
        assert_int_equal(explain_idle(memo, pool, now_ms, &idle, NULL), 0);
        assert_int_equal(explain_idle_json(&idle, &names, &text, &err), 0);
        check_has(text, "{\"v\":1,\"idle\":4,\"models\":[{\"model\":\"A100-40\",\"devices\":8,"
                        "\"idle\":4,\"why\":{\"QUOTA\":4}}]}");
        free(text);
}

/* ---- idle capacity, and what would start ---- */

static void each_reason_of_idle_devices_is_told(void **state)
{
        (void)state;
        struct node_desc desc = node("a", "A100-40", 8);

        join("a", "A100-40", 8);
        idle_is(IDLE_FREE, 8);
        desc.drained = true;
        change(desc);
        idle_is(IDLE_DRAINING, 8);
        desc.drained = false;
        desc.broken = 255;
        change(desc);
        idle_is(IDLE_UNHEALTHY, 8);
        desc.broken = 0;
        change(desc);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, true}});
        idle_is(IDLE_FROZEN, 8);
        must(&(struct input){.kind = INPUT_FREEZE_SET, .freeze = {0, false}});
        set_policy("  red: {protect: {A100-40: 2}, limit: {any: 2}}\n  blue: {}\n");
        struct request held = of("blue", ask(1, 1));
        held.user_hold = true;
        submit(held);
        idle_is(IDLE_HELD, 8);
        submit(of("red", ask(2, 2)));
        submit(of("red", ask(3, 2)));
        idle_is(IDLE_QUOTA, 6);
        submit(of("blue", ask(4, 8)));
        idle_is(IDLE_FRAGMENTED, 6);
        tick_at(HOUR_MS);
        idle_is(IDLE_HOLD, 6);
}

static void kept_and_locked_devices_are_told(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {}\n  blue: {protect: {A100-40: 8}, lend: none}\n");
        idle_is(IDLE_PROMISE, 8);
        submit(of("blue", ask(1, 8)));
        idle_is(IDLE_PROMISE, 0);
}

static void locks_of_a_plan_are_told(void **state)
{
        (void)state;
        join("a", "A100-40", 8);
        set_policy("  red: {}\n  blue: {protect: {A100-40: 8}}\n");
        submit(of("red", ask(1, 4)));
        submit(of("blue", ask(2, 8)));
        idle_is(IDLE_PLAN, 4);
        explain_asked(of("red", ask(9, 1)));
        only_code(CODE_HELD_FOR_OTHER);
        is_verdict(VERDICT_WAIT_ORDER);
}

static void the_largest_shapes_are_listed(void **state)
{
        static struct explained_fits fits;

        (void)state;
        join("a", "A100-40", 8);
        join("b", "A100-40", 8);
        (void)word("3g.20gb");
        set_policy("  red: {protect: {A100-40: 4}, limit: {any: 9}}\n");
        submit(of("red", ask(1, 3)));
        assert_int_equal(explain_fits(memo, pool, tenant("red"), 0, now_ms, &fits, NULL), 0);
        assert_int_equal(fits.count, 2);
        assert_int_equal(fits.lines[0].request.need.devices, 6); /* by its limit */
        assert_int_equal(fits.lines[0].standing, STANDING_STANDARD);
        assert_int_equal(fits.lines[1].request.need.ask, ASK_PROFILE);
        assert_int_equal(fits.lines[1].request.form.members, 12); /* halves */
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pool, close_all)
                TEST(what_a_tenant_may_not_use_is_refused),
                TEST(what_no_pool_state_fits_is_never),
                TEST(limits_make_it_wait_for_quota),
                TEST(an_empty_budget_makes_it_wait),
                TEST(holds_hold),
                TEST(promises_and_capacity_holds_are_claims),
                TEST(wide_work_that_waits_keeps_room),
                TEST(nothing_free_is_capacity),
                TEST(a_plan_under_way_has_a_deadline),
                TEST(what_starts_runs_or_is_not_known_says_so),
                TEST(each_reason_of_a_node_is_told),
                TEST(a_node_that_closes_too_soon_says_so),
                TEST(a_start_time_is_offered_where_no_window_closes_in),
                TEST(room_of_other_kinds_is_told),
                TEST(slices_that_lie_apart_are_fragments),
                TEST(shares_leave_no_slices_and_little_memory),
                TEST(gangs_want_to_be_near),
                TEST(a_tenants_text_stays_when_others_change),
                TEST(foreign_and_missing_workloads_sound_alike),
                TEST(operators_see_who_and_tenants_a_limit_above_them),
                TEST(json_holds_what_the_record_holds),
                TEST(each_reason_of_idle_devices_is_told),
                TEST(kept_and_locked_devices_are_told),
                TEST(locks_of_a_plan_are_told),
                TEST(the_largest_shapes_are_listed),
#undef TEST
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
