/* A whole state as bytes: it comes back as it was and decides the same; what is damaged is
 * refused. */
#include "proto/state_image.h"

#include <stdlib.h>

#include "base/text.h"
#include "proto/log_fact.h"
#include "tests/unit/proto/state_world.h"

static int open_world(void **state)
{
        (void)state;
        world_open(false);
        return 0;
}

static int open_priced(void **state)
{
        (void)state;
        world_open(true);
        return 0;
}

static int open_empty(void **state)
{
        (void)state;
        open_bounded(&(struct state_bounds){.nodes_max = 2,
                                            .workloads_max = 8,
                                            .members_max = 8,
                                            .parts_max = 8,
                                            .shapes_max = 4,
                                            .buckets_max = 4,
                                            .plans_max = 2});
        return 0;
}

static const struct tenancy *in_force(const struct state *state)
{
        return state->accounts ? state->accounts->tenancy : NULL;
}

static int read_image(const struct text *image, struct state **ret_state, struct err *err)
{
        *err = (struct err){0};
        return state_image_read(image->bytes, image->size, models, in_force(pool), ret_state, err);
}

static struct text image_of(const struct state *state)
{
        struct text image = {0};

        state_image_write(state, &image);
        assert_false(image.failed);
        return image;
}

static struct state *restored(void)
{
        struct text image = image_of(pool);
        struct state *back = NULL;
        struct err err;

        if (read_image(&image, &back, &err))
                fail_msg("%s", err.text);
        text_done(&image);
        return back;
}

/* ---- there and back ---- */

static void check_restores(void)
{
        struct state *back = restored();

        state_check(back);
        assert_true(state_hash(back) == state_hash(pool));
        struct text was = image_of(pool), is = image_of(back);
        assert_int_equal(was.size, is.size);
        assert_memory_equal(was.bytes, is.bytes, is.size);
        text_done(&was);
        text_done(&is);
        state_free(back);
}

static void an_empty_state_comes_back(void **state)
{
        (void)state;
        check_restores();
}

static void a_state_without_a_policy_comes_back(void **state)
{
        (void)state;
        join("a", GPU, 4);
        submit(ask(1, 1));
        submit(ask(2, 4));
        assert_true(is_placed(1));
        assert_true(is_waiting(2));
        check_restores();
}

/* What the world is made for: that a part which is not kept would be missed. */
static void everything_is_there(void **state)
{
        const struct accounts *accounts = pool->accounts;
        unsigned budgets = 0, held = 0, cut = 0, shared = 0;

        (void)state;
        for (uint32_t b = 0; b < accounts->tenants * TENANT_BUDGETS_MAX; b++)
                budgets += accounts->budgets[b].used != 0;
        for (uint32_t n = 0; n < pool->node_slots.high; n++) {
                held += pool->nodes[n].held_for != 0;
                for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                        cut += node_devices(pool, n)[d].cut;
                        shared += node_devices(pool, n)[d].state.mode == DEVICE_SHARED;
                }
        }
        assert_true(budgets >= 2);
        assert_true(cut > 0);
        assert_true(shared > 0);
        assert_int_equal(pool->nodes_held, held);
        assert_true(run_times_kind(accounts->times, 0)->sorted_count == 4);
        assert_true(pool->plan_slots.used > 0);
        assert_true(pool->plan_place_slots.used > 0);
        assert_true(pool->noticed > 0);
        assert_true(pool->after_slots.used == 2);
        assert_true(pool->waiting >= 4);
        assert_true(pool->idle == 1);
        assert_true(pool->node_slots.free != NONE);
        assert_true(pool->frozen_planes_count == 1);
        assert_true(pool->maintenance.count == 2);
        assert_true(pool->plan_set);
        assert_true(work(24)->group_next != NONE || work(24)->group_prev != NONE);
        assert_true(work(27)->holds == (HOLD_USER | HOLD_START));
        assert_true(work(13)->saved_ms > 0);
}

static void a_whole_world_comes_back(void **state)
{
        (void)state;
        check_restores();
}

/* What decisions do not depend on, but people see. */
static void what_is_not_hashed_comes_back(void **state)
{
        struct state *back = restored();
        const struct workload *is = &back->workloads[state_workload(back, 32)], *was = work(32);

        (void)state;
        assert_true(was->eta_at_ms > 0);
        assert_true(is->eta_at_ms == was->eta_at_ms);
        assert_int_equal(is->eta_p50_s, 300);
        assert_int_equal(is->eta_p90_s, 540);
        assert_int_equal(is->eta_coverage_pct, 90);
        assert_string_equal(back->maintenance.windows[1].name, "yearly");
        assert_true(back->plan->revision == 3);
        assert_memory_equal(&back->plan->table, &pool->plan->table, sizeof pool->plan->table);
        assert_memory_equal(back->capacity, pool->capacity, sizeof pool->capacity);
        assert_memory_equal(back->used, pool->used, sizeof pool->used);
        state_free(back);
}

