/* self_check.h - what a plan would leave unallocated, tried on the real engine. */
#pragma once

#include "engine/price.h"
#include "sim/pool.h"

#define SELF_CHECK_NODES_MAX 2000       /* larger pools are tried on a fair sample of their nodes */

struct self_check {
        double priced_pct, plain_pct;   /* left unallocated when 100 % was asked for, mean */
};

/* `with_plain` false leaves the plain figure out (0). Two random sequences of the demand, until as
 * many devices were asked for as there are; by the plan's prices and by FGD on its demand. CPU work
 * that finds no place counts a tenth of what it asks. 0, -ERR_NOMEM or -ERR_CANCELLED (`cancel` may
 * be NULL). */
int self_check_run(const struct replay_pool *pool, const struct price_plan *plan, bool with_plain,
                   const volatile int *cancel, struct self_check *ret_check, struct err *err);
