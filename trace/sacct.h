/* sacct.h - reads what Slurm's accounting (22.05 and newer) knows of jobs.
 *
 * Not pure (files). One owner at a time. Reads what SACCT_COMMAND prints: fields apart by '|', the
 * first line names the columns, in any order and letter case, with or without a '|' at the end of
 * the lines. Columns nobody asked for are skipped and never kept, SubmitLine and JobName with what
 * people wrote there among them. Files one after the other are fine: their first lines must agree,
 * and a run that stands in several of them counts once.
 *
 * A job is what bears one JobID (within one Cluster):
 *   requeued     one row per run (needs -D). duration_ms is the sum of the runs; submit_ms and
 *                eligible_ms are those of the first row, for later ones say when it was requeued;
 *                everything else is as in the last run. A row that comes more than a day after the
 *                run before, or of another user, is a new job: Slurm began its numbers anew.
 *   array        each task "10_3" is a job. "10_[4-9%2]" are tasks that never ran; its %2 gives
 *                array_at_once of the others. Once all tasks have started, Slurm forgets it.
 *   heterogeneous  each component "9+0" is a job of its own.
 *   step         "7001.batch": left out, and counted in left_steps.
 * Left out, too: what never ran, or not for a second (refused, cancelled in the queue, waiting):
 * left_never_ran; what still ran when it was printed: left_still_running, unless keep_running. What
 * was stopped and waits again is kept as JOB_STOPPED with what it ran so far.
 *
 * duration_ms is without the time it was suspended: Elapsed where Slurm took that off already (then
 * Elapsed + Suspended is no more than End - Start), else Elapsed - Suspended.
 *
 * members is NNodes; devices, cpu_milli and ram_mib are AllocTRES through that, rounded up (ReqTRES
 * where AllocTRES says nothing and the job ran). See tres.h for slices and shares. model is the
 * type of the gres as it stands there ("a100", "nvidia_a100_80gb_pcie"): the caller finds the
 * device model by names and aliases. Whole nodes given for less (--exclusive) count as given. Where
 * no type stands, the row may mean slices as well (on nodes that have nothing else): they are read
 * as whole devices, and counted in notes.untyped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct jobs;
struct jobs_filter;
struct zone;

#define SACCT_ROW_BYTES_MAX (1u << 20)
#define SACCT_COLUMNS_MAX   192
#define SACCT_CLUSTERS_MAX  63 /* in one history */
#define SACCT_SHARDS        4  /* of one device, where nobody says */

/* What to run on the cluster. TZ=UTC, or else local times are ambiguous for one hour in autumn.
 * Every version from 22.05 on knows these columns. The wait is not among them (it was called
 * Reserved until 22.05 and is called Planned since; a name it does not know makes sacct fail): it
 * is no property of the job, and Start - Eligible says it. */
#define SACCT_COMMAND \
        "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -D -X -P -S 2025-01-01 -E now -o " \
        "JobID,Cluster,Account,User,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw," \
        "TimelimitRaw,Suspended,ReqTRES,AllocTRES,NNodes"

#define SACCT_TENANTS(X) \
        X(ACCOUNT, "account") \
        X(ACCOUNT_USER, "account/user") \
        X(USER, "user") \
        X(PARTITION, "partition") \
        X(QOS, "qos")

#define SACCT_CLASSES(X) \
        X(AUTO, "auto") /* qos if there is such a column, else partition */ \
        X(QOS, "qos") \
        X(PARTITION, "partition") \
        X(NONE, "none")

#define SACCT_MODELS(X) \
        X(ALLOCATED, "allocated") /* it ran there; how long elsewhere, nobody knows */ \
        X(REQUESTED, "requested") /* "" where any would have done */

#define X(name, wire) SACCT_TENANT_##name,
enum sacct_tenant { SACCT_TENANTS(X) SACCT_TENANTS_END };
#undef X
#define X(name, wire) SACCT_CLASS_##name,
enum sacct_class { SACCT_CLASSES(X) SACCT_CLASSES_END };
#undef X
#define X(name, wire) SACCT_MODEL_##name,
enum sacct_model { SACCT_MODELS(X) SACCT_MODELS_END };
#undef X

extern const char *const sacct_tenant_names[SACCT_TENANTS_END],
        *const sacct_class_names[SACCT_CLASSES_END], *const sacct_model_names[SACCT_MODELS_END];

/* A zeroed one is the default. */
struct sacct_options {
        const struct zone *zone;    /* of times without one; NULL = UTC */
        uint8_t tenant;             /* enum sacct_tenant; an empty field is tenant "none" */
        uint8_t class;              /* enum sacct_class; an empty field is no class */
        uint8_t model;              /* enum sacct_model */
        bool keep_running;          /* with what they ran so far, as JOB_STOPPED */
        uint32_t shards_per_device; /* as gres.conf says; 0 = SACCT_SHARDS */
};

/* What a reader of the history should know of it; counts of jobs where nothing else is said. */
struct sacct_notes {
        uint32_t rows;                 /* of the file, steps too */
        uint32_t repeated_rows;        /* the same run again, or its waiting before it */
        uint32_t ambiguous_times;      /* fields: that local time came twice; the first is taken,
                                        * or the second where it cannot have been the first */
        uint32_t waits_again, running; /* kept as JOB_STOPPED */
        uint32_t runs_missing;         /* Restarts is more than the rows show */
        uint32_t numbers_reused;       /* a JobID that came again for another job */
        uint32_t from_request;         /* ran without AllocTRES */
        uint32_t uneven;               /* unlike numbers of devices on its nodes: rounded up */
        uint32_t mixed;                /* several kinds of devices at once */
        uint32_t untyped;              /* devices of a type that the row does not name */
};

/* From a file of at most JOBS_BYTES_MAX, or from memory under a `name` for the sentences
 * ("name:12: column 'State': ..."). `options` and `ret_notes` may be NULL. The jobs are freed with
 * jobs_done(). 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_INPUT (also: no job is left), -ERR_RANGE,
 * -ERR_NOMEM; nothing is written but on 0. */
int sacct_read(const char *path, const struct sacct_options *options,
               const struct jobs_filter *filter, struct jobs *ret_jobs,
               struct sacct_notes *ret_notes, struct err *err);
int sacct_parse(const char *name, const char *bytes, size_t size,
                const struct sacct_options *options, const struct jobs_filter *filter,
                struct jobs *ret_jobs, struct sacct_notes *ret_notes, struct err *err);
