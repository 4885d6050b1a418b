/* gang.h - placing members that have to look at each other, or at the fabric.
 *
 * All or nothing, and exact: it finds places whenever there are any. Members are
 * alike, so what a node can hold of them is a number, and a gang fits a domain of
 * the fabric when those numbers add up. Then members go one by one to the place
 * the policy likes best, each time leaving room for as many others as there was.
 */
#pragma once

#include "engine/decide.h"

struct asker;
struct memo;
struct gang_scratch;

void gang_scratch_free(struct gang_scratch *scratch);

struct gang_place {
        uint32_t node;
        uint8_t parts_count;
        struct part parts[NODE_DEVICES_MAX];
};

/* Who places: on which device models, whose capacity hold is its own, when it leaves (drain.h). */
struct gang_right {
        uint64_t models;
        uint32_t slot;
        int64_t leaves_ms;
        const struct asker *asker;      /* whom isolate.h may bar; NULL: nobody */
};

/* 1: placed, *ret_places holds form->members places (owned by the memo, until the next call);
 * 0: it does not fit now; -ERR_NOMEM. */
int gang_place(struct memo *memo, uint32_t shape, const struct form *form,
               struct gang_right right, const struct gang_place **ret_places, struct err *err);

/* In a full pool most gangs have room for some members only, which a look at the kinds of nodes
 * there are may show. False: it does not fit now, whoever asks, but for who has nodes held for it.
 * The memo must be up to date. */
bool gang_may_fit(struct memo *memo, uint32_t shape, const struct form *form);

/* Whether the pool as it is described could hold it if nobody else were there; nodes that are down,
 * drained or have broken devices count in full. 1, 0 or -ERR_NOMEM. Needs no interned shape. */
int gang_feasible(struct memo *memo, const struct state *state, const struct need *need,
                  const struct form *form, struct err *err);
/* ... on nodes that are for its tenant, class and data at all (isolate.h). */
int request_feasible(struct memo *memo, const struct state *state, const struct request *request,
                     struct err *err);
