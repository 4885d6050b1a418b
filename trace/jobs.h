/* jobs.h - a recorded history of jobs, whatever it was read from.
 *
 * A record says what was asked for and how long it really ran, not when it waited: a
 * replay finds that out anew. Times are milliseconds since 1970-01-01T00:00Z.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engine/model.h"
#include "engine/tenancy.h"

struct err;

#define JOBS_MAX 10000000

#define JOBS_BYTES_MAX (UINT64_C(4) << 30)      /* of one file */
#define JOB_MS_MAX     INT64_C(315360000000)    /* ten years: no job runs longer */
#define JOB_DEVICES_MAX 1000000                 /* of all its members */
#define JOBS_NAMES_MAX 1000000                  /* tenants, classes, users: of each */
#define JOBS_NONE      UINT32_MAX               /* no class, no user */

enum job_end { JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_TIMED_OUT, JOB_NODE_FAILED, JOB_STOPPED };

struct job {
        int64_t submit_ms;
        int64_t eligible_ms;            /* dependencies and start time behind it; else submit_ms */
        int64_t duration_ms;            /* that it ran, all its runs together */
        int64_t limit_ms;               /* its own time limit; 0 = none */
        uint32_t tenant, class;         /* numbers of jobs.tenants, jobs.classes; JOBS_NONE: none */
        uint32_t user;                  /* number of jobs.users, or JOBS_NONE */
        uint32_t array;                 /* tasks of one array bear one number; 0 = none */
        uint32_t array_at_once;         /* 0 = all */
        uint32_t line;                  /* of the file, for messages */
        uint32_t members;               /* on as many nodes */
        uint32_t devices;               /* of each member; 0 = CPU work */
        uint32_t cpu_milli, ram_mib;    /* of each member; 0 = not said */
        char model[MODEL_NAME_MAX];     /* "" = any */
        char profile[PROFILE_NAME_MAX]; /* "" = whole devices */
        uint16_t share_milli;           /* of each device; 0 = whole */
        uint16_t requeues;              /* how often it was started again */
        uint8_t end;                    /* enum job_end, of its last run */
};

/* In order of submission, then of the file. */
struct jobs {
        struct job *items;
        size_t count;
        uint32_t room;
        char (*tenants)[TENANT_PATH_MAX];       /* paths, in order of first appearance */
        uint32_t tenants_count, tenants_room;
        char (*classes)[TENANCY_WORD_MAX];
        uint32_t classes_count, classes_room;
        char (*users)[TENANT_PATH_MAX];
        uint32_t users_count, users_room;
        struct map tenant_ids, class_ids, user_ids;     /* hash of the name: its number */
        uint32_t left_out;                      /* records that say nothing of use, by reason: */
        uint32_t left_never_ran, left_still_running, left_out_of_window, left_small_tenant,
                left_steps;
};

void jobs_done(struct jobs *jobs);      /* a zeroed one is fine */

/* ---- for readers ---- */

/* What of a history is wanted. Zeroed but for `until_ms` it is all of it. */
struct jobs_filter {
        int64_t from_ms, until_ms;              /* submitted from ... to before ... */
        uint32_t tenants_at_least_jobs;         /* in that window; 0 = any */
};

#define JOBS_ALL ((struct jobs_filter){.from_ms = INT64_MIN, .until_ms = INT64_MAX})

/* The number of a name, new or known. 0, -ERR_INPUT (empty, a control character), -ERR_RANGE (too
 * long, too many), -ERR_NOMEM; the sentences name no place. */
int jobs_tenant(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err);
int jobs_class(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err);
int jobs_user(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err);

/* Appends a copy. 0, -ERR_RANGE (JOBS_MAX are there) or -ERR_NOMEM. */
int jobs_add(struct jobs *jobs, const struct job *job, struct err *err);

/* After the last one: leaves out what `filter` does not want and counts it, forgets tenants without
 * a job and numbers the others anew, puts the jobs in order. 0, or -ERR_NOMEM (then only
 * jobs_done() is of use). */
int jobs_finish(struct jobs *jobs, const struct jobs_filter *filter, struct err *err);

/* All its members together. */
static inline uint32_t job_devices(const struct job *job)
{
        return job->members * job->devices;
}
