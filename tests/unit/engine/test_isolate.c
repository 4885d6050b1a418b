/* What may lie beside what, rule by rule. */
#include <stdlib.h>

#include "engine/explain.h"
#include "engine/isolate.h"
#include "engine/rights.h"
#include "tests/unit/engine/pool_policy.h"

#define CLASSES "classes:\n  any: {rank: 1, methods: [whole, slice, share], stop: always, " \
                "notice: 0s, exempt: 0s}\n"
#define HEAD    "kind: Policy\npreset: equal\n" CLASSES

static unsigned device_of(uint64_t id)
{
        uint32_t part = pool->members[work(id)->first_member].first_part;

        return pool->parts[part].part.device;
}

static uint32_t node_of(uint64_t id)
{
        return pool->members[work(id)->first_member].node;
}

static bool beside(uint64_t a, uint64_t b)
{
        return node_of(a) == node_of(b) && device_of(a) == device_of(b);
}

static struct request share_of(uint64_t id, const char *tenant, const char *class)
{
        return of(ask_share(id, 300), tenant, class);
}

static struct request labelled(struct request request, const char *label)
{
        request.data = (uint16_t)(tenancy_label_find(policy->tenancy, label) + 1);
        assert_true(request.data > 0);
        return request;
}

static enum gate refused(void)
{
        return find_fact(FACT_REFUSED)->refused.gate;
}

static void join_in(const char *text, const char *plane, const char *rack, const char *zone)
{
        struct node_desc desc = node(text, "T4", 2);
        struct label label = {word("zone"), zone ? word(zone) : 0};

        desc.plane = plane ? word(plane) : 0;
        desc.rack = rack ? word(rack) : 0;
        desc.labels = zone ? (uint16_t)vocab_labels(pool->vocab, &label, 1, NULL) : 0;
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = desc});
}

/* ---- trust ---- */

static void shares_lie_together_where_trust_allows(void **state)
{
        (void)state;
        static const struct {
                const char *first, *second;
                bool beside;
        } rows[] = {
                {"a", "a", true},       {"a", "a2", true},      {"a", "b", true},
                {"b", "a", true},       {"a", "c", false},      {"c", "b", false},
                {"own/x", "own/y", true}, {"own", "own/y", true}, {"own", "a", false},
                {"a", "own/x", false},  {"own", "alone", false},
        };
        join("n1", "T4", 2);
        set_policy(HEAD "trust: {internal: {with: [partner]}, partner: {}, other: {}}\n"
                        "tenants: {a: {trust: internal}, a2: {trust: internal}, "
                        "b: {trust: partner}, c: {trust: other}, "
                        "own: {tenants: {x: {}, y: {}}}, alone: {}}\n");
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
                submit(share_of(1, rows[i].first, "any"));
                submit(share_of(2, rows[i].second, "any"));
                if (beside(1, 2) != rows[i].beside)
                        fail_msg("%s and %s", rows[i].first, rows[i].second);
                leave(INPUT_EXITED, 1);
                leave(INPUT_EXITED, 2);
        }
}

static void who_trusts_two_does_not_join_them(void **state)
{
        (void)state;
        join("n1", "T4", 1);
        set_policy(HEAD "trust: {x: {with: [y, z]}, y: {}, z: {}}\n"
                        "tenants: {x: {trust: x}, y: {trust: y}, z: {trust: z}}\n");
        submit(share_of(1, "y", "any"));
        submit(share_of(2, "x", "any"));
        assert_true(beside(1, 2));
        submit(share_of(3, "z", "any"));
        assert_true(is_waiting(3));
        leave(INPUT_EXITED, 1);
        assert_true(beside(2, 3));
}

static void slices_and_nodes_ask_for_no_trust(void **state)
{
        (void)state;
        join("n1", "A100-40", 1);
        set_policy(HEAD "tenants: {a: {}, b: {}}\n");
        submit(of(ask_slice(1, "1g.5gb"), "a", "any"));
        submit(of(ask_slice(2, "1g.5gb"), "b", "any"));
        assert_true(beside(1, 2));
}

