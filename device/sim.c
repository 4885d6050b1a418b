#include "device/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define BROKEN_FILE_MAX 4096

struct sim {
        char broken_file[4096]; /* "" = none */
        uint64_t broken;
        struct device_list list; /* with nothing broken */
};

/* What the file says now. An operator's scratch file: what cannot be read breaks nothing. */
static uint64_t read_broken(const struct sim *sim)
{
        uint64_t broken = 0, index;
        char *bytes, *rest, *word;
        size_t size;

        if (!sim->broken_file[0] ||
            file_read(sim->broken_file, BROKEN_FILE_MAX, &bytes, &size, NULL) < 0)
                return 0;
        for (word = strtok_r(bytes, " \t\r\n,", &rest); word;
             word = strtok_r(NULL, " \t\r\n,", &rest))
                if (num_u64(word, 0, DEVICES_MAX - 1, &index, NULL) == 0)
                        broken |= 1ull << index;
        mem_free(bytes);
        return broken;
}

static int sim_list(void *self, struct device_list *ret_list, struct err *err)
{
        const struct sim *sim = self;
        uint64_t broken = sim->broken | read_broken(sim);

        (void)err;
        *ret_list = sim->list;
        for (uint32_t i = 0; i < ret_list->count; i++)
                ret_list->devices[i].is_broken = broken >> ret_list->devices[i].index & 1;
        return 0;
}

static int sim_slice_uuid(void *self, uint32_t index, const char *profile, uint32_t start,
                          char ret_uuid[DEVICE_UUID_MAX], struct err *err)
{
        const struct sim *sim = self;
        const struct device_info *device = device_find(&sim->list, index);
        char uuid[DEVICE_UUID_MAX];

        if (!device)
                return err_set(err, ERR_NOT_FOUND, "there is no device %u here; there are %u",
                               index, sim->list.count);
        int length = snprintf(uuid, sizeof uuid, "%s-%s-%u", device->uuid, profile, start);
        if (length < 0 || (size_t)length >= sizeof uuid)
                return err_set(err, ERR_RANGE, "the profile's name is too long");
        str_copy(ret_uuid, DEVICE_UUID_MAX, uuid);
        return 0;
}

static void sim_free(void *self)
{
        mem_free(self);
}

static const struct device_ops sim_ops = {
        .name = "sim",
        .list = sim_list,
        .slice_uuid = sim_slice_uuid,
        .free = sim_free,
};

int device_sim_new(const struct device_sim_setup *setup, struct device_backend *ret_backend,
                   struct err *err)
{
        char uuid[DEVICE_UUID_MAX];

        assert(setup->node && setup->model);
        if (setup->count > DEVICES_MAX)
                return err_set(err, ERR_RANGE, "%u devices; a node has at most %d", setup->count,
                               DEVICES_MAX);
        struct sim *sim = mem_new(1, sizeof *sim);
        if (!sim)
                return err_set(err, ERR_NOMEM, "out of memory");
        bool fits = !setup->broken_file ||
                    str_copy(sim->broken_file, sizeof sim->broken_file, setup->broken_file);
        sim->broken = setup->broken;
        sim->list.count = setup->count;
        for (uint32_t i = 0; i < setup->count && fits; i++) {
                struct device_info *device = &sim->list.devices[i];
                int length = snprintf(uuid, sizeof uuid, "SIM-%s-%u", setup->node, i);
                device->index = i;
                device->memory_mib = setup->memory_mib;
                fits = length > 0 && (size_t)length < sizeof uuid &&
                       str_copy(device->uuid, sizeof device->uuid, uuid) &&
                       str_copy(device->model, sizeof device->model, setup->model);
        }
        if (!fits) {
                sim_free(sim);
                return err_set(err, ERR_RANGE, "a name is too long for a device of this node");
        }
        *ret_backend = (struct device_backend){&sim_ops, sim};
        return 0;
}
