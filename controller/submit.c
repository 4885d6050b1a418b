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
#include "store/batch.h"

#define BYTES_PER_WORKLOAD 1024         /* of its records and its row, the document aside */

/* ---- reading ---- */

static int check_seen(const struct doc_node *root, const struct who *who,
                      const struct tenancy *tenancy, struct err *err)
{
        const char *tenant = doc_raw(doc_get(root, "tenant"));
        char show[STR_SHOW_MAX];

        if (!tenant || !who || access_may(who, ACTION_SEE_ALL, NULL))
                return 0;
        if (access_may(who, ACTION_SEE, tenant) && tenancy && tenancy_find(tenancy, tenant) >= 0)
                return 0;
        return err_set(err, ERR_NOT_FOUND, "%s is not here, or not for %s to see",
                       str_show(tenant, show), who->name);
}

static int read(struct core *core, const char *text, size_t size, bool is_json,
                const struct who *who, const struct tenancy *tenancy,
                struct submission *ret_submission, struct err *err)
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
                rc = check_seen(root, who, tenancy, err);
        if (rc == 0)
                rc = workload_doc_decode(root, core_models(core), tenancy,
                                         core_state(core)->vocab, &submission.document, err);
        doc_free(doc);
        if (rc) {
                submission_done(&submission);
                return rc;
        }
        submission.count = workload_requests(submission.document);
        *ret_submission = submission;
        return 0;
}

int submission_read(struct core *core, const char *text, size_t size, bool is_json,
                    const struct who *who, struct submission *ret_submission, struct err *err)
{
        return read(core, text, size, is_json, who, core_tenancy(core), ret_submission, err);
}

int submission_read_again(struct core *core, const struct object *object,
                          struct submission *ret_submission, struct err *err)
{
        return read(core, object->body, object->size, false, NULL, NULL, ret_submission, err);
}

void submission_done(struct submission *submission)
{
        workload_doc_free(submission->document);
        *submission = (struct submission){0};
}

/* ---- what it waits for ---- */

/* Workloads of one name: the newest one, and those that came with it. */
struct named {
        const char *name;
        uint64_t number;                /* of their document; 0: it is only one */
        bool known;                     /* the number is */
        bool found;
        const char *bad;                /* "failed", ...: how one of them ended; NULL: well */
        char state[32];
};

/* From the newest on. */
static int see_ended(void *arg, const struct object *object, struct err *err)
{
        struct named *named = arg;

        (void)err;
        if (named->known && (named->number == 0 || object->seq != named->number))
                return 1;               /* they are of another document */
        named->known = named->found = true;
        named->number = object->seq;
        if (str_equal(object->state, "succeeded"))
                return 0;
        (void)str_copy(named->state, sizeof named->state, object->state);
        named->bad = named->state;
        return 1;
}

/* Work that has ended well is waited for no more. */
static int check_ended(struct core *core, const struct workload_doc *document,
                       struct named *named, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD,
                                             .tenant = document->tenant,
                                             .name = named->name,
                                             .ended = true};
        int rc = objects_list(core_view(core), &filter, see_ended, named, err);

        if (rc < 0)
                return rc;
        if (!named->found)
                return err_set(err, ERR_NOT_FOUND,
                               "field 'after': tenant '%s' has no workload '%s'",
                               document->tenant, named->name);
        if (named->bad)
                return err_set(err, ERR_INPUT,
                               "field 'after': '%s' has ended (%s), and not well: this would never "
                               "start",
                               named->name, named->bad);
        return 0;
}

/* Its end is decided, and not on the disk yet: how it ended cannot be told for a moment. */
static int see_ending(void *arg, const struct object *object, struct err *err)
{
        const struct core *core = arg;

        if (works_find(core_works(core), object->id))
                return 0;
        return err_set(err, ERR_CANCELLED,
                       "field 'after': '%s' has just ended, and how is not on the disk yet; try "
                       "again",
                       object->name);
}

static int check_ending(struct core *core, const struct workload_doc *document, const char *name,
                        struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_WORKLOAD,
                                             .tenant = document->tenant,
                                             .name = name,
                                             .live = true};

        return objects_list(core_view(core), &filter, see_ending, core, err);
}

struct waits {
        uint64_t ids[AFTER_MAX];
        uint32_t count;
};

