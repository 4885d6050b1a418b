/* workload_doc.h - the document `kind: Workload`: a job or a service.
 *
 * What the engine places becomes a struct request, with names as numbers of the caller's
 * vocabulary; the rest stands beside it. docs/policy.md describes every key for users.
 */
#pragma once

#include <stdbool.h>

#include "engine/need.h"
#include "engine/tenancy.h"

struct arena;
struct doc_node;
struct model_table;
struct vocab;

#define WORKLOAD_NAME_MAX    64
#define WORKLOAD_AFTER_MAX   32
#define WORKLOAD_ARRAY_MAX   10000      /* tasks of one array */
#define WORKLOAD_RETRIES_MAX 100
#define WORKLOAD_WORDS_MAX   1024       /* of a command; and of variables, secrets */
#define WORKLOAD_TEXT_MAX    32768      /* one word of a command, one value */
#define WORKLOAD_SECRET_MAX  128        /* bytes of a secret's name */

struct workload_run {
        uint32_t command_count, env_count, secrets_count;
        const char **command;           /* argv; count 0: the agent's default */
        const char **env_names, **env_values;
        const char **secrets;           /* names, never values */
        const char *workdir, *image;    /* NULL = not given */
};

struct workload_checkpoint {
        int64_t every_ms;               /* 0 = none is made by itself */
        int64_t within_ms;              /* after the signal it is durable in so much time */
        char signal[16];                /* "USR1"; "" = no signal */
};

struct workload_service {
        uint32_t replicas;              /* each of `request.form.members` */
        uint16_t port;
        char ready[128];                /* path asked for readiness; "" = the port is open */
};

struct workload_doc {
        char name[WORKLOAD_NAME_MAX];
        char tenant[TENANT_PATH_MAX];
        char class_name[TENANCY_WORD_MAX];      /* "" = the policy's default */
        char data[TENANCY_WORD_MAX];            /* data label; "" = none */
        bool is_service, is_spare, is_held;     /* is_spare: by choice; is_held: until released */
        uint8_t method;                         /* a method the user names, or CLASS_METHODS */
        uint8_t spread;                         /* enum spread_level: replicas too */
        uint64_t models;                        /* wanted ones; all ones = any */
        struct request request;                 /* settled; its id and priority are the caller's */
        int64_t time_limit_ms;                  /* 0 = the class's */
        int64_t start_ms;                       /* not before; 0 = at once */
        bool has_checkpoint;
        struct workload_checkpoint checkpoint;
        uint32_t after_count;
        char after[WORKLOAD_AFTER_MAX][WORKLOAD_NAME_MAX];
        uint32_t array_first, array_last;       /* both 0: no array */
        uint32_t array_at_once;                 /* 0 = as many as fit */
        uint32_t retries;
        struct workload_run run;
        struct workload_service service;
        char artifact[160];                     /* "name@digest"; "" = none */
        uint32_t context_tokens, active_tokens; /* served; 0 = not given */
        struct arena *arena;                    /* of run's texts */
};

/* 0, -ERR_INPUT, -ERR_RANGE, -ERR_NOT_FOUND, -ERR_FULL (vocabulary), -ERR_NOMEM with file:line.
 * `tenancy` may be NULL, for what was taken before; else tenant, class and data label must be in
 * it, and secrets have names that a node may hold. *ret_workload is freed by workload_doc_free().
 */
int workload_doc_decode(const struct doc_node *root, const struct model_table *models,
                        const struct tenancy *tenancy, struct vocab *vocab,
                        struct workload_doc **ret_workload, struct err *err);
void workload_doc_free(struct workload_doc *workload);  /* NULL is fine */

/* Whether a secret may be called so: letters, digits, '_', '-', and '.', which is not the first.
 * Nodes have it as the name of a file. */
bool workload_is_secret(const char *name);
