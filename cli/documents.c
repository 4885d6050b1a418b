#include "cli/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define YAML_TYPE "application/yaml"
#define JSON_TYPE "application/json"

/* Whether a line divides documents. */
static bool is_divider(const char *line)
{
        return strncmp(line, "---", 3) == 0 && (line[3] == '\0' || strchr(" \t\r\n", line[3]));
}

static const char *next_line(const char *line)
{
        const char *end = strchr(line, '\n');

        return end ? end + 1 : line + strlen(line);
}

/* The part of the file in which the root stands, all lines before it empty. */
static void cut(const char *bytes, unsigned root_line, struct text *body)
{
        const char *start = bytes, *line = bytes;
        unsigned number = 1, start_number = 1;

        for (; *line && number <= root_line; line = next_line(line), number++) {
                if (!is_divider(line))
                        continue;
                start = line;
                start_number = number;
        }
        while (*line && !is_divider(line))
                line = next_line(line);
        for (unsigned i = 1; i < start_number; i++)
                text_add(body, "\n");
        text_add_bytes(body, start, (size_t)(line - start));
}

static bool is_json(const char *path)
{
        size_t length = strlen(path);

        return length > 5 && str_equal(path + length - 5, ".json");
}

static int fill(struct documents *documents, const char *bytes, struct err *err)
{
        const struct doc *doc = documents->doc;
        const struct doc_node *kind;

        documents->count = doc_count(doc);
        documents->list = mem_new(documents->count, sizeof *documents->list);
        if (!documents->list) {
                documents->count = 0;
                return err_set(err, ERR_NOMEM, "out of memory");
        }
        for (size_t i = 0; i < documents->count; i++) {
                struct document *document = &documents->list[i];
                document->root = doc_root(doc, i);
                int rc = doc_need(document->root, "kind", &kind, err);
                if (rc == 0)
                        rc = doc_text(kind, 1, 64, &document->kind, err);
                if (rc < 0)
                        return rc;
                document->type = is_json(documents->path) ? JSON_TYPE : YAML_TYPE;
                cut(bytes, doc_line(document->root), &document->body);
                if (document->body.failed)
                        return err_set(err, ERR_NOMEM, "out of memory");
        }
        return 0;
}

int documents_load(const char *path, struct documents **ret_documents, struct err *err)
{
        bool is_input = str_equal(path, "-");
        struct documents *documents = mem_new(1, sizeof *documents);
        char *bytes = NULL;
        size_t size = 0;

        if (!documents)
                return err_set(err, ERR_NOMEM, "out of memory");
        documents->path = path;
        int rc = file_read(is_input ? "/dev/stdin" : path, DOC_BYTES_MAX, &bytes, &size, err);
        if (rc == 0 && is_json(path))
                rc = doc_read_json(path, bytes, size, &documents->doc, err);
        else if (rc == 0)
                rc = doc_read_yaml(is_input ? "standard input" : path, bytes, size, &documents->doc,
                                   err);
        if (rc == 0)
                rc = fill(documents, bytes, err);
        mem_free(bytes);
        if (rc < 0)
                documents_free(documents);
        else
                *ret_documents = documents;
        return rc;
}

void documents_free(struct documents *documents)
{
        for (size_t i = 0; documents && i < documents->count; i++)
                text_done(&documents->list[i].body);
        if (documents) {
                mem_free(documents->list);
                doc_free(documents->doc);
        }
        mem_free(documents);
}

/* ---- hold ---- */

/* Where the braces of a document in one piece open; NULL: it is written in lines. */
static const char *opening(const char *body)
{
        for (const char *line = body; *line; line = next_line(line)) {
                const char *at = line + (is_divider(line) ? 3 : 0);
                at += strspn(at, " \t\r\n");
                if (*at == '{')
                        return at;
                if (*at && *at != '#' && at < next_line(line))
                        return NULL;
        }
        return NULL;
}

static bool is_held(const char *body)
{
        struct doc *doc = NULL;
        bool hold = false;
        int rc = doc_read_yaml("", body, strlen(body), &doc, NULL);

        if (rc == 0)
                rc = doc_bool(doc_get(doc_root(doc, 0), "hold"), &hold, NULL);
        doc_free(doc);
        return rc == 0 && hold;
}

int document_hold(struct document *document, struct err *err)
{
        const char *body = document->body.bytes, *brace = opening(body);
        const struct doc_node *hold = doc_get(document->root, "hold");
        struct text made = {0};

        if (hold && is_held(body))
                return 0;
        if (brace) {
                text_add_bytes(&made, body, (size_t)(brace + 1 - body));
                text_add(&made, "\"hold\": true, %s", brace + 1);
        } else {
                text_add(&made, "%s\nhold: true\n", body);
        }
        if (hold || made.failed || !is_held(made.bytes)) {
                text_done(&made);
                return err_set(err, ERR_INPUT,
                               "--hold cannot be added; write hold: true into the "
                               "file");
        }
        text_done(&document->body);
        document->body = made;
        return 0;
}

/* ---- what the server says ---- */

void documents_blame(const char *path, struct err *err)
{
        static const char *const names[] = {"workload:", "policy:", "pool:"};
        char rest[sizeof err->text];

        for (size_t n = 0; n < ARRAY_LEN(names); n++) {
                size_t length = strlen(names[n]), digits;
                if (strncmp(err->text, names[n], length) != 0)
                        continue;
                digits = strspn(err->text + length, "0123456789");
                if (digits == 0 || err->text[length + digits] != ':')
                        continue;
                if (path) {
                        (void)str_copy(rest, sizeof rest, err->text + length);
                        err_set(err, err->code, "%s:%s", path, rest);
                } else {
                        length += digits + 1;
                        length += strspn(err->text + length, " ");
                        (void)str_copy(rest, sizeof rest, err->text + length);
                        err_set(err, err->code, "%s", rest);
                }
                return;
        }
        if (path)
                err_prefix(err, "%s", path);
}
