#include "trace/openb.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

enum node_column { NODE_SN, NODE_CPU, NODE_MEMORY, NODE_GPU, NODE_MODEL, NODE_COLUMNS };

static const struct csv_column node_columns[NODE_COLUMNS] = {
        [NODE_SN] = {"sn", CSV_REQUIRED},
        [NODE_CPU] = {"cpu_milli", CSV_REQUIRED},
        [NODE_MEMORY] = {"memory_mib", CSV_REQUIRED},
        [NODE_GPU] = {"gpu", CSV_REQUIRED},
        [NODE_MODEL] = {"model", CSV_REQUIRED},
};

enum pod_column {
        POD_NAME,
        POD_CPU,
        POD_MEMORY,
        POD_GPUS,
        POD_GPU_MILLI,
        POD_SPEC,
        POD_QOS,
        POD_PHASE,
        POD_CREATED,
        POD_DELETED,
        POD_SCHEDULED,
        POD_COLUMNS
};

static const struct csv_column pod_columns[POD_COLUMNS] = {
        [POD_NAME] = {"name", CSV_REQUIRED},
        [POD_CPU] = {"cpu_milli", CSV_REQUIRED},
        [POD_MEMORY] = {"memory_mib", CSV_REQUIRED},
        [POD_GPUS] = {"num_gpu", CSV_REQUIRED},
        [POD_GPU_MILLI] = {"gpu_milli", CSV_REQUIRED},
        [POD_SPEC] = {"gpu_spec", CSV_OPTIONAL},
        [POD_QOS] = {"qos", CSV_OPTIONAL},
        [POD_PHASE] = {"pod_phase", CSV_OPTIONAL},
        [POD_CREATED] = {"creation_time", CSV_OPTIONAL},
        [POD_DELETED] = {"deletion_time", CSV_OPTIONAL},
        [POD_SCHEDULED] = {"scheduled_time", CSV_OPTIONAL},
};

/* A list that grows row by row. */
struct rows {
        void *rows;
        size_t count;
        uint32_t room;
        size_t row_bytes;
        struct arena *arena;
        struct map seen;                /* names, of what may be there once only */
};

static int fail_nomem(const struct csv *csv, struct err *err)
{
        csv_fail_row(csv, err, "out of memory");
        if (err)
                err->code = ERR_NOMEM;
        return -ERR_NOMEM;
}

/* Copies the row in. */
static int add_row(struct rows *rows, const struct csv *csv, const void *row, struct err *err)
{
        if (rows->count >= OPENB_ROWS_MAX)
                return csv_fail_row(csv, err, "the list has more than %d rows", OPENB_ROWS_MAX);
        void *grown = mem_grow(rows->rows, rows->count, &rows->room, 1024, rows->row_bytes);
        if (!grown)
                return fail_nomem(csv, err);
        rows->rows = grown;
        memcpy((char *)rows->rows + rows->count * rows->row_bytes, row, rows->row_bytes);
        rows->count++;
        return 0;
}

/* A text field, copied; "" where its column is absent. `last` is what the row before had: most
 * rows repeat it, and then share the copy. */
