/* folder.h - the state folder of an agent: what must outlive it.
 *
 *     STATE/format               how all this is laid out: FOLDER_FORMAT
 *     STATE/lock                 locked while an agent uses the folder
 *     STATE/poke                 a pipe by which supervisors wake the agent
 *     STATE/epochs               "workload member epoch" of everything ever started, a line each
 *     STATE/contact              when the controller was last heard of
 *     STATE/log                  the name of its log: lists of another one are not for this node
 *     STATE/going-down           there while the node goes down: what ends has not failed
 *     STATE/identity.pem         the node's key and certificate (keeper.h)
 *     STATE/runs/17.0.1042/      one run: workload, member, epoch
 *             run.json           what the controller wanted, and how it is launched; never changes
 *             control            a pipe with the agent's orders; its reader is the supervisor,
 *                                which lives as long as this pipe has one
 *             pid                boot id, then pid and start time of the supervisor and of the
 *                                run's first process
 *             stdout, stderr     what the run wrote
 *             status.json        phase, and how it ended
 *             notice.json        there while the run is told to stop; its owner may read it
 *             beside             a socket where its supervisor starts programs beside it
 *             secrets            while it runs, where it names some: where they are (secrets.h),
 *                                which is not on this disk
 *             checkpoint         the run touches it when a checkpoint is safe on disk
 *     STATE/ended/17.0.1042/     the same of runs that the controller has forgotten, kept for a
 *                                while for their output
 *
 * The folders let everybody through (0711) and list nothing; files are the agent's alone, but for
 * notice.json and checkpoint. Not pure. One thread, but for the functions that say otherwise.
 * Times in ms; wall time where nothing else is said.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/exchange.h"

struct arena;
struct err;
struct folder;

/* Grows when a release lays something out that the one before would misread; each reads the format
 * before its own as well, so that an agent is replaced while runs go on. 1: 0.1.0, which wrote no
 * such file; 2: the file, and identity.pem. */
#define FOLDER_FORMAT    2
#define FOLDER_STATE_MAX 1024           /* bytes of the state folder's path, with the final NUL */
#define FOLDER_PATH_MAX  1280           /* of anything in it */

/* Makes what is missing, and locks it. 0; -ERR_EXISTS: another agent uses it; -ERR_INPUT: it is of
 * a newer format; -ERR_RANGE: the path is too long or not absolute; -ERR_IO, -ERR_NOMEM. */
int folder_open(const char *path, struct folder **ret_folder, struct err *err);
void folder_close(struct folder *folder);               /* NULL is fine */

/* ---- waking ---- */

int folder_poke_fd(const struct folder *folder);        /* readable: a supervisor has news */
void folder_poke_clear(const struct folder *folder);
/* From a supervisor, with the folder of its run. Nobody there, or a full pipe, is fine: an agent
 * that comes looks at everything. */
void folder_poke(const char *run_folder);

/* ---- the node goes down ---- */

/* Why a run ended that ended with its node. */
#define FOLDER_WENT_DOWN "its node went down"
/* Whether what ends now ends with the node: STATE/going-down is there. The unit berth-runs@ puts
 * it there before it ends all runs; the next agent takes it away once it knows who ended so. */
bool folder_is_going_down(const char *run_folder);
int folder_is_up(const struct folder *folder, struct err *err);         /* 0, -ERR_IO */
/* Whether the run was started before the machine was last. False where nothing says so. */
bool folder_was_before_boot(const struct folder *folder, struct run_key key);
/* The control group that the run's own was made in, "" for none. False where nothing says so. */
bool folder_cages(const struct folder *folder, struct run_key key, char *ret_cages, size_t size);

/* ---- epochs ---- */

typedef int folder_epoch_visit(void *arg, struct run_key key, struct err *err);
/* Everything started so far; the file is put in order meanwhile: one line per member. 0, -ERR_IO,
 * -ERR_NOMEM, or what `visit` returned. */
int folder_epochs(struct folder *folder, folder_epoch_visit *visit, void *arg, struct err *err);
/* On the disk when it returns 0; else -ERR_IO, and nothing may be started. */
int folder_epoch_add(struct folder *folder, struct run_key key, struct err *err);

/* ---- contact ---- */

struct folder_contact {
        int64_t steady_ms, lease_ms;    /* on the clock since this boot */
};
/* False: none is known of this boot. */
bool folder_contact_read(const struct folder *folder, struct folder_contact *ret_contact);
/* Not synced: a machine that goes down takes its runs along. */
void folder_contact_write(const struct folder *folder, struct folder_contact contact);

/* ---- whose work it is ---- */

