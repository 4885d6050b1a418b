#include "controller/webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "net/client.h"

#define URL_MAX 256

struct letter {
        uint64_t tag;
        char id[48];
        char *body;                     /* owned */
        size_t size;
        unsigned refusals;
};

struct webhook {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;         /* a letter came, the address did, or it is to end */
        int64_t pause_ms;
        /* Under the lock: */
        char url[URL_MAX], secret_file[URL_MAX];
        struct letter letters[WEBHOOK_QUEUE_MAX];       /* a ring; the first is under way */
        uint32_t first, count;
        uint64_t done[WEBHOOK_QUEUE_MAX];
        uint32_t done_first, done_count;
        struct webhook_figures figures;
        struct client *client;          /* of the try under way; NULL: none */
        bool is_ending;
};

/* ---- signing ---- */

void webhook_sign(const char *secret, size_t secret_size, int64_t unix_s, const char *body,
                  size_t size, char ret_signature[WEBHOOK_SIGNATURE_MAX])
{
        crypto_auth_hmacsha256_state state;
        unsigned char mac[crypto_auth_hmacsha256_BYTES];
        char hex[2 * sizeof mac + 1], time[32];
        int length = snprintf(time, sizeof time, "%" PRId64 ".", unix_s);

        crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, secret_size);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)time,
                                      (unsigned long long)length);
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, size);
        crypto_auth_hmacsha256_final(&state, mac);
        sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
        sodium_memzero(&state, sizeof state);
        (void)snprintf(ret_signature, WEBHOOK_SIGNATURE_MAX, "t=%" PRId64 ",v1=%s", unix_s, hex);
}

static int read_secret(const char *path, char secret[WEBHOOK_SECRET_MAX], size_t *ret_size,
                       struct err *err)
{
        struct stat about;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        if (fd < 0)
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        ssize_t got = -1;
        if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && !(about.st_mode & S_IRWXO))
                got = read(fd, secret, WEBHOOK_SECRET_MAX);
        close(fd);
        if (got == WEBHOOK_SECRET_MAX)
                got = -1;
        while (got > 0 && (secret[got - 1] == '\n' || secret[got - 1] == '\r'))
                got--;
        if (got <= 0)
                return err_set(err, ERR_INPUT, "%s: is no secret: a file of 1 to %d bytes that "
                               "others may not read", path, WEBHOOK_SECRET_MAX - 1);
        *ret_size = (size_t)got;
        return 0;
}

/* ---- one try ---- */

struct attempt {
        char url[URL_MAX], secret_file[URL_MAX];
        const struct letter *letter;    /* its texts stay while it is under way */
        bool is_refused;                /* by the server, and not for now */
};

static int add_signature(const struct attempt *attempt, char header[128], struct err *err)
{
        char secret[WEBHOOK_SECRET_MAX], signature[WEBHOOK_SIGNATURE_MAX];
        size_t size = 0;

        header[0] = '\0';
        if (!attempt->secret_file[0])
                return 0;
        int rc = read_secret(attempt->secret_file, secret, &size, err);
        if (rc == 0) {
                webhook_sign(secret, size, time_wall_ms() / 1000, attempt->letter->body,
                             attempt->letter->size, signature);
                (void)snprintf(header, 128, "Berth-Signature: %s", signature);
        }
        sodium_memzero(secret, sizeof secret);
        return rc;
}

static int post(struct attempt *attempt, struct client *client, const char *path, struct err *err)
{
        char id[80], signature[128];
        const char *headers[] = {id, signature, NULL};
        struct client_answer answer;
        int rc = add_signature(attempt, signature, err);

        if (rc)
                return rc;
        if (!signature[0])
                headers[1] = NULL;
        (void)snprintf(id, sizeof id, "Berth-Event-Id: %s", attempt->letter->id);
        const struct client_request request = {.method = "POST",
                                               .path = path,
                                               .body = attempt->letter->body,
                                               .body_size = attempt->letter->size,
                                               .headers = headers};
        rc = client_call(client, &request, &answer, err);
        if (rc)
                return rc;
        if (answer.status < 200 || answer.status > 299)
                rc = err_set(err, ERR_IO, "it answered %u", answer.status);
        attempt->is_refused = answer.status >= 400 && answer.status < 500 &&
                              answer.status != 408 && answer.status != 429;
        client_answer_done(&answer);
        return rc;
}

