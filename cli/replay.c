#include "cli/replay.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/explain_at.h"
#include "cli/history_out.h"
#include "cli/ledger_files.h"
#include "cli/outputs.h"
#include "cli/replay_log.h"
#include "cli/replay_out.h"
#include "cli/screen.h"
#include "cli/watch.h"
#include "plan/eta.h"
#include "plan/plan.h"
#include "proto/model_doc.h"
#include "proto/scenario.h"
#include "sim/history.h"
#include "sim/replay.h"

static const struct command_option options[] = {
        {"placement", 'p', "P,...", "compare these instead of the scenario's placements"},
        {"seeds", 's', "A..B", "run these instead of the scenario's seeds"},
        {"models", 0, "FILE", "know these device models too (kind: DeviceModels)"},
        {"json", 0, "FILE|-", "write the figures as JSON; - prints them instead of the tables"},
        {"svg", 0, "FILE", "draw unallocated % over arrived % (shuffled arrivals only)"},
        {"report", 0, "FILE|-", "of a history: a page on each policy, of what became of the pool"},
        {"ledger", 0, "FILE|-", "of a history: where the capacity went, by day (CSV)"},
        {"showback", 0, "FILE|-", "of a history: who held and lost it, by day (CSV)"},
        {"focus", 0, "FILE|-", "of a history, one policy and seed: a bill in FOCUS 1.2 (CSV)"},
        {"facts", 0, "FILE|-", "of a history: all that was decided, one JSON object a line"},
        {"explain-at", 0, "TIME", "of a history: run up to then, say why work waits, and end"},
        {"workload", 0, "N", "with --explain-at: explain this job (numbered from 1 as they come)"},
        {"tenant", 0, "PATH", "with --explain-at: this tenant's jobs, and what would start for it"},
        {"view", 0, "VIEW", "with --explain-at: as 'operator' (the default) or 'tenant' sees it"},
        {"log", 0, "FILE", "decide a pool's own log again (a store, or an export), and compare"},
        {"policy", 0, "FILE", "with --log: what would have become of its work under this policy"},
        {"eta", 0, "N", "of a history: foretell the start of every N-th job that waits"},
        {"quiet", 'q', NULL, "no progress"},
        {0},
};

static const char details[] =
        "A scenario is a document of kind Replay: a pool, a workload, what to compare. Its paths\n"
        "start from its own folder. Every placement and policy meets the same arrivals.\n"
        "docs/replay.md describes all keys and figures.\n"
        "\n"
        "With --log there is no scenario: the inputs of a pool's own log are decided again, from\n"
        "its start or the oldest snapshot on, and what is decided is held against the log byte by\n"
        "byte. With --policy its work is played under another policy: who comes when and how long\n"
        "each job runs is the log's, where and when it starts the policy's. The pool may run.\n"
        "\n"
        "placements:\n"
#define X(name, wire, help) "  " wire ": " help "\n"
        POLICIES(X)
#undef X
        "\n"
        "examples:\n"
        "  berth replay examples/replay-pool.yaml\n"
        "  berth replay examples/replay-pool.yaml --placement auto,first-fit --seeds 1..3\n"
        "  berth replay examples/replay-pool.yaml --svg curve.svg --json figures.json\n"
        "  berth replay examples/replay-slices.yaml --json - | jq '.runs[].acceptance'\n"
        "  berth replay examples/history.yaml           a history: its jobs wait\n"
        "\n"
        "  berth replay --log /var/lib/berth/pool.db\n"
        "  berth replay --log pool.export --policy new.yaml\n"
        "\n"
        "exit status: 0 done; 2 a document, file or option is wrong; 130 stopped by Ctrl-C, and\n"
        "what was finished has been printed; 1 anything else, and a log that differs\n";

/* ---- what was asked for ---- */

struct job {
        const char *json, *svg;         /* files, "-" or NULL */
        bool is_quiet;
        struct model_table *models;
        struct scenario *scenario;
        struct replay_result *result;
        struct history_result *history; /* instead, where jobs of a history wait */
        struct ledger_files ledger;
        struct explain_at explain;
        uint64_t eta_every;             /* 0: nobody asks when jobs start */
        struct eta_keeper eta;
        struct planner *planner;        /* one for all runs: it remembers plans */
        bool is_writing;                /* all was run: what fails now is an output */
};

