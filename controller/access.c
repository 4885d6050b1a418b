#include "controller/access.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- who asks ---- */

static void user_of(uint32_t uid, char *ret_user, size_t size)
{
        char room[4096];
        struct passwd entry, *found = NULL;

        if (getpwuid_r(uid, &entry, room, sizeof room, &found) != 0 || !found ||
            !str_copy(ret_user, size, found->pw_name))
                (void)snprintf(ret_user, size, "uid %u", uid);
}

static void take_principal(const struct principal *principal, const struct tenancy *tenancy,
                           struct who *who)
{
        (void)str_copy(who->name, sizeof who->name, principal->name);
        if (principal->run_as[0])
                (void)str_copy(who->run_as, sizeof who->run_as, principal->run_as);
        who->pool_role = principal->pool_role;
        for (unsigned g = 0; g < principal->grants_count; g++) {
                const char *path = tenancy->tenants[principal->grants[g].tenant].path;
                (void)str_copy(who->grants[g].tenant, sizeof who->grants[g].tenant, path);
                who->grants[g].role = principal->grants[g].role;
        }
        who->grants_count = principal->grants_count;
}

void access_of_uid(uint32_t uid, uint32_t own_uid, const struct tenancy *tenancy,
                   struct who *ret_who)
{
        *ret_who = (struct who){0};
        user_of(uid, ret_who->run_as, sizeof ret_who->run_as);
        (void)str_copy(ret_who->name, sizeof ret_who->name, ret_who->run_as);
        for (uint32_t p = 0; tenancy && p < tenancy->principals_count; p++)
                if (tenancy->principals[p].uid == (int64_t)uid) {
                        take_principal(&tenancy->principals[p], tenancy, ret_who);
                        break;
                }
        if (uid == 0 || uid == own_uid)
                ret_who->pool_role = POOL_ROLE_OPERATOR;
}

bool access_of_principal(const char *name, const struct tenancy *tenancy, struct who *ret_who)
{
        for (uint32_t p = 0; tenancy && p < tenancy->principals_count; p++) {
                const struct principal *principal = &tenancy->principals[p];
                if (!str_equal(principal->name, name))
                        continue;
                *ret_who = (struct who){0};
                if (principal->uid >= 0)
                        user_of((uint32_t)principal->uid, ret_who->run_as,
                                sizeof ret_who->run_as);
                take_principal(principal, tenancy, ret_who);
                return true;
        }
        return false;
}

/* ---- what they may ---- */

bool tenant_is_below(const char *tenant, const char *above)
{
        size_t length = strlen(above);

        return strncmp(tenant, above, length) == 0 &&
               (tenant[length] == '\0' || tenant[length] == '/');
}

static bool has_role(const struct who *who, enum tenant_role least, const char *tenant)
{
        for (unsigned g = 0; tenant && g < who->grants_count; g++)
                if (who->grants[g].role >= least && tenant_is_below(tenant, who->grants[g].tenant))
                        return true;
        return false;
}

bool access_may(const struct who *who, enum action action, const char *tenant)
{
        if (who->pool_role == POOL_ROLE_OPERATOR)
                return true;
        switch (action) {
        case ACTION_SEE:
                return who->pool_role == POOL_ROLE_AUDITOR || has_role(who, ROLE_VIEWER, tenant);
        case ACTION_SUBMIT:
                return has_role(who, ROLE_SUBMITTER, tenant);
        case ACTION_MANAGE:
                return has_role(who, ROLE_TENANT_ADMIN, tenant);
        case ACTION_SEE_ALL:
                return who->pool_role == POOL_ROLE_AUDITOR;
        case ACTION_OPERATE:
                return false;
        }
        return false;
}

int access_need(const struct who *who, enum action action, const char *tenant, const char *what,
                struct err *err)
{
        if (access_may(who, action, tenant))
                return 0;
        if (tenant && !access_may(who, ACTION_SEE, tenant))
                return err_set(err, ERR_NOT_FOUND, "%s is not here, or not for %s to see", what,
                               who->name);
        return err_set(err, ERR_DENIED, "%s may not do this to %s: ask an operator of the pool%s",
                       who->name, what, tenant ? ", or a tenant-admin" : "");
}
