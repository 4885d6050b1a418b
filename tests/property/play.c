#include "tests/property/play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "engine/accounts.h"
#include "proto/policy_doc.h"

bool play_fail(struct play *play, const char *format, ...)
{
        va_list args;

        if (play->why[0] != '\0')
                return false;
        va_start(args, format);
        vsnprintf(play->why, sizeof play->why, format, args);
        va_end(args);
        return false;
}

/* ---- life ---- */

static bool read_policy(struct play *play, const char *text)
{
        struct err err = {0};
        struct doc *doc;

        if (doc_read_yaml("policy", text, strlen(text), &doc, &err) < 0)
                return play_fail(play, "%s", err.text);
        int rc = policy_doc_decode(doc_root(doc, 0), play->models, NULL, &play->policy, &err);
        doc_free(doc);
        return rc == 0 || play_fail(play, "%s", err.text);
}

static bool set_policy(struct play *play)
{
        struct err err = {0};
        struct input input = {.kind = INPUT_POLICY_SET,
                              .accounts = accounts_new(play->policy->tenancy, &err)};

        return input.accounts ? play_input(play, &input) : play_fail(play, "%s", err.text);
}

bool play_open(struct play *play, const struct model_table *models, const char *policy,
               uint64_t seed, int64_t now_ms, int64_t tick_ms)
{
        static const struct state_bounds bounds = {.nodes_max = PLAY_NODES,
                                                   .workloads_max = PLAY_WORKS,
                                                   .members_max = 2048,
                                                   .parts_max = 4096,
                                                   .shapes_max = 256,
                                                   .buckets_max = 1024,
                                                   .plans_max = 64};
        struct policy placement = {.kind = (enum policy_kind)(seed % POLICIES_END), .seed = seed};

        play->models = models;
        play->now_ms = play->ticked_ms = now_ms;
        play->tick_ms = tick_ms;
        play->state = state_new(models, &bounds);
        play->memo = memo_new(placement, MEMO_INDEXED);
        if (!play->state || !play->memo)
                return play_fail(play, "out of memory");
        return read_policy(play, policy) && set_policy(play) &&
               play_input(play, &(struct input){.kind = INPUT_TICKED});
}

void play_close(struct play *play)
{
        memo_free(play->memo);
        state_free(play->state);
        policy_doc_free(play->policy);
        play->memo = NULL;
        play->state = NULL;
        play->policy = NULL;
}

const struct tenancy *play_tenancy(const struct play *play)
{
        return play->policy->tenancy;
}

/* ---- what facts mean ---- */

struct play_work *play_work(struct play *play, uint64_t id)
{
        return &play->works[id % PLAY_WORKS];
}

int64_t play_waited_ms(const struct play *play, const struct play_work *work)
{
        return work->waited_ms + (work->status == PLAY_WAITS ? play->now_ms - work->since_ms : 0);
}

static void starts(struct play *play, const struct fact_allocated *fact)
{
        struct play_work *work = play_work(play, fact->workload);

        if (work->status == PLAY_RUNS)
                return;                 /* another member of a gang */
        work->waited_ms = play_waited_ms(play, work);
        work->status = PLAY_RUNS;
        work->standing = (enum standing)fact->standing;
        work->promise = fact->promise;
        work->since_ms = play->now_ms;
        work->saved_ms = 0;
        work->started++;
}

static void waits_again(struct play *play, const struct fact_requeued *fact)
{
        struct play_work *work = play_work(play, fact->workload);

        work->status = PLAY_WAITS;
        work->since_ms = play->now_ms;
        work->attained_ms = fact->attained_ms;
        work->notice_until_ms = 0;
}

static void follow(struct play *play, const struct fact *fact)
{
        switch (fact->kind) {
        case FACT_ALLOCATED:
                starts(play, &fact->allocated);
                break;
        case FACT_RELEASED:
                play_work(play, fact->released.workload)->status = PLAY_GONE;
                break;
        case FACT_REFUSED:
                play_work(play, fact->refused.workload)->status = PLAY_GONE;
                break;
        case FACT_REQUEUED:
                waits_again(play, &fact->requeued);
                break;
        case FACT_NOTICED:
                play_work(play, fact->noticed.workload)->notice_until_ms =
                        fact->noticed.until_ms ? fact->noticed.until_ms : 1;
                break;
        case FACT_NOTICE_WITHDRAWN:
                play_work(play, fact->stays)->notice_until_ms = 0;
                break;
        case FACT_RESCUED:
                play_work(play, fact->rescued)->rescued = true;
                break;
        case FACT_STANDING_SET:
                play_work(play, fact->standing.workload)->standing = fact->standing.standing;
                play_work(play, fact->standing.workload)->promise = fact->standing.promise;
                break;
        default:
                break;
        }
}

