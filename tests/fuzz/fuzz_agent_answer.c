/* fuzz_agent_answer.c - an answer that is accepted holds what the agent counts on, and each of its
 * runs, written to its folder, is read again as the same. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/exchange.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_run(const struct run_spec *run)
{
        assert(run->key.workload >= 1 && run->key.workload <= EXCHANGE_WORKLOAD_MAX);
        assert(run->key.member <= EXCHANGE_MEMBER_MAX && run->key.epoch >= 1);
        assert(run->command_count >= 1 && run->command_count <= EXCHANGE_WORDS_MAX);
        assert(run->command[0][0] != '\0');
        assert(run->rank < run->world);
        for (uint32_t i = 0; i < run->env_count; i++)
                assert(run->env_names[i][0] && !strchr(run->env_names[i], '='));
        for (uint32_t i = 0; i < run->devices_count; i++)
                assert(run->devices[i].index < 64 && run->devices[i].method < RUN_METHODS_END);
        assert(!run->stop.cause || run->stop.until_ms >= 0);
}

static void check_again(const struct run_spec *run)
{
        struct text text = {0}, second = {0};
        struct arena *arena = arena_new(0, 0);
        struct run_spec again;
        struct doc *doc;
        struct err err;

        exchange_write_run(&text, run);
        int rc = doc_read_json("run", text.bytes, text.size, &doc, &err);
        assert(rc == 0);
        rc = exchange_read_run(doc_root(doc, 0), arena, &again, &err);
        assert(rc == 0);
        exchange_write_run(&second, &again);
        assert(second.size == text.size && memcmp(second.bytes, text.bytes, text.size) == 0);
        doc_free(doc);
        arena_free(arena);
        text_done(&text);
        text_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct exchange_answer *answer;
        struct err err = {0};

        if (exchange_read((const char *)data, size, &answer, &err) < 0) {
                assert(err.text[0] != '\0');
                return 0;
        }
        assert(answer->runs_count <= EXCHANGE_RUNS_MAX && answer->lease_ms > 0);
        for (uint32_t i = 0; i < answer->runs_count; i++) {
                check_run(&answer->runs[i]);
                check_again(&answer->runs[i]);
        }
        for (uint32_t i = 0; i < answer->wants_count; i++)
                assert(answer->wants[i].bytes <= EXCHANGE_LOG_BYTES_MAX);
        for (uint32_t i = 0; i < answer->attaches_count; i++) {
                const struct exchange_attach *attach = &answer->attaches[i];
                assert(attach->session[0] && !strpbrk(attach->session, "/.?&"));
                assert(attach->rows > 0 && attach->columns > 0);
                assert(attach->command_count == 0 || attach->command[0][0]);
        }
        exchange_free(answer);
        return 0;
}
