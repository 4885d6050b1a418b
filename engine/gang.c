#include "engine/gang.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/memo_impl.h"

/* A node, or one group of linked devices of it, as a gang in the making would leave it. */
struct site {
        uint32_t node;
        uint32_t domain;
        uint32_t left;                  /* members it can still take */
        uint32_t cpu, ram, disk, network;
        uint8_t first_device, devices;
        bool scored;
        bool closed;                    /* its rack has its one member */
        uint32_t spots[NODE_DEVICES_MAX];       /* by device, from first_device */
        int64_t key;
        struct move move;
};

struct gang_scratch {
        struct site *sites;
        uint32_t sites_count, sites_room;
        uint64_t *sums;                 /* by domain: members it can take */
        uint32_t domains_count, domains_room;
        struct gang_place *places;
        uint32_t places_room;
        struct map domains, racks;
};

void gang_scratch_free(struct gang_scratch *scratch)
{
        if (!scratch)
                return;
        mem_free(scratch->sites);
        mem_free(scratch->sums);
        mem_free(scratch->places);
        map_done(&scratch->domains);
        map_done(&scratch->racks);
        mem_free(scratch);
}

static struct gang_scratch *scratch_of(struct memo *memo)
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
static uint32_t limit_by_devices(uint32_t limit, const uint32_t *rooms, unsigned count, unsigned n)
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

static uint32_t limit_by_room(const struct site *site, const struct need *need, uint32_t limit)
{
        limit = limit_by(limit, site->cpu, need->cpu_milli);
        limit = limit_by(limit, site->ram, need->ram_mib);
        limit = limit_by(limit, site->disk, need->disk_mib);
        return limit_by(limit, site->network, need->network_mbit);
}

static uint32_t site_limit(struct memo *memo, uint32_t shape, const struct site *site,
                           uint32_t limit)
{
        const struct need *need = &memo->state->shapes[shape].need;
        uint32_t rooms[NODE_DEVICES_MAX] = {0};

        for (unsigned d = 0; d < site->devices && need->devices > 0; d++) {
                const struct step *step = spot_step(memo, memo->look_of[shape], site->spots[d]);
                rooms[d] = step && step->next != STEP_NEVER ? step->room : 0;
        }
        limit = limit_by_room(site, need, limit);
        return limit_by_devices(limit, rooms, site->devices, need->devices);
}

/* ---- domains ---- */

