#include "base/mem.h"
#include "engine/decide.h"
#include "engine/price.h"
#include "engine/units.h"
#include "sim/rng.h"
#include "tests/unit/models.h"

/* ---- names ---- */

static void names_are_read(void **state)
{
        (void)state;
        static const struct { const char *text; int rc; enum policy_kind kind; uint64_t seed; }
        rows[] = {
                { "auto",        0, POLICY_AUTO, 0 },
                { "fgd",         0, POLICY_FGD, 0 },
                { "gradient",    0, POLICY_GRADIENT, 0 },
                { "first-fit",   0, POLICY_FIRST_FIT, 0 },
                { "best-fit",    0, POLICY_BEST_FIT, 0 },
                { "worst-fit",   0, POLICY_WORST_FIT, 0 },
                { "packing",     0, POLICY_PACKING, 0 },
                { "clustering",  0, POLICY_CLUSTERING, 0 },
                { "dot-product", 0, POLICY_DOT_PRODUCT, 0 },
                { "random",      0, POLICY_RANDOM, 0 },
                { "random:7",    0, POLICY_RANDOM, 7 },
                { "random:18446744073709551615", 0, POLICY_RANDOM, UINT64_MAX },
                { "random:18446744073709551616", -ERR_RANGE, 0, 0 },
                { "random:",     -ERR_INPUT, 0, 0 },
                { "random:x",    -ERR_INPUT, 0, 0 },
                { "random:-1",   -ERR_RANGE, 0, 0 },
                { "auto:1",      -ERR_INPUT, 0, 0 },
                { "",            -ERR_NOT_FOUND, 0, 0 },
                { "best_fit",    -ERR_NOT_FOUND, 0, 0 },
                { "fgdd",        -ERR_NOT_FOUND, 0, 0 },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy policy = {.kind = POLICIES_END, .seed = 99};
                struct err err = {0};
                int rc = policy_parse(rows[i].text, &policy, &err);
                if (rc != rows[i].rc)
                        fail_msg("'%s': %d instead of %d (%s)", rows[i].text, rc, rows[i].rc,
                                 err.text);
                if (rc) {
                        assert_int_equal(policy.kind, POLICIES_END);    /* unchanged */
                        assert_true(err.text[0] != '\0');
                        continue;
                }
                assert_int_equal(policy.kind, rows[i].kind);
                if (strchr(rows[i].text, ':'))
                        assert_true(policy.seed == rows[i].seed);
        }
        struct err err = {0};
        struct policy policy;
        assert_int_equal(policy_parse("best_fit", &policy, &err), -ERR_NOT_FOUND);
        check_has(err.text, "best-fit");
        for (unsigned kind = 0; kind < POLICIES_END; kind++) {
                assert_int_equal(policy_parse(policy_name(kind), &policy, NULL), 0);
                assert_int_equal(policy.kind, kind);
        }
}

/* ---- small pools by hand ---- */

static struct state *pool;
static struct memo *memo;
static struct fact_allocated last;
static bool placed;

static void open_pool(struct policy policy)
{
        pool = state_new(models, &(struct state_bounds){.nodes_max = 16});
        memo = memo_new(policy, MEMO_INDEXED);
        assert_non_null(pool);
        assert_non_null(memo);
}

static void close_pool(void)
{
        memo_free(memo);
        state_free(pool);
}

static void note_place(void *arg, const struct fact *fact)
{
        (void)arg;
        if (fact->kind != FACT_ALLOCATED)
                return;
        last = fact->allocated;
        placed = true;
}

static void must(const struct input *input)
{
        struct err err = {0};

        placed = false;
        if (engine_run(pool, memo, input, 0, note_place, NULL, &err))
                fail_msg("%s", err.text);
}

static void join(const char *name, const char *model, unsigned devices, uint32_t cpu_milli)
{
        must(&(struct input){
                .kind = INPUT_NODE_JOINED,
                .node = {.name = (uint32_t)vocab_name(pool->vocab, name, NULL),
                         .model = model_id(model),
                         .devices = (uint8_t)devices,
                         .cpu_milli = cpu_milli,
                         .ram_mib = 65536}});
}