/* Without the lock, but for the client that webhook_free() stops. */
static int try_once(struct webhook *webhook, struct attempt *attempt, struct err *err)
{
        char *host = strstr(attempt->url, "://");
        char *slash = host ? strchr(host + 3, '/') : NULL;
        char path[URL_MAX] = "/";
        struct client *client;

        if (slash) {
                (void)str_copy(path, sizeof path, slash);
                *slash = '\0';
        }
        const struct client_setup setup = {.url = attempt->url,
                                           .agent = "berthd",
                                           .timeout_ms = WEBHOOK_TIMEOUT_MS,
                                           .answer_bytes_max = 1u << 16};
        int rc = client_new(&setup, &client, err);
        if (rc)
                return rc;
        pthread_mutex_lock(&webhook->lock);
        webhook->client = client;
        if (webhook->is_ending)
                client_stop(client);
        pthread_mutex_unlock(&webhook->lock);
        rc = post(attempt, client, path, err);
        pthread_mutex_lock(&webhook->lock);
        webhook->client = NULL;
        pthread_mutex_unlock(&webhook->lock);
        client_free(client);
        return rc;
}

/* ---- the thread ---- */

static void drop_first(struct webhook *webhook)
{
        struct letter *letter = &webhook->letters[webhook->first];
        uint32_t at = (webhook->done_first + webhook->done_count++) % WEBHOOK_QUEUE_MAX;

        webhook->done[at] = letter->tag;
        mem_free(letter->body);
        *letter = (struct letter){0};
        webhook->first = (webhook->first + 1) % WEBHOOK_QUEUE_MAX;
        webhook->count--;
}

static void take_result(struct webhook *webhook, const struct attempt *attempt, int rc,
                        const struct err *err)
{
        struct webhook_figures *figures = &webhook->figures;
        struct letter *letter = &webhook->letters[webhook->first];

        if (rc == 0) {
                figures->posted++;
                figures->failing_since_ms = 0;
                figures->failure[0] = '\0';
                drop_first(webhook);
                return;
        }
        figures->failed++;
        if (!figures->failing_since_ms)
                figures->failing_since_ms = time_wall_ms();
        (void)snprintf(figures->failure, sizeof figures->failure, "%s", err->text);
        letter->refusals = attempt->is_refused ? letter->refusals + 1 : 0;
        if (letter->refusals < WEBHOOK_REFUSALS_MAX)
                return;
        figures->given_up++;
        drop_first(webhook);
}

static bool may_try(const struct webhook *webhook)
{
        return webhook->count > 0 && webhook->url[0];
}

/* Until so much later, or until it is to end, or goes elsewhere; whoever sets the time of day. */
static void pause_for(struct webhook *webhook, int64_t ms)
{
        int64_t until_ms = time_monotonic_ms() + ms;
        char url[URL_MAX];

        memcpy(url, webhook->url, sizeof url);
        while (!webhook->is_ending && str_equal(url, webhook->url) &&
               cond_wait_until(&webhook->changed, &webhook->lock, until_ms))
                ;
}

static void *run(void *arg)
{
        struct webhook *webhook = arg;
        int64_t pause_ms = webhook->pause_ms;

        pthread_mutex_lock(&webhook->lock);
        while (!webhook->is_ending) {
                struct attempt attempt = {.letter = &webhook->letters[webhook->first]};
                struct err err = {0};
                if (!may_try(webhook)) {
                        pthread_cond_wait(&webhook->changed, &webhook->lock);
                        continue;
                }
                memcpy(attempt.url, webhook->url, sizeof attempt.url);
                memcpy(attempt.secret_file, webhook->secret_file, sizeof attempt.secret_file);
                pthread_mutex_unlock(&webhook->lock);
                int rc = try_once(webhook, &attempt, &err);
                pthread_mutex_lock(&webhook->lock);
                if (webhook->is_ending)
                        break;
                take_result(webhook, &attempt, rc, &err);
                if (rc == 0) {
                        pause_ms = webhook->pause_ms;
                        continue;
                }
                pause_for(webhook, pause_ms);
                pause_ms = pause_ms * 2 < WEBHOOK_PAUSE_MS_MAX ? pause_ms * 2
                                                               : WEBHOOK_PAUSE_MS_MAX;
        }
        pthread_mutex_unlock(&webhook->lock);
        return NULL;
}

