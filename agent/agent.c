#include "agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "agent/cage.h"
#include "agent/say.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "net/uri.h"

#define KILL_AFTER_MS 10000
#define LEFTOVER_MS   2000
#define KEEP_MS       (7ll * 24 * 3600 * 1000)
#define KEEP_RUNS     1000
#define KEEP_BYTES    (10ull << 30)
#define TICK_MS       200 /* lost runs, checkpoints */
#define DEVICES_MS    5000
#define PRUNE_MS      60000
#define CONTACT_MS    1000 /* how exactly a restarted agent knows of it */
#define FAREWELL_MS   10000 /* at most, until it is heard how the last runs ended */

struct runs_time agent_now(void)
{
        return (struct runs_time){time_wall_ms(), time_lease_ms()};
}

/* ---- hearing ---- */

static void note_contact(struct agent *agent, const struct link_news *news)
{
        if (news->asked_ms == 0 || news->asked_ms == agent->contact_ms || agent->lease_ms == 0)
                return;
        agent->contact_ms = news->asked_ms;
        runs_contact(agent->runs, news->asked_ms, agent->lease_ms);
        if (news->asked_ms - agent->contact_written_ms < CONTACT_MS)
                return;
        agent->contact_written_ms = news->asked_ms;
        folder_contact_write(agent->folder,
                             (struct folder_contact){news->asked_ms, agent->lease_ms});
}

/* Where a keeper looks after who we are, it says what is to be done about a refusal. */
static void say_contact(const struct agent *agent, const struct link_news *news)
{
        if (!news->is_failing && agent->is_failing)
                say(SAY_INFO, "controller answers", "%s", "");
        else if (news->is_refused && !agent->is_refused && !agent->keeper)
                say(SAY_WARN, "controller does not know this node; runs go on",
                    "error=\"%s\" do=\"berth token make --join --node %s, its text into the file "
                    "of --join-token-file\"",
                    news->failure, agent->setup->node);
        else if (news->is_foreign && !agent->is_foreign)
                say(SAY_WARN, "not the controller of this node; runs go on", "error=\"%s\"",
                    news->failure);
        else if (news->is_failing && !agent->is_failing)
                say(SAY_WARN, "controller does not answer; runs go on", "error=\"%s\"",
                    news->failure);
}

/* The first one whose answers have a name is whom the node works for (link.h). Where that cannot be
 * written, it holds until the agent ends. */
static void keep_log(struct agent *agent, const struct exchange_answer *answer)
{
        struct err err;

        if (!answer->log[0] || agent->log[0])
                return;
        str_copy(agent->log, sizeof agent->log, answer->log);
        if (folder_log_write(agent->folder, answer->log, &err) < 0)
                say(SAY_ERROR, "name of the pool's log cannot be kept", "error=\"%s\"", err.text);
}

static void hear(struct agent *agent)
{
        struct link_news news;

        link_take(agent->link, &news);
        say_contact(agent, &news);
        if (news.is_refused && !agent->is_refused)
                keeper_doubt(agent->keeper);
        agent->is_failing = news.is_failing;
        agent->is_refused = news.is_refused;
        agent->is_foreign = news.is_foreign;
        if (news.answer)
                agent->lease_ms = news.answer->lease_ms;
        note_contact(agent, &news);
        agent_confirmed(agent, news.confirmed);
        if (!news.answer)
                return;
        keep_log(agent, news.answer);
        exchange_free(agent->answer);
        agent->answer = news.answer;
        agent_desire(agent);
        agent->is_stale = true;
}