/* "w2" two whole devices, "s250" a share, "p1g.5gb" a slice, "c" CPU work; with so many cores. */
static struct request ask(uint64_t id, const char *what, uint32_t cpu_milli)
{
        struct request request = {.workload = id, .form = {.members = 1}};
        struct need *need = &request.need;
        unsigned number = 0;

        (void)sscanf(what + 1, "%u", &number);
        need->models = UINT64_MAX;
        need->cpu_milli = cpu_milli;
        need->devices = 1;
        switch (what[0]) {
        case 'w':
                need->ask = ASK_WHOLE;
                need->devices = (uint8_t)number;
                break;
        case 's':
                need->ask = ASK_SHARE;
                need->share_milli = (uint16_t)number;
                break;
        case 'p':
                need->ask = ASK_PROFILE;
                need->profile = (uint16_t)vocab_word(pool->vocab, what + 1, NULL);
                break;
        default:
                need->devices = 0;
        }
        return request;
}

static const char *node_of_last(void)
{
        return placed ? vocab_name_text(pool->vocab, pool->nodes[last.node].desc.name) : "nowhere";
}

static void submit(uint64_t id, const char *what, uint32_t cpu_milli)
{
        must(&(struct input){.kind = INPUT_SUBMITTED, .request = ask(id, what, cpu_milli)});
}

/* Nodes join in this order, each filled by what stands behind it before the next one comes. */
struct scene {
        enum policy_kind policy;
        struct { const char *name, *model; unsigned devices; uint32_t cpu; const char *held; }
                nodes[4];
        const char *ask;
        uint32_t cpu;
        const char *goes_to;
};

static void play(const struct scene *scene, size_t number)
{
        uint64_t id = 1;

        open_pool((struct policy){.kind = scene->policy});
        for (unsigned n = 0; n < ARRAY_LEN(scene->nodes) && scene->nodes[n].name; n++) {
                const char *held = scene->nodes[n].held;
                struct node_desc desc;
                join(scene->nodes[n].name, scene->nodes[n].model, scene->nodes[n].devices,
                     scene->nodes[n].cpu);
                desc = pool->nodes[n].desc;
                if (held)
                        submit(id++, held, 1000);
                if (held)
                        assert_string_equal(node_of_last(), scene->nodes[n].name);
                /* Closed, so that what the others hold does not come here. */
                desc.drained = true;
                must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        }
        for (unsigned n = 0; n < ARRAY_LEN(scene->nodes) && scene->nodes[n].name; n++) {
                struct node_desc desc = pool->nodes[n].desc;
                desc.drained = false;
                must(&(struct input){.kind = INPUT_NODE_CHANGED, .node = desc});
        }
        submit(id, scene->ask, scene->cpu);
        if (strcmp(node_of_last(), scene->goes_to))
                fail_msg("scene %zu, %s: '%s' goes to %s instead of %s", number,
                         policy_name(scene->policy), scene->ask, node_of_last(), scene->goes_to);
        close_pool();
}

