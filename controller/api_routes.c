/* The list of operations; docs/api.md describes each. */
#include "controller/api_handlers.h"

const struct route api_routes[] = {
        {HTTP_POST, "/v1/workloads", "postWorkload", post_workload},
        {HTTP_GET, "/v1/workloads", "getWorkloads", get_workloads},
        {HTTP_GET, "/v1/workloads/{id}", "getWorkload", get_workload},
        {HTTP_DELETE, "/v1/workloads/{id}", "deleteWorkload", delete_workload},
        {HTTP_GET, "/v1/workloads/{id}/explain", "getExplanation", get_explanation},
        {HTTP_POST, "/v1/workloads/{id}/hold", "postHold", post_hold},
        {HTTP_POST, "/v1/workloads/{id}/release", "postRelease", post_release},
        {HTTP_GET, "/v1/queue", "getQueue", get_queue},
        {HTTP_GET, "/v1/pool", "getPool", get_pool},
        {HTTP_GET, "/v1/pool/document", "getPoolDocument", get_pool_document},
        {HTTP_PUT, "/v1/pool/document", "putPoolDocument", put_pool_document},
        {HTTP_GET, "/v1/policy", "getPolicy", get_policy},
        {HTTP_PUT, "/v1/policy", "putPolicy", put_policy},
        {HTTP_GET, "/v1/nodes", "getNodes", get_nodes},
        {HTTP_POST, "/v1/nodes/{node}/drain", "postDrain", post_drain},
        {HTTP_POST, "/v1/nodes/{node}/undrain", "postUndrain", post_undrain},
        {HTTP_POST, "/v1/nodes/{node}/exchange", "postExchange", post_exchange},
        {HTTP_POST, "/v1/freeze", "postFreeze", post_freeze},
        {HTTP_GET, "/v1/idle", "getIdle", get_idle},
        {HTTP_GET, "/v1/fits", "getFits", get_fits},
        {HTTP_GET, "/v1/tenants", "getTenants", get_tenants},
        {HTTP_GET, "/v1/notices", "getNotices", get_notices},
        {HTTP_GET, "/v1/usage", "getUsage", get_usage},
        {HTTP_GET, "/v1/events", "getEvents", get_events},
        {HTTP_GET, "/v1/version", "getVersion", get_version},
        {HTTP_GET, "/healthz", "getHealth", get_health},
        {HTTP_GET, "/readyz", "getReady", get_ready},
};
const size_t api_routes_count = sizeof api_routes / sizeof api_routes[0];
