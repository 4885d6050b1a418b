#include "cli/replay_log.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/outputs.h"
#include "cli/replay_log_out.h"
#include "cli/screen.h"
#include "cli/watch.h"
#include "sim/log_replay.h"
#include "sim/log_source.h"
#include "sim/log_what_if.h"
#include "sim/replay.h"

struct job {
        const char *log, *policy, *json;
        struct log_source *source;
        struct log_replay_result check;
        struct log_what_if what_if;
        bool is_writing;                /* all was run: what fails now is an output */
        enum exit_code code;
};

/* What goes with a scenario says nothing of a log. */
static int check_options(const struct command_call *call, struct err *err)
{
        static const char *const mine[] = {"log", "policy", "models", "json", "quiet"};
        const struct command_option *options = call->command->options;

        if (call->arguments_count > 0)
                return err_set(err, ERR_INPUT,
                               "--log takes no scenario: the log says which work there was");
        for (size_t o = 0; options[o].name; o++) {
                bool is_mine = false;
                for (size_t m = 0; m < ARRAY_LEN(mine); m++)
                        is_mine |= str_equal(options[o].name, mine[m]);
                if (call->values[o] && !is_mine)
                        return err_set(err, ERR_INPUT,
                                       "--%s goes with a scenario, not with --log",
                                       options[o].name);
        }
        return 0;
}

static int check_files(const struct command_call *call, const struct job *job, struct err *err)
{
        const char *inputs[] = {job->log, job->policy, command_value(call, "models")};
        const struct output output = {"json", job->json};

        return outputs_check(&output, 1, inputs, ARRAY_LEN(inputs), NULL, err);
}

/* A comparison is shown whole or not at all. */
static int put_out(struct job *job, bool is_whole, struct err *err)
{
        bool prints = !job->json || !str_equal(job->json, "-");
        char *text = NULL;
        size_t size;
        int rc = 0;

        job->is_writing = true;
        if (job->policy && !is_whole)
                return 0;
        if (prints && job->policy)
                rc = log_what_if_print(&job->what_if, job->policy, screen_text_width(), stdout,
                                       err);
        else if (prints)
                log_check_print(&job->check, job->log, is_whole, stdout);
        if (rc || !job->json)
                return rc;
        rc = job->policy ? log_what_if_json(&job->what_if, &text, &size, err)
                         : log_check_json(&job->check, is_whole, &text, &size, err);
        if (rc == 0)
                rc = file_write(job->json, text, size, err);
        mem_free(text);
        return rc;
}

static int run_job(const struct command_call *call, struct job *job, struct err *err)
{
        struct replay_hooks hooks = {0};
        struct log_replay_setup setup = {.models = command_value(call, "models"), .hooks = &hooks};
        struct watch watch;
        int rc;

        job->log = command_value(call, "log");
        job->policy = command_value(call, "policy");
        job->json = command_value(call, "json");
        if ((rc = check_options(call, err)) < 0 || (rc = check_files(call, job, err)) < 0 ||
            (rc = log_source_open(job->log, &job->source, err)) < 0)
                return rc;
        setup.store = log_source_store(job->source);
        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        rc = job->policy ? log_what_if_run(&setup, job->policy, &job->what_if, err)
                         : log_replay_check(&setup, &job->check, err);
        watch_end(&watch);
        if (rc == -ERR_CANCELLED)
                job->code = EXIT_STOPPED;
        else if (rc < 0)
                return rc;
        else if (job->check.difference.seq)
                job->code = EXIT_TROUBLE;
        return put_out(job, rc == 0, err);
}

int replay_log_command(const struct command_call *call)
{
        struct job job = {.code = EXIT_FINE};
        struct err err = {0};
        int rc = run_job(call, &job, &err);

        if (rc < 0)
                fprintf(stderr, "berth replay: %s\n", err.text);
        else if (job.code == EXIT_STOPPED)
                fprintf(stderr, "berth replay: stopped%s\n",
                        job.policy ? "; nothing can be compared yet"
                                   : "; what was finished is above");
        log_source_close(job.source);
        log_replay_result_done(&job.check);
        log_what_if_done(&job.what_if);
        if (rc == 0)
                return (int)job.code;
        return rc == -ERR_NOMEM || rc == -ERR_IO || job.is_writing ? EXIT_TROUBLE
                                                                  : EXIT_BAD_INPUT;
}