static void each_policy_ranks_as_it_says(void **state)
{
        (void)state;
        static const struct scene scenes[] = {
                /* first node by name, whatever its number */
                { POLICY_FIRST_FIT, {{"b", "T4", 2, 8000, NULL}, {"a", "T4", 2, 8000, NULL}},
                  "w1", 0, "a" },
                { POLICY_FIRST_FIT, {{"b", "T4", 2, 8000, NULL}, {"a", "T4", 2, 8000, "w2"}},
                  "w1", 0, "b" },
                /* least left, most left */
                { POLICY_BEST_FIT, {{"a", "T4", 4, 8000, NULL}, {"b", "T4", 1, 8000, NULL}},
                  "w1", 0, "b" },
                { POLICY_BEST_FIT, {{"a", "T4", 4, 8000, NULL}, {"b", "T4", 4, 8000, "w2"}},
                  "w1", 0, "b" },
                { POLICY_WORST_FIT, {{"a", "T4", 1, 8000, NULL}, {"b", "T4", 4, 8000, NULL}},
                  "w1", 0, "b" },
                { POLICY_WORST_FIT, {{"a", "T4", 4, 8000, "w1"}, {"b", "T4", 4, 8000, NULL}},
                  "s100", 0, "b" },
                /* shared devices, then used nodes, then empty ones */
                { POLICY_PACKING, {{"a", "T4", 2, 8000, NULL}, {"b", "T4", 2, 8000, "w1"},
                                   {"c", "T4", 2, 8000, "s500"}}, "s500", 0, "c" },
                { POLICY_PACKING, {{"a", "T4", 2, 8000, NULL}, {"b", "T4", 2, 8000, "w1"},
                                   {"c", "T4", 1, 8000, "s600"}}, "s500", 0, "b" },
                { POLICY_PACKING, {{"a", "T4", 2, 8000, NULL}, {"b", "T4", 2, 8000, "w2"}},
                  "s500", 0, "a" },
                /* work of the same size */
                { POLICY_CLUSTERING, {{"a", "T4", 4, 8000, NULL}, {"b", "T4", 4, 8000, "w1"},
                                      {"c", "T4", 4, 8000, "w2"}}, "w2", 0, "c" },
                { POLICY_CLUSTERING, {{"a", "T4", 4, 8000, NULL}, {"b", "T4", 4, 8000, "w1"},
                                      {"c", "T4", 4, 8000, "w2"}}, "w1", 0, "b" },
                { POLICY_CLUSTERING, {{"a", "T4", 4, 8000, "w1"}, {"b", "T4", 4, 8000, "s500"}},
                  "s500", 0, "b" },
                /* least of what is free in the direction of what is asked */
                { POLICY_DOT_PRODUCT, {{"a", "T4", 4, 8000, NULL}, {"b", "T4", 1, 8000, NULL}},
                  "w1", 1000, "b" },
                { POLICY_DOT_PRODUCT, {{"a", "T4", 2, 64000, NULL}, {"b", "T4", 2, 8000, NULL}},
                  "w1", 4000, "b" },
                /* where least is lost: 1g beside 1g, 3g where a 4g is no more possible */
                { POLICY_GRADIENT, {{"a", "A100-40", 1, 8000, NULL},
                                    {"b", "A100-40", 1, 8000, "p3g.20gb"}}, "p4g.20gb", 0, "b" },
                { POLICY_GRADIENT, {{"a", "T4", 1, 8000, NULL}, {"b", "T4", 1, 8000, "s500"}},
                  "s500", 0, "b" },
                { POLICY_AUTO, {{"a", "T4", 1, 8000, NULL}, {"b", "T4", 1, 8000, "s500"}},
                  "s500", 0, "b" },
        };
        for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
                play(&scenes[i], i);
}

static void first_fit_takes_the_fullest_device(void **state)
{
        (void)state;
        open_pool((struct policy){.kind = POLICY_FIRST_FIT});
        join("a", "T4", 2, 8000);
        submit(1, "s300", 0);
        unsigned used = last.parts[0].device;
        submit(2, "s300", 0);
        assert_int_equal(last.parts[0].device, used);
        submit(3, "s500", 0);                   /* does not go beside the others */
        assert_int_not_equal(last.parts[0].device, used);
        submit(4, "s400", 0);                   /* both would do; 600 of 1000 are taken there */
        assert_int_equal(last.parts[0].device, used);
        close_pool();

        open_pool((struct policy){.kind = POLICY_WORST_FIT});
        join("a", "T4", 2, 8000);
        submit(1, "s300", 0);
        used = last.parts[0].device;
        submit(2, "s300", 0);
        assert_int_not_equal(last.parts[0].device, used);       /* the emptiest */
        close_pool();
}

/* ---- fgd: where the fragments of the demand grow least ---- */

static struct price_plan *plan_of(const struct price_shape *shapes, unsigned count)
{
        struct price_plan *plan = mem_new(1, sizeof *plan);

        assert_non_null(plan);
        plan->hash = 1;
        plan->revision = 1;
        plan->shapes_count = count;
        memcpy(plan->shapes, shapes, count * sizeof *shapes);
        return plan;
}

static void fgd_keeps_whole_what_the_demand_wants_whole(void **state)
{
        (void)state;
        static const enum policy_kind kinds[] = {POLICY_FGD, POLICY_AUTO};
        static const struct price_shape wide = {.devices = 2, .share_milli = 1000,
                                                .models = UINT64_MAX, .weight = 1};
        struct price_plan *plan = plan_of(&wide, 1);

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
                open_pool((struct policy){.kind = kinds[i]});
                join("a", "T4", 2, 8000);       /* room for the wide one */
                join("b", "T4", 1, 8000);       /* never */
                must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
                submit(1, "s500", 0);
                assert_string_equal(node_of_last(), "b");
                submit(2, "s600", 0);           /* only there */
                assert_string_equal(node_of_last(), "a");
                close_pool();
        }
        mem_free(plan);
}

