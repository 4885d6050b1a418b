/* The folders of runs. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folder.h"
#include "agent/folder_impl.h"
#include "base/arena.h"
#include "base/doc.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "base/text.h"
#include "proto/when.h"

const char *folder_path(const struct folder *folder, struct run_key key, const char *name,
                        char buf[FOLDER_PATH_MAX])
{
        char text[RUN_KEY_TEXT_MAX];

        snprintf(buf, FOLDER_PATH_MAX, "%s/runs/%s%s%s", folder->path, run_key_text(key, text),
                 name[0] ? "/" : "", name);
        return buf;
}

/* ---- making ---- */

static int write_run_json(const char *folder, const struct run_spec *spec, const char *launch,
                          struct err *err)
{
        char path[FOLDER_PATH_MAX];
        struct text text = {0};
        int rc;

        snprintf(path, sizeof path, "%s/run.json", folder);
        text_add(&text, "{\"run\": ");
        exchange_write_run(&text, spec);
        text_add(&text, ",\n\"launch\": ");
        text_add_bytes(&text, launch, strlen(launch));
        text_add(&text, "}\n");
        if (text.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        else
                rc = durable_write(path, text.bytes, text.size, 0600, err);
        text_done(&text);
        return rc;
}

/* A file of the run's account, in a folder that is not. */
static int give_file(const char *path, const char *bytes, size_t size, mode_t mode, uid_t owner,
                     struct err *err)
{
        int rc = durable_write(path, bytes, size, mode, err);

        if (rc == 0 && owner != geteuid() && chown(path, owner, (gid_t)-1) < 0)
                rc = folder_fail(err, path);
        return rc;
}

int folder_make(struct folder *folder, const struct run_spec *spec, const char *launch, uid_t owner,
                struct err *err)
{
        char path[FOLDER_PATH_MAX], part[FOLDER_PATH_MAX];
        int rc = 0;

