/* event_text.h - a fact as an event: one JSON object, with names instead of numbers.
 *
 * Pure apart from the heap. The same fact gives the same bytes, whether it was decided just now or
 * is read from the log: what stood only in the state of that time (a plan's beneficiary, a tenant's
 * number) is left out. docs/events.md lists the members for users.
 *
 * Two views: that of who may see the whole pool, and that of the tenant whose work the fact is of.
 * The second one holds nothing of others: no plan, no victims, no node that is not held yet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/fact.h"

struct model_table;
struct text;
struct vocab;

enum event_view { EVENT_ALL, EVENT_OWN, EVENT_VIEWS_END };

/* What the fact itself does not say. */
struct event_about {
        int64_t at_ms;
        const char *name, *tenant, *user;       /* of its workload; NULL: not known any more */
        const char *node;                       /* NULL: it has none, or that is not known */
        const struct vocab *vocab;
        const struct model_table *models;
};

/* The workload it is of, and the number of its node; 0 and UINT32_MAX: it is of none. */
uint64_t event_workload(const struct fact *fact);
uint32_t event_node(const struct fact *fact);

/* Whether the tenant whose work it is of sees it, and whether that differs from the whole. */
bool event_is_own(const struct fact *fact);
bool event_has_more(const struct fact *fact);

/* Adds the object. Out of memory fails the text. */
void event_write(const struct fact *fact, const struct event_about *about, enum event_view view,
                 struct text *text);
