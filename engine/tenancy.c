#include "engine/tenancy.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const dimension_words[] = {
#define X(name, wire) wire,
        COUNTED_DIMENSIONS(X)
#undef X
};
#define X(name, wire) wire,
const char *const on_empty_names[ON_EMPTIES_END] = {ON_EMPTIES(X)};
const char *const stop_names[STOPS_END] = {STOPS(X)};
const char *const class_order_names[CLASS_ORDERS_END] = {CLASS_ORDERS(X)};
const char *const above_limit_names[ABOVE_LIMITS_END] = {ABOVE_LIMITS(X)};
const char *const idle_then_names[IDLE_THENS_END] = {IDLE_THENS(X)};
const char *const lost_contact_names[LOST_CONTACTS_END] = {LOST_CONTACTS(X)};
const char *const communication_names[COMMUNICATIONS_END] = {COMMUNICATIONS(X)};
#undef X
const char *const preset_names[PRESETS_END] = {"equal", "protected", "strict"};
const char *const class_method_names[CLASS_METHODS] = {"whole", "slice", "share", "serve"};
const char *const spread_names[SPREAD_LEVELS_END] = {"none", "node", "rack"};
const char *const label_apart_names[LABEL_APARTS_END] = {"none", "device", "node"};
const char *const unused_names[UNUSED_ENDS] = {"lend", "keep"};
const char *const tenant_role_names[TENANT_ROLES_END] = {"viewer", "submitter",
                                                           "tenant-admin"};
const char *const pool_role_names[POOL_ROLES_END] = {"none", "auditor", "operator"};
const char *const over_jobs_names[OVER_JOBS_END] = {"wait", "refuse"};

_Static_assert(ARRAY_LEN(dimension_words) == DIM_SLICES - DIM_ANY, "a word per dimension");
_Static_assert((int)DIM_ANY == MODELS_MAX, "models come first");

const char *dimension_word(unsigned counted)
{
        assert(counted >= DIM_ANY && counted < DIM_SLICES);
        return dimension_words[counted - DIM_ANY];
}

struct tenancy *tenancy_new(void)
{
        struct tenancy *tenancy = mem_new(1, sizeof *tenancy);

        if (tenancy)
                tenancy->default_class = CLASS_NONE;
        return tenancy;
}

void tenancy_free(struct tenancy *tenancy)
{
        if (!tenancy)
                return;
        mem_free(tenancy->tenants);
        mem_free(tenancy->reservations);
        mem_free(tenancy->principals);
        mem_free(tenancy);
}

/* ---- building ---- */

/* Names become parts of paths and arguments: none looks like an option or a folder above. */
static bool is_name(const char *name)
{
        if (*name == '.' || *name == '-')
                return false;
        for (const char *at = name; *at; at++)
                if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                      (*at >= '0' && *at <= '9') || (*at && strchr("_.-", *at))))
                        return false;
        return *name != '\0';
}

static int make_room(struct tenancy *tenancy, struct err *err)
{
        if (tenancy->tenants_count < tenancy->tenants_room)
                return 0;
        uint32_t room = tenancy->tenants_room ? tenancy->tenants_room * 2 : 16;
        struct tenant *grown =
                mem_resize(tenancy->tenants, tenancy->tenants_room, room, sizeof *grown);
        if (!grown)
                return err_set(err, ERR_NOMEM, "out of memory");
        tenancy->tenants = grown;
        tenancy->tenants_room = room;
        return 0;
}

static void say_nothing(struct tenant *tenant)
{
        memset(tenant, 0, sizeof *tenant);
        for (unsigned d = 0; d < DIMENSIONS_END; d++)
                tenant->protect[d] = tenant->limit[d] = AMOUNT_ABSENT;
        for (unsigned d = 0; d < DEVICE_DIMENSIONS; d++) {
                tenant->lend[d] = AMOUNT_UNLIMITED;
                tenant->weight_milli[d] = 1000;
        }
        tenant->each_jobs = AMOUNT_ABSENT;
        tenant->parent = TENANT_NONE;
        tenant->methods = CLASS_METHOD_ALL;
        tenant->classes = tenant->planes = UINT64_MAX;
}

int tenancy_add(struct tenancy *tenancy, uint16_t parent, const char *name, struct err *err)
{
        assert(parent == TENANT_NONE || parent < tenancy->tenants_count);
        const char *above = parent == TENANT_NONE ? "" : tenancy->tenants[parent].path;
        size_t above_length = strlen(above) + (*above ? 1 : 0), length = strlen(name);
        unsigned depth = parent == TENANT_NONE ? 1 : tenancy->tenants[parent].depth + 1u;
        char path[TENANT_PATH_MAX], show[STR_SHOW_MAX];
        int rc;

        if (!is_name(name))
                return err_set(
                        err, ERR_INPUT,
                        "'%s' is no name; write letters, digits, '_', and not first '.' and '-'",
                        str_show(name, show));
        if (length >= TENANCY_WORD_MAX || above_length + length >= sizeof path)
                return err_set(err, ERR_RANGE,
                               "'%s' is too long; at most %d bytes, and %d with all above it",
                               str_show(name, show), TENANCY_WORD_MAX - 1, TENANT_PATH_MAX - 1);
        if (depth > TENANT_DEPTH_MAX)
                return err_set(err, ERR_RANGE,
                               "'%s' is deeper than %d levels; write a flatter tree", name,
                               TENANT_DEPTH_MAX);
        memcpy(path, above, strlen(above));
        if (above_length)
                path[above_length - 1] = '/';
        memcpy(path + above_length, name, length + 1);
        for (uint32_t i = 0; i < tenancy->tenants_count; i++)
                if (tenancy->tenants[i].parent == parent &&
                    str_equal(tenancy->tenants[i].path, path))
                        return err_set(err, ERR_EXISTS, "tenant '%s' stands twice", path);
        if (tenancy->tenants_count == TENANTS_MAX)
                return err_set(err, ERR_FULL, "there are more than %d tenants; write fewer",
                               TENANTS_MAX);
        if ((rc = make_room(tenancy, err)) < 0)
                return rc;
        struct tenant *tenant = &tenancy->tenants[tenancy->tenants_count];
        say_nothing(tenant);
        memcpy(tenant->path, path, strlen(path) + 1);
        tenant->parent = parent;
        tenant->depth = (uint8_t)depth;
        return (int)tenancy->tenants_count++;
}