/* ---- it decides the same ---- */

static struct state *other;
static struct memo *other_memo;

static void write_seen(struct text *text)
{
        for (unsigned i = 0; i < seen_count; i++) {
                log_fact_write(&seen[i], text);
                text_add(text, "\n");
        }
        text_add(text, "%u facts\n", seen_count);
}

static void change_sides(void)
{
        struct state *state = pool;
        struct memo *its_memo = memo;

        pool = other;
        memo = other_memo;
        other = state;
        other_memo = its_memo;
}

/* The same facts on either side, and the same state behind them. */
static unsigned both(const struct input *input)
{
        struct text first = {0}, second = {0};
        unsigned count;

        must(input);
        write_seen(&first);
        change_sides();
        must(input);
        write_seen(&second);
        count = seen_count;
        change_sides();
        assert_string_equal(first.bytes, second.bytes);
        assert_true(state_hash(pool) == state_hash(other));
        text_done(&first);
        text_done(&second);
        return count;
}

static unsigned both_end(enum input_kind kind, uint64_t id)
{
        return both(&(struct input){.kind = kind, .workload = id});
}

static unsigned go_on(void)
{
        static const char *const tenants[] = {"t", "u", "u/v"};
        unsigned facts = 0;

        for (uint64_t id = 11; id <= 18; id++)
                if (is_told(id)) {
                        at(50 * M);
                        facts += both_end(INPUT_STOPPED, id);
                }
        for (uint64_t i = 0; i < 12; i++) {
                at((60 + (int64_t)i) * M);
                facts += both(&(struct input){.kind = INPUT_SUBMITTED,
                                              .request = job(50 + i, tenants[i % 3],
                                                             1 + (unsigned)i % 3)});
                facts += both(&(struct input){.kind = INPUT_TICKED});
        }
        for (uint64_t id = 11; id <= 61; id++)
                if (is_placed(id)) {
                        at((80 + (int64_t)id) * M);
                        facts += both_end(id % 4 ? INPUT_EXITED : INPUT_FAILED, id);
                        facts += both(&(struct input){.kind = INPUT_TICKED});
                }
        at(200 * H);
        facts += both(&(struct input){.kind = INPUT_TICKED});
        facts += both(&(struct input){.kind = INPUT_NODE_JOINED, .node = node("gone", GPU, 2)});
        return facts;
}

static void it_goes_on_deciding_the_same(void **state)
{
        (void)state;
        other = restored();
        other_memo = memo_new((struct policy){.kind = POLICY_FIRST_FIT}, MEMO_INDEXED);
        assert_non_null(other_memo);
        assert_true(go_on() > 100);
        memo_free(other_memo);
        state_free(other);
}

/* ---- others' images ---- */

static void must_refuse(const struct text *image, const char *says)
{
        struct state *back = NULL;
        struct err err;
        int rc = read_image(image, &back, &err);

        if (rc == 0)
                fail_msg("'%s' is taken", says);
        check_has(err.text, says);
        assert_int_equal(err.code, -rc);
        assert_null(back);
}

static void read_as(const struct model_table *table, const struct tenancy *tenancy,
                    const char *says)
{
        struct text image = image_of(pool);
        struct state *back = NULL;
        struct err err = {0};

        assert_int_equal(state_image_read(image.bytes, image.size, table, tenancy, &back, &err),
                         -ERR_INPUT);
        check_has(err.text, says);
        text_done(&image);
}

static struct policy_doc *other_policy(const char *text)
{
        struct policy_doc *read = NULL;
        struct err err = {0};
        struct doc *doc;

        assert_int_equal(doc_read_yaml("p", text, strlen(text), &doc, &err), 0);
        if (policy_doc_decode(doc_root(doc, 0), models, NULL, &read, &err) < 0)
                fail_msg("%s", err.text);
        doc_free(doc);
        return read;
}

