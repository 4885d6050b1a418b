/* Times in sacct's output: when, and how long. */
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "base/zone.h"
#include "proto/when.h"
#include "trace/sacct_impl.h"

#define LOCAL_TEXT_BYTES 19         /* "2025-03-04T08:00:00": no zone stands behind it */
#define FOLD_S           (3 * 3600) /* no clock goes back further */

/* The other moment at which the clock showed the same; false: it showed it once. */
static bool find_second(const struct zone *zone, int64_t first_ms, int64_t *ret_ms)
{
        int64_t first_s = first_ms / 1000;

        if (first_s > ZONE_S_MAX - 2 * FOLD_S)
                return false;
        int32_t before_s = zone_offset_s(zone, first_s);
        int32_t after_s = zone_offset_s(zone, first_s + FOLD_S);
        int64_t second_s = first_s + before_s - after_s;
        if (second_s <= first_s || zone_offset_s(zone, second_s) != after_s)
                return false;
        *ret_ms = second_s * 1000;
        return true;
}

/* SACCT_NO_TIME where none is said. A time that came twice is not the first one when that would be
 * before `least_ms`. */
static int read_time(struct sacct_reader *reader, enum sacct_column column, int64_t least_ms,
                     int64_t *ret_ms, struct err *err)
{
        const char *text = sacct_field(&reader->table, column);
        int64_t seconds = 0, second_ms = 0;

        *ret_ms = SACCT_NO_TIME;
        if (text[0] == '\0' || str_equal(text, "Unknown") || str_equal(text, "None"))
                return 0;
        if (text[strspn(text, "0123456789")] == '\0') {
                if (num_i64(text, 0, ZONE_S_MAX, &seconds, err) < 0)
                        return sacct_blame(&reader->table, column, err);
                *ret_ms = seconds * 1000;
                return 0;
        }
        if (when_parse_local(text, reader->zone, ret_ms, err) < 0)
                return sacct_blame(&reader->table, column, err);
        if (strlen(text) == LOCAL_TEXT_BYTES && find_second(reader->zone, *ret_ms, &second_ms)) {
                reader->notes.ambiguous_times++;
                if (*ret_ms < least_ms)
                        *ret_ms = second_ms;
        }
        return 0;
}

/* Of the column that counts, or else of the one with a clock; -1: "INVALID", or it is not said. */
static int read_seconds(const struct sacct_table *table, enum sacct_column raw,
                        enum sacct_column clock, int64_t *ret_s, struct err *err)
{
        enum sacct_column column = sacct_has(table, raw) ? raw : clock;
        const char *text = sacct_field(table, column);
        char show[STR_SHOW_MAX];

        *ret_s = -1;
        if (text[0] == '\0' || str_equal(text, "INVALID"))
                return 0;
        if (column == raw && raw != clock) {
                if (num_i64(text, 0, JOB_MS_MAX / 1000, ret_s, err) < 0)
                        return sacct_blame(table, column, err);
                return 0;
        }
        if (!sacct_read_clock(text, ret_s))
                return sacct_fail(table, column, err,
                                  "'%s' is no length of time such as 02:03:04 or 1-02:03:04",
                                  str_show(text, show));
        if (*ret_s > JOB_MS_MAX / 1000)
                return sacct_fail(table, column, err, "'%s' is more than ten years",
                                  str_show(text, show));
        return 0;
}

static int read_limit(const struct sacct_table *table, int64_t *ret_ms, struct err *err)
{
        bool is_raw = sacct_has(table, SACCT_LIMIT_RAW);
        enum sacct_column column = is_raw ? SACCT_LIMIT_RAW : SACCT_LIMIT;
        const char *text = sacct_field(table, column);
        char show[STR_SHOW_MAX];
        int64_t amount = 0;

        *ret_ms = 0;
        if (text[0] == '\0' || str_equal_nocase(text, "UNLIMITED") ||
            str_equal_nocase(text, "Partition_Limit"))
                return 0;
        if (is_raw) {
                if (num_i64(text, 0, UINT32_MAX, &amount, err) < 0)
                        return sacct_blame(table, column, err);
                *ret_ms = amount * 60000;
                return 0;
        }
        if (!sacct_read_clock(text, &amount))
                return sacct_fail(table, column, err,
                                  "'%s' is no time limit such as 02:00:00, 1-00:00:00, UNLIMITED",
                                  str_show(text, show));
        *ret_ms = amount * 1000;
        return 0;
}

/* How long it ran, without the time it was suspended. Slurm takes that off Elapsed itself, files
 * that were changed on the way may not have: End - Start tells. */
static int read_duration(struct sacct_reader *reader, struct sacct_run *run, struct err *err)
{
        int64_t elapsed_s, suspended_s, wall_ms = -1;
        int rc;

        if ((rc = read_seconds(&reader->table, SACCT_ELAPSED_RAW, SACCT_ELAPSED, &elapsed_s, err)) <
                    0 ||
            (rc = read_seconds(&reader->table, SACCT_SUSPENDED, SACCT_SUSPENDED, &suspended_s,
                               err)) < 0 ||
            (rc = read_time(reader, SACCT_START, run->job.submit_ms, &run->start_ms, err)) < 0)
                return rc;
        int64_t least_ms = run->start_ms == SACCT_NO_TIME ? run->job.submit_ms : run->start_ms;
        least_ms += (elapsed_s > 0 ? elapsed_s : 0) * 1000;
        if ((rc = read_time(reader, SACCT_END, least_ms, &run->end_ms, err)) < 0)
                return rc;
        if (run->start_ms != SACCT_NO_TIME && run->end_ms != SACCT_NO_TIME)
                wall_ms = run->end_ms - run->start_ms;
        int64_t ran_ms = elapsed_s >= 0 ? elapsed_s * 1000 : wall_ms;
        if (suspended_s > 0 && wall_ms >= 0 && ran_ms + suspended_s * 1000 > wall_ms)
                ran_ms -= suspended_s * 1000;
        ran_ms = ran_ms < 0 ? 0 : ran_ms > JOB_MS_MAX ? JOB_MS_MAX : ran_ms;
        bool has_started =
                run->start_ms != SACCT_NO_TIME || !sacct_has(&reader->table, SACCT_START);
        run->has_run = has_started && run->stage != SACCT_WAITS && ran_ms > 0;
        run->job.duration_ms = run->has_run ? ran_ms : 0;
        return 0;
}

int sacct_read_times(struct sacct_reader *reader, struct sacct_run *run, struct err *err)
{
        struct job *job = &run->job;
        int rc;

        if ((rc = read_time(reader, SACCT_SUBMIT, 0, &job->submit_ms, err)) < 0)
                return rc;
        if (job->submit_ms == SACCT_NO_TIME)
                return sacct_fail(&reader->table, SACCT_SUBMIT, err,
                                  "says no time; take the row out");
        if ((rc = read_time(reader, SACCT_ELIGIBLE, job->submit_ms, &job->eligible_ms, err)) < 0)
                return rc;
        if (job->eligible_ms < job->submit_ms)
                job->eligible_ms = job->submit_ms;
        if ((rc = read_duration(reader, run, err)) < 0 || !run->has_run)
                return rc;
        return read_limit(&reader->table, &job->limit_ms, err);
}
