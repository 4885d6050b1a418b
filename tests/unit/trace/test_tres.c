#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "trace/tres.h"

static void totals_and_types_name_the_same_devices(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                uint32_t members, devices, share_milli;
                const char *model, *profile;
                bool is_uneven, is_mixed, is_untyped;
        } rows[] = {
                {"", 1, 0, 0, "", "", 0, 0, 0},
                {"billing=1,cpu=2,mem=4G,node=1", 1, 0, 0, "", "", 0, 0, 0},
                {"gres/gpu=1", 1, 1, 0, "", "", 0, 0, 1},
                {"billing=4,cpu=2,gres/gpu:a100=4,gres/gpu=4,node=2", 2, 2, 0, "a100", "", 0, 0, 0},
                {"gres/gpu=4,node=2,gres/gpu:a100=4", 2, 2, 0, "a100", "", 0, 0, 0},
                {"gres/gpu:a100=4", 1, 4, 0, "a100", "", 0, 0, 0},
                {"gres/gpu:a100=5,gres/gpu=5", 2, 3, 0, "a100", "", 1, 0, 0},
                {"gres/gpu=1", 2, 1, 0, "", "", 1, 0, 1},
                {"gres/gpu:nvidia_a100_80gb_pcie=2,gres/gpu=2", 1, 2, 0, "nvidia_a100_80gb_pcie",
                 "", 0, 0, 0},
                {"gres/gpu:amd_mi300x=8,gres/gpu=8", 1, 8, 0, "amd_mi300x", "", 0, 0, 0},
                /* Slices. */
                {"gres/gpu:a100_3g.20gb=1,gres/gpu=1", 1, 1, 0, "a100", "3g.20gb", 0, 0, 0},
                {"gres/gpu:3g.20gb=2,gres/gpu=2", 2, 1, 0, "", "3g.20gb", 0, 0, 0},
                {"gres/gpu:a100_mig_1g.5gb+me=1", 1, 1, 0, "a100", "1g.5gb+me", 0, 0, 0},
                {"gres/gpu:a100-1g.5gb.me=1", 1, 1, 0, "a100", "1g.5gb+me", 0, 0, 0},
                {"gres/gpu:h100_1g.10gb_extra=1", 1, 1, 0, "h100_1g.10gb_extra", "", 0, 0, 0},
                {"gres/gpu:x3g.20gb=1", 1, 1, 0, "x3g.20gb", "", 0, 0, 0},
                {"gres/gpu:a100_3g.20gb=2,gres/gpu=3", 1, 3, 0, "a100", "3g.20gb", 0, 1, 0},
                {"gres/gpu:a100_1g.5gb=1,gres/gpu:a100_3g.20gb=2,gres/gpu=3", 1, 3, 0, "a100",
                 "3g.20gb", 0, 1, 0},
                /* More types than one. */
                {"gres/gpu:a100=2,gres/gpu:h100=2,gres/gpu=4", 2, 2, 0, "", "", 0, 1, 0},
                {"gres/gpu:a100=0,gres/gpu:h100=2,gres/gpu=2", 1, 2, 0, "h100", "", 0, 0, 0},
                /* Shares: four shards are one device here. */
                {"cpu=1,gres/shard=2,node=1", 1, 1, 500, "", "", 0, 0, 1},
                {"gres/shard:a100=1,gres/shard=1", 1, 1, 250, "a100", "", 0, 0, 0},
                {"gres/shard=4", 1, 1, 0, "", "", 0, 0, 1},
                {"gres/shard=6", 1, 2, 750, "", "", 0, 0, 1},
                {"gres/shard=3", 2, 1, 500, "", "", 1, 0, 1},
                {"gres/mps:h100=50,gres/mps=50,node=1", 1, 1, 500, "h100", "", 0, 0, 0},
                {"gres/mps=100", 1, 1, 0, "", "", 0, 0, 1},
                {"gres/mps=33", 2, 1, 170, "", "", 1, 0, 1},
                {"gres/gpu:a100=1,gres/gpu=1,gres/shard=2", 1, 1, 0, "a100", "", 0, 1, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct tres tres;
                struct tres_devices part;
                struct err err = {0};
                if (tres_parse(rows[i].text, &tres, &err) < 0)
                        fail_msg("'%s': %s", rows[i].text, err.text);
                tres_divide(&tres, rows[i].members, 4, &part);
                if (part.devices != rows[i].devices || part.share_milli != rows[i].share_milli ||
                    part.is_uneven != rows[i].is_uneven || part.is_mixed != rows[i].is_mixed ||
                    part.is_untyped != rows[i].is_untyped)
                        fail_msg("'%s': %u devices, share %u, uneven %d, mixed %d, untyped %d",
                                 rows[i].text, part.devices, part.share_milli, part.is_uneven,
                                 part.is_mixed, part.is_untyped);
                assert_string_equal(part.model, rows[i].model);
                assert_string_equal(part.profile, rows[i].profile);
        }
}

