/* The runs of an agent: taken over, started, told, looked at. */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "agent/say.h"
#include "agent/secrets.h"
#include "base/arena.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"

struct live *agent_find(struct agent *agent, struct run_key key)
{
        for (size_t i = 0; i < agent->lives_count; i++)
                if (run_key_equal(agent->lives[i].key, key))
                        return &agent->lives[i];
        return NULL;
}

static struct live *add_live(struct agent *agent, struct run_key key)
{
        assert(agent->lives_count < RUNS_MAX); /* runs.h has refused before */
        struct live *live = &agent->lives[agent->lives_count++];

        *live = (struct live){.key = key, .control = -1, .status.phase = RUN_STARTING};
        return live;
}

static void drop_live(struct agent *agent, struct live *live)
{
        if (live->control >= 0)
                close(live->control);
        *live = agent->lives[--agent->lives_count];
}

/* A phase that was seen; the report says it at once. */
static void observe(struct agent *agent, const struct live *live)
{
        char text[RUN_KEY_TEXT_MAX];
        const struct run_status *status = &live->status;

        if (!runs_observe(agent->runs, live->key, status->phase))
                return;
        agent->is_news = true;
        say(SAY_INFO, "run", "run=%s phase=%s exit_code=%d signal=%d reason=\"%s\"",
            run_key_text(live->key, text), run_phase_name(status->phase), status->exit_code,
            status->signal, status->reason);
}

/* ---- checkpoints ---- */

/* When that was on the steady clock. A clock that was set since, or a time that the run has given
 * its file, is believed as far as it lies between two looks. */
static int64_t steady_of(int64_t at_ns, int64_t last_ms)
{
        struct runs_time now = agent_now();
        int64_t at_ms = now.steady_ms - (now.wall_ms - at_ns / 1000000);

        if (at_ms < last_ms)
                return last_ms;
        return at_ms < now.steady_ms ? at_ms : now.steady_ms;
}

/* One from before a restart is said again: that does no harm. */
static void look_at_checkpoint(struct agent *agent, struct live *live, int64_t last_ms)
{
        int64_t at_ns = folder_checkpoint_ns(agent->folder, live->key);
        if (at_ns <= live->checkpoint_ns)
                return;
        live->checkpoint_ns = at_ns;
        live->checkpoint_ms = steady_of(at_ns, last_ms);
        live->has_checkpoint = true;
        live->checkpoint_report = 0;
        agent->is_news = true;
}

/* ---- wishes ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
        for (; *text; text++)
                map_chain(&hash, (unsigned char)*text);
        return hash;
}

static uint64_t notice_hash(const struct run_stop *stop)
{
        uint64_t hash = hash_text(1, stop->cause);

        map_chain(&hash, (uint64_t)stop->until_ms);
        return hash_text(hash, stop->signal) | 1; /* 0 is no notice */
}

static struct run_wish wish_of(const struct run_spec *spec)
{
        struct run_wish wish = {
                .key = spec->key,
                .go = spec->go,
                .stops_at_lease = spec->stops_at_lease,
                .has_stop = spec->stop.cause != NULL,
        };

        for (uint32_t i = 0; i < spec->devices_count; i++)
                wish.devices |= 1ull << spec->devices[i].index;
        if (wish.has_stop) {
                wish.until_ms = spec->stop.until_ms;
                wish.notice = notice_hash(&spec->stop);
        }
        return wish;
}

static const struct run_spec *find_spec(const struct agent *agent, struct run_key key)
{
        for (uint32_t i = 0; agent->answer && i < agent->answer->runs_count; i++)
                if (run_key_equal(agent->answer->runs[i].key, key))
                        return &agent->answer->runs[i];
        return NULL;
}

/* ---- after a restart ---- */

static int take_floor(void *arg, struct run_key key, struct err *err)
{
        struct agent *agent = arg;
        return runs_floor(agent->runs, key, err);
}

