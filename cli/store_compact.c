#include "cli/store_compact.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/json_out.h"
#include "cli/watch.h"
#include "proto/retention.h"
#include "sim/replay.h"
#include "store/log.h"
#include "store/objects.h"
#include "store/prune.h"
#include "store/retain.h"
#include "store/rollup.h"
#include "store/store.h"

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

/* Where options do not say, the policy does, and where that does not, what is usual. */
struct kept {
        struct retention keeps;
        uint64_t revision;              /* of the policy; 0: it was not asked, or there is none */
        const char *said_by[RETENTIONS_END];
};

static const char *const kept_options[RETENTIONS_END] = {
        [RETENTION_RECORDS] = "records", [RETENTION_ENDED] = "objects",
        [RETENTION_REVIEW] = "usage",
};
static const struct retention kept_usually = {{
        [RETENTION_RECORDS] = RETAIN_RECORD_DAYS, [RETENTION_ENDED] = RETAIN_OBJECT_DAYS,
        [RETENTION_REVIEW] = ROLLUP_MONTHS,
}};

struct said {
        struct retention retention;
        uint64_t revision;
};

static int see_policy(void *arg, const struct object *object, struct err *err)
{
        struct said *said = arg;

        said->revision = object->id;
        if (retention_of_policy(object->body, object->size, &said->retention, err) < 0)
                return err_prefix(err, "revision %" PRIu64 " of the policy in the store (say "
                                       "--records, --objects and --usage, and it is not asked)",
                                  object->id);
        return 0;
}

/* The newest is the one in force. */
static int read_policy(struct store *store, struct kept *kept, struct err *err)
{
        const struct object_filter filter = {.kind = OBJECT_POLICY, .live = true, .ended = true,
                                             .with_body = true, .limit = 1};
        struct said said = {0};
        int rc = objects_list(store, &filter, see_policy, &said, err);

        if (rc || said.revision == 0)
                return rc;
        kept->revision = said.revision;
        for (unsigned k = 0; k < RETENTIONS_END; k++) {
                if (said.retention.spans[k] == RETENTION_UNSAID || kept->said_by[k])
                        continue;
                kept->keeps.spans[k] = said.retention.spans[k];
                kept->said_by[k] = "policy";
        }
        return 0;
}

static int read_kept(const struct command_call *call, struct store *store, struct kept *kept,
                     struct err *err)
{
        bool is_all_said = true;
        int rc = 0;

        *kept = (struct kept){.keeps = kept_usually};
        for (unsigned k = 0; rc == 0 && k < RETENTIONS_END; k++) {
                rc = read_number(call, kept_options[k], kept_usually.spans[k],
                                 k == RETENTION_REVIEW ? RETAIN_MONTHS_MAX : RETAIN_DAYS_MAX,
                                 &kept->keeps.spans[k], err);
                if (command_value(call, kept_options[k]))
                        kept->said_by[k] = "option";
                is_all_said = is_all_said && kept->said_by[k];
        }
        return rc || is_all_said ? rc : read_policy(store, kept, err);
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

/* "kept: records 90d (policy, revision 3), ended 90d, review 13mo" */
static void say_kept(const struct kept *kept)
{
        char text[RETENTION_TEXT_MAX];

        printf("kept:");
        for (unsigned k = 0; k < RETENTIONS_END; k++) {
                const char *by = kept->said_by[k];
                printf("%s %s %s", k > 0 ? "," : "", retention_words[k],
                       retention_text(&kept->keeps, (enum retention_kind)k, text));
                if (by && str_equal(by, "policy"))
                        printf(" (policy, revision %" PRIu64 ")", kept->revision);
                else if (by)
                        printf(" (--%s)", kept_options[k]);
        }
        putchar('\n');
}

static json_t *kept_json(const struct kept *kept)
{
        json_t *json = json_object();
        char text[RETENTION_TEXT_MAX];

        for (unsigned k = 0; k < RETENTIONS_END; k++)
                (void)json_object_set_new(
                        json, retention_words[k],
                        json_pack("{s:s, s:s}", "span",
                                  retention_text(&kept->keeps, (enum retention_kind)k, text), "by",
                                  kept->said_by[k] ? kept->said_by[k] : "usual"));
        return json;
}

static int say_gone(const struct command_call *call, const struct kept *kept,
                    const struct retain_report *told, struct err *err)
{
        const char *json = command_value(call, "json");

        if (json)
                return json_out_file(
                        json_pack("{s:I, s:I, s:I, s:I, s:o, s:I}", "begins_behind",
                                  (json_int_t)told->upto_seq, "objects",
                                  (json_int_t)told->objects, "usage_rows",
                                  (json_int_t)told->usage_rows, "review_rows",
                                  (json_int_t)told->review_rows, "kept", kept_json(kept),
                                  "policy_revision", (json_int_t)kept->revision),
                        json, err);
        say_kept(kept);
        if (told->upto_seq)
                printf("the log begins behind record %" PRIu64, told->upto_seq);
        else
                printf("all records stay");
        printf("; %" PRIu64 " objects, %" PRIu64 " rows of usage and %" PRIu64
               " of the review are gone\n",
               told->objects, told->usage_rows, told->review_rows);
        return 0;
}

int store_compact(const struct command_call *call, struct store *store, struct err *err)
{
        struct replay_hooks hooks = {0};
        struct retain_rules rules = {0};
        struct retain_report told = {0};
        struct seal_key key;
        struct watch watch;
        struct kept kept;
        int rc = read_kept(call, store, &kept, err);

        if (rc || (rc = newest_ms(store, &rules.now_ms, err)) < 0 ||
            (rc = load_key(call, &key, err)) < 0)
                return rc;
        rules.record_days = kept.keeps.spans[RETENTION_RECORDS];
        rules.object_days = kept.keeps.spans[RETENTION_ENDED];
        rules.usage_months = kept.keeps.spans[RETENTION_REVIEW];
        rules.key = &key;
        watch_start(&watch, command_value(call, "quiet") != NULL, &hooks);
        rc = retain_all(store, &rules, &hooks, &told, err);
        watch_end(&watch);
        seal_key_wipe(&key);
        return rc ? rc : say_gone(call, &kept, &told, err);
}
