/* contact.h - what may still run where nobody hears of it, or on devices that broke.
 *
 * Pure. A place is only given away with proof that what was there has ended: a class that stops at
 * its lease has ended with it (NODE_DOWN, NODE_SILENT), one that continues has not (NODE_SILENT),
 * until the node is back, or somebody says that it is off (NODE_DOWN). Of a gang every member
 * counts: it keeps all its places until the last one has ended, and then it is LOST.
 */
#pragma once

#include <stdbool.h>

#include "engine/state.h"

/* Whether the placed workload goes on where nobody hears of it: as its class said when it started.
 * Its agents were told so then, and one that is silent hears of no other policy. Without a policy
 * it stops: what is lost then is started again. */
bool workload_continues(const struct state *state, const struct workload *workload);

/* Of a placed member: its node is there; or is silent, and its class lets it continue. */
bool member_may_run(const struct state *state, const struct member *member);

/* Whether nothing of the placed workload may run once the node is down, or silent. */
bool workload_ends_with(const struct state *state, const struct workload *workload, uint32_t node,
                        bool is_silent);

/* Whether a part of the placed workload is lost: a member may not run, or has a device that broke.
 * What is left of it is to be ended. */
bool workload_is_torn(const struct state *state, const struct workload *workload);

/* Whether a member of it is on a node that nobody hears of. */
bool workload_is_silent(const struct state *state, const struct workload *workload);

/* Bit d: the placed member has a part of device d of its node. */
uint32_t member_devices(const struct state *state, const struct member *member);
/* Bit d: somebody has a part of device d of the node. One that is broken stays so until then. */
uint16_t node_devices_held(const struct state *state, uint32_t node);
