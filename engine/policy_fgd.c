/* Fragmentation gradient descent, as published (USENIX ATC'23,
 * hkust-adsl/kubernetes-scheduler-simulator): the best place lets the fragments (fragment.h) of the
 * expected demand grow least, in 101 levels. */
#include "engine/fragment.h"
#include "engine/memo_impl.h"
#include "engine/units.h"

/* Level k begins at a fall of 1000 ln(k / (100 - k)) milli: where 100 sigmoid(fall / 1000) = k.
 * In millionths of a milli, k = 1 .. 99. */
static const int64_t level_starts[99] = {
        INT64_C(-4595119850), INT64_C(-3891820298), INT64_C(-3476098690), INT64_C(-3178053830),
        INT64_C(-2944438979), INT64_C(-2751535313), INT64_C(-2586689344), INT64_C(-2442347035),
        INT64_C(-2313634929), INT64_C(-2197224577), INT64_C(-2090741097), INT64_C(-1992430165),
        INT64_C(-1900958761), INT64_C(-1815289967), INT64_C(-1734601055), INT64_C(-1658228077),
        INT64_C(-1585627264), INT64_C(-1516347489), INT64_C(-1450010176), INT64_C(-1386294361),
        INT64_C(-1324925415), INT64_C(-1265666373), INT64_C(-1208311206), INT64_C(-1152679510),
        INT64_C(-1098612289), INT64_C(-1045968555), INT64_C(-994622575),  INT64_C(-944461609),
        INT64_C(-895384047),  INT64_C(-847297860),  INT64_C(-800119300),  INT64_C(-753771802),
        INT64_C(-708185058),  INT64_C(-663294217),  INT64_C(-619039208),  INT64_C(-575364145),
        INT64_C(-532216814),  INT64_C(-489548225),  INT64_C(-447312218),  INT64_C(-405465108),
        INT64_C(-363965377),  INT64_C(-322773392),  INT64_C(-281851152),  INT64_C(-241162057),
        INT64_C(-200670695),  INT64_C(-160342650),  INT64_C(-120144312),  INT64_C(-80042708),
        INT64_C(-40005335),   INT64_C(0),           INT64_C(40005335),    INT64_C(80042708),
        INT64_C(120144312),   INT64_C(160342650),   INT64_C(200670695),   INT64_C(241162057),
        INT64_C(281851152),   INT64_C(322773392),   INT64_C(363965377),   INT64_C(405465108),
        INT64_C(447312218),   INT64_C(489548225),   INT64_C(532216814),   INT64_C(575364145),
        INT64_C(619039208),   INT64_C(663294217),   INT64_C(708185058),   INT64_C(753771802),
        INT64_C(800119300),   INT64_C(847297860),   INT64_C(895384047),   INT64_C(944461609),
        INT64_C(994622575),   INT64_C(1045968555),  INT64_C(1098612289),  INT64_C(1152679510),
        INT64_C(1208311206),  INT64_C(1265666373),  INT64_C(1324925415),  INT64_C(1386294361),
        INT64_C(1450010176),  INT64_C(1516347489),  INT64_C(1585627264),  INT64_C(1658228077),
        INT64_C(1734601055),  INT64_C(1815289967),  INT64_C(1900958761),  INT64_C(1992430165),
        INT64_C(2090741097),  INT64_C(2197224577),  INT64_C(2313634929),  INT64_C(2442347035),
        INT64_C(2586689344),  INT64_C(2751535313),  INT64_C(2944438979),  INT64_C(3178053830),
        INT64_C(3476098690),  INT64_C(3891820298),  INT64_C(4595119850),
};

/* Free compute of a view's devices, ascending (views are sorted by units, which shares with a
 * memory limit may order otherwise), after a move. */
static unsigned free_after(const struct memo *memo, const struct view *view,
                           const struct move *move, uint16_t *ret_free)
{
        for (unsigned i = 0; i < view->count; i++) {
                uint32_t spot = view->spots[i];
                for (unsigned m = 0; move && m < move->count; m++)
                        if (move->at[m] == i)
                                spot = move->next[m];
                uint16_t free = memo->spots[spot].free_milli;
                unsigned at = i;
                for (; at > 0 && ret_free[at - 1] > free; at--)
                        ret_free[at] = ret_free[at - 1];
                ret_free[at] = free;
        }
        return view->count;
}

static int64_t fgd_value(const struct memo *memo, struct class *class)
{
        uint16_t free[NODE_DEVICES_MAX];
        unsigned count = free_after(memo, &class->view, NULL, free);

        return fragment_of(&memo->target, class->view.model, class->view.cpu_free, free, count);
}

static unsigned level_of(const struct memo *memo, int64_t fall)
{
        unsigned low = 0, high = 99;

        while (low < high) {
                unsigned middle = (low + high) / 2;
                if (fall * 1000000 >= level_starts[middle] * memo->target.weight)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static int64_t fgd_level(const struct memo *memo, const struct need *need,
                         const struct class *class, const struct move *move)
{
        uint16_t free[NODE_DEVICES_MAX];
        unsigned count = free_after(memo, &class->view, move, free);
        uint32_t cpu = class->view.cpu_free - need->cpu_milli;

        return level_of(memo, class->value -
                                      fragment_of(&memo->target, class->view.model, cpu, free,
                                                  count));
}

const struct policy_ops policy_fgd = {
        .bucket_milli = 1, .by_name = true, .value = fgd_value, .score = fgd_level};

/* With the tie that recovers the published quality without names: the fuller node. */
static int64_t fgd_compact(const struct memo *memo, const struct need *need,
                           const struct class *class, const struct move *move)
{
        return (fgd_level(memo, need, class, move) << 20) + tie_by_fullness(&class->view);
}

const struct policy_ops policy_fgd_compact = {
        .bucket_milli = 1, .value = fgd_value, .score = fgd_compact};