/* Victims of a plan that is withdrawn may stay: no fact names them. */
static void follow_plan(struct play *play, const struct fact *fact)
{
        for (unsigned w = 0; w < play->high && fact->kind == FACT_PLAN_ENDED; w++) {
                struct play_work *work = &play->works[w];
                uint32_t slot = work->status == PLAY_RUNS
                                        ? state_workload(play->state, work->request.workload)
                                        : NONE;
                if (slot != NONE && play->state->workloads[slot].plan == fact->plan_ended.plan + 1)
                        work->notice_until_ms = 0;
        }
}

static void see(void *arg, const struct fact *fact)
{
        struct play *play = arg;

        if (play->see)
                play->see(play->arg, fact);
        follow_plan(play, fact);
        follow(play, fact);
}

/* ---- what is done ---- */

bool play_input(struct play *play, const struct input *input)
{
        struct err err = {0};
        int rc = engine_run(play->state, play->memo, input, play->now_ms, see, play, &err);

        play->inputs++;
        if (rc)
                return play_fail(play, "%s fails: %s", input_name(input->kind), err.text);
        return play->why[0] == '\0';
}

bool play_join(struct play *play, unsigned number, unsigned model, unsigned devices)
{
        struct input input = {.kind = INPUT_NODE_JOINED,
                              .node = {.model = (uint8_t)model,
                                       .devices = (uint8_t)devices,
                                       .cpu_milli = 1000000,
                                       .ram_mib = 1000000,
                                       .disk_mib = 1000000,
                                       .network_mbit = 100000}};
        char name[16];

        snprintf(name, sizeof name, "n%u", number);
        int word = vocab_name(play->state->vocab, name, NULL);
        if (word < 0)
                return play_fail(play, "no room for the name of a node");
        input.node.name = (uint32_t)word;
        return play_input(play, &input);
}

uint64_t play_submit(struct play *play, struct request request, int64_t need_ms)
{
        struct input input = {.kind = INPUT_SUBMITTED};
        unsigned place = 0;

        while (place < PLAY_WORKS && play->works[place].status != PLAY_GONE)
                place++;
        if (place == PLAY_WORKS) {
                play_fail(play, "too much work at a time");
                return 0;
        }
        if (place >= play->high)
                play->high = place + 1;
        request.workload = ++play->submitted * PLAY_WORKS + place;
        play->works[place] = (struct play_work){.request = request,
                                                .status = PLAY_WAITS,
                                                .need_ms = need_ms,
                                                .since_ms = play->now_ms};
        input.request = request;
        if (!play_input(play, &input))
                return 0;
        if (play->works[place].status == PLAY_GONE) {
                play_fail(play, "workload %" PRIu64 " is refused", request.workload);
                return 0;
        }
        return request.workload;
}

/* When running work does something, and what. */
static int64_t next_of(const struct play_work *work, enum input_kind *ret_kind)
{
        int64_t every = work->request.checkpoint_every_ms;
        int64_t at = work->since_ms + work->need_ms - work->attained_ms;

        *ret_kind = INPUT_EXITED;
        if (work->notice_until_ms && work->notice_until_ms < at) {
                at = work->notice_until_ms;
                *ret_kind = INPUT_STOPPED;
        }
        if (every > 0 && work->since_ms + work->saved_ms + every < at) {
                at = work->since_ms + work->saved_ms + every;
                *ret_kind = INPUT_CHECKPOINTED;
        }
        return at;
}

static bool save(struct play *play, struct play_work *work)
{
        work->saved_ms = play->now_ms - work->since_ms;
        return play_input(play, &(struct input){.kind = INPUT_CHECKPOINTED,
                                                .workload = work->request.workload});
}

static bool happens(struct play *play, struct play_work *work, enum input_kind kind)
{
        bool saves = kind == INPUT_STOPPED && work->request.checkpoint_within_ms > 0;

        if (kind == INPUT_CHECKPOINTED)
                return save(play, work);
        return (!saves || save(play, work)) &&
               play_input(play,
                          &(struct input){.kind = kind, .workload = work->request.workload});
}

int play_step(struct play *play, int64_t until_ms)
{
        int64_t first_ms = INT64_MAX, ticks_ms = play->ticked_ms + play->tick_ms;
        enum input_kind first_kind = INPUT_TICKED, kind;
        struct play_work *first = NULL;

        for (unsigned w = 0; w < play->high; w++) {
                struct play_work *work = &play->works[w];
                int64_t at_ms = work->status == PLAY_RUNS ? next_of(work, &kind) : INT64_MAX;
                if (at_ms >= first_ms)
                        continue;
                first = work;
                first_ms = at_ms;
                first_kind = kind;
        }
        int64_t at_ms = first_ms <= ticks_ms ? first_ms : ticks_ms;
        if (at_ms > until_ms) {
                play->now_ms = until_ms;
                return 0;
        }
        play->now_ms = at_ms > play->now_ms ? at_ms : play->now_ms;
        if (first_ms <= ticks_ms)
                return happens(play, first, first_kind) ? 1 : -1;
        play->ticked_ms = ticks_ms;
        return play_input(play, &(struct input){.kind = INPUT_TICKED}) ? 1 : -1;
}
