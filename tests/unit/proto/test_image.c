/* Tables of structs as bytes: older and newer ones, and bytes that lie. */
#include "proto/image.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "tests/unit/proto/tables.h"

struct inner {
        uint8_t low;
        int32_t change;
};

struct row {
        uint64_t id;
        bool truth;
        uint8_t colour;                 /* a word */
        struct inner inner;
        uint8_t pairs_count;
        struct inner pairs[2];
};

static const char *colour_word(unsigned colour)
{
        return colour ? "green" : "red";
}

static const struct field inner_list[] = {FIELD(inner, low), FIELD(inner, change)};
static const struct fields inner_fields = FIELDS(inner_list);
static const struct field row_list[] = {
        FIELD(row, id),
        FIELD(row, truth),
        FIELD_WORD(row, colour, colour_word, 2),
        FIELD_STRUCT_OF(row, inner, inner_fields),
        FIELD_LIST_OF(row, pairs, pairs_count, inner_fields),
};
static const struct fields row_fields = FIELDS(row_list);
/* As an older version knew it, and in another order. */
static const struct field older_list[] = {FIELD_STRUCT_OF(row, inner, inner_fields),
                                          FIELD(row, id)};
static const struct fields older_fields = FIELDS(older_list);

enum { ROWS = 3, TABLE_HEAD = 1 + 4 + 8 };      /* "rows" and the number of columns */

static struct row rows[ROWS];
static struct text image;

static int write_rows(void **state)
{
        uint64_t next = 0;

        (void)state;
        memset(rows, 0, sizeof rows);
        for (unsigned r = 0; r < ROWS; r++)
                fill(&row_fields, &rows[r], &next);
        image_write_rows(&image, "rows", &row_fields, rows, ROWS, sizeof rows[0]);
        assert_false(image.failed);
        return 0;
}

static int drop(void **state)
{
        (void)state;
        text_done(&image);
        return 0;
}

static int read_bytes(const void *bytes, size_t size, struct row *ret_rows, size_t *ret_count,
                      struct err *err)
{
        struct image_in in = {.at = bytes, .end = (const unsigned char *)bytes + size};
        int rc;

        *err = (struct err){0};
        memset(ret_rows, 0, ROWS * sizeof *ret_rows);
        rc = image_read_rows(&in, "rows", &row_fields, ret_rows, ROWS, sizeof *ret_rows, ret_count,
                             err);
        if (rc == 0)
                assert_ptr_equal(in.at, in.end);
        return rc;
}

static void must_refuse(int rc, const char *says)
{
        struct row back[ROWS];
        struct err err;
        size_t count = 77;
        int got = read_bytes(image.bytes, image.size, back, &count, &err);

        if (got != rc)
                fail_msg("%d instead of %d (%s)", got, rc, err.text);
        assert_string_equal(err.text, says);
        assert_int_equal(count, 77);
}

/* Where the column's name stands: its length is before it, its kind behind it. */
static size_t column_at(const char *name)
{
        for (size_t at = TABLE_HEAD; at + strlen(name) < image.size; at++)
                if ((size_t)image.bytes[at - 1] == strlen(name) &&
                    memcmp(image.bytes + at, name, strlen(name)) == 0)
                        return at;
        fail_msg("there is no column '%s'", name);
        return 0;
}

/* ---- there and back ---- */

static void rows_come_back(void **state)
{
        struct row back[ROWS];
        struct err err;
        size_t count;

        (void)state;
        if (read_bytes(image.bytes, image.size, back, &count, &err))
                fail_msg("%s", err.text);
        assert_int_equal(count, ROWS);
        for (unsigned r = 0; r < ROWS; r++)
                check_same(&row_fields, &back[r], &rows[r], sizeof back[r], "a row");
}

static void an_older_image_leaves_what_it_lacks_at_0(void **state)
{
        struct row back[ROWS];
        struct err err;
        size_t count;

        (void)state;
        text_done(&image);
        image_write_rows(&image, "rows", &older_fields, rows, ROWS, sizeof rows[0]);
        if (read_bytes(image.bytes, image.size, back, &count, &err))
                fail_msg("%s", err.text);
        assert_int_equal(count, ROWS);
        for (unsigned r = 0; r < ROWS; r++) {
                struct row wanted = {.id = rows[r].id, .inner = rows[r].inner};
                check_same(&row_fields, &back[r], &wanted, sizeof back[r], "a row");
        }
}

static void numbers_and_strings_come_back(void **state)
{
        static const int64_t numbers[] = {INT64_MIN, 0, INT64_MAX};
        struct image_in in;
        struct err err = {0};
        int64_t back[4];
        uint64_t strings;
        const void *bytes;
        size_t count, size;

        (void)state;
        text_done(&image);
        image_write_numbers(&image, "numbers", FIELD_I64, numbers, 3);
        image_begin_strings(&image, "words", 2);
        image_write_string(&image, "", 0);
        image_write_string(&image, "a\0b", 3);
        assert_false(image.failed);
        in.at = (const unsigned char *)image.bytes;
        in.end = in.at + image.size;
        assert_int_equal(image_read_numbers(&in, "numbers", FIELD_I64, back, 4, &count, &err), 0);
        assert_int_equal(count, 3);
        assert_memory_equal(back, numbers, sizeof numbers);
        assert_int_equal(image_read_strings(&in, "words", &strings, &err), 0);
        assert_int_equal(strings, 2);
        assert_int_equal(image_read_string(&in, &bytes, &size, &err), 0);
        assert_int_equal(size, 0);
        assert_int_equal(image_read_string(&in, &bytes, &size, &err), 0);
        assert_int_equal(size, 3);
        assert_memory_equal(bytes, "a\0b", 3);
        assert_int_equal(image_read_string(&in, &bytes, &size, &err), -ERR_INPUT);
        assert_string_equal(err.text, "snapshot: a string is cut short");
}

