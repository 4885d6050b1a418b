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
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "controller/alerts.h"
#include "controller/api_handlers.h"
#include "controller/crash.h"
#include "controller/events.h"
#include "controller/live.h"
#include "controller/metrics.h"
#include "controller/persons.h"
#include "controller/quarantine.h"
#include "controller/simulated.h"
#include "controller/tls_files.h"
#include "controller/tokens.h"
#include "controller/usage.h"
#include "controller/worker.h"
#include "engine/memo.h"
#include "net/activation.h"
#include "net/authority.h"
#include "net/http.h"
#include "proto/model_doc.h"
#include "store/rollup.h"
#include "store/store.h"

#define BEHIND_EVERY_MS    2
#define BEHIND_PARTS       16           /* of the time of a busy loop, they have one */
#define BEHIND_NS          500000       /* at one go */
#define PLAY_EVERY_MS      20           /* simulated nodes */
#define LOOK_EVERY_MS      250          /* after the worker */
#define RETRY_EVERY_MS     1000         /* a store that has failed */
#define END_WITHIN_MS      3000
#define DAY_MS             INT64_C(86400000)
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

/* After so many records; and on each day on which there are any, so that the pool as it was can be
 * made again from not too far back. */
static void snapshot_if_due(struct daemon *daemon, int64_t now_ms)
{
        uint64_t seq = core_last_seq(daemon->live.core);
        struct err err;

        if (seq - daemon->snapshot_seq < daemon->options->snapshot_records &&
            (seq == daemon->snapshot_seq || now_ms / DAY_MS == daemon->snapshot_day))
                return;
        daemon->snapshot_seq = seq;
        daemon->snapshot_day = now_ms / DAY_MS;
        if (live_count_usage(&daemon->live, now_ms, &err) < 0 ||
            core_snapshot(daemon->live.core, &err) < 0)
                daemon_say("snapshot not begun:", "%s", err.text);
}

/* Once a day, and soon after the start. */
static void retain_if_due(struct daemon *daemon, int64_t now_ms)
{
        const struct retention keeps = live_retention(&daemon->live);
        char texts[RETENTIONS_END][RETENTION_TEXT_MAX];
        struct err err;

        if (now_ms < daemon->retain_at_ms)
                return;
        daemon->retain_at_ms = now_ms + daemon->options->prune_every_ms;
        if (live_retain(&daemon->live, &err) < 0) {
                daemon_say("nothing old removed:", "%s", err.text);
                return;
        }
        daemon_say("removing what is old:", "records=%s ended=%s review=%s policy=%" PRIu64,
                   retention_text(&keeps, RETENTION_RECORDS, texts[RETENTION_RECORDS]),
                   retention_text(&keeps, RETENTION_ENDED, texts[RETENTION_ENDED]),
                   retention_text(&keeps, RETENTION_REVIEW, texts[RETENTION_REVIEW]),
                   core_policy_revision(daemon->live.core));
}

static void retry_if_due(struct daemon *daemon, int64_t now_ms)
{
        if (core_may_act(daemon->live.core, NULL) == 0 ||
            now_ms - daemon->retried_ms < RETRY_EVERY_MS)
                return;
        daemon->retried_ms = now_ms;
        core_retry(daemon->live.core);
        (void)uv_async_send(&daemon->committed);
}

/* What is wrong with it is said, and what was there stays. A store that takes nothing now, or a
 * revision that is not on the disk yet, is waited for. */
static void read_policy_if_due(struct daemon *daemon)
{
        struct err err;
        int rc;

        if (!daemon->policy_due || core_may_act(daemon->live.core, NULL) < 0)
                return;
        rc = daemon_put_policy_file(daemon, &err);
        daemon->policy_due = rc == -ERR_EXISTS;
        if (rc < 0 && !daemon->policy_due)
                daemon_say("policy not taken:", "%s", err.text);
}

static void on_tick(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;
        int64_t now_ms = api_now_ms();
        struct err err;

        (void)activation_alive();
        retry_if_due(daemon, now_ms);
        read_policy_if_due(daemon);
        if (core_may_act(daemon->live.core, &err) == 0 &&
            live_tick(&daemon->live, now_ms, &err) < 0)
                daemon_say("tick failed:", "%s", err.text);
        alerts_look(daemon->live.alerts, now_ms);
        if (usage_is_due(daemon->live.usage, now_ms) &&
            core_may_act(daemon->live.core, NULL) == 0 &&
            live_count_usage(&daemon->live, now_ms, &err) < 0)
                daemon_say("usage not rolled up:", "%s", err.text);
        snapshot_if_due(daemon, now_ms);
        retain_if_due(daemon, now_ms);
}

