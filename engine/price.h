/* price.h - the words that a price plan (made by plan/) and the engine share.
 *
 * Plain data, integers only; 1 device = UNITS_DEVICE. A plan is an input: what work
 * is expected (the demand) and, where the plan's self-check predicts a gain, what
 * the free room of a node is worth for it. Nothing here depends on names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/units.h"

struct err;

enum {
        PRICE_SHAPES_MAX = 512,
        PRICE_KINDS_MAX = 256,
        PRICE_MODELS_MAX = 64,
        PRICE_DEVICES_MAX = 16,         /* devices of one node */
        PRICE_LEVELS = 8,               /* core prices a table holds: one 32-byte line */
        PRICE_STEPS = 100,              /* a device is cut into 100 steps of 10 milli */
        PRICE_STEP_MILLI = 10,
        PRICE_BUCKET_MILLI = 1000,      /* free cores are floored to this before pricing */
        PRICE_UNITS_MAX = 1000 * UNITS_DEVICE,  /* of one price, with either sign */
};
#define PRICE_WEIGHT_MAX (UINT64_C(1) << 56)    /* all shapes of a demand together */

/* What one member asks for. devices 0: CPU work, share_milli 0. devices 1: share_milli 1..1000 of
 * one device. devices > 1: whole devices, share_milli 1000. models: bit m = may run on model m.
 * weight: how often it was seen or is expected. */
struct price_shape {
        uint32_t cpu_milli;
        uint16_t share_milli;
        uint8_t devices;
        uint64_t models;
        uint64_t weight;
};

/* `nodes` equal empty nodes: a device model, how many devices, how many cores. */
struct price_kind {
        uint8_t model;
        uint8_t devices;
        uint32_t cpu_milli;
        uint32_t nodes;
};

/* Prices of one device model. Levels are innermost: one line holds all of them. */
struct price_model {
        int32_t part[PRICE_STEPS + 1][PRICE_LEVELS];         /* device with m x 10 milli free */
        int32_t idle[PRICE_DEVICES_MAX + 1][PRICE_LEVELS];   /* g wholly idle devices */
        int32_t scarcity;                                    /* per device asked */
};

/* Value of a node of model M with c free buckets of cores, g idle devices and partly used devices
 * with m_i steps free:  min over l of  core[l] c + M.idle[g][l] + sum over i of M.part[m_i][l]. */
struct price_table {
        uint32_t models_len;
        int32_t core[PRICE_LEVELS];                          /* price of one bucket of cores */
        struct price_model models[PRICE_MODELS_MAX];
};

/* The input "demand plan set". */
struct price_plan {
        uint64_t hash;                  /* of demand, pool and maker: names the plan */
        uint64_t revision;              /* grows: arrivals that the demand was learnt from */
        int64_t made_ms;                /* Unix time; 0: it is not said */
        bool priced;                    /* false: demand only, and `auto` does without prices */
        uint32_t shapes_count;          /* the demand, in canonical order; 0 = not known */
        struct price_shape shapes[PRICE_SHAPES_MAX];
        struct price_table table;       /* where priced */
};

/* 0, or -ERR_RANGE: more shapes, models or weight than there may be, or prices beyond their bound.
 * Asked before a plan is taken (decide_pool.c); a snapshot is, too. */
int price_plan_check(const struct price_plan *plan, struct err *err);
