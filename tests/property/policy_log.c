#include "tests/property/policy_log.h"

#include "base/err.h"
#include "base/text.h"
#include "engine/accounts.h"
#include "proto/log_fact.h"
#include "proto/state_image.h"
#include "tests/property/policy_book.h"

bool log_told(struct book *book, struct fact *fact)
{
        struct text text = {0};
        struct err err = {0};
        struct fact told;
        json_error_t json_err;
        json_t *object;
        int rc;

        log_fact_write(fact, &text);
        object = text.failed ? NULL : json_loadb(text.bytes, text.size, 0, &json_err);
        rc = object ? log_fact_read(object, &told, &err) : -1;
        json_decref(object);
        text_done(&text);
        if (rc)
                return BOOK_FAIL(book, "a fact cannot be told again: %s", err.text);
        if (fact->kind == FACT_POLICY_IN)
                told.accounts = fact->accounts;
        if (fact->kind == FACT_MAINTENANCE_IN)
                told.maintenance = fact->maintenance;
        if (fact->kind == FACT_DEMAND_SET)
                told.plan = fact->plan;
        *fact = told;
        return true;
}

bool log_restored(struct book *book, struct state **state)
{
        const struct accounts *accounts = (*state)->accounts;
        struct state *restored = NULL;
        struct text text = {0};
        struct err err = {0};
        int rc;

        state_image_write(*state, &text);
        rc = text.failed ? -ERR_NOMEM
                         : state_image_read(text.bytes, text.size, (*state)->models,
                                            accounts ? accounts->tenancy : NULL, &restored, &err);
        text_done(&text);
        if (rc)
                return BOOK_FAIL(book, "a state cannot be restored: %s", err.text);
        state_check(restored);
        bool same = state_hash(restored) == state_hash(*state);
        state_free(*state);
        *state = restored;
        return same || BOOK_FAIL(book, "the restored state is another one");
}
