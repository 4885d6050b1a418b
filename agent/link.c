#include "agent/link.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/folder.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define WAIT_MS_DEFAULT  20000
#define PAUSE_MS_DEFAULT 5000
#define PAUSE_MS_FIRST   100
#define SLACK_MS         10000 /* an answer is late by so much more than it was to wait */
#define ANSWERED_COUNT   256   /* requests that were answered are remembered */
#define ANSWERED_MS      3000  /* for so long: a controller that was restarted may count anew */
#define NODE_MAX         400
#define GIVEN_UP_STATUS  503
#define REFUSED_STATUS   401
#define SENT_MAX         64 /* for "sent_ms" */

struct speaker {
        struct link *link;
        struct client *client;
        pthread_t thread;
        bool is_started, waits; /* `waits`: the one that waits for news */
        uint64_t identity;      /* that the client shows: link.identity, when it was connected */
        uint64_t said;          /* number of the report it said last */
        unsigned failures;      /* in a row */
        unsigned status;        /* of the newest answer; 0 = there was none */
};

/* Both connections hear of a request. */
struct answered {
        uint64_t request;
        int64_t at_ms; /* 0 = none */
};

struct link {
        struct link_setup setup;
        char node[NODE_MAX];
        int event_fd;
        struct speaker speakers[2];

        pthread_mutex_t lock; /* of all below */
        pthread_cond_t changed;
        bool is_stopping, is_held;
        uint64_t identity; /* grows with each certificate */
        char *body;
        size_t size;
        uint64_t number, news; /* of the report; of the newest that is news */
        bool is_saying;        /* the one that says what has changed is in a call */
        uint64_t sayings;      /* how often it was */
        uint64_t unread;       /* reports up to this one do not know of the newest answer */
        int64_t lease_ms;
        char log[EXCHANGE_LOG_MAX];
        struct link_news out;
        struct answered answered[ANSWERED_COUNT];
        size_t answered_at;
};

static void wake(const struct link *link)
{
        uint64_t one = 1;

        if (write(link->event_fd, &one, sizeof one) < 0)
                return; /* it is readable already */
}

/* ---- a call ---- */

/* With the lock held. The report as it is sent at that time, or NULL. */
static char *copy_report(struct link *link, int64_t sent_ms, size_t *ret_size, uint64_t *ret_number)
{
        char *body = mem_new(link->size + SENT_MAX, 1);

        if (body) {
                assert(link->body[0] == '{');
                int begin = snprintf(body, SENT_MAX, "{\"sent_ms\": %" PRId64 ", ", sent_ms);
                memcpy(body + begin, link->body + 1, link->size - 1);
                *ret_size = (size_t)begin + link->size - 1;
        }
        *ret_number = link->number;
        return body;
}

static int64_t wait_ms(struct link *link)
{
        int64_t wait = link->setup.wait_ms_max ? link->setup.wait_ms_max : WAIT_MS_DEFAULT;

        pthread_mutex_lock(&link->lock);
        /* The lease counts from when a call was made: while one waits, that is the call before. So
         * it is never older than a third, and until it is known nothing waits. */
        if (wait > link->lease_ms / 6)
                wait = link->lease_ms / 6;
        pthread_mutex_unlock(&link->lock);
        return wait;
}

static int check_log(struct link *link, const struct exchange_answer *answer, struct err *err)
{
        int rc = 0;

        pthread_mutex_lock(&link->lock);
        if (!link->log[0])
                str_copy(link->log, sizeof link->log, answer->log);
        else if (answer->log[0] && !str_equal(link->log, answer->log))
                rc = err_set(err, ERR_EXISTS,
                             "it is the controller of another pool (log %s, and this node works "
                             "for %s): where the node is to change pools, stop the agent and "
                             "remove the file 'log' from its state folder",
                             answer->log, link->log);
        pthread_mutex_unlock(&link->lock);
        return rc;
}