static void hear_signals(struct agent *agent)
{
        struct signalfd_siginfo info;

        while (read(agent->signals, &info, sizeof info) == (ssize_t)sizeof info)
                if (info.ssi_signo == SIGHUP)
                        keeper_doubt(agent->keeper);
                else if (info.ssi_signo != SIGCHLD)
                        agent->is_stopping = true;
        /* Supervisors: how they ended is in their folders. */
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

/* ---- the loop ---- */

static int64_t least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static bool has_lost(const struct agent *agent)
{
        for (size_t i = 0; i < agent->lives_count; i++)
                if (agent->lives[i].is_lost)
                        return true;
        return false;
}

static int wait_ms(const struct agent *agent)
{
        int64_t by_runs = runs_wait_ms(agent->runs, agent_now());
        bool is_busy = agent->is_news || agent->is_stale;
        int64_t wait = runs_any_live(agent->runs) ? 1000 : DEVICES_MS;

        if (by_runs >= 0)
                wait = least(wait, by_runs);
        if (is_busy || has_lost(agent))
                wait = least(wait, TICK_MS);
        return (int)wait;
}

static void tick(struct agent *agent)
{
        const struct agent_setup *setup = agent->setup;
        int64_t now_ms = time_lease_ms();

        if (now_ms - agent->tick_ms >= TICK_MS) {
                agent_tick_runs(agent, agent->tick_ms);
                agent->tick_ms = now_ms;
        }
        if (now_ms - agent->devices_ms >= DEVICES_MS) {
                agent->devices_ms = now_ms;
                agent_look_at_devices(agent);
        }
        if (now_ms - agent->prune_ms >= PRUNE_MS) {
                const struct folder_keep keep = {
                        .age_ms_max = setup->keep_ms ? setup->keep_ms : KEEP_MS,
                        .runs_max = setup->keep_runs ? setup->keep_runs : KEEP_RUNS,
                        .bytes_max = setup->keep_bytes ? setup->keep_bytes : KEEP_BYTES,
                };
                agent->prune_ms = now_ms;
                folder_prune(agent->folder, &keep, agent_now().wall_ms);
        }
}

static size_t fill_polls(struct agent *agent)
{
        size_t count = 3;

        agent->polls[0] = (struct pollfd){.fd = agent->signals, .events = POLLIN};
        agent->polls[1] = (struct pollfd){.fd = link_fd(agent->link), .events = POLLIN};
        agent->polls[2] = (struct pollfd){.fd = folder_poke_fd(agent->folder), .events = POLLIN};
        for (size_t i = 0; i < agent->lives_count; i++)
                agent->polls[count++] = (struct pollfd){.fd = agent->lives[i].control};
        return count;
}

/* Waits, and takes in what has come. */
static void wait_and_hear(struct agent *agent)
{
        size_t lives = agent->lives_count, count = fill_polls(agent);

        if (poll(agent->polls, (nfds_t)count, wait_ms(agent)) < 0)
                return;
        if (agent->polls[0].revents)
                hear_signals(agent);
        if (agent->polls[2].revents) {
                folder_poke_clear(agent->folder);
                agent_look(agent);
        }
        /* A pipe without a reader; the order of `lives` is still the one of `polls`. */
        for (size_t i = 0; i < lives; i++)
                if (agent->polls[3 + i].fd >= 0 && agent->polls[3 + i].revents & POLLERR)
                        agent_supervisor_gone(agent, &agent->lives[i]);
        if (agent->polls[1].revents)
                hear(agent);
}

/* Who hears of it no more learns it from the lease. Whom nobody has heard yet, nobody waits for. */
static void say_farewell(struct agent *agent)
{
        int64_t until_ms = time_lease_ms() + FAREWELL_MS;

        agent->is_news = true;
        agent_report(agent);
        uint64_t last = agent->said;
        while (agent->confirmed > 0 && agent->confirmed < last && !agent->is_failing &&
               time_lease_ms() < until_ms)
                wait_and_hear(agent);
}

static void loop(struct agent *agent)
{
        while (!agent->is_stopping) {
                agent_take_steps(agent);
                agent_report(agent);
                wait_and_hear(agent);
                tick(agent);
        }
        if (!agent->setup->stops_runs)
                return;
        runs_end_all(agent->runs);
        while (runs_any_live(agent->runs)) {
                agent_take_steps(agent);
                agent_report(agent);
                wait_and_hear(agent);
                tick(agent);
        }
        say_farewell(agent);
}

/* ---- life ---- */

static int set_up_process(struct agent *agent, struct err *err)
{
        struct rlimit files;
        sigset_t signals;

        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGCHLD);
        sigaddset(&signals, SIGHUP);
        /* Before the line's threads, which take this over. */
        sigprocmask(SIG_BLOCK, &signals, NULL);
        agent->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
        if (agent->signals < 0)
                return err_set(err, ERR_IO, "signals cannot be heard: %s", strerror(errno));
        /* One pipe per run. */
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        agent->polls = mem_new(RUNS_MAX + 3, sizeof *agent->polls);
        return agent->polls ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static void say_limits(const char *cages)
{
        char limits[CAGE_LIMITS_MAX];
        bool holds_all = strstr(cage_limits(cages, limits), "cpu") && strstr(limits, "memory");

        say(holds_all ? SAY_INFO : SAY_WARN,
            holds_all ? "runs have control groups"
                      : "runs are not held to the memory and processors they asked for",
            "folder=%s limits=\"%s\"", cages, limits);
}

static int find_cages(struct agent *agent, struct err *err)
{
        const char *wanted = agent->setup->cgroup;

        if (wanted && str_equal(wanted, "none"))
                return 0;
        int rc = cage_open(wanted, agent->setup->state, agent->cages, err);
        if (rc == 0) {
                agent->launch.cages = agent->cages;
                say_limits(agent->cages);
                return 0;
        }
        if (wanted || rc == -ERR_NOMEM)
                return rc;
        say(SAY_WARN, "runs get no control groups of their own", "error=\"%s\"", err->text);
        return 0;
}

static int set_up(struct agent *agent, struct err *err)
{
        const struct agent_setup *setup = agent->setup;
        int rc;

        if ((rc = set_up_process(agent, err)) < 0 ||
            (rc = folder_open(setup->state, &agent->folder, err)) < 0 ||
            (rc = folder_log_read(agent->folder, agent->log, err)) < 0 ||
            (rc = find_cages(agent, err)) < 0)
                return rc;
        agent->runs = runs_new(setup->kill_after_ms ? setup->kill_after_ms : KILL_AFTER_MS);
        if (!agent->runs)
                return err_set(err, ERR_NOMEM, "out of memory");
        agent->launch.folder = agent->folder;
        agent->launch.program = setup->program;
        agent->launch.node = setup->node;
        agent->launch.runs_as = setup->runs_as;
        agent->launch.allowed = setup->allowed;
        agent->launch.secrets = setup->secrets;
        agent->launch.backend = &setup->devices;
        agent->launch.leftover_ms = setup->leftover_ms ? setup->leftover_ms : LEFTOVER_MS;
        agent_look_at_devices(agent);
        return agent_adopt(agent, err);
}

/* From the agent's thread or the keeper's; the line is there as long as both. */
static void identify(void *arg)
{
        struct agent *agent = arg;

        link_identify(agent->link);
}

static int call_controller(struct agent *agent, struct err *err)
{
        const struct agent_setup *setup = agent->setup;
        char node[400];

        if (!uri_encode(setup->node, node, sizeof node))
                return err_set(err, ERR_INPUT, "the node's name is too long");
        agent->attaches = attaches_new(&setup->client, node, agent->folder);
        if (!agent->attaches)
                return err_set(err, ERR_NOMEM, "out of memory");
        const struct link_setup link = {
                .client = setup->client,
                .node = node,
                .folder = agent->folder,
                .log = agent->log,
                .attaches = agent->attaches,
                .wait_ms_max = setup->wait_ms_max,
                .pause_ms_max = setup->pause_ms_max,
                .is_held = setup->enrols,
        };
        const struct keeper_setup keeper = {
                .client = setup->client,
                .node = setup->node,
                .state = setup->state,
                .token_file = setup->join_token_file,
                .changed = identify,
                .arg = agent,
        };
        int rc = link_start(&link, &agent->link, err);
        return rc == 0 && setup->enrols ? keeper_start(&keeper, &agent->keeper, err) : rc;
}

static void tear_down(struct agent *agent)
{
        keeper_stop(agent->keeper);
        link_stop(agent->link);
        attaches_free(agent->attaches);
        for (size_t i = 0; i < agent->lives_count; i++)
                if (agent->lives[i].control >= 0)
                        close(agent->lives[i].control);
        exchange_free(agent->answer);
        runs_free(agent->runs);
        if (agent->cages[0])
                cage_close(agent->cages);
        folder_close(agent->folder);
        if (agent->signals >= 0)
                close(agent->signals);
        mem_free(agent->polls);
        mem_free(agent);
}

int agent_run(const struct agent_setup *setup, struct err *err)
{
        struct agent *agent = mem_new(1, sizeof *agent);

        if (!agent)
                return err_set(err, ERR_NOMEM, "out of memory");
        agent->setup = setup;
        agent->signals = -1;
        int rc = set_up(agent, err);
        if (rc == 0)
                rc = call_controller(agent, err);
        if (rc == 0) {
                agent->is_news = true;
                say(SAY_INFO, "agent started", "node=%s devices=%u runs=%zu", setup->node,
                    agent->devices.count, agent->lives_count);
                (void)sd_notify(0, "READY=1");
                loop(agent);
                (void)sd_notify(0, "STOPPING=1");
                say(SAY_INFO, "agent ends", "runs=%zu", agent->lives_count);
        }
        tear_down(agent);
        return rc;
}
