/* Reservations (room for a tenant in a window of time) and principals (who acts for whom). */
#include <inttypes.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/kind.h"
#include "proto/policy_impl.h"
#include "proto/window.h"

#define UID_MAX 4294967294u /* the last one means "none" to the kernel */

/* ---- reservations ---- */

static int read_reserved(struct policy_reader *reader, const struct doc_node *map,
                         struct reservation *reservation, struct err *err)
{
        unsigned dimension = 0;
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) == 0 || doc_length(map) > RESERVED_MODELS_MAX)
                return doc_fail(map, err, "has %zu entries; write 1 to %d as 'model: devices'",
                                doc_length(map), RESERVED_MODELS_MAX);
        DOC_EACH(node, map) {
                unsigned count = reservation->models_count;
                if ((rc = policy_read_dimension(reader, node, false, &dimension, err)) < 0 ||
                    (rc = policy_read_amount(node, dimension, &reservation->units[count], err)) < 0)
                        return rc;
                if (reservation->units[count] == 0)
                        return doc_fail(node, err, "reserves nothing; write at least 0.001");
                for (unsigned i = 0; i < count; i++)
                        if (reservation->models[i] == dimension)
                                return doc_fail(node, err, "stands twice under different names");
                reservation->models[count] = (uint8_t)dimension;
                reservation->models_count++;
        }
        return 0;
}

static int read_reservation(struct policy_reader *reader, const struct doc_node *map,
                            struct reservation *reservation, struct err *err)
{
        static const char *const keys[] = {
                "name", "tenant", "devices", "from", "until", "every", "last", "unused", "kind",
        };
        const struct doc_node *name, *tenant, *devices;
        const char *text = NULL, *path = NULL;
        struct calendar_window window = {0};
        unsigned unused = UNUSED_LEND;
        /* Only as a document of its own it says its kind. */
        size_t keys_count = ARRAY_LEN(keys) - (doc_parent(map) != NULL);
        int rc;

        if ((rc = doc_check_keys(map, keys, keys_count, err)) < 0 ||
            (rc = doc_need(map, "name", &name, err)) < 0 ||
            (rc = doc_text(name, 1, DOC_TEXT_MAX, &text, err)) < 0 ||
            (rc = policy_copy_name(name, text, reservation->name, err)) < 0 ||
            (rc = doc_need(map, "tenant", &tenant, err)) < 0 ||
            (rc = doc_text(tenant, 1, DOC_TEXT_MAX, &path, err)) < 0 ||
            (rc = policy_need_tenant(reader, tenant, path, &reservation->tenant, err)) < 0 ||
            (rc = doc_need(map, "devices", &devices, err)) < 0 ||
            (rc = read_reserved(reader, devices, reservation, err)) < 0 ||
            (rc = window_read(map, "a protect", &window, err)) < 0 ||
            (rc = doc_choice(doc_get(map, "unused"), unused_names, UNUSED_ENDS, &unused, err)) < 0)
                return rc;
        reservation->from_ms = window.from_ms;
        reservation->until_ms = window.until_ms;
        reservation->every_ms = window.every_ms;
        reservation->last_ms = window.last_ms;
        reservation->unused = (uint8_t)unused;
        for (uint32_t i = 0; i < reader->tenancy->reservations_count; i++)
                if (str_equal(reader->tenancy->reservations[i].name, reservation->name))
                        return doc_fail(name, err,
                                        "'%s' stands twice; give each reservation a "
                                        "name of its own",
                                        reservation->name);
        return 0;
}

const struct doc_node *policy_next_reservation(const struct doc_node *root,
                                               const struct doc_node *before)
{
        const struct doc_node *next;

        if (!before && (next = doc_first(doc_get(root, "reservations"))))
                return next;
        if (before && doc_parent(before) && (next = doc_next(before)))
                return next;
        return kind_beside(doc_of(root), "Reservation",
                           before && !doc_parent(before) ? before : NULL);
}

int policy_read_reservations(struct policy_reader *reader, const struct doc_node *root,
                             struct err *err)
{
        const struct doc_node *list = doc_get(root, "reservations"), *node = NULL;
        struct tenancy *tenancy = reader->tenancy;
        size_t count = 0;
        int rc = list ? doc_check_list(list, 0, RESERVATIONS_MAX, err) : 0;

        if (rc)
                return rc;
        while ((node = policy_next_reservation(root, node)))
                if (++count > RESERVATIONS_MAX)
                        return doc_fail(node, err, "is one more than %d, the most reservations "
                                                   "there may be",
                                        RESERVATIONS_MAX);
        if (count == 0)
                return 0;
        tenancy->reservations = mem_new(count, sizeof *tenancy->reservations);
        if (!tenancy->reservations)
                return err_set(err, ERR_NOMEM, "out of memory for reservations");
        while ((node = policy_next_reservation(root, node))) {
                if ((rc = read_reservation(reader, node,
                                           &tenancy->reservations[tenancy->reservations_count],
                                           err)) < 0)
                        return rc;
                tenancy->reservations_count++;
        }
        return 0;
}

/* ---- principals ---- */

/* `submitter`, or {role: submitter, jobs: 20}. */
static int read_grant(const struct doc_node *node, unsigned *ret_role, uint64_t *ret_jobs,
                      struct err *err)
{
        static const char *const keys[] = {"role", "jobs"};
        const struct doc_node *role = node;
        int rc;