static uint64_t domain_key(const struct node_desc *desc, uint32_t node, unsigned first_device,
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

static uint64_t rack_key(const struct node_desc *desc, uint32_t node)
{
        return domain_key(desc, node, 0, NEAR_RACK);
}

static bool site_add(struct memo *memo, struct gang_scratch *scratch, const struct site *site,
                     enum near_level level)
{
        const struct node_desc *desc = &memo->state->nodes[site->node].desc;
        uint64_t key = domain_key(desc, site->node, site->first_device, level);
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
static bool sum_domains(struct memo *memo, struct gang_scratch *scratch, const struct form *form)
{
        for (uint32_t s = 0; s < scratch->sites_count; s++) {
                const struct site *site = &scratch->sites[s];
                uint32_t counts = site->left;
                if (form->spread == SPREAD_RACK && counts > 0) {
                        uint64_t key = rack_key(&memo->state->nodes[site->node].desc, site->node);
                        key = map_mix(key) + site->domain;      /* the pair, as a key of its own */
                        if (map_get(&scratch->racks, key) != MAP_NONE)
                                continue;
                        if (map_set(&scratch->racks, key, 1) != 0)
                                return false;
                        counts = 1;
                }
                scratch->sums[site->domain] += counts;
        }
        return true;
}

/* The domain that fits most tightly, first the one met first; NONE. */
static uint32_t choose_domain(const struct gang_scratch *scratch, uint32_t members)
{
        uint32_t best = NONE;

        for (uint32_t d = 0; d < scratch->domains_count; d++)
                if (scratch->sums[d] >= members &&
                    (best == NONE || scratch->sums[d] < scratch->sums[best]))
                        best = d;
        return best;
}

static unsigned group_size(const struct node_desc *desc, enum near_level level)
{
        if (level != NEAR_DEVICE_LINKS || desc->devices == 0)
                return desc->devices;
        return desc->link_group ? desc->link_group : 1;
}

/* ---- what could ever fit ---- */

static uint32_t room_when_empty(const struct state *state, const struct need *need, unsigned model)
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
        unsigned group = group_size(desc, form->near), left = desc->devices - first;
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
        uint32_t limit = limit_by_room(ret_site, need,
                                       form->spread != SPREAD_NONE ? 1 : form->members);
        ret_site->left = limit_by_devices(limit, rooms, ret_site->devices, need->devices);
        return ret_site->left > 0;
}

static bool could_admit(const struct state *state, uint32_t node, const struct need *need)
{
        struct node_desc desc = state->nodes[node].desc;

        desc.drained = false;
        return state->nodes[node].status != NODE_FREE_SLOT && node_admits(state, &desc, need);
}

static bool add_empty_sites(struct memo *memo, struct gang_scratch *scratch, uint32_t node,
                            const struct need *need, const struct form *form, uint32_t room)
{
        const struct node_desc *desc = &memo->state->nodes[node].desc;
        unsigned first = 0;

        do {
                struct site site;
                if (empty_site(memo->state, node, need, form, first, room, &site) &&
                    !site_add(memo, scratch, &site, form->near))
                        return false;
                first += group_size(desc, form->near);
        } while (first > 0 && first < desc->devices);
        return true;
}

/* One member that may lie anywhere: the first node that could hold it will do. */
static int single_feasible(const struct state *state, const struct need *need,
                           const struct form *form, const uint32_t *rooms)
{
        struct site site;

        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (could_admit(state, n, need) &&
                    empty_site(state, n, need, form, 0, rooms[state->nodes[n].desc.model], &site))
                        return 1;
        return 0;
}

int gang_feasible(struct memo *memo, const struct state *state, const struct need *need,
                  const struct form *form, struct err *err)
{
        struct form required = *form;
        struct gang_scratch *scratch = scratch_of(memo);
        uint32_t rooms[MODELS_MAX];

        memo->state = state;
        if (!form->near_required)
                required.near = NEAR_NONE;
        for (unsigned m = 0; m < MODELS_MAX; m++)
                rooms[m] = m < model_count(state->models) ? room_when_empty(state, need, m) : 0;
        if (!form_is_gang(&required))
                return single_feasible(state, need, &required, rooms);
        if (!scratch)
                goto nomem;
        for (uint32_t n = 0; n < state->node_slots.high; n++)
                if (could_admit(state, n, need) &&
                    !add_empty_sites(memo, scratch, n, need, &required,
                                     rooms[state->nodes[n].desc.model]))
                        goto nomem;
        if (!sum_domains(memo, scratch, &required))
                goto nomem;
        return choose_domain(scratch, form->members) != NONE;
nomem:
        return err_set(err, ERR_NOMEM, "out of memory while looking for room");
}

/* ---- what fits now ---- */

static bool add_sites(struct memo *memo, struct gang_scratch *scratch, uint32_t number,
                      uint32_t shape, const struct form *form, enum near_level level)
{
        const struct node *node = &memo->state->nodes[number];
        const struct need *need = &memo->state->shapes[shape].need;
        unsigned group = group_size(&node->desc, level);
        unsigned first = 0;

        if (node->status != NODE_UP || memo->links[number].class == NONE ||
            !node_admits(memo->state, &node->desc, need) || !node_has_room(node, need))
                return true;
        do {
                unsigned left = node->desc.devices - first;
                struct site site = {.node = number,
                                    .first_device = (uint8_t)first,
                                    .devices = (uint8_t)(left < group ? left : group),
                                    .cpu = node->cpu_free,
                                    .ram = node->ram_free,
                                    .disk = node->disk_free,
                                    .network = node->network_free};
                memcpy(site.spots, &memo->links[number].spots[first],
                       site.devices * sizeof *site.spots);
                site.left = site_limit(memo, shape, &site,
                                       form->spread != SPREAD_NONE ? 1 : form->members);
                if (site.left > 0 && !site_add(memo, scratch, &site, level))
                        return false;
                first += group;
        } while (group > 0 && first < node->desc.devices);
        return true;
}

static void site_score(struct memo *memo, uint32_t shape, struct site *site)
{
        struct view view = {.kind = memo->links[site->node].kind,
                            .cpu_free = site->cpu - site->cpu % memo->ops->bucket_milli,
                            .held = memo->classes[memo->links[site->node].class].view.held,
                            .model = memo->state->nodes[site->node].desc.model,
                            .count = site->devices};
        struct class class;

        memcpy(view.spots, site->spots, site->devices * sizeof *site->spots);
        view_settle(memo, &view);
        class_make(memo, &view, &class);
        bool fits = evaluate(memo, memo->look_of[shape], &class, &site->key, &site->move);
        assert(fits);
        (void)fits;
        site->scored = true;
}

static struct site *best_site(struct memo *memo, uint32_t shape, struct gang_scratch *scratch,
                              uint32_t domain)
{
        struct site *best = NULL;

        for (uint32_t s = 0; s < scratch->sites_count; s++) {
                struct site *site = &scratch->sites[s];
                if (site->domain != domain || site->left == 0 || site->closed)
                        continue;
                if (!site->scored)
                        site_score(memo, shape, site);
                if (!best || site->key > best->key ||
                    (site->key == best->key &&
                     memo->ranks[site->node] < memo->ranks[best->node]))
                        best = site;
        }
        return best;
}

/* Puts the parts of a move on the site's devices, lowest number first, and takes them there. */
static void take_parts(struct site *site, const struct move *move, struct gang_place *place)
{
        unsigned used = 0;

        for (unsigned i = 0; i < move->count; i++) {
                unsigned d = 0;
                while ((used >> d & 1) || site->spots[d] != move->from[i]) {
                        d++;
                        assert(d < site->devices);
                }
                used |= 1u << d;
                site->spots[d] = move->next[i];
                place->parts[i] = move->parts[i];
                place->parts[i].device = (uint8_t)(site->first_device + d);
        }
        place->parts_count = move->count;
}

/* One part of a device so that all but one of its room stays: always possible. */
static void safe_part(struct memo *memo, const struct need *need, uint32_t from, unsigned room,
                      struct move *move)
{
        const struct model *model = model_get(memo->state->models, memo->spots[from].model);
        struct part options[PART_OPTIONS_MAX];
        struct device_state before = memo->spots[from].state;
        uint8_t model_id = memo->spots[from].model;
        struct part_fit fit;

        bool can = shape_fit(memo->state, need, model_id, &fit);
        assert(can);
        (void)can;
        unsigned count = part_options(model, &before, &fit, options);
        for (unsigned i = 0; i < count; i++) {
                struct device_state after = before;
                device_take(model, &after, &options[i]);
                if (part_room(model, &after, &fit) + 1 < room)
                        continue;
                move->from[move->count] = from;
                move->next[move->count] = spot_intern(memo, model_id, &after);
                move->parts[move->count++] = options[i];
                return;
        }
        assert(false);
}

/* The devices with most room, each with a part that costs it only one: no room is lost. */
static void safe_move(struct memo *memo, uint32_t shape, const struct site *site,
                      struct move *ret_move)
{
        const struct need *need = &memo->state->shapes[shape].need;
        unsigned used = 0;

        ret_move->count = 0;
        while (ret_move->count < need->devices) {
                unsigned best = NODE_DEVICES_MAX, best_room = 0;
                for (unsigned d = 0; d < site->devices; d++) {
                        const struct step *step = spot_step(memo, memo->look_of[shape], site->spots[d]);
                        if ((used >> d & 1) || !step || step->next == STEP_NEVER)
                                continue;
                        if (step->room > best_room) {
                                best = d;
                                best_room = step->room;
                        }
                }
                assert(best < NODE_DEVICES_MAX);
                used |= 1u << best;
                safe_part(memo, need, site->spots[best], best_room, ret_move);
        }
}

static void place_on(struct memo *memo, uint32_t shape, struct site *site,
                     struct gang_place *ret_place)
{
        const struct need *need = &memo->state->shapes[shape].need;
        struct site tried = *site;

        tried.cpu -= need->cpu_milli;
        tried.ram -= need->ram_mib;
        tried.disk -= need->disk_mib;
        tried.network -= need->network_mbit;
        tried.scored = false;
        ret_place->node = site->node;
        take_parts(&tried, &site->move, ret_place);
        tried.left = site_limit(memo, shape, &tried, site->left - 1);
        if (tried.left + 1 < site->left) {
                struct move move;
                safe_move(memo, shape, site, &move);
                memcpy(tried.spots, site->spots, sizeof tried.spots);
                take_parts(&tried, &move, ret_place);
                tried.left = site_limit(memo, shape, &tried, site->left - 1);
                assert(tried.left + 1 == site->left);
        }
        *site = tried;
}

static void close_rack(const struct memo *memo, struct gang_scratch *scratch,
                       const struct site *taken)
{
        uint64_t rack = rack_key(&memo->state->nodes[taken->node].desc, taken->node);

        for (uint32_t s = 0; s < scratch->sites_count; s++) {
                const struct site *site = &scratch->sites[s];
                if (rack_key(&memo->state->nodes[site->node].desc, site->node) == rack)
                        scratch->sites[s].closed = true;
        }
}

static int place_in(struct memo *memo, uint32_t shape, const struct form *form,
                    struct gang_scratch *scratch, uint32_t domain, struct err *err)
{
        if (!memo_room(memo, &scratch->places, &scratch->places_room, form->members,
                       sizeof *scratch->places))
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        for (uint32_t m = 0; m < form->members; m++) {
                struct site *site = best_site(memo, shape, scratch, domain);
                assert(site);
                place_on(memo, shape, site, &scratch->places[m]);
                if (form->spread == SPREAD_RACK)
                        close_rack(memo, scratch, site);
        }
        return 1;
}

static int place_at(struct memo *memo, uint32_t shape, const struct form *form,
                    enum near_level level, struct err *err)
{
        struct gang_scratch *scratch = scratch_of(memo);

        if (!scratch)
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        for (uint32_t n = 0; n < memo->state->node_slots.high; n++)
                if (!add_sites(memo, scratch, n, shape, form, level))
                        return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        if (!sum_domains(memo, scratch, form))
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        uint32_t domain = choose_domain(scratch, form->members);
        return domain == NONE ? 0 : place_in(memo, shape, form, scratch, domain, err);
}

/* A preferred level loosens step by step up to the pool. */
int gang_place(struct memo *memo, uint32_t shape, const struct form *form,
               const struct gang_place **ret_places, struct err *err)
{
        int rc = 0;

        for (unsigned level = form->near; rc == 0; level++) {
                rc = place_at(memo, shape, form, (enum near_level)level, err);
                if (form->near_required || level == NEAR_NONE || level == NEAR_POOL)
                        break;
        }
        if (rc == 1)
                *ret_places = memo->gang->places;
        return rc;
}
