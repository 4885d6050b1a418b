/* Facts and inputs as JSON: every kind with every field, and what is refused. */
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/log_fact.h"
#include "tests/unit/proto/tables.h"

static json_t *load(const char *text)
{
        json_error_t error;
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

        if (!json)
                fail_msg("'%s': %s", text, error.text);
        return json;
}

/* ---- nothing is forgotten ---- */

static const struct nested nested[] = {
        {&log_request_fields, sizeof(struct request)},
        {&log_place_fields, sizeof(struct fact_allocated)},
        {&log_desc_fields, sizeof(struct node_desc)},
        {&log_layout_fields, sizeof(struct fact_layout)},
        {&log_report_fields, sizeof(struct layout_report)},
        {NULL, 0},
};

/* The table of the kind has all of its member, and nothing else. */
static void check_kind(const char *name, const struct fields *fields, const void *members,
                       size_t size, size_t at, size_t whole)
{
        unsigned char *map = calloc(whole, 1);

        assert_non_null(map);
        cover(fields, nested, map);
        check_covered(name, members, size, map + at);
        for (size_t i = 0; i < whole; i++)
                if (map[i] && (i < at || i >= at + size))
                        fail_msg("'%s' has a field of another kind", name);
        free(map);
}

#define FACT_MEMBER(fact_kind, member)                                                          \
        do {                                                                                    \
                __typeof__(((struct fact *)NULL)->member) it;                                   \
                ALL_MEMBERS(it);                                                                \
                check_kind(fact_name(fact_kind), log_fact_fields(fact_kind), &it, sizeof it,    \
                           offsetof(struct fact, member), sizeof(struct fact));                 \
        } while (0)
#define INPUT_MEMBER(input_kind, member)                                                        \
        do {                                                                                    \
                __typeof__(((struct input *)NULL)->member) it;                                  \
                ALL_MEMBERS(it);                                                                \
                check_kind(input_name(input_kind), log_input_fields(input_kind), &it, sizeof it, \
                           offsetof(struct input, member), sizeof(struct input));               \
        } while (0)

/* A kind that is new stops the compiler here. */
static void check_fact_kind(enum fact_kind kind)
{
        switch (kind) {
        case FACT_QUEUED:
                FACT_MEMBER(kind, queued);
                break;
        case FACT_REFUSED:
                FACT_MEMBER(kind, refused);
                break;
        case FACT_ALLOCATED:
                FACT_MEMBER(kind, allocated);
                break;
        case FACT_RELEASED:
                FACT_MEMBER(kind, released);
                break;
        case FACT_REQUEUED:
                FACT_MEMBER(kind, requeued);
                break;
        case FACT_CHECKPOINT_SET:
                FACT_MEMBER(kind, checkpoint);
                break;
        case FACT_USE_SET:
                FACT_MEMBER(kind, use);
                break;
        case FACT_IDLE_WARNED:
                FACT_MEMBER(kind, warned);
                break;
        case FACT_HOLDS_SET:
                FACT_MEMBER(kind, holds);
                break;
        case FACT_RESCUED:
                FACT_MEMBER(kind, rescued);
                break;
        case FACT_STANDING_SET:
                FACT_MEMBER(kind, standing);
                break;
        case FACT_PROMISES_SEEN:
                FACT_MEMBER(kind, tree);
                break;
        case FACT_PLANNED:
                FACT_MEMBER(kind, planned);
                break;
        case FACT_PLACE_KEPT:
                FACT_MEMBER(kind, kept);
                break;
        case FACT_NOTICED:
                FACT_MEMBER(kind, noticed);
                break;
        case FACT_NOTICE_WITHDRAWN:
                FACT_MEMBER(kind, stays);
                break;
        case FACT_PLAN_ENDED:
                FACT_MEMBER(kind, plan_ended);
                break;
        case FACT_NODE_HELD:
        case FACT_NODE_LET_GO:
                FACT_MEMBER(kind, node_held);
                break;
        case FACT_FREEZE_IN:
                FACT_MEMBER(kind, freeze);
                break;
        case FACT_ETA_SET:
                FACT_MEMBER(kind, eta);
                break;
        case FACT_LAYOUT_STEP:
                FACT_MEMBER(kind, layout_step);
                break;
        case FACT_LAYOUT_SEEN:
                FACT_MEMBER(kind, layout_seen);
                break;
        case FACT_NODE_SET:
                FACT_MEMBER(kind, node_set);
                break;
        case FACT_NODE_DOWN:
                FACT_MEMBER(kind, down);
                break;
        case FACT_NODE_GONE:
                FACT_MEMBER(kind, node);
                break;
        case FACT_TIME_SET:
                FACT_MEMBER(kind, now_ms);
                break;
        case FACT_POLICY_IN:
        case FACT_MAINTENANCE_IN:
        case FACT_DEMAND_SET:
                assert_int_equal(log_fact_fields(kind)->count, 0);
                break;
        case FACTS_END:
                fail();
        }
}

