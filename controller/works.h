/* works.h - what the controller knows of live workloads beside the engine: whose, and how far.
 *
 * Pure apart from the heap. One thread. Names, owners and documents of the durable ones stand in
 * the store (objects.h); here is what every exchange with an agent needs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct fact;

/* What its owner wants of running work; carried out when its processes are gone. */
#define WISHES(X)                                                               \
        X(NONE,   "none")                                                       \
        X(CANCEL, "cancel")

enum work_wish {
#define X(name, wire) WISH_##name,
        WISHES(X)
#undef X
        WISHES_END
};

/* How far a member of running work is, as its agent last said. */
#define PHASES(X)                                                               \
        X(UNKNOWN,  "unknown")          /* not heard of since the controller started */ \
        X(STARTING, "starting")                                                 \
        X(READY,    "ready")            /* waits for the others of its gang */  \
        X(RUNNING,  "running")                                                  \
        X(EXITED,   "exited")                                                   \
        X(REFUSED,  "refused")          /* cannot be started there */

enum phase {
#define X(name, wire) PHASE_##name,
        PHASES(X)
#undef X
        PHASES_END
};
const char *phase_name(enum phase phase);

struct work_member {
        uint8_t phase;                  /* enum phase */
        bool failed;                    /* EXITED: not with 0; REFUSED */
        bool lost_contact;              /* EXITED: ended without contact, or with its node */
        int32_t exit_code, signal;
        int64_t checkpoint_ms;          /* its newest, on its machine's clock; 0: none was told */
};

struct work {
        uint64_t id;
        uint64_t epoch;                 /* of the record that allocated it; 0: it waits */
        uint64_t placed;                /* that record; 0: it is from a snapshot, and durable */
        uint64_t requeued;              /* record after which it waited again; 0: none */
        int64_t started_ms;
        int64_t simulated_ms;           /* it runs so long on a simulated node; 0: not known */
        char *name, *tenant, *user;     /* owned */
        char *reason;                   /* owned: why it was refused, or ended; NULL: not said */
        uint64_t older, newer;          /* the next ones of its name; 0: none */
        uint32_t document;              /* number of the document: names its array, its group */
        uint32_t stops;
        uint8_t wish;                   /* enum work_wish */
        bool ending;                    /* a member failed, or all are done: the rest is to end */
        bool left_told;                 /* a member left in a notice: that is no failure */
        bool quarantined;               /* how it ended has crashed the controller: not told yet */
        uint16_t failed_first;          /* the member that did, and 1; 0: none, or not known */
        uint16_t members_count;         /* of `members`, while it is placed */
        struct work_member *members;
};

struct works;

struct works *works_new(uint32_t works_max);            /* NULL: out of memory */
void works_free(struct works *works);                   /* NULL is fine */

uint32_t works_count(const struct works *works);
uint32_t works_room(const struct works *works);         /* how many more it takes */
/* NULL: there is none of that number. Pointers live until the next works_add() or works_drop(). */
struct work *works_find(const struct works *works, uint64_t id);
/* The newest live one of that name: an array's tasks and a service's replicas share theirs. */
struct work *works_named(const struct works *works, const char *tenant, const char *name);
/* How many live ones a person has, in the tenant and all below it; "": in all of them. O(1). Told
 * apart by hashes of 64 bits: who would meet in one shares the number. */
uint32_t works_of_person(const struct works *works, const char *user, const char *tenant);
/* Walks all, in no order: start with 0. NULL: the end. */
struct work *works_next(const struct works *works, uint32_t *cursor);

/* 0, -ERR_EXISTS, -ERR_FULL, -ERR_NOMEM. */
int works_add(struct works *works, uint64_t id, const char *tenant, const char *name,
              const char *user, uint32_t document, struct err *err);
void works_drop(struct works *works, uint64_t id);

/* Keeps the first one of a run; where memory is short, none. */
void work_set_reason(struct work *work, const char *reason);
/* Its run as it stood when a snapshot was made. False: out of memory. */
bool works_restore(struct work *work, const struct work *run);

/* What a fact of the engine means for them: runs begin and end. 0 or -ERR_NOMEM. */
struct works_at {
        uint64_t seq, epoch;            /* of its record (numbers.h) */
        int64_t ms;
};
int works_follow(struct works *works, const struct fact *fact, uint32_t members,
                 struct works_at at);