/* How the run is that was found: its supervisor lives, or has said how it ended, or is lost. */
static void adopt_status(struct agent *agent, struct live *live)
{
        char folder[FOLDER_PATH_MAX];
        struct err err;

        folder_path(agent->folder, live->key, "", folder);
        if (status_read(folder, &live->status, &err) < 0)
                say(SAY_WARN, "status cannot be read", "error=\"%s\"", err.text);
        if (live->status.phase == RUN_EXITED || live->status.phase == RUN_REFUSED)
                return;
        if (launch_adopt(agent->folder, live->key, &live->control, &err) == 0)
                return;
        /* It may have ended between the two looks. */
        (void)status_read(folder, &live->status, NULL);
        live->is_lost = live->status.phase != RUN_EXITED && live->status.phase != RUN_REFUSED;
        live->went_down = folder_is_going_down(folder);
}

static int adopt_spec(struct agent *agent, const struct run_spec *spec, struct arena *arena,
                      struct err *err)
{
        struct run_wish wish = wish_of(spec);
        struct run_stop stop;
        char text[RUN_KEY_TEXT_MAX];

        wish.has_stop = folder_notice_read(agent->folder, spec->key, arena, &stop);
        wish.until_ms = wish.has_stop ? stop.until_ms : 0;
        wish.notice = wish.has_stop ? notice_hash(&stop) : 0;
        struct live *live = add_live(agent, spec->key);
        live->lost_contact = wish.has_stop && str_equal(stop.cause, LOST_CONTACT);
        adopt_status(agent, live);
        if (live->status.phase == RUN_EXITED)
                look_at_checkpoint(agent, live, 0);
        if (launch_owner(&agent->launch, spec, &live->owner, NULL) < 0)
                live->owner = geteuid();
        int rc = runs_adopt(agent->runs, &wish, live->status.phase, err);
        if (rc < 0) {
                drop_live(agent, live);
                return rc;
        }
        say(SAY_INFO, "run taken over", "run=%s phase=%s lost=%d", run_key_text(spec->key, text),
            run_phase_name(live->status.phase), live->is_lost);
        return 0;
}

static int adopt_one(void *arg, struct run_key key, struct err *err)
{
        struct agent *agent = arg;
        struct run_spec spec;
        char folder[FOLDER_PATH_MAX];
        struct arena *arena = arena_new(0, 0);

        if (!arena)
                return err_set(err, ERR_NOMEM, "out of memory");
        int rc = folder_spec(agent->folder, key, arena, &spec, err);
        if (rc == 0) {
                rc = adopt_spec(agent, &spec, arena, err);
        } else if (rc == -ERR_NOT_FOUND) {
                /* Half made: nothing was started from it. */
                rc = durable_remove_folder(folder_path(agent->folder, key, "", folder), err);
        } else if (rc != -ERR_NOMEM) {
                say(SAY_ERROR, "run cannot be taken over", "error=\"%s\"", err->text);
                rc = 0;
        }
        arena_free(arena);
        return rc;
}

int agent_adopt(struct agent *agent, struct err *err)
{
        struct folder_contact contact;
        int rc = folder_epochs(agent->folder, take_floor, agent, err);

        if (rc == 0)
                rc = folder_walk(agent->folder, adopt_one, agent, err);
        if (rc == 0)
                rc = folder_is_up(agent->folder, err);
        if (folder_contact_read(agent->folder, &contact)) {
                runs_contact(agent->runs, contact.steady_ms, contact.lease_ms);
                agent->lease_ms = contact.lease_ms;
        }
        return rc;
}

/* ---- what is wanted ---- */

/* A run that was forgotten is named again: the controller's store was restored. How it ended is
 * told once more. */
static void recall(struct agent *agent, struct run_key key)
{
        char text[RUN_KEY_TEXT_MAX];
        struct err err;

        if (agent_find(agent, key) || runs_count(agent->runs) == RUNS_MAX ||
            runs_floor_of(agent->runs, key.workload, key.member) != key.epoch ||
            folder_recall(agent->folder, key, &err) == -ERR_NOT_FOUND)
                return;
        if (adopt_one(agent, key, &err) < 0)
                say(SAY_ERROR, "run cannot be recalled", "run=%s error=\"%s\"",
                    run_key_text(key, text), err.text);
        struct live *live = agent_find(agent, key);
        if (live)
                live->is_recalled = true;
        agent->is_news = true;
}

