#include "controller/past_asks.h"

#include <stdlib.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/access.h"
#include "controller/explained.h"
#include "controller/past.h"
#include "net/http.h"
#include "net/problem.h"
#include "store/store.h"

struct past_ask {
        struct past_ask *next;               /* in the order in which they came */
        struct past_asks *asks;
        uv_work_t work;
        struct http_exchange *exchange;
        char person[WHO_NAME_MAX];
        struct past_question question;
        atomic_bool ends;
        /* The thread's, while it runs. */
        char *bytes;                    /* the answer; from malloc */
        size_t size;
        int rc;
        struct err err;
};

struct past_asks {
        uv_loop_t *loop;
        const struct store *store;
        struct past_ask *first;              /* the first one is worked at, where `runs` */
        unsigned count;
        bool runs;
};

struct past_asks *past_asks_new(struct uv_loop_s *loop, const struct store *store)
{
        struct past_asks *asks = mem_new(1, sizeof *asks);

        if (asks) {
                asks->loop = loop;
                asks->store = store;
        }
        return asks;
}

/* ---- in the thread ---- */

static void run(uv_work_t *work)
{
        struct past_ask *ask = work->data;
        const struct past_limits limits = {.records_max = PAST_RECORDS_MAX,
                                           .ms_max = PAST_MS_MAX,
                                           .ends = &ask->ends};
        struct store *view;

        ask->rc = store_view(ask->asks->store, &view, &ask->err);
        if (ask->rc)
                return;
        ask->rc = past_answer(view, &ask->question, &limits, &ask->bytes, &ask->size, &ask->err);
        store_close(view);
}

/* ---- in the loop ---- */

static void answer(struct past_ask *ask)
{
        if (ask->rc == 0)
                http_answer(ask->exchange, 200, explained_type(ask->question.as_text), ask->bytes,
                            ask->size);
        else
                problem_answer(ask->exchange, 0, &ask->err, NULL);
        free(ask->bytes);
        ask->asks->count--;
        mem_free(ask);
}

static void fail(struct past_ask *ask, const char *why)
{
        ask->rc = err_set(&ask->err, ERR_CANCELLED, "%s", why);
        answer(ask);
}

static void start_next(struct past_asks *asks);

static void on_done(uv_work_t *work, int status)
{
        struct past_ask *ask = work->data;
        struct past_asks *asks = ask->asks;

        (void)status;                   /* it is never cancelled before it runs */
        asks->runs = false;
        asks->first = ask->next;
        answer(ask);
        start_next(asks);
}

static void start_next(struct past_asks *asks)
{
        while (asks->first && !asks->runs) {
                struct past_ask *ask = asks->first;
                ask->work.data = ask;
                if (uv_queue_work(asks->loop, &ask->work, run, on_done) == 0) {
                        asks->runs = true;
                        return;
                }
                asks->first = ask->next;
                fail(ask, "no thread takes the work now: try again");
        }
}

int past_asks_add(struct past_asks *asks, struct http_exchange *exchange, const char *person,
                  const struct past_question *question, struct err *err)
{
        struct past_ask **last = &asks->first, *ask;
        unsigned own = 0;

        for (; *last; last = &(*last)->next)
                own += str_equal((*last)->person, person);
        if (asks->count >= PAST_ASKS_MAX || own >= PAST_ASKS_PERSON_MAX)
                return err_set(err, ERR_FULL,
                               "%u questions about the past wait for an answer already%s: try again "
                               "when one has come",
                               own >= PAST_ASKS_PERSON_MAX ? own : asks->count,
                               own >= PAST_ASKS_PERSON_MAX ? " of yours" : "");
        ask = mem_new(1, sizeof *ask);
        if (!ask)
                return err_set(err, ERR_NOMEM, "out of memory");
        ask->asks = asks;
        ask->exchange = exchange;
        ask->question = *question;
        (void)str_copy(ask->person, sizeof ask->person, person);
        atomic_init(&ask->ends, false);
        *last = ask;
        asks->count++;
        start_next(asks);
        return 0;
}

void past_asks_look(struct past_asks *asks, bool all)
{
        for (struct past_ask **at = asks ? &asks->first : NULL; at && *at;) {
                struct past_ask *ask = *at;
                bool is_worked_at = asks->runs && ask == asks->first;
                bool ends = all || http_client_gone(ask->exchange);
                if (ends && is_worked_at)
                        atomic_store(&ask->ends, true); /* answered when the thread is done */
                if (ends && !is_worked_at) {
                        *at = ask->next;
                        fail(ask, "the controller ends, or nobody waits any more");
                } else {
                        at = &ask->next;
                }
        }
}

void past_asks_free(struct past_asks *asks)
{
        if (!asks)
                return;
        past_asks_look(asks, true);
        while (asks->runs)
                (void)uv_run(asks->loop, UV_RUN_ONCE);
        mem_free(asks);
}