static void another_policy_is_refused(void **state)
{
        static const char *const policies[] = {
                "kind: Policy\npreset: protected\ntenants: {t: {}, u: {}}\n",
                /* As many tenants and classes, another promise. */
                "kind: Policy\npreset: protected\nclasses: {c: {rank: 2}, n: {rank: 1}}\n"
                "tenants: {t: {protect: {V100-16: 3}}, u: {tenants: {v: {}}}}\n",
        };

        (void)state;
        read_as(models, NULL, "snapshot: a policy was in force, and there is none");
        for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
                struct policy_doc *another = other_policy(policies[i]);
                read_as(models, another->tenancy, "snapshot: it was made under another policy");
                policy_doc_free(another);
        }
        struct policy_doc *newer = other_policy(world_policy);
        newer->tenancy->revision++;
        read_as(models, newer->tenancy, "snapshot: it was made under another policy");
        policy_doc_free(newer);
}

static void a_policy_where_there_was_none_is_refused(void **state)
{
        struct policy_doc *another = other_policy("kind: Policy\npreset: equal\n"
                                                  "tenants: {t: {}}\n");

        (void)state;
        read_as(models, another->tenancy, "snapshot: no policy was in force");
        policy_doc_free(another);
}

static void other_device_models_are_refused(void **state)
{
        struct model_table *few = model_table_new(), *cut = model_table_new();
        struct err err = {0};

        (void)state;
        assert_true(model_add_unlisted(few, "MYSTERY", &err) >= 0);
        read_as(few, policy->tenancy, "snapshot: it was made with other device models");
        /* The same names, but one lost a profile. */
        for (unsigned m = 0; m < model_count(models); m++) {
                struct model model = *model_get(models, m);
                if (model.profiles_count > 0 && model.cut == MODEL_SLICES)
                        model.profiles_count--;
                assert_int_equal(model_add(cut, &model, &err), m);
        }
        read_as(cut, policy->tenancy, "snapshot: it was made with other device models");
        model_table_free(few);
        model_table_free(cut);
}

static void other_bytes_are_refused(void **state)
{
        struct text image = image_of(pool);

        (void)state;
        image.bytes[1] = 'x';
        must_refuse(&image, "snapshot: table 'berth state 1' is not where it belongs");
        image.bytes[1] = 'b';
        text_add_bytes(&image, "", 1);
        must_refuse(&image, "snapshot: bytes follow behind its end");
        text_done(&image);
}

static void cut_anywhere_it_is_refused(void **state)
{
        struct text image = image_of(pool);

        (void)state;
        for (size_t size = 0; size < image.size; size++) {
                char *cut = malloc(size ? size : 1);    /* so that a read behind it is seen */
                struct state *back = NULL;
                struct err err = {0};
                assert_non_null(cut);
                memcpy(cut, image.bytes, size);
                int rc = state_image_read(cut, size, models, NULL, &back, &err);
                if (rc != -ERR_INPUT)
                        fail_msg("cut at %zu: %d (%s)", size, rc, err.text);
                check_has(err.text, "snapshot: ");
                free(cut);
        }
        text_done(&image);
}

/* Refused, or a state that can be walked through. */
static void any_byte_may_be_another(void **state)
{
        struct text image = image_of(pool);
        unsigned taken = 0, refused = 0;

        (void)state;
        for (size_t at = 0; at < image.size; at += image.size / 700 + 1) {
                static const char by[] = {1, -1, 0x40};
                for (size_t b = 0; b < sizeof by; b++) {
                        struct state *back = NULL;
                        struct err err;
                        image.bytes[at] = (char)(image.bytes[at] ^ by[b]);
                        if (read_image(&image, &back, &err) == 0) {
                                (void)state_hash(back);
                                state_free(back);
                                taken++;
                        } else {
                                assert_true(err.text[0] != '\0');
                                refused++;
                        }
                        image.bytes[at] = (char)(image.bytes[at] ^ by[b]);
                }
        }
        assert_true(taken > 0);
        assert_true(refused > 0);
        text_done(&image);
}

/* ---- rows that lead astray ---- */

static void must_refuse_now(const char *says)
{
        struct text image = image_of(pool);

        must_refuse(&image, says);
        text_done(&image);
}

/* The state with that number in it is written, and not taken. */
#define DAMAGED(lvalue, value, says)                            \
        do {                                                    \
                __typeof__(lvalue) was = (lvalue);              \
                (lvalue) = (__typeof__(lvalue))(value);         \
                must_refuse_now(says);                          \
                (lvalue) = was;                                 \
        } while (0)

static struct workload *row(uint64_t id)
{
        return &pool->workloads[state_workload(pool, id)];
}

