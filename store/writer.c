#include "store/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/batch_impl.h"
#include "store/commit.h"
#include "store/keys.h"
#include "store/store_impl.h"

#define BATCHES_MAX       16384u
#define BYTES_MAX         (256u << 20)
#define GROUP_RECORDS_MAX 4096u
#define CHECKPOINT_PAGES  4000u

const int64_t writer_latency_us[WRITER_LATENCY_BUCKETS - 1] = {
        250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000,
};

struct waiting_chore {
        struct writer_chore chore;
        uint64_t after_seq;             /* what was pushed before it comes before it */
};

struct writer {
        struct store *store;            /* the writing thread's alone */
        struct writer_options options;
        pthread_t thread;
        pthread_mutex_t mutex;          /* all that follows */
        pthread_cond_t wake;
        struct batch *first, *last;     /* waiting */
        struct map keys;                /* words of the keys that wait or are being committed */
        struct waiting_chore chores[WRITER_CHORES_MAX];
        uint32_t chores_count;
        uint64_t next_seq;              /* of the next record pushed */
        bool is_retry_asked, is_ending;
        bool is_checkpoint_failing;     /* the newest one did */
        int64_t busy_since_ns;          /* 0: no commit runs */
        struct writer_stats stats;
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

/* A word for actor and key. Equal words of different keys make a new key wait for a commit; one in
 * 2^64 does. */
static uint64_t key_word(const char *actor, const char *key)
{
        uint8_t hash[crypto_generichash_BYTES_MIN];
        uint64_t word;
        crypto_generichash_state state;

        crypto_generichash_init(&state, NULL, 0, sizeof hash);
        crypto_generichash_update(&state, (const uint8_t *)actor, strlen(actor) + 1);
        crypto_generichash_update(&state, (const uint8_t *)key, strlen(key));
        crypto_generichash_final(&state, hash, sizeof hash);
        memcpy(&word, hash, sizeof word);
        return word ? word : 1;
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

/* --- the writing thread ------------------------------------------------------------------- */

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

static void cancel_chores(struct writer *writer, const char *why)
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
        cancel_chores(writer, why->text);
        call_back(writer, WRITER_EVENT_FAILED, head, group, why);
        free_list(group);
}

/* One transaction of what waits. False: nothing waited. */
static bool commit_group(struct writer *writer)
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

