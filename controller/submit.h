/* submit.h - workload documents become workloads.
 *
 * One document is one workload, or one for each task of an array or replica of a service. They are
 * submitted in one act: all of them, or none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct act;
struct core;
struct err;
struct explanation;
struct object;
struct who;
struct workload_doc;

struct submission {
        const char *text;               /* the document as it came; borrowed */
        struct workload_doc *document;
        uint32_t count;                 /* workloads that it comes to */
};

/* Reads a document of `who`, JSON or YAML. A tenant that they may not see, and one that is none,
 * are -ERR_NOT_FOUND in the same words, before anything is held against the policy: its sentences
 * name tenants. (`who` NULL: whoever sees all.)
 * 0, -ERR_INPUT, -ERR_RANGE, -ERR_NOT_FOUND, -ERR_FULL, -ERR_NOMEM with file:line. */
int submission_read(struct core *core, const char *text, size_t size, bool is_json,
                    const struct who *who, struct submission *ret_submission, struct err *err);
/* One that was taken before: the policy of today is not asked. */
int submission_read_again(struct core *core, const struct object *object,
                          struct submission *ret_submission, struct err *err);
void submission_done(struct submission *submission);    /* a zeroed one is fine */

/* What came of one of them. */
struct submitted {
        uint64_t first_id;
        uint32_t count;
        uint32_t refused;               /* by the engine: they are known, and have ended */
};

/* Whether the person may have `count` more live workloads in its tenant, while `goes` of theirs go
 * for it, by the policy in force: `limit` and `tenants` of a principal, `limit_each` of the tenant
 * and of those above. All of them or none. 0, or -ERR_LIMIT with the limit, what there is, and the
 * way out. */
int submission_check_limits(struct core *core, const struct submission *submission,
                            const struct who *who, uint32_t count, uint32_t goes,
                            struct err *err);

/* Submits them. -ERR_LIMIT as above. On failure nothing was decided, unless -ERR_IO. */
int submission_decide(struct act *act, struct core *core, const struct submission *submission,
                      const struct who *who, struct submitted *ret_submitted, struct err *err);

/* The same of `count` of its replicas, for which the caller has checked the person's limits; they
 * join the ones of that document's number (0: they are a document of their own). */
int submission_decide_some(struct act *act, struct core *core, const struct submission *submission,
                           const struct who *who, uint32_t count, uint32_t number,
                           struct submitted *ret_submitted, struct err *err);

/* What would become of it: decides nothing. `ret_explanation` is large. */
int submission_explain(struct core *core, const struct submission *submission, int64_t now_ms,
                       struct explanation *ret_explanation, struct err *err);