/* Those that live: with the newest one all of its array, or all replicas. */
static int add_live(struct core *core, const struct work *work, struct waits *waits,
                    struct err *err)
{
        const char *name = work->name;
        uint32_t number = work->document;

        for (; work; work = works_find(core_works(core), work->older)) {
                if (work->document != number)
                        continue;
                if (waits->count == AFTER_MAX)
                        return err_set(err, ERR_RANGE,
                                       "field 'after': with '%s' it would wait for more than %d "
                                       "workloads",
                                       name, AFTER_MAX);
                waits->ids[waits->count++] = work->id;
                if (number == 0)
                        return 0;
        }
        return 0;
}

static int find_after(struct core *core, const struct workload_doc *document,
                      struct waits *ret_waits, struct err *err)
{
        *ret_waits = (struct waits){0};
        for (uint32_t a = 0; a < document->after_count; a++) {
                const struct work *work = works_named(core_works(core), document->tenant,
                                                      document->after[a]);
                struct named named = {.name = document->after[a]};
                int rc = work ? add_live(core, work, ret_waits, err) : 0;
                if (work) {
                        named.number = work->document;
                        named.known = named.found = true;
                }
                if (rc == 0)
                        rc = check_ending(core, document, named.name, err);
                if (rc == 0)
                        rc = check_ended(core, document, &named, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- limits of persons ---- */

static const struct principal *find_principal(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t p = 0; p < tenancy->principals_count; p++)
                if (str_equal(tenancy->principals[p].name, name))
                        return &tenancy->principals[p];
        return NULL;
}

/* One limit: of the person, in the tenant and below it; "": in all. */
struct person_limit {
        const char *tenant;
        uint64_t jobs;                  /* ABSENT, UNLIMITED: there is none */
        bool is_own;                    /* the principal's word, not that of the tenant for each */
};

static int check_limit(struct core *core, const struct submission *submission,
                       const struct who *who, const struct person_limit *limit, uint32_t more,
                       struct err *err)
{
        uint64_t has = works_of_person(core_works(core), who->name, limit->tenant);
        bool is_all = !limit->tenant[0];

        if (!amount_is_number(limit->jobs) || has + more <= limit->jobs)
                return 0;
        return err_set(err, ERR_LIMIT,
                       "workload '%s' is %" PRIu32 " more, and %s has %" PRIu64
                       " of at most %" PRIu64 " waiting and running in %s%s (policy: %s): wait "
                       "until some have ended, cancel some, or ask an operator of the pool for a "
                       "higher limit",
                       submission->document->name, more, who->name, has, limit->jobs,
                       is_all ? "all tenants together" : "tenant ", limit->tenant,
                       is_all          ? "limit of the principal"
                       : limit->is_own ? "jobs of the principal there"
                                       : "limit_each of the tenant");
}

static struct person_limit limit_there(const struct tenancy *tenancy,
                                       const struct principal *principal, uint16_t tenant)
{
        struct person_limit limit = {.tenant = tenancy->tenants[tenant].path,
                                     .jobs = tenancy->tenants[tenant].each_jobs};

        for (unsigned g = 0; principal && g < principal->grants_count; g++)
                if (principal->grants[g].tenant == tenant &&
                    principal->grants[g].jobs != AMOUNT_ABSENT) {
                        limit.jobs = principal->grants[g].jobs;
                        limit.is_own = true;
                }
        return limit;
}

int submission_check_limits(struct core *core, const struct submission *submission,
                            const struct who *who, uint32_t count, uint32_t goes,
                            struct err *err)
{
        const struct tenancy *tenancy = core_tenancy(core);
        const struct principal *principal = tenancy ? find_principal(tenancy, who->name) : NULL;
        int found = tenancy ? tenancy_find(tenancy, submission->document->tenant) : -1;
        uint32_t more = count > goes ? count - goes : 0;
        int rc = 0;

        if (more == 0)
                return 0;               /* also where a limit was lowered meanwhile */
        for (uint16_t at = found < 0 ? TENANT_NONE : (uint16_t)found; rc == 0 && at != TENANT_NONE;
             at = tenancy->tenants[at].parent) {
                const struct person_limit limit = limit_there(tenancy, principal, at);
                rc = check_limit(core, submission, who, &limit, more, err);
        }
        if (rc == 0 && principal) {
                const struct person_limit limit = {.tenant = "", .jobs = principal->jobs};
                rc = check_limit(core, submission, who, &limit, more, err);
        }
        return rc;
}

/* ---- deciding ---- */

static int keep(struct act *act, struct core *core, const struct submission *submission,
                const struct who *who, uint64_t id, uint32_t number, uint32_t index, bool refused,
                struct err *err)
{
        const struct workload_doc *document = submission->document;
        const struct tenancy *tenancy = core_tenancy(core);
        char detail[128], task[32] = "";
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

        /* Names of local users need no escape: access.h takes them from the policy, or the
         * system. */
        if (document->array_last > 0)
                (void)snprintf(task, sizeof task, ",\"array_index\":%" PRIu32,
                               document->array_first + index);
        (void)snprintf(detail, sizeof detail, "{\"run_as\":\"%s\"%s}", who->run_as, task);
        if (!document->class_name[0] && tenancy)
                object.class = tenancy->classes[tenancy->default_class].name;
        return core_put(act, &object, err);
}

static int request_of(struct core *core, const struct submission *submission,
                      const struct waits *waits, uint64_t first, uint32_t number,
                      uint32_t index, struct request *ret_request, struct err *err)
{
        const struct request_ids ids = {.workload = first,
                                        .number = number ? number
                                                         : (uint32_t)(first % UINT32_MAX) + 1,
                                        .after = waits->ids,
                                        .after_count = waits->count};

        return request_of_workload(submission->document, core_tenancy(core), &ids, index,
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
                      const struct who *who, const struct request *request, uint32_t index,
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
                  : keep(act, core, submission, who, request->workload, number, index, *ret_refused,
                         err);
}

/* Whether tables and one batch have room for all of it: each workload is two records and keeps a
 * copy of the document. Where this is wrong, the act is undone. */
static int check_room(const struct core *core, const struct submission *submission,
                      uint32_t count, struct err *err)
{
        uint64_t bytes = (uint64_t)count * (strlen(submission->text) + BYTES_PER_WORKLOAD);

        if (count > works_room(core_works(core)))
                return err_set(err, ERR_FULL,
                               "workload '%s' is %" PRIu32 " workloads, and the pool takes %" PRIu32
                               " more now: try again when some have ended",
                               submission->document->name, count, works_room(core_works(core)));
        if (bytes <= BATCH_BYTES_MAX && count <= BATCH_RECORDS_MAX / 2)
                return 0;
        return err_set(err, ERR_FULL,
                       "workload '%s' is %" PRIu32 " workloads of a document of %zu bytes: "
                       "together more than one request may bring; make several of it, or put the "
                       "command's text into a file",
                       submission->document->name, count, strlen(submission->text));
}

int submission_decide(struct act *act, struct core *core, const struct submission *submission,
                      const struct who *who, struct submitted *ret_submitted, struct err *err)
{
        int rc = submission_check_limits(core, submission, who, submission->count, 0, err);

        return rc ? rc
                  : submission_decide_some(act, core, submission, who, submission->count, 0,
                                           ret_submitted, err);
}

int submission_decide_some(struct act *act, struct core *core, const struct submission *submission,
                           const struct who *who, uint32_t count, uint32_t number,
                           struct submitted *ret_submitted, struct err *err)
{
        struct submitted submitted = {.first_id = core_take_ids(core, count), .count = count};
        const struct core_document document = {.text = submission->text};
        struct waits waits;
        int found = check_room(core, submission, count, err);

        if (found == 0)
                found = find_after(core, submission->document, &waits, err);
        if (found)
                return found;
        for (uint32_t i = 0; i < count; i++) {
                struct request request;
                bool refused;
                int rc = request_of(core, submission, &waits, submitted.first_id, number, i,
                                    &request, err);
                if (rc == 0)
                        rc = submit_one(act, core, submission, who, &request, i,
                                        i == 0 ? &document : NULL, &refused, err);
                if (rc) {
                        if (core_facts_any(act))
                                core_undo(act);         /* all of them, or none */
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
        struct waits waits;
        int rc = find_after(core, submission->document, &waits, err);

        if (rc == 0)
                rc = request_of(core, submission, &waits, core_take_ids(core, 0), 0, 0, &request,
                                err);
        return rc ? rc
                  : explain_request(core_memo(core), core_state(core), &request, now_ms,
                                    ret_explanation, err);
}
