#include "cli/apply.h"

#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/changes.h"
#include "cli/declared.h"
#include "cli/documents.h"
#include "cli/planned.h"
#include "cli/json_in.h"
#include "cli/talk.h"
#include "net/client.h"

#define NAME_MAX_BYTES 256

static const struct command_option options[] = {
        {"dry-run", 'n', NULL, "change nothing; say what would change"},
        {"replace", 0, NULL, "running work whose document changed is stopped, and starts anew"},
        {"reason", 'r', "TEXT", "why; it is kept with who did it"},
        COMMAND_LIVE_OPTIONS,
        {0},
};

static const char details[] =
        "Puts documents in force: first Pool (the nodes there are), then Policy, what is planned\n"
        "(Reservation, Maintenance), then Workloads, wherever they stand. What is as its document\n"
        "says stays, so that the same files can be applied again: work of that name that has not\n"
        "ended is not submitted a second time (`berth submit` does); a service gets more replicas,\n"
        "or loses some; other work that waits is submitted anew when its document changed. All\n"
        "files are read before anything is sent; the first that is refused ends it. A policy that\n"
        "somebody else changed in between is not overwritten. - is standard input.\n"
        "\n"
        "examples:\n"
        "  berth apply pool.yaml policy.yaml --dry-run\n"
        "  berth apply policy.yaml --reason 'web gets two devices more'\n"
        "  berth apply everything.yaml\n";

/* ---- Policy and Pool ---- */

static const struct kind {
        const char *name, *path, *word;
        void (*changes)(struct text_of before, struct text_of after, FILE *file);
} kinds[] = {
        {"Pool", "/v1/pool/document", "pool", changes_of_pool},
        {"Policy", "/v1/policy", "policy", changes_of_policy},
};

static void print_put(const struct document *document, const struct kind *kind,
                      const struct client_answer *before, const json_t *answer, bool is_dry)
{
        const json_t *warnings = json_object_get(answer, "warnings");
        char revision[JSON_IN_MAX];

        printf("%s %s revision %s%s\n", kind->word, is_dry ? "would be" : "is",
               json_in_words(answer, "revision", revision), before->size > 0 ? "" : ", the first");
        kind->changes((struct text_of){before->body, before->size},
                      (struct text_of){document->body.bytes, document->body.size}, stdout);
        for (size_t i = 0; i < json_array_size(warnings); i++) {
                fputs("warning: ", stdout);
                json_in_put_words(json_array_get(warnings, i), stdout);
                fputc('\n', stdout);
        }
}

/* What is in force, empty where nothing is yet. */
static int get_before(struct talk *talk, const struct kind *kind, struct client_answer *ret_before,
                      struct err *err)
{
        struct text path = {0};
        int rc;

        /* What stands beside it is put by itself, and stays. */
        text_add(&path, "%s?beside=false", kind->path);
        rc = path.failed ? err_set(err, ERR_NOMEM, "out of memory")
                         : talk_get(talk, path.bytes, ret_before, err);
        text_done(&path);

        if (rc < 0 && talk->code == EXIT_NOT_FOUND) {
                talk->code = EXIT_FINE;
                *ret_before = (struct client_answer){0};
                return 0;
        }
        return rc;
}

/* Without the blank lines around it. */
static struct text_of trim(const char *bytes, size_t size)
{
        while (size > 0 && strchr(" \r\n", bytes[size - 1]))
                size--;
        for (; size > 0 && strchr("\r\n", bytes[0]); size--)
                bytes++;
        return (struct text_of){bytes, size};
}