static int read_scenario(const struct command_call *call, struct job *job, struct err *err)
{
        const char *models = command_value(call, "models");
        const char *placement = command_value(call, "placement");
        const char *seeds = command_value(call, "seeds");
        int rc;

        if (command_value(call, "policy"))
                return err_set(err, ERR_INPUT, "--policy goes with --log; for a history: "
                                               "berth policy try FILE --history SCENARIO");
        if (call->arguments_count == 0)
                return err_set(err, ERR_INPUT, "name a scenario, or a pool's log with --log FILE: "
                                               "see berth replay --help");
        job->models = model_table_new();
        job->scenario = mem_new(1, sizeof *job->scenario);
        job->result = mem_new(1, sizeof *job->result);
        job->history = mem_new(1, sizeof *job->history);
        job->planner = planner_new();
        if (!job->models || !job->scenario || !job->result || !job->history || !job->planner)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = model_doc_builtin(job->models, err)) < 0 ||
            (models && (rc = model_doc_load(models, job->models, err)) < 0) ||
            (rc = scenario_load_with(call->arguments[0], job->models, job->scenario, err)) < 0)
                return rc;
        if (placement && (rc = scenario_parse_placements(placement, job->scenario, err)) < 0)
                return err_prefix(err, "--placement");
        if (seeds && (rc = scenario_parse_seeds(seeds, job->scenario, err)) < 0)
                return err_prefix(err, "--seeds");
        return 0;
}

/* The option goes before the scenario's word. */
static int ask_eta(const struct command_call *call, struct job *job, struct err *err)
{
        const char *every = command_value(call, "eta");

        job->eta_every = job->scenario->eta_every;
        if (!every)
                return 0;
        if (!scenario_is_history(job->scenario))
                return err_set(err, ERR_INPUT,
                               "--eta goes with a history: in this scenario no work waits");
        if (!scenario_has_policy(job->scenario))
                return err_set(err, ERR_INPUT,
                               "--eta needs a policy: comparisons (fifo, shortest ...) foretell "
                               "nothing; add a policy, or `default`");
        return num_u64(every, 1, SCENARIO_ETA_MAX, &job->eta_every, err) < 0
                       ? err_prefix(err, "--eta")
                       : 0;
}

static int check_files(const struct command_call *call, const struct job *job, struct err *err)
{
        const char *inputs[] = {call->arguments[0], command_value(call, "models")};
        struct output outputs[2 + LEDGER_FILES_END] = {{"json", job->json}, {"svg", job->svg}};

        for (unsigned f = 0; f < LEDGER_FILES_END; f++)
                outputs[2 + f] = (struct output){ledger_file_option((enum ledger_file)f),
                                                 job->ledger.paths[f]};
        return outputs_check(outputs, ARRAY_LEN(outputs), inputs, ARRAY_LEN(inputs), job->scenario,
                             err);
}

static int check_outputs(const struct command_call *call, struct job *job, struct err *err)
{
        int rc;

        job->json = command_value(call, "json");
        job->svg = command_value(call, "svg");
        job->is_quiet = command_value(call, "quiet") != NULL;
        if (job->svg && !replay_has_curve(job->scenario, err))
                return -ERR_INPUT;
        if ((rc = ask_eta(call, job, err)) < 0 ||
            (rc = explain_at_ask(call, job->scenario, &job->explain, err)) < 0 ||
            (rc = ledger_files_ask(call, job->scenario, &job->ledger, err)) < 0)
                return rc;
        return check_files(call, job, err);
}

/* ---- what comes out ---- */

typedef int make_text(const struct scenario *scenario, const struct replay_result *result,
                      bool is_whole, char **ret_text, size_t *ret_size, struct err *err);

static int write_text(const struct job *job, bool is_whole, make_text *make, const char *path,
                      struct err *err)
{
        char *text = NULL;
        size_t size;

        if (!path)
                return 0;
        int rc = make(job->scenario, job->result, is_whole, &text, &size, err);
        if (rc == 0)
                rc = file_write(path, text, size, err);
        mem_free(text);
        return rc;
}

