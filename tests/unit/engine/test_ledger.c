/* Hand-counted ledgers, and random ones against a count that looks at everything every time. */
#include <string.h>

#include "base/doc.h"
#include "engine/accounts.h"
#include "engine/ledger.h"
#include "proto/policy_doc.h"
#include "tests/unit/engine/pool.h"

#define D ((unit_ms)UNITS_DEVICE)

static struct ledger *ledger;
static struct policy_doc *policy;

static int close_all(void **state)
{
        ledger_free(ledger);
        ledger = NULL;
        close_pool(state);
        policy_doc_free(policy);
        policy = NULL;
        return 0;
}

static void open_ledger(const struct ledger_bounds *bounds)
{
        ledger = ledger_new(pool, bounds, now_ms);
        assert_non_null(ledger);
}

static void show(void *arg, const struct fact *fact)
{
        ledger_see(ledger, pool, fact, now_ms);
        keep_fact(arg, fact);
}

static int try_step(const struct input *input, struct err *err)
{
        seen_count = 0;
        int rc = engine_run(pool, memo, input, now_ms, show, NULL, err);
        state_check(pool);
        return rc;
}

static void step(struct input input)
{
        struct err err = {0};

        if (try_step(&input, &err))
                fail_msg("%s: %s", input_name(input.kind), err.text);
}

static void come(struct request request)
{
        step((struct input){.kind = INPUT_SUBMITTED, .request = request});
}

static void go(enum input_kind kind, uint64_t id)
{
        step((struct input){.kind = kind, .workload = id});
}

static void tick(void)
{
        step((struct input){.kind = INPUT_TICKED});
}

static unit_ms bucket(const char *model, enum ledger_bucket which)
{
        ledger_close(ledger, pool, now_ms);
        return ledger_sums(ledger, model_id(model)).buckets[which];
}

static const struct ledger_row *row(const char *tenant, unsigned method, unsigned standing)
{
        uint32_t count;
        const struct ledger_row *rows = ledger_rows(ledger, &count);

        for (uint32_t r = 0; r < count; r++)
                if (strcmp(ledger_tenant(ledger, rows[r].key.tenant), tenant) == 0 &&
                    rows[r].key.method == method && rows[r].key.standing == standing)
                        return &rows[r];
        fail_msg("%s has no such row", tenant);
        return NULL;
}

static void set_policy(const char *text)
{
        struct err err = {0};
        struct doc *doc;

        assert_int_equal(doc_read_yaml("p", text, strlen(text), &doc, &err), 0);
        if (policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        struct input input = {.kind = INPUT_POLICY_SET,
                              .accounts = accounts_new(policy->tenancy, &err)};
        assert_non_null(input.accounts);
        must(&input);
}

/* ---- by hand ---- */

static void what_work_holds_and_what_is_free_add_up(void **state)
{
        (void)state;
        join("a", "V100-16", 4);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 2));
        now_ms += 10000;
        go(INPUT_EXITED, 1);
        now_ms += 10000;
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == 2 * D * 10000);
        assert_true(bucket("V100-16", BUCKET_FREE) == 2 * D * 10000 + 4 * D * 10000);
        assert_true(ledger_sums(ledger, model_id("V100-16")).capacity == 4 * D * 20000);
        assert_true(row("-", METHOD_WHOLE, STANDING_PROTECTED)->buckets[BUCKET_UNMEASURED] ==
                    2 * D * 10000);
        ledger_next(ledger);
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == 0);
        assert_true(bucket("V100-16", BUCKET_FREE) == 4 * D * 1000);
}

static void a_period_cuts_a_run_in_two(void **state)
{
        (void)state;
        join("a", "V100-16", 1);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 1));
        now_ms += 7000;
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 7000);
        ledger_next(ledger);
        now_ms += 3000;
        step((struct input){.kind = INPUT_FAILED, .workload = 1});
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 3000);
        /* Booked where it is known: also what was done before. */
        assert_true(row("-", METHOD_WHOLE, STANDING_PROTECTED)->lost[LOSS_FAILED] == D * 10000);
}

