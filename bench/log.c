/* What keeping a state costs: a whole one as a snapshot's bytes and back, facts as the log's JSON
 * and back. 10,000 nodes of 8 devices, all taken; 100,000 workloads wait. One thread. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "bench/bench.h"
#include "engine/decide.h"
#include "proto/log_fact.h"
#include "proto/model_doc.h"
#include "proto/state_image.h"

enum { NODES = 10000, PER_NODE = 8, WAITING = 100000, FACTS_KEPT = 60000, ROUNDS = 5 };

struct kept {
        struct fact *facts;
        size_t count;
};

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "bench-log: %s\n", err->text);
        exit(1);
}

static void check_memory(bool good)
{
        struct err err = {.code = ERR_NOMEM, .text = "out of memory"};

        check(good ? 0 : -ERR_NOMEM, &err);
}

/* ---- the state ---- */

/* One of three, so that nodes, submissions and placements are all there. */
static void keep(void *arg, const struct fact *fact)
{
        static uint64_t seen;
        struct kept *kept = arg;

        if (seen++ % 3 == 0 && kept->count < FACTS_KEPT)
                kept->facts[kept->count++] = *fact;
}

static void join_all(struct state *state, struct memo *memo, struct kept *kept)
{
        struct err err = {0};

        for (unsigned n = 0; n < NODES; n++) {
                struct input input = {.kind = INPUT_NODE_JOINED,
                                      .node = {.devices = PER_NODE,
                                               .cpu_milli = 128000,
                                               .ram_mib = 2u << 20,
                                               .disk_mib = 8u << 20,
                                               .network_mbit = 400000}};
                char name[24];
                snprintf(name, sizeof name, "gpu-%05u", n);
                int word = vocab_name(state->vocab, name, &err);
                check(word < 0 ? word : 0, &err);
                input.node.name = (uint32_t)word;
                check(engine_run(state, memo, &input, 0, keep, kept, &err), &err);
        }
}

/* The first ones take all devices there are; of 64 different needs. */
static void submit_all(struct state *state, struct memo *memo, struct kept *kept)
{
        struct err err = {0};

        for (uint64_t id = 1; id <= NODES + WAITING; id++) {
                struct input input = {
                        .kind = INPUT_SUBMITTED,
                        .request = {.workload = id * 0x9e3779b97f4a7c15u,
                                    .need = {.models = UINT64_MAX,
                                             .cpu_milli = 1000 + 1000 * (uint32_t)(id % 64),
                                             .ram_mib = 65536,
                                             .ask = ASK_WHOLE,
                                             .devices = PER_NODE},
                                    .form = {.members = 1},
                                    .time_limit_ms = 86400000,
                                    .checkpoint_every_ms = 1800000}};
                check(engine_run(state, memo, &input, (int64_t)id, keep, kept, &err), &err);
        }
}

static struct state *make_state(const struct model_table *models, struct kept *kept)
{
        struct state_bounds bounds = {.nodes_max = NODES,
                                      .workloads_max = 2 * (NODES + WAITING),
                                      .shapes_max = 256,
                                      .buckets_max = 1024};
        struct state *state = state_new(models, &bounds);
        struct memo *memo = memo_new((struct policy){.kind = POLICY_AUTO}, MEMO_INDEXED);

        kept->facts = mem_new(FACTS_KEPT, sizeof *kept->facts);
        check_memory(state && memo && kept->facts);
        join_all(state, memo, kept);
        submit_all(state, memo, kept);
        memo_free(memo);
        if (state->waiting != WAITING || state->member_slots.used != NODES) {
                fprintf(stderr, "bench-log: the pool is not as full as it should be\n");
                exit(1);
        }
        return state;
}

/* ---- snapshots ---- */

static void bench_image(const struct state *state)
{
        double write_s[ROUNDS], read_s[ROUNDS], bytes = 0;
        struct err err = {0};

        for (unsigned r = 0; r < ROUNDS; r++) {
                struct text text = {0};
                struct state *back;
                int64_t start_ns = time_cpu_ns();
                state_image_write(state, &text);
                int64_t written_ns = time_cpu_ns();
                check_memory(!text.failed);
                check(state_image_read(text.bytes, text.size, state->models, NULL, &back, &err),
                      &err);
                read_s[r] = (double)(time_cpu_ns() - written_ns) / 1e9;
                write_s[r] = (double)(written_ns - start_ns) / 1e9;
                bytes = (double)text.size;
                text_done(&text);
                state_free(back);
        }
        bench_figure("log.state_write", bench_median(write_s, ROUNDS) * 1e3, "ms", 0, NULL);
        bench_figure("log.state_read", bench_median(read_s, ROUNDS) * 1e3, "ms", 0, NULL);
        bench_figure("log.state_bytes", bytes / (1 << 20), "MiB", 0, NULL);
}

/* ---- facts ---- */

static void write_facts(const struct kept *kept, struct text *text, size_t *ends)
{
        for (size_t f = 0; f < kept->count; f++) {
                log_fact_write(&kept->facts[f], text);
                ends[f] = text->size;
        }
        check_memory(!text->failed);
}

static void read_facts(const struct kept *kept, const struct text *text, const size_t *ends)
{
        size_t from = 0;

        for (size_t f = 0; f < kept->count; from = ends[f++]) {
                struct err err = {.text = "a fact is no JSON"};
                struct fact fact;
                json_t *object = json_loadb(text->bytes + from, ends[f] - from, 0, NULL);
                check(object ? log_fact_read(object, &fact, &err) : -ERR_INPUT, &err);
                json_decref(object);
        }
}

static void bench_facts(const struct kept *kept)
{
        size_t *ends = mem_new(kept->count, sizeof *ends);
        double write_s[ROUNDS], read_s[ROUNDS], bytes = 0, count = (double)kept->count;

        check_memory(ends != NULL);
        for (unsigned r = 0; r < ROUNDS; r++) {
                struct text text = {0};
                int64_t start_ns = time_cpu_ns();
                write_facts(kept, &text, ends);
                int64_t written_ns = time_cpu_ns();
                read_facts(kept, &text, ends);
                read_s[r] = (double)(time_cpu_ns() - written_ns) / 1e9;
                write_s[r] = (double)(written_ns - start_ns) / 1e9;
                bytes = (double)text.size;
                text_done(&text);
        }
        bench_figure("log.fact_write", count / bench_median(write_s, ROUNDS), "/s", 0, NULL);
        bench_figure("log.fact_read", count / bench_median(read_s, ROUNDS), "/s", 0, NULL);
        bench_figure("log.fact_bytes", bytes / count, "B", 0, NULL);
        mem_free(ends);
}

int main(void)
{
        struct model_table *models = model_table_new();
        struct kept kept = {0};
        struct err err = {0};

        check_memory(models != NULL);
        check(model_doc_builtin(models, &err), &err);
        struct state *state = make_state(models, &kept);
        bench_image(state);
        bench_facts(&kept);
        mem_free(kept.facts);
        state_free(state);
        model_table_free(models);
        return 0;
}
