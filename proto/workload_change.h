/* workload_change.h - what tells two versions of a Workload document apart.
 *
 * Pure. The tenant is not compared: a document may leave it to whoever submits it.
 */
#pragma once

struct doc_node;

enum workload_change {
        WORKLOAD_SAME,
        WORKLOAD_SCALED,                /* a service with another number of replicas, no more */
        WORKLOAD_CHANGED,
};

#define WORKLOAD_KEYS_MAX 128

/* `before` and `after` are roots of documents that were taken. The top keys that differ are listed
 * in `ret_keys`: "each, retries"; "" where none does. */
enum workload_change workload_compare(const struct doc_node *before, const struct doc_node *after,
                                      char ret_keys[WORKLOAD_KEYS_MAX]);