static void what_a_checkpoint_holds_is_not_lost(void **state)
{
        (void)state;
        join("a", "V100-16", 1);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 1));
        now_ms += 6000;
        go(INPUT_CHECKPOINTED, 1);
        now_ms += 1500;
        step((struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")});
        now_ms += 500;
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 7500);
        assert_true(bucket("V100-16", BUCKET_UNHEALTHY) == D * 500);
        assert_true(row("-", METHOD_WHOLE, STANDING_PROTECTED)->lost[LOSS_NODE] == D * 1500);
}

static void a_checkpoint_that_is_told_late_saves_what_it_held(void **state)
{
        (void)state;
        struct input late = {.kind = INPUT_CHECKPOINTED};

        join("a", "V100-16", 1);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 1));
        now_ms += 6000;
        late.checkpoint.workload = 1;
        late.checkpoint.age_ms = 2000;
        step(late);
        late.checkpoint.age_ms = 4000;          /* an older one: it takes nothing back */
        step(late);
        late.checkpoint.age_ms = 60000;         /* older than the run */
        step(late);
        step((struct input){.kind = INPUT_NODE_FAILED, .node_name = name("a")});
        assert_true(row("-", METHOD_WHOLE, STANDING_PROTECTED)->lost[LOSS_NODE] == D * 2000);
}

static void nodes_that_can_not_be_used_are_told_apart(void **state)
{
        (void)state;
        struct input input = {.kind = INPUT_NODE_CHANGED};

        join("a", "V100-16", 4);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 1));
        input.node = node("a", "V100-16", 4);
        input.node.broken = 1u << 3;
        step(input);
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_UNHEALTHY) == D * 1000);
        assert_true(bucket("V100-16", BUCKET_FREE) == 2 * D * 1000);
        input.node.drained = true;
        step(input);
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_UNHEALTHY) == D * 2000);
        assert_true(bucket("V100-16", BUCKET_DRAINING) == 2 * D * 1000);
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 2000);
}

static void cutting_a_device_takes_time_where_nodes_report_it(void **state)
{
        (void)state;
        const uint32_t slice = 9000 + 7875;

        join("a", "A100-40", 1);
        open_ledger(&(struct ledger_bounds){.sees_layout = true});
        come(ask_slice(1, "1g.5gb"));
        uint32_t epoch = node_devices(pool, 0)[0].epoch;
        now_ms += 1000;
        step((struct input){.kind = INPUT_LAYOUT_OBSERVED,
                            .layout = {.node = name("a"), .epoch = epoch}});
        now_ms += 1000;
        assert_true(bucket("A100-40", BUCKET_UNMEASURED) == (unit_ms)slice * 2000);
        assert_true(bucket("A100-40", BUCKET_RECONFIGURING) == (D - slice) * 1000);
        assert_true(bucket("A100-40", BUCKET_FREE) == (D - slice) * 1000);
        step((struct input){.kind = INPUT_LAYOUT_OBSERVED,
                            .layout = {.node = name("a"), .epoch = epoch, .foreign_slots = 0xc0}});
        now_ms += 1000;
        assert_true(bucket("A100-40", BUCKET_FOREIGN) == (unit_ms)2 * 7875 * 1000);
        assert_true(row("-", METHOD_SLICE, STANDING_PROTECTED)->buckets[BUCKET_UNMEASURED] ==
                    (unit_ms)slice * 3000);
}

/* Three of four devices are free; what is asked for decides what they are worth. */
static void free_devices_that_nothing_fits_are_stranded(void **state)
{
        (void)state;
        join("a", "V100-16", 4);
        open_ledger(&(struct ledger_bounds){0});
        come(ask(1, 4));
        come(ask(2, 4));
        now_ms += 1000;
        tick();
        go(INPUT_EXITED, 1); /* 2 takes all */
        go(INPUT_EXITED, 2);
        come(ask(3, 1));
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_STRANDED) == 3 * D * 1000);
        assert_true(bucket("V100-16", BUCKET_FREE) == 0);
        now_ms += LEDGER_REVISE_MS - 1000;
        ledger_close(ledger, pool, now_ms);
        ledger_next(ledger);
        tick(); /* one device is asked for too */
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_STRANDED) == 0);
        assert_true(bucket("V100-16", BUCKET_FREE) == 3 * D * 1000);
}

