/* persons.h - how often one person may ask, over all its connections, hosts and tokens.
 *
 * Pure. A table of PERSONS_MAX buckets (net/rate.h), found by the hash of the name; two names that
 * meet in one share it, unless the older one has not asked for PERSONS_IDLE_MS. Never grows, so
 * that names cannot fill it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PERSONS_MAX     4096u
#define PERSONS_IDLE_MS INT64_C(60000)

struct persons;

struct persons *persons_new(void);                      /* NULL: out of memory */
void persons_free(struct persons *persons);             /* NULL is fine */

/* A body counts as one more request for each so many bytes: reading it holds up all others. */
#define PERSONS_BODY_BYTES 1024u

/* One request with a body of so many bytes. 0, or how many ms to wait until there may be one; a
 * large one goes when a small one may, and its person pays for it afterwards. `now_ms` never goes
 * back and is above 0; per_s 0: any number. */
int64_t persons_take(struct persons *persons, const char *name, size_t body_bytes, uint32_t per_s,
                     int64_t now_ms);
