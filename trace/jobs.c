#include "trace/jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- names ---- */

/* One of the three lists of names, seen alike. */
struct names {
        char *names; /* `width` bytes each */
        size_t width;
        uint32_t *count, *room;
        struct map *ids;
        const char *what;
};

static int check_name(const struct names *list, const char *name, struct err *err)
{
        size_t length = strlen(name);

        if (length == 0)
                return err_set(err, ERR_INPUT, "is empty; write the name of a %s", list->what);
        if (length >= list->width)
                return err_set(err, ERR_RANGE,
                               "is %zu bytes long; the name of a %s has at most %zu", length,
                               list->what, list->width - 1);
        if (!str_is_utf8(name, length, NULL))
                return err_set(err, ERR_INPUT, "is not UTF-8; write the name of a %s in that",
                               list->what);
        for (const char *at = name; *at; at++)
                if ((unsigned char)*at < 0x20 || *at == 0x7f)
                        return err_set(err, ERR_INPUT,
                                       "holds a control character; write the name of a %s on one "
                                       "line",
                                       list->what);
        return 0;
}

static int grow_names(struct names *list, struct err *err)
{
        if (*list->count < *list->room)
                return 0;
        if (*list->count >= JOBS_NAMES_MAX)
                return err_set(err, ERR_RANGE, "there are more than %d different %s names",
                               JOBS_NAMES_MAX, list->what);
        char *grown = mem_grow(list->names, *list->count, list->room, 16, list->width);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        list->names = grown;
        return 0;
}

/* The map's key is the name's hash, moved on by one while another name has it. */
static int find_name(struct names *list, const char *name, uint32_t *ret_number, struct err *err)
{
        int rc = check_name(list, name, err);

        if (rc < 0)
                return rc;
        if (list->ids->entries_max == 0)
                map_init(list->ids, JOBS_NAMES_MAX);
        uint64_t key = XXH3_64bits(name, strlen(name));
        for (uint32_t at; (at = map_get(list->ids, key)) != MAP_NONE; key++)
                if (str_equal(list->names + at * list->width, name)) {
                        *ret_number = at;
                        return 0;
                }
        if ((rc = grow_names(list, err)) < 0)
                return rc;
        if (map_set(list->ids, key, *list->count) < 0)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)str_copy(list->names + *list->count * list->width, list->width, name);
        *ret_number = (*list->count)++;
        return 0;
}

int jobs_tenant(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err)
{
        struct names list = {(char *)jobs->tenants, sizeof *jobs->tenants, &jobs->tenants_count,
                             &jobs->tenants_room,   &jobs->tenant_ids,     "tenant"};
        int rc = find_name(&list, name, ret_number, err);

        jobs->tenants = (void *)list.names;
        return rc;
}

int jobs_class(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err)
{
        struct names list = {(char *)jobs->classes, sizeof *jobs->classes, &jobs->classes_count,
                             &jobs->classes_room,   &jobs->class_ids,      "class"};
        int rc = find_name(&list, name, ret_number, err);

        jobs->classes = (void *)list.names;
        return rc;
}

int jobs_user(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err)
{
        struct names list = {(char *)jobs->users, sizeof *jobs->users, &jobs->users_count,
                             &jobs->users_room,   &jobs->user_ids,     "user"};
        int rc = find_name(&list, name, ret_number, err);

        jobs->users = (void *)list.names;
        return rc;
}

/* ---- jobs ---- */

int jobs_add(struct jobs *jobs, const struct job *job, struct err *err)
{
        assert(job->members >= 1);
        assert(job->devices <= JOB_DEVICES_MAX / job->members);
        assert(job->tenant < jobs->tenants_count);

        if (jobs->count >= JOBS_MAX)
                return err_set(err, ERR_RANGE,
                               "there are more than %d jobs; take a shorter history", JOBS_MAX);
        struct job *grown = mem_grow(jobs->items, jobs->count, &jobs->room, 1024, sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        jobs->items = grown;
        jobs->items[jobs->count++] = *job;
        return 0;
}

static int compare(const void *a, const void *b)
{
        const struct job *x = a, *y = b;

        if (x->submit_ms != y->submit_ms)
                return x->submit_ms < y->submit_ms ? -1 : 1;
        return x->line < y->line ? -1 : x->line > y->line;
}

static void take_window(struct jobs *jobs, const struct jobs_filter *filter)
{
        size_t kept = 0;

        for (size_t i = 0; i < jobs->count; i++) {
                const struct job *job = &jobs->items[i];
                if (job->submit_ms >= filter->from_ms && job->submit_ms < filter->until_ms)
                        jobs->items[kept++] = *job;
        }
        jobs->left_out_of_window += (uint32_t)(jobs->count - kept);
        jobs->left_out += (uint32_t)(jobs->count - kept);
        jobs->count = kept;
}

/* `counts` becomes each tenant's new number, or JOBS_NONE. */
static void number_tenants(struct jobs *jobs, uint32_t at_least, uint32_t *counts)
{
        uint32_t kept = 0;

        for (uint32_t t = 0; t < jobs->tenants_count; t++) {
                bool stays = counts[t] > 0 && counts[t] >= at_least;
                counts[t] = stays ? kept : JOBS_NONE;
                if (stays && kept != t)
                        memcpy(jobs->tenants[kept], jobs->tenants[t], sizeof jobs->tenants[t]);
                kept += stays;
        }
        jobs->tenants_count = kept;
}

static void take_tenants(struct jobs *jobs, const uint32_t *numbers)
{
        size_t kept = 0;

        for (size_t i = 0; i < jobs->count; i++) {
                struct job *job = &jobs->items[i];
                job->tenant = numbers[job->tenant];
                if (job->tenant != JOBS_NONE)
                        jobs->items[kept++] = *job;
        }
        jobs->left_small_tenant += (uint32_t)(jobs->count - kept);
        jobs->left_out += (uint32_t)(jobs->count - kept);
        jobs->count = kept;
}

int jobs_finish(struct jobs *jobs, const struct jobs_filter *filter, struct err *err)
{
        uint32_t *counts = mem_new(jobs->tenants_count, sizeof *counts);

        if (!counts)
                return err_set(err, ERR_NOMEM, "out of memory");
        take_window(jobs, filter);
        for (size_t i = 0; i < jobs->count; i++)
                counts[jobs->items[i].tenant]++;
        number_tenants(jobs, filter->tenants_at_least_jobs, counts);
        take_tenants(jobs, counts);
        mem_free(counts);
        map_done(&jobs->tenant_ids); /* the numbers in it are the old ones */
        if (jobs->count > 1)
                qsort(jobs->items, jobs->count, sizeof *jobs->items, compare);
        return 0;
}

void jobs_done(struct jobs *jobs)
{
        if (!jobs)
                return;
        mem_free(jobs->items);
        mem_free(jobs->tenants);
        mem_free(jobs->classes);
        mem_free(jobs->users);
        map_done(&jobs->tenant_ids);
        map_done(&jobs->class_ids);
        map_done(&jobs->user_ids);
        *jobs = (struct jobs){0};
}
