/* berth - the command line. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/command.h"

/* Only how characters are shown depends on the locale, never how numbers are read or written. Where
 * nobody chose one, UTF-8 is right more often than ASCII. */
static void choose_characters(void)
{
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        bool chosen = false;

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                chosen = chosen || (getenv(names[i]) && *getenv(names[i]));
        if (!setlocale(LC_CTYPE, "") || (!chosen && !str_equal(nl_langinfo(CODESET), "UTF-8")))
                (void)setlocale(LC_CTYPE, "C.UTF-8");
}

int main(int argc, char **argv)
{
        choose_characters();
        int code = command_main(argc, argv);
        if (fflush(stdout) == EOF && code == EXIT_FINE) {
                fputs("berth: standard output could not be written whole\n", stderr);
                code = EXIT_TROUBLE;
        }
        return code;
}
