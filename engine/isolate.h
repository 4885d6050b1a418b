/* isolate.h - what may lie beside what: trust, classes and data kept apart, planes, spread.
 *
 * Pure. The rules are those of the policy in force; nothing here knows about room.
 *
 *   trust    work that holds a share of a device lies there only with shares of tenants whose trust
 *            domains may mix with its own. Slices are parted by the hardware, whole devices are
 *            nobody else's: no domain matters there
 *   apart    classes, and work of other data labels (of none as well), are kept off the same
 *            device, or off the same node; both ways
 *   planes   a class, a tenant and a data label may name the planes they use: a node of no plane is
 *            then not among them. A data label may ask for labels of the node, too
 *   spread   workloads of one group (replicas of a service) on different nodes, or racks
 *
 * A placement lock counts like work that lies there: it will. Members of one workload never bar
 * each other; `spread` between them is their form's (gang.h).
 */
#pragma once

#include "engine/state.h"
#include "engine/tenancy.h"

/* What the rules of a policy come to: most questions end here. Part of its accounts. */
struct isolation {
        bool any;                       /* of what follows, or classes apart, planes, nodes */
        bool trusts;                    /* some tenants' shares may not lie with some others' */
        bool labels;                    /* some data label keeps others off */
        uint16_t planes[PLANES_MAX];    /* the tenancy's planes as words of the state; 0: no node
                                         * has had it */
};

void isolation_make(const struct tenancy *tenancy, struct isolation *ret_isolation);
/* For state_apply() only: a plane's word may be new, or the policy is. */
void isolation_follow(struct state *state);

/* Who asks for a place. */
struct asker {
        uint32_t slot;                  /* NONE: a request that is not queued */
        uint16_t tenant, class, data;   /* data: label + 1 */
        uint32_t group;
        uint8_t spread;                 /* within the group */
        bool shares;                    /* it may take a share, and trust matters */
        bool kinds;                     /* some nodes are never for it */
        bool holders;                   /* who lies there matters */
        bool only_shares;               /* ... as far as it holds shares */
        uint64_t planes;                /* that it may use, of the tenancy; all ones: all */
};

/* False: nothing bars it from anywhere, and there is no need to ask. */
bool asker_of_slot(const struct state *state, uint32_t slot, struct asker *ret_asker);
/* `request` as it would be queued: see rights.h. */
bool asker_of_request(const struct state *state, const struct request *request,
                      struct asker *ret_asker);

#define BARRED_NODE UINT32_MAX

/* The devices of the node that it may not use now (bit = device), or BARRED_NODE. */
uint32_t isolation_bars(const struct state *state, const struct asker *asker, uint32_t node);

/* ... in parts, for who asks what would be if some were gone: whether nodes like this one are for
 * it at all; whether the node is, whatever ends there; and what one placed member bars. */
bool isolation_admits_kind(const struct state *state, const struct asker *asker,
                           const struct node_desc *desc);
bool isolation_admits(const struct state *state, const struct asker *asker, uint32_t node);
uint32_t isolation_member(const struct state *state, const struct asker *asker, uint32_t member);
