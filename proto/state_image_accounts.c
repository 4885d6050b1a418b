/* What a policy keeps of the past, in a state's image: sums, budgets, run times. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/accounts.h"
#include "proto/state_fields.h"
#include "proto/state_image_impl.h"

/* Tables of numbers; that of budgets is rows of structs. What follows from the tenancy alone (root,
 * pot_of, briefs) is not kept; pots are, to tell another policy. */
#define NUMBERS(X, tenants)                                                     \
        X(held,          FIELD_U64,  (size_t)(tenants) * DIMENSIONS_END)        \
        X(spare,         FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(within,        FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(pot,           FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(drawn,         FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(reserved,      FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(reserved_keep, FIELD_U64,  (size_t)(tenants) * DEVICE_DIMENSIONS)     \
        X(first,         FIELD_U32,  (tenants))                                 \
        X(last,          FIELD_U32,  (tenants))                                 \
        X(standard,      FIELD_U32,  (tenants))                                 \
        X(demoted,       FIELD_U32,  (tenants))                                 \
        X(dirty,         FIELD_BOOL, (tenants))                                 \
        X(counted_ms,    FIELD_I64,  (tenants))                                 \
        X(running,       FIELD_U32,  CLASSES_MAX * STANDINGS_END)               \
        X(kept,          FIELD_U64,  DEVICE_DIMENSIONS)

/* ---- writing ---- */

static void write_run_times(struct run_times *times, struct text *out)
{
        uint32_t kinds = run_times_kinds(times), known = 0;

        for (uint32_t k = 0; k < kinds; k++)
                known += run_times_kind(times, k)->added > 0;
        image_write_numbers(out, "run kinds", FIELD_U32, &known, 1);
        for (uint32_t k = 0; k < kinds; k++) {
                const struct runs *runs = run_times_kind(times, k);
                if (runs->added == 0)
                        continue;
                image_write_numbers(out, "run kind", FIELD_U32, &k, 1);
                image_write_rows(out, "runs", &state_runs_fields, runs, 1, sizeof *runs);
                image_write_numbers(out, "newest", FIELD_U32, runs->newest, RUN_TIMES_KEPT);
                image_write_numbers(out, "sorted", FIELD_U32, runs->sorted, RUN_TIMES_KEPT);
        }
}

void state_image_write_accounts(const struct accounts *accounts, struct text *out)
{
        const struct tenancy *tenancy = accounts ? accounts->tenancy : NULL;
        const uint64_t policy[] = {accounts != NULL, tenancy ? tenancy->revision : 0,
                                   tenancy ? tenancy->tenants_count : 0,
                                   tenancy ? tenancy->classes_count : 0};
        size_t budgets = accounts ? (size_t)accounts->tenants * TENANT_BUDGETS_MAX : 0;

        image_write_numbers(out, "policy", FIELD_U64, policy, ARRAY_LEN(policy));
        if (!accounts)
                return;
        image_write_rows(out, "accounts", &state_accounts_fields, accounts, 1, sizeof *accounts);
#define X(table, kind, count) image_write_numbers(out, #table, kind, accounts->table, count);
        NUMBERS(X, accounts->tenants)
#undef X
        image_write_rows(out, "budgets", &state_budget_fields, accounts->budgets, budgets,
                         sizeof *accounts->budgets);
        write_run_times(accounts->times, out);
}

/* ---- reading ---- */

static int read_runs(struct image_in *in, struct run_times *times, struct err *err)
{
        struct runs *runs;
        uint32_t kind;
        int rc = state_image_numbers(in, "run kind", FIELD_U32, &kind, 1, err);

        if (rc)
                return rc;
        if (kind >= run_times_kinds(times))
                return state_image_differs("run times of a tenant that is not there", err);
        runs = run_times_kind(times, kind);
        if ((rc = state_image_rows(in, "runs", &state_runs_fields, runs, 1, sizeof *runs, err)) <
                    0 ||
            (rc = state_image_numbers(in, "newest", FIELD_U32, runs->newest, RUN_TIMES_KEPT,
                                      err)) < 0)
                return rc;
        if (runs->added == 0 || runs->sorted_count > RUN_TIMES_KEPT ||
            runs->sorted_count > runs->added)
                return state_image_differs("fewer or more run times than are kept", err);
        return state_image_numbers(in, "sorted", FIELD_U32, runs->sorted, RUN_TIMES_KEPT, err);
}

static int read_past(struct image_in *in, struct accounts *accounts, struct err *err)
{
        size_t budgets = (size_t)accounts->tenants * TENANT_BUDGETS_MAX;
        uint32_t kinds = 0;
        int rc = state_image_rows(in, "accounts", &state_accounts_fields, accounts, 1,
                                  sizeof *accounts, err);

#define X(table, kind, count)                                                                     \
        if (rc == 0)                                                                              \
                rc = state_image_numbers(in, #table, kind, accounts->table, count, err);
        NUMBERS(X, accounts->tenants)
#undef X
        if (rc == 0)
                rc = state_image_rows(in, "budgets", &state_budget_fields, accounts->budgets,
                                      budgets, sizeof *accounts->budgets, err);
        if (rc == 0)
                rc = state_image_numbers(in, "run kinds", FIELD_U32, &kinds, 1, err);
        for (uint32_t k = 0; rc == 0 && k < kinds; k++)
                rc = read_runs(in, accounts->times, err);
        return rc;
}

static int another_policy(struct err *err)
{
        return state_image_differs("it was made under another policy", err);
}

static int read_into(struct image_in *in, struct accounts *accounts, struct err *err)
{
        size_t pots = (size_t)accounts->tenants * DEVICE_DIMENSIONS;
        uint64_t *promised = mem_new(pots, sizeof *promised);

        if (!promised)
                return err_set(err, ERR_NOMEM, "out of memory");
        memcpy(promised, accounts->pot, pots * sizeof *promised);
        int rc = read_past(in, accounts, err);
        if (rc == 0 && memcmp(promised, accounts->pot, pots * sizeof *promised) != 0)
                rc = another_policy(err);
        mem_free(promised);
        return rc;
}

int state_image_read_accounts(struct image_in *in, const struct tenancy *tenancy,
                              struct accounts **ret_accounts, struct err *err)
{
        uint64_t policy[4];
        int rc = state_image_numbers(in, "policy", FIELD_U64, policy, ARRAY_LEN(policy), err);

        if (rc)
                return rc;
        if (policy[0] != (tenancy != NULL))
                return state_image_differs(tenancy ? "no policy was in force"
                                                   : "a policy was in force, and there is none",
                                           err);
        if (!tenancy) {
                *ret_accounts = NULL;
                return 0;
        }
        if (policy[1] != tenancy->revision || policy[2] != tenancy->tenants_count ||
            policy[3] != tenancy->classes_count)
                return another_policy(err);
        struct accounts *accounts = accounts_new(tenancy, err);
        if (!accounts)
                return -ERR_NOMEM;
        rc = read_into(in, accounts, err);
        if (rc)
                accounts_free(accounts);
        else
                *ret_accounts = accounts;
        return rc;
}
