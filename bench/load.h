/* load.h - a berthd of the bench's own, with simulated nodes, and jobs for it over HTTP.
 *
 * Not pure: a child process, its store and its socket in a folder below /tmp. Whatever goes wrong
 * ends the bench with a sentence. The load comes from the calling thread. One at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOAD_CONNECTIONS 64
#define LOAD_TENANTS     50             /* "t00" ... "t49" */
#define LOAD_SHAPES      30

void load_fail(const char *what) __attribute__((noreturn));

/* ---- the daemon ---- */

/* Makes the folder, and finds the daemon beside the bench. */
void daemon_prepare(void);
void daemon_clean(void);                /* the folder with all in it */
const char *daemon_path(const char *name);      /* in the folder; one of the last four */
void daemon_documents(unsigned nodes);  /* of 8 devices each, and the tenants */
/* Waits until it listens. *ret_ms, unless NULL: of its recovery. */
pid_t daemon_start(double *ret_ms);
void daemon_stop(pid_t child, int signal_number);
void daemon_remove_store(void);
double daemon_resident_mib(pid_t child);
double daemon_cpu_ms(pid_t child);      /* of all its threads, so far */
int daemon_dial(void);
/* Facts of that kind so far, by its metrics. */
double daemon_count_facts(const char *fact);

/* ---- the load ---- */

struct lane {
        int fd;
        int64_t sent_ns;
};

struct load {
        unsigned life_s;                /* of a job */
        struct lane lanes[LOAD_CONNECTIONS];
        unsigned count;
        struct lane *free[LOAD_CONNECTIONS];    /* that have no request under way */
        unsigned free_count;
        int epoll;
        uint64_t number;                /* of the next job */
        unsigned pace;                  /* jobs a second, at most */
        int64_t start_ns;               /* ... counted from here */
        uint64_t sent;
        uint64_t answers, allocated;
        double *latency_ms;
        size_t latencies, latencies_room;
};

void load_room(struct load *load, size_t latencies);
void load_done(struct load *load);
/* So many jobs. */
void load_jobs(struct load *load, uint64_t jobs);
/* Seconds it really took; what is answered in the first `warm_ns` does not count. */
double load_run(struct load *load, unsigned connections, int64_t warm_ns, int64_t load_ns);
double load_percentile(struct load *load, double part);
