#include "engine/gang.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "engine/gang_impl.h"
#include "engine/isolate.h"

/* ---- what fits now ---- */

static uint32_t site_limit(struct memo *memo, uint32_t shape, const struct site *site,
                           uint32_t limit)
{
        const struct need *need = &memo->state->shapes[shape].need;
        uint32_t rooms[NODE_DEVICES_MAX] = {0};

        for (unsigned d = 0; d < site->devices && need->devices > 0; d++) {
                const struct step *step = spot_step(memo, memo->look_of[shape], site->spots[d]);
                rooms[d] = step && step->next != STEP_NEVER ? step->room : 0;
        }
        limit = site_limit_by_room(site, need, limit);
        return site_limit_by_devices(limit, rooms, site->devices, need->devices);
}

/* Members that fit on one node of the class at most: cores as many as its step may hide. */
static uint32_t class_limit(struct memo *memo, uint32_t shape, const struct form *form,
                            const struct view *view)
{
        struct site site = {.devices = view->count,
                            .cpu = view->cpu_free + memo->ops->bucket_milli - 1,
                            .ram = UINT32_MAX,
                            .disk = UINT32_MAX,
                            .network = UINT32_MAX};

        memcpy(site.spots, view->spots, view->count * sizeof *site.spots);
        return site_limit(memo, shape, &site, form->spread != SPREAD_NONE ? 1 : form->members);
}

bool gang_may_fit(struct memo *memo, uint32_t shape, const struct form *form)
{
        uint64_t room = 0;

        if (memo->mode == MEMO_SCAN)
                return true;
        for (uint32_t a = 0; a < memo->active_count && room < form->members; a++) {
                uint32_t class = memo->active[a];
                if (may_fit(memo, memo->look_of[shape], &memo->briefs[class]))
                        room += (uint64_t)memo->classes[class].nodes *
                                class_limit(memo, shape, form, &memo->classes[class].view);
        }
        return room >= form->members || memo->failed;
}

static bool is_open_to(const struct node *node, struct gang_right right)
{
        if (node->frozen || node_closes_ms(node) < right.leaves_ms ||
            (node->held_for && node->held_for != right.slot + 1))
                return false;
        return right.models == UINT64_MAX ||
               (node->desc.devices > 0 && (right.models >> node->desc.model & 1));
}

static bool add_sites(struct memo *memo, struct gang_scratch *scratch, uint32_t number,
                      uint32_t shape, const struct form *form, struct gang_right right,
                      enum near_level level)
{
        const struct node *node = &memo->state->nodes[number];
        const struct need *need = &memo->state->shapes[shape].need;
        unsigned group = gang_group_size(&node->desc, level);
        uint32_t bars = 0;
        unsigned first = 0;

        if (node->status != NODE_UP || !is_open_to(node, right) ||
            !node_admits(memo->state, &node->desc, need) || !node_has_room(node, need))
                return true;
        if (right.asker)
                bars = isolation_bars(memo->state, right.asker, number);
        if (bars == BARRED_NODE)
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
                for (unsigned d = 0; d < site.devices; d++)
                        site.spots[d] = bars >> (first + d) & 1
                                                ? barred_spot(memo, node->desc.model)
                                                : memo->links[number].spots[first + d];
                if (memo->failed)
                        return true;
                site.left = site_limit(memo, shape, &site,
                                       form->spread != SPREAD_NONE ? 1 : form->members);
                if (site.left > 0 && !gang_site_add(memo, scratch, &site, level))
                        return false;
                first += group;
        } while (group > 0 && first < node->desc.devices);
        return true;
}

/* False: memo->failed. */
static bool site_score(struct memo *memo, uint32_t shape, struct site *site)
{
        struct view view = {.kind = memo->links[site->node].kind,
                            .cpu_free = site->cpu - site->cpu % memo->ops->bucket_milli,
                            .held = memo->ops->wants_held
                                            ? node_held_mask(&memo->state->nodes[site->node])
                                            : 0,
                            .model = memo->state->nodes[site->node].desc.model,
                            .count = site->devices};
        struct class class;

        memcpy(view.spots, site->spots, site->devices * sizeof *site->spots);
        view_settle(memo, &view);
        class_make(memo, &view, &class);
        bool fits = evaluate(memo, memo->look_of[shape], &class, 0, &site->key, &site->move);
        assert(fits || memo->failed);
        return fits;
}

/* ---- the sites of a domain, best first: highest key, lowest rank, first met ---- */

static bool goes_before(const struct memo *memo, uint32_t a, uint32_t b)
{
        const struct site *x = &memo->gang->sites[a], *y = &memo->gang->sites[b];

        if (x->key != y->key)
                return x->key > y->key;
        if (x->node != y->node)
                return memo->ranks[x->node] < memo->ranks[y->node];
        return a < b;
}

static void queue_sift(struct memo *memo, uint32_t at)
{
        uint32_t *queue = memo->gang->queue, count = memo->gang->queue_count;
        uint32_t site = queue[at];

        for (;;) {
                uint32_t child = 2 * at + 1;
                if (child >= count)
                        break;
                if (child + 1 < count && goes_before(memo, queue[child + 1], queue[child]))
                        child++;
                if (!goes_before(memo, queue[child], site))
                        break;
                queue[at] = queue[child];
                at = child;
        }
        queue[at] = site;
}

