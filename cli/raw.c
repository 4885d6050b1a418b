#include "cli/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"

#define SIZE_MAX_EDGE 4096

/* A handler gets no argument. */
static struct termios before;
static volatile sig_atomic_t is_raw;
static int wakes[2] = {-1, -1};

static uint16_t edge(unsigned short said, uint16_t otherwise)
{
        return said == 0 ? otherwise : said < SIZE_MAX_EDGE ? said : SIZE_MAX_EDGE;
}

struct raw_size raw_window(void)
{
        struct winsize size = {0};

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
                (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
        return (struct raw_size){edge(size.ws_row, 24), edge(size.ws_col, 80)};
}

/* ---- the window ---- */

static void tell(char what)
{
        int saved = errno;

        if (write(wakes[1], &what, 1) < 0)
                errno = saved;          /* it is full of others */
        errno = saved;
}

static void on_window(int number)
{
        (void)number;
        tell('w');
}

int raw_open(struct err *err)
{
        struct sigaction action = {.sa_handler = on_window, .sa_flags = SA_RESTART};

        if (pipe2(wakes, O_CLOEXEC | O_NONBLOCK) < 0)
                return err_set(err, ERR_IO, "no pipe can be made: %s", strerror(errno));
        sigemptyset(&action.sa_mask);
        sigaction(SIGWINCH, &action, NULL);
        return 0;
}

void raw_close(void)
{
        signal(SIGWINCH, SIG_DFL);
        for (int i = 0; i < 2; i++)
                if (wakes[i] >= 0)
                        close(wakes[i]);
        wakes[0] = wakes[1] = -1;
}

int raw_fd(void)
{
        return wakes[0];
}

bool raw_take(void)
{
        bool changed = false;
        char what;

        while (read(wakes[0], &what, 1) == 1)
                changed |= what == 'w';
        return changed;
}

void raw_wake(void)
{
        tell('!');
}

/* ---- raw ---- */

void raw_leave(void)
{
        if (!is_raw)
                return;
        is_raw = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

/* Gives it back, and ends as the signal does. */
static void on_end(int number)
{
        if (is_raw)
                (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
        is_raw = 0;
        (void)raise(number);            /* its handler is the usual one again */
}

static int enter(bool is_whole, struct err *err)
{
        static const int ends[] = {SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
        struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
        static bool is_registered;
        struct termios raw;

        if (tcgetattr(STDIN_FILENO, &before) < 0)
                return err_set(err, ERR_IO, "the terminal: %s", strerror(errno));
        raw = before;
        if (is_whole)
                cfmakeraw(&raw);
        else
                raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        if (!is_registered)
                is_registered = atexit(raw_leave) == 0;
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
                sigaction(ends[i], &action, NULL);
        is_raw = 1;
        if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0)
                return 0;
        is_raw = 0;
        return err_set(err, ERR_IO, "the terminal: %s", strerror(errno));
}

int raw_enter(struct err *err)
{
        return enter(true, err);
}

int raw_enter_keys(struct err *err)
{
        return enter(false, err);
}
