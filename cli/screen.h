/* screen.h - where output goes: how wide it is, and whether it takes colour.
 *
 * Not pure: looks at the terminal and the environment. Colour only on a terminal, and neither with
 * NO_COLOR nor TERM=dumb.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;

struct screen {
        size_t width;           /* columns; SCREEN_WIDE: no terminal, nothing needs to be cut */
        size_t height;          /* lines; 0: no terminal */
        bool has_colour;
};

#define SCREEN_WIDE 100000

/* What a text is about: all that colour is used for. */
#define TONES(X)                \
        X(PLAIN, "")            \
        X(STRONG, "1")          \
        X(DIM, "2")             \
        X(GOOD, "32")           \
        X(WAITING, "33")        \
        X(BAD, "31")

enum tone {
#define X(name, code) TONE_##name,
        TONES(X)
#undef X
};

/* Of standard output. */
struct screen screen_look(void);

/* How wide a text may be that is to be read as a whole, wherever it goes: the terminal's columns,
 * or what COLUMNS says (20 to 10,000), or 100. */
size_t screen_text_width(void);

/* Begins and ends a tone: "" without colour. */
const char *screen_on(const struct screen *screen, enum tone tone);
const char *screen_off(const struct screen *screen, enum tone tone);

/* Writes `size` bytes so that no line has more than `width` columns: a longer one is broken at
 * blanks and goes on below its second column ("name       text"), where that begins early enough. A
 * word that is wider stays whole. */
void screen_put_wrapped(const char *text, size_t size, size_t width, FILE *file);

/* Writes one line of fields with two blanks between them, broken there, and goes on `hang` columns
 * deep. Tones in it take no columns. It is terminated, as is what screen_put_wrapped() gets. */
void screen_put_row(const char *text, size_t size, size_t hang, size_t width, FILE *file);

/* A page that is written as it comes, and then wrapped as a whole. */
struct screen_page {
        FILE *file;             /* write here */
        char *text;
        size_t size;
};
int screen_page_open(struct screen_page *ret_page, struct err *err);   /* 0 or -ERR_NOMEM */
/* Puts what was written, by screen_put_wrapped(), and frees the page. 0 or -ERR_NOMEM. */
int screen_page_put(struct screen_page *page, size_t width, FILE *file, struct err *err);

/* In a text that was laid out by hand: what goes on below a line of more than `width` columns is
 * put behind it, in place, so that screen_put_wrapped() leaves no short lines. A paragraph goes on
 * where it began, a second column where it stands. Returns the size. */
size_t screen_join_wide(char *text, size_t size, size_t width);

/* The tone of a workload's state, or of a node's. */
enum tone screen_state_tone(const char *state);
