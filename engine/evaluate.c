/* What it would mean to put one member of a shape on a node of a class. */
#include <assert.h>
#include <string.h>

#include "engine/memo_impl.h"

#define RESIDENT_BONUS (INT64_C(1) << 60) /* staging an artifact costs minutes: above all else */

static const struct need *look_need(const struct memo *memo, uint32_t look)
{
        return &memo->state->shapes[memo->looks[look].shape].need;
}

static bool look_admits(struct memo *memo, uint32_t look, uint32_t kind)
{
        struct look *cache = &memo->looks[look];

        if (kind >= cache->admits_room &&
            !memo_room(memo, &cache->admits, &cache->admits_room, kind, sizeof *cache->admits)) {
                memo->failed = true;
                return false;
        }
        if (cache->admits[kind] == 0)
                cache->admits[kind] = node_admits(memo->state, &memo->kinds[kind].desc,
                                                  look_need(memo, look))
                                              ? 2
                                              : 1;
        return cache->admits[kind] == 2;
}

static void move_add(struct move *move, const struct view *view, unsigned at,
                     const struct step *step)
{
        move->at[move->count] = (uint8_t)at;
        move->from[move->count] = view->spots[at];
        move->next[move->count] = step->next;
        move->parts[move->count] = step->part;
        move->count++;
}

static bool move_uses(const struct move *move, unsigned at)
{
        for (unsigned i = 0; i < move->count; i++)
                if (move->at[i] == at)
                        return true;
        return false;
}

/* Adds to the move the device that scores best with what is in it already. */
static bool extend(struct memo *memo, uint32_t look, const struct class *class, uint32_t barred,
                   struct move *move, int64_t *ret_score)
{
        const struct need *need = look_need(memo, look);
        const struct view *view = &class->view;
        struct move best = {0};
        bool found = false;

        for (unsigned at = 0; at < view->count; at++) {
                /* Equal devices give equal scores: the first one that is not used stands for all.
                 */
                bool same = at > 0 && view->spots[at] == view->spots[at - 1] &&
                            !move_uses(move, at - 1);
                if (same || (barred >> at & 1) || move_uses(move, at))
                        continue;
                const struct step *step = spot_step(memo, look, view->spots[at]);
                if (!step || step->next == STEP_NEVER)
                        continue;
                struct move tried = *move;
                move_add(&tried, view, at, step);
                int64_t score = memo->ops->score(memo, need, class, &tried);
                if (!found || score > *ret_score) {
                        best = tried;
                        *ret_score = score;
                        found = true;
                }
        }
        if (found)
                *move = best;
        return found;
}

/* Idle devices are alike: no search among them. Nobody lies there, so none is barred. */
static bool take_idle(struct memo *memo, uint32_t look, const struct class *class,
                      struct move *move, int64_t *ret_score)
{
        const struct need *need = look_need(memo, look);
        const struct view *view = &class->view;

        if (view->idle < need->devices)
                return false;
        for (unsigned at = 0; at < view->count && move->count < need->devices; at++) {
                if (!memo->spots[view->spots[at]].idle)
                        continue;
                const struct step *step = spot_step(memo, look, view->spots[at]);
                if (!step || step->next == STEP_NEVER)
                        return false;
                move_add(move, view, at, step);
        }
        *ret_score = memo->ops->score(memo, need, class, move);
        return true;
}

/* The common case, one part of one device, without copying moves about. */
static bool take_one(struct memo *memo, uint32_t look, const struct class *class,
                     uint32_t barred, struct move *move, int64_t *ret_score)
{
        const struct need *need = look_need(memo, look);
        const struct view *view = &class->view;
        struct step chosen = {.next = STEP_NEVER};      /* a copy: the table of steps may move */
        unsigned chosen_at = 0;

        for (unsigned at = 0; at < view->count; at++) {
                if ((at > 0 && view->spots[at] == view->spots[at - 1]) || (barred >> at & 1))
                        continue;
                const struct step *step = spot_step(memo, look, view->spots[at]);
                if (!step || step->next == STEP_NEVER)
                        continue;
                struct move tried;
                tried.count = 1;
                tried.at[0] = (uint8_t)at;
                tried.from[0] = view->spots[at];
                tried.next[0] = step->next;
                tried.parts[0] = step->part;
                int64_t score = memo->ops->score(memo, need, class, &tried);
                if (chosen.next == STEP_NEVER || score > *ret_score) {
                        chosen = *step;
                        chosen_at = at;
                        *ret_score = score;
                }
        }
        if (chosen.next != STEP_NEVER)
                move_add(move, view, chosen_at, &chosen);
        return chosen.next != STEP_NEVER;
}