static void links_that_lead_nowhere_are_refused(void **state)
{
        struct workload *runs = row(13), *waits = row(32), *first = row(11);
        struct node *a = &pool->nodes[state_node(pool, name("a"))];
        struct member *member = &pool->members[runs->first_member];

        (void)state;
        DAMAGED(pool->node_slots.free, 7, "of table 'nodes' cannot be free");
        DAMAGED(pool->node_slots.free, NONE, "fewer or more rows are free than are not used");
        DAMAGED(pool->workload_slots.used, pool->workload_slots.used - 1,
                "fewer or more rows are free than are not used");
        DAMAGED(runs->bucket, pool->buckets_count, "'workloads' is in a state that is not known");
        DAMAGED(runs->first_member, pool->member_slots.high, "has a member that is not its own");
        DAMAGED(runs->first_member, first->first_member, "has a member that is not its own");
        DAMAGED(runs->first_member, NONE, "has fewer or more members than it says");
        DAMAGED(member->next, runs->first_member, "has a member that is not its own");
        DAMAGED(member->node, pool->node_slots.free, "'nodes' holds a member that lies elsewhere");
        DAMAGED(member->node_next, runs->first_member, "holds a member that lies elsewhere");
        DAMAGED(member->first_part, pool->part_slots.high, "holds a part that cannot be");
        DAMAGED(pool->parts[member->first_part].next, member->first_part,
                "holds a part that cannot be");
        DAMAGED(pool->parts[member->first_part].part.device, 4, "holds a part that cannot be");
        DAMAGED(pool->parts[member->first_part].part.method, METHODS_END,
                "holds a part that cannot be");
        DAMAGED(member->parts_count, 2, "holds fewer or more parts than it says");
        DAMAGED(a->first_member, NONE, "of table 'members' is in no list");
        DAMAGED(a->held_for, pool->workload_slots.high + 1, "'nodes' is in a state");
        DAMAGED(runs->plan, pool->plan_slots.high + 1, "belongs to a plan that is not there");
        DAMAGED(waits->prev, 3, "'buckets' lists work that is not its own");
        DAMAGED(waits->next, state_workload(pool, 13), "'buckets' lists");
        DAMAGED(runs->next, state_workload(pool, 13), "'first' lists work that is not its own");
        DAMAGED(first->first_after, pool->after_slots.high + 1, "is awaited by nobody");
        DAMAGED(first->first_after, 0, "of table 'afters' is in no list");
        DAMAGED(pool->afters[first->first_after - 1].waiter, NONE, "is awaited by nobody");
        DAMAGED(row(23)->group_next, 0, "group");
        DAMAGED(row(23)->group, 8, "group");
        DAMAGED(pool->asked_slot, pool->workload_slots.high, "was made for work that never was");
}

static void numbers_without_a_meaning_are_refused(void **state)
{
        uint32_t number = state_node(pool, name("a")), bucket = row(13)->bucket;
        struct node *a = &pool->nodes[number];
        struct shape *shape = &pool->shapes[pool->buckets[bucket].shape];
        uint32_t p = row(31)->plan - 1;

        (void)state;
        DAMAGED(a->status, NODE_SILENT + 1, "'nodes' is in a state that is not known");
        DAMAGED(a->status, NODE_FREE_SLOT, "'nodes' is free and is not");
        DAMAGED(a->first_device, 1, "'nodes' is in a state that is not known");
        DAMAGED(a->desc.model, model_count(models), "has devices that are not known");
        DAMAGED(a->desc.devices, NODE_DEVICES_MAX + 1, "has devices that are not known");
        DAMAGED(node_devices(pool, number)[0].state.mode, DEVICE_SHARED + 1,
                "'devices' is in a state that is not known");
        DAMAGED(node_devices(pool, number)[0].kept_for, 5, "'devices' is in a state");
        DAMAGED(row(13)->standing, STANDINGS_END, "'workloads' is in a state that is not known");
        DAMAGED(row(13)->notice_cause, NOTICE_CAUSES_END, "'workloads' is in a state");
        DAMAGED(row(13)->id, 14, "has the id of another");
        DAMAGED(a->desc.name, name("b"), "has the name of another");
        DAMAGED(pool->buckets[bucket].shape, pool->shapes_count, "'buckets' asks for what");
        DAMAGED(pool->buckets[bucket].tenant, 3, "is of nobody whom the policy knows");
        DAMAGED(pool->buckets[bucket].class, policy->tenancy->classes_count, "is of nobody whom");
        DAMAGED(pool->buckets[bucket].data, 1, "is of nobody whom the policy knows");
        DAMAGED(pool->buckets[row(32)->bucket].count, 2, "lists fewer or more than it says");
        DAMAGED(pool->buckets[bucket].form.near, NEAR_LEVELS_END, "'buckets' asks for what");
        DAMAGED(shape->need.ask, ASK_SHARE + 1, "'shapes' asks for what cannot be asked for");
        DAMAGED(shape->need.devices, NODE_DEVICES_MAX + 1, "'shapes' asks for what cannot be");
        DAMAGED(shape->fits_count, model_count(models) + 1, "measured on models not known here");
        DAMAGED(pool->plans[p].beneficiary, state_workload(pool, 13), "does not wait for it");
        DAMAGED(pool->plans[p].victims, 99, "has other victims or places than it says");
        DAMAGED(pool->plans[p].places, 0, "has other victims or places than it says");
        DAMAGED(pool->plans[p].first_place, 3, "keeps a place that cannot be");
        DAMAGED(pool->plan_places[pool->plans[p].first_place].node, 7, "keeps a place that cannot");
        DAMAGED(pool->waiting, 0, "fewer or more work waits than it says");
        DAMAGED(pool->plan->shapes[0].weight, PRICE_WEIGHT_MAX + 1, "weights of a demand plan");
        DAMAGED(pool->maintenance.windows[0].when.until_ms, 1, "does not end after it begins");
        DAMAGED(pool->accounts->first[1], NONE, "'first' lists work without an end");
        DAMAGED(pool->accounts->last[1], NONE, "'first' lists work without an end");
        DAMAGED(pool->accounts->pot[0], 77, "it was made under another policy");
        DAMAGED(run_times_kind(pool->accounts->times, 0)->sorted_count, RUN_TIMES_KEPT + 1,
                "fewer or more run times than are kept");
        DAMAGED(run_times_kind(pool->accounts->times, 0)->sorted_count, 5, "more run times than");
}

