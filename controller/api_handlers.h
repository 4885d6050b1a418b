/* api_handlers.h - the handlers of the routes' table, by file; and what they share. */
#pragma once

#include "controller/api.h"
#include "controller/core.h"

void api_ignore(void *arg, int rc, const struct err *err);      /* a core_done */

/* api_workloads.c */
route_handler post_workload, get_workloads, get_workload, delete_workload, get_explanation,
        post_hold, post_release, post_restart, post_preempt;
/* api_pool.c */
route_handler get_queue, get_pool, get_nodes, get_idle, get_fits, get_tenants, get_notices,
        post_drain, post_undrain, post_freeze, get_health, get_ready, get_version, get_metrics;
/* api_documents.c */
route_handler get_policy, put_policy, get_pool_document, put_pool_document;
/* api_usage.c */
route_handler get_usage;
/* api_events.c */
route_handler get_events;
/* api_agents.c */
route_handler post_exchange;
/* api_logs.c */
route_handler get_logs, post_answer;
