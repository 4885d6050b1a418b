/* The plain policies and the published baselines (facts of the FGD artifact: what each
 * of them ranks by; its authors' constants of 128 cores and 8 devices a node). */
#include "engine/memo_impl.h"
#include "engine/units.h"

#define SCALE_DEVICES 8                 /* a node of 8 devices counts 1 ... */
#define SCALE_CORES   128               /* ... and so do 128 cores */
/* So a milli core weighs as much as 63/8 units: 8 x 126,000 / 128,000. */
#define UNITS_OF_MILLI(milli) \
        ((int64_t)(milli) * (SCALE_DEVICES * UNITS_DEVICE / 1000) / SCALE_CORES)

#define FULL_UNITS    ((int64_t)SCALE_DEVICES * UNITS_DEVICE)
#define FULL_PRODUCT  (FULL_UNITS * FULL_UNITS)

static int64_t cpu_after(const struct need *need, const struct view *view)
{
        return view->cpu_free > need->cpu_milli ? view->cpu_free - need->cpu_milli : 0;
}

static int64_t units_taken(const struct memo *memo, const struct move *move)
{
        int64_t units = 0;

        for (unsigned i = 0; i < move->count; i++)
                units += (int64_t)memo->spots[move->from[i]].free_units -
                         memo->spots[move->next[i]].free_units;
        return units;
}

static int64_t units_after(const struct memo *memo, const struct view *view,
                           const struct move *move)
{
        return view->free_units - units_taken(memo, move);
}

/* Emptier nodes give smaller values; 0 .. 2^20 - 1, for the low bits of a score. */
int64_t tie_by_fullness(const struct view *view)
{
        int64_t load = (UNITS_OF_MILLI(view->cpu_free) + view->free_units) / 64;

        return (1 << 20) - 1 - (load < (1 << 20) - 1 ? load : (1 << 20) - 1);
}

/* ---- first-fit ---- */

static int64_t score_none(const struct memo *memo, const struct need *need,
                          const struct class *class, const struct move *move)
{
        (void)memo, (void)need, (void)class, (void)move;
        return 0;
}

const struct policy_ops policy_first_fit = {
        .bucket_milli = 1000, .by_name = true, .score = score_none};

/* Takes the same path, but index.c draws the node and the device. */
const struct policy_ops policy_random = {.bucket_milli = 1000, .score = score_none};

/* ---- best-fit, worst-fit ---- */

static int64_t score_best(const struct memo *memo, const struct need *need,
                          const struct class *class, const struct move *move)
{
        return -(UNITS_OF_MILLI(cpu_after(need, &class->view)) +
                 units_after(memo, &class->view, move));
}

static int64_t score_worst(const struct memo *memo, const struct need *need,
                           const struct class *class, const struct move *move)
{
        int64_t device = move->count ? memo->spots[move->from[0]].free_units : 0;

        return -score_best(memo, need, class, move) * (UNITS_DEVICE * 2) + device;
}

const struct policy_ops policy_best_fit = {
        .bucket_milli = 1, .by_name = true, .score = score_best};
const struct policy_ops policy_worst_fit = {
        .bucket_milli = 1, .by_name = true, .score = score_worst};

/* ---- dot-product ---- */

static int64_t score_dot(const struct memo *memo, const struct need *need,
                         const struct class *class, const struct move *move)
{
        int64_t cores = UNITS_OF_MILLI(class->view.cpu_free) * UNITS_OF_MILLI(need->cpu_milli);
        int64_t devices = (int64_t)class->view.free_units * units_taken(memo, move);

        /* Both products count 1 at full scale; their mean, in hundredths as the artifact has it. */
        return -((cores + devices + 2 * FULL_PRODUCT / 100 - 1) / (2 * FULL_PRODUCT / 100));
}

const struct policy_ops policy_dot_product = {
        .bucket_milli = 1, .by_name = true, .score = score_dot};

/* ---- packing: a device in use 0..100, an idle one of a used node around 50, an empty node ---- */

static int64_t score_packing(const struct memo *memo, const struct need *need,
                             const struct class *class, const struct move *move)
{
        const struct view *view = &class->view;

        (void)need;
        if (move->count > 0 && !memo->spots[move->from[0]].idle)
                return 100 - memo->spots[move->from[0]].free_milli / 10;
        if (view->idle < view->count)
                return 50 - move->count;
        return 33 - view->count;
}

const struct policy_ops policy_packing = {
        .bucket_milli = 1000, .by_name = true, .score = score_packing};

/* ---- clustering: bands by what the node holds, then least left ---- */

static int64_t score_clustering(const struct memo *memo, const struct need *need,
                                const struct class *class, const struct move *move)
{
        uint32_t held = class->view.held;
        uint32_t mine = need->devices == 0 ? 0 : 1u << need_held(need);
        int64_t band;

        if (held == 0 || mine == 0)
                band = 1;               /* CPU work belongs to no class of devices */
        else if (held == mine)
                band = 3;
        else
                band = held & mine ? 2 : 0;
        return band * UNITS_DEVICE * NODE_DEVICES_MAX * 2 - units_after(memo, &class->view, move);
}

const struct policy_ops policy_clustering = {
        .bucket_milli = 1000, .by_name = true, .wants_held = true, .score = score_clustering};
