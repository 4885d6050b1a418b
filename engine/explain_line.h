/* explain_line.h - the queue's order, for whoever asks about many waiters at once.
 *
 * The same as order_before() says (tests/property/explain.c), of ranks and shares (order.h,
 * accounts.h); but what does not change between two waiters is looked up once: of each bucket its
 * rank, of each tenant and set of models what it and those above it borrowed.
 */
#pragma once

#include "engine/explain_impl.h"

struct chain;

struct line_up {
        struct explainer *x;
        const struct asking *asking;
        uint64_t present;               /* models of which something is up */
        struct map chain_of;            /* (tenant, models) */
        struct chain *chains;
        uint32_t chains_room;
        bool failed;
};

struct key {
        struct rank rank;
        uint32_t chain;                 /* where its class goes by weight */
};

struct place_in_line {
        struct key key;
        struct waiter waiter;
};

struct key key_of(struct line_up *line, uint32_t bucket);
/* Below 0: a goes before b, whoever of them it is. */
int compare_keys(const struct line_up *line, const struct key *a, const struct key *b);
bool place_before(const struct line_up *line, const struct place_in_line *a,
                  const struct place_in_line *b);

void line_up_init(struct line_up *line, struct explainer *x, const struct asking *asking);
void line_up_done(struct line_up *line);
