/* when.h - points in time as text: "2027-01-04T08:00Z".
 *
 * Pure. ISO 8601, in documents always with a zone: 2027-01-04T08:00Z, 2027-01-04T08:00:30+01:00.
 * Milliseconds since 1970-01-01T00:00Z, from 0 to CALENDAR_MS_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct doc_node;
struct err;
struct zone;

/* 0, -ERR_INPUT (no such time: also the 30th of February), -ERR_RANGE. Unchanged on failure. */
int when_parse(const char *text, int64_t *ret_ms, struct err *err);

/* As people say it at `now_ms`, on a command line or in a query: "now"; so long before or after it,
 * "-1h", "-7d", "+30m"; a day, "2027-01-04" (its first moment), or a time, in UTC where it says no
 * zone. 0, -ERR_INPUT (the sentence shows examples), -ERR_RANGE (outside 1970 to 9999). Unchanged
 * on failure. */
int when_told(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err);
/* Whether that speaks of now: who wants whole hours may round it. */
bool when_is_relative(const char *text);

/* The same where what is to come is meant: "2h" is so long from now. What is over is the caller's to
 * refuse. */
int when_ahead(const char *text, int64_t now_ms, int64_t *ret_ms, struct err *err);

/* "2027-01-04T08:00Z", with seconds where there are any. Returns `buf`. */
#define WHEN_TEXT_MAX 32
const char *when_text(int64_t ms, char buf[WHEN_TEXT_MAX]);

/* A time on the clock of `zone`: "2017-10-09 07:01:55", with T for the blank, with up to three
 * digits of a second, without seconds, or a day alone (its first moment). What ends with a zone of
 * its own (Z, +01:00) means that one. See zone.h for hours that come twice or never. Errors as
 * above. */
int when_parse_local(const char *text, const struct zone *zone, int64_t *ret_ms, struct err *err);

/* As the getters of doc.h: an absent node leaves *ret_ms as it is. */
int when_read(const struct doc_node *node, int64_t *ret_ms, struct err *err);
