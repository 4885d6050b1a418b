/* check.h - is the store whole?
 *
 * Not pure; threads as store.h says (a view will do, beside a running controller). Looks at the
 * pages (PRAGMA integrity_check), the chain from its base to its head, the heads' signatures,
 * the snapshots' hashes and their place in the chain, and at every object's bounds. Whether work
 * that objects call live has ended in the log, only who reads records can tell.
 */
#pragma once

#include <stdint.h>

struct err;
struct store;

struct check_options {
        const uint8_t *public_key;      /* SEAL_PUBLIC_BYTES that all heads must be signed with */
                                        /* (prune.h); NULL: whatever key stands with them */
};

struct check_report {
        uint64_t records, snapshots, heads, objects, usage_rows, review_rows, keys,
                findings;
};

/* One finding, one sentence. */
typedef void check_finding(void *self, const char *sentence);

/* 0 when the look was finished, whatever it found; -ERR_NOMEM. What cannot be read is a finding. */
int store_check(struct store *store, const struct check_options *options, check_finding *finding,
                void *self, struct check_report *ret_report, struct err *err);
