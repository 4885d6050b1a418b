#include "base/str.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned char lower(char c)
{
        unsigned char byte = (unsigned char)c;
        return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

bool str_copy(char *ret_copy, size_t size, const char *text)
{
        size_t length = strlen(text);
        if (length >= size)
                return false;
        memcpy(ret_copy, text, length + 1);
        return true;
}

bool str_equal(const char *a, const char *b)
{
        return strcmp(a, b) == 0;
}

int str_compare_nocase(const char *a, const char *b)
{
        while (*a && lower(*a) == lower(*b)) {
                a++;
                b++;
        }
        return (int)lower(*a) - (int)lower(*b);
}

bool str_equal_nocase(const char *a, const char *b)
{
        return str_compare_nocase(a, b) == 0;
}

static bool same(char a, char b, bool nocase)
{
        return nocase ? lower(a) == lower(b) : a == b;
}

/* On a mismatch only the last star is tried again, one byte further: an earlier star never needs to
 * take more, since the last one can. */
static bool glob(const char *pattern, const char *text, bool nocase)
{
        const char *star = NULL;
        const char *resume = NULL;
        while (*text) {
                if (*pattern == '*') {
                        star = ++pattern;
                        resume = text;
                } else if (*pattern && same(*pattern, *text, nocase)) {
                        pattern++;
                        text++;
                } else if (star) {
                        pattern = star;
                        text = ++resume;
                } else {
                        return false;
                }
        }
        while (*pattern == '*')
                pattern++;
        return *pattern == '\0';
}

bool str_glob(const char *pattern, const char *text)
{
        return glob(pattern, text, false);
}

bool str_glob_nocase(const char *pattern, const char *text)
{
        return glob(pattern, text, true);
}

static unsigned min2(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

unsigned str_distance(const char *a, const char *b)
{
        unsigned rows[3][STR_DISTANCE_MAX + 1];
        unsigned *before = rows[0];
        unsigned *last = rows[1];
        unsigned *row = rows[2];
        size_t a_length = strnlen(a, STR_DISTANCE_MAX);
        size_t b_length = strnlen(b, STR_DISTANCE_MAX);

        for (unsigned j = 0; j <= b_length; j++)
                last[j] = before[j] = j;
        for (unsigned i = 1; i <= a_length; i++) {
                row[0] = i;
                for (unsigned j = 1; j <= b_length; j++) {
                        unsigned char x = lower(a[i - 1]);
                        unsigned char y = lower(b[j - 1]);
                        row[j] = min2(last[j - 1] + (x != y), min2(last[j], row[j - 1]) + 1);
                        if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                                row[j] = min2(row[j], before[j - 2] + 1);
                }
                unsigned *free_row = before;
                before = last;
                last = row;
                row = free_row;
        }
        return last[b_length];
}

void str_near_init(struct str_near *near, const char *wanted)
{
        *near = (struct str_near){.wanted = wanted};
}

static bool contains_nocase(const char *text, const char *part)
{
        for (; *text; text++) {
                size_t i = 0;
                while (part[i] && lower(text[i]) == lower(part[i]))
                        i++;
                if (part[i] == '\0')
                        return true;
        }
        return false;
}

static bool starts_nocase(const char *text, const char *start)
{
        while (*start && lower(*text) == lower(*start)) {
                text++;
                start++;
        }
        return *start == 0;
}

/* How far a name is from the wanted one, 0 the nearest; UINT_MAX-like when not near at all. */
static unsigned near_rank(const char *wanted, const char *name)
{
        const unsigned far = ~0u;
        size_t wanted_length = strnlen(wanted, STR_DISTANCE_MAX);
        size_t name_length = strnlen(name, STR_DISTANCE_MAX);
        unsigned limit = wanted_length < 3 ? 1 : (unsigned)(wanted_length + 1) / 3;
        size_t apart = wanted_length > name_length ? wanted_length - name_length
                                                   : name_length - wanted_length;
        if (wanted_length >= 3 && starts_nocase(name, wanted))
                return name_length > wanted_length;     /* "A100" for "A100-40": cut short */
        if (apart <= limit) {
                unsigned distance = str_distance(wanted, name);
                if (distance <= limit && distance < wanted_length)
                        return distance;
        }
        if (wanted_length >= 2 && name_length >= 2 &&
            (contains_nocase(name, wanted) || contains_nocase(wanted, name)))
                return STR_DISTANCE_MAX + (unsigned)apart;
        return far;
}

void str_near_add(struct str_near *near, const char *name)
{
        if (near->count < STR_KNOWN_COUNT)
                near->first[near->count] = name;
        near->count++;

        unsigned rank = near_rank(near->wanted, name);
        if (rank == ~0u)
                return;
        for (unsigned i = 0; i < STR_NEAR_COUNT; i++) {
                if (near->best[i] && near->rank[i] <= rank)
                        continue;
                for (unsigned j = STR_NEAR_COUNT - 1; j > i; j--) {
                        near->best[j] = near->best[j - 1];
                        near->rank[j] = near->rank[j - 1];
                }
                near->best[i] = name;
                near->rank[i] = rank;
                return;
        }
}

const char *str_near_text(const struct str_near *near, char *buf, size_t size)
{
        assert(size > 0);

        if (near->count == 0) {
                snprintf(buf, size, "none is known");
                return buf;
        }
        bool is_near = near->best[0] != NULL;
        const char *const *names = is_near ? near->best : near->first;
        size_t shown = 0;
        /* Beside a name that is one letter off, one that is three off only distracts. */
        size_t limit = is_near ? STR_NEAR_COUNT : STR_KNOWN_COUNT;
        while (shown < limit && names[shown] &&
               (!is_near || near->rank[shown] <= near->rank[0] + 1))
                shown++;

        size_t used = 0;
        for (size_t i = 0; i < shown; i++) {
                const char *before = i > 0 ? ", " : is_near ? "did you mean " : "known: ";
                char show[STR_SHOW_MAX];
                int length = snprintf(buf + used, size - used, "%s'%.48s'", before,
                                      str_show(names[i], show));
                if (length < 0 || (size_t)length >= size - used)
                        return buf;
                used += (size_t)length;
        }
        if (is_near)
                snprintf(buf + used, size - used, "?");
        else if (near->count > shown)
                snprintf(buf + used, size - used, " and %zu more", near->count - shown);
        return buf;
}

const char *str_near(const char *const *names, size_t count, const char *wanted, char *buf,
                     size_t size)
{
        struct str_near near;
        str_near_init(&near, wanted);
        for (size_t i = 0; i < count; i++)
                str_near_add(&near, names[i]);
        return str_near_text(&near, buf, size);
}

/* The length of the UTF-8 character at `bytes`, of which `left` bytes are there; 0: broken. */
static size_t utf8_length(const unsigned char *bytes, size_t left)
{
        unsigned char first = bytes[0];
        if (first < 0x80)
                return 1;
        size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
        if (first < 0xc2 || first > 0xf4 || left < length)
                return 0;
        for (size_t i = 1; i < length; i++)
                if ((bytes[i] & 0xc0) != 0x80)
                        return 0;
        unsigned char second = bytes[1];
        if ((first == 0xe0 && second < 0xa0) ||         /* not the shortest form */
            (first == 0xed && second > 0x9f) ||         /* surrogates */
            (first == 0xf0 && second < 0x90) ||         /* not the shortest form */
            (first == 0xf4 && second > 0x8f))           /* above U+10FFFF */
                return 0;
        return length;
}

bool str_is_utf8(const char *bytes, size_t size, size_t *ret_offset)
{
        for (size_t at = 0; at < size;) {
                size_t length = utf8_length((const unsigned char *)bytes + at, size - at);
                if (length == 0) {
                        if (ret_offset)
                                *ret_offset = at;
                        return false;
                }
                at += length;
        }
        return true;
}

size_t str_cut(const char *text, size_t size, size_t size_max)
{
        if (size <= size_max)
                return size;
        while (size_max > 0 && ((unsigned char)text[size_max] & 0xc0) == 0x80)
                size_max--;
        return size_max;
}

/* The code point of a whole letter of `length` bytes. */
static uint32_t rune_of(const unsigned char *bytes, size_t length)
{
        static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
        uint32_t rune = bytes[0] & masks[length];

        for (size_t i = 1; i < length; i++)
                rune = rune << 6 | (bytes[i] & 0x3f);
        return rune;
}

size_t str_letter(const char *text, size_t size, bool *ret_is_fit)
{
        static const struct {
                uint32_t first, last;
        } unfit[] = {
                {0x00, 0x1f},     {0x7f, 0x9f},         /* C0, DEL and C1 */
                {0x2028, 0x2029},                       /* separators of lines and paragraphs */
                {0x202a, 0x202e}, {0x2066, 0x2069},     /* embeddings, overrides, isolates */
        };
        size_t length = utf8_length((const unsigned char *)text, size);
        uint32_t rune = length ? rune_of((const unsigned char *)text, length) : 0;

        *ret_is_fit = true;
        for (size_t i = 0; i < sizeof unfit / sizeof unfit[0]; i++)
                if (rune >= unfit[i].first && rune <= unfit[i].last)
                        *ret_is_fit = false;
        return length ? length : 1;
}

size_t str_make_fit(char *text, size_t size, bool has_lines)
{
        size_t used = 0;

        for (size_t at = 0, length; at < size; at += length) {
                bool is_fit;
                length = str_letter(text + at, size - at, &is_fit);
                if (is_fit || (has_lines && text[at] == '\n')) {
                        memmove(text + used, text + at, length);
                        used += length;
                } else {
                        text[used++] = '?';
                }
        }
        text[used] = '\0';
        return used;
}

const char *str_show(const char *text, char buf[STR_SHOW_MAX])
{
        const size_t room = STR_SHOW_MAX - 1;
        size_t size = strnlen(text, STR_SHOW_MAX + 4);
        bool is_cut = size > room;
        size_t end = is_cut ? room - strlen("...") : size;
        size_t used = 0;
        for (size_t at = 0; at < size;) {
                bool is_fit;
                size_t length = str_letter(text + at, size - at, &is_fit);
                if (used + length > end)
                        break;
                memcpy(buf + used, is_fit ? text + at : "?", is_fit ? length : 1);
                used += is_fit ? length : 1;
                at += length;
        }
        if (is_cut) {
                memcpy(buf + used, "...", 3);
                used += 3;
        }
        buf[used] = '\0';
        return buf;
}
