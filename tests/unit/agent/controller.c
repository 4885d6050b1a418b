#include "tests/unit/agent/controller.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <uv.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http.h"
#include "net/uri.h"

#define HELD_MAX   16
#define STARTS_MAX 256

struct held {
        struct http_exchange *exchange; /* NULL: free */
        uint64_t seen;
        int64_t until_ms;
};

struct controller {
        pthread_t thread;
        uv_loop_t loop;
        uv_async_t async;
        uv_timer_t timer;
        struct http_server *server;
        char socket_path[200];
        pthread_mutex_t lock; /* of all below */
        bool is_stopping, is_silent;
        char *runs;
        uint64_t generation;
        int64_t lease_ms;
        const char *head;
        struct held held[HELD_MAX];
        json_t *report;
        unsigned reports;
        uint64_t request; /* of the want that is open; 0 = none */
        char want[512];
        bool has_output;
        struct seen_output output;
        struct run_key started[STARTS_MAX];
        int64_t started_pid[STARTS_MAX];
        unsigned started_count;
        uint64_t checkpoints[64]; /* workloads, one for each time */
        int64_t checkpoint_age_ms; /* of the newest report with one; -1: none */
        unsigned checkpoints_count;
};

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the server's thread, with the lock held ---- */

static void answer(struct controller *self, struct http_exchange *exchange)
{
        char *body = NULL;
        char wants[700] = "";

        if (self->is_silent) {
                http_answer(exchange, 503, "text/plain", "silent", 6);
                return;
        }
        if (self->request && !self->has_output)
                snprintf(wants, sizeof wants, "{\"request\": %" PRIu64 ", %s}", self->request,
                         self->want);
        int length =
                asprintf(&body,
                         "{%s\"generation\": %" PRIu64 ", \"lease_ms\": %" PRId64
                         ", \"runs\": [%s], \"wants\": [%s], \"something\": {\"new\": 1}}",
                         self->head ? self->head : "", self->generation, self->lease_ms, self->runs ? self->runs : "", wants);
        assert(length > 0);
        http_answer(exchange, 200, "application/json", body, (size_t)length);
        free(body);
}

static void note_started(struct controller *self, const json_t *run)
{
        struct run_key key = {
                (uint64_t)json_integer_value(json_object_get(run, "workload")),
                (uint32_t)json_integer_value(json_object_get(run, "member")),
                (uint64_t)json_integer_value(json_object_get(run, "epoch")),
        };
        int64_t pid = json_integer_value(json_object_get(run, "pid"));

        if (pid == 0)
                return;
        for (unsigned i = 0; i < self->started_count; i++)
                if (run_key_equal(self->started[i], key) && self->started_pid[i] == pid)
                        return;
        assert(self->started_count < STARTS_MAX);
        self->started[self->started_count] = key;
        self->started_pid[self->started_count++] = pid;
}

static void take_report(struct controller *self, struct http_exchange *exchange, uint64_t *ret_seen)
{
        size_t size, i;
        const char *body = http_body(exchange, &size);
        json_t *report = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL), *item;

        assert(report); /* what the agent says is JSON */
        *ret_seen = (uint64_t)json_integer_value(json_object_get(report, "seen"));
        json_decref(self->report);
        self->report = report;
        self->reports++;
        json_array_foreach(json_object_get(report, "runs"), i, item) note_started(self, item);
        item = json_array_get(json_object_get(report, "checkpoints"), 0);
        if (item)
                self->checkpoint_age_ms = json_integer_value(json_object_get(report, "sent_ms")) -
                                          json_integer_value(json_object_get(item, "at_ms"));
        json_array_foreach(json_object_get(report, "checkpoints"), i,
                           item) if (self->checkpoints_count < 64)
                self->checkpoints[self->checkpoints_count++] =
                (uint64_t)json_integer_value(json_object_get(item, "workload"));
}

static bool is_due(const struct controller *self, const struct held *held)
{
        return self->is_stopping || self->is_silent || held->seen < self->generation ||
               (self->request && !self->has_output) || now_ms() >= held->until_ms;
}

static void answer_due(struct controller *self)
{
        for (unsigned i = 0; i < HELD_MAX; i++) {
                struct held *held = &self->held[i];
                if (!held->exchange || !is_due(self, held))
                        continue;
                answer(self, held->exchange);
                held->exchange = NULL;
        }
}

static void serve_exchange(struct controller *self, struct http_exchange *exchange)
{
        char text[32] = "0";
        uint64_t seen;

        take_report(self, exchange, &seen);
        query_get(http_query(exchange), "wait_ms", text, sizeof text, NULL);
        struct held held = {exchange, seen, now_ms() + atoll(text)};
        /* Only the newest call waits. */
        for (unsigned i = 0; i < HELD_MAX; i++) {
                if (self->held[i].exchange)
                        http_answer(self->held[i].exchange, 503, NULL, NULL, 0);
                self->held[i].exchange = NULL;
        }
        for (unsigned i = 0; i < HELD_MAX && !is_due(self, &held); i++) {
                if (self->held[i].exchange)
                        continue;
                self->held[i] = held;
                return;
        }
        answer(self, exchange);
}

