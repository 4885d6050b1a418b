#include "base/doc_edit.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc_build.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define KEY_BYTES 128                   /* of a key that is assigned to, the NUL included */

/* ---- comparing ---- */

static bool equal_maps(const struct doc_node *a, const struct doc_node *b)
{
        DOC_EACH(child, a) {
                const struct doc_node *other = doc_get(b, child->key);
                if (!other || !doc_equal(child, other))
                        return false;
        }
        return true;                    /* keys are unique, and there are as many */
}

static bool equal_lists(const struct doc_node *a, const struct doc_node *b)
{
        const struct doc_node *other = b->first;

        for (const struct doc_node *item = a->first; item; item = item->next, other = other->next)
                if (!doc_equal(item, other))
                        return false;
        return true;
}

bool doc_equal(const struct doc_node *a, const struct doc_node *b)
{
        if (a->kind != b->kind || a->length != b->length)
                return false;
        switch ((enum doc_kind)a->kind) {
        case DOC_NULL:
                return true;
        case DOC_SCALAR:
                return str_equal(a->text, b->text);
        case DOC_LIST:
                return equal_lists(a, b);
        case DOC_MAP:
                return equal_maps(a, b);
        }
        return false;
}

/* ---- changing ---- */

static int copy_into(struct doc *doc, struct doc_node *parent, const struct doc_node *from,
                     struct err *err)
{
        struct doc_node *made;
        int rc;

        if (from->kind == DOC_SCALAR)
                return doc_add_scalar(doc, parent, from->key, from->text, strlen(from->text),
                                      from->is_quoted, parent->line, err);
        rc = doc_add(doc, parent, from->key, (enum doc_kind)from->kind, parent->line, &made, err);
        for (const struct doc_node *child = from->first; rc == 0 && child; child = child->next)
                rc = copy_into(doc, made, child, err);
        return rc;
}

/* Behind the last one, or where an older one of its key stands. */
static void place(struct doc_node *map, struct doc_node *older)
{
        struct doc_node **at = &map->first, *made = map->last, *before = NULL;

        for (struct doc_node *child = map->first; child != made; child = child->next)
                before = child;
        if (!older || older == made)
                return;
        before->next = NULL;
        map->last = before;
        while (*at != older)
                at = &(*at)->next;
        *at = made;
        made->next = older->next;
        if (map->last == older)
                map->last = made;
        map->length--;
}

static void take_away(struct doc_node *map, struct doc_node *child)
{
        struct doc_node **at = &map->first, *before = NULL;

        for (; *at != child; at = &(*at)->next)
                before = *at;
        *at = child->next;
        if (map->last == child)
                map->last = before;
        map->length--;
}

static void number_children(struct doc_node *map)
{
        uint32_t index = 0;

        for (struct doc_node *child = map->first; child; child = child->next)
                child->index = index++;
}

/* A value that is one text: without quotes where YAML takes it as it is. */
static int add_plain(struct doc *doc, struct doc_node *map, const char *key, const char *value,
                     struct err *err)
{
        bool is_plain = false;
        struct doc *read;

        if (doc_read_yaml("value", value, strlen(value), &read, NULL) == 0) {
                const struct doc_node *root = read->first_root;
                is_plain = read->roots_count == 1 && !root->is_quoted &&
                           (root->kind == DOC_NULL ||
                            (root->kind == DOC_SCALAR && str_equal(root->text, value)));
                doc_free(read);
        }
        return doc_add_scalar(doc, map, key, value, strlen(value), !is_plain, map->line, err);
}

static int add_value(struct doc *doc, struct doc_node *map, const char *key, const char *value,
                     struct err *err)
{
        char show[STR_SHOW_MAX];
        struct doc *read;
        int rc;

        if (value[0] != '{' && value[0] != '[')
                return add_plain(doc, map, key, value, err);
        rc = doc_read_yaml(key, value, strlen(value), &read, err);
        if (rc == -ERR_INPUT)
                return err_set(err, ERR_INPUT, "%s: '%s' is no map and no list; write for example "
                                               "near={prefer: rack}, or after=[a, b]",
                               key, str_show(value, show));
        if (rc)
                return rc;
        read->first_root->key = key;
        rc = read->roots_count == 1 ? copy_into(doc, map, read->first_root, err)
                                    : err_set(err, ERR_INPUT, "%s: is more than one value", key);
        doc_free(read);
        return rc;
}

static int set_key(struct doc *doc, struct doc_node *map, const char *key, const char *value,
                   struct err *err)
{
        /* The tree is the caller's, who gave it to be changed. */
        struct doc_node *older = (struct doc_node *)(uintptr_t)doc_get(map, key);
        struct doc_node *last = map->last;
        int rc = 0;

        if (value[0] == '\0' && older)
                take_away(map, older);
        else if (value[0] != '\0')
                rc = add_value(doc, map, key, value, err);
        if (rc == 0 && value[0] != '\0')
                place(map, older);
        else if (rc && map->last != last)
                take_away(map, map->last);
        number_children(map);
        return rc;
}

/* The map below `map` of that key; made where there is none, or nothing. */
static int enter(struct doc *doc, struct doc_node **map, const char *key, bool makes,
                 struct err *err)
{
        struct doc_node *found = (struct doc_node *)(uintptr_t)doc_get(*map, key);

        if (found && found->kind == DOC_NULL) {
                take_away(*map, found);
                found = NULL;
        }
        if (found && found->kind != DOC_MAP)
                return doc_fail(found, err, "holds no keys; write %s={...} to set it anew", key);
        if (!found && makes) {
                int rc = doc_add(doc, *map, key, DOC_MAP, (*map)->line, &found, err);
                if (rc)
                        return rc;
        }
        *map = found;
        return 0;
}

