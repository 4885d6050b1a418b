/* berthd - the controller of a pool. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/daemon.h"
#include "controller/enrolment.h"
#include "controller/live.h"
#include "controller/worker.h"
#include "controller/worker_run.h"
#include "store/retain.h"

enum { EXIT_BAD_INPUT = 2 };

static const char help[] =
        "usage: berthd --store FILE [options]\n"
        "\n"
        "The controller of a pool: decides for every job and service where it runs, keeps a durable\n"
        "log of all it decided, and serves the HTTP API.\n"
        "\n"
        "  --store FILE          the pool's store, made when there is none\n"
        "  --listen WHERE        unix:PATH, or tcp:ADDRESS:PORT; several may be given\n"
        "                        (default: the service manager's sockets, else\n"
        "                        unix:/run/berth/berthd.sock)\n"
        "  --tls-cert FILE, --tls-key FILE\n"
        "                        certificate and key (PEM) for tcp; without them tcp is for this\n"
        "                        machine only\n"
        "  --client-ca FILE      clients may show certificates that it signed: 'CN=ana' is\n"
        "                        principal ana of the policy\n"
        "  --node-certificates DURATION\n"
        "                        how long the certificate of a node that enrolled is good; agents\n"
        "                        renew it in time (default 7d; the authority that signs them lies\n"
        "                        beside the store)\n"
        "  --pool FILE           a Pool document, set at start where it differs from the one in force\n"
        "  --policy FILE         the same for a Policy document\n"
        "  --simulate            nodes have no agents: berthd plays their work ('sleep 2' runs 2 s)\n"
        "  --tick DURATION       how often time passes for the engine (default 2s)\n"
        "  --lease DURATION      an agent that is silent for longer has lost its work (default 2m)\n"
        "  --decide-limit DURATION\n"
        "                        of CPU time: a decision that takes longer never ends, and is a\n"
        "                        crash (default 60s; 0s: it may take any)\n"
        "  --requests-per-s N    most of one peer, with bursts above it; 0: any number (default 2000)\n"
        "  --keep-records DAYS   of the log, before the newest snapshot; 0: for ever (default 30)\n"
        "  --keep-ended DAYS     what has ended is known for so long; 0: for ever (default 90);\n"
        "                        both where the policy's 'retention' does not say\n"
        "  --snapshot-every N    a snapshot every so many records of the log (default 200000)\n"
        "  --no-worker           no process beside it that plans prices and foretells starts\n"
        "  --worker-memory MIB   most memory that that process may hold (default 2048)\n"
        "  --nodes-max N         most nodes of a new store (default 16384)\n"
        "  --workloads-max N     most live workloads of a new store (default 200000)\n"
        "  --help, --version\n"
        "\n"
        "Try a pool out, with simulated nodes:\n"
        "  berthd --store /tmp/pool.db --listen unix:/tmp/berth.sock --simulate \\\n"
        "         --pool examples/pool.yaml --policy examples/policy.yaml\n"
        "\n"
        "Ends with 0, 1 (trouble) or 2 (an option or a document is wrong). SIGTERM ends it: what was\n"
        "answered is on the disk, and work goes on. SIGHUP has certificates and the policy's\n"
        "file read again.\n";

enum {
        OPTION_STORE = 256, OPTION_LISTEN, OPTION_POOL, OPTION_POLICY, OPTION_UNSAFE, OPTION_SIMULATE,
        OPTION_TICK, OPTION_LEASE, OPTION_DECIDE,
        OPTION_REQUESTS, OPTION_SNAPSHOT, OPTION_NODES, OPTION_WORKLOADS, OPTION_HELP,
        OPTION_VERSION, OPTION_TLS_CERT, OPTION_TLS_KEY, OPTION_CLIENT_CA,
        OPTION_KEEP_RECORDS, OPTION_KEEP_ENDED, OPTION_PRUNE, OPTION_NODE_CERTIFICATES,
        OPTION_NO_WORKER, OPTION_WORKER_MEMORY, OPTION_WORKER_PROGRAM, OPTION_WORKER_SILENCE
};

static int wrong(const struct err *err)
{
        fprintf(stderr, "berthd: %s\n", err->text);
        return EXIT_BAD_INPUT;
}

static int take_option(int option, const char *value, struct daemon_options *options,
                       struct err *err)
{
        uint64_t number = 0;
        int rc = 0;

        switch (option) {
        case OPTION_STORE:
                options->store = value;
                break;
        case OPTION_LISTEN:
                if (options->listens_count == DAEMON_LISTENS_MAX)
                        return err_set(err, ERR_INPUT, "--listen: at most %d are possible",
                                       DAEMON_LISTENS_MAX);
                options->listens[options->listens_count++] = value;
                break;
        case OPTION_POOL:
                options->pool = value;
                break;
        case OPTION_POLICY:
                options->policy = value;
                break;
        case OPTION_UNSAFE:
                options->store_unsafe = true;
                break;
        case OPTION_TLS_CERT:
                options->tls_certificate = value;
                break;
        case OPTION_TLS_KEY:
                options->tls_key = value;
                break;
        case OPTION_CLIENT_CA:
                options->client_ca = value;
                break;
        case OPTION_NODE_CERTIFICATES:
                rc = num_duration_ms(value, CERTIFICATE_LIFE_MS_MIN, CERTIFICATE_LIFE_MS_MAX,
                                     &options->certificate_ms, err);
                break;
        case OPTION_SIMULATE:
                options->simulate = true;
                break;
        case OPTION_NO_WORKER:
                options->no_worker = true;
                break;
        case OPTION_WORKER_PROGRAM:
                options->worker_program = value;
                break;
        case OPTION_WORKER_MEMORY:
                rc = num_u64(value, 64, 1u << 20, &options->worker_memory_mib, err);
                break;
        case OPTION_WORKER_SILENCE:
                rc = num_duration_ms(value, 100, 3600000, &options->worker_silence_ms, err);
                break;
        case OPTION_TICK:
                rc = num_duration_ms(value, 100, 60000, &options->tick_ms, err);
                break;
        case OPTION_LEASE:
                rc = num_duration_ms(value, 1000, 3600000, &options->lease_ms, err);
                break;
        case OPTION_DECIDE:
                rc = num_duration_ms(value, 0, 3600000, &options->decide_ms_max, err);
                break;
        case OPTION_REQUESTS:
                rc = num_u64(value, 0, 1000000, &number, err);
                options->requests_per_s = (uint32_t)number;
                break;
        case OPTION_KEEP_RECORDS:
                rc = num_u64(value, 0, RETAIN_DAYS_MAX, &number, err);
                options->keep_records_days = (uint32_t)number;
                break;
        case OPTION_KEEP_ENDED:
                rc = num_u64(value, 0, RETAIN_DAYS_MAX, &number, err);
                options->keep_ended_days = (uint32_t)number;
                break;
        case OPTION_PRUNE:
                rc = num_duration_ms(value, 100, 86400000, &options->prune_every_ms, err);
                break;
        case OPTION_SNAPSHOT:
                rc = num_u64(value, 100, UINT64_C(1) << 40, &options->snapshot_records, err);
                break;
        case OPTION_NODES:
                rc = num_u64(value, 1, 100000, &number, err);
                options->nodes_max = (uint32_t)number;
                break;
        case OPTION_WORKLOADS:
                rc = num_u64(value, 1, 1000000, &number, err);
                options->workloads_max = (uint32_t)number;
                break;
        }
        return rc;
}

int main(int argc, char **argv)
{
        static const struct option list[] = {
                {"store", required_argument, NULL, OPTION_STORE},
                {"listen", required_argument, NULL, OPTION_LISTEN},
                {"pool", required_argument, NULL, OPTION_POOL},
                {"policy", required_argument, NULL, OPTION_POLICY},
                /* Not in the help: for tests/kill_daemon.py, which must find what this loses. */
                {"unsafe-store-for-tests", no_argument, NULL, OPTION_UNSAFE},
                {"no-worker", no_argument, NULL, OPTION_NO_WORKER},
                {"worker-memory", required_argument, NULL, OPTION_WORKER_MEMORY},
                /* Not in the help: for tests/worker_check.py. */
                {"worker-program-for-tests", required_argument, NULL, OPTION_WORKER_PROGRAM},
                {"worker-silence-for-tests", required_argument, NULL, OPTION_WORKER_SILENCE},
                {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
                {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
                {"client-ca", required_argument, NULL, OPTION_CLIENT_CA},
                {"node-certificates", required_argument, NULL, OPTION_NODE_CERTIFICATES},
                {"simulate", no_argument, NULL, OPTION_SIMULATE},
                {"tick", required_argument, NULL, OPTION_TICK},
                {"lease", required_argument, NULL, OPTION_LEASE},
                {"decide-limit", required_argument, NULL, OPTION_DECIDE},
                {"requests-per-s", required_argument, NULL, OPTION_REQUESTS},
                {"keep-records", required_argument, NULL, OPTION_KEEP_RECORDS},
                {"keep-ended", required_argument, NULL, OPTION_KEEP_ENDED},
                /* Not in the help: for tests/retention_check.py. */
                {"prune-every-for-tests", required_argument, NULL, OPTION_PRUNE},
                {"snapshot-every", required_argument, NULL, OPTION_SNAPSHOT},
                {"nodes-max", required_argument, NULL, OPTION_NODES},
                {"workloads-max", required_argument, NULL, OPTION_WORKLOADS},
                {"help", no_argument, NULL, OPTION_HELP},
                {"version", no_argument, NULL, OPTION_VERSION},
                {0}};
        struct daemon_options options = {.tick_ms = 2000,
                                         .lease_ms = LEASE_MS_DEFAULT,
                                         .decide_ms_max = 60000,
                                         .certificate_ms = CERTIFICATE_LIFE_MS,
                                         .worker_memory_mib = WORKER_MEMORY_MIB,
                                         .worker_silence_ms = WORKER_SILENCE_MS,
                                         .requests_per_s = 2000,
                                         .keep_records_days = RETAIN_RECORD_DAYS,
                                         .keep_ended_days = RETAIN_OBJECT_DAYS,
                                         .prune_every_ms = 86400000,
                                         .snapshot_records = 200000,
                                         .nodes_max = 16384,
                                         .workloads_max = 200000,
                                         .version = BERTH_VERSION};
        struct err err = {0};
        int option, number = 0;

        if (argc > 1 && str_equal(argv[1], "worker"))
                return worker_main(argc - 1, argv + 1);
        while ((option = getopt_long(argc, argv, "", list, &number)) != -1) {
                if (option == '?')
                        return EXIT_BAD_INPUT;  /* getopt has said what is wrong */
                if (option == OPTION_HELP)
                        return fputs(help, stdout) == EOF;
                if (option == OPTION_VERSION)
                        return puts("berthd " BERTH_VERSION) == EOF;
                if (take_option(option, optarg, &options, &err) < 0) {
                        (void)err_prefix(&err, "--%s", list[number].name);
                        return wrong(&err);
                }
        }
        if (optind < argc)
                (void)err_set(&err, ERR_INPUT, "'%s' is not expected: see berthd --help",
                              argv[optind]);
        else if (!options.store)
                (void)err_set(&err, ERR_INPUT, "--store FILE is missing: see berthd --help");
        else if (!options.tls_certificate != !options.tls_key)
                (void)err_set(&err, ERR_INPUT, "--tls-cert and --tls-key belong together");
        else if (options.client_ca && !options.tls_certificate)
                (void)err_set(&err, ERR_INPUT, "--client-ca needs --tls-cert and --tls-key");
        if (err.code != ERR_OK)
                return wrong(&err);
        if (daemon_run(&options, &err) == 0)
                return EXIT_SUCCESS;
        fprintf(stderr, "berthd: %s\n", err.text);
        return err.code == ERR_INPUT ? EXIT_BAD_INPUT : EXIT_FAILURE;
}