/* ---- auto, and what stands in for it ---- */

#define STEPS 120

static void draw_places(struct policy policy, const struct price_plan *plan, uint64_t seed,
                        uint32_t *ret_nodes)
{
        static const char *const asks[] = {"s200", "s500", "w1", "w2", "p1g.5gb", "p3g.20gb", "c"};
        struct rng rng;
        char name[8];

        rng_init(&rng, seed);
        open_pool(policy);
        for (unsigned n = 0; n < 12; n++) {
                snprintf(name, sizeof name, "n%02u", n);
                join(name, n % 3 ? "A100-40" : "T4", 1 + n % 4, 32000);
        }
        if (plan)
                must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
        for (unsigned i = 0; i < STEPS; i++) {
                struct request request = ask(i + 1, asks[rng_below(&rng, ARRAY_LEN(asks))],
                                             1000 * (uint32_t)rng_below(&rng, 3));
                request.once = true;
                must(&(struct input){.kind = INPUT_SUBMITTED, .request = request});
                ret_nodes[i] = placed ? last.node * 16 + last.parts[0].device : NONE;
        }
        close_pool();
}

static void auto_without_a_plan_is_the_gradient(void **state)
{
        (void)state;
        uint32_t a[STEPS], b[STEPS];

        for (uint64_t seed = 1; seed <= 5; seed++) {
                draw_places((struct policy){.kind = POLICY_AUTO}, NULL, seed, a);
                draw_places((struct policy){.kind = POLICY_GRADIENT}, NULL, seed, b);
                assert_memory_equal(a, b, sizeof a);
        }
}

static void random_draws_from_its_seed_alone(void **state)
{
        (void)state;
        uint32_t a[STEPS], b[STEPS], c[STEPS];

        draw_places((struct policy){.kind = POLICY_RANDOM, .seed = 1}, NULL, 1, a);
        draw_places((struct policy){.kind = POLICY_RANDOM, .seed = 1}, NULL, 1, b);
        draw_places((struct policy){.kind = POLICY_RANDOM, .seed = 2}, NULL, 1, c);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_not_equal(a, c, sizeof a);
}

/* A price on idle devices of one model sends work to the other. */
static void auto_goes_by_the_prices_of_a_plan(void **state)
{
        (void)state;
        static const struct price_shape one = {.devices = 1, .share_milli = 1000,
                                               .models = UINT64_MAX, .weight = 1};
        struct price_plan *plan = plan_of(&one, 1);

        for (unsigned dear = 0; dear < 2; dear++) {
                const char *const names[] = {"T4", "A100-40"};
                struct price_model *prices = &plan->table.models[model_id(names[dear])];
                memset(&plan->table, 0, sizeof plan->table);
                plan->priced = true;
                plan->table.models_len = (uint32_t)model_count(models);
                for (unsigned g = 0; g <= PRICE_DEVICES_MAX; g++)
                        for (unsigned l = 0; l < PRICE_LEVELS; l++)
                                prices->idle[g][l] = (int32_t)g * UNITS_DEVICE;
                open_pool((struct policy){.kind = POLICY_AUTO});
                join("a", "T4", 2, 8000);
                join("b", "A100-40", 2, 8000);
                must(&(struct input){.kind = INPUT_PLAN_SET, .plan = plan});
                submit(1, "w1", 0);
                assert_string_equal(node_of_last(), dear == 0 ? "b" : "a");
                close_pool();
        }
        mem_free(plan);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_read),
                cmocka_unit_test(each_policy_ranks_as_it_says),
                cmocka_unit_test(first_fit_takes_the_fullest_device),
                cmocka_unit_test(fgd_keeps_whole_what_the_demand_wants_whole),
                cmocka_unit_test(auto_without_a_plan_is_the_gradient),
                cmocka_unit_test(random_draws_from_its_seed_alone),
                cmocka_unit_test(auto_goes_by_the_prices_of_a_plan),
        };
        return cmocka_run_group_tests(tests, models_load, models_drop);
}
