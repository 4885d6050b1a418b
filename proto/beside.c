#include "proto/beside.h"

#include <stdbool.h>
#include <string.h>

#include "base/doc.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

/* One document of a text, with the line before it. */
struct piece {
        const char *at;
        size_t size;
};

static bool is_cut(const char *line, const char *end)
{
        return end - line >= 3 && memcmp(line, "---", 3) == 0 &&
               (end - line == 3 || strchr(" \t\r\n", line[3]));
}

/* Whether it is more than comments and empty lines. */
static bool says_something(const struct piece *piece)
{
        const char *end = piece->at + piece->size;

        for (const char *line = piece->at; line < end;) {
                const char *next = memchr(line, '\n', (size_t)(end - line));
                const char *stop = next ? next : end, *at = line;
                at += is_cut(line, end) ? 3 : 0;
                while (at < stop && strchr(" \t\r", *at))
                        at++;
                if (at < stop && *at != '#')
                        return true;
                line = stop + 1;
        }
        return false;
}

/* The next one from *at on; false: there is none. Comments before the first cut go with what is
 * behind it; between two cuts stands a document, be it empty. */
static bool next_piece(const char **at, const char *end, struct piece *ret_piece)
{
        struct piece piece = {.at = *at};
        const char *line = *at;
        bool was_cut = false;

        if (*at >= end)
                return false;
        do {
                const char *next = memchr(line, '\n', (size_t)(end - line));
                was_cut = was_cut || is_cut(line, end);
                line = next ? next + 1 : end;
                piece.size = (size_t)(line - piece.at);
        } while (line < end && !(is_cut(line, end) && (was_cut || says_something(&piece))));
        *at = line;
        *ret_piece = piece;
        return true;
}

/* Whether it is of the kind; its name, cut to `name`'s size. */
static bool is_small(const struct piece *piece, const char *kind, char *name, size_t size)
{
        const char *is = NULL, *called = NULL;
        struct doc *doc;
        bool small = false;

        if (doc_read_yaml("", piece->at, piece->size, &doc, NULL) < 0)
                return false;
        if (doc_count(doc) == 1 &&
            doc_text(doc_get(doc_root(doc, 0), "kind"), 1, 64, &is, NULL) == 0 && is &&
            doc_text(doc_get(doc_root(doc, 0), "name"), 1, size - 1, &called, NULL) == 0 && called)
                small = str_equal(is, kind) && str_copy(name, size, called);
        doc_free(doc);
        return small;
}

#define NAME_BYTES 256

/* Without the blank lines around it: a file's may stand for its other documents. */
static struct piece trimmed(const char *document)
{
        struct piece piece = {document, strlen(document)};

        while (piece.size > 0 && strchr(" \t\r\n", piece.at[piece.size - 1]))
                piece.size--;
        for (; piece.size > 0 && strchr("\r\n", *piece.at); piece.size--)
                piece.at++;
        return piece;
}

size_t beside_main(const char *text, const char *kind)
{
        const char *end = text + strlen(text), *at = text;
        char name[NAME_BYTES];
        struct piece piece;

        while (next_piece(&at, end, &piece))
                if (piece.at != text && is_small(&piece, kind, name, sizeof name))
                        return (size_t)(piece.at - text);
        return strlen(text);
}

/* A document begins on a line of its own, behind a line that parts it from the one before. */
static void add_piece(struct text *text, const struct piece *piece)
{
        if (text->size > 0 && text->bytes[text->size - 1] != '\n')
                text_add(text, "\n");
        if (text->size > 0 && !is_cut(piece->at, piece->at + piece->size))
                text_add(text, "---\n");
        text_add_bytes(text, piece->at, piece->size);
}

static void add_small(struct text *text, const struct piece *piece)
{
        add_piece(text, piece);
        text_add(text, "\n");
}

/* Of all of the kind, each with the NUL behind it: the text is read once, for it may be large. */
static void list_names(const char *text, const char *kind, struct text *names)
{
        const char *end = text + strlen(text), *at = text;
        char name[NAME_BYTES];
        struct piece piece;

        while (next_piece(&at, end, &piece))
                if (is_small(&piece, kind, name, sizeof name))
                        text_add_bytes(names, name, strlen(name) + 1);
}

static bool is_listed(const struct text *names, const char *name)
{
        for (size_t at = 0; at < names->size; at += strlen(names->bytes + at) + 1)
                if (str_equal(names->bytes + at, name))
                        return true;
        return false;
}

static int finish(struct text *text, struct err *err)
{
        return text->failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

int beside_set(const char *text, const char *kind, const char *name, const char *document,
               struct text *ret_text, struct err *err)
{
        const char *end = text + strlen(text), *at = text;
        struct piece piece, put = trimmed(document ? document : "");
        char called[NAME_BYTES];
        bool found = false;

        if (document && (!is_small(&put, kind, called, sizeof called) || !str_equal(called, name)))
                return err_set(err, ERR_INPUT, "this is no document 'kind: %s' with the name '%s'",
                               kind, name);
        while (next_piece(&at, end, &piece)) {
                bool is_it = is_small(&piece, kind, called, sizeof called) &&
                             str_equal(called, name);
                if (!is_it)
                        add_piece(ret_text, &piece);
                else if (document && !found)
                        add_small(ret_text, &put);
                found = found || is_it;
        }
        if (!found && !document)
                return err_set(err, ERR_NOT_FOUND, "there is no %s '%s'", kind, name);
        if (!found)
                add_small(ret_text, &put);
        return finish(ret_text, err);
}

int beside_carry(const char *text, const char *before, const char *kind, struct text *ret_text,
                 struct err *err)
{
        const char *end = before + strlen(before), *at = before;
        const struct piece all = {text, strlen(text)};
        struct text names = {0};
        char name[NAME_BYTES];
        struct piece piece;

        list_names(text, kind, &names);
        add_piece(ret_text, &all);
        while (next_piece(&at, end, &piece))
                if (is_small(&piece, kind, name, sizeof name) && !is_listed(&names, name))
                        add_piece(ret_text, &piece);
        ret_text->failed |= names.failed;
        text_done(&names);
        return finish(ret_text, err);
}
