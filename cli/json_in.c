#include "cli/json_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/words.h"

#define DEPTH_MAX 3

const char *json_in_text(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

int64_t json_in_number(const json_t *object, const char *key)
{
        return json_integer_value(json_object_get(object, key));
}

bool json_in_flag(const json_t *object, const char *key)
{
        return json_is_true(json_object_get(object, key));
}

bool json_in_has(const json_t *object, const char *key)
{
        const json_t *value = json_object_get(object, key);

        return value && !json_is_null(value);
}

/* ---- as words ---- */

struct words {
        char *buf;      /* NULL: into the file */
        size_t used;
        bool is_full;   /* a letter found no room: nothing comes behind it */
        FILE *file;
};

static void add_letter(struct words *words, const char *letter, size_t length)
{
        if (!words->buf) {
                fwrite(letter, 1, length, words->file);
                return;
        }
        words->is_full = words->is_full || words->used + length > JSON_IN_MAX - 1;
        if (words->is_full)
                return;
        memcpy(words->buf + words->used, letter, length);
        words->used += length;
        words->buf[words->used] = '\0';
}

static void add(struct words *words, const char *text)
{
        size_t size = strlen(text);

        for (size_t at = 0, length; at < size; at += length) {
                bool is_fit;
                length = str_letter(text + at, size - at, &is_fit);
                add_letter(words, is_fit ? text + at : "?", is_fit ? length : 1);
        }
}

static bool says_nothing(const json_t *value)
{
        return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
               (json_is_array(value) && json_array_size(value) == 0) ||
               (json_is_object(value) && json_object_size(value) == 0);
}

static void add_value(struct words *words, const json_t *value, unsigned depth);

static void add_all(struct words *words, const json_t *value, unsigned depth)
{
        const char *between = "";

        for (size_t i = 0; i < json_array_size(value); i++, between = ", ") {
                add(words, between);
                add_value(words, json_array_get(value, i), depth);
        }
        /* json_object_iter takes no const object, and changes none. */
        json_t *object = (json_t *)(uintptr_t)value;
        for (void *step = json_object_iter(object); step;
             step = json_object_iter_next(object, step)) {
                if (says_nothing(json_object_iter_value(step)))
                        continue;
                add(words, between);
                between = ", ";
                add(words, json_object_iter_key(step));
                add(words, " ");
                add_value(words, json_object_iter_value(step), depth);
        }
}

static void add_value(struct words *words, const json_t *value, unsigned depth)
{
        char number[32];

        if (json_is_string(value))
                add(words, json_string_value(value));
        if (json_is_boolean(value))
                add(words, json_is_true(value) ? "yes" : "no");
        if (json_is_integer(value))
                snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        if (json_is_real(value))
                snprintf(number, sizeof number, "%.6g", json_real_value(value));
        if (json_is_number(value))
                add(words, number);
        if ((json_is_array(value) || json_is_object(value)) && depth < DEPTH_MAX)
                add_all(words, value, depth + 1);
}

const char *json_in_words(const json_t *object, const char *key, char buf[JSON_IN_MAX])
{
        struct words words = {.buf = buf};

        buf[0] = '\0';
        add_value(&words, json_object_get(object, key), 0);
        return buf;
}

void json_in_put_words(const json_t *value, FILE *file)
{
        struct words words = {.file = file};

        add_value(&words, value, 0);
}

const char *json_in_clean(const json_t *object, const char *key, char buf[JSON_IN_MAX])
{
        struct words words = {.buf = buf};

        buf[0] = '\0';
        add(&words, json_in_text(object, key));
        return buf;
}

void json_in_put(const json_t *object, const char *key, FILE *file)
{
        struct words words = {.file = file};

        add(&words, json_in_text(object, key));
}

double json_in_decimal(const json_t *object, const char *key)
{
        const char *text = json_in_text(object, key);

        return text[0] >= '0' && text[0] <= '9' ? strtod(text, NULL) : 0;
}

const char *json_in_span(const json_t *object, const char *key, char buf[JSON_IN_MAX])
{
        buf[0] = '\0';
        if (json_is_number(json_object_get(object, key)))
                words_span(json_number_value(json_object_get(object, key)) / 1000, buf);
        return buf;
}
