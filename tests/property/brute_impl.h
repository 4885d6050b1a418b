/* brute_impl.h - what the parts of brute share: what may lie where, by the words of need.h,
 * device.h, geometry.h and fact.h alone. */
#pragma once

#include "tests/property/brute.h"

static inline const struct model *brute_model_of(const struct brute *brute,
                                                 const struct brute_node *node)
{
        return model_get(brute->models, node->desc.model);
}

/* Compute and memory that a share takes; false where the model cannot give it. */
bool brute_share_of(const struct model *model, const struct need *need, struct part *ret_part);
/* Whether a part is of the kind that the need asks for, device and neighbours apart. */
bool brute_part_meets(const struct brute *brute, const struct model *model,
                      const struct need *need, const struct part *part);
/* Whether it goes with what lies on the device. */
bool brute_part_lies_well(const struct model *model, const struct brute_device *device,
                          const struct part *part);

/* Whether the node may have a member at all, whatever lies on it. */
bool brute_node_lets_in(const struct brute *brute, const struct brute_node *node,
                        const struct need *need);
/* Members that cores, memory, disk and network are enough for. */
unsigned brute_members_by_node(const struct brute_node *node, const struct need *need,
                               unsigned most);
/* Two members on nodes a and b: is that one domain of the level? A node is one by itself, known
 * or not. Whether they share linked devices is looked at apart. */
bool brute_is_near(const struct node_desc *a, const struct node_desc *b, enum near_level level);
bool brute_is_spread(const struct node_desc *a, const struct node_desc *b, enum spread_level level);
/* Devices that are not linked with others are a group each. */
unsigned brute_group_size(const struct brute_node *node);
