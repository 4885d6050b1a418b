#include "agent/environment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/exchange.h"
#include "agent/secrets.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define OURS_MAX   40    /* variables that are set here */
#define PORT_FIRST 20000 /* below what the kernel gives out by itself */
#define PORTS      10000

struct building {
        const struct environment_setup *setup;
        struct arena *arena;
        const char **list;
        size_t count, room;
        bool failed; /* out of memory */
};

static void add(struct building *building, const char *name, const char *value)
{
        size_t size = strlen(name) + strlen(value) + 2;
        char *variable =
                building->count < building->room ? arena_alloc(building->arena, size) : NULL;

        building->failed = building->failed || !variable;
        if (!variable)
                return;
        snprintf(variable, size, "%s=%s", name, value);
        building->list[building->count++] = variable;
}

static void addf(struct building *building, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void addf(struct building *building, const char *name, const char *format, ...)
{
        char value[8192];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(value, sizeof value, format, arguments);
        va_end(arguments);
        add(building, name, value);
}

static void add_text(struct building *building, const char *name, struct text *text)
{
        building->failed = building->failed || text->failed;
        if (!text->failed)
                add(building, name, text->bytes ? text->bytes : "");
        text_done(text);
}

/* ---- what is fixed ---- */

/* Variables of these names come from here alone. */
static bool is_fixed(const char *name)
{
        static const char *const names[] = {
                "CUDA_VISIBLE_DEVICES",
                "NVIDIA_VISIBLE_DEVICES",
                "ROCR_VISIBLE_DEVICES",
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
        };

        if (strncmp(name, "BERTH_", 6) == 0)
                return true;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (str_equal(names[i], name))
                        return true;
        return false;
}

static bool is_given(const struct run_spec *spec, const char *name)
{
        for (uint32_t i = 0; i < spec->env_count; i++)
                if (str_equal(spec->env_names[i], name))
                        return true;
        return false;
}

/* Unless the run has its own. */
static void add_default(struct building *building, const char *name, const char *value)
{
        if (!is_given(building->setup->spec, name))
                add(building, name, value);
}

static void add_number(struct building *building, const char *name, uint64_t number)
{
        char text[24];

        snprintf(text, sizeof text, "%" PRIu64, number);
        add_default(building, name, text);
}

/* ---- devices ---- */

static int part_uuid(const struct environment_setup *setup, const struct run_device *part,
                     char ret_uuid[DEVICE_UUID_MAX], struct err *err)
{
        const struct device_info *device = device_find(setup->devices, part->index);

        if (!device)
                return err_set(err, ERR_NOT_FOUND, "there is no device %u on this node",
                               part->index);
        if (part->method == RUN_SLICE)
                return setup->backend->ops->slice_uuid(setup->backend->self, part->index,
                                                       part->profile, part->start, ret_uuid, err);
        str_copy(ret_uuid, DEVICE_UUID_MAX, device->uuid);
        return 0;
}

/* The limits of a shared part, by the place of its device among those the run sees. */
static void add_share_limits(struct building *building)
{
        const struct run_spec *spec = building->setup->spec;
        struct text memory = {0};
        uint32_t share_milli = 0;

        for (uint32_t i = 0; i < spec->devices_count; i++) {
                const struct run_device *part = &spec->devices[i];
                if (part->method != RUN_SHARE)
                        continue;
                if (part->share_milli > 0 && (share_milli == 0 || part->share_milli < share_milli))
                        share_milli = part->share_milli;
                if (part->memory_mib > 0)
                        text_add(&memory, "%s%u=%" PRIu64 "M", memory.size ? "," : "", i,
                                 part->memory_mib);
        }
        /* One figure for all devices: the least; whole percent, and not 0, which is no limit. */
        if (share_milli > 0)
                addf(building, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "%u",
                     share_milli < 10 ? 1 : share_milli / 10);
        if (memory.size)
                add_text(building, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", &memory);
        else
                text_done(&memory);
}

static int add_devices(struct building *building, struct err *err)
{
        const struct run_spec *spec = building->setup->spec;
        struct text uuids = {0}, indexes = {0};
        char uuid[DEVICE_UUID_MAX];
        int rc = 0;

        for (uint32_t i = 0; i < spec->devices_count && rc == 0; i++) {
                if ((rc = part_uuid(building->setup, &spec->devices[i], uuid, err)) < 0)
                        break;
                text_add(&uuids, "%s%s", i ? "," : "", uuid);
                text_add(&indexes, "%s%u", i ? "," : "", spec->devices[i].index);
        }
        if (rc == 0) {
                const char *list = uuids.bytes && !uuids.failed ? uuids.bytes : "";
                building->failed = building->failed || uuids.failed;
                /* Empty hides every device; NVIDIA's container tools have a word for it. */
                add(building, "CUDA_VISIBLE_DEVICES", list);
                add(building, "ROCR_VISIBLE_DEVICES", list);
                add(building, "NVIDIA_VISIBLE_DEVICES", list[0] ? list : "void");
                add_text(building, "BERTH_DEVICES", &indexes);
                add_share_limits(building);
        }
        text_done(&uuids);
        text_done(&indexes);
        return rc;
}

/* ---- the gang ---- */

static void add_gang(struct building *building)
{
        const struct run_spec *spec = building->setup->spec;
        struct text addresses = {0};

        text_add(&addresses, "%s", "");
        for (uint32_t i = 0; i < spec->addresses_count; i++)
                text_add(&addresses, "%s%s", i ? "," : "", spec->addresses[i]);
        add_text(building, "BERTH_ADDRESSES", &addresses);
        addf(building, "BERTH_RANK", "%u", spec->rank);
        addf(building, "BERTH_WORLD_SIZE", "%u", spec->world);
        add_number(building, "RANK", spec->rank);
        add_number(building, "NODE_RANK", spec->rank);
        add_number(building, "WORLD_SIZE", spec->world);
        add_default(building, "MASTER_ADDR",
                    spec->addresses_count ? spec->addresses[0] : building->setup->node);
        /* All members come to the same one without asking each other. */
        add_number(building, "MASTER_PORT", PORT_FIRST + spec->key.workload % PORTS);
}

static void add_account(struct building *building)
{
        const struct environment_setup *setup = building->setup;

        add_default(building, "PATH", "/usr/local/bin:/usr/bin:/bin");
        add_default(building, "LANG", "C.UTF-8");
        add_default(building, "HOME", setup->home);
        add_default(building, "USER", setup->account);
        add_default(building, "LOGNAME", setup->account);
        add_default(building, "SHELL", setup->shell[0] ? setup->shell : "/bin/sh");
}

static void add_berth(struct building *building)
{
        const struct environment_setup *setup = building->setup;
        const struct run_spec *spec = setup->spec;

        addf(building, "BERTH_WORKLOAD", "%" PRIu64, spec->key.workload);
        addf(building, "BERTH_MEMBER", "%u", spec->key.member);
        addf(building, "BERTH_EPOCH", "%" PRIu64, spec->key.epoch);
        add(building, "BERTH_NAME", spec->name);
        add(building, "BERTH_TENANT", spec->tenant);
        add(building, "BERTH_SUBMITTER", spec->user);
        add(building, "BERTH_NODE", setup->node);
        if (spec->is_task)
                addf(building, "BERTH_ARRAY_INDEX", "%" PRIu32, spec->array_index);
        addf(building, "BERTH_NOTICE_FILE", "%s/notice.json", setup->run_folder);
        addf(building, "BERTH_CHECKPOINT_FILE", "%s/checkpoint", setup->run_folder);
        if (spec->secrets_count > 0)
                addf(building, "BERTH_SECRETS", "%s/" SECRETS_IN_RUN, setup->run_folder);
        if (spec->checkpoint_signal[0])
                add(building, "BERTH_CHECKPOINT_SIGNAL", spec->checkpoint_signal);
        if (spec->cpu_milli > 0)
                addf(building, "BERTH_CPU_MILLI", "%" PRIu64, spec->cpu_milli);
        if (spec->ram_mib > 0)
                addf(building, "BERTH_RAM_MIB", "%" PRIu64, spec->ram_mib);
}

const char *environment_mark(const char *run_folder, struct arena *arena)
{
        const char *key = strrchr(run_folder, '/');
        size_t size = 2 * strlen(run_folder) + sizeof "BERTH_RUN=@";
        char *mark = arena_alloc(arena, size);

        if (mark)
                snprintf(mark, size, "BERTH_RUN=%s@%s", key ? key + 1 : run_folder, run_folder);
        return mark;
}

static void add_mark(struct building *building)
{
        const char *mark = environment_mark(building->setup->run_folder, building->arena);

        building->failed = building->failed || !mark;
        if (mark)
                building->list[building->count++] = mark;
}

int environment_make(const struct environment_setup *setup, struct arena *arena,
                     const char ***ret_variables, size_t *ret_count, struct err *err)
{
        const struct run_spec *spec = setup->spec;
        struct building building = {
                .setup = setup,
                .arena = arena,
                .room = spec->env_count + OURS_MAX,
        };

        building.list = arena_array(arena, building.room + 1, sizeof *building.list);
        if (!building.list)
                return err_set(err, ERR_NOMEM, "out of memory");
        add_mark(&building);
        add_berth(&building);
        add_gang(&building);
        add_account(&building);
        int rc = add_devices(&building, err);
        for (uint32_t i = 0; i < spec->env_count; i++)
                if (!is_fixed(spec->env_names[i]))
                        add(&building, spec->env_names[i], spec->env_values[i]);
        if (rc == 0 && building.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc < 0)
                return rc;
        *ret_variables = building.list;
        *ret_count = building.count;
        return 0;
}