static void check_input_kind(enum input_kind kind)
{
        switch (kind) {
        case INPUT_SUBMITTED:
                INPUT_MEMBER(kind, request);
                break;
        case INPUT_CANCELLED:
        case INPUT_EXITED:
        case INPUT_FAILED:
        case INPUT_STOPPED:
        case INPUT_LOST:
                INPUT_MEMBER(kind, workload);
                break;
        case INPUT_CHECKPOINTED:
                INPUT_MEMBER(kind, checkpoint);
                break;
        case INPUT_STOP_ASKED:
                INPUT_MEMBER(kind, stop);
                break;
        case INPUT_MOVE_ASKED:
                INPUT_MEMBER(kind, move);
                break;
        case INPUT_USE_REPORTED:
                INPUT_MEMBER(kind, use);
                break;
        case INPUT_HOLD_CHANGED:
                INPUT_MEMBER(kind, hold);
                break;
        case INPUT_NODE_JOINED:
        case INPUT_NODE_CHANGED:
        case INPUT_NODE_DESCRIBED:
                INPUT_MEMBER(kind, node);
                break;
        case INPUT_NODE_FAILED:
                INPUT_MEMBER(kind, failed);
                break;
        case INPUT_DEVICES_FAILED:
                INPUT_MEMBER(kind, broke);
                break;
        case INPUT_NODE_REMOVED:
                INPUT_MEMBER(kind, node_name);
                break;
        case INPUT_LAYOUT_OBSERVED:
                INPUT_MEMBER(kind, layout);
                break;
        case INPUT_FREEZE_SET:
                INPUT_MEMBER(kind, freeze);
                break;
        case INPUT_ETA_SET:
                INPUT_MEMBER(kind, eta);
                break;
        case INPUT_PLAN_SET:
        case INPUT_POLICY_SET:
        case INPUT_MAINTENANCE_SET:
        case INPUT_TICKED:
                assert_int_equal(log_input_fields(kind)->count, 0);
                break;
        case INPUTS_END:
                fail();
        }
}

static void no_kind_forgets_a_field(void **state)
{
        (void)state;
        if (!KNOWS_PADDING)
                skip();
        for (unsigned kind = 0; kind < FACTS_END; kind++)
                check_fact_kind((enum fact_kind)kind);
        for (unsigned kind = 0; kind < INPUTS_END; kind++)
                check_input_kind((enum input_kind)kind);
}

/* ---- there and back ---- */

static void check_fact(const struct fact *fact)
{
        struct text text = {0};
        struct err err = {0};
        struct fact back;

        log_fact_write(fact, &text);
        assert_false(text.failed);
        json_t *object = load(text.bytes);
        memset(&back, 0xff, sizeof back);
        if (log_fact_read(object, &back, &err))
                fail_msg("%s: %s", text.bytes, err.text);
        assert_int_equal(back.kind, fact->kind);
        check_same(log_fact_fields(fact->kind), &back, fact, sizeof back, text.bytes);
        json_decref(object);
        text_done(&text);
}

static void every_fact_comes_back_with_every_field(void **state)
{
        uint64_t next = 0;

        (void)state;
        for (unsigned kind = 0; kind < FACTS_END; kind++) {
                struct fact fact;
                memset(&fact, 0, sizeof fact);
                fact.kind = kind;
                check_fact(&fact);
                fill(log_fact_fields(fact.kind), &fact, &next);
                check_fact(&fact);
        }
}

