/* queue_impl.h - the parts of the queue's turn (decide_queue.c): who contends for a place
 * (contend.c), placing (decide_place.c), and plans (decide_room.c). All add facts to the memo's. */
#pragma once

#include "engine/decide_impl.h"
#include "engine/order.h"

/* ---- contend.c ---- */

/* A bucket's first waiter, as far as known: what it brings into the order changes at ticks, and
 * with what the tenants of its tree hold or have waiting. Most buckets stay as they are in most
 * turns. */
struct contending {
        uint64_t epoch, version;        /* memo->contend.epoch and its tree's version; 0: unknown */
        bool may;                       /* it may be tried */
        struct rank rank;
        struct share share;             /* of its tree's root; where it goes by weight */
        struct contender it;
};

/* The best standing that some model would give; STANDINGS_END: none. */
enum standing best_standing(const struct admission *admission);
/* Makes room for what stands by bucket and by shape; first of all. False: out of memory. */
bool contend_room(struct memo *memo, const struct state *state);
/* To be called before buckets are asked, whenever the state may have changed. */
void contend_follow(struct memo *memo, const struct state *state);
/* Whether the bucket's first waiter may be tried: then memo->contending[bucket] is up to date. */
bool contend(struct memo *memo, const struct state *state, uint32_t bucket);
/* The same of one alone in its turn, which is compared with nobody: only memo->contending[].it. */
bool contend_alone(struct memo *memo, const struct state *state, uint32_t bucket);
/* Buckets in memo->open[0 ... count - 1]: whose turn it is comes to the top; then the next one. */
void open_order(struct memo *memo, const struct state *state, uint32_t count);
void open_pop(struct memo *memo, const struct state *state, uint32_t *count);
/* The buckets that may fit, as open_order() leaves them: how many. */
uint32_t contend_collect(struct memo *memo, const struct state *state, const struct input *input,
                         int64_t now_ms);
/* Whether all that waited before this submission is known not to fit. */
bool contend_only_new(const struct memo *memo, const struct state *state,
                      const struct input *input);
/* Where a shape fits nowhere, no bucket of it is looked at until something comes free. */
bool contend_shape_fits(struct memo *memo, const struct state *state, uint32_t shape,
                        int64_t now_ms);

/* ---- decide_place.c ---- */

bool tables_hold_places(const struct state *state, const struct bucket *bucket);
/* One member's place, and what its devices have to be cut into for it. */
int allocate(struct memo *memo, const struct state *state, const struct fact_allocated *place,
             struct err *err);
/* Gives the facts of a start their standing; false: what it would hold is not allowed. */
bool settle_standing(struct memo *memo, const struct state *state, uint32_t bucket);
/* A start on some of the models. 1: facts were added; 0: it does not fit now, or it could not be
 * held there (then memo->refused_late). */
int place_on_some(struct memo *memo, const struct state *state, uint32_t slot, uint64_t models,
                  int64_t now_ms, struct err *err);

/* ---- decide_room.c ---- */

/* A plan whose victims are all gone; NONE. */
uint32_t complete_plan(const struct state *state);
/* ... the beneficiary takes the places kept for it. */
int hand_over(struct memo *memo, const struct state *state, uint32_t plan, int64_t now_ms,
              struct err *err);
/* 1: facts of one plan; 0: nobody finds one. */
int make_room(struct memo *memo, const struct state *state, const struct input *input,
              int64_t now_ms, struct err *err);
