#include "cli/store.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/json_out.h"
#include "cli/outputs.h"
#include "cli/store_check.h"
#include "cli/watch.h"
#include "sim/replay.h"
#include "store/backup.h"
#include "store/export.h"
#include "store/log.h"
#include "store/prune.h"
#include "store/retain.h"
#include "store/rollup.h"
#include "store/store.h"

static const struct command_option options[] = {
        {"key", 0, "HEX|FILE", "check, compact: the key (64 digits, or STORE.key) of the heads"},
        {"json", 0, "[FILE.json]", "print JSON instead, or write it to that file (--json=FILE: any)"},
        {"records", 0, "DAYS", "compact: keep records for so long behind the newest snapshot"},
        {"objects", 0, "DAYS", "compact: keep workloads for so long after their end"},
        {"usage", 0, "MONTHS", "compact: keep usage for so long"},
        {"quiet", 'q', NULL, "backup, compact: no progress"},
        {0},
};

static const char details[] =
        "check FILE...      is it whole? Pages, chain, signatures, snapshots, objects; each\n"
        "                   finding is a sentence. FILE is a store or an export\n"
        "export STORE FILE  one portable file; - is standard output\n"
        "import FILE STORE  a new store from such a file, checked whole; - is standard input\n"
        "backup STORE FILE  a copy as of now, ready to be opened\n"
        "compact STORE      forgets what is old (after 30 days records, after 90 ended workloads,\n"
        "                   after 13 months usage, or as the options say; 0 keeps for ever), and\n"
        "                   gives the room back; a head signed with STORE.key stands for records\n"
        "\n"
        "check, export and backup may run beside the controller; compact may not. export, import\n"
        "and backup end with the head of the log, number and hash: kept elsewhere, it proves the\n"
        "rest.\n"
        "docs/store.md says what a store holds.\n"
        "\n"
        "examples:\n"
        "  berth store check /var/lib/berth/pool.db\n"
        "  berth store check pool.db --key pool.db.key --json | jq .[].findings\n"
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

/* ---- compact ---- */

static int read_number(const struct command_call *call, const char *option, uint64_t usual,
                       uint64_t max, uint32_t *ret_number, struct err *err)
{
        const char *text = command_value(call, option);
        uint64_t number = usual;

        if (text && num_u64(text, 0, max, &number, err) < 0)
                return err_prefix(err, "--%s", option);
        *ret_number = (uint32_t)number;
        return 0;
}

static int read_rules(const struct command_call *call, struct retain_rules *rules,
                      struct err *err)
{
        int rc = read_number(call, "records", RETAIN_RECORD_DAYS, RETAIN_DAYS_MAX,
                             &rules->record_days, err);

        if (rc == 0)
                rc = read_number(call, "objects", RETAIN_OBJECT_DAYS, RETAIN_DAYS_MAX,
                                 &rules->object_days, err);
        if (rc == 0)
                rc = read_number(call, "usage", ROLLUP_MONTHS, RETAIN_MONTHS_MAX,
                                 &rules->usage_months, err);
        return rc;
}

/* The time of the newest record: what is old is old by the log's own time. */
static int newest_ms(struct store *store, int64_t *ret_ms, struct err *err)
{
        struct log_cursor *cursor;
        struct record record;
        struct log_head head;
        int rc = log_head(store, &head, err);

        *ret_ms = (int64_t)time(NULL) * 1000;
        if (rc || head.seq == 0)
                return rc;
        rc = log_read(store, head.seq, &cursor, err);
        if (rc == -ERR_NOT_FOUND)
                return 0;               /* all of it was pruned */
        if (rc)
                return rc;
        rc = log_next(cursor, &record, err);
        if (rc > 0)
                *ret_ms = record.at_ms;
        log_cursor_free(cursor);
        return rc < 0 ? rc : 0;
}

static int retain_all(struct store *store, const struct retain_rules *rules,
                      const struct replay_hooks *hooks, struct retain_report *ret_told,
                      struct err *err)
{
        struct retain *retain;
        uint64_t steps = 0;
        int rc = retain_new(rules, &retain, err);

        if (rc)
                return rc;
        while ((rc = retain_step(retain, store, err)) > 0) {
                steps++;
                if (hooks->progress)
                        hooks->progress(hooks->progress_arg, "steps", steps, steps + 1);
                if (*hooks->cancel) {
                        rc = -ERR_CANCELLED;    /* the rest is for the next one */
                        break;
                }
        }
        retain_told(retain, ret_told);
        retain_free(retain);
        return rc;
}

static int load_key(const struct command_call *call, struct seal_key *key, struct err *err)
{
        const char *path = command_value(call, "key");
        char beside[4096];

        if (path)
                return seal_key_load(path, key, err);
        int length = snprintf(beside, sizeof beside, "%s.key", call->arguments[0]);
        if (length < 0 || (size_t)length >= sizeof beside)
                return err_set(err, ERR_INPUT, "the path of the store is too long");
        return seal_key_load(beside, key, err);
}

static int say_gone(const struct command_call *call, const struct retain_report *told,
                    struct err *err)
{
        const char *json = command_value(call, "json");

        if (json)
                return json_out_file(
                        json_pack("{s:I, s:I, s:I, s:I}", "begins_behind",
                                  (json_int_t)told->upto_seq, "objects",
                                  (json_int_t)told->objects, "usage_rows",
                                  (json_int_t)told->usage_rows, "review_rows",
                                  (json_int_t)told->review_rows),
                        json, err);
        if (told->upto_seq)
                printf("the log begins behind record %" PRIu64, told->upto_seq);
        else
                printf("all records stay");
        printf("; %" PRIu64 " objects, %" PRIu64 " rows of usage and %" PRIu64
               " of the review are gone\n",
               told->objects, told->usage_rows, told->review_rows);
        return 0;
}

static int compact(const struct command_call *call, struct store *store, struct err *err)
{
        struct replay_hooks hooks = {0};
        struct retain_rules rules = {0};
        struct retain_report told = {0};
        struct seal_key key;
        struct watch watch;
        int rc = read_rules(call, &rules, err);

        if (rc || (rc = newest_ms(store, &rules.now_ms, err)) < 0 ||
            (rc = load_key(call, &key, err)) < 0)
                return rc;
        rules.key = &key;
        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        rc = retain_all(store, &rules, &hooks, &told, err);
        watch_end(&watch);
        seal_key_wipe(&key);
        return rc ? rc : say_gone(call, &told, err);
}

static int run_compact(const struct command_call *call, struct err *err)
{
        struct store *store;
        int rc = open_store(call->arguments[0], true, &store, err);

        if (rc)
                return rc;
        rc = compact(call, store, err);
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
