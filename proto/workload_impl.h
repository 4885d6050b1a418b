/* workload_impl.h - shared by workload_doc.c (the document) and workload_run.c (how it is run). */
#pragma once

#include "proto/workload_doc.h"

struct workload_reader {
        const struct model_table *models;
        const struct tenancy *tenancy;          /* or NULL */
        struct vocab *vocab;
        struct workload_doc *workload;          /* under construction */
};

/* The fields time_limit, start, checkpoint, after, array, retries, run, service and those of a
 * served model. */
int workload_read_run(struct workload_reader *reader, const struct doc_node *root, struct err *err);
