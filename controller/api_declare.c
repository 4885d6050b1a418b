/* Workloads as documents: put by name until they are as the document says, read, and taken away. */
#include "controller/api_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/declare.h"
#include "controller/live.h"
#include "controller/submit.h"
#include "controller/view.h"
#include "controller/works.h"
#include "engine/explain.h"
#include "net/problem.h"
#include "net/uri.h"
#include "proto/explain_text.h"
#include "proto/workload_doc.h"

/* ---- PUT ---- */

struct put {
        struct submission submission;
        struct declare_wish wish;
        struct declare_plan plan;
        char tenant[TENANT_PATH_MAX];
        char tag[DECLARE_TAG_MAX];      /* If-Match without its quotes */
        bool dry_run;
        bool refused;                   /* the engine would never take it */
        enum verdict verdict;           /* of what is submitted; VERDICTS_END: nothing is */
        const char *summary;            /* of it, in `text` or constant */
        char text[EXPLAIN_TEXT_MAX];
};

static int read_tag(struct call *call, struct put *put, struct err *err)
{
        const char *header = http_header(call->exchange, "If-Match");
        size_t length;

        if (!header || str_equal(header, "*"))
                return 0;
        header += *header == '"';
        length = strcspn(header, "\"");
        if (length != DECLARE_TAG_MAX - 4)
                return err_set(err, ERR_INPUT, "If-Match: write the document's ETag, as it was "
                                               "read");
        memcpy(put->tag, header, length);
        put->wish.tag = put->tag;
        return 0;
}

/* What the path and the query say of it must be so. A number is that of the work there is. */
static int check_names(struct call *call, struct put *put, struct err *err)
{
        const struct workload_doc *document = put->submission.document;
        const char *name = route_param(call->match, "id");
        const struct work *work;

        if (num_u64(name, 1, INT64_MAX, &put->wish.id, NULL) == 0) {
                work = works_find(core_works(call->live->core), put->wish.id);
                if (!work || !access_may(&call->who, ACTION_SEE, work->tenant))
                        return err_set(err, ERR_NOT_FOUND,
                                       "workload %s has ended, or it is not for %s to see", name,
                                       call->who.name);
                if (str_equal(work->name, document->name) &&
                    str_equal(work->tenant, document->tenant))
                        return 0;
                return err_set(err, ERR_INPUT,
                               "the document is that of '%s' of '%s', and workload %s is '%s' of "
                               "'%s': submit it under its new name, and cancel this",
                               document->name, document->tenant, name, work->name, work->tenant);
        }
        if (put->tenant[0] && !str_equal(put->tenant, document->tenant))
                return err_set(err, ERR_INPUT,
                               "the document is of tenant '%s', and the query names '%s'",
                               document->tenant, put->tenant);
        if (str_equal(name, document->name))
                return 0;
        return err_set(err, ERR_INPUT, "the document is named '%s': put it to /v1/workloads/%s",
                       document->name, document->name);
}

static int read_put(struct call *call, struct put *put, struct err *err)
{
        size_t size;
        const char *body = http_body(call->exchange, &size);
        int rc = submission_read(call->live->core, body, size, api_body_is_json(call), &call->who,
                                 &put->submission, err);

        if (rc == 0)
                rc = access_need(&call->who, ACTION_SUBMIT, put->submission.document->tenant,
                                 put->submission.document->tenant, err);
        if (rc == 0)
                rc = check_names(call, put, err);
        if (rc == 0)
                rc = read_tag(call, put, err);
        put->wish.submission = &put->submission;
        put->wish.who = &call->who;
        return rc;
}

/* Too many jobs, of which some would go: whether it is refused then only trying tells, and that
 * leaves what is there where it is (declare.h). */
static bool makes_room(const struct put *put, const struct explanation *record)
{
        return put->plan.cancels > 0 && record->verdict == VERDICT_REFUSED &&
               record->gates[GATE_ALLOWED].passed && record->gates[GATE_FEASIBLE].passed &&
               !record->gates[GATE_JOBS].passed && record->gates[GATE_BUDGET].passed;
}

