#include "agent/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/allowed.h"
#include "agent/cage.h"
#include "agent/environment.h"
#include "agent/family.h"
#include "agent/folder.h"
#include "agent/secrets.h"
#include "agent/supervisor.h"
#include "base/arena.h"
#include "base/durable.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/text.h"
#include "base/time.h"

/* ---- can it be started ---- */

static int check_devices(const struct run_spec *spec, const struct device_list *devices,
                         struct err *err)
{
        for (uint32_t i = 0; i < spec->devices_count; i++) {
                const struct device_info *device = device_find(devices, spec->devices[i].index);
                if (!device)
                        return err_set(err, ERR_NOT_FOUND, "there is no device %u on this node",
                                       spec->devices[i].index);
                if (device->is_broken)
                        return err_set(err, ERR_INPUT, "device %u is broken", device->index);
        }
        return 0;
}

static int check(const struct run_spec *spec, const struct device_list *devices, struct err *err)
{
        char shown[STR_SHOW_MAX];

        if (spec->workdir[0] && spec->workdir[0] != '/')
                return err_set(err, ERR_INPUT, "workdir '%s' is not absolute",
                               str_show(spec->workdir, shown));
        return check_devices(spec, devices, err);
}

/* Better not at all than without what it counts on. */
static int check_secrets(const struct launch_setup *setup, const struct run_spec *spec,
                         const struct account *account, struct err *err)
{
        const struct secrets_wish wish = {
                .folder = setup->secrets,
                .node = setup->node,
                .account = account->name,
                .names = spec->secrets,
                .count = spec->secrets_count,
        };
        return secrets_check(&wish, err);
}

int launch_owner(const struct launch_setup *setup, const struct run_spec *spec, uid_t *ret_owner,
                 struct err *err)
{
        struct account account;
        int rc = account_find(setup->runs_as, spec->run_as, &account, err);

        if (rc == 0)
                *ret_owner = account.uid;
        return rc;
}

/* ---- what the supervisor is told ---- */

static void add_strings(struct text *text, const char *key, const char *const *strings,
                        size_t count)
{
        text_add(text, "\"%s\": [", key);
        for (size_t i = 0; i < count; i++) {
                text_add(text, i ? ", " : "");
                text_add_json(text, strings[i]);
        }
        text_add(text, "], ");
}

static void add_secrets(const struct launch_setup *setup, const struct run_spec *spec,
                        struct text *text)
{
        if (spec->secrets_count == 0)
                return;
        text_add(text, ", ");
        add_strings(text, "secrets", spec->secrets, spec->secrets_count);
        text_add(text, "\"secrets_folder\": ");
        text_add_json(text, setup->secrets);
        text_add(text, ", \"node\": ");
        text_add_json(text, setup->node);
}

static int write_launch(const struct launch_setup *setup, const struct run_spec *spec,
                        const struct device_list *devices, const struct account *account,
                        struct arena *arena, struct text *text, struct err *err)
{
        char folder[FOLDER_PATH_MAX];
        const char **variables;
        size_t count;
        const struct environment_setup environment = {
                .spec = spec,
                .node = setup->node,
                .account = account->name,
                .home = account->home,
                .shell = account->shell,
                .run_folder = folder_path(setup->folder, spec->key, "", folder),
                .devices = devices,
                .backend = setup->backend,
        };
        int rc = environment_make(&environment, arena, &variables, &count, err);

        if (rc < 0)
                return rc;
        text_add(text, "{");
        add_strings(text, "command", spec->command, spec->command_count);
        add_strings(text, "env", variables, count);
        text_add(text, "\"workdir\": ");
        text_add_json(text, spec->workdir[0] ? spec->workdir : account->home);
        text_add(text, ", \"account\": ");
        text_add_json(text, account->name);
        text_add(text, ", \"uid\": %u, \"gid\": %u, \"boot\": ", account->uid, account->gid);
        text_add_json(text, folder_boot(setup->folder));
        text_add(text, ", \"cages\": ");
        text_add_json(text, setup->cages ? setup->cages : "");
        text_add(text, ", \"cpu_milli\": %" PRIu64 ", \"ram_mib\": %" PRIu64, spec->cpu_milli,
                 spec->ram_mib);
        add_secrets(setup, spec, text);
        text_add(text, ", \"go\": %s, \"leftover_ms\": %" PRId64 "}", spec->go ? "true" : "false",
                 setup->leftover_ms);
        return text->failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* ---- the process ---- */

static int spawn(const struct launch_setup *setup, const char *run_folder, int control,
                 struct err *err)
{
        const char *const argv[] = {setup->program, SUPERVISOR_WORD, run_folder, NULL};
        char *const envp[] = {NULL};
        const struct spawn supervisor = {
                .program = setup->program,
                .argv = argv,
                .envp = envp,
                .fds = {SPAWN_NO_FD, SPAWN_NO_FD, SPAWN_NO_FD,
                        [SUPERVISOR_CONTROL_FD] = control},
                .fds_count = SUPERVISOR_CONTROL_FD + 1,
                .new_session = true};
        pid_t pid;

        return spawn_program(&supervisor, &pid, err);
}

int launch_adopt(const struct folder *folder, struct run_key key, int *ret_control, struct err *err)
{
        char path[FOLDER_PATH_MAX];
        int fd = open(folder_path(folder, key, "control", path), O_WRONLY | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0)
                return err_set(err, errno == ENXIO || errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                               "%s: %s", path, strerror(errno));
        *ret_control = fd;
        return 0;
}

/* From the first moment on somebody reads the pipe: the supervisor has it before it runs. */
static int start_supervisor(const struct launch_setup *setup, struct run_key key, int *ret_control,
                            struct err *err)
{
        char folder[FOLDER_PATH_MAX], path[FOLDER_PATH_MAX];
        int reader = open(folder_path(setup->folder, key, "control", path),
                          O_RDWR | O_NONBLOCK | O_CLOEXEC);

