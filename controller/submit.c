#include "controller/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"
#include "controller/core.h"
#include "controller/simulated.h"
#include "controller/works.h"
#include "engine/explain.h"
#include "proto/kind.h"
#include "proto/request_of_workload.h"

/* ---- reading ---- */

static int need_tenant(struct workload_doc *document, const char *home, struct err *err)
{
        if (document->tenant[0])
                return 0;
        if (home && str_copy(document->tenant, sizeof document->tenant, home))
                return 0;
        return err_set(err, ERR_INPUT,
                       "workload '%s' names no tenant, and whoever submits it has none: add "
                       "'tenant: ...'",
                       document->name);
}

int submission_read(struct core *core, const char *text, size_t size, bool is_json,
                    const char *home, struct submission *ret_submission, struct err *err)
{
        struct submission submission = {.text = text};
        const struct doc_node *root;
        struct doc *doc;
        int rc = is_json ? doc_read_json("workload", text, size, &doc, err)
                         : doc_read_yaml("workload", text, size, &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Workload", &root, err);
        if (rc == 0)
                rc = workload_doc_decode(root, core_models(core), core_tenancy(core),
                                         core_state(core)->vocab, &submission.document, err);
        doc_free(doc);
        if (rc == 0)
                rc = need_tenant(submission.document, home, err);
        if (rc) {
                submission_done(&submission);
                return rc;
        }
        submission.count = workload_requests(submission.document);
        *ret_submission = submission;
        return 0;
}

void submission_done(struct submission *submission)
{
        workload_doc_free(submission->document);
        *submission = (struct submission){0};
}

/* ---- what it waits for ---- */

struct ended {
        bool found, well;
};

static int see_ended(void *arg, const struct object *object, struct err *err)
{
        struct ended *ended = arg;

        (void)err;
        ended->found = true;
        ended->well = str_equal(object->state, "succeeded");
        return 0;
}

/* Work that has ended well is waited for no more. */
static int find_ended(struct core *core, const struct workload_doc *document, const char *name,
                      struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD,
                                             .tenant = document->tenant,
                                             .name = name,
                                             .ended = true,
                                             .limit = 1};
        struct ended ended = {0};
        int rc = objects_list(core_view(core), &filter, see_ended, &ended, err);

        if (rc)
                return rc;
        if (!ended.found)
                return err_set(err, ERR_NOT_FOUND,
                               "field 'after': tenant '%s' has no workload '%s'",
                               document->tenant, name);
        if (!ended.well)
                return err_set(err, ERR_INPUT,
                               "field 'after': '%s' has ended, and not well: this would never "
                               "start",
                               name);
        return 0;
}

static int find_after(struct core *core, const struct workload_doc *document,
                      uint64_t ret_after[WORKLOAD_AFTER_MAX], uint32_t *ret_count,
                      struct err *err)
{
        uint32_t count = 0;

        for (uint32_t a = 0; a < document->after_count; a++) {
                const struct work *work = works_named(core_works(core), document->tenant,
                                                      document->after[a]);
                int rc = work ? 0 : find_ended(core, document, document->after[a], err);
                if (rc)
                        return rc;
                if (work)
                        ret_after[count++] = work->id;
        }
        *ret_count = count;
        return 0;
}

/* ---- deciding ---- */

static int keep(struct act *act, struct core *core, const struct submission *submission,
                const struct who *who, uint64_t id, uint32_t number, bool refused,
                struct err *err)
{
        const struct workload_doc *document = submission->document;
        const struct tenancy *tenancy = core_tenancy(core);
        char detail[96];
        struct object object = {.kind = OBJECT_WORKLOAD,
                                .id = id,
                                .tenant = document->tenant,
                                .name = document->name,
                                .class = document->class_name,
                                .owner = who->name,
                                .state = refused ? "refused" : "live",
                                .detail = detail,
                                .created_ms = core_now_ms(core),
                                .updated_ms = core_now_ms(core),
                                .ended_ms = refused ? core_now_ms(core) : 0,
                                .seq = number,
                                .body = submission->text,
                                .size = strlen(submission->text)};

        /* Names of local users need no escape: access.h takes them from the policy, or the system. */
        (void)snprintf(detail, sizeof detail, "{\"run_as\":\"%s\"}", who->run_as);
        if (!document->class_name[0] && tenancy)
                object.class = tenancy->classes[tenancy->default_class].name;
        return core_put(act, &object, err);
}

static int request_of(struct core *core, const struct submission *submission, uint64_t first,
                      uint32_t index, struct request *ret_request, struct err *err)
{
        uint64_t after[WORKLOAD_AFTER_MAX];
        struct request_ids ids = {.workload = first,
                                  .number = (uint32_t)(first % UINT32_MAX) + 1,
                                  .after = after};
        int rc = find_after(core, submission->document, after, &ids.after_count, err);

        return rc ? rc
                  : request_of_workload(submission->document, core_tenancy(core), &ids, index,
                                        ret_request, err);
}

static bool was_refused(const struct act *act, uint64_t id)
{
        uint32_t count;
        const struct fact *facts = core_facts(act, &count);

        for (uint32_t i = 0; i < count; i++)
                if (facts[i].kind == FACT_REFUSED && facts[i].refused.workload == id)
                        return true;
        return false;
}

static int submit_one(struct act *act, struct core *core, const struct submission *submission,
                      const struct who *who, const struct request *request,
                      const struct core_document *document, bool *ret_refused, struct err *err)
{
        const struct workload_doc *doc = submission->document;
        const struct input input = {.kind = INPUT_SUBMITTED, .request = *request};
        uint32_t number = request->array ? request->array : request->group;
        int rc = works_add(core_works(core), request->workload, doc->tenant, doc->name, who->name,
                           number, err);

        if (rc)
                return rc;
        works_find(core_works(core), request->workload)->simulated_ms =
                simulated_duration_ms(doc);
        rc = core_input(act, &input, document, err);
        *ret_refused = rc == 0 && was_refused(act, request->workload);
        if (rc || *ret_refused)
                works_drop(core_works(core), request->workload);
        return rc ? rc
                  : keep(act, core, submission, who, request->workload, number, *ret_refused, err);
}

/* All of them, or none: those that were submitted before it failed go again. */
static void take_back(struct act *act, uint64_t first, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                const struct input input = {.kind = INPUT_CANCELLED, .workload = first + i};
                (void)core_input(act, &input, NULL, NULL);
        }
}

int submission_decide(struct act *act, struct core *core, const struct submission *submission,
                      const struct who *who, struct submitted *ret_submitted, struct err *err)
{
        struct submitted submitted = {.first_id = core_take_ids(core, submission->count),
                                      .count = submission->count};
        const struct core_document document = {.text = submission->text};

        for (uint32_t i = 0; i < submission->count; i++) {
                struct request request;
                bool refused;
                int rc = request_of(core, submission, submitted.first_id, i, &request, err);
                if (rc == 0)
                        rc = submit_one(act, core, submission, who, &request,
                                        i == 0 ? &document : NULL, &refused, err);
                if (rc) {
                        take_back(act, submitted.first_id, i);
                        return rc;
                }
                submitted.refused += refused;
        }
        *ret_submitted = submitted;
        return 0;
}

int submission_explain(struct core *core, const struct submission *submission, int64_t now_ms,
                       struct explanation *ret_explanation, struct err *err)
{
        struct request request;
        int rc = request_of(core, submission, core_take_ids(core, 0), 0, &request, err);

        return rc ? rc
                  : explain_request(core_memo(core), core_state(core), &request, now_ms,
                                    ret_explanation, err);
}
