/* when.h - points in time as text: "2027-01-04T08:00Z".
 *
 * Pure. ISO 8601 with a zone, always: 2027-01-04T08:00Z, 2027-01-04T08:00:30+01:00. Milliseconds
 * since 1970-01-01T00:00Z, from 0 to CALENDAR_MS_MAX.
 */
#pragma once

#include <stdint.h>

struct doc_node;
struct err;

/* 0, -ERR_INPUT (no such time: also the 30th of February), -ERR_RANGE. Unchanged on failure. */
int when_parse(const char *text, int64_t *ret_ms, struct err *err);

/* "2027-01-04T08:00Z", with seconds where there are any. Returns `buf`. */
#define WHEN_TEXT_MAX 32
const char *when_text(int64_t ms, char buf[WHEN_TEXT_MAX]);

/* As the getters of doc.h: an absent node leaves *ret_ms as it is. */
int when_read(const struct doc_node *node, int64_t *ret_ms, struct err *err);
