/* One row of sacct's output: a run of a job. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "proto/hostlist.h"
#include "trace/sacct_impl.h"
#include "trace/tres.h"

#define NOBODY "none" /* tenant of jobs without an account */

/* ---- names ---- */

static int read_cluster(struct sacct_reader *reader, uint64_t *ret_number, struct err *err)
{
        const char *name = sacct_field(&reader->table, SACCT_CLUSTER);
        unsigned c = 0;

        while (c < reader->clusters_count && !str_equal(reader->clusters[c], name))
                c++;
        if (c == SACCT_CLUSTERS_MAX)
                return sacct_fail(&reader->table, SACCT_CLUSTER, err,
                                  "is one of more than %d clusters; print fewer with -M",
                                  SACCT_CLUSTERS_MAX);
        if (c == reader->clusters_count) {
                if (!str_copy(reader->clusters[c], sizeof reader->clusters[c], name))
                        return sacct_fail(&reader->table, SACCT_CLUSTER, err,
                                          "is longer than %zu bytes",
                                          sizeof reader->clusters[c] - 1);
                reader->clusters_count++;
        }
        *ret_number = c;
        return 0;
}

static int read_tenant(struct sacct_reader *reader, struct job *job, struct err *err)
{
        static const enum sacct_column columns[SACCT_TENANTS_END] = {
                [SACCT_TENANT_ACCOUNT] = SACCT_ACCOUNT, [SACCT_TENANT_ACCOUNT_USER] = SACCT_ACCOUNT,
                [SACCT_TENANT_USER] = SACCT_USER,       [SACCT_TENANT_PARTITION] = SACCT_PARTITION,
                [SACCT_TENANT_QOS] = SACCT_QOS,
        };
        enum sacct_column column = columns[reader->options.tenant];
        const char *name = sacct_field(&reader->table, column);
        const char *user = sacct_field(&reader->table, SACCT_USER);
        char path[2 * TENANT_PATH_MAX];

        if (name[0] == '\0')
                name = NOBODY;
        if (reader->options.tenant == SACCT_TENANT_ACCOUNT_USER) {
                snprintf(path, sizeof path, "%s/%s", name, user[0] ? user : NOBODY);
                name = path;
        }
        if (jobs_tenant(&reader->jobs, name, &job->tenant, err) < 0)
                return sacct_blame(&reader->table, column, err);
        return 0;
}

static int read_class(struct sacct_reader *reader, struct job *job, struct err *err)
{
        const struct sacct_table *table = &reader->table;
        enum sacct_column column = SACCT_PARTITION;

        job->class = JOBS_NONE;
        if (reader->options.class == SACCT_CLASS_QOS ||
            (reader->options.class == SACCT_CLASS_AUTO && sacct_has(table, SACCT_QOS)))
                column = SACCT_QOS;
        const char *name = sacct_field(table, column);
        if (reader->options.class == SACCT_CLASS_NONE || name[0] == '\0')
                return 0;
        if (jobs_class(&reader->jobs, name, &job->class, err) < 0)
                return sacct_blame(table, column, err);
        return 0;
}

static int read_user(struct sacct_reader *reader, struct job *job, struct err *err)
{
        const char *name = sacct_field(&reader->table, SACCT_USER);

        job->user = JOBS_NONE;
        if (name[0] && jobs_user(&reader->jobs, name, &job->user, err) < 0)
                return sacct_blame(&reader->table, SACCT_USER, err);
        return 0;
}

/* ---- what it had ---- */

static int count_name(void *arg, const char *name, struct err *err)
{
        (void)name;
        (void)err;
        ++*(uint32_t *)arg;
        return 0;
}

static int read_members(const struct sacct_table *table, const struct tres *tres, uint32_t *ret,
                        struct err *err)
{
        const char *nodes = sacct_field(table, SACCT_NODES);
        const char *list = sacct_field(table, SACCT_NODE_LIST);
        uint64_t count = 0;

