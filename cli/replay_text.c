#include "cli/replay_out.h"

#include <inttypes.h>

#include "base/err.h"
#include "proto/scenario.h"

const char *placement_text(const struct policy *policy, char buf[PLACEMENT_TEXT_MAX])
{
        if (policy->kind == POLICY_RANDOM && policy->seed != 1)
                snprintf(buf, PLACEMENT_TEXT_MAX, "%s:%" PRIu64, policy_name(policy->kind),
                         policy->seed);
        else
                snprintf(buf, PLACEMENT_TEXT_MAX, "%s", policy_name(policy->kind));
        return buf;
}

bool replay_has_curve(const struct scenario *scenario, struct err *err)
{
        if (scenario->workload.arrivals == ARRIVALS_SHUFFLED)
                return true;
        if (scenario_is_history(scenario)) {
                err_set(err, ERR_INPUT,
                        "%s: there is no curve to draw of a history; leave --svg out",
                        scenario->file);
                return false;
        }
        err_set(err, ERR_INPUT,
                "%s: there is no curve to draw: poisson arrivals fill the pool to one steady "
                "level; leave --svg out",
                scenario->file);
        return false;
}
