/* agent_impl.h - the inside of the agent, for agent/agent*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent.h"
#include "agent/attach.h"
#include "agent/cage.h"
#include "agent/exchange.h"
#include "agent/folder.h"
#include "agent/keeper.h"
#include "agent/launch.h"
#include "agent/link.h"
#include "agent/runs.h"

struct pollfd;

/* The cause in the notice of a run that ends for want of contact. */
#define LOST_CONTACT "lost_contact"
#define SUPERVISOR_LATER_MS 5000

/* What is known of a run beside its phase (runs.h): the two have the same keys, but for wishes that
 * nothing has come of yet. */
struct live {
        struct run_key key;
        int control;                    /* the pipe to its supervisor; -1 = none */
        bool is_lost;                   /* the supervisor is gone, what it left is not yet */
        bool went_down;                 /* ... and that was while the node went down */
        bool lost_contact;              /* it was ended for want of contact */
        bool is_recalled;               /* it was forgotten, and is named again */
        int64_t lease_told_ms;          /* to its supervisor: when to TERM; 0: never */
        uid_t owner;                    /* of its notice */
        struct run_status status;
        int64_t checkpoint_ns;          /* the newest that was seen; time of day */
        int64_t checkpoint_ms;          /* the same, steady */
        uint64_t checkpoint_report;     /* the first report with it; 0 = none to report */
        bool has_checkpoint;            /* one is to be reported */
};

struct agent {
        const struct agent_setup *setup;
        struct folder *folder;
        struct runs *runs;
        struct link *link;
        struct attaches *attaches;
        struct keeper *keeper;          /* NULL: we show what we were given */
        struct launch_setup launch;
        char cages[CAGE_PATH_MAX];
        struct device_list devices;
        uint64_t broken;                /* bit d: device d */
        struct exchange_answer *answer; /* the newest that was taken; NULL = none yet */
        char log[EXCHANGE_LOG_MAX];     /* whose work this node does; "" = nobody's yet */
        size_t lives_count;
        struct live lives[RUNS_MAX];
        struct pollfd *polls;           /* RUNS_MAX + 3 */
        /* Room for what is handed on: a list, a report. */
        struct run_wish wishes[EXCHANGE_RUNS_MAX];
        struct run_report reports[RUNS_MAX];
        struct exchange_checkpoint checkpoints[RUNS_MAX];
        struct run_key started[EXCHANGE_STARTED_MAX];
        int signals;                    /* signalfd */
        uint64_t said, confirmed;       /* numbers of the newest report, and of one that was heard */
        bool is_news;                   /* the next report is to be said at once */
        bool is_stale;                  /* a report is due */
        bool is_failing;                /* the controller did not answer */
        bool is_refused;                /* ... for it does not know us */
        bool is_foreign;                /* ... for we work for another */
        bool is_stopping;
        int64_t contact_ms, contact_written_ms, lease_ms;
        int64_t tick_ms, devices_ms, prune_ms;  /* when each was last done; steady */
};

struct runs_time agent_now(void);

/* ---- agent_run.c: runs ---- */

struct live *agent_find(struct agent *agent, struct run_key key);
/* Takes over what runs, from the state folder. */
int agent_adopt(struct agent *agent, struct err *err);
/* The list of the newest answer becomes what is wanted. */
void agent_desire(struct agent *agent);
/* Does what is to be done now. */
void agent_take_steps(struct agent *agent);
/* Reads how all runs are that have not ended. */
void agent_look(struct agent *agent);
/* The pipe of this one has lost its reader. */
void agent_supervisor_gone(struct agent *agent, struct live *live);
/* What is to be done every now and then: runs that were lost, checkpoints that were made since
 * `last_ms` (steady; 0: not looked at yet). */
void agent_tick_runs(struct agent *agent, int64_t last_ms);

/* ---- agent_report.c ---- */

/* Asks for the devices' health. */
void agent_look_at_devices(struct agent *agent);
/* Gives the line a new report, if one is due. */
void agent_report(struct agent *agent);
/* Reports up to this one are known to the controller. */
void agent_confirmed(struct agent *agent, uint64_t number);
