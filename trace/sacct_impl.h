/* sacct_impl.h - what the sacct_*.c files share; for them alone.
 *
 * sacct_table.c takes lines apart, sacct_text.c and sacct_time.c single fields; sacct_row.c makes a
 * run of a row and sacct_fold.c jobs of runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/jobs.h"
#include "trace/sacct.h"

struct err;
struct zone;

#define SACCT_COLUMNS(X) \
        X(JOB_ID, "JobID") \
        X(CLUSTER, "Cluster") \
        X(ACCOUNT, "Account") \
        X(USER, "User") \
        X(PARTITION, "Partition") \
        X(QOS, "QOS") \
        X(STATE, "State") \
        X(SUBMIT, "Submit") \
        X(ELIGIBLE, "Eligible") \
        X(START, "Start") \
        X(END, "End") \
        X(ELAPSED_RAW, "ElapsedRaw") \
        X(ELAPSED, "Elapsed") \
        X(LIMIT_RAW, "TimelimitRaw") \
        X(LIMIT, "Timelimit") \
        X(SUSPENDED, "Suspended") \
        X(REQ_TRES, "ReqTRES") \
        X(ALLOC_TRES, "AllocTRES") \
        X(NODES, "NNodes") \
        X(NODE_LIST, "NodeList") \
        X(RESTARTS, "Restarts")

#define X(name, wire) SACCT_##name,
enum sacct_column { SACCT_COLUMNS(X) SACCT_COLUMNS_END };
#undef X

/* The lines of a file, one at a time. */
struct sacct_table {
        const char *name;
        const char *bytes;
        size_t size, at; /* the next line starts there */
        unsigned line, next_line;
        const char *header; /* its bytes, to know it again */
        size_t header_size;
        unsigned fields_count; /* of every row; an empty one behind the last '|' aside */
        int16_t field_of[SACCT_COLUMNS_END]; /* -1: there is no such column */
        uint32_t starts[SACCT_COLUMNS_MAX];
        char *row; /* its fields, each ended by a NUL */
        size_t row_room;
};

/* `wanted` is 1 << column: those without which there is no answer. */
int sacct_table_open(struct sacct_table *table, const char *name, const char *bytes, size_t size,
                     uint32_t wanted, struct err *err);
void sacct_table_done(struct sacct_table *table);
int sacct_table_next(struct sacct_table *table, struct err *err); /* 1, 0 at the end, error */
bool sacct_has(const struct sacct_table *table, enum sacct_column column);
const char *sacct_field(const struct sacct_table *table, enum sacct_column column);

/* "file:12: sentence", "file:12: column 'State': sentence"; the code is INPUT. */
int sacct_fail_row(const struct sacct_table *table, struct err *err, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int sacct_fail(const struct sacct_table *table, enum sacct_column column, struct err *err,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Puts the place in front of a sentence that has none; returns its code. */
int sacct_blame(const struct sacct_table *table, enum sacct_column column, struct err *err);

enum sacct_id_kind { SACCT_ID_PLAIN, SACCT_ID_TASK, SACCT_ID_TASKS, SACCT_ID_COMPONENT };

struct sacct_id {
        uint32_t job;     /* of the array, of the heterogeneous job */
        uint32_t part;    /* task or component, below 1 << 24 */
        uint8_t kind;     /* enum sacct_id_kind */
        uint32_t tasks;   /* of SACCT_ID_TASKS: how many; 1 where it does not say */
        uint32_t at_once; /* of SACCT_ID_TASKS; 0 = all */
};

bool sacct_is_step(const char *text);
bool sacct_read_id(const char *text, struct sacct_id *ret_id);

/* Where a row stands in the life of a job, the surest last: of two rows of one run the later
 * counts. */
enum sacct_stage { SACCT_WAITS, SACCT_RUNS, SACCT_STOPPED_AGAIN, SACCT_RESIZED, SACCT_ENDED };

/* "CANCELLED by 1001" too. False: nobody knows the word. */
bool sacct_read_state(const char *text, uint8_t *ret_stage, uint8_t *ret_end);
/* "1-02:03:04", "02:03:04", "03:04.250" (parts of a second are dropped) in seconds. */
bool sacct_read_clock(const char *text, int64_t *ret_s);

#define SACCT_NO_TIME INT64_MIN

/* One row that is no step. `job` is as that row says it. */
struct sacct_run {
        struct job job;
        uint64_t key;             /* equal for the rows of one JobID */
        int64_t start_ms, end_ms; /* or SACCT_NO_TIME */
        uint32_t restarts;
        uint32_t tasks; /* the row stands for so many jobs */
        uint8_t stage;  /* enum sacct_stage */
        bool has_run;
        bool is_from_request, is_uneven, is_mixed, is_untyped;
};

struct sacct_reader {
        struct sacct_options options;
        const struct zone *zone;
        struct sacct_table table;
        struct sacct_notes notes;
        struct jobs jobs; /* names so far; sacct_fold() adds the jobs */
        struct sacct_run *runs;
        size_t runs_count;
        uint32_t runs_room;
        char clusters[SACCT_CLUSTERS_MAX][64];
        unsigned clusters_count;
        struct map arrays; /* cluster and job to array number - 1 */
        uint32_t *at_once; /* by array number - 1 */
        uint32_t arrays_count, arrays_room;
};

/* Fills in all times and whether it ran; `stage` must be known. */
int sacct_read_times(struct sacct_reader *reader, struct sacct_run *run, struct err *err);
/* Adds the row that the table stands at. */
int sacct_read_row(struct sacct_reader *reader, struct err *err);
/* Makes jobs of the runs. 0, -ERR_NOMEM, -ERR_RANGE. */
int sacct_fold(struct sacct_reader *reader, struct err *err);
