#include "controller/daemon_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "controller/alerts.h"
#include "controller/api_handlers.h"
#include "controller/crash.h"
#include "controller/events.h"
#include "controller/live.h"
#include "controller/metrics.h"
#include "controller/persons.h"
#include "controller/quarantine.h"
#include "controller/tokens.h"
#include "controller/usage.h"
#include "controller/worker.h"
#include "net/activation.h"
#include "net/authority.h"
#include "net/http.h"
#include "proto/model_doc.h"
#include "store/rollup.h"
#include "store/store.h"

#define RETAIN_FIRST_MS    600000
#define AUTHORITY_PATH_MAX 4096

/* ---- the log of the daemon itself: one event, one line ---- */

void daemon_say(const char *event, const char *format, ...)
{
        va_list arguments;

        flockfile(stderr);              /* the writer's thread speaks, too */
        fprintf(stderr, "berthd: %s", event);
        if (format[0])
                fputc(' ', stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        funlockfile(stderr);
}

/* ---- events ---- */

/* That it still fails is not said again every second: /healthz does. */
static void say_of_store(const struct writer_event *event)
{
        switch (event->kind) {
        case WRITER_EVENT_FAILED:
                daemon_say("store failed:",
                           "%s; nothing is acknowledged until it is mended, reads go on",
                           event->err->text);
                break;
        case WRITER_EVENT_RECOVERED:
                daemon_say("store works again:", "requests are taken");
                break;
        case WRITER_EVENT_CHECKPOINT_FAILED:
                daemon_say("warning:", "%s; what is committed is safe, and the WAL grows",
                           event->err->text);
                break;
        case WRITER_EVENT_COMMITTED:
        case WRITER_EVENT_STILL_FAILED:
        case WRITER_EVENTS_END:
                break;
        }
}

/* From the writer's thread; without an event, from the loop itself. */
static void wake(void *arg, const struct writer_event *event)
{
        struct daemon *daemon = arg;

        if (event)
                say_of_store(event);
        (void)uv_async_send(&daemon->committed);
}

static void on_committed(uv_async_t *async)
{
        struct daemon *daemon = async->data;
        struct err err;

        if (core_event(daemon->live.core, &err) < 0)
                daemon_say("state not made anew:", "%s", err.text);
}

/* ---- starting ---- */

/* Nodes show certificates in TLS, and nowhere else. */
static int load_authority(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        char path[AUTHORITY_PATH_MAX];

        if (!options->tls_certificate)
                return 0;
        if (snprintf(path, sizeof path, "%s.authority", options->store) >= (int)sizeof path)
                return err_set(err, ERR_INPUT, "--store: the path is too long");
        return authority_load(path, &daemon->api.authority, err);
}

static void say_unread(const struct daemon *daemon)
{
        struct alerts_figures figures = alerts_figures(daemon->live.alerts);

        if (figures.unread > 0)
                daemon_say("alerts left out:",
                           "rows=%u first=%" PRIu64 ": they cannot be read; what is still so is "
                           "raised anew",
                           figures.unread, figures.unread_id);
}

static void say_line(const char *event, const char *text)
{
        daemon_say(event, "%s", text);
}

/* Above what any start before has given, of whichever copy of this store. */
static int numbers_of_start(struct numbers_wish *ret_wish, struct err *err)
{
        uint64_t now_us = (uint64_t)api_now_ms() * 1000, random[2];

        if (getrandom(random, sizeof random, 0) != sizeof random)
                return err_set(err, ERR_IO, "no random numbers: %s", strerror(errno));
        *ret_wish = (struct numbers_wish){
                .log = random[0] ? random[0] : 1,
                .epoch_min = now_us < NUMBERS_EPOCH_MAX ? now_us : NUMBERS_EPOCH_MAX,
                .chance = (uint32_t)random[1] | NUMBERS_CHANCE_MIN};
        return 0;
}

static int open_live(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        struct core_setup setup = {.models = daemon->models,
                                   .bounds = {.nodes_max = options->nodes_max,
                                              .workloads_max = options->workloads_max},
                                   .placement = {.kind = POLICY_AUTO},
                                   .event = wake,
                                   .arg = daemon};
        const struct store_options store = {.path = options->store,
                                            .is_unsafe = options->store_unsafe};
        struct core_recovery told;
        int rc = numbers_of_start(&setup.numbers, err);

        rc = rc ? rc : store_open(&store, &setup.store, err);

        if (rc)
                return rc;
        daemon->live = (struct live){.lease_ms = options->lease_ms,
                                     .keeps = {{[RETENTION_RECORDS] = options->keep_records_days,
                                                [RETENTION_ENDED] = options->keep_ended_days,
                                                [RETENTION_REVIEW] = ROLLUP_MONTHS}},
                                     .version = options->version,
                                     .forecaster = &daemon->forecaster,
                                     .changed = api_node_changed,
                                     .said = say_line,
                                     .arg = &daemon->api};
        rc = live_open(&daemon->live, &setup, options->simulate, api_now_ms(), &told, err);
        if (rc) {
                if (!daemon->live.core)
                        store_close(setup.store);
                return rc;
        }
        rc = daemon_watch_crashes(daemon, err);
        if (rc)
                return rc;
        daemon->api.events = daemon->events = events_new(daemon->live.core);
        daemon->api.metrics = daemon->metrics = metrics_new(&daemon->live, daemon->events,
                                                             daemon->api.quarantine);
        daemon->api.persons = persons_new();
        daemon->api.asides = asides_new(&daemon->loop, daemon->live.core);
        rc = tokens_open(daemon->live.core, &daemon->api.tokens, err);
        if (rc)
                return rc;
        if (!daemon->events || !daemon->metrics || !daemon->api.persons || !daemon->api.asides)
                return err_set(err, ERR_NOMEM, "out of memory");
        daemon->snapshot_seq = told.snapshot_seq;
        daemon->snapshot_day = api_now_ms() / DAEMON_DAY_MS;
        daemon->retain_at_ms = api_now_ms() + (options->prune_every_ms < RETAIN_FIRST_MS
                                                       ? options->prune_every_ms
                                                       : RETAIN_FIRST_MS);
        if (options->store_unsafe)
                daemon_say("UNSAFE:",
                           "what is answered is not on the disk, and a loss of power loses it");
        daemon_say("recovered",
                   "store=%s snapshot=%" PRIu64 " records=%" PRIu64 " facts=%" PRIu64
                   " workloads=%" PRIu64 " ms=%" PRId64,
                   options->store, told.snapshot_seq, told.records, told.facts, told.workloads,
                   told.took_ms);
        say_unread(daemon);
        return daemon_put_documents(daemon, err);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
        (void)arg;
        if (!uv_is_closing(handle))
                uv_close(handle, NULL);
}

static int serve(struct daemon *daemon, struct err *err)
{
        int rc = load_authority(daemon, err);

        if (rc == 0)
                rc = open_live(daemon, err);
        if (rc == 0)
                daemon_start_clock(daemon);
        if (rc == 0)
                daemon_hear_signals(daemon);    /* before anybody knows that it is there */
        if (rc == 0)
                rc = daemon_listen(daemon, err);
        if (rc == 0)
                rc = daemon_start_worker(daemon, err);
        if (rc == 0) {
                (void)activation_ready(NULL);
                (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
        }
        asides_free(daemon->api.asides);
        worker_end(daemon->worker);
        http_free(daemon->http);        /* closes the streams */
        crash_unwatch();
        if (daemon->live.core && rc == 0)
                alerts_end(daemon->live.alerts, api_now_ms());
        if (daemon->live.core && rc == 0 &&
            (live_count_usage(&daemon->live, api_now_ms(), err) < 0 ||
             core_finish(daemon->live.core, err) < 0))
                daemon_say("no snapshot:", "%s", err->text);
        live_close(&daemon->live);      /* commits what waits */
        metrics_free(daemon->metrics);
        events_free(daemon->events);
        tokens_free(daemon->api.tokens);
        persons_free(daemon->api.persons);
        quarantine_free(daemon->api.quarantine);
        authority_free(daemon->api.authority);
        return rc;
}

static int load_models(struct daemon *daemon, struct err *err)
{
        daemon->models = model_table_new();
        return daemon->models ? model_doc_builtin(daemon->models, err)
                              : err_set(err, ERR_NOMEM, "out of memory");
}

int daemon_run(const struct daemon_options *options, struct err *err)
{
        struct daemon daemon = {.options = options,
                                .forecaster = {.program = options->forecast_program,
                                               .store = options->store,
                                               .memory_mib = options->worker_memory_mib,
                                               .ms_max = options->forecast_ms_max}};
        int rc;

        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGCHLD, SIG_DFL);         /* whoever started us: we wait for our children */
        daemon.api = (struct api){.live = &daemon.live,
                                  .own_uid = (uint32_t)getuid(),
                                  .person_per_s = options->requests_per_s,
                                  .certificate_ms = options->certificate_ms,
                                  .version = options->version};
        daemon.routes = (struct routes){api_routes, api_routes_count, &daemon.api};
        rc = routes_check(api_routes, api_routes_count, err);
        if (rc == 0)
                rc = load_models(&daemon, err);
        if (rc)
                return rc;
        (void)uv_loop_init(&daemon.loop);
        (void)uv_async_init(&daemon.loop, &daemon.committed, on_committed);
        daemon.committed.data = &daemon;
        rc = serve(&daemon, err);
        uv_walk(&daemon.loop, close_handle, NULL);
        (void)uv_run(&daemon.loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&daemon.loop);
        worker_free(daemon.worker);
        model_table_free(daemon.models);
        return rc;
}