/* ---- what follows from what was said ---- */

/* A parent that said no promise promises what its children are promised. Children stand behind
 * their parent: from the end on, a sum is complete before it is added to the next one. For any
 * model, what a child is promised of single models counts too. */
static void roll_up(struct tenancy *tenancy, unsigned dimension)
{
        struct tenant *tenants = tenancy->tenants;
        bool adds_up[TENANTS_MAX] = {false};

        for (uint32_t i = tenancy->tenants_count; i-- > 0;) {
                if (tenants[i].parent == TENANT_NONE ||
                    !amount_is_number(tenants[i].protect[dimension]) ||
                    tenants[tenants[i].parent].protect[dimension] != AMOUNT_ABSENT)
                        continue;
                tenants[tenants[i].parent].protect[dimension] = 0;
                adds_up[tenants[i].parent] = true;
        }
        for (uint32_t i = tenancy->tenants_count; i-- > 0;) {
                if (adds_up[i] && dimension == DIM_ANY)
                        tenants[i].protect[DIM_ANY] = tenancy_protect_all(&tenants[i]);
                if (tenants[i].parent == TENANT_NONE || !adds_up[tenants[i].parent])
                        continue;
                uint64_t *sum = &tenants[tenants[i].parent].protect[dimension];
                uint64_t more = dimension == DIM_ANY ? tenancy_protect_all(&tenants[i])
                                                     : amount_number(tenants[i].protect[dimension]);
                *sum += more < AMOUNT_MAX - *sum ? more : AMOUNT_MAX - *sum;
        }
}

/* Strict: a root holds what it is promised and nothing else. A promise of any model leaves the
 * models open, up to that many. */
static void limit_strictly(const struct tenancy *tenancy, struct tenant *root)
{
        uint64_t all = tenancy_protect_all(root);
        bool is_open = amount_number(root->protect[DIM_ANY]) > 0;

        for (unsigned d = 0; d < tenancy->models_count && !is_open; d++)
                if (root->limit[d] == AMOUNT_ABSENT)
                        root->limit[d] = amount_number(root->protect[d]);
        if (is_open && root->limit[DIM_ANY] == AMOUNT_ABSENT)
                root->limit[DIM_ANY] = all;
}

void tenancy_settle(struct tenancy *tenancy)
{
        for (unsigned d = 0; d < DIMENSIONS_END; d++)
                roll_up(tenancy, d);
        for (uint32_t i = 0; tenancy->preset == PRESET_STRICT && i < tenancy->tenants_count; i++)
                if (tenancy->tenants[i].parent == TENANT_NONE)
                        limit_strictly(tenancy, &tenancy->tenants[i]);
}

/* ---- asking ---- */

int tenancy_find(const struct tenancy *tenancy, const char *path)
{
        for (uint32_t i = 0; i < tenancy->tenants_count; i++)
                if (str_equal(tenancy->tenants[i].path, path))
                        return (int)i;
        return -1;
}

int tenancy_class_find(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->classes_count; i++)
                if (str_equal(tenancy->classes[i].name, name))
                        return (int)i;
        return -1;
}

int tenancy_label_find(const struct tenancy *tenancy, const char *name)
{
        for (uint32_t i = 0; i < tenancy->labels_count; i++)
                if (str_equal(tenancy->labels[i].name, name))
                        return (int)i;
        return -1;
}

bool tenancy_is_below(const struct tenancy *tenancy, uint16_t tenant, uint16_t above)
{
        while (tenant != TENANT_NONE && tenant != above)
                tenant = tenancy->tenants[tenant].parent;
        return tenant == above;
}

uint64_t tenancy_limit(const struct tenancy *tenancy, uint16_t tenant, unsigned dimension)
{
        uint64_t least = AMOUNT_UNLIMITED;

        assert(dimension < DIMENSIONS_END);
        for (; tenant != TENANT_NONE; tenant = tenancy->tenants[tenant].parent) {
                uint64_t limit = tenancy->tenants[tenant].limit[dimension];
                if (limit == AMOUNT_NONE)
                        return AMOUNT_NONE;
                if (amount_is_number(limit) && limit < least)
                        least = limit;
        }
        return least;
}

uint64_t tenancy_protect_all(const struct tenant *tenant)
{
        uint64_t sum = 0, any = amount_number(tenant->protect[DIM_ANY]);

        for (unsigned d = 0; d < MODELS_MAX; d++)
                sum += amount_number(tenant->protect[d]);
        return sum > any ? sum : any;
}

bool reservation_window(const struct reservation *reservation, int64_t now_ms, int64_t *ret_from_ms,
                        int64_t *ret_until_ms)
{
        struct calendar_window window = {reservation->from_ms, reservation->until_ms,
                                         reservation->every_ms, reservation->last_ms};

        return calendar_window_next(&window, now_ms, ret_from_ms, ret_until_ms);
}
