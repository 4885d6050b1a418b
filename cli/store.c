#include "cli/store.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
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

const struct command_option store_options[] = {
        {"key", 0, "HEX|FILE", "check: the key that all heads must be signed with (64 digits, or "
                               "a store's .key); compact: the file to sign with"},
        {"json", 0, "FILE|-", "check: write the findings as JSON; - prints them instead"},
        {"records", 0, "DAYS", "compact: keep records for so long behind the newest snapshot"},
        {"objects", 0, "DAYS", "compact: keep workloads for so long after their end"},
        {"usage", 0, "MONTHS", "compact: keep usage for so long"},
        {"quiet", 'q', NULL, "no progress"},
        {0},
};

const char store_details[] =
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
        "  berth store check pool.db --key pool.db.key --json - | jq .findings\n"
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
        const struct store_options options = {.path = path, .is_read_only = !for_writing,
                                              .must_exist = true};

        return store_open(&options, ret_store, err);
}

/* Where the bytes themselves go to standard output, it goes to the other one. */
static void say_head(const char *what, const struct log_head *head, bool to_errors)
{
        FILE *file = to_errors ? stderr : stdout;

        fprintf(file, "%s: record %" PRIu64 ", hash ", what, head->seq);
        for (size_t i = 0; i < sizeof head->hash; i++)
                fprintf(file, "%02x", head->hash[i]);
        fputc('\n', file);
}

static int run_export(const struct command_call *call, struct err *err)
{
        const char *path = call->arguments[2];
        struct log_head head;
        struct store *store;
        int rc = open_store(call->arguments[1], false, &store, err);

        if (rc)
                return rc;
        rc = store_export(store, path, &head, err);
        store_close(store);
        if (rc == 0)
                say_head("exported", &head, str_equal(path, "-"));
        return rc;
}

static int run_import(const struct command_call *call, struct err *err)
{
        struct log_head head;
        int rc = store_import(call->arguments[2], call->arguments[1], &head, err);

        if (rc == 0)
                say_head("imported", &head, false);
        return rc;
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
        int rc = open_store(call->arguments[1], false, &store, err);

        if (rc)
                return rc;
        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        rc = store_backup(store, call->arguments[2], hooks.progress ? show_pages : NULL, &hooks,
                          &head, err);
        watch_end(&watch);
        store_close(store);
        if (rc == 0)
                say_head("copied", &head, false);
        return rc;
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
        int length = snprintf(beside, sizeof beside, "%s.key", call->arguments[1]);
        if (length < 0 || (size_t)length >= sizeof beside)
                return err_set(err, ERR_INPUT, "the path of the store is too long");
        return seal_key_load(beside, key, err);
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
        if (rc)
                return rc;
        if (told.upto_seq)
                printf("the log begins behind record %" PRIu64, told.upto_seq);
        else
                printf("all records stay");
        printf("; %" PRIu64 " objects and %" PRIu64 " rows of usage are gone\n", told.objects,
               told.usage_rows);
        return 0;
}

static int run_compact(const struct command_call *call, struct err *err)
{
        struct store *store;
        int rc = open_store(call->arguments[1], true, &store, err);

        if (rc)
                return rc;
        rc = compact(call, store, err);
        store_close(store);
        return rc;
}

/* ---- the command ---- */

struct action {
        const char *name;
        size_t arguments;               /* with its own name; 0: two or more */
        const char *usage;
        int (*run)(const struct command_call *call, struct err *err);   /* NULL: check */
        const char *options[4];
};

static const struct action actions[] = {
        {"check", 0, "check FILE...", NULL, {"key", "json"}},
        {"export", 3, "export STORE FILE", run_export, {NULL}},
        {"import", 3, "import FILE STORE", run_import, {NULL}},
        {"backup", 3, "backup STORE FILE", run_backup, {NULL}},
        {"compact", 2, "compact STORE", run_compact, {"key", "records", "objects", "usage"}},
};

static const struct action *find_action(const char *name, struct err *err)
{
        const char *names[ARRAY_LEN(actions)];
        char show[STR_SHOW_MAX], known[STR_NEAR_MAX];

        for (size_t a = 0; a < ARRAY_LEN(actions); a++) {
                names[a] = actions[a].name;
                if (str_equal(names[a], name))
                        return &actions[a];
        }
        (void)err_set(err, ERR_INPUT, "there is no '%s'; %s", str_show(name, show),
                      str_near(names, ARRAY_LEN(names), name, known, sizeof known));
        return NULL;
}

static int check_call(const struct command_call *call, const struct action *action,
                      struct err *err)
{
        const struct command_option *options = call->command->options;

        if (action->arguments && call->arguments_count != action->arguments)
                return err_set(err, ERR_INPUT, "%s takes %s: berth store %s", action->name,
                               action->arguments == 2 ? "one store" : "two files", action->usage);
        for (size_t o = 0; options[o].name; o++) {
                bool goes = str_equal(options[o].name, "quiet");
                for (size_t i = 0; i < ARRAY_LEN(action->options) && action->options[i]; i++)
                        goes |= str_equal(action->options[i], options[o].name);
                if (call->values[o] && !goes)
                        return err_set(err, ERR_INPUT, "--%s does not go with %s",
                                       options[o].name, action->name);
        }
        return 0;
}

/* A disk that fails is nobody's mistake. */
static int exit_of(int rc)
{
        if (rc == 0)
                return EXIT_FINE;
        if (rc == -ERR_CANCELLED)
                return EXIT_STOPPED;
        return rc == -ERR_NOMEM || rc == -ERR_IO ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

int store_command(const struct command_call *call)
{
        struct err err = {0};
        const struct action *action = find_action(call->arguments[0], &err);
        enum exit_code code = EXIT_FINE;
        int rc = action ? check_call(call, action, &err) : -ERR_INPUT;

        if (rc == 0)
                rc = action->run ? action->run(call, &err) : store_check_files(call, &code, &err);
        if (rc == -ERR_CANCELLED)
                fputs("berth store: stopped\n", stderr);
        else if (rc < 0)
                fprintf(stderr, "berth store: %s\n", err.text);
        return rc == 0 ? (int)code : exit_of(rc);
}