static void bounds_beyond_any_pool_are_refused(void **state)
{
        (void)state;
        DAMAGED(pool->bounds.workloads_max, UINT32_MAX, "its tables are larger than any pool's");
        DAMAGED(pool->bounds.nodes_max, 0, "its tables are larger than any pool's, or empty");
        DAMAGED(pool->bounds.nodes_max, 1u << 21, "its tables are larger than any pool's");
        DAMAGED(pool->bounds.nodes_max, 2, "its tables do not fit its bounds");
        DAMAGED(pool->bounds.shapes_max, 1, "its tables do not fit its bounds");
        for (unsigned p = 1; p < FROZEN_PLANES_MAX; p++)
                pool->frozen_planes[p] = (uint16_t)(1000 + p);
        pool->frozen_planes_count = FROZEN_PLANES_MAX;
        check_restores();
        DAMAGED(pool->frozen_planes_count, FROZEN_PLANES_MAX + 1,
                "table 'state' is damaged: its 'frozen_planes.count' is 65");
}

static void without_memory_it_says_so(void **state)
{
        struct text image = image_of(pool);
        unsigned long tries = 0;
        struct err err;
        int rc;

        (void)state;
        do {
                struct state *back = NULL;
                mem_fail_at(++tries);
                rc = read_image(&image, &back, &err);
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                if (rc != (happened ? -ERR_NOMEM : 0))
                        fail_msg("allocation %lu: %d (%s)", tries, rc, err.text);
                state_free(back);
        } while (rc);
        assert_true(tries > 40);
        text_done(&image);
}

#define TEST(open, test) cmocka_unit_test_setup_teardown(test, open, close_with_policy)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(open_empty, an_empty_state_comes_back),
                TEST(open_empty, a_state_without_a_policy_comes_back),
                TEST(open_world, everything_is_there),
                TEST(open_world, a_whole_world_comes_back),
                TEST(open_priced, a_whole_world_comes_back),
                TEST(open_priced, what_is_not_hashed_comes_back),
                TEST(open_world, it_goes_on_deciding_the_same),
                TEST(open_world, another_policy_is_refused),
                TEST(open_empty, a_policy_where_there_was_none_is_refused),
                TEST(open_world, other_device_models_are_refused),
                TEST(open_empty, other_bytes_are_refused),
                TEST(open_empty, cut_anywhere_it_is_refused),
                TEST(open_world, any_byte_may_be_another),
                TEST(open_world, links_that_lead_nowhere_are_refused),
                TEST(open_world, numbers_without_a_meaning_are_refused),
                TEST(open_world, bounds_beyond_any_pool_are_refused),
                TEST(open_world, without_memory_it_says_so),
        };

        return cmocka_run_group_tests(tests, models_load, models_drop);
}
