/* declare.h - work as its document says it shall be: the desired state, by name; or of one
 * workload, with all of its array, or all replicas.
 *
 * A document that is put twice changes nothing the second time. Where none of its name and tenant
 * lives, it is submitted. A service whose only change is its number of replicas gets more of them,
 * or loses its newest; one that lost replicas gets them back. Any other change replaces waiting
 * work in one act: what is new comes last in its class, as any new work does, for else little work
 * sent early would hold a place for large work that is sent late. Work that runs is only replaced
 * where `replace` says so: it is told to stop at once, and what is new waits until there is room.
 * What its owner held, or let go, stays so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct act;
struct err;
struct live;
struct submission;
struct submitted;
struct who;

#define DECLARES(X)                                                             \
        X(NOTHING,   "none")            /* it is as the document says */        \
        X(SUBMITTED, "submitted")                                               \
        X(SCALED,    "scaled")                                                  \
        X(REPLACED,  "replaced")

enum declare {
#define X(name, wire) DECLARE_##name,
        DECLARES(X)
#undef X
        DECLARES_END
};
const char *declare_name(enum declare change);

/* What would be done. */
struct declare_plan {
        enum declare change;
        uint32_t submits;               /* new ones */
        uint32_t there;                 /* that live now, newest first in `ids` */
        uint32_t cancels;               /* the first ones of these */
        bool is_held;                   /* one that is replaced waits for its owner's release */
        uint32_t number;                /* of the document that the new ones join; 0: their own */
        uint64_t *ids;                  /* owned */
};

#define DECLARE_TAG_MAX 20
/* Names the text, for If-Match: 16 digits. */
void declare_tag(const char *text, char ret_tag[DECLARE_TAG_MAX]);

struct declare_wish {
        const struct submission *submission;
        const struct who *who;
        uint64_t id;                    /* one of what is replaced; 0: all of the name */
        const char *tag;                /* of the document that is replaced; NULL: whichever */
        bool replace;                   /* running work, too */
};

/* Decides nothing. 0, -ERR_EXISTS (another document is there than `tag` names; it runs, and
 * replace was not asked for; others wait for it), -ERR_DENIED, -ERR_NOT_FOUND (of another user),
 * -ERR_INPUT, -ERR_IO, -ERR_NOMEM. `ret_plan` is freed with declare_done(). */
int declare_plan(struct live *live, const struct declare_wish *wish, struct declare_plan *ret_plan,
                 struct err *err);
void declare_done(struct declare_plan *plan);           /* a zeroed one is fine */

/* Whether the person's limits have room for what it submits (submit.h): 0 or -ERR_LIMIT. */
int declare_check_limits(struct live *live, const struct declare_wish *wish,
                         const struct declare_plan *plan, struct err *err);

/* Does it, unless -ERR_LIMIT as above: all of it, or (unless -ERR_IO) nothing. */
int declare_decide(struct live *live, struct act *act, const struct declare_wish *wish,
                   const struct declare_plan *plan, struct submitted *ret_submitted,
                   struct err *err);
