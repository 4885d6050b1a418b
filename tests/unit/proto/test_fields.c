/* Structs as tables of fields: numbers at their bounds, lists, words, what is refused; and that the
 * tables of the log and of snapshots forget no member. */
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "engine/price.h"
#include "proto/state_fields.h"
#include "tests/unit/proto/tables.h"

/* ---- a struct with a field of each kind ---- */

struct inner {
        uint8_t low;
        int32_t change;
};

struct sample {
        bool truth;
        uint8_t byte;
        uint16_t half;
        uint32_t word;
        uint64_t number;
        int32_t small;
        int64_t large;
        uint8_t colour;                 /* a word */
        struct inner inner;
        uint8_t few_count;
        uint64_t few[3];
        uint32_t pairs_count;
        struct inner pairs[2];
};

static const char *colour_word(unsigned colour)
{
        static const char *const words[] = {"red", "green", "blue"};

        return words[colour];
}

static const struct field inner_list[] = {FIELD(inner, low), FIELD(inner, change)};
static const struct fields inner_fields = FIELDS(inner_list);
static const struct field sample_list[] = {
        FIELD(sample, truth),
        FIELD(sample, byte),
        FIELD(sample, half),
        FIELD(sample, word),
        FIELD(sample, number),
        FIELD(sample, small),
        FIELD(sample, large),
        FIELD_WORD(sample, colour, colour_word, 3),
        FIELD_STRUCT_OF(sample, inner, inner_fields),
        FIELD_LIST_OF_NUMBERS(sample, few, few_count),
        FIELD_LIST_OF(sample, pairs, pairs_count, inner_fields),
};
static const struct fields sample_fields = FIELDS(sample_list);

static int read_text(const char *text, const char *const *skip, struct sample *ret_sample,
                     struct err *err)
{
        json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);

        if (!object)
                fail_msg("'%s' is no JSON", text);
        memset(ret_sample, 0, sizeof *ret_sample);
        int rc = fields_read(&sample_fields, object, skip, ret_sample, err);
        json_decref(object);
        return rc;
}

static void write_sample(const struct sample *sample, struct text *text)
{
        text_add(text, "{\"is\":1");
        fields_write(&sample_fields, sample, text);
        text_add(text, "}");
        assert_false(text->failed);
}

static const char *const is[] = {"is", NULL};

/* ---- there and back ---- */

static void every_kind_of_field_comes_back(void **state)
{
        struct sample sample = {0}, back;
        struct text text = {0};
        struct err err = {0};
        uint64_t next = 0;

        (void)state;
        fill(&sample_fields, &sample, &next);
        write_sample(&sample, &text);
        if (read_text(text.bytes, is, &back, &err))
                fail_msg("%s: %s", text.bytes, err.text);
        check_same(&sample_fields, &back, &sample, sizeof sample, text.bytes);
        text_done(&text);
}

static void what_is_zero_is_left_out(void **state)
{
        struct sample sample = {0}, back;
        struct text text = {0};
        struct err err = {0};

        (void)state;
        write_sample(&sample, &text);
        assert_string_equal(text.bytes, "{\"is\":1,\"inner\":{}}");
        assert_int_equal(read_text("{}", NULL, &back, &err), 0);
        check_same(&sample_fields, &back, &sample, sizeof sample, "nothing");
        text_done(&text);
}

static void numbers_at_their_bounds_come_back(void **state)
{
        static const struct sample rows[] = {
                {.byte = UINT8_MAX, .half = UINT16_MAX, .word = UINT32_MAX, .number = UINT64_MAX},
                {.number = INT64_MAX},
                {.number = (uint64_t)INT64_MAX + 1},
                {.small = INT32_MIN, .large = INT64_MIN},
                {.small = INT32_MAX, .large = INT64_MAX},
                {.small = -1, .large = -1},
                {.few_count = 3, .few = {UINT64_MAX, 0, INT64_MAX}},
                {.pairs_count = 2, .pairs = {{.change = INT32_MIN}, {0}}},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct text text = {0};
                struct err err = {0};
                struct sample back;
                write_sample(&rows[i], &text);
                if (read_text(text.bytes, is, &back, &err))
                        fail_msg("%s: %s", text.bytes, err.text);
                check_same(&sample_fields, &back, &rows[i], sizeof back, text.bytes);
                text_done(&text);
        }
}

