/* api_handlers.h - the handlers of the routes' table, by file; and what they share. */
#pragma once

#include "controller/api.h"
#include "controller/asides.h"
#include "controller/core.h"
#include "controller/guarded.h"

void api_ignore(void *arg, int rc, const struct err *err);      /* a core_done */

/* For api_begin() and api_commit(): true, where it has been answered, or will be (api_keys.c). */
bool api_answered_before(struct call *call);
/* With the act, where the request has a key. 0, -ERR_INPUT, -ERR_FULL, -ERR_NOMEM. */
int api_keep_key(struct call *call, struct act *act, unsigned status, const char *answer,
                 struct err *err);
/* False: answered with 429. */
bool api_not_too_often(struct call *call);

/* api_times.c: a time in the query ("now", "-1h", "2027-01-04", "2027-01-04T08:00Z"), or what stands
 * in `ret_ms`. False: answered. */
bool api_query_time(struct call *call, const char *name, int64_t *ret_ms);
/* The same where only whole hours or days are told apart: a span from now is widened to them. */
struct api_whole {
        int64_t unit_ms;
        bool up;                        /* it is an end: to the next one */
        const char *is;                 /* "the start of an hour" */
};
bool api_query_whole(struct call *call, const char *name, const struct api_whole *whole,
                     int64_t *ret_ms);

/* api_aside.c: the first member of a question that is answered aside (asides.h), which is one piece
 * from mem_new() and freed when it is answered. `work` leaves bytes (of malloc), size and type. */
struct api_aside {
        struct http_exchange *exchange;
        char head[GUARDED_HEAD_MAX], by[WHO_NAME_MAX];  /* for the crash record */
        char *bytes;
        size_t size;
        const char *type;               /* a constant of ours */
};
/* For the kind. */
bool api_aside_is_unwanted(void *self);
void api_aside_done(void *self, int rc, const struct err *err);
/* For `work`: leaves the value (taken; NULL: out of memory) as what is answered. 0, -ERR_NOMEM. */
int api_aside_json(struct api_aside *it, json_t *json, struct err *err);
/* Takes the question (NULL: out of memory), and answers now or later. */
void api_answer_aside(struct call *call, const struct aside_kind *kind, struct api_aside *it);

/* api_workloads.c */
route_handler post_workload, get_workloads, get_workload, delete_workload, post_hold, post_release,
        post_restart, post_preempt;
/* api_dry_run.c: what the submission would come to, answered now or aside. */
struct submission;
void api_dry_run(struct call *call, struct submission *submission);
/* api_move.c */
route_handler post_move;
/* api_declare.c */
route_handler put_workload;
void api_reply_document(struct call *call, const char *text, size_t size);
void api_cancel_named(struct call *call, const char *name);
/* api_explain.c */
route_handler get_explanation, get_queue, get_idle, get_fits;
/* api_pool.c */
route_handler get_pool, get_nodes, get_tenants, get_notices,
        post_drain, post_undrain, post_lost, post_freeze,
        get_health, get_ready, get_version, get_openapi,
        get_metrics;
/* api_documents.c */
route_handler get_policy, put_policy, get_policy_revisions, post_rollback, get_pool_document,
        put_pool_document;
struct document_put;
/* Who asks may put documents: with the query's dry_run, and If-Match. False: answered. */
bool api_may_put(struct call *call, struct document_put *document);
/* Commits the change, or refuses with `err` where `rc` says that it failed. */
void api_answer_put(struct call *call, struct act *act, const struct document_put *document, int rc,
                    const struct err *err);
/* api_beside.c */
route_handler get_reservations, put_reservation, delete_reservation, get_maintenance,
        put_maintenance, delete_maintenance;
/* api_tokens.c */
route_handler post_token, get_tokens, delete_token;
/* api_quarantine.c */
route_handler get_quarantine, delete_quarantine;
/* api_alerts.c */
route_handler get_alerts, post_acknowledge;
/* api_review.c */
route_handler get_review;
/* api_usage.c */
route_handler get_usage;
/* api_events.c */
route_handler get_events;
/* api_agents.c */
route_handler post_exchange;
/* api_attach_open.c */
route_handler post_attach;
/* Once it has ended: a note of that, which events are made of. */
struct attachment;
void api_log_detached(struct api *api, struct attachment *session);
/* api_attach.c */
route_handler get_attach_output, post_attach_input, delete_attach, get_attach_input,
        post_attach_output;
/* api_certificates.c */
route_handler post_certificate, delete_certificate;
/* api_logs.c */
route_handler get_logs, post_answer;
