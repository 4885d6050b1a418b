#include "base/err.h"
#include "base/mem.h"
#include "engine/need.h"
#include "tests/unit/check.h"

static struct request plain(void)
{
        return (struct request){.workload = 1,
                                .need = {.models = UINT64_MAX, .ask = ASK_WHOLE, .devices = 1},
                                .form = {.members = 1}};
}

static void bounds_and_contradictions_are_named(void **state)
{
        (void)state;
#define NEED(...) {.need = {.models = UINT64_MAX, __VA_ARGS__}, .form = {.members = 1}}
#define FORM(...)                                                        \
        {.need = {.models = UINT64_MAX, .ask = ASK_WHOLE, .devices = 1}, \
         .form = {__VA_ARGS__}}
        static const struct {
                struct request request;
                int rc;
                const char *names;      /* what the sentence must hold */
        } rows[] = {
                { NEED(.ask = ASK_WHOLE, .devices = NODE_DEVICES_MAX), 0, NULL },
                { NEED(.ask = ASK_WHOLE, .devices = NODE_DEVICES_MAX + 1), -ERR_RANGE, "devices" },
                { NEED(.cpu_milli = CPU_MILLI_MAX), 0, NULL },
                { NEED(.cpu_milli = CPU_MILLI_MAX + 1), -ERR_RANGE, "cpu" },
                { NEED(.ram_mib = RAM_MIB_MAX), 0, NULL },
                { NEED(.ram_mib = RAM_MIB_MAX + 1), -ERR_RANGE, "ram" },
                { NEED(.disk_mib = DISK_MIB_MAX), 0, NULL },
                { NEED(.disk_mib = DISK_MIB_MAX + 1), -ERR_RANGE, "disk" },
                { NEED(.network_mbit = NETWORK_MBIT_MAX), 0, NULL },
                { NEED(.network_mbit = NETWORK_MBIT_MAX + 1), -ERR_RANGE, "network" },
                { NEED(.ask = ASK_MEMORY, .devices = 1, .memory_mib = DEVICE_MIB_MAX), 0, NULL },
                { NEED(.ask = ASK_MEMORY, .devices = 1, .memory_mib = DEVICE_MIB_MAX + 1),
                  -ERR_RANGE, "memory" },
                { NEED(.ask = ASK_SHARE, .devices = 1, .share_milli = 1000), 0, NULL },
                { NEED(.ask = ASK_SHARE, .devices = 1, .share_milli = 1001), -ERR_RANGE, "share" },
                { NEED(.ask = ASK_SHARE + 1, .devices = 1), -ERR_RANGE, "ask" },
                { FORM(.members = MEMBERS_MAX), 0, NULL },
                { FORM(.members = MEMBERS_MAX + 1), -ERR_RANGE, "members" },
                { FORM(.members = 0), -ERR_INPUT, "member" },
                { FORM(.members = 2, .near = NEAR_LEVELS_END - 1), 0, NULL },
                { FORM(.members = 2, .near = NEAR_LEVELS_END), -ERR_RANGE, "near" },
                { FORM(.members = 2, .spread = SPREAD_LEVELS_END - 1), 0, NULL },
                { FORM(.members = 2, .spread = SPREAD_LEVELS_END), -ERR_RANGE, "spread" },
                /* asks that name nothing */
                { NEED(.ask = ASK_WHOLE, .devices = 0), -ERR_INPUT, "devices" },
                { NEED(.ask = ASK_PROFILE, .devices = 1), -ERR_INPUT, "profile" },
                { NEED(.ask = ASK_MEMORY, .devices = 1), -ERR_INPUT, "memory" },
                { NEED(.ask = ASK_SHARE, .devices = 1), -ERR_INPUT, "share" },
                { {.need = {.models = 0, .ask = ASK_WHOLE, .devices = 1}, .form = {.members = 1}},
                  -ERR_INPUT, "model" },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct request request = rows[i].request;
                struct err err = {0};
                int rc = request_settle(&request, &err);
                if (rc != rows[i].rc)
                        fail_msg("row %zu: %d instead of %d (%s)", i, rc, rows[i].rc, err.text);
                if (rows[i].names)
                        check_has(err.text, rows[i].names);
                if (rc)
                        assert_int_equal(err.code, -rc);
        }
#undef NEED
#undef FORM
}

