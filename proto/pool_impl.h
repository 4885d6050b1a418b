/* pool_impl.h - the inside of pool_doc.h, for proto/pool_*.c only. */
#pragma once

#include "proto/pool_doc.h"

/* The word of one of the pool's planes; an absent node leaves it as it is. */
int pool_find_plane(const struct pool_doc *pool, const struct doc_node *node, uint16_t *ret_plane,
                    struct err *err);
/* `drained` and `drain_by` of a node. */
int pool_read_drain(const struct doc_node *map, struct node_desc *desc, struct err *err);

/* maintenance: [{name, plane or nodes, from, until, every, last}], after planes and nodes; and the
 * Maintenance documents of the same file. */
int pool_read_maintenance(struct pool_doc *pool, const struct doc_node *root, struct vocab *vocab,
                          struct err *err);