/* The name of the controller's log, "" where none is kept. 0, -ERR_INPUT (it is none), -ERR_IO,
 * -ERR_NOMEM. Written durably. */
int folder_log_read(const struct folder *folder, char ret_log[EXCHANGE_LOG_MAX], struct err *err);
int folder_log_write(const struct folder *folder, const char *log, struct err *err);

/* The machine's boot id; "" where there is none. */
#define FOLDER_BOOT_MAX 64
const char *folder_boot(const struct folder *folder);

/* ---- runs ---- */

/* "STATE/runs/17.0.1042/stdout"; with `name` "" the folder itself. Returns `buf`. */
const char *folder_path(const struct folder *folder, struct run_key key, const char *name,
                        char buf[FOLDER_PATH_MAX]);

/* Makes the run's folder with run.json ({"run": the spec, "launch": `launch`, a JSON object}) and
 * its pipe, durably. `owner` may read notices and touch checkpoint. 0, -ERR_EXISTS, -ERR_IO,
 * -ERR_NOMEM; on failure nothing is left. */
int folder_make(struct folder *folder, const struct run_spec *spec, const char *launch, uid_t owner,
                struct err *err);

/* Calls `visit` for each folder in runs/. 0, -ERR_IO, or what `visit` returned. */
typedef int folder_visit(void *arg, struct run_key key, struct err *err);
int folder_walk(struct folder *folder, folder_visit *visit, void *arg, struct err *err);

/* The spec as it was given to folder_make(). 0, -ERR_NOT_FOUND, -ERR_INPUT, -ERR_IO, -ERR_NOMEM. */
int folder_spec(const struct folder *folder, struct run_key key, struct arena *arena,
                struct run_spec *ret_spec, struct err *err);

/* The run is not wanted any more: to ended/. 0, -ERR_IO. */
int folder_forget(struct folder *folder, struct run_key key, struct err *err);
/* It is wanted again, by a controller that has forgotten how it ended: back from there. 0,
 * -ERR_NOT_FOUND (nothing of it is kept), -ERR_IO. */
int folder_recall(struct folder *folder, struct run_key key, struct err *err);

/* ---- how a run is ---- */

struct run_status {
        enum run_phase phase;           /* STARTING where nothing has been written yet */
        int64_t since_ms, pid;
        int exit_code, signal;
        bool lost_contact;              /* EXITED: its lease was over, or its node went down */
        char reason[480];
        bool told_to_end;               /* EXITED: TERM came first, by order */
};
/* Read and written with the run's own folder, by agent and supervisor. Reading: 0 (also when there
 * is none yet), -ERR_INPUT, -ERR_IO, -ERR_NOMEM. How a run ended is written durably; the phases
 * before are not: a machine that goes down takes the run along. */
int status_read(const char *run_folder, struct run_status *ret_status, struct err *err);
int status_write(const char *run_folder, const struct run_status *status, struct err *err);

struct run_pids {
        pid_t supervisor, first;        /* 0 = not known */
        uint64_t supervisor_start, first_start; /* in ticks since boot */
};
/* False: none, or of another boot. */
bool pids_read(const char *run_folder, const char *boot, struct run_pids *ret_pids);
int pids_write(const char *run_folder, const char *boot, const struct run_pids *pids,
               struct err *err);

/* The notice: durably written for `owner`; removed; read (false: there is none). */
int folder_notice_write(struct folder *folder, struct run_key key, const struct run_stop *stop,
                        uid_t owner, struct err *err);
void folder_notice_remove(struct folder *folder, struct run_key key);
bool folder_notice_read(const struct folder *folder, struct run_key key, struct arena *arena,
                        struct run_stop *ret_stop);

/* When the run last touched its checkpoint file, in ns; 0 = never. */
int64_t folder_checkpoint_ns(const struct folder *folder, struct run_key key);

/* ---- output ---- */

/* Reads a piece of what a run wrote, while its folder is there (runs/ or ended/); from any thread.
 * `want->offset` beyond the end reads nothing at the end. *ret_bytes is freed with mem_free().
 * 0, -ERR_NOT_FOUND, -ERR_IO, -ERR_NOMEM. */
struct folder_piece {
        char *bytes;
        size_t size;
        uint64_t offset, total;         /* where it begins; how much there is so far */
};
int folder_output(const struct folder *folder, const struct exchange_want *want,
                  struct folder_piece *ret_piece, struct err *err);

struct folder_keep {
        int64_t age_ms_max;
        uint32_t runs_max;
        uint64_t bytes_max;             /* of all of them */
};
/* Removes from ended/ what is beyond any of these, the oldest first. */
void folder_prune(struct folder *folder, const struct folder_keep *keep, int64_t now_ms);
