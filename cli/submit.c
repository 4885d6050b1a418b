#include "cli/submit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/documents.h"
#include "cli/json_in.h"
#include "cli/json_out.h"
#include "cli/status.h"
#include "cli/submit_short.h"
#include "cli/wait.h"
#include "net/client.h"

static const struct command_option options[] = {
        {"dry-run", 'n', NULL, "submit nothing; say what would happen, and when it would start"},
        {"wait", 'w', NULL, "stay until it has ended; the exit code is that of the work"},
        {"hold", 0, NULL, "it waits until `berth release`"},
        {"tenant", 't', "PATH", "whose work it is; else BERTH_TENANT, the context's, or the only one"},
        {"class", 0, "NAME", "service class; the default is the policy's"},
        {"name", 0, "NAME", "what it is called; the default is the program's name"},
        {"devices", 'd', "N",
         "whole devices of each member, 0 to 16; 1 where nothing is asked for"},
        {"model", 0, "MODEL", "of the devices: H100-80, or a pattern: 'H100*'"},
        {"profile", 0, "NAME", "a slice of this profile instead: 3g.40gb"},
        {"memory", 0, "SIZE", "a part with so much device memory instead: 40Gi"},
        {"share", 0, "PART", "a share of the compute instead: 0.25"},
        {"members", 0, "N", "so many, started together (1)"},
        {"cpu", 0, "CORES", "cores of each member"},
        {"ram", 0, "SIZE", "memory of each member: 64Gi"},
        {"start", 0, "TIME", "not before: " TALK_TIME_AHEAD},
        {"time-limit", 0, "SPAN", "it is ended after so long: 30m, 6h"},
        {"env", 'e', "K=V ...", "a variable; K alone: as it is here. May be repeated"},
        {"workdir", 0, "PATH", "where it starts; the default is the folder we are in"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Submits a Workload document (docs/policy.md describes all its keys), or builds one from\n"
        "options and the command behind --. The options from --tenant on belong to the short way;\n"
        "a file says these things itself. - reads the document from standard input.\n"
        "\n"
        "With --wait Ctrl-C ends the waiting, and the work goes on. Each call is sent with a key\n"
        "of its own, so that a lost answer submits nothing twice.\n"
        "\n"
        "examples:\n"
        "  berth submit job.yaml\n"
        "  berth submit job.yaml --dry-run\n"
        "  berth submit --tenant research/nlp --devices 8 --model 'H100*' -- torchrun train.py\n"
        "  berth submit -d 1 --time-limit 30m --env SEED=1 --wait -- python eval.py --fast\n"
        "  berth submit --cpu 4 --ram 16Gi --start 2h -- ./prepare-data\n";

/* ---- the document ---- */

/* What is sent. */
struct work {
        struct documents *documents; /* of the file */
        struct text short_body;      /* of the options */
        const char *body, *type;
        size_t size;
};

static int take_file(const struct command_call *call, struct work *work, struct err *err)
{
        static const char *const others[] = {"tenant",  "class",      "name",  "devices", "model",
                                             "profile", "memory",     "share", "members", "cpu",
                                             "ram",     "time-limit", "env",   "workdir",
                                             "start"};
        int rc;

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                if (command_value(call, others[i]))
                        return err_set(err, ERR_INPUT,
                                       "--%s goes with a command behind --; a file says it itself",
                                       others[i]);
        if ((rc = documents_load(call->arguments[0], &work->documents, err)) < 0)
                return rc;
        struct document *document = &work->documents->list[0];
        if (work->documents->count != 1 || !str_equal(document->kind, "Workload"))
                return err_set(
                        err, ERR_INPUT,
                        "%s: submit takes one document of kind Workload; `berth apply` takes "
                        "files of several",
                        call->arguments[0]);
        if (command_value(call, "hold") && (rc = document_hold(document, err)) < 0)
                return rc;
        work->body = document->body.bytes;
        work->size = document->body.size;
        work->type = document->type;
        return 0;
}

/* Nobody said whose work it is: who sees one tenant means that one. */
static int take_tenant(struct talk *talk, struct err *err)
{
        json_t *answer = NULL;
        int rc = talk_get_json(talk, "/v1/tenants", &answer, err);
        const json_t *tenants = json_object_get(answer, "tenants");
        const char *only = json_in_text(json_array_get(tenants, 0), "tenant");

        if (rc == 0 && (json_array_size(tenants) != 1 ||
                        !str_copy(talk->place.tenant, sizeof talk->place.tenant, only)))
                rc = err_set(err, ERR_INPUT,
                             "say whose work it is: --tenant PATH, BERTH_TENANT, or `berth context "
                             "set NAME --tenant PATH`; `berth tenants` lists them");
        json_decref(answer);
        return rc;
}

static int take_options(struct talk *talk, struct work *work, struct err *err)
{
        json_t *document;
        char *text = NULL;
        size_t size = 0;
        bool is_said = command_value(talk->call, "tenant") || talk->place.tenant[0];
        int rc = is_said ? 0 : take_tenant(talk, err);

        if (rc == 0)
                rc = submit_short(talk->call, talk->place.tenant, &document, err);
        if (rc == 0)
                rc = json_out_add(document, JSON_COMPACT, &text, &size, err);
        if (rc == 0)
                text_add_bytes(&work->short_body, text, size);
        if (rc == 0 && work->short_body.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        mem_free(text);
        work->body = work->short_body.bytes;
        work->size = work->short_body.size;
        work->type = "application/json";
        return rc;
}

static int take_work(struct talk *talk, struct work *work, struct err *err)
{
        const struct command_call *call = talk->call;

        if (call->arguments_count == 1 && call->tail_count > 0)
                return err_set(err, ERR_INPUT,
                               "'%s' and a command behind -- are two works; submit one of them",
                               call->arguments[0]);
        if (call->arguments_count == 0 && call->tail_count == 0)
                return err_set(err, ERR_INPUT,
                               "name what to run: berth submit FILE.yaml, or "
                               "berth submit --devices 1 -- python train.py");
        return call->arguments_count == 1 ? take_file(call, work, err)
                                          : take_options(talk, work, err);
}

/* ---- sending ---- */

static int submit(struct talk *talk, const struct work *work, struct err *err)
{
        bool is_dry = command_value(talk->call, "dry-run") != NULL;
        bool waits = command_value(talk->call, "wait") && !is_dry;
        const struct talk_change change = {
                .method = "POST",
                .path = is_dry ? "/v1/workloads?dry_run=true" : "/v1/workloads",
                .type = work->type,
                .body = work->body,
                .body_size = work->size,
        };
        struct client_answer answer = {0};
        json_t *value = NULL;
        int rc = talk_send(talk, &change, &answer, err);

        if (rc < 0 && talk->code == EXIT_NOT_FOUND) /* what it names: the document is wrong */
                talk->code = EXIT_BAD_INPUT;
        if (rc < 0 && talk->code != EXIT_NO_ANSWER)
                documents_blame(work->documents ? work->documents->path : NULL, err);
        if (rc == 0 && (waits || is_dry || !talk_is_json(talk)))
                rc = talk_parse(talk, &answer, &value, err);
        if (rc == 0 && !waits && talk_is_json(talk))
                talk_put(&answer, stdout);
        else if (rc == 0 && is_dry)
                rc = submit_print_dry(value, talk, stdout, err);
        else if (rc == 0 && !waits)
                rc = status_print_line(value, talk, stdout, err);
        else if (rc == 0)
                rc = wait_for(talk, value, err);
        if (rc == 0 && is_dry && submit_would_be_refused(value))
                talk->code = EXIT_BAD_INPUT;    /* as the submission itself would end */
        json_decref(value);
        client_answer_done(&answer);
        return rc;
}

static int run(const struct command_call *call)
{
        struct work work = {0};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        if (rc == 0)
                rc = take_work(&talk, &work, &err);
        if (rc == 0)
                rc = submit(&talk, &work, &err);
        documents_free(work.documents);
        text_done(&work.short_body);
        return talk_close(&talk, rc, &err);
}

const struct command submit_command = {
        .name = "submit",
        .group = GROUP_WORK,
        .is_live = true,
        .arguments = "[FILE]",
        .arguments_max = 1,
        .tail = "COMMAND ...",
        .summary = "submit a workload, from a file or from options",
        .details = details,
        .options = options,
        .run = run,
};
