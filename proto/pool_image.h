/* pool_image.h - the body of a snapshot: where the log stands, runs, and the state.
 *
 * Pure apart from the heap. In order: the head, the runs (what the controller knows of running work
 * beside the engine), and the state as state_image.h writes it. The policy in force is named by its
 * revision: its document stands in the store (objects.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/image.h"

struct err;
struct model_table;
struct text;

#define POOL_IMAGE_NUMBERS_MAX 256

struct pool_image {
        uint64_t policy_revision;       /* 0: none is in force */
        int64_t now_ms;
        uint32_t models;                /* of the table, those that no table knew included */
        uint32_t numbers_count;         /* 0: it was written before there were any */
        uint64_t numbers[POOL_IMAGE_NUMBERS_MAX];       /* the controller's (numbers.h) */
};

/* A run, by the workload's number; of those that run, or did. */
struct pool_run {
        uint64_t id;
        uint64_t epoch;                 /* 0: it waits */
        int64_t started_ms;
        uint32_t stops;
        uint8_t wish;                   /* the controller's */
        uint16_t members_count;
};

/* More runs than any pool has: for readers that do not know its bounds. */
#define POOL_IMAGE_RUNS_MAX (1u << 22)

/* Models from `models_listed` to image->models are those that no table knew. Every word of the
 * state must stand in the log by then (log_facts_begin). */
void pool_image_write(const struct pool_image *image, const struct model_table *models,
                      uint32_t models_listed, const struct pool_run *runs, size_t runs_count,
                      struct text *out);

/* Reads up to the runs, and adds such models to the table; the state stands next. *ret_runs is
 * freed with mem_free(). 0, -ERR_INPUT, -ERR_RANGE, -ERR_NOMEM. */
int pool_image_read(struct image_in *in, struct model_table *models, uint32_t models_listed,
                    uint32_t runs_max, struct pool_image *ret_image, struct pool_run **ret_runs,
                    size_t *ret_runs_count, struct err *err);
