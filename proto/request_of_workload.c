#include "proto/request_of_workload.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"

static bool is_array(const struct workload_doc *workload)
{
        return workload->array_last > 0;
}

uint32_t workload_requests(const struct workload_doc *workload)
{
        if (workload->is_service)
                return workload->service.replicas;
        return is_array(workload) ? workload->array_last - workload->array_first + 1 : 1;
}

static int find_class(const struct workload_doc *workload, const struct tenancy *tenancy,
                      struct err *err)
{
        int class = tenancy->default_class;

        if (workload->class_name[0])
                class = tenancy_class_find(tenancy, workload->class_name);
        else if (class == CLASS_NONE)
                return err_set(err, ERR_NOT_FOUND,
                               "workload '%s' names no class, and the policy has no default_class",
                               workload->name);
        if (class < 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no class '%s'",
                               workload->class_name);
        return class;
}

static int find_owner(const struct workload_doc *workload, const struct tenancy *tenancy,
                      struct request *request, struct err *err)
{
        int tenant = tenancy_find(tenancy, workload->tenant), label = 0;
        int class = find_class(workload, tenancy, err);

        if (class < 0)
                return class;
        if (tenant < 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no tenant '%s'",
                               workload->tenant);
        if (workload->data[0])
                label = tenancy_label_find(tenancy, workload->data) + 1;
        if (workload->data[0] && label == 0)
                return err_set(err, ERR_NOT_FOUND, "the policy has no data label '%s'",
                               workload->data);
        request->tenant = (uint16_t)tenant;
        request->class = (uint16_t)class;
        request->data = (uint16_t)label;
        if (!workload->is_service && request->time_limit_ms == 0)
                request->time_limit_ms = tenancy->classes[class].time_limit_ms;
        return 0;
}

/* Tasks of one member that are to be spread are meant to be so from each other. */
static void number(const struct workload_doc *workload, const struct request_ids *ids,
                   struct request *request)
{
        if (workload->is_service ||
            (is_array(workload) && request->form.members == 1 && workload->spread != SPREAD_NONE))
                request->group = ids->number;
        if (is_array(workload)) {
                request->array = ids->number;
                request->array_at_once = workload->array_at_once;
        }
}

int request_of_workload(const struct workload_doc *workload, const struct tenancy *tenancy,
                        const struct request_ids *ids, uint32_t index, struct request *ret_request,
                        struct err *err)
{
        struct request request = workload->request;
        int rc;

        assert(index < workload_requests(workload));
        assert(ids->number != 0);
        if (ids->after_count > AFTER_MAX)
                return err_set(err, ERR_RANGE,
                               "workload '%s' waits for %u workloads; at most %d are possible",
                               workload->name, ids->after_count, AFTER_MAX);
        request.workload = ids->workload + index;
        request.need.artifact = ids->artifact;
        request.form.spread = workload->spread;
        request.spare = workload->is_spare;
        request.user_hold = workload->is_held;
        request.service = workload->is_service;
        request.serve = workload->method == METHOD_SERVE;
        request.retries = workload->is_service ? UINT16_MAX : (uint16_t)workload->retries;
        request.start_ms = workload->start_ms;
        request.time_limit_ms = workload->time_limit_ms;
        request.checkpoint_every_ms = workload->checkpoint.every_ms;
        request.checkpoint_within_ms = workload->checkpoint.within_ms;
        request.after_count = (uint8_t)ids->after_count;
        if (ids->after_count > 0)
                memcpy(request.after, ids->after, ids->after_count * sizeof *request.after);
        number(workload, ids, &request);
        if (tenancy && (rc = find_owner(workload, tenancy, &request, err)) < 0)
                return rc;
        if ((rc = request_settle(&request, err)) < 0)
                return rc;
        *ret_request = request;
        return 0;
}
