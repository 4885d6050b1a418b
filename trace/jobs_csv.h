/* jobs_csv.h - a history of jobs from a table: one row for each job, its columns under any names.
 *
 * Not pure (files). One owner at a time. Rows in any order; columns that are not named are not
 * read. Nothing is guessed: a row that cannot be read is an error with its line and the way out,
 * and the jobs that a filter leaves out are counted.
 */
#pragma once

#include <stddef.h>

#include "proto/job_column.h"
#include "trace/jobs.h"

struct err;
struct zone;

struct jobs_csv_layout {
        const char *columns[JOB_COLUMNS_END]; /* the header's names; NULL: there is none */
        const struct zone *zone;
};

/* From a file, or from memory under a `name` for the sentences. A row's job has one member.
 * 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_INPUT (also: nothing is left), -ERR_RANGE, -ERR_NOMEM;
 * *ret_jobs is written only on 0, and freed with jobs_done(). */
int jobs_csv_read(const char *path, const struct jobs_csv_layout *layout,
                  const struct jobs_filter *filter, struct jobs *ret_jobs, struct err *err);
int jobs_csv_parse(const char *name, const char *bytes, size_t size,
                   const struct jobs_csv_layout *layout, const struct jobs_filter *filter,
                   struct jobs *ret_jobs, struct err *err);