/* Cores are floored to the bucket: a node of the class may have almost one bucket more. */
static bool cores_may_do(const struct memo *memo, const struct need *need, uint32_t cpu_free)
{
        return need->cpu_milli <= (uint64_t)cpu_free + memo->ops->bucket_milli - 1;
}

bool may_fit(struct memo *memo, uint32_t look, const struct brief *brief)
{
        const struct need *need = look_need(memo, look);

        if (!cores_may_do(memo, need, brief->cpu_free))
                return false;
        if (need->ask == ASK_WHOLE && brief->idle < need->devices)
                return false;
        if (need->ask == ASK_SHARE && brief->most_milli < need->share_milli)
                return false;
        return look_admits(memo, look, brief->kind);
}

bool evaluate(struct memo *memo, uint32_t look, const struct class *class, uint32_t barred,
              int64_t *ret_key, struct move *ret_move)
{
        const struct need *need = look_need(memo, look);
        const struct view *view = &class->view;
        int64_t score = 0;

        ret_move->count = 0;
        if (!cores_may_do(memo, need, view->cpu_free) || !look_admits(memo, look, view->kind))
                return false;
        if (need->devices == 0)
                score = memo->ops->score(memo, need, class, ret_move);
        else if (need->ask == ASK_WHOLE && !take_idle(memo, look, class, ret_move, &score))
                return false;
        else if (need->ask != ASK_WHOLE && need->devices == 1 &&
                 !take_one(memo, look, class, barred, ret_move, &score))
                return false;
        else if (need->ask != ASK_WHOLE && need->devices > 1)
                while (ret_move->count < need->devices)
                        if (!extend(memo, look, class, barred, ret_move, &score))
                                return false;
        if (need->artifact &&
            (memo->kinds[view->kind].desc.artifacts >> (need->artifact - 1) & 1))
                score += RESIDENT_BONUS;
        *ret_key = score;
        return true;
}

/* One option of one device, all as likely. */
static bool draw_part(struct memo *memo, uint32_t look, const struct view *view, unsigned at,
                      uint64_t draw, struct move *move)
{
        const struct spot *spot = &memo->spots[view->spots[at]];
        const struct model *model = model_get(memo->state->models, spot->model);
        struct device_state after = spot->state;
        struct part options[PART_OPTIONS_MAX];
        uint8_t model_id = spot->model;
        struct part_fit fit;

        if (!shape_fit(memo->state, look_need(memo, look), model_id, &fit))
                return false;
        unsigned count = part_options(model, &after, &fit, options);
        if (count == 0)
                return false;
        struct step step = {.part = options[draw % count]};
        device_take(model, &after, &step.part);
        step.next = spot_intern(memo, model_id, &after);
        move_add(move, view, at, &step);
        return step.next != 0;
}

bool draw_move(struct memo *memo, uint32_t look, const struct class *class, uint32_t barred,
               uint64_t draw, struct move *ret_move)
{
        const struct view *view = &class->view;
        unsigned need = look_need(memo, look)->devices;

        ret_move->count = 0;
        while (ret_move->count < need) {
                unsigned fitting[NODE_DEVICES_MAX], count = 0;
                for (unsigned at = 0; at < view->count; at++) {
                        const struct step *step = spot_step(memo, look, view->spots[at]);
                        if (step && step->next != STEP_NEVER && !(barred >> at & 1) &&
                            !move_uses(ret_move, at))
                                fitting[count++] = at;
                }
                draw = map_mix(draw + 1);
                if (count == 0 || !draw_part(memo, look, view, fitting[draw % count],
                                             map_mix(draw), ret_move))
                        return false;
        }
        return true;
}