/* Often while somebody is behind, a little each time. */
static void on_behind(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;
        int64_t begin_ns = time_monotonic_ns();

        events_step(daemon->events, api_now_ms(), share_left_ns(&daemon->behind_share, begin_ns));
        share_spend(&daemon->behind_share, time_monotonic_ns() - begin_ns);
        if (events_any_behind(daemon->events))
                (void)uv_timer_start(timer, on_behind, BEHIND_EVERY_MS, 0);
}

static void on_play(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;
        int64_t now_ms = api_now_ms();
        struct err err;

        if (!uv_is_active((const uv_handle_t *)&daemon->behind))
                on_behind(&daemon->behind);
        if (core_may_act(daemon->live.core, NULL) < 0)
                return;
        if (daemon->live.simulated &&
            simulated_run(daemon->live.simulated, &daemon->live, now_ms, &err) < 0)
                daemon_say("simulated nodes:", "%s", err.text);
        api_end_waits(&daemon->api, now_ms);
        api_end_wants(&daemon->api, now_ms);
        api_end_attachments(&daemon->api, false);
        asides_look(daemon->api.asides, false);
}

static void on_look(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;

        worker_tick(daemon->worker);
}

/* Whoever waits for the disk still gets an answer; who is slower than this does not. */
static void on_ending(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;

        api_end_waits(&daemon->api, INT64_MAX);
        api_end_wants(&daemon->api, INT64_MAX);
        api_end_attachments(&daemon->api, true);
        asides_look(daemon->api.asides, true);
        if (http_counters(daemon->http).exchanges == 0 || api_now_ms() > daemon->end_by_ms)
                uv_stop(&daemon->loop);
}

static void on_signal(uv_signal_t *signal, int number)
{
        struct daemon *daemon = signal->data;

        (void)number;
        if (daemon->end_by_ms)
                return;
        daemon_say("stopping:", "a signal came");
        (void)activation_stopping(NULL);
        daemon->end_by_ms = api_now_ms() + END_WITHIN_MS;
        http_drain(daemon->http);
        events_end_all(daemon->events);
        worker_end(daemon->worker);
        (void)uv_timer_stop(&daemon->tick);
        (void)uv_timer_stop(&daemon->behind);
        (void)uv_timer_start(&daemon->play, on_ending, 0, PLAY_EVERY_MS);
}

/* ---- starting ---- */

/* What can be read anew is; what is wrong with it is said, and what was there stays. */
static void on_hangup(uv_signal_t *signal, int number)
{
        struct daemon *daemon = signal->data;
        const struct daemon_options *options = daemon->options;
        struct tls_files files = {0};
        struct err err;

        (void)number;
        daemon_say("reading anew:", "a signal came");
        (void)activation_reloading();
        if (options->tls_certificate &&
            (tls_files_read(options->tls_certificate, options->tls_key, options->client_ca,
                            authority_certificate(daemon->api.authority), &files, &err) < 0 ||
             http_tls_set(daemon->http, &files.tls, &err) < 0))
                daemon_say("certificate not taken:", "%s", err.text);
        tls_files_done(&files);
        daemon->policy_due = options->policy != NULL;
        read_policy_if_due(daemon);
        (void)activation_ready(NULL);
}

/* A person is to look at it. */
static void raise_held(struct daemon *daemon, const struct quarantine_entry *entry)
{
        char subject[24], text[600];

        (void)snprintf(subject, sizeof subject, "%" PRIu64, entry->id);
        (void)snprintf(text, sizeof text,
                       "this has crashed the controller ('berth quarantine list --json' shows "
                       "where), and is not tried again until 'berth quarantine release %" PRIu64
                       "': %s%s%s%s%s", entry->id, entry->kind, entry->what[0] ? " " : "",
                       entry->what, entry->by[0] ? ", asked by " : "", entry->by);
        (void)alerts_raise(daemon->live.alerts, ALERT_QUARANTINED, subject, "", text, api_now_ms());
}

/* What crashed earlier runs, and whether it may be tried again. A failure keeps nobody from
 * starting: the crashes count when the file is read again. */
