#include "tests/unit/check.h"

#include <stdlib.h>

#include "base/csv.h"
#include "base/err.h"
#include "base/mem.h"

enum { NAME, CPU, NOTE, SKIPPED, COLUMNS };

static const struct csv_column columns[COLUMNS] = {
        [NAME] = {"name", CSV_REQUIRED},
        [CPU] = {"cpu_milli", CSV_REQUIRED},
        [NOTE] = {"note", CSV_OPTIONAL},
        [SKIPPED] = {"skipped", CSV_IGNORED},
};

static struct csv *open_text(const char *text)
{
        struct err err = {0};
        struct csv *csv = NULL;
        if (csv_new("t.csv", text, strlen(text), columns, COLUMNS, &csv, &err) < 0)
                fail_msg("%s", err.text);
        return csv;
}

static void rows_come_by_column_name(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "name,cpu_milli,note\na,1,x\nb,2,y\n",
                "name,cpu_milli,note\na,1,x\nb,2,y",
                "name,cpu_milli,note\r\na,1,x\r\nb,2,y\r\n",
                ("\xef\xbb\xbf" "note,skipped,name,cpu_milli\nx,?,a,1\ny,?,b,2\n"),
                "\"name\",\"cpu_milli\",\"note\"\n\"a\",\"1\",\"x\"\n\"b\",\"2\",\"y\"",
        };
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct csv *csv = open_text(texts[i]);
                struct err err = {0};
                assert_int_equal(csv_next(csv, &err), 1);
                assert_int_equal(csv_line(csv), 2);
                assert_string_equal(csv_raw(csv, NAME), "a");
                assert_string_equal(csv_raw(csv, NOTE), "x");
                uint64_t cpu = 0;
                assert_int_equal(csv_u64(csv, CPU, 0, 9, &cpu, &err), 0);
                assert_int_equal(cpu, 1);
                assert_int_equal(csv_next(csv, &err), 1);
                assert_string_equal(csv_raw(csv, NAME), "b");
                assert_int_equal(csv_next(csv, &err), 0);
                assert_int_equal(csv_next(csv, &err), 0);
                csv_free(csv);
        }
        csv_free(NULL);
}

static void quotes_hold_commas_quotes_and_line_breaks(void **state)
{
        (void)state;
        struct csv *csv = open_text("name,cpu_milli,note\n"
                                    "\"a,\"\"b\"\"\r\nc\",1,\"\"\n"
                                    "next,2,\"\"\"\"\n"
                                    "\"\",3,\n");
        struct err err = {0};
        assert_int_equal(csv_next(csv, &err), 1);
        assert_string_equal(csv_raw(csv, NAME), "a,\"b\"\r\nc");
        assert_string_equal(csv_raw(csv, NOTE), "");
        assert_int_equal(csv_next(csv, &err), 1);
        assert_int_equal(csv_line(csv), 4);
        assert_string_equal(csv_raw(csv, NOTE), "\"");
        assert_int_equal(csv_next(csv, &err), 1);
        assert_string_equal(csv_raw(csv, NAME), "");
        assert_int_equal(csv_next(csv, &err), 0);
        csv_free(csv);
}

