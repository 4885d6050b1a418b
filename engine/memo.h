/* memo.h - what decide() remembers between calls: indexes, scores, scratch.
 *
 * Outside the state and its hash: it may be dropped and made anew at any time,
 * and the same facts come out. decide() brings it up to the state it is called with; given another
 * state, it forgets the first. One owner at a time.
 *
 * Nodes in equal condition form a class and share one score. Every shape keeps a
 * heap of scored classes; a decision looks at the top and at the classes that
 * came up since the shape was last asked for. So its cost hardly grows with nodes.
 */
#pragma once

#include <stddef.h>

#include "engine/policy.h"

enum memo_mode {
        MEMO_INDEXED,
        MEMO_SCAN, /* looks at every node each time: the slow, plain truth for tests and benches */
};

struct memo;

struct memo *memo_new(struct policy policy, enum memo_mode mode);       /* NULL: out of memory */
void memo_free(struct memo *memo);                                      /* NULL is fine */

size_t memo_bytes(const struct memo *memo);     /* held by its tables, about */