static void amounts_are_read_with_their_letters(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                uint64_t cpus, ram_mib;
                uint32_t nodes;
        } rows[] = {
                {"cpu=32,mem=400G,node=2", 32, 409600, 2},
                {"mem=62.50G", 0, 64000, 0},
                {"mem=1.5T", 0, 1572864, 0},
                {"mem=4000M", 0, 4000, 0},
                {"mem=4000", 0, 4000, 0},
                {"mem=1K", 0, 1, 0},         /* rounded up */
                {"mem=62.53G", 0, 64031, 0}, /* 64030.72 */
                {"mem=0.50M", 0, 1, 0},
                {"mem=0", 0, 0, 0},
                {"mem=1P", 0, 1u << 30, 0},
                {"cpu=2K,node=1K", 2048, 0, 1024},
                {"cpu=1.5K", 1536, 0, 0},
                {"node=1000000", 0, 0, 1000000},
                {"license/sim=2,fs/disk=12x,bb/cray=7,cpu=1", 1, 0, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct tres tres;
                struct err err = {0};
                if (tres_parse(rows[i].text, &tres, &err) < 0)
                        fail_msg("'%s': %s", rows[i].text, err.text);
                assert_int_equal(tres.cpus, rows[i].cpus);
                assert_int_equal(tres.ram_mib, rows[i].ram_mib);
                assert_int_equal(tres.nodes, rows[i].nodes);
        }
}

static void what_is_no_tres_string_is_refused(void **state)
{
        (void)state;
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                {"cpu", "'cpu' is not of the form name=number"},
                {"=4", "'=4' is not of the form"},
                {"cpu=1,,node=1", "'' is not of the form"},
                {"cpu=", "cpu: is empty"},
                {"cpu=x", "cpu: 'x' is not a number"},
                {"cpu=-1", "cpu: '-1' is negative"},
                {"cpu=1.5", "cpu: '1.5' is not a whole number"},
                {"cpu=100000001", "cpu: '100000001' is more than the 100000000 that are read"},
                {"node=1000001", "node: '1000001' is more than the 1000000"},
                {"mem=1Z", "mem: '1Z' is not a number"},
                {"mem=K", "mem: is empty"},
                {"mem=2E", "mem: '2E' is more than"},
                {"mem=10000000000000000000000G", "is too long for a number"},
                {"gres/gpu=2000000", "gres/gpu: '2000000' is more than the 1000000"},
                {"gres/gpu:=1", "'' is no type of a device"},
                {"gres/gpu:a b=1", "'a b' is no type of a device"},
                {"gres/gpu:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1", "1 to 47 bytes"},
                {"gres/gpu:1g.11111111111111111111111111gb=1", "a profile up to 23"},
                {"gres/gpu:a=600000,gres/gpu:b=600000", "has more than 1000000 devices"},
                {"gres/gpu:a=1,gres/gpu:b=1,gres/gpu:c=1,gres/gpu:d=1,gres/gpu:e=1,gres/gpu:f=1,"
                 "gres/gpu:g=1,gres/gpu:h=1,gres/gpu:i=1",
                 "has more than 8 types"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct tres tres = {.nodes = 77};
                struct err err = {0};
                int rc = tres_parse(rows[i].text, &tres, &err);
                if (rc != -ERR_INPUT && rc != -ERR_RANGE)
                        fail_msg("'%s' was not refused: %d", rows[i].text, rc);
                check_has(err.text, rows[i].sentence);
                assert_int_equal(tres.nodes, 77);
        }
}

static void a_string_has_a_bound(void **state)
{
        (void)state;
        char text[TRES_TEXT_MAX + 1];
        struct tres tres;
        struct err err = {0};

        memset(text, '1', sizeof text);
        memcpy(text, "license/x=", 10);
        text[TRES_TEXT_MAX - 1] = '\0';
        assert_int_equal(tres_parse(text, &tres, &err), 0);
        text[TRES_TEXT_MAX - 1] = '1';
        text[TRES_TEXT_MAX] = '\0';
        assert_int_equal(tres_parse(text, &tres, &err), -ERR_RANGE);
        check_has(err.text, "is longer than 4095 bytes");
        assert_int_equal(tres_parse("cpu", &tres, NULL), -ERR_INPUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(totals_and_types_name_the_same_devices),
                cmocka_unit_test(amounts_are_read_with_their_letters),
                cmocka_unit_test(what_is_no_tres_string_is_refused),
                cmocka_unit_test(a_string_has_a_bound),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
