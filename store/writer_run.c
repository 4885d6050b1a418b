#include "store/writer_impl.h"

#include <assert.h>
#include <string.h>

#include "base/time.h"
#include "store/batch_impl.h"
#include "store/commit.h"
#include "store/store_impl.h"

const int64_t writer_latency_us[WRITER_LATENCY_BUCKETS - 1] = {
        250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000,
};

/* The state machine: who may follow whom. */
static void move(struct writer *writer, enum writer_state to)
{
        static const bool may[WRITER_STATES_END][WRITER_STATES_END] = {
                [WRITER_WORKING][WRITER_FAILED] = true,
                [WRITER_FAILED][WRITER_WORKING] = true,
        };

        assert(may[writer->stats.state][to]);
        writer->stats.state = to;
}

static void call_back(struct writer *writer, enum writer_event_kind kind,
                      const struct log_head *head, const struct batch *batches,
                      const struct err *err)
{
        struct writer_event event = {.kind = kind, .batches = batches, .err = err};

        if (head)
                event.head = *head;
        if (writer->options.callback)
                writer->options.callback(writer->options.self, &event);
}

/* Takes what is committed together off the queue; its length is returned. With the mutex. */
static size_t take_group(struct writer *writer, struct batch **ret_first)
{
        struct batch *first = writer->first, *last = first;
        size_t records = 0, count = 0;

        for (struct batch *it = first; it; it = it->next) {
                records += it->records_count;
                if (count > 0 && records > writer->options.group_records_max)
                        break;
                last = it;
                count++;
        }
        if (count > 0) {
                writer->first = last->next;
                last->next = NULL;
                if (!writer->first)
                        writer->last = NULL;
        }
        *ret_first = first;
        return count;
}

/* No longer waiting. With the mutex. */
static void forget(struct writer *writer, const struct batch *first)
{
        for (const struct batch *it = first; it; it = it->next) {
                if (it->key_word)
                        (void)map_remove(&writer->keys, it->key_word);
                writer->stats.waiting_batches--;
                writer->stats.waiting_bytes -= it->bytes;
        }
}

static void free_list(struct batch *first)
{
        while (first) {
                struct batch *next = first->next;
                batch_free(first);
                first = next;
        }
}

/* With the mutex. */
static void count_commit(struct writer *writer, const struct batch *first, int64_t took_ns)
{
        struct writer_stats *stats = &writer->stats;
        int64_t took_us = took_ns / 1000;
        size_t bucket = 0;

        while (bucket < WRITER_LATENCY_BUCKETS - 1 && took_us > writer_latency_us[bucket])
                bucket++;
        stats->latency[bucket]++;
        stats->latency_us_sum += (uint64_t)took_us;
        stats->commits++;
        for (const struct batch *it = first; it; it = it->next) {
                stats->batches++;
                stats->records += it->records_count;
        }
}

/* Takes the first chore off the list and tells its end. */
static void end_chore(struct writer *writer, const struct writer_chore *chore, int rc,
                      const struct err *err)
{
        pthread_mutex_lock(&writer->mutex);
        writer->chores_count--;
        memmove(writer->chores, writer->chores + 1,
                writer->chores_count * sizeof writer->chores[0]);
        pthread_mutex_unlock(&writer->mutex);
        if (chore->done)
                chore->done(chore->self, rc, rc < 0 ? err : NULL);
}

void writer_cancel_chores(struct writer *writer, const char *why)
{
        struct writer_chore chore;
        struct err err = {0};

        (void)err_set(&err, ERR_CANCELLED, "%s", why);
        for (;;) {
                pthread_mutex_lock(&writer->mutex);
                bool is_there = writer->chores_count > 0;
                chore = writer->chores[0].chore;
                pthread_mutex_unlock(&writer->mutex);
                if (!is_there)
                        return;
                end_chore(writer, &chore, -ERR_CANCELLED, &err);
        }
}

/* The group and all that waits behind it come back as failed: what waits was decided from a state
 * that holds the group. For the same reason chores end: a snapshot of that state must not be
 * written. */
static void fail(struct writer *writer, struct batch *group, const struct log_head *head,
                 const struct err *why)
{
        struct batch *last = group;

        while (last->next)
                last = last->next;
        pthread_mutex_lock(&writer->mutex);
        move(writer, WRITER_FAILED);
        writer->stats.failure = *why;
        writer->stats.failures++;
        writer->busy_since_ns = 0;
        last->next = writer->first;
        writer->first = writer->last = NULL;
        forget(writer, group);
        pthread_mutex_unlock(&writer->mutex);
        writer_cancel_chores(writer, why->text);
        call_back(writer, WRITER_EVENT_FAILED, head, group, why);
        free_list(group);
}

