/* Where tenants do not share devices with others: a device that holds a share is for shares of its
 * own trust domain only. So a share goes either on a device without any, where all domains see the
 * same (the shapes' heaps of HEAP_ALONE), or on one that its domain holds already: those nodes are
 * listed by domain, and looked at one by one.
 *
 * A list may name a node twice, or one that the domain has left: such names are taken out when it
 * is searched, or full. A domain on more nodes than a list holds is found by classes, as others
 * are. */
#include <string.h>

#include "base/mem.h"
#include "engine/accounts.h"
#include "engine/isolate.h"
#include "engine/memo_impl.h"

#define NODES_LOOKED_AT 128

/* Whose shares a device holds: these, or a domain + DOMAIN_FIRST. */
enum { DOMAIN_NONE, DOMAIN_MIXED, DOMAIN_FIRST };

struct trust_nodes {
        uint32_t *nodes;
        uint32_t count, room;
        bool many;                      /* more than are looked at: nothing is listed any more */
};

/* ---- who lies where ---- */

static uint32_t domain_of(const struct state *state, uint32_t member)
{
        const struct workload *workload = &state->workloads[state->members[member].workload];
        uint16_t tenant = state->buckets[workload->bucket].tenant;

        return state->accounts->tenancy->tenants[tenant].trust + DOMAIN_FIRST;
}

static void find_domains(const struct state *state, uint32_t node,
                         uint32_t domains[NODE_DEVICES_MAX])
{
        memset(domains, 0, NODE_DEVICES_MAX * sizeof *domains);
        for (uint32_t at = state->nodes[node].first_member; at != NONE;
             at = state->members[at].node_next) {
                for (uint32_t p = state->members[at].first_part; p != NONE;
                     p = state->parts[p].next) {
                        const struct part *part = &state->parts[p].part;
                        if (part->method != METHOD_SHARE)
                                continue;
                        uint32_t *domain = &domains[part->device], its = domain_of(state, at);
                        *domain = *domain == DOMAIN_NONE || *domain == its ? its : DOMAIN_MIXED;
                }
        }
}

static bool is_on(const struct node_link *link, uint32_t domain)
{
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++)
                if (link->trusts[d] == domain)
                        return true;
        return false;
}

/* Leaves each node once, and only where the domain is. */
static void list_tidy(struct memo *memo, uint32_t domain)
{
        struct trust_nodes *list = &memo->trusts[domain];
        uint32_t kept = 0;

        memo->trust_searches++;
        for (uint32_t i = 0; i < list->count; i++) {
                struct node_link *link = &memo->links[list->nodes[i]];
                if (link->trust_search == memo->trust_searches || !is_on(link, domain))
                        continue;
                link->trust_search = memo->trust_searches;
                list->nodes[kept++] = list->nodes[i];
        }
        list->count = kept;
}

static bool list_add(struct memo *memo, uint32_t domain, uint32_t node)
{
        if (!memo_room(memo, &memo->trusts, &memo->trusts_room, domain, sizeof *memo->trusts))
                return false;
        struct trust_nodes *list = &memo->trusts[domain];
        if (list->count == NODES_LOOKED_AT) {
                list_tidy(memo, domain);
                list->many = list->count == NODES_LOOKED_AT;
        }
        if (list->many)
                return true;
        if (!memo_room(memo, &list->nodes, &list->room, list->count, sizeof *list->nodes))
                return false;
        list->nodes[list->count++] = node;
        return true;
}

bool trust_follow(struct memo *memo, uint32_t node)
{
        struct node_link *link = &memo->links[node];
        uint32_t before[NODE_DEVICES_MAX];

        if (!memo->state->accounts || !memo->state->accounts->isolation.trusts ||
            memo->mode == MEMO_SCAN)
                return true;
        memcpy(before, link->trusts, sizeof before);
        find_domains(memo->state, node, link->trusts);
        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++)
                if (link->trusts[d] != DOMAIN_NONE && link->trusts[d] != before[d] &&
                    !list_add(memo, link->trusts[d], node))
                        return false;
        return true;
}