static void serve_answer(struct controller *self, struct http_exchange *exchange)
{
        const char *offset = http_header(exchange, "Berth-Offset");
        const char *total = http_header(exchange, "Berth-Size");
        uint64_t request = strtoull(strrchr(http_path(exchange), '/') + 1, NULL, 10);
        size_t size;
        const char *body = http_body(exchange, &size);

        if (request == self->request && offset && total && size <= sizeof self->output.bytes) {
                memcpy(self->output.bytes, body, size);
                self->output.size = size;
                self->output.offset = strtoull(offset, NULL, 10);
                self->output.total = strtoull(total, NULL, 10);
                self->has_output = true;
        }
        http_answer(exchange, 204, NULL, NULL, 0);
}

static void serve(struct http_exchange *exchange, void *arg)
{
        struct controller *self = arg;
        const char *path = http_path(exchange);

        pthread_mutex_lock(&self->lock);
        if (str_equal(path, "/v1/nodes/n1/exchange"))
                serve_exchange(self, exchange);
        else if (strncmp(path, "/v1/nodes/n1/answers/", 21) == 0)
                serve_answer(self, exchange);
        else
                http_answer(exchange, 404, "text/plain", "no", 2);
        pthread_mutex_unlock(&self->lock);
}

static void on_async(uv_async_t *async)
{
        struct controller *self = async->data;

        pthread_mutex_lock(&self->lock);
        answer_due(self);
        bool is_stopping = self->is_stopping;
        pthread_mutex_unlock(&self->lock);
        if (!is_stopping || uv_is_closing((uv_handle_t *)&self->timer))
                return;
        http_free(self->server);
        uv_close((uv_handle_t *)&self->timer, NULL);
        uv_close((uv_handle_t *)&self->async, NULL);
}

static void on_timer(uv_timer_t *timer)
{
        struct controller *self = timer->data;

        pthread_mutex_lock(&self->lock);
        answer_due(self);
        pthread_mutex_unlock(&self->lock);
}

static void *serve_loop(void *arg)
{
        struct controller *self = arg;

        uv_run(&self->loop, UV_RUN_DEFAULT);
        return NULL;
}

/* ---- the test's thread ---- */

struct controller *controller_start(const char *socket_path)
{
        struct controller *self = calloc(1, sizeof *self);
        struct http_setup setup = {.limits = http_limits_default, .handler = serve, .arg = self};
        struct err err;

        assert(self);
        self->lease_ms = 30000;
        str_copy(self->socket_path, sizeof self->socket_path, socket_path);
        pthread_mutex_init(&self->lock, NULL);
        uv_loop_init(&self->loop);
        uv_async_init(&self->loop, &self->async, on_async);
        uv_timer_init(&self->loop, &self->timer);
        self->async.data = self->timer.data = self;
        uv_timer_start(&self->timer, on_timer, 20, 20);
        setup.limits.rate_per_s = 0;
        int rc = http_new(&self->loop, &setup, &self->server, &err);
        if (rc == 0)
                rc = http_listen_unix(self->server, socket_path, 0600, &err);
        assert(rc == 0);
        rc = pthread_create(&self->thread, NULL, serve_loop, self);
        assert(rc == 0);
        return self;
}

static void wake(struct controller *self)
{
        uv_async_send(&self->async);
}

void controller_stop(struct controller *self)
{
        pthread_mutex_lock(&self->lock);
        self->is_stopping = true;
        pthread_mutex_unlock(&self->lock);
        wake(self);
        pthread_join(self->thread, NULL);
        int rc = uv_loop_close(&self->loop);
        assert(rc == 0);
        pthread_mutex_destroy(&self->lock);
        json_decref(self->report);
        free(self->runs);
        free(self);
}

void controller_list_old(struct controller *self, const char *runs, uint64_t generation)
{
        pthread_mutex_lock(&self->lock);
        free(self->runs);
        self->runs = strdup(runs);
        self->generation = generation;
        pthread_mutex_unlock(&self->lock);
        wake(self);
}

void controller_list(struct controller *self, const char *runs)
{
        pthread_mutex_lock(&self->lock);
        uint64_t generation = self->generation + 1;
        pthread_mutex_unlock(&self->lock);
        controller_list_old(self, runs, generation);
}

void controller_head(struct controller *self, const char *head)
{
        pthread_mutex_lock(&self->lock);
        self->head = head;
        pthread_mutex_unlock(&self->lock);
}

json_t *controller_report(struct controller *self)
{
        pthread_mutex_lock(&self->lock);
        json_t *report = json_deep_copy(self->report);
        pthread_mutex_unlock(&self->lock);
        return report;
}

void controller_lease(struct controller *self, int64_t lease_ms)
{
        pthread_mutex_lock(&self->lock);
        self->lease_ms = lease_ms;
        pthread_mutex_unlock(&self->lock);
}