static void devices_without_cores_are_stranded(void **state)
{
        (void)state;
        struct request request = ask(1, 1);

        join("a", "V100-16", 4); /* with 16 cores */
        open_ledger(&(struct ledger_bounds){0});
        request.need.cpu_milli = 6000;
        come(request);
        tick();
        now_ms += 1000; /* 10 cores are left: one more */
        assert_true(bucket("V100-16", BUCKET_FREE) == D * 1000);
        assert_true(bucket("V100-16", BUCKET_STRANDED) == 2 * D * 1000);
}

static const char promise[] = "kind: Policy\n"
                              "preset: protected\n"
                              "classes:\n"
                              "  c: {rank: 1, methods: [whole], stop: for_protect, notice: 10s, "
                              "exempt: 0s}\n"
                              "tenants:\n"
                              "  a: {protect: {V100-16: 1}}\n"
                              "  b: {}\n";

static struct request ask_of(uint64_t id, const char *tenant)
{
        struct request request = ask(id, 1);

        request.tenant = (uint16_t)tenancy_find(policy->tenancy, tenant);
        return request;
}

static void restarts_and_overdue_endings_are_not_work(void **state)
{
        (void)state;
        join("n", "V100-16", 1);
        set_policy(promise);
        struct request request = ask_of(1, "b");
        open_ledger(&(struct ledger_bounds){0});
        request.time_limit_ms = 5000;
        come(request);
        ledger_overhead(ledger, pool, 1, now_ms + 2000);
        now_ms += 6000;
        tick(); /* its notice ends at once */
        assert_int_equal(count_facts(FACT_NOTICED), 1);
        now_ms += 2000;
        go(INPUT_STOPPED, 1);
        assert_true(bucket("V100-16", BUCKET_OVERHEAD) == D * 2000);
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 4000);
        assert_true(bucket("V100-16", BUCKET_DRAINING) == D * 2000);
        assert_true(row("b", METHOD_WHOLE, STANDING_STANDARD)->lost[LOSS_TIMED_OUT] == D * 4000);
        assert_int_equal(row("b", METHOD_WHOLE, STANDING_STANDARD)->stops, 0);   /* nobody took it */
}

static void a_stop_is_charged_to_whom_it_was_for(void **state)
{
        (void)state;
        join("n", "V100-16", 2);
        set_policy(promise);
        open_ledger(&(struct ledger_bounds){0});
        come(ask_of(1, "b"));
        come(ask_of(2, "b"));
        now_ms += 20000;
        come(ask_of(3, "a"));
        if (count_facts(FACT_NOTICED) == 0)
                tick();
        assert_int_equal(count_facts(FACT_NOTICED), 1);
        uint64_t victim = find_fact(FACT_NOTICED)->noticed.workload;
        now_ms += 10000;
        go(INPUT_STOPPED, victim);
        assert_true(is_placed(3));
        now_ms += 5000;
        ledger_close(ledger, pool, now_ms);
        const struct ledger_row *b = row("b", METHOD_WHOLE, STANDING_STANDARD);
        assert_true(b->buckets[BUCKET_UNMEASURED] == D * (30000 + 35000));
        assert_true(b->lost[LOSS_PROTECT] == D * 30000);
        assert_int_equal(b->stops, 1);
        const struct ledger_row *a = row("a", METHODS_END, STANDINGS_END);
        assert_true(a->caused == D * 30000);
        assert_true(row("a", METHOD_WHOLE, STANDING_PROTECTED)->buckets[BUCKET_UNMEASURED] ==
                    D * 5000);
        assert_string_equal(ledger_class(ledger, a->key.class), "c");
}

