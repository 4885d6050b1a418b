#include "store/commit.h"

#include <assert.h>
#include <inttypes.h>

#include "base/err.h"
#include "store/batch_impl.h"
#include "store/store_impl.h"

/* Forgotten keys removed in a commit, at least; twice as many as came when that is more, so that
 * they become fewer in any case. */
#define KEYS_FORGET_LEAST 16u

/* Puts one batch into the open transaction. */
static int put_batch(struct store *store, struct batch *batch, struct log_head *head,
                     struct err *err)
{
        int rc = 0;

        for (struct batch_record *it = batch->records; it && rc == 0; it = it->next) {
                rc = log_append(store, &it->record, head, err);
                it->record.seq = head->seq;
        }
        if (rc == 0 && batch->key)
                rc = keys_add(store, batch->key, err);
        for (struct batch_object *it = batch->objects; it && rc == 0; it = it->next)
                rc = it->is_change ? object_set(store, &it->change, err)
                                   : object_put(store, &it->object, err);
        for (struct batch_row *it = batch->rows; it && rc == 0; it = it->next)
                rc = period_add(store, &it->row, err);
        if (rc < 0)
                return rc;
        if (batch->last_seq != 0 && batch->last_seq != head->seq)
                return err_set(err, ERR_IO,
                               "%s: the log stands at %" PRIu64 " instead of %" PRIu64
                               ": something else wrote to it", store->path, head->seq,
                               batch->last_seq);
        return 0;
}

static int put_all(struct store *store, struct batch *first, size_t count,
                   struct log_head *ret_head, struct err *err)
{
        struct log_head head;
        struct batch *batch = first;
        int64_t newest_ms = INT64_MIN;
        uint32_t keys = 0;
        int rc = log_head(store, &head, err);

        for (size_t i = 0; i < count && rc == 0; i++, batch = batch->next) {
                assert(batch);
                rc = put_batch(store, batch, &head, err);
                keys += batch->key ? 1 : 0;
                if (batch->records_last && batch->records_last->record.at_ms > newest_ms)
                        newest_ms = batch->records_last->record.at_ms;
        }
        /* The log's own time: a replay of the same batches forgets the same keys. */
        if (rc == 0 && keys > 0)
                rc = keys_forget(store, newest_ms,
                                 2 * keys > KEYS_FORGET_LEAST ? 2 * keys : KEYS_FORGET_LEAST,
                                 err);
        *ret_head = head;
        return rc;
}

int commit_batches(struct store *store, struct batch *first, size_t count,
                   struct log_head *ret_head, struct err *err)
{
        struct log_head head;

        assert(count > 0);
        int rc = store_begin(store, err);
        if (rc < 0)
                return rc;
        if ((rc = put_all(store, first, count, &head, err)) < 0) {
                store_rollback(store);
                return rc;
        }
        if ((rc = store_end(store, err)) < 0)
                return rc;
        struct batch *batch = first;
        for (size_t i = 0; i < count; i++, batch = batch->next)
                if (batch->records_last)
                        batch->last_seq = batch->records_last->record.seq;
        *ret_head = head;
        return 0;
}
