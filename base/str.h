/* str.h - bounded strings, patterns, near names.
 *
 * Pure. Letters are compared without case for ASCII only; no locale anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies `text` with its NUL into `ret_copy` of `size` bytes. False, and nothing written, when it
 * does not fit. */
bool str_copy(char *ret_copy, size_t size, const char *text);

bool str_equal(const char *a, const char *b);
bool str_equal_nocase(const char *a, const char *b);
int str_compare_nocase(const char *a, const char *b);   /* <0, 0, >0 */

/* Whether the whole text matches a pattern in which '*' stands for any run of bytes, the empty one
 * included. No recursion; at most pattern length x text length steps. */
bool str_glob(const char *pattern, const char *text);
bool str_glob_nocase(const char *pattern, const char *text);

/* Edit distance without case (insert, delete, replace, swap of neighbours count 1 each), looking
 * at the first STR_DISTANCE_MAX bytes of both. */
#define STR_DISTANCE_MAX 64
unsigned str_distance(const char *a, const char *b);

/* Finds the names nearest to `wanted`: init, add every known name (borrowed until the text is
 * written), then ask for the text. */
#define STR_NEAR_COUNT 3
#define STR_KNOWN_COUNT 8
struct str_near {
        const char *wanted;
        const char *best[STR_NEAR_COUNT];       /* the nearest first */
        unsigned rank[STR_NEAR_COUNT];
        const char *first[STR_KNOWN_COUNT];     /* the first ones added, for when none is near */
        size_t count;                           /* names added */
};

void str_near_init(struct str_near *near, const char *wanted);
void str_near_add(struct str_near *near, const char *name);

/* Writes "did you mean 'a', 'b'?"; when no name is near, "known: 'a', 'b', 'c' and 4 more"; when
 * there is no name at all, "none is known". Always terminated, cut at `size`. Returns `buf`. */
const char *str_near_text(const struct str_near *near, char *buf, size_t size);

/* The three steps in one, over an array of names. STR_NEAR_MAX bytes are always enough room for
 * names of 48 bytes. */
#define STR_NEAR_MAX 192
const char *str_near(const char *const *names, size_t count, const char *wanted, char *buf,
                     size_t size);

/* ---- somebody's text, made fit for a terminal ----
 *
 * What a terminal would obey instead of showing it, or by which it would show what stands around in
 * another order, is not fit: C0 and C1 controls, DEL, line and paragraph separators, overrides,
 * embeddings and isolates of the writing's direction; and broken UTF-8. '?' stands in its place. */

/* The letter at `text`, of which `size` (1 or more) bytes are left: how many of them it takes. */
size_t str_letter(const char *text, size_t size, bool *ret_is_fit);

/* Makes `size` bytes and the NUL behind them fit, in place; with `has_lines` line breaks stay.
 * Returns the new size, which is no larger. */
size_t str_make_fit(char *text, size_t size, bool has_lines);

/* For an error sentence: writes at most STR_SHOW_MAX - 1 bytes, a long text cut with "...". Returns
 * `buf`. */
#define STR_SHOW_MAX 64
const char *str_show(const char *text, char buf[STR_SHOW_MAX]);

/* Where a text of `size` bytes is cut so that at most `size_max` are left and no letter is torn. */
size_t str_cut(const char *text, size_t size, size_t size_max);

/* Whether the bytes are UTF-8 (shortest forms, no surrogates, up to U+10FFFF). When not,
 * *ret_offset (may be NULL) is the offset of the first wrong byte. */
bool str_is_utf8(const char *bytes, size_t size, size_t *ret_offset);
