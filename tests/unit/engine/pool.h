/* pool.h - one pool, its memo, and the facts of the last input, for the tests of decisions. */
#pragma once

#include "base/mem.h"
#include "engine/decide.h"
#include "tests/unit/models.h"

/* ---- a pool and what was decided of it ---- */

#define SEEN_MAX 512

static struct state *pool;
static struct memo *memo;
static struct fact seen[SEEN_MAX];
static unsigned seen_count;
static int64_t now_ms;

static inline void open_bounded(const struct state_bounds *bounds)
{
        pool = state_new(models, bounds);
        memo = memo_new((struct policy){.kind = POLICY_FIRST_FIT}, MEMO_INDEXED);
        assert_non_null(pool);
        assert_non_null(memo);
        now_ms = 1000;
        seen_count = 0;
}

static inline int open_pool(void **state)
{
        (void)state;
        open_bounded(&(struct state_bounds){.nodes_max = 16});
        return 0;
}

static inline int close_pool(void **state)
{
        (void)state;
        memo_free(memo);
        state_free(pool);
        memo = NULL;
        pool = NULL;
        return 0;
}

static inline void keep_fact(void *arg, const struct fact *fact)
{
        (void)arg;
        assert_true(seen_count < SEEN_MAX);
        seen[seen_count++] = *fact;
}

static inline int run(const struct input *input, struct err *err)
{
        seen_count = 0;
        int rc = engine_run(pool, memo, input, now_ms, keep_fact, NULL, err);
        state_check(pool);
        return rc;
}

static inline void must(const struct input *input)
{
        struct err err = {0};

        if (run(input, &err))
                fail_msg("%s: %s", input_name(input->kind), err.text);
}

/* The input fails so, says so, and leaves the state alone. */
static inline void must_fail(const struct input *input, int rc, const char *names)
{
        struct err err = {0};
        uint64_t hash = state_hash(pool);
        int got = run(input, &err);

        if (got != rc)
                fail_msg("%s: %d instead of %d (%s)", input_name(input->kind), got, rc, err.text);
        assert_int_equal(err.code, -rc);
        check_has(err.text, names);
        assert_int_equal(seen_count, 0);
        assert_true(state_hash(pool) == hash);
}

static inline unsigned count_facts(enum fact_kind kind)
{
        unsigned count = 0;

        for (unsigned i = 0; i < seen_count; i++)
                count += seen[i].kind == kind;
        return count;
}

static inline const struct fact *find_fact(enum fact_kind kind)
{
        for (unsigned i = 0; i < seen_count; i++)
                if (seen[i].kind == kind)
                        return &seen[i];
        fail_msg("there is no fact '%s'", fact_name(kind));
        return NULL;
}

/* ---- inputs ---- */

static inline uint32_t name(const char *text)
{
        return (uint32_t)vocab_name(pool->vocab, text, NULL);
}

static inline uint16_t word(const char *text)
{
        return (uint16_t)vocab_word(pool->vocab, text, NULL);
}

static inline struct node_desc node(const char *text, const char *model, unsigned devices)
{
        return (struct node_desc){.name = name(text),
                                  .model = model_id(model),
                                  .devices = (uint8_t)devices,
                                  .cpu_milli = 16000,
                                  .ram_mib = 65536,
                                  .disk_mib = 1000000,
                                  .network_mbit = 10000};
}

static inline void join(const char *text, const char *model, unsigned devices)
{
        must(&(struct input){.kind = INPUT_NODE_JOINED, .node = node(text, model, devices)});
}

static inline struct request ask(uint64_t id, unsigned devices)
{
        return (struct request){.workload = id,
                                .need = {.models = UINT64_MAX,
                                         .ask = devices ? ASK_WHOLE : ASK_NOTHING,
                                         .devices = (uint8_t)devices},
                                .form = {.members = 1}};
}

static inline struct request ask_slice(uint64_t id, const char *profile)
{
        struct request request = ask(id, 1);

        request.need.ask = ASK_PROFILE;
        request.need.profile = word(profile);
        return request;
}

static inline struct request ask_share(uint64_t id, uint16_t milli)
{
        struct request request = ask(id, 1);

        request.need.ask = ASK_SHARE;
        request.need.share_milli = milli;
        return request;
}

static inline void submit(struct request request)
{
        must(&(struct input){.kind = INPUT_SUBMITTED, .request = request});
}

static inline void leave(enum input_kind kind, uint64_t id)
{
        must(&(struct input){.kind = kind, .workload = id});
}

static inline bool is_placed(uint64_t id)
{
        uint32_t slot = state_workload(pool, id);

        return slot != NONE && pool->workloads[slot].members_placed > 0;
}

static inline bool is_waiting(uint64_t id)
{
        uint32_t slot = state_workload(pool, id);

        return slot != NONE && pool->workloads[slot].members_placed == 0;
}
