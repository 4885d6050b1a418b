#include "cli/words.h"

#include <math.h>
#include <stdio.h>

/* Small ones with a decimal, where they have one. */
const char *words_whole(double number, char buf[WORDS_MAX])
{
        char digits[WORDS_MAX], *at = buf;
        int length = snprintf(digits, sizeof digits, "%.0f", number);

        if (number != floor(number) && number < 9.95) {
                snprintf(buf, WORDS_MAX, "%.1f", number);
                return buf;
        }
        for (int i = 0; i < length; i++) {
                if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
                        *at++ = ',';
                *at++ = digits[i];
        }
        *at = '\0';
        return buf;
}

const char *words_span(double seconds, char buf[WORDS_MAX])
{
        if (seconds < 99.5)
                snprintf(buf, WORDS_MAX, "%.0f s", seconds);
        else if (seconds < 99.5 * 60)
                snprintf(buf, WORDS_MAX, "%.0f min", seconds / 60);
        else if (seconds < 48 * 3600)
                snprintf(buf, WORDS_MAX, "%.1f h", seconds / 3600);
        else
                snprintf(buf, WORDS_MAX, "%.1f days", seconds / 86400);
        return buf;
}

const char *words_percent(double part, double all, char buf[WORDS_MAX])
{
        double share = all > 0 ? 100 * part / all : 0;

        if (share > 0 && share < 0.05)
                snprintf(buf, WORDS_MAX, "<0.1 %%");
        else
                snprintf(buf, WORDS_MAX, "%.1f %%", share);
        return buf;
}
