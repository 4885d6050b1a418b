/* engine_policy.h - the policies that a byte can bring into force in fuzz_engine.c.
 *
 * Documents, drawn once (policy_draw.h) and kept for the life of the program: a policy of the same
 * number is the same one in every run.
 */
#pragma once

#include <stdint.h>

struct model_table;
struct tenancy;

/* NULL: none could be drawn for that number. */
const struct tenancy *fuzz_policy(uint8_t number, const struct model_table *models);
