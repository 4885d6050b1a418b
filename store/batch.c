#include "store/batch.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "store/batch_impl.h"
#include "store/store_impl.h"

/* Most batches hold an input and a few facts; thousands of them may wait. */
#define CHUNK_BYTES 2048

struct batch *batch_new(void *tag)
{
        struct batch *batch = mem_new(1, sizeof *batch);

        if (!batch)
                return NULL;
        batch->tag = tag;
        batch->arena = arena_new(CHUNK_BYTES, 0);
        if (!batch->arena) {
                mem_free(batch);
                return NULL;
        }
        return batch;
}

void batch_free(struct batch *batch)
{
        if (!batch)
                return;
        arena_free(batch->arena);
        mem_free(batch);
}

static int no_memory(struct err *err)
{
        return err_set(err, ERR_NOMEM, "out of memory");
}

/* Room for `more` bytes and one more of what there is at most `max` of. */
static int check_room(const struct batch *batch, size_t more, size_t count, size_t max,
                      const char *what, struct err *err)
{
        if (count >= max)
                return err_set(err, ERR_FULL, "batch: holds %zu %s, the most it may", count, what);
        if (more > BATCH_BYTES_MAX - batch->bytes)
                return err_set(err, ERR_FULL, "batch: %zu bytes and %zu more are above %u",
                               batch->bytes, more, BATCH_BYTES_MAX);
        return 0;
}

static const char *copy_text(struct batch *batch, const char *text)
{
        return arena_text(batch->arena, text, strlen(text));
}

/* NULL when memory ran out; "" needs one byte too. */
static const void *copy_bytes(struct batch *batch, const void *bytes, size_t size)
{
        void *copy = arena_alloc(batch->arena, size ? size : 1);

        if (copy && size > 0)
                memcpy(copy, bytes, size);
        return copy;
}

int batch_add_record(struct batch *batch, const struct record *record, struct err *err)
{
        assert(batch);
        assert(record);

        int rc = record_check(record, err);
        if (rc < 0)
                return rc;
        size_t bytes = record->size + strlen(record->actor) + strlen(record->reason);
        if ((rc = check_room(batch, bytes, batch->records_count, BATCH_RECORDS_MAX, "records",
                             err)) < 0)
                return rc;
        struct batch_record *added = arena_array(batch->arena, 1, sizeof *added);
        if (!added)
                return no_memory(err);
        added->record = *record;
        added->record.seq = 0;
        added->record.actor = copy_text(batch, record->actor);
        added->record.reason = copy_text(batch, record->reason);
        added->record.body = copy_bytes(batch, record->body, record->size);
        if (!added->record.actor || !added->record.reason || !added->record.body)
                return no_memory(err);
        if (batch->records_last)
                batch->records_last->next = added;
        else
                batch->records = added;
        batch->records_last = added;
        batch->records_count++;
        batch->bytes += bytes;
        return 0;
}

int batch_set_key(struct batch *batch, const struct key_entry *entry, struct err *err)
{
        assert(batch);
        assert(entry);

        int rc = key_check(entry, err);
        if (rc < 0)
                return rc;
        size_t bytes = entry->size + strlen(entry->actor) + strlen(entry->key);
        if ((rc = check_room(batch, bytes, batch->key ? 1 : 0, 1, "key", err)) < 0)
                return rc;
        struct key_entry *added = arena_array(batch->arena, 1, sizeof *added);
        if (!added)
                return no_memory(err);
        *added = *entry;
        added->actor = copy_text(batch, entry->actor);
        added->key = copy_text(batch, entry->key);
        added->body = copy_bytes(batch, entry->body, entry->size);
        if (!added->actor || !added->key || !added->body)
                return no_memory(err);
        batch->key = added;
        batch->bytes += bytes;
        return 0;
}

static int add_row(struct batch *batch, const struct period_row *row, struct err *err)
{
        static const struct { size_t max; const char *what; } rows[PERIOD_KINDS_END] = {
                [PERIOD_USAGE] = {BATCH_USAGE_MAX, "rows of usage"},
                [PERIOD_REVIEW] = {BATCH_REVIEW_MAX, "rows of the review"},
        };
        int rc = period_check(row, err);

        if (rc < 0)
                return rc;
        size_t bytes = sizeof *row;
        for (unsigned n = 0; n < PERIOD_NAMES; n++)
                bytes += strlen(row->names[n]);
        rc = check_room(batch, bytes, batch->rows_count[row->kind], rows[row->kind].max,
                        rows[row->kind].what, err);
        if (rc < 0)
                return rc;
        struct batch_row *added = arena_array(batch->arena, 1, sizeof *added);
        if (!added)
                return no_memory(err);
        added->row = *row;
        for (unsigned n = 0; n < PERIOD_NAMES; n++)
                if (!(added->row.names[n] = copy_text(batch, row->names[n])))
                        return no_memory(err);
        if (batch->rows_last)
                batch->rows_last->next = added;
        else
                batch->rows = added;
        batch->rows_last = added;
        batch->rows_count[row->kind]++;
        batch->bytes += bytes;
        return 0;
}