/* What would become of new ones: what is there does not go for what would be refused. */
static int foresee(struct call *call, struct put *put, struct err *err)
{
        struct explanation *record = mem_new(1, sizeof *record);
        const struct explain_names names = {.state = core_state(call->live->core), .clock = true};
        int rc;

        if (!record)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = declare_check_limits(call->live, &put->wish, &put->plan, err);
        if (rc == 0)
                rc = submission_explain(call->live->core, &put->submission, api_now_ms(), record,
                                        err);
        if (rc == 0 && !makes_room(put, record)) {
                put->verdict = record->verdict;
                put->summary = explain_summary(record, &names, put->text);
        }
        mem_free(record);
        put->refused = rc == 0 &&
                       (put->verdict == VERDICT_REFUSED || put->verdict == VERDICT_NEVER);
        if (put->refused && !put->dry_run)
                rc = err_set(err, ERR_INPUT, "workload '%s' would be refused, %s: %s%s",
                             put->submission.document->name, verdict_name(put->verdict),
                             put->summary, put->plan.there ? " What is there stays." : "");
        return rc;
}

static json_t *row_of(struct call *call, uint64_t id)
{
        const struct work *work = works_find(core_works(call->live->core), id);
        json_t *row = json_object();

        view_set(row, "id", json_integer((json_int_t)id));
        view_set(row, "state", json_string(work ? view_state(call->live, work) : "refused"));
        return row;
}

/* What is of it then, oldest first; and what was cancelled for it. */
static json_t *answer_of(struct call *call, const struct put *put,
                         const struct submitted *submitted)
{
        const struct declare_plan *plan = &put->plan;
        json_t *json = json_object(), *rows = json_array(), *cancelled = json_array();

        for (uint32_t i = plan->there; i-- > plan->cancels;)
                (void)json_array_append_new(rows, row_of(call, plan->ids[i]));
        for (uint32_t i = 0; i < submitted->count; i++)
                (void)json_array_append_new(rows, row_of(call, submitted->first_id + i));
        for (uint32_t i = plan->cancels; i-- > 0;)
                (void)json_array_append_new(cancelled, json_integer((json_int_t)plan->ids[i]));
        view_set(json, "name", json_string(put->submission.document->name));
        view_set(json, "tenant", json_string(put->submission.document->tenant));
        view_set(json, "change", json_string(declare_name(plan->change)));
        view_set(json, "dry_run", json_boolean(put->dry_run));
        view_set(json, "submits", json_integer(plan->submits));
        view_set(json, "workloads", rows);
        view_set(json, "cancelled", cancelled);
        if (put->verdict != VERDICTS_END) {
                view_set(json, "verdict", json_string(verdict_name(put->verdict)));
                view_set(json, "summary", json_string(put->summary));
        }
        return json;
}

