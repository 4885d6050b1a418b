/* What domains of the fabric can hold of a gang: counting only, no scores. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/gang_impl.h"
#include "engine/isolate.h"

void gang_scratch_free(struct gang_scratch *scratch)
{
        if (!scratch)
                return;
        mem_free(scratch->sites);
        mem_free(scratch->sums);
        mem_free(scratch->places);
        mem_free(scratch->queue);
        map_done(&scratch->domains);
        map_done(&scratch->racks);
        mem_free(scratch);
}

struct gang_scratch *gang_scratch_of(struct memo *memo)
{
        if (!memo->gang) {
                memo->gang = mem_new(1, sizeof *memo->gang);
                if (!memo->gang)
                        return NULL;
                map_init(&memo->gang->domains, MAP_ENTRIES_MAX);
                map_init(&memo->gang->racks, MAP_ENTRIES_MAX);
        }
        memo->gang->sites_count = memo->gang->domains_count = 0;
        map_clear(&memo->gang->domains);
        map_clear(&memo->gang->racks);
        return memo->gang;
}

/* ---- how many members fit ---- */

static uint32_t limit_by(uint32_t limit, uint32_t free, uint32_t need)
{
        if (need == 0)
                return limit;
        return free / need < limit ? free / need : limit;
}

/* `rooms[d]`: parts that device d can take, each of another member. k members with n parts each, on
 * n different devices, fit exactly when sum of min(rooms[d], k) >= n k. */
uint32_t site_limit_by_devices(uint32_t limit, const uint32_t *rooms, unsigned count, unsigned n)
{
        uint64_t all = 0;

        if (n == 0)
                return limit;
        for (unsigned d = 0; d < count; d++)
                all += rooms[d];
        if (all / n < limit)
                limit = (uint32_t)(all / n);
        for (; n > 1 && limit > 0; limit--) {
                uint64_t sum = 0;
                for (unsigned d = 0; d < count; d++)
                        sum += rooms[d] < limit ? rooms[d] : limit;
                if (sum >= (uint64_t)n * limit)
                        break;
        }
        return limit;
}

uint32_t site_limit_by_room(const struct site *site, const struct need *need, uint32_t limit)
{
        limit = limit_by(limit, site->cpu, need->cpu_milli);
        limit = limit_by(limit, site->ram, need->ram_mib);
        limit = limit_by(limit, site->disk, need->disk_mib);
        return limit_by(limit, site->network, need->network_mbit);
}

/* ---- domains ---- */

uint64_t gang_domain_key(const struct node_desc *desc, uint32_t node, unsigned first_device,
                         enum near_level level)
{
        uint64_t own = 1ull << 40 | (uint64_t)node << 8;        /* a level that is not known */
        uint16_t name = 0;

        switch (level) {
        case NEAR_NONE:
        case NEAR_POOL:
        case NEAR_LEVELS_END:
                return 0;
        case NEAR_DEVICE_LINKS:
                return own | first_device;
        case NEAR_NODE:
                return own;
        case NEAR_NVLINK:
                name = desc->nvlink;
                break;
        case NEAR_RACK:
                name = desc->rack;
                break;
        case NEAR_BLOCK:
                name = desc->block;
                break;
        }
        return name ? name : own;
}

bool gang_same_rack(const struct node_desc *a, const struct node_desc *b)
{
        return a->rack != 0 && a->rack == b->rack && a->block == b->block;
}

uint64_t gang_rack_key(const struct memo *memo, const struct site *site)
{
        const struct node_desc *desc = &memo->state->nodes[site->node].desc;

        return map_mix(gang_domain_key(desc, site->node, 0, NEAR_RACK)) + site->domain;
}

bool gang_site_add(struct memo *memo, struct gang_scratch *scratch, const struct site *site,
                     enum near_level level)
{
        const struct node_desc *desc = &memo->state->nodes[site->node].desc;
        uint64_t key = gang_domain_key(desc, site->node, site->first_device, level);
        uint32_t domain = map_get(&scratch->domains, key);

        if (domain == MAP_NONE) {
                domain = scratch->domains_count;
                if (!memo_room(memo, &scratch->sums, &scratch->domains_room, domain,
                               sizeof *scratch->sums) ||
                    map_set(&scratch->domains, key, domain) != 0)
                        return false;
                scratch->sums[domain] = 0;
                scratch->domains_count++;
        }
        if (!memo_room(memo, &scratch->sites, &scratch->sites_room, scratch->sites_count,
                       sizeof *scratch->sites))
                return false;
        scratch->sites[scratch->sites_count] = *site;
        scratch->sites[scratch->sites_count++].domain = domain;
        return true;
}

/* Adds up what the domains can take; with `spread: rack`, one member a rack and domain. */
bool gang_sum_domains(struct memo *memo, struct gang_scratch *scratch, const struct form *form)
{
        for (uint32_t s = 0; s < scratch->sites_count; s++) {
                const struct site *site = &scratch->sites[s];
                uint32_t counts = site->left;
                if (form->spread == SPREAD_RACK && counts > 0) {
                        uint64_t key = gang_rack_key(memo, site);
                        if (map_get(&scratch->racks, key) != MAP_NONE)
                                continue;
                        if (map_set(&scratch->racks, key, RACK_OPEN) != 0)
                                return false;
                        counts = 1;
                }
                scratch->sums[site->domain] += counts;
        }
        return true;
}