/* ---- classes ---- */

static void classes_keep_apart_both_ways(void **state)
{
        (void)state;
        static const char *const pairs[][2] = {{"x", "y"}, {"y", "x"}};

        join("n1", "A100-40", 2);
        join("n2", "A100-40", 2);
        for (unsigned level = 0; level < 2; level++) {
                struct policy_doc *before = policy;
                set_policy(level == 0 ? HEAD "  x: {rank: 1, apart_from: {device: [y]}}\n"
                                             "  y: {rank: 1}\ntenants: {t: {}}\n"
                                      : HEAD "  x: {rank: 1, apart_from: {node: [y]}}\n"
                                             "  y: {rank: 1}\ntenants: {t: {}}\n");
                policy_doc_free(before);
                for (unsigned p = 0; p < 2; p++) {
                        submit(of(ask_slice(1, "1g.5gb"), "t", pairs[p][0]));
                        submit(of(ask_slice(2, "1g.5gb"), "t", "any"));
                        submit(of(ask_slice(3, "1g.5gb"), "t", pairs[p][1]));
                        assert_true(beside(1, 2));
                        assert_false(beside(1, 3));
                        assert_int_equal(node_of(1) == node_of(3), level == 0);
                        for (uint64_t id = 1; id <= 3; id++)
                                leave(INPUT_EXITED, id);
                }
        }
}

static void a_class_apart_from_itself_has_its_devices_alone(void **state)
{
        (void)state;
        join("n1", "T4", 2);
        set_policy(HEAD "  x: {rank: 1, methods: [share], apart_from: {device: [x]}}\n"
                        "tenants: {t: {}}\n");
        submit(share_of(1, "t", "x"));
        submit(share_of(2, "t", "x"));
        submit(share_of(3, "t", "x"));
        assert_false(beside(1, 2));
        assert_true(is_waiting(3));
        submit(share_of(4, "t", "any"));
        assert_true(is_placed(4));
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(3));
}

/* ---- data labels ---- */

static const char labels[] =
        HEAD "data:\n  d: {apart: device}\n  n: {apart: node}\n  free: {}\n"
             "  walled: {planes: [safe], nodes: {zone: \"secure\"}, methods: [share]}\n"
             "  ours: {trust: [inner]}\n"
             "tenants: {t: {trust: inner}, u: {trust: outer}}\n"
             "trust: {inner: {with: [outer]}, outer: {}}\n";

static void labels_keep_other_labels_off(void **state)
{
        (void)state;
        static const struct {
                const char *first, *second;
                bool device, node;      /* may share it */
        } rows[] = {
                {"d", "d", true, true},     {"d", "free", false, true}, {"free", "d", false, true},
                {"d", NULL, false, true},   {NULL, "d", false, true},   {"n", "n", true, true},
                {"n", "d", false, false},   {NULL, "n", false, false},  {"n", NULL, false, false},
                {"free", NULL, true, true},
        };
        join("n1", "T4", 2);
        join("n2", "T4", 2);
        set_policy(labels);
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
                struct request a = share_of(1, "t", "any"), b = share_of(2, "t", "any");
                submit(rows[i].first ? labelled(a, rows[i].first) : a);
                submit(rows[i].second ? labelled(b, rows[i].second) : b);
                if (beside(1, 2) != rows[i].device || (node_of(1) == node_of(2)) != rows[i].node)
                        fail_msg("row %u", i);
                leave(INPUT_EXITED, 1);
                leave(INPUT_EXITED, 2);
        }
}

static void a_label_chooses_planes_and_nodes(void **state)
{
        (void)state;
        join_in("n1", NULL, NULL, "secure");
        join_in("n2", "safe", NULL, NULL);
        join_in("n3", "open", NULL, "secure");
        set_policy(labels);
        submit(labelled(share_of(1, "t", "any"), "walled"));
        assert_int_equal(refused(), GATE_FEASIBLE);
        /* A plane's word may come after the policy. */
        join_in("n4", "safe", NULL, "secure");
        submit(labelled(share_of(1, "t", "any"), "walled"));
        assert_true(lies_on(1, "n4"));
        for (uint64_t id = 2; id <= 7; id++)
                submit(labelled(share_of(id, "t", "any"), "walled"));
        assert_true(lies_on(6, "n4"));
        assert_true(is_waiting(7));
}

