/* Plans for work whose members must lie in one domain of the fabric: each domain is searched by
 * itself, and the one that loses least wins. All domains together hold each node once, so that this
 * costs about what a search over all nodes costs. */
#include "engine/preempt_impl.h"

#include <stdlib.h>

#include "engine/gang_impl.h"

/* ---- domains ---- */

static int by_domain(const void *a, const void *b)
{
        const struct near_spot *x = a, *y = b;

        if (x->domain != y->domain)
                return x->domain < y->domain ? -1 : 1;
        return (x->node > y->node) - (x->node < y->node);
}

/* Of equals the one met first, as in gang_choose_domain(): the order of names says nothing. */
static int by_least(const void *a, const void *b)
{
        const struct near_domain *x = a, *y = b;

        if (x->least != y->least)
                return x->least < y->least ? -1 : 1;
        if (x->node != y->node)
                return x->node < y->node ? -1 : 1;
        return (x->first > y->first) - (x->first < y->first);
}

static bool list_spots(struct search *search, enum near_level level)
{
        struct preempt_scratch *scratch = search->scratch;

        scratch->spots_count = 0;
        for (uint32_t n = 0; n < search->state->node_slots.high; n++) {
                const struct node_desc *desc = &search->state->nodes[n].desc;
                if (!search_admits(search, n))
                        continue;
                unsigned group = gang_group_size(desc, level);
                for (unsigned first = 0; first < desc->devices; first += group) {
                        if (!memo_room(search->memo, &scratch->spots, &scratch->spots_room,
                                       scratch->spots_count, sizeof *scratch->spots))
                                return false;
                        scratch->spots[scratch->spots_count++] = (struct near_spot){
                                gang_domain_key(desc, n, first, level), n, (uint8_t)first};
                }
        }
        if (scratch->spots_count > 1)
                qsort(scratch->spots, scratch->spots_count, sizeof *scratch->spots, by_domain);
        return true;
}

static uint16_t group_mask(const struct search *search, const struct near_spot *spot,
                           enum near_level level)
{
        unsigned group = gang_group_size(&search->state->nodes[spot->node].desc, level);

        return (uint16_t)(((1u << group) - 1) << spot->first_device);
}

/* Whether it is worth a search: nobody there may be stopped, or it is too small for the members. */
static bool could_hold(const struct search *search, const struct form *form,
                       const struct near_domain *domain)
{
        if (domain->least == UINT64_MAX ||
            (form->spread != SPREAD_NONE && domain->count < form->members))
                return false;
        return search->need->ask != ASK_WHOLE ||
               domain->devices >= (uint64_t)form->members * search->need->devices;
}

/* Runs of spots, those that could be cheapest first. */
static bool list_domains(struct search *search, const struct form *form)
{
        struct preempt_scratch *scratch = search->scratch;

        scratch->domains_count = 0;
        for (uint32_t s = 0; s < scratch->spots_count;) {
                struct near_domain domain = {.least = UINT64_MAX,
                                             .first = s,
                                             .node = scratch->spots[s].node};
                uint64_t key = scratch->spots[s].domain;
                for (; s < scratch->spots_count && scratch->spots[s].domain == key; s++) {
                        const struct near_spot *spot = &scratch->spots[s];
                        uint64_t least = search_least_loss(search, spot->node);
                        domain.least = least < domain.least ? least : domain.least;
                        domain.devices += gang_group_size(&search->state->nodes[spot->node].desc,
                                                          (enum near_level)form->near);
                        domain.count++;
                }
                if (!could_hold(search, form, &domain))
                        continue;
                if (!memo_room(search->memo, &scratch->domains, &scratch->domains_room,
                               scratch->domains_count, sizeof *scratch->domains))
                        return false;
                scratch->domains[scratch->domains_count++] = domain;
        }
        if (scratch->domains_count > 1)
                qsort(scratch->domains, scratch->domains_count, sizeof *scratch->domains, by_least);
        return true;
}

/* ---- the search ---- */

static bool search_domain(struct search *search, enum near_level level,
                          const struct near_domain *domain, uint64_t most, uint64_t *ret_cost)
{
        search->domain = domain;
        search->shut = 0;
        if (level == NEAR_DEVICE_LINKS)
                search->shut = (uint16_t)~group_mask(search,
                                                     &search->scratch->spots[domain->first], level);
        return search_places(search, most, ret_cost);
}

/* Each domain may only lose less than the best before it. The best is searched once more at the
 * end, with what it was allowed then: that is simpler than to keep a plan aside. */
bool search_near(struct search *search, uint64_t most, uint64_t *ret_cost)
{
        const struct form *form = &search->state->buckets[search->beneficiary.bucket].form;
        enum near_level level = (enum near_level)form->near;
        const struct near_domain *best = NULL;
        struct preempt_scratch *scratch = search->scratch;
        uint64_t best_most = 0, cost;

        if (!list_spots(search, level) || !list_domains(search, form)) {
                search->failed = true;
                return false;
        }
        for (uint32_t d = 0; d < scratch->domains_count; d++) {
                const struct near_domain *domain = &scratch->domains[d];
                if (domain->least > most)
                        break;
                if (search_domain(search, level, domain, most, &cost)) {
                        best = domain;
                        best_most = most;
                        *ret_cost = cost;
                        if (cost == 0)
                                return true;
                        most = cost - 1;
                }
                if (search->failed)
                        return false;
        }
        if (!best || best == search->domain)
                return best != NULL;
        return search_domain(search, level, best, best_most, ret_cost);
}

/* ---- at the hand-over ---- */

static bool is_near(const struct state *state, enum near_level level, const struct plan_place *a,
                    const struct plan_place *b)
{
        const struct node_desc *x = &state->nodes[a->node].desc, *y = &state->nodes[b->node].desc;

        return gang_domain_key(x, a->node, 0, level) == gang_domain_key(y, b->node, 0, level);
}

/* All devices of the place in the group of `first`. */
static bool is_linked(const struct state *state, const struct plan_place *place, unsigned first)
{
        unsigned group = gang_group_size(&state->nodes[place->node].desc, NEAR_DEVICE_LINKS);

        for (unsigned i = 0; i < place->parts_count; i++)
                if (place->parts[i].device / group != first / group)
                        return false;
        return true;
}

bool plan_lies_well(const struct state *state, const struct plan *plan)
{
        const struct workload *workload = &state->workloads[plan->beneficiary];
        const struct form *form = &state->buckets[workload->bucket].form;
        const struct plan_place *places = state->plan_places, *one = &places[plan->first_place];

        for (uint32_t a = plan->first_place; a != NONE; a = places[a].next) {
                if (form->near_required &&
                    (!is_near(state, (enum near_level)form->near, one, &places[a]) ||
                     (form->near == NEAR_DEVICE_LINKS &&
                      !is_linked(state, &places[a], one->parts[0].device))))
                        return false;
                for (uint32_t b = places[a].next; form->spread != SPREAD_NONE && b != NONE;
                     b = places[b].next)
                        if (places[a].node == places[b].node ||
                            (form->spread == SPREAD_RACK &&
                             gang_same_rack(&state->nodes[places[a].node].desc,
                                            &state->nodes[places[b].node].desc)))
                                return false;
        }
        return true;
}
