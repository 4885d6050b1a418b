/* fuzz_csv.c - the reader against a model that takes one byte at a time; and what it accepts,
 * written out again with every field in quotes, must read as the same fields. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct csv_column columns[] = {
        {"a", CSV_REQUIRED},
        {"b", CSV_OPTIONAL},
        {"c", CSV_IGNORED},
};

struct text {
        char *bytes;
        size_t size;
        size_t room;
};

static void add(struct text *text, char c)
{
        if (text->size == text->room) {
                size_t room = text->room ? 2 * text->room : 256;
                text->bytes = realloc(text->bytes, room);
                if (!text->bytes)
                        abort();
                text->room = room;
        }
        text->bytes[text->size++] = c;
}

static void add_field(struct text *text, const char *field, char after)
{
        add(text, '"');
        for (; *field; field++) {
                if (*field == '"')
                        add(text, '"');
                add(text, *field);
        }
        add(text, '"');
        add(text, after);
}

/* The fields of a text known to be well formed, as one text: NUL behind each, 1 behind each row.
 * In quotes only a quote means anything, and a doubled one is itself; outside, a quote opens. */
static void model(const char *bytes, size_t size, struct text *out)
{
        bool in_quotes = false;
        bool at_row_start = true;
        if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
                bytes += 3;
                size -= 3;
        }
        for (size_t i = 0; i < size; i++) {
                char c = bytes[i];
                at_row_start = false;
                if (in_quotes && c == '"' && i + 1 < size && bytes[i + 1] == '"') {
                        add(out, '"');
                        i++;
                } else if (c == '"') {
                        in_quotes = !in_quotes;
                } else if (in_quotes) {
                        add(out, c);
                } else if (c == ',') {
                        add(out, '\0');
                } else if (c == '\n') {
                        add(out, '\0');
                        add(out, 1);
                        at_row_start = true;
                } else if (c != '\r') {
                        add(out, c);
                }
        }
        if (!at_row_start) {
                add(out, '\0');
                add(out, 1);
        }
}

/* The next field of a model's text. */
static const char *take(const struct text *all, size_t *at)
{
        const char *field = all->bytes + *at;
        assert(*at < all->size);
        *at += strlen(field) + 1;
        assert(*at < all->size);
        return field;
}

/* Each field of each row is the model's. */
static void compare(const char *bytes, size_t size)
{
        struct text all = {0};
        struct err err = {0};
        struct csv *csv = NULL;
        unsigned order[ARRAY_LEN(columns)];
        unsigned width = 0;
        size_t at = 0;
        model(bytes, size, &all);
        assert(csv_new("f.csv", bytes, size, columns, ARRAY_LEN(columns), &csv, &err) == 0);
        do {
                const char *name = take(&all, &at);
                assert(width < ARRAY_LEN(columns));
                assert(name[0] >= 'a' && name[0] <= 'c' && name[1] == '\0');
                order[width++] = (unsigned)(name[0] - 'a');
        } while (all.bytes[at] != 1);
        at++;
        while (csv_next(csv, &err) > 0) {
                for (unsigned i = 0; i < width; i++)
                        assert(strcmp(csv_raw(csv, order[i]), take(&all, &at)) == 0);
                assert(all.bytes[at] == 1);
                at++;
        }
        assert(at == all.size);
        csv_free(csv);
        free(all.bytes);
}

/* Reads all rows, writing them to `out` as the columns a,b; the code of the end. */
static int read_all(const char *bytes, size_t size, struct text *out)
{
        struct csv *csv = NULL;
        struct err err = {0};
        int rc = csv_new("f.csv", bytes, size, columns, ARRAY_LEN(columns), &csv, &err);
        add_field(out, "a", ',');
        add_field(out, "b", '\n');
        while (rc >= 0 && (rc = csv_next(csv, &err)) > 0) {
                uint64_t value = 1;
                const char *text = NULL;
                add_field(out, csv_raw(csv, 0), ',');
                add_field(out, csv_raw(csv, 1), '\n');
                if (csv_u64(csv, 0, 0, 1000, &value, &err) < 0)
                        assert(strstr(err.text, "column 'a': "));
                if (csv_text(csv, 1, 1, 10, &text, &err) == 0 && csv_has(csv, 1))
                        assert(strlen(text) >= 1 && strlen(text) <= 10);
        }
        if (rc < 0) {
                struct err again = {0};
                assert(strncmp(err.text, "f.csv:", 6) == 0);
                if (csv) {
                        assert(csv_next(csv, &again) == rc);
                        assert(strcmp(err.text, again.text) == 0);
                }
        }
        csv_free(csv);
        return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct text once = {0};
        struct text twice = {0};
        if (read_all((const char *)data, size, &once) == 0) {
                compare((const char *)data, size);
                assert(read_all(once.bytes, once.size, &twice) == 0);
                assert(once.size == twice.size);
                assert(memcmp(once.bytes, twice.bytes, once.size) == 0);
        }
        free(once.bytes);
        free(twice.bytes);
        return 0;
}