        if (nodes[0] && !str_equal(nodes, "0") && !str_equal(nodes, "Unknown")) {
                if (num_u64(nodes, 1, TRES_COUNT_MAX, &count, err) < 0)
                        return sacct_blame(table, SACCT_NODES, err);
                *ret = (uint32_t)count;
                return 0;
        }
        *ret = tres->nodes;
        if (*ret == 0 && list[0] && !str_equal(list, "None assigned") &&
            hostlist_expand(list, TRES_COUNT_MAX, count_name, ret, err) < 0)
                return sacct_blame(table, SACCT_NODE_LIST, err);
        if (*ret == 0)
                return sacct_fail(table, SACCT_NODES, err,
                                  "says no number of nodes, and AllocTRES no node=, for a job that "
                                  "ran");
        return 0;
}

static int read_amounts(const struct sacct_table *table, enum sacct_column column,
                        const struct tres *tres, struct job *job, struct err *err)
{
        uint64_t cpu_milli = (tres->cpus * 1000 + job->members - 1) / job->members;
        uint64_t ram_mib = (tres->ram_mib + job->members - 1) / job->members;

        if (cpu_milli > UINT32_MAX || ram_mib > UINT32_MAX)
                return sacct_fail(table, column, err,
                                  "gives one node more processors or memory than any has; is "
                                  "NNodes %u right?",
                                  job->members);
        if (job->devices > JOB_DEVICES_MAX / job->members)
                return sacct_fail(table, column, err, "has more than %d devices", JOB_DEVICES_MAX);
        job->cpu_milli = (uint32_t)cpu_milli;
        job->ram_mib = (uint32_t)ram_mib;
        return 0;
}

static int read_tres(const struct sacct_table *table, enum sacct_column column, struct tres *tres,
                     struct err *err)
{
        if (tres_parse(sacct_field(table, column), tres, err) < 0)
                return sacct_blame(table, column, err);
        return 0;
}

/* Devices and all: of each member. */
static int read_need(struct sacct_reader *reader, struct sacct_run *run, struct err *err)
{
        const struct sacct_table *table = &reader->table;
        struct tres tres, asked;
        struct tres_devices devices, asked_devices;
        int rc;

        run->is_from_request = sacct_field(table, SACCT_ALLOC_TRES)[0] == '\0';
        enum sacct_column column = run->is_from_request ? SACCT_REQ_TRES : SACCT_ALLOC_TRES;
        if ((rc = read_tres(table, column, &tres, err)) < 0 ||
            (rc = read_members(table, &tres, &run->job.members, err)) < 0)
                return rc;
        tres_divide(&tres, run->job.members, reader->options.shards_per_device, &devices);
        if (reader->options.model == SACCT_MODEL_REQUESTED && !devices.profile[0]) {
                if ((rc = read_tres(table, SACCT_REQ_TRES, &asked, err)) < 0)
                        return rc;
                tres_divide(&asked, run->job.members, reader->options.shards_per_device,
                            &asked_devices);
                memcpy(devices.model, asked_devices.model, sizeof devices.model);
        }
        run->job.devices = devices.devices;
        run->job.share_milli = devices.share_milli;
        memcpy(run->job.model, devices.model, sizeof run->job.model);
        memcpy(run->job.profile, devices.profile, sizeof run->job.profile);
        run->is_uneven = devices.is_uneven;
        run->is_mixed = devices.is_mixed;
        run->is_untyped = devices.is_untyped;
        return read_amounts(table, column, &tres, &run->job, err);
}

/* ---- the row ---- */

