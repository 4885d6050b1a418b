/* queue_impl.h - the parts of the queue's turn (decide_queue.c): who contends for a place
 * (contend.c), placing (decide_place.c), and plans (decide_room.c). All add facts to the memo's. */
#pragma once

#include "engine/decide_impl.h"
#include "engine/order.h"

/* ---- contend.c ---- */

/* The best standing that some model would give; STANDINGS_END: none. */
enum standing best_standing(const struct admission *admission);
/* Whether the bucket's first waiter may be tried. One alone in its turn is compared with nobody. */
bool contend(struct memo *memo, const struct state *state, uint32_t bucket, bool alone,
             struct contender *ret_contender);
/* memo->open[0 ... count - 1] as a heap: whose turn it is comes first. */
void open_order(struct memo *memo, const struct state *state, uint32_t count);
void open_pop(struct memo *memo, const struct state *state, uint32_t *count);

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
