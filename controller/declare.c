#include "controller/declare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"
#include "controller/live.h"
#include "controller/submit.h"
#include "proto/request_of_workload.h"
#include "proto/workload_change.h"
#include "proto/workload_doc.h"

const char *declare_name(enum declare change)
{
        static const char *const names[DECLARES_END] = {
#define X(name, wire) [DECLARE_##name] = wire,
                DECLARES(X)
#undef X
        };

        return names[change];
}

void declare_tag(const char *text, char ret_tag[DECLARE_TAG_MAX])
{
        uint64_t hash = 1;

        for (const char *at = text; *at; at++)
                map_chain(&hash, (unsigned char)*at);
        (void)snprintf(ret_tag, DECLARE_TAG_MAX, "%016" PRIx64, hash);
}

void declare_done(struct declare_plan *plan)
{
        mem_free(plan->ids);
        *plan = (struct declare_plan){0};
}

/* ---- what is there ---- */

/* Whether it is meant by a number: one's own, or that of the document. */
static bool is_meant(const struct work *work, const struct work *by_number)
{
        return !by_number || work == by_number ||
               (work->document != 0 && work->document == by_number->document);
}

/* What is being cancelled is as good as gone. */
static int list_there(struct live *live, const struct declare_wish *wish,
                      struct declare_plan *plan, struct err *err)
{
        const struct workload_doc *document = wish->submission->document;
        struct works *works = core_works(live->core);
        const struct work *work = works_named(works, document->tenant, document->name);
        const struct work *by_number = wish->id ? works_find(works, wish->id) : NULL;
        uint32_t count = 0;

        for (const struct work *at = work; at; at = works_find(works, at->older))
                count++;
        plan->ids = mem_new(count ? count : 1, sizeof *plan->ids);
        if (!plan->ids)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (const struct work *at = work; at; at = works_find(works, at->older))
                if (at->wish != WISH_CANCEL && is_meant(at, by_number))
                        plan->ids[plan->there++] = at->id;
        return 0;
}

static int check_rights(struct live *live, const struct who *who, const struct declare_plan *plan,
                        struct err *err)
{
        for (uint32_t i = 0; i < plan->there; i++) {
                const struct work *work = works_find(core_works(live->core), plan->ids[i]);
                char what[48];
                (void)snprintf(what, sizeof what, "workload %" PRIu64, work->id);
                if (str_equal(work->user, who->name))
                        continue;       /* who may submit here may change their own */
                int rc = access_need(who, ACTION_MANAGE, work->tenant, what, err);
                if (rc)
                        return rc;
        }
        return 0;
}

/* ---- what is to change ---- */

static int compare(const char *before, const char *after, enum workload_change *ret_change,
                   char ret_keys[WORKLOAD_KEYS_MAX], struct err *err)
{
        struct doc *old = NULL, *new = NULL;
        int rc = doc_read_yaml("workload", before, strlen(before), &old, err);

        if (rc == 0)            /* JSON is YAML, too */
                rc = doc_read_yaml("workload", after, strlen(after), &new, err);
        if (rc == 0)
                *ret_change = workload_compare(doc_root(old, 0), doc_root(new, 0), ret_keys);
        doc_free(old);
        doc_free(new);
        return rc;
}

static int check_tag(const struct declare_wish *wish, const char *text, struct err *err)
{
        char tag[DECLARE_TAG_MAX];

        declare_tag(text, tag);
        if (!wish->tag || str_equal(wish->tag, tag))
                return 0;
        return err_set(err, ERR_EXISTS,
                       "workload '%s' has another document by now: read it and try again",
                       wish->submission->document->name);
}

static int compare_newest(struct live *live, const struct declare_wish *wish, uint64_t id,
                          enum workload_change *ret_change, char ret_keys[WORKLOAD_KEYS_MAX],
                          struct err *err)
{
        struct object_copy *copy;
        int rc = objects_get(core_view(live->core), OBJECT_WORKLOAD, id, &copy, err);
        char *text;

        if (rc == -ERR_NOT_FOUND)
                return err_set(err, ERR_EXISTS,
                               "workload %" PRIu64 " of that name is just being submitted: try "
                               "again", id);
        if (rc)
                return rc;
        text = mem_new(copy->object.size + 1, 1);
        if (!text) {
                mem_free(copy);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        memcpy(text, copy->object.body, copy->object.size);
        mem_free(copy);
        rc = check_tag(wish, text, err);
        if (rc == 0)
                rc = compare(text, wish->submission->text, ret_change, ret_keys, err);
        mem_free(text);
        return rc;
}

/* Who waits for it would never start: what they wait for would not have ended well. */
static int check_waiters(struct live *live, uint64_t id, struct err *err)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, id), link;

        if (slot == NONE || !(link = state->workloads[slot].first_after))
                return 0;
        return err_set(err, ERR_EXISTS,
                       "workload %" PRIu64 " waits for workload %" PRIu64 " ('after'), and would "
                       "be refused if that were replaced: cancel it first, or take another name",
                       state->workloads[state->afters[link - 1].waiter].id, id);
}

static bool is_held(struct live *live, uint64_t id)
{
        const struct state *state = core_state(live->core);
        uint32_t slot = state_workload(state, id);

        return slot != NONE && state->workloads[slot].holds & HOLD_USER;
}