static void a_label_says_methods_and_trust(void **state)
{
        (void)state;
        join_in("n1", "safe", NULL, "secure");
        set_policy(labels);
        submit(labelled(of(ask(1, 1), "t", "any"), "walled"));
        assert_int_equal(refused(), GATE_ALLOWED);
        submit(labelled(share_of(1, "u", "any"), "ours"));
        assert_int_equal(refused(), GATE_ALLOWED);
        submit(labelled(share_of(1, "t", "any"), "ours"));
        assert_true(is_placed(1));
        struct request request = share_of(2, "t", "any");
        request.data = 6;
        submit(request);
        assert_int_equal(refused(), GATE_ALLOWED);
}

static void a_label_stays_what_it_is_when_the_policy_changes(void **state)
{
        (void)state;
        struct err err = {0};
        struct policy_doc *first;

        join("n1", "T4", 2);
        set_policy(labels);
        first = policy;
        submit(labelled(share_of(1, "t", "any"), "n"));
        set_policy(HEAD "data: {n: {apart: node}}\ntenants: {t: {}}\n");
        policy_doc_free(first);
        submit(share_of(2, "t", "any"));
        assert_true(is_waiting(2));
        submit(labelled(share_of(3, "t", "any"), "n"));
        assert_true(beside(1, 3));
        struct policy_doc *kept = policy;
        struct doc *doc;
        const char *text = HEAD "tenants: {t: {}}\n";
        assert_int_equal(doc_read_yaml("p", text, strlen(text), &doc, &err), 0);
        assert_int_equal(policy_doc_decode(doc_root(doc, 0), models, NULL, &policy, &err), 0);
        doc_free(doc);
        struct input input = {.kind = INPUT_POLICY_SET,
                              .accounts = accounts_new(policy->tenancy, &err)};
        must_fail(&input, -ERR_INPUT, "data label 'n'");
        accounts_free(input.accounts);
        policy_doc_free(policy);
        policy = kept;
}

/* ---- planes ---- */

static void planes_of_class_and_tenant_are_kept(void **state)
{
        (void)state;
        join_in("n1", "p", NULL, NULL);
        join_in("n2", "q", NULL, NULL);
        join_in("n3", NULL, NULL, NULL);
        set_policy(HEAD "  inq: {rank: 1, planes: [q]}\n"
                        "tenants: {t: {}, inp: {planes: [p]}}\n");
        submit(of(ask(1, 2), "t", "inq"));
        assert_true(lies_on(1, "n2"));
        submit(of(ask(2, 1), "t", "inq"));
        assert_true(is_waiting(2));
        submit(of(ask(3, 1), "inp", "any"));
        assert_true(lies_on(3, "n1"));
        submit(of(ask(4, 1), "inp", "inq"));
        assert_int_equal(refused(), GATE_ALLOWED);
        struct request request = of(ask(4, 1), "inp", "any");
        request.need.plane = word("q");
        submit(request);
        assert_int_equal(refused(), GATE_ALLOWED);
        request.need.plane = word("p");
        submit(request);
        assert_true(lies_on(4, "n1"));
        submit(of(ask(5, 2), "t", "any"));
        assert_true(lies_on(5, "n3"));
        /* A gang as well. */
        request = of(ask(6, 1), "t", "inq");
        request.form.members = 3;
        submit(request);
        assert_int_equal(refused(), GATE_FEASIBLE);
        request.form.members = 2;
        submit(request);
        assert_true(is_waiting(6));
        leave(INPUT_EXITED, 1);
        assert_true(lies_on(2, "n2"));
        leave(INPUT_EXITED, 2);
        assert_true(lies_on(6, "n2"));
}

/* ---- spread ---- */

