/* The table of commands; each stands in its own file, but for those that are only words.
 * BERTH_VERSION comes from the build. */
#include <stdio.h>

#include "base/err.h"
#include "cli/act.h"
#include "cli/alerts.h"
#include "cli/apply.h"
#include "cli/ask.h"
#include "cli/attach.h"
#include "cli/change.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/context.h"
#include "cli/events.h"
#include "cli/logs.h"
#include "cli/manual.h"
#include "cli/move.h"
#include "cli/operate.h"
#include "cli/planned.h"
#include "cli/policy.h"
#include "cli/pool_show.h"
#include "cli/quarantine.h"
#include "cli/replay.h"
#include "cli/report.h"
#include "cli/status.h"
#include "cli/store.h"
#include "cli/submit.h"
#include "cli/tokens.h"
#include "cli/top.h"
#include "cli/usage.h"

static const struct command_option no_options[] = {{0}};

static int run_help(const struct command_call *call)
{
        struct err err;

        if (call->arguments_count == 0) {
                command_help_show(NULL);
                return EXIT_FINE;
        }
        const struct command *command = command_find(call->arguments[0], &err);
        if (!command) {
                fprintf(stderr, "berth help: %s\n", err.text);
                return EXIT_BAD_INPUT;
        }
        command_help_show(command);
        return EXIT_FINE;
}

static int run_version(const struct command_call *call)
{
        (void)call;
        puts("berth " BERTH_VERSION);
        return EXIT_FINE;
}

static const struct command help_command = {
        .name = "help",
        .group = GROUP_SELF,
        .arguments = "[COMMAND]",
        .arguments_max = 1,
        .summary = "what there is, or one command in full",
        .details = "examples:\n"
                   "  berth help\n"
                   "  berth help submit\n",
        .options = no_options,
        .run = run_help,
};

static const struct command version_command = {
        .name = "version",
        .group = GROUP_SELF,
        .arguments = "",
        .summary = "which version this is",
        .details = "examples:\n"
                   "  berth version\n",
        .options = no_options,
        .run = run_version,
};

/* Within a group, help shows them in this order. */
const struct command *const commands[] = {
        &submit_command, &status_command, &queue_command, &explain_command, &logs_command,
        &attach_command, &fits_command, &change_command, &cancel_command, &hold_command,
        &release_command, &restart_command, &move_command, &pool_command, &top_command,
        &alerts_command, &idle_command, &tenants_command, &usage_command, &report_command,
        &notices_command, &events_command, &apply_command, &drain_command, &undrain_command,
        &lost_command, &freeze_command, &unfreeze_command, &preempt_command,
        &reservation_command, &maintenance_command, &token_command, &quarantine_command,
        &policy_command, &replay_command, &store_command, &context_command, &completion_command,
        &man_command, &help_command, &version_command, NULL,
};