static int read_text(struct rows *rows, const struct csv *csv, unsigned column, size_t min_bytes,
                     size_t max_bytes, const char *last, const char **ret_text, struct err *err)
{
        const char *text = "";
        int rc = csv_text(csv, column, min_bytes, max_bytes, &text, err);
        if (rc < 0)
                return rc;
        for (const char *c = text; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return csv_fail(csv, column, err, "holds a control character");
        if (text[0] == '\0') {
                *ret_text = "";
        } else if (last && str_equal(last, text)) {
                *ret_text = last;
        } else {
                *ret_text = arena_text(rows->arena, text, strlen(text));
                if (!*ret_text)
                        return fail_nomem(csv, err);
        }
        return 0;
}

/* Puts the row's name in the set; -ERR_INPUT when it stands there already. The map's key is the
 * name's hash, moved on by one while another name has it. */
static int check_unique(struct rows *rows, const struct csv *csv, const char *name,
                        struct err *err)
{
        const struct openb_node *nodes = rows->rows;
        uint64_t key = XXH3_64bits(name, strlen(name));
        for (uint32_t at; (at = map_get(&rows->seen, key)) != MAP_NONE; key++)
                if (str_equal(nodes[at].name, name)) {
                        char show[STR_SHOW_MAX];
                        return csv_fail(csv, NODE_SN, err, "'%s' stands here a second time; give "
                                        "each node its own name", str_show(name, show));
                }
        if (map_set(&rows->seen, key, (uint32_t)rows->count) < 0)
                return fail_nomem(csv, err);
        return 0;
}

/* What a device model can be called; a bar stands between models in a pod's gpu_spec. */
static int check_model(const struct csv *csv, const char *model, struct err *err)
{
        char show[STR_SHOW_MAX];

        bool ok = model[0] != ' ' && (!model[0] || model[strlen(model) - 1] != ' ');

        for (const char *c = model; *c; c++)
                ok = ok && *c >= 0x20 && *c < 0x7f && *c != '*' && *c != '|';
        if (!ok)
                return csv_fail(csv, NODE_MODEL, err,
                                "'%s' is no name of a model; write ASCII without '*', '|' and "
                                "blanks around it", str_show(model, show));
        return 0;
}

static int read_node(struct rows *rows, const struct csv *csv, const void *before, struct err *err)
{
        const struct openb_node *last = before;
        struct openb_node node = {.line = csv_line(csv)};
        int rc;
        if ((rc = read_text(rows, csv, NODE_SN, 1, OPENB_NAME_MAX, NULL, &node.name, err)) < 0 ||
            (rc = csv_u32(csv, NODE_CPU, 0, OPENB_CPU_MILLI_MAX, &node.cpu_milli, err)) < 0 ||
            (rc = csv_u32(csv, NODE_MEMORY, 0, OPENB_MEMORY_MIB_MAX, &node.memory_mib, err)) < 0 ||
            (rc = csv_u32(csv, NODE_GPU, 0, OPENB_GPUS_MAX, &node.gpu_count, err)) < 0 ||
            (rc = read_text(rows, csv, NODE_MODEL, 0, OPENB_MODEL_MAX, last ? last->model : NULL,
                            &node.model, err)) < 0 ||
            (rc = check_model(csv, node.model, err)) < 0 ||
            (rc = check_unique(rows, csv, node.name, err)) < 0)
                return rc;
        if (node.gpu_count > 0 && node.model[0] == '\0')
                return csv_fail(csv, NODE_MODEL, err,
                                "is empty and the node has %u devices; name their model",
                                node.gpu_count);
        return add_row(rows, csv, &node, err);
}

/* "A100|H100": no empty name between, before or behind the bars. */
static int check_spec(const struct csv *csv, const char *spec, struct err *err)
{
        size_t length = strlen(spec);
        if (length > 0 && (spec[0] == '|' || spec[length - 1] == '|' || strstr(spec, "||"))) {
                char show[STR_SHOW_MAX];
                return csv_fail(csv, POD_SPEC, err,
                                "'%s' holds an empty model name; write names joined by '|'",
                                str_show(spec, show));
        }
        return 0;
}

static int check_gpu_milli(const struct csv *csv, const struct openb_pod *pod, struct err *err)
{
        if (pod->gpu_count == 0 && pod->gpu_milli != 0)
                return csv_fail(csv, POD_GPU_MILLI, err,
                                "is %u and num_gpu is 0; write 0, or a num_gpu", pod->gpu_milli);
        if (pod->gpu_count > 0 && pod->gpu_milli == 0)
                return csv_fail(csv, POD_GPU_MILLI, err,
                                "is 0 and num_gpu is %u; write 1 to 1000 (a whole device)",
                                pod->gpu_count);
        if (pod->gpu_count > 1 && pod->gpu_milli != 1000)
                return csv_fail(csv, POD_GPU_MILLI, err,
                                "is %u and num_gpu is %u; only one device can be shared, write "
                                "1000", pod->gpu_milli, pod->gpu_count);
        return 0;
}

static int read_time(const struct csv *csv, unsigned column, int64_t *ret_time_s, struct err *err)
{
        *ret_time_s = OPENB_TIME_NONE;
        if (csv_raw(csv, column)[0] == '\0')
                return 0;
        return csv_i64(csv, column, 0, OPENB_TIME_S_MAX, ret_time_s, err);
}

static int read_pod(struct rows *rows, const struct csv *csv, const void *before, struct err *err)
{
        static const struct openb_pod none = {0};
        const struct openb_pod *last = before ? before : &none;
        struct openb_pod pod = {0};
        int rc;
        if ((rc = read_text(rows, csv, POD_NAME, 1, OPENB_NAME_MAX, NULL, &pod.name, err)) < 0 ||
            (rc = csv_u32(csv, POD_CPU, 0, OPENB_CPU_MILLI_MAX, &pod.cpu_milli, err)) < 0 ||
            (rc = csv_u32(csv, POD_MEMORY, 0, OPENB_MEMORY_MIB_MAX, &pod.memory_mib, err)) < 0 ||
            (rc = csv_u32(csv, POD_GPUS, 0, OPENB_GPUS_MAX, &pod.gpu_count, err)) < 0 ||
            (rc = csv_u32(csv, POD_GPU_MILLI, 0, 1000, &pod.gpu_milli, err)) < 0 ||
            (rc = check_gpu_milli(csv, &pod, err)) < 0 ||
            (rc = read_text(rows, csv, POD_SPEC, 0, OPENB_SPEC_MAX, last->gpu_spec,
                            &pod.gpu_spec, err)) < 0 ||
            (rc = check_spec(csv, pod.gpu_spec, err)) < 0 ||
            (rc = read_text(rows, csv, POD_QOS, 0, OPENB_NAME_MAX, last->qos, &pod.qos,
                            err)) < 0 ||
            (rc = read_text(rows, csv, POD_PHASE, 0, OPENB_NAME_MAX, last->phase, &pod.phase,
                            err)) < 0 ||
            (rc = read_time(csv, POD_CREATED, &pod.created_s, err)) < 0 ||
            (rc = read_time(csv, POD_DELETED, &pod.deleted_s, err)) < 0 ||
            (rc = read_time(csv, POD_SCHEDULED, &pod.scheduled_s, err)) < 0)
                return rc;
        return add_row(rows, csv, &pod, err);
}

static void rows_done(struct rows *rows)
{
        mem_free(rows->rows);
        arena_free(rows->arena);
        map_done(&rows->seen);
        *rows = (struct rows){0};
}

/* Reads a row and adds it; `before` is the row before it, NULL at the first. */
typedef int read_row(struct rows *rows, const struct csv *csv, const void *before,
                     struct err *err);

static int read_rows(struct rows *rows, struct csv *csv, read_row *read, struct err *err)
{
        int rc;

        while ((rc = csv_next(csv, err)) > 0) {
                const char *all = rows->rows;
                rc = read(rows, csv, all ? all + (rows->count - 1) * rows->row_bytes : NULL, err);
                if (rc < 0)
                        return rc;
        }
        if (rc == 0 && rows->count == 0)
                rc = csv_fail_row(csv, err, "no row follows the first line; the list is empty");
        return rc;
}

static int parse(const char *name, const char *bytes, size_t size, const struct csv_column *columns,
                 size_t columns_count, read_row *read, struct rows *rows, struct err *err)
{
        assert(name);

        struct csv *csv = NULL;
        rows->arena = arena_new(0, 0);
        map_init(&rows->seen, OPENB_ROWS_MAX);
        int rc = rows->arena ? csv_new(name, bytes, size, columns, columns_count, &csv, err)
                             : err_set(err, ERR_NOMEM, "%s: out of memory", name);
        if (rc == 0)
                rc = read_rows(rows, csv, read, err);
        csv_free(csv);
        if (rc < 0)
                rows_done(rows);
        return rc;
}

int openb_nodes_parse(const char *name, const char *bytes, size_t size,
                      struct openb_nodes *ret_nodes, struct err *err)
{
        struct rows rows = {.row_bytes = sizeof(struct openb_node)};
        int rc = parse(name, bytes, size, node_columns, NODE_COLUMNS, read_node, &rows, err);

        if (rc < 0)
                return rc;
        map_done(&rows.seen);
        *ret_nodes = (struct openb_nodes){rows.rows, rows.count, rows.arena};
        return 0;
}

int openb_pods_parse(const char *name, const char *bytes, size_t size,
                     struct openb_pods *ret_pods, struct err *err)
{
        struct rows rows = {.row_bytes = sizeof(struct openb_pod)};
        int rc = parse(name, bytes, size, pod_columns, POD_COLUMNS, read_pod, &rows, err);

        if (rc < 0)
                return rc;
        map_done(&rows.seen);
        *ret_pods = (struct openb_pods){rows.rows, rows.count, rows.arena};
        return 0;
}

void openb_nodes_done(struct openb_nodes *nodes)
{
        if (!nodes)
                return;
        mem_free(nodes->rows);
        arena_free(nodes->arena);
        *nodes = (struct openb_nodes){0};
}

void openb_pods_done(struct openb_pods *pods)
{
        if (!pods)
                return;
        mem_free(pods->rows);
        arena_free(pods->arena);
        *pods = (struct openb_pods){0};
}

int openb_nodes_read(const char *path, struct openb_nodes *ret_nodes, struct err *err)
{
        char *bytes;
        size_t size;
        int rc = file_read(path, OPENB_FILE_BYTES_MAX, &bytes, &size, err);
        if (rc < 0)
                return rc;
        rc = openb_nodes_parse(path, bytes, size, ret_nodes, err);
        mem_free(bytes);
        return rc;
}

int openb_pods_read(const char *path, struct openb_pods *ret_pods, struct err *err)
{
        char *bytes;
        size_t size;
        int rc = file_read(path, OPENB_FILE_BYTES_MAX, &bytes, &size, err);
        if (rc < 0)
                return rc;
        rc = openb_pods_parse(path, bytes, size, ret_pods, err);
        mem_free(bytes);
        return rc;
}
