#include "cli/store.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/json_out.h"
#include "cli/outputs.h"
#include "cli/store_check.h"
#include "cli/store_compact.h"
#include "cli/watch.h"
#include "sim/replay.h"
#include "store/backup.h"
#include "store/export.h"
#include "store/log.h"
#include "store/store.h"

static const struct command_option options[] = {
        {"key", 0, "HEX|FILE", "check, compact: the key (64 digits, or STORE.key) of the heads"},
        {"json", 0, "[FILE.json]",
         "print JSON instead, or write it to that file (--json=FILE: any)"},
        {"records", 0, "DAYS", "compact: keep records for so long behind the newest snapshot"},
        {"objects", 0, "DAYS", "compact: keep what has ended for so long after that"},
        {"usage", 0, "MONTHS", "compact: keep usage and the review's days for so long"},
        {"quiet", 'q', NULL, "backup, compact: no progress"},
        {0},
};

static const char details[] =
        "check FILE...      is it whole? Pages, chain, signatures, snapshots, objects; each\n"
        "                   finding is a sentence. FILE is a store or an export\n"
        "export STORE FILE  one portable file; - is standard output\n"
        "import FILE STORE  a new store from such a file, checked whole; - is standard input\n"
        "backup STORE FILE  a copy as of now, ready to be opened\n"
        "compact STORE      forgets what is old, as the options say (0 keeps for ever), else the\n"
        "                   'retention' of the policy in the store, else after 30 days records,\n"
        "                   after 90 what has ended and after 13 months usage; and gives the room\n"
        "                   back; a head signed with STORE.key stands for records\n"
        "\n"
        "check, export and backup may run beside the controller; compact may not. export, import\n"
        "and backup end with the head of the log, number and hash: kept elsewhere, it proves the\n"
        "rest.\n"
        "docs/store.md says what a store holds.\n"
        "\n"
        "examples:\n"
        "  berth store check /var/lib/berth/pool.db\n"
        "  berth store check pool.db --key pool.db.key --json | jq '.[].findings'\n"
        "  berth store export pool.db - | zstd > pool.export.zst\n"
        "  berth store import pool.export new.db\n"
        "  berth store backup /var/lib/berth/pool.db /backup/pool-$(date +%F).db\n"
        "  berth store compact pool.db --records 7\n"
        "\n"
        "exit status: 0 fine; 1 check found something, or the disk failed; 2 a file or option is\n"
        "wrong; 130 stopped by Ctrl-C\n";

static int open_store(const char *path, bool for_writing, struct store **ret_store,
                      struct err *err)
{
        const struct store_options how = {.path = path, .is_read_only = !for_writing,
                                          .must_exist = true};

        return store_open(&how, ret_store, err);
}

/* Where the bytes themselves go to standard output, it goes to the other one. */
static int say_head(const struct command_call *call, const char *what, const struct log_head *head,
                    bool to_errors, struct err *err)
{
        const char *json = command_value(call, "json");
        char hash[2 * sizeof head->hash + 1];

        for (size_t i = 0; i < sizeof head->hash; i++)
                (void)snprintf(hash + 2 * i, 3, "%02x", head->hash[i]);
        if (json)
                return json_out_file(json_pack("{s:s, s:I, s:s}", "done", what, "record",
                                               (json_int_t)head->seq, "hash", hash),
                                     json, err);
        fprintf(to_errors ? stderr : stdout, "%s: record %" PRIu64 ", hash %s\n", what, head->seq,
                hash);
        return 0;
}

static int run_export(const struct command_call *call, struct err *err)
{
        const char *path = call->arguments[1];
        struct log_head head;
        struct store *store;
        int rc = open_store(call->arguments[0], false, &store, err);

        if (rc)
                return rc;
        rc = store_export(store, path, &head, err);
        store_close(store);
        return rc ? rc : say_head(call, "exported", &head, str_equal(path, "-"), err);
}

static int run_import(const struct command_call *call, struct err *err)
{
        struct log_head head;
        int rc = store_import(call->arguments[1], call->arguments[0], &head, err);

        return rc ? rc : say_head(call, "imported", &head, false, err);
}

/* ---- backup ---- */

static bool show_pages(void *arg, uint64_t done, uint64_t all)
{
        const struct replay_hooks *hooks = arg;

        hooks->progress(hooks->progress_arg, "copying", done, all);
        return !*hooks->cancel;
}

static int run_backup(const struct command_call *call, struct err *err)
{
        struct replay_hooks hooks = {0};
        struct log_head head;
        struct store *store;
        struct watch watch;
        int rc = open_store(call->arguments[0], false, &store, err);

        if (rc)
                return rc;
        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        rc = store_backup(store, call->arguments[1], hooks.progress ? show_pages : NULL, &hooks,
                          &head, err);
        watch_end(&watch);
        store_close(store);
        return rc ? rc : say_head(call, "copied", &head, false, err);
}

static int run_compact(const struct command_call *call, struct err *err)
{
        struct store *store;
        int rc = open_store(call->arguments[0], true, &store, err);

        if (rc)
                return rc;
        rc = store_compact(call, store, err);
        store_close(store);
        return rc;
}

/* ---- the command ---- */

/* A disk that fails is nobody's mistake. */
static int finish(enum exit_code code, int rc, const struct err *err)
{
        if (rc == 0)
                return (int)code;
        if (rc == -ERR_CANCELLED) {
                fputs("berth store: stopped\n", stderr);
                return EXIT_STOPPED;
        }
        fprintf(stderr, "berth store: %s\n", err->text);
        return rc == -ERR_NOMEM || rc == -ERR_IO ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

static int check_action(const struct command_call *call)
{
        enum exit_code code = EXIT_FINE;
        struct err err = {0};
        int rc = store_check_files(call, &code, &err);

        return finish(code, rc, &err);
}

/* Whether --json can be written: found before a store was read or changed. */
static int check_json(const struct command_call *call, struct err *err)
{
        const struct output output = {"json", command_value(call, "json")};
        bool to_output = output.path && str_equal(output.path, "-");

        if (to_output && str_equal(call->action->name, "export") &&
            str_equal(call->arguments[1], "-"))
                return err_set(err, ERR_INPUT, "the export and --json both go to standard output; "
                                               "name a file for one");
        return outputs_check(&output, 1, call->arguments, call->arguments_count, NULL, err);
}

#define ACTION(name)                                                                    \
        static int name##_action(const struct command_call *call)                       \
        {                                                                               \
                struct err err = {0};                                                   \
                int rc = check_json(call, &err);                                        \
                                                                                        \
                return finish(EXIT_FINE, rc ? rc : run_##name(call, &err), &err);       \
        }
ACTION(export)
ACTION(import)
ACTION(backup)
ACTION(compact)

static const struct command_action actions[] = {
        {"check", "FILE...", 1, COMMAND_ARGUMENTS_MAX, check_action},
        {"export", "STORE FILE", 2, 2, export_action},
        {"import", "FILE STORE", 2, 2, import_action},
        {"backup", "STORE FILE", 2, 2, backup_action},
        {"compact", "STORE", 1, 1, compact_action},
        {0},
};

const struct command store_command = {
        .name = "store",
        .group = GROUP_OPERATE,
        .summary = "check, copy, move or shrink the file that holds a pool's log",
        .details = details,
        .options = options,
        .actions = actions,
};