static int check_replaced(struct live *live, const struct declare_wish *wish,
                          const struct declare_plan *plan, const char *keys, struct err *err)
{
        for (uint32_t i = 0; i < plan->there; i++) {
                const struct work *work = works_find(core_works(live->core), plan->ids[i]);
                int rc = check_waiters(live, work->id, err);
                if (rc)
                        return rc;
                if (work->epoch && !wish->replace)
                        return err_set(err, ERR_EXISTS,
                                       "workload %" PRIu64 " runs, and its document changes (%s): "
                                       "replace=true stops it at once and starts it again as the "
                                       "new document says",
                                       work->id, keys);
        }
        return 0;
}

static int plan_replace(struct live *live, const struct declare_wish *wish, const char *keys,
                        struct declare_plan *plan, struct err *err)
{
        plan->change = DECLARE_REPLACED;
        plan->submits = wish->submission->count;
        plan->cancels = plan->there;
        for (uint32_t i = 0; i < plan->there; i++)
                plan->is_held = plan->is_held || is_held(live, plan->ids[i]);
        return check_replaced(live, wish, plan, keys, err);
}

static void plan_scale(struct declare_plan *plan, uint32_t wanted, uint32_t number)
{
        plan->change = DECLARE_SCALED;
        plan->number = number;
        plan->submits = wanted > plan->there ? wanted - plan->there : 0;
        plan->cancels = wanted < plan->there ? plan->there - wanted : 0;
}

static int plan_change(struct live *live, const struct declare_wish *wish, const struct work *work,
                       struct declare_plan *plan, struct err *err)
{
        const struct submission *submission = wish->submission;
        enum workload_change change = WORKLOAD_SAME;
        char keys[WORKLOAD_KEYS_MAX];
        int rc = compare_newest(live, wish, plan->ids[0], &change, keys, err);

        if (rc)
                return rc;
        bool keeps = change == WORKLOAD_SAME && (!submission->document->is_service ||
                                                 plan->there == submission->count);
        if (keeps)
                return 0;
        if (change != WORKLOAD_CHANGED) {
                plan_scale(plan, submission->count, work->document);
                return 0;
        }
        return plan_replace(live, wish, keys, plan, err);
}

int declare_plan(struct live *live, const struct declare_wish *wish, struct declare_plan *ret_plan,
                 struct err *err)
{
        struct declare_plan plan = {0};
        int rc = list_there(live, wish, &plan, err);

        if (rc == 0)
                rc = check_rights(live, wish->who, &plan, err);
        if (rc == 0 && plan.there > 0)
                rc = plan_change(live, wish, works_find(core_works(live->core), plan.ids[0]), &plan,
                                 err);
        else if (rc == 0 && (wish->tag || wish->id))
                rc = err_set(err, ERR_EXISTS, "workload '%s' has ended by now: submit it anew",
                             wish->submission->document->name);
        else if (rc == 0)
                plan.change = DECLARE_SUBMITTED;
        if (rc) {
                declare_done(&plan);
                return rc;
        }
        if (plan.change == DECLARE_SUBMITTED)
                plan.submits = wish->submission->count;
        *ret_plan = plan;
        return 0;
}

/* ---- doing it ---- */

/* Those that stay are of the new document from now on. */
static int keep_text(struct live *live, struct act *act, const struct declare_wish *wish,
                     uint64_t id, struct err *err)
{
        struct object_copy *copy;
        int rc = objects_get(core_view(live->core), OBJECT_WORKLOAD, id, &copy, err);

        if (rc == -ERR_NOT_FOUND)
                return 0;               /* it is on its way: it keeps the text it came with */
        if (rc)
                return rc;
        struct object object = copy->object;
        object.body = wish->submission->text;
        object.size = strlen(wish->submission->text);
        object.updated_ms = core_now_ms(live->core);
        rc = core_put(act, &object, err);
        mem_free(copy);
        return rc;
}

int declare_check_limits(struct live *live, const struct declare_wish *wish,
                         const struct declare_plan *plan, struct err *err)
{
        uint32_t goes = 0;

        for (uint32_t i = 0; i < plan->cancels; i++) {
                const struct work *work = works_find(core_works(live->core), plan->ids[i]);
                goes += work && str_equal(work->user, wish->who->name);
        }
        return submission_check_limits(live->core, wish->submission, wish->who, plan->submits,
                                       goes, err);
}

static int decide(struct live *live, struct act *act, const struct declare_wish *wish,
                  const struct declare_plan *plan, struct submitted *ret_submitted,
                  struct err *err)
{
        struct works *works = core_works(live->core);
        int rc = declare_check_limits(live, wish, plan, err);

        *ret_submitted = (struct submitted){0};
        if (plan->change == DECLARE_REPLACED)
                wish->submission->document->is_held = plan->is_held;
        for (uint32_t i = 0; rc == 0 && i < plan->cancels; i++)
                rc = live_cancel(live, act, works_find(works, plan->ids[i]), err);
        if (rc == 0 && plan->submits > 0)
                rc = submission_decide_some(act, live->core, wish->submission, wish->who,
                                            plan->submits, plan->number, ret_submitted, err);
        for (uint32_t i = plan->cancels; rc == 0 && i < plan->there; i++)
                rc = keep_text(live, act, wish, plan->ids[i], err);
        return rc;
}

int declare_decide(struct live *live, struct act *act, const struct declare_wish *wish,
                   const struct declare_plan *plan, struct submitted *ret_submitted,
                   struct err *err)
{
        int rc = decide(live, act, wish, plan, ret_submitted, err);

        if (rc == 0 && ret_submitted->count > 0 && ret_submitted->refused == ret_submitted->count &&
            plan->cancels > 0)
                rc = err_set(err, ERR_INPUT, "workload '%s' is refused as it would be now: what is "
                                             "there stays",
                             wish->submission->document->name);
        if (rc && core_facts_any(act))
                core_undo(act);
        return rc;
}
