/* policy_doc.h - the document `kind: Policy`: read, checked, and put into numbers.
 *
 * All or nothing: the first error ends it, with file, line, field and the way out. What is legal
 * but cannot have the effect that was meant (a limit that can never bind) is collected as a
 * warning. docs/policy.md describes every key for users, engine/tenancy.h what comes out.
 */
#pragma once

#include "engine/tenancy.h"
#include "proto/retention.h"

struct doc_node;
struct model_table;
struct pool_doc;

#define POLICY_WARNINGS_MAX 100         /* kept; all are counted */
#define POLICY_WARNING_MAX  480

struct policy_warning {
        unsigned line;
        char text[POLICY_WARNING_MAX];  /* "policy.yaml:7: field 'tenants.web.limit': ..." */
};

struct policy_doc {
        struct tenancy *tenancy;
        struct retention retention;     /* the engine needs none of it */
        uint32_t warnings_count;
        struct policy_warning warnings[POLICY_WARNINGS_MAX];
};

/* Reads the root of one document, and the Reservation documents of the same file. `pool` may be
 * NULL; with it, promises are held against its healthy devices and planes must exist. 0, or
 * -ERR_INPUT, -ERR_RANGE, -ERR_NOT_FOUND, -ERR_EXISTS, -ERR_FULL, -ERR_NOMEM. *ret_policy is freed
 * by policy_doc_free(); unchanged on failure. */
int policy_doc_decode(const struct doc_node *root, const struct model_table *models,
                      const struct pool_doc *pool, struct policy_doc **ret_policy,
                      struct err *err);
/* The same of a text, which is called "policy" in sentences. */
int policy_doc_read(const char *text, const struct model_table *models, const struct pool_doc *pool,
                    struct policy_doc **ret_policy, struct err *err);
void policy_doc_free(struct policy_doc *policy);        /* NULL is fine */

/* Texts for tables and sentences; each returns `buf`. */
#define POLICY_TEXT_MAX 96
/* As a key or a title, where it is the document's word: "H100-80", "any", "jobs", "slices of
 * 3g.40gb". */
const char *policy_dimension_key(const struct tenancy *tenancy, const struct model_table *models,
                                 unsigned dimension, char buf[POLICY_TEXT_MAX]);
/* The same in a sentence, where "any" is "any model". */
const char *policy_dimension_text(const struct tenancy *tenancy, const struct model_table *models,
                                  unsigned dimension, char buf[POLICY_TEXT_MAX]);
/* "8", "0.5", "40 GiB", "none", "unlimited"; devices, cores and counts without their unit. */
const char *policy_amount_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX]);
/* "8 devices", "1 device", "64 cores", "40 GiB", "200 jobs" */
const char *policy_amount_unit_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX]);
/* "90s", "5m", "2h", "1d"; the largest unit that is exact. */
const char *policy_duration_text(int64_t ms, char buf[POLICY_TEXT_MAX]);
