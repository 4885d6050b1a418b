/* berthd - the controller of a pool. */
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/daemon.h"
#include "controller/enrolment.h"
#include "controller/forecaster.h"
#include "controller/live.h"
#include "controller/worker.h"
#include "controller/worker_forecast_run.h"
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
        "  --worker-memory MIB   most memory that that process may hold, and one that makes a dry\n"
        "                        run's forecast (default 2048)\n"
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

/* ---- options ---- */

enum kind { TEXT, FLAG, DURATION, NUMBER_32, NUMBER_64, LISTEN };

#define AT(field) offsetof(struct daemon_options, field)

/* Each says where in struct daemon_options it goes, and between what it may lie. */
static const struct {
        const char *name;
        enum kind kind;
        size_t at;
        uint64_t min, max;
} table[] = {
        {"store", TEXT, AT(store), 0, 0},
        {"listen", LISTEN, 0, 0, 0},
        {"pool", TEXT, AT(pool), 0, 0},
        {"policy", TEXT, AT(policy), 0, 0},
        {"tls-cert", TEXT, AT(tls_certificate), 0, 0},
        {"tls-key", TEXT, AT(tls_key), 0, 0},
        {"client-ca", TEXT, AT(client_ca), 0, 0},
        {"node-certificates", DURATION, AT(certificate_ms), CERTIFICATE_LIFE_MS_MIN,
         CERTIFICATE_LIFE_MS_MAX},
        {"simulate", FLAG, AT(simulate), 0, 0},
        {"tick", DURATION, AT(tick_ms), 100, 60000},
        {"lease", DURATION, AT(lease_ms), 1000, 3600000},
        {"decide-limit", DURATION, AT(decide_ms_max), 0, 3600000},
        {"requests-per-s", NUMBER_32, AT(requests_per_s), 0, 1000000},
        {"keep-records", NUMBER_32, AT(keep_records_days), 0, RETAIN_DAYS_MAX},
        {"keep-ended", NUMBER_32, AT(keep_ended_days), 0, RETAIN_DAYS_MAX},
        {"snapshot-every", NUMBER_64, AT(snapshot_records), 100, UINT64_C(1) << 40},
        {"no-worker", FLAG, AT(no_worker), 0, 0},
        {"worker-memory", NUMBER_64, AT(worker_memory_mib), 64, 1u << 20},
        {"nodes-max", NUMBER_32, AT(nodes_max), 1, 100000},
        {"workloads-max", NUMBER_32, AT(workloads_max), 1, 1000000},
        /* Not in the help: for tests/retention_check.py, worker_check.py, forecast_check.py, and
         * kill_daemon.py, which must find what an unsafe store loses. */
        {"prune-every-for-tests", DURATION, AT(prune_every_ms), 100, 86400000},
        {"worker-program-for-tests", TEXT, AT(worker_program), 0, 0},
        {"forecast-program-for-tests", TEXT, AT(forecast_program), 0, 0},
        {"forecast-limit-for-tests", DURATION, AT(forecast_ms_max), 10, 60000},
        {"worker-silence-for-tests", DURATION, AT(worker_silence_ms), 100, 3600000},
        {"unsafe-store-for-tests", FLAG, AT(store_unsafe), 0, 0},
};

enum { OPTION_HELP = ARRAY_LEN(table), OPTION_VERSION, OPTIONS_END, OPTION_WRONG };

#define OPTION_VALUE 256                /* getopt's of the first one: above any character */

static int take_listen(const char *value, struct daemon_options *options, struct err *err)
{
        if (options->listens_count == DAEMON_LISTENS_MAX)
                return err_set(err, ERR_INPUT, "at most %d are possible", DAEMON_LISTENS_MAX);
        options->listens[options->listens_count++] = value;
        return 0;
}

static int take_option(unsigned option, const char *value, struct daemon_options *options,
                       struct err *err)
{
        void *field = (char *)options + table[option].at;
        uint64_t min = table[option].min, max = table[option].max, number = 0;
        int rc = 0;