void trust_forget(struct memo *memo)
{
        for (uint32_t t = 0; t < memo->trusts_room; t++)
                mem_free(memo->trusts[t].nodes);
        mem_free(memo->trusts);
        memo->trusts = NULL;
        memo->trusts_room = 0;
}

/* ---- searching ---- */

/* The lists of domains that mix with the asker's, its own first; and that of mixed devices. */
static unsigned lists_of(const struct memo *memo, const struct asker *asker,
                         uint32_t lists[TRUSTS_MAX + 2])
{
        const struct tenancy *tenancy = memo->state->accounts->tenancy;
        uint16_t own = tenancy->tenants[asker->tenant].trust;
        uint64_t with = own < TRUSTS_MAX ? tenancy->trusts[own].with & ~(UINT64_C(1) << own) : 0;
        unsigned count = 0;

        lists[count++] = own + DOMAIN_FIRST;
        lists[count++] = DOMAIN_MIXED;
        for (; with; with &= with - 1)
                lists[count++] = (uint32_t)__builtin_ctzll(with) + DOMAIN_FIRST;
        return count;
}

bool trust_is_apart(const struct memo *memo, uint32_t shape, const struct asker *asker)
{
        uint32_t lists[TRUSTS_MAX + 2], nodes = 0;

        if (!asker->only_shares || memo->state->shapes[shape].need.devices != 1)
                return false;
        unsigned count = lists_of(memo, asker, lists);
        for (unsigned l = 0; l < count; l++) {
                if (lists[l] >= memo->trusts_room)
                        continue;
                nodes += memo->trusts[lists[l]].count;
                if (memo->trusts[lists[l]].many)
                        return false;
        }
        return nodes <= NODES_LOOKED_AT;
}

static bool takes_one(struct memo *memo, uint32_t look, uint32_t node, uint32_t domain)
{
        const struct node_link *link = &memo->links[node];

        for (unsigned d = 0; d < NODE_DEVICES_MAX; d++) {
                if (link->trusts[d] != domain)
                        continue;
                const struct step *step = spot_step(memo, look, link->spots[d]);
                if (step && step->next != STEP_NEVER)
                        return true;
        }
        return false;
}

static void look_at(struct memo *memo, uint32_t shape, struct place_right right, uint32_t node,
                    uint32_t *best_at, struct entry *best)
{
        const struct need *need = &memo->state->shapes[shape].need;
        uint32_t class = memo->links[node].class;
        struct entry entry = {.rank = memo->ranks[node]};
        struct move move;

        if (class == NONE || !class_is_open(memo, class, right) ||
            !node_has_room(&memo->state->nodes[node], need) ||
            !barred_best(memo, shape, node, &memo->classes[class], right.asker, &entry.key, &move))
                return;
        if (*best_at != NONE && !entry_before(&entry, best))
                return;
        entry.class = class;
        *best = entry;
        *best_at = node;
}

uint32_t trust_best(struct memo *memo, uint32_t shape, struct place_right right,
                    struct entry *ret_best)
{
        uint32_t lists[TRUSTS_MAX + 2], best_at = NONE;
        unsigned count = lists_of(memo, right.asker, lists);

        for (unsigned l = 0; l < count; l++) {
                if (lists[l] >= memo->trusts_room)
                        continue;
                list_tidy(memo, lists[l]);
                const struct trust_nodes *list = &memo->trusts[lists[l]];
                for (uint32_t i = 0; i < list->count; i++)
                        if (takes_one(memo, memo->look_of[shape], list->nodes[i], lists[l]))
                                look_at(memo, shape, right, list->nodes[i], &best_at, ret_best);
        }
        return best_at;
}

uint32_t shared_places(const struct memo *memo, const struct view *view)
{
        uint32_t places = 0;

        for (unsigned at = 0; at < view->count; at++) {
                const struct device_state *state = &memo->spots[view->spots[at]].state;
                if (state->mode == DEVICE_SHARED && state->holders > 0)
                        places |= 1u << at;
        }
        return places;
}