static void bad_headers_are_refused(void **state)
{
        (void)state;
        static const struct { const char *text, *sentence; } rows[] = {
                {"", "t.csv:1: is empty; the first line names the columns"},
                {"\xef\xbb\xbf", "t.csv:1: is empty"},
                {"\n", "t.csv:1: the line is empty"},
                {"name\n", "t.csv:1: column 'cpu_milli' is not among the columns"},
                {"name,cpu_mili\n", "column 'cpu_milli' is not among the columns that the line "
                                    "names; did you mean 'cpu_mili'?"},
                {"name,cpu_milli,nte\n", "column 'nte' is not known here; did you mean 'note'"},
                {"name,cpu_milli,name\n", "column 'name' stands twice"},
                {"name,cpu_milli,\n", "column '' is not known here"},
                {"Name,cpu_milli\n", "column 'name' is not among"},
                {"name;cpu_milli\n", "column 'name' is not among"},
                {"name, cpu_milli\n", "column 'cpu_milli' is not among"},
                {"name,cpu_milli\xff\n", "t.csv:1: byte 0xff is not UTF-8"},
                {"name,cpu_milli\na,1\n\xc3(,1\n", "t.csv:3: byte 0xc3 is not UTF-8"},
                {"\xff\xfen\0a\0", "t.csv:1: byte 0xff is not UTF-8"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct err err = {0};
                struct csv *csv = NULL;
                int rc = csv_new("t.csv", rows[i].text, strlen(rows[i].text), columns, COLUMNS,
                                 &csv, &err);
                assert_int_equal(rc, -ERR_INPUT);
                assert_null(csv);
                check_has(err.text, rows[i].sentence);
        }
        struct err err = {0};
        struct csv *csv = NULL;
        assert_int_equal(csv_new("t.csv", "name,cpu_milli\na,\0\n", 19, columns, COLUMNS, &csv,
                                 &err), -ERR_INPUT);
        check_has(err.text, "t.csv:2: holds a NUL byte");
}

static void bad_rows_are_refused_again_and_again(void **state)
{
        (void)state;
        static const struct { const char *rows, *sentence; } rows[] = {
                {"a\n", "t.csv:2: the row has 1 fields and the first line names 2 columns"},
                {"a,1,2\n", "t.csv:2: the row has 3 fields"},
                {"a,1\n\nb,2\n", "t.csv:3: the line is empty"},
                {"a,1\n\n", "t.csv:3: the line is empty"},
                {"a,1\r\n\r\n", "t.csv:3: the line is empty"},
                {"a\"b,1\n", "t.csv:2: a quote"},
                {"a\"b\",1\n", "t.csv:2: a quote stands inside a field"},
                {"\"a\"b,1\n", "t.csv:2: text follows a closing quote"},
                {"\"a\n,1\n", "t.csv:2: a quote is opened and never closed"},
                {"\"a\" ,1\n", "t.csv:2: text follows a closing quote"},
                {"a,1\rb,2\n", "t.csv:2: a CR stands without LF"},
                {"a,1\r", "t.csv:2: a CR stands without LF"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[200];
                snprintf(text, sizeof text, "name,cpu_milli\n%s", rows[i].rows);
                struct csv *csv = open_text(text);
                struct err err = {0};
                int rc;
                do
                        rc = csv_next(csv, &err);
                while (rc > 0);
                assert_int_equal(rc, -ERR_INPUT);
                check_has(err.text, rows[i].sentence);
                struct err again = {0};
                assert_int_equal(csv_next(csv, &again), -ERR_INPUT);
                assert_string_equal(again.text, err.text);
                assert_int_equal(csv_next(csv, NULL), -ERR_INPUT);
                csv_free(csv);
        }
}

static int read_long_row(size_t row_bytes, struct err *err)
{
        static const char header[] = "name,cpu_milli\n";
        size_t size = strlen(header) + row_bytes;
        char *text = malloc(size);
        assert_non_null(text);
        memset(text, 'x', size);
        memcpy(text, header, strlen(header));
        memcpy(text + size - 3, ",1\n", 3);
        struct csv *csv = NULL;
        assert_int_equal(csv_new("t.csv", text, size, columns, COLUMNS, &csv, err), 0);
        int rc = csv_next(csv, err);
        if (rc > 0)
                assert_int_equal(strlen(csv_raw(csv, NAME)), row_bytes - 3);
        csv_free(csv);
        free(text);
        return rc;
}

static void rows_have_a_bound(void **state)
{
        (void)state;
        struct err err = {0};
        assert_int_equal(read_long_row(CSV_ROW_BYTES_MAX, &err), 1);
        assert_int_equal(read_long_row(CSV_ROW_BYTES_MAX + 1, &err), -ERR_INPUT);
        check_has(err.text, "t.csv:2: the row is longer than 1048576 bytes");
        assert_int_equal(read_long_row(10u << 20, &err), -ERR_INPUT);
        check_has(err.text, "t.csv:2: the row is longer than 1048576 bytes");
}

static void many_columns_are_refused(void **state)
{
        (void)state;
        char text[1000] = "name,cpu_milli";
        for (int i = 0; i < CSV_COLUMNS_MAX; i++)
                strcat(text, ",x");
        struct err err = {0};
        struct csv *csv = NULL;
        assert_int_equal(csv_new("t.csv", text, strlen(text), columns, COLUMNS, &csv, &err),
                         -ERR_INPUT);
        check_has(err.text, "has 66 columns; at most 64 are read");
        strcpy(text, "name,cpu_milli\na,1");
        for (int i = 0; i < 400; i++)
                strcat(text, ",");
        csv = open_text(text);
        assert_int_equal(csv_next(csv, &err), -ERR_INPUT);
        check_has(err.text, "t.csv:2: the row has 402 fields");
        csv_free(csv);
}

static void fields_decode_or_name_their_place(void **state)
{
        (void)state;
        struct csv *csv = open_text("name,cpu_milli\nnode,12x\n,-1\n");
        struct err err = {0};
        uint64_t value = 7;
        uint32_t small = 7;
        int64_t number = 7;
        const char *text = "unset";
        assert_false(csv_has(csv, NOTE));
        assert_true(csv_has(csv, CPU));
        assert_int_equal(csv_next(csv, &err), 1);
        assert_int_equal(csv_u64(csv, CPU, 0, 99, &value, &err), -ERR_INPUT);
        assert_string_equal(err.text, "t.csv:2: column 'cpu_milli': '12x' is not a whole number; "
                                      "write for example 12");
        assert_int_equal(csv_text(csv, NAME, 1, 4, &text, &err), 0);
        assert_string_equal(text, "node");
        assert_int_equal(csv_text(csv, NAME, 1, 3, &text, &err), -ERR_INPUT);
        check_has(err.text, "t.csv:2: column 'name': is 4 bytes long; write 1 to 3");
        assert_string_equal(csv_raw(csv, NOTE), "");
        assert_int_equal(csv_text(csv, NOTE, 1, 3, &text, &err), 0);    /* absent */
        assert_string_equal(text, "node");
        assert_int_equal(csv_next(csv, &err), 1);
        assert_int_equal(csv_u32(csv, CPU, 0, 99, &small, &err), -ERR_RANGE);
        assert_int_equal(err.code, ERR_RANGE);
        check_has(err.text, "t.csv:3: column 'cpu_milli': '-1' is negative");
        assert_int_equal(csv_u32(csv, CPU, 0, 99, &small, NULL), -ERR_RANGE);
        assert_int_equal(csv_milli(csv, CPU, 0, 99, &value, &err), -ERR_RANGE);
        assert_int_equal(csv_i64(csv, CPU, -5, 5, &number, &err), 0);
        assert_int_equal(number, -1);
        assert_int_equal(csv_text(csv, NAME, 1, 3, &text, &err), -ERR_INPUT);
        check_has(err.text, "is empty; write a text");
        assert_true(value == 7 && small == 7);
        assert_int_equal(csv_fail_row(csv, &err, "is %s", "odd"), -ERR_INPUT);
        assert_string_equal(err.text, "t.csv:3: is odd");
        csv_free(csv);
}

static void no_memory_is_an_error(void **state)
{
        (void)state;
        static const char text[] = "name,cpu_milli\na,1\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,2\n";
        for (unsigned long n = 1;; n++) {
                struct err err = {0};
                struct csv *csv = NULL;
                mem_fail_at(n);
                int rc = csv_new("t.csv", text, strlen(text), columns, COLUMNS, &csv, &err);
                while (rc >= 0 && (rc = csv_next(csv, &err)) > 0)
                        ;
                bool happened = mem_fail_happened();
                mem_fail_at(0);
                csv_free(csv);
                assert_int_equal(rc, happened ? -ERR_NOMEM : 0);
                if (!happened)
                        break;
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rows_come_by_column_name),
                cmocka_unit_test(quotes_hold_commas_quotes_and_line_breaks),
                cmocka_unit_test(bad_headers_are_refused),
                cmocka_unit_test(bad_rows_are_refused_again_and_again),
                cmocka_unit_test(rows_have_a_bound),
                cmocka_unit_test(many_columns_are_refused),
                cmocka_unit_test(fields_decode_or_name_their_place),
                cmocka_unit_test(no_memory_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
