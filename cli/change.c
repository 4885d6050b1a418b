#include "cli/change.h"

#include <string.h>

#include "base/doc.h"
#include "base/doc_edit.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/declared.h"
#include "cli/documents.h"
#include "cli/json_in.h"
#include "net/client.h"

static const struct command_option options[] = {
        {"tenant", 't', "PATH", "whose work the name means"},
        {"dry-run", 'n', NULL, "change nothing; say what would happen"},
        {"replace", 0, NULL, "running work, too: it is stopped at once, and starts again"},
        {"reason", 'r', "TEXT", "why; it is kept with who did it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Changes keys of the work's document, and puts that in the place of the one there is:\n"
        "work that waits is cancelled and submitted anew in one step, and waits behind what came\n"
        "before; of a service whose replicas change, some are added or taken away. Of an array or\n"
        "a service all are changed. KEY= takes a key away; maps and lists are written as in a\n"
        "document. Without changes the document is printed.\n"
        "\n"
        "examples:\n"
        "  berth change 17 members=2 each.devices=4\n"
        "  berth change llama-sft time_limit=12h near='{prefer: rack}' --dry-run\n"
        "  berth change llama-sft run.env.SEED=2 --replace\n"
        "  berth change web service.replicas=3 --tenant web\n"
        "  berth change 17 > job.yaml\n";

/* The work as it is: its name and tenant, and its document with its ETag. */
struct there {
        json_t *workload;
        struct client_answer document;
};

static int get(struct talk *talk, const char *format, struct client_answer *ret_answer,
               struct err *err)
{
        struct text path = {0};
        int rc;

        text_add(&path, "/v1/workloads");
        talk_path_segment(&path, talk->call->arguments[0]);
        talk_path_option(&path, talk->call, "tenant");
        talk_path_query(&path, "format", format);
        rc = path.failed ? err_set(err, ERR_RANGE, "the name is too long")
                         : talk_get(talk, path.bytes, ret_answer, err);
        text_done(&path);
        return rc;
}

static int get_there(struct talk *talk, struct there *there, struct err *err)
{
        struct client_answer answer = {0};
        int rc = get(talk, "json", &answer, err);

        if (rc == 0)
                rc = talk_parse(talk, &answer, &there->workload, err);
        client_answer_done(&answer);
        return rc == 0 ? get(talk, "document", &there->document, err) : rc;
}

static int assign_all(const struct command_call *call, struct doc *doc, struct err *err)
{
        int rc = 0;

        for (size_t i = 1; rc == 0 && i < call->arguments_count; i++)
                rc = doc_assign(doc, doc_root(doc, 0), call->arguments[i], err);
        return rc;
}

static int put(struct talk *talk, const struct there *there, struct doc *doc, struct err *err)
{
        struct text written = {0};
        char id[JSON_IN_MAX];
        int rc = assign_all(talk->call, doc, err);

        if (rc) {
                talk->code = EXIT_BAD_INPUT;
                return rc;
        }
        doc_write(doc_root(doc, 0), &written);
        const struct declared_put put = {
                .name = json_in_words(there->workload, "id", id),
                .tenant = json_in_text(there->workload, "tenant"),
                .type = "application/yaml",
                .body = written.bytes,
                .body_size = written.size,
                .if_match = there->document.etag,
                .replaces = command_value(talk->call, "replace") != NULL,
        };
        rc = written.failed ? err_set(err, ERR_NOMEM, "out of memory")
                            : declared_put(talk, &put, err);
        if (rc < 0 && talk->code != EXIT_NO_ANSWER)
                documents_blame(NULL, err);     /* its lines are nobody's file */
        text_done(&written);
        return rc;
}

static int change(struct talk *talk, const struct there *there, struct err *err)
{
        struct doc *doc = NULL;
        int rc;

        if (talk->call->arguments_count == 1) {
                talk_put(&there->document, stdout);
                return 0;
        }
        if (json_in_has(there->workload, "ended")) {
                talk->code = EXIT_REFUSED;
                return err_set(err, ERR_INPUT,
                               "workload %s has ended; submit it anew: berth change %s > job.yaml "
                               "writes its document",
                               talk->call->arguments[0], talk->call->arguments[0]);
        }
        rc = doc_read_yaml("document", there->document.body, there->document.size, &doc, err);
        if (rc == 0)
                rc = put(talk, there, doc, err);
        doc_free(doc);
        return rc;
}

static int run(const struct command_call *call)
{
        struct there there = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0)
                rc = get_there(&talk, &there, &err);
        if (rc == 0)
                rc = change(&talk, &there, &err);
        json_decref(there.workload);
        client_answer_done(&there.document);
        return talk_close(&talk, rc, &err);
}

const struct command change_command = {
        .name = "change",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "ID|NAME [KEY=VALUE ...]",
        .arguments_min = 1,
        .arguments_max = COMMAND_ARGUMENTS_MAX,
        .summary = "give work that is there another document",
        .details = details,
        .options = options,
        .run = run,
};
