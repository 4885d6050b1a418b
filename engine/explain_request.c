/* Other requests that would start at once in place of one that waits. */
#include <string.h>

#include "engine/explain_impl.h"

struct changing {
        struct explainer *x;
        struct explanation *ret;
        const struct request *request;
};

static bool is_enough(const struct changing *it)
{
        return it->ret->nearest_count == EXPLAIN_NEAREST_MAX || it->x->failed;
}

/* Offers the request if it would start now. True: it does. */
static bool offer(struct changing *it, const struct request *request, unsigned changes)
{
        struct request settled = *request;
        struct asking asking;
        enum standing standing;

        settled.user_hold = false;
        settled.start_ms = 0;
        settled.after_count = 0;
        settled.once = false;
        if (is_enough(it) || request_settle(&settled, NULL) != 0 ||
            !may_come(it->x->state, &settled))
                return false;
        asking_of_request(it->x, &settled, NONE, &asking);
        asking.gone_ms = INT64_MAX; /* held nodes are promised to nobody */
        if (!would_start(it->x, &asking, NULL, true, &standing))
                return false;
        struct explained_unblock *unblock = nearest_add(it->ret, UNBLOCK_REQUEST, standing);
        if (!unblock)
                return false;
        unblock->request = settled;
        unblock->changes = changes;
        return true;
}

/* ---- smaller ---- */

/* Most devices that some node could give one member. */
static unsigned most_devices(struct changing *it)
{
        struct explainer *x = it->x;
        struct request least = *it->request;
        struct asking asking;
        unsigned most = 0;

        least.need.devices = 1;
        asking_of_request(x, &least, NONE, &asking);
        asking.gone_ms = INT64_MAX;
        for (uint32_t n = 0; n < x->state->node_slots.high; n++) {
                uint32_t rooms[NODE_DEVICES_MAX];
                unsigned have = 0;
                if (!node_open(x, &asking, n, 0) || !node_wanted(x, &asking, n) ||
                    !node_has_room(&x->state->nodes[n], &least.need))
                        continue;
                node_rooms(x, &asking, NULL, n, 0, rooms);
                for (unsigned d = 0; d < x->state->nodes[n].desc.devices; d++)
                        have += rooms[d] > 0;
                most = have > most ? have : most;
        }
        return most;
}

static void try_fewer_devices(struct changing *it)
{
        struct request tried = *it->request;
        unsigned devices = it->request->need.devices;

        if (devices < 2 || it->request->form.members > 1)
                return;
        unsigned most = most_devices(it);
        tried.need.devices = (uint8_t)(most < devices ? most : devices - 1);
        /* Limits may ask for less still. */
        for (unsigned tries = 0; tried.need.devices > 0 && tries < 4; tries++) {
                if (offer(it, &tried, CHANGE_DEVICES))
                        return;
                tried.need.devices =
                        (uint8_t)(tries == 0 ? tried.need.devices - 1 : tried.need.devices / 2);
        }
}

static void try_fewer_members(struct changing *it)
{
        struct request tried = *it->request;
        struct asking asking;

        if (it->request->form.members < 2)
                return;
        asking_of_request(it->x, it->request, NONE, &asking);
        asking.gone_ms = INT64_MAX;
        uint32_t fit = members_fit(it->x, &asking, NULL, UINT64_MAX, 0);
        tried.form.members = fit < it->request->form.members ? fit : it->request->form.members - 1;
        for (unsigned tries = 0; tried.form.members > 0 && tries < 4; tries++) {
                if (offer(it, &tried, CHANGE_MEMBERS))
                        return;
                tried.form.members /= 2;
        }
}

/* The same devices, half as many a member, on more nodes. */
static void try_split(struct changing *it)
{
        struct request tried = *it->request;

        tried.form.near = NEAR_NONE;
        tried.form.near_required = 0;
        while (tried.need.ask == ASK_WHOLE && tried.need.devices > 1 &&
               tried.need.devices % 2 == 0 && tried.form.members * 2 <= MEMBERS_MAX) {
                tried.need.devices /= 2;
                tried.form.members *= 2;
                tried.need.cpu_milli = (tried.need.cpu_milli + 1) / 2;
                tried.need.ram_mib = (tried.need.ram_mib + 1) / 2;
                if (offer(it, &tried, CHANGE_DEVICES | CHANGE_MEMBERS) || tried.need.devices == 1)
                        return;
        }
}

static void try_half(struct changing *it)
{
        struct request tried = *it->request;

        if (tried.need.ask != ASK_MEMORY && tried.need.ask != ASK_SHARE)
                return;
        for (unsigned tries = 0; tries < 3; tries++) {
                tried.need.memory_mib /= 2;
                tried.need.share_milli /= 2;
                if (offer(it, &tried,
                          (it->request->need.memory_mib ? CHANGE_MEMORY : 0) |
                                  (it->request->need.share_milli ? CHANGE_SHARE : 0)))
                        return;
        }
}

