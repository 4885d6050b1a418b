/* The table of commands; each stands in its own file, but for those that are only words.
 * BERTH_VERSION comes from the build. */
#include <stdio.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/policy.h"
#include "cli/replay.h"
#include "cli/store.h"

static const struct command_option no_options[] = {{0}};

static int run_help(const struct command_call *call)
{
        struct err err;

        if (call->arguments_count == 0) {
                command_list(stdout);
                return EXIT_FINE;
        }
        const struct command *command = command_find(call->arguments[0], &err);
        if (!command) {
                fprintf(stderr, "berth help: %s\n", err.text);
                return EXIT_BAD_INPUT;
        }
        command_help(command, stdout);
        return EXIT_FINE;
}

static int run_version(const struct command_call *call)
{
        (void)call;
        puts("berth " BERTH_VERSION);
        return EXIT_FINE;
}

const struct command commands[] = {
        {.name = "replay",
         .arguments = "SCENARIO.yaml | --log FILE",
         .arguments_min = 0,
         .arguments_max = 1,
         .summary = "fill a pool with a workload in virtual time and compare placements",
         .details = replay_details,
         .options = replay_options,
         .run = replay_command},
        {.name = "policy",
         .arguments = "check FILE | diff A B | try FILE --history SCENARIO",
         .arguments_min = 2,
         .arguments_max = 3,
         .summary = "check a policy, say what another one changes, or try it on a history",
         .details = policy_details,
         .options = policy_options,
         .run = policy_command},
        {.name = "store",
         .arguments = "check FILE... | export STORE FILE | import FILE STORE | backup STORE FILE | "
                      "compact STORE",
         .arguments_min = 2,
         .arguments_max = COMMAND_ARGUMENTS_MAX,
         .summary = "check, copy, move or shrink the file that holds a pool's log",
         .details = store_details,
         .options = store_options,
         .run = store_command},
        {.name = "help",
         .arguments = "[COMMAND]",
         .arguments_max = 1,
         .summary = "what there is, or one command in full",
         .details = "",
         .options = no_options,
         .run = run_help},
        {.name = "version",
         .arguments = "",
         .summary = "which version this is",
         .details = "",
         .options = no_options,
         .run = run_version},
        {0},
};
