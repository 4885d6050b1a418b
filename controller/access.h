/* access.h - who asks, and what they may do: one place for every call.
 *
 * Pure but for who a local user is. Deny by default: who is no principal of the policy in force may
 * do nothing; root and the user that runs the controller are operators. Roles of a tenant hold for
 * all below it. docs/api.md, "Who may what", is the same for users.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/tenancy.h"

struct err;

#define WHO_NAME_MAX 64

/* How an agent shows whose it is, and what that lets it do. */
enum node_proof {
        NODE_BY_TOKEN,                  /* exchange, and answer */
        NODE_BY_CERTIFICATE,            /* also get the next certificate */
        NODE_BY_JOIN_TOKEN,             /* get the first one, and nothing else */
};

struct who {
        char name[WHO_NAME_MAX];        /* for the log: "ana", "uid 1002", "node gpu-01" */
        char run_as[TENANCY_WORD_MAX];  /* user of what they submit */
        uint8_t pool_role;              /* enum pool_role */
        uint8_t grants_count;
        struct {
                char tenant[TENANT_PATH_MAX];
                uint8_t role;           /* enum tenant_role */
        } grants[GRANTS_MAX];
        char node[128];                 /* an agent's: its node; "" else */
        uint8_t proof;                  /* enum node_proof, of an agent */
};

enum action {
        ACTION_SEE,                     /* a tenant's work, usage, limits */
        ACTION_SUBMIT,
        ACTION_MANAGE,                  /* others' work of the tenant */
        ACTION_SEE_ALL,                 /* the pool, and all tenants */
        ACTION_OPERATE,
};

/* A local user. `own_uid`: who runs the controller. `tenancy` may be NULL. */
void access_of_uid(uint32_t uid, uint32_t own_uid, const struct tenancy *tenancy,
                   struct who *ret_who);
/* A principal by its name; false: the policy has none of it. */
bool access_of_principal(const char *name, const struct tenancy *tenancy, struct who *ret_who);

/* `tenant`: the path; NULL for what is the pool's. */
bool access_may(const struct who *who, enum action action, const char *tenant);
/* ... or -ERR_DENIED with a sentence, where who may not even see it in the words of something that
 * is not there. */
int access_need(const struct who *who, enum action action, const char *tenant, const char *what,
                struct err *err);

/* By their paths: whether it is `above`, or stands below it. */
bool tenant_is_below(const char *tenant, const char *above);
