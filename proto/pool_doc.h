/* pool_doc.h - the document `kind: Pool`: planes, nodes, maintenance windows, prices.
 *
 * Node names may be ranges ("gpu-[01-04]", hostlist.h). Names, planes, racks and labels become
 * numbers of the caller's vocabulary, models those of the caller's table, so that a node is what
 * the engine takes. docs/policy.md describes every key for users.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/maintenance.h"
#include "engine/tenancy.h"
#include "engine/vocab.h"

struct doc_node;
struct model_table;

#define POOL_NODES_MAX 100000

#define MAINTENANCE_REASON_MAX 128

struct pool_plane {
        char name[TENANCY_WORD_MAX];
        uint16_t word;                  /* vocabulary */
        bool frozen;                    /* nothing starts, nothing is stopped for capacity */
};

struct pool_doc {
        char name[64];                  /* "" where the document gives none */
        uint32_t planes_count;
        struct pool_plane planes[PLANES_MAX];
        uint32_t nodes_count, nodes_room;
        struct node_desc *nodes;        /* in the order of the document */
        uint32_t *lines;                /* of each node */
        struct maintenance maintenance;         /* of one name: a window for each node named */
        char reasons[MAINTENANCE_MAX][MAINTENANCE_REASON_MAX];  /* of each; "" = not given */
        uint64_t price_micro[MODELS_MAX];       /* millionths a device-hour; 0 = not given */
        char currency[4];               /* "EUR"; "" = not given */
        uint32_t devices[MODELS_MAX];   /* healthy ones, per model */
        uint64_t cpu_milli;             /* of all nodes */
};

/* Reads the root of one document, and the Maintenance documents of the same file.
 * 0, -ERR_INPUT, -ERR_RANGE, -ERR_FULL (vocabulary), -ERR_NOMEM with file:line. *ret_pool is freed
 * by pool_doc_free(). On failure words may have been entered into the vocabulary, nothing else. */
int pool_doc_decode(const struct doc_node *root, const struct model_table *models,
                    struct vocab *vocab, struct pool_doc **ret_pool, struct err *err);
void pool_doc_free(struct pool_doc *pool);      /* NULL is fine */

/* Healthy devices of all models. */
uint32_t pool_doc_devices(const struct pool_doc *pool);
