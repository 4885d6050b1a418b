#include "tests/property/renamed.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

struct lines {
        char *text;
        size_t size, room;
        bool failed;
};

static void put(struct lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct lines *lines, const char *format, ...)
{
        char line[2048];
        va_list args;

        va_start(args, format);
        int n = vsnprintf(line, sizeof line, format, args);
        va_end(args);
        if (n < 0 || (size_t)n >= sizeof line || lines->failed) {
                lines->failed = true;
                return;
        }
        if (lines->size + (size_t)n + 1 > lines->room) {
                size_t room = lines->room * 2 + 4096;
                char *text = mem_resize(lines->text, lines->room, room, 1);
                if (!text) {
                        lines->failed = true;
                        return;
                }
                lines->text = text;
                lines->room = room;
        }
        memcpy(lines->text + lines->size, line, (size_t)n + 1);
        lines->size += (size_t)n;
}

/* By content, so that it does not hang on the order in which models turn up. */
static uint64_t hash_of(const char *name, size_t length, uint64_t seed)
{
        uint64_t hash = map_mix(seed + 1);

        for (size_t i = 0; i < length; i++)
                hash = map_mix(hash ^ (unsigned char)name[i]) + 1;
        return hash;
}

static void model_name(char *ret_name, size_t size, const char *name, size_t length, bool plain,
                       uint64_t seed)
{
        if (plain || length == 0)
                snprintf(ret_name, size, "%.*s", (int)length, name);
        else
                snprintf(ret_name, size, "M%016" PRIx64, hash_of(name, length, seed));
}

static void write_spec(struct lines *lines, const char *spec, bool plain, struct rng *rng,
                       uint64_t seed)
{
        const char *parts[64];
        size_t lengths[64];
        uint32_t order[64], count = 0;
        char name[128];

        for (const char *at = spec; *at && count < 64;) {
                size_t length = strcspn(at, "|");
                order[count] = count;
                parts[count] = at;
                lengths[count++] = length;
                at += length + (at[length] == '|');
        }
        if (!plain)
                rng_shuffle(rng, order, count);
        for (uint32_t i = 0; i < count; i++) {
                model_name(name, sizeof name, parts[order[i]], lengths[order[i]], plain, seed);
                put(lines, "%s%s", i ? "|" : "", name);
        }
}

static uint32_t *order_of(size_t count, bool plain, struct rng *rng)
{
        uint32_t *order = mem_new(count, sizeof *order);

        for (size_t i = 0; order && i < count; i++)
                order[i] = (uint32_t)i;
        if (order && !plain)
                rng_shuffle(rng, order, count);
        return order;
}

static void write_node(struct lines *lines, const struct openb_node *row, uint32_t number,
                       bool plain, uint64_t seed)
{
        char model[128];

        model_name(model, sizeof model, row->model, strlen(row->model), plain, seed);
        if (plain)
                put(lines, "%s", row->name);
        else
                put(lines, "x%08x-%u", (unsigned)hash_of(row->name, strlen(row->name), seed),
                    number);
        put(lines, ",%u,%u,%u,%s\n", row->cpu_milli, row->memory_mib, row->gpu_count, model);
}

int renamed_write(const struct openb_nodes *nodes, const struct openb_pods *pods, bool plain,
                  uint64_t seed, char **ret_nodes, char **ret_pods)
{
        struct lines node_lines = {0}, pod_lines = {0};
        struct rng rng;

        rng_init(&rng, seed);
        uint32_t *node_order = order_of(nodes->count, plain, &rng);
        uint32_t *pod_order = order_of(pods->count, plain, &rng);
        bool good = node_order && pod_order;

        put(&node_lines, "sn,cpu_milli,memory_mib,gpu,model\n");
        for (uint32_t i = 0; good && i < nodes->count; i++)
                write_node(&node_lines, &nodes->rows[node_order[i]], i, plain, seed);
        put(&pod_lines, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n");
        for (uint32_t i = 0; good && i < pods->count; i++) {
                const struct openb_pod *row = &pods->rows[pod_order[i]];
                put(&pod_lines, "%s%u,%u,%u,%u,%u,", plain ? "pod-" : "q", plain ? i : 900000 - i,
                    row->cpu_milli, row->memory_mib, row->gpu_count, row->gpu_milli);
                write_spec(&pod_lines, row->gpu_spec, plain, &rng, seed);
                put(&pod_lines, "\n");
        }
        mem_free(node_order);
        mem_free(pod_order);
        if (!good || node_lines.failed || pod_lines.failed) {
                mem_free(node_lines.text);
                mem_free(pod_lines.text);
                return -ERR_NOMEM;
        }
        *ret_nodes = node_lines.text;
        *ret_pods = pod_lines.text;
        return 0;
}