static void take_crashes(struct daemon *daemon)
{
        const struct quarantine_entry *entry;
        uint32_t cursor = 0;
        unsigned crashes, held = 0;
        struct err err;

        if (quarantine_take(daemon->api.quarantine, daemon->crash_file, api_now_ms(), &crashes,
                            &err) < 0)
                daemon_say("crash records not taken:", "%s", err.text);
        if (crashes > 0)
                daemon_say("has crashed", "times=%u", crashes);
        while ((entry = quarantine_next(daemon->api.quarantine, &cursor))) {
                held += entry->is_held;
                if (entry->is_new && entry->is_held)
                        raise_held(daemon, entry);
                if (entry->is_new)
                        daemon_say(entry->is_held ? "in quarantine:" : "suspected:",
                                   "id=%" PRIu64 " of=%s kind=\"%s\" what=\"%s\" by=\"%s\"",
                                   entry->id, crash_of_name((enum crash_of)entry->of), entry->kind,
                                   entry->what, entry->by);
        }
        if (held > 0)
                daemon_say("quarantine", "held=%u", held);
}

/* Before anything is decided; a child, such as the worker, is no concern of it. */
static int watch_crashes(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        int rc = quarantine_open(daemon->live.core, &daemon->api.quarantine, err);

        if (rc == 0 && snprintf(daemon->crash_file, sizeof daemon->crash_file, "%s.crash",
                                options->store) >= (int)sizeof daemon->crash_file)
                rc = err_set(err, ERR_INPUT, "%s: the path is too long", options->store);
        if (rc == 0)
                rc = crash_watch(daemon->crash_file, options->version, options->decide_ms_max, err);
        if (rc == 0)
                take_crashes(daemon);
        return rc;
}

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
        uint64_t now_us = (uint64_t)api_now_ms() * 1000;

        uint64_t random[2];

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
                                     .changed = api_node_changed,
                                     .said = say_line,
                                     .arg = &daemon->api};
        rc = live_open(&daemon->live, &setup, options->simulate, api_now_ms(), &told, err);
        if (rc) {
                if (!daemon->live.core)
                        store_close(setup.store);
                return rc;
        }
        rc = watch_crashes(daemon, err);
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
        daemon->snapshot_day = api_now_ms() / DAY_MS;
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

static void start_clock(struct daemon *daemon)
{
        uint64_t tick_ms = (uint64_t)daemon->options->tick_ms;

        (void)uv_timer_init(&daemon->loop, &daemon->tick);
        (void)uv_timer_init(&daemon->loop, &daemon->play);
        (void)uv_timer_init(&daemon->loop, &daemon->behind);
        share_init(&daemon->behind_share, &daemon->loop, BEHIND_PARTS, BEHIND_NS);
        (void)uv_signal_init(&daemon->loop, &daemon->term);
        (void)uv_signal_init(&daemon->loop, &daemon->interrupt);
        (void)uv_signal_init(&daemon->loop, &daemon->hangup);
        daemon->tick.data = daemon->play.data = daemon->behind.data = daemon->term.data =
                daemon->interrupt.data = daemon->hangup.data = daemon;
        (void)uv_timer_start(&daemon->tick, on_tick, 0, tick_ms);
        (void)uv_timer_start(&daemon->play, on_play, PLAY_EVERY_MS, PLAY_EVERY_MS);
        (void)uv_signal_start(&daemon->term, on_signal, SIGTERM);
        (void)uv_signal_start(&daemon->interrupt, on_signal, SIGINT);
        (void)uv_signal_start(&daemon->hangup, on_hangup, SIGHUP);
}

/* Beside the loop: nothing waits for it. */
static int start_worker(struct daemon *daemon, struct err *err)
{
        const struct daemon_options *options = daemon->options;
        const struct worker_options worker = {.program = options->worker_program,
                                              .store = options->store,
                                              .tick_ms = options->tick_ms,
                                              .silence_ms = options->worker_silence_ms,
                                              .memory_mib = options->worker_memory_mib};

        if (options->no_worker)
                return 0;
        daemon->worker = worker_new(&daemon->loop, &daemon->live, &worker);
        daemon->live.worker = daemon->worker;
        if (!daemon->worker)
                return err_set(err, ERR_NOMEM, "out of memory");
        (void)uv_timer_init(&daemon->loop, &daemon->look);
        daemon->look.data = daemon;
        (void)uv_timer_start(&daemon->look, on_look, LOOK_EVERY_MS, LOOK_EVERY_MS);
        return 0;
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
                start_clock(daemon);    /* before anybody knows that it is there, and ends it */
        if (rc == 0)
                rc = daemon_listen(daemon, err);
        if (rc == 0)
                rc = start_worker(daemon, err);
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
        struct daemon daemon = {.options = options};
        int rc;

        (void)signal(SIGPIPE, SIG_IGN);
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