static void the_text_is_as_it_was(void **state)
{
        struct sample sample = {.truth = true,
                                .number = UINT64_MAX,
                                .small = -7,
                                .colour = 2,
                                .inner = {.low = 3},
                                .few_count = 2,
                                .few = {0, 9},
                                .pairs_count = 2,
                                .pairs = {{0}, {.low = 1, .change = -1}}};
        struct text text = {0};

        (void)state;
        write_sample(&sample, &text);
        assert_string_equal(text.bytes,
                            "{\"is\":1,\"truth\":true,\"number\":\"18446744073709551615\","
                            "\"small\":-7,\"colour\":\"blue\",\"inner\":{\"low\":3},"
                            "\"few\":[0,9],\"pairs\":[{},{\"low\":1,\"change\":-1}]}");
        text_done(&text);
}

/* ---- what is refused, and what is not ---- */

static void what_does_not_fit_is_refused(void **state)
{
        static const struct {
                const char *text, *says;        /* NULL: it is taken */
        } rows[] = {
                {"{\"byte\":255}", NULL},
                {"{\"byte\":256}", "field 'byte' is no number of its kind: it is too large"},
                {"{\"byte\":-1}", "field 'byte' is no number of its kind: it is negative"},
                {"{\"half\":65535}", NULL},
                {"{\"half\":65536}", "'half' is no number of its kind: it is too large"},
                {"{\"word\":4294967295}", NULL},
                {"{\"word\":4294967296}", "'word' is no number of its kind: it is too large"},
                {"{\"word\":-4294967295}", "'word' is no number of its kind: it is negative"},
                {"{\"word\":\"5\"}", "field 'word' is no whole number"},
                {"{\"number\":9223372036854775807}", NULL},
                {"{\"number\":\"18446744073709551615\"}", NULL},
                {"{\"number\":\"18446744073709551616\"}", "field 'number' is no whole number"},
                {"{\"number\":\"-1\"}", "field 'number' is no whole number"},
                {"{\"number\":\"+1\"}", "field 'number' is no whole number"},
                {"{\"number\":\" 1\"}", "field 'number' is no whole number"},
                {"{\"number\":\"1 \"}", "field 'number' is no whole number"},
                {"{\"number\":\"\"}", "field 'number' is no whole number"},
                {"{\"number\":-1}", "field 'number' is no number of its kind: it is negative"},
                {"{\"number\":1.0}", "field 'number' is no whole number"},
                {"{\"number\":null}", "field 'number' is no whole number"},
                {"{\"number\":true}", "field 'number' is no whole number"},
                {"{\"small\":-2147483648}", NULL},
                {"{\"small\":2147483647}", NULL},
                {"{\"small\":-2147483649}", "field 'small' is no number of its kind"},
                {"{\"small\":2147483648}", "field 'small' is no number of its kind"},
                {"{\"small\":4294967295}", "field 'small' is no number of its kind"},
                {"{\"large\":-9223372036854775808}", NULL},
                {"{\"large\":\"9223372036854775808\"}", "field 'large' is no whole number"},
                {"{\"truth\":false}", NULL},
                {"{\"truth\":1}", "field 'truth' is no truth value"},
                {"{\"truth\":\"true\"}", "field 'truth' is no truth value"},
                {"{\"colour\":\"red\"}", NULL},
                {"{\"colour\":\"mauve\"}", "field 'colour' is no word that is known"},
                {"{\"colour\":\"\"}", "field 'colour' is no word that is known"},
                {"{\"colour\":1}", "field 'colour' is no word that is known"},
                {"{\"few\":[1,2,3]}", NULL},
                {"{\"few\":[1,2,3,4]}", "field 'few' is no list of a length that fits"},
                {"{\"few\":{}}", "field 'few' is no list of a length that fits"},
                {"{\"few\":7}", "field 'few' is no list of a length that fits"},
                {"{\"few\":[1,-2]}", "field 'few' is no number of its kind: it is negative"},
                {"{\"few\":[[]]}", "field 'few' is no whole number"},
                {"{\"pairs\":[{},{}]}", NULL},
                {"{\"pairs\":[{},{},{}]}", "field 'pairs' is no list of a length that fits"},
                {"{\"pairs\":[5]}", "there is no object"},
                {"{\"pairs\":[{\"high\":1}]}", "field 'high' is not known here"},
                {"{\"inner\":{\"low\":256}}", "field 'low' is no number of its kind"},
                {"{\"inner\":[]}", "there is no object"},
                {"{\"colors\":1}", "field 'colors' is not known here"},
                {"{\"byte\":1,\"low\":1}", "field 'low' is not known here"},
                {"[]", "there is no object"},
                {"7", "there is no object"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct sample sample;
                int rc = read_text(rows[i].text, NULL, &sample, &err);
                if (rc != (rows[i].says ? -ERR_INPUT : 0))
                        fail_msg("%s: %d (%s)", rows[i].text, rc, err.text);
                if (rows[i].says)
                        check_has(err.text, rows[i].says);
        }
}

static void names_from_outside_are_fit_for_a_sentence(void **state)
{
        struct err err = {0};
        struct sample sample;

        (void)state;
        assert_int_equal(read_text("{\"a\\nb\\u001bc\":1}", NULL, &sample, &err), -ERR_INPUT);
        assert_string_equal(err.text, "field 'a?b?c' is not known here");
}

static void members_of_the_callers_are_let_pass(void **state)
{
        static const char *const beside[] = {"time", "policy", NULL};
        struct err err = {0};
        struct sample sample;

        (void)state;
        assert_int_equal(read_text("{\"time\":[],\"byte\":4,\"policy\":{}}", beside, &sample,
                                   &err), 0);
        assert_int_equal(sample.byte, 4);
        assert_int_equal(read_text("{\"time\":[],\"group\":4}", beside, &sample, &err),
                         -ERR_INPUT);
}

static void a_text_without_memory_stays_failed(void **state)
{
        struct sample sample = {0};
        uint64_t next = 0;
        unsigned long tries = 0;
        bool happened;

        (void)state;
        fill(&sample_fields, &sample, &next);
        do {
                struct text text = {0};
                mem_fail_at(++tries);
                text_add(&text, "{\"is\":1");
                fields_write(&sample_fields, &sample, &text);
                happened = mem_fail_happened();
                mem_fail_at(0);
                assert_int_equal(text.failed, happened);
                text_done(&text);
        } while (happened);
        assert_true(tries > 1);
}

/* ---- the engine's structs ---- */

static const struct nested nested[] = {
        {&log_need_fields, sizeof(struct need)},
        {&log_form_fields, sizeof(struct form)},
        {&log_request_fields, sizeof(struct request)},
        {&log_part_fields, sizeof(struct part)},
        {&log_place_fields, sizeof(struct fact_allocated)},
        {&log_desc_fields, sizeof(struct node_desc)},
        {&log_layout_fields, sizeof(struct fact_layout)},
        {&log_report_fields, sizeof(struct layout_report)},
        {&state_slots_fields, sizeof(struct slots)},
        {NULL, 0},
};

static void check_names(const char *what, const struct fields *fields)
{
        for (size_t i = 0; i < fields->count; i++)
                for (size_t j = 0; j < i; j++)
                        if (strcmp(fields->list[i].name, fields->list[j].name) == 0)
                                fail_msg("two fields of struct %s are '%s'", what,
                                         fields->list[i].name);
}

static void check_table(const char *what, const struct fields *fields, const void *members,
                        size_t size)
{
        unsigned char *map = calloc(size, 1);

        assert_non_null(map);
        cover(fields, nested, map);
        check_covered(what, members, size, map);
        check_names(what, fields);
        free(map);
}

#define CHECK(type, fields)                                             \
        do {                                                            \
                struct type it;                                         \
                ALL_MEMBERS(it);                                        \
                check_table(#type, &(fields), &it, sizeof it);          \
        } while (0)
#define CHECK_BUT(type, fields, ...)                                    \
        do {                                                            \
                struct type it;                                         \
                ALL_MEMBERS(it);                                        \
                __VA_ARGS__;                                            \
                check_table(#type, &(fields), &it, sizeof it);          \
        } while (0)

static void the_log_forgets_no_member(void **state)
{
        (void)state;
        if (!KNOWS_PADDING)
                skip();
        CHECK_BUT(need, log_need_fields, LEFT_OUT(it, reserved));
        CHECK_BUT(form, log_form_fields, LEFT_OUT(it, reserved));
        CHECK(request, log_request_fields);
        CHECK_BUT(part, log_part_fields, LEFT_OUT(it, reserved));
        CHECK(fact_allocated, log_place_fields);
        CHECK(node_desc, log_desc_fields);
        CHECK(fact_layout, log_layout_fields);
        CHECK(layout_report, log_report_fields);
}

static void a_snapshot_forgets_no_member_of_a_row(void **state)
{
        (void)state;
        if (!KNOWS_PADDING)
                skip();
        CHECK(state_bounds, state_bounds_fields);
        CHECK(slots, state_slots_fields);
        CHECK(node, state_node_fields);
        CHECK_BUT(device, state_device_fields, LEFT_OUT(it, state.reserved));
        CHECK_BUT(shape, state_shape_fields, LEFT_OUT(it, models));     /* measured anew */
        CHECK(bucket, state_bucket_fields);
        CHECK(workload, state_workload_fields);
        CHECK(member, state_member_fields);
        CHECK(held_part, state_part_fields);
        CHECK(plan, state_plan_fields);
        CHECK_BUT(plan_place, state_plan_place_fields, GAP(it, parts_count, parts));
        CHECK(after_link, state_after_fields);
        CHECK_BUT(maintenance_window, state_window_fields, LEFT_OUT(it, name));  /* a string */
        CHECK(price_shape, state_price_fields);
        CHECK(budget_use, state_budget_fields);
        /* Numbers of their own. */
        CHECK_BUT(runs, state_runs_fields, LEFT_OUT(it, newest), LEFT_OUT(it, sorted));
}

/* Tables with tables of their own, keys entered anew, and what a memo follows. */
static void a_snapshot_forgets_no_number_of_a_state(void **state)
{
        (void)state;
        if (!KNOWS_PADDING)
                skip();
        struct state it;
        ALL_MEMBERS(it);
        LEFT_OUT(it, bounds);                   /* a table of its own */
        LEFT_OUT(it, models);
        LEFT_OUT(it, vocab);
#define X(table, count) LEFT_OUT(it, table);
        STATE_TABLES(X, &it)
#undef X
        LEFT_OUT(it, node_by_name);
        LEFT_OUT(it, shape_by_hash);
        LEFT_OUT(it, bucket_by_hash);
        LEFT_OUT(it, workload_by_id);
        LEFT_OUT(it, array_running);
        LEFT_OUT(it, first_of_group);
        LEFT_OUT(it, plan);
        LEFT_OUT(it, accounts);
        LEFT_OUT(it, capacity);
        LEFT_OUT(it, used);
        LEFT_OUT(it, maintenance);
        LEFT_OUT(it, changes);
        LEFT_OUT(it, changes_count);
        LEFT_OUT(it, arrays_version);
        LEFT_OUT(it, moves_version);
        GAP(it, nodes_closing, now_ms);
        GAP(it, asked_slot, arrivals);
        check_table("state", &state_fields, &it, sizeof it);
}

static void a_snapshot_forgets_no_number_of_accounts(void **state)
{
        (void)state;
        if (!KNOWS_PADDING)
                skip();
        struct accounts it;
        ALL_MEMBERS(it);
        LEFT_OUT(it, tenancy);
        LEFT_OUT(it, tenants);
#define X(table, count) LEFT_OUT(it, table);
        ACCOUNTS_TABLES(X, 0)
#undef X
        LEFT_OUT(it, kept);
        LEFT_OUT(it, running);
        LEFT_OUT(it, versions);
        LEFT_OUT(it, times);
        LEFT_OUT(it, isolation);                /* made from the policy */
        check_table("accounts", &state_accounts_fields, &it, sizeof it);
}

/* The check itself: a table that lacks a field is found out. */
static void a_field_that_is_missing_is_found(void **state)
{
        struct inner it;
        unsigned char map[sizeof it] = {0};
        const unsigned char *members = (const unsigned char *)&it;
        struct fields half = {inner_list, 1};
        unsigned missing = 0;

        (void)state;
        if (!KNOWS_PADDING)
                skip();
        ALL_MEMBERS(it);
        cover(&half, NULL, map);
        for (size_t i = 0; i < sizeof it; i++)
                missing += members[i] && !map[i];
        assert_int_equal(missing, sizeof it.change);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_kind_of_field_comes_back),
                cmocka_unit_test(what_is_zero_is_left_out),
                cmocka_unit_test(numbers_at_their_bounds_come_back),
                cmocka_unit_test(the_text_is_as_it_was),
                cmocka_unit_test(what_does_not_fit_is_refused),
                cmocka_unit_test(names_from_outside_are_fit_for_a_sentence),
                cmocka_unit_test(members_of_the_callers_are_let_pass),
                cmocka_unit_test(a_text_without_memory_stays_failed),
                cmocka_unit_test(the_log_forgets_no_member),
                cmocka_unit_test(a_snapshot_forgets_no_member_of_a_row),
                cmocka_unit_test(a_snapshot_forgets_no_number_of_a_state),
                cmocka_unit_test(a_snapshot_forgets_no_number_of_accounts),
                cmocka_unit_test(a_field_that_is_missing_is_found),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
