/* controller_sim.h - a whole pool in virtual time: the real controller over a disk that fails, agents
 * that follow docs/api.md, and a network that loses, doubles, delays and reorders what they say.
 *
 * One thread, no clock: a seed names everything that happens. The machines are the truth: what runs
 * on them is what the promises are held against, not what the controller believes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/fact.h"
#include "sim/rng.h"
#include "tests/property/shrink.h"
#include "tests/unit/controller/world.h"

enum {
        SIM_MACHINES = 4,
        SIM_DEVICES = 4,
        SIM_RUNS_MAX = 64,              /* that one machine remembers */
        SIM_MESSAGES_MAX = 256,
        SIM_WORKS_MAX = 1024,           /* numbers of workloads */
        SIM_SEQS_MAX = 32768,
        SIM_SLICE_MS = 250,
};
#define SIM_KILL_MS   INT64_C(10000)    /* from TERM to KILL */
/* An exchange waits so long for news, and its agent for an answer. The lease counts from when the
 * agent asked, and what it runs must be over before its end: so an exchange must be much shorter. */
#define SIM_WAIT_MS    INT64_C(8000)
#define SIM_GIVE_UP_MS INT64_C(11000)

/* One member of a run on its machine: its processes, and what the state folder says of it. */
struct sim_run {
        uint64_t workload, epoch;
        unsigned member, world;
        unsigned devices;               /* bits */
        bool used;
        bool alive;                     /* it has processes */
        bool went;                      /* past the barrier */
        bool ended;
        bool listed;                    /* by the newest desired state */
        bool stopping;                  /* the agent was told when to end it */
        bool continues;                 /* without contact */
        int exit_code, signal;
        int64_t since_ms, ends_ms;      /* ends by itself */
        int64_t until_ms;               /* its notice */
        int64_t dies_ms;                /* TERM was sent; INT64_MAX: not */
};

struct machine {
        char name[8];
        bool agent;                     /* is alive */
        bool cut;                       /* from the network */
        int64_t cut_until_ms, agent_back_ms;
        unsigned boot;
        unsigned broken;                /* devices */
        /* The agent's: */
        uint64_t seen, request;         /* the newest generation; number of the newest request */
        int64_t sent_ms, answered_ms;   /* the newest request; the newest one that was answered */
        bool waits;                     /* for an answer */
        bool news;                      /* something to report */
        uint64_t newest_epoch, newest_workload;         /* started, ever */
        struct sim_run runs[SIM_RUNS_MAX];
        bool joins;                     /* in the act under way, the node that was lost does */
        /* When the controller last heard of it; since when without a long silence; when its node
         * was last seen not to be described. */
        int64_t heard_ms, fresh_ms, described_ms;
        /* The controller's: an exchange that waits for a change. */
        bool held;
        uint64_t held_seen, held_request;
        int64_t held_until_ms;
};

struct message {
        int64_t at_ms;
        unsigned machine;
        uint64_t request;
        bool to_agent;
        json_t *body;                   /* NULL: free */
};

/* What a client knows of a workload. */
struct sim_work {
        bool acked;                     /* its submission */
        bool cancel_acked;
        uint64_t last_epoch;            /* word of older ones may still be on its way then */
        bool service;
        uint64_t started_epoch;         /* the newest that a machine has started, */
        uint64_t started;               /* ... and its members, as bits */
};

/* Acts that wait for the disk: what is to be believed when they are acknowledged. */
enum { PROMISE_SUBMIT, PROMISE_CANCEL, PROMISE_POLICY, PROMISE_POOL };
struct promised {
        struct sim *sim;
        int kind;
        uint64_t first, count, epoch;
        bool used;
};

struct sim {
        struct world world;
        struct rng weather;             /* network, writer, processes */
        uint64_t seed;
        int64_t now_ms, skew_ms;        /* true time; the controller's clock is off by the skew */
        unsigned lose_pct, double_pct, late_pct;
        struct machine machines[SIM_MACHINES];
        struct message messages[SIM_MESSAGES_MAX];
        struct sim_work works[SIM_WORKS_MAX];
        uint64_t works_high;            /* the largest number that was seen */
        struct promised promises[256];
        uint64_t hashes[SIM_SEQS_MAX];  /* of the state after that record; 0: not the end of an act */
        uint64_t seen_seq;              /* hashes are there up to it */
        uint64_t policy_acked, pool_acked, started_epoch;
        int64_t ticked_ms, retried_ms, back_ms, well_ms;        /* 0: not due */
        int64_t up_ms, jumped_ms;       /* when it started; when its clock was last put */
        bool crashing;                  /* what is acknowledged now reaches nobody */
        bool calm;                      /* nothing goes wrong any more */
        bool failed;
        char *why;
        size_t why_size;
        struct counts *counts;
};

/* Something is broken: remembered once, in words. */
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What happened, for the summary: among counts->others. */
enum sim_count {
        SIM_CRASHES, SIM_FAULTS, SIM_RENEWED, SIM_STARTED, SIM_LOST, SIM_REQUEUED, SIM_CANCELLED,
        SIM_EXITED, SIM_FAILED, SIM_NOTICED, SIM_REJOINED, SIM_DROPPED, SIM_DOUBLED, SIM_LATE,
        SIM_SECOND, SIM_ACKED, SIM_REFUSED, SIM_ALERTS_RAISED, SIM_ALERTS_KEPT, SIM_ALERTS_FAILED,
        SIM_COUNTS_END
};

/* ---- controller_agent.c ---- */

void agent_init(struct sim *sim, unsigned machine);
void agent_step(struct sim *sim, unsigned machine);
/* The answer to its request; others than the newest are dropped. */
void agent_take(struct sim *sim, unsigned machine, uint64_t request, const json_t *answer);
void machine_reboot(struct sim *sim, unsigned machine);
/* Processes of that run, anywhere. */
unsigned machine_processes(const struct sim *sim, uint64_t workload, uint64_t epoch);

/* ---- controller_net.c ---- */

void net_send(struct sim *sim, unsigned machine, uint64_t request, bool to_agent, json_t *body);
void net_step(struct sim *sim);
/* Exchanges that wait are answered, where there is something new and durable, or it is time. */
void net_answer_waiting(struct sim *sim);
void net_drop_all(struct sim *sim);     /* the controller is gone, and its connections */

/* ---- controller_law.c ---- */

/* After each start: watches the facts, and looks at what came back. */
void law_started(struct sim *sim);
/* After each call into the controller. */
void law_noted(struct sim *sim);
void law_step(struct sim *sim);         /* what must always hold */
void law_process_starts(struct sim *sim, unsigned machine, const struct sim_run *run);
void law_process_goes(struct sim *sim, const struct sim_run *run);
/* A desired state as an agent gets it. */
void law_answer(struct sim *sim, unsigned machine, const json_t *answer);
void law_promise_kept(void *arg, int rc, const struct err *err);        /* core_done */
struct promised *law_promise(struct sim *sim, int kind);

/* ---- controller_alerts.c ---- */

/* The policy's key `alerts`: what the clock of this machine would decide is off. */
extern const char sim_alert_rules[];

void law_alerts_started(struct sim *sim);       /* after each start: what was raised fires */
void law_alerts_looked(struct sim *sim);        /* after each alerts_look() */
void law_alerts(struct sim *sim);               /* what must always hold */
void law_alerts_rest(struct sim *sim);          /* at the end, when all has been well for long */
void law_heard(struct sim *sim, unsigned machine);      /* an exchange of it was taken */