static struct request replica(uint64_t id, uint32_t group, enum spread_level spread)
{
        struct request request = of(ask(id, 1), "t", "any");

        request.service = true;
        request.group = group;
        request.form.spread = (uint8_t)spread;
        return request;
}

static void replicas_lie_on_different_nodes(void **state)
{
        (void)state;
        join("n1", "T4", 4);
        join("n2", "T4", 4);
        set_policy(HEAD "tenants: {t: {}}\n");
        submit(replica(1, 7, SPREAD_NODE));
        submit(replica(2, 7, SPREAD_NODE));
        submit(replica(3, 7, SPREAD_NODE));
        assert_true(node_of(1) != node_of(2));
        assert_true(is_waiting(3));
        /* Others of the same need go past it. */
        submit(replica(4, 8, SPREAD_NODE));
        submit(replica(5, 0, SPREAD_NODE));
        assert_true(is_placed(4) && is_placed(5));
        leave(INPUT_CANCELLED, 1);
        assert_true(lies_on(3, "n1"));
}

static void without_a_policy_as_well(void **state)
{
        (void)state;
        join("n1", "T4", 4);
        for (uint64_t id = 1; id <= 2; id++) {
                struct request request = ask(id, 1);
                request.group = 7;
                request.form.spread = SPREAD_NODE;
                submit(request);
        }
        assert_true(is_placed(1) && is_waiting(2));
        join("n2", "T4", 4);
        assert_true(lies_on(2, "n2"));
}

static void replicas_lie_in_different_racks(void **state)
{
        (void)state;
        join_in("n1", NULL, "r1", NULL);
        join_in("n2", NULL, "r1", NULL);
        join_in("n3", NULL, "r2", NULL);
        join_in("n4", NULL, NULL, NULL);
        set_policy(HEAD "tenants: {t: {}}\n");
        for (uint64_t id = 1; id <= 4; id++)
                submit(replica(id, 7, SPREAD_RACK));
        assert_true(lies_on(1, "n1") && lies_on(2, "n3") && lies_on(3, "n4"));
        assert_true(is_waiting(4));
        leave(INPUT_CANCELLED, 1);
        assert_true(lies_on(4, "n1"));
}

static void the_class_may_ask_for_it(void **state)
{
        (void)state;
        join_in("n1", NULL, "r1", NULL);
        join_in("n2", NULL, "r1", NULL);
        join_in("n3", NULL, "r2", NULL);
        set_policy(HEAD "  wide: {rank: 1, spread: rack}\ntenants: {t: {}}\n");
        struct request request = replica(1, 7, SPREAD_NONE);
        submit(of(request, "t", "wide"));
        request.workload = 2;
        submit(of(request, "t", "wide"));
        assert_true(lies_on(1, "n1") && lies_on(2, "n3"));
        struct request gang = of(ask(3, 1), "t", "wide");
        gang.form.members = 3;
        submit(gang);
        assert_int_equal(refused(), GATE_FEASIBLE);
        gang.form.near = NEAR_NODE;
        gang.form.near_required = 1;
        gang.form.members = 2;
        submit(gang);
        assert_true(lies_on(3, "n2"));
}

/* ---- gangs, plans, methods ---- */

static void a_gang_leaves_barred_devices_alone(void **state)
{
        (void)state;
        join("n1", "T4", 2);
        join("n2", "T4", 1);
        set_policy(HEAD "tenants: {a: {}, b: {}}\n");
        submit(share_of(1, "a", "any"));
        struct request gang = share_of(2, "b", "any");
        gang.form.members = 6;
        submit(gang);
        assert_true(is_placed(2));
        for (uint32_t at = work(2)->first_member; at != NONE; at = pool->members[at].next)
                assert_false(pool->members[at].node == node_of(1) &&
                             pool->parts[pool->members[at].first_part].part.device ==
                                     device_of(1));
        gang.workload = 3;
        submit(gang);
        assert_true(is_waiting(3));
}

