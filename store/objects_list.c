/* Lists of objects. Each kind of question has its index, named in the text, so that a million rows
 * that have ended cost nothing:
 *
 * - by name, by tenant: the tenants there are (under the one that is asked for) are found by going
 *   from one to the next in the index; of each the newest are taken, as many as are wanted at most,
 *   and of those the newest of all. A tenant's own order in the index is the wanted one, so nothing
 *   is read that is not a candidate.
 * - live ones, all: their numbers' order is that of an index or of the table.
 */
#include "store/objects.h"

#include <assert.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "store/sql.h"
#include "store/store_impl.h"

/* Only constants of this program stand in the texts; what comes from outside is bound, by number:
 * 1 kind, 2 after_id, 3 tenant, 4 name, 5 class, 6 owner, 7 state, 8 limit. */

static void add_common(const struct object_filter *filter, struct text *sql)
{
        text_add(sql, " WHERE kind = ?1");
        if (filter->name)
                text_add(sql, " AND name = ?4");
        if (!filter->ended)
                text_add(sql, " AND ended_ms = 0");
}

static void add_rows(const struct object_filter *filter, struct text *sql)
{
        add_common(filter, sql);
        if (filter->after_id)
                text_add(sql, " AND id %s ?2", filter->oldest_first ? ">" : "<");
        if (filter->class)
                text_add(sql, " AND class = ?5");
        if (filter->owner)
                text_add(sql, " AND owner = ?6");
        if (filter->state)
                text_add(sql, " AND state = ?7");
        if (!filter->live)
                text_add(sql, " AND ended_ms <> 0");
}

static void add_order(const struct object_filter *filter, struct text *sql)
{
        text_add(sql, " ORDER BY id %s", filter->oldest_first ? "ASC" : "DESC");
        if (filter->limit)
                text_add(sql, " LIMIT ?8");
}

static const char *index_of(const struct object_filter *filter)
{
        if (filter->name)
                return filter->ended ? "objects_named" : "objects_live_named";
        return filter->ended ? "objects_of_tenant" : "objects_live_of_tenant";
}

/* The tenants that the index has: itself and those below it ('0' follows '/'), or all. */
static void add_tenants(const struct object_filter *filter, struct text *sql)
{
        const char *index = index_of(filter);

        text_add(sql, "WITH RECURSIVE tenants (path) AS (");
        if (filter->tenant) {
                text_add(sql, "SELECT ?3");
        } else {
                text_add(sql, "SELECT min(tenant) FROM objects INDEXED BY %s", index);
                add_common(filter, sql);
        }
        text_add(sql, " UNION ALL SELECT (SELECT min(tenant) FROM objects INDEXED BY %s", index);
        add_common(filter, sql);
        if (filter->tenant)
                text_add(sql, " AND tenant > CASE path WHEN ?3 THEN ?3 || '/' ELSE path END"
                              " AND tenant < ?3 || '0'");
        else
                text_add(sql, " AND tenant > path");
        text_add(sql, ") FROM tenants WHERE path IS NOT NULL) ");
}

static void write_by_tenants(const struct object_filter *filter, const char *columns,
                             struct text *sql)
{
        add_tenants(filter, sql);
        text_add(sql, "SELECT %s FROM objects NOT INDEXED WHERE kind = ?1 AND id IN"
                      " (SELECT it.id FROM tenants CROSS JOIN objects AS it NOT INDEXED"
                      "  WHERE it.kind = ?1 AND it.id IN (SELECT id FROM objects INDEXED BY %s",
                 columns, index_of(filter));
        add_rows(filter, sql);
        text_add(sql, " AND tenant = path");
        add_order(filter, sql);
        text_add(sql, "))");
        add_order(filter, sql);
}

static void write_by_number(const struct object_filter *filter, const char *columns,
                            struct text *sql)
{
        text_add(sql, "SELECT %s FROM objects %s", columns,
                 filter->ended ? "NOT INDEXED" : "INDEXED BY objects_live");
        add_rows(filter, sql);
        add_order(filter, sql);
}

static void bind_if(sqlite3_stmt *statement, int at, const char *text)
{
        if (text)
                sql_bind_text(statement, at, text);
}

static void bind_filter(sqlite3_stmt *statement, const struct object_filter *filter)
{
        sql_bind_i64(statement, 1, (int64_t)filter->kind);
        if (filter->after_id)
                sql_bind_i64(statement, 2, (int64_t)filter->after_id);
        bind_if(statement, 3, filter->tenant);
        bind_if(statement, 4, filter->name);
        bind_if(statement, 5, filter->class);
        bind_if(statement, 6, filter->owner);
        bind_if(statement, 7, filter->state);
        if (filter->limit)
                sql_bind_i64(statement, 8, filter->limit);
}

static int visit_rows(sqlite3_stmt *statement, enum object_kind kind, bool with_body,
                      object_visit *visit, void *arg, struct err *err)
{
        int rc;

        while ((rc = sql_step(statement, err)) > 0) {
                struct object object;
                object_read_row(statement, kind, with_body, &object);
                rc = visit(arg, &object, err);
                if (rc)
                        break;
        }
        return rc;
}

int objects_list(struct store *store, const struct object_filter *filter, object_visit *visit,
                 void *arg, struct err *err)
{
        const char *columns = filter->with_body ? OBJECT_COLUMNS ", body" : OBJECT_COLUMNS;
        sqlite3_stmt *statement;
        struct text sql = {0};
        int rc;

        assert(filter->live || filter->ended);
        if (filter->tenant || filter->name)
                write_by_tenants(filter, columns, &sql);
        else
                write_by_number(filter, columns, &sql);
        rc = sql.failed ? err_set(err, ERR_NOMEM, "out of memory")
                        : sql_prepare(store->db, sql.bytes, &statement, err);
        text_done(&sql);
        if (rc < 0)
                return rc;
        bind_filter(statement, filter);
        rc = visit_rows(statement, filter->kind, filter->with_body, visit, arg, err);
        sqlite3_finalize(statement);
        return rc;
}

int objects_each(struct store *store, object_visit *visit, void *arg, struct err *err)
{
        sqlite3_stmt *statement;
        int rc = sql_prepare(store->db, "SELECT " OBJECT_COLUMNS ", body, kind FROM objects"
                                        " ORDER BY kind, id", &statement, err);

        if (rc < 0)
                return rc;
        while ((rc = sql_step(statement, err)) > 0) {
                struct object object;
                object_read_row(statement, (enum object_kind)sqlite3_column_int64(statement, 12),
                                true, &object);
                rc = visit(arg, &object, err);
                if (rc)
                        break;
        }
        sqlite3_finalize(statement);
        return rc;
}
