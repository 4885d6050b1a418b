#include "trace/jobs_csv.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/csv.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "proto/when.h"

#define TIME_S_MAX 253402300799 /* the end of the year 9999 */

static const bool is_needed[JOB_COLUMNS_END] = {
#define X(name, wire, is_needed) [JOB_COLUMN_##name] = is_needed,
        JOB_COLUMNS(X)
#undef X
};

/* Of a column that there is none of: what is not UTF-8 stands in no header. */
static const char no_name[] = "\xff";

/* Puts the place in front of what a callee said of a field. */
static int blame(const struct csv *csv, unsigned column, struct err *why, struct err *err)
{
        csv_fail(csv, column, err, "%s", why->text);
        if (err)
                err->code = why->code;
        return -(int)why->code;
}

/* "1704067200.5"; "30.03.2025" is none, but a time that cannot be read. */
static bool is_number(const char *text)
{
        const char *point = strchr(text, '.');

        return text[0] && text[strspn(text, "0123456789.")] == '\0' &&
               (!point || !strchr(point + 1, '.'));
}

static int read_submit(const struct csv *csv, const struct jobs_csv_layout *layout, struct job *job,
                       struct err *err)
{
        const char *text = csv_raw(csv, JOB_COLUMN_SUBMIT);
        struct err why = {0};
        uint64_t ms = 0;
        int rc;

        if (is_number(text)) {
                rc = csv_milli(csv, JOB_COLUMN_SUBMIT, 0, UINT64_C(1000) * TIME_S_MAX, &ms, err);
                job->submit_ms = (int64_t)ms;
        } else {
                rc = when_parse_local(text, layout->zone, &job->submit_ms, &why);
                if (rc < 0)
                        rc = blame(csv, JOB_COLUMN_SUBMIT, &why, err);
        }
        job->eligible_ms = job->submit_ms;
        return rc;
}

static int read_limit(const struct csv *csv, struct job *job, struct err *err)
{
        uint64_t ms = 0;
        int rc = 0;

        if (csv_raw(csv, JOB_COLUMN_LIMIT)[0])
                rc = csv_milli(csv, JOB_COLUMN_LIMIT, 0, JOB_MS_MAX, &ms, err);
        job->limit_ms = (int64_t)ms;
        return rc;
}

typedef int find_name(struct jobs *jobs, const char *name, uint32_t *ret_number, struct err *err);

static int read_name(const struct csv *csv, unsigned column, find_name *find, struct jobs *jobs,
                     uint32_t *ret_number, struct err *err)
{
        const char *text = csv_raw(csv, column);
        struct err why = {0};

        *ret_number = JOBS_NONE;
        if (!is_needed[column] && text[0] == '\0')
                return 0;
        int rc = find(jobs, text, ret_number, &why);
        return rc < 0 ? blame(csv, column, &why, err) : 0;
}

static int read_row(const struct csv *csv, const struct jobs_csv_layout *layout, struct jobs *jobs,
                    struct err *err)
{
        struct job job = {.members = 1, .line = csv_line(csv)};
        uint64_t duration_ms = 0;
        struct err why = {0};
        int rc;

        if ((rc = read_submit(csv, layout, &job, err)) < 0 ||
            (rc = csv_milli(csv, JOB_COLUMN_DURATION, 0, JOB_MS_MAX, &duration_ms, err)) < 0 ||
            (rc = csv_u32(csv, JOB_COLUMN_DEVICES, 0, JOB_DEVICES_MAX, &job.devices, err)) < 0 ||
            (rc = read_limit(csv, &job, err)) < 0 ||
            (rc = read_name(csv, JOB_COLUMN_TENANT, jobs_tenant, jobs, &job.tenant, err)) < 0 ||
            (rc = read_name(csv, JOB_COLUMN_CLASS, jobs_class, jobs, &job.class, err)) < 0 ||
            (rc = read_name(csv, JOB_COLUMN_USER, jobs_user, jobs, &job.user, err)) < 0)
                return rc;
        job.duration_ms = (int64_t)duration_ms;
        if (duration_ms == 0) {
                jobs->left_never_ran++;
                jobs->left_out++;
                return 0;
        }
        if ((rc = jobs_add(jobs, &job, &why)) < 0) {
                csv_fail_row(csv, err, "%s", why.text);
                if (err)
                        err->code = why.code;
        }
        return rc;
}

static int read_rows(struct csv *csv, const struct jobs_csv_layout *layout, struct jobs *jobs,
                     struct err *err)
{
        int rc;

        while ((rc = csv_next(csv, err)) > 0)
                if ((rc = read_row(csv, layout, jobs, err)) < 0)
                        return rc;
        return rc;
}

/* Some job is left, or why not. */
static int check_left(const char *name, const struct jobs *jobs, struct err *err)
{
        if (jobs->count > 0)
                return 0;
        if (jobs->left_out == 0)
                return err_set(err, ERR_INPUT, "%s:1: no row follows the first line", name);
        return err_set(
                err, ERR_INPUT,
                "%s: no job is left: %u never ran, %u were submitted outside from and until, "
                "%u are of tenants with too few jobs; widen the window or lower "
                "tenants_at_least_jobs",
                name, jobs->left_never_ran, jobs->left_out_of_window, jobs->left_small_tenant);
}

int jobs_csv_parse(const char *name, const char *bytes, size_t size,
                   const struct jobs_csv_layout *layout, const struct jobs_filter *filter,
                   struct jobs *ret_jobs, struct err *err)
{
        struct csv_column columns[JOB_COLUMNS_END + 1];
        struct jobs jobs = {0};
        struct csv *csv;
        int rc;

        for (unsigned c = 0; c < JOB_COLUMNS_END; c++) {
                assert(layout->columns[c] || !is_needed[c]);
                columns[c].name = layout->columns[c] ? layout->columns[c] : no_name;
                columns[c].need = layout->columns[c] ? CSV_REQUIRED : CSV_IGNORED;
        }
        columns[JOB_COLUMNS_END] = (struct csv_column){CSV_REST, CSV_IGNORED};
        if ((rc = csv_new(name, bytes, size, columns, ARRAY_LEN(columns), &csv, err)) < 0)
                return rc;
        rc = read_rows(csv, layout, &jobs, err);
        csv_free(csv);
        if (rc == 0 && (rc = jobs_finish(&jobs, filter, err)) < 0)
                err_prefix(err, "%s", name);
        if (rc == 0)
                rc = check_left(name, &jobs, err);
        if (rc < 0)
                jobs_done(&jobs);
        else
                *ret_jobs = jobs;
        return rc;
}

int jobs_csv_read(const char *path, const struct jobs_csv_layout *layout,
                  const struct jobs_filter *filter, struct jobs *ret_jobs, struct err *err)
{
        char *bytes;
        size_t size;
        int rc = file_read(path, JOBS_BYTES_MAX, &bytes, &size, err);

        if (rc < 0)
                return rc;
        rc = jobs_csv_parse(path, bytes, size, layout, filter, ret_jobs, err);
        mem_free(bytes);
        return rc;
}
