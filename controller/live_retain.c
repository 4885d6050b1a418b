/* What is kept for how long: by the policy, and where that says nothing, as berthd was started. */
#include "controller/live.h"

#include "proto/policy_doc.h"
#include "store/retain.h"
#include "store/rollup.h"

_Static_assert(RETENTION_DAYS_MAX <= RETAIN_DAYS_MAX, "what a policy may say can be done");
_Static_assert(RETENTION_MONTHS_MAX <= RETAIN_MONTHS_MAX, "... of months, too");
_Static_assert(RETENTION_MONTHS_MIN <= ROLLUP_MONTHS, "what is usual may be said");

struct retention live_retention(const struct live *live)
{
        const struct policy_doc *policy = core_policy(live->core);

        return policy ? retention_over(&policy->retention, &live->keeps) : live->keeps;
}

/* The chore begins when all that was decided before is durable: a policy that never will be removes
 * nothing. */
int live_retain(struct live *live, struct err *err)
{
        const struct retention keeps = live_retention(live);

        return core_retain(live->core, keeps.spans[RETENTION_RECORDS],
                           keeps.spans[RETENTION_ENDED], keeps.spans[RETENTION_REVIEW], err);
}
