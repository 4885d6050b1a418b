/* objects.h - documents that are kept, and what became of them: a table beside the log.
 *
 * Not pure; threads as store.h says. Every change comes in a batch, in the same commit as the
 * records that it follows from (batch_put_object, batch_set_object), so that table and log never
 * differ. The table `objects` and its views are documented in docs/store.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* X(name, number in the file, word) */
#define OBJECT_KINDS(X)                                                         \
        X(WORKLOAD, 1, "workload")                                              \
        X(POLICY,   2, "policy")        /* each revision */                     \
        X(POOL,     3, "pool")          /* each revision */                     \
        X(TOKEN,    4, "token")                                                 \
        X(NODE,     5, "node")          /* an enrolled agent */                 \
        X(LEFT,     6, "left")          /* a node that left the pool */         \
        X(QUARANTINE, 9, "quarantine")  /* what has crashed the controller */   \
        X(ALERT,   11, "alert")

enum object_kind {
#define X(name, number, word) OBJECT_##name = number,
        OBJECT_KINDS(X)
#undef X
};

/* "workload", or NULL when there is no such kind. */
const char *object_kind_name(unsigned kind);

#define OBJECT_NAME_MAX   255           /* bytes of a text but the body, the NUL not counted */
#define OBJECT_DETAIL_MAX 4095
#define OBJECT_BODY_MAX   (16u << 20)
#define OBJECT_RUNS_MAX   16            /* that a detail lists */

struct object {
        enum object_kind kind;
        uint64_t id;                    /* of its kind; 1 or more */
        const char *tenant, *name, *class, *owner, *state;      /* "" where there is none */
        const char *detail;             /* JSON, the caller's own; "" = none */
        int64_t created_ms, updated_ms;
        int64_t ended_ms;               /* 0: it lives */
        uint64_t seq;                   /* a number of the caller's own; 0 = none */
        const void *body;               /* the document; may be NULL with size 0 */
        size_t size;
};

/* What changes of one that is there; the rest stays. NULL: stays. */
struct object_change {
        enum object_kind kind;
        uint64_t id;
        const char *state, *detail;
        int64_t updated_ms;
        int64_t ended_ms;               /* 0: stays as it is */
        /* Of work that runs again and again: a JSON object, put behind those in the list "runs" of
         * the detail, which is JSON then; "runs_ended" counts all that ever were. The newest
         * OBJECT_RUNS_MAX stay, or fewer, as long as the detail is within its bound. */
        const char *run;
        /* The same kind of object: the next `run` that is put there gets its members, too. A newer
         * one takes its place; a new detail lets go of it. */
        const char *next_run;
        bool keeps_runs;                /* a new detail takes both along */
};

/* Texts and body live in the object's own memory: one piece, freed with mem_free(). */
struct object_copy {
        struct object object;
};

/* 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_NOMEM. */
int objects_get(struct store *store, enum object_kind kind, uint64_t id,
                struct object_copy **ret_copy, struct err *err);

/* The largest number of the kind that was ever given; 0: none. */
int objects_last(struct store *store, enum object_kind kind, uint64_t *ret_id, struct err *err);

struct object_filter {
        enum object_kind kind;
        const char *tenant;             /* NULL: any; else it and all below it */
        const char *name, *class, *owner, *state;       /* NULL: any */
        bool live, ended;               /* which of them; at least one */
        bool oldest_first;
        bool with_body;
        uint64_t after_id;              /* only older (or, oldest first, newer) ones; 0: all */
        uint32_t limit;                 /* 0: all */
};

/* By number; texts live for the call. A visit that returns non-zero ends it, and that is returned.
 * With a limit the cost is that of what is shown, whatever else is kept, for live ones, by name and
 * by tenant; class, owner and state are looked for row by row. 0, -ERR_IO, -ERR_NOMEM. */
typedef int object_visit(void *arg, const struct object *object, struct err *err);
int objects_list(struct store *store, const struct object_filter *filter, object_visit *visit,
                 void *arg, struct err *err);

/* Row by row: all of them, by kind and number, with their bodies. As objects_list. */
int objects_each(struct store *store, object_visit *visit, void *arg, struct err *err);

/* Removes ones that ended before, at most `rows_max`; never the newest of the kind, since the next
 * one's number follows from its own. 1: there may be more; 0: none is left; -ERR_IO, -ERR_NOMEM. A
 * chore (writer.h). */
int objects_forget(struct store *store, enum object_kind kind, int64_t ended_before_ms,
                   uint32_t rows_max, struct err *err);
