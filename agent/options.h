/* options.h - the command line of berth-agent.
 *
 * One table makes the parser and the help. Prints; getopt's globals: one parse at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct err;

#define AGENT_OPTIONS(X)                                                                        \
        X(URL, "url", "URL", "berthd: unix:/run/berth/berthd.sock (default) or https://host:port") \
        X(NODE, "node", "NAME", "this node's name in the pool (default: the host's name)")      \
        X(POOL, "pool", "FILE", "devices as this pool document says (kind: Pool), simulated")   \
        X(MODELS, "models", "FILE", "know these device models too (kind: DeviceModels)")        \
        X(STATE, "state", "DIR", "what must outlive the agent (default: /var/lib/berth-agent)") \
        X(TOKEN_FILE, "token-file", "FILE", "the token of this node, alone in a file")          \
        X(JOIN_TOKEN_FILE, "join-token-file", "FILE", "enrol with the join token in this file")  \
        X(CA_FILE, "ca-file", "FILE", "the authority that signed berthd's certificate")         \
        X(PIN, "pin", "PIN", "berthd's public key, as sha256//...")                             \
        X(CERTIFICATE, "certificate", "FILE", "this node's certificate, with --key")            \
        X(KEY, "key", "FILE", "its key")                                                        \
        X(RUNS_AS, "runs-as", "USER", "run everything as this account; self: as the agent's own") \
        X(ALLOW_ACCOUNTS, "allow-accounts", "LIST",                                             \
          "run only as these: names, @group, files of both, with commas")                       \
        X(SECRETS, "secrets", "DIR",                                                            \
          "secrets of runs, as DIR/ACCOUNT/NAME (default: /etc/berth/secrets)")                 \
        X(CGROUP, "cgroup", "DIR", "control group that runs get theirs in; none: they get none") \
        X(STOP_RUNS, "stop-runs", NULL, "SIGTERM ends the runs too; else they go on")           \
        X(VERSION, "version", NULL, "which version this is")                                    \
        X(HELP, "help", NULL, "this text")

enum agent_option {
#define X(id, name, value, help) AGENT_##id,
        AGENT_OPTIONS(X)
#undef X
        AGENT_OPTIONS_END
};

struct agent_options {
        const char *values[AGENT_OPTIONS_END];  /* texts of argv; a flag: ""; NULL: not given */
};

/* 0, or -ERR_INPUT with the way out. */
int agent_options_parse(int argc, char **argv, struct agent_options *ret_options, struct err *err);
void agent_options_help(FILE *file);
