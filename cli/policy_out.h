/* policy_out.h - what `berth policy` prints. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "proto/policy_doc.h"

/* Room for any set of 64 names, and for all terms of a class. */
#define POLICY_NAMES_MAX 2304
#define POLICY_TERMS_MAX 8192

struct model_table;
struct pool_doc;

/* The tree with its numbers as they come out after inheritance, the classes with their terms in
 * words, the warnings, and one closing line. `pool` may be NULL. 0 or -ERR_NOMEM. */
int policy_print(const struct policy_doc *policy, const struct model_table *models,
                 const struct pool_doc *pool, size_t width, FILE *file, struct err *err);

/* What changes for whom from `before` to `after`, one line per change; both were read against the
 * same models. Returns the number of lines. */
unsigned policy_print_diff(const struct policy_doc *before, const struct policy_doc *after,
                           const struct model_table *models, FILE *file);

/* The same two for programs: {"tenants", "classes", "retention", "warnings", "warnings_count"}, and
 * {"changes"} with a sentence each. NULL: out of memory. */
json_t *policy_json(const struct policy_doc *policy, const struct model_table *models);
json_t *policy_diff_json(const struct policy_doc *before, const struct policy_doc *after,
                         const struct model_table *models);

/* The terms of one class in a sentence, cut at `size`. Returns `buf`. */
const char *policy_class_text(const struct tenancy *tenancy, const struct service_class *class,
                              char *buf, size_t size);

/* "whole, slice"; "all" for all of them, "no method" for none. Returns `buf`. */
const char *policy_methods_text(uint8_t methods, char buf[POLICY_TEXT_MAX]);
/* The names of a set of planes, classes or trust domains by the alphabet, joined by commas, cut at
 * `size` (POLICY_NAMES_MAX is enough). */
const char *policy_planes_text(const struct tenancy *tenancy, uint64_t planes, char *buf,
                               size_t size);
const char *policy_classes_text(const struct tenancy *tenancy, uint64_t classes, char *buf,
                                size_t size);
const char *policy_trusts_text(const struct tenancy *tenancy, uint64_t trusts, char *buf,
                               size_t size);
/* "5000 device-hours a month, then demote" */
const char *policy_budget_text(const struct budget *budget, char buf[POLICY_TEXT_MAX]);
/* "all", "none", "4 devices" */
const char *policy_lend_text(unsigned dimension, uint64_t amount, char buf[POLICY_TEXT_MAX]);