/* The domain that fits most tightly, first the one met first; NONE. */
uint32_t gang_choose_domain(const struct gang_scratch *scratch, uint32_t members)
{
        uint32_t best = NONE;

        for (uint32_t d = 0; d < scratch->domains_count; d++)
                if (scratch->sums[d] >= members &&
                    (best == NONE || scratch->sums[d] < scratch->sums[best]))
                        best = d;
        return best;
}

unsigned gang_group_size(const struct node_desc *desc, enum near_level level)
{
        if (level != NEAR_DEVICE_LINKS || desc->devices == 0)
                return desc->devices;
        return desc->link_group ? desc->link_group : 1;
}

/* ---- what could ever fit ---- */

uint32_t gang_room_when_empty(const struct state *state, const struct need *need, unsigned model)
{
        struct device_state empty = {0};
        struct part_fit fit;

        if (need->devices == 0 || !shape_fit(state, need, model, &fit))
                return 0;
        return part_room(model_get(state->models, model), &empty, &fit);
}

/* A node, or the group of its devices from `first`, with nobody on it. */
static bool empty_site(const struct state *state, uint32_t node, const struct need *need,
                       const struct form *form, unsigned first, uint32_t room,
                       struct site *ret_site)
{
        const struct node_desc *desc = &state->nodes[node].desc;
        unsigned group = gang_group_size(desc, form->near), left = desc->devices - first;
        uint32_t rooms[NODE_DEVICES_MAX];

        *ret_site = (struct site){.node = node,
                                  .first_device = (uint8_t)first,
                                  .devices = (uint8_t)(left < group ? left : group),
                                  .cpu = desc->cpu_milli,
                                  .ram = desc->ram_mib,
                                  .disk = desc->disk_mib,
                                  .network = desc->network_mbit};
        for (unsigned d = 0; d < ret_site->devices; d++)
                rooms[d] = room;
        uint32_t limit = site_limit_by_room(ret_site, need,
                                       form->spread != SPREAD_NONE ? 1 : form->members);
        ret_site->left = site_limit_by_devices(limit, rooms, ret_site->devices, need->devices);
        return ret_site->left > 0;
}

static bool could_admit(const struct state *state, uint32_t node, const struct need *need,
                        const struct asker *asker)
{
        struct node_desc desc = state->nodes[node].desc;

        desc.drained = false;
        return state->nodes[node].status != NODE_FREE_SLOT && node_admits(state, &desc, need) &&
               (!asker || isolation_admits_kind(state, asker, &desc));
}

static bool add_empty_sites(struct memo *memo, struct gang_scratch *scratch, uint32_t node,
                            const struct need *need, const struct form *form, uint32_t room)
{
        const struct node_desc *desc = &memo->state->nodes[node].desc;
        unsigned first = 0;

        do {
                struct site site;
                if (empty_site(memo->state, node, need, form, first, room, &site) &&
                    !gang_site_add(memo, scratch, &site, form->near))
                        return false;
                first += gang_group_size(desc, form->near);
        } while (first > 0 && first < desc->devices);
        return true;
}

/* One member that may lie anywhere: the first node that could hold it will do. */
static int single_feasible(const struct state *state, const struct need *need,
                           const struct form *form, const struct asker *asker,
                           const uint32_t *rooms)
{
        struct site site;

        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (could_admit(state, n, need, asker) &&
                    empty_site(state, n, need, form, 0, rooms[state->nodes[n].desc.model], &site))
                        return 1;
        return 0;
}

static int feasible(struct memo *memo, const struct state *state, const struct need *need,
                    const struct form *form, const struct asker *asker, struct err *err)
{
        struct form required = *form;
        uint32_t rooms[MODELS_MAX];

        memo->state = state;
        if (!form->near_required)
                required.near = NEAR_NONE;
        for (unsigned m = 0; m < MODELS_MAX; m++)
                rooms[m] =
                        m < model_count(state->models) ? gang_room_when_empty(state, need, m) : 0;
        if (!form_is_gang(&required))
                return single_feasible(state, need, &required, asker, rooms);
        struct gang_scratch *scratch = gang_scratch_of(memo);
        if (!scratch)
                goto nomem;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (could_admit(state, n, need, asker) &&
                    !add_empty_sites(memo, scratch, n, need, &required,
                                     rooms[state->nodes[n].desc.model]))
                        goto nomem;
        if (!gang_sum_domains(memo, scratch, &required))
                goto nomem;
        return gang_choose_domain(scratch, form->members) != NONE;
nomem:
        return err_set(err, ERR_NOMEM, "out of memory while looking for room");
}

int gang_feasible(struct memo *memo, const struct state *state, const struct need *need,
                  const struct form *form, struct err *err)
{
        return feasible(memo, state, need, form, NULL, err);
}

int request_feasible(struct memo *memo, const struct state *state, const struct request *request,
                     struct err *err)
{
        struct asker asker;
        bool kinds = asker_of_request(state, request, &asker) && asker.kinds;

        return feasible(memo, state, &request->need, &request->form, kinds ? &asker : NULL, err);
}