int batch_add_usage(struct batch *batch, const struct usage_row *row, struct err *err)
{
        assert(batch);
        assert(row);

        const struct period_row it = period_of_usage(row);
        return add_row(batch, &it, err);
}

int batch_add_review(struct batch *batch, const struct review_row *row, struct err *err)
{
        assert(batch);
        assert(row);

        const struct period_row it = period_of_review(row);
        return add_row(batch, &it, err);
}

/* ---- objects ---- */

static struct batch_object *add_object(struct batch *batch, size_t bytes, struct err *err)
{
        struct batch_object *added;

        if (check_room(batch, bytes, batch->objects_count, BATCH_OBJECTS_MAX, "objects", err) < 0)
                return NULL;
        added = arena_array(batch->arena, 1, sizeof *added);
        if (!added)
                (void)no_memory(err);
        return added;
}

static void link_object(struct batch *batch, struct batch_object *added, size_t bytes)
{
        if (batch->objects_last)
                batch->objects_last->next = added;
        else
                batch->objects = added;
        batch->objects_last = added;
        batch->objects_count++;
        batch->bytes += bytes;
}

/* False: out of memory. */
static bool copy_or_null(struct batch *batch, const char *text, const char **ret_copy)
{
        *ret_copy = text ? copy_text(batch, text) : NULL;
        return !text || *ret_copy;
}

int batch_put_object(struct batch *batch, const struct object *object, struct err *err)
{
        struct err mine;
        struct err *why = err ? err : &mine;
        int rc = object_check(object, why);

        if (rc < 0)
                return rc;
        size_t bytes = sizeof *object + object->size + strlen(object->detail);
        struct batch_object *added = add_object(batch, bytes, why);
        if (!added)
                return -(int)why->code;
        struct object *to = &added->object;
        *to = *object;
        to->body = copy_bytes(batch, object->body, object->size);
        if (!copy_or_null(batch, object->tenant, &to->tenant) ||
            !copy_or_null(batch, object->name, &to->name) ||
            !copy_or_null(batch, object->class, &to->class) ||
            !copy_or_null(batch, object->owner, &to->owner) ||
            !copy_or_null(batch, object->state, &to->state) ||
            !copy_or_null(batch, object->detail, &to->detail) || !to->body)
                return no_memory(err);
        link_object(batch, added, bytes);
        return 0;
}

int batch_set_object(struct batch *batch, const struct object_change *change, struct err *err)
{
        struct err mine;
        struct err *why = err ? err : &mine;
        int rc = object_change_check(change, why);

        if (rc < 0)
                return rc;
        size_t bytes = sizeof *change + (change->detail ? strlen(change->detail) : 0) +
                       (change->run ? strlen(change->run) : 0) +
                       (change->next_run ? strlen(change->next_run) : 0);
        struct batch_object *added = add_object(batch, bytes, why);
        if (!added)
                return -(int)why->code;
        added->is_change = true;
        added->change = *change;
        if (!copy_or_null(batch, change->state, &added->change.state) ||
            !copy_or_null(batch, change->detail, &added->change.detail) ||
            !copy_or_null(batch, change->run, &added->change.run) ||
            !copy_or_null(batch, change->next_run, &added->change.next_run))
                return no_memory(err);
        link_object(batch, added, bytes);
        return 0;
}

void *batch_tag(const struct batch *batch)
{
        return batch->tag;
}

const struct key_entry *batch_key(const struct batch *batch)
{
        return batch->key;
}

size_t batch_records(const struct batch *batch)
{
        return batch->records_count;
}

uint64_t batch_last_seq(const struct batch *batch)
{
        return batch->last_seq;
}

size_t batch_bytes(const struct batch *batch)
{
        return batch->bytes;
}

const struct batch *batch_next(const struct batch *batch)
{
        return batch->next;
}
