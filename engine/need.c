#include "engine/need.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "engine/units.h"

static const char *const near_names[] = {
#define X(name, wire) wire,
        NEAR_LEVELS(X)
#undef X
};
_Static_assert(sizeof near_names / sizeof near_names[0] == NEAR_LEVELS_END, "a name per level");

const char *near_level_name(enum near_level level)
{
        return near_names[level];
}

static int check_bound(struct err *err, const char *field, uint64_t value, uint64_t max)
{
        if (value <= max)
                return 0;
        return err_set(err, ERR_RANGE, "%s is %" PRIu64 "; at most %" PRIu64 " is possible", field,
                       value, max);
}

static int check_bounds(const struct request *request, struct err *err)
{
        const struct need *need = &request->need;
        const struct {
                const char *field;
                uint64_t value, max;
        } rows[] = {
                {"devices", need->devices, NODE_DEVICES_MAX},
                {"cpu (milli cores)", need->cpu_milli, CPU_MILLI_MAX},
                {"ram (MiB)", need->ram_mib, RAM_MIB_MAX},
                {"disk (MiB)", need->disk_mib, DISK_MIB_MAX},
                {"network (Mbit/s)", need->network_mbit, NETWORK_MBIT_MAX},
                {"device memory (MiB)", need->memory_mib, DEVICE_MIB_MAX},
                {"share (thousandths)", need->share_milli, SHARE_WHOLE},
                {"members", request->form.members, MEMBERS_MAX},
                {"near", request->form.near, NEAR_LEVELS_END - 1},
                {"spread", request->form.spread, SPREAD_LEVELS_END - 1},
                {"artifact", need->artifact, 64},
                {"ask", need->ask, ASK_SHARE},
        };
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                int rc = check_bound(err, rows[i].field, rows[i].value, rows[i].max);
                if (rc)
                        return rc;
        }
        return 0;
}

static int check_ask(const struct need *need, struct err *err)
{
        if (need->ask != ASK_NOTHING && need->devices == 0)
                return err_set(err, ERR_INPUT, "a part of a device is asked for, but 0 devices");
        if (need->ask == ASK_PROFILE && need->profile == 0)
                return err_set(err, ERR_INPUT, "a slice is asked for without a profile name");
        if (need->ask == ASK_MEMORY && need->memory_mib == 0)
                return err_set(err, ERR_INPUT, "memory of at least 0 MiB: ask for some memory");
        if (need->ask == ASK_SHARE && need->memory_mib == 0 && need->share_milli == 0)
                return err_set(err, ERR_INPUT, "a share of nothing: name compute, memory or both");
        if (need->models == 0)
                return err_set(err, ERR_INPUT, "no device model is allowed");
        return 0;
}

static void settle_need(struct need *need)
{
        if (need->devices == 0)
                need->ask = ASK_NOTHING;
        if (need->ask == ASK_NOTHING) {
                need->devices = 0;
                need->models = UINT64_MAX;
        }
        if (need->ask != ASK_PROFILE)
                need->profile = 0;
        if (need->ask != ASK_MEMORY && need->ask != ASK_SHARE)
                need->memory_mib = 0;
        if (need->ask != ASK_SHARE)
                need->share_milli = 0;
        if (need->ask != ASK_MEMORY)
                need->methods = 0;
        else if (need->methods == 0)
                need->methods = METHODS_BY_MEMORY;
        memset(need->reserved, 0, sizeof need->reserved);
}

static void settle_form(struct form *form, bool has_mates)
{
        if (form->near == NEAR_POOL || form->near == NEAR_NONE) {
                form->near = NEAR_NONE;
                form->near_required = 0;
        }
        if (form->members <= 1 && !has_mates)
                form->spread = SPREAD_NONE;
        form->near_required = form->near_required != 0;
        form->reserved = 0;
}

static int check_after(const struct request *request, struct err *err)
{
        if (request->after_count > AFTER_MAX)
                return err_set(err, ERR_RANGE, "it waits for more than %d workloads", AFTER_MAX);
        for (unsigned i = 0; i < request->after_count; i++)
                if (request->after[i] == request->workload)
                        return err_set(err, ERR_INPUT, "it waits for its own end");
        return 0;
}

int request_settle(struct request *request, struct err *err)
{
        struct need *need = &request->need;
        int rc = check_after(request, err);

        if (rc)
                return rc;
        if (request->form.members == 0)
                return err_set(err, ERR_INPUT, "a workload has at least 1 member");
        rc = check_bounds(request, err);
        if (!rc)
                rc = check_ask(need, err);
        if (rc)
                return rc;
        settle_need(need);
        settle_form(&request->form, request->group != 0);
        /* One member is one node: any level from the node upwards holds by itself. */
        if (request->form.members == 1 &&
            (request->form.near != NEAR_DEVICE_LINKS || need->devices < 2)) {
                request->form.near = NEAR_NONE;
                request->form.near_required = 0;
        }
        return 0;
}

uint64_t need_hash(const struct need *need)
{
        uint64_t words[sizeof *need / 8];
        uint64_t hash = 0x6265727468;

        memcpy(words, need, sizeof words);
        for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
                hash = map_mix(hash ^ words[i]) + i;
        return hash;
}

bool need_equal(const struct need *a, const struct need *b)
{
        return memcmp(a, b, sizeof *a) == 0;
}

bool form_equal(const struct form *a, const struct form *b)
{
        return a->members == b->members && a->near == b->near &&
               a->near_required == b->near_required && a->spread == b->spread;
}

bool form_is_gang(const struct form *form)
{
        return form->members > 1 || form->near != NEAR_NONE;
}
