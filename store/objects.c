#include "store/objects.h"

#include <assert.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "store/sql.h"
#include "store/store_impl.h"

/* ---- checks ---- */

const char *object_kind_name(unsigned kind)
{
        switch (kind) {
#define X(name, number, word)                                                                    \
        case OBJECT_##name:                                                                      \
                return word;
                OBJECT_KINDS(X)
#undef X
        }
        return NULL;
}

static int check_id(enum object_kind kind, uint64_t id, struct err *err)
{
        if (object_kind_name((unsigned)kind) && id > 0 && id <= INT64_MAX)
                return 0;
        return err_set(err, ERR_INPUT, "object: kind %d, number %" PRIu64 " cannot be", (int)kind,
                       id);
}

int object_check(const struct object *object, struct err *err)
{
        int rc;

        if ((rc = check_id(object->kind, object->id, err)) < 0 ||
            (rc = text_check("object: tenant", object->tenant, OBJECT_NAME_MAX, err)) < 0 ||
            (rc = text_check("object: name", object->name, OBJECT_NAME_MAX, err)) < 0 ||
            (rc = text_check("object: class", object->class, OBJECT_NAME_MAX, err)) < 0 ||
            (rc = text_check("object: owner", object->owner, OBJECT_NAME_MAX, err)) < 0 ||
            (rc = text_check("object: state", object->state, OBJECT_NAME_MAX, err)) < 0 ||
            (rc = text_check("object: detail", object->detail, OBJECT_DETAIL_MAX, err)) < 0)
                return rc;
        if (object->size > OBJECT_BODY_MAX)
                return err_set(err, ERR_INPUT, "object: a document of %zu bytes; at most %u fit",
                               object->size, OBJECT_BODY_MAX);
        if (object->ended_ms < 0 || object->seq > INT64_MAX)
                return err_set(err, ERR_INPUT, "object: an end or a number that cannot be");
        return 0;
}

int object_change_check(const struct object_change *change, struct err *err)
{
        int rc = check_id(change->kind, change->id, err);

        if (rc == 0 && change->ended_ms < 0)
                rc = err_set(err, ERR_INPUT, "object: an end that cannot be");
        if (rc == 0 && change->state)
                rc = text_check("object: state", change->state, OBJECT_NAME_MAX, err);
        if (rc == 0 && change->detail)
                rc = text_check("object: detail", change->detail, OBJECT_DETAIL_MAX, err);
        if (rc == 0 && change->run)
                rc = text_check("object: run", change->run, OBJECT_DETAIL_MAX, err);
        if (rc == 0 && change->next_run)
                rc = text_check("object: next run", change->next_run, OBJECT_DETAIL_MAX, err);
        return rc;
}

/* ---- changes; in a transaction ---- */

int object_put(struct store *store, const struct object *object, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_OBJECT_PUT, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)object->kind);
        sql_bind_i64(statement, 2, (int64_t)object->id);
        sql_bind_text(statement, 3, object->tenant);
        sql_bind_text(statement, 4, object->name);
        sql_bind_text(statement, 5, object->class);
        sql_bind_text(statement, 6, object->owner);
        sql_bind_text(statement, 7, object->state);
        sql_bind_text(statement, 8, object->detail);
        sql_bind_i64(statement, 9, object->created_ms);
        sql_bind_i64(statement, 10, object->updated_ms);
        sql_bind_i64(statement, 11, object->ended_ms);
        sql_bind_i64(statement, 12, (int64_t)object->seq);
        sql_bind_blob(statement, 13, object->body, object->size);
        return sql_done(statement, err);
}

/* Runs the statement over the change's row, with `text` where it takes one. */
static int change_detail(struct store *store, enum store_statement which,
                         const struct object_change *change, const char *text, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, which, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)change->kind);
        sql_bind_i64(statement, 2, (int64_t)change->id);
        if (text) {
                sql_bind_text(statement, 3, text);
        } else {
                sql_bind_i64(statement, 3, OBJECT_RUNS_MAX);
                sql_bind_i64(statement, 4, OBJECT_DETAIL_MAX);
        }
        return sql_done(statement, err);
}

static int change_runs(struct store *store, const struct object_change *change, struct err *err)
{
        int rc = 0;

        if (change->keeps_runs && change->detail)
                rc = change_detail(store, STATEMENT_OBJECT_RUNS_KEEP, change, change->detail, err);
        if (rc == 0 && change->run)
                rc = change_detail(store, STATEMENT_OBJECT_RUN_ADD, change, change->run, err);
        if (rc == 0 && change->next_run)
                rc = change_detail(store, STATEMENT_OBJECT_RUN_NEXT, change, change->next_run,
                                   err);
        do {
                if (rc == 0)
                        rc = change_detail(store, STATEMENT_OBJECT_RUNS_TRIM, change, NULL, err);
        } while (rc == 0 && sqlite3_changes64(store->db) > 0);
        return rc;
}

