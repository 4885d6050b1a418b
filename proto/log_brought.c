#include "proto/log_brought.h"

#include <assert.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "proto/kind.h"
#include "proto/log_group.h"
#include "proto/policy_doc.h"

void log_brought_done(struct log_brought *brought)
{
        policy_doc_free(brought->policy);
        mem_free(brought->windows);
        *brought = (struct log_brought){0};
}

int log_policy_read(const char *text, uint64_t revision, const struct model_table *models,
                    struct policy_doc **ret_policy, struct err *err)
{
        const struct doc_node *root;
        struct policy_doc *policy;
        struct doc *doc;
        int rc = doc_read_yaml("policy", text, strlen(text), &doc, err);

        if (rc)
                return rc;
        rc = kind_need(doc, "Policy", &root, err);
        if (rc == 0)
                rc = policy_doc_decode(root, models, NULL, &policy, err);
        doc_free(doc);
        if (rc)
                return rc;
        policy->tenancy->revision = revision;
        *ret_policy = policy;
        return 0;
}

/* Most inputs were decided, and their facts say all; of two kinds the facts do not. */
static bool brings_something(const void *body, size_t size)
{
        static const char *const begins[] = {"{\"input\":\"policy_set\"",
                                             "{\"input\":\"maintenance_set\""};

        for (unsigned b = 0; b < ARRAY_LEN(begins); b++)
                if (size > strlen(begins[b]) && memcmp(body, begins[b], strlen(begins[b])) == 0)
                        return true;
        return false;
}

int log_brought_take(struct log_brought *brought, const struct model_table *models,
                     struct logged_input *logged, struct err *err)
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
        if (logged->input.kind != INPUT_POLICY_SET)
                return 0;
        policy_doc_free(brought->policy);
        brought->policy = NULL;
        brought->revision = logged->revision;
        return log_policy_read(logged->document ? logged->document : "", logged->revision, models,
                               &brought->policy, err);
}

int log_brought_see(struct log_brought *brought, const struct model_table *models,
                    const void *body, size_t size, bool is_first, struct err *err)
{
        struct logged_input logged;
        int rc;

        if (!is_first && !brings_something(body, size))
                return 0;
        rc = log_input_parse(body, size, &logged, err);
        if (rc)
                return rc;
        rc = log_brought_take(brought, models, &logged, err);
        logged_input_done(&logged);
        return rc;
}

static int make_accounts(const struct log_brought *brought, struct accounts **ret_accounts,
                         struct err *err)
{
        if (!brought->policy)
                return err_set(err, ERR_INPUT, "a policy came into force that no input brought");
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

int log_brought_give(const struct log_brought *brought, struct fact *fact, struct err *err)
{
        if (fact->kind == FACT_POLICY_IN)
                return make_accounts(brought, &fact->accounts, err);
        if (fact->kind == FACT_MAINTENANCE_IN)
                return find_windows(brought, &fact->maintenance, err);
        return 0;
}

int log_brought_give_input(const struct log_brought *brought, struct input *input,
                           struct err *err)
{
        if (input->kind == INPUT_POLICY_SET)
                return make_accounts(brought, &input->accounts, err);
        if (input->kind == INPUT_MAINTENANCE_SET)
                return find_windows(brought, &input->maintenance, err);
        return 0;
}

struct policy_doc *log_brought_settle(struct log_brought *brought, const struct fact *fact)
{
        struct policy_doc *policy = brought->policy;

        if (fact->kind != FACT_POLICY_IN)
                return NULL;
        assert(policy);
        brought->policy = NULL;
        return policy;
}