        if (reader < 0)
                return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        int rc = launch_adopt(setup->folder, key, ret_control, err);
        if (rc == 0) {
                rc = spawn(setup, folder_path(setup->folder, key, "", folder), reader, err);
                if (rc < 0)
                        close(*ret_control);
        }
        close(reader);
        return rc;
}

int launch_start(const struct launch_setup *setup, const struct run_spec *spec,
                 const struct device_list *devices, int *ret_control, struct err *err)
{
        struct account account;
        struct text launch = {0};
        char folder[FOLDER_PATH_MAX];
        int rc;

        if ((rc = check(spec, devices, err)) < 0 ||
            (rc = account_find(setup->runs_as, spec->run_as, &account, err)) < 0 ||
            (!setup->runs_as && (rc = allowed_check(setup->allowed, &account, err)) < 0) ||
            (rc = check_secrets(setup, spec, &account, err)) < 0)
                return rc;
        struct arena *arena = arena_new(0, 0);
        if (!arena)
                return err_set(err, ERR_NOMEM, "out of memory");
        rc = write_launch(setup, spec, devices, &account, arena, &launch, err);
        if (rc == 0)
                rc = folder_make(setup->folder, spec, launch.bytes, account.uid, err);
        text_done(&launch);
        arena_free(arena);
        if (rc < 0)
                return rc;
        if ((rc = folder_epoch_add(setup->folder, spec->key, err)) == 0)
                rc = start_supervisor(setup, spec->key, ret_control, err);
        if (rc < 0)
                (void)durable_remove_folder(folder_path(setup->folder, spec->key, "", folder),
                                            NULL);
        return rc;
}

/* ---- orders ---- */

static bool tell(int control, const char *order)
{
        /* Less than a pipe takes at once. Full means that the supervisor does not come to read, and
         * what stands in the pipe already says as much. */
        ssize_t put = write(control, order, strlen(order));
        return put >= 0 || errno == EAGAIN;
}

bool launch_go(int control)
{
        return tell(control, "go\n");
}

bool launch_signal(int control, const char *signal)
{
        char order[64];

        snprintf(order, sizeof order, "signal %s\n", signal);
        return tell(control, order);
}

bool launch_term(int control)
{
        return tell(control, "term\n");
}

bool launch_kill(int control)
{
        return tell(control, "kill\n");
}

bool launch_lease(int control, int64_t term_ms, int64_t kill_ms)
{
        char order[64];

        snprintf(order, sizeof order, "lease %" PRId64 " %" PRId64 "\n", term_ms, kill_ms);
        return tell(control, order);
}

int launch_signal_number(const char *name)
{
        if (strncmp(name, "SIG", 3) == 0)
                name += 3;
        for (int signal = 1; signal < SIGRTMIN; signal++) {
                const char *known = sigabbrev_np(signal);
                if (known && str_equal(known, name))
                        return signal;
        }
        return 0;
}

/* ---- after a supervisor was killed ---- */

static bool is_empty_now(const struct launch_setup *setup, struct run_key key, const char *folder)
{
        char cages[CAGE_PATH_MAX], cage[CAGE_PATH_MAX + RUN_KEY_TEXT_MAX], text[RUN_KEY_TEXT_MAX];
        struct run_pids pids = {0};
        struct arena *arena = arena_new(0, 0);
        const char *mark = arena ? environment_mark(folder, arena) : NULL;
        bool is_empty = mark && family_signal_marked(mark, SIGKILL) == 0;

        arena_free(arena);
        if (pids_read(folder, folder_boot(setup->folder), &pids) &&
            process_signal(pids.first, pids.first_start, SIGKILL))
                is_empty = false;
        /* Where it was started: that may have been elsewhere. */
        if (folder_cages(setup->folder, key, cages, sizeof cages) && cages[0]) {
                snprintf(cage, sizeof cage, "%s/%s", cages, run_key_text(key, text));
                cage_signal(cage, SIGKILL);
                is_empty = is_empty && cage_is_empty(cage);
                if (is_empty)
                        cage_remove(cage);
        }
        return is_empty;
}

bool launch_clean_up(const struct launch_setup *setup, struct run_key key, bool went_down)
{
        char folder[FOLDER_PATH_MAX];
        struct run_status status = {0};

        folder_path(setup->folder, key, "", folder);
        if (!is_empty_now(setup, key, folder))
                return false;
        /* What stays behind is told when the run is forgotten. */
        (void)secrets_take_back(folder, NULL);
        /* A status that cannot be read says no more than none. */
        if (status_read(folder, &status, NULL) == 0 &&
            (status.phase == RUN_EXITED || status.phase == RUN_REFUSED))
                return true;
        status.phase = RUN_EXITED;
        status.since_ms = time_wall_ms();
        status.exit_code = 0;
        status.signal = SIGKILL;
        status.lost_contact = went_down || folder_was_before_boot(setup->folder, key);
        str_copy(status.reason, sizeof status.reason,
                 status.lost_contact ? FOLDER_WENT_DOWN : "its supervisor was killed");
        return status_write(folder, &status, NULL) == 0;
}
