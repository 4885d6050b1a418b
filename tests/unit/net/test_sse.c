#include "tests/unit/check.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/sse.h"

/* Every event as "id|name|data;". */
static int note(const struct sse_event *event, void *arg)
{
        text_add(arg, "%s|%s|%s;", event->id, event->name, event->data);
        return 0;
}

static void read_whole(const char *bytes, size_t piece, struct text *seen)
{
        struct sse_reader *reader = sse_reader_new();
        size_t size = strlen(bytes);

        assert_non_null(reader);
        for (size_t at = 0; at < size; at += piece) {
                size_t part = size - at < piece ? size - at : piece;
                assert_int_equal(sse_read(reader, bytes + at, part, note, seen, NULL), 0);
        }
        sse_reader_free(reader);
}

static void events_are_written_line_by_line(void **state)
{
        (void)state;
        struct text text = {0};
        sse_write(&text, 7, "queued", "{\"a\":1}");
        sse_write(&text, 8, NULL, "two\nlines\n");
        sse_write_retry(&text, 2500);
        sse_write(&text, UINT64_MAX, NULL, "");
        assert_string_equal(text.bytes, "id:7\nevent:queued\ndata:{\"a\":1}\n\n"
                                        "id:8\ndata:two\ndata:lines\ndata:\n\n"
                                        "retry:2500\n\n"
                                        "id:18446744073709551615\ndata:\n\n");
        struct text seen = {0};
        read_whole(text.bytes, 1, &seen);
        assert_string_equal(seen.bytes, "7|queued|{\"a\":1};8|message|two\nlines\n;"
                                        "18446744073709551615|message|;");
        text_done(&seen);
        text_done(&text);
}

