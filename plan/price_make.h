/* price_make.h - from a demand mix and an empty pool to the price table the engine scores with.
 *
 * What free room is worth to the demand still to come: a configuration LP in Lagrangian form
 * (cores of a node kind are priced, not packed), smoothed by entropy. The smoothing `tau` makes
 * the dual unique, so small changes of the demand make small changes of the table; an exact LP
 * jumps between vertices (measured: default list 5.3..6.0 % unallocated, smoothed 3.7 %).
 *
 *   one device:  E[j] = 1 + sum over shares s: p_s exp((v_s - lambda cores_s) / tau) E[j - size_s]
 *   one node:    W[g] = E[100] W[g-1] + sum over wide shapes s: p_s exp(...) W[g - devices_s]
 *   dual:        sum pi_s n_s + sum over kinds N_k (lambda_k cores_k + tau ln W_k[devices_k])
 *                + (core_reward - mu) x CPU-only cores,  lambda_k >= mu >= 0, pi_s >= 0
 * with v_s = devices asked - pi_s, supply n_s and prior p_s from the weights.
 *
 * Floating point, no globals, no threads, no clock: plan side only. The same input in the same
 * order gives the same table; callers sort shapes and kinds by content, never by name.
 * Cost: rounds x kinds x (shapes + 100 x distinct share sizes); node counts do not matter.
 * Measured: 25 ms for the 15 kinds and 91 shapes of openb's default list, 600 rounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct price_kind;
struct price_shape;
struct price_table;
struct price_maker;                     /* opaque, freed by price_maker_free() */

enum { PRICE_ROUNDS_MAX = 100000 };

struct price_options {
        double tau;                     /* smoothing, in devices; 0.003 to 1 */
        double load;                    /* demand planned for / devices of the pool */
        double core_reward;             /* devices a CPU-only core is worth */
        double scarcity;                /* weight of crowded models, devices per device asked */
        double block;                   /* weight of idle blocks kept for wide shapes */
        uint32_t rounds;
        /* Called every 16 rounds if not NULL; returning false cancels. */
        bool (*progress)(void *self, uint32_t round, uint32_t rounds);
        void *progress_self;
};

#define PRICE_OPTIONS_DEFAULT                                                              \
        ((struct price_options){ .tau = 0.0125, .load = 1.05, .core_reward = 0.02,        \
                                 .scarcity = 0.2, .block = 0.10, .rounds = 600 })

struct price_report {
        double bound;                   /* devices: value of the smoothed dual */
        double step;                    /* last change of pi, x supply; below 1 = settled */
};

/* Makes a maker for these node kinds (copied). Returns 0, -ERR_INPUT (a bound of
 * engine/price.h is broken) or -ERR_NOMEM. */
int price_maker_new(const struct price_kind *kinds, size_t kinds_len,
                    struct price_maker **ret_maker, struct err *err);
void price_maker_free(struct price_maker *maker);               /* NULL is fine */

/* Prices the room of the kinds for demand in proportion to the weights of `shapes`. Shapes of
 * weight 0, or that no kind can hold, are ignored. Without any device demand the table is flat
 * (all zero): the engine's tie-break decides.
 * Returns 0, -ERR_INPUT or -ERR_CANCELLED; *ret_table and *ret_report unchanged on failure. */
int price_maker_run(struct price_maker *maker, const struct price_shape *shapes, size_t shapes_len,
                    const struct price_options *options, struct price_table *ret_table,
                    struct price_report *ret_report, struct err *err);
