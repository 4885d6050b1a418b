#include "agent/options.h"

#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

struct option_row {
        const char *name, *value, *help;
};

static const struct option_row rows[AGENT_OPTIONS_END] = {
#define X(id, name, value, help) [AGENT_##id] = {name, value, help},
        AGENT_OPTIONS(X)
#undef X
};

static int fail_option(const char *text, int id, struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        if (id == ':')
                return err_set(err, ERR_INPUT, "option '%s' needs a value; see --help",
                               str_show(text, show));
        str_near_init(&near, text + strspn(text, "-"));
        for (unsigned i = 0; i < AGENT_OPTIONS_END; i++)
                str_near_add(&near, rows[i].name);
        return err_set(err, ERR_INPUT, "there is no option '%s' of that form; %s",
                       str_show(text, show), str_near_text(&near, known, sizeof known));
}

int agent_options_parse(int argc, char **argv, struct agent_options *ret_options, struct err *err)
{
        struct option longs[AGENT_OPTIONS_END + 1] = {0};
        struct agent_options options = {0};
        char show[STR_SHOW_MAX];
        int id;

        for (int i = 0; i < AGENT_OPTIONS_END; i++)
                longs[i] = (struct option){
                        rows[i].name, rows[i].value ? required_argument : no_argument, NULL, 1 + i};
        opterr = 0;
        optind = 0; /* start anew, whatever was parsed before */
        while ((id = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
                if (id == '?' || id == ':')
                        return fail_option(argv[optind - 1], id, err);
                int index = id == 'h' ? AGENT_HELP : id - 1;
                if (options.values[index])
                        return err_set(err, ERR_INPUT, "option --%s is given twice",
                                       rows[index].name);
                options.values[index] = optarg ? optarg : "";
        }
        if (optind < argc)
                return err_set(err, ERR_INPUT, "'%s' is an argument; there are only options",
                               str_show(argv[optind], show));
        *ret_options = options;
        return 0;
}

void agent_options_help(FILE *file)
{
        char left[48];

        fputs("usage: berth-agent --pool FILE [--node NAME] [--url URL] [--state DIR] ...\n\n"
              "berth-agent has the runs on this node that the pool's berthd wants.\n\n",
              file);
        for (unsigned i = 0; i < AGENT_OPTIONS_END; i++) {
                snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                         rows[i].value ? rows[i].value : "");
                fprintf(file, "  %-24s %s\n", left, rows[i].help);
        }
        fputs("\n"
              "Runs outlive the agent: one that is started again takes over what still runs. They\n"
              "run as the account that the policy gives their principal, if the node allows it\n"
              "(--allow-accounts; without it all with a uid of 1000 and more), never as root\n"
              "unless --runs-as says so; an agent that is not root runs everything as itself.\n"
              "docs/agent.md says what a run sees, and how it is told to stop.\n"
              "\n"
              "A run that names a secret reads its copy of DIR/ACCOUNT/NAME in memory, as\n"
              "$BERTH_SECRETS/NAME, until it ends. DIR and all below belong to root, closed to\n"
              "others.\n"
              "\n"
              "With --join-token-file the node gets a certificate at its first start, keeps it in\n"
              "its state folder, and renews it in time; SIGHUP has it renewed at once.\n"
              "\n"
              "example:\n"
              "  berth-agent --node gpu-01 --pool pool.yaml --state /tmp/agent --runs-as self\n"
              "  berth-agent --node gpu-01 --pool pool.yaml --url https://berth.example:7070 \\\n"
              "              --ca-file ca.pem --join-token-file gpu-01.token\n"
              "\n"
              "exit status: 0 ended by SIGTERM or SIGINT; 2 a document or option is wrong, or\n"
              "another agent has the state folder; 1 anything else\n",
              file);
}
