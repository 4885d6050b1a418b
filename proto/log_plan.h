/* log_plan.h - a price plan as the log keeps it, and as a worker tells it: one JSON object.
 *
 * Pure apart from the heap. {"hash":"...","revision":64,"shapes":[{...}],"priced":true,
 * "models_len":4,"core":[8 numbers],"models":[{"model":3,"scarcity":9,"part":[808 numbers],
 * "idle":[136 numbers]}]}. What is 0 is left out, and so are models without prices, and, where
 * nothing is priced, everything behind the shapes.
 */
#pragma once

#include <jansson.h>

struct err;
struct price_plan;
struct text;

void log_plan_write(const struct price_plan *plan, struct text *out);
/* *ret_plan is freed with mem_free(). 0, -ERR_INPUT (no such plan; the sentence names the field),
 * -ERR_RANGE (price_plan_check), -ERR_NOMEM. */
int log_plan_read(json_t *object, struct price_plan **ret_plan, struct err *err);
