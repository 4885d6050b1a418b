#include "proto/retention.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "proto/kind.h"

#define DAY_MS INT64_C(86400000)

enum unit { DAYS, MONTHS };

const char *const retention_words[RETENTIONS_END] = {
#define X(name, word, unit) word,
        RETENTIONS(X)
#undef X
};

static const enum unit units[RETENTIONS_END] = {
#define X(name, word, unit) unit,
        RETENTIONS(X)
#undef X
};

static const struct retention unsaid = {{
#define X(name, word, unit) RETENTION_UNSAID,
        RETENTIONS(X)
#undef X
}};

static int read_days(const struct doc_node *node, uint32_t *ret_span, struct err *err)
{
        char show[STR_SHOW_MAX];
        int64_t ms = 0;

        if (num_duration_ms(doc_raw(node), DAY_MS, RETENTION_DAYS_MAX * DAY_MS, &ms, NULL) < 0 ||
            ms % DAY_MS != 0)
                return doc_fail(node, err, "'%s' is not a number of days; write 1d to %dd, or "
                                           "unlimited to keep for ever",
                                str_show(doc_raw(node), show), RETENTION_DAYS_MAX);
        *ret_span = (uint32_t)(ms / DAY_MS);
        return 0;
}

static int read_months(const struct doc_node *node, uint32_t *ret_span, struct err *err)
{
        char show[STR_SHOW_MAX];
        uint64_t months = 0;

        str_show(doc_raw(node), show);
        if (num_months(doc_raw(node), 0, RETENTION_MONTHS_MAX, &months, NULL) < 0)
                return doc_fail(node, err, "'%s' is not a number of months; write %dmo to %dmo, or "
                                           "unlimited to keep for ever",
                                show, RETENTION_MONTHS_MIN, RETENTION_MONTHS_MAX);
        if (months < RETENTION_MONTHS_MIN)
                return doc_fail(node, err,
                                "'%s' is too short: a review needs the same month of the year "
                                "before; write %dmo or more, or unlimited to keep for ever",
                                show, RETENTION_MONTHS_MIN);
        *ret_span = (uint32_t)months;
        return 0;
}

static int read_span(const struct doc_node *node, enum retention_kind kind, uint32_t *ret_span,
                     struct err *err)
{
        if (!node)
                return 0;
        if (doc_kind(node) == DOC_NULL || !doc_raw(node))
                return doc_fail(node, err, "is no span; write how long, or leave the field out");
        if (str_equal(doc_raw(node), "unlimited")) {
                *ret_span = RETENTION_FOR_EVER;
                return 0;
        }
        return units[kind] == DAYS ? read_days(node, ret_span, err)
                                   : read_months(node, ret_span, err);
}

int retention_read(const struct doc_node *map, struct retention *ret_retention, struct err *err)
{
        struct retention retention = unsaid;
        int rc = map ? doc_check_keys(map, retention_words, RETENTIONS_END, err) : 0;

        for (unsigned k = 0; rc == 0 && k < RETENTIONS_END; k++)
                rc = read_span(map ? doc_get(map, retention_words[k]) : NULL,
                               (enum retention_kind)k, &retention.spans[k], err);
        if (rc == 0)
                *ret_retention = retention;
        return rc;
}

int retention_of_policy(const char *text, size_t size, struct retention *ret_retention,
                        struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc = doc_read_yaml("policy", text, size, &doc, err);

        if (rc < 0)
                return rc;
        rc = kind_need(doc, "Policy", &root, err);
        if (rc == 0)
                rc = retention_read(doc_get(root, "retention"), ret_retention, err);
        doc_free(doc);
        return rc;
}

struct retention retention_over(const struct retention *said, const struct retention *usual)
{
        struct retention both = *usual;

        for (unsigned k = 0; k < RETENTIONS_END; k++)
                if (said->spans[k] != RETENTION_UNSAID)
                        both.spans[k] = said->spans[k];
        return both;
}

const char *retention_text(const struct retention *retention, enum retention_kind kind,
                           char buf[RETENTION_TEXT_MAX])
{
        uint32_t span = retention->spans[kind];

        if (span == RETENTION_UNSAID)
                return "unsaid";
        if (span == RETENTION_FOR_EVER)
                return "unlimited";
        (void)snprintf(buf, RETENTION_TEXT_MAX, "%" PRIu32 "%s", span,
                       units[kind] == DAYS ? "d" : "mo");
        return buf;
}
