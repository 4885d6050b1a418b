/* Small documents beside the policy and the pool: they are put into the text that is in force. */
#include "controller/live_impl.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "engine/tenancy.h"
#include "proto/beside.h"
#include "proto/pool_doc.h"

const char *beside_kind(enum beside beside)
{
        return beside == BESIDE_RESERVATION ? "Reservation" : "Maintenance";
}

/* The text in force with what stands beside it; "" where nothing is. Freed with mem_free(). */
static int text_in_force(struct live *live, enum beside beside, char **ret_text, struct err *err)
{
        bool is_policy = beside == BESIDE_RESERVATION;
        uint64_t revision = is_policy ? core_policy_revision(live->core) : live->pool_revision;
        struct object_copy *copy = NULL;
        int rc = revision == 0 ? 0
                               : objects_get(core_view(live->core),
                                             is_policy ? OBJECT_POLICY : OBJECT_POOL, revision,
                                             &copy, err);

        if (rc == -ERR_NOT_FOUND)
                return err_set(err, ERR_EXISTS,
                               "revision %" PRIu64 " is on its way to the disk: try again",
                               revision);
        if (rc)
                return rc;
        size_t size = copy ? copy->object.size : 0;
        char *text = mem_new(size + 1, 1);
        if (text && copy)
                memcpy(text, copy->object.body, size);
        mem_free(copy);
        *ret_text = text;
        return text ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int put_whole(struct live *live, struct act *act, enum beside beside, const char *text,
                     struct document_put *put, struct err *err)
{
        const char *own = put->text;
        int rc;

        put->text = text;
        put->is_whole = true;
        rc = beside == BESIDE_RESERVATION ? live_put_policy(live, act, put, err)
                                          : live_put_pool(live, act, put, err);
        put->text = own;
        return rc;
}

/* "policy:41: " names a line of a text that whoever put the small one never saw. */
static void drop_line(struct err *err)
{
        size_t at = strspn(err->text, "abcdefghijklmnopqrstuvwxyz"), digits;

        if (at == 0 || err->text[at] != ':')
                return;
        digits = strspn(err->text + at + 1, "0123456789");
        at += 1 + digits;
        if (digits > 0 && err->text[at] == ':' && err->text[at + 1] == ' ')
                memmove(err->text, err->text + at + 2, strlen(err->text + at + 2) + 1);
}

/* A refusal of what stands behind the text that was put names a line that nobody sees in it. */
static void blame_beside(const char *text, enum beside beside, struct err *err)
{
        const char *colon = err ? strchr(err->text, ':') : NULL;
        unsigned long lines = 1, line = colon ? strtoul(colon + 1, NULL, 10) : 0;

        for (const char *at = text; (at = strchr(at, '\n')); at++)
                lines++;
        if (line <= lines)
                return;
        drop_line(err);
        (void)err_prefix(err, "a %s that stands beside it", beside_kind(beside));
}

int live_put_with_beside(struct live *live, struct act *act, enum beside beside,
                         struct document_put *put, struct err *err)
{
        struct text whole = {0};
        char *before = NULL;
        int rc = text_in_force(live, beside, &before, err);

        if (rc == 0)
                rc = beside_carry(put->text, before, beside_kind(beside), &whole, err);
        if (rc == 0)
                rc = put_whole(live, act, beside, whole.bytes ? whole.bytes : "", put, err);
        if (rc == -ERR_INPUT || rc == -ERR_RANGE || rc == -ERR_NOT_FOUND)
                blame_beside(put->text, beside, err);
        text_done(&whole);
        mem_free(before);
        return rc;
}

/* ---- one of them ---- */

/* Whether one of the name stands in the large document itself. */
static bool stands_inside(struct live *live, enum beside beside, const char *name)
{
        const struct tenancy *tenancy = core_tenancy(live->core);

        if (beside == BESIDE_RESERVATION) {
                for (uint32_t r = 0; tenancy && r < tenancy->reservations_count; r++)
                        if (str_equal(tenancy->reservations[r].name, name))
                                return true;
                return false;
        }
        for (uint32_t w = 0; live->pool && w < live->pool->maintenance.count; w++)
                if (str_equal(live->pool->maintenance.windows[w].name, name))
                        return true;
        return false;
}

static int check_wanted(struct live *live, enum beside beside, const struct document_put *put,
                        struct err *err)
{
        return beside == BESIDE_RESERVATION
                       ? live_check_revision(put->wanted, core_policy_revision(live->core),
                                             "policy", err)
                       : live_check_revision(put->wanted, live->pool_revision, "pool", err);
}

static int compose(struct live *live, enum beside beside, const char *name, const char *before,
                   const struct document_put *put, struct text *whole, struct err *err)
{
        const char *kind = beside_kind(beside);
        int rc = beside_set(before, kind, name, put->text, whole, err);

        if (rc == -ERR_NOT_FOUND && stands_inside(live, beside, name))
                return err_set(err, ERR_EXISTS,
                               "'%s' stands in the %s itself: take it out there ('%s')", name,
                               beside == BESIDE_RESERVATION ? "Policy" : "Pool",
                               beside == BESIDE_RESERVATION ? "reservations" : "maintenance");
        return rc;
}

int live_put_beside(struct live *live, struct act *act, enum beside beside, const char *name,
                    struct document_put *put, struct err *err)
{
        struct err own = {0}, *why = err ? err : &own;
        struct text whole = {0};
        char *before = NULL;
        int rc = text_in_force(live, beside, &before, why);

        if (rc == 0 && before[0] == '\0')
                rc = err_set(why, ERR_NOT_FOUND, "no %s has been set yet: put that first",
                             beside == BESIDE_RESERVATION ? "policy" : "pool document");
        if (rc == 0)
                rc = check_wanted(live, beside, put, why);
        if (rc == 0)
                rc = compose(live, beside, name, before, put, &whole, why);
        const char *text = whole.bytes ? whole.bytes : "";
        if (rc == 0 && !put->dry_run && str_equal(text, before)) {
                put->revision = beside == BESIDE_RESERVATION ? core_policy_revision(live->core)
                                                             : live->pool_revision;
                put->warnings = json_array();   /* it is so already: no new revision */
        } else if (rc == 0) {
                rc = put_whole(live, act, beside, text, put, why);
                if (rc)
                        drop_line(why);
        }
        text_done(&whole);
        mem_free(before);
        return rc;
}
