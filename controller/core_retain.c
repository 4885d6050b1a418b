/* What is older than it need be goes, between commits. */
#include "controller/core_impl.h"

#include <sodium.h>
#include <stdio.h>

#include "base/mem.h"
#include "store/prune.h"
#include "store/retain.h"
#include "store/store.h"

struct going {
        struct retain *retain;
        struct seal_key key;
};

static void going_free(struct going *going)
{
        retain_free(going->retain);
        sodium_memzero(&going->key, sizeof going->key);
        mem_free(going);
}

static int step(void *self, struct store *store, struct err *err)
{
        struct going *going = self;

        return retain_step(going->retain, store, err);
}

/* From the writer's thread. What was left undone is done by the next one. */
static void done(void *self, int rc, const struct err *err)
{
        (void)rc;
        (void)err;
        going_free(self);
}

int core_retain(struct core *core, uint32_t record_days, uint32_t object_days,
                uint32_t usage_months, struct err *err)
{
        struct going *going = mem_new(1, sizeof *going);
        char path[4096];
        int rc;

        if (!going)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)snprintf(path, sizeof path, "%s.key", store_path(core->setup.store));
        rc = core_may_act(core, err);
        if (rc == 0)
                rc = seal_key_load(path, &going->key, err);
        const struct retain_rules rules = {.record_days = record_days,
                                           .object_days = object_days,
                                           .usage_months = usage_months,
                                           .now_ms = core->now_ms,
                                           .key = &going->key};
        const struct writer_chore chore = {.self = going, .step = step, .done = done};
        if (rc == 0)
                rc = retain_new(&rules, &going->retain, err);
        if (rc == 0)
                rc = writer_chore(core->writer, &chore, err);
        if (rc < 0)
                going_free(going);
        return rc;
}
