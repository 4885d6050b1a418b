#include "tests/unit/check.h"

#include "agent/environment.h"
#include "agent/exchange.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "device/sim.h"

struct fixture {
        struct arena *arena;
        struct device_backend backend;
        struct device_list devices;
        struct run_spec spec;
        const char **variables;
        size_t count;
};

static void begin(struct fixture *fixture)
{
        static const char *addresses[] = {"gpu-01", "gpu-02"};
        const struct device_sim_setup sim = {"n1", "H100-80", 81920, 4, 0, NULL};
        struct err err;

        *fixture = (struct fixture){.arena = arena_new(0, 0)};
        assert_int_equal(device_sim_new(&sim, &fixture->backend, &err), 0);
        assert_int_equal(fixture->backend.ops->list(fixture->backend.self, &fixture->devices, &err),
                         0);
        fixture->spec = (struct run_spec){
                .key = {17, 1, 1042},
                .name = "llama-sft",
                .tenant = "research/nlp",
                .user = "ana",
                .checkpoint_signal = "USR1",
                .is_task = true,
                .rank = 1,
                .world = 2,
                .addresses = addresses,
                .addresses_count = 2,
        };
}

static int make(struct fixture *fixture, struct err *err)
{
        const struct environment_setup setup = {
                .spec = &fixture->spec,
                .node = "n1",
                .account = "ana",
                .home = "/home/ana",
                .shell = "",
                .run_folder = "/var/lib/berth-agent/runs/17.1.1042",
                .devices = &fixture->devices,
                .backend = &fixture->backend,
        };
        return environment_make(&setup, fixture->arena, &fixture->variables, &fixture->count, err);
}

static void end(struct fixture *fixture)
{
        fixture->backend.ops->free(fixture->backend.self);
        arena_free(fixture->arena);
}

/* The value, which is there exactly once; NULL: the variable is absent. */
static const char *value_of(const struct fixture *fixture, const char *name)
{
        const char *value = NULL;
        size_t length = strlen(name);

        assert_null(fixture->variables[fixture->count]);
        for (size_t i = 0; i < fixture->count; i++) {
                if (strncmp(fixture->variables[i], name, length) != 0 ||
                    fixture->variables[i][length] != '=')
                        continue;
                assert_null(value);
                value = fixture->variables[i] + length + 1;
        }
        return value;
}

