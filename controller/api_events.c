/* The stream of events. */
#include "controller/api_handlers.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/events.h"
#include "controller/live.h"
#include "net/sse.h"
#include "store/log.h"
#include "store/objects.h"

/* Tenants that stand below another one of the list add nothing, and what matches twice would come
 * twice. */
static void wish_for_grants(const struct who *who, struct events_wish *wish)
{
        for (unsigned g = 0; g < who->grants_count; g++) {
                const char *tenant = who->grants[g].tenant;
                bool covered = false;
                for (unsigned o = 0; o < who->grants_count; o++) {
                        const char *other = who->grants[o].tenant;
                        covered |= o != g && tenant_is_below(tenant, other) &&
                                   (o < g || !str_equal(tenant, other));
                }
                if (!covered)
                        (void)str_copy(wish->tenants[wish->tenants_count++], TENANT_PATH_MAX,
                                       tenant);
        }
}

/* Who may see it: whose tenant it is of. -ERR_NOT_FOUND in the same words for both. */
static int wish_for_workload(struct call *call, uint64_t id, struct events_wish *wish,
                             struct err *err)
{
        struct object_copy *copy;
        int rc = objects_get(core_view(call->live->core), OBJECT_WORKLOAD, id, &copy, err);

        if (rc == 0) {
                if (!access_may(&call->who, ACTION_SEE, copy->object.tenant))
                        rc = -ERR_NOT_FOUND;
                mem_free(copy);
        }
        if (rc == -ERR_NOT_FOUND)
                return err_set(err, ERR_NOT_FOUND,
                               "workload %llu is not here, or not for %s to see",
                               (unsigned long long)id, call->who.name);
        wish->workload = id;
        return rc;
}

static int make_wish(struct call *call, const char *tenant, uint64_t workload,
                     struct events_wish *wish, struct err *err)
{
        bool all = access_may(&call->who, ACTION_SEE_ALL, NULL);
        int rc = 0;

        wish->view = all ? EVENT_ALL : EVENT_OWN;
        if (tenant[0]) {
                rc = access_need(&call->who, ACTION_SEE, tenant, tenant, err);
                (void)str_copy(wish->tenants[0], TENANT_PATH_MAX, tenant);
                wish->tenants_count = 1;
        } else if (!all) {
                wish_for_grants(&call->who, wish);
        }
        if (rc == 0 && workload)
                rc = wish_for_workload(call, workload, wish, err);
        return rc;
}

/* What happened at that time and later: as if the last event before had been seen. */
static int wish_from(struct call *call, int64_t from_ms, struct events_wish *wish, struct err *err)
{
        struct store *view = core_view(call->live->core);
        struct log_head base, head;
        uint64_t older = 0;
        int rc;

        if (from_ms > api_now_ms())
                return err_set(err, ERR_RANGE, "query 'from': that time has not come yet");
        if ((rc = log_base(view, &base, err)) < 0 || (rc = log_head(view, &head, err)) < 0 ||
            (rc = log_find_older(view, base.seq, head.seq, from_ms, &older, err)) < 0)
                return rc;
        /* From the first record that is left on: then what is forgotten is told. */
        wish->after = older == base.seq ? 0 : events_last_id(older);
        wish->has_after = true;
        return 0;
}

/* The header of a client that comes back goes before the query that it first came with. */
static bool asked_after(struct call *call, struct events_wish *wish)
{
        const char *header = http_header(call->exchange, "Last-Event-ID");
        char text[32] = "";
        struct err err;

        if (!api_query(call, "after", text, sizeof text))
                return false;
        const char *after = header && header[0] ? header : text;
        wish->has_after = after[0] != '\0';
        if (sse_last_id(after, &wish->after, &err) == 0)
                return true;
        api_fail(call, &err);
        return false;
}

void get_events(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        char tenant[TENANT_PATH_MAX] = "";
        struct events_wish wish = {0};
        int64_t workload = 0, from_ms = -1;
        struct call call;
        struct err err;
        int rc = 0;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query(&call, "tenant", tenant, sizeof tenant) ||
            !api_query_number(&call, "workload", 1, INT64_MAX, &workload) ||
            !api_query_time(&call, "from", &from_ms) || !asked_after(&call, &wish))
                return;
        wish.token = call.token;
        wish.until_ms = call.token_until_ms;
        /* Who comes back says behind which event, and still has the time in the query. */
        if (from_ms >= 0 && !wish.has_after)
                rc = wish_from(&call, from_ms, &wish, &err);
        if (rc < 0 || make_wish(&call, tenant, (uint64_t)workload, &wish, &err) < 0)
                api_fail(&call, &err);
        else
                events_follow(call.api->events, exchange, &wish);
}
