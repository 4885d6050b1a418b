/* terms.h - what somebody is told before work is submitted, and while it waits: when it may start,
 * what may stop it and how often that came about, and what it costs.
 *
 * Not pure: reads the live pool. Values are new ones, the caller's.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct live;
struct request;

/* {"p50", "p90", "covered_pct", "foretold"} of waiting work, or null: no reliable estimate. Times
 * are rounded as a tenant sees them (docs/explain.md, V4). */
json_t *terms_eta(const struct live *live, uint32_t slot);
/* The same as milliseconds from now, for lists; null where there is none. `exact`: for who sees the
 * whole pool. */
void terms_eta_spans(const struct live *live, uint32_t slot, bool exact, json_t *row);

/* The estimate for the newest work that asks for the same, of its tenant and class, and waits: a
 * new one would start after it. {"workload", "eta"}, or null. */
json_t *terms_like(const struct live *live, const struct request *request);

/* The class's terms of being stopped, with the rate and the loss that were measured; null: there
 * is no policy. */
json_t *terms_of_class(const struct live *live, const struct request *request);

/* What it costs on each device model of the pool that it may run on; null: no prices are known. */
json_t *terms_price(const struct live *live, const struct request *request);