static void a_run_learns_who_and_where_it_is(void **state)
{
        (void)state;
        static const struct {
                const char *name, *value;
        } rows[] = {
                {"BERTH_WORKLOAD", "17"},
                {"BERTH_MEMBER", "1"},
                {"BERTH_EPOCH", "1042"},
                {"BERTH_NAME", "llama-sft"},
                {"BERTH_TENANT", "research/nlp"},
                {"BERTH_NODE", "n1"},
                {"BERTH_ARRAY_INDEX", "0"},
                {"BERTH_RANK", "1"},
                {"BERTH_WORLD_SIZE", "2"},
                {"BERTH_ADDRESSES", "gpu-01,gpu-02"},
                {"BERTH_NOTICE_FILE", "/var/lib/berth-agent/runs/17.1.1042/notice.json"},
                {"BERTH_CHECKPOINT_FILE", "/var/lib/berth-agent/runs/17.1.1042/checkpoint"},
                {"BERTH_CHECKPOINT_SIGNAL", "USR1"},
                {"BERTH_RUN", "17.1.1042@/var/lib/berth-agent/runs/17.1.1042"},
                {"RANK", "1"},
                {"NODE_RANK", "1"},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", "gpu-01"},
                {"MASTER_PORT", "20017"},
                {"USER", "ana"},
                {"HOME", "/home/ana"},
                {"SHELL", "/bin/sh"},
                {"LANG", "C.UTF-8"},
                {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                {"CUDA_VISIBLE_DEVICES", ""},
                {"ROCR_VISIBLE_DEVICES", ""},
                {"NVIDIA_VISIBLE_DEVICES", "void"},
                {"BERTH_DEVICES", ""},
                {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", NULL},
                {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", NULL},
        };
        struct fixture fixture;
        struct err err;

        begin(&fixture);
        assert_int_equal(make(&fixture, &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *value = value_of(&fixture, rows[i].name);
                if (rows[i].value)
                        assert_string_equal(value, rows[i].value);
                else
                        assert_null(value);
        }
        end(&fixture);
}

static void devices_are_named_as_programs_call_them(void **state)
{
        (void)state;
        static struct run_device whole[] = {{0, RUN_WHOLE, "", 0, 0, 0},
                                            {2, RUN_WHOLE, "", 0, 0, 0}};
        static struct run_device slice[] = {{1, RUN_SLICE, "3g.40gb", 4, 0, 0}};
        static struct run_device shares[] = {{3, RUN_SHARE, "", 0, 255, 20480},
                                             {1, RUN_SHARE, "", 0, 500, 1024}};
        static struct run_device crumb[] = {{3, RUN_SHARE, "", 0, 1, 0}};
        static const struct {
                struct run_device *devices;
                uint32_t count;
                const char *visible, *indexes, *percent, *memory;
        } rows[] = {
                {whole, 2, "SIM-n1-0,SIM-n1-2", "0,2", NULL, NULL},
                {slice, 1, "SIM-n1-1-3g.40gb-4", "1", NULL, NULL},
                {shares, 2, "SIM-n1-3,SIM-n1-1", "3,1", "25", "0=20480M,1=1024M"},
                {crumb, 1, "SIM-n1-3", "3", "1", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture fixture;
                struct err err;
                begin(&fixture);
                fixture.spec.devices = rows[i].devices;
                fixture.spec.devices_count = rows[i].count;
                assert_int_equal(make(&fixture, &err), 0);
                assert_string_equal(value_of(&fixture, "CUDA_VISIBLE_DEVICES"), rows[i].visible);
                assert_string_equal(value_of(&fixture, "NVIDIA_VISIBLE_DEVICES"), rows[i].visible);
                assert_string_equal(value_of(&fixture, "ROCR_VISIBLE_DEVICES"), rows[i].visible);
                assert_string_equal(value_of(&fixture, "BERTH_DEVICES"), rows[i].indexes);
                const char *percent = value_of(&fixture, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
                const char *memory = value_of(&fixture, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
                assert_string_equal(percent ? percent : "none",
                                    rows[i].percent ? rows[i].percent : "none");
                assert_string_equal(memory ? memory : "none",
                                    rows[i].memory ? rows[i].memory : "none");
                end(&fixture);
        }
}

static void its_own_variables_win_but_not_over_what_confines_it(void **state)
{
        (void)state;
        static const char *names[] = {"PATH",
                                      "MASTER_PORT",
                                      "MINE",
                                      "BERTH_RANK",
                                      "BERTH_ANYTHING",
                                      "CUDA_VISIBLE_DEVICES",
                                      "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"};
        static const char *values[] = {"/opt/bin", "29500", "a=b", "9", "x", "all", "100"};
        struct fixture fixture;
        struct err err;

        begin(&fixture);
        fixture.spec.env_names = names;
        fixture.spec.env_values = values;
        fixture.spec.env_count = ARRAY_LEN(names);
        assert_int_equal(make(&fixture, &err), 0);
        assert_string_equal(value_of(&fixture, "PATH"), "/opt/bin");
        assert_string_equal(value_of(&fixture, "MASTER_PORT"), "29500");
        assert_string_equal(value_of(&fixture, "MINE"), "a=b");
        assert_string_equal(value_of(&fixture, "BERTH_RANK"), "1");
        assert_null(value_of(&fixture, "BERTH_ANYTHING"));
        assert_string_equal(value_of(&fixture, "CUDA_VISIBLE_DEVICES"), "");
        assert_null(value_of(&fixture, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
        end(&fixture);
}

static void a_device_that_is_not_here_is_an_error(void **state)
{
        (void)state;
        static struct run_device devices[] = {{4, RUN_WHOLE, "", 0, 0, 0}};
        struct fixture fixture;
        struct err err;

        begin(&fixture);
        fixture.spec.devices = devices;
        fixture.spec.devices_count = 1;
        assert_int_equal(make(&fixture, &err), -ERR_NOT_FOUND);
        check_has(err.text, "no device 4");
        devices[0].method = RUN_SLICE;
        devices[0].profile = "1g.10gb";
        assert_int_equal(make(&fixture, &err), -ERR_NOT_FOUND);
        end(&fixture);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_run_learns_who_and_where_it_is),
                cmocka_unit_test(devices_are_named_as_programs_call_them),
                cmocka_unit_test(its_own_variables_win_but_not_over_what_confines_it),
                cmocka_unit_test(a_device_that_is_not_here_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
