/* Whether a request could be placed: everything is tried. */
#include <string.h>

#include "base/map.h"
#include "tests/property/brute_impl.h"

/* ---- the search on one node: most members at once, on the devices of `mask` ---- */

#define VISITED_MAX (1u << 16)
#define VISITS_MAX  (1u << 15)

struct search {
        const struct brute *brute;
        const struct model *model;
        const struct need *need;
        struct brute_node *node;
        unsigned mask, limit, best;
        unsigned visits;
        bool gave_up;
        uint32_t round;
};

static struct {
        uint64_t hash;
        uint32_t round;
} visited[VISITED_MAX];
static uint32_t rounds;

/* Parts on a device are a set: which order they came in does not matter. */
static uint64_t hash_of(const struct search *search, unsigned members)
{
        uint64_t hash = members;

        for (unsigned d = 0; d < search->node->desc.devices; d++) {
                const struct brute_device *device = &search->node->devices[d];
                uint64_t sum = 0;
                for (unsigned i = 0; i < device->count; i++) {
                        const struct part *part = &device->parts[i].part;
                        sum += map_mix(part->method + 1 + ((uint64_t)part->profile << 8) +
                                       ((uint64_t)part->start << 16) +
                                       ((uint64_t)part->share_milli << 24));
                }
                hash = map_mix(hash ^ sum) + d;
        }
        return hash;
}

static bool is_new(struct search *search, uint64_t hash)
{
        uint32_t at = (uint32_t)(hash % VISITED_MAX);

        while (visited[at].round == search->round) {
                if (visited[at].hash == hash)
                        return false;
                at = (at + 1) % VISITED_MAX;
        }
        visited[at].hash = hash;
        visited[at].round = search->round;
        if (++search->visits >= VISITS_MAX)
                search->gave_up = true;
        return true;
}

static void try_members(struct search *search, unsigned placed);

static bool put_part(struct search *search, unsigned d, struct part part)
{
        struct brute_device *device = &search->node->devices[d];

        if (device->count == BRUTE_PARTS ||
            !brute_part_meets(search->brute, search->model, search->need, &part) ||
            !brute_part_lies_well(search->model, device, &part))
                return false;
        device->parts[device->count++].part = part;
        return true;
}

static void try_devices(struct search *search, unsigned placed, unsigned from, unsigned left);

static void try_part(struct search *search, unsigned placed, unsigned d, unsigned left,
                     struct part part)
{
        if (search->best >= search->limit || search->gave_up || !put_part(search, d, part))
                return;
        try_devices(search, placed, d + 1, left - 1);
        search->node->devices[d].count--;
}

/* One more part of the member on device d or a later one. */
static void try_devices(struct search *search, unsigned placed, unsigned from, unsigned left)
{
        if (left == 0) {
                try_members(search, placed + 1);
                return;
        }
        for (unsigned d = from; d < search->node->desc.devices; d++) {
                struct part share;
                if (!(search->mask >> d & 1))
                        continue;
                if (brute_share_of(search->model, search->need, &share))
                        try_part(search, placed, d, left, share);
                for (unsigned p = 0; p < search->model->profiles_count; p++)
                        for (unsigned start = 0; start < search->model->memory_slices; start++)
                                try_part(search, placed, d, left,
                                         (struct part){.method = METHOD_SLICE,
                                                       .profile = (uint8_t)p,
                                                       .start = (uint8_t)start});
                try_part(search, placed, d, left, (struct part){.method = METHOD_WHOLE});
        }
}

static void try_members(struct search *search, unsigned placed)
{
        if (placed > search->best)
                search->best = placed;
        if (search->best >= search->limit || search->gave_up ||
            !is_new(search, hash_of(search, placed)))
                return;
        try_devices(search, placed, 0, search->need->devices);
}

/* -1: gave up. */
static int members_that_fit(const struct brute *brute, const struct brute_node *node,
                            const struct need *need, unsigned mask, unsigned most)
{
        if (!brute_node_lets_in(brute, node, need))
                return 0;
        unsigned limit = brute_members_by_node(node, need, most);
        if (need->devices == 0 || limit == 0)
                return (int)limit;
        struct brute_node copy = *node;
        struct search search = {.brute = brute,
                                .model = brute_model_of(brute, node),
                                .need = need,
                                .node = &copy,
                                .mask = mask,
                                .limit = limit,
                                .round = ++rounds};
        try_members(&search, 0);
        return search.gave_up && search.best < limit ? -1 : (int)search.best;
}

/* ---- the search over nodes ---- */

struct spots {
        const struct brute_node *nodes[BRUTE_NODES];
        unsigned room[BRUTE_NODES], chosen[BRUTE_NODES];
        unsigned count;
};

static bool suits(const struct spots *spots, unsigned n, const struct form *form)
{
        if (form->spread != SPREAD_NONE && spots->chosen[n] > 1)
                return false;
        for (unsigned m = 0; m < n; m++) {
                if (spots->chosen[m] == 0)
                        continue;
                const struct node_desc *a = &spots->nodes[m]->desc, *b = &spots->nodes[n]->desc;
                if (form->near_required && !brute_is_near(a, b, form->near))
                        return false;
                if (!brute_is_spread(a, b, form->spread))
                        return false;
        }
        return true;
}

static bool share_out(struct spots *spots, unsigned n, unsigned left, const struct form *form)
{
        if (left == 0)
                return true;
        if (n == spots->count)
                return false;
        for (unsigned k = 0; k <= spots->room[n] && k <= left; k++) {
                spots->chosen[n] = k;
                if (k > 0 && !suits(spots, n, form))
                        break;
                if (share_out(spots, n + 1, left - k, form))
                        return true;
        }
        spots->chosen[n] = 0;
        return false;
}

/* All on one group of linked devices of one node. */
static int could_on_links(const struct brute *brute, const struct brute_node *node,
                          const struct request *request)
{
        unsigned group = brute_group_size(node);

        if (request->form.spread != SPREAD_NONE && request->form.members > 1)
                return 0;
        for (unsigned d = 0; d < node->desc.devices; d += group) {
                unsigned mask = ((1u << group) - 1) << d;
                int n = members_that_fit(brute, node, &request->need, mask, request->form.members);
                if (n < 0 || n >= (int)request->form.members)
                        return n < 0 ? n : 1;
        }
        return 0;
}

static void empty_node(struct brute_node *node)
{
        node->up = true;
        node->desc.drained = false;
        node->cpu = node->ram = node->disk = node->network = 0;
        memset(node->devices, 0, sizeof node->devices);
}

int brute_could(const struct brute *brute, const struct request *request, enum brute_pool pool)
{
        static struct brute_node nodes[BRUTE_NODES];
        struct spots spots = {0};
        bool links = request->form.near_required && request->form.near == NEAR_DEVICE_LINKS;

        for (unsigned n = 0; n < BRUTE_NODES; n++) {
                nodes[n] = brute->nodes[n];
                if (!nodes[n].here)
                        continue;
                if (pool == BRUTE_EMPTY)
                        empty_node(&nodes[n]);
                if (links) {
                        int rc = could_on_links(brute, &nodes[n], request);
                        if (rc != 0)
                                return rc;
                        continue;
                }
                int room = members_that_fit(brute, &nodes[n], &request->need, UINT32_MAX,
                                            request->form.members);
                if (room < 0)
                        return room;
                spots.nodes[spots.count] = &nodes[n];
                spots.room[spots.count++] = (unsigned)room;
        }
        return !links && share_out(&spots, 0, request->form.members, &request->form);
}