static void a_victim_takes_its_bar_with_it(void **state)
{
        (void)state;
        join("n1", "T4", 1);
        set_policy("kind: Policy\npreset: protected\n" CLASSES
                   "tenants: {a: {}, b: {protect: {T4: 1}}}\n");
        submit(share_of(1, "a", "any"));
        submit(share_of(2, "a", "any"));
        submit(share_of(3, "b", "any"));
        /* There is room beside them, but only for their own domain: both must go. */
        assert_int_equal(count_facts(FACT_NOTICED), 2);
        assert_true(is_waiting(3));
        /* Nobody else comes meanwhile. */
        submit(share_of(4, "a", "any"));
        assert_true(is_waiting(4));
        leave(INPUT_STOPPED, 1);
        leave(INPUT_STOPPED, 2);
        assert_true(is_placed(3));
}

static void a_kept_place_counts_like_work(void **state)
{
        (void)state;
        struct request request;

        join("n1", "T4", 2);
        set_policy("kind: Policy\npreset: protected\n" CLASSES
                   "  x: {rank: 1, apart_from: {node: [y]}}\n  y: {rank: 1}\n"
                   "tenants: {a: {}, b: {protect: {T4: 2}}}\n");
        submit(of(ask(1, 1), "a", "any"));
        submit(of(ask(2, 2), "b", "x"));
        assert_true(is_told(1));
        request = of(ask(3, 0), "a", "y");
        request.need.cpu_milli = 1000;
        submit(request);
        assert_true(is_waiting(3));
        leave(INPUT_STOPPED, 1);
        assert_true(is_placed(2) && is_waiting(3));
        leave(INPUT_EXITED, 2);
        assert_true(is_placed(3));
}

static void methods_are_those_that_all_allow(void **state)
{
        (void)state;
        static const struct {
                const char *class, *tenant;
                struct need need;
                bool serve;
                int methods;            /* -1: refused; for memory what is left */
        } rows[] = {
                {"w", "t", {.ask = ASK_WHOLE}, false, 0},
                {"h", "t", {.ask = ASK_WHOLE}, false, -1},
                {"w", "nowhole", {.ask = ASK_WHOLE}, false, -1},
                {"w", "t", {.ask = ASK_SHARE, .share_milli = 100}, false, -1},
                {"h", "t", {.ask = ASK_SHARE, .share_milli = 100}, false, 0},
                {"s", "t", {.ask = ASK_WHOLE}, true, 0},
                {"w", "t", {.ask = ASK_WHOLE}, true, -1},
                {"any", "t", {.ask = ASK_MEMORY, .memory_mib = 4000}, false,
                 METHODS_BY_MEMORY},
                {"any", "nowhole", {.ask = ASK_MEMORY, .memory_mib = 4000}, false,
                 METHOD_BIT(METHOD_SLICE)},
                {"any", "nowhole", {.ask = ASK_MEMORY, .memory_mib = 40900}, false,
                 METHOD_BIT(METHOD_SHARE)},     /* more than a slice of an A100-40 has */
                {"h", "t", {.ask = ASK_MEMORY, .memory_mib = 4000}, false,
                 METHOD_BIT(METHOD_SHARE)},
                {"any", "nowhole",
                 {.ask = ASK_MEMORY, .memory_mib = 4000, .models = 1}, false,
                 METHOD_BIT(METHOD_SHARE)},     /* a T4 has no slices */
                {"s", "t", {.ask = ASK_MEMORY, .memory_mib = 4000}, false, -1},
        };
        join("n1", "T4", 1);
        join("n2", "A100-40", 1);
        set_policy(HEAD "  w: {rank: 1, methods: [whole]}\n  h: {rank: 1, methods: [share]}\n"
                        "  s: {rank: 1, methods: [serve]}\n"
                        "tenants: {t: {}, nowhole: {methods: [slice, share]}}\n");
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
                struct request request = of(ask(1, 1), rows[i].tenant, rows[i].class);
                request.need = rows[i].need;
                request.need.devices = 1;
                request.need.models = rows[i].need.models ? 1ull << model_id("T4") : UINT64_MAX;
                request.serve = rows[i].serve;
                submit(request);
                if (rows[i].methods < 0) {
                        assert_int_equal(refused(), GATE_ALLOWED);
                        continue;
                }
                if (find_fact(FACT_QUEUED)->queued.need.methods != rows[i].methods)
                        fail_msg("row %u: methods %u", i,
                                 find_fact(FACT_QUEUED)->queued.need.methods);
                leave(INPUT_CANCELLED, 1);
        }
}