static int write_history(const struct job *job, bool is_whole, struct err *err)
{
        char *text = NULL;
        size_t size;
        int rc = 0;

        history_notes(job->scenario, job->history, "berth replay", stderr);
        if ((!job->json || !str_equal(job->json, "-")) && !ledger_files_print(&job->ledger))
                rc = history_table(job->scenario, job->history, is_whole, screen_text_width(),
                                   stdout, err);
        if (rc == 0)
                rc = ledger_files_write(&job->ledger, job->scenario, job->models, job->history,
                                        is_whole, err);
        if (rc < 0 || !job->json)
                return rc;
        rc = history_json(job->scenario, job->history, is_whole, &text, &size, err);
        if (rc == 0)
                rc = file_write(job->json, text, size, err);
        mem_free(text);
        return rc;
}

static int write_all(const struct job *job, bool is_whole, struct err *err)
{
        bool takes_stdout = (job->json && str_equal(job->json, "-")) ||
                            (job->svg && str_equal(job->svg, "-"));
        int rc = 0;

        if (scenario_is_history(job->scenario))
                return write_history(job, is_whole, err);
        if (!takes_stdout)
                rc = replay_table(job->scenario, job->result, is_whole, screen_text_width(), stdout,
                                  err);
        if (rc == 0)
                rc = write_text(job, is_whole, replay_json, job->json, err);
        return rc < 0 ? rc : write_text(job, is_whole, replay_svg, job->svg, err);
}

static int run_job(const struct command_call *call, struct job *job, bool *ret_stopped,
                   struct err *err)
{
        struct replay_hooks hooks = {.make_plan = plan_make};
        struct watch watch;
        struct replay_eta eta;
        int rc;

        if ((rc = read_scenario(call, job, err)) < 0 || (rc = check_outputs(call, job, err)) < 0)
                return rc;
        hooks.plan_arg = job->planner;
        hooks.ledger = ledger_files_book(&job->ledger);
        hooks.look = explain_at_look(&job->explain);
        eta_hook(&job->eta, (uint32_t)job->eta_every, &eta);
        hooks.eta = job->eta_every > 0 ? &eta : NULL;
        watch_start(&watch, job->is_quiet, &hooks);
        planner_watch(job->planner, &hooks);
        if (scenario_is_history(job->scenario))
                rc = history_run_scenario(job->scenario, job->models, &hooks, job->history, err);
        else
                rc = replay_run_scenario(job->scenario, job->models, &hooks, job->result, err);
        watch_end(&watch);
        *ret_stopped = rc == -ERR_CANCELLED && !job->explain.look.seen;
        if (job->explain.is_wanted)
                return *ret_stopped ? 0 : explain_at_end(&job->explain, rc, err);
        if (rc < 0 && !*ret_stopped)
                return rc;
        job->is_writing = true;
        return write_all(job, rc == 0, err);
}

/* A full disk is nobody's mistake. */
static int exit_code(const struct job *job, int rc)
{
        if (rc == 0)
                return EXIT_FINE;
        return rc == -ERR_NOMEM || job->is_writing ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

static int run(const struct command_call *call)
{
        struct job job = {0};
        struct err err = {0};
        bool stopped = false;

        if (command_value(call, "log"))
                return replay_log_command(call);
        int rc = run_job(call, &job, &stopped, &err);

        if (rc < 0)
                fprintf(stderr, "berth replay: %s\n", err.text);
        else if (stopped)
                fprintf(stderr, "berth replay: stopped%s\n",
                        job.explain.is_wanted ? "" : "; what was finished is above");
        eta_keeper_done(&job.eta);
        planner_free(job.planner);
        model_table_free(job.models);
        mem_free(job.scenario);
        mem_free(job.result);
        history_result_done(job.history);
        mem_free(job.history);
        ledger_files_done(&job.ledger);
        return rc == 0 && stopped ? EXIT_STOPPED : exit_code(&job, rc);
}

const struct command replay_command = {
        .name = "replay",
        .group = GROUP_PLAN,
        .arguments = "SCENARIO.yaml | --log FILE",
        .arguments_min = 0,
        .arguments_max = 1,
        .summary = "fill a pool with a workload in virtual time and compare placements",
        .details = details,
        .options = options,
        .run = run,
};
