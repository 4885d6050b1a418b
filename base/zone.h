/* zone.h - the clock of a place: what its local times are in Coordinated Universal Time.
 *
 * Not pure (zone_load opens files). One owner at a time; no global state is touched.
 * Seconds since 1970-01-01T00:00; a local second counts the same way, but on the clock of the
 * place. From 0 to ZONE_S_MAX.
 *
 * Rules come from the system's zone files (RFC 8536, /usr/share/zoneinfo, Debian package tzdata),
 * read here and not by setenv("TZ") and mktime(): those change the whole process, and say not
 * which of two hours they mean. "UTC" is known without a file.
 *
 * A local time that comes twice (clocks go back) is the earlier of the two. One that never comes
 * (clocks go forward) is read with the offset that held before: 02:30 becomes 03:30.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct zone;

#define ZONE_NAME_MAX  64           /* bytes with the final NUL */
#define ZONE_S_MAX     253402300799 /* 9999-12-31T23:59:59 */
#define ZONE_BYTES_MAX (1u << 20)   /* of a zone file */

/* "America/Los_Angeles", "UTC". 0, -ERR_NOT_FOUND (no such zone, or no zone files at all),
 * -ERR_INPUT (no name of a zone, or a broken file), -ERR_IO, -ERR_NOMEM. *ret_zone is freed with
 * zone_free(). */
int zone_load(const char *name, struct zone **ret_zone, struct err *err);
/* The same from a zone file's bytes; `name` stands in the sentences. */
int zone_parse(const char *name, const char *bytes, size_t size, struct zone **ret_zone,
               struct err *err);
void zone_free(struct zone *zone); /* NULL is fine */

/* Local minus universal time at that moment, in seconds. */
int32_t zone_offset_s(const struct zone *zone, int64_t utc_s);

/* The moment of a local time; may lie below 0 by less than a day, for local times near 1970. */
int64_t zone_utc_s(const struct zone *zone, int64_t local_s);
