#include "cli/declared.h"

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/json_in.h"
#include "net/client.h"

#define IDS_SHOWN 8

/* "17, 18 and 30 more" */
static void print_ids(const json_t *list, bool are_rows, FILE *file)
{
        size_t count = json_array_size(list), shown = count > IDS_SHOWN + 1 ? IDS_SHOWN : count;

        for (size_t i = 0; i < shown; i++) {
                const json_t *item = json_array_get(list, i);
                int64_t id = are_rows ? json_in_number(item, "id") : json_integer_value(item);
                fprintf(file, "%s%lld", i ? ", " : "", (long long)id);
        }
        if (shown < count)
                fprintf(file, " and %zu more", count - shown);
}

static void print_change(const json_t *answer, FILE *file)
{
        const json_t *workloads = json_object_get(answer, "workloads");
        const char *change = json_in_text(answer, "change");
        bool is_dry = json_in_flag(answer, "dry_run");
        char name[JSON_IN_MAX], tenant[JSON_IN_MAX], show[STR_SHOW_MAX];

        fprintf(file, "%s of %s ", json_in_clean(answer, "name", name),
                json_in_clean(answer, "tenant", tenant));
        if (str_equal(change, "none"))
                fputs("is as the document says", file);
        else
                fprintf(file, "%s %s", is_dry ? "would be" : "is", str_show(change, show));
        if (json_array_size(workloads) > 0) {
                fputs(": ", file);
                print_ids(workloads, true, file);
        }
        fputs("\n", file);
}

static int print(const json_t *answer, FILE *file)
{
        const json_t *cancelled = json_object_get(answer, "cancelled");
        int64_t submits = json_in_number(answer, "submits");
        bool is_dry = json_in_flag(answer, "dry_run");
        char verdict[JSON_IN_MAX], summary[JSON_IN_MAX];

        print_change(answer, file);
        if (json_array_size(cancelled) > 0) {
                fputs(is_dry ? "  would be cancelled: " : "  cancelled: ", file);
                print_ids(cancelled, false, file);
                fputs("\n", file);
        }
        if (submits > 0 && json_in_clean(answer, "verdict", verdict)[0])
                fprintf(file, "  %lld new: %s%s%s\n", (long long)submits, verdict,
                        json_in_clean(answer, "summary", summary)[0] ? ". " : "", summary);
        if (is_dry)
                fputs("nothing was changed\n", file);
        return 0;
}

int declared_put(struct talk *talk, const struct declared_put *put, struct err *err)
{
        struct client_answer answer = {0};
        struct text path = {0};
        json_t *value = NULL;

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, put->name);
        talk_path_query(&path, "tenant", put->tenant);
        talk_path_query(&path, "replace", put->replaces ? "true" : NULL);
        talk_path_query(&path, "dry_run", command_value(talk->call, "dry-run") ? "true" : NULL);
        const struct talk_change change = {
                .method = "PUT",
                .path = path.bytes,
                .type = put->type,
                .body = put->body,
                .body_size = put->body_size,
                .if_match = put->if_match,
                .reason = command_value(talk->call, "reason"),
        };
        int rc = path.failed ? err_set(err, ERR_RANGE, "the name is too long")
                             : talk_send(talk, &change, &answer, err);
        if (rc == 0 && talk_is_json(talk))
                talk_put(&answer, stdout);
        else if (rc == 0 && (rc = talk_parse(talk, &answer, &value, err)) == 0)
                rc = print(value, stdout);
        json_decref(value);
        client_answer_done(&answer);
        text_done(&path);
        return rc;
}
