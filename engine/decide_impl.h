/* decide_impl.h - shared by decide.c (work and queue) and decide_pool.c (nodes, plans, time). */
#pragma once

#include "engine/decide.h"

struct fact *fact_add(struct memo *memo, enum fact_kind kind);  /* NULL: out of memory */
int no_memory(struct err *err);
int release(struct memo *memo, const struct state *state, uint32_t slot, enum release_cause cause,
            struct err *err);
int decide_pool(struct memo *memo, const struct state *state, const struct input *input,
                int64_t now_ms, struct err *err);
