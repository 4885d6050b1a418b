/* What is done as time passes: ticks and what is due at them; more often, for who is behind or
 * waits, and for the worker. */
#include "controller/daemon_impl.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/time.h"
#include "controller/alerts.h"
#include "controller/events.h"
#include "controller/simulated.h"
#include "controller/usage.h"
#include "controller/worker.h"
#include "net/activation.h"

#define BEHIND_EVERY_MS 2
#define BEHIND_PARTS    16              /* of the time of a busy loop, they have one */
#define BEHIND_NS       500000          /* at one go */
#define LOOK_EVERY_MS   250             /* after the worker */
#define RETRY_EVERY_MS  1000            /* a store that has failed */

/* After so many records; and on each day on which there are any, so that the pool as it was can be
 * made again from not too far back. */
static void snapshot_if_due(struct daemon *daemon, int64_t now_ms)
{
        uint64_t seq = core_last_seq(daemon->live.core);
        struct err err;

        if (seq - daemon->snapshot_seq < daemon->options->snapshot_records &&
            (seq == daemon->snapshot_seq || now_ms / DAEMON_DAY_MS == daemon->snapshot_day))
                return;
        daemon->snapshot_seq = seq;
        daemon->snapshot_day = now_ms / DAEMON_DAY_MS;
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

static void on_tick(uv_timer_t *timer)
{
        struct daemon *daemon = timer->data;
        int64_t now_ms = api_now_ms();
        struct err err;

        (void)activation_alive();
        retry_if_due(daemon, now_ms);
        daemon_read_policy_if_due(daemon);
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

void daemon_start_clock(struct daemon *daemon)
{
        (void)uv_timer_init(&daemon->loop, &daemon->tick);
        (void)uv_timer_init(&daemon->loop, &daemon->play);
        (void)uv_timer_init(&daemon->loop, &daemon->behind);
        share_init(&daemon->behind_share, &daemon->loop, BEHIND_PARTS, BEHIND_NS);
        daemon->tick.data = daemon->play.data = daemon->behind.data = daemon;
        (void)uv_timer_start(&daemon->tick, on_tick, 0, (uint64_t)daemon->options->tick_ms);
        (void)uv_timer_start(&daemon->play, on_play, DAEMON_PLAY_MS, DAEMON_PLAY_MS);
}

int daemon_start_worker(struct daemon *daemon, struct err *err)
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