        switch (table[option].kind) {
        case TEXT:
                *(const char **)field = value;
                break;
        case FLAG:
                *(bool *)field = true;
                break;
        case DURATION:
                rc = num_duration_ms(value, (int64_t)min, (int64_t)max, field, err);
                break;
        case NUMBER_32:
                rc = num_u64(value, min, max, &number, err);
                if (rc == 0)
                        *(uint32_t *)field = (uint32_t)number;
                break;
        case NUMBER_64:
                rc = num_u64(value, min, max, field, err);
                break;
        case LISTEN:
                rc = take_listen(value, options, err);
                break;
        }
        return rc < 0 ? err_prefix(err, "--%s", table[option].name) : 0;
}

/* What only several options together can be wrong in. */
static int check_options(const struct daemon_options *options, struct err *err)
{
        if (!options->store)
                return err_set(err, ERR_INPUT, "--store FILE is missing: see berthd --help");
        if (!options->tls_certificate != !options->tls_key)
                return err_set(err, ERR_INPUT, "--tls-cert and --tls-key belong together");
        if (options->client_ca && !options->tls_certificate)
                return err_set(err, ERR_INPUT, "--client-ca needs --tls-cert and --tls-key");
        return 0;
}

/* OPTIONS_END: all are taken; OPTION_HELP and OPTION_VERSION: that is asked for; OPTION_WRONG:
 * getopt has said what is. Or an error. */
static int read_options(int argc, char **argv, struct daemon_options *options, struct err *err)
{
        struct option list[OPTIONS_END + 1] = {
                [OPTION_HELP] = {"help", no_argument, NULL, OPTION_VALUE + OPTION_HELP},
                [OPTION_VERSION] = {"version", no_argument, NULL, OPTION_VALUE + OPTION_VERSION},
        };
        int given, rc;

        for (unsigned o = 0; o < ARRAY_LEN(table); o++)
                list[o] = (struct option){
                        .name = table[o].name,
                        .has_arg = table[o].kind == FLAG ? no_argument : required_argument,
                        .val = OPTION_VALUE + (int)o};
        while ((given = getopt_long(argc, argv, "", list, NULL)) != -1) {
                if (given == '?')
                        return OPTION_WRONG;
                given -= OPTION_VALUE;
                if (given == OPTION_HELP || given == OPTION_VERSION)
                        return given;
                if ((rc = take_option((unsigned)given, optarg, options, err)) < 0)
                        return rc;
        }
        if (optind < argc)
                return err_set(err, ERR_INPUT, "'%s' is not expected: see berthd --help",
                               argv[optind]);
        rc = check_options(options, err);
        return rc < 0 ? rc : OPTIONS_END;
}

int main(int argc, char **argv)
{
        struct daemon_options options = {.tick_ms = 2000,
                                         .lease_ms = LEASE_MS_DEFAULT,
                                         .decide_ms_max = 60000,
                                         .certificate_ms = CERTIFICATE_LIFE_MS,
                                         .worker_memory_mib = WORKER_MEMORY_MIB,
                                         .worker_silence_ms = WORKER_SILENCE_MS,
                                         .forecast_ms_max = FORECASTER_MS_MAX,
                                         .requests_per_s = 2000,
                                         .keep_records_days = RETAIN_RECORD_DAYS,
                                         .keep_ended_days = RETAIN_OBJECT_DAYS,
                                         .prune_every_ms = 86400000,
                                         .snapshot_records = 200000,
                                         .nodes_max = 16384,
                                         .workloads_max = 200000,
                                         .version = BERTH_VERSION};
        struct err err = {0};

        if (argc > 1 && str_equal(argv[1], "worker"))
                return worker_main(argc - 1, argv + 1);
        if (argc > 1 && str_equal(argv[1], "forecast"))
                return worker_forecast_main(argc - 1, argv + 1);
        int rc = read_options(argc, argv, &options, &err);
        if (rc == OPTION_HELP)
                return fputs(help, stdout) == EOF;
        if (rc == OPTION_VERSION)
                return puts("berthd " BERTH_VERSION) == EOF;
        if (rc == OPTION_WRONG)
                return EXIT_BAD_INPUT;
        bool is_good = rc == OPTIONS_END;
        if (is_good && daemon_run(&options, &err) == 0)
                return EXIT_SUCCESS;
        fprintf(stderr, "berthd: %s\n", err.text);
        return !is_good || err.code == ERR_INPUT ? EXIT_BAD_INPUT : EXIT_FAILURE;
}
