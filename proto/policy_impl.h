/* policy_impl.h - the inside of policy_doc.h, for proto/policy_*.c only.
 *
 * policy_doc.c reads the document, its rules and planes; policy_trust.c trust and data labels;
 * policy_class.c the classes and what presets say of them; policy_tenant.c the tree;
 * policy_people.c reservations and principals; policy_person.c limits of single persons;
 * policy_alerts.c alerts; policy_check.c holds the numbers against each other and the pool.
 */
#pragma once

#include "proto/policy_doc.h"

struct policy_reader {
        const struct model_table *models;
        const struct pool_doc *pool;            /* or NULL */
        struct policy_doc *policy;              /* under construction */
        struct tenancy *tenancy;                /* of it */
        bool trusts_listed;                     /* `trust` of the document lists all domains */
        const struct doc_node **tenant_nodes;   /* of each tenant; room for TENANTS_MAX */
};

/* A warning, with the place in front. */
void policy_warn(struct policy_reader *reader, const struct doc_node *node, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* A name of 1 to TENANCY_WORD_MAX - 1 letters, digits, '_', '.', '-'; `text` may be a key. */
int policy_copy_name(const struct doc_node *node, const char *text, char ret_name[TENANCY_WORD_MAX],
                     struct err *err);

/* [whole, slice], [training]: bits; an absent node leaves the mask. */
int policy_read_methods(const struct doc_node *list, uint8_t *ret_methods, struct err *err);
int policy_read_planes(struct policy_reader *reader, const struct doc_node *list,
                       uint64_t *ret_planes, struct err *err);
int policy_read_classes(const struct policy_reader *reader, const struct doc_node *list,
                        uint64_t *ret_classes, struct err *err);
/* The index of a trust domain, entered where the document lists none. */
int policy_read_trust(struct policy_reader *reader, const struct doc_node *node,
                      uint16_t *ret_trust, struct err *err);
/* The index of a tenant by its path. */
int policy_need_tenant(const struct policy_reader *reader, const struct doc_node *node,
                       const char *path, uint16_t *ret_tenant, struct err *err);

/* What a key of protect, limit, lend, budget or devices counts: a model, or any; with
 * `counted`, also jobs, cpu and so on. */
int policy_read_dimension(const struct policy_reader *reader, const struct doc_node *node,
                          bool counted, unsigned *ret_dimension, struct err *err);
/* One amount of it; "none" and "unlimited" are told by the caller. */
int policy_read_amount(const struct doc_node *node, unsigned dimension, uint64_t *ret_amount,
                       struct err *err);

int policy_read_trusts(struct policy_reader *reader, const struct doc_node *map, struct err *err);
int policy_read_labels(struct policy_reader *reader, const struct doc_node *map, struct err *err);
void policy_apply_preset(struct tenancy *tenancy, enum preset preset);
int policy_read_all_classes(struct policy_reader *reader, const struct doc_node *root,
                            struct err *err);
int policy_read_tenants(struct policy_reader *reader, const struct doc_node *root,
                        struct err *err);
int policy_read_reservations(struct policy_reader *reader, const struct doc_node *root,
                             struct err *err);
/* The reservation behind `before` (NULL: the first): of the policy's list, then of the Reservation
 * documents beside it. NULL: no more. */
const struct doc_node *policy_next_reservation(const struct doc_node *root,
                                               const struct doc_node *before);
/* {jobs: 20}: the most live workloads of one person; an absent map leaves it. */
int policy_read_person_limit(const struct doc_node *map, uint64_t *ret_jobs, struct err *err);
/* The number of it, or unlimited; an absent node leaves it. */
int policy_read_person_jobs(const struct doc_node *node, uint64_t *ret_jobs, struct err *err);
/* Warns of those that can never bind. */
int policy_check_persons(struct policy_reader *reader, const struct doc_node *root,
                         struct err *err);
int policy_read_principals(struct policy_reader *reader, const struct doc_node *root,
                           struct err *err);
/* `alerts`: what it does not say stays. */
int policy_read_alerts(struct alert_rules *rules, const struct doc_node *map, struct err *err);
int policy_check(struct policy_reader *reader, const struct doc_node *root, struct err *err);