/* Whether all keys up to the equals sign can be ones. */
static bool keys_are_good(const char *at, const char *equals)
{
        for (; at <= equals; at++) {
                size_t length = strcspn(at, ".=");
                if (length == 0 || length >= KEY_BYTES)
                        return false;
                at += length;
        }
        return true;
}

int doc_assign(struct doc *doc, const struct doc_node *root, const char *assignment,
               struct err *err)
{
        struct doc_node *map = (struct doc_node *)(uintptr_t)root;
        const char *equals = strchr(assignment, '=');
        char key[KEY_BYTES], show[STR_SHOW_MAX];
        int rc = doc_check_map(root, err);

        if (rc)
                return rc;
        if (!str_is_utf8(assignment, strlen(assignment), NULL))
                return err_set(err, ERR_INPUT, "'%s' is not UTF-8", str_show(assignment, show));
        if (!equals || equals == assignment)
                return err_set(err, ERR_INPUT, "'%s' is no change; write key=value, for example "
                                               "each.devices=4", str_show(assignment, show));
        if (!keys_are_good(assignment, equals))
                return err_set(err, ERR_INPUT, "'%s' names no key; write for example "
                                               "each.devices=4",
                               str_show(assignment, show));
        for (const char *at = assignment;;) {
                size_t length = strcspn(at, ".=");
                memcpy(key, at, length);
                key[length] = '\0';
                if (at + length == equals)
                        return set_key(doc, map, key, equals + 1, err);
                rc = enter(doc, &map, key, equals[1] != '\0', err);
                if (rc || !map)
                        return rc;
                at += length + 1;
        }
}

/* ---- writing ---- */

static bool is_letter_or_digit(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* What reads as itself without quotes, wherever it stands. */
static bool is_word(const char *text)
{
        const char *start = text + (*text == '-' || *text == '+' || *text == '.');

        if (!is_letter_or_digit(*start) && *text != '/' && *text != '_')
                return false;
        for (const char *at = text; *at; at++)
                if (!is_letter_or_digit(*at) && !strchr("_-./+", *at))
                        return false;
        return !str_equal(text, "null");
}

/* What YAML does not take as it is, or takes for a line's end. */
static bool is_odd(uint32_t rune)
{
        return rune < 0x20 || (rune >= 0x7f && rune <= 0xa0) ||
               (rune >= 0x2000 && rune <= 0x202f) || (rune >= 0xfe00 && rune <= 0xffff);
}

static uint32_t take_rune(const char **at)
{
        const unsigned char *byte = (const unsigned char *)*at;
        unsigned more = byte[0] < 0x80 ? 0 : byte[0] < 0xe0 ? 1 : byte[0] < 0xf0 ? 2 : 3;
        uint32_t rune = more ? byte[0] & (0x3fu >> more) : byte[0];

        for (unsigned i = 1; i <= more; i++)
                rune = rune << 6 | (byte[i] & 0x3fu);
        *at += more + 1;
        return rune;
}

static void write_quoted(const char *text, struct text *out)
{
        text_add(out, "\"");
        for (const char *at = text, *from; *at;) {
                from = at;
                uint32_t rune = take_rune(&at);         /* documents are UTF-8 */
                if (is_odd(rune))
                        text_add(out, "\\u%04x", (unsigned)rune);
                else if (rune == '"' || rune == '\\')
                        text_add(out, "\\%c", (char)rune);
                else
                        text_add_bytes(out, from, (size_t)(at - from));
        }
        text_add(out, "\"");
}

/* A text that is no number and none of YAML's words reads the same without its quotes. */
static bool needs_quotes(const char *text)
{
        static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n"};
        bool starts = is_letter_or_digit(*text) && !(*text >= '0' && *text <= '9');

        for (size_t w = 0; w < ARRAY_LEN(words); w++)
                if (str_equal_nocase(text, words[w]))
                        return true;
        return !starts && *text != '/';
}

static void write_word(const char *text, bool is_quoted, struct text *out)
{
        if (is_word(text) && !(is_quoted && needs_quotes(text)))
                text_add(out, "%s", text);
        else
                write_quoted(text, out);
}

/* In one line. */
static void write_flow(const struct doc_node *node, struct text *out)
{
        bool is_map = node->kind == DOC_MAP;

        if (node->kind == DOC_NULL)
                text_add(out, "null");
        else if (node->kind == DOC_SCALAR)
                write_word(node->text, node->is_quoted, out);
        if (node->kind == DOC_NULL || node->kind == DOC_SCALAR)
                return;
        text_add(out, is_map ? "{" : "[");
        for (const struct doc_node *child = node->first; child; child = child->next) {
                if (is_map) {
                        write_word(child->key, false, out);
                        text_add(out, ": ");
                }
                write_flow(child, out);
                if (child->next)
                        text_add(out, ", ");
        }
        text_add(out, is_map ? "}" : "]");
}

/* Maps of the document's own keys in lines, what is inside of them in one line each: so people
 * write them. */
void doc_write(const struct doc_node *root, struct text *out)
{
        if (root->kind != DOC_MAP || root->length == 0) {
                write_flow(root, out);
                text_add(out, "\n");
                return;
        }
        for (const struct doc_node *child = root->first; child; child = child->next) {
                write_word(child->key, false, out);
                text_add(out, ": ");
                write_flow(child, out);
                text_add(out, "\n");
        }
}
