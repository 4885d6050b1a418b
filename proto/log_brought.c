#include "proto/log_brought.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/price.h"
#include "proto/log_group.h"
#include "proto/policy_doc.h"

void log_brought_done(struct log_brought *brought)
{
        policy_doc_free(brought->policy);
        mem_free(brought->document);
        mem_free(brought->windows);
        mem_free(brought->plan);
        *brought = (struct log_brought){0};
}

int log_policy_read(const char *text, uint64_t revision, const struct model_table *models,
                    struct policy_doc **ret_policy, struct err *err)
{
        struct policy_doc *policy;
        int rc = policy_doc_read(text, models, NULL, &policy, err);

        if (rc)
                return rc;
        policy->tenancy->revision = revision;
        *ret_policy = policy;
        return 0;
}

/* Most inputs were decided, and their facts say all; of three kinds the facts do not. */
static bool brings_something(const void *body, size_t size)
{
        static const char *const begins[] = {"{\"input\":\"policy_set\"",
                                             "{\"input\":\"maintenance_set\"",
                                             "{\"input\":\"demand_plan_set\""};

        for (unsigned b = 0; b < ARRAY_LEN(begins); b++)
                if (size > strlen(begins[b]) && memcmp(body, begins[b], strlen(begins[b])) == 0)
                        return true;
        return false;
}

static int keep_document(struct log_brought *brought, const struct logged_input *logged,
                         struct err *err)
{
        const char *text = logged->document ? logged->document : "";
        size_t size = strlen(text) + 1;

        mem_free(brought->document);
        brought->revision = logged->revision;
        brought->document = mem_new(size, 1);
        if (!brought->document)
                return err_set(err, ERR_NOMEM, "out of memory");
        memcpy(brought->document, text, size);
        return 0;
}

int log_brought_take(struct log_brought *brought, struct logged_input *logged, struct err *err)
{
        if (logged->has_bounds) {
                brought->has_bounds = true;
                brought->bounds = logged->bounds;
        }
        if (logged->input.kind == INPUT_MAINTENANCE_SET) {
                mem_free(brought->windows);
                brought->windows = logged->maintenance;
                logged->maintenance = NULL;
        }
        if (logged->input.kind == INPUT_PLAN_SET) {
                mem_free(brought->plan);
                brought->plan = logged->plan;
                brought->has_plan = true;
                logged->plan = NULL;
        }
        return logged->input.kind == INPUT_POLICY_SET ? keep_document(brought, logged, err) : 0;
}

int log_brought_see(struct log_brought *brought, const void *body, size_t size, bool is_first,
                    struct err *err)
{
        struct logged_input logged;
        int rc;

        if (!is_first && !brings_something(body, size))
                return 0;
        rc = log_input_parse(body, size, &logged, err);
        if (rc)
                return rc;
        rc = log_brought_take(brought, &logged, err);
        logged_input_done(&logged);
        return rc;
}

static int make_accounts(struct log_brought *brought, const struct model_table *models,
                         struct accounts **ret_accounts, struct err *err)
{
        int rc;

        if (!brought->document)
                return err_set(err, ERR_INPUT, "a policy came into force that no input brought");
        policy_doc_free(brought->policy);
        brought->policy = NULL;
        rc = log_policy_read(brought->document, brought->revision, models, &brought->policy, err);
        if (rc)
                return rc;
        *ret_accounts = accounts_new(brought->policy->tenancy, err);
        return *ret_accounts ? 0 : -ERR_NOMEM;
}

static int find_windows(const struct log_brought *brought,
                        const struct maintenance **ret_windows, struct err *err)
{
        if (!brought->windows)
                return err_set(err, ERR_INPUT, "windows came that no input brought");
        *ret_windows = brought->windows;
        return 0;
}

static int find_plan(const struct log_brought *brought, const struct price_plan **ret_plan,
                     struct err *err)
{
        if (!brought->has_plan)
                return err_set(err, ERR_INPUT, "a demand plan came that no input brought");
        *ret_plan = brought->plan;
        return 0;
}

int log_brought_give(struct log_brought *brought, const struct model_table *models,
                     struct fact *fact, struct err *err)
{
        if (fact->kind == FACT_POLICY_IN)
                return make_accounts(brought, models, &fact->accounts, err);
        if (fact->kind == FACT_MAINTENANCE_IN)
                return find_windows(brought, &fact->maintenance, err);
        if (fact->kind == FACT_DEMAND_SET)
                return find_plan(brought, &fact->plan, err);
        return 0;
}

int log_brought_give_input(struct log_brought *brought, const struct model_table *models,
                           struct input *input, struct err *err)
{
        if (input->kind == INPUT_POLICY_SET)
                return make_accounts(brought, models, &input->accounts, err);
        if (input->kind == INPUT_MAINTENANCE_SET)
                return find_windows(brought, &input->maintenance, err);
        if (input->kind == INPUT_PLAN_SET)
                return find_plan(brought, &input->plan, err);
        return 0;
}

struct policy_doc *log_brought_settle(struct log_brought *brought, const struct fact *fact)
{
        struct policy_doc *policy = brought->policy;

        if (fact->kind != FACT_POLICY_IN)
                return NULL;
        assert(policy);
        brought->policy = NULL;
        mem_free(brought->document);
        brought->document = NULL;
        return policy;
}