static int call(struct speaker *speaker, const char *body, size_t size,
                struct exchange_answer **ret_answer, struct err *err)
{
        struct client_answer answer = {0};
        char path[NODE_MAX + 64];
        int64_t wait = speaker->waits ? wait_ms(speaker->link) : 0;

        snprintf(path, sizeof path, "/v1/nodes/%s/exchange?wait_ms=%" PRId64, speaker->link->node,
                 wait);
        const struct client_request request = {
                .method = "POST",
                .path = path,
                .body = body,
                .body_size = size,
                .timeout_ms = wait + SLACK_MS,
        };
        int rc = client_call(speaker->client, &request, &answer, err);
        speaker->status = rc == 0 ? answer.status : 0;
        if (rc == 0 && (rc = client_check(&answer, err)) == 0)
                rc = exchange_read(answer.body, answer.size, ret_answer, err);
        if (rc == 0 && (rc = check_log(speaker->link, *ret_answer, err)) < 0)
                exchange_free(*ret_answer);
        client_answer_done(&answer);
        return rc;
}

/* ---- output that is wanted ---- */

static bool was_answered(struct link *link, uint64_t request)
{
        int64_t now_ms = time_lease_ms();
        bool was = false;

        pthread_mutex_lock(&link->lock);
        for (size_t i = 0; i < ANSWERED_COUNT; i++) {
                const struct answered *one = &link->answered[i];
                was = was || (one->at_ms > 0 && one->request == request &&
                              now_ms - one->at_ms < ANSWERED_MS);
        }
        if (!was)
                link->answered[link->answered_at++ % ANSWERED_COUNT] =
                        (struct answered){request, now_ms};
        pthread_mutex_unlock(&link->lock);
        return was;
}

/* Of a run that has written nothing yet, or whose output is kept no longer, there are 0 bytes, and
 * it is said that nothing is here: who asks is not left waiting. What cannot be delivered is left:
 * the controller asks again. */
static void answer_want(struct speaker *speaker, const struct exchange_want *want)
{
        struct link *link = speaker->link;
        struct folder_piece piece = {0};
        struct client_answer answer = {0};
        char path[NODE_MAX + 64], offset[64], total[64];
        const char *headers[] = {offset, total, NULL, NULL};

        if (was_answered(link, want->request))
                return;
        bool is_gone = folder_output(link->setup.folder, want, &piece, NULL) == -ERR_NOT_FOUND;
        snprintf(path, sizeof path, "/v1/nodes/%s/answers/%" PRIu64, link->node, want->request);
        snprintf(offset, sizeof offset, "Berth-Offset: %" PRIu64, piece.offset);
        snprintf(total, sizeof total, "Berth-Size: %" PRIu64, piece.total);
        headers[2] = is_gone ? "Berth-Gone: true" : NULL;
        const struct client_request request = {
                .method = "POST",
                .path = path,
                .type = "application/octet-stream",
                .body = piece.bytes ? piece.bytes : "",
                .body_size = piece.size,
                .headers = headers,
        };
        (void)client_call(speaker->client, &request, &answer, NULL);
        client_answer_done(&answer);
        mem_free(piece.bytes);
}

/* ---- a thread ---- */

/* At once: what follows may take its time. */
static void note_contact(struct link *link, int64_t asked_ms)
{
        pthread_mutex_lock(&link->lock);
        if (link->out.asked_ms < asked_ms)
                link->out.asked_ms = asked_ms;
        link->out.is_failing = link->out.is_refused = link->out.is_foreign = false;
        pthread_mutex_unlock(&link->lock);
}

static void deliver(struct speaker *speaker, struct exchange_answer *answer, uint64_t number)
{
        struct link *link = speaker->link;
        struct link_news *out = &link->out;
        struct exchange_answer *old = answer;

        pthread_mutex_lock(&link->lock);
        if (out->confirmed < number)
                out->confirmed = number;
        link->lease_ms = answer->lease_ms;
        link->unread = link->number;
        if (!out->answer || answer->generation >= out->answer->generation) {
                old = out->answer;
                out->answer = answer;
        }
        pthread_mutex_unlock(&link->lock);
        exchange_free(old);
        wake(link);
}