        if (commit_group(writer)) {
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

static void *run(void *argument)
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

/* --- everybody else ----------------------------------------------------------------------- */

static void set_defaults(struct writer_options *options)
{
        if (options->batches_max == 0)
                options->batches_max = BATCHES_MAX;
        if (options->bytes_max == 0)
                options->bytes_max = BYTES_MAX;
        if (options->group_records_max == 0)
                options->group_records_max = GROUP_RECORDS_MAX;
        if (options->checkpoint_pages == 0)
                options->checkpoint_pages = CHECKPOINT_PAGES;
}

int writer_new(struct store *store, const struct writer_options *options,
               struct writer **ret_writer, struct err *err)
{
        struct log_head head;

        assert(store && !store->is_read_only);
        assert(options);
        int rc = log_head(store, &head, err);
        if (rc < 0)
                return rc;
        struct writer *writer = mem_new(1, sizeof *writer);
        if (!writer)
                return err_set(err, ERR_NOMEM, "out of memory");
        writer->store = store;
        writer->options = *options;
        set_defaults(&writer->options);
        map_init(&writer->keys, writer->options.batches_max);
        writer->next_seq = head.seq + 1;
        writer->stats.durable_seq = head.seq;
        pthread_mutex_init(&writer->mutex, NULL);
        pthread_cond_init(&writer->wake, NULL);
        if (map_reserve(&writer->keys, writer->options.batches_max) < 0 ||
            (!options->is_stepped && pthread_create(&writer->thread, NULL, run, writer) != 0)) {
                writer->options.is_stepped = true;      /* there is no thread to wait for */
                writer_free(writer);
                return err_set(err, ERR_NOMEM, "out of memory or threads");
        }
        *ret_writer = writer;
        return 0;
}

void writer_free(struct writer *writer)
{
        if (!writer)
                return;
        pthread_mutex_lock(&writer->mutex);
        writer->is_ending = true;
        pthread_cond_signal(&writer->wake);
        pthread_mutex_unlock(&writer->mutex);
        if (!writer->options.is_stepped)
                pthread_join(writer->thread, NULL);
        while (commit_group(writer))
                ;
        cancel_chores(writer, "the writer ends");
        pthread_cond_destroy(&writer->wake);
        pthread_mutex_destroy(&writer->mutex);
        map_done(&writer->keys);
        mem_free(writer);
}

/* With the mutex. */
static int check_push(const struct writer *writer, const struct batch *batch, struct err *err)
{
        const struct writer_stats *stats = &writer->stats;

        if (writer->is_ending)
                return err_set(err, ERR_CANCELLED, "the writer ends");
        if (stats->state == WRITER_FAILED)
                return err_set(err, ERR_IO, "nothing is accepted: %s", stats->failure.text);
        if (stats->waiting_batches >= writer->options.batches_max)
                return err_set(err, ERR_FULL, "%u batches wait for the disk, the most that may",
                               stats->waiting_batches);
        if (batch->bytes > writer->options.bytes_max - stats->waiting_bytes)
                return err_set(err, ERR_FULL, "%zu bytes wait for the disk; %zu more are above %zu",
                               stats->waiting_bytes, batch->bytes, writer->options.bytes_max);
        if (batch->key_word && map_get(&writer->keys, batch->key_word) != MAP_NONE)
                return err_set(err, ERR_EXISTS, "idempotency key '%s' is being worked on",
                               batch->key->key);
        return 0;
}

int writer_push(struct writer *writer, struct batch *batch, uint64_t *ret_last_seq,
                struct err *err)
{
        assert(writer);
        assert(batch);
        assert(batch->records_count > 0);

        batch->key_word = batch->key ? key_word(batch->key->actor, batch->key->key) : 0;
        pthread_mutex_lock(&writer->mutex);
        int rc = check_push(writer, batch, err);
        if (rc == 0 && batch->key_word && (rc = map_set(&writer->keys, batch->key_word, 1)) < 0)
                (void)err_set(err, (enum err_code)-rc, "out of room for keys");
        if (rc == 0) {
                batch->last_seq = writer->next_seq + batch->records_count - 1;
                writer->next_seq = batch->last_seq + 1;
                batch->next = NULL;
                if (writer->last)
                        writer->last->next = batch;
                else
                        writer->first = batch;
                writer->last = batch;
                writer->stats.waiting_batches++;
                writer->stats.waiting_bytes += batch->bytes;
                *ret_last_seq = batch->last_seq;
                pthread_cond_signal(&writer->wake);
        }
        pthread_mutex_unlock(&writer->mutex);
        return rc;
}

bool writer_holds_key(struct writer *writer, const char *actor, const char *key)
{
        uint64_t word = key_word(actor, key);

        pthread_mutex_lock(&writer->mutex);
        bool holds = map_get(&writer->keys, word) != MAP_NONE;
        pthread_mutex_unlock(&writer->mutex);
        return holds;
}

void writer_retry(struct writer *writer)
{
        pthread_mutex_lock(&writer->mutex);
        writer->is_retry_asked = writer->stats.state == WRITER_FAILED;
        pthread_cond_signal(&writer->wake);
        pthread_mutex_unlock(&writer->mutex);
}

int writer_chore(struct writer *writer, const struct writer_chore *chore, struct err *err)
{
        int rc = 0;

        assert(chore->step);
        pthread_mutex_lock(&writer->mutex);
        if (writer->is_ending)
                rc = err_set(err, ERR_CANCELLED, "the writer ends");
        else if (writer->stats.state == WRITER_FAILED)
                rc = err_set(err, ERR_IO, "nothing is accepted: %s",
                             writer->stats.failure.text);
        else if (writer->chores_count >= WRITER_CHORES_MAX)
                rc = err_set(err, ERR_FULL, "%d chores wait, the most that may",
                             WRITER_CHORES_MAX);
        else
                writer->chores[writer->chores_count++] = (struct waiting_chore){
                        .chore = *chore, .after_seq = writer->next_seq - 1};
        pthread_cond_signal(&writer->wake);
        pthread_mutex_unlock(&writer->mutex);
        return rc;
}

void writer_stats(struct writer *writer, struct writer_stats *ret_stats)
{
        pthread_mutex_lock(&writer->mutex);
        *ret_stats = writer->stats;
        ret_stats->busy_ms = writer->busy_since_ns
                ? (time_monotonic_ns() - writer->busy_since_ns) / 1000000 : 0;
        pthread_mutex_unlock(&writer->mutex);
        ret_stats->syncs = store_syncs(writer->store);
}