/* ---- the owner ---- */

int webhook_new(int64_t pause_ms, struct webhook **ret_webhook, struct err *err)
{
        struct webhook *webhook = mem_new(1, sizeof *webhook);

        if (!webhook)
                return err_set(err, ERR_NOMEM, "out of memory");
        webhook->pause_ms = pause_ms ? pause_ms : WEBHOOK_PAUSE_MS;
        pthread_mutex_init(&webhook->lock, NULL);
        cond_init(&webhook->changed);
        int rc = pthread_create(&webhook->thread, NULL, run, webhook);
        if (rc) {
                mem_free(webhook);
                return err_set(err, ERR_IO, "no thread for the webhook: %s", strerror(rc));
        }
        *ret_webhook = webhook;
        return 0;
}

void webhook_free(struct webhook *webhook)
{
        if (!webhook)
                return;
        pthread_mutex_lock(&webhook->lock);
        webhook->is_ending = true;
        if (webhook->client)
                client_stop(webhook->client);
        pthread_cond_signal(&webhook->changed);
        pthread_mutex_unlock(&webhook->lock);
        (void)pthread_join(webhook->thread, NULL);
        for (uint32_t l = 0; l < WEBHOOK_QUEUE_MAX; l++)
                mem_free(webhook->letters[l].body);
        pthread_cond_destroy(&webhook->changed);
        pthread_mutex_destroy(&webhook->lock);
        mem_free(webhook);
}

void webhook_set(struct webhook *webhook, const char *url, const char *secret_file)
{
        pthread_mutex_lock(&webhook->lock);
        bool same = str_equal(webhook->url, url) && str_equal(webhook->secret_file, secret_file);
        if (!same) {
                (void)snprintf(webhook->url, sizeof webhook->url, "%s", url);
                (void)snprintf(webhook->secret_file, sizeof webhook->secret_file, "%s",
                               secret_file);
                webhook->figures.failing_since_ms = 0;
                webhook->figures.failure[0] = '\0';
                pthread_cond_signal(&webhook->changed);
        }
        pthread_mutex_unlock(&webhook->lock);
}

int webhook_push(struct webhook *webhook, uint64_t tag, const char *id, const char *body,
                 size_t size, struct err *err)
{
        struct letter letter = {.tag = tag, .size = size};
        int rc = 0;

        if (size > WEBHOOK_BODY_MAX || !str_copy(letter.id, sizeof letter.id, id))
                return err_set(err, ERR_RANGE, "a body of %zu bytes, or its id, is too long", size);
        letter.body = mem_new(size + 1, 1);
        if (!letter.body)
                return err_set(err, ERR_NOMEM, "out of memory");
        memcpy(letter.body, body, size);
        pthread_mutex_lock(&webhook->lock);
        /* Those that are done and not yet told count: they need their places in the other ring. */
        if (webhook->count + webhook->done_count >= WEBHOOK_QUEUE_MAX) {
                rc = err_set(err, ERR_FULL, "%d bodies wait for the webhook", WEBHOOK_QUEUE_MAX);
                mem_free(letter.body);
        } else {
                webhook->letters[(webhook->first + webhook->count++) % WEBHOOK_QUEUE_MAX] = letter;
                pthread_cond_signal(&webhook->changed);
        }
        pthread_mutex_unlock(&webhook->lock);
        return rc;
}

bool webhook_done(struct webhook *webhook, uint64_t *ret_tag)
{
        pthread_mutex_lock(&webhook->lock);
        bool any = webhook->done_count > 0;
        if (any) {
                *ret_tag = webhook->done[webhook->done_first];
                webhook->done_first = (webhook->done_first + 1) % WEBHOOK_QUEUE_MAX;
                webhook->done_count--;
        }
        pthread_mutex_unlock(&webhook->lock);
        return any;
}

void webhook_figures(struct webhook *webhook, struct webhook_figures *ret_figures)
{
        pthread_mutex_lock(&webhook->lock);
        *ret_figures = webhook->figures;
        pthread_mutex_unlock(&webhook->lock);
}
