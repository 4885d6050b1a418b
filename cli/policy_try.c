#include "cli/policy_try.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/history_out.h"
#include "cli/outputs.h"
#include "cli/watch.h"
#include "plan/plan.h"
#include "proto/scenario.h"
#include "sim/history.h"

static bool is_document(const char *text)
{
        static const char *const ends[] = {".yaml", ".yml", ".json"};
        size_t length = strlen(text);

        for (size_t e = 0; e < ARRAY_LEN(ends); e++)
                if (length > strlen(ends[e]) &&
                    str_equal(text + length - strlen(ends[e]), ends[e]))
                        return true;
        return strchr(text, '/') != NULL;
}

/* A file, from the folder we are in, or a rule that is known by name. */
static int policy_of(const char *text, struct scenario_policy *ret_policy, struct err *err)
{
        const char *names[RULE_FILE];
        char near[STR_NEAR_MAX], show[STR_SHOW_MAX];

        (void)str_copy(ret_policy->name, sizeof ret_policy->name, str_show(text, show));
        for (unsigned r = 0; r < RULE_FILE; r++) {
                names[r] = history_rule_name((enum history_rule)r);
                ret_policy->rule = (enum history_rule)r;
                if (str_equal(names[r], text))
                        return 0;
        }
        ret_policy->rule = RULE_FILE;
        if (!is_document(text))
                return err_set(err, ERR_INPUT,
                               "--against '%s' is neither a policy file (.yaml, .yml, .json) nor "
                               "known; %s",
                               show, str_near(names, RULE_FILE, text, near, sizeof near));
        if (!str_copy(ret_policy->path, sizeof ret_policy->path, text))
                return err_set(err, ERR_INPUT, "the path of '%s' is longer than %d bytes", show,
                               SCENARIO_PATH_MAX - 1);
        return 0;
}

static bool is_same_file(const char *a, const char *b)
{
        struct stat x, y;

        return str_equal(a, b) || (stat(a, &x) == 0 && stat(b, &y) == 0 &&
                                   x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static int choose_policies(const struct command_call *call, struct scenario *scenario,
                           struct err *err)
{
        const char *against = command_value(call, "against"), *file = call->arguments[0];
        struct scenario_policy *policies = scenario->policies;
        int rc;

        memset(policies, 0, 2 * sizeof *policies);
        rc = policy_of(against ? against : "default", &policies[0], err);
        if (rc < 0)
                return rc;
        char show[STR_SHOW_MAX];
        policies[1].rule = RULE_FILE;
        (void)str_copy(policies[1].name, sizeof policies[1].name, str_show(file, show));
        if (!str_copy(policies[1].path, sizeof policies[1].path, file))
                return err_set(err, ERR_INPUT, "the path of '%s' is longer than %d bytes", show,
                               SCENARIO_PATH_MAX - 1);
        if (policies[0].rule == RULE_FILE && is_same_file(policies[0].path, policies[1].path))
                return err_set(err, ERR_INPUT,
                               "%s is tried against itself; name another file with --against",
                               show);
        scenario->policies_count = 2;
        scenario->placements_count = 1;
        return 0;
}

static int load_history(const struct command_call *call, const struct model_table *models,
                        struct scenario *scenario, struct err *err)
{
        const char *history = command_value(call, "history"), *seeds = command_value(call, "seeds");
        int rc;

        if (!history)
                return err_set(err, ERR_INPUT,
                               "try needs --history SCENARIO.yaml (kind: Replay, with jobs_csv or "
                               "sacct): docs/replay.md");
        if ((rc = scenario_load_with(history, models, scenario, err)) < 0)
                return rc;
        if (!scenario_is_history(scenario))
                return err_set(err, ERR_INPUT,
                               "%s: its workload is no history, so no job of it waits; name one "
                               "with jobs_csv or sacct",
                               history);
        if (seeds && (rc = scenario_parse_seeds(seeds, scenario, err)) < 0)
                return err_prefix(err, "--seeds");
        return choose_policies(call, scenario, err);
}

static int put_out(const struct command_call *call, const struct scenario *scenario,
                   const struct history_result *result, size_t width, bool is_whole,
                   struct err *err)
{
        const char *json = command_value(call, "json");
        char *text = NULL;
        size_t size;
        int rc = 0;

        history_notes(scenario, result, "berth policy", stderr);
        if (!json || !str_equal(json, "-"))
                rc = policy_try_print(scenario, result, width, is_whole, stdout, err);
        if (rc < 0 || !json)
                return rc;
        rc = policy_try_json(scenario, result, is_whole, &text, &size, err);
        if (rc == 0)
                rc = file_write(json, text, size, err);
        mem_free(text);
        return rc;
}

static int check_files(const struct command_call *call, const struct scenario *scenario,
                       struct err *err)
{
        const char *inputs[] = {command_value(call, "models")};
        struct output output = {"json", command_value(call, "json")};

        return outputs_check(&output, 1, inputs, ARRAY_LEN(inputs), scenario, err);
}

/* Both policies run; what is finished when Ctrl-C comes is shown, if there is some of both. */
static int run_both(const struct command_call *call, const struct model_table *models, size_t width,
                    struct scenario *scenario, struct history_result *result,
                    struct planner *planner, enum exit_code *ret_code, struct err *err)
{
        struct replay_hooks hooks = {.make_plan = plan_make, .plan_arg = planner};
        struct watch watch;

        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        planner_watch(planner, &hooks);
        int rc = history_run_scenario(scenario, models, &hooks, result, err);
        watch_end(&watch);
        bool is_stopped = rc == -ERR_CANCELLED;
        if (rc < 0 && !is_stopped)
                return rc;
        *ret_code = EXIT_TROUBLE; /* what fails now is the output */
        rc = result->rows_count == 2 ? put_out(call, scenario, result, width, !is_stopped, err) : 0;
        if (rc < 0)
                return rc;
        *ret_code = is_stopped ? EXIT_STOPPED : EXIT_FINE;
        if (is_stopped)
                fprintf(stderr, "berth policy: stopped; %s\n",
                        result->rows_count == 2 ? "what was finished is above"
                                                : "nothing can be compared yet");
        return 0;
}

int policy_try(const struct command_call *call, const struct model_table *models, size_t width,
               enum exit_code *ret_code, struct err *err)
{
        struct scenario *scenario = mem_new(1, sizeof *scenario);
        struct history_result *result = mem_new(1, sizeof *result);
        struct planner *planner = planner_new();
        int rc = scenario && result && planner ? 0 : err_set(err, ERR_NOMEM, "out of memory");

        *ret_code = EXIT_BAD_INPUT;
        if (rc == 0)
                rc = load_history(call, models, scenario, err);
        if (rc == 0)
                rc = check_files(call, scenario, err);
        if (rc == 0)
                rc = run_both(call, models, width, scenario, result, planner, ret_code, err);
        history_result_done(result);
        planner_free(planner);
        mem_free(result);
        mem_free(scenario);
        return rc;
}
