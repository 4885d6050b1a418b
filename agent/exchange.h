/* exchange.h - what an agent and the controller say to each other, as JSON, both ways.
 *
 * Pure apart from the heap. Strict: a value of the wrong type or out of its bounds refuses the
 * whole answer, with the field's path in the sentence. Keys that are not known are skipped, so that
 * a newer controller can speak to an older agent; those that are missing have defaults, but for the
 * few without which an answer means nothing (proto/protocol.h). docs/agent.md shows both bodies.
 *
 * A *run* is one member of a workload in one epoch: what an agent starts at most once.
 * Times on the wire are ISO 8601; here milliseconds since 1970 (_ms). Memory in MiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/protocol.h"

struct arena;
struct doc_node;
struct err;
struct text;

#define EXCHANGE_RUNS_MAX      1024     /* of one node, in one answer */
#define EXCHANGE_STARTED_MAX   PROTOCOL_STARTED_MAX
#define EXCHANGE_WANTS_MAX     PROTOCOL_WANTS_MAX
#define EXCHANGE_WORDS_MAX     1024     /* of a command; variables; secrets */
#define EXCHANGE_ADDRESSES_MAX 4096
#define EXCHANGE_DEVICES_MAX   256      /* parts of devices of one run */
#define EXCHANGE_NAME_MAX      128      /* bytes of a name, with the final NUL */
#define EXCHANGE_TENANT_MAX    512
#define EXCHANGE_TEXT_MAX      32768    /* bytes of one word or value */
#define EXCHANGE_SESSION_MAX   65
#define EXCHANGE_LOG_MAX       65       /* bytes of a log's name, with the final NUL */
#define EXCHANGE_WINDOW_MAX    4096
#define EXCHANGE_LOG_BYTES_MAX (1u << 20)       /* of one piece of output */
#define EXCHANGE_WORKLOAD_MAX  ((1ull << 47) - 1)
#define EXCHANGE_MEMBER_MAX    65535
#define EXCHANGE_TIME_MS_MAX   253402300799999 /* the end of the year 9999 */

struct run_key {
        uint64_t workload;
        uint32_t member;
        uint64_t epoch;
};
bool run_key_equal(struct run_key a, struct run_key b);
/* "17.0.1042" and back; false: it is no such text. */
#define RUN_KEY_TEXT_MAX 64
const char *run_key_text(struct run_key key, char buf[RUN_KEY_TEXT_MAX]);
bool run_key_parse(const char *text, struct run_key *ret_key);

/* How a run has its part of a device. */
#define RUN_METHODS(X) X(WHOLE, "whole") X(SLICE, "slice") X(SHARE, "share") X(SERVE, "serve")
enum run_method {
#define X(name, wire) RUN_##name,
        RUN_METHODS(X)
#undef X
        RUN_METHODS_END
};

/* How far a run is, in the order in which it goes: a late report names an earlier one. */
#define RUN_PHASES(X)                                                           \
        X(WANTED,   "wanted")   /* the list names it, nothing is there yet */   \
        X(STARTING, "starting")                                                 \
        X(READY,    "ready")    /* waits at the barrier for the others */       \
        X(RUNNING,  "running")                                                  \
        X(EXITED,   "exited")   /* and nothing of it is left */                 \
        X(REFUSED,  "refused")  /* it cannot be started here */
enum run_phase {
#define X(name, wire) RUN_##name,
        RUN_PHASES(X)
#undef X
        RUN_PHASES_END
};
const char *run_phase_name(enum run_phase phase);
/* False: no phase has that name. */
bool run_phase_find(const char *name, enum run_phase *ret_phase);

struct run_device {
        uint32_t index;
        enum run_method method;
        const char *profile;            /* of a slice; else "" */
        uint32_t start;                 /* of a slice: the memory slice it begins at */
        uint32_t share_milli;           /* of the compute, when shared; 0 = no limit */
        uint64_t memory_mib;            /* 0 = no limit */
};

struct run_stop {                       /* the notice */
        const char *cause;              /* "preemption"; NULL: nobody has told it to stop */
        int64_t until_ms;               /* 0: at once */
        const char *signal;             /* sent at once; "" = none */
};

