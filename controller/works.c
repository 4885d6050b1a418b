#include "controller/works.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/fact.h"
#include "engine/tenancy.h"

#define PERSON_COUNTS (TENANT_PATH_MAX / 2 + 1) /* of one at most: "a/b/c" is counted 4 times */

const char *phase_name(enum phase phase)
{
        static const char *const names[PHASES_END] = {
#define X(name, wire) [PHASE_##name] = wire,
                PHASES(X)
#undef X
        };

        return names[phase];
}

struct works {
        struct work *list;              /* packed: the last one moves into a gap */
        uint32_t count, room, max;
        struct map by_id;
        struct map by_name;             /* hash of tenant and name -> the newest one's place */
        struct map of_person;           /* hash of user and tenant -> how many, below it too */
};

/* ---- life ---- */

struct works *works_new(uint32_t works_max)
{
        struct works *works = mem_new(1, sizeof *works);

        if (!works)
                return NULL;
        works->max = works_max;
        map_init(&works->by_id, works_max);
        map_init(&works->by_name, works_max);
        map_init(&works->of_person, works_max < MAP_ENTRIES_MAX / PERSON_COUNTS
                                            ? works_max * PERSON_COUNTS
                                            : MAP_ENTRIES_MAX);
        return works;
}

static void work_done(struct work *work)
{
        mem_free(work->name);
        mem_free(work->tenant);
        mem_free(work->user);
        mem_free(work->members);
        mem_free(work->reason);
}

void works_free(struct works *works)
{
        if (!works)
                return;
        for (uint32_t w = 0; w < works->count; w++)
                work_done(&works->list[w]);
        mem_free(works->list);
        map_done(&works->by_id);
        map_done(&works->by_name);
        map_done(&works->of_person);
        mem_free(works);
}

/* ---- looking up ---- */

uint32_t works_count(const struct works *works)
{
        return works->count;
}

uint32_t works_room(const struct works *works)
{
        return works->max - works->count;
}

struct work *works_find(const struct works *works, uint64_t id)
{
        uint32_t at = map_get(&works->by_id, id);

        return at == MAP_NONE ? NULL : &works->list[at];
}