/* It leaves two seconds late; the window's eight are counted from tick to tick. */
static void leaving_late_and_maintenance_are_draining(void **state)
{
        (void)state;
        struct maintenance windows = {.count = 1};
        const int64_t from = now_ms + 20000;

        windows.windows[0].when = (struct calendar_window){from, from + 10000, 0, 0};
        join("n", "V100-16", 1);
        set_policy(promise);
        open_ledger(&(struct ledger_bounds){0});
        come(ask_of(1, "b"));
        step((struct input){.kind = INPUT_MAINTENANCE_SET, .maintenance = &windows});
        tick();
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.until_ms, from);
        now_ms = from + 2000;
        go(INPUT_STOPPED, 1);
        tick();
        now_ms = from + 10000;
        tick();
        assert_true(is_placed(1));
        now_ms += 1000;
        assert_true(bucket("V100-16", BUCKET_DRAINING) == D * 2000 + D * 8000);
        assert_true(bucket("V100-16", BUCKET_UNMEASURED) == D * 20000 + D * 1000);
        assert_true(row("b", METHOD_WHOLE, STANDING_STANDARD)->lost[LOSS_DRAINED] == D * 20000);
        assert_true(ledger_loss_refunded(LOSS_DRAINED));
}

static void comes_idle(uint64_t id, const char *class)
{
        struct request request = ask_of(id, "b");

        request.class = (uint16_t)tenancy_class_find(policy->tenancy, class);
        come(request);
        step((struct input){.kind = INPUT_USE_REPORTED,
                            .use = {.workload = id, .idle_since_ms = now_ms}});
}

/* 1 is gone two seconds after its notice; 2 goes on as spare work. */
static void idle_work_bears_its_loss_itself(void **state)
{
        (void)state;
        join("n", "V100-16", 2);
        set_policy("kind: Policy\n"
                   "classes:\n"
                   "  c: {rank: 1, methods: [whole], notice: 10s,\n"
                   "      idle_after: {time: 1m, then: stop}}\n"
                   "  d: {rank: 1, methods: [whole], idle_after: {time: 1m, then: demote}}\n"
                   "tenants:\n"
                   "  b: {}\n");
        open_ledger(&(struct ledger_bounds){0});
        comes_idle(1, "c");
        comes_idle(2, "d");
        now_ms += 60000;
        tick();
        assert_int_equal(find_fact(FACT_NOTICED)->noticed.cause, NOTICE_IDLE);
        assert_int_equal(find_fact(FACT_STANDING_SET)->standing.workload, 2);
        now_ms += 12000;
        go(INPUT_STOPPED, 1);
        ledger_close(ledger, pool, now_ms);
        const struct ledger_row *gone = row("b", METHOD_WHOLE, STANDING_STANDARD);
        assert_string_equal(ledger_class(ledger, gone->key.class), "c");
        assert_true(gone->buckets[BUCKET_UNMEASURED] == D * 70000);
        assert_true(gone->buckets[BUCKET_DRAINING] == D * 2000);
        assert_true(gone->lost[LOSS_IDLE] == D * 70000);
        assert_true(row("b", METHOD_WHOLE, STANDING_SPARE)->buckets[BUCKET_UNMEASURED] ==
                    D * 12000);
        assert_false(ledger_loss_refunded(LOSS_IDLE));
        assert_string_equal(ledger_loss_name(LOSS_IDLE), "idle");
}

/* a's promise of one device is unused; b's two jobs stand on it and on the other one. */
static void what_is_lent_is_what_others_use_of_a_promise(void **state)
{
        (void)state;
        join("n", "V100-16", 2);
        set_policy(promise);
        open_ledger(&(struct ledger_bounds){0});
        come(ask_of(1, "b"));
        tick();
        now_ms += 1000; /* one is promised to nobody: nothing is lent */
        come(ask_of(2, "b"));
        tick();
        now_ms += 5000;
        ledger_close(ledger, pool, now_ms);
        assert_true(row("a", METHODS_END, STANDINGS_END)->lent == D * 5000);
        assert_string_equal(ledger_class(ledger, row("a", METHODS_END, STANDINGS_END)->key.class),
                            "-");
        go(INPUT_EXITED, 1);
        tick();
        now_ms += 5000;
        ledger_close(ledger, pool, now_ms);
        assert_true(row("a", METHODS_END, STANDINGS_END)->lent == D * 5000);
}