void agent_desire(struct agent *agent)
{
        const struct exchange_answer *answer = agent->answer;

        for (uint32_t i = 0; i < answer->runs_count; i++)
                agent->wishes[i] = wish_of(&answer->runs[i]);
        for (uint32_t i = 0; i < answer->runs_count; i++)
                recall(agent, answer->runs[i].key);
        if (!runs_desire(agent->runs, answer->generation, agent->wishes, answer->runs_count))
                say(SAY_WARN, "list is older than one seen before", "generation=%llu newest=%llu",
                    (unsigned long long)answer->generation,
                    (unsigned long long)runs_generation(agent->runs));
}

/* ---- steps ---- */

static bool has_ended(const struct live *live)
{
        return live->status.phase == RUN_EXITED || live->status.phase == RUN_REFUSED;
}

/* Its supervisor ends it where no agent does, a little later: so it need not hear of every contact.
 * When it is killed stays as it is, and TERM still comes before. */
static void tell_lease(struct agent *agent, struct live *live)
{
        int64_t term_ms = 0, kill_ms = 0, later_ms = agent->lease_ms / 10;

        if (live->control < 0 || has_ended(live))
                return;
        if (later_ms > SUPERVISOR_LATER_MS)
                later_ms = SUPERVISOR_LATER_MS;
        if (!runs_lease(agent->runs, live->key, &term_ms, &kill_ms))
                term_ms = kill_ms = 0;
        else
                term_ms += later_ms;
        if (live->lease_told_ms == term_ms ||
            (live->lease_told_ms > 0 && term_ms > 0 && term_ms - live->lease_told_ms < later_ms))
                return;
        if (launch_lease(live->control, term_ms, kill_ms))
                live->lease_told_ms = term_ms;
}

static void start(struct agent *agent, struct run_key key)
{
        const struct run_spec *spec = find_spec(agent, key);
        struct live *live = add_live(agent, key);
        struct err err = {0};
        char text[RUN_KEY_TEXT_MAX];
        int rc = spec ? 0 : err_set(&err, ERR_NOT_FOUND, "the list no longer names it");

        agent->is_news = true;
        if (rc == 0)
                rc = launch_owner(&agent->launch, spec, &live->owner, &err);
        if (rc == 0)
                rc = launch_start(&agent->launch, spec, &agent->devices, &live->control, &err);
        if (rc == 0) {
                tell_lease(agent, live);
                say(SAY_INFO, "run started", "run=%s name=%s", run_key_text(key, text), spec->name);
                return;
        }
        live->control = -1;
        live->status.phase = RUN_REFUSED;
        live->status.since_ms = agent_now().wall_ms;
        str_copy(live->status.reason, sizeof live->status.reason, err.text);
        observe(agent, live);
}

static void give_notice(struct agent *agent, const struct live *live)
{
        const struct run_spec *spec = find_spec(agent, live->key);
        char text[RUN_KEY_TEXT_MAX];
        struct err err;

        if (!spec || !spec->stop.cause)
                return;
        const char *signal = spec->stop.signal[0] ? spec->stop.signal : spec->checkpoint_signal;
        if (folder_notice_write(agent->folder, live->key, &spec->stop, live->owner, &err) < 0)
                say(SAY_ERROR, "notice cannot be written", "error=\"%s\"", err.text);
        /* Who ends at once has no time to save anything. */
        if (signal[0] && live->control >= 0 && spec->stop.until_ms > 0)
                (void)launch_signal(live->control, signal);
        say(SAY_INFO, "run told to stop", "run=%s cause=%s", run_key_text(live->key, text),
            spec->stop.cause);
}

/* It learns why it ends, and so does whoever takes it over: the notice stands in its folder. */
static void note_lost_contact(struct agent *agent, struct live *live)
{
        const struct run_stop stop = {
                .cause = LOST_CONTACT,
                .until_ms = agent_now().wall_ms,
                .signal = "",
        };
        struct err err;

        live->lost_contact = true;
        if (folder_notice_write(agent->folder, live->key, &stop, live->owner, &err) < 0)
                say(SAY_ERROR, "notice cannot be written", "error=\"%s\"", err.text);
}

