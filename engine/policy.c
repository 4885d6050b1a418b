#include "engine/policy.h"

#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "engine/memo_impl.h"

static const char *const names[] = {
#define X(name, wire, help) wire,
        POLICIES(X)
#undef X
};

const char *policy_name(enum policy_kind kind)
{
        return names[kind];
}

static int parse_seed(const char *text, uint64_t *ret_seed, struct err *err)
{
        int rc = num_u64(text, 0, UINT64_MAX, ret_seed, err);

        return rc ? err_prefix(err, "the seed of placement 'random'") : 0;
}

int policy_parse(const char *text, struct policy *ret_policy, struct err *err)
{
        const char *colon = strchr(text, ':');
        size_t length = colon ? (size_t)(colon - text) : strlen(text);
        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];

        for (unsigned p = 0; p < POLICIES_END; p++) {
                struct policy policy = {.kind = (enum policy_kind)p, .seed = 1};
                if (strlen(names[p]) != length || memcmp(names[p], text, length) != 0)
                        continue;
                if (colon && policy.kind != POLICY_RANDOM)
                        return err_set(err, ERR_INPUT,
                                       "placement '%s' takes no seed; write '%s'", names[p],
                                       names[p]);
                int rc = colon ? parse_seed(colon + 1, &policy.seed, err) : 0;
                if (rc == 0)
                        *ret_policy = policy;
                return rc;
        }
        return err_set(err, ERR_NOT_FOUND, "there is no placement '%s'; %s", str_show(text, show),
                       str_near(names, POLICIES_END, text, near, sizeof near));
}

const struct policy_ops *policy_ops_of(const struct memo *memo, const struct state *state)
{
        switch (memo->policy.kind) {
        case POLICY_AUTO:
                if (state->plan_set && state->plan->priced)
                        return &policy_price;
                if (state->plan_set && state->plan->shapes_count > 0)
                        return &policy_fgd_compact;
                return &policy_gradient;
        case POLICY_FGD:
                if (state->plan_set && state->plan->shapes_count > 0)
                        return &policy_fgd;
                return &policy_gradient;
        case POLICY_GRADIENT:
                return &policy_gradient;
        case POLICY_FIRST_FIT:
                return &policy_first_fit;
        case POLICY_BEST_FIT:
                return &policy_best_fit;
        case POLICY_WORST_FIT:
                return &policy_worst_fit;
        case POLICY_PACKING:
                return &policy_packing;
        case POLICY_CLUSTERING:
                return &policy_clustering;
        case POLICY_DOT_PRODUCT:
                return &policy_dot_product;
        case POLICY_RANDOM:
                return &policy_random;
        case POLICIES_END:
                break;
        }
        return &policy_gradient;
}
