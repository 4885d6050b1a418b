/* num.h - numbers from text, exactly or not at all.
 *
 * Pure. The whole text must be the number: no blanks, no sign unless said, no
 * "0x", no exponent, no digits dropped by rounding. A decimal is refused when
 * it does not come out as a whole number of the result's unit.
 *
 * Each function returns 0 and writes *ret_x, or -ERR_INPUT (not such a number)
 * or -ERR_RANGE (outside min..max) with a sentence that says what was read and
 * what to write instead; then *ret_x is unchanged. min and max are inclusive
 * and in the result's unit. None of the sentences names a place: the caller
 * puts file, line and field in front (doc.h and csv.h do).
 */
#pragma once

#include <stdint.h>

struct err;

/* "12" */
int num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value, struct err *err);

/* "12", "-12" */
int num_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value, struct err *err);

/* "0.25" -> 250 thousandths; at most three digits after the point. */
int num_milli(const char *text, uint64_t min_milli, uint64_t max_milli, uint64_t *ret_milli,
              struct err *err);

/* "0.25" -> 25 with `digits` = 2: a decimal with at most `digits` (0 to 9) digits after the point,
 * times ten to the power of `digits`. */
int num_fixed(const char *text, unsigned digits, uint64_t min, uint64_t max, uint64_t *ret_value,
              struct err *err);

/* "100Mi", "40Gi", "1.5Ti", "2Pi"; a bare number is MiB. Powers of 1024 only: "40GB" is refused. */
int num_size_mib(const char *text, uint64_t min_mib, uint64_t max_mib, uint64_t *ret_mib,
                 struct err *err);

/* "800Mb", "100Gb", "1.6Tb" -> megabits per second; "0" needs no unit. */
int num_rate_mbit(const char *text, uint64_t min_mbit, uint64_t max_mbit, uint64_t *ret_mbit,
                  struct err *err);

/* "500ms", "30s", "5m", "1.5h", "2d" -> ms; "0" needs no unit. */
int num_duration_ms(const char *text, int64_t min_ms, int64_t max_ms, int64_t *ret_ms,
                    struct err *err);

/* "13mo" or "2y" -> months of the calendar. */
int num_months(const char *text, uint64_t min_months, uint64_t max_months, uint64_t *ret_months,
               struct err *err);

/* "12", "0.5" (cores) or "500m" (thousandths of a core) -> thousandths. */
int num_cpu_milli(const char *text, uint64_t min_milli, uint64_t max_milli, uint64_t *ret_milli,
                  struct err *err);