/* The largest profile below the one asked for, of a model that has both. */
static bool next_profile(const struct changing *it, uint32_t below, uint32_t *ret_units,
                         uint16_t *ret_word)
{
        const struct state *state = it->x->state;
        const char *name = vocab_text(state->vocab, it->request->need.profile);

        *ret_units = 0;
        for (unsigned m = 0; m < model_count(state->models); m++) {
                const struct model *model = model_get(state->models, m);
                bool has = false;
                for (unsigned p = 0; p < model->profiles_count; p++)
                        has |= strcmp(model->profiles[p].name, name) == 0;
                for (unsigned p = 0; has && p < model->profiles_count; p++) {
                        uint32_t units = profile_units(model, &model->profiles[p]);
                        int word = vocab_find(state->vocab, model->profiles[p].name);
                        if (word > 0 && units < below && units > *ret_units) {
                                *ret_units = units;
                                *ret_word = (uint16_t)word;
                        }
                }
        }
        return *ret_units > 0;
}

static void try_profile(struct changing *it)
{
        struct request tried = *it->request;
        struct asking asking;
        uint32_t units = 0;

        if (tried.need.ask != ASK_PROFILE)
                return;
        asking_of_request(it->x, it->request, NONE, &asking);
        for (uint64_t left = asking.models; left && units == 0; left &= left - 1)
                units = asking.units[__builtin_ctzll(left)] / tried.need.devices;
        for (unsigned tries = 0; tries < 4; tries++) {
                if (!next_profile(it, units, &units, &tried.need.profile) ||
                    offer(it, &tried, CHANGE_PROFILE))
                        return;
        }
}

/* ---- looser ---- */

static bool models_elsewhere(const struct changing *it)
{
        for (unsigned m = 0; m < MODELS_MAX; m++)
                if (it->x->state->capacity[m] > 0 && !(it->request->need.models >> m & 1))
                        return true;
        return false;
}

static void try_models(struct changing *it)
{
        struct request tried = *it->request;

        if (tried.need.devices == 0 || !models_elsewhere(it))
                return;
        tried.need.models = UINT64_MAX;
        (void)offer(it, &tried, CHANGE_MODELS);
}

static void try_anywhere(struct changing *it)
{
        struct request tried = *it->request;
        unsigned changes = 0;

        if (tried.form.near_required)
                changes |= CHANGE_NEAR;
        if (tried.form.spread != SPREAD_NONE)
                changes |= CHANGE_SPREAD;
        tried.form.near_required = 0;
        if (changes & CHANGE_NEAR && offer(it, &tried, CHANGE_NEAR))
                return;
        tried.form.spread = SPREAD_NONE;
        if (changes & CHANGE_SPREAD)
                (void)offer(it, &tried, changes);
}

static void try_where(struct changing *it)
{
        struct request tried = *it->request;

        if (tried.need.plane == 0 && tried.need.where == 0)
                return;
        tried.need.plane = tried.need.where = 0;
        (void)offer(it, &tried, CHANGE_WHERE);
}

static void try_host(struct changing *it)
{
        struct request tried = *it->request;
        struct need *need = &tried.need;

        for (unsigned tries = 0; tries < 2; tries++) {
                if (need->cpu_milli + need->ram_mib + need->disk_mib + need->network_mbit == 0)
                        return;
                need->cpu_milli /= 2;
                need->ram_mib /= 2;
                need->disk_mib /= 2;
                need->network_mbit /= 2;
                if (offer(it, &tried, CHANGE_NODE))
                        return;
        }
}

static void try_spare(struct changing *it)
{
        struct request tried = *it->request;

        if (tried.spare || !it->x->state->accounts)
                return;
        tried.spare = true;
        (void)offer(it, &tried, CHANGE_SPARE);
}

void nearest_requests(struct explainer *x, struct explanation *ret)
{
        struct changing it = {.x = x, .ret = ret, .request = &ret->request};
        bool quota = !ret->gates[GATE_LIMIT].passed || !ret->gates[GATE_BUDGET].passed;
        bool room = !ret->gates[GATE_FIT].passed || !ret->gates[GATE_ORDER].passed;

        if (x->state->frozen || ret->table_full || !ret->gates[GATE_JOBS].passed ||
            !ret->gates[GATE_HOLD].passed)
                return;
        if (quota)
                try_spare(&it);
        if (room || !ret->gates[GATE_FEASIBLE].passed) {
                try_anywhere(&it);
                try_where(&it);
                try_models(&it);
                try_split(&it);
        }
        try_fewer_devices(&it);
        try_fewer_members(&it);
        try_profile(&it);
        try_half(&it);
        if (room)
                try_host(&it);
}
