#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "device/sim.h"

static void a_nodes_devices_are_as_the_pool_says(void **state)
{
        (void)state;
        const struct device_sim_setup setup = {"gpu-01", "H100-80", 81920, 8, 1 << 6, NULL};
        struct device_backend backend;
        struct device_list list;
        char uuid[DEVICE_UUID_MAX];
        struct err err;

        assert_int_equal(device_sim_new(&setup, &backend, &err), 0);
        assert_string_equal(backend.ops->name, "sim");
        assert_int_equal(backend.ops->list(backend.self, &list, &err), 0);
        assert_int_equal(list.count, 8);
        for (uint32_t i = 0; i < 8; i++) {
                const struct device_info *device = device_find(&list, i);
                assert_int_equal(device->index, i);
                assert_string_equal(device->model, "H100-80");
                assert_int_equal(device->memory_mib, 81920);
                assert_int_equal(device->is_broken, i == 6);
        }
        assert_string_equal(device_find(&list, 7)->uuid, "SIM-gpu-01-7");
        assert_null(device_find(&list, 8));
        assert_int_equal(backend.ops->slice_uuid(backend.self, 7, "1g.10gb", 3, uuid, &err), 0);
        assert_string_equal(uuid, "SIM-gpu-01-7-1g.10gb-3");
        assert_int_equal(backend.ops->slice_uuid(backend.self, 8, "1g.10gb", 3, uuid, &err),
                         -ERR_NOT_FOUND);
        backend.ops->free(backend.self);
        backend.ops->free(NULL);
}

static void there_are_so_many_at_most(void **state)
{
        (void)state;
        struct device_sim_setup setup = {"n", "m", 0, DEVICES_MAX, 0, NULL};
        struct device_backend backend;
        char name[200];
        struct err err;

        assert_int_equal(device_sim_new(&setup, &backend, &err), 0);
        backend.ops->free(backend.self);
        setup.count++;
        assert_int_equal(device_sim_new(&setup, &backend, &err), -ERR_RANGE);
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        setup.count = 1;
        setup.node = name;
        assert_int_equal(device_sim_new(&setup, &backend, &err), -ERR_RANGE);
}

static void a_file_breaks_and_mends_devices(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                uint64_t broken;
        } rows[] = {
                {"", 0},
                {"1", 2},
                {"0 1\n3", 1 | 2 | 8},
                {"2, 64, -1, x", 4},
        };
        char path[] = "/tmp/berth-sim-XXXXXX";
        int fd = mkstemp(path);
        const struct device_sim_setup setup = {"n", "m", 0, 4, 0, path};
        struct device_backend backend;
        struct device_list list;
        struct err err;

        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(device_sim_new(&setup, &backend, &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(file_write(path, rows[i].text, strlen(rows[i].text), &err), 0);
                assert_int_equal(backend.ops->list(backend.self, &list, &err), 0);
                for (uint32_t d = 0; d < 4; d++)
                        assert_int_equal(list.devices[d].is_broken, rows[i].broken >> d & 1);
        }
        unlink(path);
        assert_int_equal(backend.ops->list(backend.self, &list, &err), 0);
        assert_false(list.devices[2].is_broken);
        backend.ops->free(backend.self);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_nodes_devices_are_as_the_pool_says),
                cmocka_unit_test(there_are_so_many_at_most),
                cmocka_unit_test(a_file_breaks_and_mends_devices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