/* The rules of the standard; each in pieces of every size. */
static void streams_are_read_as_the_standard_says(void **state)
{
        (void)state;
        static const struct {
                const char *in, *out;
        } rows[] = {
                {"data:a\n\n", "|message|a;"},
                {"data: a\n\n", "|message|a;"},
                {"data:  a\n\n", "|message| a;"},
                {"data\n\n", "|message|;"},
                {"data:a\r\n\r\n", "|message|a;"},
                {"data:a\r\r", "|message|a;"},
                {"data:a\rdata:b\n\r\ndata:c\n\n", "|message|a\nb;|message|c;"},
                {"data:a\n", ""},
                {"event:x\n\ndata:a\n\n", "|message|a;"},
                {"id:1\n\ndata:a\n\n", "1|message|a;"},
                {"id:1\ndata:a\n\ndata:b\n\nid:\ndata:c\n\n",
                 "1|message|a;1|message|b;|message|c;"},
                {":comment\n:\n\ndata:a\n\n", "|message|a;"},
                {"unknown:x\ndata:a\n\n", "|message|a;"},
                {"Data:a\n\n", ""},
                {"\xef\xbb\xbf"
                 "data:a\n\n",
                 "|message|a;"},
                {"data:\xef\xbb\xbf\n\n", "|message|\xef\xbb\xbf;"},
                {"\n\n\ndata:a\n\n\n", "|message|a;"},
                {"data:a:b\n\n", "|message|a:b;"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                for (size_t piece = 1; piece <= strlen(rows[i].in); piece++) {
                        struct text seen = {0};
                        read_whole(rows[i].in, piece, &seen);
                        if (strcmp(seen.bytes ? seen.bytes : "", rows[i].out) != 0)
                                fail_msg("row %zu by %zu: '%s'", i, piece, seen.bytes);
                        text_done(&seen);
                }
        }
}

static void the_wait_is_remembered_and_half_an_event_forgotten(void **state)
{
        (void)state;
        struct sse_reader *reader = sse_reader_new();
        struct text seen = {0};
        static const char first[] = "retry:1500\nid:9\ndata:whole\n\nid:10\nevent:x\ndata:half";
        static const char second[] = "data:new\n\nretry:soon\nretry:99999999\n";
        assert_int_equal(sse_reader_retry_ms(reader), -1);
        assert_int_equal(sse_read(reader, first, sizeof first - 1, note, &seen, NULL), 0);
        assert_int_equal(sse_reader_retry_ms(reader), 1500);
        sse_reader_restart(reader);
        assert_int_equal(sse_read(reader, second, sizeof second - 1, note, &seen, NULL), 0);
        assert_int_equal(sse_reader_retry_ms(reader), 1500);
        assert_string_equal(seen.bytes, "9|message|whole;9|message|new;");
        assert_string_equal(sse_reader_id(reader), "9");
        text_done(&seen);
        sse_reader_free(reader);
        sse_reader_free(NULL);
}

static int end(const struct sse_event *event, void *arg)
{
        (void)event;
        (void)arg;
        return -ERR_EXISTS;
}

static void the_caller_may_end_it(void **state)
{
        (void)state;
        struct sse_reader *reader = sse_reader_new();
        assert_int_equal(sse_read(reader, "data:a\n\n", 8, end, NULL, NULL), -ERR_EXISTS);
        sse_reader_free(reader);
}

static void an_event_has_a_bound(void **state)
{
        (void)state;
        char *bytes = mem_new(SSE_DATA_MAX + 64, 1);
        struct err err;
        assert_non_null(bytes);
        for (unsigned over = 0; over < 2; over++) {
                struct sse_reader *reader = sse_reader_new();
                struct text seen = {0};
                memcpy(bytes, "data:", 5);
                memset(bytes + 5, 'x', SSE_DATA_MAX + over);
                memcpy(bytes + 5 + SSE_DATA_MAX + over, "\n\n", 2);
                assert_int_equal(
                        sse_read(reader, bytes, SSE_DATA_MAX + over + 7, note, &seen, &err),
                        over ? -ERR_RANGE : 0);
                text_done(&seen);
                sse_reader_free(reader);
        }
        check_has(err.text, "more than 1048576 bytes");
        /* Many small lines come to the same. */
        struct sse_reader *reader = sse_reader_new();
        int rc = 0;
        unsigned lines = 0;
        memset(bytes, 'x', 1029);
        memcpy(bytes, "data:", 5);
        bytes[1029] = '\n';
        while (rc == 0 && lines++ < 2000)
                rc = sse_read(reader, bytes, 1030, note, NULL, &err);
        assert_int_equal(rc, -ERR_RANGE);
        assert_int_equal(lines, 1024); /* each but the first costs a line break more */
        sse_reader_free(reader);
        mem_free(bytes);
}

static void last_ids_are_numbers_or_nothing(void **state)
{
        (void)state;
        static const struct {
                const char *header;
                int rc;
                uint64_t id;
        } rows[] = {
                {NULL, 0, 0},
                {"", 0, 0},
                {"0", 0, 0},
                {"17", 0, 17},
                {"18446744073709551615", 0, UINT64_MAX},
                {"18446744073709551616", -ERR_INPUT, 5},
                {"-1", -ERR_INPUT, 5},
                {" 1", -ERR_INPUT, 5},
                {"1 ", -ERR_INPUT, 5},
                {"abc", -ERR_INPUT, 5},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                uint64_t id = 5;
                struct err err = {0};
                assert_int_equal(sse_last_id(rows[i].header, &id, &err), rows[i].rc);
                assert_int_equal(id, rows[i].id);
                if (rows[i].rc < 0)
                        check_has(err.text, "Last-Event-ID: ");
        }
}

static void out_of_memory_is_said(void **state)
{
        (void)state;
        mem_fail_at(1);
        assert_null(sse_reader_new());
        struct sse_reader *reader = sse_reader_new();
        mem_fail_at(1);
        assert_int_equal(sse_read(reader, "data:a\n", 7, note, NULL, NULL), -ERR_NOMEM);
        mem_fail_at(0);
        sse_reader_free(reader);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(events_are_written_line_by_line),
                cmocka_unit_test(streams_are_read_as_the_standard_says),
                cmocka_unit_test(the_wait_is_remembered_and_half_an_event_forgotten),
                cmocka_unit_test(the_caller_may_end_it),
                cmocka_unit_test(an_event_has_a_bound),
                cmocka_unit_test(last_ids_are_numbers_or_nothing),
                cmocka_unit_test(out_of_memory_is_said),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