/* Two ways to say the same must be the same bytes. */
static void what_can_not_matter_becomes_zero(void **state)
{
        (void)state;
        struct request a, b;

        a = plain();
        b = plain();
        b.need.memory_mib = 4000;               /* of a whole device */
        b.need.share_milli = 500;
        b.need.profile = 7;
        b.need.methods = METHOD_BIT(METHOD_SHARE);
        memset(b.need.reserved, 0x5a, sizeof b.need.reserved);
        b.form.spread = SPREAD_RACK;            /* of one member */
        b.form.near = NEAR_RACK;
        b.form.near_required = 7;
        b.form.reserved = 9;
        assert_int_equal(request_settle(&a, NULL), 0);
        assert_int_equal(request_settle(&b, NULL), 0);
        assert_true(need_equal(&a.need, &b.need));
        assert_true(form_equal(&a.form, &b.form));
        assert_memory_equal(&a.need, &b.need, sizeof a.need);
        assert_memory_equal(&a.form, &b.form, sizeof a.form);
        assert_true(need_hash(&a.need) == need_hash(&b.need));

        /* CPU work does not care for models. */
        a = plain();
        a.need.ask = ASK_NOTHING;
        a.need.devices = 0;
        b = a;
        b.need.models = 5;
        b.need.devices = 3;
        assert_int_equal(request_settle(&a, NULL), 0);
        assert_int_equal(request_settle(&b, NULL), 0);
        assert_memory_equal(&a.need, &b.need, sizeof a.need);
        assert_int_equal(a.need.devices, 0);
}

static void no_method_named_means_whole_or_slice(void **state)
{
        (void)state;
        struct request request = plain();

        request.need.ask = ASK_MEMORY;
        request.need.memory_mib = 10000;
        assert_int_equal(request_settle(&request, NULL), 0);
        assert_int_equal(request.need.methods, METHODS_BY_MEMORY);
        request.need.methods = METHOD_BIT(METHOD_SHARE);
        assert_int_equal(request_settle(&request, NULL), 0);
        assert_int_equal(request.need.methods, METHOD_BIT(METHOD_SHARE));
}

static void settling_twice_changes_nothing(void **state)
{
        (void)state;
        struct request request = plain();

        request.form = (struct form){.members = 3, .near = NEAR_BLOCK, .near_required = 1,
                                     .spread = SPREAD_NODE};
        request.need.ask = ASK_SHARE;
        request.need.share_milli = 250;
        assert_int_equal(request_settle(&request, NULL), 0);
        struct request again = request;
        assert_int_equal(request_settle(&again, NULL), 0);
        assert_memory_equal(&request.need, &again.need, sizeof again.need);
        assert_memory_equal(&request.form, &again.form, sizeof again.form);
}

static void a_gang_is_more_members_or_a_wish_for_links(void **state)
{
        (void)state;
        static const struct { struct form form; uint8_t devices; bool gang; } rows[] = {
                { {.members = 1}, 1, false },
                { {.members = 1, .near = NEAR_RACK, .near_required = 1}, 2, false },
                { {.members = 1, .near = NEAR_DEVICE_LINKS}, 1, false },
                { {.members = 1, .near = NEAR_DEVICE_LINKS}, 2, true },
                { {.members = 2}, 1, true },
                { {.members = 2, .near = NEAR_POOL, .near_required = 1}, 1, true },
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct request request = plain();
                request.form = rows[i].form;
                request.need.devices = rows[i].devices;
                assert_int_equal(request_settle(&request, NULL), 0);
                assert_int_equal(form_is_gang(&request.form), rows[i].gang);
                if (rows[i].form.near == NEAR_POOL)     /* the whole pool is no wish */
                        assert_int_equal(request.form.near, NEAR_NONE);
        }
}

static void levels_have_their_names(void **state)
{
        (void)state;
        assert_string_equal(near_level_name(NEAR_NONE), "none");
        assert_string_equal(near_level_name(NEAR_DEVICE_LINKS), "device-links");
        assert_string_equal(near_level_name(NEAR_POOL), "pool");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bounds_and_contradictions_are_named),
                cmocka_unit_test(what_can_not_matter_becomes_zero),
                cmocka_unit_test(no_method_named_means_whole_or_slice),
                cmocka_unit_test(settling_twice_changes_nothing),
                cmocka_unit_test(a_gang_is_more_members_or_a_wish_for_links),
                cmocka_unit_test(levels_have_their_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