static void what_fits_no_table_is_counted_together(void **state)
{
        (void)state;
        join("n", "V100-16", 2);
        set_policy(promise);
        open_ledger(&(struct ledger_bounds){.rows_max = 1, .names_max = 2});
        come(ask_of(1, "a"));
        come(ask_of(2, "b"));
        now_ms += 1000;
        ledger_close(ledger, pool, now_ms);
        assert_true(row("a", METHOD_WHOLE, STANDING_PROTECTED)->buckets[BUCKET_UNMEASURED] ==
                    D * 1000);
        assert_true(row("(others)", METHOD_WHOLE, STANDING_STANDARD)->buckets[BUCKET_UNMEASURED] ==
                    D * 1000);
        assert_int_equal(ledger_tenants(ledger), 2);
}

static void no_memory_makes_no_ledger(void **state)
{
        (void)state;
        join("n", "V100-16", 2);
        for (unsigned long n = 1;; n++) {
                mem_fail_at(n);
                struct ledger *made = ledger_new(pool, &(struct ledger_bounds){0}, now_ms);
                bool failed = mem_fail_happened();
                mem_fail_at(0);
                ledger_free(made);
                assert_true(failed == !made);
                if (!failed)
                        break;
        }
}

/* ---- random histories ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return (unsigned)((seed >> 33) % below);
}

/* What holds now, of all models together, for one millisecond. */
struct rates {
        uint64_t capacity, held, unhealthy, draining;
};

static void look(struct rates *rates)
{
        memset(rates, 0, sizeof *rates);
        for (uint32_t n = 0; n < pool->node_slots.high; n++) {
                const struct node *node = &pool->nodes[n];
                uint32_t held[NODE_DEVICES_MAX] = {0};
                if (node->status == NODE_FREE_SLOT)
                        continue;
                for (uint32_t m = node->first_member; m != NONE; m = pool->members[m].node_next)
                        for (uint32_t p = pool->members[m].first_part; p != NONE;
                             p = pool->parts[p].next)
                                held[pool->parts[p].part.device] +=
                                        part_units(node_model(pool, n), &pool->parts[p].part);
                for (unsigned d = 0; d < node->desc.devices; d++) {
                        const struct device *device = &node_devices(pool, n)[d];
                        rates->capacity += UNITS_DEVICE;
                        rates->held += held[d];
                        if (node_is_down(node) || device->state.broken)
                                rates->unhealthy += UNITS_DEVICE - held[d];
                        else if (node->desc.drained && !device->state.foreign_slots)
                                rates->draining += UNITS_DEVICE - held[d];
                }
        }
}

static struct request random_request(uint64_t id)
{
        static const char *const profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"};
        struct request request;

        switch (draw(4)) {
        case 0:
                request = ask_slice(id, profiles[draw(4)]);
                break;
        case 1:
                request = ask_share(id, (uint16_t)(1 + draw(1000)));
                request.need.memory_mib = 100 + draw(8000);
                break;
        default:
                request = ask(id, draw(5));
                request.form.members = 1 + draw(3);
                break;
        }
        request.need.cpu_milli = 1 + draw(5000);
        return request;
}

static struct node_desc random_node(void)
{
        static const char *const names[] = {"a", "b", "c", "d", "e"};
        static const char *const kinds[] = {"V100-16", "A100-40", "A100-40", "T4", "MI300X"};
        unsigned which = draw(5);
        struct node_desc desc = node(names[which], kinds[which], 1 + draw(8));

        desc.drained = draw(8) == 0;
        desc.broken = draw(6) == 0 ? (uint16_t)draw(256) : 0;
        return desc;
}

static struct input random_input(void)
{
        static const enum input_kind endings[] = {INPUT_EXITED, INPUT_FAILED, INPUT_CANCELLED,
                                                  INPUT_CHECKPOINTED};
        struct input input = {.kind = INPUT_TICKED};

