#include "cli/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
