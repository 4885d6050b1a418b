#include "base/doc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/doc_build.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

int doc_read_file(const char *path, struct doc **ret_doc, struct err *err)
{
        assert(path);

        char *bytes;
        size_t size;
        int rc = file_read(path, DOC_BYTES_MAX, &bytes, &size, err);
        if (rc < 0)
                return rc;
        size_t length = strlen(path);
        bool is_json = length >= 5 && str_equal_nocase(path + length - 5, ".json");
        rc = is_json ? doc_read_json(path, bytes, size, ret_doc, err)
                     : doc_read_yaml(path, bytes, size, ret_doc, err);
        mem_free(bytes);
        return rc;
}

const char *doc_name(const struct doc *doc)
{
        return doc->name;
}

size_t doc_count(const struct doc *doc)
{
        return doc->roots_count;
}

const struct doc_node *doc_root(const struct doc *doc, size_t index)
{
        assert(index < doc->roots_count);
        return doc->roots[index];
}

const struct doc *doc_of(const struct doc_node *node)
{
        return node->doc;
}

enum doc_kind doc_kind(const struct doc_node *node)
{
        return (enum doc_kind)node->kind;
}

unsigned doc_line(const struct doc_node *node)
{
        return node->line;
}

const char *doc_key(const struct doc_node *node)
{
        return node->key;
}

const char *doc_raw(const struct doc_node *node)
{
        return node->text;
}

bool doc_is_quoted(const struct doc_node *node)
{
        return node->is_quoted;
}

size_t doc_length(const struct doc_node *node)
{
        return node ? node->length : 0;
}

const struct doc_node *doc_first(const struct doc_node *node)
{
        return node ? node->first : NULL;
}

const struct doc_node *doc_next(const struct doc_node *node)
{
        /* The next root belongs to another document. */
        return node->parent ? node->next : NULL;
}

const struct doc_node *doc_parent(const struct doc_node *node)
{
        return node->parent;
}

const struct doc_node *doc_get(const struct doc_node *map, const char *key)
{
        if (!map || map->kind != DOC_MAP)
                return NULL;
        DOC_EACH (child, map)
                if (str_equal(child->key, key))
                        return child;
        return NULL;
}

/* Written from the end: the innermost names matter most when there is no room for all. */
const char *doc_path(const struct doc_node *node, char buf[DOC_PATH_MAX])
{
        size_t start = DOC_PATH_MAX - 1;
        buf[start] = '\0';
        for (; node->parent; node = node->parent) {
                char part[STR_SHOW_MAX + 16];
                char show[STR_SHOW_MAX];
                if (node->key)
                        snprintf(part, sizeof part, "%s%s", node->parent->parent ? "." : "",
                                 str_show(node->key, show));
                else
                        snprintf(part, sizeof part, "[%u]", (unsigned)node->index);
                size_t length = strlen(part);
                if (length + strlen("...") > start) {
                        start -= 3;
                        memcpy(buf + start, "...", 3);
                        break;
                }
                start -= length;
                memcpy(buf + start, part, length);
        }
        memmove(buf, buf + start, DOC_PATH_MAX - start);
        return buf;
}

/* "pool.yaml:12: field 'a.b'", without the field for a root. */
static void write_place(const struct doc_node *node, char *buf, size_t size)
{
        char path[DOC_PATH_MAX];
        doc_path(node, path);
        if (path[0])
                snprintf(buf, size, "%s:%u: field '%s'", node->doc->name, (unsigned)node->line,
                         path);
        else
                snprintf(buf, size, "%s:%u", node->doc->name, (unsigned)node->line);
}

#define PLACE_MAX 300

int doc_fail(const struct doc_node *node, struct err *err, const char *format, ...)
{
        char place[PLACE_MAX];
        char sentence[sizeof ((struct err *)0)->text];
        va_list args;
        va_start(args, format);
        vsnprintf(sentence, sizeof sentence, format, args);
        va_end(args);
        write_place(node, place, sizeof place);
        return err_set(err, ERR_INPUT, "%s: %s", place, sentence);
}

int doc_blame(const struct doc_node *node, struct err *err)
{
        char place[PLACE_MAX];
        write_place(node, place, sizeof place);
        return err_prefix(err, "%s", place);
}
