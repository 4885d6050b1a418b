/* policy_load.h - a policy file, or the shipped default, fitted to the tenants of a history. */
#pragma once

#include <stdint.h>

struct err;
struct history_gap;
struct jobs;
struct model_table;
struct policy_doc;
struct scenario_policy;

/* Tenants of the history that the policy does not name stand at its top and say nothing;
 * `ret_gap` (zeroed) counts them, and classes that it does not name.
 * `ret_tenants` (of jobs->tenants_count) and `ret_classes` (of jobs->classes_count + 1, the last
 * one for jobs without a class) tell which is which. `file` is the history's, for sentences. A
 * failure leaves *ret_policy alone; else it is freed by policy_doc_free(). */
int policy_load(const struct scenario_policy *policy, const struct model_table *models,
                const char *file, const struct jobs *jobs, struct policy_doc **ret_policy,
                uint16_t *ret_tenants, uint16_t *ret_classes, struct history_gap *ret_gap,
                struct err *err);
