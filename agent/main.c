/* berth-agent - the agent of a node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/allowed.h"
#include "agent/keeper.h"
#include "agent/options.h"
#include "agent/supervisor.h"
#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "device/sim.h"
#include "proto/kind.h"
#include "proto/model_doc.h"
#include "proto/pool_doc.h"

#define DEFAULT_URL   "unix:/run/berth/berthd.sock"
#define DEFAULT_STATE "/var/lib/berth-agent"
#define DEFAULT_SECRETS "/etc/berth/secrets"
#define PATH_ROOM     4096

/* What main works with. */
struct program {
        struct agent_options options;
        char node[64], state[PATH_ROOM], path[PATH_ROOM], broken[PATH_ROOM + 16];
        char secrets[PATH_ROOM];
        char identity[PATH_ROOM + 16];  /* "" = who we are was given */
        char *token;
        struct device_backend devices;
};

static const char *value(const struct program *program, enum agent_option option,
                         const char *otherwise)
{
        const char *given = program->options.values[option];
        return given ? given : otherwise;
}

/* ---- devices ---- */

struct pool_reading {
        struct model_table *models;
        struct vocab *vocab;
        struct pool_doc *pool;
};

static int read_pool(const char *path, const char *models, struct pool_reading *reading,
                     struct err *err)
{
        const struct doc_node *root;
        struct doc *doc;
        int rc;

        reading->models = model_table_new();
        reading->vocab = vocab_new();
        if (!reading->models || !reading->vocab)
                return err_set(err, ERR_NOMEM, "out of memory");
        if ((rc = model_doc_builtin(reading->models, err)) < 0 ||
            (models && (rc = model_doc_load(models, reading->models, err)) < 0) ||
            (rc = doc_read_file(path, &doc, err)) < 0)
                return rc;
        if ((rc = kind_need(doc, "Pool", &root, err)) == 0)
                rc = pool_doc_decode(root, reading->models, reading->vocab, &reading->pool, err);
        doc_free(doc);
        return rc;
}

static const struct node_desc *find_node(const struct pool_reading *reading, const char *name,
                                         struct err *err)
{
        struct str_near near;
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        str_near_init(&near, name);
        for (uint32_t i = 0; i < reading->pool->nodes_count; i++) {
                const struct node_desc *node = &reading->pool->nodes[i];
                const char *text = vocab_name_text(reading->vocab, node->name);
                if (str_equal(text, name))
                        return node;
                str_near_add(&near, text);
        }
        err_set(err, ERR_NOT_FOUND, "the pool has no node '%s' (--node); %s", str_show(name, show),
                str_near_text(&near, known, sizeof known));
        return NULL;
}

static int make_devices(struct program *program, struct pool_reading *reading, struct err *err)
{
        int rc = read_pool(program->options.values[AGENT_POOL],
                           program->options.values[AGENT_MODELS], reading, err);

        if (rc < 0)
                return rc;
        const struct node_desc *node = find_node(reading, program->node, err);
        if (!node)
                return -ERR_NOT_FOUND;
        const struct model *model = node->devices ? model_get(reading->models, node->model) : NULL;
        snprintf(program->broken, sizeof program->broken, "%s/sim-broken", program->state);
        const struct device_sim_setup sim = {
                .node = program->node,
                .model = model ? model->name : "",
                .memory_mib = model ? model->memory_mib : 0,
                .count = node->devices,
                .broken = node->broken,
                .broken_file = program->broken,
        };
        return device_sim_new(&sim, &program->devices, err);
}

static int load_devices(struct program *program, struct err *err)
{
        struct pool_reading reading = {0};

        if (!program->options.values[AGENT_POOL])
                return err_set(err, ERR_INPUT,
                               "say which devices there are: --pool FILE (simulated ones)");
        int rc = make_devices(program, &reading, err);
        pool_doc_free(reading.pool);
        vocab_free(reading.vocab);
        model_table_free(reading.models);
        return rc;
}

/* ---- the rest ---- */

static int set_node(struct program *program, struct err *err)
{
        const char *given = program->options.values[AGENT_NODE];

        if (!given && gethostname(program->node, sizeof program->node) == 0 &&
            memchr(program->node, '\0', sizeof program->node))
                return 0;
        if (!given || !str_copy(program->node, sizeof program->node, given) || !given[0])
                return err_set(err, ERR_INPUT, "name this node: --node NAME, up to 63 bytes");
        return 0;
}

/* Supervisors and runs have other working directories. */
static int set_folder(const char *given, const char *what, char path[PATH_ROOM], struct err *err)
{
        char here[PATH_ROOM / 2];

        if (given[0] == '/'
                    ? str_copy(path, PATH_ROOM, given)
                    : getcwd(here, sizeof here) &&
                              snprintf(path, PATH_ROOM, "%s/%s", here, given) < PATH_ROOM)
                return 0;
        return err_set(err, ERR_INPUT, "the %s folder's path is too long", what);
}