/* Finds or makes the array's number, and notes how many of its tasks may run at once. */
static int note_array(struct sacct_reader *reader, uint64_t cluster, const struct sacct_id *id,
                      uint32_t *ret_number, struct err *err)
{
        uint64_t key = cluster << 32 | id->job;
        uint32_t at = map_get(&reader->arrays, key);

        if (at == MAP_NONE) {
                at = reader->arrays_count;
                if (at == reader->arrays_room) {
                        uint32_t room = at ? 2 * at : 64;
                        uint32_t *grown = mem_resize(reader->at_once, at, room, sizeof *grown);
                        if (!grown)
                                return err_set(err, ERR_NOMEM, "%s: out of memory",
                                               reader->table.name);
                        reader->at_once = grown;
                        reader->arrays_room = room;
                }
                if (map_set(&reader->arrays, key, at) < 0)
                        return err_set(err, ERR_NOMEM, "%s: out of memory", reader->table.name);
                reader->arrays_count++;
        }
        if (id->at_once > 0)
                reader->at_once[at] = id->at_once;
        *ret_number = at + 1;
        return 0;
}

static int read_key(struct sacct_reader *reader, struct sacct_run *run, struct err *err)
{
        const char *text = sacct_field(&reader->table, SACCT_JOB_ID);
        char show[STR_SHOW_MAX];
        struct sacct_id id;
        uint64_t cluster = 0;
        int rc;

        if (!sacct_read_id(text, &id))
                return sacct_fail(
                        &reader->table, SACCT_JOB_ID, err,
                        "'%s' is no number of a job such as 7001, 7001_3, 7001_[4-9%%2] or "
                        "7001+0",
                        str_show(text, show));
        if ((rc = read_cluster(reader, &cluster, err)) < 0)
                return rc;
        _Static_assert(SACCT_CLUSTERS_MAX <= 64, "a cluster has six bits of a key");
        run->key = cluster << 58 | (uint64_t)id.kind << 56 | (uint64_t)id.part << 32 | id.job;
        run->tasks = id.tasks;
        if (id.kind == SACCT_ID_TASK || id.kind == SACCT_ID_TASKS)
                return note_array(reader, cluster, &id, &run->job.array, err);
        return 0;
}

static int read_run(struct sacct_reader *reader, struct sacct_run *run, struct err *err)
{
        const struct sacct_table *table = &reader->table;
        const char *state = sacct_field(table, SACCT_STATE);
        const char *restarts = sacct_field(table, SACCT_RESTARTS);
        char show[STR_SHOW_MAX];
        uint64_t count = 0;
        int rc;

        if ((rc = read_key(reader, run, err)) < 0)
                return rc;
        if (!sacct_read_state(state, &run->stage, &run->job.end))
                return sacct_fail(
                        table, SACCT_STATE, err,
                        "'%s' is no state of a job that is known here; write the one that "
                        "comes nearest, such as COMPLETED, FAILED or CANCELLED",
                        str_show(state, show));
        if ((rc = sacct_read_times(reader, run, err)) < 0)
                return rc;
        if (restarts[0] && num_u64(restarts, 0, UINT32_MAX, &count, err) < 0)
                return sacct_blame(table, SACCT_RESTARTS, err);
        run->restarts = (uint32_t)count;
        run->job.user = run->job.class = JOBS_NONE;
        if (!run->has_run)
                return 0;
        if ((rc = read_tenant(reader, &run->job, err)) < 0 ||
            (rc = read_class(reader, &run->job, err)) < 0 ||
            (rc = read_user(reader, &run->job, err)) < 0)
                return rc;
        return read_need(reader, run, err);
}

int sacct_read_row(struct sacct_reader *reader, struct err *err)
{
        struct sacct_run run = {.job.line = reader->table.line};
        int rc;

        reader->notes.rows++;
        if (sacct_is_step(sacct_field(&reader->table, SACCT_JOB_ID))) {
                reader->jobs.left_steps++;
                return 0;
        }
        if ((rc = read_run(reader, &run, err)) < 0)
                return rc;
        if (reader->runs_count == JOBS_MAX)
                return sacct_fail_row(&reader->table, err,
                                      "is row %d; print a shorter time with -S and -E", JOBS_MAX);
        struct sacct_run *grown = mem_grow(reader->runs, reader->runs_count, &reader->runs_room,
                                           256, sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "%s: out of memory", reader->table.name);
        reader->runs = grown;
        reader->runs[reader->runs_count++] = run;
        return 0;
}
