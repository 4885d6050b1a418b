#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/client.h"
#include "net/client_impl.h"

#define PAUSE_MS_LEAST 500
#define PAUSE_MS_MOST  30000
#define REFUSAL_BYTES  4096 /* of a refusal's document; more is cut */
#define SLICE_MS       100  /* how soon a stop is seen in a pause */

/* One connection's part of a watch. */
struct watching {
        struct client *client;
        struct sse_reader *reader;
        sse_on_event *on_event;
        void *arg;
        struct err *err;
        int rc;          /* what ends the watch */
        unsigned events; /* that came over this connection */
        char refusal[REFUSAL_BYTES + 1];
        size_t refusal_size;
};

static int count_event(const struct sse_event *event, void *arg)
{
        struct watching *watching = arg;

        watching->events++;
        return watching->on_event(event, watching->arg);
}

static long status_of(CURL *curl)
{
        long status = 0;

        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        return status;
}

static size_t on_bytes(char *bytes, size_t one, size_t size, void *arg)
{
        struct watching *watching = arg;

        (void)one;
        watching->client->heard_ns = time_monotonic_ns();
        if (status_of(watching->client->curl) == 200) {
                watching->rc = sse_read(watching->reader, bytes, size, count_event, watching,
                                        watching->err);
                return watching->rc < 0 ? CURL_WRITEFUNC_ERROR : size;
        }
        size_t kept = REFUSAL_BYTES - watching->refusal_size;
        if (kept > size)
                kept = size;
        memcpy(watching->refusal + watching->refusal_size, bytes, kept);
        watching->refusal_size += kept;
        return size;
}

/* 0: it may be tried again. `*ret_code` says what went wrong, for when it is given up. */
static int watch_once(struct watching *watching, const char *path, struct err *err)
{
        struct client *client = watching->client;
        struct client_request request = {.path = path, .timeout_ms = 0};
        struct curl_slist *headers;
        const char *id = sse_reader_id(watching->reader);

        watching->events = 0;
        watching->refusal_size = 0;
        int rc = client_prepare(client, &request, id[0] ? id : NULL, &headers, err);
        if (rc < 0)
                return rc;
        sse_reader_restart(watching->reader);
        curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, 0L);
        client->heard_ns = time_monotonic_ns();
        curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_bytes);
        curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, watching);
        CURLcode code = curl_easy_perform(client->curl);
        client->heard_ns = 0;
        curl_slist_free_all(headers);
        if (watching->rc < 0)
                return watching->rc;
        if (atomic_load(&client->is_stopped))
                return err_set(err, ERR_CANCELLED, "stopped");
        unsigned status = (unsigned)status_of(client->curl);
        if (code != CURLE_OK || status == 200) {
                client_failed(client, code, err);
                return 0;
        }
        watching->refusal[watching->refusal_size] = '\0';
        struct client_answer refusal = {
                .status = status, .body = watching->refusal, .size = watching->refusal_size};
        rc = client_check(&refusal, err);
        /* Busy, or about to come back: these pass. */
        return status == 429 || status >= 500 ? 0 : rc < 0 ? rc : -ERR_IO;
}

static void pause_ms(const struct client *client, int64_t ms)
{
        while (ms > 0 && !atomic_load(&client->is_stopped)) {
                int64_t slice_ms = ms < SLICE_MS ? ms : SLICE_MS;
                struct timespec slice = {.tv_nsec = slice_ms * 1000000};
                nanosleep(&slice, NULL);
                ms -= slice_ms;
        }
}

static int watch(struct watching *watching, const char *path, unsigned tries_max, struct err *err)
{
        unsigned failures = 0;
        int64_t wait_ms = PAUSE_MS_LEAST;

        for (;;) {
                int rc = watch_once(watching, path, err);
                if (rc < 0)
                        return rc;
                if (watching->events > 0) {
                        failures = 0;
                        wait_ms = PAUSE_MS_LEAST;
                }
                if (++failures == tries_max)
                        return err_prefix(err, "given up after %u tries", failures);
                int64_t said_ms = sse_reader_retry_ms(watching->reader);
                pause_ms(watching->client, said_ms > wait_ms || said_ms == 0 ? said_ms : wait_ms);
                wait_ms = 2 * wait_ms < PAUSE_MS_MOST ? 2 * wait_ms : PAUSE_MS_MOST;
        }
}

int client_watch(struct client *client, const char *path, const char *last_id, unsigned tries_max,
                 sse_on_event *on_event, void *arg, struct err *err)
{
        struct watching *watching = mem_new(1, sizeof *watching);
        struct err own;
        int rc;

        if (!err)
                err = &own;
        struct sse_reader *reader = watching ? sse_reader_new() : NULL;
        if (!reader) {
                mem_free(watching);
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        *watching = (struct watching){
                .client = client, .reader = reader, .on_event = on_event, .arg = arg, .err = err};
        if (!sse_reader_seen(reader, last_id))
                rc = err_set(err, ERR_INPUT, "an event's id has at most %d bytes", SSE_ID_MAX - 1);
        else
                rc = watch(watching, path, tries_max, err);
        sse_reader_free(reader);
        mem_free(watching);
        return rc;
}