bool writer_commit_group(struct writer *writer)
{
        struct batch *group;
        struct log_head head = {0};
        struct err err = {0};

        pthread_mutex_lock(&writer->mutex);
        size_t count = take_group(writer, &group);
        int64_t start_ns = time_monotonic_ns();
        writer->busy_since_ns = count ? start_ns : 0;
        pthread_mutex_unlock(&writer->mutex);
        if (count == 0)
                return false;
        if (commit_batches(writer->store, group, count, &head, &err) < 0) {
                (void)log_head(writer->store, &head, NULL);
                fail(writer, group, &head, &err);
                return true;
        }
        pthread_mutex_lock(&writer->mutex);
        writer->busy_since_ns = 0;
        writer->stats.durable_seq = head.seq;
        count_commit(writer, group, time_monotonic_ns() - start_ns);
        forget(writer, group);
        pthread_mutex_unlock(&writer->mutex);
        call_back(writer, WRITER_EVENT_COMMITTED, &head, group, NULL);
        free_list(group);
        return true;
}

/* False: nobody asked. */
static bool retry(struct writer *writer)
{
        struct log_head head = {0};
        struct err err = {0};

        pthread_mutex_lock(&writer->mutex);
        bool is_asked = writer->is_retry_asked;
        writer->is_retry_asked = false;
        pthread_mutex_unlock(&writer->mutex);
        if (!is_asked)
                return false;
        int rc = store_probe(writer->store, &err);
        if (rc == 0)
                rc = log_head(writer->store, &head, &err);
        pthread_mutex_lock(&writer->mutex);
        if (rc == 0) {
                move(writer, WRITER_WORKING);
                writer->stats.failure = (struct err){0};
                writer->stats.durable_seq = head.seq;
                writer->next_seq = head.seq + 1;
        } else {
                writer->stats.failure = err;
        }
        pthread_mutex_unlock(&writer->mutex);
        call_back(writer, rc == 0 ? WRITER_EVENT_RECOVERED : WRITER_EVENT_STILL_FAILED,
                  rc == 0 ? &head : NULL, NULL, rc == 0 ? NULL : &err);
        return true;
}

/* A step of the first chore whose time has come. */
static bool step_chore(struct writer *writer)
{
        struct waiting_chore it = {0};
        struct err err = {0};

        pthread_mutex_lock(&writer->mutex);
        bool is_due = writer->chores_count > 0 &&
                      writer->chores[0].after_seq <= writer->stats.durable_seq;
        if (is_due)
                it = writer->chores[0];
        pthread_mutex_unlock(&writer->mutex);
        if (!is_due)
                return false;
        int rc = it.chore.step(it.chore.self, writer->store, &err);
        if (rc <= 0)
                end_chore(writer, &it.chore, rc, &err);
        return true;
}

/* After the answers. A failure is told once, until one has gone well again: the commits are safe in
 * the WAL, which grows meanwhile. */
static void checkpoint(struct writer *writer)
{
        struct err err = {0};

        if (store_wal_pages(writer->store) < writer->options.checkpoint_pages)
                return;
        int rc = store_checkpoint(writer->store, false, &err);
        pthread_mutex_lock(&writer->mutex);
        bool is_news = rc < 0 && !writer->is_checkpoint_failing;
        writer->is_checkpoint_failing = rc < 0;
        writer->stats.checkpoints++;
        writer->stats.checkpoints_failed += rc < 0 ? 1 : 0;
        pthread_mutex_unlock(&writer->mutex);
        if (is_news)
                call_back(writer, WRITER_EVENT_CHECKPOINT_FAILED, NULL, NULL, &err);
}

bool writer_step(struct writer *writer)
{
        bool did = retry(writer);

        if (writer_commit_group(writer)) {
                checkpoint(writer);
                did = true;
        }
        if (step_chore(writer)) {
                checkpoint(writer);
                did = true;
        }
        return did;
}

static bool has_work(const struct writer *writer)
{
        return writer->first || writer->is_retry_asked ||
               (writer->chores_count > 0 && !writer->is_ending);
}

void *writer_run(void *argument)
{
        struct writer *writer = argument;

        for (;;) {
                pthread_mutex_lock(&writer->mutex);
                while (!has_work(writer) && !writer->is_ending)
                        pthread_cond_wait(&writer->wake, &writer->mutex);
                bool is_over = !has_work(writer);
                pthread_mutex_unlock(&writer->mutex);
                if (is_over)
                        return NULL;
                (void)writer_step(writer);
        }
}
