#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

#define WIDTH_LEAST 40
#define WIDTH_USUAL 80
#define LINES_USUAL 24

struct screen screen_look(void)
{
        struct screen screen = {.width = SCREEN_WIDE};
        struct winsize size = {0};
        const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

        if (!isatty(STDOUT_FILENO))
                return screen;
        screen.width = WIDTH_USUAL;
        screen.height = LINES_USUAL;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
                screen.width = size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
                screen.height = size.ws_row > 0 ? size.ws_row : LINES_USUAL;
        }
        screen.has_colour = !(no_color && no_color[0]) && term && !str_equal(term, "dumb");
        return screen;
}

size_t screen_text_width(void)
{
        struct winsize size;
        const char *text = getenv("COLUMNS");
        uint64_t columns = 100;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                return size.ws_col;
        if (text)
                (void)num_u64(text, 20, 10000, &columns, NULL);
        return (size_t)columns;
}

const char *screen_on(const struct screen *screen, enum tone tone)
{
        static const char *const codes[] = {
#define X(name, code) code[0] ? "\033[" code "m" : "",
                TONES(X)
#undef X
        };

        return screen->has_colour ? codes[tone] : "";
}

const char *screen_off(const struct screen *screen, enum tone tone)
{
        return screen->has_colour && tone != TONE_PLAIN ? "\033[0m" : "";
}

enum tone screen_state_tone(const char *state)
{
        static const struct {
                const char *state;
                enum tone tone;
        } rows[] = {
                {"running", TONE_GOOD},
                {"succeeded", TONE_GOOD},
                {"up", TONE_GOOD},
                {"queued", TONE_WAITING},
                {"starting", TONE_WAITING},
                {"stopping", TONE_WAITING},
                {"cancelling", TONE_WAITING},
                {"draining", TONE_WAITING},
                {"drained", TONE_WAITING},
                {"held", TONE_DIM},
                {"cancelled", TONE_DIM},
                {"failed", TONE_BAD},
                {"timed_out", TONE_BAD},
                {"lost", TONE_BAD},
                {"refused", TONE_BAD},
                {"down", TONE_BAD},
                {"silent", TONE_BAD},
                {"quarantined", TONE_BAD},
                {"suspect", TONE_WAITING},
                {"broken", TONE_BAD},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (str_equal(rows[i].state, state))
                        return rows[i].tone;
        return TONE_PLAIN;
}

/* ---- long lines ---- */

#define HANG_MAX 28                     /* a second column further to the right is a table's */

static size_t columns_of(const char *text, size_t size)
{
        size_t columns = 0;

        for (size_t i = 0; i < size; i++) {
                while (i < size && text[i] == '\033')   /* a tone takes none */
                        i += strcspn(text + i, "m") + 1;
                if (i < size)
                        columns += ((unsigned char)text[i] & 0xc0) != 0x80; /* UTF-8 */
        }
        return columns;
}

/* Where what does not fit goes on. *ret_is_row: it is a table's, broken between columns. */
static size_t indent_of(const char *line, size_t size)
{
        size_t indent = 0;

        while (indent < size && line[indent] == ' ')
                indent++;
        return indent;
}

static size_t hang_of(const char *line, size_t size, bool *ret_is_row)
{
        size_t indent = indent_of(line, size), at;

        for (at = indent; at + 1 < size && !(line[at] == ' ' && line[at + 1] == ' '); at++)
                ;
        *ret_is_row = false;
        if (at + 1 >= size)
                return indent;
        while (at < size && line[at] == ' ')
                at++;
        *ret_is_row = at > HANG_MAX;
        return *ret_is_row ? indent + 4 : at;
}

/* So many bytes fit: up to a blank, or one word; of a row up to two blanks, where there are any. */
static size_t fitting(const char *text, size_t size, size_t width, bool is_row)
{
        size_t end = 0, column = 0, word = 0;

        while (word < size) {
                while (word < size && text[word] == ' ')
                        word++;
                while (word < size && text[word] != ' ')
                        word++;
                if (columns_of(text, word) > width)
                        return is_row && column > 0 ? column : end > 0 ? end : word;
                end = word;
                if (word + 1 < size && text[word + 1] == ' ')
                        column = word;
        }
        return size;
}

/* The first line, and what goes on `hang` columns deep; `is_row` of it, `rest_is_row` of the rest. */
static void put_pieces(const char *line, size_t size, size_t hang, bool is_row, bool rest_is_row,
                       size_t width, FILE *file)
{
        size_t length = fitting(line, size, width, is_row);

        if (hang + 20 > width)
                hang = 0;               /* next to nothing would fit behind it */
        fprintf(file, "%.*s\n", (int)length, line);
        while (length < size) {
                length += indent_of(line + length, size - length);
                line += length;
                size -= length;
                if (size == 0)
                        return;
                length = fitting(line, size, width - hang, rest_is_row);
                fprintf(file, "%*s%.*s\n", (int)hang, "", (int)length, line);
        }
}

static void put_line(const char *line, size_t size, size_t width, FILE *file)
{
        bool is_row;
        size_t hang = hang_of(line, size, &is_row);

        put_pieces(line, size, hang, is_row, false, width, file);
}

void screen_put_row(const char *text, size_t size, size_t hang, size_t width, FILE *file)
{
        put_pieces(text, size, hang, true, true, width, file);
}

void screen_put_wrapped(const char *text, size_t size, size_t width, FILE *file)
{
        while (size > 0) {
                const char *end = memchr(text, '\n', size);
                size_t length = end ? (size_t)(end - text) : size;
                put_line(text, length, width, file);
                length += end != NULL;
                text += length;
                size -= length;
        }
}

int screen_page_open(struct screen_page *ret_page, struct err *err)
{
        *ret_page = (struct screen_page){0};
        ret_page->file = open_memstream(&ret_page->text, &ret_page->size);
        return ret_page->file ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int screen_page_put(struct screen_page *page, size_t width, FILE *file, struct err *err)
{
        bool is_whole = fclose(page->file) == 0;

        if (is_whole)
                screen_put_wrapped(page->text, page->size, width, file);
        free(page->text);
        return is_whole ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Whether `next` is more of what `line` says: not another command below one that is shown. */
static bool goes_on(const char *line, size_t size, const char *next, size_t next_size)
{
        bool is_row, next_is_row;
        size_t indent = indent_of(line, size), hang = hang_of(line, size, &is_row);

        return (hang > indent || indent == 0) && !is_row && hang < next_size &&
               indent_of(next, next_size) == hang &&
               hang_of(next, next_size, &next_is_row) == hang && !next_is_row;
}

size_t screen_join_wide(char *text, size_t size, size_t width)
{
        size_t line = 0, end = 0;       /* of what is kept; the newest line begins at `line` */

        for (size_t at = 0; at < size;) {
                const char *next = text + at, *stop = memchr(next, '\n', size - at);
                size_t next_size = stop ? (size_t)(stop - next) : size - at;
                at += next_size + (stop != NULL);
                if (end > line + 1 && columns_of(text + line, end - line - 1) > width &&
                    goes_on(text + line, end - line - 1, next, next_size)) {
                        size_t indent = indent_of(next, next_size);
                        text[end - 1] = ' ';
                        next += indent;
                        next_size -= indent;
                } else {
                        line = end;
                }
                memmove(text + end, next, next_size);
                end += next_size;
                if (stop)
                        text[end++] = '\n';
        }
        return end;
}