int object_set(struct store *store, const struct object_change *change, struct err *err)
{
        bool has_runs = change->run || change->next_run || change->keeps_runs;
        sqlite3_stmt *statement;
        int rc = has_runs ? change_runs(store, change, err) : 0;

        if (rc == 0)
                rc = store_statement(store, STATEMENT_OBJECT_SET, &statement, err);
        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)change->kind);
        sql_bind_i64(statement, 2, (int64_t)change->id);
        if (change->state)
                sql_bind_text(statement, 3, change->state);
        else
                sqlite3_bind_null(statement, 3);
        if (change->detail && !change->keeps_runs)
                sql_bind_text(statement, 4, change->detail);
        else
                sqlite3_bind_null(statement, 4);
        sql_bind_i64(statement, 5, change->updated_ms);
        sql_bind_i64(statement, 6, change->ended_ms);
        rc = sql_done(statement, err);
        if (rc == 0 && sqlite3_changes64(store->db) != 1)
                rc = err_set(err, ERR_IO, "%s: %s %" PRIu64 " was to change and is not there",
                             store->path, object_kind_name((unsigned)change->kind), change->id);
        return rc;
}

/* ---- reading ---- */

static const char *column(sqlite3_stmt *statement, int at)
{
        const unsigned char *text = sqlite3_column_text(statement, at);

        return text ? (const char *)text : "";
}

void object_read_row(sqlite3_stmt *statement, enum object_kind kind, bool with_body,
                     struct object *ret)
{
        *ret = (struct object){.kind = kind,
                               .id = (uint64_t)sqlite3_column_int64(statement, 0),
                               .tenant = column(statement, 1),
                               .name = column(statement, 2),
                               .class = column(statement, 3),
                               .owner = column(statement, 4),
                               .state = column(statement, 5),
                               .detail = column(statement, 6),
                               .created_ms = sqlite3_column_int64(statement, 7),
                               .updated_ms = sqlite3_column_int64(statement, 8),
                               .ended_ms = sqlite3_column_int64(statement, 9),
                               .seq = (uint64_t)sqlite3_column_int64(statement, 10)};
        if (with_body) {
                ret->body = sqlite3_column_blob(statement, 11);
                ret->size = (size_t)sqlite3_column_bytes(statement, 11);
        }
}

/* One piece: the struct, its texts, and the body with a NUL behind it. */
static struct object_copy *copy_of(const struct object *object)
{
        const char *texts[] = {object->tenant, object->name,  object->class,
                               object->owner,  object->state, object->detail};
        struct object_copy *copy;
        size_t size = sizeof *copy + object->size + 1;
        const char **to[ARRAY_LEN(texts)];
        char *at;

        for (size_t t = 0; t < ARRAY_LEN(texts); t++)
                size += strlen(texts[t]) + 1;
        copy = mem_new(1, size);
        if (!copy)
                return NULL;
        copy->object = *object;
        to[0] = &copy->object.tenant;
        to[1] = &copy->object.name;
        to[2] = &copy->object.class;
        to[3] = &copy->object.owner;
        to[4] = &copy->object.state;
        to[5] = &copy->object.detail;
        at = (char *)(copy + 1);
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
                size_t bytes = strlen(texts[t]) + 1;
                memcpy(at, texts[t], bytes);
                *to[t] = at;
                at += bytes;
        }
        if (object->size > 0)
                memcpy(at, object->body, object->size);
        copy->object.body = at;
        return copy;
}

int objects_get(struct store *store, enum object_kind kind, uint64_t id,
                struct object_copy **ret_copy, struct err *err)
{
        sqlite3_stmt *statement;
        struct object object;
        int rc = store_statement(store, STATEMENT_OBJECT_GET, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)kind);
        sql_bind_i64(statement, 2, (int64_t)id);
        rc = sql_step(statement, err);
        if (rc == 0)
                return err_set(err, ERR_NOT_FOUND, "there is no %s of number %" PRIu64,
                               object_kind_name((unsigned)kind), id);
        if (rc < 0)
                return rc;
        object_read_row(statement, kind, true, &object);
        *ret_copy = copy_of(&object);
        sql_reset(statement);
        return *ret_copy ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int objects_last(struct store *store, enum object_kind kind, uint64_t *ret_id, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_OBJECT_LAST, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)kind);
        rc = sql_step(statement, err);
        if (rc < 0)
                return rc;
        *ret_id = rc > 0 ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
        sql_reset(statement);
        return 0;
}

/* ---- forgetting ---- */

int objects_forget(struct store *store, enum object_kind kind, int64_t ended_before_ms,
                   uint32_t rows_max, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = store_statement(store, STATEMENT_OBJECTS_FORGET, &statement, err);

        if (rc < 0)
                return rc;
        sql_bind_i64(statement, 1, (int64_t)kind);
        sql_bind_i64(statement, 2, ended_before_ms);
        sql_bind_i64(statement, 3, rows_max);
        rc = sql_done(statement, err);
        return rc < 0 ? rc : sqlite3_changes64(store->db) == rows_max;
}