/* ---- others ---- */

static void a_newer_image_is_refused(void **state)
{
        (void)state;
        image.bytes[column_at("inner.low")] = 'I';
        must_refuse(-ERR_INPUT,
                    "snapshot: column 'Inner.low' of table 'rows' is not known: it was made by a "
                    "newer version");
}

static void a_column_of_another_kind_is_refused(void **state)
{
        (void)state;
        image.bytes[column_at("id") + 2] = FIELD_I64;
        must_refuse(-ERR_INPUT,
                    "snapshot: column 'id' of table 'rows' is not known: it was made by a newer "
                    "version");
}

static void a_column_that_stands_twice_is_refused(void **state)
{
        (void)state;
        memcpy(image.bytes + column_at("pairs.1.low"), "pairs.0.low", 11);
        must_refuse(-ERR_INPUT, "snapshot: column 'pairs.0.low' of table 'rows' stands twice");
}

static void another_table_is_refused(void **state)
{
        (void)state;
        image.bytes[1] = 'R';
        must_refuse(-ERR_INPUT, "snapshot: table 'rows' is not where it belongs");
}

static void set_u64(size_t at, uint64_t number)
{
        assert_true(at + sizeof number <= image.size);
        memcpy(image.bytes + at, &number, sizeof number);
}

static void counts_that_lie_are_refused(void **state)
{
        size_t row_bytes = 8 + 1 + 1 + 5 + 1 + 2 * 5;
        size_t count_at = image.size - ROWS * row_bytes - 8;

        (void)state;
        set_u64(count_at, ROWS + 1);
        must_refuse(-ERR_RANGE, "snapshot: table 'rows' has 4 rows; there is room for 3");
        set_u64(count_at, UINT64_MAX);
        must_refuse(-ERR_RANGE,
                    "snapshot: table 'rows' has 18446744073709551615 rows; there is room for 3");
        set_u64(count_at, ROWS);
        image.size--;
        must_refuse(-ERR_INPUT, "snapshot: table 'rows' is cut short");
        image.size++;
        set_u64(1 + 4, 0);
        must_refuse(-ERR_INPUT, "snapshot: table 'rows' has no columns");
        set_u64(1 + 4, 513);
        must_refuse(-ERR_INPUT, "snapshot: table 'rows' has too many columns");
        set_u64(1 + 4, UINT64_MAX);
        must_refuse(-ERR_INPUT, "snapshot: table 'rows' has too many columns");
}

/* Numbers that others rely on: truth values, words, lengths of lists. */
static void numbers_that_cannot_be_are_refused(void **state)
{
        static const struct {
                size_t at;              /* in a row */
                char most;
                const char *says;
        } cases[] = {
                {8, 1, "snapshot: table 'rows' is damaged: its 'truth' is 2"},
                {9, 1, "snapshot: table 'rows' is damaged: its 'colour' is 2"},
                {15, 2, "snapshot: table 'rows' is damaged: its 'pairs.count' is 3"},
        };
        size_t last = image.size - (8 + 1 + 1 + 5 + 1 + 2 * 5);

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char *at = image.bytes + last + cases[i].at, was = *at;
                struct row back[ROWS];
                struct err err;
                size_t count;
                *at = cases[i].most;
                assert_int_equal(read_bytes(image.bytes, image.size, back, &count, &err), 0);
                *at = (char)(cases[i].most + 1);
                must_refuse(-ERR_INPUT, cases[i].says);
                *at = was;
        }
}

static void cut_anywhere_it_is_refused(void **state)
{
        (void)state;
        for (size_t size = 0; size < image.size; size++) {
                char *cut = malloc(size ? size : 1);    /* so that a read behind it is seen */
                struct row back[ROWS];
                struct err err;
                size_t count;
                assert_non_null(cut);
                memcpy(cut, image.bytes, size);
                assert_int_equal(read_bytes(cut, size, back, &count, &err), -ERR_INPUT);
                check_has(err.text, "snapshot: ");
                free(cut);
        }
}

static void without_memory_it_says_so(void **state)
{
        unsigned long tries = 0;
        int rc;

        (void)state;
        do {
                struct row back[ROWS];
                struct err err;
                size_t count;
                mem_fail_at(++tries);
                rc = read_bytes(image.bytes, image.size, back, &count, &err);
                assert_int_equal(rc, mem_fail_happened() ? -ERR_NOMEM : 0);
                mem_fail_at(0);
        } while (rc);
        assert_true(tries > 2);
        struct text text = {0};
        mem_fail_at(1);
        image_write_rows(&text, "rows", &row_fields, rows, ROWS, sizeof rows[0]);
        mem_fail_at(0);
        assert_true(text.failed);
        text_done(&text);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, write_rows, drop)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(rows_come_back),
                TEST(an_older_image_leaves_what_it_lacks_at_0),
                TEST(numbers_and_strings_come_back),
                TEST(a_newer_image_is_refused),
                TEST(a_column_of_another_kind_is_refused),
                TEST(a_column_that_stands_twice_is_refused),
                TEST(another_table_is_refused),
                TEST(counts_that_lie_are_refused),
                TEST(numbers_that_cannot_be_are_refused),
                TEST(cut_anywhere_it_is_refused),
                TEST(without_memory_it_says_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