static uint64_t name_hash(const char *tenant, const char *name)
{
        uint64_t hash = 1;

        for (const char *at = tenant; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        map_chain(&hash, 0);
        for (const char *at = name; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        return hash;
}

static bool is_named(const struct work *work, const char *tenant, const char *name)
{
        return str_equal(work->name, name) && str_equal(work->tenant, tenant);
}

struct work *works_named(const struct works *works, const char *tenant, const char *name)
{
        uint32_t at = map_get(&works->by_name, name_hash(tenant, name));

        return at == MAP_NONE || !is_named(&works->list[at], tenant, name) ? NULL
                                                                          : &works->list[at];
}

struct work *works_next(const struct works *works, uint32_t *cursor)
{
        return *cursor < works->count ? &works->list[(*cursor)++] : NULL;
}

/* ---- how many a person has ---- */

static uint64_t person_hash(const char *user, const char *tenant, size_t length)
{
        uint64_t hash = 2;

        for (const char *at = user; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        map_chain(&hash, 0);
        for (size_t i = 0; i < length; i++)
                map_chain(&hash, (unsigned char)tenant[i]);
        return hash;
}

uint32_t works_of_person(const struct works *works, const char *user, const char *tenant)
{
        uint32_t count = map_get(&works->of_person, person_hash(user, tenant, strlen(tenant)));

        return count == MAP_NONE ? 0 : count;
}

/* "a/b/c" -> "a/b" -> "a" -> "", by their lengths; false: that was the last. */
static bool go_above(const char *tenant, size_t *length)
{
        if (*length == 0)
                return false;
        while (*length > 0 && tenant[*length - 1] != '/')
                (*length)--;
        *length -= *length > 0;
        return true;
}

static void uncount_to(struct works *works, const struct work *work, size_t end)
{
        size_t length = strlen(work->tenant);

        while (length != end) {
                uint64_t key = person_hash(work->user, work->tenant, length);
                uint32_t count = map_get(&works->of_person, key);
                assert(count != MAP_NONE);
                if (count > 1)          /* replaces: no room needed */
                        (void)map_set(&works->of_person, key, count - 1);
                else
                        (void)map_remove(&works->of_person, key);
                if (!go_above(work->tenant, &length))
                        return;
        }
}

static void uncount(struct works *works, const struct work *work)
{
        uncount_to(works, work, SIZE_MAX);
}

/* In all of them, or in none: false. */
static bool count(struct works *works, const struct work *work)
{
        size_t length = strlen(work->tenant);

        do {
                uint64_t key = person_hash(work->user, work->tenant, length);
                uint32_t before = map_get(&works->of_person, key);
                if (map_set(&works->of_person, key, before == MAP_NONE ? 1 : before + 1) != 0) {
                        uncount_to(works, work, length);
                        return false;
                }
        } while (go_above(work->tenant, &length));
        return true;
}

/* ---- changes ---- */

static char *copy(const char *text)
{
        size_t size = strlen(text) + 1;
        char *made = mem_new(size, 1);

        if (made)
                memcpy(made, text, size);
        return made;
}

static bool make_room(struct works *works)
{
        struct work *grown = mem_grow(works->list, works->count, &works->room, 64, sizeof *grown);

        if (grown)
                works->list = grown;
        return grown;
}

int works_add(struct works *works, uint64_t id, const char *tenant, const char *name,
              const char *user, uint32_t document, struct err *err)
{
        struct work work = {.id = id, .document = document};

        if (works_find(works, id))
                return err_set(err, ERR_EXISTS, "workload %llu is known already",
                               (unsigned long long)id);
        if (works->count == works->max)
                return err_set(err, ERR_FULL, "%u workloads are live: no more are taken",
                               works->max);
        struct work *older = works_named(works, tenant, name);
        if (older)
                work.older = older->id;
        work.name = copy(name);
        work.tenant = copy(tenant);
        work.user = copy(user);
        bool counted = work.name && work.tenant && work.user && count(works, &work);
        if (!counted || !make_room(works) ||
            map_set(&works->by_id, id, works->count) != 0 ||
            map_set(&works->by_name, name_hash(tenant, name), works->count) != 0) {
                (void)map_remove(&works->by_id, id);
                if (counted)
                        uncount(works, &work);
                work_done(&work);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        works->list[works->count++] = work;
        older = works_find(works, work.older);          /* it may have moved */
        if (older)
                older->newer = id;
        return 0;
}

/* Takes it out of the chain of its name; the one before it becomes the newest. */
static void leave_name(struct works *works, const struct work *work, uint32_t at)
{
        struct work *older = works_find(works, work->older);
        struct work *newer = works_find(works, work->newer);
        uint64_t name = name_hash(work->tenant, work->name);

        if (older)
                older->newer = work->newer;
        if (newer)
                newer->older = work->older;
        if (map_get(&works->by_name, name) != at)
                return;
        if (older)                      /* replaces: no room needed */
                (void)map_set(&works->by_name, name, (uint32_t)(older - works->list));
        else
                (void)map_remove(&works->by_name, name);
}

void works_drop(struct works *works, uint64_t id)
{
        uint32_t at = map_get(&works->by_id, id);
        struct work *gone, *last;

        if (at == MAP_NONE)
                return;
        gone = &works->list[at];
        last = &works->list[works->count - 1];
        leave_name(works, gone, at);
        uncount(works, gone);
        (void)map_remove(&works->by_id, id);
        work_done(gone);
        if (gone != last) {
                *gone = *last;
                (void)map_set(&works->by_id, gone->id, at);     /* replaces: no room needed */
                uint64_t name = name_hash(gone->tenant, gone->name);
                if (map_get(&works->by_name, name) == works->count - 1)
                        (void)map_set(&works->by_name, name, at);
        }
        works->count--;
}

/* ---- what facts mean ---- */

static int begin_run(struct work *work, uint32_t members, struct works_at at)
{
        if (work->epoch)
                return 0;               /* another member of the same run */
        work->members = mem_new(members, sizeof *work->members);
        if (!work->members)
                return -ERR_NOMEM;
        work->members_count = (uint16_t)members;
        work->epoch = at.epoch;
        work->placed = at.seq;
        work->started_ms = at.ms;
        work->ending = false;
        work->failed_first = 0;
        work->left_told = false;
        return 0;
}

void work_set_reason(struct work *work, const char *reason)
{
        if (!work->reason && reason && *reason)
                work->reason = copy(reason);
}

bool works_restore(struct work *work, const struct work *run)
{
        const struct works_at at = {.epoch = run->epoch, .ms = run->started_ms};

        work->stops = run->stops;
        work->wish = run->wish;
        return run->epoch == 0 || begin_run(work, run->members_count, at) == 0;
}

static void end_run(struct work *work)
{
        mem_free(work->members);
        mem_free(work->reason);
        work->reason = NULL;
        work->members = NULL;
        work->members_count = 0;
        work->epoch = 0;
        work->ending = false;           /* who cancelled it still wants it gone */
        work->failed_first = 0;
        work->left_told = false;
}

int works_follow(struct works *works, const struct fact *fact, uint32_t members,
                 struct works_at at)
{
        struct work *work;

        switch (fact->kind) {
        case FACT_ALLOCATED:
                work = works_find(works, fact->allocated.workload);
                return work ? begin_run(work, members, at) : 0;
        case FACT_REQUEUED:
                work = works_find(works, fact->requeued.workload);
                if (work) {
                        work->stops += fact->requeued.cause == RELEASE_STOPPED;
                        work->requeued = at.seq;
                        end_run(work);
                }
                return 0;
        case FACT_RELEASED:
                works_drop(works, fact->released.workload);
                return 0;
        case FACT_REFUSED:              /* also what waited for work that did not end well */
                works_drop(works, fact->refused.workload);
                return 0;
        default:                        /* the rest says nothing of runs */
                return 0;
        }
}
