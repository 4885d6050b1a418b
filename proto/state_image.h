/* state_image.h - a whole state as bytes, and back: the body of a snapshot.
 *
 * Pure apart from the heap. What comes back decides exactly as the original does: the same tables
 * with the same numbers, the same free slots in the same order. What follows from the tables (keys,
 * what shapes come to) is worked out anew. The policy in force stands beside it, as its document.
 */
#pragma once

#include <stdbool.h>

#include "engine/state.h"

struct err;
struct tenancy;
struct text;

/* Adds it to `out`, which fails when memory runs out. */
void state_image_write(const struct state *state, struct text *out);

/* Whether a pool may be sized so: beyond it what was read is damaged, and not worth the memory. */
bool state_image_bounds_good(const struct state_bounds *bounds);

/* A state of those bytes; freed by state_free(). `tenancy`: that of the policy in force, as it was
 * (NULL: there was none); it must outlive the state. 0, -ERR_INPUT (no image, or of a newer
 * version), -ERR_RANGE, -ERR_NOMEM. */
int state_image_read(const void *bytes, size_t size, const struct model_table *models,
                     const struct tenancy *tenancy, struct state **ret_state, struct err *err);
