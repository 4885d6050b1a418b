#include "store/rollup.h"

#include "base/text.h"
#include "store/period.h"

static void write_sums(const struct rollup_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, hour_ms, unit_ms, %s, %s, %s,"
                      " CASE tenant WHEN '' THEN '' ELSE 'held' END, bucket, %s"
                      " FROM usage_hours WHERE hour_ms >= ?1 AND hour_ms < ?2",
                 query->by_hour  ? "hour_ms"
                 : query->by_day ? "hour_ms - hour_ms % 86400000"
                                 : "0",
                 query->by_tenant ? "tenant" : "''", query->by_class ? "class" : "''",
                 query->by_method ? "method" : "''", query->by_model ? "model" : "''");
}

struct seer {
        rollup_see *see;
        void *self;
};

static int see_sum(void *arg, const struct sum *sum, struct err *err)
{
        const struct seer *seer = arg;
        const struct rollup_sum it = {.start_ms = sum->start_ms,
                                      .tenant = sum->names[0],
                                      .class = sum->names[1],
                                      .method = sum->names[2],
                                      .is_held = sum->names[3][0] != '\0',
                                      .bucket = sum->names[4],
                                      .model = sum->names[5],
                                      .unit_ms = sum->amount};

        return seer->see(seer->self, &it, err);
}

int rollup_sums(struct store *store, const struct rollup_query *query, rollup_see *see, void *self,
                struct err *err)
{
        const struct period_query asked = {query->from_ms, query->until_ms, query->tenant,
                                           NULL, 6};
        struct seer seer = {see, self};
        struct text sql = {0};

        write_sums(query, &sql);
        return period_sums(store, &sql, &asked, see_sum, &seer, err);
}
