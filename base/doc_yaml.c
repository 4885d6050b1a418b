#include <assert.h>
#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/doc_build.h"
#include "base/err.h"
#include "base/str.h"

/* Where the reader stands: in which container, and whether a key waits for its value. */
struct reader {
        struct doc *doc;
        struct doc_node *inside;        /* NULL: at a document's root */
        char *key;                      /* in the arena; NULL: none waits */
        unsigned key_line;
};

static unsigned line_of(const yaml_event_t *event)
{
        return (unsigned)event->start_mark.line + 1;
}

static int fail_parser(const struct doc *doc, const yaml_parser_t *parser, const char *bytes,
                       size_t size, struct err *err)
{
        unsigned line = (unsigned)parser->problem_mark.line + 1;
        if (parser->error == YAML_MEMORY_ERROR)
                return err_set(err, ERR_NOMEM, "%s: out of memory", doc->name);
        if (parser->error == YAML_READER_ERROR) {
                size_t offset = parser->problem_offset < size ? parser->problem_offset : size;
                line = doc_line_of(bytes, offset);
        }
        const char *problem = parser->problem ? parser->problem : "cannot be understood";
        if (parser->context)
                return doc_fail_line(doc, line, err, "is not YAML: %s, %s", parser->context,
                                     problem);
        return doc_fail_line(doc, line, err, "is not YAML: %s", problem);
}

static int read_key(struct reader *reader, const yaml_event_t *event, struct err *err)
{
        const char *text = (const char *)event->data.scalar.value;
        size_t length = event->data.scalar.length;
        bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (length == 0)
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "a key is empty; write 'key: value'");
        if (memchr(text, 0, length))
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "a key holds a NUL character; leave it out");
        if (is_plain && str_equal(text, "<<"))
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "merge keys ('<<') are not read; write the fields out");
        reader->key = arena_text(reader->doc->arena, text, length);
        if (!reader->key)
                return err_set(err, ERR_NOMEM, "%s: out of memory", reader->doc->name);
        reader->key_line = line_of(event);
        return 0;
}

static int refuse_extras(const struct reader *reader, const yaml_event_t *event,
                         const yaml_char_t *anchor, const yaml_char_t *tag, struct err *err)
{
        char show[STR_SHOW_MAX];
        if (anchor)
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "anchors ('&%s') are not read; write the value out where it "
                                     "is needed", str_show((const char *)anchor, show));
        if (tag) {
                /* libyaml has written the "!!" out by now. */
                static const char core[] = "tag:yaml.org,2002:";
                const char *text = (const char *)tag;
                bool is_core = strncmp(text, core, strlen(core)) == 0;
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "tags ('%s%s') are not read; leave it out",
                                     is_core ? "!!" : "",
                                     str_show(is_core ? text + strlen(core) : text, show));
        }
        return 0;
}

static int on_scalar(struct reader *reader, const yaml_event_t *event, struct err *err)
{
        int rc = refuse_extras(reader, event, event->data.scalar.anchor, event->data.scalar.tag,
                               err);
        if (rc < 0)
                return rc;
        if (reader->inside && reader->inside->kind == DOC_MAP && !reader->key)
                return read_key(reader, event, err);
        rc = doc_add_scalar(reader->doc, reader->inside, reader->key,
                            (const char *)event->data.scalar.value, event->data.scalar.length,
                            event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE,
                            reader->key ? reader->key_line : line_of(event), err);
        reader->key = NULL;
        return rc;
}

static int on_start(struct reader *reader, const yaml_event_t *event, enum doc_kind kind,
                    const yaml_char_t *anchor, const yaml_char_t *tag, struct err *err)
{
        int rc = refuse_extras(reader, event, anchor, tag, err);
        if (rc < 0)
                return rc;
        if (reader->inside && reader->inside->kind == DOC_MAP && !reader->key)
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "a key is a list or a map; write a plain 'key: value'");
        struct doc_node *node;
        rc = doc_add(reader->doc, reader->inside, reader->key, kind,
                     reader->key ? reader->key_line : line_of(event), &node, err);
        if (rc < 0)
                return rc;
        reader->inside = node;
        reader->key = NULL;
        return 0;
}

static int on_end(struct reader *reader, struct err *err)
{
        assert(reader->inside);
        assert(!reader->key);

        int rc = reader->inside->kind == DOC_MAP ? doc_check_unique(reader->inside, err) : 0;
        reader->inside = reader->inside->parent;
        return rc;
}

static int on_event(struct reader *reader, const yaml_event_t *event, struct err *err)
{
        switch (event->type) {
        case YAML_NO_EVENT:
        case YAML_STREAM_START_EVENT:
        case YAML_STREAM_END_EVENT:
        case YAML_DOCUMENT_END_EVENT:
                return 0;
        case YAML_DOCUMENT_START_EVENT:
                if (event->data.document_start.tag_directives.start !=
                    event->data.document_start.tag_directives.end)
                        return doc_fail_line(reader->doc, line_of(event), err,
                                             "%%TAG is not read; leave it out");
                return 0;
        case YAML_ALIAS_EVENT: {
                char show[STR_SHOW_MAX];
                return doc_fail_line(reader->doc, line_of(event), err,
                                     "aliases ('*%s') are not read; write the value out, or put "
                                     "quotes around a text that starts with '*'",
                                     str_show((const char *)event->data.alias.anchor, show));
        }
        case YAML_SCALAR_EVENT:
                return on_scalar(reader, event, err);
        case YAML_SEQUENCE_START_EVENT:
                return on_start(reader, event, DOC_LIST, event->data.sequence_start.anchor,
                                event->data.sequence_start.tag, err);
        case YAML_MAPPING_START_EVENT:
                return on_start(reader, event, DOC_MAP, event->data.mapping_start.anchor,
                                event->data.mapping_start.tag, err);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                return on_end(reader, err);
        }
        return 0;
}

static int read_events(struct doc *doc, const char *bytes, size_t size, struct err *err)
{
        yaml_parser_t parser;
        if (!yaml_parser_initialize(&parser))
                return err_set(err, ERR_NOMEM, "%s: out of memory", doc->name);
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);

        struct reader reader = {.doc = doc};
        int rc = 0;
        bool at_end = false;
        while (rc == 0 && !at_end) {
                yaml_event_t event;
                if (!yaml_parser_parse(&parser, &event)) {
                        rc = fail_parser(doc, &parser, bytes, size, err);
                        break;
                }
                rc = on_event(&reader, &event, err);
                at_end = event.type == YAML_STREAM_END_EVENT;
                yaml_event_delete(&event);
        }
        yaml_parser_delete(&parser);
        return rc;
}

int doc_read_yaml(const char *name, const char *bytes, size_t size, struct doc **ret_doc,
                  struct err *err)
{
        return doc_build(name, bytes, size, read_events, ret_doc, err);
}
