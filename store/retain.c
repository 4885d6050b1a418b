#include "store/retain.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/period.h"
#include "store/prune.h"
#include "store/snapshot.h"
#include "store/sql.h"
#include "store/store_impl.h"

#define DAY_MS INT64_C(86400000)

enum stage { STAGE_FIND, STAGE_RECORDS, STAGE_OBJECTS, STAGE_USAGE, STAGE_REVIEW, STAGES_END };

struct retain {
        struct retain_rules rules;
        enum stage stage;
        size_t kind;                    /* of objects, in object_kinds */
        struct prune prune;
        struct retain_report told;
};

static const enum object_kind object_kinds[] = {
#define X(name, number, word) OBJECT_##name,
        OBJECT_KINDS(X)
#undef X
};

int retain_new(const struct retain_rules *rules, struct retain **ret_retain, struct err *err)
{
        struct retain *retain;

        if (rules->record_days > RETAIN_DAYS_MAX || rules->object_days > RETAIN_DAYS_MAX ||
            rules->usage_months > RETAIN_MONTHS_MAX)
                return err_set(err, ERR_RANGE, "at most %d days and %d months can be kept; 0 keeps "
                               "for ever", RETAIN_DAYS_MAX, RETAIN_MONTHS_MAX);
        retain = mem_new(1, sizeof *retain);
        if (!retain)
                return err_set(err, ERR_NOMEM, "out of memory");
        retain->rules = *rules;
        if (retain->rules.rows_per_step == 0)
                retain->rules.rows_per_step = PRUNE_ROWS_PER_STEP;
        *ret_retain = retain;
        return 0;
}

void retain_free(struct retain *retain)
{
        mem_free(retain);
}

void retain_told(const struct retain *retain, struct retain_report *ret_report)
{
        *ret_report = retain->told;
}

int64_t retain_usage_from_ms(int64_t now_ms, uint32_t months)
{
        time_t now = (time_t)(now_ms / 1000);
        struct tm month;

        if (!gmtime_r(&now, &month))
                return INT64_MIN;
        month = (struct tm){.tm_year = month.tm_year, .tm_mon = month.tm_mon - (int)months,
                            .tm_mday = 1};
        return (int64_t)timegm(&month) * 1000;
}

/* ---- records ---- */

/* Up to where they go: where the log was cut before, or further. */
static int find_cut(const struct retain *retain, struct store *store, uint64_t *ret_seq,
                    struct err *err)
{
        struct snapshot newest;
        struct log_head base;
        void *body;
        size_t size;
        unsigned bad;
        int rc = log_base(store, &base, err);

        if (rc < 0)
                return rc;
        *ret_seq = base.seq;
        if (retain->rules.record_days == 0 || !retain->rules.key)
                return 0;
        rc = snapshot_newest(store, &newest, &body, &size, &bad, err);
        if (rc == -ERR_NOT_FOUND)
                return 0;
        if (rc < 0)
                return rc;
        mem_free(body);
        return log_find_older(store, base.seq, newest.seq,
                          newest.at_ms - retain->rules.record_days * DAY_MS, ret_seq, err);
}

static int find_step(struct retain *retain, struct store *store, struct err *err)
{
        uint64_t seq;
        int rc = find_cut(retain, store, &seq, err);

        if (rc < 0)
                return rc;
        retain->prune = (struct prune){.upto_seq = seq,
                                       .at_ms = retain->rules.now_ms,
                                       .key = retain->rules.key,
                                       .rows_per_step = retain->rules.rows_per_step};
        retain->told.upto_seq = seq;
        return 0;
}

/* ---- the rest ---- */

static int objects_step(struct retain *retain, struct store *store, struct err *err)
{
        int64_t before_ms = retain->rules.now_ms - retain->rules.object_days * DAY_MS;
        int rc = objects_forget(store, object_kinds[retain->kind], before_ms,
                                retain->rules.rows_per_step, err);

        if (rc < 0)
                return rc;
        retain->told.objects += (uint64_t)sqlite3_changes64(store->db);
        if (rc == 0)
                retain->kind++;
        return retain->kind < ARRAY_LEN(object_kinds);
}

static int rows_step(struct retain *retain, struct store *store, enum period_kind kind,
                     uint64_t *told, struct err *err)
{
        uint32_t months = retain->rules.usage_months;

        if (months == 0)
                return 0;
        int64_t before_ms = retain_usage_from_ms(retain->rules.now_ms, months);
        int rc = period_forget(store, kind, before_ms, retain->rules.rows_per_step, err);
        if (rc >= 0)
                *told += (uint64_t)sqlite3_changes64(store->db);
        return rc;
}

/* 1: more of this stage. */
static int stage_step(struct retain *retain, struct store *store, struct err *err)
{
        switch (retain->stage) {
        case STAGE_FIND:
                return find_step(retain, store, err);
        case STAGE_RECORDS:
                return retain->prune.upto_seq > 0 ? prune_step(&retain->prune, store, err) : 0;
        case STAGE_OBJECTS:
                return retain->rules.object_days > 0 ? objects_step(retain, store, err) : 0;
        case STAGE_USAGE:
                return rows_step(retain, store, PERIOD_USAGE, &retain->told.usage_rows, err);
        case STAGE_REVIEW:
                return rows_step(retain, store, PERIOD_REVIEW, &retain->told.review_rows, err);
        case STAGES_END:
                break;
        }
        return 0;
}

int retain_step(struct retain *retain, struct store *store, struct err *err)
{
        assert(retain);
        assert(store);
        if (retain->stage == STAGES_END)
                return 0;
        int rc = stage_step(retain, store, err);
        if (rc < 0)
                return rc;
        if (rc == 0)
                retain->stage++;
        return retain->stage < STAGES_END;
}
