#include "net/sse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/text.h"

#define LINE_MAX_BYTES (SSE_DATA_MAX + 16)
#define RETRY_MS_MAX   3600000

/* ---- writing ---- */

void sse_write(struct text *text, uint64_t id, const char *name, const char *data)
{
        assert(!strchr(data, '\r'));
        assert(!name || !strpbrk(name, "\r\n"));

        text_add(text, "id:%" PRIu64 "\n", id);
        if (name)
                text_add(text, "event:%s\n", name);
        for (;;) {
                size_t length = strcspn(data, "\n");
                text_add(text, "data:%.*s\n", (int)length, data);
                if (!data[length])
                        break;
                data += length + 1;
        }
        text_add(text, "\n");
}

void sse_write_retry(struct text *text, uint32_t retry_ms)
{
        text_add(text, "retry:%" PRIu32 "\n\n", retry_ms);
}

int sse_last_id(const char *header, uint64_t *ret_id, struct err *err)
{
        if (!header || !header[0]) {
                *ret_id = 0;
                return 0;
        }
        char shown[STR_SHOW_MAX];
        if (num_u64(header, 0, UINT64_MAX, ret_id, NULL) < 0)
                return err_set(err, ERR_INPUT, "Last-Event-ID: '%s' is no id of this stream",
                               str_show(header, shown));
        return 0;
}

/* ---- reading ---- */

struct buffer {
        char *bytes;
        size_t size, room;
};

struct sse_reader {
        struct buffer line;
        struct buffer data;
        char id[SSE_ID_MAX];      /* of the last event that ended */
        char next_id[SSE_ID_MAX]; /* of the one that is being read: half of it is not seen */
        char name[SSE_NAME_MAX];
        int64_t retry_ms;
        bool has_data, after_cr, is_begun, is_over;
};

static int buffer_add(struct buffer *buffer, const char *bytes, size_t size, size_t size_max)
{
        if (size > size_max - buffer->size)
                return -ERR_RANGE;
        size_t wanted = buffer->size + size + 1;
        if (wanted > buffer->room) {
                size_t room = buffer->room ? buffer->room : 512;
                while (room < wanted)
                        room *= 2;
                char *grown = mem_resize(buffer->bytes, buffer->room, room, 1);
                if (!grown)
                        return -ERR_NOMEM;
                buffer->bytes = grown;
                buffer->room = room;
        }
        if (size > 0)
                memcpy(buffer->bytes + buffer->size, bytes, size);
        buffer->size += size;
        buffer->bytes[buffer->size] = '\0';
        return 0;
}

struct sse_reader *sse_reader_new(void)
{
        struct sse_reader *reader = mem_new(1, sizeof *reader);

        if (reader)
                reader->retry_ms = -1;
        return reader;
}

void sse_reader_free(struct sse_reader *reader)
{
        if (!reader)
                return;
        mem_free(reader->line.bytes);
        mem_free(reader->data.bytes);
        mem_free(reader);
}

const char *sse_reader_id(const struct sse_reader *reader)
{
        return reader->id;
}

bool sse_reader_seen(struct sse_reader *reader, const char *id)
{
        return str_copy(reader->id, sizeof reader->id, id) &&
               str_copy(reader->next_id, sizeof reader->next_id, id);
}

int64_t sse_reader_retry_ms(const struct sse_reader *reader)
{
        return reader->retry_ms;
}

static void clear_event(struct sse_reader *reader)
{
        reader->data.size = 0;
        reader->name[0] = '\0';
        reader->has_data = false;
}

void sse_reader_restart(struct sse_reader *reader)
{
        clear_event(reader);
        memcpy(reader->next_id, reader->id, sizeof reader->next_id);
        reader->line.size = 0;
        reader->after_cr = reader->is_begun = false;
}

static int give_event(struct sse_reader *reader, sse_on_event *on_event, void *arg)
{
        memcpy(reader->id, reader->next_id, sizeof reader->id);
        struct sse_event event = {reader->id, reader->name[0] ? reader->name : "message",
                                  reader->data.size ? reader->data.bytes : ""};
        /* Without data there is no event; the name is forgotten all the same. */
        int rc = reader->has_data ? on_event(&event, arg) : 0;

        clear_event(reader);
        return rc;
}

static int take_field(struct sse_reader *reader, const char *field, const char *value)
{
        uint64_t retry_ms;

        if (str_equal(field, "data")) {
                int rc = reader->has_data ? buffer_add(&reader->data, "\n", 1, SSE_DATA_MAX) : 0;
                reader->has_data = true;
                return rc < 0 ? rc : buffer_add(&reader->data, value, strlen(value), SSE_DATA_MAX);
        }
        /* What does not fit was not sent by a server of ours: it is left out. */
        if (str_equal(field, "event"))
                str_copy(reader->name, sizeof reader->name, value);
        else if (str_equal(field, "id"))
                str_copy(reader->next_id, sizeof reader->next_id, value);
        else if (str_equal(field, "retry") && num_u64(value, 0, RETRY_MS_MAX, &retry_ms, NULL) == 0)
                reader->retry_ms = (int64_t)retry_ms;
        return 0;
}

/* One line, without its end. */
static int take_line(struct sse_reader *reader, sse_on_event *on_event, void *arg)
{
        char *line = reader->line.bytes;
        size_t size = reader->line.size;

        reader->line.size = 0;
        if (!reader->is_begun && size >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
                line += 3;
                size -= 3;
        }
        reader->is_begun = true;
        if (size == 0)
                return give_event(reader, on_event, arg);
        /* A NUL would cut the line short in what follows. */
        if (line[0] == ':' || memchr(line, '\0', size))
                return 0;
        char *value = strchr(line, ':');
        if (!value)
                return take_field(reader, line, "");
        *value++ = '\0';
        return take_field(reader, line, value + (*value == ' '));
}

static size_t line_length(const char *bytes, size_t size)
{
        size_t length = 0;

        while (length < size && bytes[length] != '\n' && bytes[length] != '\r')
                length++;
        return length;
}

static int read_bytes(struct sse_reader *reader, const char *bytes, size_t size,
                      sse_on_event *on_event, void *arg)
{
        while (size > 0) {
                /* CR LF is one end of a line, also when they come apart. */
                if (reader->after_cr && *bytes == '\n') {
                        reader->after_cr = false;
                        bytes++;
                        size--;
                        continue;
                }
                reader->after_cr = false;
                size_t length = line_length(bytes, size);
                int rc = buffer_add(&reader->line, bytes, length, LINE_MAX_BYTES);
                if (rc < 0)
                        return rc;
                if (length == size)
                        return 0;
                reader->after_cr = bytes[length] == '\r';
                bytes += length + 1;
                size -= length + 1;
                if ((rc = take_line(reader, on_event, arg)) < 0)
                        return rc;
        }
        return 0;
}

int sse_read(struct sse_reader *reader, const char *bytes, size_t size, sse_on_event *on_event,
             void *arg, struct err *err)
{
        assert(!reader->is_over);

        int rc = read_bytes(reader, bytes, size, on_event, arg);
        reader->is_over = rc < 0;
        if (rc == -ERR_RANGE)
                return err_set(err, ERR_RANGE, "an event of more than %u bytes", SSE_DATA_MAX);
        if (rc == -ERR_NOMEM)
                return err_set(err, ERR_NOMEM, "out of memory");
        return rc;
}
