#include "store/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/batch_impl.h"
#include "store/keys.h"
#include "store/store_impl.h"
#include "store/writer_impl.h"

#define BATCHES_MAX       16384u
#define BYTES_MAX         (256u << 20)
#define GROUP_RECORDS_MAX 4096u
#define CHECKPOINT_PAGES  4000u

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

/* Signals are for the threads that wait for them. */
static int start_thread(struct writer *writer)
{
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        int code = pthread_create(&writer->thread, NULL, writer_run, writer);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return code;
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
            (!options->is_stepped && start_thread(writer) != 0)) {
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
        while (writer_commit_group(writer))
                ;
        writer_cancel_chores(writer, "the writer ends");
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
