#include "proto/pool_image.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/model.h"

#define HEAD_MIN 2
#define HEAD_MAX (HEAD_MIN + POOL_IMAGE_NUMBERS_MAX)

static const struct field run_list[] = {
        FIELD(pool_run, id),    FIELD(pool_run, epoch), FIELD(pool_run, started_ms),
        FIELD(pool_run, stops), FIELD(pool_run, wish),  FIELD(pool_run, members_count)};
static const struct fields run_fields = FIELDS(run_list);

void pool_image_write(const struct pool_image *image, const struct model_table *models,
                      uint32_t models_listed, const struct pool_run *runs, size_t runs_count,
                      struct text *out)
{
        uint64_t head[HEAD_MAX] = {image->policy_revision, (uint64_t)image->now_ms};

        assert(image->numbers_count <= POOL_IMAGE_NUMBERS_MAX);
        memcpy(head + HEAD_MIN, image->numbers, image->numbers_count * sizeof *head);
        image_write_numbers(out, "core", FIELD_U64, head, HEAD_MIN + image->numbers_count);
        image_begin_strings(out, "unlisted models", image->models - models_listed);
        for (uint32_t m = models_listed; m < image->models; m++) {
                const char *name = model_get(models, m)->name;
                image_write_string(out, name, strlen(name));
        }
        image_write_rows(out, "runs", &run_fields, runs, runs_count, sizeof *runs);
}

static int read_models(struct image_in *in, struct model_table *models, uint64_t *ret_count,
                       struct err *err)
{
        uint64_t count;
        int rc = image_read_strings(in, "unlisted models", &count, err);

        for (uint64_t m = 0; rc >= 0 && m < count; m++) {
                char name[MODEL_NAME_MAX] = {0};
                const void *bytes;
                size_t size;
                rc = image_read_string(in, &bytes, &size, err);
                if (rc == 0 && size >= sizeof name)
                        rc = err_set(err, ERR_INPUT, "snapshot: a device model's name is too long");
                if (rc == 0) {
                        memcpy(name, bytes, size);
                        rc = model_add_unlisted(models, name, err);
                }
        }
        *ret_count = count;
        return rc < 0 ? rc : 0;
}

static int read_runs(struct image_in *in, uint32_t max, struct pool_run **ret_runs,
                     size_t *ret_count, struct err *err)
{
        struct pool_run *runs = mem_new(max, sizeof *runs);
        int rc;

        if (!runs)
                return err_set(err, ERR_NOMEM, "out of memory");
        *ret_count = 0;
        rc = image_read_rows(in, "runs", &run_fields, runs, max, sizeof *runs, ret_count, err);
        if (rc)
                mem_free(runs);
        else
                *ret_runs = runs;
        return rc;
}

int pool_image_read(struct image_in *in, struct model_table *models, uint32_t models_listed,
                    uint32_t runs_max, struct pool_image *ret_image, struct pool_run **ret_runs,
                    size_t *ret_runs_count, struct err *err)
{
        uint64_t head[HEAD_MAX], unlisted;
        size_t count = 0;
        int rc = image_read_numbers(in, "core", FIELD_U64, head, HEAD_MAX, &count, err);

        if (rc == 0 && count < HEAD_MIN)
                rc = err_set(err, ERR_INPUT, "snapshot: its head is cut short");
        if (rc || (rc = read_models(in, models, &unlisted, err)) < 0 ||
            (rc = read_runs(in, runs_max, ret_runs, ret_runs_count, err)) < 0)
                return rc;
        *ret_image = (struct pool_image){.policy_revision = head[0],
                                         .now_ms = (int64_t)head[1],
                                         .models = models_listed + (uint32_t)unlisted,
                                         .numbers_count = (uint32_t)count - HEAD_MIN};
        memcpy(ret_image->numbers, head + HEAD_MIN, ret_image->numbers_count * sizeof *head);
        return 0;
}