        folder_path(folder, spec->key, "", path);
        if (mkdir(path, 0711) < 0)
                return errno == EEXIST ? err_set(err, ERR_EXISTS, "%s is there already", path)
                                       : folder_fail(err, path);
        if (chmod(path, 0711) < 0)
                rc = folder_fail(err, path);
        if (rc == 0 && mkfifo(folder_path(folder, spec->key, "control", part), 0600) < 0)
                rc = folder_fail(err, part);
        if (rc == 0)
                rc = give_file(folder_path(folder, spec->key, "checkpoint", part), "", 0, 0600,
                               owner, err);
        if (rc == 0)
                rc = write_run_json(path, spec, launch, err);
        if (rc == 0) {
                snprintf(part, sizeof part, "%s/runs", folder->path);
                rc = durable_sync_folder(part, err);
        }
        if (rc < 0)
                (void)durable_remove_folder(path, NULL);
        return rc;
}

int folder_walk(struct folder *folder, folder_visit *visit, void *arg, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        struct run_key key;
        int rc = 0;

        snprintf(path, sizeof path, "%s/runs", folder->path);
        DIR *dir = opendir(path);
        if (!dir)
                return folder_fail(err, path);
        for (struct dirent *entry; rc == 0 && (entry = readdir(dir));)
                if (run_key_parse(entry->d_name, &key))
                        rc = visit(arg, key, err);
        closedir(dir);
        return rc;
}

int folder_spec(const struct folder *folder, struct run_key key, struct arena *arena,
                struct run_spec *ret_spec, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        const struct doc_node *run;
        struct doc *doc;
        int rc = doc_read_file(folder_path(folder, key, "run.json", path), &doc, err);

        if (rc < 0)
                return rc;
        if ((rc = doc_need(doc_root(doc, 0), "run", &run, err)) == 0)
                rc = exchange_read_run(run, arena, ret_spec, err);
        if (rc == 0 && !run_key_equal(ret_spec->key, key))
                rc = doc_fail(run, err, "is another run than its folder says");
        doc_free(doc);
        return rc;
}

/* What run.json has kept of how it was launched. */
static bool read_launch(const struct folder *folder, struct run_key key, const char *name,
                        char *ret_text, size_t size)
{
        char path[FOLDER_PATH_MAX];
        struct doc *doc;

        if (doc_read_file(folder_path(folder, key, "run.json", path), &doc, NULL) < 0)
                return false;
        const struct doc_node *text = doc_get(doc_get(doc_root(doc, 0), "launch"), name);
        bool is_there = text && doc_copy(text, ret_text, size, NULL) == 0;
        doc_free(doc);
        return is_there;
}

bool folder_was_before_boot(const struct folder *folder, struct run_key key)
{
        char boot[FOLDER_BOOT_MAX];

        return read_launch(folder, key, "boot", boot, sizeof boot) && boot[0] &&
               folder_boot(folder)[0] && !str_equal(boot, folder_boot(folder));
}

bool folder_cages(const struct folder *folder, struct run_key key, char *ret_cages, size_t size)
{
        return read_launch(folder, key, "cages", ret_cages, size);
}

int folder_forget(struct folder *folder, struct run_key key, struct err *err)
{
        char from[FOLDER_PATH_MAX], to[FOLDER_PATH_MAX], text[RUN_KEY_TEXT_MAX];

        snprintf(to, sizeof to, "%s/ended/%s", folder->path, run_key_text(key, text));
        if (rename(folder_path(folder, key, "", from), to) < 0 && errno != ENOENT)
                return folder_fail(err, from);
        return 0;
}

int folder_recall(struct folder *folder, struct run_key key, struct err *err)
{
        char from[FOLDER_PATH_MAX], to[FOLDER_PATH_MAX], text[RUN_KEY_TEXT_MAX];

        snprintf(from, sizeof from, "%s/ended/%s", folder->path, run_key_text(key, text));
        if (rename(from, folder_path(folder, key, "", to)) == 0)
                return 0;
        return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: nothing of it is kept", text)
                               : folder_fail(err, from);
}

/* ---- how a run is ---- */

static int read_status(const struct doc_node *root, struct run_status *status, struct err *err)
{
        char phase[16] = "starting";
        int64_t exit_code = 0, signal = 0;
        int rc;

        if ((rc = doc_copy(doc_get(root, "phase"), phase, sizeof phase, err)) < 0 ||
            (rc = doc_i64(doc_get(root, "since_ms"), 0, EXCHANGE_TIME_MS_MAX, &status->since_ms,
                          err)) < 0 ||
            (rc = doc_i64(doc_get(root, "pid"), 0, INT32_MAX, &status->pid, err)) < 0 ||
            (rc = doc_i64(doc_get(root, "exit_code"), 0, 255, &exit_code, err)) < 0 ||
            (rc = doc_i64(doc_get(root, "signal"), 0, 255, &signal, err)) < 0 ||
            (rc = doc_bool(doc_get(root, "lost_contact"), &status->lost_contact, err)) < 0 ||
            (rc = doc_bool(doc_get(root, "told_to_end"), &status->told_to_end, err)) < 0)
                return rc;
        const char *reason = "";
        if ((rc = doc_text(doc_get(root, "reason"), 0, sizeof status->reason - 1, &reason, err)) <
            0)
                return rc;
        str_copy(status->reason, sizeof status->reason, reason);
        status->exit_code = (int)exit_code;
        status->signal = (int)signal;
        if (!run_phase_find(phase, &status->phase))
                return doc_fail(doc_get(root, "phase"), err, "is no phase");
        return 0;
}

int status_read(const char *run_folder, struct run_status *ret_status, struct err *err)
{
        struct run_status status = {.phase = RUN_STARTING};
        char path[FOLDER_PATH_MAX];
        struct doc *doc;

        snprintf(path, sizeof path, "%s/status.json", run_folder);
        int rc = doc_read_file(path, &doc, err);
        if (rc == 0) {
                rc = read_status(doc_root(doc, 0), &status, err);
                doc_free(doc);
        } else if (rc == -ERR_NOT_FOUND) {
                rc = 0;
        }
        if (rc == 0)
                *ret_status = status;
        return rc;
}

int status_write(const char *run_folder, const struct run_status *status, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        struct text text = {0};
        int rc;

        snprintf(path, sizeof path, "%s/status.json", run_folder);
        text_add(&text,
                 "{\"phase\": \"%s\", \"since_ms\": %" PRId64 ", \"pid\": %" PRId64
                 ", \"exit_code\": %d, \"signal\": %d, \"lost_contact\": %s, "
                 "\"told_to_end\": %s, \"reason\": ",
                 run_phase_name(status->phase), status->since_ms, status->pid, status->exit_code,
                 status->signal, status->lost_contact ? "true" : "false",
                 status->told_to_end ? "true" : "false");
        text_add_json(&text, status->reason);
        text_add(&text, "}\n");
        if (text.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        else if (status->phase == RUN_EXITED || status->phase == RUN_REFUSED)
                rc = durable_write(path, text.bytes, text.size, 0600, err);
        else
                rc = file_write(path, text.bytes, text.size, err);
        text_done(&text);
        return rc;
}

bool pids_read(const char *run_folder, const char *boot, struct run_pids *ret_pids)
{
        char path[FOLDER_PATH_MAX], boot_read[FOLDER_BOOT_MAX];
        struct run_pids pids;

        snprintf(path, sizeof path, "%s/pid", run_folder);
        FILE *file = fopen(path, "re");
        if (!file)
                return false;
        int count = fscanf(file, "%63s %d %" SCNu64 " %d %" SCNu64, boot_read, &pids.supervisor,
                           &pids.supervisor_start, &pids.first, &pids.first_start);
        fclose(file);
        if (count != 5 || !str_equal(boot_read, boot))
                return false;
        *ret_pids = pids;
        return true;
}

int pids_write(const char *run_folder, const char *boot, const struct run_pids *pids,
               struct err *err)
{
        char path[FOLDER_PATH_MAX], line[FOLDER_BOOT_MAX + 128];

        snprintf(path, sizeof path, "%s/pid", run_folder);
        int length = snprintf(line, sizeof line, "%s %d %" PRIu64 " %d %" PRIu64 "\n",
                              boot[0] ? boot : "-", pids->supervisor, pids->supervisor_start,
                              pids->first, pids->first_start);
        return file_write(path, line, (size_t)length, err);
}

/* ---- notice and checkpoint ---- */

int folder_notice_write(struct folder *folder, struct run_key key, const struct run_stop *stop,
                        uid_t owner, struct err *err)
{
        char path[FOLDER_PATH_MAX], until[WHEN_TEXT_MAX];
        struct text text = {0};
        int rc;

        text_add(&text, "{\"cause\": ");
        text_add_json(&text, stop->cause);
        text_add(&text, ", \"until\": \"%s\", \"until_ms\": %" PRId64 ", \"signal\": ",
                 when_text(stop->until_ms, until), stop->until_ms);
        text_add_json(&text, stop->signal);
        text_add(&text, "}\n");
        if (text.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        else
                rc = give_file(folder_path(folder, key, "notice.json", path), text.bytes, text.size,
                               0400, owner, err);
        text_done(&text);
        return rc;
}

void folder_notice_remove(struct folder *folder, struct run_key key)
{
        char path[FOLDER_PATH_MAX];

        unlink(folder_path(folder, key, "notice.json", path));
}

bool folder_notice_read(const struct folder *folder, struct run_key key, struct arena *arena,
                        struct run_stop *ret_stop)
{
        char path[FOLDER_PATH_MAX];
        const char *cause = NULL, *signal = "";
        int64_t until_ms = -1;
        struct doc *doc;

        if (doc_read_file(folder_path(folder, key, "notice.json", path), &doc, NULL) < 0)
                return false;
        const struct doc_node *root = doc_root(doc, 0);
        bool is_good =
                doc_text(doc_get(root, "cause"), 0, EXCHANGE_NAME_MAX, &cause, NULL) == 0 &&
                doc_text(doc_get(root, "signal"), 0, 15, &signal, NULL) == 0 &&
                doc_i64(doc_get(root, "until_ms"), 0, EXCHANGE_TIME_MS_MAX, &until_ms, NULL) == 0 &&
                cause && until_ms >= 0;
        if (is_good) {
                ret_stop->cause = arena_text(arena, cause, strlen(cause));
                ret_stop->signal = arena_text(arena, signal, strlen(signal));
                ret_stop->until_ms = until_ms;
                is_good = ret_stop->cause && ret_stop->signal;
        }
        doc_free(doc);
        return is_good;
}

int64_t folder_checkpoint_ns(const struct folder *folder, struct run_key key)
{
        char path[FOLDER_PATH_MAX];
        struct stat made, now;

        /* run.json is written after it: what is not newer was not touched. */
        if (stat(folder_path(folder, key, "run.json", path), &made) < 0 ||
            lstat(folder_path(folder, key, "checkpoint", path), &now) < 0)
                return 0;
        int64_t made_ns = (int64_t)made.st_mtim.tv_sec * 1000000000 + made.st_mtim.tv_nsec;
        int64_t now_ns = (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec;
        return now_ns > made_ns ? now_ns : 0;
}
