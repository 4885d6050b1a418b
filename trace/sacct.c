#include "trace/sacct.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/zone.h"
#include "trace/sacct_impl.h"

#define X(name, wire) wire,
const char *const sacct_tenant_names[SACCT_TENANTS_END] = {SACCT_TENANTS(X)};
const char *const sacct_class_names[SACCT_CLASSES_END] = {SACCT_CLASSES(X)};
const char *const sacct_model_names[SACCT_MODELS_END] = {SACCT_MODELS(X)};
#undef X

#define BIT(column) (UINT32_C(1) << (column))

/* The columns without which there is no answer to what is asked for. */
static uint32_t wanted_columns(const struct sacct_options *options)
{
        static const uint32_t tenants[SACCT_TENANTS_END] = {
                [SACCT_TENANT_ACCOUNT] = BIT(SACCT_ACCOUNT),
                [SACCT_TENANT_ACCOUNT_USER] = BIT(SACCT_ACCOUNT) | BIT(SACCT_USER),
                [SACCT_TENANT_USER] = BIT(SACCT_USER),
                [SACCT_TENANT_PARTITION] = BIT(SACCT_PARTITION),
                [SACCT_TENANT_QOS] = BIT(SACCT_QOS),
        };
        static const uint32_t classes[SACCT_CLASSES_END] = {
                [SACCT_CLASS_QOS] = BIT(SACCT_QOS),
                [SACCT_CLASS_PARTITION] = BIT(SACCT_PARTITION),
        };
        uint32_t wanted =
                BIT(SACCT_JOB_ID) | BIT(SACCT_STATE) | BIT(SACCT_SUBMIT) | BIT(SACCT_ALLOC_TRES);

        if (options->model == SACCT_MODEL_REQUESTED)
                wanted |= BIT(SACCT_REQ_TRES);
        return wanted | tenants[options->tenant] | classes[options->class];
}

static int read_rows(struct sacct_reader *reader, struct err *err)
{
        int rc;

        while ((rc = sacct_table_next(&reader->table, err)) > 0)
                if ((rc = sacct_read_row(reader, err)) < 0)
                        return rc;
        return rc;
}

/* Some job is left, or why not. */
static int check_left(const char *name, const struct sacct_reader *reader, struct err *err)
{
        const struct jobs *jobs = &reader->jobs;

        if (jobs->count > 0)
                return 0;
        if (reader->notes.rows == 0)
                return err_set(err, ERR_INPUT, "%s:1: no row follows the first line", name);
        return err_set(err, ERR_INPUT,
                       "%s: no job is left of %u rows: %u jobs never ran, %u still run, %u were "
                       "submitted outside from and until, %u are of tenants with too few jobs; "
                       "print a longer time with -S, widen the window or lower "
                       "tenants_at_least_jobs",
                       name, reader->notes.rows, jobs->left_never_ran, jobs->left_still_running,
                       jobs->left_out_of_window, jobs->left_small_tenant);
}

static int run(struct sacct_reader *reader, const char *name, const char *bytes, size_t size,
               const struct jobs_filter *filter, struct err *err)
{
        int rc;

        if ((rc = sacct_table_open(&reader->table, name, bytes, size,
                                   wanted_columns(&reader->options), err)) < 0 ||
            (rc = read_rows(reader, err)) < 0)
                return rc;
        if ((rc = sacct_fold(reader, err)) < 0 ||
            (rc = jobs_finish(&reader->jobs, filter, err)) < 0)
                return err_prefix(err, "%s", name);
        return check_left(name, reader, err);
}

static void reader_done(struct sacct_reader *reader)
{
        sacct_table_done(&reader->table);
        jobs_done(&reader->jobs);
        map_done(&reader->arrays);
        mem_free(reader->at_once);
        mem_free(reader->runs);
}

int sacct_parse(const char *name, const char *bytes, size_t size,
                const struct sacct_options *options, const struct jobs_filter *filter,
                struct jobs *ret_jobs, struct sacct_notes *ret_notes, struct err *err)
{
        assert(name);
        assert(bytes || size == 0);

        struct err why = {0};
        struct zone *utc = NULL;
        struct sacct_reader *reader = mem_new(1, sizeof *reader);
        if (!reader)
                return err_set(err, ERR_NOMEM, "%s: out of memory", name);
        if (options)
                reader->options = *options;
        assert(reader->options.tenant < SACCT_TENANTS_END);
        assert(reader->options.class < SACCT_CLASSES_END);
        assert(reader->options.model < SACCT_MODELS_END);
        if (reader->options.shards_per_device == 0)
                reader->options.shards_per_device = SACCT_SHARDS;
        map_init(&reader->arrays, JOBS_MAX);
        reader->zone = reader->options.zone;
        int rc = reader->zone ? 0 : zone_load("UTC", &utc, &why);
        if (!reader->zone)
                reader->zone = utc;
        if (rc == 0)
                rc = run(reader, name, bytes, size, filter, &why);
        if (rc == 0) {
                *ret_jobs = reader->jobs;
                reader->jobs = (struct jobs){0};
                if (ret_notes)
                        *ret_notes = reader->notes;
        } else if (err) {
                *err = why;
        }
        reader_done(reader);
        mem_free(reader);
        zone_free(utc);
        return rc;
}

int sacct_read(const char *path, const struct sacct_options *options,
               const struct jobs_filter *filter, struct jobs *ret_jobs,
               struct sacct_notes *ret_notes, struct err *err)
{
        char *bytes = NULL;
        size_t size = 0;
        int rc = file_read(path, JOBS_BYTES_MAX, &bytes, &size, err);

        if (rc < 0)
                return rc;
        rc = sacct_parse(path, bytes, size, options, filter, ret_jobs, ret_notes, err);
        mem_free(bytes);
        return rc;
}
