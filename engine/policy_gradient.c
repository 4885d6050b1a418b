/* The workload-blind gradient: the place where the smallest variety of future parts is lost.
 *
 * A device is as fragmented as its free room is useless for parts of each size: for cut devices
 * over the model's profiles, otherwise over tenths of a device. In thousandths, with an idle device
 * as 0. Among equals the fuller node, which keeps whole nodes idle for wide work. */
#include "engine/memo_impl.h"
#include "engine/units.h"

static int32_t share_fragment(unsigned free_milli)
{
        int32_t sum = 0;

        for (unsigned size = 100; size <= SHARE_WHOLE; size += 100)
                sum += (int32_t)(free_milli % size);
        return sum;
}

static int32_t cut_fragment(const struct model *model, struct slice_state slices)
{
        return slice_fragment(model, slices) * SHARE_WHOLE / model->memory_slices;
}

int32_t gradient_fragment(const struct model *model, const struct device_state *state)
{
        struct slice_state slices = state->slices;
        bool by_profiles = state->mode == DEVICE_SLICED ||
                           (state->mode == DEVICE_FREE && model->cut != MODEL_PLAIN);

        if (by_profiles) {
                slices.slots |= state->foreign_slots;
                return cut_fragment(model, slices) -
                       cut_fragment(model, (struct slice_state){0});
        }
        unsigned free = state->mode == DEVICE_WHOLE ? 0u
                                                    : (unsigned)SHARE_WHOLE -
                                                              state->share_taken_milli;
        return share_fragment(free) - share_fragment(SHARE_WHOLE);
}

static int64_t score_gradient(const struct memo *memo, const struct need *need,
                              const struct class *class, const struct move *move)
{
        int64_t growth = 0;

        (void)need;
        for (unsigned i = 0; i < move->count; i++) {
                const struct spot *before = &memo->spots[move->from[i]];
                const struct spot *after = &memo->spots[move->next[i]];
                growth += after->fragment - before->fragment;
        }
        return -growth * (1 << 20) + tie_by_fullness(&class->view);
}

/* Starts of one profile on one device: least fragments, then the highest start. */
int64_t option_by_gradient(const struct model *model, const struct part *part,
                               const struct device_state *after)
{
        return (int64_t)gradient_fragment(model, after) * SLOTS_MAX - part->start;
}

const struct policy_ops policy_gradient = {
        .bucket_milli = 1000, .score = score_gradient, .option = option_by_gradient};
