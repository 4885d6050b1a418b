#include "store/review.h"

#include "base/text.h"
#include "store/period.h"

static void write_sums(const struct review_query *query, struct text *sql)
{
        text_add(sql, "SELECT %s, day_ms, amount, %s, %s, %s, measure, detail"
                      " FROM review_days WHERE day_ms >= ?1 AND day_ms < ?2",
                 query->by_day ? "day_ms" : "0", query->by_tenant ? "tenant" : "''",
                 query->by_class ? "class" : "''", query->by_model ? "model" : "''");
        if (query->measure)
                text_add(sql, " AND measure = ?4");
}

struct seer {
        review_see *see;
        void *self;
};

static int see_sum(void *arg, const struct sum *sum, struct err *err)
{
        const struct seer *seer = arg;
        const struct review_sum it = {.day_ms = sum->start_ms,
                                      .tenant = sum->names[0],
                                      .class = sum->names[1],
                                      .model = sum->names[2],
                                      .measure = sum->names[3],
                                      .detail = sum->names[4],
                                      .amount = sum->amount,
                                      .first_ms = sum->first_ms,
                                      .last_ms = sum->last_ms};

        return seer->see(seer->self, &it, err);
}

int review_sums(struct store *store, const struct review_query *query, review_see *see, void *self,
                struct err *err)
{
        const struct period_query asked = {query->from_ms, query->until_ms, query->tenant,
                                           query->measure, 5};
        struct seer seer = {see, self};
        struct text sql = {0};

        write_sums(query, &sql);
        return period_sums(store, &sql, &asked, see_sum, &seer, err);
}
