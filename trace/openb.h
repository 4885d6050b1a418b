/* openb.h - reads the node and pod lists of the openb trace (GPU sharing, 2023).
 *
 * Not pure (files). One owner at a time. Plain rows in the order of the file:
 * names and numbers, no engine types. Every figure is checked; nothing is
 * guessed or dropped. Units: cores in thousandths (_milli), memory in MiB,
 * times in seconds from the start of the trace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

#define OPENB_FILE_BYTES_MAX (1u << 30)
#define OPENB_ROWS_MAX       8000000    /* of one list */
#define OPENB_NAME_MAX       64         /* bytes of a name, model or qos, the NUL not counted */
#define OPENB_SPEC_MAX       512        /* bytes of gpu_spec */
#define OPENB_GPUS_MAX       16         /* of one node, or of one pod */
#define OPENB_MODEL_MAX      47         /* bytes of a model of a node */
#define OPENB_CPU_MILLI_MAX  4096000    /* 4,096 cores */
#define OPENB_MEMORY_MIB_MAX (64u << 20) /* 64 TiB */
#define OPENB_TIME_S_MAX     1000000000000
#define OPENB_TIME_NONE      INT64_MIN  /* the field is empty, or its column absent */

/* sn,cpu_milli,memory_mib,gpu,model; `sn` is unique. */
struct openb_node {
        const char *name;
        const char *model;      /* "" only where gpu_count is 0 */
        uint32_t cpu_milli;
        uint32_t memory_mib;
        uint32_t gpu_count;     /* 0 to OPENB_GPUS_MAX */
        uint32_t line;          /* of the list */
};

/* name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec,qos,pod_phase,creation_time,
 * deletion_time,scheduled_time] */
struct openb_pod {
        const char *name;
        const char *gpu_spec;   /* allowed models joined by '|'; "" = any */
        const char *qos;        /* "" = not given */
        const char *phase;      /* pod_phase; "" = not given */
        int64_t created_s;      /* or OPENB_TIME_NONE, so too the next two */
        int64_t deleted_s;
        int64_t scheduled_s;
        uint32_t cpu_milli;
        uint32_t memory_mib;
        uint32_t gpu_count;     /* 0 to OPENB_GPUS_MAX */
        uint32_t gpu_milli;     /* of each: 1 to 1000; 1000 when gpu_count > 1; 0 when it is 0 */
};

/* `rows` and all texts belong to the list: until openb_x_done(), which takes a zeroed list too. */
struct openb_nodes {
        struct openb_node *rows;
        size_t count;
        struct arena *arena;
};

struct openb_pods {
        struct openb_pod *rows;
        size_t count;
        struct arena *arena;
};

/* From a file, or from memory under a `name` for the error sentences. At least one row.
 * 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_INPUT, -ERR_RANGE, -ERR_NOMEM; the list is written only on 0. */
int openb_nodes_read(const char *path, struct openb_nodes *ret_nodes, struct err *err);
int openb_nodes_parse(const char *name, const char *bytes, size_t size,
                      struct openb_nodes *ret_nodes, struct err *err);
void openb_nodes_done(struct openb_nodes *nodes);

int openb_pods_read(const char *path, struct openb_pods *ret_pods, struct err *err);
int openb_pods_parse(const char *name, const char *bytes, size_t size,
                     struct openb_pods *ret_pods, struct err *err);
void openb_pods_done(struct openb_pods *pods);
