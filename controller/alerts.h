/* alerts.h - what somebody should be told of, as objects: raised, acknowledged, resolved.
 *
 * Not pure: they are kept in the store, beside a note in the log for each change, and posted to a
 * webhook. One thread: that of the loop. Kinds and thresholds are the policy's
 * (engine/alert_rules.h); docs/alerts.md says what each means.
 *
 * A *condition* is looked at anew by alerts_look(): its alert is pending while it has not lasted
 * long enough, fires, and is resolved when the condition has been gone for `for`. There is one
 * alert of a kind and subject at a time. A *one-off* (alerts_raise()) has no condition: it fires at
 * once, and acknowledging it resolves it.
 *
 * What fires is kept, and so is what has been pending for ALERTS_KEEP_MS: a restart neither forgets
 * since when nor raises it again. What a restart makes unknown for a while (a node's agent that has
 * not spoken yet) leaves its alert as it is. An alert is shown when it is raised, be it durable or
 * not: that the store has failed cannot wait for the store.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/access.h"
#include "engine/alert_rules.h"

struct act;
struct err;
struct live;
struct object;
struct alerts;

#define ALERTS_MAX      8192            /* that are not over; more are counted, and left out */
#define ALERTS_LOOK_MS  1000            /* at most so often */
#define ALERTS_QUEUE_MS 5000            /* the same of what goes through the queue */
#define ALERTS_KEEP_MS  30000
#define ALERTS_DAYS_MS  300000          /* what the store's days say */
#define ALERT_SUBJECT_MAX 128           /* bytes with the final NUL, as those below */
#define ALERT_TEXT_MAX    240
#define ALERT_REASON_MAX  240

#define ALERT_STATES(X)                                                 \
        X(PENDING,  "pending")          /* shown to nobody */           \
        X(FIRING,   "firing")                                           \
        X(RESOLVED, "resolved")                                         \
        X(CLEARED,  "cleared")          /* was pending, and never fired */

enum alert_state {
#define X(name, wire) ALERT_##name,
        ALERT_STATES(X)
#undef X
        ALERT_STATES_END
};

/* What can happen to one, in this order: bits of a set. */
#define ALERT_CHANGES(X)                                \
        X(RAISED,       "alert_raised",       1)        \
        X(ACKNOWLEDGED, "alert_acknowledged", 2)        \
        X(ENDED,        "alert_resolved",     4)

enum alert_change {
#define X(name, wire, bit) ALERT_CHANGE_##name = bit,
        ALERT_CHANGES(X)
#undef X
};

struct alert {
        uint64_t id;
        enum alert_kind kind;
        enum alert_state state;
        char subject[ALERT_SUBJECT_MAX];        /* a node, tenant, class, model, table, or "pool" */
        char tenant[TENANT_PATH_MAX];           /* who sees it beside operators; "": nobody */
        char text[ALERT_TEXT_MAX];              /* a sentence, as of when it was last so */
        int64_t since_ms;                       /* when the condition began */
        int64_t fired_ms, acknowledged_ms, resolved_ms;         /* 0: not yet */
        int64_t value, threshold;               /* as the kind is measured */
        char acknowledged_by[WHO_NAME_MAX], reason[ALERT_REASON_MAX];
};

/* Those of the store come back. A row that cannot be read is left out and counted (`unread` of
 * alerts_figures()): what it was about is raised anew if it is still so. `live` and `version` (the
 * program's own) are borrowed. 0, -ERR_IO, -ERR_NOMEM. */
int alerts_new(struct live *live, const char *version, struct alerts **ret_alerts,
               struct err *err);
void alerts_free(struct alerts *alerts);                /* NULL is fine; after the core */

/* Now and then, also while nothing can be decided: looks at all conditions, keeps what has changed,
 * and hands changes to the webhook. */
void alerts_look(struct alerts *alerts, int64_t now_ms);

/* Before the core ends: what the webhook has taken until now is kept, so that it is not told again.
 */
void alerts_end(struct alerts *alerts, int64_t now_ms);

/* A one-off of the kind about `subject`, with a sentence that tells what is wrong and what to do.
 * `tenant`: who sees it beside operators ("": nobody); the text must not tell them of others. May
 * be called at any time, inside an act too: it is kept by the next alerts_look(). Where there is
 * one of kind and subject already, that one stays, with the new text. The alert's number; 0: there
 * is no room (counted), or the policy has switched the kind off. */
uint64_t alerts_raise(struct alerts *alerts, enum alert_kind kind, const char *subject,
                      const char *tenant, const char *text, int64_t now_ms);

/* Somebody looks after it: kept with the act. 0, -ERR_NOT_FOUND (it does not fire), -ERR_EXISTS
 * (somebody does), -ERR_RANGE (the reason is too long), -ERR_FULL, -ERR_NOMEM (the act is to be
 * undone). *ret_alert: as it is then. */
int alerts_acknowledge(struct alerts *alerts, struct act *act, uint64_t id, const char *by,
                       const char *reason, int64_t now_ms, struct alert *ret_alert,
                       struct err *err);

/* Firing ones, in no order. Start with 0; NULL: the end. Good until the next call of another
 * function here. */
const struct alert *alerts_next(const struct alerts *alerts, uint32_t *cursor);
/* One that is over, from its row. False: the row is none of that. */
bool alert_of_object(const struct object *object, struct alert *ret_alert);

/* As the API shows it, to who sees the whole pool or (not `all`) to its tenant. NULL: no memory. */
json_t *alert_json(const struct alert *alert, bool all);

const char *alert_state_name(enum alert_state state);
/* "0.31" or "16 min", for sentences and tables; "" for what is simply so. Returns `buf`. */
#define ALERT_AMOUNT_MAX 32
const char *alert_amount_text(enum alert_kind kind, int64_t amount, char buf[ALERT_AMOUNT_MAX]);

struct alerts_figures {
        uint32_t firing[ALERT_KINDS_END], unacknowledged;
        uint64_t left_out;              /* for which there was no room */
        uint32_t unread;                /* rows of the store that could not be read at the start */
        uint64_t unread_id;             /* ... the first of them */
        uint64_t posted, failed;        /* of the webhook: deliveries, tries that failed */
        uint64_t given_up;              /* changes that it refused too often */
        uint32_t waiting;               /* changes that it has not got yet */
};
struct alerts_figures alerts_figures(const struct alerts *alerts);