/* The caller's members stand around the input's. */
static void check_input(const struct input *input)
{
        static const char *const beside[] = {"at_ms", "policy", NULL};
        struct text text = {0};
        struct err err = {0};
        struct input back;

        text_add(&text, "{");
        log_input_write(input, &text);
        text_add(&text, ",\"at_ms\":5,\"policy\":{}}");
        assert_false(text.failed);
        json_t *object = load(text.bytes);
        memset(&back, 0xff, sizeof back);
        if (log_input_read(object, beside, &back, &err))
                fail_msg("%s: %s", text.bytes, err.text);
        assert_int_equal(back.kind, input->kind);
        check_same(log_input_fields(input->kind), &back, input, sizeof back, text.bytes);
        assert_int_equal(log_input_read(object, NULL, &back, &err), -ERR_INPUT);
        check_has(err.text, "is not known here");
        json_decref(object);
        text_done(&text);
}

static void every_input_comes_back_with_every_field(void **state)
{
        uint64_t next = 0;

        (void)state;
        for (unsigned kind = 0; kind < INPUTS_END; kind++) {
                struct input input;
                memset(&input, 0, sizeof input);
                input.kind = kind;
                check_input(&input);
                fill(log_input_fields(input.kind), &input, &next);
                check_input(&input);
        }
}