static void forget(struct agent *agent, struct run_key key)
{
        struct live *live = agent_find(agent, key);
        char folder[FOLDER_PATH_MAX];
        struct err err;

        if (!live)
                return; /* it was refused before anything was made */
        drop_live(agent, live);
        /* Its supervisor did so; a last look before the folder is kept. */
        if (secrets_take_back(folder_path(agent->folder, key, "", folder), &err) < 0)
                say(SAY_ERROR, "secrets cannot be taken back", "error=\"%s\"", err.text);
        if (folder_forget(agent->folder, key, &err) < 0)
                say(SAY_ERROR, "run cannot be put aside", "error=\"%s\"", err.text);
        agent->is_stale = true;
}

static void take_step(struct agent *agent, struct run_step step)
{
        struct live *live = agent_find(agent, step.key);
        char text[RUN_KEY_TEXT_MAX];

        switch (step.kind) {
        case RUN_STEP_START:
                start(agent, step.key);
                return;
        case RUN_STEP_FORGET:
                forget(agent, step.key);
                return;
        case RUN_STEP_NOTICE:
                give_notice(agent, live);
                return;
        case RUN_STEP_WITHDRAW:
                folder_notice_remove(agent->folder, step.key);
                return;
        case RUN_STEP_TERM:
                if (step.lost_contact)
                        note_lost_contact(agent, live);
                break;
        case RUN_STEP_GO:
        case RUN_STEP_KILL:
                break;
        case RUN_STEP_KINDS_END:
                assert(false);
        }
        say(SAY_INFO,
            step.kind == RUN_STEP_GO ? "run let go"
            : step.lost_contact      ? "run asked to end: its lease is over without contact"
            : step.kind == RUN_STEP_TERM ? "run asked to end"
                                         : "run killed",
            "run=%s", run_key_text(step.key, text));
        if (live->control < 0)
                return; /* its supervisor is gone: what it left is ended already */
        if (step.kind == RUN_STEP_GO)
                (void)launch_go(live->control);
        else if (step.kind == RUN_STEP_TERM)
                (void)launch_term(live->control);
        else
                (void)launch_kill(live->control);
}

void agent_take_steps(struct agent *agent)
{
        struct run_step step;

        while (runs_next(agent->runs, agent_now(), &step))
                take_step(agent, step);
}

/* ---- looking ---- */

static void look_at(struct agent *agent, struct live *live)
{
        char folder[FOLDER_PATH_MAX];
        struct err err;

        if (has_ended(live))
                return;
        folder_path(agent->folder, live->key, "", folder);
        if (status_read(folder, &live->status, &err) < 0) {
                say(SAY_WARN, "status cannot be read", "error=\"%s\"", err.text);
                return;
        }
        /* Many a program saves and leaves: what it saved is told with its end. */
        if (live->status.phase == RUN_EXITED)
                look_at_checkpoint(agent, live, agent->tick_ms);
        observe(agent, live);
}

void agent_look(struct agent *agent)
{
        for (size_t i = 0; i < agent->lives_count; i++)
                look_at(agent, &agent->lives[i]);
}

void agent_supervisor_gone(struct agent *agent, struct live *live)
{
        close(live->control);
        live->control = -1;
        look_at(agent, live);
        live->is_lost = !has_ended(live);
}

void agent_tick_runs(struct agent *agent, int64_t last_ms)
{
        for (size_t i = 0; i < agent->lives_count; i++) {
                struct live *live = &agent->lives[i];
                if (live->is_lost &&
                    launch_clean_up(&agent->launch, live->key, live->went_down)) {
                        live->is_lost = false;
                        look_at(agent, live);
                }
                if (live->status.phase == RUN_RUNNING)
                        look_at_checkpoint(agent, live, last_ms);
                tell_lease(agent, live);
        }
}
