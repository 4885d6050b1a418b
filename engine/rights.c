#include "engine/rights.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/accounts.h"

const char *right_text(enum right right)
{
        static const char *const texts[] = {
#define X(name, text) text,
                RIGHTS(X)
#undef X
        };

        return texts[right];
}

static const struct data_label *label_of(const struct tenancy *tenancy,
                                         const struct request *request)
{
        return request->data ? &tenancy->labels[request->data - 1] : NULL;
}

static bool all_known(const struct tenancy *tenancy, const struct request *request)
{
        return request->tenant < tenancy->tenants_count &&
               request->class < tenancy->classes_count && request->data <= tenancy->labels_count;
}

static bool model_allowed(const struct state *state, const struct request *request)
{
        const struct tenancy *tenancy = state->accounts->tenancy;

        if (request->need.devices == 0)
                return true;
        if (tenancy_limit(tenancy, request->tenant, DIM_ANY) == AMOUNT_NONE)
                return false;
        for (unsigned m = 0; m < model_count(state->models); m++)
                if ((request->need.models >> m & 1) &&
                    tenancy_limit(tenancy, request->tenant, m) != AMOUNT_NONE)
                        return true;
        return false;
}

/* ---- methods ---- */

static unsigned rights_methods(const struct tenancy *tenancy, const struct request *request)
{
        const struct data_label *label = label_of(tenancy, request);

        return tenancy->classes[request->class].methods &
               tenancy->tenants[request->tenant].methods &
               (label ? label->methods : CLASS_METHOD_ALL);
}

static bool some_model_meets(const struct state *state, const struct need *need, uint64_t models,
                             unsigned methods)
{
        struct need tried = *need;
        struct part_fit fit;

        tried.methods = (uint8_t)methods;
        for (unsigned m = 0; methods && m < model_count(state->models); m++)
                if ((need->models & models) >> m & 1 &&
                    part_fit_make(model_get(state->models, m), &tried, NULL, &fit))
                        return true;
        return false;
}

/* By the devices there are now, or else by all that are known. */
static unsigned simplest(const struct state *state, const struct need *need, unsigned own,
                         unsigned share)
{
        const uint64_t models[] = {state->capacity_models, UINT64_MAX};

        for (unsigned i = 0; i < ARRAY_LEN(models); i++) {
                if (some_model_meets(state, need, models[i], own))
                        return own;
                if (some_model_meets(state, need, models[i], share))
                        return share;
        }
        return own ? own : share;
}

/* Who named no method gets a part of its own, whole or slice, whichever leaves more to others; and
 * a share only where no part of its own would do. */
static bool narrow_memory(const struct state *state, struct need *need, unsigned allowed)
{
        unsigned methods = need->methods & allowed;

        if (need->methods == METHODS_BY_MEMORY)
                methods = simplest(state, need, methods, allowed & METHOD_BIT(METHOD_SHARE));
        if (methods == 0)
                return false;
        need->methods = (uint8_t)methods;
        return true;
}

/* A served model holds its devices for itself; that it is shared by requests is what must be
 * allowed. */
static bool narrow_methods(const struct state *state, struct request *request)
{
        unsigned allowed = rights_methods(state->accounts->tenancy, request);
        struct need *need = &request->need;

        if (request->serve)
                return allowed >> METHOD_SERVE & 1;
        switch ((enum ask)need->ask) {
        case ASK_NOTHING:
                return true;
        case ASK_WHOLE:
                return allowed >> METHOD_WHOLE & 1;
        case ASK_PROFILE:
                return allowed >> METHOD_SLICE & 1;
        case ASK_MEMORY:
                return narrow_memory(state, need, allowed);
        case ASK_SHARE:
                break;
        }
        return allowed >> METHOD_SHARE & 1;
}

/* ---- planes, trust, spread ---- */

static bool plane_allowed(const struct state *state, const struct request *request)
{
        const struct tenancy *tenancy = state->accounts->tenancy;
        const struct data_label *label = label_of(tenancy, request);
        uint64_t planes = tenancy->classes[request->class].planes &
                          tenancy->tenants[request->tenant].planes &
                          (label ? label->planes : UINT64_MAX);

        if (planes == UINT64_MAX)
                return true;
        if (request->need.plane == 0)
                return planes != 0;
        const char *plane = vocab_text(state->vocab, request->need.plane);
        for (uint32_t p = 0; p < tenancy->planes_count; p++)
                if ((planes >> p & 1) && str_equal(tenancy->planes[p], plane))
                        return true;
        return false;
}

static bool trust_allowed(const struct tenancy *tenancy, const struct request *request)
{
        const struct data_label *label = label_of(tenancy, request);
        uint16_t trust = tenancy->tenants[request->tenant].trust;

        if (!label || label->trusts == UINT64_MAX)
                return true;
        return trust < TRUSTS_MAX && (label->trusts >> trust & 1);
}

/* The farthest apart that members may lie where nearness is required. */
static uint8_t spread_within(const struct form *form)
{
        if (!form->near_required)
                return SPREAD_RACK;
        switch ((enum near_level)form->near) {
        case NEAR_DEVICE_LINKS:
        case NEAR_NODE:
                return SPREAD_NONE;
        case NEAR_NVLINK:
        case NEAR_RACK:
                return SPREAD_NODE;
        case NEAR_NONE:
        case NEAR_BLOCK:
        case NEAR_POOL:
        case NEAR_LEVELS_END:
                break;
        }
        return SPREAD_RACK;
}

/* What the class says of spread gives way to a nearness that the workload cannot do without. */
static void narrow_form(const struct service_class *class, struct request *request)
{
        struct form *form = &request->form;
        uint8_t most = form->members > 1 ? spread_within(form) : SPREAD_RACK;
        uint8_t spread = class->spread < most ? class->spread : most;

        if ((form->members > 1 || request->group != 0) && spread > form->spread)
                form->spread = spread;
}

enum right rights_narrow(const struct state *state, struct request *request)
{
        if (!state->accounts)
                return RIGHT_ALL;
        const struct tenancy *tenancy = state->accounts->tenancy;
        if (!all_known(tenancy, request))
                return RIGHT_TENANT;
        const struct service_class *class = &tenancy->classes[request->class];

        narrow_form(class, request);
        if (!(tenancy->tenants[request->tenant].classes >> request->class & 1))
                return RIGHT_CLASS;
        if (!model_allowed(state, request))
                return RIGHT_MODEL;
        if (!narrow_methods(state, request))
                return RIGHT_METHOD;
        if (!plane_allowed(state, request))
                return RIGHT_PLANE;
        if (!trust_allowed(tenancy, request))
                return RIGHT_TRUST;
        if (request->spare && class->stop == STOP_NEVER)
                return RIGHT_SPARE;
        if (class->time_limit_max_ms > 0 && (request->time_limit_ms == 0 ||
                                             request->time_limit_ms > class->time_limit_max_ms))
                return RIGHT_TIME_LIMIT;
        return RIGHT_ALL;
}
