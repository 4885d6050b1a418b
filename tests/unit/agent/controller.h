/* controller.h - the controller's end of the exchange, for tests: a real server in a thread.
 *
 * It keeps a list of runs as JSON text, gives it to whoever asks, holds the asker while the list is
 * not newer than what it has seen, and remembers the newest report and every answer to a want.
 * Functions may be called from the test's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/exchange.h"

struct controller;

struct controller *controller_start(const char *socket_path);
void controller_stop(struct controller *controller);

/* The list from now on: what stands between [ and ]. A new generation. */
void controller_list(struct controller *controller, const char *runs);
/* The same, but with a generation that is older than others were. */
void controller_list_old(struct controller *controller, const char *runs, uint64_t generation);
/* From now on answers carry this, e.g. "\"log\": \"aa\", "; kept as it is. */
void controller_head(struct controller *controller, const char *head);
/* The newest report as a whole; the caller's to drop. */
struct json_t *controller_report(struct controller *controller);
void controller_lease(struct controller *controller, int64_t lease_ms);
/* From now on every exchange is answered with 503; or no longer. */
void controller_fall_silent(struct controller *controller, bool is_silent);

/* What the newest report says of a run. */
struct seen_run {
        char phase[16], reason[512];
        int exit_code, signal;
        bool lost_contact;
        int64_t pid;
};
/* False: it is not in it. */
bool controller_sees(struct controller *controller, struct run_key key, struct seen_run *ret_seen);
/* Waits until a report has the run in that phase; with phase NULL, until one has it no longer.
 * False: it did not happen. Fills *ret_seen (may be NULL). */
bool controller_waits(struct controller *controller, struct run_key key, const char *phase,
                      struct seen_run *ret_seen);
/* How often a phase of that run was new in a report: "starting" more than once is a mistake. */
unsigned controller_times_started(struct controller *controller, struct run_key key);
/* How many reports said that this run made a checkpoint. */
unsigned controller_checkpoints(struct controller *controller, uint64_t workload);
/* How old the newest checkpoint was when it was reported; -1: none was. */
int64_t controller_checkpoint_age_ms(struct controller *controller);
/* The devices that the newest report calls broken, as bits. */
uint64_t controller_broken(struct controller *controller);
/* What was reported so far counts no longer. */
void controller_forget(struct controller *controller);
unsigned controller_reports(struct controller *controller);

/* Asks for output (the JSON of one want, without "request"), and waits for it. False: none came. */
struct seen_output {
        char bytes[65536];
        size_t size;
        uint64_t offset, total;
};
bool controller_output(struct controller *controller, const char *want,
                       struct seen_output *ret_output);

/* How long a test waits for what must come. */
#define CONTROLLER_PATIENCE_MS 60000