        if (doc_kind(node) == DOC_NULL)
                return doc_fail(node, err, "has no role; write viewer, submitter or tenant-admin");
        if (doc_kind(node) == DOC_MAP &&
            ((rc = doc_check_keys(node, keys, ARRAY_LEN(keys), err)) < 0 ||
             (rc = doc_need(node, "role", &role, err)) < 0 ||
             (rc = policy_read_person_jobs(doc_get(node, "jobs"), ret_jobs, err)) < 0))
                return rc;
        *ret_role = ROLE_TENANT_ADMIN;
        if (doc_raw(role) && str_equal(doc_raw(role), TENANT_ADMIN_BEFORE))
                return 0;
        return doc_choice(role, tenant_role_names, TENANT_ROLES_END, ret_role, err);
}

static int read_grants(struct policy_reader *reader, const struct doc_node *map,
                       struct principal *principal, struct err *err)
{
        int rc;

        if ((rc = doc_check_map(map, err)) < 0)
                return rc;
        if (doc_length(map) > GRANTS_MAX)
                return doc_fail(map, err, "has %zu tenants; write at most %d, or one above them",
                                doc_length(map), GRANTS_MAX);
        DOC_EACH(node, map) {
                unsigned role = ROLE_VIEWER, count = principal->grants_count;
                if ((rc = policy_need_tenant(reader, node, doc_key(node),
                                             &principal->grants[count].tenant, err)) < 0)
                        return rc;
                principal->grants[count].jobs = AMOUNT_ABSENT;
                if ((rc = read_grant(node, &role, &principal->grants[count].jobs, err)) < 0)
                        return rc;
                principal->grants[count].role = (uint8_t)role;
                principal->grants_count++;
        }
        return 0;
}

static int read_user(const struct doc_node *map, struct principal *principal, struct err *err)
{
        const struct doc_node *uid = doc_get(map, "uid"), *run_as = doc_get(map, "run_as");
        const char *user = NULL;
        int rc;

        if ((rc = doc_i64(uid, 0, UID_MAX, &principal->uid, err)) < 0 ||
            (rc = doc_text(run_as, 1, DOC_TEXT_MAX, &user, err)) < 0)
                return rc;
        if (user && (rc = policy_copy_name(run_as, user, principal->run_as, err)) < 0)
                return rc;
        if (user && (str_equal(user, "root") || user[0] == '-' ||
                     strspn(user, "0123456789") == strlen(user)))
                return doc_fail(run_as, err,
                                "work of users does not run as '%s'; name another "
                                "local user",
                                user);
        return 0;
}

static int read_principal(struct policy_reader *reader, const struct doc_node *map,
                          struct principal *principal, struct err *err)
{
        static const char *const keys[] = {"name", "uid", "tenants", "run_as", "pool", "limit"};
        const struct tenancy *tenancy = reader->tenancy;
        const struct doc_node *name;
        unsigned pool_role = POOL_ROLE_NONE;
        int rc;

        principal->uid = -1;
        principal->jobs = AMOUNT_ABSENT;
        if ((rc = doc_check_keys(map, keys, ARRAY_LEN(keys), err)) < 0 ||
            (rc = doc_need(map, "name", &name, err)) < 0 ||
            (rc = doc_copy(name, principal->name, sizeof principal->name, err)) < 0 ||
            (rc = read_user(map, principal, err)) < 0 ||
            (rc = read_grants(reader, doc_get(map, "tenants"), principal, err)) < 0 ||
            (rc = policy_read_person_limit(doc_get(map, "limit"), &principal->jobs, err)) < 0 ||
            (rc = doc_choice(doc_get(map, "pool"), pool_role_names, POOL_ROLES_END, &pool_role,
                             err)) < 0)
                return rc;
        for (const char *at = principal->name; *at; at++)
                if ((unsigned char)*at <= 0x20 || *at == 0x7f)
                        return doc_fail(name, err,
                                        "holds a blank or control character; write a "
                                        "login name or address");
        for (unsigned i = 0; i < principal->grants_count; i++)
                if (principal->uid == 0 && !principal->run_as[0] &&
                    principal->grants[i].role != ROLE_VIEWER)
                        return doc_fail(doc_get(map, "uid"), err,
                                        "work of users does not run as root; name another local "
                                        "user with run_as");
        principal->pool_role = (uint8_t)pool_role;
        if (principal->grants_count == 0 && pool_role == POOL_ROLE_NONE)
                policy_warn(reader, map,
                            "principal '%s' may do nothing: it has neither tenants "
                            "nor a pool role",
                            principal->name);
        for (uint32_t i = 0; i < tenancy->principals_count; i++) {
                const struct principal *other = &tenancy->principals[i];
                if (str_equal(other->name, principal->name))
                        return doc_fail(name, err, "'%s' stands twice; put its tenants together",
                                        principal->name);
                if (principal->uid >= 0 && other->uid == principal->uid)
                        return doc_fail(doc_get(map, "uid"), err,
                                        "%" PRId64 " is the uid of '%s' too; one uid is one "
                                        "principal",
                                        principal->uid, other->name);
        }
        return 0;
}

int policy_read_principals(struct policy_reader *reader, const struct doc_node *root,
                           struct err *err)
{
        const struct doc_node *list = doc_get(root, "principals");
        struct tenancy *tenancy = reader->tenancy;
        int rc;

        if (!list)
                return 0;
        if ((rc = doc_check_list(list, 0, PRINCIPALS_MAX, err)) < 0)
                return rc;
        tenancy->principals = mem_new(doc_length(list), sizeof *tenancy->principals);
        if (!tenancy->principals)
                return err_set(err, ERR_NOMEM, "out of memory for principals");
        DOC_EACH(node, list) {
                if ((rc = read_principal(reader, node,
                                         &tenancy->principals[tenancy->principals_count], err)) < 0)
                        return rc;
                tenancy->principals_count++;
        }
        return 0;
}
