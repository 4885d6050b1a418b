/* alerts_impl.h - the inside of the alerts, for alerts*.c only.
 *
 * alerts.c is the table and what becomes of an alert; alerts_measure.c looks at the conditions,
 * alerts_restore.c at that of the store's days; alerts_keep.c brings them to the store and back,
 * alerts_post.c to the webhook; alert_words.c says them.
 */
#pragma once

#include "base/map.h"
#include "controller/alerts.h"

struct act;
struct webhook;

struct entry {
        struct alert alert;
        bool is_used, is_seen;          /* in the table; its condition held at this look */
        bool is_kept;                   /* the store has a row of it */
        bool is_touched;                /* and that is not up to date */
        bool in_flight;                 /* it is on its way there */
        bool is_one_off;
        uint8_t changes;                /* that happened, as bits; of them: */
        uint8_t kept, flight;           /* durable; on their way */
        uint8_t queued, told;           /* handed to the webhook; taken by it */
        int64_t clear_ms;               /* the condition is gone since then; 0: it is not */
        uint64_t watched;               /* what the condition is about now; 0: nothing single */
        int64_t watched_ms;             /* since when */
};

/* Of a class: its first checkpoint, and the newest run that went on from one. */
struct restored {
        char class[TENANCY_WORD_MAX];
        int64_t first_ms, last_ms;      /* days; last 0: none has */
};

struct alerts {
        struct live *live;
        const char *version;
        struct entry *entries;
        uint32_t count, room;           /* entries ever used; allocated */
        uint32_t unused;                /* of them not used now */
        struct map by_name;             /* pending and firing ones, by kind and subject */
        uint64_t next_id;
        struct webhook *webhook;        /* NULL: the policy never had one */
        bool is_keeping;                /* an act of ours is on its way */
        int64_t looked_ms, queue_looked_ms;
        int64_t restores_looked_ms;     /* when the store's days were last asked, ... */
        int64_t restores_from_ms;       /* ... what may have come since: from this day on */
        struct restored *restored;      /* ... and what they said, by class; owned */
        uint32_t restored_count;
        uint64_t commits, commit_us;    /* of the writer at the last look */
        struct alert_rules usual;       /* without a policy */
        uint64_t left_out;
        uint32_t unread;
        uint64_t unread_id;
};

/* ---- alerts.c ---- */

struct alert_rules;
const struct alert_rules *alerts_rules(const struct alerts *alerts);

/* What a condition looks like now. */
struct alert_report {
        enum alert_kind kind;
        const char *subject, *tenant;
        int64_t value, since_ms;
        int64_t wait_ms;                /* so long it has to last */
        uint64_t watched;               /* with it, the threshold is how long that is so */
        bool is_unknown;                /* not known now: what there is stays */
        char text[ALERT_TEXT_MAX];
};
void alerts_report(struct alerts *alerts, const struct alert_report *report, int64_t now_ms);
struct entry *alerts_entry(struct alerts *alerts, enum alert_kind kind, const char *subject);
/* A new one, in the table, without a name in the map. NULL: there is no room. */
struct entry *alerts_add(struct alerts *alerts);
/* Into the map; false: no memory. */
bool alerts_name(struct alerts *alerts, const struct entry *entry);
/* Out of the table, if nobody waits for it. */
void alerts_drop_if_over(struct alerts *alerts, struct entry *entry);
void alerts_change(struct entry *entry, enum alert_change change, int64_t now_ms);

/* ---- alerts_measure.c ---- */

void alerts_measure(struct alerts *alerts, int64_t now_ms);

/* ---- alerts_restore.c ---- */

void alerts_look_at_restores(struct alerts *alerts, int64_t now_ms);

/* ---- alerts_keep.c ---- */

int alerts_load(struct alerts *alerts, struct err *err);
void alerts_keep(struct alerts *alerts, int64_t now_ms);
/* What has changed of it, with somebody's act: notes and row. The row comes once more with the next
 * alerts_keep(), should the act fail. */
int alerts_keep_with(struct act *act, struct entry *entry, int64_t now_ms, struct err *err);
const char *alert_change_name(enum alert_change change);
int64_t alert_change_ms(const struct alert *alert, enum alert_change change);
/* As it was right behind the change. */
struct alert alert_behind(const struct alert *alert, enum alert_change change);

/* ---- alerts_post.c ---- */

void alerts_post(struct alerts *alerts);
/* What the webhook has taken is told. */
void alerts_take_posted(struct alerts *alerts);