void controller_fall_silent(struct controller *self, bool is_silent)
{
        pthread_mutex_lock(&self->lock);
        self->is_silent = is_silent;
        pthread_mutex_unlock(&self->lock);
        wake(self);
}

/* With the lock held. */
static bool find_run(struct controller *self, struct run_key key, struct seen_run *seen)
{
        const json_t *run;
        size_t i;

        json_array_foreach(json_object_get(self->report, "runs"), i, run)
        {
                const char *reason = json_string_value(json_object_get(run, "reason"));
                if ((uint64_t)json_integer_value(json_object_get(run, "workload")) !=
                            key.workload ||
                    json_integer_value(json_object_get(run, "member")) != key.member ||
                    (uint64_t)json_integer_value(json_object_get(run, "epoch")) != key.epoch)
                        continue;
                snprintf(seen->phase, sizeof seen->phase, "%s",
                         json_string_value(json_object_get(run, "phase")));
                snprintf(seen->reason, sizeof seen->reason, "%s", reason ? reason : "");
                seen->exit_code = (int)json_integer_value(json_object_get(run, "exit_code"));
                seen->lost_contact = json_is_true(json_object_get(run, "lost_contact"));
                seen->signal = (int)json_integer_value(json_object_get(run, "signal"));
                seen->pid = json_integer_value(json_object_get(run, "pid"));
                return true;
        }
        return false;
}

bool controller_sees(struct controller *self, struct run_key key, struct seen_run *ret_seen)
{
        pthread_mutex_lock(&self->lock);
        bool is_there = find_run(self, key, ret_seen);
        pthread_mutex_unlock(&self->lock);
        return is_there;
}

bool controller_waits(struct controller *self, struct run_key key, const char *phase,
                      struct seen_run *ret_seen)
{
        struct seen_run seen = {0};
        bool has_come = false;

        for (int64_t until_ms = now_ms() + CONTROLLER_PATIENCE_MS;
             !has_come && now_ms() < until_ms;) {
                bool is_there = controller_sees(self, key, &seen);
                has_come = phase ? is_there && str_equal(seen.phase, phase)
                                 : !is_there && controller_reports(self) > 0;
                if (!has_come)
                        usleep(5000);
        }
        if (!has_come)
                fprintf(stderr, "run %" PRIu64 ": phase '%s' (%s) instead of '%s'\n", key.workload,
                        seen.phase, seen.reason, phase ? phase : "none");
        if (ret_seen)
                *ret_seen = seen;
        return has_come;
}

unsigned controller_times_started(struct controller *self, struct run_key key)
{
        unsigned times = 0;

        pthread_mutex_lock(&self->lock);
        for (unsigned i = 0; i < self->started_count; i++)
                times += run_key_equal(self->started[i], key);
        pthread_mutex_unlock(&self->lock);
        return times;
}

unsigned controller_checkpoints(struct controller *self, uint64_t workload)
{
        unsigned times = 0;

        pthread_mutex_lock(&self->lock);
        for (unsigned i = 0; i < self->checkpoints_count; i++)
                times += self->checkpoints[i] == workload;
        pthread_mutex_unlock(&self->lock);
        return times;
}

int64_t controller_checkpoint_age_ms(struct controller *self)
{
        pthread_mutex_lock(&self->lock);
        int64_t age_ms = self->checkpoint_age_ms;
        pthread_mutex_unlock(&self->lock);
        return age_ms;
}

uint64_t controller_broken(struct controller *self)
{
        uint64_t broken = 0;
        const json_t *device;
        size_t i;

        pthread_mutex_lock(&self->lock);
        json_array_foreach(json_object_get(self->report, "broken"), i, device) broken |=
                1ull << json_integer_value(device);
        pthread_mutex_unlock(&self->lock);
        return broken;
}

void controller_forget(struct controller *self)
{
        pthread_mutex_lock(&self->lock);
        json_decref(self->report);
        self->report = NULL;
        self->reports = 0;
        self->checkpoint_age_ms = -1;
        pthread_mutex_unlock(&self->lock);
}

unsigned controller_reports(struct controller *self)
{
        pthread_mutex_lock(&self->lock);
        unsigned reports = self->reports;
        pthread_mutex_unlock(&self->lock);
        return reports;
}

bool controller_output(struct controller *self, const char *want, struct seen_output *ret_output)
{
        static uint64_t requests;
        bool has_come = false;

        pthread_mutex_lock(&self->lock);
        self->request = ++requests;
        self->has_output = false;
        str_copy(self->want, sizeof self->want, want);
        pthread_mutex_unlock(&self->lock);
        wake(self);
        for (int64_t until_ms = now_ms() + CONTROLLER_PATIENCE_MS;
             !has_come && now_ms() < until_ms;) {
                pthread_mutex_lock(&self->lock);
                has_come = self->has_output;
                *ret_output = self->output;
                pthread_mutex_unlock(&self->lock);
                if (!has_come)
                        usleep(5000);
        }
        return has_come;
}