static void carry_out(struct call *call, const struct put *put)
{
        struct submitted submitted = {0};
        struct act *act;
        struct err err;

        if (put->plan.change == DECLARE_NOTHING || put->dry_run) {
                api_reply(call, 200, answer_of(call, put, &submitted));
                return;
        }
        if (!(act = api_act(call)))
                return;
        if (declare_decide(call->live, act, &put->wish, &put->plan, &submitted, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        api_commit(call, act, put->plan.change == DECLARE_SUBMITTED ? 201 : 200,
                   answer_of(call, put, &submitted));
}

void put_workload(struct http_exchange *exchange, const struct route_match *match, void *arg)
{
        struct put put = {.verdict = VERDICTS_END, .summary = ""};
        struct call call;
        struct err err;

        if (!api_begin(arg, exchange, match, &call) ||
            !api_query_flag(&call, "dry_run", &put.dry_run) ||
            !api_query_flag(&call, "replace", &put.wish.replace) ||
            !api_query(&call, "tenant", put.tenant, sizeof put.tenant))
                return;
        int rc = read_put(&call, &put, &err);
        if (rc == 0)
                rc = declare_plan(call.live, &put.wish, &put.plan, &err);
        if (rc == 0 && put.plan.submits > 0)
                rc = foresee(&call, &put, &err);
        if (rc == 0)
                carry_out(&call, &put);
        else
                problem_answer(exchange, put.refused ? 422 : 0, &err, NULL);
        declare_done(&put.plan);
        submission_done(&put.submission);
}

/* ---- GET ?format=document ---- */

void api_reply_document(struct call *call, const char *text, size_t size)
{
        char tag[DECLARE_TAG_MAX], quoted[DECLARE_TAG_MAX + 2];
        char *copy = mem_new(size + 1, 1);
        static const struct err no_memory = {ERR_NOMEM, "out of memory"};

        if (!copy) {
                api_fail(call, &no_memory);
                return;
        }
        memcpy(copy, text, size);
        declare_tag(copy, tag);
        (void)snprintf(quoted, sizeof quoted, "\"%s\"", tag);
        (void)http_answer_header(call->exchange, "ETag", quoted);
        api_reply_text(call, "application/yaml", copy, size);
        mem_free(copy);
}

/* ---- DELETE by name ---- */

struct named {
        struct call *call;
        char tenant[TENANT_PATH_MAX];   /* found: that of the newest that may be seen */
};

static int see_live(void *arg, const struct object *object, struct err *err)
{
        struct named *named = arg;

        (void)err;
        if (!access_may(&named->call->who, ACTION_SEE, object->tenant))
                return 0;
        return str_copy(named->tenant, sizeof named->tenant, object->tenant) ? 1 : 0;
}

/* The newest that lives of the name. NULL: answered. */
static struct work *find_live(struct call *call, const char *name)
{
        struct named named = {.call = call};
        struct object_filter filter = {.kind = OBJECT_WORKLOAD, .name = name, .live = true};
        char tenant[TENANT_PATH_MAX] = "";
        struct err err;
        int rc;

        if (!api_query(call, "tenant", tenant, sizeof tenant))
                return NULL;
        if (tenant[0])
                filter.tenant = tenant;
        rc = objects_list(core_view(call->live->core), &filter, see_live, &named, &err);
        struct work *work = rc == 1 ? works_named(core_works(call->live->core), named.tenant, name)
                                    : NULL;
        if (work)
                return work;
        if (rc >= 0)
                (void)err_set(&err, ERR_NOT_FOUND,
                              "no workload '%s' lives here, or it is not for %s to see", name,
                              call->who.name);
        api_fail(call, &err);
        return NULL;
}

static int cancel_all(struct call *call, struct act *act, const uint64_t *ids, uint32_t count,
                      struct err *err)
{
        struct works *works = core_works(call->live->core);
        int rc = 0;

        for (uint32_t i = 0; rc == 0 && i < count; i++)
                rc = live_cancel(call->live, act, works_find(works, ids[i]), err);
        if (rc && core_facts_any(act))
                core_undo(act);
        return rc;
}

static json_t *cancelled_answer(struct call *call, const char *name, const uint64_t *ids,
                                uint32_t count)
{
        json_t *json = json_object(), *rows = json_array();

        for (uint32_t i = count; i-- > 0;) {
                const struct work *work = works_find(core_works(call->live->core), ids[i]);
                json_t *row = json_object();
                view_set(row, "id", json_integer((json_int_t)ids[i]));
                view_set(row, "state",
                         json_string(work ? view_state(call->live, work) : "cancelled"));
                (void)json_array_append_new(rows, row);
        }
        view_set(json, "name", json_string(name));
        view_set(json, "workloads", rows);
        return json;
}

static void cancel_named(struct call *call, const char *name, const uint64_t *ids, uint32_t count)
{
        struct act *act = api_act(call);
        struct err err;

        if (!act)
                return;
        if (cancel_all(call, act, ids, count, &err) < 0) {
                core_commit(act, api_ignore, NULL);
                api_fail(call, &err);
                return;
        }
        api_commit(call, act, 200, cancelled_answer(call, name, ids, count));
}

void api_cancel_named(struct call *call, const char *name)
{
        struct works *works = core_works(call->live->core);
        struct work *work = find_live(call, name);
        uint32_t count = 0;
        uint64_t *ids;
        struct err err;

        if (!work)
                return;
        ids = mem_new(works_count(works), sizeof *ids);
        if (!ids) {
                (void)err_set(&err, ERR_NOMEM, "out of memory");
                api_fail(call, &err);
                return;
        }
        for (; work; work = works_find(works, work->older)) {
                if (api_need_work(call, work, ACTION_MANAGE, &err) < 0) {
                        api_fail(call, &err);
                        break;
                }
                ids[count++] = work->id;
        }
        if (!work)
                cancel_named(call, name, ids, count);
        mem_free(ids);
}