static void note_failure(struct speaker *speaker, const struct err *err)
{
        struct link *link = speaker->link;

        pthread_mutex_lock(&link->lock);
        link->out.is_failing = true;
        link->out.is_refused = speaker->status == REFUSED_STATUS;
        link->out.is_foreign = err->code == ERR_EXISTS;
        snprintf(link->out.failure, sizeof link->out.failure, "%s", err->text);
        pthread_mutex_unlock(&link->lock);
        wake(link);
}

/* With the lock held. */
static void pause_for(struct speaker *speaker)
{
        struct link *link = speaker->link;
        int64_t most = link->setup.pause_ms_max ? link->setup.pause_ms_max : PAUSE_MS_DEFAULT;
        unsigned doublings = speaker->failures < 16 ? speaker->failures : 16;
        int64_t pause = (int64_t)PAUSE_MS_FIRST << doublings;
        int64_t until_ms = time_monotonic_ms() + (pause < most ? pause : most);

        while (!link->is_stopping && cond_wait_until(&link->changed, &link->lock, until_ms))
                ;
}

/* With the lock held: whether there is something to say. The controller keeps the newest call
 * waiting, and only that: so what waits for news stands back while the other speaks. */
static bool has_to_say(const struct speaker *speaker)
{
        const struct link *link = speaker->link;

        if (link->number == 0 || link->is_held)
                return false;
        if (!speaker->waits)
                return link->news > speaker->said;
        return link->number > link->unread && !link->is_saying;
}

/* Whether a waiting call was given up for one of ours that came later. */
static bool was_given_up(struct speaker *speaker, uint64_t sayings)
{
        struct link *link = speaker->link;

        pthread_mutex_lock(&link->lock);
        bool has_spoken = link->sayings != sayings;
        pthread_mutex_unlock(&link->lock);
        return speaker->waits && speaker->status == GIVEN_UP_STATUS && has_spoken;
}

struct saying {
        char *body;                     /* NULL: out of memory */
        size_t size;
        uint64_t number, sayings;
        int64_t sent_ms;
};

static void speak_once(struct speaker *speaker, const struct saying *saying)
{
        struct exchange_answer *answer;
        struct err err = {0};
        int rc = saying->body ? call(speaker, saying->body, saying->size, &answer, &err)
                              : err_set(&err, ERR_NOMEM, "out of memory");

        if (rc < 0 && was_given_up(speaker, saying->sayings))
                return;
        if (rc < 0) {
                speaker->failures++;
                note_failure(speaker, &err);
                return;
        }
        note_contact(speaker->link, saying->sent_ms);
        speaker->failures = 0;
        speaker->said = saying->number;
        for (uint32_t i = 0; i < answer->wants_count; i++)
                answer_want(speaker, &answer->wants[i]);
        for (uint32_t i = 0; i < answer->attaches_count; i++)
                attaches_start(speaker->link->setup.attaches, &answer->attaches[i]);
        deliver(speaker, answer, saying->number);
}

/* With the lock held, which it gives up meanwhile. */
static void speak_now(struct speaker *speaker)
{
        struct link *link = speaker->link;
        struct saying saying = {.sent_ms = time_lease_ms()};

        saying.body = copy_report(link, saying.sent_ms, &saying.size, &saying.number);
        if (!speaker->waits) {
                link->is_saying = true;
                link->sayings++;
        }
        saying.sayings = link->sayings;
        bool is_other = speaker->identity != link->identity;
        speaker->identity = link->identity;
        pthread_mutex_unlock(&link->lock);
        if (is_other)
                client_reconnect(speaker->client);
        speak_once(speaker, &saying);
        mem_free(saying.body);
        pthread_mutex_lock(&link->lock);
        if (!speaker->waits) {
                link->is_saying = false;
                pthread_cond_broadcast(&link->changed);
        }
}

