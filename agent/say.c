#include "agent/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void say(enum say_level level, const char *phrase, const char *format, ...)
{
        char line[2048];
        va_list arguments;
        /* journald cuts "<4>" off; who reads the lines elsewhere need not see it. */
        const char *prefix[] = {[SAY_ERROR] = "<3>", [SAY_WARN] = "<4>", [SAY_INFO] = "<6>"};

        va_start(arguments, format);
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        fprintf(stderr, "%s%s%s%s\n", getenv("JOURNAL_STREAM") ? prefix[level] : "", phrase,
                line[0] ? " " : "", line);
}