static int set_folders(struct program *program, struct err *err)
{
        int rc = set_folder(value(program, AGENT_STATE, DEFAULT_STATE), "state", program->state,
                            err);

        if (rc < 0)
                return rc;
        return set_folder(value(program, AGENT_SECRETS, DEFAULT_SECRETS), "secrets",
                          program->secrets, err);
}

static int set_program(struct program *program, struct err *err)
{
        ssize_t length = readlink("/proc/self/exe", program->path, sizeof program->path - 1);

        if (length <= 0)
                return err_set(err, ERR_IO, "the program does not find itself in /proc");
        program->path[length] = '\0';
        return 0;
}

static int read_token(struct program *program, struct err *err)
{
        const char *path = program->options.values[AGENT_TOKEN_FILE];

        return path ? keeper_read_token(path, &program->token, err) : 0;
}

static int check_accounts(const struct program *program, struct err *err)
{
        const char *list = program->options.values[AGENT_ALLOW_ACCOUNTS];

        if (!list)
                return 0;
        if (program->options.values[AGENT_RUNS_AS])
                return err_set(err, ERR_INPUT,
                               "--allow-accounts goes without --runs-as, with which everything "
                               "runs as one account");
        return allowed_check_list(list, err) < 0 ? err_prefix(err, "--allow-accounts") : 0;
}

/* The node's own certificate, where it joins with a token, or did so before. */
static int set_identity(struct program *program, struct err *err)
{
        const char *const *values = program->options.values;
        const char *url = value(program, AGENT_URL, DEFAULT_URL);
        bool joins = values[AGENT_JOIN_TOKEN_FILE] != NULL;

        if (values[AGENT_TOKEN_FILE] || values[AGENT_CERTIFICATE])
                return joins ? err_set(err, ERR_INPUT,
                                       "--join-token-file gets this node a certificate of its own: "
                                       "--token-file and --certificate go without it")
                             : 0;
        snprintf(program->identity, sizeof program->identity, "%s/" KEEPER_IDENTITY,
                 program->state);
        bool is_https = strncmp(url, "https://", 8) == 0;
        if (joins && !is_https)
                return err_set(err, ERR_INPUT,
                               "--join-token-file: a certificate is shown over https only: give "
                               "--url https://host:port");
        if (!is_https || (!joins && access(program->identity, F_OK) < 0))
                program->identity[0] = '\0';
        return 0;
}

/* The unit names one of version 2, which not every machine has. */
static const char *cgroup_of(const struct program *program)
{
        const char *unit = getenv("BERTH_AGENT_CGROUP");

        bool holds = unit && (str_equal(unit, "none") || access(unit, F_OK) == 0);

        return value(program, AGENT_CGROUP, holds ? unit : NULL);
}

static int run(struct program *program, struct err *err)
{
        const char *const *values = program->options.values;
        int rc;

        if ((rc = set_node(program, err)) < 0 || (rc = set_folders(program, err)) < 0 ||
            (rc = set_program(program, err)) < 0 || (rc = set_identity(program, err)) < 0 ||
            (rc = check_accounts(program, err)) < 0 ||
            (rc = read_token(program, err)) < 0 || (rc = load_devices(program, err)) < 0)
                return rc;
        bool enrols = program->identity[0] != '\0';
        const struct agent_setup setup = {
                .client =
                        {
                                .url = value(program, AGENT_URL, DEFAULT_URL),
                                .token = program->token,
                                .ca_file = values[AGENT_CA_FILE],
                                .pin = values[AGENT_PIN],
                                .certificate_file =
                                        enrols ? program->identity : values[AGENT_CERTIFICATE],
                                .key_file = enrols ? program->identity : values[AGENT_KEY],
                                .agent = "berth-agent/" BERTH_VERSION,
                        },
                .enrols = enrols,
                .join_token_file = values[AGENT_JOIN_TOKEN_FILE],
                .version = BERTH_VERSION,
                .node = program->node,
                .state = program->state,
                .program = program->path,
                .runs_as = values[AGENT_RUNS_AS],
                .allowed = values[AGENT_ALLOW_ACCOUNTS],
                .secrets = program->secrets,
                .cgroup = cgroup_of(program),
                .devices = program->devices,
                .stops_runs = values[AGENT_STOP_RUNS] != NULL,
        };
        return agent_run(&setup, err);
}

int main(int argc, char **argv)
{
        struct program program = {0};
        struct err err = {0};

        if (argc == 3 && str_equal(argv[1], SUPERVISOR_WORD))
                return supervisor_main(argv[2]);
        int rc = agent_options_parse(argc, argv, &program.options, &err);
        if (rc == 0 && program.options.values[AGENT_HELP]) {
                agent_options_help(stdout);
                return 0;
        }
        if (rc == 0 && program.options.values[AGENT_VERSION]) {
                puts("berth-agent " BERTH_VERSION);
                return 0;
        }
        if (rc == 0)
                rc = run(&program, &err);
        if (program.devices.ops)
                program.devices.ops->free(program.devices.self);
        mem_free(program.token);
        if (rc == 0)
                return 0;
        fprintf(stderr, "berth-agent: %s\n", err.text);
        return rc == -ERR_NOMEM || rc == -ERR_IO ? 1 : 2;
}
