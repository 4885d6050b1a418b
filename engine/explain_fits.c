/* The largest shapes that would start now. */
#include <string.h>

#include "base/err.h"
#include "engine/explain_impl.h"

struct fitting {
        struct explainer *x;
        struct request base;
        struct explained_fits *ret;
};

static bool starts(struct fitting *it, const struct request *request, enum standing *ret_standing)
{
        struct request settled = *request;
        struct asking asking;

        if (it->x->failed || request_settle(&settled, NULL) != 0 ||
            !may_come(it->x->state, &settled))
                return false;
        asking_of_request(it->x, &settled, NONE, &asking);
        asking.gone_ms = INT64_MAX;
        return would_start(it->x, &asking, NULL, true, ret_standing);
}

static void set_count(struct request *request, bool members, uint32_t count)
{
        if (members)
                request->form.members = count;
        else
                request->need.devices = (uint8_t)count;
}

/* The most, up to `most`, of members or devices that start. */
static void find_most(struct fitting *it, unsigned model, struct request request, bool members,
                      uint32_t most)
{
        uint32_t low = 0, high = most;
        enum standing standing = STANDINGS_END, tried;

        while (low < high) {
                uint32_t middle = high - (high - low) / 2;
                set_count(&request, members, middle);
                if (starts(it, &request, &tried)) {
                        low = middle;
                        standing = tried;
                } else {
                        high = middle - 1;
                }
        }
        if (it->ret->count == FITS_MAX || (low == 0 && members))
                return;
        set_count(&request, members, low > 0 ? low : 1);
        it->ret->lines[it->ret->count++] = (struct fit_line){(uint8_t)model, request, standing};
}

static uint32_t members_max(struct fitting *it, const struct request *request)
{
        struct request many = *request;
        struct asking asking;

        many.form.members = MEMBERS_MAX;
        asking_of_request(it->x, &many, NONE, &asking);
        asking.gone_ms = INT64_MAX;
        return members_fit(it->x, &asking, NULL, UINT64_MAX, 0);
}

static void fit_model(struct fitting *it, unsigned number, uint32_t devices)
{
        const struct state *state = it->x->state;
        const struct model *model = model_get(state->models, number);
        struct request request = it->base;

        request.need.models = 1ull << number;
        request.need.ask = ASK_WHOLE;
        find_most(it, number, request, false, devices);
        request.need.devices = (uint8_t)devices;
        if (members_max(it, &request) > 1)
                find_most(it, number, request, true, members_max(it, &request));
        for (unsigned p = 0; p < model->profiles_count; p++) {
                int word = vocab_find(state->vocab, model->profiles[p].name);
                if (word <= 0)
                        continue;
                request.need.ask = ASK_PROFILE;
                request.need.profile = (uint16_t)word;
                request.need.devices = 1;
                find_most(it, number, request, true, members_max(it, &request));
        }
}

int explain_fits(struct memo *memo, const struct state *state, uint16_t tenant, uint16_t class,
                 int64_t now_ms, struct explained_fits *ret_fits, struct err *err)
{
        struct explainer x;
        struct fitting it = {.x = &x, .ret = ret_fits};
        uint32_t devices[MODELS_MAX] = {0};
        int rc = explainer_init(&x, memo, state, now_ms, err);

        ret_fits->count = 0;
        it.base.tenant = tenant;
        it.base.class = class;
        it.base.form.members = 1;
        if (rc == 0 && state->accounts &&
            (tenant >= state->accounts->tenants ||
             class >= state->accounts->tenancy->classes_count))
                rc = err_set(err, ERR_NOT_FOUND, "there is no such tenant or class");
        for (uint32_t n = 0; rc == 0 && n < state->node_slots.high; n++) {
                const struct node *node = &state->nodes[n];
                if (node->status == NODE_UP && node->desc.devices > devices[node->desc.model])
                        devices[node->desc.model] = node->desc.devices;
        }
        for (unsigned m = 0; rc == 0 && m < MODELS_MAX; m++)
                if (devices[m] > 0)
                        fit_model(&it, m, devices[m]);
        if (rc == 0 && x.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory while explaining");
        explainer_done(&x);
        return rc;
}