/* A run as the controller wants it. All texts live as long as what they were read into. */
struct run_spec {
        struct run_key key;
        const char *name, *tenant;
        const char *user;               /* who submitted it */
        const char *run_as;             /* the account on the node */
        uint32_t command_count, env_count, secrets_count, devices_count, addresses_count;
        const char **command;           /* at least one word */
        const char **env_names, **env_values;
        const char **secrets;           /* names */
        const char *workdir;            /* "" = the account's home */
        struct run_device *devices;
        uint64_t cpu_milli, ram_mib;    /* 0 = not limited */
        uint32_t rank, world;
        bool is_task;                   /* of an array, and which one */
        uint32_t array_index;
        const char **addresses;         /* of all members, by rank */
        bool go;                        /* the barrier is open */
        const char *checkpoint_signal;  /* "" = none */
        struct run_stop stop;
        bool stops_at_lease;            /* when contact is lost for as long as the lease */
};

/* A piece of what a run wrote, which the controller asks for. */
struct exchange_want {
        uint64_t request;
        struct run_key key;
        bool is_stderr;
        int64_t offset;                 /* from the start; negative: from the end */
        uint32_t bytes;                 /* at most so many */
};

/* A terminal, or a program without one, that is wanted beside a run. */
struct exchange_attach {
        char session[EXCHANGE_SESSION_MAX];     /* its name: hex digits */
        struct run_key key;
        uint32_t command_count;                 /* 0: a shell */
        const char **command;
        const char *term;                       /* kind of terminal; "" = none: plain pipes */
        uint32_t rows, columns;
};

bool exchange_is_log(const char *text);                 /* hex digits, not too many */

struct exchange_answer {
        uint32_t protocol;              /* that the controller chose of those we speak */
        uint64_t generation;
        char log[EXCHANGE_LOG_MAX];     /* the name of the controller's log, in hex; "": none */
        int64_t lease_ms;
        bool wants_started;             /* the report shall have what was started, ever */
        uint32_t runs_count, wants_count, attaches_count;
        struct run_spec *runs;          /* no two with the same key */
        struct exchange_want *wants;    /* only of kinds that are known here */
        struct exchange_attach *attaches;       /* the wants of that kind */
        struct arena *arena;
};

/* Reads an answer. 0, -ERR_INPUT, -ERR_RANGE, -ERR_NOMEM. Freed by exchange_free(). */
int exchange_read(const char *bytes, size_t size, struct exchange_answer **ret_answer,
                  struct err *err);
void exchange_free(struct exchange_answer *answer);     /* NULL is fine */

/* One run, from a document that must outlive it; lists are taken from `arena`. */
int exchange_read_run(const struct doc_node *node, struct arena *arena, struct run_spec *ret_run,
                      struct err *err);
/* Adds the run as JSON: what exchange_read_run() reads comes out again. */
void exchange_write_run(struct text *text, const struct run_spec *run);

struct run_report {
        struct run_key key;
        enum run_phase phase;
        int64_t since_ms;               /* of the phase */
        int64_t pid;                    /* 0 = none */
        int exit_code, signal;          /* EXITED: signal 0 = it ended by itself */
        const char *reason;             /* REFUSED; EXITED: where it is known, else "" */
        bool lost_contact;              /* EXITED: ended with its lease, or its node went down */
        bool told_to_end;               /* EXITED: it got TERM before, whatever its exit code is */
        bool recalled;                  /* EXITED: it was forgotten, and is named again */
        bool superseded;                /* REFUSED: a later epoch of it was started here */
};

struct exchange_checkpoint {
        struct run_key key;
        int64_t at_ms;                  /* when it was safe, on the clock of the report's sent_ms */
};

/* Whoever sends it adds "sent_ms", time_lease_ms() then. */
struct exchange_report {
        const char *agent, *boot;       /* our version; the machine's boot id */
        uint32_t protocol;              /* that it is written in: what was agreed; PROTOCOL_MIN
                                           until a controller has answered */
        uint64_t seen;                  /* generation of the newest answer taken; 0 = none */
        const char *log;                /* whose answers were taken, ever; "" = nobody's yet */
        uint64_t newest_epoch, newest_workload;         /* started, ever; 0 = none */
        const struct run_key *started;  /* the newest of what was started, ever, if wanted */
        size_t started_count;
        const struct run_report *runs;
        size_t runs_count;
        const struct exchange_checkpoint *checkpoints;  /* made since the last report */
        size_t checkpoints_count;
        uint64_t broken;                /* bit d: device d */
};
/* Adds the body of an exchange. Out of memory fails the text. */
void exchange_write(struct text *text, const struct exchange_report *report);
