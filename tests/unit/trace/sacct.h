/* sacct.h - reading a text of sacct in a test. */
#pragma once

#include "tests/unit/check.h"

#include "base/err.h"
#include "trace/jobs.h"
#include "trace/sacct.h"

static struct sacct_notes notes; /* of the last parse */

static inline int parse_with(const char *text, const struct sacct_options *options,
                             struct jobs *jobs, struct err *err)
{
        *jobs = (struct jobs){0};
        notes = (struct sacct_notes){0};
        return sacct_parse("s.txt", text, strlen(text), options, &JOBS_ALL, jobs, &notes, err);
}

static inline void parse(const char *text, struct jobs *jobs)
{
        struct err err = {0};

        if (parse_with(text, NULL, jobs, &err) < 0)
                fail_msg("%s", err.text);
}
