/* request_of_workload.h - what the engine is asked for by a workload document.
 *
 * Pure. A document is one request; an array one for each task, a service one for each replica. All
 * are alike but for their ids. Numbers (ids, arrays, groups) are the caller's; names of the tenant,
 * class and data label become indexes of the tenancy that is in force.
 */
#pragma once

#include "proto/workload_doc.h"

struct request_ids {
        uint64_t workload;              /* of the first request; the others count on from it */
        uint32_t number;                /* of the document, not 0: names its array or its group */
        uint16_t artifact;              /* as need.artifact; 0: none, or not known */
        uint32_t after_count;           /* live workloads whose good end it waits for */
        const uint64_t *after;
};

/* How many requests it comes to: 1 or more. */
uint32_t workload_requests(const struct workload_doc *workload);

/* Number `index` of them, below workload_requests(). `tenancy` NULL: no policy is in force. 0,
 * -ERR_NOT_FOUND (tenant, class or label is not in the tenancy), -ERR_RANGE (it waits for more than
 * AFTER_MAX workloads) or what request_settle() returns. */
int request_of_workload(const struct workload_doc *workload, const struct tenancy *tenancy,
                        const struct request_ids *ids, uint32_t index, struct request *ret_request,
                        struct err *err);