/* The same text is in force: nothing is sent, and no new revision made. */
static bool is_in_force(const struct document *document, const struct client_answer *before)
{
        struct text_of a = trim(document->body.bytes, document->body.size);
        struct text_of b = trim(before->body ? before->body : "", before->size);

        return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static void print_in_force(const struct talk *talk, const struct kind *kind,
                           const struct client_answer *before)
{
        /* An ETag is the revision in quotes. */
        int length = (int)strcspn(before->etag + (before->etag[0] == '"'), "\"");
        const char *revision = before->etag + (before->etag[0] == '"');

        if (talk_is_json(talk))
                printf("{\"revision\":%.*s,\"unchanged\":true}\n", length, revision);
        else
                printf("%s is revision %.*s already; nothing changes\n", kind->word, length,
                       revision);
}

static int put(struct talk *talk, const struct document *document, const struct kind *kind,
               struct err *err)
{
        bool is_dry = command_value(talk->call, "dry-run") != NULL;
        struct client_answer before = {0}, answer = {0};
        struct text path = {0};
        json_t *value = NULL;
        int rc = get_before(talk, kind, &before, err);

        text_add(&path, "%s%s", kind->path, is_dry ? "?dry_run=true" : "");
        const struct talk_change change = {
                .method = "PUT",
                .path = path.bytes,
                .type = document->type,
                .body = document->body.bytes,
                .body_size = document->body.size,
                .if_match = before.etag[0] ? before.etag : NULL,
                .reason = command_value(talk->call, "reason"),
        };
        if (rc == 0 && path.failed)
                rc = err_set(err, ERR_NOMEM, "out of memory");
        if (rc == 0 && before.size > 0 && is_in_force(document, &before)) {
                print_in_force(talk, kind, &before);
                client_answer_done(&before);
                text_done(&path);
                return 0;
        }
        if (rc == 0)
                rc = talk_send(talk, &change, &answer, err);
        if (rc == 0 && talk_is_json(talk))
                talk_put(&answer, stdout);
        else if (rc == 0 && (rc = talk_parse(talk, &answer, &value, err)) == 0)
                print_put(document, kind, &before, value, is_dry);
        json_decref(value);
        client_answer_done(&answer);
        client_answer_done(&before);
        text_done(&path);
        return rc;
}

/* ---- Reservation and Maintenance ---- */

static const struct beside {
        const char *name, *path, *word;
} besides[] = {
        {"Reservation", "/v1/reservations", "reservation"},
        {"Maintenance", "/v1/maintenance", "maintenance"},
};

static const struct beside *beside_of(const struct document *document)
{
        for (size_t b = 0; b < ARRAY_LEN(besides); b++)
                if (str_equal(besides[b].name, document->kind))
                        return &besides[b];
        return NULL;
}

static int put_beside(struct talk *talk, const struct document *document, struct err *err)
{
        const struct beside *beside = beside_of(document);
        struct client_answer answer = {0};
        struct text path = {0};
        json_t *value = NULL;
        const char *name = NULL;
        const struct doc_node *node;
        int rc = doc_need(document->root, "name", &node, err);

        if (rc < 0 || (rc = doc_text(node, 1, NAME_MAX_BYTES, &name, err)) < 0)
                return rc;
        text_add(&path, "%s", beside->path);
        talk_path_segment(&path, name);
        talk_path_query(&path, "dry_run", command_value(talk->call, "dry-run") ? "true" : NULL);
        const struct talk_change change = {.method = "PUT",
                                           .path = path.bytes,
                                           .type = document->type,
                                           .body = document->body.bytes,
                                           .body_size = document->body.size,
                                           .reason = command_value(talk->call, "reason")};
        rc = path.failed ? err_set(err, ERR_RANGE, "the name is too long")
                         : talk_send(talk, &change, &answer, err);
        if (rc == 0 && talk_is_json(talk))
                talk_put(&answer, stdout);
        else if (rc == 0 && (rc = talk_parse(talk, &answer, &value, err)) == 0)
                rc = planned_print(beside->word, name, value, talk, stdout, err);
        json_decref(value);
        client_answer_done(&answer);
        text_done(&path);
        return rc;
}

/* ---- Workload ---- */

static int put_workload(struct talk *talk, const struct document *document, struct err *err)
{
        const struct doc_node *node;
        struct declared_put put = {
                .type = document->type,
                .body = document->body.bytes,
                .body_size = document->body.size,
                .replaces = command_value(talk->call, "replace") != NULL,
        };
        int rc = doc_need(document->root, "name", &node, err);

        if (rc == 0)
                rc = doc_text(node, 1, NAME_MAX_BYTES, &put.name, err);
        if (rc == 0)
                rc = doc_text(doc_get(document->root, "tenant"), 1, NAME_MAX_BYTES, &put.tenant,
                              err);
        return rc == 0 ? declared_put(talk, &put, err) : rc;
}

/* ---- files ---- */

static const struct kind *kind_of(const struct document *document)
{
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                if (str_equal(kinds[k].name, document->kind))
                        return &kinds[k];
        return NULL;
}

static int check_kinds(const struct documents *documents, struct err *err)
{
        for (size_t d = 0; d < documents->count; d++) {
                const struct document *document = &documents->list[d];
                if (!kind_of(document) && !beside_of(document) &&
                    !str_equal(document->kind, "Workload"))
                        return doc_fail(document->root, err,
                                        "is of kind %s; a pool takes Pool, Policy, Reservation, "
                                        "Maintenance and Workload",
                                        document->kind);
        }
        return 0;
}

/* What others need goes first, wherever it stands. */
enum { RANK_BESIDE = ARRAY_LEN(kinds), RANK_WORKLOAD };

static unsigned rank_of(const struct document *document)
{
        const struct kind *kind = kind_of(document);

        return kind                  ? (unsigned)(kind - kinds)
               : beside_of(document) ? RANK_BESIDE
                                     : RANK_WORKLOAD;
}

static int put_ranked(struct talk *talk, const struct document *document, unsigned rank,
                      struct err *err)
{
        return rank == RANK_WORKLOAD ? put_workload(talk, document, err)
               : rank == RANK_BESIDE ? put_beside(talk, document, err)
                                     : put(talk, document, &kinds[rank], err);
}

static int apply_rank(struct talk *talk, const struct documents *documents, unsigned rank,
                      struct err *err)
{
        int rc = 0;

        for (size_t d = 0; rc == 0 && d < documents->count; d++) {
                const struct document *document = &documents->list[d];
                if (rank_of(document) != rank)
                        continue;
                rc = put_ranked(talk, document, rank, err);
                if (rc < 0 && talk->code == EXIT_NOT_FOUND) /* what a document names */
                        talk->code = EXIT_BAD_INPUT;
                if (rc < 0 && talk->code != EXIT_NO_ANSWER)
                        documents_blame(documents->path, err);
        }
        return rc;
}

static int run(const struct command_call *call)
{
        struct documents *files[COMMAND_ARGUMENTS_MAX] = {NULL};
        struct err err = {0};
        struct talk talk;
        int rc = talk_open(call, &talk, &err);

        for (size_t f = 0; rc == 0 && f < call->arguments_count; f++) {
                rc = documents_load(call->arguments[f], &files[f], &err);
                if (rc == 0)
                        rc = check_kinds(files[f], &err);
        }
        for (unsigned rank = 0; rc == 0 && rank <= RANK_WORKLOAD; rank++)
                for (size_t f = 0; rc == 0 && f < call->arguments_count; f++)
                        rc = apply_rank(&talk, files[f], rank, &err);
        for (size_t f = 0; f < call->arguments_count; f++)
                documents_free(files[f]);
        return talk_close(&talk, rc, &err);
}

const struct command apply_command = {
        .name = "apply",
        .group = GROUP_OPERATE,
        .is_live = true,
        .arguments = "FILE ...",
        .arguments_min = 1,
        .arguments_max = COMMAND_ARGUMENTS_MAX,
        .summary = "put the documents of files in force: pool, policy, workloads",
        .details = details,
        .options = options,
        .run = run,
};