/* ---- explained ---- */

static struct explanation why;

static void explain_it(uint64_t id)
{
        struct err err = {0};

        if (explain(memo, pool, id, now_ms, &why, &err))
                fail_msg("%s", err.text);
}

static void nodes_say_what_is_in_the_way(void **state)
{
        (void)state;
        join_in("n1", "safe", NULL, "secure");
        join_in("n2", "open", NULL, "secure");
        set_policy(labels);
        submit(labelled(share_of(1, "t", "any"), "n"));
        submit(of(ask(2, 2), "t", "any"));
        submit(labelled(share_of(3, "t", "any"), "walled"));
        assert_true(lies_on(1, "n1") && lies_on(2, "n2") && is_waiting(3));
        explain_it(3);
        assert_int_equal(why.verdict, VERDICT_WAIT_CAPACITY);
        assert_int_equal(why.all.nodes_of[CODE_APART], 1);
        assert_int_equal(why.all.nodes_of[CODE_EXCLUDED], 1);
}

static void a_refusal_says_what_is_not_allowed(void **state)
{
        (void)state;
        struct err err = {0};
        struct request request;

        join_in("n1", "safe", NULL, "secure");
        set_policy(labels);
        request = labelled(of(ask(1, 1), "t", "any"), "walled");
        assert_int_equal(explain_request(memo, pool, &request, now_ms, &why, &err), 0);
        assert_int_equal(why.verdict, VERDICT_REFUSED);
        assert_int_equal(why.gates[GATE_ALLOWED].right, RIGHT_METHOD);
        check_has(right_text(RIGHT_METHOD), "no method");
        request = labelled(share_of(1, "t", "any"), "walled");
        request.need.plane = word("open");
        assert_int_equal(explain_request(memo, pool, &request, now_ms, &why, &err), 0);
        assert_int_equal(why.gates[GATE_ALLOWED].right, RIGHT_PLANE);
        request.need.plane = 0;
        assert_int_equal(explain_request(memo, pool, &request, now_ms, &why, &err), 0);
        assert_int_equal(why.verdict, VERDICT_STARTING);
        request = labelled(share_of(1, "u", "any"), "ours");
        assert_int_equal(explain_request(memo, pool, &request, now_ms, &why, &err), 0);
        assert_int_equal(why.gates[GATE_ALLOWED].right, RIGHT_TRUST);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, open_pool, close_with_policy)
        const struct CMUnitTest tests[] = {
                ROW(shares_lie_together_where_trust_allows),
                ROW(who_trusts_two_does_not_join_them),
                ROW(slices_and_nodes_ask_for_no_trust),
                ROW(classes_keep_apart_both_ways),
                ROW(a_class_apart_from_itself_has_its_devices_alone),
                ROW(labels_keep_other_labels_off),
                ROW(a_label_chooses_planes_and_nodes),
                ROW(a_label_says_methods_and_trust),
                ROW(a_label_stays_what_it_is_when_the_policy_changes),
                ROW(planes_of_class_and_tenant_are_kept),
                ROW(replicas_lie_on_different_nodes),
                ROW(without_a_policy_as_well),
                ROW(replicas_lie_in_different_racks),
                ROW(the_class_may_ask_for_it),
                ROW(a_gang_leaves_barred_devices_alone),
                ROW(a_victim_takes_its_bar_with_it),
                ROW(a_kept_place_counts_like_work),
                ROW(methods_are_those_that_all_allow),
                ROW(nodes_say_what_is_in_the_way),
                ROW(a_refusal_says_what_is_not_allowed),
        };

        return cmocka_run_group_tests(tests, models_load, models_drop);
}