/* Policy, maintenance and plan are put in by whoever reads their input. */
static void what_is_large_is_not_written(void **state)
{
        static const struct {
                enum fact_kind kind;
                const char *text;
        } rows[] = {
                {FACT_POLICY_IN, "{\"fact\":\"policy_in_force\"}"},
                {FACT_MAINTENANCE_IN, "{\"fact\":\"maintenance_in_force\"}"},
                {FACT_DEMAND_SET, "{\"fact\":\"demand_set\"}"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fact fact = {.kind = rows[i].kind}, back;
                struct text text = {0};
                struct err err = {0};
                fact.plan = (const struct price_plan *)&fact;
                log_fact_write(&fact, &text);
                assert_string_equal(text.bytes, rows[i].text);
                json_t *object = load(text.bytes);
                memset(&back, 0xff, sizeof back);
                assert_int_equal(log_fact_read(object, &back, &err), 0);
                assert_null(back.accounts);
                assert_null(back.maintenance);
                assert_null(back.plan);
                json_decref(object);
                text_done(&text);
        }
}

static void none_and_the_largest_numbers_come_back(void **state)
{
        (void)state;
        check_fact(&(struct fact){.kind = FACT_NOTICED,
                                  .noticed = {.workload = UINT64_MAX,
                                              .plan = UINT32_MAX,      /* NONE */
                                              .cause = NOTICE_IDLE,
                                              .until_ms = INT64_MAX,
                                              .leave_by_ms = INT64_MIN,
                                              .units = (uint64_t)INT64_MAX + 1}});
        check_fact(&(struct fact){.kind = FACT_TIME_SET, .now_ms = INT64_MIN});
        check_fact(&(struct fact){.kind = FACT_NODE_GONE, .node = UINT32_MAX});
        check_fact(&(struct fact){
                .kind = FACT_QUEUED,
                .queued = {.need = {.models = UINT64_MAX}, .priority = INT32_MIN}});
}

/* ---- what is refused ---- */

static void other_facts_are_refused(void **state)
{
        static const struct {
                const char *text, *says;        /* NULL: it is taken */
        } rows[] = {
                {"{\"fact\":\"queued\",\"request\":{}}", NULL},
                {"{\"fact\":\"queued\"}", NULL},
                {"{}", "this is no fact that is known"},
                {"[]", "this is no fact that is known"},
                {"{\"fact\":\"\"}", "this is no fact that is known"},
                {"{\"fact\":\"queue\"}", "this is no fact that is known"},
                {"{\"fact\":\"queuedd\"}", "this is no fact that is known"},
                {"{\"fact\":0}", "this is no fact that is known"},
                {"{\"fact\":null}", "this is no fact that is known"},
                {"{\"input\":\"submitted\"}", "this is no fact that is known"},
                {"{\"fact\":\"queued\",\"workload\":1}",
                 "fact 'queued': field 'workload' is not known here"},
                {"{\"fact\":\"node_gone\",\"node\":-1}",
                 "fact 'node_gone': field 'node' is no number of its kind: it is negative"},
                {"{\"fact\":\"node_gone\",\"node\":4294967296}",
                 "fact 'node_gone': field 'node' is no number of its kind: it is too large"},
                {"{\"fact\":\"refused\",\"gate\":\"LIMITS\"}",
                 "fact 'refused': field 'gate' is no word that is known"},
                {"{\"fact\":\"refused\",\"gate\":\"LIMIT\"}", NULL},
                {"{\"fact\":\"policy_in_force\",\"policy\":{}}",
                 "fact 'policy_in_force': field 'policy' is not known here"},
                {"{\"fact\":\"allocated\",\"place\":{\"standing\":\"best\"}}",
                 "fact 'allocated': field 'standing' is no word that is known"},
                {"{\"fact\":\"allocated\",\"place\":{\"parts_count\":1}}",
                 "fact 'allocated': field 'parts_count' is not known here"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fact fact = {.kind = FACTS_END};
                struct err err = {0};
                json_t *object = load(rows[i].text);
                int rc = log_fact_read(object, &fact, &err);
                json_decref(object);
                if (rc != (rows[i].says ? -ERR_INPUT : 0))
                        fail_msg("%s: %d (%s)", rows[i].text, rc, err.text);
                if (!rows[i].says)
                        continue;
                assert_string_equal(err.text, rows[i].says);
                assert_int_equal(fact.kind, FACTS_END);         /* unchanged */
        }
}

static void other_inputs_are_refused(void **state)
{
        static const struct {
                const char *text, *says;
        } rows[] = {
                {"{\"input\":\"time_ticked\"}", NULL},
                {"{\"input\":\"node_failed\",\"node\":4294967295}", NULL},
                {"{}", "this is no input that is known"},
                {"{\"input\":\"ticked\"}", "this is no input that is known"},
                {"{\"input\":[\"time_ticked\"]}", "this is no input that is known"},
                {"{\"input\":\"time_ticked\",\"now_ms\":1}",
                 "input 'time_ticked': field 'now_ms' is not known here"},
                {"{\"input\":\"user_hold_changed\",\"held\":1}",
                 "input 'user_hold_changed': field 'held' is no truth value"},
                {"{\"input\":\"submitted\",\"request\":{\"priority\":2147483648}}",
                 "input 'submitted': field 'priority' is no number of its kind: it is too large"},
                {"{\"input\":\"submitted\",\"request\":{\"need\":{\"devices\":256}}}",
                 "input 'submitted': field 'devices' is no number of its kind: it is too large"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct input input = {.kind = INPUTS_END};
                struct err err = {0};
                json_t *object = load(rows[i].text);
                int rc = log_input_read(object, NULL, &input, &err);
                json_decref(object);
                if (rc != (rows[i].says ? -ERR_INPUT : 0))
                        fail_msg("%s: %d (%s)", rows[i].text, rc, err.text);
                if (!rows[i].says)
                        continue;
                assert_string_equal(err.text, rows[i].says);
                assert_int_equal(input.kind, INPUTS_END);
        }
}

/* A list of as many as there is room for, and of one more. */
static void lists_are_bounded(void **state)
{
        static const struct {
                const char *before, *item, *behind;
                unsigned most;
        } rows[] = {
                {"{\"fact\":\"queued\",\"request\":{\"after\":[", "7", "]}}", AFTER_MAX},
                {"{\"fact\":\"allocated\",\"place\":{\"parts\":[", "{\"device\":3}", "]}}",
                 NODE_DEVICES_MAX},
                {"{\"fact\":\"place_kept\",\"place\":{\"parts\":[", "{}", "]}}",
                 NODE_DEVICES_MAX},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (unsigned more = 0; more < 2; more++) {
                        struct text text = {0};
                        struct err err = {0};
                        struct fact fact;
                        text_add(&text, "%s", rows[i].before);
                        for (unsigned n = 0; n < rows[i].most + more; n++)
                                text_add(&text, "%s%s", n ? "," : "", rows[i].item);
                        text_add(&text, "%s", rows[i].behind);
                        json_t *object = load(text.bytes);
                        assert_int_equal(log_fact_read(object, &fact, &err),
                                         more ? -ERR_INPUT : 0);
                        if (more)
                                check_has(err.text, "is no list of a length that fits");
                        json_decref(object);
                        text_done(&text);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_kind_forgets_a_field),
                cmocka_unit_test(every_fact_comes_back_with_every_field),
                cmocka_unit_test(every_input_comes_back_with_every_field),
                cmocka_unit_test(what_is_large_is_not_written),
                cmocka_unit_test(none_and_the_largest_numbers_come_back),
                cmocka_unit_test(other_facts_are_refused),
                cmocka_unit_test(other_inputs_are_refused),
                cmocka_unit_test(lists_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
