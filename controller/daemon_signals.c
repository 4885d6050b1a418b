/* What signals ask for: an end, and that files are read anew. */
#include "controller/daemon_impl.h"

#include <signal.h>

#include "base/err.h"
#include "controller/events.h"
#include "controller/tls_files.h"
#include "controller/worker.h"
#include "net/activation.h"
#include "net/authority.h"
#include "net/http.h"

#define END_WITHIN_MS 3000

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

static void on_end(uv_signal_t *signal, int number)
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
        (void)uv_timer_start(&daemon->play, on_ending, 0, DAEMON_PLAY_MS);
}

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
        daemon_read_policy_if_due(daemon);
        (void)activation_ready(NULL);
}

static void hear(struct daemon *daemon, uv_signal_t *signal, uv_signal_cb heard, int number)
{
        (void)uv_signal_init(&daemon->loop, signal);
        signal->data = daemon;
        (void)uv_signal_start(signal, heard, number);
}

void daemon_hear_signals(struct daemon *daemon)
{
        hear(daemon, &daemon->term, on_end, SIGTERM);
        hear(daemon, &daemon->interrupt, on_end, SIGINT);
        hear(daemon, &daemon->hangup, on_hangup, SIGHUP);
}
