#include "plan/self_check.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/decide.h"
#include "engine/units.h"
#include "sim/rng.h"

#define SEQUENCES     2
#define SEED          0x62657274        /* its own, so that no replay meets the same sequence */
#define CPU_WORK_PART 0.1

/* A demand that hardly asks for devices is tried for so many arrivals a device, not to the end. */
#define ARRIVALS_PER_DEVICE 64

struct trial {
        const struct replay_pool *pool;
        const struct price_plan *plan;
        struct state *state;
        struct memo *memo;
        uint64_t capacity_milli, asked_milli, given_milli;
        uint64_t cores_asked, cores_given;      /* milli, of CPU work */
};

static struct need need_of(const struct price_shape *shape)
{
        struct need need = {.models = shape->models,
                            .cpu_milli = shape->cpu_milli,
                            .devices = shape->devices};

        if (shape->devices == 0) {
                need.models = UINT64_MAX;
        } else if (shape->share_milli == SHARE_WHOLE) {
                need.ask = ASK_WHOLE;
        } else {
                need.ask = ASK_SHARE;
                need.share_milli = shape->share_milli;
        }
        return need;
}

static void see_placed(void *arg, const struct fact *fact)
{
        if (fact->kind == FACT_ALLOCATED)
                *(bool *)arg = true;
}

static int arrive(struct trial *trial, const struct price_shape *shape, uint64_t id,
                  struct err *err)
{
        struct input input = {.kind = INPUT_SUBMITTED,
                              .request = {.workload = id,
                                          .need = need_of(shape),
                                          .form = {.members = 1},
                                          .once = true}};
        uint64_t milli = need_milli(&input.request.need);
        bool placed = false;
        int rc = engine_run(trial->state, trial->memo, &input, 0, see_placed, &placed, err);

        trial->asked_milli += milli;
        trial->given_milli += placed ? milli : 0;
        if (shape->devices == 0) {
                trial->cores_asked += shape->cpu_milli;
                trial->cores_given += placed ? shape->cpu_milli : 0;
        }
        return rc;
}

static int arrive_all(struct trial *trial, uint64_t seed, const volatile int *cancel,
                      struct err *err)
{
        const struct price_plan *plan = trial->plan;
        uint64_t weights[PRICE_SHAPES_MAX];
        struct rng rng;
        int rc = 0;

        for (uint32_t s = 0; s < plan->shapes_count; s++)
                weights[s] = plan->shapes[s].weight;
        rng_init(&rng, seed);
        uint64_t last = (uint64_t)trial->pool->devices * ARRIVALS_PER_DEVICE;

        for (uint64_t id = 1;
             rc == 0 && id <= last && trial->asked_milli < trial->capacity_milli; id++) {
                size_t pick = rng_weighted(&rng, weights, plan->shapes_count);
                rc = arrive(trial, &plan->shapes[pick], id, err);
                if (cancel && *cancel)
                        rc = err_set(err, ERR_CANCELLED, "stopped while a plan was tried");
        }
        return rc;
}

static double left_pct(const struct trial *trial)
{
        double left = 100.0 - 100.0 * (double)trial->given_milli / (double)trial->capacity_milli;

        if (trial->cores_asked > 0)
                left += CPU_WORK_PART * 100.0 *
                        (double)(trial->cores_asked - trial->cores_given) /
                        (double)trial->cores_asked;
        return left;
}

static int try_once(const struct replay_pool *pool, const struct price_plan *plan, uint64_t seed,
                    const volatile int *cancel, double *ret_left_pct, struct err *err)
{
        struct trial trial = {.pool = pool,
                              .plan = plan,
                              .capacity_milli = (uint64_t)pool->devices * SHARE_WHOLE};
        struct input input = {.kind = INPUT_PLAN_SET, .plan = plan};
        int rc = 0;

        trial.state = replay_state_new(pool, 1, err);
        trial.memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);
        if (!trial.state || !trial.memo)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0)
                rc = engine_run(trial.state, trial.memo, &input, 0, NULL, NULL, err);
        if (rc == 0)
                rc = arrive_all(&trial, seed, cancel, err);
        if (rc == 0)
                *ret_left_pct += left_pct(&trial) / SEQUENCES;
        memo_free(trial.memo);
        state_free(trial.state);
        return rc;
}

/* Every k-th node of the canonical order: all kinds in proportion. */
static int sample(const struct replay_pool *pool, struct replay_pool *ret_sample, struct err *err)
{
        uint32_t stride = (pool->nodes_count + SELF_CHECK_NODES_MAX - 1) / SELF_CHECK_NODES_MAX;

        *ret_sample = (struct replay_pool){.models = pool->models};
        ret_sample->nodes = mem_new(SELF_CHECK_NODES_MAX, sizeof *ret_sample->nodes);
        if (!ret_sample->nodes)
                return err_set(err, ERR_NOMEM, "out of memory");
        for (uint32_t n = 0; n < pool->nodes_count; n += stride) {
                ret_sample->nodes[ret_sample->nodes_count++] = pool->nodes[n];
                ret_sample->devices += pool->nodes[n].devices;
        }
        return 0;
}

int self_check_run(const struct replay_pool *pool, const struct price_plan *plan, bool with_plain,
                   const volatile int *cancel, struct self_check *ret_check, struct err *err)
{
        struct price_plan *plain = mem_new(1, sizeof *plain);
        struct replay_pool few = {0};
        struct self_check check = {0};
        int rc = plain ? sample(pool, &few, err) : err_set(err, ERR_NOMEM, "out of memory");

        for (uint64_t i = 0; rc == 0 && few.devices > 0 && i < SEQUENCES; i++) {
                *plain = *plan;
                plain->priced = true;
                rc = try_once(&few, plain, SEED + i, cancel, &check.priced_pct, err);
                plain->priced = false;
                if (rc == 0 && with_plain)
                        rc = try_once(&few, plain, SEED + i, cancel, &check.plain_pct, err);
        }
        if (rc == 0)
                *ret_check = check;
        replay_pool_done(&few);
        mem_free(plain);
        return rc;
}