static void queue_pop(struct memo *memo)
{
        struct gang_scratch *scratch = memo->gang;

        scratch->queue[0] = scratch->queue[--scratch->queue_count];
        if (scratch->queue_count > 0)
                queue_sift(memo, 0);
}

/* False: out of memory, or memo->failed. */
static bool queue_fill(struct memo *memo, uint32_t shape, uint32_t domain)
{
        struct gang_scratch *scratch = memo->gang;

        scratch->queue_count = 0;
        for (uint32_t s = 0; s < scratch->sites_count; s++) {
                if (scratch->sites[s].domain != domain)
                        continue;
                if (!memo_room(memo, &scratch->queue, &scratch->queue_room, scratch->queue_count,
                               sizeof *scratch->queue) ||
                    !site_score(memo, shape, &scratch->sites[s]))
                        return false;
                scratch->queue[scratch->queue_count++] = s;
        }
        for (uint32_t at = scratch->queue_count / 2; at-- > 0;)
                queue_sift(memo, at);
        return true;
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
                        const struct step *step =
                                spot_step(memo, memo->look_of[shape], site->spots[d]);
                        if ((used >> d & 1) || !step || step->next == STEP_NEVER)
                                continue;
                        if (step->room > best_room) {
                                best = d;
                                best_room = step->room;
                        }
                }
                if (memo->failed)
                        return;
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
        ret_place->node = site->node;
        take_parts(&tried, &site->move, ret_place);
        tried.left = site_limit(memo, shape, &tried, site->left - 1);
        if (tried.left + 1 < site->left) {
                struct move move;
                safe_move(memo, shape, site, &move);
                if (memo->failed)
                        return;
                memcpy(tried.spots, site->spots, sizeof tried.spots);
                take_parts(&tried, &move, ret_place);
                tried.left = site_limit(memo, shape, &tried, site->left - 1);
                assert(tried.left + 1 == site->left || memo->failed);
        }
        *site = tried;
}

/* One member on the best site; then the site goes back to where it now belongs. */
static void place_member(struct memo *memo, uint32_t shape, const struct form *form,
                         struct gang_place *ret_place)
{
        struct gang_scratch *scratch = memo->gang;
        struct site *site = &scratch->sites[scratch->queue[0]];

        place_on(memo, shape, site, ret_place);
        if (memo->failed)
                return;
        if (form->spread == SPREAD_RACK)        /* replaces what sum_domains entered */
                (void)map_set(&scratch->racks, gang_rack_key(memo, site), RACK_TAKEN);
        if (site->left == 0)
                queue_pop(memo);
        else if (site_score(memo, shape, site))
                queue_sift(memo, 0);
}

static bool is_closed(const struct memo *memo, const struct form *form, uint32_t site)
{
        return form->spread == SPREAD_RACK &&
               map_get(&memo->gang->racks, gang_rack_key(memo, &memo->gang->sites[site])) ==
                       RACK_TAKEN;
}

static int place_in(struct memo *memo, uint32_t shape, const struct form *form, uint32_t domain,
                    struct err *err)
{
        struct gang_scratch *scratch = memo->gang;

        if (!memo_room(memo, &scratch->places, &scratch->places_room, form->members,
                       sizeof *scratch->places))
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        if (!queue_fill(memo, shape, domain))
                memo->failed = true;
        for (uint32_t m = 0; m < form->members && !memo->failed; m++) {
                while (scratch->queue_count > 0 && is_closed(memo, form, scratch->queue[0]))
                        queue_pop(memo);
                assert(scratch->queue_count > 0);
                place_member(memo, shape, form, &scratch->places[m]);
        }
        return memo->failed ? 0 : 1;    /* 0: nothing of this counts, the caller tries again */
}

static int place_at(struct memo *memo, uint32_t shape, const struct form *form,
                    struct gang_right right,
                    enum near_level level, struct err *err)
{
        struct gang_scratch *scratch = gang_scratch_of(memo);

        if (!scratch)
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        for (uint32_t n = 0; n < memo->state->node_slots.high; n++)
                if (!add_sites(memo, scratch, n, shape, form, right, level))
                        return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        if (!gang_sum_domains(memo, scratch, form))
                return err_set(err, ERR_NOMEM, "out of memory while placing a gang");
        uint32_t domain = gang_choose_domain(scratch, form->members);
        return domain == NONE ? 0 : place_in(memo, shape, form, domain, err);
}

/* A preferred level loosens step by step up to the pool. */
int gang_place(struct memo *memo, uint32_t shape, const struct form *form,
               struct gang_right right, const struct gang_place **ret_places, struct err *err)
{
        int rc = 0;

        if (memo->state->workloads[right.slot].nodes_held == 0 &&
            !gang_may_fit(memo, shape, form))
                return 0;
        for (unsigned level = form->near; rc == 0; level++) {
                rc = place_at(memo, shape, form, right, (enum near_level)level, err);
                if (form->near_required || level == NEAR_NONE || level == NEAR_POOL)
                        break;
        }
        if (rc == 1)
                *ret_places = memo->gang->places;
        return rc;
}