static void *speak(void *arg)
{
        struct speaker *speaker = arg;
        struct link *link = speaker->link;

        pthread_mutex_lock(&link->lock);
        while (!link->is_stopping) {
                if (!has_to_say(speaker)) {
                        pthread_cond_wait(&link->changed, &link->lock);
                        continue;
                }
                speak_now(speaker);
                if (speaker->failures > 0)
                        pause_for(speaker);
        }
        pthread_mutex_unlock(&link->lock);
        return NULL;
}

/* ---- life ---- */

static int start_speaker(struct link *link, struct speaker *speaker, struct err *err)
{
        int rc = client_new(&link->setup.client, &speaker->client, err);

        if (rc < 0)
                return rc;
        speaker->link = link;
        if (pthread_create(&speaker->thread, NULL, speak, speaker) != 0)
                return err_set(err, ERR_IO, "no thread can be started");
        speaker->is_started = true;
        return 0;
}

int link_start(const struct link_setup *setup, struct link **ret_link, struct err *err)
{
        struct link *link = mem_new(1, sizeof *link);
        int rc = 0;

        if (!link)
                return err_set(err, ERR_NOMEM, "out of memory");
        link->setup = *setup;
        link->setup.node = NULL;
        link->setup.log = NULL;
        str_copy(link->log, sizeof link->log, setup->log ? setup->log : "");
        link->is_held = setup->is_held;
        pthread_mutex_init(&link->lock, NULL);
        cond_init(&link->changed);
        link->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        link->speakers[0].waits = true;
        if (link->event_fd < 0)
                rc = err_set(err, ERR_IO, "no event can be made: %s", strerror(errno));
        else if (!str_copy(link->node, sizeof link->node, setup->node))
                rc = err_set(err, ERR_INPUT, "the node's name is too long");
        for (size_t i = 0; i < ARRAY_LEN(link->speakers) && rc == 0; i++)
                rc = start_speaker(link, &link->speakers[i], err);
        if (rc < 0)
                link_stop(link);
        else
                *ret_link = link;
        return rc;
}

void link_stop(struct link *link)
{
        if (!link)
                return;
        pthread_mutex_lock(&link->lock);
        link->is_stopping = true;
        pthread_cond_broadcast(&link->changed);
        pthread_mutex_unlock(&link->lock);
        for (size_t i = 0; i < ARRAY_LEN(link->speakers); i++)
                if (link->speakers[i].is_started)
                        client_stop(link->speakers[i].client);
        for (size_t i = 0; i < ARRAY_LEN(link->speakers); i++) {
                if (link->speakers[i].is_started)
                        pthread_join(link->speakers[i].thread, NULL);
                client_free(link->speakers[i].client);
        }
        exchange_free(link->out.answer);
        if (link->event_fd >= 0)
                close(link->event_fd);
        pthread_cond_destroy(&link->changed);
        pthread_mutex_destroy(&link->lock);
        mem_free(link->body);
        mem_free(link);
}

void link_identify(struct link *link)
{
        pthread_mutex_lock(&link->lock);
        link->is_held = false;
        link->identity++;
        pthread_cond_broadcast(&link->changed);
        pthread_mutex_unlock(&link->lock);
}

int link_fd(const struct link *link)
{
        return link->event_fd;
}

uint64_t link_report(struct link *link, const char *body, size_t size, bool is_news)
{
        char *copy = mem_new(size + 1, 1);
        uint64_t number = 0;

        if (!copy)
                return 0;
        memcpy(copy, body, size);
        pthread_mutex_lock(&link->lock);
        char *old = link->body;
        link->body = copy;
        link->size = size;
        number = ++link->number;
        if (is_news)
                link->news = number;
        pthread_cond_broadcast(&link->changed);
        pthread_mutex_unlock(&link->lock);
        mem_free(old);
        return number;
}

void link_take(struct link *link, struct link_news *ret_news)
{
        uint64_t count;

        pthread_mutex_lock(&link->lock);
        if (read(link->event_fd, &count, sizeof count) < 0)
                count = 0; /* nothing since the last time */
        *ret_news = link->out;
        link->out.answer = NULL;
        pthread_mutex_unlock(&link->lock);
}
