/* job_column.h - what the columns of a job table can say; the table may name them as it likes. */
#pragma once

/* What a column says, and how it is written:
 *   submit    2017-10-09 07:01:55 on the clock of the zone (see when.h), or seconds since 1970
 *   duration  seconds it ran, decimals allowed; jobs of 0 never ran and are left out
 *   devices   of all its members together
 *   tenant    a name
 *   limit     seconds; empty or 0: none
 *   class, user   a name; empty: none */
#define JOB_COLUMNS(X)                  \
        X(SUBMIT,   "submit",   true)   \
        X(DURATION, "duration", true)   \
        X(DEVICES,  "devices",  true)   \
        X(TENANT,   "tenant",   true)   \
        X(LIMIT,    "limit",    false)  \
        X(CLASS,    "class",    false)  \
        X(USER,     "user",     false)

enum job_column {
#define X(name, wire, is_needed) JOB_COLUMN_##name,
        JOB_COLUMNS(X)
#undef X
        JOB_COLUMNS_END
};