        switch (draw(10)) {
        case 0:
                input = (struct input){.kind = draw(2) ? INPUT_NODE_JOINED : INPUT_NODE_CHANGED,
                                       .node = random_node()};
                break;
        case 1:
                input = (struct input){.kind = draw(3) ? INPUT_NODE_FAILED : INPUT_NODE_REMOVED,
                                       .node_name = random_node().name};
                break;
        case 2:
                input = (struct input){
                        .kind = INPUT_LAYOUT_OBSERVED,
                        .layout = {.node = random_node().name,
                                   .device = (uint8_t)draw(8),
                                   .foreign_slots = draw(3) ? 0 : (uint16_t)draw(256),
                                   .failed = draw(9) == 0,
                                   .epoch = draw(4)}};
                break;
        case 3:
                break;
        case 4:
        case 5:
        case 6:
                input = (struct input){.kind = INPUT_SUBMITTED,
                                       .request = random_request(1 + draw(40))};
                break;
        default:
                input = (struct input){.kind = endings[draw(4)], .workload = 1 + draw(40)};
                break;
        }
        return input;
}

static void random_history(bool sees_layout)
{
        unit_ms capacity = 0, held = 0, unhealthy = 0, draining = 0, all = 0;
        unit_ms of_held = 0, of_rows = 0;
        struct ledger_sums sums;
        struct rates rates;
        uint32_t count;

        open_ledger(&(struct ledger_bounds){.sees_layout = sees_layout});
        for (unsigned i = 0; i < 400; i++) {
                struct input input = random_input();
                unsigned by = draw(3) ? draw(1000) : draw(2000000);
                look(&rates);
                now_ms += by;
                capacity += (unit_ms)rates.capacity * by;
                held += (unit_ms)rates.held * by;
                unhealthy += (unit_ms)rates.unhealthy * by;
                draining += (unit_ms)rates.draining * by;
                (void)try_step(&input, NULL);
                if (draw(20) == 0)
                        ledger_close(ledger, pool, now_ms);
        }
        ledger_close(ledger, pool, now_ms);
        for (unsigned m = 0; m < MODELS_MAX; m++) {
                sums = ledger_sums(ledger, m);
                capacity -= sums.capacity;
                unhealthy -= sums.buckets[BUCKET_UNHEALTHY];
                of_held += sums.buckets[BUCKET_UNMEASURED];
                all += sums.buckets[BUCKET_DRAINING] + sums.buckets[BUCKET_RECONFIGURING];
        }
        assert_true(capacity == 0);
        assert_true(unhealthy == 0);
        assert_true(of_held == held);
        assert_true(sees_layout || all >= draining);
        const struct ledger_row *rows = ledger_rows(ledger, &count);
        for (uint32_t r = 0; r < count; r++)
                of_rows += rows[r].buckets[BUCKET_UNMEASURED];
        assert_true(of_rows == held);
        ledger_free(ledger);
        ledger = NULL;
}

static void random_histories_add_up(void **state)
{
        for (unsigned i = 0; i < 60; i++) {
                seed = i;
                random_history(i % 2);
                close_pool(state);
                open_pool(state);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pool, close_all)
        const struct CMUnitTest tests[] = {
                TEST(what_work_holds_and_what_is_free_add_up),
                TEST(a_period_cuts_a_run_in_two),
                TEST(restarts_and_overdue_endings_are_not_work),
                TEST(what_a_checkpoint_holds_is_not_lost),
                TEST(a_checkpoint_that_is_told_late_saves_what_it_held),
                TEST(nodes_that_can_not_be_used_are_told_apart),
                TEST(cutting_a_device_takes_time_where_nodes_report_it),
                TEST(free_devices_that_nothing_fits_are_stranded),
                TEST(devices_without_cores_are_stranded),
                TEST(a_stop_is_charged_to_whom_it_was_for),
                TEST(leaving_late_and_maintenance_are_draining),
                TEST(idle_work_bears_its_loss_itself),
                TEST(what_is_lent_is_what_others_use_of_a_promise),
                TEST(what_fits_no_table_is_counted_together),
                TEST(no_memory_makes_no_ledger),
                TEST(random_histories_add_up),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
